"""The best code of each side: recomputed from the raw samples of the recorded results, without anything of the report."""

import gzip
import json
import tomllib
from collections import defaultdict
from dataclasses import replace
from statistics import median

import pytest
from conftest import RECORDED

from report.data.collect import collect
from report.data.sides import of_views
from report.data.sides import question as question_of

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


def ladders():
    """(experiment, family, type) of every ladder that is declared."""
    found = set()
    for file in (RECORDED.parent).glob("*.toml"):
        report = tomllib.loads(file.read_text(encoding="utf-8")).get("report", {})
        if isinstance(report, dict) and "family" in report:
            found |= {(file.stem, report["family"], t) for t in (report.get("type"), *(b["type"] if isinstance(b, dict) else b for b in report.get("beside", ())))}
    return found


def best_of(folder):
    """(family, type, question, N) → side → (seconds, kernel), both of one host: one whose best codes are of both sides' ladders;
    among these, or where there is none, the host whose two times are nearest to the best of all hosts. If several experiments
    measured a kernel there, the one whose ladder it is on counts."""
    found = defaultdict(list)
    for file in sorted(folder.glob("*.json*")):
        data = raw(file)
        if not isinstance(data, dict) or "benchmarks" not in data or "context" not in data:
            continue
        kernels, samples, first = data["context"].get("kernels", {}), defaultdict(list), {}
        experiment, host = data["context"]["experiment"], data["context"]["gpu_uuid"]
        undisturbed = {e["name"] for e in data["benchmarks"] if not e.get("disturbed")}
        for entry in filter(lambda e: counts(e, kernels), data["benchmarks"]):
            first.setdefault(entry["name"], entry)
            if not entry.get("disturbed") or entry.get("stop_reason") == "disturbed" or entry["name"] not in undisturbed:
                samples[entry["name"]].append(entry["real_time"] * SECONDS[entry["time_unit"]])
        for name, times in samples.items():
            entry = first[name]
            ns = {v for k, v in entry["sizes"].items() if k in ("m", "n", "k")}
            if len(ns) == 1 and not isinstance(n := ns.pop(), str):
                side, family, _ = entry["kernel"].split("/")
                key = family, kernels[entry["kernel"]]["type"], question(entry), n
                thing = (key, host), side, entry["kernel"], str(sorted(entry["tunables"].items())), entry["threads"]
                found[thing].append(((experiment, family, key[1]) in LADDERS, median(times), entry["kernel"]))
    best = defaultdict(dict)
    for (key, side, *_), some in found.items():
        for is_own, seconds, kernel in some:
            if is_own or not any(other for other, *_ in some):
                best[key][side] = min(best[key].get(side, (float("inf"), "", False)), (seconds, kernel, is_own))
    of_hosts = defaultdict(list)
    for (key, _), sides in best.items():
        of_hosts[key].append(sides)
    least = {key: {side: min(h[side][0] for h in hosts if side in h) for h in hosts for side in h} for key, hosts in of_hosts.items()}
    both = {key: [h for h in hosts if len(h) == 2] for key, hosts in of_hosts.items()}
    return {key: min(hosts, key=lambda h: (not (h["cpu"][2] and h["gpu"][2]), h["cpu"][0] * h["gpu"][0] / least[key]["cpu"] / least[key]["gpu"]))
            for key, hosts in both.items() if hosts}


LADDERS = ladders()


@pytest.mark.long
@pytest.mark.parametrize("machine", ("nvidia-h200", "nvidia-h100"))
def test_every_speed_up_is_that_of_the_raw_samples(machine):
    expected = best_of(RECORDED / machine)
    found = {(family, type_, rest, pair.n): pair for (family, type_, rest), sides in of_views(collect([RECORDED / machine], []).views).items()
             for pair in sides.pairs}
    assert len(found) > 100 and found.keys() == expected.keys()
    assert len({pair.gpu.board for pair in found.values()}) > 1, "the recorded sets are of several boards"
    for key, pair in found.items():
        assert pair.cpu.board == pair.gpu.board, key
        (cpu, cpu_kernel, _), (gpu, gpu_kernel, _) = expected[key]["cpu"], expected[key]["gpu"]
        assert pair.gain().value == pytest.approx(cpu / gpu), key
        assert (pair.cpu.point.kernel.name, pair.gpu.point.kernel.name) == (cpu_kernel, gpu_kernel), key


@pytest.mark.long
@pytest.mark.parametrize("family, type_", (("heat", "fp32"), ("matmul", "bf16"), ("matmul", "fp32")))
def test_no_start_hangs_on_one_kernel_at_one_size(family, type_):
    """For the recorded H200: with any kernel left out at any size, if others were measured there and the two sides are not
    about equally fast."""
    views = [replace(v, host={side: replace(part, points=tuple(p for p in part.points if p.kernel.family == family and p.kernel.type == type_))
                              for side, part in v.host.items()}) for v in collect([RECORDED / "nvidia-h200"], []).views]
    views = [v for v in views if any(part.points for part in v.host.values())]
    whole = max(of_views(views).items(), key=lambda item: len(item[1].pairs))
    key, starts = whole[0], [whole[1].start(copies) for copies in (False, True)]
    assert all(start.at for start in starts)
    points = {(p.kernel.name, p.n) for v in views for part in v.host.values() for p in part.points if question_of(p) == key[2]}
    alone = {(side, n) for side in ("cpu", "gpu") for n in {n for _, n in points} if sum(name.startswith(side) and m == n for name, m in points) == 1}
    near = {pair.n for pair in whole[1].pairs for gain in (pair.gain(), pair.moved) if gain and gain.low < 1.1 and gain.high > 1 / 1.1}
    left_out = sorted((name, n) for name, n in points if n and (name[:3], n) not in alone and n not in near)
    assert len(left_out) > 15 and len(near) <= 3
    for name, n in left_out:
        fewer = [replace(v, host={side: replace(part, points=tuple(p for p in part.points if (p.kernel.name, p.n) != (name, n)))
                                  for side, part in v.host.items()}) for v in views]
        assert [of_views(fewer)[key].start(copies).at for copies in (False, True)] == [start.at for start in starts], (name, n)
