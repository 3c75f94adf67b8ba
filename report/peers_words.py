"""How ratios of rates came about, for captions."""

from __future__ import annotations

from collections.abc import Sequence

from report.steps import Ratio

PAIRED = "medians over samples that both codes took in turns, with 95 % rank intervals"
APART = "of medians, their intervals from the ends of both 95 % intervals"


def how(ratios: Sequence[Ratio]) -> str:
    """'Ratios are …' for ratios that were all, partly or never taken sample by sample."""
    paired = sum(r.paired for r in ratios)
    if not ratios:
        return ""
    if paired == len(ratios):
        return f"Ratios are {PAIRED}."
    return f"Ratios are {APART}." if not paired else f"Ratios are {PAIRED}; where codes took no turns, {APART}."
