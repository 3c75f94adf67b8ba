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
from report.sections.steps import CLEARLY

RESULTS = ROOT / "experiments" / "recorded" / "nvidia-h200" / "matmul_ladder.json.gz"
N = 8192
BEGIN, END = "<!-- Written by `python3 docs/ladder.py`. -->\n", "\n<!-- The end of what is written. -->"


def table() -> str:
    """The ladder of FP32 products at N, as Markdown: rate, operations per byte and speed relative to the faster library."""
    run = load(RESULTS)
    measured = [p for p in run.points if p.is_timed and p.n == N and p.mode == "hot" and p.kernel.side == "gpu"
                and (p.kernel.family, p.kernel.type) == ("matmul", "fp32")]
    library = max((p for p in measured if p.kernel.is_library), key=lambda p: p.gflops)
    own = sorted((p for p in measured if not p.kernel.is_library), key=lambda p: (p.kernel.order, -p.gflops))
    fastest = max(own, key=lambda p: p.gflops)
    rungs: list[Point] = []
    for point in own:
        if not rungs or point is fastest or statistics.times_as_fast(point, rungs[-1]) >= CLEARLY:
            rungs.append(point)
    lines = [f"FP32 products of N = {N} on an {run.machine('gpu').name}, measured on {run.context['date'][:10]}. OP/B are the operations "
             f"per byte that the kernel's code requests. Left out are rungs that are less than {CLEARLY} times as fast as the rung above.",
             "", f"| rung | TFLOP/s | OP/B | × {library.kernel.title} | idea |", "|---|---|---|---|---|"]
    for point in (*rungs, library):
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
