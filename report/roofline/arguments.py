"""The arguments of `rung roofline`. Python's own modules suffice, so that help needs nothing installed."""

import argparse
from pathlib import Path

from report.entry import picture

TYPES = ("fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "int8")


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="rung roofline", description="Puts kernels of any program under measured roofs: rate, operations per byte, shares of the roofs.",
        epilog="exit codes: 0 done, 2 wrong usage or bad input, 4 a file cannot be written")
    made.add_argument("files", nargs="*", type=Path, metavar="FILE",
                      help="of Nsight Compute (--csv --page raw, or .ncu-rep where its Python module ncu_report is found), of Google Benchmark (JSON "
                      "with counters of operations and bytes), or a CSV with a header of name, seconds, flops, bytes")
    made.add_argument("--metrics", action="store_true", help="print the metrics that Nsight Compute has to measure: ncu --metrics $(rung roofline --metrics)")
    made.add_argument("--roofs", nargs="+", type=Path, default=[], metavar="RESULT",
                      help="whose roofs: results of rung (rung run ceilings), or ERT's roofline.json (default: the recorded GPU that the file names)")
    made.add_argument("--side", choices=("gpu", "cpu"), help="the side whose roofs are used (default: gpu, and cpu for Google Benchmark)")
    made.add_argument("--type", choices=TYPES, default="fp32", help="the data type of the peak (default: fp32)")
    made.add_argument("--flops", metavar="COUNTER", help="Google Benchmark's counter of operations (default: flops, FLOPs, flop …)")
    made.add_argument("--bytes", metavar="COUNTER", help="Google Benchmark's counter of bytes (default: bytes, bytes_per_second)")
    made.add_argument("--per-second", action="store_true", help="these counters are rates, not amounts of one iteration")
    made.add_argument("--figure", type=picture, metavar="FILE", help="draw the roofline: .svg, .pdf or .png")
    made.add_argument("--csv", type=Path, metavar="FILE", help="write the table there")
    made.add_argument("--parquet", type=Path, metavar="FILE", help="the same as Parquet, where pyarrow is installed")
    made.add_argument("--ert", type=Path, metavar="FILE", help="write the roofs there as ERT's roofline.json")
    made.add_argument("--json", action="store_true", help="print JSON")
    return made
