"""The GPU's roofline: every kernel at its requested FLOP per byte and, joined, at its DRAM FLOP per byte.

It stands alone as well: its PNG is the picture that other documents show (copy figures/roofline_gpu.png), so machine,
date and size are in it.
"""

from __future__ import annotations

from collections.abc import Sequence

from report import captions, derive, fmt
from report.figures import roofplot
from report.paper import LINE, Box, Paper, strip, text_width
from report.records import Point, Study

NAME = "roofline_gpu"
DPI = 254
"""1600 pixels over the text width."""
PLOT, LEFT, BELOW, ABOVE, RIGHT = 3.55, 0.8, 0.62, 0.1, 0.12
NEAR = 1.08
"""Points whose rates and intensities differ by less than this factor share a label."""
COLUMN = 45.0
"""Points within this width (page points) share a column of labels."""
ROW = 9.0
MANY = 8
"""More labels than this go to the right margin."""
MARGIN = 2.05
BOLD = 1.12
"""Bold letters are so much wider."""

Placed = tuple[Point, float | None, float | None]


def placed(study: Study) -> list[Placed]:
    """Kernels and the textbook's variants with requested and DRAM intensity (FLOP/byte; None if unknown).

    At the largest size with hardware counters (a kernel that has none there: at its own largest one that has), else
    at the ladder's.
    """
    n = size(study)
    points = derive.best_variants(derive.timed(study.gpu, derive.main_family(study)), n)
    points += [p for p in derive.textbook_pair(study, n) or () if p.n == n and p not in points]
    points = [_counted(study, p) for p in points]
    points.sort(key=lambda p: (p.kernel.order, p.name))
    return [(p, p.requested_intensity, derive.dram_intensity(study.gpu, p)) for p in points]


def size(study: Study) -> int | None:
    """The size of (nearly) all points."""
    return derive.counted_size(study) or derive.side_size(study, study.gpu)


def _counted(study: Study, point: Point) -> Point:
    """The point, or, if DRAM's bytes are unknown there, the same variant at the largest size at which they are not."""
    if derive.dram_intensity(study.gpu, point):
        return point
    same = [p for p in derive.timed(study.gpu, derive.main_family(study))
            if (p.kernel, p.tunables) == (point.kernel, point.tunables) and p.n and derive.dram_intensity(study.gpu, p)]
    return max(same, key=lambda p: p.n, default=point)


def rows(study: Study) -> list[dict]:
    if not study.gpu or not study.gpu.roofs:
        return []
    made = []
    for point, requested, dram in placed(study):
        ends = point.gflops_interval or (None, None)
        at = [] if point.n == size(study) else [point.size_text]
        made.append({"kernel": point.kernel.name, "title": ", ".join([point.title, *at]), "name": point.kernel.title,
                     "variant": ", ".join(filter(None, [point.variant, *at])),
                     "precision": point.kernel.precision, "n": point.n, "mode": point.mode,
                     "op_per_byte_requested": requested, "op_per_byte_dram": dram, "gflops": point.gflops,
                     "gflops_low": ends[0], "gflops_high": ends[1]})
    return made


def caption(study: Study, table: list[dict]) -> str:
    points = [point for point, *_ in placed(study)]
    text = ("Roofline of the GPU. Filled: FLOP per byte that the code requests from global memory, before any cache; "
            "such a point may lie above the DRAM roof, when caches serve it. ")
    if any(row["op_per_byte_dram"] for row in table):
        text += (f"Open diamond, joined to it: FLOP per byte that DRAM moved, by hardware counters "
                 f"({study.gpu.counter_tool or 'in the results'}). ")
    if any(not row["op_per_byte_requested"] for row in table):
        text += "Where the requests of a closed library are unknown, the diamond stands alone (without counters, a " \
                "tick on the right edge). "
    dashed = " dashed: data-sheet ceilings;" if any(not r.measured for r in study.gpu.roofs) else ""
    elsewhere = (", or at the size beside its name, where it was not counted at that one"
                 if any(row["n"] != size(study) for row in table) else "")
    return (f"{text}Solid: measured ceilings;{dashed} dotted: the textbook’s 0.25 and 4 FLOP/byte. "
            f"N = {size(study)}{elsewhere}; each kernel in its fastest variant. "
            + captions.provenance([(study.gpu, points)]))


def draw(study: Study, table: list[dict]):
    from report import style
    groups = grouped(table)
    crowded = len(groups) > MANY
    fig = style.figure(PLOT + BELOW + ABOVE)
    ax = style.axes(fig, LEFT, BELOW, style.WIDTH - LEFT - (MARGIN if crowded else RIGHT), PLOT)
    roofplot.setup(ax, *_limits(study, table), "bytes requested by the code (filled), moved by DRAM (open)")
    ax.xaxis.set_label_coords(0, -0.3 / PLOT)
    ax.xaxis.label.set_ha("left")
    sheet = roofplot.paper(ax)
    roofplot.above(ax, roofplot.roofs(ax, study.gpu, style.GREY, sheet), sheet)
    roofplot.guides(ax, study.gpu, sheet)
    for index, group in enumerate(groups):
        _marks(ax, group, _colour(index, len(groups)), sheet)
    (_margin if crowded else _labels)(ax, groups, sheet)
    _legend(ax, groups, sheet)
    for index, group in enumerate(groups):
        _share(ax, group, _colour(index, len(groups)), sheet)
    roofplot.slope_labels(ax, study.gpu, style.GREY, sheet)
    _signature(fig, study, table)
    return fig


def _colour(index: int, total: int) -> tuple[float, float, float]:
    from report import style
    return style.mix("#4f86c6", "#0b2447", index / max(1, total - 1))


def _limits(study: Study, table: list[dict]):
    xs = [x for row in table for x in (row["op_per_byte_requested"], row["op_per_byte_dram"]) if x]
    xs += derive.TEXTBOOK_INTENSITIES
    rates = [row["gflops"] for row in table]
    roofs = [r.value for measured in (True, False) for r in derive.compute_roofs(study.gpu, measured=measured)]
    top = max(rates + roofs)
    return (min(xs) / 5, max(max(xs) * 2.2, top / min(_bandwidths(study)) * 9)), (min(rates) / 2, top * 1.75)


def _bandwidths(study: Study) -> list[float]:
    return [r.value for r in derive.bandwidth_roofs(study.gpu)] or [1e30]


def grouped(table: list[dict]) -> list[list[dict]]:
    """Rows that nearly coincide, together; groups in the table's order."""
    groups: list[list[dict]] = []
    for row in table:
        home = next((g for g in groups if row.get("n") == g[0].get("n") and all(_near(row[key], g[0][key]) for key in
                                              ("gflops", "op_per_byte_requested", "op_per_byte_dram"))), None)
        groups.append([row]) if home is None else home.append(row)
    return groups


def _near(a: float | None, b: float | None) -> bool:
    return a == b or bool(a and b) and max(a, b) < NEAR * min(a, b)


def _at(ax, row: dict, key: str) -> tuple[float, float]:
    from report import labels
    return labels.to_points(ax, row[key] or ax.get_xlim()[1], row["gflops"])


def _marks(ax, group: list[dict], colour, sheet: Paper) -> None:
    """Each kernel's requested and DRAM position, joined; a tick at the right edge if neither is known."""
    for row in group:
        y, requested, dram = row["gflops"], row["op_per_byte_requested"], row["op_per_byte_dram"]
        if requested and dram:
            ax.plot([requested, dram], [y, y], color=colour, linewidth=1.1, zorder=3, solid_capstyle="butt")
            sheet.line(_at(ax, row, "op_per_byte_requested"), _at(ax, row, "op_per_byte_dram"), LINE)
        if requested:
            if row["gflops_low"]:
                ax.plot([requested] * 2, [row["gflops_low"], row["gflops_high"]], color=colour, linewidth=1, zorder=4)
            ax.plot([requested], [y], "o", color=colour, markersize=5.6, markeredgecolor="white",
                    markeredgewidth=0.5, zorder=5)
            sheet.mark(*_at(ax, row, "op_per_byte_requested"))
        if dram:
            ax.plot([dram], [y], "D", color=colour, markerfacecolor="white", markersize=4.8, zorder=5)
            sheet.mark(*_at(ax, row, "op_per_byte_dram"))
        if not requested and not dram:
            right = ax.get_xlim()[1]
            ax.plot([right / 1.25, right], [y, y], color=colour, linewidth=1.8, zorder=5)


def _title(group: list[dict]) -> tuple[str, str]:
    """Name (kernels that share a variant share its mention) and rate of a group."""
    from report import labels
    variants = {row["variant"] for row in group}
    if len(group) > 1 and len(variants) == 1 and "" not in variants:
        name = f"{labels.listed([row['name'] for row in group])} ({variants.pop()})"
    else:
        name = labels.listed([row["title"] for row in group])
    rates = [row["gflops"] for row in group]
    return labels.wrap(name, 28), fmt.flops_span(min(rates), max(rates))


def _labels(ax, groups: list[list[dict]], sheet: Paper) -> None:
    """Names beside the right-most marks; marks near each other share a column whose entries are pushed apart."""
    ends = sorted(((_end(ax, group), i) for i, group in enumerate(groups)), key=lambda e: (e[0][0], e[1]))
    column: list[tuple] = []
    for end in [*ends, None]:
        if column and (end is None or end[0][0] - column[0][0][0] > COLUMN):
            _column(ax, [(at, groups[i], i, len(groups)) for at, i in column], sheet)
            column = []
        if end:
            column.append(end)


def _margin(ax, groups: list[list[dict]], sheet: Paper) -> None:
    """Names to the right of the axes, none above the highest mark, joined to the right-most marks."""
    from report import labels
    tags = []
    for index, group in enumerate(groups):
        row, (name, _) = group[0], _title(group)
        colour = _colour(index, len(groups))
        tags.append((row["op_per_byte_dram"] or row["op_per_byte_requested"] or ax.get_xlim()[1], row["gflops"],
                     name, colour, colour))
    labels.margin_labels(ax, tags, limit=34, top=max(row["gflops"] for group in groups for row in group))


def _legend(ax, groups: list[list[dict]], sheet: Paper) -> None:
    """Says beside the longest join what its two ends are."""
    from report import style
    keys = ("op_per_byte_requested", "op_per_byte_dram")
    row = max((g[0] for g in groups if all(g[0][k] for k in keys)),
              key=lambda r: max(r[keys[0]] / r[keys[1]], r[keys[1]] / r[keys[0]]), default=None)
    for key, text in zip(keys, ("requested", "from DRAM")) if row else ():
        x, y = _at(ax, row, key)
        width = text_width(text, style.SMALL)
        places = [(x + dx, y + dy) for dx in (5, -width - 5, -width / 2) for dy in (-8, 8)]
        left, middle = places[sheet.place([strip((a, b), (a + width, b), 6) for a, b in places])]
        ax.annotate(text, (left, middle), xycoords="figure points", va="center_baseline", ha="left", size=style.SMALL,
                    style="italic", color=style.INK, path_effects=style.HALO, zorder=6)


def _end(ax, group: list[dict]) -> tuple[float, float]:
    keys = ("op_per_byte_dram", "op_per_byte_requested")
    return max(_at(ax, row, next((k for k in keys if row[k]), keys[0])) for row in group)


def _column(ax, entries: list[tuple], sheet: Paper) -> None:
    """Tries columns to the right and to the left of the marks, and takes the one that hides least."""
    from report import labels
    _, bottom, _, top = labels.box_points(ax)
    titles = [_title(group) for _, group, *_ in entries]
    sizes = [ROW * (2 + name.count("\n")) + 4 for name, _ in titles]
    widths = [max(text_width(name, BOLD * 7.4), text_width(rate, 7.0)) for name, rate in titles]
    heights = labels.spread([y for (_, y), *_ in entries], sizes, bottom + sizes[0] / 2, top - sizes[-1] / 2)
    right, left = max(x for (x, _), *_ in entries), min(x for (x, _), *_ in entries)
    places = [(right + shift, 1) for shift in (9, 16, 26, 40)] + [(left - shift, -1) for shift in (9, 16, 26, 40)]
    boxes = [[_box(x, side, y, width, size) for y, width, size in zip(heights, widths, sizes)] for x, side in places]
    x, side = places[sheet.place(boxes)]
    for ((px, py), _, index, total), y, size, title in zip(entries, heights, sizes, titles):
        _write(ax, (px, py), (x, y), side, size, title, _colour(index, total))


def _box(x: float, side: int, y: float, width: float, size: float) -> Box:
    return (min(x, x + side * width), y - size / 2 + 1, max(x, x + side * width), y + size / 2 - 1)


def _write(ax, mark: Sequence[float], at: Sequence[float], side: int, size: float, title: tuple[str, str],
           colour) -> None:
    """A name in the mark's colour over its rate, with a leader line from the mark if it is far."""
    from report import style
    (x, y), (px, py) = at, mark
    look = {"xycoords": "figure points", "ha": "left" if side > 0 else "right", "path_effects": style.HALO,
            "annotation_clip": False, "zorder": 6}
    for line, text in enumerate([*title[0].split("\n"), title[1]]):
        is_rate = text is title[1]
        ax.annotate(text, (x, y + size / 2 - 2 - (line + 0.5) * ROW), va="center_baseline",
                    size=style.SMALL if is_rate else 7.4, color=style.INK if is_rate else colour,
                    weight="normal" if is_rate else "bold", **look)
    if abs(x - px) > 10 or abs(y - py) > 5:
        ax.annotate("", (px + side * 4, py), xytext=(x - side * 1.5, y), xycoords="figure points",
                    textcoords="figure points", zorder=2, arrowprops={
                        "arrowstyle": "-", "color": style.GREY, "linewidth": 0.5, "shrinkA": 0, "shrinkB": 0})


def _share(ax, group: list[dict], colour, sheet: Paper) -> None:
    """Over a long join: the part of the requested bytes that DRAM did not have to move."""
    from report import style
    row = group[0]
    requested, dram = row["op_per_byte_requested"], row["op_per_byte_dram"]
    if not (requested and dram and dram > requested):
        return
    text = f"caches serve {fmt.percent(1 - requested / dram)}"
    (x0, y), (x1, _) = (_at(ax, row, key) for key in ("op_per_byte_requested", "op_per_byte_dram"))
    width = text_width(text, style.SMALL)
    if x1 - x0 < width + 24:
        return
    places = [(x0 + 8 + i * 4.0, y + side * 7) for side in (1, -1) for i in range(int((x1 - x0 - width - 16) / 4) + 1)]
    x, middle = places[sheet.place([strip((x, at), (x + width, at), 7) for x, at in places])]
    ax.annotate(text, (x, middle), xycoords="figure points", va="center_baseline", ha="left", size=style.SMALL,
                color=colour, path_effects=style.HALO, zorder=6)


def _signature(fig, study: Study, table: list[dict]) -> None:
    """Machine, date and size in small print, so that the picture can stand alone."""
    from report import style
    width, height = fig.get_size_inches()
    text = (f"{study.gpu.label[0].upper()}{study.gpu.label[1:]}  ·  N = {size(study)}  ·  "
            f"{' and '.join(sorted({r['precision'].upper() for r in table}))}  ·  {table[0]['mode']} mode")
    fig.text(LEFT / width, 0.09 / height, text, size=style.SMALL, color=style.GREY, ha="left", va="bottom")
