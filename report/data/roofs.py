"""Roofs: the best performance of a machine. There is one for each machine, resource and number of threads: the best that
any variant of the instructions reached in any run of that machine, with the range of its runs, its clock and its provenance.
A resource is a level of memory, whatever moves its bytes (reading, copying, triads; streaming or not), or the arithmetic
of one data type, however wide its instructions are.

One rule, `Part.memory`, chooses the roof of a memory-bound kernel: the level that holds its operands (`holding`), and at
that level the pattern that writes the same part of its bytes as the kernel's problem must (`written`, `Roofs.memory`).

A GPU is its board. Boards of one model are not mixed: for a resource without a roof of its own, a board is judged by the
best of the others, and `Roofs.note` states it. A CPU is its name, its cores and its host's GPU, recorded or measured here:
a name alone does not identify a machine.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from report.data.companions import SheetFile
from report.data.records import GFLOPS, SIDES, Machine, Point, Run

LEVELS = ("L1", "L2", "L3", "DRAM", "SHARED")
"""Levels of memory, by their names in the labels of ceilings."""
ALIASES = {"HBM": "DRAM"}
BEYOND = 1.05
"""A value further above a roof is no evidence: it or the roof is wrong. A smaller excess is within the
difference between runs, and the share is given."""
APART = 0.1
"""A run that measured less than the roof by more than this part is marked."""
SAME_CLOCK = 0.005
"""Clocks that differ by less are treated as equal."""
ON_THE_SM_CLOCK = ("L1", "SHARED")
"""Levels of a GPU's memory that the multiprocessors' clock drives. The L2 and DRAM have clocks of their own."""
WRITTEN = {"COPY": 1 / 2, "TRIAD": 1 / 3}
"""The part of its bytes that a pattern writes, by the word in its label. Every other pattern only reads."""
ALIKE = 0.02
"""Written parts that differ by less are treated as equal: edges, sums of blocks."""
CACHES = {"cpu": (("L1", "cpu_l1d_bytes"), ("L2", "cpu_l2_bytes"), ("L3", "cpu_l3_bytes")), "gpu": (("L2", "gpu_l2_bytes"),)}
"""Caches that may hold a kernel's operands between calls, nearest first, with the context's key of the size of one."""
ALL = {"L3": "cpu_l3_all_bytes"}
"""For a cache that several cores share, the key of the total size."""


@dataclass(frozen=True)
class Reading:
    """A roof as measured by one run, in the roof's unit."""

    value: float
    experiment: str
    day: str
    run: str
    machine: str
    host: str = ""  # or the board of a GPU


@dataclass(frozen=True)
class Roof:
    """A ceiling in GB/s or GFLOP/s: the highest median of any run, with the 95 % interval within that run and the range of
    that run's samples. `readings`: what each run measured, lowest first.

    `threads`: those of the measurement on a CPU; None on a GPU. Data-sheet values have n = 0. `clock_mhz` and `power_w`: the
    means over the samples of a GPU.
    """

    label: str
    value: float
    is_bandwidth: bool
    type: str
    threads: int | None = None
    low: float | None = None
    high: float | None = None
    minimum: float | None = None
    maximum: float | None = None
    n: int = 0
    day: str = ""
    run: str = ""
    kernel: str = ""
    machine: str = ""
    clock_mhz: float | None = None
    power_w: float | None = None
    readings: tuple[Reading, ...] = ()
    takes: tuple[float, ...] = ()
    """The measurements of its run, more than one where points were above the first; the highest is `value`."""
    left_out: int = 0
    """Samples that other work disturbed."""
    of_all: float | None = None  # the value with these
    settled: bool = True

    @property
    def measured(self) -> bool:
        return self.n > 0

    @property
    def level(self) -> str:
        """'DRAM' of 'DRAM triad, streaming'; the label itself where it names no level."""
        words = _words(self.label)
        return next((ALIASES.get(w, w) for w in words if w in LEVELS or w in ALIASES), self.label)

    @property
    def resource(self) -> str:
        """Its resource: a level of memory, or the arithmetic of a data type."""
        return self.level if self.is_bandwidth else f"{self.type} arithmetic"

    @property
    def written(self) -> float:
        """The part of its bytes that the pattern writes."""
        return next((WRITTEN[w] for w in _words(self.label) if w in WRITTEN), 0.0)

    @property
    def spread(self) -> float:
        """Largest over smallest sample."""
        return self.maximum / self.minimum if self.minimum and self.maximum else 1.0

    @property
    def lowest(self) -> float:
        """The lowest run's value."""
        return min((r.value for r in self.readings), default=self.value)

    @property
    def is_apart(self) -> bool:
        """Whether some run measured more than 10 % less."""
        return self.lowest < (1 - APART) * self.value

    def scaled(self, clock_mhz: float | None) -> float | None:
        """Its value at a clock of the multiprocessors; None if that does not drive the resource or is not known."""
        if self.is_bandwidth and self.level not in ON_THE_SM_CLOCK or not self.clock_mhz or not clock_mhz:
            return None
        return self.value * clock_mhz / self.clock_mhz


def _words(label: str) -> list[str]:
    return "".join(c if c.isalnum() else " " for c in label.upper()).split()


@dataclass(frozen=True)
class Share:
    """A value over a roof, with an interval from the intervals of both.

    `exceeds`: the value is above the roof by more than BEYOND allows, so that no share is given.
    `clock_mhz`: the clock of a GPU's point; `at_clock`: its share of the roof at that clock.
    """

    value: float
    low: float | None
    high: float | None
    exceeds: bool
    roof: Roof
    clock_mhz: float | None = None
    at_clock: float | None = None

    @property
    def told(self) -> float | None:
        """The value for tables and CSV."""
        return told(self.value)

    @property
    def is_slowed(self) -> bool:
        """Whether the point ran at another clock than the roof, so that the two shares differ."""
        return self.at_clock is not None and abs(self.at_clock / self.value - 1) > SAME_CLOCK


@dataclass(frozen=True)
class Roofs:
    """All roofs of one machine, for every variant of each resource; `note` names roofs of another machine.

    `own`: roofs that the judged run measured itself. `model`: the best roofs of all boards, or hosts, of that name.
    """

    all: tuple[Roof, ...] = ()
    note: str = ""
    own: tuple[Roof, ...] = ()
    model: tuple[Roof, ...] = ()

    def __bool__(self) -> bool:
        return any(r.measured for r in self.all)

    def of_threads(self, threads: int | None) -> Roofs:
        """The roofs for this number of threads; for None, or more threads than measured, those for the most threads."""
        counts = {r.threads for r in self.all if r.measured and r.threads}
        if threads is None or not counts or threads >= max(counts):
            threads = max(counts, default=None)
        return replace(self, all=tuple(r for r in self.all if not r.measured or r.threads in (threads, None)))

    def of_model(self) -> Roofs:
        """The roofs of all machines of that name, with `readings` of several boards or hosts; no point is judged by them."""
        return replace(self, all=(*self.model, *(r for r in self.all if not r.measured)), note="") if self.model else self

    def compute(self, type_: str | None = None, measured: bool = True) -> list[Roof]:
        """Arithmetic roofs, lowest first; of one data type if given."""
        return sorted((r for r in self.all if not r.is_bandwidth and r.measured == measured
                       and type_ in (None, r.type)), key=lambda r: (r.value, r.label))

    def peak(self, type_: str, measured: bool = True) -> Roof | None:
        """The highest arithmetic roof of that type."""
        found = self.compute(type_, measured)
        return found[-1] if found else None

    def levels(self, measured: bool = True) -> dict[str, Roof]:
        """The highest bandwidth of each level of memory (of reading, copying, triad), fastest level first."""
        best: dict[str, Roof] = {}
        for roof in sorted(self.all, key=lambda r: (r.value, r.label)):
            if roof.is_bandwidth and roof.measured == measured:
                best[roof.level] = roof
        return dict(sorted(best.items(), key=lambda item: -item[1].value))

    def dram(self, measured: bool = True) -> Roof | None:
        return self.levels(measured).get("DRAM")

    def memory(self, level: str, written: float | None) -> Roof | None:
        """The roof of a level of memory for a kernel that writes this part of its bytes: of the pattern that writes the largest
        part not above it, else of the one that writes least. The highest of all patterns if `written` is None."""
        found = [r for r in self.all if r.measured and r.is_bandwidth and r.level == level]
        if written is not None and found:
            parts = {r.written for r in found}
            pattern = max((x for x in parts if x <= written + ALIKE), default=min(parts))
            found = [r for r in found if r.written == pattern]
        return max(found, key=lambda r: (r.value, r.label), default=None)

    @property
    def clock_mhz(self) -> float | None:
        """The highest clock of any roof: the clock of a GPU that nothing slows."""
        return max((r.clock_mhz for r in self.all if r.clock_mhz), default=None)

    def lower_in_its_run(self) -> list[tuple[Roof, Roof]]:
        """(the judged run's roof, the machine's roof) of the same variant, where the first is more than 10 % lower."""
        best = {(r.label, r.threads): r for r in self.all if r.measured}
        pairs = [(r, best[r.label, r.threads]) for r in self.own if (r.label, r.threads) in best]
        return [(mine, roof) for mine, roof in pairs if mine.value < (1 - APART) * roof.value]

    def slower_together(self) -> list[tuple[Roof, Roof]]:
        """(one thread's, all threads') roofs of one variant, of the machine or of the judged run, where all are slower."""
        found: dict[str, tuple[Roof, Roof]] = {}
        for roofs in (self.own, self.all):
            most = max((r.threads for r in roofs if r.measured and r.threads), default=1)
            known = {(r.label, r.threads): r for r in roofs if r.measured}
            found |= {label: (known[label, 1], r) for (label, threads), r in known.items()
                      if threads == most > 1 and (label, 1) in known and r.value < known[label, 1].value}
        return [found[label] for label in sorted(found)]

    def bound(self, intensity: float, type_: str, level: str = "DRAM") -> float | None:
        """min(bandwidth × intensity, peak) in GFLOP/s; None if one of them is unknown."""
        memory, peak = self.levels().get(level), self.peak(type_)
        return min(memory.value * intensity, peak.value) if memory and peak else None

    def share(self, point: Point, roof: Roof | None) -> Share | None:
        """The point's share of a roof: by operations for a compute roof, by compulsory bytes for a bandwidth."""
        if roof is None or not point.is_timed:
            return None
        value = point.gbytes if roof.is_bandwidth else point.gflops
        return share(value, _around(point, value), roof, clock_of(point)) if value else None

    def of_peak(self, point: Point) -> Share | None:
        """The share of the arithmetic peak of the point's type, for its number of threads; None for other algorithms."""
        if point.does_other_operations:
            return None
        roofs = self.of_threads(point.threads if point.kernel.side == "cpu" else None)
        return self.share(point, roofs.peak(point.kernel.type))


def holding(context: Mapping, side: str, bytes_: float | None, threads: int = 1) -> str:
    """The level of memory that holds these bytes between calls: the nearest cache that is large enough by the run's context,
    with the caches of all threads together on a CPU; else, or if the bytes are unknown, DRAM."""
    for level, key in CACHES[side] if bytes_ else ():
        size = context.get(key) or 0
        size *= min(threads, context.get("cpu_cores") or threads) if side == "cpu" else 1
        if bytes_ and bytes_ <= min(size, context.get(ALL.get(level)) or size):
            return level
    return "DRAM"


def written(points: Iterable[Point], family: str) -> float | None:
    """The part of the compulsory bytes that a problem writes: the least that any of its kernels declares to store, among a
    run's points on either side, timed or counted. None where no kernel declares it."""
    known = [min(p.counters["bytes_declared_stored"] / p.counters["bytes_min"], 1.0) for p in points
             if p.kernel.family == family and p.counters.get("bytes_min") and "bytes_declared_stored" in p.counters]
    return min(known, default=None)


def clock_of(point: Point) -> float | None:
    """The mean clock of a GPU's multiprocessors over the samples. None for a CPU: its clock is of one core, between samples."""
    return point.counters.get("sm_clock_mhz") if point.kernel.side == "gpu" else None


def _around(point: Point, value: float) -> tuple[float, float] | None:
    middle, ends = point.timing.median, point.timing.interval
    return (value * middle / ends[1], value * middle / ends[0]) if ends else None


def share(value: float, around: tuple[float, float] | None, roof: Roof, clock_mhz: float | None = None) -> Share:
    """A value with its interval over a roof with its own; `clock_mhz`: the multiprocessors' clock at the time."""
    low, high = around or (value, value)
    under, over = roof.low or roof.value, roof.high or roof.value
    known = around and roof.low
    scaled = roof.scaled(clock_mhz)
    return Share(value / roof.value, low / over if known else None, high / under if known else None,
                 value > BEYOND * roof.value, roof, clock_mhz, value / scaled if scaled else None)


def told(fraction: float | None) -> float | None:
    """The part of a roof; None without a roof or above it."""
    return None if fraction is None or fraction > BEYOND else fraction


def of_run(run: Run, side: str) -> list[Roof]:
    """A roof for each ceiling kernel's label and number of threads: its fastest point. Points with more threads than
    processors are ignored, since their parts may fit into caches."""
    best: dict[tuple, Roof] = {}
    for point in run.points:
        if point.is_timed and point.kernel.is_ceiling and point.kernel.side == side and point.value and not point.oversubscribed:
            key = point.kernel.ceiling_label, point.threads
            roof = _roof(point, run)
            best[key] = max(roof, best.get(key, roof), key=lambda r: r.value)
    return [best[key] for key in sorted(best)]


def _roof(point: Point, run: Run) -> Roof:
    s, (low, high), value, machine = point.timing, point.interval or (None, None), point.known_value, run.machine(point.kernel.side)
    return Roof(point.kernel.ceiling_label or "", value, point.kernel.ceiling_is_bandwidth, point.kernel.type,
                point.threads if point.kernel.side == "cpu" else None, low, high,
                point.value_at(max(point.times)), point.value_at(s.minimum), s.n, run.day, str(run.path), point.kernel.name,
                machine.label, clock_of(point), point.counters.get("power_w"),
                (Reading(value, run.experiment, run.day, str(run.path), machine.label, machine.id if point.kernel.side == "gpu" else host(run)),), tuple(filter(None, map(point.value_at, point.takes))),
                left_out=point.left_out, of_all=point.value_at(point.median_of_all or s.median), settled=point.settled)


def best(found: Iterable[Roof]) -> list[Roof]:
    """The highest roof for each label and number of threads, with the readings of every run."""
    found = list(found)
    readings: dict[tuple, list[Reading]] = {}
    for roof in found:
        readings.setdefault((roof.label, roof.threads), []).extend(roof.readings)
    return [replace(r, readings=tuple(sorted(readings[r.label, r.threads], key=lambda x: (x.value, x.day, x.run))))
            for r in _highest(found)]


@dataclass(frozen=True)
class Book:
    """The roofs of every machine of a study, by `identity`."""

    machines: Mapping[tuple, tuple[Machine, tuple[Roof, ...]]] = field(default_factory=dict)

    def of(self, run: Run, side: str, recorded: bool) -> Roofs:
        """The roofs that judge a run's points of that side; from other machines only those that the points need."""
        machine, key = run.machine(side), identity(run, side, recorded)
        own = self.machines[key][1] if key in self.machines else ()
        known = {(r.resource, r.threads) for r in own}
        types = {p.kernel.type for p in run.points if p.kernel.side == side and p.is_timed and p.metric == GFLOPS}
        others = [r for other, (m, roofs) in self.machines.items() if other[0] == side and other != key and m.name == machine.name
                  for r in roofs]
        borrowed = _highest(r for r in others if (r.resource, r.threads) not in known and (r.is_bandwidth or r.type in types))
        labels: dict[str, dict[str, None]] = {}
        for r in borrowed:
            labels.setdefault(r.machine, {})[r.label] = None
        note = "; ".join(f"{', '.join(mine)} of {name}" for name, mine in labels.items())
        return Roofs((*own, *borrowed), note, tuple(of_run(run, side)), tuple(best([*own, *others])))


def _highest(found: Iterable[Roof]) -> list[Roof]:
    """The highest roof for each label and number of threads."""
    groups: dict[tuple, Roof] = {}
    for roof in found:
        key = roof.label, roof.threads or 0
        groups[key] = max(roof, groups.get(key, roof), key=lambda r: (r.value, r.day, r.run))
    return [roof for _, roof in sorted(groups.items())]


def identity(run: Run, side: str, recorded: bool | None = None) -> tuple:
    """Equal for two runs of one machine. `recorded`: whether it is a recorded run; None: decided by its folder."""
    machine, recorded = run.machine(side), run.is_recorded if recorded is None else recorded
    return side, machine.id, *(() if machine.id.startswith("GPU-") else (recorded, host(run) if side == "cpu" else ""))


def host(run: Run) -> str:
    """Distinguishes two hosts of one kind: the board of their GPU."""
    return str(run.context.get("gpu_uuid") or run.context.get("gpu_name") or "")


def book(runs: Iterable[tuple[Run, bool]]) -> Book:
    """The book of all runs, each with whether it is a recorded one; a file that was found twice counts once."""
    groups: dict[tuple, tuple[Machine, list[Roof]]] = {}
    for run, recorded in {run.path.resolve(): (run, recorded) for run, recorded in runs}.values():
        for side in SIDES:
            if found := of_run(run, side):
                groups.setdefault(identity(run, side, recorded), (run.machine(side), []))[1].extend(found)
    return Book({key: (machine, tuple(best(found))) for key, (machine, found) in groups.items()})


def of_sheet(files: Iterable[SheetFile], machine: Machine) -> list[Roof]:
    """The data-sheet ceilings of the newest file of a machine of that name."""
    mine = [f for f in files if f.ceilings and f.machine.lower() == machine.name.lower()]
    newest = [max(mine, key=lambda f: (f.date, str(f.path)))] if mine else []
    return [Roof(label, value, is_bandwidth, _type(label), day=file.date[:10], run=str(file.path))
            for file in newest for label, value, is_bandwidth in file.ceilings]


def _type(label: str) -> str:
    """'fp32' of 'FP32 tensor'."""
    words = [w.lower() for w in _words(label)]
    return next((w for w in words if w.rstrip("0123456789") in ("fp", "tf", "bf", "int") and w[-1].isdigit()), "fp32")
