"""Merges Nsight Compute's CSV files into one table of hardware counters, ``counters.json``.

Run by ``experiments/profile.sh``: ``python -m report.counters POINTS CSV COUNTERS.json``. POINTS is what ``rung run
--profile`` printed: each point's name when it began, and "FAILED NAME: why" if it failed. CSV is ncu's raw page: the
kernels of all points in order, with the kernel MARKER before those of each. Points that failed or launched no kernel
are left out; points already in COUNTERS.json from the same machine are kept unless CSV has them, too.
"""

from __future__ import annotations

import csv
import json
import re
import sys
from datetime import datetime, timezone
from pathlib import Path

from report.faults import print_anything
from report.files import write
from report.missing import complete
from report.plain import plain
from report.surroundings import settle

SUMS = {
    "dram_bytes_read": "dram__bytes_read.sum",
    "dram_bytes_written": "dram__bytes_write.sum",
    "l2_bytes": "lts__t_bytes.sum",
    "fadd": "smsp__sass_thread_inst_executed_op_fadd_pred_on.sum",
    "fmul": "smsp__sass_thread_inst_executed_op_fmul_pred_on.sum",
    "ffma": "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum",
    "instructions": "smsp__inst_executed.sum",
    "thread_instructions": "smsp__thread_inst_executed.sum",
    "thread_instructions_on": "smsp__thread_inst_executed_pred_on.sum",
    "branches_divergent": "smsp__sass_branch_targets_threads_divergent.sum",
    "branches_uniform": "smsp__sass_branch_targets_threads_uniform.sum",
    "constant_requests": "idc__requests.sum",
    "load_requests": "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
    "l1_load_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "store_requests": "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
    "l1_store_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
    "shared_load_wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "shared_store_wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
    "shared_load_wavefronts_exact": "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "shared_store_wavefronts_exact": "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
    "dadd": "smsp__sass_thread_inst_executed_op_dadd_pred_on.sum",
    "dmul": "smsp__sass_thread_inst_executed_op_dmul_pred_on.sum",
    "dfma": "smsp__sass_thread_inst_executed_op_dfma_pred_on.sum",
    "thread_memory": "smsp__sass_thread_inst_executed_op_memory_pred_on.sum",
    "shared_load_requests": "smsp__sass_inst_executed_op_shared_ld.sum",
    "shared_store_requests": "smsp__sass_inst_executed_op_shared_st.sum",
    "shared_atomic_requests": "smsp__sass_inst_executed_op_shared_atom.sum",
    "shared_atomic_wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_atom.sum",
    "shared_load_conflicts": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
    "shared_store_conflicts": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum",
    "l1_load_hits": "l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit.sum",
    "atom_requests": "l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum",
    "atom_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_atom.sum",
    "red_requests": "l1tex__t_requests_pipe_lsu_mem_global_op_red.sum",
    "red_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum",
    "async_l1_requests": "sm__sass_l1tex_t_requests_pipe_lsu_mem_global_op_ldgsts_cache_access.sum",
    "async_l1_sectors": "sm__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ldgsts_cache_access.sum",
    "async_l2_requests": "sm__sass_l1tex_t_requests_pipe_lsu_mem_global_op_ldgsts_cache_bypass.sum",
    "async_l2_sectors": "sm__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ldgsts_cache_bypass.sum",
    "l1_wavefronts": "l1tex__data_pipe_lsu_wavefronts.sum",
    "l2_load_sectors": "lts__t_sectors_srcunit_tex_op_read.sum",
    "l2_load_hits": "lts__t_sectors_srcunit_tex_op_read_lookup_hit.sum",
    "l2_store_sectors": "lts__t_sectors_srcunit_tex_op_write.sum",
}
"""Our names and ncu's metrics that add up over the kernels that one call launches.

Of the instructions of threads, those with `on` were not switched off by a predicate. The exact wavefronts are those of
the executed instructions; the others, counted where the data passes, also have those that were played again because the
path was taken. Load requests and sectors of the L1 have those of asynchronous copies, too.
"""

TOTALS = {
    "dram_bytes": ("dram_bytes_read", "dram_bytes_written"),
    "atomic_requests": ("atom_requests", "red_requests"),
    "atomic_sectors": ("atom_sectors", "red_sectors"),
    "async_requests": ("async_l1_requests", "async_l2_requests"),
    "async_sectors": ("async_l1_sectors", "async_l2_sectors"),
}
"""Counters that are sums of others; absent unless all their terms are there."""

MARKER = "rung_point_begins"
"""The empty kernel that is launched where a point begins (gpu/host/point_marker.hpp)."""

FAILED = "FAILED "
"""The line of a failed point begins with this."""

ACHIEVED = "sm__warps_active.avg.pct_of_peak_sustained_active"

STATES = ("barrier", "branch_resolve", "dispatch_stall", "drain", "gmma", "imc_miss", "lg_throttle", "long_scoreboard",
          "math_pipe_throttle", "membar", "mio_throttle", "misc", "no_instruction", "not_selected", "selected",
          "short_scoreboard", "sleeping", "tex_throttle", "wait")
"""The states of an active warp, in ncu's terms: 'selected' issues, 'not_selected' could issue, all others wait."""


READ = {*SUMS.values(), ACHIEVED, *(f"smsp__average_warps_issue_stalled_{state}_per_issue_active.ratio" for state in STATES)}
"""Every metric that is read."""
NUMBER = re.compile(r"-?(\d{1,3}(,\d{3})+|\d+)(\.\d+)?(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)
"""A number in ncu's English format: thousands have commas."""
NO_VALUE = ("", "nan", "-nan", "inf", "-inf", "n/a")
"""Values of a row that is cut off, and of a ratio to zero."""


SCALED = re.compile(r"[KMGTP][a-z]+")
"""A unit with a prefix: 'Mbyte'. Values in it have lost digits; the names of ncu's base units begin with a small letter."""


class NotEnglish(ValueError):
    """A value in the number format of another language, where 32.768 is 32768."""


class OtherUnit(ValueError):
    """Values that are not in base units."""


def number(text: str) -> float | None:
    """A value of ncu's CSV; None if there is none. Raises NotEnglish."""
    if text.strip().lower() in NO_VALUE:
        return None
    if not NUMBER.fullmatch(text):
        raise NotEnglish(text)
    return float(text.replace(",", ""))


def count(text: str) -> float | None:
    """A value that is a whole number; the point of another one can only be another language's comma. Raises NotEnglish."""
    if "." in text:
        raise NotEnglish(text)
    return number(text)


def text_of(path: Path) -> str:
    """The text of a regular file; others are refused, since a pipe may never end."""
    if path.exists() and not path.is_file():
        raise OSError(f"{path} is not a regular file")
    return path.read_text(encoding="utf-8", errors="replace")


def kernel_rows(path: Path) -> list[dict[str, str]]:
    """The rows of a raw page: one a kernel, empty where a row is cut off. Lines of ncu's own are dropped. Raises OtherUnit by the
    row of units, which has no ID."""
    lines = [line for line in text_of(path).splitlines() if line.startswith('"')]
    rows = list(csv.DictReader(lines, restval=""))
    for metric, unit in (item for row in rows if not row.get("ID") for item in row.items()):
        if metric in READ and SCALED.match(unit.strip()):
            raise OtherUnit(f"{metric} is in {unit.strip()[:40]}")
    return [row for row in rows if row.get("ID")]


def point_counters(rows: list[dict[str, str]]) -> dict[str, float]:
    """The counters of one point: sums over its kernels; occupancy and states of warps of the one with the most FFMA.

    ``warps_STATE``: warps in that state on a scheduler, on average, for each instruction that it issues.
    """
    counters: dict[str, float] = {}
    for name, metric in SUMS.items():
        if values := complete(count(row.get(metric, "")) for row in rows):
            counters[name] = sum(values)
    for name, parts in TOTALS.items():
        if counters.keys() >= set(parts):
            counters[name] = sum(counters[part] for part in parts)
    busiest = max(rows, key=lambda row: number(row.get(SUMS["ffma"], "")) or 0.0)
    achieved = number(busiest.get(ACHIEVED, ""))
    if achieved is not None:
        counters["occupancy_achieved"] = achieved / 100
    for state in STATES:
        warps = number(busiest.get(f"smsp__average_warps_issue_stalled_{state}_per_issue_active.ratio", ""))
        if warps is not None:
            counters[f"warps_{state}"] = warps
    counters["kernels_launched"] = len(rows)
    return counters


def said(points: Path) -> list[str]:
    """The lines of the program, without control characters."""
    return [plain(line) for line in text_of(points).splitlines()]


def rows_by_point(points: Path, csv_file: Path) -> dict[str, list[dict[str, str]]]:
    """The rows of the kernels of each point that did not fail."""
    lines = said(points)
    names = [line for line in lines if line.startswith(("gpu/", "count/gpu/"))]
    failed = {line.removeprefix(FAILED).partition(": ")[0] for line in lines if line.startswith(FAILED)}
    groups: list[list[dict[str, str]]] = []
    for row in kernel_rows(csv_file) if csv_file.exists() else []:
        if MARKER in row.get("Kernel Name", ""):
            groups.append([])
        elif groups:
            groups[-1].append(row)
    groups += [[] for _ in names[len(groups):]]
    return {name: rows for name, rows in zip(names, groups) if name not in failed}


def collect(points: Path, csv_file: Path) -> tuple[str, dict[str, dict[str, float]]]:
    """The machine's name and the counters of every point that was read."""
    machine, read = "", {}
    for point, rows in rows_by_point(points, csv_file).items():
        if not rows:
            print(f"no counters for {point}", file=sys.stderr)
            continue
        machine = plain(rows[0].get("device__attribute_display_name", machine)) or machine
        read[point] = point_counters(rows)
    for line in said(points):
        if line.startswith(FAILED):
            print(f"no counters for {line.removeprefix(FAILED)}", file=sys.stderr)
    return machine, read


def earlier(target: Path, machine: str) -> dict:
    """The points of this machine that the file already has. Raises an exception of JSON or of a wrong type if it is no
    such table."""
    old = json.loads(text_of(target)) if target.exists() else {}
    return dict(old.get("points", {}).items()) if old.get("machine") == machine else {}


def main(arguments: list[str]) -> int:
    """Exit codes: 0 done, 2 nothing was read or wrong usage, 4 the file could not be written."""
    print_anything()
    if len(arguments) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    target = Path(arguments[2])
    try:
        machine, points = collect(Path(arguments[0]), Path(arguments[1]))
    except NotEnglish as error:
        print(f"counters: {arguments[1]} has the value '{plain(str(error))[:60]}', which is not written as in English: run ncu with LC_ALL=C",
              file=sys.stderr)
        return 2
    except OtherUnit as error:
        print(f"counters: {arguments[1]}: {plain(str(error))}: run ncu with --print-units base", file=sys.stderr)
        return 2
    except (OSError, csv.Error) as error:
        print(f"counters: {arguments[0]} or {arguments[1]} cannot be read: {error}", file=sys.stderr)
        return 2
    if not points:
        print("counters: ncu gave no values (ERR_NVGPUCTRPERM: the permission to read counters is missing)", file=sys.stderr)
        return 2
    try:
        kept = earlier(target, machine)
    except (OSError, ValueError, RecursionError, AttributeError, TypeError):
        print(f"counters: {target} holds no counters: move it away", file=sys.stderr)
        return 2
    result = {
        "machine": machine,
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "tool": "Nsight Compute (ncu)",
        "points": dict(sorted((kept | points).items())),
    }
    try:
        write(target, f"{json.dumps(result, indent=1, allow_nan=False)}\n")
    except OSError as error:
        print(f"counters: {target} cannot be written: {error.strerror or error}", file=sys.stderr)
        return 4
    print(f"counters of {len(points)} points: {target}")
    return 0


if __name__ == "__main__":
    settle("counters", 2)
    sys.exit(main(sys.argv[1:]))
