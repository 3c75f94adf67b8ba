"""Last section: the files used and ignored, what was flagged or skipped and why, and the full context."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from report import blocks
from report.machines import CPU_FIELDS, GPU_FIELDS, SHOWN_ELSEWHERE
from report.records import Study

NAMED = 4
"""So many names of a group are printed; the rest is a number."""
LONGEST = 240
"""Longer values of the context are cut."""
LISTED = 15
"""So many groups are listed."""
OF_EACH = {"experiment", "date", "complete", "interrupted", "points_planned", "points_done"}
"""Stand in the lists of files and of runs."""


def section(study: Study) -> list[dict]:
    made = [blocks.heading("Where the numbers come from"), *_files(study), *_left_out(study)]
    made.append(blocks.paragraph("The context of the runs follows, but for what stands elsewhere in the report. It is "
                                 "in full, with the text of the experiment, in each results file."))
    return made + _contexts(study)


def _contexts(study: Study) -> list[dict]:
    """For each pair of machines what its runs have in common, once; then what is particular to each run."""
    made, own = [], []
    for machine in dict.fromkeys(run.machine for run in study.runs):
        runs = [run for run in study.runs if run.machine == machine]
        hidden = _printed(study, machine)
        keys = [k for k in dict.fromkeys(k for run in runs for k in run.context) if k not in hidden]
        shared = {k: runs[0].context[k] for k in keys
                  if all(k in run.context and run.context[k] == runs[0].context[k] for run in runs)}
        made += [blocks.subheading(f"Context on {' and '.join(name for name in machine if name)}"),
                 blocks.dense([(k, _plain(v)) for k, v in shared.items()])]
        own += [(run.experiment, run.date[:19], "; ".join(
            f"{k} {_plain(run.context[k])}" for k in keys if k in run.context and k not in shared)) for run in runs]
    if any(particular for *_, particular in own):
        made.append(blocks.table("What is particular to each run.",
                                 [("experiment", "l"), ("date", "l"), ("", "l")], own, widths=["auto", "auto", "1fr"]))
    return made


def _printed(study: Study, machine: tuple[str, str]) -> set[str]:
    """Fields of the context that stand in other places of the report."""
    fields = SHOWN_ELSEWHERE | OF_EACH
    if study.cpu and study.cpu.machine == machine[0]:
        fields = fields | CPU_FIELDS
    return fields | GPU_FIELDS if study.gpu and study.gpu.machine == machine[1] else fields


def _plain(value: object) -> str:
    if isinstance(value, dict):
        return f"{len(value)} entries (in the file)"
    text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}… (in full in the file)"


def _files(study: Study) -> list[dict]:
    rows = [(("used" if s.used else "ignored"), s.path, s.kind, s.note) for s in
            sorted(study.sources, key=lambda s: (not s.used, s.path))]
    return [blocks.table("Files that were looked at.", [("", "l"), ("file", "l"), ("what", "l"), ("note", "l")], rows,
                         widths=["auto", "1.5fr", "auto", "1fr"])]


def _grouped(items: Iterable[tuple[str, str]]) -> list[tuple[str, int, str]]:
    """(reason, count, first names) for (reason, name) pairs, most frequent first.

    Reasons that differ only in their numbers are one group, shown by its first; rare groups beyond LISTED are summed.
    """
    groups: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for reason, name in items:
        groups["".join("#" if c.isdigit() else c for c in reason).replace("##", "#")].append((reason, name))
    ranked = sorted(groups.values(), key=lambda g: (-len(g), g[0]))
    rows = []
    for group in ranked[:LISTED]:
        reasons, names = (list(dict.fromkeys(column)) for column in zip(*group))
        more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
        rows.append((reasons[0] + (" (and the like)" if len(reasons) > 1 else ""), len(group),
                     ", ".join(names[:NAMED]) + more))
    rest = sum(len(group) for group in ranked[LISTED:])
    return rows + ([(f"{len(ranked) - LISTED} further reasons", rest, "")] if rest else [])


def _left_out(study: Study) -> list[dict]:
    points = [p for run in study.runs for p in run.points]
    groups = (
        ("Points that were skipped, by reason.", [(p.skipped, p.name) for p in points if p.skipped]),
        ("Points that failed, so that they have no rate.", [(p.failed, p.name) for p in points if p.failed]),
        ("Samples and fields that were kept out of the statistics.", [(f.reason, f.entry) for f in study.flags]))
    made = [blocks.table(title, [("reason", "l"), ("number", "r"), ("where", "l")], _grouped(items),
                         widths=["1fr", "auto", "1.4fr"]) for title, items in groups if items]
    return made or [blocks.paragraph("No point was skipped, none failed, no sample was flagged.")]
