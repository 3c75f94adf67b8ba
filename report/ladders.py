"""The ladder's tables and sentences: every own rung beside its peers, what each brought, and which brought nothing."""

from __future__ import annotations

from report import blocks, captions, derive, fmt, limits, peers_words, steps
from report.records import SIDE_NAME, Point, Side, Study
from report.steps import Ratio, Step

MOST_PEERS = 3
"""So many libraries have a column; the fastest ones."""


def tables(study: Study, side: Side) -> list[dict]:
    """One table for each precision on the side's ladder, the main one first."""
    main = derive.main_precision(study)
    found = sorted({r.point.kernel.precision for r in derive.rungs(study, side)}, key=lambda p: (p != main, p))
    return [_table(study, side, precision, made) for precision in found
            if (made := steps.climb(study, side, precision))]


def _table(study: Study, side: Side, precision: str, made: list[Step]) -> dict:
    n, roof = derive.side_size(study, side), derive.peak(side, precision)
    peers = _columns(made)
    columns = [("", "r"), ("rung", "l"), ("GFLOP/s", "r"), ("of roof", "r"), ("× before", "r"),
               *((f"× {title}", "r") for title in peers)]
    rows = [(step.number or "", (_name(step.point, n), step.point.kernel.idea), _rate(step.point),
             None if step.roof_share is None else fmt.percent(step.roof_share),
             _ratio(step.below, step.below_n if step.below_n != step.point.n else None),
             *(_ratio(step.peers.get(title)) for title in peers)) for step in made]
    shown = [r for s in made for r in (s.below, *s.peers.values()) if r]
    share = f", share of {roof.label} ({fmt.flops(roof.value)})" if roof else ""
    return blocks.table(
        f"The {SIDE_NAME[side.name]}’s ladder in {precision.upper()} at N = {n}; a rung that was not measured there "
        f"stands at its own largest size. Median rate with its 95 % interval{share}, and how many times the rung "
        f"before and each library it is, of the same run and size. Libraries are peers and have no number. "
        f"{peers_words.how(shown)} {captions.provenance([(side, [s.point for s in made])])}",
        columns, rows, widths=["auto", "1fr"] + ["auto"] * (len(columns) - 2))


def _columns(made: list[Step]) -> list[str]:
    """Titles of the fastest peers, in the ladder's order."""
    peers = [s.point for s in made if s.number is None]
    fastest = sorted(peers, key=lambda p: (-p.gflops, p.name))[:MOST_PEERS]
    return [p.kernel.title for p in peers if p in fastest and any(p.kernel.title in s.peers for s in made)]


def _name(point: Point, n: int | None) -> str:
    return point.title if point.n == n else f"{point.title}, {point.size_text}"


def _rate(point: Point) -> tuple[str, str]:
    return fmt.significant(point.gflops), fmt.interval(point.gflops_interval)


def _ratio(ratio: Ratio | None, n: int | None = None) -> tuple[str, str] | None:
    """The factor; below it its interval, and the size where it is not the row's."""
    if ratio is None:
        return None
    notes = [fmt.interval(ratio.interval)] if ratio.interval else []
    return fmt.times(ratio.value), ", ".join(notes + ([f"at N = {n}"] if n else []))


def reading(study: Study, side: Side) -> str:
    """The rung that brought most, those that brought nothing, and where the top rung stands."""
    made = [s for s in steps.climb(study, side, derive.main_precision(study)) if s.number]
    if len(made) < 2:
        return ""
    return " ".join(filter(None, (_most(made), _whole(study, side, made), _not_faster(study, side, made),
                                  _top(study, side))))


def _most(made: list[Step]) -> str:
    gains = [s for s in made if s.below and s.below.value > 1]
    if not gains:
        return ""
    best = max(gains, key=lambda s: s.below.value)
    ends = f" {fmt.interval(best.below.interval)}" if best.below.interval else ""
    return (f"Of {len(made)} own rungs {best.point.title} brought most: {fmt.times(best.below.value)}{ends} the rung "
            f"before at N = {best.below_n}.")


def _whole(study: Study, side: Side, made: list[Step]) -> str:
    """From the lowest rung at the compared size to the top one."""
    here = [s.point for s in made if s.point.n == derive.side_size(study, side)]
    top = steps.top_rung(study, side, derive.main_precision(study)).point if here else None
    if not top or top is here[0]:
        return ""
    return (f"From {here[0].title} to {top.title} the rate grows {fmt.times(top.gflops / here[0].gflops)} at "
            f"N = {top.n}.")


def _not_faster(study: Study, side: Side, made: list[Step]) -> str:
    still = [(s, before) for before, s in zip(made, made[1:]) if s.below and s.below.verdict != "faster"
             and not (s.below.verdict == "unknown" and s.below.value > 1)]
    if not still:
        compared = [s for s in made if s.below]
        return "Every rung is faster than the one before." if len(compared) == len(made) - 1 else ""
    names = [f"{s.point.title} ({fmt.times(s.below.value)} at N = {s.below_n}"
             + (", ambiguous" if s.below.verdict == "ambiguous" else "") + _elsewhere(study, side, s, before) + ")"
             for s, before in still]
    return f"Not faster than the rung before: {captions.joined(names)}."


def _elsewhere(study: Study, side: Side, step: Step, before: Step) -> str:
    """', but 1.90× at N = 512': the largest other size at which it is faster, if any."""
    precision = derive.main_precision(study)
    for n in sorted(steps.sizes(study, side, precision), reverse=True):
        own = [s for s in steps.at_size(study, side, precision, n) if s.number]
        for lower, upper in zip(own, own[1:]):
            same = (lower.point.kernel, upper.point.kernel) == (before.point.kernel, step.point.kernel)
            is_faster = same and upper.below.verdict == "faster" and upper.below.value >= limits.LITTLE
            if is_faster and n != step.below_n:
                return f", but {fmt.times(upper.below.value)} at N = {n}"
    return ""


def _top(study: Study, side: Side) -> str:
    top = steps.top_rung(study, side, derive.main_precision(study))
    parts = [f"{fmt.percent(top.roof_share)} of the measured compute ceiling"] if top.roof_share else []
    parts += [f"{fmt.times(r.value)} {title}" for title, r in top.peers.items()]
    return f"The top rung, {top.point.title}, stands at {captions.joined(parts)} at N = {top.point.n}." if parts else ""


def shapes(study: Study, side: Side | None) -> list[dict]:
    """The top rung against every peer at shapes that are not square; nothing where there are none."""
    top = steps.top_rung(study, side, derive.main_precision(study))
    found = [(p, r) for p, r in (steps.over_sizes(study, side, top) if top else []) if p.n is None]
    if not found:
        return []
    titles = list(dict.fromkeys(title for _, ratios in found for title in ratios))
    rows = [(p.size_text, _rate(p), *(_ratio(ratios.get(title)) for title in titles)) for p, ratios in found]
    return [blocks.table(
        f"{top.point.kernel.title} at other shapes than square ones on the {SIDE_NAME[side.name]}: its rate and how "
        f"many times each library’s it is. {peers_words.how([r for _, ratios in found for r in ratios.values()])} "
        f"{captions.provenance([(side, [p for p, _ in found])])}",
        [("size", "l"), ("GFLOP/s", "r"), *((f"× {title}", "r") for title in titles)], rows)]


def over_sizes(study: Study, side: Side | None) -> str:
    """At how many of the sizes the top rung is faster than each peer, and where it is worst."""
    top = steps.top_rung(study, side, derive.main_precision(study))
    found = steps.over_sizes(study, side, top) if top else []
    titles = list(dict.fromkeys(title for _, ratios in found for title in ratios))
    parts = []
    for title in titles:
        mine = [(p, ratios[title]) for p, ratios in found if title in ratios]
        faster = sum(r.verdict == "faster" for _, r in mine)
        point, worst = min(mine, key=lambda item: item[1].value)
        parts.append(f"faster than {title} at {faster} of {len(mine)} sizes, at worst {fmt.times(worst.value)} "
                     f"({point.size_text})")
    return f"{top.point.kernel.title} is for certain {'; '.join(parts)}." if parts else ""
