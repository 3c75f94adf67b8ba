"""The sections on the emulator: its counts beside the hardware's counters, its modelled caches beside the real ones."""

from __future__ import annotations

from collections.abc import Callable
from statistics import median

from report import blocks, derive, fmt, labels
from report.records import Point, Study

TITLE = "The emulator against the hardware’s counters"
CACHES_TITLE = "Caches, modelled"
EQUAL = "equal"

Counters = dict[str, float]
Pairs = list[tuple[Point, Counters]]
"""Counted points, each with what the hardware counted of the same point."""

QUANTITIES = {
    "operations": {"fma": ("fmas", ("ffma", "dfma")), "add": ("adds", ("fadd", "dadd")),
                   "mul": ("muls", ("fmul", "dmul"))},
    "requests": {"load": ("load_requests", ("load_requests",)), "store": ("store_requests", ("store_requests",)),
                 "atomic": ("atomic_requests", ("atomic_requests",)), "copy": ("async_requests", ("async_requests",))},
    "sectors": {"load": ("load_sectors", ("l1_load_sectors",)), "store": ("store_sectors", ("l1_store_sectors",))},
}
"""Column → what is compared in it: the emulator's counter, and the hardware's, which add up; only the first of those
must be there."""


def pairs(study: Study) -> Pairs:
    """Every counted point that the GPU's own counters know, in the ladder's order."""
    if not study.gpu:
        return []
    found = [(p, derive.counters_of(study.gpu, p)) for p in study.counts if p.counters]
    return sorted((pair for pair in found if pair[1]), key=lambda pair: (pair[0].kernel.family,
                                                                         *derive.ladder_key(pair[0])))


def by_kernel(found: Pairs) -> list[Pairs]:
    groups: dict[str, Pairs] = {}
    for pair in found:
        groups.setdefault(pair[0].kernel.name, []).append(pair)
    return list(groups.values())


def differences(point: Point, hardware: Counters, column: str) -> list[str] | None:
    """What differs, as 'fma 8 and 9' (emulator, hardware); None where the two have nothing in common."""
    known = [(name, point.counters[ours], sum(hardware.get(key, 0.0) for key in theirs))
             for name, (ours, theirs) in QUANTITIES[column].items()
             if ours in point.counters and theirs[0] in hardware]
    if not known:
        return None
    return [f"{name} {fmt.grouped(a)} and {fmt.grouped(b)}" for name, a, b in known if a != b]


def cell(group: Pairs, column: str) -> str | tuple[str, str] | None:
    """EQUAL, or how many points are and the first difference."""
    found = [(p, d) for p, hardware in group if (d := differences(p, hardware, column)) is not None]
    wrong = [(p, d) for p, d in found if d]
    if not found:
        return None
    if not wrong:
        return EQUAL
    return f"{len(found) - len(wrong)} of {len(found)}", wrong[0][1][0]


def wavefronts(point: Point, hardware: Counters) -> tuple[float, float] | None:
    """Shared-memory wavefronts of loads and stores: the emulator's, the hardware's; None where one is unknown.

    The hardware's are those of the executed instructions where these were read.
    """
    ours = [point.counters.get(f"shared_{kind}_wavefronts") for kind in ("load", "store")]
    theirs = [hardware.get(f"shared_{kind}_wavefronts_exact", hardware.get(f"shared_{kind}_wavefronts"))
              for kind in ("load", "store")]
    return None if None in ours or None in theirs else (sum(ours), sum(theirs))


def shared_loads(point: Point, hardware: Counters) -> tuple[float, float, float, float] | None:
    """Requests and wavefronts of shared loads: the emulator's two, the hardware's two; None if one is unknown."""
    exact = "shared_load_wavefronts_exact"
    values = [table.get(key) for table, keys in ((point.counters, ("shared_load_requests", "shared_load_wavefronts")),
                                                 (hardware, ("shared_load_requests", exact))) for key in keys]
    return None if None in values or not values[0] else tuple(values)


def section(study: Study) -> list[dict]:
    """One row a kernel, with a sentence; nothing where no point was counted on both."""
    found = pairs(study)
    if not found:
        return []
    columns = [("kernel", "l"), ("points", "r"), *((name, "l") for name in QUANTITIES), ("emulator", "r"),
               ("hardware", "r"), ("ratio", "r")]
    table = blocks.table(
        "Points that the emulator and the GPU counted alike, kernel by kernel: fused multiply-adds, additions and "
        "multiplications of all threads; requests of warps to global memory (loads, stores, atomics, asynchronous "
        "copies); their 32-byte sectors. Where points differ: how many are equal, and the first difference, the "
        "emulator’s count first. The last three columns are wavefronts of shared memory, loads and stores, over all "
        f"points of the kernel. Hardware: {study.gpu.counter_tool}, {study.gpu.machine}.",
        columns, [_row(group) for group in by_kernel(found)],
        widths=["2.2fr", "auto", "1.2fr", "1fr", "1fr", "auto", "auto", "auto"])
    return [blocks.heading(TITLE), blocks.reading(reading(study, found)), table]


def _row(group: Pairs) -> tuple:
    points = [p for p, _ in group]
    sizes = labels.listed(list(dict.fromkeys(p.size_text for p in points)), most=3)
    both = [w for p, hardware in group if (w := wavefronts(p, hardware))]
    ours, theirs = (sum(values) for values in zip(*both)) if both else (0, 0)
    shared = (fmt.grouped(ours), fmt.grouped(theirs), fmt.times(theirs / ours)) if ours else (None, None, None)
    return ((points[0].kernel.title, sizes), len(group), *(cell(group, column) for column in QUANTITIES), *shared)


def reading(study: Study, found: Pairs) -> str:
    """Whether everything agrees, and why shared memory may not."""
    kernels = len(by_kernel(found))
    wrong = [p for p, hardware in found if any(differences(p, hardware, column) for column in QUANTITIES)]
    share = f"{len(found) - len(wrong)} of" if wrong else "all"
    text = (f"For {share} {len(found)} points of {kernels} kernels the emulator counts exactly as many operations, "
            f"requests and sectors as {study.gpu.machine}.")
    if wrong:
        text += f" The first that differs is {wrong[0].title}, {wrong[0].size_text}."
    return " ".join(part for part in (text, _shared_reading(found)) if part)


def _shared_reading(found: Pairs) -> str:
    """How far requests and wavefronts of loads from shared memory go together, and why not where they do not.

    Fewer requests of more wavefronts each are wider ones; fewer of no more wavefronts each were left out.
    """
    known = [loads for p, hardware in found if (loads := shared_loads(p, hardware))]
    if not known:
        ratios = [both[1] / both[0] for p, hardware in found if (both := wavefronts(p, hardware)) and both[0]]
        return (f"Shared memory took it {fmt.times(min(ratios))} to {fmt.times(max(ratios))} the emulator’s wavefronts."
                if ratios else "")
    fewer = [loads for loads in known if loads[2] < loads[0]]
    wider = [requests / source for source, waves, requests, took in fewer if took * source > waves * requests]
    same = [waves == took for source, waves, requests, took in known if requests == source]
    parts = []
    if wider:
        parts.append(f"In {len(wider)} of {len(known)} points that load from shared memory the GPU makes fewer "
                     f"requests than the source has accesses, down to {fmt.significant(min(wider))} of them, each of "
                     "more wavefronts: the compiler merges neighbouring loads into wider ones.")
    if len(fewer) > len(wider):
        parts.append(f"In {len(fewer) - len(wider)} points it makes fewer requests of no more wavefronts each: the "
                     "compiler keeps in registers what was read.")
    if same:
        share = "all" if all(same) else f"{sum(same)} of"
        parts.append(f"Where the requests are equal, so are the wavefronts, in {share} {len(same)} points.")
    return " ".join(parts)


def modelled(study: Study) -> Pairs:
    """Counted points with a model of the caches of the very GPU whose counters are known."""
    return [(p, hardware) for p, hardware in pairs(study)
            if "model_dram_bytes" in p.counters and _is_device(p.labels.get("model_device", ""), study.gpu.machine)]


def _is_device(name: str, machine: str) -> bool:
    """Whether a device of the catalogue is this machine, whose name has the maker's before it."""
    return bool(name) and name.lower() in machine.lower()


def _measured_rate(hardware: Counters) -> float | None:
    asked = hardware.get("l1_load_sectors")
    return hardware["l1_load_hits"] / asked if asked and "l1_load_hits" in hardware else None


MODELLED: dict[str, tuple[str, str, Callable[[float], str]]] = {
    "L2 sectors": ("model_l2_load_sectors", "l2_load_sectors", fmt.grouped),
    "DRAM bytes": ("model_dram_bytes", "dram_bytes", fmt.volume),
}
"""What is compared: the model's counter, the hardware's, and how a value reads."""


def off(point: Point, hardware: Counters, name: str) -> float | None:
    """By which part the model is above the measured value (negative: below); None where nothing was measured."""
    ours, theirs, _ = MODELLED[name]
    return point.counters[ours] / hardware[theirs] - 1 if hardware.get(theirs) else None


def signed_percent(fraction: float) -> str:
    """'+3.2 %', '−12 %', '0 %'."""
    if abs(fraction) < 0.0005:
        return "0 %"
    return ("+" if fraction > 0 else "−") + fmt.percent(abs(fraction))


def caches_section(study: Study) -> list[dict]:
    """Model and measurement side by side; nothing where no point has both."""
    found = modelled(study)
    if not found:
        return []
    columns = [("kernel", "l"), ("L1 hits", "r"), ("measured", "r")]
    for name in MODELLED:
        columns += [(name, "r"), ("measured", "r"), ("off", "r")]
    table = blocks.table(
        "What the emulator’s model of the caches says, beside what the hardware’s counters said. L1 hits: share of the "
        "sectors of loads that L1 has. L2 sectors: those that loads ask L2 for. DRAM bytes: read and written. Off: how "
        f"far the model is above (+) or below (−) the measurement. Hardware: {study.gpu.counter_tool}, "
        f"{study.gpu.machine}, caches empty at the start.",
        columns, [_modelled_row(p, hardware) for p, hardware in found], widths=["1fr", *(["auto"] * 8)])
    return [blocks.heading(CACHES_TITLE), blocks.reading(caches_reading(found)), table]


def _modelled_row(point: Point, hardware: Counters) -> tuple:
    measured = _measured_rate(hardware)
    row = [(point.title, point.size_text), fmt.percent(point.counters["model_l1_hit_rate"]),
           None if measured is None else fmt.percent(measured)]
    for name, (ours, theirs, text) in MODELLED.items():
        error = off(point, hardware, name)
        row += [text(point.counters[ours]), text(hardware[theirs]) if theirs in hardware else None,
                None if error is None else signed_percent(error)]
    return tuple(row)


def caches_reading(found: Pairs) -> str:
    """How far off the model is: in the middle and at worst."""
    parts = []
    for name in MODELLED:
        errors = [(abs(e), p) for p, hardware in found if (e := off(p, hardware, name)) is not None]
        if errors:
            worst = max(errors, key=lambda e: (e[0], e[1].name))
            parts.append(f"{name} are off by {fmt.percent(median(e for e, _ in errors))} in the median and by "
                         f"{fmt.percent(worst[0])} at most ({worst[1].title}, {worst[1].size_text})")
    hits = [abs(p.counters["model_l1_hit_rate"] - rate) for p, hardware in found
            if (rate := _measured_rate(hardware)) is not None]
    if hits:
        parts.append(f"the L1 hit rate by {fmt.significant(100 * max(hits), 2)} percentage points at most")
    return f"The model’s {'; '.join(parts)}." if parts else ""
