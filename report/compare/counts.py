"""Counts of the emulator, compared exactly: no sample, no noise, on any machine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from report.compare.matching import Pair
from report.data.records import SWEPT

GREW, SHRANK, EQUAL = "GREW", "SHRANK", "EQUAL"
NO_COST = ("flops_useful", "bytes_min", "bytes_declared_loaded", "bytes_declared_stored", "error_factor", "max_error_ratio", "throttled", SWEPT)
"""Counters of a counted point that are not what it does: the problem's, or its record's."""
DERIVED = ("op_per_byte_", "sectors_per_", "occupancy_", "registers_on", "model_device", "model_l1_hit", "model_l2_hit", "model_l1_load_hits",
           "model_l2_load_hits")
"""Beginnings of keys whose values follow from others, or should be high."""
LAUNCH = {"registers_per_thread": "registers", "shared_bytes_per_block": "bytes of shared memory", "local_bytes_per_thread": "bytes of local memory",
          "threads_per_block": "threads per block", "blocks": "blocks", "occupancy_theoretical": "occupancy"}
"""Facts of a timed launch that explain a change."""
FEW, MANY = 4, 7
"""Digits of a factor; the latter of one that is near 1."""
CLOSE = 1e-12
"""Counts are whole numbers; those above 2^53 are rounded when they are read."""


@dataclass(frozen=True)
class Change:
    """A count that differs."""

    counter: str
    first: float
    second: float

    @property
    def grew(self) -> bool:
        return self.second > self.first

    @property
    def ratio(self) -> float | None:
        """None where there was none before."""
        return self.second / self.first if self.first else None

    @property
    def text(self) -> str:
        """'load_sectors 32768 → 65536 (×2)'."""
        factor = f" (×{self.ratio:.{MANY if abs(self.ratio - 1) < 0.01 else FEW}g})" if self.ratio else ""
        return f"{self.counter} {number(self.first)} → {number(self.second)}{factor}"


@dataclass(frozen=True)
class Counted:
    """A counted point on two sides: the counters that differ, and how many were compared."""

    pair: Pair
    changes: tuple[Change, ...]
    compared: int

    @property
    def verdict(self) -> str:
        """GREW if one of them did, whatever the others."""
        return GREW if any(c.grew for c in self.changes) else SHRANK if self.changes else EQUAL

    @property
    def worst(self) -> float:
        """The largest factor by which one grew, or by which all shrank; infinite for one that was 0."""
        return max((c.ratio if c.ratio is not None else float("inf") for c in self.changes), default=1.0)


def compare(pair: Pair, patterns: Sequence[str] = ()) -> Counted:
    """All counters that both sides have and that match one of the patterns (none: all)."""
    one, other = pair.first[-1].counters, pair.second[-1].counters
    keys = [key for key in one if key in other and is_cost(key) and (not patterns or any(fnmatchcase(key, p) for p in patterns))]
    changes = [Change(key, one[key], other[key]) for key in keys if abs(one[key] - other[key]) > CLOSE * max(abs(one[key]), abs(other[key]))]
    return Counted(pair, tuple(sorted(changes, key=lambda c: (not c.grew, -(c.ratio or float("inf")), c.counter))), len(keys))


def is_cost(key: str) -> bool:
    return key not in NO_COST and not key.startswith(DERIVED)


def of_launch(pair: Pair) -> list[str]:
    """'registers 96 → 128' for each fact of the launch that changed."""
    one, other = pair.first[-1].counters, pair.second[-1].counters
    return [f"{name} {number(one[key])} → {number(other[key])}" for key, name in LAUNCH.items() if key in one and key in other and one[key] != other[key]]


def number(value: float) -> str:
    return f"{value:.0f}" if value == round(value) else f"{value:.6g}"
