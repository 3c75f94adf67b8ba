"""What the reduction shows: rates beside that of reading, and what each step of the ladder gains."""

from report.experiment import FAILS, HOLDS, UNTESTED, Ladder, Section, Verdict, View, claim, judge, numbers, ratio, words
from report.sections import by_size

ROOF = "read"
"""In the label of the roof: nothing is written but the sum. A CPU's roof of reading is labelled as its memory is."""


def section(view: View) -> Section | None:
    s = view.settings
    made = [x for part in (view.gpu, view.cpu) if (x := by_size.ladder(part, s["family"], s["type"]))]
    if not made:
        return None
    return Section(" ".join([*(by_size.finding(x, ROOF, "the rate of reading") for x in made), *map(_steps, made)]).strip(),
                   ladders=made, verdicts=[_addressing(view, made)],
                   figures=[by_size.figure(view, x, ROOF, "of the sum, 4 bytes for each element") for x in made],
                   tables=[by_size.table(view, x, ROOF) for x in made],
                   appendix=[x for ladder in made for x in by_size.appendix(view, ladder)])


def _steps(ladder: Ladder) -> str:
    """The largest gain over the kernel below."""
    gains = [r for r in ladder.own if r.below and r.below.is_significant and r.below.value > 1]
    if not gains:
        return ""
    most = max(gains, key=lambda r: r.below.value)
    below = ladder.own[most.number - 2].point.kernel.title
    return (f"The largest single step on the {ladder.part.side.upper()}, from {below} to {most.point.kernel.title}, gains "
            f"{numbers.times(most.below.value)}.")


def _addressing(view: View, made: list[Ladder]) -> Verdict:
    told = claim(view, "addressing")
    for ladder in made:
        after, before = (ladder.find(view.settings[key]) for key in ("sequential", "interleaved"))
        if after and before:
            gain = judge({"": ratio(after, before)})[""]
            return Verdict(told, HOLDS if gain.value > 1 and gain.is_significant else FAILS,
                           words.sentence(f"at {after.size_text} {after.kernel.title} is {words.speed(gain, before.kernel.title)}"
                                          f"{_divergence(view, after.kernel.name, before.kernel.name)}"))
    return Verdict(told, UNTESTED)


def _divergence(view: View, *names: str) -> str:
    """What the emulator counts of both: loads from shared memory by warps, however few of their lanes work."""
    counted = {p.kernel.name: p.counters for p in (view.counts.points if view.counts else ()) if p.is_counted}
    loads = [counted.get(name, {}).get("shared_load_requests") for name in names]
    return f"; the emulator counts {numbers.times(loads[1] / loads[0])} fewer loads of warps from shared memory" if all(loads) else ""
