"""The rule: one interval for the ratio of two times, and what it decides.

FASTER or SLOWER: the interval is wholly outside of the tolerance, after Holm's correction over all compared points, at 5 %.
SAME is a claim, too: the interval is wholly inside of the tolerance, after Holm's correction over the same points, at 5 %.
UNDECIDED: all others, each with the reason and with the samples or runs that would decide.

The ratio is that of the medians: A's time over B's, how many times as fast B is. Its interval has two parts. The samples'
part is by ranks (report.data.statistics) and narrows with more samples. The part between runs is by how much medians of
two runs differ where nothing was changed: of the point itself where each side has at least three runs (by the quotients of
neighbours where the runs of both sides alternate), else of the points that were measured repeatedly on the machine, else it
is assumed. It narrows with more runs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import TypeVar

import numpy as np

from report.compare.matching import Pair
from report.data.records import Machine, Point
from report.data.statistics import (
    FEWEST_FOR_INTERVAL,
    LEVEL,
    MISS,
    between_runs,
    median_interval,
    ratio_interval,
    score,
    student,
    widened,
)

FASTER, SLOWER, SAME, UNDECIDED = "FASTER", "SLOWER", "SAME", "UNDECIDED"
FEWEST_RUNS, FEWEST_NEIGHBOURS = 3, 6
"""Runs of each side that are required to estimate how much runs differ; pairs of runs, where they alternate."""
MANY, MANY_RUNS = 10_000, 100
"""More further samples or runs than these are not suggested."""
WORTH = 2
"""A further run is suggested where it replaces at least this multiple of its own samples."""
AT_LIMIT = 0.05
"""A ratio that is nearer to the tolerance than this share of it is at it: hardly any number of samples decides."""
ASSUMED, GIVEN, OF_RUNS, OF_ALTERNATING = "assumed", "as given", "by repeated runs", "by alternating runs"
ASSUMED_BETWEEN = {"cpu": 1.0, "gpu": 0.02}
"""The relative difference that medians of two runs may have, with 95 %, where it is not measured: by the recorded results
(tests/twins/repeated.py). Runs on virtual CPUs differ most, by the bandwidth that the host leaves them."""
LAUNCH = 1.5e-6
"""The standard deviation of a GPU run's overhead of a launch (seconds): it changes short kernels from run to run."""
OVER_SAMPLE = "over the sample"
"""The source of a clock that was measured during the samples."""
SHORT = 20
"""GPU runs that are shorter than this number of times LAUNCH differ by their launches most."""
K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True)
class Between:
    """How much runs of a machine differ: the standard deviation of the logarithm of a run's median."""

    deviation: float
    degrees: int | None
    """Degrees of freedom of the estimate; None for an assumed one."""
    source: str
    has_samples: bool = False
    """Whether it is of the medians that are compared: then it has their scatter within the runs, too."""

    @property
    def margin(self) -> float:
        """The relative difference that medians of two runs may have, with 95 %."""
        return math.expm1(math.sqrt(2) * self.deviation * quantile(self.degrees, MISS))


@cache
def quantile(degrees: int | None, miss: float) -> float:
    """Of the normal distribution, or of Student's t: exactly, since few degrees and a rare miss are far from its expansion."""
    if degrees is None:
        return score(miss)
    from scipy.special import stdtrit  # takes longer to load than most comparisons
    return -float(stdtrit(degrees, miss))


def known_between(machine: Machine, series: Iterable[Sequence[Sequence[float]]], given: float | None = None) -> Between:
    """`series`: for each set of repeated runs of this machine, the medians of each point, one for each run. `given`: the relative
    difference that medians of two runs may have, with 95 %, where the user knows it."""
    if given is not None:
        return Between(math.log1p(given) / score(MISS) / math.sqrt(2), None, GIVEN)
    repeated = [[medians for medians in own if len(medians) >= FEWEST_RUNS] for own in series]
    degrees = sum(max(map(len, own)) - 1 for own in repeated if own)  # runs move together: points add none
    margin = between_runs(medians for own in repeated for medians in own)
    if margin is not None and degrees:
        pooled = sum(len(medians) - 1 for own in repeated for medians in own)
        return Between(math.log1p(margin) / student(pooled) / math.sqrt(2), degrees, OF_RUNS)
    return Between(math.log1p(ASSUMED_BETWEEN[machine.side]) / score(MISS) / math.sqrt(2), None, ASSUMED)


def is_short(point: Point) -> bool:
    """Whether it shows how much launches differ, and not how much runs of the machine do."""
    return point.kernel.side == "gpu" and point.timing.median < SHORT * LAUNCH


def of_pair(pair: Pair, alternates: bool) -> Between | None:
    """Of a point that several runs of each side measured, by its own medians, since points differ in how much runs change them.
    Where the runs of the sides alternate, by the quotients of neighbours, which a drift of the machine changes less than the
    times. None with too few runs."""
    first, second = (np.log([p.timing.median for p in points]) for points in (pair.first, pair.second))
    if alternates and len(first) == len(second) >= FEWEST_NEIGHBOURS:
        return Between(float((first - second).std(ddof=1)) / math.sqrt(2), len(first) - 1, OF_ALTERNATING, True)  # of two runs
    if min(len(first), len(second)) < FEWEST_RUNS:
        return None
    degrees = len(first) + len(second) - 2
    return Between(math.sqrt(sum(float(((own - own.mean()) ** 2).sum()) for own in (first, second)) / degrees), degrees, OF_RUNS, True)


def of_point(point: Point, miss: float) -> tuple[float, float] | None:
    """The interval of its median time; of one that other work disturbed, all that it may be."""
    return point.extremes if point.is_disturbed else median_interval(point.times, miss)


def middle(points: Sequence[Point]) -> float:
    """The time over all runs of a side: the geometric mean of their medians."""
    return math.exp(sum(math.log(p.timing.median) for p in points) / len(points))


def joined(points: Sequence[Point], miss: float) -> tuple[float, float] | None:
    """The interval of that, by the samples alone; runs are independent, so that their parts add up as squares. Where a run has too
    few samples for an interval, by the samples of all."""
    ends, time = [of_point(p, miss) for p in points], middle(points)
    known = [(p.timing.median, e) for p, e in zip(points, ends) if e is not None]
    if len(known) < len(points):
        every = [t / p.timing.median for p in points for t in p.times]
        whole = median_interval(every, miss)
        return (time * whole[0], time * whole[1]) if whole else None
    below, above = (math.sqrt(sum(math.log(e[i] / m) ** 2 for m, e in known)) / len(known) for i in (0, 1))
    return time * math.exp(-below), time * math.exp(above)


@dataclass(frozen=True)
class Test:
    """A pair with all that its interval depends on."""

    pair: Pair
    between: tuple[Between, Between]
    tolerance: float

    @cached_property
    def value(self) -> float:
        """How many times as fast the second is."""
        return middle(self.pair.first) / middle(self.pair.second)

    def margin(self, miss: float) -> float:
        """The part between runs (relative)."""
        variance = sum((b.deviation**2 + self._launch(points, b) ** 2) / len(points)
                       for b, points in zip(self.between, (self.pair.first, self.pair.second)))
        degrees = min((b.degrees for b in self.between if b.degrees is not None), default=None)
        return math.expm1(quantile(degrees, miss) * math.sqrt(variance))

    def _launch(self, points: Sequence[Point], between: Between) -> float:
        """The part of the overhead of launches (relative), unless it is in the difference between the runs themselves."""
        is_in = between.has_samples or between.source == GIVEN or self.pair.point.kernel.side != "gpu"
        return 0.0 if is_in else LAUNCH / middle(points)

    @cached_property
    def _known(self) -> dict[float, tuple[float, float] | None]:
        return {}

    def by_samples(self, miss: float) -> tuple[float, float] | None:
        """The interval by the samples alone; each end misses with at most that probability. No more than the ratio where the part
        between runs has the samples' scatter."""
        if miss not in self._known:
            self._known[miss] = self._by_samples(miss)
        return self._known[miss]

    def _by_samples(self, miss: float) -> tuple[float, float] | None:
        if all(b.has_samples for b in self.between):
            return self.value, self.value
        over, under = (joined(points, miss) for points in (self.pair.first, self.pair.second))
        if over is None or under is None:
            return None
        first, second = (replace(p.timing, low=ends[0], high=ends[1])
                         for p, ends in ((self.pair.first[0], over), (self.pair.second[0], under)))
        return ratio_interval(first, second)

    def interval(self, miss: float = MISS) -> tuple[float, float] | None:
        ends = self.by_samples(miss)
        return widened(ends, self.margin(miss)) if ends else None

    @property
    def limits(self) -> tuple[float, float]:
        return 1 / (1 + self.tolerance), 1 + self.tolerance

    def differs(self, miss: float, factor: float = 1.0) -> bool:
        """Whether the interval, times a factor, is outside of the tolerance."""
        ends, limits = self.interval(miss), self.limits
        return ends is not None and (factor * ends[1] < limits[0] or factor * ends[0] > limits[1])

    def agrees(self, miss: float) -> bool:
        ends, limits = self.interval(miss), self.limits
        return ends is not None and limits[0] <= ends[0] and ends[1] <= limits[1]

    @property
    def samples(self) -> int:
        """The smallest number of samples of a run."""
        return min(len(p.times) for p in (*self.pair.first, *self.pair.second))

    @property
    def lacking(self) -> int:
        """How many samples a side lacks for an interval."""
        return max(FEWEST_FOR_INTERVAL - min(sum(len(p.times) for p in side) for side in (self.pair.first, self.pair.second)), 0)

    @property
    def runs(self) -> int:
        return min(len(self.pair.first), len(self.pair.second))

    @property
    def is_disturbed(self) -> bool:
        return any(p.is_disturbed for p in (*self.pair.first, *self.pair.second))

    @cached_property
    def clocks(self) -> tuple[float, float] | None:
        """The mean clocks of a GPU's multiprocessors during the samples of each side (MHz); None where they were not measured."""
        found = []
        for points, run in zip((self.pair.first, self.pair.second), self.pair.runs):
            known = [p.counters.get("sm_clock_mhz") or 0.0 for p in points]
            if self.pair.point.kernel.side != "gpu" or run.context.get("sm_clock_source") != OVER_SAMPLE or not all(c > 0 for c in known):
                return None
            found.append(sum(known) / len(known))
        return found[0], found[1]

    @property
    def by_cycles(self) -> float | None:
        """The factor by which the ratio of cycles differs from the ratio of times."""
        return self.clocks[0] / self.clocks[1] if self.clocks else None


def holm(keys: Iterable[K], decides: Callable[[K, float], bool], level: float = 1 - LEVEL) -> dict[K, float]:
    """The keys that are decided with their levels: each at `level` divided by the number of keys that are still open, until no
    further one is."""
    open_, decided = list(dict.fromkeys(keys)), dict[K, float]()
    while open_:
        each = level / len(open_)
        if not (now := [key for key in open_ if decides(key, each)]):
            break
        decided |= dict.fromkeys(now, each)
        open_ = [key for key in open_ if key not in decided]
    return decided


@dataclass(frozen=True)
class Finding:
    """The verdict on a pair, with the reason's code and text, and what would decide."""

    test: Test
    verdict: str
    code: str
    why: str
    miss: float
    """The probability with which an end of the deciding interval may miss."""
    more_samples: int | None = None
    more_runs: int | None = None

    @property
    def shown(self) -> tuple[float, float] | None:
        """The 95 % interval of this pair alone."""
        return self.test.interval()


def judge(tests: Mapping[K, Test], time_only: bool = False) -> dict[K, Finding]:
    """The verdict on each, all corrected together."""
    known = [key for key, test in tests.items() if test.by_samples(MISS) is not None]
    apart = holm(known, lambda key, level: tests[key].differs(level / 2))
    level = 1 - LEVEL
    alike = holm((k for k in known if k not in apart), lambda key, each: tests[key].agrees(each), level)
    least = level / max(1, len(known) - len(apart))
    return {key: _finding(test, apart.get(key), alike.get(key), least, len(known), time_only) for key, test in tests.items()}


def _finding(test: Test, apart: float | None, alike: float | None, least: float, family: int, time_only: bool) -> Finding:
    if apart is not None:
        factor = None if time_only else test.by_cycles
        if factor is not None and not _is_confirmed(test, apart / 2, factor):
            one, other = test.clocks or (0.0, 0.0)
            return Finding(test, UNDECIDED, "clock", f"the time differs and the cycles do not: the clock was {one:.0f} and {other:.0f} MHz",
                           apart / 2)
        return Finding(test, FASTER if test.value > 1 else SLOWER, "outside_tolerance", "", apart / 2)
    if alike is not None:
        return Finding(test, SAME, "within_tolerance", "", alike)
    return _undecided(test, least, family)


def _is_confirmed(test: Test, miss: float, factor: float) -> bool:
    """Whether the cycles differ in the same direction."""
    ends = test.interval(miss)
    return ends is not None and test.differs(miss, factor) and (factor * ends[0] > 1) == (ends[0] > 1)


def _undecided(test: Test, miss: float, family: int) -> Finding:
    """`miss`: of a claim of equality, the easiest one that is left."""
    if test.lacking and test.by_samples(MISS) is None:
        return Finding(test, UNDECIDED, "few_samples", f"fewer than {FEWEST_FOR_INTERVAL} samples", miss, test.lacking)
    samples, runs, is_at_limit = more(test, miss if abs(math.log(test.value)) < math.log1p(test.tolerance) else miss / 2)
    finding = Finding(test, UNDECIDED, "samples", "the samples scatter too much for their number", miss, samples, runs)
    if test.is_disturbed:
        return replace(finding, code="disturbed", why="other work disturbed it: measure again on a quiet machine")
    if is_at_limit:
        near = test.limits[1] if test.value > 1 else test.limits[0]
        return replace(finding, code="at_tolerance", why=f"the ratio is at the tolerance ({near:.4g}): no reasonable number of samples decides")
    if test.differs(MISS) or test.agrees(1 - LEVEL):
        return replace(finding, code="family", why=f"alone it would be decided, among {family} points it is not")
    if samples is None:
        return replace(finding, code="between_runs", why=f"runs differ by {100 * test.margin(MISS):.2g} % ({' and '.join(_sources(test))})")
    return finding


def _sources(test: Test) -> list[str]:
    return list(dict.fromkeys(b.source for b in test.between))


def more(test: Test, miss: float) -> tuple[int | None, int | None, bool]:
    """How many more samples in each run, or else how many more runs of each side, would decide, if the samples' part narrows as
    the root of their number and the part between runs as the root of theirs: runs where they take far fewer samples. None for both: too many
    to be given. Where the part between runs is assumed, as many runs as are needed to measure it. Last, whether the ratio is so
    near to the tolerance that no number decides."""
    ends = test.by_samples(miss)
    if ends is None:
        return max(test.lacking, 1), None, False
    value, limit, apart = abs(math.log(test.value)), math.log1p(test.tolerance), math.log1p(test.margin(miss))
    distance = abs(value - limit)
    if distance < AT_LIMIT * limit:
        return None, None, True
    is_above = (test.value > 1) == (value < limit)  # the end that is on the side of the limit
    width = max(math.log(ends[1] / test.value) if is_above else math.log(test.value / ends[0]), 0.0)
    samples, runs = math.inf, max(math.ceil(test.runs * ((width + apart) / distance) ** 2) - test.runs, 1)
    if apart < distance and not all(b.has_samples for b in test.between):
        samples = max(math.ceil(test.samples * (width / (distance - apart)) ** 2) - test.samples, 1)
    if any(b.source == ASSUMED for b in test.between):
        runs = min(runs, max(FEWEST_RUNS - test.runs, 1))
    if samples <= WORTH * runs * test.samples and samples <= MANY:
        return int(samples), None, False
    return None, runs if runs <= MANY_RUNS else None, False


def detectable(test: Test, family: int) -> float | None:
    """The difference that would be found as often as not, among so large a family: the deciding interval around it is outside
    of the tolerance. None without an interval."""
    ends = test.interval(MISS / max(family, 1))
    return test.value / ends[0] * (1 + test.tolerance) - 1 if ends else None
