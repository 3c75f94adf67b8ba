"""Throughput against size: one panel a side, a gap where a size was not measured."""

from __future__ import annotations

from report import captions, derive
from report.figures import trajectories
from report.records import SIDE_NAME, Study

NAME = "sizes"
TOP, BOTTOM, GAP = 0.22, 0.46, 0.46


def _shown(study: Study):
    family = derive.main_family(study)
    return [(side, lines) for side in study.sides.values() if (lines := trajectories.lines(side, family))]


def rows(study: Study) -> list[dict]:
    return [row for side, lines in _shown(study) for row in trajectories.table(side, lines)]


def caption(study: Study, table: list[dict]) -> str:
    shown = [(side, [p for line in lines for p in line]) for side, lines in _shown(study)]
    return ("Throughput against the size of square matrices; darker is higher up the ladder, dashed is a library. "
            "Lines join neighbouring sizes only; a gap is a size that at least half of the others have (reasons "
            "in the last section). Each kernel in the variant that is fastest at its largest size. " + captions.provenance(shown))


def draw(study: Study, table: list[dict]):
    from report import labels, style
    shown = _shown(study)
    heights = [max(1.2, 0.125 * len(lines)) for _, lines in shown]
    fig = style.figure(sum(heights) + GAP * (len(shown) - 1) + TOP + BOTTOM)
    ticks = sorted({p.n for _, lines in shown for line in lines for p in line})
    top = fig.get_size_inches()[1] - TOP
    for (side, lines), height in zip(shown, heights):
        ax = style.axes(fig, 0.8, top - height, style.WIDTH - 0.8 - 2.05, height, xscale="log", yscale="log")
        ax.set_xlim(ticks[0] / 1.2, ticks[-1] * 1.15)
        style.plain_ticks(ax.xaxis, style.thinned(ticks))
        style.decade_ticks(ax.yaxis)
        ax.set_ylabel("Performance [GFLOP/s]")
        ax.annotate(SIDE_NAME[side.name], (0, 1), xycoords="axes fraction", xytext=(0, 4), size=style.NORMAL,
                    textcoords="offset points", color=style.SIDE_COLOUR[side.name], weight="bold")
        rates = [p.gflops for line in lines for p in line]
        ax.set_ylim(min(rates) / 1.7, max(rates) * 1.7)
        sizes, tags = trajectories.usual(lines), []
        for i, line in enumerate(lines):
            look = style.kernel_style(side.name, i, len(lines), line[0].kernel.is_library)
            trajectories.draw_line(ax, line, sizes, lambda p: p.n, look)
            tags.append((line[-1].n, line[-1].gflops, line[-1].title, look["color"]))
        labels.margin_labels(ax, tags)
        top -= height + GAP
    ax.set_xlabel("N (square matrices)")
    return fig
