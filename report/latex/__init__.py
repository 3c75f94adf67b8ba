"""The report for LaTeX: OUTPUT/latex with numbers, captions and tables for a paper, a style file, references and a sample paper."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from report import files, output
from report.document import Document
from report.faults import UNUSABLE, say, why
from report.latex import bibliography, quantities, sample, tables
from report.latex.escape import comment, escape
from report.latex.quantities import Number
from report.latex.units import macros
from report.output import safe_name
from report.sections import references

STYLE = Path(__file__).parent / "rung.sty"
ENDING = ".tex"


def write(document: Document, undrawn: Iterable[str], folder: Path) -> list[str]:
    """Writes rung.sty, numbers.tex, captions.tex, tables/NAME.tex, rung.bib and sample.tex; the figures are in ../figures.
    Returns, after printing it, what could not be written, since the results have values that no run writes."""
    files.folder(folder)
    every = document.tables()
    printed = tables.printed(every)
    found: list[Number] = []
    faults: list[str] = []
    try:
        found = quantities.collect(document.study, document.found)
    except UNUSABLE as error:
        faults = [f"latex/numbers.tex: no numbers of these results: {why(error)}"]
        say(faults[0])
    files.write(folder / STYLE.name, STYLE.read_bytes())
    files.write(folder / "numbers.tex", numbers(found))
    files.write(folder / "captions.tex", tables.all_captions(document.figures(), every))
    files.write(folder / "rung.bib", bibliography.bibliography(document.study, references.cited(document.found, document.told)))
    files.write(folder / "sample.tex", sample.sample(document, undrawn, printed, found))
    output.remove_stale(files.folder(folder / "tables"), {safe_name(table.name) for table in printed}, (ENDING,))
    for table in printed:
        files.write(folder / "tables" / f"{safe_name(table.name)}{ENDING}", tables.tabular(table))
    return faults


def numbers(found: Sequence[Number]) -> str:
    """numbers.tex: one line for each number, with its origin as a comment."""
    head = ["% The numbers of the report, rounded as in its texts. \\rung{KEY} prints one with its unit; each line ends with what it is of,",
            "% the machine, the day, the number of samples, and the value with all digits."]
    return "\n".join([*head, *map(_line, found), ""])


def _line(n: Number) -> str:
    what = f"% {comment(n.what)}{f', over {comment(n.other)}' if n.other else ''}; {comment(n.origin)}; {comment(n.exact)}"
    unit = macros(n.unit) if n.unit else ""
    if n.unit == quantities.TIMES:
        return rf"\rungfactor{{{n.key}}}{{{n.text}}}{{{n.low}}}{{{n.high}}}{what}"
    if not n.unit:
        return rf"\rungcount{{{n.key}}}{{{n.text}}}{what}"
    command, unit = ("rungquantity", unit) if unit is not None else ("rungother", escape(n.unit))
    return rf"\{command}{{{n.key}}}{{{n.text}}}{{{unit}}}{{{n.low}}}{{{n.high}}}{what}"
