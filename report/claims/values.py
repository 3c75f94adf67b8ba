"""What an expression comes to: numbers that may be measured, with their samples, and comparisons that statistics decide.

A measured number that is one time over another keeps both points, so that it is compared with a limit by the test that the
report uses for ratios. Other measured numbers are compared by the ends of their intervals. All else is exact.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping
from dataclasses import dataclass, replace

from report.claims.expression import Binary, Call, Function, Number, Unary, Word
from report.data.records import Point
from report.data.statistics import FASTER, SLOWER, TOO_FEW, Ratio, ratio, sign_test

NEAR = 1e-9
"""Exact numbers that differ by less are equal."""
SIGNS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": math.isclose}


class Fault(Exception):
    """An expression that cannot be evaluated: an entry's mistake, not missing data."""


@dataclass(frozen=True)
class Value:
    """factor × the times of `over` / those of `under`, where `is_product`; low and high: the interval, if known."""

    number: float
    low: float | None = None
    high: float | None = None
    is_measured: bool = False
    is_product: bool = True
    factor: float = 1.0
    over: tuple[Point, ...] = ()
    under: tuple[Point, ...] = ()
    unit: str = ""
    """Of a rate or a time as it was measured; what is made of several has none."""

    def scaled(self, factor: float) -> Value:
        ends = sorted(None if e is None else e * factor for e in (self.low, self.high)) if self.low is not None else (None, None)
        return Value(self.number * factor, *ends, self.is_measured, self.is_product, self.factor * factor, self.over, self.under)


def exact(number: float) -> Value:
    return Value(number, number, number, factor=number)


def of_time(point: Point) -> Value:
    """The median time of a call, in seconds."""
    s = point.summary
    return Value(s.median, s.low, s.high, True, over=(point,), unit="s")


def of_rate(point: Point) -> Value:
    """The point's value in its problem's metric."""
    if point.amount is None:
        raise Fault(f"{point.kernel.name} has no rate; use time(…) or run(…).FIELD")
    low, high = point.interval or (None, None)
    return Value(point.value, low, high, True, factor=point.amount, under=(point,), unit=point.metric.unit)


# Comparisons


@dataclass(frozen=True, eq=False)
class Comparison:
    """left SIGN right; `ratio` is left over right with its test, of measured numbers."""

    left: Value
    sign: str
    right: Value
    ratio: Ratio | None
    is_truth: bool = False
    """Of a number that stands for yes or no."""

    def outcome(self, judged: Mapping[Comparison, Ratio]) -> bool | None:
        """None: not decided, since noise could have made it."""
        if self.ratio is None:
            return _holds(self.sign, self.left.number, self.right.number)
        is_above = _is_above(judged.get(self, self.ratio))
        return None if is_above is None else is_above == (self.sign in (">", ">="))

    def is_short_of_samples(self, judged: Mapping[Comparison, Ratio]) -> bool:
        return self.ratio is not None and (self.ratio.low is None or judged.get(self, self.ratio).verdict == TOO_FEW)


@dataclass(frozen=True, eq=False)
class Logic:
    """and, or, not of comparisons."""

    word: str
    parts: tuple

    def outcome(self, judged: Mapping) -> bool | None:
        found = [part.outcome(judged) for part in self.parts]
        if self.word == "not":
            return None if found[0] is None else not found[0]
        decides = self.word == "or"
        return decides if decides in found else None if None in found else not decides


def comparisons(of: object) -> list[Comparison]:
    if isinstance(of, Comparison):
        return [of]
    return [c for part in of.parts for c in comparisons(part)] if isinstance(of, Logic) else []


def _holds(sign: str, left: float, right: float) -> bool:
    if sign in ("==", "<=", ">=") and math.isclose(left, right, rel_tol=NEAR, abs_tol=NEAR):
        return True
    return SIGNS[sign](left, right)


def _is_above(r: Ratio) -> bool | None:
    """By the corrected test where there is one, else by the interval."""
    if r.p is not None:
        return {FASTER: True, SLOWER: False}.get(r.verdict)
    if r.low is None:
        return None
    return True if r.low > 1 else False if r.high < 1 else None


def compare(left: Value, sign: str, right: Value) -> Comparison:
    if not (left.is_measured or right.is_measured):
        return Comparison(left, sign, right, None)
    if sign == "==":
        raise Fault("measured numbers are never equal: use <, <=, > or >=, or the rule 'equals' with a tolerance")
    if right.number <= 0 and not right.is_measured:
        raise Fault("a measured number is compared with one that is not positive")
    return Comparison(left, sign, right, _tested(divide(left, right)))


def _tested(of: Value) -> Ratio:
    """A quotient against 1, with the p of the test that fits what it is made of."""
    if of.is_product and len(of.over) == len(of.under) == 1:
        return ratio(of.under[0], of.over[0], of.factor)
    if of.is_product and len(of.over) + len(of.under) == 1:
        samples = [of.factor * t for t in of.over[0].times] if of.over else [of.factor / t for t in of.under[0].times]
        return Ratio(of.number, of.low, of.high, False, sign_test(samples), sign_test([2.0] * len(samples)))
    return Ratio(of.number, of.low, of.high, False, None)


# Arithmetic


def multiply(a: Value, b: Value) -> Value:
    known = None not in (a.low, b.low)
    ends = [x * y for x in (a.low, a.high) for y in (b.low, b.high)] if known else []
    return Value(a.number * b.number, min(ends, default=None), max(ends, default=None), a.is_measured or b.is_measured,
                 a.is_product and b.is_product, a.factor * b.factor, *_reduced(a.over + b.over, a.under + b.under))


def divide(a: Value, b: Value) -> Value:
    if b.number == 0 or b.factor == 0 or (b.low is not None and b.low <= 0 <= b.high):
        raise Fault("a division by zero")
    ends = (None, None) if b.low is None else (1 / b.high, 1 / b.low)
    return multiply(a, Value(1 / b.number, *ends, b.is_measured, b.is_product, 1 / b.factor, b.under, b.over))


def _reduced(over: tuple, under: tuple) -> tuple[tuple, tuple]:
    """Without the points that stand on both sides."""
    for point in over:
        if point in under:
            return _reduced(_without(over, point), _without(under, point))
    return over, under


def _without(points: tuple, one: Point) -> tuple:
    at = points.index(one)
    return points[:at] + points[at + 1:]


def add(a: Value, b: Value) -> Value:
    if not (a.is_measured or b.is_measured):
        return exact(a.number + b.number)
    ends = (None, None) if None in (a.low, b.low) else (a.low + b.low, a.high + b.high)
    return Value(a.number + b.number, *ends, True, False)


def evaluate(tree: object, found: Mapping[Call, Value], case: Mapping[str, float | str]) -> Value | Comparison | Logic:
    """The tree's value, with the calls' values and those of the case; Fault where that makes no sense."""
    if isinstance(tree, Number):
        return exact(tree.value)
    if isinstance(tree, Word):
        if not isinstance(case.get(tree.name), (int, float)):
            raise Fault(f"'{tree.name}' is no number of the claim's cases")
        return exact(case[tree.name])
    if isinstance(tree, Call):
        return found[tree]
    parts = [evaluate(part, found, case) for part in _arguments(tree)]
    if isinstance(tree, (Unary, Binary)) and tree.sign in ("and", "or", "not"):
        return Logic(tree.sign, tuple(map(as_logic, parts)))
    if not all(isinstance(part, Value) for part in parts):
        raise Fault("a comparison is used as a number")
    if isinstance(tree, Function):
        return _function(tree.name, parts)
    if isinstance(tree, Unary):
        return parts[0].scaled(-1.0)
    if tree.sign in SIGNS:
        return compare(parts[0], tree.sign, parts[1])
    return {"*": multiply, "/": divide, "+": add, "-": lambda a, b: add(a, b.scaled(-1.0))}[tree.sign](*parts)


def _arguments(tree: object) -> tuple:
    return tree.arguments if isinstance(tree, Function) else (tree.left, tree.right) if isinstance(tree, Binary) else (tree.of,)


def as_logic(of: object) -> object:
    """A number counts as true if it is not 0."""
    if not isinstance(of, Value):
        return of
    return Logic("not", (replace(compare(of, "==", exact(0.0)), is_truth=True),))


def _function(name: str, parts: list[Value]) -> Value:
    if name in ("min", "max"):
        return (min if name == "min" else max)(parts, key=lambda v: v.number)
    if parts[0].is_measured:
        raise Fault(f"{name}() of a measured number")
    return exact(float({"floor": math.floor, "ceil": math.ceil}[name](parts[0].number)))
