"""Constant memory: reads per second and the time of one read by the number of addresses in a warp, compared with global and shared memory;
and the cost of choosing a solver at run time."""

from report.experiment import Column, Figure, Point, Ratio, Section, Table, View, judge, numbers, ratio, words

WARP = 32
ROW, SECTORS = 128, 4
"""Bytes of a row of the table, and of a line of the L1; sectors of a line."""


def section(view: View) -> Section | None:
    reads, counted, solvers = _reads(view), _counted(view), _solvers(view)
    if not reads and not counted and not solvers:
        return None
    ratios = _ratios(view, solvers)
    finding = words.paragraphs(filter(None, (_rates(view, reads), _latencies(view, reads), _choice(solvers, ratios))))
    return Section(finding or _only_counted(view, counted), figures=[*_rate_figure(view, reads, counted), *_latency_figure(view, reads), *_levels_figure(view, reads)],
                   tables=_solver_table(view, solvers, ratios), appendix=_reads_table(view, reads, counted))


# Data


def _reads(view: View) -> list[Point]:
    needed = {"n", "rounds", "rows", "distinct", "chain"}
    return [p for p in view.gpu.timed(view.settings["lookup"]) if needed <= p.sizes.keys() and p.value] if view.gpu else []


def _solvers(view: View) -> list[Point]:
    return [p for p in view.gpu.timed(view.settings["solver"]) if p.value and "method" in p.sizes] if view.gpu else []


def _counted(view: View) -> dict[tuple, float]:
    """(kernel, distinct addresses) → passes per request: words of constant memory, wavefronts of shared memory, lines of the L1."""
    found = {}
    for p in view.counts.points if view.counts else ():
        c = p.counters
        if not p.is_counted or p.kernel.family != view.settings["lookup"]:
            continue
        for words_, requests in (("constant_words", "constant_requests"), ("shared_load_wavefronts", "shared_load_requests")):
            if c.get(requests):
                found[p.kernel.name, p.sizes["distinct"]] = c.get(words_, 0) / c[requests]
        if not {"constant_requests", "shared_load_requests"} & {key for key, value in c.items() if value} and c.get("load_requests"):
            found[p.kernel.name, p.sizes["distinct"]] = max(1.0, c["sectors_per_load_request"] / SECTORS)
    return found


def _table_rows(points: list[Point]) -> float | None:
    """The size of the table with the most points."""
    rows = [p.sizes["rows"] for p in points]
    return max(set(rows), key=lambda r: (rows.count(r), -r), default=None)


def _lines(points: list[Point], axis: str) -> dict[str, list[Point]]:
    """Kernel's title → its points along a size."""
    found: dict[str, list[Point]] = {}
    for p in sorted(points, key=lambda p: (p.kernel.order, p.kernel.name, p.sizes[axis])):
        found.setdefault(p.kernel.title, []).append(p)
    return found


def _full(reads: list[Point], chain: str) -> list[Point]:
    """The points with the GPU full of threads, for the size of the table with the most points."""
    most, rows = max((p.sizes["n"] for p in reads), default=0), _table_rows(reads)
    return [p for p in reads if p.sizes["n"] == most > WARP and p.sizes["rows"] == rows and p.sizes["chain"] == chain]


def _alone(reads: list[Point]) -> list[Point]:
    """The points of one warp whose reads each depend on the one before."""
    return [p for p in reads if p.sizes["n"] <= WARP and p.sizes["chain"] == "dependent"]


def _alone_by_addresses(reads: list[Point]) -> list[Point]:
    alone = _alone(reads)
    rows = _table_rows([p for p in alone if p.sizes["distinct"] > 1] or alone)
    return [p for p in alone if p.sizes["rows"] == rows]


def _time(p: Point) -> float:
    """Seconds of one read."""
    return p.summary.median / p.sizes["rounds"]


def _is_constant(view: View, p: Point) -> bool:
    return p.kernel.name == view.settings["constant"]


def _ratios(view: View, solvers: list[Point]) -> dict[str, Ratio]:
    """The speed of each mechanism relative to the template, for the same method."""
    base = {p.size_key: p for p in solvers if p.kernel.name == view.settings["base"]}
    return judge({p.name: ratio(p, base[p.size_key]) for p in solvers if p.size_key in base and p is not base[p.size_key]})


# Words


def _ends(view: View, points: list[Point]) -> tuple[Point, Point] | None:
    """Constant memory with the fewest and the most addresses."""
    own = sorted((p for p in points if _is_constant(view, p)), key=lambda p: p.sizes["distinct"])
    return (own[0], own[-1]) if len(own) > 1 else None


def _others(view: View, points: list[Point], like: Point) -> list[Point]:
    return [p for p in points if not _is_constant(view, p) and p.sizes["distinct"] == like.sizes["distinct"]]


def _rates(view: View, reads: list[Point]) -> str:
    points = _full(reads, "independent") or _full(reads, "dependent")
    ends = _ends(view, points)
    if not ends:
        return ""
    one, many = ends
    beside = [f"{numbers.rate(p)} from {p.kernel.title}" for p in _others(view, points, one)]
    text = f"When all lanes of a warp read one address, constant memory serves {numbers.rate(one)}"
    text += f" ({words.joined(beside)})" if beside else ""
    text += f"; with {many.sizes['distinct']:g} addresses it serves {numbers.rate(many)}, {numbers.times(one.value / many.value)} less"
    beside = [f"{numbers.rate(p)} from {p.kernel.title}" for p in _others(view, points, many)]
    return f"{text}{f', against {words.joined(beside)}' if beside else ''}."


def _latencies(view: View, reads: list[Point]) -> str:
    points = _alone_by_addresses(reads)
    own = min((p for p in points if _is_constant(view, p)), key=lambda p: p.sizes["distinct"], default=None)
    if not own:
        return ""
    beside = [f"{numbers.seconds(_time(p))} from {p.kernel.title}" for p in _others(view, points, own)]
    text = f"For one warp alone, a read that depends on the one before takes {numbers.seconds(_time(own))} from constant memory"
    return f"{text}{f', {words.joined(beside)}' if beside else ''}."


def _choice(solvers: list[Point], ratios: dict[str, Ratio]) -> str:
    """The largest difference between the mechanisms, over all methods."""
    if not ratios:
        return ""
    point = {p.name: p for p in solvers}
    worst = max(ratios, key=lambda name: abs(ratios[name].value - 1))
    kernels = list(dict.fromkeys(point[name].kernel.title for name in ratios))
    text = (f"A solver chosen at run time by {' or '.join(kernels)} runs within {numbers.percent(abs(ratios[worst].value - 1))} of the "
            "rate of a kernel compiled for it")
    registers: dict[str, float] = {}  # the maximum over the methods
    for p in solvers:
        if r := p.counters.get("registers_per_thread"):
            registers[p.kernel.title] = max(r, registers.get(p.kernel.title, 0))
    each = words.joined([f"{r:g} ({name})" for name, r in registers.items()])
    return f"{text}; the kernels take up to {each} registers per thread." if len(registers) > 1 else f"{text}."


def _only_counted(view: View, counted: dict) -> str:
    most = max((d for _, d in counted), default=0)
    kernels = {p.kernel.name: p.kernel for p in view.counts.points} if view.counts else {}
    told = [f"{numbers.short(counted[name, most])} from {kernels[name].title}" for name in sorted(kernels, key=lambda name: kernels[name].order)
            if (name, most) in counted]
    return (f"Nothing was timed. Counted passes of a request with {most:g} addresses: {words.joined(told)}." if told else
            "Nothing was timed.")


# Figures


def _row(p: Point) -> dict:
    low, high = p.interval or (None, None)
    return {"kernel": p.kernel.name, **p.sizes, "value": p.value, "low": low, "high": high, **p.sampled, "unit": p.metric.unit,
            "seconds_a_read": _time(p) if "rounds" in p.sizes else None}


def _time_dot(p: Point, x: float):
    from report.draw import lines
    rounds, s = p.sizes["rounds"], p.summary
    ends = (s.low / rounds, s.high / rounds) if s.has_interval else (None, None)
    return lines.Dot(x, _time(p), *ends, hollow=not p.settled)


def _rate_figure(view: View, reads: list[Point], counted: dict) -> list[Figure]:
    points = _full(reads, "independent") or _full(reads, "dependent")
    series = {name: some for name, some in _lines(points, "distinct").items() if len(some) > 1}
    if not series:
        return _counted_figure(view, counted)
    shown = [p for some in series.values() for p in some]

    def draw(fig) -> None:
        from report.draw import lines, style
        made = [lines.Series(name, [lines.dot(p, p.sizes["distinct"]) for p in some]) for name, some in series.items()]
        lines.draw(style.axes(fig, 14, 9, 20, 2), made, "Addresses in a warp", "Rate", log_y=True, limit=10, unit=shown[0].metric.unit)
    caption = (f"Words read per second from a table of {numbers.binary(ROW * shown[0].sizes['rows'])} by {numbers.grouped(shown[0].sizes['n'])} threads, "
               f"by the number of different addresses in a warp’s request. " + words.provenance(view.gpu, shown))
    return [Figure(f"{view.name}_rates", [_row(p) for p in shown], draw, caption,
                   "Line plot of reads per second by the addresses in a warp: constant memory’s rate decreases in proportion, the others do not.",
                   height=62, half=True)]


def _counted_figure(view: View, counted: dict) -> list[Figure]:
    names = list(dict.fromkeys(name for name, _ in counted))
    if not names:
        return []
    titles = {p.kernel.name: p.kernel.title for p in view.counts.points}

    def draw(fig) -> None:
        from report.draw import lines, style
        lines.draw(style.axes(fig, 12, 9, 20, 2), [lines.Series(titles[name], [lines.Dot(d, y) for (k, d), y in counted.items() if k == name])
                                                   for name in names], "Addresses in a warp", "Passes of a request", log_y=True, limit=10)
    return [Figure(f"{view.name}_passes", [{"kernel": name, "distinct": d, "passes": y} for (name, d), y in counted.items()], draw,
                   f"Passes per request by the number of different addresses in a warp’s request, counted; nothing was timed. "
                   f"{words.sentence(view.counts.label)}", "Line plot of passes by addresses.", height=55, half=True)]


def _latency_figure(view: View, reads: list[Point]) -> list[Figure]:
    series = {name: some for name, some in _lines(_alone_by_addresses(reads), "distinct").items() if len(some) > 1}
    return _times(view, series, "distinct", 1, "Addresses in a warp", f"{view.name}_latency",
                  "Time of one read by one warp alone, where each read depends on the one before; the arithmetic of its address is included")


def _levels_figure(view: View, reads: list[Point]) -> list[Figure]:
    points = [p for p in _alone(reads) if p.sizes["distinct"] == 1]
    series = {name: some for name, some in _lines(points, "rows").items() if len(some) > 1}
    return _times(view, series, "rows", ROW, "Table [bytes]", f"{view.name}_levels",
                  "The same by the size of the table; in each row of 128 bytes one word is read")


def _times(view: View, series: dict[str, list[Point]], axis: str, scale: float, xlabel: str, name: str, what: str) -> list[Figure]:
    shown = [p for some in series.values() for p in some]
    if not shown:
        return []

    def draw(fig) -> None:
        from report.draw import lines, style
        made = [lines.Series(title, [_time_dot(p, scale * p.sizes[axis]) for p in some]) for title, some in series.items()]
        lines.draw(style.axes(fig, 14, 9, 20, 2), made, xlabel, "Time of a read", limit=10, unit="s")
    return [Figure(name, [_row(p) for p in shown], draw, f"{what}. " + words.provenance(view.gpu, shown),
                   f"Line plot of the time of a read over {xlabel.lower()}.", height=58, half=True)]


# Tables


def _solver_table(view: View, solvers: list[Point], ratios: dict[str, Ratio]) -> list[Table]:
    rows = []
    for p in sorted(solvers, key=lambda p: (str(p.sizes["method"]), p.kernel.order)):
        found = ratios.get(p.name)
        rows.append({"method": str(p.sizes["method"]).replace("_", "-"), "title": p.kernel.title, "kernel": p.kernel.name, **p.sampled, "value": p.value,
                     "unit": p.metric.unit, "registers": p.counters.get("registers_per_thread"), "over_base": found and found.value, "p": found and found.p,
                     "verdict": found.verdict if found else ""})
    if not rows:
        return []
    unit, base = rows[0]["unit"], next((p.kernel.title for p in solvers if p.kernel.name == view.settings["base"]), "")
    return [Table(f"{view.name}_solvers", f"The same steps by the mechanism that selects the method; compared with the {base}. "
                  + words.provenance(view.gpu, solvers, hollow=False), (
                      Column("method", "method", right=False), Column("title", "chosen by", right=False, wide=True),
                      Column("registers", "registers", lambda v: f"{v:g}"), Column("value", "rate", lambda v: numbers.quantity(v, unit)),
                      Column("over_base", "as fast", numbers.times), Column("verdict", "verdict", right=False)), rows)]


def _reads_table(view: View, reads: list[Point], counted: dict) -> list[Table]:
    rows = [_row(p) | {"title": p.kernel.title, "passes": counted.get((p.kernel.name, p.sizes["distinct"]))}
            for p in sorted(reads, key=lambda p: (p.sizes["n"], str(p.sizes["chain"]), p.sizes["rows"], p.kernel.order, p.sizes["distinct"]))]
    if not rows:
        return []
    unit = rows[0]["unit"]
    return [Table(f"{view.name}_reads", "Every point of the reads. Chain: whether a read depends on the one before; rows: of the table; "
                  "addresses: different ones in a warp. Passes: per request, counted"
                  f"{words.counted_at(view.counts, [view.settings['lookup']], 'n', 'rows', 'rounds')}: distinct words of constant memory, wavefronts "
                  f"of shared memory, lines of the L1. " + words.provenance(view.gpu, reads, hollow=False), (
                      Column("title", "from", right=False, wide=True), Column("n", "threads", numbers.grouped), Column("chain", "chain", right=False),
                      Column("rows", "rows", lambda v: f"{v:g}"), Column("distinct", "addresses", lambda v: f"{v:g}"),
                      Column("passes", "passes", numbers.short), Column("seconds_a_read", "a read", numbers.seconds),
                      Column("value", "rate", lambda v: numbers.quantity(v, unit))), rows)]
