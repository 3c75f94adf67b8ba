"""Operations per byte by three methods: the kernel's formula, counts of its execution, and hardware counters."""

from report.data.counted import operations
from report.data.view import order
from report.experiment import Column, Figure, Part, Point, Section, Table, View, captions, numbers, words

ROW, LEFT, RIGHT, ABOVE, BELOW = 4.0, 52.0, 66.0, 5.0, 9.0
"""Millimetres of a line of the figure, and of the margins of its axes."""
WAYS = {"formula": "formula", "counted": "counted", "measured": "GPU counters"}
BULK = "bulk_loads"
MEASURED = ("GPU counters: the hardware’s operations over its load requests, with the emulator’s bytes per request; not "
            "where bulk copies load.")
AGREES = 0.001
"""Two ratios are equal if they differ by at most this share: edges of the matrices."""


def section(view: View) -> Section | None:
    points = _points(view.counts)
    if not points:
        return None
    here = _at(points, view.settings.get("sizes") or [view.settings.get("size")])
    return Section(_finding(view.counts, points, _claimed(view, here)), figures=[_figure(view, here)],
                   appendix=[*_padding(points), _table(view, points)])


def _points(part: Part | None) -> list[Point]:
    """Counted points that load something and compute something."""
    found = part.points if part else ()
    return sorted((p for p in found if p.is_counted and p.counters.get("flops_executed")
                   and p.counters.get("bytes_executed_loaded")), key=order)


def _at(points: list[Point], sizes: list) -> list[Point]:
    """The points of the first declared size that was counted, else of the largest."""
    counted = {p.n for p in points}
    n = next((size for size in sizes if size in counted), max(n or 0 for n in counted))
    return [p for p in points if p.n == n] or points


def _named(points: list[Point], name: str) -> list[Point]:
    """The points of 'gpu/matmul/tiled' or of its variant 'gpu/matmul/tiled/tile:16'."""
    return [p for p in points if p.kernel.name == name or f"/{name}/" in f"/{p.name}/"]


# The three methods


def _formula(p: Point) -> float | None:
    return p.requested_intensity


def _counted(p: Point) -> float:
    return p.counters["flops_executed"] / p.counters["bytes_executed_loaded"]


def _measured(part: Part, p: Point) -> float | None:
    """The hardware's operations over its load requests and the emulator's bytes per request: 128 for a full warp of 4-byte
    loads. None where bulk copies load: the counter of requests does not include them."""
    seen = part.counters_of(p)
    done, requests, ours = operations(seen), seen.get("load_requests"), _requests(p.counters)
    if not (done and requests and ours) or p.counters.get(BULK):
        return None
    return done / (requests * p.counters["bytes_executed_loaded"] / ours)


def _requests(counters) -> float:
    """As the hardware counts them: asynchronous copies are also loads."""
    return counters.get("load_requests", 0.0) + counters.get("async_requests", 0.0)


def _row(part: Part, p: Point) -> dict:
    c = p.counters
    useful = c.get("flops_useful")
    return {"kernel": p.kernel.name, "title": p.title, "size": p.size_text, "formula": _formula(p),
            "counted": _counted(p), "measured": _measured(part, p), "counted_with_stores": c["flops_executed"] / (
                c["bytes_executed_loaded"] + c.get("bytes_executed_stored", 0.0)),
            "bytes_loaded": c["bytes_executed_loaded"], "bytes_loaded_declared": c.get("bytes_declared_loaded"),
            "bytes_stored": c.get("bytes_executed_stored"), "bytes_stored_declared": c.get("bytes_declared_stored"),
            "as_declared": _as_declared(p), "padding": 1 - useful / c["flops_executed"] if useful else None,
            **{key: c.get(key) or None for key in ("sectors_per_load_request", "sectors_per_store_request")}}


def _as_declared(p: Point) -> bool | None:
    """Whether the counted bytes equal the bytes that the kernel's record declares; None where it declares none."""
    pairs = [(p.counters.get(f"bytes_executed_{kind}"), p.counters.get(f"bytes_declared_{kind}"))
             for kind in ("loaded", "stored")]
    known = [(a, b) for a, b in pairs if None not in (a, b)]
    return all(a == b for a, b in known) if known else None


def _equal(a: float, b: float) -> bool:
    return abs(a - b) <= AGREES * b


# Words


def _finding(part: Part, points: list[Point], claimed: list[tuple[Point, float]]) -> str:
    text = ""
    if claimed:
        each = [f"{numbers.significant(_counted(p))}{'' if i else ' operations per loaded byte'} for {p.title}"
                for i, (p, _) in enumerate(claimed)]
        text = f"At {claimed[0][0].size_text} the emulator counts {words.joined(each)}. "
    declared = [d for p in points if (d := _as_declared(p)) is not None]
    right = sum(declared)
    if declared:
        text += (f"Counted and declared bytes agree to the byte for "
                 f"{words.of_all(right, len(declared), 'point')}")
    return " ".join(filter(None, (words.sentence(text), *_counters_text(part, points))))


def _counters_text(part: Part, points: list[Point]) -> list[str]:
    """The number of points whose counters were read, the number that can be compared, and the reasons for the rest."""
    read = [p for p in points if part.counters_of(p)]
    both = [(_counted(p), m) for p in read if (m := _measured(part, p))]
    if not both:
        return []
    bulk = [p for p in read if p.counters.get(BULK)]
    text = f"The hardware counters of the {part.counter_machine} were read for {words.of_all(len(read), len(points), 'point')}. "
    text += (f"Their operations over load requests, with the emulator’s bytes per request, give the counted ratio for "
             f"{words.of_all(sum(_equal(a, b) for a, b in both), len(both), 'point')}{' without bulk copies' if bulk else ''}")
    if bulk:
        kernels = list(dict.fromkeys(p.kernel.title for p in bulk))
        text += (f"; the counter of load requests does not include the bulk copies of {words.counted(len(bulk), 'point')} "
                 f"({words.joined(kernels)})")
    if rest := len(read) - len(both) - len(bulk):
        text += f"; for {words.counted(rest, 'point')} no load request was counted"
    return [words.sentence(text)]


def _claimed(view: View, here: list[Point]) -> list[tuple[Point, float]]:
    """Points with the values that the claims state."""
    stated = view.settings.get("values") or _recorded_values(view)
    return [(found[0], value) for name, value in stated.items() if (found := _named(here, name))]


def _recorded_values(view: View) -> dict:
    """The values as experiments declared them before the claims of the literature had a separate file."""
    return next((c["values"] for c in view.settings.get("claims", ()) if "values" in c), {})


# Figure


def _figure(view: View, here: list[Point]) -> Figure:
    lines = _lines(view.counts, here)
    caption = (f"Operations per byte that the code loads from global memory, {here[0].size_text}, "
               f"{words.type_name(here[0].kernel.type)}. Formula: useful operations over declared bytes. Counted: executed "
               f"operations over loaded bytes, by running the kernel in the emulator. {MEASURED} Sectors: 32-byte sectors per load request of a "
               f"warp. Dotted: the textbook’s values.")
    stories = ["Emulator: " + words.provenance(view.counts, ())]
    stories += [f"{view.counts.counter_tool} on {view.counts.counter_machine}."] if any(line["measured"] for line in lines) else []
    close = sum(bool(line["formula"] and line["counted"] and abs(line["formula"] / line["counted"] - 1) < 0.01) for line in lines)
    guides = sorted({value for _, value in _claimed(view, here)})
    return Figure(f"{view.name}_ways", [_row(view.counts, p) for p in here], lambda fig: _draw(fig, lines, guides),
                  captions.of_sides(caption, stories), f"Dot plot of operations per byte by kernel: formula and count coincide in {close} of {len(lines)} rows.",
                  height=ABOVE + BELOW + ROW * len(lines))


def _lines(part: Part, here: list[Point]) -> list[dict]:
    """One line for all kernels with the same ratios and sectors."""
    groups: dict[tuple, list[Point]] = {}
    for p in here:
        row = _row(part, p)
        key = tuple(row[k] and round(row[k], 4) for k in (*WAYS, "sectors_per_load_request"))
        groups.setdefault((key, p.variant), []).append(p)
    first = sorted(groups.values(), key=lambda g: (g[0].kernel.order, _formula(g[0]) or 0.0))
    return [_row(part, group[0]) | {"title": _title(group)} for group in first]


def _title(group: list[Point]) -> str:
    variant = f" ({group[0].variant})" if group[0].variant else ""
    names = [p.kernel.title for p in group]
    return f"{words.joined(names) if len(names) < 4 else words.listed(names, 2)}{variant}"


def _draw(fig, lines: list[dict], guides: list[float]) -> None:
    from report.draw import style
    ax = style.axes(fig, LEFT, BELOW, RIGHT, ABOVE)
    values = [line[way] for line in lines for way in WAYS if line[way]]
    ax.set_xscale("log")
    ax.set_xlim(min(values) / 1.6, max(values) * 1.6)
    ax.set_ylim(len(lines) - 0.4, -0.6)
    ax.set_yticks([])
    style.rate_ticks(ax.xaxis, *ax.get_xlim())
    ax.set_xlabel("Operations per byte loaded [OP/B]")
    for value in guides:
        ax.axvline(value, color=style.GREY, linewidth=0.7, linestyle=(0, (1, 2)), zorder=1)
    for x, name in zip(COLUMNS, (*WAYS.values(), "sectors")):
        _write(ax, (1, -0.6), (x, 2.5), name, "right", style.GREY, "bottom")
    for x, look in zip(KEYS, LOOKS.values()):
        ax.plot([0], [0], transform=_beside(ax, x), clip_on=False, **look)
    for i, line in enumerate(lines):
        _write(ax, (0, i), (-4, 0), line["title"], "right", style.INK)
        for way, look in LOOKS.items():
            if line[way]:
                ax.plot([line[way]], [i], zorder=3, **look)
        cells = [line[way] for way in WAYS] + [line["sectors_per_load_request"]]
        for x, value in zip(COLUMNS, cells):
            _write(ax, (1, i), (x, 0), "–" if value is None else numbers.significant(value), "right", style.INK)


COLUMNS = (44.0, 86.0, 144.0, 182.0)
"""Right ends of the columns beyond the axes, and below, the positions of their marks before the titles; in points."""
KEYS = (13.0, 54.0, 93.0)
LOOKS = {"formula": {"marker": "o", "markersize": 6.4, "color": "#0b2447", "markerfacecolor": "none", "linestyle": ""},
         "counted": {"marker": "o", "markersize": 2.6, "color": "#c4560a", "linestyle": ""},
         "measured": {"marker": "|", "markersize": 10, "color": "#3f93c9", "linestyle": "", "markeredgewidth": 1.2}}


def _write(ax, place: tuple, shift: tuple, text: str, side: str, colour: str, va: str = "center_baseline") -> None:
    from report.draw import style
    ax.annotate(text, place, xycoords=("axes fraction", "data"), xytext=shift, textcoords="offset points", ha=side, va=va,
                size=style.SMALL, color=colour, annotation_clip=False)


def _beside(ax, x: float):
    """The place of a column's mark in its title, as a transform of the origin."""
    from matplotlib.transforms import ScaledTranslation
    return ScaledTranslation(x / 72, 5.0 / 72, ax.figure.dpi_scale_trans) + ScaledTranslation(
        ax.get_position().x1 * ax.figure.get_size_inches()[0], ax.get_position().y1 * ax.figure.get_size_inches()[1],
        ax.figure.dpi_scale_trans)


# Appendix


def _padding(points: list[Point]) -> list[str]:
    """The cost of boundary checks where the size is not a multiple of the tile."""
    rows = [(1 - p.counters["flops_useful"] / p.counters["flops_executed"], p) for p in points
            if p.counters.get("flops_useful")]
    share, worst = max(rows, key=lambda r: (r[0], r[1].name), default=(0, None))
    if share < AGREES:
        return []
    return [f"Where the size is not a multiple of the tile, kernels multiply zeros beyond the edge: {numbers.percent(share)} of the operations of "
            f"{worst.title} at {worst.size_text}. These count as executed but not as useful, so that the counted ratio exceeds the formula’s."]


def _read_by(part: Part) -> str:
    """The tool and GPU of the counters that are next to the emulator's counts."""
    return f"; counters by {part.counter_tool} on {part.counter_machine}" if part.counter_tool else ""


def _table(view: View, points: list[Point]) -> Table:
    return Table(f"{view.name}_points", "Operations per byte. Formula: useful operations per declared byte; counted: executed ones per byte "
                 "loaded; with stores: per byte loaded or stored. As declared: the counted bytes "
                 f"equal those of the record. {MEASURED} Padding: operations that no result needs. "
                 f"Sectors: at least 4 for 4-byte loads of different elements. {words.sentence(view.counts.label + _read_by(view.counts))}", (
                     Column("title", "kernel", right=False, wide=True), Column("size", "size"),
                     Column("formula", "formula", numbers.significant), Column("counted", "counted", numbers.significant),
                     Column("measured", "GPU counters", numbers.significant),
                     Column("counted_with_stores", "with stores", numbers.significant),
                     Column("as_declared", "as declared", lambda v: "yes" if v else "no"),
                     Column("padding", "padding", lambda v: numbers.percent(v) if v > AGREES else "–"),
                     Column("sectors_per_load_request", "sectors, load", numbers.significant),
                     Column("sectors_per_store_request", "sectors, store", numbers.significant)),
                 [_row(view.counts, p) for p in points], most=60)
