"""References: the documents that experiments, kernels, claims and the method cite."""

from __future__ import annotations

from collections.abc import Sequence

from report.claims.verdict import Finding
from report.sections import method
from report.sections.contributions import Contribution
from report.text import blocks, sources


def section(found: Sequence[Contribution], claims: Sequence[Finding]) -> list[dict]:
    keys = set(method.CITED) | {f.entry.source for f in claims}
    for one in found:
        keys |= {r.id for r in one.view.references}
        keys |= {f.entry.source for group in one.section.claims for f in group}
        keys |= {r.id for part in one.view.parts for p in part.points for r in p.kernel.sources}
    entries = sources.listed(keys)
    return [blocks.heading("References"), blocks.entries(entries)] if entries else []
