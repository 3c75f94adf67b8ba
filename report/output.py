"""Writes figures (PDF, SVG, PNG, CSV) and tables (CSV); names and cells are made safe first."""

from __future__ import annotations

import csv
import io
import os
import struct
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from multiprocessing import connection, get_context
from multiprocessing.process import BaseProcess
from pathlib import Path

from report import files, forks
from report.experiment import Figure, Table
from report.faults import UNUSABLE, say, why
from report.forks import belong_to
from report.plain import plain

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
PICTURES = (".pdf", ".svg", ".png")
ENDINGS = (".csv", *PICTURES)
LIST = ".written"
"""A file in each folder that lists what the last report wrote there."""
LONGEST_LIST = 1 << 20
"""Bytes; a longer file is not ours."""
MOST_WORKERS = 8
PATIENCE = 10


NO_MATPLOTLIB = "matplotlib is missing"
UNEXPECTED = "since its values are not those that a run writes"


class NotDrawn(RuntimeError):
    """A process that draws has ended before its figures were written."""


def safe_name(text: str) -> str:
    """A file name of letters, digits, '.', '_' and '-', at most 80 characters, never empty or hidden."""
    kept = "".join(c if c.isascii() and (c.isalnum() or c in "._-") else "_" for c in text)[:80]
    return kept.lstrip(".") or "unnamed"


def cell(value: object) -> str:
    """A CSV cell: numbers to ten digits; text that a spreadsheet would run as a formula is prefixed."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, float):
        return f"{value:.10g}"
    text = " ".join(plain(str(value)).split())
    return f"'{text}" if isinstance(value, str) and text.startswith(FORMULA_STARTS) else text


def write_csv(path: Path, rows: Sequence[dict]) -> None:
    """One line for each row, a header of all keys."""
    keys = list(dict.fromkeys(key for row in rows for key in row))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([cell(k) for k in keys])
    writer.writerows([cell(row.get(k)) for k in keys] for row in rows)
    files.write(path, text.getvalue())


@contextmanager
def written(figures: Sequence[Figure], tables: Callable[[], Sequence[Table]], output: Path) -> Iterator[dict[str, str]]:
    """Writes tables/ and the pictures that the document needs; the block may typeset it while the other pictures are written.
    Yields the figures that are not drawn, with the reason; only their CSV exists. More may be added until the block has
    ended. The tables are made while figures are drawn.
    """
    folder = _data(figures, output / "figures")
    if not find_spec("matplotlib"):
        _data(tables(), output / "tables")
        yield {figure.name: NO_MATPLOTLIB for figure in figures}
        return
    undrawn: dict[str, str] = {}
    with _drawing(figures, folder, undrawn) as wait:
        _data(tables(), output / "tables")
        wait()
        yield undrawn


def _data(items: Sequence[Figure | Table], folder: Path) -> Path:
    files.folder(folder)
    remove_stale(folder, {safe_name(item.name) for item in items})
    for item in items:
        write_csv(folder / f"{safe_name(item.name)}.csv", item.rows)
    return folder


def remove_stale(folder: Path, names: set[str], endings: Sequence[str] = ENDINGS) -> None:
    """Removes files that an earlier report wrote here and this one does not have; other files stay."""
    listed = folder / LIST
    is_ours = listed.is_file() and not listed.is_symlink() and listed.stat().st_size <= LONGEST_LIST
    for name in set(listed.read_text(encoding="utf-8", errors="replace").split() if is_ours else ()) - names:
        for ending in endings:
            files.remove(folder / f"{safe_name(name)}{ending}")
    files.write(listed, "".join(f"{name}\n" for name in sorted(names)))


@contextmanager
def _drawing(figures: Sequence[Figure], folder: Path, undrawn: dict[str, str]) -> Iterator[Callable]:
    """Draws in worker processes. They are forks and so have the figures, since a function that draws cannot be sent. This
    process draws none: typst's threads do not survive a fork, so that a process that has used typst cannot fork again. The
    yielded function waits until every PDF is written. It and the end of the block add figures that failed to `undrawn`."""
    from report.draw import formats, style  # noqa: F401 - loaded once, for all
    work = _Work(figures, folder)
    try:
        helpers = _Helpers(work)
    except forks.UNAVAILABLE:
        undrawn.update(_named(figures, forks.in_a_fork(work.alone)))
        yield lambda: None
        return
    try:
        yield lambda: undrawn.update(_named(figures, helpers.drawn()))
        undrawn.update(_named(figures, helpers.ended()))
    finally:
        helpers.end()


def _named(figures: Sequence[Figure], failed: Iterable[int]) -> dict[str, str]:
    return {figures[index].name: UNEXPECTED for index in failed}


class _Tasks:
    """A queue of figures in a pipe; each process takes the next one. No process holds a lock, so that any may be killed."""

    NUMBER = struct.Struct("=I")

    def __init__(self):
        self.reading, self.writing = os.pipe()

    def give(self, figures: Iterable[int]) -> None:
        """Adds these figures and closes the queue."""
        for index in figures:
            os.write(self.writing, self.NUMBER.pack(index))
        self.end()

    def end(self) -> None:
        if self.writing is not None:
            os.close(self.writing)
            self.writing = None

    def taken(self) -> Iterator[int]:
        """Takes figures, waiting for each, until the queue is closed and empty."""
        while number := os.read(self.reading, self.NUMBER.size):
            yield self.NUMBER.unpack(number)[0]


class _Helpers:
    """The processes that draw. Raises one of forks.UNAVAILABLE if none is available."""

    def __init__(self, work: _Work):
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        context = get_context("fork")
        self.folder, self.number = work.folder, len(work.figures)
        self.open, self.failed = set(range(self.number)), set[int]()
        self.to_draw, self.to_picture = _Tasks(), _Tasks()
        self.processes: dict[connection.Connection, BaseProcess] = {}
        try:
            for _ in range(max(1, min(MOST_WORKERS, cores, self.number))):
                said, saying = context.Pipe(duplex=False)
                process = context.Process(target=work.help, args=(os.getpid(), saying, self.to_draw, self.to_picture), daemon=True)
                process.start()
                saying.close()  # so that the pipe ends with the process
                self.processes[said] = process
            self.to_draw.give(self.open)
        except OSError:
            self.end()
            raise

    def drawn(self) -> set[int]:
        """Waits until each figure is drawn, then starts the PNGs. Returns the figures that cannot be drawn."""
        while self.open:
            self._hear()
        self.to_picture.give(index for index in range(self.number) if index not in self.failed)
        return self.failed

    def ended(self) -> set[int]:
        """Waits until all processes are done. Returns the figures without a complete set of pictures."""
        while self.processes:
            self._hear()
        return self.failed

    def _hear(self) -> None:
        """Receives the next messages. Raises NotDrawn if a process was killed, or the error with which one ended."""
        for said in connection.wait(list(self.processes)):
            assert isinstance(said, connection.Connection)  # as all of self.processes are
            try:
                what = said.recv()
            except (EOFError, ConnectionResetError):
                raise NotDrawn("a process that draws figures has ended early, perhaps because memory ran out") from None
            if what is None:
                self.processes.pop(said).join()
            elif isinstance(what, Exception):
                raise what
            else:
                index, is_drawn = what
                self.open.discard(index)
                self.failed |= set() if is_drawn else {index}

    def end(self) -> None:
        """Ends all processes and removes their temporary files."""
        for process in self.processes.values():
            process.kill()
            process.join()
            assert process.pid is not None  # each was started
            files.remove_parts(self.folder, process.pid)
        for tasks in (self.to_draw, self.to_picture):
            tasks.end()
            os.close(tasks.reading)


@dataclass
class _Work:
    """The work of each process that draws."""

    figures: Sequence[Figure]
    folder: Path

    @cached_property
    def formats(self):
        from report.draw.formats import Formats
        return Formats(self.folder)

    def help(self, parent: int, saying: connection.Connection, to_draw: _Tasks, to_picture: _Tasks) -> None:
        """Works as one of several processes, which all end when the first process is killed."""
        belong_to(parent)
        for tasks in (to_draw, to_picture):
            tasks.end()
        try:
            for index in to_draw.taken():
                saying.send((index, self.draws(index)))
            os.nice(PATIENCE)  # the document is set meanwhile, which takes longer
            for index in to_picture.taken():
                saying.send((index, self.pictures(index)))
            saying.send(None)
        except (OSError, MemoryError, ImportError) as error:
            saying.send(error)

    def alone(self) -> set[int]:
        """Works as the only process. Returns the figures without a complete set of pictures."""
        drawn = [index for index in range(len(self.figures)) if self.draws(index)]
        return set(range(len(self.figures))) - {index for index in drawn if self.pictures(index)}

    def draws(self, index: int) -> bool:
        """Whether a figure could be drawn and its SVG and PDF be written."""
        from report.draw import style
        one = self.figures[index]

        def draw() -> None:
            fig = style.figure(one.height, one.half)
            one.draw(fig)
            style.finish(fig)
            self.formats.save(fig, safe_name(one.name))
        return self._succeeds(one, draw, PICTURES)

    def pictures(self, index: int) -> bool:
        """Whether the PNG of a figure that is drawn could be written."""
        from report.draw import style
        one = self.figures[index]
        return self._succeeds(one, lambda: self.formats.save_png(safe_name(one.name), *style.size(one.height, one.half)), [".png"])

    def _succeeds(self, figure: Figure, work: Callable, endings: Sequence[str]) -> bool:
        """Whether `work` succeeded. An error is reported with the figure's name, and its files, also older ones, are removed."""
        name = safe_name(figure.name)
        try:
            with _told(name):
                work()
            return True
        except UNUSABLE as error:
            say(f"the figure {name} cannot be drawn: {why(error)}")
            for ending in endings:
                files.remove(self.folder / f"{name}{ending}")
            return False


@contextmanager
def _told(name: str) -> Iterator[None]:
    """Prints each warning of drawing this figure as one line."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always", UserWarning)
        yield
    for one in warned:
        say(f"the figure {name}: {one.message}")
