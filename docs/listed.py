"""The reference, from the code itself:  ```{listed} options, kernels, experiments or claims.

Options and kernels are asked of the program, which has to be built: build/rung, or what $RUNG names.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import tomllib
from collections import defaultdict

from docutils import nodes
from docutils.parsers.rst import Directive
from measured import ROOT, claim, findings, table

PROGRAM = os.environ.get("RUNG", str(ROOT / "build" / "rung"))


class Listed(Directive):
    """All there are of one kind, by groups with a heading each."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        return KINDS[self.arguments[0]](self)

    def group(self, title: str, *content: nodes.Node) -> nodes.section:
        made = nodes.section("", nodes.title("", title), *content, ids=[nodes.make_id(f"{self.arguments[0]} {title}")])
        self.state.document.note_implicit_target(made)
        return made


def rung(*arguments: str) -> str:
    try:
        return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, check=True, env=os.environ | {"COLUMNS": "100"}).stdout
    except FileNotFoundError:
        raise SystemExit(f"{PROGRAM} is not there: build rung first, or name it in RUNG") from None


def _options(directive: Listed) -> list[nodes.Node]:
    """The help of each command."""
    commands = re.findall(r"^  (\w+)  ", rung("--help").partition("Subcommands:")[2], re.MULTILINE)
    texts = [(name, rung(name, "--help").partition("Exit codes:")[0].strip()) for name in commands]
    return [directive.group(f"rung {name}", nodes.literal_block(text, text, language="none")) for name, text in texts]


def _kernels(directive: Listed) -> list[nodes.Node]:
    """By side and family, in the order of their ladders."""
    families: dict[str, list[dict]] = defaultdict(list)
    for one in json.loads(rung("list", "--json")):
        families["/".join(one["name"].split("/")[:2])].append(one)
    return [directive.group(family, table(("Kernel", "Idea", "Source"), [
        (one["name"].split("/", 2)[2], one["idea"], one["source"]) for one in sorted(mine, key=lambda one: one["order"])], (20, 50, 30)))
            for family, mine in families.items()]


def _experiments(_: Listed) -> list[nodes.Node]:
    files = [(path.stem, tomllib.loads(path.read_text(encoding="utf-8"))) for path in sorted((ROOT / "experiments").glob("*.toml"))]
    return [table(("Experiment", "Title", "Question"), [
        (name, content["title"], content["question"]) for name, content in files if "question" in content], (20, 25, 55))]


def _claims(directive: Listed) -> list[nodes.Node]:
    """By document, with what the recorded results decide."""
    documents: dict[str, dict[str, list]] = defaultdict(lambda: defaultdict(list))
    for found in findings():
        documents[found.entry.source][found.entry.id].append(found)
    known = tomllib.loads((ROOT / "experiments" / "sources.toml").read_text(encoding="utf-8"))
    titles = {source: ", ".join(str(about[key]) for key in ("title", "year") if key in about) for source, about in known.items()}
    return [directive.group(titles[source], table(("Claim", "The document states", "Where", "Verdict"), [
        (name, *claim(found)) for name, found in mine.items()], (12, 35, 18, 35))) for source, mine in documents.items()]


KINDS = {"options": _options, "kernels": _kernels, "experiments": _experiments, "claims": _claims}


def setup(app) -> dict:
    app.add_directive("listed", Listed)
    return {"parallel_read_safe": True}
