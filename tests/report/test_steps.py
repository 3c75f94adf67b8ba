"""The steps of a ladder: which rungs are steps, and what each needs less of than the row above."""

from dataclasses import replace

from conftest import RECORDED  # noqa: F401 - the folders of the tree
from synthetic import ladder

from report.counters import STATES
from report.data.collect import collect
from report.data.limits import DRAM, ISSUE, L1, Use
from report.experiment import build
from report.sections import steps


def made(tmp_path):
    ladder().save(tmp_path)
    view, = collect([tmp_path], []).views
    return build(view.gpu, "matmul", "fp32", 512)


def less(monkeypatch, ladder_, then, now, shares, waits=({}, {})):
    """What the second rung needs less of, with these counts, shares of the row above and waits."""
    first, second = ladder_.own[:2]
    of = {first.point.name: then, second.point.name: now}
    monkeypatch.setattr(steps, "counts", lambda part, point: of[point.name])
    below, rung = (replace(r, use=Use(s, w)) for r, s, w in ((first, shares, waits[0]), (second, shares, waits[1])))
    return steps.less(ladder_, below, rung)


def test_the_lowest_the_fastest_and_clear_steps(tmp_path):
    found = made(tmp_path)
    shown = steps.of(found)
    assert shown[0] is found.own[0] and found.fastest in shown
    for below, rung in zip(shown, shown[1:]):
        assert rung is found.fastest or rung.point.value >= steps.CLEARLY * below.point.value
    rows = steps.table("x", found).rows
    assert [r["kernel"] for r in rows] == [r.point.kernel.name for r in (*shown, found.best_peer)]


def test_what_limited_the_row_above_is_first(tmp_path, monkeypatch):
    """Though another count fell by more; and that is not named where the resource was hardly used."""
    then, now = {L1: 120.0, DRAM: 400.0}, {L1: 100.0, DRAM: 100.0}
    told = less(monkeypatch, made(tmp_path), then, now, {L1: 0.93, DRAM: 0.4})
    assert told == "1.20× fewer wavefronts of the L1; 4× fewer bytes of DRAM"
    assert less(monkeypatch, made(tmp_path), then, now, {L1: 0.93, DRAM: 0.05}) == "1.20× fewer wavefronts of the L1"


def test_waits_and_what_rises_are_named(tmp_path, monkeypatch):
    told = less(monkeypatch, made(tmp_path), {L1: 100.0, ISSUE: 100.0}, {L1: 100.0, ISSUE: 150.0}, {L1: 0.5, ISSUE: 0.6},
                ({"long_scoreboard": 0.3}, {"long_scoreboard": 0.02}))
    assert told == "waits for global memory: 2.0\u00a0% of the warps’ time, not 30\u00a0%; but 1.50× more instructions"


def test_nothing_is_named_where_nothing_changed(tmp_path, monkeypatch):
    assert less(monkeypatch, made(tmp_path), {L1: 100.0}, {L1: 100.0}, {L1: 0.9}) == ""


def test_states_have_the_profiler_s_names():
    assert steps.WAITS.keys() <= set(STATES)
