"""The GPU against the CPU: joins the ladders of one problem and data type that two experiments measured, one on each side.

An experiment that measures both sides compares them itself, and the crossover compares all problems.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from report.data.records import Point
from report.data.statistics import FASTER, Ratio, judge, ratio, ratio_interval
from report.experiment import Column, Figure, Ladder, Section, Table, numbers, words

TITLE = "The GPU against the CPU"
QUESTION = "How many times as fast is the GPU as the best CPU code on all cores, with and without moving the data?"


@dataclass(frozen=True)
class SpeedUp:
    """The best GPU code against the best CPU code of one size; `moved`: the same with the copies to and from the GPU."""

    cpu: Point
    gpu: Point
    bare: Ratio
    transfer: float | None
    moved: float | None
    moved_interval: tuple[float, float] | None


@dataclass(frozen=True)
class Comparison:
    cpu: Ladder
    gpu: Ladder
    sizes: tuple[SpeedUp, ...]

    @property
    def last(self) -> SpeedUp:
        return self.sizes[-1]

    def starts(self) -> tuple[SpeedUp | None, SpeedUp | None]:
        """The smallest size from which on the GPU is faster, without the copies and with them."""
        return (_from(self, lambda s: s.bare.verdict == FASTER),
                _from(self, lambda s: bool(s.moved_interval) and s.moved_interval[0] > 1))

    @property
    def same_host(self) -> bool:
        """Whether the CPU's run was on a host of the very GPU."""
        uuid = self.gpu.part.run.context.get("gpu_uuid")
        return bool(uuid) and self.cpu.part.run.context.get("gpu_uuid") == uuid


def comparisons(ladders: Sequence[Ladder]) -> list[Comparison]:
    """One for each problem and type with a ladder on both sides, of different experiments; of several CPUs the first."""
    made = []
    for gpu in (x for x in ladders if x.part.side == "gpu"):
        cpu = next((x for x in ladders if x.part.side == "cpu" and (x.problem.family, x.type) ==
                    (gpu.problem.family, gpu.type) and x.part.run.experiment != gpu.part.run.experiment), None)
        if cpu and (sizes := _speed_ups(cpu, gpu)):
            made.append(Comparison(cpu, gpu, sizes))
    return made


def _speed_ups(cpu: Ladder, gpu: Ladder) -> tuple[SpeedUp, ...]:
    ours, theirs = gpu.best_at(), cpu.best_at()
    shared = sorted((key for key in ours if key in theirs and ours[key].n), key=lambda key: ours[key].n)
    ratios = judge({key: ratio(ours[key], theirs[key]) for key in shared})
    return tuple(_speed_up(theirs[key], ours[key], ratios[key], _transfer(gpu, ours[key])) for key in shared)


def _speed_up(cpu: Point, gpu: Point, bare: Ratio, transfer: float | None) -> SpeedUp:
    if transfer is None:
        return SpeedUp(cpu, gpu, bare, None, None, None)
    return SpeedUp(cpu, gpu, bare, transfer, cpu.summary.median / (gpu.summary.median + transfer),
                   ratio_interval(cpu.summary, gpu.summary, transfer))


def _transfer(gpu: Ladder, point: Point) -> float | None:
    """Seconds of the copies, which depend on the operands alone: the median over the kernels of that size."""
    known = [p.counters["transfer_seconds"] for p in gpu.part.timed(gpu.problem.family, gpu.type)
             if p.size_key == point.size_key and "transfer_seconds" in p.counters]
    return median(known) if known else None


def section(found: Comparison) -> Section:
    last = found.last
    start, moved = found.starts()
    other = f"the CPU’s, {last.cpu.kernel.title} on {words.counted(last.cpu.threads, 'thread')}"
    text = f"At {last.gpu.size_text} the GPU’s best code, {last.gpu.kernel.title}, is {words.speed(last.bare, other)}"
    text += f"; with the copies to and from the GPU it is {numbers.times(last.moved)}." if last.moved else "."
    text += f" The GPU is significantly faster {_begin(found, start, moved)}." if start else (
        " Even without the copies the GPU is not significantly faster at the largest size.")
    if not found.same_host:
        text += " The GPU and the CPU are in different hosts: this compares two machines, not two parts of one."
    return Section(text, figures=_figures(found), appendix=[_table(found)], answer=[_answer(found)])


def _answer(found: Comparison) -> str:
    last, (start, moved) = found.last, found.starts()
    copies = f", or {numbers.times(last.moved)} including the copies to and from the GPU" if last.moved else ""
    text = (f"At {last.gpu.size_text} the best GPU code is {numbers.times(last.bare.value)} as fast as the best CPU code on "
            f"{words.counted(last.cpu.threads, 'thread')}{copies}")
    text += f"; it is faster {_begin(found, start, moved)}" if start else ""
    return f"{text}{'' if found.same_host else ' (GPU and CPU are in different hosts)'}."


def _begin(found: Comparison, start: SpeedUp, moved: SpeedUp | None) -> str:
    """'at every size measured (from N = 256), with the copies from N = 512 up'."""
    size = start.gpu.size_text
    text = f"at every size measured (from {size})" if start is found.sizes[0] else f"from {size} up"
    if moved is start:
        return f"{text}, with and without the copies"
    return f"{text}, with the copies from {moved.gpu.size_text} up" if moved else text


def _from(found: Comparison, wins) -> SpeedUp | None:
    """The smallest size from which on all are won."""
    start = None
    for one in reversed(found.sizes):
        if not wins(one):
            break
        start = one
    return start


def _rows(found: Comparison) -> list[dict]:
    return [{"size": s.gpu.size_text, "n": s.gpu.n, "cpu_kernel": s.cpu.kernel.name, "cpu": s.cpu.title,
             "cpu_value": s.cpu.value, "gpu_kernel": s.gpu.kernel.name, "gpu": s.gpu.title, "gpu_value": s.gpu.value,
             "ratio": s.bare.value, "low": s.bare.low, "high": s.bare.high, "p": s.bare.p, "verdict": s.bare.verdict,
             "transfer_seconds": s.transfer, "with_transfer": s.moved,
             "with_transfer_low": s.moved_interval and s.moved_interval[0],
             "with_transfer_high": s.moved_interval and s.moved_interval[1]} for s in found.sizes]


def _stem(found: Comparison) -> str:
    return f"gpu_against_cpu_{found.gpu.problem.family}_{found.gpu.type}"


def _figures(found: Comparison) -> list[Figure]:
    """The rates of both, with and without the copies, and the ratio of them."""
    what = f"{found.gpu.problem.title}, {words.type_name(found.gpu.type)}"
    story = (f"CPU: {words.provenance(found.cpu.part, [s.cpu for s in found.sizes], hollow=False)} "
             f"GPU: {words.provenance(found.gpu.part, [s.gpu for s in found.sizes], hollow=False)}")
    return [
        Figure(f"{_stem(found)}_rates", _rows(found), lambda fig: _rates(fig, found),
               f"{what}: the best code of each side by size, with and without the copies to and from the GPU. {story}",
               "Line plot of the rates of the best CPU and GPU codes by size.", height=58, half=True),
        Figure(_stem(found), _rows(found), lambda fig: _speed_up_lines(fig, found),
               f"{what}: how many times as fast the best GPU code is as the best CPU code; 95\u00a0% intervals of these samples. CPU: "
               f"{words.sentence(found.cpu.part.label)} GPU: {words.sentence(found.gpu.part.label)}",
               "Line plot of the speed-up of the GPU over the CPU by size, with and without transfers.", height=58, half=True)]


def _rates(fig, found: Comparison) -> None:
    from report.draw import lines, style
    metric = found.gpu.problem.metric
    gpu = [lines.dot(s.gpu, s.gpu.n) for s in found.sizes]
    moved = [lines.Dot(s.gpu.n, s.gpu.value_at(s.gpu.summary.median + s.transfer)) for s in found.sizes if s.transfer]
    cpu = [lines.dot(s.cpu, s.cpu.n) for s in found.sizes]
    series = [lines.Series("GPU", gpu), *([lines.Series("GPU with copies", moved)] if moved else []), lines.Series("CPU", cpu)]
    lines.draw(style.axes(fig, 16, 9, 21, 2), series, "N", "Performance", log_y=True, limit=10, unit=metric.unit)


def _speed_up_lines(fig, found: Comparison) -> None:
    from report.draw import lines, style
    ax = style.axes(fig, 16, 9, 21, 2)
    bare = [lines.Dot(s.gpu.n, s.bare.value, s.bare.low, s.bare.high) for s in found.sizes]
    moved = [lines.Dot(s.gpu.n, s.moved, *(s.moved_interval or (None, None))) for s in found.sizes if s.moved]
    series = [lines.Series("excluding copies", bare)] + ([lines.Series("including copies", moved)] if moved else [])
    lines.draw(ax, series, "N", "Speed-up of the GPU", log_y=True, limit=10)
    ax.axhline(1, color=style.GREY, linewidth=0.7, linestyle=(0, (1, 2)))


def _table(found: Comparison) -> Table:
    cpu, gpu = found.cpu.rungs[0].point.metric.unit, found.gpu.rungs[0].point.metric.unit
    return Table(_stem(found), f"The GPU against the CPU by size: best codes, {words.type_name(found.gpu.type)}.", (
        Column("size", "size", right=False), Column("cpu", "CPU code", right=False, wide=True),
        Column("cpu_value", "CPU", lambda v: numbers.quantity(v, cpu)),
        Column("gpu", "GPU code", right=False, wide=True),
        Column("gpu_value", "GPU", lambda v: numbers.quantity(v, gpu)),
        Column("ratio", "speed-up", numbers.times), Column("with_transfer", "with transfers", numbers.times)),
        _rows(found))
