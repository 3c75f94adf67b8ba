"""Which tables go over to the next page: those that are higher than a third of one."""

import pytest

from report.experiment import Column, Table
from report.text import blocks


@pytest.mark.parametrize("rows, letters, breaks", ((18, 5, False), (24, 5, True), (10, 60, False), (10, 400, True)))
def test_tall_tables_break(rows, letters, breaks):
    shown = Table("some", "Some.", (Column("a", "a", right=False, wide=True), Column("b", "b")),
                  [{"a": "x" * letters, "b": 1}] * rows)
    assert blocks.table(shown)["breaks"] == breaks
