"""Renders mutated results folders, each in a process of its own, and checks its behaviour; report.sh starts it."""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import errno
import io
import json
import os
import resource
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from multiprocessing import Process, Queue
from pathlib import Path
from random import Random
from unittest.mock import patch

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "report"), str(ROOT / "tests" / "fuzz")]

import mutations  # noqa: E402
import synthetic  # noqa: E402

from report import cli, counters, document, output  # noqa: E402
from report.claims import command, entries  # noqa: E402
from report.data.reading import files_in, plain_name, read_json  # noqa: E402
from report.draw import formats  # noqa: E402
from report.plain import plain_lines  # noqa: E402
from report.text import blocks  # noqa: E402

RECORDED = ROOT / "experiments" / "recorded"
POINTS, SAMPLES = 8, 2
"""The numbers of points taken from a recorded experiment and of samples per point."""
WHOLE_EVERY = 25
"""One of this many mutants is rendered completely, with figures as files and a typeset document. The others draw and
compose everything in one process, but write no figures."""
CPU_SECONDS, SECONDS = 30, 20
"""Limits of one mutant: processor time, and waiting for anything else than a processor."""
MEMORY = 4 << 30
LONGEST_LINE = 1000
CODES = (0, 2, 4)
SUBREAPER = 36
"""prctl()'s PR_SET_CHILD_SUBREAPER: the new parent of a mutant's processes when it has ended."""
FAULTS_KEPT = 200
SPACES = "\u00a0\u2009\u202f"
"""Printed within numbers."""
STUDY = "a study"


@dataclass(frozen=True)
class Base:
    """Files to mutate, and the function that reads them: gets the folder, returns the exit code."""

    name: str
    files: dict[str, bytes]
    read: Callable[[Path], int]
    codes: tuple[int, ...] = CODES
    speaks: bool = True
    """Whether every line of its output begins with "report: "."""


def render(folder: Path) -> int:
    return cli.main([str(folder / "in"), "--output", str(folder / "out")])


def read_counters(folder: Path) -> int:
    (folder / "out").mkdir()
    if (folder / "in" / "counters.json").is_file():  # a device may never end
        shutil.copyfile(folder / "in" / "counters.json", folder / "out" / "counters.json")
    return counters.main([str(folder / "in" / "points"), str(folder / "in" / "ncu.csv"), str(folder / "out" / "counters.json")])


def read_claims(folder: Path) -> int:
    entries.FILE = command.entries.FILE = folder / "in" / "claims.toml"
    entries.load.__defaults__ = (entries.FILE,)
    return command.main(["--results", str(folder / "in")])


def dumped(data: object) -> bytes:
    return json.dumps(data).encode()


def fewer(data: dict) -> dict:
    """A recorded experiment with some of its points, evenly chosen, and their kernels."""
    names = list(dict.fromkeys(e.get("run_name") or e["name"] for e in data["benchmarks"]))
    chosen = {name: 0 for name in names[::max(1, len(names) // POINTS)][:POINTS]}
    kept = []
    for entry in data["benchmarks"]:
        name = entry.get("run_name") or entry["name"]
        if chosen.get(name, SAMPLES) < SAMPLES:
            chosen[name] += 1
            kept.append(entry)
    used = {entry["kernel"] for entry in kept}
    context = {k: v for k, v in data["context"].items() if k != "checksum"}
    context["kernels"] = {k: v for k, v in context["kernels"].items() if k in used}
    return {"context": context, "benchmarks": kept}


def few(table: object) -> object:
    return dict(list(table.items())[:POINTS]) if isinstance(table, dict) else table


def companions() -> dict[str, bytes]:
    """The sidecar files of results, shortened."""
    made = {}
    for path in [*files_in(RECORDED / "nvidia-h200"), *sorted(RECORDED.glob("*.json"))]:
        data = read_json(path)
        if "benchmarks" not in data:
            made[f"{plain_name(path)}.json"] = dumped({k: few(v) if k in ("points", "kernels", "snippets", "wrong_results") else v
                                      for k, v in data.items()})
    return made


def recorded() -> list[Base]:
    """Each recorded experiment by itself, with the hardware counters."""
    made = []
    for path in (p for p in files_in(RECORDED) if p.parent != RECORDED):
        data = read_json(path)
        if "benchmarks" in data:
            made.append(Base(f"{path.parent.name}/{plain_name(path)}", {f"{plain_name(path)}.json": dumped(fewer(data))}, render))
    return made


def synthetic_bases() -> list[Base]:
    run = synthetic.Run("small")
    run.rate("cpu/matmul/naive", 50)
    small = {"small.json": dumped(run.data())}
    beside = companions()
    made = [Base("small", small, render), Base("small with companions", small | beside, render)]
    made += [Base(f"small with {name}", small | {name: text}, render) for name, text in beside.items()]
    for side in ("gpu", "cpu"):
        made.append(Base(f"ladder of a {side}", {"ladder.json": dumped(synthetic.ladder(side, sizes=(512,)).data())}, render))
    both = {f"{side}.json": dumped(synthetic.ladder(side, sizes=(512,)).data()) for side in ("gpu", "cpu")}
    return [*made, Base(STUDY, both | small, render)]


def fixtures() -> list[Base]:
    return [Base(path.stem, {path.name: path.read_bytes()}, render)
            for path in sorted((ROOT / "tests" / "report" / "fixtures").glob("*.json"))]


def made_here(program: Path) -> list[Base]:
    """A result written by the program, with its checksum; empty without a program."""
    if not os.access(program, os.X_OK):
        return []
    with tempfile.TemporaryDirectory(prefix="rung-fuzz-") as folder:
        for i, words in enumerate((("-k", "cpu/matmul/naive", "-a", "n=8,9"), ("-k", "gpu/matmul/tiled", "-a", "n=32", "-a", "mode=count"))):
            subprocess.run([program, "run", *words, "--benchmark_repetitions=2", "--benchmark_min_time=0.0001",
                            "-o", f"{folder}/{i}"], check=True, capture_output=True)
        files = {f"{path.parts[-3]}-{path.name}": path.read_bytes() for path in sorted(Path(folder).rglob("*.json"))}
    return [Base("made here", files, render)]


def counter_bases() -> list[Base]:
    """The names of two points, and ncu's output for their kernels."""
    columns = ["ID", "Kernel Name", "device__attribute_display_name", *counters.SUMS.values(), counters.ACHIEVED]
    rows = [columns, *([str(i), name, "GPU X", *["1,024"] * (len(columns) - 3)] for i, name in enumerate(
        (counters.MARKER, "matmul_tiled(float*)", "copy()", counters.MARKER, "matmul_naive(float*)")))]
    text = "==PROF== Connected\n" + "".join(",".join(f'"{cell}"' for cell in row) + "\n" for row in rows)
    files = {"points": b"gpu/matmul/tiled/n:8\ngpu/matmul/naive/n:8\nFAILED gpu/x: no memory\n", "ncu.csv": text.encode(),
             "counters.json": dumped({"machine": "GPU X", "points": {"gpu/x": {"ffma": 1}}})}
    return [Base("ncu", files, read_counters, (0, 2), speaks=False)]


def claim_bases() -> list[Base]:
    """A few claims of each document, with a run that decides some of them."""
    texts = entries.FILE.read_text(encoding="utf-8").split("\n\n[")
    chosen = "\n\n[".join([texts[0], *texts[1::max(1, len(texts) // 6)]])
    run = {"ladder.json": dumped(synthetic.ladder("gpu", sizes=(512,)).data())}
    return [Base("claims", run | {"claims.toml": chosen.encode()}, read_claims, (0, 2), speaks=False)]


def corpus(program: Path) -> list[Base]:
    """Bases in the order of their use; small ones occur more often."""
    own = [*fixtures(), *synthetic_bases(), *made_here(program)]
    return [*own, *own, *recorded(), *3 * counter_bases(), *3 * claim_bases()]


@contextlib.contextmanager
def drawn_only() -> Iterator[None]:
    """Composes and draws everything, but writes no figures as files and does not typeset the document."""
    with (patch.object(output, "MOST_WORKERS", 1), patch.object(formats.Formats, "save_png", lambda *_: None),
          patch.object(formats.Formats, "save", lambda self, fig, name: fig.draw_without_rendering()),
          patch.object(document, "typeset", lambda names, folder: [folder / "report.pdf"])):
        yield


def warm_up(bases: list[Base], folder: Path) -> None:
    """Renders one unmodified folder, to load all modules: mutants inherit them as forks."""
    base = next(base for base in bases if base.name == STUDY)
    (folder / "in").mkdir()
    for name, text in base.files.items():
        (folder / "in" / name).write_bytes(text)
    with drawn_only(), contextlib.redirect_stdout(io.StringIO()):
        base.read(folder)
    shutil.rmtree(folder)


@dataclass
class Ended:
    """How a mutant's process ended, with its output."""

    code: int
    text: str
    faults: list[str] = field(default_factory=list)


def child(base: Base, folder: Path, is_whole: bool, said: int) -> None:
    """Runs in a process of its own; never returns."""
    code = 1
    try:
        os.setpgid(0, 0)
        sys.stdout, sys.stderr = (os.fdopen(os.dup2(said, number), "w", encoding="utf-8", errors=errors)
                                  for number, errors in ((1, "strict"), (2, "backslashreplace")))
        os.chdir(folder / "cwd")
        os.environ["TMPDIR"] = tempfile.tempdir = str(folder / "tmp")
        resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
        with contextlib.nullcontext() if is_whole else drawn_only():
            code = base.read(folder)
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except BaseException:  # as the interpreter does
        traceback.print_exc()
    finally:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def run(base: Base, folder: Path, is_whole: bool) -> Ended:
    said = os.memfd_create("said")
    pid = os.fork()
    if pid == 0:
        child(base, folder, is_whole, said)
    watch = os.pidfd_open(pid)
    faults, waited = [], 0
    while not select.select([watch], [], [], 1)[0] and waited < SECONDS:
        waited += not is_running(pid)
    if waited == SECONDS:
        faults.append(f"hangs: waits for {SECONDS} s")
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    os.close(watch)
    if is_left(pid):
        faults.append("a process is left behind")
    text = os.pread(said, 1 << 20, 0).decode("utf-8", "surrogateescape")
    os.close(said)
    return Ended(code, text, faults)


def is_running(group: int) -> bool:
    """Whether a process of the group computes or would if it had a processor."""
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, _, its_group = path.read_text(errors="replace").rsplit(")", 1)[1].split()[:3]
            if its_group == str(group) and state == "R":
                return True
    return False


def is_left(group: int) -> bool:
    """Whether a process of the group still exists after a second; then it is killed."""
    deadline = time.monotonic() + 1
    while True:
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-group, os.WNOHANG)[0]:
                pass
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return False
        if time.monotonic() > deadline:
            os.killpg(group, signal.SIGKILL)
            return True
        time.sleep(0.01)


def tree(folder: Path) -> dict[str, tuple]:
    """All files in a folder, except in its `out`, with attributes that change when a file is written."""
    found = {}
    for at, folders, files in os.walk(folder):
        if Path(at) == folder:
            folders[:] = [f for f in folders if f != "out"]
        for name in (*folders, *files):
            state = os.lstat(os.path.join(at, name))
            found[os.path.join(at, name)] = state.st_mode, state.st_ino, 0 if name in folders else (state.st_size, state.st_mtime_ns)
    return found


def is_safe(name: str) -> bool:
    """Whether the report gives such a name; names are shortened before the ending."""
    return name in (output.safe_name(name), output.safe_name(Path(name).stem) + Path(name).suffix)


def in_output(out: Path) -> list[str]:
    """Errors in the output: links, unexpected names, partial files, texts that are not shown literally."""
    wrong = []
    for path in (p for p in out.rglob("*") if p.suffix in (".csv", ".svg", ".json", ".part") and p.is_file()):
        text = path.read_text(encoding="utf-8", errors="replace").replace(blocks.ZERO_WIDTH_SPACE, "")
        wrong += [f"in its output: part of a file, {path.name!r}"] if path.suffix == ".part" else []
        wrong += [f"in its output: harmful letters in {path.name!r}"] if plain_lines(text) != text else []
    for at, folders, files in os.walk(out):
        wrong += [f"in its output: {name!r}" for name in (*folders, *files)
                  if os.path.islink(os.path.join(at, name)) or not is_safe(name.lstrip("."))]
    return wrong


def judge(base: Base, ended: Ended, before: dict, folder: Path) -> list[str]:
    """The errors of a mutant's end."""
    wrong = list(ended.faults)
    if "Traceback (most recent call last)" in ended.text:
        wrong.append("traceback: " + ended.text.strip().splitlines()[-1])
    elif ended.code not in base.codes:
        wrong.append(f"code {ended.code}: {ended.text[-200:]!r}")
    lines = ended.text.splitlines()
    if any(len(line) > LONGEST_LINE for line in lines):
        wrong.append(f"a line of {max(map(len, lines))} letters")
    if any(not c.isprintable() for line in lines for c in line if c not in SPACES):
        wrong.append(f"control characters: {next(line for line in lines if not line.isprintable())[:200]!r}")
    if base.speaks:
        odd = [line for line in lines if not line.startswith("report: ") and line != str(folder / "out" / "report.pdf")]
        wrong += [f"says {odd[0][:300]!r}"] if odd and not wrong else []
        wrong += ["no word of what is wrong"] if ended.code and not lines else []
    after = tree(folder)
    changed = [name for name in {*before, *after} if before.get(name) != after.get(name)]
    return [*wrong, *(f"outside of its output: {name!r}" for name in changed[:3]), *in_output(folder / "out")[:3]]


def is_rendered_whole(number: int) -> bool:
    return number % WHOLE_EVERY == 0


def one(bases: list[Base], number: int, work: Path) -> tuple[str, Ended, list[str]]:
    """The mutant with this number: the base's name with the kinds of mutations, how it ended, what is wrong."""
    choose = Random(number)
    base = choose.choice(bases)
    folder = work / "mutant" / str(number)
    for name in ("in", "cwd", "tmp"):
        (folder / name).mkdir(parents=True)
    for name, text in base.files.items():
        (folder / "in" / name).write_bytes(text)
    kind = mutations.mutate(folder / "in", choose)
    before, around = tree(folder), sorted(os.listdir(work))
    ended = run(base, folder, is_rendered_whole(number))
    wrong = judge(base, ended, before, folder)
    if sorted(os.listdir(work)) != around or os.listdir(work / "mutant") != [str(number)]:
        wrong.append("outside of its folder")
    return f"{base.name} ({kind})", ended, wrong


def go_on(bases: list[Base], numbers: Iterable[int], deadline: float, results: Queue) -> None:
    """The mutants with these numbers, until the time is over."""
    ctypes.CDLL(None).prctl(SUBREAPER, 1)
    with contextlib.ExitStack() as last, tempfile.TemporaryDirectory(prefix="rung-fuzz-") as work:
        last.callback(results.put, None)
        warm_up(bases, Path(tempfile.mkdtemp(dir=work)))
        for number in numbers:
            if time.time() >= deadline:
                break
            kind, ended, wrong = one(bases, number, Path(work))
            results.put((number, kind, ended.code, ended.text, wrong))
            remove(Path(work) / "mutant")


def remove(folder: Path) -> None:
    def again(function: Callable, path: str, error: tuple) -> None:
        if error[1].errno != errno.ENOENT:
            raise error[1]
    shutil.rmtree(folder, onerror=again)


def options() -> argparse.Namespace:
    made = argparse.ArgumentParser()
    made.add_argument("build", type=Path)
    made.add_argument("seconds", type=float, nargs="?", default=600)
    made.add_argument("--mutant", type=int)
    made.add_argument("--most", type=int, default=sys.maxsize)
    return made.parse_args()


def show(bases: list[Base], number: int) -> int:
    """Renders one mutant, in a folder that stays."""
    work = Path(tempfile.mkdtemp(prefix="rung-fuzz-"))
    ctypes.CDLL(None).prctl(SUBREAPER, 1)
    kind, ended, wrong = one(bases, number, work)
    print(ended.text, end="")
    print(f"mutant {number}, {kind}: code {ended.code} {'; '.join(wrong)}\n{work / 'mutant' / str(number)}")
    return 1 if wrong else 0


def main() -> int:
    chosen = options()
    os.environ["RUNG"] = "/nowhere"  # the calculators take a second and do not depend on results
    bases = corpus(chosen.build / "rung")
    if chosen.mutant is not None:
        return show(bases, chosen.mutant)
    jobs, first = (int(os.environ.get(name, otherwise)) for name, otherwise in (("JOBS", 1), ("FIRST", 0)))
    results: Queue = Queue()
    began = time.time()
    numbers = range(first, first + min(chosen.most, sys.maxsize - first))
    workers = [Process(target=go_on, args=(bases, numbers[i::jobs], began + chosen.seconds, results)) for i in range(jobs)]
    for worker in workers:
        worker.start()
    codes, whole, faults, ended = Counter(), 0, 0, 0
    while ended < jobs:
        result = results.get()
        if result is None:
            ended += 1
            continue
        number, kind, code, _, wrong = result
        codes[code] += 1
        whole += is_rendered_whole(number)
        if wrong:
            faults += 1
            if faults <= FAULTS_KEPT:
                print(f"mutant {number}, {kind}: {'; '.join(wrong)}", flush=True)
    for worker in workers:
        worker.join()
    print(f"{len({base.name for base in bases})} folders mutated; ended with " + ", ".join(
        f"{code}: {count}" for code, count in sorted(codes.items())) + f"; {whole} typeset; {time.time() - began:.0f} s")
    print(f"{codes.total()} mutants, {faults or 'none'} with a fault")
    return 1 if faults or any(worker.exitcode for worker in workers) else 0


if __name__ == "__main__":
    sys.exit(main())
