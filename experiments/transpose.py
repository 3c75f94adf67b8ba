"""The transpose: each kernel compared with the rate of a copy, with the sectors and wavefronts of its requests."""

from collections import defaultdict

from report.data.roofs import Roof, told
from report.experiment import (
    Column,
    Figure,
    Ladder,
    Part,
    Point,
    Section,
    Table,
    View,
    build,
    captions,
    numbers,
    times_as_fast,
    whole_machine,
    words,
)
from report.sections import ladders

NEIGHBOURS, ASIDE = 0.02, 0.1
"""Sides that differ by at most the first share would overlap on the axis; the less round one is drawn to the left by the second."""
COUNTED = (("sectors_per_load_request", "load"), ("sectors_per_store_request", "store"), ("wavefronts_per_shared_load", "load"),
           ("wavefronts_per_shared_store", "store"))
"""Columns of the figure: keys of its rows, and their titles below 'sectors' and 'wavefronts'."""


def section(view: View) -> Section | None:
    s = view.settings
    made = [x for part in (view.gpu, view.cpu) if (x := build(part, s["family"], s["type"], s.get("size")))]
    requests = _requests(view)
    if not made and not requests:
        return None
    return Section(" ".join([*map(_finding, made), *_counted_words(requests, made)]), ladders=made,
                   figures=[_rates(view, made, requests)] if made else [],
                   tables=[] if made else _table(view, requests),
                   appendix=[*(_table(view, requests) if made else []), *(x for ladder in made for x in _appendix(view, ladder))])


# Data


def _roof(ladder: Ladder) -> Roof | None:
    """The roof of the memory that holds the ladder's matrices, for the threads of its fastest kernel."""
    return ladder.part.memory(ladder.fastest.point)


def _requests(view: View) -> list[dict]:
    """Sectors and wavefronts of each variant's requests, by the emulator."""
    points = [p for p in (view.counts.points if view.counts else ()) if p.is_counted and p.kernel.family == view.settings["family"]]
    return [{"kernel": p.kernel.name, "tunables": p.tunables, "title": p.title, "size": p.size_text, **_per_request(p.counters)}
            for p in sorted(points, key=lambda p: (p.kernel.order, p.name))]


def _per_request(c: dict) -> dict:
    return {"sectors_per_load_request": _over(c, "load_sectors", "load_requests"),
            "sectors_per_store_request": _over(c, "store_sectors", "store_requests"),
            "wavefronts_per_shared_load": _over(c, "shared_load_wavefronts", "shared_load_requests"),
            "wavefronts_per_shared_store": _over(c, "shared_store_wavefronts", "shared_store_requests")}


def _over(c: dict, what: str, of: str) -> float | None:
    return c[what] / c[of] if c.get(of) else None


def _of(requests: list[dict], p: Point) -> dict:
    """The counts of a timed point's variant."""
    return next((r for r in requests if r["kernel"] == p.kernel.name and r["tunables"] == p.tunables), {})


# Words


def _finding(ladder: Ladder) -> str:
    part, best, first = ladder.part, ladder.fastest.point, ladder.own[0].point if ladder.own else ladder.rungs[0].point
    share = part.roofs.share(best, part.memory(best))
    text = f"{ladders.at(ladder)} the fastest transpose on the {part.side.upper()} is {words.fastest(_named(best), [_named(r.point) for r in ladder.level])} with {numbers.rate(best)}"
    text += f", {words.of_memory(share)}" if share else ""
    if best.kernel != first.kernel:
        text += f" and {numbers.times(times_as_fast(best, first))} the rate of {_named(first)}"
    peer = ladder.best_peer
    over = ladder.fastest.peers.get(peer.point.kernel.title) if peer else None
    return f"{text}{f'; it is {words.speed(over, _named(peer.point))}' if over else ''}."


def _named(p: Point) -> str:
    """'naive on one thread'."""
    return f"{p.kernel.title} on one thread" if p.kernel.side == "cpu" and p.threads == 1 else p.kernel.title


def _counted_words(requests: list[dict], made: list[Ladder]) -> list[str]:
    """Without the GPU's times: a sentence from the counts."""
    known = [r for r in requests if r["wavefronts_per_shared_load"]]
    if any(x.part.side == "gpu" for x in made) or not known:
        return []
    worst = max(known, key=lambda r: r["wavefronts_per_shared_load"])
    scattered = max(requests, key=lambda r: max(r["sectors_per_load_request"] or 0, r["sectors_per_store_request"] or 0))
    most = max(scattered["sectors_per_load_request"] or 0, scattered["sectors_per_store_request"] or 0)
    return [f"On the GPU (counted; nothing was timed) a request of {scattered['title']} takes up to {numbers.short(most)} sectors, and "
            f"a request to shared memory of {worst['title']} takes {numbers.short(worst['wavefronts_per_shared_load'])} wavefronts."]


# Figures and tables


def _row(part: Part, p: Point, requests: list[dict]) -> dict:
    low, high = p.interval or (None, None)
    roof, counts = part.memory(p), _of(requests, p) if part.side == "gpu" else {}
    return {"side": part.side, "kernel": p.kernel.name, "title": p.title, "size": p.size_text, "gbytes_per_s": p.value, "low": low,
            "high": high, **p.sampled, "roof": roof and roof.value, "roof_label": roof and roof.label, "of_roof": roof and told(p.value / roof.value), "threads": p.threads,
            **{key: counts.get(key) for key, _ in COUNTED}, "run": part.run.path.name}


def _label(part: Part, p: Point) -> str:
    fewer = ", one thread" if part.side == "cpu" and p.threads == 1 else ""
    return f"{part.side.upper()} {p.title}{fewer}"


def _rates(view: View, made: list[Ladder], requests: list[dict]) -> Figure:
    """One mark per kernel, with the rate of a copy and the kernel's counts."""
    bars = [(ladder.part, r.point) for ladder in made for r in ladder.rungs]
    rows = [_row(part, p, requests) for part, p in bars]
    counted = [c for c in COUNTED if any(r[c[0]] is not None for r in rows)]
    places = {key: 92 + 25 * i + 8 * (i > 1) for i, (key, _) in enumerate(counted)}

    def draw(fig) -> None:
        from report.draw import style
        from report.draw.paper import text_width
        left = max(text_width(_label(part, p), style.SMALL) for part, p in bars) / style.POINTS_OF_MM + 3
        right = (max(places.values(), default=64) + 6) / style.POINTS_OF_MM
        ax = style.axes(fig, left, 9, right, 9)
        ax.set_xscale("log")
        values = [p.value for _, p in bars] + [roof.value for x in made if (roof := _roof(x))]
        ax.set_xlim(min(values) / 1.8, max(values) * 1.3)
        ax.set_ylim(len(bars) - 0.4, -0.6)
        ax.set_yticks([])
        ax.set_xlabel("Bandwidth [GB/s]")
        style.rate_ticks(ax.xaxis, *ax.get_xlim())
        for i, ((part, p), row) in enumerate(zip(bars, rows)):
            _bar(ax, i, part, p, row, places)
        first = 0
        for ladder in made:
            last = first + len(ladder.rungs)
            if roof := _roof(ladder):
                ax.plot([roof.value] * 2, [first - 0.45, last - 0.55], color=style.ALERT, linewidth=1.1, linestyle=(0, (2, 1)))
            first = last
        heads = [("GB/s", 34, 3), ("of roof", 64, 3), *((title, places[key], 3) for key, title in counted)]
        for name, keys in (("sectors", counted[:2]), ("wavefronts", counted[2:])):
            heads += [(name, places[keys[-1][0]], 11)] if keys else []
        for text, shift, up in heads:
            ax.annotate(text, (1, 1), xycoords="axes fraction", xytext=(shift, up), textcoords="offset points", ha="right", size=style.SMALL,
                        color=style.GREY)
    stories = [f"{x.part.side.upper()}, {x.size_text}: " + words.provenance(x.part, ladders.points(x), hollow=False) for x in made]
    tops = [f"{roof.label} ({numbers.bandwidth(roof.value)})" for x in made if (roof := _roof(x))]
    text = f"The transpose’s kernels in their fastest variants, libraries as open diamonds; dashed: {words.joined(tops) or 'no roof'}. "
    if counted:
        text += (f"Counted{words.counted_at(view.counts, [view.settings['family']], 'n')}: sectors of 32\u00a0bytes per request to "
                 "global memory, wavefronts per request to shared memory; at least "
                 "4 and 1 for 4-byte accesses, 16 and 4 for 16-byte accesses. ")
    return Figure(f"{view.name}_rates", rows, draw, captions.of_sides(text, stories),
                  f"Dot plot of the bandwidth of {words.counted(len(bars), 'kernel')} and of a copy.", height=18 + 5.2 * len(bars))


def _bar(ax, i: int, part: Part, p: Point, row: dict, places: dict[str, float]) -> None:
    from report.draw import style
    style.row_mark(ax, i, p.value, p.interval, style.SIDE_COLOUR[part.side], p.kernel.is_library)
    texts = [(-4, "right", _label(part, p), 0), (34, "right", numbers.significant(p.value), 1),
             (64, "right", numbers.share(p.value / row["roof"]) if row["roof"] else "", 1)]
    texts += [(shift, "right", numbers.short(row[key]) if row[key] is not None else "–", 1)
              for key, shift in places.items() if part.side == "gpu"]
    for shift, side, text, x in texts:
        ax.annotate(text, (x, i), xycoords=("axes fraction", "data"), xytext=(shift, 0), textcoords="offset points", ha=side,
                    va="center_baseline", size=style.SMALL)


def _table(view: View, requests: list[dict]) -> list[Table]:
    if not requests:
        return []
    return [Table(f"{view.name}_requests", "Cost of one warp request, as the emulator counted it at "
                  f"{requests[0]['size']}: sectors of 32 bytes in global memory, wavefronts in shared memory.", (
                      Column("title", "kernel", right=False, wide=True),
                      Column("sectors_per_load_request", "sectors, load", numbers.short),
                      Column("sectors_per_store_request", "sectors, store", numbers.short),
                      Column("wavefronts_per_shared_store", "wavefronts, store", numbers.short),
                      Column("wavefronts_per_shared_load", "wavefronts, load", numbers.short)), requests)]


def _appendix(view: View, ladder: Ladder) -> list[Table | Figure | str]:
    return [ladders.table(f"{view.name}_{ladder.part.side}", ladder), *ladders.missing(ladder), *_sizes(view, ladder), *_variants(view, ladder)]


def _sizes(view: View, ladder: Ladder) -> list[Figure]:
    """Rates by the side of the matrix: where a cache holds both matrices, and where rows are not aligned."""
    from report.draw import lines, style
    series = defaultdict(list)
    for p in ladder.points:
        if p.n:
            series[p.kernel.title].append(p)
    series = dict(list(sorted(series.items(), key=lambda item: -max(p.value for p in item[1])))[:style.MOST])
    if max(map(len, series.values()), default=0) < 3:
        return []
    points = [p for line in series.values() for p in line]
    odd = _odd({int(p.n) for p in points})
    unit = points[0].metric.unit

    def draw(fig) -> None:
        ax = style.axes(fig, 14, 9, 30, 2)
        ends = [y for p in points for y in (p.value, *(p.interval or ()))]
        factor, _ = numbers.scale(max(p.value for p in points), unit)
        lines.draw(ax, [lines.Series(name, [lines.dot(p, p.n) for p in sorted(line, key=lambda p: p.n) if p.n not in odd])
                        for name, line in series.items()], "Side of the matrix, N", "Bandwidth", log_y=True, limit=16, unit=unit,
                   ylim=(min(ends) / 1.5 / factor, max(ends) * 1.5 / factor))
        for look, line in zip(style.SERIES, series.values()):
            aside = [lines.dot(p, p.n * (1 - ASIDE)) for p in line if p.n in odd]
            lines.one(ax, lines.divided(lines.Series("", aside, joined=False), factor), look)
    apart = f" Not joined, drawn to the left of the neighbouring size: N\u00a0=\u00a0{words.joined([numbers.grouped(n) for n in sorted(odd)])}." if odd else ""
    caption = (f"Rates on the {ladder.part.side.upper()} by the side of a square matrix, each kernel in its fastest variant.{apart} "
               + words.provenance(ladder.part, points))
    return [Figure(f"{view.name}_{ladder.part.side}_sizes", [_row(ladder.part, p, []) | {"n": p.n} for p in points],
                   draw, caption, "Line plot of rates by the side of the matrix.", height=55, half=True)]


def _odd(sides: set[int]) -> set[int]:
    """Sides next to a rounder side, which a larger power of two divides."""
    return {n for n in sides for m in sides if abs(n - m) <= NEIGHBOURS * n and (n & -n) < (m & -m)}


def _variants(view: View, ladder: Ladder) -> list[Table]:
    """Variants of kernels that have several, and rectangular matrices."""
    groups = defaultdict(list)
    for p in whole_machine(ladder.part.timed(view.settings["family"])):
        groups[p.kernel.name, p.size_key].append(p)
    points = [p for group in groups.values() if len(group) > 1 or group[0].n is None for p in sorted(group, key=lambda p: -p.value)]
    return [Table(f"{view.name}_{ladder.part.side}_variants", f"Variants and rectangles on the {ladder.part.side.upper()}; of the roof: of the memory "
                  "that holds both matrices. "
                  + words.provenance(ladder.part, points, hollow=False), (
                      Column("title", "kernel", right=False, wide=True), Column("size", "size", right=False),
                      Column("gbytes_per_s", "rate", numbers.bandwidth), Column("of_roof", "of the roof", numbers.share)),
                  [_row(ladder.part, p, []) for p in points])] if points else []
