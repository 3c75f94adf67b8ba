"""Vector addition: bandwidth by the number of elements, and the effect of bytes in flight compared with the width of accesses."""

from collections import defaultdict

from report.experiment import (
    Column,
    Figure,
    Ladder,
    Part,
    Point,
    Ratio,
    Section,
    Table,
    View,
    build,
    fastest,
    judge,
    leaders,
    numbers,
    ratio,
    whole_machine,
    words,
)
from report.sections import ladders

WIDTH, LOADS = "width", "loads"
BYTES = 12
"""Bytes that one element moves: two numbers read, one written."""
POWERS = {1: "1", 2**10: "2¹⁰", 2**15: "2¹⁵", 2**20: "2²⁰", 2**25: "2²⁵", 2**30: "2³⁰"}


def section(view: View) -> Section | None:
    s = view.settings
    parts = [part for part in (view.gpu, view.cpu) if part and part.timed(s["family"])]
    made = [x for part in parts if (x := build(part, s["family"], s["type"], s.get("size")))]
    if not made:
        return None
    return Section(" ".join([*map(_finding, made), *_width(view)]), ladders=made, figures=[_figure(view, part) for part in parts],
                   appendix=[x for ladder in made for x in (ladders.table(f"{view.name}_{ladder.part.side}", ladder),
                                                           *ladders.missing(ladder), *_launches(view, ladder))])


# Words


def _cache(part: Part) -> float:
    """Bytes of the last-level cache."""
    return part.run.context.get("gpu_l2_bytes" if part.side == "gpu" else "cpu_l3_bytes") or 0


def _dram(part: Part, points: list[Point]) -> list[Point]:
    """The points of the largest size, if the last-level cache does not hold it."""
    largest = max((p.n for p in points if part.level(p, p.n * BYTES) == "DRAM"), default=None)
    return [p for p in points if p.n == largest]


def _finding(ladder: Ladder) -> str:
    """The fastest kernel compared with memory's roof, where no cache holds the data, and the first kernel."""
    part = ladder.part
    points = _dram(part, list(ladder.points))
    best, *level = leaders(points) or [None]
    first = min(points, key=lambda p: p.value, default=None)
    if best is None:
        return ""
    share = part.roofs.share(best, part.memory(best))
    text = f"With {numbers.grouped(best.n)} elements the fastest kernel on the {part.side.upper()} is {words.fastest(best.title, [p.title for p in level])} with {numbers.rate(best)}"
    text += f", {words.of_memory(share)}" if share else ""
    low = min(ladder.points, key=lambda p: (p.kernel.order, -(p.n or 0)))
    if low.kernel != best.kernel and low is not first:
        text += f"; {low.kernel.title} reaches {numbers.rate(low)} at its largest size"
    elif first is not best:
        text += f", {numbers.times(best.value / first.value)} the rate of {first.kernel.title}"
    return f"{text}."


def _pair(view: View) -> tuple[Point, Point, Ratio] | None:
    """One wide access, narrow accesses of the same total bytes, at the largest size with both; and the speed of the first over the second."""
    points = [p for p in (view.gpu.timed(view.settings["family"]) if view.gpu else []) if {WIDTH, LOADS} <= p.tunables.keys()]
    pairs = [(wide, narrow) for wide in points for narrow in points if wide.n == narrow.n and wide.n * BYTES > 2**30
             and wide.tunables[WIDTH] == 16 and narrow.tunables[WIDTH] == 4 and wide.tunables[LOADS] == 1
             and narrow.tunables[LOADS] == 4 and wide.tunables.get("threads") == narrow.tunables.get("threads")]
    if not pairs:
        return None
    wide, narrow = max(pairs, key=lambda pair: (pair[0].n, -pair[0].tunables.get("threads", 0)))
    return wide, narrow, judge({"": ratio(wide, narrow)})[""]


def _width(view: View) -> list[str]:
    found = _pair(view)
    if not found:
        return []
    wide, narrow, gain = found
    single = [p for p in view.gpu.timed(view.settings["family"]) if p.size_key == wide.size_key and p.tunables.get(WIDTH) == 4
              and p.tunables.get(LOADS) == 1]
    alone = f"; one load of 4 bytes reaches {numbers.rate(fastest(single))}" if single else ""
    return [f"The bytes in flight per thread determine the rate, and not the width of an access: one load of 16 bytes from each array "
            f"({numbers.rate(wide)}) is {words.speed(gain, 'four loads of 4 bytes')}{alone}."]


# Figures


def _series(part: Part, family: str) -> dict[str, list[Point]]:
    """One line per kernel, or per width of its accesses: the variant that is fastest at the largest size."""
    groups = defaultdict(lambda: defaultdict(list))
    for p in whole_machine(part.timed(family)):
        width = p.tunables.get(WIDTH)
        label = f"{width:.0f}\u00a0B accesses" if width else p.kernel.title
        groups[label][tuple(sorted(p.tunables.items()))].append(p)
    return {label: _best(list(variants.values())) for label, variants in groups.items()}


def _best(variants: list[list[Point]]) -> list[Point]:
    """Among the variants with the most sizes, the one that is fastest at the largest size."""
    most = max(len({p.n for p in line}) for line in variants)
    whole = [line for line in variants if len({p.n for p in line}) == most]
    return max(whole, key=lambda line: max(line, key=lambda p: p.n).value)


def _row(part: Part, p: Point) -> dict:
    low, high = p.interval or (None, None)
    return {"kernel": p.kernel.name, "title": p.title, "n": p.n, "bytes": p.counters.get("bytes_min"), "gbytes_per_s": p.value,
            "low": low, "high": high, **p.sampled, "seconds": p.summary.median, "threads": p.threads, "run": part.run.path.name}


def _figure(view: View, part: Part) -> Figure:
    from report.draw import lines, style
    family = view.settings["family"]
    series = _series(part, family)
    points = [p for line in series.values() for p in line]
    roof = part.dram(family)

    def draw(fig) -> None:
        ax = style.axes(fig, 14, 9, 26, 2)
        top = max([p.value for p in points] + [roof.value if roof else 0])
        caches = bool(roof) and top > 3 * roof.value  # then memory would be lost at the foot of a linear axis
        lines.draw(ax, [lines.Series(label, [lines.dot(p, p.n) for p in line]) for label, line in series.items()],
                   "Elements", "Bandwidth", log_y=caches, limit=14, unit=points[0].metric.unit,
                   ylim=(top / 2000, 2 * top) if caches else (0, 1.12 * top))
        low, high = ax.get_xlim()
        style.plain_ticks(ax.xaxis, [n for n in POWERS if low <= n <= high])
        ax.xaxis.set_major_formatter(lambda n, _: POWERS.get(round(n), ""))
        if roof:
            lines.roof(ax, roof.value, f"{roof.label}, {numbers.bandwidth(roof.value)}", is_crossed=top > 1.1 * roof.value)
        if low < _cache(part) / BYTES < high:
            ax.axvline(_cache(part) / BYTES, color=style.PALE, linewidth=0.8, zorder=0)
            ax.annotate(f"{'L2' if part.side == 'gpu' else 'L3'} full", (_cache(part) / BYTES, 0.3 * top), xytext=(2, 0),
                        textcoords="offset points", size=style.SMALL, color=style.GREY)
    threads = max(p.threads for p in points)
    who = "GPU" if part.side == "gpu" else f"CPU, {words.counted(threads, 'thread')}"
    caption = (f"Bandwidth of vector addition on the {who}, by the number of elements (12 bytes each). Each line is the variant "
               f"that is fastest at the largest size; the others are in the CSV. " + words.provenance(part, points))
    rows = [_row(part, p) for p in part.timed(family)]
    return Figure(f"{view.name}_{part.side}", rows, draw, caption,
                  f"Line plot of bandwidth by the number of elements for {words.listed(list(series))}.", height=66, half=True)


def _launches(view: View, ladder: Ladder) -> list[Table]:
    """Every variant at the size with the most variants."""
    groups = defaultdict(list)
    for p in ladder.part.timed(ladder.problem.family):
        groups[p.n].append(p)
    size, points = max(groups.items(), key=lambda item: (len(item[1]), item[0]))
    if not any(p.tunables for p in points):
        return []
    rows = [_row(ladder.part, p) for p in sorted(points, key=lambda p: -p.value)]
    return [Table(f"{view.name}_{ladder.part.side}_variants", f"Every variant at {points[0].size_text}. "
                  + words.provenance(ladder.part, points, hollow=False), (
                      Column("title", "kernel", right=False, wide=True), Column("gbytes_per_s", "bandwidth", numbers.bandwidth),
                      Column("seconds", "time", numbers.seconds)), rows)]
