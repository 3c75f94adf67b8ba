"""Captions: what a figure or table shows, then where and how its values were measured.

A document may print the second part once for a section in place of repeating it under each figure.
"""

from __future__ import annotations

from collections.abc import Iterable

from report.data.records import Point
from report.data.view import Part


class Measured(str):
    """Where and how values were measured, as the last sentences of a caption: added to a text it makes a Caption.

    `hollow`: whether the figure has hollow markers for points whose sampling did not settle.
    """

    part: Part
    points: tuple[Point, ...]
    hollow: bool

    def __new__(cls, text: str, part: Part, points: Iterable[Point], hollow: bool) -> Measured:
        made = super().__new__(cls, text)
        made.part, made.points, made.hollow = part, tuple(points), hollow
        return made

    def __radd__(self, text: str) -> Caption:
        return Caption(f"{text}{self}", own(text), (*measured(text), self))


class Caption(str):
    """A caption as a whole; `own` is it without where and how its values were measured."""

    own: str
    measured: tuple[Measured, ...]

    def __new__(cls, text: str, own: str, measured: tuple[Measured, ...]) -> Caption:
        made = super().__new__(cls, text)
        made.own, made.measured = own, measured
        return made

    def __radd__(self, text: str) -> Caption:
        return Caption(f"{text}{self}", f"{own(text)} {self.own}".strip(), (*measured(text), *self.measured))

    def __add__(self, text: str) -> Caption:
        return Caption(f"{self}{text}", f"{self.own.rstrip()}{own(text)}", (*self.measured, *measured(text)))


def own(caption: str) -> str:
    """The caption without where and how its values were measured; all of it where that is no part of its own."""
    return caption.own if isinstance(caption, Caption) else caption.rstrip()


def measured(caption: str) -> tuple[Measured, ...]:
    return caption.measured if isinstance(caption, Caption) else (caption,) if isinstance(caption, Measured) else ()


def of_sides(text: str, stories: Iterable[str]) -> Caption:
    """A caption of values that were measured on several machines: 'GPU: measured on … CPU: measured on …'."""
    stories = list(stories)
    return Caption(" ".join([text.rstrip(), *stories]), own(text), tuple(m for story in stories for m in measured(story)))


def together(captions: Iterable[str]) -> list[tuple[Part, list[Point], bool]]:
    """What the captions measured, each part once with all its points; and whether a figure of it has hollow markers."""
    found: dict[tuple[str, str], tuple[Part, dict[str, Point], bool]] = {}
    for one in (m for caption in captions for m in measured(caption)):
        part, points, hollow = found.get(key := (one.part.side, one.part.label), (one.part, {}, False))
        found[key] = part, points | {p.name: p for p in one.points}, hollow or one.hollow
    return [(part, list(points.values()), hollow) for part, points, hollow in found.values()]
