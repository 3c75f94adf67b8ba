"""Single figures for other documents: which, in which size, format and colours."""

import re

import pytest
from conftest import RECORDED  # noqa: F401 - the folders of the tree
from synthetic import ladder

from report import cli
from report.draw.formats import grey


def drawn(tmp_path, *arguments):
    """The exit code, and the files of the output."""
    ladder(sizes=(512, 1024)).save(tmp_path / "in")
    code = cli.main([str(tmp_path / "in"), "--output", str(tmp_path / "out"), "--only", *arguments])
    return code, {p.name: p for p in sorted((tmp_path / "out").glob("*"))}


def width(svg: str) -> float:
    return float(re.search(r'width="([\d.]+)pt"', svg)[1]) / 72 * 25.4


def test_the_formats_that_are_asked_for(tmp_path, capsys):
    code, files = drawn(tmp_path, "*_rungs", "--format", "svg", "png")
    assert code == cli.OK and files.keys() == {f"matmul_ladder_rungs.{end}" for end in ("svg", "png", "csv")}
    assert capsys.readouterr().out.split() == [str(files[f"matmul_ladder_rungs.{end}"]) for end in ("svg", "png", "csv")]


@pytest.mark.parametrize("size, wanted", (("page", 166), ("slide", 226)))
def test_sizes(tmp_path, size, wanted):
    _, files = drawn(tmp_path, "matmul_ladder_rungs", "--size", size, "--format", "svg", "pdf")
    svg = files["matmul_ladder_rungs.svg"].read_text()
    assert width(svg) <= wanted + 0.1 and (width(svg) > 166.1) == (size == "slide")
    assert re.search(r'viewBox="0 0 470\.\d+', svg), "it is scaled, not drawn with other margins"


def test_a_figure_for_one_column(tmp_path):
    code, files = drawn(tmp_path, "matmul_ladder_roofline", "--size", "column", "--format", "svg")
    assert code == cli.OK and width(files["matmul_ladder_roofline.svg"].read_text()) == pytest.approx(81, abs=0.1)


def test_a_wide_figure_fits_no_column(tmp_path, capsys):
    code, files = drawn(tmp_path, "matmul_ladder_rungs", "--size", "column")
    assert code == cli.BAD_INPUT and not files
    assert capsys.readouterr().err == "report: matmul_ladder_rungs: --size: this figure needs the width of a page: use --size page\n"


def test_an_unknown_figure_has_neighbours(tmp_path, capsys):
    code, files = drawn(tmp_path, "matmul_rungs")
    said = capsys.readouterr().err
    assert code == cli.BAD_INPUT and not files and "there is no such figure; there is matmul_ladder_rungs" in said and said.count("\n") == 1


def test_one_that_cannot_be_drawn_is_told(tmp_path, capsys, monkeypatch):
    from report import figures

    def fail(*_):
        raise ValueError("no such value")
    monkeypatch.setattr(figures, "_draw", fail)
    code, _ = drawn(tmp_path, "matmul_ladder_rungs")
    said = capsys.readouterr().err
    assert code == cli.BAD_INPUT and "matmul_ladder_rungs: --only: it cannot be drawn from these results" in said and said.count("\n") == 1


def test_grey(tmp_path):
    _, files = drawn(tmp_path, "*_rungs", "--grey", "--format", "svg", "pdf")
    colours = set(re.findall(r"#[0-9a-f]{6}\b", files["matmul_ladder_rungs.svg"].read_text()))
    assert len(colours) > 2 and all(c[1:3] == c[3:5] == c[5:7] for c in colours)
    assert files["matmul_ladder_rungs.pdf"].stat().st_size > 1000


def test_greys_have_the_luminance_of_the_colour():
    assert [grey(c) for c in ("#ffffff", "#000000", "#808080", "#ff0000", "#00ff00", "#0000ff")] == [
        "#ffffff", "#000000", "#808080", "#7f7f7f", "#dcdcdc", "#4c4c4c"]
