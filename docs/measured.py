"""What the pages in concepts/ show of the recorded results:  ```{measured} EXPERIMENT, with a figure and claims of the literature.

The numbers, figures and verdicts are those of a report on the recorded results, which is made when the site is built.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from pathlib import Path

from docutils import nodes
from docutils.parsers.rst import Directive, directives

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
from report.__main__ import main as make_report
from report.claims import entries, study_claims
from report.data.collect import collect
from report.text import blocks

RECORDED = ROOT / "experiments" / "recorded" / "nvidia-h200"
SHOWN = ROOT / "docs" / "_build" / "recorded"
"""The report on them."""


class Measured(Directive):
    """The experiment that measures a concept, what it found, a figure, and what it decides of the literature."""

    required_arguments = 1
    option_spec = {"figure": directives.unchanged_required, "claims": directives.unchanged_required}

    def run(self) -> list[nodes.Node]:
        experiment = self.arguments[0]
        found = [_sentence("Measured by ", nodes.literal("", f"rung run {experiment}"), f": {_finding(experiment)}")]
        if "figure" in self.options:
            found.append(_figure(self.options["figure"]))
        rows = [_claim(name) for name in re.split(r",\s*", self.options.get("claims", "")) if name]
        return [*found, table(("The literature says", "Source", "Verdict"), rows)] if rows else found


def _sentence(*parts: str | nodes.Node) -> nodes.paragraph:
    return nodes.paragraph("", "", *(nodes.Text(part) if isinstance(part, str) else part for part in parts))


def _finding(experiment: str) -> str:
    """The first paragraph of its section."""
    title = tomllib.loads((ROOT / "experiments" / f"{experiment}.toml").read_text(encoding="utf-8"))["title"]
    main = report()["experiments"]["main"]
    start = main.index(blocks.heading(title))
    return _plain(next(block["text"] for block in main[start + 1:] if block["kind"] == "text"))


def _figure(name: str) -> nodes.figure:
    parts = [part for document in report().values() for part in document.values() if isinstance(part, list)]
    shown = [item for part in parts for block in part if isinstance(block, dict) and block["kind"] == "figures" for item in block["items"]]
    caption = next(item["caption"] for item in shown if item["name"] == name)
    image = nodes.image(uri=f"/_build/recorded/figures/{name}.svg", alt=_plain(caption))
    return nodes.figure("", image, nodes.caption("", _plain(caption)))


def _claim(name: str) -> tuple[str, str, str]:
    found = [f for f in findings() if f.entry.id == name]
    assert found, f"there is no claim '{name}'"
    return claim(found)


def claim(found: list) -> tuple[str, str, str]:
    """A claim's findings on all machines: what is stated, where, and what became of it."""
    block = blocks.verdict(found)
    return block["claim"], block["source"], f"{block['verdict']}. {block['evidence']}"


def table(head: tuple[str, ...], rows: list[tuple[str, ...]], widths: tuple[int, ...] = (50, 20, 30)) -> nodes.table:
    """`widths`: of the columns, relative to each other."""
    group = nodes.tgroup("", *(nodes.colspec(colwidth=width) for width in widths), cols=len(head))
    group += nodes.thead("", _row(head))
    group += nodes.tbody("", *map(_row, rows))
    return nodes.table("", group)


def _row(cells: tuple[str, ...]) -> nodes.row:
    return nodes.row("", *(nodes.entry("", nodes.paragraph("", _plain(cell))) for cell in cells))


def _plain(text: str) -> str:
    return text.replace("\u200b", "")


def report() -> dict:
    """The content of the report on the recorded results, made once."""
    if not hasattr(report, "content"):
        if code := make_report([str(RECORDED), "--output", str(SHOWN)]):
            raise SystemExit(f"the report on {RECORDED} ended with {code}")
        report.content = json.loads((SHOWN / "report.json").read_text(encoding="utf-8"))
    return report.content


def findings() -> list:
    """All claims on the recorded machines, decided once."""
    if not hasattr(findings, "found"):
        known = entries.load()
        findings.found = study_claims.findings_of(collect([study_claims.RECORDED], []), known.values(), list(known.values()))
    return findings.found


def setup(app) -> dict:
    app.add_directive("measured", Measured)
    return {"parallel_read_safe": True}
