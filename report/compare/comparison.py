"""All of a comparison: the runs, the verdicts, the counts, what is left out, and how often the rule is wrong."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path

from report.compare import counts, matching, rule, sides
from report.compare.counts import EQUAL, GREW, SHRANK, Counted
from report.compare.matching import Alone
from report.compare.rule import FASTER, SAME, SLOWER, UNDECIDED, Finding
from report.compare.sides import Side
from report.data import companions
from report.data.companions import TwinsFile
from report.data.reading import InputError, read_json
from report.data.records import SIDES, Machine

RECORDED = Path(__file__).resolve().parents[2] / "experiments" / "recorded" / "twins.json"
"""The A/A test that ships with the project."""
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
REGRESSION = 1
PLANTED = (0.01, 0.02, 0.05)
"""Differences for which the power of the rule is given."""
VERDICTS = (SLOWER, FASTER, SAME, UNDECIDED)
COUNTS = (GREW, SHRANK, EQUAL)


@dataclass(frozen=True)
class Against:
    """The comparison of one run with the first."""

    second: Side
    timed: tuple[Finding, ...]
    """The slowest first."""
    counted: tuple[Counted, ...]
    alone: tuple[Alone, ...]
    differences: tuple[sides.Difference, ...]
    is_same_program: bool

    @property
    def ratios(self) -> list[float]:
        return [f.test.value for f in self.timed]

    @property
    def mean(self) -> float | None:
        """The geometric mean of the ratios of all points that have one: what is skipped or failed on a side is in none."""
        return math.exp(sum(map(math.log, self.ratios)) / len(self.ratios)) if self.timed else None

    @property
    def tally(self) -> Counter[str]:
        return Counter([f.verdict for f in self.timed] + [c.verdict for c in self.counted])


@dataclass(frozen=True)
class Comparison:
    first: Side
    against: tuple[Against, ...]
    tolerance: float
    rates: TwinsFile | None
    """The A/A test of the machine, else the recorded one."""
    is_rates_own: bool
    """Whether that was measured on a machine of the comparison."""

    @property
    def family(self) -> int:
        """The number of comparisons that are corrected together."""
        return sum(len(a.timed) for a in self.against)

    @property
    def exit(self) -> int:
        return REGRESSION if any(a.tally[SLOWER] + a.tally[GREW] for a in self.against) else 0

    @property
    def findings(self) -> list[Finding]:
        return [f for a in self.against for f in a.timed]

    @property
    def sides(self) -> list[str]:
        """Of the timed points: CPU, GPU or both."""
        return sorted({f.test.pair.point.kernel.side for f in self.findings})

    @property
    def undecided(self) -> list[str]:
        return list(dict.fromkeys(f.test.pair.name for f in self.findings if f.verdict == UNDECIDED))

    @cached_property
    def detectable(self) -> list[float]:
        """The difference that would be found, for each point: infinite for points without an interval."""
        found = (rule.detectable(f.test, self.family) for f in self.findings)
        return sorted(math.inf if one is None else one for one in found)

    def resolved(self, planted: float) -> int:
        """At how many points a difference of this size would be found."""
        return sum(one <= planted for one in self.detectable)


def make(paths: Sequence[Path], tolerance: float, patterns: Sequence[str] = (), time_only: bool = False,
         given: float | None = None) -> Comparison:
    """InputError where a file cannot be used, or nothing can be compared."""
    if len(paths) < 2:
        raise InputError(paths[0], "RUN", "name at least two results, A and B")
    if len(paths) > len(LETTERS):
        raise InputError(paths[-1], "RUN", f"at most {len(LETTERS)} results")
    loaded = [sides.load(letter, path) for letter, path in zip(LETTERS, paths)]
    known = _twins(loaded)
    between = between_of(loaded, given)
    first, tests, rest = loaded[0], {}, {}
    for second in loaded[1:]:
        found, alone = matching.pairs(first, second)
        timed = [pair for pair in found if not matching.is_counted(pair)]
        dates = {str(run.path): run.date for side in (first, second) for run in side.runs}
        for i, pair in enumerate(timed):
            mine = rule.of_pair(pair, _alternates(pair, dates))
            one, other = (mine or between[run.machine(pair.point.kernel.side)] for run in pair.runs)
            tests[second.letter, i] = rule.Test(pair, (one, other), tolerance)
        rest[second.letter] = [counts.compare(pair, patterns) for pair in found if matching.is_counted(pair)], alone
    judged = rule.judge(tests, time_only)
    against = tuple(_against(first, second, [f for (letter, _), f in judged.items() if letter == second.letter], *rest[second.letter])
                    for second in loaded[1:])
    if not any(a.timed or a.counted for a in against):
        reasons = matching.by_reason(one for a in against for one in a.alone)
        why = "; ".join(f"{len(names)} {reason}" for reason, names in list(reasons.items())[:2])
        raise InputError(paths[1], "search", f"no point of it can be compared with {first.path}{f' ({why})' if why else ''}")
    machines = {run.machine(f.test.pair.point.kernel.side).label for f in judged.values() for run in f.test.pair.runs}
    own = [file for file in known if file.machine in machines and file.compare]
    rates = max(own or [f for f in known if f.repeated], key=lambda f: f.date, default=None)
    return Comparison(first, against, tolerance, rates, bool(own))


def _against(first: Side, second: Side, timed: list[Finding], counted: list[Counted], alone: list[Alone]) -> Against:
    return Against(second, tuple(sorted(timed, key=lambda f: (f.test.value, f.test.pair.name))),
                   tuple(sorted(counted, key=lambda c: (COUNTS.index(c.verdict), -c.worst, c.pair.name))), tuple(alone),
                   tuple(sides.differences(first, second)), sides.is_same_program(first, second))


def _twins(loaded: Sequence[Side]) -> list[TwinsFile]:
    """Every A/A test in the results, and the recorded one."""
    found = [file for side in loaded for file in side.twins]
    recorded = companions.load(RECORDED, data) if RECORDED.exists() and isinstance(data := read_json(RECORDED), dict) else None
    return [*found, *([recorded] if isinstance(recorded, TwinsFile) else [])]


def between_of(loaded: Sequence[Side], given: float | None) -> dict[Machine, rule.Between]:
    """How much runs of each machine differ: by the points that several runs of one build measured there, on any side."""
    medians: dict[tuple, dict[tuple, list[float]]] = defaultdict(lambda: defaultdict(list))
    machines = {run.machine(name) for side in loaded for run in side.runs for name in SIDES}
    for side in loaded:
        for run in side.runs:
            for point in run.points:
                if point.is_timed and not point.is_disturbed and not rule.is_short(point):
                    medians[run.machine(point.kernel.side), side.letter, sides.build(run)][matching.key(point, "")].append(point.timing.median)
    return {machine: rule.known_between(machine, [list(own.values()) for (mine, *_), own in medians.items() if mine == machine], given)
            for machine in machines}


def _alternates(pair: matching.Pair, dates: Mapping[str, str]) -> bool:
    """Whether the runs of the sides alternate: each is a neighbour of one of the other side, in either order."""
    ends = [sorted((dates[a.run], dates[b.run])) for a, b in zip(pair.first, pair.second)]
    return len(pair.first) == len(pair.second) and all(early[1] < late[0] for early, late in pairwise(ends))
