"""A figure's files: the same picture in each format, with text as text, whatever the text is."""

import re
import subprocess
import sys

import numpy as np
import pytest
from conftest import ROOT

from report import forks
from report.draw import formats, style

pytest.importorskip("typst")
SIZE = style.size(40)


def busy(title="Size N"):
    fig = style.figure(SIZE[1])
    ax = style.axes(fig)
    ax.loglog([1, 10, 100], [1, 30, 90], "o--", lw=2, label="a line")
    ax.fill_between([1, 100], [1, 2], [3, 4], hatch="//", alpha=0.5)
    ax.text(30, 3, "turned", rotation=40, path_effects=style.HALO)
    ax.set_xlabel(title)
    ax.legend()
    return fig


def saved(folder, title="Size N", name="busy"):
    made = formats.Formats(folder)
    made.save(busy(title), name)
    made.save_png(name, *SIZE)


def pixels(path):
    from PIL import Image
    return np.asarray(Image.open(path).convert("L"), dtype=int)


def test_typst_draws_what_matplotlib_does(tmp_path):
    forks.in_a_fork(saved, tmp_path)
    busy().savefig(tmp_path / "theirs.png", dpi=formats.PIXELS / (SIZE[0] * style.MM))
    own, theirs = pixels(tmp_path / "busy.png"), pixels(tmp_path / "theirs.png")
    assert own.shape[1] == formats.PIXELS == theirs.shape[1] and abs(own.shape[0] - theirs.shape[0]) <= 1
    rows = min(own.shape[0], theirs.shape[0])
    assert abs(own.mean() - theirs.mean()) < 2 and (abs(own[:rows] - theirs[:rows]) > 128).mean() < 0.02


def test_the_same_figure_gives_the_same_bytes(tmp_path):
    forks.in_a_fork(saved, tmp_path)
    first = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    forks.in_a_fork(saved, tmp_path)
    assert first == {path.name: path.read_bytes() for path in tmp_path.iterdir()} and len(first) == 3


@pytest.mark.parametrize("title", ("a\x00b\x1b[31m\x07", "<script>&lt;", "\ufffe\uffff", "\U0001f600 名", "]]>", "#panic() \\ \"quoted\""))
def test_a_label_may_say_anything(tmp_path, title):
    forks.in_a_fork(saved, tmp_path, title)
    assert {path.suffix for path in tmp_path.iterdir()} == {".svg", ".pdf", ".png"}


def test_text_is_text(tmp_path):
    forks.in_a_fork(saved, tmp_path)
    assert "Size N" in re.sub("<[^>]*>", "", (tmp_path / "busy.svg").read_text(encoding="utf-8"))
    assert b"DejaVuSans" in (tmp_path / "busy.pdf").read_bytes()


def test_without_typst_matplotlib_writes_all_three(tmp_path):
    code = f"""
import sys; sys.modules['typst'] = None
from pathlib import Path
from report.draw import formats, style
made = formats.Formats(Path({str(tmp_path)!r}))
made.save(style.figure(40), 'blank'); made.save_png('blank', *style.size(40))
"""
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)
    assert {path.name for path in tmp_path.iterdir()} == {"blank.svg", "blank.pdf", "blank.png"}
    assert pixels(tmp_path / "blank.png").shape[1] == formats.PIXELS
