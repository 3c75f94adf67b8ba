"""The ladder step by step: ratios over the rung below and over peers, energy, other precisions, other machines."""

import dataclasses
import json
import re

import pytest
from test_report_support import CORES, CPU, GPU, read, write

from report import cli, derive, energy, kin, ladders, levels, peers_words, stats, steps, tables
from report.collect import collect
from report.figures import climb, energies, peers, roofline_cpu
from report.records import Roof


@pytest.fixture(scope="module")
def study():
    return collect([CORES], [GPU])


@pytest.fixture(scope="module")
def alone():
    return collect([CORES], [])


@pytest.fixture
def ladder():
    return read(CORES / "cpu_ladder.json")


def study_of(tmp_path, data):
    write(tmp_path / "in" / "m.json", data)
    return collect([tmp_path / "in"], [])


def texts(blocks):
    return json.dumps(blocks, ensure_ascii=False).replace("\u200b", "")


def columns(table):
    return [title.replace("\u200b", "") for title in table["columns"]]


def scaled(data, kernel, factor, n=None):
    """Every time of one kernel (at one size) longer by a factor."""
    for entry in data["benchmarks"]:
        if entry["kernel"].endswith(kernel) and n in (None, entry["n"]):
            entry["real_time"] *= factor
    return data


def test_own_rungs_are_numbered_and_peers_are_not(alone):
    made = steps.climb(alone, alone.cpu, "fp32")
    assert [s.number for s in made] == [1, 2, 3, 4, 5, 6, None, None]
    assert [s.point.kernel.title for s in made[-2:]] == ["Eigen", "OpenBLAS"]
    assert all(list(s.peers) == ["Eigen", "OpenBLAS"] for s in made[:6]) and not made[-1].peers
    assert made[0].below is None and made[6].below is None
    assert made[1].below.value == pytest.approx(15.2 / 1.4, rel=0.02)


def test_ratios_of_interleaved_points_are_taken_sample_by_sample(alone):
    points = {p.name: p for p in alone.cpu.points}
    own, peer = (points[f"cpu/matmul/{k}/n:1024/threads:4"] for k in ("top", "blas"))
    found = steps.ratio(own, peer)
    quotients = stats.summarise([b / a for a, b in zip(own.times, peer.times)])
    assert (found.value, found.low, found.high, found.paired) == (
        quotients.median, quotients.low, quotients.high, True)
    slow = (1, 3, 1, 7, 1, 5)
    noisy = [dataclasses.replace(p, times=tuple(t * f for t, f in zip(p.times, slow))) for p in (own, peer)]
    noisy = [dataclasses.replace(p, summary=stats.summarise(p.times)) for p in noisy]
    assert steps.ratio(*noisy).interval == pytest.approx(found.interval), "what hits both alike does not show"
    apart = [dataclasses.replace(p, interleaved=False) for p in noisy]
    assert not steps.ratio(*apart).paired and steps.ratio(*apart).verdict == "ambiguous"


def test_a_sample_that_is_left_out_leaves_its_turn_out(tmp_path, ladder):
    """One side lacks its first turn: the quotients are of the turns that both have."""
    for entry in list(ladder["benchmarks"]):
        if entry["run_name"].endswith("/n:512/threads:4") and entry["kernel"].endswith(("/top", "/blas")):
            for turn in (6, 7):
                ladder["benchmarks"].append(entry | {"repetition_index": turn}) if not entry["repetition_index"] else 0
    entry = next(e for e in ladder["benchmarks"] if e["run_name"].endswith("top/n:512/threads:4"))
    entry["real_time"] = -1
    found = study_of(tmp_path, ladder)
    points = {p.name: p for p in found.cpu.points}
    own, peer = (points[f"cpu/matmul/{k}/n:512/threads:4"] for k in ("top", "blas"))
    assert own.turns == (1, 2, 3, 4, 5, 6, 7) and peer.turns[0] == 0
    expected = stats.summarise([b / a for a, b in zip(own.times, peer.times[1:])])
    assert steps.ratio(own, peer) == steps.Ratio(expected.median, expected.low, expected.high, True)


def test_ratios_of_different_runs_are_not_paired(alone):
    points = {p.name: p for p in alone.cpu.points}
    own, peer = (points[f"cpu/matmul/{k}/n:1024/threads:4"] for k in ("top", "blas"))
    assert not steps.ratio(own, dataclasses.replace(peer, run="another.json")).paired
    few = dataclasses.replace(own, times=own.times[:5], turns=own.turns[:5], summary=stats.summarise(own.times[:5]))
    found = steps.ratio(few, peer)
    assert (found.paired, found.interval, found.verdict) == (False, None, "unknown")


def test_peers_of_the_same_run_go_before_faster_ones_of_another(alone):
    points = [p for p in derive.timed(alone.cpu, "matmul") if p.n == 1024]
    own, peer = (next(p for p in points if p.kernel.name.endswith(k)) for k in ("/top", "/blas"))
    quicker = dataclasses.replace(peer, run="another.json", name="x", times=tuple(t / 2 for t in peer.times),
                                  summary=stats.summarise([t / 2 for t in peer.times]))
    assert steps.peers_of(own, points + [quicker])["OpenBLAS"].value == steps.ratio(own, peer).value
    assert steps.peers_of(own, [quicker])["OpenBLAS"].value == pytest.approx(steps.ratio(own, peer).value / 2, rel=0.02)


def test_text_says_what_brought_most_and_what_nothing(alone, tmp_path, ladder):
    text = ladders.reading(alone, alone.cpu)
    assert "Of 6 own rungs Loops interchanged brought most: 10." in text
    assert "Not faster than the rung before: Packed panels (0.98" in text
    assert "The top rung, Prefetched, stands at" in text and "OpenBLAS at N = 2048" in text
    mixed = study_of(tmp_path, scaled(read(CORES / "cpu_ladder.json"), "/panels", 0.5, 512))
    assert re.search(r"Packed panels \(0\.98\d?× at N = 2048[^)]*, but [12]\.\d+× at N = 512\)",
                     ladders.reading(mixed, mixed.cpu))
    quick = study_of(tmp_path, scaled(ladder, "/panels", 0.9))
    assert "Every rung is faster than the one before." in ladders.reading(quick, quick.cpu)


def test_text_says_how_high_the_ladder_is(alone):
    here = [s.point for s in steps.climb(alone, alone.cpu, "fp32") if s.number
            and s.point.n == derive.side_size(alone, alone.cpu)]
    factor = max(p.gflops for p in here) / here[0].gflops
    assert f"From {here[0].title} to " in ladders.reading(alone, alone.cpu)
    assert f" the rate grows {factor:.3g}× at N = {here[0].n}." in ladders.reading(alone, alone.cpu)


def test_a_roof_below_the_axes_has_no_label(alone):
    from report.figures import hierarchy
    table = hierarchy.ONE.rows(alone)
    low = min(r["gflops"] for r in table) / 2.5
    more = [Roof(f"Scalar {name} (1 thread)", low * f, False, True) for name, f in (("below", 0.9), ("above", 1.1))]
    cpu = dataclasses.replace(alone.cpu, roofs=(*alone.cpu.roofs, *more))
    figure = hierarchy.ONE.draw(dataclasses.replace(alone, sides={"cpu": cpu}), table)
    assert [t.get_text().split()[1] for t in figure.axes[0].texts if t.get_text().startswith("Scalar")] == ["above"]


def test_an_ambiguous_step_is_said_to_be(tmp_path, ladder):
    for entry in ladder["benchmarks"]:
        entry.pop("interleaved_with")
    found = study_of(tmp_path, scaled(ladder, "/panels", 141 / 143))
    assert "Packed panels (" in ladders.reading(found, found.cpu) and ", ambiguous)" in ladders.reading(found, found.cpu)


def test_table_has_a_column_for_each_peer_and_says_how(alone):
    table, = ladders.tables(alone, alone.cpu)
    assert columns(table) == ["", "rung", "GFLOP/s", "of roof", "× before", "× Eigen", "× OpenBLAS"]
    cells = [[c["main"] for c in row] for row in table["rows"]]
    assert [row[0] for row in cells] == ["1", "2", "3", "4", "5", "6", "", ""]
    assert cells[5][6].startswith("1.0") and cells[7][4:] == ["–", "–", "–"]
    assert peers_words.PAIRED in table["caption"] and "FMA AVX2" in table["caption"]


def test_a_long_table_keeps_the_fastest_peers(alone):
    made = steps.climb(alone, alone.cpu, "fp32")
    peer = made[-1]
    more = [dataclasses.replace(peer, point=dataclasses.replace(
        peer.point, kernel=dataclasses.replace(peer.point.kernel, title=f"peer {i}", name=f"cpu/matmul/p{i}"),
        counters=peer.point.counters | {"flops": peer.point.flops / (i + 2)})) for i in range(3)]
    own = [dataclasses.replace(s, peers=s.peers | {f"peer {i}": s.peers["Eigen"] for i in range(3)}) for s in made[:6]]
    assert ladders._columns(own + made[6:] + more) == ["Eigen", "OpenBLAS", "peer 0"]


def test_all_sizes_are_in_the_csv(alone):
    rows = climb.CPU.rows(alone)
    assert sorted({r["n"] for r in rows}) == [64, 512, 1024, 2048]
    top = next(r for r in rows if r["kernel"].endswith("/top") and r["n"] == 512)
    assert top["over OpenBLAS"] == pytest.approx(182 / 171, rel=0.02) and top["over OpenBLAS, paired"] == 1
    assert top["over OpenBLAS, low"] <= top["over OpenBLAS"] <= top["over OpenBLAS, high"]
    assert {r["peer"] for r in rows if r["rung"] is None} == {1} and top["verdict"] == "faster"
    assert len({tuple(r) for r in rows}) == 1, "one header for all rows"


def test_top_rung_over_sizes_and_shapes(alone):
    rows = peers.CPU.rows(alone)
    assert sorted({r["n"] for r in rows if r["n"]}) == [64, 512, 1024, 2048]
    assert {r["size"] for r in rows if not r["n"]} == {"m 4096 × n 64 × k 512", "m 1 × n 2048 × k 2048"}
    assert {r["peer"] for r in rows} == {"Eigen", "OpenBLAS"} and {r["kernel"] for r in rows} == {"cpu/matmul/top"}
    table, = ladders.shapes(alone, alone.cpu)
    assert len(table["rows"]) == 2 and columns(table) == ["size", "GFLOP/s", "× Eigen", "× OpenBLAS"]
    text = ladders.over_sizes(alone, alone.cpu)
    assert text.startswith("Prefetched is for certain faster than Eigen at 6 of 6 sizes")


@pytest.mark.parametrize("slower, is_top", ((1.0005, True), (1.2, False)))
def test_the_top_rung_is_the_highest_that_is_not_for_certain_slower(tmp_path, ladder, alone, slower, is_top):
    *lower, highest = [s.point for s in steps.climb(alone, alone.cpu, "fp32") if s.number]
    best = derive.fastest(lower)
    found = study_of(tmp_path, scaled(ladder, "/top", highest.gflops / best.gflops * slower))
    top = steps.top_rung(found, found.cpu, "fp32").point
    assert top.kernel == (highest if is_top else best).kernel
    assert f"to {top.title} the rate grows" in ladders.reading(found, found.cpu)


def test_a_general_product_is_no_square_one(tmp_path, ladder):
    extra = [e | {"beta": 2, "run_name": e["run_name"] + "/beta:2", "real_time": e["real_time"] / 9}
             for e in ladder["benchmarks"] if e["kernel"].endswith("/top") and e["n"] == 512]
    ladder["benchmarks"] += extra
    found = study_of(tmp_path, ladder)
    point = next(p for p in found.cpu.points if p.sizes.get("beta") == 2)
    assert point.n is None and "beta 2" in point.size_text
    assert dataclasses.replace(point, sizes={"m": 2, "n": 2, "k": 2, "beta": 2}).n is None
    assert derive.best_per_size(found.cpu, "matmul", "fp32")[512].sizes == {"m": 512, "n": 512, "k": 512}


def test_speed_up_is_over_the_best_cpu_code_rung_or_library(study, tmp_path):
    assert {s.cpu.kernel.name for s in derive.speed_ups(study)} == {"cpu/matmul/top"}
    assert all(s.cpu.asked_threads == 4 for s in derive.speed_ups(study))
    write(tmp_path / "m.json", scaled(read(CORES / "cpu_ladder.json"), "/top", 1.2))
    slower = collect([tmp_path], [GPU])
    assert {s.cpu.kernel.name for s in derive.speed_ups(slower)} == {"cpu/matmul/blas"}


def test_speed_up_over_the_gpu_s_own_host(study):
    beside, = derive.own_hosts(study)
    assert beside.cpu.machine == "Synthetic CPU with 16 cores" and beside.gpu is study.gpu
    made = texts(tables.speedups(study))
    assert "against the CPU of its own host, recorded on Synthetic CPU with 16 cores, 2026-01-20" in made
    third = dataclasses.replace(study.others[0], machine="A third CPU")
    more = dataclasses.replace(study, others=(third, *study.others))
    assert [s.cpu.machine for s in derive.own_hosts(more)] == [beside.cpu.machine]
    here = dataclasses.replace(study.cpu, machine=beside.cpu.machine)
    assert derive.own_hosts(dataclasses.replace(study, sides=study.sides | {"cpu": here})) == []
    assert derive.own_hosts(collect([CPU], [GPU])) == [] and derive.own_hosts(collect([GPU], [])) == []


def test_other_machine_is_labelled_as_recorded(study):
    other, = study.others
    assert other.recorded and other.label == "recorded on Synthetic CPU with 16 cores, 2026-01-20"
    assert {r["machine"] for r in climb.OTHERS.rows(study)} == {other.machine}
    assert {r["recorded"] for r in climb.OTHERS.rows(study)} == {1}
    assert "ecorded on Synthetic CPU with 16 cores, 2026-01-20" in climb.OTHERS.caption(study, [])
    shown = [t.get_text() for ax in climb.OTHERS.draw(study, []).axes for t in ax.texts]
    assert f"CPU, N = 4096, {other.label}" in shown
    assert {r.label for r in other.roofs} >= {"AVX-512 FMA"}, "each machine has its own roofs"
    assert not {r.label for r in study.cpu.roofs} & {"AVX-512 FMA"}
    assert any(s.used and "gpu/ceilings-cpu" in s.path for s in study.sources)


def test_newest_machine_is_the_one_at_hand(tmp_path):
    days = (("a", "Old CPU", "2025-01-01T00:00:00"), ("b", "New CPU", "2026-03-01T00:00:00"),
            ("c", "Oldest CPU", "2024-01-01T00:00:00"))
    for folder, name, day in days:
        data = read(CORES / "cpu_ladder.json")
        data["context"] |= {"cpu_name": name, "date": day}
        write(tmp_path / folder / "m.json", data)
    found = collect([tmp_path], [])
    assert found.cpu.machine == "New CPU" and [s.machine for s in found.others] == ["Old CPU", "Oldest CPU"]
    assert not found.others[0].recorded


def test_energy_by_counter_and_by_power(study):
    cpu, gpu = energy.rungs(study, study.cpu), energy.rungs(study, study.gpu)
    top = next(e for e in cpu if e.point.kernel.title == "Prefetched")
    assert top.how == energy.COUNTER and top.watts == pytest.approx(33.0, rel=0.05)
    assert top.gflop_per_joule == pytest.approx(top.point.gflops / top.watts)
    assert top.picojoules == pytest.approx(1000 / top.gflop_per_joule)
    assert {e.how for e in gpu} == {energy.POWER} and gpu[0].watts == pytest.approx(512)
    assert {r["side"] for r in energies.rows(study)} == {"cpu", "gpu"}
    assert "on the CPU Prefetched" in energy.reading(study) and "For a joule the GPU does" in energy.reading(study)
    assert energy.reasons(study) == []


def test_energy_stands_at_the_size_that_was_counted(tmp_path, ladder):
    """Counters at one size go before the power that was read at the compared one."""
    for entry in ladder["benchmarks"]:
        entry.pop("energy_j", None)
        entry.pop("interleaved_with", None)
        entry["power_w"] = 100.0
    found = study_of(tmp_path / "power", ladder)
    assert {e.how for e in energy.rungs(found, found.cpu)} == {energy.POWER}
    n = derive.side_size(found, found.cpu)
    for entry in ladder["benchmarks"]:
        if entry.get("n") == 512 and entry.get("m") == 512:
            entry |= {"energy_j": 2.0, "energy_runs": 7}
    found = study_of(tmp_path / "counter", ladder)
    made = energy.rungs(found, found.cpu)
    assert n != 512 and {(e.how, e.point.n) for e in made} == {(energy.COUNTER, 512)}
    assert "up to 7 runs in a row" in json.dumps(energy.table(found)) and "at N = 512" in energy.reading(found)
    assert "an operation’s energy goes from" in energy.reading(found)


def test_power_says_nothing_of_kernels_that_take_turns(tmp_path, ladder):
    for entry in ladder["benchmarks"]:
        entry.pop("energy_j", None)
        entry |= {"power_w": 100.0, "interleaved_with": 3}
    found = study_of(tmp_path, ladder)
    assert energy.rungs(found, found.cpu) == []


def test_energy_is_the_median_over_the_samples(tmp_path, ladder):
    mine = [e for e in ladder["benchmarks"] if e["run_name"].endswith("top/n:512/threads:4")]
    for entry, joules in zip(mine, (90.0, 2.0, 1.0, 3.0, 2.0, 2.0)):
        entry["energy_j"] = joules
    found = study_of(tmp_path, ladder)
    point = next(p for p in found.cpu.points if p.name == mine[0]["run_name"])
    assert energy.of(point).joules == 2.0


@pytest.mark.parametrize("value, is_paired", ((7, True), (["cpu/matmul/blas"], True), (0, False), ("", False)))
def test_interleaving_is_no_counter(tmp_path, ladder, value, is_paired):
    for entry in ladder["benchmarks"]:
        entry["interleaved_with"] = value
    found = study_of(tmp_path, ladder)
    assert not found.flags and {p.interleaved for p in found.cpu.points} == {is_paired}
    assert not any("interleaved_with" in p.counters for p in found.cpu.points)


def test_why_there_is_no_energy():
    study = collect([CPU], [GPU])
    assert energy.rungs(study, study.cpu) == []
    dark = dataclasses.replace(study.gpu, points=tuple(dataclasses.replace(p, counters={
        k: v for k, v in p.counters.items() if k != "power_w"}) for p in study.gpu.points))
    runs = tuple(dataclasses.replace(r, context=r.context | {"gpu_energy_unavailable": "no NVML."}) for r in study.runs)
    without = dataclasses.replace(study, sides=study.sides | {"gpu": dark}, runs=runs)
    assert energy.reasons(without)[1].endswith("(recorded on Synthetic GPU, 2026-01-20): no NVML.")
    assert energy.reasons(study) == ["No energy is known of the CPU (measured on Synthetic CPU with 16 cores, "
                                     "2026-02-03): no /sys/class/powercap/intel-rapl."]


def test_other_precision_has_a_table_a_place_and_its_reason(alone):
    assert kin.families(alone) == ["matmul_bf16"] and derive.main_family(alone) == "matmul"
    made = texts(kin.section(alone))
    assert "Not measured on the CPU: BF16, matrix units: this CPU has no AMX." in made and "none was measured" in made
    assert "At N = 1024 oneDNN BF16 does" in made
    assert "matmul_bf16" not in texts(tables.others(alone))
    rows = {r["kernel"] for r in roofline_cpu.rows(alone)}
    assert "cpu/matmul_bf16/onednn" in rows and "violet: BF16" in roofline_cpu.caption(alone, [])


def test_other_precision_under_its_own_roof(tmp_path):
    for path in CORES.glob("*.json"):
        write(tmp_path / path.name, read(path))
    roofs = read(CORES / "ceilings-cpu.json")
    roofs["empirical"]["gflops"]["data"].append(["AMX BF16", 1000.0])
    write(tmp_path / "ceilings-cpu.json", roofs)
    found = collect([tmp_path], [])
    assert derive.peak(found.cpu, "fp32").value == 202 and derive.peak(found.cpu, "bf16").value == 1000
    assert "of AMX BF16" in texts(kin.section(found)) and "AMX BF16 1.00 TFLOP/s" in texts(kin.section(found))


def test_what_was_skipped_at_one_size_only_is_not_listed(alone):
    timed = next(p for p in kin.timed(alone, alone.cpu) if p.kernel.is_library)
    point = dataclasses.replace(timed, name="x", summary=None, times=(), skipped="too large")
    side = dataclasses.replace(alone.cpu, points=alone.cpu.points + (point,))
    made = texts(kin.section(dataclasses.replace(alone, sides={"cpu": side})))
    assert "too large" not in made and "BF16, matrix units: this CPU has no AMX" in made


@pytest.mark.parametrize("family", ("matmul_tiny", "matmulxbf16", "bf16"))
def test_unrelated_families_are_no_other_precision(alone, family):
    first = alone.cpu.points[0]
    point = dataclasses.replace(first, kernel=dataclasses.replace(first.kernel, family=family))
    side = dataclasses.replace(alone.cpu, points=alone.cpu.points + (point,))
    assert kin.families(dataclasses.replace(alone, sides={"cpu": side})) == ["matmul_bf16"]


def test_a_tall_gpu_ladder_stays_on_its_page(study):
    """Twenty rungs: the figure is no higher than a page's text, and no two names lie over each other."""
    naive = [p for p in study.gpu.points if p.kernel.name == "gpu/matmul/naive"]
    more = tuple(dataclasses.replace(p, name=p.name.replace("naive", f"r{i}"), kernel=dataclasses.replace(
        p.kernel, name=f"gpu/matmul/r{i}", title=f"Rung {i} of a long ladder with a name", order=31 + i % 9))
        for i in range(16) for p in naive)
    tall = dataclasses.replace(study, sides=study.sides | {"gpu": dataclasses.replace(
        study.gpu, points=study.gpu.points + more)})
    for module in (climb.GPU, energies):
        fig = module.draw(tall, module.rows(tall))
        fig.draw_without_rendering()
        assert fig.get_size_inches()[1] < 8.5
        for ax in fig.axes:
            boxes = sorted((t.get_window_extent() for t in ax.texts if "ung " in t.get_text()), key=lambda b: b.y0)
            assert all(a.y1 <= b.y0 + 1.0 for a, b in zip(boxes, boxes[1:]))
    assert len(ladders.tables(tall, tall.gpu)[0]["rows"]) == 27


def test_labels_of_the_hierarchy_lie_beside_each_other(study):
    from matplotlib.text import Text

    from report.figures import hierarchy
    for module in (hierarchy.ALL, hierarchy.ONE):
        fig = module.draw(study, module.rows(study))
        fig.draw_without_rendering()
        boxes = [Text.get_window_extent(t) for t in fig.axes[0].texts if t.get_rotation() == 0]
        assert len(boxes) > 6
        for i, a in enumerate(boxes):
            assert not any(a.x0 < b.x1 and b.x0 < a.x1 and a.y0 + 1 < b.y1 and b.y0 + 1 < a.y1 for b in boxes[i + 1:])


def test_labels_of_many_cpu_rungs_stay_on_the_page(study):
    """Twenty more rungs whose rates lie close together."""
    from matplotlib.text import Text

    from report.figures import hierarchy, scaling
    top = [p for p in study.cpu.points if p.kernel.name == "cpu/matmul/top"]
    more = tuple(dataclasses.replace(p, name=p.name.replace("top", f"r{i:02}"), kernel=dataclasses.replace(
        p.kernel, name=f"cpu/matmul/r{i:02}", title=f"Rung {i}", order=61 + i)) for i in range(20) for p in top)
    side = dataclasses.replace(study.cpu, points=study.cpu.points + more)
    tall = dataclasses.replace(study, sides=study.sides | {"cpu": side})
    for module in (roofline_cpu, hierarchy.ALL, hierarchy.ONE, scaling):
        fig = module.draw(tall, module.rows(tall))
        fig.draw_without_rendering()
        height = fig.get_size_inches()[1] * fig.dpi
        boxes = [Text.get_window_extent(t) for ax in fig.axes for t in ax.texts if t.get_text().startswith("Rung")]
        assert len(boxes) == 20 and fig.get_size_inches()[1] < 8
        assert all(box.y0 >= 0 and box.y1 <= height for ax in fig.axes for t in ax.texts
                   for box in [Text.get_window_extent(t)])


@pytest.mark.parametrize("field, value", (("cpu_threads", "many"), ("cpu_threads", 0), ("cpu_threads", True),
                                          ("energy_unavailable", ["=x"]), ("cpu_events_unavailable", {"a": 1})))
def test_hostile_contexts(tmp_path, ladder, field, value, monkeypatch):
    from report import output
    monkeypatch.setattr(output, "find_spec", lambda name: None)
    ladder["context"][field] = value
    write(tmp_path / "in" / "m.json", ladder)
    assert cli.main([str(tmp_path / "in"), "--output", str(tmp_path / "out")]) == cli.OK


@pytest.mark.parametrize("keep", (("top",), ("top", "blas"), ("blas",), ("ijk", "ikj")))
def test_ladders_of_few_kernels(tmp_path, ladder, keep, monkeypatch):
    from report import output
    monkeypatch.setattr(output, "find_spec", lambda name: None)
    ladder["benchmarks"] = [e for e in ladder["benchmarks"] if e["kernel"].split("/")[-1] in keep]
    found = study_of(tmp_path, ladder)
    assert len(steps.climb(found, found.cpu, "fp32")) == len(keep) and len(levels.placed(found, found.cpu)) <= len(keep)
    assert cli.main([str(tmp_path / "in"), "--output", str(tmp_path / "out")]) == cli.OK


def test_the_hierarchy_stands_at_a_size_that_most_rungs_have(tmp_path, ladder):
    whole = study_of(tmp_path / "a", ladder)
    before = levels.placed(whole, whole.cpu)
    largest, top = max(p.n for p, _ in before), max((p for p, _ in before), key=lambda p: p.gflops)
    for entry in ladder["benchmarks"]:
        if entry.get("n") == largest and entry["kernel"] != top.kernel.name:
            for key in [k for k in entry if k.endswith(("_model", "_measured"))]:
                del entry[key]
    found = study_of(tmp_path / "b", ladder)
    after = levels.placed(found, found.cpu)
    assert len(after) == len(before) > 2 and {p.n for p, _ in after} != {largest}
