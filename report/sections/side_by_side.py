"""Machines side by side: their roofs, their ladders, their best rates, and the claims whose verdicts differ."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from report.claims.verdict import UNTESTED, Finding
from report.data.collect import Study, views_of
from report.data.ladder import Ladder, build
from report.data.records import SIDE_NAME, SIDES
from report.data.roofs import Share
from report.data.view import Part, by_time
from report.experiment import Column, Figure, Point, Section, Table, captions, numbers, words
from report.sections import literature

TITLE = "Machines side by side"
QUESTION = "What differs from machine to machine: the roofs, how near each kernel comes to them, or what the literature's claims amount to?"
MOST = 4
"""Machines of one side in a figure."""
FEWEST = 3
"""Rungs of a ladder that has a figure."""
ROW = 4.2
"""Millimetres of a rung in the ladders' figure."""


@dataclass(frozen=True)
class Machine:
    """A model of GPU, or a CPU with its cores, and its part of each experiment that timed it."""

    side: str
    name: str
    parts: Mapping[str, Part]

    @property
    def any(self) -> Part:
        return next(iter(self.parts.values()))


def machines(study: Study) -> dict[str, list[Machine]]:
    """By side, the machines that several experiments or results timed, those that the sections show first, then by experiments."""
    models = dict.fromkeys(run.machine("gpu").name for run in study.runs if run.times("gpu"))
    gpus = [Machine("gpu", name, {v.name: v.gpu for v in views_of(study, name) if v.gpu}) for name in models]
    cpus: dict[str, dict[str, Part]] = defaultdict(dict)
    for view in study.views:
        for part in (*([view.cpu] if view.cpu else []), *view.others):
            cpus[part.machine.label].setdefault(view.name, part)
    found = {"gpu": gpus, "cpu": [Machine("cpu", name, parts) for name, parts in cpus.items()]}
    shown = {part.machine.name for view in study.views for part in (view.gpu, view.cpu) if part}
    return {side: sorted((m for m in found[side] if m.parts), key=lambda m: (m.any.machine.name not in shown, -len(m.parts), m.name))[:MOST] for side in SIDES}


def section(study: Study, main: Sequence[Ladder], every: Sequence[Ladder]) -> Section | None:
    """Of a study with at least two machines of one side; None of others. `main`: the ladders with a figure; `every`: all that have a row."""
    several = {side: found for side, found in machines(study).items() if len(found) > 1}
    if not several:
        return None
    texts: list[str] = []
    figures: list[Figure] = []
    tables: list[Table] = []
    for side in sorted(several, reverse=True):
        found = several[side]
        same = _ladders(found, main)
        figures += [*_rooflines(found, same), *(f for ladders in same if len(ladders[0][1].own) >= FEWEST for f in _ladder_figure(ladders))]
        tables += [*_roofs(found), *_rates(found, _ladders(found, every))]
        texts += _finding(same)
    return Section(words.paragraphs(texts), figures=figures, tables=tables)


def _ladders(found: Sequence[Machine], shown: Sequence[Ladder]) -> list[list[tuple[Machine, Ladder]]]:
    """Each of the sections' ladders on all of the machines that have it at the same size; without those that only one has."""
    made = []
    known = {(x.part.run.experiment, x.problem.family, x.type): x for x in reversed(shown) if x.part.side == found[0].side}
    for ladder in reversed(known.values()):
        name, size = ladder.part.run.experiment, dict(ladder.rungs[0].point.size_key)
        both = [(m, other) for m in found if name in m.parts
                if (other := build(m.parts[name], ladder.problem.family, ladder.type, size)) and other.size_text == ladder.size_text]
        made += [both] if len(both) > 1 else []
    return made


# Words


def _finding(same: Sequence[Sequence[tuple[Machine, Ladder]]]) -> list[str]:
    """For each ladder: the fastest rung of each machine, with its share of the machine's own peak."""
    texts = []
    for ladders in same:
        first = ladders[0][1]
        told = [f"{numbers.rate(x.fastest.point)}{f' ({words.share(x.fastest.share)} of the peak)' if x.fastest.share else ''} on {m.name}, with "
                f"{x.fastest.point.kernel.title}" for m, x in ladders]
        texts.append(f"The {SIDE_NAME[first.part.side]}’s ladder at {first.size_text} in {words.type_name(first.type)} ends at {words.several(told)}.")
    return texts


# Figures


def _ladder_figure(ladders: Sequence[tuple[Machine, Ladder]]) -> list[Figure]:
    """One row for each kernel, one mark for each machine, over the rate and over the share of the machine's own peak."""
    from report.draw import style
    first = ladders[0][1]
    names = {r.point.kernel.name: r for _, x in reversed(ladders) for r in x.rungs}
    order = sorted(names, key=lambda name: (names[name].point.kernel.is_library, names[name].point.kernel.order, name))
    of = [{r.point.kernel.name: (r.point.known_value, _share(x.part, r.point)) for r in x.rungs} for _, x in ladders]
    has_peak = all(any(share for _, share in rungs.values()) for rungs in of)

    def draw(fig) -> None:
        left, between, high = 34.0, 6.0, 9.0
        wide = (style.WIDTH - left - between - 2) / (2 if has_peak else 1)
        for panel in range(1 + has_peak):
            ax = style.axes(fig, left + panel * (wide + between), high, style.WIDTH - left - panel * (wide + between) - wide, 6)
            values = [[_value(rungs.get(name), panel) for name in order] for rungs in of]
            every = [v for row in values for v in row if v]
            ax.set_xscale("log")
            ax.set_xlim(min(every) / 1.3, max(every) * 1.3)
            ax.set_ylim(-0.6, len(order) - 0.4)
            ax.set_yticks([])
            style.rate_ticks(ax.xaxis, *ax.get_xlim())
            ax.set_xlabel("Share of the machine’s own roof [%]" if panel else f"Performance [{numbers.unit(first.rungs[0].point)}]")
            for i in range(len(order)):
                ax.axhline(i, color=style.PALE, linewidth=0.5, zorder=0)
            for row, look in zip(values, style.SERIES):
                places = [(v, i) for i, v in enumerate(row) if v]
                ax.plot(*zip(*places), linestyle="", marker=look["marker"], color=look["color"], markersize=4.0, zorder=3)
            if not panel:
                _keys(ax, [m.name for m, _ in ladders])
                for i, name in enumerate(order):
                    ax.annotate(names[name].point.kernel.title, (0, i), xycoords=("axes fraction", "data"), xytext=(-4, 0), textcoords="offset points",
                                ha="right", va="center_baseline", size=style.SMALL)
    rows = [{"kernel": name, "title": names[name].point.kernel.title, "size": first.size_text, "type": first.type,
             **{f"{what} on {m.name}": _value(rungs.get(name), panel) for (m, _), rungs in zip(ladders, of)
                for panel, what in enumerate(("value", "percent of the roof"))}} for name in order]
    text = (f"The ladder of {first.problem.title} at {first.size_text}, {words.type_name(first.type)}, on each machine: rates"
            f"{', and the same as shares of the machine’s own measured roofs' if has_peak else ''}; each kernel in its fastest variant.")
    caption = captions.of_sides(text, [words.provenance(x.part, [r.point for r in x.rungs], hollow=False) for _, x in ladders])
    return [Figure(f"machines_{first.problem.family}_{first.type}_{first.part.side}", rows, draw, caption,
                   f"Dot plot of {words.counted(len(order), 'kernel')} on {words.counted(len(ladders), 'machine')}.", height=16 + ROW * len(order))]


def _keys(ax, names: Sequence[str]) -> None:
    """Each machine's mark and name in a line above the axes."""
    from matplotlib.transforms import ScaledTranslation

    from report.draw import style
    from report.draw.paper import text_width
    wide = sum(text_width(name, style.SMALL) + 18 for name in names)
    at = min(4.0, ax.get_position().width * ax.figure.get_size_inches()[0] * style.POINTS - wide)
    for name, look in zip(names, style.SERIES):
        above = ax.transAxes + ScaledTranslation(at / style.POINTS, 8.0 / style.POINTS, ax.figure.dpi_scale_trans)
        ax.plot([0], [1], transform=above, clip_on=False, linestyle="", marker=look["marker"], color=look["color"], markersize=4.0)
        ax.annotate(name, (0, 1), xycoords="axes fraction", xytext=(at + 5, 8), textcoords="offset points", va="center_baseline", size=style.SMALL)
        at += text_width(name, style.SMALL) + 18


def _value(rung: tuple[float, Share | None] | None, panel: int) -> float | None:
    """The rate, or the share of the roof in per cent."""
    rate, share = rung or (None, None)
    return rate if not panel else 100 * share.value if share else None


def _rooflines(found: Sequence[Machine], same: Sequence[Sequence[tuple[Machine, Ladder]]]) -> list[Figure]:
    """The roofs of all machines in one plot, absolute, and each divided by its own peak and ridge point."""
    type_ = same[0][0][1].type if same else "fp32"
    known = [(m, dram, peak) for m in found if (dram := m.any.roofs.of_model().of_threads(None).dram())
             and (peak := m.any.roofs.of_model().of_threads(None).peak(type_))]
    if len(known) < 2:
        return []
    tops = {m.name: [(at, rate) for r in x.own if (at := r.point.requested_intensity) and (rate := r.point.gflops)] for ladders in same[:1] for m, x in ladders}

    def draw(fig, is_normal: bool) -> None:
        from report.draw import style
        ax = style.axes(fig, 15, 9, 2, 6)
        ax.set_xscale("log")
        ax.set_yscale("log")
        points = []
        for (machine, dram, peak), look in zip(known, style.SERIES):
            ridge, high = peak.value / dram.value, peak.value
            over, up = (ridge, high) if is_normal else (1.0, 1.0)
            xs = [ridge / 300 / over, ridge / over, ridge * 30 / over]
            ax.plot(xs, [high / 300 / up, high / up, high / up], color=look["color"], linestyle=look.get("linestyle", "-"), linewidth=1.1)
            mine = [(x / over, y / up) for x, y in tops.get(machine.name, [])]
            if mine:
                ax.plot(*zip(*mine), linestyle="", marker=look["marker"], color=look["color"], markersize=3.6)
            points += [*zip(xs, [high / 300 / up, high / up, high / up]), *mine]
        ax.set_xlim(min(x for x, _ in points) / 1.5, max(x for x, _ in points) * 1.2)
        ax.set_ylim(min(y for _, y in points) / 1.5, max(y for _, y in points) * 1.8)
        style.decade_ticks(ax.xaxis)
        style.rate_ticks(ax.yaxis, *ax.get_ylim(), spread=40)
        ax.set_xlabel("FLOP/byte, over the ridge point" if is_normal else "FLOP/byte (requested)")
        ax.set_ylabel("Share of the peak" if is_normal else "Performance [GFLOP/s]", labelpad=1)
        _keys(ax, [m.name for m, _, _ in known])
    rows = [{"machine": m.name, "dram_gbytes_per_s": dram.value, "peak_gflops": peak.value, "ridge_flop_per_byte": peak.value / dram.value}
            for m, dram, peak in known]
    side, kind = found[0].side, words.type_name(type_)
    text = f"DRAM’s roof and the {kind} peak of each machine, with the ladder’s kernels at their requested operations per byte"
    told = [words.provenance(x.part, [r.point for r in x.rungs], hollow=False) for _, x in same[0]] if same else []
    return [Figure(f"machines_roofline_{side}", rows, lambda fig: draw(fig, False), captions.of_sides(f"{text}.", told),
                   "Rooflines of several machines in one plot.", height=66, half=True),
            Figure(f"machines_roofline_{side}_normalised", rows, lambda fig: draw(fig, True),
                   captions.of_sides("The same, each machine’s roofs divided by its own peak and ridge point: what differs now is not due to the roofs.", told),
                   "The same rooflines, each divided by its own peak and ridge point.", height=66, half=True)]


# Tables


def _roofs(found: Sequence[Machine]) -> list[Table]:
    """The highest rate of each level of memory and of the arithmetic of each type, on each machine, and relative to the first."""
    each = [m.any.roofs.of_model().of_threads(None) for m in found]
    names = list(dict.fromkeys([*(("level", name) for roofs in each for name in roofs.levels()),
                                *(("type", r.type) for roofs in each for r in roofs.compute())]))
    rows = []
    for kind, name in names:
        roofs = [x.levels().get(name) if kind == "level" else x.peak(name) for x in each]
        rows.append({"roof": name.replace("SHARED", "shared memory") if kind == "level" else f"{words.type_name(name)} arithmetic",
                     **{m.name: r and (numbers.bandwidth(r.value) if kind == "level" else numbers.flops(r.value, r.type)) for m, r in zip(found, roofs)},
                     **{f"{m.name} over {found[0].name}": r.value / roofs[0].value if r and roofs[0] else None for m, r in zip(found[1:], roofs[1:])}})
    return [_side_table(f"machines_roofs_{found[0].side}", f"The roofs of each {SIDE_NAME[found[0].side]}, measured, the best of all its runs; and relative to the first.",
                        "roof", found, rows)]


def _rates(found: Sequence[Machine], same: Sequence[Sequence[tuple[Machine, Ladder]]]) -> list[Table]:
    """For each ladder that all machines have at one size: the fastest kernel of each, with its share of the roof that judges it."""
    rows = []
    for ladders in (x for x in same if len(x) == len(found)):
        best = [min(x.rungs, key=lambda r: by_time(r.point)).point for _, x in ladders]
        first = ladders[0][1]
        told = [share for (_, x), p in zip(ladders, best) if (share := _share(x.part, p))]
        shares = [f" ({words.share(share)})" for share in told] if len(told) == len(best) else [""] * len(best)
        rows.append({"problem": f"{first.problem.title}, {words.type_name(first.type)}, {first.size_text}",
                     **{m.name: f"{numbers.rate(p)}{share}" for (m, _), p, share in zip(ladders, best, shares)},
                     **{f"{m.name} kernel": p.kernel.name for (m, _), p in zip(ladders, best)},
                     **{f"{m.name} over {found[0].name}": best[0].timing.median / p.timing.median for (m, _), p in zip(ladders[1:], best[1:])}})
    return [_side_table(f"machines_rates_{found[0].side}", "The fastest kernel of each ladder, libraries included, with its share of the peak, or of "
                        "the memory that holds its operands; and relative to the first machine. The CSV names the kernels.", "problem", found, rows)] if rows else []


def _share(part: Part, point: Point) -> Share | None:
    """The larger share of the peak and of the memory that holds the operands."""
    found = (part.roofs.of_peak(point) if point.flops else None, part.roofs.share(point, part.memory(point)))
    return max((x for x in found if x and not x.exceeds), key=lambda x: x.value, default=None)


def _side_table(name: str, caption: str, what: str, found: Sequence[Machine], rows: list[dict]) -> Table:
    return Table(name, caption, (Column(what, what, right=False, wide=True), *(Column(m.name, m.name) for m in found),
                                 *(Column(f"{m.name} over {found[0].name}", "ratio" if len(found) == 2 else f"ratio, {m.name}", numbers.times) for m in found[1:])), rows)


def verdicts(claims: Sequence[Finding]) -> list[Table]:
    """The claims with different verdicts on different machines, with what each measured, and why; nothing without any."""
    rows = []
    for group in literature.by_claim(claims):
        decided = [f for f in group if f.verdict != UNTESTED]
        if len({f.verdict for f in decided}) > 1:
            rows += [{"id": f.entry.id, "claim": f.entry.text if i == 0 else literature.SAME, "machine": f.machine, "measured": f.measured,
                      "verdict": f.words, "why": f.why} for i, f in enumerate(decided)]
    return [Table("machines_verdicts", "The claims whose verdict is not the same on all machines that can decide them.", (
        Column("claim", "claim", right=False, wide=2.4), Column("machine", "machine", right=False, wide=1.2), Column("measured", "measured", wide=1.2),
        Column("verdict", "verdict", right=False, wide=1.4), Column("why", "why", right=False, wide=2.6)), rows, most=len(rows))] if rows else []
