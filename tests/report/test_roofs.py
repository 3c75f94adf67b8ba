"""Roofs: one for a machine, a resource and a number of threads; a value above its roof is a warning, never 315 %."""

import csv
import json
import re

import pytest
from conftest import printed
from synthetic import DRAM, PEAK, Run, ladder, write

from report.cli import main
from report.data.collect import collect
from report.data.limits import use
from report.data.roofs import BEYOND, Roof, Roofs, share
from report.sections import doubts, first_page
from report.text import words


def part_of(folder, name="matmul_ladder", side="gpu"):
    view = next(v for v in collect([folder], []).views if v.name == name)
    return getattr(view, side)


def ceilings(folder, name, factor, side="gpu", **context):
    run = Run("ceilings", **context)
    run.roofs(side, (1, 4) if side == "cpu" else (), factor=factor)
    return run.save(folder, name)


def test_a_roof_is_the_best_of_all_runs_of_the_machine(tmp_path):
    ladder().save(tmp_path)
    for name, factor, day in (("a", 1.05, "2026-02-01"), ("b", 0.6, "2026-02-05")):
        ceilings(tmp_path, name, factor, date=f"{day}T00:00:00")
    for name in ("matmul_ladder", "ceilings"):
        peak = part_of(tmp_path, name).roofs.peak("fp32")
        assert peak.value == pytest.approx(1.05 * PEAK, rel=0.01) and peak.lowest == pytest.approx(0.6 * PEAK, rel=0.01)
        assert peak.run.endswith("a.json") and peak.day == "2026-02-01" and peak.kernel == "gpu/ceiling/fp32_fma"
        assert [round(x.value / PEAK, 2) for x in peak.readings] == [0.6, 1.0, 1.05]


def test_every_variant_of_a_resource_counts(tmp_path):
    """Streaming stores in one run, reading in another: one roof of DRAM for both; a copy's rate where that is requested."""
    for name, label, rate in (("a", "DRAM copy", 80), ("b", "DRAM copy, streaming", 130), ("c", "DRAM triad", 90), ("d", "DRAM", 150)):
        run = ladder(experiment=name)
        kernel = run.kernel(f"gpu/ceiling/{name}", ceiling={"label": label, "is_bandwidth": True})
        run.time(kernel, 0.001, {"bytes": 1000}, bytes_min=rate * 1e6)
        run.save(tmp_path)
    for name in "abcd":
        roofs = part_of(tmp_path, name).roofs
        assert roofs.dram().value == pytest.approx(150, rel=0.01) and roofs.memory("DRAM", 1 / 2).label == "DRAM copy, streaming"
    assert Roofs().memory("DRAM", 1 / 2) is None


def test_a_file_that_is_found_twice_counts_once(tmp_path):
    ladder().save(tmp_path)
    peak = collect([tmp_path], [tmp_path]).views[0].gpu.roofs.peak("fp32")
    assert len(peak.readings) == 1


def test_boards_of_one_model_are_not_mixed(tmp_path):
    ladder().save(tmp_path)
    ceilings(tmp_path, "other", 2, gpu_uuid="GPU-87654321")
    roofs = part_of(tmp_path).roofs
    assert roofs.peak("fp32").value == pytest.approx(PEAK, rel=0.01) and roofs.note == ""
    model = roofs.of_model().peak("fp32")
    assert model.value == pytest.approx(2 * PEAK, rel=0.01) and len({x.machine for x in model.readings}) == 2
    run = Run("bare")
    run.rate("gpu/matmul/naive", 100)
    run.kernel("gpu/ceiling/dram_read", ceiling={"label": "DRAM read", "is_bandwidth": True})
    run.time("gpu/ceiling/dram_read", 0.001, {"bytes": 1000}, bytes_min=90e6)
    run.context["gpu_uuid"] = "GPU-aaaaaaaa"
    run.save(tmp_path)
    roofs = part_of(tmp_path, "bare").roofs
    assert roofs.dram().value == pytest.approx(90, rel=0.01), "its own, though lower"
    assert roofs.peak("fp32").value == pytest.approx(2 * PEAK, rel=0.01)
    assert roofs.note == "FP32 FMA, L2 of Synthetic GPU (board 8765)"
    run.benchmarks = [e for e in run.benchmarks if e["kernel"] != "gpu/matmul/naive"]
    run.skip("gpu/matmul/naive", "too large")
    run.save(tmp_path)
    run = Run("moves", gpu_uuid="GPU-aaaaaaaa", problems={"vector": {"metric": {"key": "gbytes_per_s", "unit": "GB/s"}}})
    run.time("gpu/vector/add", 0.001, {"n": 1000}, bytes_min=12000)
    run.skip("gpu/matmul/naive", "too large")
    run.save(tmp_path)
    assert part_of(tmp_path, "moves").roofs.note == "L2 of Synthetic GPU (board 8765)", "what judges nothing is not borrowed"


def test_a_cpu_that_has_a_name_in_common_is_not_the_same(tmp_path):
    """Recorded elsewhere, or the host of another GPU."""
    ladder("cpu").save(tmp_path / "live")
    ceilings(tmp_path / "live", "host", 2, "cpu", gpu_name="Other GPU", gpu_uuid="")
    ceilings(tmp_path / "stored", "stored", 3, "cpu")
    view = next(v for v in collect([tmp_path / "live"], [tmp_path / "stored"]).views if v.name == "cpu_ladder")
    assert view.cpu.roofs.peak("fp32").value == pytest.approx(PEAK / 10, rel=0.01) and view.cpu.roofs.note == ""


def test_more_threads_than_processors_make_no_roof(tmp_path):
    """Each reads a part that its cache holds."""
    run = ladder("cpu")
    name = "cpu/ceiling/dram_read"
    run.time(name, 0.001, {"bytes": 1000}, threads=32, name=f"{name}/bytes:1000/threads:32", bytes_min=90e6, oversubscribed=True)
    run.save(tmp_path)
    roofs = part_of(tmp_path, "cpu_ladder", "cpu").roofs
    assert {r.threads for r in roofs.all} == {1, 4} and roofs.of_threads(None).dram().value == pytest.approx(DRAM / 10, rel=0.01)


def test_runs_that_disagree_are_marked(tmp_path, plain):
    ladder().save(tmp_path / "in")
    for name, factor in (("slow", 0.85), ("near", 0.95)):
        run = ladder(experiment=name)
        run.benchmarks = []
        run.roofs("gpu", factor=factor)
        run.rate("gpu/matmul/naive", 50)
        run.save(tmp_path / "in")
    study = collect([tmp_path / "in"], [])
    [text], [pointer] = doubts.limits(study), doubts.warnings(study)
    assert pointer == "1 further doubt, about roofs or samples, stands under Limits of validity."
    assert "Runs differ by more than 10\u00a0% in all 3 roofs of the GPU (Synthetic GPU (board 1234)) that several runs measured" in text
    assert "most in FP32 FMA (849 to 999\u00a0GFLOP/s in 3 runs)" in text and "All are in tables/roofs_gpu.csv" in text
    [marked] = doubts.marked(study)
    assert marked.startswith("Title of slow (GPU: ") and "DRAM read 84.9 of 99.9" in marked
    assert main([str(tmp_path / "in"), "--output", str(tmp_path / "out")]) == 0
    content = printed(tmp_path / "out")
    assert pointer in content["page"]["warnings"] and "Runs differ" in json.dumps(content["method"])
    assert "Runs that measured a roof more than 10\u00a0% lower" in json.dumps(content["method"], ensure_ascii=False)


def test_all_threads_slower_than_one_are_marked(tmp_path):
    run = ladder("cpu")
    run.benchmarks = [e for e in run.benchmarks if not (e["kernel"] == "cpu/ceiling/fp32_fma" and e["threads"] == 4)]
    run.time("cpu/ceiling/fp32_fma", 0.001, {"bytes": 1000}, threads=4, name="cpu/ceiling/fp32_fma/bytes:1000/threads:4", flops_useful=20e6)
    run.save(tmp_path)
    assert any("All threads were slower than one" in w and "FP32 FMA (20.0 against 25.0\u00a0GFLOP/s)" in w
               for w in doubts.limits(collect([tmp_path], [])))
    # and in one run alone, though another one was right
    ladder("cpu", experiment="again").save(tmp_path)
    study = collect([tmp_path], [])
    assert study.views[0].cpu.roofs.of_threads(None).peak("fp32").value == pytest.approx(100, rel=0.01)
    assert any("All threads were slower" in w for w in doubts.limits(study))


def test_clocks_scale_arithmetic_and_shared_memory_alone():
    fma = Roof("FMA", 100, False, "fp32", n=9, clock_mhz=2000)
    assert fma.scaled(1500) == 75 and fma.scaled(None) is None
    assert Roof("Shared memory", 100, True, "fp32", n=9, clock_mhz=2000).scaled(1500) == 75
    assert Roof("DRAM read", 100, True, "fp32", n=9, clock_mhz=2000).scaled(1500) is None
    assert Roof("L2", 100, True, "fp32", n=9, clock_mhz=2000).scaled(1500) is None
    found = share(60, None, fma, 1500)
    assert found.value == 0.6 and found.at_clock == 0.8 and found.is_slowed
    assert not share(60, None, fma, 1999).is_slowed and share(60, None, fma).at_clock is None


def test_a_cpu_s_clock_scales_nothing(tmp_path):
    """It is read between samples, of one core."""
    run = ladder("cpu")
    for entry in run.benchmarks:
        entry["sm_clock_mhz"] = 3000 if "ceiling" in entry["kernel"] else 2000
    run.save(tmp_path)
    part = part_of(tmp_path, "cpu_ladder", "cpu")
    top = next(p for p in part.timed() if p.kernel.title == "top")
    assert part.roofs.of_peak(top).at_clock is None and part.roofs.clock_mhz is None and "clock" not in words.of_peak(part.roofs.of_peak(top))


def test_a_roof_has_the_mean_clock_of_its_samples(tmp_path):
    run = ladder()
    for entry in run.benchmarks:
        if entry["kernel"] == "gpu/ceiling/fp32_fma":
            entry["sm_clock_mhz"] = 1900 if entry["repetition_index"] < 6 else 2000
    run.save(tmp_path)
    assert part_of(tmp_path).roofs.peak("fp32").clock_mhz == pytest.approx(1950)


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
    (315, (310, 320), True, "above the roof"), (101, (98, 104), False, "101\u00a0%"), (76, (75, 77), False, "76\u00a0%"),
    (106, None, True, "above the roof"), (104, (103.9, 104.1), False, "104\u00a0%"), (106, (50, 200), True, "above the roof")))
def test_a_share_is_given_as_it_is_up_to_what_roofs_vary(value, around, exceeds, text):
    found = share(value, around, Roof("FMA", 100, False, "fp32", low=97, high=105, n=9))
    assert found.exceeds == exceeds and words.share(found) == text and found.told == (None if exceeds else value / 100)


def test_an_exceeded_roof_is_a_warning_and_never_a_percentage(tmp_path, plain):
    run = ladder()
    run.rate("gpu/matmul/wonder", 3.15 * PEAK)
    run.save(tmp_path / "in")
    assert main([str(tmp_path / "in"), "--output", str(tmp_path / "out")]) == 0
    text = (tmp_path / "out" / "report.json").read_text().replace("\u200b", "")
    page = printed(tmp_path / "out")["page"]
    assert any("more than 5\u00a0% above a measured roof" in w and "(1 point: wonder 3.15× FP32 FMA)" in w for w in page["warnings"])
    assert "3.15× as much: the rate or the peak is wrong" in text and "too low" not in text and max(map(float, re.findall(r"([\d.]+)\u00a0%", text))) <= 105


def test_an_algorithm_that_does_other_operations_has_no_share_of_a_peak(tmp_path):
    """Products by Strassen's algorithm, or on tensor cores by parts, may exceed a roof that is right."""
    run = ladder()
    run.rate("gpu/matmul/parts", 3 * PEAK, error_factor=4.0)
    run.save(tmp_path)
    study = collect([tmp_path], [])
    part = study.views[0].gpu
    point = next(p for p in part.timed() if p.kernel.title == "parts")
    assert part.roofs.of_peak(point) is None and first_page.warnings(study, []) == []
    assert "arithmetic" not in use(part, point).shares


def test_scattered_roofs_are_a_warning(tmp_path, plain):
    run = ladder()
    for entry in run.benchmarks:
        if entry["kernel"] == "gpu/ceiling/l2" and entry["repetition_index"] == 0:
            entry["real_time"] *= 3
    run.save(tmp_path / "in")
    assert main([str(tmp_path / "in"), "--output", str(tmp_path / "out")]) == 0
    content = printed(tmp_path / "out")
    assert "The machine was not quiet" not in json.dumps(content["page"])
    assert any("L2" in b.get("text", "") and "factor of two" in b["text"] for b in content["method"])


def test_data_sheets_stand_beside_and_never_judge(tmp_path):
    ladder().save(tmp_path)
    write(tmp_path / "sheet.json", {"machine": "synthetic gpu", "date": "2026-01-01", "empirical": {}, "spec": {
        "gflops": {"data": [["FP32", 9 * PEAK], ["BF16 tensor", 1e6]]}, "gbytes": {"data": [["DRAM", 9 * DRAM]]}}})
    roofs = part_of(tmp_path).roofs
    assert roofs.peak("fp32").value < 2 * PEAK and roofs.peak("fp32", measured=False).value == 9 * PEAK
    assert roofs.peak("bf16", measured=False).value == 1e6


def test_many_experiments_on_a_busy_machine_make_one_warning_and_one_limit(tmp_path):
    """So that the first page keeps its figures."""
    for name in ("one", "two", "three"):
        run = ladder(experiment=name)
        run.rate("gpu/matmul/wonder", 3 * PEAK)
        for entry in run.benchmarks:
            if entry["kernel"] == "gpu/ceiling/l2" and entry["repetition_index"] == 0:
                entry["real_time"] *= 3
        run.save(tmp_path)
    study = collect([tmp_path], [])
    (above, pointer), [scattered] = first_page.warnings(study, []), doubts.limits(study)
    assert pointer.startswith("1 further doubt") and above.count("(1 point: wonder 3× FP32 FMA)") == scattered.count("(L2)") == 3


def measured_again(factor: float, wonder: float = 3.0) -> Run:
    """A ladder with a kernel above the peak, for which the run measured the peak again, higher by this factor."""
    run = ladder()
    run.rate("gpu/matmul/wonder", wonder * PEAK)
    again = [e | {"remeasured": 1, "real_time": e["real_time"] / factor} for e in run.benchmarks if e["kernel"] == "gpu/ceiling/fp32_fma"]
    run.benchmarks += again
    return run


@pytest.mark.parametrize("factor, said", ((1.0, "1 roof measured again in the same run did not rise."),
                                          (0.5, "1 roof measured again in the same run did not rise."),
                                          (2.0, "these roofs rose: FP32 FMA (999 to 2000\u00a0GFLOP/s).")))
def test_what_came_of_measuring_a_roof_again_is_told(tmp_path, factor, said):
    measured_again(factor).save(tmp_path)
    study = collect([tmp_path], [])
    assert study.views[0].gpu.roofs.peak("fp32").value == pytest.approx(max(factor, 1.0) * PEAK, rel=0.01)
    warnings = [w for w in first_page.warnings(study, []) if "above a measured roof" in w]
    assert len(warnings) == 1 and warnings[0].endswith(said), warnings


def test_a_roof_that_rose_above_its_points_is_told_alone(tmp_path):
    measured_again(2.0, 1.9).save(tmp_path)
    study = collect([tmp_path], [])
    [limit] = doubts.limits(study)
    assert limit.startswith("Measured again in the same run, these roofs rose: FP32 FMA")
    assert not any("roof" in text for text in first_page.warnings(study, []) if "further doubt" not in text)


def test_no_table_has_a_share_above_its_roof(tmp_path, plain):
    run = ladder()
    run.rate("gpu/matmul/wonder", 212 * PEAK)
    run.save(tmp_path / "in")
    assert main([str(tmp_path / "in"), "--output", str(tmp_path / "out")]) == 0
    shares = [(path.name, key, value) for path in (tmp_path / "out").rglob("*.csv") for row in csv.DictReader(path.open())
              for key, value in row.items() if "share" in key and value]
    assert shares and [s for s in shares if float(s[2]) > BEYOND] == []
    assert "212× as much: the rate or the peak is wrong" in (tmp_path / "out" / "report.json").read_text()
