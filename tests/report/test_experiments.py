"""The experiments' own sections (ratio, bank conflicts, barriers, emulator): what they conclude from invented data."""

import pytest
from synthetic import GPU, Run, write

from report.data.collect import collect
from report.experiment import Table
from report.sections.contributions import contributions


def section_of(folder, *runs):
    for run in runs:
        run.save(folder)
    return contributions(collect([folder], []))[0].section


def table(section, name):
    return next(x for x in section.appendix if isinstance(x, Table) and x.name.endswith(name)).rows


def counters(folder, points):
    write(folder / "counters.json", {"machine": GPU, "date": "2026-01-01", "tool": "ncu", "points": points})


# Operations per byte


def counted(run, variant, ratio, n=64, off=0, **tunables):
    """A counted product with this ratio of operations per byte."""
    flops, loaded = 2 * n**3, 2 * n**3 / ratio
    run.count(f"gpu/matmul/{variant}", n, tunables, flops_useful=flops, flops_executed=flops, bytes_min=12 * n * n,
              bytes_declared_loaded=loaded, bytes_executed_loaded=loaded + off, bytes_declared_stored=4 * n * n,
              bytes_executed_stored=4 * n * n, op_per_byte_declared=ratio, load_requests=loaded / 128,
              sectors_per_load_request=4.0)


def ratios(off=0, naive=0.25):
    run = Run("ratio")
    for n in (64, 256):
        counted(run, "naive", naive, n)
        for tile in (8, 16, 32):
            counted(run, "tiled", tile / 4, n, off if tile == 16 else 0, tile=tile)
    return run


def hardware(run, factor=1.0):
    """What the GPU would count of the same."""
    return {e["name"]: {"ffma": e["flops_useful"] / 2 * factor, "load_requests": e["load_requests"]} for e in run.benchmarks}


def test_the_ratio_holds_by_every_way_that_is_known(tmp_path):
    run = ratios()
    section = section_of(tmp_path, run)
    assert "to the byte for all 8 points" in section.finding
    counters(tmp_path, hardware(run))
    section = section_of(tmp_path)
    assert "Synthetic GPU were read for all 8 points. Their operations over load requests" in section.finding
    assert {r["measured"] for r in table(section, "points") if "tile 16" in r["title"]} == {4.0}


def test_one_byte_more_is_seen(tmp_path):
    section = section_of(tmp_path, ratios(off=4))
    assert "to the byte for 6 of 8 points" in section.finding
    assert [r["as_declared"] for r in table(section, "points") if "tile 16" in r["title"]] == [False, False]


def test_hardware_that_counts_otherwise_refutes_the_ratio(tmp_path):
    run = ratios()
    counters(tmp_path, hardware(run, factor=2))
    section = section_of(tmp_path, run)
    assert "ratio for 0 of 8 points" in section.finding


def test_padding_is_executed_but_not_useful(tmp_path):
    run = ratios()
    run.benchmarks[-1]["flops_executed"] *= 2
    section = section_of(tmp_path, run)
    assert any("tiled (tile 32)" in x and "50\u00a0%" in x for x in section.appendix if isinstance(x, str))


# Shared memory at a stride


def wavefronts(stride, padding):
    """Of 32 lanes that read 4-byte words so far apart, rows of 32 words being padded."""
    words = {lane * stride + padding * (lane * stride // 32) for lane in range(32)}
    return max(sum(word % 32 == bank for word in words) for bank in range(32))


def strided(is_timed=True, cost=wavefronts):
    run = Run("bank_conflicts", problems={"read": {"title": "Reads", "metric": {"key": "gbytes_per_s", "unit": "GB/s"}}})
    for stride in range(1, 33):
        for padding in (0, 1):
            tunables, sizes = {"stride": stride, "width": 4, "padding": padding}, {"bytes": 65536}
            waves, requests = wavefronts(stride, padding), 2048
            if is_timed:
                run.time("gpu/read/strided", requests * 128 * cost(stride, padding) / 3e13, sizes, tunables,
                         bytes_min=requests * 128)
            run.count("gpu/read/strided", sizes, tunables, bytes_min=requests * 128, shared_load_requests=requests + 64,
                      shared_load_wavefronts=requests * waves + 64)
    return run


def test_conflicts_refute_full_speed(tmp_path):
    section = section_of(tmp_path, strided())
    assert "only 16, the odd ones, reach" in section.finding and "stride 32 is 32× slower" in section.finding
    assert "restores the full rate" in section.finding and "stride 31 then is" in section.finding
    rows = table(section, "points")
    assert {r["wavefronts_per_request"] for r in rows if not r["padding"] and r["stride"] == 8} == {8}
    assert all(r["predicted"] == pytest.approx(r["value"], rel=0.01) for r in rows)


def test_equal_strides_support_full_speed(tmp_path):
    section = section_of(tmp_path, strided(cost=lambda stride, padding: 1))
    assert section.finding.startswith("Yes: all 32 strides")
    assert "(stride 31" in section.finding or "(stride 32" in section.finding


def test_without_times_the_counted_wavefronts_are_told(tmp_path):
    section = section_of(tmp_path, strided(is_timed=False))
    assert "take a single wavefront" in section.finding and "nothing was timed" in section.figures[0].caption
    assert "slower" not in section.finding


@pytest.mark.parametrize("is_timed, said", ((True, "In a random order the lanes reach 25 % of the best rate."),
                                            (False, "In a random order a request takes 3.50 wavefronts.")))
def test_a_random_order_is_said_beside_the_strides(tmp_path, is_timed, said):
    run = strided(is_timed)
    if is_timed:
        run.time("gpu/read/shared_random", 4 * 2048 * 128 / 3e13, {"bytes": 65536}, {}, bytes_min=2048 * 128)
    run.count("gpu/read/shared_random", {"bytes": 65536}, {}, bytes_min=2048 * 128, shared_load_requests=2048, shared_load_wavefronts=7168)
    assert said in section_of(tmp_path, run).finding.replace("\u00a0", " ")


# Barriers and fences

ROUND = {"block_barriers": 2.0, "double_buffer": 1.0, "warp_barriers": 0.5, "global_memory": 4.0}
"""Microseconds of a round in blocks of 32; in blocks of 1024 twice that."""


def barriers(fence_cost=3.0, sums=True):
    run = Run("barriers", problems={name: {"title": name, "metric": {"key": "seconds", "unit": "s"}}
                                    for name in ("exchange", "sum")})
    for n in (1024, 270336):
        for block in (32, 1024):
            for name, micro in ROUND.items():
                for fence in (("none", "device") if name == "global_memory" else (None,)):
                    cost = micro * (block / 32) ** 0.2 * (fence_cost if fence == "device" else 1) * 1e-6
                    run.time(f"gpu/exchange/{name}", 100 * cost, {"n": n, "rounds": 100},
                             {"block": block} | ({"fence": fence} if fence else {}))
    for name, micro in (("atomics", 5), ("last_block", 3)) if sums else ():
        for n, base in ((1000, 0), (10**6, 900)):
            run.time(f"gpu/sum/{name}", (micro + base) * 1e-6, {"n": n}, bytes_min=4 * n)
    run.count("gpu/exchange/block_barriers", {"n": 1024, "rounds": 4}, {"block": 32}, barriers=2 * 32 * 4, warp_barriers=0)
    return run


def planted(folder, found, tool="racecheck"):
    """A file of faults: name → whether this tool finds it."""
    write(folder / f"faults_{tool}.json", {"machine": GPU, "date": "2026-01-01", "tool": tool, "kernels": {
        name: {tool: {"found": is_found, "message": ""}, "what": "a fault", "file": "barriers.cu",
               "is_right": name.endswith("_right")} for name, is_found in found.items()}})


def test_rounds_and_sums_in_sentences(tmp_path):
    text = section_of(tmp_path, barriers()).finding
    assert "270\u202f336 elements in blocks of 1024 threads, a round with block barriers takes 4.0" in text
    assert "it is 4× as fast with warp barriers, 2× with double buffer and 0.5× with global memory." in text
    assert "the sum of 1000 numbers takes 3.0" in text and "differ by at most 0.22\u00a0%" in text


def test_sums_that_are_far_apart_are_told_as_a_factor(tmp_path):
    run = barriers()
    run.time("gpu/sum/lock", 9e-3, {"n": 10**6}, bytes_min=4 * 10**6)
    text = section_of(tmp_path, run).finding
    assert "for 1\u202f000\u202f000 numbers the slowest (lock) takes 9.97× as long as the fastest (" in text and "differ by" not in text


def test_rounds_beside_their_counted_barriers(tmp_path):
    rows = table(section_of(tmp_path, barriers()), "rounds")
    row = next(r for r in rows if r["title"] == "block barriers" and r["variant"] == "block 32")
    assert row["barriers"] == 2 and row["round 1024"] == pytest.approx(2e-6, rel=0.01)
    assert not any(r.get("barriers") for r in rows if r is not row)


# The emulator

SEEN = {"fmas": "ffma", "adds": "fadd", "load_requests": "load_requests", "load_sectors": "l1_load_sectors",
        "shared_load_requests": "shared_load_requests", "shared_store_requests": "shared_store_requests",
        "shared_load_wavefronts": "shared_load_wavefronts_exact", "shared_store_wavefronts": "shared_store_wavefronts_exact"}


def emulated(folder, changes=(), model=False):
    """Three points, counted and measured; changes: {hardware counter: value} of the last."""
    run, points = Run("emulator"), {}
    for n in (32, 64, 67):
        ours = {key: n * (i + 1) for i, key in enumerate(SEEN)}
        run.count("gpu/matmul/tiled", n, flops_useful=2 * n**3, **ours, **({
            "model_device": GPU, "model_l2_load_sectors": 1.5 * n, "model_dram_bytes": n} if model else {}))
        points[run.benchmarks[-1]["name"]] = {SEEN[k]: v for k, v in ours.items()} | {"l2_load_sectors": n, "dram_bytes": n}
    points[run.benchmarks[-1]["name"]] |= dict(changes)
    counters(folder, points)
    return run


def test_equal_counts_are_told_and_a_single_difference_is_seen(tmp_path):
    section = section_of(tmp_path, emulated(tmp_path))
    assert section.finding.startswith("For all 3 points of 1 kernel the emulator counts exactly")
    assert "The emulator executes the source, the GPU the compiled code." in section.finding
    section = section_of(tmp_path, emulated(tmp_path, {"ffma": 68}))
    assert section.finding.startswith("For 2 of 3 points") and "; the exceptions are points of tiled." in section.finding
    assert table(section, "kernels")[0]["difference"] == "multiply-adds, N\u00a0=\u00a067: 67 and 68"
    assert table(section, "kernels")[0]["operations"] == "2 of 3"


def test_what_the_hardware_does_not_count_is_not_called_equal(tmp_path):
    run = emulated(tmp_path)
    assert "Bulk copies" not in section_of(tmp_path, run).finding
    run.benchmarks[-1]["bulk_loads"] = 4
    assert "Bulk copies, in 1 point, are not compared: the hardware’s counters of requests and sectors do not include them." in section_of(tmp_path, run).finding


def test_what_the_compiler_merged_is_told_apart(tmp_path):
    section = section_of(tmp_path, emulated(tmp_path, {"shared_load_requests": 7}))
    assert section.finding.startswith("For all 3 points") and "in 1 of 3 points that use shared memory" in section.finding


def test_the_cache_model_is_judged_where_it_is_of_the_same_gpu(tmp_path):
    section = section_of(tmp_path, emulated(tmp_path, model=True))
    assert "deviates in L2 sectors by a median of 50\u00a0% (at most 50\u00a0%) and in DRAM bytes by a median of 0\u00a0%" in section.finding
    run = emulated(tmp_path, model=True)
    for entry in run.benchmarks:
        entry["model_device"] = "Another"
    assert "model of the caches" not in section_of(tmp_path, run).finding


def test_planted_faults_of_all_tools_stand_beside_each_other(tmp_path):
    planted(tmp_path, {"a": True, "b": True, "a_right": False}, "emulator")
    planted(tmp_path, {"a": True, "b": False, "a_right": False})
    section = section_of(tmp_path, emulated(tmp_path))
    assert "The emulator finds all 2 planted faults; racecheck finds 1." in section.finding
    assert "No tool reports a fault in the 1 corrected version." in section.finding
    assert [(r["emulator"], r["racecheck"]) for r in table(section, "faults")] == [("✓", "✓"), ("✓", "not found")]
    planted(tmp_path, {"a": True, "b": False, "a_right": True})
    assert "False alarms in the 1 corrected version: racecheck in a_right." in section_of(tmp_path).finding


def rates(tool, mode, per_second, **told):
    """At the largest size on one core; a smaller one is slower, two cores are faster."""
    return {"tool": tool, "told": told, "rows": [
        {"mode": mode, "n": n, "threads": threads, "accesses": 10**6, "kernel": "k", "seconds": [1.0],
         "processor_seconds": [1e6 / per_second * cost]} for n, threads, cost in ((16, 1, 3), (64, 1, 1), (64, 2, 0.2))]}


def test_rates_beside_other_emulators(tmp_path):
    write(tmp_path / "emulators.json", {"machine": "Synthetic CPU", "cores": 2, "date": "2026-01-01", "emulators": [
        rates("rung", "counting", 50e6, race=True), rates("Second", "counting", 2.5e6, race=False), rates("Third", "answer", 1e5)]})
    section = section_of(tmp_path, emulated(tmp_path))
    assert "20× the rate of Second (counting: 50.0 million at N\u00a0=\u00a064 against 2.50 million at 64)." in section.finding
    assert [r["tool"] for r in table(section, "rates")] == ["rung", "Second", "Third"]
    assert [r["race"] for r in table(section, "rates")] == [True, False, None]


def test_without_counters_the_points_are_just_counted(tmp_path):
    run = emulated(tmp_path)
    (tmp_path / "counters.json").unlink()
    assert section_of(tmp_path, run).finding.startswith("3 points were counted")
