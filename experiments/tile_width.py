"""The width of a tile: the widths that fit each GPU of the catalogue, by the model, and the measured rate of each width."""

from collections import defaultdict
from dataclasses import dataclass

from report.experiment import Column, Figure, Part, Point, Section, Table, View, judge, leaders, numbers, ratio, words

TILE, OCCUPANCY, SHARED, REGISTERS = "tile", "occupancy_theoretical", "shared_bytes_per_block", "registers_per_thread"
ON = "occupancy_on:", "limiter_on:", "registers_on:"
"""Prefixes of a counted point's keys, before the name of a GPU of the catalogue."""
LETTERS = {"threads": "T", "blocks": "B", "registers": "R", "shared memory": "S"}
THREADS = 32
"""The largest number of threads along a side of a block."""


@dataclass(frozen=True)
class Fit:
    """A launch on a GPU: the share of its warps that are resident, the limiting resource, and the registers that cost no block."""

    occupancy: float
    limiter: str
    registers: float


Catalogue = dict[str, dict[float, Fit]]
"""GPU → tile → fit of the launch."""


def section(view: View) -> Section | None:
    timed = [p for p in view.gpu.timed() if p.value and isinstance(p.tunables.get(TILE), (int, float))] if view.gpu else []
    catalogue = _catalogue(view)
    if not timed and not catalogue:
        return None
    texts = [*_rates(view, timed), *_beside(view, timed), *_fits(catalogue)]
    figures = [*([_figure(view, timed)] if timed else []), *([_fits_figure(view, catalogue)] if catalogue else [])]
    return Section(" ".join(texts), figures=figures, appendix=[*([_table(view, timed)] if timed else []), *([_fits_table(view, catalogue)] if catalogue else [])])


def _catalogue(view: View) -> Catalogue:
    found: Catalogue = defaultdict(dict)
    for p in view.counts.points if view.counts else ():
        for key in p.counters:
            if key.startswith(ON[0]) and isinstance(p.tunables.get(TILE), (int, float)):
                name = key.removeprefix(ON[0])
                found[name][p.tunables[TILE]] = Fit(p.counters[key], p.labels.get(ON[1] + name, ""), p.counters.get(ON[2] + name, 0))
    return {name: dict(sorted(tiles.items())) for name, tiles in found.items()}


def _of(view: View, timed: list[Point], which: str) -> list[Point]:
    """The points of the kernel with this key in the TOML, by the width of the tile, at the largest size."""
    points = [p for p in timed if p.kernel.name == view.settings[which]]
    size = max((p.n or 0 for p in points), default=0)
    return sorted((p for p in points if (p.n or 0) == size), key=lambda p: p.tunables[TILE])


# Words


def _at(p: Point) -> str:
    return f"{p.tunables[TILE]:.0f} × {p.tunables[TILE]:.0f}"


def _taken(p: Point) -> str:
    """' (32 KiB of shared memory per block, 50 % occupancy)'."""
    if not {SHARED, OCCUPANCY} <= p.counters.keys():
        return ""
    return f" ({numbers.binary(p.counters[SHARED])} of shared memory per block, {numbers.occupancy(p.counters[OCCUPANCY])} occupancy)"


def _rates(view: View, timed: list[Point]) -> list[str]:
    points = _of(view, timed, "dynamic")
    if not points:
        return []
    (best, *level), widest = leaders(points), points[-1]
    text = f"Of the widths chosen at run time, tiles of {words.fastest(_at(best), map(_at, level))} are the fastest with {numbers.rate(best)}{_taken(best)}"
    if widest is not best:
        loss = judge({"": ratio(widest, best)})[""]
        text += f"; the widest that fit a block, {_at(widest)}{_taken(widest)}, are {words.speed(loss, 'that')}"
    return [f"{text}."]


def _pairs(view: View, timed: list[Point]) -> list[tuple[Point, Point]]:
    """Points of the same width and size, the width at run time and compiled."""
    compiled = {(p.tunables[TILE], p.size_key): p for p in _of(view, timed, "compiled")}
    return [(p, compiled[p.tunables[TILE], p.size_key]) for p in _of(view, timed, "dynamic") if (p.tunables[TILE], p.size_key) in compiled]


def _beside(view: View, timed: list[Point]) -> list[str]:
    pairs = _pairs(view, timed)
    if not pairs:
        return []
    ratios = judge({p.tunables[TILE]: ratio(p, other) for p, other in pairs})
    said = [f"{numbers.times(ratios[p.tunables[TILE]].value)} at a width of {p.tunables[TILE]:.0f}" for p, _ in pairs]
    why = ", whose loops the compiler can unroll" if all(r.value < 1 for r in ratios.values()) else ""
    return [f"A width known only at run time reaches {words.joined(said)}, relative to a width that is compiled in{why}."]


def _fits(catalogue: Catalogue) -> list[str]:
    """For the widest tile with one element per thread, the GPUs that cannot run it; and the width from which shared memory is the limit."""
    tile = max((t for tiles in catalogue.values() for t in tiles if t <= THREADS), default=None)
    if not tile:
        return []
    refused = [name for name, tiles in catalogue.items() if tile in tiles and not tiles[tile].occupancy]
    some = [min(tiles) for tiles in ([t for t, fit in tiles.items() if fit.occupancy and "shared memory" in fit.limiter]
                                     for tiles in catalogue.values()) if tiles]
    text = f"Of the {words.counted(len(catalogue), 'GPU')} of the catalogue, "
    text += f"{words.listed(refused)} cannot run tiles of {tile:.0f} with one thread per element" if refused else (
        f"all run tiles of {tile:.0f} with one thread per element")
    if some:
        text += f"; shared memory becomes the limit on {len(some)}, " + (
            f"at widths from {min(some):.0f} to {max(some):.0f}" if min(some) != max(some) else f"at a width of {min(some):.0f}")
    return [f"{text}."]


# Figures and tables


def _row(part: Part, p: Point) -> dict:
    low, high = p.interval or (None, None)
    c = p.counters
    return {"kernel": p.kernel.name, "title": p.title, "tile": p.tunables[TILE], "size": p.size_text, "threads_per_block": c.get("threads_per_block"),
            "shared_bytes_per_block": c.get(SHARED), "registers_per_thread": c.get(REGISTERS), "blocks_per_sm": c.get("blocks_per_sm"),
            "occupancy_theoretical": c.get(OCCUPANCY), "limiter": p.labels.get("occupancy_limiter"), "op_per_byte": p.requested_intensity,
            "value": p.value, "low": low, "high": high, **p.sampled, "unit": p.metric.unit, "run": part.run.path.name}


def _figure(view: View, timed: list[Point]) -> Figure:
    """The rate by the width of the tile, and the occupancy next to it."""
    series = {some[0].kernel.title: some for which in ("dynamic", "compiled") if (some := _of(view, timed, which))}
    points = [p for line in series.values() for p in line]

    def draw(fig) -> None:
        from report.draw import lines, style
        ax = style.axes(fig, 18, 9, 72, 3)
        lines.draw(ax, [lines.Series(title, [lines.dot(p, p.tunables[TILE]) for p in line]) for title, line in series.items()],
                   "Width of the tile", "Performance", limit=14, unit=points[0].metric.unit)
        known = [p for p in points if OCCUPANCY in p.counters]
        if known:
            _occupancy(style.axes(fig, style.WIDTH - 40, 9, 2, 3), known)
    caption = (f"Tiled products by the width of the tile, {points[0].size_text}: rate and theoretical occupancy. Beyond a width of {THREADS} "
               f"each thread computes several elements. " + words.provenance(view.gpu, points))
    return Figure(f"{view.name}_rates", [_row(view.gpu, p) for p in points], draw, caption,
                  "Line plot of the rate by the width of the tile, and a dot plot of the occupancy.", height=60)


def _occupancy(ax, points: list[Point]) -> None:
    from report.draw import style
    ax.set_xscale("log", base=2)
    for p in points:
        ax.plot([p.tunables[TILE]], [100 * p.counters[OCCUPANCY]], "o", color=style.SERIES[0]["color"], markersize=3.4)
    tiles = sorted({p.tunables[TILE] for p in points})
    ax.set_xlim(tiles[0] / 1.3, tiles[-1] * 1.3)
    style.plain_ticks(ax.xaxis, style.thinned(tiles, 1.9))
    ax.set_ylim(0, 104)
    ax.set_xlabel("Width of the tile")
    ax.set_ylabel("Occupancy [%]", labelpad=1)


def _alike(catalogue: Catalogue) -> list[tuple[list[str], dict[float, Fit]]]:
    """Groups of GPUs with the same fit for every width, in the catalogue's order."""
    groups: dict[tuple, list[str]] = {}
    for name, tiles in catalogue.items():
        groups.setdefault(tuple(tiles.items()), []).append(name)
    return [(names, catalogue[names[0]]) for names in groups.values()]


def _letters(limiter: str) -> str:
    """'T' for threads, 'TS' for threads and shared memory."""
    return "".join(letter for word, letter in LETTERS.items() if word in limiter)


def _fits_figure(view: View, catalogue: Catalogue) -> Figure:
    """One row per group of GPUs, one column per width: the occupancy as a shade, the limits as letters."""
    groups = _alike(catalogue)
    tiles = sorted({t for fits in catalogue.values() for t in fits})
    rows = [{"gpu": name, "tile": t, "occupancy": fit.occupancy, "limiter": fit.limiter, "registers_to_spare": fit.registers}
            for name, fits in catalogue.items() for t, fit in fits.items()]

    def draw(fig) -> None:
        from report.draw import style
        ax = style.axes(fig, 62, 5, 2, 9)
        for y, (names, fits) in enumerate(groups):
            ax.annotate(words.listed(names), (0, y), xycoords=("axes fraction", "data"), xytext=(-4, 0), textcoords="offset points", ha="right",
                        va="center_baseline", size=style.SMALL)
            for x, tile in enumerate(tiles):
                _cell(ax, x, y, fits.get(tile))
        ax.set_xlim(-0.5, len(tiles) - 0.5)
        ax.set_ylim(len(groups) - 0.5, -0.5)
        ax.set_yticks([])
        ax.xaxis.tick_top()
        ax.xaxis.set_label_position("top")
        ax.set_xticks(range(len(tiles)), [f"{t:g}" for t in tiles])
        ax.set_xlabel("Width of the tile")
        ax.tick_params(length=0)
        for spine in ax.spines.values():
            spine.set_visible(False)
    caption = (f"Theoretical occupancy of the tiled product by the model, without the limit by registers: per cent, and the limiting resource: threads (T), block "
               f"slots (B) or shared memory (S); cross: such a block cannot run. Up to a width of {THREADS} a thread computes one element, beyond that "
               "several. GPUs with the same limits share a row. " + words.sentence(f"modelled; {view.counts.label}"))
    return Figure(f"{view.name}_catalogue", rows, draw, caption, "Table of occupancies by GPU and width of the tile, with the limiting resource.",
                  height=16 + 5.2 * len(groups))


def _cell(ax, x: int, y: int, fit: Fit | None) -> None:
    from report.draw import style
    if fit is None:
        return
    colour = style.mix("#ffffff", style.SIDE_COLOUR["gpu"], 0.75 * fit.occupancy)
    ax.add_patch(style.matplotlib.patches.Rectangle((x - 0.48, y - 0.46), 0.96, 0.92, facecolor=colour, edgecolor="none", zorder=1))
    text = f"{100 * fit.occupancy:.0f}\u2009{_letters(fit.limiter)}" if fit.occupancy else f"×\u2009{_letters(fit.limiter)}"
    ax.annotate(text, (x, y), ha="center", va="center_baseline", size=style.SMALL - 0.6,
                color="white" if fit.occupancy > 0.6 else style.INK if fit.occupancy else style.ALERT)


def _table(view: View, timed: list[Point]) -> Table:
    points = sorted(timed, key=lambda p: (p.n or 0, p.tunables[TILE], p.kernel.order))
    return Table(f"{view.name}_points", "Every measured width. Threads and shared memory: per block; registers: per thread; OP/B: "
                  "useful operations per byte requested. "
                  + words.provenance(view.gpu, points, hollow=False), (
        Column("title", "kernel", right=False, wide=True), Column("size", "size", right=False),
        Column("threads_per_block", "threads", lambda v: f"{v:.0f}"), Column("shared_bytes_per_block", "shared memory", numbers.binary),
        Column("registers_per_thread", "registers", lambda v: f"{v:.0f}"), Column("occupancy_theoretical", "occupancy", numbers.occupancy),
        Column("limiter", "limited by", right=False), Column("op_per_byte", "OP/B", numbers.significant),
        Column("value", points[0].metric.unit, numbers.significant)), [_row(view.gpu, p) for p in points])


def _fits_table(view: View, catalogue: Catalogue) -> Table:
    """The number of registers that a thread may use before they are the limit."""
    tiles = sorted({t for fits in catalogue.values() for t in fits})
    rows = [{"gpus": words.listed(names)} | {f"tile_{t:g}": fits[t].registers or None if t in fits else None for t in tiles}
            for names, fits in _alike(catalogue)]
    return Table(f"{view.name}_registers", "Registers that a thread may use before they reduce the number of resident blocks, by the width of the tile "
                 f"(model). {words.sentence(view.counts.label)}", (
                     Column("gpus", "GPU", right=False, wide=True),
                     *(Column(f"tile_{t:g}", f"{t:g}", lambda v: f"{v:.0f}") for t in tiles)), rows)
