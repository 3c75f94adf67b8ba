"""What the prefix sum shows: rates against memory’s roof, what the passes over the array cost, additions against steps."""

from report.experiment import Ladder, Section, View, numbers, words
from report.sections import by_size


def section(view: View) -> Section | None:
    s = view.settings
    made = [x for part in (view.gpu, view.cpu) if (x := by_size.ladder(part, s["family"], s["type"]))]
    if not made:
        return None
    return Section(words.paragraphs([*(by_size.finding(x) for x in made), *_passes(made)]), ladders=made,
                   figures=[by_size.figure(view, x, "of the prefix sum, 8 bytes for each element") for x in made],
                   tables=[by_size.table(view, x) for x in made],
                   appendix=[x for ladder in made for x in by_size.appendix(view, ladder)])


def _passes(made: list[Ladder]) -> list[str]:
    """What each pass over the array costs the GPU, where no cache hides it."""
    for ladder in made:
        known = [r.point for r in ladder.own if by_size.requested(r.point)]
        if ladder.part.side == "gpu" and len(known) > 1 and ladder.part.level(known[0]) == "DRAM":
            each = [f"{numbers.significant(by_size.requested(p))}\u00a0B and {numbers.seconds(p.summary.median)} for {p.kernel.title}"
                    for p in known]
            return [f"Bytes requested for an element, and the time of all: {words.joined(each)}."]
    return []
