"""common/environment.toml: the effect of each foreign variable and limit on the report and on rung. Every example is tried."""

import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "report")]

import synthetic  # noqa: E402

from report import surroundings  # noqa: E402

RUNG = ROOT / "build" / "rung"
VARIABLES, LIMITS = surroundings.declared(), surroundings.declared("limit")
TRIED = [pytest.param({name: value}, id=name) for row in VARIABLES for name, value in row.get("example", {}).items()]
CALCULATED = ("occupancy", "--device", "H200", "--threads", "256", "--json")
DRY = ("run", "-k", "cpu/vector_addition/loop", "-a", "n=1000", "--benchmark_dry_run", "--benchmark_repetitions=2")


def plain_environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not surroundings._row(VARIABLES, name)}


def ended(*command, env=(), **options):
    paths = str(ROOT) + (f":{dict(env)['PYTHONPATH']}" if "PYTHONPATH" in dict(env) else "")
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL, timeout=300,
                          env=plain_environment() | dict(env) | {"PYTHONPATH": paths}, **options)


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """Results with a name that is not ASCII, and their report in an empty environment."""
    folder = tmp_path_factory.mktemp("é")
    run = synthetic.Run("small", title="Größe")
    for n in (128, 256, 512):
        run.rate("cpu/matmul/naive", 50, n)
    run.save(folder / "in")
    return folder, rendered(folder, folder / "out")


def rendered(folder, output, env=(), **options):
    """The report's files, and its output except the folder's name."""
    made = ended(sys.executable, "-m", "report", folder / "in", "--output", output, env=env, **options)
    assert (made.returncode, made.stderr) == (0, ""), made.stderr
    return {str(p.relative_to(output)): p.read_bytes() for p in sorted(output.rglob("*")) if p.is_file()}


def test_every_row_says_what_it_does():
    for row in VARIABLES:
        assert row["program"] in ("honoured", "cleared", "option", "unused") and row["report"] in ("honoured", "cleared", "set", "unused"), row
        assert row["why"] and ("value" in row) == (row["report"] == "set"), row
        for name in row.get("example", {}):
            assert surroundings._row(VARIABLES, name) is row, name
    assert len({row["name"] for row in VARIABLES}) == len(VARIABLES)


@pytest.mark.long
@pytest.mark.parametrize("variables", TRIED)
def test_the_report_is_the_same_in_any_environment(study, tmp_path, variables):
    folder, made = study
    (tmp_path / "in").symlink_to(folder / "in")
    assert rendered(folder, tmp_path / "out", variables) == made


def test_all_of_them_together_change_nothing(study, tmp_path):
    together = {name: value for param in TRIED for name, value in param.values[0].items()}
    assert rendered(study[0], tmp_path, together) == study[1]


def test_what_the_report_starts_has_the_environment_of_the_table(tmp_path):
    """A replacement for rung writes its environment to a file."""
    program = tmp_path / "rung"
    program.write_text(f"#!/bin/sh\nenv > {tmp_path}/env\n")
    program.chmod(0o755)
    together = {name: value for param in TRIED for name, value in param.values[0].items()} | {"RUNG": str(program)}
    ended(sys.executable, "-m", "report.claims", "no_such_claim", env=together)
    seen = dict(line.split("=", 1) for line in (tmp_path / "env").read_text().splitlines() if "=" in line)
    for row in VARIABLES:
        for name, value in row.get("example", {}).items():
            if name != "PYTHONPATH":
                assert seen.get(name) == {"cleared": None, "set": row.get("value")}.get(row["report"], value), name


@pytest.mark.parametrize("limit", LIMITS, ids=lambda limit: limit["name"])
def test_a_limit_that_is_too_low_is_told_in_a_line(study, tmp_path, limit):
    kind, value = getattr(resource, f"RLIMIT_{limit['name']}"), limit["example"]
    made = ended(sys.executable, "-m", "report", study[0] / "in", "--output", tmp_path, preexec_fn=lambda: resource.setrlimit(kind, (value, value)))
    assert made.returncode == limit["code"] and made.stdout == "", made.stderr
    assert made.stderr.startswith("report: ") and made.stderr.count("\n") == 1, made.stderr


@pytest.mark.parametrize("place, rc", (("here", b"\xff\xfe"), ("here", None), ("home", b"text.usetex: True\nsvg.id: x\nfont.size: 30\n"),
                                       pytest.param("here", b"text.usetex: True\nsvg.id: x\n", marks=pytest.mark.long)))
def test_a_users_settings_of_plots_change_nothing(study, tmp_path, place, rc):
    """A file in the current folder or in the home folder; also a pipe without a writer."""
    folder = tmp_path if place == "here" else tmp_path / ".config" / "matplotlib"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "matplotlibrc"
    os.mkfifo(path) if rc is None else path.write_bytes(rc)
    env = {"HOME": str(tmp_path)} if place == "home" else {}
    assert rendered(study[0], tmp_path / "out", env, cwd=tmp_path) == study[1]


def test_a_folder_that_was_removed_is_no_matter(study, tmp_path):
    gone = tmp_path / "gone"
    gone.mkdir()
    made = ended("bash", "-c", 'cd "$1" && rmdir "$1" && exec "$2" -m report "$3" --output "$4"', "-", gone, sys.executable,
                 study[0] / "in", tmp_path / "out")
    assert made.returncode == 0, made.stderr


@pytest.mark.skipif(not RUNG.exists(), reason="needs build/rung")
@pytest.mark.parametrize("variables", [p for p in TRIED if surroundings._row(VARIABLES, p.id)["program"] != "honoured"])
def test_what_rung_clears_or_does_not_use_changes_nothing(tmp_path, variables):
    plain, other = ended(RUNG, *CALCULATED), ended(RUNG, *CALCULATED, env=variables)
    assert (plain.returncode, plain.stdout, plain.stderr) == (other.returncode, other.stdout, other.stderr) and plain.returncode == 0
    made = ended(RUNG, *DRY, "-o", tmp_path, env=variables)
    assert made.returncode == 0, made.stderr
    context = json.loads(next(p for p in tmp_path.rglob("*.json") if "ceilings" not in p.name).read_text())["context"]
    assert context["cpu_threads"] == len(os.sched_getaffinity(0))


# What rung does before its libraries start

SUM = ("run", "-k", "cpu/vector_addition/loop", "-a", "n=1000", "--benchmark_repetitions=1", "--benchmark_min_time=1x", "-o")


def context_of(folder, env):
    done = ended(RUNG, *SUM, folder, env=env)
    assert done.returncode == 0, done.stderr
    [file] = [p for p in folder.rglob("*.json") if not p.name.startswith("ceilings")]
    return json.loads(file.read_text(encoding="utf-8"))["context"]


@pytest.mark.skipif(not RUNG.exists(), reason="needs build/rung")
@pytest.mark.parametrize("treatment", ("honoured", "cleared"))
def test_results_say_what_was_honoured_and_what_was_cleared(tmp_path, treatment):
    of = {row["name"]: "7" for row in VARIABLES if row["program"] == treatment and row["name"].startswith(("OMP_D", "OPENBLAS_V", "GOMP_S", "HWLOC_"))}
    of = {name.replace("*", "OF_TOMORROW"): value for name, value in of.items()}
    context = context_of(tmp_path, of)
    if treatment == "honoured":
        assert context["environment"].items() >= of.items() and not context["environment_cleared"]
    else:
        assert context["environment_cleared"] == sorted(of) and not context["environment"].keys() & of


@pytest.mark.skipif(not RUNG.exists(), reason="needs build/rung")
@pytest.mark.parametrize("env, spins, is_own", (({}, "1000", True), ({"GOMP_SPINCOUNT": "5"}, "5", False),
                                                ({"OMP_WAIT_POLICY": "active"}, None, False)))
def test_threads_wait_briefly_unless_the_user_says_how(tmp_path, env, spins, is_own):
    context = context_of(tmp_path, env)
    assert context["environment"].get("GOMP_SPINCOUNT") == spins
    assert ("GOMP_SPINCOUNT" in context["environment_set"]) == is_own
