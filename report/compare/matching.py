"""Points of two sides that are the same measurement, and those that have no partner, with the reason."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from report.compare.sides import Side
from report.data.records import COUNT, Point, Run

Key = tuple


@dataclass(frozen=True)
class Pair:
    """The same point on two sides; several points of a side are from several runs of one build."""

    first: tuple[Point, ...]
    second: tuple[Point, ...]
    runs: tuple[Run, Run]
    """The newest run of each side that has it."""

    @property
    def point(self) -> Point:
        return self.first[0]

    @property
    def name(self) -> str:
        return self.point.name


@dataclass(frozen=True)
class Alone:
    """A point, or a whole kernel's points, without a comparison."""

    name: str
    reason: str


def key(point: Point, experiment: str) -> Key:
    """Kernel, sizes, tunables, mode, data set and threads; results of other harnesses have names only."""
    given = point.identity if point.sizes or point.tunables else (point.name,)
    return experiment, given, point.mode, point.data, point.threads, point.oversubscribed


def _loose(point: Point) -> Key:
    """The same without what sides may differ in by accident."""
    return key(point, "")[1]


def _of(side: Side, by_experiment: bool) -> dict[Key, list[tuple[Point, Run]]]:
    """The points of a side by their keys, one for each run."""
    made: dict[Key, dict[str, tuple[Point, Run]]] = defaultdict(dict)
    for run in side.runs:
        for point in run.points:
            made[key(point, run.experiment if by_experiment else "")].setdefault(str(run.path), (point, run))
    return {each: list(found.values()) for each, found in made.items()}


def _usable(found: list[tuple[Point, Run]]) -> list[tuple[Point, Run]]:
    """The points that can be compared: of several, those that other work did not disturb, if there are any."""
    known = [(point, run) for point, run in found if not _fault(point)]
    return [(point, run) for point, run in known if not point.is_disturbed] or known


def _why_not(found: Iterable[tuple[Point, Run]]) -> str | None:
    """Why none of these can be compared; None if one can be."""
    reasons = [_fault(point) for point, _ in found]
    return next((reason for reason in reasons if reason), None) if all(reasons) else None


def _fault(point: Point) -> str | None:
    if point.failed:
        return f"failed: {point.failed}"
    if point.skipped:
        return f"skipped: {point.skipped}"
    return None if point.is_timed or point.is_counted else "no samples"


def pairs(first: Side, second: Side) -> tuple[list[Pair], list[Alone]]:
    """Every point that both sides have, and all others with the reasons. Points of one experiment are compared with its
    points; where the sides have no experiment in common, with those of any."""
    by_experiment = bool(first.experiments & second.experiments)
    own, others = _of(first, by_experiment), _of(second, by_experiment)
    made, alone = [], []
    for each in dict.fromkeys((*own, *others)):
        one, other = own.get(each, []), others.get(each, [])
        name = (one or other)[0][0].name
        if not one or not other:
            has, lacks = (first, second) if one else (second, first)
            alone.append(Alone(name, f"only in {has.letter}{_nearly((one or other)[0][0], others if one else own, lacks)}"))
        elif (reason := _why_not(one)) and reason == _why_not(other):
            alone.append(Alone(name, f"{first.letter} and {second.letter} {reason}"))
        elif reason:
            alone.append(Alone(name, f"{first.letter} {reason}"))
        elif reason := _why_not(other):
            alone.append(Alone(name, f"{second.letter} {reason}"))
        else:
            one, other = (_usable(some) for some in (one, other))
            made.append(Pair(tuple(p for p, _ in one), tuple(p for p, _ in other), (one[-1][1], other[-1][1])))
    return made, alone


def _nearly(point: Point, others: dict[Key, list[tuple[Point, Run]]], lacks: Side) -> str:
    """': B has it with 16 threads', where only one property differs."""
    near = [found[0][0] for found in others.values() if _loose(found[0][0]) == _loose(point)]
    for what, value in (("threads", lambda p: p.threads), ("mode", lambda p: p.mode), ("data set", lambda p: p.data)):
        alike = [p for p in near if [v for w, v in _properties(p) if w != what] == [v for w, v in _properties(point) if w != what]]
        if alike:
            return f": {lacks.letter} has it with {what} {value(alike[0]) or 'unnamed'} instead of {value(point) or 'unnamed'}"
    return ""


def _properties(point: Point) -> list[tuple[str, object]]:
    return [("threads", point.threads), ("mode", point.mode), ("data set", point.data)]


def by_reason(alone: Iterable[Alone]) -> dict[str, list[str]]:
    """The names of points by the reason, the most frequent first."""
    made = defaultdict[str, list[str]](list)
    for one in alone:
        made[one.reason].append(one.name)
    return dict(sorted(made.items(), key=lambda item: (-len(item[1]), item[0])))


def is_counted(pair: Pair) -> bool:
    return pair.point.mode == COUNT
