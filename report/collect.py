"""Finds the result files, chooses the newest complete one of each experiment and machine, and makes the study."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from report import threads
from report.load import Foreign, InputError, load
from report.records import (COUNT, OCCUPANCY, SIDE_NAME, CounterFile, EmulatorFile, HazardFile, Point, Roof, RoofFile,
                            Run, Side, Source, Study, span_of_days)

RECORDED_FOLDER = ("experiments", "recorded")
SIDES = ("cpu", "gpu")


@dataclass
class Found:
    """What a search found; `recorded` says whether it was given as the recorded set."""

    runs: list[Run] = field(default_factory=list)
    roofs: list[RoofFile] = field(default_factory=list)
    counters: list[CounterFile] = field(default_factory=list)
    hazards: list[HazardFile] = field(default_factory=list)
    emulators: list[EmulatorFile] = field(default_factory=list)
    sources: list[Source] = field(default_factory=list)


def collect(results: Iterable[Path], recorded: Iterable[Path], output: Path | None = None) -> Study:
    """The study from result folders or files; the recorded set stands in for missing GPU timings."""
    live = find(results, output)
    if not live.runs:
        raise InputError(Path(next(iter(results), "RESULTS")), "search", "no results file of rung in it")
    stored = find(recorded, output) if recorded else Found()
    runs, stored_runs = choose(live), choose(stored)
    sides, used = {}, list(runs)
    for name in SIDES:
        side = make_side(name, runs, live)
        if side is None and name == "gpu":
            side = make_side(name, stored_runs, stored, recorded=True)
            used += [r for r in stored_runs if side and r.has_rates(name)]
        if side:
            sides[name] = side
    others = other_machines(sides.get("cpu"), [(runs, live, False), (stored_runs, stored, True)])
    used += [r for r in stored_runs if r not in used and r.has_rates("cpu")
             and r.machine_of("cpu") in {side.machine for side in others if side.recorded}]
    for place in (live, stored):
        noted = {source.path for source in place.sources}
        why = "of a machine that is not in the report, or measured live"
        place.sources += [Source(str(f.path), "ceilings", False, why)
                          for f in place.roofs if str(f.path) not in noted]
    counts, note = gather_counts(runs, stored_runs)
    if note:
        used += [r for r in stored_runs if r not in used and any(p.mode == COUNT for p in r.points)]
    flags = tuple(flag for run in used for flag in run.flags)
    hazards = gather_hazards(live, stored)
    emulators = gather_emulators(live, stored)
    sources = live.sources + _stored_sources(stored, used)
    return Study(sides, counts, note, tuple(used), tuple(sources), flags, max(r.date for r in used), hazards,
                 emulators, others)


def other_machines(here: Side | None, places: list[tuple[list[Run], Found, bool]]) -> tuple[Side, ...]:
    """The CPU's part on every machine but the one at hand; of one machine the live results go before recorded ones."""
    made: dict[str, Side] = {}
    for runs, found, recorded in places:
        for machine in sorted({r.machine_of("cpu") for r in runs if r.has_rates("cpu")}):
            if machine not in made and here and machine != here.machine:
                made[machine] = make_side("cpu", runs, found, recorded, machine)
    return tuple(sorted(made.values(), key=lambda s: (s.days, s.machine), reverse=True))


def find(paths: Iterable[Path], output: Path | None = None) -> Found:
    """Loads every result below `paths`, leaving out what an earlier report wrote to `output`."""
    found, seen = Found(), set()
    for path in paths:
        if not path.exists():
            raise InputError(path, "path", "no such file or folder")
        is_folder = path.is_dir()
        for file in sorted(path.rglob("*.json")) if is_folder else [path]:
            key = file.resolve()
            if key in seen or (output and is_folder and output.resolve() in key.parents):
                continue
            seen.add(key)
            _take(found, file, forgiving=is_folder)
    return found


def _take(found: Found, file: Path, forgiving: bool) -> None:
    try:
        record = load(file)
    except Foreign as error:
        if not forgiving:
            raise
        found.sources.append(Source(str(file), "other", False, str(error).split(": ", 2)[-1]))
        return
    {Run: found.runs, RoofFile: found.roofs, CounterFile: found.counters,
     HazardFile: found.hazards, EmulatorFile: found.emulators}[type(record)].append(record)


def choose(found: Found) -> list[Run]:
    """The newest complete run of each experiment and machine (the newest of all if none is complete).

    Of a side that it has no timing of, the points of the newest that has.
    """
    groups: dict[tuple, list[Run]] = {}
    for run in found.runs:
        groups.setdefault((run.experiment, run.machine), []).append(run)
    chosen = []
    for _, group in sorted(groups.items()):
        group.sort(key=lambda r: (r.complete, r.date, str(r.path)), reverse=True)
        winner, timed = group[0], {side for side in SIDES if group[0].has_rates(side)}
        chosen.append(winner)
        for run in group:
            new = {side for side in SIDES if run.has_rates(side)} - timed
            timed |= new
            chosen += [_only(run, new)] if new else []
            found.sources.append(_run_source(run, winner, new))
    return chosen


def _only(run: Run, sides: set[str]) -> Run:
    """The run as if it had measured these sides alone."""
    points = tuple(p for p in run.points if p.kernel.side in sides)
    return replace(run, points=points, samples=sum(len(p.times) for p in points))


def _run_source(run: Run, winner: Run, sides: set[str]) -> Source:
    """`sides`: those that the winner has no timing of, and this run has."""
    done, planned = run.context.get("points_done", len(run.points)), run.context.get("points_planned", "?")
    state = f"{run.date[:19]}, " + ("complete" if run.complete else f"incomplete: {done} of {planned} points")
    newer = "a newer" if winner.date >= run.date else "a complete"
    if run is winner:
        return Source(str(run.path), run.experiment, True, state)
    if sides:
        names = " and ".join(SIDE_NAME[side] for side in sorted(sides))
        return Source(str(run.path), run.experiment, True, f"{state}; its {names} points, which {newer} one lacks")
    return Source(str(run.path), run.experiment, False, f"{state}; {newer} one is used")


def _stored_sources(stored: Found, used: list[Run]) -> list[Source]:
    """The recorded set's files; those of runs that were not needed are marked as not used."""
    paths = {str(run.path) for run in used}
    kept = ("ceilings (", "hard", "hazard", "emulators")
    return [source if source.path in paths or not source.used or source.kind.startswith(kept)
            else replace(source, used=False, note="recorded set, not needed") for source in stored.sources]


def make_side(name: str, runs: list[Run], found: Found, recorded: bool = False,
              machine: str | None = None) -> Side | None:
    """One side of the study from one machine, or from that whose timings are newest; None without any timing."""
    timed = [r for r in runs if r.has_rates(name)]
    if not timed:
        return None
    machine = machine or max(timed, key=lambda r: (r.date, str(r.path))).machine_of(name)
    mine = sorted((r for r in timed if r.machine_of(name) == machine), key=lambda r: (r.date, str(r.path)))
    for run in timed:
        if run not in mine and name != "cpu":  # every CPU has its own ladder
            found.sources.append(Source(str(run.path), f"{run.experiment} ({name} side)", False,
                                        f"of another machine, {run.machine_of(name)}"))
    points: dict[str, Point] = {}
    for run in mine:
        points |= {p.name: p for p in run.points if p.kernel.side == name and p.mode != COUNT}
    others = {p.name for run in mine if run.experiment != OCCUPANCY for p in run.points}
    fullest = max(mine, key=lambda r: sum(p.kernel.side == name and not p.kernel.is_ceiling for p in r.points))
    counters = _counters(found, machine) if name == "gpu" else None
    return Side(
        name=name, machine=machine, context=fullest.context,
        recorded=recorded or any(_in_recorded_folder(r.path) for r in mine),
        points=tuple(points[key] for key in sorted(points)), roofs=_roofs(name, machine, mine, found),
        counters=counters.points if counters else {}, counter_tool=counters.tool if counters else "",
        varied=frozenset(points.keys() - others))


def _in_recorded_folder(path: Path) -> bool:
    parts = path.resolve().parts
    return RECORDED_FOLDER in zip(parts, parts[1:])


def _same(a: str, b: str) -> bool:
    return bool(a and b) and (a.lower() in b.lower() or b.lower() in a.lower())


def gather_hazards(*places: Found) -> tuple[HazardFile, ...]:
    """The newest file of each set of tools, that which says what the faults are (the emulator's) first."""
    newest: dict[frozenset, HazardFile] = {}
    for file in (file for found in places for file in found.hazards):
        newest[file.tools] = max(file, newest.get(file.tools, file), key=lambda f: f.date)
    for found in places:
        for file in found.hazards:
            is_used = file is newest[file.tools]
            note = f"{file.date[:10]}, {file.tool}" if is_used else "a newer one is used"
            found.sources.append(Source(str(file.path), "hazards", is_used, note))
    return tuple(sorted(newest.values(), key=lambda f: (not any(k.what for k in f.kernels.values()), sorted(f.tools))))


def gather_emulators(*places: Found) -> EmulatorFile | None:
    """The newest file of emulators' rates."""
    files = [file for found in places for file in found.emulators]
    newest = max(files, key=lambda f: f.date, default=None)
    for found in places:
        for file in found.emulators:
            note = f"{file.date[:10]}, {file.machine}" if file is newest else "a newer one is used"
            found.sources.append(Source(str(file.path), "emulators", file is newest, note))
    return newest


def _counters(found: Found, machine: str) -> CounterFile | None:
    mine = [c for c in found.counters if _same(c.machine, machine)]
    best = max(mine, key=lambda c: c.date, default=None)
    for file in found.counters:
        note = f"{file.date[:10]}, {file.tool}" if file is best else "of another machine, or older"
        found.sources.append(Source(str(file.path), "hardware counters", file is best, note))
    return best


def _roofs(name: str, machine: str, runs: list[Run], found: Found) -> tuple[Roof, ...]:
    """Each ceiling at the highest that a ceilings file of this machine has: what a machine can do at best is more than
    what it could do when others used it, too. Completed by ceiling kernels that no file lists."""
    mine = sorted((f for f in found.roofs if _side_of(f, name) and _same(f.machine, machine)),
                  key=lambda f: (f.date, str(f.path)), reverse=True)
    precision = {k.ceiling_label: k.precision for r in runs for k in r.kernels.values()
                 if k.is_ceiling and k.side == name}
    best: dict[tuple[str, bool], Roof] = {}
    for file in mine:
        higher = {(r.label, r.measured): r for r in file.roofs
                  if (r.label, r.measured) not in best or r.measured and r.value > best[r.label, True].value}
        best |= higher
        note = file.date[:10] if higher else "others have higher ones"
        found.sources.append(Source(str(file.path), f"ceilings ({name})", bool(higher), note))
    roofs = [replace(r, precision=precision.get(r.label.removesuffix(threads.ONE))) for r in best.values()]
    known = {r.label for r in roofs if r.measured}
    return tuple(roofs + [r for r in _timed_roofs(name, runs) if r.label not in known])


def _side_of(file: RoofFile, name: str) -> bool:
    stem = file.path.stem.lower()
    other = "gpu" if name == "cpu" else "cpu"
    return name in stem or other not in stem


def _timed_roofs(name: str, runs: list[Run]) -> list[Roof]:
    best: dict[str, Roof] = {}
    for point in (p for r in runs for p in r.points if p.is_timed and p.kernel.side == name and p.kernel.is_ceiling):
        kernel = point.kernel
        label = kernel.ceiling_label + (threads.ONE if point.asked_threads == 1 else "")
        value = point.gbytes if kernel.ceiling_is_bandwidth else point.gflops
        if value and value > best.get(label, Roof("", 0, True, True)).value:
            best[label] = Roof(label, value, kernel.ceiling_is_bandwidth, True, kernel.precision)
    return [best[label] for label in sorted(best)]


def gather_counts(runs: list[Run], stored: list[Run]) -> tuple[tuple[Point, ...], str]:
    """Count points of the live runs, else of the recorded ones (with a note that says so)."""
    for group, recorded in ((runs, False), (stored, True)):
        points: dict[str, Point] = {}
        for run in sorted(group, key=lambda r: (r.date, str(r.path))):
            points |= {p.name: p for p in run.points if p.mode == COUNT}
        if points:
            used = [r for r in group if any(p.mode == COUNT for p in r.points)]
            days = span_of_days(r.date[:10] for r in used)
            note = f"counts recorded {days} on {used[-1].machine[0]}" if recorded else ""
            return tuple(sorted(points.values(), key=lambda p: (p.kernel.order, p.name))), note
    return (), ""
