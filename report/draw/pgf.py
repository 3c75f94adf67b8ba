"""A figure as PGF: LaTeX sets its texts, in the fonts of the document that inputs it. Needs pdflatex with pgf."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import matplotlib
from matplotlib.backends import backend_pgf
from matplotlib.figure import Figure
from matplotlib.text import Text

from report.draw.formats import grey
from report.files import write
from report.latex.escape import escape

if TYPE_CHECKING:
    from matplotlib.typing import RcKeyType

ENDING = ".pgf"
LETTERS = r"\providecommand{\rungchar}[1]{\ifnum"'"#1<128 \\symbol{"#1}\\else\\mbox{[U+#1]}\\fi}' + r"\providecommand{\rungbreak}{}"
"""Commands of escaped texts, for a document without rung.sty."""
OPTIONS: dict[RcKeyType, object] = {
    "pgf.texsystem": "pdflatex", "pgf.rcfonts": False,
    "pgf.preamble": rf"\usepackage[T1]{{fontenc}}\usepackage{{lmodern}}\usepackage{{textcomp}}{LETTERS}"}
COLOUR = re.compile(r"(\\definecolor\{\w+\}\{rgb\})\{([\d.]+),([\d.]+),([\d.]+)\}")


class _Escaping(backend_pgf.RendererPgf):
    """Prints each text literally."""

    def draw_text(self, gc, x, y, s, prop, angle, ismath=False, mtext=None):
        super().draw_text(gc, x, y, escape(s), prop, angle, ismath, mtext)

    def get_text_width_height_descent(self, s, prop, ismath):
        return super().get_text_width_height_descent(escape(s), prop, ismath)


@contextmanager
def _escaping() -> Iterator[None]:
    usual = backend_pgf.RendererPgf
    backend_pgf.RendererPgf = _Escaping  # type: ignore[misc]
    try:
        yield
    finally:
        backend_pgf.RendererPgf = usual  # type: ignore[misc]


def save(fig: Figure, folder: Path, name: str, is_grey: bool) -> None:
    """Writes name.pgf, and name-imgN.png for the pictures in it. Halos of texts are left out, since they need outlines of letters."""
    for text in fig.findobj(Text):
        text.set_path_effects([])
    with TemporaryDirectory() as made, matplotlib.rc_context(OPTIONS), _escaping():
        fig.savefig(Path(made) / f"{name}{ENDING}", format="pgf")
        for path in sorted(Path(made).iterdir()):
            write(folder / path.name, path.read_bytes() if path.suffix != ENDING else _own(path.read_text(encoding="utf-8"), is_grey))


def _own(code: str, is_grey: bool) -> str:
    """The code without the comments before it, with the commands that its texts need."""
    code = f"% Needs the package pgf\n{LETTERS}%\n{code[code.index(chr(92) + 'begingroup'):]}"
    return COLOUR.sub(lambda m: f"{m[1]}{{{','.join([_grey(*map(float, m.groups()[1:]))] * 3)}}}", code) if is_grey else code


def _grey(*parts: float) -> str:
    return f"{int(grey('#' + ''.join(f'{round(255 * part):02x}' for part in parts))[1:3], 16) / 255:f}"
