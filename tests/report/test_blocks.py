"""Which tables go over to the next page: those that are higher than a third of one."""

from types import SimpleNamespace

import pytest

from report.claims.verdict import Finding
from report.experiment import Column, Table
from report.text import blocks


@pytest.mark.parametrize("rows, letters, breaks", ((18, 5, False), (24, 5, True), (10, 60, False), (10, 400, True)))
def test_tall_tables_break(rows, letters, breaks):
    shown = Table("some", "Some.", (Column("a", "a", right=False, wide=True), Column("b", "b")),
                  [{"a": "x" * letters, "b": 1}] * rows)
    assert blocks.table(shown)["breaks"] == breaks


@pytest.mark.parametrize("stated, machines, evidence", (
    (16, ("A",), "Stated 16. A: measured 5. By copy (block 64). A note."), (16, ("A", "B"), "Stated 16. A: measured 5. B: measured 5. By copy (block 64). A note."),
    (None, ("any",), "Measured: 5. By copy (block 64). A note.")))
def test_the_evidence_of_a_claim_is_made_of_clauses(stated, machines, evidence):
    entry = SimpleNamespace(text="It is so", source="pmpp", where="", place="", stated=stated, threshold=None, limit=stated, said_of="", unit="", rule="", tolerance=0, note="a note")
    found = [Finding(entry, machine, "holds", "holds", "A note.", measured="5", kernels="copy (block 64)") for machine in machines]
    assert blocks.verdict(found)["evidence"] == evidence


def test_what_the_model_gives_for_each_gpu_stands_before_the_note_that_they_share():
    entry = SimpleNamespace(text="It is so", source="pmpp", where="", place="", stated=16, threshold=None, limit=16, said_of="", unit="", rule="", tolerance=0, note="a note")
    found = [Finding(entry, machine, "holds", "holds", f"For {machine} the model gives 3. A note.") for machine in "AB"]
    assert blocks.verdict(found)["evidence"].endswith("For A the model gives 3. For B the model gives 3. A note.")


def test_a_narrow_table_is_not_stretched_and_one_row_is_a_sentence():
    columns = (Column("a", "code", right=False, wide=True), Column("b", "rate"))
    narrow, wide = (blocks.table(Table("some", "Some.", columns, [{"a": "x" * n, "b": 1}] * 3)) for n in (10, 300))
    assert narrow["widths"] == ["auto", "auto"] and wide["widths"] == ["1fr", "auto"]
    many = (*(Column(f"c{i}", "a long title", wide=True) for i in range(9)),)
    assert blocks.table(Table("some", "Some.", many, [{c.key: "x" * 300 for c in many}] * 2))["widths"] == ["1fr"] * 9, "each has little, all have much"
    starved = (Column("a", "code", wide=True), *(Column(f"c{i}", "a title of forty letters, more or less") for i in range(3)))
    assert blocks.table(Table("some", "Some.", starved, [{c.key: "x" * 60 for c in starved}] * 2))["widths"] == ["auto"] * 4
    one = blocks.table(Table("some", "Some.", columns, [{"a": "real_time", "b": 1}]))
    assert one == {"kind": "text", "text": "Some. code real_\u200btime; rate 1."}
    none = blocks.table(Table("some", "All of it.", (), [{"a": 1}] * 200, most=0))
    assert none["kind"] == "text" and none["text"].endswith("200 rows in tables/\u200bsome.csv.")
