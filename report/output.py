"""Writes figures (PDF, SVG, PNG, CSV) and tables (CSV); names and cells are made safe first."""

from __future__ import annotations

import csv
import gc
import os
from collections.abc import Sequence
from importlib.util import find_spec
from multiprocessing import get_context
from pathlib import Path

from report.experiment import Figure, Table

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
ENDINGS = (".csv", ".pdf", ".svg", ".png")
LIST = ".written"
"""A file in each folder that lists what the last report wrote there."""
MOST_WORKERS = 8


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
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([cell(k) for k in keys])
        writer.writerows([cell(row.get(k)) for k in keys] for row in rows)


def write(figures: Sequence[Figure], tables: Sequence[Table], output: Path) -> bool:
    """Writes figures/ and tables/; False where matplotlib is missing, so that there is only the CSV."""
    for kind, items in (("figures", figures), ("tables", tables)):
        folder = output / kind
        folder.mkdir(parents=True, exist_ok=True)
        _remove_stale(folder, {safe_name(item.name) for item in items})
        for item in items:
            write_csv(folder / f"{safe_name(item.name)}.csv", item.rows)
    if find_spec("matplotlib") is None:
        return False
    _draw_all(figures, output / "figures")
    return True


def _remove_stale(folder: Path, names: set[str]) -> None:
    """Removes what an earlier report wrote here and this one does not have; files of others stay."""
    listed = folder / LIST
    for name in set(listed.read_text(encoding="utf-8").split() if listed.is_file() else ()) - names:
        for ending in ENDINGS:
            (folder / f"{safe_name(name)}{ending}").unlink(missing_ok=True)
    listed.write_text("".join(f"{name}\n" for name in sorted(names)), encoding="utf-8")


def _draw_all(figures: Sequence[Figure], folder: Path) -> None:
    """In several processes, which have the figures by being forks, since a way of drawing cannot be sent."""
    from report.draw import style  # noqa: F401 - loaded once, for all
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    context, number = get_context("fork"), max(1, min(MOST_WORKERS, cores, len(figures)))
    gc.freeze()  # what is loaded by now lives on; looking through it again and again takes as long as drawing
    helpers = [context.Process(target=_draw, args=(figures[i::number], folder)) for i in range(1, number)]
    for helper in helpers:
        helper.start()
    _draw(figures[0::number], folder)
    for helper in helpers:
        helper.join()
    if any(helper.exitcode for helper in helpers):
        raise RuntimeError("a figure could not be drawn; see above")


def _draw(figures: Sequence[Figure], folder: Path) -> None:
    from report.draw import style
    for one in figures:
        fig = style.figure(one.height, one.half)
        one.draw(fig)
        style.save(fig, folder, safe_name(one.name))
