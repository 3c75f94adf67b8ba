"""The best code of each side at each size, on one host: the basis of every comparison of a GPU with a CPU.

A kind of host is a model of CPU with its number of cores and the model of GPU in it. If several hosts of that kind were
measured, both codes of a comparison are from one of them, identified by the board of its GPU: at each size a host on which
the ladders of both sides were measured, so that all sections agree; among several, or where there is none, the host whose two
codes are nearest to the best ones of all hosts. Kernels whose record allows a larger error than the usual algorithm's
do not count. The best is taken over all experiments on that host. If several experiments measured a kernel, the one whose
ladder it is on counts, so that its value is the same in every section; the fastest of the runs would favour the side that
was measured more often.

The size from which on the GPU is faster is one of the common sizes: nothing between two sizes is guessed. A kernel that was
left out at one size, but measured at a smaller and at a larger one, counts there with its time on the line between these,
so that the experiments' choice of kernels at a size does not decide where the GPU begins to win.

A run times each copy once, as the median of three. So a copy's interval is the difference between runs of the machine
that copied the same operands, taken from copies of similar size.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import exp, log
from statistics import median

from report.data.records import SQUARE, Kernel, Point, Problem
from report.data.statistics import BETWEEN_RUNS, between, between_runs, widened
from report.data.view import Part, View

Rest = tuple[tuple[str, object], ...]
Copies = dict[tuple[str, str, str, str], tuple[float, dict[str, float]]]
"""For the operands on each host: their bytes, and by run the seconds of their copies there and back."""
Time = tuple[float, float, float]
"""Seconds: the median, and the ends of its interval."""
NO_COPIES: Time = (0.0, 0.0, 0.0)
NEAREST = 12
"""Copies of operands of similar size that together estimate how much a copy's time differs from run to run."""
FASTER = "Faster: the whole interval of the speed-up is above 1 from there on."
"""A sentence of captions with a size from which on the GPU is faster."""
ALWAYS, NEVER, FROM = "at every size measured", "at no size measured", "from"


@dataclass(frozen=True)
class Measured:
    """A point with the part of the run that it is from."""

    part: Part
    point: Point
    on_ladder: bool = False
    """Whether its experiment's ladder has its kernel's family and type."""

    @property
    def seconds(self) -> float:
        return self.point.timing.median

    @property
    def board(self) -> str:
        """The first letters of the UUID of the GPU in its host, by which a label names it."""
        return board(self.part)

    @property
    def ends(self) -> tuple[float, float]:
        """The 95 % interval of its median time within the run; below six samples the shortest and the longest time."""
        return self.point.timing.interval or (min(self.point.times), max(self.point.times))


BySize = Mapping[float, list[Measured]]


@dataclass(frozen=True)
class Gain:
    """How many times as fast the GPU is: the quotient of the median times, and its conservative interval."""

    value: float
    low: float
    high: float

    @property
    def is_faster(self) -> bool:
        return self.low > 1

    @property
    def is_slower(self) -> bool:
        return self.high < 1

    @property
    def interval(self) -> tuple[float, float]:
        return self.low, self.high


@dataclass(frozen=True)
class Pair:
    """The fastest point of each side at one size that both measured; `moving`: the time of the copies there and back, None
    where they were not timed."""

    n: float
    cpu: Measured
    gpu: Measured
    moving: Time | None
    faster_host: Measured | None
    """The CPU's best code on another host of this kind, if it was faster there by more than runs differ."""
    times: tuple[Time, Time]
    """Times of the CPU's and of the GPU's best code, including kernels left out at this size."""

    @property
    def copies(self) -> float | None:
        """Seconds of the copies there and back."""
        return self.moving and self.moving[0]

    def is_won(self, extra: Time = NO_COPIES) -> bool:
        """Whether the whole interval of the quotient is above 1, with `extra` time for the GPU."""
        return self._gain(*self.times, extra).is_faster

    def gain(self, extra: Time = NO_COPIES) -> Gain:
        """The speed-up with `extra` time for the GPU."""
        return self._gain((self.cpu.seconds, *self.cpu.ends), (self.gpu.seconds, *self.gpu.ends), extra)

    def _gain(self, cpu: Time, gpu: Time, extra: Time) -> Gain:
        whole = [a + b for a, b in zip(gpu, extra)]
        low, high = widened((cpu[1] / whole[2], cpu[2] / whole[1]), between(self.cpu.point, self.gpu.point))
        return Gain(cpu[0] / whole[0], low, high)

    @property
    def moved(self) -> Gain | None:
        """The speed-up including the copies; None where they are unknown."""
        return None if self.moving is None else self.gain(self.moving)

    @property
    def bytes(self) -> float | None:
        """Bytes of inputs and outputs."""
        return self.gpu.point.counters.get("bytes_min") or self.cpu.point.counters.get("bytes_min")


@dataclass(frozen=True)
class Start:
    """From which size on the GPU is clearly faster at all common sizes."""

    kind: str
    at: float | None = None
    """The smallest such size."""
    after: float | None = None
    """The common size before it, at which it is not."""


@dataclass(frozen=True)
class Sides:
    """One problem, data type and further question (function, radius, data …), at all sizes that both sides measured."""

    problem: Problem
    type: str
    rest: Rest
    pairs: tuple[Pair, ...]
    """Smallest size first."""

    @property
    def last(self) -> Pair:
        return self.pairs[-1]

    def start(self, copies: bool) -> Start | None:
        """Without the copies there and back, or with them: at the sizes where these are known, None where they are not."""
        known = [(pair, extra) for pair in self.pairs if (extra := pair.moving if copies else NO_COPIES) is not None]
        pairs, lost = [pair for pair, _ in known], [i for i, (pair, extra) in enumerate(known) if not pair.is_won(extra)]
        if not pairs:
            return None
        if not lost:
            return Start(ALWAYS)
        return Start(FROM, pairs[lost[-1] + 1].n, pairs[lost[-1]].n) if lost[-1] + 1 < len(pairs) else Start(NEVER)

    @property
    def parts(self) -> list[Part]:
        """Every part that gave a point, once."""
        every = (m.part for pair in self.pairs for m in (pair.cpu, pair.gpu))
        return list({(part.side, str(part.run.path)): part for part in every}.values())


def of_views(views: Iterable[View]) -> dict[tuple[str, str, Rest], Sides]:
    """By family, type and question, the pairs of the study's host, for all that both sides measured at a common size."""
    views = list(views)
    found = {side: _points(views, side) for side in ("cpu", "gpu")}
    copied, made = _copied(views), {}
    for key in sorted(found["cpu"].keys() & found["gpu"].keys(), key=str):
        pairs = _pairs(found["cpu"][key], found["gpu"][key], copied)
        if pairs:
            family, type_, rest = key
            problem = pairs[-1].gpu.part.run.problems.get(family) or Problem(family, family, pairs[-1].gpu.point.metric)
            made[key] = Sides(problem, type_, rest, pairs)
    return made


def _pairs(cpu: BySize, gpu: BySize, copied: Copies) -> tuple[Pair, ...]:
    """At each size that some host measured on both sides."""
    made: dict[float, list[tuple[bool, float, str, Pair]]] = defaultdict(list)
    for host in sorted({m.board for some in gpu.values() for m in some}):
        own = [{n: mine for n, some in side.items() if (mine := [m for m in some if m.board == host])} for side in (cpu, gpu)]
        common = sorted(own[0].keys() & own[1].keys())
        times = [_best_times(side, common) for side in own]
        for n in common:
            best, of_host = fastest(cpu[n]), fastest(own[0][n])
            faster = best if of_host.seconds > (1 + BETWEEN_RUNS) * best.seconds else None
            pair = Pair(n, of_host, fastest(own[1][n]), _moving(copied, own[1][n]), faster, (times[0][n], times[1][n]))
            behind = pair.cpu.seconds / best.seconds * (pair.gpu.seconds / fastest(gpu[n]).seconds)
            made[n].append((not (pair.cpu.on_ladder and pair.gpu.on_ladder), behind, host, pair))
    return tuple(min(made[n], key=lambda one: one[:3])[3] for n in sorted(made))


def board(part: Part) -> str:
    return str(part.run.context.get("gpu_uuid") or "").removeprefix("GPU-")[:4]


def fastest(found: Iterable[Measured]) -> Measured:
    return min(found, key=lambda m: (m.seconds, m.point.name, str(m.part.run.path)))


def swept(point: Point) -> float | None:
    """The side of a square problem, or its number of elements; None where it has neither."""
    sides = {v for k, v in point.sizes.items() if k in SQUARE}
    n = sides.pop() if len(sides) == 1 else None
    return n if not isinstance(n, str) and n and n > 0 else None


def question(point: Point) -> Rest:
    """The question that a point answers, apart from its size: its further sizes, and its data set."""
    rest = tuple(sorted((k, v) for k, v in point.sizes.items() if k not in SQUARE))
    return (*rest, *((("data", point.data),) if point.data else ()))


def timed_points(part: Part) -> list[Point]:
    """Timed points of every family on any number of threads up to the machine's, since fewer are faster at small sizes."""
    return [p for family in sorted({p.kernel.family for p in part.points}) for p in part.timed(family) if not p.oversubscribed]


def _points(views: Sequence[View], side: str) -> dict[tuple, dict[float, list[Measured]]]:
    found: dict[tuple, dict[float, list[Measured]]] = defaultdict(lambda: defaultdict(list))
    owned = {(p.identity, p.threads, p.data, board(view.host[side])) for view in views if side in view.host
             for p in timed_points(view.host[side]) if _is_of(view, p.kernel)}
    for view in (view for view in views if side in view.host):
        for p in timed_points(view.host[side]):
            is_elsewhere = (p.identity, p.threads, p.data, board(view.host[side])) in owned and not _is_of(view, p.kernel)
            if (n := swept(p)) and not p.counters.get("error_factor") and not is_elsewhere:
                found[p.kernel.family, p.kernel.type, question(p)][n].append(Measured(view.host[side], p, _is_of(view, p.kernel)))
    return found


def _is_of(view: View, kernel: Kernel) -> bool:
    """Whether an experiment's ladders, as it declares them, have the kernel's family and type."""
    s = view.settings
    entries = given if isinstance(given := s.get("beside"), list) else []
    types = [s.get("type"), *(entry.get("type") if isinstance(entry, dict) else entry for entry in entries)]
    return s.get("family") == kernel.family and kernel.type in types


def _best_times(found: Mapping[float, list[Measured]], sizes: Sequence[float]) -> dict[float, Time]:
    """The time of the fastest kernel at each size, measured there or interpolated between a smaller and a larger size."""
    kernels: dict[str, dict[float, Time]] = defaultdict(dict)
    for n, some in found.items():
        for m in sorted(some, key=lambda m: m.seconds, reverse=True):
            kernels[m.point.kernel.name][n] = m.seconds, *m.ends
    return {n: min(filter(None, (known.get(n) or _between(known, n) for known in kernels.values()))) for n in sizes}


def _between(known: Mapping[float, Time], n: float) -> Time | None:
    """On the straight lines through the neighbours of n in a log-log plot; None beyond the ends."""
    below, above = max((k for k in known if k < n), default=None), min((k for k in known if k > n), default=None)
    if below is None or above is None:
        return None
    part = log(n / below) / log(above / below)
    middle, low, high = (exp(log(a) + part * log(b / a)) for a, b in zip(known[below], known[above]))
    return middle, low, high


def _operands(part: Part, point: Point) -> tuple[str, str, str, str]:
    """The key of the copies of a point, including its host."""
    return board(part), point.kernel.family, point.kernel.type, str(sorted(point.sizes.items()))


def _copied(views: Iterable[View]) -> Copies:
    """For all operands that were copied on hosts of the study's kind: their bytes, at least 1, and by run the seconds of
    the copies there and back."""
    found: Copies = {}
    for part in (view.host["gpu"] for view in views if "gpu" in view.host):
        for p in part.points:
            if p.is_timed and p.counters.get("transfer_seconds"):
                of_run = found.setdefault(_operands(part, p), (p.counters.get("bytes_min") or 1.0, {}))[1]
                of_run.setdefault(str(part.run.path), p.counters["transfer_seconds"])
    return found


def _moving(copied: Copies, found: Iterable[Measured]) -> Time | None:
    """The time of the copies, which depends only on the operands: the median over the runs that copied them, with the
    range in which one run may differ."""
    bytes_, of_run = next((copied[operands] for m in found if (operands := _operands(m.part, m.point)) in copied), (0.0, {}))
    if not of_run:
        return None
    seconds = median(of_run.values())
    repeated = sorted((own for own in copied.values() if len(own[1]) > 1), key=lambda own: abs(log(own[0] / bytes_)))
    margin = between_runs((list(own.values()) for _, own in repeated[:NEAREST]), differing=1)
    margin = BETWEEN_RUNS if margin is None else margin
    return seconds, min(seconds / (1 + margin), *of_run.values()), max(seconds * (1 + margin), *of_run.values())
