"""Sweeps over threads: which points stand for the machine, which for one core, and what more threads bring."""

import copy

import pytest
from test_report_support import CORES, CPU, GPU, read, write

from report import derive, levels, tables, threads
from report.collect import collect
from report.records import Roof


@pytest.fixture(scope="module")
def study():
    return collect([CORES], [GPU])


@pytest.fixture
def ladder():
    return read(CORES / "cpu_ladder.json")


def study_of(tmp_path, data, *more):
    write(tmp_path / "in" / "m.json", data)
    for name in more:
        write(tmp_path / "in" / name, read(CORES / name))
    return collect([tmp_path / "in"], [])


def test_threads_are_read_from_name_and_entry_and_are_no_size(study):
    points = {p.name: p for p in study.cpu.points}
    four, eight = (points[f"cpu/matmul/top/n:1024/threads:{t}"] for t in (4, 8))
    assert (four.asked_threads, four.threads, four.oversubscribed) == (4, 4, False)
    assert (eight.asked_threads, eight.oversubscribed) == (8, True)
    assert points["cpu/ceiling/dram/chains:640/threads:1"].sizes == {"chains": 640}
    assert {p.asked_threads for p in collect([CPU], []).cpu.points} == {None}


def test_only_points_on_all_threads_stand_for_the_machine(study):
    points = derive.timed(study.cpu, "matmul")
    assert {p.asked_threads for p in points} == {4} and not any(p.oversubscribed for p in points)
    names = {r.point.name for r in derive.rungs(study, study.cpu)}
    assert all(name.endswith("threads:4") for name in names)


def test_a_point_without_a_count_is_on_all_threads(tmp_path, ladder):
    for entry in ladder["benchmarks"]:
        entry["run_name"] = entry["run_name"].removesuffix("/threads:4")
    found = study_of(tmp_path, ladder)
    assert {p.asked_threads for p in derive.timed(found.cpu, "matmul")} == {None}
    assert threads.series(found.cpu, "matmul"), "its entry still says four threads"


def test_a_point_of_a_sweep_does_not_stand_in_for_the_same_of_the_ladder(tmp_path, ladder):
    swept = [e for e in ladder["benchmarks"] if e["threads"] == 4 and "top" in e["kernel"] and e["n"] == 1024]
    for entry in copy.deepcopy(swept):
        for key in ("name", "run_name"):
            entry[key] = entry[key].replace("/threads:4", "")
        ladder["benchmarks"].append(entry | {"real_time": 2 * entry["real_time"]})
    study = study_of(tmp_path, ladder)
    points = derive.timed(study.cpu, "matmul")
    assert {p.asked_threads for p in points if "top" in p.kernel.name and p.n == 1024} == {None}
    assert {p.asked_threads for p in points if "top" not in p.kernel.name or p.n != 1024} == {4}
    assert any(p.asked_threads == 4 and p.n == 1024 for p in study.cpu.points), "for the scaling"


@pytest.mark.parametrize("keep, expected", (((1, 2), {2}), ((1,), {1}), ((1, 8), {1}), ((8,), {8})))
def test_without_points_on_all_threads_the_most_count(tmp_path, ladder, keep, expected):
    ladder["benchmarks"] = [e for e in ladder["benchmarks"]
                            if e["threads"] in keep and "top" in e["kernel"] and e["n"] == 1024]
    found = study_of(tmp_path, ladder)
    assert {p.asked_threads for p in derive.timed(found.cpu, "matmul")} == expected


def test_scaling_is_against_one_thread(study):
    found = threads.series(study.cpu, "matmul")
    line = found["cpu/matmul/top", (("k", 1024), ("m", 1024), ("n", 1024))]
    points = {p.name: p for p in study.cpu.points}
    assert [s.threads for s in line] == [1, 2, 4, 8] and line[0].speedup == 1 and line[0].interval is None
    one, four = (points[f"cpu/matmul/top/n:1024/threads:{t}"] for t in (1, 4))
    assert line[2].speedup == pytest.approx(one.summary.median / four.summary.median)
    assert line[2].efficiency == pytest.approx(line[2].speedup / 4)
    assert line[2].interval == pytest.approx((one.summary.low / four.summary.high, one.summary.high / four.summary.low))
    assert not any("ijk" in name for name, _ in found), "one number of threads is no sweep"


def test_ceilings_scale_by_rate_as_their_work_grows(study):
    arithmetic, memory = threads.ceilings(study.cpu)
    assert [s.threads for s in arithmetic] == [1, 2, 4]
    assert arithmetic[-1].speedup == pytest.approx(1 / .267, rel=0.02)
    assert memory[-1].speedup == pytest.approx(1 / .55, rel=0.02)


def test_scaling_is_compared_with_that_of_a_ceiling_of_the_same_precision(tmp_path, ladder):
    from report import climbing
    ceilings = read(CORES / "ceilings.json")
    kernels, fma, amx = ceilings["context"]["kernels"], "cpu/ceiling/fma-avx2", "cpu/ceiling/amx"
    label = kernels[fma]["ceiling"]["label"]
    kernels[amx] = kernels[fma] | {"precision": "bf16", "ceiling": {"label": "AMX BF16", "is_bandwidth": False}}
    for entry in [e for e in ceilings["benchmarks"] if e["kernel"] == fma]:
        names = {key: entry[key].replace(fma, amx) for key in ("name", "run_name")}
        ceilings["benchmarks"].append(entry | names | {"kernel": amx, "real_time": entry["real_time"] / 16})
    write(tmp_path / "in" / "ceilings.json", ceilings)
    study = study_of(tmp_path, ladder)
    assert {s[0].point.kernel.ceiling_label for s in threads.ceilings(study.cpu)} >= {label, "AMX BF16"}
    assert f"; that of the {label} ceiling is " in climbing.scaling(study)


def test_no_scaling_without_one_thread(tmp_path, ladder):
    ladder["benchmarks"] = [e for e in ladder["benchmarks"] if e["threads"] != 1]
    found = study_of(tmp_path, ladder)
    assert not threads.series(found.cpu, "matmul")
    from report import climbing
    from report.figures import scaling
    assert scaling.rows(found) == [] and climbing.scaling(found) == "" and climbing.scaling_table(found) == []


def test_figures_size_is_that_of_most_kernels(study):
    from report.figures import scaling
    n, lines, roofs = scaling.shown(study)
    assert (n, len(lines), len(roofs)) == (1024, 6, 2)
    import dataclasses
    big = tuple(dataclasses.replace(p, name=f"{p.name}/big", sizes={"m": 4096, "n": 4096, "k": 4096})
                for p in study.cpu.points if p.name.startswith("cpu/matmul/top/n:1024"))
    side = dataclasses.replace(study.cpu, points=study.cpu.points + big)
    assert scaling.shown(dataclasses.replace(study, sides={"cpu": side}))[0] == 1024
    rows = scaling.rows(study)
    assert {r["panel"] for r in rows} == {"kernels", "ceilings"}
    assert [r["threads"] for r in rows if r["oversubscribed"]] == [8, 8]


def test_roofs_of_one_thread_are_not_the_machine_s(study):
    assert not any(threads.is_one(r) for r in derive.compute_roofs(study.cpu) + derive.bandwidth_roofs(study.cpu))
    assert derive.peak(study.cpu, "fp32").value == 202.0
    one = threads.one_core(study.cpu)
    assert derive.peak(one, "fp32").value == 54.0 and {p.asked_threads for p in one.points} == {1}
    assert threads.one_core(collect([CPU], []).cpu) is None
    texts = [cell["main"] for block in tables.roofs(study) if "one core" not in block.get("caption", "")
             for row in block.get("rows", ()) for cell in row]
    assert not any("1 thread" in text for text in texts)


def test_ceiling_points_of_one_thread_make_roofs_of_their_own(tmp_path, ladder):
    found = study_of(tmp_path, ladder, "ceilings.json")
    roofs = {r.label: r.value for r in found.cpu.roofs}
    assert set(roofs) == {"FMA AVX2", "FMA AVX2 (1 thread)", "DRAM", "DRAM (1 thread)"}
    listed = study_of(tmp_path, ladder, "ceilings.json", "ceilings-cpu.json")
    assert {r.label: r.precision for r in listed.cpu.roofs if "AVX2" in r.label} == {
        "FMA AVX2": "fp32", "FMA AVX2 (1 thread)": "fp32"}
    assert roofs["FMA AVX2 (1 thread)"] < 60 < 190 < roofs["FMA AVX2"]


def test_a_point_on_one_thread_is_held_against_one_core_s_roof(study):
    import dataclasses
    assert derive.errors(study) == []
    low = tuple(dataclasses.replace(r, value=40.0) if r.label == "FMA AVX2 (1 thread)" else r for r in study.cpu.roofs)
    side = dataclasses.replace(study.cpu, roofs=low)
    found = derive.errors(dataclasses.replace(study, sides=study.sides | {"cpu": side}))
    assert found and all("threads:1:" in e for e in found)


def test_bandwidth_of_a_level_is_that_with_its_name(study):
    import dataclasses
    assert [r.label for r in derive.bandwidth_roofs(study.cpu)] == ["L1", "L2", "L3", "DRAM"]
    higher = study.cpu.roofs + (Roof("L1 triad", 999.0, True, True),)
    side = dataclasses.replace(study.cpu, roofs=higher)
    assert derive.bandwidth_roofs(side)[0].value == 800.0
    assert derive.bandwidth_roofs(side, highest=True)[0].value == 999.0


def test_no_reading_of_a_level_makes_an_error_of_what_is_below_another(study):
    """A level's own roof may be lower than its copy or triad; what lies between the two is no error."""
    import dataclasses
    side = dataclasses.replace(study.gpu, roofs=study.gpu.roofs + (Roof("DRAM", 100.0, True, True),))
    assert derive.dram_roof(side).value == 100.0
    assert derive.errors(dataclasses.replace(study, sides=study.sides | {"gpu": side})) == []


def test_memory_table_has_every_level_kind_and_count(study):
    table = levels.memory_table(study.cpu)[0]
    rows = {row[0]["main"]: [cell["main"].replace("\u200b", "") for cell in row[1:]] for row in table["rows"]}
    assert list(rows) == ["L1", "L2", "L3", "DRAM", "DRAM, streaming"]
    assert rows["L1"] == ["200 GB/s", "160 GB/s", "170 GB/s", "800 GB/s", "640 GB/s", "680 GB/s"]
    assert rows["DRAM, streaming"] == ["–"] * 5 + ["36.1 GB/s"]
    assert table["columns"][1:] == ["read, one core", "copy, one core", "triad, one core", "read, all", "copy, all",
                                    "triad, all"]
    few = levels.memory_table(collect([CPU], []).cpu)[0]
    assert few["columns"] == ["level", "read, all", "copy, all"] and "triad" not in few["caption"]
    arithmetic = levels.arithmetic_table(study.cpu)[0]
    last = [cell["main"].replace("\u200b", "") for cell in arithmetic["rows"][-1]]
    assert last == ["FMA AVX2", "54.0 GFLOP/s", "202 GFLOP/s", "3.74×"]
    assert levels.arithmetic_table(collect([CPU], []).cpu) == []


def test_bytes_by_events_go_before_the_formula(study):
    found = {p.kernel.name: moved for p, moved in levels.placed(study, study.cpu)}
    top = {m.level: m for m in found["cpu/matmul/top"]}
    assert {level: m.how for level, m in top.items()} == {"L1": "formula", "L2": "formula", "L3": "formula",
                                                          "DRAM": "hardware events"}
    assert "cpu/matmul/blas" not in found, "a library says nothing of its bytes"
    rows = {(r["kernel"], r["level"]): r for r in _hierarchy().ALL.rows(study)}
    assert rows["cpu/matmul/top", "DRAM"]["op_per_byte"] == pytest.approx(1 / 0.011)
    assert rows["cpu/matmul/top", "L1"]["op_per_byte"] == pytest.approx(1 / 0.48)
    assert {r["threads"] for r in _hierarchy().ONE.rows(study)} == {1}
    caption = _hierarchy().ALL.caption(study, list(rows.values()))
    assert "of L1, L2 and L3 by formula and of DRAM by formula or hardware events" in caption


def _hierarchy():
    from report.figures import hierarchy
    return hierarchy


def test_nearest_roof(study):
    from report import climbing
    point, = [p for p, _ in levels.placed(study, study.cpu) if p.kernel.title == "Prefetched"]
    assert climbing.nearest_roof(study.cpu, point) == ("FMA AVX2", pytest.approx(point.gflops / 202))
    slow, its = next((p, m) for p, m in levels.placed(study, study.cpu) if p.kernel.title == "Triple loop")
    shares = {m.level: slow.gflops * m.bytes / slow.flops / {"L1": 800, "L2": 400, "L3": 220, "DRAM": 38}[m.level]
              for m in its}
    assert max(shares, key=shares.get) == "DRAM"
    assert climbing.nearest_roof(study.cpu, slow) == ("the DRAM bandwidth", pytest.approx(shares["DRAM"]))
    assert "Prefetched" in climbing.hierarchy(study)


@pytest.mark.parametrize("bad", (0, -5, "many", None))
def test_hostile_bytes_and_energy_are_left_out(tmp_path, ladder, bad):
    from report import energy
    for entry in ladder["benchmarks"]:
        for key in [k for k in entry if k.startswith("bytes_l") or k.startswith("bytes_dram") or k == "energy_j"]:
            entry[key] = bad
        entry["power_w"] = bad
    found = study_of(tmp_path, copy.deepcopy(ladder))
    assert levels.placed(found, found.cpu) == [] and energy.rungs(found, found.cpu) == []
    assert energy.reasons(found)
