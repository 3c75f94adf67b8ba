"""Kernels of other programs: their time, operations and bytes, from the files of profilers and other harnesses.

Where a file has a quantity twice, as a total and as its parts or as a rate, both must agree; else the file is refused, since
one of them was read wrongly.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median

from report.data.reading import InputError, is_number, read_json
from report.plain import plain

AGREES = 0.02
"""Two statements of one quantity may differ by this part: profilers round rates, and measure in several passes."""
SECONDS = {"s": 1.0, "second": 1.0, "ms": 1e-3, "msecond": 1e-3, "us": 1e-6, "usecond": 1e-6, "ns": 1e-9, "nsecond": 1e-9}
PREFIX = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
TIME, DRAM, DRAM_RATE = "gpu__time_duration.sum", "dram__bytes.sum", "dram__bytes.sum.per_second"
READ, WRITTEN = "dram__bytes_read.sum", "dram__bytes_write.sum"
OPERATIONS = {"fp32": "f", "fp64": "d", "fp16": "h"}
"""The letter of a type in ncu's names of operations; an operation on fp16 handles a pair."""
ADD, MUL, FMA = (f"smsp__sass_thread_inst_executed_op_{{}}{kind}_pred_on.sum" for kind in ("add", "mul", "fma"))
DEVICE = "device__attribute_display_name"
METRICS = (DEVICE, TIME, DRAM, READ, WRITTEN, *(metric.format(letter) for letter in OPERATIONS.values() for metric in (ADD, MUL, FMA)))
"""What Nsight Compute has to measure."""
FLOPS = ("flops", "FLOPs", "FLOPS", "flop", "Flops", "FLOP")
BYTES = ("bytes", "Bytes", "bytes_per_second")
LONGEST = 120


@dataclass(frozen=True)
class Kernel:
    """A kernel of another program: all its calls together. Operations or bytes are None where the file has none."""

    name: str
    seconds: float
    flops: float | None
    bytes: float | None
    calls: int = 1
    device: str = ""
    samples: Sequence[float] = field(default_factory=tuple)
    """Seconds of a call, where there are several."""

    @property
    def gflops(self) -> float | None:
        return self.flops / self.seconds / 1e9 if self.flops else None

    @property
    def gbytes(self) -> float | None:
        return self.bytes / self.seconds / 1e9 if self.bytes else None

    @property
    def intensity(self) -> float | None:
        return self.flops / self.bytes if self.flops and self.bytes else None


@dataclass(frozen=True)
class Asked:
    """What the command line says of a file's counters."""

    type: str = "fp32"
    flops: str | None = None
    bytes: str | None = None
    per_second: bool = False


def load(path: Path, asked: Asked) -> list[Kernel]:
    """The kernels of a file, each once; InputError where it cannot be read, has none, or contradicts itself."""
    if path.suffix == ".ncu-rep":
        return _together(path, _of_report(path, asked.type))
    if path.suffix == ".json":
        return _of_google(path, asked)
    text = _text(path)
    rows = list(csv.reader(io.StringIO("\n".join(line for line in text.splitlines() if not line.startswith("==")))))
    head = next((row for row in rows if len(row) > 1), [])
    if "Kernel Name" in head:
        return _together(path, _of_ncu(path, rows[rows.index(head):], asked.type))
    if {"name", "seconds"} <= set(head):
        return _of_csv(path, rows[rows.index(head):])
    raise InputError(path, "header", "neither a CSV of Nsight Compute (--csv --page raw) nor one with the columns name and seconds")


def _text(path: Path) -> str:
    try:
        if not path.is_file():
            raise InputError(path, "file", "there is no such regular file")
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(path, "file", error.strerror or "cannot be read") from None
    except UnicodeDecodeError:
        raise InputError(path, "file", "not a text in UTF-8") from None


def _together(path: Path, found: Iterable[Kernel]) -> list[Kernel]:
    """All launches of one kernel as one."""
    groups: dict[str, list[Kernel]] = {}
    for kernel in found:
        groups.setdefault(kernel.name, []).append(kernel)
    if not groups:
        raise InputError(path, "rows", "no kernel in it")
    return [Kernel(name, sum(k.seconds for k in group), _sum(k.flops for k in group), _sum(k.bytes for k in group), len(group), group[0].device,
                   tuple(k.seconds for k in group)) for name, group in groups.items()]


def _sum(values: Iterable[float | None]) -> float | None:
    found = list(values)
    return None if any(v is None for v in found) else sum(v for v in found if v is not None)


def agree(path: Path, what: str, one: float | None, other: float | None) -> None:
    """Raises InputError if both are known and differ."""
    if one is not None and other is not None and not math.isclose(one, other, rel_tol=AGREES, abs_tol=1e-12):
        raise InputError(path, what, f"the file states {one:.6g} and, otherwise, {other:.6g}: one of them is read wrongly")


# Nsight Compute


def _of_ncu(path: Path, rows: list[list[str]], type_: str) -> Iterable[Kernel]:
    """Of the raw page, one row a launch with a row of units below the header; or of a page with one row a metric."""
    head, rest = rows[0], [row for row in rows[1:] if len(row) == len(rows[0])]
    if "Metric Name" in head:
        yield from _of_long(path, head, rest, type_)
        return
    units = dict(zip(head, rest[0])) if rest and not rest[0][head.index("ID")].strip() else {}
    for row in (dict(zip(head, row)) for row in rest if row[head.index("ID")].strip()):
        def value(name: str, row: dict[str, str] = row) -> float | None:
            return _value(path, name, row.get(name), units.get(name, ""))
        yield _launch(path, row["Kernel Name"], value, row.get(DEVICE, ""), type_)


def _of_long(path: Path, head: list[str], rest: list[list[str]], type_: str) -> Iterable[Kernel]:
    launches: dict[str, dict[str, tuple[str, str]]] = {}
    names: dict[str, str] = {}
    for row in (dict(zip(head, row)) for row in rest):
        names[row["ID"]] = row["Kernel Name"]
        launches.setdefault(row["ID"], {})[row["Metric Name"]] = row.get("Metric Value", ""), row.get("Metric Unit", "")
    for id_, metrics in launches.items():
        def value(name: str, metrics: dict[str, tuple[str, str]] = metrics) -> float | None:
            return _value(path, name, *metrics[name]) if name in metrics else None
        yield _launch(path, names[id_], value, metrics.get(DEVICE, ("", ""))[0], type_)


def _value(path: Path, name: str, text: str | None, unit: str) -> float | None:
    """In base units: seconds, bytes, numbers."""
    if text is None or text.strip().lower() in ("", "n/a", "nan", "-nan", "inf"):
        return None
    try:
        number = float(text.replace(",", ""))
    except ValueError:
        raise InputError(path, name, f"'{plain(text)[:40]}' is no number as in English: run ncu with LC_ALL=C") from None
    factor = SECONDS.get(unit.strip().partition("/")[0])
    if factor is None:
        base = unit.strip().partition("/")[0]
        factor = PREFIX.get(base[:1]) if base[1:] in ("byte", "byt", "B", "inst") else 1.0
        factor = 1.0 if base in ("byte", "inst") or factor is None else factor
    return number * factor


def _launch(path: Path, name: str, value: Callable[[str], float | None], device: str, type_: str) -> Kernel:
    seconds = value(TIME)
    if seconds is None or not seconds > 0:
        raise InputError(path, TIME, f"'{plain(name)[:60]}' has no time: profile with --metrics $(rung roofline --metrics)")
    return Kernel(_short(name), seconds, _flops(value, type_), _bytes(path, value, seconds), device=plain(device))


def _flops(value: Callable[[str], float | None], type_: str) -> float | None:
    """Of the instructions of one type; None where the file has not all three metrics, or the type is of tensor cores."""
    letter = OPERATIONS.get(type_)
    counts = [value(metric.format(letter)) for metric in (ADD, MUL, FMA)] if letter else [None]
    if any(c is None for c in counts):
        return None
    add, mul, fma = (c or 0.0 for c in counts)
    return (add + mul + 2 * fma) * (2 if type_ == "fp16" else 1)


def _bytes(path: Path, value: Callable[[str], float | None], seconds: float) -> float | None:
    both = value(READ), value(WRITTEN)
    parts = None if None in both else sum(v or 0.0 for v in both)
    whole, rate = value(DRAM), value(DRAM_RATE)
    agree(path, DRAM, whole, parts)
    found = whole if whole is not None else parts
    agree(path, DRAM_RATE, found, None if rate is None else rate * seconds)
    return found


def _short(name: str) -> str:
    """The kernel's name without its parameters."""
    line = plain(name).replace("\n", " ")
    depth = line.partition("(")[0] if not line.startswith("(") else line
    return depth.removeprefix("void ").strip()[:LONGEST] or "unnamed"


def _of_report(path: Path, type_: str) -> Iterable[Kernel]:
    """Of a binary report, by Nsight Compute's own Python module."""
    try:
        import ncu_report  # type: ignore[import-not-found]
    except ImportError:
        raise InputError(path, "file", "its format needs Nsight Compute's Python module ncu_report (extras/python), which is not in PYTHONPATH; "
                                       "or write a CSV: ncu --import FILE --csv --page raw") from None
    context = ncu_report.load_report(str(path))
    for r in range(context.num_ranges()):
        for a in range(context.range_by_idx(r).num_actions()):
            action = context.range_by_idx(r).action_by_idx(a)

            def value(name: str, action=action) -> float | None:
                metric = action.metric_by_name(name)
                return None if metric is None else metric.as_double() * (1e-9 if name == TIME else 1.0)
            yield _launch(path, action.name(), value, "", type_)


# Google Benchmark


def _of_google(path: Path, asked: Asked) -> list[Kernel]:
    """Each benchmark once, by the median of its repetitions."""
    data = read_json(path)
    entries = data.get("benchmarks") if isinstance(data, dict) else None
    if not isinstance(entries, list) or not all(isinstance(e, dict) for e in entries):
        raise InputError(path, "benchmarks", "not the JSON of Google Benchmark")
    groups: dict[str, list[dict]] = {}
    for entry in entries:
        if entry.get("run_type") != "aggregate" and not entry.get("error_occurred") and is_number(entry.get("real_time")):
            groups.setdefault(str(entry.get("run_name") or entry.get("name")), []).append(entry)
    made = [_benchmark(path, name, group, asked) for name, group in groups.items()]
    if not made:
        raise InputError(path, "benchmarks", "no benchmark without an error in it")
    return made


def _benchmark(path: Path, name: str, group: list[dict], asked: Asked) -> Kernel:
    unit = str(group[0].get("time_unit", "ns"))
    if unit not in SECONDS:
        raise InputError(path, "time_unit", f"'{plain(unit)[:20]}' is no unit of time")
    times = [SECONDS[unit] * float(e["real_time"]) for e in group]
    seconds = median(times)
    if not seconds > 0:
        raise InputError(path, "real_time", f"'{plain(name)[:60]}' has no time")
    made = Kernel(plain(name)[:LONGEST], seconds, _counter(path, group, FLOPS, asked.flops, asked, seconds),
                  _counter(path, group, BYTES, asked.bytes, asked, seconds), len(group), "", tuple(times))
    return made


def _counter(path: Path, group: list[dict], usual: Sequence[str], named: str | None, asked: Asked, seconds: float) -> float | None:
    """The amount of one iteration."""
    name = named or next((n for n in usual if is_number(group[0].get(n))), None)
    if name is None:
        return None
    values = [float(e[name]) for e in group if is_number(e.get(name))]
    if not values:
        raise InputError(path, name, "no benchmark has this counter")
    is_rate = name.endswith("_per_second") or asked.per_second
    amount = median(values) * (seconds if is_rate else 1.0)
    return amount if amount > 0 else None


# CSV


def _of_csv(path: Path, rows: list[list[str]]) -> list[Kernel]:
    """Columns name and seconds, with flops, bytes, gflops, gbytes_per_s or intensity; those that follow from others must agree."""
    made = []
    for number, row in enumerate((dict(zip(rows[0], row)) for row in rows[1:] if any(cell.strip() for cell in row)), 2):
        values = {key: _cell(path, number, key, row) for key in ("seconds", "flops", "bytes", "gflops", "gbytes_per_s", "intensity")}
        seconds = values["seconds"]
        if seconds is None or not seconds > 0:
            raise InputError(path, f"line {number}", "it has no time above 0")
        made.append(_consistent(path, number, Kernel(plain(row["name"])[:LONGEST] or "unnamed", seconds, values["flops"], values["bytes"]), values))
    if not made:
        raise InputError(path, "rows", "no kernel in it")
    return made


def _cell(path: Path, number: int, key: str, row: Mapping[str, str]) -> float | None:
    text = (row.get(key) or "").strip()
    try:
        value = float(text) if text else None
    except ValueError:
        value = math.nan
    if value is not None and not (math.isfinite(value) and value >= 0):
        raise InputError(path, f"line {number}, {key}", f"'{plain(text)[:40]}' is no number from 0 on")
    return value


def _consistent(path: Path, number: int, kernel: Kernel, values: Mapping[str, float | None]) -> Kernel:
    """With operations and bytes from rates where they are not given."""
    where = f"line {number}"
    rate, bandwidth, intensity = values["gflops"], values["gbytes_per_s"], values["intensity"]
    agree(path, f"{where}, gflops", kernel.gflops, rate)
    agree(path, f"{where}, gbytes_per_s", kernel.gbytes, bandwidth)
    flops = kernel.flops if kernel.flops is not None else rate and rate * 1e9 * kernel.seconds
    bytes_ = kernel.bytes if kernel.bytes is not None else bandwidth and bandwidth * 1e9 * kernel.seconds
    if flops and intensity and bytes_ is None:
        bytes_ = flops / intensity
    made = replace(kernel, flops=flops, bytes=bytes_)
    agree(path, f"{where}, intensity", made.intensity, intensity)
    return made
