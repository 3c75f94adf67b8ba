"""Drawing roofs on a log-log roofline: measured ceilings solid, data-sheet ceilings dashed, labels along the roof."""

from __future__ import annotations

import math

from report import derive, fmt
from report.paper import LINE, TEXT, THIN, Paper, strip, text_width
from report.records import Roof, Side

GUIDES = tuple(zip(derive.TEXTBOOK_INTENSITIES, ("textbook:\nnaive", "textbook:\n16×16 tile")))
OFF = 6.0
"""From a slope to the middle of its label, points."""


def setup(ax, xlim: tuple[float, float], ylim: tuple[float, float], bytes_name: str) -> None:
    """Log-log axes; the x label says which bytes are meant."""
    from report import style
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlim(*xlim)
    ax.set_ylim(*ylim)
    style.decade_ticks(ax.xaxis)
    style.decade_ticks(ax.yaxis)
    ax.set_xlabel(f"Arithmetic intensity [FLOP/byte] – {bytes_name}")
    ax.set_ylabel("Performance [GFLOP/s]")


def slope(ax) -> float:
    """The angle (degrees) at which a bandwidth roof runs on this page."""
    box, (x0, x1), (y0, y1) = ax.get_window_extent(), ax.get_xlim(), ax.get_ylim()
    per_x = box.width / math.log10(x1 / x0)
    per_y = box.height / math.log10(y1 / y0)
    return math.degrees(math.atan2(per_y, per_x))


def paper(ax) -> Paper:
    """An empty record of what lies within the axes."""
    from report import labels
    return Paper(labels.box_points(ax))


def roofs(ax, side: Side, colour: str, sheet: Paper, outline: bool = False) -> list[tuple]:
    """Draws all roofs of a side, or its outline (memory, and the best of each precision), and notes them on the paper.

    Returns (x, y, text, line colour, text colour) of the flat ones, for the caller to place.
    """
    for roof in [*_slopes(side, True, outline), *_slopes(side, False, outline)]:
        _slope(ax, roof, side, colour, sheet)
    tags = []
    for roof in (r for r in _flats(side, True, outline) if r.value >= ax.get_ylim()[0]):
        twins = [r for r in _flats(side, False, outline) if derive.roof_precision(r) == derive.roof_precision(roof)]
        top = max(_flat(ax, r, side, colour, outline, sheet) for r in [roof, *twins])
        tags.append((ax.get_xlim()[1], top, _name(roof, twins, fmt.flops), colour, colour))
    return tags


def slope_labels(ax, side: Side, colour: str, sheet: Paper, outline: bool = False) -> None:
    """Name and value along each bandwidth roof, where nothing is hidden; call it after the points are on the paper."""
    for roof in [*_slopes(side, True, outline), *_slopes(side, False, outline)]:
        levels = [r for r in derive.bandwidth_roofs(side, not roof.measured)
                  if derive.memory_level(r.label) == derive.memory_level(roof.label) and not outline]
        name = roof.label if roof.measured else "data sheet" if levels else f"{roof.label} (data sheet)"
        ends = _ends(ax, roof, side)
        if ends:
            _along(ax, f"{name} {fmt.bandwidth(roof.value)}", ends, sheet, colour,
                   above=not any(twin.value > roof.value for twin in levels))


def _along(ax, text: str, ends, sheet: Paper, colour: str, above: bool) -> None:
    """Puts a text beside the line between two points of the page, preferably on the given side of it."""
    from report import style
    (x0, y0), (x1, y1) = ends
    length, width = math.hypot(x1 - x0, y1 - y0), text_width(text, style.SMALL)
    ux, uy = (x1 - x0) / length, (y1 - y0) / length
    places = [(side, along) for side in ((1, -1) if above else (-1, 1))
              for along in _steps(2.0, max(2.0, length - width - 2.0), 4.0)]
    starts = [(x0 + along * ux - side * OFF * uy, y0 + along * uy + side * OFF * ux) for side, along in places]
    strips = [strip((x, y), (x + width * ux, y + width * uy), 6.5) for x, y in starts]
    x, y = starts[sheet.place(strips)]
    ax.annotate(text, (x, y), xycoords="figure points", rotation=math.degrees(math.atan2(uy, ux)),
                rotation_mode="anchor", size=style.SMALL, va="center_baseline", ha="left", color=colour,
                path_effects=style.HALO, zorder=2)


def _steps(low: float, high: float, step: float) -> list[float]:
    return [low + step * i for i in range(int((high - low) / step) + 1)]


def _slopes(side: Side, measured: bool, outline: bool) -> list[Roof]:
    if not outline:
        return derive.bandwidth_roofs(side, measured)
    dram = derive.dram_roof(side)
    return [dram] if measured and dram else []


def _flats(side: Side, measured: bool, outline: bool) -> list[Roof]:
    flats = derive.compute_roofs(side, measured=measured)
    if not outline:
        return flats
    return list({derive.roof_precision(r): r for r in flats}.values()) if measured else []


def _line(roof: Roof, colour: str) -> dict:
    return {"color": colour, "zorder": 1.5, "linewidth": 1.0 if roof.measured else 0.8,
            "linestyle": "-" if roof.measured else (0, (4, 2.5))}


def _name(roof: Roof, twins: list[Roof], text) -> str:
    """'DRAM 4.54 TB/s (data sheet 4.80 TB/s)'."""
    sheet = f" (data sheet {', '.join(text(t.value) for t in twins)})" if twins else ""
    return f"{roof.label}{'' if roof.measured else ' (data sheet)'} {text(roof.value)}{sheet}"


def _ends(ax, roof: Roof, side: Side) -> tuple | None:
    """Where a bandwidth roof enters the axes and where it meets the highest compute roof, in points of the page."""
    from report import labels
    (x0, x1), (y0, y1) = ax.get_xlim(), ax.get_ylim()
    flats = derive.compute_roofs(side) or derive.compute_roofs(side, measured=False)
    top = min(y1, flats[-1].value) if flats else y1
    start, end = max(x0, y0 / roof.value), min(x1, top / roof.value)
    if end <= start:
        return None
    return labels.to_points(ax, start, start * roof.value), labels.to_points(ax, end, end * roof.value)


def _slope(ax, roof: Roof, side: Side, colour: str, sheet: Paper) -> None:
    ends = _ends(ax, roof, side)
    if ends:
        scale = ax.figure.dpi / 72
        data = [ax.transData.inverted().transform((x * scale, y * scale)) for x, y in ends]
        ax.plot(*zip(*data), **_line(roof, colour))
        sheet.line(*ends, LINE)


def _flat(ax, roof: Roof, side: Side, colour: str, outline: bool, sheet: Paper) -> float:
    """One compute roof, from where the fastest memory meets it; returns its height."""
    from report import labels
    x0, x1 = ax.get_xlim()
    dram = derive.dram_roof(side)
    bandwidths = [dram] if outline and dram else derive.bandwidth_roofs(side)
    start = max(x0, roof.value / bandwidths[0].value) if bandwidths else x0
    ax.plot([start, x1], [roof.value] * 2, **_line(roof, colour))
    sheet.line(labels.to_points(ax, start, roof.value), labels.to_points(ax, x1, roof.value), LINE)
    return roof.value


def above(ax, tags: list[tuple], sheet: Paper) -> None:
    """Labels of flat roofs above their right ends."""
    from report import labels, style
    for x, y, text, colour, _ in tags:
        ax.annotate(text, (x, y), xytext=(-2, 3), textcoords="offset points", ha="right", va="bottom",
                    size=style.SMALL, color=colour, path_effects=style.HALO, zorder=2)
        px, py = labels.to_points(ax, x, y)
        sheet.take([(px - text_width(text, style.SMALL), py, px, py + 11)], TEXT)


def guides(ax, side: Side, sheet: Paper) -> None:
    """Vertical guides at the textbook's two intensities, up to the roof, named beside their feet."""
    from report import labels, style
    y0 = ax.get_ylim()[0]
    flats, slopes = derive.compute_roofs(side), derive.bandwidth_roofs(side)
    for value, name in GUIDES:
        heights = [flats[-1].value] if flats else [ax.get_ylim()[1]]
        top = min([*heights, *([value * slopes[0].value] if slopes else [])])
        if top <= y0:
            continue
        ax.plot([value, value], [y0, top], color=style.GREY, linewidth=0.7, linestyle=(0, (1, 2)), zorder=1)
        foot = labels.to_points(ax, value, y0)
        sheet.line(foot, labels.to_points(ax, value, top), THIN)
        text = f"{name} {value:g}"
        ax.annotate(text, (value, y0), xytext=(4, 4), textcoords="offset points", ha="left", va="bottom",
                    size=style.SMALL, color=style.GREY, linespacing=1.05, path_effects=style.HALO, zorder=2)
        sheet.take([(foot[0] + 3, foot[1], foot[0] + text_width(text, style.SMALL), foot[1] + 21)], TEXT)
