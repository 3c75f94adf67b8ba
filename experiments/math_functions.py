"""Mathematical functions: speed against error for each implementation, and the cost of the last bits."""

import math
from collections import defaultdict
from dataclasses import dataclass

from report.experiment import (
    Column,
    Figure,
    Part,
    Point,
    Ratio,
    Section,
    Table,
    View,
    captions,
    fastest,
    judge,
    numbers,
    ratio,
    whole_machine,
    words,
)

FUNCTION, ULP = "function", "max_ulp"
ROUNDED = 0.5
"""The largest error of a correctly rounded result, in units in the last place."""
POSITIVE, NEGATIVE = ("log", "rsqrt"), 0.498
"""Functions whose exact result is NaN for every negative argument, and the share of negative arguments among all bit patterns."""
NEARLY_ALL = 0.995
"""From this share on, less than 1 is not rounded to 100 %."""
SAME = 0.01
"""Shares of the arguments that differ by at most this much count as the same."""


@dataclass(frozen=True)
class Spot:
    """One function by one implementation: its fastest point and the point that measured its errors."""

    part: Part
    function: str
    name: str
    speed: Point
    error: Point

    @property
    def ulps(self) -> float:
        """The largest error where the implementation states a bound."""
        return self.error.judged[ULP]

    @property
    def everywhere(self) -> float:
        """The largest error where neither the result nor the exact one is NaN; infinite if it is not recorded."""
        return self.error.judged.get(f"{ULP}_everywhere", math.inf)

    @property
    def bounded(self) -> float | None:
        """The share of the arguments for which the implementation states a bound."""
        return self.error.judged.get("share_bounded")

    @property
    def one_nan(self) -> float | None:
        """The share of the arguments where either only the result or only the exact one is NaN."""
        found = self.error.judged.get("special_mismatches")
        return None if found is None else found / self.error.sizes["n"]

    @property
    def is_beyond_domain(self) -> bool:
        """Whether it returns numbers for negative arguments of a function that is not defined there."""
        return self.function in POSITIVE and (self.one_nan or 0) >= NEGATIVE


def section(view: View) -> Section | None:
    spots = [spot for part in view.timed_parts for spot in _spots(view, part)]
    if not spots:
        return None
    gains = _gains(spots)
    return Section(_finding(view, spots, gains), figures=[_pareto(view, spots)], appendix=[_table(view, part, spots) for part in view.timed_parts if any(s.part is part for s in spots)]
                   + [table for part in view.timed_parts for table in _slow(view, part)])


# Data


def _variant(p: Point) -> tuple:
    """The key that is equal for a speed and an error of the same code."""
    return p.kernel.name.rsplit("/", 1)[1], p.tunables.get("degree"), p.sizes[FUNCTION]


def _name(p: Point) -> str:
    degree = p.tunables.get("degree")
    return f"{p.kernel.title} {degree:.0f}" if degree else p.kernel.title


def _typical(part: Part, family: str) -> list[Point]:
    """Points on the default data set: only other sets are in the name."""
    return [p for p in whole_machine(part.timed(family)) if FUNCTION in p.sizes and "/data:" not in p.name]


def _spots(view: View, part: Part) -> list[Spot]:
    speeds, errors = defaultdict(list), {}
    for p in _typical(part, view.settings["family"]):
        speeds[_variant(p)].append(p)
    for p in part.timed(view.settings["error"]):
        if ULP in p.judged:
            errors[_variant(p)] = max(p, errors.get(_variant(p), p), key=lambda q: q.sizes["n"])
    return [Spot(part, key[-1], _name(points[0]), fastest(points), errors[key]) for key, points in speeds.items() if key in errors]


def _gains(spots: list[Spot]) -> dict[tuple, tuple[Spot, Spot, Ratio]]:
    """The speed of each implementation relative to the side's first one, function by function."""
    pairs = {}
    for side in ("gpu", "cpu"):
        mine = [s for s in spots if s.part.side == side]
        base = min((s.speed.kernel.order for s in mine), default=None)
        for s in mine:
            first = next((b for b in mine if b.function == s.function and b.speed.kernel.order == base), None)
            if first and first is not s:
                pairs[side, s.function, s.name] = (s, first)
    ratios = judge({key: ratio(s.speed, first.speed) for key, (s, first) in pairs.items()})
    return {key: (*pair, ratios[key]) for key, pair in pairs.items()}


# Words


def _ulps(value: float) -> str:
    if value == math.inf:
        return f"> 10³⁰{numbers.NB}ULP"
    return f"{numbers.significant(value)}\u00a0ULP" if value < 1e4 else f"{numbers.scientific(value)}\u00a0ULP"


def _superscript(value: float) -> str:
    return f"{len(f'{value:.0f}') - 1}".translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))


def _finding(view: View, spots: list[Spot], gains: dict) -> str:
    text = []
    for side in ("gpu", "cpu"):
        mine = [g for (of, _, _), g in gains.items() if of == side and g[2].is_significant and g[2].value > 1]
        if not mine:
            continue
        fast, slow, gain = max(mine, key=lambda g: g[2].value)
        text.append(f"On the {side.upper()}, {fast.name} {fast.function} is {words.speed(gain, slow.name)}, at {_ulps(fast.ulps)} "
                    f"instead of {_ulps(slow.ulps)} where each states a bound.{_bounded_text(fast, slow)}")
    free = defaultdict(list)
    for s, first, gain in gains.values():
        if s.part.side == "gpu" and s.ulps <= first.ulps and gain.is_significant and gain.value > 1:
            free[s.name].append((s, first))
    text += [_free_text(name, pairs) for name, pairs in free.items()]
    return " ".join([*text, *_reduction(view)])


def _bounded_text(fast: Spot, slow: Spot) -> str:
    """The shares of the arguments for which the bounds are stated, if they differ."""
    if fast.bounded is None or slow.bounded is None or abs(fast.bounded - slow.bounded) <= SAME:
        return ""
    return f" {words.sentence(f'{fast.name} states one for {_part(fast.bounded)} of the arguments, {slow.name} for {_part(slow.bounded)}')}"


def _free_text(name: str, pairs: list[tuple[Spot, Spot]]) -> str:
    """Implementations that are faster at no larger error, where they state a bound or for all arguments."""
    text = (f"For {words.joined([s.function for s, _ in pairs])} the {name} is faster than the library, with no larger error where each states "
            "a bound.")
    worse = [s for s, first in pairs if s.everywhere > first.everywhere]
    nan = [s for s, first in pairs if (s.one_nan or 0) > (first.one_nan or 0)]
    if worse:
        text += f" Elsewhere its error is larger: up to {words.joined([f'{_ulps(s.everywhere)} for {s.function}' for s in worse])}."
    if nan:
        each = words.joined([f"{_part(s.one_nan)} of the arguments of {s.function}" for s in nan])
        text += f" For {each} it returns NaN instead of a number, or a number instead of NaN."
    return text


def _part(share: float) -> str:
    """In per cent; '100 %' only for all."""
    return f"> 99.5{numbers.NB}%" if NEARLY_ALL <= share < 1 else numbers.percent(share)


def _reduction(view: View) -> list[str]:
    """The highest cost of unusual arguments."""
    if not view.gpu:
        return []
    found = [(usual, large) for usual, large in _by_data(view, view.gpu) if usual.summary.median < large.summary.median / 2]
    if not found:
        return []
    usual, large = max(found, key=lambda pair: pair[1].summary.median / pair[0].summary.median)
    return [f"With {large.data} arguments, {_name(usual)} {usual.sizes[FUNCTION]} takes "
            f"{numbers.times(large.summary.median / usual.summary.median)} as long."]


def _by_data(view: View, part: Part) -> list[tuple[Point, Point]]:
    """(on usual arguments, on others) for the same code, scaled to the same number of results."""
    usual = {}
    for p in _typical(part, view.settings["family"]):
        usual[_variant(p)] = fastest([p, *([usual[_variant(p)]] if _variant(p) in usual else [])])
    made = []
    for p in whole_machine(part.timed(view.settings["family"])):
        here = usual.get(_variant(p))
        if here and p.data != here.data:
            made.append((_scaled(here, p), p))
    return made


def _scaled(usual: Point, other: Point) -> Point:
    """The usual point, with its times scaled to the other's number of results."""
    from dataclasses import replace

    from report.data.statistics import summarise
    factor = (other.amount or 1) / (usual.amount or 1)
    times = tuple(t * factor for t in usual.times)
    return replace(usual, times=times, summary=summarise(times), amount=other.amount)


# Figures


def _row(s: Spot) -> dict:
    low, high = s.speed.interval or (None, None)
    judged = s.error.judged
    return {"side": s.part.side, "function": s.function, "implementation": s.name, "results_per_s": s.speed.value, "low": low,
            "high": high, **s.speed.sampled, "max_ulp": s.ulps, "max_ulp_at": judged.get("max_ulp_at"), "max_abs_error": judged.get("max_abs_error"),
            "max_ulp_everywhere": judged.get("max_ulp_everywhere"), "max_ulp_everywhere_at": judged.get("max_ulp_everywhere_at"),
            "share_bounded": judged.get("share_bounded"), "share_not_rounded": judged.get("share_not_rounded"),
            "special_mismatches": judged.get("special_mismatches"), "share_one_nan": s.one_nan, "arguments": s.error.sizes["n"],
            "of_bound": s.error.counters.get("max_error_ratio"), "threads": s.speed.threads, "run": s.part.run.path.name}


def _front(spots: list[Spot]) -> list[Spot]:
    """By error, the most accurate first."""
    return sorted(spots, key=lambda s: (s.ulps, -s.speed.value))


COLUMNS, HEIGHT, TICKS = 3, 36, 9
"""Panels in a row, the height of one in millimetres, and of its ticks and title."""
BESIDE, LABELS = 36, 14
"""Widths of the CPU's panel to the right of them and of its labels, in millimetres."""
LEFT, GAP = 10, 2.5


def _label(s: Spot) -> str:
    """'intrinsic', or the degree of a polynomial: short enough for a panel."""
    degree = s.speed.tunables.get("degree")
    return f"{degree:.0f}" if degree else s.speed.kernel.name.rsplit("/", 1)[1]


def _pareto(view: View, spots: list[Spot]) -> Figure:
    gpu, cpu = ([s for s in spots if s.part.side == side] for side in ("gpu", "cpu"))
    panels = [kind for kind in view.settings["kinds"] if any(s.function in kind for s in gpu)]
    rows = max(1, -(-len(panels) // COLUMNS))
    height = rows * HEIGHT + 5 if panels else 80

    def draw(fig) -> None:
        from report.draw import style
        beside = (BESIDE + LABELS if panels else style.WIDTH - LEFT) if cpu else 0
        width = (style.WIDTH - LEFT - GAP * (COLUMNS - 1) - (beside + 9 if cpu else 0)) / COLUMNS
        for i, functions in enumerate(panels):
            row, column = divmod(i, COLUMNS)
            at = LEFT + column * (width + GAP)
            ax = style.axes(fig, at, 9 + (rows - 1 - row) * HEIGHT, style.WIDTH - at - width, height - 9 - HEIGHT * (rows - row) + TICKS)
            _panel(ax, functions, gpu, is_left=column == 0, is_low=row == rows - 1)
        if cpu:
            _beside(style.axes(fig, style.WIDTH - beside, 9, LABELS, 4.5), cpu)
    sides = "Small panels: the GPU, one function each; large panel: the CPU. " if gpu and cpu else ""
    caption = (f"Speed against the largest error in units in the last place (ULP): up and left is better. {sides}"
               f"{'Numbers: the degree of a polynomial. ' if any(s.speed.tunables.get('degree') for s in gpu) else ''}"
               f"Dotted: {ROUNDED}\u00a0ULP, correctly rounded. Errors: over the arguments for which the implementation states a bound.")
    return Figure(f"{view.name}_pareto", [_row(s) for s in spots], draw, captions.of_sides(caption, _stories(spots)),
                  "Panels of speed by error: faster implementations have larger errors.", height=height)


def _stories(spots: list[Spot]) -> list[str]:
    parts = sorted({id(s.part): s.part for s in spots}.values(), key=lambda part: part.side, reverse=True)
    return [words.provenance(part, [s.speed for s in spots if s.part is part], hollow=False) for part in parts]


def _axes(ax, spots: list[Spot], every: list[Spot]) -> str:
    """Logarithmic, around these errors and all speeds, with a line where results are correctly rounded; the speeds' unit."""
    from report.draw import style
    ulps, values = [s.ulps for s in spots], [s.speed.value for s in every]
    ax.set_xscale("log")
    ax.set_yscale("log")
    low, high = min(0.42, *ulps), max(2.4, *ulps)
    margin = (high / low) ** 0.16
    ax.set_xlim(low / margin**0.5, high * margin)
    factor, unit = numbers.scale(max(values), spots[0].speed.metric.unit)
    ax.set_ylim(min(values) / 1.6, max(values) * 1.5)
    ticks = [0.5, 1, 2, 5] if high < 40 else [10.0**e for e in range(0, 9, 1 if high < 1e4 else 2)]
    style.plain_ticks(ax.xaxis, [t for t in ticks if t <= ax.get_xlim()[1]])
    ax.xaxis.set_major_formatter(lambda v, _: style.plain(v) if v < 1e4 else f"10{_superscript(v)}")
    low, high = (y / factor for y in ax.get_ylim())
    style.plain_ticks(ax.yaxis, [factor * t for e in range(-6, 7) for m in (1, 2, 5) if low <= (t := m * 10.0**e) <= high])
    ax.yaxis.set_major_formatter(lambda v, _: style.plain(v / factor))
    ax.axvline(ROUNDED, color=style.GREY, linestyle=":", linewidth=0.8, zorder=0)
    return unit


def _panel(ax, functions: list[str], every: list[Spot], is_left: bool, is_low: bool) -> None:
    """The implementations of one function, or of two similar ones."""
    from report.draw import labels, marks, style
    from report.draw.paper import TEXT, Paper
    spots = [s for s in every if s.function in functions]
    unit = _axes(ax, spots, every)
    if not is_left:
        ax.tick_params(labelleft=False)
    else:
        ax.set_ylabel(f"Speed [{unit}]", labelpad=1)
    if is_low:
        ax.set_xlabel("Largest error [ULP]")
    present = [f for f in functions if any(s.function == f for s in spots)]
    sheet, shown = Paper(labels.box_points(ax)), []
    for i, function in enumerate(present):
        look = style.SERIES[i]
        ax.annotate(function, (0, 1), xycoords="axes fraction", xytext=(1 + 20 * i, 2.5), textcoords="offset points",
                    size=style.NORMAL, weight="bold", color=look["color"], annotation_clip=False)
        line = _front([s for s in spots if s.function == function])
        ax.plot([s.ulps for s in line], [s.speed.value for s in line], look["marker"], color=look["color"], markersize=3.6,
                linestyle="-", linewidth=0.7, zorder=3)
        ends = [labels.to_points(ax, s.ulps, s.speed.value) for s in line]
        for a, b in zip(ends, ends[1:]):
            sheet.line(a, b, TEXT)
        for s, end in zip(line, ends):
            shown.append(marks.Mark("", _label(s), s.speed.value, {function: s.ulps}, colour=look["color"]))
            sheet.mark(*end, 2.6, shown[-1].owner)
    marks.label(ax, shown, sheet)


def _beside(ax, spots: list[Spot]) -> None:
    """All functions of the CPU, each with a line that joins its implementations."""
    from report.draw import labels, style
    ax.set_ylabel(f"Speed [{_axes(ax, spots, spots)}]", labelpad=1)
    ax.set_xlabel("Largest error [ULP]")
    ax.annotate("CPU", (0, 1), xycoords="axes fraction", xytext=(1, 2.5), textcoords="offset points", size=style.NORMAL,
                weight="bold", annotation_clip=False)
    kinds, tags = list(dict.fromkeys(s.speed.kernel.name for s in spots)), []
    for function in dict.fromkeys(s.function for s in spots):
        line = sorted((s for s in spots if s.function == function), key=lambda s: s.speed.value)
        ax.plot([s.ulps for s in line], [s.speed.value for s in line], color=style.PALE, linewidth=0.8, zorder=1)
        tags.append((line[-1].ulps, line[-1].speed.value, function, style.PALE, style.INK))
    for kernel in kinds:
        look, mine = style.SERIES[kinds.index(kernel)], [s for s in spots if s.speed.kernel.name == kernel]
        ax.plot([s.ulps for s in mine], [s.speed.value for s in mine], look["marker"], color=look["color"], markersize=3.6,
                linestyle="", zorder=3, label=mine[0].speed.kernel.title)
    ax.legend(loc="lower right", handletextpad=0.1, borderaxespad=0.1)
    labels.margin_labels(ax, tags, shift=3)


# Appendix


def _table(view: View, part: Part, spots: list[Spot]) -> Table:
    mine = [s for s in spots if s.part is part]
    arguments = sorted({s.error.sizes["n"] for s in mine})
    caption = (f"Speed and error of every implementation on the {part.side.upper()}. Errors over {numbers.grouped(arguments[-1])} "
               "arguments, evenly by bit pattern. Bound for: the share of arguments with a stated bound; largest error and of its bound: over "
               "these arguments. Anywhere and not rounded: where neither result is NaN, the largest error and the share not correctly "
               "rounded. NaN: the share where only one of the two is NaN; no bound is stated there. "
               f"{_beyond_domain(mine)}" + words.provenance(part, [s.speed for s in mine], hollow=False))
    return Table(f"{view.name}_{part.side}", caption, (
        Column("function", "function", right=False), Column("implementation", "by", right=False, wide=True),
        Column("results_per_s", "speed", lambda v: numbers.quantity(v, "result/s")),
        Column("share_bounded", "bound for", _part), Column("max_ulp", "largest error", _ulps),
        Column("of_bound", "of its bound", numbers.significant), Column("anywhere", "anywhere"),
        Column("share_not_rounded", "not rounded", _part), Column("share_one_nan", "NaN", _part),
    ), [_row(s) | {"anywhere": _ulps(s.everywhere)} for s in mine])


def _beyond_domain(spots: list[Spot]) -> str:
    found = [f"{s.name} {s.function}" for s in spots if s.is_beyond_domain]
    return f"{words.joined(found)}: defined for positive arguments only, returns numbers for negative arguments. " if found else ""


def _slow(view: View, part: Part) -> list[Table]:
    pairs = list(_by_data(view, part))
    names = {p.name for pair in pairs for p in pair}
    ordinary, others = ("/".join(sorted({f"{p.sizes.get('passes', 1):.0f}" for p in side})) for side in zip(*pairs)) if pairs else ("", "")
    passes = f"Calls have {ordinary} passes with usual arguments and {others} with these, so that the fixed cost per call weighs more. " if ordinary != others else ""
    rows = [{"function": p.sizes[FUNCTION], "implementation": _name(p), "data": p.data, "results_per_s": p.value,
             "usual": usual.value, "ratio": usual.value / p.value, "run": part.run.path.name} for usual, p in pairs]
    return [Table(f"{view.name}_{part.side}_arguments", f"Unusual arguments on the {part.side.upper()}: the time of a "
                  f"result relative to usual arguments. {passes}" + words.provenance(part, [p for p in part.timed() if p.name in names], hollow=False), (
                      Column("function", "function", right=False), Column("implementation", "by", right=False, wide=True),
                      Column("data", "arguments", right=False),
                      Column("results_per_s", "speed", lambda v: numbers.quantity(v, "result/s")),
                      Column("ratio", "times as long", numbers.times)), rows)] if rows else []
