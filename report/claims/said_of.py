"""The machines that a claim is about: a device, a generation, a compute capability, a version of CUDA, a year or a CPU.

    G80        Kepler        compute capability 1.x        CUDA 3.1        2015
    before Volta        Fermi and later        GT200 and before        Fermi and Kepler

A generation is a range of compute capabilities; a year means the GPUs that existed then. A text in no such form ("early
GPUs") matches no machine here and never applies.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from report.claims.expression import nearest

GENERATIONS = {"Tesla": ((1, 0), 2006), "Fermi": ((2, 0), 2010), "Kepler": ((3, 0), 2012), "Maxwell": ((5, 0), 2014),
               "Pascal": ((6, 0), 2016), "Volta": ((7, 0), 2017), "Turing": ((7, 5), 2018), "Ampere": ((8, 0), 2020),
               "Ada": ((8, 9), 2022), "Hopper": ((9, 0), 2022), "Blackwell": ((10, 0), 2024)}
"""The first compute capability of each, and the year of its first GPU."""
LAST = (99, 0)
YEAR = r"\d{4}"
WORDS = ("nvidia", "geforce", "tesla", "quadro")
"""Left out where names are compared, as common/model/devices.cpp does."""


@dataclass(frozen=True)
class Subject:
    """The measured machine: a GPU by its names with its compute capability, or a CPU; the version of CUDA, if known."""

    names: frozenset[str] = frozenset()
    capability: tuple[int, int] | None = None
    cuda: tuple[int, ...] | None = None
    cpu: str = ""


def key(name: str) -> str:
    """'rtx3080' of 'NVIDIA GeForce RTX 3080' and 'rtx-3080'."""
    plain = "".join(c for c in name.lower() if c.isalnum() and c.isascii())
    for word in WORDS:
        plain = plain.removeprefix(word)
    return plain


def version(text: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", text)))


def applies(said_of: str, subject: Subject) -> bool:
    """Whether the claim was made about the measured machine."""
    if found := re.fullmatch(r"(?:CUDA )?before (.+)", said_of):
        one = found.group(1) if said_of.startswith("before") else f"CUDA {found.group(1)}"
        return _place(one, subject) == "before"
    if found := re.fullmatch(r"(.+) and later", said_of):
        return _place(found.group(1), subject) in ("in", "after")
    if found := re.fullmatch(r"(.+) and (?:before|earlier)", said_of):
        return _place(found.group(1), subject) in ("in", "before")
    return any(_is_in(part, subject) for part in re.split(r", | and | or ", said_of))


def _is_in(one: str, subject: Subject) -> bool:
    """For a year: any GPU or version of that year or earlier."""
    return _place(one, subject) in (("in", "before") if re.fullmatch(YEAR, one) else ("in",))


def _place(one: str, subject: Subject) -> str:
    """'before', 'in' or 'after' of a single term; '' where that is unknown."""
    if found := re.fullmatch(r"CUDA (\d[\d.]*)", one):
        return _compared(subject.cuda, version(found.group(1)))
    if re.fullmatch(YEAR, one):
        return _of_year(int(one), subject)
    if found := re.fullmatch(r"compute capability (\d+)\.(\d+|x)", one):
        major, minor = found.groups()
        ends = ((int(major), 0), (int(major), 99)) if minor == "x" else ((int(major), int(minor)),) * 2
        return _between(subject.capability, *ends)
    if one in GENERATIONS:
        return _between(subject.capability, *_span(one))
    if subject.cpu:
        return "in" if one.lower() in subject.cpu.lower() else ""
    return "in" if key(one) in subject.names else ""


def _span(generation: str) -> tuple[tuple[int, int], tuple[int, int]]:
    first = GENERATIONS[generation][0]
    later = min((start for start, _ in GENERATIONS.values() if start > first), default=LAST)
    return first, (later[0], later[1] - 1) if later[1] else (later[0] - 1, 99)


def _between(found: tuple[int, int] | None, first: tuple[int, int], last: tuple[int, int]) -> str:
    return "" if found is None else "before" if found < first else "after" if found > last else "in"


def _compared(found: tuple[int, ...] | None, wanted: tuple[int, ...]) -> str:
    short = found and found[:len(wanted)]
    return "" if not short else "before" if short < wanted else "after" if short > wanted else "in"


def _of_year(year: int, subject: Subject) -> str:
    """Compares by the year of the generation's first GPU."""
    came = [when for first, when in GENERATIONS.values() if subject.capability and first <= subject.capability]
    return "" if not came else "after" if max(came) > year else "before" if max(came) < year else "in"


def terms(said_of: str) -> list[str]:
    """The devices, generations, versions and years in it: 'Fermi' and 'Kepler' of 'Fermi or Kepler'; 'Fermi' of 'Fermi and later'."""
    plain = re.sub(r"^CUDA before ", "before CUDA ", said_of)
    plain = re.sub(r"^before | and (?:later|before|earlier)$", "", plain)
    return re.split(r", | and | or ", plain)


def named(text: str, devices: Iterable[str]) -> list[str]:
    """The devices of the catalogue, generations, compute capabilities and versions of CUDA that a sentence names."""
    known = sorted({*devices, *GENERATIONS} - {"Tesla"}, key=len, reverse=True)
    words = [rf"\b{re.escape(name)}\b" for name in known if not name.isdigit()]
    return re.findall("|".join([*words, r"compute capability \d+\.(?:\d+|x)", r"CUDA \d[\d.]*\d"]), text)


def misspelt(said_of: str, devices: Iterable[str]) -> str:
    """'; did you mean …?' for a term that is nearly a generation or a device of the catalogue, else nothing."""
    known = [*GENERATIONS, *devices]
    for part in re.split(r", | and (?:later|before|earlier)| and | or |before ", said_of):
        if len(part) > 3 and part not in known and key(part) not in map(key, known) and not re.search(r"\d", part):
            if hint := nearest(part, known, 0.8):
                return hint
    return ""
