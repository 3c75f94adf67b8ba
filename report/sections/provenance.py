"""Appendix: the kernels, the files used and left out, skipped and flagged points with reasons, the runs' contexts."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from report.data.collect import Study
from report.data.records import Point, Run
from report.experiment import Column, Table, words
from report.text import blocks, sources

NAMED, LISTED, LONGEST = 4, 15, 240
"""The numbers of names printed per group and of groups listed, and the length at which values are cut."""
SETTINGS = {
    "cpu_scaling_enabled": "CPU frequency scaling", "aslr_enabled": "random address layout", "smt": "simultaneous multithreading",
    "huge_pages": "huge pages", "mhz_per_cpu": "nominal CPU clock [MHz]", "cpu_events_unavailable": "no CPU events, since",
    "energy_unavailable": "no CPU energy, since", "energy_source": "CPU energy from", "gpu_energy_source": "GPU energy from",
    "gpu_energy_unavailable": "no GPU energy, since", "gpu_power_limit_w": "GPU power limit [W]", "gpu_ecc": "ECC memory",
    "rung_version": "rung", "library_build_type": "Google Benchmark's build"}
"""Fields of the context with their printed names. Another table has the fields of the machines; the results files have
all fields."""
LIBRARY = re.compile(r"gpu_(\w+)_version")
"""A field with the version of a library of the GPU's, whose name it has."""


def section(study: Study) -> tuple[list[dict], list[Table]]:
    """Paragraphs, and the tables."""
    left_out = _left_out(study)
    tables = [table for table in (_kernels(study), _runs(study), _files(study)) if table.rows] + left_out
    texts = [] if left_out else [blocks.paragraph("No point was skipped, none failed, no sample was flagged.")]
    return texts, tables


def again(study: Study) -> list[dict]:
    """How to measure, to render and to cite these numbers again."""
    seeds = sorted({str(p.run.context.get("seed")) for p in study.parts})
    text = ("‘bash experiments/run.sh --full’ builds the suite, verifies and measures every experiment and renders these documents; ‘python3 -m report "
            f"RESULTS’ renders them from results files alone. These files contain every sample, the seed of inputs and order ({words.joined(seeds)}), the "
            "settings of the machine, and versions of compilers, driver and libraries; the same files give the same documents to the byte.")
    return [blocks.heading("To reproduce and to cite"), blocks.paragraph(text), citation(study)[1]]


@dataclass(frozen=True)
class Cited:
    """The run as it is cited."""

    version: str
    commits: list[str]
    machines: list[str]
    days: list[str]
    """The first and the last one; one where they are the same."""
    changed: str
    """A sentence on runs that were built from changed trees; empty without such runs."""


def cited(study: Study) -> Cited:
    """The version, commits, machines and days of all runs."""
    runs = sorted({str(p.run.path): p.run for p in study.parts}.values(), key=lambda r: r.date)
    changed = sum(bool(r.context.get("git_dirty")) for r in runs)
    versions = sorted({str(r.context["rung_version"]) for r in runs if r.context.get("rung_version")})
    commits = list(dict.fromkeys(commit_of(r) for r in runs if r.context.get("git_commit")))
    machines = dict.fromkeys(p.machine.name for p in study.parts if any(x.is_timed for x in p.points))
    dirty = f" {changed} of {words.counted(len(runs), 'run')} were built from a tree with uncommitted changes (+)." if changed else ""
    return Cited(words.joined([f"rung {v}" for v in versions]) or "rung", commits, list(machines),
                 list(dict.fromkeys((runs[0].day, runs[-1].day))), dirty)


def citation(study: Study) -> list[dict]:
    """How to cite these numbers, on the last page."""
    run = cited(study)
    return [blocks.subheading("To cite these numbers"), blocks.paragraph(
        f"{run.version}, {'commits' if len(run.commits) > 1 else 'commit'} {words.joined(run.commits) or 'unknown'}; {words.joined(run.machines) or 'counted only'}; "
        f"{' to '.join(run.days)}.{run.changed} The table of runs (tables/runs.csv) has the commit, machine and date of each.")]


def commit_of(run: Run) -> str:
    """Ten digits; '+' where the tree had uncommitted changes."""
    return str(run.context.get("git_commit", ""))[:10] + ("+" if run.context.get("git_dirty") else "")


def contexts(study: Study) -> list[dict]:
    """The settings that the runs on each pair of machines have in common."""
    made, runs = [], {str(p.run.path): p.run for p in study.parts}
    for machine in dict.fromkeys((r.machine("cpu"), r.machine("gpu").name) for r in runs.values()):
        mine = [r for r in runs.values() if (r.machine("cpu"), r.machine("gpu").name) == machine]
        libraries = {key: found.group(1) for key in sorted(mine[0].context) if (found := LIBRARY.fullmatch(key))}
        shared = [(name, _plain(mine[0].context.get(key))) for key, name in (SETTINGS | libraries).items()
                  if all(r.context.get(key) == mine[0].context.get(key) for r in mine)]
        name = machine[0].label + (f" with {machine[1]}" if machine[1] else "")
        made += [blocks.subheading(f"Settings common to the runs on {name}"), blocks.pairs(shared)]
    return made


def _plain(value: object) -> str | None:
    """'yes' for True; None for an unknown value."""
    if value is None:
        return None
    if isinstance(value, bool):
        return "yes" if value else "no"
    text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}… (in full in the file)"


def _kernels(study: Study) -> Table:
    found = {p.kernel.name: p.kernel for part in study.parts for p in part.points if not p.kernel.is_ceiling}
    rows = [{"kernel": k.name, "title": k.title, "type": k.type, "idea": k.idea, "source": sources.cite_all(k.sources)}
            for k in sorted(found.values(), key=lambda k: (k.side, k.family, k.order, k.name))]
    return Table("kernels", "The kernels: what each adds, and where it comes from.", (
        Column("kernel", "kernel", right=False), Column("idea", "idea", right=False, wide=True),
        Column("source", "source", right=False, wide=True)), rows)


def _runs(study: Study) -> Table:
    runs = {str(p.run.path): p.run for p in study.parts}
    rows = [{"experiment": r.experiment, "date": r.date[:19].replace("T", " "), "board": r.machine("gpu").id[4:12],
             "commit": commit_of(r),
             "load": load_of(r), "command": r.context.get("command_line"),
             "file": path, "study": r.context.get("study", "")}
            for path, r in sorted(runs.items(), key=lambda item: item[1].date)]
    return Table("runs", "The runs: date (UTC), the GPU board’s UUID, the commit that was built (+: with uncommitted changes), the "
                 "machine’s load when it began.", (
                     Column("experiment", "experiment", right=False), Column("date", "date", right=False),
                     Column("board", "board", right=False), Column("commit", "commit", right=False),
                     Column("load", "load", lambda v: f"{v:.1f}"),
                     Column("command", "command", right=False, wide=True)), rows)


def load_of(run: Run) -> float | None:
    """The machine's load when the run began, over a minute; None if the system did not report it."""
    match run.context.get("load_avg"):
        case [int() | float() as minute, *_]:
            return minute
    return None


def _files(study: Study) -> Table:
    rows = [{"used": "used" if s.used else "left out", "path": s.path, "kind": s.kind, "note": s.note}
            for s in study.sources]
    return Table("files", "Files that were read; recorded ones that were not needed are left out of this list.", (
        Column("used", "", right=False), Column("path", "file", right=False, wide=True),
        Column("kind", "what", right=False), Column("note", "note", right=False, wide=True)), rows)


def _left_out(study: Study) -> list[Table]:
    points = of_runs(study)
    refused = {item for part in study.parts for item in part.run.refused.items()}
    groups = (
        ("refused", "Kernels that were refused because of their records.", [(why, name) for name, why in sorted(refused)]),
        ("skipped", "Points that were skipped, by reason.", [(p.skipped, p.name) for p in points if p.skipped]),
        ("failed", "Points that failed, so that they have no rate.", [(p.failed, p.name) for p in points if p.failed]),
        ("flagged", "Samples and fields that were kept out of the statistics.",
         [(f.reason, f.entry) for f in study.flags]))
    return [Table(name, title, (Column("reason", "reason", right=False, wide=True), Column("number", "number"),
                                Column("where", "where", right=False, wide=True)), _grouped(items))
            for name, title, items in groups if items]


def of_runs(study: Study) -> list[Point]:
    """Every point of the runs that the report uses, of both sides, shown or not."""
    runs = {str(part.run.path): part.run for part in study.parts}
    return [p for run in runs.values() for p in run.points]


def _grouped(items: Iterable[tuple[str, str]]) -> list[dict]:
    """Reasons with the number of their items, most frequent first. Reasons that differ only in their numbers are one
    group, shown by the first; rare groups beyond LISTED are summed."""
    groups: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for reason, name in items:
        groups["".join("#" if c.isdigit() else c for c in reason).replace("##", "#")].append((reason, name))
    ranked, rows = sorted(groups.values(), key=lambda g: (-len(g), g[0])), []
    for group in ranked[:LISTED]:
        reasons, names = (list(dict.fromkeys(column)) for column in zip(*group))
        rows.append({"reason": reasons[0] + (" (and the like)" if len(reasons) > 1 else ""), "number": len(group),
                     "where": words.listed(names, NAMED)})
    rest = sum(len(group) for group in ranked[LISTED:])
    return rows + ([{"reason": f"{len(ranked) - LISTED} further reasons", "number": rest}] if rest else [])
