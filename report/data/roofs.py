"""Roofs: what a machine can do at best, measured in the run of what they judge, each with its spread and provenance."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from report.data.records import Machine, Point, Run, SheetFile

LEVELS = ("L1", "L2", "L3", "DRAM", "SHARED")
"""Levels of memory, as their names stand in the labels of ceilings."""
ALIASES = {"HBM": "DRAM"}
BEYOND = 1.1
"""A value so far above a roof exceeds it, however uncertain both are."""


@dataclass(frozen=True)
class Roof:
    """A ceiling in GB/s or GFLOP/s, with the 95 % interval of its median within the run and the range of its samples.

    `threads`: of a CPU, that it was measured with; None on a GPU. Data-sheet values have n = 0.
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

    @property
    def measured(self) -> bool:
        return self.n > 0

    @property
    def level(self) -> str:
        """'DRAM' of 'DRAM triad, streaming'; the label itself where it names no level."""
        words = _words(self.label)
        return next((ALIASES.get(w, w) for w in words if w in LEVELS or w in ALIASES), self.label)

    @property
    def spread(self) -> float:
        """Largest over smallest sample."""
        return self.maximum / self.minimum if self.minimum else 1.0


def _words(label: str) -> list[str]:
    return "".join(c if c.isalnum() else " " for c in label.upper()).split()


@dataclass(frozen=True)
class Share:
    """A value over a roof, with the interval that the roof's and the value's own give.

    `exceeds`: the value is above the roof by more than both intervals, or far above it: the roof is too low to judge by.
    """

    value: float
    low: float | None
    high: float | None
    exceeds: bool
    roof: Roof


@dataclass(frozen=True)
class Roofs:
    """All roofs of one machine that judge the points of one run; `note` says where they are from if not that run."""

    all: tuple[Roof, ...] = ()
    note: str = ""

    def __bool__(self) -> bool:
        return any(r.measured for r in self.all)

    def of_threads(self, threads: int | None) -> Roofs:
        """Those for that number of threads; all the machine's for None or for at least as many threads as it was
        measured with; none where no roof has so many."""
        counts = {r.threads for r in self.all if r.measured and r.threads}
        if threads is None or not counts or threads >= max(counts):
            threads = max(counts, default=None)
        return replace(self, all=tuple(r for r in self.all if not r.measured or r.threads in (threads, None)))

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

    def bound(self, intensity: float, type_: str, level: str = "DRAM") -> float | None:
        """min(bandwidth × intensity, peak) in GFLOP/s; None where one of them is unknown."""
        memory, peak = self.levels().get(level), self.peak(type_)
        return min(memory.value * intensity, peak.value) if memory and peak else None

    def share(self, point: Point, roof: Roof | None) -> Share | None:
        """Of a roof's value what the point reaches: operations of a compute roof, compulsory bytes of a bandwidth."""
        if roof is None or not point.is_timed:
            return None
        value = point.gbytes if roof.is_bandwidth else point.gflops
        return share(value, _around(point, value), roof) if value else None

    def of_peak(self, point: Point) -> Share | None:
        """The share of the arithmetic peak of the point's type, for its number of threads."""
        roofs = self.of_threads(point.threads if point.kernel.side == "cpu" else None)
        return self.share(point, roofs.peak(point.kernel.type))


def _around(point: Point, value: float) -> tuple[float, float] | None:
    s = point.summary
    return (value * s.median / s.high, value * s.median / s.low) if s.has_interval else None


def share(value: float, around: tuple[float, float] | None, roof: Roof) -> Share:
    """A value with its interval over a roof with its own."""
    low, high = around or (value, value)
    under, over = roof.low or roof.value, roof.high or roof.value
    known = around and roof.low
    return Share(value / roof.value, low / over if known else None, high / under if known else None, low > over or value > BEYOND * roof.value, roof)


def of_points(points: Iterable[Point], run: Run) -> list[Roof]:
    """A roof for each ceiling kernel's label and number of threads: its fastest variant."""
    best: dict[tuple, Roof] = {}
    for point in points:
        if point.is_timed and point.kernel.is_ceiling and point.value:
            key = point.kernel.ceiling_label, point.threads
            roof = _roof(point, run)
            best[key] = max(roof, best.get(key, roof), key=lambda r: r.value)
    return [best[key] for key in sorted(best)]


def _roof(point: Point, run: Run) -> Roof:
    s, ends = point.summary, point.interval or (None, None)
    return Roof(point.kernel.ceiling_label, point.value, point.kernel.ceiling_is_bandwidth, point.kernel.type,
                point.threads if point.kernel.side == "cpu" else None, *ends,
                point.value_at(max(point.times)), point.value_at(s.minimum), s.n, run.day, str(run.path))


def of_sheet(files: Iterable[SheetFile], machine: Machine) -> list[Roof]:
    """The data-sheet ceilings of the newest file of a machine of that name."""
    mine = [f for f in files if f.ceilings and f.machine.lower() == machine.name.lower()]
    newest = max(mine, key=lambda f: (f.date, str(f.path)), default=None)
    return [Roof(label, value, is_bandwidth, _type(label), day=newest.date[:10], run=str(newest.path))
            for label, value, is_bandwidth in (newest.ceilings if newest else ())]


def _type(label: str) -> str:
    """'fp32' of 'FP32 tensor'."""
    words = [w.lower() for w in _words(label)]
    return next((w for w in words if w.rstrip("0123456789") in ("fp", "tf", "bf", "int") and w[-1].isdigit()), "fp32")
