"""Operations for a joule of every rung whose energy is known, both sides on one axis."""

from __future__ import annotations

from report import captions, energy, fmt
from report.figures import ladder
from report.records import SIDE_NAME, Study

NAME = "energy"
ROW, TALLEST = 0.185, 6.5
RIGHT, TOP, GAP, BOTTOM = 0.95, 0.22, 0.3, 0.48


def _shown(study: Study):
    return [(side, found) for side in study.sides.values() if (found := energy.rungs(study, side))]


def rows(study: Study) -> list[dict]:
    return [{"side": side.name, "kernel": e.point.kernel.name, "title": e.point.title, "n": e.point.n,
             "precision": e.point.kernel.precision, "library": int(e.point.kernel.is_library),
             "gflops": e.point.gflops, "watts": e.watts, "joules": e.joules, "gflop_per_joule": e.gflop_per_joule,
             "picojoules_per_flop": e.picojoules, "from": e.how} for side, found in _shown(study) for e in found]


def caption(study: Study, table: list[dict]) -> str:
    shown = _shown(study)
    how = {energy.COUNTER: "energy counters",
           energy.POWER: "the power read right after each sample, times the run’s time"}
    told = " or ".join(how[h] for h in sorted({e.how for _, found in shown for e in found}))
    return (f"Operations for a joule of each rung, on a logarithmic axis, by {told}. Square: a library. "
            + captions.provenance([(side, [e.point for e in found]) for side, found in shown]))


def draw(study: Study, table: list[dict]):
    from report import labels, style
    shown = _shown(study)
    left, limit = ladder.margin([r["title"] for r in table])
    row = min(ROW, TALLEST / sum(len(found) for _, found in shown))
    heights = [row * len(found) + 0.08 for _, found in shown]
    fig = style.figure(sum(heights) + (TOP + GAP) * len(shown) - GAP + BOTTOM)
    values, top = [r["gflop_per_joule"] for r in table], fig.get_size_inches()[1]
    for (side, found), height in zip(shown, heights):
        ax = style.axes(fig, left, top - TOP - height, style.WIDTH - left - RIGHT, height, xscale="log")
        ax.set_xlim(min(values) / 1.8, max(values) * 1.5)
        ax.set_ylim(len(found) - 0.5, -0.5)
        style.decade_ticks(ax.xaxis)
        ax.spines["left"].set_visible(False)
        ax.set_yticks([])
        colour = style.SIDE_COLOUR[side.name]
        ax.annotate(f"{SIDE_NAME[side.name]}, N = {energy.size(study, side)}", (0, 1), xycoords="axes fraction",
                    xytext=(-72 * left + 7, 2), textcoords="offset points", va="bottom", weight="bold",
                    size=style.NORMAL, color=colour)
        for y, e in enumerate(found):
            ax.plot([ax.get_xlim()[0], e.gflop_per_joule], [y, y], color=style.PALE, linewidth=0.7, zorder=1)
            ax.plot([e.gflop_per_joule], [y], "s" if e.point.kernel.is_library else "o", color=colour, markersize=5)
            ladder.beside(ax, labels.wrap(e.point.title, limit), y, -6, "right", style.INK, left=True)
            ladder.beside(ax, fmt.significant(e.gflop_per_joule), y, 44, "right", style.INK)
        top -= TOP + height + GAP
    ax.set_xlabel("Operations for a joule [GFLOP/J]")
    return fig
