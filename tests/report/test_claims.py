"""Claims on invented machines: each verdict, by case and machine, what is missing and what measures it."""

import json
import math
import re
from random import Random
from statistics import median
from types import SimpleNamespace

import pytest
from synthetic import GPU, Run, write

from report.claims import command, entries, literature, verdict
from report.claims import model as calculators
from report.claims.data import Data
from report.claims.judgement import Judged, One
from report.claims.model import Unknown
from report.claims.said_of import key
from report.claims.values import Fault, compare, exact
from report.claims.verdict import (
    ERRATUM,
    FAILS,
    HOLDS,
    IN_PART,
    OF_ITS_OWN,
    UNDECIDED,
    UNTESTED,
    bare,
    counts,
    figure,
    limit,
    stated,
    threshold,
)
from report.data.collect import find
from report.data.load import load
from report.data.reading import InputError
from report.data.statistics import MISS, median_interval
from report.sections.literature import of_experiment, summary

LIMITS = {"Old": 512, GPU: 1024}


class KnownModel:
    """A model that has the threads per block of two devices."""

    devices = {"Old": {"aliases": ["Older"], "compute_capability": "1.0"}}

    def names(self, name):
        return frozenset((key(name),))

    def value(self, call, gpu=None):
        if (gpu or call.subject) not in LIMITS:
            raise Unknown("the device is unknown")
        if call.field != "threads":
            raise Fault("no such field")
        return float(LIMITS[gpu or call.subject])


@pytest.fixture(autouse=True)
def known(monkeypatch):
    monkeypatch.setattr(calculators, "load", KnownModel)
    monkeypatch.setattr(entries, "kernels", frozenset)
    monkeypatch.setattr(entries, "_snippets", lambda: {"good", "bad", "other"})
    monkeypatch.setattr(verdict, "what_counts", lambda kernel, key: "")


def claims(folder, *runs, companions=(), judged_by=lambda entry, machine: None, **keys):
    """The findings of one claim with these keys on these runs."""
    lines = [f"{k} = {v if not isinstance(v, str) or v.startswith(('{', '[')) else json.dumps(v)}" for k, v in keys.items()]
    file = write_text(folder / "claims.toml", "\n".join(['[one]', 'source = "williams2009"', 'text = "It is so"', 'experiment = "ratio"', *lines]))
    (folder / "in").mkdir(exist_ok=True)
    for i, run in enumerate(runs):
        run.save(folder / "in", f"{i}")
    for name, data in companions:
        write(folder / "in" / name, data)
    found = find([folder / "in"])
    return literature.findings(entries.load(file).values(), Data(tuple(found.runs), tuple(found.counters), tuple(found.hazards), tuple(found.compilers),
                                                                     tuple(found.wrong_results)),
                               judged_by)


def write_text(path, text):
    path.write_text(text, encoding="utf-8")
    return path


def products(rates, experiment="ratio", mode="hot", count=12, **context):
    """Products by kernel and size: {"naive": {64: 100}}; GFLOP/s."""
    run = Run(experiment, **context)
    for name, by_size in rates.items():
        for n, rate in by_size.items():
            run.rate(f"gpu/matmul/{name}", rate, n, interleaved_with=2, count=count, mode=mode)
    return run


GAIN = "rate(gpu/matmul/tiled, n=n) / rate(gpu/matmul/naive, n=n)"


@pytest.mark.parametrize("keys, verdict", [
    ({"stated": 128, "modelled": "32 * 1024 / 256"}, HOLDS),
    ({"stated": 132, "modelled": "32 * 1024 / 256", "otherwise": "erratum"}, ERRATUM),
    ({"stated": 132, "modelled": "32 * 1024 / 256"}, FAILS),
    ({"stated": 130, "modelled": "128", "tolerance": 0.02}, HOLDS),
    ({"stated": 128, "modelled": "130", "rule": "at_most"}, FAILS),
    ({"stated": 128, "modelled": "130", "rule": "at_least"}, HOLDS),
    ({"modelled": "1 < 2 and not 2 < 1"}, HOLDS),
    ({"untested": "nobody knows"}, UNTESTED)])
def test_what_depends_on_no_machine(tmp_path, keys, verdict):
    found, = claims(tmp_path, products({"naive": {64: 100}}), **keys)
    assert found.verdict == verdict and found.machine == ("" if "untested" in keys else "any")
    assert ("untested" not in keys) or found.why == "Nobody knows."


@pytest.mark.parametrize("stated, device, said_of, verdict", [
    (512, "Old", "Old", OF_ITS_OWN), (1024, GPU, GPU, HOLDS), (500, "Old", "Old", ERRATUM), (500, GPU, GPU, FAILS)])
def test_a_claim_of_another_device(tmp_path, stated, device, said_of, verdict):
    found, = claims(tmp_path, products({"naive": {64: 100}}), stated=stated, said_of=said_of, modelled=f'occupancy("{device}").threads')
    assert found.verdict == verdict and found.modelled == str(LIMITS[device])
    assert ("the model gives 1024" in found.why) == (verdict == OF_ITS_OWN)


@pytest.mark.parametrize("said_of", ("Old", "before Fermi", "early GPUs", "2010", "CUDA before 3.1", "GPUs with a display"))
def test_what_was_said_of_other_machines_never_fails_here(tmp_path, said_of):
    """With or without `modelled`, the verdict is not about the measured machine."""
    run = products({"naive": {64: 100}, "tiled": {64: 50}}, gpu_threads=1024, gpu_compute_capability_major=9, gpu_compute_capability_minor=0,
                   gpu_cuda_runtime="13.0")
    keys = {"stated": 512, "said_of": said_of, "measured": "context(gpu_threads)"}
    found, = claims(tmp_path, run, **keys, modelled="500 + 12")
    assert (found.verdict, found.measured) == (OF_ITS_OWN, "1024")
    found, = claims(tmp_path, run, **keys)
    assert (found.verdict, found.measured) == (UNTESTED, "1024") and found.why == f"Said of: {said_of}; here ({GPU}): measured 1024."
    for more in ({"measured": GAIN.replace(", n=n", "") + " > 1"}, {"measured": "not run(gpu/matmul/naive, n=64).is_right"}, {"counted": "1 > 2"}):
        assert claims(tmp_path, run, said_of=said_of, **more)[0].verdict == UNTESTED
    assert claims(tmp_path, run, **keys, modelled="513", otherwise="erratum")[0].verdict == ERRATUM
    assert claims(tmp_path, run, **{k: v for k, v in keys.items() if k != "said_of"})[0].verdict == FAILS


@pytest.mark.parametrize("said_of", (GPU, "Hopper", "compute capability 9.0", "compute capability 9.x", "Fermi and later", "2024", "CUDA 13.0", "CUDA 3.1 and later"))
def test_what_was_said_of_the_machine_at_hand_may_fail_here(tmp_path, said_of):
    run = products({"naive": {64: 100}}, gpu_threads=1024, gpu_compute_capability_major=9, gpu_compute_capability_minor=0, gpu_cuda_runtime="13.0")
    assert claims(tmp_path, run, stated=512, said_of=said_of, measured="context(gpu_threads)")[0].verdict == FAILS
    assert claims(tmp_path, run, stated=1024, said_of=said_of, measured="context(gpu_threads)")[0].verdict == HOLDS


def test_the_emulator_and_the_compilers_are_of_today(tmp_path):
    """Without a machine, kernels are counted and compiled for compute capability 9.0."""
    told = {"good": {"compiles": True, "compiler": "nvcc 13.0.88"}}
    extra = [("compilers.json", {"date": "2026-01-01", "snippets": told})]
    for said_of, verdict in (("Volta and later", FAILS), ("before Volta", UNTESTED), ("before CUDA 3.1", UNTESTED), ("CUDA 4.0 and later", FAILS)):
        assert claims(tmp_path, products({"naive": {64: 100}}), companions=extra, said_of=said_of, measured="not compiles(good)")[0].verdict == verdict


def test_a_limit_of_ours_is_not_stated(tmp_path):
    run = products({"naive": {64: 100}, "tiled": {64: 110}})
    keys = {"threshold": 1.2, "rule": "at_least", "unit": "times", "measured": "rate(gpu/matmul/tiled) / rate(gpu/matmul/naive)"}
    found, = claims(tmp_path, run, **keys)
    assert found.verdict == FAILS and (stated(found.entry), threshold(found.entry)) == ("", "≥\u202f1.2×")
    assert found.why == "Measured 1.1×, not ≥\u202f1.2×."
    found, = claims(tmp_path, run, **keys, stated=16)
    assert found.verdict == FAILS and (stated(found.entry), threshold(found.entry)) == ("16×", "≥\u202f1.2×")


def test_one_expression_may_decide(tmp_path):
    """Counters decide about accesses, times about practice; the other kinds are shown."""
    keys = {"stated": 16, "modelled": "15", "counted": "2 * 8", "measured": "1 + 1"}
    assert claims(tmp_path, products({"naive": {64: 100}}), **keys)[0].verdict == FAILS
    found, = claims(tmp_path, products({"naive": {64: 100}}), **keys, decides="counted")
    assert (found.verdict, found.modelled, found.measured) == (HOLDS, "15", "2")
    assert claims(tmp_path, products({"naive": {64: 100}}), **keys, decides="measured")[0].verdict == FAILS


def test_a_device_that_no_catalogue_has(tmp_path):
    found, = claims(tmp_path, products({"naive": {64: 100}}, gpu_name="Synthetic other GPU"), stated=512, said_of="Old",
                    modelled="occupancy(Old).threads")
    assert found.verdict == OF_ITS_OWN


@pytest.mark.parametrize("tiled, words, verdict", [
    ({64: 300, 128: 300, 256: 300, 512: 300}, "holds", HOLDS),
    ({64: 100, 128: 100, 256: 100, 512: 100}, "does not hold here", FAILS),
    ({64: 300, 128: 300, 256: 150, 512: 150}, "holds up to n = 128, does not hold here from n = 256", IN_PART),
    ({64: 300, 128: 150, 256: 300, 512: 150}, "holds for n = 64 and 256, does not hold here for n = 128 and 512", IN_PART)])
def test_sizes_are_cases_of_their_own(tmp_path, tiled, words, verdict):
    run = products({"naive": dict.fromkeys(tiled, 100), "tiled": tiled})
    found, = claims(tmp_path, run, stated=2, rule="at_least", unit="times", cases='{ n = "all" }', measured=GAIN)
    assert (found.verdict, found.words) == (verdict, words) and len(found.cases) == 4


def test_hot_and_cold_are_told_apart(tmp_path):
    hot, cold = (products({"naive": {64: 100}, "tiled": {64: gain}}, mode=mode) for mode, gain in (("hot", 100), ("cold", 300)))
    for entry in cold.benchmarks:
        entry["name"] = entry["run_name"] = entry["name"] + "/mode:cold"
    hot.benchmarks += cold.benchmarks
    measured = "rate(gpu/matmul/tiled, mode=mode) / rate(gpu/matmul/naive, mode=mode)"
    found, = claims(tmp_path, hot, stated=2, rule="at_least", cases='{ mode = ["hot", "cold"] }', measured=measured)
    assert found.words == "holds for mode cold, does not hold here for mode hot"


def test_the_largest_size_that_is_there(tmp_path):
    run = products({"naive": {64: 100, 128: 100, 256: 100}, "tiled": {64: 100, 128: 300}})
    found, = claims(tmp_path, run, stated=2, rule="at_least", cases='{ n = "largest" }', measured=GAIN)
    assert found.verdict == HOLDS and found.cases[0]["n"] == 128


def test_tables_of_cases_go_in_step(tmp_path):
    run = products({"naive": {64: 100, 128: 100}, "tiled": {64: 100, 128: 200}})
    found, = claims(tmp_path, run, cases="[{ n = 64, gain = 1 }, { n = 128, gain = 2 }]",
                    measured="rate(gpu/matmul/tiled, n=n) / rate(gpu/matmul/naive, n=n) > 0.9 * gain")
    assert found.verdict == HOLDS and len(found.cases) == 2


SPEEDUP = "rate(gpu/matmul/tiled) / rate(gpu/matmul/naive)"


def spread(rate, apart, count=12):
    """Two kernels that are not interleaved. The second has this rate; samples of both have the same scatter."""
    run, random = Run("ratio"), Random(2)
    for name, gflops in (("naive", 100), ("tiled", rate)):
        factors = [math.exp(random.gauss(0, apart)) for _ in range(count)]
        factors = [f / median(factors) for f in factors]
        run.rate(f"gpu/matmul/{name}", gflops, 64, times=[2 * 64**3 / gflops / 1e9 * f for f in factors])
    return run


@pytest.mark.parametrize("rate, keys, verdict", [
    (100.5, {"stated": 1, "tolerance": 0.02}, HOLDS), (100.5, {"stated": 1, "tolerance": 0.001}, FAILS),
    (97, {"stated": 1, "tolerance": 0.02}, FAILS), (98, {"stated": 1, "tolerance": 0.02}, UNDECIDED),
    (77.4, {"threshold": 0.8, "rule": "at_least", "tolerance": 0.02}, FAILS), (79, {"threshold": 0.8, "rule": "at_least", "tolerance": 0.02}, HOLDS),
    (78.4, {"threshold": 0.8, "rule": "at_least", "tolerance": 0.02}, UNDECIDED), (77.4, {"threshold": 0.784, "rule": "at_most"}, HOLDS)])
def test_an_interval_inside_holds_and_one_outside_does_not(tmp_path, rate, keys, verdict):
    """Also near 1: a limit may be nearer to the value than the smallest difference by which a code is called faster."""
    found, = claims(tmp_path, spread(rate, 0.001), measured=SPEEDUP, **keys)
    assert (found.verdict, found.words) == (verdict, verdict)


@pytest.mark.parametrize("rate, verdicts", [(100, (FAILS, HOLDS)), (100.5, (FAILS, HOLDS)), (97, (FAILS, FAILS)), (104, (HOLDS, HOLDS)), (98.8, (FAILS, HOLDS))])
def test_codes_that_are_equal_are_not_faster(tmp_path, rate, verdicts):
    """Two codes that are not interleaved differ from 2 % on: one that is faster by less counts neither as faster nor as slower."""
    for sign, verdict in zip((">", ">="), verdicts):
        found, = claims(tmp_path, spread(rate, 0.001), measured=f"rate(gpu/matmul/tiled) {sign} rate(gpu/matmul/naive)")
        assert found.verdict == verdict
    found, = claims(tmp_path, spread(rate, 0.001), stated=1, rule="at_least", measured=SPEEDUP)
    assert found.verdict == verdicts[1]


def test_in_turns_half_a_percent_is_told(tmp_path):
    run = products({"naive": {64: 100}, "tiled": {64: 101}})
    assert claims(tmp_path, run, measured=f"{SPEEDUP} > 1")[0].verdict == HOLDS
    assert claims(tmp_path, products({"naive": {64: 100}, "tiled": {64: 100.3}}), measured=f"{SPEEDUP} > 1")[0].verdict == FAILS


def test_what_is_undecided_is_told_with_the_samples_that_would_decide(tmp_path):
    keys = {"threshold": 1.2, "rule": "at_least", "measured": SPEEDUP}
    found, = claims(tmp_path, spread(122, 0.05), **keys)
    told = re.fullmatch(r"The limit lies within the interval of 12 samples \(.+ at 95.%, since all comparisons of an experiment are decided together\): "
                        r"about (\d+) more of each would decide.", found.why)
    assert found.verdict == UNDECIDED and found.cases[0]["more_samples"] == int(told[1]) and 20 < int(told[1]) < 2000
    assert claims(tmp_path, spread(122, 0.05, 12 + 4 * int(told[1])), **keys)[0].verdict == HOLDS
    found, = claims(tmp_path, spread(122, 0.001, 3), **keys)
    assert found.verdict == UNDECIDED and found.why == "3 samples of each are too few: at least 3 more."
    found, = claims(tmp_path, spread(120.0001, 0.05), **keys)
    assert found.why.startswith("The limit lies within the interval of 12 samples (") and found.why.endswith(": not even 10\u202f000 would decide.") and found.cases[0]["more_samples"] is None


def test_a_case_that_is_undecided_is_named(tmp_path):
    """They are not left out of 'holds'."""
    run = products({"naive": dict.fromkeys((64, 128, 256), 100), "tiled": {64: 119.9, 128: 300, 256: 300}})
    run.benchmarks = [b | {"real_time": b["real_time"] * (1 + 0.02 * math.sin(i))} for i, b in enumerate(run.benchmarks)]
    found, = claims(tmp_path, run, threshold=1.2, rule="at_least", cases='{ n = "all" }', measured=GAIN)
    assert (found.verdict, found.words) == (IN_PART, "holds from n = 128, undecided for n = 64")
    assert found.why.startswith("The limit lies within the interval of 12 samples")
    found, = claims(tmp_path, run, threshold=1.2, rule="at_least", cases="{ n = [128, 512] }", measured=GAIN)
    assert (found.verdict, found.words) == (IN_PART, "holds for n = 128, not tested for n = 512")
    found, = claims(tmp_path, run, threshold=4, rule="at_least", cases="{ n = [128, 512] }", measured=GAIN)
    assert (found.verdict, found.words) == (FAILS, "does not hold here for n = 128, not tested for n = 512")


def test_many_comparisons_need_clearer_ones(tmp_path):
    """None of 500 equal claims is decided, although one alone would be."""
    run = spread(102.5, 0.01)
    sizes = {"cases": "{ limit = [" + ", ".join(f"{0.5 + i / 1000}" for i in range(500)) + "] }"}
    alone, = claims(tmp_path, run, measured=f"{SPEEDUP} > 1.008")
    among, = claims(tmp_path, run, measured=f"{SPEEDUP} > 1.008 or {SPEEDUP} < limit", **sizes)
    assert (alone.verdict, among.verdict) == (HOLDS, UNDECIDED)


def test_two_hundred_claims_that_are_all_so_are_not_called_wrong(tmp_path):
    """The true number lies at the edge of what is accepted in each of them: with 95 % no verdict is of the wrong side."""
    random, wrong = Random(7), 0
    for _ in range(20):
        judged = {i: MISS / 40 for i in range(40)}
        for i in judged:
            samples = [math.exp(random.gauss(0, 0.03)) for _ in range(12)]
            low, high = median_interval(samples, judged[i])
            wrong += low > 1 or high < 1
    assert wrong <= 3


def test_missing_points_are_named_with_what_measures_them(tmp_path):
    keys = {"measured": "rate(gpu/matmul/tiled, n=128) > 1"}
    found, = claims(tmp_path, products({"naive": {64: 100}}, "other"), **keys)
    assert found.verdict == UNTESTED and found.why == "No point of gpu/matmul/tiled, n=128: rung run ratio --full measures it."
    found, = claims(tmp_path, products({"naive": {64: 100}}, study="brief"), **keys)
    assert "in the brief study: rung run ratio --full" in found.why
    found, = claims(tmp_path, products({"naive": {64: 100}}), **keys)
    assert found.why.endswith("in the recorded run of ratio: rung run ratio --full measures it again.")
    for expression, what in (("counters(gpu/matmul/naive).ffma", "experiments/profile.sh reads them"), ("context(gpu_warp_size)", "a new run has it"),
                             ("fault(no_such_fault)", "no_such_fault"), ("run(gpu/matmul/naive).no_field", "field no_field of gpu/matmul/naive")):
        assert what in claims(tmp_path, products({"naive": {64: 100}}), measured=f"{expression} > 1")[0].why


def test_further_reasons_are_counted_by_their_kind(tmp_path):
    """What is not like the first reason is not counted with those that are."""
    both = "rate(gpu/matmul/tiled, n=128) > rate(gpu/matmul/cublas, n=128)"
    found, = claims(tmp_path, products({"naive": {64: 100}}, "other"), measured=both)
    assert found.why.endswith("measures it (1 further point is missing).")
    found, = claims(tmp_path, products({"naive": {64: 100}}, "other"), measured=both, said_of="CUDA 1.0")
    assert found.why == "Said of: CUDA 1.0 (2 points are missing)."
    found, = claims(tmp_path, products({"naive": {64: 100}}), measured=f"{both} and counters(gpu/matmul/naive).ffma > 1 and fault(a) and fault(b)")
    assert found.why.endswith("again (1 further point is missing, 1 point is without hardware counters and 2 planted faults are missing).")


def test_machines_stand_side_by_side(tmp_path):
    one, two = (products({"naive": {64: 100}, "tiled": {64: gain}}, gpu_name=f"Synthetic {name}", gpu_uuid=f"GPU-{name}")
                for name, gain in (("A", 300), ("B", 150)))
    keys = {"stated": 2, "rule": "at_least", "unit": "times", "measured": "rate(gpu/matmul/tiled) / rate(gpu/matmul/naive)"}
    found = claims(tmp_path, one, two, **keys)
    assert {f.machine: f.verdict for f in found} == {"Synthetic A": HOLDS, "Synthetic B": FAILS}
    found, = claims(tmp_path, one, two, **keys | {"stated": 1, "rule": "true", "measured": "run(gpu/matmul/tiled).max_error_ratio <= 1"})
    assert found.machine in ("Synthetic A, Synthetic B", "Synthetic B, Synthetic A")


def test_a_machine_without_data_is_named_after_those_with_some(tmp_path):
    one, two = (products(rates, gpu_name=f"Synthetic {name}", gpu_uuid=f"GPU-{name}")
                for name, rates in (("A", {"naive": {64: 100}}), ("B", {"naive": {64: 100}, "tiled": {64: 300}})))
    keys = {"stated": 2, "rule": "at_least", "unit": "times", "measured": "rate(gpu/matmul/tiled) / rate(gpu/matmul/naive)"}
    first, last = claims(tmp_path, one, two, **keys)
    assert (first.machine, first.verdict) == ("Synthetic B", HOLDS)
    assert (last.machine, last.verdict, last.measured) == ("Synthetic A", UNTESTED, "")
    assert "No point of gpu/matmul/tiled" in last.why
    (tmp_path / "in" / "1.json").unlink()
    found, = claims(tmp_path, one, **keys)
    assert (found.machine, found.verdict) == ("", UNTESTED)


def test_what_a_kernel_is_launched_with_is_the_same_on_any_machine(tmp_path):
    run = products({"naive": {64: 100}})
    run.benchmarks = [b | {"blocks": 16, "local_bytes_per_thread": 8} for b in run.benchmarks]
    found, = claims(tmp_path, run, stated=16, unit="blocks", counted="run(gpu/matmul/naive, n=64).blocks")
    assert (found.verdict, found.machine, found.counted) == (HOLDS, "any", "16\u00a0blocks")
    found, = claims(tmp_path, run, stated=8, unit="B", compiled="run(gpu/matmul/naive, n=64).local_bytes_per_thread")
    assert (found.verdict, found.machine, found.compiled) == (HOLDS, GPU, "8\u00a0B")


def test_a_cpu_is_named_and_no_other_stands_in(tmp_path):
    """A GPU is compared with its own host's CPU; with another one only where that was not timed, and by name."""
    def host(with_cpu):
        run = products({"naive": {64: 100}}, cpu_name="Synthetic host")
        if with_cpu:
            run.rate("cpu/matmul/naive", 10, 64)
        return run
    alone = Run("ratio", gpu_name="", gpu_uuid="", cpu_name="Synthetic laptop")
    alone.rate("cpu/matmul/naive", 80, 64)
    keys = {"threshold": 5, "rule": "at_least", "unit": "times", "measured": "rate(gpu/matmul/naive) / rate(cpu/matmul/naive)"}
    for with_cpu, name, told in ((True, "Synthetic host", (HOLDS, "10×")), (False, "Synthetic laptop", (FAILS, "1.25×"))):
        found, = claims(tmp_path, alone, host(with_cpu), **keys)
        assert (found.machine, found.verdict, found.measured) == (f"{GPU} with {name}, 4 cores", *told)
        assert found.names == ({GPU, f"{name}, 4 cores"},)
    found, = claims(tmp_path, alone, host(True), measured="run(cpu/matmul/naive).max_error_ratio <= 1")
    assert set(found.machine.split("; ")) == {"Synthetic host, 4 cores", "Synthetic laptop, 4 cores"}


def test_a_section_shows_the_verdicts_of_its_own_machines(tmp_path):
    """Of two CPUs, the one in the section's figures counts, not the one that was measured first."""
    found = []
    for name, rate in (("recorded", 10), ("live", 80)):
        run = Run("ratio", gpu_name="", gpu_uuid="", cpu_name=f"Synthetic {name}")
        run.rate("cpu/matmul/naive", rate, 64)
        found.append(run)
    told = claims(tmp_path, *found, threshold=50, rule="at_least", measured="rate(cpu/matmul/naive)")
    assert len(told) == 2
    for name, verdict in (("recorded", FAILS), ("live", HOLDS), ("other", None)):
        part = SimpleNamespace(side="cpu", machine=SimpleNamespace(label=f"Synthetic {name}, 4 cores"))
        shown, = of_experiment(told, SimpleNamespace(name="ratio", timed_parts=[part]))
        assert [f.verdict for f in shown] == ([verdict] if verdict else [f.verdict for f in told])


def test_the_kernels_are_named_with_the_tunables_that_were_taken(tmp_path):
    """A rate that leaves a tunable open takes the fastest, and says so."""
    run = Run("ratio")
    for block, rate in (("16x16", 90), ("32x8", 60)):
        run.rate("gpu/matmul/naive", rate, 64, tunables={"block": block})
    for n in (64, 128):
        run.rate("gpu/matmul/tiled", 300, n, tunables={"tile": 16, "stages": 2})
    found, = claims(tmp_path, run, measured="rate(gpu/matmul/tiled, n=64) > 2 * rate(gpu/matmul/naive, n=64)")
    assert found.kernels == "gpu/matmul/tiled (tile 16, stages 2); gpu/matmul/naive (block 16x16)"
    assert found.cases[0]["points"] == ["gpu/matmul/tiled/tile:16/stages:2/n:64", "gpu/matmul/naive/block:16x16/n:64"]
    found, = claims(tmp_path, run, cases='{ block = "all" }', measured="rate(gpu/matmul/naive, block=block) > 1")
    assert found.kernels == "gpu/matmul/naive"


def test_a_roof_is_the_best_of_its_board(tmp_path):
    """Of all runs, whatever their experiment; another board of the model has its own."""
    runs = []
    for name, peak, uuid in (("ratio", 900, "GPU-A"), ("other", 1000, "GPU-A"), ("more", 1200, "GPU-B")):
        run = Run(name, gpu_uuid=uuid)
        run.kernel("gpu/fma/fp32", ceiling={"label": "FP32", "is_bandwidth": False})
        run.rate("gpu/fma/fp32", peak, 64)
        runs.append(run)
    runs[0].rate("gpu/matmul/naive", 500, 64)
    found, = claims(tmp_path, *runs, threshold=0.55, rule="at_most", unit="share", measured="rate(gpu/matmul/naive) / rate(gpu/fma/fp32)")
    assert (found.verdict, found.measured) == (HOLDS, "50\u00a0%")


def test_both_codes_of_a_claim_are_of_one_host(tmp_path):
    """Which the board of its GPU names: the newer run of another host of the same kind has the GPU's code alone, or both of
    another ratio; and where no host has both, there is no ratio."""
    def run(date, uuid, gpu, cpu=None):
        made = Run("ratio", gpu_uuid=uuid, date=f"2026-01-{date}T00:00:00Z")
        made.rate("gpu/matmul/naive", gpu, 64)
        if cpu:
            made.rate("cpu/matmul/naive", cpu, 64)
        return made
    keys = {"threshold": 5, "rule": "at_least", "unit": "times", "measured": "rate(gpu/matmul/naive) / rate(cpu/matmul/naive)"}
    only = Run("ratio", gpu_uuid="GPU-C", date="2026-01-05T00:00:00Z")
    only.rate("cpu/matmul/naive", 50, 64)
    for number, (runs, measured) in enumerate((
            ((run("01", "GPU-A", 100, 10), run("02", "GPU-B", 300)), "10×"),
            ((run("01", "GPU-A", 100, 10), run("03", "GPU-B", 300, 50), run("04", "GPU-A", 100)), "10×"),
            ((run("01", "GPU-A", 100), only), ""))):
        folder = tmp_path / str(number)
        folder.mkdir()
        found, = claims(folder, *runs, **keys)
        assert found.measured == measured and bool(measured) == (found.verdict != UNTESTED), found


def test_a_roof_of_the_kernels_own_run_decides(tmp_path):
    """Numbers of two runs are as far apart as runs are, unless both runs measured the roof and it was the same; and no number
    of samples is promised for what runs differ by."""
    def found(own):
        runs = [Run("ratio", gpu_uuid="GPU-A"), Run("other", gpu_uuid="GPU-A")]
        for run, peak in zip(runs, (own, 1000)):
            run.kernel("gpu/fma/fp32", ceiling={"label": "FP32", "is_bandwidth": False})
            if peak:
                run.rate("gpu/fma/fp32", peak, 64)
        runs[0].rate("gpu/matmul/naive", 500, 64)
        return claims(tmp_path, *runs, threshold=0.51, rule="at_most", unit="share", measured="rate(gpu/matmul/naive) / rate(gpu/fma/fp32)")[0]
    assert found(999).verdict == HOLDS
    apart = found(None)
    assert apart.verdict == UNDECIDED
    assert "would have to be of one run" in str(apart.reasons if hasattr(apart, "reasons") else apart)


def test_the_gpu_at_hand(tmp_path):
    keys = {"stated": 1024, "measured": "occupancy(here).threads"}
    assert claims(tmp_path, products({"naive": {64: 100}}), **keys)[0].verdict == HOLDS
    run = Run("ratio", gpu_name="")
    run.rate("cpu/matmul/naive", 1.0)
    (tmp_path / "c").mkdir()
    found, = claims(tmp_path / "c", run, **keys)
    assert found.verdict == UNTESTED and found.why == "No GPU was measured." and not found.fault


def test_counts_faults_and_counters(tmp_path):
    run = products({"naive": {64: 100}})
    run.count("gpu/matmul/naive", 64, {}, flops_executed=512, bytes_executed_loaded=2048)
    verdicts = {"race": {"emulator": {"found": True}}, "race_right": {"emulator": {"found": False}, "is_right": True}}
    extra = [("hazards.json", {"tool": "the emulator", "machine": "any", "date": "2026-01-01", "kernels": verdicts}),
             ("counters.json", {"tool": "ncu", "machine": GPU, "date": "2026-01-01", "points": {"gpu/matmul/naive/n:64": {"dram_bytes": 7.0}}})]
    assert claims(tmp_path, run, companions=extra, stated=0.25, unit="OP/B",
                  counted="count(gpu/matmul/naive, n=64).flops / count(gpu/matmul/naive, n=64).bytes_loaded")[0].verdict == HOLDS
    assert claims(tmp_path, run, companions=extra, counted="fault(race) and not fault(race_right)")[0].verdict == HOLDS
    assert claims(tmp_path, run, companions=extra, counted="not fault(race)")[0].counted == "no"
    assert claims(tmp_path, run, companions=extra, stated=7, measured="counters(gpu/matmul/naive).dram_bytes")[0].verdict == HOLDS


def test_counters_of_points_that_are_counted_alone(tmp_path):
    run = products({"naive": {64: 100}})
    run.count("gpu/matmul/tiled", 64, {}, flops_executed=512)
    extra = [("counters.json", {"tool": "ncu", "machine": GPU, "date": "2026-01-01", "points": {"count/gpu/matmul/tiled/n:64": {"load_requests": 9.0}}})]
    assert claims(tmp_path, run, companions=extra, stated=9, measured="counters(gpu/matmul/tiled, n=64).load_requests")[0].verdict == HOLDS


def test_planted_faults_that_were_launched(tmp_path):
    rows = {"race": {"wrong": 12}, "hangs": {"failed": "did not end in time"},
            "stray": {"failed": "stray: failed while running: an illegal memory access was encountered (cudaErrorIllegalAddress)"}}
    extra = [("wrong_results.json", {"machine": GPU, "date": "2026-01-02", "launches": 1000, "wrong_results": rows})]
    run = products({"naive": {64: 100}})
    for expression, verdict in (("launched(hangs).hangs and launched(stray).error and not launched(race).error", HOLDS), ("launched(race).wrong == 0", FAILS)):
        found, = claims(tmp_path, run, companions=extra, measured=expression)
        assert found.verdict == verdict and found.machine and found.machine != "any"
    found, = claims(tmp_path, run, companions=extra, measured="launched(hangs).wrong > 0")
    assert found.verdict == UNTESTED and "did not end in time" in found.why
    found, = claims(tmp_path, run, companions=extra, measured="launched(other).wrong > 0")
    assert found.verdict == UNTESTED and "record.sh" in found.why
    found, = claims(tmp_path, run, companions=extra, measured="launched(race).wrongs > 0")
    assert "no field 'wrongs'; did you mean 'wrong'?" in found.fault


def test_snippets(tmp_path):
    told = {"good": {"compiles": True, "compiler": "nvcc 13"}, "bad": {"compiles": False, "compiler": "nvcc 13", "message": "no"}}
    extra = [("compilers.json", {"date": "2026-01-01", "snippets": told})]
    run = products({"naive": {64: 100}})
    for expression, verdict in (("compiles(good) and not compiles(bad)", HOLDS), ("compiles(bad)", FAILS)):
        found, = claims(tmp_path, run, companions=extra, measured=expression)
        assert (found.verdict, found.machine) == (verdict, "any")
    found, = claims(tmp_path, run, companions=extra, measured="compiles(other)")
    assert found.verdict == UNTESTED and "compile.py" in found.why


@pytest.mark.parametrize("rows, what", [([], "snippets: not a table of tables"), ({"a": {"compiles": 1}}, "neither true nor false"),
                                        ({"a": {"compiles": True}}, "compiler: missing or not a text")])
def test_a_broken_file_of_snippets(tmp_path, rows, what):
    with pytest.raises(InputError, match=what):
        load(write(tmp_path / "compilers.json", {"date": "2026-01-01", "snippets": rows}))


def test_the_tolerance_is_told(tmp_path):
    run = products({"naive": {64: 100}, "tiled": {64: 185}})
    keys = {"stated": 2, "rule": "at_least", "unit": "times", "tolerance": 0.1, "measured": "rate(gpu/matmul/tiled) / rate(gpu/matmul/naive)"}
    found, = claims(tmp_path, run, **keys)
    assert found.verdict == HOLDS and limit(found.entry) == "≥\u202f2× within 10\u00a0%" and threshold(found.entry) == "within 10\u00a0%" and found.entry.accepted == (1.8, None)
    found, = claims(tmp_path, run, **keys | {"tolerance": 0})
    assert found.verdict == FAILS and stated(found.entry) == "≥\u202f2×" and found.why == "Measured 1.85×, not ≥\u202f2×."
    found, = claims(tmp_path, run, **keys | {"rule": "equals", "stated": 16, "tolerance": 0.25})
    assert found.entry.accepted == (12, 20) and found.why == "Measured 1.85×, not 16× within 25\u00a0%."


@pytest.mark.parametrize("unit, text, measured", [("share of the copy", "≥\u202f50\u00a0% of the copy", "89\u00a0%"), ("share", "≥\u202f50\u00a0%", "89\u00a0%"),
                                                  ("threads", "≥\u202f0.5\u00a0threads", "0.89"), ("times", "≥\u202f0.5×", "0.89×"),
                                                  ("", "≥\u202f0.5", "0.89")])
def test_units_stand_with_the_stated_number(tmp_path, unit, text, measured):
    run = products({"naive": {64: 100}, "tiled": {64: 89}})
    found, = claims(tmp_path, run, stated=0.5, rule="at_least", unit=unit, measured="rate(gpu/matmul/tiled) / rate(gpu/matmul/naive)")
    assert stated(found.entry) == text and bare(found.entry, found.measured) == measured


def test_results_that_are_right_and_rates_with_their_units(tmp_path):
    run = products({"naive": {64: 100, 128: 100}, "tiled": {64: 300, 128: 50}})
    found, = claims(tmp_path, run, measured="run(gpu/matmul/naive, n=64).is_right")
    assert (found.verdict, found.measured) == (HOLDS, "yes")
    found, = claims(tmp_path, run, measured="rate(gpu/matmul/tiled, n=64) > rate(gpu/matmul/naive, n=64)")
    assert re.fullmatch(r"(300|299\.\d)\u00a0GFLOP/s > (100|99\.\d)\u00a0GFLOP/s", found.measured)
    found, = claims(tmp_path, run, measured="run(gpu/matmul/naive, n=64).threads < 1")
    assert (found.verdict, found.measured) == (FAILS, "1 ≥ 1")
    found, = claims(tmp_path, run, modelled="1 + 1 == 3")
    assert (found.verdict, found.modelled) == (FAILS, "2 ≠ 3")
    found, = claims(tmp_path, run, cases="{ n = [64, 128] }", measured="rate(gpu/matmul/tiled, n=n) > rate(gpu/matmul/naive, n=n)")
    assert found.measured == "yes in 1 of 2 cases"


def test_sizes_are_named_as_their_problem_declares_them(tmp_path, monkeypatch):
    monkeypatch.setattr(verdict, "what_counts", lambda kernel, key: {"n": "elements a side"}.get(key, ""))
    run = products({"naive": dict.fromkeys((64, 128, 256), 100), "tiled": {64: 300, 128: 300, 256: 100}})
    keys = {"stated": 2, "rule": "at_least", "cases": '{ n = "all" }', "measured": GAIN}
    assert claims(tmp_path, run, **keys)[0].words == "holds up to 128 elements a side, does not hold here for 256 elements a side"
    monkeypatch.setattr(verdict, "what_counts", lambda kernel, key: "bytes of the array")
    assert claims(tmp_path, run, **keys)[0].words == "holds up to 128\u00a0B of the array, does not hold here for 256\u00a0B of the array"


def test_many_cases_are_told_by_the_first(tmp_path, monkeypatch):
    """Not 'for 1, 3, 5 and 11 more elements', which reads as a number of elements."""
    sizes = list(range(64, 84))
    run = products({"naive": dict.fromkeys(sizes, 100), "tiled": {n: 300 if n % 2 else 100 for n in sizes}})
    keys = {"threshold": 2, "rule": "at_least", "cases": '{ n = "all" }', "measured": GAIN}
    monkeypatch.setattr(verdict, "what_counts", lambda kernel, key: "elements from lane to lane")
    assert claims(tmp_path, run, **keys)[0].words == (
        "holds for 10 of 20 cases (65, 67, 69, 71, 73, … elements from lane to lane), "
        "does not hold here for 10 of 20 cases (64, 66, 68, 70, 72, … elements from lane to lane)")


def test_every_count_of_verdicts_is_one(tmp_path):
    one, two = (products({"naive": {64: 100}, "tiled": {64: gain}}, gpu_name=f"Synthetic {name}", gpu_uuid=f"GPU-{name}")
                for name, gain in (("A", 300), ("B", 150)))
    found = claims(tmp_path, one, two, threshold=2, rule="at_least", measured=SPEEDUP)
    text, table = summary(found)
    assert counts(found) == {found[0].verdict: 1} and len(found) == 2
    assert table.rows[0]["claims"] == 1 == table.rows[0][found[0].verdict] and text.startswith("Of 1 claims of the literature 1 ")
    assert f"1 claim: 1 {found[0].verdict}" in command._table(found)


def test_a_claim_whose_kernels_were_not_measured(tmp_path):
    run = products({"naive": {64: 100}})
    for keys in ({"cases": '{ n = "all" }', "measured": GAIN}, {"cases": '{ n = "largest" }', "stated": 2, "measured": GAIN}):
        found, = claims(tmp_path, run, **keys)
        assert found.verdict == UNTESTED and found.machine == "" and found.why.startswith("No point of gpu/matmul/tiled in the recorded run")
    assert "did you mean 'race'?" in claims(tmp_path, run, companions=[("hazards.json", {
        "tool": "the emulator", "machine": "any", "date": "2026-01-01", "kernels": {"race": {"emulator": {"found": True}}}})],
        counted="fault(races)")[0].why


def test_a_refused_point_is_a_fact(tmp_path):
    run = products({"naive": {64: 100}})
    run.skip("gpu/matmul/tiled", "no multiple", 33)
    assert claims(tmp_path, run, measured="run(gpu/matmul/tiled, n=33).skipped")[0].verdict == HOLDS


def sampled(**kernels):
    """Products by kernel: a list of (rate, warm-up, layout)."""
    run = products({})
    for name, points in kernels.items():
        for rate, warm, layout in points:
            sizes = {"m": 64, "n": 64, "k": 64} | ({"layout": layout} if layout else {})
            more = {"warm_up_seconds": 0.05} if warm else {}
            run.time(f"gpu/matmul/{name}", 2 * 64**3 / rate / 1e9, sizes, count=6 if layout else 18, flops_useful=2 * 64**3, bytes_min=12 * 64**2, **more)
    return run


def test_a_ratio_is_of_points_that_were_sampled_alike(tmp_path):
    """A point without a warm-up, or in another layout than the usual one, is the fastest, and stays out of the ratio."""
    one = sampled(naive=[(100, True, ""), (120, False, "nn")], tiled=[(166, True, ""), (200, False, "nn"), (180, True, "nt")])
    found, = claims(tmp_path, one, measured=f"{SPEEDUP.replace(', n=64', '')} > 1.5")
    assert found.cases[0]["points"] == ["gpu/matmul/tiled/n:64", "gpu/matmul/naive/n:64"] and found.verdict == HOLDS
    found, = claims(tmp_path, sampled(naive=[(100, True, "")], tiled=[(200, False, "")]), measured=f"{SPEEDUP} > 1.5")
    assert found.verdict == UNTESTED and "sampled alike: gpu/matmul/naive/n:64 after a warm-up" in found.why


def test_of_the_fastest_of_several_the_one_that_it_is_is_named_with_its_samples(tmp_path):
    run = products({"naive": {64: 100}, "tiled": {64: 100.1}})
    run.rate("gpu/matmul/top", 50, 64, count=6)
    found, = claims(tmp_path, run, measured="max(rate(gpu/matmul/top, n=64), rate(gpu/matmul/tiled, n=64)) / rate(gpu/matmul/naive, n=64) > 1.001")
    assert (found.verdict, found.kernels) == (UNDECIDED, "gpu/matmul/tiled; gpu/matmul/naive") and "interval of 12 samples" in found.why


def test_the_planted_faults_are_named(tmp_path):
    found, = claims(tmp_path, products({"naive": {64: 100}}), counted="fault(race) and not fault(race_right)", measured="launched(race).wrong > 0")
    assert found.kernels == "planted fault race"


def test_a_function_judges(tmp_path):
    run = products({"naive": {64: 100}})
    found, = claims(tmp_path, run, judged_by=lambda entry, machine: Judged((One("it", compare(exact(1), ">", exact(2))),), f"{entry.judge} says so."), **{"judge": "ratio.it"})
    assert (found.verdict, found.why, found.machine) == (FAILS, "ratio.it says so.", GPU)
    found, = claims(tmp_path, run, **{"judge": "ratio.it"})
    assert found.verdict == UNTESTED and "rung run ratio" in found.why


@pytest.mark.parametrize("expression, what", [("time(gpu/matmul/naive) > 1", "does not say which"), ("occupancy(Old).speed > 1", "no such field"),
                                              ("rate(gpu/matmul/naive) == 1", "never equal")])
def test_what_cannot_be_evaluated_is_said(tmp_path, expression, what):
    found, = claims(tmp_path, products({"naive": {64: 100, 128: 100}}), measured=expression)
    assert what in found.fault and found.verdict == UNTESTED


def test_what_the_model_gives_for_each_gpu_is_told_once(tmp_path, monkeypatch):
    monkeypatch.setitem(LIMITS, "Synthetic A", 1024)
    monkeypatch.setitem(LIMITS, "Synthetic B", 2048)
    runs = [products({"naive": {64: 100}}, gpu_name=f"Synthetic {name}", gpu_uuid=f"GPU-{name}") for name in "AB"]
    found, = claims(tmp_path, *runs, stated=512, said_of="Old", modelled="occupancy(Old).threads", note="so it was")
    assert (found.verdict, found.machine) == (OF_ITS_OWN, "any")
    assert "1024 (Synthetic A)" in found.why and "2048 (Synthetic B)" in found.why and found.why.endswith(". So it was.")


def test_of_a_claim_without_a_number_the_model_says_nothing_of_the_gpu_here(tmp_path):
    """An expression with another device in it may be of an example, and not of what the sentence says."""
    found, = claims(tmp_path, products({"naive": {64: 100}}), said_of="Old", modelled="occupancy(Old).threads < 600")
    assert found.verdict == OF_ITS_OWN and not found.why


@pytest.mark.parametrize("unit", ("", "s", "B", "times", "GFLOP/s", "%"))
def test_numbers_without_end_have_a_word(unit):
    """An expression may overflow, whatever its unit."""
    assert figure(float("inf"), unit) == "infinite" == figure(float("-inf"), unit) and figure(float("nan"), unit) == "no number"
