"""The top rung against each peer over sizes: a ratio of rates, 1 where both are as fast."""

from __future__ import annotations

from collections.abc import Callable

from report import captions, derive, peers_words, steps
from report.records import Side, Study

HEIGHT = 1.9
"""Of the axes, inches."""


class Peers:
    """One line for each library that was measured at two square sizes or more."""

    def __init__(self, name: str, side: Callable[[Study], Side | None]):
        self.NAME, self._side = name, side

    def found(self, study: Study) -> list[tuple]:
        """(point of the top rung, ratios by peer) for every size."""
        side = self._side(study)
        top = steps.top_rung(study, side, derive.main_precision(study))
        return steps.over_sizes(study, side, top) if top else []

    def rows(self, study: Study) -> list[dict]:
        """One row for each size and peer; the figure shows the square ones."""
        found = self.found(study)
        if sum(p.n is not None for p, _ in found) < 2:
            return []
        return [{"kernel": p.kernel.name, "title": p.title, "size": p.size_text, "n": p.n, "gflops": p.gflops,
                 "peer": title, "ratio": r.value, "ratio_low": r.low, "ratio_high": r.high, "paired": int(r.paired),
                 "verdict": r.verdict} for p, ratios in found for title, r in ratios.items()]

    def caption(self, study: Study, table: list[dict]) -> str:
        found = [(p, ratios) for p, ratios in self.found(study) if p.n]
        points = [p for p, _ in found]
        how = peers_words.how([r for _, ratios in found for r in ratios.values()])
        return (f"{points[-1].kernel.title} against each library of the same run at square sizes: above 1 it is the "
                f"faster one. {how} {captions.provenance([(self._side(study), points)])}")

    def draw(self, study: Study, table: list[dict]):
        from report import labels, style
        square = [r for r in table if r["n"]]
        names = list(dict.fromkeys(r["peer"] for r in square))
        fig = style.figure(HEIGHT + 0.62)
        ax = style.axes(fig, 0.62, 0.5, style.WIDTH - 0.62 - 1.5, HEIGHT, xscale="log", yscale="log")
        ax.axhline(1, color=style.INK, linewidth=0.9, zorder=1)
        tags = []
        for i, name in enumerate(names):
            part = [r for r in square if r["peer"] == name]
            look = style.PEER_LOOKS[i % len(style.PEER_LOOKS)]
            ax.plot([r["n"] for r in part], [r["ratio"] for r in part], zorder=3, **look)
            for r in part:
                if r["ratio_low"]:
                    ax.plot([r["n"]] * 2, [r["ratio_low"], r["ratio_high"]], color=look["color"], linewidth=0.9,
                            zorder=2.5)
            tags.append((part[-1]["n"], part[-1]["ratio"], f"over {name}", look["color"]))
        _axes(ax, square)
        labels.margin_labels(ax, tags, limit=24)
        return fig


def _axes(ax, square: list[dict]) -> None:
    from report import style
    sizes = sorted({r["n"] for r in square})
    ax.set_xlim(sizes[0] / 1.15, sizes[-1] * 1.15)
    style.plain_ticks(ax.xaxis, style.thinned(sizes))
    values = [v for r in square for k in ("ratio", "ratio_low", "ratio_high") if (v := r[k])]
    low, high = min(0.95, *values) / 1.04, max(1.05, *values) * 1.04
    ax.set_ylim(low, high)
    steps_ = ((1, 2, 5) if high / low > 8 else (1, 1.5, 2, 3, 4, 5, 7) if high / low > 2.5
              else (0.6, 0.7, 0.8, 0.9, 1, 1.1, 1.2, 1.4, 1.6, 1.8, 2, 2.5))
    ticks = sorted({m * 10.0**e for e in ((0,) if high / low <= 2.5 else range(-4, 5)) for m in steps_})
    style.plain_ticks(ax.yaxis, [t for t in ticks if low <= t <= high])
    ax.set_xlabel("N (square matrices)")
    ax.set_ylabel("Ratio of rates")


CPU = Peers("peers_cpu", lambda study: study.cpu)
GPU = Peers("peers_gpu", lambda study: study.gpu)
