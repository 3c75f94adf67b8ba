"""The first page: title, machines, question, the answer in six sentences, and the plots that support it.

For a study of several experiments: their sentences and first figures, by chapter, the comparison's last. For a single
experiment: all of it.
"""

from __future__ import annotations

from collections.abc import Sequence

from report.data.collect import Study
from report.data.records import SIDE_NAME, Point
from report.data.roofs import BEYOND, Share
from report.experiment import Figure, Section, numbers, words
from report.sections import doubts
from report.sections.contributions import Contribution
from report.text import sources

TITLE = "From the textbook’s kernels to the roof"
QUESTION = ("How far do well-known kernels climb towards what a GPU and a CPU can do, what limits each of them on the "
            "way, and how much faster is the GPU in the end?")
SENTENCES = 6
FIGURES = 2


def is_single(found: Sequence[Contribution]) -> bool:
    return len(found) == 1


def compose(study: Study, found: Sequence[Contribution], joined: Sequence[Section]) -> dict:
    """Texts and figures of the page; `joined`: sections that join several experiments, such as the comparison."""
    one = found[0] if is_single(found) else None
    return {"title": one.view.title if one else TITLE, "subtitle": machines(study), "date": study.date[:10],
            "question": one.view.question if one else QUESTION,
            "source": sources.cite_all(one.view.references) if one else "",
            "sentences": one.section.finding.split("\n") if one else _answer(found, joined),
            "warnings": warnings(study, found)}


def _answer(found: Sequence[Contribution], joined: Sequence[Section]) -> list[str]:
    """The sentences of the experiments and of sections that join them, at most six in all; else the findings."""
    last = [text for section in joined for text in section.answer]
    texts = [text for c in found for text in c.section.answer][:SENTENCES - len(last)]
    return [*texts, *last] or [c.section.finding for c in found][:SENTENCES]


def figures(found: Sequence[Contribution]) -> list[Figure]:
    """The two plots side by side; for a single experiment all its figures."""
    if is_single(found):
        return every(found[0].section)
    first = [c.section.first for c in found if c.section.first][:FIGURES]
    return first or [c.section.figures[0] for c in found if c.section.figures][:1]


def every(section: Section) -> list[Figure]:
    """All figures of a section, with the one for the first page before the first half-width figure."""
    made = list(section.figures)
    if section.first and section.first not in made:
        made.insert(next((i for i, f in enumerate(made) if f.half), len(made)), section.first)
    return made


def machines(study: Study) -> str:
    """'GPU: recorded on NVIDIA H200, 2026-11-21; CPU: measured on …': each side with its boards and days."""
    texts = []
    for side in ("gpu", "cpu"):
        parts = [p for p in study.parts if p.side == side and any(x.is_timed for x in p.points)]
        for name in dict.fromkeys(p.machine.name for p in parts):
            mine = [p for p in parts if p.machine.name == name]
            days = sorted({p.run.day for p in mine})
            boards = len({p.machine.id for p in mine})
            verb = "recorded" if all(p.recorded for p in mine) else "measured"
            several = f" ({boards} boards)" if side == "gpu" and boards > 1 else ""
            texts.append(f"{SIDE_NAME[side]}: {name}{several}, {verb} {' to '.join(dict.fromkeys((days[0], days[-1])))}")
    return "; ".join(texts) or "counted by the emulator, nothing timed"


def warnings(study: Study, found: Sequence[Contribution]) -> list[str]:
    """Reasons to doubt the numbers: files left out, values above their roofs, failures, other work."""
    made = list(study.warnings) + [text for c in found for text in c.section.warnings]
    refused = dict(item for part in study.parts for item in part.run.refused.items())
    made += [f"{name} was refused and is missing: {why}." for name, why in sorted(refused.items())]
    above = {v.title: mine for v in study.views if (mine := doubts.above(v))}
    if above:
        again = doubts.measured_again(study, True)
        places = "; ".join(f"{title} ({words.counted(len(mine), 'point')}: {_factors(mine)})" for title, mine in above.items())
        made.append(f"Points more than {100 * (BEYOND - 1):.0f}\u00a0% above a measured roof: {places}. The rate or the roof is wrong, so that "
                    f"these points are no evidence and have no share.{f' {again}' if again else ''}")
    return made + doubts.warnings(study)


def _factors(found: Sequence[tuple[Point, Share]]) -> str:
    """'naive 3.15× FP32 FMA': of each kernel the largest, the largest first."""
    most: dict[str, str] = {}
    for p, share in sorted(found, key=lambda item: (-item[1].value, item[0].name)):
        most.setdefault(p.kernel.title, f"{p.kernel.title} {numbers.times(share.value)} {share.roof.label}")
    return words.listed(list(most.values()), 3)
