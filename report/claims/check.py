"""One claim on one machine: the value of each of its expressions in each case, and the comparisons that decide."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from itertools import product
from math import prod

from report.claims import data as data_of
from report.claims import features, said_of
from report.claims.data import CPU, WARM_UP, Data, Machine, Missing
from report.claims.entries import KINDS, MOST_CASES, OPEN, Entry
from report.claims.expression import MODEL_CALLS, Call
from report.claims.model import HERE, Model, Unknown
from report.claims.values import (
    Comparison,
    Fault,
    Logic,
    Value,
    as_logic,
    compare,
    comparisons,
    evaluate,
    exact,
    values,
    within,
)
from report.data.records import Point

AT_HOME = "at home"
"""The model, evaluated for the machine's own GPU instead of the claim's device."""
OF_A_MACHINE = ("compiled", "measured")
"""The kinds whose values may come from a machine."""
MACHINE_LESS = (9, 0)
"""The compute capability that the emulator counts as and experiments/snippets/compile.py compiles for."""
PROFILED, RECORDED_AGAIN = "bash experiments/profile.sh", "a new run has it"
COUNTERS, FIELD = "hardware counters", "field"
TOLD_BY = {"fault": "bash experiments/record.sh asks the emulator", "launched": "bash experiments/record.sh launches it on a GPU",
           "wrong_elements": "bash experiments/record.sh asks the emulator",
           "compiles": "python3 experiments/snippets/compile.py asks the compilers"}


@dataclass(frozen=True)
class Result:
    """An expression's value in one case and its comparison with the stated number; or why they are missing."""

    value: Value | Comparison | Logic | None = None
    test: Comparison | Logic | None = None
    missing: tuple[str, ...] = ()
    used: tuple[tuple[Call, Point], ...] = ()
    """The points that its calls took."""


@dataclass(frozen=True)
class Case:
    """The values of the claim's cases, and the results by kind (and AT_HOME)."""

    of: dict[str, float | str]
    results: dict[str, Result] = field(default_factory=dict)


@dataclass(frozen=True)
class Checked:
    """A claim on a machine, before the comparisons are judged together."""

    entry: Entry
    machine: Machine
    cases: tuple[Case, ...]
    applies: bool = True
    """Whether the claim was made about the machine that was measured here."""

    def comparisons(self) -> list[Comparison]:
        """The comparisons that decide."""
        return [c for case in self.cases for kind in self.deciding for c in comparisons(case.results[kind].test)]

    @property
    def deciding(self) -> tuple[str, ...]:
        """Only the model decides claims about other machines than the measured one."""
        return tuple(kind for kind in self.entry.deciding if self.applies or kind == "modelled")


def sides(entry: Entry) -> set[str]:
    """The sides whose measurements decide: 'gpu', 'cpu', both, or neither."""
    subjects = [c.subject for kind in OF_A_MACHINE for c in entry.calls(kind) if not data_of.is_the_same_anywhere(c)]
    models = [c for kind in KINDS for c in entry.calls(kind) if c.name in MODEL_CALLS]
    is_gpu = (any(s.startswith(("gpu/", "gpu_")) for s in subjects) or any(c.name == "launched" for c in entry.calls("measured"))
              or any(c.subject == HERE for c in models) or (entry.said_of and models))
    return {side for side, is_so in (("gpu", is_gpu), ("cpu", any(s.startswith(CPU) for s in subjects))) if is_so}


def check(entry: Entry, machine: Machine, data: Data, model: Model) -> Checked:
    """Evaluates every expression in every case. Fault for an expression that is invalid with any data."""
    made = []
    for case in _cases(entry, machine, data):
        results = {kind: _of_one_host(entry, kind, case, machine, data, model) for kind in entry.trees}
        if "modelled" in results and entry.said_of and machine.gpu and _asks_a_device(entry):
            results[AT_HOME] = _result(entry, "modelled", case, machine, data, model, machine.gpu)
        made.append(Case(case, results))
    return Checked(entry, machine, tuple(made), not entry.said_of or said_of.applies(entry.said_of, subject(machine, data, model)))


def subject(machine: Machine, data: Data, model: Model) -> said_of.Subject:
    """The properties of a machine that are compared with the subject of a claim. Without a machine they
    describe the emulator and the compilers, which count and compile for MACHINE_LESS."""
    contexts = [r.context for r in machine.runs]
    cuda = max((said_of.version(str(c["gpu_cuda_runtime"])) for c in contexts if c.get("gpu_cuda_runtime")), default=None)
    if machine.gpu:
        told = next((c for c in contexts if isinstance(c.get("gpu_compute_capability_major"), int)), {})
        capability = (told["gpu_compute_capability_major"], int(told.get("gpu_compute_capability_minor") or 0)) if told else None
        return said_of.Subject(model.names(machine.gpu), capability, cuda)
    if machine.cpu:
        return said_of.Subject(cpu=machine.cpu)
    if machine.label:
        return said_of.Subject(capability=MACHINE_LESS, cuda=data.cuda())
    return said_of.Subject()


def _asks_a_device(entry: Entry) -> bool:
    """Whether the expression names exactly one device, so that another one can replace it."""
    return len({c.subject for c in entry.calls("modelled") if c.name in MODEL_CALLS}) == 1


def _of_one_host(entry: Entry, kind: str, case: dict, machine: Machine, data: Data, model: Model) -> Result:
    """The result of the first host of the machine that has measured everything, else of the host that lacks the least."""
    every = (_result(entry, kind, case, one, data, model, "") for one in machine.hosts(entry.experiment))
    tried: list[Result] = []
    for result in every:
        tried.append(result)
        if not result.missing:
            break
    return min(tried, key=lambda result: len(result.missing))


def _result(entry: Entry, kind: str, case: dict, machine: Machine, data: Data, model: Model, gpu: str) -> Result:
    found, missing, used = {}, [], []
    for call in entry.calls(kind):
        asked = _in_case(call, case)
        try:
            if call.name == "supports":
                found[call] = exact(float(features.value(call, model)))
            elif call.name in MODEL_CALLS:
                found[call] = exact(_modelled(asked, machine, model, gpu))
            else:
                found[call], point = data_of.value(asked, machine, entry.experiment, data)
                used += [(call, point)] if point else []
        except Fault as error:
            raise Fault(f"{kind}, column {call.column}: {error}") from None
        except Unknown as error:
            missing.append(str(error))
        except Missing as error:
            missing.append(_remedy(asked, str(error), entry, machine, data))
    if missing:
        return Result(missing=tuple(dict.fromkeys(missing)))
    try:
        value = evaluate(entry.trees[kind], found, case)
        if unlike := _unlike(value):
            return Result(missing=(unlike,), used=tuple(used))
        test = _test(entry, value)
    except Fault as error:
        raise Fault(f"{kind}: {error}") from None
    left = {id(p) for v in values(value) for p in v.points} - {id(p) for v in values(value) for p in v.decisive}
    return Result(test if entry.rule == "true" else value, test, used=tuple(one for one in used if id(one[1]) not in left))


def _unlike(value: object) -> str:
    """Why a comparison is not made: only some of its points were sampled after a warm-up."""
    points = [p for v in values(value) for p in v.decisive]
    warm, cold = ([p.name for p in points if WARM_UP in p.counters], [p.name for p in points if WARM_UP not in p.counters])
    return f"no points that were sampled alike: {warm[0]} after a warm-up, {cold[0]} without one" if warm and cold else ""


def _modelled(call: Call, machine: Machine, model: Model, gpu: str) -> float:
    if call.subject == HERE and not machine.gpu:
        raise Unknown("no GPU was measured")
    return model.value(call, gpu or (machine.gpu if call.subject == HERE else None))


def _in_case(call: Call, case: dict) -> Call:
    """The call, with the names of the case replaced by their values."""
    keys = tuple((k, case.get(v, v) if isinstance(v, str) else v) for k, v in call.keys)
    return replace(call, subject=str(case.get(call.subject, call.subject)), keys=keys)


def _remedy(call: Call, what: str, entry: Entry, machine: Machine, data: Data) -> str:
    """What is missing, and the command that measures it, or why it cannot be measured. Sizes without a fixed value are left out."""
    what = re.sub(rf", \w+=({'|'.join(OPEN)})\b", "", what)
    if data.without_gpu and _is_of_a_gpu(call):
        return data.without_gpu
    if call.name == "counters":
        of_point = "" if what.startswith((COUNTERS, FIELD)) else f"{COUNTERS} of "
        return f"no {of_point}{what}: {PROFILED} reads them"
    if call.name == "context":
        return f"no {what}: {RECORDED_AGAIN}"
    if call.name in TOLD_BY:
        return f"no {what}: {TOLD_BY[call.name]}"
    runs = [r for r in machine.runs_of(call.subject) if r.experiment == entry.experiment]
    lack = what if what.startswith(FIELD) else f"point of {what}"
    if not runs:
        return f"no {lack}: rung run {entry.experiment} --full measures it"
    if all(r.context.get("study") == "brief" for r in runs):
        return f"no {lack} in the brief study: rung run {entry.experiment} --full measures it"
    return f"no {lack} in the recorded run of {entry.experiment}: rung run {entry.experiment} --full measures it again"


def _is_of_a_gpu(call: Call) -> bool:
    """Whether only a run on a GPU has the value."""
    return call.name in ("counters", "launched") or (call.name != "count" and call.subject.startswith(("gpu/", "gpu_")))


def _test(entry: Entry, value: Value | Comparison | Logic) -> Comparison | Logic:
    """The rule, applied."""
    if entry.rule == "true":
        return as_logic(value)
    if not isinstance(value, Value):
        raise Fault(f"the rule '{entry.rule}' needs a number, not a comparison")
    low, high = entry.accepted
    if low is not None and high is not None:
        return within(value, low, high)
    if low is not None:
        return compare(value, ">=", exact(low))
    assert high is not None  # a rule but 'true' has a limit
    return compare(value, "<=", exact(high))


# Cases


def _cases(entry: Entry, machine: Machine, data: Data) -> list[dict]:
    if not isinstance(entry.cases, dict):
        return list(entry.cases or [{}])
    lists = {name: values if isinstance(values, list) else _there(entry, name, machine, data, values)
             for name, values in entry.cases.items()}
    if (number := prod(map(len, lists.values()))) > MOST_CASES:
        raise Fault(f"cases: {number} were measured; at most {MOST_CASES}")
    return [dict(zip(lists, combination)) for combination in product(*lists.values())]


def _there(entry: Entry, name: str, machine: Machine, data: Data, which: str) -> list:
    """All values, or the largest, for which every call that uses the case has a point. Measured calls are tried first."""
    for kind in reversed(KINDS):
        using = [c for c in entry.calls(kind) if any(v == name for _, v in c.keys)]
        if using:
            common = set.intersection(*(_values(c, name, entry, machine, data) for c in using))
            found = sorted(common, key=lambda v: (isinstance(v, str), v))
            return found[-1:] if which == "largest" and found else found or [which]
    return [which]


def _values(call: Call, name: str, entry: Entry, machine: Machine, data: Data) -> set:
    """The values of the key, for one call, that takes the case's value; for several such keys the values that they
    share."""
    keys = [k for k, v in call.keys if v == name]
    open_ = [k for k, v in call.keys if isinstance(v, str) and v in (entry.cases or {})]
    for run in data_of.runs_for(call, machine, entry.experiment, data):
        points = data_of.matching(call, run, data, open_)
        each = [{data_of.of_key(p, key) for key in keys} for p in points]
        if found := {value for values in each if len(values) == 1 for value in values} - {None}:
            return found
    return set()
