"""The prefix sum: rates compared with memory’s roof, and the cost of the passes over the array."""

from report.experiment import Ladder, Section, View, numbers, words
from report.sections import by_size


def section(view: View) -> Section | None:
    s = view.settings
    made = [x for part in (view.gpu, view.cpu) if (x := by_size.ladder(part, s["family"], s["type"]))]
    if not made:
        return None
    return Section(words.paragraphs([*(by_size.finding(x) for x in made), *_passes(made)]), ladders=made,
                   figures=[by_size.figure(view, x, "of the prefix sum, 8 bytes per element") for x in made],
                   tables=[by_size.table(view, x) for x in made],
                   appendix=[x for ladder in made for x in by_size.appendix(view, ladder)])


def _passes(made: list[Ladder]) -> list[str]:
    """The cost of each pass over the array on the GPU, where no cache holds it."""
    for ladder in made:
        known = [r.point for r in ladder.own if by_size.requested(r.point)]
        if ladder.part.side == "gpu" and len(known) > 1 and ladder.part.level(known[0]) == "DRAM":
            each = [f"{numbers.significant(by_size.requested(p))}\u00a0B and {numbers.seconds(p.summary.median)} for {p.kernel.title}"
                    for p in known]
            return [f"Bytes requested per element, and time of a call: {words.joined(each)}."]
    return []
