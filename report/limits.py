"""What limits each rung of a ladder: counts over measured times over measured roofs.

On the GPU the hardware counts, and no time is taken under a profiler: the counts are of runs of their own, the times of
the same kernel, tunables and size without one. On the CPU the counts are the bytes of each level as `levels` has them.
After S. Williams, A. Waterman, D. Patterson, Roofline (2009), with a roof for each resource. Where no roof is near,
what the warps wait for says more: the states in which the hardware saw them.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from report import blocks, captions, derive, fmt, levels, resources, steps
from report.counters import STATES
from report.records import Point, Side, Study
from report.resources import ARITHMETIC, DRAM, ISSUE, L1, L2, SCHEDULERS, SHARED, WAVEFRONT, counts, shares
from report.steps import Ratio

LEAST = 0.6
"""So large a share of a roof limits."""
LEAST_CHANGE = 0.05
"""A share that differs by less is said to be the same."""
NEARLY_ALL = 0.95
"""So large a part of the L1's share makes it shared memory's."""
NEARLY_FULL = 0.85
"""So large a share leaves little to gain: above it, warps that wait cost next to nothing, since others issue."""
LITTLE = 1.05
"""A rung that is fewer times as fast as the one below is hardly faster."""
ABLE = "selected", "not_selected"
"""The states of a warp that does not wait: it issues, or it could and another was chosen."""
WAITS = {
    "barrier": "barriers", "branch_resolve": "branch targets", "dispatch_stall": "dispatch", "drain": "last stores",
    "gmma": "tensor cores", "imc_miss": "constants", "lg_throttle": "global memory’s queue",
    "long_scoreboard": "global memory", "math_pipe_throttle": "busy arithmetic", "membar": "memory fences",
    "mio_throttle": "shared memory’s queue", "misc": "other causes", "no_instruction": "instruction fetch",
    "short_scoreboard": "shared memory", "sleeping": "the end of a sleep", "tex_throttle": "the textures’ queue",
    "wait": "fixed latencies",
}
"""What a warp in each other state waits for; the usual cause where ncu's guide names several.

Global memory's data may come from the L1, the L2 or DRAM; a queue is one of instructions that has no room. Special
functions and branches to a computed target share shared memory's queue and scoreboard. A fixed latency is that of the
warp's own instruction before.
"""
FULL = "math_pipe_throttle"
"""The wait that is a sign of full arithmetic."""
COUNTED = {DRAM: "the bytes of DRAM", L2: "the bytes of the L2", L1: "the wavefronts of the L1",
           SHARED: "the wavefronts of shared memory", ISSUE: "the instructions", ARITHMETIC: "the operations"}
"""What a share counts on the GPU."""
HEADS = {SHARED: "shared", ISSUE: "issue"}
"""Shorter titles of columns for a table that has the column of waits, too."""
OF_TIME = " of their time"


@dataclass(frozen=True)
class Limited:
    """A rung's (or a peer's) fastest variant, the share of each known resource, and the rung below where it has one.

    `waits`: the part of its warps' time in each state that waits; empty if unknown. `counts`: see counts().
    """

    point: Point
    is_own: bool
    shares: dict[str, float]
    below: Limited | None = None
    over: Ratio | None = None
    waits: dict[str, float] = field(default_factory=dict)
    counts: dict[str, float] = field(default_factory=dict)

    @property
    def nearest(self) -> tuple[str, float]:
        """The resource with the largest share; for an L1 that serves little but shared memory, shared memory."""
        name, share = max(self.shares.items(), key=lambda item: item[1])
        shared = self.shares.get(SHARED)
        if name == L1 and shared and shared >= NEARLY_ALL * share and (share >= LEAST) == (shared >= LEAST):
            return SHARED, shared
        return name, share

    @property
    def limit(self) -> tuple[str, float] | None:
        return self.nearest if self.nearest[1] >= LEAST else None

    @property
    def verdict(self) -> str:
        """'shared memory, 0.83'; that none limits only where no resource is unknown."""
        if self.limit:
            return "{}, {:.2f}".format(*self.limit)
        return f"none above {LEAST}" if len(self.shares) == len(resources.of(self.point)) else (
            f"none of those known above {LEAST}")

    @property
    def longest(self) -> list[tuple[str, float]]:
        """The states that wait and their parts of the warps' time, the longest first; those of no time are left out."""
        return sorted(((s, part) for s, part in self.waits.items() if part > 0), key=lambda item: -item[1])


def waits(side: Side, point: Point) -> dict[str, float]:
    """Of each state that waits, the part of the time of all active warps; empty without the warps that issue.

    A state that this GPU (or this version of the tool) does not know has no time.
    """
    counters = derive.counters_of(side, point)
    warps = {state: counters[f"warps_{state}"] for state in STATES if f"warps_{state}" in counters}
    if not warps.get("selected"):
        return {}
    return {state: count / sum(warps.values()) for state, count in warps.items() if state not in ABLE}


def size(study: Study, side: Side) -> int | None:
    """The largest size at which (nearly) as many kernels' fastest variants have counts as at any.

    On the CPU, whose counts need no runs of their own, the size at which its ladder is told, if any has counts there.
    """
    precision = derive.main_precision(study)
    points = derive.in_precision(derive.timed(side, derive.main_family(study)), precision)
    counted = [p for n in steps.sizes(study, side, precision) for p in derive.best_variants(points, n)
               if shares(side, p)]
    told = derive.side_size(study, side)
    return told if side.name != "gpu" and any(p.n == told for p in counted) else derive.common_size(counted)


def ladder(study: Study, side: Side | None) -> list[Limited]:
    """Own rungs from the bottom, then the peers, in the main precision; those without counters are left out."""
    n = size(study, side) if side else None
    return [rung for rung in _all_at(study, side, n) if rung.shares] if n else []


def _all_at(study: Study, side: Side, n: int) -> list[Limited]:
    """All rungs of one size, with counters and without."""
    made, below = [], None
    for step in steps.at_size(study, side, derive.main_precision(study), n):
        made.append(Limited(step.point, step.number is not None, shares(side, step.point), below, step.below,
                            waits(side, step.point), counts(side, step.point)))
        below = made[-1]
    return made


def section(study: Study, side: Side | None) -> list[dict]:
    """Paragraphs, of which the last stays with the table, and the table; nothing without counts."""
    found = ladder(study, side)
    if not found:
        return []
    texts = [*reading(found), *elsewhere(study, side, found[0].point.n)]
    return [blocks.subheading("What limits each rung"), *(blocks.paragraph(text) for text in texts[:-1]),
            *(blocks.reading(text) for text in texts[-1:]), _table(study, side, found)]


def elsewhere(study: Study, side: Side, n: int) -> list[str]:
    """Paragraphs on the rungs that cannot be set against the one below at size n: at the largest size where they can."""
    done, texts = {rung.point.kernel for rung in _all_at(study, side, n) if _is_comparable(rung)}, []
    for at in reversed(steps.sizes(study, side, derive.main_precision(study))):
        here = [rung for rung in _all_at(study, side, at) if _is_comparable(rung) and rung.point.kernel not in done]
        done |= {rung.point.kernel for rung in here}
        texts += [f"At N = {at} {_little_gain(rung)}" for rung in here if _gains_little(rung)]
    return texts


def reading(found: list[Limited]) -> list[str]:
    """Paragraphs: what limits the lowest rung and the fastest, then of each rung that gains little what changed."""
    own = [rung for rung in found if rung.is_own]
    if not own:
        return []
    bottom, top = own[0], max(own, key=lambda r: (r.point.gflops, r.point.name))
    known = "counters" if bottom.point.kernel.side == "gpu" else "known bytes"
    text = f"At N = {bottom.point.n} {_held(bottom, f'the lowest rung with {known}')}"
    text += f"; {_held(top, 'the fastest')}." if top is not bottom else "."
    return [text, *(_little_gain(rung) for rung in own if _gains_little(rung))]


def _held(rung: Limited, which: str) -> str:
    name, share = rung.nearest
    if rung.limit:
        return f"{rung.point.title}, {which}, is limited by {name} ({share:.2f} of its roof)"
    near = f"{rung.point.title}, {which}, is near none of its known roofs; the nearest is {name} ({share:.2f})"
    return f"{near}, and its warps wait most for {_wait(*rung.longest[0], OF_TIME)}" if rung.longest else near


def _is_comparable(rung: Limited) -> bool:
    """Whether it and the own rung below have counters."""
    return bool(rung.is_own and rung.shares and rung.below and rung.below.is_own and rung.below.shares)


def _gains_little(rung: Limited) -> bool:
    return bool(_is_comparable(rung) and rung.over
                and (rung.over.verdict in ("slower", "ambiguous") or _is_hardly_faster(rung)))


def _is_hardly_faster(rung: Limited) -> bool:
    return rung.over.verdict == "faster" and rung.over.value < LITTLE


def _little_gain(rung: Limited) -> str:
    """'X is no faster than Y (0.98×): shared memory fell from 0.83 to 0.70, while instruction issue rose from …'"""
    old, new = rung.below.shares, rung.shares
    changed = [name for name in new if name in old and abs(new[name] - old[name]) >= LEAST_CHANGE]
    moves = {verb: [f"{name} {verb} from {old[name]:.2f} to {new[name]:.2f}" for name in changed
                    if (new[name] > old[name]) == rose] for verb, rose in (("fell", False), ("rose", True))}
    text = ", while ".join(captions.joined(parts) for parts in moves.values() if parts)
    note = ", ambiguous" if rung.over.verdict == "ambiguous" else ""
    faster = "hardly faster" if _is_hardly_faster(rung) else "no faster"
    if not text:
        text = f"no known share changed by {LEAST_CHANGE} or more.{_saved(rung)}{_nearest_count(rung)}"
    elif rung.below.nearest[1] >= NEARLY_FULL:
        text += f".{_nearest_count(rung)}"
    return (f"{rung.point.title} is {faster} than {rung.below.point.title} ({fmt.times(rung.over.value)}{note}): "
            f"{text.rstrip('.')}.{_waiting(rung)}")


def _times_as_much(rung: Limited, name: str) -> float | None:
    """The count of a resource over that of the rung below."""
    old, new = rung.below.counts.get(name), rung.counts.get(name)
    return new / old if old and new is not None else None


def _counted(rung: Limited, name: str) -> str:
    """What the share of a resource counts."""
    return COUNTED[name] if name == ARITHMETIC or rung.point.kernel.side == "gpu" else f"the bytes of {name}"


def _saved(rung: Limited) -> str:
    """' It needs 0.70× the bytes of DRAM, but X used only 0.06 of what there is.': what the rung spares."""
    old, (nearest, _) = rung.below.shares, rung.below.nearest
    ratios = {name: _times_as_much(rung, name) for name in old if name != nearest}
    spared = {name: ratio for name, ratio in ratios.items() if ratio is not None and ratio <= 1 - LEAST_CHANGE}
    if not spared:
        return ""
    less = captions.joined([f"{fmt.times(ratio)} {_counted(rung, name)}" for name, ratio in spared.items()])
    used = captions.joined([f"{old[name]:.2f}" for name in spared])
    return f" It needs {less}, but {rung.below.point.title} used only {used} of what there is."


def _nearest_count(rung: Limited) -> str:
    """' It needs 1.00× the instructions, whose roof was nearest (0.93): at most 1.08× was left.'"""
    name, share = rung.below.nearest
    ratio = _times_as_much(rung, name)
    if ratio is None:
        return ""
    text = f" It needs {fmt.times(ratio)} {_counted(rung, name)}, whose roof was nearest ({share:.2f})"
    if share >= NEARLY_FULL:
        return f"{text}: at most {fmt.times(1 / share)} was left."
    same = [_counted(rung, other) for other in rung.below.shares if other not in (name, ARITHMETIC)
            and (found := _times_as_much(rung, other)) is not None and abs(found - 1) < LEAST_CHANGE]
    return f"{text}, and as before {captions.joined(same)}." if same else f"{text}."


def _waiting(rung: Limited) -> str:
    """' Its warps still wait most for barriers (0.31 of their time, from 0.20).': the wait below and the one here."""
    if not rung.longest or rung.below.shares.get(ISSUE, 0) >= NEARLY_FULL:
        return ""
    old, new = rung.below.longest, rung.longest
    (state, part), second = new[0], new[1:2]
    if not old:
        text = f"Its warps wait most for {_wait(state, part, OF_TIME)}"
    elif old[0][0] == state:
        text = f"Its warps still wait most for {_wait(state, part, f'{OF_TIME}, from {old[0][1]:.2f}')}"
    else:
        was, now = rung.below.waits.get(state, 0.0), rung.waits.get(old[0][0], 0.0)
        second = [item for item in second if item[0] != old[0][0]]
        text = (f"The warps of {rung.below.point.title} wait most for {_wait(*old[0], f'{OF_TIME}, here {now:.2f}')}, "
                f"those of {rung.point.title} for {_wait(state, part, f', from {was:.2f}')}")
    return f" {text}{''.join(f', then for {_wait(*item)}' for item in second)}."


def _wait(state: str, part: float, more: str = "") -> str:
    """'shared memory (short scoreboard, 0.25 of their time)'."""
    term = _term(state)
    return f"{WAITS[state]} ({term + ', ' if term else ''}{part:.2f}{more})"


def _term(state: str) -> str:
    """ncu's word for the state, where ours does not say it."""
    term = state.replace("_", " ")
    return "" if term in WAITS[state] else term


def _table(study: Study, side: Side, found: list[Limited]) -> dict:
    shown = [name for name in resources.of(found[0].point) if any(name in rung.shares for rung in found)]
    waiting = any(rung.longest for rung in found)
    heads = HEADS if waiting else {}
    rows = [(rung.point.title, (fmt.significant(rung.point.gflops), fmt.interval(rung.point.gflops_interval)),
             *(f"{rung.shares[name]:.2f}" if name in rung.shares else None for name in shown), rung.verdict,
             *([_wait_cell(rung)] if waiting else []))
            for rung in found]
    return blocks.table(
        f"What limits each rung at N = {found[0].point.n}: the share of each resource that it uses. "
        f"{_how_counted(side, found)}, "
        f"over the measured roofs: {captions.joined([_roof(side, name, found) for name in shown])}. A share of at "
        f"least {LEAST} limits; below it in all, a rung may wait for latency{_without_roof(found)}. "
        f"{_uncounted(study, side, found)}"
        f"{_states(side, found) if waiting else ''}{captions.provenance([(side, [rung.point for rung in found])])}",
        [("rung", "l"), ("GFLOP/s", "r"), *((heads.get(name, name), "r") for name in shown), ("limit", "l"),
         *([("warps wait for", "l")] if waiting else [])], rows,
        widths=["1fr"] + ["auto"] * (1 + len(shown)) + ["1fr"] + ["1.4fr"] * waiting)


def _how_counted(side: Side, found: list[Limited]) -> str:
    if side.name == "gpu":
        return (f"Counts by {side.counter_tool or 'hardware counters'}, in runs of their own, over the times of runs "
                "without a profiler")
    moved = [(rung.point, levels.moved(rung.point)) for rung in found]
    return f"{levels.source(moved).rstrip('.')}, over the measured times"


def _uncounted(study: Study, side: Side, found: list[Limited]) -> str:
    """Which kernels were not counted at this size, for the caption."""
    counted = {rung.point.kernel for rung in found}
    steps_ = steps.at_size(study, side, derive.main_precision(study), found[0].point.n)
    rest = [step.point.kernel.title for step in steps_ if step.point.kernel not in counted]
    return f"Not counted at this size: {captions.joined(rest)}. " if rest else ""


def _wait_cell(rung: Limited) -> tuple[str, str] | None:
    if not rung.longest:
        return None
    state, part = rung.longest[0]
    return f"{WAITS[state]}, {part:.2f}", _term(state)


def _without_roof(found: list[Limited]) -> str:
    return "" if all(L1 in rung.shares for rung in found) else " or for a unit that has no roof here, such as the L1"


def _states(side: Side, found: list[Limited]) -> str:
    """What the column of waits shows, for the caption."""
    text = ("Warps wait for: of the states in which a warp cannot issue, the one with the most warps, by its part of "
            "the time of all active warps; small print: the tool’s word for it. ")
    if any(rung.longest and rung.longest[0][0] == FULL for rung in found):
        text += f"To wait for {WAITS[FULL]} is a sign that arithmetic is full, not that memory is slow. "
    if any(rung.longest and rung.shares.get(ISSUE, 0) >= NEARLY_FULL for rung in found):
        text += "Where issue is nearly full, waits cost little: other warps issue meanwhile. "
    return text


def _roof(side: Side, name: str, found: list[Limited]) -> str:
    """The count and the roof of a resource, for the caption."""
    if side.name != "gpu" and name != ARITHMETIC:
        return f"bytes of {name} over {fmt.bandwidth(resources.bandwidths(side)[name].value)}"
    if name == L1:
        return ("wavefronts of the L1’s data pipe, those of shared memory among them, over one a cycle and "
                "multiprocessor at the clock of the samples")
    if name == ISSUE:
        return f"executed warp instructions over {SCHEDULERS} a cycle and multiprocessor at the clock of the samples"
    if name == ARITHMETIC:
        roof = derive.peak(side, found[0].point.kernel.precision)
        return f"useful operations over {roof.label} ({fmt.flops(roof.value)})"
    what = {DRAM: "bytes of DRAM", L2: "bytes of the L2, what fills it from memory among them,",
            SHARED: f"wavefronts of shared memory ({WAVEFRONT} B each)"}[name]
    return f"{what} over {fmt.bandwidth(resources.bandwidths(side)[name].value)}"
