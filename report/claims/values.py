"""What an expression comes to: numbers that may be measured, with their samples, and comparisons with what is accepted.

A measured number has an interval of any requested confidence. For one time, or for two interleaved times, it is by the
ranks of the samples; for a combination of numbers it is computed from the ends of their intervals. A comparison is true where the whole interval
lies within what is accepted, false where all of it lies outside, and else undecided; so equality within a tolerance can be
shown just as a difference can. All else is exact.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from statistics import median

from report.claims.expression import Binary, Call, Function, Number, Tree, Unary, Word, arguments
from report.data.records import Point
from report.data.statistics import FEWEST_FOR_INTERVAL, GAP, GAP_APART, MISS, between, median_interval, paired, widened
from report.missing import complete

Ends = tuple[float, float]
"""The ends of an interval."""
Points = tuple[Point, ...]
NEAR = 1e-9
"""Exact numbers that differ by less are equal."""
SIGNS: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": math.isclose}
WITHIN = "within"
"""The sign of a number with two limits."""
MANY = 10_000
"""The most samples that are named as deciding."""


class Fault(Exception):
    """An expression that cannot be evaluated: an entry's mistake, not missing data."""


@dataclass(frozen=True)
class Value:
    """factor × times of `over` / times of `under`; with a `sign` (+ * min max), the result of applying it to `parts`."""

    number: float
    factor: float = 1.0
    over: tuple[Point, ...] = ()
    under: tuple[Point, ...] = ()
    sign: str = ""
    parts: tuple[Value, ...] = ()
    unit: str = ""
    """Of a measured rate or time, and of the minimum or maximum of several; other results have no unit."""
    known: Ends | None = None
    """The interval of a number without samples here; more samples would not narrow it."""

    @cached_property
    def points(self) -> tuple[Point, ...]:
        """All that were timed for it."""
        every = (*self.over, *self.under, *(p for part in self.parts for p in part.points))
        return tuple({id(point): point for point in every}.values())

    @cached_property
    def decisive(self) -> tuple[Point, ...]:
        """The points that give its number: for a minimum or maximum, the points of the selected part."""
        if self.sign in ("min", "max"):
            return next(part.decisive for part in self.parts if part.number == self.number)
        every = (*self.over, *self.under, *(p for part in self.parts for p in part.decisive))
        return tuple({id(point): point for point in every}.values())

    @property
    def is_measured(self) -> bool:
        return bool(self.points)

    @cached_property
    def quotients(self) -> list[float]:
        """The quotient in each round, for two interleaved times."""
        both = not self.sign and len(self.over) == len(self.under) == 1
        return paired(self.under[0], self.over[0], self.factor) if both else []

    @property
    def samples(self) -> int:
        """The smallest number of samples among its numbers."""
        return len(self.quotients) or min((len(p.times) for p in self.decisive), default=0)

    @cached_property
    def _measured(self) -> int:
        """The number of its parts that have an interval of their own."""
        if self.sign:
            return sum(part._measured for part in self.parts)
        return 1 if self.quotients else len(self.over) + len(self.under)

    def interval(self, miss: float = MISS) -> Ends | None:
        """Each end misses with at most that probability; None with too few samples."""
        return self._ends(miss / max(self._measured, 1))

    @property
    def shown(self) -> Ends | None:
        """From the ends of 95 % intervals, as the report's other figures have it."""
        return self._ends(MISS)

    def _ends(self, miss: float) -> Ends | None:
        if not self.is_measured:
            return self.known or (self.number, self.number)
        if self.sign:
            parts = complete(part._ends(miss) for part in self.parts)
            return None if parts is None else self._with_runs(COMBINED[self.sign](parts))
        if self.quotients:
            return median_interval(self.quotients, miss)
        over, under = (complete(_of_point(p, miss) for p in points) for points in (self.over, self.under))
        if over is None or under is None:
            return None
        ends = [self.factor * math.prod(e[i] for e in over) / math.prod(e[1 - i] for e in under) for i in (0, 1)]
        return self._with_runs((min(ends), max(ends)))

    def _with_runs(self, ends: Ends | None) -> Ends | None:
        """Widens by the part between runs, unless the interval of a part of this value already includes it."""
        joined_before = any(between(*part.points) for part in self.parts if part.points)
        margin = 0.0 if joined_before else self.between
        return widened(ends, margin) if ends and ends[0] > 0 else ends

    @property
    def between(self) -> float:
        """The part between runs (relative), which no more samples narrow."""
        return between(*self.points) if self.points and not self.quotients else 0.0

    def scaled(self, factor: float) -> Value:
        return multiply(self, exact(factor))


def _of_point(point: Point, miss: float) -> Ends | None:
    """The interval of its median time; of one that other work disturbed, all that it may be."""
    return point.extremes if point.is_disturbed else median_interval(point.times, miss)


def _corners(ends: Sequence[Ends]) -> Ends:
    every = [math.prod(corner) for corner in product(*ends)]
    return min(every), max(every)


COMBINED: dict[str, Callable[[Sequence[Ends]], Ends | None]] = {
    "+": lambda ends: (sum(e[0] for e in ends), sum(e[1] for e in ends)), "*": _corners,
    "min": lambda ends: (min(e[0] for e in ends), min(e[1] for e in ends)),
    "max": lambda ends: (max(e[0] for e in ends), max(e[1] for e in ends)),
    "1/": lambda ends: None if ends[0][0] <= 0 <= ends[0][1] else (1 / ends[0][1], 1 / ends[0][0])}
"""The interval of a combination, from the intervals of its parts; None where it is unbounded."""


def exact(number: float) -> Value:
    return Value(number, number)


def estimated(number: float, low: float, high: float) -> Value:
    """One that other runs give, with its interval."""
    return replace(exact(number), known=(low, high))


def of_time(point: Point) -> Value:
    """The median time of a call, in seconds."""
    return Value(point.timing.median, over=(point,), unit="s")


def of_rate(point: Point) -> Value:
    """The point's value in its problem's metric."""
    if point.amount is None:
        raise Fault(f"{point.kernel.name} has no rate; use time(…) or run(…).FIELD")
    return Value(point.known_value, point.amount, under=(point,), unit=point.metric.unit)


# Comparisons


@dataclass(frozen=True, eq=False)
class Comparison:
    """left SIGN right. `of`, which is left or left / right, has to be within `accepted` (None: an open end)."""

    left: Value
    sign: str
    right: Value
    of: Value
    accepted: tuple[float | None, float | None]
    is_truth: bool = False
    """Whether it compares a number that represents yes or no."""

    def outcome(self, judged: Mapping[Comparison, float]) -> bool | None:
        """`judged`: the probability with which an end of its interval may miss. None: not decided."""
        low, high = self.accepted
        if not self.of.is_measured:
            return _holds(self.left.number, self.sign, self.right.number, self.accepted)
        found = self.of.interval(judged.get(self, MISS))
        if found is None:
            return None
        if (low is None or found[0] >= low) and (high is None or found[1] <= high):
            return True
        is_outside = (low is not None and found[1] < low) or (high is not None and found[0] > high)
        return False if is_outside else None

    @property
    def is_so_by_medians(self) -> bool:
        return bool(_holds(self.left.number, self.sign, self.right.number, self.accepted))

    def more(self, judged: Mapping[Comparison, float]) -> int | None:
        """How many more samples of each would decide, if the interval narrows as the root of their number; None: too many
        to be given."""
        found, n = self.of.interval(judged.get(self, MISS)), self.of.samples
        if found is None:
            return max(FEWEST_FOR_INTERVAL - n, 1)
        margin = 1 + (self.of.between if found[0] > 0 else 0.0)
        found = found[0] * margin, found[1] / margin  # the samples' part alone
        value = min(max(self.of.number, found[0]), found[1])
        broken = [limit for limit, sign in zip(self.accepted, (1, -1)) if limit is not None and sign * (value - limit) < 0]
        limits = broken or [limit for limit in self.accepted if limit is not None]
        if any(limit / margin < value < limit * margin for limit in limits):
            return None
        limits = [limit * margin if limit <= value else limit / margin for limit in limits]
        half = [((value - found[0] if limit <= value else found[1] - value), abs(value - limit)) for limit in limits]
        if any(distance == 0 for _, distance in half):
            return None
        wanted = n * max(1.0, *((width / distance) ** 2 for width, distance in half))
        return max(math.ceil(wanted) - n, 1) if wanted < MANY else None


@dataclass(frozen=True, eq=False)
class Logic:
    """and, or, not of comparisons."""

    word: str
    parts: tuple[Comparison | Logic, ...]

    def outcome(self, judged: Mapping[Comparison, float]) -> bool | None:
        found = [part.outcome(judged) for part in self.parts]
        if self.word == "not":
            return None if found[0] is None else not found[0]
        decides = self.word == "or"
        return decides if decides in found else None if None in found else not decides


def comparisons(of: object) -> list[Comparison]:
    if isinstance(of, Comparison):
        return [of]
    return [c for part in of.parts for c in comparisons(part)] if isinstance(of, Logic) else []


def values(of: object) -> list[Value]:
    """The numbers that an expression comes to, or compares."""
    return [of] if isinstance(of, Value) else [v for c in comparisons(of) for v in (c.left, c.right)]


def _holds(left: float, sign: str, right: float, accepted: tuple[float | None, float | None]) -> bool:
    if sign == WITHIN:
        low, high = accepted
        assert low is not None and high is not None  # a number with two limits
        return _holds(left, ">=", low, accepted) and _holds(left, "<=", high, accepted)
    if sign in ("==", "<=", ">=") and math.isclose(left, right, rel_tol=NEAR, abs_tol=NEAR):
        return True
    return SIGNS[sign](left, right)


def compare(left: Value, sign: str, right: Value) -> Comparison:
    """A comparison of two numbers. For two kernels that do the same work, the one is faster if it is so by more than equal
    codes differ (GAP if interleaved, else GAP_APART), and as fast if it is slower by no more than that."""
    if not (left.is_measured or right.is_measured):
        return Comparison(left, sign, right, left, (None, None))
    if sign == "==":
        raise Fault("measured numbers are never equal: use <, <=, > or >=, or the rule 'equals' with a tolerance")
    if right.number <= 0 and not right.is_measured:
        raise Fault("a measured number is compared with one that is not positive")
    of = divide(left, right)
    if not math.isfinite(of.number):
        raise Fault("numbers too far apart to be compared")
    gap = 1.0
    if not of.sign and len(of.over) == len(of.under) == 1 and math.isclose(of.factor, 1.0):
        gap += GAP if of.quotients else GAP_APART
    limit = gap if sign in (">", "<=") else 1 / gap
    return Comparison(left, sign, right, of, (limit, None) if sign in (">", ">=") else (None, limit))


def within(value: Value, low: float, high: float) -> Comparison:
    """Equality within a tolerance."""
    if value.is_measured and low == high:
        raise Fault("measured numbers are never equal: the rule 'equals' needs a tolerance")
    return Comparison(value, WITHIN, exact((low + high) / 2), value, (low, high))


# Arithmetic


def multiply(a: Value, b: Value) -> Value:
    if a.sign or b.sign:
        return Value(a.number * b.number, sign="*", parts=(a, b))
    over, under = _reduced(a.over + b.over, a.under + b.under)
    return _product(a.factor * b.factor, over, under)


def _product(factor: float, over: tuple[Point, ...], under: tuple[Point, ...]) -> Value:
    """For two interleaved times, the median of the quotients of each round; else the quotient of the medians."""
    made = Value(factor * math.prod(p.timing.median for p in over) / math.prod(p.timing.median for p in under), factor, over, under)
    return replace(made, number=median(made.quotients)) if made.quotients else made


def divide(a: Value, b: Value) -> Value:
    if b.number == 0 or b.factor == 0:
        raise Fault("a division by zero")
    return multiply(a, Value(1 / b.number, sign="1/", parts=(b,)) if b.sign else Value(1 / b.number, 1 / b.factor, b.under, b.over))


def _reduced(over: Points, under: Points) -> tuple[Points, Points]:
    """Without the points that are on both sides."""
    for point in over:
        if point in under:
            return _reduced(_without(over, point), _without(under, point))
    return over, under


def _without(points: Points, one: Point) -> Points:
    at = points.index(one)
    return points[:at] + points[at + 1:]


def add(a: Value, b: Value) -> Value:
    if not (a.is_measured or b.is_measured):
        return exact(a.number + b.number)
    return Value(a.number + b.number, sign="+", parts=(a, b))


def evaluate(tree: Tree, found: Mapping[Call, Value], case: Mapping[str, float | str]) -> Value | Comparison | Logic:
    """The tree's value, given the values of calls and of the case; Fault where the operands do not fit."""
    made = _evaluate(tree, found, case)
    if isinstance(made, Value) and not math.isfinite(made.number):
        raise Fault("a number too large to represent")
    return made


def _evaluate(tree: Tree, found: Mapping[Call, Value], case: Mapping[str, float | str]) -> Value | Comparison | Logic:
    if isinstance(tree, Number):
        return exact(tree.value)
    if isinstance(tree, Word):
        if not isinstance(given := case.get(tree.name), (int, float)):
            raise Fault(f"'{tree.name}' is no number of the claim's cases")
        return exact(given)
    if isinstance(tree, Call):
        return found[tree]
    every = [evaluate(part, found, case) for part in arguments(tree)]
    if isinstance(tree, (Unary, Binary)) and tree.sign in ("and", "or", "not"):
        return Logic(tree.sign, tuple(map(as_logic, every)))
    parts = [part for part in every if isinstance(part, Value)]
    if len(parts) < len(every):
        raise Fault("a comparison is used as a number")
    if isinstance(tree, Function):
        return _function(tree.name, parts)
    if isinstance(tree, Unary):
        return parts[0].scaled(-1.0)
    if tree.sign in SIGNS:
        return compare(parts[0], tree.sign, parts[1])
    return {"*": multiply, "/": divide, "+": add, "-": lambda a, b: add(a, b.scaled(-1.0))}[tree.sign](*parts)


def as_logic(of: Value | Comparison | Logic) -> Comparison | Logic:
    """A number counts as true if it is not 0."""
    if not isinstance(of, Value):
        return of
    return Logic("not", (replace(compare(of, "==", exact(0.0)), is_truth=True),))


def _function(name: str, parts: list[Value]) -> Value:
    if name in ("min", "max"):
        number = (min if name == "min" else max)(v.number for v in parts)
        unit = parts[0].unit if len({v.unit for v in parts}) == 1 else ""
        return Value(number, sign=name, parts=tuple(parts), unit=unit) if any(v.is_measured for v in parts) else exact(number)
    if parts[0].is_measured:
        raise Fault(f"{name}() of a measured number")
    return exact(float({"floor": math.floor, "ceil": math.ceil}[name](parts[0].number)))
