"""Synthetic result files of schema 2 for the report's tests. Every machine is called 'Synthetic …', so that no
reader takes their values for measurements. The same calls write the same bytes."""

import copy
import json
import math
from pathlib import Path

CPU, GPU = "Synthetic CPU", "Synthetic GPU"
DAY = "2026-02-03T09:30:00+00:00"
PEAK, DRAM = 1000.0, 100.0
"""GFLOP/s and GB/s of the synthetic GPU; the CPU has a tenth, one of its four threads a fortieth."""


def write(path: Path, data: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(data, ensure_ascii=False), encoding="utf-8")
    return path


def noise(i: int) -> float:
    """Between 0 and 0.4 %, skewed, the same for the same sample."""
    return 0.004 * ((i * 7919 + 5) % 13 / 13) ** 2


class Run:
    """A results file under construction."""

    def __init__(self, experiment: str, **context):
        self.context = {
            "schema_version": 2, "experiment": experiment, "title": f"Title of {experiment}", "question": "Is it so?",
            "date": DAY, "complete": True, "cpu_name": CPU, "cpu_cores": 4, "cpu_threads": 4, "gpu_name": GPU,
            "gpu_uuid": "GPU-12345678", "gpu_sm_count": 10, "seed": 1, "kernels": {}, "problems": {
                "matmul": {"title": "Matrix multiplication", "metric": {"key": "gflops", "unit": "GFLOP/s"},
                           "size_names": ["m", "n", "k"]}}} | context
        self.benchmarks: list[dict] = []

    def kernel(self, name: str, **record) -> str:
        side, family, variant = name.split("/")
        self.context["kernels"][name] = {
            "title": variant.replace("_", " "), "idea": "An idea.", "source": [{"id": "pmpp", "where": "section 5.1"}],
            "order": 10 * len(self.context["kernels"]), "side": side, "family": family, "type": "fp32",
            "is_library": False} | record
        return name

    def entry(self, kernel: str, sizes: dict, tunables: dict, **fields) -> dict:
        if kernel not in self.context["kernels"]:
            self.kernel(kernel)
        words = {**tunables, **({"n": sizes["n"]} if set(sizes.values()) == {sizes.get("n")} else sizes)}
        name = fields.pop("name", "/".join([kernel, *(f"{k}:{v}" for k, v in words.items())]))
        return {"name": name, "run_name": name, "kernel": kernel, "mode": "hot", "sizes": sizes, "tunables": tunables,
                "threads": 4 if kernel.startswith("cpu/") else 1, "time_unit": "ns", "run_type": "iteration"} | fields

    def time(self, kernel: str, seconds: float, sizes=512, tunables=None, count: int = 12, times=None, **fields) -> None:
        """A timed point with these seconds per call; by default a square of 512. Interleaved points of one side, size, data set
        and number of threads form one group."""
        sizes = {"m": sizes, "n": sizes, "k": sizes} if isinstance(sizes, int) else sizes
        if "interleaved_with" in fields:
            alike = kernel.split("/")[0], *sizes.values(), *(fields.get(key, "") for key in ("data", "mode", "threads"))
            fields = {"interleave_group": " ".join(map(str, alike))} | fields
        for i in range(len(times or ()) or count):
            t = times[i] if times else seconds * (1 + noise(i))
            self.benchmarks.append(self.entry(kernel, sizes, tunables or {}, **{
                "repetition_index": i, "iterations": 1, "real_time": t * 1e9, "cpu_time": t * 1e9,
                "stop_reason": "converged", "max_error_ratio": 0.1, "watched_seconds": t} | fields))

    def rate(self, kernel: str, gflops: float, n: int = 512, **fields) -> None:
        """A timed product of n × n matrices."""
        flops = 2 * n**3
        self.time(kernel, flops / gflops / 1e9, n, **{
            "flops_useful": flops, "bytes_min": 12 * n * n, "bytes_declared_loaded": 8 * n**3,
            "op_per_byte_declared": 0.25} | fields)

    def roofs(self, side: str, threads=(), factor: float = 1.0) -> None:
        """Peak and DRAM bandwidth; on a CPU for each number of threads."""
        whole = 1.0 if side == "gpu" else 0.1
        for label, value, is_bandwidth in (("FP32 FMA", PEAK, False), ("DRAM read", DRAM, True), ("L2", 4 * DRAM, True)):
            name = self.kernel(f"{side}/ceiling/{label.lower().replace(' ', '_')}",
                               ceiling={"label": label, "is_bandwidth": is_bandwidth})
            for t in threads or (4 if side == "cpu" else 1,):
                rate = value * factor * whole * (t / 4 if side == "cpu" else 1)
                key = "bytes_min" if is_bandwidth else "flops_useful"
                self.time(name, 0.001, {"bytes": 1000}, threads=t, name=f"{name}/bytes:1000/threads:{t}", **{key: rate * 1e6})

    def count(self, kernel: str, sizes=64, tunables=None, **counters) -> None:
        """A counted point."""
        sizes = {"m": sizes, "n": sizes, "k": sizes} if isinstance(sizes, int) else sizes
        self.benchmarks.append(self.entry(kernel, sizes, tunables or {}, real_time=1e6, cpu_time=1e6) | {"mode": "count"}
                               | counters)
        for key in ("name", "run_name"):
            self.benchmarks[-1][key] = f"count/{self.benchmarks[-1][key]}"

    def skip(self, kernel: str, reason: str, n: int = 512) -> None:
        self.benchmarks.append(self.entry(kernel, {"m": n, "n": n, "k": n}, {}) | {"skipped": True, "skip_message": reason})

    def data(self) -> dict:
        return copy.deepcopy({"context": self.context, "benchmarks": self.benchmarks})

    def save(self, folder: Path, name: str = "") -> Path:
        return write(folder / f"{name or self.context['experiment']}.json", self.data())


def ladder(side: str = "gpu", experiment: str = "", factor: float = 1.0, sizes=(256, 512), **context) -> Run:
    """Three rungs and a library at every size, under roofs of their own run, interleaved."""
    run = Run(experiment or ("matmul_ladder" if side == "gpu" else "cpu_ladder"), **context)
    whole = (1.0 if side == "gpu" else 0.1) * factor
    run.roofs(side, (1, 4) if side == "cpu" else ())
    for n in sizes:
        for i, (variant, rate, tunables) in enumerate((("naive", 100, {}), ("tiled", 300, {"tile": 16}), ("top", 800, {}))):
            run.kernel(f"{side}/matmul/{variant}", order=100 + 10 * i)
            run.rate(f"{side}/matmul/{variant}", rate * whole, n, tunables=tunables, interleaved_with=3,
                     transfer_seconds=1e-4, occupancy_theoretical=1 - 0.3 * i, threads_per_block=256,
                     op_per_byte_declared=0.25 * 4**i)
        run.kernel(f"{side}/matmul/library", order=200, title="Library", is_library=True)
        run.rate(f"{side}/matmul/library", 700 * whole, n, interleaved_with=3)
    return run


def study(folder: Path) -> Path:
    """A small study of both sides, with an experiment that has no .py."""
    ladder("gpu").save(folder)
    ladder("cpu").save(folder)
    run = Run("vectors", problems={"vector": {"title": "Vectors", "metric": {"key": "cells_per_s", "unit": "cell/s"},
                                              "size_names": ["n"]}})
    for n in (1000, 10_000, 100_000):
        run.time("gpu/vector/add", n * 1e-9, {"n": n}, cells_per_s=1e9, judged={"max_ulp": math.log10(n)})
    run.save(folder)
    return folder
