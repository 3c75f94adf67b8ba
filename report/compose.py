"""What each document of a study consists of, as blocks.

Of several experiments: report.pdf, a paper with the thesis; experiments.pdf, where each experiment has its question, answer, figures
and verdicts; literature.pdf, with every claim; data.pdf, with all other figures and tables, the method in full and the
provenance; machines.pdf, where several were measured; summary.pdf, one page; slide.pdf, the ladder on a slide. Of a single experiment: report.pdf, with everything.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from report.document import Document
from report.experiment import Figure, Section, Table, words
from report.sections import (
    answers,
    comparison,
    first_page,
    literature,
    machines,
    method,
    provenance,
    references,
    side_by_side,
)
from report.sections.contributions import Contribution
from report.text import blocks, captions, sources
from report.text.blocks import heading, paragraph, question, table

REPORT, EXPERIMENTS, LITERATURE, DATA, SUMMARY, SLIDE = "report", "experiments", "literature", "data", "summary", "slide"
MACHINES = "machines"
NAMES = REPORT, EXPERIMENTS, LITERATURE, MACHINES, DATA, SUMMARY, SLIDE
TALLEST = 100.0
"""Millimetres of an experiment's figures on its page; the others are among the data."""


def documents(document: Document, undrawn: Mapping[str, str]) -> dict[str, dict]:
    """The documents by name; `undrawn`: the figures that are not drawn, and why."""
    if first_page.is_single(document.found):
        return {REPORT: _single(document, undrawn)}
    made = {REPORT: _paper(document, undrawn), EXPERIMENTS: _experiments(document, undrawn)}
    if document.claims:
        made[LITERATURE] = _literature(document)
    made |= {MACHINES: _machines(document, document.beside, undrawn)} if document.beside else {}
    return made | {DATA: _data(document, undrawn), SUMMARY: _summary(document, undrawn)} | _slide(document, undrawn)


def _page(document: Document, title: str, **parts: object) -> dict:
    """A document that begins with its title; `parts`: what else it has."""
    page = {"title": title, "subtitle": first_page.machines(document.study), "date": document.study.date[:10], "question": "", "source": "",
            "sentences": [], "warnings": []} | {key: parts.pop(key) for key in ("question", "source", "sentences", "warnings") if key in parts}
    return {"page": {k: [blocks.clean(v) for v in value] if isinstance(value, list) else blocks.clean(value) for k, value in page.items()},
            "layout": "page", "contents": False, "first": [], "main": [], "method": [], "appendix": []} | parts


def _single(document: Document, undrawn: Mapping[str, str]) -> dict:
    """One experiment with everything."""
    page = first_page.compose(document.study, document.found, document.joined)
    one = _with_claims(document)[0].section
    body = _body(replace(one, figures=document.first), undrawn)[len(page["sentences"]):]
    return _page(document, page["title"], **{k: page[k] for k in ("question", "source", "sentences", "warnings")}, first=body,
                 method=_method(document), appendix=[*_of_sections(document, undrawn), *_provenance(document)])


def in_one(document: Document, undrawn: Mapping[str, str]) -> dict:
    """All of it as one document, each figure once: for the page in a browser."""
    single = first_page.is_single(document.found)
    if single:
        return _single(document, undrawn)
    page, main = first_page.compose(document.study, document.found, document.joined), []
    for c in _with_claims(document):
        source = sources.cite_all(c.view.references)
        more = [x for x in c.section.paper if isinstance(x, Table) and x not in c.section.tables]
        main += [heading(c.view.title), question(f"{c.view.question}{f' ({source})' if source else ''}"), *_body(c.section, undrawn), *map(table, more)]
    for section in document.joined:
        main += [heading(comparison.TITLE), question(comparison.QUESTION), *_body(section, undrawn)]
    if document.beside:
        main += [heading(side_by_side.TITLE), question(side_by_side.QUESTION), *_body(document.beside, undrawn),
                 *map(table, side_by_side.verdicts(document.claims))]
    appendix = [block for _, title, section in document.titled if section.appendix for block in (heading(title), *_blocks(section.appendix, undrawn))]
    claims = [heading(literature.TITLE), *map(table, literature.tables(document.claims))] if document.claims else []
    return _page(document, page["title"], **{k: page[k] for k in ("question", "sentences", "warnings")}, first=blocks.figures(document.first, undrawn),
                 main=[*main, *_checked(document)], method=_method(document), appendix=[*appendix, *claims, *_provenance(document)])


def _paper(document: Document, undrawn: Mapping[str, str]) -> dict:
    page = first_page.compose(document.study, document.found, document.joined)
    keys = references.of_paper(document.found)
    main = [*method.brief(document.study, lambda key: references.number(key, keys))]
    asked = {"": comparison.QUESTION} | {
        c.view.name: f"{c.view.question}{references.numbers(c.view.references, keys)}" for c in document.found if c.section.paper}
    for name, title, section in document.titled:
        if section.paper:
            main += [heading(title), question(asked[name]), *_text(section.finding, [x for x in section.paper if isinstance(x, Figure)]), *_once(section.paper, undrawn)]
    if others := answers.tables(document.titled, document.claims):
        main += [heading(answers.TITLE), question(answers.QUESTION), *map(table, others)]
    main += _checked(document)
    return _page(document, page["title"], **{k: page[k] for k in ("question", "sentences", "warnings")}, contents=True,
                 first=_once(document.first, undrawn), main=main,
                 method=[*method.validity(document.study, is_brief=True), *provenance.again(document.study),
                         *references.section(keys)])


def _experiments(document: Document, undrawn: Mapping[str, str]) -> dict:
    made = []
    for c in _with_claims(document):
        source = sources.cite_all(c.view.references)
        shown = [*_fitting(c.section.figures)]
        made += [heading(c.view.title), question(f"{c.view.question}{f' ({source})' if source else ''}"),
                 *_text(c.section.finding, shown), *_once(shown, undrawn), *map(blocks.verdict_line, c.section.claims)]
    for section in document.joined:
        made += [heading(comparison.TITLE), question(comparison.QUESTION), *_text(section.finding, section.figures),
                 *_once(section.figures, undrawn)]
    return _page(document, "Experiments", question="Each experiment: its question, its answer, and the verdicts on at most "
                 f"{literature.MOST} claims of the literature, those that do not hold first; literature.pdf has all.",
                 contents=True, main=made)


def _literature(document: Document) -> dict:
    return _page(document, literature.TITLE, question=literature.QUESTION, contents=True, main=[
        *_checked(document)[2:], *literature.errata(document.claims),
        *(block for made in literature.tables(document.claims) for block in (heading(literature.name_of(made)), table(made)))])


def _machines(document: Document, found: Section, undrawn: Mapping[str, str]) -> dict:
    changed = side_by_side.verdicts(document.claims)
    first, rest = found.figures[:2], found.figures[2:]
    main = [*_text(found.finding, found.figures), *_once(rest, undrawn), *map(table, found.tables)]
    main += [heading("Verdicts that differ"), question(literature.QUESTION), *map(table, changed)] if changed else []
    return _page(document, side_by_side.TITLE, question=side_by_side.QUESTION, main=main,
                 first=blocks.figures([replace(f, caption=captions.own(f.caption)) for f in first], undrawn))


def _data(document: Document, undrawn: Mapping[str, str]) -> dict:
    return _page(document, "Data and method", question="All further figures and tables, the method in full, and where every number comes from.",
                 contents=True, main=[*_method(document), *_of_sections(document, undrawn), *_provenance(document)])


def _summary(document: Document, undrawn: Mapping[str, str]) -> dict:
    page = first_page.compose(document.study, document.found, document.joined)
    short = [replace(f, caption=captions.own(f.caption)) for f in document.first]
    return _page(document, page["title"], **{k: page[k] for k in ("question", "sentences")}, layout="summary",
                 first=blocks.figures(short, undrawn), main=provenance.citation(document.study))


def _slide(document: Document, undrawn: Mapping[str, str]) -> dict[str, dict]:
    """The first ladder with a figure of its rungs; none without one that is drawn."""
    for c in document.found:
        if c.section.slide and c.section.answer and c.section.slide.name not in undrawn:
            shown = replace(c.section.slide, caption=captions.own(c.section.slide.caption))
            return {SLIDE: _page(document, c.view.title, layout="slide", sentences=list(c.section.answer[:1]),
                                 first=blocks.figures([shown], undrawn))}
    return {}


# Parts


def _with_claims(document: Document) -> list[Contribution]:
    return [replace(c, section=replace(c.section, claims=literature.of_experiment(document.told, c.view))) for c in document.found]


def _checked(document: Document) -> list[dict]:
    summary = literature.summary(document.claims)
    if not summary:
        return []
    text, told = summary
    return [heading(literature.TITLE), question(literature.QUESTION), paragraph(text), table(told)]


def _method(document: Document) -> list[dict]:
    return [*method.method(document.study), *method.validity(document.study), *references.section(references.cited(document.found, document.claims))]


def _fitting(figures: Sequence[Figure]) -> list[Figure]:
    """The first figures that fit an experiment's page; two halves share a row."""
    shown: list[Figure] = []
    height, is_open = 0.0, False
    for figure in figures:
        is_beside = figure.half and is_open
        if shown and not is_beside and height + figure.height > TALLEST:
            break
        height += 0 if is_beside else figure.height
        is_open = figure.half and not is_beside
        shown.append(figure)
    return shown


def _text(finding: str, figures: Sequence[Figure]) -> list[dict]:
    *texts, last = finding.split("\n")
    return [*map(paragraph, texts), paragraph(last, figures)]


def _body(section: Section, undrawn: Mapping[str, str]) -> list[dict]:
    """Finding, figures, claims, tables."""
    return [*_text(section.finding, section.figures), *blocks.figures(section.figures, undrawn),
            *map(blocks.verdict, section.claims), *map(table, section.tables)]


def _once(items: Sequence[Figure | Table | str], undrawn: Mapping[str, str]) -> list[dict]:
    """The items without where and how their values were measured, which follows for all of them together."""
    shown = [item if isinstance(item, str) else replace(item, caption=captions.own(item.caption)) for item in items]
    told = [str(words.provenance(part, points, hollow))
            for part, points, hollow in captions.together(item.caption for item in items if not isinstance(item, str))]
    return [*_blocks(shown, undrawn), *([blocks.note(" ".join(told))] if told else [])]


def _of_sections(document: Document, undrawn: Mapping[str, str]) -> list[dict]:
    """What no other document shows of each experiment."""
    made: list[dict] = []
    is_single = first_page.is_single(document.found)
    for _, title, section in document.titled:
        rest: list[Figure | Table] = [] if is_single else [*section.figures[len(_fitting(section.figures)):], *section.tables]
        if is_single:  # no paper shows these
            rest = [x for x in section.paper if isinstance(x, Table) and x not in section.tables]
        if shown := [*rest, *section.appendix]:
            made += [heading(title), *_blocks(shown, undrawn)]
    return made


def _provenance(document: Document) -> list[dict]:
    texts, tables = machines.section(document.study)
    made = [heading("Machines and roofs"), *texts, *map(table, tables)] if texts or tables else []
    texts, tables = provenance.section(document.study)
    return [*made, heading("Provenance"), *texts, *map(table, tables), *provenance.contexts(document.study), *provenance.citation(document.study)]


def _blocks(items: Sequence[Figure | Table | str], undrawn: Mapping[str, str]) -> list[dict]:
    """The items as blocks; half figures in a row are side by side."""
    made: list[dict] = []
    run: list[Figure] = []
    for item in [*items, None]:
        if isinstance(item, Figure):
            run.append(item)
            continue
        made += blocks.figures(run, undrawn)
        run = []
        made += [] if item is None else [paragraph(item) if isinstance(item, str) else table(item)]
    return made
