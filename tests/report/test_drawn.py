"""Every figure of the recorded results, by what is drawn: labels, ticks, bars, series."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator

import matplotlib.colors as colors
import pytest
from conftest import RECORDED
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.container import BarContainer

from report import document
from report.data.collect import collect
from report.draw import formats, style

INSIDE = 0.6
"""Points by which the box of a text is larger than its letters, above and below."""
DOTS = 600
"""An inch: with few, letters are fitted to whole dots, and texts are longer than on paper."""
SLACK = 0.75
"""Points of a label that may leave the figure's edge: the letters themselves do not."""


def texts_of(fig) -> list[tuple[str, tuple[float, float, float, float]]]:
    """Each visible text with its box in points; text at an angle is left out, as its box is mostly empty."""
    fig.set_dpi(DOTS)
    renderer = FigureCanvasAgg(fig).get_renderer()
    fig.draw(renderer)
    scale, made = 72 / fig.dpi, []
    for text in [*fig.texts, *(text for ax in fig.axes if ax.get_visible() for text in _of_axes(ax))]:
        if text.get_visible() and text.get_text().strip() and text.get_rotation() in (0, 90):
            box = text.get_window_extent(renderer)
            made.append((text.get_text(), (box.x0 * scale, box.y0 * scale + INSIDE, box.x1 * scale, box.y1 * scale - INSIDE)))
    return made


def _of_axes(ax) -> Iterator:
    yield from (*ax.texts, ax.title, ax._left_title, ax._right_title)  # noqa: SLF001
    if legend := ax.get_legend():
        yield from legend.get_texts()
    for axis in (ax.xaxis, ax.yaxis):
        if ax.axison and axis.get_visible():
            yield axis.label
            yield from (label for tick in axis._update_ticks() for label in (tick.label1, tick.label2))  # noqa: SLF001 - the ticks that are drawn


def overlapping(texts) -> list[tuple[str, str]]:
    return [(a, b) for (a, p), (b, q) in itertools.combinations(texts, 2)
            if p[0] < q[2] and q[0] < p[2] and p[1] < q[3] and q[1] < p[3]]


def clipped(fig, texts) -> list[str]:
    width, height = (inches * 72 for inches in fig.get_size_inches())
    return [text for text, (x0, y0, x1, y1) in texts if x0 < -SLACK or y0 < -SLACK or x1 > width + SLACK or y1 > height + SLACK]


def bars_without_origin(fig) -> bool:
    """Bars on a logarithmic axis: their length would mean nothing."""
    return any(isinstance(c, BarContainer) and (ax.get_xscale() if c.orientation == "horizontal" else ax.get_yscale()) == "log"
               for ax in fig.axes for c in ax.containers)


NEAR_GREY = 24
"""Greys of 256 that are hard to tell apart."""
GUIDES = {colors.to_hex(c) for c in (style.GREY, style.PALE, style.INK, "white")}


def series(ax) -> set[str]:
    return {colors.to_hex(line.get_color()) for line in ax.lines} - GUIDES


def alike_in_grey(ax) -> list[tuple[str, str]]:
    """Curves of different colours that a print in grey would not tell apart: neither by luminance, nor by dashes, nor by markers."""
    looks: dict[str, set[str]] = defaultdict(set)
    curves = set()
    for line in ax.lines:
        colour, is_curve = colors.to_hex(line.get_color()), len(line.get_xdata()) > 2 and line.get_linestyle() != "None"
        curves |= {colour} if is_curve else set()
        looks[colour] |= ({f"dashes {line._dash_pattern}"} if is_curve else set())  # noqa: SLF001
        looks[colour] |= {f"marker {line.get_marker()}"} - {"marker None", "marker "}
    return [(a, b) for a, b in itertools.combinations(sorted(curves - GUIDES), 2)
            if looks[a] == looks[b] and abs(int(formats.grey(a)[1:3], 16) - int(formats.grey(b)[1:3], 16)) < NEAR_GREY]


@pytest.fixture(scope="module")
def drawings():
    """Every figure, drawn as for the report, by its name."""
    made = {}
    for figure in document.make(collect([p for p in RECORDED.iterdir() if p.is_dir()], [])).figures():
        fig = style.figure(figure.height, figure.half)
        figure.draw(fig)
        style.finish(fig)
        made[figure.name] = fig, texts_of(fig)
    assert len(made) > 60
    return made


@pytest.mark.long
def test_no_two_labels_overlap(drawings):
    assert {name: found for name, (_, texts) in drawings.items() if (found := overlapping(texts))} == {}


@pytest.mark.long
def test_no_label_is_cut_off(drawings):
    assert {name: found for name, (fig, texts) in drawings.items() if (found := clipped(fig, texts))} == {}


@pytest.mark.long
def test_no_bars_on_a_logarithmic_axis(drawings):
    assert [name for name, (fig, _) in drawings.items() if bars_without_origin(fig)] == []


@pytest.mark.long
def test_at_most_six_series(drawings):
    assert {name: most for name, (fig, _) in drawings.items() if (most := max(len(series(ax)) for ax in fig.axes)) > style.MOST} == {}


@pytest.mark.long
def test_series_differ_in_grey(drawings):
    assert {name: found for name, (fig, _) in drawings.items() if (found := [x for ax in fig.axes for x in alike_in_grey(ax)])} == {}


def test_the_checks_see_faults():
    fig = style.figure(60, True)
    ax = style.axes(fig, 14, 9, 2, 2)
    ax.set_yscale("log")
    ax.bar([1, 2], [3, 4])
    ax.plot([1, 1.5, 2], [3, 4, 4], color="#ff0000", marker="o")
    ax.plot([1, 1.5, 2], [3, 3, 3], color="#bb6600", marker="o")
    ax.annotate("a label", (1.5, 3.5))
    ax.annotate("a lapel", (1.5, 3.5))
    ax.annotate("far beyond the edge of the figure", (2, 4))
    texts = texts_of(fig)
    assert ("a label", "a lapel") in overlapping(texts) and "far beyond the edge of the figure" in clipped(fig, texts)
    assert bars_without_origin(fig) and alike_in_grey(ax) and len(series(ax)) == 2
