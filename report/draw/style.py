"""The one place for looks: sizes in inches and points, palette, markers, how a figure is saved.

Widths are the document's text width, so that a font of 8 pt is 8 pt on paper. Sides differ in lightness as well as in
hue, kernels in lightness and marker, so that a greyscale print can be read.
"""

from __future__ import annotations

import math
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.patheffects as effects  # noqa: E402
from matplotlib.axes import Axes  # noqa: E402
from matplotlib.figure import Figure  # noqa: E402

WIDTH = 6.30
"""Text width of the A4 page: 160 mm in inches."""
DPI = 160
"""Of the PNGs, unless a figure asks for more."""
SMALL, NORMAL = 7.0, 8.0
INK, GREY, PALE, ALERT = "#1a1a1a", "#6b6b6b", "#c9c9c9", "#a32a00"
SIDE_COLOUR = {"cpu": "#d9730d", "gpu": "#123f7a"}
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p", "h", "d")
PEER_LOOKS = tuple({"color": colour, "marker": marker, "linestyle": line} for colour, marker, line in (
    ("#0b3c6f", "o", "-"), ("#c4560a", "s", (0, (5, 1.5))), ("#4a9b8e", "^", (0, (2, 1.2))),
    ("#7d2a6b", "D", (0, (5, 1.5, 1, 1.5))), (INK, "v", (0, (1, 1)))))
"""Of libraries that are told apart in one figure."""
LEVEL_LOOKS = {"L1": ("#7fb2dd", "o"), "L2": ("#1f6fb4", "s"), "L3": ("#b0720a", "^"), "DRAM": ("#5a1846", "D")}
"""Colour and marker of the levels of a CPU's memory."""
OTHER_PRECISION = "#7a3fa0"
LADDER_COLOURS = {"cpu": ("#f6b26b", "#6a2e00"), "gpu": ("#7fabe0", "#0b2447")}

RC = {
    "font.family": "sans-serif", "font.sans-serif": ["DejaVu Sans"], "font.size": NORMAL,
    "axes.labelsize": NORMAL, "axes.titlesize": NORMAL, "xtick.labelsize": SMALL, "ytick.labelsize": SMALL,
    "legend.fontsize": SMALL, "axes.edgecolor": GREY, "axes.linewidth": 0.6, "axes.labelcolor": INK,
    "xtick.color": GREY, "ytick.color": GREY, "xtick.labelcolor": INK, "ytick.labelcolor": INK, "text.color": INK,
    "xtick.major.width": 0.6, "ytick.major.width": 0.6, "xtick.minor.width": 0.4, "ytick.minor.width": 0.4,
    "xtick.major.size": 3, "ytick.major.size": 3, "xtick.minor.size": 1.6, "ytick.minor.size": 1.6,
    "axes.spines.top": False, "axes.spines.right": False, "axes.grid": False, "legend.frameon": False,
    "text.parse_math": False, "pdf.fonttype": 3, "svg.hashsalt": "rung", "lines.linewidth": 1.1,
    "lines.markersize": 4.5, "axes.titlelocation": "left", "figure.facecolor": "white",
}
matplotlib.rcParams.update(RC)

HALO = [effects.withStroke(linewidth=2.2, foreground="white")]


def figure(height: float) -> Figure:
    """An empty figure of the text width and this height (inches)."""
    return Figure(figsize=(WIDTH, height))


def axes(fig: Figure, left: float, bottom: float, width: float, height: float, **options) -> Axes:
    """Axes with their box given in inches from the lower left corner."""
    w, h = fig.get_size_inches()
    return fig.add_axes((left / w, bottom / h, width / w, height / h), **options)


def mix(low: str, high: str, share: float) -> tuple[float, float, float]:
    """The colour between two, share 0…1."""
    a, b = (matplotlib.colors.to_rgb(c) for c in (low, high))
    return tuple(x + (y - x) * share for x, y in zip(a, b))


def kernel_style(side: str, index: int, total: int, is_library: bool) -> dict:
    """Colour, marker and line of one kernel among `total`: darker up the ladder; libraries dashed."""
    low, high = LADDER_COLOURS[side]
    share = index / max(1, total - 1)
    return {"color": mix(low, high, share), "marker": MARKERS[index % len(MARKERS)],
            "linestyle": (0, (4, 1.5)) if is_library else "-"}


def plain_ticks(axis, values: list[float]) -> None:
    """Labels exactly these values with plain numbers."""
    axis.set_major_locator(matplotlib.ticker.FixedLocator(values))
    axis.set_minor_locator(matplotlib.ticker.NullLocator())
    axis.set_major_formatter(matplotlib.ticker.FuncFormatter(lambda v, _: f"{v:g}"))


def thinned(ticks: list, ratio: float = 1.5) -> list:
    """Ticks that keep a factor between neighbours, the largest first."""
    kept: list = []
    for tick in reversed(ticks):
        if not kept or kept[-1] / tick >= ratio:
            kept.append(tick)
    return kept[::-1]


def rate_ticks(axis, low: float, high: float) -> None:
    """Decades; where there are fewer than two, 1, 2 and 5 of each."""
    if high / low > 100:
        decade_ticks(axis)
    else:
        plain_ticks(axis, [t for e in range(-9, 10) for m in (1, 2, 5) if low <= (t := m * 10.0**e) <= high])


def decade_ticks(axis, every: int = 1) -> None:
    """Decades as 0.1, 1, 10 … 10 000, with thin spaces; `every` second or third of them labelled."""
    axis.set_major_locator(matplotlib.ticker.LogLocator(base=10, numticks=20))
    axis.set_minor_locator(matplotlib.ticker.LogLocator(base=10, subs=range(2, 10), numticks=20))
    axis.set_minor_formatter(matplotlib.ticker.NullFormatter())
    axis.set_major_formatter(matplotlib.ticker.FuncFormatter(
        lambda v, _: "" if round(math.log10(v)) % every else
        f"{v:,.0f}".replace(",", "\u2009") if v >= 1 else f"{v:g}"))


def save(fig: Figure, folder: Path, name: str, dpi: int = DPI) -> None:
    """Writes name.pdf and name.png without dates, so that the same figure gives the same bytes."""
    fig.savefig(folder / f"{name}.pdf", metadata={"CreationDate": None, "Producer": None, "Creator": None})
    fig.savefig(folder / f"{name}.png", dpi=dpi, metadata={"Software": None})
