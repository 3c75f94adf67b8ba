"""From which size the GPU is faster than the best CPU code, with and without copies: one row for every problem."""


import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import exp, log
from statistics import median

from report.experiment import (FAILS, HOLDS, PARTLY, Column, Figure, Part, Point, Section, Table, View, fastest,
                               numbers, whole_machine, words)

SIDE = {"m", "n", "k"}
"""Sizes that are equal in a square problem: what is swept. All others belong to what is asked."""
ALWAYS, NEVER, FROM = "at every size measured", "at no size measured", "from"


@dataclass(frozen=True)
class Start:
    """From which size on one time is below another: interpolated, and between which measured sizes that lies."""

    kind: str
    at: float | None = None
    between: tuple[float, float] | None = None


@dataclass(frozen=True)
class Crossover:
    """One problem and data type, at all sizes that both sides have in their range; times by the swept size."""

    title: str
    family: str
    type: str
    rest: tuple
    cpu: Mapping[float, Point]
    gpu: Mapping[float, Point]
    transfers: Mapping[float, float]
    bytes: Mapping[float, float]
    parts: tuple[Part, Part]
    """The CPU's and the GPU's."""
    included: bool
    """The GPU's calls copy by themselves."""

    @property
    def sizes(self) -> list[float]:
        """Measured on one side at least, and within the range of both."""
        low, high = (f(g(self.cpu), g(self.gpu)) for f, g in ((max, min), (min, max)))
        return sorted(n for n in self.cpu.keys() | self.gpu.keys() if low <= n <= high)

    def cpu_seconds(self, n: float) -> float:
        return between({k: p.summary.median for k, p in self.cpu.items()}, n)

    def gpu_seconds(self, n: float) -> float:
        return between({k: p.summary.median for k, p in self.gpu.items()}, n)

    def copy_seconds(self, n: float) -> float | None:
        """Of the copies there and back, beside the calls; None where they were not timed."""
        return 0.0 if self.included else between(self.transfers, n) if self.transfers else None

    def gain(self, n: float, copies: bool) -> float | None:
        """How many times as fast the GPU is; None where that is not known."""
        extra = self.copy_seconds(n) if copies else 0.0
        if extra is None or (self.included and not copies):
            return None
        return self.cpu_seconds(n) / (self.gpu_seconds(n) + extra)

    def start(self, copies: bool) -> Start | None:
        gains = {n: g for n in self.sizes if (g := self.gain(n, copies)) is not None}
        return start(gains) if gains else None

    def volume(self, n: float) -> float:
        return between(self.bytes, n)

    @property
    def same_host(self) -> bool:
        uuids = [part.run.context.get("gpu_uuid") for part in self.parts]
        return bool(uuids[0]) and uuids[0] == uuids[1]


def between(known: Mapping[float, float], x: float) -> float:
    """On the straight line through the neighbours of x in a log-log plot; beyond the ends the value there."""
    below = max((k for k in known if k <= x), default=min(known))
    above = min((k for k in known if k >= x), default=max(known))
    if below >= above:
        return known[below if below in known else above]
    share = log(x / below) / log(above / below)
    return exp(log(known[below]) + share * log(known[above] / known[below]))


def start(gains: Mapping[float, float]) -> Start:
    """The size from which on all gains are above 1, on the line between the two sizes around it in a log-log plot."""
    sizes = sorted(gains)
    lost = [i for i, n in enumerate(sizes) if gains[n] <= 1]
    if not lost:
        return Start(ALWAYS)
    if lost[-1] == len(sizes) - 1:
        return Start(NEVER)
    a, b = sizes[lost[-1]], sizes[lost[-1] + 1]
    share = -log(gains[a]) / log(gains[b] / gains[a])
    return Start(FROM, exp(log(a) + share * log(b / a)), (a, b))


def section(view: View) -> Section | None:
    every = _crossovers(view)
    best = _of_families(every)
    if not best:
        return _one_side(view)
    return Section(_finding(best), figures=[_figure(view, best)], answer=[_answer(best)],
                   appendix=[_table(view, every)])


def _one_side(view: View) -> Section | None:
    """Where the other side is missing: the times that it would have to beat."""
    sides = {side: found for side in ("cpu", "gpu") if (found := _points(view, side))}
    if len(sides) != 1:
        return None
    (side, found), = sides.items()
    rows = []
    for (family, type_, rest), measured in sorted(found.items(), key=str):
        if family in view.settings.get("left_out", ()):
            continue
        part, by_size = _one_machine(measured)
        largest = max(by_size)
        best = fastest(by_size[largest])
        problem = part.run.problems.get(family)
        rows.append({"problem": problem.title if problem else family, "type": type_, "question": _question(rest), "largest": largest,
                     "kernel": best.title, "seconds": best.summary.median})
    missing = "GPU" if side == "cpu" else "CPU"
    return Section(f"Only the {side.upper()} was measured, so it cannot be said from which size the GPU is faster. {words.sentence(words.counted(len(rows), 'problem'))} "
                   f"stand in the table with the times that a {missing} would have to beat.",
                   tables=[Table(f"{view.name}_{side}", f"The fastest kernel on the {side.upper()} for each problem at the largest size measured.", (
                       Column("problem", "problem", right=False, wide=True), Column("type", "type", words.type_name, right=False),
                       Column("question", "question", right=False), Column("largest", "largest N", numbers.grouped),
                       Column("kernel", "fastest", right=False), Column("seconds", "time", numbers.seconds)), rows)])


# Data


def _crossovers(view: View) -> list[Crossover]:
    """Every problem, type and question (function, radius, data …) that both sides answered."""
    left_out, included = view.settings.get("left_out", ()), view.settings.get("included", ())
    points = {side: _points(view, side) for side in ("cpu", "gpu")}
    made = []
    for key in sorted(points["cpu"].keys() & points["gpu"].keys(), key=str):
        family, type_, rest = key
        (cpu_part, cpu), (gpu_part, gpu) = (_one_machine(points[side][key]) for side in ("cpu", "gpu"))
        if family in left_out or not cpu or not gpu or max(min(cpu), min(gpu)) > min(max(cpu), max(gpu)):
            continue
        best = [{n: fastest(group) for n, group in found.items()} for found in (cpu, gpu)]
        copies = {n: [p.counters["transfer_seconds"] for p in group if p.counters.get("transfer_seconds")] for n, group in gpu.items()}
        problem = gpu_part.run.problems.get(family)
        made.append(Crossover(problem.title if problem else family, family, type_, rest, *best,
                              {n: median(known) for n, known in copies.items() if known},
                              {n: p.counters["bytes_min"] for side in best for n, p in side.items() if p.counters.get("bytes_min")},
                              (cpu_part, gpu_part), family in included))
    return [c for c in made if c.bytes]


def _points(view: View, side: str) -> dict[tuple, list[tuple[Part, float, Point]]]:
    """Timed points of all experiments on the whole machine, by family, type and question."""
    found = defaultdict(list)
    for part in (part for one in view.suite or (view,) for part in one.timed_parts if part.side == side):
        for family in sorted({p.kernel.family for p in part.points}):
            for p in whole_machine(part.timed(family)):
                swept = {v for k, v in p.sizes.items() if k in SIDE}
                if len(swept) == 1 and not isinstance(n := swept.pop(), str) and n > 0:
                    rest = tuple(sorted((k, v) for k, v in p.sizes.items() if k not in SIDE))
                    found[family, p.kernel.type, (*rest, *((("data", p.data),) if p.data else ()))].append((part, n, p))
    return found


def _one_machine(found: list[tuple[Part, float, Point]]) -> tuple[Part | None, dict[float, list[Point]]]:
    """By size the points of one machine: of one measured now rather than a recorded one, of that with most sizes."""
    machines = defaultdict(list)
    for part, n, p in found:
        machines[part.recorded, part.machine.id].append((part, n, p))
    _, chosen = min(machines.items(), key=lambda item: (item[0][0], -len({n for _, n, _ in item[1]}), item[0][1]),
                    default=(None, []))
    sizes: dict[float, list[Point]] = defaultdict(list)
    for _, n, p in chosen:
        sizes[n].append(p)
    return (chosen[0][0] if chosen else None), dict(sizes)


def _of_families(every: list[Crossover]) -> list[Crossover]:
    """Of each problem and type the question with most sizes on both sides; the latest start with copies on top."""
    best: dict[tuple, Crossover] = {}
    for c in every:
        key = c.family, c.type
        best[key] = max(best.get(key, c), c, key=lambda x: (len(x.sizes), len(x.cpu) + len(x.gpu)))
    return sorted(best.values(), key=lambda c: (_place(c, True), _place(c, False), c.title, c.type))


def _place(c: Crossover, copies: bool) -> float:
    """Bytes at the start; before all others where it always is faster, after them where it never is."""
    found = c.start(copies)
    if found is None:
        return float("inf")
    return c.volume(found.at) if found.at else 0.0 if found.kind == ALWAYS else 1e30


# Words


def _name(c: Crossover) -> str:
    return f"{c.title[:1].lower()}{c.title[1:]}{'' if c.type == 'fp32' else f' ({words.type_name(c.type)})'}"


def _finding(best: list[Crossover]) -> str:
    text = f"Without the copies the GPU overtakes the best CPU code on all cores in {_count(best, False)}"
    starts = [(c, s) for c in best if (s := c.start(True))]
    if starts:
        text += f"; with the copies there and back in {_count(best, True)}"
    text += "."
    never = [_name(c) for c, s in starts if s.kind == NEVER]
    if never:
        text += f" With the copies it does not overtake at any size measured in {words.listed(never, 6)}."
    found = [(c, s) for c, s in starts if s.kind == FROM]
    if found:
        first, last = found[0], found[-1]
        text += (f" Of those that begin to pay within the measured sizes the first is {_begin(*first)} and the last {_begin(*last)}."
                 if last is not first else f" Within the measured sizes it begins with {_begin(*first)}.")
    if not all(c.same_host for c in best):
        text += " GPU and CPU are not in one host: this compares two machines."
    return text


def _count(best: list[Crossover], copies: bool) -> str:
    starts = [s for c in best if (s := c.start(copies))]
    won = sum(s.kind != NEVER for s in starts)
    return f"{'all ' if won == len(starts) > 1 else f'{won} of '}{words.counted(len(starts), 'problem')}"


def _begin(c: Crossover, found: Start) -> str:
    return f"{_name(c)}, at about {numbers.binary(c.volume(found.at))} (N\u00a0=\u00a0{_rounded(found.at)})"


def _rounded(n: float) -> str:
    """Two digits: the size is interpolated."""
    return numbers.grouped(float(f"{n:.2g}"))


def _answer(best: list[Crossover]) -> str:
    starts = [s for c in best if (s := c.start(True))]
    text = f"Without copies the GPU overtakes the CPU’s best code in {_count(best, False)}"
    return f"{text}, with the copies there and back in {_count(best, True)}." if starts else f"{text}."


def _text(c: Crossover, found: Start | None) -> str:
    """'N = 310 (1.1 MiB)', 'at every size (from 4 KiB)', 'never (up to 1 GiB)'."""
    if found is None:
        return "–"
    if found.at:
        return f"{_rounded(found.at)}"
    return f"≤\u2009{_rounded(c.sizes[0])}" if found.kind == ALWAYS else "never"


# Judges of claims


def one_to_one(view: View) -> tuple[str, str] | None:
    """Judges the claim of that name: the copies decide where operations do not grow faster than elements."""
    best = _of_families(_crossovers(view))
    flat, steep = (next((c for c in best if c.family == view.settings.get(key) and c.type == "fp32" and c.gain(c.sizes[-1], True)), None)
                   for key in ("one_to_one", "growing"))
    if not flat or not steep or len(steep.sizes) < 2:
        return None
    small, large = (steep.gain(steep.sizes[i], True) for i in (0, -1))
    there = flat.gain(flat.sizes[-1], True)
    holds = [there < 1, large > max(1, small)]
    evidence = (f"With the copies the GPU is {numbers.times(there)} as fast in {_name(flat)} of {numbers.binary(flat.volume(flat.sizes[-1]))}, and "
                f"{numbers.times(small)} in {_name(steep)} at N\u00a0=\u00a0{_rounded(steep.sizes[0])}, "
                f"{numbers.times(large)} at N\u00a0=\u00a0{_rounded(steep.sizes[-1])}.")
    return HOLDS if all(holds) else PARTLY if any(holds) else FAILS, evidence


def minimise(view: View) -> tuple[str, str] | None:
    """Judges the claim of that name, at sizes where the GPU gains little: its time against copies and CPU together."""
    close = [(c, n) for c in _crossovers(view) if not c.included for n in c.sizes if c.copy_seconds(n) and c.gain(n, False) < 2]
    if not close:
        return None
    won = [c for c, n in close if c.gpu_seconds(n) < c.cpu_seconds(n) + c.copy_seconds(n)]
    evidence = (f"Of {words.counted(len(close), 'size')} at which the GPU is less than twice as fast as the CPU or slower, it is faster than "
                f"copies and CPU together at {len(won) if len(won) < len(close) else 'all'}.")
    share = len(won) / len(close)
    return HOLDS if share == 1 else PARTLY if share >= 0.5 else FAILS, evidence


# Figure and table


def _question(rest: tuple) -> str:
    return ", ".join(f"{k} {v}" for k, v in rest)


def _row(c: Crossover) -> dict:
    row = {"problem": c.title, "family": c.family, "type": c.type, "question": _question(c.rest),
           "smallest": c.sizes[0], "largest": c.sizes[-1], "cpu": c.cpu[max(c.cpu)].title, "gpu": c.gpu[max(c.gpu)].title,
           "cpu_machine": c.parts[0].label, "gpu_machine": c.parts[1].label}
    for name, copies in (("without", False), ("with", True)):
        found = c.start(copies)
        row |= {name: _text(c, found), f"{name}_kind": found and found.kind, f"{name}_n": found and found.at,
                f"{name}_bytes": c.volume(found.at) if found and found.at else None,
                f"{name}_above": found.between[0] if found and found.between else None,
                f"{name}_below": found.between[1] if found and found.between else None,
                f"{name}_at_largest": c.gain(c.sizes[-1], copies)}
    return row


ROW, ABOVE, BELOW, RIGHT = 4.6, 5.5, 9.0, 46.0
"""Millimetres of a row of the figure, and around them."""
COLUMNS = (43.0, 89.0, 128.0)
"""Where the columns right of the axes end, points."""


def _figure(view: View, best: list[Crossover]) -> Figure:
    def draw(fig) -> None:
        _draw(fig, best)

    questions = [f"{_name(c)}: {_row(c)['question']}" for c in best if any(k != "data" for k, _ in c.rest)]
    asked = f" Where a problem has further sizes, those with most measured sizes of N are shown ({'; '.join(questions)})." if questions else ""
    apart = "" if all(c.same_host for c in best) else " GPU and CPU are in different hosts."
    caption = ("The size from which on the GPU is faster than the best CPU code on all cores: bytes of inputs and outputs on the axis, N on the "
               "right. Filled: the call alone; hollow: with the copies of inputs and outputs through pinned memory. Interpolated on log "
               "scales between the two measured sizes that the bar joins; a triangle to the left: at every size measured; to the right, at "
               "the largest size: at none. Grey: the sizes measured; on the right how many times as fast the GPU is at the largest, copies "
               "included. Calls follow each other, so that a GPU’s launch hides behind the one before. Of all experiments "
               f"together, the best time of each side at each size.{asked}{apart} {_story(best)}")
    return Figure(view.name, [_row(c) for c in best], draw, caption,
                  "Dot plot with a row for each problem: the bytes from which the GPU is faster, with and without copies.",
                  height=ABOVE + BELOW + ROW * len(best))


def _story(best: list[Crossover]) -> str:
    labels: Iterable[str] = dict.fromkeys(f"{part.side.upper()} {part.label}" for c in best for part in c.parts)
    return words.sentence(words.listed(list(labels), 6))


def _draw(fig, best: list[Crossover]) -> None:
    from report.draw import style
    from report.draw.paper import text_width
    names = [f"{c.title}, {words.type_name(c.type)}" for c in best]
    left = max(text_width(name, style.SMALL) for name in names) / style.POINTS_OF_MM + 4
    ax = style.axes(fig, left, BELOW, RIGHT, ABOVE)
    ax.set_xscale("log", base=2)
    volumes = [c.volume(n) for c in best for n in (c.sizes[0], c.sizes[-1])]
    ax.set_xlim(min(volumes) / 3, max(volumes) * 3)
    ax.set_ylim(-0.7, len(best) - 0.3)
    low, high = ax.get_xlim()
    style.plain_ticks(ax.xaxis, [2**k for k in range(0, 50, 5) if low <= 2**k <= high])
    ax.xaxis.set_major_formatter(lambda v, _: re.sub(r"(\.0+)?\u00a0", "\u2009", numbers.binary(v)))
    ax.set_xlabel("Bytes of inputs and outputs")
    ax.set_yticks([])
    for i, (c, name) in enumerate(zip(best, names)):
        ends = c.volume(c.sizes[0]), c.volume(c.sizes[-1])
        ax.plot(ends, [i, i], color=style.PALE, linewidth=0.7, zorder=1)
        for copies, colour, shift in ((False, style.OWN, 0.16), (True, style.PEER, -0.16)):
            _mark(ax, c, c.start(copies), i + shift, colour, ends, hollow=copies)
        ax.annotate(name, (0, i), xycoords=("axes fraction", "data"), xytext=(-4, 0), textcoords="offset points", ha="right",
                    va="center_baseline", size=style.SMALL)
        gain = c.gain(c.sizes[-1], True) or c.gain(c.sizes[-1], False)
        cells = ((_text(c, c.start(False)), style.OWN), (_text(c, c.start(True)), style.PEER), (numbers.times(gain) if gain else "–", style.INK))
        for x, (text, colour) in zip(COLUMNS, cells):
            _cell(ax, x, i, text, colour)
    for x, title, colour in zip(COLUMNS, ("call alone", "with copies", "at largest"), (style.OWN, style.PEER, style.GREY)):
        _cell(ax, x, len(best) - 0.3, title, colour, above=True)


def _cell(ax, x: float, y: float, text: str, colour: str, above: bool = False) -> None:
    from report.draw import style
    ax.annotate(text, (1, y), xycoords=("axes fraction", "data"), xytext=(x, 2 if above else 0), textcoords="offset points", ha="right",
                va="bottom" if above else "center_baseline", size=style.SMALL, color=colour)


def _mark(ax, c: Crossover, found: Start | None, y: float, colour: str, ends: tuple[float, float], hollow: bool) -> None:
    if found is None:
        return
    x = c.volume(found.at) if found.at else ends[0] if found.kind == ALWAYS else ends[1]
    if found.between:
        ax.plot([c.volume(n) for n in found.between], [y, y], color=colour, linewidth=1.0, zorder=2, solid_capstyle="butt")
    marker = "o" if found.at else "<" if found.kind == ALWAYS else ">"
    ax.plot([x], [y], marker, color=colour, markerfacecolor="white" if hollow else colour, markersize=4.2, zorder=3, linestyle="")


def _table(view: View, every: list[Crossover]) -> Table:
    rows = [_row(c) for c in sorted(every, key=lambda c: (c.title, c.type, str(c.rest)))]
    return Table(f"{view.name}_all", "The size N from which the GPU is faster than the best CPU code on all cores, for every problem, data type and "
                 "question that both sides answered, and how many times as fast it is at the largest size.", (
                     Column("problem", "problem", right=False, wide=True), Column("type", "type", words.type_name, right=False),
                     Column("question", "question", right=False), Column("largest", "largest N", numbers.grouped),
                     Column("without", "N, call alone"), Column("with", "N, with copies"),
                     Column("without_at_largest", "speed-up", numbers.times), Column("with_at_largest", "with copies", numbers.times)), rows)
