"""Phrases that many sections and captions share, so that they are worded in the same manner."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from report.data.counted import VARYING, apart
from report.data.limits import POWER, Use, is_at_power_limit, mean_power
from report.data.records import Machine, Point
from report.data.roofs import BEYOND, WRITTEN, Roof, Share
from report.data.statistics import TOO_FEW, Ratio
from report.data.view import Part
from report.text import numbers
from report.text.captions import Measured

EMPTY_CACHES = "one profiled run, empty caches"
"""A part of every caption and sentence with bytes of DRAM by hardware counters."""
LONG = 520
"""Letters of a paragraph: six lines."""
TYPES = {"fp32": "FP32", "bf16": "BF16", "fp64": "FP64", "fp16": "FP16", "tf32": "TF32", "fp8": "FP8", "int8": "INT8"}


def joined(names: Sequence[str]) -> str:
    """'a', 'a and b', 'a, b and c'."""
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def listed(names: Sequence[str], most: int = 4) -> str:
    """'a, b and c', or 'a, b, c and 7 more' where there are more than `most`."""
    return joined(names) if len(names) <= most else f"{', '.join(names[:most - 1])} and {len(names) - most + 1} more"


def several(names: Sequence[str], most: int | None = None) -> str:
    """Joined by semicolons where a name has a comma of its own; `most`: as in `listed`."""
    if not any("," in name for name in names):
        return joined(names) if most is None else listed(names, most)
    most = most or len(names)
    rest = len(names) - most
    return "; ".join([*names[:len(names) if rest <= 0 else most - 1], *([f"and {rest + 1} more"] if rest > 0 else [])])


def fastest(name: str, level: Iterable[str], is_inside: bool = False) -> str:
    """'stream-K (not significantly faster than top)': the fastest and the names that do not differ significantly from it, without
    variants of the same name. `is_inside`: within brackets, 'stream-K, not significantly faster than top'."""
    others = [other for other in dict.fromkeys(level) if other != name]
    doubt = f"not significantly faster than {several(others, 4)}"
    return name if not others else f"{name}, {doubt}" if is_inside else f"{name} ({doubt})"


def counted(number: int, noun: str) -> str:
    """'1 kernel', '3 kernels'."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def paragraphs(texts: Iterable[str]) -> str:
    """Texts of one or more sentences in lines, each a paragraph: a new one begins where the last would be long."""
    lines: list[str] = []
    for text in filter(None, (text.strip() for text in texts)):
        if lines and len(lines[-1]) + len(text) < LONG:
            lines[-1] += f" {text}"
        else:
            lines.append(text)
    return "\n".join(lines)


def sentence(text: str) -> str:
    """The text with a capital, unless it begins with a name of code, and with a full stop."""
    is_code = re.match(r"\w*[(_]|\w+[A-Z]", text)
    return f"{text[:1] if is_code else text[:1].upper()}{text[1:]}{'' if text.endswith(('.', '?', '!')) else '.'}" if text else ""


def first_sentence(text: str) -> str:
    """The text up to the first full stop that a capital follows."""
    return re.split(r"(?<=\.)\s+(?=[A-Z])", text, maxsplit=1)[0]


def type_name(type_: str) -> str:
    return TYPES.get(type_, type_.upper())


def threads(machine: Machine, point: Point) -> str:
    return f"{counted(point.threads, 'thread')} of {machine.label}" if machine.side == "cpu" else machine.label


def provenance(part: Part, points: Iterable[Point], hollow: bool = True) -> Measured:
    """The end of every caption: 'Measured on …, 2026-11-21; hot mode; 12–21 samples.' The method states that values are
    medians, and bars their 95 % intervals within the run.

    `hollow`: whether the figure has hollow markers for points whose sampling did not settle.
    """
    points = [p for p in points if p.is_timed]
    return Measured(_measured(part, points, hollow) if points else sentence(part.label), part, points, hollow)


def _measured(part: Part, points: Sequence[Point], hollow: bool) -> str:
    modes = " and ".join(sorted({p.mode for p in points}))
    text = f"{part.label}; {modes} mode; {samples(points)}"
    without = sum(not p.timing.has_interval for p in points)
    if 0 < without < len(points):
        text += f" (no interval for {without} of {len(points)} points: fewer than six samples)"
    unsettled = sum(not p.settled for p in points)
    throttled = sum(p.counters.get("throttled", 0) > 0 for p in points)
    lost = sum("process_lost" in p.labels for p in points)
    return sentence(text) + _unsettled(unsettled, len(points), hollow) + _wider_bounds(points) + (
        f" {throttled} throttled." if throttled else "") + (
        f" The process that measured {counted(lost, 'point')} was lost once; another one measured it again." if lost else "")


def _wider_bounds(points: Iterable[Point]) -> str:
    """' Bounds on errors, relative to other kernels: 4 × for A and B; 20 × by norm for C.', where kernels' records have such bounds."""
    titles: dict[tuple[bool, float], dict[str, None]] = {}
    for p in points:
        if factor := p.counters.get("error_factor"):
            titles.setdefault(("error_by_norm" in p.labels, factor), {})[p.kernel.title] = None
    told = [f"{factor:g}\u00a0×{' by norm' * by_norm} for {joined(list(named))}" for (by_norm, factor), named in sorted(titles.items())]
    return f" Bounds on errors, relative to other kernels: {several(told)}." if told else ""


def samples(points: Sequence[Point]) -> str:
    """'12 samples', '12–21 samples'; '12 of 15 samples' if other work disturbed the others and they are left out; for
    several points '6–12 samples (14 of 204 left out)'. The method explains which."""
    kept, every = ([p.timing.n + added * p.left_out for p in points] for added in (0, 1))
    least, most, left_out = min(kept), max(kept), sum(p.left_out for p in points)
    span = f"{least}" if least == most else f"{least}–{most}"
    if left_out and least == most and len(set(every)) == 1:
        return f"{span} of {counted(every[0], 'sample')}"
    return f"{span} sample{'s' * (most > 1)}" + (f" ({left_out} of {sum(every)} left out)" if left_out else "")


def counted_at(part: Part | None, families: Iterable[str], *names: str, of: str = "") -> str:
    """' at N = 8192, 16 steps': the named sizes at which the emulator counted kernels of these families (with `of` in their name).
    These are smaller than the timed sizes, so that texts with counts next to rates or times state them."""
    points = [p for p in (part.points if part else ()) if p.is_counted and p.kernel.family in families and of in p.kernel.name]
    texts = []
    for name in names:
        values = sorted({size for p in points if isinstance(size := p.sizes.get(name), (int, float))})
        if values:
            ends = " to ".join(numbers.grouped(v) for v in dict.fromkeys((values[0], values[-1])))
            texts.append(f"N\u00a0=\u00a0{ends}" if name == "n" else f"{ends} {name}")
    return f" at {joined(texts)}" if texts else ""


ONE_PROFILE = "in one profiled run"
"""Added to a number by counters of the L2 or of DRAM."""


def profiled(part: Part, points: Iterable[Point]) -> str:
    """A part of every caption with counters of the GPU's L2 or DRAM; empty if these points have none."""
    every = [part.profiles(p) for p in {p.name: p for p in points}.values() if p.kernel.side == "gpu"]
    known = [found for found in every if any(key in c for c in found for key in VARYING)]
    if not known:
        return ""
    again = [found for found in known if len(found) > 1]
    differ = f"; {counted(len(again), 'point')} profiled again differed by up to {numbers.percent(max(map(apart, again)))}" if again else ""
    return f"Counters: one profiled run{differ}. "


def _unsettled(number: int, of: int, hollow: bool) -> str:
    if not number:
        return ""
    return " Hollow: unsettled." if hollow else f" {number} of {of} unsettled."


def share(found: Share | None, digits_only: bool = False) -> str:
    """'76 %' of a roof; 'above' where the value exceeds it, so that the roof is no measure."""
    if found is None:
        return "–"
    return "above the roof" if found.exceeds and not digits_only else numbers.share(found.value)


def rate_of(roof: Roof) -> str:
    """'the rate of a copy in DRAM (4.08 TB/s)', with streaming stores and one thread if the roof has them, and with the
    lowest run if runs differ much."""
    pattern = {WRITTEN["COPY"]: "a copy in", WRITTEN["TRIAD"]: "a triad in"}.get(roof.written, "reading from")
    how = " with streaming stores" if "streaming" in roof.label else ""
    one = " by one thread" if roof.threads == 1 else ""
    apart = f", the highest of runs from {numbers.bandwidth(roof.lowest)} on" if roof.is_apart else ""
    return f"the rate of {pattern} {roof.level.replace('SHARED', 'shared memory')}{how}{one} ({numbers.bandwidth(roof.value)}{apart})"


def of_memory(found: Share) -> str:
    """'76 % of the rate of reading from DRAM (4.64 TB/s)'."""
    return of_roof(found, rate_of(found.roof))


def of_roof(found: Share, name: str) -> str:
    """'76 % of the rate of reading', or 'more than' that."""
    return f"more than {name}" if found.exceeds else f"{share(found)} of {name}"


def of_peak(found: Share) -> str:
    """'93 % of the measured FP32 peak', or that a rate so far above it is no evidence."""
    name = f"the measured {type_name(found.roof.type)} peak ({numbers.flops(found.roof.value, found.roof.type)})"
    name = name if found.roof.threads != 1 else f"{name} of one thread"
    above = f", {numbers.times(found.value)} as much: the rate or the peak is wrong"
    return f"{of_roof(found, name)}{above if found.exceeds else at_clock(found)}"


def of_peak_briefly(found: Share, use: Use) -> str:
    """'71 % of 922 TFLOP/s, 97 % at its clock, limited by power'."""
    text = of_roof(found, numbers.flops(found.roof.value, found.roof.type))
    text += f", {numbers.share(found.at_clock)} at its clock" if found.at_clock and found.is_slowed and not found.exceeds else ""
    return f"{text}, {limit(use, digits=False)}" if use.limit == POWER else text


def at_clock(found: Share) -> str:
    """', 84 % of it at the clock that it ran at (1740 of 1965 MHz)', if that differs from the roof's clock."""
    if not found.at_clock or not found.is_slowed or found.exceeds:
        return ""
    return (f", {numbers.share(found.at_clock)} of it at the clock that it ran at ({found.clock_mhz:.0f} of "
            f"{found.roof.clock_mhz:.0f}\u00a0MHz)")


def limit(use: Use, digits: bool = True) -> str:
    """'limited by L1 (0.89)' from 0.8 on, else 'nearest roof: L1 (0.55)'; an en dash where nothing is known."""
    if not use.nearest:
        return "–"
    name, part = use.nearest
    if part > BEYOND:
        return f"above the roof of {name} by the counted bytes"
    amount = f" ({part:.2f})" if digits else ""
    return f"limited by {name}{amount}" if use.limit else f"nearest roof: {name}{amount}"


def energy(points: Iterable[Point]) -> str:
    """A part of every caption with watts or joules, if they are not of the samples."""
    known = [p for p in points if p.joules or p.counters.get("power_w")]
    if apart := sum("energy_runs" in p.counters for p in known):
        some = "" if apart == len(known) else f" of {of_all(apart, len(known), 'point')}"
        return f"Power and energy{some} are of separate runs, at other clocks. "
    return "Power was read right after the samples. " if known and not any(p.joules for p in known) else ""


def power(part: Part, point: Point) -> str:
    """', at the board’s power limit (698 of 700 W)', where it is."""
    if not is_at_power_limit(part, point):
        return ""
    return f", at the board’s power limit ({mean_power(point):.0f} of {part.run.context['gpu_power_limit_w']:.0f}\u00a0W)"


def clock_source(part: Part) -> str:
    """A note on the clocks: runs without the key read them after a sample."""
    return "" if part.run.context.get("sm_clock_source") else "Clocks were read right after the samples. "


def speed(ratio: Ratio, other: str) -> str:
    """'1.17× as fast as cuBLAS (95 % interval [1.16, 1.18])', below a half '47.4 times slower than …', with the verdict where
    it is not significant. For interleaved codes it is not the quotient of their medians."""
    is_slower = ratio.value < 0.5
    value = f"{numbers.significant(1 / ratio.value)} times slower than" if is_slower else f"{numbers.times(ratio.value)} as fast as"
    ends = (1 / ratio.interval[1], 1 / ratio.interval[0]) if ratio.interval and is_slower else ratio.interval
    how = ["median of the rounds’ ratios"] if ratio.paired else []
    how += [f"95\u00a0% interval {numbers.interval(ends)}"] if ends else []
    how += ["too few samples for a test"] if ratio.doubt == TOO_FEW else []
    doubt = f", {ratio.doubt}" if ratio.doubt not in ("", TOO_FEW) else ""
    return f"{value} {other}" + (f" ({', '.join(how)})" if how else "") + doubt


def longer(ratio: Ratio, name: str) -> str:
    """'1.90× as long as that', for a ratio of speeds; with the ratio's doubt."""
    doubt = f" ({ratio.doubt})" if ratio.doubt else ""
    return f"{numbers.times(1 / ratio.value)} as long as {name}{doubt}"


def of_all(number: int, every: int, noun: str) -> str:
    """'all 80 points', 'both points', 'the only point', '3 of 80 points'."""
    if number < every:
        return f"{number} of {counted(every, noun)}"
    return {1: f"the only {noun}", 2: f"both {noun}s"}.get(every, f"all {counted(every, noun)}")
