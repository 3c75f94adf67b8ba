"""How often the planted faults give wrong results on a GPU: ``python wrong_results.py PROGRAM WRONG_RESULTS.json [LAUNCHES]``.

PROGRAM is ``faulty_kernels``, which launches a fault 1000 times, unless told otherwise, and compares each result with that of
its right twin. Every fault runs in a process of its own, for ten seconds at most, so that a barrier at which some threads wait
for ever ends nothing but that. Those that never end are left out.
"""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import datetime, timezone
from pathlib import Path

LAUNCHES, SECONDS = 1000, 10


def entry(program: str, name: str, launches: int, seconds: float = SECONDS) -> dict:
    """``wrong``: the number of wrong results; or ``failed``: why there is no such number."""
    try:
        done = subprocess.run([program, name, str(launches)], capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        return {"failed": "did not end in time"}
    lines = (done.stdout + done.stderr).strip().splitlines()
    last = lines[-1] if lines else f"exit code {done.returncode}"
    return {"wrong": int(last)} if done.returncode == 0 and last.isdigit() else {"failed": last}


def names(program: str) -> list[str]:
    """The faults that end; they are compared with their right twins."""
    listed = subprocess.run([program, "--list"], capture_output=True, text=True, check=True).stdout.splitlines()
    return [line for line in listed if line and " " not in line and not line.endswith("_right")]


def machine() -> str:
    asked = subprocess.run(["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"], capture_output=True, text=True, check=True)
    return asked.stdout.splitlines()[0].strip()


def main(arguments: list[str]) -> int:
    """Exit codes: 0 done, 2 wrong usage."""
    if len(arguments) not in (2, 3):
        print(__doc__, file=sys.stderr)
        return 2
    program, target, launches = str(Path(arguments[0]).resolve()), Path(arguments[1]), int(arguments[2]) if len(arguments) == 3 else LAUNCHES
    found = {name: entry(program, name, launches) for name in names(program)}
    target.write_text(json.dumps({"machine": machine(), "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
                                  "launches": launches, "wrong_results": found}, indent=1) + "\n")
    wrong = sum(row.get("wrong", 0) > 0 for row in found.values())
    print(f"{len(found)} faults, {wrong} with wrong results in {launches} launches: {target}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
