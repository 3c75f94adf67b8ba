"""Points and roofs by the number of threads: which are of the whole machine, which of one core, and what more bring."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

from report.records import HOT, Point, Roof, Side

ONE = " (1 thread)"
"""Ends the label of a roof that one thread was measured at."""


def machine_threads(side: Side) -> int | None:
    """The threads that the side's runs use unless told otherwise; None where the context does not say."""
    value = side.context.get("cpu_threads")
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def count(side: Side, point: Point) -> int | None:
    """The point's threads; None where its file does not say (older ones have 1 for every point)."""
    if point.asked_threads:
        return point.asked_threads
    if point.asked_threads is None and point.threads > 1:
        return point.threads
    return None


def of_machine(side: Side, points: Sequence[Point]) -> list[Point]:
    """Points on all threads of the machine; where there are none, those on the most, without oversubscription.

    One of a sweep over threads counts only where the same was not measured outside: rungs are compared within the
    minutes of one ladder.
    """
    points = list(points)
    whole = [p for p in points if p.asked_threads in (None, 0, machine_threads(side)) and not p.oversubscribed]
    if whole:
        outside = {_without_threads(p) for p in whole if p.asked_threads is None}
        return [p for p in whole if p.asked_threads is None or _without_threads(p) not in outside]
    fair = [p for p in points if not p.oversubscribed] or points
    most = max((p.asked_threads or 0 for p in fair), default=0)
    return [p for p in fair if (p.asked_threads or 0) == most]


def _without_threads(point: Point) -> tuple:
    return point.kernel.name, point.mode, point.size_key, tuple(sorted(point.tunables.items()))


def is_one(roof: Roof) -> bool:
    return roof.label.endswith(ONE)


def whole_machine(roofs: Sequence[Roof]) -> list[Roof]:
    return [r for r in roofs if not is_one(r)]


def one_core(side: Side) -> Side | None:
    """The side as one thread sees it: its points and its roofs; None without a point or without a roof."""
    points = tuple(p for p in side.points if p.asked_threads == 1)
    roofs = tuple(replace(r, label=r.label.removesuffix(ONE)) for r in side.roofs if is_one(r))
    return replace(side, points=points, roofs=roofs) if points and roofs else None


@dataclass(frozen=True)
class Scaled:
    """One kernel at one size on so many threads, against itself on one: ratio of rates with its interval."""

    point: Point
    threads: int
    speedup: float
    interval: tuple[float, float] | None

    @property
    def efficiency(self) -> float:
        return self.speedup / self.threads


def _rates(point: Point) -> tuple[float, tuple[float, float] | None] | None:
    """Rate by flops, or by bytes where it does none, with its interval; a ceiling's work grows with its threads."""
    cost = "flops" if point.flops else "bytes_min"
    rate = point.rate(point.summary.median, cost)
    ends = ((point.rate(point.summary.high, cost), point.rate(point.summary.low, cost))
            if point.summary.has_interval else None)
    return (rate, ends) if rate else None


def scaling(side: Side, points: Sequence[Point]) -> list[Scaled]:
    """Points of one kernel and size, fewest threads first, each against that on one; empty without one such."""
    best: dict[int, Point] = {}
    for point in sorted(points, key=lambda p: p.name):
        threads = count(side, point)
        if threads and _rates(point) and (threads not in best or _rates(point)[0] > _rates(best[threads])[0]):
            best[threads] = point
    if 1 not in best or len(best) < 2:
        return []
    base, base_ends = _rates(best[1])
    made = []
    for threads in sorted(best):
        rate, ends = _rates(best[threads])
        both = ends and base_ends and threads > 1
        made.append(Scaled(best[threads], threads, rate / base,
                           (ends[0] / base_ends[1], ends[1] / base_ends[0]) if both else None))
    return made


def series(side: Side | None, family: str) -> dict[tuple, list[Scaled]]:
    """(kernel name, size) → scaling of every kernel of the family, in the ladder's order, smaller sizes first."""
    groups: dict[tuple, list[Point]] = defaultdict(list)
    for p in side.points if side else ():
        if p.is_timed and p.mode == HOT and p.kernel.family == family and not p.kernel.is_ceiling and p.flops:
            groups[p.kernel.order, p.kernel.name, p.size_key].append(p)
    return {key[1:]: found for key in sorted(groups) if (found := scaling(side, groups[key]))}


def ceilings(side: Side | None) -> list[list[Scaled]]:
    """The scaling of every ceiling measured at several numbers of threads: arithmetic, then bandwidths."""
    groups: dict[tuple, list[Point]] = defaultdict(list)
    for p in side.points if side else ():
        if p.is_timed and p.kernel.is_ceiling:
            groups[p.kernel.ceiling_is_bandwidth, p.kernel.family, p.kernel.order, p.kernel.name].append(p)
    return [found for key in sorted(groups) if (found := scaling(side, groups[key]))]
