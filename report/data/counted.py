"""Hardware counters of one call, in the terms of the emulator's counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

OF_MEMORY = ("dram_bytes", "dram_bytes_read", "dram_bytes_written", "l2_load_hits")
"""Counters that depend on the contents of the L2 when a kernel begins."""
OPERATIONS = {"ffma": 2, "fadd": 1, "fmul": 1, "dfma": 2, "dadd": 1, "dmul": 1}
"""Floating-point operations of one executed instruction of a thread, by counter."""

VARYING = ("dram_bytes", "dram_bytes_read", "dram_bytes_written", "l2_bytes", "l2_load_sectors", "l2_load_hits", "l2_store_sectors")
"""Counters of the L2 and of DRAM. They depend on the contents of the caches and vary from run to run; counts of
instructions, requests and sectors of the L1 do not."""


def apart(profiles: Sequence[Mapping[str, float]]) -> float:
    """The largest relative difference of the varying counters between profiles of one launch; 0 for a single profile."""
    known = [[c[key] for c in profiles if c.get(key)] for key in ("dram_bytes", "l2_bytes")]
    return max((max(values) / min(values) - 1 for values in known if values), default=0.0)


def operations(counters: Mapping[str, float]) -> float | None:
    """Floating-point operations that the hardware executed; None where it was not asked."""
    return sum(counters.get(k, 0.0) * n for k, n in OPERATIONS.items()) if "ffma" in counters else None
