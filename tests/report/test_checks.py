"""Counters over what is known, from the results: equal, too high, absent."""

import pytest
from synthetic import GPU, Run, write

from report.data.collect import collect
from report.sections import checks, machines


def table_of(folder, points, run):
    run.save(folder)
    write(folder / "counters.json", {"machine": GPU, "date": "2026-01-01", "tool": "ncu", "points": points})
    study = collect([folder], [])
    found = checks.table(study)
    assert found is None or found.name in [t.name for t in machines.section(study)[1]]
    return {(r["what"], r["quantity"]): r for r in found.rows} if found else {}


def roofs():
    run = Run("ceilings", gpu_l2_bytes=1000)
    run.kernel("gpu/copy/dram", ceiling={"label": "DRAM copy", "is_bandwidth": True})
    run.kernel("gpu/fma/fp32", ceiling={"label": "FP32 FMA", "is_bandwidth": False})
    for n in (3200, 32000):
        run.time("gpu/copy/dram", 0.001, {"bytes": n}, bytes_min=2 * n, bytes_declared_loaded=n, bytes_declared_stored=n)
    run.count("gpu/fma/fp32", {"chains": 10}, flops_useful=2000)
    return run


@pytest.mark.parametrize("factor", (1, 1.5))
def test_roofs_are_held_against_their_counters_at_the_largest_size(tmp_path, factor):
    points = {f"gpu/copy/dram/bytes:{n}": {"l1_load_sectors": factor * n / 32, "l1_store_sectors": n / 32, "dram_bytes": 1.9 * n}
              for n in (3200, 32000)}
    found = table_of(tmp_path, points | {"count/gpu/fma/fp32/chains:10": {"ffma": 1000 * factor, "fadd": 0, "fmul": 0}}, roofs())
    copy = "gpu/copy/dram, bytes\u00a0=\u00a032\u202f000"
    assert {key: round(r["ratio"], 3) for key, r in found.items()} == {
        (copy, "bytes loaded"): factor, (copy, "bytes stored"): 1, (copy, "bytes of memory"): 0.95,
        ("gpu/fma/fp32, chains\u00a0=\u00a010", "operations"): factor}


def test_what_a_cache_may_hold_is_not_held_against_memory(tmp_path):
    run = roofs()
    run.context["gpu_l2_bytes"] = 10**6
    assert not any(q == "bytes of memory" for _, q in table_of(tmp_path, {"gpu/copy/dram/bytes:32000": {"dram_bytes": 1.0}}, run))


def test_other_kernels_of_known_work_are_a_row_for_each_experiment(tmp_path):
    run = Run("x", gpu_l2_bytes=1000)
    for n, name in ((256, "a"), (512, "a"), (512, "b")):
        run.rate(f"gpu/matmul/{name}", 100, n)
    run.time("gpu/vector/add", 0.001, {"n": 10**5}, bytes_min=12e5, bytes_declared_loaded=8e5, bytes_declared_stored=4e5)
    run.time("gpu/vector/spills", 0.001, {"n": 10**5}, bytes_min=12e5, bytes_declared_loaded=8e5, bytes_declared_stored=4e5,
             local_bytes_per_thread=64)
    found = table_of(tmp_path, {f"gpu/matmul/{name}/n:{n}": {"ffma": n**3 * f} for n, name, f in ((256, "a", 1), (512, "a", 1), (512, "b", 1.25))}
                     | {f"gpu/vector/{x}/n:100000": {"dram_bytes": 12e5 * f} for x, f in (("add", 0.98), ("spills", 6))}, run)
    assert found["Title of x", "operations"]["ratio"] == 1 and found["Title of x", "operations"]["range"] == "1.000 to 1.250"
    assert found["Title of x", "bytes of memory"]["range"] == "0.980 to 0.980"


def test_a_cpu_is_held_against_its_events(tmp_path):
    run = Run("ceilings", gpu_name="", gpu_uuid="")
    run.kernel("cpu/read/dram", ceiling={"label": "DRAM", "is_bandwidth": True})
    run.time("cpu/read/dram", 0.001, {"bytes": 1000}, bytes_min=1000, bytes_dram_measured=1100)
    assert table_of(tmp_path, {}, run)["cpu/read/dram, bytes\u00a0=\u00a01000", "bytes of memory"]["ratio"] == pytest.approx(1.1)


def test_without_counters_there_is_no_table(tmp_path):
    assert table_of(tmp_path, {}, roofs()) == {}
