"""The entry of the commands that the report's Python carries out for `rung`: `rung claims`, `rung compare`, `rung roofline`."""

from __future__ import annotations

import argparse
import importlib
import signal
import sys
from collections.abc import Callable
from pathlib import Path

from report.faults import print_anything, say
from report.surroundings import settle

BAD = 2
PICTURES = (".svg", ".pdf", ".png")
REQUIREMENTS = Path(__file__).resolve().parent / "requirements.txt"


def picture(text: str) -> Path:
    """The path of a picture that is asked for, of one of the formats that are written."""
    path = Path(text)
    if path.suffix not in PICTURES:
        raise argparse.ArgumentTypeError(f"the file has to end in {', '.join(PICTURES)}")
    return path


def run(program: str, parser: Callable[[], argparse.ArgumentParser], command: str) -> int:
    """Runs main() of the module `command`. Help and wrong usage end before, whatever is installed; one line says which package is missing."""
    parser().parse_args()
    try:
        main = importlib.import_module(command).main
    except ModuleNotFoundError as error:
        name = (error.name or "").partition(".")[0]
        if name == "report":
            raise
        say(f"the Python package '{name}' is missing: "
            f"{'it needs Python 3.11 or later' if name == 'tomllib' else f'pip install -r {REQUIREMENTS}'}", program)
        return BAD
    except (ImportError, MemoryError) as error:
        say(f"a Python package cannot be loaded: {error or 'there is not enough memory'}", program)
        return BAD
    return main()


def start(program: str, main: Callable[[], int]) -> None:
    """Ends the process with main()'s code; a pipe whose reader has ended (`| head`) ends it without a word."""
    settle(program, BAD)
    print_anything()
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    sys.exit(main())
