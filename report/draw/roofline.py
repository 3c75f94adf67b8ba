"""Roofline plots: measured roofs solid, data-sheet roofs dashed, each kernel at one or more intensities, joined."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from report.data.roofs import Roof, Roofs
from report.draw import labels, style
from report.draw.paper import LINE, TEXT, THIN, Paper, strip, text_width
from report.text import numbers

NEAR = 1.12
"""Marks whose rates and intensities differ by less than this factor share a label."""
OFF = 5.5
"""From a slope to the middle of its label, points."""
LOOKS = {"requested": {"marker": "o", "markersize": 4.6}, "L1": {"marker": "^", "markersize": 4.4},
         "L2": {"marker": "s", "markersize": 4.0}, "L3": {"marker": "v", "markersize": 4.2},
         "DRAM": {"marker": "D", "markersize": 4.0, "markerfacecolor": "white"}}
"""Marker of an intensity, by the bytes that it counts."""
UNKNOWN = {"marker": "o", "markersize": 4.2}


@dataclass(frozen=True)
class Mark:
    """A kernel at a rate (GFLOP/s) with its intensities (FLOP/byte) by the kind of bytes; joined by a line.

    `tag` is short (a number) and always written, `name` where there is room.
    """

    tag: str
    name: str
    rate: float
    intensities: dict[str, float]
    is_peer: bool = False
    is_main: bool = False
    """Its name goes first where several share a label."""


def draw(ax, roofs: Roofs, type_: str, marks: Sequence[Mark], guides: Sequence[float], about: str,
         levels: Sequence[str] | None = None) -> None:
    """The whole plot into empty axes; `about` says which bytes the intensities count; `levels`: only these slopes."""
    marks = [m for m in marks if m.intensities]
    slopes = {name: roof for name, roof in roofs.levels().items() if levels is None or name in levels}
    _frame(ax, roofs, type_, marks, guides, slopes, about)
    sheet = Paper(labels.box_points(ax))
    peak = roofs.peak(type_)
    for roof in slopes.values():
        _slope(ax, roof, peak, sheet)
    for roof in filter(None, (peak, roofs.peak(type_, measured=False))):
        _flat(ax, roof, slopes, sheet)
    _guides(ax, guides, sheet)
    groups = _grouped(marks)
    for mark in marks:
        _points(ax, mark, sheet)
    for roof in filter(None, (peak,)):
        _flat_label(ax, roof, sheet)
    for roof in slopes.values():
        _slope_label(ax, roof, peak, sheet)
    for group in groups:
        _label(ax, group, sheet)


def _frame(ax, roofs: Roofs, type_: str, marks, guides, slopes: dict[str, Roof], about: str) -> None:
    xs = [x for m in marks for x in m.intensities.values()] + list(guides)
    rates = [m.rate for m in marks]
    tops = [r.value for r in (roofs.peak(type_), roofs.peak(type_, measured=False)) if r]
    ridges = [max(tops) / r.value for r in slopes.values()] if tops else []
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlim(min([*xs, *ridges]) / 2.2, max([*xs, *ridges]) * 2.6)
    ax.set_ylim(min(rates, default=min(tops, default=1.0) / 100) / 2, max([*rates, *tops]) * 1.9)
    style.decade_ticks(ax.xaxis)
    style.decade_ticks(ax.yaxis)
    ax.set_xlabel(f"Intensity [FLOP/byte] ({about})")
    ax.set_ylabel("Performance [GFLOP/s]", labelpad=1)


def _ends(ax, roof: Roof, peak: Roof | None) -> tuple[tuple[float, float], tuple[float, float]] | None:
    """Where a slope enters the axes and where it meets the peak."""
    (x0, x1), (y0, y1) = ax.get_xlim(), ax.get_ylim()
    start, end = max(x0, y0 / roof.value), min(x1, (min(y1, peak.value) if peak else y1) / roof.value)
    return ((start, start * roof.value), (end, end * roof.value)) if end > start else None


def _slope(ax, roof: Roof, peak: Roof | None, sheet: Paper) -> None:
    if ends := _ends(ax, roof, peak):
        ax.plot(*zip(*ends), color=style.GREY, linewidth=1.0, zorder=1.5)
        sheet.line(*(labels.to_points(ax, *end) for end in ends), LINE)


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
    """Above the right end."""
    text, (x, y) = f"{roof.label} {numbers.flops(roof.value)}", labels.to_points(ax, ax.get_xlim()[1], roof.value)
    ax.annotate(text, (x, y + 5), xycoords="figure points", ha="right", va="bottom", size=style.SMALL,
                color=style.GREY, path_effects=style.HALO, zorder=2)
    sheet.take([(x - text_width(text, style.SMALL), y + 3, x, y + 13)], TEXT)


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


def _grouped(marks: Sequence[Mark]) -> list[list[Mark]]:
    """Marks that nearly coincide, together."""
    groups: list[list[Mark]] = []
    for mark in marks:
        home = next((g for g in groups if _near(mark, g[0])), None)
        groups.append([mark]) if home is None else home.append(mark)
    return groups


def _near(a: Mark, b: Mark) -> bool:
    if a.is_peer != b.is_peer or a.intensities.keys() != b.intensities.keys():
        return False
    pairs = [(a.rate, b.rate), *((a.intensities[k], b.intensities[k]) for k in a.intensities)]
    return all(max(p) < NEAR * min(p) for p in pairs)


def _points(ax, mark: Mark, sheet: Paper) -> None:
    colour = style.PEER if mark.is_peer else style.OWN
    xs = list(mark.intensities.values())
    if len(xs) > 1:
        ax.plot([min(xs), max(xs)], [mark.rate] * 2, color=colour, linewidth=0.9, zorder=3, solid_capstyle="butt")
        sheet.line(labels.to_points(ax, min(xs), mark.rate), labels.to_points(ax, max(xs), mark.rate), LINE)
    for kind, x in mark.intensities.items():
        look = {"markeredgecolor": colour if kind == "DRAM" else "white", "markeredgewidth": 0.9 if kind == "DRAM" else 0.4}
        ax.plot([x], [mark.rate], color=colour, linestyle="", zorder=5, **(look | LOOKS.get(kind, UNKNOWN)))
        sheet.mark(*labels.to_points(ax, x, mark.rate), 2.8)


def _label(ax, group: list[Mark], sheet: Paper) -> None:
    """Numbers and a name beside a group's marks where that hides nothing; else the numbers alone, where it hides least."""
    texts = [_tags(group), *([main.name] if (main := next((m for m in group if m.is_main), group[0])) else [])]
    full = " ".join(texts)
    xs = [x for m in group for x in m.intensities.values()]
    left, right = (labels.to_points(ax, x, group[0].rate) for x in (min(xs), max(xs)))
    for text in (full, texts[0]):
        width = text_width(text, style.SMALL)
        places = _places(left, right, width)
        boxes = [[(x, y - 3.4, x + width, y + 3.4)] for x, y in places]
        if text == texts[0] or min(sheet.cost(b) for b in boxes) < LINE:
            x, y = places[sheet.place(boxes)]
            ax.annotate(text, (x, y), xycoords="figure points", ha="left", va="center_baseline", size=style.SMALL,
                        color=style.PEER if group[0].is_peer else style.OWN, path_effects=style.HALO, zorder=6)
            return


def _places(left: tuple[float, float], right: tuple[float, float], width: float) -> list[tuple[float, float]]:
    middle = (left[0] + right[0] - width) / 2
    return [(right[0] + 5, right[1]), (left[0] - width - 5, left[1]), (middle, right[1] + 7.5), (middle, right[1] - 7.5),
            (right[0] + 2, right[1] + 7), (right[0] + 2, right[1] - 7), (left[0] - width, left[1] + 7),
            (left[0] - width, left[1] - 7)]


def _tags(group: list[Mark]) -> str:
    """'3', '3, 4', '3–6'."""
    tags = [m.tag for m in group]
    run = [int(t) for t in tags if t.isdigit()]
    if len(run) == len(tags) > 2 and run == list(range(run[0], run[0] + len(run))):
        return f"{tags[0]}–{tags[-1]}"
    return ", ".join(tags)
