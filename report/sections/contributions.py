"""Each experiment's section: by experiments/NAME.py, found by its name, else the generic one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from report.data.collect import Study
from report.data.view import View, collecting
from report.experiment import Section, Table
from report.faults import UNUSABLE, why
from report.sections import module
from report.text import blocks


@dataclass(frozen=True)
class Untold(Section):
    """Replaces the section of an experiment whose code fails on these results; `warnings` has the reason."""


@dataclass(frozen=True)
class Contribution:
    view: View
    section: Section


def contributions(study: Study) -> list[Contribution]:
    """All sections with contents, by chapter. Sections that an experiment joins are composed before it."""
    views = {view.name: view for view in study.views}
    made: dict[str, Section | None] = {}
    for view in study.views:
        _compose(view, views, made, ())
    return [Contribution(view, section) for view in study.views if (section := made[view.name])]


def _compose(view: View, views: Mapping[str, View], made: dict[str, Section | None], above: tuple[str, ...]) -> None:
    if view.name in made:
        return
    joins = view.settings.get("joins")
    names = [n for n in views if n in joins and n not in (*above, view.name)] if isinstance(joins, list) else []
    for name in names:
        _compose(views[name], views, made, (*above, view.name))
    joined = {name: made[name] for name in names if made[name]}
    made[view.name] = told(view.name, lambda: module.of(view).section(replace(collecting(view, views.values()), joined=joined)))


def told(name: str, make: Callable[[], Section | None]) -> Section | None:
    """The section, after a check that its tables can be written. If its code fails on unexpected values, a section that
    reports that, so that the others are reported in any case."""
    try:
        section = make()
        for item in (*section.tables, *section.appendix) if section else ():
            if isinstance(item, Table):
                blocks.table(item)
        return section
    except UNUSABLE as error:
        return Untold("Its results have values that its report does not expect.",
                      warnings=[f"{name} cannot be reported from these results: {why(error)}."])
