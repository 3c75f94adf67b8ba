#!/usr/bin/env python3
"""Quality of the choice of a shape: for each kernel of experiments/tuning/wgmma.toml, the slow-down of the shape that it
chooses ("best") against the fastest shape, and the slow-down of the shape that is the fastest at the nearest other size.

    build/rung run --full experiments/tuning/wgmma.toml
    python3 experiments/tuning/choices.py results/HOST/*-wgmma/wgmma.json
"""

import collections
import json
import math
import statistics
import sys

CHOSEN = "best"
Times = dict[tuple[int, ...], dict[str, float]]


def times(result: dict) -> dict[str, Times]:
    """The median seconds by kernel, size (m, n, k) and shape."""
    samples = collections.defaultdict(list)
    for entry in result["benchmarks"]:
        shape = entry.get("tunables", {}).get("shape")
        if shape and entry.get("iterations"):
            samples[entry["kernel"], tuple(entry["sizes"][k] for k in "mnk"), shape].append(entry["real_time"] * 1e-9)
    found: dict[str, Times] = collections.defaultdict(lambda: collections.defaultdict(dict))
    for (kernel, size, shape), values in samples.items():
        found[kernel][size][shape] = statistics.median(values)
    return found


def losses(by_size: Times) -> dict[tuple[int, ...], float]:
    """The time of the chosen shape over the time of the fastest shape, by size."""
    return {size: of[CHOSEN] / min(of.values()) for size, of in by_size.items() if CHOSEN in of and len(of) > 1}


def losses_by_nearest(by_size: Times) -> dict[tuple[int, ...], float]:
    """The same for the shape that is the fastest at the nearest other size, by the sum of |log(length / its length)|."""
    found = {}
    for size, of in by_size.items():
        others = [other for other in by_size if other != size]
        if not others:
            continue
        nearest = min(others, key=lambda other: sum(abs(math.log(a / b)) for a, b in zip(size, other)))
        ranked = sorted((t, shape) for shape, t in by_size[nearest].items() if shape != CHOSEN and shape in of)
        if ranked:
            found[size] = of[ranked[0][1]] / min(of.values())
    return found


def summary(found: dict[tuple[int, ...], float]) -> str:
    """'2.1 % on average, 9.3 % at most (1152 x 1152 x 1152)'."""
    mean = math.exp(statistics.mean(map(math.log, found.values()))) - 1
    worst = max(found, key=lambda size: found[size])
    return f"{mean:.1%} on average, {found[worst] - 1:.1%} at most ({' x '.join(map(str, worst))})"


def main(arguments: list[str]) -> None:
    if len(arguments) != 1:
        sys.exit(__doc__.strip())
    with open(arguments[0], encoding="utf-8") as file:
        by_kernel = times(json.load(file))
    for kernel, by_size in sorted(by_kernel.items()):
        if chosen := losses(by_size):
            print(f"{kernel}, {len(chosen)} sizes: slower than the fastest shape by {summary(chosen)}; "
                  f"by the nearest other size: {summary(losses_by_nearest(by_size))}")


if __name__ == "__main__":
    main(sys.argv[1:])
