"""How often the rule of `rung compare` is wrong for two recorded runs:  python3 tests/twins/repeated.py [--write]

Several experiments measure some points in common: the same code on the same machine, in runs of their own. Every two such
runs are compared as two results would be, as they are and with the times of one multiplied by 1.01, 1.02 and 1.05. With
--write, the tallies go into experiments/recorded/twins.json, which every comparison prints. It ends with 1 if more than
5 % of the comparisons have a false difference.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations, product
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from report.compare import matching, rule, sides
from report.data.collect import find
from report.data.records import SIDES, Point, Run
from report.data.statistics import summarise

RECORDED = ROOT / "experiments" / "recorded"
PLANTED = {"same": 1.0, "one": 1.01, "two": 1.02, "five": 1.05}
TOLERANCE, MOST_CALLED = 0.01, 0.05


def slower(point: Point, factor: float) -> Point:
    times = tuple(factor * t for t in point.times)
    return replace(point, times=times, summary=summarise(times))


def steady(run: Run, side: str) -> dict[tuple, Point]:
    """The points that it timed on that side, without those that other work disturbed, by what identifies them."""
    return {matching.key(p, ""): p for p in run.points if p.kernel.side == side and p.is_timed and not p.is_disturbed}


def called(pairs: Sequence[matching.Pair], machine, factor: float) -> list[bool]:
    """Which of the points are called different; with a factor, slower."""
    between = rule.known_between(machine, [])
    tests = {i: rule.Test(replace(pair, second=tuple(slower(p, factor) for p in pair.second)), (between, between), TOLERANCE)
             for i, pair in enumerate(pairs)}
    wanted = (rule.SLOWER,) if factor > 1 else (rule.SLOWER, rule.FASTER)
    return [found.verdict in wanted for found in rule.judge(tests).values()]


def tallies(folders: Sequence[Path]) -> dict[str, dict[str, dict[str, int]]]:
    found: dict[str, dict[str, list[bool]]] = {side: defaultdict(list) for side in SIDES}
    builds: dict[tuple, list[Run]] = defaultdict(list)
    for run in find(folders).runs:
        builds[sides.build(run)].append(run)
    for runs, side in product(builds.values(), SIDES):
        points = [(run, steady(run, side)) for run in sorted(runs, key=lambda run: run.date)]
        for (first, own), (second, other) in combinations(points, 2):
            if pairs := [matching.Pair((own[key],), (other[key],), (first, second)) for key in own if key in other]:
                for word, factor in PLANTED.items():
                    found[side][word] += (now := called(pairs, first.machine(side), factor))
                    found[side]["families"] += [any(now)] if word == "same" else []
    return {side: {word: {"pairs": len(all_), "called": sum(all_)} for word, all_ in words.items()} for side, words in found.items()}


def main(is_written: bool) -> int:
    found = tallies([RECORDED / name for name in sorted(p.name for p in RECORDED.iterdir() if p.is_dir())])
    for side, words in found.items():
        print(f"{side}: " + ", ".join(f"{word} {row['called']} of {row['pairs']}" for word, row in words.items()))
    if is_written:
        target = RECORDED / "twins.json"
        target.write_text(json.dumps(json.loads(target.read_text()) | {"repeated": found}, indent=1) + "\n")
    return int(any(words["families"]["called"] > MOST_CALLED * words["families"]["pairs"] for words in found.values()))


if __name__ == "__main__":
    sys.exit(main("--write" in sys.argv[1:]))
