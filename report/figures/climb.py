"""The climb: each own rung as a share of the compute roof, on a linear axis, with the libraries as peers beneath."""

from __future__ import annotations

from collections.abc import Callable

from report import captions, derive, fmt, steps
from report.figures import ladder
from report.records import SIDE_NAME, Side, Study
from report.steps import Step

ROW, TALLEST = 0.2, 7.0
"""Height of a row, of all rows together (inches)."""
RIGHT, TOP, BOTTOM, GAP = 1.55, 0.42, 0.46, 0.3
BETWEEN = 0.35
"""Rows left free between the rungs and the peers."""


class Climb:
    """One panel for each of the given sides."""

    def __init__(self, name: str, sides: Callable[[Study], list[Side]]):
        self.NAME, self._sides = name, sides

    def panels(self, study: Study) -> list[tuple[Side, list[Step]]]:
        """Sides with at least two own rungs in the main precision, with their steps."""
        precision = derive.main_precision(study)
        found = [(side, steps.climb(study, side, precision)) for side in self._sides(study)]
        return [(side, made) for side, made in found if sum(s.number is not None for s in made) > 1]

    def rows(self, study: Study) -> list[dict]:
        """One row for each rung and size, all sizes; the figure shows the compared one."""
        precision, made = derive.main_precision(study), []
        for side, _ in self.panels(study):
            for n in steps.sizes(study, side, precision):
                made += [_row(side, step) for step in steps.at_size(study, side, precision, n)]
        titles = list(dict.fromkeys(t for row in made for t in row["peers"]))
        return [_flat(row, titles) for row in made]

    def caption(self, study: Study, table: list[dict]) -> str:
        panels = self.panels(study)
        where = "; ".join(_where(study, side, made) for side, made in panels)
        return (f"The climb, on a linear axis: {where}. Each own rung in its fastest variant; below the line the "
                "libraries, which are peers and no rungs, drawn up as broken lines. Right: rate, and how many times "
                "the rung before. The same for every size is in the figure’s CSV. "
                + captions.provenance([(side, [s.point for s in made]) for side, made in panels]))

    def draw(self, study: Study, table: list[dict]):
        from report import style
        panels = self.panels(study)
        lines = sum(len(made) + BETWEEN for _, made in panels)
        row = min(ROW, TALLEST / lines)
        left, limit = ladder.margin([_name(study, side, s) for side, made in panels for s in made])
        heights = [row * (len(made) + BETWEEN) for _, made in panels]
        fig = style.figure(sum(heights) + (TOP + BOTTOM) * len(panels) + GAP * (len(panels) - 1))
        top = fig.get_size_inches()[1]
        for (side, made), height in zip(panels, heights):
            ax = style.axes(fig, left, top - TOP - height, style.WIDTH - left - RIGHT, height)
            head = f"{SIDE_NAME[side.name]}, N = {derive.side_size(study, side)}"
            ax.annotate(f"{head}, {side.label}" if side in study.others else head, (0, 1), xycoords="axes fraction",
                        xytext=(-72 * left + 7, 18), textcoords="offset points", ha="left", va="bottom",
                        size=style.NORMAL, weight="bold", color=style.SIDE_COLOUR[side.name])
            _panel(ax, study, side, made, limit)
            top -= TOP + height + BOTTOM + GAP
        return fig


def _where(study: Study, side: Side, made: list[Step]) -> str:
    roof = derive.peak(side, derive.main_precision(study))
    what = f"share of the measured {roof.label} ceiling, {fmt.flops(roof.value)}" if roof else "throughput"
    return f"{what}, at N = {derive.side_size(study, side)}"


def _row(side: Side, step: Step) -> dict:
    point, ends = step.point, step.point.gflops_interval or (None, None)
    below = step.below
    return {
        "machine": side.machine, "recorded": int(side.recorded), "rung": step.number, "kernel": point.kernel.name,
        "title": point.title, "peer": int(step.number is None), "precision": point.kernel.precision, "n": point.n,
        "mode": point.mode, "gflops": point.gflops, "gflops_low": ends[0], "gflops_high": ends[1],
        "samples": point.summary.n, "roof_share": step.roof_share,
        "over_rung_below": below.value if below else None, "over_rung_below_low": below.low if below else None,
        "over_rung_below_high": below.high if below else None, "verdict": below.verdict if below else "",
        "peers": step.peers}


def _flat(row: dict, titles: list[str]) -> dict:
    """The row with three columns and a mark for each peer in place of the table of ratios."""
    made = {key: value for key, value in row.items() if key != "peers"}
    for title in titles:
        found = row["peers"].get(title)
        made |= {f"over {title}": found.value if found else None, f"over {title}, low": found.low if found else None,
                 f"over {title}, high": found.high if found else None,
                 f"over {title}, paired": int(found.paired) if found else None}
    return made


def _panel(ax, study: Study, side: Side, made: list[Step], limit: int) -> None:
    from report import labels, style
    own, colour = [s for s in made if s.number], style.SIDE_COLOUR[side.name]
    roof = derive.peak(side, derive.main_precision(study))
    scale = 100 / roof.value if roof else 1.0
    places = [i if i < len(own) else i + BETWEEN for i in range(len(made))]
    most = max(s.point.gflops * scale for s in made)
    ax.set_xlim(0, max(100 if roof else 0, most) * 1.03)
    ax.set_ylim(len(made) + BETWEEN - 0.5, -0.5)
    ax.set_yticks([])
    ax.spines["left"].set_visible(False)
    ax.set_xlabel(f"Share of {roof.label} {fmt.flops(roof.value)} [%]" if roof else "Performance [GFLOP/s]")
    if roof:
        ax.axvline(100, color=style.GREY, linewidth=0.9, zorder=1)
    if len(own) < len(made):
        ax.axhline(len(own) - 0.5 + BETWEEN / 2, color=style.PALE, linewidth=0.7, zorder=1)
    for y, step in zip(places, made):
        (_bar if step.number else _peer)(ax, step, y, scale, colour)
        _texts(ax, labels.wrap(_name(study, side, step), limit), step, y)
    for text, shift in (("GFLOP/s", 50), ("× before", 96)):
        ladder.beside(ax, text, 0, shift, "right", style.GREY, lift=15)


def _bar(ax, step: Step, y: float, scale: float, colour: str) -> None:
    from report import style
    point = step.point
    ax.barh([y], [point.gflops * scale], height=0.62, color=colour if point.settled else "white", edgecolor=colour,
            linewidth=0.8, zorder=2)
    if point.gflops_interval:
        ax.plot([v * scale for v in point.gflops_interval], [y, y], color=style.INK, linewidth=1.4, zorder=3,
                solid_capstyle="butt")


def _peer(ax, step: Step, y: float, scale: float, colour: str) -> None:
    """A square, and a broken line up through the rungs."""
    from report import style
    value = step.point.gflops * scale
    ax.plot([value, value], [y, -0.5], color=style.INK, linewidth=0.7, linestyle=(0, (3, 2.5)), zorder=2.5)
    if step.point.gflops_interval:
        ax.plot([v * scale for v in step.point.gflops_interval], [y, y], color=style.INK, linewidth=1.4, zorder=3)
    ax.plot([value], [y], "s", color=style.INK, markersize=5, zorder=4,
            markerfacecolor=style.INK if step.point.settled else "white")


def _name(study: Study, side: Side, step: Step) -> str:
    point = step.point
    return point.title if point.n == derive.side_size(study, side) else f"{point.title}, {point.size_text}"


def _texts(ax, name: str, step: Step, y: float) -> None:
    from report import style
    ladder.beside(ax, name, y, -6, "right", style.INK, left=True)
    ladder.beside(ax, fmt.significant(step.point.gflops), y, 50, "right", style.INK)
    if step.below:
        ladder.beside(ax, fmt.times(step.below.value), y, 96, "right",
                      style.INK if step.below.verdict == "faster" else style.ALERT)


CPU = Climb("climb_cpu", lambda study: [study.cpu] if study.cpu else [])
GPU = Climb("climb_gpu", lambda study: [study.gpu] if study.gpu else [])
OTHERS = Climb("climb_others", lambda study: list(study.others))
