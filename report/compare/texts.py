"""A comparison as text: a table for the terminal, Markdown for a pull request."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import median_low

from report.compare import counts, matching, rule, sides
from report.compare.comparison import COUNTS, PLANTED, VERDICTS, Against, Comparison
from report.compare.counts import EQUAL, Counted
from report.compare.rule import ASSUMED, FASTER, FEWEST_RUNS, SAME, SLOWER, UNDECIDED, Finding
from report.data.companions import Tally
from report.data.records import SIDE_NAME
from report.plain import plain
from report.text import numbers, words

MOST_REASONS, MOST_NAMES, MOST_CHANGES = 8, 3, 4
LARGE = 10.0
"""A larger difference is not named."""
MOST_ROWS = 40
"""Rows of the terminal's table that are neither slower nor faster, unless rows are chosen."""
MARKS = {SLOWER: "🔴", "GREW": "🔴", FASTER: "🟢", "SHRANK": "🟢", SAME: "⚪", UNDECIDED: "🟡", EQUAL: "⚪"}
NB = "\u00a0"
FOLDED = (SAME, UNDECIDED, EQUAL)
"""Verdicts whose rows Markdown folds away."""


def seconds(value: float) -> str:
    return numbers.seconds(value).replace(NB, " ")


def ratio(value: float) -> str:
    return f"{value:.3f}" if value < 10 else numbers.significant(value)


def interval(ends: tuple[float, float] | None) -> str:
    return f"[{ratio(ends[0])}, {ratio(ends[1])}]" if ends else "–"


def more(f: Finding) -> str:
    """'+12 samples', '+3 runs', '> 100 runs' or nothing."""
    if f.verdict != UNDECIDED:
        return ""
    if f.code == "at_tolerance":
        return "other tolerance"
    number = f"+{words.counted(f.more_runs, 'run')}" if f.more_runs else f"+{words.counted(f.more_samples, 'sample')}" if f.more_samples else ""
    return number or f"> {rule.MANY_RUNS} runs"


def notes(f: Finding) -> str:
    """The reason of a verdict that needs one, and what changed of the launch."""
    return "; ".join(filter(None, (f.why, *counts.of_launch(f.test.pair))))


def shows(verdict: str, only: Iterable[str]) -> bool:
    wanted = set(only)
    return not wanted or verdict.lower() in wanted


def head(c: Comparison) -> list[str]:
    """The sides, and what differs between each and the first."""
    lines = [plain(line) for line in sides.labels([c.first, *(a.second for a in c.against)])]
    for a in c.against:
        if sides.is_same_file(c.first, a.second):
            lines.append(f"{a.second.letter} is the same file as {c.first.letter}.")
        elif a.is_same_program:
            lines.append(f"{a.second.letter} ran the same program as {c.first.letter}: differences are of the machine or its settings, not of the code.")
        for d in a.differences:
            lines.append(f"   {d.what}: {c.first.letter} {plain(d.first)}, {a.second.letter} {plain(d.second)}")
    for side in (c.first, *(a.second for a in c.against)):
        lines += [f"   {side.letter} without {plain(text)}" for text in side.left_out[:MOST_REASONS]]
        lines += [f"   {side.letter} without {left} further files"] if (left := len(side.left_out) - MOST_REASONS) > 0 else []
    return lines


def summary(c: Comparison, a: Against) -> str:
    """'B against A, 40 points: 2 SLOWER, 1 FASTER, 30 SAME, 7 UNDECIDED; B is 0.994 times as fast (geometric mean of 40). Counts …'"""
    made = []
    if a.timed:
        found = ", ".join(f"{a.tally[word]} {word}" for word in VERDICTS if a.tally[word])
        made.append(f"{words.counted(len(a.timed), 'timed point')}: {found}; {a.second.letter} is {ratio(a.mean or 0.0)} times as fast as {c.first.letter} "
                    f"(geometric mean of {len(a.ratios)})")
    if a.counted:
        found = ", ".join(f"{a.tally[word]} {word}" for word in COUNTS if a.tally[word])
        made.append(f"{words.counted(len(a.counted), 'counted point')}: {found}")
    if a.alone:
        made.append(f"{len(a.alone)} not compared")
    return f"{a.second.letter} against {c.first.letter}. {'. '.join(made)}."


def error_rates(c: Comparison) -> list[str]:
    """How often the rule was wrong where the truth was known, and what it can find here."""
    lines = []
    if (file := c.rates) and c.is_rates_own:
        lines.append(f"Error rates (measured on this machine, {file.date[:10]}): {_rates(file.compare)}.")
        lines += [f"With {file.joined_runs} alternating runs of each side: {_rates(file.joined)}."] if file.joined else []
    elif file:
        lines.append("Error rates (not measured on this machine; by recorded runs of one build on three machines, one run of each side):")
        lines += [f"   {SIDE_NAME[side]}: {_rates(file.repeated[side])}." for side in c.sides if side in file.repeated]
    else:
        lines.append("Error rates: not measured on this machine, and none are recorded (tests/twins/run.sh measures them).")
    if c.family:
        found = ", ".join(f"{100 * planted:g} % at {c.resolved(planted)}" for planted in PLANTED)
        half = median_low(c.detectable)
        lines.append(f"These samples would show a difference of {found} of {words.counted(c.family, 'point')}"
                     f"{f', and of {_percent(half)} % at half of them' if half < LARGE else ''}. False differences: at most 5 % per comparison "
                     f"(Holm); a difference of up to {100 * c.tolerance:g} % is none (--tolerance).")
    return lines


def _percent(share: float) -> str:
    return f"{100 * share:.0f}" if share >= 0.1 else f"{100 * share:.2g}"


def _rates(tallies: Mapping[str, Tally]) -> str:
    return (f"equal code was called different at {_of(tallies['same'])} points and in {_of(tallies['families'])} comparisons; 1 % more work was found at "
            f"{_of(tallies['one'])}, 2 % at {_of(tallies['two'])}, 5 % at {_of(tallies['five'])} points")


def _of(tally: Tally) -> str:
    return f"{tally.called} of {tally.pairs}"


def hints(c: Comparison) -> list[str]:
    """What to do about undecided points."""
    found = [f for f in c.findings if f.verdict == UNDECIDED]
    if not found:
        return []
    lines = []
    samples, runs = ([n for f in found if (n := given(f))] for given in (lambda f: f.more_samples, lambda f: f.more_runs))
    assumed = any(b.source == ASSUMED and f.more_runs and f.test.runs < FEWEST_RUNS for f in found for b in f.test.between)
    need = [f"{words.counted(len(some), 'point')} need{'s' * (len(some) == 1)} more {what} ({median_low(some)}{' in the median' * (len(some) > 1)})"
            for some, what in ((samples, "samples"), (runs, "runs of each side")) if some]
    if need:
        lines.append(f"Undecided: {' and '.join(need)}. rung compare … --undecided points.txt; rung run --more RESULT --points points.txt; "
                     "then compare again.")
    if assumed:
        lines.append(f"How much runs of this machine differ is not known and assumed: {FEWEST_RUNS} runs of each side measure it, and may need fewer.")
    return lines


def not_compared(a: Against) -> list[str]:
    """The points without a partner by reason, with their number."""
    lines = []
    reasons = matching.by_reason(a.alone)
    for reason, names in list(reasons.items())[:MOST_REASONS]:
        some = ", ".join(plain(name) for name in names[:MOST_NAMES])
        lines.append(f"{len(names)} {plain(reason)}: {some}{', …' if len(names) > MOST_NAMES else ''}")
    left = sum(len(names) for names in list(reasons.values())[MOST_REASONS:])
    return lines + ([f"{left} for further reasons: see --csv or --json"] if left else [])


# Terminal


def table(columns: Sequence[str], body: Sequence[Sequence[str]], right: Sequence[int]) -> list[str]:
    """Columns of equal width; the last one as it is."""
    widths = [max(len(row[i]) for row in (columns, *body)) for i in range(len(columns) - 1)]
    return ["  ".join([*(cell.rjust(w) if i in right else cell.ljust(w) for i, (cell, w) in enumerate(zip(row, widths))), row[-1]]).rstrip()
            for row in (columns, *body)]


def terminal(c: Comparison, only: Sequence[str] = ()) -> str:
    lines = head(c)
    for a in c.against:
        timed, left = _rows(a, only)
        if timed:
            lines += ["", *table(("verdict", "ratio", "95 % interval", c.first.letter, a.second.letter, "samples", "needs", "point"), [
                (f.verdict, ratio(f.test.value), interval(f.shown), seconds(rule.middle(f.test.pair.first)), seconds(rule.middle(f.test.pair.second)),
                 _samples(f), more(f), plain(f.test.pair.name) + (f"  ({plain(text)})" if (text := _short(f)) else "")) for f in timed], (1, 3, 4, 5))]
            lines += [f"… and {left} that are {SAME} or {UNDECIDED}: --only same,undecided or --csv shows them"] if left else []
        counted = [one for one in a.counted if shows(one.verdict, only) and (one.verdict != EQUAL or only)]
        if counted:
            lines += ["", *table(("counts", "point", "changed"), [(one.verdict, plain(one.pair.name), _changes(one)) for one in counted], ())]
        if a.alone and not only:
            lines += ["", "Not compared:", *(f"   {line}" for line in not_compared(a))]
    if c.findings:
        lines += ["", "ratio: how many times as fast, from the medians; below 1 is slower"]
    lines += ["", *(summary(c, a) for a in c.against), *error_rates(c), *hints(c)]
    return "\n".join(lines)


def _rows(a: Against, only: Sequence[str]) -> tuple[list[Finding], int]:
    """The rows to show, and how many are left out: unless rows are chosen, SAME and UNDECIDED ones that are nearest to 1."""
    timed = [f for f in a.timed if shows(f.verdict, only)]
    level = [f for f in timed if f.verdict in FOLDED]
    dropped = set() if only else {id(f) for f in sorted(level, key=lambda f: -abs(f.test.value - 1))[MOST_ROWS:]}
    return [f for f in timed if id(f) not in dropped], len(dropped)


def _samples(f: Finding) -> str:
    first, second = (_side(points) for points in (f.test.pair.first, f.test.pair.second))
    return first if first == second else f"{first}, {second}"


def _side(points: Sequence) -> str:
    number = sum(len(p.times) for p in points)
    return f"{number} in {len(points)} runs" if len(points) > 1 else f"{number}"


def _short(f: Finding) -> str:
    """Reasons that the columns do not show."""
    why = f.why if f.code not in ("samples", "between_runs", "family", "at_tolerance") else ""
    return "; ".join(filter(None, (why, *counts.of_launch(f.test.pair))))


def _changes(one: Counted) -> str:
    shown = [change.text for change in one.changes[:MOST_CHANGES]]
    rest = len(one.changes) - len(shown)
    return "; ".join([*shown, *([f"{rest} more"] if rest > 0 else [])]) or "nothing"


# Markdown


def code(text: str) -> str:
    """A name that Markdown and GitHub leave as it is."""
    shown = plain(text).replace("`", "'").replace("|", "\\|")
    return f"`{shown}`" if shown.strip() else "–"


def prose(text: str) -> str:
    """Text of others in a sentence or a cell: no markup, no link, no mention."""
    made = plain(text)
    for letter, safe in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("|", "\\|"), ("@", "@\u2060"), ("`", "'")):
        made = made.replace(letter, safe)
    return "".join(f"\\{c}" if c in "*_[]#!~" else c for c in made)


def markdown(c: Comparison, only: Sequence[str] = ()) -> str:
    lines = ["### rung compare", ""]
    for a in c.against:
        lines += [f"**{prose(summary(c, a))}**", ""]
    lines += [f"- {prose(line.strip())}" for line in head(c)] + [""]
    for a in c.against:
        timed = [f for f in a.timed if shows(f.verdict, only)]
        folded = [f for f in timed if f.verdict in FOLDED and not only]
        lines += _timed_table(c, a, [f for f in timed if f not in folded])
        counted = [one for one in a.counted if shows(one.verdict, only) and (one.verdict != EQUAL or only)]
        if counted:
            lines += ["| counts | point | changed |", "|---|---|---|",
                      *(f"| {MARKS[one.verdict]} {one.verdict} | {code(one.pair.name)} | {prose(_changes(one))} |" for one in counted), ""]
        if folded:
            folds = words.joined([f"{a.tally[word]} {word}" for word in FOLDED if a.tally[word] and word != EQUAL])
            lines += [f"<details><summary>{folds}</summary>", "", *_timed_table(c, a, folded), "</details>", ""]
        if a.alone and not only:
            lines += [f"<details><summary>{len(a.alone)} not compared</summary>", "", *(f"- {prose(line)}" for line in not_compared(a)), "", "</details>", ""]
    lines += [prose(" ".join(map(str.strip, error_rates(c)))), *(prose(line) for line in hints(c))]
    return "\n".join(lines)


def _timed_table(c: Comparison, a: Against, timed: Sequence[Finding]) -> list[str]:
    if not timed:
        return []
    first, second = c.first.letter, a.second.letter
    return [f"| verdict | point | {first} | {second} | times as fast | 95 % interval | needs | why |", "|---|---|--:|--:|--:|---|---|---|",
            *(f"| {MARKS[f.verdict]} {f.verdict} | {code(f.test.pair.name)} | {seconds(rule.middle(f.test.pair.first))} | "
              f"{seconds(rule.middle(f.test.pair.second))} | {ratio(f.test.value)} | {interval(f.shown)} | {more(f)} | {prose(notes(f))} |" for f in timed), ""]
