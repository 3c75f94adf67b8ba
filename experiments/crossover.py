"""The size from which the GPU is faster than the best CPU code of its host, with and without copies: one row per problem."""


import re
from collections.abc import Sequence
from dataclasses import dataclass

from report.claims.judgement import Judged, One
from report.claims.values import Logic, Value, add, compare, divide, estimated, of_time
from report.data.sides import (
    ALWAYS,
    FASTER,
    FROM,
    NEVER,
    NO_COPIES,
    Gain,
    Measured,
    Pair,
    Sides,
    Start,
    fastest,
    of_views,
    question,
    swept,
    timed_points,
)
from report.experiment import Column, Figure, Part, Section, Table, View, numbers, words
from report.sections import comparison

LITTLE = 2
"""Where the GPU is slower than the CPU by at most this factor, its time is compared with the copies and the CPU together."""
FEWEST = 3
"""A crossover is determined for problems with at least this number of common sizes."""


@dataclass(frozen=True)
class Crossover:
    """One problem and data type, at the sizes measured on both sides."""

    sides: Sides
    included: bool
    """Whether the GPU's calls include the copies."""

    @property
    def title(self) -> str:
        return self.sides.problem.title

    @property
    def family(self) -> str:
        return self.sides.problem.family

    @property
    def type(self) -> str:
        return self.sides.type

    @property
    def sizes(self) -> list[float]:
        return [pair.n for pair in self.sides.pairs]

    def gain(self, pair: Pair, copies: bool) -> Gain | None:
        """The speed of the GPU relative to the CPU; None where it is not known."""
        if self.included:
            return pair.gain() if copies else None
        return pair.moved if copies else pair.gain()

    def last(self, copies: bool) -> Gain | None:
        return self.gain(self.sides.last, copies)

    def start(self, copies: bool) -> Start | None:
        return (self.sides.start(False) if copies else None) if self.included else self.sides.start(copies)

    def volume(self, n: float) -> float:
        """Bytes of inputs and outputs at a common size."""
        return next(pair.bytes for pair in self.sides.pairs if pair.n == n)


def section(view: View) -> Section | None:
    every = _crossovers(view)
    asked = [c for c in every if len(c.sides.pairs) >= FEWEST]
    best = _of_families(asked)
    if not best:
        return _unpaired(view)
    figure = _figure(view, best)
    return Section(_finding(asked), figures=[figure], paper=[figure], answer=[_answer(asked)],
                   appendix=[_table(view, asked), _sizes_table(view, every), *_too_few(every, asked)])


def _unpaired(view: View) -> Section | None:
    """Where no host was measured on both sides: the times of one side, for comparison."""
    side, part = next(((side, part) for side, part in (("cpu", view.cpu), ("gpu", view.gpu)) if part and part.timed()), (None, None))
    if not part:
        return None
    largest: dict[tuple, Measured] = {}
    for p in (p for one in view.suite or (view,) if (part := getattr(one, side)) for p in timed_points(part)):
        if (n := swept(p)) and p.kernel.family not in view.settings.get("left_out", ()) and "none" not in p.sizes.values():
            key, mine = (p.kernel.family, p.kernel.type, question(p)), Measured(part, p)
            known = largest.get(key, mine)
            largest[key] = fastest([known, mine]) if n == swept(known.point) else max(known, mine, key=lambda m: swept(m.point))
    rows = [{"problem": m.part.run.problems[family].title if family in m.part.run.problems else family, "type": type_, "question": _question(rest),
             "largest": swept(m.point), "kernel": m.point.title, "seconds": m.seconds}
            for (family, type_, rest), m in sorted(largest.items(), key=str)]
    missing, points = "GPU" if side == "cpu" else "CPU", [m.point for m in largest.values()]
    return Section(f"No host was measured on both sides, so that the size from which the GPU is faster is not known. The table has the "
                   f"{side.upper()}’s times of {words.counted(len(rows), 'case')}, which a {missing} would have to beat.",
                   tables=[Table(f"{view.name}_{side}", f"The fastest kernel on the {side.upper()} for each problem at the largest size measured, of several runs: {words.samples(points)}, "
                                 f"{sum(not p.settled for p in points)} of {words.counted(len(points), 'point')} unsettled.", (
                       Column("problem", "problem", right=False, wide=True), Column("type", "type", words.type_name, right=False),
                       Column("question", "question", right=False), Column("largest", "largest N", numbers.grouped),
                       Column("kernel", "fastest", right=False), Column("seconds", "time", numbers.seconds)), rows)])


# Data


def _crossovers(view: View) -> list[Crossover]:
    """Every problem, type and question (function, radius, data …) that was measured on both sides at a common size."""
    left_out, included = view.settings.get("left_out", ()), view.settings.get("included", ())
    return [Crossover(sides, sides.problem.family in included) for sides in of_views(view.suite or (view,)).values()
            if sides.problem.family not in left_out and all(pair.bytes for pair in sides.pairs)]


def _of_families(every: Sequence[Crossover]) -> list[Crossover]:
    """For each problem and type, the question with the most common sizes; the latest start with copies on top."""
    best: dict[tuple, Crossover] = {}
    for c in every:
        key = c.family, c.type
        best[key] = max(best.get(key, c), c, key=lambda x: len(x.sizes))
    return sorted(best.values(), key=lambda c: (_place(c, True), _place(c, False), c.title, c.type))


def _place(c: Crossover, copies: bool) -> float:
    """Bytes at the start; first if the GPU is faster at every size, last if it is at none."""
    found = c.start(copies)
    if found is None:
        return float("inf")
    return c.volume(found.at) if found.at else 0.0 if found.kind == ALWAYS else 1e30


# Words


def _name(c: Crossover) -> str:
    return f"{c.title[:1].lower()}{c.title[1:]}{'' if c.type == 'fp32' else f' ({words.type_name(c.type)})'}"


def _finding(asked: Sequence[Crossover]) -> str:
    """Counts all cases of the table in the appendix."""
    problems = len({c.family for c in asked})
    first = (f"{comparison.where(_parts(asked))}GPU and CPU have at least {FEWEST} sizes in common in {words.counted(len(asked), 'case')} of "
             f"{words.counted(problems, 'problem')}: a case is a problem, a data type and its further sizes.")
    text = f"Without the copies the GPU is faster from some size on in {_count(asked, False)}"
    starts = [(c, s) for c in asked if (s := c.start(True))]
    if starts:
        text += f"; with the copies there and back in {_count(asked, True)}"
    texts = [first, f"{text}."]
    never = list(dict.fromkeys(_name(c) for c, s in starts if s.kind == NEVER))
    if never:
        texts.append(f"With the copies it is not faster at the largest size in {words.listed(never, 6)}.")
    found = sorted(((c, s) for c, s in starts if s.kind == FROM), key=lambda x: x[0].volume(x[1].at))
    if found:
        first, last = ([x for x in found if x[0].volume(x[1].at) == end[0].volume(end[1].at)] for end in (found[0], found[-1]))
        among = " (not counting cases where the GPU is faster at every size)" if any(s.kind == ALWAYS for _, s in starts) else ""
        texts.append(f"The smallest size from which the GPU is faster with the copies{among} is {_begins(first)}; the largest is {_begins(last)}."
                     if last != first else f"With the copies the GPU is faster from {_begins(first)} on.")
    return words.paragraphs(texts)


def _parts(asked: Sequence[Crossover]) -> list[Part]:
    return [part for c in asked for part in c.sides.parts]


def _count(asked: Sequence[Crossover], copies: bool) -> str:
    starts = [s for c in asked if (s := c.start(copies))]
    won = sum(s.kind != NEVER for s in starts)
    return f"all {words.counted(won, 'case')}" if won == len(starts) > 1 else f"{won} of {words.counted(len(starts), 'case')}"


def _begin(c: Crossover, found: Start) -> str:
    return (f"{numbers.binary(c.volume(found.at))} in {_name(c)} (N\u00a0=\u00a0{numbers.grouped(found.at)}, not yet at "
            f"{numbers.grouped(found.after)})")


def _begins(found: Sequence[tuple[Crossover, Start]]) -> str:
    """All cases that start at the same number of bytes."""
    return words.joined([_begin(*x) for x in found])


def _answer(asked: Sequence[Crossover]) -> str:
    starts = [s for c in asked if (s := c.start(True))]
    text = (f"{comparison.where(_parts(asked))}without copies the GPU is faster than the best CPU code from some size on in "
            f"{_count(asked, False)}")
    text = f"{text[:1].upper()}{text[1:]}"
    return f"{text}, with the copies there and back in {_count(asked, True)}." if starts else f"{text}."


def _text(c: Crossover, found: Start | None) -> str:
    """'1024', '≤ 64' if the GPU is faster at every size, 'never'."""
    if found is None:
        return "–"
    if found.at:
        return numbers.grouped(found.at)
    return f"≤\u2009{numbers.grouped(c.sizes[0])}" if found.kind == ALWAYS else "never"


# Judges of claims


def one_to_one(view: View) -> Judged | None:
    """For the claim of that name: the copies decide where operations do not grow faster than elements."""
    best = _of_families(_crossovers(view))
    flat, steep = (next((c for c in best if c.family == view.settings.get(key) and c.type == "fp32" and c.last(True)), None)
                   for key in ("one_to_one", "growing"))
    if not flat or not steep or len(steep.sizes) < 2:
        return None
    there, small, large = flat.sides.last, steep.sides.pairs[0], steep.sides.last
    grows = compare(divide(_cpu(large), _moved(steep, large)), ">", divide(_cpu(small), _moved(steep, small)))
    evidence = (f"With the copies the GPU is {numbers.times(flat.gain(there, True).value)} as fast in {_name(flat)} of {numbers.binary(flat.volume(there.n))}, and "
                f"{numbers.times(steep.gain(small, True).value)} in {_name(steep)} at N\u00a0=\u00a0{numbers.grouped(small.n)}, "
                f"{numbers.times(steep.gain(large, True).value)} at N\u00a0=\u00a0{numbers.grouped(large.n)}.")
    return Judged((One(_name(flat), compare(_moved(flat, there), ">", _cpu(there))),
                   One(_name(steep), Logic("and", (compare(_moved(steep, large), "<", _cpu(large)), grows)))), evidence)


def minimise(view: View) -> Judged | None:
    """For the claim of that name, at sizes where the GPU gains nothing but loses little: its time against the copies and the CPU
    together. Where it is faster than the CPU, it is faster than both in any case."""
    close = [(c, pair) for c in _crossovers(view) if not c.included for pair in c.sides.pairs if pair.copies and 1 / LITTLE <= pair.gain().value <= 1]
    if not close:
        return None
    cases = tuple(One(f"{_name(c)}{f', {_question(c.sides.rest)}' if c.sides.rest else ''}", compare(of_time(pair.gpu.point), "<", add(_cpu(pair), estimated(*pair.moving))), pair.n)
                  for c, pair in close)
    return Judged(cases, f"At {words.counted(len(close), 'size')} the GPU is at least {1 / LITTLE:g} times and at most as fast as the CPU (our limits). There its "
                         "time is compared with the time of the copies and the CPU together.")


def _cpu(pair: Pair) -> Value:
    return of_time(pair.cpu.point)


def _moved(c: Crossover, pair: Pair) -> Value:
    """The GPU's time with the copies."""
    return add(of_time(pair.gpu.point), estimated(*(NO_COPIES if c.included else pair.moving)))


# Figure and tables


def _question(rest: tuple) -> str:
    return ", ".join(f"{k} {v}" for k, v in rest)


def _row(c: Crossover) -> dict:
    last = c.sides.last
    row = {"problem": c.title, "family": c.family, "type": c.type, "question": _question(c.sides.rest), "sizes": len(c.sizes),
           "smallest": c.sizes[0], "largest": c.sizes[-1], **comparison.who("cpu", last.cpu), **comparison.who("gpu", last.gpu)}
    for name, copies in (("without", False), ("with", True)):
        found, gain = c.start(copies), c.last(copies)
        row |= {name: _text(c, found), f"{name}_kind": found and found.kind, f"{name}_n": found and found.at,
                f"{name}_after": found and found.after, f"{name}_bytes": c.volume(found.at) if found and found.at else None, **_gain(f"{name}_at_largest", gain)}
    return row


def _gain(name: str, gain: Gain | None) -> dict:
    return {name: gain and gain.value, f"{name}_low": gain and gain.low, f"{name}_high": gain and gain.high}


ROW, ABOVE, BELOW, RIGHT = 4.6, 5.5, 9.0, 46.0
"""Millimetres of a row of the figure, and of the margins."""
COLUMNS = (43.0, 89.0, 128.0)
"""Right ends of the columns beyond the axes, in points."""


def _figure(view: View, best: Sequence[Crossover]) -> Figure:
    def draw(fig) -> None:
        _draw(fig, best)

    caption = ("The size from which the GPU is faster than the best code of its host’s CPU, for each problem and type in the case with "
               "the most sizes. Filled: the call alone; hollow: with the copies; bar: from the size before; triangles: at every size (left) "
               f"or at none (right). Right: the speed-up at the largest size. {comparison.story(_parts(best))}")
    return Figure(view.name, [_row(c) for c in best], draw, caption,
                  "Dot plot with a row for each problem: the bytes from which the GPU is faster, with and without copies.",
                  height=ABOVE + BELOW + ROW * len(best))


def _draw(fig, best: Sequence[Crossover]) -> None:
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
        gain = c.last(True) or c.last(False)
        cells = ((_text(c, c.start(False)), style.OWN), (_text(c, c.start(True)), style.PEER), (numbers.times(gain.value) if gain else "–", style.INK))
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
    if found.at:
        ax.plot([c.volume(n) for n in (found.after, found.at)], [y, y], color=colour, linewidth=1.0, zorder=2, solid_capstyle="butt")
    marker = "o" if found.at else "<" if found.kind == ALWAYS else ">"
    ax.plot([x], [y], marker, color=colour, markerfacecolor="white" if hollow else colour, markersize=4.2, zorder=3, linestyle="")


def _table(view: View, asked: Sequence[Crossover]) -> Table:
    rows = [_row(c) for c in sorted(asked, key=lambda c: (c.title, c.type, str(c.sides.rest)))]
    return Table(f"{view.name}_all", "The size N from which the GPU is faster than the best code of its host’s CPU, for each problem, data type and "
                 f"question with at least {FEWEST} common sizes, and the speed-up and codes at the largest. {FASTER}", (
                     Column("problem", "problem", right=False), Column("type", "type", words.type_name, right=False),
                     Column("question", "question", right=False, wide=1), Column("without", "N, call alone"), Column("with", "N, with copies"),
                     Column("largest", "largest N", numbers.grouped),
                     Column("without_at_largest", "speed-up", numbers.times), Column("with_at_largest", "with copies", numbers.times),
                     Column("cpu", "CPU code", right=False, wide=1), Column("gpu", "GPU code", right=False, wide=1), Column("gpu_board", "board", right=False)), rows)


def _sizes_table(view: View, every: Sequence[Crossover]) -> Table:
    """Every comparison, for further processing."""
    rows = [{"problem": c.title, "family": c.family, "type": c.type, "question": _question(c.sides.rest), "n": pair.n, "bytes": pair.bytes,
             **comparison.who("cpu", pair.cpu), **comparison.who("gpu", pair.gpu), "copy_seconds": pair.copies, **_gain("without", c.gain(pair, False)), **_gain("with", c.gain(pair, True))}
            for c in every for pair in c.sides.pairs]
    return Table(f"{view.name}_sizes", "The best code of each side at every common size of each problem, data type and question, with its time, board "
                 "and experiment, and the speed-ups with their intervals.", (), rows, most=0)


def _too_few(every: Sequence[Crossover], asked: Sequence[Crossover]) -> list[str]:
    few = list(dict.fromkeys(_name(c) for c in every if not any(a.family == c.family and a.type == c.type for a in asked)))
    return [f"With fewer than {FEWEST} common sizes no crossover is given: {words.joined(few)}."] if few else []
