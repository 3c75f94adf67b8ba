"""What limits a kernel: its use of each resource, which is its count divided by its time and by the roof of that resource.

On the GPU the hardware counts, in separate runs, so that no time is measured under a profiler. On the CPU the counts are
bytes by level, by hardware events where there are any, else by the kernel's formula. After Williams and others, Roofline
(2009), with a roof for each resource.

Shares are given twice: of the roof, and of the roof at the clock that the kernel ran at. The multiprocessors' clock
drives arithmetic, instruction issue, the L1 and shared memory; the L2 and DRAM have clocks of their own. The power of
the board lowers the clock of a busy GPU, and is therefore a resource, too: where its mean is at the limit, power limits
the kernel, however near the other roofs are.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from report.data.reading import is_number
from report.data.records import Point
from report.data.roofs import BEYOND, clock_of
from report.data.view import Part
from report.missing import complete

DRAM, L3, L2, L1, SHARED, ISSUE, ARITHMETIC, POWER = (
    "DRAM", "L3", "L2", "L1", "shared memory", "instruction issue", "arithmetic", "power")
DRIVEN = (L1, SHARED, ISSUE, ARITHMETIC)
"""Resources that the multiprocessors' clock drives."""
LEVEL_OF = {DRAM: "DRAM", L3: "L3", L2: "L2", L1: "L1", SHARED: "SHARED"}
"""The level in a roof's label of each resource that has a bandwidth."""
LIMITS = 0.8
"""From this share on, a resource is said to limit; below it is only the nearest roof."""
POWER_LIMITS = 0.95
"""From this part of its limit on, the board's power is said to limit. Below, it is no roof: unused power does not speed
up a kernel."""
SLOWED = 0.01
"""A clock that is lower than the highest by more than this part counts as lowered."""
NEARLY_ALL = 0.95
"""From this part of the L1's share on, it is attributed to shared memory."""
WAVEFRONT = 128
"""Bytes that shared memory serves in one wavefront: 32 banks of 4."""
SCHEDULERS = 4
"""Schedulers of a multiprocessor; each issues one warp instruction per cycle."""
ABLE = "selected", "not_selected"
"""The states of a warp that does not wait: it issues, or it could and another was chosen."""


@dataclass(frozen=True)
class Use:
    """The shares of the known resources that a point uses, and the parts of its warps' time spent waiting, by state.

    `at_clock`: of those that the clock drives, the shares of the roofs at the clock that the point ran at. `is_slowed`: whether
    that was lower than the highest; the power of longer runs limits no point whose samples ended before it slowed them.
    """

    shares: dict[str, float]
    waits: dict[str, float]
    at_clock: dict[str, float] = field(default_factory=dict)
    is_slowed: bool = True

    @property
    def nearest(self) -> tuple[str, float] | None:
        """The resource with the largest share; for an L1 that serves little but shared memory, shared memory."""
        shares = {name: share for name, share in self.shares.items() if name != POWER or (share >= POWER_LIMITS and self.is_slowed)}
        if not shares:
            return None
        name, share = max(shares.items(), key=lambda item: item[1])
        shared = self.shares.get(SHARED)
        if name == L1 and shared and shared >= NEARLY_ALL * share and (share >= LIMITS) == (shared >= LIMITS):
            return SHARED, shared
        return name, share

    @property
    def limit(self) -> str | None:
        """The resource that limits, if one does; beyond the roof the count (a formula) or the roof is wrong."""
        return self.nearest[0] if self.nearest and LIMITS <= self.nearest[1] <= BEYOND else None


def use(part: Part, point: Point) -> Use:
    """No shares where nothing is known of limits: without any count but operations, unless power limits, or with a peak that
    the point exceeds, since the machine was busy when it was measured."""
    used, most = counts(part, point), _capacities(part, point)
    shares = {name: amount / point.timing.median / most[name] for name, amount in used.items() if most.get(name)}
    if power := of_power_limit(part, point):
        shares[POWER] = power
    clock, is_slowed = clock_of(point), _is_slowed(part, point)
    counted = shares.keys() - {ARITHMETIC, POWER} or is_at_power_limit(part, point)
    if not counted or shares.get(ARITHMETIC, 0) > BEYOND:
        return Use({}, _waits(part, point))
    clocks = _clocks(part, point)
    at_clock = {name: shares[name] * of_roof / clock for name in DRIVEN if name in shares and (of_roof := clocks.get(name))} if clock else {}
    return Use(shares, _waits(part, point), at_clock, is_slowed)


def mean_power(point: Point) -> float | None:
    """Watts of the whole board over the runs in which its energy was counted; a reading between samples is no mean."""
    return point.counters.get("power_w") if point.joules else None


def of_power_limit(part: Part, point: Point) -> float | None:
    """The board's mean power over its limit."""
    limit, power = part.run.context.get("gpu_power_limit_w"), mean_power(point)
    return power / limit if point.kernel.side == "gpu" and power and is_number(limit) and limit > 0 else None


def is_at_power_limit(part: Part, point: Point) -> bool:
    """Whether the board's power is at its limit and has lowered the clock of the samples themselves."""
    return (of_power_limit(part, point) or 0) >= POWER_LIMITS and _is_slowed(part, point)


def _is_slowed(part: Part, point: Point) -> bool:
    """Whether the samples ran at a lower clock than the highest roofs; assumed if a clock is not known."""
    clock, best = clock_of(point), part.roofs.clock_mhz
    return not clock or not best or clock < (1 - SLOWED) * best


def _clocks(part: Part, point: Point) -> dict[str, float | None]:
    """At which clock of the multiprocessors the roof of each driven resource is given: its own, where it was measured."""
    shared, peak, best = part.roofs.levels().get(LEVEL_OF[SHARED]), part.roofs.peak(point.kernel.type), part.roofs.clock_mhz
    return {L1: best, ISSUE: best, SHARED: shared.clock_mhz if shared else None, ARITHMETIC: peak.clock_mhz if peak else None}


def counts(part: Part, point: Point) -> dict[str, float]:
    """The known amounts of each resource that one call uses: bytes, wavefronts, instructions, operations."""
    if point.kernel.side == "cpu":
        found = {name: moved(point, LEVEL_OF[name]) for name in (L1, L2, L3, DRAM)}
    else:
        c = part.counters_of(point)
        found = {DRAM: c.get("dram_bytes"), L2: c.get("l2_bytes"), L1: c.get("l1_wavefronts"),
                 SHARED: _shared_bytes(c), ISSUE: c.get("instructions")}
    operations = None if point.does_other_operations else point.flops
    return {name: amount for name, amount in (found | {ARITHMETIC: operations}).items() if amount}


def moved(point: Point, level: str) -> float | None:
    """Bytes that one call on the CPU moves at a level: by hardware events, else by formula."""
    keys = (f"bytes_{level.lower()}_{how}" for how in ("measured", "model"))
    return next((point.counters[key] for key in keys if point.counters.get(key)), None)


def _shared_bytes(counters: dict[str, float]) -> float | None:
    """Bytes by the wavefronts of loads and stores; by the exact counts if both are known."""
    for suffix in ("_exact", ""):
        both = complete(counters.get(f"shared_{kind}_wavefronts{suffix}") for kind in ("load", "store"))
        if both is not None:
            return sum(both) * WAVEFRONT
    return None


def _capacities(part: Part, point: Point) -> dict[str, float]:
    """The most that each resource serves per second, for the point's threads."""
    roofs = part.roofs.of_threads(point.threads if point.kernel.side == "cpu" else None)
    levels, peak = roofs.levels(), roofs.peak(point.kernel.type)
    most = {name: levels[level].value * 1e9 for name, level in LEVEL_OF.items() if level in levels}
    if point.kernel.side == "gpu":
        cycles = _cycles(part, point)
        most |= {L1: cycles, ISSUE: cycles * SCHEDULERS}
    return most | ({ARITHMETIC: peak.value * 1e9} if peak else {})


def _cycles(part: Part, point: Point) -> float:
    """Cycles of all multiprocessors per second, at the clock of the roofs, else at the samples' clock; 0 if unknown."""
    clock, number = part.roofs.clock_mhz or clock_of(point), part.run.context.get("gpu_sm_count")
    return clock * 1e6 * number if clock and isinstance(number, int) else 0.0


def _waits(part: Part, point: Point) -> dict[str, float]:
    """For each waiting state, its part of the time of all active warps; empty without the number of issuing warps."""
    counters = part.counters_of(point)
    warps = {key.removeprefix("warps_"): value for key, value in counters.items() if key.startswith("warps_")}
    if not warps.get("selected"):
        return {}
    return {state: number / sum(warps.values()) for state, number in warps.items() if state not in ABLE and number}
