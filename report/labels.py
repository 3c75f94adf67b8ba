"""Deterministic label placement: sort, push apart, join with leader lines. Distances in points (1/72 inch)."""

from __future__ import annotations

import math
from collections.abc import Sequence

POINTS = 72.0


def spread(positions: Sequence[float], gap: float, low: float = -1e30, high: float = 1e30) -> list[float]:
    """Positions moved as little as it takes to keep `gap` between neighbours, within low…high; order is kept.

    Clusters that would collide are centred on the mean of their wishes (pool adjacent violators).
    """
    order = sorted(range(len(positions)), key=lambda i: (positions[i], i))
    clusters: list[list[float]] = []  # each: sum of (wish - offset), members
    for rank, i in enumerate(order):
        clusters.append([positions[i] - rank * gap, 1])
        while len(clusters) > 1 and clusters[-2][0] / clusters[-2][1] >= clusters[-1][0] / clusters[-1][1]:
            total, count = clusters.pop()
            clusters[-1][0] += total
            clusters[-1][1] += count
    placed = [total / count for total, count in clusters for _ in range(int(count))]
    room = high - gap * (len(placed) - 1)
    result = [0.0] * len(positions)
    for rank, i in enumerate(order):
        result[i] = min(max(placed[rank], low), max(low, room)) + rank * gap
    return result


def to_points(ax, x: float, y: float) -> tuple[float, float]:
    """Data coordinates as points from the figure's lower left corner."""
    scale = POINTS / ax.figure.dpi
    px, py = ax.transData.transform((x, y))
    return px * scale, py * scale


def margin_labels(ax, items: Sequence[tuple], gap: float = 8.6, size: float = 7.0,
                  shift: float = 10.0) -> None:
    """Labels right of the axes, one for each (x, y, text, line colour[, text colour]), joined by leader lines."""
    box = ax.get_window_extent()
    scale = POINTS / ax.figure.dpi
    right, bottom, top = box.x1 * scale, box.y0 * scale, box.y1 * scale
    ends = [to_points(ax, x, y) for x, y, *_ in items]
    heights = spread([y for _, y in ends], gap, bottom + 2, top)
    for (x, y, text, colour, *ink), (px, py), height in zip(items, ends, heights):
        ax.annotate(text, (x, y), xytext=(right + shift - px, height - py), textcoords="offset points",
                    va="center", ha="left", size=size, annotation_clip=False,
                    color=ink[0] if ink else "#1a1a1a",
                    arrowprops={"arrowstyle": "-", "color": colour, "linewidth": 0.5, "alpha": 0.8,
                                "shrinkA": 1, "shrinkB": 3, "relpos": (0, 0.5)})


def number_labels(ax, items: Sequence[tuple[float, float, str]], gap: float = 8.2, near: float = 15.0,
                  shift: float = 8.0, size: float = 7.0, halo=None) -> None:
    """Short labels beside points, to the right (or left, if `shift` is negative).

    Points within `near` horizontally share one pushed-apart column.
    """
    ends = sorted(((*to_points(ax, x, y), x, y, text) for x, y, text in items), key=lambda e: (e[0], e[1], e[4]))
    column: list[tuple] = []
    for end in [*ends, None]:
        if column and (end is None or end[0] - column[0][0] > near):
            _place_column(ax, column, gap, shift, size, halo)
            column = []
        if end:
            column.append(end)


def _place_column(ax, column: list[tuple], gap: float, shift: float, size: float, halo) -> None:
    """One column of labels within the axes' height; a second and third beside it if that is not enough."""
    box, scale = ax.get_window_extent(), POINTS / ax.figure.dpi
    bottom, top = box.y0 * scale + 3, box.y1 * scale
    parts = -(-len(column) // max(1, int((top - bottom) / gap)))
    column = sorted(column, key=lambda c: (c[1], c[4]))
    for part in range(parts):
        _place_part(ax, column[part::parts], column, gap, shift + math.copysign(14 * part, shift), size, halo,
                    (bottom, top))


def _place_part(ax, part: list[tuple], column: list[tuple], gap: float, shift: float, size: float, halo,
                limits: tuple[float, float]) -> None:
    right = shift > 0
    edge = (max if right else min)(px for px, *_ in column)
    heights = spread([py for _, py, *_ in part], gap, *limits)
    for (px, py, x, y, text), height in zip(part, heights):
        ax.annotate(text, (x, y), xytext=(edge + shift - px, height - py), textcoords="offset points", va="center",
                    ha="left" if right else "right", size=size, path_effects=halo, zorder=6,
                    arrowprops={"arrowstyle": "-", "color": "#6b6b6b", "linewidth": 0.4, "shrinkA": 0, "shrinkB": 2,
                                "relpos": (0 if right else 1, 0.5)})


def below_labels(ax, items: Sequence[tuple[float, float, str]], gap: float = 16.0, drop: float = 9.0,
                 size: float = 7.0, halo=None) -> None:
    """Short labels under points, pushed apart sideways."""
    ends = [to_points(ax, x, y) for x, y, _ in items]
    places = spread([px for px, _ in ends], gap)
    for (x, y, text), (px, _), place in zip(items, ends, places):
        ax.annotate(text, (x, y), xytext=(place - px, -drop), textcoords="offset points", ha="center", va="center",
                    size=size, path_effects=halo, zorder=6)


def columns(count: int, widest: int, width: float) -> int:
    """How many columns of a key with `widest` characters at 7 pt fit in `width` inches."""
    needed = (widest * 4.1 + 16) / POINTS
    return max(1, min(count, int(width / needed), 4))
