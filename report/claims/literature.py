"""All claims on all machines: the findings that the report and `rung claims` show."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from report.claims.check import Checked, check, sides
from report.claims.data import Data, Machine
from report.claims.entries import Entry
from report.claims import model as calculators
from report.claims.values import Comparison, Fault
from report.claims.verdict import ERRATUM, UNTESTED, Finding, faulty, finding, untested
from report.data import statistics
from report.text import words

ANYWHERE = "any"
"""In place of a machine's name where nothing depends on the machine."""
Judge = Callable[[Entry, Machine], tuple[str, str] | None]
"""Verdict and reason of a claim that names a function; None where it has no data."""


def findings(entries: Iterable[Entry], data: Data, judge: Judge) -> list[Finding]:
    """One or more of each claim, in their order: of each machine that has data for it. Comparisons of one experiment on one
    machine are judged together."""
    entries, machines = list(entries), data.machines()
    model = calculators.load()
    checked, faults = {}, {}
    for entry in entries:
        try:
            checked[entry.id] = [] if entry.untested or entry.judge else [
                check(entry, machine, data, model) for machine in _machines(entry, machines)]
        except Fault as error:
            faults[entry.id] = str(error)
    judged = _judged(c for each in checked.values() for c in each)
    made = []
    for entry in entries:
        if entry.id in faults:
            made.append(faulty(entry, faults[entry.id]))
        else:
            try:
                made += _merged([finding(c, judged) for c in checked[entry.id]] or _told(entry, machines, judge))
            except Fault as error:
                made.append(faulty(entry, str(error)))
    return made


def _machines(entry: Entry, machines: list[Machine]) -> list[Machine]:
    wanted = sides(entry)
    found = [m for m in machines if m.side in wanted]
    return found or [Machine(ANYWHERE if not wanted else "")]


def _told(entry: Entry, machines: list[Machine], judge: Judge) -> list[Finding]:
    """Of a claim without expressions."""
    if entry.untested:
        return [untested(entry, entry.untested)]
    made = []
    for machine in machines:
        if found := judge(entry, machine):
            made.append(Finding(entry, machine.label, found[0], found[0], found[1]))
    return made or [untested(entry, f"nothing to judge it by was measured: rung run {entry.experiment} --full measures it")]


def _judged(checked: Iterable[Checked]) -> Mapping[Comparison, statistics.Ratio]:
    families: dict[tuple[str, str], list[Comparison]] = defaultdict(list)
    for one in checked:
        families[one.entry.experiment, one.machine.label] += [c for c in one.comparisons() if c.ratio and c.ratio.p is not None]
    made: dict[Comparison, statistics.Ratio] = {}
    for family in families.values():
        found = statistics.judge({f"{i:06d}": c.ratio for i, c in enumerate(family)})
        made |= {c: found[f"{i:06d}"] for i, c in enumerate(family)}
    return made


def _merged(told: list[Finding]) -> list[Finding]:
    """Machines without data are left out where another has some; those of which the same is said are one."""
    measured = [f for f in told if any("measured" in case for case in f.cases)]
    some = measured or [f for f in told if f.verdict != UNTESTED] or [replace(told[0], machine="")]
    made: dict[tuple, list[Finding]] = defaultdict(list)
    for f in some:
        depends = f.machine or f.verdict == UNTESTED
        f = f if depends and (f.measured or f.verdict != ERRATUM) else replace(f, machine=ANYWHERE)
        made[f.words, f.why, f.modelled, f.counted, f.measured].append(f)
    return [_joined(alike) for alike in made.values()]


def _joined(alike: list[Finding]) -> Finding:
    """One of all their machines; what the model gives for their GPUs stands before the note."""
    machines = list(dict.fromkeys(f.machine for f in alike))
    homes = list(dict.fromkeys(f.at_home for f in alike if f.at_home))
    said = [home if len(homes) == 1 else f"{home} ({', '.join(f.machine for f in alike if f.at_home == home)})" for home in homes]
    where = "the GPUs here" if len(homes) > 1 else words.joined(machines)
    first = f"For {where} the model gives {words.joined(said)}. " if said else ""
    return replace(alike[0], machine=", ".join(machines), why=f"{first}{alike[0].why}".strip())
