"""What the experiments on copies and on the start of the GPU's gain conclude from invented data."""

import matplotlib.pyplot as plt
import pytest
from synthetic import Run

from report.data import declaration
from report.data.collect import collect
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
    """Copies in, kernels and copies out of all chunks: on one stream in turn, on several as the engines get free."""
    made, free, last = [], dict.fromkeys(stages, 0.0), [0.0] * streams
    for chunk in range(chunks):
        stream = chunk % streams
        for lane, seconds in stages.items():
            begin = max(free[lane], last[stream])
            last[stream] = free[lane] = begin + seconds / chunks
            made.append({"what": lane, "stream": stream, "begin": begin, "end": last[stream]})
    return made


def transfers(rates=RATES, together=None, overlap=True, sizes=(256, 65536, 2**24, 2**28), sides=("gpu", "cpu"), **context):
    """`together`: how much of the second way comes free, by kernel."""
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
    assert "both ways at once it is" in section.finding and "half of the full rate is reached from 256\u00a0KiB" in section.finding
    assert "the slowest stage alone (copy" in section.finding and ") takes 3.00\u00a0ms" in section.finding
    assert "Copies included, the GPU is faster than the CPU’s 4 threads on that array" in section.finding
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
    assert add["without_n"] == pytest.approx(2e-6 / (1e-9 - 1e-11), rel=0.1) and add["without_above"] == 1024
    assert product["with_n"] == pytest.approx(1.2e-5 / (1e-8 - 3.1e-9), rel=0.1)
    assert heat["without_kind"] == heat["with_kind"] == "at every size measured" and heat["question"] == "steps 24"
    assert pipeline["without_kind"] is None and pipeline["with_n"] == pytest.approx(1e-5 / 9e-9, rel=0.1)
    assert "in all 3 problems; with the copies there and back in 3 of 4 problems" in section.finding
    assert "does not overtake at any size measured in vector addition" in section.finding
    assert "this compares two machines" not in section.finding
    drawn(section)


def test_points_of_other_experiments_count(tmp_path):
    more = Run("vector_addition", problems={"vector_addition": BYTES | {"title": "Vector addition"}})
    more.time("cpu/vector_addition/better", 1e-10 * 4**12, {"n": 4**12}, bytes_min=4**13, flops_useful=1)
    section = section_of(tmp_path, suite(), more)
    assert row(section, "vector_addition")["without_at_largest"] == pytest.approx(1e-10 / 1e-11, rel=0.1)


def test_sizes_that_only_one_side_has_are_interpolated(tmp_path):
    run = Run("crossover")
    both_sides(run, "matmul", lambda n: n * 1e-8, lambda n: 1e-5, None, (100, 10_000))
    run.time("gpu/matmul/best_fp32", 1e-5, {"n": 3000}, bytes_min=12000, flops_useful=1)
    section = section_of(tmp_path, run)
    assert row(section, "matmul")["without_n"] == pytest.approx(1000, rel=0.02) and row(section, "matmul")["with"] == "–"
    drawn(section)


def test_one_size_is_enough_to_say_who_wins(tmp_path):
    run = Run("crossover")
    both_sides(run, "matmul", lambda n: 1e-3, lambda n: 1e-5, lambda n: 1e-5, (1024,))
    section = section_of(tmp_path, run)
    assert row(section, "matmul")["with"].startswith("≤")
    drawn(section)


def test_other_types_and_data_are_rows_of_their_own(tmp_path):
    run = suite()
    both_sides(run, "matmul", lambda n: n * 1e-8, lambda n: 2e-6, lambda n: 1e-6, (64, 4096), "Matrix multiplication", "bf16")
    section = section_of(tmp_path, run)
    assert sorted(r["type"] for r in section.figures[0].rows if r["family"] == "matmul") == ["bf16", "fp32"]


def test_different_hosts_are_told(tmp_path):
    other = suite()
    other.benchmarks = [e for e in other.benchmarks if e["kernel"].startswith("cpu/")]
    other.context["gpu_uuid"] = ""
    gpu = suite(Run("vector_addition"))
    gpu.benchmarks = [e for e in gpu.benchmarks if e["kernel"].startswith("gpu/")]
    assert "this compares two machines" in section_of(tmp_path, other, gpu).finding


def test_without_a_gpu_the_times_to_beat_are_told(tmp_path):
    run = suite()
    run.benchmarks = [e for e in run.benchmarks if e["kernel"].startswith("cpu/")]
    section = section_of(tmp_path, run)
    assert section.finding.startswith("Only the CPU was measured") and not section.figures and not section.answer
    table, = section.tables
    assert [r["problem"] for r in table.rows] == ["Heat", "Matrix multiplication", "Pipeline", "Vector addition"]
    assert {r["largest"] for r in table.rows} == {4.0**12}


def test_gains_that_are_lost_again_do_not_count(tmp_path):
    run = Run("crossover")
    both_sides(run, "matmul", lambda n: 1e-5, lambda n: {64: 1e-6, 256: 1e-6, 1024: 2e-5, 4096: 1e-6}[n], None, (64, 256, 1024, 4096))
    assert row(section_of(tmp_path, run), "matmul")["without_above"] == 1024
