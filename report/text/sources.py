"""Citations: keys of experiments/sources.toml as 'Zhou (2015, slide 12)' in the text and as entries at the end."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from functools import cache

from report.data.declaration import FOLDER
from report.data.records import Reference


@cache
def documents() -> dict[str, dict]:
    """All known documents by key; empty where the file is missing."""
    path = FOLDER / "sources.toml"
    return tomllib.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def cite(key: str, where: str = "") -> str:
    """'Zhou, 2015, slide 12', for brackets; the text alone of a reference without a key."""
    entry = documents().get(key)
    if entry is None:
        return where or key
    parts = [_who(entry), str(entry.get("year", "")), where]
    return ", ".join(part for part in parts if part)


def cite_all(references: Iterable[Reference]) -> str:
    return "; ".join(dict.fromkeys(text for r in references if (text := cite(r.id, r.where))))


def _who(entry: dict) -> str:
    """'Zhou', 'Hwu and others'."""
    names = [name.split()[-1] for name in str(entry.get("author", "")).split(", ") if name.strip()]
    is_group = entry.get("kind") in ("manual", "software", "standard")
    if is_group or not names:
        return str(entry.get("author", "")) or str(entry.get("title", ""))
    return names[0] if len(names) == 1 else " and ".join(names) if len(names) == 2 else f"{names[0]} and others"


def entry(key: str) -> str:
    """Author, title, edition, publisher or venue, year, address, as in a list of references."""
    e = documents()[key]
    parts = [e.get("author"), e.get("title"), e.get("edition"), e.get("venue"), e.get("publisher"),
             e.get("year") and str(e["year"]), e.get("url")]
    return f"{'. '.join(str(p).rstrip('.') for p in parts if p)}."


def listed(keys: Iterable[str]) -> list[str]:
    """The entries of the cited documents, sorted as they are printed."""
    return sorted({entry(key) for key in keys if key in documents()}, key=str.lower)
