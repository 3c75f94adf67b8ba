"""The gain from parallelism: threads from one to many waves, blocks around whole waves, chains per thread."""

import math

from report.claims.judgement import Judged, One
from report.claims.values import Logic, compare, divide, exact, of_rate
from report.data.roofs import told
from report.experiment import SWEPT, Column, Figure, Part, Point, Section, Table, View, fastest, numbers, words

CHAINS, SLICES = "chains", "slices"
WARP = 32
KEEPS, SATURATES = 0.95, 0.9
"""A point keeps the rate if at least the first share of the best rate is left, and reaches the roof from the second on."""


def section(view: View) -> Section | None:
    gpu, cpu = view.gpu, view.cpu
    growth = _growth(view, gpu) if gpu else {}
    waves, chains = (_waves(view, gpu), _by_chains(gpu)) if gpu else ({}, {})
    core, team = (_core(cpu), _team(cpu)) if cpu else ({}, {})
    texts = [*_growth_words(gpu, growth), *_chain_words(gpu, chains), *_wave_words(gpu, waves), *_core_words(cpu, core)]
    if not texts:
        return None
    figures = [*_growth_figure(view, growth), *_chain_figure(view, chains), *_wave_figure(view, waves), *_core_figure(view, core)]
    return Section(words.paragraphs(texts), figures=figures, appendix=[*_team_words(team), *_team_figure(view, team), *_tables(view)])


# Data


def _of(part: Part, family: str) -> list[Point]:
    """Chains in hot mode, slices in cold mode."""
    return [p for mode in ("hot", "cold") for p in part.timed(family, mode=mode) if p.value]


def _sms(part: Part) -> float | None:
    return part.run.context.get("gpu_sm_count") or None


def _threads(p: Point) -> float:
    return p.sizes["blocks"] * p.sizes["block"]


def _roof(part: Part, p: Point):
    """The peak of multiply-adds, or the bandwidth of memory; on a CPU for the point's number of threads."""
    if p.kernel.family != CHAINS:
        return part.dram(p.kernel.family, p.threads)
    return (part.roofs.of_threads(p.threads) if part.side == "cpu" else part.roofs).peak("fp32")


def _share(part: Part, p: Point) -> float | None:
    roof = _roof(part, p)
    return p.value / roof.value if roof else None


def _matches(view: View, key: str, p: Point) -> bool:
    return all(p.sizes.get(name) == value for name, value in view.settings[key].items())


def _growth(view: View, part: Part) -> dict[str, list[Point]]:
    """Kernel's title, with its loads in flight → the fastest point for each number of threads: one block, then several
    blocks."""
    found: dict[str, dict[float, list[Point]]] = {}
    wanted = view.settings["growth"]
    for p in (*_of(part, CHAINS), *_of(part, SLICES)):
        of_shape = p.sizes["block"] == wanted["block"] or (p.sizes["blocks"] == 1 and p.sizes["block"] < wanted["block"])
        if of_shape and p.sizes.get("each", wanted["each"]) == wanted["each"] and not p.counters.get(SWEPT):
            found.setdefault(_growth_title(p), {}).setdefault(_threads(p), []).append(p)
    return {title: [fastest(some[n]) for n in sorted(some)] for title, some in found.items()}


def _growth_title(p: Point) -> str:
    loads = p.tunables.get("in_flight")
    return f"{p.kernel.title}, {loads:g} in flight" if loads else p.kernel.title


def _waves(view: View, part: Part) -> dict[bool, list[Point]]:
    """Whether unused shared memory keeps the number of resident blocks small → points by number of blocks."""
    found: dict[bool, list[Point]] = {}
    for p in _of(part, CHAINS) if _sms(part) else ():
        if p.counters.get(SWEPT) or _matches(view, "wave", p):
            found.setdefault(bool(p.counters.get(SWEPT)), []).append(p)
    return {few: sorted(points, key=lambda p: p.sizes["blocks"]) for few, points in found.items() if len(points) > 1}


def _resident(p: Point) -> float:
    """Blocks that a multiprocessor executes at a time at full speed: all resident ones where each has dependent operations
    only, one where a single block keeps the multiprocessor busy."""
    return p.counters.get("blocks_per_sm", 1) if p.counters.get(SWEPT) else 1


def _by_chains(part: Part) -> dict[float, list[Point]]:
    """Chains per thread → points by warps per multiprocessor, where all multiprocessors have the same number, in one wave."""
    sms, found = _sms(part), {}
    for p in _of(part, CHAINS) if sms else ():
        blocks = p.sizes["blocks"]
        if blocks % sms == 0 and blocks <= sms * p.counters.get("blocks_per_sm", 1) and not p.counters.get(SWEPT):
            found.setdefault(p.sizes["each"], {}).setdefault(_warps(part, p), []).append(p)
    return {each: [fastest(some[n]) for n in sorted(some)] for each, some in sorted(found.items())}


def _warps(part: Part, p: Point) -> float:
    """Warps per multiprocessor."""
    return p.sizes["blocks"] / _sms(part) * math.ceil(p.sizes["block"] / WARP)


def _core(part: Part) -> dict[str, list[Point]]:
    """Kernel's title → one thread's points by chains."""
    found: dict[str, dict[float, list[Point]]] = {}
    for p in _of(part, CHAINS):
        if p.threads == 1:
            found.setdefault(p.kernel.title, {}).setdefault(p.sizes["each"], []).append(p)
    return {title: [fastest(some[n]) for n in sorted(some)] for title, some in found.items()}


def _team(part: Part) -> dict[str, list[Point]]:
    """Multiply-adds (limited by the units) and reading memory → points by threads, without points on more threads than processors."""
    chains = [p for p in _of(part, CHAINS) if not p.oversubscribed]
    lanes = max((p.sizes["block"] for p in chains), default=0)
    most = max((p.sizes["each"] for p in chains if p.sizes["block"] == lanes and p.threads > 1), default=0)
    ours = [p for p in chains if (p.sizes["block"], p.sizes["each"]) == (lanes, most)]
    memory = [p for p in part.ceilings() if p.kernel.ceiling_is_bandwidth and not p.oversubscribed]
    found = {"multiply-adds": ours, "reading memory": memory}
    made = {name: {p.threads: p for p in points} for name, points in found.items()}
    return {name: [some[n] for n in sorted(some)] for name, some in made.items() if len(some) > 1}


def _enough(part: Part, points: list[Point], level: float, best: float | None = None) -> Point | None:
    """The first point from which all points reach that share of the best rate."""
    top, found = best or max(p.value for p in points), None
    for p in reversed(points):
        if p.value < level * top:
            break
        found = p
    return found


# Words


def _growth_words(part: Part | None, growth: dict[str, list[Point]]) -> list[str]:
    """For each kernel with the most loads in flight."""
    last = {points[0].kernel.title: points for points in growth.values()}
    texts = []
    for title, points in last.items():
        first, roof = points[0], _roof(part, points[0])
        alone = "one thread reaches" if _threads(first) == 1 else f"{_threads(first):.0f} threads reach"
        text = f"{title} on the GPU: {alone} {numbers.rate(first)}"
        if roof:
            text += f", 1/{numbers.grouped(float(numbers.significant(roof.value / first.value).replace(chr(0x202f), '')))} of the {'peak' if first.kernel.family == CHAINS else 'bandwidth'}"
            enough = _enough(part, points, SATURATES, roof.value)
            text += f"; {numbers.percent(SATURATES)} takes {numbers.grouped(_threads(enough))} threads" if enough else (
                f"; {numbers.grouped(_threads(points[-1]))} reach {numbers.share(_share(part, points[-1]))}")
        texts.append(words.sentence(text))
    return texts


def _top(chains: dict[float, list[Point]]) -> float:
    return max(p.value for points in chains.values() for p in points)


def _needed(part: Part, chains: dict[float, list[Point]]) -> dict[float, float]:
    """Chains per thread → warps from which the rate stays near the best one."""
    top = _top(chains)
    return {each: _warps(part, p) for each, points in chains.items() if (p := _enough(part, points, SATURATES, top))}


def _chain_words(part: Part | None, chains: dict[float, list[Point]]) -> list[str]:
    needed = _needed(part, chains) if len(chains) > 1 else {}
    if len(needed) < 2:
        return []
    some = [f"{n:.0f} warps with {words.counted(int(each), 'chain')}" for each, n in needed.items()]
    never = [f"{each:.0f}" for each in chains if each not in needed]
    text = f"On each multiprocessor {numbers.percent(SATURATES)} of the best rate needs {words.joined(some)} per thread"
    return [f"{text}; with {words.joined(never)} per thread it is not reached." if never else f"{text}."]


def _step(part: Part, points: list[Point]) -> tuple[Point, Point] | None:
    """Whole waves, and the same plus one block, where the additional block costs the most."""
    by_blocks = {p.sizes["blocks"]: p for p in points}
    pairs = [(p, by_blocks[n + 1]) for n, p in by_blocks.items()
             if n % (_sms(part) * _resident(p)) == 0 and n + 1 in by_blocks]
    return max(pairs, key=lambda pair: pair[0].value / pair[1].value, default=None)


def _wave_words(part: Part | None, waves: dict[bool, list[Point]]) -> list[str]:
    texts = []
    for few, points in waves.items():
        if pair := _step(part, points):
            full, more = (f"{p.sizes['blocks']:.0f}" for p in pair)
            longer = pair[1].summary.median / pair[0].summary.median
            what = (f"where {_resident(pair[0]):.0f} are resident per multiprocessor and none keeps it busy alone"
                    if few else "where one block keeps a multiprocessor busy")
            texts.append(f"{more} blocks take {numbers.times(longer)} as long as {full} {what}")
    return [words.sentence("; ".join(texts))] if texts else []


def _core_words(part: Part | None, core: dict[str, list[Point]]) -> list[str]:
    texts = []
    for title, points in core.items():
        if len(points) > 1 and (enough := _enough(part, points, SATURATES)):
            gain = enough.value / points[0].value
            texts.append(f"{words.counted(int(enough.sizes['each']), 'chain')} with {title} code ({numbers.times(gain)} the rate of "
                         f"{int(points[0].sizes['each'])})")
    return [f"One thread of the CPU keeps {numbers.percent(SATURATES)} of its best rate from {words.joined(texts)} on."] if texts else []


def _team_words(team: dict[str, list[Point]]) -> list[str]:
    gains = [f"{numbers.times(points[-1].value / points[0].value)} for {name} ({numbers.rate(points[-1])})" for name, points in team.items()]
    if not gains:
        return []
    last = max(points[-1].threads for points in team.values())
    return [f"All {last} threads of the CPU reach, relative to one, {words.joined(gains)}."]


# Judges of claims


def occupancy(view: View) -> Judged | None:
    """For the claim fewer_threads: with the most chains per thread, some number of warps reaches the best rate of one chain per
    thread beyond doubt; with one chain, the same number of warps does not."""
    chains = _by_chains(view.gpu) if view.gpu else {}
    if len(chains) < 2:
        return None
    one, most = min(chains), max(chains)
    best = max(chains[one], key=lambda p: p.value)
    kept = {each: next((p for p in chains[each] if p.value >= KEEPS * best.value), None) for each in (one, most)}
    few = kept[most] or max(chains[most], key=lambda p: p.value)
    fewer = [p for p in chains[one] if _warps(view.gpu, p) <= _warps(view.gpu, few)]
    tests = [compare(divide(of_rate(few), of_rate(best)), ">=", exact(KEEPS)), *(compare(divide(of_rate(p), of_rate(best)), "<", exact(KEEPS)) for p in fewer)]
    text = f"{_reached(view.gpu, kept[one], one)}, and more warps hardly increase it; {_reached(view.gpu, few, most)}"
    why = " at most" if not kept[most] else "" if few.value < best.value / KEEPS else (
        ". One chain stays below the roof with any number of warps: its loop contains only multiply-adds, but each of them reads "
        "three registers; further chains share the two registers of the coefficients")
    text += f" (our threshold: {100 * KEEPS:g}\u00a0% of one chain’s best rate)"
    return Judged((One("one chain against most of them", Logic("and", tuple(tests))),), words.sentence(text + why))


def _reached(part: Part, p: Point, each: float) -> str:
    return f"{_warps(part, p):.0f} warps per multiprocessor with {words.counted(int(each), 'chain')} per thread reach {numbers.rate(p)}"


def blocks(view: View) -> Judged | None:
    """For the claim parallelism_blocks: a grid of one block per multiprocessor is slower than the best larger grid, for blocks that
    keep a multiprocessor busy and for blocks with few resident per multiprocessor."""
    sms, cases, texts = _sms(view.gpu) if view.gpu else None, [], []
    for points in (_waves(view, view.gpu) if view.gpu else {}).values():
        by_blocks = {p.sizes["blocks"]: p for p in points}
        if not (alone := by_blocks.get(sms)):
            continue
        best, more = max(points, key=lambda p: p.value), by_blocks.get(sms + 1)
        unused = alone.counters.get(SWEPT)
        kind = f"{numbers.grouped(alone.sizes['block'])} threads with {words.counted(int(alone.sizes['each']), 'chain')} each"
        kind += f" and {numbers.binary(unused)} of unused shared memory, so that {alone.counters.get('blocks_per_sm', 0):.0f} are resident" if unused else ""
        one_more = f", one more {numbers.percent(more.value / best.value)}" if more else ""
        texts.append(f"{sms:.0f} blocks of {kind}, one on each multiprocessor, reach {numbers.percent(alone.value / best.value)} of the best rate of any number of blocks{one_more}")
        cases.append(One(kind, compare(divide(of_rate(alone), of_rate(best)), "<", exact(KEEPS))))
    return Judged(tuple(cases), f"{'; '.join(texts)} (our limit: {100 * KEEPS:g}\u00a0%).") if cases else None


# Figures


def _row(part: Part, p: Point) -> dict:
    low, high = p.interval or (None, None)
    return {"kernel": p.kernel.name, "title": p.title, "mode": p.mode, "blocks": p.sizes.get("blocks"), "block": p.sizes.get("block"),
            "each": p.sizes.get("each"), "cpu_threads": p.threads if part.side == "cpu" else None,
            "shared_bytes_added": p.counters.get(SWEPT, 0), "blocks_per_sm": p.counters.get("blocks_per_sm"),
            "value": p.value, "low": low, "high": high, **p.sampled, "unit": p.metric.unit, "share": None if p.kernel.is_ceiling else told(_share(part, p))}


def _percent_dot(part: Part, p: Point, x: float, top: float | None = None):
    """As a share of its roof, or of `top`, in per cent."""
    from report.draw import lines
    roof = _roof(part, p)
    whole = top or (roof.value if roof else p.value)
    low, high = p.interval or (None, None)
    return lines.Dot(x, 100 * p.value / whole, low and 100 * low / whole, high and 100 * high / whole, not p.settled)


def _all(found: dict) -> list[Point]:
    return [p for points in found.values() for p in points]


def _growth_figure(view: View, growth: dict[str, list[Point]]) -> list[Figure]:
    part = view.gpu
    growth = {title: points for title, points in growth.items() if _roof(part, points[0])}
    points = _all(growth)
    if not points:
        return []

    def draw(fig) -> None:
        from report.draw import lines, style
        ax = style.axes(fig, 16, 9, 22, 4)
        series = [lines.Series(title, [_percent_dot(part, p, _threads(p)) for p in line]) for title, line in growth.items()]
        lines.draw(ax, series, "Threads", "Share of the roof [%]", log_y=True, limit=13, ylim=(0.6 * min(d.y for s in series for d in s.dots), 250))
        sms = _sms(part)
        for n, name in ((WARP, "one warp"), (sms and sms * view.settings["growth"]["block"], "one block per SM")):
            if n and n < ax.get_xlim()[1]:
                ax.axvline(n, color=style.PALE, linewidth=0.8, zorder=0)
                ax.annotate(name, (n, ax.get_ylim()[0]), xytext=(2, 3), textcoords="offset points", size=style.SMALL,
                            color=style.GREY, rotation=90, va="bottom")
        powers = [2**k for k in range(0, 40, 5) if ax.get_xlim()[0] <= 2**k <= ax.get_xlim()[1]]
        style.plain_ticks(ax.xaxis, powers)
        ax.xaxis.set_major_formatter(lambda n, _: _power(n))
    shape = ", ".join(f"{v:g} {'threads per block' if k == 'block' else 'chains per thread'}" for k, v in view.settings["growth"].items())
    caption = (f"From one thread to many waves, as shares of the peak and of the bandwidth of memory; in flight: loads per "
               f"thread ({shape}; one smaller block where there are fewer threads). " + words.provenance(part, points))
    return [Figure(f"{view.name}_growth", [_row(part, p) for p in points], draw, caption,
                   "Log-log line plot of the share of the roof by the number of threads.", height=60, half=True)]


def _power(n: float) -> str:
    k = round(math.log2(n)) if n > 0 else 0
    return f"{n:g}" if k < 10 else "2" + str(k).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))


def _chain_figure(view: View, chains: dict[float, list[Point]]) -> list[Figure]:
    from report.draw import style
    part = view.gpu
    chains = {each: points for each, points in list(chains.items())[:style.MOST] if len(points) > 1}
    points = _all(chains)
    if not points:
        return []

    def draw(fig) -> None:
        from report.draw import lines
        ax = style.axes(fig, 14, 9, 22, 2)
        top = None if _roof(part, points[0]) else _top(chains)
        series = [lines.Series(words.counted(int(each), "chain"), [_percent_dot(part, p, _warps(part, p), top) for p in line])
                  for each, line in chains.items()]
        lines.draw(ax, series, "Warps per multiprocessor", "Share of the peak [%]", limit=12)
        ax.axhline(100, color=style.GREY, linewidth=0.8, zorder=1)
    caption = "Rates by warps per multiprocessor and independent chains per thread, as shares of the peak. " + words.provenance(part, points)
    return [Figure(f"{view.name}_chains", [_row(part, p) for p in points], draw, caption,
                   "Line plot of the share of the peak by warps, one line per number of chains.", height=60, half=True)]


def _wave_figure(view: View, waves: dict[bool, list[Point]]) -> list[Figure]:
    part, points = view.gpu, _all(waves)
    if not points:
        return []
    sms = _sms(part)
    names = {False: "blocks that keep it busy alone", True: "blocks with one chain per thread"}

    def draw(fig) -> None:
        from report.draw import lines, style
        ax = style.axes(fig, 14, 9, 30, 2)
        highest = max(p.sizes["blocks"] for p in points) / sms
        tops = {few: _full(part, line) for few, line in waves.items()}
        whole = _roof(part, points[0]).value if _roof(part, points[0]) else max(p.value for p in points)
        series = [lines.Series(names[few], [_percent_dot(part, p, p.sizes["blocks"] / sms, whole) for p in line],
                               look=style.SERIES[int(few)], joined=False) for few, line in waves.items()]
        ceiling = 1.12 * max(100.0, *(100 * t / whole for t in tops.values()), *(d.y for s in series for d in s.dots))
        lines.draw(ax, series, "Blocks per multiprocessor", "Share of the peak [%]", log_x=False, limit=18,
                   xlim=(0, highest * 1.03), ylim=(0, ceiling))
        for few, line in waves.items():
            resident, colour = _resident(line[0]), style.SERIES[int(few)]["color"]
            steps = [i * highest / 1200 for i in range(1, 1201)]
            ax.plot(steps, [100 * tops[few] / whole * x / (resident * math.ceil(x / resident - 1e-9)) for x in steps],
                    color=colour, linewidth=0.6, alpha=0.7, zorder=1)
        ax.set_xticks(range(int(highest) + 1))
    few = next((_resident(line[0]) for is_few, line in waves.items() if is_few), None)
    caption = (f"The last wave: rates by the number of blocks per multiprocessor ({sms:.0f} multiprocessors). Lines: the work divided by the whole waves "
               f"that it takes, with {'one block' if False in waves else ''}"
               f"{' and ' if len(waves) > 1 else ''}{f'{few:.0f} blocks' if few else ''} per multiprocessor and wave. " + words.provenance(part, points))
    return [Figure(f"{view.name}_waves", [_row(part, p) for p in points], draw, caption,
                   "Points of a saw-tooth: the rate drops whenever one block begins a new wave.", height=60, half=True)]


def _full(part: Part, points: list[Point]) -> float:
    """The rate of whole waves: the best rate."""
    return max(p.value for p in points)


def _core_figure(view: View, core: dict[str, list[Point]]) -> list[Figure]:
    part = view.cpu
    core = {title: points for title, points in core.items() if len(points) > 1}
    points = _all(core)
    if not points:
        return []

    def draw(fig) -> None:
        from report.draw import lines, style
        ax = style.axes(fig, 14, 9, 22, 2)
        series = [lines.Series(title, [_percent_dot(part, p, p.sizes["each"], max(q.value for q in line)) for p in line])
                  for title, line in core.items()]
        lines.draw(ax, series, "Independent chains", "Share of the best rate [%]", limit=13, ylim=(0, 112))
    best = [f"{title}: {numbers.rate(max(line, key=lambda p: p.value))}" for title, line in core.items()]
    caption = (f"Chains of multiply-adds on one thread of the CPU, as shares of the best rate ({'; '.join(best)}). "
               + words.provenance(part, points))
    return [Figure(f"{view.name}_core", [_row(part, p) for p in points], draw, caption,
                   "Line plot of one core's rate by the number of independent chains.", height=60, half=True)]


def _gain_dot(p: Point, one: Point):
    """Relative to the rate of one thread."""
    from report.draw import lines
    low, high = p.interval or (None, None)
    return lines.Dot(p.threads, p.value / one.value, low and low / one.value, high and high / one.value, not p.settled)


def _team_figure(view: View, team: dict[str, list[Point]]) -> list[Figure]:
    part, points = view.cpu, _all(team)
    if not any(len(line) > 2 for line in team.values()):
        return []

    def draw(fig) -> None:
        from report.draw import lines, style
        ax = style.axes(fig, 14, 9, 22, 2)
        series = [lines.Series(name, [_gain_dot(p, line[0]) for p in line]) for name, line in team.items()]
        lines.draw(ax, series, "Threads", "Times the rate of one thread", limit=13, log_y=True)
        most = max(p.threads for p in points)
        ax.plot([1, most], [1, most], color=style.GREY, linewidth=0.8, zorder=1)
    caption = "Threads of the CPU: rates of multiply-adds and of reading memory, relative to one thread; grey: proportional. " + words.provenance(part, points)
    return [Figure(f"{view.name}_team", [_row(part, p) for p in points], draw, caption,
                   "Log-log line plot of the speed-up by the number of threads.", height=60, half=True)]


def _tables(view: View) -> list[Table]:
    made = []
    for part in view.timed_parts:
        points = [*_of(part, CHAINS), *_of(part, SLICES)]
        rows = [_row(part, p) for p in points]
        launch = (Column("blocks", "blocks", numbers.grouped), Column("block", "threads/block", numbers.grouped))
        columns = (Column("title", "kernel", right=False, wide=True), *(launch if part.side == "gpu" else ()),
                   Column("each", "chains", lambda v: f"{v:g}"),
                   Column("cpu_threads", "threads", lambda v: f"{v:g}"),
                   Column("shared_bytes_added", "shared added", numbers.binary), Column("value", "rate", numbers.significant),
                   Column("unit", "unit", right=False), Column("share", "of the roof", numbers.share))
        known = [c for c in columns if any(r.get(c.key) for r in rows)]
        if rows:
            made.append(Table(f"{view.name}_{part.side}_points", f"Parallelism on the {part.side.upper()}: every point. Chains: of dependent operations, per thread"
                              f"{'; shared added: unused shared memory per block' if part.side == 'gpu' else ''}; of the roof: for the kernel’s resource and threads. "
                              + words.provenance(part, points, hollow=False), known, rows))
    return made
