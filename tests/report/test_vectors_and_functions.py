"""What vector addition and the mathematical functions conclude from invented data."""

import matplotlib.pyplot as plt
from synthetic import Run

from report.data.collect import collect
from report.experiment import Table
from report.sections.contributions import contributions

MILLION = 1_000_000


def section_of(folder, run, text):
    run.context["experiment_toml"] = text
    run.save(folder)
    return contributions(collect([folder], []))[0].section


def drawn(section):
    """Draws every figure; a figure that cannot be drawn raises."""
    for figure in section.figures:
        fig = plt.figure(figsize=(6.5, figure.height / 25.4))
        figure.draw(fig)
        plt.close(fig)


# Vector addition

VECTORS = """
title = "Vector addition"
[report]
family = "vector_addition"
type = "fp32"
[[report.claims]]
id = "vector_types"
text = "wide accesses are one instruction"
"""


def vectors(wide=95.0, counts=(4096, 1024)):
    """Rates in GB/s at 100 million elements; the roof is 100."""
    run = Run("vector_addition", gpu_l2_bytes=60 * MILLION, problems={"vector_addition": {
        "title": "Vector addition", "metric": {"key": "gbytes_per_s", "unit": "GB/s"}, "size_names": ["n"]}})
    run.roofs("gpu")

    def time(kernel, rate, order, **tunables):
        run.kernel(f"gpu/vector_addition/{kernel}", order=order)
        for n, share in ((MILLION, 0.5), (100 * MILLION, 1.0)):
            run.time(f"gpu/vector_addition/{kernel}", 12 * n / (rate * share) / 1e9, {"n": n}, tunables, bytes_min=12 * n,
                     flops_useful=n, interleaved_with=3)
    time("one_block", 1.0, 10)
    for width, loads, rate in ((4, 1, 60.0), (4, 4, 95.0), (16, 1, wide)):
        time("vectors", rate, 40, width=width, loads=loads)
    for width, requests in zip((4, 16), counts):
        run.count("gpu/vector_addition/vectors", {"n": 65536}, {"width": width, "loads": 1}, load_requests=requests,
                  flops_executed=65536)
    return run


def test_bytes_in_flight_decide_where_wide_and_narrow_are_alike(tmp_path):
    section = section_of(tmp_path, vectors(), VECTORS)
    assert "100\u202f000\u202f000 elements" in section.finding and "95\u00a0% of the rate of reading from DRAM" in section.finding
    assert "one load of 16 bytes" in section.finding and "not a significant difference" in section.finding
    assert "one load of 4 bytes reaches 59.9" in section.finding
    drawn(section)


# Functions

FUNCTIONS = """
title = "Functions"
[report]
family = "math"
error = "math_error"
kinds = [["exp"], ["sin", "cos"]]
[[report.claims]]
id = "intrinsics"
text = "faster and less accurate"
"""


def functions(intrinsic=(3e12, 60.0), large=0.1):
    run = Run("math_functions", problems={
        "math": {"title": "Functions", "metric": {"key": "results_per_s", "unit": "result/s"}, "size_names": ["function", "n"]},
        "math_error": {"title": "Errors", "metric": {"key": "arguments_per_s", "unit": "argument/s"},
                       "size_names": ["function", "n"]}})

    def add(kernel, function, rate, ulps, order, **tunables):
        side, variant = kernel.split("/")
        run.kernel(f"{side}/math/{variant}", order=order)
        run.kernel(f"{side}/math_error/{variant}", order=order)
        for data, where, factor in (("random", "", 1.0), ("large", "/data:large", large)):
            run.time(f"{side}/math/{variant}", 1e9 / (rate * factor), {"function": function, "n": MILLION}, tunables, data=data,
                     name=f"{side}/math/{variant}/function:{function}/{tunables}{where}", results_per_s=rate * factor)
        run.time(f"{side}/math_error/{variant}", 0.01, {"function": function, "n": 2**20}, tunables, data="patterns",
                 name=f"{side}/math_error/{variant}/function:{function}/{tunables}", arguments_per_s=1e8,
                 judged={"max_ulp": ulps, "max_ulp_everywhere": ulps, "share_not_rounded": 0.01})
    add("gpu/library", "exp", 1e12, 2.0, 10)
    add("gpu/library", "sin", 1e12, 1.5, 10)
    add("gpu/intrinsic", "exp", *intrinsic, 20)
    add("gpu/intrinsic", "sin", 3.5e12, 1e7, 20)
    for degree, ulps in ((3, 1200.0), (6, 1.0)):
        add("gpu/polynomial", "exp", 2e12, ulps, 50, degree=degree)
    add("cpu/libm", "exp", 1e9, 0.6, 10)
    add("cpu/highway", "exp", 9e9, 2.0, 30)
    return run


def judged(run, kernel, function, **values):
    """Further values of the judge for one function."""
    e, = (e for e in run.benchmarks if e["kernel"] == kernel and e["sizes"]["function"] == function and e["run_type"] == "iteration"
          and e.get("repetition_index", 0) == 0)
    for other in run.benchmarks:
        if other["name"] == e["name"]:
            other["judged"] = other["judged"] | values


def test_an_error_outside_the_bounds_limits_what_is_said(tmp_path):
    """'No less accurate' holds where bounds are stated; elsewhere the text gives the error and NaN."""
    run = functions()
    run.benchmarks = [e for e in run.benchmarks if e.get("tunables") != {"degree": 3}]
    judged(run, "gpu/math_error/library", "exp", share_bounded=0.9961, special_mismatches=0)
    judged(run, "gpu/math_error/polynomial", "exp", max_ulp_everywhere=8.4e6, share_bounded=0.52, special_mismatches=2**14)
    judged(run, "gpu/math_error/intrinsic", "sin", share_bounded=0.5, special_mismatches=0, share_not_rounded=0.9965)
    judged(run, "gpu/math_error/library", "sin", share_bounded=0.9961, special_mismatches=0)
    section = section_of(tmp_path, run, FUNCTIONS)
    text = section.finding.replace("\u00a0", " ")
    assert "1.0 × 10⁷ ULP instead of 1.50 ULP where each states a bound. Intrinsic states one for 50 % of the arguments, library for > 99.5 %." in text
    assert ("For exp the polynomial 6 is faster than the library, with no larger error where each states a bound. Elsewhere its error is larger: up to "
            "8.4 × 10⁶ ULP for exp. For 1.6 % of the arguments of exp it returns NaN instead of a number, or a number instead of NaN.") in text


def test_the_parts_of_the_arguments_that_errors_are_of_are_given(tmp_path):
    run = functions()
    for side, variant, nan in (("cpu", "libm", 0), ("cpu", "highway", 0.50195)):
        run.time(f"{side}/math/{variant}", 1.0, {"function": "log", "n": MILLION}, {}, data="random", results_per_s=1e9,
                 name=f"{side}/math/{variant}/function:log")
        run.time(f"{side}/math_error/{variant}", 0.01, {"function": "log", "n": 2**20}, {}, data="patterns", arguments_per_s=1e8,
                 name=f"{side}/math_error/{variant}/function:log", judged={"max_ulp": 0.8, **({} if nan else {"max_ulp_everywhere": 0.8}), "share_bounded": 0.498,
                                                                          "share_not_rounded": 0.0062, "special_mismatches": nan * 2**20})
    section = section_of(tmp_path, run, FUNCTIONS)
    table, = (t for t in section.appendix if isinstance(t, Table) and t.name.endswith("_cpu"))
    assert "highway log: defined for positive arguments only, returns numbers for negative arguments." in table.caption and "libm log" not in table.caption
    cells = {c.title: [c.text(r[c.key]) for r in table.rows if r["function"] == "log"] for c in table.columns if all(
        r[c.key] is not None for r in table.rows if r["function"] == "log")}
    assert [x.replace("\u00a0", " ") for x in cells["NaN"]] == ["0 %", "50 %"]
    assert [x.replace("\u00a0", " ") for x in cells["bound for"]] == ["50 %", "50 %"]
    assert cells["anywhere"][1].replace("\u00a0", " ") == "> 10³⁰ ULP"


def test_words_as_sizes_tell_functions_apart(tmp_path):
    section = section_of(tmp_path, functions(), FUNCTIONS)
    assert "intrinsic sin is 3.50× as fast as library" in section.finding and "10⁷\u00a0ULP instead of 1.50\u00a0ULP" in section.finding
    assert "highway exp is 9× as fast as libm" in section.finding
    assert "For exp the polynomial 6 is faster than the library, with no larger error where each states a bound. With" in section.finding
    assert "takes 10× as long" in section.finding
    tables = [t for t in section.appendix if isinstance(t, Table)]
    assert {(r["side"], r["function"], r["implementation"]) for r in tables[0].rows + tables[1].rows} == {
        ("gpu", "exp", "library"), ("gpu", "sin", "library"), ("gpu", "exp", "intrinsic"), ("gpu", "sin", "intrinsic"),
        ("gpu", "exp", "polynomial 3"), ("gpu", "exp", "polynomial 6"), ("cpu", "exp", "libm"), ("cpu", "exp", "highway")}
    drawn(section)


