"""The report as one HTML file: the document's blocks, its figures, and the data of its points and tables.

Nothing is loaded from anywhere: the policy allows the one style and the one script of the page, by their hashes, and pictures
from the page itself. All texts are escaped; what the script shows are texts, never markup.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from report.claims.verdict import ORDER, Finding
from report.document import Document
from report.experiment import Table
from report.faults import UNUSABLE, say, why
from report.files import write as write_file
from report.output import safe_name
from report.text import sources
from report.text.blocks import ZERO_WIDTH_SPACE
from report.web import model, svg
from report.web.markup import escaped, flowing, packed

HERE = Path(__file__).parent
FILE = "report.html"
PARTS = (("main", "Findings"), ("method", "Method"), ("appendix", "Appendix"))
CSV = re.compile(rf"(tables|figures)/{ZERO_WIDTH_SPACE}?([\w.{ZERO_WIDTH_SPACE}-]+?)\.csv")
POLICY = "default-src 'none'; style-src {style}; script-src {script}; img-src data: blob:; base-uri 'none'; form-action 'none'"
SAMPLES, SAMPLES_CSV = '<div id="samples"></div>', "tables/samples"
LONGEST_SVG = 1 << 20
"""Bytes; a longer figure is left to its own file."""


@dataclass
class Page:
    """The page while it is written. `figures`: the folder of the drawn ones."""

    figures: Path
    tables: Mapping[str, Table]
    claims: Mapping[str, Sequence[Finding]]
    csvs: frozenset[str]
    sheet: svg.Sheet = field(default_factory=svg.Sheet)
    numbers: dict[str, int] = field(default_factory=dict)
    tabled: int = 0
    sections: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    sources: dict[str, int] = field(default_factory=dict)
    has_claims: bool = False

    # Blocks

    def blocks(self, items: Sequence[dict]) -> str:
        kinds: dict[str, Callable[[dict], str]] = {
            "subheading": lambda b: f"<h3>{flowing(b['text'])}</h3>", "question": lambda b: f'<p class="question">{self.text(b["text"])}</p>',
            "text": self._paragraph, "figures": self._figures, "table": self._table, "verdict": _verdict,
            "pairs": lambda b: f'<dl>{"".join(f"<dt>{flowing(k)}<dd>{self.text(v)}" for k, v in b["rows"])}</dl>',
            "entries": lambda b: f'<ul class="entries">{"".join(f"<li>{self.text(i)}" for i in b["items"])}</ul>'}
        return "\n".join(kinds[b["kind"]](b) for b in items if b["kind"] in kinds)

    def part(self, name: str, items: Sequence[dict], number: Callable[[int], str], before: int = 0) -> str:
        """A part of the document: a section for each heading."""
        starts = [i for i, b in enumerate(items) if b["kind"] == "heading"]
        made = [self.blocks(items[:starts[0] if starts else None])]
        for i, (start, end) in enumerate(zip(starts, [*starts[1:], len(items)]), before + 1):
            title, at = flowing(items[start]["text"]), f"{name}-{i}"
            self.sections.setdefault(name, []).append((at, f"{number(i)} {title}"))
            made.append(f'<section id="{at}"><h2><span class="n">{number(i)}</span> {title}</h2>\n{self.blocks(items[start + 1:end])}</section>')
        return "\n".join(made)

    def text(self, text: str) -> str:
        """A text in which the names of CSV files lead to them."""
        made, last = [], 0
        for m in CSV.finditer(text):
            name = f"{m[1]}/{m[2].replace(ZERO_WIDTH_SPACE, '')}"
            if name in self.csvs:
                made += [flowing_part(text[last:m.start()]), f'<button class="link" data-csv="{escaped(name)}">{flowing(m[0])}</button>']
                last = m.end()
        return "".join([*made, flowing_part(text[last:])])

    def _paragraph(self, block: dict) -> str:
        first, last = block.get("figures", (None, None))
        text = self.text(block["text"])
        if first in self.numbers and last in self.numbers:
            a, b = (f'<a href="#f-{escaped(name)}">{self.numbers[name]}</a>' for name in (first, last))
            how = "and" if self.numbers[last] == self.numbers[first] + 1 else "to"
            text += f" (Figure\u00a0{a}.)" if first == last else f" (Figures\u00a0{a} {how}\u00a0{b}.)"
        return f"<p>{text}</p>"

    def _figures(self, block: dict) -> str:
        items = block["items"]
        is_half = len(items) > 1 or items[0]["half"]
        return f'<div class="{"pair" if is_half else "whole"}">{"".join(map(self._figure, items))}</div>'

    def _figure(self, item: dict) -> str:
        name, caption, number = escaped(item["name"]), self.text(item["caption"]), self.numbers[item["name"]]
        drawing = self._drawing(item, f"Figure {number}") if item["file"] else ""
        note = " (This figure is in figures/ only.)" if item["file"] and not drawing else ""
        file = f' data-csv="figures/{name}"' if f"figures/{item['name']}" in self.csvs else ""
        return (f'<figure class="fig" id="f-{name}"{file}>{f"<div class=scroll>{drawing}</div>" if drawing else ""}'
                f"<figcaption><b>Figure {number}.</b> {caption}{note}</figcaption></figure>")

    def _drawing(self, item: dict, title: str) -> str:
        path = self.figures / f"{item['name']}.svg"
        if not path.is_file() or path.is_symlink() or path.stat().st_size > LONGEST_SVG:
            return ""
        try:
            return svg.cleaned(path.read_text(encoding="utf-8", errors="replace"), title, escaped(item["alt"]), self.sheet)
        except ValueError:
            return ""

    def _table(self, block: dict) -> str:
        self.tabled += 1
        name, table = escaped(block["name"]), self.tables.get(block["name"])
        keys = [c.key for c in table.columns] if table else []
        right = "".join(f" r{i}" for i, side in enumerate(block["align"], 1) if side == "r")
        head = "".join(f'<th scope="col" data-k="{escaped(k)}">{flowing(c)}' for c, k in zip(block["columns"], keys or block["columns"]))
        rows = "".join(f"<tr{mark}>{''.join(f'<td>{flowing(cell)}' for cell in row)}\n" for row, mark in zip(block["rows"], self._marks(block, table)))
        first = not self.has_claims and " claims" in self._kind(table)
        self.has_claims |= first
        search = '<div id="claims"></div>' if first else ""
        return (f'{search}<figure class="table{self._kind(table)}" id="t-{name}" data-csv="tables/{name}"><figcaption><b>Table {self.tabled}.</b> '
                f'{self.text(block["caption"])}</figcaption><div class="scroll" tabindex="0" role="region" aria-label="Table {self.tabled}">'
                f'<table class="{right.strip()}"><thead><tr>{head}<tbody>{rows}</table></div></figure>')

    def _kind(self, table: Table | None) -> str:
        return " claims" if table and self.claims and table.rows and "source" in table.rows[0] and table.rows[0].get("id") in self.claims else ""

    def _marks(self, block: dict, table: Table | None) -> list[str]:
        """For the search of claims: the document and the verdict of each row."""
        if not self._kind(table) or table is None:
            return [""] * len(block["rows"])
        seen: dict[str, int] = {}
        made = []
        for row in table.rows:
            number = seen[row["id"]] = seen.get(row["id"], -1) + 1
            mine = self.claims[row["id"]]
            verdict = ORDER.index(mine[min(number, len(mine) - 1)].verdict)
            source = self.sources.setdefault(sources.cite(row["source"]), len(self.sources))
            made.append(f' data-v="{verdict}" data-d="{source}"{" data-same" if number else ""}')
        return made


def flowing_part(text: str) -> str:
    """A part of a text: the spaces at its ends count."""
    inner = flowing(text)
    return f"{' ' * text.startswith(' ')}{inner}{' ' * (text.endswith(' ') and bool(inner))}"


def _verdict(block: dict) -> str:
    source = f" ({flowing(block['source'])})" if block["source"] else ""
    words = block["verdict"]
    kind = max((i for i, v in enumerate(ORDER) if words.startswith(v)), key=lambda i: len(ORDER[i]), default=len(ORDER))
    return (f'<p class="verdict"><span class="kind">Claim</span> {flowing(block["claim"])}{source}: <b class="v{kind}">{flowing(words)}.</b>'
            f' {flowing(block["evidence"])}</p>')


def letters(number: int) -> str:
    """'A' … 'Z', 'AA' …"""
    head, last = divmod(number - 1, 26)
    return f"{letters(head) if head else ''}{chr(ord('A') + last)}"


def write(document: Document, content: dict, output: Path) -> None:
    """Writes report.html; the figures are those in `output`."""
    write_file(output / FILE, made(document, content, output / "figures"))


def made(document: Document, content: dict, figures: Path) -> str:
    """The whole page."""
    tables = document.tables()
    rows = model.rows(document.figures(), tables)
    claims: dict[str, list[Finding]] = {}
    for finding in document.claims:
        claims.setdefault(finding.entry.id, []).append(finding)
    page = Page(figures, {safe_name(t.name): t for t in tables}, claims, frozenset(rows["files"]))
    every = [b for part in ("first", *(name for name, _ in PARTS)) for b in content.get(part, ())]
    shown = [item["name"] for b in every if b["kind"] == "figures" for item in b["items"]]
    page.numbers = {name: number for number, name in enumerate(shown, 1)}
    first = page.blocks(content["first"])
    main = page.part("main", content["main"], str)
    method = page.part("method", content["method"], str, len(page.sections.get("main", ())))
    appendix = page.part("appendix", content["appendix"], letters)
    lines = _model(document) | {"verdicts": list(ORDER), "documents": list(page.sources)}
    body = (f'{_top(content["page"], page, bool(lines["marks"]))}<section class="first">{first}</section>{main}{method}'
            f'<h1 class="part">Appendix</h1>{SAMPLES if SAMPLES_CSV in page.csvs else ""}{appendix}')
    style, script = (HERE / "page.css").read_text(encoding="utf-8") + page.sheet.css(), (HERE / "page.js").read_text(encoding="utf-8")
    policy = POLICY.format(style=_hash(style), script=_hash(script))
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{escaped(content["page"]["title"])}</title>
<style>{style}</style>
</head>
<body>
<a class="skip" href="#content">To the text</a>
<header class="bar"><span>{escaped(content["page"]["title"])}</span><button id="theme" hidden>Dark</button></header>
{_contents(page, bool(lines["marks"]))}
<main id="content">
{body}
</main>
<div id="tip" role="status" hidden></div>
{page.sheet.defs()}
<script type="text/plain" id="model">{packed(lines)}</script>
<script type="text/plain" id="rows">{packed(rows)}</script>
<script>{script}</script>
</body>
</html>
"""


def _model(document: Document) -> dict:
    """The model; without rooflines where the results have values that no run writes."""
    try:
        return model.made(document.study, [ladder for s in document.sections for ladder in s.ladders])
    except UNUSABLE as error:
        say(f"{FILE} has no roofline: {why(error)}")
        return {"marks": []}


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def _top(page: dict, of: Page, has_roofline: bool) -> str:
    """Title, question, answer, warnings, and the roofline next to them."""
    source = f' <span class="soft">({of.text(page["source"])})</span>' if page["source"] else ""
    reasons = "".join(f"<li>{of.text(text)}" for text in page["warnings"])
    number = len(page["warnings"])
    warnings = (f'<details class="warnings"><summary>Treat with care: {number} reason{"s" * (number > 1)} to doubt some of the numbers'
                f"</summary><ul>{reasons}</ul></details>") if reasons else ""
    answer = "".join(f"<p>{of.text(text)}</p>" for text in page["sentences"])
    roofline = ('<section id="roofline" aria-label="Roofline"><noscript>The roofline, the samples and the CSV files need JavaScript.'
                "</noscript></section>") if has_roofline else ""
    return (f'<div class="top"><div class="answer"><h1>{flowing(page["title"])}</h1><p class="soft">{of.text(page["subtitle"])}</p>'
            f'<p class="question">{of.text(page["question"])}{source}</p>{answer}{warnings}</div>{roofline}</div>')


def _contents(page: Page, has_roofline: bool) -> str:
    """The table of contents: open next to the text, closed above it on a small screen."""
    searches = [("claims", page.has_claims), ("samples", SAMPLES_CSV in page.csvs)]
    extra = {"main": '<li><a href="#roofline">Roofline</a>' if has_roofline else "",
             "appendix": "".join(f'<li><a href="#{what}">Search the {what}</a>' for what, is_there in searches if is_there)}
    lists = ""
    for name, title in PARTS:
        links = "".join(f'<li><a href="#{at}">{text}</a>' for at, text in page.sections.get(name, ()))
        lists += f'<h2>{title}</h2><ul>{extra.get(name, "")}{links}</ul>' if links else ""
    return f'<nav id="contents" aria-label="Contents"><details open><summary>Contents</summary>{lists}</details></nav>'
