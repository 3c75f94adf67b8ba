"""rung.bib: the run itself, and the documents that the report cites, as BibTeX."""

from __future__ import annotations

import re
from collections.abc import Iterable
from urllib.parse import quote

from report.data.collect import Study
from report.latex.escape import escape
from report.sections import provenance
from report.text import sources, words

RUN = "rung"
"""The key of the run."""
JOURNAL = re.compile(r"(?P<journal>.+?) (?P<volume>\d+)\((?P<number>[\d–-]+)\)")
MEETING = re.compile(r".*\b(?:19|20)\d\d|.*\([A-Z]\w+\)|.*\bConference\b.*")
REPORT = re.compile(r"Technical report (?P<number>\S+), (?P<institution>.+)")
ARXIV = re.compile(r"(?:arXiv:|https://arxiv\.org/abs/|10\.48550/arXiv\.)(?P<eprint>[\w./-]+)")
EDITION = " edition"
ALLOWED = "/:?=&~+,;@()!*'-._"


def bibliography(study: Study, cited: Iterable[str]) -> str:
    """All entries by key."""
    known = sources.documents()
    made = [_run(study), *(_document(key, known[key]) for key in sorted(set(cited)) if key in known and key != RUN)]
    return "\n".join(["% The run and the documents that its report cites", *made])


def _run(study: Study) -> str:
    run = provenance.cited(study)
    machines = f": {words.joined(run.machines)}" if run.machines else ""
    commits = f"Commit{'s' * (len(run.commits) > 1)} {words.joined(run.commits) or 'unknown'}. " if run.commits else ""
    note = f"{commits}Measured {' to '.join(run.days)}.{run.changed}"
    return _entry("misc", RUN, {"author": "{The rung authors}", "title": f"{{{escape(f'{run.version}{machines}')}}}", "year": run.days[-1][:4],
                                "howpublished": "Results and report of a performance study", "note": escape(note)})


def _document(key: str, e: dict) -> str:
    kind, fields = _kind(e)
    title = f"{e.get('title', '')} [{e['translation']}]" if "translation" in e else str(e.get("title", ""))
    doi = str(e.get("doi", ""))
    edition = str(e.get("edition", ""))
    if not edition.endswith(EDITION):  # 'version 13.0', after which BibTeX would print 'edition'
        fields, edition = fields | {"note": escape(_capital(edition))}, ""
    given = {"author": _authors(e), "title": f"{{{escape(title)}}}", **fields, "edition": escape(edition.removesuffix(EDITION)),
             "year": escape(e.get("year", "")), "doi": _address(doi), "url": "" if doi else _address(str(e.get("url", "")))}
    return _entry(kind, key, given)


def _kind(e: dict) -> tuple[str, dict[str, str]]:
    """The type of the entry, and the fields that its venue gives."""
    venue, publisher, kind = (str(e.get(name, "")) for name in ("venue", "publisher", "kind"))
    eprint = next((m["eprint"] for text in (venue, str(e.get("doi", "")), str(e.get("url", ""))) if (m := ARXIV.match(text))), "")
    if kind == "book":
        return "book", {"publisher": escape(publisher)}
    if kind in ("manual", "standard"):
        return "manual", {"organization": escape(publisher)}
    if kind != "article":
        return "misc", {"howpublished": escape(", ".join(filter(None, (_capital(venue), publisher))))}
    if eprint:
        return "misc", {"eprint": escape(eprint), "archiveprefix": "arXiv", "howpublished": escape(f"arXiv:{eprint}")}
    if found := REPORT.fullmatch(venue):
        return "techreport", {name: escape(found[name]) for name in ("number", "institution")}
    if found := JOURNAL.fullmatch(venue):
        return "article", {name: escape(found[name]) for name in ("journal", "volume", "number")}
    if venue and MEETING.fullmatch(venue):
        return "inproceedings", {"booktitle": escape(venue)}
    if venue:
        return "article", {"journal": escape(venue)}
    return ("techreport", {"institution": escape(publisher)}) if publisher else ("misc", {})


def _capital(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


def _authors(e: dict) -> str:
    """'Surname, First and Surname, First and others'; an organisation in braces, so that it is no person."""
    author = str(e.get("author", ""))
    names = [name.strip() for name in author.removesuffix(sources.OTHERS).split(", ") if name.strip()]
    if e.get("organisation") or len(names) == 1 and " " not in names[0]:
        return f"{{{escape(author)}}}"
    return " and ".join([*map(_name, names), *(["others"] if author.endswith(sources.OTHERS) else [])])


def _name(name: str) -> str:
    surname = sources.surname(name)
    first = name.removesuffix(surname).strip()
    return f"{escape(surname)}, {escape(first)}" if first else f"{{{escape(name)}}}"


def _address(text: str) -> str:
    """A DOI or an address, without a letter that could end the field or begin a command."""
    return quote(text, safe=ALLOWED + "%")


def _entry(kind: str, key: str, fields: dict[str, str]) -> str:
    return "\n".join([f"@{kind}{{{key},", *(f"  {name} = {{{value}}}," for name, value in fields.items() if value), "}", ""])
