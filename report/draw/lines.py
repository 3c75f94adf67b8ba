"""Lines over a swept quantity: up to six series with direct labels at their right ends, medians with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from report.draw import labels, style


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
    look: dict | None = None
    """Instead of that of its place among the series."""
    joined: bool = True


def draw(ax, series: Sequence[Series], xlabel: str, ylabel: str, log_x: bool = True, log_y: bool = False,
         limit: int = 22) -> None:
    """Series into axes whose right margin has room for labels of `limit` characters a line."""
    if len(series) > style.MOST:
        raise ValueError(f"{len(series)} series in one figure; at most {style.MOST} can be told apart")
    dots = [d for s in series for d in s.dots]
    xs = sorted({d.x for d in dots})
    if log_x:
        ax.set_xscale("log", base=2)
        ax.set_xlim(xs[0] / 1.25, xs[-1] * 1.25)
        style.plain_ticks(ax.xaxis, style.thinned(xs))
    ys = [y for d in dots for y in (d.y, d.low, d.high) if y is not None]
    if log_y:
        ax.set_yscale("log")
        ax.set_ylim(min(ys) / 1.5, max(ys) * 1.5)
        style.rate_ticks(ax.yaxis, *ax.get_ylim())
    else:
        ax.set_ylim(0, 1.08 * max(ys))
        ax.yaxis.set_major_formatter(lambda v, _: style.plain(v))
    ax.set_xlabel(xlabel)
    ax.set_ylabel(ylabel)
    tags = []
    for i, one in enumerate(series):
        look = one.look or style.SERIES[i]
        _series(ax, one, look)
        last = max(one.dots, key=lambda d: d.x)
        tags.append((last.x, last.y, one.label, look["color"]))
    labels.margin_labels(ax, tags, limit=limit)


def _series(ax, one: Series, look: dict) -> None:
    dots = sorted(one.dots, key=lambda d: d.x)
    if one.joined:
        ax.plot([d.x for d in dots], [d.y for d in dots], color=look["color"], linestyle=look.get("linestyle", "-"),
                zorder=2)
    for d in dots:
        if d.low is not None and d.high is not None:
            ax.plot([d.x, d.x], [d.low, d.high], color=look["color"], linewidth=1, zorder=3)
        ax.plot([d.x], [d.y], d.marker or look.get("marker", "o"), color=look["color"], zorder=4,
                markerfacecolor="white" if d.hollow else look["color"])


def dot(point, x: float) -> Dot:
    """A timed point at x, in its metric."""
    low, high = point.interval or (None, None)
    return Dot(x, point.value, low, high, not point.settled)
