"""Any process of the report may be killed, for instance when memory runs out: one line and the exit code, at once, and none is left."""

import multiprocessing
import os
import signal
import time

import pytest
from synthetic import Run

from report import cli, document
from report.claims import study_claims
from report.data import collect
from report.experiment import Figure, Section
from report.sections import generic

AT_ONCE, LONG = 30, 300
"""Seconds; the second is what the others would still take."""


def killed(*_):
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.fixture
def rendered(tmp_path, capfd, monkeypatch):
    def render() -> tuple[int, str]:
        for name in ("one", "two"):
            run = Run(name)
            run.rate("cpu/matmul/naive", 50)
            run.save(tmp_path / "in")
        begun = time.monotonic()
        code = cli.main([str(tmp_path / "in"), "--output", str(tmp_path / "out")])
        assert time.monotonic() - begun < AT_ONCE
        assert not multiprocessing.active_children() and not list((tmp_path / "out").rglob("*.part"))
        said = capfd.readouterr()
        assert code == cli.OK or said.out == ""
        return code, said.err
    return render


def drawing(monkeypatch, draws, cores=3):
    """Figures that are drawn so, by as many processes."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(cores))
    figures = [Figure(f"figure{i}", [{"x": 1}], draw, "A caption.", "alt") for i, draw in enumerate(draws)]
    monkeypatch.setattr(generic, "section", lambda view: Section("Told.", figures=figures) if view.name == "one" else None)


@pytest.mark.parametrize("cores", (1, 3))
def test_one_that_draws(rendered, monkeypatch, cores):
    """Also while the others are busy for long."""
    drawing(monkeypatch, [killed, *[lambda fig: time.sleep(LONG)] * (cores - 1)], cores)
    assert rendered() == (cli.BAD_OUTPUT, "report: a process that draws figures has ended early, perhaps because memory ran out\n")


def test_one_that_waits_for_the_others(rendered, monkeypatch):
    """It has drawn its own, and holds nothing that they need."""
    def kill_the_idle(fig):
        time.sleep(2)
        for other in children_of(os.getppid()) - {os.getpid()}:
            os.kill(other, signal.SIGKILL)
        time.sleep(LONG)
    drawing(monkeypatch, [lambda fig: None, kill_the_idle], 2)
    assert rendered()[0] == cli.BAD_OUTPUT


def children_of(process: int) -> set[int]:
    with open(f"/proc/{process}/task/{process}/children", encoding="ascii") as file:
        return {int(word) for word in file.read().split()}


def test_one_that_makes_pictures(rendered, monkeypatch):
    from report.draw.formats import Formats
    monkeypatch.setattr(Formats, "save_png", killed)
    drawing(monkeypatch, [lambda fig: None] * 3)
    code, said = rendered()
    assert code == cli.BAD_OUTPUT and said.startswith("report: a process that draws figures has ended early") and said.count("\n") == 1


def test_one_that_reads_is_done_without(rendered, monkeypatch):
    monkeypatch.setattr(collect, "LARGE", 1)
    real, parent = collect.load, os.getpid()

    def load(file):
        if os.getpid() != parent:
            killed()
        return real(file)
    monkeypatch.setattr(collect, "load", load)
    monkeypatch.setattr(study_claims, "compilers", lambda study: ())  # which another process reads
    monkeypatch.setattr(document, "typeset", lambda names, folder: [folder / "report.pdf"])
    assert rendered() == (cli.OK, "")


def test_one_that_judges_claims(rendered, monkeypatch):
    monkeypatch.setattr(study_claims, "of_study", killed)
    assert rendered() == (cli.BAD_OUTPUT, "report: its process ended early, perhaps because memory ran out\n")


def test_one_that_typesets(rendered, monkeypatch):
    monkeypatch.setattr(document, "_typeset", killed)
    code, said = rendered()
    assert code == cli.BAD_OUTPUT and "typst: report: its process ended early" in said and said.count("\n") == 1


@pytest.mark.parametrize("error", (OSError(28, "No space left on device", "x.svg"), MemoryError(), ImportError("a library")))
def test_what_ends_one_that_draws_is_told(rendered, monkeypatch, error):
    def fail(fig):
        raise error
    drawing(monkeypatch, [fail, lambda fig: time.sleep(LONG)], 2)
    code, said = rendered()
    assert code == cli.BAD_OUTPUT and said.count("\n") == 1 and said.startswith("report: ")
