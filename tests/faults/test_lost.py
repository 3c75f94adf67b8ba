"""What ends, starves and misleads a run costs nothing that was measured: each attack that once did."""

import errno
import json
import os
import shutil
import signal
import subprocess
import time
from collections import Counter
from fcntl import LOCK_EX, flock
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("BUILD", ROOT / "build"))
RUNG, FAULTY, SHIM = BUILD / "rung", BUILD / "tests" / "rung_with_faults", BUILD / "tests" / "libfailing_calls.so"
QUICK = ("--benchmark_repetitions=2", "--benchmark_min_time=0.0001")
FEW = ("run", "-k", "cpu/matmul/naive", "-a", "n=8,9", *QUICK)
SLOW = ("run", "-k", "cpu/matmul/naive", "-a", "n=60,61,62,63", "--benchmark_repetitions=30", "--benchmark_min_time=0.01")
PATIENCE = 240
LONG = pytest.mark.long
pytestmark = pytest.mark.skipif(not (RUNG.exists() and FAULTY.exists() and SHIM.exists()), reason="needs a build with tests")


def start(*arguments, program=RUNG, **environment):
    clean = {k: v for k, v in os.environ.items() if not k.startswith("BENCHMARK_")}
    heeds = lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)  # which jobs in the background ignore
    return subprocess.Popen([str(program), *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=heeds,
                            env=clean | {"OMP_WAIT_POLICY": "passive"} | {k: str(v) for k, v in environment.items()})


def ended(process):
    try:
        said, complaints = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
    return process.returncode, said, complaints


def rung(*arguments, **options):
    return ended(start(*arguments, **options))


def failing(call, *arguments, **environment):
    return rung(*arguments, LD_PRELOAD=SHIM, RUNG_FAIL=call, **environment)


def results(folder):
    files = sorted(folder.glob("*/adhoc.json"))
    assert len(files) == 1, files
    return json.loads(files[0].read_text())


def samples(folder):
    return Counter(entry["name"].rpartition(":")[2] for entry in results(folder)["benchmarks"] if "gflops" in entry)


def wait_for(happened, seconds=60):
    deadline = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def journal_in(folder):
    return next(iter(folder.glob("*/journal.jsonl")), None)


def killed(folder, *arguments):
    """The journal of a run that SIGKILL ended after its first point."""
    process = start(*arguments, "-o", folder)
    wait_for(lambda: journal_in(folder) and journal_in(folder).read_bytes().count(b"\n") > 1)
    process.kill()
    process.communicate()
    return journal_in(folder)


def line_of(text):
    value = 0xCBF29CE484222325
    for byte in text.encode():
        value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return f"{value:016x} {text}\n"


# ---- Two runs ----

def test_a_resume_that_waited_for_a_run_that_ends_leaves_its_results(tmp_path):
    """The run that ends is played here: it has the lock, writes its results, removes the journal and lets go."""
    journal = killed(tmp_path, *SLOW)
    with journal.open() as held:
        flock(held, LOCK_EX)
        late = start(*SLOW, "-o", tmp_path, "--resume")
        waits = Path(f"/proc/{late.pid}/task/{late.pid}/children")
        wait_for(lambda: any(Path(f"/proc/{child}/fd/{n}").exists() and os.path.samefile(f"/proc/{child}/fd/{n}", journal)
                             for child in waits.read_text().split() for n in os.listdir(f"/proc/{child}/fd")))
        (journal.parent / "adhoc.json").write_text("finished")
        journal.unlink()
    code, said, complaints = ended(late)
    assert (journal.parent / "adhoc.json").read_text() == "finished"
    assert code == 0 and "nothing to resume" in said, said + complaints


def test_the_unfinished_run_of_another_experiment_is_not_taken(tmp_path):
    for name, sizes in (("x", "[8]"), ("of-x", "[60, 61, 62]")):
        (tmp_path / f"{name}.toml").write_text(f"title = '{name}'\n[[sweep]]\nkernels = ['cpu/matmul/naive']\nn = {sizes}\n")
    assert killed(tmp_path / "out", "run", tmp_path / "of-x.toml", *SLOW[5:])
    code, said, complaints = rung("run", tmp_path / "x.toml", "--resume", "-o", tmp_path / "out", *QUICK)
    assert code == 0 and "nothing to resume" in said, said + complaints


# ---- Processes that end ----

@pytest.mark.parametrize("call", ("fsync:1", "fsync:2", "fsync:3", "fsync:4", "rename:1", "unlink:1"))
def test_a_process_that_is_killed_at_any_instant_costs_nothing(tmp_path, call):
    """The header, a point, its folder, the results before they have their name, after they have it."""
    code, said, complaints = failing(call, *FEW, "-o", tmp_path / "out", RUNG_KILLS=tmp_path / "mark")
    assert (tmp_path / "mark").exists()
    assert code == 0 and complaints == "", said + complaints
    assert samples(tmp_path / "out") == {"8": 2, "9": 2}
    assert not [p for p in (tmp_path / "out").rglob("*") if p.suffix == ".part" or p.name == "journal.jsonl"]


def test_processes_that_only_die_end_the_run_and_say_how_to_go_on(tmp_path):
    code, said, complaints = failing("fsync:all", *FEW, "-o", tmp_path, RUNG_ERRNO=5)
    assert code == 4, complaints
    process = start(*SLOW, "-o", tmp_path / "out")
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    while process.poll() is None:
        for child in children.read_text().split() if children.exists() else ():
            try:
                os.kill(int(child), signal.SIGKILL)
            except ProcessLookupError:
                pass
        time.sleep(0.02)
    code, said, complaints = ended(process)
    assert code == 1 and "--resume" in complaints and complaints.count("\n") == 1, complaints


def test_a_thread_that_crashes_later_costs_no_other_point(tmp_path):
    rung("run", "-k", "cpu/matmul/naive", "cpu/matmul/crashes_later", "-a", "n=16,60,70", "-o", tmp_path,
         "--benchmark_repetitions=5", "--benchmark_min_time=0.02", program=FAULTY)
    entries = results(tmp_path)["benchmarks"]
    assert {e["name"] for e in entries if e["kernel"] == "cpu/matmul/naive" and "gflops" not in e} == set()


def test_a_kernel_that_leaves_the_folder_takes_no_results_with_it(tmp_path):
    process = subprocess.run([str(FAULTY), "run", "-k", "cpu/matmul/leaves", "-a", "n=8,16,24", *QUICK, "-o", "out"],
                             cwd=tmp_path, capture_output=True, timeout=PATIENCE)
    assert process.returncode == 0, process.stderr
    assert samples(tmp_path / "out") == {"8": 2, "16": 2, "24": 2}
    assert not Path("/out").exists()


@pytest.mark.parametrize("times", (1, 2))
def test_a_kernel_that_heeds_no_signal_is_ended_within_seconds(tmp_path, times):
    process = start("run", "-k", "cpu/matmul/naive", "cpu/matmul/ignores", "-a", "n=8,16", *QUICK, "-o", tmp_path, program=FAULTY)
    def is_ignored():  # by the process that measures
        try:
            child = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()[0]
            status = Path(f"/proc/{child}/status").read_text()
        except (OSError, IndexError):
            return False
        return int(status.split("SigIgn:\t")[1].split()[0], 16) >> (signal.SIGTERM - 1) & 1
    wait_for(is_ignored)
    began = time.monotonic()
    for _ in range(times):
        process.send_signal(signal.SIGTERM)
        time.sleep(0.5)
    code, said, complaints = ended(process)
    assert code == 130 and time.monotonic() - began < 30, said + complaints
    if times == 1:
        assert results(tmp_path)["context"]["interrupted"]


# ---- Calls that fail ----

@pytest.mark.parametrize("error", (errno.ENOSYS, pytest.param(errno.ENOLCK, marks=LONG),
                                   pytest.param(errno.EOPNOTSUPP, marks=LONG)))
def test_a_file_system_without_locks_is_written_to(tmp_path, error):
    shutil.copytree(killed(tmp_path / "first", *SLOW).parent.parent, tmp_path / "out")
    code, said, complaints = failing("flock:all", *SLOW, "-o", tmp_path / "out", RUNG_ERRNO=error)
    assert code == 0 and "cannot be locked" in said, said + complaints
    code, said, complaints = rung(*SLOW, "-o", tmp_path / "first", "--resume")
    assert code == 0 and "nothing to resume" not in said, said + complaints


def test_a_journal_that_cannot_be_removed_is_no_failure(tmp_path):
    code, said, complaints = failing("unlink:all", *FEW, "-o", tmp_path)
    assert code == 0 and "cannot be removed" in said, complaints
    assert samples(tmp_path) == {"8": 2, "9": 2}


def test_where_no_process_can_be_started_this_one_measures(tmp_path):
    code, said, complaints = failing("fork:all", *FEW, "-o", tmp_path)
    assert code == 0 and "cannot start a process" in said, complaints
    assert samples(tmp_path) == {"8": 2, "9": 2}


def test_a_picture_on_a_disk_that_fails_is_named(tmp_path):
    code, _, complaints = rung("blur", "--image", "/proc/self/mem", "--out", tmp_path / "out.pgm")
    assert code == 2 and "/proc/self/mem" in complaints and "Input/output error" in complaints, complaints


def test_a_picture_that_does_not_fit_leaves_the_old_one(tmp_path):
    picture = tmp_path / "in.pgm"
    picture.write_bytes(b"P5\n100 100\n255\n" + bytes(10_000))
    before = picture.read_bytes()
    limited = subprocess.run(["sh", "-c", f"ulimit -f 4; exec '{RUNG}' blur --image in.pgm --out in.pgm"], cwd=tmp_path,
                             capture_output=True, text=True, timeout=PATIENCE)
    assert limited.returncode == 4 and limited.stderr.count("\n") == 1, limited.stderr
    assert picture.read_bytes() == before and [p.name for p in tmp_path.iterdir()] == ["in.pgm"]


@LONG
@pytest.mark.parametrize("kilobytes", (700_000, 900_000, 1_100_000, 1_300_000))
def test_little_address_space_is_said(kilobytes):
    limited = subprocess.run(["sh", "-c", f"ulimit -v {kilobytes}; exec '{RUNG}' --version"], capture_output=True, text=True,
                             timeout=60, check=False)
    assert limited.returncode in (0, 2, 127) and (limited.returncode == 0 or limited.stderr.count("\n") == 1), limited


# ---- Journals, and what is called one ----

def test_records_that_stand_twice_count_once_and_foreign_ones_not(tmp_path):
    journal = killed(tmp_path, *SLOW)
    lines = journal.read_text().splitlines(keepends=True)
    one = json.loads(lines[1].split(" ", 1)[1])
    foreign = json.loads(lines[1].split(" ", 1)[1].replace(one["points"][0]["point"], "cpu/matmul/naive/n:64"))
    journal.write_text("".join([*lines[:2], lines[1], line_of(json.dumps(foreign)), *lines[2:]]))
    code, said, complaints = rung(*SLOW, "-o", tmp_path, "--resume")
    assert code == 0 and "2 lines of" in said, said + complaints
    assert samples(tmp_path) == {str(n): 30 for n in (60, 61, 62, 63)}


def test_a_record_that_is_nested_without_end_is_damaged(tmp_path):
    journal = killed(tmp_path, *SLOW)
    deep = "[" * 200_000 + "]" * 200_000
    with journal.open("a") as more:
        more.write(line_of(f'{{"points":{deep}}}') + line_of(f'{{"a":{deep}}}'))
    code, said, complaints = rung(*SLOW, "-o", tmp_path, "--resume")
    assert code == 0 and "2 lines of" in said, said + complaints
    first = journal.parent / "adhoc.json"
    first.unlink()
    journal.write_text(line_of(f'{{"identity":{deep},"context":{{}}}}'))
    code, _, complaints = rung(*SLOW, "-o", tmp_path, "--resume")
    assert code == 2 and "damaged" in complaints and not first.exists(), complaints


@pytest.mark.parametrize("target", ("/dev/zero", "/dev/full", None))
def test_what_is_no_regular_file_is_no_journal(tmp_path, target):
    folder = tmp_path / "20260101T000000Z-adhoc"
    folder.mkdir()
    os.mkfifo(folder / "journal.jsonl") if target is None else (folder / "journal.jsonl").symlink_to(target)
    code, said, complaints = rung(*FEW, "-o", tmp_path, "--resume")
    assert code == 0 and "nothing to resume" in said, said + complaints


def test_a_run_goes_on_only_with_the_same_libraries_and_the_same_experiment(tmp_path):
    toml = tmp_path / "x.toml"
    toml.write_text("title = 'x'\n[[sweep]]\nkernels = ['cpu/matmul/naive']\nn = [60, 61, 62]\n")
    again = ("run", toml, *SLOW[5:], "-o", tmp_path / "out", "--resume")
    journal = killed(tmp_path / "out", "run", toml, *SLOW[5:])
    whole = journal.read_text()
    header, rest = whole.split("\n", 1)
    libraries = json.loads(header.split(" ", 1)[1])["identity"]["libraries"]
    name = next(n for n in libraries if n.startswith("libstdc++"))
    other = header.split(" ", 1)[1].replace(libraries[name], libraries[name].replace(" ", " 9", 1))
    journal.write_text(line_of(other) + rest)
    code, _, complaints = rung(*again)
    assert code == 2 and f"{name} was" in complaints, complaints
    journal.write_text(whole)
    toml.write_text(toml.read_text() + "counters = true\n")
    code, _, complaints = rung(*again)
    assert code == 2 and "experiment has been rewritten" in complaints, complaints


# ---- Names ----

def test_a_pipe_that_nobody_reads_does_not_hold_what_was_interrupted(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    process = start(*FEW, "-o", tmp_path / "out", f"--benchmark_out={tmp_path / 'pipe'}")
    wait_for(lambda: list((tmp_path / "out").glob("*/adhoc.json")))
    process.send_signal(signal.SIGTERM)
    began = time.monotonic()
    code, _, complaints = ended(process)
    assert code == 130 and time.monotonic() - began < 40, complaints
    assert samples(tmp_path / "out") == {"8": 2, "9": 2}


def test_why_a_folder_cannot_be_made_is_said(tmp_path):
    (tmp_path / "file").touch()
    (tmp_path / "dangling").symlink_to(tmp_path / "nothing" / "here")
    for folder in ("file", "file/x", "dangling"):
        code, _, complaints = rung(*FEW, "-o", tmp_path / folder)
        assert code == 4 and "Success" not in complaints and complaints.count("\n") == 1, complaints


def test_a_host_may_be_called_what_it_likes(tmp_path):
    named = subprocess.run(["unshare", "-u", "sh", "-c",
                            f"echo ../../evil >/proc/sys/kernel/hostname || exit 9; exec '{RUNG}' {' '.join(FEW)}"],
                           cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE, check=False)
    if named.returncode == 9 or "unshare" in named.stderr:
        pytest.skip("this user may not name a host")
    assert named.returncode == 0 and list((tmp_path / "results").glob("*evil/*/adhoc.json")), named.stdout + named.stderr


def test_a_file_that_has_an_experiments_name_is_not_taken_for_it(tmp_path):
    (tmp_path / "ceilings").write_text("")
    listed = subprocess.run([str(RUNG), "run", "ceilings", "--benchmark_list_tests"], cwd=tmp_path, capture_output=True,
                            text=True, timeout=PATIENCE, check=False)
    assert listed.returncode == 0 and "triad" in listed.stdout, listed.stderr


@pytest.mark.parametrize("seed", ("18446744073709551616", "-1", "1e3", "0x1"))
def test_a_seed_is_taken_as_it_is_or_refused(seed):
    code, _, complaints = rung(*FEW, "--benchmark_list_tests", f"--seed={seed}")
    assert code == 2 and seed in complaints, complaints


# ---- What a kernel leaves behind ----

NORMAL = ("--benchmark_repetitions=2", "--benchmark_min_time=0.001")


def measured(folder):
    """Whether each point has samples, by kernel and size."""
    return {(e["kernel"].rpartition("/")[2], e["sizes"]["n"]): "gflops" in e for e in results(folder)["benchmarks"]}


def with_faulty(kernel, folder, *more, sizes="8,16,24", **options):
    return rung("run", "-k", "cpu/matmul/naive", f"cpu/matmul/{kernel}", "-a", f"n={sizes}", *NORMAL, "-o", folder,
                *more, program=FAULTY, **options)


@pytest.mark.parametrize("first", ("busy", "naive"))
def test_the_kernel_that_left_a_thread_running_fails_and_no_other(tmp_path, first):
    """In a group all are verified first: the thread runs while others are looked at."""
    kernels = [f"cpu/matmul/{k}" for k in dict.fromkeys((first, "busy", "naive", "interchanged"))]
    rung("run", "-k", *kernels, "-a", "n=16,24", "-a", "interleave=true", *NORMAL, "-o", tmp_path, program=FAULTY)
    found = measured(tmp_path)
    assert {key for key, has in found.items() if not has} == {("busy", 16), ("busy", 24)}, found


@pytest.mark.parametrize("group", ((), ("-a", "interleave=true")))
def test_a_kernel_that_ends_both_processes_is_struck_when_the_study_is_resumed(tmp_path, group):
    for resumes in range(8):
        resume = ["--resume"] if resumes else []
        code, said, complaints = with_faulty("kills_all", tmp_path, *group, *resume, sizes="8,16")
        if code != -signal.SIGKILL:
            break
    assert code == 1 and 2 <= resumes <= 4, (resumes, said, complaints)
    assert measured(tmp_path) == {("naive", 8): True, ("naive", 16): True, ("kills_all", 8): True,
                                  ("kills_all", 16): False}
    why = [e["error_message"] for e in results(tmp_path)["benchmarks"] if "error_message" in e]
    assert why == ["the run was killed while it was measured"]
    assert not list(tmp_path.glob("*/begun.json"))


def test_a_run_that_was_killed_twice_and_interrupted_many_times_loses_no_point(tmp_path):
    """At the same point, but by SIGKILL once alone, or the machine was started in between."""
    hang = ("run", "-k", "cpu/matmul/naive", "-a", "n=900", "--benchmark_repetitions=40", "-o", tmp_path)
    begun = lambda: next(iter(tmp_path.glob("*/begun.json")), None)
    written = lambda: begun().stat().st_mtime_ns if begun() else 0
    for i, ends in enumerate(("kill", "interrupt until it ends", "interrupt until it ends", "other boot", "last")):
        before = written()
        process = start(*hang, *(["--resume"] if i else []))
        wait_for(lambda: written() > before and begun().read_text().startswith("began"))
        if ends == "interrupt until it ends":
            while process.poll() is None:  # two signals are one for a process that did not run in between
                process.send_signal(signal.SIGINT)
                time.sleep(0.4)
        else:
            process.kill()
        process.communicate()
        if ends == "other boot":
            text = begun().read_text().splitlines()
            begun().write_text(text[0] + "\n" + json.dumps(json.loads(text[1]) | {"boot": "another"}))
    assert len(json.loads(begun().read_text().splitlines()[1])["struck"]) == 1
    assert json.loads(begun().read_text().splitlines()[1])["lost"] == {}


def test_a_kernel_that_terminates_its_group_fails_alone(tmp_path):
    process = subprocess.run([str(FAULTY), "run", "-k", "cpu/matmul/naive", "cpu/matmul/terminates_all", "-a", "n=8,16",
                              *QUICK, "-o", str(tmp_path)], start_new_session=True, capture_output=True, text=True,
                             timeout=PATIENCE)
    assert process.returncode == 1, process.stdout + process.stderr
    assert {key for key, has in measured(tmp_path).items() if not has} == {("terminates_all", 16)}


@pytest.mark.parametrize("text", ("", "began\n", "began\n[]", "began\n{}", "began\n{\"points\":3}",
                                  "began\n" + "[" * 100_000))
def test_what_is_no_list_of_begun_points_is_passed_over(tmp_path, text):
    journal = killed(tmp_path, *SLOW)
    (journal.parent / "begun.json").write_text(text)
    code, said, complaints = rung(*SLOW, "-o", tmp_path, "--resume")
    assert code == 0 and complaints == "", said + complaints


@pytest.mark.parametrize("kernel", ("limits", "limits_for_good", "sets_openmp"))
@pytest.mark.parametrize("group", ((), ("-a", "interleave=true")))
def test_settings_that_a_kernel_leaves_cost_no_point(tmp_path, kernel, group):
    code, said, complaints = with_faulty(kernel, tmp_path, *group)
    assert code == 0 and complaints == "", said + complaints
    assert all(measured(tmp_path).values()), said


def test_a_kernel_that_lets_no_file_grow_fails_alone(tmp_path):
    code, said, complaints = with_faulty("limits_files", tmp_path)
    assert code in (0, 1), said + complaints
    assert all(has for (kernel, n), has in measured(tmp_path).items() if kernel == "naive" or n == 8), said


def test_a_kernel_that_returns_in_two_processes_fails_once_and_is_measured_in_one(tmp_path):
    code, said, complaints = with_faulty("returns_twice", tmp_path)
    assert code == 1 and said.count("left a process running") == 1, said + complaints
    assert all(said.count(f"returns_twice/n:{n}") == 1 for n in (8, 16, 24)), said
    assert sum(measured(tmp_path).values()) == 5, said


def test_a_reader_that_leaves_ends_no_study_with_a_faulty_kernel(tmp_path):
    command = f"'{FAULTY}' run -k cpu/matmul/naive cpu/matmul/aborts -a n=8,16,24 {' '.join(QUICK)} -o '{tmp_path}'"
    subprocess.run(f"{command} | head -n 1", shell=True, capture_output=True, timeout=PATIENCE)
    wait_for(lambda: list(tmp_path.glob("*/adhoc.json")))
    assert sum(measured(tmp_path).values()) == 4


def test_the_process_that_still_holds_a_journal_is_named(tmp_path):
    process = start("run", "-k", "cpu/matmul/helper", "-a", "n=16,700,701", "-o", tmp_path, program=FAULTY)
    wait_for(lambda: journal_in(tmp_path) and journal_in(tmp_path).read_bytes().count(b"\n") > 1)
    helpers = [int(p.name) for p in Path("/proc").iterdir() if p.name.isdigit() and (p / "comm").exists()
               and (p / "comm").read_text() == "helper\n"]
    children = map(int, Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split())
    for one in (process.pid, *(child for child in children if child not in helpers)):
        os.kill(one, signal.SIGKILL)
    process.wait()
    try:
        code, said, complaints = rung("run", "-k", "cpu/matmul/helper", "-a", "n=16,700,701", "-o", tmp_path, "--resume",
                                      program=FAULTY)
        assert code == 4 and any(f"kill {helper}" in complaints for helper in helpers), complaints
    finally:
        for helper in helpers:
            os.kill(helper, signal.SIGKILL)
