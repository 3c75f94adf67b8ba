"""The section of an experiment that has no .py: a figure over the swept quantity, and a table of all points."""

from __future__ import annotations

from collections import Counter, defaultdict

from report.data.records import Metric
from report.data.view import order
from report.experiment import Column, Figure, Part, Point, Section, Table, View, numbers, words

MOST = 6
"""Lines of a figure."""
SHORT = 16
"""Printed rows of a table that may stand in the main part."""


def section(view: View) -> Section | None:
    parts = [part for part in view.timed_parts if _points(part)]
    if not parts and not view.counts:
        return None
    figures = [figure for part in parts if (figure := _figure(view, part))]
    tables = [_table(view, part) for part in parts] + ([_counts(view, view.counts)] if view.counts else [])
    finding = " ".join(filter(None, map(_finding, parts))) or (
        f"{words.counted(len(view.counts.points), 'point')} were counted by the emulator; none was timed." if view.counts
        else "The timed points have no value in the metric of their problem.")
    return Section(finding, figures=figures, appendix=tables) if figures else Section(finding, tables=tables)


def _points(part: Part) -> list[Point]:
    """Timed points; the ceilings where there are no others."""
    return part.timed() or part.ceilings()


def _finding(part: Part) -> str:
    """The best value at the largest size, of each metric."""
    points = [p for p in _points(part) if p.value is not None]
    if not points:
        return ""
    size = max(points, key=lambda p: (p.n or 0, p.name)).size_key
    here = [p for p in points if p.size_key == size]
    best = min(here, key=lambda p: (p.summary.median, p.name))
    return (f"At {best.size_text} the fastest of {words.counted(len({p.kernel.name for p in here}), 'kernel')} on the "
            f"{part.side.upper()} is {best.title} with {numbers.rate(best)}.")


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
    metric = Counter(p.metric for p in points).most_common(1)[0][0] if points else None
    points = [p for p in points if p.metric == metric]
    axis = _axis(points)
    lines = defaultdict(list)
    for p in points:
        if axis in p.sizes or axis in p.tunables:
            lines[_line(p, axis)].append(p)
    shown = dict(sorted(lines.items(), key=lambda item: (-len({_at(p, axis) for p in item[1]}), -max(
        p.value for p in item[1])))[:MOST])
    if not shown or max(len({_at(p, axis) for p in line}) for line in shown.values()) < 2:
        return None
    rows = [_row(p) | {"line": name, axis: _at(p, axis)} for name, line in lines.items() for p in line]
    more = len(lines) - len(shown)
    title = metric.unit if metric.is_rate else metric.key
    caption = (f"{title} over {axis}{f'; {more} further lines are in the CSV' if more else ''}. "
               f"{words.provenance(part, [p for line in shown.values() for p in line])}")
    return Figure(f"{view.name}_{part.side}", rows, lambda fig: _draw(fig, shown, axis, metric), caption,
                  f"Line plot of {title} over {axis} for {words.listed(list(shown))}.")


def _at(point: Point, axis: str) -> float:
    return (point.sizes | point.tunables)[axis]


def _line(point: Point, axis: str) -> str:
    """The kernel with all that varies beside the axis."""
    square = {"m", "n", "k"} if axis in ("m", "n", "k") and point.n is not None else {axis}
    rest = {k: v for k, v in (point.tunables | point.sizes).items() if k not in square}
    return ", ".join([point.kernel.title, *(f"{k} {v}" for k, v in rest.items())])


def _draw(fig, shown: dict[str, list[Point]], axis: str, metric: Metric) -> None:
    from report.draw import lines, style
    series = []
    for name, points in shown.items():
        best: dict[float, Point] = {}
        for p in points:
            x = _at(p, axis)
            best[x] = min(p, best.get(x, p), key=lambda q: q.summary.median)
        series.append(lines.Series(name, [lines.dot(p, x) for x, p in sorted(best.items())]))
    values = [d.y for s in series for d in s.dots]
    lines.draw(style.axes(fig, 16, 9, 42, 3), series, axis, "Performance" if metric.is_rate else metric.key,
               log_x=min(d.x for s in series for d in s.dots) > 0, log_y=max(values) > 20 * min(values), limit=30, unit=metric.unit)


def _row(p: Point) -> dict:
    low, high = p.interval or (None, None)
    return {"kernel": p.kernel.name, "title": p.title, "type": p.kernel.type, "size": p.size_text, "mode": p.mode,
            "metric": p.metric.key, "unit": p.metric.unit, "value": p.value, "low": low, "high": high,
            "n": p.summary.n, "seconds": p.summary.median, **{f"judged_{k}": v for k, v in p.judged.items()}}


def _table(view: View, part: Part) -> Table:
    points = _points(part)
    rows = [_row(p) | {"rate": numbers.rate(p), "interval": numbers.interval(p.interval)} for p in points]
    judged = sorted({k for p in points for k in p.judged})
    return Table(f"{view.name}_{part.side}_points",
                 f"{view.title}: every timed point. {words.provenance(part, points)}",
                 (Column("title", "kernel", right=False, wide=True), Column("size", "size", right=False),
                  Column("rate", "median"), Column("interval", "95 % interval within the run"),
                  *(Column(f"judged_{k}", k.replace("_", " "), numbers.significant) for k in judged),
                  Column("n", "n")), rows, most=SHORT)


def _counts(view: View, part: Part) -> Table:
    """What the emulator counted, by point."""
    keys = ("op_per_byte_declared", "op_per_byte_executed", "sectors_per_load_request", "sectors_per_store_request")
    rows = [{"kernel": p.kernel.name, "title": p.title, "size": p.size_text} | p.counters
            for p in sorted(part.points, key=order) if p.is_counted]
    return Table(f"{view.name}_counts", f"{view.title}: what the emulator counted. {words.sentence(part.label)}", (
        Column("title", "kernel", right=False, wide=True), Column("size", "size", right=False),
        *(Column(k, k.replace("_", " ").replace("op per byte", "OP/B"), numbers.significant) for k in keys)), rows, most=SHORT)
