"""The CPU's memory by level: bytes that a kernel moves at each, and the measured bandwidths of each."""

from __future__ import annotations

from dataclasses import dataclass

from report import blocks, captions, derive, fmt, threads
from report.records import Point, Roof, Side, Study

LEVELS = ("L1", "L2", "L3", "DRAM")
KINDS = ("read", "copy", "triad")
MEASURED, MODEL = "hardware events", "formula"


@dataclass(frozen=True)
class Moved:
    """The bytes that one call moves at a level, and how they are known."""

    level: str
    bytes: float
    how: str


def moved(point: Point) -> list[Moved]:
    """By hardware events where the point has them, else by its kernel's formula; levels without either are left out."""
    made = []
    for level in LEVELS:
        for key, how in (("measured", MEASURED), ("model", MODEL)):
            amount = point.counters.get(f"bytes_{level.lower()}_{key}")
            if amount and amount > 0:
                made.append(Moved(level, amount, how))
                break
    return made


def placed(study: Study, side: Side | None) -> list[tuple[Point, list[Moved]]]:
    """Each kernel's fastest variant with its bytes, at the largest size that most have; those without are left out."""
    if not side:
        return []
    points = [p for p in derive.timed(side, derive.main_family(study)) if p.n and moved(p)]
    return [(p, moved(p)) for p in derive.best_variants(points, derive.common_size(points))]


def _parts(roof: Roof) -> tuple[str, str, str, bool]:
    """Level, kind, what else the label says, and whether it is of one thread: 'DRAM triad, streaming (1 thread)'."""
    label = roof.label.removesuffix(threads.ONE)
    words = [w for w in derive.label_words(label) if w != derive.memory_level(label)]
    kind = next((k for k in KINDS if k.upper() in words), KINDS[0])
    rest = " ".join(w.lower() for w in words if w != kind.upper())
    return derive.memory_level(label), kind, rest, threads.is_one(roof)


def memory_table(side: Side) -> list[dict]:
    """Level × (read, copy, triad) × (one core, all): nothing where only one kind of one count was measured."""
    found: dict[tuple, float] = {}
    for roof in side.roofs:
        if roof.is_bandwidth and roof.measured:
            key = _parts(roof)
            found[key] = max(roof.value, found.get(key, 0))
    kinds = [k for k in KINDS if any(key[1] == k for key in found)]
    counts = [one for one in (True, False) if any(key[3] == one for key in found)]
    if len(kinds) * len(counts) < 2:
        return []
    order = {level: i for i, level in enumerate(LEVELS)}
    names = sorted({(key[0], key[2]) for key in found}, key=lambda k: (order.get(k[0], 99), k))
    rows = [(f"{level}, {rest}" if rest else level,
             *(_bandwidth(found.get((level, kind, rest, one))) for one in counts for kind in kinds))
            for level, rest in names]
    heads = [(f"{kind}, {'one core' if one else 'all'}", "r") for one in counts for kind in kinds]
    what = {"read": "of reading", "copy": "of a copy (bytes read and written)",
            "triad": "of the triad a = b + s c (two arrays read, one written)"}
    where = captions.joined(["on one core" if one else f"on all{_threads(side)}" for one in counts])
    return [blocks.table(
        f"The CPU’s memory, level by level: bandwidth {captions.joined([what[k] for k in kinds])}, {where}. "
        f"{side.label[0].upper()}{side.label[1:]}.", [("level", "l"), *heads], rows,
        widths=["1fr"] + ["auto"] * len(heads))]


def _threads(side: Side) -> str:
    number = threads.machine_threads(side)
    return f" ({number} thread{'s' if number > 1 else ''})" if number else ""


def _bandwidth(value: float | None) -> str | None:
    return None if value is None else fmt.bandwidth(value)


def arithmetic_table(side: Side) -> list[dict]:
    """Arithmetic ceilings on one core and on all; nothing without a reading on one core."""
    one = {r.label.removesuffix(threads.ONE): r.value for r in side.roofs if threads.is_one(r) and not r.is_bandwidth}
    whole = {r.label: r.value for r in derive.compute_roofs(side)}
    labels = sorted(one.keys() | whole.keys(), key=lambda k: (whole.get(k, one.get(k)), k))
    if not one:
        return []
    rows = [(label, *(fmt.flops(v[label]) if label in v else None for v in (one, whole)),
             fmt.times(whole[label] / one[label]) if label in one and label in whole else None) for label in labels]
    return [blocks.table(
        f"The CPU’s arithmetic, on one core and on all{_threads(side)}; the last column is how many times one core all "
        "of them are.", [("ceiling", "l"), ("one core", "r"), ("all", "r"), ("all over one", "r")], rows)]


def in_memory_table(roof: Roof) -> bool:
    """Whether a CPU's roof needs no line in the list of roofs: copies, triads and what one thread reaches."""
    return threads.is_one(roof) or (roof.is_bandwidth and _parts(roof)[1:3] != (KINDS[0], ""))


def source(found: list[tuple[Point, list[Moved]]]) -> str:
    """For captions: 'Bytes of L1 by formula, of L2 and DRAM by hardware events.'"""
    ways: dict[str, list[str]] = {}
    for level in LEVELS:
        hows = sorted({m.how for _, part in found for m in part if m.level == level})
        if hows:
            ways.setdefault(" or ".join(hows), []).append(level)
    parts = [f"of {captions.joined(names)} by {way}" for way, names in ways.items()]
    return f"Bytes {captions.joined(parts)}." if parts else ""
