"""The one place for looks: sizes, palette, markers, axes.

Widths are the document's text width, so that a font of 8 pt is 8 pt on paper. Series differ in lightness, marker and
line as well as in hue, so that a print in grey can be read.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NotRequired, TypedDict

import matplotlib

matplotlib.use("Agg")

import matplotlib.patheffects as effects  # noqa: E402
from matplotlib.axes import Axes  # noqa: E402
from matplotlib.figure import Figure  # noqa: E402
from matplotlib.lines import Line2D  # noqa: E402
from matplotlib.markers import TICKDOWN, TICKLEFT  # noqa: E402

from report.draw.paper import text_width  # noqa: E402

if TYPE_CHECKING:
    from matplotlib.typing import RcKeyType

MM = 1 / 25.4
POINTS = 72.0
POINTS_OF_MM = POINTS / 25.4
WIDTH, HALF = 166.0, 81.0
"""Millimetres: the text's width on the A4 page, and the width of one of two figures side by side."""
SMALL, NORMAL = 6.6, 7.6
INK, GREY, PALE, ALERT = "#1a1a1a", "#6b6b6b", "#c9c9c9", "#a32a00"
SIDE_COLOUR = {"cpu": "#c4560a", "gpu": "#123f7a"}
OWN, PEER = "#123f7a", "#c4560a"


class Look(TypedDict):
    """The look of a series, in the terms of matplotlib; a dashed line is (offset, (on, off, …))."""

    color: str
    marker: NotRequired[str]
    linestyle: NotRequired[str | tuple[float, tuple[float, ...]]]


SERIES: tuple[Look, ...] = (
    {"color": "#0b2447", "marker": "o", "linestyle": "-"}, {"color": "#c4560a", "marker": "s", "linestyle": (0, (5, 1.5))},
    {"color": "#3f93c9", "marker": "^", "linestyle": "-"}, {"color": "#7d2a6b", "marker": "D", "linestyle": (0, (5, 1.5, 1, 1.5))},
    {"color": "#8a8a1f", "marker": "v", "linestyle": (0, (2, 1.2))}, {"color": GREY, "marker": "P", "linestyle": (0, (1, 1))})
"""Looks of up to six series of one figure; more are not drawn in one."""
MOST = len(SERIES)
SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
APART, TALL = 2.5, 7.0
"""Between the labels of ticks, and their height, points."""

RC: dict[RcKeyType, object] = {
    "font.family": "sans-serif", "font.sans-serif": ["DejaVu Sans"], "font.size": NORMAL,
    "axes.labelsize": NORMAL, "axes.titlesize": NORMAL, "xtick.labelsize": SMALL, "ytick.labelsize": SMALL,
    "legend.fontsize": SMALL, "axes.edgecolor": GREY, "axes.linewidth": 0.6, "axes.labelcolor": INK,
    "xtick.color": GREY, "ytick.color": GREY, "xtick.labelcolor": INK, "ytick.labelcolor": INK, "text.color": INK,
    "xtick.major.width": 0.6, "ytick.major.width": 0.6, "xtick.minor.width": 0.4, "ytick.minor.width": 0.4,
    "xtick.major.size": 3, "ytick.major.size": 3, "xtick.minor.size": 1.6, "ytick.minor.size": 1.6,
    "axes.spines.top": False, "axes.spines.right": False, "axes.grid": False, "legend.frameon": False,
    "text.parse_math": False, "pdf.fonttype": 42, "svg.hashsalt": "rung", "svg.fonttype": "none",
    "lines.linewidth": 1.1, "lines.markersize": 4.2, "axes.titlelocation": "left", "figure.facecolor": "white",
}
matplotlib.rcParams.update({key: value for key, value in matplotlib.rcParamsDefault.items() if key != "backend"})
matplotlib.rcParams.update(RC)

HALO = [effects.withStroke(linewidth=2.0, foreground="white")]


def size(height: float, half: bool = False) -> tuple[float, float]:
    """Width and height (millimetres) of a figure of the text's width, or of half of it."""
    return HALF if half else WIDTH, height


def figure(height: float, half: bool = False) -> Figure:
    """An empty figure of that size."""
    width, tall = size(height, half)
    return Figure(figsize=(width * MM, tall * MM))


def axes(fig: Figure, left: float = 12, bottom: float = 9, right: float = 2, top: float = 2, **options) -> Axes:
    """Axes that leave these margins (millimetres) of the figure."""
    w, h = (x / MM for x in fig.get_size_inches())
    return fig.add_axes((left / w, bottom / h, (w - left - right) / w, (h - bottom - top) / h), **options)


def mix(low: str, high: str, share: float) -> tuple[float, float, float]:
    """The colour between two, share 0…1."""
    a, b = (matplotlib.colors.to_rgb(c) for c in (low, high))
    red, green, blue = (x + (y - x) * share for x, y in zip(a, b))
    return red, green, blue


def plain_ticks(axis, values: list[float]) -> None:
    """Labels exactly these values with plain numbers."""
    axis.set_major_locator(matplotlib.ticker.FixedLocator(values))
    axis.set_minor_locator(matplotlib.ticker.NullLocator())
    axis.set_major_formatter(matplotlib.ticker.FuncFormatter(lambda v, _: plain(v)))


def plain(value: float) -> str:
    """'0.25', '4096', '16 384', '10⁻⁵'."""
    if value >= 1e4:
        return f"{value:,.0f}".replace(",", "\u2009")
    if 0 < value < 1e-3:
        digits, power = f"{value:.0e}".split("e")
        return f"{'' if digits == '1' else f'{digits}·'}10{str(int(power)).translate(SUPERSCRIPT)}"
    return f"{value:g}"


def thinned(ticks: list[float], ratio: float = 1.5) -> list[float]:
    """Ticks that keep a factor between neighbours: the largest, then powers of two, then the rest, large ones first."""
    largest = max(ticks, default=None)
    kept: list[float] = []
    for tick in sorted(ticks, key=lambda t: (t != largest, math.log2(t) % 1 > 0, -t)):
        if all(max(tick, other) / min(tick, other) >= ratio for other in kept):
            kept.append(tick)
    return sorted(kept)


def rate_ticks(axis, low: float, high: float, spread: float = 100) -> None:
    """Decades; where the ends are not further apart than `spread`, 1, 2 and 5 of each."""
    if high / low > spread:
        decade_ticks(axis)
    else:
        plain_ticks(axis, [t for e in range(-9, 10) for m in (1, 2, 5) if low <= (t := m * 10.0**e) <= high])


def decade_ticks(axis, most: int = 20) -> None:
    """Decades as 0.1, 1 … 1000, 10 000, with thin spaces; every other one where there would be more than `most`."""
    axis.set_major_locator(matplotlib.ticker.LogLocator(base=10, numticks=most))
    axis.set_minor_locator(matplotlib.ticker.NullLocator())
    for line in [line for line in axis.axes.lines if isinstance(line, MinorTicks) and line.ticked is axis]:
        line.remove()
    axis.axes.add_line(MinorTicks(axis))
    axis.set_major_formatter(matplotlib.ticker.FuncFormatter(lambda v, _: plain(v)))


class MinorTicks(Line2D):
    """The ticks between decades as one line of markers: matplotlib's own take three objects each, and a sixth of a figure's time."""

    def __init__(self, axis):
        is_x = axis.axis_name == "x"
        super().__init__([], [], linestyle="none", marker=TICKDOWN if is_x else TICKLEFT, markersize=RC["xtick.minor.size"],
                         markeredgewidth=RC["xtick.minor.width"], color=GREY, clip_on=False, zorder=2.01)
        self.ticked, self.is_x = axis, is_x
        self.locator = matplotlib.ticker.LogLocator(base=10, subs=range(2, 10), numticks=20)
        self.locator.set_axis(axis)

    def draw(self, renderer):
        low, high = sorted(self.ticked.get_view_interval())
        places = [place for place in self.locator() if low <= place <= high]
        edge = [0.0] * len(places)
        self.set_transform(self.ticked.axes.get_xaxis_transform() if self.is_x else self.ticked.axes.get_yaxis_transform())
        self.set_data(*((places, edge) if self.is_x else (edge, places)))
        super().draw(renderer)


def row_mark(ax, i: int, value: float, interval: tuple[float, float] | None, colour: str, is_library: bool = False) -> None:
    """A value in its row of a logarithmic axis, which has no origin for a bar to begin at: a mark on a pale line across."""
    ax.axhline(i, color=PALE, linewidth=0.5, zorder=0)
    if interval:
        ax.plot(interval, [i, i], color=INK, linewidth=1.2, solid_capstyle="butt", zorder=2)
    ax.plot([value], [i], "D" if is_library else "o", color=colour, markerfacecolor="white" if is_library else colour, markersize=4.2,
            linestyle="", zorder=3)


def finish(fig: Figure) -> None:
    """Thins the ticks of a drawn figure so that no two of their labels touch."""
    for ax in fig.axes:
        for axis, is_x in ((ax.xaxis, True), (ax.yaxis, False)):
            ticks = tick_labels(axis, is_x)
            if touching(ticks):
                axis.set_major_locator(matplotlib.ticker.FixedLocator(_kept(ticks)))
                axis.set_minor_locator(matplotlib.ticker.NullLocator())


def tick_labels(axis, is_x: bool) -> list[tuple[float, float, float, str]]:
    """For each label of the major ticks in view: the value, its place along the axis, its length (points), and the text."""
    if not axis.get_visible() or not axis.axes.axison or any(label.get_rotation() for label in axis.get_majorticklabels()):
        return []
    low, high = sorted(axis.get_view_interval())
    values = [v for v in axis.get_majorticklocs() if low * (1 - 1e-9) - 1e-12 <= v <= high * (1 + 1e-9) + 1e-12]
    scale, made = POINTS / axis.figure.dpi, []
    for value, text in zip(values, axis.get_major_formatter().format_ticks(values)):
        place = axis.axes.transData.transform((value, axis.axes.get_ylim()[0]) if is_x else (axis.axes.get_xlim()[0], value))
        made.append((value, place[0 if is_x else 1] * scale, text_width(text, SMALL) if is_x else TALL, text))
    return sorted((tick for tick in made if tick[3]), key=lambda tick: tick[1])


def touching(ticks: list[tuple[float, float, float, str]]) -> bool:
    return any(b[1] - a[1] < (a[2] + b[2]) / 2 + APART for a, b in zip(ticks, ticks[1:]))


def _kept(ticks: list[tuple[float, float, float, str]]) -> list[float]:
    """Every second, third … of ticks at equal distances, with the last; of other ticks all that fit, round ones first."""
    steps = [b[1] - a[1] for a, b in zip(ticks, ticks[1:])]
    if max(steps) < 1.02 * min(steps):
        stride = next(k for k in range(2, len(ticks) + 1) if not touching(ticks[::-k][::-1]))
        return [tick[0] for tick in ticks[::-stride]]
    kept: list = []
    for tick in sorted(ticks, key=lambda t: (t[0] != ticks[-1][0], t[0] <= 0 or math.log2(t[0]) % 1 > 0, -t[0])):
        if not touching(sorted([*kept, tick], key=lambda t: t[1])):
            kept.append(tick)
    return [tick[0] for tick in kept]
