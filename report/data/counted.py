"""Which hardware counters can be those of one call."""

from __future__ import annotations

import math

SEVERAL = 1.5
"""One product needs fewer times its own multiply-adds."""


def are_of_one_call(counters: dict[str, float], flops: float | None) -> bool:
    """More than one kernel with more than SEVERAL times its multiply-adds are several products: a library that tries
    its candidates in its first call launches them all. One kernel alone has more where its tiles reach over the edges.
    """
    several = counters.get("kernels_launched", 1) > 1 and 2 * counters.get("ffma", 0) > SEVERAL * (flops or math.inf)
    return not several
