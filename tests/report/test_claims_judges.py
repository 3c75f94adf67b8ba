"""The few claims that a function of their experiment judges, on invented data."""

import pytest
from synthetic import Run
from test_latency import latency
from test_parallelism import parallel
from test_transfers import both_sides, suite

from report.claims import study_claims
from report.claims.entries import load
from report.claims.verdict import UNTESTED
from report.data.collect import collect
from report.experiment import FAILS, HOLDS
from report.sections import module


def judged(folder, run, function):
    """What experiments/NAME.py's function says of this run of NAME."""
    run.save(folder)
    view, = collect([folder], []).views
    return getattr(module.of(view), function)(view)


@pytest.mark.parametrize("off, verdict", [(1.0, HOLDS), (2.0, FAILS)])
def test_littles_law(tmp_path, off, verdict):
    found, evidence = judged(tmp_path, latency(off=off), "little")
    assert found == verdict and "rates up to half of the best ones" in evidence


def test_few_threads_with_several_chains(tmp_path):
    found, evidence = judged(tmp_path, parallel(), "occupancy")
    assert found == HOLDS and "2 warps a multiprocessor with 8 chains in each thread reach" in evidence
    assert judged(tmp_path, parallel(slots=1 / 32, cpu_rate=1), "occupancy")[0] == FAILS


def test_a_block_for_each_multiprocessor(tmp_path):
    assert judged(tmp_path, parallel(), "blocks")[0] == FAILS
    found, evidence = judged(tmp_path, parallel(slots=256), "blocks")
    assert found == HOLDS and evidence.startswith("10 blocks, one on each multiprocessor, reach 50")
    assert "one more" not in judged(tmp_path, parallel(waves=False), "blocks")[1]


def test_copies_that_pay_and_do_not(tmp_path):
    assert judged(tmp_path, suite(), "one_to_one")[0] == HOLDS and judged(tmp_path, suite(), "minimise")[0] == HOLDS


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
    assert found[0] == verdict and "the order farthest from 2" in found[1]
