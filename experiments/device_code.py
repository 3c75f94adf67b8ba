"""The cost of further features of device code: malloc, recursion, launches, and functions that are shared with the host."""

from collections.abc import Sequence

from report.data.view import order
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
    judge,
    numbers,
    ratio,
    times_as_fast,
    whole_machine,
    words,
)

LENGTH, DEPTH, LAYOUT, ROUNDING, LAUNCHES = "length", "depth", "layout", "rounding", "launches"
PIECE = "in_one_piece"
"""The layout of a buffer in which each thread's array is contiguous, as from malloc."""
REQUESTS = {"load_requests": "load", "store_requests": "store", "atomic_requests": "atomic"}
WAYS = {"fused": "same_as_fused", "separate": "same_as_separate"}
"""Rounding of products and sums → the judge's name for the share of results with the same bits."""


def section(view: View) -> Section | None:
    s = view.settings
    arrays, trees = ({part.side: _timed(part, s[key]) for part in view.timed_parts} for key in ("arrays", "trees"))
    shared, steps = ([p for part in view.timed_parts for p in _timed(part, s[key])] for key in ("shared", "steps"))
    counts = [p for p in (view.counts.points if view.counts else ()) if p.is_counted]
    of_arrays, of_trees, of_steps = _array_ratios(view, arrays), _tree_ratios(view, trees), _step_ratios(view, steps)
    texts = [*_array_text(view, arrays.get("gpu", []), of_arrays), *_heap_requests(view, counts), *_cpu_array_text(arrays.get("cpu", []), next(iter(_largest(arrays.get("gpu", []), LENGTH)), None)),
             *_tree_text(view, trees, of_trees), *_step_text(view, steps, of_steps), *_shared_text(shared)] or _counted_text(view, counts)
    if not texts:
        return None
    return Section(words.paragraphs(texts), figures=[*_array_figure(view, arrays), *_tree_figure(view, trees)],
                   tables=_shared_table(view, shared), appendix=[*_table(view, "arrays", LENGTH, arrays, of_arrays), *_table(view, "trees", DEPTH, trees, of_trees),
                             *_step_table(view, steps, of_steps), *_count_table(view, counts), _limits()])


# Points and ratios


def _timed(part: Part, family: str) -> list[Point]:
    return [p for p in whole_machine(part.timed(family)) if p.value and p.n]


def _at(points: Sequence[Point], like: Point) -> list[Point]:
    return [p for p in points if p.size_key == like.size_key]


def _each(p: Point) -> float:
    """Seconds per item."""
    return p.summary.median / p.n


def _named(points: Sequence[Point], kernel: str, layout: str | None = None) -> list[Point]:
    """By the full name or its last part, the smallest size first."""
    found = [p for p in points if (p.kernel.name == kernel or p.kernel.name.endswith(f"/{kernel}")) and layout in (None, p.tunables.get(LAYOUT))]
    return sorted(found, key=lambda p: (p.n, *map(str, p.size_key), *p.sizes.values()))


def _array_ratios(view: View, arrays: dict[str, list[Point]]) -> dict[str, Ratio]:
    """Speeds on the GPU relative to the host's buffer, judged together: of malloc by each thread relative to the layout with each
    array in one piece, of all others relative to the interleaved layout."""
    points, s = arrays.get("gpu", []), view.settings
    found = {}
    for p in points:
        base = [q for q in _at(points, p) if q.kernel.name == s["buffer"] and (q.tunables.get(LAYOUT) == PIECE) == (p.kernel.name == s["by_thread"])]
        if base and base[0] is not p:
            found[p.name] = ratio(p, base[0])
    return judge(found)


def _tree_ratios(view: View, trees: dict[str, list[Point]]) -> dict[str, Ratio]:
    """The speed of every other traversal relative to the recursive one on the same side."""
    found = {}
    for points in trees.values():
        for p in points:
            base = _named(_at(points, p), view.settings["recursion"])
            if base and base[0] is not p:
                found[p.name] = ratio(p, base[0])
    return judge(found)


def _step_ratios(view: View, steps: list[Point]) -> dict[str, Ratio]:
    """The speed of all others on the GPU relative to launches by the host."""
    gpu, found = [p for p in steps if p.kernel.side == "gpu"], {}
    for p in gpu:
        base = _named(_at(gpu, p), view.settings["by_host"])
        if base and base[0] is not p:
            found[p.name] = ratio(p, base[0])
    return judge(found)


def _size(p: Point, key: str) -> float:
    return p.sizes.get(key, 0)


def _largest(points: Sequence[Point], key: str) -> list[Point]:
    """The points with the most items, and the largest arrays or trees at that number."""
    best = max(((p.n, _size(p, key)) for p in points), default=None)
    return [p for p in points if (p.n, _size(p, key)) == best]


# Words


def _array_text(view: View, points: list[Point], ratios: dict[str, Ratio]) -> list[str]:
    s, here = view.settings, _largest(points, LENGTH)
    base = [p for p in _named(here, s["buffer"]) if p.tunables.get(LAYOUT) != PIECE]
    if not base:
        return []
    told = []
    piece, thread, block = _named(here, s["buffer"], PIECE), _named(here, s["by_thread"]), _named(here, s["by_block"])
    if piece and piece[0].name in ratios:
        told.append(f"each array in one piece takes {words.longer(ratios[piece[0].name], 'that')}")
    if thread and thread[0].name in ratios:
        told.append(f"malloc by each thread takes {words.longer(ratios[thread[0].name], 'an array in one piece')}" if piece else "")
    if block and block[0].name in ratios:
        told.append(f"malloc once per block takes {words.longer(ratios[block[0].name], 'interleaved words')}")
    told = [x for x in told if x]
    text = (f"On the GPU an array of {_size(base[0], LENGTH):.0f} words for each of {numbers.grouped(base[0].n)} items costs {numbers.seconds(_each(base[0]))} per "
            "item in a buffer that the host has allocated, with the words of neighbouring threads interleaved")
    return [f"{text}; {words.joined(told)}." if told else f"{text}."]


def _cpu_array_text(points: list[Point], gpu: Point | None) -> list[str]:
    """At the length in the GPU’s sentence, if the CPU was measured there."""
    here = [p for p in points if gpu and p.n == gpu.n and _size(p, LENGTH) == _size(gpu, LENGTH)] or _largest(points, LENGTH)
    heap = [p for p in here if "malloc" in p.kernel.name]
    local = [p for p in here if "malloc" not in p.kernel.name]
    if not heap or not local:
        return []
    return [f"On the CPU, with arrays of {words.counted(int(_size(heap[0], LENGTH)), 'word')}, malloc for each of {numbers.grouped(heap[0].n)} items takes "
            f"{numbers.times(times_as_fast(local[0], heap[0]))} as long as an array on the stack."]


def _tree_text(view: View, trees: dict[str, list[Point]], ratios: dict[str, Ratio]) -> list[str]:
    texts = []
    for side, points in sorted(trees.items(), reverse=True):  # the GPU first
        deepest = max((_size(p, DEPTH) for p in points), default=0)
        here = [p for p in points if _size(p, DEPTH) == deepest]
        base = _named(here, view.settings["recursion"])
        others = [p for p in sorted(here, key=order) if p.name in ratios]
        if base and others:
            each = [words.speed(ratios[p.name], "recursion") if not i else f"{numbers.times(ratios[p.name].value)}" for i, p in enumerate(others)]
            told = [f"a {p.kernel.title} is {text}" for p, text in zip(others, each)]
            texts.append(f"On the {side.upper()}, over trees of depth {deepest:.0f}, {words.joined(told)}.")
    return texts


def _from_kernel(p: Point, view: View) -> bool:
    """Whether the steps are launched on the device: neither by the host nor all in one launch."""
    host = view.settings["by_host"]
    return p.kernel.side == "gpu" and p.kernel.name != host and not p.kernel.name.endswith("/loop")


def _step_text(view: View, steps: list[Point], ratios: dict[str, Ratio]) -> list[str]:
    """The time of a launch by its launcher, at the smallest size and the largest number of steps."""
    base = _named([p for p in steps if p.kernel.side == "gpu"], view.settings["by_host"])
    if not base:
        return []
    here = max(base, key=lambda p: (-p.n, _size(p, LAUNCHES)))
    others = [p for p in sorted(_at(steps, here), key=order) if p.name in ratios and _from_kernel(p, view)]
    told = [f"{numbers.seconds(_step(p))} {p.kernel.title} ({words.longer(ratios[p.name], 'that')})" for p in others]
    return [f"Each of {_size(here, LAUNCHES):.0f} small steps takes {words.joined([f'{numbers.seconds(_step(here))} if launched {here.kernel.title}', *told])}."]


def _step(p: Point) -> float:
    """Seconds per step."""
    return p.summary.median / _size(p, LAUNCHES)


def _shared_text(points: list[Point]) -> list[str]:
    """The roundings that give the same bits on both sides, and the compilers' choice."""
    by_way: dict[str, dict[str, Point]] = {}
    for p in points:
        by_way.setdefault(str(p.tunables.get(ROUNDING)), {})[p.kernel.side] = p
    same = [way for way, key in WAYS.items() if len(by_way.get(way, {})) == 2 and all(p.judged.get(key) == 1 for p in by_way[way].values())]
    texts = []
    if same:
        texts.append(f"The function that both sides share gives the same bits on both where the source specifies the rounding ({words.joined(same)})")
    free = by_way.get("contracted", {})
    told = []
    for side, p in sorted(free.items(), reverse=True):
        shares = {way: p.judged[key] for way, key in WAYS.items() if key in p.judged}
        best = max(shares, key=shares.get, default=None)
        if best:
            told.append(f"the {side.upper()}’s compiler gives {numbers.percent(shares[best])} of the results the bits of {best} roundings")
    if told:
        texts.append(f"where the compilers choose, {words.joined(told)}")
    other = [p.judged.get(WAYS["fused"]) for p in points if p.tunables.get(ROUNDING) == "separate" and WAYS["fused"] in p.judged]
    if other:
        texts.append(f"separate and fused roundings agree in {numbers.percent(other[0])} of the results")
    return [words.sentence("; ".join(texts))] if texts else []


def _counted_text(view: View, counts: list[Point]) -> list[str]:
    return [f"The emulator executed {words.counted(len({p.kernel.name for p in counts}), 'kernel')}, malloc among them; none was timed."] if counts else []


def _heap_requests(view: View, counts: list[Point]) -> list[str]:
    """The memory requests of malloc and free: the hardware's counts minus the kernel's own requests, which the emulator counts."""
    for p in _named(counts, view.settings["by_thread"]):
        hardware, own = view.counts.counters_of(p), p.counters
        if p.n and REQUESTS.keys() <= hardware.keys() and REQUESTS.keys() <= own.keys():
            each = [f"{(hardware[key] - own[key]) / p.n:.3g} {name}" for key, name in REQUESTS.items()]
            return [f"One malloc and its free make {words.joined(each)} requests to global memory on average: the hardware’s counts "
                    "minus the kernel’s own requests, which the emulator counts."]
    return []


def _limits() -> str:
    return ("Limits: malloc in a kernel allocates from a heap of 8 MiB, unless cudaDeviceSetLimit(cudaLimitMallocHeapSize) enlarges it before the "
            "first kernel that uses it; here it has 1 GiB. A thread’s stack, which recursion and calls that are not inlined use, has 1 KiB "
            "unless cudaLimitStackSize sets another size; here it has 8 KiB. Where the heap is full, malloc returns a null pointer; where the stack "
            "overflows, the kernel fails. Up to 2048 launches by kernels may be pending (cudaLimitDevRuntimePendingLaunchCount). A kernel that launches "
            "kernels is compiled to relocatable device code and linked with the device’s runtime library; the other kernels are not.")


# Figures and tables


def _label(p: Point) -> str:
    layout = p.tunables.get(LAYOUT)
    return p.kernel.title + (f", {str(layout).replace('_', ' ')}" if layout else "")


def _series(points: list[Point], key: str) -> dict[str, list[Point]]:
    """By label, one point per length or depth: the one with the most items."""
    found: dict[str, list[Point]] = {}
    most: dict[tuple, Point] = {}
    for p in points:
        place = (_label(p), _size(p, key))
        most[place] = max(most.get(place, p), p, key=lambda q: q.n)
    for p in sorted(most.values(), key=lambda p: (order(p)[0], _label(p), _size(p, key))):
        found.setdefault(_label(p), []).append(p)
    return found


def _row(p: Point, key: str, ratios: dict[str, Ratio]) -> dict:
    s, r = p.summary, ratios.get(p.name)
    return {"side": p.kernel.side, "kernel": p.kernel.name, "title": _label(p), "n": p.n, key: _size(p, key), "seconds": s.median,
            "seconds_each": _each(p), "low": s.low / p.n if s.has_interval else None, "high": s.high / p.n if s.has_interval else None,
            "ratio": r.value if r else None, "verdict": r.verdict if r else None, "registers": p.counters.get("registers_per_thread"),
            "local_bytes": p.counters.get("local_bytes_per_thread"), **p.sampled}


def _lines(view: View, name: str, key: str, by_side: dict[str, list[Point]], label: str, caption: str) -> list[Figure]:
    named = {(side, title): points for side, some in by_side.items() for title, points in _series(some, key).items()}
    if not named:
        return []
    mixed = len({side for side, _ in named}) > 1

    def draw(fig) -> None:
        from report.draw import lines, style
        def dot(p: Point):
            s = p.summary
            ends = (s.low / p.n, s.high / p.n) if s.has_interval else (None, None)
            return lines.Dot(_size(p, key), _each(p), *ends, hollow=not p.settled)
        made = [lines.Series(f"{side.upper()}: {title}" if mixed else title, [dot(p) for p in points]) for (side, title), points in named.items()]
        ax = style.axes(fig, 15, 9, 28, 2)
        places = sorted({_size(p, key) for points in named.values() for p in points})
        lines.draw(ax, made[:style.MOST], label, "Time per item", log_y=True, log_x=key == LENGTH, limit=19, unit="s",
                   **({} if key == LENGTH else {"xlim": (0, 1.05 * places[-1])}))
        if key != LENGTH:
            style.plain_ticks(ax.xaxis, places)
    stories = [words.provenance(part, by_side[part.side]) for part in view.timed_parts if by_side.get(part.side)]
    return [Figure(f"{view.name}_{name}", [_row(p, key, {}) for some in by_side.values() for p in some], draw, captions.of_sides(caption, stories),
                   f"Line plot of the time per item for {words.listed([title for _, title in named])}.", height=70, half=True)]


def _array_figure(view: View, arrays: dict[str, list[Point]]) -> list[Figure]:
    shown = {"gpu": arrays["gpu"]} if arrays.get("gpu") else arrays
    return _lines(view, "arrays", LENGTH, {k: v for k, v in shown.items() if v}, "Words of an array",
                  "Time per item that needs a private array, by the length and the origin of the array. Shorter is better.")


def _tree_figure(view: View, trees: dict[str, list[Point]]) -> list[Figure]:
    return _lines(view, "trees", DEPTH, {k: v for k, v in trees.items() if v}, "Depth",
                  "Time per tree traversal, by the depth of the tree. Shorter is better.")


def _table(view: View, name: str, key: str, by_side: dict[str, list[Point]], ratios: dict[str, Ratio]) -> list[Table]:
    points = [p for side in ("gpu", "cpu") for p in sorted(by_side.get(side, []), key=lambda p: (p.n, _size(p, key), order(p)))]
    if not points:
        return []
    note = {"arrays": "Speed: on the GPU, relative to the host’s interleaved buffer; of malloc by each thread, relative to the buffer in one piece.",
            "trees": "Speed: relative to recursion on the same side."}[name]
    columns = (Column("side", "side", str.upper, right=False), Column("title", "kernel", right=False, wide=True), Column("n", "items", numbers.grouped),
               Column(key, key, lambda v: f"{v:.0f}"), Column("seconds_each", "per item", numbers.seconds), Column("ratio", "speed", numbers.times),
               Column("registers", "registers", lambda v: f"{v:.0f}"), Column("local_bytes", "local B", lambda v: f"{v:.0f}"))
    rows = [_row(p, key, ratios) for p in points]
    stories = [words.provenance(part, by_side[part.side], hollow=False) for part in view.timed_parts if by_side.get(part.side)]
    text = f"Every point. {note} Local B: local memory per thread as the compiler reports it, without the stack of recursive calls."
    return [Table(f"{view.name}_{name}_points", captions.of_sides(text, stories), [c for c in columns if any(r.get(c.key) is not None for r in rows)], rows)]


def _step_table(view: View, steps: list[Point], ratios: dict[str, Ratio]) -> list[Table]:
    if not steps:
        return []
    points = sorted(steps, key=lambda p: (p.kernel.side != "gpu", p.n, _size(p, LAUNCHES), order(p)))
    rows = [{"side": p.kernel.side, "kernel": p.kernel.name, "title": p.kernel.title, "n": p.n, LAUNCHES: _size(p, LAUNCHES), "seconds": p.summary.median,
             "step": _step(p), "ratio": ratios[p.name].value if p.name in ratios else None,
             "verdict": ratios[p.name].verdict if p.name in ratios else None} for p in points]
    stories = [words.provenance(part, mine, hollow=False) for part in view.timed_parts if (mine := [p for p in points if p.kernel.side == part.side])]
    text = "Small successive steps, by their launcher. Speed: relative to launches by the host."
    return [Table(f"{view.name}_launches", captions.of_sides(text, stories), (
                      Column("side", "side", str.upper, right=False), Column("title", "launched", right=False, wide=True), Column("n", "elements", numbers.grouped),
                      Column(LAUNCHES, "steps", lambda v: f"{v:.0f}"), Column("step", "per step", numbers.seconds), Column("ratio", "speed", numbers.times)), rows)]


def _shared_table(view: View, points: list[Point]) -> list[Table]:
    if not points:
        return []
    rows = [{"side": p.kernel.side, ROUNDING: p.tunables.get(ROUNDING), "n": p.n, "gbytes_per_s": p.gbytes, "same_as_fused": p.judged.get("same_as_fused"),
             "same_as_separate": p.judged.get("same_as_separate"), "max_ulp": p.judged.get("max_ulp")}
            for p in sorted(points, key=lambda p: (p.kernel.side != "gpu", order(p)))]
    columns = (Column("side", "side", str.upper, right=False), Column(ROUNDING, "roundings", right=False), Column("gbytes_per_s", "bandwidth", numbers.bandwidth),
               Column("same_as_fused", "bits of fused", _share), Column("same_as_separate", "bits of separate", _share),
               Column("max_ulp", "largest error [ULP]", numbers.significant))
    stories = [words.provenance(part, mine, hollow=False) for part in view.timed_parts if (mine := [p for p in points if p.kernel.side == part.side])]
    text = ("A polynomial with one definition for both sides; a product and a sum are rounded as the compiler chooses (contracted), once "
            "(fused) or each (separate). Bits of: the share of results that are bitwise equal to fused and to separate roundings "
            "as the host’s C library computes them.")
    return [Table(f"{view.name}_shared", captions.of_sides(text, stories), columns, rows)]


def _share(value: float) -> str:
    return "all" if value == 1 else numbers.percent(value)


def _count_table(view: View, counts: list[Point]) -> list[Table]:
    points = [p for p in counts if p.kernel.family == view.settings["arrays"] and p.counters.get("load_requests")]
    if not points:
        return []
    rows = [{"title": _label(p), "kernel": p.kernel.name, "loaded": p.counters.get("bytes_executed_loaded"),
             "load": p.counters["load_sectors"] / p.counters["load_requests"] if p.counters.get("load_sectors") else None,
             "store": p.counters["store_sectors"] / p.counters["store_requests"] if p.counters.get("store_requests") and p.counters.get("store_sectors") else None}
            for p in sorted(points, key=order)]
    return [Table(f"{view.name}_counts", f"Counted by the emulator at {points[0].size_text}: bytes loaded from global memory, and sectors per request. Local memory "
                  "is not counted.", (Column("title", "kernel", right=False, wide=True), Column("loaded", "loaded", numbers.volume),
                                      Column("load", "sectors per load", numbers.significant), Column("store", "per store", numbers.significant)), rows)]
