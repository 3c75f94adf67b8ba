"""Words, figures and tables of every ladder's section, and the whole section of an experiment of kind "ladder" that has no
.py of its own."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from report.data.limits import LIMITS, POWER_LIMITS, mean_power, moved, of_power_limit
from report.data.roofs import BEYOND, clock_of, told
from report.data.statistics import SAME
from report.data.view import by_time
from report.experiment import (
    COLD,
    Column,
    Figure,
    Ladder,
    Part,
    Point,
    Ratio,
    Section,
    Table,
    View,
    best_variants,
    build,
    judge,
    numbers,
    ratio,
    times_as_fast,
    words,
)

LADDER = "ladder"
"""The kind of experiment that needs no .py to be shown as a ladder."""
FEW = 5
"""The most kernels of a figure in which colours distinguish kernels."""
MOST_ABOVE = 2
"""An interval beyond this multiple of the highest median leaves the axes, so that the others can be read."""
WAVEFRONT = 128
"""Bytes of a wavefront of the GPU's L1 data path."""


def is_timed(view: View) -> bool:
    """Whether there is a point of the ladder that [report] declares."""
    return any(p.value for part in view.timed_parts for p in part.timed(*_declared(view)))


def _declared(view: View) -> tuple[str, str]:
    """The family and the data type of the ladder that [report] declares."""
    return str(view.settings.get("family", "")), str(view.settings.get("type", "fp32"))


def section(view: View) -> Section | None:
    """The ladders of both sides with nothing of the experiment's own."""
    made = [ladder for part in view.timed_parts if (ladder := build(part, *_declared(view), view.settings.get("size")))]
    if not made:
        return None
    stems = [f"{view.name}_{ladder.part.side}" for ladder in made]
    return Section(" ".join(map(finding, made)), ladders=made,
                   figures=[f for stem, ladder in zip(stems, made) for f in (rungs_figure(stem, ladder), *over_peers(stem, ladder))],
                   appendix=[x for stem, ladder in zip(stems, made) for x in _appendix(stem, ladder)])


def _appendix(stem: str, ladder: Ladder) -> list[Table | str]:
    return [table(stem, ladder), *speed_of_light(stem, ladder), *missing(ladder)]


# Words


def at(ladder: Ladder) -> str:
    """'At N = 1024', with the reason where that is not the declared size."""
    return f"At {ladder.size_text}{f' ({ladder.note})' if ladder.note else ''}"


def finding(ladder: Ladder) -> str:
    """The fastest rung compared with roof and peers, the largest gain, and the limits of the lowest and the highest rung."""
    best, own = ladder.fastest, ladder.own
    text = f"{at(ladder)} in {words.type_name(ladder.type)} the fastest rung is {named(ladder)} with {numbers.rate(best.point)}"
    text += f", {words.of_peak(best.share)}" if best.share else ""
    text += words.power(ladder.part, best.point)
    ratios = [words.speed(r, name) for name, r in best.peers.items()]
    return (text + (f"; it is {words.joined(ratios)}." if ratios else ".") + _largest_gain(own) + _turning_point(own)).strip()


def named(ladder: Ladder, is_inside: bool = False) -> str:
    """The fastest rung with those that do not differ significantly from it."""
    return words.fastest(ladder.fastest.point.kernel.title, [r.point.kernel.title for r in ladder.level], is_inside)


def _largest_gain(own: Sequence) -> str:
    gains = [r for r in own if r.below and r.below.is_significant and r.below.value > 1]
    if not gains:
        return ""
    most = max(gains, key=lambda r: r.below.value)
    below = own[most.number - 2].point.kernel.title
    return f" The largest single step, from {below} to {most.point.kernel.title}, gains {numbers.times(most.below.value)}."


def _turning_point(own: Sequence) -> str:
    low, high = own[0].use, own[-1].use
    if not low.limit or not high.nearest or low.limit == high.limit:
        return ""
    return f" The lowest rung is {words.limit(low)}; the highest is {words.limit(high) if high.limit else f'nearest to the roof of {high.nearest[0]} ({high.nearest[1]:.2f})'}."


def climb(ladder: Ladder, who: str) -> str:
    """For the first page: the lowest and the highest rung, and the best peer. `who`: 'the GPU’s kernels'."""
    best, lowest = ladder.fastest, ladder.own[0].point
    text = (f"{at(ladder)} {who} climb from {numbers.rate(lowest)} ({lowest.kernel.title}) to {numbers.rate(best.point)} "
            f"({named(ladder, is_inside=True)})")
    text += f", {words.of_peak(best.share)}" if best.share else ""
    return text + against_library(ladder)


def against_library(ladder: Ladder) -> str:
    """'; the fastest library, cuBLAS, reaches 51.0 TFLOP/s (…)', or that both match; empty without a library."""
    best, peer = ladder.fastest, ladder.best_peer
    over = best.peers.get(peer.point.kernel.title) if peer else None
    if not over or not peer:
        return ""
    library = f"the fastest library, {peer.point.kernel.title},"
    if over.verdict == SAME:
        return f", and match {library} within noise ({numbers.rate(best.point)} and {numbers.rate(peer.point)})"
    return f"; {library} reaches {numbers.rate(peer.point)}{f' ({over.doubt} which is faster)' if over.doubt else ''}"


def missing(ladder: Ladder) -> list[str]:
    """A paragraph on the kernels that have no rung, with the reasons."""
    if not ladder.missing:
        return []
    reasons: dict[str, list[str]] = {}
    for p in ladder.missing:
        reasons.setdefault(p.skipped or p.failed or "measured at other sizes", []).append(p.kernel.title)
    texts = [f"{words.several(titles)} ({reason})" for reason, titles in reasons.items()]
    return [f"Not on the ladder at {ladder.size_text}: {'; '.join(texts)}."]


# Rows


def rows(ladder: Ladder) -> list[dict]:
    """All raw values of each rung, for the CSV of the ladder's figures and tables."""
    return [_row(ladder, r) for r in ladder.rungs]


def _row(ladder: Ladder, r) -> dict:
    p, ends = r.point, r.point.interval or (None, None)
    return {"rung": r.number, "kernel": p.kernel.name, "title": p.title, "type": p.kernel.type, "size": p.size_text,
            "mode": p.mode, "threads": p.threads, "value": p.value, "low": ends[0], "high": ends[1], "unit": numbers.unit(p),
            "n": p.summary.n, **p.sampled, **ratio_row("gain", r.below),
            **{k: v for name, x in r.peers.items() for k, v in ratio_row(f"over {name}", x).items()},
            "share_of_peak": r.share and r.share.told, "share_at_clock": r.share and told(r.share.at_clock),
            **state(p), "roof_clock_mhz": r.share and r.share.roof.clock_mhz, "op_per_byte_requested": p.requested_intensity,
            "op_per_byte_dram": ladder.part.dram_intensity(p), "occupancy": p.counters.get("occupancy_theoretical"),
            **{f"share_{name}": told(x) for name, x in r.use.shares.items()},
            **{f"share_{name}_at_clock": told(x) for name, x in r.use.at_clock.items()}, "limit": words.limit(r.use),
            "wait": _wait(r.use.waits), "joules": p.joules,
            "gflop_per_joule": p.flops / p.joules / 1e9 if p.joules and p.flops else None}


def state(p: Point) -> dict:
    """The multiprocessors' mean clock and the board's mean power, for a point of a GPU."""
    return {"sm_clock_mhz": clock_of(p), "power_w": mean_power(p)} if p.kernel.side == "gpu" else {}


def ratio_row(name: str, r: Ratio | None) -> dict:
    if r is None:
        return {}
    return {name: r.value, f"{name} low": r.low, f"{name} high": r.high, f"{name} p": r.p, f"{name} verdict": r.verdict}


def _wait(waits: dict[str, float]) -> str | None:
    state = max(waits, key=lambda state: waits[state], default=None)
    return f"{state.replace('_', ' ')} {waits[state]:.2f}" if state else None


def points(ladder: Ladder) -> list[Point]:
    return [r.point for r in ladder.rungs]


def levels(ladder: Ladder, point: Point) -> dict[str, float]:
    """Operations per byte at each level of memory: by hardware counters on a GPU, by events or formula on a CPU."""
    return intensities(ladder.part, point)


def intensities(part: Part, point: Point) -> dict[str, float]:
    if part.side == "cpu":
        bytes_ = {level: moved(point, level) for level in ("L1", "L2", "L3", "DRAM")}
    else:
        c = part.counters_of(point)
        bytes_ = {"L1": c.get("l1_wavefronts", 0) * WAVEFRONT, "L2": c.get("l2_bytes"), "DRAM": c.get("dram_bytes")}
    return {k: point.flops / v for k, v in bytes_.items() if v and point.flops}


def chosen(ladder: Ladder, first: Sequence[Point] = ()) -> list[Point]:
    """A few kernels to look at closely: those given, the top, the best peer, the rungs with the largest gains."""
    gains = sorted(((r.below.value, r.point) for r in ladder.own if r.below), key=lambda gain: -gain[0])
    wanted = [*first, ladder.top.point, *([ladder.best_peer.point] if ladder.best_peer else []), *(p for _, p in gains)]
    unique = list({p.kernel.name: p for p in reversed(wanted)}.values())[::-1]
    return sorted([p for p in unique if len(levels(ladder, p)) > 1][:FEW], key=lambda p: p.value or 0.0)


# Figures


def rungs_figure(stem: str, ladder: Ladder) -> Figure:
    from report.draw import rungs
    single = any(p.threads == 1 for p in points(ladder)) and len({p.threads for p in points(ladder)}) > 1
    low, high = ladder.rungs[0].point, ladder.fastest.point
    peers = ", libraries as open diamonds" if ladder.peers else ""
    near = (f" Nearest roof: the resource with the largest share, bold where it limits (from {LIMITS:g}; power from {POWER_LIMITS:g}, where it lowered the clock)"
            if any(r.use.nearest for r in ladder.rungs) else "")
    near += "; –: no counters of it" if near and ladder.part.side == "gpu" and not all(r.use.nearest for r in ladder.rungs) else ""
    caption = (f"The ladder at {ladder.size_text}, {words.type_name(ladder.type)}; each kernel in its fastest variant{peers}. "
               f"Gain: over the rung below, bold where significantly faster, in brackets where not different{near and '.'}{near}"
               f"{'; one thread is judged by roofs of one thread' if single else ''}. "
               f"{_beyond(ladder)}{_profiled(ladder)}" + words.provenance(ladder.part, points(ladder), hollow=False))
    return Figure(f"{stem}_rungs", rows(ladder), lambda fig: rungs.draw(fig, ladder), caption,
                  f"Bar chart of {words.counted(len(ladder.rungs), 'kernel')} in the ladder’s order: {low.kernel.title} "
                  f"{numbers.rate(low)} to {high.kernel.title} {numbers.rate(high)}.", height=rungs.height(ladder))


def _profiled(ladder: Ladder) -> str:
    """A note, if a nearest roof may be the GPU's L2 or DRAM."""
    return words.profiled(ladder.part, points(ladder)) if any(r.use.nearest for r in ladder.rungs) else ""


def _beyond(ladder: Ladder) -> str:
    above = any(r.use.nearest and r.use.nearest[1] > BEYOND for r in ladder.rungs)
    return "> 1: the formula counts more bytes than that level can move in this time. " if above else ""


def hierarchy(stem: str, ladder: Ladder, few: Sequence[Point], how: str, height: float = 60) -> Figure | None:
    """Intensities at each level of memory of a few kernels under the roofs; `how`: the source of the bytes."""
    from report.draw import marks, roofline, style
    shown = [p for p in few if len(levels(ladder, p)) > 1]
    if not shown or not ladder.part.roofs:
        return None
    names = [n for n in ("L1", "L2", "L3", "DRAM") if any(n in levels(ladder, p) for p in shown)]
    slopes = ["SHARED" if n == "L1" and ladder.part.side == "gpu" else n for n in names]
    made = [marks.Mark("", p.kernel.title, rate, levels(ladder, p), p.kernel.is_library, True) for p in shown if (rate := p.gflops)]
    table_ = [{"kernel": p.kernel.name, "title": p.title, "size": p.size_text, "type": p.kernel.type, "gflops": p.gflops,
               **{f"op_per_byte_{k}": v for k, v in levels(ladder, p).items()}} for p in shown]
    signs = {"L1": "triangle", "L2": "square", "L3": "inverted triangle", "DRAM": "open diamond"}
    caption = (f"Hierarchical roofline (Yang and others, 2020) of the {ladder.part.side.upper()} at {ladder.size_text}, "
               f"{words.type_name(ladder.type)}, {'each kernel in its fastest variant' if len(shown) > 1 else f'{shown[0].kernel.title} alone, since no other kernel’s bytes were counted'}: operations per byte of {words.joined([f'{n} ({signs[n]})' for n in names])}, {how}. "
               + words.provenance(ladder.part, shown, hollow=False))

    def draw(fig) -> None:
        roofline.draw(style.axes(fig, 16, 9, 1.5, 1), ladder.part.roofs, ladder.type, made, (), "of each level of memory",
                      levels=slopes)
    return Figure(f"{stem}_hierarchy", table_, draw, caption,
                  f"Roofline with several intensities for each kernel: at {words.joined(names)}.", height=height, half=True)


def over_peers(stem: str, ladder: Ladder) -> list[Figure]:
    """The fastest own kernel over each peer, by size of the square."""
    from report.draw import lines, style
    square = [(p, n, peers) for p, peers in ladder.over if (n := p.n) is not None and ladder.is_along(p) and peers]
    if len(square) < 2:
        return []
    names = list(dict.fromkeys(name for *_, peers in square for name in peers))[:FEW]
    series = [lines.Series(f"over {name}", [lines.Dot(n, peers[name].value, peers[name].low, peers[name].high,
                                                      marker=None if peers[name].is_significant else "x")
                                            for _, n, peers in square if name in peers]) for name in names]
    table_ = [{"size": p.size_text, "kernel": p.kernel.name, "type": p.kernel.type, "value": p.value, "unit": numbers.unit(p),
               **{k: v for name, x in peers.items() for k, v in ratio_row(f"over {name}", x).items()}}
              for p, peers in ladder.over]
    others = [p.size_text for p, peers in ladder.over if not ladder.is_along(p) and peers]
    caption = (f"{words.sentence(square[0][0].kernel.title)[:-1]} against each library by size, {words.type_name(ladder.type)}; "
               "crosses: not significantly different. "
               + (f"Other shapes ({words.listed(others, 2)}) are in the CSV. " if others else "")
               + words.provenance(ladder.part, [p for p, _ in ladder.over], hollow=False))

    def draw(fig) -> None:
        ax = style.axes(fig, 12, 9, 25, 2)
        top = max(d.y for s in series for d in s.dots)
        high = min(max(d.high or d.y for s in series for d in s.dots), MOST_ABOVE * top)
        low = min(d.low or d.y for s in series for d in s.dots)
        lines.draw(ax, series, "N", "Speed over the library", limit=13, ylim=(min(0.9, low / 1.05), high * 1.05))
        ax.axhline(1, color=style.GREY, linewidth=0.7, linestyle=(0, (1, 2)))
    return [Figure(f"{stem}_over_peers", table_, draw, caption,
                   "Line plot of the fastest own kernel’s speed over each library by matrix size.", height=60, half=True)]


# Tables


def speed_of_light(stem: str, ladder: Ladder) -> list[Table]:
    """On a GPU: each rung's share of the roof, its share of the roof at the clock that it ran at, clock and power."""
    limit = ladder.part.run.context.get("gpu_power_limit_w")
    made = [row | {"of_power_limit": of_power_limit(ladder.part, r.point), "share": words.share(r.share, digits_only=True)}
            for row, r in zip(rows(ladder), ladder.rungs)]
    columns = (Column("rung", "rung", str), Column("title", "kernel", right=False, wide=True),
               Column("value", numbers.unit(ladder.rungs[0].point), numbers.significant), Column("share", "of the roof"),
               Column("share_at_clock", "at its clock", numbers.share), Column("sm_clock_mhz", "MHz", "{:.0f}".format),
               Column("power_w", "W", "{:.0f}".format), Column("of_power_limit", "of the limit", numbers.percent),
               Column("limit", "limit or nearest roof", right=False))
    known = [c for c in columns if any(row.get(c.key) is not None for row in made)]
    if not any(row.get("sm_clock_mhz") for row in made):
        return []
    peak = next((r.share.roof for r in ladder.rungs if r.share), None)
    roof = (f"The roof is {numbers.flops(peak.value)}{f', measured at {peak.clock_mhz:.0f} MHz' if peak.clock_mhz else ''}; at its "
            "clock: of the roof scaled to the kernel’s clock. ") if peak else ""
    watts = f"Of the limit: of the board’s power limit, {limit:g}\u00a0W. " if any(row["of_power_limit"] for row in made) else ""
    watts += words.energy(points(ladder)) if any(row.get("power_w") for row in made) else ""
    return [Table(f"{stem}_speed_of_light", f"Roof, clock and power at {ladder.size_text}, {words.type_name(ladder.type)}. {roof}{watts}"
                  f"{_profiled(ladder)}{words.clock_source(ladder.part)}" + words.provenance(ladder.part, points(ladder), hollow=False), known, made)]


def table(stem: str, ladder: Ladder) -> Table:
    """The ladder in numbers; columns without any value are left out."""
    peers, made = [r.point.kernel.title for r in ladder.peers], rows(ladder)
    columns = (
        Column("rung", "rung", str), Column("title", "kernel", right=False, wide=True),
        Column("value", numbers.unit(ladder.rungs[0].point), numbers.significant), Column("gain", "gain", numbers.times),
        *(Column(f"over {name}", f"over {name}", numbers.times) for name in peers),
        Column("op_per_byte_requested", "OP/B req.", numbers.significant),
        Column("op_per_byte_dram", "OP/B DRAM", numbers.significant), Column("occupancy", "occ.", numbers.occupancy),
        Column("wait", "waits", right=False), Column("gflop_per_joule", "GFLOP/J", numbers.significant))
    known = [c for c in columns if any(row.get(c.key) is not None for row in made)]
    notes = {"gain": "Gain: over the rung below, where both were interleaved as the median ratio of their rounds.",
             "op_per_byte_requested": "OP/B: useful operations per byte requested and moved by DRAM"
                                     f"{'' if ladder.part.side == 'cpu' else f' ({words.EMPTY_CACHES})'}.",
             "occupancy": "Occ.: theoretical occupancy.",
             "wait": "Waits: the state in which most warps wait, with its share of the time of all active warps, in Nsight "
                     "Compute’s terms.",
             "gflop_per_joule": f"GFLOP/J: by the energy counter. {words.energy(points(ladder))}".strip()}
    text = " ".join(notes[c.key] for c in known if notes.get(c.key))
    return Table(f"{stem}_rungs", f"The ladder at {ladder.size_text}, {words.type_name(ladder.type)}, in numbers. {text}{' ' if text else ''}"
                 + words.provenance(ladder.part, points(ladder), hollow=False), known, made)


def cold(stem: str, ladder: Ladder) -> list[Table | str]:
    """Rates with a cold last-level cache compared with the hot ones; a sentence where none was measured."""
    found = {p.identity: p for p in best_variants(ladder.part.timed(ladder.problem.family, ladder.type, COLD))}
    pairs = [(p, found[p.identity]) for p in ladder.points if p.identity in found]
    if not pairs:
        return ["The cold mode (last-level cache flushed before each call) was not measured."]
    sizes = sorted({p.n for p, _ in pairs if p.n})
    made: list[dict] = []
    for name in dict.fromkeys(p.kernel.name for p, _ in pairs):
        mine = {p.n: (p, c) for p, c in pairs if p.kernel.name == name and p.n}
        first = next(iter(mine.values()))[0]
        made.append({"title": first.kernel.title, "kernel": name, "type": ladder.type} | {
            f"{n:g}": p.timing.median / c.timing.median for n, (p, c) in mine.items()} | {
            f"{n:g} cold {c.metric.unit}": c.value for n, (_, c) in mine.items()})
    return [Table(f"{stem}_cold", "Cold over hot, by N: the rate with the last-level cache flushed before each call, as a "
                  "fraction of the rate of successive calls. " + words.provenance(ladder.part, [c for _, c in pairs], hollow=False),
                  (Column("title", "kernel", right=False, wide=True),
                   *(Column(f"{n:g}", f"{n:g}", lambda v: f"{v:.2f}") for n in sizes)), made)]


def variants(stem: str, ladder: Ladder) -> list[Table]:
    """The effect of a tunable's value: each kernel's variants of one size that differ only in that tunable."""
    timed = [p for p in ladder.part.timed(ladder.problem.family, ladder.type)
             if p.threads == ladder.fastest.point.threads and p.tunables and not p.swept_threads]
    groups: dict[tuple, dict] = defaultdict(dict)
    for p in timed:
        for key, value in p.tunables.items():
            rest = tuple(sorted((k, str(v)) for k, v in p.tunables.items() if k != key))
            groups[p.kernel.order, p.kernel.title, key, p.size_text, rest][value] = p
    groups = {key: found for key, found in groups.items() if len(found) > 1}
    shown = list({p.name: p for found in groups.values() for p in found.values()}.values())
    best = {key: fastest_by_turns(list(found.values())) for key, found in groups.items()}
    over = judge({(key, v): ratio(p, best[key]) for key, found in groups.items() for v, p in found.items() if p is not best[key]})
    made = []
    for group, found in sorted(groups.items(), key=lambda item: (item[0][:3], next(iter(item[1].values())).amount or 0)):
        (_, title, key, size, rest), most = group, best[group]
        found = dict(sorted(found.items(), key=lambda item: (isinstance(item[0], str), item[0])))
        made.append({"kernel": most.kernel.name, "title": title + "".join(f", {k} {v}" for k, v in rest), "tunable": key,
                     "size": size, "best": most.tunables[key], "rate": numbers.rate(most),
                     "all": "; ".join(f"{v}: {_of_best(over.get((group, v)))}" for v in found),
                     **{f"value at {v}": p.value for v, p in found.items()},
                     **{k: x for v in found for k, x in ratio_row(f"{v} over the best", over.get((group, v))).items()}})
    return [Table(f"{stem}_variants", "Variants that differ in one tunable: the best with its rate, and the speed of each relative to it, "
                  "by rounds where interleaved; without sweeps over threads. ≈: not significantly different, or too few samples; "
                  "a ladder shows the variant of least median. "
                  + words.provenance(ladder.part, shown, hollow=False), (
                      Column("title", "kernel", right=False), Column("tunable", "tunable", right=False),
                      Column("size", "size"), Column("best", "best", str), Column("rate", "rate"),
                      Column("all", "value: speed, of the best’s", right=False, wide=True)), made)] if made else []


def fastest_by_turns(points: Sequence[Point]) -> Point:
    """The point that no other point is faster than, by the quotients that tables give; the medians may be in another order.
    In a cycle of such comparisons, the point at which the search from the least median arrives a second time."""
    best, seen = min(points, key=by_time), set()
    while best.name not in seen:
        seen.add(best.name)
        next_ = max(points, key=lambda p: 1.0 if p is best else times_as_fast(p, best))
        best = next_ if next_ is not best and times_as_fast(next_, best) > 1 else best
    return best


def _of_best(r: Ratio | None) -> str:
    """'92 %', '≈ 99 %' where that is not significantly different; '100 %' of the best itself."""
    return numbers.percent(1.0) if r is None else f"{'' if r.is_significant else f'≈{numbers.NB}'}{numbers.percent(r.value)}"
