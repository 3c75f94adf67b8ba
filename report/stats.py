"""Statistics of timing samples: no normality assumed, no sample dropped.

Times are seconds, costs are operations or bytes. Sources: Hoefler & Belli (SC 2015), Le Boudec (2010).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import bdtr

LEVEL = 0.95
FEWEST_FOR_INTERVAL = 6
EXACT_BELOW = 70


@dataclass(frozen=True)
class Summary:
    """Median with its interval (None below six samples), quartiles, minimum and number of samples."""

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


def median_ranks(n: int) -> tuple[int, int] | None:
    """Ranks (from 1) of the order statistics that enclose the median with at least 95 %; None if n < 6.

    Exact binomial ranks below 70 samples, Le Boudec's normal ranks from there on.
    """
    if n < FEWEST_FOR_INTERVAL:
        return None
    if n < EXACT_BELOW:
        # The largest l with P(X <= l-1) <= 2.5 %, X ~ Binomial(n, 1/2); bdtr is that distribution function.
        lower = sum(1 for k in range(n // 2) if bdtr(k, n, 0.5) <= (1 - LEVEL) / 2)
        return lower, n + 1 - lower
    half_width = 1.96 * math.sqrt(n)
    return math.floor((n - half_width) / 2), math.ceil(1 + (n + half_width) / 2)


def summarise(samples: Sequence[float]) -> Summary:
    """Summary of positive finite samples, in their unit; ValueError for anything else."""
    values = np.sort(np.asarray(samples, dtype=float))
    if values.size == 0 or not np.isfinite(values).all() or values[0] <= 0:
        raise ValueError("samples must be positive and finite, and at least one")
    ranks = median_ranks(values.size)
    low, high = (float(values[ranks[0] - 1]), float(values[ranks[1] - 1])) if ranks else (None, None)
    q1, median, q3 = (float(q) for q in np.percentile(values, [25, 50, 75]))
    return Summary(median, low, high, q1, q3, float(values[0]), int(values.size))


def combined_rate(costs: Sequence[float], times: Sequence[float]) -> float:
    """Rate over several measurements: sum of costs over sum of times, never the mean of the rates."""
    if len(costs) != len(times):
        raise ValueError("one cost for each time")
    return math.fsum(costs) / math.fsum(times)


def geometric_mean(ratios: Sequence[float]) -> float:
    """Geometric mean of positive ratios, for the case that the costs behind them are gone."""
    return math.exp(math.fsum(math.log(r) for r in ratios) / len(ratios))


def compare(a: Summary, b: Summary) -> str:
    """'faster', 'slower' (a against b, as times) or 'ambiguous'; 'unknown' if either has no interval."""
    if not (a.has_interval and b.has_interval):
        return "unknown"
    if a.high < b.low:
        return "faster"
    if a.low > b.high:
        return "slower"
    return "ambiguous"


def ratio_interval(numerator: Summary, denominator: Summary, extra: float = 0.0) -> tuple[float, float] | None:
    """Conservative interval of numerator/(denominator + extra) from the ends of both intervals (times in s)."""
    if not (numerator.has_interval and denominator.has_interval):
        return None
    return numerator.low / (denominator.high + extra), numerator.high / (denominator.low + extra)
