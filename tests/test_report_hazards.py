"""Planted faults: from compute-sanitizer's logs and the emulator's file to the report's table."""

import json

import pytest
from test_report_support import CPU, GPU, write

from report import hazards, sanitizer
from report.cli import OK, main
from report.collect import collect
from report.load import InputError, load
from report.records import HazardFile, PlantedFault, Verdict

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
    file = load(target)
    assert isinstance(file, HazardFile) and file.kernels["a"].verdicts["racecheck"].message.startswith("Error: Race")


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


def emulated(**changes):
    """The emulator's file: two faults, one with a right twin, one that never ends."""
    found = {"found": True, "message": "read after write: tile[0]"}
    return {"machine": "any", "date": "2026-01-02T00:00:00+00:00", "tool": "the emulator", "kernels": {
        "race": {"what": "no barrier", "is_right": False, "file": "barriers.cu", "emulator": found},
        "race_right": {"what": "no barrier", "is_right": True, "file": "barriers.cu",
                       "emulator": {"found": False, "message": ""}},
        "runaway": {"what": "no end", "is_right": False, "file": "divergence.cu", "emulator": found},
    }} | changes


def sanitized(date="2026-01-03T00:00:00+00:00", alarm=False):
    def row(found):
        return {tool: {"found": found and tool == "racecheck", "message": ""} for tool in sanitizer.TOOLS}
    table = {"race": row(True), "race_right": row(alarm)}
    table["race"]["synccheck"]["failed"] = "did not end in time"
    return {"machine": "Synthetic GPU", "date": date, "tool": "compute-sanitizer 1.0", "kernels": table}


def study_of(folder, **files):
    for name, data in files.items():
        write(folder / f"{name}.json", data)
    return collect([CPU], [GPU, folder])


def test_the_table_joins_both_files(tmp_path):
    study = study_of(tmp_path, hazards=emulated(), sanitizer=sanitized())
    assert [file.tool for file in study.hazards] == ["the emulator", "compute-sanitizer 1.0"]
    assert {s.used for s in study.sources if s.kind == "hazards"} == {True}
    heading, reading, table = hazards.section(study)
    assert heading["text"] == hazards.TITLE
    assert table["columns"] == ["planted fault", "emulator", *sanitizer.TOOLS]
    cells = {row[0]["main"]: [cell["main"] for cell in row[1:]] for row in table["rows"]}
    assert cells == {"race": ["✓", "–", "✓", "no verdict", "–"], "runaway": ["✓"] + ["not run"] * 4}
    text = reading["text"]
    assert "finds 2 of 2" in text and "find 1 together: memcheck 0, racecheck 1, synccheck 0, initcheck 0" in text
    assert "None of them alarms on any of the 1 right twins" in text
    assert "Synthetic GPU" in table["caption"]


def test_an_alarm_on_a_right_twin_is_named(tmp_path):
    study = study_of(tmp_path, hazards=emulated(), sanitizer=sanitized(alarm=True))
    assert "racecheck: race_\u200bright" in hazards.section(study)[1]["text"]


def test_the_newest_file_of_each_tool_is_used(tmp_path):
    study = study_of(tmp_path, hazards=emulated(), old=sanitized("2025-01-01T00:00:00"), new=sanitized())
    used = {s.path.rsplit("/", 1)[1]: s.used for s in study.sources if s.kind == "hazards"}
    assert used == {"hazards.json": True, "old.json": False, "new.json": True}


def test_no_section_without_the_files(tmp_path):
    assert hazards.section(collect([CPU], [GPU])) == []
    assert hazards.section(study_of(tmp_path, sanitizer=sanitized())) == []  # it does not say what the faults are
    assert hazards.section(study_of(tmp_path, hazards=emulated(kernels={}))) == []


def test_the_emulator_alone(tmp_path):
    _, reading, table = hazards.section(study_of(tmp_path, hazards=emulated()))
    assert table["columns"] == ["planted fault", "emulator"] and "compute-sanitizer" not in reading["text"]


@pytest.mark.parametrize("changes, where", (
    ({"kernels": []}, "kernels"), ({"kernels": {"a": 1}}, "kernels"), ({"tool": 3}, "file.tool"),
    ({"machine": ""}, "file.machine"), ({"date": "today"}, "file.date"),
    ({"kernels": {"a": {"memcheck": {"found": "yes"}}}}, "kernels['a'].memcheck.found"),
    ({"kernels": {"a": {"memcheck": {}}}}, "kernels['a'].memcheck.found"),
))
def test_a_bad_file_is_refused_with_the_place(tmp_path, changes, where):
    with pytest.raises(InputError) as caught:
        load(write(tmp_path / "hazards.json", emulated(**changes)))
    assert where in str(caught.value)


def test_cells():
    assert [hazards.cell(v) for v in (None, Verdict(True), Verdict(False), Verdict(False, failed="x"),
                                      Verdict(True, failed="x"))] == ["not run", "✓", "–", "no verdict", "✓"]
    rows = hazards.merged((HazardFile(None, "any", "", "", {"a": PlantedFault({"another": Verdict(True)}, "x")}),))
    assert hazards.tools_of(rows) == ["another"]


def test_the_section_is_in_the_document(tmp_path):
    write(tmp_path / "recorded" / "hazards.json", emulated())
    write(tmp_path / "recorded" / "sanitizer.json", sanitized())
    output = tmp_path / "out"
    assert main([str(CPU), "--recorded", str(GPU), "--recorded", str(tmp_path / "recorded"), "--output",
                 str(output)]) == OK
    sections = json.loads((output / "report.json").read_text())["sections"]
    assert [s[0]["text"] for s in sections].count(hazards.TITLE) == 1
