"""The GPU's roofline: every rung at its requested FLOP per byte and, joined, at its DRAM FLOP per byte."""

from __future__ import annotations

from report import captions, derive
from report.figures import ladder, roofplot
from report.records import Point, Study

NAME = "roofline_gpu"
PLOT, LEFT, BELOW, ABOVE = 3.2, 0.8, 0.46, 0.22


Placed = tuple[str, Point, float | None, float | None]


def placed(study: Study) -> list[Placed]:
    """Rungs, and the textbook’s variants, with requested and DRAM intensity (FLOP/byte; None if unknown)."""
    rungs = derive.rungs(study.gpu, derive.main_family(study))
    points = [(str(r.number), r.point) for r in rungs]
    for textbook in derive.textbook_pair(study) or ():
        if textbook not in [p for _, p in points]:
            place = next((i for i, (_, p) in enumerate(points) if p.kernel == textbook.kernel), len(points) - 1)
            points.insert(place + 1, (f"{points[place][0]}b", textbook))
    return [(number, p, p.requested_intensity, derive.dram_intensity(study.gpu, p)) for number, p in points]


def rows(study: Study) -> list[dict]:
    if not study.gpu or not study.gpu.roofs:
        return []
    made = []
    for number, point, requested, dram in placed(study):
        ends = point.gflops_interval or (None, None)
        made.append({"number": number, "kernel": point.kernel.name, "title": point.title,
                     "precision": point.kernel.precision, "n": point.n, "mode": point.mode,
                     "op_per_byte_requested": requested, "op_per_byte_dram": dram, "gflops": point.gflops,
                     "gflops_low": ends[0], "gflops_high": ends[1]})
    return made


def caption(study: Study, table: list[dict]) -> str:
    points = [point for _, point, _, _ in placed(study)]
    text = ("Roofline of the GPU. Filled: FLOP per byte that the code requests from global memory, before any cache; "
            "such a point may lie above the DRAM roof, when caches serve it. ")
    if any(row["op_per_byte_dram"] for row in table):
        text += (f"Open diamond, joined to it: FLOP per byte that DRAM moved, by hardware counters "
                 f"({study.gpu.counter_tool or 'in the results'}). ")
    if any(row["op_per_byte_requested"] is None for row in table):
        text += "Ticks on the right edge: requested bytes unknown. "
    dashed = " dashed: data-sheet ceilings;" if any(not r.measured for r in study.gpu.roofs) else ""
    return (f"{text}Solid: measured ceilings;{dashed} dotted: the textbook’s 0.25 and 4 FLOP/byte. "
            f"N = {table[0]['n']}. " + captions.provenance([(study.gpu, points)]))


def draw(study: Study, table: list[dict]):
    from report import labels, style
    entries = [(str(row["number"]), ladder.shorten(row["title"], 38)) for row in table]
    below = BELOW + roofplot.key_height(entries) + 0.08
    fig = style.figure(PLOT + below + ABOVE)
    ax = style.axes(fig, LEFT, below, style.WIDTH - LEFT - 0.3, PLOT)
    roofplot.setup(ax, *_limits(study, table), "bytes requested (filled), from DRAM (open)")
    roofplot.above(ax, roofplot.roofs(ax, study.gpu, style.GREY))
    roofplot.guides(ax)
    for row in table:
        _mark(ax, row)
    labels.number_labels(ax, [(row["op_per_byte_requested"], row["gflops"], str(row["number"])) for row in table
                              if row["op_per_byte_requested"]], shift=-8, halo=style.HALO)
    labels.number_labels(ax, [(row["op_per_byte_dram"], row["gflops"], str(row["number"])) for row in table
                              if row["op_per_byte_dram"] and not row["op_per_byte_requested"]], halo=style.HALO)
    _edge(ax, [row for row in table if not row["op_per_byte_requested"]])
    roofplot.key(fig, entries, below - BELOW - 0.1)
    return fig


def _limits(study: Study, table: list[dict]):
    xs = [x for row in table for x in (row["op_per_byte_requested"], row["op_per_byte_dram"]) if x]
    xs = xs or list(roofplot.GUIDES)
    rates = [row["gflops"] for row in table]
    roofs = [r.value for r in derive.compute_roofs(study.gpu)] + [
        r.value for r in derive.compute_roofs(study.gpu, measured=False)]
    return (min(xs) / 16, max(xs) * 6), (min(rates) / 5, max(rates + roofs) * 2.2)


def _mark(ax, row: dict) -> None:
    """Draws one rung: its requested and its DRAM position, joined."""
    from report import style
    colour, y = style.SIDE_COLOUR["gpu"], row["gflops"]
    requested, dram = row["op_per_byte_requested"], row["op_per_byte_dram"]
    if requested and dram:
        ax.plot([requested, dram], [y, y], color=colour, linewidth=0.8, alpha=0.7, zorder=3)
    if requested:
        if row["gflops_low"]:
            ax.plot([requested] * 2, [row["gflops_low"], row["gflops_high"]], color=colour, linewidth=1.0, zorder=4)
        ax.plot([requested], [y], "o", color=colour, markersize=4.5, zorder=5)
    if dram:
        ax.plot([dram], [y], "D", color=colour, markerfacecolor="white", markersize=4.2, zorder=5)


def _edge(ax, table: list[dict]) -> None:
    """Kernels of unknown requested bytes: a tick at the right edge with their number."""
    from report import labels, style
    right = ax.get_xlim()[1]
    for row in table:
        ax.plot([right / 1.25, right], [row["gflops"]] * 2, color=style.SIDE_COLOUR["gpu"], linewidth=1.8, zorder=5,
                clip_on=False)
    labels.margin_labels(ax, [(right, row["gflops"], str(row["number"]), style.GREY) for row in table], shift=6)
