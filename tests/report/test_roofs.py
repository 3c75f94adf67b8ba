"""Roofs: of the run that they judge and for the number of threads; a value above its roof is a warning, never 315 %."""

import json
import re

import pytest
from synthetic import DRAM, PEAK, Run, ladder, write

from report.cli import main
from report.data.collect import collect
from report.data.roofs import Roof, Roofs, share
from report.sections import first_page
from report.text import words


def part_of(folder, name="matmul_ladder", side="gpu"):
    view = next(v for v in collect([folder], []).views if v.name == name)
    return getattr(view, side)


def test_roofs_are_those_of_the_same_run(tmp_path):
    """Higher roofs of the same machine in another run change nothing."""
    ladder().save(tmp_path)
    other = Run("ceilings")
    other.roofs("gpu", factor=3)
    other.save(tmp_path)
    roofs = part_of(tmp_path).roofs
    assert roofs.note == "" and roofs.peak("fp32").value == pytest.approx(PEAK, rel=0.01)


def test_without_roofs_of_its_own_a_run_has_the_nearest_ones_and_says_so(tmp_path):
    run = Run("matmul_ladder")
    run.rate("gpu/matmul/naive", 100)
    run.save(tmp_path)
    for hours, factor in ((1, 2), (9, 3)):
        other = Run("ceilings", date=f"2026-02-03T{9 + hours:02}:30:00+00:00")
        other.roofs("gpu", factor=factor)
        other.save(tmp_path, f"ceilings_{hours}")
    roofs = part_of(tmp_path).roofs
    assert roofs.peak("fp32").value == pytest.approx(2 * PEAK, rel=0.01) and roofs.note == "measured 60\u00a0min apart"
    for path in tmp_path.glob("ceilings*.json"):
        data = json.loads(path.read_text())
        data["context"]["gpu_uuid"] = "GPU-87654321"
        write(path, data)
    assert "on another board: Synthetic GPU (board 8765)" in part_of(tmp_path).roofs.note


def test_one_thread_is_judged_by_the_roofs_of_one_thread(tmp_path):
    run = ladder("cpu")
    run.rate("cpu/matmul/single", 20, threads=1)
    run.save(tmp_path)
    part = part_of(tmp_path, "cpu_ladder", "cpu")
    single = next(p for p in part.timed() if p.kernel.name.endswith("single"))
    assert part.roofs.of_peak(single).roof.threads == 1
    assert part.roofs.of_peak(single).value == pytest.approx(20 / (PEAK / 40), rel=0.01)
    whole = next(p for p in part.timed() if p.kernel.name.endswith("top"))
    assert part.roofs.of_peak(whole).roof.threads == 4
    assert part.roofs.of_threads(2).peak("fp32") is None, "no roof was measured with two threads"


def test_a_level_s_roof_is_the_highest_of_reading_copying_and_triads():
    roofs = Roofs(tuple(Roof(label, value, True, "fp32", n=9) for label, value in (
        ("DRAM read", 33.1), ("DRAM triad, streaming", 42.0), ("DRAM copy", 30.0), ("HBM copy", 41.0), ("L2", 90.0))))
    assert {name: r.value for name, r in roofs.levels().items()} == {"L2": 90.0, "DRAM": 42.0}


def test_the_bound_is_the_lower_of_both_roofs():
    roofs = Roofs((Roof("DRAM read", DRAM, True, "fp32", n=9), Roof("FMA", PEAK, False, "fp32", n=9)))
    assert roofs.bound(0.25, "fp32") == 0.25 * DRAM and roofs.bound(1e6, "fp32") == PEAK
    assert roofs.bound(1.0, "bf16") is None and Roofs().bound(1.0, "fp32") is None


def test_roofs_of_other_types_do_not_judge():
    roofs = Roofs((Roof("AMX BF16", 9e4, False, "bf16", n=9), Roof("FMA", PEAK, False, "fp32", n=9)))
    assert roofs.peak("fp32").value == PEAK and roofs.peak("fp64") is None


@pytest.mark.parametrize("value, around, exceeds, text", (
    (315, (310, 320), True, "above the roof"), (101, (98, 104), False, "100\u00a0%"), (76, (75, 77), False, "76\u00a0%"),
    (106, None, True, "above the roof")))
def test_a_share_is_never_above_all(value, around, exceeds, text):
    found = share(value, around, Roof("FMA", 100, False, "fp32", low=97, high=105, n=9))
    assert found.exceeds == exceeds and words.share(found) == text


def test_an_exceeded_roof_is_a_warning_and_never_a_percentage(tmp_path, plain):
    run = ladder()
    run.rate("gpu/matmul/wonder", 3.15 * PEAK)
    run.save(tmp_path / "in")
    assert main([str(tmp_path / "in"), "--output", str(tmp_path / "out")]) == 0
    text = (tmp_path / "out" / "report.json").read_text().replace("\u200b", "")
    page = json.loads(text)["page"]
    assert any("above a measured roof" in w and "1 point, FP32 FMA" in w for w in page["warnings"])
    assert "measured too low" in text and max(map(float, re.findall(r"([\d.]+)\u00a0%", text))) <= 100


def test_scattered_roofs_are_a_warning(tmp_path, plain):
    run = ladder()
    for entry in run.benchmarks:
        if entry["kernel"] == "gpu/ceiling/l2" and entry["repetition_index"] == 0:
            entry["real_time"] *= 3
    run.save(tmp_path / "in")
    assert main([str(tmp_path / "in"), "--output", str(tmp_path / "out")]) == 0
    page = json.loads((tmp_path / "out" / "report.json").read_text())["page"]
    assert any("L2" in w and "factor of two" in w for w in page["warnings"])


def test_data_sheets_stand_beside_and_never_judge(tmp_path):
    ladder().save(tmp_path)
    write(tmp_path / "sheet.json", {"machine": "synthetic gpu", "date": "2026-01-01", "empirical": {}, "spec": {
        "gflops": {"data": [["FP32", 9 * PEAK], ["BF16 tensor", 1e6]]}, "gbytes": {"data": [["DRAM", 9 * DRAM]]}}})
    roofs = part_of(tmp_path).roofs
    assert roofs.peak("fp32").value < 2 * PEAK and roofs.peak("fp32", measured=False).value == 9 * PEAK
    assert roofs.peak("bf16", measured=False).value == 1e6


def test_many_experiments_on_a_busy_machine_make_two_warnings(tmp_path):
    """One of each kind, so that the first page keeps its figures."""
    for name in ("one", "two", "three"):
        run = ladder(experiment=name)
        run.rate("gpu/matmul/wonder", 3 * PEAK)
        for entry in run.benchmarks:
            if entry["kernel"] == "gpu/ceiling/l2" and entry["repetition_index"] == 0:
                entry["real_time"] *= 3
        run.save(tmp_path)
    study = collect([tmp_path], [])
    above, scattered = first_page.warnings(study, [])
    assert above.count("1 point, FP32 FMA") == scattered.count("(L2)") == 3
