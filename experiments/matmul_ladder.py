"""The GPU's ladder: each rung's rate, gain and nearest roof; its intensities; the top rung compared with the libraries."""

from report.experiment import Figure, Ladder, Point, Section, View, build, words
from report.sections import ladders, steps


def section(view: View) -> Section | None:
    s = view.settings
    ladder = build(view.gpu, s.get("family", ""), s.get("type", "fp32"), s.get("size"))
    if ladder is None:
        return None
    pair = [p for name in s.get("textbook", ()) if (p := ladder.find(name))]
    pair = pair if len(pair) == 2 else []
    how = f"useful operations over bytes by {ladder.part.counter_tool or 'hardware counters'}, {words.EMPTY_CACHES}, 128\u00a0B per wavefront of L1, which also serves shared memory"
    levels = ladders.hierarchy(view.name, ladder, ladders.chosen(ladder, pair), how)
    rungs = ladders.rungs_figure(view.name, ladder)
    return Section(
        ladders.finding(ladder),
        figures=[rungs, *([levels] if levels else []), *ladders.over_peers(view.name, ladder)],
        answer=[f"{ladders.climb(ladder, 'the GPU’s kernels')}."],
        first=_roofline(view, ladder, pair), ladders=[ladder], slide=rungs, paper=[rungs, steps.table(view.name, ladder)],
        appendix=[ladders.table(view.name, ladder), *ladders.speed_of_light(view.name, ladder), *ladders.cold(view.name, ladder),
                  *ladders.missing(ladder)])


def _roofline(view: View, ladder: Ladder, pair: list[Point]) -> Figure | None:
    """For the first page: every kernel at its requested and its DRAM intensity."""
    from report.draw import marks, roofline, style
    if not ladder.part.roofs:
        return None
    main = {p.kernel.name for p in (*pair, ladder.top.point, *(r.point for r in ladder.peers))}
    shown = [marks.Mark(str(r.number or ""), r.point.kernel.title, r.point.gflops, _two(ladder, r.point),
                           not r.is_own, r.point.kernel.name in main) for r in ladder.rungs if r.point.gflops]
    # The textbook's own variant is on the plot even where another tile is faster.
    shown += [marks.Mark("", p.title, p.gflops, _two(ladder, p), is_main=True) for p in pair
              if all(p is not r.point for r in ladder.rungs)]
    key = "; ".join(f"{r.number} {r.point.kernel.title}" for r in ladder.own)
    shown = [m for m in shown if m.xs]
    opened, axis = _opened(shown)
    caption = (f"Roofline of the GPU at {ladder.size_text}, {words.type_name(ladder.type)}. Filled: useful operations per "
               f"requested byte{opened}. Solid: measured roofs; dashed: data sheet; dotted: textbook’s naive kernel and 16 × 16 tiles. {key}. "
               + words.provenance(ladder.part, ladders.points(ladder), hollow=False))

    def draw(fig) -> None:
        ax = style.axes(fig, 16, 9, 1.5, 1)
        roofline.draw(ax, ladder.part.roofs, ladder.type, shown, view.settings.get("guides", ()),
                      axis, levels=("DRAM", "L2"))
    return Figure(f"{view.name}_roofline", ladders.rows(ladder), draw, caption,
                  "Roofline plot of the kernels over the operations per byte that they request" + (
                      ": kernels on the left are far to the right by the bytes that DRAM moved." if ", joined" in opened else "."),
                  height=84, half=True)


def _opened(shown: list) -> tuple[str, str]:
    """Texts about the open marks for the caption and the axis: for all kernels drawn, for the named ones only, or nothing."""
    known = [m for m in shown if "DRAM" in m.xs]
    if not known:
        return "", "requested"
    joined = ", joined" if any(len(m.xs) > 1 for m in known) else ""
    if len(known) == len(shown):
        return f"; open{joined}: per byte moved by DRAM (hardware counters, {words.EMPTY_CACHES})", "filled: requested; open: DRAM"
    names = words.several([m.name for m in known]) if len(known) <= 3 else f"{len(known)} of {len(shown)} kernels"
    return f"; open{joined}: per byte of DRAM (counters of {names} alone, {words.EMPTY_CACHES})", f"requested; open, {len(known)} of {len(shown)}: DRAM"


def _two(ladder: Ladder, point: Point) -> dict[str, float]:
    both = {"requested": point.requested_intensity, "DRAM": ladder.part.dram_intensity(point)}
    return {k: v for k, v in both.items() if v}
