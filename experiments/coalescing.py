"""How addresses become sectors: the emulator's counts, next to the useful bandwidth that remains."""

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median

from report.experiment import Column, Figure, Part, Point, Section, Table, View, fastest, numbers, whole_machine, words

STRIDED, MATRIX, GATHER = "copy_strided", "index_2d", "gather"
SECTOR, LANES = 32, 32
"""Bytes of a sector, lanes of a warp."""
LIST_SECTORS = 4
"""Sectors of a request for 32 neighbouring indices of a gather's list."""
HIDES = 0.7
"""A cache hides a pattern if less than this share of the slow-down beyond it is left."""
BEATS = 1.2
"""Caches help if the rate exceeds by this factor the rate that the sectors allow."""
LAID = {"rows": "along rows", "relabelled": "along rows by own labels"}
ONE_DIMENSION = "256"
"""Threads of a block of the kernel that computes rows and columns itself."""
DASHED = (0, (2, 1.2))


@dataclass(frozen=True)
class Access:
    """An access pattern at any size: the kernel, and the sizes, block and data that determine its addresses."""

    kernel: str
    width: float = 4
    stride: float = 1
    offset: float = 0
    block: str = ""
    columns: float = 0
    """Of a matrix that is not square."""
    data: str = ""

    @property
    def title(self) -> str:
        if self.data:
            return f"gather, {self.data}"
        if self.block:
            how = LAID.get(self.kernel.rpartition("/")[2], "down columns")
            return f"{self.columns:.0f} columns, " * bool(self.columns) + f"{how}, {self.block.replace('x', ' × ')}"
        return f"{self.width:g} B, stride {self.stride:g}" + f", offset {self.offset:g}" * bool(self.offset)


@dataclass(frozen=True)
class Count:
    """What a pattern requests: sectors per load request, and bytes moved per useful byte."""

    sectors: float
    moved: float


def section(view: View) -> Section | None:
    counts = _counts(view.counts)
    beyond, within = (_rates(view.gpu, cached) for cached in (False, True))
    cpu = _rates(view.cpu, True) | _rates(view.cpu, False)  # where the last-level cache holds every array, the largest one
    if not (counts or beyond or within or cpu):
        return None
    figures = [*_strides(view, counts, beyond, within), *_patterns(view, counts, beyond), *_offsets(view, counts, beyond),
               *_cpu(view, cpu)]
    return Section(words.paragraphs([*_stride_words(view, counts, beyond), *_trap(view, counts, beyond, within), *_block_words(counts, beyond),
                             *_order_words(view, counts, beyond), *_cpu_words(view, cpu)]),
                   figures=figures, appendix=_tables(view, counts))


# Data


def _access(p: Point) -> Access:
    s, name = p.sizes, p.kernel.name
    if p.kernel.family == STRIDED:
        return Access(name, s.get("width", 4), s.get("stride", 1), s.get("offset", 0))
    if p.kernel.family == MATRIX:
        return Access(name, block=str(p.tunables.get("block", ONE_DIMENSION)), columns=0 if s.get("m") == s["n"] else s["n"])
    return Access(name, data=p.data)


def _ours(points: Iterable[Point]) -> list[Point]:
    return [p for p in points if p.kernel.family in (STRIDED, MATRIX, GATHER)]


def _counts(part: Part | None) -> dict[Access, Count]:
    """By pattern; half of a gather's requests are for its list."""
    found = {}
    for p in _ours(part.points if part else ()):
        c = p.counters
        if not (p.is_counted and c.get("bytes_min") and c.get("load_requests")):
            continue
        sectors = c["load_sectors"] / c["load_requests"]
        found[_access(p)] = Count(2 * sectors - LIST_SECTORS if p.kernel.family == GATHER else sectors,
                                  SECTOR * (c["load_sectors"] + c["store_sectors"]) / c["bytes_min"])
    return found


def _footprint(p: Point) -> float:
    """Bytes of all arrays; a strided copy does not use all of them."""
    useful = p.counters.get("bytes_min") or 0
    return p.sizes["n"] * p.sizes.get("width", 4) + useful / 2 if p.kernel.family == STRIDED else useful


def _is_cached(part: Part, p: Point) -> bool:
    """Whether a cache holds all arrays."""
    return part.level(p, _footprint(p)) != "DRAM"


def _rates(part: Part | None, cached: bool) -> dict[Access, Point]:
    """For each pattern, the largest array that the last-level cache does not hold, or that it holds if `cached`."""
    found: dict[Access, list[Point]] = {}
    for p in whole_machine(_ours(part.timed())) if part else ():
        if p.value and _is_cached(part, p) == cached:
            found.setdefault(_access(p), []).append(p)
    return {access: fastest([p for p in points if p.sizes["n"] == max(q.sizes["n"] for q in points)])
            for access, points in found.items()}


def _predicted(part: Part | None, access: Access, counts: dict[Access, Count], cached: bool = False) -> float | None:
    """Useful GB/s if the bytes of the sectors alone limit the rate."""
    roof = part.at_level("L2" if cached else "DRAM", access.kernel.split("/")[1]) if part else None
    return roof.value / counts[access].moved if roof and access in counts else None


def _by_lines(part: Part, p: Point) -> float | None:
    """Useful GB/s on a CPU if the bytes of the cache lines alone limit the rate."""
    roof, moved = part.dram(p.kernel.family, p.threads), p.counters.get("bytes_dram_model")
    return roof.value * p.counters["bytes_min"] / moved if roof and moved else None


def _over_stride(found: Iterable[Access], width: float) -> list[Access]:
    """The aligned accesses of elements of this width, by stride."""
    return sorted((a for a in found if f"/{STRIDED}/" in a.kernel and a.width == width and not a.offset), key=lambda a: a.stride)


def _widths(*found: Iterable[Access]) -> list[float]:
    return sorted({a.width for some in found for a in some if f"/{STRIDED}/" in a.kernel})


# Words


def _bytes(number: float) -> str:
    """'1 byte', '1.5 bytes'."""
    return f"{numbers.short(number)}\u00a0byte{'' if numbers.short(number) == '1' else 's'}"


def _stride_words(view: View, counts: dict, beyond: dict) -> list[str]:
    lines = _over_stride(beyond, min(_widths(beyond), default=4))
    if len(lines) < 2:
        return _counted_words(counts)
    first, last = beyond[lines[0]], beyond[lines[-1]]
    text = (f"Beyond the caches, reading {lines[0].width:g}-byte elements at a stride of {lines[-1].stride:g} leaves {numbers.rate(last)} "
            f"of useful bandwidth, against {numbers.rate(first)} at a stride of {lines[0].stride:g} ({numbers.times(first.value / last.value)})")
    errors = [abs(x / p.value - 1) for a, p in beyond.items() if f"/{STRIDED}/" in a.kernel and (x := _predicted(view.gpu, a, counts))]
    if errors:
        text += (f"; the sectors that the emulator counts predict the {len(errors)} rates over strides and offsets with a median error of "
                 f"{numbers.percent(median(errors))} of the measured rate (at most {numbers.percent(max(errors))})")
    others = [max(x / p.value, p.value / x) for a, p in beyond.items() if f"/{STRIDED}/" not in a.kernel and (x := _predicted(view.gpu, a, counts))]
    if errors and others:
        text += f", and the rates of {words.counted(len(others), 'other pattern')} within a factor of {numbers.significant(max(others))}"
    return [f"{text}."]


def _counted_words(counts: dict) -> list[str]:
    lines = _over_stride(counts, min(_widths(counts), default=4))
    if not lines:
        return []
    most = max(counts[a].sectors for a in lines)
    first = next(a for a in lines if counts[a].sectors == most)
    return [f"A warp's request for neighbouring {lines[0].width:g}-byte elements takes {numbers.short(counts[lines[0]].sectors)} "
            f"sectors of {SECTOR}\u00a0bytes, and {numbers.short(most)} from a stride of {first.stride:g} on (counted; nothing was timed)."]


def _slow_down(found: dict, width: float, stride: float) -> float | None:
    """The useful bandwidth at stride 1 over the bandwidth at this stride."""
    lines = {a.stride: found[a] for a in _over_stride(found, width)}
    return lines[1].value / lines[stride].value if {1, stride} <= lines.keys() else None


def _trap(view: View, counts: dict, beyond: dict, within: dict) -> list[str]:
    """The cost of the same stride where the L2 holds the array."""
    common = {a.stride for a in _over_stride(beyond, 4)} & {a.stride for a in _over_stride(within, 4)} - {1}
    if not common or not (far := _slow_down(beyond, 4, max(common))) or not (near := _slow_down(within, 4, max(common))):
        return []
    lines = {a.stride: a for a in _over_stride(within, 4)}
    first, last = within[lines[1]], within[lines[max(common)]]
    text = f"Within the L2 the same stride costs {numbers.times(near)} instead of {numbers.times(far)}"
    if near >= HIDES * far:
        return [f"{text}."]
    text += f": a call takes {numbers.seconds(first.summary.median)} without gaps and {numbers.seconds(last.summary.median)} with them"
    allowed = _predicted(view.gpu, lines[max(common)], counts, cached=True)
    if allowed and allowed > last.value:
        text += f"; at the L2’s bandwidth the sectors take only {numbers.seconds(last.counters['bytes_min'] / allowed / 1e9)}"
    return [f"{text}. Arrays of this size hardly show whether accesses are coalesced."]


def _block_words(counts: dict, beyond: dict) -> list[str]:
    """The fastest and the slowest shape of a block along the rows of a square matrix."""
    shapes = sorted((a for a in beyond if a.kernel.endswith("/rows") and not a.columns), key=lambda a: -beyond[a].value)
    if len(shapes) < 2:
        return []
    best, worst = shapes[0], shapes[-1]
    def told(a: Access) -> str:
        moved = f", {_bytes(counts[a].moved)} requested per useful byte" if a in counts else ""
        return f"{a.block.replace('x', ' × ')} threads ({numbers.rate(beyond[a])}{moved})"
    return [f"Of {len(shapes)} shapes of blocks on a matrix, {told(best)} are the fastest and {told(worst)} the slowest."]


def _order_words(view: View, counts: dict, beyond: dict) -> list[str]:
    found = {a.data: a for a in beyond if a.data}
    if not {"identity", "random"} <= found.keys():
        return []
    same, random = beyond[found["identity"]], beyond[found["random"]]
    text = f"A random gather reaches {numbers.rate(random)}, against {numbers.rate(same)} in order ({numbers.times(same.value / random.value)})"
    local = found.get("local")
    if local:
        text += f"; shuffled within 4096 neighbours it reaches {numbers.rate(beyond[local])}"
        allowed = _predicted(view.gpu, local, counts)
        text += (f", more than the {numbers.bandwidth(allowed)} that its {numbers.short(counts[local].sectors)} sectors per request would allow if "
                 "memory served all of them: caches serve some" if allowed and beyond[local].value > BEATS * allowed else "")
    return [f"{text}."]


def _cpu_words(view: View, cpu: dict) -> list[str]:
    lines = _over_stride(cpu, 4)
    if len(lines) < 2:
        return []
    first, last = cpu[lines[0]], cpu[lines[-1]]
    text = (f"The CPU, whose cache lines have 64\u00a0bytes, reaches {numbers.rate(first)} at a stride of {lines[0].stride:g} and "
            f"{numbers.rate(last)} at a stride of {lines[-1].stride:g}")
    orders = {a.data: p for a, p in cpu.items() if a.data}
    if {"identity", "random"} <= orders.keys():
        text += (f"; its gather reaches {numbers.rate(orders['identity'])} in order and {numbers.rate(orders['random'])} at random")
    return [f"{text}."]


# Figures


def _row(part: Part | None, access: Access, p: Point | None, counts: dict, cached: bool = False) -> dict:
    low, high = (p.interval if p else None) or (None, None)
    count = counts.get(access)
    return {"kernel": access.kernel, "access": access.title, "size": p and p.size_text, "n": p and p.n, "within_cache": cached if p else None,
            "width": access.width, "stride": access.stride, "offset": access.offset, "block": access.block, "data": access.data,
            "sectors_per_load_request": count and count.sectors, "moved_per_useful_byte": count and count.moved,
            "gbytes_per_s": p and p.value, "low": low, "high": high,
            **(p.sampled if p else {}), "predicted": _predicted(part, access, counts, cached) if p else None, "seconds": p and p.summary.median}


def _provenance(part: Part | None, points: Iterable[Point], counts: dict, view: View) -> str:
    points = list(points)
    if points:
        return words.provenance(part, points)
    return words.sentence(f"counted; {view.counts.label}") if view.counts else ""


def _counted_at(view: View, *families: str) -> str:
    """The sizes of the counts, which are smaller than the timed sizes."""
    return words.counted_at(view.counts, families, "n")


def _strides(view: View, counts: dict, beyond: dict, within: dict) -> list[Figure]:
    """Sectors per request, and useful bandwidth beyond the L2 and within it, by stride."""
    panels = [(title, found, cached) for title, found, cached in (
        ("counted", counts, None), ("arrays beyond the L2", beyond, False), ("arrays within the L2", within, True))
        if any(_over_stride(found, w) for w in _widths(found))]
    if not panels:
        return []
    shown = [p for title, found, cached in panels if cached is not None for w in _widths(found) for a in _over_stride(found, w)
             if (p := found[a])]
    rows = [_row(view.gpu, a, None if cached is None else found[a], counts, bool(cached))
            for _, found, cached in panels for w in _widths(found) for a in _over_stride(found, w)]

    def draw(fig) -> None:
        from report.draw import style
        left, gap = 12.0, 16.0
        width = (style.WIDTH - left - 2 - gap * (len(panels) - 1)) / len(panels)
        looks = dict(zip(_widths(counts, beyond, within), style.SERIES))
        for i, (title, found, cached) in enumerate(panels):
            at = left + i * (width + gap)
            ax = style.axes(fig, at, 9, style.WIDTH - at - width, 5)
            ax.annotate(title, (0, 1), xytext=(2, 3), xycoords="axes fraction", textcoords="offset points", size=style.SMALL)
            _stride_panel(ax, view, found, counts, cached, looks)
            if i == 0:
                ax.legend(loc="lower right", handlelength=1.6, borderaxespad=0.2)
    text = "Every k-th element of an array is read, and the elements are written contiguously: by stride k and bytes per element. "
    if panels[0][2] is None:
        text += f"{'Left: s' if len(panels) > 1 else 'S'}ectors of {SECTOR}\u00a0bytes per warp request, counted by the emulator{_counted_at(view, STRIDED)}. "
    if shown:
        text += "Bandwidth: useful bytes, the elements alone; dashed: the roof divided by the sectors’ bytes per useful byte. "
    return [Figure(f"{view.name}_strides", rows, draw, text + _provenance(view.gpu, shown, counts, view),
                   "Line plots by stride: sectors per request increase up to 32, and beyond the L2 the useful bandwidth decreases accordingly.",
                   height=58)]


def _stride_panel(ax, view: View, found: dict, counts: dict, cached: bool | None, looks: dict) -> None:
    from report.draw import lines, style
    ax.set_xscale("log", base=2)
    unit, factor = "", 1.0
    if cached is not None:
        factor, unit = numbers.scale(max(p.value for p in found.values()), next(iter(found.values())).metric.unit)
    for width, look in looks.items():
        some = _over_stride(found, width)
        if not some:
            continue
        values = [found[a].sectors if cached is None else found[a].value / factor for a in some]
        ends = [None if cached is None else found[a].interval for a in some]
        dots = [lines.Dot(a.stride, v, *(e / factor for e in end or ()), hollow=cached is not None and not found[a].settled)
                for a, v, end in zip(some, values, ends)]
        lines.one(ax, lines.Series(f"{width:g}\u00a0B", dots, joined=cached is None), look)
        ax.plot([], [], color=look["color"], marker=look["marker"], linestyle="", label=f"{width:g}\u00a0B")
        if cached is not None:
            said = [(a.stride, x / factor) for a in some if (x := _predicted(view.gpu, a, counts, cached))]
            ax.plot([x for x, _ in said], [y for _, y in said], color=look["color"], linewidth=0.8, linestyle=DASHED, zorder=1)
    strides = sorted({a.stride for w in looks for a in _over_stride(found, w)})
    ax.set_xlim(strides[0] / 1.2, strides[-1] * 1.2)
    style.plain_ticks(ax.xaxis, [s for s in strides if s in (1, 2, 4, 8, 16, 32)])
    ax.set_xlabel("Stride [elements]")
    if cached is None:
        ax.set_ylim(0, LANES + 2)
        style.plain_ticks(ax.yaxis, [0, 4, 8, 16, 24, 32])
        ax.set_ylabel("Sectors per request")
    else:
        ax.set_yscale("log")
        low, high = ax.get_ylim()
        ax.set_ylim(low / 1.1, high * 1.1)
        style.rate_ticks(ax.yaxis, *ax.get_ylim())
        ax.set_ylabel(f"Useful bandwidth [{unit}]")


def _over_offset(found: Iterable[Access], width: float) -> list[Access]:
    return sorted((a for a in found if f"/{STRIDED}/" in a.kernel and a.width == width and a.stride == 1), key=lambda a: a.offset)


def _offsets(view: View, counts: dict, beyond: dict) -> list[Figure]:
    """Sectors per request by offset, and the bandwidth relative to an aligned copy."""
    def some(found: dict, w: float) -> list[Access]:
        made = _over_offset(found, w)
        return made if len(made) > 1 else []
    panels = [found for found in (counts, beyond) if any(some(found, w) for w in _widths(found))]
    if not panels:
        return []
    points = [beyond[a] for w in _widths(beyond) for a in some(beyond, w)]
    rows = [_row(view.gpu, a, None if found is counts else found[a], counts) for found in panels for w in _widths(found)
            for a in some(found, w)]

    def draw(fig) -> None:
        from report.draw import lines, style
        looks = dict(zip(_widths(counts, beyond), style.SERIES))
        room = (80.0 - 9 - 5 - 6 * (len(panels) - 1)) / len(panels)
        for i, found in enumerate(panels):
            bottom = 9 + (len(panels) - 1 - i) * (room + 6)
            ax = style.axes(fig, 13, bottom, 2, 80 - bottom - room)
            for width, look in looks.items():
                line = some(found, width)
                if not line:
                    continue
                base = None if found is counts else found[line[0]]
                aside = 0.3 * (list(looks).index(width) - (len(looks) - 1) / 2)
                dots = [lines.Dot(a.offset + aside, found[a].sectors if base is None else found[a].value / base.value) for a in line]
                lines.one(ax, lines.Series("", dots, joined=False), look)
                ax.plot([], [], look["marker"], color=look["color"], label=f"{width:g}\u00a0B")
                said = [(a.offset + aside, x / y) for a in line if base and (x := _predicted(view.gpu, a, counts))
                        and (y := _predicted(view.gpu, line[0], counts))]
                ax.plot([x for x, _ in said], [y for _, y in said], "_", color=look["color"], markersize=6, markeredgewidth=0.8)
            ax.set_xlim(-1, LANES)
            style.plain_ticks(ax.xaxis, [0, 4, 8, 12, 16, 20, 24, 28])
            low, high = ax.get_ylim()
            ax.set_ylim(*((0, 1.25 * high) if found is counts else (min(low, 0.8), max(high, 1.05))))
            if found is counts:
                style.plain_ticks(ax.yaxis, [0, 4, 8, 16])
            ax.set_ylabel("Sectors per request" if found is counts else "Over the aligned rate")
            if i == 0:
                ax.legend(loc="upper right", ncols=3, handletextpad=0.1, columnspacing=0.8, borderaxespad=0)
        ax.set_xlabel("Offset [elements]")
    text = "A copy whose reads begin at an offset from an aligned address, by bytes per element: sectors per load request (counted" + f"{_counted_at(view, STRIDED)})"
    text += ", and the rate relative to the aligned copy; dashes: predicted from the sectors alone" if beyond in panels else ""
    return [Figure(f"{view.name}_offsets", rows, draw, f"{text}. " + _provenance(view.gpu, points, counts, view),
                   "Dot plots by offset: one more sector unless the offset is a multiple of 32 bytes.", height=80, half=True)]


def _patterns(view: View, counts: dict, beyond: dict) -> list[Figure]:
    """Blocks on a matrix and orders of a list: the rate, and the rate that the sectors alone would allow."""
    timed = [a for a in beyond if a.block or a.data]
    shown = timed or [a for a in counts if a.block or a.data]
    if not shown:
        return []
    shown.sort(key=lambda a: (bool(a.data), a.columns, "/columns" in a.kernel, counts[a].sectors if a in counts else 0, a.title))
    rows = [_row(view.gpu, a, beyond.get(a), counts) for a in shown]
    height = 13 + 4.3 * len(shown)

    def draw(fig) -> None:
        from report.draw import style
        from report.draw.paper import text_width
        left = max(text_width(a.title, style.SMALL) for a in shown) / style.POINTS_OF_MM + 3
        ax = style.axes(fig, left, 9, 30, 5)
        values = [r["gbytes_per_s"] or r["sectors_per_load_request"] for r in rows]
        ax.barh(range(len(rows)), values, height=0.62, color=style.mix(style.SIDE_COLOUR["gpu"], "#ffffff", 0.25))
        for i, r in enumerate(rows):
            if timed and r["predicted"]:
                ax.plot([r["predicted"]] * 2, [i - 0.42, i + 0.42], color=style.ALERT, linewidth=1.3)
            ax.annotate(shown[i].title, (0, i), xycoords=("axes fraction", "data"), xytext=(-4, 0), textcoords="offset points", ha="right",
                        va="center_baseline", size=style.SMALL)
            texts = [(numbers.short(r["sectors_per_load_request"]) if r["sectors_per_load_request"] else "–", 32)]
            texts += [(numbers.significant(r["gbytes_per_s"]), 70)] if timed else []
            for text, shift in texts:
                ax.annotate(text, (1, i), xycoords=("axes fraction", "data"), xytext=(shift, 0), textcoords="offset points", ha="right",
                            va="center_baseline", size=style.SMALL)
        for text, shift in (("sectors", 32), ("GB/s", 70))[:2 if timed else 1]:
            ax.annotate(text, (1, 1), xycoords="axes fraction", xytext=(shift, 3), textcoords="offset points", ha="right", size=style.SMALL,
                        color=style.GREY)
        ax.set_ylim(len(rows) - 0.4, -0.6)
        ax.set_yticks([])
        ax.set_xlim(0, 1.05 * max([*values, *(r["predicted"] or 0 for r in rows)]))
        ax.xaxis.set_major_locator(style.matplotlib.ticker.MaxNLocator(6))
        ax.xaxis.set_major_formatter(lambda v, _: style.plain(v))
        ax.set_xlabel("Useful bandwidth [GB/s]" if timed else "Sectors per load request")
    text = ("Matrices covered by blocks of threads, with x along the rows or down the columns, and gathers in several orders"
            f"{', of arrays beyond the L2' if timed else ''}. Sectors: per load request, counted{_counted_at(view, MATRIX, GATHER)}")
    text += "; red: the rate that the sectors alone would allow if memory served all of them" if timed and any(r["predicted"] for r in rows) else ""
    return [Figure(f"{view.name}_patterns", rows, draw, f"{text}. " + _provenance(view.gpu, [beyond[a] for a in timed], counts, view),
                   "Bars of useful bandwidth by block shape and order of the list.", height=height)]


def _cpu(view: View, cpu: dict) -> list[Figure]:
    """Useful bandwidth of the CPU by stride, next to the bandwidth that its cache lines allow."""
    series = {w: some for w in _widths(cpu) if len(some := _over_stride(cpu, w)) > 1}
    if not series:
        return []
    points = [cpu[a] for some in series.values() for a in some]
    rows = [{**_row(None, a, cpu[a], {}), "predicted": _by_lines(view.cpu, cpu[a])} for some in series.values() for a in some]

    def draw(fig) -> None:
        from report.draw import lines, style
        ax = style.axes(fig, 14, 9, 16, 2)
        made = [lines.Series(f"{w:g}\u00a0B", [lines.dot(cpu[a], a.stride) for a in some], joined=False) for w, some in series.items()]
        said = [x for some in series.values() for a in some if (x := _by_lines(view.cpu, cpu[a]))]
        values = [p.value for p in points] + said
        lines.draw(ax, made, "Stride [elements]", "Useful bandwidth", log_y=True, limit=10, unit=points[0].metric.unit,
                   ylim=(min(values) / 1.4, max(values) * 1.4))
        for some, look in zip(series.values(), style.SERIES):
            known = [(a.stride, x) for a in some if (x := _by_lines(view.cpu, cpu[a]))]
            ax.plot([x for x, _ in known], [y for _, y in known], color=look["color"], linewidth=0.8, linestyle=DASHED, zorder=1)
    held = any(_is_cached(view.cpu, p) for p in points)
    caption = "Every k-th element read and written on the CPU, whose cache lines have 64\u00a0bytes, by bytes per element"
    caption += "; the last-level cache holds some of these arrays. " if held else ". "
    if any(_by_lines(view.cpu, p) for p in points):
        caption += f"Dashed: {words.rate_of(view.cpu.dram(STRIDED, points[0].threads))}, divided by the lines’ bytes per useful byte. "
    caption += words.provenance(view.cpu, points)
    return [Figure(f"{view.name}_cpu", rows, draw, caption, "Line plot of the CPU's useful bandwidth by stride.", height=58, half=True)]


def _tables(view: View, counts: dict) -> list[Table]:
    """Every pattern at every size."""
    made = []
    for part in view.timed_parts:
        points = [p for p in whole_machine(_ours(part.timed())) if p.value]
        rows = []
        for p in points:
            cached = _is_cached(part, p)
            row = _row(part if part.side == "gpu" else None, _access(p), p, counts if part.side == "gpu" else {}, cached)
            rows.append(row if part.side == "gpu" else row | {"predicted": _by_lines(part, p)})
        if rows:
            made.append(Table(f"{view.name}_{part.side}_points", f"Every pattern and size on the {part.side.upper()}: sectors per load request "
                              f"(counted{_counted_at(view, STRIDED, MATRIX, GATHER)}), the sectors’ bytes per useful byte, useful bandwidth, and the bandwidth allowed if memory moved all of these bytes; "
                              f"it is exceeded where caches serve a sector twice. "
                              + words.provenance(part, points, hollow=False), (
                                  Column("access", "access", right=False, wide=True), Column("n", "N", numbers.grouped),
                                  Column("sectors_per_load_request", "sectors", numbers.short),
                                  Column("moved_per_useful_byte", "requested", numbers.times),
                                  Column("gbytes_per_s", "rate", numbers.bandwidth), Column("predicted", "allowed", numbers.bandwidth)), rows))
    return made
