"""The histogram: rates by the share of equal values, on both sides, compared with the rate of reading."""

from dataclasses import replace

from report.experiment import (
    Column,
    Figure,
    Ladder,
    Part,
    Point,
    Section,
    Table,
    View,
    best_variants,
    build,
    numbers,
    whole_machine,
    words,
)
from report.sections import by_size, ladders

SHARE = "percent"


def section(view: View) -> Section | None:
    made = [x for part in (view.gpu, view.cpu) if part and (x := _ladder(view, part))]
    if not made:
        return None
    return Section(" ".join([*map(_finding, made), *(_spread(view, x) for x in made)]).strip(), ladders=made,
                   figures=[_figure(view, x) for x in made],
                   tables=[by_size.table(view, x) for x in made],
                   appendix=[*(x for ladder in made for x in ladders.missing(ladder)), *(t for x in made for t in _data(view, x))])


# Data


def _of(view: View, part: Part, data: str) -> list[Point]:
    """The fastest variant of each kernel at each size, on this data."""
    return best_variants([p for p in whole_machine(part.timed(view.settings["family"])) if p.data in ("", data)])


def _swept(view: View, part: Part) -> list[Point]:
    """The points at the size with the most shares."""
    points = _of(view, part, view.settings["data"])
    shares: dict = {}
    for p in points:
        shares.setdefault(p.n, set()).add(p.sizes.get(SHARE))
    size = max(shares, key=lambda n: (len(shares[n]), n), default=None)
    return [p for p in points if p.n == size]


def _ladder(view: View, part: Part) -> Ladder | None:
    """At that size, with the smallest share: no value is more frequent than another, if that was measured."""
    points = _swept(view, part)
    if not points:
        return None
    rated = replace(part, points=tuple(p for p in part.points if p.data in ("", view.settings["data"])))
    size = {"n": points[0].n, SHARE: min(p.sizes.get(SHARE, 0) for p in points)}
    return build(rated, view.settings["family"], view.settings["type"], size)


def _by_kernel(points: list[Point]) -> dict[str, list[Point]]:
    found: dict[str, list[Point]] = {}
    for p in points:
        found.setdefault(p.kernel.name, []).append(p)
    return {name: sorted(some, key=lambda p: p.sizes.get(SHARE, 0)) for name, some in found.items()}


# Words


def _finding(made: Ladder) -> str:
    return by_size.finding(made).replace(" elements ", " values spread evenly ", 1)


def _spread(view: View, made: Ladder) -> str:
    """The variation of each kernel's rate with the share of equal values."""
    lines = {name: some for name, some in _by_kernel(_swept(view, made.part)).items() if len(some) > 1}
    if not lines:
        return ""
    falls = {some[0].kernel.title: max(p.value for p in some) / min(p.value for p in some) for some in lines.values()}
    ends = next(iter(lines.values()))
    most, least = max(falls, key=falls.get), min(falls, key=falls.get)
    text = (f"On the {made.part.side.upper()}, as the share of one value increases from {ends[0].sizes[SHARE]:.0f}\u00a0% to "
            f"{ends[-1].sizes[SHARE]:.0f}\u00a0%, the rate varies by a factor of {numbers.significant(falls[most])} with {most}")
    return f"{text}." if most == least else f"{text} and of {numbers.significant(falls[least])} with {least}."


# Figures and tables


def _row(part: Part, p: Point) -> dict:
    return by_size.row(part, p) | {SHARE: p.sizes.get(SHARE), "data": p.data}


def _figure(view: View, made: Ladder) -> Figure:
    from report.draw import lines, style
    part, points, top = made.part, _swept(view, made.part), made.part.memory(made.fastest.point)
    series = list(_by_kernel(points).values())[:style.MOST]

    def draw(fig) -> None:
        ax = style.axes(fig, 16, 9, 23, 2)
        values = [p.value for some in series for p in some] + ([top.value] if top else [])
        shares = sorted({p.sizes.get(SHARE, 0) for some in series for p in some})
        lines.draw(ax, [lines.Series(some[0].kernel.title, [lines.dot(p, p.sizes.get(SHARE, 0)) for p in some]) for some in series],
                   "Equal values [%]", "Bandwidth", log_x=False, log_y=True, limit=15, unit=points[0].metric.unit,
                   xlim=(-4, max(shares[-1], 1) * 1.04), ylim=(min(values) / 1.5, 2.5 * max(values)))
        style.rate_ticks(ax.yaxis, *ax.get_ylim())
        if top:
            ax.axhline(top.value, color=style.GREY, linewidth=0.8, zorder=1)
            ax.annotate(f"{top.label}, {numbers.bandwidth(top.value)}", (ax.get_xlim()[0], top.value), xytext=(3, 2.5),
                        textcoords="offset points", size=style.SMALL, color=style.GREY)
    who = "GPU" if part.side == "gpu" else f"CPU, up to {words.counted(max(p.threads for p in points), 'thread')}"
    caption = (f"Bandwidth of the histogram, 1 byte per value, by the share of equal values, the others spread evenly, on the {who}, with "
               f"{numbers.grouped(points[0].n)} values. Each kernel in its fastest variant. " + words.provenance(part, points))
    return Figure(f"{view.name}_{part.side}", [_row(part, p) for p in points], draw, caption,
                  f"Line plot of bandwidth by the share of equal values for {words.listed([s[0].kernel.title for s in series])}.",
                  height=66, half=True)


def _data(view: View, made: Ladder) -> list[Table]:
    """Each kernel on each data set, at the ladder's size."""
    part = next(p for p in view.timed_parts if p.side == made.part.side)  # with all data
    size = made.rungs[0].point.size_key
    sets = list(dict.fromkeys(p.data for p in part.timed(view.settings["family"]) if p.data and p.size_key == size))
    if len(sets) < 2:
        return []
    at = {(p.kernel.name, data): p for data in sets for p in _of(view, part, data) if p.size_key == size and p.data == data}
    titles = {p.kernel.name: p.kernel.title for p in at.values()}
    rows = [{"kernel": name, "title": title} | {data: at[name, data].value for data in sets if (name, data) in at}
            for name, title in titles.items()]
    return [Table(f"{view.name}_{part.side}_data", f"Bandwidth on the {part.side.upper()} by data at {made.size_text}: values spread over all 256 or "
                  f"over few values, and with equal neighbours. " + words.provenance(part, list(at.values()), hollow=False), (
                      Column("title", "kernel", right=False, wide=True), *(Column(d, d, numbers.bandwidth) for d in sets)), rows)]
