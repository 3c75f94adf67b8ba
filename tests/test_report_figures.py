"""Figures and what they are made from: each one renders, and its CSV holds the right rows."""

import csv
import dataclasses

import pytest
from test_report_support import CORES, CPU, GPU, SWEPT, read, rendered, write

from report import derive, fmt, labels, output, words
from report.collect import collect
from report.records import Roof


@pytest.fixture(scope="module")
def study():
    return collect([CPU], [GPU])


@pytest.fixture(scope="module")
def live():
    return collect([GPU], [])


@pytest.fixture(scope="module")
def folder():
    return rendered() / "figures"


def rows_of(folder, name):
    with (folder / f"{name}.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("name", [m.NAME for m in output.FIGURES])
def test_figure_files(name):
    folder = rendered(CORES if name in SWEPT else CPU) / "figures"
    assert (folder / f"{name}.pdf").read_bytes().startswith(b"%PDF")
    assert (folder / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    assert b"CreationDate" not in (folder / f"{name}.pdf").read_bytes()
    assert rows_of(folder, name)


def test_ladder_rows(study, folder):
    rows = rows_of(folder, "ladder")
    cpu, gpu = ([r for r in rows if r["side"] == s] for s in ("cpu", "gpu"))
    assert [r["n"] for r in cpu] == ["1024", "1024", "4096", "4096", "4096", "4096"]
    assert [r["at_compared_size"] for r in cpu] == ["0", "0", "1", "1", "1", "1"]
    assert [len(gpu), {r["n"] for r in gpu[1:]}, gpu[0]["n"]] == [13, {"4096"}, "32"]
    tiled = next(r for r in gpu if r["kernel"] == "gpu/matmul/tiled")
    assert tiled["title"] == "Tiled (tile 32)"
    library = next(r for r in gpu if r["kernel"] == "gpu/matmul/library")
    assert float(library["library_share"]) == 1 and float(library["roof_share"]) == pytest.approx(0.81, abs=0.01)
    naive = next(r for r in gpu if r["kernel"] == "gpu/matmul/naive")
    assert float(tiled["step"]) == pytest.approx(float(tiled["gflops"]) / float(naive["gflops"]), rel=1e-6)
    assert float(naive["gflops_low"]) <= float(naive["gflops"]) <= float(naive["gflops_high"])


def test_precisions_are_not_compared(folder):
    rows = {r["kernel"]: r for r in rows_of(folder, "ladder")}
    assert rows["gpu/matmul/tensor-bf16"]["step"] == ""
    assert float(rows["gpu/matmul/tensor-bf16"]["library_share"]) == pytest.approx(640 / 744.878, rel=0.02)


def test_gpu_roofline_rows(folder):
    rows = {(r["kernel"], r["title"]): r for r in rows_of(folder, "roofline_gpu")}
    naive = rows["gpu/matmul/naive", "Naive (block 16)"]
    assert float(naive["op_per_byte_requested"]) == 0.25
    assert float(naive["op_per_byte_dram"]) == pytest.approx(2 * 4096**3 / 6.9e9)
    assert float(rows["gpu/matmul/tiled", "Tiled (tile 16)"]["op_per_byte_requested"]) == 4
    assert rows["gpu/matmul/library", "cuBLAS"]["op_per_byte_requested"] == ""


def test_compulsory_intensity(folder):
    for row in rows_of(folder, "roofline_cpu"):
        assert float(row["op_per_byte_compulsory"]) == pytest.approx(int(row["n"]) / 6)


def test_sizes_have_gaps_where_points_were_skipped(folder):
    from report.figures import trajectories
    rows = [r for r in rows_of(folder, "sizes") if r["kernel"] == "cpu/matmul/ijk"]
    assert [r["n"] for r in rows] == ["512", "1024"]

    class P:
        def __init__(self, n):
            self.n = n
    runs = trajectories.segments([P(1), P(2), P(8)], [1, 2, 4, 8])
    assert [[p.n for p in run] for run in runs] == [[1, 2], [8]]
    runs = trajectories.segments([P(1), P(2), P(3), P(4)], [1, 2, 4])
    assert [[p.n for p in run] for run in runs] == [[1, 2, 3, 4]], "a size that few have is on the line of those"
    assert trajectories.usual([[P(1), P(2), P(3)], [P(1), P(2)], [P(1)]]) == [1, 2]


def test_speedup_rows(study, folder):
    rows = [r for r in rows_of(folder, "speedup") if r["series"] == "Best GPU code"]
    assert [r["n"] for r in rows] == ["512", "4096"]
    last = rows[-1]
    assert last["cpu_kernel"] == "cpu/matmul/blas" and last["gpu_kernel"] == "gpu/matmul/library"
    gpu_seconds = 2 * 4096**3 / float(last["gpu_gflops"]) / 1e9
    whole = gpu_seconds + float(last["transfer_seconds"])
    expected = float(last["speedup"]) * gpu_seconds / whole
    assert float(last["speedup_with_transfer"]) == pytest.approx(expected, rel=1e-6)
    assert float(last["speedup_low"]) <= float(last["speedup"]) <= float(last["speedup_high"])


def test_occupancy_rows(folder):
    rows = rows_of(folder, "occupancy")
    sweep = [r for r in rows if r["panel"] == "occupancy sweep"]
    assert [float(r["occupancy_theoretical"]) for r in sweep] == [.125, .25, .375, .5, .75, .875, 1]
    assert {r["line"] for r in sweep} == {"Tiled (tile 16)"} and sweep[-1]["shared_bytes_added"] == "0"
    assert [(r["line"], r["threads_per_block"]) for r in rows if r not in sweep] == [("Naive", "64"), ("Naive", "1024")]
    assert {r["limiter"] for r in sweep} == {"threads", "shared memory"}
    assert [float(r["occupancy_achieved"]) for r in sweep if r["occupancy_achieved"]] == [.247, .995]


def test_varied_points_stay_out_of_the_ladder(study):
    """The occupancy experiment's block of 1024 threads is the naive kernel's fastest, yet not its rung."""
    assert "gpu/matmul/naive/block:32/n:4096" in study.gpu.varied
    points = derive.timed(study.gpu, "matmul")
    assert {p.title for p in points if p.kernel.title == "Naive"} == {"Naive (block 16)"}
    assert not any(p.counters.get(derive.SWEPT) for p in points)
    alone = dataclasses.replace(study.gpu, points=tuple(p for p in study.gpu.points if p.name in study.gpu.varied))
    assert {p.title for p in derive.timed(alone, "matmul")} == {"Naive (block 8)", "Naive (block 32)"}


def test_promise_rows(folder):
    first = rows_of(folder, "promise")[0]
    assert first["title"] == "Tiled (tile 16)" and float(first["promised"]) == 16
    assert float(first["measured"]) == pytest.approx(1.49, abs=0.02)


def test_traffic_rows(folder):
    naive = rows_of(folder, "traffic")[0]
    assert float(naive["requested"]) == pytest.approx(549.8e9, rel=1e-3) and float(naive["DRAM"]) == 6.9e9
    assert float(naive["L1 sectors"]) == pytest.approx(274.9e9) and float(naive["compulsory"]) == 12 * 4096**2


def test_sentences_come_from_the_data(study):
    first, second, third = words.first_page(study)
    assert "N = 4096" in first and "cuBLAS" in first and "OpenBLAS on 16 threads" in first and "recorded on" in first
    assert "0.25 operations" in second and "1.14 TFLOP/s" in second and "550 GB requested" in second
    assert "16× fewer bytes" in third and "yet ran only 1.4" in third


def test_sentences_are_left_out_where_data_lack():
    cpu_only = words.first_page(collect([CPU], []))
    assert len(cpu_only) == 2 and all("GPU" not in s for s in cpu_only)
    gpu_only = collect([GPU], [])
    no_roofs = dataclasses.replace(gpu_only, sides={"gpu": dataclasses.replace(gpu_only.gpu, roofs=())})
    assert not any("bandwidth" in s for s in words.first_page(no_roofs))


def test_no_error_for_sound_data(study, live):
    assert derive.errors(study) == [] and derive.errors(live) == []


def test_point_above_its_compute_ceiling_is_an_error(study):
    roofs = tuple(dataclasses.replace(r, value=40_000.0) if r.label == "FP32 FMA" and r.measured else r
                  for r in study.gpu.roofs)
    broken = dataclasses.replace(study, sides={"gpu": dataclasses.replace(study.gpu, roofs=roofs)})
    names = {e.split(":")[0].split("/")[2] for e in derive.errors(broken)}
    assert names == {"library", "async"}


def test_point_above_the_dram_roof_by_counters_is_an_error_but_not_by_requests(study):
    roofs = tuple(Roof("DRAM", 100.0, True, True) if r.is_bandwidth else r for r in study.gpu.roofs if r.measured)
    broken = dataclasses.replace(study, sides={"gpu": dataclasses.replace(study.gpu, roofs=roofs)})
    found = [e for e in derive.errors(broken) if "DRAM byte" in e]
    assert {e.split(":")[0].split("/")[2] for e in found} == {"naive", "tiled", "register-2d", "library"}
    assert not any("requested" in e for e in derive.errors(broken))


def test_common_size_prefers_all_kernels(study):
    points = derive.timed(study.cpu, "matmul")
    assert derive.common_size(points) == 1024
    assert derive.common_size([p for p in points if p.n == 4096]) == 4096


def test_wins_from_needs_the_interval_above_one(study):
    speedups = derive.speed_ups(study)
    assert derive.wins_from(speedups, False) == 512
    doubtful = [dataclasses.replace(speedups[0], interval=(0.9, 1.2)), *speedups[1:]]
    assert derive.wins_from(doubtful, False) == 4096


@pytest.mark.parametrize("text, name", (("../../etc/passwd", "_.._etc_passwd"), ("a b/c", "a_b_c"), ("", "unnamed"),
                                        ("...", "unnamed"), ("x" * 200, "x" * 80), ("é\n", "__")))
def test_safe_names(text, name):
    assert output.safe_name(text) == name


@pytest.mark.parametrize("value, cell", (("=1+1", "'=1+1"), ("+x", "'+x"), ("-x", "'-x"), ("@x", "'@x"), ("a\nb", "a b"),
                                         (-1.5, "-1.5"), (None, ""), (0.1 + 0.2, "0.3"), ("plain", "plain")))
def test_csv_cells(value, cell):
    assert output.cell(value) == cell


def test_csv_of_hostile_titles(tmp_path):
    data = read(CPU / "matmul_ladder.json")
    for record in data["context"]["kernels"].values():
        record["title"] = "=cmd|' /C calc'!A0"
    write(tmp_path / "in" / "m.json", data)
    table = output.tables(collect([tmp_path / "in"], []))["ladder"]
    output.write_csv(tmp_path / "x.csv", table)
    assert all(r["title"].startswith("'=") for r in rows_of(tmp_path, "x"))


@pytest.mark.parametrize("wishes, gap", (([5, 5, 5], 2), ([1, 10, 10.5, 3], 2), ([0, 0.1, 0.2, 50], 8), ([], 3), ([4], 3)))
def test_spread_keeps_distance_and_order(wishes, gap):
    placed = labels.spread(wishes, gap)
    assert sorted(range(len(wishes)), key=lambda i: (wishes[i], i)) == sorted(range(len(wishes)), key=lambda i: placed[i])
    ordered = sorted(placed)
    assert all(b - a >= gap - 1e-9 for a, b in zip(ordered, ordered[1:]))
    if len(wishes) == 3 and len(set(wishes)) == 1:
        assert sum(placed) / 3 == pytest.approx(5)


def test_spread_stays_within_limits():
    placed = labels.spread([100, 100, 100], 10, low=0, high=100)
    assert max(placed) == 100 and min(placed) == 80


@pytest.mark.parametrize("value, text", ((5431, "5.43 TFLOP/s"), (0.329, "329 MFLOP/s"), (999.96, "1.00 TFLOP/s"),
                                         (758711, "759 TFLOP/s"), (1.5e6, "1.50 PFLOP/s")))
def test_rates(value, text):
    assert fmt.flops(value) == text


@pytest.mark.parametrize("value, text", ((0.25, "0.25"), (4.0, "4.00"), (0.0123, "0.0123"), (12345, "12300")))
def test_significant(value, text):
    assert fmt.significant(value) == text


def drawn_texts(fig) -> list:
    """Texts of a figure; of tick labels only those within the axis limits, which alone are drawn."""
    found = [*fig.texts, *(t for legend in fig.legends for t in legend.get_texts())]
    for ax in fig.axes:
        found += [*ax.texts, ax.title, ax.xaxis.label, ax.yaxis.label]
        found += [t for t in (ax.get_legend().get_texts() if ax.get_legend() else ())]
        for axis, (low, high) in ((ax.xaxis, sorted(ax.get_xlim())), (ax.yaxis, sorted(ax.get_ylim()))):
            found += [tick.label1 for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high]
    return [t for t in found if t.get_visible() and t.get_text().strip()]


@pytest.mark.parametrize("module", output.FIGURES, ids=lambda m: m.NAME)
def test_every_label_stays_on_the_page(study, module):
    """No text reaches over the edge of the paper, and none is smaller than 7 pt."""
    study = collect([CORES], [GPU]) if module.NAME in SWEPT else study
    fig = module.draw(study, module.rows(study))
    fig.draw_without_rendering()
    scale = 72 / fig.dpi
    width, height = (72 * inches for inches in fig.get_size_inches())
    texts = drawn_texts(fig)
    assert len(texts) > 7
    for text in texts:
        assert text.get_fontsize() >= 7
        box = text.get_window_extent()
        assert box.x0 * scale >= -1 and box.x1 * scale <= width + 1, text.get_text()
        assert box.y0 * scale >= -1 and box.y1 * scale <= height + 1, text.get_text()


def test_comparison_is_at_the_largest_size_that_the_best_codes_share(study):
    assert derive.comparison_size(study) == 4096
    keep = tuple(p for p in study.cpu.points if not (p.kernel.name == "cpu/matmul/eigen" and p.n == 4096))
    sides = study.sides | {"cpu": dataclasses.replace(study.cpu, points=keep)}
    assert derive.comparison_size(dataclasses.replace(study, sides=sides)) == 512


def test_steps_and_shares_are_within_one_size(study):
    rungs = {r.point.kernel.name: r for r in derive.rungs(study, study.cpu)}
    points = {p.name: p for p in study.cpu.points}
    first, second, third = (rungs[f"cpu/matmul/{name}"] for name in ("ijk", "ikj", "blocked"))
    assert (first.point.n, first.step, first.library_share) == (
        1024, None, pytest.approx(first.point.gflops / points["cpu/matmul/blas/n:1024"].gflops))
    assert second.step_n == 1024 and second.step == pytest.approx(second.point.gflops / first.point.gflops)
    assert (third.point.n, third.step_n) == (4096, 1024)
    assert third.step == pytest.approx(points["cpu/matmul/blocked/n:1024"].gflops / second.point.gflops)
    lone = derive.rungs(study, study.gpu)[0]
    assert (lone.point.n, lone.library_share) == (32, None) and derive.rungs(study, study.gpu)[1].step is None


def test_copies_are_borrowed_from_codes_of_the_same_operands(study):
    best = derive.speed_ups(study)[-1]
    assert not best.borrowed
    points = tuple(dataclasses.replace(p, counters={k: v for k, v in p.counters.items() if k != "transfer_seconds"})
                   if p.kernel.is_library else p for p in study.gpu.points)
    without = dataclasses.replace(study, sides=study.sides | {"gpu": dataclasses.replace(study.gpu, points=points)})
    again = derive.speed_ups(without)[-1]
    assert again.borrowed and again.transfer == best.transfer
    assert again.with_transfer == pytest.approx(best.with_transfer)
    from report.figures import speedup
    assert "median of the other codes" in speedup.caption(without, speedup.rows(without))
    assert "median of the other codes" not in speedup.caption(study, speedup.rows(study))


def test_gpu_roofline_is_at_the_largest_counted_size(study):
    from report.figures import roofline_gpu
    counters = {name.replace("4096", "512"): row for name, row in study.gpu.counters.items()}
    moved = dataclasses.replace(study, sides=study.sides | {"gpu": dataclasses.replace(study.gpu, counters=counters)})
    assert {r["n"] for r in roofline_gpu.rows(study)} == {4096} and {r["n"] for r in roofline_gpu.rows(moved)} == {512}


def test_kernels_that_were_not_counted_there_stand_at_their_own_size(study):
    """Of the ladder counted at 4096 one kernel is left with counters at 512 alone, in the roofline and the traffic."""
    from report.figures import roofline_gpu, traffic
    moved = {name.replace("4096", "512") if "/naive/" in name else name: row
             for name, row in study.gpu.counters.items()}
    there = dataclasses.replace(study, sides=study.sides | {"gpu": dataclasses.replace(study.gpu, counters=moved)})
    rows = {r["kernel"]: r for r in roofline_gpu.rows(there)}
    naive = rows["gpu/matmul/naive"]
    assert naive["n"] == 512 and naive["title"] == "Naive (block 16), N = 512" and naive["op_per_byte_dram"]
    assert {r["n"] for r in rows.values() if r is not naive} == {4096}
    assert "N = 4096, or at the size beside its name" in roofline_gpu.caption(there, list(rows.values()))
    table = traffic.rows(there)
    assert [traffic.named(r, table) for r in table if r["n"] == 512] == ["Naive (block 16), N = 512"]
    assert "or at the size beside the name" in traffic.caption(there, table)
    alone = traffic.rows(study)
    assert {r["n"] for r in alone} == {4096} and "beside the name" not in traffic.caption(study, alone)


def test_libraries_stand_below_the_ladder(study, monkeypatch):
    from report.figures import ladder
    rungs_of = derive.rungs
    monkeypatch.setattr(derive, "rungs", lambda *given: rungs_of(*given)[::-1])
    for _, rungs in ladder.groups_of(study):
        is_library = [r.point.kernel.is_library for r in rungs]
        assert any(is_library) and is_library == sorted(is_library)


def test_sizes_near_each_other_share_a_tick(study):
    from report.figures import speedup
    near = [row | {"n": n} for row in speedup.rows(study)[:1] for n in (512, 1000, 1024)]
    ax = speedup.draw(study, near).axes[0]
    assert [t.get_text().split("\n")[0] for t in ax.get_xticklabels()] == ["512", "", "1024"]


def test_points_that_coincide_share_a_label():
    from report.figures import roofline_gpu
    rows = [{"name": name, "title": f"{name} (tile 8)", "variant": "tile 8", "gflops": rate, "op_per_byte_dram": dram,
             "op_per_byte_requested": 2.0}
            for name, rate, dram in (("a", 100.0, 4.0), ("b", 103.0, 4.1), ("c", 150.0, 4.0))]
    groups = roofline_gpu.grouped(rows)
    assert [[r["name"] for r in g] for g in groups] == [["a", "b"], ["c"]]
    assert len(roofline_gpu.grouped([row | {"n": i} for i, row in enumerate(rows)])) == 3, "not of different sizes"
    assert roofline_gpu._title(groups[0]) == ("a, b (tile 8)", "100–103 GFLOP/s")


def test_flagship_picture_is_wide_and_says_where_it_is_from(study, folder):
    import struct

    from report.figures import roofline_gpu
    assert struct.unpack(">I", (folder / "roofline_gpu.png").read_bytes()[16:20]) == (1600,)
    texts = [t.get_text() for t in roofline_gpu.draw(study, roofline_gpu.rows(study)).texts]
    assert any("Recorded on Synthetic GPU, 2026-01-20" in t and "N = 4096" in t for t in texts)


def test_counted_ratios(study):
    from report import ratios
    points = {p.kernel.title: p for p in study.counts if p.flops and p.n == 128}
    checked, naive = points["Tiled, any size"], points["Naive"]
    assert (ratios.by_formula(checked), ratios.counted(checked)) == (4.0, 5.0)
    assert ratios.padding(checked) == pytest.approx(0.2) and ratios.padding(naive) == 0
    assert ratios.counted(naive, True) == pytest.approx(0.25 * 128 / (128 + 0.5))
    assert ratios.difference(naive) == "yes"
    wrong = dataclasses.replace(naive, counters=naive.counters | {"bytes_stored": naive.counters["bytes_stored"] + 4})
    assert ratios.difference(wrong) == "+4 B"
    rows = ratios.table(study)[0]["rows"]
    assert [r[7]["main"] for r in rows if "any size" in r[0]["main"]] == ["20 %"]


def test_roofs_have_their_data_sheet_beside_them(study):
    from report import tables
    rows = [[c["main"].replace("\u200b", "") for c in row] for row in tables.roofs(study)[1]["rows"]]
    assert ["GPU", "DRAM copy", "4.29 TB/s", "4.80 TB/s", "89 %"] in rows
    assert ["CPU", "L3", "820 GB/s", "–", "–"] in rows


def test_every_section_is_interpreted(study):
    from report import ratios, readings
    rows = output.tables(study)
    texts = [readings.ladder(study), readings.promise(rows["promise"]), readings.traffic(rows["traffic"]),
             readings.roofline_gpu(study, rows["roofline_gpu"]), readings.roofline_cpu(study), readings.speedup(study),
             readings.roofline_both(study), readings.sizes(study), readings.occupancies(rows["occupancy"]),
             ratios.reading(study)]
    assert all(t.endswith(".") for t in texts)
    assert "99 % of the 550 GB" in texts[2] and "6.90 GB against 201 MB compulsory" in texts[2]
    assert "down to 50 % occupancy" in texts[8] and "1024 threads for Naive" in texts[8]


@pytest.mark.parametrize("text, lines", (("blocked, all threads (block 128)", 1), ("x" * 100, 3), ("", 1)))
def test_nothing_is_cut_off(text, lines):
    shown = labels.wrap(text, 34)
    assert shown.count("\n") == lines - 1 and max(map(len, shown.split("\n"))) <= 34
    assert not text or shown.replace("\n", "") == text


def test_labels_avoid_what_is_drawn():
    from report.paper import Paper
    sheet = Paper((0, 0, 100, 100))
    sheet.line((0, 50), (100, 50))
    sheet.mark(20, 70)
    assert sheet.place([[(10, 45, 30, 55)], [(15, 65, 25, 75)], [(90, 80, 110, 90)], [(60, 60, 80, 70)]]) == 3
    assert sheet.cost([(60, 60, 80, 70)]) > 0, "a placed label is in the way of the next"
