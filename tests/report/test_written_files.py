"""The files of the report: never written through a link or into a pipe, complete or absent, and not among the results."""

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT
from synthetic import Run, study

from report import cli, files


@pytest.fixture(scope="module")
def plain_report(tmp_path_factory):
    """A small study with its report: the folder, and every file that is written."""
    folder = tmp_path_factory.mktemp("small")
    run = Run("small")
    for n in (128, 256, 512):
        run.rate("cpu/matmul/naive", 50, n)
        run.rate("cpu/matmul/tiled", 80, n)
    run.save(folder / "in")
    assert cli.main([str(folder / "in"), "--output", str(folder / "out")]) == cli.OK
    return folder, tree(folder / "out")


def tree(folder):
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file() and not p.is_symlink()}


def rendered(folder, output, capfd):
    code = cli.main([str(folder / "in"), "--output", str(output)])
    return code, capfd.readouterr().err


def every(made):
    assert any(name.endswith(".png") for name in made) and {"report.pdf", "report.json", "report.typ"} < set(made)
    return sorted(made)


@pytest.mark.parametrize("make", (lambda path, victim: path.symlink_to(victim), lambda path, victim: os.link(victim, path),
                                  lambda path, victim: os.mkfifo(path), lambda path, victim: path.symlink_to("/dev/full"),
                                  lambda path, victim: path.symlink_to(path.name)),
                         ids=("link", "hard link", "pipe", "device", "loop"))
def test_what_has_a_files_name_is_replaced(plain_report, tmp_path, capfd, make):
    folder, made = plain_report
    victim = tmp_path / "victim"
    victim.write_text("precious")
    for name in every(made):
        (tmp_path / "out" / name).parent.mkdir(parents=True, exist_ok=True)
        make(tmp_path / "out" / name, victim)
    assert rendered(folder, tmp_path / "out", capfd) == (cli.OK, "")
    assert victim.read_text() == "precious" and tree(tmp_path / "out") == made


@pytest.mark.parametrize("name", ("figures", "tables"))
def test_a_link_in_place_of_a_folder_is_replaced(plain_report, tmp_path, capfd, name):
    folder, made = plain_report
    for path in ("elsewhere", "out"):
        (tmp_path / path).mkdir()
    (tmp_path / "out" / name).symlink_to(tmp_path / "elsewhere")
    assert rendered(folder, tmp_path / "out", capfd) == (cli.OK, "")
    assert not list((tmp_path / "elsewhere").iterdir()) and tree(tmp_path / "out") == made


def test_a_folder_in_place_of_a_file_is_told(plain_report, tmp_path, capfd):
    folder, made = plain_report
    for number, name in enumerate(every(made)):
        output = tmp_path / str(number)
        (output / name / "inside").mkdir(parents=True)
        code, said = rendered(folder, output, capfd)
        assert code == cli.BAD_OUTPUT and said == f"report: {output / name}: cannot be written: a folder has its name\n"
        assert not list(output.rglob("*.part"))


def test_a_file_in_place_of_a_folder_is_told(plain_report, tmp_path, capfd):
    (tmp_path / "figures").touch()
    assert rendered(plain_report[0], tmp_path, capfd) == (
        cli.BAD_OUTPUT, f"report: {tmp_path / 'figures'}: cannot be written: a file has its name\n")


@pytest.mark.parametrize("text", (b"\xff\xfe", b"../../victim\n", b"x" * 5000, b"a\0b\n", b"\n" * (2 << 20)))
def test_a_list_of_what_was_written_may_be_anything(plain_report, tmp_path, capfd, text):
    (tmp_path / "out" / "figures").mkdir(parents=True)
    (tmp_path / "out" / "figures" / ".written").write_bytes(text)
    (tmp_path / "victim.csv").write_text("precious")
    assert rendered(plain_report[0], tmp_path / "out", capfd) == (cli.OK, "")
    assert (tmp_path / "victim.csv").read_text() == "precious" and tree(tmp_path / "out") == plain_report[1]


@pytest.mark.parametrize("output", ("in", ".", "in/..", "link"))
def test_the_results_folder_or_one_above_it_is_no_output(plain_report, tmp_path, capfd, output):
    study(tmp_path / "in")
    (tmp_path / "link").symlink_to("in")
    code, said = rendered(tmp_path, tmp_path / output, capfd)
    assert code == cli.BAD_INPUT and said.endswith("it is the folder of the results, or above it: name another one\n")


def test_a_link_within_the_results_is_no_output(tmp_path, capfd):
    study(tmp_path / "in")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "in" / "report").symlink_to(tmp_path / "elsewhere")
    code, said = rendered(tmp_path, tmp_path / "in" / "report", capfd)
    assert code == cli.BAD_INPUT and "a link in the results leads to" in said and not list((tmp_path / "elsewhere").iterdir())


def test_results_behind_a_link_may_have_their_report_within(plain_report, tmp_path, capfd):
    study(tmp_path / "real")
    (tmp_path / "in").symlink_to("real")
    assert rendered(tmp_path, tmp_path / "in" / "report", capfd) == (cli.OK, "")


def program(*arguments, **options):
    return subprocess.run([sys.executable, "-m", "report", *map(str, arguments)], capture_output=True, text=True,
                          env=os.environ | {"PYTHONPATH": str(ROOT)}, **options)


@pytest.mark.parametrize("size", (1000, 10_000, 20_000, 40_000))
def test_a_file_that_may_not_grow_is_told_in_a_line(plain_report, tmp_path, size):
    ended = program(plain_report[0] / "in", "--output", tmp_path,
                    preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size)))
    assert ended.returncode == cli.BAD_OUTPUT and ended.stdout == "", ended.stderr
    assert ended.stderr.startswith(f"report: {tmp_path}") and ended.stderr.endswith(": cannot be written: File too large\n")
    assert ended.stderr.count("\n") == 1 and not list(tmp_path.rglob("*.part"))


@pytest.mark.parametrize("of", ("results", "output"))
def test_a_path_that_is_longer_than_any_is_told_in_a_line(plain_report, tmp_path, monkeypatch, of):
    monkeypatch.chdir(tmp_path)
    for _ in range(22):
        os.mkdir("d" * 200)
        os.chdir("d" * 200)
    try:
        Path("small.json").write_bytes((plain_report[0] / "in" / "small.json").read_bytes())
        ended = program(tmp_path if of == "results" else ".", "--output", tmp_path / "out" if of == "results" else "out")
    finally:
        monkeypatch.undo()
    assert ended.returncode in (cli.BAD_INPUT, cli.BAD_OUTPUT) and "too long" in ended.stderr
    assert ended.stderr.count("\n") == 1 and len(ended.stderr) < 1000


def test_a_write_that_fails_leaves_what_was_there(tmp_path, monkeypatch):
    path = tmp_path / "x"
    files.write(path, "old")

    def fail(*_):
        raise OSError(28, "No space left on device")
    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="No space left"):
        files.write(path, "new")
    assert [p.read_text() for p in tmp_path.iterdir()] == ["old"]
