"""What the hardware counters say of one call, in the words of the emulator's counts."""

from __future__ import annotations

from collections.abc import Mapping

OF_MEMORY = ("dram_bytes", "dram_bytes_read", "dram_bytes_written", "l2_load_hits")
"""Counters that depend on what the L2 holds when a kernel begins."""
OPERATIONS = {"ffma": 2, "fadd": 1, "fmul": 1, "dfma": 2, "dadd": 1, "dmul": 1}
"""Floating-point operations of one executed instruction of a thread, by counter."""


def operations(counters: Mapping[str, float]) -> float | None:
    """Floating-point operations that the hardware executed; None where it was not asked."""
    return sum(counters.get(k, 0.0) * n for k, n in OPERATIONS.items()) if "ffma" in counters else None
