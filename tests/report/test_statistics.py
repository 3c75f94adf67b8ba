"""Statistics: ranks against a brute-force oracle, coverage by simulation, families of comparisons by simulation."""

import math
from dataclasses import replace
from fractions import Fraction
from random import Random
from types import SimpleNamespace

import numpy as np
import pytest

from report.data import statistics as stats


def exact_coverage(n: int, lower: int, upper: int) -> Fraction:
    """P(X_(lower) <= median <= X_(upper)) of n continuous samples: lower <= heads < upper, in whole numbers."""
    return Fraction(sum(math.comb(n, k) for k in range(lower, upper)), 2**n)


@pytest.mark.parametrize("n", range(1, 6))
def test_no_interval_below_six(n):
    assert stats.median_ranks(n) is None
    assert stats.summarise([1.0] * n).low is None


def test_exact_ranks_cover_and_are_the_tightest():
    for n in range(6, 70):
        lower, upper = stats.median_ranks(n)
        assert lower + upper == n + 1
        assert exact_coverage(n, lower, upper) >= Fraction(95, 100)
        assert lower + 1 >= upper - 1 or exact_coverage(n, lower + 1, upper - 1) < Fraction(95, 100)


@pytest.mark.parametrize("n", (70, 100, 1000))
def test_le_boudec_ranks(n):
    lower, upper = stats.median_ranks(n)
    assert lower == math.floor((n - 1.96 * math.sqrt(n)) / 2)
    assert upper == math.ceil(1 + (n + 1.96 * math.sqrt(n)) / 2)
    assert exact_coverage(n, lower, upper) >= Fraction(95, 100)


@pytest.mark.parametrize("n", (6, 15, 40, 100))
def test_coverage_by_simulation(n):
    draws = 10_000
    data = np.sort(np.random.default_rng(7).lognormal(0.0, 1.0, (draws, n)), axis=1)
    lower, upper = stats.median_ranks(n)
    covered = np.mean((data[:, lower - 1] <= 1.0) & (data[:, upper - 1] >= 1.0))
    assert covered >= 0.95 - 3 * math.sqrt(0.95 * 0.05 / draws)


def series(correlation: float, n: int, number: int) -> np.ndarray:
    """Rows of n times about 1; each time depends on the one before."""
    rng = np.random.default_rng(5)
    noise, rows = rng.normal(size=(number, n)), np.empty((number, n))
    rows[:, 0] = noise[:, 0]
    for i in range(1, n):
        rows[:, i] = correlation * rows[:, i - 1] + math.sqrt(1 - correlation**2) * noise[:, i]
    return np.exp(0.01 * rows)


@pytest.mark.parametrize("n", (12, 21, 60))
def test_correlated_samples_count_for_less(n):
    assert stats.effective([1.0] * n) == n
    assert stats.effective([1.0 + i % 2 for i in range(n)]) == n
    assert stats.effective(range(1, n + 1)) < n / 3
    assert stats.effective([2, 1, 3, 4, 5, 6, 4, 7, 2, 8]) == pytest.approx(8.181818181818182)  # as common/harness/statistics.cpp
    assert 0.7 * n < np.mean([stats.effective(row) for row in series(0.0, n, 400)]) <= n
    assert np.mean([stats.effective(row) for row in series(0.5, n, 400)]) < 0.55 * n


@pytest.mark.parametrize("correlation", (0.0, 0.3, 0.5))
@pytest.mark.parametrize("n", (12, 30))
def test_intervals_of_correlated_samples_cover(n, correlation):
    """By the ranks of independent samples these would cover 82 % at the correlation of 0.5."""
    summaries = [stats.summarise(row) for row in series(correlation, n, 1000)]
    assert np.mean([s.low <= 1 <= s.high for s in summaries]) >= 0.93


def test_summary_keeps_every_sample():
    s = stats.summarise([5, 1000, 2, 8, 3, 9, 1, 7, 4, 6])
    assert (s.n, s.minimum, s.median, s.q1, s.q3, s.low, s.high) == (10, 1, 5.5, 3.25, 7.75, 2, 9)


@pytest.mark.parametrize("bad", ([], [0.0], [-1.0], [math.nan], [math.inf]))
def test_summary_refuses_what_is_no_time(bad):
    with pytest.raises(ValueError):
        stats.summarise(bad)


def point(times, group="1", run="a", turns=None):
    return SimpleNamespace(is_disturbed=False, extremes=(min(times), max(times)), between=0.0, elsewhere={}, times=tuple(times), turns=tuple(turns or range(len(times))), group=group, run=run,
                           summary=stats.summarise(times))


def test_samples_of_one_turn_are_compared_with_each_other():
    """A machine that slows down for both does not change their ratio."""
    slow = [1.0 + 0.1 * i for i in range(12)]
    found = stats.ratio(point(slow), point([1.02 * t for t in slow]))
    assert found.paired and found.value == pytest.approx(1.02) and found.low == pytest.approx(1.02)
    assert stats.judge({"x": found})["x"].verdict == stats.FASTER
    for other in (point([1.02 * t for t in slow], group=""), point([1.02 * t for t in slow], group="2"), point([1.02 * t for t in slow], run="b")):
        apart = stats.ratio(point(slow), other)
        assert not apart.paired and stats.judge({"x": apart})["x"].verdict == stats.SAME


def test_turns_are_matched_by_their_number():
    times = [1.0 + 0.1 * i for i in range(14)]
    found = stats.ratio(point(times[2:], turns=range(2, 14)), point([3 * t for t in times]))
    assert found.paired and found.value == pytest.approx(3) and found.high == pytest.approx(3)


def test_few_turns_are_not_paired():
    times = [1.0 + 0.1 * i for i in range(12)]
    assert stats.ratio(point(times), point(times)).paired and not stats.ratio(point(times[1:]), point(times[1:])).paired


def test_holm_rejects_in_steps():
    def of(p):
        return stats.Ratio(1.5, None, None, False, p, 1e-4)
    verdicts = {k: r.verdict for k, r in stats.judge({"a": of(0.012), "b": of(0.02), "c": of(0.03), "d": of(0.9)}).items()}
    assert verdicts == {"a": stats.FASTER, "b": stats.SAME, "c": stats.SAME, "d": stats.SAME}
    verdicts = [r.verdict for r in stats.judge({"a": of(0.012), "b": of(0.016), "c": of(0.02), "d": of(0.05)}).values()]
    assert verdicts == [stats.FASTER] * 4
    assert stats.judge({"a": replace(of(None), least_p=None)})["a"].verdict == stats.TOO_FEW


def test_too_few_samples_are_called_so():
    """Six against six can give p = 0.002 at the least: enough for one comparison, not for thirty."""
    def point(times):
        return SimpleNamespace(is_disturbed=False, extremes=(min(times), max(times)), between=0.0, elsewhere={}, group="", run=None, times=times, summary=stats.summarise(times))

    few, many = ([stats.ratio(point([1.0 + i / 100 for i in range(n)]), point([2.0 + i / 100 for i in range(n)]))] * 30
                 for n in (6, 8))
    assert stats.judge({"a": few[0]})["a"].verdict == stats.FASTER
    assert {r.verdict for r in stats.judge(dict(enumerate(few))).values()} == {stats.TOO_FEW}
    assert {r.doubt for r in stats.judge(dict(enumerate(few))).values()} == {"too few samples to decide"}
    assert {r.verdict for r in stats.judge(dict(enumerate(many))).values()} == {stats.FASTER}


def families(effect: float, is_paired: bool, number: int = 120, size: int = 8, count: int = 15) -> list[bool]:
    """For each family of comparisons, whether any difference is called; both codes share the drift of their rounds."""
    rng, called = np.random.default_rng(11), []
    for _ in range(number):
        drift = rng.lognormal(0.0, 0.02, (size, count)) if is_paired else np.ones((size, count))
        a, b = (drift * rng.lognormal(0.0, 0.004, (size, count)) for _ in range(2))
        judged = stats.judge({i: stats.ratio(point(a[i], is_paired), point(b[i] * (effect if i == 0 else 1), is_paired))
                              for i in range(size)})
        called.append(judged[0].is_significant if effect != 1 else any(r.is_significant for r in judged.values()))
    return called


@pytest.mark.parametrize("is_paired", (True, False))
def test_the_same_code_is_rarely_called_different(is_paired):
    assert np.mean(families(1.0, is_paired)) <= 0.05


@pytest.mark.parametrize("is_paired, effect, least", ((True, 1.02, 0.80), (True, 1.05, 0.99), (False, 1.05, 0.95)))
def test_what_is_slower_is_found(is_paired, effect, least):
    assert np.mean(families(effect, is_paired, number=60)) >= least


def test_a_run_that_was_slower_as_a_whole_makes_no_difference():
    """Near samples of codes that are not interleaved may differ only because they were taken at different times."""
    rng = np.random.default_rng(3)
    early, late = (shift * rng.lognormal(0.0, 0.004, 30) for shift in (1.0, 1.015))
    found = stats.judge({"x": stats.ratio(point(early, False), point(late, False))})["x"]
    assert stats.rank_test(early, late) < 1e-4 and found.verdict == stats.SAME
    assert stats.judge({"x": stats.ratio(point(early, False), point(1.1 * late, False))})["x"].verdict == stats.FASTER


@pytest.mark.parametrize("correlation, most", ((0.0, 0.05), (0.35, 0.05)))
def test_turns_that_share_their_noise_are_not_taken_for_many(correlation, most):
    """Samples of one visit to a kernel share some of its noise: three of them follow each other."""
    rng, called = np.random.default_rng(6), 0
    for _ in range(600):
        shared, own = np.repeat(rng.normal(size=5), 3), rng.normal(size=15)
        noise = np.exp(0.05 * (math.sqrt(correlation) * shared + math.sqrt(1 - correlation) * own))
        called += stats.judge({0: stats.ratio(point(np.ones(15)), point(noise))})[0].is_significant
    assert called / 600 <= most


def test_what_is_far_apart_needs_few_turns():
    """With twelve rounds the sign test rarely decides among a hundred comparisons; separate samples are enough."""
    rng = np.random.default_rng(9)
    pairs = {i: stats.ratio(point(rng.lognormal(0, 0.004, 12)), point(rng.lognormal(0.1, 0.004, 12))) for i in range(100)}
    assert {r.verdict for r in stats.judge(pairs).values()} == {stats.FASTER} and all(r.paired for r in pairs.values())


def test_less_than_the_gap_is_never_called():
    times = np.random.default_rng(4).lognormal(0.0, 0.1, 200)
    for factor, verdict in ((1.004, stats.SAME), (1 / 1.004, stats.SAME), (1.006, stats.FASTER), (1 / 1.006, stats.SLOWER)):
        assert stats.judge({"x": stats.ratio(point(times), point(factor * times))})["x"].verdict == verdict


def test_ratio_interval_holds_the_ratio():
    a, b = stats.summarise([10, 14, 12, 13, 11, 15]), stats.summarise([1, 5, 3, 4, 2, 6])
    assert stats.ratio_interval(a, b) == (10 / 6, 15 / 1)
    assert stats.ratio_interval(a, b, extra=4) == (1.0, 3.0)
    assert stats.ratio_interval(a, stats.summarise([1.0] * 5)) is None


def test_quotients_of_one_but_for_rounding_are_ties():
    for off in (1e-16, -1e-16, 1e-15, -1e-15):
        assert stats.sign_test([1 + off] * 20) == 1.0
    assert stats.sign_test([1 + 1e-9] * 20) < 1e-5 > stats.sign_test([1 - 1e-9] * 20)


def test_a_ratio_is_compared_with_another_number_by_its_scale(tmp_path):
    own, other = (stats_point([1.0 + i / 1000 for i in range(12)]), stats_point([3.0 + i / 1000 for i in range(12)]))
    assert stats.ratio(own, other).value == pytest.approx(3, rel=1e-2) and stats.ratio(own, other, 1 / 3.5).value < 1
    assert stats.judge({"x": stats.ratio(own, other, 1 / 3.5)})["x"].verdict == stats.SLOWER
    assert stats.judge({"x": stats.ratio(own, other, 1 / 2.5)})["x"].verdict == stats.FASTER


def stats_point(times):
    """All attributes that ratio() reads."""
    from types import SimpleNamespace
    return SimpleNamespace(is_disturbed=False, extremes=(min(times), max(times)), between=0.0, elsewhere={}, times=times, summary=stats.summarise(times), group="", turns=(), run="")


@pytest.mark.parametrize("digits", (1, 6))
def test_the_rank_test_is_mann_and_whitney_s(digits):
    """Against scipy's; with one digit there are ties."""
    from scipy.stats import mannwhitneyu
    rng = np.random.default_rng(5)
    for n, m, shift in ((9, 9, 0.0), (12, 30, 0.4), (60, 10, -0.8), (25, 25, 0.0)):
        a, b = rng.normal(size=n).round(digits), (rng.normal(size=m) + shift).round(digits)
        assert stats.rank_test(a, b) == pytest.approx(mannwhitneyu(a, b, method="asymptotic").pvalue, rel=1e-9)
        assert stats.rank_test(b, a) == pytest.approx(stats.rank_test(a, b), rel=1e-9)
    assert stats.rank_test([1.0] * 5, [1.0] * 6) == 1.0 and stats.rank_test([1.0] * 3, [2.0] * 9) is None


def test_samples_that_are_wholly_apart_have_the_exact_p():
    from scipy.stats import mannwhitneyu
    for n, m in ((4, 4), (5, 9), (30, 12)):
        low, high = np.linspace(1.0, 2.0, n), np.linspace(3.0, 4.0, m)
        exact = mannwhitneyu(low, high, method="exact").pvalue
        assert stats.rank_test(low, high) == pytest.approx(exact) == stats.rank_test(high, low)
        assert stats.rank_test([1.0] * n, high) == pytest.approx(exact), "ties within one side change nothing"


@pytest.mark.parametrize("n", (1, 6, 69, 400))
def test_the_binomial_distribution(n):
    from scipy.special import bdtr
    assert [stats.at_most(k, n) for k in range(n + 1)] == pytest.approx([bdtr(k, n, 0.5) for k in range(n + 1)], rel=1e-9)


def test_weakened_tests_are_those_of_the_normal_distribution():
    from scipy.special import ndtr, ndtri
    for p in (1.0, 0.5, 0.01, 1e-9, 1e-200):
        for share in (1.0, 0.4, 0.01):
            assert stats.weakened(p, share) == pytest.approx(2 * ndtr(ndtri(p / 2) * share**0.5), rel=1e-6)
    assert stats.weakened(0.0, 0.5) == 0


@pytest.mark.parametrize("n", (6, 9, 12, 40, 100))
def test_the_interval_of_a_median_is_the_summarys_at_95_percent(n):
    samples = [1 + 0.01 * math.sin(3 * i) for i in range(n)]
    found = stats.summarise(samples)
    assert stats.median_interval(samples) == (found.low, found.high)
    assert stats.median_interval(samples[:5]) is None


def test_a_surer_interval_of_a_median_is_wider_and_right_as_often_as_it_says():
    """Where the ranks end it is stretched."""
    random, outside = Random(3), 0
    for _ in range(2000):
        samples = [math.exp(random.gauss(0, 0.1)) for _ in range(9)]
        ends = [stats.median_interval(samples, miss) for miss in (0.025, 0.002, 1e-4, 1e-6)]
        assert all(b[0] <= a[0] and a[1] <= b[1] for a, b in zip(ends, ends[1:])) and ends[3][0] < min(samples)
        outside += not ends[1][0] <= 1 <= ends[1][1]
    assert outside <= 20


# Between runs


def of_run(run, middle, between=0.05):
    times = tuple(middle * (1 + 0.001 * i) for i in range(-6, 7))
    return SimpleNamespace(is_disturbed=False, extremes=(min(times), max(times)), between=between, elsewhere={}, times=times, summary=stats.summarise(times),
                           group="1", turns=tuple(range(13)), run=run)


def test_codes_of_different_runs_differ_by_more_than_runs_do():
    """Samples that are 4 % apart are significantly different within a run, and between runs only where these differ by less."""
    def verdict(one, other):
        return stats.judge({"": stats.ratio(one, other)})[""].verdict
    near = of_run("b", 1.06)
    assert verdict(near, of_run("b", 1.0)) == stats.SLOWER
    assert verdict(near, of_run("a", 1.0)) == stats.SAME
    assert verdict(of_run("b", 1.12), of_run("a", 1.0)) == stats.SLOWER
    assert verdict(of_run("b", 1.06, 0.01), of_run("a", 1.0, 0.01)) == stats.SLOWER
    within, across = stats.ratio(near, of_run("b", 1.0)), stats.ratio(near, of_run("a", 1.0))
    assert across.low < 1 / 1.06 / 1.05 < 1 / 1.06 * 1.05 < across.high < 1.02 and within.high < 1 / 1.05


def test_a_roof_of_both_runs_says_what_they_differ_by():
    kernel, roof, far = of_run("a", 2.0), of_run("b", 1.0), of_run("c", 1.0)
    assert stats.between(kernel, roof) == 0.05 and stats.between(kernel, kernel) == 0
    roof.elsewhere = {"a": 0.003}
    assert stats.between(kernel, roof) == stats.between(roof, kernel) == 0.003
    assert stats.between(kernel, roof, far) == 0.05
    roof.elsewhere = {"a": 0.4}
    assert stats.between(kernel, roof) == 0.05


@pytest.mark.parametrize("runs, things", ((6, 1), (3, 4), (20, 2)))
def test_how_much_runs_differ_is_learned_from_repeated_ones(runs, things):
    """The medians of two further runs differ by more in five per cent of cases, and in no more than seven."""
    random, spread, missed, tries = np.random.default_rng(5), 0.04, 0, 3000
    for _ in range(tries):
        margin = stats.between_runs(np.exp(random.normal(0, spread, (things, runs))))
        one, other = random.normal(0, spread, 2)
        missed += abs(one - other) > np.log1p(margin)
    assert 0.03 < missed / tries < 0.07


def test_few_runs_tell_nothing_of_how_much_they_differ():
    assert stats.between_runs([[1.0, 1.1], [2.0], [3.0, 3.1, 3.3]]) is None
    assert stats.between_runs([]) is None
    assert stats.between_runs([[1.0] * 6]) == 0
    from scipy.stats import t
    for degrees in (5, 10, 100):
        assert stats.student(degrees) == pytest.approx(t.ppf(0.975, degrees), rel=0.011)
