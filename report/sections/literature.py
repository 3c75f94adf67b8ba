"""The claims of the literature, checked: the claims of each experiment's section, and a table for each document."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from report.claims.entries import NOT_AT_HAND, unnamed
from report.claims.verdict import ERRATUM, HOLDS, ORDER, UNDECIDED, UNTESTED, Finding, bare, counts, stated, threshold
from report.data.view import View
from report.experiment import Column, Table, numbers, words
from report.text import blocks, sources

TITLE = "The literature, checked"
QUESTION = "What do the textbook, the lectures and the papers state, and does it hold on these machines?"
MOST = 6
"""The most claims that an experiment's section shows; the documents' tables have all of them."""
IN_A_LINE = 11
"""Letters of a stated number with its unit."""
SAME = "\u00a0"
UNREAD = f"‘{NOT_AT_HAND.capitalize()}’: the wording is ours."
FEWEST = 10
"""Documents with fewer claims share the table of further documents."""


def by_claim(found: Sequence[Finding]) -> list[list[Finding]]:
    return [list(group) for _, group in groupby(found, key=lambda f: f.entry.id)]


def of_experiment(found: Sequence[Finding], view: View) -> list[list[Finding]]:
    """The claims that this experiment decided by counting, compiling or measuring, beginning with those that do not
    simply hold; for the machines that its section shows, or for all machines if it shows none of them."""
    names = {part.machine.name if part.side == "gpu" else part.machine.label for part in view.timed_parts}
    mine = [[f for f in group if f.verdict != UNTESTED] for group in by_claim(found) if group[0].entry.experiment == view.name]
    mine = [[f for f in group if not f.names or any(of <= names for of in f.names)] or group for group in mine]
    decided = [group for group in mine if group and (
        group[0].entry.judge or group[0].entry.trees.keys() & {"counted", "compiled", "measured"})]
    return sorted(decided, key=lambda group: group[0].verdict == HOLDS)[:MOST]


def summary(found: Sequence[Finding]) -> tuple[str, Table] | None:
    """One sentence, and how many claims of each document there are of each verdict; None without claims."""
    groups = by_claim(found)
    if not groups:
        return None
    rows = []
    for title, mine in _documents(groups):
        told = counts([f for group in mine for f in group])
        rows.append({"document": title, "claims": len(mine)} | {v: told[v] or None for v in ORDER})
    told = counts(found)
    every = words.joined([f"{told[v]} {_plural(v, told[v])}" for v in ORDER if told[v]])
    text = (f"Of {told.total()} claims of the literature {every}. A claim about another GPU, generation or time than "
            "measured here cannot fail here: it holds for its own device if the model of that device gives the same, and is "
            "not tested otherwise. The tables by document have every claim, with the machine and the kernels that decide it.")
    return text, Table("literature", "Claims by document and verdict; where several machines were measured, of the first. In "
                       "part: for some sizes or settings, which the tables by document name. Does not hold here: not so on "
                       "these machines, by these compilers or by the emulator of today’s GPUs. Erratum: so nowhere. Undecided: measured, but not closely enough.", (
                           Column("document", "document", right=False, wide=True), Column("claims", "claims"),
                           *(Column(v, v) for v in ORDER)), rows)


def _plural(verdict: str, number: int) -> str:
    if verdict == ERRATUM:
        return "is an erratum" if number == 1 else "are errata"
    if verdict in (UNDECIDED, UNTESTED):
        return f"{'is' if number == 1 else 'are'} {verdict}"
    if number == 1:
        return verdict
    return verdict.replace("holds", "hold", 1).replace("does not hold", "do not hold").replace("it was", "they were")


def _documents(groups: list[list[Finding]]) -> list[tuple[str, list[list[Finding]]]]:
    """The documents with many claims by name, all others together."""
    made: dict[str, list[list[Finding]]] = {}
    for group in groups:
        made.setdefault(group[0].entry.source, []).append(group)
    large = [(sources.cite(key), mine) for key, mine in made.items() if len(mine) >= FEWEST]
    rest = [group for mine in made.values() if len(mine) < FEWEST for group in mine]
    return large + ([("Further documents", rest)] if rest else [])


def tables(found: Sequence[Finding]) -> list[Table]:
    """A table for each document, or for all small ones together, with every claim and the values that check it."""
    return [_table(number, title, mine) for number, (title, mine) in enumerate(_documents(by_claim(found)), 1)]


def errata(found: Sequence[Finding]) -> list[dict]:
    """The claims that are so nowhere, with the reason."""
    wrong = [group[0] for group in by_claim(found) if group[0].verdict == ERRATUM]
    texts = [f"‘{f.entry.text}’ ({blocks.source(f.entry)}): {f.why}" for f in wrong]
    return [blocks.heading("Errata"), blocks.question("Which statements are so on no device?"), *map(blocks.paragraph, texts)] if texts else []


def name_of(table: Table) -> str:
    """The document of one of the tables, or that it has several."""
    return table.caption.partition(": what is stated")[0]


def _table(number: int, title: str, groups: list[list[Finding]]) -> Table:
    several = len({group[0].entry.source for group in groups}) > 1
    whose = "" if several else unnamed(groups[0][0].entry.source)
    if not all(group[0].entry.is_at_hand for group in groups):
        whose = f"{whose} {UNREAD}".lstrip()
    rows = [_row(f, before, several) for group in groups for f, before in zip(group, [None, *group])]
    return Table(f"literature_{number}", f"{title}: what is stated, and what the model, the emulator, the compilers and "
                 "the measurements give (median; of several cases the range; yes or no: whether it is so). Our threshold: "
                 f"a limit or tolerance not in the document. ‘Any’: it depends on no machine. {whose}".rstrip(), (
                     Column("claim", "claim", right=False, wide=4.4), Column("stated", "stated", wide=1.7),
                     Column("threshold", "our threshold", wide=1.5), Column("modelled", "model", wide=1.3),
                     Column("counted", "counted", wide=1.5), Column("compiled", "com-\npiled", wide=1.0),
                     Column("machine", "machine, kernels", right=False, wide=2.6),
                     Column("measured", "measured", wide=1.6), Column("verdict", "verdict", right=False, wide=2.3),
                     Column("why", "why", right=False, wide=3.6)), rows, most=len(rows))


def _row(f: Finding, before: Finding | None, several: bool) -> dict:
    """After the same claim on another machine nothing that is the same is repeated."""
    e = f.entry
    said_of = f"said of {e.said_of}" if e.said_of else ""
    where = "; ".join(filter(None, (sources.cite(e.source, e.place) if several else e.place, said_of)))
    claim = f"{e.text}{f' ({where})' if where else ''}"
    own = {"claim": claim, "stated": _in_lines(stated(e)), "threshold": _in_lines(threshold(e)),
           "modelled": bare(e, f.modelled), "counted": bare(e, f.counted), "compiled": bare(e, f.compiled)}
    own = own if before is None else dict.fromkeys(own, SAME)
    said = f.words.replace(" = ", f"{numbers.NB}={numbers.NB}")
    why = SAME if before is not None and before.why == f.why else f.why
    machine = f"{f.machine}{': ' if f.machine and f.kernels else ''}{f.kernels}"
    return {"id": e.id} | own | {"machine": machine, "measured": bare(e, f.measured), "verdict": said, "why": why, "source": e.source,
                                 "where": e.where, "at_hand": e.is_at_hand, "said_of": e.said_of}


def _in_lines(value: str) -> str:
    """Breaks the line between a number and its unit where both are too long for the column."""
    return value.replace(numbers.NB, " ") if len(value.partition(" ")[0]) > IN_A_LINE else value
