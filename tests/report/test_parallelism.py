"""What parallelism concludes from invented data: a GPU of ten multiprocessors whose schedulers, blocks and memory follow
a simple model."""

from math import ceil
from pathlib import Path

import matplotlib.pyplot as plt
import pytest
from synthetic import DRAM, PEAK, Run

from report.data.collect import collect
from report.experiment import Table
from report.sections.contributions import contributions

SMS, SLOTS = 10, 16
"""Multiprocessors; chains of a warp that keep one of them busy."""
ITERATIONS = 65536


def seconds(blocks: int, block: int, each: int, resident: int, slots: int = SLOTS) -> float:
    """Blocks in waves; each multiprocessor's rate is in proportion to its chains up to the peak."""
    left, time = ceil(blocks / SMS), 0.0
    while left > 0:
        now = min(left, resident)
        rate = PEAK * 1e9 / SMS * min(1.0, now * block / 32 * each / slots)
        time += 2 * ITERATIONS * now * block * each / rate
        left -= now
    return time


def sizes_of(blocks, block, each):
    return {"blocks": blocks, "block": block, "each": each, "iterations": ITERATIONS}


def parallel(gpu=True, cpu=True, counts=True, roofs=True, slots=SLOTS, waves=True, cpu_rate=20.0, one=False) -> Run:
    run = Run("parallelism", gpu_sm_count=SMS, experiment_toml=(
        Path(__file__).parents[2] / "experiments/parallelism.toml").read_text(encoding="utf-8"), problems={
            "chains": {"title": "Chains", "metric": {"key": "gflops", "unit": "GFLOP/s"}, "size_names": ["blocks"]},
            "slices": {"title": "Slices", "metric": {"key": "gbytes_per_s", "unit": "GB/s"}, "size_names": ["blocks"]}})
    for side in ("gpu", "cpu") if roofs else ():
        if {"gpu": gpu, "cpu": cpu}[side]:
            run.roofs(side, (1, 2, 4) if side == "cpu" else ())
    chains = run.kernel("gpu/chains/registers", title="FP32 multiply-adds", order=10)

    def timed(blocks, block, each, shared=0):
        resident = 2 if shared else 2048 // block
        sizes = sizes_of(blocks, block, each)
        name = "/".join([chains, *([f"shared_bytes:{shared}"] if shared else []), *(f"{k}:{v}" for k, v in sizes.items())])
        if name not in {b["name"] for b in run.benchmarks}:
            run.time(chains, seconds(blocks, block, each, resident, slots), sizes, name=name, data="random",
                     flops_useful=2 * blocks * block * each * ITERATIONS, blocks_per_sm=resident,
                     **({"shared_bytes_added": shared} if shared else {}))
    if gpu and one:
        timed(10, 256, 4)
    elif gpu:
        for blocks, block in ((1, 1), (1, 32), (1, 256), (4, 256), (10, 256), (20, 256), (80, 256)):
            timed(blocks, block, 4)
            data = 16 * blocks * block * 256
            for loads in (1, 8):
                run.time("gpu/slices/vectors", max(data / (DRAM * 1e9), 5e-4 / loads), {"blocks": blocks, "block": block, "loads": 256},
                         {"in_flight": loads}, mode="cold", bytes_min=data,
                         name=f"gpu/slices/vectors/in_flight:{loads}/blocks:{blocks}/block:{block}/loads:256/mode:cold")
        for per_unit in (1, 2, 3) if waves else ():
            for extra in (-7, -3, 0, 1):
                timed(per_unit * SMS + extra, 1024, 4)
                timed(per_unit * SMS + extra, 128, 1, 102400)
        for block in (32, 64, 128, 256, 512, 1024):
            for each in (1, 2, 4, 8):
                timed(SMS, block, each)
        for each in (1, 2, 4, 8):
            timed(2 * SMS, 1024, each)
    for variant, lanes in (("scalar", 1), ("vector", 8)) if cpu else ():
        name = run.kernel(f"cpu/chains/{variant}", order=lanes)
        for threads, each in ((1, 1), (1, 2), (1, 4), (1, 8), (1, 16), (2, 16), (4, 16)):
            if one and (threads, each) != (1, 4):
                continue
            sizes, rate = sizes_of(threads, lanes, each), threads * lanes * cpu_rate / 8 * {8: 0.97}.get(each, min(1, each / 8))
            run.time(name, 2 * threads * lanes * each * ITERATIONS / rate / 1e9, sizes, threads=threads, data="random",
                     name="/".join([name, *(f"{k}:{v}" for k, v in sizes.items()), f"threads:{threads}"]),
                     flops_useful=2 * threads * lanes * each * ITERATIONS)
    if counts:
        run.count(chains, sizes_of(2, 64, 1), flops_executed=100, flops_useful=100)
    return run


def section_of(folder, run):
    run.save(folder)
    found = contributions(collect([folder], []))
    return found[0].section if found else None


def drawn(section) -> list[str]:
    """Draws every figure; one that cannot be drawn raises. Returns their names."""
    for figure in (x for x in (*section.figures, *section.appendix) if hasattr(x, "draw")):
        fig = plt.figure(figsize=(3.2, figure.height / 25.4))
        figure.draw(fig)
        plt.close(fig)
    return [figure.name for figure in section.figures]


def test_everything_is_told_and_drawn(tmp_path):
    section = section_of(tmp_path, parallel())
    assert drawn(section) == ["parallelism_growth", "parallelism_chains", "parallelism_waves", "parallelism_core"]
    assert "FP32 multiply-adds on the GPU: one thread reaches 780\u00a0MFLOP/s" in section.finding
    assert "Vectors on the GPU: one thread reaches" in section.finding
    assert "needs 16 warps with 1 chain, 8 warps with 2 chains, 4 warps with 4 chains and 2 warps with 8 chains per thread." in section.finding
    assert "11 blocks take 2× as long as 10 where one block keeps a multiprocessor busy" in section.finding
    assert "21 blocks take 2× as long as 20 where 2 are resident" in section.finding
    assert "of its best rate from 8 chains with scalar code (7.76× the rate of 1) and 8 chains with vector" in section.finding
    assert any("All 4 threads of the CPU reach, relative to one," in x for x in section.appendix if isinstance(x, str))
    assert {t.name for t in section.appendix if isinstance(t, Table)} == {"parallelism_gpu_points", "parallelism_cpu_points"}


def test_the_model_of_waves_meets_the_points(tmp_path):
    waves = next(f for f in section_of(tmp_path, parallel()).figures if f.name.endswith("waves"))
    busy = {r["blocks"]: r["share"] for r in waves.rows if not r["shared_bytes_added"]}
    assert busy[11] == pytest.approx(11 / 20, rel=0.02) and busy[20] == pytest.approx(1, rel=0.02)
    few = {r["blocks"]: r["share"] for r in waves.rows if r["shared_bytes_added"]}
    assert few[10] == pytest.approx(0.25, rel=0.02) and few[20] == pytest.approx(0.5, rel=0.02)
    assert few[21] == pytest.approx(0.2625, rel=0.02)


def test_whole_waves_alone_tell_nothing_of_the_last(tmp_path):
    section = section_of(tmp_path, parallel(waves=False))
    assert "as long as" not in section.finding


@pytest.mark.parametrize("less", ({"gpu": False}, {"cpu": False}, {"roofs": False}, {"counts": False}, {"one": True},
                                  {"one": True, "roofs": False}, {"cpu": False, "roofs": False}))
def test_what_is_missing_is_left_out(tmp_path, less):
    section = section_of(tmp_path, parallel(**less))
    drawn(section)
    assert section.finding


def test_counts_alone_say_nothing(tmp_path):
    section = section_of(tmp_path, parallel(gpu=False, cpu=False, roofs=False))
    assert section is None or not section.figures
