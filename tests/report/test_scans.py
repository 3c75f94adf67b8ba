"""What reduction, prefix sum and histogram conclude from invented data."""

import matplotlib.pyplot as plt
import pytest
from synthetic import Run

from report.data import declaration
from report.data.collect import collect
from report.sections.contributions import contributions

MILLION = 1_000_000
METRIC = {"title": "An array", "metric": {"key": "gbytes_per_s", "unit": "GB/s"}}


def section_of(folder, run):
    run.context["experiment_toml"] = (declaration.FOLDER / f"{run.context['experiment']}.toml").read_text(encoding="utf-8")
    run.save(folder)
    found = contributions(collect([folder], []))
    return found[0].section if found else None


def drawn(section):
    """Draws every figure; a figure that cannot be drawn raises."""
    for figure in section.figures:
        fig = plt.figure(figsize=(3.2, figure.height / 25.4))
        figure.draw(fig)
        plt.close(fig)


def arrays(name, family, rates, bytes_, side="gpu", sizes=(1024, 100 * MILLION), **requested):
    """Rates in GB/s at the largest size, a tenth of that at the others; the roof is 100, on a CPU 10."""
    run = Run(name, gpu_l2_bytes=60 * MILLION, cpu_l3_bytes=60 * MILLION, problems={family: METRIC | {"size_names": ["n"]}})
    run.roofs(side)
    for order, (variant, rate) in enumerate(rates.items()):
        kernel = run.kernel(f"{side}/{family}/{variant}", order=10 * order, is_library=variant == "cub")
        for n in sizes:
            declared = {"bytes_declared_loaded": requested[variant] * n} if variant in requested else {}
            run.time(kernel, bytes_ * n / (rate * (1 if n == max(sizes) else 0.1)) / 1e9, {"n": n}, bytes_min=bytes_ * n,
                     flops_useful=n, interleaved_with=3, **declared)
    return run


# Prefix sum


def prefix_sums(one_pass=96.0, tree=3, steps=20, **kwargs):
    run = arrays("prefix_sum", "prefix_sum", {"hillis_steele": 20, "blelloch": 21, "shuffles": 60, "look_back": one_pass, "cub": 90},
                 8, hillis_steele=16, blelloch=16, shuffles=12, look_back=8, **kwargs)
    for variant, additions, barriers in (("hillis_steele", 10, 10), ("blelloch", tree, steps)):
        run.count(f"gpu/prefix_sum/{variant}", {"n": 65536}, flops_executed=additions * 65536, barriers=barriers)
    return run


def test_a_scan_stands_beside_the_copies_of_all_runs(tmp_path):
    """Also where its own run has none."""
    other = Run("transpose")
    other.time(other.kernel("gpu/copy/dram", ceiling={"label": "DRAM copy", "is_bandwidth": True}), 0.001, {"bytes": 1000}, bytes_min=120e6)
    other.rate("gpu/transpose/naive", 1)
    other.save(tmp_path)
    prefix_sums().save(tmp_path)
    found = next(c.section for c in contributions(collect([tmp_path], [])) if c.view.name == "prefix_sum")
    assert "80\u00a0% of the rate of a copy in DRAM (120\u00a0GB/s)" in found.finding


def test_a_scan_in_one_pass_is_a_copy(tmp_path):
    section = section_of(tmp_path, prefix_sums())
    assert "96\u00a0% of the rate of reading from DRAM (99.9\u00a0GB/s)" in section.finding and "as fast as cub" in section.finding
    assert "16.0\u00a0B and 40.0\u00a0ms for hillis steele" in section.finding
    bounds = {row["kernel"]: row["bound"] for row in section.tables[0].rows}
    assert bounds["gpu/prefix_sum/shuffles"] == pytest.approx(100 * 8 / 12, rel=0.01) and bounds["gpu/prefix_sum/cub"] is None
    drawn(section)


def test_arrays_within_a_cache_say_nothing_of_memory(tmp_path):
    section = section_of(tmp_path, prefix_sums(sizes=(1024, MILLION)))
    assert "DRAM" not in section.finding and "of the rate of reading from L2" in section.finding


def test_a_cpu_alone_has_a_section(tmp_path):
    section = section_of(tmp_path, arrays("prefix_sum", "prefix_sum", {"loop": 2, "blocked": 9}, 8, side="cpu"))
    assert "on the CPU is blocked" in section.finding
    drawn(section)


def test_counts_alone_or_one_point_are_enough(tmp_path):
    run = Run("prefix_sum", problems={"prefix_sum": METRIC | {"size_names": ["n"]}})
    run.count("gpu/prefix_sum/blelloch", {"n": 65536}, flops_executed=65536, barriers=2)
    assert section_of(tmp_path, run) is None
    section = section_of(tmp_path / "one", arrays("prefix_sum", "prefix_sum", {"look_back": 96}, 8, sizes=(100 * MILLION,)))
    drawn(section)


# Reduction


def sums(sequential=30.0, loads=100):
    run = arrays("reduction", "sum", {"tree_interleaved": 20, "tree_sequential": sequential, "atomics": 70, "two_launches": 71,
                                      "last_block": 72, "vectors": 97, "cub": 95}, 4)
    for variant, count in (("tree_interleaved", 400), ("tree_sequential", loads)):
        run.count(f"gpu/sum/{variant}", {"n": 65536}, shared_load_requests=count)
    return run


def test_threads_that_are_neighbours_gain(tmp_path):
    section = section_of(tmp_path, sums())
    assert "97\u00a0% of the rate of reading" in section.finding and "from tree sequential to atomics" in section.finding
    assert "Not drawn: tree interleaved" in section.figures[0].caption
    drawn(section)


# Histogram


def histograms(shared=(50.0, 20.0), globally=(10.0, 1.0), data=("uniform",)):
    run = Run("histogram", gpu_l2_bytes=60 * MILLION, problems={"histogram": METRIC | {"size_names": ["n", "percent"]}})
    run.roofs("gpu")
    rates = {"global_atomics": globally, "shared_copy": shared, "lane_copies": (90.0, 90.0), "cub": (80.0, 70.0)}
    for order, (variant, ends) in enumerate(rates.items()):
        kernel = run.kernel(f"gpu/histogram/{variant}", order=order, type="int8", is_library=variant == "cub")
        for percent, rate in zip((0, 100), ends):
            for name in data:
                sizes = {"n": 100 * MILLION, "percent": percent}
                run.time(kernel, 0.1 / rate, sizes, data=name, bytes_min=100 * MILLION, interleaved_with=3,
                         name=f"{kernel}/{name}/percent:{percent}")
    return run


def test_copies_of_the_counters_gain_the_more_the_more_values_are_alike(tmp_path):
    section = section_of(tmp_path, histograms(data=("uniform", "few")))
    assert "90\u00a0% of the rate of reading" in section.finding
    assert "factor of 10 with global atomics and of 1 with lane copies" in section.finding.replace("1.00", "1").replace("10.0", "10")
    assert [t.name for t in section.appendix if hasattr(t, "rows")] == ["histogram_gpu_data"]
    drawn(section)


def test_a_sentence_has_the_ratio_of_its_table(tmp_path):
    """For two interleaved codes it is the median quotient, which is 2, not the quotient of the medians, which is 3."""
    run = Run("prefix_sum", problems={"prefix_sum": METRIC | {"size_names": ["n"]}})
    slow, fast = [2.0] * 7 + [6.0] * 8, [1.0] * 7 + [3.0] * 7 + [2.0]
    for order, (name, times) in enumerate((("look_back", slow), ("bulk", fast))):
        run.kernel(f"gpu/prefix_sum/{name}", order=order)
        run.time(f"gpu/prefix_sum/{name}", 0, {"n": 1024}, times=[t / 1000 for t in times], bytes_min=8192, flops_useful=1024, interleaved_with=1)
    section = section_of(tmp_path, run)
    [row] = [r for t in section.tables for r in t.rows if r.get("gain")]
    assert row["gain"] == 2 and "2× as fast as look back" in section.finding
