"""How fast Oclgrind runs the 16-wide tiled product, and what it finds: ``tiled_oclgrind.py [N]``, N = 128 at first.

Prints JSON. Needs the commands oclgrind and oclgrind-kernel (Debian: oclgrind). Exit codes: 0 measured, 1 a result was
wrong, 2 Oclgrind is not there or does not run.
"""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from product import TILE, accesses, inputs, product

KERNEL = Path(__file__).parent / "tiled.cl"
RUNS = 3
MODES = {"answer": (), "counting": ("--inst-counts",), "hazards": ("--data-races", "--uninitialized")}


def children_seconds() -> float:
    """Processor time of the programs that were run so far."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


class Failed(Exception):
    """Oclgrind did not run, or the product was wrong."""


def simulation(n: int) -> str:
    """The input file of oclgrind-kernel: the kernel, global and local size, the arguments."""
    a, b = ("\n".join(" ".join(map(str, row)) for row in matrix) for matrix in inputs(n))
    size = 4 * n * n
    return (f"{KERNEL}\ntiled\n{n} {n} 1\n{TILE} {TILE} 1\n<size={size} float>\n{a}\n<size={size} float>\n{b}\n"
            f"<size={size} float fill=1e30 dump>\n<size=4 int>\n{n}\n")


class Simulator:
    """The product of one size, ready to run."""

    def __init__(self, folder: Path, n: int):
        self.n, self.file = n, folder / f"{n}.sim"
        self.file.write_text(simulation(n))

    def run(self, *options: str) -> tuple[str, float, float]:
        """The output, and the seconds and processor seconds from start to end."""
        start, processor_start = time.perf_counter(), children_seconds()
        done = subprocess.run(["oclgrind-kernel", *options, str(self.file)], capture_output=True, text=True)
        seconds, processor_seconds = time.perf_counter() - start, children_seconds() - processor_start
        if done.returncode != 0:
            raise Failed(f"oclgrind-kernel ended with {done.returncode}: {done.stderr[:200]}")
        return done.stdout + done.stderr, seconds, processor_seconds

    def check(self, text: str) -> None:
        found = [float(x) for x in re.findall(r"^\s*c\[\d+\] = (\S+)$", text, re.MULTILINE)]
        if found != [x for row in product(*inputs(self.n)) for x in row]:
            raise Failed("Oclgrind's product is wrong")


def measure(n: int, folder: Path) -> dict:
    """Rows of the modes on one thread and on all. The start-up time, that is the time of a 16 x 16 product, is subtracted."""
    real, start = Simulator(folder, n), Simulator(folder, TILE)
    rows = []
    for mode, options in MODES.items():
        for threads in sorted({1, os.cpu_count() or 1}):
            with_threads = (*options, "--num-threads", str(threads))
            real.check(real.run(*with_threads)[0])
            idle, runs = ([simulator.run(*with_threads)[1:] for _ in range(RUNS)] for simulator in (start, real))
            seconds, processor_seconds = ([run[i] - min(one[i] for one in idle) for run in runs] for i in (0, 1))
            rows.append({"mode": mode, "n": n, "threads": threads, "accesses": accesses(n) - accesses(TILE),
                         "seconds": seconds, "processor_seconds": processor_seconds})
    loads = re.search(r"(\d+) - load local", real.run("--inst-counts")[0])
    told = {
        "race": "data race" in start.run("--data-races", "--build-options", "-DMISSING_BARRIER")[0],
        "uninitialised": "ninitialized" in start.run("--uninitialized", "--build-options", "-DUNFILLED")[0],
        "accesses": bool(loads) and int(loads[1]) == 2 * n**3, "sectors": False,
    }
    return {"tool": version(), "rows": rows, "told": told}


def version() -> str:
    text = subprocess.run(["oclgrind", "--version"], capture_output=True, text=True).stdout
    found = re.search(r"Oclgrind (\S+)", text)
    return f"Oclgrind {found[1]}" if found else "Oclgrind"


def main(arguments: list[str]) -> int:
    if not shutil.which("oclgrind") or not shutil.which("oclgrind-kernel"):
        print("tiled_oclgrind.py: Oclgrind is not installed", file=sys.stderr)
        return 2
    try:
        with tempfile.TemporaryDirectory() as folder:
            print(json.dumps(measure(int(arguments[0]) if arguments else 128, Path(folder)), indent=1))
    except Failed as error:
        print(f"tiled_oclgrind.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
