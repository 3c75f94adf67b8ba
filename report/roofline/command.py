"""The command line of `rung roofline`: python -m report.roofline FILE…

Exit codes: 0 done, 2 wrong usage or bad input, 4 a file cannot be written.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from report.data.reading import InputError
from report.data.roofs import BEYOND, Roofs
from report.faults import say, shortened
from report.output import write_csv
from report.plain import plain
from report.roofline.arguments import parser
from report.roofline.machine import roofs, write_ert
from report.roofline.programs import METRICS, Asked, Kernel, load
from report.text import numbers

OK, BAD, BAD_OUTPUT = 0, 2, 4
PROGRAM = "rung roofline"
WIDEST = 60
MOST_NAMED = 12
"""Kernels with a name in the figure: those that take the longest."""


def main(arguments: Sequence[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    if options.metrics:
        print(",".join(METRICS))
        return OK
    if not options.files:
        return _fail(BAD, "which file? See rung roofline --help")
    asked = Asked(options.type, options.flops, options.bytes, options.per_second)
    try:
        kernels = [k for path in options.files for k in load(path, asked)]
        side = options.side or ("cpu" if all(path.suffix == ".json" for path in options.files) else "gpu")
        name, found = roofs(options.roofs, side, options.type, {k.device for k in kernels})
        rows = [row(k, found, options.type) for k in sorted(kernels, key=lambda k: (-k.seconds, k.name))]
    except InputError as error:
        return _fail(BAD, str(error))
    except OSError as error:
        return _fail(BAD, f"{shortened(str(error.filename or options.files[0]))}: cannot be read: {error.strerror or error}")
    print(json.dumps({"machine": name, "kernels": rows}, indent=1, allow_nan=False) if options.json else text(name, found, options.type, rows))
    try:
        _write(options, name, found, kernels, rows)
    except (OSError, ImportError, ValueError) as error:
        at = getattr(error, "filename", None)
        return _fail(BAD_OUTPUT, f"{shortened(str(at))}: cannot be written: {error.strerror}" if isinstance(error, OSError) and at else str(error))
    return OK


def row(kernel: Kernel, found: Roofs, type_: str) -> dict:
    """A kernel's rates and shares; no share above the roof, with a note, since the rate or the roof is wrong then."""
    whole = found.of_threads(None)
    dram, peak = (roof.value if roof else None for roof in (whole.dram(), whole.peak(type_)))
    bound = min(dram * kernel.intensity, peak) if dram and peak and kernel.intensity else None
    made = {"kernel": kernel.name, "calls": kernel.calls, "seconds": kernel.seconds, "gflops": kernel.gflops, "gbytes_per_s": kernel.gbytes,
            "flop_per_byte": kernel.intensity, "of_peak": _share(kernel.gflops, peak), "of_dram": _share(kernel.gbytes, dram),
            "bound_gflops": bound, "of_bound": _share(kernel.gflops, bound)}
    return made | {"note": note(kernel, peak, dram)}


def _share(value: float | None, roof: float | None) -> float | None:
    return value / roof if value and roof and value <= BEYOND * roof else None


def note(kernel: Kernel, peak: float | None, dram: float | None) -> str:
    """Why shares are missing."""
    above = [name for name, value, roof in (("peak", kernel.gflops, peak), ("DRAM", kernel.gbytes, dram)) if value and roof and value > BEYOND * roof]
    if above:
        return f"above the roof of {' and '.join(above)}: its bytes are served by a cache, its counters are no amounts, or these roofs are of another machine"
    missing = [name for name, value in (("operations", kernel.flops), ("bytes", kernel.bytes)) if not value]
    return f"no {' and no '.join(missing)} counted" if missing else ""


def text(name: str, found: Roofs, type_: str, rows: Sequence[dict]) -> str:
    whole = found.of_threads(None)
    dram, peak = whole.dram(), whole.peak(type_)
    head = f"{plain(name)}: DRAM {numbers.bandwidth(dram.value) if dram else 'unknown'}, {type_.upper()} {numbers.flops(peak.value, type_) if peak else 'unknown'}"
    width = min(WIDEST, max(len(r["kernel"]) for r in rows))
    lines = [head, f"{'kernel':<{width}}  calls        time  {type_.upper() + ' rate':>14}   DRAM rate   OP/B  of peak  of DRAM  of bound"]
    for r in rows:
        shares = (f"{numbers.percent(r[key]) if r[key] else '–':>8}" for key in ("of_peak", "of_dram", "of_bound"))
        cells = (f"{r['calls']:>5}", f"{numbers.seconds(r['seconds']):>10}", f"{numbers.flops(r['gflops'], type_) if r['gflops'] else '–':>14}",
                 f"{numbers.bandwidth(r['gbytes_per_s']) if r['gbytes_per_s'] else '–':>10}", f"{numbers.significant(r['flop_per_byte']) if r['flop_per_byte'] else '–':>5}")
        kernel = r["kernel"] if len(r["kernel"]) <= width else f"{r['kernel'][:width - 1]}…"
        lines.append("  ".join([f"{kernel:<{width}}", *cells, *shares]).rstrip())
    notes = dict.fromkeys(f"{r['kernel']}: {r['note']}" for r in rows if r["note"])
    return "\n".join([*lines, *notes]).replace("\u00a0", " ").replace("\u202f", " ")


def _write(options: argparse.Namespace, name: str, found: Roofs, kernels: Sequence[Kernel], rows: Sequence[dict]) -> None:
    if options.csv:
        write_csv(options.csv, rows)
    if options.ert:
        write_ert(options.ert, name, found)
    if options.parquet:
        _parquet(options.parquet, rows)
    if options.figure:
        draw(options.figure, name, found, options.type, kernels)


def _parquet(path: Path, rows: Sequence[dict]) -> None:
    try:
        import pyarrow  # type: ignore[import-not-found]
        from pyarrow import parquet
    except ImportError:
        raise ImportError("--parquet needs pyarrow, which is not installed: pip install pyarrow, or use --csv") from None
    parquet.write_table(pyarrow.Table.from_pylist(list(rows)), path)


def draw(path: Path, name: str, found: Roofs, type_: str, kernels: Sequence[Kernel]) -> None:
    """The roofline, in the format of the file's ending. ValueError where no kernel has both operations and bytes."""
    from report.draw import marks, roofline, style
    from report.draw.formats import save_as
    longest = sorted((k for k in kernels if k.intensity and k.gflops), key=lambda k: -k.seconds)
    if not longest:
        raise ValueError("--figure: no kernel has both operations and bytes")
    shown = [marks.Mark("", k.name if i < MOST_NAMED else "", k.gflops or 0.0, {"DRAM": k.intensity or 0.0}) for i, k in enumerate(longest)]
    fig = style.figure(95)
    roofline.draw(style.axes(fig, 16, 9, 4, 6), found, type_, shown, (), f"moved by DRAM; roofs of {plain(name)}", levels=("DRAM", "L2"))
    style.finish(fig)
    save_as(fig, path)


def _fail(code: int, text_: str) -> int:
    say(text_, PROGRAM)
    return code
