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
    """By the energy counter, else by the power that was read after the samples; None without either.

    A power is the mean over some time before it was read. Where kernels take turns, that is the time of all of them:
    it says nothing of one.
    """
    if not point.is_timed or not point.flops:
        return None
    joules, watts = (point.counters.get(key) for key in ("energy_j", "power_w"))
    if joules and joules > 0:
        return Energy(point, joules, COUNTER)
    return Energy(point, watts * point.summary.median, POWER) if watts and watts > 0 and not point.interleaved else None


def size(study: Study, side: Side) -> int | None:
    """The compared size, or the largest at which (nearly) as many kernels' energies were counted as at any."""
    points = [p for p in derive.timed(side, derive.main_family(study)) if (found := of(p)) and found.how == COUNTER]
    n, largest = derive.side_size(study, side), derive.common_size(points)
    kernels = {at: len({p.kernel.name for p in points if p.n == at}) for at in (n, largest)}
    return largest if largest and kernels[n] < derive.COVERAGE * kernels[largest] else n


def rungs(study: Study, side: Side) -> list[Energy]:
    """Of the ladder's rungs at that size, all precisions, libraries last, those whose energy is known."""
    points = derive.best_variants(derive.timed(side, derive.main_family(study)), size(study, side))
    return [found for p in sorted(points, key=lambda p: p.kernel.is_library) if (found := of(p))]


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
    """Which code does most for a joule on each side, how far the ladder came, and how the sides compare."""
    found = {side.name: made for side in study.sides.values()
             if (made := _same_precision(study, rungs(study, side)))}
    best = {name: max(made, key=lambda e: e.gflop_per_joule) for name, made in found.items()}
    parts = [f"on the {SIDE_NAME[name]} {e.point.title} with {fmt.significant(e.gflop_per_joule)} GFLOP/J "
             f"({fmt.significant(e.watts)} W) at N = {e.point.n}" for name, e in best.items()]
    text = f"Most operations for a joule: {' and '.join(parts)}." if parts else ""
    text += "".join(_fall(SIDE_NAME[name], made) for name, made in found.items())
    if len({e.point.n for e in best.values()}) == 1 and len(best) == 2:
        ratio = best["gpu"].gflop_per_joule / best["cpu"].gflop_per_joule
        text += f" For a joule the GPU does {fmt.times(ratio)} the operations of the CPU."
    return text


def _fall(side: str, found: list[Energy]) -> str:
    """From the first own rung to the fastest: joules of an operation."""
    own = [e for e in found if not e.point.kernel.is_library]
    top = max(own, key=lambda e: e.point.gflops, default=None)
    if not top or top is own[0]:
        return ""
    return (f" Along the {side}’s ladder an operation’s energy goes from {fmt.significant(own[0].picojoules)} pJ "
            f"({own[0].point.title}) to {fmt.significant(top.picojoules)} pJ ({top.point.title}, the fastest).")


def _same_precision(study: Study, found: list[Energy]) -> list[Energy]:
    precision = derive.main_precision(study)
    return [e for e in found if e.point.kernel.precision == precision]


def table(study: Study) -> list[dict]:
    """One for each side that has energies."""
    return [_table(study, side, found) for side in study.sides.values() if (found := rungs(study, side))]


def _what(found: list[Energy]) -> str:
    """What the counter was read around."""
    runs = sorted(int(n) for e in found if (n := e.point.counters.get("energy_runs")))
    return "the samples" if not runs else (
        f"each sample or, where one is short, around up to {runs[-1]} runs in a row after them")


def _table(study: Study, side: Side, found: list[Energy]) -> dict:
    hows = sorted({e.how for e in found})
    source = "; ".join(told(study, side, "energy_source"))
    how = {COUNTER: f"its energy counter around {_what(found)}{f' ({source})' if source else ''}",
           POWER: "the power that it said right after each sample, times the run’s time"}
    rows = [(e.point.title, e.point.kernel.precision.upper(), fmt.significant(e.point.gflops), fmt.significant(e.watts),
             fmt.joules(e.joules), fmt.significant(e.gflop_per_joule), fmt.significant(e.picojoules)) for e in found]
    return blocks.table(
        f"Energy of one run on the {SIDE_NAME[side.name]} at N = {size(study, side)}, by "
        f"{' or '.join(how[h] for h in hows)}. {captions.provenance([(side, [e.point for e in found])])}",
        [("rung", "l"), ("", "l"), ("GFLOP/s", "r"), ("W", "r"), ("a run", "r"), ("GFLOP/J", "r"), ("pJ/FLOP", "r")],
        rows, widths=["1fr"] + ["auto"] * 6)
