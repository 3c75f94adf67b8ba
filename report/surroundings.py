"""Protects the report from its surroundings: a user's variables and files that would change or prevent its output.

common/environment.toml declares what each variable does. Many act as soon as a program starts, so that the report starts
again without those that it clears, and so do the programs that it starts.
"""

from __future__ import annotations

import os
import resource
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from report.faults import say

TABLE = Path(__file__).resolve().parents[1] / "common" / "environment.toml"


LEAST_MEMORY = 512 << 20
"""Bytes of address space: with less, libraries end the process when they are loaded, with differing messages."""


def settle(program: str = "report", too_little: int = 4) -> None:
    """Starts the program again with the environment that the table declares, unless it has that. Ends it with that code where
    the limit of its memory is too low."""
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if 0 <= limit < LEAST_MEMORY:
        say(f"the limit of its memory (ulimit -v) is {limit >> 20} MiB, and {LEAST_MEMORY >> 20} MiB are needed", program)
        sys.exit(too_little)
    try:
        settled = cleared(os.environ)
    except ImportError:  # an older Python; a later check reports it
        return
    if settled != dict(os.environ) and sys.executable:
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], settled)


def cleared(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment without the variables that the report clears, and with those that it sets."""
    rows = declared()
    kept = {name: value for name, value in environment.items()
            if (row := _row(rows, name)) is None or row["report"] not in ("cleared", "set")}
    return kept | {row["name"]: row["value"] for row in rows if row["report"] == "set"}


def declared(kind: str = "variable") -> list[dict]:
    """The table's rows: of a 'variable' or a 'limit'."""
    import tomllib
    return tomllib.loads(TABLE.read_text(encoding="utf-8"))[kind]


def _row(rows: list[dict], name: str) -> dict | None:
    fitting = (row for row in rows if name == row["name"] or (row["name"].endswith("*") and name.startswith(row["name"][:-1])))
    return max(fitting, key=lambda row: len(row["name"]), default=None)


@contextmanager
def without_settings_of_plots() -> Iterator[None]:
    """To load matplotlib in: it reads ./matplotlibrc, or the file that MATPLOTLIBRC names, or one of the home folder."""
    os.environ.pop("MPLBACKEND", None)  # an unknown one fails
    os.environ["MATPLOTLIBRC"] = os.devnull
    here = os.open(".", os.O_PATH)  # which may have been removed
    try:
        os.chdir(Path(__file__).parent)
        yield
    finally:
        os.fchdir(here)
        os.close(here)
