"""The GPU's ladder by occupancy: each own rung's resident warps against its rate, in the order of the climb."""

from __future__ import annotations

from report import captions, derive, fmt, steps
from report.records import Point, Study

NAME = "occupancy_ladder"
FEWEST = 3
"""Rungs that make a ladder."""
TOP, BOTTOM, LEFT, MARGIN = 0.12, 0.46, 0.8, 2.2
HEIGHT, OF_A_RUNG = 2.4, 0.19
"""Of the panel, inches: at least, and for each rung."""


def _points(study: Study) -> list[Point]:
    """Own rungs from the bottom that tell their occupancy, at the size that the climb compares."""
    if not study.gpu:
        return []
    climb = steps.climb(study, study.gpu, derive.main_precision(study))
    own = [s.point for s in climb if s.number and "occupancy_theoretical" in s.point.counters]
    n = derive.side_size(study, study.gpu)
    return [p for p in own if p.n == n]


def rows(study: Study) -> list[dict]:
    points, made = _points(study), []
    roof = derive.peak(study.gpu, points[0].kernel.precision) if points else None
    for p in points:
        c = p.counters
        made.append({
            "kernel": p.kernel.name, "title": p.title, "n": p.n, "occupancy_theoretical": c["occupancy_theoretical"],
            "limiter": p.labels.get("occupancy_limiter", "not given"),
            "occupancy_achieved": derive.counters_of(study.gpu, p).get("occupancy_achieved"),
            "registers_per_thread": c.get("registers_per_thread"), "threads_per_block": c.get("threads_per_block"),
            "gflops": p.gflops, "roof_share": p.gflops / roof.value if roof else None})
    varies = len({row["occupancy_theoretical"] for row in made}) > 1
    return made if varies and len(made) >= FEWEST else []


def reading(table: list[dict]) -> str:
    """What the fastest rung needs of the warps that the first has, and what its threads hold instead."""
    if not table:
        return ""
    best, first = max(table, key=lambda r: r["gflops"]), table[0]
    if best["occupancy_theoretical"] >= first["occupancy_theoretical"]:
        return ""
    text = (f"The fastest rung, {best['title']}, runs at {fmt.percent(best['occupancy_theoretical'])} theoretical "
            f"occupancy (limited by {best['limiter']}), {first['title']} at "
            f"{fmt.percent(first['occupancy_theoretical'])}: {fmt.times(best['gflops'] / first['gflops'])} its rate on "
            "fewer warps.")
    registers = [r["registers_per_thread"] for r in (best, first)]
    if all(registers) and registers[0] > registers[1]:
        text += (f" Its threads have {registers[0]:.0f} registers instead of {registers[1]:.0f}: they keep a tile of "
                 "sums there. The multiply-adds of a tile do not wait for each other, so that a few warps hide the "
                 "latency that otherwise many must, and each value loaded is used the more often.")
    return text


def caption(study: Study, table: list[dict]) -> str:
    text = (f"The GPU’s ladder at N = {table[0]['n']}: theoretical occupancy and rate of each rung, joined in the "
            "order of the climb; beside the name, the registers of a thread. ")
    if any(r["occupancy_achieved"] is not None for r in table):
        text += "Small open circle, joined: achieved occupancy by hardware counters. "
    return text + captions.provenance([(study.gpu, _points(study))])


def draw(study: Study, table: list[dict]):
    from report import labels, style
    height = max(HEIGHT, OF_A_RUNG * len(table))
    fig = style.figure(TOP + height + BOTTOM)
    ax = style.axes(fig, LEFT, BOTTOM, style.WIDTH - LEFT - MARGIN, height, yscale="log")
    ax.plot([100 * r["occupancy_theoretical"] for r in table], [r["gflops"] for r in table], color=style.GREY,
            linewidth=0.7, zorder=2)
    tags = []
    for i, row in enumerate(table):
        colour = style.kernel_style("gpu", i, len(table), False)["color"]
        x, y = 100 * row["occupancy_theoretical"], row["gflops"]
        if row["occupancy_achieved"] is not None:
            reached = 100 * row["occupancy_achieved"]
            ax.plot([x, reached], [y, y], color=style.GREY, linewidth=0.7, zorder=2)
            ax.plot([reached], [y], "o", color=style.GREY, markerfacecolor="white", markersize=2.6, zorder=5)
        ax.plot([x], [y], "o", color=colour, markersize=5, zorder=4)
        registers = row["registers_per_thread"]
        tags.append((x, y, row["title"] + (f", {registers:.0f} reg." if registers else ""), colour))
    ax.set_xlim(0, 104)
    ax.set_xticks([12.5 * i for i in range(9)], [f"{12.5 * i:g}" for i in range(9)])
    rates = [r["gflops"] for r in table]
    ax.set_ylim(min(rates) / 1.6, max(rates) * 1.6)
    style.decade_ticks(ax.yaxis)
    ax.set_xlabel("Theoretical occupancy [%]")
    ax.set_ylabel("Performance [GFLOP/s]")
    labels.margin_labels(ax, tags)
    return fig
