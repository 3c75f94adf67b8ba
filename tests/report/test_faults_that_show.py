"""How often planted faults show on a GPU, beside who finds them, and what is said of it."""

import pytest
from synthetic import GPU, Run, write

from report.data.collect import collect
from report.data.reading import InputError
from report.data.companions import load
from report.experiment import FAILS, HOLDS, UNTESTED, Table
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


def verdict(section, id_):
    return next(v for v in section.verdicts if v.claim.id == id_)


def test_wrong_results_stand_beside_the_findings(tmp_path):
    section = section_of(tmp_path)
    rows = {row["fault"]: row for row in table(section).rows}
    assert rows["last_block_without_fence"]["wrong"] == 12 and rows["last_block_without_fence"]["emulator"]
    assert rows["barrier_in_branch"]["wrong"] is None
    said = verdict(section, "device")
    assert said.verdict == HOLDS and "2 of 2 kernels that have no fence or one for the block alone" in said.evidence
    assert "without any tool, they gave 12 and 1\u202f000 wrong results" in said.evidence
    assert verdict(section, "warp").verdict == FAILS and "they gave 0 wrong results" in verdict(section, "warp").evidence


def test_without_launches_there_is_no_table(tmp_path):
    section = section_of(tmp_path, wrong=None)
    assert table(section) is None and "without any tool" not in verdict(section, "device").evidence


def test_what_nobody_finds_is_untested(tmp_path):
    assert verdict(section_of(tmp_path, found=False), "device").verdict == UNTESTED


@pytest.mark.parametrize("row", [{"wrong": -1}, {"wrong": 1001}, {"wrong": "many"}])
def test_impossible_numbers_are_refused(tmp_path, row):
    with pytest.raises(InputError, match="no number of launches"):
        load(tmp_path / "x.json", {"machine": GPU, "date": "2026-01-02", "launches": 1000, "wrong_results": {"fault": row}})
