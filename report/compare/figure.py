"""The figure of a comparison: the ratio of each point with its interval, on a logarithmic axis, the slowest at the bottom."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from report.compare.comparison import Comparison
from report.compare.rule import FASTER, SAME, SLOWER, Finding
from report.draw import style
from report.draw.formats import save_as
from report.draw.paper import text_width
from report.plain import plain

ROW, TALLEST = 3.9, 260.0
"""Millimetres of a row with a name, and of the whole figure; more rows are narrower, and only decided differences have names."""
MOST = 300
"""Rows: differences first, the largest first."""
LEFT, RIGHT, ABOVE, BELOW = 4.0, 3.0, 6.0, 10.0
WIDEST = 95.0
"""Millimetres for names."""
PALETTE = {SLOWER: style.ALERT, FASTER: style.OWN, SAME: style.INK}
LEAST = 1.02
"""The axis reaches at least so far on both sides of 1."""
BEYOND = 1.2
"""The axis reaches at most so far beyond the ratios; intervals further out are cut."""
UP = (1.01, 1.02, 1.05, 1.1, 1.2, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0, 100.0, 1000.0)
DOWN = (0.99, 0.98, 0.95, 0.9, 0.8, 0.7, 0.5, 0.3, 0.2, 0.1, 0.05, 0.02, 0.01, 0.001)
"""Ticks, from 1 on."""
MOST_TICKS = 3
"""On each side of 1."""
HINTED = 1.05
"""The factor by which hinted type of a PNG is wider at most."""
DOTS = 150


def save(c: Comparison, path: Path, only: Sequence[str] = ()) -> None:
    """Writes the figure in the format of the file's ending. ValueError where there is nothing to draw."""
    rows = [(a.second.letter, f) for a in c.against for f in a.timed if not only or f.verdict.lower() in only]
    if not rows:
        raise ValueError("--figure: no timed point to draw")
    every = len(rows)
    rows.sort(key=lambda row: (row[1].verdict not in (SLOWER, FASTER), -abs(math.log(row[1].test.value)), row[1].test.pair.name))
    rows = sorted(rows[:MOST], key=lambda row: (row[1].test.value, row[1].test.pair.name))
    row = min(ROW, (TALLEST - ABOVE - BELOW) / len(rows))
    fig = style.figure(ABOVE + BELOW + max(row * len(rows), 2 * ROW))
    _draw(fig, c, rows, row, f" ({len(rows)} of {every} points)" if every > len(rows) else "")
    style.finish(fig)
    save_as(fig, path, DOTS)


def _draw(fig, c: Comparison, rows: Sequence[tuple[str, Finding]], row: float, note: str) -> None:
    several = len(c.against) > 1
    names = [_name(f"{letter}: {f.test.pair.name}" if several else f.test.pair.name) for letter, f in rows]
    shown = _labelled([f for _, f in rows], row)
    width = HINTED * max((text_width(names[i], style.SMALL) for i in shown), default=0.0) / style.POINTS_OF_MM
    ax = style.axes(fig, min(width, WIDEST) + LEFT, BELOW, RIGHT, ABOVE)
    ratios, ends = [f.test.value for _, f in rows], [end for _, f in rows for end in f.shown or ()]
    low = min(1 / LEAST, *ratios, max(min((*ends, 1.0)), min(ratios) / BEYOND)) / 1.01
    high = max(LEAST, *ratios, min(max((*ends, 1.0)), max(ratios) * BEYOND)) * 1.01
    ax.set_xscale("log")
    ax.set_xlim(low, high)
    ax.set_ylim(-0.7, len(rows) - 0.3)
    ax.axvspan(1 / (1 + c.tolerance), 1 + c.tolerance, color=style.PALE, alpha=0.5, linewidth=0, zorder=0)
    ax.axvline(1, color=style.GREY, linewidth=0.6, zorder=1)
    for i, (_, f) in enumerate(rows):
        style.row_mark(ax, i, f.test.value, f.shown, PALETTE.get(f.verdict, style.GREY), f.verdict not in PALETTE)
    for i in shown:
        ax.annotate(names[i], (0, i), xycoords=("axes fraction", "data"), xytext=(-3, 0), textcoords="offset points", ha="right",
                    va="center_baseline", size=style.SMALL, color=PALETTE.get(rows[i][1].verdict, style.GREY))
    ax.set_yticks([])
    style.plain_ticks(ax.xaxis, [*sorted([t for t in DOWN if t >= low][-MOST_TICKS:]), 1.0, *[t for t in UP if t <= high][-MOST_TICKS:]])
    seconds = ", ".join(a.second.letter for a in c.against)
    ax.set_xlabel(f"Times as fast: {seconds} over {c.first.letter}{note or ', with 95 % intervals'}")
    ax.annotate("slower", (0, 1), xycoords="axes fraction", xytext=(0, 2), textcoords="offset points", ha="left", va="bottom", size=style.SMALL)
    ax.annotate("faster", (1, 1), xycoords="axes fraction", xytext=(0, 2), textcoords="offset points", ha="right", va="bottom", size=style.SMALL)


def _name(text: str) -> str:
    """The name, cut on the left where there is no room for all of it."""
    name, room = plain(text), WIDEST * style.POINTS_OF_MM
    if text_width(name, style.SMALL) <= room:
        return name
    while name and text_width(f"…{name}", style.SMALL) > room:
        name = name[max(1, len(name) // 50):]
    return f"…{name}"


def _labelled(findings: Sequence[Finding], row: float) -> list[int]:
    """The rows with a name: all where there is room, else decided differences that are far enough apart."""
    if row >= ROW:
        return list(range(len(findings)))
    kept: list[int] = []
    for i, f in enumerate(findings):
        if f.verdict in (SLOWER, FASTER) and (not kept or (i - kept[-1]) * row >= 0.7 * ROW):
            kept.append(i)
    return kept
