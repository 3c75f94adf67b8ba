"""The figure of the first page: the few rungs that tell the story, both machines on one axis."""

from __future__ import annotations

from dataclasses import replace

from report import captions, derive
from report.derive import Rung
from report.figures import ladder
from report.records import SIDE_NAME, Side, Study

NAME = "answer"
ROW = 0.265


def chosen(study: Study) -> list[tuple[Side, list[Rung]]]:
    """Of each side: first rung, the textbook's pair, the best own code and the best library in each precision."""
    groups = []
    pair = {p.kernel.name for p in derive.textbook_pair(study) or ()}
    for side in study.sides.values():
        rungs = derive.rungs(side, derive.main_family(study))
        keep = {r.number for r in rungs if r.point.kernel.name in pair} | {r.number for r in rungs[:1]}
        for precision in {r.point.kernel.precision for r in rungs}:
            for library in (False, True):
                same = [r for r in rungs if r.point.kernel.precision == precision
                        and r.point.kernel.is_library == library]
                keep |= {max(same, key=lambda r: r.point.gflops).number} if same else set()
        if rungs:
            groups.append((side, [_textbook_variant(study, r) for r in rungs if r.number in keep]))
    return groups


def _textbook_variant(study: Study, rung: Rung) -> Rung:
    """The rung in the variant that the first page's sentences speak of, where that is not the fastest one."""
    for point in derive.textbook_pair(study) or ():
        if point.kernel == rung.point.kernel and point.n == rung.point.n:
            share = point.gflops / rung.point.gflops
            scaled = {name: value * share for name in ("step", "library_share", "roof_share")
                      if (value := getattr(rung, name)) is not None}
            return replace(rung, point=point, **scaled)
    return rung


def rows(study: Study) -> list[dict]:
    return [row for side, rungs in chosen(study) for row in ladder.side_rows(side, rungs)]


def caption(study: Study, table: list[dict]) -> str:
    shown = [(side, [r.point for r in rungs]) for side, rungs in chosen(study)]
    sides = " and ".join(SIDE_NAME[side.name] for side, _ in shown)
    return (f"The answer in one figure: the first rung, the textbook’s steps, the best own code and the best library "
            f"of the {sides}, against the measured compute ceilings (vertical lines). Square: a library; diamond: "
            f"another precision. " + captions.provenance(shown))


def draw(study: Study, table: list[dict]):
    return ladder.draw_groups(study, chosen(study), ROW)
