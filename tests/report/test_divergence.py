"""What divergence and constant memory conclude from invented data."""

import re

import matplotlib.pyplot as plt
import pytest
from synthetic import GPU, Run, write

from report.data.collect import collect
from report.experiment import Table
from report.sections.contributions import contributions


def section_of(folder, *runs):
    for run in runs:
        run.save(folder)
    return contributions(collect([folder], []))[0].section


def table(section, name):
    return next(x for x in (*section.tables, *section.appendix) if isinstance(x, Table) and x.name.endswith(name)).rows


def drawn(section):
    """Draws every figure; a figure that cannot be drawn raises."""
    for figure in section.figures:
        fig = plt.figure(figsize=(3.2, figure.height / 25.4))
        figure.draw(fig)
        plt.close(fig)
    return [figure.name for figure in section.figures]


# Divergence

MILLION = 1_000_000
RESULTS = {"title": "A function", "metric": {"key": "results_per_s", "unit": "result/s"}, "size_names": ["n", "passes", "negative"]}
STEPS = {"title": "Steps", "metric": {"key": "gflops", "unit": "GFLOP/s"}, "size_names": ["n", "rounds", "body", "group", "taken"]}


def ways(group, taken):
    return 2 if group < 32 and 0 < taken < 32 else 1


def divergence(cost=ways, gpu=True, cpu=True, counts=True, function=True, overhead=1.0):
    """Short bodies always cost both paths; long bodies cost the paths that a warp executes."""
    run = Run("divergence", problems={"branches": STEPS, "discontinuous": RESULTS})
    n = MILLION

    def branch(kind, body, group, taken, ways_):
        rounds = 2048 // body
        flops = 2 * n * rounds * body
        run.time(f"gpu/branches/{kind}", flops * ways_ / 1e12, {"n": n, "rounds": rounds, "body": body, "group": group, "taken": taken}, flops_useful=flops,
                 interleaved_with=3)
    if gpu:
        run.roofs("gpu")
        for group in (1, 32, 256):
            for taken in (0, 1, 16, 32):
                branch("if_else", 64, group, taken, cost(group, taken) * overhead)
        for body in (1, 4, 16):
            for group in (1, 256):
                branch("if_else", body, group, 16, 2 if body < 8 else cost(group, 16))
        for body in (1, 4, 16, 64):
            branch("both", body, 1, 16, 2)
            for group in (1, 256):
                branch("select", body, group, 16, 1)
    for side, kernels in (("gpu", ("if_else", "both")), ("cpu", ("branch", "vectors"))) if function else ():
        for kernel in kernels if gpu and side == "gpu" or cpu and side == "cpu" else ():
            for data in ("sorted", "random"):
                for passes, negative in ((1, 50), *(((64, x) for x in (0, 50, 100)) if side == "gpu" else ())):
                    slow = 2 if data == "random" and kernel in ("if_else", "branch") and (passes > 1 or side == "cpu") else 1
                    sizes = {"n": n} | ({"passes": passes} if passes > 1 else {}) | ({"negative": negative} if negative != 50 else {})
                    run.time(f"{side}/discontinuous/{kernel}", slow * n * passes * 1e-11, sizes, data=data, results_per_s=1e11 / slow, bytes_min=12 * n,
                             name=f"{side}/discontinuous/{kernel}/n:{n}/passes:{passes}/negative:{negative}/data:{data}")
    for group in (1, 16, 32, 256) if counts else ():
        sizes = {"n": 8192, "rounds": 4, "body": 16, "group": group, "taken": 16}
        run.count("gpu/branches/if_else", sizes, constant_requests=256 * 4 * ways(group, 16), fmas=8192 * 64)
    for data, walked in (("sorted", 1), ("random", 2)) if counts else ():
        run.count("gpu/discontinuous/if_else", {"n": 65536}, constant_requests=2048 * walked, data=data,
                  **dict.fromkeys(("name", "run_name"), f"gpu/discontinuous/if_else/n:65536/data:{data}"))
    return run


def test_lanes_that_part_halve_the_rate(tmp_path):
    section = section_of(tmp_path, divergence())
    assert "With 64 steps per path" in section.finding and "2.00 times slower (a warp executes 2 paths against 1, counted at N" in section.finding
    assert "With 4 steps or fewer per path the pattern makes no difference" in section.finding
    assert "100\u00a0% of the rate of a kernel that computes both paths, and at 50\u00a0%" in section.finding
    assert "on the GPU, evaluated once, sorting makes no difference" in section.finding
    assert "evaluated 64 times, sorted arguments are 2×" in section.finding
    assert "4 threads of the CPU sorted arguments are 2×" in section.finding
    assert [r["predicted"] for r in table(section, "patterns") if r["group"] == 1 and r["taken"] == 16] == [pytest.approx(500, rel=0.01)]
    assert re.search(r"a warp executes, counted at N\u00a0=\u00a0[^:]+: 1 \(sorted\) and 2 \(random\)\.", next(t.caption for t in section.tables))
    assert drawn(section) == ["divergence_places", "divergence_bodies", "divergence_shares", "divergence_orders"]


def test_counts_alone_tell_the_ways_and_test_nothing(tmp_path):
    section = section_of(tmp_path, divergence(gpu=False, cpu=False))
    assert "2 paths of a branch where its lanes differ, and 1 where blocks differ" in section.finding
    assert drawn(section) == ["divergence_ways"]


@pytest.mark.parametrize("missing", ({"gpu": False}, {"cpu": False}, {"counts": False}, {"function": False, "cpu": False},
                                     {"gpu": False, "counts": False}))
def test_divergence_does_with_what_there_is(tmp_path, missing):
    section = section_of(tmp_path, divergence(**missing))
    assert section.finding
    drawn(section)


def test_the_machine_code_stands_beside_the_source(tmp_path):
    run = divergence()
    points = {e["name"]: {"instructions": 2048 * 31250 * 2.0, "thread_instructions": 2048 * 31250 * 40.0, "thread_instructions_on": 2048 * 31250 * 32.0,
                          "branches_divergent": 0.0, "branches_uniform": 5.0}
              for e in run.benchmarks if e["kernel"] == "gpu/branches/if_else" and e["sizes"]["body"] == 4}
    write(tmp_path / "counters.json", {"machine": GPU, "date": "2026-01-01", "tool": "ncu", "points": points})
    rows = table(section_of(tmp_path, run), "machine_code")
    assert len(rows) == 2 and {(r["source"], r["divergent"], r["instructions"], r["lanes"], r["lanes_on"]) for r in rows} == {(1, 0, 2, 20, 16)}


# Constant memory

READS = {"title": "Reads", "metric": {"key": "reads_per_s", "unit": "read/s"}, "size_names": ["n", "rounds", "rows", "distinct", "chain"]}
SOLVER = {"title": "Solver", "metric": {"key": "gflops", "unit": "GFLOP/s"}, "size_names": ["method", "n", "steps"]}
TITLES = {"constant": "constant memory", "read_only": "global memory", "shared": "shared memory"}


def lookups(constant=lambda k: k, gpu=True, counts=True, solver=1.0, latency=(20, 35, 30)):
    run = Run("constant_memory", problems={"lookup": READS, "solver": SOLVER})
    for i, (name, title) in enumerate(TITLES.items()):
        kernel = run.kernel(f"gpu/lookup/{name}", order=10 * i, title=title, type="uint32")

        def time(seconds, n, rounds, rows, distinct, chain):
            run.time(kernel, seconds, {"n": n, "rounds": rounds, "rows": rows, "distinct": distinct, "chain": chain},
                     reads_per_s=n * rounds / seconds, interleaved_with=3)
        for distinct in (1, 8, 32):
            cost = constant(distinct) if name == "constant" else 1 + 0.01 * i
            if gpu:
                time(cost * 1e-3, 270336, 1024, 16, distinct, "independent")
                time(latency[i] * cost * 1000 * 1e-9, 32, 1000, 16, distinct, "dependent")
            if counts:
                run.count(kernel, {"n": 2048, "rounds": 16, "rows": 16, "distinct": distinct, "chain": "independent"}, **{
                    "constant": {"constant_requests": 64 * 16, "constant_words": 64 * 16 * distinct, "load_requests": 0},
                    "read_only": {"load_requests": 64 * 16, "sectors_per_load_request": min(4, -(-distinct // 8)), "constant_requests": 0},
                    "shared": {"shared_load_requests": 64 * 16, "shared_load_wavefronts": 64 * 16, "load_requests": 4,
                               "sectors_per_load_request": 4}}[name])
        if gpu:
            time(latency[i] * 1e-6 * 3, 32, 1000, 256, 1, "dependent")
    for i, name in enumerate(("template", "argument", "symbol") if gpu and solver else ()):
        run.kernel(f"gpu/solver/{name}", order=10 * i, title=f"{name} title")
        for method in ("euler", "runge_kutta"):
            run.time(f"gpu/solver/{name}", 1e-3 * (solver if name == "symbol" else 1), {"method": method, "n": MILLION, "steps": 4096},
                     flops_useful=3e9, interleaved_with=3, registers_per_thread=10 + i)
    return run


def test_constant_memory_serves_one_address_at_a_time(tmp_path):
    section = section_of(tmp_path, lookups())
    assert "with 32 addresses" in section.finding and "32× less" in section.finding
    assert "takes 20.0\u00a0ns from constant memory" in section.finding and "ns from global memory" in section.finding
    assert "within 0.0" in section.finding or "within 0" in section.finding
    assert "up to 10 (template title), 11 (argument title) and 12 (symbol title) registers" in section.finding
    rows = table(section, "reads")
    assert {r["passes"] for r in rows if r["title"] == "constant memory" and r["distinct"] == 32} == {32}
    assert {r["passes"] for r in rows if r["title"] != "constant memory"} == {1}
    assert drawn(section) == ["constant_memory_rates", "constant_memory_latency", "constant_memory_levels"]


def test_a_slower_symbol_is_told(tmp_path):
    section = section_of(tmp_path, lookups(solver=1.5))
    assert "within 33\u00a0% of the rate of a kernel compiled for it" in section.finding
    assert [r["over_base"] for r in table(section, "solvers") if r["title"] == "symbol title"] == [pytest.approx(1 / 1.5, rel=0.01)] * 2


def test_without_times_the_counted_passes_are_told(tmp_path):
    section = section_of(tmp_path, lookups(gpu=False))
    assert "with 32 addresses: 32 from constant memory, 1 from global memory" in section.finding
    assert drawn(section) == ["constant_memory_passes"]


@pytest.mark.parametrize("missing", ({"counts": False}, {"solver": 0}))
def test_constant_memory_does_with_what_there_is(tmp_path, missing):
    section = section_of(tmp_path, lookups(**missing))
    assert section.finding
    drawn(section)
