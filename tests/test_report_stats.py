"""Statistics: ranks against a brute-force oracle, coverage by simulation, rates that must not be averaged."""

import math
from fractions import Fraction

import numpy as np
import pytest
import test_report_support  # noqa: F401  (puts the repository root on the path)

from report import stats


def exact_coverage(n: int, lower: int, upper: int) -> Fraction:
    """P(X_(lower) <= median <= X_(upper)) of n continuous samples: lower <= heads < upper, in whole numbers."""
    return Fraction(sum(math.comb(n, k) for k in range(lower, upper)), 2**n)


@pytest.mark.parametrize("n", range(1, 6))
def test_no_interval_below_six(n):
    assert stats.median_ranks(n) is None
    assert stats.summarise([1.0] * n).low is None


@pytest.mark.parametrize("n", range(6, 70))
def test_exact_ranks_cover_and_are_the_tightest(n):
    lower, upper = stats.median_ranks(n)
    assert lower + upper == n + 1
    assert exact_coverage(n, lower, upper) >= Fraction(95, 100)
    if lower + 1 < upper - 1:
        assert exact_coverage(n, lower + 1, upper - 1) < Fraction(95, 100)


@pytest.mark.parametrize("n", (70, 100, 1000))
def test_le_boudec_ranks(n):
    lower, upper = stats.median_ranks(n)
    assert lower == math.floor((n - 1.96 * math.sqrt(n)) / 2)
    assert upper == math.ceil(1 + (n + 1.96 * math.sqrt(n)) / 2)
    assert exact_coverage(n, lower, upper) >= Fraction(95, 100)


@pytest.mark.parametrize("n", (6, 15, 40, 100))
@pytest.mark.parametrize("shape", ("skewed", "bimodal"))
def test_coverage_by_simulation(n, shape):
    rng = np.random.default_rng(7)
    draws = 10_000
    if shape == "skewed":
        data, median = rng.lognormal(0.0, 1.0, (draws, n)), 1.0
    else:
        data = np.where(rng.random((draws, n)) < 0.6, rng.normal(10, 0.1, (draws, n)), rng.normal(20, 0.1, (draws, n)))
        median = 10 + 0.1 * 0.9674215661017014  # P(X <= median) = 0.6 Phi(z) = 1/2, so Phi(z) = 5/6
    lower, upper = stats.median_ranks(n)
    ordered = np.sort(data, axis=1)
    covered = np.mean((ordered[:, lower - 1] <= median) & (median <= ordered[:, upper - 1]))
    assert covered >= 0.95 - 3 * math.sqrt(0.95 * 0.05 / draws)


@pytest.mark.parametrize("samples, median", (([3.0], 3), ([1.0, 2.0], 1.5), ([5.0, 1.0, 9.0], 5), ([4.0, 1.0, 2.0, 8.0], 3)))
def test_median_of_even_and_odd(samples, median):
    assert stats.summarise(samples).median == median


def test_summary_keeps_every_sample():
    s = stats.summarise([1, 2, 3, 4, 5, 6, 7, 8, 9, 1000])
    assert (s.n, s.minimum, s.median, s.q1, s.q3) == (10, 1, 5.5, 3.25, 7.75)
    assert (s.low, s.high) == (2, 9)


@pytest.mark.parametrize("bad", ([], [0.0], [-1.0], [math.nan], [math.inf]))
def test_summary_refuses_what_is_no_time(bad):
    with pytest.raises(ValueError):
        stats.summarise(bad)


def test_hpl_example_of_hoefler_and_belli():
    """Times 10, 100 and 40 s at 100 Gflop each are 2 Gflop/s; averaging rates would say 4.5."""
    assert stats.combined_rate([100, 100, 100], [10, 100, 40]) == pytest.approx(2.0)
    assert stats.geometric_mean([10, 1, 2.5]) == pytest.approx(2.924, abs=1e-3)


def test_overlapping_intervals_are_ambiguous():
    a, b = stats.summarise([10, 11, 12, 13, 14, 15]), stats.summarise([15, 16, 17, 18, 19, 20])
    c = stats.summarise([16, 17, 18, 19, 20, 21])
    assert stats.compare(a, b) == "ambiguous"
    assert (stats.compare(a, c), stats.compare(c, a)) == ("faster", "slower")
    assert stats.compare(a, stats.summarise([100.0] * 5)) == "unknown"


def test_same_code_is_rarely_called_different_and_two_percent_is_found():
    rng = np.random.default_rng(11)
    base = rng.normal(100, 0.5, (2000, 15))
    same = [stats.compare(stats.summarise(a), stats.summarise(b)) for a, b in zip(base[:1000], base[1000:])]
    slow = [stats.compare(stats.summarise(1.02 * a), stats.summarise(b)) for a, b in zip(base[:1000], base[1000:])]
    assert np.mean([verdict != "ambiguous" for verdict in same]) <= 0.05
    assert np.mean([verdict == "slower" for verdict in slow]) > 0.95


def test_ratio_interval_holds_the_ratio():
    a, b = stats.summarise([10, 11, 12, 13, 14, 15]), stats.summarise([1, 2, 3, 4, 5, 6])
    assert stats.ratio_interval(a, b) == (10 / 6, 15 / 1)
    assert stats.ratio_interval(a, b, extra=4) == (1.0, 3.0)
