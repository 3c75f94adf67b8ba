"""Writes figures (PDF, SVG, PNG, CSV) and tables (CSV); names and cells are made safe first."""

from __future__ import annotations

import csv
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from multiprocessing import get_context
from pathlib import Path
from threading import BrokenBarrierError

from report.experiment import Figure, Table
from report.faults import UNUSABLE, say, why
from report.forks import belong_to

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
PICTURES = (".pdf", ".svg", ".png")
ENDINGS = (".csv", *PICTURES)
LIST = ".written"
"""A file in each folder that lists what the last report wrote there."""
MOST_WORKERS = 8
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
    with _drawing(figures, folder, undrawn) as draw:
        _data(tables(), output / "tables")
        draw()
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
    """Draws in several processes, which have the figures by being forks, since a way of drawing cannot be sent; each
    takes the next figure when it has drawn one. This one draws when the block says so, until every PDF is written.
    What cannot be drawn comes into `undrawn` then, and when all is written."""
    from report.draw import style  # noqa: F401 - loaded once, for all
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    context, number = get_context("fork"), max(1, min(MOST_WORKERS, cores, len(figures)))
    work = _Work(figures, folder, context.Value("i", 0), context.Array("b", len(figures)), context.Barrier(number, timeout=LONGEST))

    def draw() -> None:
        work.pdfs()
        undrawn.update(work.undrawn())

    helpers = [context.Process(target=work.help, args=(os.getpid(),), daemon=True) for _ in range(1, number)]
    for helper in helpers:
        helper.start()
    try:
        yield draw
        work.others()
    except BrokenBarrierError:
        pass  # the one that failed says why, and the others stop by themselves
    except BaseException:
        for helper in helpers:
            helper.terminate()
        raise
    finally:
        for helper in helpers:
            helper.join()
    if work.all_written.broken or any(helper.exitcode for helper in helpers):
        raise NotDrawn("a process that draws figures has ended early")
    undrawn.update(work.undrawn())


@dataclass
class _Work:
    """What the processes that draw share, and the figures that this one has laid out."""

    figures: Sequence[Figure]
    folder: Path
    taken: object
    """The number of figures that a process has taken."""
    failed: object
    """Of each figure whether it could not be drawn."""
    all_written: object
    """Where each waits for the others' PDFs; broken where one ends early."""
    mine: list = field(default_factory=list)

    def help(self, parent: int) -> None:
        """As one of several processes, none of which is to go on when the first is killed."""
        belong_to(parent)
        try:
            self.pdfs()
            self.others()
        except BrokenBarrierError:
            sys.exit(1)  # another one failed, which says why

    def pdfs(self) -> None:
        from report.draw import style
        try:
            while (index := self._next()) is not None:
                one = self.figures[index]
                fig = style.figure(one.height, one.half)
                with self._naming(index, PICTURES):
                    one.draw(fig)
                    self.mine.append((style.save_pdf(fig, self.folder, safe_name(one.name)), index))
        except BaseException:
            self.all_written.abort()
            raise
        self.all_written.wait()

    def others(self) -> None:
        from report.draw import style
        for fig, index in self.mine:
            with self._naming(index, PICTURES[1:]):
                style.save_others(fig, self.folder, safe_name(self.figures[index].name))

    def undrawn(self) -> dict[str, str]:
        return {figure.name: UNEXPECTED for figure, failed in zip(self.figures, self.failed) if failed}

    def _next(self) -> int | None:
        with self.taken.get_lock():
            index, self.taken.value = self.taken.value, self.taken.value + 1
        return index if index < len(self.figures) and not self.all_written.broken else None

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
