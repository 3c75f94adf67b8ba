"""The arguments of `rung compare`. Python's own modules suffice, so that help needs nothing installed."""

import argparse
from pathlib import Path

from report.entry import picture

FILTERS = ("slower", "faster", "same", "undecided", "grew", "shrank", "equal")
LARGEST, MOST_BETWEEN = 1.0, 10.0


def tolerance(text: str) -> float:
    """'0.01' or '1%': above 0, below 1."""
    value = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    if not 0 < value < LARGEST:
        raise ValueError
    return value


def margin(text: str) -> float:
    """'0.02' or '2%': from 0 on."""
    value = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    if not 0 <= value < MOST_BETWEEN:
        raise ValueError
    return value


def filters(text: str) -> list[str]:
    """'slower,grew'."""
    words = text.lower().split(",")
    if unknown := [word for word in words if word not in FILTERS]:
        raise argparse.ArgumentTypeError(f"'{unknown[0]}' is none of {', '.join(FILTERS)}")
    return words


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="rung compare", description="Compares results, point by point, each run with A: the same, faster, slower or undecided; "
        "counts exactly. Prints how often its rule is wrong.",
        epilog="exit codes: 0 nothing is slower and no count grew, 1 a point is SLOWER or a count grew, 2 wrong usage, bad input or no "
        "point in common, 4 a file cannot be written")
    made.add_argument("runs", nargs="+", type=Path, metavar="RUN",
                      help="results: a file, or a folder whose files are of one side. Several runs of one build are joined. Also results of "
                      "Google Benchmark with repetitions, and of nvbench with --jsonbin")
    made.add_argument("--tolerance", type=tolerance, default=0.01, metavar="T",
                      help="differences up to this are none: SAME needs an interval inside of it, SLOWER one outside (default: 0.01, or 1%%)")
    made.add_argument("--between", type=margin, metavar="M",
                      help="how much medians of two runs of these machines differ with nothing changed, with 95 %% (default: measured, where "
                      "a side has three runs; else 1 is assumed on a CPU and 0.02 on a GPU)")
    made.add_argument("--only", action="extend", type=filters, default=[], metavar="WORD",
                      help=f"show these rows only: {', '.join(FILTERS)}; the exit code does not depend on it")
    made.add_argument("--counts", action="append", default=[], metavar="GLOB",
                      help="compare these counts only, as '*_sectors'; may be given several times")
    made.add_argument("--time-only", action="store_true", help="judge GPU times without the clock at which they were measured")
    form = made.add_mutually_exclusive_group()
    form.add_argument("--markdown", action="store_true", help="print Markdown, for a pull request")
    form.add_argument("--json", action="store_true", help="print JSON")
    made.add_argument("--csv", type=Path, metavar="FILE", help="write all rows there")
    made.add_argument("--figure", type=picture, metavar="FILE", help="draw the ratios with their intervals: .svg, .pdf or .png")
    made.add_argument("--undecided", type=Path, metavar="FILE",
                      help="write the names of the undecided points there, for `rung run --more RESULT --points FILE`")
    return made
