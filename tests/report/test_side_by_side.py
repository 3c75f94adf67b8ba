"""Machines side by side: which are compared, by which numbers, and where verdicts differ."""

import pytest
from conftest import RECORDED
from synthetic import ladder

from report import compose, document
from report.claims.verdict import FAILS, HOLDS
from report.data.collect import collect
from report.experiment import build
from report.sections import side_by_side


def made(tmp_path, *names):
    """A study of a ladder on GPUs of these names, each with its own rate."""
    for i, name in enumerate(names):
        run = ladder(gpu_name=name, gpu_uuid=f"GPU-{i}{i}{i}{i}")
        for entry in run.benchmarks:
            entry["real_time"] = entry["real_time"] / (i + 1)
        run.save(tmp_path / name.replace(" ", "_"))
    ladder("cpu", gpu_name="", gpu_uuid="").save(tmp_path / "cpu")
    return document.make(collect([tmp_path], []))


def test_one_machine_is_not_compared(tmp_path):
    assert made(tmp_path, "NVIDIA One").beside is None


def test_each_kernel_has_its_rate_on_each_machine(tmp_path):
    study = made(tmp_path, "NVIDIA One", "NVIDIA Two")
    figure = next(f for f in study.beside.figures if f.name == "machines_matmul_fp32_gpu")
    rows = {r["kernel"]: r for r in figure.rows}
    assert len(rows) > 2
    for row in rows.values():
        assert row["value on NVIDIA Two"] == pytest.approx(2 * row["value on NVIDIA One"])
    content = compose.documents(study, {})
    assert "machines" in content and any(b["kind"] == "figures" for b in content["machines"]["main"])


def test_rates_are_relative_to_the_first(tmp_path):
    study = made(tmp_path, "NVIDIA One", "NVIDIA Two")
    table = next(t for t in study.beside.tables if t.name == "machines_rates_gpu")
    first, second = (m.name for m in side_by_side.machines(study.study)["gpu"])
    factor = table.rows[0][f"{second} over {first}"]
    assert factor == pytest.approx(2 if second.endswith("Two") else 0.5)


def test_the_recorded_machines():
    """Two GPUs and two CPUs; the fastest rungs are those of the machines' own ladders."""
    study = collect([RECORDED / name for name in ("nvidia-h200", "nvidia-h100", "amd-epyc-2-cores")], [])
    found = side_by_side.machines(study)
    assert {side: len(some) for side, some in found.items()} == {"cpu": 2, "gpu": 2}
    beside = document.make(study).beside
    figure = next(f for f in beside.figures if f.name == "machines_matmul_fp32_gpu")
    for machine in found["gpu"]:
        mine = build(machine.parts["matmul_ladder"], "matmul", "fp32", 8192)
        rows = {r["kernel"]: r[f"value on {machine.name}"] for r in figure.rows}
        assert rows[mine.fastest.point.kernel.name] == mine.fastest.point.value


def test_verdicts_that_differ_are_listed():
    class Entry:
        id, text = "a", "A claim"

    class Found:
        entry, measured, words, why = Entry, "1×", "said", "since"

        def __init__(self, machine, verdict):
            self.machine, self.verdict = machine, verdict
    table, = side_by_side.verdicts([Found("One", HOLDS), Found("Two", FAILS)])
    assert [r["machine"] for r in table.rows] == ["One", "Two"]
    assert side_by_side.verdicts([Found("One", HOLDS), Found("Two", HOLDS)]) == []
