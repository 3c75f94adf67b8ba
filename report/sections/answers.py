"""All experiments of a study in one table: what each shows, and the verdicts of its claims."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from report.claims.verdict import HOLDS, ORDER, Finding, counts
from report.experiment import Column, Section, Table, words

TITLE, QUESTION = "The other experiments", "What does each of them show, and what becomes of the claims that it tests?"


def tables(titled: Iterable[tuple[str, str, Section]], claims: Sequence[Finding]) -> list[Table]:
    """One row for each section that the paper does not show, with its experiment's name and title: the first sentence of its finding, and
    the numbers of claims. Nothing where it shows all."""
    rows = []
    for name, title, section in ((name, title, section) for name, title, section in titled if not section.paper):
        told = counts([f for f in claims if f.entry.experiment == name])
        rows.append({"experiment": title, "answer": words.first_sentence(section.finding),
                     "holds": told[HOLDS] or None, "others": sum(told[v] for v in ORDER if v != HOLDS) or None})
    return [Table("answers", "The further experiments, each with the first sentence of its finding; experiments.pdf has all of it. Claims of the "
                 "literature: those that hold, and those with any other verdict; literature.pdf has each.", (
                     Column("experiment", "experiment", right=False, wide=1.0), Column("answer", "answer", right=False, wide=3.6),
                     Column("holds", "hold"), Column("others", "others")), rows, most=len(rows))] if rows else []
