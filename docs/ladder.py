"""The README's ladder, from the recorded results: ``python3 docs/ladder.py`` writes it, a test compares it."""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from report.data import statistics
from report.data.load import load
from report.data.records import Point

RESULTS = ROOT / "experiments" / "recorded" / "nvidia-h200" / "matmul_ladder.json.gz"
N = 8192
RUNGS = ("naive", "tiled", "register_1d", "register_2d", "vectorised", "prefetch", "tma", "top")
LIBRARIES = ("cublas", "cublaslt")
BEGIN, END = "<!-- Written by `python3 docs/ladder.py`. -->\n", "\n<!-- The end of what is written. -->"


def table() -> str:
    """The ladder of FP32 products at N, as Markdown: rate, operations per byte and speed relative to the faster library."""
    run = load(RESULTS)
    points: dict[str, Point] = {}
    for point in run.points:
        if point.is_timed and point.n == N and point.mode == "hot" and point.kernel.name.startswith("gpu/matmul/"):
            name = point.kernel.name.rpartition("/")[2]
            points[name] = max(points.get(name, point), point, key=lambda p: p.gflops)
    library = max((points[name] for name in LIBRARIES), key=lambda p: p.gflops)
    lines = [f"FP32 products of N = {N} on an {run.machine('gpu').label}, measured on {run.context['date'][:10]}; OP/B are the "
             f"operations per byte that the kernel's code requests.", "",
             f"| rung | TFLOP/s | OP/B | × {library.kernel.title} | idea |", "|---|---|---|---|---|"]
    for name in (*RUNGS, library.kernel.name.rpartition("/")[2]):
        point = points[name]
        requested = f"{point.requested_intensity:.3g}" if point.requested_intensity else "–"
        lines.append(f"| {point.kernel.title} | {point.gflops / 1000:.1f} | {requested} | {statistics.times_as_fast(point, library):.2f} | "
                     f"{point.kernel.idea} |")
    return "\n".join(lines)


def main() -> int:
    path = ROOT / "README.md"
    text = path.read_text(encoding="utf-8")
    path.write_text(re.sub(f"(?<={re.escape(BEGIN)}).*(?={re.escape(END)})", lambda _: table(), text, flags=re.DOTALL),
                    encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
