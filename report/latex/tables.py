"""The printed tables as booktabs tables, and the captions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from report.experiment import Column, Figure, Table
from report.latex.escape import escape
from report.output import safe_name
from report.text import blocks

LONG = 34
"""Letters; a column that may take the room that is left takes it if a cell is longer."""
LEAST = 16
"""Letters of such a column in a narrow table."""
LETTER, GAP = 1.15, 3.0
"""Mean width of a letter, and the space next to each column, in the height of an x."""


def printed(tables: Iterable[Table]) -> list[Table]:
    """The tables that a document of the report prints; of the others there is only a CSV."""
    return [table for table in tables if table.most and table.rows and table.columns]


def tabular(table: Table) -> str:
    """A tabular, or a tabularx where a column of text is long."""
    titles, rows, lengths, flexible = _laid_out(table)
    kinds = "".join(_kind(column, fills, table.columns, flexible) for column, fills in zip(table.columns, flexible))
    begin, end = rf"\begin{{tabular}}{{@{{}}{kinds}@{{}}}}", r"\end{tabular}"
    if any(flexible):
        letters = sum((LEAST if fills else length) * LETTER + GAP for length, fills in zip(lengths, flexible))
        begin, end = rf"\begin{{tabularx}}{{\rungwidth{{{letters:.0f}}}}}{{@{{}}{kinds}@{{}}}}", r"\end{tabularx}"
    lines = [begin, r"\toprule", _line(titles), r"\midrule", *map(_line, rows), r"\bottomrule", end]
    return "\n".join([f"% {safe_name(table.name)}: {_number(table)}; needs rung.sty", *lines, ""])


def is_flexible(table: Table) -> bool:
    """Whether a column of it is as wide as the room allows."""
    return any(_laid_out(table)[3])


def _laid_out(table: Table) -> tuple[list[str], list[list[str]], list[int], list[bool]]:
    """Titles, rows, the letters of each column, and whether it takes the room that is left."""
    rows = [[_cell(column, row) for column in table.columns] for row in table.rows[:table.most]]
    titles = [blocks.clean(column.title) for column in table.columns]
    lengths = [max(map(len, column)) for column in zip(titles, *rows)]
    return titles, rows, lengths, [bool(column.wide) and length > LONG for column, length in zip(table.columns, lengths)]


def _kind(column: Column, fills: bool, columns: Sequence[Column], flexible: Sequence[bool]) -> str:
    if not fills:
        return "r" if column.right else "l"
    shares = [float(c.wide) for c, x in zip(columns, flexible) if x]
    share = float(column.wide) * len(shares) / sum(shares)
    wide = "" if share == 1 else rf"\hsize={share:.3g}\hsize"
    return rf">{{{wide}\{'raggedleft' if column.right else 'raggedright'}\arraybackslash}}X"


def _number(table: Table) -> str:
    shown = min(table.most, len(table.rows))
    return f"{shown} of {len(table.rows)} rows" if shown < len(table.rows) else f"{shown} rows"


def _cell(column: Column, row: dict) -> str:
    value = row.get(column.key)
    return "–" if value is None or value == "" else blocks.clean(column.text(value))


def _line(cells: Sequence[str]) -> str:
    r"""A row; its first cell cannot be the optional argument of the `\\` before it."""
    return rf"{{}}{' & '.join(map(escape, cells))} \\"


def all_captions(figures: Iterable[Figure], tables: Iterable[Table]) -> str:
    """captions.tex: of each figure and table what it shows, where and how it was measured."""
    lines = ["% The captions: \\rungcaption{NAME} of a figure, \\rungtablecaption{NAME} of a table"]
    lines += [rf"\rungfigurecaption{{{safe_name(f.name)}}}{{{escape(blocks.clean(f.caption))}}}" for f in figures]
    for table in tables:
        rest = f" The first {table.most} of {len(table.rows)} rows." if len(table.rows) > table.most else ""
        lines.append(rf"\rungcaptionoftable{{{safe_name(table.name)}}}{{{escape(blocks.clean(f'{table.caption}{rest}'))}}}")
    return "\n".join([*lines, ""])
