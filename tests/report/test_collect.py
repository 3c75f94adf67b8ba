"""Which runs an experiment uses: newest, complete, live before recorded; nothing pooled across experiments."""

from pathlib import Path

import pytest
from synthetic import GPU, Run, ladder, write

from report.cli import BAD_INPUT, main
from report.data.collect import collect


def view_of(study, name):
    return next(v for v in study.views if v.name == name)


def test_newest_complete_run_wins(tmp_path):
    for name, day, complete in (("old", "2026-01-01T00:00:00", True), ("new", "2026-01-03T00:00:00", True),
                                ("unfinished", "2026-01-05T00:00:00", False)):
        ladder(date=day, complete=complete).save(tmp_path / name)
    study = collect([tmp_path], [])
    assert view_of(study, "matmul_ladder").gpu.run.day == "2026-01-03"
    used = {Path(s.path).parent.name: s for s in study.sources}
    assert used["new"].note.endswith("complete") and used["old"].note.endswith("; its roofs")


def test_unfinished_run_is_used_when_there_is_no_other(tmp_path):
    ladder(complete=False, points_done=4, points_planned=9).save(tmp_path)
    source = collect([tmp_path], []).sources[0]
    assert source.used and "incomplete: 4 of 9" in source.note


def test_points_of_other_experiments_are_not_pooled(tmp_path):
    ladder().save(tmp_path)
    other = Run("else", date="2026-03-03T00:00:00")
    other.rate("gpu/matmul/wonder", 10_000)
    other.save(tmp_path)
    points = view_of(collect([tmp_path], []), "matmul_ladder").gpu.points
    assert {p.kernel.name for p in points}.isdisjoint({"gpu/matmul/wonder"}) and len({p.run for p in points}) == 1


def test_sides_come_from_different_runs(tmp_path):
    """A live CPU run and a recorded run with both sides: each side comes from one of them."""
    both = ladder("gpu", "both")
    both.rate("cpu/matmul/naive", 5)
    both.save(tmp_path / "stored")
    live = Run("both", gpu_name="", gpu_uuid="")
    live.rate("cpu/matmul/naive", 7)
    live.save(tmp_path / "live")
    view = view_of(collect([tmp_path / "live"], [tmp_path / "stored"]), "both")
    assert not view.cpu.recorded and view.gpu.recorded
    assert view.gpu.label.startswith(f"recorded on {GPU}") and view.cpu.label.startswith("measured on")


def test_recorded_experiments_join_a_study_but_not_a_single_experiment(tmp_path):
    ladder().save(tmp_path / "stored")
    Run("one").save(tmp_path / "live")
    one = Run("one")
    one.rate("cpu/matmul/naive", 5)
    one.save(tmp_path / "live")
    assert [v.name for v in collect([tmp_path / "live"], [tmp_path / "stored"]).views] == ["one"]
    two = Run("two")
    two.rate("cpu/matmul/naive", 5)
    two.save(tmp_path / "live")
    assert {v.name for v in collect([tmp_path / "live"], [tmp_path / "stored"]).views} == {"one", "two", "matmul_ladder"}


def test_other_machines_are_listed_not_mixed(tmp_path):
    ladder("cpu", cpu_name="Another CPU", date="2025-01-01T00:00:00").save(tmp_path / "a")
    ladder("cpu").save(tmp_path / "b")
    view = view_of(collect([tmp_path], []), "cpu_ladder")
    assert view.cpu.machine.name.startswith("Synthetic")
    assert [other.machine.name for other in view.others] == ["Another CPU, 4 cores"]


def test_one_bad_file_among_good_ones_is_reported_and_left_out(tmp_path, plain, capsys):
    ladder().save(tmp_path / "in")
    (tmp_path / "in" / "broken.json").write_text('{"context": {"schema_version": 2,')
    assert main([str(tmp_path / "in"), "--output", str(tmp_path / "out")]) == 0
    assert "broken.json is left out" in capsys.readouterr().err
    text = (tmp_path / "out" / "report.json").read_text()
    assert "broken.json is left out of this report: line 1 column" in text.replace("\u200b", "")


def test_foreign_files_are_listed_without_a_warning(tmp_path):
    write(tmp_path / "package.json", {"name": "x"})
    ladder().save(tmp_path)
    study = collect([tmp_path], [])
    assert [s.used for s in study.sources if s.path.endswith("package.json")] == [False] and not study.warnings


@pytest.mark.parametrize("name", (".", "absent"))
def test_nothing_to_read(tmp_path, capsys, name):
    assert main([str(tmp_path / name), "--output", str(tmp_path / "out")]) == BAD_INPUT
    text = capsys.readouterr().err
    assert str(tmp_path / name) in text and text.count("\n") == 1


def test_own_output_is_not_input(tmp_path):
    ladder().save(tmp_path)
    ladder(date="2027-01-01T00:00:00").save(tmp_path / "report")
    assert collect([tmp_path], [], tmp_path / "report").date.startswith("2026")


def test_counted_points_have_the_counters_of_the_gpu_or_of_any(tmp_path):
    run = Run("counts", gpu_name="")
    run.count("gpu/matmul/naive", flops_executed=1.0)
    run.save(tmp_path)
    name = run.benchmarks[0]["name"]
    for machine, value in (("Other GPU", 1), ("Synthetic GPU", 2)):
        write(tmp_path / f"{machine}.json", {"machine": machine, "date": f"2026-01-0{value}", "tool": "ncu", "points": {
            name: {"ffma": value}}})
    part = view_of(collect([tmp_path], []), "counts").counts
    assert part.counters_of(part.points[0]) == {"ffma": 2.0} and part.counter_machine == "Synthetic GPU"
    run.context["gpu_name"] = "Other GPU"
    run.save(tmp_path)
    part = view_of(collect([tmp_path], []), "counts").counts
    assert part.counters_of(part.points[0]) == {"ffma": 1.0} and part.counter_machine == "Other GPU"


def test_all_kernels_that_a_call_launches_are_its_own(tmp_path):
    """Padding multiplies zeros in more than one kernel; what a library tries out is not watched."""
    run = Run("x")
    run.rate("gpu/matmul/padded", 100)
    run.save(tmp_path)
    write(tmp_path / "c.json", {"machine": GPU, "date": "2026-01-01", "tool": "ncu", "points": {
        run.benchmarks[0]["name"]: {"ffma": 8 * 512**3, "kernels_launched": 3}}})
    part = view_of(collect([tmp_path], []), "x").gpu
    assert part.counters_of(part.points[0])["ffma"] == 8 * 512**3


def test_many_readers_find_what_one_finds(tmp_path, monkeypatch):
    for day in range(1, 8):
        ladder(date=f"2026-01-0{day}T00:00:00").save(tmp_path / "results" / str(day))
    (tmp_path / "results" / "broken.json").write_text('{"context": {"schema_version": 2')
    (tmp_path / "results" / "foreign.json").write_text('{"who": "else"}')
    alone = collect([tmp_path / "results"], [])
    monkeypatch.setattr("report.data.collect.LARGE", 0)
    many = collect([tmp_path / "results"], [])
    assert many == alone and any("broken.json" in warning for warning in many.warnings)


def test_recorded_gpus_of_one_model_stand_in(tmp_path):
    """Of the live GPU's model, else of the one with most experiments, though another was recorded later."""
    for model, day, experiments in (("A", "2026-01-01", ("one", "two")), ("B", "2026-01-02", ("one",))):
        for name in experiments:
            ladder(experiment=name, gpu_name=model, gpu_uuid=f"GPU-{model}", date=f"{day}T00:00:00").save(tmp_path / "stored" / model)
    live = Run("two", gpu_name="", gpu_uuid="")
    live.rate("cpu/matmul/naive", 5)
    live.save(tmp_path / "cpu")
    other = Run("one", gpu_name="", gpu_uuid="")
    other.rate("cpu/matmul/naive", 5)
    other.save(tmp_path / "cpu")
    assert view_of(collect([tmp_path / "cpu"], [tmp_path / "stored"]), "one").gpu.machine.name == "A"
    ladder(experiment="three", gpu_name="B", gpu_uuid="GPU-B").save(tmp_path / "cpu")
    assert view_of(collect([tmp_path / "cpu"], [tmp_path / "stored"]), "one").gpu.machine.name == "B"


def test_further_samples_of_a_run_do_not_replace_it(tmp_path):
    run = ladder()
    run.context["checksum"] = "rung 12345678"
    first = run.save(tmp_path)
    more = Run(run.context["experiment"], more_of="rung 12345678", date="2027-01-01T09:30:00+00:00")
    more.rate("gpu/matmul/naive", 100)
    more.save(tmp_path / "more")
    study = collect([tmp_path], [])
    assert {part.run.path for part in study.parts} == {first}
    assert [s.note for s in study.sources if "more" in s.path] == ["2027-01-01T09:30:00, further samples: rung compare joins them"]
    assert collect([tmp_path / "more"], []).parts, "alone it is a run like others"
