"""Registers capped, a thread's own array, the width of a tile: what their sections conclude from invented data."""

from pathlib import Path

import matplotlib.pyplot as plt
import pytest
from synthetic import Run, write

from report.data.collect import collect
from report.experiment import Table
from report.sections.contributions import contributions

ROOT = Path(__file__).resolve().parents[2]
N = 4096


def section_of(folder, run):
    run.context["experiment_toml"] = (ROOT / "experiments" / f"{run.context['experiment']}.toml").read_text()
    run.save(folder)
    section = contributions(collect([folder], []))[0].section
    drawn(section)
    return section


def drawn(section):
    """Draws every figure; a figure that cannot be drawn raises."""
    for figure in (x for x in (*section.figures, *section.appendix) if hasattr(x, "draw")):
        fig = plt.figure(figsize=(6.5, figure.height / 25.4))
        figure.draw(fig)
        plt.close(fig)


def rows(section, name):
    return next(x for x in (*section.tables, *section.appendix) if isinstance(x, Table) and x.name == name).rows


# Registers

CAPS = {24: (24, 2752, 8, 60), 32: (32, 1624, 8, 90), 48: (48, 1264, 5, 150), 64: (64, 624, 4, 300), 80: (80, 224, 3, 700), 96: (96, 72, 2, 790),
        112: (112, 0, 2, 795), 128: (128, 0, 2, 800), 168: (141, 0, 1, 650), 255: (141, 0, 1, 650)}
"""Cap: registers, bytes spilled, resident blocks of 256 threads, GFLOP/s."""


def capped(rates=(), caps=CAPS, other=True):
    run = Run("registers")
    run.roofs("gpu")
    flops = 2 * N**3
    kernel = run.kernel("gpu/matmul/prefetch", title="prefetched", order=20)
    for cap in caps:
        used, spilled, blocks, rate = CAPS[cap]
        run.time(kernel, flops / dict(rates).get(cap, rate) / 1e9, N, {"registers": cap}, flops_useful=flops, bytes_min=12 * N * N,
                 registers_per_thread=used, local_bytes_per_thread=spilled, blocks_per_sm=blocks, threads_per_block=256,
                 occupancy_theoretical=blocks / 8, occupancy_limiter="registers", interleaved_with=9)
    if other:
        run.kernel("gpu/matmul/warp_tiled", title="warp tiles", order=10)
        run.time("gpu/matmul/warp_tiled", flops / 7e11, N, flops_useful=flops, bytes_min=12 * N * N, registers_per_thread=127,
                 local_bytes_per_thread=0, blocks_per_sm=2, threads_per_block=256, occupancy_theoretical=0.25, interleaved_with=9)
    return run


def test_the_highest_occupancy_is_not_the_fastest(tmp_path):
    section = section_of(tmp_path, capped())
    assert "128 registers per thread at 25\u00a0% occupancy" in section.finding and "32 registers per thread at 100\u00a0% occupancy" in section.finding
    assert "72\u00a0B per thread leave 99\u00a0% of the best rate" in section.finding
    assert "Without a cap the compiler takes 141 registers" in section.finding
    assert "1.14× as fast as warp tiles" in section.finding and "which loads nothing ahead (127 registers" in section.finding
    assert [r["registers_per_thread"] for r in rows(section, "registers_points") if r["cap"] == 255] == [141]


def test_occupancy_may_win(tmp_path):
    section = section_of(tmp_path, capped({32: 900}))
    assert "also has the highest occupancy" in section.finding


def test_a_spill_may_cost(tmp_path):
    assert "No spill is free: the smallest, of 72\u00a0B, leaves 50\u00a0%" in section_of(tmp_path, capped({96: 400, 80: 300})).finding


# Arrays

PLACES = {"registers": (40, 12.0, 0), "shared_memory": (30, 3.0, 0), "selects": (20, 0.5, 0), "local_memory": (10, 2.0, 4)}
"""Order, rate in GKey/s at 32 elements, local bytes of an element."""
LAYOUTS = {"by_key": 1, "padded": 1, "by_thread": 32}
METRIC = {"key": "gkeys_per_s", "unit": "GKey/s"}


def arrays(timed=True, counted=True, rates=(), local=4, lengths=(8, 16, 32)):
    run = Run("local_memory", problems={"sort_columns": {"title": "Sorting", "metric": METRIC, "size_names": ["n", "keys"]}})
    if timed:
        run.roofs("gpu")
    for name, (order, rate, spilled) in PLACES.items():
        kernel = run.kernel(f"gpu/sort_columns/{name}", order=order)
        for keys in lengths:
            for layout, waves in LAYOUTS.items() if name == "shared_memory" else {"": 1}.items():
                tunables = {"layout": layout} if layout else {}
                n = 2**24 // keys
                speed = dict(rates).get(name, rate) * 32 / keys / (waves if waves > 1 else 1)
                if timed:
                    run.time(kernel, keys * n / speed / 1e9, {"keys": keys, "n": n}, tunables, bytes_min=8 * keys * n, gkeys_per_s=speed,
                             registers_per_thread=48, local_bytes_per_thread=(local if spilled else 0) * keys, occupancy_theoretical=1)
                if counted:
                    requests = 8 * keys * keys * 2 if layout else 0
                    run.count(kernel, {"keys": keys, "n": 256}, tunables, bytes_min=8 * keys * 256, load_requests=8 * keys,
                              shared_load_requests=requests / 2, shared_store_requests=requests / 2, shared_load_wavefronts=waves * requests / 2,
                              shared_store_wavefronts=waves * requests / 2)
    return run


def test_places_of_an_array(tmp_path):
    section = section_of(tmp_path, arrays())
    assert "With an array of 32 elements the fastest place is registers with 12" in section.finding
    assert "0.25× (shared memory, by key), 0.25× (shared memory, padded), 0.167× (local memory)" in section.finding and "that rate" in section.finding
    assert "48 registers and 0\u00a0B of local memory with unrolled loops, and 48 registers and 128\u00a0B without unrolling" in section.finding
    assert "1 with layout by key or padded and 32 with layout by thread" in section.finding
    # 64 accesses a key: from DRAM, 100 GB/s / (4 × 64 + 8) B
    found = rows(section, "local_memory_points")
    assert {r["wavefronts_per_access"] for r in found if "by_thread" in r["title"]} == {32}
    assert {r["accesses_per_key"] for r in found if r["title"] == "registers"} == {None}


def test_counted_places_alone(tmp_path):
    section = section_of(tmp_path, arrays(timed=False))
    assert section.tables and not section.figures
    assert "32 with layout by thread" in section.finding


def test_timed_places_alone_and_one_length(tmp_path):
    section = section_of(tmp_path, arrays(counted=False, lengths=(16,)))
    assert "wavefronts" not in section.finding


# Tiles

RATES = {4: 50, 8: 120, 16: 200, 32: 260, 64: 400, 96: 420, 128: 380, 160: 350}
GPUS = {"8800 GTX (G80)": (768, 512, 8, 16), "GTX 280 (GT200)": (1024, 512, 8, 16), "GTX 480": (1536, 1024, 8, 48), "A100": (2048, 1024, 32, 164),
        "A100 80GB": (2048, 1024, 32, 164), "H200": (2048, 1024, 32, 228)}
"""Threads of an SM and of a block, block slots, KB of shared memory."""


def fit(gpu, tile):
    """Occupancy and limiter, coarsely."""
    threads, most, slots, shared = GPUS[gpu]
    block = min(tile, 32) ** 2 if tile < 48 or tile % 32 == 0 else (tile // 2) ** 2
    room = {"threads": threads // block if block <= most else 0, "blocks": slots, "shared memory": 1024 * shared // (8 * tile * tile)}
    blocks = min(room.values())
    return blocks * block / threads, " and ".join(k for k, v in room.items() if v == blocks)


def tiles(timed=True, counted=True, registers=10, compiled=True, widths=tuple(RATES), fit=fit, **context):
    run = Run("tile_width", gpu_shared_bytes_per_block=48 << 10, gpu_shared_bytes_per_block_optin=227 << 10, gpu_shared_bytes_per_sm=228 << 10,
              **context)
    run.kernel("gpu/matmul/checked", order=50)
    run.kernel("gpu/matmul/dynamic_tile", order=70, title="tile at run time")
    n = 3840
    flops = 2 * n**3
    if timed:
        run.roofs("gpu")
        for tile in widths:
            for name, factor in (("dynamic_tile", 1), ("checked", 1.25)):
                if name == "dynamic_tile" or (compiled and tile in (8, 16, 32)):
                    run.time(f"gpu/matmul/{name}", flops / RATES[tile] / factor / 1e9, n, {"tile": tile}, flops_useful=flops, bytes_min=12 * n * n,
                             shared_bytes_per_block=8 * tile * tile, threads_per_block=min(tile, 32) ** 2, registers_per_thread=32,
                             occupancy_theoretical=fit("H200", tile)[0], occupancy_limiter=fit("H200", tile)[1], op_per_byte_declared=tile / 4)
    for tile in (4, 8, 12, 16, 20, 24, 32, 48, 64, 96, 128, 160) if counted else ():
        modelled = {}
        for gpu in GPUS:
            occupancy, limiter = fit(gpu, tile)
            modelled |= {f"occupancy_on:{gpu}": occupancy, f"limiter_on:{gpu}": limiter, f"registers_on:{gpu}": registers if occupancy else 0}
        run.count("gpu/matmul/dynamic_tile", 160, {"tile": tile}, bytes_min=1e5, **modelled)
    return run


def planted(folder, found=True):
    """What the emulator says of the offset in bytes."""
    write(folder / "hazards.json", {"machine": "any", "date": "2026-01-01", "tool": "the emulator", "kernels": {
        name: {"what": "a fault", "is_right": right, "file": "bounds.cu", "emulator": {
            "found": found and not right, "message": "out of bounds: dynamic shared memory[1024]" if found and not right else ""}}
        for name, right in (("tile_offset_in_bytes", False), ("tile_offset_in_bytes_right", True))}})


def test_widths_and_the_catalogue(tmp_path):
    planted(tmp_path)
    section = section_of(tmp_path, tiles())
    assert "Of the widths chosen at run time, tiles of 96 × 96 are the fastest with" in section.finding and "(72.0\u00a0KiB" in section.finding
    assert "160 × 160 (200\u00a0KiB" in section.finding and "reaches 0.8× at a width of 8" in section.finding
    assert "8800 GTX (G80) and GTX 280 (GT200) cannot run tiles of 32" in section.finding
    assert next(r for r in rows(section, "tile_width_registers") if r["gpus"] == "A100 and A100 80GB")["tile_32"] == 10


def test_a_catalogue_that_says_otherwise(tmp_path):
    planted(tmp_path, found=False)
    section = section_of(tmp_path, tiles(registers=11, fit=lambda gpu, tile: (1.0, "shared memory")))
    assert "all run tiles of 32" in section.finding


@pytest.mark.parametrize("given", ({"counted": False}, {"counted": False, "widths": (16,), "compiled": False}))
def test_widths_alone(tmp_path, given):
    section = section_of(tmp_path, tiles(**given))
    assert "of the catalogue" not in section.finding
    assert len(section.figures) == 1


def test_the_catalogue_alone(tmp_path):
    section = section_of(tmp_path, tiles(timed=False))
    assert section.finding.startswith("Of the 6 GPUs of the catalogue,")
    assert len(section.figures) == 1
