"""The numbers of a report by key, as its texts print them, each with its origin.

A key is a path of words: EXPERIMENT/KERNEL/SIZE/QUANTITY for a kernel of a ladder ('matmul_ladder/gpu/matmul/tiled/n8192/rate'),
EXPERIMENT/SIDE/FAMILY/TYPE/ROLE/QUANTITY for the bottom, the top, the fastest kernel and the fastest library of a ladder, whichever they are,
roofs/SIDE/BOARD/ROOF/rate, and gpu_against_cpu/FAMILY/TYPE/QUESTION/SIZE/speedup with the start of the crossover.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from report.data.collect import Study
from report.data.ladder import Ladder, Rung
from report.data.records import GFLOPS, SQUARE, Point
from report.data.roofs import Roof, Share
from report.data.sides import ALWAYS, NEVER, Gain, Pair, Sides, Start, of_views
from report.data.statistics import Ratio
from report.latex import units
from report.output import cell
from report.sections.contributions import Contribution
from report.text import numbers, words

TIMES = "×"
Ends = tuple[float, float] | None


@dataclass(frozen=True)
class Number:
    """A number as text in a unit; `low` and `high`: the ends of its interval in the same unit, empty where it has none."""

    key: str
    value: float
    text: str
    unit: str
    low: str
    high: str
    what: str
    """What it is of, for a sentence: 'tiled at N = 8192'."""
    origin: str
    """Machine, date and number of samples."""
    base: str = ""
    """The unit of `value`."""
    other: str = ""
    """What it is compared with."""
    size: float = 0.0
    """The size of a comparison of both sides."""

    @property
    def exact(self) -> str:
        """The value with the digits of the CSV files."""
        return f"{cell(float(self.value))} {self.base}".rstrip()


def collect(study: Study, found: Sequence[Contribution]) -> list[Number]:
    """Every number, sorted by key. Where two would have one key, the second and further ones have '-2' … after it."""
    made: dict[str, Number] = {}
    for one in filter(None, (*_of_ladders(found), *_of_roofs(study), *_of_sides(study))):
        key, times = one.key, 1
        while key in made and made[key] != replace(one, key=key):
            times += 1
            key = f"{one.key}-{times}"
        made[key] = replace(one, key=key)
    return [made[key] for key in sorted(made)]


def number(key: str, value: float | None, text: str, ends: Ends, what: str, origin: str, base: str = "", other: str = "",
           size: float = 0.0) -> Number | None:
    """A number from its text in the report; None where it has no value, or the text is no number."""
    if value is None or not math.isfinite(value):
        return None
    try:
        digits, unit = units.split(text)
    except ValueError:
        return None
    low, high = _ends(value, digits, unit, ends)
    return Number(key, value, digits, unit, low, high, what, origin, base, other, size)


def _ends(value: float, digits: str, unit: str, ends: Ends) -> tuple[str, str]:
    """Both ends in the unit of the number's text, rounded as the report's intervals are."""
    if ends is None or not value or not all(map(math.isfinite, ends)):
        return "", ""
    factor = 100.0 if unit == "%" else 1.0 if unit == TIMES else 10.0 ** (3 * round(math.log10(abs(float(digits) / value)) / 3))
    texts = [numbers.percent(x) if unit == "%" else numbers.significant(x * factor) for x in ends]
    low, high = (units.split(text)[0] for text in texts)
    return low, high


def slug(*parts: object) -> str:
    """Letters, digits, '.', '_' and '-' of the parts."""
    text = "_".join("".join(c if c.isascii() and (c.isalnum() or c in "._-") else " " for c in str(part)) for part in parts if str(part))
    return "_".join(text.split()) or "unnamed"


def path(*parts: object) -> str:
    return "/".join(slug(part) for one in parts for part in str(one).split("/"))


# Ladders


def _of_ladders(found: Iterable[Contribution]) -> Iterator[Number | None]:
    for one in found:
        for ladder in one.section.ladders:
            yield from _of_ladder(one.view.name, ladder)


def _of_ladder(experiment: str, ladder: Ladder) -> Iterator[Number | None]:
    here = {rung.point.name for rung in ladder.rungs}
    for rung in ladder.rungs:
        yield from _of_rung(path(experiment, rung.point.kernel.name, size(rung.point.sizes)), ladder, rung)
    for point in ladder.points:
        if point.name not in here:
            yield _rate(path(experiment, point.kernel.name, size(point.sizes)), ladder, point)
    roles = {"bottom": ladder.own[0] if ladder.own else None, "top": ladder.top, "fastest": ladder.fastest, "library": ladder.best_peer}
    for role, rung in ((role, rung) for role, rung in roles.items() if rung):
        key = path(experiment, ladder.part.side, ladder.problem.family, ladder.type, role)
        yield from _of_rung(key, ladder, rung)
        peer = ladder.best_peer
        if peer and (over := rung.peers.get(peer.point.kernel.title)):
            yield _ratio(f"{key}/over_library", over, ladder, rung.point, peer.point)


def _of_rung(key: str, ladder: Ladder, rung: Rung) -> Iterator[Number | None]:
    p = rung.point
    yield _rate(key, ladder, p)
    yield number(f"{key}/time", p.timing.median, numbers.seconds(p.timing.median), p.timing.interval, _named(p), _origin(ladder.part.label, [p]), "s")
    if rung.below:
        lower = ladder.own[(rung.number or 0) - 2].point
        yield _ratio(f"{key}/gain", rung.below, ladder, p, lower)
    for peer in ladder.peers:
        if over := rung.peers.get(peer.point.kernel.title):
            yield _ratio(f"{key}/over_{slug(peer.point.kernel.name.split('/')[-1])}", over, ladder, p, peer.point)
    memory = None if p.metric == GFLOPS else ladder.part.roofs.share(p, ladder.part.memory(p))
    for share, roof in ((rung.share, "peak"), (memory, "memory")):
        yield _share(f"{key}/share_of_{roof}", share, ladder, p) if share else None


def _rate(key: str, ladder: Ladder, p: Point) -> Number | None:
    kind = "rate" if p.metric.is_rate else slug(p.metric.key)
    return number(f"{key}/{kind}", p.value, numbers.rate(p), p.interval, _named(p), _origin(ladder.part.label, [p]), numbers.unit(p))


def _ratio(key: str, found: Ratio, ladder: Ladder, p: Point, other: Point) -> Number | None:
    return number(key, found.value, numbers.times(found.value), found.interval, _named(p), _origin(ladder.part.label, [p, other]), "times", other.title)


def _share(key: str, found: Share, ladder: Ladder, p: Point) -> Number | None:
    """The share of a roof; none above the roof, since the roof is no measure then."""
    ends = (found.low, found.high) if found.low and found.high else None
    rate = numbers.bandwidth(found.roof.value) if found.roof.is_bandwidth else numbers.flops(found.roof.value, found.roof.type)
    return None if found.exceeds else number(key, found.value, words.share(found), ends, _named(p), _origin(ladder.part.label, [p]), "of the roof",
                                             f"{found.roof.label} with {rate}")


def _named(p: Point) -> str:
    return f"{p.title} at {p.size_text}"


def _origin(label: str, points: Sequence[Point]) -> str:
    return f"{label}; {words.samples(points)}"


def size(sizes: Mapping[str, float | str]) -> str:
    """'n8192' of a square problem, 'n16384_radius16', 'm1000_n16_k300'."""
    sides = {v for k, v in sizes.items() if k in SQUARE}
    rest = {k: v for k, v in sizes.items() if k not in SQUARE} if len(sides) == 1 else dict(sizes)
    square = {"n": sides.pop()} if len(sides) == 1 else {}
    return slug(*[f"{k}{_exact(v)}" for k, v in (square | rest).items()] or ["one_size"])


def _exact(value: float | str) -> str:
    return str(int(value)) if isinstance(value, (int, float)) and value == int(value) else f".{value}" if isinstance(value, str) else repr(value)


# Roofs


def _of_roofs(study: Study) -> Iterator[Number | None]:
    known = dict.fromkeys(roof for view in study.views for part in (*view.timed_parts, *view.others) for roof in part.roofs.all if roof.measured)
    for roof in sorted(known, key=lambda r: (r.label, r.threads or 0, r.day, r.run, r.value)):
        yield _roof(roof)


def _roof(roof: Roof) -> Number | None:
    side = roof.kernel.split("/")[0]
    board = next((r.host.removeprefix("GPU-")[:4] if r.host.startswith("GPU-") else r.host for r in reversed(roof.readings) if r.value == roof.value), "")
    threads = f"{roof.threads}_threads" if roof.threads else ""
    key = path("roofs", side, board or roof.machine, slug(roof.label.lower().replace(",", ""), threads), "rate")
    text = numbers.bandwidth(roof.value) if roof.is_bandwidth else numbers.flops(roof.value, roof.type)
    what = roof.label + (f" with {words.counted(roof.threads, 'thread')}" if roof.threads else "")
    return number(key, roof.value, text, (roof.low, roof.high) if roof.low and roof.high else None, what,
                  f"{roof.machine}, {roof.day}; {words.counted(roof.n, 'sample')}", "GB/s" if roof.is_bandwidth else numbers.of_type("GFLOP/s", roof.type))


# The GPU against the CPU


def _of_sides(study: Study) -> Iterator[Number | None]:
    """Of the problems that both sides measured on one host, without those that some experiment leaves out of such comparisons."""
    left_out, included = (_declared(study, name) for name in ("left_out", "included"))
    for (family, type_, rest), sides in of_views(study.views).items():
        if family not in left_out:
            key = path("gpu_against_cpu", family, type_, slug(*[f"{k}{_exact(v)}" if isinstance(v, (int, float)) else v for k, v in rest] or ["one"]))
            yield from _of_side(key, sides, family in included)


def _declared(study: Study, name: str) -> set[str]:
    """The families that the experiments which collect others declare."""
    found = (view.settings.get(name) for view in study.views if view.settings.get("collects"))
    return {str(family) for families in found if isinstance(families, list) for family in families}


def _of_side(key: str, sides: Sides, is_included: bool) -> Iterator[Number | None]:
    """`is_included`: whether the GPU's calls include the copies."""
    for pair in sides.pairs:
        at = f"{key}/{slug(f'n{_exact(pair.n)}')}"
        yield None if is_included else _gain(f"{at}/speedup", pair, pair.gain(), "")
        moved = pair.gain() if is_included else pair.moved
        yield _gain(f"{at}/speedup_with_copies", pair, moved, ", copies included") if moved else None
    yield None if is_included else _start(f"{key}/start", sides, sides.start(False))
    yield _start(f"{key}/start_with_copies", sides, sides.start(not is_included))


def _gain(key: str, pair: Pair, gain: Gain, how: str) -> Number | None:
    return number(key, gain.value, numbers.times(gain.value), gain.interval, f"{_named(pair.gpu.point)} on the GPU{how}",
                  _host(pair, [pair.cpu.point, pair.gpu.point]), "times", f"{pair.cpu.point.title} on the CPU", pair.n)


def _start(key: str, sides: Sides, found: Start | None) -> Number | None:
    """The size from which on the GPU is clearly faster: the smallest one measured where it is so at all."""
    if found is None or found.kind == NEVER:
        return None
    n = sides.pairs[0].n if found.kind == ALWAYS else found.at
    what = f"{sides.problem.title}, {words.type_name(sides.type)}"
    points = [m.point for pair in sides.pairs for m in (pair.cpu, pair.gpu)]
    return number(key, n, numbers.grouped(n), None, what,
                  f"{_host(sides.last, points)}{'; faster at every size measured' * (found.kind == ALWAYS)}") if n else None


def _host(pair: Pair, points: Sequence[Point]) -> str:
    days = " to ".join(sorted({pair.cpu.part.run.day, pair.gpu.part.run.day}))
    return f"{pair.gpu.part.machine.label} in a host with {pair.cpu.part.machine.name}, {days}; {words.samples(points)}"
