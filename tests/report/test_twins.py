"""A/A tests (twins): how often the rule for "faster" is wrong, from the runs of tests/twins/ to the sentence in the method section."""

import sys

import numpy as np
import pytest
from conftest import ROOT
from synthetic import Run, ladder, write

from report.data.collect import collect
from report.data.companions import Tally
from report.data.load import InputError, load
from report.data.statistics import BETWEEN_RUNS
from report.sections.method import method

sys.path.insert(0, str(ROOT / "tests" / "twins"))
import twins

FILE = {"machine": "Synthetic CPU", "date": "2026-01-01", "runs": 20, "turns": [90, 1500], "ratio_within": 0.008,
        "load": 2.25, "between_runs": 0.12, "twins": {
    "within": {"same": {"pairs": 40, "called": 1}, "two": {"pairs": 40, "called": 34}, "five": {"pairs": 40, "called": 40}},
    "between": {"same": {"pairs": 76, "called": 3}, "two": {"pairs": 38, "called": 0}, "five": {"pairs": 38, "called": 19},
                "intervals": {"pairs": 76, "called": 15}}}}


def test_the_method_says_what_was_measured(tmp_path):
    ladder().save(tmp_path / "run")
    without = str(method(collect([tmp_path / "run"], [])))
    write(tmp_path / "run" / "twins.json", FILE)
    text = str(method(collect([tmp_path / "run"], []))).replace("\\xa0", " ")
    assert "planted slow-downs" not in without
    for said in ("in 20 runs of interleaved kernels, each until ratios were known to 0.8 %", "after 90 and 1500 samples in the median",
                 "(Synthetic CPU, load 2.2, 2026-01-01)", "1 of 40 interleaved pairs were called different",
                 "3 of 76 of successive runs", "intervals of 20 % are disjoint", "in 85 % and 100 % of interleaved pairs",
                 "in 0 % and 50 % between runs", "Its runs differ by up to 12 %"):
        assert said in text, said


def test_one_measured_along_with_the_results_comes_before_a_recorded_one(tmp_path):
    ladder().save(tmp_path / "run")
    write(tmp_path / "run" / "twins.json", FILE)
    write(tmp_path / "stored" / "twins.json", FILE | {"machine": "Another", "date": "2027-01-01"})
    assert collect([tmp_path / "run"], [tmp_path / "stored"]).twins.machine == "Synthetic CPU"


@pytest.mark.parametrize("rows", ([], {"within": {}}, FILE["twins"] | {"between": FILE["twins"]["within"]},
                                  FILE["twins"] | {"within": {k: {"pairs": 3, "called": 4} for k in ("same", "two", "five")}},
                                  FILE["twins"] | {"within": {k: {"pairs": 0, "called": 0} for k in ("same", "two", "five")}}))
def test_a_broken_file_of_twins(tmp_path, rows):
    with pytest.raises(InputError):
        load(write(tmp_path / "twins.json", FILE | {"twins": rows}))


def runs_of_twins(folder, drift, number=12):
    """Runs whose samples spread by 0.4 %, and whose times differ by the drift from run to run."""
    random, runs = np.random.default_rng(8), []
    for i in range(number):
        run, speed = Run("adhoc"), random.lognormal(0, drift)
        for twin, factor in (("a", 1), ("b", 1), ("2", 1.02), ("5", 1.05)):
            times = [1e-3 * speed * factor * noise for noise in random.lognormal(0, 0.004, 30)]
            run.time(f"cpu/matmul/twin_{twin}", 0, {"n": 100}, times=times, interleaved_with=3)
        runs.append(twins.twins(load(run.save(folder / str(i)))))
    return {"cpu/matmul": runs}


def test_what_is_called(tmp_path):
    found = twins.table(runs_of_twins(tmp_path, drift=0.1))
    assert found["within"] == {"same": {"pairs": 12, "called": 0}, "two": {"pairs": 12, "called": 12}, "five": {"pairs": 12, "called": 12}}
    between = found["between"]
    assert between["same"]["pairs"] == 11 == between["intervals"]["pairs"] and between["intervals"]["called"] > 5
    assert between["same"]["called"] <= 1, "by how much runs differ is part of the comparison"
    assert load(write(tmp_path / "twins.json", FILE | {"twins": found})).within["two"] == Tally(12, 12)
    calm = twins.table(runs_of_twins(tmp_path / "calm", drift=0.002))["between"]
    assert calm["same"]["called"] == 0 and calm["five"]["called"] == 11


def test_points_know_by_how_much_runs_of_their_machine_differ(tmp_path):
    """From runs of one build; from the machine's twins where there are too few; else as declared."""
    def margins(name, factors, commit="c0ffee"):
        for i, factor in enumerate(factors):
            run = Run("ratio", git_commit=commit, date=f"2026-02-0{i + 1}T09:30:00+00:00")
            for n in (64, 128, 256):
                run.rate("cpu/matmul/naive", 10 * factor, n)
            run.save(tmp_path / name / str(i))
        return {p.between for run in collect([tmp_path / name], []).runs for p in run.points}
    many, = margins("many", (1.0, 1.1, 0.9, 1.05))
    assert 0.2 < many < 0.6
    assert margins("few", (1.0, 1.1)) == {BETWEEN_RUNS}
    write(tmp_path / "few" / "twins.json", FILE | {"machine": "Synthetic CPU, 4 cores"})
    assert margins("few", (1.0, 1.1)) == {0.12}
    write(tmp_path / "few" / "twins.json", FILE | {"machine": "Another CPU"})
    assert margins("few", (1.0, 1.1)) == {BETWEEN_RUNS}
