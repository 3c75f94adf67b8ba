"""Divergence: the rate of a branch by the threads that take each path and by the length of the paths, and the textbook's function with
two branches on both sides, by the order of its arguments."""

from report.experiment import Column, Figure, Part, Point, Section, Table, View, captions, numbers, times_as_fast, words

WARP = 32
ALIKE = 0.95
"""Two rates count as equal if the lower one is at least this share of the higher one."""
LANES, WARPS, BLOCKS = 1, 32, 256
"""Numbers of neighbours on the same path."""
PLACES = {LANES: "lanes differ", WARPS: "warps differ", BLOCKS: "blocks differ"}
DATA = ("sorted", "runs", "alternating", "random")


def section(view: View) -> Section | None:
    branches, counted = _branches(view), _counted(view)
    function = {part.side: points for part in (view.gpu, view.cpu) if part and (points := _function(view, part))}
    if not branches and not counted and not function:
        return None
    finding = [*_parting(view, branches, counted), *_short(branches), *_pointer(branches), *_textbook(view, function)]
    figures = [*_places(view, branches, counted), *_bodies(view, branches), *_shares(view, function), *_order_figure(view, function)]
    return Section(words.paragraphs(finding) or "Nothing was timed.", figures=figures, tables=_orders(view, function), appendix=[*_ways_table(view, branches, counted), *_machine_code(view, branches)])


# Data


def _kind(p: Point) -> str:
    return p.kernel.name.rsplit("/", 1)[-1]


def _branches(view: View) -> dict[tuple, Point]:
    """(kernel, steps per path, neighbours on the same path, groups of 32 on the first path) → point, at the largest size."""
    points = [p for p in view.gpu.timed(view.settings["branches"]) if {"n", "body", "group", "taken"} <= p.sizes.keys()] if view.gpu else []
    most = max((p.sizes["n"] for p in points), default=0)
    return {(_kind(p), p.sizes["body"], p.sizes["group"], p.sizes["taken"]): p for p in points if p.sizes["n"] == most and p.value}


def _counted(view: View) -> dict[tuple, float]:
    """(neighbours on the same path, groups of 32 on the first path) → mean number of paths that a warp executes per round."""
    found = {}
    for p in view.counts.points if view.counts else ():
        if p.is_counted and p.kernel.family == view.settings["branches"] and _kind(p) == "if_else" and p.counters.get("constant_requests"):
            warps = -(-p.sizes["n"] // WARP)
            found[p.sizes["group"], p.sizes["taken"]] = p.counters["constant_requests"] / (warps * p.sizes["rounds"])
    return found


def _counted_at(view: View, which: str) -> str:
    """' at N = 8192, 4 rounds and 16 steps', which are smaller than the timed sizes."""
    return words.counted_at(view.counts, [view.settings[which]], "n", "rounds", "body").replace(" body", " steps")


def _function(view: View, part: Part) -> list[Point]:
    return [p for p in part.timed(view.settings["function"]) if p.value and "n" in p.sizes]


def _ways_by_order(view: View) -> str:
    """A sentence: the number of the function's two paths that a warp executes, by the order of the signs."""
    found = {p.data or "random": p.counters["constant_requests"] / -(-p.sizes["n"] // WARP) for p in (view.counts.points if view.counts else ())
             if p.is_counted and p.kernel.family == view.settings["function"] and p.counters.get("constant_requests")}
    told = words.joined([f"{numbers.short(found[data])} ({data})" for data in DATA if data in found])
    return f" Number of paths that a warp executes, counted{words.counted_at(view.counts, [view.settings['function']], 'n')}: {told}." if told else ""


def _main_body(branches: dict) -> float | None:
    """The steps per path at which most patterns were measured."""
    bodies = [body for kind, body, *_ in branches if kind == "if_else"]
    return max(set(bodies), key=lambda b: (bodies.count(b), b), default=None)


def _half(branches: dict, kind: str, body: float | None, group: float) -> Point | None:
    """The point at which half of the groups take the first path."""
    return branches.get((kind, body, group, 16))


def _passes(p: Point) -> float:
    return p.sizes.get("passes", 1)


def _negative(p: Point) -> float:
    return p.sizes.get("negative", 50)


def _of_a_bench(points: list[Point]) -> dict[tuple, dict[str, Point]]:
    """(kernel, n, passes, threads), with half of the elements negative → data set → the fastest variant."""
    found: dict[tuple, dict[str, Point]] = {}
    for p in points:
        if _negative(p) == 50:
            some = found.setdefault((p.kernel.name, p.sizes["n"], _passes(p), p.threads), {})
            some[p.data or "random"] = max((p, some.get(p.data or "random", p)), key=lambda q: q.value)
    return found


# Words


def _parting(view: View, branches: dict, counted: dict) -> list[str]:
    """Different paths for neighbouring lanes, compared with different paths for warps or blocks."""
    body = _main_body(branches)
    lanes, blocks = _half(branches, "if_else", body, LANES), _half(branches, "if_else", body, BLOCKS)
    ways = counted.get((LANES, 16)), counted.get((BLOCKS, 16))
    told = f" (a warp executes {numbers.short(ways[0])} paths against {numbers.short(ways[1])}, counted{_counted_at(view, 'branches')})" if all(ways) else ""
    if not lanes or not blocks:
        return [f"Nothing was timed on a GPU. By the emulator’s count, a warp executes {numbers.short(ways[0])} paths of a branch where its lanes differ, "
                f"and {numbers.short(ways[1])} where blocks differ."] if all(ways) else []
    text = (f"With {words.counted(int(body), 'step')} per path, a branch runs at {numbers.rate(blocks)} where blocks take different paths and at "
            f"{numbers.rate(lanes)} where neighbouring lanes do, {numbers.significant(blocks.value / lanes.value)} times slower{told}")
    warps = _half(branches, "if_else", body, WARPS)
    text += f"; where warps do, it runs at {numbers.percent(warps.value / blocks.value)} of the rate of blocks" if warps else ""
    return [f"{text}."]


def _short(branches: dict) -> list[str]:
    """The longest path at which the pattern makes no difference."""
    pairs = {body: (a, b) for kind, body, group, taken in sorted(branches) if kind == "if_else" and group == LANES and taken == 16
             if (a := branches[kind, body, group, taken]) and (b := _half(branches, "if_else", body, BLOCKS))}
    alike = [body for body, (lanes, blocks) in pairs.items() if lanes.value >= ALIKE * blocks.value]
    alike = [body for body in alike if all(b in alike for b in pairs if b <= body)]
    if len(pairs) < 2:
        return []
    if not alike:
        return ["The pattern makes a difference at every measured length of the paths."]
    text = f"With {words.counted(int(alike[-1]), 'step')}{' or fewer' if len(alike) > 1 else ''} per path the pattern makes no difference"
    both, select = (_half(branches, kind, alike[-1], LANES) for kind in ("both", "select"))
    lanes = pairs[alike[-1]][0]
    if both and select:
        text += (f": with {words.counted(int(alike[-1]), 'step')} the branch runs at {numbers.percent(times_as_fast(lanes, both))} of the rate of a kernel that computes both "
                 f"paths, and at {numbers.percent(times_as_fast(lanes, select))} of the rate of a kernel without a branch")
    return [f"{text}."]


def _pointer(branches: dict) -> list[str]:
    """Paths as functions that are called by pointer, where lanes differ and where blocks differ."""
    body = _main_body(branches)
    pairs = [(_half(branches, "pointer", body, group), _half(branches, "if_else", body, group)) for group in (BLOCKS, LANES)]
    if not all(p for pair in pairs for p in pair):
        return []
    blocks, lanes = (numbers.percent(times_as_fast(pointer, branch)) for pointer, branch in pairs)
    text = f"Called by pointer, the paths run at {blocks} of the branch’s rate where blocks differ, and at {lanes} where lanes differ"
    least = min(steps for kind, steps, group, taken in branches if kind == "pointer" and group == BLOCKS and taken == 16)
    short, branch = _half(branches, "pointer", least, BLOCKS), _half(branches, "if_else", least, BLOCKS)
    if branch and least < body:
        text += f"; with {words.counted(int(least), 'step')} per path, at {numbers.percent(times_as_fast(short, branch))} where blocks differ"
    return [f"{text}."]


def _textbook(view: View, function: dict[str, list[Point]]) -> list[str]:
    """Sorted against random arguments: on the GPU limited by memory and by arithmetic, and on one thread of the CPU."""
    said = []
    for side, points in function.items():
        pairs = {key: (some["random"], some["sorted"]) for key, some in _of_a_bench(points).items() if {"random", "sorted"} <= some.keys()}
        pairs = {key: pair for key, pair in pairs.items() if _kind(pair[0]) in ("if_else", "branch")}
        if side == "cpu":
            few = min((threads for *_, threads in pairs), default=None)
            pairs = {key: pair for key, pair in pairs.items() if key[3] == few}
        for most in sorted({key[2] for key in pairs}):
            key = max((k for k in pairs if k[2] == most), key=lambda k: k[1])
            random, ordered = pairs[key]
            where = (f"on {words.counted(int(key[3]), 'thread')} of the CPU" if side == "cpu" else
                     "on the GPU, evaluated once," if most == 1 else f"on the GPU, evaluated {numbers.grouped(most)} times,")
            gain = ordered.value / random.value
            said.append(f"{where} sorting makes no difference" if ALIKE <= gain <= 1 / ALIKE else
                        f"{where} sorted arguments are {numbers.times(gain)} as fast as random ones")
    return [f"The textbook’s function of two branches: {'; '.join(said)}."] if said else []


# Figures


def _row(p: Point) -> dict:
    low, high = p.interval or (None, None)
    return {"kernel": p.kernel.name, **p.sizes, "data": p.data, "threads": p.threads, "value": p.value, "low": low, "high": high,
            **p.sampled, "unit": p.metric.unit}


def _places(view: View, branches: dict, counted: dict) -> list[Figure]:
    """Rate by the share on the first path, for lanes, warps and blocks; where nothing was timed, the paths that a warp executes."""
    body = _main_body(branches)
    timed = {group: sorted((taken, p) for (kind, b, g, taken), p in branches.items() if (kind, b, g) == ("if_else", body, group))
             for group in PLACES}
    timed = {group: dots for group, dots in timed.items() if dots}
    if not timed:
        return _ways_figure(view, counted)
    points = [p for dots in timed.values() for _, p in dots]
    roof = view.gpu.roofs.peak("fp32")

    def draw(fig) -> None:
        from report.draw import lines, style
        ax = style.axes(fig, 16, 9, 18, 2)
        series = [lines.Series(PLACES[group], [lines.dot(p, 100 * taken / 32) for taken, p in dots]) for group, dots in timed.items()]
        top = max([p.value for p in points] + ([roof.value] if roof else []))
        unit = points[0].metric.unit
        factor, _ = numbers.scale(max(p.value for p in points), unit)
        lines.draw(ax, series, "Groups on the first path [%]", "Performance", log_x=False, limit=12, unit=unit, xlim=(-4, 104),
                   ylim=(0, 1.12 * top / factor))
        if roof:
            ax.axhline(roof.value / factor, color=style.GREY, linewidth=0.8, zorder=1)
            ax.annotate(f"FP32 roof, {numbers.flops(roof.value)}", (-4, roof.value / factor), xytext=(3, 2.5), textcoords="offset points",
                        size=style.SMALL, color=style.GREY)
    caption = (f"A branch with {body:g} dependent multiply-adds on each path, by the share of groups that take the first path; a group is "
               f"one lane, one warp or one block. " + words.provenance(view.gpu, points))
    return [Figure(f"{view.name}_places", [_row(p) for p in points], draw, caption,
                   "Line plot: the rate is halved as soon as one lane of a warp takes another path, no matter how many do; with "
                   "warps or blocks it stays constant.", height=62, half=True)]


def _ways_figure(view: View, counted: dict) -> list[Figure]:
    dots = sorted((group, ways) for (group, taken), ways in counted.items() if taken == 16)
    if not dots:
        return []

    def draw(fig) -> None:
        from report.draw import lines, style
        ax = style.axes(fig, 12, 9, 14, 2)
        lines.draw(ax, [lines.Series("counted", [lines.Dot(x, y) for x, y in dots], joined=False)], "Neighbours on the same path",
                   "Paths that a warp executes", limit=9, ylim=(0, 2.3))
        style.plain_ticks(ax.yaxis, [0, 1, 2])
    caption = (f"Paths of a branch that a warp executes, by the number of neighbouring threads on the same path, counted; nothing was timed. "
               f"{words.sentence(view.counts.label)}")
    return [Figure(f"{view.name}_ways", [{"group": x, "ways": y} for x, y in dots], draw, caption,
                   "Dot plot: two paths up to 16 neighbours, one from 32 on.", height=50, half=True)]


def _bodies(view: View, branches: dict) -> list[Figure]:
    """Rate by the steps per path."""
    shown = {"branch, lanes differ": ("if_else", LANES), "branch, blocks differ": ("if_else", BLOCKS), "both paths": ("both", LANES),
             "no branch": ("select", LANES), "pointer, blocks differ": ("pointer", BLOCKS)}
    lines_ = {name: sorted((body, p) for (k, body, g, taken), p in branches.items() if (k, g, taken) == (kind, group, 16))
              for name, (kind, group) in shown.items()}
    lines_ = {name: dots for name, dots in lines_.items() if len(dots) > 1}
    if not lines_:
        return []
    points = [p for dots in lines_.values() for _, p in dots]

    def draw(fig) -> None:
        from report.draw import lines, style
        ax = style.axes(fig, 16, 9, 22, 2)
        lines.draw(ax, [lines.Series(name, [lines.dot(p, body) for body, p in dots]) for name, dots in lines_.items()],
                   "Steps per path", "Performance", limit=13, unit=points[0].metric.unit)
    caption = ("The same total number of steps, by the steps per path; every other lane, or block, takes the other path. "
               "Short paths become predicated instructions, which all lanes issue and some complete. " + words.provenance(view.gpu, points))
    return [Figure(f"{view.name}_bodies", [_row(p) for p in points], draw, caption,
                   "Line plot of the rate by the steps per path, for a branch on lanes and on blocks, both paths, no branch and calls by pointer.",
                   height=62, half=True)]


def _shares(view: View, function: dict[str, list[Point]]) -> list[Figure]:
    """The function by the share of negative elements, in sorted and in random order."""
    points = function.get("gpu", [])
    most = max(map(_passes, points), default=0)
    lines_: dict[str, list] = {}
    for p in points:
        if _passes(p) == most and p.data in ("", "random", "sorted") and (_kind(p) == "if_else" or p.data != "sorted"):
            name = f"branch, {p.data or 'random'}" if _kind(p) == "if_else" else p.kernel.title
            lines_.setdefault(name, []).append((_negative(p), p))
    sizes = {p.sizes["n"] for dots in lines_.values() for _, p in dots}
    lines_ = {name: dots for name, some in lines_.items() if len(dots := sorted((x, p) for x, p in some if p.sizes["n"] == min(sizes))) > 1}
    if not lines_:
        return []
    shown = [p for dots in lines_.values() for _, p in dots]

    def draw(fig) -> None:
        from report.draw import lines, style
        ax = style.axes(fig, 16, 9, 22, 2)
        lines.draw(ax, [lines.Series(name, [lines.dot(p, x) for x, p in dots]) for name, dots in lines_.items()], "Negative elements [%]",
                   "Rate", log_x=False, log_y=True, limit=13, unit=shown[0].metric.unit, xlim=(-4, 104))
    times = f", each evaluated {numbers.grouped(most)} times" if most > 1 else ""
    caption = (f"f(a, b) = 2a where a is negative, else sin a + b, by the share of negative elements; {numbers.grouped(min(sizes))} elements{times}. "
               f"In sorted order a warp of negative elements skips the sine. " + words.provenance(view.gpu, shown))
    return [Figure(f"{view.name}_shares", [_row(p) for p in shown], draw, caption,
                   "Line plot of the rate by the share of negative elements: in sorted order it increases steadily, in random order only close to 100 %.",
                   height=62, half=True)]


def _order_figure(view: View, function: dict[str, list[Point]]) -> list[Figure]:
    """Each kernel's rate relative to sorted arguments, by the order of the signs."""
    from report.draw import style
    lines_ = {}
    for side, points in function.items():
        benches = {key: some for key, some in _of_a_bench(points).items() if "sorted" in some and len(some) > 1}
        largest = {(name, passes, threads): max(n for k, n, p, t in benches if (k, p, t) == (name, passes, threads))
                   for name, _, passes, threads in benches}
        for (name, n, passes, threads), some in sorted(benches.items(), key=lambda x: (next(iter(x[1].values())).kernel.order, x[0][1:])):
            if largest[name, passes, threads] == n:
                how = words.counted(int(threads), "thread") if side == "cpu" else f"{passes:g}\u00a0times" if passes > 1 else "once"
                lines_[f"{side.upper()} {some['sorted'].kernel.title}, {how}"] = some
    lines_ = dict(sorted(lines_.items(), key=lambda x: min(p.value for p in x[1].values()) / x[1]["sorted"].value)[:style.MOST])
    sets = [data for data in DATA if any(data in some for some in lines_.values())]
    if not lines_:
        return []
    shown = [p for some in lines_.values() for p in some.values()]

    def draw(fig) -> None:
        from report.draw import lines
        ax = style.axes(fig, 13, 13.5, 29, 2)
        series = [lines.Series(name, [lines.Dot(sets.index(data) + 0.08 * (i - (len(lines_) - 1) / 2), p.value / some["sorted"].value)
                                      for data, p in some.items()], joined=False) for i, (name, some) in enumerate(lines_.items())]
        lines.draw(ax, series, "Order of the signs", "Rate relative to sorted", log_x=False, limit=18, xlim=(-0.5, len(sets) - 0.5),
                   ylim=(0, 1.3 * max(d.y for s in series for d in s.dots)))
        style.plain_ticks(ax.xaxis, list(range(len(sets))))
        ax.set_xticks(range(len(sets)), [data.replace("alternating", "alter-\nnating") for data in sets])
    rows = [_row(p) | {"over_sorted": p.value / some["sorted"].value} for some in lines_.values() for p in some.values()]
    stories = [f"{part.side.upper()}: " + words.provenance(part, [p for p in shown if p.kernel.side == part.side], hollow=False)
               for part in view.timed_parts if any(p.kernel.side == part.side for p in shown)]
    return [Figure(f"{view.name}_orders", rows, draw, captions.of_sides(
                       "The same function with half of the elements negative, by their order: each "
                       "kernel’s rate relative to sorted elements, at its largest size.", stories),
                   "Dot plot of relative rates by the order of the signs, for the kernels of both sides.", height=62, half=True)]


# Tables


def _orders(view: View, function: dict[str, list[Point]]) -> list[Table]:
    """Each kernel on each order of the signs."""
    rows, stories = [], []
    for side, points in function.items():
        part = view.gpu if side == "gpu" else view.cpu
        benches = _of_a_bench(points)
        for (_, n, passes, threads), some in sorted(benches.items(), key=lambda x: (next(iter(x[1].values())).kernel.order, x[0][1:])):
            p = next(iter(some.values()))
            rows.append({"side": side.upper(), "title": p.kernel.title, "kernel": p.kernel.name, "n": n, "passes": passes,
                         "threads": threads if side == "cpu" else None, "unit": p.metric.unit}
                        | {data: q.value for data, q in some.items()} | {f"{data} GB/s": q.gbytes for data, q in some.items()})
        stories.append(f"{side.upper()}: " + words.provenance(part, [p for some in benches.values() for p in some.values()], hollow=False))
    sets = [data for data in DATA if any(r.get(data) for r in rows)]
    if not rows:
        return []
    unit = rows[0]["unit"]
    return [Table(f"{view.name}_orders", captions.of_sides(
        "The function by the order of its arguments’ signs, half of them negative. Evaluated once, it "
        f"moves 12 bytes per element; evaluated many times, it is limited by arithmetic.{_ways_by_order(view)}", stories), (
                      Column("side", "side", right=False), Column("title", "kernel", right=False, wide=True), Column("n", "elements", numbers.grouped),
                      Column("passes", "times", lambda v: f"{v:g}"), Column("threads", "threads", lambda v: f"{v:g}"),
                      *(Column(data, data, lambda v: numbers.quantity(v, unit)) for data in sets)), rows)]


def _ways_table(view: View, branches: dict, counted: dict) -> list[Table]:
    """For lanes, warps and blocks: the counted paths, the rate and the rate that the paths predict."""
    body = _main_body(branches)
    timed = {(group, taken): p for (kind, b, group, taken), p in branches.items() if (kind, b) == ("if_else", body)}
    keys = sorted(counted.keys() | timed.keys())
    best = max((p.value for p in timed.values()), default=None)
    rows = [{"group": key[0], "taken": key[1], "ways": counted.get(key), "value": timed[key].value if key in timed else None,
             "predicted": best / counted[key] if best and counted.get(key) else None} for key in keys]
    if not rows:
        return []
    story = words.provenance(view.gpu, timed.values(), hollow=False) if timed else "Nothing was timed."
    unit = next(iter(timed.values())).metric.unit if timed else ""
    return [Table(f"{view.name}_patterns", "A branch by the number of neighbours on the same path (a group), and of 32 groups those on the first path. "
                  f"Paths: executed by a warp per round, counted in the source{_counted_at(view, 'branches')}; the rates are at "
                  f"N\u00a0=\u00a0{numbers.grouped(max((p.sizes['n'] for p in timed.values()), default=0))}. Predicted: the best rate divided by the paths"
                  f"{f', with {body:g} steps per path' if timed else ''}. " + story, (
                      Column("group", "threads per group", lambda v: f"{v:g}"), Column("taken", "of 32 on the first path", lambda v: f"{v:g}"),
                      Column("ways", "paths, counted", numbers.short), Column("value", "rate", lambda v: numbers.quantity(v, unit)),
                      Column("predicted", "predicted", lambda v: numbers.quantity(v, unit))), rows)]


def _machine_code(view: View, branches: dict) -> list[Table]:
    """What the GPU executed, by its counters: the source of `if_else` has one branch per round, the machine code may have none."""
    rows = []
    for (_, body, group, taken), p in sorted(branches.items(), key=lambda x: (x[1].kernel.order, x[0][1:])):
        c = view.gpu.counters_of(p)
        if taken != 16 or not c.get("instructions"):
            continue
        warps = -(-p.sizes["n"] // WARP)
        rows.append({"kernel": p.kernel.name, "title": p.kernel.title, "body": body, "group": group,
                     "instructions": c["instructions"] / (warps * p.sizes["rounds"] * body),
                     "lanes": c["thread_instructions"] / c["instructions"] if "thread_instructions" in c else None,
                     "lanes_on": c["thread_instructions_on"] / c["instructions"] if "thread_instructions_on" in c else None,
                     "source": 1.0 if _kind(p) == "if_else" else 0.0,
                     "divergent": c["branches_divergent"] / (warps * p.sizes["rounds"]) if "branches_divergent" in c else None})
    if not rows:
        return []
    return [Table(f"{view.name}_machine_code", "What the GPU executed of the branches, by its hardware counters. Instructions: per "
                  "warp and step. Lanes: active in an instruction; on: active and not switched off by a predicate. "
                  "Branches per warp and round: in the source, and divergent ones in the machine code, none where the compiler has "
                  f"predicated the branch. {words.sentence(f'{view.gpu.counter_tool} on {view.gpu.counter_machine}')}", (
                      Column("title", "kernel", right=False, wide=True), Column("body", "steps", lambda v: f"{v:g}"),
                      Column("group", "threads per group", lambda v: f"{v:g}"), Column("instructions", "instructions per step", numbers.significant),
                      Column("lanes", "lanes", numbers.significant), Column("lanes_on", "on", numbers.significant),
                      Column("source", "branches in the source", numbers.short), Column("divergent", "divergent", numbers.short)), rows)]
