"""One or two sentences of interpretation for each section, made from the data; empty where the data do not say."""

from __future__ import annotations

from report import derive, fmt
from report.derive import Rung
from report.figures import occupancy
from report.figures import traffic as traffic_figure
from report.records import SIDE_NAME, Point, Study


def _best(study: Study, side) -> Rung | None:
    """The fastest rung at the compared size, in the main precision."""
    precision = derive.main_precision(study)
    here = [r for r in derive.rungs(study, side) if not r.elsewhere and r.point.kernel.precision == precision]
    return max(here, key=lambda r: r.point.gflops, default=None)


def ladder(study: Study) -> str:
    """Share of the roof that each side's best code reaches; what each rung brought is told with the climb."""
    tops = []
    for side in study.sides.values():
        best = _best(study, side)
        if best and best.roof_share:
            tops.append(f"{best.point.title} reaches {fmt.percent(best.roof_share)} of the {SIDE_NAME[side.name]}’s "
                        "measured compute ceiling")
    return f"At N = {derive.comparison_size(study)} {' and '.join(tops)}." if tops else ""


def promise(rows: list[dict]) -> str:
    """Whether fewer requested bytes were worth their promise."""
    if not rows:
        return ""
    row = max(rows, key=lambda r: r["promised"])
    verdict = ("requested bytes are not what holds these kernels back" if row["measured"] < row["promised"] / 2
               else "requested bytes explain most of it")
    return (f"With {fmt.times(row['promised'])} fewer requested bytes than {row['base']}, {row['title']} runs "
            f"{fmt.times(row['measured'])} as fast: {verdict}.")


def roofline_gpu(study: Study, rows: list[dict]) -> str:
    """What the caches did, and how far the best own kernel and the best of all are from the roof."""
    both = [r for r in rows if r["op_per_byte_requested"] and r["op_per_byte_dram"]]
    text = ""
    if both:
        most = max(both, key=lambda r: r["op_per_byte_dram"] / r["op_per_byte_requested"])
        factor = most["op_per_byte_dram"] / most["op_per_byte_requested"]
        text = (f"The caches change most for {most['title']}: DRAM moves {fmt.times(factor)} fewer bytes than the code "
                "requests. ") if factor > 1 else ""
    precision = derive.main_precision(study)
    same, roof = [r for r in rows if r["precision"] == precision], derive.peak(study.gpu, precision) if rows else None
    if not same or not roof:
        return text.strip()
    top = max(same, key=lambda r: r["gflops"])
    text += f"At N = {top['n']} {top['title']} stands at {fmt.percent(top['gflops'] / roof.value)} of {roof.label}"
    own = max((r for r in same if r["op_per_byte_requested"]), key=lambda r: r["gflops"], default=None)
    if own and own is not top:
        text += f", the fastest of the suite’s own, {own['title']}, at {fmt.percent(own['gflops'] / roof.value)}"
    return text + "."


def traffic(rows: list[dict]) -> str:
    """Who served the bytes of the kernel that requests most, and what DRAM moved against what it had to."""
    known = [r for r in rows if r["requested"] and r["DRAM"] and r["compulsory"]]
    if not known:
        return ""
    worst = max(known, key=lambda r: (r["requested"] / r["DRAM"], r["title"]))
    text = (f"Caches served {fmt.percent(1 - worst['DRAM'] / worst['requested'])} of the "
            f"{fmt.volume(worst['requested'])} that {traffic_figure.named(worst, rows)} requests; DRAM moved "
            f"{fmt.volume(worst['DRAM'])} against {fmt.volume(worst['compulsory'])} compulsory")
    here = [r for r in rows if r["DRAM"] and r["compulsory"] and r["n"] == traffic_figure.size(rows)]
    least = min(here, key=lambda r: r["DRAM"], default=worst)
    if least is not worst:
        text += (f". At N = {least['n']} least was {least['title']} with {fmt.volume(least['DRAM'])}, "
                 f"{fmt.times(least['DRAM'] / least['compulsory'])} the compulsory bytes")
    return text + "."


def roofline_cpu(study: Study) -> str:
    """Which roof is the best CPU code's, and its share of it."""
    best = _best(study, study.cpu) if study.cpu else None
    roof = derive.peak(study.cpu, best.point.kernel.precision) if best else None
    memory, intensity = (derive.dram_roof(study.cpu), best.point.intensity("bytes_min")) if best else (None, None)
    if not roof or not memory or not intensity:
        return ""
    bound = memory.value * intensity
    which = "computing" if bound > roof.value else "memory"
    return (f"At N = {best.point.n} the compulsory bytes allow {fmt.flops(bound)} through {memory.label}, so that "
            f"{which} is the limit; {best.point.title} reaches {fmt.percent(best.roof_share)} of {roof.label}.")


def roofline_both(study: Study) -> str:
    """How far apart the roofs are, and the best codes under them."""
    if len(study.sides) < 2:
        return ""
    precision, parts = derive.main_precision(study), []
    peaks = [derive.peak(side, precision) for side in (study.cpu, study.gpu)]
    memories = [derive.dram_roof(side) for side in (study.cpu, study.gpu)]
    bests = [_best(study, side) for side in (study.cpu, study.gpu)]
    if all(peaks):
        parts.append(f"{fmt.times(peaks[1].value / peaks[0].value)} the CPU’s compute ceiling")
    if all(memories):
        parts.append(f"{fmt.times(memories[1].value / memories[0].value)} its memory bandwidth")
    if not parts or not all(bests) or bests[0].point.n != bests[1].point.n:
        return ""
    return (f"The GPU has {' and '.join(parts)}; the best codes are "
            f"{fmt.times(bests[1].point.gflops / bests[0].point.gflops)} apart at N = {bests[0].point.n}.")


def sizes(study: Study) -> str:
    """At which size the best code of each side first comes near its best rate (rates may fall again)."""
    parts, family, precision = [], derive.main_family(study), derive.main_precision(study)
    for side in study.sides.values():
        best = _best(study, side)
        if not best:
            continue
        own: dict[int, Point] = {}
        for p in derive.in_precision(derive.timed(side, family), precision):
            if p.n and p.kernel == best.point.kernel:
                own[p.n] = derive.fastest([p, own[p.n]] if p.n in own else [p])
        top = max(p.gflops for p in own.values())
        first = min(n for n, p in own.items() if p.gflops >= 0.9 * top)
        parts.append(f"{best.point.kernel.title} ({SIDE_NAME[side.name]}) at N = {first}")
    return f"Nine tenths of their best rate are first reached by {' and '.join(parts)}." if parts else ""


def speedup(study: Study) -> str:
    """From which measured size on the GPU wins, without and with copies, and by how much at the largest."""
    found = derive.speed_ups(study) if len(study.sides) == 2 else []
    if not found:
        return ""
    bare, whole = derive.wins_from(found, False), derive.wins_from(found, True)
    text = (f"With data on the GPU it wins from N = {bare} on" if bare
            else "With data on the GPU it does not win for certain at the largest size")
    if any(s.with_transfer for s in found):
        text += f"; with copies, from N = {whole} on" if whole else "; with copies, not for certain at the largest size"
    last = found[-1]
    text += (f" (among the measured sizes {', '.join(str(s.n) for s in found)}). At N = {last.n} it is "
             f"{fmt.times(last.ratio)}")
    text += f", with copies {fmt.times(last.with_transfer)}." if last.with_transfer else "."
    for beside in derive.own_hosts(study):
        if against := derive.speed_ups(beside):
            largest = against[-1]
            text += (f" Against the CPU of its own host ({beside.cpu.label_of([largest.cpu])}) it is "
                     f"{fmt.times(largest.ratio)} at N = {largest.n}.")
    return text


KEEPS = 0.95
"""A kernel keeps its rate if so large a part of its best one is left."""


def occupancies(rows: list[dict]) -> str:
    """How much occupancy each kernel needs, and what the size of the block does."""
    sweeps = _by_line([r for r in rows if r["panel"] == occupancy.SWEEP])
    parts = [f"{line} down to {100 * _enough(part):g} % occupancy" for line, part in sweeps.items()]
    text = f"{fmt.percent(KEEPS)} of the best rate is kept by {', by '.join(parts)}." if parts else ""
    blocks = _by_line([r for r in rows if r["panel"] == occupancy.BLOCKS])
    same = len({r["occupancy_theoretical"] for part in blocks.values() for r in part}) == 1
    if blocks and same:
        best = [f"{max(part, key=lambda r: r['gflops'])['threads_per_block']:.0f} threads for {line}"
                for line, part in blocks.items()]
        text += f" The block’s size matters even at one and the same occupancy: best are {', '.join(best)}."
    return text.strip()


CLAIM = "“full speed random access”"
"""What course 000 says of shared memory."""


def strided(rows: list[dict]) -> str:
    """Which strides keep the full rate, what the worst costs, what padding mends, and whether the claim holds."""
    if not rows:
        return ""
    width = min(r["width"] for r in rows)
    rates = {p: {r["stride"]: _speed(r) for r in rows if r["width"] == width and r["padding"] == p and _speed(r)}
             for p in (0, 1)}
    plain = rates[0]
    if not plain:
        return ""
    best, worst = max(plain.values()), min(plain, key=lambda s: (plain[s], s))
    kept = [s for s in plain if plain[s] >= KEEPS * best]
    timed = any(r["gbytes_per_s"] for r in rows)
    what = f"{fmt.percent(KEEPS)} of the best rate" if timed else "a single wavefront a request"
    which = " (the odd ones)" if len(kept) > 1 and all(s % 2 for s in kept) else ""
    verdict = "holds" if len(kept) == len(plain) else "does not hold"
    text = (f"The claim {CLAIM} (000) {verdict}: of {len(plain)} strides {len(kept)}{which} have {what}, and stride "
            f"{worst} {'is' if timed else 'takes'} {fmt.times(best / plain[worst])} "
            f"{'slower' if timed else 'as many wavefronts'}." if len(kept) < len(plain) else
            f"The claim {CLAIM} (000) {verdict}: all {len(plain)} strides have {what}.")
    if worst in rates[1] and len(kept) < len(plain):
        share = rates[1][worst] / best
        text += (f" With one element of padding in each row stride {worst} "
                 + (f"has {fmt.percent(share)} of the best rate." if timed
                    else f"takes {fmt.times(1 / share)} as many."))
    return text + _prediction(rows)


def _speed(row: dict) -> float | None:
    """The measured rate, or, untimed, the inverse of the wavefronts."""
    if row["gbytes_per_s"]:
        return row["gbytes_per_s"]
    return 1 / row["wavefronts_per_request"] if row["wavefronts_per_request"] else None


def _prediction(rows: list[dict]) -> str:
    errors = [(abs(r["predicted_gbytes_per_s"] / r["gbytes_per_s"] - 1), r) for r in rows
              if r["gbytes_per_s"] and r["predicted_gbytes_per_s"]]
    if not errors:
        return ""
    middle = sorted(e for e, _ in errors)[len(errors) // 2]
    error, row = max(errors, key=lambda e: e[0])
    return (f" Counted wavefronts predict the rates to within {fmt.percent(middle)} in the median and "
            f"{fmt.percent(error)} at worst (stride {row['stride']}, {row['width']}-byte accesses"
            f"{', padded' if row['padding'] else ''}).")


def _by_line(rows: list[dict]) -> dict[str, list[dict]]:
    return {line: [r for r in rows if r["line"] == line] for line in dict.fromkeys(r["line"] for r in rows)}


def _enough(rows: list[dict]) -> float:
    """The least occupancy from which on every point keeps the rate."""
    best, enough = max(r["gflops"] for r in rows), 1.0
    for share in sorted({r["occupancy_theoretical"] for r in rows}, reverse=True):
        if max(r["gflops"] for r in rows if r["occupancy_theoretical"] == share) < KEEPS * best:
            break
        enough = share
    return enough
