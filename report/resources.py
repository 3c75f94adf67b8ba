"""What a point uses of each resource of its machine: counts over its time over the measured roof."""

from __future__ import annotations

from report import derive, levels
from report.records import Point, Roof, Side

DRAM, L2, L1, SHARED, ISSUE, ARITHMETIC = RESOURCES = (
    "DRAM", "L2", "L1", "shared memory", "instruction issue", "arithmetic")
CPU_RESOURCES = (*reversed(levels.LEVELS), ARITHMETIC)
LEVELS = {"DRAM": DRAM, "HBM": DRAM, "L3": "L3", "L2": L2, "L1": L1, "SHARED": SHARED}
"""The resources that have a bandwidth, by the level in its roof's label."""
WAVEFRONT = 128
"""Bytes that shared memory serves in one wavefront: 32 banks of 4."""
SCHEDULERS = 4
"""Of each multiprocessor, each of which issues one warp instruction a cycle."""


def of(point: Point) -> tuple[str, ...]:
    """Those of the point's side, in the order of a table's columns."""
    return RESOURCES if point.kernel.side == "gpu" else CPU_RESOURCES


def shares(side: Side, point: Point) -> dict[str, float]:
    """Of each resource the part of its roof that the point uses; without its counter or its roof it is left out.

    Empty if nothing is counted but operations. On the GPU the caches are empty before a call that is counted, not before
    one that is timed hot: sizes whose operands stay in the L2 move less than this says; and what cp.async and TMA write
    into shared memory is in no wavefront of a store.
    """
    used, peak = counts(side, point), derive.peak(side, point.kernel.precision)
    most = {name: roof.value * 1e9 for name, roof in bandwidths(side).items()}
    most[ARITHMETIC] = peak.value * 1e9 if peak else None
    if point.kernel.side == "gpu":
        cycles = _cycles(side, point)
        most |= {L1: cycles, ISSUE: cycles * SCHEDULERS}
    made = {name: used[name] / point.summary.median / most[name] for name in of(point)
            if name in used and most.get(name)}
    return made if made.keys() - {ARITHMETIC} else {}


def counts(side: Side, point: Point) -> dict[str, float]:
    """Of each resource what the point asks of it: bytes, wavefronts, instructions, operations; known ones."""
    if point.kernel.side != "gpu":
        found = {m.level: m.bytes for m in levels.moved(point)} | {ARITHMETIC: point.flops}
        return {name: count for name, count in found.items() if count is not None}
    counters = derive.counters_of(side, point)
    found = {DRAM: counters.get("dram_bytes"), L2: counters.get("l2_bytes"), L1: counters.get("l1_wavefronts"),
             SHARED: _shared_bytes(counters), ISSUE: counters.get("instructions"), ARITHMETIC: point.flops}
    return {name: count for name, count in found.items() if count is not None}


def bandwidths(side: Side) -> dict[str, Roof]:
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


def _cycles(side: Side, point: Point) -> float:
    """Cycles of all multiprocessors in a second at the clock of the samples; 0 if unknown."""
    clock, count = point.counters.get("sm_clock_mhz"), side.context.get("gpu_sm_count")
    return clock * 1e6 * count if clock and isinstance(count, int) else 0.0
