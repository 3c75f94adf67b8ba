"""The hierarchical roofline: every kernel once for each level of the CPU's memory, under that level's bandwidth.

After C. Yang, T. Kurth, S. Williams, Hierarchical Roofline Analysis for GPUs (2020), here for a CPU.
"""

from __future__ import annotations

from collections.abc import Callable

from report import captions, derive, levels, threads
from report.figures import roofplot
from report.records import Side, Study

RIGHT = 2.1
"""Right margin with the labels, inches."""


class Hierarchy:
    """The roofline of one side, or of what one of its cores sees."""

    def __init__(self, name: str, cores: str, side: Callable[[Study], Side | None]):
        self.NAME, self._cores, self._side = name, cores, side

    def rows(self, study: Study) -> list[dict]:
        side = self._side(study)
        if not side or not derive.bandwidth_roofs(side):
            return []
        return [{"kernel": p.kernel.name, "title": p.title, "precision": p.kernel.precision, "n": p.n,
                 "threads": threads.count(side, p), "gflops": p.gflops, "level": m.level, "bytes": m.bytes,
                 "bytes_by": m.how, "op_per_byte": p.flops / m.bytes} for p, found in levels.placed(study, side)
                for m in found]

    def caption(self, study: Study, table: list[dict]) -> str:
        side = self._side(study)
        found = levels.placed(study, side)
        points = [p for p, _ in found]
        return (f"Hierarchical roofline of {self._cores} at N = {points[0].n}: one marker for each kernel and level, "
                "at the operations for each byte that crosses that level’s boundary; a marker’s own roof is the slope "
                "of the same level. The nearer a marker is to its slope, the more that level holds the kernel back. "
                f"Kernels are named at the height of their rate. {levels.source(found)} "
                + captions.provenance([(side, points)]))

    def draw(self, study: Study, table: list[dict]):
        from report import labels, style
        side, found = self._side(study), levels.placed(study, self._side(study))
        height = labels.height_for(len(found) + len(derive.compute_roofs(side)), 2.67)
        fig = style.figure(height + 0.78)
        ax = style.axes(fig, 0.8, 0.46, style.WIDTH - 0.8 - RIGHT, height)
        xs, ys = [r["op_per_byte"] for r in table], [r["gflops"] for r in table]
        slopes, flats = derive.bandwidth_roofs(side), derive.compute_roofs(side)
        top = max([r.value for r in flats] + ys)
        left = min([min(xs) / 2, *(flats[-1].value / slopes[0].value / 4 for _ in flats[:1])])
        roofplot.setup(ax, (left, max(xs) * 2), (min(ys) / 2.5, top * 1.7), "bytes across each level’s boundary")
        style.rate_ticks(ax.yaxis, *ax.get_ylim())
        sheet = roofplot.paper(ax)
        tags = roofplot.roofs(ax, side, style.GREY, sheet)
        for point, moved in found:
            _kernel(ax, point, moved, sheet)
            farthest = max(point.flops / m.bytes for m in moved)
            tags.append((farthest, point.gflops, point.title, style.PALE,
                         style.GREY if point.kernel.is_library else style.INK))
        roofplot.slope_labels(ax, side, style.GREY, sheet)
        _legend(ax, dict.fromkeys(r["level"] for r in table))
        labels.margin_labels(ax, tags)
        return fig


def _kernel(ax, point, moved, sheet) -> None:
    """Markers of all levels at one height, joined by a thin line."""
    from report import labels, style
    xs = [point.flops / m.bytes for m in moved]
    ax.plot([min(xs), max(xs)], [point.gflops] * 2, color=style.PALE, linewidth=0.7, zorder=2.2)
    for x, m in zip(xs, moved):
        colour, marker = style.LEVEL_LOOKS[m.level]
        ax.plot([x], [point.gflops], marker, color=colour, markersize=4.6, zorder=4, markeredgewidth=0.9,
                markerfacecolor=colour if point.settled else "white")
        sheet.mark(*labels.to_points(ax, x, point.gflops))


def _legend(ax, shown) -> None:
    from report import style
    for i, level in enumerate(level for level in levels.LEVELS if level in shown):
        colour, marker = style.LEVEL_LOOKS[level]
        ax.plot([], [], marker, color=colour, label=level, markersize=4.6)
    ax.legend(loc="lower left", bbox_to_anchor=(-0.01, 1.0), ncols=4, handletextpad=0.1, columnspacing=1.2,
              borderaxespad=0.2)


ALL = Hierarchy("hierarchy", "all cores", lambda study: study.cpu)
ONE = Hierarchy("hierarchy_one", "one core", lambda study: threads.one_core(study.cpu) if study.cpu else None)
