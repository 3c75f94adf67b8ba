"""Statistics of timing samples: no normality is assumed, and none is dropped for its value.

Times are seconds, costs are operations or bytes. Sources: Hoefler & Belli (SC 2015), Le Boudec (2010).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations
from statistics import NormalDist, median, quantiles
from typing import TypeVar

import numpy as np

Key = TypeVar("Key")
LEVEL = 0.95
MISS = (1 - LEVEL) / 2
"""The probability with which an end of an interval may miss."""
FEWEST_FOR_INTERVAL = 6
EXACT_BELOW = 70
MOST_CORRELATED = 0.9
BETWEEN_RUNS = 0.05
"""The relative difference that medians of two runs may have, with 95 %, where no runs of the machine were repeated."""
FEWEST_REPEATED = 5
"""With fewer degrees of freedom, repeated runs do not show how much runs differ."""


def correlation(samples: Sequence[float]) -> float:
    """Between the ranks of successive samples, in the order in which they were taken; raised by the 1/n by which few
    samples understate it."""
    _, place, alike = np.unique(samples, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(alike) - (alike - 1) / 2)[place]
    about = ranks - ranks.mean()
    spread = float(about @ about)
    return float(about[:-1] @ about[1:]) / spread + 1 / len(samples) if spread else 0.0


def independent_share(r: float) -> float:
    """The share of samples that count as independent at this correlation; negative correlations count as none."""
    r = min(max(r, 0.0), MOST_CORRELATED)
    return (1 - r) / (1 + r)


def effective(samples: Sequence[float]) -> float:
    """The number of independent samples that these count as. common/harness/statistics.cpp has the same."""
    return len(samples) * independent_share(correlation(samples))


@dataclass(frozen=True)
class Summary:
    """Median with its interval (None below six samples), quartiles, minimum and number of samples.

    The interval is for the median of this run and does not predict the next one.
    """

    median: float
    low: float | None
    high: float | None
    q1: float
    q3: float
    minimum: float
    n: int

    @property
    def has_interval(self) -> bool:
        return self.low is not None

    @property
    def interval(self) -> tuple[float, float] | None:
        return None if self.low is None or self.high is None else (self.low, self.high)


def at_most(k: int, n: int) -> float:
    """The probability of at most k heads among n fair coins."""
    return sum(math.comb(n, i) for i in range(k + 1)) / 2**n


@cache
def median_ranks(n: int, miss: float = MISS) -> tuple[int, int] | None:
    """Ranks (from 1) of the order statistics that enclose the median, each missing with at most that probability; None if
    n < 6, or if not even the outermost samples do.

    Exact binomial ranks below 70 samples, Le Boudec's normal ranks from there on.
    """
    if n < FEWEST_FOR_INTERVAL or 2.0**-n > miss:
        return None
    if n < EXACT_BELOW:
        # The largest l with P(X <= l-1) <= miss, X ~ Binomial(n, 1/2).
        lower = sum(1 for k in range(n // 2) if at_most(k, n) <= miss)
        return lower, n + 1 - lower
    half_width = round(score(miss), 2) * math.sqrt(n)
    return math.floor((n - half_width) / 2), math.ceil(1 + (n + half_width) / 2)


def score(miss: float) -> float:
    """The score of the normal distribution: 1.96 for 2.5 %."""
    return -NormalDist().inv_cdf(miss)


def correlated_ranks(n: int, independent: float, miss: float = MISS) -> tuple[int, int] | None:
    """The ranks among n samples that count as fewer independent ones: in proportion; the outermost where these are too
    few for an interval."""
    whole = median_ranks(n, miss)
    if whole is None or independent >= n:
        return whole
    m = math.floor(independent)
    few = median_ranks(m, miss)
    lower = math.floor(few[0] * n / m) if few else 1
    return min(lower, whole[0]), max(n + 1 - lower, whole[1])


def median_interval(samples: Sequence[float], miss: float = MISS) -> tuple[float, float] | None:
    """The interval of the median of positive samples, in their unit; each end misses with this probability. None below six.

    Its ends are samples, by their ranks. If the samples are too few for this probability, it is the interval of all
    samples, stretched on each side on a logarithmic scale by the ratio of the normal distribution's scores.
    """
    values, n = sorted(map(float, samples)), len(samples)
    if n < FEWEST_FOR_INTERVAL:
        return None
    independent = min(effective(samples), n)
    m = math.floor(independent)
    if median_ranks(m, miss) and (ranks := correlated_ranks(n, independent, miss)):
        lower, upper = ranks
        return values[lower - 1], values[upper - 1]
    middle = median(values)
    stretch = max(1.0, score(miss) / max(score(MISS), score(2.0**-m) if m else 0.0))
    return middle * (values[0] / middle) ** stretch, middle * (values[-1] / middle) ** stretch


def summarise(samples: Sequence[float]) -> Summary:
    """Summary of positive finite samples in the order they were taken, in their unit; ValueError for anything else."""
    values = sorted(map(float, samples))
    if not values or not all(map(math.isfinite, values)) or values[0] <= 0:
        raise ValueError("samples must be positive and finite, and at least one")
    ranks = correlated_ranks(len(values), effective(samples))
    low, high = (values[ranks[0] - 1], values[ranks[1] - 1]) if ranks else (None, None)
    q1, middle, q3 = quantiles(values, n=4, method="inclusive") if len(values) > 1 else values * 3
    return Summary(middle, low, high, q1, q3, values[0], len(values))


def ratio_interval(numerator: Summary, denominator: Summary, extra: float = 0.0) -> tuple[float, float] | None:
    """Conservative interval of numerator/(denominator + extra) from the ends of both intervals (times in s)."""
    over, under = numerator.interval, denominator.interval
    return (over[0] / (under[1] + extra), over[1] / (under[0] + extra)) if over and under else None


def student(degrees: int, miss: float = MISS) -> float:
    """The quantile of Student's t that is missed with that probability: the normal score's expansion in 1 / degrees
    (Abramowitz and Stegun, 26.7.5), a per cent off from five degrees on."""
    z = score(miss)
    return z + (z**3 + z) / (4 * degrees) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * degrees**2)


def between_runs(series: Iterable[Sequence[float]], differing: int = 2) -> float | None:
    """The relative difference that medians of two runs may have with nothing changed, with 95 %: from the medians of
    several runs, one sequence of positive numbers for each measured quantity. None if they are too few.

    `differing`: 1 for the difference of one run's median from the value of many runs."""
    logs = [np.log(medians) for medians in series if len(medians) > 1]
    degrees = sum(len(own) - 1 for own in logs)
    if degrees < FEWEST_REPEATED:
        return None
    variance = sum(float(((own - own.mean()) ** 2).sum()) for own in logs) / degrees
    return math.expm1(student(degrees) * math.sqrt(differing * variance))


def between(*points) -> float:
    """The part between runs of a comparison of these timed points (relative); 0 if all are of one run. If a roof was
    also measured in the other point's run, with about the same value, it is the difference between the two."""
    return max((_between(a, b) for a, b in combinations(points, 2) if a.run != b.run), default=0.0)


def _between(one, other) -> float:
    known = [p.elsewhere[q.run] for p, q in ((one, other), (other, one)) if q.run in p.elsewhere]
    return min(*known, max(one.between, other.between)) if known else max(one.between, other.between)


def widened(ends: tuple[float, float], margin: float) -> tuple[float, float]:
    """An interval of a positive quotient with the part between runs."""
    return ends[0] / (1 + margin), ends[1] * (1 + margin)


@dataclass(frozen=True)
class Ratio:
    """How many times as fast one code is as another, for the same work.

    `paired`: by the quotients of samples of the same round. `p`: two-sided; `least_p`: the smallest that this number of
    samples can give. `verdict` is set only by `judge`.
    """

    value: float
    low: float | None
    high: float | None
    paired: bool
    p: float | None
    least_p: float | None = None
    verdict: str = ""
    is_apart: bool = True
    """Whether no sample of the one is near any of the other; assumed where that is not known."""
    correlation: float = 0.0
    """From round to round, of paired ones."""

    @property
    def interval(self) -> tuple[float, float] | None:
        return None if self.low is None or self.high is None else (self.low, self.high)

    @property
    def is_significant(self) -> bool:
        return self.verdict in (FASTER, SLOWER)

    @property
    def is_level(self) -> bool:
        """Whether the two cannot be distinguished: by a test, or because samples too few for a test are near each other."""
        return not self.is_significant and not (self.verdict == TOO_FEW and self.is_apart)

    @property
    def doubt(self) -> str:
        """The addition of a sentence to a ratio that is not significant; empty for a significant one."""
        return "" if self.is_significant else TOO_FEW if self.verdict == TOO_FEW else "not a significant difference"


FASTER, SLOWER, SAME = "significantly faster", "significantly slower", "not significantly different"
TOO_FEW = "too few samples to decide"
FEWEST_TURNS = 12
"""With fewer common rounds the sign test could not reach significance among the comparisons of a ladder."""
FEWEST_FOR_TEST = 4
GAP, GAP_APART = 0.005, 0.02
"""Relative differences that are never called: of interleaved codes, and of others."""
ROUNDING = 1e-12


def ratio(own, other, scale: float = 1.0) -> Ratio:
    """Speed of one timed point over another's, for the same work: other's time over own time (times `scale`, to compare
    it with another number than 1).

    Where no sample of the one is within GAP_APART of any of the other, the Mann–Whitney U test decides. Nearer samples
    decide nothing if they were taken at different times. If both were interleaved in one group, the sign test decides whether
    the quotients of each round are beyond GAP; a disturbance of both at once does not affect it. The ratio is then
    the median of these quotients, else the quotient of the medians. Samples of different runs must also be apart by the
    difference between runs of the machine, and the interval is wider by it. tests/twins/run.sh measures how often this is wrong.
    """
    theirs = [scale * time for time in other.times]
    (shortest, longest), (first, last), margin = own.extremes, (scale * end for end in other.extremes), between(own, other)
    is_apart = max(shortest / last, first / longest) > (1 + GAP_APART) * (1 + margin)
    p, least_p = rank_test(own.times, theirs), _least_of_rank_test(len(own.times), len(theirs))
    if quotients := paired(own, other, scale):
        found = summarise(quotients)
        if not is_apart:
            p, least_p = gap_test(quotients), sign_test([2.0] * len(quotients))
        return Ratio(found.median, found.low, found.high, True, p, least_p, is_apart=is_apart, correlation=correlation(quotients))
    ends = ratio_interval(other.summary, own.summary)
    low, high = (scale * end for end in widened(ends, margin)) if ends else (None, None)
    return Ratio(scale * other.summary.median / own.summary.median, low, high, False, p, least_p, is_apart=is_apart)


def times_as_fast(own, other) -> float:
    """How many times as fast one timed point is as another, for the same work. All sentences, tables and figures use it for two
    points that may be interleaved."""
    return ratio(own, other).value


def paired(own, other, scale: float = 1.0) -> list[float]:
    """Other's time over own time (times `scale`) of each round in which both were sampled. None if they are not of one group
    of one run, since rounds of different groups are unrelated; if they share fewer than FEWEST_TURNS rounds; or if one was
    disturbed throughout: bursts of other work last longer than a round, so that rounds are not independent."""
    is_of_one = own.group and (own.run, own.group) == (other.run, other.group)
    if not is_of_one or own.is_disturbed or other.is_disturbed:
        return []
    of_turn = dict(zip(other.turns, other.times))
    quotients = [scale * of_turn[turn] / time for turn, time in zip(own.turns, own.times) if turn in of_turn]
    return quotients if len(quotients) >= FEWEST_TURNS else []


def weakened(p: float, share: float) -> float:
    """The p of a test that assumes independent samples, if only `share` of them are independent: its normal score is
    multiplied by the root of `share`."""
    score = NormalDist().inv_cdf(p / 2) * math.sqrt(share) if p / 2 > 0 else -math.inf
    return math.erfc(-score / math.sqrt(2))


def gap_test(quotients: Sequence[float]) -> float:
    """Two-sided p that the median of the quotients is not beyond GAP from 1, on its side of 1."""
    middle = median(quotients)
    if abs(math.log(middle)) <= math.log1p(GAP):
        return 1.0
    return sign_test([q / (1 + GAP) if middle > 1 else q * (1 + GAP) for q in quotients])


def sign_test(quotients: Sequence[float]) -> float:
    """Two-sided p that the median of the quotients is 1; quotients that are 1 within rounding are left out."""
    above, below = sum(1 for q in quotients if q > 1 + ROUNDING), sum(1 for q in quotients if q < 1 - ROUNDING)
    return min(1.0, 2 * at_most(min(above, below), above + below)) if above + below else 1.0


def rank_test(a: Sequence[float], b: Sequence[float]) -> float | None:
    """Two-sided p of Mann and Whitney's U test; None below four samples a side.

    Exact where every sample of one side is below all of the other, else from the normal approximation, corrected for ties
    and for continuity. scipy.stats has it, too, but loading that takes longer than all tests of a report.
    """
    n, m = len(a), len(b)
    if min(n, m) < FEWEST_FOR_TEST:
        return None
    low, high = sorted(a), np.sort(b)
    u = sum(np.searchsorted(high, low, side).sum() for side in ("left", "right")) / 2
    if u in (0, n * m):
        return 2 / math.comb(n + m, n)
    _, alike = np.unique([*low, *high], return_counts=True)
    variance = n * m / 12 * (n + m + 1 - float((alike**3 - alike).sum()) / ((n + m) * (n + m - 1)))
    distance = max(abs(u - n * m / 2) - 0.5, 0.0)
    return math.erfc(distance / math.sqrt(2 * variance)) if distance else 1.0


@cache
def _least_of_rank_test(a: int, b: int) -> float | None:
    """The p if every sample of one side is below all of the other."""
    return rank_test(range(a), range(a, a + b))


def judge(ratios: Mapping[Key, Ratio]) -> dict[Key, Ratio]:
    """The same ratios with their verdicts: Holm's correction over all of them, at 5 %.

    All comparisons of one experiment are judged together. Those without a p are left out of the correction. The sign test
    assumes independent rounds. Their correlation depends on the machine, so its mean over all comparisons is used.
    Where not even the clearest outcome could be significant among so many comparisons, the samples are too few.
    """
    paired = [r.correlation for r in ratios.values() if r.paired]
    share = independent_share(sum(paired) / len(paired)) if paired else 1.0
    ratios = {key: r if r.is_apart else _corrected(r, share) for key, r in ratios.items()}
    tested = sorted((r.p, str(key), key) for key, r in ratios.items() if r.p is not None)
    rejected, open_ = set(), True
    for rank, (p, _, key) in enumerate(tested):
        open_ = open_ and p <= (1 - LEVEL) / (len(tested) - rank)
        if open_:
            rejected.add(key)
    level = (1 - LEVEL) / max(len(tested), 1)
    return {key: replace(r, verdict=_verdict(r, key in rejected, level)) for key, r in ratios.items()}


def _corrected(r: Ratio, share: float) -> Ratio:
    """A ratio of near samples: what is not interleaved decides nothing; of rounds only `share` are independent."""
    if r.paired and r.p is not None and r.least_p is not None:
        return replace(r, p=weakened(r.p, share), least_p=weakened(r.least_p, share))
    return replace(r, p=None if r.p is None else 1.0)


def _verdict(r: Ratio, is_rejected: bool, level: float) -> str:
    if is_rejected:
        return FASTER if r.value > 1 else SLOWER
    return TOO_FEW if r.least_p is None or r.least_p > level else SAME
