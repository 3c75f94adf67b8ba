"""Measures for hours, and watches for growth of memory, descriptors, threads and temporary files; soak.sh starts it."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

EVERY = 5
"""Seconds between two looks."""
SETTLED, LAST = 0.25, 0.75
"""A process is compared with itself: the values from SETTLED to half of its life, and after LAST."""
FEWEST_LOOKS = 20
POINT_KIB = 64
"""Memory that one finished point may keep: its result is held until all are written at the end."""
SLACK_KIB = 4096
STUDIES = {
    # As users measure: one process measures, another one supervises it.
    "all experiments": ("run", "--full"),
    # Thousands of small points in one process, so that leaks per point add up.
    "one process": ("run", "--in-process", "-k", "cpu/sum/*", "cpu/vector_addition/*", "-a",
                    "n=" + ",".join(str(n) for n in range(1000, 3000)), "--benchmark_repetitions=3",
                    "--benchmark_min_time=0.05"),
}


@dataclass
class Look:
    """The resources of a process at one moment."""

    rss: int
    """KiB of memory of the started process; the memory of its children depends on the sizes of their points"""
    descriptors: int
    """of the process and its children, like `threads`"""
    threads: int
    temporary: int
    """files in the folder for temporary ones"""
    points: int


@dataclass
class Life:
    """One run of a study, as it was seen from outside."""

    code: int | None = None
    looks: list[Look] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic)
    last: float = 0
    """when it was seen last, in seconds of the same clock"""

    def can_be_judged(self) -> bool:
        return len(self.looks) >= FEWEST_LOOKS

    def part(self, low: float, high: float) -> list[Look]:
        count = len(self.looks)
        return self.looks[int(low * count):max(int(high * count), int(low * count) + 1)]


def family(parent: int) -> list[Path]:
    """A process and all that it started, in /proc."""
    here = Path("/proc") / str(parent)
    children = (here / "task" / str(parent) / "children").read_text().split()
    return [here, *(one for child in children for one in family(int(child)))]


def status(process: Path) -> dict[str, str]:
    return dict(line.split(":", 1) for line in (process / "status").read_text().splitlines() if ":" in line)


def look(process: subprocess.Popen, temporary: Path, results: Path) -> Look | None:
    """None if the process has ended, or one of its children ended meanwhile."""
    try:
        processes = family(process.pid)
        return Look(int(status(processes[0])["VmRSS"].split()[0]),
                    sum(len(os.listdir(one / "fd")) for one in processes),
                    sum(int(status(one)["Threads"]) for one in processes),
                    sum(len(files) for _, _, files in os.walk(temporary)),
                    sum(path.read_bytes().count(b"\n") for path in results.glob("*/journal.jsonl")))
    except (OSError, KeyError):
        return None


class Soaked:
    """A study that is started again whenever it ends."""

    def __init__(self, program: Path, arguments: tuple[str, ...], folder: Path):
        self.program, self.arguments, self.folder = program, arguments, folder
        self.lives: list[Life] = []
        self.start()

    def start(self) -> None:
        home = self.folder / str(len(self.lives))
        self.temporary, self.results = home / "tmp", home / "results"
        self.temporary.mkdir(parents=True)
        self.process = subprocess.Popen([str(self.program), *self.arguments, "-o", str(self.results)],
                                        env={**os.environ, "TMPDIR": str(self.temporary), "OMP_WAIT_POLICY": "passive"},
                                        stdout=subprocess.DEVNULL, stderr=(home / "errors").open("w"),
                                        start_new_session=True)
        self.lives.append(Life())

    def watch(self, again: bool) -> None:
        life = self.lives[-1]
        if (seen := look(self.process, self.temporary, self.results)) is not None:
            life.looks.append(seen)
            life.last = time.monotonic()
        if self.process.poll() is not None:
            life.code = self.process.returncode
            if again:
                self.start()

    def stop(self) -> None:
        """Terminates twice, since the current point may take minutes; not by SIGINT, which a shell's background jobs
        ignore."""
        if self.process.poll() is None:
            self.process.terminate()
            time.sleep(1)
            self.process.terminate()
            self.lives[-1].code = self.process.wait(timeout=600)

    def told(self, name: str) -> list[str]:
        """Prints the observations; returns the errors."""
        wrong = []
        for number, life in enumerate(self.lives, 1):
            if not life.can_be_judged():
                print(f"{name}, run {number}: too short to judge ({len(life.looks)} looks)")
            else:
                wrong += [f"{name}, run {number}: {what}" for what in judged(life, f"{name}, run {number}")]
            if life.code not in (0, 130):
                wrong.append(f"{name}, run {number}: ended with {life.code}")
            home = self.folder / str(number - 1)
            if left := [path.name for _, _, files in os.walk(home / "tmp") for path in map(Path, files)]:
                wrong.append(f"{name}, run {number}: left behind {left[:3]}")
        return wrong


def judged(life: Life, name: str) -> list[str]:
    early, late = life.part(SETTLED, 0.5), life.part(LAST, 1)

    def middle(part: list[Look], what: str) -> float:
        return statistics.median(getattr(seen, what) for seen in part)

    points = max(middle(late, "points") - middle(early, "points"), 0)
    grown = middle(late, "rss") - middle(early, "rss")
    print(f"{name}: {max(seen.points for seen in life.looks)} points, {(life.last - life.began) / 60:.0f} min; memory {middle(early, 'rss') / 1024:.1f} MiB "
          f"early, {middle(late, 'rss') / 1024:.1f} late, {points:.0f} points between; descriptors {middle(early, 'descriptors'):.0f} "
          f"and {middle(late, 'descriptors'):.0f}, threads {middle(early, 'threads'):.0f} and {middle(late, 'threads'):.0f}, "
          f"temporary files {middle(early, 'temporary'):.0f} and {middle(late, 'temporary'):.0f}")
    wrong = []
    if grown > SLACK_KIB + POINT_KIB * points:
        wrong.append(f"memory grew by {grown / 1024:.1f} MiB over {points:.0f} points")
    for what in ("descriptors", "threads", "temporary"):
        if middle(late, what) > middle(early, what) + 1:
            wrong.append(f"more {what} late than early")
    return wrong


def main(build: Path, seconds: float) -> int:
    program = build / "rung"
    if not program.exists():
        sys.exit(f"{program} is missing: bash experiments/run.sh builds it")
    deadline = time.monotonic() + seconds
    with tempfile.TemporaryDirectory(prefix="rung-soak-") as folder:
        studies = {name: Soaked(program, arguments, Path(folder) / name.replace(" ", "-"))
                   for name, arguments in STUDIES.items()}
        while time.monotonic() < deadline:
            time.sleep(EVERY)
            for study in studies.values():
                study.watch(again=deadline - time.monotonic() > EVERY)
        wrong = []
        for name, study in studies.items():
            study.stop()
            wrong += study.told(name)
    if not wrong and not any(life.can_be_judged() for study in studies.values() for life in study.lives):
        wrong = ["no study was seen for long enough to judge it"]
    print("nothing grew" if not wrong else f"wrong: {'; '.join(wrong)}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), float(sys.argv[2])))
