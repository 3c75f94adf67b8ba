"""Records what is already drawn on a figure, so that labels can avoid it. All lengths in points (1/72 inch).

Marks, lines and texts are recorded as small boxes. A label is placed at the first of its possible places that is free,
or at the one that hides least. There is no randomness, so the same figure is always drawn identically.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import cache
from io import BytesIO
from pathlib import Path

import numpy as np

LARGE = 1000
"""A size of type at which hinting changes no width."""
Box = tuple[float, float, float, float]
STEP = 3.0
"""Lines and turned texts are boxes at this distance."""
THIN, LINE, MARK, TEXT = 0.25, 1.0, 10.0, 60.0
"""How bad it is to hide a guide, a line, a mark or a text."""
OUTSIDE = 3000.0
"""To leave the axes, for each box: worse than hiding all of a turned text, whose boxes count one by one."""


class Paper:
    """The boxes of one figure with their weights."""

    def __init__(self, limits: Box):
        self.limits = limits
        self.spots: list[tuple[float, float, object]] = []
        """Places that labels belong to: markers, and points along the lines that join them, with their owner."""
        self._boxes: list[Box] = []
        self._weights: list[float] = []

    def take(self, boxes: Iterable[Box], weight: float) -> None:
        for box in boxes:
            self._boxes.append(box)
            self._weights.append(weight)

    def mark(self, x: float, y: float, radius: float = 3.5, owner: object = None) -> None:
        self.take([(x - radius, y - radius, x + radius, y + radius)], MARK)
        self.spots.append((x, y, owner))

    def line(self, start: tuple[float, float], end: tuple[float, float], weight: float = LINE, owner: object = None) -> None:
        boxes = strip(start, end, 1.0)
        self.take(boxes, weight)
        if owner is not None:
            self.spots += [((x0 + x1) / 2, (y0 + y1) / 2, owner) for x0, y0, x1, y1 in boxes]

    def distances(self, box: Box, owners: Sequence[object]) -> tuple[float, float]:
        """From a label to the nearest place of its owners, and to the nearest of any other."""
        own, other = math.inf, math.inf
        for x, y, owner in self.spots:
            away = math.hypot(max(box[0] - x, 0, x - box[2]), max(box[1] - y, 0, y - box[3]))
            if owner in owners:
                own = min(own, away)
            else:
                other = min(other, away)
        return own, other

    def cost(self, boxes: Sequence[Box]) -> float:
        """Weight of all that these boxes would hide; and of leaving the limits."""
        new = np.array(boxes)
        x0, y0, x1, y1 = self.limits
        outside = (new[:, 0] < x0) | (new[:, 1] < y0) | (new[:, 2] > x1) | (new[:, 3] > y1)
        total = OUTSIDE * float(outside.sum())
        if self._boxes:
            old = np.array(self._boxes)[:, None, :]
            hit = ((old[..., 0] < new[:, 2]) & (new[:, 0] < old[..., 2]) & (old[..., 1] < new[:, 3])
                   & (new[:, 1] < old[..., 3])).any(axis=1)
            total += float((hit * np.array(self._weights)).sum())
        return total

    def place(self, candidates: Sequence[Sequence[Box]]) -> int:
        """Index of the first free candidate, or of the least costly one; its boxes are taken."""
        costs = []
        for boxes in candidates:
            costs.append(self.cost(boxes))
            if costs[-1] == 0:
                break
        best = min(range(len(costs)), key=lambda i: (costs[i], i))
        self.take(candidates[best], TEXT)
        return best


def strip(start: tuple[float, float], end: tuple[float, float], thickness: float) -> list[Box]:
    """A line, or a turned text, as boxes along its middle."""
    (ax, ay), (bx, by), half = start, end, thickness / 2
    count = max(1, math.ceil(math.hypot(bx - ax, by - ay) / STEP))
    middles = ((ax + (bx - ax) * i / count, ay + (by - ay) * i / count) for i in range(count + 1))
    return [(x - half, y - half, x + half, y + half) for x, y in middles]


def text_width(text: str, size: float) -> float:
    """Width of the longest line in the figures' type, points."""
    return size * max(sum(map(_advance, line)) for line in text.split("\n"))


@cache
def _advance(letter: str) -> float:
    """A letter's width over the size of the type; the empty box's, which is glyph 0, where the type has no such letter."""
    font = _font()
    return font.load_glyph(font.get_char_index(ord(letter))).linearHoriAdvance / 65536 / LARGE


@cache
def _font():
    """From memory: an open file's place is shared by the processes that draw, and each would move it under the others."""
    from matplotlib.font_manager import FontProperties, findfont
    from matplotlib.ft2font import FT2Font
    font = FT2Font(BytesIO(Path(findfont(FontProperties())).read_bytes()))
    font.set_size(LARGE, 72)
    return font
