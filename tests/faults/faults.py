"""What a study loses when it is ended, stopped, starved or crashed; run.sh starts it."""

from __future__ import annotations

import json
import math
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

POINTS = 102
SIZES = ",".join(str(n) for n in range(4, 4 + POINTS))
RUN = ("run", "-k", "cpu/matmul/naive", "-a", f"n={SIZES}", "--benchmark_repetitions=3", "--benchmark_min_time=0.003")
FEW = ("run", "-k", "cpu/matmul/naive", "-a", "n=8,9", "--benchmark_repetitions=2", "--benchmark_min_time=0.0001")
KILLED = "SIGKILL at a random instant"
KILLED_ANY = "SIGKILL of any process, late and double resumes"
PATIENCE = 120
"""Seconds after which a process that should have ended hangs."""


class Study:
    """A study in a folder of its own, started as often as it takes."""

    def __init__(self, program: Path, folder: Path, arguments: tuple[str, ...] = RUN, **environment: str):
        self.command = [str(program), *arguments, "-o", str(folder)]
        self.folder = folder
        self.environment = {**os.environ, "OMP_WAIT_POLICY": "passive", **environment}

    def start(self, *more: str) -> subprocess.Popen:
        return subprocess.Popen([*self.command, *more], env=self.environment, stdout=subprocess.DEVNULL,
                                stderr=subprocess.PIPE, text=True, start_new_session=True)

    def finish(self, *more: str) -> tuple[int, str]:
        process = self.start(*more)
        text = process.communicate(timeout=PATIENCE)[1]
        return process.returncode, text

    def results(self) -> list[dict]:
        return [json.loads(path.read_text()) for path in sorted(self.folder.glob("*/adhoc.json"))]

    def acknowledged(self) -> set[str]:
        """The points with complete lines in the journals; after the end of a study, which removes them, the points of its results."""
        return {point["point"] for journal in self.folder.glob("*/journal.jsonl")
                for line in journal.read_text(errors="replace").splitlines(keepends=True)[1:] if line.endswith("\n")
                for point in json.loads(line.split(" ", 1)[1])["points"]} | {
                    name for result in self.results() for name in samples(result) if result["context"]["complete"]}

    def is_done(self) -> bool:
        """Whether a process has ended its study, even if it was killed before it could report that: then there is nothing
        to resume."""
        return not list(self.folder.glob("*/journal.jsonl")) and any(r["context"]["complete"] for r in self.results())


def samples(result: dict) -> Counter:
    """The number of samples by point; a point that occurs twice has twice as many."""
    return Counter(entry["name"] for entry in result["benchmarks"])


class Table:
    def __init__(self) -> None:
        self.wrong: list[str] = []
        print(f"{'fault':<48} {'tried':>6} {'lost':>5} {'doubled':>8} {'other':>6}", flush=True)

    def line(self, fault: str, tried: int, lost: int = 0, doubled: int = 0, other: list[str] | None = None) -> None:
        other = other or []
        print(f"{fault:<48} {tried:>6} {lost:>5} {doubled:>8} {len(other):>6}", flush=True)
        for text in other[:5]:
            print(f"    {text}", flush=True)
        if lost or doubled or other:
            self.wrong.append(fault)


@contextmanager
def folder() -> Iterator[Path]:
    path = Path(tempfile.mkdtemp(prefix="rung-faults-"))
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def ended(program: Path, undisturbed: Counter, seconds: float, strike: Callable[[subprocess.Popen], int]) -> tuple:
    """Studies that are struck again and again until `seconds` are over, each time resumed, then let finish. The number of
    strikes, of points lost, of points doubled, and what else was wrong."""
    strikes = lost = doubled = 0
    other: list[str] = []
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        with folder() as at:
            study, kept = Study(program, at), set()
            for start in range(random.randint(2, 12)):
                process = study.start(*(("--resume",) if start else ()))
                try:
                    process.wait(random.expovariate(1 / 0.6))
                except subprocess.TimeoutExpired:
                    strikes += strike(process)
                text = process.communicate(timeout=PATIENCE)[1]
                if process.returncode not in (0, 130, -signal.SIGKILL, -signal.SIGHUP, -signal.SIGINT, -signal.SIGTERM):
                    other.append(f"code {process.returncode}: {text.strip()}")
                if process.returncode == 0 or study.is_done():
                    break
                now = study.acknowledged()
                lost += len(kept - now)
                kept = now
            if not study.is_done():
                code, text = study.finish("--resume")
                if code != 0:
                    other.append(f"the last one: code {code}: {text.strip()}")
            complete = [r for r in study.results() if r["context"]["complete"]]
            if len(complete) != 1:
                other.append(f"{len(complete)} complete results")
                continue
            found = samples(complete[0])
            lost += sum((undisturbed - found).values())
            doubled += sum((found - undisturbed).values())
    return strikes, lost, doubled, other


def lines_of(journal: Path) -> list[dict]:
    """The records of whole lines."""
    text = journal.read_text(errors="replace") if journal.exists() else ""
    return [json.loads(line.split(" ", 1)[1]) for line in text.splitlines(keepends=True)[1:] if line.endswith("\n")]


class Seen:
    """The lines seen on the disk in each run's folder; they must not change any more."""

    def __init__(self, study: Study):
        self.study = study
        self.entries: dict[Path, dict[str, list]] = {}

    def look(self) -> None:
        for run in self.study.folder.iterdir():
            points = self.entries.setdefault(run, {})
            for record in lines_of(run / "journal.jsonl"):
                for point in record["points"]:
                    points.setdefault(point["point"], point["entries"])

    def lost(self, run: Path, result: dict) -> int:
        """The number of seen samples that are missing in the run's result or differ there."""
        there: dict[str, list] = {}
        for entry in result["benchmarks"]:
            there.setdefault(entry["name"], []).append(entry)
        return sum(len(entries) for name, entries in self.entries.get(run, {}).items() if there.get(name) != entries)


def strike_any(process: subprocess.Popen) -> int:
    """SIGKILL to the process that was started, to the one that measures for it, or to both."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    measuring = [int(pid) for pid in children.read_text().split()] if process.poll() is None else []
    victims = random.choice((measuring, [process.pid], [*measuring, process.pid]))
    for pid in victims:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return 1 if victims else 0


def resume_at_the_end(study: Study, alive: list[subprocess.Popen]) -> list[subprocess.Popen]:
    """One or two processes that begin with --resume when a run has hardly a point left, or writes its results."""
    left = random.choice((0, 0, 1, 2, 4))
    while any(process.poll() is None for process in alive):
        counts = [sum(len(record["points"]) for record in lines_of(j)) for j in study.folder.glob("*/journal.jsonl")]
        if counts and max(counts) >= POINTS - left:
            return [study.start("--resume") for _ in range(random.choice((1, 2)))]
        time.sleep(0.02)
    return []


def killed(program: Path, undisturbed: Counter, seconds: float, most: float) -> tuple:
    """Studies whose processes are killed again and again. They are resumed by one process or by two at once, also while the
    previous one still measures; at the end, unfinished runs are finished. Returns the number of kills, of samples lost, of
    samples doubled, and other errors. Points that were killed twice while they were measured fail."""
    strikes = lost = doubled = 0
    more: Counter = Counter()
    other: list[str] = []
    deadline = time.monotonic() + seconds

    def judge(process: subprocess.Popen) -> None:
        text = process.communicate(timeout=PATIENCE)[1].strip()
        more["resumes that another run kept out"] += "another run is measuring" in text
        fine = (process.returncode in (0, -signal.SIGKILL) or (process.returncode == 4 and "another run is measuring" in text)
                or (process.returncode == 1 and ("points failed" in text or "--resume" in text)))
        if not fine:
            other.append(f"code {process.returncode}: {text}")

    while time.monotonic() < deadline and strikes < most:
        with folder() as at:
            study = Study(program, at)
            seen, alive = Seen(study), [study.start()]
            for _ in range(random.randint(2, 12)):
                time.sleep(random.expovariate(1 / 0.6))
                strikes += strike_any(random.choice(alive))
                seen.look()
                if random.random() < 0.7:
                    count = random.choice((1, 1, 2))
                    more["starts with --resume"] += count
                    more["of them two at once"] += 2 * (count == 2)
                    more["of them while a run measured"] += count * any(p.poll() is None for p in alive)
                    alive += [study.start("--resume") for _ in range(count)]
                for process in [p for p in alive if p.poll() is not None]:
                    judge(process)
                alive = [p for p in alive if p.poll() is None] or [study.start("--resume")]
            if random.random() < 0.5:
                late = resume_at_the_end(study, alive)
                more["starts with --resume in a run's last second"] += len(late)
                alive += late
            for process in alive:
                judge(process)
            seen.look()
            while unfinished := list(at.glob("*/journal.jsonl")):
                code, text = study.finish("--resume")
                if list(at.glob("*/journal.jsonl")) == unfinished:
                    other.append(f"cannot be finished: code {code}: {text.strip()}")
                    break
            other += [f"left behind: {part.name}" for part in at.glob("*/*.part")]
            for run in at.iterdir():
                result = json.loads((run / "adhoc.json").read_text()) if (run / "adhoc.json").exists() else None
                if not result or not result["context"]["complete"]:
                    other.append(f"{run.name} has no complete result")
                    continue
                more["runs that were finished"] += 1
                failed = {e["name"] for e in result["benchmarks"] if "was killed" in e.get("error_message", "")}
                more["points that failed, killed twice"] += len(failed)
                whole = Counter({name: n for name, n in undisturbed.items() if name not in failed})
                found = Counter({name: n for name, n in samples(result).items() if name not in failed})
                more["points measured once more"] += len({e["name"] for e in result["benchmarks"] if "process_lost" in e})
                lost += sum((whole - found).values()) + seen.lost(run, result)
                doubled += sum((found - whole).values())
    for what, count in more.items():
        print(f"    {what}: {count}", flush=True)
    return strikes, lost, doubled, other


def send(which: int) -> Callable[[subprocess.Popen], int]:
    def strike(process: subprocess.Popen) -> int:
        process.send_signal(which)
        return 1
    return strike


def send_all(which: int) -> Callable[[subprocess.Popen], int]:
    """Sends a signal to every process of the run, as a terminal does."""
    def strike(process: subprocess.Popen) -> int:
        os.killpg(process.pid, which)
        return 1
    return strike


def suspend(process: subprocess.Popen) -> int:
    """As by Ctrl-Z and fg; then the process may finish."""
    for _ in range(3):
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGSTOP)
            time.sleep(random.random() * 0.3)
            os.killpg(process.pid, signal.SIGCONT)
            time.sleep(0.05)
    return 1


def two_at_once(program: Path, undisturbed: Counter, seconds: float) -> tuple:
    pairs, other, lost, doubled = 0, [], 0, 0
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        with folder() as at:
            study = Study(program, at)
            for process in [study.start(), study.start()]:
                text = process.communicate(timeout=PATIENCE)[1]
                if process.returncode:
                    other.append(f"code {process.returncode}: {text.strip()}")
            found = [samples(r) for r in study.results()]
            if len(found) != 2:
                other.append(f"{len(found)} results of 2")
            for one in found:
                lost += sum((undisturbed - one).values())
                doubled += sum((one - undisturbed).values())
            pairs += 1
    return pairs, lost, doubled, other


def clock_back(program: Path, shim: Path, undisturbed: Counter) -> tuple:
    """A run is killed, the clock is set back by a day, the run is resumed; and a run whose clock goes back meanwhile."""
    lost, doubled, other = 0, 0, []
    with folder() as at:
        first = Study(program, at, LD_PRELOAD=str(shim)).start()
        time.sleep(1)
        first.kill()
        first.wait()
        back = Study(program, at, LD_PRELOAD=str(shim), RUNG_CLOCK_BACK="86400")
        for more in (("--resume",), ()):
            code, text = back.finish(*more)
            if code:
                other.append(f"code {code}: {text.strip()}")
        found = [samples(r) for r in back.results()]
        if len(found) != 2:
            other.append(f"{len(found)} results of 2")
        for one in found:
            lost += sum((undisturbed - one).values())
            doubled += sum((one - undisturbed).values())
    return 2, lost, doubled, other


def failing(program: Path, shim: Path, call: str, codes: tuple[int, ...], seconds: float) -> tuple:
    """The n-th call fails, for every n until there is no such call; for the many allocations, n is random."""
    tried, lost, other = 0, 0, []
    deadline = time.monotonic() + seconds
    n, beyond = 0, 1 << 20 if call == "alloc" else None
    while time.monotonic() < deadline:
        n = random.randint(1, beyond) if beyond else n + 1
        with folder() as at:
            mark = at / "failed"
            study = Study(program, at / "out", FEW, LD_PRELOAD=str(shim), RUNG_FAIL=f"{call}:{n}", RUNG_FAILED=str(mark))
            code, text = study.finish()
            if not mark.exists():
                if beyond:
                    beyond = n
                    continue
                return tried, lost, 0, other
            tried += 1
            if code not in codes or (code and len(text.splitlines()) != 1):
                other.append(f"{call} {n}: code {code}: {text.strip()[:200]}")
            study.environment.pop("RUNG_FAIL")
            if code:
                study.finish("--resume")
            whole = [r for r in study.results() if r["context"]["complete"]]
            good = any(sum("gflops" in e or "error_message" in e for e in r["benchmarks"]) >= 2 for r in whole)
            lost += 0 if good else 1
    if not beyond:
        other.append(f"not every n was tried: {n} in {seconds:.0f} s")
    return tried, lost, 0, other


def full_disk(program: Path, undisturbed: Counter) -> tuple | None:
    """A file system of half a megabyte; None where this user may not mount one. Then room is made and it is resumed."""
    with folder() as at:
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=512k", "none", str(at)], capture_output=True, check=False).returncode:
            return None
        try:
            other, lost = [], 0
            tried = 0
            for filled in range(0, 512, 64):
                (at / "filler").write_bytes(bytes(filled << 10))
                study = Study(program, at / f"{filled}")
                code, text = study.finish()
                if code == 4:
                    tried += 1
                    if len(text.splitlines()) != 1 or "No space" not in text:
                        other.append(f"{text.strip()[:200]}")
                    kept = study.acknowledged()
                    (at / "filler").unlink()
                    code, text = study.finish("--resume")
                    if code == 0:
                        lost += len(kept - set(samples(study.results()[-1])))
                    elif code != 4:
                        other.append(f"code {code}: {text.strip()[:200]}")
                elif code:
                    other.append(f"code {code}: {text.strip()[:200]}")
                shutil.rmtree(at / f"{filled}", ignore_errors=True)
            return tried, lost, 0, other
        finally:
            subprocess.run(["umount", str(at)], check=False)


def removed_meanwhile(program: Path) -> tuple:
    with folder() as at:
        process = Study(program, at / "out").start()
        time.sleep(1)
        shutil.rmtree(at / "out", ignore_errors=True)
        text = process.communicate(timeout=PATIENCE)[1]
        fine = process.returncode in (0, 4) and len(text.splitlines()) <= 1
        return 1, 0, 0, [] if fine else [f"code {process.returncode}: {text.strip()[:200]}"]


def has_gpu(program: Path) -> bool:
    with folder() as at:
        run = Study(program, at, ("run", "-k", "gpu/matmul/naive", "-a", "n=8", "--require-gpu", "--benchmark_dry_run"))
        return run.finish()[0] == 0


def kernels(program: Path, side: str, faults: tuple) -> tuple:
    """Kernels with one of the faults each, together with sound ones, whose points must be measured."""
    other, lost = [], 0
    for fault in faults:
        with folder() as at:
            study = Study(program, at, ("run", "-k", f"{side}/matmul/naive", f"{side}/matmul/{fault}", "-a", "n=8,16,24",
                                        "--point-limit", "3", "--benchmark_repetitions=2", "--benchmark_min_time=0.0001"))
            code, text = study.finish()
            entries = study.results()[0]["benchmarks"] if study.results() else []
            rated = {e["name"] for e in entries if "gflops" in e}
            failed = {e["name"] for e in entries if "error_message" in e}
            lost += 4 - len(rated)
            if code != 1 or len(failed) != 2:
                other.append(f"{fault}: code {code}: {text.strip()[:200]}")
    return len(faults), lost, 0, other


def main(build: Path, seconds: float, kills: int | None) -> int:
    program, faulty, shim = build / "rung", build / "tests" / "rung_with_faults", build / "tests" / "libfailing_calls.so"
    for needed in (program,) if kills else (program, faulty, shim):
        if not needed.exists():
            sys.exit(f"{needed} is missing: build with -DRUNG_TESTS=ON")
    random.seed(int(os.environ.get("SEED", "1")))
    with folder() as at:
        study = Study(program, at)
        began = time.monotonic()
        if (ran := study.finish())[0]:
            sys.exit(f"an undisturbed run failed: {ran[1]}")
        undisturbed = samples(study.results()[0])
        print(f"a run of {len(undisturbed)} points takes {time.monotonic() - began:.1f} s here", flush=True)
    table = Table()
    if kills:
        table.line(KILLED_ANY, *killed(program, undisturbed, seconds, kills))
    else:
        all_faults(table, program, faulty, shim, undisturbed, seconds / 100)
    print("nothing lost" if not table.wrong else f"wrong: {', '.join(table.wrong)}")
    return 1 if table.wrong else 0


def all_faults(table: Table, program: Path, faulty: Path, shim: Path, undisturbed: Counter, share: float) -> None:
    """One after the other; tests that last for a given time get a multiple of `share` seconds."""
    table.line(KILLED, *ended(program, undisturbed, 20 * share, send(signal.SIGKILL)))
    table.line(KILLED_ANY, *killed(program, undisturbed, 20 * share, math.inf))
    for name in ("SIGTERM", "SIGINT", "SIGHUP"):
        table.line(name, *ended(program, undisturbed, 6 * share, send(signal.Signals[name])))
    table.line("SIGINT to all its processes (Ctrl-C)", *ended(program, undisturbed, 6 * share, send_all(signal.SIGINT)))
    table.line("suspended and continued", *ended(program, undisturbed, 6 * share, suspend))
    table.line("two runs at once in one folder", *two_at_once(program, undisturbed, 6 * share))
    table.line("the clock set back by a day", *clock_back(program, shim, undisturbed))
    for call in ("write", "fsync", "rename", "open"):
        table.line(f"the n-th {call} fails, every n", *failing(program, shim, call, (0, 4), 60))
    table.line("the n-th allocation fails, n at random", *failing(program, shim, "alloc", (0, 1, 2, 4), 12 * share))
    full = full_disk(program, undisturbed)
    print("disk full: not tried, this user may not mount a small one") if full is None else table.line("disk full", *full)
    table.line("the results' folder is removed meanwhile", *removed_meanwhile(program))
    on_cpu = ("hangs", "aborts", "reads_null", "exits", "exits_130", "exits_75", "daemon", "closes", "corrupts")
    table.line("kernels that hang, crash, exit, corrupt, close files", *kernels(faulty, "cpu", on_cpu))
    if has_gpu(faulty):
        on_gpu = ("hangs", "traps", "strays")
        table.line("kernels that hang, trap, write outside every array on the GPU", *kernels(faulty, "gpu", on_gpu))
    else:
        print("kernels that hang, trap, write outside every array on the GPU: not tried, there is none")


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3]) if sys.argv[3] else None))
