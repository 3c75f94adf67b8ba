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
    (16, ("A",), "Stated 16, measured 5. A note."), (16, ("A", "B"), "A: stated 16, measured 5. B: stated 16, measured 5. A note."),
    (None, ("A",), "Measured: 5. A note.")))
def test_the_evidence_of_a_claim_is_made_of_clauses(stated, machines, evidence):
    entry = SimpleNamespace(text="It is so", source="pmpp", where="", stated=stated, threshold=None, limit=stated, unit="", rule="", tolerance=0, note="a note")
    found = [Finding(entry, machine, "holds", "holds", "A note.", measured="5") for machine in machines]
    assert blocks.verdict(found)["evidence"] == evidence


def test_what_the_model_gives_for_each_gpu_stands_before_the_note_that_they_share():
    entry = SimpleNamespace(text="It is so", source="pmpp", where="", stated=16, threshold=None, limit=16, unit="", rule="", tolerance=0, note="a note")
    found = [Finding(entry, machine, "holds", "holds", f"For {machine} the model gives 3. A note.") for machine in "AB"]
    assert blocks.verdict(found)["evidence"].endswith("For A the model gives 3. For B the model gives 3. A note.")
