"""The heat equation: rates against memory's bound for one step per pass, the gain from more steps per pass, the order of the error."""

from collections import defaultdict
from dataclasses import dataclass, replace
from math import log2, log10
from statistics import linear_regression

from report.claims.judgement import Judged, One
from report.claims.values import exact, within
from report.data.roofs import Share, share
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
    fastest,
    leaders,
    numbers,
    times_as_fast,
    whole_machine,
    words,
)
from report.sections import ladders

DEPTH, ERROR, ROUNDING = "depth", "sine_error", "rounding_error"
STEP_BYTES = 8
"""Bytes that a pass of one step moves per cell: read once, written once."""
CLEAR = 0.1
"""The order is fitted where rounding makes up at most this share of the error."""
NEAR = 0.05
"""An order within this distance of two counts as two."""


def section(view: View) -> Section | None:
    made = [x for part in (view.gpu, view.cpu) if part and (x := _ladder(view, part))]
    orders = [x for part in view.timed_parts for x in _orders(view, part)]
    if not made:
        return None
    deep = [f for part in view.timed_parts for f in _depths(view, part)]
    fields = _fields(view)
    return Section(
        words.paragraphs([*map(_finding, made), *_order_words(orders)]), ladders=made, figures=[_rates(view, made), *deep[:1], *([_error(view, orders)] if orders else []), *fields],
        appendix=[*deep[1:], *(x for ladder in made for x in _appendix(view, ladder)), *_requests(view)])


# Data


def _rated(view: View, part: Part) -> Part:
    """The part's points on the data whose rates are compared."""
    family, data = view.settings["family"], view.settings["data"]
    return replace(part, points=tuple(p for p in part.points if p.kernel.family == family and p.data in ("", data)))


def _ladder(view: View, part: Part) -> Ladder | None:
    """At a size with several kernels, if possible with a field that no cache holds, as the question is about memory; then at the
    size with the most kernels, then at the largest."""
    rated, found = _rated(view, part), defaultdict(list)
    for p in rated.timed():
        found[p.size_key].append(p)
    kernels = {key: len({p.kernel.name for p in points}) for key, points in found.items()}
    if not kernels:
        return None
    size = max(kernels, key=lambda key: (kernels[key] > 1, part.level(found[key][0]) == "DRAM", kernels[key], dict(key)["n"], dict(key)["steps"]))
    return build(rated, view.settings["family"], view.settings["type"], dict(size))


def _bound(part: Part, p: Point) -> float | None:
    """GCell/s with one step per pass at the roof of the memory that holds the field."""
    roof = part.memory(p)
    return roof and roof.value / STEP_BYTES


def _share(part: Part, p: Point) -> Share | None:
    """The share of that roof that a point would use if each of its steps read and wrote every cell."""
    roof, low_high = part.memory(p), p.interval
    return share(p.value * STEP_BYTES, low_high and tuple(x * STEP_BYTES for x in low_high), roof) if roof else None


@dataclass(frozen=True)
class Order:
    """One kernel's errors against a sine's decay, coarse to fine, at one ratio of time step to squared distance."""

    part: Part
    points: tuple[Point, ...]

    @property
    def clear(self) -> list[Point]:
        """The points whose error is due to the scheme and not to rounding."""
        return [p for p in self.points if p.judged[ROUNDING] <= CLEAR * p.judged[ERROR]]

    @property
    def order(self) -> float | None:
        """The power of the distance with which the error decreases."""
        if len(self.clear) < 2:
            return None
        return -linear_regression([log2(p.n + 1) for p in self.clear], [log2(p.judged[ERROR]) for p in self.clear]).slope


def _orders(view: View, part: Part) -> list[Order]:
    groups = defaultdict(list)
    for p in whole_machine(part.timed(view.settings["family"])):
        if p.data == view.settings["sine"] and ERROR in p.judged and p.n:
            groups[p.kernel.name, p.sizes["permille"]].append(p)
    return [Order(part, tuple(sorted(points, key=lambda p: p.n))) for points in groups.values()]


# Words


def _finding(ladder: Ladder) -> str:
    """The best rate with one step per pass, compared with its bound, and the rate with several steps per pass."""
    part = ladder.part
    several = [r.point for r in ladder.own if r.point.tunables.get(DEPTH)]
    best, *level = leaders([r.point for r in ladder.own if r.point not in several]) or [ladder.fastest.point]
    text = f"{_at(best)} on the {part.side.upper()}, one step per pass reaches {numbers.rate(best)} ({words.fastest(best.kernel.title, [p.kernel.title for p in level], is_inside=True)})"
    bound = _bound(part, best)
    if found := _share(part, best):
        allowed = f"the {numbers.in_metric(bound, best.metric)} that {words.rate_of(found.roof)} allows"
        text += f", {words.of_roof(found, allowed)}{_kept(part, best) if found.exceeds else ''}"
    if several:
        deep = fastest(several)
        text += f"; {deep.kernel.title}, with {_depth(deep):.0f} steps per pass, reaches {numbers.rate(deep)}"
        text += f", {numbers.times(deep.value / bound)} that bound" if bound else f", {numbers.times(times_as_fast(deep, best))} as much"
    return f"{text}."


def _at(p: Point) -> str:
    """'At N = 8192 and 24 steps'."""
    return f"At N\u00a0=\u00a0{numbers.grouped(p.n)} and {p.sizes['steps']:.0f} steps"


def _depth(p: Point) -> float:
    """The actual number of steps per pass."""
    return min(p.tunables[DEPTH], p.sizes["steps"])


def _order_words(orders: list[Order]) -> list[str]:
    known = [o for o in orders if o.order is not None]
    if not known:
        return []
    low, high = min(o.order for o in known), max(o.order for o in known)
    span = f"{low:.2f}" if f"{low:.2f}" == f"{high:.2f}" else f"{low:.2f} to {high:.2f}"
    return [f"The error against the decay of a sine is proportional to the distance between points to the power of {span}, {_clear_sizes(known)}."]


def _clear_sizes(known: list[Order]) -> str:
    """'at sizes where rounding makes up at most 10 % of the error: N = 15 to 63 for r = 0.125 and …'."""
    ranges = {}
    for o in sorted(known, key=lambda o: o.points[0].sizes["permille"]):
        ends = ranges.setdefault(o.points[0].sizes["permille"] / 1000, set())
        ends.update((o.clear[0].n, o.clear[-1].n))
    told = [f"N\u00a0=\u00a0{min(ends):.0f} to {max(ends):.0f} for r\u00a0=\u00a0{r:g}" for r, ends in ranges.items()]
    return f"at sizes where rounding makes up at most {numbers.percent(CLEAR)} of the error: {words.joined(told)}"


def second_order(view: View) -> Judged | None:
    """For the claim heat_order, by the errors at halved distances."""
    known = [o for part in view.timed_parts for o in _orders(view, part) if o.order is not None]
    if not known:
        return None
    worst = max(known, key=lambda o: abs(o.order - 2))
    kernels = words.counted(len({o.points[0].kernel.name for o in known}), "kernel")
    cases = tuple(One(f"{o.points[0].kernel.name}, r\u00a0=\u00a0{o.points[0].sizes['permille'] / 1000:g}", within(exact(o.order), 2 - NEAR, 2 + NEAR))
                  for o in known)
    return Judged(cases, f"Fitted to the results of {kernels}, the order farthest from 2 is {worst.order:.3f}, {_clear_sizes(known)} (our limit: within {NEAR:g} of 2).")


# Figures


def _size(p: Point) -> str:
    """'N = 8192, 24 steps, r = 0.23'."""
    return f"N\u00a0=\u00a0{numbers.grouped(p.n)}, {p.sizes['steps']:.0f} steps, r\u00a0=\u00a0{p.sizes['permille'] / 1000:g}"


def _row(part: Part, p: Point) -> dict:
    low, high = p.interval or (None, None)
    bound = _bound(part, p)
    return {"side": part.side, "kernel": p.kernel.name, "title": p.title, "size": _size(p), "gcells_per_s": p.value, "low": low,
            "high": high, **p.sampled, "bound_of_one_step": bound, "of_bound": p.value / bound if bound else None, "threads": p.threads,
            "joules": p.joules, "run": part.run.path.name}


def _rates(view: View, made: list[Ladder]) -> Figure:
    """Every kernel as a mark next to the bound for one step per pass."""
    from report.draw import style
    from report.draw.paper import text_width
    bars = [(ladder.part, r.point) for ladder in made for r in ladder.own]

    def draw(fig) -> None:
        left = max(text_width(_label(part, p), style.SMALL) for part, p in bars) / style.POINTS_OF_MM + 3
        ax = style.axes(fig, left, 9, 27, 6)
        ax.set_xscale("log")
        values = [p.value for _, p in bars] + [b for part, p in bars if (b := _bound(part, p))]
        ax.set_xlim(min(values) / 1.8, max(values) * 1.5)
        ax.set_ylim(len(bars) - 0.4, -0.6)
        ax.set_yticks([])
        ax.set_xlabel(f"Rate [{bars[0][1].metric.unit}]")
        style.rate_ticks(ax.xaxis, *ax.get_xlim())
        if max(values) / min(values) > 1000:
            style.decade_ticks(ax.xaxis, most=3)
        for shift, title in ((RATE, bars[0][1].metric.unit), (OF_BOUND, "of bound")):
            ax.annotate(title, (1, -0.6), xycoords=("axes fraction", "data"), xytext=(shift, 2), textcoords="offset points", ha="right",
                        va="bottom", size=style.SMALL, color=style.GREY)
        for i, (part, p) in enumerate(bars):
            _mark_row(ax, i, part, p)
        first = 0
        for ladder in made:
            last = first + len(ladder.own)
            if bound := _bound(ladder.part, ladder.fastest.point):
                ax.plot([bound] * 2, [first - 0.45, last - 0.55], color=style.ALERT, linewidth=1.1, linestyle=(0, (2, 1)))
            first = last
    caption = ("Cells updated per second by each kernel in its fastest variant, and as a multiple of the bound for one step per pass "
               f"(dashed: {_roof_text(made)}, divided by {STEP_BYTES}\u00a0bytes).")
    beyond = [_label(part, p) for part, p in bars if (found := _share(part, p)) and found.exceeds]
    return Figure(f"{view.name}_rates", [_row(part, p) for part, p in bars], draw, captions.of_sides(caption, _stories(made)),
                  f"Marks of the rates of {words.counted(len(bars), 'kernel')}. Beyond the dashed bound: {words.joined(beyond) or 'none'}.",
                  height=15 + 5.5 * len(bars), half=True)


RATE, OF_BOUND = 34, 74
"""Right ends of the columns beyond the bars, in points."""


def _kept(part: Part, p: Point) -> str:
    """The reason why one step per pass may be faster than a copy."""
    size = part.run.context.get("gpu_l2_bytes" if part.side == "gpu" else "cpu_l3_all_bytes") or 0
    share = size / p.counters["bytes_min"] if p.counters.get("bytes_min") else 0
    return f" (the last-level cache can keep {numbers.percent(share)} of the field from pass to pass)" if 0 < share < 1 else ""


def _roof_text(made: list[Ladder]) -> str:
    return words.joined(list(dict.fromkeys(words.rate_of(roof) for x in made if (roof := x.part.memory(x.fastest.point))))) or "no roof"


def _label(part: Part, p: Point) -> str:
    fewer = ", one thread" if part.side == "cpu" and p.threads == 1 else ""
    return f"{part.side.upper()} {p.kernel.title}{fewer}"


def _mark_row(ax, i: int, part: Part, p: Point) -> None:
    from report.draw import style
    style.row_mark(ax, i, p.value, p.interval, style.SIDE_COLOUR[part.side])
    bound = _bound(part, p)
    texts = ((-4, "right", _label(part, p), 0), (RATE, "right", numbers.significant(p.value), 1),
             (OF_BOUND, "right", numbers.times(p.value / bound) if bound else "", 1))
    for shift, side, text, x in texts:
        ax.annotate(text, (x, i), xycoords=("axes fraction", "data"), xytext=(shift, 0), textcoords="offset points", ha=side,
                    va="center_baseline", size=style.SMALL)


def _stories(made: list[Ladder]) -> list[str]:
    return [f"{x.part.side.upper()}, {_size(x.rungs[0].point)}: " + words.provenance(x.part, ladders.points(x), hollow=False) for x in made]


def _depths(view: View, part: Part) -> list[Figure]:
    """Rate by the steps per pass, compared with the bound for one step times their number."""
    from report.draw import lines, style
    swept = defaultdict(lambda: defaultdict(list))
    for p in whole_machine(_rated(view, part).timed()):
        if DEPTH in p.tunables:
            rest = ", ".join(f"{k} {v:g}" for k, v in p.tunables.items() if k != DEPTH)
            swept[p.size_key][rest].append(p)
    if not swept:
        return []
    series = max(swept.values(), key=lambda found: max(len({p.tunables[DEPTH] for p in line}) for line in found.values()))
    points = [p for line in series.values() for p in line]
    depths = sorted({_depth(p) for p in points})
    if len(depths) < 2:
        return []
    bound = _bound(part, points[0])

    def draw(fig) -> None:
        ax = style.axes(fig, 14, 9, 22, 2)
        made = [lines.Series(name, [lines.dot(p, _depth(p)) for p in line]) for name, line in series.items()]
        dashed = {"color": style.ALERT, "linestyle": (0, (2, 1)), "marker": ","}
        made += [lines.Series("bound, times steps", [lines.Dot(d, bound * d) for d in depths], dashed)] if bound else []
        lines.draw(ax, made, "Steps per pass", "Rate", log_y=True, limit=13, unit=points[0].metric.unit)
        style.plain_ticks(ax.xaxis, depths)
    caption = (f"Rate of {points[0].kernel.title} on the {part.side.upper()} by the steps per pass, {_size(points[0])}; "
               f"dashed: the bound for one step per pass, times the steps. " + words.provenance(part, points))
    return [Figure(f"{view.name}_{part.side}_depth", [_row(part, p) | {"depth": _depth(p)} for p in points], draw, caption,
                   "Line plot of the rate by the steps per pass: it increases with them, less than in proportion.", height=55, half=True)]


def _error(view: View, orders: list[Order]) -> Figure:
    """Errors by the distance between points, both logarithmic, with a line of slope two."""
    from report.draw import style
    lines_ = defaultdict(list)  # kernels that give the same errors share a line
    for o in orders:
        lines_[o.points[0].sizes["permille"], tuple(f"{p.n:g} {p.judged[ERROR]:.2e}" for p in o.points)].append(o)
    shown = sorted(lines_.items(), key=lambda item: (-item[0][0], -len(item[1])))
    by_ratio = {r: [o for (at, _), same in shown if at == r for o in same] for r in dict.fromkeys(at for (at, _), _ in shown)}

    def draw(fig) -> None:
        ax = style.axes(fig, 15, 9, 16, 2)
        ax.set_xscale("log")
        ax.set_yscale("log")
        for i, (permille, some) in enumerate(by_ratio.items()):
            look = style.SERIES[i]
            for o in some:
                ax.plot([p.n + 1 for p in o.points], [p.judged[ERROR] for p in o.points], color=look["color"], linewidth=0.8,
                        linestyle=look["linestyle"], zorder=2)
                for p in o.points:
                    ax.plot([p.n + 1], [p.judged[ERROR]], look["marker"], color=look["color"], markersize=3.8, zorder=3,
                            markerfacecolor=look["color"] if p in o.clear else "white")
            end = max((o.points[-1] for o in some), key=lambda p: p.n)
            ax.annotate(f"r\u00a0=\u00a0{permille / 1000:g}", (end.n + 1, end.judged[ERROR]), xytext=(5, 0), textcoords="offset points",
                        va="center", size=style.SMALL, color=look["color"], annotation_clip=False)
        first = max((o.points[0] for o in orders), key=lambda p: p.judged[ERROR])
        ends = sorted({p.n + 1 for o in orders for p in o.points})
        ax.plot([ends[0], ends[-1]], [1.6 * first.judged[ERROR] * (ends[0] / x) ** 2 for x in (ends[0], ends[-1])],
                color=style.GREY, linewidth=0.9, linestyle=(0, (1, 1.2)), zorder=1)
        middle = (ends[0] * ends[-1]) ** 0.5
        ax.annotate("order 2", (middle, 1.6 * first.judged[ERROR] * (ends[0] / middle) ** 2), xytext=(4, 4), textcoords="offset points",
                    size=style.SMALL, color=style.GREY)
        style.plain_ticks(ax.xaxis, ends)
        ax.yaxis.set_major_locator(style.matplotlib.ticker.LogLocator(base=10))
        ax.yaxis.set_major_formatter(lambda v, _: f"10{str(round(log10(v))).translate(numbers.SUPERSCRIPT)}")
        ax.set_xlabel("Intervals on a side, 1/h")
        ax.set_ylabel("Error over amplitude")
    kernels = {(o.part.side, o.points[0].kernel.title) for o in orders}
    caption = (f"Largest error against the decay of a sine at the same time, by {words.counted(len(kernels), 'kernel')}, for "
               f"r\u00a0=\u00a0dt/h²; hollow where rounding makes up more than {numbers.percent(CLEAR)} of it. "
               f"{' '.join(words.sentence(part.label) for part in view.timed_parts)}")
    rows = [{"side": o.part.side, "kernel": p.kernel.name, "n": p.n, "steps": p.sizes["steps"], "r": p.sizes["permille"] / 1000,
             "error": p.judged[ERROR], "rounding_error": p.judged[ROUNDING], "order": o.order, "run": o.part.run.path.name}
            for o in orders for p in o.points]
    return Figure(f"{view.name}_order", rows, draw, caption,
                  "Errors over the number of intervals, both logarithmic: lines of slope minus two.", height=55, half=True)


def _cells(p: Point) -> list[list[float]]:
    """The field that a kernel computed, row by row."""
    rows, cols = int(p.sizes["m"]), int(p.sizes["n"])
    return [[p.judged[f"u[{row}][{col}]"] for col in range(cols)] for row in range(rows)]


def _fields(view: View) -> list[Figure]:
    """A kernel's field after some steps, cell by cell."""
    found = [(part, p) for part in (view.gpu, view.cpu) if part for p in part.timed(view.settings["family"])
             if p.data == view.settings["spots"] and "u[0][0]" in p.judged]
    if not found:
        return []
    part, kernel = found[0][0], found[0][1].kernel
    points = sorted((p for of, p in found if of is part and p.kernel == kernel), key=lambda p: p.sizes["steps"])[:3]

    def draw(fig) -> None:
        from report.draw import pictures
        pictures.row(fig, [(f"{p.sizes['steps']:.0f} steps", _cells(p)) for p in points], "cividis", -1, 1, bar=(-1, 0, 1))
    size = f"{points[0].sizes['m']:.0f} × {points[0].sizes['n']:.0f}"
    caption = (f"Two hot discs and a cold one on a field of {size} cells whose edge is kept at 0, r\u00a0=\u00a0"
               f"{points[0].sizes['permille'] / 1000:g}, computed by {kernel.title} on the {part.side.upper()}. "
               f"{words.sentence(part.label)}")
    rows = [{"steps": p.sizes["steps"], "row": row, "column": col, "u": u} for p in points
            for row, line in enumerate(_cells(p)) for col, u in enumerate(line)]
    return [Figure(f"{view.name}_field", rows, draw, caption, "Pictures of the field: the discs fade and merge.",
                   height=32 if len(points) == 3 else 45, half=True)]


# Appendix


def _appendix(view: View, ladder: Ladder) -> list[Table | Figure | str]:
    stem = f"{view.name}_{ladder.part.side}"
    return [ladders.table(stem, ladder), *ladders.missing(ladder), *_sizes(view, ladder), *_threads(view, ladder), *_variants(view, ladder)]


def _sizes(view: View, ladder: Ladder) -> list[Figure]:
    """Rates by the side of the field: with fields that a cache holds, and with fields that no cache holds."""
    from report.draw import lines, style
    steps = ladder.rungs[0].point.sizes["steps"]
    series = defaultdict(list)
    for p in ladder.points:
        if p.n and p.sizes["steps"] == steps:
            series[p.kernel.title].append(p)
    if max(map(len, series.values())) < 3:
        return []
    points = [p for line in series.values() for p in line]
    caption = (f"Rates on the {ladder.part.side.upper()} by the side of the field, {steps:.0f} steps, each kernel in its fastest variant. "
               + words.provenance(ladder.part, points))
    return [Figure(f"{view.name}_{ladder.part.side}_sizes", [_row(ladder.part, p) | {"n": p.n} for p in points],
                   lambda fig: lines.draw(style.axes(fig, 14, 9, 22, 2), [
                       lines.Series(name, [lines.dot(p, p.n) for p in sorted(line, key=lambda p: p.n)]) for name, line in series.items()],
                       "Side of the field, N", "Rate", log_y=True, limit=13, unit=points[0].metric.unit),
                   caption, "Line plot of rates by the side of the field.", height=55, half=True)]


def _threads(view: View, ladder: Ladder) -> list[Figure]:
    """Rates by the number of threads."""
    from report.draw import lines, style
    sizes = defaultdict(list)
    for p in ladder.part.timed(view.settings["family"]):
        if p.swept_threads and not p.oversubscribed:
            sizes[p.size_key, p.data].append(p)
    swept = max(sizes.values(), key=lambda points: len({p.threads for p in points}), default=[])
    best: dict[tuple, Point] = {}
    for p in swept:
        key = p.kernel.title, p.threads
        best[key] = fastest([p, best.get(key, p)])
    series = {title: [p for (of, _), p in best.items() if of == title] for title, _ in best}
    if not swept or max(len({p.threads for p in line}) for line in series.values()) < 2:
        return []
    caption = f"Rates by the number of threads, {_size(swept[0])}, each kernel in its fastest variant. " + words.provenance(ladder.part, swept)
    return [Figure(f"{view.name}_threads", [_row(ladder.part, p) for p in swept],
                   lambda fig: lines.draw(style.axes(fig, 14, 9, 22, 2), [
                       lines.Series(name, [lines.dot(p, p.threads) for p in line]) for name, line in series.items()],
                       "Threads", "Rate", log_y=True, limit=13, unit=swept[0].metric.unit),
                   caption, "Line plot of rates by the number of threads.", height=55, half=True)]


def _variants(view: View, ladder: Ladder) -> list[Table]:
    """Shapes of blocks and tiles, and depths: every variant at the sizes where a kernel has several."""
    groups = defaultdict(list)
    for p in whole_machine(ladder.part.timed(view.settings["family"])):
        groups[p.kernel.name, p.size_key].append(p)
    points = [p for group in groups.values() if len(group) > 1 for p in sorted(group, key=lambda p: -p.value)]
    return [Table(f"{view.name}_{ladder.part.side}_variants", f"Variants on the {ladder.part.side.upper()}, the fastest first; bound of one step: "
                  "memory’s roof if each step reads and writes each cell once. "
                  + words.provenance(ladder.part, points, hollow=False), (
                      Column("title", "kernel", right=False, wide=True), Column("size", "size", right=False),
                      Column("gcells_per_s", "rate", lambda v: numbers.quantity(v, points[0].metric.unit)),
                      Column("of_bound", "of the bound of one step", numbers.times)), [_row(ladder.part, p) for p in points])] if points else []


def _requests(view: View) -> list[Table]:
    """The bytes that each kernel requests per cell and step, counted."""
    points = [p for p in (view.counts.points if view.counts else ()) if p.is_counted and p.kernel.family == view.settings["family"]]
    if not points:
        return []
    rows = [{"kernel": p.kernel.name, "title": p.title, "size": _size(p)} | {
        key: p.counters[f"bytes_executed_{key}"] / (p.sizes["m"] * p.sizes["n"] * p.sizes["steps"]) for key in ("loaded", "stored")} | {
        "flops": p.counters["flops_executed"] / p.flops} for p in sorted(points, key=lambda p: p.kernel.order)]
    return [Table(f"{view.name}_requests", f"Bytes requested from global memory per cell and step, and executed operations over "
                  f"useful ones, as the emulator counted them at {_size(points[0])}.", (
                      Column("title", "kernel", right=False, wide=True), Column("loaded", "loaded [B]", numbers.significant),
                      Column("stored", "stored [B]", numbers.significant), Column("flops", "operations", numbers.times)), rows)]
