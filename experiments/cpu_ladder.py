"""The CPU's ladder: each rung's rate, gain and nearest roof; the speed-up by threads; other machines."""

from collections import defaultdict
from dataclasses import dataclass

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
    numbers,
    ratio,
    words,
)
from report.sections import ladders, steps

MOST = 3
"""At most this many machines' ladders are side by side in a table."""


@dataclass(frozen=True)
class Scaling:
    """One kernel at one size on several numbers of threads, each with its speed-up over itself on one."""

    points: tuple[Point, ...]
    speedups: tuple[Ratio, ...]

    @property
    def last(self) -> tuple[Point, Ratio]:
        return self.points[-1], self.speedups[-1]


def section(view: View) -> Section | None:
    s = view.settings
    made = [x for part in _parts(view) if (x := build(part, s.get("family", ""), s.get("type", "fp32"), s.get("size")))]
    if not made:
        return None
    ladder, scaling = made[0], _scaling(made[0])
    levels = ladders.hierarchy(view.name, ladder, ladders.chosen(ladder, [ladder.own[0].point]), _how(ladder))
    rungs = ladders.rungs_figure(view.name, ladder)
    return Section(
        ladders.finding(ladder) + _scaled(ladder, scaling), ladders=made, first=levels, slide=rungs, paper=[rungs, steps.table(view.name, ladder)],
        answer=[f"{ladders.climb(ladder, _who(ladder))}{_one_core(scaling, ladder)}."],
        figures=[rungs, *_scaling_figure(view, ladder, scaling)],
        appendix=[*ladders.over_peers(view.name, ladder), ladders.table(view.name, ladder), *ladders.missing(ladder),
                  *ladders.variants(view.name, ladder), *_energy(ladder), *_machines(view, made), *_types(view, ladder.part)])


def _parts(view: View) -> list[Part]:
    return [*([view.cpu] if view.cpu else []), *view.others]


def _who(ladder: Ladder) -> str:
    threads = max(p.threads for p in ladders.points(ladder))
    return f"the CPU’s kernels on up to {words.counted(threads, 'thread')}"


def _how(ladder: Ladder) -> str:
    """The origin of the bytes of each level."""
    measured = any(key.endswith("_measured") for p in ladders.points(ladder) for key in p.counters)
    reason = ladder.part.run.context.get("cpu_events_unavailable")
    how = "by hardware events" if measured else "by each kernel’s formula" + (f" (no hardware events: {reason})" if reason else "")
    return f"useful operations over bytes {how}"


# Threads


def _scaling(ladder: Ladder) -> list[Scaling]:
    """One per kernel and size of the sweep over threads; points on more threads than cores are left out."""
    groups: dict[tuple, dict[int, Point]] = defaultdict(dict)
    for p in ladder.part.timed(ladder.problem.family, ladder.type):
        if p.swept_threads and not p.oversubscribed:
            group = groups[p.kernel.order, p.kernel.name, p.amount, p.size_key]
            group[p.threads] = min(p, group.get(p.threads, p), key=lambda q: q.summary.median)
    made = []
    for _, group in sorted(groups.items()):
        if 1 in group and len(group) > 1:
            points = tuple(group[t] for t in sorted(group))
            made.append(Scaling(points, tuple(ratio(p, group[1]) for p in points)))
    return made


def _own(ladder: Ladder, scaling: list[Scaling]) -> Scaling | None:
    """The scaling of the fastest own rung, at the ladder's size."""
    return next((s for s in scaling if s.points[0].kernel == ladder.fastest.point.kernel
                 and s.points[0].size_key == ladder.rungs[0].point.size_key), None)


def _peaks(ladder: Ladder) -> tuple[float, float, int] | None:
    """The arithmetic peaks on one thread and on all threads under one label, and the number of threads."""
    whole = ladder.part.roofs.of_threads(None).peak(ladder.type)
    one = whole and next((r for r in ladder.part.roofs.all if r.label == whole.label and r.threads == 1), None)
    return (one.value, whole.value, whole.threads) if one and whole.threads and whole.threads > 1 else None


def _scaled(ladder: Ladder, scaling: list[Scaling]) -> str:
    mine = _own(ladder, scaling)
    if not mine:
        return ""
    point, gain = mine.last
    text = (f" In a sweep over threads {point.kernel.title} runs {numbers.times(gain.value)} as fast on {words.counted(point.threads, 'thread')} "
            f"({numbers.rate(point)}) as on one ({numbers.rate(mine.points[0])}): {numbers.percent(gain.value / point.threads)} parallel efficiency")
    peaks = _peaks(ladder)
    if not peaks or peaks[1] < peaks[0]:
        return f"{text}."
    return f"{text}; the {words.type_name(ladder.type)} peak itself increases {numbers.times(peaks[1] / peaks[0])}."


def _one_core(scaling: list[Scaling], ladder: Ladder) -> str:
    mine = _own(ladder, scaling)
    share = mine and ladder.part.roofs.of_peak(mine.points[0])
    title = ladder.fastest.point.kernel.title
    return f"; {title} on one thread reaches {words.share(share)} of one core’s peak" if share and not share.exceeds else ""


def _shown(ladder: Ladder, scaling: list[Scaling]) -> list[Scaling]:
    """The fastest own rung at the ladder's size; all kernels at the largest size; at most five."""
    largest = max(s.points[0].amount or 0 for s in scaling)
    mine = _own(ladder, scaling)
    rest = [s for s in scaling if (s.points[0].amount or 0) == largest and s is not mine]
    return [*([mine] if mine else []), *rest][:5]


def _scaling_figure(view: View, ladder: Ladder, scaling: list[Scaling]) -> list[Figure]:
    """Drawn from three thread counts on; two are given in the text."""
    from report.draw import lines, style
    if not any(len(s.points) > 2 for s in scaling):
        return []
    shown, peaks = _shown(ladder, scaling), _peaks(ladder)
    rows = [{"kernel": p.kernel.name, "title": p.title, "type": p.kernel.type, "size": p.size_text, "threads": p.threads, **p.sampled,
             "value": p.value, "unit": p.metric.unit, "speedup": r.value, "speedup low": r.low, "speedup high": r.high,
             "efficiency": r.value / p.threads} for s in scaling for p, r in zip(s.points, s.speedups)]

    def draw(fig) -> None:
        ax = style.axes(fig, 14, 9, 27, 2)
        series = [lines.Series(f"{s.points[0].kernel.title}, {s.points[0].size_text}", [
            lines.Dot(p.threads, 100 * r.value / p.threads, *(100 * x / p.threads for x in r.interval or ()), not p.settled) for p, r in zip(s.points, s.speedups)]) for s in shown]
        if peaks:
            series.append(lines.Series(f"{words.type_name(ladder.type)} peak", [
                lines.Dot(1, 100), lines.Dot(peaks[2], 100 * peaks[1] / peaks[0] / peaks[2])]))
        lines.draw(ax, series, "Threads", "Parallel efficiency [%]", limit=17)
        ax.axhline(100, color=style.GREY, linewidth=0.7, linestyle=(0, (1, 2)))
    points = [p for s in shown for p in s.points]
    sizes = f"; {words.counted(len(scaling) - len(shown), 'further line')} in the CSV" if len(scaling) > len(shown) else ""
    caption = (f"Parallel efficiency in {words.type_name(ladder.type)}: speed-up over one thread divided by the number of "
               f"threads{sizes}. " + words.provenance(ladder.part, points))
    return [Figure(f"{view.name}_threads", rows, draw, caption,
                   "Line plot of parallel efficiency over the number of threads.", height=60, half=True)]


# Appendix


def _energy(ladder: Ladder) -> list[str]:
    reason = ladder.part.run.context.get("energy_unavailable")
    known = any(p.joules for p in ladders.points(ladder))
    return [] if known or not reason else [f"The CPU’s energy is not given, since no energy counter could be read ({reason})."]


def _machines(view: View, made: list[Ladder]) -> list[Table]:
    """The same ladder on several machines, side by side, each compared with its own roofs."""
    made = made[:MOST]
    if len(made) < 2:
        return []
    kernels = {r.point.kernel.name: r.point.kernel for ladder in made for r in ladder.rungs}
    rows = []
    for kernel in sorted(kernels.values(), key=lambda k: (k.is_library, k.order, k.name)):
        row = {"kernel": kernel.name, "title": kernel.title}
        for i, ladder in enumerate(made):
            for r in (r for r in ladder.rungs if r.point.kernel.name == kernel.name):
                row |= {f"machine {i}": ladder.part.machine.label, f"value {i}": r.point.value, f"gain {i}": r.below and r.below.value,
                        f"share {i}": words.share(r.share, digits_only=True), f"share_of_peak {i}": r.share and r.share.told,
                        f"size {i}": r.point.size_text, f"threads {i}": r.point.threads}
        rows.append(row)
    unit = made[0].rungs[0].point.metric.unit
    names = "; ".join(f"{chr(65 + i)}: {ladder.part.label}, {ladder.size_text}, {words.counted(ladder.fastest.point.threads, 'thread')}"
                      for i, ladder in enumerate(made))
    columns = [column for i in range(len(made)) for column in (
        Column(f"value {i}", f"{chr(65 + i)}: {unit}", numbers.significant), Column(f"share {i}", f"{chr(65 + i)}: of peak"),
        Column(f"gain {i}", f"{chr(65 + i)}: gain", numbers.times))]
    return [Table(f"{view.name}_machines", f"The ladder on several machines in {words.type_name(made[0].type)}, each compared with "
                  f"its own roofs. {names}.", (Column("title", "kernel", right=False, wide=True), *columns), rows)]


def _types(view: View, part: Part) -> list[str | Table]:
    """The ladders of further data types, each separate: an operation in these types is less work."""
    made = []
    for entry in view.settings.get("beside", ()):
        type_ = entry["type"]
        ladder = build(part, view.settings.get("family", ""), type_, entry.get("size"))
        if ladder and len(ladder.rungs) > 1:
            made += [f"{words.type_name(type_)} is shown separately, since its operands have fewer digits and its peak differs. "
                     f"{ladders.finding(ladder)}",
                     ladders.table(f"{view.name}_{type_}", ladder)]
    return made
