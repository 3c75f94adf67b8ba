"""Numbers as text: three significant digits, SI prefixes, and a no-break space before each unit."""

from __future__ import annotations

import math

from report.data.records import Metric, Point
from report.data.roofs import BEYOND

NB = "\u00a0"
PREFIXES = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""), (1e-3, "m"), (1e-6, "µ"),
            (1e-9, "n"))
SCALES = {"P": 1e15, "T": 1e12, "G": 1e9, "M": 1e6, "k": 1e3}
SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
HUGE = 1e12
EXACT = 1e-9
"""A value that differs by less from a shorter number is that number."""
ROUNDS_UP = 0.9995
"""999.6 is written as 1.00 of the next prefix."""


def significant(value: float, digits: int = 3) -> str:
    """The value with this number of significant digits, zeros at the end as well: 0.940, 4.00, 1530, 1 530 000; from 10¹² on with a power
    of ten: 3.93·10¹². A value below 1 that has fewer digits, such as a counted or a stated 0.25, is written as it is."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    rounded = round(value, digits - 1 - math.floor(math.log10(abs(value))))
    if abs(rounded) >= HUGE:
        power = math.floor(math.log10(abs(rounded)))
        return f"{significant(rounded / 10**power, digits)}·10{str(power).translate(SUPERSCRIPT)}"
    places = max(0, digits - 1 - math.floor(math.log10(abs(rounded))))
    text = f"{rounded:.{places}f}" if abs(rounded) < 1e4 else grouped(rounded)
    is_exact = abs(rounded - value) <= EXACT * abs(value)
    return text.rstrip("0").rstrip(".") if places > 2 and is_exact else text


def short(value: float) -> str:
    """The same, with whole numbers as they are: '4', '17.5'."""
    return f"{value:.0f}" if value == 0 or abs(value - round(value)) <= EXACT * abs(value) else significant(value)


def si(value: float, unit: str) -> str:
    """A value in base units with the prefix that keeps it between 1 and 1000: '5.43 TFLOP/s', '25.1 ms'."""
    for factor, prefix in PREFIXES:
        if abs(value) >= factor * ROUNDS_UP:
            return f"{significant(value / factor)}{NB}{prefix}{unit}"
    return f"{significant(value / 1e-9)}{NB}n{unit}" if value else f"0{NB}{unit}"


def quantity(value: float, unit: str) -> str:
    """A value in a unit that may have a prefix of its own: quantity(5432, 'GFLOP/s') is '5.43 TFLOP/s'."""
    if unit in ("", "%", "1", "ulp", "ULP"):
        return f"{significant(value)}{NB}{unit}".rstrip()
    scale = SCALES.get(unit[0], 1.0) if len(unit) > 1 and unit[1].isupper() else 1.0
    return si(value * scale, unit[1:] if scale != 1.0 else unit)


def scale(value: float, unit: str) -> tuple[float, str]:
    """The divisor for values like this one on an axis, and the resulting unit: 5e9 'cell/s': 1e9 'Gcell/s'.

    Up to 100 000 of the unit are not scaled."""
    if abs(value) < 1e5 and (abs(value) >= 0.01 or not value):
        return 1.0, unit
    text = quantity(value, unit)
    number, name = text.split(NB, 1) if NB in text else (text, unit)
    exponent = round(math.log10(abs(value / float(number.replace("\u202f", "")))) / 3) * 3
    return 10.0**exponent, name


def rate(point: Point) -> str:
    """The point's value in its problem's metric; an en dash where it has none."""
    return "–" if point.value is None else quantity(point.value, unit(point))


def unit(point: Point) -> str:
    """The unit of a point's value. Operations on integers are no floating-point operations: 'GOP/s'."""
    return of_type(point.metric.unit, point.kernel.type)


def of_type(text: str, type_: str) -> str:
    """The unit of operations for a data type."""
    return text.replace("FLOP", "OP") if type_.startswith(("int", "uint")) else text


def in_metric(value: float, metric: Metric) -> str:
    return quantity(value, metric.unit)


def flops(gflops: float, type_: str = "") -> str:
    """GFLOP/s with a fitting prefix: '5.43 TFLOP/s', of integers 'TOP/s'."""
    return quantity(gflops, of_type("GFLOP/s", type_))


def bandwidth(gbytes: float) -> str:
    """GB/s (decimal) with a fitting prefix: '4.54 TB/s'."""
    return quantity(gbytes, "GB/s")


def volume(bytes_: float) -> str:
    """Bytes with a decimal prefix: '16.9 GB'."""
    return si(bytes_, "B")


def binary(bytes_: float) -> str:
    """Capacity with a binary prefix: '60 MiB'."""
    for factor, prefix in ((2**40, "T"), (2**30, "G"), (2**20, "M"), (2**10, "K")):
        if bytes_ >= factor:
            return f"{significant(bytes_ / factor)}{NB}{prefix}iB"
    return f"{bytes_:.0f}{NB}B"


def seconds(value: float) -> str:
    """A time: '25.1 ms'."""
    return si(value, "s")


def joules(value: float) -> str:
    """An energy: '25.1 mJ'."""
    return si(value, "J")


def times(ratio: float) -> str:
    """A factor: '1.49×', '161×'."""
    return f"{short(ratio)}×"


def percent(fraction: float) -> str:
    """'71 %', with one digit more below 10 %; tiny ones with a power of ten."""
    value = 100 * fraction
    if 0 < abs(value) < 1e-3:
        return f"{scientific(value)}{NB}%"
    return f"{value:.0f}{NB}%" if value >= 9.95 else f"{significant(value, 2)}{NB}%"


def occupancy(fraction: float) -> str:
    """Resident over possible warps, a quotient of two small whole numbers: '100 %', '62.5 %', '84.38 %', '66.67 %'."""
    return f"{round(100 * fraction, 2):g}{NB}%"


def share(fraction: float) -> str:
    """A share of a roof, unchanged up to the difference between runs of one machine: '103 %'; beyond that '> 100 %'."""
    return percent(fraction) if fraction <= BEYOND else f"> 100{NB}%"


def interval(ends: tuple[float, float] | None, text=significant) -> str:
    """'[5.41, 5.45]', or an en dash where there is none."""
    return f"[{text(ends[0])},{NB}{text(ends[1])}]" if ends else "–"


def scientific(value: float) -> str:
    """Two digits and a power of ten: '1.8 × 10⁻⁷'."""
    digits, exponent = f"{value:.1e}".split("e")
    return f"{digits}{NB}×{NB}10{str(int(exponent)).translate(SUPERSCRIPT)}" if value else "0"


def grouped(value: float) -> str:
    """A whole number, of five digits and more with thin spaces: '4096', '68 719 476 736'."""
    return f"{value:,.0f}".replace(",", "\u202f") if abs(value) >= 1e4 else f"{value:.0f}"
