"""The place of an automatic array: registers, local memory, shared memory or selects, and the cost of each."""

from collections import defaultdict

from report.experiment import (
    Column,
    Figure,
    Part,
    Point,
    Section,
    Table,
    View,
    fastest,
    judge,
    leaders,
    numbers,
    ratio,
    words,
)

KEYS, LAYOUT, LOCAL, USED = "keys", "layout", "local_bytes_per_thread", "registers_per_thread"
ELEMENT = 4
"""Bytes of a key; each is read from memory once and written once."""
LANES = 32


def section(view: View) -> Section | None:
    timed = [p for p in view.gpu.timed() if p.value and _keys(p)] if view.gpu else []
    counted = {(p.kernel.name, p.variant, _keys(p)): p for p in (view.counts.points if view.counts else ()) if p.is_counted and _keys(p)}
    if not timed and not counted:
        return None
    return Section(" ".join(filter(None, (_rates(view, timed), _compiled(view, timed), _layouts(counted)))) or "Nothing was timed.",
                   figures=[_figure(view, timed)] if timed else [], **{"appendix" if timed else "tables": [_table(view, timed, counted)]})


def _keys(p: Point) -> float:
    """Elements of the array; 0 for another problem."""
    return p.sizes.get(KEYS) or 0


def _longest(timed: list[Point]) -> list[Point]:
    """The points with the longest array, at the most keys."""
    most = max((_keys(p), p.sizes["n"]) for p in timed)
    return [p for p in timed if (_keys(p), p.sizes["n"]) == most]


def _best_of(points: list[Point], kernel: str) -> Point | None:
    return fastest([p for p in points if p.kernel.name == kernel])


# Words


def _rates(view: View, timed: list[Point]) -> str:
    """Each place's fastest point at the longest array, relative to the fastest of all."""
    if not timed:
        return ""
    points = _longest(timed)
    best, *level = leaders(points)
    places = {place: fastest([p for p in points if _place(p) == place]) for place in sorted(map(_place, points))}
    others = [p for p in places.values() if p is not best]
    text = f"With an array of {_keys(best):.0f} elements the fastest place is {words.fastest(_place(best), map(_place, level))} with {numbers.rate(best)}"
    share = view.gpu.roofs.share(best, view.gpu.memory(best))
    text += f", {words.of_memory(share)}" if share else ""
    if others:
        ratios = judge({_place(p): ratio(p, best) for p in others})
        slower = [f"{numbers.times(ratios[_place(p)].value)} ({_place(p)})" for p in sorted(others, key=lambda p: -p.value)]
        text += f"; the others reach {words.joined(slower)} that rate"
    return f"{text}."


def _place(p: Point) -> str:
    """'local memory', 'shared memory, by key'."""
    layout = str(p.tunables.get(LAYOUT, "")).replace("_", " ")
    return f"{p.kernel.title}, {layout}" if layout else p.kernel.title


def _compiled(view: View, timed: list[Point]) -> str:
    """The registers and local memory that the compiler used for the same code."""
    known = [p for p in _longest(timed) if LOCAL in p.counters] if timed else []
    constant, run_time = (_best_of(known, view.settings[name]) for name in ("constant", "run_time"))
    if not constant or not run_time:
        return ""
    return (f"The same code takes {constant.counters[USED]:.0f} registers and {constant.counters[LOCAL]:.0f}\u00a0B of local memory with unrolled loops, "
            f"and {run_time.counters[USED]:.0f} registers and {run_time.counters[LOCAL]:.0f}\u00a0B without unrolling.")


def _accesses(p: Point) -> float:
    """Accesses to the array in shared memory per key, counted."""
    c = p.counters
    requests = c.get("shared_load_requests", 0) + c.get("shared_store_requests", 0)
    return LANES * requests / (p.sizes["n"] * _keys(p))


def _wavefronts(p: Point) -> float | None:
    c = p.counters
    requests = c.get("shared_load_requests", 0) + c.get("shared_store_requests", 0)
    return (c.get("shared_load_wavefronts", 0) + c.get("shared_store_wavefronts", 0)) / requests if requests else None


def _layouts(counted: dict) -> str:
    """The wavefronts of a warp's access to shared memory, by layout."""
    most = max((k[2] for k in counted), default=0)
    waves = {str(p.tunables[LAYOUT]).replace("_", " "): w for (_, _, keys), p in counted.items()
             if keys == most and LAYOUT in p.tunables and (w := _wavefronts(p))}
    groups = defaultdict(list)
    for layout, w in waves.items():
        groups[round(w, 2)].append(layout)
    if len(groups) < 2:
        return ""
    said = [f"{w:g} with layout {' or '.join(names)}" for w, names in sorted(groups.items())]
    return f"Wavefronts per warp access to shared memory: {words.joined(said)} (counted)."


# Figure and table


def _series(timed: list[Point]) -> dict[str, list[Point]]:
    """A line per kernel and layout: by length, at the most keys of each."""
    groups = defaultdict(dict)
    for p in sorted(timed, key=lambda p: p.sizes["n"]):
        groups[_place(p)][_keys(p)] = p
    return {label: [points[k] for k in sorted(points)] for label, points in groups.items()}


def _figure(view: View, timed: list[Point]) -> Figure:
    series = _series(timed)
    points = [p for line in series.values() for p in line]
    roof = view.gpu.dram(points[0].kernel.family)

    def draw(fig) -> None:
        from report.draw import lines, style
        ax = style.axes(fig, 14, 9, 27, 3)
        level = roof.value / (2 * ELEMENT) if roof else 0
        values = [p.value for p in points] + ([level] if level else [])
        lines.draw(ax, [lines.Series(label, [lines.dot(p, _keys(p)) for p in line]) for label, line in list(series.items())[:style.MOST]],
                   "Elements of the array", "Keys sorted", log_y=True, limit=15, unit=points[0].metric.unit,
                   ylim=(min(values) / 1.5, max(values) * 1.6))
        if level:
            factor, _ = numbers.scale(max(p.value for p in points), points[0].metric.unit)
            ax.axhline(level / factor, color=style.GREY, linewidth=0.8, zorder=1)
            ax.annotate(f"by {roof.label}", (0, level / factor), xycoords=("axes fraction", "data"), xytext=(3, 2), textcoords="offset points",
                        size=style.SMALL, color=style.GREY)
    caption = ("Short columns sorted by the same comparisons, one column per thread, by the length of the thread’s array and the place of the array. "
               "Grey: memory’s bound at 8\u00a0B per key. " + words.provenance(view.gpu, points))
    return Figure(f"{view.name}_places", [_row(view.gpu, p, {}) for p in points], draw, caption,
                  "Line plot of the rate by the array's length, for each place of the array.", height=66)


def _row(part: Part | None, p: Point, counted: dict) -> dict:
    low, high = p.interval or (None, None)
    seen = counted.get((p.kernel.name, p.variant, _keys(p)))
    c = p.counters
    return {"kernel": p.kernel.name, "title": p.title, "keys": _keys(p), "n": p.sizes["n"], "registers_per_thread": c.get(USED),
            "local_bytes_per_thread": c.get(LOCAL), "shared_bytes_per_block": c.get("shared_bytes_per_block"),
            "occupancy_theoretical": c.get("occupancy_theoretical"), "accesses_per_key": seen and (_accesses(seen) or None),
            "wavefronts_per_access": seen and _wavefronts(seen), "value": p.value, "low": low, "high": high, **p.sampled, "unit": p.metric.unit,
            "run": part.run.path.name if part else None}


def _table(view: View, timed: list[Point], counted: dict) -> Table:
    part, points = (view.gpu, timed) if timed else (view.counts, list(counted.values()))
    rows = [_row(part, p, counted) for p in sorted(points, key=lambda p: (_keys(p), p.sizes["n"], p.kernel.order, p.variant))]
    measured = (Column("registers_per_thread", "registers", lambda v: f"{v:.0f}"), Column("local_bytes_per_thread", "local", numbers.binary),
                Column("occupancy_theoretical", "occupancy", numbers.occupancy), Column("value", "GKey/s", numbers.significant)) if timed else ()
    return Table(f"{view.name}_points", f"Every place and length: {'registers and local memory per thread by the compiler; ' if measured else ''}accesses to the array "
                 "per key, and wavefronts per warp access, "
                 f"counted{words.counted_at(view.counts, {p.kernel.family for p in counted.values()}, 'n')} in shared memory. "
                 + words.provenance(part, timed, hollow=False), (
                     Column("title", "place", right=False, wide=True), Column("keys", "elements", lambda v: f"{v:.0f}"),
                     Column("accesses_per_key", "accesses", numbers.significant),
                     Column("wavefronts_per_access", "wavefronts", numbers.significant), *measured), rows)
