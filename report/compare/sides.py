"""The sides of a comparison: the runs of each, joined where they are of one build and one machine, and what differs."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from report.compare import foreign
from report.data.collect import find
from report.data.companions import TwinsFile
from report.data.reading import Foreign, InputError, files_in, plain_name
from report.data.records import SIDES, Run
from report.sections.provenance import LIBRARY

MORE = "more"
"""The folder of further samples next to a result (`rung run --more`)."""
BUILD = ("git_commit", "git_dirty", "rung_version", "cxx_compiler", "cxx_flags", "cuda_compiler", "cuda_flags")
MACHINE = ("cpu_name", "cpu_cores", "gpu_name", "gpu_uuid")
"""Runs that agree in all of these are joined."""
NAMES = {"git_commit": "commit", "git_dirty": "uncommitted changes", "rung_version": "version", "harness": "harness", "cxx_compiler": "C++ compiler",
        "cxx_flags": "C++ flags", "cuda_compiler": "CUDA compiler", "cuda_flags": "CUDA flags",
        "cpu_name": "CPU", "cpu_cores": "cores", "cpu_threads": "threads",
        "cpu_governor": "governor", "gpu_name": "GPU", "gpu_uuid": "board", "gpu_driver": "driver", "gpu_cuda_runtime": "CUDA runtime",
        "gpu_power_limit_w": "power limit (W)", "blas_name": "BLAS", "blas_version": "BLAS version", "blas_core": "BLAS code",
        "omp_num_threads": "OMP_NUM_THREADS", "omp_places": "OMP_PLACES", "omp_proc_bind": "OMP_PROC_BIND", "huge_pages": "huge pages", "smt": "SMT",
        "host_name": "host", "study": "study", "seed": "seed", "program": "program", "environment": "environment"}
"""Keys of a result's context that the header compares, with their names."""
LETTERS = 60
"""Of a value in the header."""
SHORT_COMMIT = 10


@dataclass(frozen=True)
class Side:
    """One of the results that are compared."""

    letter: str
    path: Path
    runs: tuple[Run, ...]
    left_out: tuple[str, ...] = ()
    """The files that are not joined, each with the reason."""
    twins: tuple[TwinsFile, ...] = ()

    @property
    def experiments(self) -> frozenset[str]:
        return frozenset(run.experiment for run in self.runs)

    @property
    def newest(self) -> Run:
        return max(self.runs, key=lambda run: (run.date, str(run.path)))

    @property
    def machines(self) -> str:
        """'AMD EPYC, 2 cores' or 'Intel Xeon, 16 cores; NVIDIA H200 (board eb38)'."""
        names = dict.fromkeys(run.machine(side).label for side in SIDES for run in self.runs
                              if side == "cpu" and run.context.get("cpu_name") or run.machine(side).name)
        return "; ".join(names)

    @property
    def what(self) -> str:
        """One line on it: commit, machines, day, number of runs."""
        commits = dict.fromkeys(str(run.context.get("git_commit") or "")[:SHORT_COMMIT] + ("+" if run.context.get("git_dirty") else "")
                                for run in self.runs)
        days = sorted({run.day for run in self.runs if run.day != foreign.NO_DATE})
        parts = [f"commit {' '.join(filter(None, commits))}" if any(commits) else "", self.machines,
                 days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}" if days else "", f"{len(self.runs)} run{'s' * (len(self.runs) != 1)}"]
        return ", ".join(filter(None, parts))


def load(letter: str, path: Path) -> Side:
    """The runs of a file, with further samples of it, or of all files in a folder. InputError where there is none."""
    found = find([path])
    runs, faults = list(found.runs), [f for f in found.faults if not isinstance(f, Foreign)]
    others = [Path(source.path) for source in found.sources if source.kind == "other"]
    for other in others:
        try:
            runs.append(foreign.load(other))
        except Foreign as error:
            faults += [] if path.is_dir() else [error]
        except InputError as error:
            faults.append(error)
    if not path.is_dir():
        runs += [more for run in runs for more in _more(run)]
    if not runs:
        raise (faults or [InputError(path, "search", "no results in it")])[0]
    kept, left_out = _joined(runs)
    return Side(letter, path, tuple(kept), (*left_out, *map(str, faults)), tuple(found.twins))


def _more(run: Run) -> list[Run]:
    """The runs next to a result that took further samples of its points."""
    folder = run.path.parent / MORE
    if not run.context.get("checksum") or not folder.is_dir():
        return []
    return [more for more in find(file for file in files_in(folder) if os.path.realpath(file) != os.path.realpath(run.path)).runs
            if more.context.get("more_of") == run.context["checksum"]]


def build(run: Run) -> tuple:
    """Equal for runs of one build on one machine."""
    return tuple(str(run.context.get(key)) for key in (*BUILD, *MACHINE, "harness"))


def _joined(runs: Sequence[Run]) -> tuple[list[Run], list[str]]:
    """For each experiment the newest run, complete ones first, and all of its build and machine; the reasons why others are
    left out."""
    groups, kept, left_out = defaultdict[str, list[Run]](list), [], []
    for run in runs:
        groups[run.experiment].append(run)
    for mine in groups.values():
        newest = max(mine, key=lambda run: (run.complete, run.date, str(run.path)))
        for run in sorted(mine, key=lambda run: (run.date, str(run.path))):
            if build(run) == build(newest) and _program(run, newest):
                kept.append(run)
            else:
                left_out.append(f"{run.path.name} of {run.day} is of another build or machine than {newest.path.name} of {newest.day}")
    return kept, left_out


def _program(run: Run, newest: Run) -> bool:
    """Whether their code is the same: without a commit, or with uncommitted changes, only the program's checksum shows that."""
    is_known = bool(run.context.get("git_commit")) and not run.context.get("git_dirty")
    return is_known or run.context.get("program") == newest.context.get("program")


@dataclass(frozen=True)
class Difference:
    """A key of the context that has different values on two sides."""

    what: str
    first: str
    second: str


def differences(first: Side, second: Side) -> list[Difference]:
    """What differs between the two, by the header's names; where experiments differ in it, all of their values."""
    made = []
    libraries = {key: of.group(1) for side in (first, second) for run in side.runs for key in run.context if (of := LIBRARY.fullmatch(key))}
    for key, name in (NAMES | libraries).items():
        one, other = (_values(side.runs, key, first.experiments & second.experiments) for side in (first, second))
        if key == "environment":
            made += _of_environment(first.newest, second.newest)
        elif one != other and key != "program":
            made.append(Difference(name, one, other))
    return made


def _values(runs: Iterable[Run], key: str, experiments: frozenset[str]) -> str:
    of = [run for run in runs if run.experiment in experiments] or list(runs)
    return ", ".join(sorted({_shown(key, run.context.get(key)) for run in of}))


def _shown(key: str, value: object) -> str:
    text = "–" if value in (None, "") else str(value)
    return text[:SHORT_COMMIT] if key == "git_commit" else text if len(text) <= LETTERS else f"{text[:LETTERS]}…"


def _of_environment(first: Run, second: Run) -> list[Difference]:
    one, other = (v if isinstance(v := run.context.get("environment"), dict) else {} for run in (first, second))
    return [Difference(name, _shown(name, one.get(name)), _shown(name, other.get(name)))
            for name in sorted({*one, *other}) if one.get(name) != other.get(name)]


def is_same_program(first: Side, second: Side) -> bool:
    """Whether equal checksums of the program show that both sides ran the same code."""
    programs = [{run.context.get("program") for run in side.runs} for side in (first, second)]
    return len(programs[0]) == 1 and programs[0] == programs[1] and None not in programs[0]


def is_same_file(first: Side, second: Side) -> bool:
    return {os.path.realpath(run.path) for run in first.runs} == {os.path.realpath(run.path) for run in second.runs}


def labels(sides: Sequence[Side]) -> list[str]:
    """'A  folder/file: commit …'."""
    return [f"{side.letter}  {shown(side.path)}: {side.what}" for side in sides]


def shown(path: Path) -> str:
    text = str(path)
    return text if len(text) <= LETTERS else f"…/{path.parent.name}/{plain_name(path)}"
