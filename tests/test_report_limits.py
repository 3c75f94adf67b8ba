"""What limits each rung of the GPU: shares of counts over times over roofs, waits, verdicts, table and sentences."""

import dataclasses
import json

import pytest
from test_report_support import CPU, GPU, read, write

from report import climbing, counters, derive, limits, resources, steps
from report.collect import collect

TITLES = ("low", "mid", "high", "lib")
COUNTS = {"dram_bytes": 5e8, "l2_bytes": 3e8, "l1_wavefronts": 2e6, "shared_load_wavefronts": 10e6,
          "shared_store_wavefronts": 15e6, "instructions": 1e7, "ffma": 1e9}
"""Of 2e9 operations in a millisecond: 0.5 of DRAM, 0.15 of L2, 0.2 of the L1's cycles, 0.8 of shared memory, 0.25 of
issue, 0.5 of FMA."""
STATES = {"warps_selected": 1.0, "warps_not_selected": 4.0, "warps_barrier": 3.0, "warps_short_scoreboard": 1.5,
          "warps_wait": 0.5}
"""Of ten warps for each instruction: a tenth of their time issues, 0.3 waits for barriers, 0.15 for shared memory."""
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


CPU_BYTES = {"bytes_l1_model": 2e8, "bytes_l2_model": 4e7, "bytes_l3_model": 1e7, "bytes_dram_model": 2e6}
"""Of 2e9 operations in 10 ms: 0.2 of L1, 0.08 of L2, 0.05 of L3, 0.02 of DRAM, 0.5 of FMA."""
CPU_ROOFS = {"L1": 100.0, "L2": 50.0, "L3": 20.0, "DRAM": 10.0}


def cpu_study(folder, of_bytes, times=None, roofs=CPU_ROOFS):
    """Three rungs and a library on a CPU; times in milliseconds by title at n = 1000, bytes by title."""
    times = {"low": 20.0, "mid": 10.0, "high": 8.0, "lib": 6.0} | (times or {})
    kernels = {f"cpu/matmul/{t}": {"title": t, "order": i, "side": "cpu", "family": "matmul", "precision": "fp32",
                                   "is_library": t == "lib"} for i, t in enumerate(TITLES)}
    rows = []
    for title, time in times.items():
        own = f"cpu/matmul/{title}/n:1000"
        rows += [e | of_bytes.get(title, {}) | {"kernel": f"cpu/matmul/{title}", "name": own, "run_name": own}
                 for e in entries(title, time, 1000)]
    write(folder / "in" / "ladder.json", {"context": read(CPU / "emulator.json")["context"] | {"kernels": kernels},
                                          "benchmarks": rows})
    write(folder / "in" / "ceilings-cpu.json", {
        "machine": "Synthetic CPU", "date": "2026-01-20T10:00:00+00:00", "spec": {},
        "empirical": {"gflops": {"data": [["FMA", 400.0]]}, "gbytes": {"data": [list(r) for r in roofs.items()]}}})
    return collect([folder / "in"], [])


def shares_of(study, title="mid"):
    return limits.shares(study.gpu, next(p for p in study.gpu.points if p.name == name(title)))


def rungs(study):
    return {rung.point.kernel.title: rung for rung in limits.ladder(study, study.gpu)}


def text_of(study):
    return " ".join(limits.reading(limits.ladder(study, study.gpu)))


def columns(block):
    """The titles in full words."""
    full = {head: resource for resource, head in limits.HEADS.items()}
    return [full.get(title, title.replace("\u200b", "")) for title in block["columns"]]


def test_shares_are_counts_over_time_over_roofs(tmp_path):
    assert shares_of(study_of(tmp_path, {name("mid"): COUNTS})) == pytest.approx({
        "DRAM": 0.5, "L2": 0.15, "L1": 0.2, "shared memory": 0.8, "instruction issue": 0.25, "arithmetic": 0.5})


def test_exact_wavefronts_go_before_the_others(tmp_path):
    both = {"shared_load_wavefronts_exact": 5e6, "shared_store_wavefronts_exact": 7.5e6}
    assert shares_of(study_of(tmp_path, {name("mid"): COUNTS | both}))["shared memory"] == pytest.approx(0.4)
    one = COUNTS | {"shared_load_wavefronts_exact": 5e6}
    assert shares_of(study_of(tmp_path, {name("mid"): one}))["shared memory"] == pytest.approx(0.8)


@pytest.mark.parametrize("counter, resource", (
    ("dram_bytes", "DRAM"), ("l2_bytes", "L2"), ("l1_wavefronts", "L1"), ("shared_load_wavefronts", "shared memory"),
    ("shared_store_wavefronts", "shared memory"), ("instructions", "instruction issue")))
def test_without_its_counter_a_resource_is_left_out(tmp_path, counter, resource):
    found = study_of(tmp_path, {name("mid"): {k: v for k, v in COUNTS.items() if k != counter}})
    assert shares_of(found).keys() == set(resources.RESOURCES) - {resource}
    table = limits.section(found, found.gpu)[-1]
    assert resource not in columns(table) and len(columns(table)) == 8


@pytest.mark.parametrize("label, resource", (("DRAM", "DRAM"), ("L2", "L2"), ("Shared", "shared memory")))
def test_without_its_roof_a_resource_is_left_out(tmp_path, label, resource):
    roofs = {k: v for k, v in ROOFS.items() if not k.startswith(label)}
    found = study_of(tmp_path, {name("mid"): COUNTS}, roofs=roofs)
    assert shares_of(found).keys() == set(resources.RESOURCES) - {resource}
    assert resource not in columns(limits.section(found, found.gpu)[-1])


def test_without_compute_roof_clock_or_multiprocessors(tmp_path):
    found = study_of(tmp_path, {name("mid"): COUNTS}, flat=None)
    assert shares_of(found).keys() == set(resources.RESOURCES) - {"arithmetic"}
    assert "arithmetic" not in columns(limits.section(found, found.gpu)[-1])
    found.gpu.context["gpu_sm_count"] = "ten"
    assert shares_of(found).keys().isdisjoint({"instruction issue", "L1"})
    found.gpu.context["gpu_sm_count"] = 10
    for point in found.gpu.points:
        del point.counters["sm_clock_mhz"]
    assert shares_of(found).keys().isdisjoint({"instruction issue", "L1"})


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


@pytest.mark.parametrize("l1, shared, verdict", (
    (0.84, 0.80, "shared memory, 0.80"), (0.90, 0.80, "L1, 0.90"), (0.61, 0.59, "L1, 0.61"),
    (0.80, 0.84, "shared memory, 0.84"), (0.90, None, "L1, 0.90")))
def test_an_l1_that_serves_shared_memory_alone_is_called_shared_memory(tmp_path, l1, shared, verdict):
    found = rungs(study_of(tmp_path, {name("mid"): COUNTS}))["mid"].point
    shares = {"L1": l1} | ({"shared memory": shared} if shared else {})
    rung = limits.Limited(found, True, shares)
    assert rung.verdict == verdict


@pytest.mark.parametrize("l1, shared, nearest", (
    (0.58, 0.56, "shared memory"), (0.04, 0.0, "L1"), (0.04, 0.01, "L1"), (0.0, None, "L1"), (0.0, 0.0, "L1")))
def test_an_l1_that_is_hardly_used_keeps_its_name(tmp_path, l1, shared, nearest):
    found = rungs(study_of(tmp_path, {name("mid"): COUNTS}))["mid"].point
    rung = limits.Limited(found, True, {"L1": l1} | ({} if shared is None else {"shared memory": shared}))
    assert rung.nearest[0] == nearest


def test_waits_are_parts_of_all_active_warps_time(tmp_path):
    found = rungs(study_of(tmp_path, {name("mid"): COUNTS | STATES, name("high"): COUNTS}))
    assert found["mid"].waits == pytest.approx({"barrier": 0.3, "short_scoreboard": 0.15, "wait": 0.05})
    assert [state for state, _ in found["mid"].longest] == ["barrier", "short_scoreboard", "wait"]
    assert found["high"].waits == {} and found["high"].longest == []


def test_waits_of_no_time_and_counters_that_make_no_sense(tmp_path):
    busy = {"warps_selected": 1.0, "warps_not_selected": 3.0, "warps_barrier": 0.0}
    unknown = COUNTS | {k: v for k, v in STATES.items() if k != "warps_selected"}
    hostile = COUNTS | {"warps_selected": 0.0, "warps_barrier": 0.0, "warps_of_mars": 9.0}
    odd = COUNTS | STATES | {"warps_of_mars": 9.0, "warps_wait": "many", "warps_drain": -5}
    found = study_of(tmp_path, dict(zip(map(name, TITLES), (COUNTS | busy, unknown, hostile, odd))))
    made = rungs(found)
    assert [made[t].longest for t in TITLES[:3]] == [[], [], []]
    assert made["lib"].waits == pytest.approx({"barrier": 3 / 9.5, "short_scoreboard": 1.5 / 9.5})
    table = limits.section(found, found.gpu)[-1]
    assert [row[-1]["main"] for row in table["rows"]] == ["–", "–", "–", "barriers, 0.32"]


def test_every_state_that_waits_has_its_words():
    assert limits.WAITS.keys() | set(limits.ABLE) == set(counters.STATES)
    assert limits.WAITS.keys().isdisjoint(limits.ABLE)
    assert len(set(limits.WAITS.values())) == len(limits.WAITS)


def test_the_column_of_waits_says_the_longest_in_our_words_and_in_the_tool_s(tmp_path):
    full = {"warps_selected": 1.0, "warps_math_pipe_throttle": 1.0}
    counts = COUNTS | STATES
    found = study_of(tmp_path, {name("low"): COUNTS, name("mid"): counts, name("high"): counts | full})
    table = limits.section(found, found.gpu)[-1]
    assert columns(table)[-2:] == ["limit", "warps wait for"] and len(table["widths"]) == len(table["columns"])
    assert [row[-1]["main"] for row in table["rows"]] == ["–", "barriers, 0.30", "barriers, 0.27"]
    assert "Warps wait for:" in table["caption"] and "arithmetic is full" not in table["caption"]
    found = study_of(tmp_path, {name("mid"): COUNTS | full})
    table = limits.section(found, found.gpu)[-1]
    assert table["rows"][0][-1] == {"main": "busy arithmetic, 0.50", "small": "math pipe throttle"}
    assert "To wait for busy arithmetic is a sign that arithmetic is full" in table["caption"]


def test_without_waits_no_column_and_no_word_of_them(tmp_path):
    found = study_of(tmp_path, {name(t): COUNTS for t in TITLES}, times={"high": 1.25})
    assert "wait" not in text_of(found)
    table = limits.section(found, found.gpu)[-1]
    assert "warps wait for" not in columns(table) and "Warps wait" not in table["caption"]
    assert table["columns"][2:] == [*resources.RESOURCES, "limit"] and len(table["widths"]) == len(table["columns"])


def test_a_unit_without_a_roof_is_named_where_one_is_unknown(tmp_path):
    without = {k: v for k, v in COUNTS.items() if k != "l1_wavefronts"}
    for counts, is_named in ((COUNTS, False), (without, True)):
        found = study_of(tmp_path, {name("low"): COUNTS, name("mid"): counts})
        assert ("no roof here, such as the L1" in limits.section(found, found.gpu)[-1]["caption"]) == is_named
    found = study_of(tmp_path, {name("low"): without, name("mid"): without})
    table = limits.section(found, found.gpu)[-1]
    assert "L1" not in columns(table) and "L1’s data pipe" not in table["caption"]
    found = study_of(tmp_path, {name("low"): COUNTS})
    caption = limits.section(found, found.gpu)[-1]["caption"].replace("\u200b", "")
    assert "wavefronts of the L1’s data pipe, those of shared memory among them, over one a cycle" in caption


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
    assert columns(made[at + 2]) == ["rung", "GFLOP/s", *resources.RESOURCES, "limit"]
    assert [row[0]["main"] for row in made[at + 2]["rows"]] == [f"{t} (tile 8)" for t in TITLES]
    caption = made[at + 2]["caption"].replace("\u200b", "")
    assert "DRAM over 1.00 TB/s" in caption and "FMA (4.00 TFLOP/s)" in caption and "synthetic counters" in caption
    both = collect([CPU], [GPU])
    assert "What limits" not in json.dumps(climbing.section(both, "cpu", lambda name: []))
    assert "What limits" in json.dumps(climbing.section(both, "gpu", lambda name: []))


def test_text_names_the_limits_at_the_bottom_and_at_the_top(tmp_path):
    found = study_of(tmp_path, {name(t): COUNTS for t in ("low", "high", "lib")})
    text = text_of(found)
    assert text == ("At N = 1000 low (tile 8), the lowest rung with counters, is near none of its known roofs; the "
                    "nearest is shared memory (0.40); high (tile 8), the fastest, is limited by shared memory (1.00 of "
                    "its roof).")
    alone = study_of(tmp_path, {name("low"): COUNTS})
    assert text_of(alone).endswith("shared memory (0.40).")
    library = study_of(tmp_path, {name("lib"): COUNTS})
    section = limits.section(library, library.gpu)
    assert [b["kind"] for b in section] == ["subheading", "table"]
    four = study_of(tmp_path, {name(t): COUNTS for t in TITLES}, times={"mid": 2.0, "high": 2.0})
    section = limits.section(four, four.gpu)
    assert [b["kind"] for b in section] == ["subheading", "text", "text", "reading", "table"]
    assert [b["text"].split(" (")[0] for b in section[1:4]] == ["At N = 1000 low", "mid", "high"]


def test_a_rung_that_is_not_faster_says_what_changed(tmp_path):
    other = COUNTS | {"dram_bytes": 6e8, "shared_load_wavefronts": 0, "instructions": 2.5e7, "l2_bytes": 1e8}
    found = study_of(tmp_path, {name("mid"): COUNTS, name("high"): other}, times={"high": 1.25})
    text = text_of(found)
    assert text.endswith("high (tile 8) is no faster than mid (tile 8) (0.8×): L2 fell from 0.15 to 0.04, shared "
                         "memory fell from 0.80 to 0.38 and arithmetic fell from 0.50 to 0.40, while instruction issue "
                         "rose from 0.25 to 0.50."), "and DRAM, at 0.50 and 0.48, is the same"
    step = next(s for s in steps.climb(found, found.gpu, "fp32") if s.point.kernel.title == "high")
    assert step.below.verdict == "slower"


def test_an_ambiguous_step_and_one_that_changed_nothing(tmp_path):
    found = study_of(tmp_path, {name(t): COUNTS for t in TITLES}, times={"high": 1.0})
    text = text_of(found)
    assert text.endswith("high (tile 8) is no faster than mid (tile 8) (1×, ambiguous): no known share changed by 0.05 "
                         "or more. It needs 1× the wavefronts of shared memory, whose roof was nearest (0.80), and as "
                         "before the bytes of DRAM, the bytes of the L2, the wavefronts of the L1 and the "
                         "instructions.")


def test_a_rung_that_spares_what_was_no_limit_says_so(tmp_path):
    """0.02 of DRAM less changes no share by LEAST_CHANGE; issue at 0.90 leaves 1.11 times, and no wait matters."""
    full = COUNTS | STATES | {"instructions": 3.6e7, "dram_bytes": 1e8, "l2_bytes": 2e7, "shared_load_wavefronts": 0}
    found = study_of(tmp_path, {name("mid"): full, name("high"): full | {"dram_bytes": 8e7, "l2_bytes": 1.8e7}},
                     times={"high": 1.0})
    assert text_of(found).endswith(
        "or more. It needs 0.8× the bytes of DRAM and 0.9× the bytes of the L2, but mid (tile 8) used only 0.10 and "
        "0.01 of what there is. It needs 1× the instructions, whose roof was nearest (0.90): at most 1.11× was left.")


def test_a_count_of_nothing_is_no_ratio(tmp_path):
    none = COUNTS | {"l1_wavefronts": 0, "l2_bytes": 0}
    found = study_of(tmp_path, {name("mid"): none, name("high"): none}, times={"high": 1.0})
    assert text_of(found).endswith(
        "or more. It needs 1× the wavefronts of shared memory, whose roof was nearest (0.80), and as before "
        "the bytes of DRAM and the instructions.")


def test_counts_of_several_products_are_none(tmp_path):
    """A library that tries its candidates launches them all; tiles over the edges alone, or two launches, do not."""
    study = study_of(tmp_path, {name("low"): COUNTS | {"kernels_launched": 50, "ffma": 1.6e9},
                                name("mid"): COUNTS | {"kernels_launched": 2, "ffma": 1.4e9},
                                name("high"): COUNTS | {"kernels_launched": 1, "ffma": 5e9}})
    points = {p.kernel.title: p for p in study.gpu.points}
    assert [t for t in TITLES if derive.counters_of(study.gpu, points[t])] == ["mid", "high"]
    free = dataclasses.replace(points["low"], counters={})
    assert derive.counters_of(study.gpu, free) != {}, "without operations nobody knows"
    assert set(rungs(study)) == {"mid", "high"}
    assert "Not counted at this size: low and lib." in json.dumps(limits.section(study, study.gpu))


@pytest.mark.parametrize("time, word", ((0.96, "hardly faster"), (0.951, "no such word"), (1.04, "no faster")))
def test_a_gain_below_five_percent_is_hardly_one(tmp_path, time, word):
    """1.042 times, 1.052 times and 0.962 times as fast."""
    found = study_of(tmp_path, {name(t): COUNTS for t in TITLES}, times={"high": time})
    text = text_of(found)
    assert [w for w in ("hardly faster", "no faster") if w in text] == [word] * (word != "no such word")
    assert ("no known share changed by 0.05 or more." in text) == (word != "no such word")


def sentence_on_waits(folder, below, here):
    found = study_of(folder, {name("mid"): COUNTS | below, name("high"): COUNTS | here}, times={"high": 1.0})
    return text_of(found).partition("and the instructions.")[2].strip()


def test_a_rung_that_gains_little_says_what_its_wait_was_and_became(tmp_path):
    queue = {"warps_selected": 1.0, "warps_not_selected": 1.0, "warps_mio_throttle": 6.0, "warps_barrier": 2.0}
    assert sentence_on_waits(tmp_path, queue, STATES) == (
        "The warps of mid (tile 8) wait most for shared memory’s queue (mio throttle, 0.60 of their time, "
        "here 0.00), those of high (tile 8) for barriers (0.30, from 0.20), then for shared memory (short "
        "scoreboard, 0.15).")
    assert sentence_on_waits(tmp_path, STATES, STATES | {"warps_barrier": 5.0, "warps_not_selected": 2.0}) == (
        "Its warps still wait most for barriers (0.50 of their time, from 0.30), then for shared memory "
        "(short scoreboard, 0.15).")
    assert sentence_on_waits(tmp_path, {}, STATES) == (
        "Its warps wait most for barriers (0.30 of their time), then for shared memory (short scoreboard, "
        "0.15).")
    assert sentence_on_waits(tmp_path, STATES, {}) == ""


def test_a_wait_is_not_named_twice(tmp_path):
    second = STATES | {"warps_wait": 4.0, "warps_not_selected": 0.5}
    assert sentence_on_waits(tmp_path, STATES, second) == (
        "The warps of mid (tile 8) wait most for barriers (0.30 of their time, here 0.30), those of high (tile 8) for "
        "fixed latencies (wait, 0.40, from 0.05).")
    only = {"warps_selected": 1.0, "warps_barrier": 3.0}
    assert sentence_on_waits(tmp_path, only, only) == (
        "Its warps still wait most for barriers (0.75 of their time, from 0.75).")


def test_a_rung_near_no_roof_says_what_its_warps_wait_for(tmp_path):
    far = {k: v * 0.1 for k, v in COUNTS.items()} | STATES
    found = study_of(tmp_path, {name("low"): far, name("high"): COUNTS | STATES})
    assert text_of(found) == (
        "At N = 1000 low (tile 8), the lowest rung with counters, is near none of its known roofs; the nearest is "
        "arithmetic (0.25), and its warps wait most for barriers (0.30 of their time); high (tile 8), the fastest, is "
        "limited by shared memory (1.00 of its roof).")


def test_nothing_is_said_of_a_rung_that_is_faster(tmp_path):
    found = study_of(tmp_path, {name(t): COUNTS for t in TITLES})
    assert rungs(found)["high"].over.verdict == "faster"
    assert "no faster" not in text_of(found)


def test_nothing_is_said_of_a_step_over_a_rung_without_counters(tmp_path):
    """'mid' is what 'high' is not faster than, and 'low' is not the rung below it."""
    found = study_of(tmp_path, {name(t): COUNTS for t in ("low", "high", "lib")}, times={"high": 1.25, "lib": 3.0})
    assert "no faster" not in text_of(found)
    assert derive.fastest(list(p for p in found.gpu.points)).kernel.title == "mid"


def test_a_rung_that_is_not_counted_here_is_explained_where_it_is(tmp_path):
    """At 2000 only low and high have counters; at 1000 mid and low, and at 500 all: each pair at its largest size."""
    where = {2000: ("low", "high"), 1000: ("low", "mid"), 500: TITLES}
    found = study_of(tmp_path, {name(t, n): COUNTS for n, titles in where.items() for t in titles},
                     times={"mid": 2.1, "high": 2.1}, sizes=(500, 1000, 2000))
    assert limits.ladder(found, found.gpu)[0].point.n == 500
    at = {n: limits.elsewhere(found, found.gpu, n) for n in (500, 2000)}
    assert at[500] == []
    assert [text.split(":")[0] for text in at[2000]] == [
        "At N = 1000 mid (tile 8) is no faster than low (tile 8) (0.952×)",
        "At N = 500 high (tile 8) is no faster than mid (tile 8) (1×, ambiguous)"]


def test_what_is_said_of_other_sizes_stands_before_the_table(tmp_path):
    points = {name(t, 2000): COUNTS for t in ("low", "high")} | {name(t): COUNTS for t in ("low", "mid")}
    found = study_of(tmp_path, points, times={"mid": 2.1}, sizes=(1000, 2000))
    *texts, table = limits.section(found, found.gpu)
    assert "each rung at N = 2000" in table["caption"]
    assert "At N = 1000 mid (tile 8) is no faster" in json.dumps(texts[-1])


def test_on_the_cpu_the_bytes_of_each_level_are_counts(tmp_path):
    study = cpu_study(tmp_path, {t: CPU_BYTES for t in TITLES[:3]})
    found = {rung.point.kernel.title: rung for rung in limits.ladder(study, study.cpu)}
    assert found["mid"].shares == pytest.approx({"DRAM": 0.02, "L3": 0.05, "L2": 0.08, "L1": 0.2, "arithmetic": 0.5})
    assert list(found["mid"].shares) == list(resources.CPU_RESOURCES) and set(found) == set(TITLES[:3])
    assert found["high"].verdict == "arithmetic, 0.62" and found["low"].verdict == "none above 0.6"
    table = limits.section(study, study.cpu)[-1]
    assert columns(table) == ["rung", "GFLOP/s", *resources.CPU_RESOURCES, "limit"]
    caption = table["caption"].replace("\u200b", "")
    assert "Bytes of L1, L2, L3 and DRAM by formula, over the measured times, over the measured roofs" in caption
    assert "bytes of L3 over 20.0 GB/s" in caption and "Not counted at this size: lib." in caption
    assert "What limits each rung" in json.dumps(climbing.section(study, "cpu", lambda name: []))


def test_on_the_cpu_a_rung_that_is_not_faster_says_what_changed(tmp_path):
    more = CPU_BYTES | {"bytes_l2_model": 4e8}
    study = cpu_study(tmp_path, {"low": CPU_BYTES, "mid": CPU_BYTES, "high": more}, times={"high": 12.5})
    text = text_of_cpu(study)
    assert text.startswith("At N = 1000 low (tile 8), the lowest rung with known bytes, is near none of its known roofs; ")
    assert text.endswith("high (tile 8) is no faster than mid (tile 8) (0.8×): arithmetic fell from 0.50 to 0.40, while "
                         "L2 rose from 0.08 to 0.64.")
    same = cpu_study(tmp_path, {t: CPU_BYTES for t in TITLES[:3]}, times={"high": 10.0})
    assert text_of_cpu(same).endswith(
        "no known share changed by 0.05 or more. It needs 1× the operations, whose roof was nearest (0.50), and as "
        "before the bytes of DRAM, the bytes of L3, the bytes of L2 and the bytes of L1.")


def test_what_changed_is_not_all_where_next_to_nothing_was_left(tmp_path):
    more = CPU_BYTES | {"bytes_l2_model": 2e8}
    study = cpu_study(tmp_path, {"mid": CPU_BYTES, "high": more}, times={"mid": 5.5, "high": 5.5})
    assert text_of_cpu(study).endswith(
        "high (tile 8) is no faster than mid (tile 8) (1×, ambiguous): L2 rose from 0.15 to 0.73. It needs 1× the "
        "operations, whose roof was nearest (0.91): at most 1.10× was left.")


def text_of_cpu(study):
    return " ".join(limits.reading(limits.ladder(study, study.cpu)))


def test_on_the_cpu_a_level_without_a_roof_or_bytes_is_left_out(tmp_path):
    study = cpu_study(tmp_path, {t: CPU_BYTES for t in TITLES[:3]}, roofs={"L1": 100.0})
    assert set(limits.ladder(study, study.cpu)[0].shares) == {"L1", "arithmetic"}
    assert limits.ladder(study, study.cpu)[0].verdict == "none of those known above 0.6"
    assert limits.section(cpu_study(tmp_path, {}), None) == []
    none = cpu_study(tmp_path, {})
    assert limits.section(none, none.cpu) == [], "arithmetic alone tells no limit"
