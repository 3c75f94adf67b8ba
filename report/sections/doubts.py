"""Reasons to doubt the numbers. On the first page: failures, and points and samples that other work disturbed. Among the
limits of validity: roofs that scatter, that differ between runs or that are lower with more threads, and samples that
were not watched."""

from __future__ import annotations

from collections.abc import Iterable

from report.data.collect import Study
from report.data.records import SIDE_NAME, Point
from report.data.roofs import APART, BEYOND, Roof, Share
from report.data.view import Part, View
from report.experiment import numbers, words
from report.sections import provenance, samples

NAMED = 4
"""The most roofs that are named on the first page."""


def warnings(study: Study) -> list[str]:
    """For the first page: failures and disturbances, and the number of doubts among the limits of validity."""
    further = len(limits(study))
    more = [f"{words.counted(further, 'further doubt')}, about roofs or samples, {'stands' if further == 1 else 'stand'} under Limits of validity."]
    return [*failed(study), *disturbed(study), *samples.left_out(study), *(more if further else ())]


def limits(study: Study) -> list[str]:
    """Texts for the limits of validity."""
    again = [] if any(above(view) for view in study.views) else [measured_again(study, False)]
    made = [*filter(None, again), *scattered(study), *samples.unwatched(study)]
    for part in _machines(study):
        several = [r for r in part.roofs.all if r.measured and len(r.readings) > 1]
        apart = [r for r in several if r.is_apart]
        if apart:
            worst = min(apart, key=lambda r: r.lowest / r.value)
            made.append(f"Runs differ by more than {100 * APART:g}\u00a0% in {words.of_all(len(apart), len(several), 'roof')} of {_kind(part)} "
                        f"that several runs measured, most in {worst.label}{_threads(worst)} ({_range(worst)} in "
                        f"{words.counted(len(worst.readings), 'run')}). All are in tables/roofs_{part.side}.csv. Shares are of the highest.")
        slower = dict.fromkeys(_slower(pair) for p in study.parts if p.machine == part.machine for pair in p.roofs.slower_together())
        if slower:
            made.append(f"All threads were slower than one in roofs of {_kind(part)}: {words.listed(list(slower), NAMED)}. The machine was busy "
                        "when all were measured.")
    return made


def above(view: View) -> list[tuple[Point, Share]]:
    """The points above a measured roof."""
    shares = ((p, part.roofs.of_peak(p)) for part in view.timed_parts for p in part.timed() if p.flops)
    return [(p, share) for p, share in shares if share and share.exceeds]


def scattered(study: Study) -> list[str]:
    """The experiments in which samples of one roof scatter."""
    found = {v.title: [r.label for part in v.timed_parts for r in part.roofs.own if r.spread > 2] for v in study.views}
    places = [f"{title} ({words.listed(list(dict.fromkeys(mine)))})" for title, mine in found.items() if mine]  # of one thread and of all
    return ([f"The machine was not quiet: samples of one roof differ by more than a factor of two in {'; '.join(places)}."] if places else [])


def measured_again(study: Study, are_above: bool) -> str:
    """The roofs that rose when a run measured them again because verified points were above them; if none rose and points are
    still above, a sentence about that."""
    again = {(r.label, r.threads, r.run): r for part in study.parts for r in part.roofs.own if r.takes}
    rose = [f"{r.label}{_threads(r)} ({_amount_of(r.takes[0])} to {_amount(r)}\u00a0{_unit(r)})" for r in again.values()
            if r.value > BEYOND * r.takes[0]]
    if rose:
        return f"Measured again in the same run, these roofs rose: {words.listed(rose, NAMED)}."
    return f"{words.counted(len(again), 'roof')} measured again in the same run did not rise." if again and are_above else ""


def failed(study: Study) -> list[str]:
    """For the first page: kernels with wrong results, or that did not finish."""
    points = [p for p in provenance.of_runs(study) if p.failed]
    if not points:
        return []
    titles = list(dict.fromkeys(f"{p.kernel.title} ({SIDE_NAME[p.kernel.side]})" for p in points))
    reasons = list(dict.fromkeys(p.failed for p in points if p.failed))
    return [f"{words.counted(len(points), 'point')} of {words.counted(len({p.kernel.name for p in points}), 'kernel')} failed and "
            f"{'has' if len(points) == 1 else 'have'} no rate: {words.listed(titles, NAMED)} ({words.listed(reasons, 2)}); all are in the provenance."]


def disturbed(study: Study) -> list[str]:
    """For the first page: points that could not be measured undisturbed. More threads than processors wait for each other,
    whatever else runs."""
    points = [p for p in provenance.of_runs(study) if p.is_timed and not p.oversubscribed]
    busy = sorted((p for p in points if p.is_disturbed), key=lambda p: (-p.waited, p.name))
    if not busy:
        return []
    titles = list(dict.fromkeys(f"{p.kernel.title} ({SIDE_NAME[p.kernel.side]})" for p in busy))
    waited = f"; their threads waited for a processor for up to {numbers.percent(busy[0].waited)} of the time" if busy[0].waited else ""
    return [f"Other work disturbed {words.counted(len(busy), 'point')} of {len(points)}, which may be slower than alone by as much as their "
            f"intervals show{waited}: {words.listed(titles, NAMED)}."]


def marked(study: Study) -> list[str]:
    """For the limits of validity: each run that measured a roof more than 10 % lower than another run of the same machine."""
    found = {}
    for view in study.views:
        for part in view.timed_parts:
            low = [f"{roof.label}{_threads(roof)} {_amount(mine)} of {numbers.significant(roof.value)}"
                   for mine, roof in part.roofs.lower_in_its_run()]
            if low:
                found[view.title, part.side] = f"{view.title} ({SIDE_NAME[part.side]}: {words.listed(low, 2)})"
    return list(found.values())


def _machines(study: Study) -> Iterable[Part]:
    """A part of each machine, the GPUs first."""
    found = {(p.side, p.machine.id): p for view in study.views for p in reversed(view.timed_parts) if p.roofs}
    return [found[key] for key in sorted(found, key=lambda key: (key[0] != "gpu", key))]


def _kind(part: Part) -> str:
    return f"the {SIDE_NAME[part.side]} ({part.machine.label})"


def _threads(roof: Roof) -> str:
    return f" on {words.counted(roof.threads, 'thread')}" if roof.threads else ""


def _unit(roof: Roof) -> str:
    return "GB/s" if roof.is_bandwidth else "GFLOP/s"


def _amount(roof: Roof) -> str:
    return _amount_of(roof.value)


def _amount_of(value: float) -> str:
    return numbers.significant(value)


def _range(roof: Roof) -> str:
    return f"{numbers.significant(roof.lowest)} to {numbers.significant(roof.value)}\u00a0{_unit(roof)}"


def _slower(pair: tuple[Roof, Roof]) -> str:
    one, every = pair
    return f"{every.label} ({_amount(every)} against {_amount(one)}\u00a0{_unit(one)})"
