"""Marks of kernels in a plot, one or more of each joined by a line, with numbers and, where there is room, names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from report.draw import labels, style
from report.draw.paper import LINE, Paper, text_width

NEAR = 1.13
"""Marks whose places differ by less than this factor share a label."""
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
    """Its name goes first where several share a label, and is written in any case."""
    colour: str = ""
    """Instead of that of own kernels or peers."""


def draw(ax, mark: Mark, sheet: Paper) -> None:
    colour = _colour(mark)
    xs = list(mark.xs.values())
    if len(xs) > 1:
        ax.plot([min(xs), max(xs)], [mark.y] * 2, color=colour, linewidth=0.9, zorder=3, solid_capstyle="butt")
        sheet.line(labels.to_points(ax, min(xs), mark.y), labels.to_points(ax, max(xs), mark.y), LINE)
    for kind, x in mark.xs.items():
        look = LOOKS.get(kind, UNKNOWN)
        is_open = "markerfacecolor" in look
        ax.plot([x], [mark.y], color=colour, linestyle="", zorder=5, markeredgecolor=colour if is_open else "white",
                markeredgewidth=0.9 if is_open else 0.4, **look)
        sheet.mark(*labels.to_points(ax, x, mark.y), 2.8)


def _colour(mark: Mark) -> str:
    return mark.colour or (style.PEER if mark.is_peer else style.OWN)


def label(ax, shown: Sequence[Mark], sheet: Paper) -> None:
    """Labels of all, those with a main one first, since the first find most room."""
    groups = _grouped(shown)
    for group in sorted(groups, key=lambda g: not any(m.is_main for m in g)):
        _label(ax, group, sheet)


def _grouped(shown: Sequence[Mark]) -> list[list[Mark]]:
    """Marks that nearly coincide, together."""
    groups: list[list[Mark]] = []
    for mark in shown:
        home = next((g for g in groups if _near(mark, g[0])), None)
        groups.append([mark]) if home is None else home.append(mark)
    return groups


def _near(a: Mark, b: Mark) -> bool:
    """By height and the first kind of place."""
    if _colour(a) != _colour(b) or a.xs.keys() != b.xs.keys():
        return False
    first = next(iter(a.xs))
    return all(max(p) < NEAR * min(p) for p in ((a.y, b.y), (a.xs[first], b.xs[first])))


def _label(ax, group: list[Mark], sheet: Paper) -> None:
    """Numbers and a name beside a group's marks where that hides nothing (of a main one in any case); else numbers. Without
    numbers all names where they hide nothing, else one."""
    main = next((m for m in group if m.is_main), group[0])
    tags = _tags(group)
    names = dict.fromkeys(m.name for m in (main, *group) if m.name)
    texts = list(dict.fromkeys(filter(None, (f"{tags} {main.name}".strip(), tags) if tags else (" / ".join(names), main.name))))
    xs = [x for m in group for x in m.xs.values()]
    left, right = (labels.to_points(ax, x, group[0].y) for x in (min(xs), max(xs)))
    for text in texts:
        width = text_width(text, style.SMALL)
        places = _places(left, right, width)
        boxes = [[(x, y - 3.4, x + width, y + 3.4)] for x, y in places]
        if (main.is_main and tags) or text == texts[-1] or min(sheet.cost(b) for b in boxes) < LINE:
            x, y = places[sheet.place(boxes)]
            ax.annotate(text, (x, y), xycoords="figure points", ha="left", va="center_baseline", size=style.SMALL,
                        color=_colour(group[0]), path_effects=style.HALO, zorder=6)
            return


def _places(left: tuple[float, float], right: tuple[float, float], width: float) -> list[tuple[float, float]]:
    middle = (left[0] + right[0] - width) / 2
    return [(right[0] + 5, right[1]), (right[0] + 5, right[1] - 4), (right[0] + 5, right[1] + 4),
            (left[0] - width - 5, left[1]), (middle, right[1] + 7.5), (middle, right[1] - 7.5),
            (right[0] + 2, right[1] + 7), (right[0] + 2, right[1] - 7), (right[0] - width, right[1] + 7),
            (right[0] - width, right[1] - 7), (left[0] - width, left[1] + 7), (left[0] - width, left[1] - 7),
            (right[0] + 4, right[1] + 12), (right[0] + 4, right[1] - 12), (left[0] - width - 4, left[1] + 12),
            (left[0] - width - 4, left[1] - 12)]


def _tags(group: list[Mark]) -> str:
    """'3', '3, 4', '3–6'."""
    tags = [m.tag for m in group if m.tag]
    run = [int(t) for t in tags if t.isdigit()]
    if len(run) == len(tags) > 2 and run == list(range(run[0], run[0] + len(run))):
        return f"{tags[0]}–{tags[-1]}"
    return ", ".join(tags)
