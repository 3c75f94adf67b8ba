"""The expressions of claims: what is understood, what is refused and where; nothing of them is ever run as code."""

import pytest
from synthetic import Run

from report.claims.expression import Binary, Call, Number, SyntaxFault, Unary, Word, calls, parse, words
from report.claims.values import Comparison, Fault, Logic, Value, compare, evaluate, exact, of_rate, of_time, within
from report.data.load import load


def number(text, found=(), case=()):
    return evaluate(parse(text), dict(found), dict(case)).number


@pytest.mark.parametrize("text, value", [
    ("1 + 2 * 3", 7), ("(1 + 2) * 3", 9), ("7 - 2 - 1", 4), ("8 / 2 / 2", 2), ("-3 + 5", 2), ("2e3", 2000), ("1.5e-3 * 2", 0.003),
    ("floor(8192 / 768)", 10), ("ceil(100 / 32)", 4), ("min(3, 2, 5)", 2), ("max(3, 2, 5) * 2", 10)])
def test_arithmetic(text, value):
    assert number(text) == pytest.approx(value)


@pytest.mark.parametrize("text, holds", [
    ("1 < 2", True), ("2 <= 2", True), ("3 == 3", True), ("1 < 2 and 2 < 1", False), ("1 < 2 or 2 < 1", True),
    ("not 1 < 2", False), ("not 1 > 2 and 3 > 2", True), ("0.1 + 0.2 == 0.3", True), ("1 and not 0", True)])
def test_logic(text, holds):
    assert evaluate(parse(text), {}, {}).outcome({}) is holds


def test_calls_keep_their_keys_and_columns():
    tree = parse('2 * rate(gpu/a/b, n=4096, mode=cold) / occupancy("GTX 480", threads=16x16, shared=5KiB).blocks_by.threads')
    one, two = calls(tree)
    assert one == Call("rate", "gpu/a/b", (("n", 4096.0), ("mode", "cold"))) and one.column == 5
    assert two == Call("occupancy", "GTX 480", (("threads", "16x16"), ("shared", "5KiB")), "blocks_by.threads")
    assert str(one) == "gpu/a/b, n=4096, mode=cold"
    assert words(parse("keys * 4 + n")) == {"keys", "n"} and parse("n") == Word("n")
    assert parse("-1") == Unary("-", Number(1.0)) and isinstance(parse("1 + 1"), Binary)


@pytest.mark.parametrize("text, column, what", [
    ("", 1, "expected"), ("1 +", 4, "the end"), ("(1", 3, "')' is expected"), ("1 2", 3, "operator"), ("rate(x)", 6, "requires a kernel"),
    ("rate()", 6, "requires a kernel"), ("count(gpu/a/b)", 15, "a field is expected"), ("rate(gpu/a/b).x", 16, "no fields"),
    ("rate(gpu/a/b, n)", 16, "'=' is expected"), ("rate(gpu/a/b, n=)", 17, "a value of n"), ("floor(1, 2)", 11, "takes 1"),
    ("1 $ 2", 3, "'$' is not understood"), ("speed(gpu/a/b)", 1, "no function 'speed'"), ("1 < 2 < 3", 7, "operator"),
    ("(" * 100 + "1" + ")" * 100, 41, "nested"), ("not " * 100 + "1", 161, "nested"), ("1+" * 600 + "1", 1000, "longer")])
def test_what_is_wrong_is_told_with_its_column(text, column, what):
    with pytest.raises(SyntaxFault, match=f"column {column}: ") as told:
        parse(text)
    assert what in str(told.value)


@pytest.mark.parametrize("text", [
    "__import__('os').system('true')", "().__class__", "open(\"/etc/passwd\")", "[x for x in (1)]", "lambda: 0", "1 if 1 else 2",
    "2 ** 99999999", "x := 1", "exec(\"1\")", "rate(gpu/../../x)", "f'{1}'", "'a' * 9", "1; 2", "#", "\\", "n.__class__", "9" * 2000])
def test_no_code_is_understood(text):
    with pytest.raises(SyntaxFault):
        parse(text)


def points(tmp_path, **fields):
    """A run with two products: the second takes three times as long."""
    run = Run("x")
    for name, seconds in (("gpu/matmul/fast", 1e-3), ("gpu/matmul/slow", 3e-3)):
        run.time(name, seconds, 64, flops_useful=6e9, bytes_min=1e6, **fields)
    return load(run.save(tmp_path)).points


@pytest.mark.parametrize("fields, paired", [({"interleaved_with": 2}, True), ({}, False)])
def test_a_quotient_of_two_points_has_the_interval_of_its_turns(tmp_path, fields, paired):
    fast, slow = points(tmp_path, **fields)
    found = {call: of_rate(p) for call, p in zip(calls(parse("rate(gpu/a/fast) / rate(gpu/a/slow)")), (fast, slow))}
    gain = evaluate(parse("rate(gpu/a/fast) / rate(gpu/a/slow)"), found, {})
    low, high = gain.interval()
    assert gain.number == pytest.approx(3, rel=1e-3) and bool(gain.quotients) is paired
    assert (low == pytest.approx(high) == pytest.approx(3)) if paired else low < gain.number < high
    for limit, is_above in ((2.9, True), (3.1, False)):
        assert compare(gain, ">=", exact(limit)).outcome({}) is is_above
    doubled = evaluate(parse("2 * rate(gpu/a/fast) / rate(gpu/a/slow)"), found, {})
    assert doubled.number == pytest.approx(6, rel=1e-3) and compare(doubled, ">", exact(5.9)).outcome({}) is True
    assert within(gain, 2.97, 3.03).outcome({}) is True and within(gain, 3.1, 3.2).outcome({}) is False


def test_a_surer_interval_is_wider(tmp_path):
    fast, slow = points(tmp_path)
    for text in ("rate(gpu/a/x)", "time(gpu/a/x) / time(gpu/a/y)", "time(gpu/a/x) + time(gpu/a/y)", "max(time(gpu/a/x), time(gpu/a/y)) / 2",
                 "1 / (time(gpu/a/x) + time(gpu/a/y))"):
        value = evaluate(parse(text), dict(zip(calls(parse(text)), map(of_rate if "rate" in text else of_time, (fast, slow)))), {})
        wide, usual = value.interval(1e-6), value.interval()
        assert wide[0] < usual[0] <= value.number <= usual[1] < wide[1]


def test_noise_decides_nothing(tmp_path):
    fast, _ = points(tmp_path)
    close = compare(of_time(fast), "<=", exact(fast.summary.median))
    assert close.outcome({}) is None and close.more({}) is None
    unknown = Logic("and", (close, compare(exact(1.0), "<", exact(2.0))))
    assert unknown.outcome({}) is None and Logic("or", unknown.parts).outcome({}) is True
    assert Logic("and", (close, compare(exact(2.0), "<", exact(1.0)))).outcome({}) is False and Logic("not", (close,)).outcome({}) is None


def test_sums_are_compared_by_their_intervals(tmp_path):
    fast, slow = points(tmp_path)
    both = evaluate(parse("time(gpu/a/x) + time(gpu/a/y)"), dict(zip(calls(parse("time(gpu/a/x) + time(gpu/a/y)")), map(of_time, (fast, slow)))), {})
    assert both.sign == "+" and both.number == pytest.approx(4e-3, rel=1e-2)
    assert compare(both, "<", exact(4.5e-3)).outcome({}) is True and compare(both, "<", exact(3.9e-3)).outcome({}) is False
    assert compare(both, "<", exact(both.number)).outcome({}) is None
    less = evaluate(parse("time(gpu/a/y) - time(gpu/a/x)"), dict(zip(calls(parse("time(gpu/a/y) - time(gpu/a/x)")), map(of_time, (slow, fast)))), {})
    assert less.number == pytest.approx(2e-3, rel=1e-2) and less.interval()[0] < less.number < less.interval()[1]


def test_a_measured_number_equals_none_exactly(tmp_path):
    with pytest.raises(Fault, match="needs a tolerance"):
        within(of_time(points(tmp_path)[0]), 1.0, 1.0)


def test_one_point_over_itself_is_one(tmp_path):
    fast, _ = points(tmp_path)
    call = next(calls(parse("rate(gpu/a/x)")))
    value = evaluate(parse("rate(gpu/a/x) / rate(gpu/a/x)"), {call: of_rate(fast)}, {})
    assert value.number == pytest.approx(1) and (value.over, value.under) == ((), ())


@pytest.mark.parametrize("text, what", [
    ("1 / 0", "division by zero"), ("1 / (2 - 2)", "division by zero"), ("(1 < 2) + 1", "used as a number"), ("name * 2", "no number"),
    ("rate(gpu/a/x) == 1", "never equal"), ("floor(rate(gpu/a/x))", "of a measured number")])
def test_what_makes_no_sense_is_a_fault(tmp_path, text, what):
    fast, _ = points(tmp_path)
    with pytest.raises(Fault, match=what):
        evaluate(parse(text), {call: of_rate(fast) for call in calls(parse(text))}, {"name": "text"})


def test_values_know_whether_they_are_measured(tmp_path):
    fast, _ = points(tmp_path)
    assert of_rate(fast).is_measured and not exact(1).is_measured and isinstance(compare(exact(1), "<", exact(2)), Comparison)
    assert of_rate(fast).number == pytest.approx(6000, rel=1e-2) and isinstance(of_time(fast).scaled(-1.0), Value)
