"""Merges Nsight Compute's CSV files of the patterns into one table, ``MACHINE.json``.

Run by ``count.sh`` beside it: ``python collect.py LOGS MACHINE.json``. LOGS holds, for each part, ``PART.said`` (the
program's text: the identity of each pattern) and ``PART.csv`` (ncu's raw page: a row for each of them).
"""

from __future__ import annotations

import json
import sys
from datetime import datetime, timezone
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from report.counters import kernel_rows, number  # noqa: E402


def collect(logs: Path) -> dict:
    """The metrics' names, and for each pattern its identity's hash and their values in that order."""
    machine, metrics, patterns = "", [], {}
    for said in sorted(logs.glob("*.said")):
        rows = kernel_rows(said.with_suffix(".csv"))
        identities = [line.split(" ") for line in said.read_text().splitlines()]
        if len(rows) != len(identities):
            raise SystemExit(f"collect: {said.name} has {len(identities)} patterns, ncu counted {len(rows)}")
        for (name, digest), row in zip(identities, rows):
            machine = row.get("device__attribute_display_name") or machine
            metrics = metrics or [key for key in row if key.endswith(".sum") and not key.startswith(("gpu__", "profiler__"))]
            patterns[name] = [digest, *(int(number(row[metric])) for metric in metrics)]
    return {"machine": machine, "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
            "tool": "Nsight Compute (ncu)", "metrics": [metric.removesuffix(".sum") for metric in metrics],
            "patterns": patterns}


def main(arguments: list[str]) -> int:
    """Exit codes: 0 done, 2 nothing was counted, or wrong usage."""
    if len(arguments) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    result = collect(Path(arguments[0]))
    if not result["patterns"]:
        print("collect: ncu counted nothing (ERR_NVGPUCTRPERM: the permission to read counters is missing)", file=sys.stderr)
        return 2
    head = json.dumps({key: value for key, value in result.items() if key != "patterns"}, indent=1)
    lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(values)}" for name, values in result["patterns"].items())
    Path(arguments[1]).write_text(f"{head[:-2]},\n \"patterns\": {{\n{lines}\n }}\n}}\n")
    print(f"{len(result['patterns'])} patterns: {arguments[1]}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
