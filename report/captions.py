"""What every caption must say: machine, date, mode, number of samples, interval."""

from __future__ import annotations

from collections.abc import Sequence

from report.records import SIDE_NAME, Point, Side


def span(values: Sequence[int]) -> str:
    """'15' or '6–15'."""
    low, high = min(values), max(values)
    return f"{low}" if low == high else f"{low}–{high}"


def joined(names: Sequence[str]) -> str:
    """'a', 'a and b', 'a, b and c'."""
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def samples(points: Sequence[Point]) -> str:
    """Mode, samples and interval of the points shown: 'hot mode; medians of 15 samples, 95 % rank intervals'."""
    modes = " and ".join(sorted({p.mode for p in points}))
    counts = [p.summary.n for p in points]
    text = f"{modes} mode; medians of {span(counts)} sample{'s' if max(counts) > 1 else ''}"
    without = sum(not p.summary.has_interval for p in points)
    if without == len(points):
        return f"{text}, too few for an interval"
    text += ", 95 % rank intervals"
    return f"{text} (none for {without} points of fewer than six samples)" if without else text


def remarks(points: Sequence[Point]) -> str:
    """Sentences on batches, on points that did not settle and on throttling; empty if there is nothing to say."""
    text = ""
    batch = max(p.batch for p in points)
    if batch > 1:
        text += f" Short calls are batched, up to {batch} a sample."
    if any(not p.settled for p in points):
        text += " Hollow: the stop rule was not met."
    throttled = sum(p.counters.get("throttled", 0) > 0 for p in points)
    if throttled:
        text += f" {throttled} of the points ran at a throttled clock."
    return text


def provenance(shown: Sequence[tuple[Side, Sequence[Point]]]) -> str:
    """'CPU: measured on …; GPU: recorded on …; hot mode; medians of …' for the sides shown, with their points."""
    shown = [(side, points) for side, points in shown if points]
    if not shown:
        return ""
    names = [f"{SIDE_NAME[side.name]}: " * (len(shown) > 1) + side.label_of(points) for side, points in shown]
    stories = [samples(points) for _, points in shown]
    if len(set(stories)) == 1:
        text = f"{'; '.join(names)}; {stories[0]}."
    else:
        text = "; ".join(f"{name}; {story}" for name, story in zip(names, stories)) + "."
    return text[0].upper() + text[1:] + remarks([p for _, points in shown for p in points])
