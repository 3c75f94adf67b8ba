"""Merges compute-sanitizer's logs into one table of its tools' findings, ``sanitizer.json``.

Run by ``sanitize.sh`` beside it: ``python sanitizer.py LOGS SANITIZER.json``. LOGS holds ``machine``,
``version``, ``kernels`` (one name a line) and, for each kernel and tool, ``KERNEL.TOOL.log`` (the tool's own text),
``KERNEL.TOOL.out`` (the program's) and ``KERNEL.TOOL.status`` (the exit code; 124 and 137 mean that the time was up).
"""

from __future__ import annotations

import json
import re
import sys
from datetime import datetime, timezone
from pathlib import Path

TOOLS = ("memcheck", "racecheck", "synccheck", "initcheck")
TIME_IS_UP = ("124", "137")
NO_FINDING = ("COMPUTE-SANITIZER", "ERROR SUMMARY", "RACECHECK SUMMARY", "LEAK SUMMARY", "Target application",
              "Program hit", "Error: process didn't terminate", "Error: Target application", "Error: No attachable")
"""Beginnings of the tool's lines that report on the run and not on a fault."""
PREFIX = re.compile(r"^=========\s(?=\S)")
"""A headline; its details stand farther to the right."""
COUNTED = re.compile(r"^=========\s+(?:ERROR SUMMARY: (\d+) error|RACECHECK SUMMARY: (\d+) hazard)", re.MULTILINE)


def read(path: Path) -> str:
    """The file's text, empty if there is none."""
    return path.read_text(errors="replace") if path.exists() else ""


def first_finding(log: str) -> str:
    """The headline of the first fault in a tool's log; empty if it names none."""
    headlines = [PREFIX.sub("", line).strip() for line in log.splitlines() if PREFIX.match(line)]
    return next((line for line in headlines if not line.startswith(NO_FINDING)), "")


def verdict(logs: Path, kernel: str, tool: str) -> dict:
    """Whether the tool found something, with the first line of the finding; ``failed``: why it has no verdict."""
    log, status = read(logs / f"{kernel}.{tool}.log"), read(logs / f"{kernel}.{tool}.status").strip()
    message = first_finding(log)
    result = {"found": bool(message), "message": message}
    if status in TIME_IS_UP:
        result["failed"] = "did not end in time"
    elif not COUNTED.search(log):
        lines = (log + read(logs / f"{kernel}.{tool}.out")).split("\n")
        result["failed"] = next((line.lstrip("= ") for line in reversed(lines) if line.strip()), "no log")
    return result


def collect(logs: Path) -> dict:
    """The whole table; an Error of compute-sanitizer that no kernel caused is in ``failed`` of its entry."""
    kernels = read(logs / "kernels").split()
    version = re.search(r"Version (\S+)", read(logs / "version"))
    return {
        "machine": read(logs / "machine").strip(),
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "tool": f"compute-sanitizer {version[1] if version else ''}".strip(),
        "kernels": {name: {tool: verdict(logs, name, tool) for tool in TOOLS} for name in kernels},
    }


def main(arguments: list[str]) -> int:
    """Exit codes: 0 done, 2 nothing was read, no tool could run, or wrong usage."""
    if len(arguments) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    result = collect(Path(arguments[0]))
    rows = [row for table in result["kernels"].values() for row in table.values()]
    failed = [row["failed"] for row in rows if "failed" in row]
    if not rows or len(failed) == len(rows):
        print(f"sanitizer: no tool ran: {failed[0] if failed else 'no kernels'}", file=sys.stderr)
        return 2
    Path(arguments[1]).write_text(json.dumps(result, indent=1) + "\n")
    found = sum(row["found"] for row in rows)
    print(f"{len(rows)} runs, {found} with a finding, {len(failed)} that failed: {arguments[1]}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
