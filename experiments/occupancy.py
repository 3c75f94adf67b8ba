"""The effect of occupancy: fewer resident warps through unused shared memory, and blocks of different sizes."""

from collections import defaultdict

from report.experiment import SWEPT, Column, Figure, Ladder, Part, Point, Section, Table, View, numbers, words
from report.sections import ladders

KEEPS = 0.95
"""A kernel keeps its rate if at least this share of its best rate is left."""
OCCUPANCY = "occupancy_theoretical"


def section(view: View) -> Section | None:
    points = [p for p in view.gpu.timed() if OCCUPANCY in p.counters and p.value] if view.gpu else []
    swept, blocks = _swept(points), _blocks(points)
    if not swept and not blocks:
        return None
    figures = [*([_sweep_figure(view, swept)] if swept else []), *([_block_figure(view, blocks)] if blocks else [])]
    return Section(_finding(swept, blocks), figures=figures, answer=_answer(view, swept),
                   first=_first(view, swept) if swept and _ladders(view) else None, appendix=[_table(view, points)])


def _swept(points: list[Point]) -> dict[str, list[Point]]:
    """Kernel → its fastest point at each occupancy, where unused shared memory was added."""
    groups = defaultdict(list)
    for p in points:
        groups[p.title, p.size_key].append(p)
    return {title: _fastest_by(group, lambda p: p.counters[OCCUPANCY]) for (title, _), group in groups.items()
            if any(p.counters.get(SWEPT) for p in group)}


def _blocks(points: list[Point]) -> dict[str, list[Point]]:
    """Kernel → its fastest point for each number of threads in a block, without added shared memory."""
    groups = defaultdict(list)
    for p in points:
        if not p.counters.get(SWEPT) and p.counters.get("threads_per_block"):
            groups[p.kernel.title].append(p)
    made = {title: _fastest_by(group, lambda p: p.counters["threads_per_block"]) for title, group in groups.items()}
    return {title: group for title, group in made.items() if len(group) > 1}


def _fastest_by(points: list[Point], key) -> list[Point]:
    best = {}
    for p in points:
        best[key(p)] = min(p, best.get(key(p), p), key=lambda q: q.summary.median)
    return [best[k] for k in sorted(best)]


def _enough(points: list[Point]) -> float:
    """The lowest occupancy from which every point keeps the rate."""
    best, enough = max(p.value for p in points), 1.0
    for p in reversed(points):
        if p.value < KEEPS * best:
            break
        enough = p.counters[OCCUPANCY]
    return enough


def _finding(swept: dict[str, list[Point]], blocks: dict[str, list[Point]]) -> str:
    text = ""
    if swept:
        kept = [f"{title} keeps {numbers.percent(KEEPS)} of its best rate down to {numbers.occupancy(_enough(points))} occupancy"
                for title, points in swept.items()]
        text = f"With fewer resident warps and nothing else changed, {words.joined(kept)}."
    if blocks:
        best = [f"{max(points, key=lambda p: p.value).counters['threads_per_block']:.0f} threads for {title}"
                for title, points in blocks.items()]
        shares = {p.counters[OCCUPANCY] for points in blocks.values() for p in points}
        text += f" The number of threads in a block matters{' even at equal occupancy' if len(shares) == 1 else ''}: " \
                f"the best is {words.joined(best)}."
    return text.strip()


def _answer(view: View, swept: dict[str, list[Point]]) -> list[str]:
    """One sentence: occupancy alone does not make a kernel fast."""
    if not swept:
        return []
    title, points = max(swept.items(), key=lambda item: max(p.value for p in item[1]))
    text = f"Occupancy alone does not determine performance: {title} keeps {numbers.percent(KEEPS)} of its rate down to " \
           f"{numbers.occupancy(_enough(points))} occupancy"
    for ladder in _ladders(view):
        top = ladder.fastest.point
        text += f", and the fastest kernel of all, {ladders.named(ladder)}, runs at {numbers.occupancy(top.counters[OCCUPANCY])}" \
            if OCCUPANCY in top.counters else ""
    return [f"{text}."]


def _ladders(view: View) -> list[Ladder]:
    """The GPU's ladders that the TOML joins to this experiment."""
    return [x for section in view.joined.values() for x in section.ladders if x.part.side == "gpu"]


def _achieved(part: Part, p: Point) -> float | None:
    return part.counters_of(p).get("occupancy_achieved", p.counters.get("occupancy_achieved"))


def _row(part: Part, p: Point) -> dict:
    low, high = p.interval or (None, None)
    c = p.counters
    return {"kernel": p.kernel.name, "title": p.title, "size": p.size_text, "mode": p.mode,
            "shared_bytes_added": c.get(SWEPT, 0), "threads_per_block": c.get("threads_per_block"),
            "registers_per_thread": c.get("registers_per_thread"), "occupancy_theoretical": c[OCCUPANCY],
            "occupancy_achieved": _achieved(part, p), "limiter": p.labels.get("occupancy_limiter"),
            "value": p.value, "low": low, "high": high, **p.sampled, "unit": p.metric.unit, "run": part.run.path.name}


def _dots(points: list[Point], x) -> list:
    from report.draw import lines
    return [lines.dot(p, x(p)) for p in points]


PERCENT, TICKS = (0, 104), (0, 25, 50, 75, 100)
"""Limits and ticks of an axis of occupancies."""


def _sweep_figure(view: View, swept: dict[str, list[Point]]) -> Figure:
    from report.draw import lines, style
    points = [p for line in swept.values() for p in line]

    def draw(fig) -> None:
        ax = style.axes(fig, 16, 9, 17, 2)
        series = [lines.Series(title, _dots(line, lambda p: 100 * p.counters[OCCUPANCY])) for title, line in swept.items()]
        lines.draw(ax, series, "Theoretical occupancy [%]", "Performance", log_x=False, limit=10,
                   unit=points[0].metric.unit, xlim=PERCENT)
        for p in points:
            if (reached := _achieved(view.gpu, p)) is not None:
                ax.plot([100 * reached], [p.value], "|", color=style.GREY, markersize=8, zorder=1)
        ax.set_xticks(TICKS)
    reached = any(_achieved(view.gpu, p) is not None for p in points)
    caption = (f"Occupancy lowered by unused shared memory, {points[0].size_text}{'; upright ticks: achieved occupancy by hardware counters' if reached else ''}. "
               + words.provenance(view.gpu, points))
    return Figure(f"{view.name}_sweep", [_row(view.gpu, p) for p in points], draw, caption,
                  "Line plot of throughput by theoretical occupancy.", height=60, half=True)


def _block_figure(view: View, blocks: dict[str, list[Point]]) -> Figure:
    from report.draw import lines, style
    points = [p for line in blocks.values() for p in line]

    def draw(fig) -> None:
        ax = style.axes(fig, 16, 9, 21, 2)
        series = [lines.Series(title, _dots(line, lambda p: p.counters["threads_per_block"])) for title, line in blocks.items()]
        lines.draw(ax, series, "Threads in a block", "Performance", limit=12, unit=points[0].metric.unit)
    shares = sorted({numbers.occupancy(p.counters[OCCUPANCY]) for p in points})
    caption = (f"Performance by the number of threads in a block, {points[0].size_text}, at {words.joined(shares)} theoretical "
               f"occupancy. " + words.provenance(view.gpu, points))
    return Figure(f"{view.name}_blocks", [_row(view.gpu, p) for p in points], draw, caption,
                  "Line plot of throughput by the number of threads in a block.", height=60, half=True)


def _first(view: View, swept: dict[str, list[Point]]) -> Figure:
    """For the first page: the sweeps, and every kernel of the joined ladder at its own occupancy and the same size."""
    from report.draw import labels, lines, marks, style
    from report.draw.paper import Paper
    points = [p for line in swept.values() for p in line]
    size = points[0].size_key
    beside = [(x, p) for x in _ladders(view) for p in x.points if p.size_key == size and OCCUPANCY in p.counters]

    def draw(fig) -> None:
        ax = style.axes(fig, 16, 9, 1.5, 1)
        values = [p.value for p in points] + [p.value for _, p in beside]
        ax.set_yscale("log")
        ax.set_ylim(min(values) / 1.6, max(values) * 1.7)
        style.rate_ticks(ax.yaxis, *ax.get_ylim())
        ax.set_xlabel("Theoretical occupancy [%]")
        ax.set_ylabel(f"Performance [{points[0].metric.unit}]", labelpad=1)
        ax.set_xlim(PERCENT)
        ax.set_xticks(TICKS)
        sheet, shown = Paper(labels.box_points(ax)), []
        for i, (title, line) in enumerate(swept.items()):
            dots = _dots(line, lambda p: 100 * p.counters[OCCUPANCY])
            lines.one(ax, lines.Series(title, dots), style.SERIES[i], sheet)
            middle = dots[len(dots) // 2]
            shown.append(marks.Mark("", title, middle.y, {"sweep": middle.x}, is_main=True,
                                    colour=style.SERIES[i]["color"]))
        for ladder, p in beside:
            shown.append(marks.Mark(_number(ladder, p), p.kernel.title, p.value, {"DRAM": 100 * p.counters[OCCUPANCY]},
                                    is_main=p.kernel == ladder.top.point.kernel))
            marks.draw(ax, shown[-1], sheet)
        marks.label(ax, shown, sheet)
    caption = (f"Occupancy against throughput at {points[0].size_text}. Lines: occupancy lowered by unused shared memory, "
               f"nothing else changed. " + words.provenance(view.gpu, points))
    if beside:
        story = words.provenance(beside[0][0].part, [p for _, p in beside])
        caption += " Diamonds: each kernel of the ladder at its own occupancy, with its number on the ladder. " + story
    return Figure(f"{view.name}_throughput", [_row(view.gpu, p) for p in points] + [_row(x.part, p) for x, p in beside],
                  draw, caption, "Plot of throughput by occupancy: the fastest kernels have low occupancy.",
                  height=84, half=True)


def _number(ladder: Ladder, point: Point) -> str:
    """The kernel's number on the ladder."""
    return next((str(r.number) for r in ladder.own if r.point.kernel == point.kernel), "")


def _table(view: View, points: list[Point]) -> Table:
    unit, rows = points[0].metric.unit, [_row(view.gpu, p) for p in points]
    is_read = any(r["occupancy_achieved"] is not None for r in rows)
    return Table(f"{view.name}_points", "Occupancy and throughput, every point. Shared added: unused shared memory per block that lowers the "
                  f"occupancy; theoretical: by the model, with the resource that limits it{'; achieved: by hardware counters' if is_read else '; no hardware counters were read for these points'}. "
                  + words.provenance(view.gpu, points), (
        Column("title", "kernel", right=False), Column("size", "size"),
        Column("threads_per_block", "threads/block", lambda v: f"{v:.0f}"),
        Column("shared_bytes_added", "shared added", numbers.binary),
        Column("occupancy_theoretical", "theoretical", numbers.occupancy),
        *([Column("occupancy_achieved", "achieved", numbers.percent)] if is_read else []),
        Column("limiter", "limited by", right=False, wide=True), Column("value", unit, numbers.significant)), rows)
