"""The GPU against the CPU of its host, where two experiments have ladders of one problem and data type, one on each side.

An experiment that measures both sides compares them itself, and the crossover compares all problems.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from report.data.collect import Study
from report.data.sides import (
    ALWAYS,
    NEVER,
    Gain,
    Measured,
    Pair,
    Sides,
    Start,
    board,
    of_views,
    question,
)
from report.experiment import Column, Figure, Ladder, Part, Section, Table, numbers, words

TITLE = "The GPU against the CPU"
QUESTION = "How many times as fast is the GPU as the best CPU code on all cores, with and without moving the data?"


@dataclass(frozen=True)
class Comparison:
    """One problem and data type of the ladders, at every size that both sides measured on the study's host."""

    sides: Sides

    @property
    def last(self) -> Pair:
        return self.sides.last

    @property
    def sizes(self) -> tuple[Pair, ...]:
        return self.sides.pairs

    def starts(self) -> tuple[Pair | None, Pair | None]:
        """The smallest size from which on the GPU is faster, without the copies and with them."""
        return _pair(self, self.sides.start(False)), _pair(self, self.sides.start(True))


def comparisons(study: Study, ladders: Sequence[Ladder]) -> list[Comparison]:
    """One for each problem and type with a ladder on both sides, of different experiments: at the ladders' further sizes."""
    every, made = of_views(study.views), {}
    for gpu in (x for x in ladders if x.part.side == "gpu"):
        cpu = next((x for x in ladders if x.part.side == "cpu" and (x.problem.family, x.type) ==
                    (gpu.problem.family, gpu.type) and x.part.run.experiment != gpu.part.run.experiment), None)
        key = gpu.problem.family, gpu.type, question(gpu.rungs[0].point)
        if cpu and key in every:
            made[key] = Comparison(every[key])
    return list(made.values())


def section(found: Comparison) -> Section:
    last, (start, moved) = found.last, found.starts()
    text = (f"{where(found.sides.parts)}{_size(last)} the GPU’s best code, {last.gpu.point.kernel.title}, is {numbers.times(last.gain().value)} as fast as the CPU’s, "
            f"{last.cpu.point.kernel.title} on {words.counted(last.cpu.point.threads, 'thread')} ({_ends(last.gain())})")
    text += f"; with the copies to and from the GPU it is {numbers.times(last.moved.value)} ({_ends(last.moved)})." if last.moved else "."
    text += f" The GPU is faster {_begin(found, start, moved)}." if start else (
        " Even without the copies the GPU is not clearly faster at the largest size.")
    text += _elsewhere(last)
    figures = _figures(found)
    return Section(f"{text[:1].upper()}{text[1:]}", figures=figures, paper=figures, appendix=[_table(found)], answer=[_answer(found)])


def _elsewhere(pair: Pair) -> str:
    """Whether the CPU was faster on another host of the kind, which is not compared."""
    if not (other := pair.faster_host):
        return ""
    return f" On another host of this kind a CPU code was {numbers.times(pair.cpu.seconds / other.seconds)} as fast ({other.point.kernel.title})."


def _ends(gain: Gain) -> str:
    return f"95\u00a0% interval {numbers.interval(gain.interval)}"


def where(parts: Sequence[Part]) -> str:
    """'On a recorded host, NVIDIA H200 with Intel Xeon, 16 cores: ', if none of the parts was measured now."""
    if not all(part.recorded for part in parts):
        return ""
    cpu, gpu = (next(part.machine.name for part in parts if part.side == side) for side in ("cpu", "gpu"))
    return f"On a recorded host, {gpu} with {cpu}: "


def _size(pair: Pair) -> str:
    return f"at {pair.gpu.point.size_text}"


def _answer(found: Comparison) -> str:
    last, (start, moved) = found.last, found.starts()
    copies = f", or {numbers.times(last.moved.value)} including the copies to and from the GPU" if last.moved else ""
    text = (f"{where(found.sides.parts)}{_size(last)} the best GPU code ({last.gpu.point.kernel.title}) is {numbers.times(last.gain().value)} as fast as the best CPU code on "
            f"{words.counted(last.cpu.point.threads, 'thread')} of the same host{copies}")
    text += f"; it is faster {_begin(found, start, moved)}" if start else ""
    return f"{text[:1].upper()}{text[1:]}.{_elsewhere(last)}"


def _begin(found: Comparison, start: Pair, moved: Pair | None) -> str:
    """'at every size measured (from N = 256), with the copies from N = 512 up'."""
    size = start.gpu.point.size_text
    text = f"at every size measured (from {size})" if start is found.sizes[0] else f"from {size} up"
    if moved is start:
        return f"{text}, with and without the copies"
    return f"{text}, with the copies from {moved.gpu.point.size_text} up" if moved else text


def _pair(found: Comparison, start: Start | None) -> Pair | None:
    """The sizes' pair at a start; None where the GPU never wins for good."""
    if start is None or start.kind == NEVER:
        return None
    return next(pair for pair in found.sizes if start.kind == ALWAYS or pair.n == start.at)


def _rows(found: Comparison) -> list[dict]:
    return [{"size": s.gpu.point.size_text, "n": s.n, **who("cpu", s.cpu), **who("gpu", s.gpu),
             "ratio": s.gain().value, "low": s.gain().low, "high": s.gain().high, "transfer_seconds": s.copies,
             "with_transfer": s.moved and s.moved.value, "with_transfer_low": s.moved and s.moved.low,
             "with_transfer_high": s.moved and s.moved.high} for s in found.sizes]


def who(side: str, m: Measured) -> dict:
    """The code of one side, its value, its machine (of a GPU the board) and its experiment."""
    return {side: m.point.title, f"{side}_kernel": m.point.kernel.name, f"{side}_threads": m.point.threads, f"{side}_value": m.point.value,
            f"{side}_seconds": m.seconds, f"{side}_machine": m.part.machine.label, f"{side}_board": m.board,
            f"{side}_experiment": m.part.run.experiment, f"{side}_day": m.part.run.day}


def _stem(found: Comparison) -> str:
    return f"gpu_against_cpu_{found.sides.problem.family}_{found.sides.type}"


def _figures(found: Comparison) -> list[Figure]:
    """The rates of both sides, with and without the copies, and their ratio."""
    what = f"{found.sides.problem.title}, {words.type_name(found.sides.type)}"
    return [
        Figure(f"{_stem(found)}_rates", _rows(found), lambda fig: _rates(fig, found),
               f"{what}: the best code of each side by size. {story(found.sides.parts)}",
               "Line plot of the rates of the best CPU and GPU codes by size.", height=58, half=True),
        Figure(_stem(found), _rows(found), lambda fig: _speed_up_lines(fig, found),
               f"{what}: how many times as fast the best GPU code is as the best CPU code of its host, with and without the copies; "
               f"95\u00a0% intervals. {story(found.sides.parts)}",
               "Line plot of the speed-up of the GPU over the CPU by size, with and without transfers.", height=58, half=True)]


def story(parts: Sequence[Part]) -> str:
    """'Recorded on NVIDIA H200 (3 boards, each size on one of them) in a host with Intel Xeon, 16 cores, 2026-11-24 to
    2026-11-26.'"""
    days, boards = sorted({p.run.day for p in parts}), {board(p) for p in parts}
    cpu, gpu = (next(p.machine.name for p in parts if p.side == side) for side in ("cpu", "gpu"))
    several = f" ({len(boards)} boards, each size on one of them)" if len(boards) > 1 else ""
    verb = "recorded" if all(p.recorded for p in parts) else "measured"
    return words.sentence(f"{verb} on {gpu}{several} in a host with {cpu}, {' to '.join(dict.fromkeys((days[0], days[-1])))}")


def _rates(fig, found: Comparison) -> None:
    from report.draw import lines, style
    metric = found.last.gpu.point.metric
    gpu = [lines.dot(s.gpu.point, s.n) for s in found.sizes]
    moved = [lines.Dot(s.n, rate) for s in found.sizes if s.copies and (rate := s.gpu.point.value_at(s.gpu.seconds + s.copies))]
    cpu = [lines.dot(s.cpu.point, s.n) for s in found.sizes]
    series = [lines.Series("GPU", gpu), *([lines.Series("GPU with copies", moved)] if moved else []), lines.Series("CPU", cpu)]
    lines.draw(style.axes(fig, 16, 9, 21, 2), series, "N", "Performance", log_y=True, limit=10, unit=metric.unit)


def _speed_up_lines(fig, found: Comparison) -> None:
    from report.draw import lines, style
    ax = style.axes(fig, 16, 9, 21, 2)
    bare = [lines.Dot(s.n, g.value, g.low, g.high) for s in found.sizes for g in [s.gain()]]
    moved = [lines.Dot(s.n, g.value, g.low, g.high) for s in found.sizes for g in [s.moved] if g]
    series = [lines.Series("excluding copies", bare)] + ([lines.Series("including copies", moved)] if moved else [])
    lines.draw(ax, series, "N", "Speed-up of the GPU", log_y=True, limit=10)
    ax.axhline(1, color=style.GREY, linewidth=0.7, linestyle=(0, (1, 2)))


def _table(found: Comparison) -> Table:
    cpu, gpu = found.last.cpu.point.metric.unit, found.last.gpu.point.metric.unit
    return Table(_stem(found), f"The GPU against the CPU of its host by size: best codes, {words.type_name(found.sides.type)}; "
                 f"{words.samples([m.point for s in found.sizes for m in (s.cpu, s.gpu)])}.", (
        Column("size", "size", right=False), Column("cpu", "CPU code", right=False, wide=True),
        Column("cpu_value", "CPU", lambda v: numbers.quantity(v, cpu)),
        Column("gpu", "GPU code", right=False, wide=True),
        Column("gpu_value", "GPU", lambda v: numbers.quantity(v, gpu)), Column("gpu_board", "board", right=False),
        Column("ratio", "speed-up", numbers.times), Column("with_transfer", "with copies", numbers.times)),
        _rows(found))
