"""The best code of each side: recomputed from the raw samples of the recorded results, without anything of the report."""

import gzip
import json
from collections import defaultdict
from statistics import median

import pytest
from conftest import RECORDED

from report.data.collect import collect
from report.data.sides import of_views

SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}


def raw(file):
    return json.loads((gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()).decode())


def question(entry):
    rest = sorted((k, v) for k, v in entry["sizes"].items() if k not in ("m", "n", "k"))
    return (*rest, *((("data", entry["data"]),) if entry.get("data") else ()))


def counts(entry, kernels):
    """Timed hot samples of no roof, on no more threads than cores, by no algorithm that may err more than the usual one."""
    return (entry.get("mode") == "hot" and entry.get("real_time") and not entry.get("skipped") and not entry.get("error_message") and not entry.get("oversubscribed")
            and "error_factor" not in entry and not kernels.get(entry.get("kernel"), {"ceiling": True}).get("ceiling"))


def best_of(folder):
    """(family, type, question, N) → side → (seconds, kernel)."""
    best = defaultdict(dict)
    for file in sorted(folder.glob("*.json*")):
        data = raw(file)
        if not isinstance(data, dict) or "benchmarks" not in data or "context" not in data:
            continue
        kernels, samples, first = data["context"].get("kernels", {}), defaultdict(list), {}
        for entry in filter(lambda e: counts(e, kernels), data["benchmarks"]):
            samples[entry["name"]].append(entry["real_time"] * SECONDS[entry["time_unit"]])
            first.setdefault(entry["name"], entry)
        for name, times in samples.items():
            entry = first[name]
            ns = {v for k, v in entry["sizes"].items() if k in ("m", "n", "k")}
            if len(ns) == 1 and not isinstance(n := ns.pop(), str):
                side, family, _ = entry["kernel"].split("/")
                key = family, kernels[entry["kernel"]]["type"], question(entry), n
                best[key][side] = min(best[key].get(side, (float("inf"), "")), (median(times), entry["kernel"]))
    return {key: sides for key, sides in best.items() if len(sides) == 2}


@pytest.mark.long
@pytest.mark.parametrize("machine", ("nvidia-h200", "nvidia-h100"))
def test_every_speed_up_is_that_of_the_raw_samples(machine):
    expected = best_of(RECORDED / machine)
    found = {(family, type_, rest, pair.n): pair for (family, type_, rest), sides in of_views(collect([RECORDED / machine], []).views).items()
             for pair in sides.pairs}
    assert len(found) > 100 and found.keys() == expected.keys()
    for key, pair in found.items():
        (cpu, cpu_kernel), (gpu, gpu_kernel) = expected[key]["cpu"], expected[key]["gpu"]
        assert pair.gain().value == pytest.approx(cpu / gpu), key
        assert (pair.cpu.point.kernel.name, pair.gpu.point.kernel.name) == (cpu_kernel, gpu_kernel), key
