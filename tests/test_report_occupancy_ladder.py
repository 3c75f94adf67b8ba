"""The GPU's ladder by occupancy: which rungs are shown, and what is said of the fastest."""

import pytest
from test_report_support import CPU, GPU, read, write

from report.collect import collect
from report.figures import occupancy_ladder


@pytest.fixture(scope="module")
def rows():
    return occupancy_ladder.rows(collect([CPU], [GPU]))


def rows_of(tmp_path, change):
    """The rows of a GPU set whose ladder's entries went through `change`."""
    for path in GPU.glob("*.json"):
        data = read(path)
        if path.name == "matmul_ladder.json":
            for entry in data["benchmarks"]:
                change(entry)
        write(tmp_path / "gpu" / path.name, data)
    return occupancy_ladder.rows(collect([CPU], [tmp_path / "gpu"]))


def test_own_rungs_stand_in_the_order_of_the_climb_and_libraries_do_not(rows):
    assert len(rows) >= occupancy_ladder.FEWEST and len({r["n"] for r in rows}) == 1
    assert not any("library" in r["kernel"] for r in rows)
    by_kernel = {r["kernel"]: r for r in rows}
    assert by_kernel["gpu/matmul/naive"]["occupancy_theoretical"] == 1
    assert by_kernel["gpu/matmul/async"]["occupancy_theoretical"] == 0.25
    assert by_kernel["gpu/matmul/async"]["registers_per_thread"] == 128


def test_a_library_that_tells_its_occupancy_is_no_rung(tmp_path, rows):
    told = rows_of(tmp_path, lambda entry: entry.setdefault("occupancy_theoretical", 0.5))
    assert [r["kernel"] for r in told] == [r["kernel"] for r in rows]


def test_one_occupancy_for_all_is_no_picture(tmp_path):
    assert rows_of(tmp_path, lambda entry: entry.update(occupancy_theoretical=1.0)) == []


def test_the_reading_compares_the_fastest_with_the_first(rows):
    best, first = max(rows, key=lambda r: r["gflops"]), rows[0]
    text = occupancy_ladder.reading(rows)
    assert text.startswith(f"The fastest rung, {best['title']}, runs at {100 * best['occupancy_theoretical']:.0f} % ")
    assert f"{best['registers_per_thread']:.0f} registers instead of {first['registers_per_thread']:.0f}" in text


def test_nothing_is_said_where_the_fastest_needs_as_many_warps(rows):
    same = [{**r, "occupancy_theoretical": 0.5} for r in rows]
    assert occupancy_ladder.reading(same) == "" and occupancy_ladder.reading([]) == ""
    silent = [{**r, "registers_per_thread": None} for r in rows]
    assert "registers" not in occupancy_ladder.reading(silent)


def test_rungs_that_do_not_tell_their_occupancy_are_left_out(tmp_path, rows):
    def forget_naive(entry):
        if entry["kernel"] == "gpu/matmul/naive":
            entry.pop("occupancy_theoretical", None)
    assert [r["kernel"] for r in rows_of(tmp_path / "a", forget_naive)] == [
        r["kernel"] for r in rows if r["kernel"] != "gpu/matmul/naive"]
    assert rows_of(tmp_path / "b", lambda entry: entry.pop("occupancy_theoretical", None)) == []
