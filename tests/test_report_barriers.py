"""The section on barriers and fences: from counted and timed points and the planted faults to tables and sentences."""

import json

import pytest
from test_report_support import CPU, GPU, changed, write

from report import barriers
from report.cli import OK, main
from report.collect import collect
from report.records import COUNT, HazardFile, Kernel, PlantedFault, Point, Verdict

RECORDED = sorted(GPU.glob("matmul_ladder.json"))[0]


def record(name, title, order, side="gpu"):
    family = name.split("/")[1]
    return {"side": side, "family": family, "title": title, "order": order, "precision": "fp32",
            "idea": "An idea.", "source": "a source"}


KERNELS = {
    "gpu/exchange/global_memory": record("gpu/exchange/global_memory", "global memory", 10),
    "gpu/exchange/block_barriers": record("gpu/exchange/block_barriers", "block barriers", 20),
    "gpu/exchange/shuffle": record("gpu/exchange/shuffle", "shuffle", 50),
    "gpu/sum/two_launches": record("gpu/sum/two_launches", "two launches", 20),
    "gpu/sum/last_block": record("gpu/sum/last_block", "last block", 30),
}


def entries(kernel, microseconds, sizes, tunables=None, mode="hot", **counters):
    """Six equal samples of one point, or a counted one."""
    tunables = tunables or {}
    name = "/".join([kernel, *(f"{k}:{v}" for k, v in (tunables | sizes).items())]) + ("" if mode == "hot" else f"/{mode}")
    entry = {"name": name, "run_name": name, "run_type": "iteration", "kernel": kernel, "mode": mode, "iterations": 1,
             "threads": 1, "real_time": microseconds, "cpu_time": microseconds, "time_unit": "us",
             "tunable_names": ",".join(tunables), "flops": 1000, "bytes_min": 4000, **tunables, **sizes, **counters}
    return [entry] * (1 if mode == COUNT else 6)


def ring(kernel, microseconds, block, n, fence=None, rounds=100):
    tunables = {"block": block} | ({} if fence is None else {"fence": fence})
    return entries(kernel, microseconds, {"n": n, "rounds": rounds}, tunables)


def ring_count(kernel, block, n, rounds, fence=None, **counters):
    tunables = {"block": block} | ({} if fence is None else {"fence": fence})
    return entries(kernel, 1, {"n": n, "rounds": rounds}, tunables, COUNT, bytes_requested=800, **counters)


def results(benchmarks):
    data = changed(RECORDED, experiment="barriers", title="Barriers", kernels=KERNELS)
    data["benchmarks"] = benchmarks
    return data


MEASURED = [
    *ring("gpu/exchange/global_memory", 50, 32, 1024, 0), *ring("gpu/exchange/global_memory", 100, 32, 4096, 0),
    *ring("gpu/exchange/global_memory", 200, 256, 4096, 0), *ring("gpu/exchange/global_memory", 220, 256, 4096, 1),
    *ring("gpu/exchange/global_memory", 800, 256, 4096, 2), *ring("gpu/exchange/block_barriers", 25, 32, 4096),
    *ring("gpu/exchange/block_barriers", 100, 256, 4096), *ring("gpu/exchange/shuffle", 5, 256, 4096),
    *ring_count("gpu/exchange/block_barriers", 256, 1000, 16, barriers=2 * 32 * 16, warp_barriers=0, shuffles=0),
    *ring_count("gpu/exchange/shuffle", 256, 1000, 16, barriers=0, warp_barriers=0, shuffles=32 * 16),
    *entries("gpu/sum/two_launches", 4, {"n": 1024}), *entries("gpu/sum/last_block", 3, {"n": 1024}),
    *entries("gpu/sum/two_launches", 110, {"n": 1 << 20}), *entries("gpu/sum/last_block", 100, {"n": 1 << 20}),
]


def fault(found, what="no barrier", is_right=False, message="", tools=("emulator",)):
    return {"what": what, "is_right": is_right, "file": "a.cu",
            **{tool: {"found": tool in found, "message": message if tool in found else ""} for tool in tools}}


def hazard_file(tool, kernels):
    return {"machine": "Synthetic GPU", "date": "2026-01-02T00:00:00+00:00", "tool": tool, "kernels": kernels}


RACE = "write after read: tile[1], block (0, 0, 0), thread (0, 0, 0), read at a.cu:8; thread (1, 0, 0), write at a.cu:6"
EMULATED = hazard_file("the emulator", {
    "neighbour_without_first_barrier": fault(("emulator",), message=RACE),
    "neighbour_without_first_barrier_right": fault((), is_right=True),
    "missing_syncwarp": fault(("emulator",), message="write after read: tile[16], somewhere"),
    "last_block_without_fence": fault(("emulator",), message="race between blocks: partials[0], somewhere"),
    "shared_overrun": fault(("emulator",), message="out of bounds: tile[16]"),
})
SANITIZED = hazard_file("compute-sanitizer 1.0", {
    name: {"racecheck": {"found": name == "missing_syncwarp", "message": ""}, "synccheck": {"found": False, "message": ""},
           "memcheck": {"found": False, "message": ""}} for name in EMULATED["kernels"]})


def section(folder, benchmarks=MEASURED, hazards=(EMULATED, SANITIZED)):
    write(folder / "barriers.json", results(benchmarks))
    for i, data in enumerate(hazards):
        write(folder / f"hazards{i}.json", data)
    return barriers.section(collect([CPU, folder], [GPU]))


def tables(made):
    return [{row[0]["main"] + "/" + row[1]["main"]: [cell["main"] for cell in row[1:]] for row in block["rows"]}
            for block in made if block["kind"] == "table"]


def readings(made):
    return [block["text"].replace("\u200b", "") for block in made if block["kind"] == "reading"]


def test_rounds_and_barriers_are_joined_by_kernel_and_variant(tmp_path):
    rows = tables(section(tmp_path))[0]
    assert rows["global memory/block 32, fence 0"][1:] == ["–", "–", "–", "500 ns", "1.00 µs"]
    assert rows["block barriers/block 256"][1:] == ["2", "0", "0", "–", "1.00 µs"]
    assert rows["shuffle/block 256"][1:] == ["0", "0", "1", "–", "50.0 ns"]
    assert list(rows)[0].startswith("global memory") and list(rows)[-1].startswith("shuffle")


def test_the_exchange_in_a_sentence(tmp_path):
    text = readings(section(tmp_path))[0]
    assert "global memory 2.00 µs, block barriers 1.00 µs, shuffle 50.0 ns" in text
    assert "Compared with blocks of 32, that is global memory 2×, block barriers 4×." in text
    assert "__threadfence_block 1.10×, __threadfence 4×." in text


def test_a_span_of_ratios_is_one_number_where_it_reads_so():
    assert [barriers._span(r) for r in ([4.0], [2.999, 3.0], [1.5, 4.0])] == ["4×", "3×", "1.50×–4×"]


def test_the_sum_in_a_table_and_a_sentence(tmp_path):
    made = section(tmp_path)
    text = readings(made)[1]
    assert "The sum of 1 024 numbers takes: two launches 4.00 µs, last block 3.00 µs." in text
    assert "At 1 048 576 the slowest takes 10 % more than the fastest." in text
    table = [block for block in made if block["kind"] == "table"][1]
    assert table["rows"][0][1] == {"main": "4.00 µs", "small": "1.00 GB/\u200bs"}


def test_only_faults_of_barriers_and_fences_are_listed(tmp_path):
    made = section(tmp_path)
    table = [block for block in made if block["kind"] == "table"][2]
    cells = {row[0]["main"]: [cell["main"] for cell in row[1:]] for row in table["rows"]}
    assert cells == {"neighbour without first barrier": ["write after read", "–", "–"],
                     "missing syncwarp": ["write after read", "✓", "–"],
                     "last block without fence": ["race between blocks", "–", "–"]}
    assert table["rows"][0][1]["small"].startswith("tile[1], block (0, 0, 0)")
    text = readings(made)[2]
    assert "a block’s barrier: emulator 1, racecheck 0, synccheck 0 of 1" in text
    assert "a fence: emulator 1, racecheck 0, synccheck 0 of 1" in text
    assert "does not hold here" in text and "the emulator and racecheck find what nothing orders" in text


def verdict_rows(**found):
    return {"missing_syncwarp": PlantedFault({tool: Verdict(value) for tool, value in found.items()}, "x")}


@pytest.mark.parametrize("found, words", (
    ({"emulator": True, "racecheck": False}, "the emulator finds what"),
    ({"emulator": False, "racecheck": True}, "racecheck finds what"),
    ({"emulator": False, "racecheck": False}, "is not decided"),
))
def test_the_verdict_on_the_claim_follows_from_the_findings(found, words):
    assert words in barriers.verdicts(verdict_rows(**found), ["racecheck"])


def test_no_verdict_on_warps_without_such_a_fault():
    rows = {"missing_barrier": PlantedFault({"emulator": Verdict(True)}, "x")}
    assert "Blakely" not in barriers.verdicts(rows, [])


def test_each_part_stands_alone(tmp_path):
    only = {
        "faults": section(tmp_path / "a", [], (EMULATED,)),
        "sum": section(tmp_path / "b", MEASURED[-24:], ()),
        "counts": section(tmp_path / "c", [e for e in MEASURED if e["mode"] == COUNT], ()),
    }
    assert {name: [block["kind"] for block in made] for name, made in only.items()} == {
        "faults": ["heading", "reading", "table"], "sum": ["heading", "reading", "table"],
        "counts": ["heading", "table"]}
    assert [row[0]["main"] for row in only["faults"][2]["rows"]] == [
        "neighbour without first barrier", "missing syncwarp", "last block without fence"]
    assert only["faults"][2]["columns"] == ["planted fault", "the emulator"]


def test_no_section_without_any_of_it(tmp_path):
    assert barriers.section(collect([CPU], [GPU])) == []
    right = hazard_file("the emulator", {"missing_barrier_right": fault((), is_right=True)})
    assert section(tmp_path, [], (right,)) == []


def point(sizes, tunables, **counters):
    kernel = Kernel("gpu/exchange/a", "a", "", "", 1, "gpu", "exchange", "fp32", False)
    return Point("a", kernel, COUNT, sizes, tunables, counters=counters)


@pytest.mark.parametrize("sizes, tunables", (({}, {}), ({"n": 5}, {"block": 32}), ({"n": 5, "rounds": 0}, {"block": 32}),
                                             ({"n": 5, "rounds": 2}, {}), ({"n": 5, "rounds": 2}, {"block": 0})))
def test_waits_of_a_point_that_does_not_tell(sizes, tunables):
    assert barriers.waits(point(sizes, tunables, barriers=8.0)) == {}


def test_waits_count_whole_warps_and_blocks():
    assert barriers.waits(point({"n": 33, "rounds": 2}, {"block": 32}, barriers=8.0)) == {"barriers": 2.0}
    assert barriers.waits(point({"n": 1, "rounds": 1}, {"block": 1000}, shuffles=32.0)) == {"shuffles": 1.0}


def test_a_finding_that_is_none():
    assert barriers._finding(PlantedFault({})) == "not run"
    assert barriers._finding(PlantedFault({"emulator": Verdict(False)})) == "–"
    assert barriers._finding(PlantedFault({"emulator": Verdict(True, "no colon")})) == ("no colon", "")


def test_faults_of_a_file_that_says_not_what_they_are(tmp_path):
    assert barriers._faults(type("Study", (), {"hazards": (HazardFile(tmp_path, "any", "", "", verdict_rows()),)})()) != []
    silent = {"missing_syncwarp": PlantedFault({"emulator": Verdict(True)})}
    assert barriers._faults(type("Study", (), {"hazards": (HazardFile(tmp_path, "any", "", "", silent),)})()) == []


def test_the_section_is_in_the_document(tmp_path):
    write(tmp_path / "recorded" / "barriers.json", results(MEASURED))
    output = tmp_path / "out"
    assert main([str(CPU), "--recorded", str(GPU), "--recorded", str(tmp_path / "recorded"), "--output",
                 str(output)]) == OK
    sections = json.loads((output / "report.json").read_text())["sections"]
    assert [s[0]["text"] for s in sections].count(barriers.TITLE) == 1
    assert "Further experiments" not in [s[0]["text"] for s in sections], "its times are in no second table"
