"""The table of counted operations and bytes: formula against count for the emulator's points of the main family."""

from __future__ import annotations

from report import blocks, derive, fmt
from report.records import Point, Study

AGREED = "yes"


def _points(study: Study) -> list[Point]:
    """Those of the main family, without the ones that are there to be compared with the hardware."""
    compared, family = derive.compared_names(study), derive.main_family(study)
    points = [p for p in study.counts if p.flops and p.counters.get("bytes_requested") and p.name not in compared
              and family in ("", p.kernel.family)]
    return sorted(points, key=derive.ladder_key)


def by_formula(point: Point) -> float | None:
    """Useful FLOP over declared bytes."""
    c = point.counters
    if c.get("flops_useful") and c.get("bytes_requested_declared"):
        return c["flops_useful"] / c["bytes_requested_declared"]
    return c.get("op_per_byte_declared")


def counted(point: Point, with_stores: bool = False) -> float:
    """Executed FLOP over counted bytes of the loads, or of loads and stores."""
    c = point.counters
    return point.flops / (c["bytes_requested"] + (c.get("bytes_stored", 0.0) if with_stores else 0.0))


def difference(point: Point) -> str | None:
    """AGREED, or by how much counted bytes differ from declared ones; None where nothing was declared."""
    pairs = [(point.counters.get(key), point.counters.get(f"{key}_declared")) for key in
             ("bytes_requested", "bytes_stored")]
    pairs = [(a, b) for a, b in pairs if a is not None and b is not None]
    if not pairs:
        return None
    wrong = [f"{a - b:+,.0f} B".replace(",", "\u202f") for a, b in pairs if a != b]
    return ", ".join(wrong) or AGREED


def padding(point: Point) -> float:
    """The share of the executed FLOP that no result needs (zeros beyond the edge)."""
    useful = point.counters.get("flops_useful")
    return 1 - useful / point.flops if useful else 0.0


def table(study: Study) -> list[dict]:
    points = _points(study)
    rows = [(p.title, p.n or p.size_text, _number(by_formula(p)), fmt.significant(counted(p)),
             fmt.significant(counted(p, True)), fmt.volume(p.counters["bytes_requested"]), difference(p),
             fmt.percent(padding(p)) if padding(p) > 1e-9 else "", _number(p.counters.get("sectors_per_load_request")),
             _number(p.counters.get("sectors_per_store_request"))) for p in points]
    if not rows:
        return []
    columns = [("kernel", "l"), ("N", "r"), ("formula", "r"), ("counted", "r"), ("with stores", "r"),
               ("requested", "r"), ("as declared", "r"), ("padding", "r"), ("load", "r"), ("store", "r")]
    note = f" {study.counts_note[0].upper()}{study.counts_note[1:]}." if study.counts_note else ""
    return [blocks.table(
        "Operations for each requested byte (OP/B). Formula: useful operations over declared bytes of the loads; "
        "counted: executed operations over counted bytes, by executing the kernel in the emulator; with stores: bytes "
        "written are counted too. As declared: counted bytes equal those of the kernel’s record, loads and stores, "
        "to the byte. Padding: share of the executed operations that multiply zeros beyond the edge, which is why "
        "“counted” can exceed the formula. Load, store: 32-byte sectors for each request of a warp (4 is the least for "
        f"4-byte elements in a row, unless lanes share them).{note}", columns, rows,
        widths=["1fr"] + ["auto"] * 9)]


def reading(study: Study) -> str:
    """How many points agree with their records, and the most padding."""
    points = _points(study)
    known = [difference(p) for p in points if difference(p) is not None]
    if not known:
        return ""
    agreed = sum(d == AGREED for d in known)
    text = (f"Counted and declared bytes agree to the byte for {'all' if agreed == len(known) else agreed} of "
            f"{len(known)} points")
    worst = max(points, key=lambda p: (padding(p), p.name))
    if padding(worst) > 1e-9:
        text += (f"; {worst.title} at {worst.size_text} spends {fmt.percent(padding(worst))} of its operations on "
                 "padding")
    return text + "."


def _number(value: float | None) -> str | None:
    return None if value is None else fmt.significant(value)
