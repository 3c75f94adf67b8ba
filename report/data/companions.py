"""Sidecar files of the results: data-sheet ceilings, hardware counters, planted faults, compiled snippets, emulators'
rates, A/A tests (twins)."""

from __future__ import annotations

import re
import reprlib
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from report.data.reading import InputError, date, is_number, table, text, whole

OTHER_ELEMENTS, HANGS, LOST = "stores other elements than its right twin", "did not end in time", "failed while running"
"""Written by tests/emulator/faulty/ for a planted fault whose wrong results it did not count."""


@dataclass(frozen=True)
class SheetFile:
    """Data-sheet ceilings: (label, value, is_bandwidth); from a file in the shape of the Empirical Roofline Toolkit."""

    path: Path
    machine: str
    date: str
    ceilings: tuple[tuple[str, float, bool], ...]


@dataclass(frozen=True)
class CounterFile:
    """Hardware counters by point name, each a flat table of numbers."""

    path: Path
    machine: str
    date: str
    tool: str
    points: dict[str, dict[str, float]]


@dataclass(frozen=True)
class Verdict:
    """The verdict of one tool on one planted fault; `failed`: why it has none. `wrong_elements`: how many elements of the
    result differ from the correct version's, where the fault has inputs for that."""

    found: bool
    message: str = ""
    failed: str = ""
    wrong_elements: int | None = None


@dataclass(frozen=True)
class PlantedFault:
    """A faulty kernel, or its corrected version, with the verdict of each tool that examined it."""

    verdicts: dict[str, Verdict]
    what: str = ""
    is_right: bool = False
    group: str = ""
    """Its subject: barriers, bounds, copies …"""


@dataclass(frozen=True)
class HazardFile:
    """The verdicts of one program's tools on the planted faults, by kernel name."""

    path: Path
    machine: str
    date: str
    tool: str
    kernels: dict[str, PlantedFault]

    @property
    def tools(self) -> frozenset[str]:
        return frozenset(name for fault in self.kernels.values() for name in fault.verdicts)


@dataclass(frozen=True)
class EmulatorRate:
    """The timed runs of one emulator on one kernel, in one mode: counting, hazards or answer."""

    kernel: str
    mode: str
    n: int
    threads: int
    accesses: int
    seconds: tuple[float, ...]
    processor_seconds: tuple[float, ...]
    """Processor seconds of all cores together, without other work on the machine."""

    @property
    def per_core(self) -> float:
        """Accesses of single threads in a second of one core's time, by the median run."""
        return self.accesses / median(self.processor_seconds)


@dataclass(frozen=True)
class Emulator:
    """An emulator of GPU kernels: its rates, and what it reports for a kernel (race, uninitialised, accesses, sectors)."""

    tool: str
    rates: tuple[EmulatorRate, ...]
    told: dict[str, bool]


@dataclass(frozen=True)
class EmulatorFile:
    """Emulators side by side on one machine, ours first."""

    path: Path
    machine: str
    cores: int
    date: str
    emulators: tuple[Emulator, ...]


@dataclass(frozen=True)
class Outcome:
    """The outcome of the launches of a planted fault. `wrong`: results that differ from its right twin's; None where
    they were not counted, for the reason in `failed`."""

    wrong: int | None
    failed: str = ""

    @property
    def hangs(self) -> bool:
        """Whether it did not end and was killed."""
        return self.failed == HANGS

    @property
    def error(self) -> str:
        """CUDA's name of the error that a call after the launch returned, and that asking for it does not reset."""
        found = re.search(r"\((\w+)\)$", self.failed)
        return found.group(1) if found and LOST in self.failed else ""


@dataclass(frozen=True)
class WrongResults:
    """The outcomes of `launches` launches of each planted fault on a GPU."""

    path: Path
    machine: str
    date: str
    launches: int
    outcomes: dict[str, Outcome]


@dataclass(frozen=True)
class CompilerFile:
    """Whether each snippet of experiments/snippets/ was compiled, and the compilers."""

    path: Path
    date: str
    compiles: dict[str, bool]
    compilers: tuple[str, ...]


@dataclass(frozen=True)
class Tally:
    """The number of pairs, and how many of them were called different."""

    called: int
    pairs: int


@dataclass(frozen=True)
class TwinsFile:
    """How often the rule for "faster" called the same code different, and found planted slow-downs: by tests/twins/run.sh.

    `within`: of interleaved codes of a run; `between`: of successive runs of one build. Keys: same, two, five (per cent
    slower), and intervals: pairs of the same code whose intervals are disjoint.
    """

    path: Path
    machine: str
    date: str
    runs: int
    turns: tuple[int, ...]
    """Samples per point: the median over the runs, for each kernel."""
    ratio_within: float
    """Sampling ended at this half-width of a ratio's interval, relative to the ratio."""
    load: float
    """The machine's load when the last run began: 1 for each process that could compute."""
    within: dict[str, Tally]
    between: dict[str, Tally]
    between_runs: float | None = None
    """The relative difference that medians of two runs of that machine may have with nothing changed, with 95 %."""
    compare: dict[str, Tally] = field(default_factory=dict)
    """Of `rung compare`'s rule, by points of two runs: the same work called different (same; families: in families of points),
    and more work found (one, two, five). Empty in files of an older test."""
    joined: dict[str, Tally] = field(default_factory=dict)
    """The same of two sides with `joined_runs` alternating runs each."""
    joined_runs: int = 0
    repeated: dict[str, dict[str, Tally]] = field(default_factory=dict)
    """The same of points that several recorded runs of one build measured on one machine, by side (tests/twins/repeated.py)."""


Companion = SheetFile | CounterFile | HazardFile | WrongResults | CompilerFile | EmulatorFile | TwinsFile


def load(path: Path, data: dict) -> Companion | None:
    """The record of a file, by its shape; None if it has none of these shapes."""
    if "empirical" in data:
        return _sheet_file(path, data)
    if "points" in data and "tool" in data:
        return _counter_file(path, data)
    if "kernels" in data and "tool" in data:
        return _hazard_file(path, data)
    if "wrong_results" in data:
        return _wrong_results(path, data)
    if "snippets" in data:
        return _compiler_file(path, data)
    if "twins" in data:
        return _twins_file(path, data)
    return _emulator_file(path, data) if "emulators" in data else None


def _sheet_file(path: Path, data: dict) -> SheetFile:
    rows = [(label, value, is_bandwidth) for unit, is_bandwidth in (("gflops", False), ("gbytes", True))
            for label, value in _ceilings(path, data, unit)]
    return SheetFile(path, text(path, data, "machine", "file"), date(path, data, "file"), tuple(rows))


def _ceilings(path: Path, data: dict, unit: str) -> list[tuple[str, float]]:
    where, table = f"spec.{unit}.data", data.get("spec", {})
    unit_table = table.get(unit, {}) if isinstance(table, dict) else None
    rows = unit_table.get("data", []) if isinstance(unit_table, dict) else None
    if not isinstance(rows, list):
        raise InputError(path, where, "not a list")
    for index, row in enumerate(rows):
        if not (isinstance(row, list) and len(row) == 2 and isinstance(row[0], str)):
            raise InputError(path, f"{where}[{index}]", "not a pair of label and number")
        if not (is_number(row[1]) and row[1] > 0):
            raise InputError(path, f"{where}[{index}]", f"ceiling {reprlib.repr(row[1])} is not a positive number")
    return [(label, float(value)) for label, value in rows]


def _counter_file(path: Path, data: dict) -> CounterFile:
    points = data["points"]
    if not isinstance(points, dict) or not all(isinstance(v, dict) for v in points.values()):
        raise InputError(path, "points", "not a table of tables")
    clean = {name: {k: float(v) for k, v in row.items() if is_number(v) and v >= 0} for name, row in points.items()}
    return CounterFile(path, text(path, data, "machine", "file"), date(path, data, "file"),
                       str(data["tool"]), clean)


def _hazard_file(path: Path, data: dict) -> HazardFile:
    kernels = data["kernels"]
    if not isinstance(kernels, dict) or not all(isinstance(v, dict) for v in kernels.values()):
        raise InputError(path, "kernels", "not a table of tables")
    return HazardFile(path, text(path, data, "machine", "file"), date(path, data, "file"),
                      text(path, data, "tool", "file"),
                      {name: _planted_fault(path, name, table) for name, table in kernels.items()})


def _planted_fault(path: Path, name: str, table: dict) -> PlantedFault:
    verdicts = {}
    for tool, row in table.items():
        if not isinstance(row, dict):
            continue
        if not isinstance(row.get("found"), bool):
            raise InputError(path, f"kernels[{name[:60]!r}].{tool[:60]}.found", "neither true nor false")
        wrong = row.get("wrong_elements")
        if wrong is not None and not (isinstance(wrong, int) and wrong >= 0):
            raise InputError(path, f"kernels[{name[:60]!r}].{tool[:60]}.wrong_elements", f"{reprlib.repr(wrong)} is no number of elements")
        verdicts[tool] = Verdict(row["found"], str(row.get("message") or ""), str(row.get("failed") or ""), wrong)
    return PlantedFault(verdicts, str(table.get("what") or ""), table.get("is_right") is True,
                        Path(str(table.get("file") or "")).name.partition(".")[0].replace("_", " "))


def _wrong_results(path: Path, data: dict) -> WrongResults:
    rows = data["wrong_results"]
    if not isinstance(rows, dict) or not all(isinstance(v, dict) for v in rows.values()):
        raise InputError(path, "wrong_results", "not a table of tables")
    launches = whole(path, data, "launches", "file")
    outcomes = {}
    for name, row in rows.items():
        number = row.get("wrong")
        if number is not None and not (is_number(number) and 0 <= number <= launches):
            raise InputError(path, f"wrong_results[{name[:60]!r}].wrong", f"{reprlib.repr(number)} is no number of launches")
        failed = str(row.get("failed") or "")
        outcomes[name] = Outcome(launches if failed == OTHER_ELEMENTS else None if number is None else int(number), failed)
    return WrongResults(path, text(path, data, "machine", "file"), date(path, data, "file"), launches, outcomes)


def _compiler_file(path: Path, data: dict) -> CompilerFile:
    rows = data["snippets"]
    if not isinstance(rows, dict) or not all(isinstance(v, dict) for v in rows.values()):
        raise InputError(path, "snippets", "not a table of tables")
    for name, row in rows.items():
        if not isinstance(row.get("compiles"), bool):
            raise InputError(path, f"snippets[{name[:60]!r}].compiles", "neither true nor false")
    compilers = dict.fromkeys(text(path, row, "compiler", f"snippets[{name[:60]!r}]") for name, row in rows.items())
    return CompilerFile(path, date(path, data, "file"), {name: row["compiles"] for name, row in rows.items()}, tuple(sorted(compilers)))


def _emulator_file(path: Path, data: dict) -> EmulatorFile:
    emulators = data["emulators"]
    if not isinstance(emulators, list) or not all(isinstance(e, dict) for e in emulators):
        raise InputError(path, "emulators", "not a list of tables")
    return EmulatorFile(path, text(path, data, "machine", "file"), whole(path, data, "cores", "file"),
                        date(path, data, "file"),
                        tuple(_emulator(path, f"emulators[{i}]", e) for i, e in enumerate(emulators)))


def _emulator(path: Path, where: str, table: dict) -> Emulator:
    rows, told = table.get("rows"), table.get("told")
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise InputError(path, f"{where}.rows", "not a list of tables")
    if not isinstance(told, dict) or not all(isinstance(v, bool) for v in told.values()):
        raise InputError(path, f"{where}.told", "not a table of booleans")
    return Emulator(text(path, table, "tool", where),
                    tuple(_emulator_rate(path, f"{where}.rows[{i}]", row) for i, row in enumerate(rows)), told)


def _emulator_rate(path: Path, where: str, row: dict) -> EmulatorRate:
    for key in ("seconds", "processor_seconds"):
        times = row.get(key)
        if not isinstance(times, list) or not times or not all(is_number(t) and t > 0 for t in times):
            raise InputError(path, f"{where}.{key}", "not a list of positive numbers")
    n, threads, accesses = (whole(path, row, key, where) for key in ("n", "threads", "accesses"))
    return EmulatorRate(str(row.get("kernel") or ""), text(path, row, "mode", where), n, threads, accesses,
                        tuple(row["seconds"]), tuple(row["processor_seconds"]))


def _twins_file(path: Path, data: dict) -> TwinsFile:
    within, between = (_tallies(path, data["twins"], name) for name in ("within", "between"))
    compare, joined = (_tallies(path, data["twins"], name) if name in data["twins"] else {} for name in ("compare", "joined"))
    if not (is_number(data.get("load")) and data["load"] >= 0):
        raise InputError(path, "file.load", "not a load")
    if not (is_number(data.get("ratio_within")) and 0 < data["ratio_within"] < 1):
        raise InputError(path, "file.ratio_within", "not a share")
    turns = data.get("turns")
    if not (isinstance(turns, list) and turns and all(is_number(n) and n >= 1 for n in turns)):
        raise InputError(path, "file.turns", "not numbers of samples")
    margin = data.get("between_runs")
    if margin is not None and not (is_number(margin) and 0 <= margin < 10):
        raise InputError(path, "file.between_runs", "not a relative difference")
    return TwinsFile(path, text(path, data, "machine", "file"), date(path, data, "file"), whole(path, data, "runs", "file"),
                     tuple(map(int, turns)), float(data["ratio_within"]), float(data["load"]), within, between, margin,
                     compare, joined, whole(path, data, "joined_runs", "file") if joined else 0,
                     {side: _tallies(path, data["repeated"], side) for side in ("cpu", "gpu")} if "repeated" in data else {})


FURTHER = {"between": ("intervals",), "compare": ("families", "one"), "joined": ("families", "one"), "cpu": ("families", "one"), "gpu": ("families", "one")}
"""Tallies of one kind of comparison only."""


def _tallies(path: Path, twins: object, name: str) -> dict[str, Tally]:
    rows = table(path, table(path, twins, "twins").get(name), f"twins.{name}")
    found = {}
    for key in ("same", "two", "five", *FURTHER.get(name, ())):
        where = f"twins.{name}.{key}"
        row = table(path, rows.get(key), where)
        pairs, called = row.get("pairs"), row.get("called")
        if not (is_number(pairs) and is_number(called) and 0 <= called <= pairs and pairs >= 1):
            raise InputError(path, where, "not a number of pairs and, of these, a number of called ones")
        found[key] = Tally(int(called), int(pairs))
    return found
