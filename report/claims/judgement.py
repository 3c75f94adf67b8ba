"""The judgement of an experiment's function on a claim that no expression states: comparisons by case, without a verdict.

They are decided like those of expressions: by their intervals, judged together with all others of the experiment. A case
is undecided if one of its numbers has too few samples for an interval. Cases are counted by verdict, and those that do
not hold are named.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from report.claims.values import Comparison, Logic, comparisons
from report.text import numbers, words

MOST_SIZES = 3


@dataclass(frozen=True)
class One:
    """A case: its subject `of`, its size `n` where there are several, and the comparison that decides it."""

    of: str
    test: Comparison | Logic
    n: float | None = None
    counts: str = ""
    """The unit of n, where it is not a size."""

    @property
    def has_intervals(self) -> bool:
        return all(not c.of.is_measured or c.of.interval() is not None for c in comparisons(self.test))


@dataclass(frozen=True)
class Judged:
    """Every case, and a text on the values that they are made of."""

    cases: tuple[One, ...]
    evidence: str

    def comparisons(self) -> list[Comparison]:
        """The comparisons that can be decided."""
        return [c for one in self.cases if one.has_intervals for c in comparisons(one.test)]

    def outcomes(self, judged: Mapping[Comparison, float]) -> list[bool | None]:
        return [one.test.outcome(judged) if one.has_intervals else None for one in self.cases]

    @property
    def without_interval(self) -> str:
        """'14 cases have too few samples for an interval; the medians of 8 are against it.'"""
        few = [one for one in self.cases if not one.has_intervals]
        against = sum(not all(c.is_so_by_medians for c in comparisons(one.test)) for one in few)
        text = f"{words.counted(len(few), 'case')} {'has' if len(few) == 1 else 'have'} too few samples for an interval"
        return words.sentence(f"{text}; the medians of {against} are against it" if against else text) if few else ""


def named(cases: list[One]) -> str:
    """'heat (N = 15, 31 and 63); histogram (N = 1024); loads from memory (16 and 32 in flight)'."""
    sizes: dict[tuple[str, str], list[float]] = {}
    for one in cases:
        sizes.setdefault((one.of, one.counts), []).extend([] if one.n is None else [one.n])
    return "; ".join(f"{of} ({_counting(sorted(set(found)), counts)})" if found else of for (of, counts), found in sizes.items())


def _counting(found: list[float], counts: str) -> str:
    return f"{_sizes(found)} {counts}" if counts else f"N\u00a0=\u00a0{_sizes(found)}"


def _sizes(found: list[float]) -> str:
    return words.joined([numbers.grouped(n) for n in found]) if len(found) <= MOST_SIZES else (
        f"{len(found)} from {numbers.grouped(found[0])} to {numbers.grouped(found[-1])}")
