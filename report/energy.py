"""Operations for a joule, from what the machines say of their energy; where they say nothing, why."""

from __future__ import annotations

from dataclasses import dataclass

from report import blocks, captions, derive, fmt
from report.records import SIDE_NAME, Point, Side, Study

COUNTER, POWER = "energy counter", "power after the sample"


@dataclass(frozen=True)
class Energy:
    """Joules of one run of a point and where they are from."""

    point: Point
    joules: float
    how: str

    @property
    def gflop_per_joule(self) -> float:
        return self.point.flops / self.joules / 1e9

    @property
    def picojoules(self) -> float:
        """For each floating-point operation."""
        return self.joules / self.point.flops * 1e12

    @property
    def watts(self) -> float:
        return self.joules / self.point.summary.median


def of(point: Point) -> Energy | None:
    """By the energy counter, else by the power that was read after the samples; None without either."""
    if not point.is_timed or not point.flops:
        return None
    joules, watts = (point.counters.get(key) for key in ("energy_j", "power_w"))
    if joules and joules > 0:
        return Energy(point, joules, COUNTER)
    return Energy(point, watts * point.summary.median, POWER) if watts and watts > 0 else None


def rungs(study: Study, side: Side) -> list[Energy]:
    """Of the ladder's rungs at the compared size, all precisions, those whose energy is known."""
    n = derive.side_size(study, side)
    points = [r.point for r in derive.rungs(study, side) if r.point.n == n]
    points.sort(key=lambda p: p.kernel.is_library)
    return [found for p in points if (found := of(p))]


def reasons(study: Study) -> list[str]:
    """'CPU: no energy (no counter)' for each side of which no energy is known."""
    made = []
    for side in study.sides.values():
        if not rungs(study, side):
            why = "; ".join(told(study, side, "energy_unavailable"))
            made.append(f"No energy is known of the {SIDE_NAME[side.name]} ({side.label})"
                        + (f": {why}." if why else ": its results hold none."))
    return made


def told(study: Study, side: Side, key: str) -> list[str]:
    """What the contexts of the side's runs say under a key, which for the GPU begins with 'gpu_'."""
    name = f"gpu_{key}" if side.name == "gpu" else key
    return sorted({str(r.context[name]).rstrip(".") for r in study.runs if r.has_rates(side.name)
                   and r.machine_of(side.name) == side.machine and r.context.get(name)})


def reading(study: Study) -> str:
    """Which code does most for a joule on each side, and how that compares."""
    best = {side.name: max(found, key=lambda e: e.gflop_per_joule) for side in study.sides.values()
            if (found := _same_precision(study, rungs(study, side)))}
    parts = [f"on the {SIDE_NAME[name]} {e.point.title} with {fmt.significant(e.gflop_per_joule)} GFLOP/J "
             f"({fmt.significant(e.watts)} W)" for name, e in best.items()]
    text = f"Most operations for a joule: {' and '.join(parts)}." if parts else ""
    if len(best) == 2:
        ratio = best["gpu"].gflop_per_joule / best["cpu"].gflop_per_joule
        text += f" For a joule the GPU does {fmt.times(ratio)} the operations of the CPU."
    return text


def _same_precision(study: Study, found: list[Energy]) -> list[Energy]:
    precision = derive.main_precision(study)
    return [e for e in found if e.point.kernel.precision == precision]


def table(study: Study) -> list[dict]:
    """One for each side that has energies."""
    return [_table(study, side, found) for side in study.sides.values() if (found := rungs(study, side))]


def _table(study: Study, side: Side, found: list[Energy]) -> dict:
    hows = sorted({e.how for e in found})
    source = "; ".join(told(study, side, "energy_source"))
    how = {COUNTER: f"its energy counter around the samples{f' ({source})' if source else ''}",
           POWER: "the power that it said right after each sample, times the run’s time"}
    rows = [(e.point.title, e.point.kernel.precision.upper(), fmt.significant(e.point.gflops), fmt.significant(e.watts),
             fmt.joules(e.joules), fmt.significant(e.gflop_per_joule), fmt.significant(e.picojoules)) for e in found]
    return blocks.table(
        f"Energy of one run on the {SIDE_NAME[side.name]} at N = {derive.side_size(study, side)}, by "
        f"{' or '.join(how[h] for h in hows)}. {captions.provenance([(side, [e.point for e in found])])}",
        [("rung", "l"), ("", "l"), ("GFLOP/s", "r"), ("W", "r"), ("a run", "r"), ("GFLOP/J", "r"), ("pJ/FLOP", "r")],
        rows, widths=["1fr"] + ["auto"] * 6)
