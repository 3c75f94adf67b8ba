"""What the page's own figures are drawn from, as plain data: machines with their roofs, kernels' points, samples, and the rows
of every CSV. Texts are complete: the page formats no number that the report prints."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from report.data.collect import Study, views_of
from report.data.ladder import Ladder
from report.data.limits import mean_power, use
from report.data.records import SIDE_NAME, SIDES, Point, Run
from report.data.roofs import Roof, Roofs, clock_of
from report.data.view import Part, View, best_variants, order, whole_machine
from report.experiment import Figure, Table, numbers, words
from report.faults import UNUSABLE
from report.output import cell, safe_name
from report.sections import ladders, samples
from report.text import sources
from report.web.markup import bare
from report.web.source import places

FINE, DIGITS_OF_A_SAMPLE = 1e5, 3
"""Samples are whole numbers of this part of their median, or of a multiple (`q`): the farthest one has three digits."""
SEPARATE = "energy_runs"
"""The counter of points whose power is of other runs than the samples."""
ENDS = 4
"""Significant digits of an interval's ends."""
MOST_ROWS = 5000
"""Of a figure's CSV that the page has."""
SAME = "\u0001"
"""Replaces a cell that is the same in the column before; no cell has it."""
DIGITS = 5
"""Significant digits of a mark's place: finer than any screen."""


@dataclass
class Model:
    """The model while it is put together."""

    study: Study
    machines: list[dict] = field(default_factory=list)
    kernels: dict[str, dict] = field(default_factory=dict)
    groups: dict[tuple[str, str, str], dict] = field(default_factory=dict)
    marks: list[dict] = field(default_factory=list)
    sampled: list[dict] = field(default_factory=list)
    _known: dict[tuple[str, str], int] = field(default_factory=dict)

    def sample(self, run: Run, point: Point, row: int | None = None) -> int:
        """The number of a point's samples; `row`: its row in samples.csv, given only where it is another number."""
        key = str(run.path), point.name
        if key not in self._known:
            self._known[key] = len(self.sampled)
            self.sampled.append(_samples(point, run) | ({"p": bare(point.name)} if row is None else {"r": row} if row != len(self.sampled) else {}))
        return self._known[key]

    def group(self, view: View, part: Part, point: Point) -> dict:
        """The group of a point: the points of one experiment, problem and size."""
        problem = part.run.problems.get(point.kernel.family)
        title = bare(f"{problem.title if problem else point.kernel.family}, {point.size_text}")
        return self.groups.setdefault(_key(view, point), {"id": len(self.groups), "view": bare(view.title), "title": title, "number": 0})

    def kernel(self, point: Point, run: Run) -> str:
        """The kernel's name, after its record was noted."""
        k = point.kernel
        name = bare(k.name)
        if name not in self.kernels:
            self.kernels[name] = {"idea": bare(k.idea), "by": bare(sources.cite_all(k.sources)), "at": bare(places().get(k.name, ""))}
        return name


def made(study: Study, found: Sequence[Ladder]) -> dict:
    """The rooflines. `found`: the study's ladders; the first one with most rungs is what the page opens with. At their sizes there
    are the points of further boards and models, which the sections do not show, as well."""
    model = Model(study)
    for row, (run, point) in enumerate(samples.timed(study)):
        model.sample(run, point, row)
    _add(model, study.views)
    shown = {part.machine.name for part in study.parts if part.side == "gpu"}
    keys = {_of_ladder(ladder) for ladder in found}
    for gpu in sorted({run.machine("gpu").name for run in study.runs if run.times("gpu")} - shown):
        _add(model, views_of(study, gpu), keys)
    return {"machines": model.machines, "kernels": model.kernels, "groups": _groups(model, found), "marks": model.marks,
            "samples": model.sampled}


def _of_ladder(ladder: Ladder) -> tuple[str, str, str]:
    return ladder.part.run.experiment, ladder.problem.family, ladder.size_text


def _key(view: View, point: Point) -> tuple[str, str, str]:
    return view.name, point.kernel.family, point.size_text


def _add(model: Model, views: Iterable[View], only: set[tuple[str, str, str]] | None = None) -> None:
    """The points and roofs of these views; `only`: the points of these groups."""
    machines: dict[tuple[str, str], list[tuple[View, Part]]] = {}
    for view in views:
        for part in {id(p): p for p in (*view.timed_parts, *view.others, *view.host.values())}.values():
            machines.setdefault((part.side, part.machine.id), []).append((view, part))
    known = {machine["name"] for machine in model.machines}
    for side in reversed(SIDES):
        for (of, _), mine in machines.items():
            if of == side and any(part.roofs for _, part in mine) and bare(mine[0][1].machine.label) not in known:
                model.machines.append(_machine(model, [part for _, part in mine]))
                for view, part in mine:
                    _points(model, view, part, len(model.machines) - 1, only)


def _machine(model: Model, parts: Sequence[Part]) -> dict:
    part = parts[0]
    every = Roofs(tuple(dict.fromkeys(roof for p in parts for roof in p.roofs.all))).of_threads(None)
    roofs = [*every.levels().values()]
    for type_ in dict.fromkeys(r.type for r in every.compute()):
        roofs += [r for r in (every.peak(type_), every.peak(type_, measured=False)) if r]
    runs = {str(run.path): run for run in model.study.runs}
    return {"name": bare(part.machine.label), "side": SIDE_NAME[part.side], "roofs": [_roof(model, r, runs) for r in roofs]}


def _roof(model: Model, roof: Roof, runs: dict[str, Run]) -> dict:
    text = numbers.bandwidth(roof.value) if roof.is_bandwidth else numbers.flops(roof.value, roof.type)
    told = [text + (f" {numbers.interval((roof.low, roof.high))}" if roof.low and roof.high else "")]
    told += [f"{words.counted(roof.n, 'sample')}, {roof.day}" if roof.measured else "data sheet"]
    told += [f"{roof.threads} threads"] if roof.threads and roof.threads > 1 else []
    told += [f"{roof.clock_mhz:.0f}\u00a0MHz" + (f", {roof.power_w:.0f}\u00a0W" if roof.power_w else "")] if roof.clock_mhz else []
    lowest = numbers.bandwidth(roof.lowest) if roof.is_bandwidth else numbers.flops(roof.lowest, roof.type)
    told += [f"lowest of {len(roof.readings)} runs: {lowest}"] if len(roof.readings) > 1 else []
    run = runs.get(roof.run)
    point = next((p for p in run.points if p.is_timed and p.kernel.name == roof.kernel and p.value == roof.value), None) if run else None
    made = {"label": bare(roof.label), "y": _place(roof.value), "text": bare(text), "told": [bare(t) for t in told]}
    made |= {"level": bare(roof.level)} if roof.is_bandwidth else {"type": bare(words.type_name(roof.type)), "sheet": not roof.measured}
    return made | ({"k": model.kernel(point, run), "s": model.sample(run, point)} if point and run else {})


def _points(model: Model, view: View, part: Part, machine: int, only: set[tuple[str, str, str]] | None) -> None:
    """The fastest variant of each kernel at each size, where the operations per byte of one of them are known."""
    timed = [p for p in part.timed() if p.flops and p.value]
    for family, type_ in dict.fromkeys((p.kernel.family, p.kernel.type) for p in timed):
        mine = whole_machine([p for p in timed if (p.kernel.family, p.kernel.type) == (family, type_)])
        best = sorted(best_variants([replace(p, threads=1) if p.kernel.is_serial else p for p in mine]), key=_last_libraries)
        found = [(p, _intensities(part, p)) for p in best]
        drawn = {_key(view, p) for p, places_ in found if places_} & (only or {_key(view, p) for p in best})
        numbered: dict[tuple, int] = {}
        for point, places_ in found:
            key = _key(view, point)
            if key not in drawn:
                continue
            if not point.kernel.is_library:
                numbered[key] = numbered.get(key, 0) + 1
            group = model.group(view, part, point)
            group["number"] += 1
            model.marks.append({
                "g": group["id"], "m": machine, "type": bare(words.type_name(type_)), "k": model.kernel(point, part.run),
                "t": bare(point.title), "y": _place(point.gflops or 0), "x": {k: _place(v) for k, v in places_.items()},
                "n": None if point.kernel.is_library else numbered[key], "told": [bare(t) for t in _told(part, point)],
                "s": model.sample(part.run, point)} | _around(point))


def _intensities(part: Part, point: Point) -> dict[str, float]:
    """Operations per requested byte and per byte of each level of memory, as far as they are known."""
    found = {"requested": point.requested_intensity, "DRAM": part.dram_intensity(point)} | ladders.intensities(part, point)
    return {level: value for level, value in found.items() if value}


def _last_libraries(point: Point) -> tuple:
    return point.kernel.is_library, order(point)


def _around(point: Point) -> dict:
    """The ends of its interval as operations per second."""
    ends = point.timing.interval
    return {"low": _place(point.flops / ends[1] / 1e9), "high": _place(point.flops / ends[0] / 1e9)} if ends and point.flops else {}


def _ends(point: Point) -> str:
    """'[5.412, 5.453] TFLOP/s'."""
    low, high = ((point.flops or 0) / t for t in reversed(point.timing.interval or ()))
    scale, unit = numbers.scale(high, numbers.of_type("FLOP/s", point.kernel.type))
    return f"[{numbers.significant(low / scale, ENDS)},\u00a0{numbers.significant(high / scale, ENDS)}] {unit}"


def _told(part: Part, point: Point) -> list[str]:
    """Rate with interval, share of the peak, clock and power, limiter, samples."""
    share, clock, power = part.roofs.of_peak(point), clock_of(point), mean_power(point)
    rate = numbers.flops(point.gflops or 0, point.kernel.type)
    rate += f", {_ends(point)}" if point.timing.interval else ", too few samples for an interval"
    made = [rate]
    if share:
        at = f"; {numbers.share(share.at_clock)} at its clock" if share.at_clock and share.is_slowed and not share.exceeds else ""
        made.append(f"{numbers.share(share.value)} of {share.roof.label}{at}")
    apart = " in separate runs" if SEPARATE in point.counters else ""
    state = [f"{clock:.0f}\u00a0MHz" if clock else "", f"{power:.0f}\u00a0W{apart}" if power else ""]
    made += [", ".join(filter(None, state))] if any(state) else []
    limit = words.limit(use(part, point))
    made += [limit] if limit != "–" else []
    threads = f", {words.counted(point.threads, 'thread')}" if point.kernel.side == "cpu" else ""
    return [*made, f"{words.samples([point])}{'' if point.settled else ', unsettled'}{threads}, {part.run.day}"]


def _groups(model: Model, found: Sequence[Ladder]) -> list[dict]:
    """In the order of the experiments. `first`: what the page opens with; `also`: the groups of other experiments with the same
    problem and size, each with a data type that this one lacks."""
    if not model.groups:
        return []
    best = max(found, key=lambda ladder: len(ladder.rungs), default=None)
    wanted = _of_ladder(best) if best else None
    first = max(model.groups, key=lambda key: (wanted == key, model.groups[key]["number"]))
    types: dict[int, list[str]] = {group["id"]: [] for group in model.groups.values()}
    for mark in model.marks:
        types[mark["g"]] += [] if mark["type"] in types[mark["g"]] else [mark["type"]]
    for key, group in model.groups.items():
        alike = [other for k, other in model.groups.items() if k[1:] == key[1:] and other is not group]
        more: dict[str, int] = {}
        for other in sorted(alike, key=lambda other: -other["number"]):
            more = {t: other["id"] for t in types[other["id"]] if t not in types[group["id"]]} | more
        group |= ({"first": True} if key == first else {}) | ({"also": [[g, t] for t, g in more.items()]} if more else {})
    return list(model.groups.values())


def _samples(point: Point, run: Run) -> dict:
    """The times as parts of the median, in the order of their rounds, with clock and power; and where they are from."""
    middle = point.timing.median
    turns = list(point.turns)
    kept = {"u": turns} if turns != list(range(len(turns))) else {}
    clocks, powers = (list(map(round, point.states.get(key, ()))) for key in ("sm_clock_mhz", "power_w"))
    parts = [(t / middle - 1) * FINE for t in point.times]
    step = 10 ** max(0, len(f"{max(map(abs, parts)):.0f}") - DIGITS_OF_A_SAMPLE)
    made: dict = {"m": numbers.seconds(middle), "t": [round(t / step) for t in parts], **kept} | ({"q": step} if step > 1 else {})
    made |= {"c": clocks} if clocks else {}
    made |= {"w": powers} if powers and SEPARATE not in point.counters else {}
    made |= {"out": point.left_out} if point.left_out else {}
    return made | {"f": bare(run.path.name), "v": bare(str(run.context.get("git_commit") or "")[:10])}


def _place(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")


def rows(figures: Iterable[Figure], tables: Iterable[Table]) -> dict:
    """Every CSV by columns: a column that several files share is there once. `more`: the printed text of rows beyond the first ones.
    Pictures, whose rows are their pixels, are left to their own files."""
    columns = _Columns()
    files: dict[str, list[int]] = {}
    more: dict[str, list[list[str]]] = {}
    for folder, items in (("figures", figures), ("tables", tables)):
        for item in items:
            if isinstance(item, Figure) and len(item.rows) > MOST_ROWS:
                continue
            keys = list(dict.fromkeys(key for row in item.rows for key in row))
            files[f"{folder}/{safe_name(item.name)}"] = columns.of([(cell(key), *(cell(row.get(key)) for row in item.rows)) for key in keys])
            if isinstance(item, Table) and 0 < item.most < len(item.rows):
                more[safe_name(item.name)] = [[_printed(c.text, row.get(c.key)) for c in item.columns] for row in item.rows[item.most:]]
    return {"files": files, "columns": columns.told, "more": more}


class _Columns:
    """Columns without repetition: each is a text of lines, or the number of another column with the lines that differ."""

    def __init__(self) -> None:
        self.known: dict[tuple[str, ...], int] = {}
        self.told: list[str | list] = []

    def of(self, every: Sequence[tuple[str, ...]]) -> list[int]:
        """The numbers of a file's columns."""
        for before, column in zip([(), *every], every):
            if column not in self.known:
                same = [a == b for a, b in zip(before, column)]
                alike = 2 * sum(same) > len(column)
                lines = "\n".join(SAME if alike and is_same else text for text, is_same in zip(column, same or [False] * len(column)))
                self.told.append([self.known[before], lines] if alike else lines)
                self.known[column] = len(self.told) - 1
        return [self.known[column] for column in every]


def _printed(text, value: object) -> str:
    try:
        return "–" if value is None or value == "" else bare(text(value))
    except UNUSABLE:  # of rows beyond the printed ones, which no section has checked
        return bare(cell(value))
