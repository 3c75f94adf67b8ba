"""What limits each rung of the GPU: shares of counts over times over roofs, verdicts, the table and the sentences."""

import json

import pytest
from test_report_support import CPU, GPU, read, write

from report import climbing, derive, limits, steps
from report.collect import collect

TITLES = ("low", "mid", "high", "lib")
COUNTS = {"dram_bytes": 5e8, "l2_bytes": 3e8, "shared_load_wavefronts": 10e6, "shared_store_wavefronts": 15e6,
          "instructions": 1e7, "ffma": 1e9}
"""Of 2e9 operations in a millisecond: 0.5 of DRAM, 0.15 of L2, 0.8 of shared memory, 0.25 of issue, 0.5 of FMA."""
ROOFS = {"DRAM read": 1000.0, "DRAM copy": 900.0, "L2": 2000.0, "Shared memory": 4000.0}


def name(title, n=1000):
    return f"gpu/matmul/{title}/tile:8/n:{n}"


def entries(title, milliseconds, n):
    made = {"kernel": f"gpu/matmul/{title}", "mode": "hot", "m": n, "n": n, "k": n, "tile": 8, "tunable_names": "tile",
            "flops": 2 * n**3, "bytes_min": 12 * n**2, "sm_clock_mhz": 1000, "time_unit": "ms", "iterations": 1}
    return [made | {"name": name(title, n), "run_name": name(title, n), "repetition_index": i,
                    "real_time": milliseconds * (1 + 1e-4 * (i - 3))} for i in range(7)]


def study_of(folder, counters, times=None, roofs=ROOFS, flat=("FP32 FMA", 4000.0), sizes=(1000,)):
    """Three rungs and a library on a GPU of 10 multiprocessors; times in milliseconds by title at n = 1000."""
    times = {"low": 2.0, "mid": 1.0, "high": 0.8, "lib": 0.6} | (times or {})
    kernels = {f"gpu/matmul/{t}": {"title": t, "order": i, "side": "gpu", "family": "matmul", "precision": "fp32",
                                   "is_library": t == "lib"} for i, t in enumerate(TITLES)}
    context = read(GPU / "matmul_ladder.json")["context"] | {"kernels": kernels, "gpu_sm_count": 10}
    rows = [e for t, time in times.items() for n in sizes for e in entries(t, time * (n / 1000)**3, n)]
    write(folder / "in" / "ladder.json", {"context": context, "benchmarks": rows})
    machine = {"machine": "Synthetic GPU", "date": "2026-01-20T10:00:00+00:00"}
    write(folder / "in" / "ceilings-gpu.json", machine | {"spec": {}, "empirical": {
        "gflops": {"data": [list(flat)] if flat else []}, "gbytes": {"data": [list(r) for r in roofs.items()]}}})
    if counters:
        write(folder / "in" / "counters.json", machine | {"tool": "synthetic counters", "points": counters})
    return collect([folder / "in"], [])


def shares_of(study, title="mid"):
    return limits.shares(study.gpu, next(p for p in study.gpu.points if p.name == name(title)))


def rungs(study):
    return {rung.point.kernel.title: rung for rung in limits.ladder(study, study.gpu)}


def columns(block):
    return [title.replace("\u200b", "") for title in block["columns"]]


def test_shares_are_counts_over_time_over_roofs(tmp_path):
    assert shares_of(study_of(tmp_path, {name("mid"): COUNTS})) == pytest.approx({
        "DRAM": 0.5, "L2": 0.15, "shared memory": 0.8, "instruction issue": 0.25, "arithmetic": 0.5})


def test_exact_wavefronts_go_before_the_others(tmp_path):
    both = {"shared_load_wavefronts_exact": 5e6, "shared_store_wavefronts_exact": 7.5e6}
    assert shares_of(study_of(tmp_path, {name("mid"): COUNTS | both}))["shared memory"] == pytest.approx(0.4)
    one = COUNTS | {"shared_load_wavefronts_exact": 5e6}
    assert shares_of(study_of(tmp_path, {name("mid"): one}))["shared memory"] == pytest.approx(0.8)


@pytest.mark.parametrize("counter, resource", (
    ("dram_bytes", "DRAM"), ("l2_bytes", "L2"), ("shared_load_wavefronts", "shared memory"),
    ("shared_store_wavefronts", "shared memory"), ("instructions", "instruction issue")))
def test_without_its_counter_a_resource_is_left_out(tmp_path, counter, resource):
    found = study_of(tmp_path, {name("mid"): {k: v for k, v in COUNTS.items() if k != counter}})
    assert shares_of(found).keys() == set(limits.RESOURCES) - {resource}
    table = limits.section(found, found.gpu)[-1]
    assert resource not in columns(table) and len(columns(table)) == 7


@pytest.mark.parametrize("label, resource", (("DRAM", "DRAM"), ("L2", "L2"), ("Shared", "shared memory")))
def test_without_its_roof_a_resource_is_left_out(tmp_path, label, resource):
    roofs = {k: v for k, v in ROOFS.items() if not k.startswith(label)}
    found = study_of(tmp_path, {name("mid"): COUNTS}, roofs=roofs)
    assert shares_of(found).keys() == set(limits.RESOURCES) - {resource}
    assert resource not in columns(limits.section(found, found.gpu)[-1])


def test_without_compute_roof_clock_or_multiprocessors(tmp_path):
    found = study_of(tmp_path, {name("mid"): COUNTS}, flat=None)
    assert shares_of(found).keys() == set(limits.RESOURCES) - {"arithmetic"}
    assert "arithmetic" not in columns(limits.section(found, found.gpu)[-1])
    found.gpu.context["gpu_sm_count"] = "ten"
    assert "instruction issue" not in shares_of(found)
    found.gpu.context["gpu_sm_count"] = 10
    for point in found.gpu.points:
        del point.counters["sm_clock_mhz"]
    assert "instruction issue" not in shares_of(found)


def test_a_counted_zero_is_shown_and_a_missing_count_is_not(tmp_path):
    none = COUNTS | {"shared_load_wavefronts": 0, "shared_store_wavefronts": 0}
    missing = {k: v for k, v in COUNTS.items() if "shared" not in k}
    found = study_of(tmp_path, {name("low"): none, name("mid"): missing, name("high"): COUNTS})
    table = limits.section(found, found.gpu)[-1]
    at = columns(table).index("shared memory")
    assert [row[at]["main"] for row in table["rows"]] == ["0.00", "–", "1.00"]


def test_verdicts(tmp_path):
    small = {key: value * 0.6 for key, value in COUNTS.items()}
    part = {k: v for k, v in small.items() if k != "instructions"}
    found = study_of(tmp_path, {name("low"): COUNTS, name("mid"): small, name("high"): COUNTS,
                                name("lib"): part}, times={"lib": 2.0})
    made = rungs(found)
    assert [r.verdict for r in made.values()] == [
        "none above 0.6", "none above 0.6", "shared memory, 1.00",
        "none of those known above 0.6"]
    assert [r.is_own for r in made.values()] == [True, True, True, False]
    assert limits.Limited(made["mid"].point, True, {"L2": 0.6, "DRAM": 0.2}).verdict == "L2, 0.60"


def test_the_size_is_the_largest_that_most_have_and_the_variant_the_fastest(tmp_path):
    counters = {name(t, 1000): COUNTS for t in TITLES} | {name("high", 2000): COUNTS}
    found = study_of(tmp_path, counters, sizes=(500, 1000, 2000))
    assert limits.size(found, found.gpu) == 1000
    assert [r.point.n for r in limits.ladder(found, found.gpu)] == [1000] * 4
    found = study_of(tmp_path, counters | {name(t, 2000): COUNTS for t in TITLES}, sizes=(500, 1000, 2000))
    assert limits.size(found, found.gpu) == 2000
    slower = entries("mid", 3.0, 1000)
    for entry in slower:
        entry |= {"tile": 4, "run_name": name("mid").replace("tile:8", "tile:4")}
    data = read(tmp_path / "in" / "ladder.json")
    write(tmp_path / "in" / "ladder.json", data | {"benchmarks": data["benchmarks"] + slower})
    only_slower = {k: v for k, v in counters.items() if k != name("mid")} | {slower[0]["run_name"]: COUNTS}
    table = read(tmp_path / "in" / "counters.json")
    write(tmp_path / "in" / "counters.json", table | {"points": only_slower})
    assert "mid" not in rungs(collect([tmp_path / "in"], [])), "counters of a slower variant are not the rung's"


def test_nothing_is_said_without_counters(tmp_path):
    found = study_of(tmp_path, None)
    assert limits.section(found, found.gpu) == [] and limits.section(found, None) == []
    assert not any("limits" in b.get("text", "") for b in climbing.section(found, "gpu", lambda name: []))
    only = study_of(tmp_path, {name("mid"): {"ffma": 1e9}})
    assert limits.section(only, only.gpu) == [], "arithmetic alone needs no counter and tells no limit"
    assert limits.section(collect([CPU], []), collect([CPU], []).cpu) == []


def test_section_stands_on_the_gpu_s_ladder_and_not_on_the_cpu_s(tmp_path):
    found = study_of(tmp_path, {name(t): COUNTS for t in TITLES})
    made = climbing.section(found, "gpu", lambda name: [])
    at = next(i for i, b in enumerate(made) if b.get("text") == "What limits each rung")
    assert made[at + 1]["kind"] == "reading"
    assert columns(made[at + 2]) == ["rung", "GFLOP/s", *limits.RESOURCES, "limit"]
    assert [row[0]["main"] for row in made[at + 2]["rows"]] == [f"{t} (tile 8)" for t in TITLES]
    caption = made[at + 2]["caption"].replace("\u200b", "")
    assert "DRAM over 1.00 TB/s" in caption and "FMA (4.00 TFLOP/s)" in caption and "synthetic counters" in caption
    both = collect([CPU], [GPU])
    assert "What limits" not in json.dumps(climbing.section(both, "cpu", lambda name: []))
    assert "What limits" in json.dumps(climbing.section(both, "gpu", lambda name: []))


def test_text_names_the_limits_at_the_bottom_and_at_the_top(tmp_path):
    found = study_of(tmp_path, {name(t): COUNTS for t in ("low", "high", "lib")})
    text = limits.reading(limits.ladder(found, found.gpu))
    assert text == ("At N = 1000 low (tile 8), the lowest rung with counters, is near none of its known roofs; the "
                    "nearest is shared memory (0.40); high (tile 8), the fastest, is limited by shared memory (1.00 of "
                    "its roof).")
    alone = study_of(tmp_path, {name("low"): COUNTS})
    assert limits.reading(limits.ladder(alone, alone.gpu)).endswith("shared memory (0.40).")
    library = study_of(tmp_path, {name("lib"): COUNTS})
    section = limits.section(library, library.gpu)
    assert [b["kind"] for b in section] == ["subheading", "table"]


def test_a_rung_that_is_not_faster_says_what_changed(tmp_path):
    other = COUNTS | {"dram_bytes": 6e8, "shared_load_wavefronts": 0, "instructions": 2.5e7, "l2_bytes": 1e8}
    found = study_of(tmp_path, {name("mid"): COUNTS, name("high"): other}, times={"high": 1.25})
    text = limits.reading(limits.ladder(found, found.gpu))
    assert text.endswith("high (tile 8) is no faster than mid (tile 8) (0.8×): L2 fell from 0.15 to 0.04, shared "
                         "memory fell from 0.80 to 0.38 and arithmetic fell from 0.50 to 0.40, while instruction issue "
                         "rose from 0.25 to 0.50."), "and DRAM, at 0.50 and 0.48, is the same"
    step = next(s for s in steps.climb(found, found.gpu, "fp32") if s.point.kernel.title == "high")
    assert step.below.verdict == "slower"


def test_an_ambiguous_step_and_one_that_changed_nothing(tmp_path):
    found = study_of(tmp_path, {name(t): COUNTS for t in TITLES}, times={"high": 1.0})
    text = limits.reading(limits.ladder(found, found.gpu))
    assert text.endswith("high (tile 8) is no faster than mid (tile 8) (1×, ambiguous): no known share changed by 0.05 "
                         "or more.")


def test_nothing_is_said_of_a_rung_that_is_faster(tmp_path):
    found = study_of(tmp_path, {name(t): COUNTS for t in TITLES})
    assert rungs(found)["high"].over.verdict == "faster"
    assert "no faster" not in limits.reading(limits.ladder(found, found.gpu))


def test_nothing_is_said_of_a_step_over_a_rung_without_counters(tmp_path):
    """'mid' is what 'high' is not faster than, and 'low' is not the rung below it."""
    found = study_of(tmp_path, {name(t): COUNTS for t in ("low", "high", "lib")}, times={"high": 1.25, "lib": 3.0})
    assert "no faster" not in limits.reading(limits.ladder(found, found.gpu))
    assert derive.fastest(list(p for p in found.gpu.points)).kernel.title == "mid"
