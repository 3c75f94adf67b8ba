"""The first mutants of tests/fuzz/report.sh, and that it detects what it checks for."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import ROOT

sys.path.append(str(ROOT / "tests" / "fuzz"))

import mutants  # noqa: E402

MUTANTS = 60


@pytest.fixture(scope="module")
def bases():
    return mutants.corpus(Path("/nowhere"))


@pytest.fixture
def patient(monkeypatch):
    """A process that hangs, hangs for two seconds."""
    monkeypatch.setattr(mutants, "SECONDS", 2)


@pytest.mark.long
def test_mutated_folders_end_in_a_report_or_in_a_line():
    """In a program of its own: a process that has typeset has threads, which the mutants' processes would lack."""
    ended = subprocess.run([sys.executable, mutants.__file__, "/nowhere", "--most", str(MUTANTS)],
                           env=os.environ | {"FIRST": "1"}, capture_output=True, text=True)
    assert ended.returncode == 0 and f"{MUTANTS} mutants, none with a fault" in ended.stdout, ended.stdout + ended.stderr


def test_a_mutant_is_the_same_by_its_number(bases, tmp_path):
    texts = []
    for _ in range(2):
        mutants.one(bases, 5, tmp_path)
        texts.append({p.name: p.read_bytes() for p in (tmp_path / "mutant" / "5" / "in").iterdir() if p.is_file()})
        mutants.remove(tmp_path / "mutant")
    assert texts[0] == texts[1] and texts[0]


def sleeper() -> None:
    if os.fork() == 0:
        time.sleep(60)
        os._exit(0)


FAULTS = {
    "traceback: ZeroDivisionError": lambda folder: 1 // 0,
    "code 1": lambda folder: print("report: no") or 1,
    "code -9": lambda folder: os.kill(os.getpid(), 9),
    "hangs": lambda folder: time.sleep(60),
    "a process is left behind": lambda folder: sleeper() or 0,
    "a line of": lambda folder: print("report:", "x" * 2000) or 0,
    "control characters": lambda folder: print("report: \x1b[31m") or 0,
    "says 'UserWarning": lambda folder: print("UserWarning: no") or 0,
    "no word": lambda folder: 2,
    "outside of its output": lambda folder: Path("x").write_text("x") and 0,
    "outside of its output: '": lambda folder: (folder / "in" / "y").write_text("x") and 0,
    "outside of its folder": lambda folder: (folder.parent.parent / "x").write_text("x") and 0,
    "in its output: harmful": lambda folder: os.makedirs(folder / "out") or (folder / "out" / "x.csv").write_text("\x1b") and 0,
    "in its output: part": lambda folder: os.makedirs(folder / "out") or (folder / "out" / ".1-2.part").write_text("x") and 0,
    "in its output": lambda folder: os.makedirs(folder / "out") or os.symlink("/", folder / "out" / "x") or 0,
}


@pytest.mark.parametrize("fault", FAULTS)
def test_every_kind_of_fault_is_noticed(tmp_path, patient, fault):
    _, _, wrong = mutants.one([mutants.Base("x", {"x.json": b"{}"}, FAULTS[fault])], 1, tmp_path)
    assert any(text.startswith(fault) for text in wrong), wrong
