"""A figure laid out once and drawn into files of several formats.

Laying out (ticks, labels, where text goes) takes most of the time that matplotlib draws, and savefig lays out anew for
each format. Here the calls that a figure makes of its renderer are recorded, and each format's renderer gets the record.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager

from matplotlib.backend_bases import GraphicsContextBase, RendererBase
from matplotlib.figure import Figure
from matplotlib.transforms import Affine2D, Bbox, TransformedPath

DOTS = 72
"""Dots an inch of a record: a dot is a point."""


class NotRecorded(Exception):
    """The figure holds an image, whose pixels are those of the format."""


def drawn_once(fig: Figure) -> Figure:
    """A figure that draws the same with savefig; the figure itself where it cannot be recorded."""
    fig.set_dpi(DOTS)
    recorder = _Recorder(*fig.bbox.size)
    try:
        fig.draw(recorder)
    except NotRecorded:
        return fig
    return _Replay(fig, recorder.calls)


class _Recorder(RendererBase):
    """Keeps each call with a copy of its graphics context; the methods not given here come down to these three."""

    def __init__(self, width: float, height: float):
        super().__init__()
        self.width, self.height = width, height
        self.calls: list[tuple[GraphicsContextBase, Callable]] = []

    def get_canvas_width_height(self):
        return self.width, self.height

    def flipy(self):
        return False

    def draw_path(self, gc, path, transform, rgbFace=None):
        fixed = transform.frozen()
        self._keep(gc, lambda to, gc, scale: to.draw_path(gc, path, fixed + scale, rgbFace))

    def draw_markers(self, gc, marker_path, marker_trans, path, trans, rgbFace=None):
        marker, fixed = marker_trans.frozen(), trans.frozen()
        self._keep(gc, lambda to, gc, scale: to.draw_markers(
            gc, marker_path, marker + scale, path, fixed + scale, rgbFace))

    def draw_text(self, gc, x, y, s, prop, angle, ismath=False, mtext=None):
        def draw(to, gc, scale):
            at, height = scale.transform((x, y)), to.get_canvas_width_height()[1]
            to.draw_text(gc, at[0], height - at[1] if to.flipy() else at[1], s, prop, angle, ismath=ismath)
        self._keep(gc, draw)

    def draw_image(self, gc, x, y, im, transform=None):
        raise NotRecorded

    def _keep(self, gc, call):
        kept = GraphicsContextBase()
        kept.copy_properties(gc)
        rectangle, (path, transform) = gc.get_clip_rectangle(), gc.get_clip_path()
        kept.set_clip_rectangle(rectangle and Bbox(rectangle.get_points()))
        kept.set_clip_path(path and TransformedPath(path, transform.frozen()))
        self.calls.append((kept, call))


class _Replay(Figure):
    """Draws a record, in whatever number of dots an inch it is saved with."""

    def __init__(self, fig: Figure, calls):
        super().__init__(figsize=fig.get_size_inches())
        self._calls = calls

    def draw(self, renderer):
        times = self.dpi / DOTS
        scale = Affine2D().scale(times)
        for kept, call in self._calls:
            gc = renderer.new_gc()
            gc.copy_properties(kept)
            if times != 1:
                _enlarge_clip(gc, times, scale)
            call(renderer, gc, scale)
            gc.restore()


def _enlarge_clip(gc: GraphicsContextBase, times: float, scale: Affine2D) -> None:
    rectangle, (path, transform) = gc.get_clip_rectangle(), gc.get_clip_path()
    gc.set_clip_rectangle(rectangle and Bbox(rectangle.get_points() * times))
    gc.set_clip_path(path and TransformedPath(path, transform + scale))
