"""A figure drawn from a record looks as matplotlib alone would draw it."""

import io

import numpy as np
import pytest
from matplotlib.figure import Figure

from report.draw import recording, style


def busy() -> Figure:
    fig = style.figure(60)
    ax = style.axes(fig)
    ax.loglog([1, 10, 100], [1, 30, 90], "o--", lw=2, label="a line")
    ax.fill_between([1, 100], [1, 2], [3, 4], hatch="//", alpha=0.5)
    ax.scatter([2, 20], [50, 5], s=[10, 40], clip_on=True)
    ax.text(30, 3, "turned", rotation=40, path_effects=style.HALO)
    ax.annotate("here", (10, 30), (3, 60), arrowprops={"arrowstyle": "->"})
    ax.bar([5], [20], width=2)
    ax.legend()
    return fig


def pixels(fig: Figure, dpi: float) -> np.ndarray:
    from PIL import Image
    file = io.BytesIO()
    fig.savefig(file, format="png", dpi=dpi)
    return np.asarray(Image.open(file).convert("L"), dtype=int)


@pytest.mark.parametrize("dpi", [72, 150, 300])
def test_the_same_picture(dpi):
    directly, replayed = pixels(busy(), dpi), pixels(recording.drawn_once(busy()), dpi)
    assert directly.shape == replayed.shape
    # Letters stand up to a pixel apart, since their widths are rounded at another resolution.
    assert abs(directly.mean() - replayed.mean()) < 0.5 and (abs(directly - replayed) > 128).mean() < 0.02


@pytest.mark.parametrize("kind", ["pdf", "svg"])
def test_a_record_gives_the_same_bytes_each_time(kind):
    recorded, files = recording.drawn_once(busy()), [io.BytesIO(), io.BytesIO()]
    for file in files:
        recorded.savefig(file, format=kind, metadata={"CreationDate" if kind == "pdf" else "Date": None})
    assert files[0].getvalue() == files[1].getvalue()


def test_images_are_drawn_by_each_format():
    fig = Figure()
    fig.add_axes((0, 0, 1, 1)).imshow([[0, 1], [1, 0]])
    assert recording.drawn_once(fig) is fig
