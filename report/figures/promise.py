"""Promise and measurement: how many fewer bytes a rung requests than the first, and how much faster it was."""

from __future__ import annotations

from report import captions, derive, fmt, stats
from report.figures import ladder
from report.records import Point, Study

NAME = "promise"
ROW, LEFT, RIGHT, TOP, BOTTOM = 0.19, 2.0, 1.3, 0.2, 0.46


def _base_and_others(study: Study) -> tuple[Point | None, list[Point]]:
    """The textbook's naive kernel, and what follows it on the GPU's ladder in its precision with known requests."""
    pair = derive.textbook_pair(study)
    if not pair:
        return None, []
    naive, tiled = pair
    points = [p for p in derive.timed(study.gpu, derive.main_family(study))
              if p.n == naive.n and p.requested_intensity and p.kernel.precision == naive.kernel.precision]
    best = derive.best_variants([p for p in points if p.kernel.order > naive.kernel.order], naive.n)
    return naive, sorted({p.name: p for p in (tiled, *best)}.values(), key=lambda p: (p.kernel.order, p.name))


def rows(study: Study) -> list[dict]:
    base, others = _base_and_others(study)
    made = []
    for p in others:
        ends = stats.ratio_interval(base.summary, p.summary) or (None, None)
        made.append({"kernel": p.kernel.name, "title": p.title, "base": base.title, "n": p.n, "mode": p.mode,
                     "promised": p.requested_intensity / base.requested_intensity,
                     "measured": p.gflops / base.gflops, "measured_low": ends[0], "measured_high": ends[1],
                     "base_gflops": base.gflops})
    return made


def caption(study: Study, table: list[dict]) -> str:
    base, others = _base_and_others(study)
    return (f"Promise and measurement, relative to “{base.title}” ({fmt.flops(base.gflops)}) at N = {base.n}. Open: "
            f"how many times fewer bytes the code requests, which is the speed-up if requested bytes were the limit; "
            f"filled: the speed-up measured. "
            + captions.provenance([(study.gpu, [base, *others])]))


def draw(study: Study, table: list[dict]):
    from report import style
    height = min(ROW * len(table), ladder.TALLEST) + 0.1
    fig = style.figure(height + TOP + BOTTOM)
    ax = style.axes(fig, LEFT, BOTTOM, style.WIDTH - LEFT - RIGHT, height, xscale="log")
    colour = style.SIDE_COLOUR["gpu"]
    for y, row in enumerate(table):
        ax.plot(sorted([row["promised"], row["measured"]]), [y, y], color=style.PALE, linewidth=1.4, zorder=1)
        ax.plot([row["promised"]], [y], "o", color=style.GREY, markerfacecolor="white", markersize=5, zorder=3)
        if row["measured_low"]:
            ax.plot([row["measured_low"], row["measured_high"]], [y, y], color=colour, linewidth=2, zorder=3)
        ax.plot([row["measured"]], [y], "o", color=colour, markersize=5, zorder=4)
        _column(ax, fmt.times(row["promised"]), y, 42, style.GREY)
        _column(ax, fmt.times(row["measured"]), y, 88, colour)
    _column(ax, "promised", -1, 42, style.GREY)
    _column(ax, "measured", -1, 88, colour)
    _finish(ax, table)
    return fig


def _column(ax, text: str, y: float, shift: float, colour: str) -> None:
    """A cell of the two columns to the right of the axes."""
    from report import style
    ax.annotate(text, (1, y), xycoords=ax.get_yaxis_transform(), xytext=(shift, 0), textcoords="offset points",
                ha="right", va="center", size=style.SMALL, color=colour, annotation_clip=False)


def _finish(ax, table: list[dict]) -> None:
    from report import labels, style
    values = [1, *(v for r in table for v in (r["promised"], r["measured"]))]
    low, high = min(values) / 1.25, max(values) * 1.25
    ax.set_xlim(low, high)
    style.plain_ticks(ax.xaxis, [2.0**e for e in range(-6, 16) if low <= 2.0**e <= high])
    ax.axvline(1, color=style.GREY, linewidth=0.7, zorder=0)
    ax.set_ylim(len(table) - 0.4, -0.6)
    ax.set_yticks(range(len(table)), [labels.wrap(r["title"], ladder.NAME_LIMIT) for r in table])
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    ax.set_xlabel(labels.wrap(f"Factor over {table[0]['base']}", 70))
