"""Types and lint: mypy on the reporter and ruff on all Python, as pyproject.toml sets them, find no error."""

import subprocess
import sys

import pytest
from conftest import ROOT


@pytest.mark.long
def test_every_type_fits(monkeypatch, tmp_path):
    api = pytest.importorskip("mypy.api")
    monkeypatch.chdir(ROOT)
    said, complaints, code = api.run(["--cache-dir", str(tmp_path)])
    assert code == 0, said + complaints


@pytest.mark.long
def test_nothing_is_unused_or_unsorted():
    pytest.importorskip("ruff")
    done = subprocess.run([sys.executable, "-m", "ruff", "check", ROOT], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
