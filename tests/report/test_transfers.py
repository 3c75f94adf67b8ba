"""What the experiments on copies and on the start of the GPU's gain conclude from invented data."""

import json
import re
import tomllib
from collections import defaultdict

import matplotlib.pyplot as plt
import pytest
from synthetic import Run

from report.data import declaration
from report.data.collect import collect
from report.data.sides import of_views
from report.sections.contributions import contributions

RATES = {"pageable": 10.0, "pinned": 50.0, "zero_copy": 45.0}
"""GB/s of a large copy one way."""
LATENCY = 2e-6
BYTES = {"title": "Copies", "metric": {"key": "gbytes_per_s", "unit": "GB/s"}, "size_names": ["n"]}


def section_of(folder, *runs):
    for run in runs:
        run.context["experiment_toml"] = (declaration.FOLDER / f"{run.context['experiment']}.toml").read_text(encoding="utf-8")
        run.save(folder)
    found = [c.section for c in contributions(collect([folder], [])) if c.view.name == runs[0].context["experiment"]]
    return found[0] if found else None


def drawn(section):
    """Draws every figure; a figure that cannot be drawn raises."""
    for figure in section.figures:
        fig = plt.figure(figsize=(3.2, figure.height / 25.4))
        figure.draw(fig)
        plt.close(fig)


def spans(chunks, streams, stages):
    """Copies in, kernels and copies out of all chunks: on one stream one after the other, on several as engines become free."""
    made, free, last = [], dict.fromkeys(stages, 0.0), [0.0] * streams
    for chunk in range(chunks):
        stream = chunk % streams
        for lane, seconds in stages.items():
            begin = max(free[lane], last[stream])
            last[stream] = free[lane] = begin + seconds / chunks
            made.append({"what": lane, "stream": stream, "begin": begin, "end": last[stream]})
    return made


def transfers(rates=RATES, together=None, overlap=True, sizes=(256, 65536, 2**24, 2**28), sides=("gpu", "cpu"), **context):
    """`together`: the part of the second direction that takes no extra time, by kernel."""
    together = together or {"pageable": 0.0, "pinned": 0.9, "zero_copy": 0.8}
    run = Run("transfers", problems={"transfer": BYTES, "pipeline": BYTES | {"title": "Pipeline"}}, **context)
    for order, (variant, rate) in enumerate(rates.items()):
        kernel = run.kernel(f"gpu/transfer/{variant}", order=10 * order)
        for n in sizes:
            one = LATENCY + 4 * n / rate / 1e9
            for way, seconds, ways in (("to_gpu", one, 1), ("from_gpu", one, 1), ("both", one * (2 - together[variant]), 2)):
                run.time(kernel, seconds, {"direction": way, "n": n}, bytes_min=4 * n * ways, flops_useful=0, interleaved_with=2)
    stages = {"copy in": 3e-3, "kernel": 2e-3, "copy out": 3e-3}
    n = 2**24
    for chunk in (2**18, 2**20, 2**22):
        for streams in (1, 2, 3, 4):
            timeline = spans(n // chunk, streams if overlap else 1, stages)
            seconds = max(s["end"] for s in timeline) + n // chunk * 4e-6
            run.time("gpu/pipeline/streams", seconds, {"n": n, "steps": 1024}, {"streams": streams, "chunk": chunk}, bytes_min=8 * n,
                     flops_useful=2048 * n, interleaved_with=3, timeline=timeline)
    for side in sides:
        for steps in (16, 256, 4096):
            flops = 2.0 * steps * 2**22
            name, peak, moved = {"gpu": ("gpu/pipeline/zero_copy", 4e13, 8 * 2**22 / 5e10), "cpu": ("cpu/pipeline/openmp", 1e12, 2e-4)}[side]
            run.time(name, max(flops / peak, moved), {"n": 2**22, "steps": steps}, bytes_min=8 * 2**22, flops_useful=flops)
    return run


def test_pinned_memory_and_streams(tmp_path):
    section = section_of(tmp_path, transfers(gpu_pcie_gbytes_per_s=63.0))
    assert "Pinned memory is copied to the GPU at 50.0\u00a0GB/s and from the GPU at 50.0" in section.finding.replace("49.9", "50.0")
    assert "5× and 5× the rate of pageable memory" in section.finding.replace("4.99", "5").replace("5.00", "5")
    assert "in both directions at once the total is" in section.finding and "half of the full rate is reached from 256\u00a0KiB" in section.finding
    assert "the slowest stage alone (copy" in section.finding and ") takes 3.00\u00a0ms" in section.finding
    assert "Copies included, the GPU is faster than the CPU’s 4 threads on an array of 16.0\u00a0MiB" in section.finding
    assert {f.name for f in section.figures} == {f"transfers_{x}" for x in ("one_way", "both_ways", "chunks", "timeline", "work")}
    drawn(section)


def test_the_cpu_alone_says_so(tmp_path):
    run = transfers()
    run.benchmarks = [e for e in run.benchmarks if e["kernel"].startswith("cpu/")]
    section = section_of(tmp_path, run)
    assert section.finding.startswith("No copy was timed.")
    drawn(section)


def test_counts_alone(tmp_path):
    run = Run("transfers")
    run.count("gpu/transfer/zero_copy", {"direction": "to_gpu", "n": 65536}, {"loads": 4}, load_requests=512, bytes_executed_loaded=262144)
    section = section_of(tmp_path, run)
    assert "up to 512 bytes with each request" in section.finding


def test_a_broken_timeline_is_left_out(tmp_path):
    run = transfers()
    for entry in run.benchmarks:
        if "timeline" in entry:
            entry["timeline"] = [{"what": "kernel", "stream": "x"}, 7, {"what": "kernel", "stream": 0, "begin": 2, "end": 1}]
    section = section_of(tmp_path, run)
    assert not any(f.name.endswith("timeline") for f in section.figures)
    drawn(section)


# From which size on


def both_sides(run, family, cpu, gpu, copies, sizes, title="", type_="fp32", bytes_each=4, **extra):
    """Times as functions of N."""
    run.context["problems"][family] = {"title": title or family, "metric": {"key": "gbytes_per_s", "unit": "GB/s"}, "size_names": ["n"]}
    for side, seconds in (("cpu", cpu), ("gpu", gpu)):
        kernel = run.kernel(f"{side}/{family}/best_{type_}", type=type_)
        for n in sizes:
            moved = {"transfer_seconds": copies(n)} if side == "gpu" and copies else {}
            run.time(kernel, seconds(n), {"n": n} | extra, bytes_min=bytes_each * n, flops_useful=n, **moved)


def suite(run=None):
    """Copies never pay in one, do from a size on in another; a third always wins; a fourth copies by itself."""
    run = run or Run("crossover")
    sizes = [4**k for k in range(3, 13)]
    both_sides(run, "vector_addition", lambda n: n * 1e-9, lambda n: 2e-6 + n * 1e-11, lambda n: 1e-5 + n * 3e-9, sizes, "Vector addition")
    both_sides(run, "matmul", lambda n: n * 1e-8, lambda n: 2e-6 + n * 1e-10, lambda n: 1e-5 + n * 3e-9, sizes, "Matrix multiplication")
    both_sides(run, "heat", lambda n: 1e-5 + n * 1e-8, lambda n: 2e-6 + n * 1e-10, lambda n: 1e-6 + n * 1e-10, sizes, "Heat", steps=24)
    both_sides(run, "pipeline", lambda n: n * 1e-8, lambda n: 1e-5 + n * 1e-9, None, sizes, "Pipeline", steps=256)
    return run


def row(section, family):
    return next(r for r in section.figures[0].rows if r["family"] == family)


def test_the_starts(tmp_path):
    section = section_of(tmp_path, suite())
    add, product, heat, pipeline = (row(section, f) for f in ("vector_addition", "matmul", "heat", "pipeline"))
    assert add["with_kind"] == "at no size measured" and add["with"] == "never"
    assert add["without_n"] == 4096 and add["without_after"] == 1024 < 2e-6 / (1e-9 - 1e-11) and add["without"] == "4096"
    assert product["with_n"] == 4096 and product["with_after"] == 1024
    assert heat["without_kind"] == heat["with_kind"] == "at every size measured" and heat["question"] == "steps 24"
    assert pipeline["without_kind"] is None and pipeline["with_n"] == 4096
    assert "in all 3 cases; with the copies there and back in 3 of 4 cases" in section.finding
    assert "it is not faster at the largest size in vector addition" in section.finding
    drawn(section)


def test_every_case_is_counted_whether_shown_or_not(tmp_path):
    run = suite()
    both_sides(run, "heat", lambda n: 1e-7, lambda n: 2e-6, lambda n: 1e-6, (64, 256, 1024), "Heat", steps=1)
    section = section_of(tmp_path, run)
    assert "5 cases of 4 problems" in section.finding and "in 3 of 4 cases; with the copies there and back in 3 of 5 cases" in section.finding
    assert len(section.figures[0].rows) == 4 and len(section.appendix[0].rows) == 5


def test_points_of_other_experiments_count(tmp_path):
    more = Run("vector_addition", problems={"vector_addition": BYTES | {"title": "Vector addition"}})
    more.time("cpu/vector_addition/better", 1e-10 * 4**12, {"n": 4**12}, bytes_min=4**13, flops_useful=1)
    section = section_of(tmp_path, suite(), more)
    assert row(section, "vector_addition")["without_at_largest"] == pytest.approx(1e-10 / 1e-11, rel=0.1)
    assert row(section, "vector_addition")["cpu_experiment"] == "vector_addition"


def test_of_several_hosts_that_with_the_best_codes_counts(tmp_path):
    """The board with fewer sizes has the fastest kernel: its host is taken, if it measured the CPU as well, and named."""
    for has_cpu in (False, True):
        better = Run("vector_addition", problems={"vector_addition": BYTES | {"title": "Vector addition"}}, gpu_uuid="GPU-beefbeef")
        better.time("gpu/vector_addition/better", 1e-12 * 4**12, {"n": 4**12}, bytes_min=4**13, flops_useful=1)
        if has_cpu:
            better.time("cpu/vector_addition/slower", 2e-9 * 4**12, {"n": 4**12}, bytes_min=4**13, flops_useful=1)
        (folder := tmp_path / str(has_cpu)).mkdir()
        found = row(section_of(folder, suite(), better), "vector_addition")
        if has_cpu:
            assert (found["gpu"], found["cpu"], found["gpu_board"], found["cpu_board"]) == ("better", "slower", "beef", "beef")
            assert found["without_at_largest"] == pytest.approx(2000, rel=0.1)
        else:
            assert found["gpu"] == "best fp32" and found["gpu_board"] == found["cpu_board"] != "beef"
            assert found["without_at_largest"] == pytest.approx(100, rel=0.1)


def test_only_sizes_that_both_sides_measured_count(tmp_path):
    """A size of one side alone moves no start and is no largest size."""
    run = suite()
    run.time("gpu/matmul/best_fp32", 1e-3, {"n": 2048}, bytes_min=8192, flops_useful=1)
    run.time("gpu/matmul/best_fp32", 1e-3, {"n": 2**26}, bytes_min=2**28, flops_useful=1)
    found = row(section_of(tmp_path, run), "matmul")
    assert found["with_after"] == 1024 and found["with_n"] == 4096 and found["largest"] == 4**12


def test_few_common_sizes_are_no_crossover(tmp_path):
    run = suite()
    both_sides(run, "sum", lambda n: 1e-3, lambda n: 1e-5, lambda n: 1e-5, (1024, 4096), "Sum")
    section = section_of(tmp_path, run)
    assert all(r["family"] != "sum" for r in section.appendix[0].rows)
    assert section.appendix[-1] == "With fewer than 3 common sizes no crossover is given: sum."
    sizes = next(t for t in section.appendix if getattr(t, "name", "") == "crossover_sizes")
    assert {r["n"] for r in sizes.rows if r["family"] == "sum"} == {1024, 4096}


def test_noise_is_no_start(tmp_path):
    """At 64 the GPU's median is ahead, but samples of both sides overlap: the start is the next size, as measured."""
    run = Run("crossover")
    both_sides(run, "matmul", lambda n: n * 1e-8, lambda n: 2e-6 + n * 1e-10, None, (256, 1024, 4096))
    for e in run.benchmarks:
        if e["kernel"].startswith("cpu/") and e["sizes"] == {"n": 256}:
            e["real_time"] = 1000 if e["repetition_index"] % 3 == 0 else 1e6
    found = row(section_of(tmp_path, run), "matmul")
    assert found["without"] == "1024" and found["without_n"] == 1024 and found["without_after"] == 256


def test_one_thread_may_be_the_best_cpu_code(tmp_path):
    """At small sizes the barrier of all threads costs more than the work."""
    run = suite()
    for n in (64, 256, 1024):
        run.time("cpu/vector_addition/best_fp32", 1e-9, {"n": n}, bytes_min=4 * n, flops_useful=n, threads=1,
                 name=f"cpu/vector_addition/best_fp32/n:{n}/threads:1")
    assert row(section_of(tmp_path, run), "vector_addition")["without_after"] > 64


def test_measured_sizes_are_printed_as_they_are(tmp_path):
    run = Run("crossover")
    both_sides(run, "sum", lambda n: 1e-3, lambda n: 1e-5, lambda n: 1e-5, (127, 1024, 33554432), "Sum")
    section = section_of(tmp_path, run)
    assert row(section, "sum")["with"] == "≤\u2009127"
    largest = next(c for c in section.appendix[0].columns if c.key == "largest")
    assert largest.text(section.appendix[0].rows[0]["largest"]) == "33\u202f554\u202f432"


def test_other_types_and_data_are_rows_of_their_own(tmp_path):
    run = suite()
    both_sides(run, "matmul", lambda n: n * 1e-8, lambda n: 2e-6, lambda n: 1e-6, (64, 1024, 4096), "Matrix multiplication", "bf16")
    section = section_of(tmp_path, run)
    assert sorted(r["type"] for r in section.figures[0].rows if r["family"] == "matmul") == ["bf16", "fp32"]


def side_alone(side, experiment, **context):
    run = suite(Run(experiment, **context))
    run.benchmarks = [e for e in run.benchmarks if e["kernel"].startswith(f"{side}/")]
    return run


def test_a_gpu_is_compared_with_no_other_host_s_cpu(tmp_path):
    """A CPU without a GPU, and a GPU whose host's CPU was not measured: there is no ratio at all."""
    section = section_of(tmp_path, side_alone("cpu", "crossover", gpu_uuid="", gpu_name=""), side_alone("gpu", "vector_addition", cpu_name="Synthetic host"))
    assert not section.figures and not section.answer and "×" not in section.finding
    assert section.finding.startswith("No host was measured on both sides")


def test_without_a_gpu_the_recorded_pair_of_one_host_leads(tmp_path):
    """A machine without a GPU, a hundred times slower, and the recorded results of a host with both."""
    alone = side_alone("cpu", "crossover", gpu_uuid="", gpu_name="", cpu_name="Synthetic laptop", cpu_cores=2)
    for e in alone.benchmarks:
        e["real_time"] *= 100
    alone.save(tmp_path / "live")
    suite().save(tmp_path / "experiments" / "recorded" / "host")
    study = collect([tmp_path / "live"], [tmp_path / "experiments" / "recorded"])
    assert study.views[0].cpu.machine.name == "Synthetic laptop, 2 cores"
    section = contributions(study)[0].section
    assert section.finding.startswith("On a recorded host, Synthetic GPU with Synthetic CPU, 4 cores: ")
    found = row(section, "vector_addition")
    assert found["cpu_machine"] == "Synthetic CPU, 4 cores" and found["without_at_largest"] == pytest.approx(91, rel=0.1)
    assert "laptop" not in json.dumps(section.figures[0].rows)


def test_without_a_gpu_the_times_to_beat_are_told(tmp_path):
    section = section_of(tmp_path, side_alone("cpu", "crossover", gpu_uuid="", gpu_name=""))
    assert "CPU’s times of 4 cases" in section.finding and not section.figures and not section.answer
    table, = section.tables
    assert [r["problem"] for r in table.rows] == ["Heat", "Matrix multiplication", "Pipeline", "Vector addition"]
    assert {r["largest"] for r in table.rows} == {4.0**12}


def test_gains_that_are_lost_again_do_not_count(tmp_path):
    run = Run("crossover")
    both_sides(run, "matmul", lambda n: 1e-5, lambda n: {64: 1e-6, 256: 1e-6, 1024: 2e-5, 4096: 1e-6}[n], None, (64, 256, 1024, 4096))
    assert row(section_of(tmp_path, run), "matmul")["without_after"] == 1024


def declared_sizes(brief):
    """By family and side, the sizes N in experiments/crossover.toml."""
    sizes = defaultdict(set)
    for sweep in tomllib.loads((declaration.FOLDER / "crossover.toml").read_text())["sweep"]:
        wanted = sweep | (sweep.get("brief", {}) if brief else {})
        for kernel in wanted["kernels"]:
            side, family, _ = kernel.split("/")
            sizes[family, side] |= set(wanted["n"])
    return sizes


@pytest.mark.parametrize("brief", (False, True))
def test_every_problem_of_both_sides_has_common_sizes_for_its_crossover(brief):
    settings = tomllib.loads((declaration.FOLDER / "crossover.toml").read_text())["report"]
    root = declaration.FOLDER.parent
    both = {p.name for p in (root / "cpu").iterdir() if p.is_dir()} & {p.name for p in (root / "gpu").iterdir() if p.is_dir()}
    problems = {name for name in both if (root / "common" / "problem" / f"{name}.cpp").is_file()} - set(settings["left_out"])
    sizes = declared_sizes(brief)
    assert len(problems) > 12 and not {name for name in problems if len(sizes[name, "cpu"] & sizes[name, "gpu"]) < 3}


def test_leaving_out_a_kernel_at_one_size_moves_no_start(tmp_path):
    """Without its own time at 1024 the CPU's best kernel would lose there to a slow one, and the GPU would seem to win earlier."""
    run = suite()
    for n in (4**k for k in range(3, 13)):
        run.time("cpu/vector_addition/slow", n * 1e-8, {"n": n}, bytes_min=4 * n, flops_useful=n)
    whole = row(section_of(tmp_path / "whole", run), "vector_addition")
    run.benchmarks = [b for b in run.benchmarks if (b["kernel"], b["sizes"]) != ("cpu/vector_addition/best_fp32", {"n": 1024})]
    found = row(section_of(tmp_path / "left_out", run), "vector_addition")
    assert found["without_n"] == whole["without_n"] == 4096 and found["without_after"] == 1024


def test_where_a_kernel_begins_is_no_start(tmp_path):
    """A kernel that needs large problems makes the GPU faster there, but not only from there on."""
    run = suite()
    for n in (4**k for k in range(7, 13)):
        run.time("gpu/matmul/large", n * 1e-12, {"n": n}, bytes_min=4 * n, flops_useful=n)
    assert row(section_of(tmp_path, run), "matmul")["without_n"] == 256


def test_all_that_start_at_so_few_bytes_are_named(tmp_path):
    run = Run("crossover")
    sizes = [4**k for k in range(3, 13)]
    for family in ("addition", "sum"):
        both_sides(run, family, lambda n: n * 1e-8, lambda n: 2e-6 + n * 1e-10, lambda n: 1e-5 + n * 3e-9, sizes, family.title())
    both_sides(run, "matmul", lambda n: n * 1e-8, lambda n: 2e-5 + n * 1e-10, lambda n: 1e-4 + n * 3e-9, sizes, "Matrix multiplication")
    text = section_of(tmp_path, run).finding
    assert re.search(r"is [^(]* in (sum|addition) \([^)]*, not yet at 1024\) and [^(]* in (sum|addition) \([^)]*, not yet at 1024\); the largest is [^(]* in matrix", text)


def sides_of(folder, *runs):
    for i, run in enumerate(runs):
        (folder / str(i)).mkdir()
        run.save(folder / str(i))
    return {key[0]: sides for key, sides in of_views(collect([folder], []).views).items()}


def test_a_copy_is_known_as_well_as_runs_agree_on_it(tmp_path):
    """One run takes a copy for exact; two that differ by a fifth widen the interval of the speed-up with copies, and no other."""
    more = Run("vector_addition", problems={"matmul": BYTES | {"title": "Matrix multiplication"}})
    both_sides(more, "matmul", lambda n: n * 2e-8, lambda n: 4e-6 + n * 2e-10, lambda n: 1.2 * (1e-5 + n * 3e-9), [4**k for k in range(3, 13)])
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    one, two = (sides_of(tmp_path / name, *runs)["matmul"].last for name, runs in (("one", [suite()]), ("two", [suite(), more])))
    assert one.moving[1:] == pytest.approx((one.copies / 1.05, one.copies * 1.05))
    assert two.copies == pytest.approx(1.1 * one.copies) and two.moving[2] / two.moving[1] > 1.3
    assert two.moved.low < two.moved.value / 1.1 and two.gain().low > two.gain().value / 1.1


def test_faster_is_what_the_printed_interval_says(tmp_path):
    """Between two runs the interval is wider: a median that is ahead by less than the difference between runs is no start."""
    sizes, other = (256, 1024, 4096), Run("vector_addition", problems={"matmul": BYTES | {"title": "Matrix multiplication"}})
    run = Run("crossover")
    both_sides(run, "matmul", lambda n: 1e-5, lambda n: 2e-5, None, sizes)
    run.benchmarks = [b for b in run.benchmarks if b["name"].startswith("cpu/")]
    both_sides(other, "matmul", lambda n: 1e-5, lambda n: 1e-5 / (1.03 if n == 256 else 1.5), None, sizes)
    other.benchmarks = [b for b in other.benchmarks if b["name"].startswith("gpu/")]
    found = sides_of(tmp_path, run, other)["matmul"]
    first = found.pairs[0]
    assert first.gain().value > 1 > first.gain().low and not first.is_won()
    assert found.start(False).at == 1024
