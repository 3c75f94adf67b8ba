"""The box blur: rates by radius against memory’s roof, operations per byte, a picture before and after."""

from collections import defaultdict
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
from report.sections import ladders


def section(view: View) -> Section | None:
    made = [x for part in (view.gpu, view.cpu) if part and (x := _ladder(view, part))]
    if not made:
        return None
    return Section(
        words.paragraphs(map(_finding, made)), ladders=made, figures=[*_rates(view, made), *_ratios(view), *_pictures(view)],
        appendix=[*(x for ladder in made for x in _appendix(view, ladder)), *_counted(view)])


# Data


def _rated(view: View, part: Part) -> Part:
    """The part's points on the data whose rates are compared."""
    family, data = view.settings["family"], view.settings["data"]
    return replace(part, points=tuple(p for p in part.points if p.kernel.family == family and p.data in ("", data)))


def _ladder(view: View, part: Part) -> Ladder | None:
    """At the size with the most kernels: the largest image, and the radius nearest to the declared one."""
    rated, kernels = _rated(view, part), defaultdict(set)
    for p in rated.timed():
        if p.value and p.n:
            kernels[p.size_key].add(p.kernel.name)
    if not kernels:
        return None
    wanted = view.settings["radius"]
    size = max(kernels, key=lambda key: (len(kernels[key]) > 1, dict(key)["n"], -abs(dict(key)["radius"] - wanted), len(kernels[key])))
    return build(rated, view.settings["family"], view.settings["type"], dict(size))


def _lines(ladder: Ladder) -> dict[str, list[Point]]:
    """Each kernel's fastest variant at each radius, on the ladder's image; by the kernel's title."""
    image = {k: v for k, v in ladder.rungs[0].point.sizes.items() if k != "radius"}
    series = defaultdict(list)
    for p in best_variants(ladder.points):
        if {k: v for k, v in p.sizes.items() if k != "radius"} == image:
            series[p.kernel.title].append(p)
    return {title: sorted(line, key=lambda p: p.sizes["radius"]) for title, line in series.items()}


def _bound(part: Part, p: Point) -> float | None:
    """GPixel/s at which reading and writing the image once takes the whole bandwidth of the memory that holds it."""
    roof = part.memory(p)
    return roof and roof.value * p.value / p.gbytes


def _counts(view: View) -> list[Point]:
    points = [p for p in (view.counts.points if view.counts else ()) if p.is_counted and p.kernel.family == view.settings["family"]]
    return sorted(points, key=lambda p: (p.kernel.order, p.sizes["radius"], p.title))


def _executed(p: Point) -> float:
    """Operations per byte loaded, as the emulator counted them."""
    return p.counters["flops_executed"] / p.counters["bytes_executed_loaded"]


def _formula(view: View, p: Point) -> float | None:
    """The same by formula, where the experiment declares the windows that a kernel adds over: additions per byte that the record declares."""
    windows = view.settings.get("windows", {}).get(p.kernel.name.split("/")[-1])
    loaded = p.counters.get("bytes_declared_loaded")
    if not windows or not loaded:
        return None
    side, rows, cols = 2 * p.sizes["radius"] + 1, p.sizes["m"], p.sizes["n"]
    return (_near(rows, side) * _near(cols, side) if windows == "clipped" else side**2 * rows * cols) / loaded


def _near(n: float, side: float) -> float:
    """Pixels in the windows of all pixels of a line, where windows are clipped at the line's ends."""
    radius = (side - 1) / 2
    return sum(min(i + radius, n - 1) - max(i - radius, 0) + 1 for i in range(int(n)))


# Words


def _finding(ladder: Ladder) -> str:
    """The rates of the fastest kernel over all radii, and of the first kernel at the smallest and the largest."""
    series, part, side = _lines(ladder), ladder.part, ladder.part.side.upper()
    best = max(series.values(), key=lambda line: (line[-1].sizes["radius"], line[-1].value))
    low, high = min(best, key=lambda p: p.value), max(best, key=lambda p: p.value)
    text = f"On the {side}, {best[0].kernel.title} reaches {_span(best)} at {_radii(best)}"
    least, most = (part.roofs.share(p, part.memory(p)) for p in (low, high))
    if least and most:
        ends = dict.fromkeys((words.share(least), "more than 100\u00a0%" if most.exceeds else words.share(most)))
        text += f", {' to '.join(ends)} of {words.rate_of(most.roof)}"
    others = [line for line in series.values() if line is not best]
    if others:
        first, last = others[0][0], others[0][-1]
        text += f"; {first.kernel.title} reaches {_at(first)}"
        text += f" and {_at(last)}" if last is not first else ""
    return f"{text}."


def _span(line: list[Point]) -> str:
    low, high = min(line, key=lambda p: p.value), max(line, key=lambda p: p.value)
    return numbers.rate(low) if low is high else f"{numbers.rate(low)} to {numbers.rate(high)}"


def _roof_text(part: Part, p: Point) -> str:
    roof = part.memory(p)
    return f"{words.rate_of(roof)}, each pixel read once and written once" if roof else "no roof"


def _radii(line: list[Point]) -> str:
    ends = [p.sizes["radius"] for p in (line[0], line[-1])]
    return f"radius {ends[0]:.0f}" if ends[0] == ends[1] else f"radii from {ends[0]:.0f} to {ends[1]:.0f}"


def _at(p: Point) -> str:
    return f"{numbers.rate(p)} at radius {p.sizes['radius']:.0f}"


# Figures


def _row(part: Part, p: Point) -> dict:
    low, high = p.interval or (None, None)
    bound, roof = _bound(part, p), part.memory(p)
    return {"side": part.side, "kernel": p.kernel.name, "title": p.title, "size": p.size_text, "radius": p.sizes["radius"],
            "gpixels_per_s": p.value, "low": low, "high": high, **p.sampled, "bound": bound, "roof_label": roof and roof.label, "of_bound": p.value / bound if bound else None,
            "max_error": p.judged.get("max_error"), "threads": p.threads, "joules": p.joules, "run": part.run.path.name}


def _rates(view: View, made: list[Ladder]) -> list[Figure]:
    """Rates by radius and their bound, one figure per side."""
    from report.draw import lines, style
    figures = []
    for ladder in made:
        part, series = ladder.part, _lines(ladder)
        points, bound = [p for line in series.values() for p in line], _bound(ladder.part, ladder.fastest.point)

        def draw(fig, part=part, series=series, bound=bound, points=points) -> None:
            ax = style.axes(fig, 14, 9, 19, 2)
            radii = sorted({p.sizes["radius"] for p in points})
            all_lines = [lines.Series(title, [lines.dot(p, p.sizes["radius"]) for p in line]) for title, line in series.items()]
            if bound:
                look = {"color": style.ALERT, "linestyle": (0, (2, 1)), "marker": ","}
                all_lines.append(lines.Series("bound", [lines.Dot(r, bound) for r in (radii[0], radii[-1])], look))
            lines.draw(ax, all_lines, "Radius R", "Rate", log_y=True, limit=13, unit=points[0].metric.unit)
            style.plain_ticks(ax.xaxis, radii)
        image = f"{points[0].sizes['m']:.0f} × {points[0].sizes['n']:.0f} pixels"
        caption = (f"Pixels blurred per second on the {part.side.upper()} by radius, {image}, each kernel in its fastest variant; "
                   f"dashed: {_roof_text(part, ladder.fastest.point)}. " + words.provenance(part, points))
        figures.append(Figure(f"{view.name}_{part.side}_rates", [_row(part, p) for p in points], draw, caption,
                              "Line plot of rates by radius: only the running sum’s rate stays constant.", height=55, half=True))
    return figures


def _ratios(view: View) -> list[Figure]:
    """Operations per requested byte by radius: counted, and by formula."""
    from report.draw import lines, style
    points = _counts(view)
    if not points:
        return []
    series = defaultdict(dict)
    for p in points:  # the first variant of each kernel
        series[p.kernel.title].setdefault(p.sizes["radius"], p)
    kept = {title: list(line.values()) for title, line in series.items()}

    def draw(fig) -> None:
        ax = style.axes(fig, 14, 9, 19, 2)
        lines.draw(ax, [lines.Series(title, [lines.Dot(p.sizes["radius"], _executed(p)) for p in line]) for title, line in kept.items()],
                   "Radius R", "Operations per byte loaded", log_y=True, limit=13)
        for line in kept.values():
            ax.plot([p.sizes["radius"] for p in line if _formula(view, p)], [f for p in line if (f := _formula(view, p))], linestyle="none",
                    color=style.GREY, marker="o", markersize=7, markerfacecolor="none", markeredgewidth=0.8, zorder=2)
        style.plain_ticks(ax.xaxis, sorted({p.sizes["radius"] for p in points}))
    agree = [abs(f / _executed(p) - 1) for line in kept.values() for p in line if (f := _formula(view, p))]
    circles = (f"; circles: the additions of the textbook’s loop per declared byte, {f'within {numbers.percent(max(agree))} of' if max(agree) > 0 else 'equal to'} the count"
               if agree else "")
    caption = (f"Compute-to-global-memory ratio by radius, {points[0].sizes['m']:.0f} × {points[0].sizes['n']:.0f} pixels: operations and "
               f"bytes as the emulator counted them{circles}. {words.sentence(view.counts.label)}")
    rows = [{"kernel": p.kernel.name, "title": p.title, "radius": p.sizes["radius"], "counted": _executed(p), "formula": _formula(view, p)}
            for line in kept.values() for p in line]
    return [Figure(f"{view.name}_ratio", rows, draw, caption,
                   "Line plot of operations per byte by radius: a quarter for naive, increasing with tiles.", height=55, half=True)]


def _pixels(p: Point) -> list[list[float]]:
    """The picture that a kernel computed, row by row."""
    rows, cols = int(p.sizes["m"]), int(p.sizes["n"])
    return [[p.judged[f"y[{row}][{col}]"] for col in range(cols)] for row in range(rows)]


def _pictures(view: View) -> list[Figure]:
    """A picture, original (radius 0) and blurred."""
    found = [(part, p) for part in (view.gpu, view.cpu) if part for p in part.timed(view.settings["family"])
             if p.data == view.settings["picture"] and "y[0][0]" in p.judged]
    if not found:
        return []
    part, kernel = found[0][0], found[0][1].kernel
    points = sorted((p for of, p in found if of is part and p.kernel == kernel), key=lambda p: p.sizes["radius"])[:3]

    def draw(fig) -> None:
        from report.draw import pictures
        pictures.row(fig, [(f"R\u00a0=\u00a0{p.sizes['radius']:.0f}", _pixels(p)) for p in points], "gray", 0, 255)
    size = f"{points[0].sizes['m']:.0f} × {points[0].sizes['n']:.0f}"
    radii = words.joined([f"{p.sizes['radius']:.0f}" for p in points])
    caption = (f"A picture of {size} pixels blurred with radius {radii}, computed by {kernel.title} on the {part.side.upper()}; "
               f"radius 0 is the original. {words.sentence(part.label)}")
    rows = [{"radius": p.sizes["radius"], "row": row, "column": col, "value": value} for p in points
            for row, line in enumerate(_pixels(p)) for col, value in enumerate(line)]
    return [Figure(f"{view.name}_picture", rows, draw, caption, "A test picture, sharp and blurred: fine lines become grey.",
                   height=32 if len(points) == 3 else 45, half=True)]


# Appendix


def _appendix(view: View, ladder: Ladder) -> list[Table | Figure | str]:
    stem = f"{view.name}_{ladder.part.side}"
    return [ladders.table(stem, ladder), *ladders.missing(ladder), *_all_rates(view, ladder), *_variants(view, ladder)]


def _all_rates(view: View, ladder: Ladder) -> list[Table]:
    """Every kernel at every radius, with its share of the bound and its error."""
    points = [p for line in _lines(ladder).values() for p in line]
    return [Table(f"{view.name}_{ladder.part.side}_radii", f"Rates on the {ladder.part.side.upper()} by radius R, their share of the roof of the memory that holds the image, and "
                  f"the largest error over the image’s largest value. " + words.provenance(ladder.part, points, hollow=False), (
                      Column("title", "kernel", right=False, wide=True), Column("radius", "R", lambda v: f"{v:.0f}"),
                      Column("gpixels_per_s", "rate", lambda v: numbers.quantity(v, points[0].metric.unit)),
                      Column("of_bound", "of the roof", numbers.share),
                      Column("max_error", "error", numbers.scientific)), [_row(ladder.part, p) for p in points])]


def _variants(view: View, ladder: Ladder) -> list[Table]:
    """Every variant, at the sizes where a kernel has several."""
    groups = defaultdict(list)
    for p in whole_machine(ladder.part.timed(view.settings["family"])):
        groups[p.kernel.name, p.size_key].append(p)
    points = [p for group in groups.values() if len(group) > 1 for p in sorted(group, key=lambda p: -p.value)]
    return [Table(f"{view.name}_{ladder.part.side}_variants", f"Variants on the {ladder.part.side.upper()}, the fastest first; of the roof: of the memory that holds the image. "
                  + words.provenance(ladder.part, points, hollow=False), (
                      Column("title", "kernel", right=False, wide=True), Column("size", "size", right=False),
                      Column("gpixels_per_s", "rate", lambda v: numbers.quantity(v, points[0].metric.unit)),
                      Column("of_bound", "of the roof", numbers.share)), [_row(ladder.part, p) for p in points])] if points else []


def _counted(view: View) -> list[Table]:
    """The operations that each kernel executes and the bytes that it requests per pixel."""
    points = _counts(view)
    if not points:
        return []
    rows = [{"kernel": p.kernel.name, "title": p.title, "radius": p.sizes["radius"], "ratio": _executed(p)} | {
        key: p.counters[counter] / (p.sizes["m"] * p.sizes["n"]) for key, counter in (
            ("flops", "flops_executed"), ("loaded", "bytes_executed_loaded"), ("stored", "bytes_executed_stored"))} for p in points]
    return [Table(f"{view.name}_counted", f"Operations executed and bytes requested from global memory per pixel, by radius R, as the emulator counted them on "
                  f"{points[0].sizes['m']:.0f} × {points[0].sizes['n']:.0f} pixels. OP/B: operations per byte loaded.", (
                      Column("title", "kernel", right=False, wide=True), Column("radius", "R", lambda v: f"{v:.0f}"),
                      Column("flops", "operations", numbers.significant), Column("loaded", "loaded [B]", numbers.significant),
                      Column("stored", "stored [B]", numbers.significant), Column("ratio", "OP/B", numbers.significant)), rows)]
