"""How fast Numba's CUDA simulator runs the 16-wide tiled product, and what it reports: ``tiled_numba.py [N]``, N = 64.

Prints JSON. Needs the Python packages numba and numpy. Exit codes: 0 measured, 1 a result was wrong, 2 no Numba.
"""

from __future__ import annotations

import json
import os
import sys
import time
import warnings

os.environ["NUMBA_ENABLE_CUDASIM"] = "1"  # read when numba is imported
try:
    import numba
    import numpy
    from numba import cuda, float32
except ImportError as error:
    print(f"tiled_numba.py: {error}", file=sys.stderr)
    sys.exit(2)

from product import TILE, accesses, inputs, product

RUNS = 3


def kernel(has_barrier: bool, fills_all: bool):
    """The kernel of gpu/matmul/tiled.cu; or with one of two faults."""
    @cuda.jit
    def tiled(a, b, c, n):
        left = cuda.shared.array((TILE, TILE), float32)
        right = cuda.shared.array((TILE, TILE), float32)  # the simulator distinguishes arrays by their lines
        tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
        row = cuda.blockIdx.y * TILE + ty
        col = cuda.blockIdx.x * TILE + tx
        total = float32(0)
        for phase in range(n // TILE):
            left[ty, tx] = a[row, phase * TILE + tx]
            if fills_all or ty > 0:
                right[ty, tx] = b[phase * TILE + ty, col]
            if has_barrier:
                cuda.syncthreads()
            for i in range(TILE):
                total += left[ty, i] * right[i, tx]
            cuda.syncthreads()
        c[row, col] = total
    return tiled


def run(tiled, n: int) -> tuple[bool, str, float, float]:
    """Whether the product is right, the simulator's messages, and its seconds and processor seconds."""
    a, b = (numpy.array(matrix, numpy.float32) for matrix in inputs(n))
    c = numpy.full((n, n), numpy.nan, numpy.float32)
    said = ""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        start, processor_start = time.perf_counter(), time.process_time()
        try:
            tiled[(n // TILE, n // TILE), (TILE, TILE)](a, b, c, n)
        except Exception as error:  # of any type: it may have noticed something
            said = str(error)
        seconds, processor_seconds = time.perf_counter() - start, time.process_time() - processor_start
    said += " ".join(str(w.message) for w in heard)
    return bool((c == numpy.array(product(*inputs(n)))).all()), said.lower(), seconds, processor_seconds


def main(arguments: list[str]) -> int:
    n = int(arguments[0]) if arguments else 64
    tiled = kernel(has_barrier=True, fills_all=True)
    outcomes = [run(tiled, n) for _ in range(RUNS)]
    if not all(right for right, *_ in outcomes):
        print("tiled_numba.py: the product is wrong", file=sys.stderr)
        return 1
    # It counts nothing: the answer is all there is.
    told = {"race": "race" in run(kernel(has_barrier=False, fills_all=True), TILE)[1],
            "uninitialised": "initiali" in run(kernel(has_barrier=True, fills_all=False), TILE)[1],
            "accesses": False, "sectors": False}
    # One core on any machine: only one of Python's threads runs at a time.
    rows = [{"mode": "answer", "n": n, "threads": 1, "accesses": accesses(n),
             "seconds": [seconds for *_, seconds, _ in outcomes],
             "processor_seconds": [seconds for *_, seconds in outcomes]}]
    print(json.dumps({"tool": f"Numba {numba.__version__}, CUDA simulator", "rows": rows, "told": told}, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
