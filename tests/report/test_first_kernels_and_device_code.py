"""One block and views, the skinny product, and what device code may do: what they conclude from invented data."""

import json

import pytest
from synthetic import GPU, Run

from report.data.collect import collect
from report.sections.contributions import contributions


def section_of(folder, *runs):
    for run in runs:
        run.save(folder)
    return contributions(collect([folder], []))[0].section


# One block, and views


def first_kernels(sides=("gpu", "cpu"), views=1.0, block=0.4, refused=True):
    """An SM of the synthetic GPU has a peak of 100 GFLOP/s."""
    run = Run("first_kernels")
    if "gpu" in sides:
        run.roofs("gpu")
        for n in (8, 16, 32):
            run.rate("gpu/matmul/one_block", block * n, n, threads_per_block=n * n, blocks=1)
        if refused:
            run.skip("gpu/matmul/one_block", "n is at most 32", 33)
        for n in (8, 32, 256, 2048):
            run.rate("gpu/matmul/naive", n / 4, n, tunables={"block": 16})
        for tile in (8, 16):
            for variant, factor in (("tiled", 1.0), ("views", views)):
                run.rate(f"gpu/matmul/{variant}", 10 * tile * factor, 1024, tunables={"tile": tile}, interleaved_with=1, registers_per_thread=32)
    if "cpu" in sides:
        for n in (8, 32):
            run.rate("cpu/matmul/naive", 4, n, threads=1)
    if "count" in sides:
        for variant in ("tiled", "views"):
            run.count(f"gpu/matmul/{variant}", 128, {"tile": 16}, flops_executed=1e6, bytes_executed_loaded=2e5, load_sectors=100,
                      shared_load_wavefronts=50)
    return run


def test_one_block_is_judged_by_one_multiprocessor(tmp_path):
    section = section_of(tmp_path, first_kernels())
    assert "13\u00a0% of the peak of one multiprocessor, while the 9 others are idle" in section.finding
    assert "40× as much" in section.finding and "One core of the CPU needs" in section.finding


@pytest.mark.parametrize("views", [0.9, 1.0])
def test_views_are_compared_with_sums_of_indices(tmp_path, views):
    section = section_of(tmp_path, first_kernels(views=views))
    assert ("not a significant difference" in section.finding) == (views == 1)
    assert ("0.9× as fast" in section.finding) == (views == 0.9)


@pytest.mark.parametrize("sides", [("gpu",), ("cpu",), ("count",)])
def test_first_kernels_with_parts_missing(tmp_path, sides):
    section = section_of(tmp_path, first_kernels(sides))
    assert section.finding
    if sides == ("count",):
        assert "in 1 of 1 case" in section.finding


# The skinny product


STEPS = {"skinny_global": 12.5, "skinny_a_tile": 18.89, "skinny_both_tiles": 28.3}


def skinny(steps=STEPS, sizes=((1024, 1024), (4096, 4096)), sides=("gpu", "cpu", "count")):
    run = Run("skinny_product")
    for i, (name, rate) in enumerate({**steps, "skinny_registers": 90, "cublas": 70}.items()):
        for m, n in sizes:
            size, least = {"m": m, "n": n, "k": 16}, 4 * (16 * m + 16 * n + m * n)
            run.kernel(f"gpu/matmul/{name}", order=60 + i, title=name.replace("skinny_", "skinny, ").replace("_", " "), is_library=name == "cublas")
            if "gpu" in sides:
                run.time(f"gpu/matmul/{name}", least / rate / 1e9, size, interleaved_with=4, bytes_min=least, flops_useful=32 * m * n,
                         bytes_declared_loaded=128 * m * n / (1 + 8 * i))
        if "count" in sides and name != "cublas":
            run.count(f"gpu/matmul/{name}", {"m": 512, "n": 512, "k": 16}, bytes_min=1e6, bytes_executed_loaded=32e6 / (i + 1), load_requests=1000,
                      sectors_per_load_request=2.0, model_dram_bytes=1.2e6)
    if "gpu" in sides:
        run.roofs("gpu")
    if "cpu" in sides:
        run.roofs("cpu")
        for m, n in sizes:
            run.time("cpu/matmul/fused", m * n * 1e-9, {"m": m, "n": n, "k": 16}, bytes_min=4 * m * n, flops_useful=32 * m * n)
    return run


def test_the_steps_of_the_source_are_found_again(tmp_path):
    section = section_of(tmp_path, skinny())
    assert "4096 × 4096 × 16" in section.finding and "12.5 → 18.9 → 28.3\u00a0GB/s in decimal" in section.finding
    assert "GB/s by the source’s formula, in units of 2³⁰ bytes" in section.finding
    assert "fastest kernel there is skinny, registers" in section.finding and "fastest library, cublas" in section.finding
    row = section.tables[0].rows[0]
    assert row["Tesla K20c"] == 12.5 and row["gib_per_s"] == pytest.approx(12.5e9 / 2**30, rel=1e-2)


@pytest.mark.parametrize("sides", [("gpu",), ("cpu",), ("count",)])
def test_the_skinny_product_with_parts_missing(tmp_path, sides):
    section = section_of(tmp_path, skinny(sides=sides, sizes=((64, 64),)))
    assert section.finding
    if sides == ("count",):
        assert "32.0 (skinny, global)" in section.finding


# What device code may do


PROBLEMS = {"work_array": {"title": "Arrays", "metric": {"key": "arrays_per_s", "unit": "array/s"}, "size_names": ["n", "length"]},
            "tree_walk": {"title": "Trees", "metric": {"key": "trees_per_s", "unit": "tree/s"}, "size_names": ["n", "depth"]},
            "launches": {"title": "Steps", "metric": {"key": "launches_per_s", "unit": "launch/s"}, "size_names": ["n", "launches"]},
            "polynomial": {"title": "A polynomial", "metric": {"key": "gbytes_per_s", "unit": "GB/s"}, "size_names": ["n"]}}
SAME = {"fused": {"same_as_fused": 1.0, "same_as_separate": 0.9, "max_ulp": 1.5},
        "separate": {"same_as_fused": 0.9, "same_as_separate": 1.0, "max_ulp": 1.7}}


def device_code(sides=("gpu", "cpu", "count"), heap=20.0, recursion=3.0, contracted=("fused", "fused"), lengths=(16, 64), depths=(4, 8), launch=0.5):
    run, n = Run("device_code", problems=PROBLEMS, gpu_compute_capability_major=9, gpu_compute_capability_minor=0), 65536

    def item(kernel, seconds, size, tunables=None, **fields):
        run.kernel(kernel, type="uint32", title=fields.pop("title", kernel.split("/")[-1].replace("_", " ")))
        run.time(kernel, n * seconds, {"n": n, **size}, tunables, arrays_per_s=1 / seconds, trees_per_s=1 / seconds, interleaved_with=4, **fields)

    for length in lengths:
        size, base = {"length": length}, length * 1e-11
        if "gpu" in sides:
            item("gpu/work_array/local_array", base, size)
            item("gpu/work_array/host_buffer", base, size, {"layout": "interleaved"}, title="buffer from the host")
            item("gpu/work_array/host_buffer", 4 * base, size, {"layout": "in_one_piece"}, title="buffer from the host")
            item("gpu/work_array/malloc_block", 1.5 * base, size, title="malloc by each block")
            item("gpu/work_array/malloc_thread", 4 * heap * base, size, title="malloc by each thread")
        if "cpu" in sides:
            item("cpu/work_array/local_array", 100 * base, size)
            item("cpu/work_array/malloc", 120 * base, size, title="malloc for each item")
        if "count" in sides:
            run.count("gpu/work_array/malloc_thread", {"n": 1024, **size}, load_requests=100, load_sectors=3000, store_requests=100, store_sectors=3000,
                      atomic_requests=0, bytes_executed_loaded=1e5)
    for depth in depths:
        for side, factor in (("gpu", 1), ("cpu", 50)):
            if side in sides:
                item(f"{side}/tree_walk/recursive", recursion * factor * 1.5**depth * 1e-11, {"depth": depth}, title="recursion")
                item(f"{side}/tree_walk/loop", factor * 1.5**depth * 1e-11, {"depth": depth}, title="loop without a stack")
    for name, seconds in (("loop", 1e-8), ("host", 2e-6), ("device", 2e-6 / launch), ("chain", 4e-6 / launch)):
        if "gpu" in sides:
            run.kernel(f"gpu/launches/{name}", type="uint32", title="one launch" if name == "loop" else f"by the {name}")
            for steps in (16, 128):
                run.time(f"gpu/launches/{name}", steps * seconds, {"n": 256, "launches": steps}, launches_per_s=1 / seconds, interleaved_with=3)
    if "cpu" in sides:
        run.kernel("cpu/launches/regions", type="uint32")
        run.time("cpu/launches/regions", 128e-6, {"n": 256, "launches": 128}, launches_per_s=1e6)
    for i, side in enumerate(("gpu", "cpu")):
        for rounding in ("contracted", "fused", "separate"):
            if side in sides:
                run.kernel(f"{side}/polynomial/one_definition", title="one definition")
                run.time(f"{side}/polynomial/one_definition", 1e-3, {"n": 10**6}, {"rounding": rounding}, bytes_min=8e6, gbytes_per_s=8.0,
                         judged=SAME[contracted[i] if rounding == "contracted" else rounding])
    return run


def test_malloc_recursion_and_shared_functions_are_judged(tmp_path):
    section = section_of(tmp_path, device_code())
    assert "each array in one piece takes 4× as long as that" in section.finding
    assert "malloc by each thread takes 20× as long as an array in one piece" in section.finding
    assert "items takes 1.20× as long as an array on the stack" in section.finding
    assert "On the GPU, over trees of depth 8, a loop without a stack is 3× as fast as recursion" in section.finding
    assert "Each of 128 small steps takes 2.00\u00a0µs if launched by the host, 4.0" in section.finding
    assert "by the device (2× as long as that) and 8.0" in section.finding and "one launch" not in section.finding
    assert "(fused and separate)" in section.finding and "agree in 90\u00a0%" in section.finding


def test_what_malloc_itself_asks_memory_for_is_what_the_hardware_counts_beyond_the_kernel(tmp_path):
    counted = {"load_requests": 100 + 27 * 1024.0, "store_requests": 100 + 10 * 1024.0, "atomic_requests": 12 * 1024.0}
    points = {f"count/gpu/work_array/malloc_thread/n:1024/length:{length}": counted for length in (16, 64)}
    (tmp_path / "counters.json").write_text(json.dumps({"tool": "ncu", "machine": GPU, "date": "2026-01-01", "points": points}))
    section = section_of(tmp_path, device_code())
    assert "One malloc and its free make 27 load, 10 store and 12 atomic requests to global memory on average" in section.finding


def test_compilers_that_contract_differently_are_told_apart(tmp_path):
    section = section_of(tmp_path, device_code(contracted=("fused", "separate")))
    assert "the CPU’s compiler gives 100\u00a0% of the results the bits of separate roundings" in section.finding
    assert "the GPU’s compiler gives 100\u00a0% of the results the bits of fused roundings" in section.finding


@pytest.mark.parametrize("sides", [("gpu",), ("cpu",), ("count",)])
def test_device_code_with_parts_missing(tmp_path, sides):
    section = section_of(tmp_path, device_code(sides, lengths=(16,), depths=(4,)))
    assert section.finding
