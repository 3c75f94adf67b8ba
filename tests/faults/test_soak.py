"""What soak.py calls growth."""

import os
import signal
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import soak


def life(**changes) -> soak.Life:
    """A hundred looks at a process to which each finished point adds a few KiB; then what a test changes."""
    steady = {"rss": lambda i: 20000 + 40 * i, "descriptors": lambda i: 5, "threads": lambda i: 2, "temporary": lambda i: 0,
              "points": lambda i: 10 * i}
    return soak.Life(looks=[soak.Look(**{name: value(i) for name, value in {**steady, **changes}.items()})
                            for i in range(100)])


def test_results_that_are_kept_are_no_growth():
    assert soak.judged(life(), "steady") == []


@pytest.mark.parametrize(("what", "value"), [("rss", lambda i: 20000 + 1000 * i), ("descriptors", lambda i: 5 + i),
                                             ("threads", lambda i: 2 + i // 10), ("temporary", lambda i: i)])
def test_what_grows_is_told(what, value):
    found = soak.judged(life(**{what: value}), "leaking")
    assert len(found) == 1 and ("memory" if what == "rss" else what) in found[0]


def test_processes_are_seen_with_those_that_they_started(tmp_path):
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\nsleep 30 & sleep 30\n")
    program.chmod(0o755)
    study = soak.Soaked(program, (), tmp_path / "runs")
    try:
        for _ in range(200):
            study.watch(again=False)
            if study.lives[0].looks and study.lives[0].looks[-1].threads == 3:
                break
        assert study.lives[0].looks[-1].threads == 3
    finally:
        os.killpg(study.process.pid, signal.SIGKILL)
        study.process.wait()
