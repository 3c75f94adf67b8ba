"""What an experiment's .py is written with: `def section(view: View) -> Section | None` in experiments/NAME.py.

Everything that such a file needs can be imported from here and from report.draw; see docs/experiments.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from report.claims.verdict import Finding
from report.data.ladder import Ladder, Rung, build
from report.data.limits import Use, use
from report.data.records import COLD, HOT, SWEPT, Kernel, Point, Reference
from report.data.statistics import Ratio, judge, ratio, times_as_fast
from report.data.timeline import Span
from report.data.view import Part, View, best_variants, fastest, leaders, whole_machine
from report.text import captions, numbers, sources, words

__all__ = ["COLD", "HOT", "SWEPT", "Column", "Figure", "Kernel", "Ladder", "Part", "Point", "Ratio",
           "Reference", "Rung", "Section", "Span", "Table", "Use", "View",
           "best_variants", "build", "captions", "fastest", "judge", "leaders", "numbers", "ratio", "sources", "times_as_fast",
           "use", "whole_machine", "words"]


@dataclass(frozen=True)
class Figure:
    """A figure: its data (the CSV), the function that draws it, and its caption.

    `draw` gets an empty matplotlib figure of the text's width (`half`: of half of it; two such in a row are set side by
    side) and of `height` millimetres. `alt` is the text for readers who cannot see it.
    """

    name: str
    rows: Sequence[dict]
    draw: Callable[[object], None]
    caption: str
    alt: str
    height: float = 62.0
    half: bool = False


@dataclass(frozen=True)
class Column:
    """A column of a table: the key in its rows, the title, and how a value is written (None is an en dash)."""

    key: str
    title: str
    text: Callable[[Any], str] = str  # of the type that its values have, which differs from column to column
    right: bool = True
    wide: float = 0
    """Takes so large a part of the room that is left (True is 1)."""


@dataclass(frozen=True)
class Table:
    """A table; its CSV has the raw values of all rows. At most `most` rows are printed."""

    name: str
    caption: str
    columns: Sequence[Column]
    rows: Sequence[dict]
    most: int = 48


@dataclass(frozen=True)
class Section:
    """The contribution of an experiment. The main part has `finding`, `figures` and `tables`: half a page."""

    finding: str
    """One to three sentences that answer the experiment's question; paragraphs are lines."""
    figures: Sequence[Figure] = ()
    tables: Sequence[Table] = ()
    claims: Sequence[Sequence[Finding]] = ()
    """The literature's claims of this experiment, each on every machine; the report fills them in."""
    appendix: Sequence[Figure | Table | str] = ()
    """Further figures, tables and paragraphs, for the appendix."""
    answer: Sequence[str] = ()
    """Sentences for the first page of a study of several experiments; most experiments have none."""
    first: Figure | None = None
    """A figure of half the width for the first page of such a study; most experiments have none."""
    ladders: Sequence[Ladder] = ()
    paper: Sequence[Figure | Table | str] = ()
    """What the paper of such a study shows after the finding; an experiment without it has a row in its table only."""
    slide: Figure | None = None
    """The figure of the study's slide, with the first sentence of `answer`; the first experiment that has one provides it."""
    warnings: Sequence[str] = field(default_factory=tuple)
    """Reasons to doubt these results, for the first page."""
