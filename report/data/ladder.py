"""A ladder: the kernels of one problem and data type at one size, each compared with the one below, the peers and the roof.

Built once, by its experiment, and passed on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from report.data.limits import Use, use
from report.data.records import Point, Problem
from report.data.roofs import Share
from report.data.statistics import SLOWER, Ratio, judge, ratio
from report.data.view import Part, best_variants, by_time, fastest, leaders, whole_machine

Compared = tuple[str, ...]
"""What a ratio is over ('below', 'fastest', 'peer'), the point's name, and of a peer its title."""
MOST = 0.9
"""A size is common if so large a part of the kernels was measured there."""


@dataclass(frozen=True)
class Rung:
    """A kernel's fastest variant at the ladder's size. `number`: from 1 at the bottom; None of a peer (a library)."""

    point: Point
    number: int | None
    below: Ratio | None
    """Its speed over the rung below."""
    peers: dict[str, Ratio]
    """Its speed over each peer, by the peer's title."""
    share: Share | None
    """Its share of the measured arithmetic peak of its type."""
    use: Use
    over_fastest: Ratio | None = None
    """Its speed over the fastest own rung; None of that itself and of peers."""

    @property
    def is_own(self) -> bool:
        return self.number is not None


@dataclass(frozen=True)
class Ladder:
    """All rungs at one size, from the bottom, then the peers; and the top against the peers at every size."""

    part: Part
    problem: Problem
    type: str
    rungs: tuple[Rung, ...]
    note: str
    """Why the size is not the declared one; else empty."""
    missing: tuple[Point, ...]
    """For each kernel without a rung, a point that was not measured, or was measured at other sizes only."""
    over: tuple[tuple[Point, dict[str, Ratio]], ...]
    """The kernel of the highest rung that is not significantly slower than the fastest one, at each size and shape,
    smallest first, with its ratios over the peers there."""
    points: tuple[Point, ...]
    """Every kernel's fastest variant at every size."""

    @property
    def own(self) -> list[Rung]:
        return [r for r in self.rungs if r.is_own]

    @property
    def peers(self) -> list[Rung]:
        return [r for r in self.rungs if not r.is_own]

    @property
    def size_text(self) -> str:
        return self.rungs[0].point.size_text

    @property
    def fastest(self) -> Rung:
        """The fastest own rung, by the ladder's tests."""
        return next((r for r in self.own if r.over_fastest is None), None) or min(self.rungs, key=_time)

    @property
    def level(self) -> list[Rung]:
        """The own rungs that do not differ significantly from the fastest one, by increasing median."""
        found = (r for r in self.own if r.over_fastest and r.over_fastest.is_level)
        return sorted(found, key=_time)

    @property
    def best_peer(self) -> Rung | None:
        return min(self.peers, key=_time, default=None)

    @property
    def top(self) -> Rung:
        """The highest own rung that is not significantly slower than the fastest own one."""
        level = [r for r in self.own if r.over_fastest is None or r.over_fastest.verdict != SLOWER]
        return max(level, key=lambda r: r.number or 0, default=self.fastest)

    def is_along(self, point: Point) -> bool:
        """Whether a point is of a square and differs from the rungs' sizes only in numbers, not in a word such as a
        layout."""
        return point.n is not None and _words(point) == _words(self.rungs[0].point)

    def best_at(self) -> dict[tuple, Point]:
        """The fastest own or library point of each size."""
        groups: dict[tuple, list[Point]] = {}
        for point in self.points:
            groups.setdefault(point.size_key, []).append(point)
        return {key: min(group, key=by_time) for key, group in groups.items()}

    def find(self, text: str) -> Point | None:
        """The point at the ladder's size of 'gpu/matmul/tiled' or 'gpu/matmul/tiled/tile:16', if there is one."""
        size = self.rungs[0].point.size_key
        found = [p for p in self.part.timed() if p.size_key == size
                 and (p.kernel.name == text or f"{p.name}/".startswith(f"{text}/"))]
        return fastest(found)


def _time(rung: Rung) -> float:
    return rung.point.timing.median


def _words(point: Point) -> dict[str, str]:
    return {k: v for k, v in point.sizes.items() if isinstance(v, str)}


def build(part: Part | None, family: str, type_: str, size: object = None) -> Ladder | None:
    """The ladder of one problem and type from the part's points on the whole machine; None without points. `size`: the
    side of a square, or a table of sizes. If it was not measured, the ladder is at the largest size that most kernels
    have, and its note states that.
    """
    if part is None:
        return None
    points = [replace(p, threads=1) if p.kernel.is_serial else p for p in whole_machine(part.timed(family, type_)) if p.value]
    if not points:
        return None
    best = best_variants(points)
    here, note = _at(best, size)
    own, peers = ([p for p in here if p.kernel.is_library == library] for library in (False, True))
    top = _highest(own)
    over = [p for p in best if top and p.kernel == top.kernel]
    ratios = _ratios(own, over, best)
    made = [Rung(p, i + 1, ratios.get(("below", p.name)), _of(ratios, p), part.roofs.of_peak(p), use(part, p),
                 ratios.get(("fastest", p.name)))
            for i, p in enumerate(own)]
    made += [Rung(p, None, None, {}, part.roofs.of_peak(p), use(part, p)) for p in peers]
    problem = part.run.problems.get(family) or Problem(family, family, here[0].metric)
    return Ladder(part, problem, type_, tuple(made), note, _missing(part, family, type_, here),
                  tuple((p, _of(ratios, p)) for p in sorted(over, key=lambda p: (p.n is None, p.amount, p.name))),
                  tuple(best))


def _highest(own: list[Point]) -> Point | None:
    """The highest rung that is not significantly slower than the fastest one: where noise decides, the ladder's order does."""
    best = next(iter(leaders(own)), None)
    found = judge({p.name: ratio(p, best) for p in own if p is not best})
    return next((p for p in reversed(own) if p is best or found[p.name].verdict != SLOWER), None)


def _at(points: Sequence[Point], size: object) -> tuple[list[Point], str]:
    """Points of the declared size, else of the largest one that most kernels have, with a note."""
    found = [p for p in points if _is_size(p, size)]
    if found:
        key = max(p.size_key for p in found)
        return [p for p in found if p.size_key == key], ""
    kernels: dict[tuple, set[str]] = {}
    for p in points:
        kernels.setdefault((p.n or 0, p.size_key), set()).add(p.kernel.name)
    most = max(map(len, kernels.values()))
    key = max(k for k, names in kernels.items() if len(names) >= MOST * most)[1]
    found = [p for p in points if p.size_key == key]
    wanted = size if isinstance(size, dict) else {"N": size}
    note = f"{', '.join(f'{k} = {v}' for k, v in wanted.items())} was not measured" if size else ""
    return found, note


def _is_size(point: Point, size: object) -> bool:
    if isinstance(size, dict):
        return all(point.sizes.get(k) == v for k, v in size.items())
    return size is not None and point.n == size


def _ratios(own: list[Point], over: list[Point], every: list[Point]) -> dict[Compared, Ratio]:
    """All comparisons of the ladder, judged together."""
    found: dict[Compared, Ratio] = {("below", new.name): ratio(new, old) for old, new in zip(own, own[1:])}
    best = next(iter(leaders(own)), None)
    found |= {("fastest", p.name): ratio(p, best) for p in own if p is not best}
    for point in {p.name: p for p in (*own, *over)}.values():
        for peer in (p for p in every if p.kernel.is_library and p.size_key == point.size_key):
            found["peer", point.name, peer.kernel.title] = ratio(point, peer)
    return judge(found)


def _of(ratios: dict[Compared, Ratio], point: Point) -> dict[str, Ratio]:
    return {key[2]: r for key, r in ratios.items() if key[:2] == ("peer", point.name)}


def _missing(part: Part, family: str, type_: str, here: list[Point]) -> tuple[Point, ...]:
    shown = {p.kernel.name for p in here}
    found: dict[str, tuple[tuple[bool, bool], str, Point]] = {}
    size = here[0].size_key
    for p in part.points:
        k = p.kernel
        if k.family == family and k.type == type_ and not k.is_ceiling and k.name not in shown:
            reason = (p.size_key == size, bool(p.skipped or p.failed))
            found[k.name] = max(found.get(k.name, (reason, p.name, p)), (reason, p.name, p), key=lambda x: x[:2])
    return tuple(p for _, _, p in sorted(found.values(), key=lambda x: x[2].kernel.order))
