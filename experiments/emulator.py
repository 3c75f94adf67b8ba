"""The emulator, compared: its counts and cache model with hardware counters, its findings with other tools', its speed with
other emulators'."""

from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

from report.data.companions import Emulator, EmulatorFile, EmulatorRate, PlantedFault
from report.data.view import order
from report.experiment import Column, Figure, Part, Point, Section, Table, View, numbers, words

Pairs = list[tuple[Point, dict[str, float]]]
"""Counted points, each with the hardware's counters of the same point."""
OURS = "emulator"
MILLION = 1e6


@dataclass(frozen=True)
class Quantity:
    """A quantity that both count: sums of the emulator's counters and of the hardware's."""

    title: str
    ours: tuple[str, ...]
    theirs: tuple[str, ...]
    is_model: bool = False
    """Whether the emulator's model of the caches gives the count, and not the execution of the source."""


EXECUTED = (
    Quantity("multiply-adds", ("fmas",), ("ffma", "dfma")),
    Quantity("additions", ("adds",), ("fadd", "dadd")),
    Quantity("multiplications", ("muls",), ("fmul", "dmul")),
    Quantity("load requests", ("load_requests", "async_requests"), ("load_requests",)),
    Quantity("store requests", ("store_requests",), ("store_requests",)),
    Quantity("atomic requests", ("atomic_requests",), ("atomic_requests",)),
    Quantity("load sectors", ("load_sectors", "async_sectors"), ("l1_load_sectors",)),
    Quantity("store sectors", ("store_sectors",), ("l1_store_sectors",)),
    Quantity("atomic sectors", ("atomic_sectors",), ("atomic_sectors",)),
    Quantity("shared requests", ("shared_load_requests", "shared_store_requests"),
             ("shared_load_requests", "shared_store_requests")),
    Quantity("shared wavefronts", ("shared_load_wavefronts", "shared_store_wavefronts"),
             ("shared_load_wavefronts_exact", "shared_store_wavefronts_exact")),
    Quantity("shared atomics", ("shared_atomic_requests",), ("shared_atomic_requests",)),
    Quantity("wavefronts of shared atomics", ("shared_atomic_wavefronts",), ("shared_atomic_wavefronts",)))
MODELLED = (
    Quantity("L1 hits (model)", ("model_l1_load_hits",), ("l1_load_hits",), True),
    Quantity("L2 sectors (model)", ("model_l2_load_sectors",), ("l2_load_sectors",), True),
    Quantity("DRAM bytes (model)", ("model_dram_bytes",), ("dram_bytes",), True))
COLUMNS = {"operations": EXECUTED[:3], "requests": EXECUTED[3:6], "sectors": EXECUTED[6:9], "shared requests": EXECUTED[9:10],
           "shared wavefronts": EXECUTED[10:11], "shared atomics": EXECUTED[11:]}
"""Columns of the table by kernel."""
BULK = ("bulk_loads", "bulk_stores")
COMPILED = {"shared requests", "shared wavefronts"}
"""Quantities that the compiler changes by merging loads or keeping values in registers."""


def section(view: View) -> Section | None:
    part, faults = view.counts, _faults(view)
    pairs = _pairs(part) if part else []
    file = view.companions.emulators
    texts = [*_counts_text(part, pairs), *_model_text(_modelled(part, pairs)), *_faults_text(faults), *_rates_text(file)]
    if not texts and not part:
        return None
    figures = [*([_ratio_figure(view, pairs)] if pairs else []), *([_faults_figure(view, faults)] if faults else [])]
    return Section(words.paragraphs(texts) or f"{words.counted(len(part.points), 'point')} were counted by the emulator; no hardware "
                   "counters are available for them.", figures=figures,
                   appendix=[*_counts_table(view, pairs), *_model_table(view, _modelled(part, pairs)),
                             *_faults_table(view, faults), *_rates_table(view, file)])


# Counts and hardware counters


def _pairs(part: Part) -> Pairs:
    found = [(p, part.counters_of(p)) for p in sorted(part.points, key=order) if p.is_counted]
    return [(p, seen) for p, seen in found if seen]


def _modelled(part: Part | None, pairs: Pairs) -> Pairs:
    """Points whose cache model is of the GPU that the counters are from."""
    return [(p, seen) for p, seen in pairs if p.labels.get("model_device", "\0").lower() in part.counter_machine.lower()]


def _both(q: Quantity, p: Point, seen: dict[str, float]) -> tuple[float, float] | None:
    """The emulator's count and the hardware's; None where one is unknown."""
    if not set(q.ours) <= p.counters.keys() or q.theirs[0] not in seen:
        return None
    return sum(p.counters[k] for k in q.ours), sum(seen.get(k, 0.0) for k in q.theirs)


def _is_equal(p: Point, seen: dict[str, float], which: tuple[Quantity, ...]) -> bool:
    both = [_both(q, p, seen) for q in which]
    return all(pair is None or pair[0] == pair[1] for pair in both)


def _counts_text(part: Part | None, pairs: Pairs) -> list[str]:
    if not pairs:
        return []
    certain = tuple(q for q in EXECUTED if q.title not in COMPILED)
    others = sorted({p.kernel.title for p, seen in pairs if not _is_equal(p, seen, certain)})
    equal = sum(_is_equal(p, seen, certain) for p, seen in pairs)
    kernels = len({p.kernel.name for p, _ in pairs})
    text = (f"For {words.of_all(equal, len(pairs), 'point')} of {words.counted(kernels, 'kernel')} the "
            f"emulator counts exactly as many operations, requests and sectors of global memory as the counters of {part.counter_machine}"
            f"{f'; the exceptions are points of {words.joined(others)}' if others else ''}.")
    if bulk := sum(any(p.counters.get(key) for key in BULK) for p, _ in pairs):
        text += f" Bulk copies, in {words.counted(bulk, 'point')}, are not compared: the hardware’s counters of requests and sectors do not include them."
    shared = [pair for p, seen in pairs if (pair := _both(_named("shared requests"), p, seen)) and pair[0]]
    fewer = sum(b < a for a, b in shared)
    text += (" The emulator executes the source, the GPU the compiled code")
    if fewer:
        text += (f": in {fewer} of {len(shared)} points that use shared memory the compiler merged accesses or kept values "
                 "in registers, so that the GPU makes fewer requests")
    return [f"{text}."]


def _named(title: str) -> Quantity:
    return next(q for q in (*EXECUTED, *MODELLED) if q.title == title)


def _model_text(pairs: Pairs) -> list[str]:
    """The deviation of the model of the caches."""
    each = []
    for q in MODELLED[1:]:
        off = [abs(both[0] / both[1] - 1) for p, seen in pairs if (both := _both(q, p, seen)) and both[1]]
        if off:
            name = q.title.removesuffix(" (model)")
            each.append(f"in {name} by {numbers.percent(off[0])}" if len(off) == 1 else
                        f"in {name} by a median of {numbers.percent(median(off))} (at most {numbers.percent(max(off))})")
    where = "at one point" if len(pairs) == 1 else f"over {len(pairs)} points"
    return [f"Its model of the caches deviates {words.joined(each)}, {where}, each {words.ONE_PROFILE}."] if each else []


def _ratio_figure(view: View, pairs: Pairs) -> Figure:
    """The emulator's count over the hardware's: one row per quantity, one mark per point."""
    part, modelled = view.counts, _modelled(view.counts, pairs)
    rows = []
    for q in (*EXECUTED, *MODELLED):
        for p, seen in modelled if q.is_model else pairs:
            both = _both(q, p, seen)
            if both and any(both):
                rows.append({"quantity": q.title, "is_model": q.is_model, "kernel": p.kernel.name, "point": p.name,
                             "emulator": both[0], "hardware": both[1], "ratio": both[0] / both[1] if both[1] else None})
    titles = [q.title for q in (*EXECUTED, *MODELLED) if any(r["quantity"] == q.title for r in rows)]

    def draw(fig) -> None:
        from report.draw import style
        ax = style.axes(fig, 27, 9, 15, 5)
        shown = [r["ratio"] for r in rows if r["ratio"]]
        ax.set_xscale("log")
        ax.set_xlim(min(*shown, 0.8), max(*shown, 1.25) * 1.15)
        ax.set_ylim(len(titles) - 0.4, -0.6)
        low, high = ax.get_xlim()
        style.plain_ticks(ax.xaxis, [t for t in (0.01, 0.1, 0.2, 0.5, 0.8, 1, 1.2, 1.5, 2, 5, 10, 100) if low <= t <= high])
        ax.set_yticks(range(len(titles)), titles)
        ax.tick_params(axis="y", length=0)
        ax.set_xlabel("Emulator over hardware")
        ax.axvline(1, color=style.GREY, linewidth=0.7, linestyle=(0, (1, 2)), zorder=1)
        for i, title in enumerate(titles):
            mine = [r for r in rows if r["quantity"] == title]
            colour = style.PEER if mine[0]["is_model"] else style.OWN
            ax.plot([r["ratio"] for r in mine if r["ratio"]], [i] * sum(bool(r["ratio"]) for r in mine), "o", markersize=3,
                    markerfacecolor="none", markeredgewidth=0.7, color=colour, zorder=3)
            equal = sum(r["emulator"] == r["hardware"] for r in mine)
            ax.annotate(f"{equal} of {len(mine)}", (1, i), xycoords=("axes fraction", "data"), xytext=(4, 0), size=style.SMALL,
                        textcoords="offset points", va="center_baseline", color=style.INK, annotation_clip=False)
        ax.annotate("equal", (1, -0.6), xycoords=("axes fraction", "data"), xytext=(4, 1), textcoords="offset points",
                    size=style.SMALL, va="bottom", color=style.GREY, annotation_clip=False)
    caption = (f"Counts of the emulator divided by counts of {part.counter_tool} on the {part.counter_machine}; one circle per point. "
               f"{'The last rows are the model of the caches, which start empty. ' if any(r['is_model'] for r in rows) else ''}"
               f"{words.profiled(part, view.counts.points) if any(r['is_model'] for r in rows) else ''}{words.sentence(part.label)}")
    equal = sum(r["emulator"] == r["hardware"] for r in rows)
    return Figure(f"{view.name}_counts", rows, draw, caption, f"Dot plot of the emulator’s counts over the hardware’s: {equal} of {len(rows)} are 1.",
                  height=max(34, 14 + 4 * len(titles)), half=True)


def _counts_table(view: View, pairs: Pairs) -> list[Table]:
    """One row per kernel: the number of equal points in each quantity, and the first difference."""
    groups: dict[str, Pairs] = {}
    for p, seen in pairs:
        groups.setdefault(p.kernel.name, []).append((p, seen))
    rows = [{"kernel": name, "title": group[0][0].kernel.title, "points": len(group), **{
        title: _cell(which, group) for title, which in COLUMNS.items()}, "difference": _difference(group)} for name, group in groups.items()]
    if not rows:
        return []
    return [Table(f"{view.name}_kernels", "The emulator compared with the hardware’s counters, by kernel: = where all points are "
                  "equal, else the number of equal points; –: neither counts any. First difference: the emulator’s count and the "
                  f"hardware’s. {view.counts.counter_tool} on the {view.counts.counter_machine}.", (
                      Column("title", "kernel", right=False, wide=True), Column("points", "points"),
                      *(Column(title, title) for title in COLUMNS),
                      Column("difference", "first difference", right=False, wide=True)), rows)]


def _cell(which: tuple[Quantity, ...], group: Pairs) -> str | None:
    """'=', or the number of equal points; None where neither counts any."""
    known = [(p, seen) for p, seen in group if any(any(_both(q, p, seen) or ()) for q in which)]
    equal = sum(_is_equal(p, seen, which) for p, seen in known)
    return None if not known else "=" if equal == len(known) else f"{equal} of {len(known)}"


def _difference(group: Pairs) -> str:
    for q in EXECUTED:
        for p, seen in group:
            both = _both(q, p, seen)
            if both and both[0] != both[1]:
                return f"{q.title}, {p.size_text}: {numbers.grouped(both[0])} and {numbers.grouped(both[1])}"
    return ""


def _model_table(view: View, pairs: Pairs) -> list[Table]:
    rows = []
    for p, seen in pairs:
        row = {"kernel": p.kernel.name, "title": p.title, "size": p.size_text}
        for q in MODELLED:
            ours, theirs = _both(q, p, seen) or (None, None)
            row |= {q.title: ours, f"{q.title} measured": theirs}
        asked = seen.get("l1_load_sectors")
        row |= {"l1": p.counters.get("model_l1_hit_rate"), "l1 measured": seen["l1_load_hits"] / asked
                if asked and "l1_load_hits" in seen else None}
        rows.append(row)
    if not rows:
        return []
    text: dict[str, Callable] = {"L2 sectors (model)": numbers.grouped, "DRAM bytes (model)": numbers.volume}
    return [Table(f"{view.name}_caches", "The emulator’s model of the caches compared with the hardware’s counters, caches empty at "
                  "the start. L1: share of the sectors of loads that hit. L2 sectors: requested from L2 by loads. "
                  f"{words.profiled(view.counts, [p for p, _ in pairs])}".rstrip(), (
                      Column("title", "kernel", right=False, wide=True), Column("size", "size"),
                      Column("l1", "L1, model", numbers.percent), Column("l1 measured", "measured", numbers.percent),
                      *(c for name, how in text.items() for c in (
                          Column(name, name.replace(" (model)", ", model"), how), Column(f"{name} measured", "measured", how)))),
                  rows)]


# Planted faults


Faults = dict[str, PlantedFault]
NOT_FOUND = "not found"


def _faults(view: View) -> Faults:
    """The files' rows, joined by the kernel's name; rows without a description are left out."""
    rows: Faults = {}
    for file in view.companions.hazards:
        for name, row in file.kernels.items():
            old = rows.get(name, PlantedFault({}))
            rows[name] = PlantedFault(old.verdicts | row.verdicts, old.what or row.what, old.is_right or row.is_right,
                                      old.group or row.group)
    return {name: row for name, row in rows.items() if row.what}


def _tools(faults: Faults) -> list[str]:
    """The emulator first, then in the files' order."""
    used = list(dict.fromkeys(t for row in faults.values() for t in row.verdicts))
    return [t for t in used if t == OURS] + [t for t in used if t != OURS]


def _found(faults: Faults, tools: list[str]) -> list[str]:
    """The kernels in which one of these tools reports something."""
    return [name for name, row in faults.items() if any(t in row.verdicts and row.verdicts[t].found for t in tools)]


def _run(faults: Faults, tools: list[str]) -> list[str]:
    """The kernels for which one of these tools has a verdict."""
    return [name for name, row in faults.items() if any(t in row.verdicts for t in tools)]


def _split(faults: Faults) -> tuple[Faults, Faults]:
    """The faulty kernels, and their corrected versions."""
    return ({k: v for k, v in faults.items() if not v.is_right}, {k: v for k, v in faults.items() if v.is_right})


def _faults_text(faults: Faults) -> list[str]:
    wrong, right = _split(faults)
    tools = _tools(faults)
    if not wrong:
        return []
    parts, others = [], [t for t in tools if t != OURS]
    if OURS in tools:
        found = len(_found(wrong, [OURS]))
        parts.append(f"the emulator finds {'all' if found == len(wrong) else f'{found} of the'} {len(wrong)} planted faults")
    if others:
        ran, several = _run(wrong, others), len(others) > 1
        of = "" if len(ran) == len(wrong) else f" of the {len(ran)} that {'they were' if several else 'it was'} run on"
        open_ = sum(any(v.failed for t, v in wrong[name].verdicts.items() if t in others) and not _found({name: wrong[name]}, others) for name in ran)
        of += f"; for {open_} of these {'no tool found a fault and some did not finish' if several else 'it did not finish'}" if open_ else ""
        parts.append(f"{words.joined(others)} {'together find' if several else 'finds'} {len(_found(wrong, others))}{of}")
    text = words.sentence("; ".join(parts))
    alarms = [f"{t} in {words.joined(names)}" for t in tools if (names := _found(right, [t]))]
    if right:
        corrected = words.counted(len(right), "corrected version")
        text += f" False alarms in the {corrected}: {'; '.join(alarms)}." if alarms else (
            f" No tool reports a fault in the {corrected}.")
    return [text]


def _story(view: View) -> str:
    return words.sentence("; ".join(f"{f.tool}, {f.date[:10]}" + (f", on {f.machine}" if f.machine != "any" else "")
                                    for f in view.companions.hazards))


def _faults_figure(view: View, faults: Faults) -> Figure:
    """Faults found by each tool, by topic."""
    wrong, _ = _split(faults)
    tools = _tools(faults)
    groups: dict[str, Faults] = {}
    for name, row in wrong.items():
        groups.setdefault(row.group or "other", {})[name] = row
    rows = [{"group": group, "faults": len(mine), **{t: len(_found(mine, [t])) for t in tools},
             **{f"{t} run": len(_run(mine, [t])) for t in tools}} for group, mine in groups.items()]

    def draw(fig) -> None:
        from report.draw import style
        ax = style.axes(fig, 26, 4, 9, 13)
        ax.set_xlim(-0.5, len(tools) - 0.5)
        ax.set_ylim(len(rows) - 0.5, -0.5)
        for i, row in enumerate(rows):
            for j, tool in enumerate(tools):
                run = row[f"{tool} run"]
                share = row[tool] / max(run, 1)
                ax.fill_between([j - 0.48, j + 0.48], i - 0.46, i + 0.46, color=style.mix("#f4f4f4", style.OWN, share), linewidth=0)
                text = "–" if run == 0 else f"{row[tool]}" if run == row["faults"] else f"{row[tool]} of {run}"
                ax.text(j, i, text, ha="center", va="center_baseline", size=style.SMALL,
                        color="white" if share > 0.5 else style.INK)
        ax.set_xticks(range(len(tools)), tools, rotation=35, ha="left", rotation_mode="anchor")
        ax.set_yticks(range(len(rows)), [f"{r['group']} ({r['faults']})" for r in rows])
        ax.xaxis.tick_top()
        ax.tick_params(length=0, pad=2)
        for side in ax.spines.values():
            side.set_visible(False)
    return Figure(f"{view.name}_faults", rows, draw, "Planted faults that each tool finds, by topic (number of faults "
                  f"in brackets; –: not run); each fault is a separate small kernel. {_story(view)}",
                  "Table of the faults found by the emulator and by each tool of the sanitizer.", height=66, half=True)


def _faults_table(view: View, faults: Faults) -> list[Table]:
    wrong, _ = _split(faults)
    tools = _tools(faults)
    rows = [{"fault": name, "group": row.group, "what": row.what, **{t: _verdict(row, t) for t in tools},
             "message": row.verdicts[OURS].message if OURS in row.verdicts else ""} for name, row in wrong.items()]
    if not rows:
        return []
    return [Table(f"{view.name}_faults", "The planted faults. ✓: reported; –: not reported; not run: the kernel never ends on "
                  f"a GPU; no verdict: the tool did not end in time. {_story(view)}", (
                      Column("what", "fault", right=False, wide=True), *(Column(t, t, lambda v: "–" if v == NOT_FOUND else v, right=False) for t in tools)),
                  rows, most=len(rows))]


def _verdict(row: PlantedFault, tool: str) -> str:
    found = row.verdicts.get(tool)
    if found is None:
        return "not run"
    return "✓" if found.found else "no verdict" if found.failed else NOT_FOUND


# Speed, compared with other emulators

MODES = {"counting": "counting", "hazards": "checking hazards", "answer": "result only"}
TOLD = {"race": "finds races", "uninitialised": "finds uninitialised reads", "accesses": "counts accesses",
        "sectors": "counts sectors"}


def _rate(emulator: Emulator, mode: str) -> EmulatorRate | None:
    """The rate of the first kernel, which all emulators have, on the fewest cores at the largest size."""
    mine = [r for r in emulator.rates if r.mode == mode and r.kernel == emulator.rates[0].kernel]
    return max(mine, key=lambda r: (-r.threads, r.n), default=None)


def _million(rate: EmulatorRate) -> str:
    return f"{numbers.significant(rate.per_core / MILLION)} million"


def _rates_text(file: EmulatorFile | None) -> list[str]:
    if not file or not file.emulators or not (mine := _rate(file.emulators[0], "counting")):
        return []
    text = f"It executes {_million(mine)} accesses per second and core while counting (N\u00a0=\u00a0{mine.n})"
    others = []
    for other in file.emulators[1:]:
        for mode in MODES:
            one, theirs = _rate(file.emulators[0], mode), _rate(other, mode)
            if one and theirs:
                others.append(f"{numbers.times(one.per_core / theirs.per_core)} the rate of {other.tool} ({MODES[mode]}: {_million(one)} at "
                              f"N\u00a0=\u00a0{one.n} against {_million(theirs)} at {theirs.n})")
                break
    return [f"{text}{f', {words.joined(others)}' if others else ''}."]


def _rates_table(view: View, file: EmulatorFile | None) -> list[Table]:
    if not file:
        return []
    rows = []
    for emulator in file.emulators:
        row = {"tool": emulator.tool}
        for mode in MODES:
            if one := _rate(emulator, mode):
                row |= {mode: one.per_core, f"{mode} n": one.n}
        rows.append(row | {key: emulator.told.get(key) for key in TOLD})
    return [Table(f"{view.name}_rates", "Emulators of GPU kernels: accesses to global and shared memory per second and "
                  "core, in the tiled product with tiles of 16, written alike for each emulator; median of the runs at "
                  f"the largest N that was timed on one core. {file.machine}, {words.counted(file.cores, 'core')}, "
                  f"{file.date[:10]}.", (
                      Column("tool", "emulator", right=False, wide=True),
                      *(Column(mode, title, lambda v: numbers.si(v, "/s")) for mode, title in MODES.items()),
                      *(Column(key, title, lambda v: "yes" if v else "no", right=False) for key, title in TOLD.items())), rows)]
