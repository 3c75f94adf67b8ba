"""Points that several experiments measured on one machine: how far their medians differ, which no interval within a run includes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from report.data.collect import Study
from report.data.records import SIDE_NAME, Point
from report.data.roofs import APART
from report.data.view import Part
from report.experiment import Table, numbers, words


def rows(study: Study) -> list[dict]:
    """One for each kernel, variant, size, data set, mode and number of threads that two experiments timed, the farthest apart first."""
    found: dict[tuple, dict[str, tuple[Part, Point]]] = defaultdict(dict)
    for view in study.views:
        for part in view.timed_parts:
            for p in (p for p in part.points if p.is_timed and not p.kernel.is_ceiling and not p.oversubscribed):
                found[part.machine.label, p.identity, p.data, p.mode, p.threads].setdefault(view.name, (part, p))
    made = [_row(list(some.items())) for some in found.values() if len(some) > 1]
    return sorted(made, key=lambda r: (-r["ratio"], r["machine"], r["kernel"], r["title"], r["size"], str(r["threads"]), r["mode"], r["data"]))


def _row(some: list[tuple[str, tuple[Part, Point]]]) -> dict:
    some.sort(key=lambda item: (item[1][1].timing.median, item[0]))
    (first, (part, fast)), (last, (_, slow)) = some[0], some[-1]
    return {"machine": part.machine.label, "kernel": fast.kernel.name, "title": fast.title, "size": fast.size_text, "data": fast.data, "mode": fast.mode,
            "threads": fast.threads if part.side == "cpu" else None, "experiments": len(some), "shortest_seconds": fast.timing.median,
            "shortest_in": first, "longest_seconds": slow.timing.median, "longest_in": last, "ratio": slow.timing.median / fast.timing.median,
            "side": SIDE_NAME[part.side]}


def table(study: Study) -> list[Table]:
    """A table for the CSV only."""
    made = rows(study)
    return [Table("repeated", "What several experiments measured on one machine: the shortest and the longest median.", (), made, most=0)] if made else []


def limits(study: Study) -> Iterable[str]:
    """Texts for the limits of validity."""
    made = rows(study)
    apart = [r for r in made if r["ratio"] > 1 + APART]
    if apart:
        worst = apart[0]
        yield (f"Of {words.counted(len(made), 'point')} that several experiments measured on one machine, {len(apart)} differ by more than "
               f"{100 * APART:g}\u00a0%, at most by {numbers.times(worst['ratio'])} ({worst['title']} on the {worst['side']} at {worst['size']}); "
               "all are in tables/repeated.csv. The intervals are within a run and do not include this difference, except in comparisons and claims that join runs. Each section gives its own "
               "run’s values; GPU and CPU are compared by the values of the experiment whose ladder the kernel is on.")
