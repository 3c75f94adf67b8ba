"""The building blocks of the document as plain data: the typst template turns them into pages.

Every text travels as a JSON string and is never markup, so that a name cannot become code.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

from report.claims.entries import Entry
from report.claims.verdict import ANYWHERE, Finding, bare, stated, threshold
from report.experiment import Figure, Table
from report.output import safe_name
from report.plain import plain
from report.text import sources, words

ZERO_WIDTH_SPACE = "\u200b"
UNBROKEN = (" ", "\u00a0")
UNIT = re.compile(r"(?<![\w/.])([A-Za-z]{2,8})/([A-Za-z]{1,5})(?![\w/]|\.\w)")
"""'GB/s', 'OP/B', 'FLOP/byte', but no path. The template keeps them whole, too."""
TEXT_WIDTH, TALLEST = 470.5, 220.0
"""Points: the page's text; a table that is higher goes over to the next page rather than leave a part of one empty."""
LEAST = 75.0
"""If the wide columns together have less room than this, points, all columns share the shortage."""
LETTER, LINE, APART, INSET, MOST_NARROW = 3.55, 8.4, 1.7, 5.4, 8
"""Sizes of a printed table, points: a letter's mean width, a line's height, the space added per row and per column; and
a number of letters."""
NO_BREAK = {" ": " ", "\u00a0": "\u00a0", "\u202f": "\u202f", "\u2009": "\u202f"}


def clean(text: object) -> str:
    """One line of printable characters; units stay whole, long names may break after '/', '_' between letters, ',' and
    every 40 letters."""
    line = "".join(NO_BREAK.get(c, " " if c.isspace() else c) for c in plain(str(text)))
    line = re.sub(r"(?<=\w)'(?=\w)", "’", " ".join(part for part in line.split(" ") if part))
    units = {m.end(1) for m in UNIT.finditer(line)}
    made, since = [], 0
    for i, (before, c, following) in enumerate(zip(" " + line, line, line[1:] + " ")):
        made.append(c)
        since = 0 if c == " " else since + 1
        parts = c in "/," or (c == "_" and before.isalnum() and following.isalnum())  # '__device__' stays whole
        if following not in UNBROKEN and (parts or since >= 40) and i not in units:
            made.append(ZERO_WIDTH_SPACE)
            since = 0
    return "".join(made)


def heading(text: str) -> dict:
    return {"kind": "heading", "text": clean(text)}


def subheading(text: str) -> dict:
    return {"kind": "subheading", "text": clean(text)}


def question(text: str) -> dict:
    return {"kind": "question", "text": clean(text)}


def paragraph(text: str, figures: Sequence[Figure] = ()) -> dict:
    """A paragraph that ends with the numbers of the figures that show it, which may be on another page."""
    shown = {"figures": [safe_name(f.name) for f in (figures[0], figures[-1])]} if figures else {}
    return {"kind": "text", "text": clean(text)} | shown


def entries(items: Sequence[str]) -> dict:
    """A list of references."""
    return {"kind": "entries", "items": [clean(i) for i in items]}


def figures(shown: Sequence[Figure], undrawn: Mapping[str, str]) -> list[dict]:
    """Figures one below the other, two half ones in a row side by side. `undrawn`: those that are not, and why."""
    made: list[dict] = []
    waiting = None
    for figure in shown:
        if figure.half and waiting:
            made[-1]["items"].append(_figure(figure, undrawn))
            waiting = None
        else:
            made.append({"kind": "figures", "items": [_figure(figure, undrawn)]})
            waiting = figure if figure.half else None
    return made


def _figure(figure: Figure, undrawn: Mapping[str, str]) -> dict:
    """A figure. If it is not drawn, only its caption is printed, with the reason and the file of the numbers."""
    name = safe_name(figure.name)
    why = undrawn.get(figure.name)
    note = f" (Not drawn, {why}; the numbers are in figures/{name}.csv.)" if why else ""
    return {"name": name, "file": "" if why else f"figures/{name}.pdf", "caption": clean(figure.caption + note),
            "alt": clean(figure.alt), "half": figure.half}


def table(shown: Table) -> dict:
    """The first rows of a table; its CSV has all of them. For a table that prints none, a sentence names the CSV."""
    if not shown.most:
        return paragraph(f"{shown.caption.rstrip('.')}: {words.counted(len(shown.rows), 'row')} in tables/{safe_name(shown.name)}.csv.")
    rest = len(shown.rows) - shown.most
    note = f" The first {shown.most} of {len(shown.rows)} rows; all are in tables/{safe_name(shown.name)}.csv." if rest > 0 else ""
    titles = [clean(c.title) for c in shown.columns]
    if len(shown.rows) == 1:
        row = shown.rows[0]
        told = (f"{c.title} {c.text(row[c.key])}".strip() for c in shown.columns if row.get(c.key) not in (None, ""))
        return paragraph(f"{shown.caption} {'; '.join(told)}.")
    rows = [[_cell(c.text, row.get(c.key)) for c in shown.columns] for row in shown.rows[:shown.most]]
    natural = _natural([titles, *rows])
    wide = [c.wide for c in shown.columns]
    left = TEXT_WIDTH - sum(width for width, share in zip(natural, wide) if not share)
    fits = sum(natural) <= TEXT_WIDTH or left < LEAST
    return {"kind": "table", "name": safe_name(shown.name), "caption": clean(shown.caption + note), "columns": titles,
            "align": ["r" if c.right else "l" for c in shown.columns],
            "widths": [f"{float(c.wide):g}fr" if c.wide and not fits else "auto" for c in shown.columns],
            "breaks": _height([c.wide for c in shown.columns], [titles, *rows]) > TALLEST, "rows": rows}


def _height(wide: Sequence[float | None], rows: Sequence[Sequence[str]]) -> float:
    """Estimates the height of the printed table, points: measuring it by typst takes as long as typesetting it."""
    natural = _natural(rows)
    room = TEXT_WIDTH - sum(width for width, share in zip(natural, wide) if not share)
    shares = sum(share or 0 for share in wide)
    fitting = [max(MOST_NARROW, (room * share / shares - INSET) / LETTER) if share else math.inf for share in wide]
    lines = (max(1, *(math.ceil(len(text) / letters) for text, letters in zip(row, fitting))) for row in rows)
    return sum(LINE * number + APART for number in lines)


def _natural(rows: Sequence[Sequence[str]]) -> list[float]:
    """Estimates the width of each column in one line, points; such a table is not stretched to the text's width."""
    return [max(map(len, column)) * LETTER + INSET for column in zip(*rows)]


def _cell(text, value: object) -> str:
    return "–" if value is None or value == "" else clean(text(value))


def verdict(found: Sequence[Finding]) -> dict:
    """One claim with its verdict, on each machine if they differ, and its evidence: limits, values, kernels, notes."""
    entry, same = found[0].entry, len({f.words for f in found}) == 1
    said = found[0].words if same else "; ".join(f"{f.words} ({f.machine})" for f in found)
    limits = ", ".join(f"{name} {text}" for name, text in (("stated", stated(entry)), ("our threshold", threshold(entry))) if text)
    kernels = list(dict.fromkeys(f.kernels for f in found if f.kernels))
    told = [(f.machine, values(f) + (f" ({f.kernels})" if len(kernels) > 1 and f.kernels else "")) for f in found]
    evidence = [f"{machine}: {text}" if machine not in ("", ANYWHERE) else text for machine, text in told if text]
    note = words.sentence(entry.note)
    why = [*dict.fromkeys(f.why.removesuffix(note).strip() for f in found), note if any(note and f.why.endswith(note) for f in found) else ""]
    by = f"by {kernels[0]}" if len(kernels) == 1 else ""
    return {"kind": "verdict", "claim": clean(entry.text), "verdict": clean(said), "source": clean(source(entry)),
            "evidence": clean(" ".join(filter(None, (*map(words.sentence, (limits, *evidence, by)), *why))))}


def source(entry: Entry) -> str:
    """The source, and the device or generation that the claim is about."""
    return f"{sources.cite(entry.source, entry.place)}{f'; said of {entry.said_of}' if entry.said_of else ''}"


def values(found: Finding) -> str:
    """'counted 16×, measured 1.41×'; of a claim without a number 'measured: yes'."""
    own = (("by the model", found.modelled), ("counted", found.counted), ("compiled", found.compiled), ("measured", found.measured))
    return ", ".join(f"{name}{':' if found.entry.limit is None else ''} {bare(found.entry, text)}" for name, text in own if text)


def pairs(rows: Sequence[tuple[str, object]]) -> dict:
    """Names with values, in two columns of small print; values that are missing are left out."""
    shown = [[clean(k), clean("" if v is None else v)] for k, v in rows]
    return {"kind": "pairs", "rows": [row for row in shown if row[1]]}
