"""Claims that others wrote: no file is named or written, nothing but a judge is called, and each mistake is a line."""

import os

import pytest
from conftest import RECORDED
from test_claims_file import file_of

from report.claims import command, entries
from report.claims.entries import load
from report.data.reading import InputError

LONG_SUM = "+".join(["1"] * 498)


@pytest.mark.parametrize("key, value, what", (
    ("measured", '"""' + LONG_SUM + ' > 1"""', "column 204: more than 100 terms"),
    ("measured", '"1e999 > 1"', "column 1: a number from 1e-30 to 1e30 is expected"),
    ("measured", '"rate(gpu/matmul/tiled, n=1e999) > 1"', "column 26: a number from 1e-30"),
    ("modelled", '"occupancy(H200, threads=256, plot=\\"/tmp/x.svg\\").active_warps > 1"', "column 30: occupancy() takes threads, registers, shared"),
    ("modelled", '"device(\\"H200\\\\nbound A100\\").sms > 1"', "requires words of letters"),
    ("modelled", '"device(\\"H200\' --plot \'x\\").sms > 1"', "requires words of letters"),
    ("modelled", '"occupancy(\\"--plot\\", threads=1).warps > 1"', "requires words of letters"),
    ("modelled", '"occupancy(H200, threads=\\"256 --plot\\").warps > 1"', "requires words of letters"),
    ("cases", "{ a = " + str(list(range(1001))) + " }", "1001 cases; at most 1000"),
    ("cases", "{ a = " + str(list(range(100))) + ", b = " + str(list(range(100))) + " }", "10000 cases; at most 1000"),
    ("stated", "1e400", "inf is not a number"),
    ("text", "1" * 4000, "is not a text"),
    ("source", '"' + "x" * 100_000 + '"', "is unknown"),
    ("x" * 100_000, "1", "there is no such key"),
    ("judge", '"a.b.c"', "not EXPERIMENT.FUNCTION"),
))
def test_what_cannot_be_is_told_with_its_line_key_and_column(tmp_path, key, value, what):
    made = file_of(tmp_path, **{"modelled": None, "measured": None} | {key: None})
    made.write_text(made.read_text() + f'{key} = {value}\n')
    with pytest.raises(InputError) as told:
        load(made)
    assert what in str(told.value) and "claims.toml: line " in str(told.value) and f" {key[:40]}" in str(told.value) and len(str(told.value)) < 1000


@pytest.mark.parametrize("key, value, what", (
    ("modelled", '"1e30 * 1e30 * 1e30 * 1e30 * 1e30 * 1e30 * 1e30 * 1e30 * 1e30 * 1e30 * 1e30 > 1"', "a number too large"),
    ("judge", '"barriers.section"', "experiments/barriers.py has no judge 'section'"),
    ("judge", '"barriers.__loader__"', "has no judge '__loader__'")))
def test_what_cannot_be_evaluated_is_told_with_its_line_and_key(tmp_path, monkeypatch, capsys, key, value, what):
    made = file_of(tmp_path, **{"modelled": None, "measured": None, "experiment": "barriers"} | {key: None})
    made.write_text(made.read_text() + f'{key} = {value}\n')
    monkeypatch.setattr(entries, "FILE", made)
    monkeypatch.setattr(entries, "load", lambda: load(made))
    line = made.read_text().splitlines().index(f"{key} = {value}") + 1
    assert command.main(["--results", str(RECORDED)]) == command.BAD
    said = capsys.readouterr().err
    assert f"claims.toml:{line}: [one] {key}" in said and what in said and said.count("\n") == 1


def test_every_file_of_the_project_that_is_read_may_be_anything(tmp_path, monkeypatch, capsys):
    """Each in turn: what is no text, nests too deeply, has a number of too many digits, is a folder or a pipe."""
    from report.claims import model
    from report.data import declaration
    from report.text import sources
    texts = (b"\xff", b"x = " + b"[" * 100_000, b'{"x": ' + b"[" * 100_000, b"x = 1" + b"0" * 5000, b'{"x": 1' + b"0" * 5000 + b"}", b"", b"[]", b"{}")
    makes = [*((lambda path, text=text: path.write_bytes(text)) for text in texts), os.mkdir, os.mkfifo, lambda p: p.symlink_to("/dev/zero")]
    monkeypatch.setattr(declaration, "FOLDER", tmp_path)
    monkeypatch.setattr(sources, "FOLDER", tmp_path)
    reads = {"claims.toml": lambda path: load(path), "model.json": lambda path: model.load.__wrapped__(path),
             "sources.toml": lambda path: sources.documents.__wrapped__(), "one.toml": lambda path: declaration.of("one", "")}
    for name, read in reads.items():
        for make in makes:
            path = tmp_path / name
            make(path)
            try:
                read(path)
            except InputError as error:
                assert len(str(error)) < 600 and "\n" not in str(error)
            os.rmdir(path) if path.is_dir() and not path.is_symlink() else path.unlink()
