"""The roofs: the rooflines of both sides without kernels, each roof with its spread, and one thread against all."""

from collections.abc import Sequence

from report.data.roofs import Reading, Roof, Roofs
from report.experiment import Column, Figure, Part, Section, Table, View, numbers, words

FP32 = "fp32"


def section(view: View) -> Section | None:
    parts = [part for part in (view.gpu, view.cpu) if part and part.roofs]  # a GPU's roofs are its model's, from all boards
    if not parts:
        return None
    every = [*parts, *view.others]
    figures = [_roofline(view, part) for part in parts]
    return Section(" ".join(filter(None, map(_finding, parts))), figures=figures, paper=figures,
                   appendix=[x for i, part in enumerate(every) for x in _appendix(view, part, i)])


# Words


def _finding(part: Part) -> str:
    """The best rates of memory and arithmetic, compared with the data sheet, the ridge point, and one thread's shares."""
    roofs = part.roofs.of_model()
    whole = roofs.of_threads(None)
    dram, peak = whole.dram(), whole.peak(FP32)
    if not dram or not peak:
        return ""
    threads = f" on {words.counted(peak.threads, 'thread')}" if peak.threads else ""
    text = (f"The {part.side.upper()}’s DRAM delivers at most {numbers.bandwidth(dram.value)}{_in_brackets(part, dram)} and its FP32 "
            f"units {numbers.flops(peak.value)}{_in_brackets(part, peak)}{threads}; the ridge point is at "
            f"{numbers.significant(peak.value / dram.value)} operations per byte.")
    one = next((r for r in roofs.all if r.label == peak.label and r.threads == 1), None) if (peak.threads or 1) > 1 else None
    alone = one and roofs.of_threads(1).dram()
    if not alone:
        return text
    if one.value > peak.value or alone.value > dram.value:
        return f"{text} One thread alone was faster: other work used the machine while all threads were measured."
    return f"{text} One thread alone reaches {numbers.percent(one.value / peak.value)} of that peak and " \
           f"{numbers.percent(alone.value / dram.value)} of that bandwidth."


def _in_brackets(part: Part, roof: Roof) -> str:
    """'(95 % of the data sheet’s; in 14 runs on 4 boards 4.53 to 4.64 TB/s)'."""
    sheet = part.roofs.dram(measured=False) if roof.is_bandwidth else part.roofs.peak(FP32, measured=False)
    told = [f"{numbers.percent(roof.value / sheet.value)} of the data sheet’s"] if sheet else []
    if len(roof.readings) > 1:
        where = f" on {several}" if (several := _several(roof.readings, part.side)) else ""
        text = numbers.bandwidth if roof.is_bandwidth else numbers.flops
        told.append(f"{text(roof.lowest)} in the lowest of {len(roof.readings)} runs{where}")
    return f" ({'; '.join(told)})" if told else ""


def _several(readings: Sequence[Reading], side: str) -> str:
    """'2 boards', '3 hosts'; empty for one."""
    number = len({r.host for r in readings})
    return f"{number} {'boards' if side == 'gpu' else 'hosts'}" if number > 1 else ""


def _provenance(roofs: Roofs, side: str) -> str:
    """'The best of 31 runs on 5 boards, 2026-11-24 to 2026-11-26.'"""
    every = [x for r in roofs.all for x in r.readings]
    days, name = sorted({x.day for x in every}), every[0].machine
    several = _several(every, side)
    where = f"{several} of {name.partition(' (')[0]}" if several else name
    runs = len({x.run for x in every})
    return f"{f'The best of {runs} runs' if runs > 1 else 'From one run'} on {where}, {' to '.join(dict.fromkeys((days[0], days[-1])))}."


# Figures


def _roofline(view: View, part: Part) -> Figure:
    from report.draw import roofline, style
    roofs = part.roofs.of_model()
    more = roofs.of_threads(None).compute(FP32)[:-1]

    def draw(fig) -> None:
        roofline.draw(style.axes(fig, 16, 9, 1.5, 1), roofs, FP32, (), (), "of each level of memory", more=more)
    threads = max((r.threads or 0 for r in roofs.all), default=0)
    dashed = "; dashed: data sheet" if part.roofs.compute(FP32, measured=False) else ""
    caption = (f"The measured roofs of the {part.side.upper()}{f' on {threads} threads' if threads else ''}, FP32; for each level of "
               f"memory its fastest access pattern{dashed}. {_provenance(roofs, part.side)}")
    return Figure(f"{view.name}_{part.side}", _rows(part), draw, caption,
                  "Roofline of the machine: slopes of the levels of memory, flat roofs of the arithmetic units.", height=60, half=True)


def _rows(part: Part) -> list[dict]:
    return [{"roof": r.label, "type": r.type, "threads": r.threads, "value": r.value, "unit": "GB/s" if r.is_bandwidth else "GFLOP/s",
             "low": r.low, "high": r.high, "minimum": r.minimum, "maximum": r.maximum, "n": r.n, "lowest_run": r.lowest,
             "runs": len(r.readings), "clock_mhz": r.clock_mhz, "kernel": r.kernel, "machine": r.machine, "date": r.day, "run": r.run} for r in part.roofs.of_model().all]


def _spread(view: View, part: Part, name: str) -> Figure:
    """One row per roof: the best run's median, its interval, the range of the runs; memory on the left, arithmetic on the right."""
    from report.draw import labels, style
    both = [[r for r in _whole(part) if r.is_bandwidth == kind] for kind in (True, False)]
    most = max(map(len, both))

    def draw(fig) -> None:
        for i, (roofs, unit) in enumerate(zip(both, ("GB/s", "GFLOP/s"))):
            if not roofs:
                continue
            ax = style.axes(fig, (36, 116)[i], 9, (84, 6)[i], 2)
            ax.set_xscale("log")
            ax.set_ylim(most - 0.4, -0.6)
            ax.set_xlim(min(r.lowest for r in roofs) / 1.4, max(r.high or r.value for r in roofs) * 1.4)
            for y, r in enumerate(roofs):
                ax.plot([r.lowest, r.value], [y, y], color=style.PALE, linewidth=2.4, solid_capstyle="butt", zorder=1)
                ax.plot([r.low or r.value, r.high or r.value], [y, y], color=style.INK, linewidth=1.2, zorder=2)
                ax.plot([r.value], [y], "o", color=style.OWN, markersize=3.6, zorder=3)
            ax.set_yticks(range(len(roofs)), [labels.wrap(r.label, 30) for r in roofs])
            ax.tick_params(axis="y", length=0)
            style.rate_ticks(ax.xaxis, *ax.get_xlim(), spread=25)
            ax.set_xlabel(f"{('Bandwidth', 'Arithmetic')[i]} [{unit}]")
    return Figure(name, _rows(part), draw, "Every roof: the median of the best run, its 95\u00a0% interval (dark) and the range of the "
                  f"runs (pale). {_provenance(part.roofs.of_model(), part.side)}",
                  "Dot plot of every roof with the range of its runs.", height=12 + 3.8 * most)


def _whole(part: Part) -> list[Roof]:
    return sorted((r for r in part.roofs.of_model().of_threads(None).all if r.measured), key=lambda r: -r.value)


# Appendix


def _appendix(view: View, part: Part, i: int) -> list[Figure | Table]:
    name = f"{view.name}_{part.side}{i}"
    return [*([_spread(view, part, f"{name}_spread")] if len(_whole(part)) > 2 else []), *_threads(view, part, name)]


def _threads(view: View, part: Part, name: str) -> list[Table]:
    """One thread against all, by roof."""
    one = {r.label: r for r in part.roofs.all if r.threads == 1}
    rows = [{"roof": r.label, "unit": "GB/s" if r.is_bandwidth else "GFLOP/s", "one": one[r.label].value, "all": r.value,
             "threads": r.threads, "ratio": r.value / one[r.label].value, "one n": one[r.label].n, "n": r.n,
             "one text": _text(one[r.label]), "all text": _text(r)}
            for r in _whole(part) if r.label in one and (r.threads or 1) > 1]
    rows.sort(key=lambda row: (row["unit"], -row["all"]))
    return [Table(f"{name}_threads", f"One thread and all {rows[0]['threads']}, by roof; n: samples. {words.sentence(part.label)}", (
        Column("roof", "roof", right=False, wide=True), Column("one text", "one thread"), Column("one n", "n"),
        Column("all text", f"{rows[0]['threads']} threads"), Column("n", "n"), Column("ratio", "speed-up", numbers.times)),
        rows)] if rows else []


def _text(roof: Roof) -> str:
    return numbers.bandwidth(roof.value) if roof.is_bandwidth else numbers.flops(roof.value)
