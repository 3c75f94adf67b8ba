"""PNGs as readers of them see them: the same pixels, at the same size on paper."""

from io import BytesIO

import numpy as np
from PIL import Image

from report.draw import png, style


def test_pixels_come_back():
    pixels = np.random.default_rng(2).integers(0, 256, (31, 17, 3), np.uint8)
    read = Image.open(BytesIO(png.encoded(pixels, 150)))
    read.load()
    assert (np.asarray(read) == pixels).all() and round(read.info["dpi"][0]) == 150


def test_a_figure_is_drawn_as_matplotlib_would(tmp_path):
    fig = style.figure(40)
    ax = style.axes(fig)
    ax.plot([1, 2, 3], [4, 1, 2], marker="o")
    ax.set_xlabel("Size N")
    png.save(fig, tmp_path / "own.png", 150)
    fig.savefig(tmp_path / "theirs.png", dpi=150)
    own, theirs = (Image.open(tmp_path / f"{name}.png").convert("RGB") for name in ("own", "theirs"))
    assert (np.asarray(own) == np.asarray(theirs)).all()
