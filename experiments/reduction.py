"""The reduction: rates compared with the rate of reading, and the gain of each step of the ladder."""

from report.experiment import Ladder, Section, View, numbers
from report.sections import by_size


def section(view: View) -> Section | None:
    s = view.settings
    made = [x for part in (view.gpu, view.cpu) if (x := by_size.ladder(part, s["family"], s["type"]))]
    if not made:
        return None
    return Section(" ".join([*(by_size.finding(x) for x in made), *map(_steps, made)]).strip(),
                   ladders=made, figures=[by_size.figure(view, x, "of the sum, 4 bytes per element") for x in made],
                   tables=[by_size.table(view, x) for x in made],
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
