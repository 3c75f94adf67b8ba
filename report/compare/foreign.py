"""Results of other harnesses as ours: plain Google Benchmark with repetitions, and nvbench with its samples (--jsonbin).

Each file becomes a table of schema 2, which the loader of our own results reads and checks.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterator
from pathlib import Path
from sys import byteorder

from report.data.load import run_of
from report.data.reading import DAY, LARGEST_FILE, Foreign, InputError, is_number, read_json
from report.data.records import Run

TIMES, CLOCKS = "nv/json/bin:nv/cold/sample_times", "nv/json/freqs-bin:nv/cold/sample_freqs"
MEAN = "nv/cold/time/gpu/mean"
NO_DATE = "1970-01-01"
"""Of a file without a date; no reader sees it as one."""
FLOAT = 4
"""Bytes of a sample in nvbench's files."""
NO_SAMPLES = "it has a mean and no samples: run it with --jsonbin"


def load(path: Path) -> Run:
    """The file as a run; Foreign if it is of neither harness."""
    data = read_json(path)
    entries = data.get("benchmarks") if isinstance(data, dict) else None
    if isinstance(data, dict) and isinstance(entries, list) and all(isinstance(e, dict) for e in entries):
        if any("states" in e for e in entries):
            return run_of(path, _of_nvbench(path, data, entries))
        if isinstance(data.get("context"), dict) and entries and all("name" in e for e in entries):
            return run_of(path, _of_google(data["context"], entries))
    raise Foreign(path, "benchmarks", "neither results of rung nor of Google Benchmark or nvbench")


def _table(harness: str, context: dict, kernels: dict[str, str], benchmarks: list[dict]) -> dict:
    """A table of schema 2. `kernels`: their names with their sides."""
    records = {name: {"title": name, "side": side, "family": harness, "order": i} for i, (name, side) in enumerate(kernels.items())}
    made = {"schema_version": 2, "experiment": harness, "harness": harness, "complete": True, "kernels": records,
            "problems": {harness: {"title": harness, "metric": {"key": "seconds", "unit": "s"}}}}
    return {"context": context | made, "benchmarks": benchmarks}


def _of_google(context: dict, entries: list[dict]) -> dict:
    """Each repetition of a benchmark is a sample; aggregates are left out."""
    benchmarks, seen = [], dict[str, int]()
    for entry in entries:
        if entry.get("run_type") == "aggregate" or entry.get("aggregate_name"):
            continue
        name = str(entry.get("run_name") or entry["name"])
        turn = seen[name] = seen.get(name, -1) + 1
        threads = entry.get("threads")
        benchmarks.append({
            "name": name, "run_name": name, "kernel": name, "mode": "hot", "sizes": {}, "tunables": {}, "repetition_index": turn,
            "threads": threads if is_number(threads) else 1,
            **{key: entry[key] for key in ("real_time", "cpu_time", "time_unit", "iterations", "error_occurred", "error_message",
                                           "skipped", "skip_message") if key in entry}})
    date = context.get("date")
    made = context | {"date": date.replace(" ", "T", 1) if isinstance(date, str) and DAY.match(date) else NO_DATE,
                      "cpu_name": str(context.get("host_name") or "unknown CPU"), "cpu_cores": context.get("num_cpus")}
    return _table("google_benchmark", made, dict.fromkeys(seen, "cpu"), benchmarks)


def _of_nvbench(path: Path, data: dict, entries: list[dict]) -> dict:
    """Each cold sample of a state is a sample, with the clock that nvbench measured during it."""
    benchmarks, kernels = [], dict[str, str]()
    for bench in entries:
        for state in _tables(bench.get("states")):
            name = f"{bench.get('name', 'unnamed')}/{state.get('name', 'unnamed')}"
            kernels[name] = "gpu"
            entry = {"name": name, "run_name": name, "kernel": name, "mode": "cold", "sizes": {}, "tunables": {}, "threads": 1}
            benchmarks += _samples(path, state, entry)
    gpu: dict = next(_tables(data.get("devices")), {})
    context = {"date": NO_DATE, "gpu_name": str(gpu.get("name") or "unknown GPU"), "sm_clock_source": "over the sample"}
    return _table("nvbench", context, kernels, benchmarks)


def _samples(path: Path, state: dict, entry: dict) -> list[dict]:
    if state.get("is_skipped"):
        return [entry | {"skipped": True, "skip_message": str(state.get("skip_reason") or "no reason given")}]
    summaries = {str(s.get("tag")): {str(v.get("name")): v.get("value") for v in _tables(s.get("data"))} for s in _tables(state.get("summaries"))}
    times, clocks = (_floats(path, summaries.get(tag)) for tag in (TIMES, CLOCKS))
    if not times:
        return [entry | {"skipped": True, "skip_message": NO_SAMPLES if MEAN in summaries else "it has no samples"}]
    made = [entry | {"repetition_index": i, "iterations": 1, "real_time": seconds * 1e9, "cpu_time": 0, "time_unit": "ns"}
            for i, seconds in enumerate(times)]
    if clocks and len(clocks) == len(made):
        made = [one | {"sm_clock_mhz": hertz / 1e6} for one, hertz in zip(made, clocks)]
    return made


def _floats(path: Path, summary: dict | None) -> list[float] | None:
    """The numbers of a binary file that the JSON names, which has to be below the JSON's folder; None where it is not there."""
    name = summary.get("filename") if summary else None
    if not isinstance(name, str) or not name:
        return None
    folder = path.parent.resolve()
    for place in (folder / name, folder / Path(name).parent.name / Path(name).name):
        real = Path(os.path.realpath(place))
        if folder in real.parents and real.is_file():
            if real.stat().st_size > LARGEST_FILE or real.stat().st_size % FLOAT:
                raise InputError(real, "file", "not samples of nvbench: too large, or no whole number of them")
            values = array("f")
            values.frombytes(real.read_bytes())
            if byteorder != "little":
                values.byteswap()
            return list(values)
    return None


def _tables(value: object) -> Iterator[dict]:
    """The tables in a list; none where it is no list."""
    return (one for one in value if isinstance(one, dict)) if isinstance(value, list) else iter(())
