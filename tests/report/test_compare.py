"""`rung compare`: the rule, its error rates, matching, counts, foreign files, output, hostile input."""

import json
import math
import os
import re
import subprocess
import sys
from pathlib import Path
from struct import pack

import numpy as np
import pytest
from conftest import RECORDED, ROOT
from synthetic import Run, write

from report.compare import command, comparison, rule, texts
from report.compare.comparison import make
from report.compare.rule import FASTER, SAME, SLOWER, UNDECIDED
from report.data.companions import load as load_companion

TWINS = {"machine": "Synthetic CPU, 4 cores", "date": "2026-01-01", "runs": 20, "turns": [90, 1500], "ratio_within": 0.008, "load": 2.25,
         "between_runs": 0.004, "twins": {
    "within": {key: {"pairs": 40, "called": 1} for key in ("same", "two", "five")},
    "between": {key: {"pairs": 40, "called": 1} for key in ("same", "two", "five", "intervals")},
    "compare": {"same": {"pairs": 38, "called": 1}, "families": {"pairs": 19, "called": 1}, "one": {"pairs": 38, "called": 3},
                "two": {"pairs": 38, "called": 20}, "five": {"pairs": 38, "called": 37}}},
         "repeated": {side: {key: {"pairs": pairs, "called": 2} for key in ("same", "families", "one", "two", "five")}
                      for side, pairs in (("cpu", 50), ("gpu", 60))}}
"""An A/A test."""


def saved(folder, times, name="run", **context):
    """A run with one point per kernel of these times (seconds)."""
    run = Run("compared", **context)
    for kernel, samples in times.items():
        run.time(kernel, 0, 64, times=list(samples))
    return run.save(folder, name)


def noise(random, n=30, spread=0.002):
    return random.lognormal(0, spread, n)


@pytest.fixture
def calm(monkeypatch, tmp_path):
    """The recorded A/A test is one of the synthetic machine, and runs are assumed to differ little."""
    monkeypatch.setattr(rule, "ASSUMED_BETWEEN", {"cpu": 0.004, "gpu": 0.004})
    monkeypatch.setattr(rule, "LAUNCH", 0.0)
    monkeypatch.setattr(comparison, "RECORDED", write(tmp_path / "calm" / "twins.json", TWINS))


@pytest.fixture
def two(tmp_path, calm):
    """Writes A and B with B's time times these factors, by kernel; returns their paths."""
    def made(factors, n=30, spread=0.002, **context):
        random = np.random.default_rng(3)
        a = saved(tmp_path / "a", {f"cpu/matmul/{k}": 1e-3 * noise(random, n, spread) for k in factors})
        b = saved(tmp_path / "b", {f"cpu/matmul/{k}": 1e-3 * f * noise(random, n, spread) for k, f in factors.items()}, **context)
        return [a, b]
    return made


def verdicts(made):
    return {f.test.pair.name.split("/")[2]: f.verdict for f in made.against[0].timed}


def run(*words, cwd=ROOT):
    return subprocess.run([sys.executable, "-m", "report.compare", *map(str, words)], capture_output=True, text=True, check=False, cwd=cwd,
                          env=os.environ | {"PYTHONPATH": str(ROOT)})


# The rule


def test_a_slower_one_is_found_and_gives_code_one(two, capsys):
    paths = two({"same": 1.0, "slower": 1.05, "faster": 0.95})
    assert verdicts(make(paths, 0.01)) == {"same": SAME, "slower": SLOWER, "faster": FASTER}
    assert command.main([*map(str, paths)]) == 1
    shown = capsys.readouterr().out
    rows = [line.split()[0] for line in shown.splitlines() if "cpu/matmul/" in line]
    assert rows == [SLOWER, SAME, FASTER], "the slowest first"
    assert "3 timed points: 1 SLOWER, 1 FASTER, 1 SAME" in shown


def test_what_is_faster_or_undecided_gives_code_zero(two):
    assert command.main([*map(str, two({"one": 1.0, "other": 0.9}))]) == 0
    assert command.main([*map(str, two({"one": 1.0, "other": 1.02}, n=6, spread=0.05))]) == 0


def test_a_difference_within_the_tolerance_is_none(two):
    paths = two({"one": 1.03}, n=60)
    assert verdicts(make(paths, 0.01)) == {"one": SLOWER}
    assert verdicts(make(paths, 0.05)) == {"one": SAME}
    assert verdicts(make(paths, 0.03)) == {"one": UNDECIDED}
    assert make(paths, 0.03).findings[0].code == "at_tolerance"


def test_without_repeated_runs_the_difference_between_runs_is_assumed(two, tmp_path, monkeypatch):
    paths = two({"one": 1.04, "same": 1.0})
    monkeypatch.setattr(comparison, "RECORDED", tmp_path / "none.json")
    monkeypatch.setattr(rule, "ASSUMED_BETWEEN", {"cpu": 0.05, "gpu": 0.05})
    for found in make(paths, 0.01).findings:
        assert (found.verdict, found.code, found.more_runs) == (UNDECIDED, "between_runs", 2) and "assumed" in found.why
    assert "none are recorded" in " ".join(texts.error_rates(make(paths, 0.01)))


def test_repeated_runs_of_a_side_are_joined_and_show_how_much_runs_differ(tmp_path, monkeypatch):
    monkeypatch.setattr(comparison, "RECORDED", tmp_path / "none.json")
    random = np.random.default_rng(5)
    for side, factor in (("a", 1.0), ("b", 1.03)):  # six runs of each
        for i in range(6):
            drift = random.lognormal(0, 0.001)
            saved(tmp_path / side, {f"cpu/matmul/{k}": 1e-3 * factor * drift * noise(random) for k in "xyz"}, f"run{i}",
                  date=f"2026-0{2 + (side == 'b')}-{10 + i}T09:30:00+00:00", git_commit=side * 8)
    made = make([tmp_path / "a", tmp_path / "b"], 0.01)
    assert set(verdicts(made).values()) == {SLOWER}
    test = made.findings[0].test
    assert test.runs == 6 and test.between[0].source == rule.OF_RUNS and 0.0005 < test.between[0].deviation < 0.002


def test_of_alternating_runs_a_drift_of_the_machine_does_not_matter(tmp_path, monkeypatch):
    """The machine becomes slower by 3 % from pair to pair; neighbours differ by a thousandth."""
    monkeypatch.setattr(comparison, "RECORDED", tmp_path / "none.json")

    def made(name, order):
        random = np.random.default_rng(6)
        for i, side in enumerate(order):
            slow = 1.03 ** (i // 2) * random.lognormal(0, 0.001) * (1.03 if side == "b" else 1.0)
            saved(tmp_path / name / side, {f"cpu/matmul/{k}": 1e-3 * slow * noise(random) for k in "xyz"}, f"run{i}",
                  date=f"2026-02-{10 + i}T09:30:00+00:00", git_commit=side * 8)
        return make([tmp_path / name / "a", tmp_path / name / "b"], 0.01)
    turns, rows = made("turns", "abbaabbaabab"), made("rows", "aaaaaabbbbbb")
    assert turns.findings[0].test.between[0].source == rule.OF_ALTERNATING and set(verdicts(turns).values()) == {SLOWER}
    assert rows.findings[0].test.between[0].source == rule.OF_RUNS
    assert turns.findings[0].test.value == pytest.approx(1 / 1.03, rel=0.005) and rows.findings[0].test.value < 0.93
    assert turns.findings[0].test.margin(rule.MISS) < rows.findings[0].test.margin(rule.MISS) / 5


def test_runs_of_another_build_are_not_joined(tmp_path, calm):
    ones = 1e-3 * noise(np.random.default_rng(1))
    for i, commit in enumerate(("old", "new", "new")):
        saved(tmp_path / "a", {"cpu/matmul/x": ones}, f"run{i}", date=f"2026-02-{10 + i}T09:30:00+00:00", git_commit=commit)
    made = make([tmp_path / "a", saved(tmp_path / "b", {"cpu/matmul/x": ones}, git_commit="b")], 0.01)
    assert len(made.first.runs) == 2 and len(made.first.left_out) == 1 and "another build" in made.first.left_out[0]
    for i in range(2):  # uncommitted changes: only the program's checksum shows that it is the same
        saved(tmp_path / "c", {"cpu/matmul/x": ones}, f"run{i}", date=f"2026-02-{10 + i}T09:30:00+00:00", git_commit="c", git_dirty=True, program=f"p{i}")
    assert len(make([tmp_path / "c", tmp_path / "b"], 0.01).first.runs) == 1


def test_further_samples_next_to_a_result_are_joined(tmp_path, calm):
    random = np.random.default_rng(2)
    first = saved(tmp_path / "a", {"cpu/matmul/x": 1e-3 * noise(random, 4)})
    data = json.loads(first.read_text())
    data["context"]["checksum"] = "rung 12345678"
    write(first, data)
    other = saved(tmp_path / "b", {"cpu/matmul/x": 1e-3 * noise(random)})
    assert make([first, other], 0.01).findings[0].code == "few_samples"
    saved(tmp_path / "a" / "more" / "t-compared", {"cpu/matmul/x": 1e-3 * noise(random, 4)}, more_of="rung 12345678")
    saved(tmp_path / "a" / "more" / "other", {"cpu/matmul/x": 9e-3 * noise(random, 4)}, more_of="rung 00000000")
    made = make([first, other], 0.01)
    assert [len(p.times) for p in made.findings[0].test.pair.first] == [4, 4] and made.findings[0].verdict == SAME


def families(number, points, planted, spread_between, known, samples=12, runs=1, seed=11):
    """Verdicts of families of points of two runs: samples scatter by 0.3 %, runs differ by `spread_between`, as is known; or of
    several alternating runs of each side, which show by how much they differ, some points by more than others."""
    random = np.random.default_rng(seed)
    between = rule.Between(known or 0, None, rule.GIVEN)
    for _ in range(number):
        tests = {}
        common = random.normal(0, spread_between / 2, (2, runs))  # of all points of a run
        for i in range(points):
            own = random.normal(0, (1 + i * (runs > 1)) * spread_between * math.sqrt(3) / 2, (2, runs))
            times = [[np.exp(common[s][r] + own[s][r]) * random.lognormal(0, 0.003, samples) * (1 + planted if s else 1.0) for r in range(runs)]
                     for s in (0, 1)]
            pair = _pair(*times)
            tests[i] = rule.Test(pair, (rule.of_pair(pair, known is None) or between,) * 2, 0.01)
        yield [f.verdict for f in rule.judge(tests).values()]


def _pair(first, second):
    from types import SimpleNamespace as Of

    from report.data.statistics import summarise
    def point(times):
        times = tuple(map(float, times))
        return Of(times=times, timing=summarise(times), is_disturbed=False, counters={}, kernel=Of(side="cpu"), name="x")
    first, second = (tuple(map(point, side if isinstance(side, list) else [side])) for side in (first, second))
    return Of(first=first, second=second, point=first[0], runs=(None, None), name="x")


def test_families_of_equal_points_have_false_differences_in_at_most_five_per_cent():
    """200 families of 10 points; half a per cent between runs, half of the variance in common."""
    found = list(families(200, 10, 0.0, 0.005, 0.005))
    assert sum(bool({SLOWER, FASTER} & set(own)) for own in found) <= 0.05 * len(found)


@pytest.mark.parametrize("known", (None, 0.0))
def test_several_runs_show_themselves_how_much_they_differ(known):
    """Alternating or not; the points are changed by half a per cent to 2.5 % from run to run."""
    found = list(families(150, 5, 0.0, 0.005, known, runs=6))
    assert sum(bool({SLOWER, FASTER} & set(own)) for own in found) <= 0.05 * len(found)
    slower = [own[0] for own in families(30, 5, 0.05, 0.005, known, runs=6)]
    assert slower.count(SLOWER) >= 0.9 * len(slower), "of the calmest point"


def test_it_is_not_won_by_never_deciding():
    found = [v for own in families(30, 10, 0.05, 0.005, 0.005) for v in own]
    assert found.count(SLOWER) >= 0.95 * len(found)
    alike = [v for own in families(30, 10, 0.0, 0.0005, 0.0005, 60) for v in own]
    assert alike.count(SAME) >= 0.9 * len(alike) and SLOWER not in alike


def test_a_claim_of_equality_is_wrong_in_at_most_five_per_cent_of_families():
    """Differences at the tolerance, where a claim of equality is wrong as often as it can be."""
    found = list(families(200, 5, 0.0101, 0.001, 0.001))
    assert sum(SAME in own for own in found) <= 0.05 * len(found)


def test_an_underestimated_difference_between_runs_would_break_this():
    """So that the two tests above can fail."""
    found = list(families(40, 10, 0.0, 0.02, 0.001))
    assert sum(bool({SLOWER, FASTER} & set(own)) for own in found) > 0.05 * len(found)


@pytest.mark.parametrize("factor, n", ((1.03, 8), (1.0, 8)))
def test_the_suggested_number_of_samples_decides(tmp_path, calm, factor, n):
    random, decided, suggested = np.random.default_rng(7), 0, 0
    for _ in range(20):
        a, b = (1e-3 * noise(random, 4000, 0.012) * f for f in (1.0, factor))
        between = rule.Between(0.001, None, rule.GIVEN)
        found = rule.judge({0: rule.Test(_pair(a[:n], b[:n]), (between, between), 0.01)})[0]
        if found.verdict == UNDECIDED and found.more_samples:
            suggested += 1
            more = min(n + 2 * found.more_samples, 4000)
            decided += rule.judge({0: rule.Test(_pair(a[:more], b[:more]), (between, between), 0.01)})[0].verdict != UNDECIDED
    assert suggested >= 8 and decided >= 0.6 * suggested


@pytest.mark.parametrize("degrees, miss", ((2, 0.025), (4, 0.0005), (10, 1e-6)))
def test_few_runs_have_the_quantiles_of_students_t(degrees, miss):
    from scipy.stats import norm, t
    assert rule.quantile(degrees, miss) == pytest.approx(t.isf(miss, degrees), rel=1e-9)
    assert rule.quantile(None, miss) == pytest.approx(norm.isf(miss), rel=1e-9)


def test_holm_is_more_powerful_than_bonferroni_and_stops():
    p = {"a": 0.004, "b": 0.0055, "c": 0.02, "d": 0.9, "e": 0.9, "f": 0.9, "g": 0.9, "h": 0.9, "i": 0.9, "j": 0.9}
    assert set(rule.holm(p, lambda key, level: p[key] <= level)) == {"a", "b"}
    assert rule.holm({}, lambda *_: True) == {}


def test_a_gpu_difference_that_only_the_clock_explains_is_none(tmp_path, calm):
    def made(name, factor, clock, **context):
        one = Run("compared", sm_clock_source="over the sample", **context)
        one.time("gpu/matmul/x", 0, 64, times=list(1e-3 * factor * noise(np.random.default_rng(4))), sm_clock_mhz=clock)
        one.time("gpu/matmul/y", 0, 64, times=list(1e-3 * factor * noise(np.random.default_rng(5))))
        return one.save(tmp_path / name)
    a, b = made("a", 1.0, 1800.0), made("b", 1.1, 1800.0 / 1.1)
    by_name = {f.test.pair.name.split("/")[2]: f for f in make([a, b], 0.01).findings}
    assert (by_name["x"].verdict, by_name["x"].code) == (UNDECIDED, "clock") and "1800 and 1636 MHz" in by_name["x"].why
    assert by_name["y"].verdict == SLOWER, "no clock was measured"
    assert {f.verdict for f in make([a, b], 0.01, time_only=True).findings} == {SLOWER}
    slow = made("c", 1.1, 1800.0)
    assert {f.verdict for f in make([a, slow], 0.01).findings} == {SLOWER}
    old = made("d", 1.1, 1800.0 / 1.1, gpu_driver="1")
    data = json.loads(old.read_text())
    del data["context"]["sm_clock_source"]  # read after the sample, so that it explains nothing
    assert {f.verdict for f in make([a, write(old, data)], 0.01).findings} == {SLOWER}


def test_a_disturbed_point_is_not_called(tmp_path, calm):
    def made(name, factor):
        one = Run("compared")
        one.time("cpu/matmul/x", 0, 64, times=list(1e-3 * factor * noise(np.random.default_rng(4), 12)), stop_reason="disturbed", disturbed=True,
                 waited_seconds=0.0005, watched_seconds=0.001)
        return one.save(tmp_path / name)
    found = make([made("a", 1.0), made("b", 1.2)], 0.01).findings[0]
    assert (found.verdict, found.code) == (UNDECIDED, "disturbed")
    saved(tmp_path / "b", {"cpu/matmul/x": 1e-3 * noise(np.random.default_rng(5))}, "quiet", date="2026-01-01T09:30:00+00:00")
    [found] = make([tmp_path / "b", tmp_path / "b"], 0.01).findings
    assert not found.test.is_disturbed and len(found.test.pair.first) == 1, "of several runs those count that were not disturbed"


# Error rates


def test_the_error_rates_are_printed_with_the_result(two, capsys):
    command.main([*map(str, two({"one": 1.0}))])
    shown = capsys.readouterr().out
    assert "Error rates (measured on this machine, 2026-01-01): equal code was called different at 1 of 38 points and in 1 of 19 comparisons; " \
           "1 % more work was found at 3 of 38, 2 % at 20 of 38, 5 % at 37 of 38 points." in shown
    assert "These samples would show a difference of 1 % at 0, 2 % at 1, 5 % at 1 of 1 point, and of 1." in shown


def test_rates_of_another_machine_are_named(two, capsys):
    paths = two({"one": 1.0}, cpu_name="Another CPU")
    data = json.loads(paths[0].read_text())
    data["context"]["cpu_name"] = "Another CPU"
    write(paths[0], data)
    command.main([*map(str, paths)])
    shown = capsys.readouterr().out
    assert "not measured on this machine; by recorded runs of one build on three machines" in shown and "GPU:" not in shown
    assert "   CPU: equal code was called different at 2 of 50 points and in 2 of 50 comparisons" in shown


def test_the_recorded_rates_are_of_this_rule_and_as_wanted():
    """Every two recorded runs of one build that measured points in common."""
    sys.path.insert(0, str(ROOT / "tests" / "twins"))
    import repeated
    file = load_companion(comparison.RECORDED, json.loads(comparison.RECORDED.read_text()))
    for side in ("cpu", "gpu"):
        assert file.repeated[side]["families"].called <= 0.05 * file.repeated[side]["families"].pairs
        assert file.repeated[side]["same"].pairs >= 400
    found = repeated.tallies([RECORDED / "nvidia-h200"])["gpu"]
    assert found["families"]["called"] <= 0.05 * found["families"]["pairs"] and found["five"]["called"] > 0.5 * found["five"]["pairs"]


@pytest.mark.parametrize("given, verdict", (("0.3", 0), ("0.001", 1), ("10", 2), ("-1", 2)))
def test_the_difference_between_runs_can_be_given(two, given, verdict):
    paths = [*map(str, two({"x": 1.1}))]
    if verdict < 2:
        assert command.main([*paths, "--between", given]) == verdict
    else:
        with pytest.raises(SystemExit):
            command.main([*paths, "--between", given])


def test_short_launches_differ_more_from_run_to_run(tmp_path, monkeypatch):
    monkeypatch.setattr(comparison, "RECORDED", tmp_path / "none.json")

    def made(name, factor):
        one = Run("compared")
        for kernel, seconds in (("short", 5e-6), ("long", 5e-4)):
            one.time(f"gpu/matmul/{kernel}", 0, 64, times=list(seconds * factor * noise(np.random.default_rng(4))))
        return one.save(tmp_path / name)
    assert verdicts(make([made("a", 1.0), made("b", 1.2)], 0.01)) == {"short": UNDECIDED, "long": SLOWER}
    for i, factor in enumerate((1.0, 1.3, 1.0, 1.3, 1.1, 1.2)):  # nor do they show by how much the machine's runs differ
        saved(tmp_path / "many", {"gpu/matmul/short": [5e-6 * factor] * 8, "gpu/matmul/long": list(5e-4 * noise(np.random.default_rng(i)))}, f"run{i}",
              date=f"2026-02-{10 + i}T09:30:00+00:00")
    known = {machine.side: found for machine, found in comparison.between_of([comparison.sides.load("A", tmp_path / "many")], None).items()}
    assert known["gpu"].source == rule.OF_RUNS and known["gpu"].deviation < 0.002 and known["cpu"].source == rule.ASSUMED


# Matching


def test_what_does_not_match_is_listed_with_its_reason(tmp_path, calm):
    def made(name, threads, *, has_extra, fails):
        one = Run("compared")
        one.time("cpu/matmul/x", 1e-3, 64)
        one.time("cpu/matmul/y", 1e-3, 64, threads=threads)
        if has_extra:
            one.time("cpu/matmul/extra", 1e-3, 64)
        one.time("cpu/matmul/cold", 1e-3, 64, mode="cold" if has_extra else "hot")
        if fails:
            one.benchmarks.append(one.entry("cpu/matmul/broken", {"n": 7}, {}) | {"error_occurred": True, "error_message": "wrong"})
            one.skip("cpu/matmul/large", "no memory")
        else:
            one.time("cpu/matmul/broken", 1e-3, {"n": 7})
            one.time("cpu/matmul/large", 1e-3, 512)
        return one.save(tmp_path / name)
    made_ = make([made("a", 4, has_extra=True, fails=False), made("b", 2, has_extra=False, fails=True)], 0.01)
    reasons = {one.reason for one in made_.against[0].alone}
    assert reasons == {"only in A", "only in A: B has it with threads 2 instead of 4", "only in B: A has it with threads 4 instead of 2",
                       "only in A: B has it with mode hot instead of cold", "only in B: A has it with mode cold instead of hot",
                       "B failed: wrong", "B skipped: no memory"}
    assert list(verdicts(made_)) == ["x"]
    assert made_.against[0].mean == pytest.approx(1.0), "what is skipped or failed is in no mean"


def test_points_of_one_experiment_are_not_compared_with_those_of_another(tmp_path, calm):
    for folder, factor in (("a", 1.0), ("b", 1.0)):
        for name, t in (("one", 1e-3), ("two", 2e-3)):
            run_ = Run(name)
            run_.time("cpu/matmul/x", t * factor, 64)
            run_.save(tmp_path / folder)
    made = make([tmp_path / "a", tmp_path / "b"], 0.01)
    assert [f.test.value for f in made.findings] == pytest.approx([1.0, 1.0])
    crossed = make([tmp_path / "a" / "one.json", tmp_path / "b" / "two.json"], 0.01)
    assert crossed.findings[0].test.value == pytest.approx(0.5), "the user named files of two experiments"


def test_several_runs_are_each_compared_with_the_first(two, tmp_path, capsys):
    a, b = two({"x": 1.0, "y": 1.1})
    c = saved(tmp_path / "c", {"cpu/matmul/x": 2e-3 * noise(np.random.default_rng(1))})
    assert command.main([str(a), str(b), str(c), "--json"]) == 1
    made = json.loads(capsys.readouterr().out)
    assert [x["second"] for x in made["comparisons"]] == ["B", "C"] and made["rule"]["points"] == 3
    assert [x["summary"][SLOWER] for x in made["comparisons"]] == [1, 1]


def test_the_header_says_what_differs(two, capsys):
    a, b = two({"x": 1.0}, git_commit="0123456789abcdef", cxx_compiler="GNU 14", environment={"OMP_NUM_THREADS": "2"}, cpu_name="Other", program="p")
    command.main([str(a), str(b)])
    shown = capsys.readouterr().out
    for line in ("commit: A –, B 0123456789", "C++ compiler: A –, B GNU 14", "CPU: A Synthetic CPU, B Other", "OMP_NUM_THREADS: A –, B 2"):
        assert line in shown, shown
    assert "same program" not in shown


def test_the_same_program_is_known_as_such(tmp_path, calm, capsys):
    paths = [saved(tmp_path / name, {"cpu/matmul/x": 1e-3 * noise(np.random.default_rng(i))}, program="fnv 1", git_commit="c") for i, name in enumerate("ab")]
    command.main([*map(str, paths)])
    assert "B ran the same program as A: differences are of the machine" in capsys.readouterr().out


# Counts


def counted(folder, **counters):
    one = Run("counted")
    one.count("gpu/matmul/x", 64, **{"load_requests": 1000, "load_sectors": 4000, "shared_load_wavefronts": 0, "flops_executed": 2.0**70,
                                     "sectors_per_load_request": 4.0, "occupancy_on:H200": 1.0, "bytes_min": 100} | counters)
    one.count("gpu/matmul/y", 64, load_requests=5)
    return one.save(folder)


def test_one_more_sector_per_request_gives_code_one(tmp_path, capsys):
    a, b = counted(tmp_path / "a"), counted(tmp_path / "b", load_sectors=5000, sectors_per_load_request=5.0)
    assert command.main([str(a), str(b)]) == 1
    shown = capsys.readouterr().out
    assert "load_sectors 4000 → 5000 (×1.25)" in shown and "2 counted points: 1 GREW, 1 EQUAL" in shown and "sectors_per" not in shown
    assert command.main([str(b), str(a)]) == 0 and "SHRANK" in capsys.readouterr().out
    assert command.main([str(a), str(a)]) == 0
    assert command.main([str(a), str(b), "--counts", "store_*", "--counts", "load_req*"]) == 0


def test_a_count_that_was_zero_and_a_loss_of_occupancy(tmp_path, capsys):
    a = counted(tmp_path / "a")
    assert command.main([str(a), str(counted(tmp_path / "b", shared_load_wavefronts=7))]) == 1
    assert "shared_load_wavefronts 0 → 7" in capsys.readouterr().out
    assert command.main([str(a), str(counted(tmp_path / "c", **{"occupancy_on:H200": 0.5, "bytes_min": 200}))]) == 0


def test_what_changed_of_the_launch_is_noted(tmp_path, calm, capsys):
    def made(name, registers):
        one = Run("compared")
        one.time("gpu/matmul/x", 1e-3, 64, registers_per_thread=registers, blocks=4)
        return one.save(tmp_path / name)
    command.main([str(made("a", 96)), str(made("b", 128))])
    assert "registers 96 → 128" in capsys.readouterr().out


# Other harnesses


def google(path, factor=1.0, repetitions=9, **further):
    random = np.random.default_rng(repetitions)
    rows = [{"name": name, "run_name": name, "run_type": "iteration", "repetition_index": i, "threads": 1, "iterations": 100, "time_unit": "us",
             "real_time": float(10 * factor * t), "cpu_time": 9.0}
            for name in ("BM_Copy/1024", "BM_Sort<int>/8/manual_time") for i, t in enumerate(noise(random, repetitions))]
    rows += [{"name": "BM_Copy/1024_mean", "run_name": "BM_Copy/1024", "run_type": "aggregate", "aggregate_name": "mean", "real_time": 1e9, "cpu_time": 1,
              "time_unit": "us", "iterations": 9},
             {"name": "BM_Bad", "run_name": "BM_Bad", "run_type": "iteration", "error_occurred": True, "error_message": "no", "real_time": 0, "cpu_time": 0,
              "time_unit": "ns", "iterations": 0}]
    return write(path, {"context": {"date": "2026-08-02T17:44:46+02:00", "host_name": "pc", "num_cpus": 4, "library_version": "1.9"} | further, "benchmarks": rows})


def test_files_of_google_benchmark(tmp_path, monkeypatch):
    monkeypatch.setattr(comparison, "RECORDED", tmp_path / "none.json")
    made = make([google(tmp_path / "a.json"), google(tmp_path / "b.json", 1.2)], 0.01, given=0.02)
    assert {f.test.pair.name: f.verdict for f in made.findings} == {"BM_Copy/1024": SLOWER, "BM_Sort<int>/8/manual_time": SLOWER}
    assert made.findings[0].test.value == pytest.approx(1 / 1.2, rel=0.01)
    assert [one.reason for one in made.against[0].alone] == ["A and B failed: no"]
    few = make([google(tmp_path / "a.json", repetitions=1), google(tmp_path / "b.json", 1.2, repetitions=1)], 0.01, given=0.02)
    assert {f.code for f in few.findings} == {"few_samples"} and {f.more_samples for f in few.findings} == {5}


def nvbench(folder, factor=1.0, clock=1.8e9, samples=20, name="x"):
    folder.mkdir(parents=True, exist_ok=True)
    times = 1e-4 * factor * noise(np.random.default_rng(samples), samples)
    for kind, values in (("bin", times), ("freqs-bin", [clock] * samples)):
        (folder / f"out.json-{kind}").mkdir(exist_ok=True)
        (folder / f"out.json-{kind}" / "0.bin").write_bytes(pack(f"<{samples}f", *values))
    def summary(tag, kind):
        return {"tag": tag, "data": [{"name": "filename", "type": "string", "value": f"out.json-{kind}/0.bin"}, {"name": "size", "type": "int64", "value": str(samples)}]}
    states = [{"name": "Device=0 BlockSize=2^8", "device": 0, "is_skipped": False, "axis_values": [], "summaries": [
        summary("nv/json/bin:nv/cold/sample_times", "bin"), summary("nv/json/freqs-bin:nv/cold/sample_freqs", "freqs-bin")]},
        {"name": "Device=0 BlockSize=2^9", "is_skipped": True, "skip_reason": "too large", "summaries": None},
        {"name": "Device=0 BlockSize=2^7", "is_skipped": False, "summaries": [{"tag": "nv/cold/time/gpu/mean", "data": [{"name": "value", "type": "float64", "value": "1e-4"}]}]}]
    return write(folder / "out.json", {"devices": [{"id": 0, "name": "NVIDIA Something"}], "benchmarks": [{"name": "copy", "states": states, "axes": None}]})


def test_files_of_nvbench(tmp_path, monkeypatch):
    monkeypatch.setattr(comparison, "RECORDED", tmp_path / "none.json")
    a = nvbench(tmp_path / "a")
    made = make([a, nvbench(tmp_path / "b", 1.2)], 0.01, given=0.02)
    assert [(f.test.pair.name, f.verdict) for f in made.findings] == [("copy/Device=0 BlockSize=2^8", SLOWER)]
    assert {one.reason for one in made.against[0].alone} == {"A and B skipped: too large", "A and B skipped: it has a mean and no samples: run it with --jsonbin"}
    assert make([a, nvbench(tmp_path / "c", 1.2, 1.5e9)], 0.01, given=0.02).findings[0].code == "clock"


def test_samples_outside_of_the_folder_are_not_read(tmp_path, monkeypatch, capsys):
    a = nvbench(tmp_path / "a")
    (tmp_path / "secret.bin").write_bytes(pack("<20f", *[1.0] * 20))
    a.write_text(a.read_text().replace("out.json-bin/0.bin", "../secret.bin"))
    assert command.main([str(a), str(a)]) == 2
    assert "it has no samples" in capsys.readouterr().err


COMPARE = [Path(path) for path in (os.environ.get("GOOGLE_COMPARE", ""), "/usr/share/benchmark/tools/compare.py", "/usr/share/googlebenchmark/tools/compare.py") if path]


@pytest.mark.skipif(not any(path.exists() for path in COMPARE), reason="Google Benchmark's compare.py is not here; GOOGLE_COMPARE names it")
def test_compare_py_reads_our_files(two):
    tool = next(path for path in COMPARE if path.exists())
    paths = two({"one": 1.0, "other": 1.5})
    for path in paths:
        data = json.loads(path.read_text())
        data["context"] |= {"num_cpus": 4, "mhz_per_cpu": 1000, "cpu_scaling_enabled": False, "aslr_enabled": True, "caches": [], "load_avg": []}
        write(path, data)
    done = subprocess.run([sys.executable, tool, "--no-color", "benchmarks", *paths], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert re.search(r"cpu/matmul/other/n:64\s+\+0\.[45]", done.stdout) and "OVERALL_GEOMEAN" in done.stdout


# Output


def test_every_form_of_output(two, tmp_path, capsys):
    paths = [*map(str, two({"slow": 1.05, "same": 1.0, "wide": 1.0}))]
    (tmp_path / "out").mkdir()
    out = tmp_path / "out"
    assert command.main([*paths, "--markdown", "--csv", str(out / "c.csv"), "--undecided", str(out / "u.txt"), "--figure", str(out / "f.svg")]) == 1
    shown = capsys.readouterr().out
    assert "| 🔴 SLOWER | `cpu/matmul/slow/n:64` |" in shown and "<details><summary>2 SAME</summary>" in shown and "Error rates" in shown
    assert (out / "c.csv").read_text().count("\n") == 4 and (out / "u.txt").read_text() == ""
    picture = (out / "f.svg").read_text()
    assert "cpu/matmul/slow/n:64" in picture and "Times as fast: B over A" in picture
    assert command.main([*paths, "--figure", str(out / "f.pdf")]) == 1 and (out / "f.pdf").read_bytes().startswith(b"%PDF")
    assert sorted(p.name for p in out.iterdir()) == ["c.csv", "f.pdf", "f.svg", "u.txt"]


def test_a_figure_of_many_points_has_the_largest_differences(two, tmp_path, monkeypatch):
    from report.compare import figure
    monkeypatch.setattr(figure, "MOST", 2)
    command.main([*map(str, two({"slow": 1.05, "same": 1.0, "fast": 0.8})), "--figure", str(tmp_path / "f.svg")])
    picture = (tmp_path / "f.svg").read_text()
    assert "cpu/matmul/slow" in picture and "cpu/matmul/fast" in picture and "cpu/matmul/same" not in picture and "(2 of 3 points)" in picture


def test_rows_are_chosen(two, capsys):
    paths = [*map(str, two({"slow": 1.05, "same": 1.0, "fast": 0.9}))]
    assert command.main([*paths, "--only", "faster,same"]) == 1
    shown = capsys.readouterr().out
    assert "cpu/matmul/slow" not in shown and "cpu/matmul/fast" in shown and "1 SLOWER" in shown
    assert command.main([*paths, "--only", "slower", "--json"]) == 1
    made = json.loads(capsys.readouterr().out)
    assert [p["point"] for p in made["comparisons"][0]["points"]] == ["cpu/matmul/slow/n:64"] and made["exit"] == 1


def test_the_names_of_undecided_points_are_written(two, tmp_path):
    paths = two({"near": 1.0105, "slow": 1.2}, spread=0.004)
    command.main([*map(str, paths), "--undecided", str(tmp_path / "u.txt")])
    assert (tmp_path / "u.txt").read_text() == "cpu/matmul/near/n:64\n"


# Errors and hostile input


@pytest.mark.parametrize("words, said", (
    ([], "name at least two"), (["nowhere.json"], "no such file"), (["empty.json"], "truncated or not JSON"), (["folder"], "no results"),
    (["list.json"], "neither results of rung nor"), (["other.json"], "no point of it can be compared"), (["newer.json"], "update rung"),
    (["none.json"], "no point of it can be compared")))
def test_an_error_is_one_line_and_code_two(tmp_path, calm, capsys, monkeypatch, words, said):
    monkeypatch.chdir(tmp_path)
    saved(tmp_path, {"cpu/matmul/x": [1e-3] * 8}, "a")
    write(tmp_path / "list.json", [1, 2])
    (tmp_path / "empty.json").write_text("")
    (tmp_path / "folder").mkdir()
    saved(tmp_path, {"cpu/matmul/z": [1e-3] * 8}, "other")
    saved(tmp_path, {}, "none")
    newer = json.loads((tmp_path / "a.json").read_text())
    newer["context"]["schema_version"] = 99
    write(tmp_path / "newer.json", newer)
    assert command.main(["a.json", *words]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and error.startswith("rung compare: ") and said in error, error


@pytest.mark.parametrize("words", (["--tolerance", "0"], ["--tolerance", "x"], ["--only", "regressed"], ["--figure", "x.gif"], ["--json", "--markdown"]))
def test_wrong_usage_gives_code_two(words):
    with pytest.raises(SystemExit) as ended:
        command.main(["a", "b", *words])
    assert ended.value.code == 2


def test_a_file_that_cannot_be_written_gives_code_four(two, tmp_path, capsys):
    assert command.main([*map(str, two({"x": 1.0})), "--csv", str(tmp_path / "no" / "c.csv")]) == 4
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and "cannot be written" in error


def test_names_with_control_characters_and_markup_harm_no_output(tmp_path, calm, capsys):
    name = "\x1b[31mevil|`<script>\u202e@all\n=1+1"
    paths = [saved(tmp_path / side, {"cpu/matmul/x": 1e-3 * noise(np.random.default_rng(i)), f"cpu/matmul/{name.replace('/', '')}": [1e-3] * 8},
                   git_commit="\x1b]0;x\x07|<b>") for i, side in enumerate("ab")]
    for form in ([], ["--markdown"], ["--json"]):
        assert command.main([*map(str, paths), *form, "--csv", str(tmp_path / "c.csv"), "--figure", str(tmp_path / "f.svg")]) == 0
        shown = capsys.readouterr()
        for text in (shown.out, shown.err, (tmp_path / "c.csv").read_text(), (tmp_path / "f.svg").read_text()):
            assert not [c for c in text if ord(c) < 32 and c != "\n" or c in "\x7f\u202e"], form
    markdown = texts.markdown(make(paths, 0.01))
    rows = [line for line in markdown.splitlines() if "evil" in line and line.startswith("|")]
    assert rows and all(re.sub(r"\\\|", "", re.sub(r"`[^`]*`", "", row)).count("|") == 9 for row in rows)
    assert "<script>" not in re.sub(r"`[^`]*`", "", markdown) and "<b" not in markdown


def test_samples_that_are_no_times_are_left_out(tmp_path, calm):
    def made(name):
        one = Run("compared")
        one.time("cpu/matmul/x", 0, 64, times=[1e-3] * 8)
        for bad in (float("nan"), -1.0, 0.0, float("inf"), "1", None):
            one.benchmarks.append(one.benchmarks[0] | {"real_time": bad})
        one.benchmarks += [one.entry("cpu/matmul/y", {"n": 3}, {}) | {"real_time": float("nan")}]
        return one.save(tmp_path / name)
    made_ = make([made("a"), made("b")], 0.01)
    assert [len(f.test.pair.point.times) for f in made_.findings] == [8]
    assert [one.reason for one in made_.against[0].alone] == ["A and B failed: no usable sample"]


@pytest.mark.parametrize("harness", ("rung", "google", "nvbench"))
def test_random_damage_never_gives_a_traceback(tmp_path, calm, capsys, harness):
    random = np.random.default_rng(9)
    good = {"rung": lambda: saved(tmp_path, {"cpu/matmul/x": 1e-3 * noise(random), "gpu/matmul/y": 1e-3 * noise(random)}, "good"),
            "google": lambda: google(tmp_path / "good.json"), "nvbench": lambda: nvbench(tmp_path)}[harness]()
    text = good.read_text()
    values = ["null", "1e999", "-1", '"x"', "[]", "{}", "true", "NaN", "[[1]]"]
    places = [m.span(1) for m in re.finditer(r': ("[^"]*"|[-\d.e+]+|true|false|null)', text)]
    for _ in range(80):
        start, end = places[random.integers(len(places))]
        (tmp_path / "bad.json").write_text(text[:start] + values[random.integers(len(values))] + text[end:])
        assert command.main([str(good), str(tmp_path / "bad.json")]) in (0, 1, 2)
        assert capsys.readouterr().err.count("\n") <= 1


# Recorded results


def test_the_counts_of_two_machines_are_equal(capsys):
    """A laptop's emulator and that next to a GPU count alike: no noise."""
    paths = [next(iter((RECORDED / machine).glob("ratio.json*")), None) for machine in ("nvidia-h100", "nvidia-h200")]
    assert all(paths) and command.main([*map(str, paths)]) == 0
    assert "GREW" not in capsys.readouterr().out


def test_two_gpus_are_compared_as_two_machines(capsys):
    paths = [next(iter((RECORDED / machine).glob("vector_addition.json*"))) for machine in ("nvidia-h100", "nvidia-h200")]
    assert command.main([*map(str, paths), "--only", "faster"]) in (0, 1)
    shown = capsys.readouterr().out
    assert "GPU: A NVIDIA H100 80GB HBM3, B NVIDIA H200" in shown and shown.count("\nFASTER") >= 5


def test_it_is_started_as_a_program(two):
    done = run(*two({"x": 1.0}))
    assert done.returncode == 0 and "1 timed point: 1 UNDECIDED" in done.stdout, done.stderr
    assert run("--help").returncode == 0
