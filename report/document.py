"""Puts the report together as blocks and has typst set them. Content reaches the template as JSON only."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path

from report import forks
from report.claims import study_claims
from report.claims.verdict import Finding
from report.data.collect import Study
from report.experiment import Figure, Section, Table
from report.files import write as write_file
from report.sections import answers, comparison, first_page, literature, machines, provenance, side_by_side
from report.sections.contributions import Contribution, contributions, told

TEMPLATE = Path(__file__).parent / "template" / "report.typ"


class Missing(Exception):
    """The typst package is not installed."""


class Failed(Exception):
    """typst could not set the document; the text has the reason."""


@dataclass(frozen=True)
class Document:
    """All that is printed: the sections in order, and the first page's own figures."""

    study: Study
    found: Sequence[Contribution]
    joined: Sequence[Section]
    first: Sequence[Figure]
    judged: Callable[[], list[Finding]]

    @cached_property
    def told(self) -> list[Finding]:
        """The findings of the claims that this report shows."""
        return self.judged()

    @property
    def claims(self) -> list[Finding]:
        """The findings of all claims of the literature, for a study of several experiments."""
        return [] if first_page.is_single(self.found) else self.told

    @cached_property
    def beside(self) -> Section | None:
        """The machines side by side, where several were measured."""
        ladders, main = ([x for c in self.found if not paper or c.section.paper for x in c.section.ladders] for paper in (False, True))
        return None if first_page.is_single(self.found) else side_by_side.section(self.study, main, ladders)

    @property
    def sections(self) -> list[Section]:
        return [*(c.section for c in self.found), *self.joined]

    @property
    def titled(self) -> list[tuple[str, str, Section]]:
        """The name, title and section of each experiment, then of what joins several, without a name."""
        return [*((c.view.name, c.view.title, c.section) for c in self.found), *(("", comparison.TITLE, section) for section in self.joined)]

    def figures(self) -> list[Figure]:
        """Every figure once, by name."""
        extra = [x for s in self.sections for x in (*s.paper, *s.appendix) if isinstance(x, Figure)]
        extra += self.beside.figures if self.beside else []
        return _unique([*self.first, *(f for s in self.sections for f in s.figures), *extra])

    def tables(self) -> list[Table]:
        own = [t for s in self.sections for t in (*s.tables, *(x for x in (*s.paper, *s.appendix) if isinstance(x, Table)))]
        own += [*self.beside.tables, *side_by_side.verdicts(self.claims)] if self.beside else []
        own += [] if first_page.is_single(self.found) else answers.tables(self.titled, self.claims)
        summary = literature.summary(self.claims)
        own += [summary[1], *literature.tables(self.claims)] if summary else []
        return _unique([*own, *machines.section(self.study)[1], *provenance.section(self.study)[1]])


def _unique(items: list) -> list:
    """Each once; two different ones of one name are a mistake of who wrote them."""
    found = list({id(item): item for item in items}.values())
    twice = [name for name, number in Counter(item.name for item in found).items() if number > 1]
    if twice:
        raise ValueError(f"two figures or tables are called {twice[0]}")
    return found


def make(study: Study) -> Document:
    """Composes every experiment's section once, then the sections that join them."""
    judged = forks.begin(study_claims.of_study, study)  # takes as long as all else here
    found = contributions(study)
    first = first_page.figures(found)
    ladders = [ladder for c in found for ladder in c.section.ladders]
    joined = [section for x in comparison.comparisons(study, ladders)
              if (section := told(comparison.TITLE, partial(comparison.section, x)))]
    return Document(study, [replace(c, section=_without(c.section, first)) for c in found], joined, _paired(first), judged)


def _without(section: Section, first: Sequence[Figure]) -> Section:
    """The section without the figures that are on the first page."""
    figures = _paired([f for f in first_page.every(section) if all(f is not x for x in first)])
    drawn = {f.name: f for f in figures}  # as wide as in the experiment's own section
    paper = [drawn.get(item.name, item) if isinstance(item, Figure) else item for item in section.paper if all(item is not x for x in first)]
    return replace(section, figures=figures, paper=paper, appendix=_paired(section.appendix))


def _paired(items: Sequence) -> list:
    """The items, with each half figure that has no neighbour made full width."""
    made = list(items)
    halves = [i for i, item in enumerate(made) if isinstance(item, Figure) and item.half]
    while halves:
        i = halves.pop(0)
        if halves and halves[0] == i + 1:
            halves.pop(0)
        else:
            made[i] = replace(made[i], half=False)
    return made


def write(content: Mapping[str, dict], output: Path) -> None:
    """Writes report.json, with all documents by name, and report.typ; together with figures/ they can be set anywhere, later."""
    text = json.dumps(content, ensure_ascii=False, indent=1)
    write_file(output / "report.json", f"{text}\n")
    write_file(output / "report.typ", TEMPLATE.read_bytes())


def typeset(names: Sequence[str], output: Path) -> list[Path]:
    """NAME.pdf of each document, from report.typ with typst's own fonts; Missing without the typst package."""
    begun = {name: forks.begin(_typeset, output, name) for name in names}
    made = []
    for name, pages in begun.items():
        try:
            write_file(path := output / f"{name}.pdf", pages())
        except forks.Died as error:
            raise Failed(f"{name}: {error}") from None
        made.append(path)
    return made


def _typeset(output: Path, name: str) -> bytes:
    try:
        import typst
    except ModuleNotFoundError:
        raise Missing from None
    except ImportError as error:
        raise Failed(str(error)) from None
    try:
        return typst.compile(str(output / "report.typ"), root=str(output), format="pdf", ignore_system_fonts=True, sys_inputs={"document": name})
    except RuntimeError as error:
        raise Failed(f"{name}: {error}") from None
