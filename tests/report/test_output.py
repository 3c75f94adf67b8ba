"""Files: safe names and cells, a CSV of every figure and table, nothing stale."""

import csv
import os

import pytest

from report import output
from report.experiment import Column, Figure, Table


@pytest.mark.parametrize("text, name", (("../../etc/passwd", "_.._etc_passwd"), ("a b/c", "a_b_c"), ("", "unnamed"),
                                        ("...", "unnamed"), ("x" * 200, "x" * 80), ("é\n", "__")))
def test_safe_names(text, name):
    assert output.safe_name(text) == name


@pytest.mark.parametrize("value, cell", (("=1+1", "'=1+1"), ("+x", "'+x"), ("-x", "'-x"), ("@x", "'@x"), ("a\nb", "a b"),
                                         (-1.5, "-1.5"), (None, ""), (0.1 + 0.2, "0.3"), ("plain", "plain"), (True, "1")))
def test_csv_cells(value, cell):
    assert output.cell(value) == cell


def test_csv_has_all_keys_of_all_rows(tmp_path):
    output.write_csv(tmp_path / "x.csv", [{"a": 1, "=b": 2}, {"c": "=1"}])
    assert list(csv.reader((tmp_path / "x.csv").open())) == [["a", "'=b", "c"], ["1", "2", ""], ["", "", "'=1"]]


def figure(name):
    return Figure(name, [{"x": 1}], lambda fig: fig.add_axes((0, 0, 1, 1)).plot([0, 1]), "A caption.", "alt", height=20)


def test_every_ending_of_a_figure_and_no_stale_file(tmp_path):
    table = Table("t", "A table.", (Column("x", "x"),), [{"x": 1}])
    (tmp_path / "figures").mkdir()
    (tmp_path / "figures" / "of-the-user.csv").touch()
    with output.written([figure("a"), figure("../b")], lambda: [table], tmp_path) as undrawn:
        assert not undrawn
    names = {p.name for p in (tmp_path / "figures").iterdir()}
    assert names == {"of-the-user.csv", ".written", *(f"{n}.{e}" for n in ("a", "_b") for e in ("csv", "pdf", "svg", "png"))}
    assert (tmp_path / "tables" / "t.csv").read_text() == "x\n1\n"
    with output.written([figure("c")], lambda: [], tmp_path) as undrawn:
        assert not undrawn
    assert {p.name for p in (tmp_path / "figures").iterdir()} == {"of-the-user.csv", ".written", "c.csv", "c.pdf", "c.svg", "c.png"}
    assert not (tmp_path / "tables" / "t.csv").exists()


def fail(fig):
    raise ValueError("in two\nlines, \x1b[31m" + "x" * 5000)


@pytest.mark.parametrize("cores", (1, 3))
def test_a_figure_that_cannot_be_drawn_costs_no_other(tmp_path, capfd, monkeypatch, cores):
    """In any process that draws; no file of an earlier figure stays."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(cores))
    with output.written([figure("bad")], list, tmp_path):
        pass
    with output.written([figure("a"), Figure("bad", [], fail, "", ""), figure("b")], list, tmp_path) as undrawn:
        assert undrawn == {"bad": output.UNEXPECTED}
        assert {p.stem for p in (tmp_path / "figures").glob("*.pdf")} == {"a", "b"}
    assert {p.name for p in (tmp_path / "figures").iterdir()} == {
        ".written", "bad.csv", *(f"{name}.{ending}" for name in "ab" for ending in ("csv", "pdf", "svg", "png"))}
    line = capfd.readouterr().err.removesuffix("\n")
    assert line.startswith("report: the figure bad cannot be drawn: ValueError: in two lines, \ufffd[31mxxx")
    assert "(test_output.py, line" in line and "\n" not in line and len(line) < 500


def test_a_picture_that_cannot_be_written_costs_its_other_kinds_alone(tmp_path, capfd, monkeypatch):
    from report.draw import formats
    monkeypatch.setattr(formats.Formats, "save_png", lambda *_: fail(None))
    with output.written([figure("a")], list, tmp_path) as undrawn:
        pass
    assert undrawn == {"a": output.UNEXPECTED} and {p.name for p in (tmp_path / "figures").iterdir()} == {
        ".written", "a.csv", "a.pdf", "a.svg"}
    assert capfd.readouterr().err.count("report: the figure a cannot be drawn") == 1


def test_without_figures_nothing_is_undrawn(tmp_path):
    with output.written([], list, tmp_path) as undrawn:
        assert undrawn == {}


def test_a_mistake_that_no_values_cause_is_not_taken_for_damage(tmp_path):
    with pytest.raises(output.NotDrawn):
        with output.written([Figure("bad", [], lambda fig: no_such_name, "", "")], list, tmp_path):  # noqa: F821
            pass


def test_what_fails_beside_the_drawing_is_told_alone(tmp_path, capfd):
    """For instance for bad input that is found while tables are made: the processes that draw print nothing more."""
    def tables():
        raise ValueError("line 1 of a file")
    with pytest.raises(ValueError, match="line 1"):
        with output.written([figure("a"), figure("b")], tables, tmp_path):
            pass
    assert "Traceback" not in capfd.readouterr().err
