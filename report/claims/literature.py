"""All claims on all machines: the findings that the report and `rung claims` show."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from report.claims import model as calculators
from report.claims.check import OF_A_MACHINE, check, sides
from report.claims.data import Data, Machine
from report.claims.entries import Entry
from report.claims.judgement import Judged
from report.claims.values import Comparison, Fault
from report.claims.verdict import ANYWHERE, ERRATUM, OF_ITS_OWN, UNTESTED, Finding, faulty, finding, of_judge, untested
from report.data import statistics
from report.faults import UNUSABLE, why
from report.text import words

Judge = Callable[[Entry, Machine], Judged | None]
"""The cases of a claim that names a function; None where it has no data."""


def findings(entries: Iterable[Entry], data: Data, judge: Judge) -> list[Finding]:
    """One or more of each claim, in their order: of each machine that has data for it. Comparisons of one experiment on one
    machine are judged together."""
    entries = list(entries)
    model = calculators.load()
    checked, told, faults = {}, {}, {}
    for entry in entries:
        try:
            checked[entry.id] = [] if entry.untested or entry.judge else [
                check(entry, machine, data, model) for machine in _machines(entry, data)]
            told[entry.id] = _told(entry, data, judge) if entry.judge else []
        except (Fault, *UNUSABLE) as error:
            faults[entry.id] = _said(error)
    judged = _judged([(c.entry, c.machine, c.comparisons()) for each in checked.values() for c in each] + [
        (entry, machine, found.comparisons())
        for entry in entries for machine, found in told.get(entry.id, ()) if found])
    made = []
    for entry in entries:
        if entry.id in faults:
            made.append(faulty(entry, faults[entry.id]))
        else:
            try:
                made += _merged([finding(c, judged) for c in checked[entry.id]] or [
                    of_judge(entry, machine, found, judged) if found else _without(entry, data, machine.label)
                    for machine, found in told[entry.id]] or [_without(entry, data)])
            except (Fault, *UNUSABLE) as error:
                made.append(faulty(entry, _said(error)))
    return made


def _said(error: Exception) -> str:
    """The message of a mistake in the entry; for values that the code does not expect, also where it met them."""
    return str(error) if isinstance(error, Fault) else why(error)


def _machines(entry: Entry, data: Data) -> list[Machine]:
    wanted = sides(entry)
    return data.machines(wanted) or [Machine("", runs=data.runs) if wanted else Machine(ANYWHERE)]


def _told(entry: Entry, data: Data, judge: Judge) -> list[tuple[Machine, Judged | None]]:
    """The judgement of a claim's function, by machine: for each GPU, or for the CPU if it judges no GPU."""
    every = [[(machine, judge(entry, machine)) for machine in data.machines({side})] for side in ("gpu", "cpu")]
    return next((of_side for of_side in every if any(found for _, found in of_side)), [])


def _without(entry: Entry, data: Data, machine: str = "") -> Finding:
    """The finding of a claim that nothing decides on this machine."""
    why = data.without_gpu or f"nothing to judge it by was measured: rung run {entry.experiment} --full measures it"
    return untested(entry, entry.untested or why, machine)


def _judged(checked: Iterable[tuple[Entry, Machine, list[Comparison]]]) -> Mapping[Comparison, float]:
    """The probability with which each end of a comparison's interval may miss. All intervals of one experiment on one
    machine hold together with 95 % (Bonferroni), and so do all conclusions from them, in either direction and of
    equality. Holm's steps, which decide more, do not bound conclusions in the wrong direction."""
    families: dict[tuple[str, str], list[Comparison]] = defaultdict(list)
    for entry, machine, found in checked:
        families[entry.experiment, machine.label] += [c for c in found if c.of.is_measured]
    return {c: statistics.MISS / len(family) for family in families.values() for c in family}


def _merged(told: list[Finding]) -> list[Finding]:
    """Merges machines with equal findings. Machines with measurements come first, then those that something else decides,
    then those without data, with what is missing there. If no machine has data, none is named."""
    def has_data(f: Finding) -> bool:
        return any(kind in case for case in f.cases for kind in OF_A_MACHINE)
    some = sorted(told, key=lambda f: (not has_data(f), f.verdict == UNTESTED))
    if not has_data(some[0]) and some[0].verdict == UNTESTED:
        some = [replace(told[0], machine="")]
    made: dict[tuple, list[Finding]] = defaultdict(list)
    for f in some:
        made[f.words, f.why, f.modelled, f.counted, f.compiled, f.measured, f.kernels].append(f)
    return [_joined(alike) for alike in made.values()]


def _joined(alike: list[Finding]) -> Finding:
    """One finding for all their machines. The model's values for their GPUs precede the note."""
    machines = list(dict.fromkeys(f.machine for f in alike))
    homes = list(dict.fromkeys(f.at_home for f in alike if f.at_home))
    said = [home if len(homes) == 1 else f"{home} ({', '.join(f.machine for f in alike if f.at_home == home)})" for home in homes]
    where = "the GPUs here" if len(homes) > 1 else words.joined(machines)
    first = f"For {where} the model gives {words.joined(said)}. " if said else ""
    one = alike[0]
    depends = one.measured or (one.verdict not in (OF_ITS_OWN, ERRATUM) and (one.machine or one.verdict == UNTESTED))
    label = ("; " if any("," in m for m in machines) else ", ").join(machines) if depends else ANYWHERE
    names = tuple(dict.fromkeys(name for f in alike for name in f.names)) if depends else ()
    return replace(one, machine=label, names=names, why=f"{first}{one.why}".strip())
