"""Reads a result file into records. Rejects invalid contents with one line: file, place and reason."""

from __future__ import annotations

import reprlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import TypedDict

from report.data import companions, schema, timeline
from report.data.reading import Foreign, InputError, date, is_number, read_json, table, text
from report.data.records import COUNT, DISTURBED, GBYTES, GFLOPS, Flag, Kernel, Metric, Point, Problem, Reference, Run
from report.data.statistics import summarise

NEWEST = 2
"""The newest schema that this report reads."""
SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
NOT_COUNTERS = {"repetitions", "repetition_index", "family_index", "per_family_instance_index", "threads",
                "iterations", "real_time", "cpu_time", "interleaved_with", "interleave_group", "sizes", "tunables", "judged",
                "timeline", "waited_seconds", "watched_seconds", "stolen_seconds", "involuntary_switches"}
LEAST_ALONE = 0.001
WATCHED = ("watched_seconds", "gpu_others_share")
"""Keys of samples whose recorder watched other work."""
OTHERS = ("others_processors", "gpu_others_share")
"""Counters that each sample has a reading of: the mean over all samples is kept."""
MEANS = ("sm_clock_mhz", "power_w")
"""The mean over the samples that count."""
MIDDLES = ("energy_j",)
"""The median over the samples that count."""
FRACTIONS = ("occupancy_theoretical", "occupancy_achieved")
Record = Run | companions.Companion
"""What a file is."""


class _Asked(TypedDict):
    """What a point has whether it was measured or not."""

    name: str
    kernel: Kernel
    mode: str
    sizes: dict[str, float | str]
    tunables: dict[str, float | str]
    data: str
    swept_threads: bool
    threads: int
    oversubscribed: bool
    group: str
    run: str


class _Told(TypedDict):
    """What the samples of a point tell apart from their times."""

    counters: dict[str, float]
    judged: dict[str, float]
    labels: dict[str, str]


def load(path: Path) -> Record:
    """One file as a record, by its shape; Foreign if it is none of ours."""
    data = read_json(path)
    if isinstance(data, dict):
        context = data.get("context")
        if isinstance(context, dict) and "schema_version" in context:
            return _run(path, data, context["schema_version"])
        if (companion := companions.load(path, data)) is not None:
            return companion
    raise Foreign(path, "context.schema_version", "missing, so not a results file of rung")


def run_of(path: Path, data: dict) -> Run:
    """The run of a table of the newest schema, which need not be a file."""
    return _run(path, data, NEWEST)


def _run(path: Path, data: dict, version: object) -> Run:
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise InputError(path, "context.schema_version", f"{reprlib.repr(version)} is not a version that ever was")
    if version > NEWEST:
        raise InputError(path, "context.schema_version",
                         f"{version} is newer than {NEWEST}, the newest that this report reads; update rung")
    data = schema.migrate(data) if version == 1 else data
    context = data["context"]
    date(path, context, "context")
    text(path, context, "experiment", "context")
    kernels = _told_apart({name: _kernel(path, name, record)
                           for name, record in table(path, context.get("kernels"), "context.kernels").items()})
    problems = _problems(context.get("problems"))
    flags: list[Flag] = []
    groups = _group(path, data.get("benchmarks"), kernels, flags)
    swept, together = _swept(groups), _in_turns(groups)
    points = tuple(_point(name, group, kernels[group[0]["kernel"]], problems, path, flags, name in swept, together.get(name, ""))
                   for name, group in groups.items())
    return Run(path, context, kernels, problems, points, tuple(flags))


def _swept(names: Iterable[str]) -> set[str]:
    """Points that differ from another one only in the number of the CPU's threads; on a GPU "threads" is a tunable."""
    alike: dict[str, list[str]] = {}
    for name in names:
        if "/cpu/" in f"/{name}" and schema.THREADS in schema.name_parts(name):
            rest = "/".join(part for part in name.split("/") if not part.startswith(f"{schema.THREADS}:"))
            alike.setdefault(rest, []).append(name)
    return {name for found in alike.values() if len(found) > 1 for name in found}


def _in_turns(points: dict[str, list[dict]]) -> dict[str, str]:
    """The group of each interleaved point ("interleave_group"). Results without that key have the points of a group one after
    the other; each has the number of the others, and all have the same problem, sizes, data, mode and threads."""
    found: dict[str, str] = {}
    alike, left, number = None, 0, 0
    for name, (first, *_) in points.items():
        others, given = first.get("interleaved_with"), first.get("interleave_group")
        if not isinstance(others, int) or isinstance(others, bool) or others < 1:
            continue
        if isinstance(given, (int, str)) and given != "":
            found[name] = f"given {given}"
            continue
        mine = (others, first["kernel"].split("/")[:2], *(first.get(key) for key in ("sizes", "data", "mode", "threads")))
        if not left or mine != alike:
            alike, left, number = mine, others + 1, number + 1
        found[name], left = f"{number}", left - 1
    return found


def _kernel(path: Path, name: str, record: object) -> Kernel:
    where = f"context.kernels[{name[:60]!r}]"
    record = table(path, record, where)
    if record.get("side") not in ("cpu", "gpu"):
        raise InputError(path, f"{where}.side", "neither 'cpu' nor 'gpu'")
    order = record.get("order", 0)
    if not is_number(order):
        raise InputError(path, f"{where}.order", "not a number")
    ceiling = record.get("ceiling")
    ceiling = ceiling if isinstance(ceiling, dict) and isinstance(ceiling.get("label"), str) else None
    return Kernel(
        name=name, title=str(record.get("title") or name), idea=str(record.get("idea") or ""),
        sources=_references(record.get("source")), order=int(order), side=record["side"],
        family=str(record.get("family") or ""), type=str(record.get("type") or "fp32"),
        is_library=bool(record.get("is_library", False)), is_serial=bool(record.get("is_serial", False)),
        ceiling_label=ceiling["label"] if ceiling else None,
        ceiling_is_bandwidth=bool(ceiling.get("is_bandwidth")) if ceiling else False)


def _told_apart(kernels: dict[str, Kernel]) -> dict[str, Kernel]:
    """Kernels of one problem and type that have a title in common get the last part of their names, since figures and tables
    tell kernels apart by their titles."""
    known = Counter((k.side, k.family, k.type, k.title) for k in kernels.values())
    return {name: replace(k, title=f"{k.title} ({name.rpartition('/')[2]})") if known[k.side, k.family, k.type, k.title] > 1 else k
            for name, k in kernels.items()}


def _references(value: object) -> tuple[Reference, ...]:
    entries = value if isinstance(value, list) else []
    return tuple(Reference(str(e.get("id") or ""), str(e.get("where") or "")) for e in entries if isinstance(e, dict))


def _problems(value: object) -> dict[str, Problem]:
    found: dict[str, Problem] = {}
    for family, record in (value if isinstance(value, dict) else {}).items():
        if isinstance(record, dict):
            metric = given if isinstance(given := record.get("metric"), dict) else {}
            names = given if isinstance(given := record.get("size_names"), list) else []
            found[family] = Problem(family, str(record.get("title") or family),
                                    Metric(str(metric.get("key") or "gflops"), str(metric.get("unit") or "GFLOP/s")),
                                    tuple(map(str, names)))
    return found


def _group(path: Path, entries: object, kernels: dict[str, Kernel], flags: list[Flag]) -> dict[str, list[dict]]:
    """Entries by point name, in file order; those without a known kernel are flagged."""
    if not isinstance(entries, list):
        raise InputError(path, "benchmarks", "missing or not a list")
    groups: dict[str, list[dict]] = {}
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
    return groups


def _point(name: str, group: list[dict], kernel: Kernel, problems: dict[str, Problem], path: Path,
           flags: list[Flag], swept: bool, together: str) -> Point:
    first = group[0]
    mode = str(first.get("mode") or "hot")
    sizes, tunables = (_numbers_or_words(first.get(key)) for key in ("sizes", "tunables"))
    base = _Asked(name=name, kernel=kernel, mode=mode, sizes=sizes, tunables=tunables, data=str(first.get("data") or ""),
                  swept_threads=swept, threads=_count(first, "threads"), oversubscribed=bool(first.get("oversubscribed")),
                  group=together, run=str(path))
    failed = [e for e in group if e.get("error_occurred")]
    if failed:
        return Point(**base, failed=str(failed[0].get("error_message") or "failed without a message"))
    for key, read in (("sizes", sizes), ("tunables", tunables)):
        if first.get(key, {}) != read:
            return Point(**base, failed=f"its {key} are not a table of numbers and words")
    if first.get("skipped"):
        return Point(**base, skipped=str(first.get("skip_message") or "no reason given"))
    good = []
    for entry in group:
        reason = _fault(entry)
        flags += [Flag(str(path), str(entry.get("name", name)), reason)] if reason else []
        good += [] if reason else [entry]
    if not good:
        return Point(**base, failed="no usable sample")
    takes = _takes(good) if kernel.is_ceiling and mode != COUNT else [good]
    medians = [median(map(_seconds, _kept(take))) for take in takes] if len(takes) > 1 else []
    good = takes[medians.index(min(medians))] if medians else good
    kept = _kept(good)
    told = _Told(counters=_counters(good, kept, name, path, flags), judged=_numbers(good[-1].get("judged")),
                 labels={k: str(v) for k, v in good[-1].items() if isinstance(v, str) or (k == "error_by_norm" and v is True)})
    if mode == COUNT:
        return Point(**base, **told)
    disturbed = sum(map(_is_disturbed, good))
    counted = {id(e) for e in kept}
    turns = tuple(_turn(e, i) for i, e in enumerate(good) if id(e) in counted)
    times = tuple(map(_seconds, kept))
    summary = summarise(times)
    if disturbed and len(kept) == len(good):
        summary = replace(summary, low=min(_without_wait(e) for e in good), high=max(times))
    metric = _metric(kernel, problems, good[0])
    return Point(**base, **told, metric=metric, amount=_amount(metric, good[0]), times=times, states=_states(kept), summary=summary, takes=tuple(medians),
                 timeline=timeline.of(good), turns=turns, batch=max(_count(e, "iterations") for e in good), disturbed=disturbed,
                 left_out=len(good) - len(kept), median_of_all=median(map(_seconds, good)), waited=_waited(good),
                 is_watched=any(key in e for e in good for key in WATCHED))


def _states(kept: list[dict]) -> dict[str, tuple[float, ...]]:
    return {key: tuple(float(e[key]) for e in kept) for key in MEANS if all(is_number(e.get(key)) for e in kept)}


def _kept(entries: list[dict]) -> list[dict]:
    """The samples that count: those without a disturbance; all samples if the point ended as disturbed or no others
    exist."""
    undisturbed = [e for e in entries if not _is_disturbed(e)]
    return entries if str(entries[0].get("stop_reason")) == DISTURBED or not undisturbed else undisturbed


def _is_disturbed(entry: dict) -> bool:
    return bool(entry.get("disturbed"))


def _share_waited(entry: dict) -> float:
    waited, watched = entry.get("waited_seconds"), entry.get("watched_seconds")
    return min(max(waited / watched, 0.0), 1.0) if is_number(waited) and is_number(watched) and watched > 0 else 0.0


def _waited(entries: list[dict]) -> float:
    return sum(map(_share_waited, entries)) / len(entries)


def _without_wait(entry: dict) -> float:
    """The shortest time that a disturbed sample may have taken alone (seconds). Waiting threads make others wait, at a
    barrier or for a lock, so that all but a thousandth may be due to that."""
    return _seconds(entry) * max(1 - _share_waited(entry), LEAST_ALONE)


def _takes(entries: list[dict]) -> list[list[dict]]:
    """Samples of the first measurement, then of each repeated one, which is made if verified points are above the roof."""
    found: dict[int, list[dict]] = {}
    for entry in entries:
        found.setdefault(_count(entry, "remeasured") if entry.get("remeasured") else 0, []).append(entry)
    return [found[key] for key in sorted(found)]


def _metric(kernel: Kernel, problems: dict[str, Problem], entry: dict) -> Metric:
    """The problem's metric; for a ceiling the metric that it bounds; else operations, or bytes without operations."""
    if kernel.is_ceiling:
        return GBYTES if kernel.ceiling_is_bandwidth else GFLOPS
    if kernel.family in problems:
        return problems[kernel.family].metric
    return GFLOPS if entry.get("flops_useful") else GBYTES


def _amount(metric: Metric, entry: dict) -> float | None:
    costs = {GFLOPS.key: "flops_useful", GBYTES.key: "bytes_min"}
    if metric.key in costs and is_number(entry.get(costs[metric.key])):
        return entry[costs[metric.key]] / 1e9 or None
    return entry[metric.key] * _seconds(entry) if is_number(entry.get(metric.key)) else None


def _seconds(entry: dict) -> float:
    return entry["real_time"] * SECONDS[entry.get("time_unit", "ns")]


def _numbers(value: object) -> dict[str, float]:
    return {k: v for k, v in value.items() if is_number(v)} if isinstance(value, dict) else {}


def _numbers_or_words(value: object) -> dict[str, float | str]:
    return {k: v for k, v in value.items() if is_number(v) or isinstance(v, str)} if isinstance(value, dict) else {}


def _turn(entry: dict, otherwise: int) -> int:
    value = entry.get("repetition_index")
    return value if isinstance(value, int) and not isinstance(value, bool) else otherwise


def _count(entry: dict, key: str) -> int:
    value = entry.get(key)
    return max(1, int(value)) if is_number(value) else 1


def _fault(entry: dict) -> str | None:
    """Why an entry may not enter the statistics; None if it may."""
    time = entry.get("real_time")
    if time is None:
        return "real_time is missing"
    if not isinstance(time, (int, float)) or isinstance(time, bool):
        return "real_time is not a number"
    if not is_number(time):
        return f"real_time is {time:.3g}" if isinstance(time, float) else "real_time is out of range"
    if time <= 0:
        return f"real_time is {'zero' if time == 0 else 'negative'}"
    if str(entry.get("time_unit", "ns")) not in SECONDS:
        return "time_unit is unknown"
    if time < 1e-9:
        return "real_time is shorter than any clock can see"
    for key in ("flops_useful", "bytes_min"):
        if key in entry and not (is_number(entry[key]) and entry[key] >= 0):
            return f"{key} is not a finite number"
    error = entry.get("max_error_ratio")
    if error is not None and not (is_number(error) and error <= 1):
        return f"max_error_ratio is {error}: not verified"
    return None


def _counters(entries: list[dict], kept: list[dict], name: str, path: Path, flags: list[Flag]) -> dict[str, float]:
    """Counters of the first sample; over all samples: worst error, mean load by others, any throttling; over those that count
    (`kept`): mean clock and power, median energy."""
    counters: dict[str, float] = {}
    for key, value in entries[0].items():
        if key in NOT_COUNTERS or isinstance(value, (bool, str)) or value is None:
            continue
        if not is_number(value):
            flags.append(Flag(str(path), name, f"{key} is {value}, dropped" if isinstance(value, float)
                              else f"{key} is not a number, dropped"))
        elif key in FRACTIONS and not 0 <= value <= 1:
            flags.append(Flag(str(path), name, f"{key} is {value:g}, not within 0 and 1, dropped"))
        else:
            counters[key] = float(value)
    errors = [e["max_error_ratio"] for e in entries if is_number(e.get("max_error_ratio"))]
    if errors:
        counters["max_error_ratio"] = max(errors)
    for key in (*OTHERS, *MEANS, *MIDDLES):
        values = sorted(e[key] for e in (entries if key in OTHERS else kept) if is_number(e.get(key)))
        if values:
            counters[key] = float(values[len(values) // 2]) if key in MIDDLES else sum(values) / len(values)
    counters["throttled"] = float(any(e.get("throttled") not in (None, 0, 0.0, False, "", "no", "none")
                                      for e in entries))
    return counters
