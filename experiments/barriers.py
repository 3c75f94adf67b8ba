"""The cost of waiting: barriers of a block and of a warp, shuffles, fences, and methods to combine the blocks' results."""

from report.data.view import order
from report.experiment import Column, Figure, Point, Ratio, Section, Table, View, captions, judge, numbers, ratio, words

WARP = 32
BARRIERS = {"barriers": "block barriers", "warp_barriers": "warp barriers", "shuffles": "shuffles"}
"""Counters of the emulator, which count once per participating warp, and their names in the report."""
NO_FENCE = (None, 0, "none")
FENCES = {1: "__threadfence_block", 2: "__threadfence", "block": "__threadfence_block", "device": "__threadfence"}
"""Values of the tunable `fence`, in results of either schema."""
DEVICE = (2, "device")
MICRO = 1e6
NUMBERS = {2: "two", 3: "three", 4: "four"}
FAR = 1.5
"""From this factor on, the difference between times is given as a factor and not in per cent."""


def section(view: View) -> Section | None:
    s = view.settings
    rounds = [p for p in view.gpu.timed(s.get("exchange", "")) if _round(p) and p.tunables.get("block")] if view.gpu else []
    sums = {part.side: part.timed(s.get("sum", "")) for part in view.timed_parts}
    sums = {side: points for side, points in sums.items() if points}
    counted = [p for p in view.counts.points if p.is_counted and p.kernel.family == s.get("exchange")] if view.counts else []
    ratios = _ratios(rounds, sums.get("gpu", []), str(s.get("base", "")))
    finding = words.paragraphs(filter(None, (_rounds(rounds, ratios), _latency(rounds), _sums(sums.get("gpu", [])))))
    if not finding and not counted:
        return None
    figures = [*([_round_figure(view, rounds, ratios)] if rounds else []), *([_sum_figure(view, sums)] if sums else [])]
    return Section(finding or "The kernels were counted by the emulator; none was timed.", figures=figures, appendix=[*_round_table(view, rounds, counted), *([_sum_table(view, sums)] if sums else []),
                             *_fault_table(view)])


# Points and ratios


def _round(p: Point) -> float | None:
    """Seconds that one round takes."""
    rounds = p.sizes.get("rounds")
    return p.summary.median / rounds if rounds else None


def _n(p: Point) -> float:
    return p.sizes.get("n", 0.0)


def _fence(p: Point):
    fence = p.tunables.get("fence")
    return None if fence in NO_FENCE else fence


def _name(p: Point) -> str:
    return p.kernel.title + (f" with {FENCES.get(_fence(p), _fence(p))}" if _fence(p) else "")


def _ratios(rounds: list[Point], sums: list[Point], base: str) -> dict[tuple, Ratio]:
    """All comparisons of this experiment, judged together: with the base, with no fence, with the smallest block, and
    of each method to combine sums with the fastest at that size."""
    at = {(p.kernel.name, _n(p), p.tunables["block"], _fence(p)): p for p in rounds}
    found = {}
    for (name, n, block, fence), p in at.items():
        smallest = min(b for k, m, b, f in at if (k, m, f) == (name, n, fence))
        for kind, other in (("base", (base, n, block, None)), ("fence", (name, n, block, None)),
                            ("block", (name, n, smallest, fence))):
            if other in at and at[other] is not p:
                found[kind, p.name] = ratio(p, at[other])
    for p in sums:
        best = min((q for q in sums if _n(q) == _n(p)), key=lambda q: q.summary.median)
        if best is not p:
            found["sum", p.name] = ratio(p, best)
    return judge(found)


def _largest(rounds: list[Point]) -> list[Point]:
    """The rounds at the largest size, when the whole GPU is busy."""
    n = max(map(_n, rounds), default=0)
    return [p for p in rounds if _n(p) == n]


# Words


def _rounds(rounds: list[Point], ratios: dict) -> str:
    """The round of the base in the largest blocks, and the speed of the others relative to it."""
    here = _largest(rounds)
    block = max((p.tunables["block"] for p in here), default=0)
    here = [p for p in here if p.tunables["block"] == block and not _fence(p)]
    against = [(p, ratios["base", p.name]) for p in here if ("base", p.name) in ratios]
    base = next((p for p in here if ("base", p.name) not in ratios), None)
    if not base or not against:
        return ""
    each = [f"{numbers.times(r.value)}{'' if i else ' as fast'} with {p.kernel.title}"
            f"{f' ({r.doubt})' if r.doubt else ''}"
            for i, (p, r) in enumerate(sorted(against, key=lambda x: -x[1].value))]
    return (f"With {numbers.grouped(_n(base))} elements in blocks of {block:g} threads, a round with {base.kernel.title} "
            f"takes {numbers.seconds(_round(base))}; it is {words.joined(each)}.")


def _latency(rounds: list[Point]) -> str:
    """The round of each kernel with few elements, where it is a latency, in the smallest and in the largest blocks."""
    n = min(map(_n, rounds), default=0)
    here = [p for p in rounds if _n(p) == n and not _fence(p)]
    smallest, largest = (f((p.tunables["block"] for p in here), default=0) for f in (min, max))
    ends = {p.kernel.name: (q, p) for p in here for q in here
            if (q.kernel.name, q.tunables["block"], p.tunables["block"]) == (p.kernel.name, smallest, largest)}
    longer = sorted(((q, p) for q, p in ends.values() if q is not p), key=lambda x: _round(x[1]) / _round(x[0]))
    if len(longer) < 2:
        return ""
    each = [f"from {numbers.seconds(_round(q))} to {numbers.seconds(_round(p))} for {p.kernel.title}"
            for q, p in (longer[-1], longer[0])]
    return (f"With {numbers.grouped(n)} elements most of the GPU is idle, and the time of a round is its latency: from blocks of {smallest:g} "
            f"to {largest:g} threads it grows {words.joined(each)}.")


def _sums(points: list[Point]) -> str:
    """The methods to combine the blocks' sums, at the smallest and at the largest size."""
    sizes = sorted({_n(p) for p in points})
    first, last = ([p for p in points if sizes and _n(p) == sizes[i]] for i in (0, -1))
    if len(first) < 2:
        return ""
    each = [f"{numbers.seconds(p.summary.median)} ({p.title})" for p in sorted(first, key=lambda p: p.summary.median)]
    text = f"Across blocks, the sum of {numbers.grouped(sizes[0])} numbers takes {words.joined(each)}"
    times = [p.summary.median for p in last]
    if len(sizes) > 1 and len(times) > 1:
        factor = max(times) / min(times)
        text += f"; for {numbers.grouped(sizes[-1])} numbers " + (
            f"the {NUMBERS.get(len(times), 'methods')} differ by at most {numbers.percent(factor - 1)}" if factor < FAR else
            f"the slowest ({_at(last, max(times)).title}) takes {numbers.times(factor)} as long as the fastest "
            f"({_at(last, min(times)).title})")
    return f"{text}."


def _at(points: list[Point], time: float) -> Point:
    return next(p for p in points if p.summary.median == time)


# Figures


def _round_row(view: View, p: Point, ratios: dict) -> dict:
    low, high = (p.summary.low, p.summary.high) if p.summary.has_interval else (None, None)
    rounds = p.sizes["rounds"]
    row = {"kernel": p.kernel.name, "title": p.kernel.title, "fence": FENCES.get(_fence(p), _fence(p)), "n": _n(p),
           "block": p.tunables["block"], "rounds": rounds, "round_seconds": _round(p), "low": low and low / rounds,
           "high": high and high / rounds, **p.sampled}
    for kind in ("base", "fence", "block"):
        if r := ratios.get((kind, p.name)):
            row |= {f"over_{kind}": r.value, f"over_{kind}_p": r.p, f"over_{kind}_verdict": r.verdict}
    return row


def _round_figure(view: View, rounds: list[Point], ratios: dict) -> Figure:
    here = _largest(rounds)
    shown: dict[str, list[Point]] = {}
    for p in here:
        if not _fence(p) or _fence(p) in DEVICE:
            shown.setdefault(_name(p), []).append(p)

    def draw(fig) -> None:
        from report.draw import lines, style
        series = [lines.Series(name, [_dot(p, p.tunables["block"], 1 / p.sizes["rounds"]) for p in points])
                  for name, points in shown.items()]
        lines.draw(style.axes(fig, 13, 9, 25, 2), series, "Threads in a block", "Time of a round", log_y=True, limit=16,
                   unit="s")
    caption = (f"One round of an exchange between neighbours, {numbers.grouped(_n(here[0]))} elements. Shorter is better. "
               f"Other sizes and fences are in the CSV. " + words.provenance(view.gpu, [p for x in shown.values() for p in x]))
    return Figure(f"{view.name}_rounds", [_round_row(view, p, ratios) for p in rounds], draw, caption,
                  "Line plot of the time of one round by threads in a block, for barriers, shuffles and fences.",
                  height=62, half=True)


def _dot(p: Point, x: float, scale: float):
    """The median time with its interval, scaled."""
    from report.draw import lines
    s = p.summary
    ends = (s.low * scale, s.high * scale) if s.has_interval else (None, None)
    return lines.Dot(x, s.median * scale, *ends, hollow=not p.settled)


def _sum_row(p: Point) -> dict:
    s = p.summary
    return {"kernel": p.kernel.name, "title": p.title, "side": p.kernel.side, "n": _n(p), "seconds": s.median, "low": s.low,
            "high": s.high, "gbytes_per_s": p.gbytes, "samples": s.n}


def _lines_of(sums: dict[str, list[Point]]) -> dict[str, list[Point]]:
    """Kernel's title with its side → points on all threads of the machine."""
    made: dict[str, list[Point]] = {}
    for side, points in sums.items():
        most = max(p.threads for p in points)
        for p in sorted(points, key=order):
            if p.threads == most:
                made.setdefault(f"{side.upper()}: {p.title}", []).append(p)
    return made


def _binary(value: float) -> str:
    """'64 Ki', '1 Mi'."""
    return f"{value / 2**20:g} Mi" if value >= 2**20 else f"{value / 2**10:g} Ki"


def _sum_figure(view: View, sums: dict[str, list[Point]]) -> Figure:
    shown = _lines_of(sums)
    stories = [f"{part.side.upper()}: " + words.provenance(part, sums[part.side]) for part in view.timed_parts
               if part.side in sums]

    def draw(fig) -> None:
        from report.draw import lines, style
        series = [lines.Series(name, [_dot(p, _n(p), MICRO) for p in points]) for name, points in shown.items()]
        ax = style.axes(fig, 17, 9, 25, 4)
        lines.draw(ax, series, "Numbers added", "Time [µs]", log_y=True, limit=16)
        ax.xaxis.set_major_formatter(lambda v, _: _binary(v))
        ax.set_xticks(sorted({_n(p) for points in shown.values() for p in points})[::2])
    return Figure(f"{view.name}_sum", [_sum_row(p) for points in sums.values() for p in points], draw,
                  captions.of_sides("The sum of an array, by the method that combines the blocks’ results.", stories),
                  "Line plot of the time of a sum by its length: the methods differ for short arrays only.", height=62, half=True)


# Appendix


def _waits(p: Point) -> dict[str, float]:
    """How often a warp waits in a round, by kind, from a counted point; empty where the point lacks a size."""
    n, rounds, block = _n(p), p.sizes.get("rounds"), p.tunables.get("block")
    if not n or not rounds or not block:
        return {}
    warps = -(-n // block) * -(-block // WARP)
    return {kind: p.counters[kind] / (warps * rounds) for kind in BARRIERS if kind in p.counters}


def _round_table(view: View, rounds: list[Point], counted: list[Point]) -> list[Table]:
    """The counted barriers of a round, next to its time at every size."""
    rows: dict[tuple, dict] = {}
    for p in sorted([*counted, *rounds], key=order):
        key = (p.kernel.name, tuple(sorted(p.tunables.items(), key=str)))
        row = rows.setdefault(key, {"title": p.kernel.title, "variant": p.variant})
        row |= _waits(p) if p.is_counted else {f"round {numbers.grouped(_n(p))}": _round(p)}
    sizes = [numbers.grouped(n) for n in sorted({_n(p) for p in rounds})]
    if not rows:
        return []

    def count(v: float) -> str:
        return f"{v:.0f}" if v == round(v) else numbers.significant(v)

    story = words.provenance(view.gpu, rounds) if rounds else "No round was timed."
    return [Table(f"{view.name}_rounds", "The same exchange between neighbours with different synchronisation. Barriers and shuffles: how "
                  "often a warp waits per round, counted by the emulator"
                  f"{words.counted_at(view.counts, [view.settings.get('exchange')], 'n', 'rounds')}. Round: time of a call divided by its rounds, by number "
                  f"of elements; with few elements most of the GPU is idle, and this time is the latency of a round. " + story, (
                      Column("title", "kernel", right=False, wide=True), Column("variant", "variant", right=False),
                      *(Column(key, name, count) for key, name in BARRIERS.items()),
                      *(Column(f"round {n}", f"round, N\u00a0=\u00a0{n}", numbers.seconds) for n in sizes)),
                  list(rows.values()))]


def _sum_table(view: View, sums: dict[str, list[Point]]) -> Table:
    rows = []
    sizes = sorted({_n(p) for points in sums.values() for p in points})
    for title, points in _lines_of(sums).items():
        rows.append({"title": title} | {f"{_n(p):g}": p.summary.median for p in points}
                    | {f"{_n(p):g} GB/s": p.gbytes for p in points})
    return Table(f"{view.name}_sum", "The sum of N numbers: median time of a call, by N.", (
        Column("title", "kernel", right=False, wide=True),
        *(Column(f"{n:g}", f"N\u00a0=\u00a0{numbers.grouped(n)}", numbers.seconds) for n in sizes)), rows)


def _fault_table(view: View) -> list[Table]:
    """The planted faults: the tools that report them, and how often they give wrong results."""
    file = view.companions.wrong_results
    if not file:
        return []
    faults: dict[str, dict] = {}
    for name, outcome in file.outcomes.items():
        seen = {t: v.found for hazards in view.companions.hazards if name in hazards.kernels
                for t, v in hazards.kernels[name].verdicts.items()}
        what = next((hazards.kernels[name].what for hazards in view.companions.hazards
                     if name in hazards.kernels and hazards.kernels[name].what), name.replace("_", " "))
        others = [t for t, found in seen.items() if found and t != "emulator"]
        faults[name] = {"fault": name, "what": what, "emulator": seen.get("emulator"),
                        "sanitizer": words.joined(others) if any(t != "emulator" for t in seen) else None, "wrong": outcome.wrong, "outcome": _outcome(outcome)}
    rows = list(faults.values())
    right = {name for hazards in view.companions.hazards for name, fault in hazards.kernels.items() if fault.is_right}
    left = sorted({name for hazards in view.companions.hazards for name in hazards.kernels} - right - set(file.outcomes))
    without = f" Without a count here: {words.listed([name.replace('_', ' ') for name in left], 4)}." if left else ""
    return [Table(f"{view.name}_faults", f"{len(rows)} planted faults, each launched {numbers.grouped(file.launches)} times without any tool: launches whose results differ "
                  "from the corrected kernel’s, or what happened instead. Other elements: no launch stored the elements that the corrected kernel "
                  f"stores, so all results are wrong.{without} A race need not give wrong results. On the {file.machine}, {file.date[:10]}; the emulator’s and compute-sanitizer’s findings "
                  "as in the emulator’s own section.", (
                      Column("what", "fault", right=False, wide=True), Column("emulator", "emulator", lambda v: "found" if v else "–", right=False),
                      Column("sanitizer", "compute-sanitizer", lambda v: v or "–", right=False),
                      Column("outcome", f"wrong of {numbers.grouped(file.launches)}")), rows, most=len(rows))]


def _outcome(outcome) -> str:
    """'611', 'never ends', 'cudaErrorIllegalAddress', else the reason why results were not counted."""
    if outcome.wrong is not None:
        return numbers.grouped(outcome.wrong) + (" (other elements)" if outcome.failed else "")
    return "never ends" if outcome.hangs else outcome.error or outcome.failed.replace("right twin", "corrected kernel")
