"""Numbers as text: three significant digits, SI prefixes, plain characters."""

from __future__ import annotations

import math


def significant(value: float, digits: int = 3) -> str:
    """The value with so many significant digits and no exponent: 0.25, 4.0, 1530."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    rounded = round(value, digits - 1 - math.floor(math.log10(abs(value))))
    places = max(0, digits - 1 - math.floor(math.log10(abs(rounded))))
    text = f"{rounded:.{places}f}"
    return text.rstrip("0").rstrip(".") if places > 2 else text


def _scaled(value: float, unit: str) -> str:
    """A value in units of 1e9, with the prefix that keeps it between 1 and 1000."""
    for factor, prefix in ((1e6, "P"), (1e3, "T"), (1.0, "G"), (1e-3, "M")):
        if value >= factor * 0.9995:
            return f"{significant(value / factor)} {prefix}{unit}"
    return f"{significant(value * 1e6)} k{unit}"


def flops(gflops: float) -> str:
    """GFLOP/s with a fitting prefix: '5.43 TFLOP/s'."""
    return _scaled(gflops, "FLOP/s")


def flops_span(low: float, high: float) -> str:
    """Two rates in the prefix of the greater: '8.84–9.06 TFLOP/s'; one of them if they read the same."""
    text = flops(high)
    number, unit = text.split(" ")
    other = significant(low * float(number) / high) if high else number
    return text if other == number else f"{other}–{text}"


def bandwidth(gbytes: float) -> str:
    """GB/s (decimal) with a fitting prefix: '4.54 TB/s'."""
    return _scaled(gbytes, "B/s")


def volume(bytes_: float) -> str:
    """Bytes with a decimal prefix: '16.9 GB'."""
    for factor, prefix in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if bytes_ >= factor * 0.9995:
            return f"{significant(bytes_ / factor)} {prefix}B"
    return f"{bytes_:.0f} B"


def binary(bytes_: float) -> str:
    """Capacity with a binary prefix: '60 MiB'."""
    for factor, prefix in ((2**40, "T"), (2**30, "G"), (2**20, "M"), (2**10, "K")):
        if bytes_ >= factor:
            return f"{significant(bytes_ / factor)} {prefix}iB"
    return f"{bytes_:.0f} B"


def times(ratio: float) -> str:
    """A factor: '1.49×', '161×'."""
    return f"{ratio:.0f}×" if abs(ratio - round(ratio)) < 1e-9 * ratio else f"{significant(ratio)}×"


def percent(fraction: float) -> str:
    """'71 %', with one digit more below 10 %."""
    value = 100 * fraction
    return f"{value:.0f} %" if value >= 9.95 else f"{significant(value, 2)} %"


def seconds(value: float) -> str:
    """A time: '25.1 ms'."""
    for factor, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if value >= factor * 0.9995:
            return f"{significant(value / factor)} {unit}"
    return f"{significant(value * 1e9)} ns"


def joules(value: float) -> str:
    """An energy: '25.1 mJ'."""
    for factor, unit in ((1e3, "kJ"), (1.0, "J"), (1e-3, "mJ")):
        if value >= factor * 0.9995:
            return f"{significant(value / factor)} {unit}"
    return f"{significant(value * 1e6)} µJ"


def interval(ends: tuple[float, float] | None, text=significant) -> str:
    """'[5.41, 5.45]', or an en dash where there is none."""
    return f"[{text(ends[0])}, {text(ends[1])}]" if ends else "–"


def grouped(value: float) -> str:
    """A whole number with thin spaces: '68 719 476 736'."""
    return f"{value:,.0f}".replace(",", "\u202f")
