"""A comparison as data: rows for CSV and for the texts, and JSON."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from statistics import median_low

from report.compare import counts, matching, rule
from report.compare.comparison import COUNTS, PLANTED, VERDICTS, Against, Comparison
from report.compare.counts import Counted
from report.compare.rule import Finding
from report.compare.sides import Side
from report.data.companions import Tally, TwinsFile
from report.data.statistics import LEVEL

VERSION = 1
"""Of the JSON."""


def timed_row(a: Against, first: Side, f: Finding) -> dict:
    """A timed point; intervals are of the ratio, how many times as fast the second is."""
    test, pair = f.test, f.test.pair
    shown, deciding = f.shown or (None, None), test.interval(f.miss) or (None, None)
    clocks = test.clocks or (None, None)
    return {
        "point": pair.name, "kernel": pair.point.kernel.name, "side": pair.point.kernel.side, "mode": pair.point.mode, "data": pair.point.data,
        "threads": pair.point.threads, "first": first.letter, "second": a.second.letter, "verdict": f.verdict, "reason": f.code, "why": f.why,
        "ratio": test.value, "low": shown[0], "high": shown[1], "deciding_low": deciding[0], "deciding_high": deciding[1],
        "first_seconds": rule.middle(pair.first), "second_seconds": rule.middle(pair.second),
        "first_samples": sum(len(p.times) for p in pair.first), "second_samples": sum(len(p.times) for p in pair.second),
        "first_runs": len(pair.first), "second_runs": len(pair.second), "between_runs": test.margin(rule.MISS),
        "between_runs_known": " and ".join(dict.fromkeys(b.source for b in test.between)),
        "first_clock_mhz": clocks[0], "second_clock_mhz": clocks[1], "cycles_ratio": test.value * test.by_cycles if test.by_cycles else None,
        "more_samples": f.more_samples, "more_runs": f.more_runs, "launch": "; ".join(counts.of_launch(pair))}


def counted_rows(a: Against, first: Side, c: Counted) -> list[dict]:
    """A counted point: a row for each counter that differs, or one without."""
    head = {"point": c.pair.name, "kernel": c.pair.point.kernel.name, "side": c.pair.point.kernel.side, "mode": c.pair.point.mode,
            "data": c.pair.point.data, "first": first.letter, "second": a.second.letter, "verdict": c.verdict, "counters_compared": c.compared}
    return [head | {"counter": one.counter, "first_count": one.first, "second_count": one.second, "count_ratio": one.ratio}
            for one in c.changes] or [head]


def rows(c: Comparison) -> list[dict]:
    """Every point of the comparison, those without a partner last."""
    made: list[dict] = []
    for a in c.against:
        made += [timed_row(a, c.first, f) for f in a.timed]
        made += [row for one in a.counted for row in counted_rows(a, c.first, one)]
        made += [{"point": one.name, "first": c.first.letter, "second": a.second.letter, "verdict": "not compared", "why": one.reason} for one in a.alone]
    return made


def as_json(c: Comparison, only: Iterable[str] = ()) -> dict:
    wanted = set(only)
    return {
        "program": "rung compare", "version": VERSION, "exit": c.exit,
        "runs": [_side(side) for side in (c.first, *(a.second for a in c.against))],
        "rule": {"tolerance": c.tolerance, "level": round(1 - LEVEL, 10), "correction": "Holm", "points": c.family},
        "error_rates": _rates(c), "resolves": {f"{planted:g}": c.resolved(planted) for planted in PLANTED},
        "resolves_at_half_of_the_points": finite(median_low(c.detectable)) if c.detectable else None,
        "comparisons": [_against(c, a, wanted) for a in c.against]}


def _side(side: Side) -> dict:
    return {"letter": side.letter, "path": str(side.path), "what": side.what, "files": [str(run.path) for run in side.runs],
            "left_out": list(side.left_out)}


def _rates(c: Comparison) -> dict | None:
    file: TwinsFile | None = c.rates
    if file is None:
        return None
    return {"machine": file.machine, "date": file.date, "is_of_this_machine": c.is_rates_own, "single_runs": _tallies(file.compare),
            "joined_runs": _tallies(file.joined), "runs_of_a_side": file.joined_runs or None,
            "recorded_runs": {side: _tallies(tallies) for side, tallies in file.repeated.items()}}


def _tallies(tallies: Mapping[str, Tally]) -> dict:
    return {key: {"points": tally.pairs, "called": tally.called} for key, tally in tallies.items()}


def _against(c: Comparison, a: Against, wanted: set[str]) -> dict:
    def shows(verdict: str) -> bool:
        return not wanted or verdict.lower() in wanted
    return {
        "second": a.second.letter, "differs": [{"what": d.what, "first": d.first, "second": d.second} for d in a.differences],
        "same_program": a.is_same_program, "summary": {word: a.tally[word] for word in (*VERDICTS, *COUNTS)},
        "geometric_mean": finite(a.mean), "points_in_mean": len(a.ratios),
        "points": [{k: finite(v) for k, v in timed_row(a, c.first, f).items()} for f in a.timed if shows(f.verdict)],
        "counts": [{"point": one.pair.name, "verdict": one.verdict, "counters_compared": one.compared, "changes": [
            {"counter": x.counter, "first": x.first, "second": x.second, "ratio": x.ratio} for x in one.changes]} for one in a.counted if shows(one.verdict)],
        "not_compared": [{"reason": reason, "points": names} for reason, names in matching.by_reason(a.alone).items()]}


def finite(value: object) -> object:
    """JSON has no infinity."""
    return None if isinstance(value, float) and not math.isfinite(value) else value
