"""Citations: keys of experiments/sources.toml as 'Zhou (2015, slide 12)' in the text and as entries at the end."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from report.data.declaration import FOLDER
from report.data.reading import read_toml
from report.data.records import Reference

OTHERS = " and others"
PARTICLES = ("van", "de", "der", "den", "von")
"""Parts of a surname that precede its last word."""


@cache
def documents() -> dict[str, dict]:
    """All known documents by key; empty where the file is missing."""
    path = FOLDER / "sources.toml"
    return {k: v for k, v in read_toml(path).items() if isinstance(v, dict)} if path.is_file() else {}


def cite(key: str, where: str = "") -> str:
    """'Zhou, 2015, slide 12', for brackets; only the text of a reference without a key."""
    entry = documents().get(key)
    if entry is None:
        return where or key
    parts = [_who(entry), str(entry.get("year", "")), where]
    return ", ".join(part for part in parts if part)


def cite_all(references: Iterable[Reference]) -> str:
    return "; ".join(dict.fromkeys(text for r in references if (text := cite(r.id, r.where))))


def _who(entry: dict) -> str:
    """'Zhou', 'Goto and van de Geijn', 'Hwu and others'; of an organisation its name."""
    author = str(entry.get("author", ""))
    several = author.endswith(OTHERS)
    names = [surname(name) for name in author.removesuffix(OTHERS).split(", ") if name.strip()]
    if entry.get("organisation") or not names:
        return author or str(entry.get("title", ""))
    if several or len(names) > 2:
        return f"{names[0]}{OTHERS}"
    return " and ".join(names)


def surname(name: str) -> str:
    """'van de Geijn' of 'Robert A. van de Geijn', 'Hwu' of 'Wen-mei W. Hwu'."""
    parts = name.split()
    first = len(parts) - 1
    while first > 1 and parts[first - 1].lower() in PARTICLES:
        first -= 1
    return " ".join(parts[first:])


def entry(key: str) -> str:
    """Author, title with its translation in brackets, edition, publisher or venue, year, address, as in a list of references.
    The address is that of the `doi` where there is one, otherwise the `url`."""
    e = documents()[key]
    place = [_capital(e.get(key, "")) for key in ("edition", "venue", "publisher")]
    year = str(e.get("year", ""))
    year = "" if any(p.endswith(year) for p in place) else year  # 'SC 2015'
    title = f"{e.get('title')} [{e['translation']}]" if "translation" in e else e.get("title")
    address = f"https://doi.org/{e['doi']}" if "doi" in e else e.get("url")
    parts = [e.get("author"), title, *place, year, address]
    return f"{'. '.join(str(p).rstrip('.') for p in parts if p)}."


def _capital(text: str) -> str:
    """'Lecture slides' of 'lecture slides'; a name such as 'arXiv:1804.06826' stays."""
    first = text.split()[0] if text.split() else ""
    return text[:1].upper() + text[1:] if first.isalpha() and first.islower() else text


def listed(keys: Iterable[str]) -> list[str]:
    """The entries of the cited documents, in the order of their first authors' surnames."""
    known = sorted({key for key in keys if key in documents()}, key=lambda key: (cite(key).lower(), entry(key)))
    return list(dict.fromkeys(map(entry, known)))
