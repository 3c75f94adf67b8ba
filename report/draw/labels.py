"""Deterministic label placement: sort, push apart, join with leader lines. Distances in points (1/72 inch)."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence

from matplotlib.lines import Line2D

POINTS = 72.0
LINE = 8.6
"""Height of a line of small print, points."""
FROM_LABEL, FROM_MARK = 3.0, 3.0
"""Where a leader line begins and ends, points."""


def wrap(text: str, limit: int) -> str:
    """The text in lines of at most `limit` characters, broken at spaces where there are any; nothing is cut off."""
    return "\n".join(textwrap.wrap(" ".join(text.split(" ")), limit)) or "–"


def spread(positions: Sequence[float], heights: float | Sequence[float], low: float = -1e30,
           high: float = 1e30) -> list[float]:
    """Centres moved as little as it takes for labels of these heights not to overlap, within low…high, order kept.

    One height serves for all. Clusters that would collide are centred on the mean of their wishes (pool adjacent
    violators).
    """
    sizes = [heights] * len(positions) if isinstance(heights, (int, float)) else list(heights)
    order = sorted(range(len(positions)), key=lambda i: (positions[i], i))
    offsets = [0.0]
    for i, j in zip(order, order[1:]):
        offsets.append(offsets[-1] + (sizes[i] + sizes[j]) / 2)
    clusters: list[list[float]] = []  # each: sum of (wish - offset), members
    for i, offset in zip(order, offsets):
        clusters.append([positions[i] - offset, 1])
        while len(clusters) > 1 and clusters[-2][0] / clusters[-2][1] >= clusters[-1][0] / clusters[-1][1]:
            total, count = clusters.pop()
            clusters[-1][0] += total
            clusters[-1][1] += count
    placed = [total / count for total, count in clusters for _ in range(int(count))]
    room, result = high - offsets[-1], [0.0] * len(positions)
    for rank, i in enumerate(order):
        result[i] = min(max(placed[rank], low), max(low, room)) + offsets[rank]
    return result


def to_points(ax, x: float, y: float) -> tuple[float, float]:
    """Data coordinates as points from the figure's lower left corner."""
    scale = POINTS / ax.figure.dpi
    px, py = ax.transData.transform((x, y))
    return px * scale, py * scale


def box_points(ax) -> tuple[float, float, float, float]:
    """The axes' box (x0, y0, x1, y1) in points."""
    box, scale = ax.get_window_extent(), POINTS / ax.figure.dpi
    return box.x0 * scale, box.y0 * scale, box.x1 * scale, box.y1 * scale


def margin_labels(ax, items: Sequence[tuple], size: float = 6.6, shift: float = 10.0, limit: int = 36,
                  top: float | None = None) -> None:
    """Labels right of the axes, one for each (x, y, text, line colour[, text colour]), joined by leader lines.

    Up to the axes' upper end, or to the height `top` (in units of the axis).
    """
    _, bottom, right, highest = box_points(ax)
    highest = highest if top is None else to_points(ax, ax.get_xlim()[1], top)[1]
    ends = [to_points(ax, x, y) for x, y, *_ in items]
    texts = [wrap(item[2], limit) for item in items]
    sizes = [LINE * (1 + t.count("\n")) for t in texts]
    extra = [(sizes[i] - LINE) / 2 for i in sorted(range(len(ends)), key=lambda i: ends[i][1])] or [0.0]
    heights = spread([y for _, y in ends], sizes, bottom + 2 + extra[0], highest - extra[-1])  # limits of the centres
    for (x, y, _, colour, *ink), text, end, height in zip(items, texts, ends, heights):
        ax.annotate(text, (x, y), xytext=(right + shift - end[0], height - end[1]), textcoords="offset points",
                    va="center", ha="left", size=size, annotation_clip=False, linespacing=1.05,
                    color=ink[0] if ink else colour)
        leader(ax, (right + shift, height), end, colour)


def leader(ax, start: tuple[float, float], end: tuple[float, float], colour) -> None:
    """A thin line from a label to its mark, a little short of both; as matplotlib's arrows, which take ten times as long."""
    (ax0, ay0), (bx, by) = start, end
    length = math.hypot(bx - ax0, by - ay0)
    if length > FROM_LABEL + FROM_MARK:
        ux, uy = (bx - ax0) / length, (by - ay0) / length
        xs, ys = (ax0 + FROM_LABEL * ux, bx - FROM_MARK * ux), (ay0 + FROM_LABEL * uy, by - FROM_MARK * uy)
        ax.add_line(Line2D([x / POINTS for x in xs], [y / POINTS for y in ys], transform=ax.figure.dpi_scale_trans, zorder=3,
                           color=colour, linewidth=0.5, alpha=0.8, clip_on=False, solid_capstyle="butt"))
