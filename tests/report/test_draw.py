"""Drawing: labels keep apart, series are distinguishable, figures stay on their page."""

import math

import pytest
from conftest import RECORDED

from report.draw import labels, lines, marks, style
from report.draw.paper import TEXT, Paper


@pytest.mark.parametrize("wishes, gap", (([5, 5, 5], 2), ([1, 10, 10.5, 3], 2), ([0, 0.1, 0.2, 50], 8), ([], 3), ([4], 3)))
def test_spread_keeps_distance_and_order(wishes, gap):
    placed = labels.spread(wishes, gap)
    assert sorted(range(len(wishes)), key=lambda i: (wishes[i], i)) == sorted(range(len(wishes)), key=lambda i: placed[i])
    ordered = sorted(placed)
    assert all(b - a >= gap - 1e-9 for a, b in zip(ordered, ordered[1:]))
    if len(wishes) == 3:
        assert sum(placed) / 3 == pytest.approx(5)


def test_spread_stays_within_limits():
    placed = labels.spread([100, 100, 100], 10, low=0, high=100)
    assert max(placed) == 100 and min(placed) == 80


@pytest.mark.parametrize("text, number", (("blocked, all threads (block 128)", 1), ("x" * 100, 3), ("", 1)))
def test_nothing_is_cut_off(text, number):
    shown = labels.wrap(text, 34)
    assert shown.count("\n") == number - 1 and max(map(len, shown.split("\n"))) <= 34
    assert not text or shown.replace("\n", "") == text


@pytest.mark.parametrize("side", (0, 1))
def test_a_label_of_several_lines_stays_beside_the_axes(side):
    ax = style.axes(style.figure(60), 14, 9, 30, 2)
    labels.margin_labels(ax, [(1, side, "a label that takes several lines of the margin next to the axes", "k")], limit=12)
    box = ax.texts[0].get_window_extent()
    _, bottom, _, top = (edge * ax.figure.dpi / labels.POINTS for edge in labels.box_points(ax))
    slack = labels.LINE / 2 * ax.figure.dpi / labels.POINTS
    assert bottom - slack <= box.y0 and box.y1 <= top + slack


def test_a_label_hides_a_turned_text_rather_than_leave_the_axes():
    sheet = Paper((0, 0, 100, 100))
    sheet.take([(x, x, x + 6, x + 6) for x in range(20, 50, 2)], TEXT)
    assert sheet.place([[(70, 30, 130, 38)], [(15, 30, 75, 38)]]) == 1


def test_labels_avoid_what_is_drawn():
    sheet = Paper((0, 0, 100, 100))
    sheet.line((0, 50), (100, 50))
    sheet.mark(20, 70)
    assert sheet.place([[(10, 45, 30, 55)], [(15, 65, 25, 75)], [(90, 80, 110, 90)], [(60, 60, 80, 70)]]) == 3
    assert sheet.cost([(60, 60, 80, 70)]) > 0, "a placed label is in the way of the next"


def axes_with(number: int):
    ax = style.axes(style.figure(60), 14, 9, 30, 2)
    lines.draw(ax, [lines.Series(f"s{i}", [lines.Dot(x, 1e9 * (i + x)) for x in (1, 2, 4)]) for i in range(number)],
               "x", "Performance", unit="cell/s")
    return ax


def test_more_series_than_can_be_told_apart_are_refused():
    axes_with(6)
    with pytest.raises(ValueError, match="7 series"):
        axes_with(7)


def test_series_differ_in_grey_and_in_marker():
    looks = style.SERIES
    assert len({look["marker"] for look in looks}) == len(looks) == style.MOST
    grey = sorted(sum(w * c for w, c in zip((0.299, 0.587, 0.114), style.mix(look["color"], "#000000", 0))) for look in looks)
    lines_ = {(round(g, 1), str(look["linestyle"])) for g, look in zip(grey, looks)}
    assert len(lines_) == len(looks)


def test_axes_have_the_metric_s_unit_with_a_prefix():
    assert axes_with(2).get_ylabel() == "Performance [Gcell/s]"


def test_half_a_figure_is_half_as_wide():
    whole, half = (style.figure(60, half).get_size_inches()[0] for half in (False, True))
    assert 2 * half < whole < 2.2 * half


def test_marks_at_one_place_are_all_named():
    fig = style.figure(60)
    ax = style.axes(fig)
    ax.set_xlim(0, 10)
    ax.set_ylim(0, 10)
    sheet = Paper(labels.box_points(ax))
    marks.label(ax, [marks.Mark("", name, 5.0, {"error": 4.0}) for name in ("one", "other")], sheet)
    assert [text.get_text() for text in ax.texts] == ["one / other"]


def test_leaders_end_short_of_label_and_mark():
    fig = style.figure(60)
    ax = style.axes(fig)
    labels.leader(ax, (100.0, 50.0), (40.0, 50.0), "black")
    labels.leader(ax, (100.0, 50.0), (97.0, 50.0), "black")
    assert len(ax.lines) == 1, "none where there is no room for one"
    assert [x * labels.POINTS for x in ax.lines[0].get_xdata()] == pytest.approx([97.0, 43.0])


@pytest.mark.parametrize("places, joined", (((256, 1024), False), ((512,), False), ((256, 512, 1024), True)))
def test_fewer_than_three_places_are_no_curve(places, joined):
    ax = style.axes(style.figure(60), 14, 9, 30, 2)
    bound = lines.Series("bound", [lines.Dot(n, 9) for n in places], {"color": "k", "linestyle": "--", "marker": lines.LINE_ALONE})
    lines.draw(ax, [*(lines.Series(name, [lines.Dot(n, 1) for n in places]) for name in "ab"), bound], "N", "Rate")
    curves = [line for line in ax.lines if len(line.get_xdata()) == len(places) and line.get_linestyle() not in ("None", "") and line.get_marker() in ("None", "")
              and not line.get_transform() == ax.figure.dpi_scale_trans]
    assert len(curves) == (3 if joined else 1)
    marks = {tuple(line.get_xdata()) for line in ax.lines if line.get_marker() in "os" and line.get_linestyle() == "None"}
    assert len(marks) == (1 if joined else 2)  # side by side where one would hide the other


@pytest.mark.parametrize("ticks, kept", (((1, 16, 32, 33, 64), [1, 16, 32, 64]), ((1000, 1024, 2048), [1024, 2048]),
                                         ((32, 64, 128, 160), [32, 64, 160]), ((), [])))
def test_of_ticks_that_are_close_the_power_of_two_stays(ticks, kept):
    assert style.thinned(list(ticks), 1.5) == kept


def figures_of(machine):
    """Every figure of the report on a recorded set, drawn."""
    from report import document
    from report.data.collect import collect
    for figure in document.make(collect([RECORDED / machine], [])).figures():
        fig = style.figure(figure.height, figure.half)
        figure.draw(fig)
        style.finish(fig)
        yield figure.name, fig


MACHINES = ("nvidia-h200", *(pytest.param(m, marks=pytest.mark.long) for m in ("nvidia-h100", "amd-epyc-2-cores")))
TIP = 0.5
"""A leader line ends so near (points) to the middle of its mark."""


@pytest.fixture
def labelled(monkeypatch):
    """By figure: the axes, marks and paper of each call that labelled marks."""
    calls, label = {}, marks.label

    def remembering(ax, shown, sheet):
        calls.setdefault(id(ax.figure), []).append((ax, list(shown), sheet))
        label(ax, shown, sheet)
    monkeypatch.setattr(marks, "label", remembering)
    return calls


def numbered(text):
    """The numbers in a label: 1, 3, 4 and 5 in '1, 3–5 name'."""
    told = set()
    for word in text.split(" "):
        first, _, last = word.rstrip(",").partition("–")
        if not first.isdigit():
            break
        told |= {str(i) for i in range(int(first), int(last or first) + 1)}
    return told


def named(text, shown):
    """The marks that a label names: by their numbers, else by their names."""
    if any(m.tag for m in shown):
        return [m for m in shown if m.tag in numbered(text) or not m.tag and m.name in text.split(" / ")]
    return [m for m in shown if m.name in text.split(" / ")]


def places(ax, some):
    return [labels.to_points(ax, x, m.y) for m in some for x in m.xs.values()]


def away(box, place):
    return math.hypot(max(box[0] - place[0], 0, place[0] - box[2]), max(box[1] - place[1], 0, place[1] - box[3]))


def belongs(label, ax, shown):
    """Whether a mark's label is nearest to one that it names, or its leader line ends at such a one; no mark is nearer to what
    is seen of that line."""
    own = named(label.text, shown)
    mine, others = places(ax, own), places(ax, [m for m in shown if m not in own])
    if not mine:
        return False
    if not label.has_leader:
        return min(away(label.box, p) for p in mine) < min((away(label.box, p) for p in others), default=math.inf)
    start, end = label.leader
    part = labels.FROM_MARK / math.dist(start, end)
    seen = [a + part * (b - a) for a, b in zip(end, start)]
    return (min(math.dist(end, p) for p in mine) < TIP
            and min(math.dist(seen, p) for p in mine) <= min((math.dist(seen, p) for p in others), default=math.inf) + 1e-6)


@pytest.mark.parametrize("machine", MACHINES)
def test_each_label_belongs_to_what_it_stands_at(machine, labelled):
    """In every figure the mark nearest to a label is its own, or a leader line ends at its own; no two of these lines cross, and no
    labels of ticks touch."""
    seen, wrong = 0, []
    for name, fig in figures_of(machine):
        drawn = labels.drawn(fig)
        for ax in fig.axes:
            assert not any(style.touching(style.tick_labels(axis, is_x)) for axis, is_x in ((ax.xaxis, True), (ax.yaxis, False))), name
        seen += len(drawn)
        calls = labelled.pop(id(fig), [])
        for label in drawn:
            near = [(ax, shown) for ax, shown, sheet in calls if sheet.limits[0] - 1 <= label.box[0] <= sheet.limits[2] + 1
                    and sheet.limits[1] - 1 <= label.box[1] <= sheet.limits[3] + 1]
            if near:
                wrong += [(name, label.text) for ax, shown in near if not belongs(label, ax, shown)]
            else:
                assert label.has_leader and math.dist(*label.leader) == pytest.approx(label.own) or label.own < label.other, (name, label)
        lines_ = [label.leader for label in drawn if label.leader]
        wrong += [(name, "crossing lines") for i, a in enumerate(lines_) for b in lines_[:i] if labels.cross(*a, *b)]
    assert not wrong
    assert seen > 60


def test_a_label_names_all_marks_that_it_stands_for():
    """Two names share a label where one mark hides the other, else each has its own, the leader line ending at its mark."""
    ax = style.axes(style.figure(60))
    ax.set_xscale("log")
    ax.set_xlim(0.2, 2)
    ax.set_ylim(0, 10)
    sheet = Paper(labels.box_points(ax))
    shown = [marks.Mark("", name, y, {"rate": x}) for name, y, x in (("FP8", 5.0, 1.19), ("INT8", 4.8, 1.27), ("a", 2.0, 0.4), ("b", 2.0, 0.4))]
    for mark in shown:
        marks.draw(ax, mark, sheet)
    marks.label(ax, shown, sheet)
    drawn = labels.drawn(ax.figure)
    assert {label.text for label in drawn} == {"FP8", "INT8", "a / b"}
    assert all(belongs(label, ax, shown) for label in drawn)


def test_numbers_of_all_marks_and_the_name_of_the_main_one():
    shown = [marks.Mark(str(i), f"k{i}", 5.0, {"rate": 1.0}, is_main=i == 19) for i in (16, 17, 18, 19)]
    assert marks._texts(shown) == ["16–18, 19 k19", "16–19"]
    assert marks._texts(shown[:2]) == ["16, 17"]
    assert marks._texts(shown[:1]) == ["16 k16", "16"]


def test_a_label_between_two_marks_gets_a_leader_or_is_left_out():
    fig = style.figure(60)
    ax = style.axes(fig)
    ax.set_xlim(0, 10)
    ax.set_ylim(0, 10)
    sheet = Paper(labels.box_points(ax))
    shown = [marks.Mark(str(i), "kernel", 5.0 + 0.25 * i, {"requested": 4.0 + 0.02 * i}, colour=f"#{i}{i}0000") for i in range(6)]
    for mark in shown:
        marks.draw(ax, mark, sheet)
    marks.label(ax, shown, sheet)
    assert labels.drawn(fig)
    assert all(label.has_leader or label.own <= marks.CLEARLY * label.other for label in labels.drawn(fig))


def test_leaders_in_a_margin_do_not_cross():
    ax = style.axes(style.figure(60), 14, 9, 30, 2)
    ax.set_xlim(0, 10)
    ax.set_ylim(0, 10)
    labels.margin_labels(ax, [(9, 5, "right", "k"), (1, 5.2, "left", "k"), (5, 4.9, "middle", "k")])
    lines_ = [label.leader for label in labels.drawn(ax.figure)]
    assert len(lines_) == 3 and not any(labels.cross(*a, *b) for i, a in enumerate(lines_) for b in lines_[:i])


def test_ticks_whose_labels_would_touch_are_thinned():
    """Of decades in a narrow panel every second or third, with the last; of others round ones first."""
    fig = style.figure(60, half=True)
    ax = style.axes(fig, 12, 9, 47, 2)
    ax.set_xscale("log")
    ax.set_xlim(1, 1e6)
    style.decade_ticks(ax.xaxis)
    assert style.touching(style.tick_labels(ax.xaxis, True))
    style.finish(fig)
    ticks = style.tick_labels(ax.xaxis, True)
    assert not style.touching(ticks) and ticks[-1][0] == pytest.approx(1e6) and len(ticks) >= 2
    style.plain_ticks(ax.xaxis, [1000, 1200, 1024, 1e6])
    style.finish(fig)
    assert [t[0] for t in style.tick_labels(ax.xaxis, True)] == [1024, 1e6]


@pytest.mark.parametrize("value, text", ((1e-5, "10⁻⁵"), (2e-4, "2·10⁻⁴"), (0.01, "0.01"), (16384, "16\u2009384")))
def test_ticks_have_no_programmer_s_exponents(value, text):
    assert style.plain(value) == text


def test_what_was_not_measured_in_between_is_not_joined():
    ax = style.axes(style.figure(60), 14, 9, 30, 2)
    lines.draw(ax, [lines.Series("a", [lines.Dot(x, 1.0) for x in (1, 2**10, 2**12, 2**14, 2**26)])], "N", "Rate")
    curves = [list(line.get_xdata()) for line in ax.lines if line.get_linestyle() == "-" and len(line.get_xdata()) > 1 and line.get_marker() in ("None", "")
              and not line.get_transform() == ax.figure.dpi_scale_trans]
    assert curves == [[2**10, 2**12, 2**14]]


def test_turned_labels_of_ticks_stay():
    fig = style.figure(60)
    ax = style.axes(fig)
    ax.set_xlim(0, 60)
    ax.set_xticks(range(5), ["emulator", "memcheck", "racecheck", "synccheck", "initcheck"], rotation=35)
    style.finish(fig)
    assert len(ax.get_xticks()) == 5


def test_series_that_hide_each_other_share_a_label():
    ax = style.axes(style.figure(60), 14, 9, 30, 2)
    dots = [lines.Dot(x, 10.0 * x) for x in (1, 2, 4)]
    above = [lines.Dot(d.x, 2 * d.y) for d in dots]
    lines.draw(ax, [lines.Series("a", dots), lines.Series("b", dots), lines.Series("c", above)], "x", "y")
    assert [label.text for label in labels.drawn(ax.figure)] == ["a, b", "c"]


def test_an_interval_far_longer_than_the_values_is_cut():
    """The axis is chosen by the values; an arrow stands where an interval leaves it."""
    ax = style.axes(style.figure(60), 14, 9, 30, 2)
    dots = [lines.Dot(x, 30.0 + x, 29.0 + x, 32.0 + x) for x in (1, 2)] + [lines.Dot(4, 34.0, 3.0, 30802.0)]
    lines.draw(ax, [lines.Series("a", dots)], "x", "y")
    assert 34 < ax.get_ylim()[1] < 60
    arrows = [line for line in ax.lines if line.get_marker() == "^"]
    assert [list(line.get_xdata()) for line in arrows] == [[4]] and list(arrows[0].get_ydata()) == [1]


@pytest.mark.parametrize("log_y", (False, True))
def test_intervals_of_usual_length_are_not_cut(log_y):
    ax = style.axes(style.figure(60), 14, 9, 30, 2)
    lines.draw(ax, [lines.Series("a", [lines.Dot(x, 30.0, 25.0, 40.0) for x in (1, 2, 4)])], "x", "y", log_y=log_y)
    low, high = ax.get_ylim()
    assert low < 25 and high > 40 and not any(line.get_marker() in "^v" and len(line.get_xdata()) for line in ax.lines)


@pytest.mark.parametrize("number, names", ((3, 0), (5, 5)))
def test_more_than_three_names_are_a_legend(number, names):
    ax = style.axes(style.figure(60), 14, 9, 30, 2)
    dots = [lines.Dot(x, 10.0 * x) for x in (1, 2, 4)]
    lines.draw(ax, [lines.Series(f"s{i}", dots) for i in range(number)], "x", "y")
    told = [text.get_text() for text in ax.get_legend().get_texts()] if ax.get_legend() else []
    assert told == [f"s{i}" for i in range(names)]
    assert [label.text for label in labels.drawn(ax.figure)] == ([] if names else ["s0, s1, s2"])
