"""Reads result files into records. Rejects what it cannot trust, in one line: which file, what, where."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from report.records import (COUNT, UNUSUAL, CounterFile, Emulator, EmulatorFile, EmulatorRate, Flag, HazardFile, Kernel,
                            PlantedFault, Point, Roof, RoofFile, Run, Verdict)
from report.stats import summarise

SCHEMA_VERSION = 1
SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
NOT_COUNTERS = {"repetitions", "repetition_index", "family_index", "per_family_instance_index", "threads",
                "iterations", "real_time", "cpu_time", "interleaved_with"}
SIZES = ("m", "n", "k")
THREADS = "threads"
"""The part of a point's name, and the key of its entry, that says how many threads it ran on."""
MIDDLES = ("sm_clock_mhz", "energy_j", "power_w")
"""Counters that each sample has a reading of: the median is kept."""
FRACTIONS = ("occupancy_theoretical", "occupancy_achieved")


class InputError(Exception):
    """A results file that cannot be used; the text is one line."""

    def __init__(self, path: Path, where: str, what: str):
        super().__init__(f"{path}: {where}: {what}")


class Foreign(InputError):
    """Well-formed JSON that is not one of ours."""


def read_json(path: Path) -> object:
    """The parsed file; InputError with line and column for anything that is not whole, valid JSON."""
    try:
        return json.loads(path.read_bytes().decode("utf-8"))
    except OSError as error:
        raise InputError(path, "file", error.strerror or "cannot be read") from None
    except UnicodeDecodeError as error:
        raise InputError(path, f"byte {error.start}", "not UTF-8 text") from None
    except json.JSONDecodeError as error:
        raise InputError(path, f"line {error.lineno} column {error.colno}",
                         f"truncated or not JSON ({error.msg})") from None
    except RecursionError:
        raise InputError(path, "file", "nested too deeply") from None
    except ValueError as error:
        raise InputError(path, "file", f"not usable JSON ({error})") from None


def load(path: Path) -> Run | RoofFile | CounterFile | HazardFile | EmulatorFile:
    """One file as a record, by its shape; Foreign if it is none of ours."""
    data = read_json(path)
    if isinstance(data, dict):
        context = data.get("context")
        if isinstance(context, dict) and "schema_version" in context:
            return _run(path, data, context)
        if "empirical" in data:
            return _roof_file(path, data)
        if "points" in data and "tool" in data:
            return _counter_file(path, data)
        if "kernels" in data and "tool" in data:
            return _hazard_file(path, data)
        if "emulators" in data:
            return _emulator_file(path, data)
    raise Foreign(path, "context.schema_version", "missing, so not a results file of rung")


def _text(path: Path, table: dict, key: str, where: str) -> str:
    value = table.get(key)
    if not isinstance(value, str) or not value:
        raise InputError(path, f"{where}.{key}", "missing or not a text")
    return value


def _date(path: Path, table: dict, where: str) -> str:
    text = _text(path, table, "date", where)
    try:
        datetime.fromisoformat(text)
    except ValueError:
        raise InputError(path, f"{where}.date", f"not an ISO date: {text[:40]!r}") from None
    return text


def _run(path: Path, data: dict, context: dict) -> Run:
    version = context["schema_version"]
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise InputError(path, "context.schema_version", f"{version!r} is not a version that ever was")
    if version > SCHEMA_VERSION:
        raise InputError(path, "context.schema_version",
                         f"{version} is newer than {SCHEMA_VERSION}, the newest that this report reads; update rung")
    _date(path, context, "context")
    _text(path, context, "experiment", "context")
    kernels = _kernels(path, context.get("kernels"))
    entries = data.get("benchmarks")
    if not isinstance(entries, list):
        raise InputError(path, "benchmarks", "missing or not a list")
    groups, flags = _group(path, entries, kernels)
    points, samples = [], 0
    for name, group in groups.items():
        point = replace(_point(name, group, kernels, path, flags), run=str(path), day=context["date"][:10])
        samples += len(point.times)
        points.append(point)
    return Run(path, context, kernels, tuple(points), tuple(flags), samples)


def _kernels(path: Path, table: object) -> dict[str, Kernel]:
    if not isinstance(table, dict):
        raise InputError(path, "context.kernels", "missing or not a table")
    return {name: _kernel(path, name, record) for name, record in table.items()}


def _kernel(path: Path, name: str, record: object) -> Kernel:
    where = f"context.kernels[{name[:60]!r}]"
    if not isinstance(record, dict):
        raise InputError(path, where, "not a table")
    side = record.get("side")
    if side not in ("cpu", "gpu"):
        raise InputError(path, f"{where}.side", "neither 'cpu' nor 'gpu'")
    order = record.get("order", 0)
    if not _is_number(order):
        raise InputError(path, f"{where}.order", "not a number")
    ceiling = record.get("ceiling")
    ceiling = ceiling if isinstance(ceiling, dict) and isinstance(ceiling.get("label"), str) else None
    return Kernel(
        name=name, title=str(record.get("title") or name), idea=str(record.get("idea") or ""),
        source=str(record.get("source") or ""), order=int(order), side=side,
        family=str(record.get("family") or ""), precision=str(record.get("precision") or "fp32"),
        is_library=bool(record.get("is_library", False)),
        ceiling_label=ceiling["label"] if ceiling else None,
        ceiling_is_bandwidth=bool(ceiling.get("is_bandwidth")) if ceiling else False)


def _is_number(value: object) -> bool:
    """A finite number that fits a double."""
    try:
        return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(float(value))
    except OverflowError:
        return False


def _group(path: Path, entries: list, kernels: dict[str, Kernel]) -> tuple[dict[str, list[dict]], list[Flag]]:
    """Entries by point name, in file order; those without a known kernel are flagged."""
    groups: dict[str, list[dict]] = {}
    flags: list[Flag] = []
    for index, entry in enumerate(entries):
        if not isinstance(entry, dict):
            raise InputError(path, f"benchmarks[{index}]", "not a table")
        name = entry.get("run_name") or entry.get("name")
        if not isinstance(name, str):
            raise InputError(path, f"benchmarks[{index}].name", "missing or not a text")
        if entry.get("run_type") == "aggregate":
            continue
        if not isinstance(entry.get("kernel"), str) or entry["kernel"] not in kernels:
            flags.append(Flag(str(path), name, "its kernel is not in context.kernels"))
            continue
        groups.setdefault(name, []).append(entry)
    return groups, flags


def _point(name: str, group: list[dict], kernels: dict[str, Kernel], path: Path, flags: list[Flag]) -> Point:
    first = group[0]
    kernel = kernels[first["kernel"]]
    tunables = _integers(first, str(first.get("tunable_names") or "").split(","))
    mode = str(first.get("mode") or "hot")
    base = dict(name=name, kernel=kernel, mode=mode, sizes=_sizes(name, first, tunables), tunables=tunables,
                asked_threads=_name_parts(name).get(THREADS), oversubscribed=bool(first.get("oversubscribed")),
                interleaved=bool(first.get("interleaved_with")))
    failed = [e for e in group if e.get("error_occurred")]
    if failed:
        return Point(**base, failed=str(failed[0].get("error_message") or "failed without a message"))
    if first.get("skipped"):
        return Point(**base, skipped=str(first.get("skip_message") or "no reason given"))
    good = []
    for entry in group:
        reason = _fault(entry)
        if reason:
            flags.append(Flag(str(path), str(entry.get("name", name)), reason))
        else:
            good.append(entry)
    if not good:
        return Point(**base, failed="no usable sample")
    counters = _counters(good, name, path, flags)
    labels = {k: v for k, v in good[-1].items() if isinstance(v, str)}
    if mode == COUNT:
        return Point(**base, counters=counters, labels=labels)
    times = tuple(e["real_time"] * SECONDS[e.get("time_unit", "ns")] for e in good)
    return Point(**base, times=times, summary=summarise(times), counters=counters, labels=labels,
                 turns=tuple(_turn(e, i) for i, e in enumerate(good)), threads=_count(first, "threads"),
                 batch=max(_count(e, "iterations") for e in good))


def _turn(entry: dict, otherwise: int) -> int:
    value = entry.get("repetition_index")
    return value if isinstance(value, int) and not isinstance(value, bool) else otherwise


def _count(entry: dict, key: str) -> int:
    value = entry.get(key)
    return max(1, int(value)) if _is_number(value) else 1


def _fault(entry: dict) -> str | None:
    """Why an entry may not enter the statistics; None if it may."""
    time = entry.get("real_time")
    if time is None:
        return "real_time is missing"
    if not isinstance(time, (int, float)) or isinstance(time, bool):
        return "real_time is not a number"
    if not _is_number(time):
        return f"real_time is {time:.3g}" if isinstance(time, float) else "real_time is out of range"
    if time <= 0:
        return f"real_time is {'zero' if time == 0 else 'negative'}"
    if str(entry.get("time_unit", "ns")) not in SECONDS:
        return "time_unit is unknown"
    if time < 1e-9:
        return "real_time is shorter than any clock can see"
    for key in ("flops", "bytes_min"):
        if key in entry and not (_is_number(entry[key]) and entry[key] >= 0):
            return f"{key} is not a finite number"
    error = entry.get("max_error_ratio")
    if error is not None and not (_is_number(error) and error <= 1):
        return f"max_error_ratio is {error}: not verified"
    return None


def _integers(entry: dict, names: list[str]) -> dict[str, int]:
    return {n.strip(): int(entry[n.strip()]) for n in names if n.strip() and _is_number(entry.get(n.strip()))}


def _sizes(name: str, entry: dict, tunables: dict[str, int]) -> dict[str, int]:
    """The problem's sizes: m, n, k (and the unusual ones) where given, else the name's parts that are no tunables."""
    sizes = _integers(entry, list(SIZES))
    if len(sizes) == len(SIZES):
        return sizes | _integers(entry, list(UNUSUAL))
    for key, value in _name_parts(name).items():
        if key not in tunables and key != THREADS:
            sizes.setdefault(key, value)
    return sizes


def _name_parts(name: str) -> dict[str, int]:
    """The 'key:number' parts of a point's name; of two with one key the first."""
    found: dict[str, int] = {}
    for part in name.split("/"):
        key, colon, value = part.partition(":")
        if colon and value.isascii() and value.isdigit() and len(value) < 19:
            found.setdefault(key, int(value))
    return found


def _counters(entries: list[dict], name: str, path: Path, flags: list[Flag]) -> dict[str, float]:
    """Counters of the first sample; over the samples: worst error, median clock, energy and power, any throttling."""
    counters: dict[str, float] = {}
    for key, value in entries[0].items():
        if key in NOT_COUNTERS or isinstance(value, (bool, str)) or value is None:
            continue
        if not _is_number(value):
            flags.append(Flag(str(path), name, f"{key} is {value}, dropped" if isinstance(value, float)
                              else f"{key} is not a number, dropped"))
        elif key in FRACTIONS and not 0 <= value <= 1:
            flags.append(Flag(str(path), name, f"{key} is {value:g}, not within 0 and 1, dropped"))
        else:
            counters[key] = float(value)
    errors = [e["max_error_ratio"] for e in entries if "max_error_ratio" in e]
    if errors:
        counters["max_error_ratio"] = max(errors)
    for key in MIDDLES:
        values = sorted(e[key] for e in entries if _is_number(e.get(key)))
        if values:
            counters[key] = float(values[len(values) // 2])
    counters["throttled"] = float(any(e.get("throttled") not in (None, 0, 0.0, False, "", "no", "none")
                                      for e in entries))
    return counters


def _roof_file(path: Path, data: dict) -> RoofFile:
    roofs = []
    for group, measured in (("empirical", True), ("spec", False)):
        for unit, is_bandwidth in (("gflops", False), ("gbytes", True)):
            roofs += _roofs(path, data, group, unit, is_bandwidth, measured)
    return RoofFile(path, _text(path, data, "machine", "file"), _date(path, data, "file"), tuple(roofs))


def _roofs(path: Path, data: dict, group: str, unit: str, is_bandwidth: bool, measured: bool) -> list[Roof]:
    where = f"{group}.{unit}.data"
    table = data.get(group, {})
    unit_table = table.get(unit, {}) if isinstance(table, dict) else None
    rows = unit_table.get("data", []) if isinstance(unit_table, dict) else None
    if not isinstance(rows, list):
        raise InputError(path, where, "not a list")
    roofs = []
    for index, row in enumerate(rows):
        if not (isinstance(row, list) and len(row) == 2 and isinstance(row[0], str)):
            raise InputError(path, f"{where}[{index}]", "not a pair of label and number")
        if not (_is_number(row[1]) and row[1] > 0):
            raise InputError(path, f"{where}[{index}]", f"ceiling {row[1]!r} is not a positive number")
        roofs.append(Roof(row[0], float(row[1]), is_bandwidth, measured))
    return roofs


def _counter_file(path: Path, data: dict) -> CounterFile:
    points = data["points"]
    if not isinstance(points, dict) or not all(isinstance(v, dict) for v in points.values()):
        raise InputError(path, "points", "not a table of tables")
    clean = {name: {k: float(v) for k, v in row.items() if _is_number(v) and v >= 0} for name, row in points.items()}
    return CounterFile(path, _text(path, data, "machine", "file"), _date(path, data, "file"),
                       str(data["tool"]), clean)


def _hazard_file(path: Path, data: dict) -> HazardFile:
    kernels = data["kernels"]
    if not isinstance(kernels, dict) or not all(isinstance(v, dict) for v in kernels.values()):
        raise InputError(path, "kernels", "not a table of tables")
    return HazardFile(path, _text(path, data, "machine", "file"), _date(path, data, "file"),
                      _text(path, data, "tool", "file"),
                      {name: _planted_fault(path, name, table) for name, table in kernels.items()})


def _planted_fault(path: Path, name: str, table: dict) -> PlantedFault:
    verdicts = {}
    for tool, row in table.items():
        if not isinstance(row, dict):
            continue
        if not isinstance(row.get("found"), bool):
            raise InputError(path, f"kernels[{name[:60]!r}].{tool[:60]}.found", "neither true nor false")
        verdicts[tool] = Verdict(row["found"], str(row.get("message") or ""), str(row.get("failed") or ""))
    return PlantedFault(verdicts, str(table.get("what") or ""), table.get("is_right") is True)


def _emulator_file(path: Path, data: dict) -> EmulatorFile:
    emulators = data["emulators"]
    if not isinstance(emulators, list) or not all(isinstance(e, dict) for e in emulators):
        raise InputError(path, "emulators", "not a list of tables")
    return EmulatorFile(path, _text(path, data, "machine", "file"), _whole(path, data, "cores", "file"),
                        _date(path, data, "file"),
                        tuple(_emulator(path, f"emulators[{i}]", e) for i, e in enumerate(emulators)))


def _emulator(path: Path, where: str, table: dict) -> Emulator:
    rows, told = table.get("rows"), table.get("told")
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise InputError(path, f"{where}.rows", "not a list of tables")
    if not isinstance(told, dict) or not all(isinstance(v, bool) for v in told.values()):
        raise InputError(path, f"{where}.told", "not a table of true and false")
    return Emulator(_text(path, table, "tool", where),
                    tuple(_emulator_rate(path, f"{where}.rows[{i}]", row) for i, row in enumerate(rows)), told)


def _emulator_rate(path: Path, where: str, row: dict) -> EmulatorRate:
    for key in ("seconds", "processor_seconds"):
        times = row.get(key)
        if not isinstance(times, list) or not times or not all(_is_number(t) and t > 0 for t in times):
            raise InputError(path, f"{where}.{key}", "not a list of positive numbers")
    n, threads, accesses = (_whole(path, row, key, where) for key in ("n", "threads", "accesses"))
    return EmulatorRate(str(row.get("kernel") or ""), _text(path, row, "mode", where), n, threads, accesses,
                        tuple(row["seconds"]), tuple(row["processor_seconds"]))


def _whole(path: Path, table: dict, key: str, where: str) -> int:
    """A whole number of at least 1."""
    value = table.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise InputError(path, f"{where}.{key}", "not a positive whole number")
    return value
