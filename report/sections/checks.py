"""Appendix: counters held against kernels whose bytes and operations are known, the roofs' first of all."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import median

from report.data import counted
from report.data.collect import Study
from report.data.limits import WAVEFRONT
from report.data.records import Point
from report.data.view import Part
from report.experiment import Column, Table, numbers, words

SECTOR = 32
"""Bytes of a sector of global memory."""
BEYOND_CACHES = 4
"""So many times the last-level cache a kernel moves whose bytes memory must see."""


def table(study: Study) -> Table | None:
    """The largest point of each roof's kernel, and the range of other kernels that move or compute a known amount."""
    rows = [*_roofs(study), *_others(study)]
    tools = words.joined(sorted({p.counter_tool for p in study.parts if p.counter_tool}))
    return Table(
        "roof_checks", "Counters over what is known, of kernels whose bytes and operations follow from their code: those that measure "
        "roofs, at the largest size that was counted, and others in one row for each experiment (median and range of the points). "
        f"Bytes loaded and stored are sectors of {SECTOR}\u00a0B, and an unaligned access touches one more; memory receives fewer "
        f"bytes than a kernel stores, since the last ones stay in the cache; bytes from shared memory are wavefronts of {WAVEFRONT}\u00a0B, "
        "which also serve a roof’s own sums; products do more where "
        f"tiles reach over the edges{f'. Counted by {tools}, {words.EMPTY_CACHES}' if tools else ''}.", (
            Column("what", "kernel", right=False, wide=True), Column("quantity", "quantity", right=False),
            Column("known", "known", numbers.grouped), Column("counted", "counted", numbers.grouped),
            Column("points", "points"), Column("ratio", "counted / known", "{:.3f}".format),
            Column("range", "range", right=False)), rows) if rows else None


def _roofs(study: Study) -> list[dict]:
    largest: dict[tuple, dict] = {}
    for part, p in _points(study):
        for quantity, known, found in _of_roof(part, p) if p.kernel.is_ceiling else ():
            row = {"what": f"{p.kernel.name}, {p.size_text}", "kernel": p.kernel.name, "quantity": quantity, "known": known, "counted": found,
                   "points": 1, "ratio": found / known}
            key = p.kernel.name, quantity
            if key not in largest or known > largest[key]["known"]:
                largest[key] = row
    return [largest[key] for key in sorted(largest)]


def _of_roof(part: Part, p: Point) -> Iterable[tuple[str, float, float]]:
    """(quantity, known, counted) of a kernel that measures a roof."""
    c, k = part.counters_of(p), p.counters
    if p.kernel.side == "cpu":
        made = [("bytes of memory", k.get("bytes_min"), k.get("bytes_dram_measured"))] if "DRAM" in (p.kernel.ceiling_label or "") else []
    elif not p.kernel.ceiling_is_bandwidth:
        made = [("operations", p.flops, counted.operations(c))]
    else:
        sectors = ((f"bytes {verb}", k.get(f"bytes_declared_{verb}"), SECTOR * c.get(key, 0))
                   for verb, key in (("loaded", "l1_load_sectors"), ("stored", "l1_store_sectors")))
        made = [*sectors, ("bytes of memory", _memory_bytes(part, p), c.get("dram_bytes"))]
        if "shared" in (p.kernel.ceiling_label or "").lower():
            made = [("bytes from shared memory", k.get("bytes_min"), WAVEFRONT * c.get("shared_load_wavefronts_exact", 0))]
    return [(quantity, known, found) for quantity, known, found in made if known and found]


def _memory_bytes(part: Part, p: Point) -> float | None:
    """The compulsory bytes, where that is far more than the cache holds."""
    cache, least = part.run.context.get("gpu_l2_bytes"), p.counters.get("bytes_min")
    return least if cache and least and least >= BEYOND_CACHES * cache else None


def _others(study: Study) -> list[dict]:
    """Timed kernels that ask memory for each byte once, and products, whose multiplications and additions are known."""
    ratios: dict[tuple, dict[str, float]] = {}
    for part, p in _points(study):
        if p.kernel.is_ceiling or p.kernel.side != "gpu" or not p.is_timed:
            continue
        c, k, title = part.counters_of(p), p.counters, part.run.context.get("title") or part.run.experiment
        asked = k.get("bytes_declared_loaded", 0) + k.get("bytes_declared_stored", 0)
        if (least := _memory_bytes(part, p)) and asked == least and c.get("dram_bytes") and not k.get("local_bytes_per_thread"):
            ratios.setdefault((title, "bytes of memory"), {})[part.counters_name(p)] = c["dram_bytes"] / least
        if p.is_product and p.kernel.type == "fp32" and not p.kernel.is_library and p.flops and (done := counted.operations(c)):
            ratios.setdefault((title, "operations"), {})[part.counters_name(p)] = done / p.flops
    return [{"what": title, "quantity": quantity, "points": len(found), "ratio": median(found.values()),
             "range": f"{min(found.values()):.3f} to {max(found.values()):.3f}", "lowest": min(found.values()), "highest": max(found.values())}
            for (title, quantity), found in sorted(ratios.items())]


def _points(study: Study) -> Iterable[tuple[Part, Point]]:
    for view in study.views:
        for part in view.parts:
            for p in part.points:
                yield part, p
