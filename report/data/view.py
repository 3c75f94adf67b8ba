"""The view of one experiment: its own runs by side, the machine's roofs and counters, its declaration."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from report.data import counted
from report.data.companions import EmulatorFile, HazardFile, WrongResults
from report.data.records import COLD, HOT, SIDE_NAME, Machine, Point, Reference, Run
from report.data.roofs import Roof, Roofs, holding, written
from report.data.statistics import FASTER, judge, ratio


@dataclass(frozen=True)
class Part:
    """One side's timings (or the emulator's counts) of one experiment: of one run on one machine."""

    side: str
    run: Run
    points: tuple[Point, ...]
    recorded: bool
    roofs: Roofs = Roofs()
    counters: Mapping[str, dict[str, float]] = field(default_factory=dict)
    """Hardware counters by point name."""
    counter_tool: str = ""
    counter_machine: str = ""
    """The GPU whose counters they are: of counted points, which are the same on any machine, perhaps not this one's."""

    @property
    def machine(self) -> Machine:
        return self.run.machine(self.side)

    @property
    def label(self) -> str:
        """'recorded on NVIDIA H200 (board 946f), 2026-11-21'; a CPU with the board of its host."""
        host = self.run.machine("gpu").board if self.side == "cpu" else ""
        where = f" (host of board {host})" if host else ""
        return f"{'recorded' if self.recorded else 'measured'} on {self.machine.label}{where}, {self.run.day}"

    def timed(self, family: str | None = None, type_: str | None = None, mode: str | None = None) -> list[Point]:
        """Timed points that are no ceilings, in the ladder's order; by default of the main mode.

        The main mode is hot where there is any hot point, else cold.
        """
        found = [p for p in self.points if p.is_timed and not p.kernel.is_ceiling
                 and family in (None, p.kernel.family) and type_ in (None, p.kernel.type)]
        mode = mode or (HOT if any(p.mode == HOT for p in found) else COLD)
        return sorted((p for p in found if p.mode == mode), key=order)

    def ceilings(self) -> list[Point]:
        """Timed points of ceiling kernels."""
        return sorted((p for p in self.points if p.is_timed and p.kernel.is_ceiling), key=order)

    def counters_of(self, point: Point) -> dict[str, float]:
        """Hardware counters of one call of a point, over all kernels that it launches: the profiler watches no other
        (gpu/host/point_marker.hpp), and each begins with empty caches. Empty if none were read. Without those of memory where the
        point's calls follow each other and a cache holds the operands, since they read other bytes then."""
        found = self.counters.get(self.counters_name(point), {})
        finds_them = point.is_timed and point.mode != COLD and self.level(point) != "DRAM"
        return {k: v for k, v in found.items() if k not in counted.OF_MEMORY} if finds_them else found

    def counters_name(self, point: Point) -> str:
        """The name of the point's counters: points that differ only in their mode share one measurement."""
        name = "/".join(part for part in point.name.split("/") if not part.startswith("mode:"))
        return point.name if self.counters.get(point.name) else name

    def profiles(self, point: Point) -> list[dict[str, float]]:
        """The counters of every point that profiled the same launch: the timed one and the counted one may both be there."""
        name = "/".join(part for part in point.name.removeprefix("count/").split("/") if not part.startswith("mode:"))
        names = dict.fromkeys((point.name, name, f"count/{name}"))
        return [found for key in names if (found := self.counters.get(key))]

    def level(self, point: Point, bytes_: float | None = None) -> str:
        """The level of memory that holds a point's operands between calls; `bytes_`: if they exceed the compulsory ones."""
        return holding(self.run.context, self.side, bytes_ or point.counters.get("bytes_min"), point.threads)

    def memory(self, point: Point, bytes_: float | None = None) -> Roof | None:
        """The roof of a memory-bound point with its number of threads: of the level that holds its operands, by the pattern
        of its problem. None where that level was not measured."""
        return self.at_level(self.level(point, bytes_), point.kernel.family, point.threads)

    def dram(self, family: str, threads: int | None = None) -> Roof | None:
        """The roof of DRAM by the pattern of a problem, for this number of threads of a CPU (None: all)."""
        return self.at_level("DRAM", family, threads)

    def at_level(self, level: str, family: str, threads: int | None = None) -> Roof | None:
        """The same for any level."""
        roofs = self.roofs.of_threads(threads if self.side == "cpu" else None)
        return roofs.memory(level, written(self.run.points, family))

    def dram_intensity(self, point: Point) -> float | None:
        """FLOP per byte moved to or from DRAM, by the hardware counters."""
        moved = self.counters_of(point).get("dram_bytes")
        return point.flops / moved if moved and point.flops else point.counters.get("op_per_byte_dram")


def order(point: Point) -> tuple:
    """Sorts points as on the ladder, variants by the numbers of their tunables, then by size."""
    tunables, sizes = (tuple((0.0, v) if isinstance(v, str) else (v, "") for v in found.values()) for found in (
        point.tunables, point.sizes))
    return (point.kernel.order, point.kernel.name, tunables, point.n or 0, sizes, point.name)


def whole_machine(points: Sequence[Point]) -> list[Point]:
    """The points on all threads of the machine, each once. A point of a sweep over threads does not replace the same point of
    the ladder, which was measured at another time."""
    fair = [p for p in points if not p.oversubscribed] or list(points)
    most = max((p.threads for p in fair), default=1)
    whole = [p for p in fair if p.threads == most]
    outside = {(p.identity, p.mode) for p in whole if not p.swept_threads}
    return [p for p in whole if not p.swept_threads or (p.identity, p.mode) not in outside]


def by_time(point: Point) -> tuple[float, str]:
    """Sorts timed points, the fastest first; meaningful among points of one size."""
    return point.timing.median, point.name


def fastest(points: Sequence[Point]) -> Point | None:
    """The least time; None without points."""
    return min(points, key=by_time, default=None)


def leaders(points: Sequence[Point]) -> list[Point]:
    """The fastest of points of one size by the report's tests, then those that do not differ significantly from it.

    The search begins at the least median and moves to a significantly faster point, the one with the largest ratio.
    """
    best, tried = fastest(points), set()
    while best is not None and best.name not in tried:
        tried.add(best.name)
        found = judge({i: ratio(p, best) for i, p in enumerate(points) if p is not best})
        faster = [(r.value, i) for i, r in found.items() if r.verdict == FASTER]
        if not faster:
            return [best, *sorted((points[i] for i, r in found.items() if r.is_level), key=by_time)]
        best = points[max(faster)[1]]
    return [best] if best is not None else []


def best_variants(points: Sequence[Point]) -> list[Point]:
    """Each kernel's fastest variant at each size, in the ladder's order."""
    groups: dict[tuple, list[Point]] = {}
    for point in sorted(points, key=order):
        groups.setdefault((point.kernel.name, point.size_key), []).append(point)
    return [min(group, key=by_time) for group in groups.values()]


@dataclass(frozen=True)
class Companions:
    """The sidecar files that an experiment may use."""

    hazards: tuple[HazardFile, ...] = ()
    """The newest file of each program, the emulator's first."""
    emulators: EmulatorFile | None = None
    wrong_results: WrongResults | None = None


@dataclass(frozen=True)
class View:
    """One experiment: its declaration and the parts of its runs. Points of other experiments are not in it."""

    name: str
    title: str
    question: str
    chapter: float
    settings: Mapping[str, object]
    """The TOML's [report] table."""
    references: tuple[Reference, ...]
    cpu: Part | None = None
    gpu: Part | None = None
    counts: Part | None = None
    """The part that the emulator counted."""
    others: tuple[Part, ...] = ()
    """The CPU's part on further machines, newest first."""
    companions: Companions = Companions()
    host: Mapping[str, Part] = field(default_factory=dict)
    """By side, the parts timed on the kind of host on which the study compares GPU and CPU; they may differ from those above."""
    joined: Mapping[str, object] = field(default_factory=dict)
    """The sections of the experiments named in `[report] joins`."""
    suite: tuple[View, ...] = ()
    """The views of all experiments, for an experiment with `[report] collects = true`."""

    @property
    def parts(self) -> list[Part]:
        return [part for part in (self.cpu, self.gpu, self.counts) if part]

    @property
    def timed_parts(self) -> list[Part]:
        return [part for part in (self.cpu, self.gpu) if part]

    @property
    def comparable(self) -> list[Part]:
        """The parts of the two sides that may be compared, from one kind of host; only one if not both were timed there."""
        return list(self.host.values()) if len(self.host) == len(SIDE_NAME) else self.timed_parts[:1]

    def left_out(self) -> list[tuple[str, Point]]:
        """(side's name, point) of all that was skipped or failed."""
        return [(SIDE_NAME[p.kernel.side], p) for part in self.parts for p in part.run.points if p.skipped or p.failed]


def collecting(view: View, views: Iterable[View]) -> View:
    """The view, with all views of the study if the experiment collects them."""
    return replace(view, suite=tuple(views)) if view.settings.get("collects") else view
