"""Roofline plots: measured roofs solid, data-sheet roofs dashed, each kernel at one or more intensities, joined."""

from __future__ import annotations

import math
from collections.abc import Sequence

from report.data.roofs import Roof, Roofs
from report.draw import labels, marks, style
from report.draw.marks import Mark
from report.draw.paper import LINE, TEXT, THIN, Paper, strip, text_width
from report.text import numbers

OFF = 5.5
"""From a slope to the middle of its label, points."""


def draw(ax, roofs: Roofs, type_: str, shown: Sequence[Mark], guides: Sequence[float], about: str,
         levels: Sequence[str] | None = None, more: Sequence[Roof] = ()) -> None:
    """Draws the whole plot into empty axes. `about`: which bytes they count; `levels`: only these slopes, of the whole
    machine; `more`: further flat roofs."""
    roofs, shown = roofs.of_threads(None), [m for m in shown if m.xs]
    slopes = {name: roof for name, roof in roofs.levels().items() if levels is None or name in levels}
    _frame(ax, roofs, type_, [*shown, *(Mark("", "", r.value, {}) for r in more)], guides, slopes, about)
    sheet = Paper(labels.box_points(ax))
    peak = roofs.peak(type_)
    for roof in slopes.values():
        _slope(ax, roof, peak, sheet)
    for roof in filter(None, (peak, roofs.peak(type_, measured=False), *more)):
        _flat(ax, roof, slopes, sheet)
    _guides(ax, guides, sheet)
    for mark in shown:
        marks.draw(ax, mark, sheet)
    for roof in filter(None, (peak, *more)):
        _flat_label(ax, roof, sheet)
    for roof in slopes.values():
        _slope_label(ax, roof, peak, sheet)
    marks.label(ax, shown, sheet)


def _frame(ax, roofs: Roofs, type_: str, shown, guides, slopes: dict[str, Roof], about: str) -> None:
    xs = [x for m in shown for x in m.xs.values()] + list(guides)
    rates = [m.y for m in shown]
    tops = [r.value for r in (roofs.peak(type_), roofs.peak(type_, measured=False)) if r]
    ridges = [max(tops) / r.value for r in slopes.values()] if tops else []
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlim(min([*xs, *ridges]) / (2.2 if xs else 8), max([*xs, *ridges]) * 9)
    ax.set_ylim(min(rates, default=min(tops, default=1.0) / 100) / 2, max([*rates, *tops]) * 1.9)
    style.decade_ticks(ax.xaxis)
    bottom, top = ax.get_ylim()
    style.rate_ticks(ax.yaxis, bottom, top, spread=40)
    ax.set_xlabel(f"FLOP/byte ({about})")
    ax.set_ylabel("Performance [GFLOP/s]", labelpad=1)


def _ends(ax, roof: Roof, peak: Roof | None) -> tuple[tuple[float, float], tuple[float, float]] | None:
    """The points where a slope enters the axes and where it meets the peak."""
    (x0, x1), (y0, y1) = ax.get_xlim(), ax.get_ylim()
    start, end = max(x0, y0 / roof.value), min(x1, (min(y1, peak.value) if peak else y1) / roof.value)
    return ((start, start * roof.value), (end, end * roof.value)) if end > start else None


def _slope(ax, roof: Roof, peak: Roof | None, sheet: Paper) -> None:
    if ends := _ends(ax, roof, peak):
        ax.plot(*zip(*ends), color=style.GREY, linewidth=1.0, zorder=1.5)
        start, end = (labels.to_points(ax, *end) for end in ends)
        sheet.line(start, end, LINE)


def _slope_label(ax, roof: Roof, peak: Roof | None, sheet: Paper) -> None:
    """Name and value along a slope, where they hide least; left out where the slope is too short for them."""
    ends = _ends(ax, roof, peak)
    if not ends:
        return
    (x0, y0), (x1, y1) = (labels.to_points(ax, *end) for end in ends)
    name = "shared memory" if roof.level == "SHARED" else roof.level
    text = f"{name} {numbers.bandwidth(roof.value)}"
    length, width = math.hypot(x1 - x0, y1 - y0), text_width(text, style.SMALL)
    if length < 0.8 * width:
        return
    ux, uy = (x1 - x0) / length, (y1 - y0) / length
    room = max(2.0, length - width - 2.0)
    places = [(side, 2.0 + 4.0 * i) for side in (1, -1) for i in range(int((room - 2.0) / 4.0) + 1)]
    starts = [(x0 + along * ux - side * OFF * uy, y0 + along * uy + side * OFF * ux) for side, along in places]
    x, y = starts[sheet.place([strip(s, (s[0] + width * ux, s[1] + width * uy), 6.0) for s in starts])]
    ax.annotate(text, (x, y), xycoords="figure points", rotation=math.degrees(math.atan2(uy, ux)),
                rotation_mode="anchor", size=style.SMALL, va="center_baseline", ha="left", color=style.GREY,
                path_effects=style.HALO, zorder=2)


def _flat(ax, roof: Roof, slopes: dict[str, Roof], sheet: Paper) -> None:
    x0, x1 = ax.get_xlim()
    fastest = max((r.value for r in slopes.values()), default=None)
    start = max(x0, roof.value / fastest) if fastest else x0
    look = {"linewidth": 1.0} if roof.measured else {"linewidth": 0.7, "linestyle": (0, (4, 2.5))}
    ax.plot([start, x1], [roof.value] * 2, color=style.GREY, zorder=1.5, **look)
    sheet.line(labels.to_points(ax, start, roof.value), labels.to_points(ax, x1, roof.value), LINE)


def _flat_label(ax, roof: Roof, sheet: Paper) -> None:
    """Above the right end or further to the left, so far that a mark's label goes between, or close to the line where another
    is above it; else below it."""
    text, (x, y) = f"{roof.label} {numbers.flops(roof.value, roof.type)}", labels.to_points(ax, ax.get_xlim()[1], roof.value)
    width, (left, *_) = text_width(text, style.SMALL) + 2, labels.box_points(ax)
    shifts = [s for s in range(0, int(x - left - width), 12)] or [0]
    places = [(x - shift, y + up) for up in (9, 4, -12) for shift in shifts]
    right, foot = places[sheet.place([[(px - width, py, px, py + 8)] for px, py in places])]
    ax.annotate(text, (right, foot), xycoords="figure points", ha="right", va="bottom", size=style.SMALL,
                color=style.GREY, path_effects=style.HALO, zorder=2)


def _guides(ax, guides: Sequence[float], sheet: Paper) -> None:
    """Vertical lines at given intensities, with the value at their feet."""
    y0, y1 = ax.get_ylim()
    for value in guides:
        ax.plot([value, value], [y0, y1], color=style.GREY, linewidth=0.7, linestyle=(0, (1, 2)), zorder=1)
        foot = labels.to_points(ax, value, y0)
        sheet.line(foot, labels.to_points(ax, value, y1), THIN)
        text = f"{value:g} OP/B"
        ax.annotate(text, (value, y0), xytext=(2, 3), textcoords="offset points", ha="left", va="bottom",
                    size=style.SMALL, color=style.GREY, path_effects=style.HALO, zorder=2)
        sheet.take([(foot[0] + 1, foot[1], foot[0] + text_width(text, style.SMALL), foot[1] + 10)], TEXT)
