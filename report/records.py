"""The frozen records that everything after loading works on. Times in seconds, rates in GFLOP/s or GB/s (decimal)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from report.stats import Summary

HOT, COLD, COUNT = "hot", "cold", "count"
OCCUPANCY = "occupancy"
"""The experiment that varies occupancy and block sizes on purpose; its points are compared among themselves."""
EMULATOR = "emulator"
"""The experiment that counts what the hardware's counters count, too; its points are compared with those."""
UNUSUAL = ("lda", "ldb", "ldc", "alpha", "beta", "shift")
"""Sizes of a general product; a point that has one is no plain square product."""
SIDE_NAME = {"cpu": "CPU", "gpu": "GPU"}


@dataclass(frozen=True)
class Kernel:
    """What a kernel's own record says of it."""

    name: str
    title: str
    idea: str
    source: str
    order: int
    side: str
    family: str
    precision: str
    is_library: bool
    ceiling_label: str | None = None
    ceiling_is_bandwidth: bool = False

    @property
    def is_ceiling(self) -> bool:
        return self.ceiling_label is not None


@dataclass(frozen=True)
class Flag:
    """An entry, or one field of it, that was kept out of the statistics, and why."""

    file: str
    entry: str
    reason: str


@dataclass(frozen=True)
class Point:
    """One point of a sweep: a kernel at given sizes and tunables in one mode, with every sample (seconds a call)."""

    name: str
    kernel: Kernel
    mode: str
    sizes: dict[str, int]
    tunables: dict[str, int]
    times: tuple[float, ...] = ()
    summary: Summary | None = None
    batch: int = 1
    threads: int = 1
    counters: dict[str, float] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    skipped: str | None = None
    failed: str | None = None
    asked_threads: int | None = None
    """The thread count in the point's name, where the experiment swept it; None where it was left to the machine."""
    oversubscribed: bool = False
    """More threads than cores, on purpose."""
    interleaved: bool = False
    """Its samples were taken in turns with those of the other kernels of the same run and size."""
    turns: tuple[int, ...] = ()
    """Which repetition each of its times is: those with one number were taken in the same turn."""
    run: str = ""
    """The file that it is from."""
    day: str = ""
    """That of its run: '2026-01-02'."""

    @property
    def is_timed(self) -> bool:
        return self.summary is not None and self.mode != COUNT

    @property
    def flops(self) -> float | None:
        return self.counters.get("flops")

    @property
    def n(self) -> int | None:
        """The one size of a square problem, or of a problem with a single size; None for the others."""
        if not self.sizes.keys().isdisjoint(UNUSUAL):
            return None
        values = set(self.sizes.values())
        return values.pop() if len(values) == 1 else None

    @property
    def size_key(self) -> tuple[tuple[str, int], ...]:
        return tuple(sorted(self.sizes.items()))

    @property
    def size_text(self) -> str:
        """'N = 4096' for a square problem, else 'm 1000 × n 16 × k 300' or 'bytes 65536'."""
        if self.n is not None and "n" in self.sizes:
            return f"N = {self.n}"
        return " × ".join(f"{name} {value}" for name, value in self.sizes.items()) or "one size"

    @property
    def title(self) -> str:
        """The kernel's title with its tunables: 'Tiled (tile 16)'."""
        return f"{self.kernel.title} ({self.variant})" if self.tunables else self.kernel.title

    @property
    def variant(self) -> str:
        """The tunables: 'tile 16', or nothing."""
        return ", ".join(f"{k} {v}" for k, v in self.tunables.items())

    def rate(self, seconds: float | None, cost: str = "flops") -> float | None:
        """Cost over seconds, in units of 1e9 a second; None where either is missing."""
        amount = self.counters.get(cost)
        return amount / seconds / 1e9 if amount and seconds else None

    @property
    def gflops(self) -> float | None:
        """flops over the median time (GFLOP/s)."""
        return self.rate(self.summary.median) if self.is_timed else None

    @property
    def gflops_interval(self) -> tuple[float, float] | None:
        """The 95 % interval of the median as a rate (GFLOP/s); None below six samples."""
        if not self.is_timed or not self.summary.has_interval or not self.flops:
            return None
        return self.rate(self.summary.high), self.rate(self.summary.low)

    @property
    def gbytes(self) -> float | None:
        """Compulsory bytes over the median time (GB/s)."""
        return self.rate(self.summary.median, "bytes_min") if self.is_timed else None

    def intensity(self, cost: str) -> float | None:
        """FLOP per byte of the counter called `cost`."""
        amount = self.counters.get(cost)
        return self.flops / amount if amount and self.flops else None

    @property
    def requested_intensity(self) -> float | None:
        """FLOP per byte that the code loads from global memory, before any cache."""
        return self.counters.get("op_per_byte_requested") or self.intensity("bytes_requested")

    @property
    def settled(self) -> bool:
        """Whether the harness's stop rule was met, so that the point may be drawn filled."""
        return self.labels.get("stop_reason", "converged") == "converged"


@dataclass(frozen=True)
class Run:
    """One result file."""

    path: Path
    context: dict
    kernels: dict[str, Kernel]
    points: tuple[Point, ...]
    flags: tuple[Flag, ...]
    samples: int

    @property
    def experiment(self) -> str:
        return self.context["experiment"]

    @property
    def date(self) -> str:
        return self.context["date"]

    @property
    def complete(self) -> bool:
        return bool(self.context.get("complete", False))

    @property
    def machine(self) -> tuple[str, str]:
        """What tells machines apart: CPU and GPU model (host names change between containers)."""
        return str(self.context.get("cpu_name", "unknown CPU")), str(self.context.get("gpu_name", ""))

    def machine_of(self, side: str) -> str:
        return self.machine[0] if side == "cpu" else self.machine[1]

    def has_rates(self, side: str) -> bool:
        return any(p.is_timed and p.kernel.side == side for p in self.points)


@dataclass(frozen=True)
class Roof:
    """A ceiling: GB/s if it is a bandwidth, else GFLOP/s; measured, or from the data sheet."""

    label: str
    value: float
    is_bandwidth: bool
    measured: bool
    precision: str | None = None


@dataclass(frozen=True)
class RoofFile:
    """A ceilings file in the shape of the Empirical Roofline Toolkit."""

    path: Path
    machine: str
    date: str
    roofs: tuple[Roof, ...]


@dataclass(frozen=True)
class CounterFile:
    """Hardware counters by point name, each a flat table of numbers."""

    path: Path
    machine: str
    date: str
    tool: str
    points: dict[str, dict[str, float]]


@dataclass(frozen=True)
class Verdict:
    """What one tool says of one planted fault; `failed` is why it could not tell, if it could not."""

    found: bool
    message: str = ""
    failed: str = ""


@dataclass(frozen=True)
class PlantedFault:
    """A faulty kernel, or its right twin, with what was found by each tool that looked at it."""

    verdicts: dict[str, Verdict]
    what: str = ""
    is_right: bool = False


@dataclass(frozen=True)
class HazardFile:
    """What one program's tools find of the planted faults, by kernel name."""

    path: Path
    machine: str
    date: str
    tool: str
    kernels: dict[str, PlantedFault]

    @property
    def tools(self) -> frozenset[str]:
        return frozenset(name for fault in self.kernels.values() for name in fault.verdicts)


def span_of_days(days: Iterable[str]) -> str:
    """'2026-01-02' or '2026-01-02 to 2026-01-05'."""
    days = sorted(set(days))
    return " to ".join(dict.fromkeys((days[0], days[-1]))) if days else "on no day"


@dataclass(frozen=True)
class Side:
    """The CPU's or the GPU's part of the study: one machine, its points and its roofs."""

    name: str
    machine: str
    context: dict
    recorded: bool
    points: tuple[Point, ...] = ()
    roofs: tuple[Roof, ...] = ()
    counters: dict[str, dict[str, float]] = field(default_factory=dict)
    counter_tool: str = ""
    varied: frozenset[str] = frozenset()
    """Names of points that only the occupancy experiment measured."""

    @property
    def days(self) -> str:
        return span_of_days(p.day for p in self.points)

    @property
    def label(self) -> str:
        """Machine with days: 'recorded on (name), 2026-01-02'."""
        return self.label_of(self.points)

    def label_of(self, points: Iterable[Point]) -> str:
        """The same with the days of some of its points, for captions."""
        verb = "recorded" if self.recorded else "measured"
        return f"{verb} on {self.machine}, {span_of_days(p.day for p in points)}"


@dataclass(frozen=True)
class EmulatorRate:
    """The timed runs of one emulator on one kernel, in one mode: counting, hazards or answer."""

    kernel: str
    mode: str
    n: int
    threads: int
    accesses: int
    seconds: tuple[float, ...]
    processor_seconds: tuple[float, ...]
    """Of all cores together; what else the machine did is not in it."""

    @property
    def per_core(self) -> float:
        """Accesses of single threads in a second of one core's time, by the median run."""
        return self.accesses / median(self.processor_seconds)


@dataclass(frozen=True)
class Emulator:
    """An emulator of GPU kernels: its rates, and what it tells of a kernel (race, uninitialised, accesses, sectors)."""

    tool: str
    rates: tuple[EmulatorRate, ...]
    told: dict[str, bool]


@dataclass(frozen=True)
class EmulatorFile:
    """Emulators side by side on one machine, ours first."""

    path: Path
    machine: str
    cores: int
    date: str
    emulators: tuple[Emulator, ...]


@dataclass(frozen=True)
class Source:
    """A file that was looked at: used, or ignored with a reason."""

    path: str
    kind: str
    used: bool
    note: str


@dataclass(frozen=True)
class Study:
    """Everything that the report shows."""

    sides: dict[str, Side]
    counts: tuple[Point, ...]
    counts_note: str
    runs: tuple[Run, ...]
    sources: tuple[Source, ...]
    flags: tuple[Flag, ...]
    date: str
    hazards: tuple[HazardFile, ...] = ()
    """The newest file of each program, the emulator's first."""
    emulators: EmulatorFile | None = None
    others: tuple[Side, ...] = ()
    """The CPU's part on further machines, recorded ones among them, newest first."""

    @property
    def cpu(self) -> Side | None:
        return self.sides.get("cpu")

    @property
    def gpu(self) -> Side | None:
        return self.sides.get("gpu")
