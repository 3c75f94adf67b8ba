"""The ladder: GFLOP/s of every rung at the size at which the sides are compared, with the compute roofs."""

from __future__ import annotations

import math

from report import captions, derive, fmt
from report.derive import Rung
from report.records import SIDE_NAME, Side, Study

NAME = "ladder"
ROW = 0.185
"""Height of a row, inches."""
TALLEST = 7.0
"""All rows together are no higher than this (inches), so that heading, figure and caption share a page."""
LEFT, RIGHT, GAP, TOP, BOTTOM = 2.05, 1.75, 0.36, 0.21, 0.48
LINE = 9.0
"""Distance of the roofs' labels, points."""
NAME_LIMIT = 36
"""Letters of small print in the left margin."""


def margin(titles: list[str]) -> tuple[float, int]:
    """Width of the left margin (inches) and letters in it: a wider one where a title would need two lines."""
    return (LEFT, NAME_LIMIT) if all(len(t) <= NAME_LIMIT for t in titles) else (2.82, 48)


def groups_of(study: Study) -> list[tuple[Side, list[Rung]]]:
    """Each side that has rungs, with them, libraries last."""
    return [(side, sorted(rungs, key=lambda r: r.point.kernel.is_library)) for side in study.sides.values()
            if (rungs := derive.rungs(study, side))]


def rows(study: Study) -> list[dict]:
    """One row for each rung of each side."""
    return [row for side, rungs in groups_of(study) for row in side_rows(side, rungs)]


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
            "step": rung.step, "step_n": rung.step_n, "step_verdict": rung.step_verdict,
            "at_compared_size": int(not rung.elsewhere), "settled": int(point.settled)})
    return made


def sizes(study: Study, groups: list[tuple[Side, list[Rung]]]) -> str:
    """'at N = 4096' with a remark on the rungs that were not measured there; for captions."""
    found = {derive.side_size(study, side) for side, _ in groups}
    if len(found) == 1:
        text = f"at N = {found.pop()}"
        text += ", the largest size at which the best codes of both sides were measured" if len(groups) > 1 else ""
    else:
        text = "at " + " and ".join(f"N = {derive.side_size(study, s)} ({SIDE_NAME[s.name]})" for s, _ in groups)
    if any(r.elsewhere for _, rungs in groups for r in rungs):
        text += "; a rung that was not measured there stands at its own largest size, which is given beside it"
    return text


def markers(study: Study, groups: list[tuple[Side, list[Rung]]]) -> str:
    """What the markers that are shown mean, for captions."""
    kernels, precision = [r.point.kernel for _, rungs in groups for r in rungs], derive.main_precision(study)
    parts = ["square: a library"] if any(k.is_library for k in kernels) else []
    parts += [f"diamond: not {precision.upper()}"] if any(k.precision != precision and not k.is_library
                                                          for k in kernels) else []
    text = "; ".join(parts)
    return f"{text[0].upper()}{text[1:]}. " if parts else ""


def caption(study: Study, table: list[dict]) -> str:
    groups = groups_of(study)
    return (f"The ladder: throughput of each rung {sizes(study, groups)}. Each in its fastest variant, on a "
            f"logarithmic axis. {markers(study, groups)}Vertical lines: measured compute ceilings. "
            + captions.provenance([(side, [r.point for r in rungs]) for side, rungs in groups]))


def draw(study: Study, table: list[dict]):
    """One panel for each side, one above the other, on a shared logarithmic axis."""
    from report import style
    groups = groups_of(study)
    row = min(ROW, TALLEST / sum(len(rungs) for _, rungs in groups))
    heights = [row * len(rungs) + 0.08 for _, rungs in groups]
    heads = [head(side, rungs) for side, rungs in groups]
    fig = style.figure(sum(heights) + sum(heads) + GAP * (len(groups) - 1) + BOTTOM)
    span, top = limits(groups), fig.get_size_inches()[1]
    for (side, rungs), height, above in zip(groups, heights, heads):
        ax = style.axes(fig, LEFT, top - above - height, style.WIDTH - LEFT - RIGHT, height)
        panel(ax, study, side, rungs, span, 0.04 / row)
        for y, rung in enumerate(rungs):
            _row(ax, rung, y)
        top -= above + height + GAP
    ax.set_xlabel("Performance [GFLOP/s]")
    return fig


def head(side: Side, rungs: list[Rung]) -> float:
    """Inches above a panel for its heading and the labels of its roofs."""
    return TOP + LINE / 72 * max(0, len(_roofs(side, rungs)) - 1)


def limits(groups: list[tuple[Side, list[Rung]]]) -> tuple[float, float]:
    """The shared axis (GFLOP/s)."""
    rates = [r.point.gflops for _, rungs in groups for r in rungs]
    roofs = [r.value for side, rungs in groups for r in _roofs(side, rungs)]
    return min(rates) / 1.8, max(rates + roofs) * 1.35


def _roofs(side: Side, rungs: list[Rung]) -> list:
    """The compute roof of each precision that is on the ladder."""
    precisions = sorted({r.point.kernel.precision for r in rungs})
    found = [roof for precision in precisions if (roof := derive.peak(side, precision))]
    return sorted(found, key=lambda r: r.value)


def panel(ax, study: Study, side: Side, rungs: list[Rung], span: tuple[float, float], pad: float) -> None:
    """Axis, roofs, heading and marks of one side; the rows' texts are the caller's."""
    from report import style
    colour, precision = style.SIDE_COLOUR[side.name], derive.main_precision(study)
    ax.set_xscale("log")
    ax.set_xlim(*span)
    ax.set_ylim(len(rungs) - 0.5 + pad, -0.5 - pad)
    style.decade_ticks(ax.xaxis, every=2 if span[1] / span[0] > 1e6 else 1)
    ax.spines["left"].set_visible(False)
    ax.set_yticks([])
    for y, rung in enumerate(rungs):
        _dot(ax, rung, y, span[0], colour, precision)
    for i, roof in enumerate(reversed(_roofs(side, rungs))):
        far = roof.value > math.sqrt(span[0] * span[1])
        ax.axvline(roof.value, color=style.GREY, linewidth=0.9, zorder=1)
        ax.annotate(f"{roof.label} {fmt.flops(roof.value)}", (roof.value, 1), xycoords=ax.get_xaxis_transform(),
                    xytext=(3 if far else -3, 2 + i * LINE), textcoords="offset points", va="bottom",
                    ha="right" if far else "left", size=style.SMALL, color=style.GREY)
    ax.annotate(f"{SIDE_NAME[side.name]}, N = {derive.side_size(study, side)}", (0, 1), xycoords="axes fraction",
                xytext=(-72 * LEFT + 7, 2), textcoords="offset points", ha="left", va="bottom", size=style.NORMAL,
                weight="bold", color=colour)


def _dot(ax, rung: Rung, y: int, left: float, colour: str, precision: str) -> None:
    from report import style
    point = rung.point
    marker = "s" if point.kernel.is_library else ("o" if point.kernel.precision == precision else "D")
    ax.plot([left, point.gflops], [y, y], color=style.PALE, linewidth=0.7, zorder=1, solid_capstyle="butt")
    if point.gflops_interval:
        ax.plot(point.gflops_interval, [y, y], color=colour, linewidth=2.2, zorder=3, solid_capstyle="butt")
    ax.plot([point.gflops], [y], marker, color=colour, markerfacecolor=colour if point.settled else "white",
            markersize=5, zorder=4)


def _row(ax, rung: Rung, y: int) -> None:
    """Name to the left; rate, and the size where it is another one, to the right."""
    from report import labels, style
    beside(ax, labels.wrap(rung.point.title, NAME_LIMIT), y, -6, "right", style.INK, left=True)
    beside(ax, fmt.flops(rung.point.gflops), y, 62, "right", style.INK)
    if rung.elsewhere:
        beside(ax, f"(at {rung.point.size_text})", y, 66, "left", style.GREY)


def beside(ax, text: str, y: float, shift: float, align: str, colour: str, left: bool = False, lift: float = 0.0,
           **look) -> None:
    """A text in the margin of row y, `shift` points from the right (or left) end of the axes, `lift` points higher."""
    from report import style
    ax.annotate(text, (0 if left else 1, y), xycoords=ax.get_yaxis_transform(), xytext=(shift, lift),
                textcoords="offset points", va="center", ha=align, color=colour, annotation_clip=False,
                **{"size": style.SMALL, "linespacing": 1.05} | look)
