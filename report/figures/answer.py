"""The figure of the first page: the few rungs that tell the story, both machines on one axis."""

from __future__ import annotations

from dataclasses import replace

from report import captions, derive, fmt
from report.derive import Rung
from report.figures import ladder
from report.records import Point, Side, Study

NAME = "answer"
ROW, TALLEST, RIGHT = 0.42, 4.6, 1.35
"""Height of a row, of all rows together, width of the right margin (inches)."""


def chosen(study: Study) -> list[tuple[Side, list[Rung]]]:
    """Of each side: first rung, the textbook's pair, the best own code and the best library in each precision.

    Rungs at another size than the compared one are here only where nothing else would show where the side starts.
    """
    groups = []
    pair = {p.kernel.name for p in derive.textbook_pair(study) or ()}
    for side, rungs in ladder.groups_of(study):
        here = [r for r in rungs if not r.elsewhere] or rungs
        keep = {r.number for r in rungs if r.point.kernel.name in pair}
        keep |= {(here if side.name == "gpu" else rungs)[0].number}
        for precision in {r.point.kernel.precision for r in rungs}:
            for library in (False, True):
                same = [r for r in rungs if r.point.kernel.precision == precision
                        and r.point.kernel.is_library == library]
                same = [r for r in same if not r.elsewhere] or same
                keep |= {max(same, key=lambda r: (r.point.n, r.point.gflops)).number} if same else set()
        shown = [v for r in rungs if r.number in keep for v in _variants(study, r)]
        groups.append((side, shown))
    return groups


def _variants(study: Study, rung: Rung) -> list[Rung]:
    """The rung, after the variant that the first page's sentences speak of, where that is not the fastest one."""
    for point in derive.textbook_pair(study) or ():
        if point.kernel == rung.point.kernel and point.n == rung.point.n and point.tunables != rung.point.tunables:
            share = point.gflops / rung.point.gflops
            scaled = {name: value * share for name in ("step", "library_share", "roof_share")
                      if (value := getattr(rung, name)) is not None}
            return [replace(rung, point=point, **scaled), rung]
    return [rung]


def allowed(side: Side, point: Point) -> float | None:
    """GFLOP/s that memory bandwidth would allow if DRAM had to serve every requested byte."""
    roof = derive.dram_roof(side)
    return point.requested_intensity * roof.value if roof and point.requested_intensity else None


def rows(study: Study) -> list[dict]:
    made = []
    for side, rungs in chosen(study):
        for rung, row in zip(rungs, ladder.side_rows(side, rungs)):
            made.append(row | {"op_per_byte_requested": rung.point.requested_intensity,
                               "gflops_allowed_by_memory": allowed(side, rung.point)})
    return made


def caption(study: Study, table: list[dict]) -> str:
    groups = chosen(study)
    text = (f"The answer in one figure: where each side starts, the textbook’s steps, the best own code and the best "
            f"library {ladder.sizes(study, groups)}. {ladder.markers(study, groups)}Vertical lines: measured compute "
            "ceilings. ")
    if any(row["gflops_allowed_by_memory"] for row in table):
        text += ("Upright tick: what the measured memory bandwidth would allow if it had to serve every byte that the "
                 "code requests; to the right of it, caches help, to the left, something else is the limit. ")
    return text + captions.provenance([(side, [r.point for r in rungs]) for side, rungs in groups])


def draw(study: Study, table: list[dict]):
    from report import style
    groups = chosen(study)
    row = min(ROW, TALLEST / sum(len(rungs) for _, rungs in groups))
    heights = [row * len(rungs) + 0.08 for _, rungs in groups]
    heads = [ladder.head(side, rungs) + 0.06 for side, rungs in groups]
    fig = style.figure(sum(heights) + sum(heads) + ladder.GAP * (len(groups) - 1) + ladder.BOTTOM)
    span, top = _span(groups), fig.get_size_inches()[1]
    for (side, rungs), height, above in zip(groups, heights, heads):
        ax = style.axes(fig, ladder.LEFT, top - above - height, style.WIDTH - ladder.LEFT - RIGHT, height)
        ladder.panel(ax, study, side, rungs, span, 0.04 / row)
        for y, rung in enumerate(rungs):
            _row(ax, side, rung, y)
        _name_ticks(ax, side, rungs)
        top -= above + height + ladder.GAP
    ax.set_xlabel("Performance [GFLOP/s]")
    return fig


def _span(groups: list[tuple[Side, list[Rung]]]) -> tuple[float, float]:
    low, high = ladder.limits(groups)
    bounds = [b for side, rungs in groups for r in rungs if (b := allowed(side, r.point))]
    return min([low, *(b / 1.8 for b in bounds)]), max([high, *(b * 1.35 for b in bounds)])


def _row(ax, side: Side, rung: Rung, y: int) -> None:
    """Two lines in each margin: name with its requests or size, rate with its share of the roof."""
    from report import labels, style
    point, bound = rung.point, allowed(side, rung.point)
    notes = ([f"at {point.size_text}"] if rung.elsewhere else []) + (
        [f"{fmt.significant(point.requested_intensity)} FLOP per requested byte"] if bound else [])
    lift = 5.0 if notes else 0.0
    ladder.beside(ax, labels.wrap(point.title, 36), y, -6, "right", style.INK, left=True, lift=lift,
                  size=style.NORMAL if len(point.title) <= 32 else style.SMALL)
    if notes:
        ladder.beside(ax, ", ".join(notes), y, -6, "right", style.GREY, left=True, lift=-5.0)
    ladder.beside(ax, fmt.flops(point.gflops), y, 10, "left", style.INK, size=style.NORMAL,
                  lift=5.0 if rung.roof_share else 0.0)
    if rung.roof_share:
        ladder.beside(ax, f"{fmt.percent(rung.roof_share)} of the roof", y, 10, "left", style.GREY, lift=-5.0)
    if bound:
        ax.plot([bound], [y], "|", color=style.INK, markersize=13, markeredgewidth=1.3, zorder=3)


def _name_ticks(ax, side: Side, rungs: list[Rung]) -> None:
    """Says at the first upright tick what the ticks are."""
    from report import style
    bounds = [(b, y) for y, r in enumerate(rungs) if (b := allowed(side, r.point))]
    if bounds:
        ax.annotate("memory’s bound", bounds[0], xytext=(5, -9), textcoords="offset points", ha="left", va="center",
                    size=style.SMALL, color=style.INK, style="italic", path_effects=style.HALO, zorder=5)
