"""Converts results of schema 1 to schema 2, so that all other code handles one schema only."""

from __future__ import annotations

SIZES = ("m", "n", "k")
UNUSUAL = ("lda", "ldb", "ldc", "alpha", "beta", "shift")
"""Sizes of a general product in addition to m, n and k."""
THREADS = "threads"
TIMED = {"flops": "flops_useful", "bytes_requested": "bytes_declared_loaded", "bytes_stored": "bytes_declared_stored",
         "op_per_byte_requested": "op_per_byte_declared"}
COUNTED = {"flops": "flops_executed", "bytes_requested": "bytes_executed_loaded",
           "bytes_stored": "bytes_executed_stored", "bytes_requested_declared": "bytes_declared_loaded",
           "bytes_stored_declared": "bytes_declared_stored", "op_per_byte_requested": "op_per_byte_executed",
           "op_per_byte_with_stores": "op_per_byte_executed_with_stores"}
TYPED_FAMILIES = {"matmul_bf16": ("matmul", "bf16"), "fma_bf16": ("fma", "bf16")}


PROBLEMS = {"matmul": {"title": "Matrix multiplication", "metric": {"key": "gflops", "unit": "GFLOP/s"}}}
"""The problem's title and metric, which schema 1 does not have."""


def migrate(data: dict) -> dict:
    """The file in schema 2. Malformed parts are kept, so that the loader reports them."""
    context, entries = {"problems": PROBLEMS} | data["context"], data.get("benchmarks")
    if isinstance(context.get("kernels"), dict):
        context["kernels"] = {name: _kernel(k) if isinstance(k, dict) else k for name, k in context["kernels"].items()}
    if isinstance(entries, list):
        entries = [_entry(e) if isinstance(e, dict) else e for e in entries]
    return {"context": context, "benchmarks": entries}


def _kernel(record: dict) -> dict:
    made = {k: v for k, v in record.items() if k != "precision"}
    made["type"] = record.get("precision") or "fp32"
    family = record.get("family")
    if isinstance(family, str) and family in TYPED_FAMILIES:
        made["family"], made["type"] = TYPED_FAMILIES[family]
    if isinstance(record.get("source"), str):
        made["source"] = [{"id": "", "where": record["source"]}]
    return made


def _entry(entry: dict) -> dict:
    words = COUNTED if entry.get("mode") == "count" else TIMED
    tunables = [t for t in str(entry.get("tunable_names") or "").split(",") if t in entry]
    sizes = _sizes(entry, tunables)
    made = {words.get(k, k): v for k, v in entry.items() if k not in tunables and k not in sizes}
    made.pop("tunable_names", None)
    return made | {"sizes": sizes, "tunables": {t: entry[t] for t in tunables}}


def _sizes(entry: dict, tunables: list[str]) -> dict:
    """m, n, k (and the unusual ones) where given, else the parts of the point's name that are no tunables."""
    found = {k: entry[k] for k in (*SIZES, *UNUSUAL) if k in entry}
    if found.keys() >= set(SIZES):
        return found
    parts = {k: v for k, v in name_parts(str(entry.get("run_name") or entry.get("name") or "")).items()
             if k not in tunables and k not in (THREADS, "shared_bytes")}
    return parts | {k: v for k, v in found.items() if k in SIZES}


def name_parts(name: str) -> dict[str, int]:
    """The 'key:number' parts of a point's name; of two with one key the first."""
    found: dict[str, int] = {}
    for part in name.split("/"):
        key, colon, value = part.partition(":")
        if colon and value.isascii() and value.isdigit() and len(value) < 19:
            found.setdefault(key, int(value))
    return found
