"""Influences from outside the report: a user's settings of matplotlib, the locale, a system without semaphores."""

import errno
import os
import re
import subprocess
import sys

import pytest
from conftest import ROOT

from report import cli, forks, output
from report.data import collect, reading
from report.experiment import Figure

ONE_FIGURE = """
import sys
from pathlib import Path
from report.draw import formats, style
fig = style.figure(40)
axes = style.axes(fig)
axes.plot([1, 2], [3, 4])
axes.set_xlabel("a label")
formats.Formats(Path(sys.argv[1])).save(fig, "one")
"""
SETTINGS = """text.usetex: True
backend: TkAgg
font.size: 30
axes.prop_cycle: cycler(color=["red"])
lines.dash_capstyle: round
savefig.bbox: tight
svg.fonttype: path
xtick.direction: in
path.simplify: False
"""


def python(*arguments, **options):
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("MPL", "XDG"))} | options.pop("env", {})
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True,
                          env=environment | {"PYTHONPATH": str(ROOT)}, **options)


def drawn(folder, **options):
    """The bytes of a figure's SVG, and what was said about it."""
    folder.mkdir()
    made = python("-c", ONE_FIGURE, str(folder), **options)
    assert made.returncode == 0, made.stderr
    return (folder / "one.svg").read_bytes(), made.stderr


def test_a_users_settings_of_matplotlib_change_no_figure(tmp_path):
    plain = drawn(tmp_path / "plain")
    (tmp_path / "matplotlibrc").write_text(SETTINGS)
    assert drawn(tmp_path / "set", cwd=tmp_path) == plain
    assert drawn(tmp_path / "other", env={"MPLBACKEND": "module://nobody_has.this_backend"}) == plain


def test_a_home_that_cannot_be_written_is_no_matter_of_ours(tmp_path):
    said = drawn(tmp_path / "figure", env={"HOME": "/proc", "MPLCONFIGDIR": "/proc/none"})[1]
    assert said == ""


def test_what_the_locale_lacks_is_no_traceback():
    made = python("-c", "from report.faults import print_anything; print_anything(); print('─ ≥ \\udce9 end')",
                  env={"PYTHONIOENCODING": "iso-8859-1"})
    assert made.stdout.endswith(" end\n") and made.stderr == ""


def test_every_command_prints_in_any_locale():
    commands = [p for p in (ROOT / "report").rglob("*.py") if '__name__ == "__main__"' in p.read_text(encoding="utf-8")]
    assert len(commands) >= 3
    assert [p.name for p in commands if not re.search(r"print_anything\(\)|entry\.start\(", p.read_text(encoding="utf-8"))] == []


@pytest.fixture
def no_semaphores(monkeypatch):
    """As if /dev/shm were read-only."""
    def refuse(*_, **__):
        raise OSError(errno.EROFS, "Read-only file system")
    monkeypatch.setattr("multiprocessing.synchronize.SemLock.__init__", refuse)


def figures():
    def broken(fig):
        raise ValueError("no value")
    return [Figure("one", [{"n": 1}], lambda fig: fig.text(0.5, 0.5, "one"), "A caption.", "A text.", height=30),
            Figure("two", [{"n": 2}], broken, "A caption.", "A text.", height=30)]


def test_figures_are_drawn_without_semaphores(tmp_path, no_semaphores):
    with output.written(figures(), lambda: [], tmp_path) as undrawn:
        assert (tmp_path / "figures" / "one.pdf").exists()
    assert undrawn == {"two": output.UNEXPECTED}
    assert {p.name for p in (tmp_path / "figures").glob("one.*")} == {"one.csv", "one.pdf", "one.png", "one.svg"}


def test_results_are_read_without_semaphores(tmp_path, no_semaphores, monkeypatch):
    monkeypatch.setattr(collect, "LARGE", 0)
    files = [tmp_path / f"{i}.json" for i in range(3)]
    for file in files:
        file.write_text("{}")
    assert len(collect._loaded(files)) == 3


def test_what_no_process_can_do_is_done_here(monkeypatch):
    def refuse(*_):
        raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")
    monkeypatch.setattr("multiprocessing.context.ForkProcess.start", refuse)
    assert forks.in_a_fork(lambda a: (a, os.getpid()), 7) == (7, os.getpid())
    with pytest.raises(ZeroDivisionError):
        forks.begin(lambda: 1 / 0)()


def test_the_command_that_is_told_can_be_typed():
    options = cli.parser().parse_args(["my results", "b", "--recorded", "it's", "--output", "$HOME"])
    assert cli._again(options) == """python -m report 'my results' b --recorded 'it'"'"'s' --output '$HOME'"""


def test_a_reader_that_leaves_when_all_is_written_is_no_fault():
    made = subprocess.run(["bash", "-o", "pipefail", "-c", '"$0" -c "import time; time.sleep(1); from report import cli; '
                           'cli._print(1); cli._print(2); import sys; sys.exit(0)" | true', sys.executable],
                          capture_output=True, text=True, env=os.environ | {"PYTHONPATH": str(ROOT)})
    assert (made.returncode, made.stderr) == (0, "")


def test_letters_without_a_type_are_spelt(tmp_path):
    """Not drawn as boxes. Names stay, since others are found by them."""
    file = tmp_path / "one.json"
    file.write_text('{"title": "矩阵乘法 \\ud83d\\ude00 é ≥ λ", "idea": "שלום", "name": "矩"}', encoding="utf-8")
    assert reading.read_json(file) == {"title": "U+77E9 U+9635 U+4E58 … U+1F600 é ≥ λ", "idea": "U+05E9 U+05DC U+05D5 …",
                                       "name": "矩"}
