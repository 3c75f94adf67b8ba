"""What the GPU's ladder shows: each rung's rate, gain and nearest roof; its intensities; the top against the peers."""

from report.experiment import (COLD, FAILS, HOLDS, Claim, Column, Figure, Ladder, Point, Ratio, Rung, Section, Table,
                               Verdict, View, best_variants, build, claim, numbers, use, words)

FEW = 5
"""Kernels of a figure that tells kernels apart by colour."""
L1_BYTES = 128
"""Bytes of a wavefront of the L1's data path."""


def section(view: View) -> Section | None:
    s = view.settings
    ladder = build(view.gpu, s.get("family", ""), s.get("type", "fp32"), s.get("size"))
    if ladder is None:
        return None
    pair = [p for name in s.get("textbook", ()) if (p := ladder.find(name))]
    pair = pair if len(pair) == 2 else []
    figures = [_ladder_figure(view, ladder), *_hierarchy(view, ladder, pair), *_sizes(view, ladder)]
    return Section(
        _finding(ladder), figures=figures, verdicts=_verdicts(view, ladder, pair), answer=_answer(ladder, pair),
        first=_roofline(view, ladder, pair), ladders=[ladder],
        appendix=[_table(view, ladder), *_cold(view, ladder), *_missing(ladder)])


# Words


def _finding(ladder: Ladder) -> str:
    """The fastest rung beside roof and peers, and the largest gain."""
    best, own = ladder.fastest, ladder.own
    text = f"{_at(ladder)} {best.point.kernel.title} is the fastest rung with {numbers.rate(best.point)}"
    text += f", {words.of_peak(best.share)}" if best.share else ""
    ratios = [words.speed(r, name) for name, r in best.peers.items()]
    text += f"; it is {words.joined(ratios)}." if ratios else "."
    gains = [r for r in own if r.below and r.below.is_significant and r.below.value > 1]
    if gains:
        most = max(gains, key=lambda r: r.below.value)
        below = own[most.number - 2]
        text += (f" The largest single gain, {numbers.times(most.below.value)}, is that of {most.point.kernel.title} "
                 f"over {below.point.kernel.title}.")
    return text + _turning_point(own)


def _turning_point(own: list[Rung]) -> str:
    """Up to where memory paths limit, and what limits the fastest."""
    low, high = own[0].use, own[-1].use
    if not low.limit or not high.nearest or low.limit == high.limit:
        return ""
    return f" The lowest rung is {words.limit(low)}, the highest {words.limit(high)}."


def _at(ladder: Ladder) -> str:
    return f"At {ladder.size_text}{f' ({ladder.note})' if ladder.note else ''}"


def _answer(ladder: Ladder, pair: list[Point]) -> list[str]:
    """Two sentences for the first page: how far, and why tiling brings less than it promises."""
    best, lowest = ladder.fastest, ladder.own[0].point
    peer = ladder.best_peer
    text = (f"{_at(ladder)} the GPU’s kernels climb from {numbers.rate(lowest)} ({lowest.kernel.title}) to "
            f"{numbers.rate(best.point)} ({best.point.kernel.title})")
    text += f", {words.of_peak(best.share)}" if best.share else ""
    over = best.peers.get(peer.point.kernel.title) if peer else None
    text += f", {numbers.times(over.value)} the rate of the fastest library, {peer.point.kernel.title}." if over else "."
    return [text, *_why(ladder, pair)]


def _why(ladder: Ladder, pair: list[Point]) -> list[str]:
    """Why the tiled kernel gains less than its requests fall."""
    if not pair:
        return []
    naive, tiled = pair
    fewer = tiled.requested_intensity / naive.requested_intensity
    faster = naive.summary.median / tiled.summary.median
    text = (f"Tiling requests {numbers.times(fewer)} fewer bytes from global memory but is only "
            f"{numbers.times(faster)} as fast")
    both = [use(ladder.part, p).shares.get("L1") for p in pair]
    dram = ladder.part.dram_intensity(naive)
    if all(both) and min(both) >= 0.8:
        text += (f", because both kernels are limited by the same L1 data path, which also serves shared memory: they "
                 f"keep it {numbers.percent(both[0])} and {numbers.percent(both[1])} busy")
        text += f", while caches already serve {_served(naive, dram)} of what the naive kernel requests" if dram else ""
    return [f"{text}."]


def _served(point: Point, dram: float) -> str:
    """The part of the requested bytes that DRAM does not move: '98.4 %'."""
    return f"{100 * (1 - point.requested_intensity / dram):.3g}\u00a0%"


def _verdicts(view: View, ladder: Ladder, pair: list[Point]) -> list[Verdict]:
    if not pair:
        return []
    naive = pair[0]
    bound = ladder.part.roofs.bound(naive.requested_intensity, ladder.type)
    if not bound:
        return []
    said: Claim = claim(view, "bound")
    dram = ladder.part.dram_intensity(naive)
    evidence = (f"The naive kernel ({numbers.significant(naive.requested_intensity)} OP/B) reaches "
                f"{numbers.rate(naive)}; the measured bandwidth would allow {numbers.flops(bound)}.")
    if dram and naive.value > bound:
        evidence += (f" Caches serve {_served(naive, dram)} of the requests; per byte that DRAM moves it does "
                     f"{numbers.significant(dram)} operations")
        evidence += "."
    return [Verdict(said, FAILS if naive.value > bound else HOLDS, evidence)]


# Figures


def _rows(ladder: Ladder) -> list[dict]:
    made = []
    for r in ladder.rungs:
        p, ends = r.point, r.point.interval or (None, None)
        made.append({
            "rung": r.number, "kernel": p.kernel.name, "title": p.title, "type": p.kernel.type, "size": p.size_text,
            "mode": p.mode, "value": p.value, "low": ends[0], "high": ends[1], "unit": p.metric.unit, "n": p.summary.n,
            **_ratio_row("below", r.below),
            **{k: v for name, x in r.peers.items() for k, v in _ratio_row(f"over {name}", x).items()},
            "share_of_peak": r.share and r.share.value, "op_per_byte_requested": p.requested_intensity,
            "op_per_byte_dram": ladder.part.dram_intensity(p), "occupancy": p.counters.get("occupancy_theoretical"),
            **{f"share_{name}": x for name, x in r.use.shares.items()},
            "limit": words.limit(r.use), "wait": _wait(r.use.waits), "joules": p.joules,
            "gflop_per_joule": p.flops / p.joules / 1e9 if p.joules and p.flops else None})
    return made


def _ratio_row(name: str, r: Ratio | None) -> dict:
    if r is None:
        return {}
    return {name: r.value, f"{name} low": r.low, f"{name} high": r.high, f"{name} p": r.p, f"{name} verdict": r.verdict}


def _wait(waits: dict[str, float]) -> str | None:
    state = max(waits, key=waits.get, default=None)
    return f"{state.replace('_', ' ')} {waits[state]:.2f}" if state else None


def _points(ladder: Ladder) -> list[Point]:
    return [r.point for r in ladder.rungs]


def _ladder_figure(view: View, ladder: Ladder) -> Figure:
    from report.draw import rungs
    caption = (f"The ladder at {ladder.size_text}, {words.type_name(ladder.type)}; each kernel in its fastest variant, "
               "libraries hatched. × below: speed over the rung below, bold where significantly faster, in brackets "
               "where not significantly different. Nearest roof: the resource of which the kernel uses the largest "
               f"share, bold where it limits (at least 0.8). {words.provenance(ladder.part, _points(ladder))}")
    return Figure(f"{view.name}_rungs", _rows(ladder), lambda fig: rungs.draw(fig, ladder), caption,
                  f"Bar chart of {words.counted(len(ladder.rungs), 'kernel')} from slowest to fastest: "
                  f"{ladder.rungs[0].point.kernel.title} {numbers.rate(ladder.rungs[0].point)} to "
                  f"{ladder.fastest.point.kernel.title} {numbers.rate(ladder.fastest.point)}.",
                  height=rungs.height(ladder))


def _roofline(view: View, ladder: Ladder, pair: list[Point]) -> Figure | None:
    """For the first page: every kernel at its requested and its DRAM intensity."""
    from report.draw import marks, roofline, style
    if not ladder.part.roofs:
        return None
    main = {p.kernel.name for p in (*pair, ladder.top.point, *([ladder.best_peer.point] if ladder.best_peer else []))}
    shown = [marks.Mark(str(r.number or ""), r.point.kernel.title, r.point.gflops, _two(ladder, r.point),
                           not r.is_own, r.point.kernel.name in main) for r in ladder.rungs if r.point.gflops]
    # The textbook's own variant stands on the plot even where another tile is faster.
    shown += [marks.Mark("", p.title, p.gflops, _two(ladder, p), is_main=True) for p in pair
              if all(p is not r.point for r in ladder.rungs)]
    key = "; ".join(f"{r.number} {r.point.kernel.title}" for r in ladder.own)
    caption = (f"Roofline of the GPU at {ladder.size_text}, {words.type_name(ladder.type)}. Filled: operations per byte "
               "that the code requests; open, joined: per byte that DRAM moved (hardware counters). Solid: measured "
               f"roofs; dashed: data sheet; dotted: the textbook’s naive kernel and its 16 × 16 tiles. {key}. "
               f"{words.provenance(ladder.part, _points(ladder))}")

    def draw(fig) -> None:
        ax = style.axes(fig, 16, 9, 1.5, 1)
        roofline.draw(ax, ladder.part.roofs, ladder.type, shown, view.settings.get("guides", ()),
                      "filled: requested; open: DRAM", levels=("DRAM", "L2"))
    return Figure(f"{view.name}_roofline", _rows(ladder), draw, caption,
                  "Roofline plot: kernels on the left request few operations per byte but lie far to the right when "
                  "counted by the bytes that DRAM moved.", height=84, half=True)


def _two(ladder: Ladder, point: Point) -> dict[str, float]:
    both = {"requested": point.requested_intensity, "DRAM": ladder.part.dram_intensity(point)}
    return {k: v for k, v in both.items() if v}


def _chosen(ladder: Ladder, pair: list[Point]) -> list[Point]:
    """The textbook's two, the rungs with the largest gains, the top and the best peer."""
    gains = sorted((r for r in ladder.own if r.below), key=lambda r: -r.below.value)
    wanted = [*pair, ladder.top.point, *([ladder.best_peer.point] if ladder.best_peer else []),
              *(r.point for r in gains)]
    unique = list({p.kernel.name: p for p in reversed(wanted)}.values())[::-1]
    kept = [p for p in unique if ladder.part.counters_of(p)][:FEW]
    return sorted(kept, key=lambda p: p.value)


def _hierarchy(view: View, ladder: Ladder, pair: list[Point]) -> list[Figure]:
    """Intensities at L1, L2 and DRAM of a few kernels, under the roofs of the three; nothing without counters."""
    from report.draw import marks, roofline, style
    points = [p for p in _chosen(ladder, pair) if len(_levels(ladder, p)) == 3]
    if not points:
        return []
    shown = [marks.Mark("", p.title, p.gflops, _levels(ladder, p), p.kernel.is_library, True) for p in points]
    rows = [{"kernel": p.kernel.name, "title": p.title, "gflops": p.gflops,
             **{f"op_per_byte_{k}": v for k, v in _levels(ladder, p).items()}} for p in points]
    caption = (f"Hierarchical roofline (Yang and others, 2020) at {ladder.size_text}: operations per byte of the L1’s "
               "data path (triangle; 128 B a wavefront, shared memory’s among them), of the L2 (square) and of DRAM "
               f"(open diamond), by {ladder.part.counter_tool or 'hardware counters'}; slopes of the same three. "
               f"{words.provenance(ladder.part, points)}")

    def draw(fig) -> None:
        roofline.draw(style.axes(fig, 16, 9, 1.5, 1), ladder.part.roofs, ladder.type, shown, (), "of each level of memory",
                      levels=("SHARED", "L2", "DRAM"))
    return [Figure(f"{view.name}_hierarchy", rows, draw, caption,
                   "Roofline with three intensities for each kernel: at L1, L2 and DRAM.", height=68, half=True)]


def _levels(ladder: Ladder, point: Point) -> dict[str, float]:
    c = ladder.part.counters_of(point)
    moved = {"L1": c.get("l1_wavefronts", 0) * L1_BYTES, "L2": c.get("l2_bytes"), "DRAM": c.get("dram_bytes")}
    return {k: point.flops / v for k, v in moved.items() if v}


def _sizes(view: View, ladder: Ladder) -> list[Figure]:
    """The fastest own kernel over each peer, by size of the square."""
    from report.draw import lines, style
    square = [(p, peers) for p, peers in ladder.over if p.n and peers]
    if len(square) < 2:
        return []
    names = list(dict.fromkeys(name for _, peers in square for name in peers))[:FEW]
    series = [lines.Series(f"over {name}", [lines.Dot(p.n, peers[name].value, peers[name].low, peers[name].high,
                                                      hollow=not peers[name].is_significant)
                                            for p, peers in square if name in peers]) for name in names]
    rows = [{"size": p.size_text, "kernel": p.kernel.name, "value": p.value, "unit": p.metric.unit,
             **{k: v for name, x in peers.items() for k, v in _ratio_row(f"over {name}", x).items()}}
            for p, peers in ladder.over]
    others = [(p, peers) for p, peers in ladder.over if not p.n and peers]
    caption = (f"{square[0][0].kernel.title} against each library by size; hollow: not significantly different. "
               + (f"Other shapes ({words.listed([p.size_text for p, _ in others], 2)}) are in the CSV. " if others else "")
               + words.provenance(ladder.part, [p for p, _ in ladder.over]))

    def draw(fig) -> None:
        ax = style.axes(fig, 12, 9, 22, 2)
        lines.draw(ax, series, "N", "Speed over the library", limit=13)
        high = max(d.high or d.y for s in series for d in s.dots)
        low = min(d.low or d.y for s in series for d in s.dots)
        ax.set_ylim(min(0.9, low / 1.05), high * 1.05)
        ax.axhline(1, color=style.GREY, linewidth=0.7, linestyle=(0, (1, 2)))
    return [Figure(f"{view.name}_over_peers", rows, draw, caption,
                   "Line plot of the fastest own kernel’s speed over each library by matrix size.", height=68, half=True)]


# Appendix


def _table(view: View, ladder: Ladder) -> Table:
    peers = [r.point.kernel.title for r in ladder.peers]
    caption = (f"The ladder at {ladder.size_text} in numbers. Waits: the state in which most warps wait, with its part "
               "of the time of all active warps, in Nsight Compute’s words. Energy efficiency by the board’s energy "
               f"counter. {words.provenance(ladder.part, _points(ladder))}")
    return Table(f"{view.name}_rungs", caption, (
        Column("rung", "", str), Column("title", "kernel", right=False, wide=True),
        Column("value", ladder.rungs[0].point.metric.unit, numbers.significant),
        Column("below", "× below", numbers.times),
        *(Column(f"over {name}", f"× {name}", numbers.times) for name in peers),
        Column("op_per_byte_requested", "OP/B requested", numbers.significant),
        Column("op_per_byte_dram", "OP/B DRAM", numbers.significant),
        Column("occupancy", "occupancy", numbers.percent), Column("limit", "limit", right=False),
        Column("wait", "waits", right=False), Column("gflop_per_joule", "GFLOP/J", numbers.significant)),
        _rows(ladder))


def _cold(view: View, ladder: Ladder) -> list[Table | str]:
    """Rates with a cold L2 beside the hot ones; a sentence where none was measured."""
    cold = {p.identity: p for p in best_variants(ladder.part.timed(ladder.problem.family, ladder.type, COLD))}
    pairs = [(p, cold[p.identity]) for p in ladder.points if p.identity in cold]
    if not pairs:
        return ["The cold mode (last-level cache flushed before each call) was not measured."]
    sizes = sorted({p.n for p, _ in pairs if p.n})
    rows = []
    for name in dict.fromkeys(p.kernel.name for p, _ in pairs):
        mine = {p.n: (p, c) for p, c in pairs if p.kernel.name == name and p.n}
        first = next(iter(mine.values()))[0]
        rows.append({"title": first.kernel.title, "kernel": name} | {
            f"{n:g}": p.summary.median / c.summary.median for n, (p, c) in mine.items()} | {
            f"{n:g} cold {c.metric.unit}": c.value for n, (_, c) in mine.items()})
    return [Table(f"{view.name}_cold", "Cold over hot: the rate with the L2 flushed before each call, as a part of the "
                  f"rate of calls that follow each other, by N. {words.provenance(ladder.part, [c for _, c in pairs])}",
                  (Column("title", "kernel", right=False, wide=True),
                   *(Column(f"{n:g}", f"{n:g}", lambda v: f"{v:.2f}") for n in sizes)), rows)]


def _missing(ladder: Ladder) -> list[str]:
    if not ladder.missing:
        return []
    texts = [f"{p.kernel.title} ({p.skipped or p.failed or 'measured at other sizes'})" for p in ladder.missing]
    return [f"Not on the ladder at {ladder.size_text}: {words.joined(texts)}."]
