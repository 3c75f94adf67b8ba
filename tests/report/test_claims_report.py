"""The claims in the report: a table for each document, the verdicts of each experiment's section, a file that is broken."""

import csv

import pytest
from conftest import printed, recorded

from report import cli
from report.claims import entries
from report.claims.verdict import ORDER

DOCUMENTS = ("Zhou", "Blakely", "Kistijantoro", "Hwu", "Kirk")


def rows(file):
    with file.open(encoding="utf-8", newline="") as opened:
        return list(csv.DictReader(opened))


def test_each_document_has_its_table(whole):
    summary = rows(whole / "tables" / "literature.csv")
    assert all(any(title in r["document"] for r in summary) for title in DOCUMENTS)
    assert sum(int(r["claims"]) for r in summary) == len(entries.load())
    assert all(sum(int(r[v] or 0) for v in ORDER) == int(r["claims"]) for r in summary)
    for number in range(1, len(summary) + 1):
        table = rows(whole / "tables" / f"literature_{number}.csv")
        assert all(r["verdict"] and (r["why"] or r["verdict"].startswith("holds") or not r["claim"]) for r in table)  # a further machine repeats nothing
    document = printed(whole)
    assert any(b["kind"] == "heading" and "literature" in b["text"] for b in document["main"])
    tables = [b for b in document["main"] if b["kind"] == "table" and "what is stated" in b["caption"]]
    assert len(tables) == len(summary)


def test_an_experiment_shows_its_own_claims(tmp_path, plain):
    assert cli.main([str(recorded("nvidia-h200", "matmul_ladder")), "--output", str(tmp_path)]) == cli.OK
    document = printed(tmp_path)
    said = [b for b in document["first"] if b["kind"] == "verdict"]
    assert 1 < len(said) <= 6 and "Our threshold 16×" in " ".join(b["evidence"] for b in said)
    assert not list((tmp_path / "tables").glob("literature*"))


def test_a_broken_file_of_claims_is_bad_input(tmp_path, plain, monkeypatch, capsys):
    broken = tmp_path / "claims.toml"
    broken.write_text('[one]\nsource = "nobody"\n', encoding="utf-8")
    monkeypatch.setattr(entries.load, "__defaults__", (broken,))
    assert cli.main([str(recorded("nvidia-h200", "ratio")), "--output", str(tmp_path / "out")]) == cli.BAD_INPUT
    assert "claims.toml: line 1, [one]" in capsys.readouterr().err


@pytest.mark.parametrize("name", ("ratio", "bank_conflicts"))
def test_the_same_results_give_the_same_verdicts(tmp_path, plain, name):
    for i in "12":
        assert cli.main([str(recorded("nvidia-h200", name)), "--output", str(tmp_path / i)]) == cli.OK
    assert (tmp_path / "1" / "report.json").read_text() == (tmp_path / "2" / "report.json").read_text()
