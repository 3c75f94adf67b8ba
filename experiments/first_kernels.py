"""A product by one block compared with one by many, and the tiled product with views compared with sums of indices."""

from report.experiment import (
    Column,
    Figure,
    Part,
    Point,
    Ratio,
    Section,
    Table,
    View,
    best_variants,
    captions,
    fastest,
    judge,
    numbers,
    ratio,
    words,
)

TILE = "tile"


def section(view: View) -> Section | None:
    block, grid = _of(view, view.gpu, "block"), best_variants(_of(view, view.gpu, "grid"))
    pairs = _pairs(view)
    cores = [p for p in (view.cpu.timed(view.settings["family"]) if view.cpu else []) if p.value and p.n]
    counted = [p for p in (view.counts.points if view.counts else ()) if p.is_counted]
    texts = [*_block_text(view, block), *_grid_text(block, grid), *_core_text(block, cores), *_views_text(pairs), *_counted_text(view, counted)]
    if not texts:
        return None
    return Section(words.paragraphs(texts), figures=_figure(view, block, grid, cores), appendix=[*_block_table(view, block), *_views_table(view, pairs)])


# Points


def _of(view: View, part: Part | None, key: str) -> list[Point]:
    points = [p for p in (part.timed(view.settings["family"]) if part else []) if p.value and p.n]
    return sorted((p for p in points if p.kernel.name == view.settings[key]), key=lambda p: p.n)


def _pairs(view: View) -> list[tuple[Point, Point, Ratio]]:
    """The kernel with sums of indices and the kernel with views, at each size and tile, and the speed of the second over the first."""
    views = {(p.size_key, p.tunables.get(TILE)): p for p in _of(view, view.gpu, "views")}
    found = [(p, views[p.size_key, p.tunables.get(TILE)]) for p in _of(view, view.gpu, "sums") if (p.size_key, p.tunables.get(TILE)) in views]
    judged = judge({new.name: ratio(new, old) for old, new in found})
    return sorted(((old, new, judged[new.name]) for old, new in found), key=lambda x: (x[0].n, x[0].tunables.get(TILE, 0)))


def _share(view: View, p: Point) -> float | None:
    """The share of the GPU's measured arithmetic peak."""
    share = view.gpu.roofs.of_peak(p)
    return share.told if share else None


def _processors(view: View) -> int:
    return int(view.gpu.run.context.get("gpu_sm_count") or 0)


# Words


def _block_text(view: View, block: list[Point]) -> list[str]:
    if not block:
        return []
    last, many = block[-1], _processors(view)
    text = (f"The largest product that one block computed, {last.n:.0f}\u00a0×\u00a0{last.n:.0f}, takes {numbers.seconds(last.summary.median)} "
            f"with its launch{'' if last.settled else ' (unsettled)'}: {numbers.rate(last)}")
    share = _share(view, last)
    if share and many:
        text += f", {numbers.percent(share * many)} of the peak of one multiprocessor, while the {many - 1} others are idle"
    return [f"{text}."]


def _grid_text(block: list[Point], grid: list[Point]) -> list[str]:
    if not grid or not block or grid[-1].n <= block[-1].n:
        return []
    best = max(grid, key=lambda p: p.value)
    return [f"With one block per tile of the result, the same work per thread reaches {numbers.rate(best)} at {best.size_text}, "
            f"{numbers.times(best.value / block[-1].value)} as much."]


def _core_text(block: list[Point], cores: list[Point]) -> list[str]:
    here = fastest([p for p in cores if block and p.n == block[-1].n])
    if here is None:
        largest = max((p.n for p in cores), default=None)
        best = fastest([p for p in cores if p.n == largest])
        return [f"One core of the CPU reaches {numbers.rate(best)} at {best.size_text} ({best.kernel.title})."] if best else []
    return [f"One core of the CPU needs {numbers.seconds(here.summary.median)} for the product of this size ({here.kernel.title})."]


def _views_text(pairs: list) -> list[str]:
    if not pairs:
        return []
    old, new, gain = max(pairs, key=lambda x: (x[0].n, x[0].tunables.get(TILE) == 16))
    text = f"With views, the tiled product is {words.speed(gain, 'with sums of indices')} at {old.size_text} with {old.variant}"
    if len(pairs) > 1:
        values = [numbers.times(f(r.value for _, _, r in pairs)) for f in (min, max)]
        text += f"; over {len(pairs)} sizes and tiles {' to '.join(dict.fromkeys(values))}"
    return [f"{text}."]


def _counted_text(view: View, counted: list[Point]) -> list[str]:
    keys = ("flops_executed", "bytes_executed_loaded", "load_sectors", "shared_load_wavefronts")
    found = {(p.kernel.name, p.size_key, p.tunables.get(TILE)): p for p in counted}
    pairs = [(p, found[view.settings["views"], size, tile]) for (name, size, tile), p in found.items()
             if name == view.settings["sums"] and (view.settings["views"], size, tile) in found]
    if not pairs:
        return []
    same = sum(all(a.counters.get(k) == b.counters.get(k) for k in keys) for a, b in pairs)
    return [f"By the emulator’s count, views need the same operations, bytes, sectors and wavefronts in {same} of {words.counted(len(pairs), 'case')}."]


# Figures and tables


def _row(view: View, p: Point) -> dict:
    low, high = p.interval or (None, None)
    share = _share(view, p) if p.kernel.side == "gpu" else None
    return {"kernel": p.kernel.name, "title": p.title, "n": p.n, "threads": p.counters.get("threads_per_block"), "blocks": p.counters.get("blocks"),
            "seconds": p.summary.median, "gflops": p.gflops, "low": low, "high": high, **p.sampled, "share_of_gpu": share,
            "share_of_one_multiprocessor": share * _processors(view) if share and _processors(view) else None,
            "registers": p.counters.get("registers_per_thread")}


def _figure(view: View, block: list[Point], grid: list[Point], cores: list[Point]) -> list[Figure]:
    """Rates by the width, with the peaks of one multiprocessor and of the GPU."""
    from report.draw import lines, style
    of_core: dict[str, list[Point]] = {}
    for p in cores:
        of_core.setdefault(f"one core: {p.kernel.title}", []).append(p)
    named = {"one block": block, "many blocks": grid, **of_core}
    series = {name: sorted(points, key=lambda p: p.n) for name, points in named.items() if points}
    points = [p for x in series.values() for p in x]
    if not points:
        return []
    part = view.gpu if block or grid else view.cpu
    share = view.gpu.roofs.of_peak((block or grid)[-1]) if block or grid else None
    peak, many = share.roof.value if share else None, _processors(view) if view.gpu else 0

    def draw(fig) -> None:
        ax = style.axes(fig, 19, 9, 23, 2)
        values = [p.value for p in points] + ([peak] if peak else [])
        scale = numbers.scale(max(p.value for p in points), points[0].metric.unit)[0]
        lines.draw(ax, [lines.Series(name, [lines.dot(p, p.n) for p in x]) for name, x in series.items()], "N", "Performance", log_y=True,
                   limit=14, unit=points[0].metric.unit, ylim=(min(values) / 2, max(values) * 2))
        left = ax.get_xlim()[0]
        for value, name in ((peak, "FP32 peak"), (peak / many if peak and many else None, "of one multiprocessor")):
            if value:
                ax.axhline(value / scale, color=style.GREY, linewidth=0.8, zorder=1)
                ax.annotate(f"{name}, {numbers.flops(value)}", (left, value / scale), xytext=(3, 2.5), textcoords="offset points",
                            size=style.SMALL, color=style.GREY)
    who = [name for name, some in (("one block", block), ("one block per tile", grid), ("one core of the CPU", cores)) if some]
    stories = [words.provenance(x, [p for p in points if p.kernel.side == x.side]) for x in view.timed_parts
               if any(p.kernel.side == x.side for p in points)]
    return [Figure(f"{view.name}_{part.side}", [_row(view, p) for p in points], draw,
                   captions.of_sides(f"Rate of a product of N\u00a0×\u00a0N matrices by {words.joined(who)}.", stories),
                   f"Line plot of the rate over N for {words.listed(list(series))}.", height=70)]


def _block_table(view: View, block: list[Point]) -> list[Table]:
    if not block:
        return []
    return [Table(f"{view.name}_one_block", "The product by one block. Shares: of the measured FP32 peak, of the GPU and of one multiprocessor. "
                  + words.provenance(view.gpu, block, hollow=False), (
                      Column("n", "N", lambda n: f"{n:.0f}"), Column("threads", "threads", numbers.grouped), Column("seconds", "time", numbers.seconds),
                      Column("gflops", "rate", numbers.flops), Column("share_of_one_multiprocessor", "of one multiprocessor", numbers.percent),
                      Column("share_of_gpu", "of the GPU", numbers.percent)), [_row(view, p) for p in block])]


def _views_table(view: View, pairs: list) -> list[Table]:
    if not pairs:
        return []
    rows = [{"n": old.n, "tile": old.tunables.get(TILE), "sums": old.gflops, "views": new.gflops, "ratio": r.value, "low": r.low, "high": r.high,
             "p": r.p, "verdict": r.verdict, "sums_registers": old.counters.get("registers_per_thread"),
             "views_registers": new.counters.get("registers_per_thread")} for old, new, r in pairs]
    return [Table(f"{view.name}_views", "The tiled product with sums of indices and with views. Registers: per "
                  "thread. " + words.provenance(view.gpu, [p for old, new, _ in pairs for p in (old, new)], hollow=False), (
                      Column("n", "N", lambda n: f"{n:.0f}"), Column("tile", "tile", lambda t: f"{t:.0f}"), Column("sums", "sums", numbers.flops),
                      Column("views", "views", numbers.flops), Column("ratio", "views over sums", numbers.times),
                      Column("verdict", "difference", right=False), Column("sums_registers", "registers, sums", lambda v: f"{v:.0f}"),
                      Column("views_registers", "views", lambda v: f"{v:.0f}")), rows)]
