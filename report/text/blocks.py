"""The building blocks of the document as plain data: the typst template turns them into pages.

Every text travels as a JSON string and is never markup, so that a name cannot become code.
"""

from __future__ import annotations

from collections.abc import Sequence

ZERO_WIDTH_SPACE = "\u200b"


def clean(text: object) -> str:
    """One line of printable characters; long names may break after '/', '_', ',', '=' and every 40 characters."""
    line = " ".join(str(text).split())
    line = "".join(c if c.isprintable() else "\ufffd" for c in line)
    made, since = [], 0
    for c, following in zip(line, line[1:] + " "):
        made.append(c)
        since = 0 if c == " " else since + 1
        if following != " " and (c in "/_,=" or since >= 40):
            made.append(ZERO_WIDTH_SPACE)
            since = 0
    return "".join(made)


def heading(text: str) -> dict:
    return {"kind": "heading", "text": clean(text)}


def subheading(text: str) -> dict:
    return {"kind": "subheading", "text": clean(text)}


def paragraph(text: str) -> dict:
    return {"kind": "text", "text": clean(text)}


def reading(text: str) -> dict:
    """The sentence that interprets the figure below it; it stays on the figure's page."""
    return {"kind": "reading", "text": clean(text)}


def errors(items: Sequence[str]) -> dict:
    return {"kind": "errors", "items": [clean(i) for i in items]}


def figure(name: str, caption: str) -> dict:
    return {"kind": "figure", "file": f"figures/{name}.pdf", "caption": clean(caption)}


def undrawn(name: str, caption: str) -> dict:
    """Stands for a figure where matplotlib is missing: its caption and where its numbers are."""
    return {"kind": "text", "text": f"(Not drawn, matplotlib is missing; its numbers are in figures/{name}.csv.) "
                                    f"{clean(caption)}"}


def table(caption: str, columns: Sequence[tuple[str, str]], rows: Sequence[Sequence[object]],
          widths: Sequence[str] | None = None) -> dict:
    """A table; columns are (title, 'l' or 'r'), widths are 'auto' or '1fr'.

    A cell is text, or a pair of text and a second line in small print.
    """
    return {"kind": "table", "caption": clean(caption), "columns": [clean(title) for title, _ in columns],
            "align": [side for _, side in columns],
            "widths": list(widths or ["1fr" if side == "l" else "auto" for _, side in columns]),
            "rows": [[_cell(value) for value in row] for row in rows]}


def _cell(value: object) -> dict:
    main, small = value if isinstance(value, tuple) else (value, "")
    return {"main": "–" if main is None else clean(main), "small": clean(small or "")}


def dense(rows: Sequence[tuple[str, object]]) -> dict:
    """Like pairs, in two columns of small print."""
    return pairs(rows) | {"kind": "dense"}


def pairs(rows: Sequence[tuple[str, object]]) -> dict:
    """Names with values, as in a record; values that are missing are left out."""
    shown = [[clean(k), clean("" if v is None else v)] for k, v in rows]
    return {"kind": "pairs", "rows": [row for row in shown if row[1]]}
