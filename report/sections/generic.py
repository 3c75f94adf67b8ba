"""The section of an experiment that has no .py: a figure over the swept quantity with the roofs, and a table of all
points with their shares of the roofs. Hot and cold points, and points on other numbers of threads, are separate lines
and rows."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace

from report.data.records import GBYTES, GFLOPS, Metric
from report.data.roofs import Roof, written
from report.data.view import order
from report.experiment import COLD, HOT, Column, Figure, Part, Point, Section, Table, View, leaders, numbers, words
from report.sections import ladders

MOST = 6
"""Lines of a figure."""
ABOVE = 1.5
"""An interval beyond ABOVE times the highest value or roof is cut at the axis."""
FAR = 20
"""An axis is logarithmic where the highest value is more than this many times the lowest one."""
SHORT = 16
"""The most printed rows of a table in the main part."""


def section(view: View) -> Section | None:
    parts = [part for part in view.timed_parts if _points(part)]
    if not parts and not view.counts:
        return None
    figures = [figure for part in parts if (figure := _figure(view, part))]
    tables = [_table(view, part) for part in parts] + ([_counts(view, view.counts)] if view.counts else [])
    finding = " ".join(filter(None, map(_finding, parts))) or (
        f"{words.counted(len(view.counts.points), 'point')} were counted by the emulator; none was timed." if view.counts
        else "The timed points have no value in the metric of their problem.")
    where = {"figures": figures, "appendix": tables} if figures else {"tables": tables}
    return Section(finding, **where, warnings=_declared(view))


def _declared(view: View) -> list[str]:
    """A warning if no point of a declared ladder was timed."""
    family = view.settings.get("family")
    if view.settings.get("kind") != ladders.LADDER or not family or not view.timed_parts or ladders.is_timed(view):
        return []
    return [f"{view.title}: [report] declares a ladder of {family} in {words.type_name(str(view.settings.get('type', 'fp32')))}, but no point of it was timed; all points are shown without one."]


def _points(part: Part) -> list[Point]:
    """Timed points, hot and cold; the ceilings where there are no others. A kernel that uses one thread is on one, however many
    it was given."""
    timed = [replace(p, threads=1) if p.kernel.is_serial else p for mode in (HOT, COLD) for p in part.timed(mode=mode)]
    return timed or part.ceilings()


def _finding(part: Part) -> str:
    """The best value at the largest size, its share of the roofs, and failures there."""
    points = [p for p in _points(part) if p.value is not None]
    if not points:
        return ""
    size = max(points, key=lambda p: (p.n or 0, p.name)).size_key
    here = [p for p in points if p.size_key == size]
    best, *level = leaders(here)
    varied = _varied(points)
    how = words.joined([_of_axis(best, axis) for axis in varied])
    failed = {p.kernel.name for p in part.points if p.failed and p.size_key == size}
    lost = f"; {words.counted(len(failed), 'kernel')} failed there" if failed else ""
    shares = [words.of_memory(share) if roof.is_bandwidth else words.of_roof(share, f"{roof.label} ({_rate(roof)})")
              for roof in _judging(part, best) if (share := part.roofs.share(best, roof))]
    return (f"At {best.size_text} the fastest of {words.counted(len({p.kernel.name for p in here}), 'kernel')} on the "
            f"{part.side.upper()} is {words.fastest(best.title, [p.title for p in level])}{f' ({how})' if how else ''} with {numbers.rate(best)}"
            f"{f', {words.joined(shares)}' if shares else ''}{lost}.")


# Roofs


def _judging(part: Part, p: Point) -> list[Roof]:
    """The roofs that judge the point, for its threads: the arithmetic of its type for operations, or the memory that
    holds its bytes."""
    roofs = part.roofs.of_threads(p.threads if part.side == "cpu" else None)
    if p.kernel.is_ceiling:
        return []
    if p.flops and p.metric == GFLOPS:
        return list(filter(None, [roofs.peak(p.kernel.type)])) if not p.does_other_operations else []
    return list(filter(None, [_memory(part, p)])) if p.gbytes else []


def _memory(part: Part, p: Point) -> Roof | None:
    """The roof of the memory that holds its operands. If no kernel of the problem declares its stores, the pattern that is
    fastest on all threads is also used on fewer threads, so that these are not judged by another one."""
    roof = part.memory(p)
    if roof is None or written(part.run.points, p.kernel.family) is not None:
        return roof
    whole = part.at_level(roof.level, p.kernel.family)
    same = [r for r in part.roofs.of_threads(roof.threads).all if r.measured and whole and r.label == whole.label]
    return same[0] if same else roof


def _judges(part: Part, points: list[Point]) -> str:
    """A sentence on the roofs that a table's shares refer to."""
    roofs = {(r.resource, r.label, r.threads): r for p in points for r in _judging(part, p)}
    several = len({r.threads for r in roofs.values()}) > 1
    texts = [f"{r.label} ({', '.join([_rate(r), *([words.counted(r.threads, 'thread')] if several and r.threads else [])])})"
             for _, r in sorted(roofs.items(), key=lambda item: (item[0][:2], item[0][2] or 0))]
    return f"Shares are of {words.listed(texts, 4)}. " if texts else ""


def _rate(roof: Roof) -> str:
    return numbers.bandwidth(roof.value) if roof.is_bandwidth else numbers.flops(roof.value)


def _drawn(part: Part, points: list[Point], metric: Metric) -> list[Roof]:
    """The roofs in the figure's unit, for all threads."""
    if metric not in (GFLOPS, GBYTES):
        return []
    whole = max(points, key=lambda p: (p.threads, p.n or 0))
    return [r for r in _judging(part, whole) if r.is_bandwidth == (metric == GBYTES)]


# What varies in addition to the sizes


def _varied(points: list[Point]) -> list[str]:
    """'mode' and 'threads' where the points have several."""
    return [axis for axis in ("mode", "threads") if len({getattr(p, axis) for p in points}) > 1]


def _of_axis(point: Point, axis: str) -> str:
    return words.counted(point.threads, "thread") if axis == "threads" else point.mode


def _axis(points: list[Point]) -> str:
    """The size or tunable with the most numeric values."""
    values = defaultdict(set)
    for p in points:
        for key, value in (p.sizes | p.tunables).items():
            if isinstance(value, (int, float)):
                values[key].add(value)
    return max(sorted(values), key=lambda k: len(values[k]), default="")


def _figure(view: View, part: Part) -> Figure | None:
    points = [p for p in _points(part) if p.value is not None]
    if not points:
        return None
    metric = Counter(p.metric for p in points).most_common(1)[0][0]
    points = [p for p in points if p.metric == metric]
    axis = _axis(points)
    lines, varied = defaultdict(list), _varied(points)
    for p in points:
        if _at(p, axis) is not None:
            lines[", ".join([_line(p, axis, points), *(_of_axis(p, x) for x in varied)])].append(p)
    shown = dict(sorted(lines.items(), key=lambda item: (-len({_at(p, axis) for p in item[1]}), -max(
        p.known_value for p in item[1])))[:MOST])
    if not shown or max(len({_at(p, axis) for p in line}) for line in shown.values()) < 2:
        return None
    rows = [_row(part, p) | {"line": name, axis: _at(p, axis)} for name, line in lines.items() for p in line]
    every = [p for line in shown.values() for p in line]
    more, roofs = len(lines) - len(shown), _drawn(part, points, metric)
    title = metric.unit if metric.is_rate else metric.key
    caption = (f"{title} over {axis}{f'; {more} further lines are in the CSV' if more else ''}. "
               f"{f'Grey: {words.joined([r.label for r in roofs])}, as measured. ' if roofs else ''}"
               f"{'Arrows: intervals that reach further. ' if _is_cut(every, _ends(every, roofs)) else ''}" + words.provenance(part, every))
    return Figure(f"{view.name}_{part.side}", rows, lambda fig: _draw(fig, shown, axis, metric, roofs), caption,
                  f"Line plot of {title} over {axis} for {words.listed(list(shown))}.")


def _ends(points: list[Point], roofs: list[Roof]) -> tuple[float, float]:
    """The ends of the axis: by the values and the roofs, and by intervals that are not much longer. From 0 unless it is
    logarithmic."""
    values = [p.known_value for p in points] + [r.value for r in roofs]
    high = max([y for p in points for y in p.interval or () if y <= ABOVE * max(values)] + values)
    is_log = min(values) > 0 and max(values) > FAR * min(values)
    return min(values) / 1.5 if is_log else 0.0, 1.2 * high if roofs or is_log else 1.08 * high


def _is_cut(points: list[Point], ends: tuple[float, float]) -> bool:
    return any(p.interval and (p.interval[0] < ends[0] or p.interval[1] > ends[1]) for p in points)


def _at(point: Point, axis: str) -> float | None:
    """Its place on the axis; None without a number there."""
    value = (point.sizes | point.tunables).get(axis)
    return None if isinstance(value, str) else value


def _line(point: Point, axis: str, points: list[Point]) -> str:
    """The kernel with all that varies except the axis; with its type where another kernel has its title."""
    alike = {p.kernel.name for p in points if p.kernel.title == point.kernel.title}
    title = point.kernel.title if len(alike) == 1 else f"{point.kernel.title} ({point.kernel.name.partition('/')[2]})"
    square = {"m", "n", "k"} if axis in ("m", "n", "k") and point.n is not None else {axis}
    rest = {k: v for k, v in (point.tunables | point.sizes).items() if k not in square}
    return ", ".join([title, *(f"{k} {v}" for k, v in rest.items())])


def _draw(fig, shown: dict[str, list[Point]], axis: str, metric: Metric, roofs: list[Roof]) -> None:
    from report.draw import lines, style
    series = []
    for name, points in shown.items():
        best: dict[float, Point] = {}
        for p in points:
            if (x := _at(p, axis)) is not None:
                best[x] = min(p, best.get(x, p), key=lambda q: q.timing.median)
        series.append(lines.Series(name, [lines.dot(p, x) for x, p in sorted(best.items())]))
    factor, values = numbers.scale(max(d.y for s in series for d in s.dots), metric.unit)[0], [d.y for s in series for d in s.dots]
    low, high = (end / factor for end in _ends([p for line in shown.values() for p in line], roofs))
    ax = style.axes(fig, 16, 9, 42, 3)
    lines.draw(ax, series, axis, "Performance" if metric.is_rate else metric.key, log_x=min(d.x for s in series for d in s.dots) > 0,
               log_y=low > 0, limit=30, unit=metric.unit, ylim=(low, high))
    for r in roofs:
        lines.roof(ax, r.value / factor, f"{r.label}{' on one thread' * (r.threads == 1)}, {_rate(r)}", is_crossed=max(values) > 0.9 * r.value / factor)


def _row(part: Part, p: Point) -> dict:
    low, high = p.interval or (None, None)
    shares = {f"share of {r.resource}": share.told
              for r in _judging(part, p) if (share := part.roofs.share(p, r))}
    return {"kernel": p.kernel.name, "title": p.title, "type": p.kernel.type, "size": p.size_text, "mode": p.mode,
            "threads": p.threads if part.side == "cpu" else None, **shares, "metric": p.metric.key, "unit": p.metric.unit, "value": p.value, "low": low, "high": high,
            "n": p.timing.n, "seconds": p.timing.median, **p.sampled, **ladders.state(p), **{f"judged_{k}": v for k, v in p.judged.items()}}


def _table(view: View, part: Part) -> Table:
    points = _points(part)
    rows = [_row(part, p) | {"rate": numbers.rate(p), "interval": numbers.interval(p.interval)} for p in points]
    varied, shares = _varied(points), sorted({key for row in rows for key in row if key.startswith("share of ")})
    judged = sorted({k for p in points for k in p.judged})
    return Table(f"{view.name}_{part.side}_points",
                 f"{view.title}: every timed point; n: samples. {_judges(part, points)}" + words.provenance(part, points),
                 (Column("title", "kernel", right=False, wide=True), Column("size", "size", right=False),
                  *(Column(axis, axis, right=axis == "threads") for axis in varied), Column("rate", "median"),
                  *(Column(key, key.removeprefix("share "), numbers.percent) for key in shares), Column("interval", "95 % interval within the run"),
                  *(Column(f"judged_{k}", k.replace("_", " "), numbers.significant) for k in judged),
                  Column("n", "n")), rows, most=SHORT)


def _counts(view: View, part: Part) -> Table:
    """The emulator's counts, by point."""
    keys = ("op_per_byte_declared", "op_per_byte_executed", "sectors_per_load_request", "sectors_per_store_request")
    rows = [{"kernel": p.kernel.name, "title": p.title, "size": p.size_text} | p.counters
            for p in sorted(part.points, key=order) if p.is_counted]
    return Table(f"{view.name}_counts", f"{view.title}: what the emulator counted. {words.sentence(part.label)}", (
        Column("title", "kernel", right=False, wide=True), Column("size", "size", right=False),
        *(Column(k, k.replace("_", " ").replace("op per byte", "OP/B"), numbers.significant) for k in keys)), rows, most=SHORT)
