"""Values that may be missing, where the code needs them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

T = TypeVar("T")


def needed(value: T | None, what: str) -> T:
    """The value; ValueError where there is none, which costs a section or a figure and not the report (report.faults)."""
    if value is None:
        raise ValueError(f"{what} is missing")
    return value


def complete(values: Iterable[T | None]) -> list[T] | None:
    """All of the values; None where one of them is missing."""
    found = list(values)
    known = [value for value in found if value is not None]
    return known if len(known) == len(found) else None
