"""The CPU's roofline: every kernel and size at its compulsory FLOP per byte."""

from __future__ import annotations

from report import captions, derive, kin
from report.figures import roofplot, trajectories
from report.records import Study

NAME = "roofline_cpu"


def _shown(study: Study):
    families = [derive.main_family(study), *kin.families(study)] if study.cpu else []
    lines = [line for family in families for line in trajectories.lines(study.cpu, family)]
    return [kept for line in lines if (kept := [p for p in line if p.intensity("bytes_min")])]


def rows(study: Study) -> list[dict]:
    return trajectories.table(study.cpu, _shown(study)) if study.cpu and study.cpu.roofs else []


def caption(study: Study, table: list[dict]) -> str:
    points = [p for line in _shown(study) for p in line]
    sizes = sorted({p.n for p in points})
    return ("Roofline of the CPU. The axis counts compulsory bytes (each operand read once, the result written once), "
            f"so a kernel moves to the right as N grows: N = {', '.join(map(str, sizes))}. Lines join neighbouring "
            f"sizes of one kernel{_purple(study)}. Solid grey: measured ceilings, all cores. "
            + captions.provenance([(study.cpu, points)]))


def _purple(study: Study) -> str:
    main = derive.main_precision(study)
    found = sorted({line[0].kernel.precision.upper() for line in _shown(study)} - {main.upper()})
    return f"; violet: {captions.joined(found)}" if found else ""


def draw(study: Study, table: list[dict]):
    from report import labels, style
    shown = _shown(study)
    height = labels.height_for(len(shown) + len(derive.compute_roofs(study.cpu)), 2.43)
    fig = style.figure(height + 0.52)
    ax = style.axes(fig, 0.8, 0.46, style.WIDTH - 0.8 - 2.05, height)
    xs, ys = [r["op_per_byte_compulsory"] for r in table], [r["gflops"] for r in table]
    top = max([r.value for r in derive.compute_roofs(study.cpu)] + ys)
    roofplot.setup(ax, (_left(study, min(xs)), max(xs) * 1.25), (min(ys) / 2.5, top * 1.9), "compulsory bytes")
    sheet = roofplot.paper(ax)
    tags = roofplot.roofs(ax, study.cpu, style.GREY, sheet)
    sizes, main = trajectories.usual(shown), derive.main_precision(study)
    for i, line in enumerate(shown):
        look = style.kernel_style("cpu", i, len(shown), line[0].kernel.is_library)
        precision = line[0].kernel.precision
        if precision != main:
            look |= {"color": style.OTHER_PRECISION}
        trajectories.draw_line(ax, line, sizes, lambda p: p.intensity("bytes_min"), look, sheet)
        last, other = line[-1], f", {precision.upper()}" if precision != main else ""
        tags.append((last.intensity("bytes_min"), last.gflops, last.title + other, look["color"]))
    roofplot.slope_labels(ax, study.cpu, style.GREY, sheet)
    labels.margin_labels(ax, tags)
    return fig


def _left(study: Study, lowest: float) -> float:
    """Left end of the axis: where the slopes can be seen, a decade below the slowest roof's ridge."""
    dram, top = derive.dram_roof(study.cpu), derive.compute_roofs(study.cpu)
    ridges = [top[0].value / derive.bandwidth_roofs(study.cpu)[0].value] if dram and top else []
    return min([lowest / 3, *(r / 3 for r in ridges)])
