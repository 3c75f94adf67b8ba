"""The section of an experiment that has no .py: roofs and shares, axes that do not merge, what failed."""


import matplotlib.pyplot as plt
import pytest
from conftest import printed
from synthetic import DRAM, Run

from report.cli import main
from report.data.collect import collect
from report.data.load import load
from report.sections import contributions, doubts, generic

COPY = {"prefix": {"title": "Prefix", "metric": {"key": "gbytes_per_s", "unit": "GB/s"}, "size_names": ["n"]}}


def prefix(side="cpu", sizes=(10**6, 10**7), cases=((4, "hot", 8.0), (1, "hot", 2.0), (4, "cold", 5.0)), copy=0.9, **context):
    """A kernel at 8 of 10 GB/s, on one thread at 2, cold at 5; copies at 9."""
    whole = 0.1 if side == "cpu" else 1.0
    run = Run("prefix", problems=COPY, cpu_l3_bytes=1000, gpu_l2_bytes=1000, **context)
    run.roofs(side, (1, 4) if side == "cpu" else ())
    if copy:
        name = run.kernel(f"{side}/copy/dram", ceiling={"label": "DRAM copy", "is_bandwidth": True})
        run.time(name, 0.001, {"bytes": 1000}, bytes_min=copy * DRAM * whole * 1e6)
    run.kernel(f"{side}/prefix/omp", title="OpenMP")
    for n in sizes:
        for threads, mode, rate in cases:
            name = f"{side}/prefix/omp/n:{n}/threads:{threads}" + ("/mode:cold" if mode == "cold" else "")
            run.time(f"{side}/prefix/omp", 8 * n / rate / 1e9, {"n": n}, threads=threads, mode=mode, name=name, bytes_min=8 * n)

    return run


def section_of(folder, run):
    run.save(folder)
    return generic.section(next(v for v in collect([folder], []).views if v.name == run.context["experiment"]))


def test_the_roofs_are_drawn_and_shares_are_given(tmp_path):
    run = prefix()
    run.count("gpu/prefix/blocks", {"n": 1024}, bytes_min=8 * 1024, bytes_declared_stored=4 * 1024)
    section = section_of(tmp_path, run)
    assert "is OpenMP (hot and 4 threads) with 7.99\u00a0GB/s" in section.finding
    assert "89\u00a0% of the rate of a copy in DRAM (8.99\u00a0GB/s)" in section.finding
    assert "Grey: DRAM copy, as measured." in section.figures[0].caption
    row = next(r for r in section.appendix[0].rows if (r["mode"], r["threads"]) == ("hot", 4))
    assert row["share of DRAM"] == pytest.approx(8 / 9, rel=0.01)
    fig = plt.figure(figsize=(6.5, 2.5))
    section.figures[0].draw(fig)
    assert any("DRAM copy, " in t.get_text() for t in fig.axes[0].texts)
    plt.close(fig)


def test_modes_and_threads_are_lines_and_rows_of_their_own(tmp_path):
    section = section_of(tmp_path, prefix())
    lines = {row["line"] for row in section.figures[0].rows}
    assert lines == {"OpenMP, hot, 4 threads", "OpenMP, hot, 1 thread", "OpenMP, cold, 4 threads"}
    table = section.appendix[0]
    assert {c.key for c in table.columns} >= {"mode", "threads"} and len(table.rows) == 6
    assert {(r["mode"], r["threads"]) for r in table.rows} == {("hot", 4), ("hot", 1), ("cold", 4)}
    assert {round(r["value"]) for r in table.rows} == {8, 2, 5}


def test_one_mode_and_one_number_of_threads_need_no_columns(tmp_path):
    section = section_of(tmp_path, prefix(cases=((4, "hot", 8.0),)))
    assert {c.key for c in section.appendix[0].columns}.isdisjoint({"mode", "threads"})
    assert section.appendix[0].rows[0]["threads"] == 4, "the CSV has it"


def test_what_a_cache_holds_is_no_share_of_memory(tmp_path):
    run = prefix()
    run.context["cpu_l3_bytes"] = 10**9
    assert "of DRAM" not in section_of(tmp_path, run).finding


def test_a_product_is_beside_the_peak_of_its_type(tmp_path):
    run = Run("products")
    run.roofs("gpu")
    for n in (256, 512):
        run.rate("gpu/matmul/mine", 600, n)
    section = section_of(tmp_path, run)
    assert "60\u00a0% of FP32 FMA" in section.finding and "Grey: FP32 FMA" in section.figures[0].caption


def wrong(run, kernel="cpu/prefix/wrong", n=10**7):
    run.benchmarks.append(run.entry(kernel, {"n": n}, {}, error_occurred=True, error_message="wrong result at element 7"))


def test_what_failed_is_on_the_first_page(tmp_path, plain):
    run = prefix()
    wrong(run)
    assert "; 1 kernel failed there." in section_of(tmp_path / "in", run).finding
    assert main([str(tmp_path / "in"), "--output", str(tmp_path / "out")]) == 0
    [text] = [w for w in printed(tmp_path / "out")["page"]["warnings"] if "failed" in w]
    assert "1 point of 1 kernel failed and has no rate: wrong (CPU) (wrong result at element 7)" in text.replace("\u200b", "")
    assert doubts.failed(collect([section_free(tmp_path)], [])) == []


def section_free(folder):
    prefix().save(folder / "clean")
    return folder / "clean"


@pytest.mark.parametrize("left_out", (False, True))
def test_nothing_is_called_complete_that_is_not(tmp_path, plain, left_out):
    """Points of a side that is nowhere shown were skipped all the same."""
    run = prefix()
    if left_out:
        run.kernel("gpu/prefix/x")
        run.benchmarks.append(run.entry("gpu/prefix/x", {"n": 10**7}, {}) | {"skipped": True, "skip_message": "built without CUDA"})
    run.save(tmp_path / "in")
    assert main([str(tmp_path / "in"), "--output", str(tmp_path / "out")]) == 0
    text = (tmp_path / "out" / "report.json").read_text().replace("\u200b", "")
    assert ("No point was skipped" in text) != left_out and ("built without CUDA" in text) == left_out


def test_kernels_with_one_title_are_told_apart(tmp_path):
    run = prefix()
    run.kernel("cpu/prefix/other", title="OpenMP")
    for n in (10**6, 10**7):
        run.time("cpu/prefix/other", 8 * n / 3e9, {"n": n}, bytes_min=8 * n)
    assert {k.title for k in load(run.save(tmp_path)).kernels.values() if k.family == "prefix"} == {"OpenMP (omp)", "OpenMP (other)"}
    lines = {row["line"] for row in section_of(tmp_path, run).figures[0].rows}
    assert len(lines) == 4 and "OpenMP (other), hot, 4 threads" in lines


def test_kernels_of_two_families_with_one_title_are_two_lines(tmp_path):
    run = prefix(cases=((4, "hot", 8.0),))
    run.context["problems"]["suffix"] = COPY["prefix"]
    run.kernel("cpu/suffix/omp", title="OpenMP")
    for n in (10**6, 10**7):
        run.time("cpu/suffix/omp", 8 * n / 3e9, {"n": n}, bytes_min=8 * n)
    lines = {row["line"] for row in section_of(tmp_path, run).figures[0].rows}
    assert lines == {"OpenMP (prefix/omp)", "OpenMP (suffix/omp)"}


def serial(cases):
    """A kernel on one thread at these rates (GB/s) by the threads that it was given, and one on all; the triad is slower on four
    threads than on one, where reading is faster than the triad."""
    run = Run("prefix", problems=COPY, cpu_l3_bytes=1000)
    for label, rates in (("DRAM read", {1: 40.5, 4: 33.0}), ("DRAM triad", {1: 38.3, 4: 37.2})):
        name = run.kernel(f"cpu/{label.split()[1]}/dram", ceiling={"label": label, "is_bandwidth": True})
        for t, rate in rates.items():
            run.time(name, 0.001, {"bytes": 1000}, threads=t, name=f"{name}/bytes:1000/threads:{t}", bytes_min=rate * 1e6)
    run.kernel("cpu/prefix/loop", is_serial=True)
    run.kernel("cpu/prefix/omp")
    for n in (10**6, 10**7):
        for threads, rate in cases:
            run.time("cpu/prefix/loop", 8 * n / rate / 1e9, {"n": n}, threads=threads, name=f"cpu/prefix/loop/n:{n}/threads:{threads}", bytes_min=8 * n)
        for threads, rate in ((1, 20.0), (4, 25.0)):
            run.time("cpu/prefix/omp", 8 * n / rate / 1e9, {"n": n}, threads=threads, name=f"cpu/prefix/omp/n:{n}/threads:{threads}", bytes_min=8 * n)
    return run


def test_a_kernel_of_one_thread_is_judged_by_one_threads_roof(tmp_path):
    """However many it was given; and the words say one thread."""
    section = section_of(tmp_path, serial(((4, 38.3),)))
    assert "is loop (1 thread) with 38.3\u00a0GB/s, 100\u00a0% of the rate of a triad in DRAM by one thread (38.3\u00a0GB/s)" in section.finding
    row = next(r for r in section.appendix[0].rows if r["title"] == "loop")
    assert row["threads"] == 1 and row["share of DRAM"] == pytest.approx(1.0, rel=0.01)
    assert "loop, 1 thread" in {r["line"] for r in section.figures[0].rows}


def test_one_thread_is_judged_by_the_pattern_of_all(tmp_path):
    """A triad, where no kernel says what the problem stores, though reading is faster on one thread."""
    table = section_of(tmp_path, serial(((1, 19.0),))).appendix[0]
    shares = {(r["title"], r["threads"]): r["share of DRAM"] for r in table.rows}
    assert shares["omp", 1] == pytest.approx(20 / 38.3, rel=0.01) and shares["omp", 4] == pytest.approx(25 / 37.2, rel=0.01)
    assert "Shares are of DRAM triad (38.3\u00a0GB/s, 1 thread) and DRAM triad (37.2\u00a0GB/s, 4 threads)." in table.caption


@pytest.mark.parametrize("is_disturbed", (False, True))
def test_a_disturbed_interval_does_not_stretch_the_axis(tmp_path, is_disturbed):
    run = prefix(cases=((4, "hot", 8.0),))
    n = 3 * 10**6
    times = [8 * n / rate / 1e9 for rate in ([7.9, 8.0] * 6 + [3e4] * 12 if is_disturbed else [7.9, 8.0] * 12)]
    run.time("cpu/prefix/omp", 0, {"n": n}, times=times, name=f"cpu/prefix/omp/n:{n}/threads:4", bytes_min=8 * n)
    figure = section_of(tmp_path, run).figures[0]
    fig = plt.figure(figsize=(6.5, 2.5))
    figure.draw(fig)
    assert fig.axes[0].get_ylim()[1] < 20 or any(r["value"] > 20 for r in figure.rows)
    assert ("Arrows: intervals that reach further." in figure.caption) == (is_disturbed and all(r["value"] < 20 for r in figure.rows))
    plt.close(fig)


@pytest.mark.parametrize("family", ("prefix", "matmul"))
def test_a_ladder_of_which_nothing_was_timed_is_shown_without_one(tmp_path, family):
    run = prefix(experiment_toml=f'[report]\nkind = "ladder"\nfamily = "{family}"\n')
    run.save(tmp_path)
    [made] = [c.section for c in contributions.contributions(collect([tmp_path], [])) if c.view.name == "prefix"]
    assert bool(made.ladders) == (family == "prefix")
    assert family == "prefix" or "with 7.99\u00a0GB/s" in made.finding
    told = [w for w in made.warnings if "declares a ladder of matmul in FP32, but no point of it was timed" in w]
    assert len(told) == len(made.warnings) == (family == "matmul")
