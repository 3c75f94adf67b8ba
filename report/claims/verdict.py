"""Verdicts: each claim on each machine, in words, from comparisons that were judged together."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from report.claims.check import AT_HOME, Case, Checked, Result
from report.claims.data import Machine
from report.claims.entries import KINDS, OTHERWISE, Entry
from report.claims.judgement import Judged, named
from report.claims.model import what_counts
from report.claims.reasons import others
from report.claims.values import MANY, Comparison, Logic, Value, comparisons
from report.data.statistics import MISS
from report.missing import complete
from report.text import numbers, words

HOLDS, OF_ITS_OWN, FAILS, ERRATUM = "holds", "holds for what it was said of", *OTHERWISE
UNDECIDED, UNTESTED = "undecided", "not tested"
IN_PART = "holds in part"
"""Some cases hold and others do not, or are undecided or not tested. Tables count claims by these verdicts; `words` of a
finding names the cases of each."""
ORDER = (HOLDS, IN_PART, OF_ITS_OWN, FAILS, ERRATUM, UNDECIDED, UNTESTED)
ANYWHERE = "any"
"""Replaces the machine's name where nothing depends on the machine."""
RATES = ("GFLOP/s", "GB/s", "FLOP/s")
SHARE, BYTES = "share", "bytes"
"""Prefixes of the unit of a fraction, and of the description of a size in bytes."""
MOST_CASES, MOST_VALUES = 6, 3
SAID_OF = "said of: "
PLANTED = ("fault", "launched", "wrong_elements")
"""The calls on planted faults."""
LARGE = 4096
"""From this number of bytes on, multiples of 1024 are written in KiB."""
WARPS = 64
"""Warps of a multiprocessor: occupancies are multiples of 1 / WARPS."""
EXACT = 5
"""Digits of stated, modelled and counted numbers."""
SIGNS = {"<": "<", "<=": "≤", ">": ">", ">=": "≥", "==": "="}
FALSE_SIGNS = {"<": "≥", "<=": ">", ">": "≤", ">=": "<", "==": "≠"}


@dataclass(frozen=True)
class Finding:
    """A claim on a machine. `verdict` is one of ORDER, `words` has it with its cases; texts are as tables print them."""

    entry: Entry
    machine: str
    verdict: str
    words: str
    why: str
    modelled: str = ""
    counted: str = ""
    compiled: str = ""
    measured: str = ""
    missing: tuple[str, ...] = ()
    cases: tuple[dict, ...] = ()
    """Each case with its values and its own verdict, for machines to read."""
    fault: str = ""
    """Why it can never be evaluated, with any measurement."""
    at_home: str = ""
    """The model's value for the GPU at hand, where it differs."""
    kernels: str = ""
    """The kernels that it rests on, each with the tunables of the points that were taken."""
    names: tuple[frozenset[str], ...] = ()
    """The names of the GPU and the CPU of each machine."""


def counts(found: Sequence[Finding]) -> Counter[str]:
    """How many claims there are of each verdict; where several machines were measured, of the first."""
    return Counter({f.entry.id: f.verdict for f in reversed(found)}.values())


def finding(checked: Checked, judged: Mapping[Comparison, float]) -> Finding:
    entry, told = checked.entry, [_of_case(checked, case, judged) for case in checked.cases]
    found = [verdict for verdict, _ in told]
    verdict = _overall(found)
    if verdict == UNTESTED and not checked.applies:
        told = [(v, (_elsewhere(checked, judged), *reasons)) for v, reasons in told]
    said = _in_words(verdict, found, [case.of for case in checked.cases], _what(entry))
    reasons = tuple(dict.fromkeys(r for _, reasons in told for r in reasons)) or _without(checked)
    texts = {kind: _text(entry, [case.results.get(kind, Result()) for case in checked.cases], judged) for kind in KINDS}
    missing = tuple(dict.fromkeys(m for case in checked.cases for r in case.results.values() for m in r.missing))
    home = [case.results.get(AT_HOME, Result()) for case in checked.cases]
    differs = verdict == OF_ITS_OWN and entry.limit is not None and any(r.test and r.test.outcome(judged) is False for r in home)
    return Finding(entry, checked.machine.label, verdict, said, _why(entry, verdict, reasons, texts), **texts, missing=missing,
                   cases=tuple(_as_data(case, verdict, judged) for case, verdict in zip(checked.cases, found)),
                   at_home=_text(entry, home, judged) if differs else "", kernels=_kernels(checked), names=(checked.machine.names,))


def untested(entry: Entry, why: str, machine: str = "") -> Finding:
    return Finding(entry, machine, UNTESTED, UNTESTED, words.sentence(why))


def of_judge(entry: Entry, machine: Machine, told: Judged, judged: Mapping[Comparison, float]) -> Finding:
    """The finding of a claim that a function judges, by the same intervals as all others."""
    found = [{True: HOLDS, False: entry.otherwise, None: UNDECIDED}[outcome] for outcome in told.outcomes(judged)]
    why = " ".join(filter(None, (told.evidence, told.without_interval, words.sentence(entry.note))))
    if not found:
        return Finding(entry, machine.label, UNTESTED, UNTESTED, why, names=(machine.names,))
    points = dict.fromkeys(p.kernel.name for c in told.comparisons() for p in c.of.decisive)
    return Finding(entry, machine.label, _overall(found), _counted(found, told), why, names=(machine.names,), kernels=_listed(list(points), MOST_CASES),
                   cases=tuple({"of": one.of, "n": one.n, "verdict": v} for one, v in zip(told.cases, found)))


def _counted(found: Sequence[str], told: Judged) -> str:
    """'holds for 24 of 32 cases, does not hold here for heat (N = 15 and 31), undecided for 2'."""
    kinds = sorted(set(found), key=ORDER.index)
    mine = {kind: [one for one, v in zip(told.cases, found) if v == kind] for kind in kinds}
    if len(kinds) == 1:
        return kinds[0]
    first = f"{kinds[0]} for {len(mine[kinds[0]])} of {words.counted(len(found), 'case')}"
    return ", ".join([first if kinds[0] == HOLDS else f"{kinds[0]} for {named(mine[kinds[0]])}",
                      *(f"{kind} for {len(mine[kind]) if kind == UNDECIDED else named(mine[kind])}" for kind in kinds[1:])])


def faulty(entry: Entry, what: str) -> Finding:
    return Finding(entry, "", UNTESTED, UNTESTED, words.sentence(f"it cannot be evaluated: {what}"), fault=what)


# One case


def _of_case(checked: Checked, case: Case, judged: Mapping[Comparison, float]) -> tuple[str, tuple[str, ...]]:
    """The verdict of a case, with reasons if it is undecided or not tested. If the claim is about another machine, only
    the model can confirm it for that machine, and no measurement here can refute it."""
    entry, deciding = checked.entry, {kind: case.results[kind] for kind in checked.deciding}
    outcomes = {kind: r.test.outcome(judged) if r.test else None for kind, r in deciding.items()}
    if False in outcomes.values():
        return (entry.otherwise if checked.applies else ERRATUM), ()
    if missing := tuple(m for r in deciding.values() for m in r.missing):
        return UNTESTED, missing
    if not outcomes:
        return UNTESTED, tuple(m for r in case.results.values() for m in r.missing)
    open_ = [kind for kind, found in outcomes.items() if found is None]
    if open_:
        return UNDECIDED, tuple(_doubt(case.results[kind], judged) for kind in open_)
    return HOLDS if checked.applies else OF_ITS_OWN, ()


def _without(checked: Checked) -> tuple[str, ...]:
    """Missing values of deciding kinds, where another kind has decided already."""
    return tuple(dict.fromkeys(m for case in checked.cases for kind in checked.deciding if kind in case.results for m in case.results[kind].missing))


def _elsewhere(checked: Checked, judged: Mapping[Comparison, float]) -> str:
    """The claim is about another machine than the one that was measured here."""
    told = [f"{kind} {text}" for kind in KINDS[1:] if (
        text := _text(checked.entry, [case.results.get(kind, Result()) for case in checked.cases], judged))]
    where = f" ({checked.machine.label})" if checked.machine.names else ""
    return f"{SAID_OF}{checked.entry.said_of}{f'; here{where}: ' + ', '.join(told) if told else ''}"


def _doubt(result: Result, judged: Mapping[Comparison, float]) -> str:
    """How many more samples would decide."""
    open_ = [c for c in comparisons(result.test) if c.outcome(judged) is None]
    clearest = max(open_, key=lambda c: c.more(judged) or MANY)
    more, n = clearest.more(judged), clearest.of.samples
    if clearest.of.interval() is None:
        return f"{words.counted(n, 'sample')} of each {'are' if n > 1 else 'is'} too few: at least {more} more"
    would = (f"about {more} more of each would decide" if more else
             f"runs of this machine differ by up to {numbers.percent(clearest.of.between)}, so both would have to be of one run"
             if clearest.of.between else f"not even {numbers.grouped(MANY)} would decide")
    miss = judged.get(clearest, MISS)
    ends = numbers.interval(clearest.of.interval(miss))
    return (f"the limit lies within the interval of {words.counted(n, 'sample')} ({ends} at {100 * (1 - 2 * miss):.4g}{numbers.NB}%, since all "
            f"comparisons of an experiment are decided together): {would}")


# All cases


def _overall(found: Sequence[str]) -> str:
    """One verdict of all cases. Where some hold it is in part; else one that fails is enough."""
    kinds = set(found)
    if len(kinds) == 1:
        return found[0]
    return IN_PART if kinds & {HOLDS, OF_ITS_OWN} else min(kinds, key=ORDER.index)


def _what(entry: Entry) -> dict[str, str]:
    """What the values of its cases count, as declared by the kernels with these sizes or tunables."""
    used = [(name, what_counts(c.subject, key)) for kind in KINDS for c in entry.calls(kind) for key, name in c.keys if isinstance(name, str)]
    return {name: what for name, what in used if what}


def _in_words(verdict: str, found: Sequence[str], cases: Sequence[dict], what: Mapping[str, str]) -> str:
    """'holds up to n = 512, does not hold here from n = 1024'; a verdict common to all cases is given once."""
    kinds = sorted(set(found), key=ORDER.index)
    if len(kinds) == 1:
        return verdict
    return ", ".join(f"{kind} {_where([c for v, c in zip(found, cases) if v == kind], cases, what)}" for kind in kinds)


def _where(mine: Sequence[dict], every: Sequence[dict], what: Mapping[str, str]) -> str:
    """'up to n = 512', 'from depth = 16', 'for mode cold', 'for 3 of 8 cases'."""
    key = _telling(mine, every)
    if key is None:
        listed = [", ".join(_named(k, [v], what) for k, v in case.items()) for case in mine]
        return f"for {'; '.join(listed)}" if len(listed) <= 3 else f"for {len(mine)} of {len(every)} cases"
    values = list(dict.fromkeys(c[key] for c in every))
    chosen = [v for v in values if any(c[key] == v for c in mine)]
    if all(isinstance(v, (int, float)) for v in values) and len(values) > 2:
        ordered, picked = sorted(values), sorted(chosen)
        if len(picked) > 1 and picked == ordered[:len(picked)]:
            return f"up to {_named(key, picked[-1:], what)}"
        if len(picked) > 1 and picked == ordered[-len(picked):]:
            return f"from {_named(key, picked[:1], what)}"
    if len(chosen) > MOST_CASES:
        return f"for {len(chosen)} of {len(values)} cases ({_named(key, chosen, what)})"
    return f"for {_named(key, chosen, what)}"


def _named(key: str, values: Sequence, what: Mapping[str, str]) -> str:
    """'n = 64 and 128', '16 and 32 elements along a tile', 'mode cold'."""
    unit = what.get(key, "")
    texts = [numbers.binary(v) if unit.startswith(BYTES) else _plain(v) for v in values]
    listed = _listed(texts, MOST_CASES)
    if unit:
        return f"{listed}{unit.removeprefix(BYTES) if unit.startswith(BYTES) else f' {unit}'}"
    return f"{key} {listed}" if isinstance(values[0], str) else f"{key} = {listed}"


def _listed(texts: Sequence[str], most: int) -> str:
    """'a, b and c'; 'a, b, …' where there are more than `most`: a number of further ones would read as a value."""
    return words.joined(texts) if len(texts) <= most else f"{', '.join(texts[:most - 1])}, …"


def _telling(mine: Sequence[dict], every: Sequence[dict]) -> str | None:
    """A key whose values identify the cases without the other keys."""
    others = [c for c in every if c not in mine]
    for key in every[0]:
        if not {c[key] for c in mine} & {c[key] for c in others}:
            return key
    return None


def _plain(value: float | str) -> str:
    return value.replace("_", " ") if isinstance(value, str) else f"{value:g}" if abs(value) < 1e4 else numbers.grouped(value)


# Texts


def figure(value: float, unit: str, digits: int = 3) -> str:
    """A number of a claim in its unit: with `digits` digits if these are exact, else with at most four."""
    if not math.isfinite(value):
        return "infinite" if value in (math.inf, -math.inf) else "no number"
    if unit == "s" or (unit in RATES and digits <= 3):
        return numbers.quantity(value, unit)
    if unit == "B" and value >= LARGE and value % 1024 == 0:
        return re.sub(rf"\.0+(?={numbers.NB})", "", numbers.binary(value))
    if unit.startswith(SHARE):
        text = numbers.occupancy(value) if float(WARPS * value).is_integer() else numbers.percent(value)
        return f"{text}{unit.removeprefix(SHARE)}"
    if value == round(value):
        text = numbers.grouped(value)
    else:
        text = f"{value:.{digits}g}" if math.isclose(float(f"{value:.{digits}g}"), value) else numbers.significant(value, min(digits, 4))
    return f"{text}×" if unit == "times" else f"{text}{numbers.NB}{unit}".rstrip()


def stated(entry: Entry) -> str:
    """'≥ 2×': the number that the document states, with its rule; nothing of our own choosing."""
    if entry.stated is None:
        return ""
    return f"{_sign(entry) if entry.threshold is None else ''}{figure(entry.stated, entry.unit, EXACT)}"


def threshold(entry: Entry) -> str:
    """'≥ 1.2×', 'within 10 %': the limit that we chose, and by how much of itself a number may be missed."""
    own = "" if entry.threshold is None else f"{_sign(entry)}{figure(entry.threshold, entry.unit, EXACT)}"
    within = f"within {100 * entry.tolerance:g}{numbers.NB}%" if entry.tolerance else ""
    return " ".join(part for part in (own, within) if part)


def limit(entry: Entry) -> str:
    """'≥ 2× within 10 %': the limit that decides, the document's or our own."""
    return " ".join(part for part in (stated(entry) if entry.threshold is None else "", threshold(entry)) if part)


def _sign(entry: Entry) -> str:
    return {"at_least": "≥\u202f", "at_most": "≤\u202f"}.get(entry.rule, "")


def bare(entry: Entry, text: str) -> str:
    """The text without the unit, which the stated number has; signs such as × stay."""
    unit = entry.unit.removeprefix(SHARE) if entry.unit.startswith(SHARE) else f"{numbers.NB}{entry.unit}"
    return text if entry.limit is None or entry.unit in ("", SHARE, "times") else text.replace(unit, "")


def _text(entry: Entry, results: Sequence[Result], judged: Mapping[Comparison, float]) -> str:
    """The value, the range over all cases, or the number of cases in which it is true."""
    values = [r.value for r in results if r.value is not None]
    plain = [v for v in values if isinstance(v, Value)]
    if plain:
        digits = 3 if any(v.is_measured for v in plain) else EXACT
        ends = list(dict.fromkeys(figure(v, entry.unit, digits) for v in (min(p.number for p in plain), max(p.number for p in plain))))
        return " to ".join(ends)
    tests = [v for v in values if not isinstance(v, Value)]
    if len(tests) == 1:
        return _sides(tests[0], judged)
    return _of_cases([r.test.outcome(judged) for r in results if r.test])


def _of_cases(outcomes: Sequence[bool | None]) -> str:
    """'yes' or 'no' where all cases agree, else 'yes in 3 of 5 cases'."""
    true = outcomes.count(True)
    if not outcomes or set(outcomes) == {None}:
        return ""
    return {len(outcomes): "yes"}.get(true) or ("no" if set(outcomes) == {False} else f"yes in {true} of {len(outcomes)} cases")


def _sides(value: Comparison | Logic, judged: Mapping[Comparison, float]) -> str:
    """'31.2 > 4.1' of one comparison as it came out, else 'yes' or 'no'."""
    found = comparisons(value)
    if isinstance(value, Logic) or found[0].is_truth:
        return {True: "yes", False: "no", None: ""}[value.outcome(judged)]
    sign = {True: SIGNS[found[0].sign], False: FALSE_SIGNS[found[0].sign], None: "against"}[value.outcome(judged)]
    return f"{_side(found[0].left)} {sign} {_side(found[0].right)}"


def _side(value: Value) -> str:
    n = value.number
    if value.unit:
        return numbers.quantity(n, value.unit)
    return figure(n, "") if n == round(n) or 1e-3 <= abs(n) < 1e6 else f"{n:.2g}"


def _why(entry: Entry, verdict: str, reasons: Sequence[str], texts: dict) -> str:
    """The missing or undecided values, then the note, else how the values compare."""
    first = words.sentence(f"{''.join(reasons[:1])}{others(reasons)}")
    if verdict == UNDECIDED or (verdict == UNTESTED and not first.startswith(SAID_OF.capitalize())):
        return first
    here = f"here {entry.here}" if entry.here and texts["measured"] else ""
    return " ".join(filter(None, (first, words.sentence(entry.note), words.sentence(here)))) or _agreement(entry, verdict, texts)


def _agreement(entry: Entry, verdict: str, texts: dict) -> str:
    """For a claim without a note: the kinds that judged it, where the values do not show that, else by how much it
    fails."""
    by = [kind for kind in KINDS if texts[kind]]
    if verdict == HOLDS:
        return words.sentence(words.joined([text for kind in by if (text := _judge(entry, kind))]))
    if verdict not in (FAILS, ERRATUM) or not by or entry.limit is None:
        return ""
    return words.sentence(f"{words.joined([f'{kind} {bare(entry, texts[kind])}' for kind in by])}, not {limit(entry)}")


def _judge(entry: Entry, kind: str) -> str:
    if kind == "compiled" and any(call.name == "compiles" for call in entry.calls(kind)):
        return "the compiler says so"
    finds_faults = kind == "counted" and any(call.name in ("fault", "wrong_elements") for call in entry.calls(kind))
    return "the emulator reports it" if finds_faults else ""


def _as_data(case: Case, verdict: str, judged: Mapping[Comparison, float]) -> dict:
    made: dict[str, object] = {**case.of, "verdict": verdict}
    for kind, result in case.results.items():
        if isinstance(result.value, Value):
            made[kind.replace(" ", "_")] = result.value.number
            if result.value.is_measured and result.value.shown:
                made[f"{kind}_low"], made[f"{kind}_high"] = result.value.shown
        elif result.value is not None:
            made[kind.replace(" ", "_")] = _sides(result.value, judged)
    if points := dict.fromkeys(point.name for result in case.results.values() for _, point in result.used):
        made["points"] = list(points)
    made["deciding_intervals"] = [c.of.interval(judged.get(c, MISS)) for r in case.results.values() for c in comparisons(r.test) if c.of.is_measured]
    tests = [c for r in case.results.values() for c in comparisons(r.test) if verdict == UNDECIDED and c.outcome(judged) is None]
    if tests:
        more = complete(c.more(judged) for c in tests)
        made["more_samples"] = max(more) if more else None
    return made


def _kernels(checked: Checked) -> str:
    """'transpose/tile, transpose/reads_rows (block 32x8)': with the tunables that its cases do not name."""
    taken: dict[str, dict[str, dict[str, None]]] = {}
    for case in checked.cases:
        for kind in KINDS:
            for call, point in case.results.get(kind, Result()).used:
                cases = {key for key, value in call.keys if isinstance(value, str) and value in case.of}
                tunables = taken.setdefault(point.kernel.name, {})
                for key, value in point.tunables.items():
                    if key not in cases:
                        tunables.setdefault(key, {})[_plain(value)] = None
    texts = {name: ", ".join(f"{key} {_listed(list(values), MOST_VALUES)}" for key, values in tunables.items())
             for name, tunables in taken.items()}
    planted = dict.fromkeys(call.subject for kind in KINDS for call in checked.entry.calls(kind) if call.name in PLANTED and not call.subject.endswith("_right"))
    return "; ".join([*(f"{name}{f' ({text})' if text else ''}" for name, text in texts.items()), *(f"planted fault {name}" for name in planted)])
