"""The document's tables and its page on the method, from the same records as the figures."""

from __future__ import annotations

from collections import defaultdict

from report import barriers, blocks, captions, derive, fmt, kin, levels
from report.records import COUNT, SIDE_NAME, Point, Roof, Side, Study


def roofs(study: Study) -> list[dict]:
    """Every ceiling of both sides: measured, data sheet, share."""
    rows = []
    for side in study.sides.values():
        sheets = [r for r in side.roofs if not r.measured]
        named = set()
        listed = [r for r in side.roofs if r.measured and not (side.name == "cpu" and levels.in_memory_table(r)
                                                               and levels.memory_table(side))]
        for roof in sorted(listed, key=lambda r: (r.is_bandwidth, -r.value, r.label)):
            sheet = next((s for s in sheets if _same_roof(s, roof)), None)
            named |= {sheet.label} if sheet else set()
            rows.append((SIDE_NAME[side.name], roof.label, _roof_value(roof), _roof_value(sheet),
                         fmt.percent(roof.value / sheet.value) if sheet else None))
        rows += [(SIDE_NAME[side.name], s.label, None, _roof_value(s), None) for s in sheets if s.label not in named]
    if not rows:
        return []
    labels = "; ".join(f"{SIDE_NAME[s.name]}: {s.label}" for s in study.sides.values() if s.roofs)
    return [blocks.heading("The roofs"), blocks.table(
        "Ceilings, by kernels that do nothing else, and what the data sheet says where the catalogue knows it. A copy "
        f"counts the bytes read and the bytes written. {labels[0].upper()}{labels[1:]}.",
        [("", "l"), ("roof", "l"), ("measured", "r"), ("data sheet", "r"), ("share", "r")], rows,
        widths=["auto", "1fr", "auto", "auto", "auto"]),
        *(levels.memory_table(study.cpu) + levels.arithmetic_table(study.cpu) if study.cpu else [])]


def _roof_value(roof: Roof | None) -> str | None:
    return None if roof is None else (fmt.bandwidth if roof.is_bandwidth else fmt.flops)(roof.value)


def _same_roof(sheet: Roof, roof: Roof) -> bool:
    if sheet.is_bandwidth != roof.is_bandwidth:
        return False
    name = derive.memory_level(roof.label) if roof.is_bandwidth else derive.roof_precision(roof)
    return name == (derive.memory_level(sheet.label) if sheet.is_bandwidth else derive.roof_precision(sheet))


def speedups(study: Study) -> list[dict]:
    """The figure's numbers; and, where the CPU at hand is another one, those against the CPU of the GPU's own host."""
    made = _speedups(study, "The same numbers: b")
    for beside in derive.own_hosts(study):
        label = beside.cpu.label_of(s.cpu for s in derive.speed_ups(beside))
        made += _speedups(beside, f"The same GPU against the CPU of its own host, {label}: b")
    return made


def _speedups(study: Study, start: str) -> list[dict]:
    found = derive.speed_ups(study) if len(study.sides) == 2 else []
    if not found:
        return []
    rows = [(s.n, (s.cpu.title, f"{fmt.significant(s.cpu.gflops)} GFLOP/s"),
             (s.gpu.title, f"{fmt.significant(s.gpu.gflops)} GFLOP/s"),
             (fmt.times(s.ratio), fmt.interval(s.interval)),
             None if s.transfer is None else fmt.seconds(s.transfer),
             None if s.with_transfer is None else (fmt.times(s.with_transfer), fmt.interval(s.with_interval)))
            for s in found]
    columns = [("N", "r"), ("best CPU code", "l"), ("best GPU code", "l"), ("speed-up", "r"), ("copies", "r"),
               ("with copies", "r")]
    return [blocks.table(f"{start}est code of both sides in the same precision, speed-up with its interval, "
                         "time of the copies to and from the GPU.", columns, rows)]


def others(study: Study) -> list[dict]:
    """Families that no other section shows: a table each, so that every experiment is in the report."""
    groups: dict[tuple[str, str], list[Point]] = defaultdict(list)
    shown = {derive.main_family(study), *kin.families(study), *barriers.families(study)}
    for side in study.sides.values():
        for p in side.points:
            if (p.is_timed and not p.kernel.is_ceiling and p.kernel.family not in shown
                    and not derive.is_strided(p)):
                groups[p.kernel.family, side.name].append(p)
    made = [_other(study.sides[side], family, points) for (family, side), points in sorted(groups.items())]
    return [blocks.heading("Further experiments"), *made] if made else []


def _other(side: Side, family: str, points: list[Point]) -> dict:
    points = sorted(points, key=lambda p: (p.kernel.order, p.kernel.name, p.size_key, p.name))
    rows = [(p.title, _size(p), p.mode, fmt.seconds(p.summary.median),
             None if not p.gflops else fmt.significant(p.gflops), None if not p.gbytes else fmt.significant(p.gbytes))
            for p in points]
    columns = [("kernel", "l"), ("size", "l"), ("mode", "l"), ("median time", "r"), ("GFLOP/s", "r"), ("GB/s", "r")]
    return blocks.table(f"{family}, {SIDE_NAME[side.name]}; GB/s are of compulsory bytes. "
                        + captions.provenance([(side, points)]), columns, rows)


def _size(point: Point) -> str:
    threads = point.asked_threads
    return point.size_text + (f", {threads} thread{'s' if threads > 1 else ''}" if threads else "")


def method(study: Study) -> list[dict]:
    """How it was measured, with the numbers of these very runs."""
    points = [p for side in study.sides.values() for p in side.points if p.is_timed]
    samples = sum(p.summary.n for p in points)
    made = [blocks.heading("How it was measured"), blocks.paragraph(
        f"{len(points)} timed points with {fmt.grouped(samples)} samples are in this report; every sample is kept in "
        "the result files and none is dropped as an outlier. A value is the median; its interval is the nonparametric "
        "95 % interval by ranks (exact binomial below 70 samples, Le Boudec’s from there on; none below six samples). "
        "A rate is work over median time; rates are never averaged. Two versions count as different only if their "
        "intervals do not overlap; else the word is “ambiguous”."), _modes(points), _stops(points)]
    return made + [b for b in (_verified(points), _seeds(study)) if b]


def _modes(points: list[Point]) -> dict:
    number = {mode: sum(p.mode == mode for p in points) for mode in sorted({p.mode for p in points} - {COUNT})}
    listed = ", ".join(f"{count} {mode}" for mode, count in number.items())
    batched = sum(p.batch > 1 for p in points)
    text = f"Modes: {listed} points. Hot is back to back, cold after the caches were flushed."
    if batched:
        text += (f" {batched} points are so short that a sample is the mean of a batch (up to "
                 f"{max(p.batch for p in points)} calls).")
    return blocks.paragraph(text)


def _stops(points: list[Point]) -> dict:
    reasons: dict[str, int] = defaultdict(int)
    for p in points:
        reasons[p.labels.get("stop_reason", "not given")] += 1
    listed = ", ".join(f"{reason} ({number})" for reason, number in sorted(reasons.items(), key=lambda r: -r[1]))
    throttled = sum(p.counters.get("throttled", 0) > 0 for p in points)
    tail = f" {throttled} points ran at a throttled clock." if throttled else " No point was marked as throttled."
    return blocks.paragraph(f"Why sampling stopped: {listed}.{tail}")


def _verified(points: list[Point]) -> dict | None:
    checked = [p for p in points if "max_error_ratio" in p.counters]
    if not checked:
        return None
    worst = max(checked, key=lambda p: (p.counters["max_error_ratio"], p.name))
    return blocks.paragraph(
        f"Verification came before timing: the result of each of {len(checked)} points was compared with a float64 "
        f"reference. The worst error was {fmt.percent(worst.counters['max_error_ratio'])} of its bound ({worst.name}).")


def _seeds(study: Study) -> dict | None:
    seeds = sorted({str(r.context["seed"]) for r in study.runs if "seed" in r.context})
    commits = sorted({str(r.context["git_commit"])[:12] + (" with changes" if r.context.get("git_dirty") else "")
                      for r in study.runs if r.context.get("git_commit")})
    if not seeds and not commits:
        return None
    return blocks.paragraph(f"Inputs are random, from seed {', '.join(seeds) or 'unknown'}; built from commit "
                            f"{', '.join(commits) or 'unknown'}.")
