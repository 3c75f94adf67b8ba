"""Messages on the terminal, and errors of code that meets unexpected values: one line, and one section or figure less.

Damaged results may be readable and still hold values that no run writes, in more kinds than an experiment's code can
check. The line names the file and line of our code that failed, and the exit code is not 0, so that a mistake in that
code is not taken for damage: the tests require code 0 and no such line for every recorded experiment.
"""

from __future__ import annotations

import io
import sys
import traceback
from contextlib import suppress
from pathlib import Path

from report.plain import plain

UNUSABLE = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""Exceptions of code that meets unexpected values. Others, such as NameError, are mistakes of the code."""
LONGEST = 300
"""Characters of an exception's text that are printed; it may quote a value of any length."""
ROOT = Path(__file__).resolve().parents[1]


def print_anything() -> None:
    """Prints characters that the terminal's encoding lacks, or that no encoding has (a file name of other bytes), as '?'."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # not so in a notebook
            stream.reconfigure(errors="replace")


def say(text: str, program: str = "report") -> None:
    """Writes one line to stderr, without control sequences, since names of files and keys may be arbitrary."""
    with suppress(OSError):  # the pipe is closed
        print(f"{program}: {' '.join(plain(text).split())}", file=sys.stderr, flush=True)


def shortened(text: str) -> str:
    """A path for a message, cut at LONGEST characters."""
    return text if len(text) <= LONGEST else f"…{text[-LONGEST:]}"


def why(error: Exception) -> str:
    """'KeyError: 'each' (parallelism.py, line 95)'."""
    text = str(error)[:LONGEST]
    frames = traceback.extract_tb(error.__traceback__)
    place = next((f for f in reversed(frames) if _is_ours(Path(f.filename))), frames[-1])
    return f"{type(error).__name__}: {text} ({Path(place.filename).name}, line {place.lineno})"


def _is_ours(path: Path) -> bool:
    return ROOT in path.parents and "site-packages" not in path.parts and path.name != "missing.py"  # whose caller lacks a value
