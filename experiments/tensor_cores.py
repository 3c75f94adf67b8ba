"""Tensor cores: the ladder in BF16; for every data type the top rung, its roof and the libraries; the cost of accuracy
(errors against rates, of narrower types and of float32 in parts); and the energy of operations, with a clock that
decreases where the board reaches its power limit."""

from collections import Counter
from collections.abc import Callable
from math import log2

from report.data.limits import POWER, mean_power
from report.data.roofs import told
from report.experiment import (
    Column,
    Figure,
    Ladder,
    Part,
    Point,
    Ratio,
    Section,
    Table,
    View,
    best_variants,
    build,
    judge,
    leaders,
    numbers,
    ratio,
    words,
)
from report.sections import ladders

ERROR, UNIT = "largest_error", 2.0**-24
"""The judge's value, |error| / |A||B|; the unit roundoff of float32."""
INPUTS = {"bf16": 2.0**-7, "fp16": 2.0**-10, "tf32": 2.0**-10, "fp8": 2.0**-3}
"""The largest relative error of a product of two float32 numbers due to rounding them to a narrower type: the judge's inputs are
already rounded."""
DATA = {"random": "random", "scaled": "scaled", "cancelling": "cancelling"}
"""Data sets of float32, and their columns."""
JUDGED_ON = {"random": "on random inputs", "scaled": "on inputs whose rows and columns have different scales from 2⁻²⁰ to 2²⁰",
          "cancelling": "on inputs whose sums cancel"}


def section(view: View) -> Section | None:
    s, part = view.settings, view.gpu
    types = [s.get("type", "bf16"), *s.get("beside", ())]
    made = [x for t in types if (x := build(part, s.get("family", ""), t, s.get("size")))]
    if not made:
        return None
    main, rest = made[0], made[1:]
    errors, types = _error_figure(view, part), _table(view, made)
    here = _table(view, made, main.size_text)
    return Section(
        words.paragraphs([ladders.finding(main), *_types_text(rest), *_accuracy_text(part), *_energy_text(main), *_power_text(main)]),
        ladders=made, answer=_answer(main), paper=[*here, *errors],
        figures=[ladders.rungs_figure(f"{view.name}_gpu", main), *_figure(view, made), *errors,
                 *ladders.over_peers(f"{view.name}_gpu", main), *_energy_figure(view, made), *_power_figures(view, main)],
        tables=[*types, *_error_table(view, part)],
        appendix=[*_layouts_table(view, made), *(x for i, ladder in enumerate(made) for x in _appendix(f"{view.name}_{ladder.type if i else 'gpu'}", ladder))])


def _answer(main: Ladder) -> list[str]:
    """For the first page: the fastest rung, and whether the board's power sets its clock."""
    best = main.fastest
    if not best.share:
        return []
    limited = ": the board’s power sets the clock" if best.use.limit == POWER else ""
    return [f"On the tensor cores {words.type_name(main.type)} products of {main.size_text} reach {numbers.rate(best.point)} ({ladders.named(main, is_inside=True)}), "
            f"{words.of_peak(best.share)}{limited}{ladders.against_library(main)}."]


def _appendix(stem: str, ladder: Ladder) -> list:
    return [ladders.table(stem, ladder), *ladders.speed_of_light(stem, ladder), *ladders.missing(ladder)]


def _types_text(made: list[Ladder]) -> list[str]:
    """For each further type, the fastest rung with its share of the roof; and the types that differ significantly from the best library."""
    told, apart, known = [], [], 0
    for ladder in made:
        best, peer = ladder.fastest, ladder.best_peer
        text = f"{words.type_name(ladder.type)}: {ladders.named(ladder)} with {numbers.rate(best.point)}"
        text += f" ({words.of_peak_briefly(best.share, best.use)})" if best.share else ""
        over = best.peers.get(peer.point.kernel.title) if peer else None
        told.append(text)
        known += bool(over)
        if over and over.is_significant:
            apart.append(f"{words.type_name(ladder.type)} is {words.speed(over, peer.point.kernel.title)}")
    same = {ladder.size_text for ladder in made} == {made[0].size_text} if made else False
    where = f" at {made[0].size_text}" if same else ""
    if not told:
        return []
    beside = words.sentence(words.joined(apart)) if apart else "No difference from the fastest library of its type is significant." if known else ""
    return [f"The fastest rung of each further type{where}: {'; '.join(told)}.", beside]


def _rows(made: list[Ladder], is_wanted: Callable[[Ladder, Point], bool]) -> list[dict]:
    """The top rung of each type at each wanted size, with the library over which its speed-up is the smallest."""
    rows = []
    for ladder in made:
        for p, peers in ((p, peers) for p, peers in ladder.over if is_wanted(ladder, p)):
            name = max(peers, key=lambda n: -peers[n].value, default=None)
            share = ladder.part.roofs.of_peak(p)
            rows.append({"type": ladder.type, "format": words.type_name(ladder.type), "size": p.size_text, "n": p.n,
                         "kernel": p.kernel.name, "title": p.kernel.title, "value": p.value, **p.sampled, "unit": numbers.unit(p),
                         "share": words.share(share, digits_only=True), "share_of_peak": share and share.told,
                         "share_at_clock": share and told(share.at_clock), "sm_clock_mhz": p.counters.get("sm_clock_mhz"),
                         "power_w": mean_power(p),
                         "library": name, **ladders.ratio_row("over", peers[name] if name else None)})
    return rows


def _is_of_size(ladder: Ladder, point: Point) -> bool:
    """Of a size, square or not, in the type's usual layout."""
    return "layout" not in point.sizes


def _is_of_layout(ladder: Ladder, point: Point) -> bool:
    return not _is_of_size(ladder, point)


def _table(view: View, made: list[Ladder], size_text: str = "") -> list[Table]:
    """At every size, or at one alone."""
    def is_wanted(ladder: Ladder, point: Point) -> bool:
        return _is_of_size(ladder, point) and size_text in ("", point.size_text)
    return _beside_libraries(f"{view.name}_{'at_one_size' if size_text else 'types'}", made, is_wanted,
                             "For each type of the inputs, by size: the top rung, which no rung exceeds significantly at the ladder’s size, its "
                             "share of the type’s measured roof and of this roof at the rung’s clock, and the "
                             "fastest library with the same order of the operands. W: the board’s mean power. INT8: operations on integers, GOP/s.")


def _layouts_table(view: View, made: list[Ladder]) -> list[Table]:
    return _beside_libraries(f"{view.name}_layouts", made, _is_of_layout,
                             "The same rungs with other orders of A and B: n by rows, t by columns. Libraries are shown where they "
                             "support the order; inputs of 8 and 32 bits are transposed first, within the time shown.")


def _beside_libraries(name: str, made: list[Ladder], is_wanted: Callable[[Ladder, Point], bool], caption: str) -> list[Table]:
    rows = _rows(made, is_wanted)
    points = [p for ladder in made for p, _ in ladder.over if is_wanted(ladder, p)]
    columns = (Column("format", "inputs", right=False), Column("size", "size"), Column("title", "kernel", right=False),
               Column("value", rows[0]["unit"] if rows else "", numbers.significant), Column("share", "of roof"),
               Column("share_at_clock", "at its clock", numbers.share), Column("sm_clock_mhz", "MHz", "{:.0f}".format),
               Column("power_w", "W", "{:.0f}".format),
               Column("over", "over the library", numbers.times), Column("library", "library", right=False, wide=True))
    known = [c for c in columns if any(row.get(c.key) is not None for row in rows)]
    watts = words.energy(points) if any(row["power_w"] for row in rows) else ""
    return [Table(name, f"{caption} {watts}" + words.provenance(made[0].part, points, hollow=False), known, rows)] if rows else []


def _figure(view: View, made: list[Ladder]) -> list[Figure]:
    """Rates by size, one line per type."""
    from report.draw import lines, style
    shown = {ladder.type: [p for p, _ in ladder.over if ladder.is_along(p)] for ladder in made}
    shown = {type_: points for type_, points in shown.items() if len(points) > 1}
    if not shown:
        return []
    every = [p for points in shown.values() for p in points]

    def draw(fig) -> None:
        ax = style.axes(fig, 16, 9, 14, 2)
        series = [lines.Series(words.type_name(t), [lines.dot(p, p.n) for p in points]) for t, points in shown.items()]
        lines.draw(ax, series, "N", "Performance", unit=every[0].metric.unit)
    caption = (f"Rates by size, with the top rung of each type{'; INT8: operations on integers, OP/s' if 'int8' in shown else ''}. " + words.provenance(made[0].part, every))
    return [Figure(f"{view.name}_rates", [r for r in _rows(made, Ladder.is_along) if r["type"] in shown], draw, caption,
                   "Line plot of the fastest kernel’s rate by matrix size, one line per data type.", height=60, half=True)]


# The cost of accuracy


def _is_usual(point: Point) -> bool:
    """On the data set that all types have, and in the usual layout."""
    return point.data in ("", "random") and "layout" not in point.sizes


def _judged(part: Part | None) -> list[Point]:
    """Each kernel's fastest variant at each size, among variants with a known error that is not 0."""
    return best_variants([p for p in part.timed("matmul") if p.judged.get(ERROR) and p.value and _is_usual(p)] if part else [])


def _error(point: Point) -> float:
    return point.judged[ERROR] + INPUTS.get(point.kernel.type, 0.0)


def _at_one_size(points: list[Point], size: object) -> list[Point]:
    """The points at `size`; without a float32 point there, those at the size with the most points, the largest of several."""
    here = [p for p in points if p.n == size]
    if any(p.kernel.type == "fp32" for p in here) or not points:
        return here
    seen = Counter(p.size_key for p in points)
    most = max(seen, key=lambda key: (seen[key], dict(key).get("n", 0)))
    return [p for p in points if p.size_key == most]


def _price(view: View, part: Part | None) -> list[Point]:
    """The kernels of the figure: all of float32, and for each narrower type our fastest kernel and the fastest library."""
    here = _at_one_size(_judged(part), view.settings.get("size"))
    chosen = [p for p in here if p.kernel.type == "fp32"]
    for type_ in INPUTS:
        for library in (False, True):
            mine = [p for p in here if p.kernel.type == type_ and p.kernel.is_library == library]
            chosen += [min(mine, key=lambda p: p.summary.median)] if mine else []
    return chosen


def _front(points: list[Point]) -> list[Point]:
    """Points that no other point exceeds in both speed and accuracy, the most accurate first."""
    front: list[Point] = []
    for p in sorted(points, key=lambda p: (_error(p), -p.value)):
        if not front or p.value > front[-1].value:
            front.append(p)
    return front


def _name(point: Point) -> str:
    return point.kernel.title if point.kernel.type == "fp32" else f"{words.type_name(point.kernel.type)}, {point.kernel.title}"


def _power(value: float) -> str:
    """'2⁻²⁴' for that power of two."""
    return f"2{f'{log2(value):.0f}'.translate(str.maketrans('0123456789-', '⁰¹²³⁴⁵⁶⁷⁸⁹⁻'))}"


def _error_figure(view: View, part: Part | None) -> list[Figure]:
    """Rates against errors."""
    from matplotlib.cbook import pts_to_poststep

    from report.draw import labels, marks, style
    from report.draw.paper import Paper
    shown = _price(view, part)
    if len(shown) < 3 or not any(p.kernel.type == "fp32" for p in shown):
        return []
    front = _front(shown)

    def draw(fig) -> None:
        ax = style.axes(fig, 14, 9, 4, 3)
        ax.set_xscale("log", base=2)
        ax.set_yscale("log")
        errors, rates = [_error(p) for p in shown], [p.value for p in shown]
        ax.set_xlim(min(errors) / 2, max(errors) * 4)
        ax.set_ylim(min(rates) / 1.5, max(rates) * 1.7)
        factor, unit = numbers.scale(max(rates), shown[0].metric.unit)
        ends = [y / factor for y in ax.get_ylim()]
        style.plain_ticks(ax.yaxis, [factor * t for e in range(-4, 5) for m in (1, 2, 5) if ends[0] <= (t := m * 10.0**e) <= ends[1]])
        ax.yaxis.set_major_formatter(lambda v, _: style.plain(v / factor))
        style.plain_ticks(ax.xaxis, [2.0**e for e in range(-40, 40, 4) if ax.get_xlim()[0] <= 2.0**e <= ax.get_xlim()[1]])
        ax.xaxis.set_major_formatter(lambda v, _: _power(v))
        ax.set_xlabel("Largest error over |A||B|")
        ax.set_ylabel(f"Performance [{unit}]")
        corners = list(zip(*pts_to_poststep([_error(p) for p in front], [p.value for p in front])))
        ax.plot(*zip(*corners), color=style.PALE, linewidth=0.9, zorder=1)
        sheet = Paper(labels.box_points(ax))
        for start, end in zip(corners, corners[1:]):
            sheet.line(labels.to_points(ax, *start), labels.to_points(ax, *end))
        dots = [marks.Mark("", _name(p), p.value, {"error": _error(p)}, p.kernel.is_library) for p in shown]
        for dot in dots:
            marks.draw(ax, dot, sheet)
        marks.label(ax, dots, sheet)
    rows = [{"kernel": p.kernel.name, "title": p.title, "type": p.kernel.type, "size": p.size_text, "value": p.value, **p.sampled, "unit": numbers.unit(p),
             "largest_error": _error(p), "of_inputs": INPUTS.get(p.kernel.type, 0.0), "is_on_front": p in front} for p in shown]
    caption = (f"The cost of accuracy at {shown[0].size_text}: rates against the largest error of an element over |A||B|, on random "
               "inputs; for narrower types plus the largest error of rounding the inputs to the type. The line joins the kernels that "
               f"no other kernel exceeds in both speed and accuracy. " + words.provenance(part, shown, hollow=False))
    return [Figure(f"{view.name}_errors", rows, draw, caption, "Plot of the rates of kernels against their largest errors.", height=70)]


def _float32(part: Part | None) -> list[Point]:
    """The kernels of float32 at every size."""
    return [p for p in _judged(part) if p.kernel.type == "fp32"]


def _over_library(points: list[Point]) -> dict[str, Ratio]:
    """By a point's name, its speed relative to the fastest library at its size."""
    pairs = {}
    for p in points:
        peers = [q for q in points if q.kernel.is_library and q.size_key == p.size_key]
        if peers and not p.kernel.is_library:
            pairs[p.name] = ratio(p, min(peers, key=lambda q: q.summary.median))
    return judge(pairs)


def _accuracy_text(part: Part | None) -> list[str]:
    """The fastest kernel whose errors are no larger than the library's on every common data set."""
    points = _float32(part)
    over, errors = _over_library(points), _errors_by_data(part)
    fast = [p for p in points if p.name in over and _is_as_accurate(p, points, errors)]
    if not fast:
        return []
    size = max(fast, key=lambda p: (p.n or 0, p.value)).size_key
    best, *level = leaders([p for p in fast if p.size_key == size])
    peer = next(q for q in points if q.kernel.is_library and q.size_key == best.size_key)
    return [f"Of the kernels of FP32 whose largest error is no larger than {peer.kernel.title}’s, {words.fastest(best.kernel.title, [p.kernel.title for p in level])} is the fastest at "
            f"{best.size_text} with {numbers.rate(best)}, {words.speed(over[best.name], peer.kernel.title)}; its error is "
            f"{numbers.significant(_error(best) / UNIT, 2)}\u00a0units of 2⁻²⁴, the library’s {numbers.significant(_error(peer) / UNIT, 2)}."]


def _errors_by_data(part: Part | None) -> dict[tuple, float]:
    """The largest error by kernel, size and data set, of all variants."""
    found: dict[tuple, float] = {}
    for p in part.timed("matmul", "fp32") if part else ():
        if ERROR in p.judged:
            key = (p.kernel.name, p.size_key, p.data or "random")
            found[key] = max(p.judged[ERROR], found.get(key, 0.0))
    return found


def _is_as_accurate(point: Point, points: list[Point], errors: dict[tuple, float]) -> bool:
    libraries = {q.kernel.name for q in points if q.kernel.is_library}
    mine = {(size, data): e for (name, size, data), e in errors.items() if name == point.kernel.name}
    pairs = [(mine[size, data], e) for (name, size, data), e in errors.items() if name in libraries and (size, data) in mine]
    return bool(pairs) and all(own <= other for own, other in pairs)


def _error_table(view: View, part: Part | None) -> list[Table]:
    points = _float32(part)
    over, errors = _over_library(points), _errors_by_data(part)
    if not points or all(p.kernel.is_library for p in points):
        return []
    rows = [{"kernel": p.kernel.name, "title": p.title, "size": p.size_text, "value": p.value, **p.sampled, "unit": numbers.unit(p),
             **ladders.ratio_row("over", over.get(p.name)),
             **{column: e / UNIT for data, column in DATA.items() if (e := errors.get((p.kernel.name, p.size_key, data))) is not None}}
            for p in points]
    columns = (Column("title", "kernel", right=False, wide=True), Column("size", "size"), Column("value", rows[0]["unit"], numbers.significant),
               Column("over", "over the library", numbers.times), *(Column(c, c, lambda v: numbers.significant(v, 2)) for c in DATA.values()))
    known = [c for c in columns if any(row.get(c.key) is not None for row in rows)]
    inputs = words.joined([text for column, text in JUDGED_ON.items() if any(column in row for row in rows)])
    return [Table(f"{view.name}_accuracy", "Products of float32 matrices: rates on random inputs, and the largest error of an element over "
                  f"|A||B| in units of 2⁻²⁴, {inputs}. " + words.provenance(part, points, hollow=False), known, rows)]


# The energy of operations, and the clock


def _energy(point: Point) -> float | None:
    """Per operation, in picojoules: the whole board's energy over the operations of a run."""
    return point.joules / point.flops * 1e12 if point.joules and point.flops else None


def _sustained(point: Point) -> float | None:
    """The rate in those runs, in the metric's unit: where the board is at its power limit a sample may be faster."""
    power, joules = point.counters.get("power_w"), point.joules
    return point.value_at(joules / power) if power and joules else None


def _with_energy(made: list[Ladder]) -> list[Point]:
    """All rungs and libraries of the main ladder, and for each further type the fastest rung and library, if their energy is known."""
    main, rest = made[0], made[1:]
    chosen = [r.point for r in main.rungs]
    chosen += [r.point for ladder in rest for r in (ladder.fastest, ladder.best_peer) if r]
    return [p for p in chosen if _energy(p) and _sustained(p)]


def _energy_text(main: Ladder) -> list[str]:
    """The energy of the top rung, compared with the lowest rung and the library."""
    top, peer = main.top.point, main.best_peer and main.best_peer.point
    known = [r.point for r in main.own if _energy(r.point)]
    if not _energy(top) or known[0] == top:
        return []
    text = f"An operation costs {_picojoules(known[0])} with {known[0].kernel.title} and {_picojoules(top)} with {top.kernel.title}"
    return [f"{text}{f' ({peer.kernel.title}: {_picojoules(peer)})' if peer and _energy(peer) else ''}."]


def _picojoules(point: Point) -> str:
    return f"{numbers.significant(_energy(point))}\u00a0pJ"


def _energy_figure(view: View, made: list[Ladder]) -> list[Figure]:
    """Energy per operation against the rate, with lines of equal power."""
    from report.draw import labels, marks, style
    from report.draw.paper import Paper
    shown = _with_energy(made)
    if len(shown) < 3:
        return []
    limit, unit = made[0].part.run.context.get("gpu_power_limit_w"), shown[0].metric.unit

    def draw(fig) -> None:
        ax = style.axes(fig, 14, 9, 4, 3)
        rates, energies = [_sustained(p) for p in shown], [_energy(p) for p in shown]
        factor, name = numbers.scale(max(rates), unit)
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.set_xlim(min(rates) / factor / 1.3, max(rates) / factor * 1.6)
        ax.set_ylim(min(energies) / 1.4, max(energies) * 1.25)
        style.rate_ticks(ax.xaxis, *ax.get_xlim())
        style.rate_ticks(ax.yaxis, *ax.get_ylim())
        ax.set_xlabel(f"Performance [{name}]")
        ax.set_ylabel("Energy per operation [pJ]")
        sheet = Paper(labels.box_points(ax))
        for watts in [w for w in (300, 500) if not limit or w < 0.9 * limit] + [limit] * bool(limit):
            _equal_power(ax, watts, f"{watts:g}\u00a0W{', the limit' * (watts == limit)}", factor * 1e9 / 1e12, sheet)
        dots = [marks.Mark("", _name(p) if p.kernel.type != made[0].type else p.kernel.title, _energy(p), {"rate": _sustained(p) / factor},
                           p.kernel.is_library) for p in shown]
        for dot in dots:
            marks.draw(ax, dot, sheet)
        marks.label(ax, dots, sheet)
    rows = [{"kernel": p.kernel.name, "title": p.title, "type": p.kernel.type, "size": p.size_text, "value": _sustained(p), "unit": unit,
             "picojoules_per_operation": _energy(p), "joules": p.joules, "power_w": p.counters.get("power_w"),
             "sm_clock_mhz": p.counters.get("sm_clock_mhz")} for p in shown]
    part = made[0].part
    caption = (f"Energy per operation against the rate at {shown[0].size_text}: all rungs in {words.type_name(made[0].type)}, and for each "
               "further type the fastest rung and library. The energy is the whole board’s, and the rate is sustained by a kernel that runs "
               f"repeatedly for 0.7\u00a0s; grey lines: equal power. {words.energy(shown)}" + words.provenance(part, shown, hollow=False))
    return [Figure(f"{view.name}_energy", rows, draw, caption, "Plot of the energy per operation against the rate, one mark per kernel.",
                   height=70)]


def _equal_power(ax, watts: float, text: str, tera: float, sheet) -> None:
    """A grey line of constant energy times rate, labelled at its start; `tera`: 1e12 operations per second in units of the axis."""
    from report.draw import labels, style
    ends = [(x, watts / (x * tera)) for x in ax.get_xlim()]
    ax.plot(*zip(*ends), color=style.PALE, linewidth=0.7, zorder=1)
    x = max(ends[0][0], watts / ax.get_ylim()[1] / tera)
    left, height = labels.to_points(ax, x, watts / (x * tera))
    ax.annotate(text, (left + 4, height - 1), xycoords="figure points", va="bottom", size=style.SMALL, color=style.GREY, zorder=1)
    sheet.line(*(labels.to_points(ax, *end) for end in ends))


SHOWN_STATE = (("sm_clock_mhz", "clock", "Clock", "MHz"), ("power_w", "power", "Power", "W"))


def _power_figures(view: View, main: Ladder) -> list[Figure]:
    """The multiprocessors' clock and the board's power by size, for the top rung and the fastest library at the ladder's size."""
    from report.draw import lines, style
    series = _states(main)
    made = []
    for key, name, title, unit in SHOWN_STATE:
        found = {label: [p for p in points if p.counters.get(key)] for label, points in series.items()}
        found = {label: points for label, points in found.items() if len(points) >= lines.CURVE}
        if not found:
            continue
        limit = main.part.run.context.get({"power_w": "gpu_power_limit_w"}.get(key, ""))
        every = [p for points in found.values() for p in points]

        def draw(fig, key=key, title=title, unit=unit, limit=limit, found=found) -> None:
            ax = style.axes(fig, 14, 9, 20, 4)
            lines.draw(ax, [lines.Series(label, [lines.Dot(p.n, p.counters[key]) for p in points]) for label, points in found.items()],
                       "N", f"{title} [{unit}]", limit=12,
                       ylim=(0, 1.1 * max([limit or 0, *(p.counters[key] for points in found.values() for p in points)])))
            if limit:
                lines.roof(ax, limit, f"limit {limit:g}\u00a0W", is_crossed=False)
        caption = (f"{_state_text(key, main.part)} by size in {words.type_name(main.type)}. {words.energy(every) if key == 'power_w' else ''}"
                   + words.provenance(main.part, every, hollow=False))
        rows = [{"kernel": p.kernel.name, "title": p.title, "n": p.n, key: p.counters[key], "throttled": p.counters.get("throttled")}
                for p in every]
        made.append(Figure(f"{view.name}_{name}", rows, draw, caption, f"Line plot of the {title.lower()} by matrix size.", height=52, half=True))
    return made


def _state_text(key: str, part: Part) -> str:
    if key == "power_w":
        return "The board’s power"
    return f"The clock of the multiprocessors {'over' if part.run.context.get('sm_clock_source') else 'right after'} a sample"


def _states(main: Ladder) -> dict[str, list[Point]]:
    """The points of both by N, by title."""
    wanted = [main.top.point.kernel, *([main.best_peer.point.kernel] if main.best_peer else [])]
    return {k.title: sorted((p for p in main.points if p.kernel == k and main.is_along(p)), key=lambda p: p.n) for k in wanted}


def _power_text(main: Ladder) -> list[str]:
    """The size from which the top rung runs at a lower clock, since the board is at its power limit."""
    points = next(iter(_states(main).values()))
    known = [p for p in points if p.counters.get("sm_clock_mhz")]
    slow = [p for p in known if "power cap" in p.labels.get("throttle_reason", "")]
    if not slow or len(known) < 2:
        return []
    highest, lowest = max(known, key=lambda p: p.counters["sm_clock_mhz"]), min(slow, key=lambda p: p.counters["sm_clock_mhz"])
    return [f"The clock falls from {highest.counters['sm_clock_mhz']:.0f}\u00a0MHz at {highest.size_text} to {lowest.counters['sm_clock_mhz']:.0f}\u00a0MHz at "
            f"{lowest.size_text}; from {slow[0].size_text} on the board is at its power limit."]
