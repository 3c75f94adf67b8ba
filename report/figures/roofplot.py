"""Drawing roofs on a log-log roofline: measured ceilings solid, data-sheet ceilings dashed, labels along the roof."""

from __future__ import annotations

import math

from report import derive, fmt
from report.records import Roof, Side

CROWDED = 9.0
"""Slopes nearer than this (points) get their labels one behind the other."""
GUIDES = derive.TEXTBOOK_INTENSITIES


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


def roofs(ax, side: Side, colour: str, outline: bool = False) -> list[tuple]:
    """All roofs of a side, or its outline (memory, and the best of each precision).

    Returns (x, y, text, line colour, text colour) of the flat ones, for the caller to place.
    """
    slopes, along = _slopes(side, True, outline), 0.0
    for before, roof in zip([None, *slopes], slopes):
        crowded = before and _apart(ax, before, roof) < CROWDED
        below = bool(crowded) and roof is slopes[-1]
        longer = crowded and not below
        along = along + 4.1 * len(_name(before, _sheets(before, side, outline), fmt.bandwidth)) + 10 if longer else 0.0
        _slope(ax, roof, side, colour, outline, along, below)
    for roof in _slopes(side, False, outline):
        _slope(ax, roof, side, colour, outline, 0.0, False)
    tags = []
    for roof in _flats(side, True, outline):
        twin = [r for r in _flats(side, False, outline) if derive.roof_precision(r) == derive.roof_precision(roof)]
        top = _flat(ax, roof, side, colour, outline)
        for other in twin:
            top = max(top, _flat(ax, other, side, colour, outline))
        tags.append((ax.get_xlim()[1], top, _name(roof, twin, fmt.flops), colour, colour))
    return tags


def _apart(ax, upper: Roof, lower: Roof) -> float:
    """Distance between two slopes on the page, in points."""
    (y0, y1), box = ax.get_ylim(), ax.get_window_extent()
    per_decade = box.height / ax.figure.dpi * 72 / math.log10(y1 / y0)
    return per_decade * math.log10(upper.value / lower.value) * math.cos(math.radians(slope(ax)))


def _sheets(roof: Roof, side: Side, outline: bool) -> list[Roof]:
    """Data-sheet roofs of the same level, named in the label of a measured one."""
    if outline or not roof.measured:
        return []
    return [r for r in derive.bandwidth_roofs(side, False)
            if derive.memory_level(r.label) == derive.memory_level(roof.label)]


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


def _top(side: Side) -> float:
    flats = derive.compute_roofs(side) or derive.compute_roofs(side, measured=False)
    return flats[-1].value if flats else math.inf


def _slope(ax, roof: Roof, side: Side, colour: str, outline: bool, along: float, below: bool) -> None:
    """One bandwidth roof; its label lies along it (above or below), unless a measured twin carries it for both."""
    from report import style
    (x0, x1), (y0, y1) = ax.get_xlim(), ax.get_ylim()
    start, end = max(x0, y0 / roof.value), min(x1, min(_top(side), y1) / roof.value)
    if end <= start:
        return
    ax.plot([start, end], [start * roof.value, end * roof.value], **_line(roof, colour))
    measured = {derive.memory_level(r.label) for r in derive.bandwidth_roofs(side)}
    if not roof.measured and derive.memory_level(roof.label) in measured:
        return
    sheets, angle = _sheets(roof, side, outline), slope(ax)
    turn, width = math.radians(angle), ax.get_window_extent().width / ax.figure.dpi * 72
    x = start * (x1 / x0) ** (0.02 + along * math.cos(turn) / width)
    height = x * (roof.value if below else max(r.value for r in [roof, *sheets]))
    off = -2.2 if below else 2.2
    ax.annotate(_name(roof, sheets, fmt.bandwidth), (x, height), textcoords="offset points",
                xytext=(-off * math.sin(turn), off * math.cos(turn)), rotation=angle, rotation_mode="anchor",
                size=style.SMALL, va="top" if below else "bottom", ha="left", color=colour, path_effects=style.HALO,
                zorder=2)


def _flat(ax, roof: Roof, side: Side, colour: str, outline: bool) -> float:
    """One compute roof, from where the fastest memory meets it; returns its height."""
    x0, x1 = ax.get_xlim()
    dram = derive.dram_roof(side)
    bandwidths = [dram] if outline and dram else derive.bandwidth_roofs(side)
    start = max(x0, roof.value / bandwidths[0].value) if bandwidths else x0
    ax.plot([start, x1], [roof.value] * 2, **_line(roof, colour))
    return roof.value


def above(ax, tags: list[tuple]) -> None:
    """Labels of flat roofs above their right ends."""
    from report import style
    for x, y, text, colour, _ in tags:
        ax.annotate(text, (x, y), xytext=(-2, 2), textcoords="offset points", ha="right", va="bottom",
                    size=style.SMALL, color=colour, path_effects=style.HALO, zorder=2)


def guides(ax) -> None:
    """Vertical guides at the textbook's two intensities."""
    from report import style
    for value in GUIDES:
        ax.axvline(value, color=style.GREY, linewidth=0.7, linestyle=(0, (1, 2)), zorder=1)
        ax.annotate(f"{value:g}", (value, 1), xycoords=ax.get_xaxis_transform(), xytext=(0, 2),
                    textcoords="offset points", ha="center", va="bottom", size=style.SMALL, color=style.GREY)


KEY_ROW = 0.14
"""Height of one row of a key, inches."""


def key(fig, entries: list[tuple[str, str]], top: float, left: float = 0.1) -> None:
    """A numbered key in columns; its first row is `top` inches above the figure's bottom."""
    from report import style
    width, height = fig.get_size_inches()
    count = key_columns(entries)
    per_column = -(-len(entries) // count)
    for i, (number, text) in enumerate(entries):
        x, y = left + (i // per_column) * (width - left) / count, top - (i % per_column) * KEY_ROW
        fig.text(x / width, y / height, number, size=style.SMALL, weight="bold", ha="left", va="center")
        fig.text((x + 0.2) / width, y / height, text, size=style.SMALL, ha="left", va="center")


def key_columns(entries: list[tuple[str, str]]) -> int:
    """Columns of the key, so that its longest text fits."""
    from report import labels, style
    return labels.columns(len(entries), max(len(text) for _, text in entries), style.WIDTH)


def key_height(entries: list[tuple[str, str]]) -> float:
    """Height of the key in inches."""
    return KEY_ROW * -(-len(entries) // key_columns(entries)) if entries else 0.0
