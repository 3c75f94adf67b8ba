"""What limits each rung of the GPU's ladder: counts of the hardware over measured times over measured roofs.

No time is taken under a profiler: the counts are of runs of their own, the times of the same kernel, tunables and size
without one. After S. Williams, A. Waterman, D. Patterson, Roofline (2009), with a roof for each resource.
"""

from __future__ import annotations

from dataclasses import dataclass

from report import blocks, captions, derive, fmt, steps
from report.records import Point, Roof, Side, Study
from report.steps import Ratio

DRAM, L2, SHARED, ISSUE, ARITHMETIC = RESOURCES = "DRAM", "L2", "shared memory", "instruction issue", "arithmetic"
LEVELS = {"DRAM": DRAM, "HBM": DRAM, "L2": L2, "SHARED": SHARED}
"""The resources that have a bandwidth, by the level in its roof's label."""
LEAST = 0.6
"""So large a share of a roof limits."""
LEAST_CHANGE = 0.05
"""A share that differs by less is said to be the same."""
WAVEFRONT = 128
"""Bytes that shared memory serves in one wavefront: 32 banks of 4."""
SCHEDULERS = 4
"""Of each multiprocessor, each of which issues one warp instruction a cycle."""


@dataclass(frozen=True)
class Limited:
    """A rung's (or a peer's) fastest variant, the share of each known resource, and the rung below where it has one."""

    point: Point
    is_own: bool
    shares: dict[str, float]
    below: Limited | None = None
    over: Ratio | None = None

    @property
    def nearest(self) -> tuple[str, float]:
        """The resource with the largest share."""
        return max(self.shares.items(), key=lambda item: item[1])

    @property
    def limit(self) -> tuple[str, float] | None:
        return self.nearest if self.nearest[1] >= LEAST else None

    @property
    def verdict(self) -> str:
        """'shared memory, 0.83'; that none limits only where no resource is unknown."""
        if self.limit:
            return "{}, {:.2f}".format(*self.limit)
        return f"none above {LEAST}" if len(self.shares) == len(RESOURCES) else (
            f"none of those known above {LEAST}")


def shares(side: Side, point: Point) -> dict[str, float]:
    """Of each resource the part of its roof that the point uses; without its counter or its roof it is left out.

    Empty without any counter. The caches are empty before a call that is counted, not before one that is timed hot:
    sizes whose operands stay in the L2 move less than this says. What cp.async and TMA write into shared memory is in
    no wavefront of a store.
    """
    counters, peak = derive.counters_of(side, point), derive.peak(side, point.kernel.precision)
    used = {DRAM: counters.get("dram_bytes"), L2: counters.get("l2_bytes"), SHARED: _shared_bytes(counters),
            ISSUE: counters.get("instructions"), ARITHMETIC: point.flops}
    most = {name: roof.value * 1e9 for name, roof in _bandwidths(side).items()}
    most |= {ISSUE: _issue_slots(side, point), ARITHMETIC: peak.value * 1e9 if peak else None}
    made = {name: used[name] / point.summary.median / most[name] for name in RESOURCES
            if used[name] is not None and most.get(name)}
    return made if made.keys() - {ARITHMETIC} else {}


def _bandwidths(side: Side) -> dict[str, Roof]:
    """The measured roof of each resource that has a bandwidth."""
    roofs = {derive.memory_level(roof.label): roof for roof in derive.bandwidth_roofs(side)}
    return {LEVELS[level]: roof for level, roof in roofs.items() if level in LEVELS}


def _shared_bytes(counters: dict[str, float]) -> float | None:
    """By the wavefronts of loads and stores; by the exact ones where both are known."""
    for suffix in ("_exact", ""):
        both = [counters.get(f"shared_{kind}_wavefronts{suffix}") for kind in ("load", "store")]
        if None not in both:
            return sum(both) * WAVEFRONT
    return None


def _issue_slots(side: Side, point: Point) -> float | None:
    """Warp instructions that the GPU can issue in a second at the clock of the samples."""
    clock, count = point.counters.get("sm_clock_mhz"), side.context.get("gpu_sm_count")
    return clock * 1e6 * count * SCHEDULERS if clock and isinstance(count, int) else None


def size(study: Study, side: Side) -> int | None:
    """The largest size at which (nearly) as many kernels' fastest variants have counters as at any."""
    precision = derive.main_precision(study)
    points = derive.in_precision(derive.timed(side, derive.main_family(study)), precision)
    return derive.common_size([p for n in steps.sizes(study, side, precision) for p in derive.best_variants(points, n)
                               if shares(side, p)])


def ladder(study: Study, side: Side | None) -> list[Limited]:
    """Own rungs from the bottom, then the peers, in the main precision; those without counters are left out."""
    n = size(study, side) if side else None
    made, below = [], None
    for step in steps.at_size(study, side, derive.main_precision(study), n) if n else []:
        rung = Limited(step.point, step.number is not None, shares(side, step.point), below, step.below)
        made.append(rung)
        below = rung
    return [rung for rung in made if rung.shares]


def section(study: Study, side: Side | None) -> list[dict]:
    """A reading and a table; nothing without counters."""
    found = ladder(study, side)
    if not found:
        return []
    text = reading(found)
    return [blocks.subheading("What limits each rung"), *([blocks.reading(text)] if text else []),
            _table(study, side, found)]


def reading(found: list[Limited]) -> str:
    """What limits the lowest rung and the fastest, and what changed where a rung is not faster than the one below."""
    own = [rung for rung in found if rung.is_own]
    if not own:
        return ""
    bottom, top = own[0], max(own, key=lambda r: (r.point.gflops, r.point.name))
    text = f"At N = {bottom.point.n} {_held(bottom, 'the lowest rung with counters')}"
    text += f"; {_held(top, 'the fastest')}." if top is not bottom else "."
    return " ".join([text, *(_no_gain(rung) for rung in own if _is_no_faster(rung))])


def _held(rung: Limited, which: str) -> str:
    name, share = rung.nearest
    if rung.limit:
        return f"{rung.point.title}, {which}, is limited by {name} ({share:.2f} of its roof)"
    return f"{rung.point.title}, {which}, is near none of its known roofs; the nearest is {name} ({share:.2f})"


def _is_no_faster(rung: Limited) -> bool:
    known = rung.below and rung.below.is_own and rung.below.shares
    return bool(known and rung.over and rung.over.verdict in ("slower", "ambiguous"))


def _no_gain(rung: Limited) -> str:
    """'X is no faster than Y (0.98×): shared memory fell from 0.83 to 0.70, while instruction issue rose from …'"""
    old, new = rung.below.shares, rung.shares
    changed = [name for name in new if name in old and abs(new[name] - old[name]) >= LEAST_CHANGE]
    moves = {verb: [f"{name} {verb} from {old[name]:.2f} to {new[name]:.2f}" for name in changed
                    if (new[name] > old[name]) == rose] for verb, rose in (("fell", False), ("rose", True))}
    text = ", while ".join(captions.joined(parts) for parts in moves.values() if parts)
    note = ", ambiguous" if rung.over.verdict == "ambiguous" else ""
    return (f"{rung.point.title} is no faster than {rung.below.point.title} ({fmt.times(rung.over.value)}{note}): "
            f"{text or f'no known share changed by {LEAST_CHANGE} or more'}.")


def _table(study: Study, side: Side, found: list[Limited]) -> dict:
    shown = [name for name in RESOURCES if any(name in rung.shares for rung in found)]
    rows = [(rung.point.title, (fmt.significant(rung.point.gflops), fmt.interval(rung.point.gflops_interval)),
             *(f"{rung.shares[name]:.2f}" if name in rung.shares else None for name in shown), rung.verdict)
            for rung in found]
    return blocks.table(
        f"What limits each rung at N = {found[0].point.n}: the share of each resource that it uses. Counts by "
        f"{side.counter_tool or 'hardware counters'}, in runs of their own, over the times of runs without a profiler, "
        f"over the measured roofs: {captions.joined([_roof(side, name, found) for name in shown])}. A share of at "
        f"least {LEAST} limits; below it in all, a rung may wait for latency or for a unit that has no roof here, "
        f"such as the L1. {captions.provenance([(side, [rung.point for rung in found])])}",
        [("rung", "l"), ("GFLOP/s", "r"), *((name, "r") for name in shown), ("limit", "l")], rows,
        widths=["1fr"] + ["auto"] * (1 + len(shown)) + ["1fr"])


def _roof(side: Side, name: str, found: list[Limited]) -> str:
    """The count and the roof of a resource, for the caption."""
    if name == ISSUE:
        return f"executed warp instructions over {SCHEDULERS} a cycle and multiprocessor at the clock of the samples"
    if name == ARITHMETIC:
        roof = derive.peak(side, found[0].point.kernel.precision)
        return f"useful operations over {roof.label} ({fmt.flops(roof.value)})"
    what = {DRAM: "bytes of DRAM", L2: "bytes of the L2, what fills it from memory among them,",
            SHARED: f"wavefronts of shared memory ({WAVEFRONT} B each)"}[name]
    return f"{what} over {fmt.bandwidth(_bandwidths(side)[name].value)}"
