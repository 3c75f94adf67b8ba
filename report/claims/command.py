"""The command line of `rung claims`: python -m report.claims [ID…] [--json] [--results DIR]….

Exit codes: 0 done, 2 unknown claim, bad results, or an entry of experiments/claims.toml that cannot be evaluated.
"""

from __future__ import annotations

import json
import re
import shutil
import textwrap
from collections.abc import Sequence

from report.claims import entries, study_claims
from report.claims.arguments import parser
from report.claims.entries import KINDS
from report.claims.expression import nearest
from report.claims.values import Fault
from report.claims.verdict import ORDER, Finding, bare, counts, stated, threshold
from report.data.collect import collect
from report.data.reading import InputError
from report.faults import say
from report.plain import plain_lines
from report.text import sources

OK, BAD = 0, 2


def main(arguments: Sequence[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    try:
        known = entries.load()
        chosen = _chosen(known, options.ids)
        study = collect(options.results or [study_claims.RECORDED], [])
        found = study_claims.findings_of(study, known.values(), chosen)
    except (InputError, Fault) as error:
        say(str(error), "rung claims")
        return BAD
    for f in found:
        if f.fault:
            say(f"{entries.FILE}:{_line(f)}: [{f.entry.id}] {f.fault}", "rung claims")
    print(json.dumps([_as_data(f) for f in found], indent=1) if options.json else plain_lines(_table(found)))
    return BAD if any(f.fault for f in found) else OK


def _line(f: Finding) -> int:
    """The line of the key with which the fault begins, else of the entry."""
    key = re.split(r"\W", f.fault, maxsplit=1)[0]
    return entries.line_of(entries.FILE.read_text(encoding="utf-8"), f.entry.id, key if key in entries.KEYS else "")


def _chosen(known: dict[str, entries.Entry], ids: Sequence[str]) -> list[entries.Entry]:
    """The claims with these ids or sources; all claims if none is named."""
    groups = {e.source for e in known.values()}
    for name in ids:
        if name not in known and name not in groups:
            raise Fault(f"there is no claim '{name}'{nearest(name, [*known, *groups])}")
    return [e for e in known.values() if not ids or e.id in ids or e.source in ids]


def _as_data(f: Finding) -> dict:
    e = f.entry
    return {"id": e.id, "source": e.source, "where": e.where, "text_at_hand": e.is_at_hand, "text": e.text,
            "stated": e.stated, "threshold": e.threshold, "unit": e.unit, "rule": e.rule, "tolerance": e.tolerance,
            "accepted": list(e.accepted) if e.limit is not None else None, "said_of": e.said_of, "decides": e.decides,
            "experiment": e.experiment, "machine": f.machine, "kernels": f.kernels, "verdict": f.verdict, "words": f.words,
            "modelled": f.modelled, "counted": f.counted, "compiled": f.compiled, "measured": f.measured, "why": f.why,
            "missing": list(f.missing), "cases": list(f.cases)}


def _table(found: Sequence[Finding]) -> str:
    """A block of lines for each claim, by source; at the end how many there are of each verdict."""
    width = max(60, min(120, shutil.get_terminal_size((100, 24)).columns))
    lines: list[str] = []
    last: tuple[str | None, str | None] = None, None
    for f in found:
        e = f.entry
        if e.source != last[0]:
            lines += ["", sources.cite(e.source), "─" * width]
        if e.id != last[1]:
            where = ", ".join(x for x in (e.place, f"said of {e.said_of}" if e.said_of else "") if x)
            lines += textwrap.wrap(f"{e.id}: {e.text}{f' ({where})' if where else ''}", width)
        last = e.source, e.id
        values = [f"{name} {bare(e, text) if name in KINDS else text}" for name, text in (
            ("stated", stated(e)), ("our threshold", threshold(e)), ("modelled", f.modelled), ("counted", f.counted),
            ("compiled", f.compiled), ("measured", f.measured), ("by", f.kernels)) if text]
        lines += textwrap.wrap(f"{f.machine or 'no machine'}: {f.words}. {'; '.join(values)}", width, initial_indent="    ",
                               subsequent_indent="      ")
        lines += textwrap.wrap(f.why, width, initial_indent="      ", subsequent_indent="      ")
    told = counts(found)
    number = told.total()
    return "\n".join([*lines[1:], "", f"{number} claim{'s' * (number != 1)}: " + ", ".join(
        f"{told[v]} {v}" for v in ORDER if told[v])])
