"""Measures how often the rules of the report and of `rung compare` are wrong on a busy machine; run.sh starts it."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from statistics import median

from report.compare import rule
from report.compare.matching import Pair as Matched
from report.data import statistics
from report.data.load import load
from report.data.records import Point, Run

PRECISION = {"ratio_within": 0.01, "samples": 30, "max_samples": 1000, "seconds": 2}
"""Ratios are known to 1 %, so that 5 % is detected, or as precisely as 2 seconds per kernel allow."""
SWEEPS = {"cpu/matmul": "n=100", "cpu/vector_addition": "n=2000000"}
"""Half a millisecond each: on one thread, in its caches; on all threads, from memory."""
SLOWER = {"2": "two", "5": "five"}
PLANTED = {"1": "one"} | SLOWER
JOINED = 6
"""Runs of a side, where several are compared."""
TOLERANCE = 0.01
"""Of `rung compare`, where none is given."""
FEWEST_FOUND = {"five": 0.95}
MOST_CALLED = 0.05
BURSTS = """
import random, time
random.seed(1)
while True:
    end = time.monotonic() + random.uniform(0, 2)
    while time.monotonic() < end: pass
    time.sleep(random.uniform(0, 2))
"""
"""Other work: a process that computes for up to two seconds, rests for up to two, and so on."""
Pair = tuple[Point, Point]


@contextmanager
def load_of_bursts():
    with subprocess.Popen([sys.executable, "-c", BURSTS]) as other:
        try:
            yield
        finally:
            other.kill()


def measured(program: Path, folder: Path) -> list[Run]:
    """One run of each sweep: a process of its own."""
    runs = []
    precision = [word for key, value in PRECISION.items() for word in ("-a", f"{key}={value}")]
    for family, size in SWEEPS.items():
        out = folder / family.replace("/", "-")
        subprocess.run([str(program), "run", "-k", f"{family}/twin_*", "-a", size, "-a", "interleave=true", *precision,
                        "-o", str(out)], check=True, stdout=subprocess.DEVNULL)
        runs.append(load(max(out.glob("*/adhoc.json"), key=lambda path: path.stat().st_mtime)))
    return runs


def compared(runs: list[list[Run]], each: int = 1) -> dict[str, dict[str, int]]:
    """The tallies of `rung compare`'s rule, all kernels in one family: of successive runs, where all others show by how much runs
    differ; or of two sides of several alternating runs, which show it themselves."""
    found: dict[str, list[bool]] = {key: [] for key in ("same", "families", *PLANTED.values())}
    points = [[twins(run) for run in of_time] for of_time in runs]
    for start in range(0, len(runs) - 2 * each + 1, 1 if each == 1 else 2):
        first, second = (range(start + side, start + 2 * each, 2) for side in (0, 1))
        others = [i for i in range(len(runs)) if i not in (*first, *second)]
        for twin, word in ({"a": "same"} | PLANTED).items():
            if not all(twin in of_kernel for i in second for of_kernel in points[i]):
                continue
            pairs = [Matched(usable(points[i][k]["a"] for i in first), usable(points[i][k][twin] for i in second), (run, run))
                     for k, run in enumerate(runs[start])]
            known = rule.known_between(runs[start][0].machine("cpu"), [[steady(points[i][k]["a"] for i in others)] for k in range(len(pairs))])
            tests = {}
            for k, pair in enumerate(pairs):
                between = rule.of_pair(pair, len(pair.first) == each == len(pair.second)) or known
                tests[k] = rule.Test(pair, (between, between), TOLERANCE)
            verdicts = [f.verdict for f in rule.judge(tests).values()]
            if word == "same":
                found[word] += [v in (rule.SLOWER, rule.FASTER) for v in verdicts]
                found["families"].append(any(found[word][-len(verdicts):]))
            else:
                found[word] += [v == rule.SLOWER for v in verdicts]
    return {key: tally(all_) for key, all_ in found.items()}


def usable(points: Iterable[Point]) -> tuple[Point, ...]:
    """As `rung compare` uses several points."""
    every = tuple(points)
    return tuple(p for p in every if not p.is_disturbed) or every


def steady(points: Iterable[Point]) -> list[float]:
    """The medians of the points that other work did not disturb throughout."""
    return [p.summary.median for p in points if not p.is_disturbed]


def twins(run: Run) -> dict[str, Point]:
    return {point.kernel.name.rpartition("_")[2]: point for point in run.points}


def called(pairs: dict[str, Pair]) -> dict[str, bool]:
    """Which of the pairs the report calls different, and if one has more work, slower: as comparisons of one experiment."""
    judged = statistics.judge({name: statistics.ratio(*pair) for name, pair in pairs.items()})
    return {name: found.verdict == statistics.SLOWER if name in SLOWER.values() else found.is_significant
            for name, found in judged.items()}


def tally(found: Iterable[bool]) -> dict[str, int]:
    found = list(found)
    return {"pairs": len(found), "called": sum(found)}


def are_disjoint(a: Point, b: Point) -> bool:
    return a.summary.low > b.summary.high or b.summary.low > a.summary.high


def with_margin(series: list[dict[str, Point]], left_out: tuple[int, int], margin: float | None) -> list[dict[str, Point]]:
    """The two runs with these numbers; their points get the difference between the other runs."""
    return [{name: p if margin is None else replace(p, between=margin) for name, p in series[i].items()} for i in left_out]


def successive(series: dict[str, list[dict[str, Point]]]) -> Iterable[list[dict[str, Point]]]:
    """Pairs of successive runs; the difference between runs is estimated from all others."""
    for of_kernel in series.values():
        for pair in pairwise(range(len(of_kernel))):
            margin = statistics.between_runs(
                [run["a"].summary.median for i, run in enumerate(other) if i not in pair] for other in series.values())
            yield with_margin(of_kernel, pair, margin)


def differences(series: dict[str, list[dict[str, Point]]]) -> float | None:
    """The difference between successive runs, with 95 %."""
    return statistics.between_runs([run["a"].summary.median for run in of_kernel] for of_kernel in series.values())


def table(series: dict[str, list[dict[str, Point]]]) -> dict[str, dict[str, dict[str, int]]]:
    """The tallies of interleaved codes of one run, and of codes of successive runs."""
    runs = [run for of_kernel in series.values() for run in of_kernel]
    pairs = list(successive(series))
    within = [called({"same": (run["a"], run["b"])} | {word: (run[twin], run["a"]) for twin, word in SLOWER.items()})
              for run in runs]
    between = [called({"same": (one["a"], other["a"])} | {word: (one[twin], other["a"]) for twin, word in SLOWER.items()})
               for one, other in pairs]
    found = {name: {key: tally(one[key] for one in all_) for key in ("same", *SLOWER.values())}
             for name, all_ in (("within", within), ("between", between))}
    found["between"]["intervals"] = tally(are_disjoint(one["a"], other["a"]) for one, other in pairs)
    return found


def line(what: str, found: dict[str, int]) -> str:
    return f"{what:<52} {found['called']:>5} of {found['pairs']:>5}  {100 * found['called'] / max(found['pairs'], 1):5.1f} %"


def main(build: Path, seconds: float, target: str, most: int) -> int:
    program = build / "tests" / "rung_with_twins"
    if not program.exists():
        sys.exit(f"{program} is missing: build with -DRUNG_TESTS=ON")
    deadline = time.monotonic() + seconds
    runs: list[list[Run]] = []
    with tempfile.TemporaryDirectory(prefix="rung-twins-") as folder, load_of_bursts():
        while len(runs) < 2 or time.monotonic() < deadline and (len(runs) - 1) * len(SWEEPS) < most:
            runs.append(measured(program, Path(folder)))
    series = {family: [twins(run) for run in of_family] for family, of_family in zip(SWEEPS, zip(*runs))}
    context, found, by_compare, joined = runs[-1][0].context, table(series), compared(runs), compared(runs, JOINED)
    turns = [int(median(len(point.times) for run in of_kernel for point in run.values())) for of_kernel in series.values()]
    print(f"{len(runs)} runs of each of {len(SWEEPS)} kernels, {' and '.join(map(str, turns))} samples, load {context['load_avg'][0]:.1f} at the end")
    points = [point for of_kernel in series.values() for run in of_kernel for point in run.values()]
    disturbed, margin = sum(p.disturbed for p in points), differences(series)
    print(f"{disturbed} samples were disturbed by other work, and {sum(p.is_disturbed for p in points)} of {len(points)} points; "
          f"successive runs differ by up to {100 * (margin or statistics.BETWEEN_RUNS):.1f} %, with 95 %")
    for rows, of in ((by_compare, "by rung compare"), (joined, f"by rung compare, {JOINED} runs a side")):
        print(line(f"the same, {of}: called different", rows["same"]))
        print(line(f"the same, {of}: in a family of points", rows["families"]))
        for word in PLANTED.values():
            print(line(f"{word} per cent slower, {of}: found", rows[word]))
    for name, rows in found.items():
        where = "interleaved in one run" if name == "within" else "of successive runs"
        print(line(f"the same, {where}: called different", rows["same"]))
        if "intervals" in rows:
            print(line(f"the same, {where}: intervals are disjoint", rows["intervals"]))
        for word in SLOWER.values():
            print(line(f"{word} per cent slower, {where}: found", rows[word]))
    if target:
        record = {"machine": runs[-1][0].machine("cpu").label, "date": context["date"], "runs": len(runs),
                  "kernels": len(SWEEPS), "turns": turns, "ratio_within": PRECISION["ratio_within"],
                  "load": context["load_avg"][0], "between_runs": margin,
                  "twins": found | {name: rows for name, rows in (("compare", by_compare), ("joined", joined))
                                    if all(row["pairs"] for row in rows.values())}, "joined_runs": JOINED}
        old = json.loads(Path(target).read_text()) if Path(target).exists() else {}
        kept = {"repeated": old["repeated"]} if "repeated" in old else {}  # of repeated.py
        Path(target).write_text(json.dumps(record | kept, indent=1) + "\n")
    too_often = [name for name, rows in found.items() if rows["same"]["called"] > MOST_CALLED * rows["same"]["pairs"]]
    too_often += [f"compared {name}" for name, rows in (("single", by_compare), ("joined", joined))
                  if rows["families"]["called"] > MOST_CALLED * rows["families"]["pairs"]]
    missed = [word for word, least in FEWEST_FOUND.items() if found["within"][word]["called"] < least * found["within"][word]["pairs"]]
    print("; ".join([f"more than 5 % of the same are called different {name} runs" for name in too_often] +
                    [f"too seldom found if interleaved: {word} per cent" for word in missed]) or "as wanted")
    return 1 if too_often or missed else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), float(sys.argv[2]), sys.argv[3], int(sys.argv[4])))
