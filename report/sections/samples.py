"""Which samples count: samples that other work disturbed are left out, and the medians are compared with those including
them."""

from __future__ import annotations

from collections import Counter

from report.data.collect import Study
from report.data.records import SIDE_NAME, SIDES, Point, Run
from report.experiment import Table, numbers, words

MOVED = 0.01
"""The relative change of a median from which on the first page counts it."""


def rows(study: Study) -> list[dict]:
    """One for each timed point of the runs that the report uses, shown or not."""
    return [{"experiment": run.experiment, "machine": run.machine(p.kernel.side).label, "point": p.name, "mode": p.mode, "threads": p.threads,
             **p.sampled, "moved": p.moved_by_all, "out_of_interval": p.is_out_of_interval_with_all, "settled": p.settled,
             "disturbed": p.disturbed, "waited_share": p.waited, "is_watched": p.is_watched} for run, p in timed(study)]


def timed(study: Study) -> list[tuple[Run, Point]]:
    """Those points, in the order of the rows."""
    return [(run, p) for run in _runs(study) for p in _timed(run)]


def table(study: Study) -> list[Table]:
    """A table for the CSV only."""
    made = rows(study)
    return [Table("samples", "Every timed point: the samples that count, those left out, and the medians of both.", (), made, most=0)] if made else []


def left_out(study: Study) -> list[str]:
    """For the first page: the effect of leaving samples out."""
    return [text for side in SIDES if (text := _left_out(study, side))]


def unwatched(study: Study) -> list[str]:
    """For the limits of validity: where disturbed samples could not be recognised."""
    return [text for side in SIDES if (text := _unwatched(study, side))]


def _left_out(study: Study, side: str) -> str:
    points = [p for run in _runs(study) for p in _timed(run, side)]
    some = [p for p in points if p.left_out]
    if not some:
        return ""
    moved, outside, decided = ([p for p in some if test(p)] for test in (
        lambda p: abs(p.moved_by_all) > MOVED, lambda p: p.is_out_of_interval_with_all, lambda p: p.is_decided_by_leaving_out))
    farthest = max(some, key=lambda p: (abs(p.moved_by_all), p.name))
    most = f", at most by {numbers.percent(abs(farthest.moved_by_all))} ({farthest.title}, {farthest.size_text})" if moved else ""
    out = sum(p.left_out for p in some)
    text = (f"Other work disturbed {numbers.grouped(out)} of {numbers.grouped(sum(len(p.times) + p.left_out for p in points))} samples "
            f"of the {SIDE_NAME[side]}, which are left out, in {len(some)} of {words.counted(len(points), 'point')}. With them the median would "
            f"differ by more than {100 * MOVED:g}\u00a0% in {words.counted(len(moved), 'point')}{most}; it would leave its interval in {len(outside) or 'none'}.")
    text += f" {words.counted(len(decided), 'point')} {'depends' if len(decided) == 1 else 'depend'} on this choice and {'is' if len(decided) == 1 else 'are'} unsettled." if decided else ""
    return f"{text} All are in tables/samples.csv."


def _unwatched(study: Study, side: str) -> str:
    """Runs of a side that no sample's recorder watched."""
    timed = [run for run in _runs(study) if list(_timed(run, side))]
    lacking = Counter(run.machine(side).name for run in timed if not any(p.is_watched for p in _timed(run, side)))
    if not lacking:
        return ""
    where = words.joined([f"{words.counted(number, 'run')} on {name}" for name, number in lacking.items()])
    return f"Samples of the {SIDE_NAME[side]} in {where} were not watched for other work, so that disturbed ones count as well."


def _runs(study: Study) -> list[Run]:
    return list({str(part.run.path): part.run for part in study.parts}.values())


def _timed(run: Run, side: str = "") -> list[Point]:
    return [p for p in run.points if p.is_timed and side in ("", p.kernel.side)]
