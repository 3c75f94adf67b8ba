"""Writes figures (PDF, SVG, PNG, CSV) and tables (CSV); names and cells are made safe first."""

from __future__ import annotations

import csv
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from multiprocessing import get_context
from pathlib import Path
from threading import BrokenBarrierError

from report import forks
from report.experiment import Figure, Table
from report.faults import UNUSABLE, say, why
from report.forks import belong_to

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
PICTURES = (".pdf", ".svg", ".png")
ENDINGS = (".csv", *PICTURES)
LIST = ".written"
"""A file in each folder that lists what the last report wrote there."""
MOST_WORKERS = 8
PATIENCE = 10
LONGEST = 600
"""Seconds to wait for the others, one of which may have been killed."""


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
    text = " ".join(str(value).split()) if isinstance(value, str) else str(value)
    return f"'{text}" if isinstance(value, str) and text.startswith(FORMULA_STARTS) else text


def write_csv(path: Path, rows: Sequence[dict]) -> None:
    """One line for each row, a header of all keys."""
    keys = list(dict.fromkeys(key for row in rows for key in row))
    with path.open("w", newline="", encoding="utf-8", errors="replace") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([cell(k) for k in keys])
        writer.writerows([cell(row.get(k)) for k in keys] for row in rows)


@contextmanager
def written(figures: Sequence[Figure], tables: Callable[[], Sequence[Table]], output: Path) -> Iterator[dict[str, str]]:
    """Writes tables/ and, of the figures, what the document needs; the block may typeset it while figures/ gets the
    rest. Yields the figures that are not drawn, of which there is only the CSV, and why; it may have more of them when
    the block has ended. The tables are made while figures are drawn.
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
    folder.mkdir(parents=True, exist_ok=True)
    _remove_stale(folder, {safe_name(item.name) for item in items})
    for item in items:
        write_csv(folder / f"{safe_name(item.name)}.csv", item.rows)
    return folder


def _remove_stale(folder: Path, names: set[str]) -> None:
    """Removes what an earlier report wrote here and this one does not have; files of others stay."""
    listed = folder / LIST
    for name in set(listed.read_text(encoding="utf-8").split() if listed.is_file() else ()) - names:
        for ending in ENDINGS:
            (folder / f"{safe_name(name)}{ending}").unlink(missing_ok=True)
    listed.write_text("".join(f"{name}\n" for name in sorted(names)), encoding="utf-8")


@contextmanager
def _drawing(figures: Sequence[Figure], folder: Path, undrawn: dict[str, str]) -> Iterator[Callable]:
    """Draws in other processes, which have the figures by being forks, since a way of drawing cannot be sent; each takes
    the next figure when it has drawn one. None is drawn in this one: typst's threads do not survive a fork, so that
    whoever has used it cannot fork again. What the block is given waits until every PDF is written; what cannot be
    drawn comes into `undrawn` then, and when all is written."""
    from report.draw import formats, style  # noqa: F401 - loaded once, for all
    try:
        work, helpers = _helped(figures, folder)
    except forks.UNAVAILABLE:
        undrawn.update(_drawn_alone(figures, folder))
        yield lambda: None
        return

    def wait() -> None:
        work.all_drawn.wait()
        undrawn.update(work.undrawn())

    try:
        yield wait
    except BrokenBarrierError:
        pass  # the one that failed says why, and the others stop by themselves
    except BaseException:
        for helper in helpers:
            helper.terminate()
        raise
    finally:
        for helper in helpers:
            helper.join()
    if work.all_drawn.broken or any(helper.exitcode for helper in helpers):
        raise NotDrawn("a process that draws figures has ended early")
    undrawn.update(work.undrawn())


def _helped(figures: Sequence[Figure], folder: Path) -> tuple[_Work, list]:
    """The work, and processes that have begun it. Raises what forks.UNAVAILABLE has."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    context, number = get_context("fork"), max(1, min(MOST_WORKERS, cores, len(figures)))
    work = _Work(figures, folder, *(context.Value("i", 0) for _ in range(2)), context.Array("b", len(figures)),
                 context.Barrier(number + 1, timeout=LONGEST))
    helpers = [context.Process(target=work.help, args=(os.getpid(),), daemon=True) for _ in range(number)]
    begun = []
    try:
        for helper in helpers:
            helper.start()
            begun.append(helper)
    except OSError:
        for helper in begun:
            helper.terminate()
            helper.join()
        raise
    return work, helpers


def _drawn_alone(figures: Sequence[Figure], folder: Path) -> dict[str, str]:
    """Draws in one other process, or in none. Returns the figures that are not drawn."""
    work = _Work(figures, folder, _Count(), _Count(), [False] * len(figures), _NobodyElse())
    try:
        work.failed = forks.in_a_fork(work.all)
    except forks.Died as error:
        raise NotDrawn(str(error)) from None
    return work.undrawn()


class _Count:
    """A number that no other process shares."""

    value = 0

    def get_lock(self):
        return nullcontext()


class _NobodyElse:
    """A barrier for one."""

    broken = False

    def wait(self) -> None:
        pass

    def abort(self) -> None:
        pass


@dataclass
class _Work:
    """What the processes that draw share."""

    figures: Sequence[Figure]
    folder: Path
    drawn: object
    """The number of figures that a process has taken to draw."""
    pictured: object
    """The number of which one has taken the PNG."""
    failed: object
    """Of each figure whether it could not be drawn."""
    all_drawn: object
    """Where each waits for the others' SVGs and PDFs; broken where one ends early."""

    @cached_property
    def formats(self):
        from report.draw.formats import Formats
        return Formats(self.folder)

    def help(self, parent: int) -> None:
        """As one of several processes, none of which is to go on when the first is killed."""
        belong_to(parent)
        try:
            self.draw()
            os.nice(PATIENCE)  # the document is set meanwhile, which takes longer
            self.pngs()
        except BrokenBarrierError:
            sys.exit(1)  # another one failed, which says why

    def all(self) -> list[bool]:
        """As the only process. Returns of each figure whether it could not be drawn."""
        self.draw()
        self.pngs()
        return self.failed

    def draw(self) -> None:
        from report.draw import style
        try:
            while (index := self._next(self.drawn)) is not None:
                one = self.figures[index]
                fig = style.figure(one.height, one.half)
                with self._naming(index, PICTURES):
                    one.draw(fig)
                    style.finish(fig)
                    self.formats.save(fig, safe_name(one.name))
        except BaseException:
            self.all_drawn.abort()
            raise
        self.all_drawn.wait()

    def pngs(self) -> None:
        from report.draw import style
        while (index := self._next(self.pictured)) is not None:
            one = self.figures[index]
            if not self.failed[index]:
                with self._naming(index, [".png"]):
                    self.formats.save_png(safe_name(one.name), *style.size(one.height, one.half))

    def undrawn(self) -> dict[str, str]:
        return {figure.name: UNEXPECTED for figure, failed in zip(self.figures, self.failed) if failed}

    def _next(self, taken) -> int | None:
        with taken.get_lock():
            index, taken.value = taken.value, taken.value + 1
        return index if index < len(self.figures) and not self.all_drawn.broken else None

    @contextmanager
    def _naming(self, index: int, endings: Sequence[str]) -> Iterator[None]:
        """What goes wrong with a figure's values is told with its name and leaves no such files of it, nor of an earlier one."""
        name = safe_name(self.figures[index].name)
        try:
            with _told(name):
                yield
        except UNUSABLE as error:
            say(f"the figure {name} cannot be drawn: {why(error)}")
            self.failed[index] = True
            for ending in endings:
                (self.folder / f"{name}{ending}").unlink(missing_ok=True)


@contextmanager
def _told(name: str) -> Iterator[None]:
    """What drawing this figure warns of is a line each."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always", UserWarning)
        yield
    for one in warned:
        say(f"the figure {name}: {one.message}")
