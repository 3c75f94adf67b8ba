"""Both machines on one roofline of compulsory bytes: textbook kernels, best own code, best library."""

from __future__ import annotations

from report import captions, derive
from report.figures import answer, roofplot, trajectories
from report.records import Study

NAME = "roofline_both"


def _shown(study: Study):
    """(side, lines) for the kernels of the first page."""
    chosen = {side.name: {r.point.kernel.name for r in rungs} for side, rungs in answer.chosen(study)}
    made = []
    for side in study.sides.values():
        lines = [[p for p in line if p.intensity("bytes_min")]
                 for line in trajectories.lines(side, derive.main_family(study))]
        made.append((side, [line for line in lines if line and line[0].kernel.name in chosen.get(side.name, ())]))
    return made


def rows(study: Study) -> list[dict]:
    if len(study.sides) < 2 or not all(side.roofs for side in study.sides.values()):
        return []
    return [row for side, lines in _shown(study) for row in trajectories.table(side, lines)]


def caption(study: Study, table: list[dict]) -> str:
    shown = [(side, [p for line in lines for p in line]) for side, lines in _shown(study)]
    return ("Both machines on one roofline, with the kernels of the first page. The axis counts compulsory bytes for "
            "both, so that both stand at the same place for the same N. Lines join neighbouring sizes. Roofs: "
            "measured memory bandwidth and compute ceilings. " + captions.provenance(shown))


def draw(study: Study, table: list[dict]):
    from report import labels, style
    fig = style.figure(3.0)
    ax = style.axes(fig, 0.8, 0.46, style.WIDTH - 0.8 - 2.05, 2.47)
    xs, ys = [r["op_per_byte_compulsory"] for r in table], [r["gflops"] for r in table]
    top = max([r.value for s in study.sides.values() for r in derive.compute_roofs(s)] + ys)
    roofplot.setup(ax, (min(min(xs) / 2, 0.5), max(xs) * 1.25), (min(ys) / 2.5, top * 2), "compulsory bytes")
    tags, sheet, shown = [], roofplot.paper(ax), _shown(study)
    for side, lines in shown:
        tags += roofplot.roofs(ax, side, style.SIDE_COLOUR[side.name], sheet, outline=True)
        sizes = trajectories.usual(lines)
        for i, line in enumerate(lines):
            look = style.kernel_style(side.name, i, len(lines), line[0].kernel.is_library)
            trajectories.draw_line(ax, line, sizes, lambda p: p.intensity("bytes_min"), look, sheet)
            last = line[-1]
            tags.append((last.intensity("bytes_min"), last.gflops, last.title, look["color"]))
    for side, _ in shown:
        roofplot.slope_labels(ax, side, style.SIDE_COLOUR[side.name], sheet, outline=True)
    labels.margin_labels(ax, tags)
    return fig
