"""Lines over a swept quantity: up to six series with direct labels at their right ends, medians with intervals."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

from matplotlib.lines import Line2D

from report.draw import labels, style
from report.draw.paper import Paper, text_width
from report.text import numbers

CURVE = 3
"""The least number of places along x whose points are joined by a curve."""
LINE_ALONE = ","
"""The invisible marker of a series that is always drawn as a line, such as a bound."""
FAR = 256
"""Points further apart than this factor on a logarithmic axis are not joined, since nothing between them was measured."""
HIDDEN = 1.5
"""Marks closer than this (points) cover each other."""
MOST_NAMES = 3
"""Names in one label; more coinciding series are named by a legend."""
ABOVE, BELOW = 1.5, 20.0
"""An interval beyond ABOVE times the highest value or below the lowest value / BELOW is cut there and ends in an arrow."""
ASIDE = 1.04
"""Factor on a logarithmic axis between unjoined marks of the same place, so that none hides another."""


@dataclass(frozen=True)
class Dot:
    """A point of a series; `low` and `high` are the ends of its interval; hollow where sampling did not settle."""

    x: float
    y: float
    low: float | None = None
    high: float | None = None
    hollow: bool = False
    marker: str | None = None


@dataclass(frozen=True)
class Series:
    label: str
    dots: Sequence[Dot]
    look: style.Look | None = None
    """Replaces the default look, which depends on the position among the series."""
    joined: bool = True


def draw(ax, series: Sequence[Series], xlabel: str, ylabel: str, log_x: bool = True, log_y: bool = False,
         limit: int = 22, unit: str = "", xlim: tuple[float, float] | None = None,
         ylim: tuple[float, float] | None = None) -> None:
    """Draws series into axes whose right margin has room for labels of `limit` characters per line.

    With the unit of the values (GFLOP/s, cell/s, s) the axis is scaled to a fitting prefix, which its label has. Limits
    are given here and not set afterwards, since the placement of labels depends on them.
    """
    if len(series) > style.MOST:
        raise ValueError(f"{len(series)} series in one figure; at most {style.MOST} are distinguishable")
    if unit:
        factor, unit = numbers.scale(max(d.y for s in series for d in s.dots), unit)
        series, ylabel = [divided(s, factor) for s in series], f"{ylabel} [{unit}]"
    dots = [d for s in series for d in s.dots]
    xs = sorted({d.x for d in dots})
    if log_x:
        ax.set_xscale("log", base=2)
        ax.set_xlim(xs[0] / 1.25, xs[-1] * 1.25)
        style.plain_ticks(ax.xaxis, _fitting(ax, xs))
    lowest, highest = _reach(dots)
    if log_y:
        ax.set_yscale("log")
        ax.set_ylim(lowest / 1.5, highest * 1.5)
        style.rate_ticks(ax.yaxis, *ax.get_ylim())
    else:
        ax.set_ylim(0, 1.08 * highest)
        ax.yaxis.set_major_formatter(lambda v, _: style.plain(v))
    if xlim:
        ax.set_xlim(xlim)
    if ylim:
        ax.set_ylim(ylim)
    ax.set_xlabel(xlabel)
    ax.set_ylabel(ylabel)
    tags = []
    shared = _shared_labels(ax, series)
    for i, line in enumerate(series):
        look = line.look or style.SERIES[i]
        if len(xs) < CURVE and look.get("marker") != LINE_ALONE:
            line = _apart(line, ASIDE**(i - (len(series) - 1) / 2) if log_x else 1.0)
        one(ax, line, look)
        last = max(line.dots, key=lambda d: d.x)
        if shared.get(line.label):
            tags.append((last.x, last.y, shared[line.label], look["color"]))
    labels.margin_labels(ax, tags, limit=limit)
    if hidden := [i for i, line in enumerate(series) if shared.get(line.label) == ""]:
        _legend(ax, series, hidden, limit)


def _reach(dots: Sequence[Dot]) -> tuple[float, float]:
    """From where to where the axis reaches: by the values, and by the intervals that are not much longer."""
    values = [d.y for d in dots]
    low, high = min(values) / BELOW, ABOVE * max(values)
    ends = [y for d in dots for y in (d.low, d.high) if y is not None and low <= y <= high]
    return min(values + ends), max(values + ends)


def _shared_labels(ax, series: Sequence[Series]) -> dict[str, str]:
    """The label of each series. Of series that coincide the first is labelled with all names, and the others have none; of more
    than a few each has an empty one, since a legend names them."""
    groups: list[list[Series]] = []
    for line in series:
        home = next((group for group in groups if _coincide(ax, group[0], line)), None)
        groups.append([line]) if home is None else home.append(line)
    few = {group[0].label: ", ".join(line.label for line in group) for group in groups if len(group) <= MOST_NAMES}
    return few | {line.label: "" for group in groups if len(group) > MOST_NAMES for line in group}


def _legend(ax, series: Sequence[Series], hidden: Sequence[int], limit: int) -> None:
    """Right of the axes, below where labels of lines begin: the looks of series that hide each other."""
    looks = {i: series[i].look or style.SERIES[i] for i in hidden}
    shown = [Line2D([], [], color=look["color"], marker=look.get("marker", "o"), linestyle="", label=labels.wrap(series[i].label, limit))
             for i, look in looks.items()]
    ax.legend(handles=shown, loc="lower left", bbox_to_anchor=(1.01, 0.0), borderaxespad=0.0, handletextpad=0.2, handlelength=1.2)


def _coincide(ax, a: Series, b: Series) -> bool:
    """Whether each mark of one hides one of the other."""
    ends = [sorted(labels.to_points(ax, d.x, d.y) for d in line.dots) for line in (a, b)]
    return len(ends[0]) == len(ends[1]) and all(math.dist(p, q) < HIDDEN for p, q in zip(*ends))


def roof(ax, value: float, text: str, is_crossed: bool) -> None:
    """A grey line at this height with its label on it; where lines cross it, in the upper left corner."""
    ax.axhline(value, color=style.GREY, linewidth=0.8, zorder=1)
    place = {"xycoords": "axes fraction", "xytext": (3, -3), "va": "top"} if is_crossed else {"xytext": (3, 2.5)}
    ax.annotate(f"grey: {text}" if is_crossed else text, (0, 1) if is_crossed else (ax.get_xlim()[0], value), textcoords="offset points",
                size=style.SMALL, color=style.GREY, path_effects=style.HALO, zorder=3.5, **place)


def _apart(series: Series, factor: float) -> Series:
    """Its marks without lines, moved aside by this factor."""
    return replace(series, joined=False, dots=[replace(d, x=d.x * factor) for d in series.dots])


def divided(series: Series, factor: float) -> Series:
    def part(y: float | None) -> float | None:
        return None if y is None else y / factor
    return replace(series, dots=[replace(d, y=d.y / factor, low=part(d.low), high=part(d.high)) for d in series.dots])


def _fitting(ax, xs: list[float]) -> list[float]:
    """Ticks whose labels do not touch each other."""
    room = math.log(ax.get_xlim()[1] / ax.get_xlim()[0]) / (ax.get_window_extent().width * labels.POINTS / ax.figure.dpi)
    return style.thinned(xs, math.exp(room * max(text_width(style.plain(x), style.SMALL) + 4 for x in xs)))


def one(ax, series: Series, look: style.Look, sheet: Paper | None = None) -> None:
    """Draws one series; records it on the paper if labels are to avoid it."""
    dots = sorted(series.dots, key=lambda d: d.x)
    for part in _joined(ax, dots) if series.joined else ():
        ax.plot([d.x for d in part], [d.y for d in part], color=look["color"], linestyle=look.get("linestyle", "-"), zorder=2)
    ends = [d for d in dots if d.low is not None and d.high is not None]
    if ends:
        ax.vlines([d.x for d in ends], [d.low for d in ends], [d.high for d in ends], color=look["color"], linewidth=1, zorder=3)
        _arrows(ax, ends, look["color"])
    alike = defaultdict(list)
    for d in dots:
        alike[d.marker or look.get("marker", "o"), d.hollow].append(d)
    for (marker, hollow), some in alike.items():
        ax.plot([d.x for d in some], [d.y for d in some], marker, color=look["color"], zorder=4, linestyle="",
                markerfacecolor="white" if hollow else look["color"])
    if sheet:
        places = [labels.to_points(ax, d.x, d.y) for d in dots]
        for a, b in zip(places, places[1:]):
            sheet.line(a, b, owner=("", series.label, look["color"]))
        for x, y in places:
            sheet.mark(x, y, 2.8, ("", series.label, look["color"]))


def _arrows(ax, dots: Sequence[Dot], colour: str) -> None:
    """Draws arrows where an interval leaves the axis."""
    bottom, top = ax.get_ylim()
    for marker, edge, cut in (("^", 1, [d for d in dots if d.high > top]), ("v", 0, [d for d in dots if d.low < bottom])):
        ax.plot([d.x for d in cut], [edge] * len(cut), marker, color=colour, markersize=3.2, zorder=3, clip_on=False, linestyle="",
                transform=ax.get_xaxis_transform())


def _joined(ax, dots: Sequence[Dot]) -> list[list[Dot]]:
    """Runs of points that are near enough on a logarithmic axis to be joined by a line."""
    runs: list[list[Dot]] = []
    for d in dots:
        if runs and (ax.get_xscale() != "log" or d.x <= FAR * runs[-1][-1].x):
            runs[-1].append(d)
        else:
            runs.append([d])
    return [run for run in runs if len(run) > 1 or len(dots) == 1]


def dot(point, x: float) -> Dot:
    """A timed point at x, in its metric."""
    low, high = point.interval or (None, None)
    return Dot(x, point.value, low, high, not point.settled)
