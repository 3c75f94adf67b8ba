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
    return f" (recorded on {side.machine}, {side.days})" if side.recorded else ""


def _threads(side: Side) -> str:
    threads = side.context.get("cpu_threads")
    return f" on {threads} thread{'' if threads == 1 else 's'}" if isinstance(threads, int) else ""


def _gpu_against_cpu(study: Study) -> str | None:
    speedups = derive.speed_ups(study) if len(study.sides) == 2 else []
    if not speedups:
        return _gpu_alone(study)
    size = derive.comparison_size(study)
    last = next((s for s in speedups if s.n == size), speedups[-1])
    text = (f"At N = {last.n} the best GPU code, {last.gpu.title}, reached {fmt.flops(last.gpu.gflops)}"
            f"{_recorded(study.gpu)}: {fmt.times(last.ratio)} the best CPU code, "
            f"{last.cpu.title}{_threads(study.cpu)}, with {fmt.flops(last.cpu.gflops)}")
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
    text = (f"At N = {naive.n} the textbook’s naive kernel does {fmt.significant(naive.requested_intensity)} "
            f"operations for each byte that it requests, for which the measured memory bandwidth "
            f"({fmt.bandwidth(roof.value)}) allows {fmt.flops(bound)}; it ran at {fmt.flops(naive.gflops)}, ")
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
    rungs = derive.rungs(study, study.cpu)
    here = [r for r in rungs if not r.elsewhere]
    if not here or len(rungs) < 2:
        return None
    best, first = max(here, key=lambda r: r.point.gflops).point, rungs[0].point
    text = (f"At N = {best.n} the best CPU code, {best.title}{_threads(study.cpu)}, reached {fmt.flops(best.gflops)}")
    if first.n == best.n:
        return (f"{text}, {fmt.times(best.gflops / first.gflops)} the first rung ({first.title}, "
                f"{fmt.flops(first.gflops)}).")
    return f"{text}; the first rung, {first.title}, {fmt.flops(first.gflops)} (at N = {first.n})."


def _cpu_roof(study: Study) -> str | None:
    rungs = [r for r in derive.rungs(study, study.cpu) if not r.elsewhere]
    best = max(rungs, key=lambda r: r.point.gflops, default=None)
    roof = derive.peak(study.cpu, best.point.kernel.precision) if best else None
    return (f"That is {fmt.percent(best.roof_share)} of the measured {roof.label} ceiling, "
            f"{fmt.flops(roof.value)}.") if roof else None
