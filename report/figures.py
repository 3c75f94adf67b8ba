"""Single figures for another document: `--only FIGURE… --size column|page|slide --format pdf svg png pgf --grey`."""

from __future__ import annotations

import difflib
import shutil
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

from report import files, forks
from report.data.reading import InputError
from report.experiment import Figure
from report.faults import UNUSABLE, why
from report.output import PICTURES, safe_name, write_csv

if TYPE_CHECKING:
    from matplotlib.figure import Figure as MatplotlibFigure

COLUMN, PAGE, SLIDE = "column", "page", "slide"
SIZES = {COLUMN: "81 mm wide, for one of two columns", PAGE: "166 mm wide", SLIDE: "as large as fits 226 × 105 mm, with letters to match"}
PGF = ".pgf"
"""A format for single figures alone, since LaTeX sets it."""
FORMATS = tuple(ending.removeprefix(".") for ending in (*PICTURES, PGF))
ROOM = 226.0, 105.0
"""Millimetres of a slide that a figure may fill."""


def chosen(figures: Sequence[Figure], patterns: Sequence[str]) -> list[Figure]:
    """The figures whose names are these or match these patterns (`*_roofline`); InputError with similar names where there is none."""
    made: dict[str, Figure] = {}
    for pattern in patterns:
        found = [f for f in figures if fnmatchcase(f.name, pattern)]
        if not found:
            near = difflib.get_close_matches(pattern, [f.name for f in figures], 4, 0.3) or sorted(f.name for f in figures)
            raise InputError(Path(pattern), "--only", f"there is no such figure; there is {', '.join(near)}")
        made |= {f.name: f for f in found}
    return list(made.values())


def write(shown: Sequence[Figure], folder: Path, size: str, formats: Sequence[str], is_grey: bool) -> list[Path]:
    """Draws the figures into the folder, with the CSV of each. Returns the files. InputError for a figure that no column has room for."""
    if wide := [f.name for f in shown if size == COLUMN and not f.half]:
        raise InputError(Path(wide[0]), "--size", f"this figure needs the width of a page: use --size {PAGE}")
    if PGF.removeprefix(".") in formats and not shutil.which("pdflatex"):
        raise InputError(Path("pgf"), "--format", "pdflatex, which sets the texts of a PGF, is not installed")
    files.folder(folder)
    return forks.in_a_fork(_write, shown, folder, size, formats, is_grey)  # typst's threads do not survive a later fork


def _write(shown: Sequence[Figure], folder: Path, size: str, formats: Sequence[str], is_grey: bool) -> list[Path]:
    made = []
    for figure in shown:
        name = safe_name(figure.name)
        write_csv(folder / f"{name}.csv", figure.rows)
        try:
            fig = _draw(figure, name, folder, size, is_grey)
        except UNUSABLE as error:
            raise InputError(Path(name), "--only", f"it cannot be drawn from these results: {why(error)}") from None
        if PGF.removeprefix(".") in formats:
            from report.draw import pgf
            pgf.save(fig, folder, name, is_grey)
        for ending in (*PICTURES, PGF):
            if ending.removeprefix(".") in formats:
                made.append(folder / f"{name}{ending}")
            else:
                files.remove(folder / f"{name}{ending}")
        made.append(folder / f"{name}.csv")
    return made


def _draw(figure: Figure, name: str, folder: Path, size: str, is_grey: bool) -> MatplotlibFigure:
    from report.draw import style
    from report.draw.formats import Formats
    half = figure.half and size != PAGE
    width, height = style.size(figure.height, half)
    scale = min(ROOM[0] / width, ROOM[1] / height) if size == SLIDE else 1.0
    fig = style.figure(figure.height, half)
    figure.draw(fig)
    style.finish(fig)
    formats = Formats(folder, scale, is_grey)
    formats.save(fig, name)
    formats.save_png(name, width, height)
    return fig
