"""compute-sanitizer's logs of the planted faults, as tests/emulator/faulty/sanitize.sh leaves them, become one table."""

import importlib.util
import json
import pathlib

import pytest

spec = importlib.util.spec_from_file_location("sanitizer", pathlib.Path(__file__).resolve().parent / "faulty" / "sanitizer.py")
sanitizer = importlib.util.module_from_spec(spec)
spec.loader.exec_module(sanitizer)

RACE = """========= COMPUTE-SANITIZER
========= Error: Race reported between Write access at kernel(float *)+0x90 in barriers.cu:17
=========     and Read access at kernel(float *)+0xf0 in barriers.cu:19 [496 hazards]
=========
========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)
"""
CLEAN = "========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n"
INVALID = """========= COMPUTE-SANITIZER
========= Invalid __global__ write of size 4 bytes
=========     at kernel(float *)+0x50 in bounds.cu:39
========= Program hit cudaErrorLaunchFailure (error 719) due to "unspecified launch failure"
========= ERROR SUMMARY: 1 error
"""
BROKEN = """========= COMPUTE-SANITIZER
========= Error: Target application terminated before first instrumented API call
"""


def logs(folder, texts, status="0"):
    """A folder of logs as sanitize.sh leaves it: {kernel: {tool: log}}."""
    (folder / "machine").write_text("Synthetic GPU\n")
    (folder / "version").write_text("Version 2025.3.1.0 (build 1) (public-release)\n")
    (folder / "kernels").write_text("".join(f"{kernel}\n" for kernel in texts))
    for kernel, row in texts.items():
        for tool, text in row.items():
            (folder / f"{kernel}.{tool}.log").write_text(text)
            (folder / f"{kernel}.{tool}.status").write_text(f"{status}\n")
    return folder


@pytest.mark.parametrize("log, message", (
    (RACE, "Error: Race reported between Write access at kernel(float *)+0x90 in barriers.cu:17"),
    (INVALID, "Invalid __global__ write of size 4 bytes"), (CLEAN, ""), (BROKEN, ""), ("", ""),
    ("no tool wrote this\n", ""), ("=========     at kernel+0x1\n", ""),
))
def test_the_first_headline_is_the_finding(log, message):
    assert sanitizer.first_finding(log) == message


def test_logs_become_one_table(tmp_path):
    row = {"memcheck": CLEAN, "racecheck": RACE, "synccheck": CLEAN, "initcheck": CLEAN}
    target = tmp_path / "sanitizer.json"
    assert sanitizer.main([str(logs(tmp_path, {"a": row, "b": row | {"racecheck": CLEAN}})), str(target)]) == 0
    data = json.loads(target.read_text())
    assert data["machine"] == "Synthetic GPU" and data["tool"] == "compute-sanitizer 2025.3.1.0"
    assert {name: [tool for tool, v in row.items() if v["found"]] for name, row in data["kernels"].items()} == {
        "a": ["racecheck"], "b": []}
    assert not any("failed" in v for row in data["kernels"].values() for v in row.values())
    assert data["kernels"]["a"]["racecheck"]["message"].startswith("Error: Race")


def test_a_tool_that_could_not_tell_says_so(tmp_path):
    logs(tmp_path, {"a": {"memcheck": BROKEN, "racecheck": CLEAN}})
    assert sanitizer.verdict(tmp_path, "a", "memcheck") == {
        "found": False, "message": "", "failed": "Error: Target application terminated before first instrumented API call"}
    assert sanitizer.verdict(tmp_path, "a", "synccheck")["failed"] == "no log"
    for status in ("124", "137"):
        (tmp_path / "a.racecheck.status").write_text(status)
        assert sanitizer.verdict(tmp_path, "a", "racecheck")["failed"] == "did not end in time"
    logs(tmp_path, {"a": {"racecheck": RACE}}, status="137")
    found = sanitizer.verdict(tmp_path, "a", "racecheck")
    assert found["found"] and found["failed"] == "did not end in time"


def test_nothing_is_written_where_no_tool_ran(tmp_path, capsys):
    target = tmp_path / "sanitizer.json"
    for texts in ({}, {"a": {tool: BROKEN for tool in sanitizer.TOOLS}}):
        assert sanitizer.main([str(logs(tmp_path, texts)), str(target)]) == 2
        assert "no tool ran" in capsys.readouterr().err and not target.exists()
    assert sanitizer.main([]) == 2
