"""The reporter's types: mypy, as pyproject.toml sets it, finds no error."""

import pytest
from conftest import ROOT

api = pytest.importorskip("mypy.api")


@pytest.mark.long
def test_every_type_fits(monkeypatch, tmp_path):
    monkeypatch.chdir(ROOT)
    said, complaints, code = api.run(["--cache-dir", str(tmp_path)])
    assert code == 0, said + complaints
