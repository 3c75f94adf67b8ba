"""Registers capped: registers and spilled bytes per thread, resident threads, and the rate of the product."""

from report.experiment import (
    Column,
    Figure,
    Part,
    Point,
    Section,
    Table,
    View,
    fastest,
    judge,
    leaders,
    numbers,
    ratio,
    times_as_fast,
    words,
)

CAP, USED, SPILLED, OCCUPANCY, BLOCKS, THREADS = ("registers", "registers_per_thread", "local_bytes_per_thread", "occupancy_theoretical",
                                                  "blocks_per_sm", "threads_per_block")
FREE = 0.97
"""A spill is nearly free if at least this share of the rate without it is left."""


def section(view: View) -> Section | None:
    capped = _capped(view)
    if not capped:
        return None
    return Section(_finding(view, capped), figures=[_figure(view, capped)], appendix=[_table(view)])


def _timed(view: View) -> list[Point]:
    return [p for p in view.gpu.timed() if p.value and {USED, SPILLED, OCCUPANCY} <= p.counters.keys()] if view.gpu else []


def _capped(view: View) -> list[Point]:
    """The kernel's points at its largest size, by their caps."""
    points = [p for p in _timed(view) if p.kernel.name == view.settings["kernel"] and isinstance(p.tunables.get(CAP), (int, float))]
    size = max((p.n or 0 for p in points), default=0)
    return sorted((p for p in points if (p.n or 0) == size), key=lambda p: p.tunables[CAP])


def _beside(view: View, size_key: tuple) -> list[Point]:
    """Other kernels of the sweep at that size."""
    return [p for p in _timed(view) if p.kernel.name != view.settings["kernel"] and p.size_key == size_key]


# Words


def _said(p: Point) -> str:
    """'96 registers per thread at 25 % occupancy'."""
    return f"{p.counters[USED]:.0f} registers per thread at {numbers.occupancy(p.counters[OCCUPANCY])} occupancy"


def _bytes(p: Point) -> str:
    return f"{p.counters[SPILLED]:.0f}\u00a0B"


def _fullest(capped: list[Point]) -> Point:
    """The fastest point at the highest occupancy."""
    return max(capped, key=lambda p: (p.counters[OCCUPANCY], p.value))


def _finding(view: View, capped: list[Point]) -> str:
    (best, *level), full = leaders(capped), _fullest(capped)
    said = words.fastest(_said(best), map(_said, level))
    if full.counters[OCCUPANCY] <= best.counters[OCCUPANCY]:
        text = f"The fastest variant also has the highest occupancy: {said} with {numbers.rate(best)}"
    else:
        loss = judge({"": ratio(full, best)})[""]
        why = f", since each thread spills {_bytes(full)}" if full.counters[SPILLED] else ""
        text = (f"The fastest variant is not the one with the highest occupancy: {said} give {numbers.rate(best)}; "
                f"{_said(full)} are {words.speed(loss, 'that')}{why}")
    return " ".join([f"{text}.", *_mild(capped), *_greedy(capped, best), *_others(view, best)])


def _mild(capped: list[Point]) -> list[str]:
    """The largest spill that costs next to nothing, compared with the fastest variant without a spill."""
    whole = fastest([p for p in capped if not p.counters[SPILLED]])
    spilled = [p for p in capped if p.counters[SPILLED]]
    if not whole or not spilled:
        return []
    free = [p for p in spilled if times_as_fast(p, whole) >= FREE]
    if not free:
        least = min(spilled, key=lambda p: p.counters[SPILLED])
        return [f"No spill is free: the smallest, of {_bytes(least)}, leaves {numbers.percent(times_as_fast(least, whole))} of the best rate without spills."]
    most = max(free, key=lambda p: p.counters[SPILLED])
    return [f"A small spill costs next to nothing: {_bytes(most)} per thread leave {numbers.percent(times_as_fast(most, whole))} of the best rate "
            "without spills."]


def _greedy(capped: list[Point], best: Point) -> list[str]:
    """The cost of the compiler's own choice, which takes more registers than the fastest variant."""
    own = capped[-1]
    if own.counters[USED] <= best.counters[USED]:
        return []
    share = times_as_fast(own, best)
    return [f"Without a cap the compiler takes {_said(own)}, which {f'gives {numbers.percent(share)} of the best rate' if share < 1 else 'is as fast within noise'}."]


def _others(view: View, best: Point) -> list[str]:
    other = fastest(_beside(view, best.size_key))
    if not other:
        return []
    gain = judge({"": ratio(best, other)})[""]
    return [f"With the best cap the kernel is {words.speed(gain, other.title)}, which loads nothing ahead ({_said(other)})."]


# Figure and table


def _row(part: Part, p: Point) -> dict:
    low, high = p.interval or (None, None)
    c = p.counters
    return {"kernel": p.kernel.name, "title": p.title, "size": p.size_text, "cap": p.tunables.get(CAP), "registers_per_thread": c[USED],
            "local_bytes_per_thread": c[SPILLED], "blocks_per_sm": c.get(BLOCKS), "threads_per_block": c.get(THREADS),
            "occupancy_theoretical": c[OCCUPANCY], "occupancy_achieved": part.counters_of(p).get("occupancy_achieved"),
            "limiter": p.labels.get("occupancy_limiter"), "value": p.value, "low": low, "high": high, **p.sampled, "unit": p.metric.unit,
            "run": part.run.path.name}


def _figure(view: View, capped: list[Point]) -> Figure:
    """Rate, occupancy and spilled bytes, side by side by the same caps."""
    best = fastest(capped)
    beside = _beside(view, best.size_key)
    factor, unit = numbers.scale(max(p.value for p in capped + beside), best.metric.unit)

    def rate(p: Point):
        from report.draw import lines
        ends = [end / factor for end in p.interval or ()]
        return lines.Dot(p.tunables.get(CAP, 0), p.value / factor, *ends, hollow=not p.settled)

    def counter(name: str, scale: float):
        from report.draw import lines
        return lambda p: lines.Dot(p.tunables[CAP], scale * p.counters[name])
    panels = ((f"Performance [{unit}]", rate), ("Theoretical occupancy [%]", counter(OCCUPANCY, 100.0)),
              ("Spilled per thread [B]", counter(SPILLED, 1.0)))

    def draw(fig) -> None:
        from report.draw import style
        left, gap = 17.0, 14.0
        width = (style.WIDTH - left - 2 - 2 * gap) / 3
        for i, (name, dot) in enumerate(panels):
            at = left + i * (width + gap)
            ax = style.axes(fig, at, 9, style.WIDTH - at - width, 3)
            _panel(ax, name, [dot(p) for p in capped], rate(fastest(beside)).y if beside and i == 0 else 0)
            if beside and i == 0:
                ax.annotate(fastest(beside).kernel.title, (0, rate(fastest(beside)).y), xycoords=("axes fraction", "data"), xytext=(2, 2),
                            textcoords="offset points", size=style.SMALL, color=style.GREY)
    caption = (f"{words.sentence(best.kernel.title)[:-1]}, {best.size_text}, with capped registers: rate, theoretical occupancy and "
               f"the bytes that the compiler spills to local memory. " + words.provenance(view.gpu, capped))
    return Figure(f"{view.name}_caps", [_row(view.gpu, p) for p in capped + beside], draw, caption,
                  "Three line plots by the cap on registers: rate, occupancy and spilled bytes.", height=58)


def _panel(ax, name: str, dots: list, level: float) -> None:
    """A line on an axis from zero, and a level to compare it with."""
    from report.draw import lines, style
    lines.one(ax, lines.Series("", dots), style.SERIES[0])
    ax.set_xscale("log", base=2)
    ax.set_xlim(dots[0].x / 1.2, dots[-1].x * 1.2)
    style.plain_ticks(ax.xaxis, style.thinned([d.x for d in dots], 1.45))
    ax.set_ylim(0, 1.1 * (max(level, *(d.y for d in dots)) or 1))
    ax.yaxis.set_major_formatter(lambda v, _: style.plain(v))
    if level:
        ax.axhline(level, color=style.GREY, linewidth=0.8, zorder=1)
    ax.set_xlabel("Cap on a thread’s registers")
    ax.set_ylabel(name, labelpad=1)


def _table(view: View) -> Table:
    points = sorted(_timed(view), key=lambda p: (p.n or 0, p.tunables.get(CAP, 0), p.name))
    rows = [_row(view.gpu, p) for p in points]
    is_read = any(r["occupancy_achieved"] is not None for r in rows)
    return Table(f"{view.name}_points", "Registers capped, every point. Registers and spilled local memory: per thread; blocks/SM: resident per "
                  f"multiprocessor; theoretical{' and achieved: the occupancy by the model and by hardware counters' if is_read else ': the occupancy by the model'}. "
                  + words.provenance(view.gpu, points, hollow=False), (
        Column("title", "kernel", right=False, wide=True), Column("size", "size", right=False),
        Column("registers_per_thread", "registers", lambda v: f"{v:.0f}"), Column("local_bytes_per_thread", "spilled", numbers.binary),
        Column("blocks_per_sm", "blocks/SM", lambda v: f"{v:.0f}"), Column("occupancy_theoretical", "theoretical", numbers.occupancy),
        *([Column("occupancy_achieved", "achieved", numbers.percent)] if is_read else []),
        Column("value", points[0].metric.unit, numbers.significant)), rows)
