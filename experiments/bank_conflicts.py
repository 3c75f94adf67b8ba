"""Shared memory read at a stride: measured rates next to the rates that the counted wavefronts predict."""

from statistics import median

from report.experiment import Column, Figure, Part, Point, Section, Table, View, judge, numbers, ratio, words

KEEPS = 0.95
"""A stride keeps the full rate if at least this share of the best rate is left."""
LANES = 32
RANDOM = "gpu/read/shared_random"
"""The kernel whose lanes read in a random order."""
PADDING = ("no padding", "one element of padding in each row of 128 bytes")
BESIDE = 0.17
"""Offset of the two series from a stride's tick, as a share of the distance to the next tick."""


def section(view: View) -> Section | None:
    timed = {_key(p): p for p in view.gpu.timed() if _is_strided(p) and p.value} if view.gpu else {}
    counted = {_key(p): w for p in (view.counts.points if view.counts else ())
               if _is_strided(p) and p.is_counted and (w := _wavefronts(p))}
    rows = _rows(timed, counted)
    if not rows:
        return None
    narrow = [r for r in rows if r["width"] == min(r["width"] for r in rows)]
    plain, padded = ({r["stride"]: r for r in narrow if r["padding"] == padding} for padding in (0, 1))
    is_timed = bool(timed)
    return Section(_finding(plain, padded, is_timed) + _in_random_order(view, plain) + _prediction(rows), figures=[_figure(view, rows, timed)],
                   appendix=[_table(view, rows, timed)])


def _is_strided(p: Point) -> bool:
    return isinstance(p.tunables.get("stride"), (int, float))


def _key(p: Point) -> tuple[float, float, float]:
    """Bytes of an access, padding and stride in elements."""
    return p.tunables.get("width", 4), p.tunables.get("padding", 0), p.tunables["stride"]


def _wavefronts(p: Point) -> float | None:
    """Mean per strided request: one, plus the wavefronts in excess of one per request, divided by the strided requests."""
    c = p.counters
    if not {"bytes_min", "shared_load_requests", "shared_load_wavefronts"} <= c.keys() or not c["bytes_min"]:
        return None
    return 1 + (c["shared_load_wavefronts"] - c["shared_load_requests"]) / (c["bytes_min"] / (LANES * p.tunables.get("width", 4)))


def _rows(timed: dict[tuple, Point], counted: dict[tuple, float]) -> list[dict]:
    """One for each width, padding and stride, with the ratio to the first stride of that width."""
    first = {width: timed[width, 0, 1] for width, *_ in timed if (width, 0, 1) in timed}
    ratios = judge({key: ratio(p, first[key[0]]) for key, p in timed.items() if key[0] in first and p is not first[key[0]]})
    rows = [_row(key, timed.get(key), counted.get(key), ratios.get(key)) for key in sorted(timed or counted)]
    for width in {r["width"] for r in rows}:
        _predict([r for r in rows if r["width"] == width])
    return rows


def _row(key: tuple, p: Point | None, wavefronts: float | None, found) -> dict:
    low, high = (p.interval if p else None) or (None, None)
    return {"width": key[0], "padding": key[1], "stride": key[2], "value": p and p.value, "low": low, "high": high,
            **(p.sampled if p else {}), "unit": p and p.metric.unit, "wavefronts_per_request": wavefronts, "predicted": None,
            "over_stride_1": found and found.value, "p": found and found.p, "verdict": found and found.verdict}


def _predict(same_width: list[dict]) -> None:
    """The predicted rate: the best rate, divided by the wavefronts per request relative to the fewest."""
    best = max((r["value"] for r in same_width if r["value"]), default=None)
    fewest = min((r["wavefronts_per_request"] for r in same_width if r["wavefronts_per_request"]), default=None)
    for r in same_width:
        if best and fewest and r["wavefronts_per_request"]:
            r["predicted"] = best * fewest / r["wavefronts_per_request"]


def _speed(row: dict) -> float:
    """The rate; where nothing was timed, the inverse of the wavefronts."""
    return row["value"] or 1 / row["wavefronts_per_request"]


# Words


def _kept(rows: dict[float, dict]) -> list[float]:
    best = max(map(_speed, rows.values()))
    return [stride for stride, r in rows.items() if _speed(r) >= KEEPS * best]


def _worst(rows: dict[float, dict]) -> dict:
    return min(rows.values(), key=lambda r: (_speed(r), r["stride"]))


def _finding(plain: dict, padded: dict, is_timed: bool) -> str:
    kept, worst, best = _kept(plain), _worst(plain), max(map(_speed, plain.values()))
    what = (f"reach {numbers.percent(KEEPS)} of the best rate ({numbers.quantity(best, worst['unit'])})" if is_timed
            else "take a single wavefront per request (counted; nothing was timed)")
    if len(kept) == len(plain):
        return f"Yes: all {len(plain)} strides of {worst['width']:g}-byte accesses {what}."
    odd = ", the odd ones," if len(kept) > 1 and all(s % 2 for s in kept) and len(kept) == sum(s % 2 for s in plain) else ""
    text = (f"No: of {len(plain)} strides of {worst['width']:g}-byte accesses only {len(kept)}{odd} {what}; stride "
            f"{worst['stride']:g} {_cost(best / _speed(worst), is_timed)}.")
    return text + _padding(padded, worst, best, is_timed)


def _cost(factor: float, is_timed: bool) -> str:
    return f"is {numbers.times(factor)} slower" if is_timed else f"takes {numbers.times(factor)} as many"


def _padding(padded: dict, worst: dict, best: float, is_timed: bool) -> str:
    """The effect of one element of padding per row on the worst stride, and the stride that is the worst with padding."""
    again = padded.get(worst["stride"])
    if not again:
        return ""
    text = " One element of padding per row "
    share = _speed(again) / best
    text += ("does not help there" if share < 1.5 * _speed(worst) / best else "restores the full rate at that stride"
             if share >= KEEPS else f"restores {numbers.percent(share)} of the full rate at that stride")
    other = _worst(padded)
    if _speed(other) < 0.5 * _speed(again):
        text += f" but moves the conflicts: stride {other['stride']:g} then {_cost(best / _speed(other), is_timed)}"
    return f"{text}."


def _in_random_order(view: View, plain: dict) -> str:
    """The share of the best rate that is left, or the wavefronts per request where nothing was timed."""
    best = max((r["value"] for r in plain.values() if r["value"]), default=None)
    timed = next((p for p in view.gpu.timed() if p.kernel.name == RANDOM and p.value), None) if view.gpu else None
    if best and timed:
        return f" In a random order the lanes reach {numbers.percent(timed.value / best)} of the best rate."
    counted = next((p for p in view.counts.points if p.kernel.name == RANDOM and p.is_counted), None) if view.counts and not best else None
    wavefronts = _wavefronts(counted) if counted else None
    return f" In a random order a request takes {numbers.significant(wavefronts)} wavefronts." if wavefronts else ""


def _prediction(rows: list[dict]) -> str:
    """The error of the rates that the wavefronts predict."""
    errors = [(abs(r["predicted"] / r["value"] - 1), r) for r in rows if r["value"] and r["predicted"]]
    if not errors:
        return ""
    worst, row = max(errors, key=lambda e: e[0])
    padded = ", padded" if row["padding"] else ""
    return (f" The wavefronts that the emulator counts predict the {len(errors)} measured rates with a median error of "
            f"{numbers.percent(median(e for e, _ in errors))} of the measured rate and a largest error of {numbers.percent(worst)} (stride "
            f"{row['stride']:g}, {row['width']:g}-byte accesses{padded}).")


# Figure and table


def _counted_at(view: View) -> str:
    return words.counted_at(view.counts, {p.kernel.family for p in view.counts.points} if view.counts else (), "bytes", "passes")


def _caption(view: View, rows: list[dict], timed: dict[tuple, Point]) -> str:
    text = (f"Shared memory read by the lanes of a warp at a stride (in elements), by bytes per access. "
            f"Circles: {PADDING[0]}; squares: {PADDING[1]}. ")
    if not timed:
        return f"{text}Wavefronts of one request as the emulator counts them; nothing was timed. " + words.sentence(
            view.counts.label)
    dashes = any(r["predicted"] for r in rows)
    return text + ("Dashes: prediction, the best rate at that width over the wavefronts per request that the emulator counts" + f"{_counted_at(view)}. "
                   if dashes else "") + words.provenance(view.gpu, timed.values())


def _figure(view: View, rows: list[dict], timed: dict[tuple, Point]) -> Figure:
    key, name = ("value", "Bandwidth") if timed else ("wavefronts_per_request", "Wavefronts per request")
    unit = rows[0]["unit"] or ""
    return Figure(f"{view.name}_strides", rows, lambda fig: _draw(fig, rows, key, name, unit), _caption(view, rows, timed),
                  "Dot plots of the bandwidth of shared memory by stride and width of access: it halves with every factor "
                  "of two in the stride, unless rows are padded.", height=58)


def _draw(fig, rows: list[dict], key: str, name: str, unit: str) -> None:
    from report.draw import style
    panels = [[r for r in rows if r["width"] == width] for width in sorted({r["width"] for r in rows})]
    shares = [6 + len({r["stride"] for r in panel}) for panel in panels]
    high = max(r[k] for r in rows for k in (key, "predicted") if r[k])
    low = min(r[k] for r in rows for k in (key, "predicted") if r[k])
    factor, unit = numbers.scale(high, unit) if unit else (1.0, "")
    left, room = 16.0, style.WIDTH - 16.0 - 2.0 - 4.0 * (len(panels) - 1)
    for i, panel in enumerate(panels):
        width = room * shares[i] / sum(shares)
        ax = style.axes(fig, left, 9, style.WIDTH - left - width, 5, yscale="log")
        left += width + 4.0
        ax.set_ylim(low / factor / 1.4, high / factor * 1.4)
        style.rate_ticks(ax.yaxis, *ax.get_ylim())
        _panel(ax, panel, key, factor)
        ax.annotate(f"{panel[0]['width']:g}-byte accesses", (0, 1), xytext=(2, 4), xycoords="axes fraction",
                    textcoords="offset points", size=style.SMALL, color=style.INK)
        ax.set_xlabel("Stride")
        if i == 0:
            ax.set_ylabel(f"{name} [{unit}]" if unit else name)
        else:
            ax.tick_params(labelleft=False)


def _panel(ax, rows: list[dict], key: str, factor: float) -> None:
    """Marks side by side, one tick per stride; no line joins them, since there is nothing between two strides."""
    from report.draw import style
    strides = sorted({r["stride"] for r in rows})
    place = {stride: i for i, stride in enumerate(strides)}
    for r in rows:
        look, x = style.SERIES[int(r["padding"])], place[r["stride"]] + (-BESIDE, BESIDE)[int(r["padding"])]
        if r["predicted"]:
            ax.plot([x], [r["predicted"] / factor], "_", markersize=7.5, markeredgewidth=0.9, color=look["color"], zorder=2)
        if r[key]:
            ax.plot([x], [r[key] / factor], look["marker"], markersize=3.4, color=look["color"], zorder=3)
    ax.set_xlim(-0.8, len(strides) - 0.2)
    few = [s for s in strides if len(strides) <= 8 or s == 1 or s % 4 == 0]
    ax.set_xticks([place[s] for s in few], [f"{s:g}" for s in few])


def _table(view: View, rows: list[dict], timed: dict[tuple, Point]) -> Table:
    part: Part = view.gpu if timed else view.counts
    return Table(f"{view.name}_points", "Shared memory at a stride: every point. Padding: elements per row of 128 bytes. Wavefronts: counted by the emulator"
                 f"{_counted_at(view)}; predicted: the best rate at that width, divided by the wavefronts. Over stride 1: at the same width, without padding. "
                 + words.provenance(part, timed.values()), (
                     Column("width", "bytes per access", lambda v: f"{v:g}"), Column("padding", "padding", lambda v: f"{v:g}"),
                     Column("stride", "stride", lambda v: f"{v:g}"),
                     Column("wavefronts_per_request", "wavefronts per request", numbers.significant),
                     Column("value", rows[0]["unit"] or "rate", numbers.significant),
                     Column("predicted", "predicted", numbers.significant),
                     Column("over_stride_1", "over stride 1", numbers.times),
                     Column("verdict", "verdict", right=False, wide=True)), rows, most=16)
