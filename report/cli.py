"""The command line: ``python -m report RESULTS… [--recorded DIR…] [--output DIR]``.

Exit codes: 0 report written (or all of it that the installed packages allow), 2 bad arguments or bad input (the readable
part of it is reported), 4 the output could not be written, or a process of the report was killed, 130 interrupted.
"""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from importlib.util import find_spec
from pathlib import Path

from report import compose, document, figures, files, forks, latex, output
from report.data.collect import Study, collect
from report.data.reading import InputError
from report.faults import say, shortened
from report.sections.contributions import Untold
from report.web import page

OK, BAD_INPUT, BAD_OUTPUT, INTERRUPTED = 0, 2, 4, 130


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="python -m report", description="Renders results of rung as a report.",
                                   epilog="exit codes: 0 done, 2 bad arguments or input, 4 output trouble or a killed process, 130 interrupted")
    made.add_argument("results", nargs="+", type=Path, metavar="RESULTS", help="result folders or files")
    made.add_argument("--recorded", nargs="+", action="extend", type=Path, default=[], metavar="DIR",
                      help="recorded results, which stand in for what the results lack")
    made.add_argument("--output", type=Path, default=Path("report-output"), metavar="DIR",
                      help="where report.pdf, report.html, report.typ, figures/, tables/ and latex/ go (default: %(default)s)")
    single = made.add_argument_group("single figures instead of the report")
    single.add_argument("--only", nargs="+", metavar="FIGURE", help="names, as in OUTPUT/figures, or patterns")
    single.add_argument("--size", choices=figures.SIZES, default=figures.PAGE, help=f"{'; '.join(f'{k}: {v}' for k, v in figures.SIZES.items())}")
    single.add_argument("--format", nargs="+", choices=figures.FORMATS, default=["pdf"], dest="formats",
                        help="(default: pdf); pgf: for LaTeX, which must be installed")
    single.add_argument("--grey", action="store_true", help="each colour as the grey of its luminance")
    return made


def main(arguments: list[str] | None = None) -> int:
    try:
        return _main(parser().parse_args(arguments))
    except KeyboardInterrupt:
        return _fail(INTERRUPTED, "interrupted")
    finally:
        forks.end()


def _main(options: argparse.Namespace) -> int:
    try:
        _check_output(options)
        study = collect(options.results, options.recorded, options.output)
    except OSError as error:
        return _fail(BAD_INPUT, f"{shortened(str(error.filename or options.results[0]))}: cannot be read: {error.strerror or error}")
    except InputError as error:
        return _fail(BAD_INPUT, str(error))
    except MemoryError:
        return _fail(BAD_INPUT, "there is not enough memory to read these results")
    try:
        if options.only:
            return _figures(study, options)
        return render(study, options.output, _again(options))
    except InputError as error:
        return _fail(BAD_INPUT, str(error))
    except (output.NotDrawn, forks.Died) as error:
        return _fail(BAD_OUTPUT, str(error))
    except (MemoryError, ImportError) as error:
        return _fail(BAD_OUTPUT, str(error) or "there is not enough memory")
    except OSError as error:
        return _fail(BAD_OUTPUT, f"{shortened(str(error.filename or options.output))}: cannot be written: {error.strerror or error}")


def _figures(study: Study, options: argparse.Namespace) -> int:
    """Draws single figures, and prints the path of each."""
    if not find_spec("matplotlib"):
        return _fail(BAD_OUTPUT, "matplotlib is not installed: pip install matplotlib")
    shown = figures.chosen(document.make(study).figures(), options.only)
    for path in figures.write(shown, options.output, options.size, options.formats, options.grey):
        _print(path)
    return OK


def _check_output(options: argparse.Namespace) -> None:
    """Refuses a folder in which the results are searched, since the report would be among them, and one that a link in
    the results leads to, since it may belong to others."""
    written = Path(os.path.realpath(options.output))
    for path in (*options.results, *options.recorded):
        real = Path(os.path.realpath(path))
        if path.is_dir() and real.is_relative_to(written):
            raise InputError(options.output, "--output", "it is the folder of the results, or above it: name another one")
        inside = os.path.relpath(os.path.abspath(options.output), os.path.abspath(path))
        if not inside.startswith("..") and path.is_dir() and written != real / inside:
            raise InputError(options.output, "--output", f"a link in the results leads to {written}: name that, or another one")


def _again(options: argparse.Namespace) -> str:
    words = [str(p) for p in options.results]
    if options.recorded:
        words += ["--recorded", *map(str, options.recorded)]
    return shlex.join(["python", "-m", "report", *words, "--output", str(options.output)])


def render(study: Study, folder: Path, again: str) -> int:
    """Writes all files, and prints one line for each missing output with the command that makes it later."""
    for warning in study.warnings:
        say(warning)
    made = document.make(study)
    untold = [text for section in made.sections if isinstance(section, Untold) for text in section.warnings]
    for text in untold:
        say(text)
    with output.written(made.figures(), made.tables, folder) as undrawn:
        if output.NO_MATPLOTLIB in undrawn.values():
            say(f"matplotlib is not installed: CSV only, no figures; later: {again}")
        content = compose.documents(made, undrawn)
        document.write(content, folder)
        of_page = forks.begin(page.write, made, compose.in_one(made, undrawn), folder)
        of_latex = forks.begin(latex.write, made, undrawn, folder / "latex")
        code, pages = _typeset(list(content), folder, again)
        of_page()
        untold += of_latex()
    for path in reversed(pages):
        _print(path)
    return BAD_INPUT if code == OK and (untold or output.UNEXPECTED in undrawn.values()) else code


def _typeset(names: list[str], folder: Path, again: str) -> tuple[int, list[Path]]:
    """The exit code, and the documents where there are any. Those that an earlier report wrote and this one has not are removed."""
    for name in compose.NAMES if not find_spec("typst") else set(compose.NAMES) - set(names):
        files.remove(folder / f"{name}.pdf")
    try:
        return OK, document.typeset(names, folder)
    except document.Failed as error:
        return _fail(BAD_OUTPUT, f"{folder / 'report.typ'}: typst: {error}"), []
    except document.Missing:
        say(f"typst is not installed: no report.pdf; later: pip install typst && {again}, or anywhere: "
            f"{shlex.join(['typst', 'compile', str(folder / 'report.typ')])}")
        return OK, []


def _print(text: object) -> None:
    """Prints a line; a closed pipe is no error, since the report is written by then."""
    try:
        print(text, flush=True)
    except BrokenPipeError:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # else Python's end tries again


def _fail(code: int, text: str) -> int:
    say(text)
    return code
