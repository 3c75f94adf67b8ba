"""Occupancy against throughput, from the experiment of that name: resident warps taken away, and block sizes.

First panel: shared memory that nobody uses takes away resident blocks, and nothing else changes. Second panel: the
same kernels by the number of threads in a block. The marker tells what limits the resident warps.
"""

from __future__ import annotations

from collections import Counter, defaultdict

from report import captions, derive, fmt
from report.records import COUNT, OCCUPANCY, Point, Study

NAME = "occupancy"
SWEEP, BLOCKS = "occupancy sweep", "block size"
FEWEST = 2
"""A line has at least so many steps."""
HEIGHTS = {SWEEP: 2.15, BLOCKS: 1.6}
"""Of the panels, inches."""
LEFT, MARGIN, GAP, TOP, BELOW, LEGEND_ROW = 0.8, 1.95, 0.68, 0.22, 0.5, 0.17


def points_of(study: Study) -> list[Point]:
    """The GPU's timed points of the experiment in its main mode, at the size that most of them have."""
    found = {p.name: p for run in study.runs for p in run.points
             if run.experiment == OCCUPANCY and study.gpu and run.machine_of("gpu") == study.gpu.machine
             and p.kernel.side == "gpu" and p.is_timed and p.mode != COUNT and p.gflops and p.n
             and "occupancy_theoretical" in p.counters and "threads_per_block" in p.counters}
    points = [p for p in found.values() if p.mode == derive.main_mode(list(found.values()))]
    sizes = Counter(p.n for p in points)
    n = max(sizes, key=lambda size: (sizes[size], size), default=None)
    return sorted((p for p in points if p.n == n), key=lambda p: (p.kernel.order, p.name))


def series(study: Study) -> list[tuple[str, str, list[Point]]]:
    """(panel, label, points along the x axis) of every line."""
    points, made = points_of(study), []
    swept, plain = defaultdict(list), defaultdict(list)
    for p in points:
        swept[p.title].append(p)
        if not p.counters.get(derive.SWEPT):
            plain[p.kernel.name].append(p)
    for title, group in swept.items():
        if len({p.counters["occupancy_theoretical"] for p in group}) >= FEWEST and any(
                p.counters.get(derive.SWEPT) for p in group):
            made.append((SWEEP, title, sorted(group, key=lambda p: (p.counters["occupancy_theoretical"], p.name))))
    for group in plain.values():
        if len({p.counters["threads_per_block"] for p in group}) >= FEWEST:
            made.append((BLOCKS, group[0].kernel.title, sorted(group, key=lambda p: p.counters["threads_per_block"])))
    return made


def rows(study: Study) -> list[dict]:
    made = []
    for panel, label, points in series(study):
        for p in points:
            c, ends = p.counters, p.gflops_interval or (None, None)
            achieved = derive.counters_of(study.gpu, p).get("occupancy_achieved", c.get("occupancy_achieved"))
            made.append({
                "panel": panel, "line": label, "kernel": p.kernel.name, "title": p.title, "n": p.n, "mode": p.mode,
                "shared_bytes_added": c.get(derive.SWEPT, 0.0), "threads_per_block": c["threads_per_block"],
                "occupancy_theoretical": c["occupancy_theoretical"], "occupancy_achieved": achieved,
                "limiter": p.labels.get("occupancy_limiter", "not given"), "gflops": p.gflops, "gflops_low": ends[0],
                "gflops_high": ends[1], "registers_per_thread": c.get("registers_per_thread"),
                "shared_bytes_per_block": c.get("shared_bytes_per_block"), "settled": int(p.settled)})
    return made


def caption(study: Study, table: list[dict]) -> str:
    panels = {row["panel"] for row in table}
    text = f"Occupancy and throughput at N = {table[0]['n']}. The marker tells what limits the resident warps. "
    if SWEEP in panels:
        text += ("Against theoretical occupancy, which was lowered by shared memory that nobody uses, so that nothing "
                 "else changes; lines join the fastest point of each occupancy. ")
    if BLOCKS in panels:
        shares = {r["occupancy_theoretical"] for r in table if r["panel"] == BLOCKS}
        text += "By threads in a block, " + (
            f"all at {fmt.percent(shares.pop())} theoretical occupancy. " if len(shares) == 1
            else "with the theoretical occupancy above each point. ")
    if any(r["occupancy_achieved"] is not None for r in table):
        text += "Small open circle, joined: achieved occupancy by hardware counters. "
    return text + captions.provenance([(study.gpu, points_of(study))])


def draw(study: Study, table: list[dict]):
    from report import style
    panels = [name for name in (SWEEP, BLOCKS) if any(r["panel"] == name for r in table)]
    limiters = sorted({r["limiter"] for r in table})
    marks = {name: style.MARKERS[i % len(style.MARKERS)] for i, name in enumerate(limiters)}
    kernels = list(dict.fromkeys(p.kernel.name for p in points_of(study)))
    colours = {k: style.kernel_style("gpu", i, len(kernels), False)["color"] for i, k in enumerate(kernels)}
    legend = LEGEND_ROW * -(-(len(limiters) + 1) // 2)
    fig = style.figure(TOP + sum(HEIGHTS[p] for p in panels) + GAP * (len(panels) - 1) + BELOW + legend)
    top = fig.get_size_inches()[1] - TOP
    for name in panels:
        ax = style.axes(fig, LEFT, top - HEIGHTS[name], style.WIDTH - LEFT - MARGIN, HEIGHTS[name])
        part = [r for r in table if r["panel"] == name]
        (_sweep if name == SWEEP else _blocks)(ax, part, marks, colours)
        top -= HEIGHTS[name] + GAP
    _legend(fig, marks, table, legend)
    return fig


def _lines(table: list[dict]) -> dict[str, list[dict]]:
    groups: dict[str, list[dict]] = defaultdict(list)
    for row in table:
        groups[row["line"]].append(row)
    return groups


def _sweep(ax, table: list[dict], marks: dict[str, str], colours: dict) -> None:
    """Rate over theoretical occupancy; the achieved one beside it where it is known."""
    from report import labels, style
    tags = []
    for line, part in _lines(table).items():
        colour, best = colours[part[0]["kernel"]], {}
        for row in part:
            x, y = 100 * row["occupancy_theoretical"], row["gflops"]
            best[x] = max(y, best.get(x, 0))
            if row["occupancy_achieved"] is not None:
                reached = 100 * row["occupancy_achieved"]
                ax.plot([x, reached], [y, y], color=style.GREY, linewidth=0.7, zorder=2)
                ax.plot([reached], [y], "o", color=style.GREY, markerfacecolor="white", markersize=3.2, zorder=3)
            _point(ax, x, row, marks, colour)
        ax.plot(list(best), list(best.values()), color=colour, zorder=2)
        tags.append((max(best), best[max(best)], line, colour))
    ax.set_xlim(0, 104)
    ax.set_xticks([12.5 * i for i in range(9)], [f"{12.5 * i:g}" for i in range(9)])
    ax.set_ylim(0, 1.08 * max(r["gflops"] for r in table))
    _finish(ax, "Theoretical occupancy [%]")
    labels.margin_labels(ax, tags)


def _blocks(ax, table: list[dict], marks: dict[str, str], colours: dict) -> None:
    """Rate over threads in a block."""
    from report import labels, style
    tags, shares = [], {r["occupancy_theoretical"] for r in table}
    for line, part in _lines(table).items():
        colour = colours[part[0]["kernel"]]
        ax.plot([r["threads_per_block"] for r in part], [r["gflops"] for r in part], color=colour, zorder=2)
        for row in part:
            _point(ax, row["threads_per_block"], row, marks, colour)
            if len(shares) > 1:
                ax.annotate(fmt.percent(row["occupancy_theoretical"]), (row["threads_per_block"], row["gflops"]),
                            xytext=(0, 6), textcoords="offset points", ha="center", va="bottom", size=style.SMALL,
                            color=style.GREY, path_effects=style.HALO, zorder=5)
        tags.append((part[-1]["threads_per_block"], part[-1]["gflops"], line, colour))
    ax.set_xscale("log", base=2)
    xs = sorted({r["threads_per_block"] for r in table})
    ax.set_xlim(xs[0] / 1.3, xs[-1] * 1.3)
    style.plain_ticks(ax.xaxis, xs)
    ax.set_ylim(0, 1.2 * max(r["gflops"] for r in table))
    _finish(ax, "Threads in a block")
    labels.margin_labels(ax, tags)


def _point(ax, x: float, row: dict, marks: dict[str, str], colour) -> None:
    if row["gflops_low"]:
        ax.plot([x, x], [row["gflops_low"], row["gflops_high"]], color=colour, linewidth=1, zorder=3)
    ax.plot([x], [row["gflops"]], marks[row["limiter"]], color=colour, markersize=5, zorder=4,
            markerfacecolor=colour if row["settled"] else "white")


def _finish(ax, name: str) -> None:
    ax.set_xlabel(name)
    ax.set_ylabel("Performance [GFLOP/s]")
    ax.yaxis.set_major_formatter(lambda v, _: f"{v:,.0f}".replace(",", "\u2009") if v >= 1 else f"{v:g}")


def _legend(fig, marks: dict[str, str], table: list[dict], height: float) -> None:
    """What limits the resident warps, in two columns at the foot; nothing of it is cut off."""
    from report import labels, style
    from matplotlib.lines import Line2D
    handles = [Line2D([], [], marker=m, linestyle="", color=style.INK, markersize=4.5,
                      label=labels.wrap(f"limited by {name}", 64)) for name, m in marks.items()]
    if any(r["occupancy_achieved"] is not None for r in table):
        handles.append(Line2D([], [], marker="o", linestyle="", color=style.GREY, markerfacecolor="white",
                              markersize=3.2, label="achieved occupancy"))
    width, total = fig.get_size_inches()
    fig.legend(handles=handles, ncols=2, loc="upper left", bbox_to_anchor=(LEFT / width, height / total),
               handletextpad=0.2, columnspacing=1.4, borderpad=0, borderaxespad=0, labelspacing=0.35)
