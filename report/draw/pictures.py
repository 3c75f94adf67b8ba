"""Two-dimensional results, element by element: fields and images side by side."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure

from report.draw import style

EDGE = 0.5
"""Millimetres left of the first image, so that its frame is whole."""


def row(fig: Figure, images: Sequence[tuple[str, Sequence[Sequence[float]]]], cmap: str, low: float, high: float,
        bar: Sequence[float] = ()) -> None:
    """Images with titles in a row, in one scale of colours from `low` to `high`; `bar`: ticks of a colour bar next
    to them, none for no bar."""
    whole, tall = (x / style.MM for x in fig.get_size_inches())
    side = min((whole - EDGE - (12 if bar else 0)) / len(images) - 2, tall - 6)
    for i, (title, values) in enumerate(images):
        left = EDGE + i * (side + 2)
        ax = style.axes(fig, left, tall - 5 - side, whole - left - side, 5)
        drawn = ax.imshow(values, cmap=cmap, vmin=low, vmax=high, interpolation="nearest")
        ax.set_title(title, size=style.SMALL, pad=2)
        ax.set_xticks([])
        ax.set_yticks([])
    if bar:
        left = EDGE + len(images) * (side + 2)
        drawn_bar = fig.colorbar(drawn, cax=style.axes(fig, left, tall - 5 - side, whole - left - 2.5, 5), ticks=list(bar))
        drawn_bar.outline.set_linewidth(0.4)
