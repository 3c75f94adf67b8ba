"""The formats of a figure: matplotlib draws the SVG, typst makes PDF and PNG of it.

matplotlib would lay a figure out again for each format and embed a font in each PDF, which takes longer than typst does.
Without typst 0.14, matplotlib writes all three.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import matplotlib
from matplotlib.figure import Figure
from matplotlib.text import Text

from report.files import write
from report.plain import plain_lines

if TYPE_CHECKING:
    from typst import Compiler

PIXELS = 980
"""Width of a PNG, of the text's width or of half of it."""
DOTS = 144
"""Dots an inch at which typst draws PNGs: two to a point, so that a picture of whole pixels is not resampled."""
POINT = 72
FONTS = Path(matplotlib.get_data_path()) / "fonts" / "ttf"
PAGE = """#set document(date: none)
#set page(width: {0}pt, height: {1}pt, margin: 0pt)
#image("{2}.svg", width: 100%, height: 100%, fit: "stretch")
"""
HALO = re.compile(r'<g id="halo_\d+">.*?</g>', re.DOTALL)
PAINTED = '<text style="paint-order: stroke; stroke: #ffffff; stroke-width: 2px; stroke-linejoin: round; '
"""A halo as a property of the text: matplotlib's own one makes outlines of it, which cannot be searched and take the most bytes."""
PLAIN = {"pdf": {"CreationDate": None, "Producer": None, "Creator": None}, "svg": {"Date": None, "Creator": None}}
"""Metadata without a date, so that the same figure gives the same bytes."""


SIZE = re.compile(r'\b(width|height)="([\d.]+)pt"')
COLOUR = re.compile(r"#[0-9a-f]{6}\b")


def grey(colour: str) -> str:
    """The grey of a colour's relative luminance, both as '#rrggbb' (ITU-R BT.709)."""
    red, green, blue = (int(colour[i:i + 2], 16) / 255 for i in (1, 3, 5))
    linear = [x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in (red, green, blue)]
    light = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    value = 12.92 * light if light <= 0.0031308 else 1.055 * light ** (1 / 2.4) - 0.055
    return "#" + 3 * f"{round(255 * value):02x}"


def save_as(fig: Figure, path: Path, dots: int = 150) -> None:
    """Writes one picture, in the format of the path's ending."""
    kind, made = path.suffix[1:], io.BytesIO()
    with _without_halos(fig) if kind == "svg" else nullcontext():
        fig.savefig(made, format=kind, metadata=PLAIN.get(kind, {}), dpi=dots)
    text = HALO.sub(lambda m: m[0].replace('<text style="', PAINTED), made.getvalue().decode()) if kind == "svg" else ""
    write(path, plain_lines(text) if kind == "svg" else made.getvalue())


class Formats:
    """Writes figures to a folder; one for each process that draws. They are `scale` times as large as they were drawn, letters included;
    `is_grey`: with each colour as the grey of its luminance."""

    def __init__(self, folder: Path, scale: float = 1.0, is_grey: bool = False):
        self.folder, self.scale, self.is_grey = folder, scale, is_grey
        self._compiler: Compiler | None
        try:
            import typst
            self._compiler = typst.Compiler(root=str(folder), font_paths=[str(FONTS)], ignore_system_fonts=True)
        except (ModuleNotFoundError, TypeError):  # before 0.14 it takes no page from memory
            self._compiler = None

    def save(self, fig: Figure, name: str) -> None:
        """Writes name.svg and name.pdf; and name.png where save_png() cannot."""
        file = io.StringIO()
        with _without_halos(fig):
            fig.savefig(file, format="svg", metadata=PLAIN["svg"])
        svg = HALO.sub(lambda m: m[0].replace('<text style="', PAINTED), file.getvalue())
        write(self.folder / f"{name}.svg", self._changed(plain_lines(svg)))
        if self._compiler:
            self._typeset(self._compiler, name, "pdf", *(inches * POINT * self.scale for inches in fig.get_size_inches()))
        else:
            for kind, options in (("pdf", {"metadata": PLAIN["pdf"]}), ("png", {"dpi": PIXELS / fig.get_size_inches()[0]})):
                picture = io.BytesIO()
                fig.savefig(picture, format=kind, **options)
                write(self.folder / f"{name}.{kind}", picture.getvalue())

    def save_png(self, name: str, width: float, height: float) -> None:
        """Writes name.png of a figure of this size (millimetres) from its SVG; nothing without typst."""
        if self._compiler:
            across = round(PIXELS * max(1.0, self.scale))
            self._typeset(self._compiler, name, "png", *(pixels * POINT / DOTS for pixels in (across, round(across * height / width))))

    def _changed(self, svg: str) -> str:
        """The SVG with its size scaled and its colours grey, if so asked."""
        if self.scale != 1:
            svg = SIZE.sub(lambda m: f'{m[1]}="{float(m[2]) * self.scale:g}pt"', svg, count=2)
        return COLOUR.sub(lambda m: grey(m[0]), svg) if self.is_grey else svg

    def _typeset(self, compiler: Compiler, name: str, kind: Literal["pdf", "png"], width: float, height: float) -> None:
        """A page of this size (points) that the SVG fills."""
        try:
            made = compiler.compile(PAGE.format(width, height, name).encode(), format=kind, ppi=DOTS)
        except RuntimeError as error:
            raise ValueError(f"typst: {error}") from None
        if not isinstance(made, bytes):
            raise ValueError("typst: more than one page")
        write(self.folder / f"{name}.{kind}", made)


@contextmanager
def _without_halos(fig: Figure) -> Iterator[None]:
    """Names the texts that have a halo and draws them without it."""
    texts = {text: effects for text in fig.findobj(Text) if (effects := text.get_path_effects())}
    for number, text in enumerate(texts):
        text.set_gid(f"halo_{number}")
        text.set_path_effects([])
    try:
        yield
    finally:
        for text, effects in texts.items():
            text.set_gid(None)
            text.set_path_effects(effects)
