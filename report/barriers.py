"""The section on barriers and fences: how many a kernel needs, what each costs, and what goes wrong without them."""

from __future__ import annotations

from report import blocks, captions, derive, fmt
from report.hazards import Rows, cell, merged
from report.records import HOT, SIDE_NAME, PlantedFault, Point, Side, Study

TITLE = "Barriers and fences"
EXCHANGE, SUM = "exchange", "sum"
"""The problems whose kernels do the same work and differ in how their threads wait for each other."""
WARP = 32
BARRIERS = {"barriers": "block barriers", "warp_barriers": "warp barriers", "shuffles": "shuffles"}
"""Counters of the emulator, one for each warp that takes part, and what they are called."""
MISSING = {"barrier": "block", "syncwarp": "warp", "fence": "fence"}
"""What a planted fault lacks, or has in the wrong place, by a word in its name."""
CHECKS = ("racecheck", "synccheck")
"""The sanitizer's tools that look at barriers."""

Variant = tuple[str, tuple[tuple[str, int], ...]]


def section(study: Study) -> list[dict]:
    """What there is of it: the exchange, the sum, the faults; nothing at all if there is none of them."""
    parts = [*_exchange(study), *_sum(study), *_faults(study)]
    return [blocks.heading(TITLE), *parts] if parts else []


def families(study: Study) -> set[str]:
    """The problems whose times the section shows."""
    return {family for family in (EXCHANGE, SUM) if any(timed(side, family) for side in study.sides.values())}


def variant(point: Point) -> Variant:
    return point.kernel.name, tuple(sorted(point.tunables.items()))


def timed(side: Side | None, family: str) -> list[Point]:
    """The hot points of a problem on one side, in the ladder's order."""
    points = side.points if side else ()
    return sorted((p for p in points if p.is_timed and p.mode == HOT and p.kernel.family == family),
                  key=derive.ladder_key)


# The exchange: a round's barriers and its time.

def a_round(point: Point) -> float | None:
    """Seconds that one round takes."""
    rounds = point.sizes.get("rounds")
    return point.summary.median / rounds if rounds else None


def waits(point: Point) -> dict[str, float]:
    """How often a warp waits in a round, by kind of barrier, from a counted point; empty if it does not tell."""
    n, rounds, block = (point.sizes.get("n"), point.sizes.get("rounds"), point.tunables.get("block"))
    if not n or not rounds or not block:
        return {}
    warps = -(-n // block) * -(-block // WARP)
    return {kind: point.counters[kind] / (warps * rounds) for kind in BARRIERS if kind in point.counters}


def _exchange(study: Study) -> list[dict]:
    points = timed(study.gpu, EXCHANGE)
    counted = {variant(p): p for p in study.counts if p.kernel.family == EXCHANGE}
    variants = {variant(p): p for p in sorted([*counted.values(), *points], key=derive.ladder_key)}
    if not variants:
        return []
    sizes = sorted({p.sizes.get("n", 0) for p in points})
    times = {(variant(p), p.sizes.get("n", 0)): p for p in points}
    rows = []
    for key, point in variants.items():
        known = waits(counted[key]) if key in counted else {}
        rows.append((point.kernel.title, point.variant, *(_count(known.get(kind)) for kind in BARRIERS),
                     *(_time(times.get((key, n))) for n in sizes)))
    columns = [("kernel", "l"), ("variant", "l"), *((name, "r") for name in BARRIERS.values()),
               *((f"round, n = {fmt.grouped(n)}", "r") for n in sizes)]
    told = captions.provenance([(study.gpu, points)]) if points else "No round was timed."
    if counted and study.counts_note:
        told += f" {study.counts_note[0].upper()}{study.counts_note[1:]}."
    text = exchange_reading(points)
    return [*([blocks.reading(text)] if text else []), blocks.table(
        "The same exchange between neighbours of a warp in several ways. Barriers and shuffles: how often a warp waits "
        "in each round, counted by executing the kernel in the emulator. Round: time of a call over its rounds; with "
        f"few elements most of the GPU is idle, and it is the latency of a round. {told}", columns, rows,
        widths=["1fr", "auto", *("auto" for _ in columns[2:])])]


def _count(value: float | None) -> str | None:
    """A whole number as such: most kernels wait a fixed number of times a round."""
    return None if value is None else f"{value:.0f}" if value == round(value) else fmt.significant(value)


def _time(point: Point | None) -> str | None:
    seconds = a_round(point) if point else None
    return None if seconds is None else fmt.seconds(seconds)


def exchange_reading(points: list[Point]) -> str:
    """The rounds' times at the largest size in the largest blocks, how they depend on the block, and the fences'."""
    points = [p for p in points if a_round(p) and p.tunables.get("block")]
    if not points:
        return ""
    n = max(p.sizes.get("n", 0) for p in points)
    block = max(p.tunables["block"] for p in points)
    plain = [p for p in points if p.sizes.get("n", 0) == n and not p.tunables.get("fence")]
    shown = [p for p in plain if p.tunables["block"] == block]
    listed = ", ".join(f"{p.kernel.title} {fmt.seconds(a_round(p))}" for p in shown)
    text = [f"With {fmt.grouped(n)} elements in blocks of {block} threads a round takes: {listed}."] if shown else []
    return " ".join(text + _by_block(plain, block) + _fences(points, n))


def _by_block(points: list[Point], largest: int) -> list[str]:
    """How much longer a round is in the largest blocks than in the smallest."""
    smallest = min((p.tunables["block"] for p in points), default=largest)
    if smallest == largest:
        return []
    small = {p.kernel.name: p for p in points if p.tunables["block"] == smallest}
    large = [p for p in points if p.tunables["block"] == largest and p.kernel.name in small]
    listed = ", ".join(f"{p.kernel.title} {fmt.times(a_round(p) / a_round(small[p.kernel.name]))}" for p in large)
    return [f"Compared with blocks of {smallest}, that is {listed}."] if large else []


def _fences(points: list[Point], n: int) -> list[str]:
    """The round with each fence over the one without, in the same kernel and blocks."""
    group = {variant(p): p for p in points if p.sizes.get("n", 0) == n}
    found: dict[int, list[float]] = {}
    for (name, tunables), p in group.items():
        fence = p.tunables.get("fence")
        without = group.get((name, tuple((k, 0 if k == "fence" else v) for k, v in tunables)))
        if fence and without:
            found.setdefault(fence, []).append(a_round(p) / a_round(without))
    names = {1: "__threadfence_block", 2: "__threadfence"}
    listed = [f"{names.get(fence, f'fence {fence}')} {_span(ratios)}" for fence, ratios in sorted(found.items())]
    return [f"A fence in each round makes it so many times as long: {', '.join(listed)}."] if listed else []


def _span(ratios: list[float]) -> str:
    """'4×', or '1.50×–4×' where they differ by more than half a percent."""
    low, high = min(ratios), max(ratios)
    return fmt.times(high) if high < 1.005 * low else f"{fmt.times(low)}–{fmt.times(high)}"


# The sum: how the blocks' results come together.

def _sum(study: Study) -> list[dict]:
    shown = [(side, points) for side in study.sides.values() if (points := timed(side, SUM))]
    if not shown:
        return []
    every = [p for _, points in shown for p in points]
    sizes = sorted({p.sizes.get("n", 0) for p in every})
    rows = {}
    for side, points in shown:
        for p in points:
            key = (side.name, *variant(p))
            rows.setdefault(key, [f"{SIDE_NAME[side.name]}: {p.title}", *(None for _ in sizes)])
            gbytes = f"{fmt.significant(p.gbytes)} GB/s" if p.gbytes else ""
            rows[key][1 + sizes.index(p.sizes.get("n", 0))] = (fmt.seconds(p.summary.median), gbytes)
    text = sum_reading(next((points for side, points in shown if side.name == "gpu"), []))
    return [*([blocks.reading(text)] if text else []), blocks.table(
        "The sum of n numbers: median time of a call and compulsory bytes over it. The kernels differ in how the sums "
        f"of the blocks come together. {captions.provenance(shown)}",
        [("kernel", "l"), *((f"n = {fmt.grouped(n)}", "r") for n in sizes)], list(rows.values()),
        widths=["1fr", *("auto" for _ in sizes)])]


def sum_reading(points: list[Point]) -> str:
    """The times at the smallest size, where the way counts, and how far apart they are at the largest."""
    sizes = sorted({p.sizes.get("n", 0) for p in points})
    by_size = {n: [p for p in points if p.sizes.get("n", 0) == n] for n in sizes}
    if not sizes or len(by_size[sizes[0]]) < 2:
        return ""
    listed = ", ".join(f"{p.title} {fmt.seconds(p.summary.median)}" for p in by_size[sizes[0]])
    text = f"The sum of {fmt.grouped(sizes[0])} numbers takes: {listed}."
    last = [p.summary.median for p in by_size[sizes[-1]]]
    if sizes[-1] > sizes[0] and len(last) > 1:
        text += (f" At {fmt.grouped(sizes[-1])} the slowest takes {fmt.percent(max(last) / min(last) - 1)} more than "
                 "the fastest.")
    return text


# What is found without them.

def missing(name: str) -> str:
    """'block', 'warp' or 'fence': what the fault of that name lacks; empty if it is about something else."""
    return next((kind for word, kind in MISSING.items() if word in name), "")


def _faults(study: Study) -> list[dict]:
    rows = merged(study.hazards)
    faults = {name: row for name, row in rows.items() if missing(name) and row.what and not row.is_right}
    if not faults:
        return []
    tools = [tool for tool in CHECKS if any(tool in row.verdicts for row in faults.values())]
    table = blocks.table(
        "Small kernels in which a barrier or a fence is missing or not reached by all (tests/faulty/): what the emulator "
        "reports, with the first two threads and their lines, and whether the sanitizer’s tools find it.",
        [("planted fault", "l"), ("the emulator", "l"), *((tool, "l") for tool in tools)],
        [(name.replace("_", " "), _finding(row), *(cell(row.verdicts.get(tool)) for tool in tools))
         for name, row in faults.items()], widths=["1fr", "2fr", *("auto" for _ in tools)])
    return [blocks.reading(verdicts(faults, tools)), table]


def _finding(row: PlantedFault) -> tuple[str, str] | str:
    """The kind of the hazard, and in small print where it is."""
    verdict = row.verdicts.get("emulator")
    if not verdict or not verdict.found:
        return cell(verdict)
    kind, _, where = verdict.message.partition(": ")
    return kind, where


def verdicts(faults: Rows, tools: list[str]) -> str:
    """How many of each kind are found, and what that says of the claim that a warp needs no barrier."""
    parts = []
    for kind, what in (("block", "a block’s barrier"), ("warp", "a warp’s barrier"), ("fence", "a fence")):
        names = [name for name in faults if missing(name) == kind]
        if names:
            each = ", ".join(f"{tool} {_found(faults, names, tool)}" for tool in ("emulator", *tools))
            parts.append(f"{what}: {each} of {len(names)}")
    text = [f"Faults found where something is wrong with {'; '.join(parts)}."]
    warp = [name for name in faults if missing(name) == "warp"]
    by = [tool for tool in ("emulator", *tools) if _found(faults, warp, tool)]
    if by:
        text.append("That threads of a warp need no barrier among them (Blakely) does not hold here: since Volta a "
                    f"warp’s threads do not run in step, and without __syncwarp {_joined(by)} find"
                    f"{'s' if len(by) == 1 else ''} what nothing orders.")
    elif warp:
        text.append("That threads of a warp need no barrier among them (Blakely) is not decided by these files.")
    return " ".join(text)


def _found(faults: Rows, names: list[str], tool: str) -> int:
    return sum(tool in faults[name].verdicts and faults[name].verdicts[tool].found for name in names)


def _joined(tools: list[str]) -> str:
    named = ["the emulator" if tool == "emulator" else tool for tool in tools]
    return named[0] if len(named) == 1 else f"{', '.join(named[:-1])} and {named[-1]}"
