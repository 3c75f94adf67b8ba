"""The textbook's factor, from invented data: what is said of a GPU with caches, of one without, and of either alone."""

import pytest
from synthetic import DRAM, GPU, Run, write
from test_experiments import section_of

from report.data.collect import collect
from report.sections.contributions import contributions

NAIVE, TILED = "gpu/textbook/naive", "gpu/textbook/tiled"


def requested(kernel, n):
    return 8 * n**3 / (16 if kernel == TILED else 1)


def timed(rates, n=4096, loads="usual", run=None, count=12, **fields):
    run = run or Run("textbook")
    if not any(b["kernel"].startswith("gpu/ceiling") for b in run.benchmarks):
        run.roofs("gpu")
    for kernel, rate in zip((NAIVE, TILED), rates):
        tunables = ({"block": "16x16"} if kernel == NAIVE else {}) | {"loads": loads}
        run.rate(kernel, rate, n, tunables=tunables, count=count, interleaved_with=1, bytes_declared_loaded=requested(kernel, n),
                 op_per_byte_declared=2 * n**3 / requested(kernel, n), **fields)
    return run


def counters(folder, run, dram=0.02):
    """Half merged, L1 leaves 6 % of the naive kernel's bytes; the tiled kernel has the same DRAM bytes as the naive one."""
    points = {}
    for b in run.benchmarks:
        if b["kernel"] in (NAIVE, TILED):
            naive = requested(NAIVE, b["sizes"]["n"])
            sectors = naive / 2 / 32 if b["kernel"] == NAIVE else naive / 16 / 32
            points[b["name"].removesuffix("/mode:cold")] = {"l1_load_sectors": sectors, "l2_load_sectors": 0.06 * naive / 32, "dram_bytes_read": dram * naive,
                                 "dram_bytes": dram * naive, "ffma": b["sizes"]["n"] ** 3}
    write(folder / "counters.json", {"machine": GPU, "date": "2026-01-01", "tool": "ncu", "points": points})


def modelled(run=None, bytes_of=lambda kernel, n: requested(kernel, n) * (0.75 if kernel == NAIVE else 1), n=128, lines=0, **more):
    run = run or Run("textbook")
    for kernel in (NAIVE, TILED):
        read = bytes_of(kernel, n)
        run.count(kernel, n, ({"block": "16x16"} if kernel == NAIVE else {}) | {"loads": "usual"}, **({
            "flops_useful": 2 * n**3, "bytes_executed_loaded": requested(kernel, n), "model_device": "GTX 280 (GT200)",
            "model_dram_bytes_read": read, "model_dram_bytes": read, "model_device_gflops": 622, "model_device_gbytes_per_s": 141.7,
            "model_l1_load_lines": lines, "model_l1_load_sectors": 0, "model_l2_load_sectors": 0} | more))
    return run


def test_caches_that_serve_take_the_factor(tmp_path):
    run = timed((100, 160))
    counters(tmp_path, run)
    section = section_of(tmp_path, run)
    text = section.finding.replace("\u00a0", " ")
    assert "predicts a factor of 16" in text and "1.60× as fast as the naive kernel" in text
    assert "merging within a warp’s request serves 50 % of the naive kernel’s requested bytes, L1 44 %, L2 4.0 % and DRAM 2.0 %" in text
    assert "6.0 % leave the multiprocessors, and the tiled kernel requests 6.2 %: merging" in text
    assert "From DRAM (one profiled run, empty caches) the tiled kernel reads 1.0 times as many bytes as the naive one at N = 4096, so that tiles save nothing there" in text
    assert section.answer[0].replace("\u00a0", " ").endswith("merged requests and caches keep 98 % of its requests from DRAM (in one profiled run).")
    assert section.figures[0].rows[0]["left"] == pytest.approx(0.06)
    assert all("Measured: requested bytes by the kernel’s record" in x.caption for x in (section.figures[0], section.tables[0]))


def test_bytes_that_all_come_from_memory_bring_it_back(tmp_path):
    run = timed((DRAM / 4, 4 * DRAM))
    write(tmp_path / "counters.json", {"machine": GPU, "date": "2026-01-01", "tool": "ncu", "points": {
        b["name"]: {"l1_load_sectors": (r := requested(b["kernel"], 4096)) / 32, "l2_load_sectors": r / 32, "dram_bytes_read": r, "ffma": 4096**3}
        for b in run.benchmarks if b["kernel"] in (NAIVE, TILED)}})
    section = section_of(tmp_path, run)
    assert "16× as fast" in section.finding


def test_without_caches_the_model_has_it(tmp_path):
    section = section_of(tmp_path, modelled())
    assert "the model gives 12× on GTX 280 (GT200)" in section.finding
    assert "fetch 75\u00a0% of the naive kernel’s requested bytes" in section.finding
    assert section.figures[0].rows[0]["naive_limit"] == "memory" and "Measured: requested" not in section.figures[0].caption


def test_arithmetic_and_the_data_path_end_the_models_factor(tmp_path):
    section = section_of(tmp_path, modelled(bytes_of=lambda kernel, n: 8 * n * n, model_device_gflops=10))
    assert section.figures[0].rows[0]["factor"] == 1 and section.figures[0].rows[0]["tiled_limit"] == "arithmetic"
    section = section_of(tmp_path, modelled(bytes_of=lambda kernel, n: 8 * n * n, lines=1e9, model_l1_load_sectors=4,
                                             model_l2_load_sectors=2, model_device_wavefronts_per_s=1e9))
    assert "data path" in section.figures[0].rows[0]["naive_limit"] and "the model of GTX 280 (GT200) gives 1×" in section.finding


def test_measured_and_modelled_settings_stand_together(tmp_path):
    run = modelled(timed((50, 150), loads="past_l1", run=timed((100, 160))))
    counters(tmp_path, run)
    section = section_of(tmp_path, run)
    assert "Of 2 measured settings the factor is largest, 3" in section.finding and "past L1" in section.finding
    assert len(section.figures[0].rows) == 3 and len(section.tables[0].rows) == 3


def test_times_alone_and_half_of_a_pair(tmp_path):
    section = section_of(tmp_path, timed((100, 160)))
    assert "1.60× as fast" in section.finding and not section.figures
    run = timed((100, 160))
    run.benchmarks = [b for b in run.benchmarks if b["kernel"] != TILED]
    run.save(tmp_path)
    assert contributions(collect([tmp_path], [])) == []


def test_the_ladders_kernels_stand_in_where_these_were_not_measured(tmp_path):
    ladder = Run("matmul_ladder")
    ladder.roofs("gpu")
    for name, rate, tunables in (("naive", 100, {"block": 16}), ("naive", 120, {"block": 32}), ("tiled", 170, {"tile": 16}), ("tiled", 300, {"tile": 32})):
        ladder.rate(f"gpu/matmul/{name}", rate, tunables=tunables)
    ladder.save(tmp_path)
    modelled().save(tmp_path)
    section = next(c.section for c in contributions(collect([tmp_path], [])) if c.view.name == "textbook")
    assert "1.70× as fast as the naive kernel" in section.finding and len(section.tables[0].rows) == 2
    assert "16 × 16 tiles make the naive FP32 product 1.70× as fast" in section.answer[0]


def test_of_several_experiments_the_one_with_counters_stands_in(tmp_path):
    """The first kernels are shown before the ladder, but no counters belong to their size."""
    for experiment, n, rates in (("first_kernels", 1024, (100, 200)), ("matmul_ladder", 512, (100, 150))):
        run = Run(experiment)
        run.roofs("gpu")
        for name, rate, tunables in zip(("naive", "tiled"), rates, ({"block": 16}, {"tile": 16})):
            run.rate(f"gpu/matmul/{name}", rate, n, tunables=tunables, bytes_declared_loaded=8 * n**3 / (1 if name == "naive" else 16))
        run.save(tmp_path)
    points = {b["name"]: {"l1_load_sectors": 8 * 512**3 / 64, "l2_load_sectors": 1e6, "dram_bytes_read": 8e6 if "naive" in b["name"] else 4e6, "ffma": 512**3}
              for b in run.benchmarks if "gpu/matmul" in b["name"]}
    write(tmp_path / "counters.json", {"machine": GPU, "date": "2026-01-01", "tool": "ncu", "points": points})
    modelled().save(tmp_path)
    section = next(c.section for c in contributions(collect([tmp_path], [])) if c.view.name == "textbook")
    assert "1.50× as fast as the naive kernel" in section.finding
    assert "reads 0.50 times as many bytes" in section.finding and "save nothing" not in section.finding


def test_requests_that_do_not_merge_bring_it_back_by_the_model_unless_a_measured_setting_has_it(tmp_path):
    cached = dict(lines=1e9, model_l1_load_sectors=4, model_l2_load_sectors=2, model_device_wavefronts_per_s=1e9,
                  bytes_of=lambda kernel, n: requested(kernel, n), model_device="H200")
    assert "the factor comes back (16" in section_of(tmp_path / "a", modelled(timed((100, 160)), **cached | {"model_device_wavefronts_per_s": 1e15})).finding
    assert "comes back" not in section_of(tmp_path / "b", modelled(timed((100, 160)), **cached)).finding
    assert "comes back" not in section_of(tmp_path / "c", modelled(timed((100, 1600)), **cached | {"model_device_wavefronts_per_s": 1e15})).finding


def test_a_hot_rate_stands_next_to_no_bytes_that_the_caches_hold(tmp_path):
    """Counters are read with empty caches: at a size that the L2 holds, the first reading of the operands does not apply to successive calls."""
    run = timed((100, 160), run=timed((90, 150), n=512, run=timed((80, 120), n=512, mode="cold", run=timed((90, 140), mode="cold"))))
    for b in (b for b in run.benchmarks if b["mode"] == "cold"):
        b["name"] = b["run_name"] = f"{b['name']}/mode:cold"
    run.context["gpu_l2_bytes"] = 50 * 2**20
    counters(tmp_path, run)
    section = section_of(tmp_path, run)
    assert "reads 1.0 times as many bytes as the naive one at N\u00a0=\u00a04096, so" in section.finding and "N\u00a0=\u00a0512 and" not in section.finding
    rows = {r["setting"].replace("\u00a0", " "): r for r in section.tables[0].rows}
    shares = {name: (r["naive_L1"], r["naive_DRAM"]) for name, r in rows.items()}
    near = pytest.approx
    assert shares["16 × 16, N = 4096"] == (near(0.44), near(0.02)) and shares["16 × 16, cold, N = 4096"] == (None, None)
    assert shares["16 × 16, cold, N = 512"] == (near(0.44), near(0.02)) and shares["16 × 16, N = 512"] == (None, None)
    assert "hot and cold are one measurement, shown once" in section.tables[0].caption and "one profiled run, empty caches" in section.tables[0].caption


def test_alone_a_hot_setting_keeps_what_does_not_depend_on_the_l2(tmp_path):
    run = timed((90, 150), n=512)
    run.context["gpu_l2_bytes"] = 50 * 2**20
    counters(tmp_path, run)
    section = section_of(tmp_path, run)
    row = section.tables[0].rows[0]
    assert row["naive_L1"] == pytest.approx(0.44) and row["naive_L2"] is None is row["naive_DRAM"] and "DRAM" not in section.finding
    assert "no L2 and DRAM in hot rows" in section.tables[0].caption
