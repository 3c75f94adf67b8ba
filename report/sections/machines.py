"""Appendix: the machines and their roofs, each with its spread, date and run."""

from __future__ import annotations

from report.data.collect import Study
from report.data.reading import is_number, plain_name
from report.data.records import SIDE_NAME
from report.data.roofs import Roof
from report.data.view import Part
from report.experiment import Column, Table, numbers, words
from report.sections import checks, repeats, samples
from report.text import blocks


def section(study: Study) -> tuple[list[dict], list[Table]]:
    """Blocks on the machines, and the tables of roofs."""
    made = []
    for part in _machines(study):
        rows = _cpu_rows(part.run.context) if part.side == "cpu" else _gpu_rows(part.run.context)
        made += [blocks.subheading(f"{SIDE_NAME[part.side]}: {part.machine.label}"), blocks.pairs(rows)]
    reasons = sorted({str(p.run.context["gpu_unavailable"]) for p in study.parts if p.run.context.get("gpu_unavailable")})
    if reasons:
        made.append(blocks.paragraph(f"No GPU was measured with the CPU’s runs ({'; '.join(reasons)})."))
    return made, [table for table in (*(_roofs(study, side) for side in ("gpu", "cpu")), checks.table(study), *repeats.table(study), *samples.table(study)) if table]


def _machines(study: Study) -> list[Part]:
    """One part for each kind of machine that was timed."""
    found = {(p.side, p.machine.name): p for p in reversed(study.parts) if any(x.is_timed for x in p.points)}
    return [found[key] for key in sorted(found, reverse=True)]


def _roofs(study: Study, side: str) -> Table | None:
    judged: dict[Roof, set[str]] = {}
    for view in study.views:
        for part in (*view.timed_parts, *view.others):
            for roof in part.roofs.all if part.side == side else ():
                judged.setdefault(roof, set()).add(view.name)
    rows = [_row(roof, names) for roof, names in judged.items()]
    rows.sort(key=lambda r: (r["machine"], -(r["threads"] or 0), r["is_bandwidth"], -r["value"], r["label"]))
    columns = (Column("label", "roof", right=False), Column("machine", "machine", right=False), Column("threads", "threads"),
               Column("median", "best run"), Column("interval", "95\u00a0% interval"), Column("least", "lowest run"),
               Column("runs", "runs"), Column("clock_mhz", "MHz", "{:.0f}".format), Column("samples", "n"), Column("day", "date", right=False),
               Column("file", "run", right=False, wide=True))
    several = len({row["machine"] for row in rows if row["machine"]}) > 1
    known = [c for c in columns if any(row.get(c.key) is not None for row in rows) and (several or c.key != "machine")]
    return Table(
        f"roofs_{side}", f"Roofs of the {SIDE_NAME[side]}, by variant: arithmetic by data type, memory by level and pattern. Of all "
        "runs of a machine the highest median is its roof for all of them, given with its interval within that run; the lowest run is given with it; n: samples, *: unsettled."
        + (" MHz: the multiprocessors’ mean clock." if side == "gpu" else ""), known, rows) if rows else None


def _row(roof: Roof, names: set[str]) -> dict:
    text = numbers.bandwidth if roof.is_bandwidth else numbers.flops
    return {"label": roof.label if roof.measured else f"{roof.label}, data sheet", "type": roof.type,
            "threads": roof.threads, "value": roof.value, "median": text(roof.value),
            "interval": numbers.interval((roof.low, roof.high)) if roof.low and roof.high else None,
            "machine": roof.machine, "kernel": roof.kernel, "least": text(roof.lowest) if len(roof.readings) > 1 else None,
            "lowest": roof.lowest if roof.measured else None, "runs_differ": roof.is_apart, "runs": len(roof.readings) or None, "clock_mhz": roof.clock_mhz,
            "power_w": roof.power_w,
            "low": roof.low, "high": roof.high, "minimum": roof.minimum, "maximum": roof.maximum,
            "n": roof.n or None, "samples": roof.n and f"{roof.n}{'' if roof.settled else '*'}" or None, "settled": roof.settled, "left_out": roof.left_out, "median_of_all": roof.of_all, "day": roof.day, "file": plain_name(roof.run), "run": roof.run,
            "is_bandwidth": roof.is_bandwidth, "unit": "GB/s" if roof.is_bandwidth else "GFLOP/s",
            "judges": words.joined(sorted(names))}


def _number(context: dict, key: str) -> float | None:
    value = context.get(key)
    return value if is_number(value) else None


def _cpu_rows(c: dict) -> list[tuple[str, object]]:
    memory = _number(c, "memory_bytes")
    omp = ", ".join(f"{name} {c[key]}" for key, name in (("omp_num_threads", "threads"), ("omp_proc_bind", "bind"),
                                                         ("omp_places", "places")) if c.get(key) not in (None, ""))
    return [("cores; threads used", f"{c.get('cpu_cores', '?')}; {c.get('cpu_threads', '?')}"),
            ("SIMD", c.get("cpu_simd")), ("caches", _caches(c.get("caches"))),
            ("memory", numbers.binary(memory) if memory else None), ("OpenMP", omp),
            ("BLAS", f"{c.get('blas_name', '')} {c.get('blas_version', '')}".strip()
             + (f", code for {c['blas_core']}" if c.get("blas_core") else "")),
            ("compiler", f"{c.get('cxx_compiler', '')} {c.get('cxx_flags', '')}".strip()),
            ("virtual machine", _yes_or_no(c.get("virtualised")))]


def _yes_or_no(value: object) -> str | None:
    return ("yes" if value else "no") if value in (True, False) else None


def _caches(caches: object) -> str | None:
    if not isinstance(caches, list):
        return None
    parts = [f"L{c.get('level', '?')} {str(c.get('type', '')).lower()} {numbers.binary(c['size'])}"
             for c in caches if isinstance(c, dict) and is_number(c.get("size"))]
    return ", ".join(parts) or None


def _link(c: dict) -> str | None:
    """'PCIe 5.0, 16 lanes, 63 GB/s each way by the data sheet'."""
    generation, lanes, rate = (_number(c, f"gpu_pcie_{k}") for k in ("generation", "lanes", "gbytes_per_s"))
    if not generation or not lanes:
        return None
    return f"PCIe {generation:.0f}.0, {lanes:.0f} lanes" + (
        f", {numbers.bandwidth(rate)} each way by the data sheet" if rate else "")


def _gpu_rows(c: dict) -> list[tuple[str, object]]:
    clock, memory_clock = _number(c, "gpu_clock_khz"), _number(c, "gpu_mem_clock_khz")
    width, l2, memory = (_number(c, f"gpu_{k}") for k in ("mem_bus_width_bits", "l2_bytes", "memory_bytes"))
    capability = f"{c.get('gpu_compute_capability_major', '?')}.{c.get('gpu_compute_capability_minor', '?')}"
    return [("multiprocessors", c.get("gpu_sm_count")), ("compute capability", capability),
            ("clock (maximum by the driver)", f"{clock / 1e3:.0f}\u00a0MHz" if clock else None),
            ("memory", numbers.binary(memory) if memory else None),
            ("memory bus", f"{width:.0f}\u00a0bits, {memory_clock / 1e3:.0f}\u00a0MHz" if width and memory_clock
             else None),
            ("L2 cache", numbers.binary(l2) if l2 else None), ("link to the host", _link(c)),
            ("copy engines", c.get("gpu_copy_engines")),
            ("driver; CUDA run time", f"{c.get('gpu_driver', '?')}; {c.get('gpu_cuda_runtime', '?')}"),
            ("compiler", f"{c.get('cuda_compiler', '')} {c.get('cuda_flags', '')}".strip())]
