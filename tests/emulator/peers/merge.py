"""Merges what emulator_rate.sh measured: ``merge.py EMULATORS.json COMMIT FAULTS.json RUNG.json [PEER.json ...]``.

FAULTS is what the emulator says of the planted faults (faulty_kernels_emulated --json), RUNG is emulator_rate's
output, a PEER that of tiled_oclgrind.py or tiled_numba.py.
"""

from __future__ import annotations

import json
import sys
from datetime import datetime, timezone
from pathlib import Path

from product import accesses

RACE, UNINITIALISED = "missing_barrier_after_load", "uninitialised_column"
"""The planted faults that are the same as those of the peers' kernels."""


def told(rows: list[dict], faults: dict) -> dict:
    """What the emulator of rung tells, in the peers' terms: of faults, and whether what it counts is so."""
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
