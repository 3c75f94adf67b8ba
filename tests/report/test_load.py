"""Loading: what is read, that both schemas say the same, and every way in which a file can be bad."""

import dataclasses
import gzip
import json
import os
import subprocess
import sys
import tracemalloc
import zlib
from pathlib import Path
from statistics import median

import pytest
from conftest import ROOT, recorded
from synthetic import GPU, Run, ladder, write

from report.cli import BAD_INPUT, main
from report.data import load as load_module
from report.data import reading
from report.data.collect import collect
from report.data.companions import CounterFile, SheetFile
from report.data.load import Foreign, InputError, load
from report.data.reading import files_in, plain_name, read_json
from report.data.statistics import SAME, SLOWER, judge, ratio
from report.sections import doubts, generic, method, samples
from report.text import words

FIXTURES = Path(__file__).parent / "fixtures"


def test_both_schemas_load_to_the_same_records():
    old, new = (load(FIXTURES / f"schema_{version}.json") for version in (1, 2))
    assert old.kernels == new.kernels
    assert len(old.points) == len(new.points) == 7
    for a, b in zip(old.points, new.points):
        labels = {k: v for k, v in a.labels.items() if k != "tunable_names"}
        assert dataclasses.replace(a, run="", labels={}) == dataclasses.replace(b, run="", labels={}), a.name
        assert labels == b.labels
    assert (old.date, old.experiment, old.flags) == (new.date, new.experiment, new.flags)


@pytest.mark.parametrize("version", (1, 2))
def test_what_a_point_says(version):
    tiled, amx, roof, counted, strided, skipped, failed = load(FIXTURES / f"schema_{version}.json").points
    assert tiled.n == 256 and tiled.tunables == {"tile": 16} and tiled.summary.n == 6 and tiled.group
    assert tiled.value == pytest.approx(33554432 / 1.0015e-3 / 1e9) and tiled.requested_intensity == 4
    assert tiled.title == "tiled (tile 16)" and tiled.batch == 3
    assert (amx.kernel.family, amx.kernel.type, amx.mode, amx.threads) == ("matmul", "bf16", "cold", 4)
    assert amx.n is None and amx.size_text == "1000 × 16 × 300 (m × n × k)"
    assert roof.kernel.is_ceiling and roof.metric.unit == "GB/s" and roof.value == pytest.approx(65.536)
    assert counted.is_counted and not counted.is_timed and counted.value is None
    assert counted.counters["flops_executed"] == 524288 and counted.counters["bytes_declared_loaded"] == 131072
    assert strided.sizes == {"bytes": 65536, "passes": 4} and strided.metric.unit == "GB/s"
    assert skipped.skipped == "n must be a multiple of the tile" and failed.failed == "wrong result"
    assert not skipped.is_timed and failed.value is None


def test_words_and_judged_values_and_metrics_of_schema_2(tmp_path):
    run = Run("x", problems={"heat": {"title": "Heat", "metric": {"key": "cells_per_s", "unit": "cell/s"}}})
    run.time("cpu/heat/naive", 2.0, {"n": 10}, {"order": "rows", "tile": 4}, cells_per_s=50.0, judged={"max_ulp": 1.5})
    point = load(run.save(tmp_path)).points[0]
    assert point.tunables == {"order": "rows", "tile": 4} and point.variant == "order rows, tile 4"
    assert point.judged == {"max_ulp": 1.5} and point.metric.unit == "cell/s" and point.metric.is_rate
    assert point.value == pytest.approx(50.0, rel=0.01)
    assert load(write(tmp_path / "b.json", run.data() | {"benchmarks": []})).points == ()


def packed(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def test_packed_results_are_those_that_were_packed(tmp_path):
    plain = ladder().save(tmp_path)
    (tmp_path / "packed").mkdir()
    file = packed(tmp_path / "packed" / "matmul_ladder.json.gz", gzip.compress(plain.read_bytes(), mtime=0))
    one, other = load(plain), load(file)
    assert [dataclasses.replace(p, run="") for p in one.points] == [dataclasses.replace(p, run="") for p in other.points]
    assert [f.name for f in files_in(tmp_path)] == ["matmul_ladder.json", "matmul_ladder.json.gz"]
    assert plain_name(file) == plain_name(plain) == "matmul_ladder"
    packed(tmp_path / "matmul_ladder.json.gz", file.read_bytes())
    assert len(files_in(tmp_path)) == 2, "what is there in both forms is read once"


def test_a_checksum_is_that_of_what_was_packed(tmp_path):
    text = json.dumps(ladder(checksum="crc32 00000000").data()).encode()
    good = text.replace(b"crc32 00000000", f"crc32 {zlib.crc32(text):08x}".encode())
    assert load(packed(tmp_path / "a.json.gz", gzip.compress(good, mtime=0))).experiment == "matmul_ladder"
    with pytest.raises(InputError, match="checksum"):
        load(packed(tmp_path / "b.json.gz", gzip.compress(good.replace(b"Synthetic GPU", b"Synthetic XPU"), mtime=0)))


@pytest.mark.parametrize("spoil, what", (
    (lambda z: z[:-1], "truncated"), (lambda z: z[:len(z) // 2], "truncated"), (lambda z: z[:5], "truncated"), (lambda z: b"", "truncated"),
    (lambda z: z[:40] + bytes([z[40] ^ 255]) + z[41:], "damaged"), (lambda z: z[:-6] + b"\0\0" + z[-4:], "damaged"),
    (lambda z: z + b"more", "followed by something else"), (lambda z: z + z, "followed by something else"),
    (lambda z: b"{}", "not packed by gzip"), (lambda z: gzip.compress(z, mtime=0), "byte 1: not UTF-8")))
def test_bad_packing_is_refused_in_a_line(tmp_path, spoil, what):
    whole = gzip.compress(ladder().save(tmp_path).read_bytes(), mtime=0)
    with pytest.raises(InputError, match=what) as error:
        load(packed(tmp_path / "x.json.gz", spoil(whole)))
    assert "\n" not in str(error.value)


def test_a_bomb_is_refused_in_bounded_memory(tmp_path, monkeypatch):
    """100 MB of zeros, twice packed to nothing, where 1 MiB is allowed."""
    monkeypatch.setattr(reading, "LARGEST_FILE", 1 << 20)
    bomb = packed(tmp_path / "x.json.gz", gzip.compress(bytes(100_000_000), mtime=0))
    tracemalloc.start()
    with pytest.raises(InputError, match="1 MiB when unpacked: too large"):
        load(bomb)
    assert tracemalloc.get_traced_memory()[1] < 8 << 20
    tracemalloc.stop()


def test_a_report_of_packed_results(tmp_path, plain, capsys):
    text = ladder().save(tmp_path / "plain").read_bytes()
    (tmp_path / "in").mkdir()
    packed(tmp_path / "in" / "matmul_ladder.json.gz", gzip.compress(text, mtime=0))
    packed(tmp_path / "in" / "cut.json.gz", gzip.compress(text, mtime=0)[:100])
    assert main([str(tmp_path / "in"), "--output", str(tmp_path / "out")]) == 0
    assert "cut.json.gz is left out" in capsys.readouterr().err


def test_other_shapes(tmp_path):
    sheet = {"machine": "Synthetic GPU", "date": "2026-01-01", "empirical": {}, "spec": {
        "gflops": {"data": [["FP32", 67000]]}, "gbytes": {"data": [["DRAM", 4800]]}}}
    counters = {"machine": "Synthetic GPU", "date": "2026-01-01", "tool": "ncu", "points": {"a": {"x": 1, "bad": -1}}}
    found = load(write(tmp_path / "a.json", sheet))
    assert isinstance(found, SheetFile) and found.ceilings == (("FP32", 67000.0, False), ("DRAM", 4800.0, True))
    found = load(write(tmp_path / "b.json", counters))
    assert isinstance(found, CounterFile) and found.points == {"a": {"x": 1.0}}


def test_every_prefix_is_refused_with_file_and_place(tmp_path):
    whole = (FIXTURES / "schema_2.json").read_bytes().rstrip()
    for cut in sorted({0, 1, 2, *range(3, len(whole), len(whole) // 60), len(whole) - 1}):
        path = tmp_path / "cut.json"
        path.write_bytes(whole[:cut])
        with pytest.raises(InputError) as caught:
            load(path)
        assert str(path) in str(caught.value) and "line" in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize("content", (
    "[]", "3", '"context"', "null", "{}", '{"context": {"date": "2026-01-01"}, "benchmarks": []}', '{"name": "x"}'))
def test_foreign_json(tmp_path, capsys, content):
    path = tmp_path / "other.json"
    path.write_text(content)
    with pytest.raises(Foreign):
        load(path)
    assert main([str(path), "--output", str(tmp_path / "out")]) == BAD_INPUT
    assert str(path) in capsys.readouterr().err


@pytest.mark.parametrize("content", (b"\xff\xfe", b'{"a": \xe9}', b"[" * 100_000, b"9" * 10_000, b"{]", b"nan"))
def test_broken_bytes(tmp_path, content):
    path = tmp_path / "broken.json"
    path.write_bytes(content)
    with pytest.raises(InputError):
        load(path)


@pytest.mark.parametrize("version, word", ((3, "newer"), (99, "newer"), (0, "ever was"), (-1, "ever was"), ("1", "ever was"),
                                           (1.5, "ever was"), (None, "ever was"), (True, "ever was")))
def test_other_schema_is_refused(tmp_path, capsys, version, word):
    path = ladder(schema_version=version).save(tmp_path / "in")
    assert main([str(tmp_path / "in"), "--output", str(tmp_path / "out")]) == BAD_INPUT
    text = capsys.readouterr().err
    assert word in text and str(path) in text and "schema_version" in text and text.count("\n") == 1


def broken_context(**fields):
    return {"context": {"schema_version": 2, "date": "2026-01-01T00:00:00", "experiment": "x", "kernels": {}} | fields,
            "benchmarks": []}


@pytest.mark.parametrize("version", (1, 2))
@pytest.mark.parametrize("data, where", (
    (broken_context(date="yesterday"), "context.date"), (broken_context(date=3), "context.date"),
    (broken_context(experiment=""), "context.experiment"), (broken_context(kernels=[]), "context.kernels"),
    (broken_context(kernels={"a": 1}), "context.kernels"), (broken_context(kernels={"a": {"side": "tpu"}}), "side"),
    (broken_context(kernels={"a": {"side": "cpu", "order": "first"}}), "order"),
    (broken_context() | {"benchmarks": {}}, "benchmarks"), (broken_context() | {"benchmarks": [3]}, "benchmarks[0]"),
    (broken_context() | {"benchmarks": [{"name": 3}]}, "benchmarks[0].name"),
))
def test_wrong_types_are_named(tmp_path, data, where, version):
    data = data | {"context": data["context"] | {"schema_version": version}}
    with pytest.raises(InputError) as caught:
        load(write(tmp_path / "a.json", data))
    assert where in str(caught.value)


@pytest.mark.parametrize("data", (
    {"wrong_results": {"a": {"wrong": ["x" * 5000] * 500}}, "launches": 1000, "machine": "m", "date": "2026-01-01"},
    {"empirical": {}, "spec": {"gflops": {"data": [["a", "x" * 5000]]}}, "machine": "m", "date": "2026-01-01"},
    {"context": {"schema_version": ["x" * 5000], "date": "2026-01-01"}, "benchmarks": []},
))
def test_a_long_value_is_told_in_short(tmp_path, data):
    with pytest.raises(InputError) as caught:
        load(write(tmp_path / "a.json", data))
    assert len(str(caught.value)) < 300 + len(str(tmp_path))


@pytest.mark.parametrize("version", (1, 2))
def test_a_family_that_is_no_text_is_none(tmp_path, version):
    kernel = {"side": "cpu", "order": 1, "family": ["fma_bf16"], "title": "T"}
    assert load(write(tmp_path / "a.json", broken_context(schema_version=version, kernels={"a": kernel})))


@pytest.mark.parametrize("data, where", (
    ({"empirical": {}, "spec": {"gflops": {"data": [["a", -1]]}}, "machine": "m", "date": "2026-01-01"}, "spec.gflops.data[0]"),
    ({"empirical": {}, "spec": {"gflops": {"data": [3]}}, "machine": "m", "date": "2026-01-01"}, "spec.gflops.data[0]"),
    ({"empirical": {}, "spec": {"gbytes": []}, "machine": "m", "date": "2026-01-01"}, "spec.gbytes"),
    ({"empirical": {}, "date": "2026-01-01"}, "machine"),
    ({"points": [], "tool": "x", "machine": "m", "date": "2026-01-01"}, "points"),
    ({"kernels": {"a": {"t": {"found": 1}}}, "tool": "x", "machine": "m", "date": "2026-01-01"}, "found"),
    ({"emulators": {}, "machine": "m", "cores": 1, "date": "2026-01-01"}, "emulators"),
))
def test_wrong_types_of_companions_are_named(tmp_path, data, where):
    with pytest.raises(InputError) as caught:
        load(write(tmp_path / "a.json", data))
    assert where in str(caught.value)


@pytest.mark.parametrize("field, value, reason", (
    ("real_time", float("nan"), "nan"), ("real_time", float("inf"), "inf"), ("real_time", 0, "zero"),
    ("real_time", -5.0, "negative"), ("real_time", "fast", "not a number"), ("real_time", None, "missing"),
    ("real_time", 10**400, "out of range"), ("real_time", True, "not a number"), ("time_unit", "weeks", "time_unit"),
    ("flops_useful", float("nan"), "flops"), ("flops_useful", -1, "flops"), ("max_error_ratio", 1.5, "not verified"),
    ("max_error_ratio", float("nan"), "not verified"), ("kernel", "unknown", "context.kernels"), ("kernel", [], "kernels"),
))
def test_bad_samples_are_flagged_and_left_out(tmp_path, field, value, reason):
    run = Run("x")
    run.rate("gpu/matmul/naive", 100, count=7)
    run.benchmarks[3][field] = value
    loaded = load(run.save(tmp_path))
    assert len(loaded.flags) == 1 and reason in loaded.flags[0].reason
    point = loaded.points[0]
    assert point.summary.n == 6 and point.turns == (0, 1, 2, 4, 5, 6)


@pytest.mark.parametrize("field, value", (("occupancy_achieved", 1.01), ("power_w", float("nan")), ("sm_clock_mhz", [])))
def test_bad_counters_are_dropped_but_the_time_stays(tmp_path, field, value):
    run = Run("x")
    run.rate("gpu/matmul/naive", 100, count=7)
    run.benchmarks[0][field] = value
    loaded = load(run.save(tmp_path))
    assert len(loaded.flags) == 1 and field in loaded.flags[0].reason
    assert field not in loaded.points[0].counters and loaded.points[0].summary.n == 7


def test_one_failed_sample_fails_the_point(tmp_path):
    run = Run("x")
    run.rate("gpu/matmul/naive", 100)
    run.benchmarks[5] |= {"error_occurred": True, "error_message": "wrong result"}
    point = load(run.save(tmp_path)).points[0]
    assert point.failed == "wrong result" and point.value is None and not point.is_timed


def test_the_worst_error_and_any_throttling_count(tmp_path):
    run = Run("x")
    run.rate("gpu/matmul/naive", 100, count=6, energy_j=2.0)
    run.benchmarks[2] |= {"max_error_ratio": 0.9, "throttled": "thermal", "energy_j": 9.0}
    counters = load(run.save(tmp_path)).points[0].counters
    assert (counters["max_error_ratio"], counters["throttled"], counters["energy_j"]) == (0.9, 1.0, 2.0)


def test_a_missing_package_costs_the_report_and_no_more(tmp_path):
    """Without numpy nothing is rendered: one plain message, no traceback, exit code 0."""
    (tmp_path / "numpy.py").write_text("raise ModuleNotFoundError('no numpy', name='numpy')\n")
    done = subprocess.run([sys.executable, "-m", "report", "anything"], cwd=ROOT, capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": str(tmp_path)})
    assert done.returncode == 0
    assert "numpy" in done.stdout and "Traceback" not in done.stderr


def test_fixtures_name_themselves_synthetic():
    for path in FIXTURES.glob("*.json"):
        assert "Synthetic" in json.loads(path.read_text())["context"]["cpu_name"]


# A busy machine


def busy(folder, reason, disturbed):
    """A product whose samples with these numbers were disturbed and took ten times as long."""
    run = Run("ratio")
    for i in range(12):
        fields = {"disturbed": True, "waited_seconds": 0.9, "watched_seconds": 1.0} if i in disturbed else {
            "waited_seconds": 0.0, "watched_seconds": 1.0}
        run.rate("cpu/matmul/naive", 1.0 if i in disturbed else 10.0, count=1, repetition_index=i, stop_reason=reason, **fields)
    run.save(folder)
    return load(folder / "ratio.json").points[0]


def test_disturbed_samples_do_not_count_where_there_are_others(tmp_path):
    point = busy(tmp_path, "converged", {2, 5})
    assert point.disturbed == 2 and len(point.times) == 10 and 2 not in point.turns and 5 not in point.turns
    assert point.value == pytest.approx(10, rel=0.01) and point.settled and point.waited == pytest.approx(0.15)


def test_a_point_that_was_disturbed_throughout_says_how_fast_it_may_be_alone(tmp_path):
    point = busy(tmp_path, "disturbed", set(range(12)))
    assert len(point.times) == 12 and point.is_disturbed and not point.settled
    low, high = point.interval
    assert point.value == pytest.approx(1, rel=0.01) and low == pytest.approx(1, rel=0.01) and high == pytest.approx(10, rel=0.01)
    study = collect([tmp_path], [])
    [warning] = doubts.disturbed(study)
    assert "1 point of 1" in warning and "naive" in warning and "90" in warning
    assert doubts.disturbed(collect([ladder().save(tmp_path / "quiet")], [])) == []
    crowded = json.loads((tmp_path / "ratio.json").read_text())
    for entry in crowded["benchmarks"]:
        entry["oversubscribed"] = True
    (tmp_path / "ratio.json").write_text(json.dumps(crowded))
    assert doubts.disturbed(collect([tmp_path / "ratio.json"], [])) == []


def test_a_disturbed_point_is_not_significantly_slower(tmp_path):
    slow, fast = busy(tmp_path / "a", "disturbed", set(range(12))), busy(tmp_path / "b", "converged", set())
    assert judge({"": ratio(slow, fast)})[""].verdict == SAME
    alone = dataclasses.replace(slow, labels={}, disturbed=0)
    assert judge({"": ratio(alone, fast)})[""].verdict == SLOWER
    slow, fast = (dataclasses.replace(p, group="1", run="one") for p in (slow, fast))
    assert judge({"": ratio(slow, fast)})[""].verdict == SAME, "bursts last longer than a round"
    assert judge({"": ratio(dataclasses.replace(slow, labels={}, disturbed=0), fast)})[""].verdict == SLOWER


def sampled(folder, kept, left_out):
    """A product with samples of these times (seconds); the second group is marked as disturbed."""
    run = Run("ratio")
    for i, t in enumerate((*kept, *left_out)):
        fields = {"disturbed": True} if i >= len(kept) else {}
        run.time("cpu/matmul/naive", t, 64, times=[t], repetition_index=i, flops_useful=1e6, watched_seconds=1.0, **fields)
    run.save(folder)
    return load(folder / "ratio.json").points[0]


STEADY = tuple(1 + 0.001 * (i * 7 % 10) for i in range(10))


@pytest.mark.parametrize("kept, left_out, settled", (
    (STEADY, (), True), (STEADY, (1.5, 1.5), True),
    (STEADY, (1.5,) * 9, False),
    (STEADY[:5], (1.5,), False),
    (STEADY[:6], (1.5,), True),
    (STEADY[:6], (1.001,) * 7, False)), ids=("none", "few", "median of all outside", "too few left", "enough", "most"))
def test_a_point_that_leaving_out_decides_is_not_settled(tmp_path, kept, left_out, settled):
    point = sampled(tmp_path, kept, left_out)
    assert (len(point.times), point.left_out, point.settled) == (len(kept), len(left_out), settled)
    assert point.sampled["median_of_all_seconds"] == pytest.approx(median((*kept, *left_out)))
    assert point.moved_by_all == pytest.approx(median((*kept, *left_out)) / median(kept) - 1)


def test_a_point_without_undisturbed_samples_does_not_look_converged(tmp_path):
    point = sampled(tmp_path, (), STEADY)
    assert point.left_out == 0 and point.is_disturbed and not point.settled and len(point.times) == 10


def test_clock_and_energy_are_of_the_samples_that_count(tmp_path):
    run = Run("ratio")
    for i in range(12):
        run.rate("cpu/matmul/naive", 10.0, count=1, repetition_index=i, energy_j=9.0 if i > 9 else 1.0, sm_clock_mhz=500 if i > 9 else 1000,
                 others_processors=4.0 if i > 9 else 1.0, disturbed=i > 9)
    counters = load(run.save(tmp_path)).points[0].counters
    assert (counters["energy_j"], counters["sm_clock_mhz"], counters["others_processors"]) == (1, 1000, 1.5)


def test_the_report_shows_what_leaving_out_does(tmp_path):
    point = sampled(tmp_path, STEADY, (1.5,) * 9)
    study = collect([tmp_path], [])
    [warning] = [text for text in doubts.warnings(study) if "left out" in text]
    assert "9 of 19 samples of the CPU" in warning and "in 1 of 1 point." in warning and "more than 1\u00a0% in 0 points" in warning
    assert "it would leave its interval in 1" in warning and "1 point depends on this choice and is unsettled" in warning
    assert words.samples([point]) == "10 of 19 samples"
    other = dataclasses.replace(point, left_out=0)
    assert words.samples([point, other]) == "10 samples (9 of 29 left out)" and words.samples([other]) == "10 samples"
    [row] = samples.rows(study)
    assert (row["samples"], row["left_out"], row["settled"], row["out_of_interval"]) == (10, 9, False, True)


def test_results_that_were_not_watched_say_so(tmp_path):
    old = ladder()
    for entry in old.benchmarks:
        del entry["watched_seconds"]
    study = collect([old.save(tmp_path / "old")], [])
    assert any("were not watched for other work" in text and GPU in text for text in doubts.limits(study))
    sampled(tmp_path / "new", STEADY, ())
    assert not any("watched" in text for text in doubts.limits(collect([tmp_path / "new"], [])))


def test_method_and_csv_files_have_the_rule_of_disturbed_samples(tmp_path):
    sampled(tmp_path, STEADY, (1.5, 1.5))
    study = collect([tmp_path], [])
    text = " ".join(block["text"] for block in method.method(study) if "text" in block)
    assert "fewer than half of its samples" in text and "left out of medians" in text
    for wrong in ("every sample is kept", "no sample is dropped"):
        assert wrong not in text
    [table] = generic.section(study.views[0]).tables
    assert [(row["samples"], row["left_out"]) for row in table.rows] == [(10, 2)]


# Groups of interleaved points


def grouped(tmp_path, names, sizes=(64,), **ids):
    """The groups of a run's points: (variant, number of points interleaved with it) in the file's order."""
    run = Run("x")
    for i, (variant, others) in enumerate(names):
        run.time(f"gpu/matmul/{variant}", 1e-3, sizes[i % len(sizes)], interleaved_with=others, interleave_group=ids.get(variant))
    return [p.group for p in load(run.save(tmp_path)).points]


def test_groups_follow_each_other_where_results_do_not_name_them(tmp_path):
    """For results that have only the number of points with which a point was interleaved."""
    a, b, c, d, e, f, alone = grouped(tmp_path, (("a", 1), ("b", 1), ("c", 2), ("d", 2), ("e", 2), ("f", 1), ("alone", 0)))
    assert a == b and c == d == e and len({a, c, f}) == 3 and f and alone == ""
    first, second, third, fourth = grouped(tmp_path, (("a", 1), ("b", 1), ("c", 1), ("d", 1)))
    assert first == second != third == fourth
    assert len(set(grouped(tmp_path, (("a", 1), ("b", 1)), sizes=(64, 128)))) == 2


def test_a_group_that_is_named_counts(tmp_path):
    a, b, c, d = grouped(tmp_path, (("a", 1), ("b", 1), ("c", 1), ("d", 1)), a=1, b=2, c=1, d=2)
    assert a == c != b == d


@pytest.mark.parametrize("name", ("prefix_sum", "vector_addition", "math_functions", "matmul_ladder"))
def test_every_group_of_the_recorded_results_is_whole(name):
    """It has as many points as each of them says, all with as many samples, disturbed ones included."""
    path = recorded("nvidia-h200", name)
    others = {e["run_name"]: e.get("interleaved_with") for e in read_json(path)["benchmarks"]}
    groups: dict[str, list] = {}
    for p in (p for p in load(path).points if p.group):
        groups.setdefault(p.group, []).append(p)
    assert len(groups) > 10
    for some in groups.values():
        assert {others[p.name] for p in some} == {len(some) - 1} and len({len(p.times) + p.disturbed for p in some}) == 1
        assert len({(p.kernel.side, p.kernel.type, p.size_key, p.data, p.mode, p.threads) for p in some}) == 1


def test_threads_of_a_gpu_are_a_tunable_and_no_sweep_of_the_cpus():
    names = ["cpu/sum/a/n:1/threads:1", "cpu/sum/a/n:1/threads:2", "gpu/sum/b/threads:128/n:1", "gpu/sum/b/threads:256/n:1",
             "gpu/sum/b/threads:128/n:1/mode:cold"]
    assert load_module._swept(names) == set(names[:2])
