"""A number's text in the report as siunitx reads it: the digits, and the unit as macros that rung.sty declares."""

from __future__ import annotations

import re

from report.text.numbers import NB, SUPERSCRIPT

PREFIXES = {"P": r"\peta", "T": r"\tera", "G": r"\giga", "M": r"\mega", "k": r"\kilo", "m": r"\milli", "µ": r"\micro", "n": r"\nano"}
COUNTED = ("cell", "pixel", "key", "load", "read", "result", "argument", "array", "launch", "tree", "element", "step")
"""What a rate may count; rung.sty declares each as \\rungNAME, since TeX has commands of some of these names."""
UNITS = {"s": r"\second", "B": r"\byte", "byte": r"\byte", "J": r"\joule", "W": r"\watt", "Hz": r"\hertz", "%": r"\percent", "FLOP": r"\FLOP",
         "OP": r"\OP", "ulp": r"\ulp", **{name: rf"\rung{name.lower()}" for word in COUNTED for name in (word, word.capitalize())}}
"""Units by their name in the report; those that siunitx has not are declared in rung.sty."""
POWER = re.compile(rf"(?:·|{NB}?×{NB}?)10([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)")
DIGITS = re.compile(r"-?\d+(\.\d+)?(e-?\d+)?")
NORMAL = {superscript: digit for digit, superscript in SUPERSCRIPT.items()}


def split(text: str) -> tuple[str, str]:
    """'5.43', 'TFLOP/s' of '5.43 TFLOP/s'; '1.49', '×' of '1.49×'; '3.93e12', '' of '3.93·10¹²'. ValueError for what is no number."""
    line = POWER.sub(lambda m: f"e{m[1].translate(NORMAL)}", text)
    number, _, unit = line.partition(NB)
    if number.endswith("×"):
        number, unit = number[:-1], "×"
    number = number.replace("\u202f", "")
    if not DIGITS.fullmatch(number):
        raise ValueError(f"no number: {text}")
    return number, unit


def macros(unit: str) -> str | None:
    r"""'\tera\FLOP\per\second' of 'TFLOP/s'; None for a unit that has no macro."""
    made = []
    for part in unit.split("/"):
        known = UNITS.get(part)
        if known is None and part[:1] in PREFIXES and part[1:] in UNITS:
            known = PREFIXES[part[0]] + UNITS[part[1:]]
        if known is None:
            return None
        made.append(known)
    return r"\per".join(made)
