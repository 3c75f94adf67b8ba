"""Marks of kernels in a plot, one or more of each joined by a line, with numbers and, where there is room, names."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from report.draw import labels, style
from report.draw.paper import LINE, MARK, TEXT, Box, Paper, strip, text_width

CLEARLY = 0.7
"""A label's own mark is nearer than any other one by this factor, or has a leader line to it."""
REACH, TURNS = (12.0, 17.0, 24.0, 33.0, 45.0, 60.0, 80.0), 24
"""Distances (points) at which a label with a leader line is tried, and the number of directions."""
NEAR = 1.13
"""Marks of one name, or with numbers, whose places differ by less than this factor share a label."""
HIDDEN = 1.5
"""Marks closer than this (points) hide each other, and share a label with any names."""
AWAY, FURTHER = 6.0, 2.5
"""A label with a leader line keeps AWAY points from others' marks, unless that puts it FURTHER times as far from its own."""
LOOKS = {"requested": {"marker": "o", "markersize": 4.6}, "L1": {"marker": "^", "markersize": 4.4},
         "L2": {"marker": "s", "markersize": 4.0}, "L3": {"marker": "v", "markersize": 4.2},
         "DRAM": {"marker": "D", "markersize": 4.0, "markerfacecolor": "white"}}
"""Marker of an intensity, by the bytes that it counts."""
UNKNOWN = {"marker": "o", "markersize": 4.2}


@dataclass(frozen=True)
class Mark:
    """A kernel at a height with its places along x by kind (of bytes: requested, L2, DRAM …); joined by a line.

    `tag` is short (a number) and always written, `name` where there is room.
    """

    tag: str
    name: str
    y: float
    xs: dict[str, float]
    is_peer: bool = False
    is_main: bool = False
    """Its name is first where several share a label, and is always written."""
    colour: str = ""
    """Replaces the default colour of own kernels or peers."""

    @property
    def owner(self) -> tuple[str, str, str]:
        """The owner of the markers; marks of one name in several colours have different owners."""
        return self.tag, self.name, self.colour


def draw(ax, mark: Mark, sheet: Paper) -> None:
    colour = _colour(mark)
    xs = list(mark.xs.values())
    if len(xs) > 1:
        ax.plot([min(xs), max(xs)], [mark.y] * 2, color=colour, linewidth=0.9, zorder=3, solid_capstyle="butt")
        sheet.line(labels.to_points(ax, min(xs), mark.y), labels.to_points(ax, max(xs), mark.y), LINE, mark.owner)
    for kind, x in mark.xs.items():
        look = LOOKS.get(kind, UNKNOWN)
        is_open = "markerfacecolor" in look
        ax.plot([x], [mark.y], color=colour, linestyle="", zorder=5, markeredgecolor=colour if is_open else "white",
                markeredgewidth=0.9 if is_open else 0.4, **look)
        sheet.mark(*labels.to_points(ax, x, mark.y), 2.8, mark.owner)


def _colour(mark: Mark) -> str:
    return mark.colour or (style.PEER if mark.is_peer else style.OWN)


def label(ax, shown: Sequence[Mark], sheet: Paper) -> None:
    """Labels all groups, those with a main mark first, since the first ones find most room."""
    groups = _grouped(ax, shown)
    for group in sorted(groups, key=lambda g: not any(m.is_main for m in g)):
        _label(ax, group, sheet)


def _grouped(ax, shown: Sequence[Mark]) -> list[list[Mark]]:
    """Groups of marks that one label can name."""
    groups: list[list[Mark]] = []
    for mark in shown:
        home = next((g for g in groups if _near(ax, mark, g[0])), None)
        groups.append([mark]) if home is None else home.append(mark)
    return groups


def _near(ax, a: Mark, b: Mark) -> bool:
    """Whether one label can name both: by height and the first kind of place; for names without numbers, if markers overlap."""
    if _colour(a) != _colour(b) or a.xs.keys() != b.xs.keys():
        return False
    if a.name == b.name or a.tag and b.tag:
        first = next(iter(a.xs))
        return all(max(p) < NEAR * min(p) for p in ((a.y, b.y), (a.xs[first], b.xs[first])))
    return all(math.dist(p, q) < HIDDEN for p, q in zip(_spots(ax, [a]), _spots(ax, [b])))


def _spots(ax, group: Sequence[Mark]) -> list[tuple[float, float]]:
    """The places of a group's markers, from the left, points."""
    return sorted({labels.to_points(ax, x, m.y) for m in group for x in m.xs.values()})


def _texts(group: Sequence[Mark]) -> list[str]:
    """The possible texts at a group, the longest first: all numbers, with the name of a main or only mark after its own;
    without numbers all names."""
    main = next((m for m in group if m.is_main), group[0] if len({m.name for m in group}) == 1 else None)
    tags = _tags(group)
    if not tags:
        return [" / ".join(dict.fromkeys(m.name for m in group if m.name))]
    if main is None:
        return [tags]
    others = [] if len({m.name for m in group}) == 1 else [m for m in group if m.name != main.name]
    own = f"{_tags([m for m in group if m not in others])} {main.name}".strip()
    return list(dict.fromkeys((", ".join(filter(None, (_tags(others), own))), tags)))


def _label(ax, group: list[Mark], sheet: Paper) -> None:
    """Writes numbers and a name next to a group's marks, where they hide nothing and no other mark is as near; else
    numbers only. Without numbers all names. If there is no such place, a leader line joins the shortest text to one of
    its marks; if there is no room for that, there is no label."""
    is_main, owners, texts, spots = any(m.is_main for m in group), [m.owner for m in group], _texts(group), _spots(ax, group)
    for text in filter(None, texts):
        width = text_width(text, style.SMALL)
        boxes = [_box(x, y, width) for x, y in _places(spots[0], spots[-1], width)]
        own = [box for box in boxes if _is_clear(sheet, box, owners)]
        free = [box for box in own if sheet.cost([box]) < LINE]
        if free or (own and is_main and text == texts[-1] and min(sheet.cost([box]) for box in own) < MARK):
            box = min(free or own, key=lambda b: sheet.cost([b]))
            return _write(ax, group, sheet, text, box, None)
    for text in filter(None, texts if is_main else texts[-1:]):
        if found := _far(ax, sheet, text_width(text, style.SMALL), spots, owners):
            return _write(ax, group, sheet, text, *found)


def _box(x: float, y: float, width: float) -> Box:
    return x, y - 3.4, x + width, y + 3.4


def _is_clear(sheet: Paper, box: Box, owners: Sequence[object]) -> bool:
    """Whether no reader takes it for another mark's label."""
    own, other = sheet.distances(box, owners)
    return own <= CLEARLY * other


def _far(ax, sheet: Paper, width: float, spots: Sequence[tuple[float, float]], owners: Sequence[object]) -> tuple[Box, tuple[float, float]] | None:
    """A free place further away, with the marker that its leader line ends at; the nearest one that hides nothing, nor does its
    line, and away from others' marks if there is such a one not much further away."""
    close = None
    for away in REACH:
        if close and away > FURTHER * math.dist(_edge(*close), close[1]):
            break
        for end in reversed(spots):
            for i in range(TURNS):
                box = _around(end, away, 2 * math.pi * i / TURNS, width)
                if not _is_free(ax, sheet, box, end) or not _points_at(sheet, box, end, owners):
                    continue
                if sheet.distances(box, owners)[1] >= AWAY:
                    return box, end
                close = close or (box, end)
    return close


def _around(end: tuple[float, float], away: float, angle: float, width: float) -> Box:
    """The box of a text that begins, ends or has its middle so far away in that direction."""
    x, y = end[0] + away * math.cos(angle), end[1] + away * math.sin(angle)
    return _box(x if math.cos(angle) > 0.01 else x - width if math.cos(angle) < -0.01 else x - width / 2, y, width)


def _is_free(ax, sheet: Paper, box: Box, end: tuple[float, float]) -> bool:
    """Whether a label there hides nothing, its leader line neither, nor crosses another one."""
    if sheet.cost([box]) >= LINE:
        return False
    edge = _edge(box, end)
    line = [b for b in strip(edge, end, 0.6) if math.hypot(b[0] - end[0], b[1] - end[1]) > 5]
    others = [known.leader for known in labels.drawn(ax.figure) if known.leader]
    return sheet.cost(line or [box]) < 2 * LINE and not any(labels.cross(edge, end, *other) for other in others)


def _points_at(sheet: Paper, box: Box, end: tuple[float, float], owners: Sequence[object]) -> bool:
    """Whether no other mark is nearer to the visible tip of the leader line than the one that it ends at."""
    edge = _edge(box, end)
    part = labels.FROM_MARK / (math.dist(edge, end) or 1.0)
    x, y = end[0] + part * (edge[0] - end[0]), end[1] + part * (edge[1] - end[1])
    own, other = sheet.distances((x, y, x, y), owners)
    return own <= other + 1e-6


def _edge(box: Box, end: tuple[float, float]) -> tuple[float, float]:
    """The place of a label's edge that is nearest to that end of its leader line."""
    return min(max(end[0], box[0] - 1), box[2] + 1), min(max(end[1], box[1]), box[3])


def _write(ax, group: list[Mark], sheet: Paper, text: str, box: Box, end: tuple[float, float] | None) -> None:
    colour = _colour(group[0])
    ax.annotate(text, (box[0], (box[1] + box[3]) / 2), xycoords="figure points", ha="left", va="center_baseline", size=style.SMALL,
                color=colour, path_effects=style.HALO, zorder=6)
    sheet.take([box], TEXT)
    line = (_edge(box, end), end) if end else None
    if line:
        labels.leader(ax, *line, colour)
        sheet.line(*line, MARK)
    labels.remember(ax, text, box, sheet.distances(box, [m.owner for m in group]), end is not None, line)


def _places(left: tuple[float, float], right: tuple[float, float], width: float) -> list[tuple[float, float]]:
    middle = (left[0] + right[0] - width) / 2
    return [(right[0] + 5, right[1]), (right[0] + 5, right[1] - 4), (right[0] + 5, right[1] + 4),
            (left[0] - width - 5, left[1]), (middle, right[1] + 7.5), (middle, right[1] - 7.5),
            (right[0] + 2, right[1] + 7), (right[0] + 2, right[1] - 7), (right[0] - width, right[1] + 7),
            (right[0] - width, right[1] - 7), (left[0] - width, left[1] + 7), (left[0] - width, left[1] - 7),
            (right[0] + 4, right[1] + 12), (right[0] + 4, right[1] - 12), (left[0] - width - 4, left[1] + 12),
            (left[0] - width - 4, left[1] - 12)]


def _tags(group: Sequence[Mark]) -> str:
    """'3', '3, 4', '3–6'."""
    tags = [m.tag for m in group if m.tag]
    run = [int(t) for t in tags if t.isdigit()]
    if len(run) == len(tags) > 2 and run == list(range(run[0], run[0] + len(run))):
        return f"{tags[0]}–{tags[-1]}"
    return ", ".join(tags)
