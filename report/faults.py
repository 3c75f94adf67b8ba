"""Lines for the terminal, and code that met values which it did not expect: a line, and one section or figure less.

Results that were damaged can be read and still hold values that no run writes, more kinds of them than an experiment's
code can look for. The line names the file and line of ours that failed and the exit code tells, too, so that a mistake
in that code does not pass for damage: of every recorded experiment the tests demand code 0, and no such line.
"""

from __future__ import annotations

import io
import sys
import traceback
from contextlib import suppress
from pathlib import Path

from report.plain import plain

UNUSABLE = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""What such code raises. Other exceptions, as of a name that does not exist, are mistakes whatever the values."""
LONGEST = 300
"""Letters that are told of an exception's own text, which may quote a value of any length."""
ROOT = Path(__file__).resolve().parents[1]


def print_anything() -> None:
    """What the terminal's encoding has not, or what no encoding has (a file name of other bytes), is a '?' there."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # not so in a notebook
            stream.reconfigure(errors="replace")


def say(text: str, program: str = "report") -> None:
    """One line on stderr, without what a terminal would obey: names of files and keys are whatever others chose."""
    with suppress(OSError):  # nobody reads it any more
        print(f"{program}: {' '.join(plain(text).split())}", file=sys.stderr, flush=True)


def shortened(text: str) -> str:
    """A path of any length, to be told."""
    return text if len(text) <= LONGEST else f"…{text[-LONGEST:]}"


def why(error: Exception) -> str:
    """'KeyError: 'each' (parallelism.py, line 95)'."""
    text = str(error)[:LONGEST]
    frames = traceback.extract_tb(error.__traceback__)
    place = next((f for f in reversed(frames) if _is_ours(Path(f.filename))), frames[-1])
    return f"{type(error).__name__}: {text} ({Path(place.filename).name}, line {place.lineno})"


def _is_ours(path: Path) -> bool:
    return ROOT in path.parents and "site-packages" not in path.parts
