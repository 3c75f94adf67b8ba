"""What the prefix sum shows: rates beside that of a copy, what the passes over the array cost, additions against steps."""

from report.experiment import FAILS, HOLDS, PARTLY, UNTESTED, Ladder, Section, Verdict, View, claim, numbers, words
from report.sections import by_size

ROOF = "copy"
"""In the label of the roof: as many bytes are read as written."""
LIKE_A_COPY = 0.9
"""So large a share of a copy's rate is about as fast."""


def section(view: View) -> Section | None:
    s = view.settings
    made = [x for part in (view.gpu, view.cpu) if (x := by_size.ladder(part, s["family"], s["type"]))]
    if not made:
        return None
    return Section(" ".join([*(by_size.finding(x, ROOF, "the rate of a copy") for x in made), *_passes(made)]), ladders=made,
                   verdicts=[_copy(view, made), _work(view)],
                   figures=[by_size.figure(view, x, ROOF, "of the prefix sum, 8 bytes for each element") for x in made],
                   tables=[by_size.table(view, x, ROOF) for x in made],
                   appendix=[x for ladder in made for x in by_size.appendix(view, ladder)])


def _passes(made: list[Ladder]) -> list[str]:
    """What each pass over the array costs the GPU, where no cache hides it."""
    for ladder in made:
        known = [r.point for r in ladder.own if by_size.requested(r.point)]
        if ladder.part.side == "gpu" and len(known) > 1 and not by_size.is_cached(ladder.part, known[0]):
            each = [f"{numbers.significant(by_size.requested(p))}\u00a0B and {numbers.seconds(p.summary.median)} for {p.kernel.title}"
                    for p in known]
            return [f"Bytes requested for an element, and the time of all: {words.joined(each)}."]
    return []


def _copy(view: View, made: list[Ladder]) -> Verdict:
    told = claim(view, "copy")
    for ladder in made:
        p = ladder.find(view.settings["single_pass"])
        share = ladder.part.roofs.share(p, by_size.roof(ladder.part, ROOF)) if p and not by_size.is_cached(ladder.part, p) else None
        if share:
            verdict = HOLDS if share.value >= LIKE_A_COPY else PARTLY if share.value >= LIKE_A_COPY ** 2 else FAILS
            return Verdict(told, verdict, f"At {p.size_text} the scan in one pass reaches {numbers.rate(p)}, "
                           f"{numbers.percent(share.value)} of the measured rate of a copy.")
    return Verdict(told, UNTESTED)


def _work(view: View) -> Verdict:
    """By the emulator's counts: additions, and barriers as steps."""
    told = claim(view, "work")
    counted = {p.kernel.name: p for p in (view.counts.points if view.counts else ()) if p.is_counted}
    tree, distances = (counted.get(view.settings[key]) for key in ("tree", "distances"))
    if not tree or not distances or not {"flops_executed", "barriers"} <= tree.counters.keys() & distances.counters.keys():
        return Verdict(told, UNTESTED)
    additions, steps = ([p.counters[key] for p in (tree, distances)] for key in ("flops_executed", "barriers"))
    text = (f"At {tree.size_text} the emulator counts {numbers.significant(additions[0] / tree.n)} additions an element for "
            f"{tree.kernel.title} and {numbers.significant(additions[1] / tree.n)} for {distances.kernel.title}, and "
            f"{numbers.times(steps[0] / steps[1])} as many barriers.")
    return Verdict(told, HOLDS if additions[0] < additions[1] and steps[0] > steps[1] else FAILS, text)
