"""Loading: what is read, and every way in which a file can be bad."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from test_report_support import CPU, FIXTURES, GPU, changed, read, write

from report import captions
from report.cli import BAD_INPUT, main
from report.collect import collect
from report.load import Foreign, InputError, load
from report.records import CounterFile, RoofFile, Run

LADDER = CPU / "matmul_ladder.json"


def test_run_is_read_as_points():
    run = load(LADDER)
    assert isinstance(run, Run) and run.complete and run.experiment == "matmul_ladder"
    point = next(p for p in run.points if p.name == "cpu/matmul/blas/n:1024")
    assert point.n == 1024 and point.kernel.is_library and point.summary.n == 6
    entries = [e["real_time"] * 1e-9 for e in read(LADDER)["benchmarks"] if e["run_name"] == point.name]
    assert point.times == tuple(entries)
    median = sorted(entries)[2:4]
    assert point.gflops == pytest.approx(2 * 1024**3 / (sum(median) / 2) / 1e9)
    assert [p.skipped for p in run.points if p.name.endswith("ijk/n:4096")] == [
        "would take longer than the point's wall budget"]


def test_counts_have_no_time():
    run = load(CPU / "ratio.json")
    assert all(not p.times and not p.is_timed and p.gflops is None for p in run.points)


def test_other_shapes():
    roofs, counters = load(GPU / "ceilings-gpu.json"), load(GPU / "counters.json")
    assert isinstance(roofs, RoofFile) and {r.measured for r in roofs.roofs} == {True, False}
    assert isinstance(counters, CounterFile) and counters.machine.startswith("Synthetic")


def test_every_prefix_is_refused_with_file_and_place(tmp_path):
    whole = LADDER.read_bytes().rstrip()
    cuts = sorted({0, 1, 2, *range(3, len(whole), len(whole) // 60), len(whole) - 1})
    for cut in cuts:
        path = tmp_path / "cut.json"
        path.write_bytes(whole[:cut])
        with pytest.raises(InputError) as caught:
            load(path)
        assert str(path) in str(caught.value) and "line" in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize("name, content", {
    "array": "[]", "number": "3", "text": '"context"', "null": "null", "empty object": "{}",
    "benchmark": '{"context": {"date": "2026-01-01"}, "benchmarks": []}', "package": '{"name": "x", "version": "1"}',
}.items())
def test_foreign_json(tmp_path, capsys, name, content):
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


@pytest.mark.parametrize("version, word", ((2, "newer"), (99, "newer"), (0, "ever was"), (-1, "ever was"), ("1", "ever was"),
                                           (1.5, "ever was"), (None, "ever was"), (True, "ever was")))
def test_other_schema_is_refused(tmp_path, capsys, version, word):
    path = write(tmp_path / "in" / "a.json", changed(LADDER, schema_version=version))
    assert main([str(tmp_path / "in"), "--output", str(tmp_path / "out")]) == BAD_INPUT
    text = capsys.readouterr().err
    assert word in text and str(path) in text and "schema_version" in text and text.count("\n") == 1


def broken_context(**fields):
    return {"context": {"schema_version": 1, "date": "2026-01-01T00:00:00", "experiment": "x", "kernels": {}} | fields,
            "benchmarks": []}


@pytest.mark.parametrize("data, where", (
    (broken_context(date="yesterday"), "context.date"), (broken_context(date=3), "context.date"),
    (broken_context(experiment=""), "context.experiment"), (broken_context(kernels=[]), "context.kernels"),
    (broken_context(kernels={"a": 1}), "context.kernels"), (broken_context(kernels={"a": {"side": "tpu"}}), "side"),
    (broken_context(kernels={"a": {"side": "cpu", "order": "first"}}), "order"),
    (broken_context() | {"benchmarks": {}}, "benchmarks"), (broken_context() | {"benchmarks": [3]}, "benchmarks[0]"),
    (broken_context() | {"benchmarks": [{"name": 3}]}, "benchmarks[0].name"),
    ({"empirical": {"gflops": {"data": [["a", -1]]}}, "machine": "m", "date": "2026-01-01"}, "empirical.gflops.data[0]"),
    ({"empirical": {"gflops": {"data": [3]}}, "machine": "m", "date": "2026-01-01"}, "empirical.gflops.data[0]"),
    ({"empirical": [], "machine": "m", "date": "2026-01-01"}, "empirical"),
    ({"empirical": {"gbytes": []}, "machine": "m", "date": "2026-01-01"}, "empirical.gbytes"),
    ({"empirical": {}, "date": "2026-01-01"}, "machine"),
    ({"points": [], "tool": "x", "machine": "m", "date": "2026-01-01"}, "points"),
))
def test_wrong_types_are_named(tmp_path, data, where):
    with pytest.raises(InputError, match=".*") as caught:
        load(write(tmp_path / "a.json", data))
    assert where in str(caught.value)


@pytest.mark.parametrize("field, value, reason", (
    ("real_time", float("nan"), "nan"), ("real_time", float("inf"), "inf"), ("real_time", 0, "zero"),
    ("real_time", -5.0, "negative"), ("real_time", "fast", "not a number"), ("real_time", None, "missing"),
    ("real_time", 10**400, "out of range"), ("real_time", True, "not a number"), ("time_unit", "weeks", "time_unit"),
    ("flops", float("nan"), "flops"), ("flops", -1, "flops"), ("max_error_ratio", 1.5, "not verified"),
    ("max_error_ratio", float("nan"), "not verified"), ("kernel", "unknown", "context.kernels"), ("kernel", [], "kernels"),
))
def test_bad_samples_are_flagged_and_left_out(tmp_path, field, value, reason):
    data = read(LADDER)
    index = next(i for i, e in enumerate(data["benchmarks"]) if e["run_name"] == "cpu/matmul/blas/n:1024")
    good = load(LADDER)
    data["benchmarks"][index][field] = value
    run = load(write(tmp_path / "a.json", data))
    assert len(run.flags) == 1 and reason in run.flags[0].reason
    point = next(p for p in run.points if p.name == "cpu/matmul/blas/n:1024")
    assert point.summary.n == 5 and run.samples == good.samples - 1


@pytest.mark.parametrize("field, value", (("occupancy_achieved", 1.01), ("power_w", float("nan")), ("sm_clock_mhz", [])))
def test_bad_counters_are_dropped_but_the_time_stays(tmp_path, field, value):
    data = read(LADDER)
    data["benchmarks"][0][field] = value
    run = load(write(tmp_path / "a.json", data))
    assert len(run.flags) == 1 and field in run.flags[0].reason
    assert field not in run.points[0].counters and run.points[0].summary.n == 6


def test_failed_points_have_no_rate(tmp_path):
    data = read(LADDER)
    data["benchmarks"][0] |= {"error_occurred": True, "error_message": "wrong result"}
    point = load(write(tmp_path / "a.json", data)).points[0]
    assert point.failed == "wrong result" and point.gflops is None


def test_newest_complete_file_wins(tmp_path):
    days = {"old": ("2026-01-01T00:00:00", True), "new": ("2026-01-03T00:00:00", True),
            "unfinished": ("2026-01-05T00:00:00", False)}
    for name, (day, complete) in days.items():
        write(tmp_path / name / "m.json", changed(LADDER, date=day, complete=complete))
    study = collect([tmp_path], [])
    used = {s.path.split("/")[-2]: s for s in study.sources}
    assert used["new"].used and not used["old"].used and not used["unfinished"].used
    assert "newer" in used["old"].note and "complete one" in used["unfinished"].note and study.cpu.days == "2026-01-03"


def only(path, side):
    """The data of a file with the entries of one side alone."""
    data = read(path)
    data["benchmarks"] = [e for e in data["benchmarks"] if e["kernel"].startswith(side)]
    return data


def test_a_newer_file_of_one_side_leaves_the_other_side_s_points(tmp_path):
    both, newer = read(GPU / "matmul_ladder.json"), only(GPU / "matmul_ladder.json", "gpu/")
    newer["context"]["date"] = "2026-06-01T00:00:00"
    write(tmp_path / "old.json", both)
    write(tmp_path / "new.json", newer)
    study = collect([tmp_path], [])
    assert {p.run for p in study.gpu.points} == {str(tmp_path / "new.json")}
    assert {p.run for p in study.cpu.points} == {str(tmp_path / "old.json")}
    notes = {Path(s.path).name: s for s in study.sources}
    assert all(s.used for s in notes.values()) and "its CPU points, which a newer one lacks" in notes["old.json"].note
    sides = (study.cpu, study.gpu)
    shown = captions.provenance([(side, [p for p in side.points if p.is_timed]) for side in sides])
    assert f"CPU: measured on {study.cpu.machine}, {both['context']['date'][:10]};" in shown
    assert f"GPU: measured on {study.gpu.machine}, 2026-06-01;" in shown
    assert {r.samples for r in study.runs if r.path.name == "old.json"} == {sum(len(p.times) for p in study.cpu.points)}


def test_a_caption_has_the_days_of_what_it_shows(tmp_path):
    libraries, others = read(LADDER), read(LADDER)
    is_library = {name: kernel["is_library"] for name, kernel in libraries["context"]["kernels"].items()}
    libraries["benchmarks"] = [e for e in libraries["benchmarks"] if is_library[e["kernel"]]]
    libraries["context"] |= {"date": "2026-06-01T00:00:00", "experiment": "libraries"}
    others["benchmarks"] = [e for e in others["benchmarks"] if not is_library[e["kernel"]]]
    others["context"]["date"] = "2026-01-01T00:00:00"
    write(tmp_path / "libraries.json", libraries)
    write(tmp_path / "others.json", others)
    cpu = collect([tmp_path], []).cpu
    for day, of_libraries in (("2026-01-01", False), ("2026-06-01", True)):
        points = [p for p in cpu.points if p.kernel.is_library == of_libraries and p.is_timed]
        assert f"Measured on {cpu.machine}, {day};" in captions.provenance([(cpu, points)])
    assert cpu.label.endswith(", 2026-01-01 to 2026-06-01")


def test_each_ceiling_is_the_highest_that_a_file_of_this_machine_has(tmp_path):
    write(tmp_path / "ladder.json", read(LADDER))
    for name, day, factor in (("ceilings-cpu-1", "2026-01-01", 1.25), ("ceilings-cpu-2", "2026-03-01", 1),
                              ("ceilings-cpu-3", "2026-02-01", 0.5)):
        roofs = read(CPU / "ceilings-cpu.json") | {"date": day}
        (label, value), *others = roofs["empirical"]["gflops"]["data"]
        roofs["empirical"]["gflops"]["data"] = [[label, value * factor], *others]
        write(tmp_path / f"{name}.json", roofs)
    study = collect([tmp_path], [])
    found = {r.label: r.value for r in study.cpu.roofs if r.measured}
    assert found[label] == pytest.approx(1.25 * value) and all(found[one] == other for one, other in others)
    notes = {Path(s.path).stem: s for s in study.sources}
    assert notes["ceilings-cpu-1"].used and notes["ceilings-cpu-2"].used and not notes["ceilings-cpu-3"].used
    assert notes["ceilings-cpu-3"].note == "others have higher ones"


def test_unfinished_file_is_used_when_there_is_no_other(tmp_path):
    write(tmp_path / "m.json", changed(LADDER, complete=False, points_done=4, points_planned=9))
    source = collect([tmp_path], []).sources[0]
    assert source.used and "incomplete: 4 of 9" in source.note


def test_other_machines_are_listed_not_mixed(tmp_path):
    write(tmp_path / "a" / "m.json", changed(LADDER, cpu_name="Another CPU", date="2025-01-01T00:00:00"))
    write(tmp_path / "b" / "m.json", changed(LADDER))
    study = collect([tmp_path], [])
    assert study.cpu.machine.startswith("Synthetic")
    assert [other.machine for other in study.others] == ["Another CPU"]
    assert {p.run for p in study.cpu.points}.isdisjoint(p.run for p in study.others[0].points)


def test_recorded_gpu_only_when_live_has_none():
    mixed = collect([CPU], [GPU])
    assert mixed.gpu.recorded and not mixed.cpu.recorded and mixed.gpu.label.startswith("recorded on Synthetic GPU")
    live = collect([GPU], [GPU])
    assert not live.gpu.recorded
    assert collect([CPU], []).gpu is None


def test_a_recorded_run_that_is_measured_live_is_not_used(tmp_path):
    for experiment in ("ceilings", "emulator"):
        write(tmp_path / f"{experiment}.json", changed(LADDER, experiment=experiment))
    sources = collect([CPU], [tmp_path]).sources
    assert {s.note for s in sources if s.path.startswith(str(tmp_path))} == {"recorded set, not needed"}


def test_foreign_files_in_a_folder_are_listed(tmp_path):
    write(tmp_path / "package.json", {"name": "x"})
    write(tmp_path / "m.json", read(LADDER))
    assert [s.used for s in collect([tmp_path], []).sources if s.path.endswith("package.json")] == [False]


def test_nothing_to_read(tmp_path, capsys):
    for path in (tmp_path, tmp_path / "absent"):
        assert main([str(path), "--output", str(tmp_path / "out")]) == BAD_INPUT
        assert str(path) in capsys.readouterr().err


def test_fixtures_are_what_the_script_writes(tmp_path):
    import runpy
    runpy.run_path(str(FIXTURES / "make_fixtures.py"))["make"](tmp_path)
    for path in sorted(tmp_path.rglob("*.json")):
        assert path.read_bytes() == (FIXTURES / path.relative_to(tmp_path)).read_bytes()


def test_fixtures_name_themselves_synthetic():
    for path in sorted(FIXTURES.rglob("*.json")):
        text = json.dumps(read(path))
        assert "Synthetic" in text


def test_a_missing_package_costs_the_report_and_no_more(tmp_path):
    """Without numpy nothing is rendered: one plain message, no traceback, exit code 0."""
    (tmp_path / "numpy.py").write_text("raise ModuleNotFoundError('no numpy', name='numpy')\n")
    root = Path(__file__).resolve().parents[1]
    done = subprocess.run(
        [sys.executable, "-m", "report", "anything"],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0
    assert "numpy" in done.stdout and "Traceback" not in done.stderr
