"""The machines' table and the full record of how the numbers came about."""

from __future__ import annotations

from report import blocks, fmt
from report.records import SIDE_NAME, Study

SHOWN_ELSEWHERE = {"kernels", "caches", "title", "question", "experiment_toml", "executable", "seed", "gpu_unavailable"}
"""Fields of the context that the report shows in another place, or leaves to the results file."""

CPU_FIELDS = {"cpu_name", "cpu_cores", "cpu_threads", "cpu_simd", "memory_bytes", "omp_num_threads", "omp_proc_bind",
              "omp_places", "cpu_l1d_bytes", "cpu_l2_bytes", "cpu_l3_bytes", "blas_name", "blas_version",
              "cxx_compiler", "cxx_flags"}
GPU_FIELDS = {"gpu_name", "gpu_sm_count", "gpu_compute_capability_major", "gpu_compute_capability_minor",
              "gpu_clock_khz", "gpu_mem_clock_khz", "gpu_memory_bytes", "gpu_mem_bus_width_bits", "gpu_l2_bytes",
              "gpu_driver", "gpu_cuda_runtime", "cuda_compiler", "cuda_flags"}
"""Fields that the list of a side's machine shows."""


def section(study: Study) -> list[dict]:
    """What was measured on what, in two short lists."""
    made = [blocks.heading("The machines")]
    for side in study.sides.values():
        made.append(blocks.subheading(f"{SIDE_NAME[side.name]}: {side.machine}"))
        rows = _cpu_rows(side.context) if side.name == "cpu" else _gpu_rows(side.context)
        made.append(blocks.pairs([("measured" if not side.recorded else "recorded", side.days), *rows]))
    for side in study.others:
        made.append(blocks.subheading(f"Another CPU: {side.machine}"))
        made.append(blocks.pairs([("measured" if not side.recorded else "recorded", side.days),
                                  *_cpu_rows(side.context)]))
    reasons = sorted({str(r.context["gpu_unavailable"]) for r in study.runs if r.context.get("gpu_unavailable")
                      and study.cpu and r.machine_of("cpu") == study.cpu.machine})
    if reasons and (not study.gpu or study.gpu.recorded):
        shown = f"; GPU timings are {study.gpu.label}." if study.gpu else ". No recorded GPU timings were given either."
        made.append(blocks.paragraph(f"No GPU was measured here ({'; '.join(reasons)}){shown}"))
    elif not study.gpu:
        made.append(blocks.paragraph("The results hold no GPU timings, and no recorded ones were given."))
    if not study.cpu:
        made.append(blocks.paragraph("The results hold no CPU timings."))
    return made


def _number(context: dict, key: str) -> float | None:
    value = context.get(key)
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _cpu_rows(c: dict) -> list[tuple[str, object]]:
    memory = _number(c, "memory_bytes")
    omp = ", ".join(f"{name} {c[key]}" for key, name in (("omp_num_threads", "threads"), ("omp_proc_bind", "bind"),
                                                         ("omp_places", "places")) if c.get(key) not in (None, ""))
    return [("cores; threads used", f"{c.get('cpu_cores', '?')}; {c.get('cpu_threads', '?')}"),
            ("SIMD", c.get("cpu_simd")), ("caches", _caches(c.get("caches"))),
            ("memory", fmt.binary(memory) if memory else None), ("OpenMP", omp),
            ("BLAS", f"{c.get('blas_name', '')} {c.get('blas_version', '')}".strip()),
            ("compiler", f"{c.get('cxx_compiler', '')} {c.get('cxx_flags', '')}".strip())]


def _caches(caches: object) -> str | None:
    if not isinstance(caches, list):
        return None
    parts = [f"L{c.get('level', '?')} {str(c.get('type', '')).lower()} {fmt.binary(c['size'])}"
             for c in caches if isinstance(c, dict) and isinstance(c.get("size"), int)]
    return ", ".join(parts) or None


def _gpu_rows(c: dict) -> list[tuple[str, object]]:
    clock, memory_clock = _number(c, "gpu_clock_khz"), _number(c, "gpu_mem_clock_khz")
    width, l2, memory = (_number(c, f"gpu_{k}") for k in ("mem_bus_width_bits", "l2_bytes", "memory_bytes"))
    capability = f"{c.get('gpu_compute_capability_major', '?')}.{c.get('gpu_compute_capability_minor', '?')}"
    return [("multiprocessors", c.get("gpu_sm_count")), ("compute capability", capability),
            ("clock (maximum)", f"{clock / 1e3:.0f} MHz" if clock else None),
            ("memory", fmt.binary(memory) if memory else None),
            ("memory bus", f"{width:.0f} bits, {memory_clock / 1e3:.0f} MHz" if width and memory_clock else None),
            ("L2 cache", fmt.binary(l2) if l2 else None),
            ("driver; CUDA run time", f"{c.get('gpu_driver', '?')}; {c.get('gpu_cuda_runtime', '?')}"),
            ("compiler", f"{c.get('cuda_compiler', '')} {c.get('cuda_flags', '')}".strip())]
