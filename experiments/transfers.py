"""Copies between host and GPU: rates by size and the link's rate, the time that streams hide, the work that outweighs the copies."""

from collections import defaultdict
from math import exp, log

from report.experiment import (
    Column,
    Figure,
    Part,
    Point,
    Section,
    Span,
    Table,
    View,
    captions,
    fastest,
    judge,
    numbers,
    ratio,
    whole_machine,
    words,
)

TO, FROM, BOTH = "to_gpu", "from_gpu", "both"
WAYS = {TO: "to the GPU", FROM: "from the GPU", BOTH: "both directions at once"}
LANES = ("copy in", "kernel", "copy out")
STREAMS, CHUNK, STEPS = "streams", "chunk", "steps"
ELEMENT = 4
"""Bytes."""
MS = 1e-3
SHOWN = (4, 24)
"""The fewest and the most chunks of a timeline in which chunks are distinguishable."""


def section(view: View) -> Section | None:
    part = view.gpu
    copies, chunks, works = _copies(view), _chunks(view), _works(view)
    if not (copies or chunks or works):
        return _counted(view)
    figures = [*(_rate_figures(view, part, copies) if copies else ()), *(_chunk_figures(view, part, chunks) if chunks else ()),
               *([_work_figure(view, works)] if works else ()), *(_timeline_figure(view, part, chunks) if chunks else ())]
    finding = words.paragraphs(filter(None, (_copy_words(view, copies), _chunk_words(chunks), _work_words(works))))
    return Section(finding, figures=figures, appendix=[*([_copy_table(view, part, copies)] if copies else ()), *_counts(view)])


# Data


def _copies(view: View) -> dict[tuple[str, str, float], Point]:
    """The fastest variant by kernel, direction and elements."""
    found: dict[tuple, Point] = {}
    for p in view.gpu.timed(view.settings["copies"]) if view.gpu else ():
        if p.n and p.value and p.sizes.get("direction") in WAYS:
            key = p.kernel.name, p.sizes["direction"], p.n
            found[key] = fastest([p, found.get(key, p)])
    return found


def _largest(copies: dict, kernel: str, way: str) -> Point | None:
    return max((p for (k, w, _), p in copies.items() if (k, w) == (kernel, way)), key=lambda p: p.n, default=None)


def _best(copies: dict, view: View, way: str) -> Point | None:
    """The highest rate of the copy engines on pinned memory: the measured rate of the link."""
    return max((p for (k, w, _), p in copies.items() if (k, w) == (view.settings["engines"], way)), key=lambda p: p.value,
               default=None)


def _sheet(part: Part) -> float | None:
    """GB/s per direction by the data sheet of the link."""
    value = part.run.context.get("gpu_pcie_gbytes_per_s")
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) and value > 0 else None


def _chunks(view: View) -> list[Point]:
    """Points of the pipeline at the size and work with the most combinations of streams and chunks."""
    groups = defaultdict(list)
    for p in view.gpu.timed(view.settings["pipeline"]) if view.gpu else ():
        if p.kernel.name == view.settings["streams"] and {STREAMS, CHUNK} <= p.tunables.keys() and p.n and p.value:
            groups[p.size_key].append(p)
    points = max(groups.values(), key=lambda group: (len(group), group[0].n), default=[])
    return points if len({p.tunables[STREAMS] for p in points}) > 1 else []


def _stages(points: list[Point]) -> dict[str, float]:
    """Seconds of all copies in, kernels and copies out, on one stream with the largest chunk that has a timeline."""
    known = [p for p in points if p.timeline and p.tunables[STREAMS] == 1]
    if not known:
        return {}
    spans = max(known, key=lambda p: p.tunables[CHUNK]).timeline
    return {lane: sum(s.end - s.begin for s in spans if s.what == lane) for lane in LANES}


def _works(view: View) -> dict[tuple[str, str], dict[float, Point]]:
    """By side and kernel's title, the fastest point by steps, at the size with the most steps on both sides."""
    sizes = defaultdict(lambda: defaultdict(set))
    points = [p for part in view.comparable for p in whole_machine(part.timed(view.settings["pipeline"])) if p.n and p.gflops]
    for p in points:
        sizes[p.n][p.kernel.side].add(p.sizes.get(STEPS))
    n = max(sizes, key=lambda n: (len(sizes[n]), max(map(len, sizes[n].values())), n), default=None)
    if n is None or max(map(len, sizes[n].values())) < 2:
        return {}
    found: dict[tuple, dict] = defaultdict(dict)
    for p in points:
        if p.n == n:
            line = found[p.kernel.side, p.kernel.title]
            line[p.sizes[STEPS]] = fastest([p, line.get(p.sizes[STEPS], p)])
    return dict(found)


def _intensity(p: Point) -> float:
    """Operations per byte that crosses the link, in both directions."""
    return p.flops / p.counters["bytes_min"]


# Words


def _copy_words(view: View, copies: dict) -> str:
    engines, staged = view.settings["engines"], view.settings["staged"]
    ways = [(w, p) for w in (TO, FROM) if (p := _largest(copies, engines, w))]
    if not ways:
        return ""
    text = f"Pinned memory is copied {words.joined([f'{WAYS[w]} at {numbers.rate(p)}' for w, p in ways])} ({_size(ways[0][1])})"
    slower = [(p, q) for w, p in ways if (q := _largest(copies, staged, w)) and q.n == p.n]
    if slower:
        gains = judge({i: ratio(p, q) for i, (p, q) in enumerate(slower)})
        text += f", {words.joined([numbers.times(g.value) for g in gains.values()])} the rate of pageable memory"
    both = _largest(copies, engines, BOTH)
    if both:
        text += f"; in both directions at once the total is {numbers.rate(both)}"
    small = min((p for (k, w, _), p in copies.items() if (k, w) == (engines, ways[0][0])), key=lambda p: p.n)
    if small.n < ways[0][1].n:
        text += f"; a copy of {_size(small)} takes {numbers.seconds(small.summary.median)}{_half(copies, view, ways[0][0])}"
    return f"{text}."


def _half(copies: dict, view: View, way: str) -> str:
    """The size from which half of the largest rate is reached."""
    line = sorted((p for (k, w, _), p in copies.items() if (k, w) == (view.settings["engines"], way)), key=lambda p: p.n)
    best = max(p.value for p in line)
    enough = next(p for p in line if p.value >= best / 2)
    return f", and half of the full rate is reached from {_size(enough)} on" if enough is not line[0] else ""


def _chunk_words(points: list[Point]) -> str:
    if not points:
        return ""
    one, best = fastest([p for p in points if p.tunables[STREAMS] == 1]), fastest(points)
    if one is None or one is best:
        return "Here several streams are not faster than one."
    gain, stages = judge({"": ratio(best, one)})[""], _stages(points)
    text = (f"An array of {_size(best)} that is copied in, processed and copied out in chunks of {_bytes(best.tunables[CHUNK])} on "
            f"{_streams(best)} takes {numbers.seconds(best.summary.median)}, {words.speed(gain, 'the best on one stream')}")
    if stages and max(stages.values()) > 0:
        lane, least = max(stages.items(), key=lambda item: item[1])
        text += f"; the slowest stage alone ({lane}) takes {numbers.seconds(least)}"
    return f"{text}."


def _streams(p: Point) -> str:
    return words.counted(int(p.tunables[STREAMS]), "stream")


def _work_words(works: dict) -> str:
    """The operations per byte from which the GPU is faster, copies included."""
    gpu, cpu = (_best_line(works, side) for side in ("gpu", "cpu"))
    if cpu and not gpu:
        most = cpu[max(cpu)]
        return (f"No copy was timed. On the CPU, in whose memory the array is, {numbers.significant(_intensity(most))} operations per "
                f"byte are executed at {numbers.flops(most.gflops)}.")
    shared = sorted(gpu.keys() & cpu.keys())
    if not shared:
        return ""
    gains = [cpu[s].summary.median / gpu[s].summary.median for s in shared]
    at = [_intensity(gpu[s]) for s in shared]
    won = next((i for i in range(len(shared)) if min(gains[i:]) > 1), None)
    threads = words.counted(max(p.threads for p in cpu.values()), "thread")
    size = numbers.binary(ELEMENT * max(p.n for p in gpu.values()))
    if won is None:
        return (f"Copies included, the GPU is not faster than the CPU’s {threads} on an array of {size} at up to "
                f"{numbers.significant(at[-1])} operations per byte over the link.")
    if won == 0:
        start = f"at all intensities measured, from {numbers.significant(at[0])}"
    else:
        a, b = log(gains[won - 1]), log(gains[won])
        start = f"from about {numbers.significant(exp(log(at[won - 1]) - a / (b - a) * log(at[won] / at[won - 1])), 2)}"
    return f"Copies included, the GPU is faster than the CPU’s {threads} on an array of {size} {start} operations per byte over the link."


def _best_line(works: dict, side: str) -> dict[float, Point]:
    best: dict[float, Point] = {}
    for (at, _), line in works.items():
        for steps, p in line.items() if at == side else ():
            best[steps] = fastest([p, best.get(steps, p)])
    return best


def _size(p: Point) -> str:
    return _bytes(p.n)


def _bytes(elements: float) -> str:
    return numbers.binary(ELEMENT * elements)


# Figures


def _rate_figures(view: View, part: Part, copies: dict) -> list[Figure]:
    """One direction, and both at once."""
    return [f for ways in ((TO, FROM), (BOTH,)) if (f := _rate_figure(view, part, copies, ways))]


def _rate_figure(view: View, part: Part, copies: dict, ways: tuple[str, ...]) -> Figure | None:
    series: dict[tuple[str, str], list[Point]] = defaultdict(list)
    for (_, way, _), p in sorted(copies.items(), key=lambda item: (item[1].kernel.order, item[0])):
        if way in ways:
            series[p.kernel.title, way].append(p)
    points = [p for line in series.values() for p in line]
    if not points:
        return None
    is_both = ways == (BOTH,)
    sheet = (_sheet(part) or 0) * (2 if is_both else 1)
    best = max((p for w in ways if (p := _best(copies, view, w))), key=lambda p: p.value, default=None)

    def draw(fig) -> None:
        from report.draw import lines, style
        ax = style.axes(fig, 13, 9, 21, 3)
        colours, made = {}, []
        for title, way in series:
            look = style.SERIES[colours.setdefault(title, len(colours))]
            label = title if is_both else f"{title}, {'in' if way == TO else 'out'}"
            made.append(lines.Series(label, [lines.dot(p, ELEMENT * p.n) for p in series[title, way]], look | (
                {"linestyle": (0, (1, 1.2))} if way == FROM else {"linestyle": "-"})))
        values = [p.value for p in points]
        high = max([*values, sheet])
        lines.draw(ax, made, "Bytes per direction" if is_both else "Bytes", "Bandwidth", log_y=True, limit=14,
                   unit=points[0].metric.unit, ylim=(min(values) / 1.6, 2.2 * high))
        style.decade_ticks(ax.yaxis)
        _byte_ticks(ax)
        for value, look in ((sheet, (0, (4, 2))), (best.value if best else 0, "-")):
            if value:
                ax.axhline(value, color=style.GREY, linewidth=0.8, linestyle=look, zorder=1)

    what = "in both directions at once on two streams, with the bytes of both in the rate" if is_both else "in each direction (out: dotted)"
    lines_ = [f"solid grey: the best pinned rate, {numbers.bandwidth(best.value)}"] if best else []
    lines_ += [f"dashed: the link{'' if is_both else ' in one direction'} by its data sheet, {numbers.bandwidth(sheet)}"] if sheet else []
    caption = (f"Copies between host and GPU by size, {what}. Copies follow each other, so that the start of one overlaps with the one "
               f"before. {words.sentence('; '.join(lines_))} " + words.provenance(part, points))
    rows = [_copy_row(p) for p in points]
    return Figure(f"{view.name}_{'both_ways' if is_both else 'one_way'}", rows, draw, caption,
                  f"Line plot of bandwidth by bytes for {words.listed([title for title, _ in series])}.", height=66, half=True)


def _byte_ticks(ax) -> None:
    from report.draw import style
    low, high = ax.get_xlim()
    ticks = [2**k for k in range(2, 42) if low <= 2**k <= high]
    style.plain_ticks(ax.xaxis, [t for t in ticks if (t.bit_length() - 1) % (5 if len(ticks) > 12 else 2) == 0] or ticks)
    ax.xaxis.set_major_formatter(lambda v, _: _power(v))


def _power(bytes_: float) -> str:
    """A power of two as '32 KiB'."""
    return next(f"{bytes_ / factor:g}\u2009{unit}" for factor, unit in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"), (1, "B"))
                if bytes_ >= factor)


def _copy_row(p: Point) -> dict:
    low, high = p.interval or (None, None)
    return {"kernel": p.kernel.name, "title": p.kernel.title, "variant": p.variant, "direction": p.sizes["direction"],
            "bytes": ELEMENT * p.n, "gbytes_per_s": p.value, "low": low, "high": high, **p.sampled, "seconds": p.summary.median}


def _copy_table(view: View, part: Part, copies: dict) -> Table:
    rows = [_copy_row(p) | {"way": WAYS[p.sizes["direction"]]} for _, p in sorted(copies.items(), key=lambda item: (
        list(WAYS).index(item[0][1]), item[1].kernel.order, item[0][2]))]
    return Table(f"{view.name}_rates", "Copies by direction, kind and size: one array per direction. "
                 + words.provenance(part, list(copies.values()), hollow=False), (
                     Column("way", "direction", right=False), Column("title", "memory", right=False, wide=True),
                     Column("bytes", "bytes", numbers.binary), Column("gbytes_per_s", "rate", numbers.bandwidth),
                     Column("seconds", "time", numbers.seconds)), rows, most=40)


def _chunk_figures(view: View, part: Part, points: list[Point]) -> list[Figure]:
    lines_of: dict[float, list[Point]] = defaultdict(list)
    for p in sorted(points, key=lambda p: (p.tunables[STREAMS], p.tunables[CHUNK])):
        lines_of[p.tunables[STREAMS]].append(p)
    stages = _stages(points)
    amount = points[0].counters["bytes_min"] / 1e9
    bounds = [(amount / seconds, text) for seconds, text in ((sum(stages.values()), "stages in sequence"),
                                                             (max(stages.values(), default=0), "slowest stage alone")) if seconds]

    def draw(fig) -> None:
        from report.draw import lines, style
        ax = style.axes(fig, 13, 9, 21, 3)
        made = [lines.Series(f"{s:.0f} stream{'s' * (s > 1)}", [lines.dot(p, ELEMENT * p.tunables[CHUNK]) for p in line])
                for s, line in lines_of.items()]
        top = max([p.value for p in points] + [value for value, _ in bounds])
        lines.draw(ax, made, "Bytes per chunk", "Bytes in and out", limit=14, unit=points[0].metric.unit, ylim=(0, 1.15 * top))
        _byte_ticks(ax)
        for value, text in bounds:
            ax.axhline(value, color=style.GREY, linewidth=0.8, zorder=1)
            ax.annotate(text, (ax.get_xlim()[1], value), xytext=(-3, 2), ha="right", textcoords="offset points", size=style.SMALL,
                        color=style.GREY)

    caption = (f"An array of {_size(points[0])} copied in, processed and copied out in chunks, by the size of a chunk and the number of streams"
               f"{'; grey: bounds from the stages’ times on one stream' if bounds else ''}. " + words.provenance(part, points))
    rows = [{"streams": p.tunables[STREAMS], "chunk_bytes": ELEMENT * p.tunables[CHUNK], "n": p.n, "steps": p.sizes.get(STEPS),
             "gbytes_per_s": p.value, "seconds": p.summary.median, **p.sampled, **{f"{lane} seconds": s for lane, s in stages.items()}} for p in points]
    figure = Figure(f"{view.name}_chunks", rows, draw, caption, "Line plot of the rate by the size of a chunk, one line per number of streams.", height=66, half=True)
    return [figure]


def _timeline_figure(view: View, part: Part, points: list[Point]) -> list[Figure]:
    """The timelines on one stream and on the fastest number of streams, in chunks of one size."""
    clear = [p for p in points if p.timeline and SHOWN[0] <= p.n / p.tunables[CHUNK] <= SHOWN[1]]
    best = fastest([p for p in clear if p.tunables[STREAMS] > 1])
    one = fastest([p for p in clear if best and p.tunables[STREAMS] == 1 and p.tunables[CHUNK] == best.tunables[CHUNK]])
    shown = [p for p in (one, best) if p]
    if not shown:
        return []

    def draw(fig) -> None:
        from report.draw import style
        longest = max(s.end for p in shown for s in p.timeline)
        height, room = fig.get_size_inches()[1] / style.MM, 9.0
        each = (height - room) / len(shown)
        for i, p in enumerate(shown):
            is_last = i == len(shown) - 1
            ax = style.axes(fig, 15, room + (len(shown) - 1 - i) * each, 2, i * each + 4.5)
            _lanes(ax, p, longest)
            ax.set_xlim(0, longest / MS * 1.01)
            ax.set_title(f"{_streams(p)}, chunks of {_bytes(p.tunables[CHUNK])}", pad=2)
            ax.tick_params(labelbottom=is_last)
            if is_last:
                ax.set_xlabel("Time [ms]")

    caption = ("Timeline of one run: copies and kernels with an event before and after each, coloured by stream, with the number "
               "of the chunk. A copy begins when both its stream and its engine are free. This run is not one of the samples; "
               f"its events delay it slightly. {words.sentence(part.label)}")
    rows = [{"streams": p.tunables[STREAMS], "chunk_bytes": ELEMENT * p.tunables[CHUNK], "what": s.what, "stream": s.stream,
             "chunk": chunk, "begin": s.begin, "end": s.end} for p in shown for chunk, s in _numbered(p.timeline)]
    return [Figure(f"{view.name}_timeline", rows, draw, caption,
                   "Gantt chart with one lane for copies in, one for kernels and one for copies out.", height=12 + 24 * len(shown))]


def _numbered(spans: tuple[Span, ...]) -> list[tuple[int, Span]]:
    """Spans with the number of their chunk, from 1: each lane has every chunk once, in order."""
    seen: dict[str, int] = defaultdict(int)
    made = []
    for s in spans:
        seen[s.what] += 1
        made.append((seen[s.what], s))
    return made


def _lanes(ax, p: Point, longest: float) -> None:
    from report.draw import style
    from report.draw.paper import text_width
    width = ax.get_window_extent().width * 72 / ax.figure.dpi
    for chunk, s in _numbered(p.timeline):
        if s.what not in LANES:
            continue
        y = len(LANES) - 1 - LANES.index(s.what)
        colour = style.SERIES[s.stream % style.MOST]["color"]
        ax.barh([y], [(s.end - s.begin) / MS], left=[s.begin / MS], height=0.74, color=style.mix(colour, "#ffffff", 0.15),
                edgecolor="white", linewidth=0.4)
        if (s.end - s.begin) / longest * width > text_width(str(chunk), style.SMALL) + 1:
            ax.annotate(str(chunk), ((s.begin + s.end) / 2 / MS, y), ha="center", va="center_baseline", size=style.SMALL, color="white")
    ax.set_ylim(-0.6, len(LANES) - 0.4)
    ax.set_yticks(range(len(LANES)), LANES[::-1])
    ax.tick_params(axis="y", length=0)


def _work_figure(view: View, works: dict) -> Figure:
    points = [p for line in works.values() for p in line.values()]
    gpu_part = any(p.kernel.side == "gpu" for p in points)

    def draw(fig) -> None:
        from report.draw import lines, style
        made = [lines.Series(f"{'GPU' if side == 'gpu' else 'CPU'}, {title}" if side == "gpu" else "CPU, where the data are",
                             [lines.Dot(_intensity(p), p.gflops, hollow=not p.settled) for p in line.values()])
                for (side, title), line in sorted(works.items(), reverse=True)]
        ax = style.axes(fig, 15, 9, 23, 3)
        lines.draw(ax, made, "Operations per byte over the link", "Performance", log_y=True, limit=15, unit="GFLOP/s")

    stories = [f"{part.side.upper()}: " + words.provenance(part, [p for p in points if p.kernel.side == part.side])
               for part in view.comparable if any(p.kernel.side == part.side for p in points)]
    caption = (f"An array of {_size(points[0])} that begins and ends on the host, by the operations per byte"
               f"{'; the GPU’s time includes both copies' if gpu_part else ''}.")
    rows = [{"side": p.kernel.side, "kernel": p.kernel.name, "variant": p.variant, "n": p.n, "steps": p.sizes[STEPS],
             "flop_per_byte": _intensity(p), "gflops": p.gflops, "gbytes_per_s": p.value, "seconds": p.summary.median, **p.sampled} for p in points]
    return Figure(f"{view.name}_work", rows, draw, captions.of_sides(caption, stories), "Line plot of performance by operations per byte, GPU and CPU.", height=66, half=True)


# Counted


def _counts(view: View) -> list[Table]:
    points = [p for p in (view.counts.points if view.counts else ()) if p.is_counted]
    rows = [{"title": p.title, "size": p.size_text, **p.counters, "bytes_per_request": _per_request(p)} for p in points]
    return [Table(f"{view.name}_counts", f"Requests of the kernels that read the host’s memory directly, counted. {words.sentence(view.counts.label)}", (
        Column("title", "kernel", right=False, wide=True), Column("size", "size", right=False),
        Column("load_requests", "load requests", numbers.grouped), Column("bytes_per_request", "bytes per request", numbers.significant)),
        rows)] if rows else []


def _per_request(p: Point) -> float | None:
    loaded, requests = p.counters.get("bytes_executed_loaded"), p.counters.get("load_requests")
    return loaded / requests if loaded and requests else None


def _counted(view: View) -> Section | None:
    tables = _counts(view)
    widest = max((r["bytes_per_request"] or 0 for r in tables[0].rows), default=0) if tables else 0
    return Section(f"No copy was timed. A kernel that reads the host’s memory loads up to {widest:.0f} bytes with each request of a warp.",
                   tables=tables) if tables and widest else None
