"""Shared by experiments with memory-bound kernels: rates by size with the roof of memory, and a ladder at the largest size
with the bound by the requested bytes."""

from __future__ import annotations

from report.experiment import Column, Figure, Ladder, Part, Point, Table, View, build, numbers, times_as_fast, words
from report.missing import needed
from report.sections import ladders

POWERS = {2**k: "2" + str(k).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")) for k in range(10, 34, 3)}


# Data


def ladder(part: Part | None, family: str, type_: str) -> Ladder | None:
    """At the largest size that most of the kernels were measured at."""
    kernels: dict = {}
    for p in part.timed(family) if part else ():
        kernels.setdefault(p.n, set()).add(p.kernel.name)
    return build(part, family, type_, max(kernels, key=lambda n: (len(kernels[n]), n))) if kernels else None


def requested(p: Point) -> float | None:
    """Bytes that the code requests per element."""
    c = p.counters
    return (c["bytes_declared_loaded"] + c.get("bytes_declared_stored", 0)) / p.n if "bytes_declared_loaded" in c and p.n else None


def _elements(p: Point) -> float:
    return needed(p.n, f"the number of elements of {p.name}")


# Words


def finding(made: Ladder) -> str:
    """The fastest kernel, compared with the roof of the memory that holds the array and with the library."""
    best, part = made.fastest, made.part
    share = part.roofs.share(best.point, part.memory(best.point))
    text = (f"With {numbers.grouped(_elements(best.point))} elements the fastest kernel on the {part.side.upper()} is {ladders.named(made)} "
            f"with {numbers.rate(best.point)}")
    text += f", {words.of_memory(share)}" if share else ""
    text += "".join(f"; it is {words.speed(r, name)}" for name, r in best.peers.items())
    first = made.own[0].point
    if first is not best.point:
        text += f", and {numbers.times(times_as_fast(best.point, first))} as fast as {first.kernel.title}"
    return f"{text}."


# Figures and tables


def row(part: Part, p: Point) -> dict:
    low, high = p.interval or (None, None)
    return {"kernel": p.kernel.name, "title": p.title, "n": p.n, "gbytes_per_s": p.value, "low": low, "high": high,
            "seconds": p.timing.median, "threads": p.threads, **p.sampled, **ladders.state(p), "requested_bytes_per_element": requested(p)}


def figure(view: View, made: Ladder, what: str) -> Figure:
    """Rates by size. `what`: 'of the sum, 4 bytes for each element'."""
    from report.draw import lines, style
    part, points, top = made.part, made.points, made.part.dram(made.problem.family)
    series: dict[str, list[Point]] = {}
    for p in points:
        series.setdefault(p.kernel.title, []).append(p)
    left_out = [r.point.kernel.title for r in made.own[:max(0, len(series) - style.MOST)]]  # the lowest rungs
    shown = {title: line for title, line in series.items() if title not in left_out}

    def draw(fig) -> None:
        ax = style.axes(fig, 16, 9, 23, 2)
        values = [p.known_value for line in shown.values() for p in line] + ([top.value] if top else [])
        lines.draw(ax, [lines.Series(title, [lines.dot(p, _elements(p)) for p in line]) for title, line in shown.items()],
                   "Elements", "Bandwidth", log_y=True, limit=15, unit=points[0].metric.unit, ylim=(min(values) / 1.5, 2.5 * max(values)))
        style.rate_ticks(ax.yaxis, *ax.get_ylim())
        low, high = ax.get_xlim()
        style.plain_ticks(ax.xaxis, [n for n in POWERS if low <= n <= high])
        ax.xaxis.set_major_formatter(lambda n, _: POWERS.get(round(n), ""))
        if top:
            lines.roof(ax, top.value, f"{top.label}, {numbers.bandwidth(top.value)}", is_crossed=max(values) > 1.1 * top.value)
    who = "GPU" if part.side == "gpu" else f"CPU, up to {words.counted(max(p.threads for p in points), 'thread')}"
    absent = f" Not drawn: {words.joined(left_out)}." if left_out else ""
    caption = (f"Bandwidth {what}, on the {who}. Each kernel in its fastest variant at each size.{absent} " + words.provenance(part, points))
    return Figure(f"{view.name}_{part.side}", [row(part, p) for p in points], draw, caption,
                  f"Line plot of bandwidth over the number of elements for {words.listed(list(shown))}.", height=66, half=True)


def table(view: View, made: Ladder) -> Table:
    """The ladder at one size: the bound by the requested bytes and the reached rate."""
    part, rows = made.part, []
    for r in made.rungs:
        top, asked = part.memory(r.point), requested(r.point)
        share, least = part.roofs.share(r.point, top), (r.point.counters.get("bytes_min") or 0) / _elements(r.point)
        rows.append(row(part, r.point) | ladders.ratio_row("gain", r.below) | {
            "bound": top.value * least / asked if top and asked else None, "share": share and share.told,
            **{k: v for name, x in r.peers.items() for k, v in ladders.ratio_row(f"over {name}", x).items()}})
    columns = (Column("title", "kernel", right=False, wide=True), Column("requested_bytes_per_element", "B/element", numbers.significant),
               Column("bound", "bound", numbers.bandwidth), Column("gbytes_per_s", "reached", numbers.bandwidth),
               Column("share", "of the roof", numbers.share), Column("gain", "gain", numbers.times),
               *(Column(f"over {r.point.kernel.title}", f"over {r.point.kernel.title}", numbers.times) for r in made.peers))
    known = [c for c in columns if any(one.get(c.key) is not None for one in rows)]
    tops = dict.fromkeys(words.rate_of(top) for r in made.rungs if (top := part.memory(r.point)))
    notes = f"Roof: {words.joined(list(tops))}. " if tops else ""
    notes += "B/element: what the code requests; bound: the roof, if all of that moved through memory. " if any(
        one["bound"] for one in rows) else ""
    return Table(f"{view.name}_{part.side}_ladder", f"The ladder on the {part.side.upper()} at {made.size_text}. {notes}Gain: over the kernel above. "
                 + words.provenance(part, ladders.points(made), hollow=False), known, rows)


def appendix(view: View, made: Ladder) -> list:
    return [*ladders.missing(made), *ladders.variants(f"{view.name}_{made.part.side}", made)]
