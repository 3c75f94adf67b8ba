"""The section on planted faults: which of them the emulator finds, and which compute-sanitizer's tools find."""

from __future__ import annotations

from report import blocks
from report.records import HazardFile, PlantedFault, Study, Verdict

TITLE = "Hazards: what the emulator finds, and what the sanitizer’s tools find"
FOUND, NOT_FOUND = "✓", "–"
ORDER = ("emulator", "memcheck", "racecheck", "synccheck", "initcheck")
"""Columns; tools that are not in it come after, by name."""

Rows = dict[str, PlantedFault]


def section(study: Study) -> list[dict]:
    """The table of all planted faults with a sentence on it; nothing where no file says what they are."""
    rows = merged(study.hazards)
    faults = {name: row for name, row in rows.items() if row.what and not row.is_right}
    if not faults:
        return []
    tools = tools_of(rows)
    twins = {name: row for name, row in rows.items() if row.is_right}
    table = blocks.table(
        caption(study.hazards), [("planted fault", "l"), *((tool, "l") for tool in tools)],
        [(name.replace("_", " "), *(cell(row.verdicts.get(tool)) for tool in tools)) for name, row in faults.items()],
        widths=["1fr", *("auto" for _ in tools)])
    return [blocks.heading(TITLE), blocks.reading(reading(faults, twins, tools)), table]


def merged(files: tuple[HazardFile, ...]) -> Rows:
    """The files' rows, joined by the kernel's name; the first file that says what a fault is has its say."""
    rows: Rows = {}
    for file in files:
        for name, row in file.kernels.items():
            old = rows.get(name, PlantedFault({}))
            rows[name] = PlantedFault(old.verdicts | row.verdicts, old.what or row.what, old.is_right or row.is_right)
    return rows


def tools_of(rows: Rows) -> list[str]:
    """The tools that looked at anything, in the order of the columns."""
    used = {tool for row in rows.values() for tool in row.verdicts}
    return [tool for tool in ORDER if tool in used] + sorted(used - set(ORDER))


def cell(verdict: Verdict | None) -> str:
    if verdict is None:
        return "not run"
    if verdict.found:
        return FOUND
    return "no verdict" if verdict.failed else NOT_FOUND


def found_by(rows: Rows, tools: list[str]) -> list[str]:
    """The kernels in which one of these tools finds something."""
    return [name for name, row in rows.items() if any(t in row.verdicts and row.verdicts[t].found for t in tools)]


def reading(faults: Rows, twins: Rows, tools: list[str]) -> str:
    """How many each tool finds, and every alarm on a right twin by name."""
    own, others = [t for t in tools if t == ORDER[0]], [t for t in tools if t != ORDER[0]]
    parts = []
    if own:
        parts.append(f"The emulator finds {len(found_by(faults, own))} of {len(faults)} planted faults, each whichever "
                     "way blocks, warps and lanes are ordered.")
    if others:
        each = ", ".join(f"{tool} {len(found_by(faults, [tool]))}" for tool in others)
        parts.append(f"compute-sanitizer’s tools find {len(found_by(faults, others))} together: {each}.")
    alarms = [f"{tool}: {', '.join(names)}" for tool in tools if (names := found_by(twins, [tool]))]
    if twins:
        parts.append(f"Alarms on the {len(twins)} right twins: {'; '.join(alarms)}." if alarms
                     else f"None of them alarms on any of the {len(twins)} right twins.")
    return " ".join(parts)


def caption(files: tuple[HazardFile, ...]) -> str:
    told = "; ".join(f"{file.tool}, {file.date[:10]}" + (f", on {file.machine}" if file.machine != "any" else "")
                     for file in files)
    return (f"Small kernels with one well-known mistake each, by their names (tests/faulty/). {FOUND} found, {NOT_FOUND} not found; "
            f"“not run”: it never ends on a GPU; “no verdict”: the tool did not end, or failed. {told}.")
