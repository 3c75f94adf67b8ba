"""The steps of a ladder: what each rung that is clearly faster does, what it needs less of, and what limits it then."""

from __future__ import annotations

from report.data.ladder import Ladder, Rung
from report.data.limits import DRAM, ISSUE, L1, L2, L3, SHARED, counts
from report.experiment import Column, Table, numbers, ratio, times_as_fast, words
from report.sections import ladders

CLEARLY = 1.1
"""A rung is a step if it is faster than the last step by at least this factor; the lowest and the fastest one always are."""
CHANGED = 1.02
"""The count of the resource that limited the step above is given if it changed by this factor."""
WEIGHS = 0.05
"""Other counts are given if their change is at least this part of the resource's roof."""
GPU_NAMES = {L1: "wavefronts of the L1", SHARED: "wavefronts of shared memory", L2: "bytes of the L2", DRAM: "bytes of DRAM", ISSUE: "instructions"}
CPU_NAMES = {L1: "bytes of the L1", L2: "bytes of the L2", L3: "bytes of the L3", DRAM: "bytes of DRAM"}
MOST = 2
WAITS = {"long_scoreboard": "global memory", "short_scoreboard": "shared memory", "mio_throttle": "the queue of shared memory",
         "lg_throttle": "the queue of global memory", "barrier": "barriers", "math_pipe_throttle": "the arithmetic units", "wait": "fixed latencies",
         "dispatch_stall": "dispatch", "no_instruction": "instructions", "membar": "fences", "sleeping": "sleep", "gmma": "tensor cores",
         "branch_resolve": "branches", "misc": "other reasons", "drain": "stores", "imc_miss": "constants", "tex_throttle": "the texture queue"}
"""What a warp waits for in each state, by Nsight Compute's names."""
FEWER_WAITS = 0.05
"""Waits are fewer if their part of the warps' time falls by so much."""


def of(ladder: Ladder) -> list[Rung]:
    """The rungs that are steps, from the bottom."""
    made = ladder.own[:1]
    for rung in ladder.own[1:]:
        if rung is ladder.fastest or times_as_fast(rung.point, made[-1].point) >= CLEARLY:
            made.append(rung)
    return made


def table(stem: str, ladder: Ladder) -> Table:
    """One row for each step and for the fastest library."""
    steps, peer = of(ladder), ladder.best_peer
    rows: list[dict] = [_row(ladder, below, rung) for below, rung in zip([None, *steps], steps)] + ([_row(ladder, None, peer)] if peer else [])
    columns = (
        Column("title", "rung", right=False, wide=1.1), Column("idea", "what it does", right=False, wide=2.6),
        Column("op_per_byte_requested", "OP/B", numbers.significant), Column("value", numbers.unit(ladder.rungs[0].point), numbers.significant),
        Column("step", "× above", numbers.times), Column("less", "needs less", right=False, wide=1.6),
        Column("limit", "limit", right=False, wide=1.0))
    known = [c for c in columns if any(row.get(c.key) not in (None, "") for row in rows)]
    waits = " and waits of warps" if any(r.use.waits for r in steps) else ""
    caption = (f"The steps of the ladder at {ladder.size_text}, {words.type_name(ladder.type)}: the rungs that are at least {CLEARLY:g} times as fast as the "
               f"row above, and the fastest.{' OP/B: operations per requested byte.' if any(c.key == 'op_per_byte_requested' for c in known) else ''} "
               f"× above: speed over the row above. Needs less: counts{waits} that are smaller than in the row above, what limited it first. ")
    return Table(f"{stem}_steps", caption + words.provenance(ladder.part, [r.point for r in (*steps, *([peer] if peer else []))], hollow=False), known, rows)


def _row(ladder: Ladder, below: Rung | None, rung: Rung) -> dict:
    p = rung.point
    return {"rung": rung.number, "title": f"{rung.number or ''} {p.kernel.title}".strip(), "kernel": p.kernel.name, "idea": p.kernel.idea, "op_per_byte_requested": p.requested_intensity,
            "value": p.value, **p.sampled, **(ladders.ratio_row("step", ratio(rung.point, below.point)) if below else {}),
            "less": less(ladder, below, rung) if below else "", "limit": words.limit(rung.use)}


def less(ladder: Ladder, below: Rung, rung: Rung) -> str:
    """'1.2× fewer wavefronts of the L1; waits for barriers: 2 % of the warps' time, not 30 %; but 1.5× more instructions': first the count of
    the resource that limited the step above, then those whose change matters most, then the waits that fell most; last the count that rose most."""
    names = CPU_NAMES if ladder.part.side == "cpu" else GPU_NAMES
    then, now = (counts(ladder.part, r.point) for r in (below, rung))
    both = [k for k in names if then.get(k) and now.get(k)]
    limit = below.use.nearest[0] if below.use.nearest else ""
    weight = {k: below.use.shares.get(k, 0.0) * (1 - now[k] / then[k]) for k in both}
    fewer = [k for k in both if k == limit and then[k] >= CHANGED * now[k]]
    fewer += sorted((k for k in both if k not in fewer and weight[k] >= WEIGHS), key=lambda k: -weight[k])
    told = [f"{numbers.times(then[k] / now[k])} fewer {names[k]}" for k in fewer[:MOST]]
    told += _waits(below, rung) if len(told) < MOST else []
    rise = {k: rung.use.shares.get(k, 0.0) * (1 - then[k] / now[k]) for k in both}
    most = max(rise, key=lambda k: rise[k], default="")
    told += [f"but {numbers.times(now[most] / then[most])} more {names[most]}"] if most and rise[most] >= WEIGHS else []
    return "; ".join(told)


def _waits(below: Rung, rung: Rung) -> list[str]:
    """The state whose part of the warps' time fell most."""
    fallen = {state: share - rung.use.waits.get(state, 0.0) for state, share in below.use.waits.items()} if rung.use.waits else {}
    state = max(fallen, key=lambda s: fallen[s], default="")
    if not state or fallen[state] < FEWER_WAITS:
        return []
    return [f"waits for {WAITS.get(state, state.replace('_', ' '))}: {numbers.percent(rung.use.waits.get(state, 0.0))} of the warps’ time, "
            f"not {numbers.percent(below.use.waits[state])}"]
