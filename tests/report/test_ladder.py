"""Ladders and limits: rungs, ratios judged together, what is used of each resource."""

from dataclasses import replace

import pytest
from synthetic import DRAM, GPU, PEAK, Run, ladder, write

from report.data.collect import collect
from report.data.ladder import build
from report.data.limits import use
from report.data.statistics import FASTER, SAME, SLOWER
from report.data.view import best_variants, leaders, whole_machine
from report.sections import ladders
from report.text import words


def part_of(folder, name="matmul_ladder", side="gpu"):
    return getattr(next(v for v in collect([folder], []).views if v.name == name), side)


def built(folder, run, size=512, **more):
    run.save(folder)
    return build(part_of(folder, **more), "matmul", "fp32", size)


def test_rungs_with_their_ratios(tmp_path):
    made = built(tmp_path, ladder())
    assert [(r.number, r.point.kernel.title) for r in made.rungs] == [(1, "naive"), (2, "tiled"), (3, "top"), (None, "Library")]
    tiled, top = made.rungs[1:3]
    assert tiled.below.value == pytest.approx(3, rel=1e-3) and tiled.below.verdict == FASTER and tiled.below.paired
    assert top.peers["Library"].value == pytest.approx(8 / 7, rel=1e-3) and top.peers["Library"].verdict == FASTER
    assert made.rungs[0].over_fastest.verdict == SLOWER and top.over_fastest is None
    assert top.share.value == pytest.approx(0.8, rel=0.01) and made.best_peer.point.kernel.is_library
    assert [p.n for p, _ in made.over] == [256, 512]
    assert made.find("gpu/matmul/tiled/tile:16").kernel.title == "tiled" and made.find("gpu/matmul/tiled/tile:8") is None


def test_the_size_is_the_declared_one_else_said(tmp_path):
    assert built(tmp_path, ladder(), 256).size_text == "N\u00a0=\u00a0256"
    other = built(tmp_path, ladder(), 8192)
    assert other.size_text == "N\u00a0=\u00a0512" and "8192" in other.note


def test_the_largest_size_that_most_kernels_have(tmp_path):
    run = ladder()
    run.rate("gpu/matmul/top", 900, 4096)
    assert built(tmp_path, run, None).size_text == "N\u00a0=\u00a0512"


def test_variants_types_and_modes_do_not_mix(tmp_path):
    run = ladder()
    run.rate("gpu/matmul/tiled", 500, tunables={"tile": 32})
    run.rate("gpu/matmul/tiled", 9999, tunables={"tile": 8}, mode="cold", name="gpu/matmul/tiled/tile:8/n:512/mode:cold")
    run.kernel("gpu/matmul/tensor", type="bf16")
    run.rate("gpu/matmul/tensor", 9000)
    made = built(tmp_path, run)
    assert made.rungs[1].point.tunables == {"tile": 32} and len(made.rungs) == 4
    assert [p.kernel.title for p in part_of(tmp_path).timed("matmul", "bf16")] == ["tensor"]


def test_the_same_rate_is_no_gain(tmp_path):
    run = ladder()
    run.kernel("gpu/matmul/idle", order=130)
    run.rate("gpu/matmul/idle", 800 * 0.9995, interleaved_with=3)
    for entry in run.benchmarks:  # noise of its own, above and below
        if entry["kernel"] == "gpu/matmul/idle":
            entry["real_time"] *= 1 + 0.002 * (-1) ** entry["repetition_index"]
    made = built(tmp_path, run)
    assert made.rungs[3].below.verdict == SAME
    assert made.fastest.point.kernel.title == "top" and made.top.point.kernel.title == "idle"


def test_a_sweep_over_threads_stays_off_the_ladder(tmp_path):
    run = ladder("cpu")
    for threads, rate in ((1, 25), (2, 50), (8, 999)):
        run.rate("cpu/matmul/top", rate, threads=threads, name=f"cpu/matmul/top/n:512/threads:{threads}",
                 oversubscribed=threads > 4)
    run.rate("cpu/matmul/top", 9999, threads=4, name="cpu/matmul/top/n:512/threads:4")
    run.save(tmp_path)
    points = part_of(tmp_path, "cpu_ladder", "cpu").timed("matmul", "fp32")
    whole = [p for p in best_variants(whole_machine(points)) if p.kernel.title == "top" and p.n == 512]
    assert [round(p.value) for p in whole] == [80] and {p.threads for p in whole_machine(points)} == {4}
    only = [p for p in points if p.threads != 4]
    assert [p.threads for p in whole_machine(only)] == [2], "the most threads that are not too many"


def test_what_was_not_measured_is_missing_with_its_reason(tmp_path):
    run = ladder()
    run.skip(run.kernel("gpu/matmul/one_block"), "n is at most 32")
    run.rate("gpu/matmul/small", 1, 64)
    made = built(tmp_path, run)
    assert {p.kernel.title: p.skipped for p in made.missing} == {"one block": "n is at most 32", "small": None}


def test_no_ladder_of_another_problem(tmp_path):
    ladder().save(tmp_path)
    assert build(part_of(tmp_path), "heat", "fp32") is None and build(None, "matmul", "fp32") is None


def counted(tmp_path, peak=None, **counters):
    """Use of resources of the top rung with these counters; it takes t seconds. Roofs are `peak` times what it reaches."""
    run = Run("x")
    run.roofs("gpu", factor=500 * peak / PEAK if peak else 1.0)
    run.rate("gpu/matmul/top", 500, sm_clock_mhz=1000)
    run.save(tmp_path)
    write(tmp_path / "c.json", {"machine": GPU, "date": "2026-01-01", "tool": "ncu", "points": {
        "gpu/matmul/top/n:512": counters}})
    part = part_of(tmp_path, "x")
    point = part.timed()[0]
    return use(part, point), point.summary.median


def test_shares_are_counts_over_time_over_roofs(tmp_path):
    seconds = 2 * 512**3 / 500e9
    found, time = counted(tmp_path, dram_bytes=0.85 * DRAM * 1e9 * seconds, instructions=0.5 * 4 * 10 * 1e9 * seconds)
    assert found.shares["DRAM"] == pytest.approx(0.85, rel=0.01)
    assert found.shares["instruction issue"] == pytest.approx(0.5, rel=0.01)
    assert found.shares["arithmetic"] == pytest.approx(500 / PEAK, rel=0.01)
    assert found.limit == "DRAM" and words.limit(found) == "limited by DRAM (0.85)"


@pytest.mark.parametrize("share, said", ((0.79, "nearest roof: DRAM (0.79)"), (0.81, "limited by DRAM (0.81)")))
def test_a_limit_is_said_from_four_fifths_on(tmp_path, share, said):
    found, _ = counted(tmp_path, dram_bytes=share * DRAM * 1e9 * 2 * 512**3 / 500e9)
    assert words.limit(found) == said


def test_without_counts_nothing_is_known(tmp_path):
    found, _ = counted(tmp_path, occupancy_achieved=0.5)
    assert found.shares == {} and words.limit(found) == "–"


def test_beside_a_peak_that_is_exceeded_nothing_is_known(tmp_path):
    bytes_moved = 0.1 * DRAM * 1e9 * 2 * 512**3 / 500e9
    found, _ = counted(tmp_path, peak=1.2, dram_bytes=bytes_moved)
    assert words.limit(found) == "limited by arithmetic (0.83)"
    found, _ = counted(tmp_path, peak=0.8, dram_bytes=bytes_moved)
    assert words.limit(found) == "–"


def at_power(tmp_path, power, seconds=None, clock=1000.0, roof_clock=None, limit=700.0, counted=True, share=0.72, **fields):
    """A tensor-core kernel with `share` of its peak, on a board that may draw 700 W."""
    run = Run("x", **({"gpu_power_limit_w": limit} if limit else {}))
    run.roofs("gpu")
    for entry in run.benchmarks if roof_clock else ():
        entry["sm_clock_mhz"] = roof_clock
    run.rate("gpu/matmul/top", share * PEAK, sm_clock_mhz=clock, power_w=power, **({"energy_j": 1.0} if counted else {}), **fields)
    run.save(tmp_path)
    part = part_of(tmp_path, "x")
    return part, part.timed()[0], use(part, part.timed()[0])


@pytest.mark.parametrize("power, said", ((690, "limited by power (0.99)"), (665, "limited by power (0.95)"), (664, "–"), (300, "–")))
def test_power_limits_from_its_limit_on(tmp_path, power, said):
    """Below it nothing is known of a kernel without counts, and power that is left is no roof."""
    part, point, found = at_power(tmp_path, power)
    assert words.limit(found) == said
    assert words.power(part, point) == (f", at the board’s power limit ({power} of 700\u00a0W)" if "power" in said else "")


def test_power_of_longer_runs_limits_no_samples_at_the_full_clock(tmp_path):
    """A power limit that acts after a second only has not slowed samples that took a tenth of it."""
    part, point, found = at_power(tmp_path, 714, clock=1979.6, roof_clock=1980.0)
    assert found.limit is None and words.limit(found) == "–" and words.power(part, point) == ""
    part, point, found = at_power(tmp_path, 714, clock=1887.0, roof_clock=1980.0)
    assert found.limit == "power" and words.power(part, point)


def test_a_share_at_the_clock_is_of_the_roofs_own_clock(tmp_path):
    """The peak itself may have been measured at a lower clock than other roofs."""
    part, point, found = at_power(tmp_path, 690, clock=1440.0, roof_clock=1600.0)
    other = replace(part.roofs.all[0], label="DRAM copy", is_bandwidth=True, clock_mhz=2000.0)
    part = replace(part, roofs=replace(part.roofs, all=(*part.roofs.all, other)))
    assert use(part, point).at_clock["arithmetic"] == pytest.approx(0.72 * 1600 / 1440, rel=0.01) == part.roofs.of_peak(point).at_clock


def test_power_limits_where_it_is_nearer_than_every_other_roof(tmp_path):
    seconds = 2 * 512**3 / (0.72 * PEAK * 1e9)
    write(tmp_path / "c.json", {"machine": GPU, "date": "2026-01-01", "tool": "ncu", "points": {
        "gpu/matmul/top/n:512": {"dram_bytes": 0.85 * DRAM * 1e9 * seconds}}})
    assert at_power(tmp_path, 690)[2].limit == "power"
    _, _, found = at_power(tmp_path, 650)
    assert words.limit(found) == "limited by DRAM (0.85)" and found.shares["power"] == pytest.approx(65 / 70), "power that is left is no roof"


def test_a_reading_between_samples_is_no_mean_power(tmp_path):
    _, point, found = at_power(tmp_path, 690, counted=False)
    assert point.counters["power_w"] == 690 and "power" not in found.shares and words.limit(found) == "–"
    assert words.limit(at_power(tmp_path, 690, limit=None)[2]) == "–"


def test_shares_at_the_clock_of_the_kernel(tmp_path):
    part, point, found = at_power(tmp_path, 690, clock=1440.0, roof_clock=2000.0)
    assert found.shares["arithmetic"] == pytest.approx(0.72, rel=0.01)
    assert found.at_clock == {"arithmetic": pytest.approx(1.0, rel=0.01)}
    share = part.roofs.of_peak(point)
    assert share.value == pytest.approx(0.72, rel=0.01) and share.at_clock == pytest.approx(1.0, rel=0.01)
    assert words.of_peak(share).endswith("100\u00a0% of it at the clock that it ran at (1440 of 2000\u00a0MHz)")
    part, point, found = at_power(tmp_path, 690, clock=2000.0, roof_clock=2000.0)
    assert "clock" not in words.of_peak(part.roofs.of_peak(point))


def test_the_l1_and_issue_are_shares_of_the_roofs_clock(tmp_path):
    """At half the clock a kernel that fills the L1 uses half of the roof, and all of it at its clock."""
    seconds = 2 * 512**3 / (0.72 * PEAK * 1e9)
    write(tmp_path / "c.json", {"machine": GPU, "date": "2026-01-01", "tool": "ncu", "points": {
        "gpu/matmul/top/n:512": {"l1_wavefronts": 10 * 1e9 * seconds, "instructions": 20 * 1e9 * seconds}}})
    _, _, found = at_power(tmp_path, 300, clock=1000.0, roof_clock=2000.0)
    assert found.shares["L1"] == pytest.approx(0.5, rel=0.01) and found.at_clock["L1"] == pytest.approx(1, rel=0.01)
    assert found.shares["instruction issue"] == pytest.approx(0.25, rel=0.01)


def test_waits_are_parts_of_all_active_warps_time(tmp_path):
    found, _ = counted(tmp_path, warps_selected=1.0, warps_barrier=2.0, warps_not_selected=1.0)
    assert found.waits == {"barrier": 0.5}


def test_an_l1_that_serves_little_but_shared_memory_is_called_so(tmp_path):
    from report.data.limits import Use
    assert Use({"L1": 0.9, "shared memory": 0.87}, {}).nearest == ("shared memory", 0.87)
    assert Use({"L1": 0.7, "shared memory": 0.5}, {}).nearest == ("L1", 0.7)
    assert Use({"L1": 0.82, "shared memory": 0.79}, {}).nearest == ("L1", 0.82)


def close(folder, times):
    """Interleaved kernels, each with its seconds of all rounds, at the ladder's own size."""
    run = Run("matmul_ladder")
    for i, (name, own) in enumerate(times.items()):
        run.kernel(f"gpu/matmul/{name}", order=i)
        run.rate(f"gpu/matmul/{name}", 1, times=own, interleaved_with=len(times) - 1)
    return built(folder, run)


def test_a_fastest_rung_that_no_test_tells_apart_is_named_with_its_likes(tmp_path):
    """Medians differ, but rounds disagree on which is faster: an order by medians alone would be noise."""
    wave = [1e-3 * (1 + 0.01 * (i % 2)) for i in range(24)]
    made = close(tmp_path, {"naive": [2e-3 + 1e-6 * i for i in range(24)], "stream": [x * (0.998 if i % 3 else 1.002) for i, x in enumerate(wave)], "top": wave})
    assert made.fastest.point.kernel.title == "stream" and [r.point.kernel.title for r in made.level] == ["top"]
    assert "the fastest rung is stream (not significantly faster than top) with" in ladders.finding(made)
    assert "(stream, not significantly faster than top)" in ladders.climb(made, "kernels")
    assert [p.kernel.title for p in leaders([r.point for r in made.rungs])] == ["stream", "top"]


def test_the_fastest_is_by_the_turns_where_these_decide(tmp_path):
    """The one that was also sampled later, on a quieter machine, has the lower median, but was slower in every common round."""
    noise = [1 + 1e-4 * (i * 7 % 11) for i in range(30)]
    made = close(tmp_path, {"late": [1e-3 * x for x in noise[:14]] + [0.9e-3 * x for x in noise[14:]], "top": [0.97e-3 * x for x in noise[:14]]})
    late, top = (r.point for r in made.rungs)
    assert late.summary.median < top.summary.median and made.fastest.point is top and made.level == []
    assert [p.kernel.title for p in leaders([late, top])] == ["top"] and "the fastest rung is top with" in ladders.finding(made)
