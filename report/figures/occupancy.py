"""Occupancy against throughput: theoretical occupancy, the limiter as marker, achieved occupancy beside it."""

from __future__ import annotations

from collections import Counter, defaultdict

from report import captions, derive
from report.figures import ladder, roofplot
from report.records import Point, Study

NAME = "occupancy"
FEWEST_STEPS = 3
PANEL, ABOVE = 1.9, 0.3
"""Height of the panels and of the space for the legend above them (inches)."""


def _points(study: Study) -> list[Point]:
    points = [p for p in derive.timed(study.gpu, derive.main_family(study)) if "occupancy_theoretical" in p.counters]
    sizes = Counter(p.n for p in points if p.n)
    if not sizes:
        return []
    n = max(sizes, key=lambda size: (sizes[size], size))
    return sorted((p for p in points if p.n == n), key=lambda p: (p.kernel.order, p.name))


def _sweep(points: list[Point]) -> tuple[str, list[Point]]:
    """The tunable and the points of the longest sweep: one kernel, all other tunables fixed, most occupancies."""
    groups: dict[tuple, list[Point]] = defaultdict(list)
    for p in points:
        for name in p.tunables:
            rest = tuple(sorted((k, v) for k, v in p.tunables.items() if k != name))
            groups[p.kernel.name, name, rest].append(p)
    steps = {key: len({p.counters["occupancy_theoretical"] for p in group}) for key, group in groups.items()}
    key = max(sorted(steps), key=lambda k: steps[k], default=None)
    return (key[1], groups[key]) if key and steps[key] >= FEWEST_STEPS else ("", [])


def rows(study: Study) -> list[dict]:
    points = _points(study) if study.gpu else []
    tunable, sweep = _sweep(points)
    swept, numbers = {p.name for p in sweep}, {}
    made = []
    for p in points:
        if p.name not in swept:
            numbers.setdefault(p.name, len(numbers) + 1)
        achieved = derive.counters_of(study.gpu, p).get("occupancy_achieved", p.counters.get("occupancy_achieved"))
        ends = p.gflops_interval or (None, None)
        made.append({
            "number": numbers.get(p.name), "kernel": p.kernel.name, "title": p.title,
            "precision": p.kernel.precision, "n": p.n, "mode": p.mode, "swept": tunable if p.name in swept else "",
            "swept_value": p.tunables[tunable] if p.name in swept else None,
            "occupancy_theoretical": p.counters["occupancy_theoretical"], "occupancy_achieved": achieved,
            "limiter": p.labels.get("occupancy_limiter", "not given"), "gflops": p.gflops, "gflops_low": ends[0],
            "gflops_high": ends[1], "registers_per_thread": p.counters.get("registers_per_thread"),
            "shared_bytes_per_block": p.counters.get("shared_bytes_per_block"),
            "threads_per_block": p.counters.get("threads_per_block")})
    return made


def caption(study: Study, table: list[dict]) -> str:
    achieved = ("Small open circle, joined: achieved occupancy by hardware counters. "
                if any(r["occupancy_achieved"] is not None for r in table) else "")
    tunable, sweep = _sweep(_points(study))
    swept = f"Left: {sweep[0].kernel.title}, labelled with the value of {tunable}. " if sweep else ""
    return (f"Throughput against theoretical occupancy at N = {table[0]['n']}; the marker tells what limits the "
            f"resident warps. {swept}{achieved}" + captions.provenance([(study.gpu, _points(study))]))


def draw(study: Study, table: list[dict]):
    from report import style
    swept, alone = [r for r in table if r["swept"]], [r for r in table if not r["swept"]]
    panels = [part for part in (swept, alone) if part]
    entries = [(str(r["number"]), ladder.shorten(r["title"], 38)) for r in alone]
    below = 0.46 + (roofplot.key_height(entries) + 0.06 if entries else 0)
    fig = style.figure(PANEL + ABOVE + below)
    limiters = sorted({r["limiter"] for r in table})
    marks = {name: style.MARKERS[i % len(style.MARKERS)] for i, name in enumerate(limiters)}
    width = style.WIDTH / len(panels)
    for i, part in enumerate(panels):
        ax = style.axes(fig, i * width + 0.8, below, width - 1.0, PANEL, yscale="log")
        _panel(ax, part, marks)
        ax.set_xlabel("Theoretical occupancy [%]")
        if i == 0:
            ax.set_ylabel("Performance [GFLOP/s]")
    _legend(fig, marks, table)
    if entries:
        roofplot.key(fig, entries, below - 0.52)
    return fig


def _panel(ax, table: list[dict], marks: dict[str, str]) -> None:
    from report import labels, style
    tags, colour = [], style.SIDE_COLOUR["gpu"]
    for row in table:
        x, y = 100 * row["occupancy_theoretical"], row["gflops"]
        if row["occupancy_achieved"] is not None:
            reached = 100 * row["occupancy_achieved"]
            ax.plot([x, reached], [y, y], color=style.GREY, linewidth=0.7, zorder=2)
            ax.plot([reached], [y], "o", color=style.GREY, markerfacecolor="white", markersize=3.2, zorder=3)
        if row["gflops_low"]:
            ax.plot([x, x], [row["gflops_low"], row["gflops_high"]], color=colour, linewidth=1, zorder=3)
        ax.plot([x], [y], marks[row["limiter"]], color=colour, markersize=5, zorder=4)
        tags.append((x, y, str(row["number"] or row["swept_value"])))
    ax.set_xlim(0, 112)
    rates = [r["gflops"] for r in table]
    ax.set_ylim(min(rates) / 1.6, max(rates) * 1.6)
    _rate_ticks(ax, min(rates), max(rates))
    ax.set_xticks(range(0, 101, 25))
    if table[0]["swept"]:
        labels.below_labels(ax, tags, halo=style.HALO)
    else:
        labels.number_labels(ax, tags, near=6, halo=style.HALO)


def _rate_ticks(ax, low: float, high: float) -> None:
    """Decades, or 1-2-5 steps where the panel spans less than two of them."""
    from report import style
    if high / low > 30:
        style.decade_ticks(ax.yaxis)
        return
    steps = [m * 10.0**e for e in range(-3, 10) for m in (1, 2, 5)]
    style.plain_ticks(ax.yaxis, [s for s in steps if low / 1.6 <= s <= high * 1.6])
    ax.yaxis.set_major_formatter(lambda v, _: f"{v:,.0f}".replace(",", "\u2009") if v >= 1 else f"{v:g}")


def _legend(fig, marks: dict[str, str], table: list[dict]) -> None:
    from report import style
    from matplotlib.lines import Line2D
    handles = [Line2D([], [], marker=m, linestyle="", color=style.SIDE_COLOUR["gpu"], markersize=5,
                      label=ladder.shorten(name, 18)) for name, m in marks.items()]
    if any(r["occupancy_achieved"] is not None for r in table):
        handles.append(Line2D([], [], marker="o", linestyle="", color=style.GREY, markerfacecolor="white",
                              markersize=3.2, label="achieved"))
    width, height = fig.get_size_inches()
    fig.text(0.8 / width, 1 - 0.08 / height, "Limited by", size=style.SMALL, va="center", ha="left")
    fig.legend(handles=handles, ncols=len(handles), loc="center left",
               bbox_to_anchor=(1.4 / width, 1 - 0.08 / height), handletextpad=0.1, columnspacing=1.0, borderpad=0,
               borderaxespad=0)
