"""The main problem in another precision: families called like the main one with a precision behind it."""

from __future__ import annotations

from report import blocks, captions, derive, fmt
from report.records import SIDE_NAME, Point, Side, Study


def families(study: Study) -> list[str]:
    """'product_bf16' beside 'product': every family of any side, timed or skipped, in alphabetical order."""
    main = derive.main_family(study)
    found = {p.kernel.family for side in study.sides.values() for p in side.points}
    return sorted(f for f in found if main and f.startswith(f"{main}_")
                  and derive.precision_token(f[len(main) + 1:].split("_")[0]))


def timed(study: Study, side: Side) -> list[Point]:
    """Each kernel's fastest variant at every square size, smaller sizes first."""
    made = []
    for family in families(study):
        points = derive.timed(side, family)
        made += [p for n in sorted({p.n for p in points if p.n}) for p in derive.best_variants(points, n)]
    return made


def section(study: Study) -> list[dict]:
    """Rates beside the main precision's best, share of their own roof; and what was skipped, with the reason."""
    made = [block for side in study.sides.values() for block in _side(study, side)]
    return [blocks.heading("Other precisions"), *made] if made else []


def _side(study: Study, side: Side) -> list[dict]:
    points, skipped = timed(study, side), _skipped(study, side)
    made = [blocks.reading(text)] if (text := _reading(study, side, points)) else []
    made += [_table(study, side, points)] if points else []
    return made + [blocks.paragraph(f"Not measured on the {SIDE_NAME[side.name]}: {title}: {reason}.")
                   for title, reason in skipped.items()]


def _skipped(study: Study, side: Side) -> dict[str, str]:
    """Title → first reason of every kernel without a single timed point."""
    known = {p.kernel.name for p in timed(study, side)}
    wanted = families(study)
    return {p.kernel.title: (p.skipped or f"failed: {p.failed}").rstrip(".") for p in reversed(side.points)
            if p.kernel.family in wanted and p.kernel.name not in known and (p.skipped or p.failed)}


def _over_main(study: Study, side: Side) -> dict[int, Point]:
    return derive.best_per_size(side, derive.main_family(study), derive.main_precision(study))


def _table(study: Study, side: Side, points: list[Point]) -> dict:
    main, base = derive.main_precision(study).upper(), _over_main(study, side)
    rows = []
    for p in points:
        roof, other = derive.peak(side, p.kernel.precision), base.get(p.n)
        rows.append((p.n, (p.title, "a library" if p.kernel.is_library else ""), p.kernel.precision.upper(),
                     (fmt.significant(p.gflops), fmt.interval(p.gflops_interval)),
                     fmt.percent(p.gflops / roof.value) if roof else None,
                     (fmt.times(p.gflops / other.gflops), other.kernel.title) if other else None))
    roofs = {r.label: fmt.flops(r.value) for p in points if (r := derive.peak(side, p.kernel.precision))}
    told = "; ".join(f"{label} {value}" for label, value in roofs.items()) or "none was measured"
    return blocks.table(
        f"The same problem in other precisions on the {SIDE_NAME[side.name]}: rate, share of the measured ceiling of "
        f"that precision ({told}), and how many times the fastest {main} code of the same size, named below it. "
        f"{captions.provenance([(side, points)])}",
        [("N", "r"), ("kernel", "l"), ("", "l"), ("GFLOP/s", "r"), ("of roof", "r"), (f"× {main}", "r")], rows,
        widths=["auto", "1fr", "auto", "auto", "auto", "auto"])


def _reading(study: Study, side: Side, points: list[Point]) -> str:
    base = _over_main(study, side)
    shared = [p for p in points if p.n in base]
    if not shared:
        return ""
    n = max(p.n for p in shared)
    best = max((p for p in shared if p.n == n), key=lambda p: (p.gflops, p.name))
    roof = derive.peak(side, best.kernel.precision)
    text = (f"At N = {n} {best.title} does {fmt.flops(best.gflops)} in {best.kernel.precision.upper()}, "
            f"{fmt.times(best.gflops / base[n].gflops)} the fastest {derive.main_precision(study).upper()} code")
    return text + (f" and {fmt.percent(best.gflops / roof.value)} of {roof.label}." if roof else ".")
