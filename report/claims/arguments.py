"""The arguments of `rung claims`. Python's own modules suffice, so that help needs nothing installed."""

import argparse
from pathlib import Path


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="rung claims", description="Checks what the literature states of GPUs and CPUs: "
                                   "experiments/claims.toml against the model, the counts and the recorded results.",
                                   epilog="exit codes: 0 done, 2 unknown claim, bad results or an entry that cannot be evaluated")
    made.add_argument("ids", nargs="*", metavar="ID", help="claims, or ids of their sources (default: all)")
    made.add_argument("--json", action="store_true", help="print JSON")
    made.add_argument("--results", action="append", type=Path, metavar="DIR",
                      help="a folder of results; may be given several times (default: the recorded ones)")
    return made
