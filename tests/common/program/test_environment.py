"""Surroundings of the program: environments, foreign bytes, folders that were moved or cannot be written, pipes."""

import json
import os
import resource
import shlex
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
RUNG = ROOT / "build" / "rung"
SUM = ("run", "-k", "cpu/vector_addition/loop", "-a", "n=1000", "--benchmark_repetitions=3", "--benchmark_min_time=0.0001")
PRODUCTS = ("run", "-k", "cpu/matmul/*", "-a", "n=130", "--benchmark_dry_run")
pytestmark = pytest.mark.skipif(not RUNG.exists(), reason="needs build/rung")


def rung(*arguments, env=(), program=RUNG, seconds=300, **options):
    """The exit code, the output and the errors. An endless run is a failure."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("BENCHMARK_", "OMP_", "GOMP_", "HWLOC_", "RUNG_"))}
    done = subprocess.run([str(program), *arguments], capture_output=True, timeout=seconds,
                          env=clean | dict(env), **options)
    return done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")


def results(folder):
    """The only results below a folder."""
    files = [p for p in Path(os.fsdecode(folder)).rglob("*.json") if not p.name.startswith("ceilings")]
    assert len(files) == 1, files
    return json.loads(files[0].read_text(encoding="utf-8"))


def measured(folder, *arguments, env=(), **options):
    code, said, complaints = rung(*arguments, "-o", folder, env=env, **options)
    assert code == 0, said + complaints
    return results(folder)


# ---- The library's own environment ----

@pytest.mark.parametrize("variable, value", [
    ("REPORT_AGGREGATES_ONLY", "true"), ("DISPLAY_AGGREGATES_ONLY", "true"), ("ENABLE_RANDOM_INTERLEAVING", "true"),
    ("MIN_WARMUP_TIME", "100"), ("COUNTERS_TABULAR", "true"), ("FORMAT", "nonsense"), ("COLOR", "nonsense"),
    ("TIME_UNIT", "nonsense"), ("PERF_COUNTERS", "CYCLES")])
def test_flags_of_the_library_that_rung_has_not_change_nothing(tmp_path, variable, value):
    samples = measured(tmp_path, *SUM, env={f"BENCHMARK_{variable}": value})["benchmarks"]
    assert [s["repetition_index"] for s in samples] == [0, 1, 2] and all(s["real_time"] > 0 for s in samples)


def test_flags_that_rung_has_are_read_from_the_environment(tmp_path):
    sweep = SUM[:5]
    code, said, _ = rung(*sweep, env={"BENCHMARK_LIST_TESTS": "true"})
    assert (code, said) == (0, "cpu/vector_addition/loop/n:1000\n")
    assert len(measured(tmp_path / "dry", *sweep, env={"BENCHMARK_DRY_RUN": "true"})["benchmarks"]) == 1
    few = measured(tmp_path / "few", *sweep, env={"BENCHMARK_REPETITIONS": "2", "BENCHMARK_MIN_TIME": "7x"})["benchmarks"]
    assert [s["iterations"] for s in few] == [7, 7]
    assert rung(*sweep, env={"BENCHMARK_FILTER": "none"})[0] == 2
    out = tmp_path / "copy.json"
    measured(tmp_path / "out", *SUM, env={"BENCHMARK_OUT": str(out), "BENCHMARK_CONTEXT": "who=me"})
    assert json.loads(out.read_text())["context"]["who"] == "me"


@pytest.mark.parametrize("text", ("0x", "1.5x", "-3x", "x", "10y", "1e9x"))
def test_intervals_that_are_none_are_refused(text):
    code, _, complaints = rung(*SUM[:5], f"--benchmark_min_time={text}")
    assert code == 2 and "--benchmark_min_time" in complaints


# ---- Threads ----

@pytest.mark.parametrize("env", ({"OMP_MAX_ACTIVE_LEVELS": "0"}, {"OMP_THREAD_LIMIT": "1"}))
def test_a_team_that_is_smaller_than_asked_for_limits_everything(tmp_path, env):
    made = measured(tmp_path, *PRODUCTS, env=env | {"OMP_NUM_THREADS": "4"})
    assert made["context"]["cpu_threads"] == 1
    assert {e["threads"] for e in made["benchmarks"] if "real_time" in e and e["real_time"] > 0} == {1}
    assert not [e["error_message"] for e in made["benchmarks"] if e.get("error_occurred")]
    assert "1 of 4: " + "=".join(next(iter(env.items()))) in rung("doctor", env=env | {"OMP_NUM_THREADS": "4"})[1]


def test_points_of_more_threads_than_are_given_are_skipped(tmp_path):
    made = measured(tmp_path, *PRODUCTS, "-a", "threads=2", env={"OMP_THREAD_LIMIT": "1"})
    assert all(e["skipped"] for e in made["benchmarks"])
    assert "2 threads requested, OpenMP gives 1 (OMP_THREAD_LIMIT=1)" in {e["skip_message"] for e in made["benchmarks"]}


def test_the_number_of_threads_does_not_follow_the_load(tmp_path):
    made = measured(tmp_path, *PRODUCTS, env={"OMP_DYNAMIC": "true", "OMP_NUM_THREADS": "2"})
    assert not [e["error_message"] for e in made["benchmarks"] if e.get("error_occurred")]


@pytest.mark.parametrize("env, why", (({"OMP_PLACES": "threads", "OMP_PROC_BIND": "close"}, ""),
                                      ({"OMP_PLACES": "threads", "OMP_PROC_BIND": "primary"}, "2 threads requested, bound to 1 of")))
@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two processors")
def test_threads_that_are_bound_have_a_processor_each_or_are_skipped(tmp_path, env, why):
    """The program starts itself again, from a thread that OpenMP has bound to one processor."""
    made = measured(tmp_path, "run", "-k", "cpu/matmul/naive", "-a", "n=64", "-a", "threads=2", "--benchmark_repetitions=2", env=env)
    assert made["context"]["cpu_hardware_threads"] == len(os.sched_getaffinity(0))
    for entry in made["benchmarks"]:
        assert why in entry.get("skip_message", "") and bool(why) == entry.get("skipped", False) and "oversubscribed" not in entry


# ---- Memory ----

@pytest.mark.parametrize("command", ("count", "check"))
def test_what_does_not_fit_is_refused_before_it_is_tried(command):
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    code, said, complaints = rung(command, "gpu/vector_addition/grid", "--n", str(total // 40))
    assert code == 2 and "needs " in complaints and "are free" in complaints, said + complaints


def test_a_run_skips_what_cannot_be_counted(tmp_path):
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    sweep = tmp_path / "large.toml"
    sweep.write_text(f"title = 'large'\n[[sweep]]\nkernels = ['gpu/vector_addition/grid']\nn = {total // 40}\nmode = 'count'\n")
    made = measured(tmp_path / "results", "run", str(sweep))
    assert ["needs" in e.get("skip_message", "") for e in made["benchmarks"]] == [True]


# ---- Foreign bytes ----

FOREIGN = os.fsdecode(b"x-\xe9")


def test_bytes_of_other_encodings_are_replaced(tmp_path):
    toml = tmp_path / f"{FOREIGN}.toml"
    toml.write_text("title = 'one'\n[[sweep]]\nkernels = ['cpu/vector_addition/loop']\nn = 1000\n")
    made = measured(tmp_path / FOREIGN, "run", str(toml), *SUM[5:], f"--benchmark_context=who={FOREIGN}")
    assert made["context"]["who"] == made["context"]["experiment"] == "x-\ufffd"


def test_a_run_with_foreign_bytes_can_be_resumed(tmp_path):
    env = {"OMP_PLACES": "cores", "GOMP_SPINCOUNT": "1", "LD_NOTHING": FOREIGN}
    ended = (*SUM[:4], "n=1000,2000", *SUM[5:], "-o", str(tmp_path))
    clean = {k: v for k, v in os.environ.items() if not k.startswith("BENCHMARK_")} | env
    assert subprocess.run([str(RUNG), *ended], env=clean, capture_output=True,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))).returncode == 4
    assert rung(*ended, "--resume", env=env)[0] == 0


def test_every_line_to_the_calculators_is_answered():
    lines = [b"bound A100", b"occupancy --device \xe9", b"bound \xff\xfe", b"nonsense", b"occupancy --threads 256 --cc 9.0"]
    done = subprocess.run([str(RUNG), "model"], input=b"\n".join(lines) + b"\n", capture_output=True)
    assert done.returncode == 0, done.stderr
    text, answers = done.stdout.decode(), []
    while text.strip():
        answer, end = json.JSONDecoder().raw_decode(text.lstrip())
        answers.append(answer)
        text = text.lstrip()[end:]
    assert ["error" in a for a in answers] == [False, True, True, True, False]


# ---- The results' own keys ----

def test_keys_that_results_have_are_refused_before_anything_is_measured(tmp_path):
    keys = set(measured(tmp_path / "first", *SUM)["context"]) | {"gpu_name", "gpu_of_tomorrow"}
    assert len(keys) > 40
    for key in sorted(keys):
        code, said, complaints = rung(*SUM, "-o", str(tmp_path / "second"), f"--benchmark_context={key}=yesterday")
        assert code == 2 and key in complaints and not (tmp_path / "second").exists(), key


# ---- Folders and pipes ----

def test_why_a_folder_cannot_be_made_is_said(tmp_path):
    for folder, why in (("/proc/results", "No such file or directory"), (f"{tmp_path}/file/results", "Not a directory")):
        (tmp_path / "file").touch()
        code, _, complaints = rung(*SUM, "-o", folder)
        assert code == 4 and why in complaints and "Success" not in complaints, complaints


def test_a_reader_that_leaves_is_no_fault(tmp_path):
    """The program may be started with the signal ignored; results are on the disk in any case."""
    for command in (["list"], [*SUM, "-o", str(tmp_path)]):
        done = subprocess.run(["bash", "-c", 'trap "" PIPE; "$@" > >(exec true); echo $?', "bash", str(RUNG), *command],
                              capture_output=True, text=True)
        assert done.stdout == "0\n", done.stderr
    results(tmp_path)


def test_the_command_line_in_results_can_be_typed(tmp_path):
    made = measured(tmp_path / "it's a folder", *SUM)
    words = made["context"]["command_line"]
    assert "'cpu" not in words and "'" + str(tmp_path).replace("'", "") in words
    assert shlex.split(words)[-1] == str(tmp_path / "it's a folder")


# ---- Other libraries' environments, and the contents of the build ----

def test_the_machine_is_this_one(tmp_path):
    synthetic = {"HWLOC_SYNTHETIC": "l3:1(size=1073741824) l2:1(size=33554432) core:1 pu:1", "HWLOC_THISSYSTEM": "1"}
    keys = ("cpu_l2_bytes", "cpu_l3_bytes", "cpu_cores")
    one, other = (measured(tmp_path / name, *SUM, env=env)["context"] for name, env in (("a", {}), ("b", synthetic)))
    assert [one[k] for k in keys] == [other[k] for k in keys]


@pytest.mark.parametrize("block, reason", (("2x2x256", "threads along z of a block, the limit is 64"), ("1x1x64", ""),
                                           ("1x1x65", "threads along z"), ("1024", ""), ("1x1024x1", "")))
def test_a_block_that_cannot_be_launched_has_no_occupancy(block, reason):
    code, said, _ = rung("occupancy", "--cc", "9.0", "--threads", block, "--json")
    made = json.loads(said)[0]
    assert code == 0
    assert (made["occupancy"] == 0 and reason in made["cannot_run"]) if reason else made["cannot_run"] is None


def test_it_says_why_the_commit_is_unknown(tmp_path):
    header = tmp_path / "build_info.hpp"
    plain = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    def written(source, env=()):
        made = subprocess.run(["cmake", f"-DSOURCE={source}", f"-DOUT={header}", "-P", str(ROOT / "common" / "build_info.cmake")],
                              capture_output=True, text=True, env=plain | dict(env))
        assert made.returncode == 0, made.stderr
        return header.read_text(), made.stderr
    repository = tmp_path / "tree"
    subprocess.run(["git", "init", "-q", str(repository)], check=True, env=plain)
    for env, why in (({}, "fatal: "), ({"GIT_TEST_ASSUME_DIFFERENT_OWNER": "1"}, "dubious ownership")):
        text, said = written(repository, env)
        assert 'kCommit = "unknown"' in text and why in text and why in said
    commit = ["git", "-C", str(repository), "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "one", "--allow-empty"]
    subprocess.run(commit, check=True, env=plain)
    text, said = written(repository)
    assert 'kNoCommit = ""' in text and 'kCommit = "unknown"' not in text and not said
