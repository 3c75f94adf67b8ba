"""The claims of a study: its runs as their data, its experiments' functions as judges."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from report.claims.data import Data, Machine
from report.claims.entries import Entry, load
from report.claims.expression import nearest
from report.claims.judgement import Judged
from report.claims.literature import findings as of_data
from report.claims.values import Fault
from report.claims.verdict import Finding
from report.data.collect import Study, find, views_of
from report.data.companions import CompilerFile
from report.data.declaration import FOLDER
from report.data.view import View, collecting
from report.faults import UNUSABLE, why
from report.sections import module

RECORDED = FOLDER / "recorded"


def compilers(study: Study) -> tuple[CompilerFile, ...]:
    """The study's compiler files and the recorded ones: whether a snippet compiles does not depend on the machine."""
    mine = {file.path.resolve() for file in study.compilers}
    stored = find(sorted(RECORDED.glob("compilers.json*"))).compilers
    return (*study.compilers, *(file for file in stored if file.path.resolve() not in mine))


JUDGES = (Judged | None, "Judged | None")
"""The return type of an experiment's functions that judge claims, as an object or as text."""


def _is_judge(function: object) -> bool:
    return getattr(function, "__annotations__", {}).get("return") in JUDGES


def _is_of(view: View, machine: Machine) -> bool:
    part = view.gpu or view.cpu
    name = part and (part.machine.name if part.side == "gpu" else part.machine.label)
    return bool(part) and name in (machine.gpu, machine.label)


def _is_on_one(view: View, gpu: str) -> bool:
    """Whether all that the view has was timed on this GPU and its host."""
    parts = [part for one in (view, *view.suite) for part in (*one.timed_parts, *one.host.values())]
    return all(part.run.machine("gpu").name == gpu for part in parts)


def findings(study: Study, entries: Iterable[Entry]) -> list[Finding]:
    shown = {view.name: collecting(view, study.views) for view in study.views}
    of_gpu: dict[str, dict[str, View]] = {}

    def view_of(name: str, machine: Machine) -> View | None:
        """The experiment on this machine, whichever its section shows or compares."""
        if not machine.gpu or (name in shown and _is_on_one(shown[name], machine.gpu)):
            return shown.get(name)
        if machine.gpu not in of_gpu:
            views = views_of(study, machine.gpu)
            of_gpu[machine.gpu] = {view.name: collecting(view, views) for view in views}
        return of_gpu[machine.gpu].get(name)

    def judge(entry: Entry, machine: Machine) -> Judged | None:
        """Calls the function that the entry names."""
        name, function = entry.judge.split(".")
        view = view_of(name, machine)
        if view is None or not _is_of(view, machine):
            return None
        judges = {key: value for key, value in vars(module.of(view)).items() if _is_judge(value)}
        if function not in judges:
            raise Fault(f"judge: experiments/{name}.py has no judge '{function}'{nearest(function, judges)}")
        try:
            return judges[function](view)
        except UNUSABLE as error:
            raise Fault(f"{entry.judge}() cannot judge these results: {why(error)}") from error
    return of_data(entries, Data(study.runs, study.counters, study.hazards, compilers(study), study.wrong_results), judge)


def findings_of(study: Study, known: Iterable[Entry], chosen: Sequence[Entry]) -> list[Finding]:
    """The findings of the chosen claims. The claims of an experiment are judged together, so that a claim that is chosen
    alone has the same verdict as in the report."""
    ids, experiments = {e.id for e in chosen}, {e.experiment for e in chosen}
    return [f for f in findings(study, [e for e in known if e.experiment in experiments]) if f.entry.id in ids]


def of_study(study: Study) -> list[Finding]:
    """The findings that the study's report shows: of all claims, or of the claims of its only experiment."""
    names = {view.name for view in study.views}
    return findings(study, [e for e in load().values() if len(names) > 1 or e.experiment in names])
