"""What more threads bring: speed-up over one thread, of the kernels and of the machine's ceilings."""

from __future__ import annotations

from report import captions, derive, threads
from report.records import Study
from report.threads import Scaled

NAME = "scaling"
HEIGHT, TOP, BOTTOM, LEFT, RIGHT = 1.95, 0.22, 0.33, 0.55, 1.95
KERNELS, CEILINGS = "kernels", "ceilings"


def shown(study: Study) -> tuple[int | None, list[list[Scaled]], list[list[Scaled]]]:
    """The size with most kernels (the largest of such), the kernels' scaling there, and the ceilings'.

    Of bandwidths those of reading, if they are named like their level; copies and triads are in the CSV.
    """
    found = threads.series(study.cpu, derive.main_family(study))
    lines = [line for line in found.values() if line[0].point.n]
    sizes = [line[0].point.n for line in lines]
    n = max(sizes, key=lambda size: (sizes.count(size), size), default=None)
    roofs = threads.ceilings(study.cpu)
    plain = [line for line in roofs if not line[0].point.kernel.ceiling_is_bandwidth
             or name(line[0]) == derive.memory_level(name(line[0]))]
    return n, [line for line in lines if line[0].point.n == n], plain


def rows(study: Study) -> list[dict]:
    """One row for each kernel, size and number of threads; then the ceilings."""
    found = list(threads.series(study.cpu, derive.main_family(study)).values())
    if not shown(study)[1]:
        return []
    made = [_row(KERNELS, s) for line in found for s in line]
    return made + [_row(CEILINGS, s) for line in threads.ceilings(study.cpu) for s in line]


def _row(panel: str, s: Scaled) -> dict:
    p, ends = s.point, s.interval or (None, None)
    return {"panel": panel, "kernel": p.kernel.name, "title": name(s), "size": p.size_text, "threads": s.threads,
            "gflops": p.gflops, "gbytes_per_s": p.gbytes if panel == CEILINGS else None, "speedup": s.speedup,
            "speedup_low": ends[0], "speedup_high": ends[1], "efficiency": s.efficiency,
            "oversubscribed": int(p.oversubscribed)}


def name(s: Scaled) -> str:
    return s.point.kernel.ceiling_label or s.point.kernel.title


def caption(study: Study, table: list[dict]) -> str:
    n, lines, roofs = shown(study)
    points = [s.point for line in lines for s in line]
    text = f"Speed-up over one thread: every kernel at N = {n}, in its fastest variant for each number of threads"
    if roofs:
        text += ("; and the measured ceilings, whose work grows with the threads (dashed: bandwidths). A memory that "
                 "all cores share does not grow with them")
    more = " Hollow: more threads than cores." if any(p.oversubscribed for p in points) else ""
    return (f"{text}. Grey: as many times faster as there are threads. Libraries are dashed among the kernels.{more} "
            + captions.provenance([(study.cpu, points)]))


def draw(study: Study, table: list[dict]):
    from report import labels, style
    n, lines, roofs = shown(study)
    panels = [(f"Kernels at N = {n}", lines)] + ([("Ceilings", roofs)] if roofs else [])
    heights = [labels.height_for(len(part), HEIGHT) for _, part in panels]
    fig = style.figure(sum(heights) + (TOP + BOTTOM) * len(panels) + 0.12)
    top = fig.get_size_inches()[1]
    for (title, part), height in zip(panels, heights):
        ax = style.axes(fig, LEFT, top - TOP - height, style.WIDTH - LEFT - RIGHT, height, xscale="log", yscale="log")
        _panel(ax, title, part)
        top -= TOP + height + BOTTOM
    ax.set_xlabel("Threads")
    return fig


def _panel(ax, title: str, lines: list[list[Scaled]]) -> None:
    from report import labels, style
    counts = sorted({s.threads for line in lines for s in line})
    ax.plot(counts, counts, color=style.PALE, linewidth=3, zorder=1, solid_capstyle="round")
    tags = []
    for i, line in enumerate(lines):
        kernel = line[0].point.kernel
        look = style.kernel_style("cpu", i, len(lines), kernel.is_library or kernel.ceiling_is_bandwidth)
        ax.plot([s.threads for s in line], [s.speedup for s in line], color=look["color"],
                linestyle=look["linestyle"], zorder=3)
        for s in line:
            if s.interval:
                ax.plot([s.threads] * 2, s.interval, color=look["color"], linewidth=0.9, zorder=3)
            ax.plot([s.threads], [s.speedup], look["marker"], color=look["color"], zorder=4,
                    markerfacecolor="white" if s.point.oversubscribed else look["color"])
        tags.append((line[-1].threads, line[-1].speedup, name(line[-1]), look["color"]))
    values = [s.speedup for line in lines for s in line]
    ax.set_xlim(counts[0] / 1.08, counts[-1] * 1.08)
    ax.set_ylim(min(0.9, *values) / 1.1, max(counts[-1], *values) * 1.15)
    style.plain_ticks(ax.xaxis, style.thinned([float(c) for c in counts], 1.2))
    style.plain_ticks(ax.yaxis, [t for t in (0.5, *style.thinned([float(c) for c in counts], 1.3))
                                 if t >= ax.get_ylim()[0]])
    ax.set_ylabel("Speed-up")
    ax.annotate(title, (0, 1), xycoords="axes fraction", xytext=(0, 4), textcoords="offset points",
                size=style.NORMAL, weight="bold", color=style.SIDE_COLOUR["cpu"])
    labels.margin_labels(ax, tags, limit=32)
