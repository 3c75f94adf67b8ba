#!/usr/bin/env python3
"""Tunes gpu/matmul/top for the GPU at hand: measures every recipe (experiments/tuning/top.toml) and writes the fastest
at each size to gpu/matmul/tma/engine/top_table.hpp. Build again afterwards.

    python3 experiments/tune.py                 measures with build/rung, then writes the table
    python3 experiments/tune.py RESULT.json …   writes it from existing results
"""

import collections
import json
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

TOP = pathlib.Path(__file__).resolve().parent.parent
TABLE = TOP / "gpu" / "matmul" / "tma" / "engine" / "top_table.hpp"
KERNEL = "gpu/matmul/top"
RECIPE = re.compile(r"\d+x\d+(_[a-z0-9]+)*", re.ASCII)
GPU = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ()._/-]{0,79}", re.ASCII)
CLOSE = 0.005  # recipes within half a per cent are equal

HEADER = """\
/// The fastest recipe of gpu/matmul/top at each size that was tuned. Written by experiments/tune.py.
#pragma once

namespace rung::hopper {{

struct Tuned {{
  int m, n, k;
  const char* recipe;  ///< one of recipe_words()
}};

/// {gpu}
// clang-format off
inline constexpr Tuned kTuned[] = {{
{rows}
}};
// clang-format on

}}  // namespace rung::hopper
"""


def rates(results: list[dict]) -> dict[tuple[int, int, int], dict[str, float]]:
    """The median GFLOP/s of each requested recipe, by size (m, n, k). A failed recipe has no rate."""
    samples = collections.defaultdict(list)
    for result in results:
        for entry in result["benchmarks"]:
            recipe = entry.get("tunables", {}).get("recipe")
            if entry.get("kernel") == KERNEL and recipe != "table" and "gflops" in entry:
                size = tuple(entry["sizes"][name] for name in ("m", "n", "k"))
                samples[size, recipe].append(entry["gflops"])
    found = collections.defaultdict(dict)
    for (size, recipe), values in samples.items():
        found[size][recipe] = statistics.median(values)
    return dict(found)


def checked(size: tuple, recipe: object, gpu: object) -> None:
    """Raises ValueError for an invalid size, recipe or GPU's name: results may come from anywhere, and become code."""
    if not all(type(length) is int and 0 < length < 1 << 31 for length in size):
        raise ValueError(f"not a size: {size!r}")
    if not isinstance(recipe, str) or not RECIPE.fullmatch(recipe):
        raise ValueError(f"not a recipe: {recipe!r}")
    if not isinstance(gpu, str) or not GPU.fullmatch(gpu):
        raise ValueError(f"not a GPU's name: {gpu!r}")


def elements(recipe: str) -> int:
    """Elements of the recipe's tile: "64x128_split_k" has 8192."""
    rows, columns = recipe.split("_")[0].split("x")
    return int(rows) * int(columns)


def fastest(of: dict[str, float]) -> str:
    """Among the recipes within CLOSE of the best one: the one with the largest tile, then the one without an addition."""
    best = max(of.values())
    return min((r for r, rate in of.items() if rate >= best * (1 - CLOSE)), key=lambda r: (-elements(r), len(r), r))


def table(results: list[dict]) -> str:
    """The C++ header. Raises ValueError if nothing was measured, or if the GPUs differ."""
    found = rates(results)
    gpus = {result["context"].get("gpu_name") for result in results}
    if not found or len(gpus) != 1 or None in gpus:
        raise ValueError(f"no rates of {KERNEL} with a recipe from one kind of GPU")
    for size, of in found.items():
        for recipe in of:
            checked(size, recipe, next(iter(gpus)))
    rows = [f'    {{{m}, {n}, {k}, "{fastest(of)}"}},' for (m, n, k), of in sorted(found.items())]
    return HEADER.format(gpu=gpus.pop(), rows="\n".join(rows))


def measure(folder: pathlib.Path) -> list[pathlib.Path]:
    """Runs the tuning experiment and returns its result files."""
    command = [TOP / "build" / "rung", "run", "--full", "--require-gpu", "--outdir", folder, TOP / "experiments/tuning/top.toml"]
    code = subprocess.run(command, check=False).returncode
    if code != 0:
        sys.exit(code)
    return sorted(folder.glob("*/top.json"))


def main(arguments: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        files = [pathlib.Path(name) for name in arguments] or measure(pathlib.Path(folder))
        try:
            text = table([json.loads(file.read_text(encoding="utf-8")) for file in files])
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            sys.exit(f"tune.py: {error}")
    TABLE.write_text(text, encoding="utf-8")
    print(TABLE)


if __name__ == "__main__":
    main(sys.argv[1:])
