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
from report.sections import comparison, first_page, literature, machines, method, provenance, references
from report.sections.contributions import Contribution, contributions, told
from report.text import blocks, sources

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

    @property
    def sections(self) -> list[Section]:
        return [*(c.section for c in self.found), *self.joined]

    def figures(self) -> list[Figure]:
        """Every figure once, by name."""
        extra = [x for s in self.sections for x in s.appendix if isinstance(x, Figure)]
        return _unique([*self.first, *(f for s in self.sections for f in s.figures), *extra])

    def tables(self) -> list[Table]:
        own = [t for s in self.sections for t in (*s.tables, *(x for x in s.appendix if isinstance(x, Table)))]
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


def _with_claims(document: Document) -> list[Contribution]:
    return [replace(c, section=replace(c.section, claims=literature.of_experiment(document.told, c.view)))
            for c in document.found]


def _without(section: Section, first: Sequence[Figure]) -> Section:
    """The section without the figures that are on the first page."""
    figures = [f for f in first_page.every(section) if all(f is not x for x in first)]
    return replace(section, figures=_paired(figures), appendix=_paired(section.appendix))


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


def data(document: Document, undrawn: Mapping[str, str]) -> dict:
    """The whole document as data for the template; `undrawn`: the figures that are not drawn, and why."""
    study, found, single = document.study, _with_claims(document), first_page.is_single(document.found)
    page = first_page.compose(study, found, document.joined)
    main = [] if single else [block for c in found for block in _experiment(c, undrawn)]
    for section in document.joined:
        main += [blocks.heading(comparison.TITLE), blocks.question(comparison.QUESTION), *_body(section, undrawn)]
    main += _literature(document.claims)
    first = _body(replace(found[0].section, figures=document.first), undrawn)[len(page["sentences"]):] if single else blocks.figures(
        document.first, undrawn)
    return {"page": {k: _cleaned(v) for k, v in page.items()}, "first": first, "main": main,
            "method": method.method(study) + method.validity(study) + references.section(found, document.claims),
            "appendix": _appendix(document, undrawn)}


def _cleaned(value: object) -> object:
    return [blocks.clean(v) for v in value] if isinstance(value, list) else blocks.clean(value)


def _experiment(one: Contribution, undrawn: Mapping[str, str]) -> list[dict]:
    """Half a page: title, question with its source, finding, figures, claims."""
    source = sources.cite_all(one.view.references)
    return [blocks.heading(one.view.title), blocks.question(f"{one.view.question}{f' ({source})' if source else ''}"),
            *_body(one.section, undrawn)]


def _body(section: Section, undrawn: Mapping[str, str]) -> list[dict]:
    """Finding, figures, claims, tables: text after the figures fills a page that they leave half empty."""
    *texts, last = section.finding.split("\n")
    return [*map(blocks.paragraph, texts), blocks.paragraph(last, section.figures), *blocks.figures(section.figures, undrawn),
            *map(blocks.verdict, section.claims), *map(blocks.table, section.tables)]


def _literature(found: Sequence[Finding]) -> list[dict]:
    summary = literature.summary(found)
    if not summary:
        return []
    text, table = summary
    return [blocks.heading(literature.TITLE), blocks.question(literature.QUESTION), blocks.paragraph(text), blocks.table(table)]


def _appendix(document: Document, undrawn: Mapping[str, str]) -> list[dict]:
    made = []
    titles = [c.view.title for c in document.found] + [comparison.TITLE] * len(document.joined)
    for title, section in zip(titles, document.sections):
        if section.appendix:
            made += [blocks.heading(title), *_extras(section.appendix, undrawn)]
    if document.claims:
        made += [blocks.heading(literature.TITLE), *map(blocks.table, literature.tables(document.claims))]
    texts, tables = machines.section(document.study)
    made += [blocks.heading("Machines and roofs"), *texts, *map(blocks.table, tables)] if texts or tables else []
    texts, tables = provenance.section(document.study)
    return made + [blocks.heading("Provenance"), *texts, *map(blocks.table, tables),
                   *provenance.contexts(document.study), *provenance.citation(document.study)]


def _extras(items: Sequence[Figure | Table | str], undrawn: Mapping[str, str]) -> list[dict]:
    made: list[dict | Figure] = []
    for item in items:
        if isinstance(item, str):
            made.append(blocks.paragraph(item))
        elif isinstance(item, Table):
            made.append(blocks.table(item))
        else:
            made.append(item)
    return _with_figures(made, undrawn)


def _with_figures(items: Sequence[dict | Figure], undrawn: Mapping[str, str]) -> list[dict]:
    """Sequences of figures as blocks, so that half figures in a row are side by side."""
    made: list[dict] = []
    run: list[Figure] = []
    for item in [*items, None]:
        if isinstance(item, Figure):
            run.append(item)
            continue
        made += blocks.figures(run, undrawn)
        run = []
        made += [item] if item else []
    return made


def write(content: dict, output: Path) -> None:
    """Writes report.json and report.typ; together with figures/ they can be set anywhere, later."""
    text = json.dumps(content, ensure_ascii=False, indent=1)
    write_file(output / "report.json", f"{text}\n")
    write_file(output / "report.typ", TEMPLATE.read_bytes())


def typeset(output: Path) -> Path:
    """report.pdf from report.typ with typst's own fonts; Missing without the typst package."""
    try:
        pages = forks.in_a_fork(_typeset, output)
    except forks.Died as error:
        raise Failed(str(error)) from None
    write_file(output / "report.pdf", pages)
    return output / "report.pdf"


def _typeset(output: Path) -> bytes:
    try:
        import typst
    except ModuleNotFoundError:
        raise Missing from None
    except ImportError as error:
        raise Failed(str(error)) from None
    try:
        return typst.compile(str(output / "report.typ"), root=str(output), format="pdf", ignore_system_fonts=True)
    except RuntimeError as error:
        raise Failed(str(error)) from None
