"""Merges the measurements of emulator_rate.sh: ``merge.py EMULATORS.json COMMIT FAULTS.json RUNG.json [PEER.json ...]``.

FAULTS is the emulator's verdicts on the planted faults (faulty_kernels_emulated --json), RUNG the output of
emulator_rate, a PEER the output of tiled_oclgrind.py or tiled_numba.py.
"""

from __future__ import annotations

import json
import sys
from datetime import datetime, timezone
from pathlib import Path

from product import accesses

RACE, UNINITIALISED = "missing_barrier_after_load", "uninitialised_column"
"""The planted faults that the peers' kernels also have."""


def told(rows: list[dict], faults: dict) -> dict:
    """The verdicts of rung's emulator in the peers' terms: on faults, and whether its counts are right."""
    tiled = [row for row in rows if row["kernel"] == "gpu/matmul/tiled"]
    return {
        "race": faults["kernels"][RACE]["emulator"]["found"],
        "uninitialised": faults["kernels"][UNINITIALISED]["emulator"]["found"],
        "accesses": bool(tiled) and all(row["accesses"] == accesses(row["n"]) for row in tiled),
        "sectors": bool(tiled) and all(row["load_sectors"] > 0 for row in tiled),
    }


def merge(commit: str, faults: dict, rung: dict, peers: list[dict]) -> dict:
    own = {"tool": f"rung {commit}".strip(), "rows": rung["rows"], "told": told(rung["rows"], faults)}
    return {"machine": rung["machine"], "cores": rung["cores"],
            "date": datetime.now(timezone.utc).isoformat(timespec="seconds"), "emulators": [own, *peers]}


def main(arguments: list[str]) -> int:
    if len(arguments) < 4:
        print(__doc__, file=sys.stderr)
        return 2
    target, commit, *files = arguments
    faults, rung, *peers = (json.loads(Path(file).read_text()) for file in files)
    Path(target).parent.mkdir(parents=True, exist_ok=True)
    Path(target).write_text(json.dumps(merge(commit, faults, rung, peers), indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
