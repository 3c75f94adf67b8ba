"""What the hardware counters say of one call, in the words of the emulator's counts."""

from __future__ import annotations

from collections.abc import Mapping

OPERATIONS = {"ffma": 2, "fadd": 1, "fmul": 1, "dfma": 2, "dadd": 1, "dmul": 1}
"""Floating-point operations of one executed instruction of a thread, by counter."""


def operations(counters: Mapping[str, float]) -> float | None:
    """Floating-point operations that the hardware executed; None where it was not asked."""
    return sum(counters.get(k, 0.0) * n for k, n in OPERATIONS.items()) if "ffma" in counters else None
