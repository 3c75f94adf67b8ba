"""What latency concludes from invented data: walks through levels of known latency, and rates by Little's law."""

from pathlib import Path

import matplotlib.pyplot as plt
import pytest
from synthetic import Run

from report.data.collect import collect
from report.experiment import Table
from report.sections.contributions import contributions

MIB = 1 << 20
LEVELS = {"cpu": ((1 << 15, 2), (MIB, 5), (64 * MIB, 30), (1 << 40, 100)),
          "gpu": ((1 << 17, 20), (32 * MIB, 130), (1 << 40, 400))}
"""(bytes, nanoseconds of a load in at most this many bytes)."""
MOST = {"cpu": 12, "gpu": 2000}
"""Loads in flight at once."""
CLOCK = 2000
STEPS = 65536


def nanoseconds(side: str, bytes_: int, factor: float = 1.0) -> float:
    return next(ns for limit, ns in LEVELS[side] if bytes_ <= limit) * (factor if side == "gpu" else 1)


def latency(gpu=True, cpu=True, roofs=True, counts=True, shared=True, many=True, clock=True, factor=1.0, off=1.0, one=False,
            full=False) -> Run:
    run = Run("latency", gpu_sm_count=10, cpu_l3_bytes=64 * MIB, experiment_toml=(
        Path(__file__).parents[2] / "experiments/latency.toml").read_text(encoding="utf-8"), problems={
            "chase": {"title": "Walks", "metric": {"key": "loads_per_s", "unit": "load/s"}, "size_names": ["bytes"]},
            "chains": {"title": "Chains", "metric": {"key": "gflops", "unit": "GFLOP/s"}, "size_names": ["blocks"]}})
    known = {"sm_clock_mhz": CLOCK} if clock else {}
    for side, name in (("gpu", "global"), ("cpu", "threads")):
        if not {"gpu": gpu, "cpu": cpu}[side]:
            continue
        if roofs:
            run.roofs(side, (1, 4) if side == "cpu" else ())
        kernel = run.kernel(f"{side}/chase/{name}", title="memory", order=10, type="uint32")
        tunables = {"each": 1} if side == "gpu" else {}

        def walk(name, bytes_, ns, walkers=1, data="random", stride=64):
            sizes = {"bytes": bytes_, "stride": stride, "walkers": walkers, "steps": STEPS}
            run.time(name, ns * 1e-9 * STEPS, sizes, tunables, data=data, threads=1, **known,
                     name="/".join([name, *(f"{k}:{v}" for k, v in sizes.items()), f"data:{data}"]),
                     loads_per_s=walkers / ns * 1e9, bytes_min=4)
        for bytes_ in (4096,) if one else (4096, 65536, MIB, 16 * MIB, 512 * MIB):
            walk(kernel, bytes_, nanoseconds(side, bytes_, factor))
        if full:
            walk(kernel, 512 * MIB, 10, data="sequential")
            for bytes_ in (64 * MIB, 4096 * MIB):
                walk(kernel, bytes_, 50 if bytes_ == 64 * MIB else 200, stride=2 * MIB + 64)
        for bytes_ in (16 * MIB, 512 * MIB) if many and not one else ():
            for walkers in (2, 8, 32, 1024) if side == "gpu" else (2, 4, 8, 16, 32):
                ns = nanoseconds(side, bytes_, factor) * max(1, walkers / MOST[side]) * (off if walkers > 1 else 1)
                walk(kernel, bytes_, ns, walkers)
        if side == "gpu" and shared:
            tunables = {}
            walk(run.kernel("gpu/chase/shared", title="shared memory", order=20, type="uint32"), 4096, 12)
        chains = run.kernel(f"{side}/chains/registers", title="multiply-adds", order=30)
        for block, each in ((1, 1),) if one else ((1, 1), (1, 2), (1, 4), (32, 4), (1024, 4)) if side == "gpu" else ((1, 1), (1, 4), (1, 16)):
            rate = min(block * each / 2e-9, 6.4e10 if side == "gpu" else 4e9) * (off if block * each > 1 else 1)
            sizes = {"blocks": 1, "block": block, "each": each, "iterations": STEPS}
            run.time(chains, block * each * STEPS / rate, sizes, threads=1, data="random", **known,
                     name="/".join([chains, *(f"{k}:{v}" for k, v in sizes.items())]), flops_useful=2 * block * each * STEPS)
    if counts:
        run.count("gpu/chase/global", {"bytes": 4096, "stride": 128, "walkers": 1, "steps": 16}, load_requests=17, load_sectors=17)
    return run


def section_of(folder, run):
    run.save(folder)
    found = contributions(collect([folder], []))
    return found[0].section if found else None


def drawn(section) -> list[str]:
    """Draws every figure; one that cannot be drawn raises. Returns their names."""
    for figure in section.figures:
        fig = plt.figure(figsize=(3.2 if figure.half else 6.5, figure.height / 25.4))
        figure.draw(fig)
        plt.close(fig)
    return [figure.name for figure in section.figures]


def test_everything_is_told_and_drawn(tmp_path):
    section = section_of(tmp_path, latency())
    assert drawn(section) == ["latency_walk", "latency_loads", "latency_multiply_adds"]
    assert "On the GPU a load that depends on the one before takes 20.0\u00a0ns (40 cycles) in the nearest cache and 400\u00a0ns (801 cycles)" in section.finding
    assert "shared memory takes 12.0\u00a0ns" in section.finding
    assert "waits 4× to 26× as long as a thread of the CPU" in section.finding
    assert "core reaches 120\u00a0Mload/s from memory, 12× the rate of one walker, with 16 loads in flight" in section.finding
    assert "takes 2.00\u00a0ns on a" in section.finding
    assert "9.99\u00a0GB/s, each of the 10 multiprocessors must have 3.90\u00a0KiB in flight, at the 400\u00a0ns that one walker waits for a load in 512\u00a0MiB" in section.finding
    rows = section.tables[0].rows
    cpu = next(r for r in rows if r["title"] == "CPU core, memory")
    assert cpu["needed"] == pytest.approx(12, rel=0.01) and cpu["bytes"] == pytest.approx(12 * 64, rel=0.01)
    assert next(c for c in section.tables[0].columns if c.key == "needed").text(8.03) == "8.03"  # not rounded up
    gpu = next(r for r in rows if r["title"] == "GPU multiprocessor, memory")
    assert gpu["needed"] == pytest.approx(1024, rel=0.01) and gpu["bytes"] == pytest.approx(1024 * 32, rel=0.01)


def test_orders_and_pages(tmp_path):
    section = section_of(tmp_path, latency(full=True))
    text = " ".join(x for x in section.appendix if isinstance(x, str))
    assert "is 10× as fast on the CPU and 40× as fast on the GPU" in text
    assert "a step grows from 50.1\u00a0ns over 64.0\u00a0MiB to 200\u00a0ns over 4.00\u00a0GiB on the CPU" in text
    walk = section.figures[0].rows
    assert {r["stride"] for r in walk} == {64} and {r["data"] for r in walk} == {"random"}
    assert any(r["stride"] > MIB for t in section.appendix if isinstance(t, Table) for r in t.rows)


def test_without_a_clock_there_are_no_cycles(tmp_path):
    section = section_of(tmp_path, latency(clock=False))
    assert "cycles" not in section.finding


@pytest.mark.parametrize("less", ({"gpu": False}, {"cpu": False}, {"roofs": False}, {"counts": False}, {"one": True}, {"shared": False},
                                  {"one": True, "cpu": False}, {"many": False, "cpu": False}))
def test_what_is_missing_is_left_out(tmp_path, less):
    section = section_of(tmp_path, latency(**less))
    drawn(section)
    assert section.finding


def test_counts_alone_say_nothing(tmp_path):
    section = section_of(tmp_path, latency(gpu=False, cpu=False))
    assert section is None or not section.figures


@pytest.mark.parametrize("steps, ns, said", ((8192, 300, ""), (262144, 450, " (450\u00a0ns with 262\u202f144 steps)")))
def test_a_curve_has_walks_of_one_length(tmp_path, steps, ns, said):
    """One walker was timed with the length of the many and with another, which gives another latency."""
    run = latency()
    sizes = {"bytes": 512 * MIB, "stride": 64, "walkers": 1, "steps": steps}
    run.time("gpu/chase/global", ns * 1e-9 * steps, sizes, {"each": 1}, data="random", threads=1, sm_clock_mhz=CLOCK, bytes_min=4,
             loads_per_s=1e9 / ns, name=f"gpu/chase/global/other/steps:{steps}")
    run.save(tmp_path)
    section = contributions(collect([tmp_path], []))[0].section
    assert f"at the 400\u00a0ns that one walker waits for a load in 512\u00a0MiB, in a walk of 65\u202f536 steps like the walks of more walkers{said}." in section.finding
