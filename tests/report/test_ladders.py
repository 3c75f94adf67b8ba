"""The ladders' sections: the CPU's with threads and further machines, the ceilings', one without a .py, the comparison."""

import json

import pytest
from conftest import RECORDED
from synthetic import Run, ladder

from report import compose, document
from report.data.collect import collect
from report.data.limits import ISSUE, POWER, Use
from report.data.load import MEANS
from report.data.roofs import Roof, share
from report.draw.paper import text_width
from report.experiment import build, times_as_fast
from report.sections import comparison, contributions, ladders, method
from report.text.blocks import clean


def section_of(folder, name, *recorded):
    study = collect([folder], list(recorded))
    return next(c.section for c in contributions.contributions(study) if c.view.name == name)


def threaded(threads=(1, 2, 4)):
    """The CPU's ladder with a sweep over threads: 90 % efficiency at most."""
    run = ladder("cpu", sizes=(512, 1024))
    for t in threads:
        rate = 20 * t * (1 if t == 1 else 0.9)
        run.rate("cpu/matmul/top", rate, 1024, tunables={"tile": 16}, threads=t, interleaved_with=1,
                 name=f"cpu/matmul/top/tile:16/n:1024/threads:{t}")
    return run


def test_the_cpu_s_ladder_in_a_sentence(tmp_path):
    threaded().save(tmp_path)
    section = section_of(tmp_path, "cpu_ladder")
    assert section.finding.startswith("At N\u00a0=\u00a01024 in FP32 the fastest rung is top with 79.9\u00a0GFLOP/s, "
                                      "80\u00a0% of the measured FP32 peak (99.9\u00a0GFLOP/s); it is")
    assert "as on one (20.0\u00a0GFLOP/s): 90\u00a0% parallel efficiency; the FP32 peak itself increases 4×." \
        in section.finding
    assert section.answer[0].endswith("top on one thread reaches 80\u00a0% of one core’s peak.")


def test_efficiency_is_drawn_from_three_numbers_of_threads_on(tmp_path):
    for threads, number in (((1, 4), 0), ((1, 2, 4), 1)):
        threaded(threads).save(tmp_path)
        figures = [f for f in section_of(tmp_path, "cpu_ladder").figures if f.name == "cpu_ladder_threads"]
        assert len(figures) == number
    assert [round(r["efficiency"], 2) for r in figures[0].rows] == [1.0, 0.9, 0.9]


def test_a_kernel_of_one_thread_is_judged_by_one_thread_s_roofs(tmp_path):
    """However many it is given: its record says that its code uses one."""
    run = ladder("cpu", sizes=(1024,))
    run.kernel("cpu/matmul/interchanged", order=99, is_serial=True)
    run.rate("cpu/matmul/interchanged", 10, 1024)
    run.save(tmp_path)
    made = section_of(tmp_path, "cpu_ladder").ladders[0]
    assert made.own[0].point.threads == 1 and made.own[0].share.value == pytest.approx(10 / 25, rel=0.01)
    assert [r.share.roof.threads for r in made.own] == [1, 4, 4, 4]


def test_further_machines_stand_beside_each_other_each_under_its_own_roofs(tmp_path):
    ladder("cpu", sizes=(1024,)).save(tmp_path / "live")
    ladder("cpu", sizes=(1024,), factor=0.5, cpu_name="Synthetic other").save(tmp_path / "stored")
    tables = {t.name: t for t in section_of(tmp_path / "live", "cpu_ladder", tmp_path / "stored").appendix if hasattr(t, "rows")}
    row = next(r for r in tables["cpu_ladder_machines"].rows if r["title"] == "top")
    assert row["value 0"] == pytest.approx(2 * row["value 1"], rel=0.01) and row["share 0"] == "80\u00a0%"


def test_other_types_are_apart(tmp_path):
    run = ladder("cpu", sizes=(1024,))
    for i, (name, rate) in enumerate((("half", 500), ("half_library", 400))):
        run.kernel(f"cpu/matmul/{name}", type="bf16", order=300 + i, is_library=bool(i))
        run.rate(f"cpu/matmul/{name}", rate, 4096)
    run.save(tmp_path)
    section = section_of(tmp_path, "cpu_ladder")
    assert [r.point.kernel.title for r in section.ladders[0].own] == ["naive", "tiled", "top"]
    assert any(isinstance(x, str) and x.startswith("BF16 is shown separately") and "1.25× as fast as half library" in x
               for x in section.appendix)


def test_roofs_with_their_spread_and_the_ridge_point(tmp_path):
    run = Run("ceilings")
    run.roofs("gpu")
    run.roofs("cpu", (1, 4))
    run.save(tmp_path)
    section = section_of(tmp_path, "ceilings")
    assert "the ridge point is at 10.0 operations per byte" in section.finding
    assert "One thread alone reaches 25\u00a0% of that peak" in section.finding
    row = section.figures[0].rows[0]
    assert row["n"] == 12 and row["minimum"] <= row["low"] <= row["value"] <= row["high"] <= row["maximum"] and row["date"]


def test_a_ladder_needs_no_py(tmp_path, monkeypatch):
    monkeypatch.setattr("report.data.declaration.FOLDER", tmp_path)
    run = ladder("gpu", "mine", experiment_toml='chapter = 5\n[report]\nkind = "ladder"\nfamily = "matmul"\nsize = 512\n')
    run.save(tmp_path)
    section = section_of(tmp_path, "mine")
    assert "the fastest rung is top" in section.finding and section.figures[0].name == "mine_gpu_rungs"
    assert [t.name for t in section.appendix if hasattr(t, "columns")] == ["mine_gpu_rungs"]


def test_the_gpu_wins_from_a_size_on(tmp_path):
    """With copies of 0.1 ms it loses at 64 and wins at 1024."""
    ladder("gpu", sizes=(64, 1024)).save(tmp_path)
    ladder("cpu", sizes=(64, 1024)).save(tmp_path)
    study = collect([tmp_path], [])
    ladders = [x for c in contributions.contributions(study) for x in c.section.ladders]
    section = comparison.section(comparison.comparisons(study, ladders)[0])
    assert "it is faster at every size measured (from N\u00a0=\u00a064), with the copies from N\u00a0=\u00a01024 up." in section.answer[0]
    assert "10× as fast" in section.answer[0].replace("10.0×", "10×")


def test_far_above_a_roof_is_above_it_however_uncertain():
    roof = Roof("FMA", 100.0, False, "fp32", low=10.0, high=400.0, n=10)
    assert share(250.0, (200.0, 300.0), roof).exceeds and not share(105.0, (90.0, 120.0), roof).exceeds


def test_units_are_not_broken_and_paths_may_be():
    assert clean("9 GB/s, 2 FLOP/byte. OP/B") == "9 GB/s, 2 FLOP/byte. OP/B"
    assert clean("tables/roofs/cpu.csv").count("\u200b") == 2


def test_the_width_of_a_text_is_that_of_its_letters():
    assert text_width("\u6f22\0\U000f0000", 10) > 0  # in no type that figures have
    assert text_width("iiii", 10) < text_width("mmmm", 10) and text_width("a\nbbbb", 5) == text_width("bbbb", 5)


def test_first_page_figures_are_not_shown_again(tmp_path):
    ladder("cpu", sizes=(512, 1024)).save(tmp_path)
    ladder("gpu", sizes=(512, 1024)).save(tmp_path)
    made = document.make(collect([tmp_path], []))
    data = json.dumps(compose.documents(made, {})["experiments"]["main"])
    assert made.first and not any(f"figures/{f.name}.pdf" in data for f in made.first)


def test_on_a_gpu_a_table_has_both_shares_clock_and_power(tmp_path):
    run = ladder(gpu_power_limit_w=700.0)
    for entry in run.benchmarks:
        entry["sm_clock_mhz"] = 2000.0 if "ceiling" in entry["kernel"] else 1600.0
        if entry["kernel"] == "gpu/matmul/top":
            entry |= {"energy_j": 1.0, "power_w": 693.0}
    run.save(tmp_path)
    section = section_of(tmp_path, "matmul_ladder")
    table = next(t for t in section.appendix if getattr(t, "name", "").endswith("speed_of_light"))
    top = table.rows[2]
    assert top["share_of_peak"] == pytest.approx(0.8, rel=0.01) and top["share_at_clock"] == pytest.approx(1, rel=0.01)
    assert (top["sm_clock_mhz"], top["power_w"], top["limit"]) == (1600, 693, "limited by power (0.99)")
    assert "Clocks were read right after the samples" in table.caption
    assert ", at the board’s power limit (693 of 700\u00a0W)" in section.finding
    assert {c.key for c in table.columns} >= {"share", "share_at_clock", "sm_clock_mhz", "power_w", "of_power_limit", "limit"}


def test_without_clocks_there_is_no_such_table(tmp_path):
    ladder().save(tmp_path)
    assert not any(getattr(t, "name", "").endswith("speed_of_light") for t in section_of(tmp_path, "matmul_ladder").appendix)


def test_the_caption_says_when_power_is_a_roof(tmp_path):
    """Only where it lowered the clock."""
    shares = {POWER: 1.01, ISSUE: 0.96}
    assert Use(shares, {}, is_slowed=False).nearest == (ISSUE, 0.96) and Use(shares, {}).nearest == (POWER, 1.01)
    run = ladder(gpu_power_limit_w=100.0)
    for e in run.benchmarks:
        e.update(power_w=99.0, energy_j=1.0)
    run.save(tmp_path)
    [found] = contributions.contributions(collect([tmp_path], []))
    caption = next(f.caption for f in (found.section.first, *found.section.figures) if f and f.name.endswith("_rungs"))
    assert "power from 0.95, where it lowered the clock" in caption


def test_the_method_names_what_is_no_median(tmp_path):
    ladder().save(tmp_path)
    text = " ".join(b.get("text", "") for b in method.method(collect([tmp_path], [])))
    assert MEANS[:2] == ("sm_clock_mhz", "power_w") and "medians, except clocks, power and the load by others, which are means" in text


def test_the_best_variant_is_the_one_that_none_is_faster_than(tmp_path):
    """By the quotients that the table gives: depth 8 has the lesser median, depth 16 is faster in most rounds."""
    run = Run("cpu_ladder")
    for i, (depth, times) in enumerate(((8, [1.0] * 7 + [1.3] * 6), (16, [0.98] * 6 + [1.01] + [1.28] * 6), (32, [2.0] * 7 + [2.6] * 6))):
        run.rate("cpu/matmul/top", 1, 512, tunables={"depth": depth}, times=times, interleaved_with=2)
    part = collect([run.save(tmp_path)], []).views[0].cpu
    points = {p.tunables["depth"]: p for p in part.timed()}
    assert points[8].summary.median < points[16].summary.median and times_as_fast(points[16], points[8]) > 1
    [table] = ladders.variants("x", build(part, "matmul", "fp32", 512))
    [row] = table.rows
    assert row["best"] == 16 and row["all"].replace("\u00a0", " ") == "8: ≈ 98 %; 16: 100 %; 32: 49 %"
    assert "≈: not significantly different" in table.caption and row["8 over the best"] == times_as_fast(points[8], points[16])


@pytest.mark.parametrize("machine", ("nvidia-h200", "nvidia-h100"))
def test_captions_promise_only_what_is_drawn(machine):
    """Of a set whose counters are of few kernels: open marks are said to be of these alone, joined where a line is."""
    import importlib

    from report.draw import marks, style
    study = collect([RECORDED / machine], [])
    [view] = [v for v in study.views if v.name == "matmul_ladder"]
    module = importlib.import_module("experiments.matmul_ladder")
    section, drawn = module.section(view), []
    fig, real = style.figure(84, half=True), marks.draw
    try:
        marks.draw = lambda ax, mark, sheet: (drawn.append(mark), real(ax, mark, sheet))
        section.first.draw(fig)
    finally:
        marks.draw = real
    opened = [m for m in drawn if "DRAM" in m.xs]
    few, axis = 0 < len(opened) < len(drawn), fig.axes[0].get_xlabel()
    assert ("joined" in section.first.caption) == any(len(m.xs) > 1 for m in opened)
    assert (" alone, " in section.first.caption) == few == (f"open, {len(opened)} of {len(drawn)}" in axis)
    assert ("open" in axis) == ("open" in section.first.caption.partition("Solid:")[0]) == bool(opened)
    levels = [f for f in section.figures if f.name.endswith("_hierarchy")]
    assert all(("alone, since" in f.caption) == (len(f.rows) == 1) for f in levels)
    [rungs] = [f for f in section.figures if f.name.endswith("_rungs")]
    assert ("no counters of it" in rungs.caption) == any(r.use.nearest is None for r in section.ladders[0].rungs)
    assert all(len(f.caption) < 620 for f in (section.first, *section.figures))


@pytest.mark.parametrize("places, caption, axis", (
    ([{"requested": 1.0}], "", "requested"),
    ([{"requested": 1.0, "DRAM": 2.0}] * 2, "; open, joined: per byte moved by DRAM", "filled: requested; open: DRAM"),
    ([{"requested": 1.0}, {"DRAM": 2.0}], "; open: per byte of DRAM", "requested; open, 1 of 2: DRAM")))
def test_open_marks_are_promised_where_there_are_some(places, caption, axis):
    import importlib

    from report.draw.marks import Mark
    told = importlib.import_module("experiments.matmul_ladder")._opened([Mark("", f"k{i}", 1.0, xs) for i, xs in enumerate(places)])
    assert told[0].startswith(caption) and bool(told[0]) == bool(caption) and told[1] == axis
    assert ("counters of k1 alone" in told[0]) == ("1 of 2" in axis)
