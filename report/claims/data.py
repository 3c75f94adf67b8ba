"""The data that claims are checked with: the measured machines, their points, counts, counters and contexts."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from report.claims.expression import Call, nearest
from report.claims.said_of import version
from report.claims.values import Fault, Value, exact, of_rate, of_time
from report.data import roofs
from report.data.companions import CompilerFile, CounterFile, HazardFile, Verdict, WrongResults
from report.data.records import COUNT, HOT, SQUARE, Point, Run
from report.data.view import by_time, whole_machine

SHORT = {"flops": "flops_executed", "bytes_loaded": "bytes_executed_loaded", "bytes_stored": "bytes_executed_stored"}
"""Shorter names of fields of counted points."""
EMULATOR, SKIPPED = "emulator", "skipped"
CPU = ("cpu/", "cpu_")
"""Prefixes of the CPU's kernels and of its keys in the context."""
WARM_UP = "warm_up_seconds"
"""The counter of a point whose kernel ran for so long before its first sample."""
LAUNCHED_WITH = ("blocks", "threads_per_block", "shared_bytes_per_block")
"""Launch parameters of a kernel, which are fields of its timed points."""
ERROR, IS_RIGHT = "max_error_ratio", "is_right"
"""The largest error over the allowed one; whether it is no larger."""


class Missing(Exception):
    """Data that do not exist; the message names them."""


@dataclass(frozen=True)
class Machine:
    """A GPU, a CPU, or a GPU with a CPU, with their runs in order of preference. With neither: runs of any machine."""

    label: str
    gpu: str = ""
    runs: tuple[Run, ...] = ()
    """The runs of the GPU, if there is one, else of the CPU."""
    cpu: str = ""
    cpu_runs: tuple[Run, ...] = ()

    @property
    def names(self) -> frozenset[str]:
        return frozenset(filter(None, (self.gpu, self.cpu)))

    def runs_of(self, subject: str) -> tuple[Run, ...]:
        """The runs that may have a kernel or a key of the context."""
        return self.cpu_runs if subject.startswith(CPU) and self.cpu else self.runs

    def hosts(self, experiment: str) -> list[Machine]:
        """The machine once per host, which the board of its GPU identifies, so that compared values are from one host.
        Hosts with a run of the experiment come first. A GPU with the CPU of another host is not split."""
        every = sorted((*self.runs, *self.cpu_runs), key=lambda run: run.experiment != experiment)
        names = dict.fromkeys(map(roofs.host, every))
        split = [replace(self, runs=tuple(r for r in self.runs if roofs.host(r) == name),
                         cpu_runs=tuple(r for r in self.cpu_runs if roofs.host(r) == name)) for name in names]
        if self.gpu and self.cpu and not _is_of(self, self.cpu_runs[0]):
            return [self]
        return split or [self]


@dataclass
class Data:
    """All runs, those to prefer first, with their points by kernel."""

    runs: tuple[Run, ...] = ()
    counters: tuple[CounterFile, ...] = ()
    hazards: tuple[HazardFile, ...] = ()
    compilers: tuple[CompilerFile, ...] = ()
    wrong_results: tuple[WrongResults, ...] = ()
    _by_kernel: dict[int, dict[str, list[Point]]] = field(default_factory=dict)

    def machines(self, sides: set[str]) -> list[Machine]:
        """The GPUs or the CPUs that timed anything, each once for all its runs and boards; or each GPU with the CPU of
        its host, and with other CPUs only where that was not timed."""
        if sides == {"gpu"}:
            timed = dict.fromkeys(run.machine("gpu").name for run in self.runs if run.times("gpu"))
            return [Machine(_short(name), name, tuple(r for r in self.runs if r.machine("gpu").name == name)) for name in timed]
        if sides == {"cpu"}:
            made: dict[str, list[Run]] = defaultdict(list)
            for run in self.runs:
                if run.times("cpu"):
                    made[run.machine("cpu").label].append(run)
            return [Machine(_short(name), "", tuple(runs), name, tuple(runs)) for name, runs in made.items()]
        pairs = [[_together(gpu, cpu) for cpu in self.machines({"cpu"})] for gpu in self.machines({"gpu"})] if sides else []
        return [pair for of_one in pairs for pair in [p for p in of_one if _is_of(p, p.cpu_runs[0])] or of_one]

    @property
    def without_gpu(self) -> str:
        """'no GPU was there (why)' where no run had one."""
        whys = [run.context.get("gpu_unavailable") for run in self.runs]
        return f"no GPU was there ({whys[0]})" if whys and all(whys) else ""

    def cuda(self) -> tuple[int, ...] | None:
        """The version of the newest CUDA compiler that was asked."""
        found = [version(name.removeprefix("nvcc")) for file in self.compilers for name in file.compilers if name.startswith("nvcc")]
        return max(found, default=None)

    def points(self, run: Run, kernel: str) -> list[Point]:
        if id(run) not in self._by_kernel:
            table = self._by_kernel[id(run)] = defaultdict(list)
            for point in run.points:
                table[point.kernel.name].append(point)
        return self._by_kernel[id(run)].get(kernel, [])

    def kernels(self) -> set[str]:
        return {name for run in self.runs for name in run.kernels}


def _together(gpu: Machine, cpu: Machine) -> Machine:
    """The CPU's runs on the GPU's own host come first."""
    made = Machine(f"{gpu.label} with {cpu.label}", gpu.gpu, gpu.runs, cpu.cpu, cpu.cpu_runs)
    return replace(made, cpu_runs=tuple(sorted(cpu.cpu_runs, key=lambda run: not _is_of(gpu, run))))


def _is_of(machine: Machine, run: Run) -> bool:
    return run.machine("gpu").name == machine.gpu


def _short(name: str) -> str:
    """'H200' of 'NVIDIA H200', 'H100' of 'NVIDIA H100 80GB HBM3'."""
    return re.sub(r"^NVIDIA (?:GeForce |Tesla )?| \d+GB HBM\w+$", "", name)


def is_the_same_anywhere(call: Call) -> bool:
    """Whether the value is equal on all machines: the emulator's counts and launch parameters are."""
    return call.name == "count" or (call.name == "run" and call.field in LAUNCHED_WITH)


def runs_for(call: Call, machine: Machine, experiment: str, data: Data) -> list[Run]:
    """Runs of the claim's own experiment first. A value that is equal on all machines may also come from other machines' runs."""
    own = machine.runs_of(call.subject)
    known = {id(run) for run in own}
    runs = [*own, *(run for run in data.runs if id(run) not in known)] if is_the_same_anywhere(call) else own
    return sorted(runs, key=lambda run: run.experiment != experiment)


def value(call: Call, machine: Machine, experiment: str, data: Data) -> tuple[Value, Point | None]:
    """The value of a call on a kernel, fault, snippet or context, and the point that it comes from. Missing where it was not
    recorded; Fault where it cannot exist."""
    if call.name == "context":
        return exact(_context(call, machine)), None
    if call.name == "fault":
        return exact(_fault(call, data)), None
    if call.name == "wrong_elements":
        return exact(_wrong_elements(call, data)), None
    if call.name == "compiles":
        return exact(_compiles(call, data)), None
    if call.name == "launched":
        return exact(_launched(call, machine, data)), None
    point = _point(call, machine, experiment, data)
    if call.name == "rate":
        return of_rate(point), point
    if call.name == "time":
        return of_time(point), point
    return exact(_field(call, point, machine, data)), point


def matching(call: Call, run: Run, data: Data, leave_out: Iterable[str] = ()) -> list[Point]:
    """The points of a run that a call selects. Defaults: hot, the usual data and layout, all threads, and after a warm-up
    where some points had one."""
    keys = {k: v for k, v in call.keys if k not in leave_out}
    found = [p for p in data.points(run, call.subject) if _is_asked(call, p) and not _is_oblong(call, p) and all(
        of_key(p, k) == v for k, v in keys.items())]
    named = {k for k, _ in call.keys}
    if "mode" not in named and call.name != "count":
        found = _preferred(found, lambda p: p.mode == HOT)
    if "data" not in named:
        found = _preferred(found, lambda p: "data:" not in p.name)
    found = _preferred(found, lambda p: not any(isinstance(v, str) for k, v in p.sizes.items() if k not in named))
    if call.name in ("rate", "time"):
        found = _preferred(found, lambda p: WARM_UP in p.counters)
    return whole_machine(found) if call.subject.startswith("cpu/") and "threads" not in named else found


def _is_asked(call: Call, point: Point) -> bool:
    if call.name in ("count", "run"):
        return (point.mode == COUNT) == (call.name == "count") and not point.failed and (
            not point.skipped or call.field == SKIPPED)
    return point.is_timed or (call.name == "counters" and point.is_counted)


def _preferred(points: list[Point], is_preferred) -> list[Point]:
    return [p for p in points if is_preferred(p)] or points


def of_key(point: Point, key: str) -> float | str | None:
    """A size or tunable of a point, its mode, data or threads."""
    if key in point.tunables:
        return point.tunables[key]
    if key in point.sizes:
        return point.sizes[key]
    others: dict[str, float | str] = {"mode": point.mode, "data": point.data, "threads": point.threads}
    return others.get(key)


def _is_oblong(call: Call, point: Point) -> bool:
    """Whether the point's matrix is not square although the call gives only n."""
    sides = SQUARE & point.sizes.keys()
    return SQUARE & {k for k, _ in call.keys} == {"n"} and len({point.sizes[k] for k in sides}) > 1


def _point(call: Call, machine: Machine, experiment: str, data: Data) -> Point:
    """The fastest of the points that fit, of the first run that has any; a roof is the best of all runs of the same board
    or CPU, as everywhere in the report."""
    runs = runs_for(call, machine, experiment, data)
    for run in runs:
        if found := matching(call, run, data):
            if call.name == "rate" and found[0].kernel.is_ceiling:
                side = found[0].kernel.side
                alike = [other for other in runs if roofs.identity(other, side) == roofs.identity(run, side)]
                found = [p for other in alike for p in matching(call, other, data) if not p.oversubscribed]
                return _with_other_runs(_best(call, found), found)
            return _best(call, found)
    raise Missing(f"{call}")


def _with_other_runs(roof: Point, points: list[Point]) -> Point:
    """The roof, with its relative difference from the same code in each other run."""
    median = roof.timing.median
    return replace(roof, elsewhere={p.run: abs(p.timing.median / median - 1) for p in points if p.name == roof.name and p.is_timed})


def _best(call: Call, points: list[Point]) -> Point:
    timed = [p for p in points if p.is_timed]
    if call.name in ("time", "run") and len({p.size_key for p in timed}) > 1:
        free = sorted({k for p in timed for k in p.sizes if len({q.sizes.get(k) for q in timed}) > 1})
        raise Fault(f"{call.name}({call}) does not say which {free[0]}")
    if call.name == "rate":
        return max(timed, key=lambda p: (p.value or 0.0, p.name))
    return min(timed, key=by_time) if timed else min(points, key=lambda p: p.name)


def _field(call: Call, point: Point, machine: Machine, data: Data) -> float:
    if call.name == "counters":
        known = _counters(point, machine, data)
    else:
        known = {SKIPPED: float(point.skipped is not None), "threads": float(point.threads), **point.counters, **point.judged,
                 **{k: v for k, v in (point.sizes | point.tunables).items() if not isinstance(v, str)}}
        known |= {IS_RIGHT: float(known[ERROR] <= 1)} if ERROR in known else {}
    name = SHORT.get(call.field, call.field) if call.name == "count" else call.field
    if name not in known:
        raise Missing(f"field {call.field} of {call}")
    return float(known[name])


def _counters(point: Point, machine: Machine, data: Data) -> dict[str, float]:
    """Counters of one call on this GPU."""
    mine = [c for c in data.counters if c.machine.lower() == machine.gpu.lower()]
    for file in sorted(mine, key=lambda c: (c.date, str(c.path)), reverse=True):
        found = file.points.get(point.name) or file.points.get(f"count/{point.name}")
        if found:
            return found
    raise Missing(f"hardware counters of {point.name}")


def _context(call: Call, machine: Machine) -> float:
    for run in machine.runs_of(call.subject):
        found = run.context.get(call.subject)
        if isinstance(found, (int, float)):
            return float(found)
    raise Missing(f"{call.subject} in the files’ context")


def _fault(call: Call, data: Data) -> float:
    """1 if the emulator finds the planted fault."""
    return float(_emulated(call, data).found)


def _wrong_elements(call: Call, data: Data) -> float:
    """The number of elements in which a planted fault's result differs from its right twin's, in the emulator."""
    if (wrong := _emulated(call, data).wrong_elements) is None:
        raise Missing(f"number of wrong elements of the planted fault {call.subject}")
    return float(wrong)


def _emulated(call: Call, data: Data) -> Verdict:
    for file in sorted(data.hazards, key=lambda f: (f.date, str(f.path)), reverse=True):
        fault = file.kernels.get(call.subject)
        if fault and EMULATOR in fault.verdicts and not fault.verdicts[EMULATOR].failed:
            return fault.verdicts[EMULATOR]
    known = {name for file in data.hazards for name in file.kernels}
    raise Missing(f"planted fault {call.subject} among the emulator’s{nearest(call.subject, known)}")


def _launched(call: Call, machine: Machine, data: Data) -> float:
    """A field of a planted fault's launches on this GPU: in how many `launches` the result was `wrong`, whether it
    `hangs`, whether a later call returned an `error`."""
    mine = [file for file in data.wrong_results if file.machine.lower() == machine.gpu.lower()]
    for file in sorted(mine, key=lambda f: (f.date, str(f.path)), reverse=True):
        if outcome := file.outcomes.get(call.subject):
            known = {"launches": file.launches, "wrong": outcome.wrong, "hangs": outcome.hangs, "error": bool(outcome.error)}
            if call.field not in known:
                raise Fault(f"launched() has no field '{call.field}'{nearest(call.field, known)}")
            if (found := known[call.field]) is None:
                raise Missing(f"number of wrong results of {call.subject}, which {outcome.failed}")
            return float(found)
    raise Missing(f"launches of the planted fault {call.subject}")


def _compiles(call: Call, data: Data) -> float:
    """1 if the snippet was compiled."""
    for file in sorted(data.compilers, key=lambda f: (f.date, str(f.path)), reverse=True):
        if call.subject in file.compiles:
            return float(file.compiles[call.subject])
    raise Missing(f"snippet {call.subject} among those compiled")
