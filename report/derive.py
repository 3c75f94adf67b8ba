"""What the figures and sentences need, found in the data: rungs, roofs, bests, the textbook's pair, speed-ups.

No kernel and no device is known by name here; order, precision, side and counters decide.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from statistics import median

from report import counters, stats, threads
from report.records import COLD, COUNT, EMULATOR, HOT, Kernel, Point, Roof, Side, Study

TEXTBOOK_INTENSITIES = (0.25, 4.0)
"""FLOP per requested byte of the textbook's naive kernel and of its 16 × 16 tiles (4 B elements)."""
COVERAGE = 0.95
"""A size is common if so large a part of the kernels was measured there."""
SWEPT = "shared_bytes_added"
"""Counter of points that were handicapped on purpose, by shared memory that nobody uses (bytes)."""


@dataclass(frozen=True)
class Rung:
    """A kernel's fastest variant at the compared size, or at its own largest one, beside what it is compared with.

    Every comparison is within one size: `step_n` is the largest that this rung and the one before share.
    """

    point: Point
    number: int
    elsewhere: bool
    step: float | None
    step_n: int | None
    step_verdict: str
    library_share: float | None
    roof_share: float | None


@dataclass(frozen=True)
class SpeedUp:
    """Best CPU time over one GPU point's time at one size, without and with host–device copies."""

    n: int
    cpu: Point
    gpu: Point
    ratio: float
    interval: tuple[float, float] | None
    transfer: float | None
    borrowed: bool
    with_transfer: float | None
    with_interval: tuple[float, float] | None


def precision_token(text: str) -> str:
    """'fp32' from 'FP32 FMA', 'bf16' from 'bf16→fp32'; empty if there is none."""
    words = "".join(c if c.isalnum() else " " for c in text.lower()).split()
    return next((w for w in words if w.rstrip("0123456789") in ("fp", "tf", "bf", "int") and w[-1].isdigit()), "")


def main_family(study: Study) -> str:
    """The family with most timed kernels; families on both sides go first."""
    sides, kernels = defaultdict(set), defaultdict(set)
    for side in study.sides.values():
        for point in side.points:
            if point.is_timed and point.flops and not point.kernel.is_ceiling:
                sides[point.kernel.family].add(side.name)
                kernels[point.kernel.family].add(point.kernel.name)
    return max(sorted(kernels), key=lambda f: (len(sides[f]), len(kernels[f])), default="")


def main_mode(points: list[Point]) -> str:
    """The mode that figures show: hot where there is any, else cold."""
    return HOT if any(p.mode == HOT for p in points) else COLD


def timed(side: Side | None, family: str, every_mode: bool = False) -> list[Point]:
    """Timed points of a family with a rate, in the side's main mode unless every mode is wanted.

    Points of the occupancy experiment are among them only if there are no others; handicapped ones never are. Of a
    sweep over threads those on all of the machine's are.
    """
    points = [p for p in side.points if p.is_timed and p.flops and p.kernel.family == family
              and not p.kernel.is_ceiling and not p.counters.get(SWEPT)] if side else []
    points = threads.of_machine(side, [p for p in points if p.name not in side.varied] or points) if side else []
    return points if every_mode else [p for p in points if p.mode == main_mode(points)]


def fastest(points: list[Point]) -> Point | None:
    return max(points, key=lambda p: (p.gflops, p.name), default=None)


def by_kernel(points: list[Point]) -> dict[str, list[Point]]:
    groups: dict[str, list[Point]] = defaultdict(list)
    for point in sorted(points, key=lambda p: (p.kernel.order, p.kernel.name)):
        groups[point.kernel.name].append(point)
    return dict(groups)


def common_size(points: list[Point]) -> int | None:
    """The largest square size at which (nearly) all kernels were measured."""
    kernels: dict[int, set[str]] = defaultdict(set)
    for point in points:
        if point.n:
            kernels[point.n].add(point.kernel.name)
    if not kernels:
        return None
    most = max(len(names) for names in kernels.values())
    return max(n for n, names in kernels.items() if len(names) >= COVERAGE * most)


def ladder_key(point: Point) -> tuple:
    """Sorts points as on the ladder, variants by the numbers of their tunables, then by size."""
    return (point.kernel.order, point.kernel.name, tuple(point.tunables.values()), point.n or 0, point.name)


def best_variants(points: list[Point], n: int | None) -> list[Point]:
    """Each kernel's fastest variant at the square size n, in the ladder's order."""
    return [fastest(group) for group in by_kernel([p for p in points if p.n == n]).values()]


def main_precision(study: Study) -> str:
    """The precision that most kernels of the main family share (the CPU's where there is a CPU)."""
    family = main_family(study)
    for side in (study.cpu, study.gpu):
        kernels = {p.kernel.name: p.kernel.precision for p in timed(side, family)}
        if kernels:
            return Counter(sorted(kernels.values())).most_common(1)[0][0]
    return "fp32"


def in_precision(points: list[Point], precision: str) -> list[Point]:
    return [p for p in points if p.kernel.precision == precision]


def compute_roofs(side: Side, precision: str | None = None, measured: bool = True) -> list[Roof]:
    """Compute ceilings, lowest first; of one precision if it is given (unnamed ones count as fp32)."""
    roofs = [r for r in threads.whole_machine(side.roofs) if not r.is_bandwidth and r.measured == measured]
    if precision:
        wanted = precision_token(precision)
        roofs = [r for r in roofs if roof_precision(r) == wanted]
    return sorted(roofs, key=lambda r: (r.value, r.label))


def roof_precision(roof: Roof) -> str:
    return precision_token(roof.label) or precision_token(roof.precision or "") or "fp32"


def peak(side: Side, precision: str, measured: bool = True) -> Roof | None:
    """The highest compute ceiling in that precision."""
    roofs = compute_roofs(side, precision, measured)
    return roofs[-1] if roofs else None


def memory_level(label: str) -> str:
    """'DRAM', 'L3', 'L2', 'L1' or the label itself: readings of one level share a roof."""
    words = label_words(label)
    return next((level for level in ("DRAM", "HBM", "L3", "L2", "L1", "SHARED") if level in words), label)


def label_words(label: str) -> list[str]:
    return "".join(c if c.isalnum() else " " for c in label.upper()).split()


def bandwidth_roofs(side: Side, measured: bool = True, highest: bool = False) -> list[Roof]:
    """One roof for each memory level, fastest level first: that with the level's own name, else its highest reading.

    `highest` asks for the highest reading in any case, which nothing can be above.
    """
    levels: dict[str, Roof] = {}
    for roof in sorted(threads.whole_machine(side.roofs), key=lambda r: (r.value, r.label)):
        level = memory_level(roof.label)
        if roof.is_bandwidth and roof.measured == measured and (
                highest or level not in levels or levels[level].label != level):
            levels[level] = roof
    return sorted(levels.values(), key=lambda r: (-r.value, r.label))


def dram_roof(side: Side, highest: bool = False) -> Roof | None:
    """The measured memory roof: the level called DRAM, else the slowest measured level."""
    roofs = bandwidth_roofs(side, highest=highest)
    named = [r for r in roofs if memory_level(r.label) in ("DRAM", "HBM")]
    return named[0] if named else (roofs[-1] if roofs else None)


def counters_of(side: Side, point: Point) -> dict[str, float]:
    """Hardware counters of a point, by its name without the mode's suffix; empty if there are none of one call."""
    name = "/".join(part for part in point.name.split("/") if not part.startswith("mode:"))
    found = side.counters.get(point.name) or side.counters.get(name) or {}
    return found if counters.are_of_one(found, point.flops) else {}


def dram_intensity(side: Side, point: Point) -> float | None:
    """FLOP per byte moved to or from DRAM, by the hardware counters."""
    moved = counters_of(side, point).get("dram_bytes")
    if moved and point.flops:
        return point.flops / moved
    return point.counters.get("op_per_byte_dram")


def comparison_size(study: Study) -> int | None:
    """The size at which the sides are compared: the largest that the best codes of every side were measured at.

    The best codes of a side are its libraries in the main precision, or, without any, its fastest kernel.
    """
    family, precision, shared = main_family(study), main_precision(study), None
    for side in study.sides.values():
        points = [p for p in in_precision(timed(side, family), precision) if p.n]
        if points:
            sizes = _best_codes_sizes(points)
            shared = sizes if shared is None else shared & sizes
    return max(shared) if shared else None


def _best_codes_sizes(points: list[Point]) -> set[int]:
    codes = [p for p in points if p.kernel.is_library]
    codes = codes or [p for p in points if p.kernel == fastest(points).kernel]
    return set.intersection(*({p.n for p in group} for group in by_kernel(codes).values()))


def side_size(study: Study, side: Side) -> int | None:
    """The compared size, or the largest common one of a side that has no point there."""
    points, n = timed(side, main_family(study)), comparison_size(study)
    return n if any(p.n == n for p in points) else common_size(points)


def rungs(study: Study, side: Side | None) -> list[Rung]:
    """The ladder of one side at the compared size; kernels that lack it stand at their own largest size."""
    groups = by_kernel([p for p in timed(side, main_family(study)) if p.n])
    n, before, made = side_size(study, side) if side else None, {}, []
    everything = [p for group in groups.values() for p in group]
    for number, group in enumerate(groups.values(), 1):
        at = n if any(p.n == n for p in group) else max(p.n for p in group)
        point = fastest([p for p in group if p.n == at])
        precision = point.kernel.precision
        library = fastest([p for p in in_precision(everything, precision) if p.kernel.is_library and p.n == at])
        roof = peak(side, precision)
        made.append(Rung(
            point, number, at != n, *_step(group, before.get(precision, []), at),
            library_share=point.gflops / library.gflops if library else None,
            roof_share=point.gflops / roof.value if roof else None))
        if not point.kernel.is_library:
            before[precision] = group
    return made


def _step(group: list[Point], before: list[Point], n: int) -> tuple[float | None, int | None, str]:
    """Factor over the rung before, the size of that comparison (n where both have it) and the verdict."""
    shared = {p.n for p in group} & {p.n for p in before}
    if not shared:
        return None, None, ""
    at = n if n in shared else max(shared)
    new, old = (fastest([p for p in points if p.n == at]) for points in (group, before))
    return new.gflops / old.gflops, at, stats.compare(new.summary, old.summary)


def counted(study: Study) -> list[Point]:
    """Every counted point: the study's, and those of the runs whose timings are shown."""
    points = {p.name: p for run in study.runs for p in run.points if p.mode == COUNT and p.counters}
    return list((points | {p.name: p for p in study.counts if p.counters}).values())


def compared_names(study: Study) -> set[str]:
    """Points that are there to be compared with the hardware's counters and in no table or figure else."""
    return {p.name for run in study.runs if run.experiment == EMULATOR for p in run.points}


def is_strided(point: Point) -> bool:
    """Whether it is of a sweep over strides, which has a figure of its own."""
    return "stride" in point.tunables


def counted_size(study: Study) -> int | None:
    """The largest size at which hardware counters exist for (nearly) all kernels that have any."""
    points = timed(study.gpu, main_family(study))
    return common_size([p for p in points if counters_of(study.gpu, p).get("dram_bytes")])


def textbook_pair(study: Study, n: int | None = None) -> tuple[Point, Point] | None:
    """The textbook's naive kernel and its first tiled one on the GPU, by their requested FLOP per byte.

    At size n, else at the compared size.
    """
    family, precision = main_family(study), main_precision(study)
    points = [p for p in in_precision(timed(study.gpu, family), precision)
              if p.requested_intensity and not p.kernel.is_library]
    n = n or comparison_size(study)
    points = [p for p in points if p.n == (n if any(p.n == n for p in points) else common_size(points))]
    if not points:
        return None
    lowest = min(p.requested_intensity for p in points)
    naive = fastest([p for p in points if p.requested_intensity < 1.05 * lowest])
    later = [p for p in points if p.kernel.order > naive.kernel.order
             and p.requested_intensity > 2 * naive.requested_intensity]
    exact = [p for p in later if abs(p.requested_intensity / TEXTBOOK_INTENSITIES[1] - 1) < 0.05] or later
    if not exact:
        return None
    first = min(exact, key=lambda p: (p.kernel.order, p.name)).kernel.name
    pool = [p for p in exact if p.kernel.name == first]
    fewest = min(len(p.tunables) for p in pool)
    return naive, fastest([p for p in pool if len(p.tunables) == fewest])


def best_per_size(side: Side | None, family: str, precision: str) -> dict[int, Point]:
    """The fastest point of each square size in one precision."""
    groups: dict[int, list[Point]] = defaultdict(list)
    for point in in_precision(timed(side, family), precision):
        if point.n:
            groups[point.n].append(point)
    return {n: fastest(groups[n]) for n in sorted(groups)}


def transfer_seconds(side: Side, point: Point) -> tuple[float | None, bool]:
    """Seconds of the copies to and from the GPU, and whether they were borrowed.

    Copies depend on the operands alone, so a point without them takes the median over the kernels of its size and
    precision.
    """
    own = point.counters.get("transfer_seconds")
    if own is not None:
        return own, False
    others = [p.counters["transfer_seconds"] for p in side.points
              if "transfer_seconds" in p.counters and p.size_key == point.size_key
              and p.kernel.family == point.kernel.family and p.kernel.precision == point.kernel.precision]
    return (median(others), True) if others else (None, False)


def speed_up(side: Side, cpu: Point, gpu: Point) -> SpeedUp:
    """Speed-up of one GPU point of `side` over one CPU point, with conservative intervals."""
    transfer, borrowed = transfer_seconds(side, gpu)
    base, time = cpu.summary, gpu.summary
    return SpeedUp(
        gpu.n, cpu, gpu, base.median / time.median, stats.ratio_interval(base, time), transfer, borrowed,
        base.median / (time.median + transfer) if transfer is not None else None,
        stats.ratio_interval(base, time, transfer) if transfer is not None else None)


def speed_ups(study: Study, kernel: Kernel | None = None) -> list[SpeedUp]:
    """Per common square size: the best GPU code (or one kernel's best variant) against the best CPU code."""
    family, precision = main_family(study), main_precision(study)
    cpu = best_per_size(study.cpu, family, precision)
    gpu = best_per_size(study.gpu, family, precision)
    if kernel:
        own = [p for p in timed(study.gpu, family) if p.kernel.name == kernel.name]
        gpu = {n: fastest([p for p in own if p.n == n]) for n in sorted({p.n for p in own if p.n})}
    return [speed_up(study.gpu, cpu[n], gpu[n]) for n in sorted(cpu.keys() & gpu.keys())]


def own_hosts(study: Study) -> list[Study]:
    """The study with the CPU beside which the GPU was measured, where that is not the CPU at hand."""
    gpu = study.gpu.machine if study.gpu else ""
    beside = {run.machine_of("cpu") for run in study.runs if run.has_rates("gpu") and run.machine_of("gpu") == gpu}
    return [replace(study, sides={"cpu": other, "gpu": study.gpu}) for other in study.others
            if other.machine in beside and study.cpu and study.cpu.machine not in beside]


def wins_from(speedups: list[SpeedUp], with_transfer: bool) -> int | None:
    """The smallest measured size from which on the GPU's interval stays above 1; None if it never does."""
    winner = None
    for s in reversed(speedups):
        ends = s.with_interval if with_transfer else s.interval
        if not ends or ends[0] <= 1:
            break
        winner = s.n
    return winner


def errors(study: Study) -> list[str]:
    """Points above a ceiling by more than their interval: a fault of a count, a clock or a roof."""
    notes = []
    for side in (*study.sides.values(), *study.others):
        one = threads.one_core(side)
        alone = {p.name: one for p in one.points} if one else {}
        for point in side.points:
            if point.is_timed and not point.kernel.is_ceiling:
                notes += _above(alone.get(point.name, side), point)
    return notes


def _above(side: Side, point: Point) -> list[str]:
    notes = []
    rate = point.gflops_interval[0] if point.gflops_interval else point.gflops
    roof = peak(side, point.kernel.precision)
    if rate and roof and rate > roof.value:
        notes.append(f"{point.name}: {rate:.4g} GFLOP/s is above the measured {roof.label} ceiling of {roof.value:.4g}")
    dram, intensity = dram_roof(side, highest=True), dram_intensity(side, point)
    if rate and dram and intensity and rate > intensity * dram.value:
        notes.append(f"{point.name}: {rate:.4g} GFLOP/s at {intensity:.3g} FLOP per DRAM byte is above the measured "
                     f"{dram.label} ceiling of {dram.value:.4g} GB/s")
    levels = bandwidth_roofs(side, highest=True)
    bound = dram if point.mode == COLD else (levels[0] if levels else None)
    amount = point.counters.get("bytes_min")
    slowest = point.summary.high or point.summary.median
    if amount and bound and amount / slowest / 1e9 > bound.value:
        notes.append(f"{point.name}: {amount / slowest / 1e9:.4g} GB/s of compulsory bytes is above the measured "
                     f"{bound.label} ceiling of {bound.value:.4g} GB/s")
    return notes
