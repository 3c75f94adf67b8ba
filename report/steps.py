"""The ladder step by step: each own rung against the one below and against every peer, at one size."""

from __future__ import annotations

from dataclasses import dataclass

from report import derive, stats
from report.records import Point, Side, Study


@dataclass(frozen=True)
class Ratio:
    """How many times the rate of another point; `paired` if both were sampled in turns."""

    value: float
    low: float | None
    high: float | None
    paired: bool

    @property
    def interval(self) -> tuple[float, float] | None:
        return None if self.low is None else (self.low, self.high)

    @property
    def verdict(self) -> str:
        """'faster', 'slower' or 'ambiguous'; 'unknown' without an interval."""
        if self.low is None:
            return "unknown"
        return "faster" if self.low > 1 else "slower" if self.high < 1 else "ambiguous"


@dataclass(frozen=True)
class Step:
    """A rung (or a peer) at one size with what it is compared with. `below_n` is the size of that comparison."""

    point: Point
    number: int | None
    below: Ratio | None
    below_n: int | None
    peers: dict[str, Ratio]
    roof_share: float | None


def ratio(own: Point, other: Point) -> Ratio:
    """Rate over rate for the same work.

    Where both were sampled in turns, turn by turn: the median of the quotients with its rank interval, which what
    the machine did to both at once does not touch. Else the ratio of the medians, with the ends of both intervals.
    """
    if own.interleaved and other.interleaved and own.run == other.run:
        theirs = dict(zip(other.turns, other.times))
        quotients = [theirs[turn] / time for turn, time in zip(own.turns, own.times) if turn in theirs]
        if len(quotients) >= stats.FEWEST_FOR_INTERVAL:
            found = stats.summarise(quotients)
            return Ratio(found.median, found.low, found.high, True)
    ends = stats.ratio_interval(other.summary, own.summary)
    return Ratio(other.summary.median / own.summary.median, *(ends or (None, None)), False)


def peers_of(own: Point, pool: list[Point]) -> dict[str, Ratio]:
    """Title of each other library of the pool → ratio over its fastest point of this size, of the same run if any."""
    groups = derive.by_kernel([p for p in pool if p.kernel.is_library and p.size_key == own.size_key
                               and p.kernel != own.kernel])
    made = {}
    for group in groups.values():
        same = [p for p in group if p.run == own.run] or group
        made[group[0].kernel.title] = ratio(own, derive.fastest(same))
    return made


def climb(study: Study, side: Side, precision: str) -> list[Step]:
    """Own rungs from the bottom, then the peers, each where the ladder has it (see `derive.rungs`)."""
    points = [p for p in derive.in_precision(derive.timed(side, derive.main_family(study)), precision) if p.n]
    rungs = [r for r in derive.rungs(study, side) if r.point.kernel.precision == precision]
    made, before = [], None
    for rung in sorted(rungs, key=lambda r: (r.point.kernel.is_library, r.number)):
        is_own = not rung.point.kernel.is_library
        below = _below(points, rung.point, before, rung.step_n) if is_own and before else None
        number = sum(s.number is not None for s in made) + 1 if is_own else None
        made.append(Step(rung.point, number, below, rung.step_n if below else None,
                         peers_of(rung.point, points) if is_own else {}, rung.roof_share))
        before = rung.point if is_own else before
    return made


def _below(points: list[Point], above: Point, below: Point, n: int | None) -> Ratio | None:
    pair = [derive.fastest([p for p in points if p.kernel == kernel and p.n == n])
            for kernel in (above.kernel, below.kernel)]
    return ratio(*pair) if all(pair) else None


def at_size(study: Study, side: Side, precision: str, n: int) -> list[Step]:
    """The same at the square size n, for the rungs that were measured there."""
    points = derive.in_precision(derive.timed(side, derive.main_family(study)), precision)
    best, roof = derive.best_variants(points, n), derive.peak(side, precision)
    own = [p for p in best if not p.kernel.is_library]
    made = []
    for i, point in enumerate(own + [p for p in best if p.kernel.is_library]):
        below = ratio(point, own[i - 1]) if 0 < i < len(own) else None
        made.append(Step(point, i + 1 if i < len(own) else None, below, n if below else None,
                         peers_of(point, points) if i < len(own) else {},
                         point.gflops / roof.value if roof else None))
    return made


def sizes(study: Study, side: Side, precision: str) -> list[int]:
    points = derive.in_precision(derive.timed(side, derive.main_family(study)), precision)
    return sorted({p.n for p in points if p.n})


def top_rung(study: Study, side: Side | None, precision: str) -> Step | None:
    """The highest own rung at the compared size that is as fast as any there, as far as the samples can tell.

    Where none was measured there, at its own largest size.
    """
    own = [s for s in climb(study, side, precision) if s.number] if side else []
    n = derive.side_size(study, side) if own else None
    here = [s for s in own if s.point.n == n] or own
    fastest = max(here, key=lambda s: (s.point.gflops, s.number), default=None)
    level = [s for s in here if s is fastest or (
        s.point.n == fastest.point.n and ratio(s.point, fastest.point).verdict in ("faster", "ambiguous"))]
    return max(level, key=lambda s: s.number, default=None)


def over_sizes(study: Study, side: Side, top: Step) -> list[tuple[Point, dict[str, Ratio]]]:
    """The top rung's fastest variant at every size, any shape, with the ratio over each peer measured there."""
    points = derive.in_precision(derive.timed(side, derive.main_family(study)), top.point.kernel.precision)
    groups: dict[tuple, list[Point]] = {}
    for p in points:
        if p.kernel == top.point.kernel:
            groups.setdefault(p.size_key, []).append(p)
    best = [derive.fastest(group) for group in groups.values()]
    best.sort(key=lambda p: (p.n is None, p.flops, p.size_key))
    return [(p, found) for p in best if (found := peers_of(p, points))]
