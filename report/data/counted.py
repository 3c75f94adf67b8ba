"""What the hardware counters say of one call, in the words of the emulator's counts."""

from __future__ import annotations

import math
from collections.abc import Mapping

SEVERAL = 1.5
"""One product needs fewer times its own multiply-adds."""
OPERATIONS = {"ffma": 2, "fadd": 1, "fmul": 1, "dfma": 2, "dadd": 1, "dmul": 1}
"""Floating-point operations of one executed instruction of a thread, by counter."""


def are_of_one_call(counters: dict[str, float], flops: float | None) -> bool:
    """More than one kernel with more than SEVERAL times its multiply-adds are several products: a library that tries
    its candidates in its first call launches them all. One kernel alone has more where its tiles reach over the edges.
    """
    several = counters.get("kernels_launched", 1) > 1 and 2 * counters.get("ffma", 0) > SEVERAL * (flops or math.inf)
    return not several


def operations(counters: Mapping[str, float]) -> float | None:
    """Floating-point operations that the hardware executed; None where it was not asked."""
    return sum(counters.get(k, 0.0) * n for k, n in OPERATIONS.items()) if "ffma" in counters else None
