"""References: the documents that experiments, kernels, claims and the method cite, numbered."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from report.claims.verdict import Finding
from report.data.records import Reference
from report.sections import method
from report.sections.contributions import Contribution
from report.text import blocks, sources


def cited(found: Sequence[Contribution], claims: Sequence[Finding]) -> set[str]:
    """The keys of all documents that experiments, their kernels, claims and the method cite."""
    keys = set(method.CITED) | {f.entry.source for f in claims}
    for one in found:
        keys |= {r.id for r in one.view.references}
        keys |= {f.entry.source for group in one.section.claims for f in group}
        keys |= {r.id for part in one.view.parts for p in part.points for r in p.kernel.sources}
    return keys


def of_paper(found: Sequence[Contribution]) -> set[str]:
    """The keys of the documents that the method and the experiments of the paper cite."""
    return set(method.BRIEFLY) | {r.id for one in found if one.section.paper for r in one.view.references}


def section(keys: Iterable[str]) -> list[dict]:
    entries = sources.listed(keys)
    return [blocks.heading("References"), blocks.entries([f"[{i}] {entry}" for i, entry in enumerate(entries, 1)])] if entries else []


def number(key: str, keys: Iterable[str]) -> str:
    """' [3]': where the source is in the list of all these keys."""
    return numbers([Reference(key, "")], keys)


def numbers(references: Iterable[Reference], keys: Iterable[str]) -> str:
    """' [3, section 5.1; 7]': where these references are in the list of all these keys; empty for none."""
    entries = sources.listed(keys)
    known = (r for r in references if r.id in sources.documents())
    told = [f"{entries.index(sources.entry(r.id)) + 1}{f', {r.where}' if r.where else ''}" for r in known]
    return f" [{'; '.join(told)}]" if told else ""
