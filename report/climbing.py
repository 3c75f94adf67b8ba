"""Sections on the climb: each side's ladder with its peers, other machines' ladders, the hierarchy, threads, energy."""

from __future__ import annotations

from collections.abc import Callable

from report import blocks, captions, derive, energy, fmt, ladders, levels, limits, resources
from report.figures import scaling as scaling_figure
from report.records import SIDE_NAME, Point, Side, Study

Figure = Callable[[str], list[dict]]
MOST_COUNTS = 6
"""So many numbers of threads have a column."""


def section(study: Study, name: str, figure: Figure) -> list[dict]:
    """One side's ladder step by step: figure, table, limits, and the top rung against its peers by size and shape."""
    side = study.sides.get(name)
    found = ladders.tables(study, side) if side else []
    if not found:
        return []
    text, against = ladders.reading(study, side), ladders.over_sizes(study, side)
    made = [blocks.heading(f"The {SIDE_NAME[name]}’s ladder, step by step"),
            *([blocks.reading(text)] if text else []), *figure(f"climb_{name}"), *found,
            *limits.section(study, side)]
    peers = figure(f"peers_{name}") + ladders.shapes(study, side)
    return made + ([blocks.subheading("The top rung against its peers"),
                    *([blocks.reading(against)] if against else []), *peers] if peers else [])


def others(study: Study, figure: Figure) -> list[dict]:
    """The CPU's ladder on the other machines, each said to be recorded or measured, with its date."""
    if not any(derive.rungs(study, side) for side in study.others):
        return []
    made = [blocks.heading("The CPU’s ladder on other machines")]
    texts = [f"{side.label[0].upper()}{side.label[1:]}: {text}" for side in study.others
             if (text := ladders.reading(study, side))]
    made += [blocks.reading(text) for text in texts] + figure("climb_others")
    for side in study.others:
        made += ladders.tables(study, side) + limits.section(study, side)
    return made


def nearest_roof(side: Side, point: Point) -> tuple[str, float] | None:
    """The roof of which the point reaches the largest share, and that share; None where no level's is known."""
    shares = resources.shares(side, point)
    if not shares:
        return None
    name, share = max(shares.items(), key=lambda item: item[1])
    is_peak = name == resources.ARITHMETIC
    return derive.peak(side, point.kernel.precision).label if is_peak else f"the {name} bandwidth", share


def hierarchy(study: Study) -> str:
    """Which roof is nearest to the best own code, and which code stays farthest below every roof."""
    found = levels.placed(study, study.cpu)
    bounds = [(p, bound) for p, _ in found if (bound := nearest_roof(study.cpu, p))]
    if not bounds:
        return ""
    own = [(p, bound) for p, bound in bounds if not p.kernel.is_library] or bounds
    top, (name, share) = max(own, key=lambda item: (item[0].gflops, item[0].name))
    text = (f"The roof nearest to {top.title}, the fastest own code with known bytes, is {name}, of which it reaches "
            f"{fmt.percent(share)}.")
    low, (roof, part) = min(bounds, key=lambda item: (item[1][1], item[0].name))
    if low is not top:
        text += f" Farthest below every roof is {low.title}, at {fmt.percent(part)} of what {roof} allows."
    told = study.cpu.context.get("cpu_events_unavailable")
    by_formula = all(m.how == levels.MODEL for _, moved in found for m in moved)
    return text + (f" No hardware events: {str(told).rstrip('.')}." if told and by_formula else "")


def scaling(study: Study) -> str:
    """Speed-up and efficiency of the best own code on the most threads that are not more than the cores."""
    n, lines, roofs = scaling_figure.shown(study) if study.cpu else (None, [], [])
    fair = [line for line in ([s for s in line if not s.point.oversubscribed] for line in lines) if line]
    fair = [line for line in fair if line[-1].threads > 1]
    if not fair:
        return ""
    own = [line for line in fair if not line[0].point.kernel.is_library] or fair
    best = max(own, key=lambda line: (line[-1].point.gflops, line[-1].point.name))[-1]
    text = (f"On {best.threads} threads {best.point.kernel.title} is {fmt.times(best.speedup)} as fast as on one at "
            f"N = {n}: an efficiency of {fmt.percent(best.efficiency)}")
    flat = [line[-1] for line in roofs if not line[0].point.kernel.ceiling_is_bandwidth
            and line[-1].threads == best.threads and line[0].point.kernel.precision == best.point.kernel.precision]
    if flat:
        top = max(flat, key=lambda s: s.point.gflops)
        text += f"; that of the {scaling_figure.name(top)} ceiling is {fmt.percent(top.efficiency)}"
    return text + "."


def scaling_table(study: Study) -> list[dict]:
    """Speed-up with its efficiency for each kernel and number of threads, at the figure's size; then the ceilings."""
    n, lines, roofs = scaling_figure.shown(study) if study.cpu else (None, [], [])
    if not lines:
        return []
    counts = sorted({s.threads for line in lines + roofs for s in line} - {1})
    shown = counts if len(counts) <= MOST_COUNTS else counts[-MOST_COUNTS:]
    rows = []
    for line in lines + roofs:
        by_count, base = {s.threads: s for s in line}, line[0].point
        one = fmt.flops(base.gflops) if base.gflops else fmt.bandwidth(base.gbytes)
        rows.append((scaling_figure.name(line[0]), one, *(
            (fmt.times(by_count[c].speedup), fmt.percent(by_count[c].efficiency)) if c in by_count else None
            for c in shown)))
    return [blocks.table(
        f"Speed-up over one thread at N = {n}, and of the ceilings; below it the efficiency, which is the speed-up "
        f"over the number of threads. {captions.provenance([(study.cpu, [s.point for line in lines for s in line])])}",
        [("", "l"), ("one thread", "r"), *((f"{c} threads", "r") for c in shown)], rows)]


def no_energy(study: Study) -> list[dict]:
    """One line a side that says why its energy is not known; without any ladder there is nothing to say."""
    return [blocks.paragraph(text) for text in energy.reasons(study)] if derive.main_family(study) else []
