"""The frozen records that everything after loading works on. Times in seconds; rates in the problem's own metric."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from report.data.statistics import BETWEEN_RUNS, FEWEST_FOR_INTERVAL, Summary
from report.data.timeline import Span
from report.missing import complete, needed

RECORDED_FOLDER = ("experiments", "recorded")
HOT, COLD, COUNT = "hot", "cold", "count"
DISTURBED = "disturbed"
"""Why sampling ended where other work left no time for undisturbed samples."""
SIDES = ("cpu", "gpu")
SIDE_NAME = {"cpu": "CPU", "gpu": "GPU"}
SQUARE = {"m", "n", "k"}
"""Sizes that are equal in a square problem."""
SWEPT = "shared_bytes_added"
"""Counter of points whose occupancy was lowered by unused shared memory (bytes)."""


@dataclass(frozen=True)
class Metric:
    """The metric of a problem's performance. The unit's prefix (G) is the scale of `key` in the results."""

    key: str
    unit: str

    @property
    def is_rate(self) -> bool:
        """Whether more is better; else (seconds, ulp) less is."""
        return self.key in (GFLOPS.key, GBYTES.key) or self.key.endswith("_per_s")


GFLOPS, GBYTES = Metric("gflops", "GFLOP/s"), Metric("gbytes_per_s", "GB/s")
SECONDS = Metric("seconds", "s")


@dataclass(frozen=True)
class Problem:
    """A family of kernels that compute the same thing."""

    family: str
    title: str
    metric: Metric
    size_names: tuple[str, ...] = ()


@dataclass(frozen=True)
class Reference:
    """A place in a document: a key of experiments/sources.toml (empty in old files) and where in it."""

    id: str
    where: str


@dataclass(frozen=True)
class Kernel:
    """A kernel's record."""

    name: str
    title: str
    idea: str
    sources: tuple[Reference, ...]
    order: int
    side: str
    family: str
    type: str
    is_library: bool
    is_serial: bool = False
    """Uses one thread, however many it is given, and is judged by one thread's roofs."""
    ceiling_label: str | None = None
    ceiling_is_bandwidth: bool = False

    @property
    def is_ceiling(self) -> bool:
        return self.ceiling_label is not None


@dataclass(frozen=True)
class Flag:
    """An entry, or one of its fields, that was left out of the statistics, with the reason."""

    file: str
    entry: str
    reason: str


@dataclass(frozen=True)
class Point:
    """One point of a sweep: a kernel at given sizes and tunables in one mode, with every sample (seconds a call)."""

    name: str
    kernel: Kernel
    mode: str
    sizes: dict[str, float | str]
    """Numbers, or words where the problem's sizes are words."""
    tunables: dict[str, float | str]
    metric: Metric = GFLOPS
    amount: float | None = None
    """The amount of one call, in the metric's unit times seconds: value = amount / time. None where there is no rate."""
    times: tuple[float, ...] = ()
    states: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    """Of each of its times, the clock and the power, where every sample has a reading."""
    turns: tuple[int, ...] = ()
    """The repetition of each of its times. Times of interleaved points with the same number are of the same round."""
    summary: Summary | None = None
    batch: int = 1
    threads: int = 1
    counters: dict[str, float] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    judged: dict[str, float] = field(default_factory=dict)
    """Named values of the problem's judge (max_ulp, order_of_convergence …)."""
    skipped: str | None = None
    failed: str | None = None
    swept_threads: bool = False
    """Whether the same was timed on other numbers of threads."""
    oversubscribed: bool = False
    group: str = ""
    """Its samples were interleaved with the samples of the run's other points of this group; empty for a point alone."""
    data: str = ""  # the named data set that was timed
    run: str = ""  # the file that it comes from
    takes: tuple[float, ...] = ()
    """Of a ceiling that was measured again: each median (seconds), in order. `times` are of the measurement with the lowest."""
    timeline: tuple[Span, ...] = ()
    """Of one run outside the samples, where the kernel reports one."""
    disturbed: int = 0
    """The number of samples that other work disturbed. They are left out of `times`, unless too few others are left (`is_disturbed`)."""
    left_out: int = 0
    """The number of disturbed samples that are left out of `times`."""
    median_of_all: float | None = None
    """The median time including the samples that are left out (seconds)."""
    is_watched: bool = False
    """Whether the recorder watched other work during the samples; otherwise none could be marked."""
    waited: float = 0.0
    """The share of its time that its threads waited for a processor, over all samples."""
    between: float = BETWEEN_RUNS
    """The relative difference that medians of two runs of this machine may have with nothing changed, with 95 %."""
    elsewhere: Mapping[str, float] = field(default_factory=dict)
    """Of a roof: the relative difference from the median of the same code in each other run of the machine."""

    @property
    def is_disturbed(self) -> bool:
        """Whether it could not be measured undisturbed: its median may exceed the time without the other work."""
        return self.labels.get("stop_reason") == DISTURBED or (self.disturbed > 0 and not self.left_out)

    @property
    def moved_by_all(self) -> float:
        """The relative change of the median if the samples that are left out counted; above 0: longer."""
        return (self.median_of_all or self.timing.median) / self.timing.median - 1 if self.left_out else 0.0

    @property
    def is_out_of_interval_with_all(self) -> bool:
        """Whether the median including the samples that are left out is outside the point's interval."""
        ends, middle = self.timing.interval if self.left_out else None, self.median_of_all
        return ends is not None and middle is not None and not ends[0] <= middle <= ends[1]

    @property
    def is_decided_by_leaving_out(self) -> bool:
        """Whether the choice of samples matters more than their scatter: fewer than half of all are left, or too few for an
        interval, or the interval excludes the median of all."""
        few = len(self.times) < max(FEWEST_FOR_INTERVAL, self.left_out)
        return bool(self.left_out) and (few or self.is_out_of_interval_with_all)

    @property
    def sampled(self) -> dict[str, float | None]:
        """For a row: the numbers of samples that count and that are left out, the median time without and with the latter."""
        return {"samples": len(self.times), "left_out": self.left_out, "median_seconds": self.timing.median,
                "median_of_all_seconds": self.median_of_all or self.timing.median} if self.is_timed else {}

    @property
    def extremes(self) -> tuple[float, float]:
        """The shortest and the longest time; for a disturbed point the shortest may be less, without its waits."""
        ends = self.timing.interval if self.is_disturbed else None
        return min((*self.times, *(ends[:1] if ends else ()))), max(self.times)

    @property
    def is_timed(self) -> bool:
        return self.summary is not None and self.mode != COUNT

    @property
    def timing(self) -> Summary:
        """The summary of a point that has one."""
        return needed(self.summary, f"the time of {self.name}")

    @property
    def is_counted(self) -> bool:
        return self.mode == COUNT and bool(self.counters)

    @property
    def n(self) -> float | None:
        """The side of a square problem, or its only size (ignoring sizes that are no sides, such as steps)."""
        sides = {v for k, v in self.sizes.items() if k in SQUARE}
        only = None
        if len(sides) == 1 and ("n" in self.sizes):
            only = sides.pop()
        elif len(self.sizes) == 1:
            only = next(iter(self.sizes.values()))
        return None if isinstance(only, str) else only

    @property
    def is_product(self) -> bool:
        """Whether it multiplies matrices of m × k and k × n."""
        return self.sizes.keys() >= SQUARE and self.metric == GFLOPS

    @property
    def size_key(self) -> tuple[tuple[str, float | str], ...]:
        return tuple(sorted(self.sizes.items()))

    @property
    def size_text(self) -> str:
        """'N = 4096' for a square problem, else '1000 × 16 × 300 (m × n × k)' or 'bytes = 65536'."""
        rest = {k: v for k, v in self.sizes.items() if k not in SQUARE} if self.n is not None else self.sizes
        if self.n is not None and "n" in self.sizes:
            return ", ".join([f"N\u00a0=\u00a0{_plain(self.n)}", *(f"{k}\u00a0=\u00a0{_plain(v)}" for k, v in rest.items())])
        if len(self.sizes) > 1 and self.sizes.keys() <= SQUARE:
            return f"{' × '.join(map(_plain, self.sizes.values()))} ({' × '.join(self.sizes)})"
        return ", ".join(f"{k}\u00a0=\u00a0{_plain(v)}" for k, v in self.sizes.items()) or "one size"

    @property
    def variant(self) -> str:
        """The tunables: 'tile 16', or nothing."""
        return ", ".join(f"{k} {_plain(v)}" for k, v in self.tunables.items())

    @property
    def title(self) -> str:
        """The kernel's title with its tunables: 'tiled (tile 16)'."""
        return f"{self.kernel.title} ({self.variant})" if self.tunables else self.kernel.title

    @property
    def identity(self) -> tuple:
        """The key of the same code at the same size, whatever the data set, mode and number of threads."""
        return (self.kernel.name, self.size_key, tuple(sorted((k, str(v)) for k, v in self.tunables.items())),
                self.counters.get(SWEPT, 0.0))

    def value_at(self, seconds: float) -> float | None:
        """The metric's value for a call that takes `seconds`."""
        if self.metric == SECONDS:
            return seconds
        return self.amount / seconds if self.amount else None

    @property
    def value(self) -> float | None:
        """The metric at the median time, or the judge's value of that name."""
        if self.metric.key in self.judged:
            return self.judged[self.metric.key]
        return self.value_at(self.timing.median) if self.is_timed else None

    @property
    def known_value(self) -> float:
        """The value of a point that has one."""
        return needed(self.value, f"the value of {self.name}")

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95 % interval of the median within the run, as the metric's value; None below six samples."""
        ends = self.timing.interval if self.is_timed else None
        if not (values := ends and complete(map(self.value_at, ends))):
            return None
        return min(values), max(values)

    def per_second(self, counter: str) -> float | None:
        """A counter over the median time, in units of 1e9 a second."""
        amount = self.counters.get(counter)
        return amount / self.timing.median / 1e9 if amount and self.is_timed else None

    @property
    def flops(self) -> float | None:
        """Useful operations of one call."""
        return self.counters.get("flops_useful") or None

    @property
    def does_other_operations(self) -> bool:
        """Whether its algorithm is not the usual one (Strassen's; parts of narrower types): its useful operations are not
        those that it does, so that no peak is a roof for them. Its error has a bound of its own."""
        return "error_factor" in self.counters

    @property
    def gflops(self) -> float | None:
        return self.per_second("flops_useful")

    @property
    def gbytes(self) -> float | None:
        """Compulsory bytes over the median time (GB/s)."""
        return self.per_second("bytes_min")

    @property
    def requested_intensity(self) -> float | None:
        """Useful FLOP per byte that the code loads from global memory, before any cache."""
        declared = self.counters.get("op_per_byte_declared")
        loaded = self.counters.get("bytes_declared_loaded")
        return declared or (self.flops / loaded if self.flops and loaded else None)

    @property
    def joules(self) -> float | None:
        """Energy of one call by an energy counter; a momentary power reading is none."""
        return self.counters.get("energy_j")

    @property
    def settled(self) -> bool:
        """Whether the harness's stop rule was met, and not by which samples are left out, so that the point may be drawn filled."""
        is_met = self.labels.get("stop_reason", "converged") in ("converged", "ratios converged")
        return is_met and not self.is_disturbed and not self.is_decided_by_leaving_out


def _plain(value: float | str) -> str:
    """'4096', '1\u202f073\u202f741\u202f824', '0.25', 'exp'."""
    if isinstance(value, str):
        return value
    return f"{value:,.0f}".replace(",", "\u202f") if value >= 1e4 else f"{value:g}"


@dataclass(frozen=True)
class Machine:
    """A CPU or a GPU that was measured. GPUs of one name are distinguished by their UUID."""
    side: str
    name: str
    id: str
    """Equal for two runs of the same machine."""

    @property
    def board(self) -> str:
        """The first digits of a GPU's UUID; empty without one."""
        return self.id[4:8] if self.id.startswith("GPU-") else ""

    @property
    def label(self) -> str:
        return f"{self.name} (board {self.board})" if self.board else self.name


@dataclass(frozen=True)
class Run:
    """One result file."""

    path: Path
    context: dict
    kernels: dict[str, Kernel]
    problems: dict[str, Problem]
    points: tuple[Point, ...]
    flags: tuple[Flag, ...]

    @property
    def experiment(self) -> str:
        return self.context["experiment"]

    @property
    def date(self) -> str:
        return self.context["date"]

    @property
    def day(self) -> str:
        return self.date[:10]

    @property
    def is_recorded(self) -> bool:
        """Whether it is a run that ships with the project."""
        parts = self.path.resolve().parts
        return RECORDED_FOLDER in zip(parts, parts[1:])

    @property
    def complete(self) -> bool:
        return bool(self.context.get("complete", False))

    @property
    def refused(self) -> dict[str, str]:
        """Kernels of the experiment that were refused because of their records: the reasons by name."""
        found = self.context.get("refused_kernels")
        return {str(name): str(reason) for name, reason in found.items()} if isinstance(found, dict) else {}

    def machine(self, side: str) -> Machine:
        c = self.context
        if side == "gpu":
            name = str(c.get("gpu_name") or "")
            return Machine(side, name, str(c.get("gpu_uuid") or name))
        cores = c.get("cpu_cores")
        name = re.sub(r"\((R|TM|C)\)", "", str(c.get("cpu_name") or "unknown CPU"))
        return Machine(side, f"{name}, {cores} core{'s' * (cores != 1)}" if cores else name, f"{name}/{cores}")

    def times(self, side: str) -> bool:
        """Whether it has timings of that side."""
        return any(p.is_timed and p.kernel.side == side for p in self.points)

    @property
    def counts(self) -> bool:
        return any(p.is_counted for p in self.points)


@dataclass(frozen=True)
class Source:
    """A file that was looked at: used, or left out with a reason."""

    path: str
    kind: str
    used: bool
    note: str
