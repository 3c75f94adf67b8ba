"""Files that no run of ours wrote: pipes, loops of links, damaged bytes, values of any size. Each ends in one line."""

import json
import os
import random
import signal
import subprocess
import sys
import time
import warnings
import zlib

import pytest
from conftest import ROOT
from synthetic import Run, ladder, write

from report import cli, output
from report.data.collect import collect
from report.data.load import InputError, load
from report.experiment import Column, Figure, Section, Table
from report.sections import comparison, generic


@pytest.fixture(autouse=True)
def within_minutes():
    """What hangs, fails."""
    def fail(*_):
        raise TimeoutError
    signal.signal(signal.SIGALRM, fail)
    signal.alarm(300)
    yield
    signal.alarm(0)


def small(**context) -> Run:
    run = Run("small", **context)
    run.rate("cpu/matmul/naive", 50)
    return run


def said(folder, capsys) -> tuple[int, str]:
    code = cli.main([str(folder / "in"), "--output", str(folder / "out")])
    return code, capsys.readouterr().err


@pytest.mark.parametrize("make", (os.mkfifo, lambda p: os.symlink("x.json", p), lambda p: os.symlink("/dev/zero", p),
                                  lambda p: os.symlink("nowhere", p), lambda p: os.mkdir(p)))
def test_what_is_no_regular_file_is_left_out(tmp_path, plain, capsys, make):
    small().save(tmp_path / "in")
    make(tmp_path / "in" / "x.json")
    code, text = said(tmp_path, capsys)
    assert code == cli.OK and "x.json is left out" in text and text.count("x.json") == 1


def test_a_folder_that_links_to_itself_is_searched_once(tmp_path, plain, capsys):
    small().save(tmp_path / "in")
    (tmp_path / "in" / "again").symlink_to(".")
    assert said(tmp_path, capsys)[0] == cli.OK


def test_a_file_too_large_for_results_is_not_read(tmp_path):
    with (tmp_path / "x.json").open("wb") as file:
        file.truncate(1 << 29)  # takes no room on the disk
    with pytest.raises(InputError, match="too large"):
        load(tmp_path / "x.json")


def test_a_path_that_is_too_long_is_told_in_short(tmp_path, capsys):
    assert cli.main(["x" * 5000, "--output", str(tmp_path)]) == cli.BAD_INPUT
    told = capsys.readouterr().err
    assert "File name too long" in told and len(told) < 1000


@pytest.mark.parametrize("date", ("20261122T0831", "2026-W47-1", "20260203", "2026-02-30", "2026-2-3", ""))
def test_dates_that_would_be_shown_wrongly(tmp_path, date):
    with pytest.raises(InputError, match="context.date"):
        load(small(date=date).save(tmp_path))


@pytest.mark.parametrize("where", ("title", "host_name"))
def test_lone_surrogates(tmp_path, where):
    path = small().save(tmp_path)
    data = json.loads(path.read_text())
    data["context"][where] = "\ud800"
    path.write_text(json.dumps(data))
    assert load(path).context[where] == "\ufffd"
    path.write_text(json.dumps(data | {"context": data["context"] | {where: "\U0001f600"}}))
    assert load(path).context[where] == "U+1F600"


def test_a_key_that_stands_twice(tmp_path):
    path = tmp_path / "x.json"
    path.write_text('{"context": {"date": "2026-01-01", "date": "2026-01-02"}}')
    with pytest.raises(InputError, match="'date': twice"):
        load(path)


@pytest.mark.parametrize("text", ("[report]\njoins = 3", "[report]\njoins = [['small'], {a = 1}]", f"chapter = {'9' * 400}\n[report]",
                                  f"chapter = {'9' * 5000}\n[report]", "chapter = nan\n[report]", f"[report]\na = {'[' * 5000}"))
def test_a_declaration_may_say_anything(tmp_path, plain, capsys, text):
    small(experiment_toml=text).save(tmp_path / "in")
    assert said(tmp_path, capsys)[0] == cli.OK


@pytest.mark.parametrize("beside", ("5", "'fp64'", "[{x = 1}]", "[['fp64']]"))
def test_a_ladder_may_declare_anything_beside(tmp_path, plain, capsys, beside):
    for side in ("gpu", "cpu"):
        ladder(side, f"{side}_products", experiment_toml=f"[report]\nkind = 'ladder'\nfamily = 'matmul'\nbeside = {beside}").save(tmp_path / "in")
    assert said(tmp_path, capsys)[0] == cli.OK


@pytest.mark.parametrize("value", ([], {}, "yes", 3))
def test_a_field_that_is_neither_true_nor_false(tmp_path, plain, capsys, value):
    small(virtualised=value).save(tmp_path / "in")
    assert said(tmp_path, capsys)[0] == cli.OK


def test_a_name_too_long_for_a_file_has_no_declaration_beside_it(tmp_path, plain, capsys):
    run = small()
    run.context["experiment"] = "y" * 300
    write(tmp_path / "in" / "x.json", run.data())
    assert said(tmp_path, capsys)[0] == cli.OK


def test_what_is_nested_too_deeply_to_be_sent_is_read_all_the_same(tmp_path, monkeypatch):
    """From one process to another."""
    monkeypatch.setattr("report.data.collect.LARGE", 1)
    path = small(odd="here").save(tmp_path)
    path.write_text(path.read_text().replace('"here"', "[" * 800 + "]" * 800))
    assert len(collect([tmp_path], []).views) == 1


def test_a_key_that_stands_twice_in_a_large_table_is_found_at_once(tmp_path):
    keys = ", ".join(f'"{i}": 0' for i in (*range(50_000), 0))
    (tmp_path / "x.json").write_text(f"{{{keys}}}")
    with pytest.raises(InputError, match="key '0': twice"):
        load(tmp_path / "x.json")


@pytest.mark.parametrize("name", (b"\x1b[31m.json", b"\xe2\x80\xae.json", b"a\nb.json", b"\xff.json"))
def test_names_of_files_do_nothing_to_a_terminal(tmp_path, plain, capsys, name):
    small().save(tmp_path / "in")
    (tmp_path / "in" / os.fsdecode(name)).write_text("{")
    code, text = said(tmp_path, capsys)
    assert code == cli.OK and ".json is left out" in text and text.removesuffix("\n").isprintable()


@pytest.mark.parametrize("letters", ("x", "a b "))
@pytest.mark.parametrize("where", ("title", "unit", "word", "kernel", "experiment", "command_line"))
def test_long_names_take_no_minutes(tmp_path, quick, capsys, where, letters):
    long, run = letters * (100_000 // len(letters)), small(title="T")
    if where == "title":
        run.context["kernels"]["cpu/matmul/naive"]["title"] = long
    elif where == "unit":
        run.context["problems"]["matmul"]["metric"]["unit"] = long
    elif where == "word":
        for entry in run.benchmarks:
            entry["tunables"] = {"order": long}
    elif where == "kernel":
        run.context["kernels"][long] = run.context["kernels"]["cpu/matmul/naive"]
    else:
        run.context[where] = long
    write(tmp_path / "in" / "x.json", run.data())
    code, text = said(tmp_path, capsys)
    assert code == (cli.BAD_INPUT if where == "kernel" else cli.OK) and len(text) < 1000


NUMBERS = (0, -1, 1e-300, 5e-324, 1e300, 1e308, 10**400, float("nan"), float("inf"), -0.0, 2**63, 1e30)


@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(2, 12))])
def test_extreme_values_end_in_a_report_or_a_line(tmp_path, quick, capsys, seed):
    """One value of every sample, or one of the context, replaced: by one that no measurement has, or of another type."""
    choose = random.Random(seed)
    for _ in range(6):
        run = ladder("gpu") if seed % 2 else small()
        key = choose.choice(sorted({k for e in run.benchmarks for k in e}))
        value = choose.choice((*NUMBERS, None, [], {}, True, "", "\n", "{}"))
        for entry in run.benchmarks:
            if key in entry:
                entry[key] = {k: value for k in entry[key]} if isinstance(entry[key], dict) else value
        if choose.random() < 0.3:
            run.context[choose.choice(sorted(run.context))] = value
        write(tmp_path / "in" / "x.json", run.data())
        code, text = said(tmp_path, capsys)
        assert code in (cli.OK, cli.BAD_INPUT) and (code == cli.OK or text.startswith("report: ")), (key, value)


def test_a_point_with_a_size_that_cannot_be_has_failed(tmp_path):
    run = ladder()
    for entry in run.benchmarks:
        if entry["kernel"] == "gpu/matmul/top":
            entry["sizes"]["n"] = 10**400
    points = load(run.save(tmp_path)).points
    assert {p.kernel.name for p in points if p.failed} == {"gpu/matmul/top"}
    assert "sizes are not" in next(p.failed for p in points if p.failed)


def test_an_experiment_that_cannot_be_told_costs_no_other(tmp_path, plain, capsys, monkeypatch):
    small().save(tmp_path / "in")
    ladder().save(tmp_path / "in")

    def fail(view):
        raise ValueError("in two\nlines")
    monkeypatch.setattr(generic, "section", fail)
    code, text = said(tmp_path, capsys)
    assert code == cli.BAD_INPUT
    line = text.splitlines()[0]
    assert "small cannot be reported from these results: ValueError: in two lines (test_hostile_files.py, line" in line
    assert "Title of matmul" in (tmp_path / "out" / "report.json").read_text()


def sized(value):
    return f"{value:.1f}"


def test_a_table_that_cannot_be_written_costs_its_experiment_alone(tmp_path, plain, capsys, monkeypatch):
    small().save(tmp_path / "in")
    ladder().save(tmp_path / "in")
    table = Table("odd", "Sizes.", (Column("x", "x", sized),), [{"x": "many"}])
    monkeypatch.setattr(generic, "section", lambda view: Section("Told.", appendix=[table]))
    code, text = said(tmp_path, capsys)
    assert code == cli.BAD_INPUT and "small cannot be reported from these results: ValueError: Unknown format code 'f'" in text
    assert "Title of matmul" in (tmp_path / "out" / "report.json").read_text()


def test_a_comparison_that_cannot_be_told_costs_no_experiment(tmp_path, plain, capsys, monkeypatch):
    for side in ("cpu", "gpu"):
        ladder(side).save(tmp_path / "in" / side)
    monkeypatch.setattr(comparison, "section", lambda found: found.sizes["n"])
    code, text = said(tmp_path, capsys)
    assert code == cli.BAD_INPUT and "The GPU against the CPU cannot be reported from these results: TypeError" in text
    assert "matmul_ladder_rungs" in (tmp_path / "out" / "report.json").read_text()


def test_a_figure_that_cannot_be_drawn_is_named_and_the_report_written(tmp_path, quick, capfd, monkeypatch):
    small().save(tmp_path / "in")
    figure = Figure("odd", [{"x": 1}], lambda fig: {}["x"], "Odd.", "alt")
    monkeypatch.setattr(generic, "section", lambda view: Section("Told.", figures=[figure]))
    assert cli.main([str(tmp_path / "in"), "--output", str(tmp_path / "out")]) == cli.BAD_INPUT
    assert capfd.readouterr().err.startswith("report: the figure odd cannot be drawn: KeyError: 'x' (test_hostile_files.py, line")
    assert (tmp_path / "out" / "report.pdf").exists()
    assert "Odd. (Not drawn, since its values" in (tmp_path / "out" / "report.json").read_text()


def test_what_drawing_warns_of_is_a_line(tmp_path, capfd):
    with output.written([Figure("odd", [], lambda fig: warnings.warn("two\nlines"), "", "")], list, tmp_path):
        pass
    assert capfd.readouterr().err == "report: the figure odd: two lines\n"


def with_checksum(folder) -> bytes:
    """As rung writes it."""
    path = small(checksum="crc32 00000000").save(folder)
    text = path.read_bytes()
    path.write_bytes(text.replace(b"crc32 00000000", f"crc32 {zlib.crc32(text):08x}".encode()))
    return path.read_bytes()


def test_every_flipped_bit_of_results_with_a_checksum_is_told(tmp_path):
    whole, path = with_checksum(tmp_path), tmp_path / "small.json"
    assert load(path).points[0].summary.n == 12
    key = range(whole.index(b'"checksum": "crc32 '), whole.index(b'"checksum": "crc32 ') + 27)
    choose = random.Random(1)
    for _ in range(400):
        place = choose.choice([i for i in range(0, len(whole), 7) if i not in key])
        flipped = bytearray(whole)
        flipped[place] ^= 1 << choose.randrange(8)
        path.write_bytes(flipped)
        with pytest.raises(InputError):
            load(path)


def test_results_without_their_checksum_are_read(tmp_path):
    whole, path = with_checksum(tmp_path), tmp_path / "small.json"
    path.write_bytes(whole.replace(b"Title of small", b"Title of other"))
    with pytest.raises(InputError, match="context.checksum: does not fit"):
        load(path)
    data = json.loads(path.read_text())
    del data["context"]["checksum"]
    assert load(write(path, data)).context["title"] == "Title of other"


def test_a_killed_report_leaves_nobody_drawing(tmp_path):
    """Its helpers sleep as long as the figure takes; they end with it."""
    program = tmp_path / "draw.py"
    program.write_text("import os, time\nfrom report import output\nfrom report.experiment import Figure\n"
                       "os.sched_getaffinity = lambda _: range(3)\n"
                       "def draw(fig):\n    os.write(1, f'{os.getpid()}\\n'.encode())\n    time.sleep(300)\n"
                       "figures = [Figure(n, [], draw, '', '') for n in 'abc']\n"
                       f"with output.written(figures, list, __import__('pathlib').Path({str(tmp_path)!r})):\n    pass\n")
    with subprocess.Popen([sys.executable, program], cwd=ROOT, stdout=subprocess.PIPE, text=True,
                          env={**os.environ, "PYTHONPATH": str(ROOT)}) as process:
        helpers = {int(process.stdout.readline()) for _ in range(3)}
        process.kill()
    assert len(helpers) == 3 and process.pid not in helpers
    deadline = time.monotonic() + 60
    while any(is_running(helper) for helper in helpers) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(is_running(helper) for helper in helpers)


def is_running(process: int) -> bool:
    try:
        with open(f"/proc/{process}/stat", encoding="utf-8") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False
