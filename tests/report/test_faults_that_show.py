"""How often planted faults show on a GPU, beside who finds them, and what is said of it."""

import pytest
from synthetic import GPU, Run, write

from report.data.collect import collect
from report.data.reading import InputError
from report.data.companions import load
from report.experiment import Table
from report.sections.contributions import contributions

FAULTS = {"missing_syncwarp": {"wrong": 0}, "last_block_without_fence": {"wrong": 12}, "last_block_with_block_fence": {"wrong": 1000},
          "barrier_in_branch": {"failed": "did not end in time"}}


def section_of(folder, wrong=FAULTS, found=True):
    run = Run("barriers", problems={"exchange": {"title": "Exchange", "metric": {"key": "seconds", "unit": "s"}, "size_names": ["n", "rounds"]}})
    for variant in ("block_barriers", "shuffle"):
        run.time(f"gpu/exchange/{variant}", 1e-4, {"n": 1024, "rounds": 100}, {"block": 32})
    run.save(folder)
    write(folder / "hazards.json", {"machine": "any", "date": "2026-01-01", "tool": "the emulator", "kernels": {
        name: {"what": name.replace("_", " "), "is_right": False, "file": "blocks.cu", "emulator": {"found": found, "message": "race"}} for name in FAULTS}})
    if wrong:
        write(folder / "wrong_results.json", {"machine": GPU, "date": "2026-01-02", "launches": 1000, "wrong_results": wrong})
    return contributions(collect([folder], []))[0].section


def table(section):
    return next((x for x in section.appendix if isinstance(x, Table) and x.name == "barriers_faults"), None)


def test_wrong_results_stand_beside_the_findings(tmp_path):
    section = section_of(tmp_path)
    rows = {row["fault"]: row for row in table(section).rows}
    assert rows["last_block_without_fence"]["wrong"] == 12 and rows["last_block_without_fence"]["emulator"]
    assert rows["barrier_in_branch"]["wrong"] is None


def test_without_launches_there_is_no_table(tmp_path):
    section = section_of(tmp_path, wrong=None)
    assert table(section) is None


@pytest.mark.parametrize("row", [{"wrong": -1}, {"wrong": 1001}, {"wrong": "many"}])
def test_impossible_numbers_are_refused(tmp_path, row):
    with pytest.raises(InputError, match="no number of launches"):
        load(tmp_path / "x.json", {"machine": GPU, "date": "2026-01-02", "launches": 1000, "wrong_results": {"fault": row}})
