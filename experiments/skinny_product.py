"""The skinny product: the gain of each tile in shared memory, in the source's bandwidth and in ours."""

from report.experiment import (
    Column,
    Figure,
    Part,
    Point,
    Ratio,
    Section,
    Table,
    View,
    best_variants,
    fastest,
    judge,
    leaders,
    numbers,
    ratio,
    whole_machine,
    words,
)

GIB = 2**30
DEPTH = 16
BOTH = "by the source’s formula, in units of 2³⁰ bytes"


def section(view: View) -> Section | None:
    gpu, cpu, counts = _points(view, view.gpu), _points(view, view.cpu), _counts(view)
    if not (gpu or cpu or counts):
        return None
    steps = _steps(view, gpu)
    gains = _gains(view, gpu, steps)
    texts = [*_steps_text(view, steps, gains), *_best_text(view, gpu, steps), *_cpu_text(view, cpu), *_counted_text(view, counts)]
    return Section(" ".join(texts[:4]), figures=[*_figure(view, view.gpu, gpu), *_figure(view, view.cpu, cpu)],
                   tables=_step_table(view, gpu, steps, gains), appendix=[*_count_table(view, counts), *_all_table(view, view.gpu, gpu), *_all_table(view, view.cpu, cpu)])


# Points


def _points(view: View, part: Part | None) -> list[Point]:
    """Each kernel's fastest variant at each size."""
    found = whole_machine(part.timed(view.settings["family"])) if part else []
    return [p for p in best_variants(found) if p.gbytes and p.sizes.get("k", DEPTH) == DEPTH]


def _counts(view: View) -> dict[str, Point]:
    points = [p for p in (view.counts.points if view.counts else ()) if p.is_counted and p.kernel.family == view.settings["family"]]
    return {p.kernel.name: p for p in points if p.counters.get("bytes_min")}


def _area(p: Point) -> float:
    return p.sizes.get("m", 0) * p.sizes.get("n", 0)


def _steps(view: View, points: list[Point]) -> list[Point]:
    """The source's steps at the largest size at which all were measured."""
    names = view.settings["steps"]
    by_size_: dict[tuple, dict[str, Point]] = {}
    for p in points:
        by_size_.setdefault(p.size_key, {})[p.kernel.name] = p
    whole = [found for found in by_size_.values() if set(names) <= found.keys()]
    best = max(whole, key=lambda found: _area(found[names[0]]), default={})
    return [best[name] for name in names] if best else []


def _here(points: list[Point], steps: list[Point]) -> list[Point]:
    return [p for p in points if steps and p.size_key == steps[0].size_key]


def _gains(view: View, points: list[Point], steps: list[Point]) -> dict[str, Ratio]:
    """The speed of every kernel relative to the first step, judged together."""
    return judge({p.kernel.name: ratio(p, steps[0]) for p in _here(points, steps) if p.kernel != steps[0].kernel}) if steps else {}


def _binary(p: Point) -> float:
    """The source's bandwidth: units of 2^30 bytes per second, each input read once, the output written once."""
    return p.gbytes * 1e9 / GIB


def _moved(part: Part | None, p: Point) -> float | None:
    """GB/s to and from DRAM by hardware counters."""
    moved = part.counters_of(p).get("dram_bytes") if part else None
    return moved / p.summary.median / 1e9 if moved else None


# Words


def _steps_text(view: View, steps: list[Point], gains: dict[str, Ratio]) -> list[str]:
    if not steps:
        return []
    first, a_tile, both = steps
    told = [words.speed(gains[p.kernel.name], name) for p, name in ((a_tile, "without"), (both, "without any"))]
    rates = " → ".join(numbers.significant(_binary(p)) for p in steps)
    ours = " → ".join(numbers.significant(p.gbytes) for p in steps)
    return [f"At {first.size_text} the product with A’s tile in shared memory is {told[0]}, and with both tiles {told[1]}: {rates}\u00a0GB/s "
            f"{BOTH}, or {ours}\u00a0GB/s in decimal units, each matrix counted once."]


def _best_text(view: View, points: list[Point], steps: list[Point]) -> list[str]:
    """The fastest of all kernels, compared with memory's roof and the libraries."""
    here = _here(points, steps)
    own, peers = ([p for p in here if p.kernel.is_library == x] for x in (False, True))
    (best, *level), peer = leaders(own) or [None], fastest(peers)
    if best is None:
        return []
    text = f"The fastest kernel there is {words.fastest(best.kernel.title, [p.kernel.title for p in level])} with {numbers.bandwidth(best.gbytes)}"
    share = view.gpu.roofs.share(best, view.gpu.memory(best))
    text += f", {words.of_memory(share)}" if share else ""
    if peer:
        text += f"; the fastest library, {peer.kernel.title}, reaches {numbers.bandwidth(peer.gbytes)}"
    return [f"{text}."]


def _cpu_text(view: View, points: list[Point]) -> list[str]:
    largest = max(map(_area, points), default=0)
    best, *level = leaders([p for p in points if _area(p) == largest]) or [None]
    if best is None:
        return []
    return [f"On the CPU the fastest at {best.size_text} is {words.fastest(best.kernel.title, [p.kernel.title for p in level])} with {numbers.bandwidth(best.gbytes)} "
            f"({numbers.rate(best)})."]


def _counted_text(view: View, counts: dict[str, Point]) -> list[str]:
    found = [counts[name] for name in view.settings["steps"] if name in counts]
    if len(found) < 2:
        return []
    asked = [f"{numbers.significant(_loaded(p))} ({p.kernel.title})" for p in found]
    untimed = "" if view.gpu else " The GPU’s kernels were counted only, not timed."
    return [f"By the emulator’s count at {found[0].size_text} the GPU’s code loads {words.joined(asked)} bytes per byte of the matrices; caches can serve "
            f"what exceeds 1.{untimed}"]


def _loaded(p: Point) -> float:
    return p.counters["bytes_executed_loaded"] / p.counters["bytes_min"]


# Figures and tables


def _row(part: Part, p: Point) -> dict:
    low, high = p.interval or (None, None)
    scale = p.gbytes / p.value if p.value else 1
    return {"kernel": p.kernel.name, "title": p.title, "size": p.size_text, "m": p.sizes.get("m"), "n": p.sizes.get("n"),
            "k": p.sizes.get("k"), "seconds": p.summary.median, "gbytes_per_s": p.gbytes, "low": low and low * scale,
            "high": high and high * scale, **p.sampled, "gib_per_s": _binary(p), "gflops": p.gflops,
            "requested": _requested(p), "dram_gbytes_per_s": _moved(part, p)}


def _requested(p: Point) -> float | None:
    """Bytes loaded by the code per byte of the matrices."""
    loaded, least = p.counters.get("bytes_declared_loaded"), p.counters.get("bytes_min")
    return loaded / least if loaded and least else None


def _figure(view: View, part: Part | None, points: list[Point]) -> list[Figure]:
    """Bandwidth by the side of a square C."""
    from report.draw import lines, style
    squares = [p for p in points if p.sizes.get("m") == p.sizes.get("n")]
    series: dict[str, list[Point]] = {}
    for p in squares:
        series.setdefault(p.kernel.title, []).append(p)
    peers = [x for x in series.values() if x[0].kernel.is_library]
    best = max(peers, key=lambda x: max(x, key=_area).gbytes, default=None)
    shown = [x for x in series.values() if not x[0].kernel.is_library or x is best or part.side == "cpu"][:style.MOST]
    if len({_area(p) for x in shown for p in x}) < 2:
        return []
    roof = part.dram(view.settings["family"])

    def dot(p: Point):
        row = _row(part, p)
        return lines.Dot(p.sizes["n"], p.gbytes, row["low"], row["high"], hollow=not p.settled)

    def draw(fig) -> None:
        ax = style.axes(fig, 14, 9, 27, 2)
        top = max([p.gbytes for x in shown for p in x] + ([roof.value] if roof else []))
        lines.draw(ax, [lines.Series(x[0].kernel.title.replace("skinny, ", ""), [dot(p) for p in x]) for x in shown], "M = N", "Bandwidth",
                   limit=17, unit="GB/s", ylim=(0, 1.12 * top))
        if roof:
            ax.axhline(roof.value, color=style.GREY, linewidth=0.8, zorder=1)
            ax.annotate(f"{roof.label}, {numbers.bandwidth(roof.value)}", (ax.get_xlim()[0], roof.value), xytext=(3, 2.5),
                        textcoords="offset points", size=style.SMALL, color=style.GREY)
    others = " Only the fastest library is shown." if part.side == "gpu" and len(peers) > 1 else ""
    caption = (f"Bandwidth of the product of M\u00a0×\u00a016 and 16\u00a0×\u00a0N on the {part.side.upper()}, decimal, each matrix counted "
               f"once.{others} " + words.provenance(part, [p for x in shown for p in x]))
    return [Figure(f"{view.name}_{part.side}", [_row(part, p) for p in points], draw, caption,
                   f"Line plot of bandwidth by M = N for {words.listed([x[0].kernel.title for x in shown])}.", height=66, half=True)]


def _step_table(view: View, points: list[Point], steps: list[Point], gains: dict[str, Ratio]) -> list[Table]:
    """The steps and all others at their size, in both bandwidths, with the source's."""
    here = sorted(_here(points, steps), key=lambda p: (p.kernel.is_library, p.kernel.order))
    if not here:
        return []
    names, published = view.settings["steps"], view.settings.get("published", ())
    rows = []
    for p in here:
        gain = gains.get(p.kernel.name)
        place = names.index(p.kernel.name) if p.kernel.name in names else None
        rows.append(_row(view.gpu, p) | {"gain": gain.value if gain else None, "gain verdict": gain.verdict if gain else None,
                                         "registers": p.counters.get("registers_per_thread"),
                                         **{e["gpu"]: None if place is None else e["steps"][place] for e in published}})
    columns = [Column("title", "kernel", right=False, wide=True), Column("gib_per_s", "2³⁰ B/s", numbers.significant),
               Column("gbytes_per_s", "GB/s", numbers.significant), Column("dram_gbytes_per_s", "DRAM GB/s", numbers.significant),
               Column("requested", "loaded", numbers.significant), Column("gain", "gain", numbers.times),
               *(Column(e["gpu"], e["gpu"], numbers.significant) for e in published)]
    known = [c for c in columns if any(r.get(c.key) is not None for r in rows)]
    moved = f"DRAM GB/s: bytes moved by memory, by hardware counters ({words.EMPTY_CACHES}), over the time. " if any(c.key == "dram_gbytes_per_s" for c in known) else ""
    return [Table(f"{view.name}_steps", f"The product at {here[0].size_text}. 2³⁰ B/s: the source’s formula, which divides by 1024³. GB/s: the same bytes in "
                  f"decimal units, each matrix counted once. {moved}Loaded: bytes that "
                  "the code loads per byte of the matrices. Gain: speed relative to the first step. Last columns: the source’s values. "
                  + words.provenance(view.gpu, here, hollow=False), known, rows)]


def _count_table(view: View, counts: dict[str, Point]) -> list[Table]:
    if not counts:
        return []
    rows = [{"title": p.kernel.title, "kernel": name, "size": p.size_text, "loaded": _loaded(p), "requests": p.counters.get("load_requests"),
             "sectors": p.counters.get("sectors_per_load_request"), "shared": p.counters.get("shared_load_wavefronts"),
             "dram": p.counters["model_dram_bytes"] / p.counters["bytes_min"] if p.counters.get("model_dram_bytes") else None}
            for name, p in sorted(counts.items(), key=lambda item: item[1].kernel.order)]
    columns = [Column("title", "kernel", right=False, wide=True), Column("size", "M × K × N", right=False),
               Column("loaded", "loaded", numbers.significant), Column("requests", "load requests", numbers.grouped), Column("sectors", "sectors each", numbers.significant),
               Column("shared", "shared wavefronts", numbers.grouped), Column("dram", "DRAM (model)", numbers.significant)]
    known = [c for c in columns if any(r.get(c.key) is not None for r in rows)]
    return [Table(f"{view.name}_counts", "Counted by the emulator: bytes loaded per byte of the matrices, requests of warps and their "
                  "sectors, wavefronts of loads from shared memory, and DRAM’s bytes per byte of the matrices by the model of the caches.",
                  known, rows)]


def _all_table(view: View, part: Part | None, points: list[Point]) -> list[Table]:
    if not points:
        return []
    rows = [_row(part, p) for p in sorted(points, key=lambda p: (_area(p), p.size_key, p.kernel.order))]
    return [Table(f"{view.name}_{part.side}_points", f"Every size on the {part.side.upper()}, each kernel in its fastest variant. 2³⁰ B/s, GB/s: as for the steps. "
                  + words.provenance(part, points, hollow=False), (
                      Column("title", "kernel", right=False, wide=True), Column("size", "size", right=False),
                      Column("seconds", "time", numbers.seconds), Column("gib_per_s", "2³⁰ B/s", numbers.significant),
                      Column("gbytes_per_s", "GB/s", numbers.significant), Column("gflops", "rate", numbers.flops)), rows)]
