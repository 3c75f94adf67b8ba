"""How often planted faults show on a GPU, next to the tools that find them, and the sentences about it."""

import pytest
from synthetic import GPU, Run, write

from report.data.collect import collect
from report.data.companions import load
from report.data.reading import InputError
from report.experiment import Table
from report.sections.contributions import contributions

FAULTS = {"missing_syncwarp": {"wrong": 0}, "last_block_without_fence": {"wrong": 12}, "last_block_with_block_fence": {"wrong": 1000},
          "barrier_in_branch": {"failed": "stores other elements than its right twin"}, "barrier_in_uneven_loop": {"failed": "did not end in time"},
          "misaligned_vector": {"failed": "misaligned_vector: failed while running: misaligned address (cudaErrorMisalignedAddress)"},
          "runaway": {"failed": "no right twin"}}


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
    assert rows["barrier_in_branch"]["wrong"] == 1000  # no result can be the right one
    assert rows["barrier_in_uneven_loop"]["wrong"] is None


def test_what_was_not_counted_is_shown_by_its_outcome(tmp_path):
    shown = {row["fault"]: row["outcome"] for row in table(section_of(tmp_path)).rows}
    assert shown == {"missing_syncwarp": "0", "last_block_without_fence": "12", "last_block_with_block_fence": "1000", "barrier_in_branch": "1000 (other elements)",
                     "barrier_in_uneven_loop": "never ends", "misaligned_vector": "cudaErrorMisalignedAddress", "runaway": "no corrected kernel"}


@pytest.mark.parametrize("name, hangs, error, wrong", (
    ("barrier_in_uneven_loop", True, "", None), ("misaligned_vector", False, "cudaErrorMisalignedAddress", None), ("barrier_in_branch", False, "", 1000),
    ("last_block_without_fence", False, "", 12)))
def test_outcomes_of_launches(tmp_path, name, hangs, error, wrong):
    found = load(tmp_path / "x.json", {"machine": GPU, "date": "2026-01-02", "launches": 1000, "wrong_results": FAULTS}).outcomes[name]
    assert (found.hangs, found.error, found.wrong) == (hangs, error, wrong)


def test_without_launches_there_is_no_table(tmp_path):
    section = section_of(tmp_path, wrong=None)
    assert table(section) is None


@pytest.mark.parametrize("row", [{"wrong": -1}, {"wrong": 1001}, {"wrong": "many"}])
def test_impossible_numbers_are_refused(tmp_path, row):
    with pytest.raises(InputError, match="no number of launches"):
        load(tmp_path / "x.json", {"machine": GPU, "date": "2026-01-02", "launches": 1000, "wrong_results": {"fault": row}})


def test_the_caption_names_machine_and_day(tmp_path):
    caption = table(section_of(tmp_path)).caption
    assert f"On the {GPU}, 2026-01-02;" in caption and "{" not in caption
