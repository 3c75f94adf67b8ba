"""The sentences of the first page, made from the data. What the data lack is left out, never invented."""

from __future__ import annotations

from report import derive, fmt
from report.records import Side, Study


def first_page(study: Study) -> list[str]:
    """Up to three sentences: GPU against CPU, the textbook's bound, what tiling brought; or the CPU's own answer."""
    found = [_gpu_against_cpu(study), _naive_bound(study), _tiling(study)]
    sentences = [s for s in found if s]
    if study.cpu and not study.gpu:
        sentences += [s for s in (_cpu_ladder(study), _cpu_roof(study)) if s]
    return sentences[:3]


def _recorded(side: Side) -> str:
    return f" (recorded on {side.machine}, {side.day})" if side.recorded else ""


def _threads(side: Side) -> str:
    threads = side.context.get("cpu_threads")
    return f" on {threads} thread{'' if threads == 1 else 's'}" if isinstance(threads, int) else ""


def _gpu_against_cpu(study: Study) -> str | None:
    speedups = derive.speed_ups(study) if len(study.sides) == 2 else []
    if not speedups:
        return _gpu_alone(study)
    last = speedups[-1]
    text = (f"At N = {last.n} the best GPU code, {last.gpu.title}, reached {fmt.flops(last.gpu.gflops)}"
            f"{_recorded(study.gpu)}: {fmt.times(last.ratio)} the best CPU code, {last.cpu.title}{_threads(study.cpu)}, "
            f"with {fmt.flops(last.cpu.gflops)}")
    if last.with_transfer:
        text += f"; with the copies to and from the GPU it is {fmt.times(last.with_transfer)}"
    if last.interval and last.interval[0] <= 1 <= last.interval[1]:
        text += ", a difference that the samples leave ambiguous"
    return text + "."


def _gpu_alone(study: Study) -> str | None:
    best = derive.best_per_size(study.gpu, derive.main_family(study), derive.main_precision(study))
    if not best:
        return None
    point = best[max(best)]
    return (f"At {point.size_text} the best GPU code, {point.title}, reached "
            f"{fmt.flops(point.gflops)}{_recorded(study.gpu)}.")


def _naive_bound(study: Study) -> str | None:
    pair = derive.textbook_pair(study)
    roof = derive.dram_roof(study.gpu) if study.gpu else None
    if not pair or not roof:
        return None
    naive = pair[0]
    bound = naive.requested_intensity * roof.value
    text = (f"The textbook’s naive kernel does {fmt.significant(naive.requested_intensity)} operations for each byte "
            f"that it requests, for which the measured memory bandwidth ({fmt.bandwidth(roof.value)}) allows "
            f"{fmt.flops(bound)}; it ran at {fmt.flops(naive.gflops)}, ")
    low = naive.gflops_interval[0] if naive.gflops_interval else naive.gflops
    if low <= bound:
        return text + f"{fmt.percent(naive.gflops / bound)} of that."
    text += f"{fmt.times(naive.gflops / bound)} that bound"
    moved = derive.counters_of(study.gpu, naive).get("dram_bytes")
    requested = naive.counters.get("bytes_requested")
    if moved and requested and moved < requested:
        text += (f", since the caches served most of it: of {fmt.volume(requested)} requested, "
                 f"{fmt.volume(moved)} came from DRAM")
    return text + "."


def _tiling(study: Study) -> str | None:
    pair = derive.textbook_pair(study)
    if not pair:
        return None
    naive, tiled = pair
    promised = tiled.requested_intensity / naive.requested_intensity
    gained = tiled.gflops / naive.gflops
    ran = ", yet ran only" if gained < promised / 2 else " and ran"
    return (f"The first tiled kernel, {tiled.title}, requests {fmt.times(promised)} fewer bytes "
            f"({fmt.significant(tiled.requested_intensity)} operations a byte){ran} {fmt.times(gained)} as fast "
            f"at N = {tiled.n}.")


def _cpu_ladder(study: Study) -> str | None:
    rungs = derive.rungs(study.cpu, derive.main_family(study))
    if len(rungs) < 2:
        return None
    best = max(rungs, key=lambda r: r.point.gflops)
    return (f"At N = {best.point.n} the best CPU code, {best.point.title}{_threads(study.cpu)}, reached "
            f"{fmt.flops(best.point.gflops)}, {fmt.times(best.point.gflops / rungs[0].point.gflops)} the first rung "
            f"({rungs[0].point.title}, {fmt.flops(rungs[0].point.gflops)}).")


def _cpu_roof(study: Study) -> str | None:
    rungs = derive.rungs(study.cpu, derive.main_family(study))
    best = max(rungs, key=lambda r: r.point.gflops, default=None)
    roof = derive.peak(study.cpu, best.point.kernel.precision) if best else None
    return (f"That is {fmt.percent(best.roof_share)} of the measured {roof.label} ceiling, "
            f"{fmt.flops(roof.value)}.") if roof else None


def roofline_reading(study: Study) -> str:
    """One sentence for the GPU's roofline: what the caches did to the rung that they served best."""
    best, factor = None, 1.0
    for rung in derive.rungs(study.gpu, derive.main_family(study)):
        requested, dram = rung.point.requested_intensity, derive.dram_intensity(study.gpu, rung.point)
        if requested and dram and dram / requested > factor:
            best, factor = rung.point, dram / requested
    if not best:
        return ""
    return (f"The caches changed most for {best.title}: DRAM moved {fmt.times(factor)} fewer bytes than the code "
            "requested.")


def speedup_reading(study: Study) -> str:
    """From which measured size on the GPU wins, without and with copies."""
    speedups = derive.speed_ups(study) if len(study.sides) == 2 else []
    if not speedups:
        return ""
    bare, whole = derive.wins_from(speedups, False), derive.wins_from(speedups, True)
    text = (f"With data on the GPU it wins from N = {bare} on" if bare
            else "With data on the GPU it does not win for certain at the largest size")
    if any(s.with_transfer for s in speedups):
        text += f"; with copies, from N = {whole} on" if whole else "; with copies, not for certain at the largest size"
    sizes = ", ".join(str(s.n) for s in speedups)
    return f"{text} (among the measured sizes {sizes})."


def occupancy_reading(study: Study, table: list[dict]) -> str:
    """What a sweep says: the least occupancy that keeps nine tenths of the best rate."""
    swept = [row for row in table if row["swept"]]
    if not swept:
        return ""
    best = max(row["gflops"] for row in swept)
    enough = min((row for row in swept if row["gflops"] >= 0.9 * best), key=lambda r: r["occupancy_theoretical"])
    least = min(swept, key=lambda r: r["occupancy_theoretical"])
    return (f"In the sweep, {fmt.percent(enough['occupancy_theoretical'])} occupancy still gives 90 % of the best rate; "
            f"at {fmt.percent(least['occupancy_theoretical'])} it is {fmt.percent(least['gflops'] / best)}.")


def ladder_reading(study: Study) -> str:
    """The greatest step of each side."""
    parts = []
    for side in study.sides.values():
        steps = [r for r in derive.rungs(side, derive.main_family(study)) if r.step and r.step_verdict == "faster"]
        if steps:
            best = max(steps, key=lambda r: r.step)
            parts.append(f"on the {side.name.upper()} it is {best.point.title} ({fmt.times(best.step)})")
    return f"The greatest step: {'; '.join(parts)}." if parts else ""
