"""Kernels over sizes on a roofline of compulsory bytes: shared by the CPU's roofline and by the common one."""

from __future__ import annotations

from collections import Counter

from report import derive
from report.paper import Paper
from report.records import Point, Side


def lines(side: Side, family: str) -> list[list[Point]]:
    """For each kernel, its points in its best variant, by size; kernels in the ladder's order."""
    made = []
    for group in derive.by_kernel([p for p in derive.timed(side, family) if p.n]).values():
        largest = max(p.n for p in group)
        best = derive.fastest([p for p in group if p.n == largest])
        made.append(sorted((p for p in group if p.tunables == best.tunables), key=lambda p: p.n))
    return made


def usual(shown: list[list[Point]]) -> list[int]:
    """The sizes that at least half of the kernels were measured at."""
    counts = Counter(p.n for line in shown for p in line)
    return sorted(n for n, count in counts.items() if 2 * count >= len(shown))


def segments(points: list[Point], sizes: list[int]) -> list[list[Point]]:
    """The line cut where one of these sizes was not measured: a gap, not an interpolation."""
    runs: list[list[Point]] = [[]]
    by_size = {p.n: p for p in points}
    for n in sorted({*sizes, *by_size}):
        if n in by_size:
            runs[-1].append(by_size[n])
        elif runs[-1]:
            runs.append([])
    return [run for run in runs if run]


def table(side: Side, shown: list[list[Point]]) -> list[dict]:
    """CSV rows: one for each point."""
    made = []
    for points in shown:
        for p in points:
            ends = p.gflops_interval or (None, None)
            made.append({"side": side.name, "kernel": p.kernel.name, "title": p.title,
                         "precision": p.kernel.precision, "n": p.n, "mode": p.mode, "threads": p.threads,
                         "op_per_byte_compulsory": p.intensity("bytes_min"), "gflops": p.gflops,
                         "gflops_low": ends[0], "gflops_high": ends[1], "samples": p.summary.n,
                         "settled": int(p.settled)})
    return made


def draw_line(ax, points: list[Point], sizes: list[int], x_of, look: dict, sheet: Paper | None = None) -> None:
    """One kernel: segments between neighbouring sizes, intervals, and hollow markers where unsettled.

    What was drawn is noted on the paper, if one is given.
    """
    from report import labels
    for run in segments(points, sizes):
        ax.plot([x_of(p) for p in run], [p.gflops for p in run], color=look["color"], linestyle=look["linestyle"],
                zorder=3)
        ends = [labels.to_points(ax, x_of(p), p.gflops) for p in run]
        for start, end in zip(ends, ends[1:]) if sheet else ():
            sheet.line(start, end)
    for p in points:
        if sheet:
            sheet.mark(*labels.to_points(ax, x_of(p), p.gflops))
        if p.gflops_interval:
            ax.plot([x_of(p)] * 2, p.gflops_interval, color=look["color"], linewidth=0.8, zorder=3)
        ax.plot([x_of(p)], [p.gflops], look["marker"], color=look["color"], zorder=4,
                markerfacecolor=look["color"] if p.settled else "white")
