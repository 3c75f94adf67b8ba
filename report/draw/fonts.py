"""The figures' typeface: DejaVu Sans with the letters that figures need and no tables for shaping.

Each figure's PDF embeds a subset of its font, and from the whole of DejaVu Sans that takes longer than all the rest of
drawing. The reduced font is made once and kept in matplotlib's cache.
"""

from __future__ import annotations

import os
from pathlib import Path

import matplotlib
from matplotlib.font_manager import FontProperties, findfont, fontManager

FAMILY = "Rung Sans"
WHOLE = "DejaVu Sans"
RANGES = ((0x20, 0xFF), (0x391, 0x3C9), (0x2009, 0x2027), (0x2030, 0x2033), (0x2070, 0x208E), (0x2190, 0x2193),
          (0x2208, 0x2208), (0x2211, 0x2212), (0x221A, 0x221E), (0x2248, 0x2248), (0x2260, 0x2265), (0x22C5, 0x22C5),
          (0xFFFD, 0xFFFD))
"""Latin, Greek, punctuation, raised and lowered digits, arrows, common operators; others are taken from the whole font."""
NAMES = (1, 3, 4, 6, 16)
"""Entries of a font's table of names that hold the family."""
DROPPED = ["GSUB", "GPOS", "GDEF", "FFTM", "MATH", "kern"]


def families() -> list[str]:
    """For rcParams: the reduced font, then the whole one for what it lacks; that alone if the first cannot be made."""
    try:
        for weight in ("normal", "bold"):
            fontManager.addfont(_reduced(weight))
    except (ImportError, OSError):
        return [WHOLE]
    return [FAMILY, WHOLE]


def _reduced(weight: str) -> Path:
    source = Path(findfont(FontProperties(family=WHOLE, weight=weight)))
    target = Path(matplotlib.get_cachedir()) / f"rung-3-{matplotlib.__version__}-{source.name}"
    if not target.is_file():
        part = target.with_suffix(f".{os.getpid()}")
        _write(source, part)
        os.replace(part, target)
    return target


def _write(source: Path, target: Path) -> None:
    from fontTools import subset
    options = subset.Options(drop_tables=DROPPED, notdef_outline=True, recalc_timestamp=False, name_IDs=["*"])
    font = subset.load_font(str(source), options)
    reducer = subset.Subsetter(options)
    reducer.populate(unicodes=[code for low, high in RANGES for code in range(low, high + 1)])
    reducer.subset(font)
    for record in font["name"].names:
        if record.nameID in NAMES:
            joined = record.nameID == 6
            record.string = record.toUnicode().replace(WHOLE.replace(" ", "") if joined else WHOLE,
                                                       FAMILY.replace(" ", "") if joined else FAMILY)
    font.save(str(target))
