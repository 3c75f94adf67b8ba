"""Files: safe names and cells, a CSV of every figure and table, nothing stale."""

import csv

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
    with output.written([figure("a"), figure("../b")], lambda: [table], tmp_path) as drawn:
        assert drawn
    names = {p.name for p in (tmp_path / "figures").iterdir()}
    assert names == {"of-the-user.csv", ".written", *(f"{n}.{e}" for n in ("a", "_b") for e in ("csv", "pdf", "svg", "png"))}
    assert (tmp_path / "tables" / "t.csv").read_text() == "x\n1\n"
    with output.written([figure("c")], lambda: [], tmp_path) as drawn:
        assert drawn
    assert {p.name for p in (tmp_path / "figures").iterdir()} == {"of-the-user.csv", ".written", "c.csv", "c.pdf", "c.svg", "c.png"}
    assert not (tmp_path / "tables" / "t.csv").exists()


def test_a_figure_that_cannot_be_drawn_is_no_silent_gap(tmp_path):
    def fail(fig):
        raise ValueError("no")
    bad = Figure("bad", [], fail, "", "")
    with pytest.raises((ValueError, RuntimeError)):
        with output.written([bad], lambda: [], tmp_path) as drawn:
            assert drawn
    with pytest.raises(RuntimeError):
        with output.written([figure("good"), bad], lambda: [], tmp_path) as drawn:
            assert drawn


def test_what_fails_beside_the_drawing_is_told_alone(tmp_path, capfd):
    """As bad input that is found while tables are made: the processes that draw add nothing to it."""
    def tables():
        raise ValueError("line 1 of a file")
    with pytest.raises(ValueError, match="line 1"):
        with output.written([figure("a"), figure("b")], tables, tmp_path):
            pass
    assert "Traceback" not in capfd.readouterr().err
