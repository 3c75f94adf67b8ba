"""Shared memory read at a stride: measured rates beside those that the counted wavefronts predict."""

from __future__ import annotations

from report import captions, derive
from report.records import Point, Study

NAME = "strided"
LANES = 32
BESIDE = 0.17
"""How far the two series stand from a stride's place, of the way to the next."""
SERIES = ("no padding", "one element of padding in each row")


def _points(study: Study) -> list[Point]:
    points = [p for p in study.gpu.points if derive.is_strided(p) and p.is_timed and p.gbytes] if study.gpu else []
    return [p for p in points if p.mode == derive.main_mode(points)]


def _key(point: Point) -> tuple[int, int, int]:
    """Width of an access in bytes, padding, stride in elements."""
    return point.tunables.get("width", 4), point.tunables.get("padding", 0), point.tunables["stride"]


def wavefronts(point: Point) -> float | None:
    """Of one strided request, on average: counted wavefronts beyond one a request, over the strided requests."""
    c = point.counters
    if not {"bytes_min", "shared_load_requests", "shared_load_wavefronts"} <= c.keys() or not c["bytes_min"]:
        return None
    strided = c["bytes_min"] / (LANES * _key(point)[0])
    return 1 + (c["shared_load_wavefronts"] - c["shared_load_requests"]) / strided


def rows(study: Study) -> list[dict]:
    timed = {_key(p): p for p in _points(study)}
    others = derive.compared_names(study)  # of sizes at which some accesses of the last block are not counted as useful
    counted = {_key(p): w for p in derive.counted(study)
               if derive.is_strided(p) and p.name not in others and (w := wavefronts(p))}
    made = [_row(key, timed.get(key), counted.get(key)) for key in sorted(timed.keys() | counted.keys())
            if not timed or key in timed]
    for width in {row["width"] for row in made}:
        _predict([row for row in made if row["width"] == width])
    return made


def _row(key: tuple[int, int, int], point: Point | None, wavefronts: float | None) -> dict:
    rate, ends = (point.gbytes, point.summary) if point else (None, None)
    known = ends and ends.has_interval
    return {"width": key[0], "padding": key[1], "stride": key[2], "gbytes_per_s": rate,
            "low": point.rate(ends.high, "bytes_min") if known else None,
            "high": point.rate(ends.low, "bytes_min") if known else None,
            "wavefronts_per_request": wavefronts, "predicted_gbytes_per_s": None}


def _predict(same_width: list[dict]) -> None:
    """The best rate, shared among as many wavefronts as a request takes more than the fewest."""
    rates = [row["gbytes_per_s"] for row in same_width if row["gbytes_per_s"]]
    counts = [row["wavefronts_per_request"] for row in same_width if row["wavefronts_per_request"]]
    for row in same_width if rates else ():
        if row["wavefronts_per_request"]:
            row["predicted_gbytes_per_s"] = max(rates) * min(counts) / row["wavefronts_per_request"]


def is_timed(table: list[dict]) -> bool:
    return any(row["gbytes_per_s"] for row in table)


def caption(study: Study, table: list[dict]) -> str:
    what = ("Shared memory read by lanes that are a stride apart, counted in elements, by the bytes of one access. "
            "One element of padding in every row of 128 bytes moves the next row on by a bank or more. ")
    if not is_timed(table):
        return what + "Not timed here: wavefronts of one request as the emulator counts them; 1 is the least."
    line = ("Dashes: the best rate of that width over the wavefronts that the emulator counts for a request. "
            if any(row["predicted_gbytes_per_s"] for row in table) else "")
    return what + line + captions.provenance([(study.gpu, _points(study))])


def draw(study: Study, table: list[dict]):
    from matplotlib.lines import Line2D

    from report import style
    height, left, gap, top = 2.1, 0.62, 0.14, 0.42
    fig = style.figure(height + 0.44 + top)
    panels = [[row for row in table if row["width"] == width] for width in sorted({r["width"] for r in table})]
    shares = [9 + len({row["stride"] for row in panel}) for panel in panels]
    room = style.WIDTH - left - 0.08 - gap * (len(panels) - 1)
    values = [v for row in table for v in (row[_quantity(table)], row["predicted_gbytes_per_s"]) if v]
    x = left
    for index, (panel, share) in enumerate(zip(panels, shares)):
        ax = style.axes(fig, x, 0.44, room * share / sum(shares), height, yscale="log")
        x += room * share / sum(shares) + gap
        _panel(ax, panel, _quantity(table))
        ax.set_ylim(min(values) / 1.35, max(values) * 1.35)
        _ticks(ax, values, labelled=index == 0)
        ax.annotate(f"{panel[0]['width']}-byte accesses", (0, 1), xytext=(0, 3), xycoords="axes fraction",
                    textcoords="offset points", size=style.SMALL, color=style.INK, weight="bold")
        if index == 0:
            ax.set_ylabel("Rate [GB/s]" if is_timed(table) else "Wavefronts a request")
            ax.set_xlabel("Stride (elements)")
    handles = [Line2D([], [], label=name, linestyle="", **_look(i)) for i, name in enumerate(SERIES)]
    if any(row["predicted_gbytes_per_s"] for row in table):
        handles.append(Line2D([], [], label="predicted from counted wavefronts", **_predicted(style.INK)))
    fig.legend(handles=handles, ncols=3, loc="upper left", bbox_to_anchor=(left / style.WIDTH - 0.01, 1.0),
               handletextpad=0.4, columnspacing=1.4, borderaxespad=0.2)
    return fig


def _quantity(table: list[dict]) -> str:
    return "gbytes_per_s" if is_timed(table) else "wavefronts_per_request"


def _look(padding: int) -> dict:
    from report import style
    return {"marker": ("o", "s")[padding], "markersize": (3.8, 3.2)[padding],
            "color": (style.LADDER_COLOURS["gpu"][1], style.LADDER_COLOURS["gpu"][0])[padding]}


def _predicted(colour) -> dict:
    return {"marker": "_", "markersize": 7.5, "markeredgewidth": 0.9, "color": colour, "linestyle": ""}


def _panel(ax, rows: list[dict], quantity: str) -> None:
    """Marks side by side, one place a stride; no line joins them, since nothing lies between two strides."""
    from report import style
    strides = sorted({row["stride"] for row in rows})
    place = {stride: index for index, stride in enumerate(strides)}
    for row in rows:
        look, x = _look(row["padding"]), place[row["stride"]] + (-BESIDE, BESIDE)[row["padding"]]
        if row[quantity]:
            ax.plot([x], [row[quantity]], linestyle="", zorder=3, **look)
        if row["predicted_gbytes_per_s"]:
            ax.plot([x], [row["predicted_gbytes_per_s"]], zorder=2, **_predicted(look["color"]))
    ax.set_xlim(-0.8, len(strides) - 0.2)
    few = [s for s in strides if len(strides) <= 8 or s == 1 or s % 4 == 0]
    ax.set_xticks([place[s] for s in few], [str(s) for s in few])
    for s in (s for s in strides if s.bit_count() == 1):
        ax.axvline(place[s], color=style.PALE, linewidth=0.5, zorder=1)


def _ticks(ax, values: list[float], labelled: bool) -> None:
    """Rates at 1, 2, 5 of each decade; wavefronts, of which there are at most 32, at powers of two."""
    from matplotlib import ticker

    from report import fmt
    low, high = min(values), max(values)
    steps = [m * 10 ** e for e in range(-1, 9) for m in (1, 2, 5)] if high > 64 else [2 ** e for e in range(7)]
    chosen = [s for s in steps if low / 1.35 <= s <= high * 1.35]
    ax.yaxis.set_major_locator(ticker.FixedLocator(chosen))
    ax.yaxis.set_minor_locator(ticker.NullLocator())
    ax.yaxis.set_major_formatter(ticker.FuncFormatter(lambda v, _: fmt.grouped(v) if labelled else ""))
