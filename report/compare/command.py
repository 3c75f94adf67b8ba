"""The command line of `rung compare`: python -m report.compare A B [C…].

Exit codes: 0 nothing is slower and no count grew, 1 a point is SLOWER or a count grew, 2 wrong usage, bad input or no point
in common, 4 a file cannot be written.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence

from report import files
from report.compare import data, texts
from report.compare.arguments import parser
from report.compare.comparison import Comparison, make
from report.data.reading import InputError
from report.faults import say, shortened
from report.output import write_csv

BAD, BAD_OUTPUT = 2, 4
PROGRAM = "rung compare"


def main(arguments: Sequence[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    try:
        made = make(options.runs, options.tolerance, options.counts, options.time_only, options.between)
    except InputError as error:
        return _fail(BAD, str(error))
    except OSError as error:
        return _fail(BAD, f"{shortened(str(error.filename or options.runs[0]))}: cannot be read: {error.strerror or error}")
    except MemoryError:
        return _fail(BAD, "there is not enough memory to read these results")
    print(_text(made, options))
    try:
        _write(made, options)
    except (OSError, ImportError, ValueError) as error:
        name = getattr(error, "filename", None)
        return _fail(BAD_OUTPUT, f"{shortened(str(name))}: cannot be written: {error.strerror}" if isinstance(error, OSError) and name else str(error))
    return made.exit


def _text(made: Comparison, options: argparse.Namespace) -> str:
    if options.json:
        return json.dumps(data.as_json(made, options.only), indent=1, allow_nan=False)
    return texts.markdown(made, options.only) if options.markdown else texts.terminal(made, options.only)


def _write(made: Comparison, options: argparse.Namespace) -> None:
    if options.csv:
        write_csv(options.csv, data.rows(made))
    if options.undecided:
        files.write(options.undecided, "".join(f"{name}\n" for name in made.undecided))
    if options.figure:
        from report.compare import figure  # loads matplotlib
        figure.save(made, options.figure, options.only)


def _fail(code: int, text: str) -> int:
    say(text, PROGRAM)
    return code
