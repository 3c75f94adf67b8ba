"""The textbook's factor: the gain of the tiled product over the naive one in each setting, and the levels that serve the bytes.

The textbook's model has one level: the time of a kernel is the larger of its bytes over the bandwidth of memory and its
operations over the peak. While memory limits both kernels and serves all requests of the tiled one, the factor is the
width of the tile times the share of the naive kernel's bytes that memory serves.
"""

from dataclasses import dataclass, replace

from report.data.statistics import TOO_FEW
from report.experiment import (
    COLD,
    Column,
    Figure,
    Part,
    Point,
    Ratio,
    Section,
    Table,
    View,
    judge,
    numbers,
    ratio,
    use,
    words,
)

SECTOR = 32
RETURNS = 0.7
"""The factor counts as reached from this share of it on."""
NEAR = 0.1
"""A rate counts as predicted if it differs by at most this share."""
LEVELS = ("merged", "L1", "L2", "DRAM")
TICKS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
MEMORY, ARITHMETIC, PATH = "memory", "arithmetic", "the L1’s data path"


@dataclass(frozen=True)
class Bytes:
    """Of one kernel's loads: the bytes requested, and the bytes that remain after merging and after each level."""

    requested: float
    merged: float
    """Bytes of the sectors of the warps' requests, or of the transactions of half warps: what merging leaves."""
    l1: float
    dram: float | None
    """None where the L2 holds the operands: the counters were read with empty caches."""

    @property
    def shares(self) -> dict[str, float | None]:
        """Shares of the requested bytes. Below 0 where more bytes are fetched than requested."""
        left = (self.requested, self.merged, self.l1, self.dram, 0.0)
        return {level: None if None in (a, b) else (a - b) / self.requested for level, a, b in zip(LEVELS, left, left[1:])}


@dataclass(frozen=True)
class Setting:
    """Both kernels in one setting; `factor`: the speed of the tiled kernel relative to the naive one."""

    part: Part
    naive: Point
    tiled: Point
    factor: float
    ratio: Ratio | None = None
    """Of measured times; else the factor is the model's."""
    limits: tuple[str, str] = ("", "")
    is_repeat: bool = False
    """Whether it has the counters of another setting, which shows them."""

    @property
    def is_measured(self) -> bool:
        return self.ratio is not None

    @property
    def device(self) -> str:
        return self.part.machine.name if self.is_measured else self.naive.labels.get("model_device", "")

    @property
    def bytes(self) -> tuple[Bytes | None, Bytes | None]:
        return _bytes(self.part, self.naive), _bytes(self.part, self.tiled)

    @property
    def knows_dram(self) -> bool:
        return all(found and found.dram is not None for found in self.bytes)

    @property
    def left(self) -> float | None:
        """The share of the naive kernel's requested bytes that leave the multiprocessors."""
        found = self.bytes[0]
        return found.l1 / found.requested if found else None

    @property
    def is_past_l1(self) -> bool:
        return self.naive.tunables.get("loads") == "past_l1"

    @property
    def has_factor(self) -> bool:
        """The model has no bandwidth of an L2, on which loads past the L1 depend."""
        return self.is_measured or not self.is_past_l1

    @property
    def is_plain(self) -> bool:
        """As in the textbook: blocks of the tiles' shape, usual loads, rows without gaps, hot."""
        return _block(self.naive) == "16x16" and not self.is_past_l1 and "lda" not in self.naive.sizes and self.naive.mode != COLD

    @property
    def name(self) -> str:
        p = self.naive
        gap = f"rows {numbers.binary(4 * p.sizes['lda'])} apart" if "lda" in p.sizes else ""
        size = f"N\u00a0=\u00a0{p.n:g}" if p.n else p.size_text
        return ", ".join(x for x in (_block(p).replace("x", " × "), "past L1" if self.is_past_l1 else "", "cold" if p.mode == COLD else "",
                                     gap, size) if x)


def section(view: View) -> Section | None:
    measured, modelled = _measured(view), _modelled(view)
    every = [*measured, *(s for s in modelled if s.has_factor)]
    if not every:
        return None
    base = _base(measured)
    texts = [*(_here(view, base) or _model_here(view, every)), *_memory(measured), *_path(base), *_most(view, base, measured),
             *_unmerged(view, every), *_old(view, every)]
    shown = [s for s in every if s.left]
    figures = [_figure(view, shown)] if shown else []
    return Section(words.paragraphs(texts), figures=figures, paper=figures,
                   tables=[_table(view, f"{view.name}_shares", _telling(every), "In the textbook’s blocks. ")],
                   answer=_answer(view, base),
                   appendix=[_table(view, f"{view.name}_settings", [*measured, *modelled], "Every setting. ")])


# Settings


def _block(p: Point) -> str:
    block = p.tunables.get("block", "16x16")
    return block if isinstance(block, str) else f"{block:g}x{block:g}"


def _pairs(view: View, points: list[Point], names: str = "kernels") -> list[tuple[Point, Point]]:
    """Each naive point with the tiled point of the same sizes, mode, loads and modelled device."""
    def key(p: Point) -> tuple:
        return p.size_key, p.mode, str(p.tunables.get("loads", "usual")), p.labels.get("model_device", "")
    naive, tiled = view.settings[names]
    width = view.settings["width"]
    second = {key(p): p for p in points if p.kernel.name == tiled and p.tunables.get("tile", width) == width}
    return [(p, second[key(p)]) for p in points if p.kernel.name == naive and key(p) in second]


def _measured(view: View) -> list[Setting]:
    """Of this experiment; where it was not measured, the same two kernels in the textbook's blocks, from the most informative experiment."""
    if view.gpu:
        pairs = _pairs(view, [p for p in view.gpu.points if p.is_timed and not p.kernel.is_ceiling])
        return _timed(view.gpu, pairs) if pairs else []
    made = []
    for part in (one.gpu for one in view.suite if one.gpu):
        pairs = [pair for pair in _pairs(view, [p for p in part.points if p.is_timed], "ladder") if _block(pair[0]) == "16x16"]
        made += [_timed(part, pairs)] if pairs else []
    return max(made, key=_knowledge, default=[])


def _knowledge(settings: list[Setting]) -> tuple:
    """Sort key of informative experiments: known bytes of the plain pair, then its known limits, then its size."""
    base = _base(settings)
    return (all(base.bytes), base.knows_dram, all(base.limits), base.naive.n or 0) if base else (False, False, False, 0)


def _timed(part: Part, pairs: list[tuple[Point, Point]]) -> list[Setting]:
    ratios = judge({i: ratio(tiled, naive) for i, (naive, tiled) in enumerate(pairs)})
    made = [Setting(part, naive, tiled, ratios[i].value, ratios[i], tuple(use(part, p).limit or "" for p in (naive, tiled)))
            for i, (naive, tiled) in enumerate(pairs)]
    return sorted(_once(made), key=lambda s: (s.naive.n or 0, s.is_past_l1, s.naive.name))


def _once(made: list[Setting]) -> list[Setting]:
    """Among settings with the same counters, one shows them: preferably with DRAM's bytes, then the hot one."""
    groups: dict[tuple[str, str], list[Setting]] = {}
    for s in made:
        groups.setdefault((s.part.counters_name(s.naive), s.part.counters_name(s.tiled)), []).append(s)
    shown = [max(group, key=lambda s: (s.knows_dram, s.naive.mode != COLD)) for group in groups.values()]
    return [replace(s, is_repeat=all(s is not one for one in shown)) for s in made]


def _modelled(view: View) -> list[Setting]:
    made = []
    for naive, tiled in _pairs(view, [p for p in view.counts.points if p.is_counted] if view.counts else []):
        times = _times(naive), _times(tiled)
        if all(times):
            slowest = [max(t, key=t.get) for t in times]
            made.append(Setting(view.counts, naive, tiled, times[0][slowest[0]] / times[1][slowest[1]], None, tuple(slowest)))
    return sorted(made, key=lambda s: (s.device, s.is_past_l1, s.naive.name))


def _times(p: Point) -> dict[str, float]:
    """Seconds of a counted point on each resource of the modelled device, by its data sheet; wavefronts of shared memory are
    on the L1's path."""
    c = p.counters
    known = "model_dram_bytes", "model_device_gbytes_per_s", "model_device_gflops"
    if not all(c.get(key) for key in known) or not p.flops:
        return {}
    times = {MEMORY: c["model_dram_bytes"] / c["model_device_gbytes_per_s"] / 1e9, ARITHMETIC: p.flops / c["model_device_gflops"] / 1e9}
    if c.get("model_l1_load_lines") and c.get("model_device_wavefronts_per_s"):
        waves = c["model_l1_load_lines"] + c.get("shared_load_wavefronts", 0.0) + c.get("shared_store_wavefronts", 0.0)
        times[PATH] = waves / c["model_device_wavefronts_per_s"]
    return times


def _bytes(part: Part, p: Point) -> Bytes | None:
    """By hardware counters of a timed point, by the model of the caches of a counted one."""
    if p.is_counted:
        c = p.counters
        requested, dram = c.get("bytes_executed_loaded"), c.get("model_dram_bytes_read")
        if not requested or dram is None:
            return None
        sectors, fetched = c.get("model_l1_load_sectors"), c.get("model_l2_load_sectors", 0.0)
        return Bytes(requested, SECTOR * sectors, SECTOR * fetched, dram) if sectors else Bytes(requested, dram, dram, dram)
    c, requested = part.counters_of(p), p.counters.get("bytes_declared_loaded")
    if not requested or not c.get("l1_load_sectors"):
        return None
    merged = SECTOR * c["l1_load_sectors"]
    # The bytes of the L2 include transfers between its parts: where only this total is known, it bounds the L1's requests.
    fetched = SECTOR * c["l2_load_sectors"] if c.get("l2_load_sectors") else min(c.get("l2_bytes", 0.0), merged)
    return Bytes(requested, merged, fetched, c.get("dram_bytes_read")) if fetched else None


def _base(measured: list[Setting]) -> Setting | None:
    """The plain setting whose bytes are known, else one with enough samples for a test, at the largest size."""
    return max((s for s in measured if s.is_plain), key=lambda s: (all(s.bytes), s.knows_dram, s.ratio.verdict != TOO_FEW, s.naive.n or 0), default=None)


def _telling(settings: list[Setting]) -> list[Setting]:
    """The settings with blocks of the tiles' shape; all settings if there are none."""
    return [s for s in settings if _block(s.naive) == "16x16"] or settings


def _is_old(s: Setting) -> bool:
    """Modelled, on a device without caches."""
    return not s.is_measured and bool(s.bytes[0]) and PATH not in _times(s.naive)


# Words


def _served(found: Bytes) -> str:
    """'merging within a warp’s request serves 50 % of the naive kernel’s requested bytes, L1 44 %, L2 4.1 % and DRAM 1.9 %'."""
    s = found.shares
    if s["DRAM"] is None:
        return f"merging within a warp’s request serves {numbers.percent(s['merged'])} of the naive kernel’s requested bytes and L1 {numbers.percent(s['L1'])}"
    return (f"merging within a warp’s request serves {numbers.percent(s['merged'])} of the naive kernel’s requested bytes, L1 {numbers.percent(s['L1'])}, "
            f"L2 {numbers.percent(s['L2'])} and DRAM {numbers.percent(s['DRAM'])}")


def _here(view: View, base: Setting | None) -> list[str]:
    if not base:
        return []
    doubt = f" ({base.ratio.doubt})" if base.ratio.doubt else ""
    texts = [f"The textbook’s model predicts a factor of {view.settings['width']}; tiles of 16 × 16 are {numbers.times(base.factor)} as fast as "
             f"the naive kernel on {base.device}{doubt}, at {base.naive.size_text}."]
    naive = base.bytes[0]
    if naive:
        texts.append(f"By hardware counters ({words.EMPTY_CACHES}), {_served(naive)}{_like_tiles(base)}.")
    return texts


def _answer(view: View, base: Setting | None) -> list[str]:
    """For the first page."""
    if not base:
        return []
    doubt = f" ({base.ratio.doubt})" if base.ratio.doubt else ""
    text = (f"On {base.device}, 16 × 16 tiles make the naive {words.type_name(base.naive.kernel.type)} product {numbers.times(base.factor)} as fast at "
            f"{base.naive.size_text}{doubt}, where the textbook’s bound by bandwidth allows {view.settings['width']}×")
    naive, why = base.bytes[0], []
    if naive and naive.dram is not None:
        why.append(f"merged requests and caches keep {_all_but(naive.shares['DRAM'])} of its requests from DRAM ({words.ONE_PROFILE})")
    if base.limits[0] and base.limits[0] == base.limits[1]:
        why.append(f"both kernels are limited by {'the data path of L1 and shared memory' if base.limits[0] == 'L1' else base.limits[0]}")
    return [f"{text}{f': {words.joined(why)}' if why else ''}."]


def _all_but(share: float) -> str:
    """'98.4 %' of 0.0162."""
    return f"{numbers.short(100 * (1 - share))}\u00a0%"


def _model_here(view: View, modelled: list[Setting]) -> list[str]:
    """Where nothing was measured: the model of a GPU with caches, else of any GPU."""
    cached = [s for s in modelled if not _is_old(s)]
    s = next((s for s in cached or modelled if s.is_plain), next(iter(cached or modelled), None))
    if not s:
        return []
    width, naive = view.settings["width"], s.bytes[0]
    texts = [f"The textbook’s model predicts a factor of {width}; the model of {s.device} gives {numbers.times(s.factor)} ({s.name}): {_slowest(s)}."]
    if naive and not _is_old(s):
        texts.append(words.sentence(f"{_served(naive)}{_like_tiles(s)}"))
    return texts


def _unmerged(view: View, every: list[Setting]) -> list[str]:
    """Where the model of a GPU with caches reaches the factor, unless a measured setting does."""
    wanted = RETURNS * view.settings["width"]
    cached = [s for s in every if not s.is_measured and not _is_old(s)]
    most = max(cached, key=lambda s: s.factor, default=None)
    if not most or most.factor < wanted or any(s.factor >= wanted for s in every if s.is_measured):
        return []
    return [f"By the model of {most.device} the factor comes back ({numbers.times(most.factor)}) where a warp’s requests do not merge ({most.name}), since "
            "each request then takes one cycle of the L1’s data path per line."]


def _memory(measured: list[Setting]) -> list[str]:
    """The change of the DRAM’s bytes, where counters are available."""
    known = [(s.naive.n, s.bytes[1].dram / s.bytes[0].dram) for s in measured if s.is_plain and s.naive.n and s.knows_dram]
    if not known:
        return []
    each = [f"{numbers.significant(more, 2)}{' times as many bytes as the naive one' if i == 0 else ''} at N\u00a0=\u00a0{n:g}" for i, (n, more) in enumerate(sorted(known))]
    fall = any(more < 1 - NEAR for _, more in known)
    return [f"From DRAM ({words.EMPTY_CACHES}) the tiled kernel reads {words.joined(each)}{'' if fall else ', so that tiles save nothing there'}."]


def _slowest(s: Setting) -> str:
    if s.limits[0] == s.limits[1]:
        return f"both kernels are limited by {s.limits[0]}"
    return f"the naive kernel is limited by {s.limits[0]}, the tiled one by {s.limits[1]}"


def _like_tiles(s: Setting) -> str:
    """Where merging and L1 leave about as many bytes as the tiled kernel requests."""
    naive, tiled = s.bytes
    if not tiled or abs(naive.l1 / tiled.requested - 1) > 2 * NEAR:
        return ""
    return (f"; {numbers.percent(naive.l1 / naive.requested)} leave the multiprocessors, and the tiled kernel requests "
            f"{numbers.percent(tiled.requested / naive.requested)}: merging and L1 do the tiles’ work")


def _path(base: Setting | None) -> list[str]:
    """The resource that both kernels use most."""
    shares = [use(base.part, p).shares.get("L1") for p in (base.naive, base.tiled)] if base else []
    if not shares or None in shares:
        return []
    both = f"{numbers.percent(shares[0])} and {numbers.percent(shares[1])}"
    waves = [base.part.counters_of(p).get("l1_wavefronts") for p in (base.naive, base.tiled)]
    fewer = (f" A tile moves loads from the L1 to shared memory, which is the same path: the tiled kernel needs {numbers.times(waves[0] / waves[1])} fewer passes through it, "
             "and that is its gain." if all(waves) and abs(waves[0] / waves[1] / base.factor - 1) < 0.1 else "")
    if min(shares) >= 0.8:
        return [f"Both are limited by the L1’s data path, which also serves shared memory: they keep it {both} busy.{fewer}"]
    return [f"They keep the L1’s data path, which also serves shared memory, {both} busy."]


def _most(view: View, base: Setting | None, measured: list[Setting]) -> list[str]:
    best = max(measured, key=lambda s: s.factor, default=None)
    if not best or best is base:
        return []
    wanted = RETURNS * view.settings["width"]
    past = next((s for s in measured if base and s.is_past_l1 and _block(s.naive) == "16x16" and "lda" not in s.naive.sizes
                 and s.naive.mode == base.naive.mode and s.naive.n == base.naive.n), None)
    text = f"Where loads bypass the L1, the factor is {numbers.times(past.factor)}. " if past else ""
    text += f"Of {words.counted(len(measured), 'measured setting')} the factor is largest, {numbers.times(best.factor)}, with a block of {best.name}"
    back = [s for s in measured if s.factor >= wanted]
    return [f"{text}; {len(back)} of them reach{'es' if len(back) == 1 else ''} {numbers.percent(RETURNS)} of the textbook’s {view.settings['width']}×, {'none of these with its blocks of 16 × 16' if all(_block(s.naive) != '16x16' for s in back) else 'some of these with its blocks of 16 × 16'}." if back else
            f"{text}; none reaches {numbers.percent(RETURNS)} of the textbook’s {view.settings['width']}×."]


def _old(view: View, modelled: list[Setting]) -> list[str]:
    """By the model, without caches."""
    old = [s for s in modelled if _is_old(s) and s.is_plain]
    if not old:
        return []
    each = words.joined([f"{numbers.times(s.factor)} on {s.device} at {s.naive.size_text}" for s in old])
    fetched = words.joined([numbers.percent(s.left) for s in old])
    back = all(s.factor >= RETURNS * view.settings["width"] for s in old)
    return [f"Without caches for global memory the model gives {each}, where half warps’ transactions fetch {fetched} of the naive kernel’s "
            f"requested bytes{f': at least {numbers.percent(RETURNS)} of the textbook’s factor' if back else ''}."]


# Figure and tables


def _figure(view: View, shown: list[Setting]) -> Figure:
    groups: dict[str, list[Setting]] = {}
    for s in shown:
        groups.setdefault(("measured, past L1" if s.is_past_l1 else "measured") if s.is_measured else f"{s.device}, model", []).append(s)

    def draw(fig) -> None:
        from report.draw import lines, style
        width = view.settings["width"]
        low, high = min(s.left for s in shown) / 1.3, max(s.left for s in shown) * 1.3
        ends = sorted({low, min(max(1 / width, low), high), high})
        line = lines.Series("the textbook’s model", [lines.Dot(100 * x, max(1.0, width * x)) for x in ends],
                            {"color": style.GREY, "marker": ",", "linestyle": "--"})
        made = [lines.Series(name, [_dot(s) for s in sorted(group, key=lambda s: s.left)], style.SERIES[i] | {
            "marker": "o" if group[0].is_measured else ("s", "^", "D")[i % 3]}, joined=False)
            for i, (name, group) in enumerate(list(groups.items())[:style.MOST - 1])]
        ax = style.axes(fig, 16, 9, 40)
        lines.draw(ax, [*made, line], "Requested bytes of the naive kernel that leave the multiprocessors [%]",
                   "Speed of tiled over naive", log_y=True, xlim=(100 * low, 100 * high))
        style.plain_ticks(ax.xaxis, [x for x in TICKS if low <= x / 100 <= high])
    seen = {s.is_measured for s in shown}
    caption = ("Speed-up by tiles of 16 × 16, by the share of the naive kernel’s requested bytes that neither merging nor L1 serves. "
               f"{'Circles: measured. ' if True in seen else ''}")
    if False in seen:
        caption += (f"{'Other marks: m' if True in seen else 'M'}odelled; each time is the longest of bytes over memory’s bandwidth, operations over the peak and "
                    "wavefronts of the L1’s data path. ")
    caption += f"Dashed: the textbook’s model, {view.settings['width']} times that share, and 1 where caches do the tiles’ work. "
    caption += _origin(shown) + _provenance(view, shown)
    return Figure(f"{view.name}_factor", [_row(s) for s in shown], draw, caption,
                  "Scatter plot of the factor by the share of bytes that leave the multiprocessors, with the textbook’s line.", height=66)


def _origin(settings: list[Setting], shares: bool = False) -> str:
    """The origin of the measured bytes; `shares`: for a table of them, also the rows that have none."""
    measured = [s for s in settings if s.is_measured and any(s.bytes)]
    if not measured:
        return ""
    text = (f"Measured: requested bytes by the kernel’s record, the rest by hardware counters, {words.EMPTY_CACHES}")
    if shares and any(s.is_repeat for s in measured):
        text += "; hot and cold are one measurement, shown once"
    if shares and any(not s.knows_dram and not s.is_repeat for s in measured):
        text += "; no L2 and DRAM in hot rows whose operands the L2 holds"
    return f"{text}. "


def _provenance(view: View, settings: list[Setting]) -> str:
    timed = [s for s in settings if s.is_measured]
    if timed:
        points = [p for s in timed for p in (s.naive, s.tiled)]
        return words.provenance(timed[0].part, points, hollow=False)
    return words.sentence(f"modelled; {view.counts.label}")


def _dot(s: Setting):
    from report.draw import lines
    ends = s.ratio.interval if s.ratio else None
    return lines.Dot(100 * s.left, s.factor, *(ends or (None, None)))


def _row(s: Setting) -> dict:
    row = {"setting": s.name, "where": f"{s.device}{'' if s.is_measured else ' (model)'}", "factor": s.factor if s.has_factor else None, "left": s.left,
           "naive_gflops": s.naive.gflops if s.is_measured else None, "tiled_gflops": s.tiled.gflops if s.is_measured else None,
           "naive_limit": s.limits[0], "tiled_limit": s.limits[1], "limits": " / ".join(x or "–" for x in dict.fromkeys(s.limits)) if s.has_factor else "–"}
    for who, found in zip(("naive", "tiled"), s.bytes):
        row |= {f"{who}_{level}": found.shares[level] if found and not s.is_repeat else None for level in LEVELS}
    return row


def _table(view: View, name: str, settings: list[Setting], what: str) -> Table:
    caption = (f"{what}Shares of both kernels’ requested bytes that merging, L1, L2 and DRAM serve, in per cent; below 0 where more is "
               "fetched than requested. Factor: the speed of tiled over naive. Limits: of both kernels. ")
    caption += _origin(settings, shares=True) + _provenance(view, settings)
    return Table(name, caption, (
        Column("setting", "setting", right=False, wide=True), Column("where", "GPU", right=False), Column("factor", "factor", numbers.times),
        *(Column(f"{who}_{level}", f"{who}: {level}" if level == LEVELS[0] else level, _percent) for who in ("naive", "tiled") for level in LEVELS),
        Column("limits", "limits", right=False)), [_row(s) for s in settings])


def _percent(share: float) -> str:
    return numbers.short(100 * share)
