"""The ladder: GFLOP/s of every rung at the side's largest common size, with the compute roofs."""

from __future__ import annotations

import math

from report import captions, derive, fmt
from report.derive import Rung
from report.records import SIDE_NAME, Side, Study

NAME = "ladder"
ROW = 0.172
"""Height of a row, inches."""
TALLEST = 7.0
"""All rows together are no higher than this (inches), so that heading, figure and caption share a page."""
LEFT, RIGHT, GAP, TOP, BOTTOM = 2.0, 0.95, 0.36, 0.21, 0.48
LINE = 9.0
"""Distance of the roofs' labels, points."""


def rows(study: Study) -> list[dict]:
    """One row for each rung of each side."""
    return [row for side in study.sides.values() for row in side_rows(side, derive.rungs(side, _family(study)))]


def _family(study: Study) -> str:
    return derive.main_family(study)


def side_rows(side: Side, rungs: list[Rung]) -> list[dict]:
    """CSV rows: rate with interval, shares, and what the rung is."""
    made = []
    for rung in rungs:
        point, ends = rung.point, rung.point.gflops_interval or (None, None)
        made.append({
            "side": side.name, "rung": rung.number, "kernel": point.kernel.name, "title": point.title,
            "precision": point.kernel.precision, "library": int(point.kernel.is_library), "n": point.n,
            "mode": point.mode, "gflops": point.gflops, "gflops_low": ends[0], "gflops_high": ends[1],
            "samples": point.summary.n, "library_share": rung.library_share, "roof_share": rung.roof_share,
            "step": rung.step, "step_verdict": rung.step_verdict, "settled": int(point.settled)})
    return made


def caption(study: Study, table: list[dict]) -> str:
    sizes = " and ".join(f"N = {n} ({SIDE_NAME[s]})" for s, n in dict.fromkeys((r["side"], r["n"]) for r in table))
    shown = [(side, [r.point for r in derive.rungs(side, _family(study))]) for side in study.sides.values()]
    return (f"The ladder: throughput of each rung at {sizes}, in its fastest variant, on a logarithmic axis. "
            "Square: a library; diamond: another precision than most. Vertical lines: measured compute ceilings. "
            + captions.provenance(shown))


def draw(study: Study, table: list[dict]):
    groups = [(side, rungs) for side in study.sides.values() if (rungs := derive.rungs(side, _family(study)))]
    return draw_groups(study, groups, min(ROW, TALLEST / sum(len(rungs) for _, rungs in groups)))


def draw_groups(study: Study, groups: list[tuple[Side, list[Rung]]], row: float):
    """One panel for each side, one above the other, on a shared logarithmic axis."""
    from report import style
    heights = [row * len(rungs) + 0.08 for _, rungs in groups]
    heads = [TOP + LINE / 72 * max(0, len(_roofs(side, rungs)) - 1) for side, rungs in groups]
    fig = style.figure(sum(heights) + sum(heads) + GAP * (len(groups) - 1) + BOTTOM)
    limits, top = _limits(groups), fig.get_size_inches()[1]
    for (side, rungs), height, head in zip(groups, heights, heads):
        ax = style.axes(fig, LEFT, top - head - height, style.WIDTH - LEFT - RIGHT, height)
        _panel(ax, study, side, rungs, limits, row)
        top -= head + height + GAP
    ax.set_xlabel("Performance [GFLOP/s]")
    return fig


def _limits(groups) -> tuple[float, float]:
    rates = [r.point.gflops for _, rungs in groups for r in rungs]
    roofs = [r.value for side, rungs in groups for r in _roofs(side, rungs)]
    return min(rates) / 1.8, max(rates + roofs) * 1.35


def _roofs(side: Side, rungs: list[Rung]) -> list:
    """The compute roof of each precision that is on the ladder."""
    precisions = sorted({r.point.kernel.precision for r in rungs})
    found = [roof for precision in precisions if (roof := derive.peak(side, precision))]
    return sorted(found, key=lambda r: r.value)


def _panel(ax, study: Study, side: Side, rungs: list[Rung], limits, row: float) -> None:
    from report import style
    colour, precision = style.SIDE_COLOUR[side.name], derive.main_precision(study)
    ax.set_xscale("log")
    ax.set_xlim(*limits)
    ax.set_ylim(len(rungs) - 0.5 + 0.04 / row, -0.5 - 0.04 / row)
    style.decade_ticks(ax.xaxis, every=2 if limits[1] / limits[0] > 1e6 else 1)
    ax.spines["left"].set_visible(False)
    for y, rung in enumerate(rungs):
        _dot(ax, rung, y, limits[0], colour, precision)
    ax.set_yticks(range(len(rungs)), [_row_label(r) for r in rungs])
    ax.tick_params(axis="y", length=0)
    for i, roof in enumerate(reversed(_roofs(side, rungs))):
        far = roof.value > math.sqrt(limits[0] * limits[1])
        ax.axvline(roof.value, color=style.GREY, linewidth=0.9, zorder=1)
        ax.annotate(f"{roof.label} {fmt.flops(roof.value)}", (roof.value, 1), xycoords=ax.get_xaxis_transform(),
                    xytext=(3 if far else -3, 2 + i * LINE), textcoords="offset points", va="bottom",
                    ha="right" if far else "left", size=style.SMALL, color=style.GREY)
    _heading(ax, side, rungs)


def _heading(ax, side: Side, rungs: list[Rung]) -> None:
    from report import style
    text = f"{SIDE_NAME[side.name]}, N = {rungs[0].point.n}"
    ax.annotate(text, (0, 1), xycoords="axes fraction", xytext=(-72 * LEFT + 7, 2), textcoords="offset points",
                ha="left", va="bottom", size=style.NORMAL, weight="bold", color=style.SIDE_COLOUR[side.name])


def _dot(ax, rung: Rung, y: int, left: float, colour: str, precision: str) -> None:
    from report import style
    point = rung.point
    marker = "s" if point.kernel.is_library else ("o" if point.kernel.precision == precision else "D")
    ax.plot([left, point.gflops], [y, y], color=style.PALE, linewidth=0.7, zorder=1, solid_capstyle="butt")
    if point.gflops_interval:
        ax.plot(point.gflops_interval, [y, y], color=colour, linewidth=2.2, zorder=3, solid_capstyle="butt")
    ax.plot([point.gflops], [y], marker, color=colour, markerfacecolor=colour if point.settled else "white",
            markersize=5, zorder=4)
    ax.annotate(fmt.flops(point.gflops), (1, y), xycoords=ax.get_yaxis_transform(), xytext=(62, 0),
                textcoords="offset points", va="center", ha="right", size=style.SMALL)


def _row_label(rung: Rung) -> str:
    return shorten(rung.point.title, 34)


def shorten(text: str, limit: int) -> str:
    """The text on one line, cut with an ellipsis if it is too long for its place."""
    text = " ".join(text.split())
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"
