"""Finds the result files, chooses the runs of each experiment, gives each its roofs and counters: the study."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Iterable
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from multiprocessing import get_context
from pathlib import Path

from report.data import declaration, roofs
from report.data.companions import (
    CompilerFile,
    CounterFile,
    EmulatorFile,
    HazardFile,
    SheetFile,
    TwinsFile,
    WrongResults,
)
from report.data.load import Record, load
from report.data.reading import PACKED, Foreign, InputError, files_in
from report.data.records import COUNT, SIDES, Flag, Machine, Point, Run, Source
from report.data.roofs import Roofs
from report.data.statistics import between_runs
from report.data.view import Companions, Part, View
from report.forks import UNAVAILABLE, belong_to

COUNTS = "counts"
LARGE = 4 << 20
"""From this number of bytes of results on, several processes read them: starting these takes less time than reading."""
MOST_READERS = 4
FEWEST_RUNS = 3
"""Runs of one build that are required to estimate how much runs differ."""
PACKING = 12
"""The factor by which gzip compresses results."""


@dataclass(frozen=True)
class Study:
    """Everything that the report shows: the experiments by chapter, and where they come from."""

    views: tuple[View, ...]
    sources: tuple[Source, ...]
    flags: tuple[Flag, ...]
    warnings: tuple[str, ...]
    date: str
    runs: tuple[Run, ...] = ()
    """Every run that was found, on any machine: those to prefer first."""
    counters: tuple[CounterFile, ...] = ()
    hazards: tuple[HazardFile, ...] = ()
    compilers: tuple[CompilerFile, ...] = ()
    twins: TwinsFile | None = None
    """The newest that was measured along with the results, else the newest recorded one."""
    wrong_results: tuple[WrongResults, ...] = ()

    @property
    def parts(self) -> list[Part]:
        """The parts that the sections show and the parts of the host on which they compare GPU and CPU, each once."""
        every = (part for view in self.views for part in (*view.parts, *view.others, *view.host.values()))
        return list({id(part): part for part in every}.values())


@dataclass
class Found:
    """The files found by a search."""

    runs: list[Run] = field(default_factory=list)
    sheets: list[SheetFile] = field(default_factory=list)
    counters: list[CounterFile] = field(default_factory=list)
    hazards: list[HazardFile] = field(default_factory=list)
    emulators: list[EmulatorFile] = field(default_factory=list)
    wrong_results: list[WrongResults] = field(default_factory=list)
    compilers: list[CompilerFile] = field(default_factory=list)
    twins: list[TwinsFile] = field(default_factory=list)
    sources: list[Source] = field(default_factory=list)
    faults: list[InputError] = field(default_factory=list)

    @cached_property
    def gpus(self) -> tuple[str, ...]:
        """Models of GPUs, that with most experiments last: the one that every section shows, if it was measured there."""
        number = Counter(name for name, _ in {(r.machine("gpu").name, r.experiment) for r in self.runs if r.times("gpu")})
        return tuple(sorted(number, key=lambda name: (number[name], name)))


def collect(results: Iterable[Path], recorded: Iterable[Path], output: Path | None = None) -> Study:
    """The study from result folders or files. Recorded results replace missing ones: missing sides of a single
    experiment, or, if there are several experiments, also missing experiments."""
    results = list(results)
    live, stored = find(results, output), find(recorded, output)
    if not live.runs:
        raise (live.faults or [InputError(results[0], "search", "no results file of rung in it")])[0]
    live.runs, stored.runs = _with_differences(live.twins + stored.twins, live.runs, stored.runs)
    for found in (live, stored):
        _without_further(found)
    names = {run.experiment for run in live.runs}
    if len(names) > 1:
        names |= {run.experiment for run in stored.runs}
    host, book = _host(names, live, stored), _book(live, stored)
    views = [_view(name, live, stored, host, book) for name in sorted(names)]
    views = sorted((v for v in views if v.parts), key=lambda v: (v.chapter, v.name))
    used = {part.run.path: part.run for v in views for part in (*v.parts, *v.others, *v.host.values())}
    if not used:
        raise InputError(results[0], "search", "no point in it was timed or counted")
    faults = live.faults + stored.faults
    return Study(tuple(views), tuple(_sources(live, stored, views, used)),
                 tuple(flag for run in used.values() for flag in run.flags),
                 tuple(f"{f.path.name} is left out of this report: {f.what}." for f in faults),
                 max(run.date for run in used.values()),
                 tuple(run for found in (live, stored) for run in sorted(
                     found.runs, key=lambda r: (r.complete, r.date, str(r.path)), reverse=True)),
                 tuple(live.counters + stored.counters), tuple(live.hazards + stored.hazards),
                 tuple(live.compilers + stored.compilers), _twins(live, stored), tuple(live.wrong_results + stored.wrong_results))


def views_of(study: Study, gpu: str) -> list[View]:
    """The study's experiments on this model of GPU and the CPUs of its hosts, whichever their sections show."""
    mine = Found([run for run in study.runs if run.machine("gpu").name == gpu], counters=list(study.counters),
                 hazards=list(study.hazards), wrong_results=list(study.wrong_results))
    names = {run.experiment for run in mine.runs}
    host, book = _host(names, mine, Found()), _book(mine, Found())
    return [view for view in (_view(name, mine, Found(), host, book) for name in sorted(names)) if view.parts]


def _with_differences(twins: Iterable[TwinsFile], *found: list[Run]) -> list[list[Run]]:
    """The same runs. Their points get the difference between runs of their machine, if one build was run repeatedly or
    the machine's twins were."""
    of_twins = {file.machine: file.between_runs for file in sorted(twins, key=lambda file: file.date)}
    medians: dict[tuple, dict[tuple, dict[str, float]]] = defaultdict(lambda: defaultdict(dict))
    for run in chain(*found):
        for p in run.points:
            if p.is_timed and not p.is_disturbed and run.context.get("git_commit"):
                key = run.experiment, run.context["git_commit"], p.name
                medians[p.kernel.side, run.machine(p.kernel.side).id][key][str(run.path)] = p.timing.median
    known = {machine: between_runs(list(own.values()) for own in series.values() if len(own) >= FEWEST_RUNS)
             for machine, series in medians.items()}
    def of(p: Point, run: Run) -> Point:
        machine = run.machine(p.kernel.side)
        margin = known.get((machine.side, machine.id)) or of_twins.get(machine.label)
        return p if margin is None else replace(p, between=margin)
    return [[replace(run, points=tuple(of(p, run) for p in run.points)) for run in runs] for runs in found]


def _without_further(found: Found) -> None:
    """Leaves out runs that took further samples of some points of another run that is there."""
    first = {run.context.get("checksum") for run in found.runs} - {None}
    further = [run for run in found.runs if run.context.get("more_of") in first]
    found.sources += [Source(str(run.path), run.experiment, False, f"{run.date[:19]}, further samples: rung compare joins them") for run in further]
    paths = {run.path for run in further}
    found.runs = [run for run in found.runs if run.path not in paths]


def find(paths: Iterable[Path], output: Path | None = None) -> Found:
    """Loads every result below `paths`, without the files that an earlier report wrote to `output`."""
    found, seen, files = Found(), set(), {}
    for path in paths:
        if not os.path.exists(path):
            raise InputError(path, "path", "no such file or folder")
        for file in files_in(path) if path.is_dir() else [path]:
            key = Path(os.path.realpath(file))  # where links lead in a circle, too
            if key not in seen and not (output and path.is_dir() and output.resolve() in key.parents):
                seen.add(key)
                files[file] = path.is_dir()
    for (file, forgiving), record in zip(files.items(), _loaded(list(files))):
        _take(found, file, record, forgiving)
    return found


def _loaded(files: list[Path]) -> list[Record | InputError]:
    """The record of each file, or its error; several processes read large files, the largest first."""
    sizes = {file: file.stat().st_size * (PACKING if file.suffix == PACKED else 1) if file.is_file() else 0 for file in files}
    if sum(sizes.values()) < LARGE:
        return [_record(file) for file in files]
    order = sorted(files, key=lambda file: (-sizes[file], str(file)))
    try:
        with ProcessPoolExecutor(min(MOST_READERS, os.cpu_count() or 1), get_context("fork"), belong_to, (os.getpid(),)) as readers:
            made = dict(zip(order, readers.map(_record, order)))
    except (RecursionError, BrokenExecutor, *UNAVAILABLE):  # what is nested deeply can be read, but not be sent
        return [_record(file) for file in files]
    return [made[file] for file in files]


def _record(file: Path) -> Record | InputError:
    try:
        return load(file)
    except InputError as error:
        return error


def _take(found: Found, file: Path, record: Record | InputError, forgiving: bool) -> None:
    if isinstance(record, Foreign):
        found.sources.append(Source(str(file), "other", False, record.what))
        found.faults += [] if forgiving else [record]
    elif isinstance(record, InputError):
        found.sources.append(Source(str(file), "unusable", False, record.what))
        found.faults.append(record)
    else:
        lists: dict[type, list] = {
            Run: found.runs, SheetFile: found.sheets, CounterFile: found.counters, HazardFile: found.hazards,
            EmulatorFile: found.emulators, WrongResults: found.wrong_results, CompilerFile: found.compilers, TwinsFile: found.twins}
        lists[type(record)].append(record)


def _host(names: Iterable[str], live: Found, stored: Found) -> tuple[str, str] | None:
    """The kind of host on which GPU and CPU are compared: one with timings of both, measured now rather than recorded, with
    most experiments of those names."""
    for found in (live, stored):
        timed = {(host, side, r.experiment) for r in found.runs if (host := _host_of(r)) and r.experiment in names for side in SIDES if r.times(side)}
        number = Counter(host for host, _, _ in timed)
        both = [host for host in number if {side for other, side, _ in timed if other == host} == set(SIDES)]
        if both:
            return max(both, key=lambda host: (_rank(host[1], live, stored), number[host], host))
    return None


def _rank(gpu: str, live: Found, stored: Found) -> int:
    """The rank of a GPU model among all, higher for preferred ones: one order for the whole report."""
    models = live.gpus or stored.gpus
    return models.index(gpu) if gpu in models else -1


def _host_of(run: Run) -> tuple[str, str] | None:
    """Model and cores of the CPU, and model of the GPU that is in its host; None where there is no GPU."""
    gpu = run.machine("gpu").name
    return (run.machine("cpu").id, gpu) if gpu else None


def _on(host: tuple[str, str] | None, name: str, live: Found, stored: Found, known: Iterable[Part], book: roofs.Book) -> dict[str, Part]:
    """The parts that an experiment timed on this kind of host, by side: the newest run; live and complete runs are
    preferred."""
    made = {}
    for side in SIDES:
        runs = [(not is_stored, r.complete, r.date, str(r.path), r) for found, is_stored in ((live, False), (stored, True))
                for r in found.runs if host and r.experiment == name and _host_of(r) == host and r.times(side)]
        if runs:
            is_live, *_, run = max(runs, key=lambda x: x[:4])
            made[side] = next((p for p in known if p.side == side and p.run is run),
                              None) or _part(run, side, not is_live or run.is_recorded, live, stored, book)
    return made


def _view(name: str, live: Found, stored: Found, host: tuple[str, str] | None, book: roofs.Book) -> View:
    """The experiment's parts: each side from the newest complete live run that has it, else from a recorded one."""
    parts = {side: _parts(name, side, live, stored, book) for side in (*SIDES, COUNTS)}
    runs = [part.run for found in parts.values() for part in found] or [
        r for r in live.runs + stored.runs if r.experiment == name]
    context = max(runs, key=lambda r: r.date).context
    declared = declaration.of(name, context.get("experiment_toml"))
    first = {side: found[0] if found else None for side, found in parts.items()}
    return View(name, str(context.get("title") or name), str(context.get("question") or ""), declared.chapter,
                declared.settings, declared.references, first["cpu"], first["gpu"], first[COUNTS],
                tuple(parts["cpu"][1:]), _companions(live, stored),
                _on(host, name, live, stored, [*parts["cpu"], *parts["gpu"]], book))


def _parts(name: str, side: str, live: Found, stored: Found, book: roofs.Book) -> list[Part]:
    """One part for each machine, the newest live run's first. For GPUs only the first part: a section shows one board.
    Among recorded GPUs, and CPUs of their hosts, the live one's model is preferred, else the one with most experiments."""
    made: dict[str, Part] = {}
    for found, is_stored in ((live, False), (stored, True)):
        runs = [r for r in found.runs if r.experiment == name and (r.counts if side == COUNTS else r.times(side))]
        for run in sorted(runs, key=lambda r: (_rank(r.machine("gpu").name, live, stored), r.complete, r.date, str(r.path)),
                          reverse=True):
            machine = run.machine("cpu" if side == COUNTS else side)
            if machine.id not in made and (side == "cpu" or not made):
                made[machine.id] = _part(run, side, is_stored or run.is_recorded, live, stored, book)
    return list(made.values())


def _part(run: Run, side: str, recorded: bool, live: Found, stored: Found, book: roofs.Book) -> Part:
    if side == COUNTS:
        part = Part("cpu", run, tuple(p for p in run.points if p.mode == COUNT), recorded)
        shown = next(reversed(live.gpus or stored.gpus), "")  # whose times stand next to the counts
        alike = (machine for machine in (run.machine("gpu"), Machine("gpu", shown, shown), None) if machine is None or machine.name)
        return _with(part, next((file for machine in alike if (file := _counters(machine, live, stored))), None))
    points = tuple(p for p in run.points if p.kernel.side == side and p.mode != COUNT)
    part = Part(side, run, points, recorded, _roofs(run, side, recorded, live, stored, book))
    return _with(part, _counters(part.machine, live, stored)) if side == "gpu" else part


def _with(part: Part, counters: CounterFile | None) -> Part:
    if counters is None:
        return part
    return replace(part, counters=counters.points, counter_tool=counters.tool, counter_machine=counters.machine)


def _roofs(run: Run, side: str, recorded: bool, live: Found, stored: Found, book: roofs.Book) -> Roofs:
    """The roofs of the machine and of its data sheet."""
    made = book.of(run, side, recorded)
    return replace(made, all=(*made.all, *roofs.of_sheet(live.sheets + stored.sheets, run.machine(side))))


def _book(live: Found, stored: Found) -> roofs.Book:
    return roofs.book([*((run, True) for run in stored.runs), *((run, run.is_recorded) for run in live.runs)])


def _counters(machine: Machine | None, live: Found, stored: Found) -> CounterFile | None:
    """The newest of a GPU of that name; of any GPU for None."""
    mine = [c for c in live.counters + stored.counters if machine is None or c.machine.lower() == machine.name.lower()]
    return max(mine, key=lambda c: (c.date, str(c.path)), default=None)


def _twins(live: Found, stored: Found) -> TwinsFile | None:
    return max(live.twins or stored.twins, key=lambda f: f.date, default=None)


def _companions(live: Found, stored: Found) -> Companions:
    newest: dict[frozenset, HazardFile] = {}
    for file in live.hazards + stored.hazards:
        newest[file.tools] = max(file, newest.get(file.tools, file), key=lambda f: f.date)
    emulators = max(live.emulators + stored.emulators, key=lambda f: f.date, default=None)
    wrong_results = max(live.wrong_results + stored.wrong_results, key=lambda f: f.date, default=None)
    return Companions(tuple(sorted(newest.values(), key=lambda f: (
        not any(k.what for k in f.kernels.values()), sorted(f.tools)))), emulators, wrong_results)


def _sources(live: Found, stored: Found, views: list[View], used: dict[Path, Run]) -> list[Source]:
    """The files that were read, with their contents; recorded files only if they were used."""
    roofs_of = {name for view in views for part in (*view.parts, *view.others) for roof in part.roofs.all
                for name in (roof.run, *(reading.run for reading in roof.readings))}
    made = live.sources + stored.sources
    for run in live.runs + stored.runs:
        done, planned = run.context.get("points_done", len(run.points)), run.context.get("points_planned", "?")
        state = f"{run.date[:19]}, " + ("complete" if run.complete else f"incomplete: {done} of {planned} points")
        for_roofs = str(run.path) in roofs_of and run.path not in used
        note = "; its roofs" if for_roofs else "" if run.path in used else "; another run is used"
        made.append(Source(str(run.path), run.experiment, run.path in used or for_roofs, state + note))
    counted = {id(part.counters) for view in views for part in view.parts}
    companions = views[0].companions if views else Companions()
    kept = {id(c) for c in (companions.emulators, companions.wrong_results, *companions.hazards)}
    for found in (live, stored):
        made += [Source(str(f.path), "data sheet", str(f.path) in roofs_of, f.date[:10]) for f in found.sheets]
        made += [Source(str(f.path), "hardware counters", id(f.points) in counted, f"{f.date[:10]}, {f.tool}")
                 for f in found.counters]
        made += [Source(str(f.path), "planted faults", id(f) in kept, f"{f.date[:10]}, {f.tool}")
                 for f in found.hazards]
        made += [Source(str(f.path), "emulators", id(f) in kept, f"{f.date[:10]}, {f.machine}")
                 for f in found.emulators]
        made += [Source(str(f.path), "wrong results", id(f) in kept, f"{f.date[:10]}, {f.machine}")
                 for f in found.wrong_results]
        made += [Source(str(f.path), "twins", f is _twins(live, stored), f"{f.date[:10]}, {f.machine}") for f in found.twins]
        made += [Source(str(f.path), "snippets", True, f"{f.date[:10]}, {', '.join(f.compilers)}") for f in found.compilers]
    every: tuple[Record, ...] = (*stored.runs, *stored.sheets, *stored.counters, *stored.hazards, *stored.emulators,
                                 *stored.wrong_results, *stored.compilers, *stored.twins)
    recorded = {str(f.path) for f in every}
    shown = (s for s in dict.fromkeys(made) if s.used or s.path not in recorded)
    return sorted(shown, key=lambda s: (not s.used, s.path))
