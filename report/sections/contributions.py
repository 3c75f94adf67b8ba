"""Each experiment's section: by experiments/NAME.py, found by its name, else the generic one."""

from __future__ import annotations

import traceback
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from report.data.collect import Study
from report.data.view import View
from report.experiment import Section
from report.sections import module


UNUSABLE = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""What code raises that meets values that it did not expect."""


@dataclass(frozen=True)
class Untold(Section):
    """Stands for the section of an experiment whose code fails on these results: `warnings` says why."""


@dataclass(frozen=True)
class Contribution:
    view: View
    section: Section


def contributions(study: Study) -> list[Contribution]:
    """All that have something to say, by chapter. What an experiment joins is composed before it."""
    views, made = {view.name: view for view in study.views}, {}
    for view in study.views:
        _compose(view, views, made, ())
    return [Contribution(view, made[view.name]) for view in study.views if made[view.name]]


def _compose(view: View, views: Mapping[str, View], made: dict[str, Section | None], above: tuple[str, ...]) -> None:
    if view.name in made:
        return
    names = [n for n in view.settings.get("joins", ()) if n in views and n not in (*above, view.name)]
    for name in names:
        _compose(views[name], views, made, (*above, view.name))
    joined = {name: made[name] for name in names if made[name]}
    suite = tuple(views.values()) if view.settings.get("collects") else ()
    try:
        made[view.name] = module.of(view).section(replace(view, joined=joined, suite=suite))
    except UNUSABLE as error:
        made[view.name] = _untold(view, error)


def _untold(view: View, error: Exception) -> Section:
    """So that the other experiments are told all the same."""
    place = traceback.extract_tb(error.__traceback__)[-1]
    why = f"{type(error).__name__}: {' '.join(str(error).split())} ({Path(place.filename).name}, line {place.lineno})"
    return Untold("Its results have values that its report does not expect.",
                  warnings=[f"{view.name} cannot be told from these results: {why}."])
