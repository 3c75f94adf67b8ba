"""Deterministic label placement: sort, push apart, join with leader lines. Distances in points (1/72 inch)."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.lines import Line2D

POINTS = 72.0
LINE = 8.6
"""Height of a line of small print, points."""
FROM_LABEL, FROM_MARK = 3.0, 3.0


def wrap(text: str, limit: int) -> str:
    """The text in lines of at most `limit` characters, broken at spaces where there are any; nothing is cut off."""
    return "\n".join(textwrap.wrap(" ".join(text.split(" ")), limit)) or "–"


def spread(positions: Sequence[float], heights: float | Sequence[float], low: float = -1e30,
           high: float = 1e30) -> list[float]:
    """Moves centres as little as necessary for labels of these heights not to overlap, within low…high, in the same order.

    One height may be given for all. Overlapping clusters are centred on the mean of their wishes (pool adjacent
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


@dataclass(frozen=True)
class Label:
    """A drawn label: its text, its box, and the distances of its own mark and of the nearest other one, all in points."""

    text: str
    box: tuple[float, float, float, float]
    own: float
    other: float
    has_leader: bool
    leader: tuple[tuple[float, float], tuple[float, float]] | None = None


def remember(ax, text: str, box: tuple, distances: tuple[float, float], has_leader: bool, line: tuple | None = None) -> None:
    """Records a label for later checks of the figure, such as tests."""
    ax.figure.labels = [*drawn(ax.figure), Label(text, box, *distances, has_leader, line)]


def drawn(fig) -> list[Label]:
    """The labels of marks and lines in a figure."""
    return getattr(fig, "labels", [])


def margin_labels(ax, items: Sequence[tuple], size: float = 6.6, shift: float = 10.0, limit: int = 36,
                  top: float | None = None) -> None:
    """Labels right of the axes, one for each (x, y, text, line colour[, text colour]), joined by leader lines that do not
    cross.

    Up to the axes' upper end, or to the height `top` (in units of the axis).
    """
    _, bottom, right, highest = box_points(ax)
    highest = highest if top is None else to_points(ax, ax.get_xlim()[1], top)[1]
    ends = [to_points(ax, x, y) for x, y, *_ in items]
    texts = [wrap(item[2], limit) for item in items]
    sizes = [LINE * (1 + t.count("\n")) for t in texts]
    heights = _uncrossed(ends, sizes, right + shift, bottom + 2, highest)
    for (x, y, _, colour, *ink), text, end, height, tall in zip(items, texts, ends, heights, sizes):
        ax.annotate(text, (x, y), xytext=(right + shift - end[0], height - end[1]), textcoords="offset points",
                    va="center", ha="left", size=size, annotation_clip=False, linespacing=1.05,
                    color=ink[0] if ink else colour)
        has_leader = leader(ax, (right + shift, height), end, colour)
        away = [math.hypot(right + shift - ex, height - ey) for ex, ey in ends]
        remember(ax, text, (right + shift, height - tall / 2, right + shift, height + tall / 2),
                 (math.dist((right + shift, height), end), min((d for d, e in zip(away, ends) if e != end), default=math.inf)),
                 has_leader, ((right + shift, height), end) if has_leader else None)


def _uncrossed(ends: Sequence[tuple[float, float]], sizes: Sequence[float], x: float, bottom: float, highest: float) -> list[float]:
    """Heights of labels at `x` for these ends: in the order of the ends' heights, except where lines would cross."""
    wishes = [y for _, y in ends]
    for _ in range(len(ends) ** 2):
        order = sorted(range(len(ends)), key=lambda i: (wishes[i], i))
        extra = [(sizes[i] - LINE) / 2 for i in order] or [0.0]
        heights = spread(wishes, sizes, bottom + extra[0], highest - extra[-1])  # limits of the centres
        pair = next(((i, j) for i in range(len(ends)) for j in range(i) if cross((x, heights[i]), ends[i], (x, heights[j]), ends[j])), None)
        if pair is None:
            break
        i, j = pair
        wishes[i], wishes[j] = wishes[j], wishes[i]
    return heights if ends else []


def cross(a: tuple[float, float], b: tuple[float, float], c: tuple[float, float], d: tuple[float, float]) -> bool:
    """Whether the lines from a to b and from c to d cross between their ends."""
    def side(p, q, r):
        return (q[0] - p[0]) * (r[1] - p[1]) - (q[1] - p[1]) * (r[0] - p[0])
    return side(a, b, c) * side(a, b, d) < 0 and side(c, d, a) * side(c, d, b) < 0


def leader(ax, start: tuple[float, float], end: tuple[float, float], colour) -> bool:
    """Whether there is room for one: a thin line from a label to its mark, a little short of both; as matplotlib's arrows, which take ten times as long."""
    (ax0, ay0), (bx, by) = start, end
    length = math.hypot(bx - ax0, by - ay0)
    if length > FROM_LABEL + FROM_MARK:
        ux, uy = (bx - ax0) / length, (by - ay0) / length
        xs, ys = (ax0 + FROM_LABEL * ux, bx - FROM_MARK * ux), (ay0 + FROM_LABEL * uy, by - FROM_MARK * uy)
        ax.add_line(Line2D([x / POINTS for x in xs], [y / POINTS for y in ys], transform=ax.figure.dpi_scale_trans, zorder=3,
                           color=colour, linewidth=0.5, alpha=0.8, clip_on=False, solid_capstyle="butt"))
        return True
    return False
