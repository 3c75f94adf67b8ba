"""What the GPU's ladder shows: each rung's rate, gain and nearest roof; its intensities; the top against the peers."""

from report.experiment import Figure, Ladder, Point, Section, View, build, numbers, use, words
from report.sections import ladders


def section(view: View) -> Section | None:
    s = view.settings
    ladder = build(view.gpu, s.get("family", ""), s.get("type", "fp32"), s.get("size"))
    if ladder is None:
        return None
    pair = [p for name in s.get("textbook", ()) if (p := ladder.find(name))]
    pair = pair if len(pair) == 2 else []
    how = f"by {ladder.part.counter_tool or 'hardware counters'}, 128\u00a0B a wavefront of L1, which serves shared memory, too"
    levels = ladders.hierarchy(view.name, ladder, ladders.chosen(ladder, pair), how)
    return Section(
        ladders.finding(ladder),
        figures=[ladders.rungs_figure(view.name, ladder), *([levels] if levels else []), *ladders.over_peers(view.name, ladder)],
        answer=[f"{ladders.climb(ladder, 'the GPU’s kernels')}.", *_why(ladder, pair)],
        first=_roofline(view, ladder, pair), ladders=[ladder],
        appendix=[ladders.table(view.name, ladder), *ladders.cold(view.name, ladder), *ladders.missing(ladder)])


def _why(ladder: Ladder, pair: list[Point]) -> list[str]:
    """Why the tiled kernel gains less than its requests fall."""
    if not pair:
        return []
    naive, tiled = pair
    fewer = tiled.requested_intensity / naive.requested_intensity
    faster = naive.summary.median / tiled.summary.median
    text = (f"Tiling cuts the bytes requested from global memory by a factor of {numbers.times(fewer)[:-1]} but is only "
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


def _roofline(view: View, ladder: Ladder, pair: list[Point]) -> Figure | None:
    """For the first page: every kernel at its requested and its DRAM intensity."""
    from report.draw import marks, roofline, style
    if not ladder.part.roofs:
        return None
    main = {p.kernel.name for p in (*pair, ladder.top.point, *(r.point for r in ladder.peers))}
    shown = [marks.Mark(str(r.number or ""), r.point.kernel.title, r.point.gflops, _two(ladder, r.point),
                           not r.is_own, r.point.kernel.name in main) for r in ladder.rungs if r.point.gflops]
    # The textbook's own variant stands on the plot even where another tile is faster.
    shown += [marks.Mark("", p.title, p.gflops, _two(ladder, p), is_main=True) for p in pair
              if all(p is not r.point for r in ladder.rungs)]
    key = "; ".join(f"{r.number} {r.point.kernel.title}" for r in ladder.own)
    moved = any("DRAM" in m.xs for m in shown)
    opened = "; open, joined: per byte that DRAM moved (hardware counters)" if moved else ""
    caption = (f"Roofline of the GPU at {ladder.size_text}, {words.type_name(ladder.type)}. Filled: operations per byte "
               f"that the code requests{opened}. Solid: measured roofs; dashed: data sheet; dotted: the textbook’s naive kernel and its 16 × 16 tiles. {key}. "
               f"{words.provenance(ladder.part, ladders.points(ladder), hollow=False)}")

    def draw(fig) -> None:
        ax = style.axes(fig, 16, 9, 1.5, 1)
        roofline.draw(ax, ladder.part.roofs, ladder.type, shown, view.settings.get("guides", ()),
                      "filled: requested; open: DRAM" if moved else "requested", levels=("DRAM", "L2"))
    return Figure(f"{view.name}_roofline", ladders.rows(ladder), draw, caption,
                  "Roofline plot of the kernels over the operations per byte that they request" + (
                      ": those on the left lie far to the right when counted by the bytes that DRAM moved." if moved else "."), height=84, half=True)


def _two(ladder: Ladder, point: Point) -> dict[str, float]:
    both = {"requested": point.requested_intensity, "DRAM": ladder.part.dram_intensity(point)}
    return {k: v for k, v in both.items() if v}
