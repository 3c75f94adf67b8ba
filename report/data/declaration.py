"""How an experiment declares itself: its TOML, from the results' own text or from the folder experiments/."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from pathlib import Path

from report.data.reading import is_number, read_toml
from report.data.records import Reference
from report.plain import plain_values

FOLDER = Path(__file__).resolve().parents[2] / "experiments"
LAST = 1000.0
"""The chapter of experiments that declare none."""
LONGEST_NAME = 240
"""Bytes; file systems take 255 with the ending."""


@dataclass(frozen=True)
class Declaration:
    chapter: float = LAST
    settings: dict = field(default_factory=dict)
    references: tuple[Reference, ...] = ()


def of(name: str, text: object) -> Declaration:
    """The declaration from the text in the results, or from experiments/NAME.toml if that text does not declare the
    report."""
    for table in (_parsed(str(text or "")), _of_file(name)):
        if "report" in table or "chapter" in table:
            return _declaration(table)
    return Declaration()


def _of_file(name: str) -> dict:
    path = FOLDER / f"{name}.toml"
    return read_toml(path) if is_name(name) and path.is_file() else {}


def is_name(name: str) -> bool:
    """Whether it may be a file's name, with an ending: letters, digits, '_' and '-'."""
    return name.replace("_", "").replace("-", "").isalnum() and len(name.encode()) <= LONGEST_NAME


def _parsed(text: str) -> dict:
    try:
        return plain_values(tomllib.loads(text))
    except (ValueError, RecursionError):  # the one of a number of thousands of digits, too, the other of as many brackets
        return {}


def _declaration(table: dict) -> Declaration:
    chapter, settings, sources = table.get("chapter"), table.get("report"), table.get("source")
    return Declaration(
        float(chapter) if is_number(chapter) else LAST, settings if isinstance(settings, dict) else {},
        tuple(Reference(str(s.get("id") or ""), str(s.get("where") or ""))
              for s in (sources if isinstance(sources, list) else []) if isinstance(s, dict)))
