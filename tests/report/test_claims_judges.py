"""The few claims that a function of their experiment judges, on invented data."""

import pytest
from synthetic import Run
from test_latency import latency
from test_parallelism import parallel
from test_transfers import both_sides, suite

from report.claims import study_claims
from report.claims.data import Machine
from report.claims.entries import load
from report.claims.judgement import Judged
from report.claims.verdict import FAILS, HOLDS, IN_PART, UNDECIDED, UNTESTED, of_judge
from report.data.collect import collect
from report.sections import module


def judged(folder, run, function):
    """The finding by experiments/NAME.py's function on this run of NAME; None where it has nothing to judge by."""
    run.save(folder)
    view, = collect([folder], []).views
    told = getattr(module.of(view), function)(view)
    assert told is None or isinstance(told, Judged)
    claim = next(e for e in load().values() if e.judge.endswith(f".{function}"))
    return told and of_judge(claim, Machine("here"), told, {})


def little_gain(gpu, count=12, of_gpu=None):
    """Sizes with the ratio of the GPU's time to the CPU's; copies take a tenth of the GPU's time."""
    run = Run("crossover", problems={"heat": {"title": "Heat", "metric": {"key": "gbytes_per_s", "unit": "GB/s"}, "size_names": ["n"]}})
    for side, by_size in (("cpu", dict.fromkeys(gpu, 1.0)), ("gpu", gpu)):
        kernel = run.kernel(f"{side}/heat/best")
        for n, factor in by_size.items():
            times = [1e-3 * factor * f for f in of_gpu] if of_gpu and side == "gpu" and n == max(gpu) else None
            run.time(kernel, 1e-3 * factor, {"n": n}, times=times, count=count, bytes_min=4 * n, transfer_seconds=1e-4)
    return run


def test_the_intervals_decide_and_what_does_not_hold_is_named(tmp_path):
    found = judged(tmp_path, little_gain({32: 0.8, 64: 1.02, 128: 1.8, 256: 1.9, 500: 3, 512: 1.1}, of_gpu=[0.8, 1.2] * 6), "minimise")
    assert (found.verdict, found.words) == (IN_PART, "holds for 1 of 4 cases, does not hold here for heat (N\u00a0=\u00a0128 and 256), undecided for 1")
    assert found.kernels == "gpu/heat/best and cpu/heat/best" and [c["verdict"] for c in found.cases].count(UNDECIDED) == 1


def test_what_has_no_interval_is_undecided(tmp_path):
    run = little_gain({64: 1.02, 128: 1.02})
    for seconds, side in ((1e-3, "cpu"), (1.8e-3, "gpu")):
        run.time(f"{side}/heat/best", seconds, {"n": 256}, count=1, bytes_min=1024, transfer_seconds=1e-4)
    found = judged(tmp_path, run, "minimise")
    assert (found.verdict, found.words) == (IN_PART, "holds for 2 of 3 cases, undecided for 1")
    assert "1 case has too few samples for an interval; the medians of 1 are against it" in found.why
    found = judged(tmp_path / "few", little_gain({64: 1.8}, count=1), "minimise")
    assert found.verdict == UNDECIDED and "1 case has too few samples" in found.why


@pytest.mark.parametrize("off, verdict", [(1.0, HOLDS), (2.0, FAILS)])
def test_littles_law(tmp_path, off, verdict):
    found = judged(tmp_path, latency(off=off), "little")
    assert found.verdict == verdict and "ates up to half of the best rate" in found.why


def test_few_threads_with_several_chains(tmp_path):
    found = judged(tmp_path, parallel(), "occupancy")
    assert found.verdict == HOLDS and "2 warps per multiprocessor with 8 chains per thread reach" in found.why
    assert judged(tmp_path, parallel(slots=1 / 32, cpu_rate=1), "occupancy").verdict == FAILS


def test_a_block_for_each_multiprocessor(tmp_path):
    both = judged(tmp_path, parallel(), "blocks")  # blocks that keep a multiprocessor busy, and blocks that are resident in pairs
    assert both.verdict == IN_PART and both.why.count("one on each multiprocessor") == 2
    found = judged(tmp_path, parallel(slots=256), "blocks")
    assert found.verdict == HOLDS and "one on each multiprocessor, reach 50" in found.why
    assert "one more" not in judged(tmp_path, parallel(waves=False), "blocks").why


def test_copies_that_pay_and_do_not(tmp_path):
    assert judged(tmp_path, suite(), "one_to_one").verdict == HOLDS and judged(tmp_path, suite(), "minimise").verdict == HOLDS


def test_nothing_to_judge_by(tmp_path):
    run = Run("crossover")
    both_sides(run, "matmul", lambda n: n * 1e-8, lambda n: 1e-5, None, (100, 10_000))
    assert judged(tmp_path, run, "one_to_one") is judged(tmp_path, run, "minimise") is None
    for function in ("occupancy", "blocks"):
        assert judged(tmp_path / "b", parallel(gpu=False), function) is None


def test_what_cannot_be_judged_is_a_fault(tmp_path):
    run = parallel()
    for point in run.benchmarks:
        point["sizes"].pop("each", None)
    run.save(tmp_path)
    claim = next(e for e in load().values() if e.judge == "parallelism.occupancy")
    found, = study_claims.findings(collect([tmp_path], []), [claim])
    assert found.verdict == UNTESTED and "KeyError: 'each'" in found.fault


@pytest.mark.parametrize("power, verdict", [(2, HOLDS), (1, FAILS)])
def test_the_order_of_the_heat_equation(tmp_path, power, verdict):
    run = Run("heat", problems={"heat": {"title": "Heat", "metric": {"key": "cells_per_s", "unit": "cell/s"}, "size_names": ["n", "steps"]}})
    for n, steps in ((15, 50), (31, 200), (63, 800), (127, 3200)):
        run.time("gpu/heat/naive", 1e-3, {"n": n, "steps": steps, "permille": 250}, {}, data="sine", cells_per_s=1e9,
                 judged={"sine_error": (1 / (n + 1)) ** power, "rounding_error": 1e-9})
    found = judged(tmp_path, run, "second_order")
    assert found.verdict == verdict and "the order farthest from 2" in found.why
