"""One operation's latency on both sides, and the number that must be in flight: Little's law, drawn and tested."""

from dataclasses import dataclass
from statistics import median

from report.claims.judgement import Judged, One
from report.claims.values import divide, of_rate, within
from report.experiment import Column, Figure, Part, Point, Section, Table, View, captions, numbers, words

CHASE, CHAINS = "chase", "chains"
PAGE = 1 << 20
"""Nodes at least this many bytes apart are in different pages."""
NEAR = 0.5
"""Up to this share of the best rate, operations do not yet wait for each other."""
CLOSE = 0.25
"""The largest accepted deviation of a rate from the rate that the latency of one operation predicts."""
LINE = {"cpu": 64, "gpu": 32}
"""Bytes that one load moves from the cache or memory that holds them: a line, or a sector."""


@dataclass(frozen=True)
class Curve:
    """Rates of one core or multiprocessor by the number of operations in flight."""

    part: Part
    title: str
    points: tuple[Point, ...]
    """The fastest point for each number, ascending."""

    @property
    def label(self) -> str:
        """For a figure, short."""
        return self.title.replace("multiprocessor", "SM")

    @property
    def latency(self) -> float:
        """Of one operation, seconds: from the point with the fewest in flight."""
        return _under_way(self.points[0]) / _rate(self.points[0])

    @property
    def best(self) -> Point:
        return max(self.points, key=_rate)

    @property
    def needed(self) -> float:
        """Operations in flight at the best rate, if each took as long as one alone: rate times latency."""
        return _rate(self.best) * self.latency


def section(view: View) -> Section | None:
    walks = {part.side: found for part in view.timed_parts if (found := _walks(part))}
    curves = [c for part in view.timed_parts for c in _curves(view, part)]
    if not walks and not curves:
        return None
    texts = [*_latency_words(view, walks), *_fma_words(curves), *_little_words(curves), *_share_words(view, curves, walks)]
    figures = [*_latency_figure(view, walks), *_little_figure(view, [c for c in curves if _is_walk(c)], "loads", "load/s"),
               *_little_figure(view, [c for c in curves if not _is_walk(c)], "multiply-adds", "FMA/s")]
    return Section(words.paragraphs(texts) or "No latency was timed.", figures=figures, tables=_little_table(view, curves), appendix=[*_order_words(view), *_page_words(view), *_tables(view, walks)])


# Data


def _loads(part: Part) -> list[Point]:
    return [p for p in part.timed(CHASE) if p.value and (part.side == "gpu" or p.threads == 1)]


def _is_shared(p: Point) -> bool:
    return p.kernel.name.endswith("/shared")


def _walks(part: Part) -> dict[str, list[Point]]:
    """Kernel's title → one walker's points by working set, with nodes in neighbouring lines and in random order; where walks
    have several lengths, the longest."""
    found: dict[str, dict[float, list[Point]]] = {}
    for p in _loads(part):
        if p.sizes["walkers"] == 1 and p.sizes["stride"] < PAGE and p.data != "sequential":
            found.setdefault(p.kernel.title, {}).setdefault(p.sizes["bytes"], []).append(p)
    return {title: [max(some[n], key=lambda p: p.sizes["steps"]) for n in sorted(some)] for title, some in found.items()}


def _memory(walks: dict[str, list[Point]]) -> list[Point]:
    """The walks that are not in shared memory."""
    return next((points for points in walks.values() if not _is_shared(points[0])), [])


def _seconds(p: Point) -> float:
    """Of one step of a walker."""
    return p.summary.median / p.sizes["steps"]


def _clock(part: Part, p: Point) -> float | None:
    """Hertz: as the sensor reports it right after a sample; without a sensor, a GPU's highest clock."""
    mhz = p.counters.get("sm_clock_mhz") or (part.run.context.get("gpu_clock_khz", 0) / 1e3 if part.side == "gpu" else 0)
    return mhz * 1e6 or None


def _cycles(part: Part, p: Point) -> float | None:
    clock = _clock(part, p)
    return _seconds(p) * clock if clock else None


def _is_walk(curve: Curve) -> bool:
    return curve.points[0].kernel.family == CHASE


def _under_way(p: Point) -> float:
    """Independent operations: walkers, or numbers iterated."""
    return p.sizes["walkers"] if p.kernel.family == CHASE else p.sizes["blocks"] * p.sizes["block"] * p.sizes["each"]


def _rate(p: Point) -> float:
    """Operations per second: loads, or multiply-adds."""
    return p.value if p.kernel.family == CHASE else p.value * 1e9 / 2


def _curves(view: View, part: Part) -> list[Curve]:
    """Of one core or multiprocessor: loads from the last-level cache and from memory, and multiply-adds. The walks of a curve have
    the same length, since the time of a step depends on it."""
    one = "multiprocessor" if part.side == "gpu" else "core"
    walks = [p for p in _loads(part) if p.data != "sequential" and p.sizes["stride"] < PAGE and not _is_shared(p)]
    swept = {p.sizes["bytes"] for p in walks if p.sizes["walkers"] > 1}
    groups = {f"{one}, {_level(view, part, n)}": _of_one_length([p for p in walks if p.sizes["bytes"] == n]) for n in sorted(swept)}
    for p in part.timed(CHAINS):
        if p.value and p.sizes["blocks"] == 1 and (part.side == "gpu" or p.threads == 1):
            groups.setdefault(f"{one} ({p.kernel.title})" if part.side == "cpu" else one, []).append(p)
    return [Curve(part, title, made) for title, points in groups.items() if len(made := _by_number(points)) > 1]


def _of_one_length(walks: list[Point]) -> list[Point]:
    """The walks with the number of steps that was timed with the most numbers of walkers; of two, the larger one."""
    lengths = {p.sizes["steps"] for p in walks}
    chosen = max(lengths, key=lambda steps: (len({_under_way(p) for p in walks if p.sizes["steps"] == steps}), steps))
    return [p for p in walks if p.sizes["steps"] == chosen]


def _level(view: View, part: Part, bytes_: float) -> str:
    if bytes_ > view.settings["cached"]:
        return "memory"
    return "L2" if part.side == "gpu" else "L3" if part.run.context.get("cpu_l3_bytes") else "last-level cache"


def _by_number(points: list[Point]) -> tuple[Point, ...]:
    found: dict[float, list[Point]] = {}
    for p in points:
        found.setdefault(_under_way(p), []).append(p)
    return tuple(max(found[n], key=_rate) for n in sorted(found))


# Words


def _of_step(part: Part, p: Point) -> str:
    cycles = _cycles(part, p)
    return numbers.seconds(_seconds(p)) + (f" ({cycles:.0f} cycles)" if cycles else "")


def _latency_words(view: View, walks: dict[str, dict]) -> list[str]:
    """The nearest cache and memory, on each side."""
    texts = []
    for part in view.timed_parts:
        points = _memory(walks.get(part.side, {}))
        if len(points) > 1:
            shared = [p for line in walks[part.side].values() for p in line if _is_shared(p)]
            text = (f"on the {part.side.upper()} a load that depends on the one before takes {_of_step(part, points[0])} in the nearest cache and "
                    f"{_of_step(part, points[-1])} in {numbers.binary(points[-1].sizes['bytes'])}")
            texts.append(text + (f"; shared memory takes {_of_step(part, shared[0])}" if shared else ""))
    return [words.sentence(text) for text in texts] + _ratio_words(walks)


def _ratio_words(walks: dict[str, dict]) -> list[str]:
    cpu, gpu = (_by_bytes(_memory(walks.get(side, {}))) for side in ("cpu", "gpu"))
    both = sorted(cpu.keys() & gpu.keys())
    if not both:
        return []
    ratios = [_seconds(gpu[n]) / _seconds(cpu[n]) for n in both]
    return [f"A single thread of the GPU waits {numbers.times(min(ratios))} to {numbers.times(max(ratios))} as long as a thread of the CPU for "
            f"loads from an array of the same size." if len(both) > 1 else
            f"A single thread of the GPU waits {numbers.times(ratios[0])} as long as a thread of the CPU for loads from an array of the same size."]


def _by_bytes(points: list[Point]) -> dict[float, Point]:
    return {p.sizes["bytes"]: p for p in points}


def _fma_words(curves: list[Curve]) -> list[str]:
    alone = [c for c in curves if not _is_walk(c)]
    latencies = [f"{numbers.seconds(c.points[0].summary.median / c.points[0].sizes['iterations'])} on a {c.title}" for c in alone]
    return [f"A multiply-add that depends on the one before takes {words.joined(latencies)}."] if latencies else []


def _little_words(curves: list[Curve]) -> list[str]:
    texts = []
    for curve in curves:
        if _is_walk(curve) and curve.title.endswith("memory"):
            texts.append(f"a {curve.title.split(',')[0]} reaches {numbers.si(_rate(curve.best), 'load/s')} from memory, "
                         f"{numbers.times(_rate(curve.best) / _rate(curve.points[0]))} the rate of one walker, with "
                         f"{_under_way(curve.best):.0f} loads in flight")
    return [words.sentence("; ".join(texts))] if texts else []


def _share_words(view: View, curves: list[Curve], walks: dict[str, dict]) -> list[str]:
    """The bytes that each multiprocessor must have in flight for its share of the bandwidth of memory."""
    curve = next((c for c in curves if c.part.side == "gpu" and _is_walk(c) and c.title.endswith("memory")), None)
    roof, sms = (view.gpu.dram(curve.points[0].kernel.family), view.gpu.run.context.get("gpu_sm_count")) if curve else (None, None)
    if not roof or not sms:
        return []
    share, one = roof.value / sms, curve.points[0]
    longest = _by_bytes(_memory(walks.get("gpu", {}))).get(one.sizes["bytes"], one)
    longer = (f" ({numbers.seconds(_seconds(longest))} with {numbers.grouped(longest.sizes['steps'])} steps)"
              if longest.sizes["steps"] != one.sizes["steps"] else "")
    return [f"For its share of the bandwidth of memory, {numbers.bandwidth(share)}, each of the {sms} multiprocessors must have "
            f"{numbers.binary(share * 1e9 * curve.latency)} in flight, at the {numbers.seconds(curve.latency)} that one walker waits for a load in "
            f"{numbers.binary(one.sizes['bytes'])}, in a walk of {numbers.grouped(one.sizes['steps'])} steps like the walks of more walkers{longer}."]


def _order_words(view: View) -> list[str]:
    """The gain from a prefetcher, where both orders were measured on one array."""
    texts = []
    for part in view.timed_parts:
        by = {(p.sizes["bytes"], p.data): p for p in _loads(part) if p.sizes["walkers"] == 1 and p.sizes["stride"] < PAGE
              and not _is_shared(p)}
        for bytes_, data in by:
            if data == "sequential" and (bytes_, "random") in by:
                gain = _seconds(by[bytes_, "random"]) / _seconds(by[bytes_, data])
                texts.append(f"{numbers.times(gain)} as fast on the {part.side.upper()}")
    return [f"A walk along nodes in the order of their addresses, which a prefetcher can predict, is {words.joined(texts)}."] if texts else []


def _page_words(view: View) -> list[str]:
    """The time of a step with nodes in different pages, in the smallest and the largest array."""
    texts = []
    for part in view.timed_parts:
        apart = [p for p in _loads(part) if p.sizes["walkers"] == 1 and p.sizes["stride"] >= PAGE]
        if len(apart) > 1:
            first, last = (f(apart, key=lambda p: p.sizes["bytes"]) for f in (min, max))
            texts.append(f"from {numbers.seconds(_seconds(first))} over {numbers.binary(first.sizes['bytes'])} to {numbers.seconds(_seconds(last))} "
                         f"over {numbers.binary(last.sizes['bytes'])} on the {part.side.upper()}")
    return [f"With one node per 2\u00a0MiB the time of a step grows {words.joined(texts)}."] if texts else []


# Judges of claims


def _near(curve: Curve) -> list[Point]:
    """The points after the first, up to the one where operations begin to wait for each other."""
    return [p for p in curve.points[1:] if _rate(p) <= NEAR * _rate(curve.best)]


def little(view: View) -> Judged | None:
    """For the claim of that name, where one more operation does not delay the others: the rate, divided by the rate that the number
    in flight and the latency of one alone predict."""
    near = [(c, p) for part in view.timed_parts for c in _curves(view, part) for p in _near(c)]
    if not near:
        return None
    found = [divide(of_rate(p), of_rate(c.points[0])).scaled(_under_way(c.points[0]) / _under_way(p)) for c, p in near]
    cases = tuple(One(c.title, within(value, 1 - CLOSE, 1 + CLOSE), _under_way(p), "in flight") for (c, p), value in zip(near, found))
    off = [abs(value.number - 1) for value in found]
    return Judged(cases, f"Rates up to half of the best rate, within {numbers.percent(CLOSE)} of the number in flight over the latency of one alone; the "
                         f"median deviation is {numbers.percent(median(off))}, the largest {numbers.percent(max(off))}.")


# Figures


def _side(part: Part) -> str:
    return "GPU" if part.side == "gpu" else "CPU"


def _latency_row(part: Part, p: Point) -> dict:
    s = p.summary
    steps = p.sizes["steps"]
    return {"side": _side(part), "title": _place(part, p.kernel.title), "kernel": p.kernel.name, "bytes": p.sizes["bytes"], "stride": p.sizes["stride"],
            "data": p.data, "seconds": _seconds(p), "low": s.low / steps if s.has_interval else None,
            "high": s.high / steps if s.has_interval else None, **p.sampled, "cycles": _cycles(part, p)}


def _place(part: Part, title: str) -> str:
    """'GPU, shared memory'; a CPU's walk needs no further name, as its caches and its memory share one address space."""
    return f"{_side(part)}, {title}" if part.side == "gpu" else _side(part)


def _latency_figure(view: View, walks: dict[str, dict]) -> list[Figure]:
    shown = [(part, title, points) for part in view.timed_parts for title, points in walks.get(part.side, {}).items()]
    rows = [_latency_row(part, p) for part, _, points in shown for p in points]
    if len({r["bytes"] for r in rows}) < 2:
        return []

    def draw(fig) -> None:
        from report.draw import lines, style
        ax = style.axes(fig, 16, 9, 30, 2)
        series = [lines.Series(_place(part, title), [
            lines.Dot(p.sizes["bytes"], 1e9 * r["seconds"], r["low"] and 1e9 * r["low"], r["high"] and 1e9 * r["high"], not p.settled)
            for p in points for r in [_latency_row(part, p)]]) for part, title, points in shown]
        lines.draw(ax, series, "Working set", "Time of a load [ns]", log_y=True, limit=18)
        low, high = ax.get_xlim()
        style.plain_ticks(ax.xaxis, [2.0**k for k in range(12, 40, 3) if low <= 2**k <= high])
        ax.xaxis.set_major_formatter(lambda n, _: numbers.binary(n).replace(".00", "").replace(".0", ""))
    stories = [words.provenance(part, [p for _, _, points in some for p in points])
               for part in view.timed_parts if (some := [x for x in shown if x[0] is part])]
    strides = " and ".join(f"{int(s)}" for s in sorted({r["stride"] for r in rows}))
    caption = captions.of_sides("Time of a load that depends on the one before: one thread walks along a random cycle of nodes "
                                f"{strides} bytes apart.", stories)
    return [Figure(f"{view.name}_walk", rows, draw, caption,
                   "Log-log line plot of the time of a load by the size of the array: it increases with every level.", height=66)]


def _stories(view: View, curves: list[Curve], hollow: bool = True) -> list[str]:
    return [words.provenance(part, [p for c in some for p in c.points], hollow) for part in view.timed_parts
            if (some := [c for c in curves if c.part is part])]


def _little_rows(curves: list[Curve]) -> list[dict]:
    return [{"curve": f"{_side(c.part)} {c.title}", "kernel": p.kernel.name, "under_way": _under_way(p), "rate": _rate(p),
             "expected": _under_way(p) / c.latency, "latency": c.latency} for c in curves for p in c.points]


def _little_figure(view: View, curves: list[Curve], what: str, unit: str) -> list[Figure]:
    from report.draw import style
    curves = curves[:style.MOST]
    if not curves:
        return []

    def draw(fig) -> None:
        from report.draw import lines
        ax = style.axes(fig, 16, 9, 22, 2)
        factor, scaled = numbers.scale(max(_rate(c.best) for c in curves), unit)
        series = [lines.Series(c.label, [_rate_dot(p, factor) for p in c.points]) for c in curves]
        lines.draw(ax, series, f"Independent {what} in flight", f"Rate [{scaled}]", log_y=True, limit=14)
        low, high = ax.get_ylim()
        for i, c in enumerate(curves):  # the rate that the latency of one predicts, up to the best
            last = _under_way(c.points[-1])
            corners = [_under_way(c.points[0]), min(c.needed, last), last]
            ax.plot(corners, [min(n / c.latency, _rate(c.best)) / factor for n in corners], color=style.SERIES[i]["color"],
                    linewidth=0.6, alpha=0.7, zorder=1)
        ax.set_ylim(low, high)
        powers = [2**k for k in range(0, 21, 3) if ax.get_xlim()[0] <= 2**k <= ax.get_xlim()[1]]
        style.plain_ticks(ax.xaxis, powers)
    caption = captions.of_sides(
        f"Little’s law: rates of one core and one multiprocessor by the number of {what} in flight. Thin lines: this number over "
        f"the latency of one, up to the best rate{'; SM: multiprocessor' if any(c.part.side == 'gpu' for c in curves) else ''}.",
        _stories(view, curves))
    return [Figure(f"{view.name}_{what.replace('-', '_')}", _little_rows(curves), draw, caption,
                   f"Log-log line plot of the rate by the number of independent {what}.", height=64, half=True)]


def _rate_dot(p: Point, factor: float):
    from report.draw import lines
    scale = _rate(p) / p.value / factor
    low, high = p.interval or (None, None)
    return lines.Dot(_under_way(p), p.value * scale, low and low * scale, high and high * scale, not p.settled)


# Tables


def _little_table(view: View, curves: list[Curve]) -> list[Table]:
    if not curves:
        return []
    rows = [{"title": f"{_side(c.part)} {c.title}", "what": "loads" if _is_walk(c) else "multiply-adds",
             "latency": c.latency, "rate": _rate(c.best), "needed": c.needed, "under_way": _under_way(c.best),
             "bytes": c.needed * LINE[c.part.side] if _is_walk(c) else None} for c in curves]
    sector = f"; bytes: in lines of {LINE['cpu']} bytes on the CPU and sectors of {LINE['gpu']} bytes on the GPU"
    columns = (Column("title", "", right=False, wide=True), Column("what", "operations", right=False),
               Column("latency", "latency of one", numbers.seconds), Column("rate", "best rate", lambda v: numbers.si(v, "/s")),
               Column("needed", "latency × rate", numbers.significant), Column("under_way", "in flight at the best rate", numbers.grouped),
               Column("bytes", "latency × rate, bytes", numbers.binary))
    caption = captions.of_sides(f"Operations that must be in flight: latency times rate{sector}.", _stories(view, curves, hollow=False))
    return [Table(f"{view.name}_little", caption,
                  [c for c in columns if any(r[c.key] is not None for r in rows)], rows)]


def _tables(view: View, walks: dict) -> list[Table]:
    made = []
    for part in view.timed_parts:
        points = [p for p in _loads(part) if p.sizes["walkers"] == 1]
        rows = [_latency_row(part, p) for p in points]
        columns = (Column("title", "walk", right=False, wide=True), Column("bytes", "working set", numbers.binary),
                   Column("stride", "stride", numbers.grouped), Column("data", "order", right=False),
                   Column("seconds", "time of a load", numbers.seconds), Column("cycles", "cycles", lambda v: f"{v:.0f}"))
        if rows:
            made.append(Table(f"{view.name}_{part.side}_walks", f"Time of a load on the {part.side.upper()}: every walk of one walker. Working "
                              "set: bytes of the array, walked at this stride (bytes) and in this order"
                              f"{'; cycles: at the clock of the samples' if part.side == 'gpu' else ''}. "
                              + words.provenance(part, points, hollow=False),
                              [c for c in columns if any(r[c.key] is not None for r in rows)], rows))
    return made
