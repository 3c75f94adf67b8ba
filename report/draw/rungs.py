"""A ladder as a figure: one row for each rung, with its rate as a mark, its gain and its nearest roof."""

from __future__ import annotations

from report.data.ladder import Ladder, Rung
from report.data.records import GFLOPS
from report.data.roofs import BEYOND
from report.data.statistics import FASTER, SLOWER
from report.draw import style
from report.draw.paper import text_width
from report.text import numbers, words

ROW, MOST = 3.9, 72.0
"""Millimetres of a line, and of the whole figure: a third of a page is left for its caption and no more."""
RIGHT, ABOVE, BELOW = 77.0, 5.0, 9.0
NARROW = 43.0
"""Millimetres right of the bars where no nearest roof is known."""
GAP, WIDEST = 3.0, 62.0
"""Between the names and the bars; the most room for names."""


def height(ladder: Ladder) -> float:
    return min(MOST, ABOVE + BELOW + ROW * len(ladder.rungs))


def draw(fig, ladder: Ladder) -> None:
    """Rates on a log axis, the fastest on top, with speed-up over the rung below, share of the peak and nearest roof."""
    rungs, threads = ladder.rungs, max(r.point.threads for r in ladder.rungs)
    left = max(text_width(_label(r, threads), style.SMALL) for r in rungs) / style.POINTS_OF_MM + GAP
    is_near = any(r.use.nearest for r in rungs)
    ax = style.axes(fig, min(left, WIDEST), BELOW, RIGHT if is_near else NARROW, ABOVE)
    rates = [r.point.known_value for r in rungs]
    has_peak = rungs[0].point.metric == GFLOPS and rungs[0].share
    peak = ladder.part.roofs.of_threads(None).peak(ladder.type) if has_peak else None
    high = max([*rates, *(ends[1] for r in rungs if (ends := r.point.interval)), peak.value if peak else 0])
    ax.set_xscale("log")
    ax.set_xlim(min(rates) / 1.8, high * 1.12)
    ax.set_ylim(-0.6, len(rungs) - 0.4)
    style.rate_ticks(ax.xaxis, *ax.get_xlim())
    ax.set_xlabel(f"Performance [{numbers.unit(rungs[0].point)}]")
    ax.set_yticks([])
    for i, rung in enumerate(rungs):
        _row(ax, i, rung, threads, is_near)
    if peak:
        ax.plot([peak.value] * 2, [-0.6, len(rungs) - 0.4], color=style.GREY, linewidth=0.9)
        ax.annotate(f"{peak.label} {numbers.flops(peak.value, peak.type)}", (peak.value, len(rungs) - 0.4), xytext=(2, 1.5),
                    textcoords="offset points", ha="right", va="bottom", size=style.SMALL, color=style.GREY)
    for x, title in zip(COLUMNS, ("rate", "gain", "of peak", "nearest roof" if is_near else "")):
        ax.annotate(title, (1, len(rungs) - 0.4), xycoords=("axes fraction", "data"), xytext=(x, 1.5),
                    textcoords="offset points", ha="left" if x == COLUMNS[-1] else "right", va="bottom",
                    size=style.SMALL, color=style.GREY)


COLUMNS = (47.0, 85.0, 118.0, 125.0)
"""The ends of the columns to the right of the axes (the last: its beginning), points."""


def _label(rung: Rung, threads: int) -> str:
    """'1 naive, one thread', '14 top (recipe 0)'."""
    fewer = ", one thread" if rung.point.threads == 1 < threads else ""
    return f"{f'{rung.number} ' if rung.is_own else ''}{rung.point.title}{fewer}"


def _row(ax, i: int, rung: Rung, threads: int, is_near: bool) -> None:
    colour = style.OWN if rung.is_own else style.PEER
    point = rung.point
    style.row_mark(ax, i, point.known_value, point.interval, colour, not rung.is_own)
    ax.annotate(_label(rung, threads), (0, i), xycoords=("axes fraction", "data"), xytext=(-4, 0),
                textcoords="offset points", ha="right", va="center_baseline", size=style.SMALL, color=colour)
    cells = (numbers.rate(point), _gain(rung), words.share(rung.share, digits_only=True), _near(rung) if is_near else "")
    for x, text in zip(COLUMNS, cells):
        strong = (x == COLUMNS[1] and rung.below and rung.below.verdict == FASTER) or (x == COLUMNS[3] and rung.use.limit)
        ax.annotate(text, (1, i), xycoords=("axes fraction", "data"), xytext=(x, 0), textcoords="offset points",
                    ha="left" if x == COLUMNS[-1] else "right", va="center_baseline", size=style.SMALL,
                    color=style.INK, weight="bold" if strong else "normal")


def _gain(rung: Rung) -> str:
    if not rung.below:
        return ""
    text = numbers.times(rung.below.value)
    return text if rung.below.verdict in (FASTER, SLOWER) else f"({text})"


def _near(rung: Rung) -> str:
    if not rung.use.nearest:
        return "–"
    name, share = rung.use.nearest
    return f"{name} > 1" if share > BEYOND else f"{name} {share:.2f}"
