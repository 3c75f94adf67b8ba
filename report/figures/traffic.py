"""Traffic at each level of the memory hierarchy, where hardware counters were recorded."""

from __future__ import annotations

from collections import Counter

from report import derive
from report.figures import ladder
from report.records import Point, Study

NAME = "traffic"
LEVELS = ("requested", "L1 sectors", "L2", "DRAM", "compulsory")
COLUMNS = (42, 82, 122)
"""Right ends of the columns of numbers, points from the axes."""
SECTOR = 32
"""Bytes in a sector of the GPU's caches."""


def _points(study: Study) -> list[Point]:
    if not study.gpu:
        return []
    points = [p for p in derive.timed(study.gpu, derive.main_family(study)) if derive.counters_of(study.gpu, p)]
    here = [p for p in points if p.n == derive.common_size(points)]
    kernels = {p.kernel for p in here}
    rest = derive.by_kernel([p for p in points if p.kernel not in kernels and p.n])
    elsewhere = [derive.best_variants(group, max(p.n for p in group))[0] for group in rest.values()]
    return list({p.title: p for p in sorted(here + elsewhere, key=derive.ladder_key)}.values())


def size(table: list[dict]) -> int:
    """The size of most rows."""
    return Counter(row["n"] for row in table).most_common(1)[0][0]


def rows(study: Study) -> list[dict]:
    made = []
    for p in _points(study):
        counters = derive.counters_of(study.gpu, p)
        sectors = counters.get("l1_load_sectors")
        made.append({"kernel": p.kernel.name, "title": p.title, "n": p.n,
                     "requested": p.counters.get("bytes_requested"),
                     "L1 sectors": sectors * SECTOR if sectors else None, "L2": counters.get("l2_bytes"),
                     "DRAM": counters.get("dram_bytes"), "compulsory": p.counters.get("bytes_min")})
    return [row for row in made if sum(row[level] is not None for level in LEVELS) >= 3]


def named(row: dict, table: list[dict]) -> str:
    """The kernel, with the size where it is not that of most rows."""
    return row["title"] if row["n"] == size(table) else f"{row['title']}, N = {row['n']}"


def caption(study: Study, table: list[dict]) -> str:
    elsewhere = (", or at the size beside the name, where it was not counted at that one"
                 if any(row["n"] != size(table) for row in table) else "")
    tool = study.gpu.counter_tool or "hardware counters"
    return (f"Who served the bytes: traffic at each level for one multiplication at N = {size(table)}{elsewhere}; "
            "compulsory is each operand once. A long way from “requested” to “DRAM” is work that caches took from the "
            f"memory (last column). Counters: {tool}, {study.gpu.label}; counted in separate runs from the timings.")


def draw(study: Study, table: list[dict]):
    from report import fmt, labels, style
    height, left = 0.21 * len(table) + 0.1, 2.0
    fig = style.figure(height + 0.98)
    ax = style.axes(fig, left, 0.46, style.WIDTH - left - 1.75, height, xscale="log")
    for y, row in enumerate(table):
        values = {level: row[level] for level in LEVELS if row[level]}
        ax.plot([min(values.values()), max(values.values())], [y, y], color=style.PALE, linewidth=1.2, zorder=1)
        for level, value in values.items():
            ax.plot([value], [y], **_look(level), zorder=4 if level == LEVELS[0] else 3)
        _numbers(ax, row, y)
    for shift, name in zip(COLUMNS, ("requested", "DRAM", "cached")):
        ladder.beside(ax, name, -1.05, shift, "right", style.GREY)
    ax.set_ylim(len(table) - 0.4, -0.6)
    ax.set_yticks(range(len(table)), [labels.wrap(named(r, table), ladder.NAME_LIMIT) for r in table])
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    ax.xaxis.set_major_formatter(lambda v, _: fmt.volume(v).replace(".00", "").replace(".0", ""))
    ax.set_xlabel("Bytes moved")
    ax.legend(handles=[_handle(level) for level in LEVELS if any(r[level] for r in table)], ncols=len(LEVELS),
              loc="upper left", bbox_to_anchor=(0, 0.995), bbox_transform=fig.transFigure,
              handletextpad=0.2, columnspacing=1.2, borderaxespad=0.2)
    return fig


def _numbers(ax, row: dict, y: int) -> None:
    """Requested, moved by DRAM, and the share that caches served, in the right margin."""
    from report import fmt, style
    requested, dram = row["requested"], row["DRAM"]
    served = fmt.percent(1 - dram / requested) if requested and dram and dram < requested else "–"
    texts = [fmt.volume(v) if v else "–" for v in (requested, dram)] + [served]
    for shift, text in zip(COLUMNS, texts):
        ladder.beside(ax, text, y, shift, "right", style.INK)


def _look(level: str) -> dict:
    from report import style
    index = LEVELS.index(level)
    colour = style.mix("#8fb8e8", "#0b2447", index / (len(LEVELS) - 1)) if level != "compulsory" else style.INK
    look = {"marker": ("o", "s", "^", "D", "|")[index], "color": colour, "linestyle": "",
            "markersize": 8 if level in (LEVELS[0], "compulsory") else 5}
    return look | ({"markerfacecolor": "none", "color": style.INK} if level == LEVELS[0] else {})


def _handle(level: str):
    from matplotlib.lines import Line2D
    return Line2D([], [], label=level, **_look(level))
