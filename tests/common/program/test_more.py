"""`rung run --more RESULT`: further samples of the same points, in a file of their own, of the same code alone."""

import json
import os
import subprocess
import sys
import zlib
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PROGRAM = Path(os.environ.get("RUNG", ROOT / "build" / "rung"))
QUICK = ("--benchmark_min_time=0.0001", "--benchmark_repetitions=7")
pytestmark = pytest.mark.skipif(not PROGRAM.exists(), reason="the program is not built")


def rung(*words):
    return subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, check=False)


def files(folder):
    return sorted(folder.rglob("adhoc.json"))


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    folder = tmp_path_factory.mktemp("more")
    done = rung("run", "-k", "cpu/matmul/naive", "cpu/matmul/interchanged", "-a", "n=16,24", "--seed", "5", "-o", folder, *QUICK)
    assert done.returncode == 0, done.stdout + done.stderr
    return files(folder)[0]


def changed(result, to, **context):
    """A copy of the result with other values in its context."""
    data = json.loads(result.read_text())
    data["context"] |= context
    to.parent.mkdir(parents=True, exist_ok=True)
    to.write_text(json.dumps(data))
    return to


def names(path):
    return {entry["name"] for entry in json.loads(path.read_text())["benchmarks"]}


def test_the_first_file_is_not_changed_and_both_are_joined(result):
    before = zlib.crc32(result.read_bytes())
    points = result.parent / "points.txt"
    points.write_text("cpu/matmul/naive/n:16\n\ncpu/matmul/interchanged/n:24\n")
    done = rung("run", "--more", result, "--points", points, *QUICK)
    assert done.returncode == 0, done.stdout + done.stderr
    [more] = files(result.parent / "more")
    data, first = json.loads(more.read_text()), json.loads(result.read_text())
    assert zlib.crc32(result.read_bytes()) == before
    assert names(more) == {"cpu/matmul/naive/n:16", "cpu/matmul/interchanged/n:24"}
    assert data["context"]["more_of"] == first["context"]["checksum"] and data["context"]["seed"] == 5 and data["context"]["complete"]
    assert data["context"]["program"] == first["context"]["program"]
    assert rung("run", "--more", more, "-k", "cpu/matmul/na*", *QUICK).returncode == 0, "of a file of further samples: next to it"
    assert len(files(result.parent / "more")) == 2 and not list(more.parent.rglob("more"))
    compared = subprocess.run([sys.executable, "-m", "report.compare", result, result, "--json"], capture_output=True, text=True, check=False,
                              env=os.environ | {"PYTHONPATH": str(ROOT)})
    [one] = json.loads(compared.stdout)["comparisons"]
    every, counted = Counter(), Counter()  # on a busy machine disturbed samples are left out
    for file in (result, *files(result.parent / "more")):
        entries = [e for e in json.loads(file.read_text())["benchmarks"] if e.get("run_type") != "aggregate"]
        for name in {e["run_name"] for e in entries}:
            mine = [e for e in entries if e["run_name"] == name]
            calm = sum(not e.get("disturbed") for e in mine)
            every[name] += len(mine)
            counted[name] += calm if calm and mine[0]["stop_reason"] != "disturbed" else len(mine)
    assert every == {"cpu/matmul/naive/n:16": 21, "cpu/matmul/naive/n:24": 7, "cpu/matmul/interchanged/n:16": 7, "cpu/matmul/interchanged/n:24": 14}
    assert {p["point"]: p["first_samples"] for p in one["points"]} == counted


@pytest.mark.parametrize("context, said", (
    ({"git_commit": "0000"}, "git_commit was 0000 and is"), ({"cxx_flags": "-O0"}, "cxx_flags was -O0"), ({"cpu_name": "Another"}, "cpu_name was Another"),
    ({"experiment_toml": "[[sweep]]\nkernels = ['cpu/matmul/nothing']"}, "cpu/matmul/nothing"), ({"experiment_toml": 3}, "is not a results file"),
    ({"checksum": None}, "is not a results file")))
def test_samples_of_other_code_or_another_machine_are_refused(result, tmp_path, context, said):
    done = rung("run", "--more", changed(result, tmp_path / "r.json", **context), *QUICK)
    assert done.returncode == 2 and said in done.stderr and done.stderr.count("\n") == 1, done.stderr
    assert not list(tmp_path.rglob("more"))


def test_a_build_with_changes_is_the_same_only_by_its_checksum(result, tmp_path):
    dirty = json.loads(result.read_text())["context"]["git_dirty"]
    done = rung("run", "--more", changed(result, tmp_path / "r.json", program="0"), "--benchmark_list_tests")
    assert done.returncode == (2 if dirty else 0), done.stderr


@pytest.mark.parametrize("words, said", (
    (["--more", "nowhere.json"], "nowhere.json"), (["--points", "x"], "--points needs --more"), (["--more", "RESULT", "ratio"], "no EXPERIMENT"),
    (["--more", "RESULT", "-k", "cpu/matmul/blocked"], "no samples of a point that is chosen"), (["--more", "RESULT", "--points", "UNKNOWN"], "'nothing'"),
    (["--more", "UNKNOWN"], "is not a results file"), (["--more", "x.json.gz"], "unpack it first")))
def test_wrong_usage_is_one_line_and_code_two(result, tmp_path, words, said):
    (tmp_path / "unknown").write_text("nothing\n")
    places = {"RESULT": result, "UNKNOWN": tmp_path / "unknown"}
    done = rung("run", *(places.get(word, word) for word in words))
    assert done.returncode == 2 and said in done.stderr and done.stderr.count("\n") == 1, done.stderr


def test_a_name_of_an_experiment_leads_nowhere_else(result, tmp_path):
    done = rung("run", "--more", changed(result, tmp_path / "in" / "r.json", experiment="../../out"), *QUICK)
    assert done.returncode in (0, 2) and not [p for p in tmp_path.iterdir() if p.name != "in"]
