"""Makes foreign text harmless: one function for results, claims, names of files and all that is printed of them."""

from __future__ import annotations

from typing import overload
from unicodedata import category


def plain(text: str) -> str:
    """The text in one line of letters that are shown literally, in their order.

    Line breaks and tabs become spaces. Control characters, escapes, overrides of the direction of writing, letters
    without a width and halves of surrogate pairs become U+FFFD.
    """
    return text if text.isprintable() else "".join(map(_letter, text))


def plain_lines(text: str) -> str:
    """The same of each line."""
    return "\n".join(map(plain, text.split("\n")))


@overload
def plain_values(data: dict) -> dict: ...
@overload
def plain_values(data: object) -> object: ...
def plain_values(data: object) -> object:
    """The same of every text and key of a parsed file."""
    if isinstance(data, str):
        return plain(data)
    if isinstance(data, list):
        return [plain_values(value) for value in data]
    return {plain(key): plain_values(value) for key, value in data.items()} if isinstance(data, dict) else data


def _letter(c: str) -> str:
    if c.isprintable() or category(c) == "Zs":
        return c
    return " " if c.isspace() else "\ufffd"
