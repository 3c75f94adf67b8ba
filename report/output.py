"""Writes figures and their CSV; names and cells are made safe first."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from importlib.util import find_spec
from multiprocessing import get_context
from pathlib import Path

from report.figures import (answer, climb, energies, hierarchy, ladder, occupancy, occupancy_ladder, peers, promise,
                            roofline_both, roofline_cpu, roofline_gpu, scaling, sizes, speedup, strided, traffic)
from report.records import Study

FIGURES = (answer, ladder, climb.CPU, climb.OTHERS, climb.GPU, peers.CPU, peers.GPU, promise, roofline_gpu, traffic,
           roofline_cpu, hierarchy.ALL, hierarchy.ONE, scaling, roofline_both, occupancy, occupancy_ladder, strided,
           sizes, speedup, energies)
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def safe_name(text: str) -> str:
    """A file name of letters, digits, '.', '_' and '-', at most 80 characters, never empty or hidden."""
    kept = "".join(c if c.isascii() and (c.isalnum() or c in "._-") else "_" for c in text)[:80]
    return kept.lstrip(".") or "unnamed"


def cell(value: object) -> str:
    """A CSV cell: numbers to ten digits; text that a spreadsheet would run as a formula is prefixed."""
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.10g}"
    text = " ".join(str(value).split("\n"))
    return f"'{text}" if isinstance(value, str) and text.startswith(FORMULA_STARTS) else text


def write_csv(path: Path, rows: list[dict]) -> None:
    """One line for each row, a header from the first row's keys."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(rows[0])
        writer.writerows([cell(v) for v in row.values()] for row in rows)


def tables(study: Study) -> dict[str, list[dict]]:
    """Name → rows of every figure that has data."""
    return {module.NAME: rows for module in FIGURES if (rows := module.rows(study))}


def captions(study: Study, made: dict[str, list[dict]]) -> dict[str, str]:
    return {m.NAME: m.caption(study, made[m.NAME]) for m in FIGURES if m.NAME in made}


def write_figures(study: Study, made: dict[str, list[dict]], folder: Path) -> bool:
    """Writes CSV, and with matplotlib PDF and PNG, of every figure; False where matplotlib is missing."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, rows in made.items():
        write_csv(folder / f"{safe_name(name)}.csv", rows)
    if find_spec("matplotlib") is None:
        return False
    _draw_all(study, made, folder)
    return True


def _draw_all(study: Study, made: dict[str, list[dict]], folder: Path, workers: int = 2) -> None:
    """Draws in two processes, the costly figures dealt out evenly."""
    names = list(made)
    parts = [names[i::workers] for i in range(workers)]
    with ProcessPoolExecutor(workers - 1, mp_context=get_context("fork")) as pool:
        others = [pool.submit(_draw, study, {n: made[n] for n in part}, folder) for part in parts[1:] if part]
        _draw(study, {n: made[n] for n in parts[0]}, folder)
        for other in others:
            other.result()


def _draw(study: Study, made: dict[str, list[dict]], folder: Path) -> None:
    from report import style
    for module in FIGURES:
        if module.NAME in made:
            style.save(module.draw(study, made[module.NAME]), folder, safe_name(module.NAME),
                       getattr(module, "DPI", style.DPI))


def stale(folder: Path, names: Iterable[str]) -> list[Path]:
    """Files of figures that an earlier report wrote here and that this one does not have."""
    known = {m.NAME for m in FIGURES} - set(names)
    return [p for n in sorted(known) for p in (folder / f"{n}.{e}" for e in ("pdf", "png", "csv")) if p.exists()]
