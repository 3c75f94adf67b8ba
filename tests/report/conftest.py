"""Fixtures of the report's tests: what saves time by drawing less, and one whole report for all to look at."""

import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(Path(__file__).resolve().parent)]
RECORDED = ROOT / "experiments" / "recorded"


def recorded(machine: str, name: str) -> Path:
    """The file of an experiment, packed or not; the plain name where there is neither."""
    plain_ = RECORDED / machine / f"{name}.json"
    packed = plain_.with_name(f"{plain_.name}.gz")
    return packed if packed.exists() else plain_


def printed(folder: Path) -> dict:
    """All documents of a report as one: the paper's first page, and every block of each part."""
    documents = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    parts = {part: [block for one in documents.values() for block in one[part]] for part in ("first", "main", "method", "appendix")}
    return {"page": documents["report"]["page"], "documents": documents} | parts


@pytest.fixture(scope="session", autouse=True)
def recorded_loaded_once():
    """The recorded results are large and never change: each file is read once for all tests."""
    from report.data import collect
    real, known = collect.load, {}

    def load(path):
        if RECORDED not in path.parents:
            return real(path)
        if path not in known:
            try:
                known[path] = real(path), None
            except collect.InputError as error:
                known[path] = None, error
        record, error = known[path]
        if error:
            raise error
        return record
    large = collect.LARGE
    collect.load, collect.LARGE = load, float("inf")  # other processes would load them again for each test
    yield
    collect.load, collect.LARGE = real, large


@pytest.fixture
def plain(monkeypatch):
    """No figures: for what the text says."""
    from report import output
    real = output.find_spec
    monkeypatch.setattr(output, "find_spec", lambda name: None if name == "matplotlib" else real(name))


@pytest.fixture
def quick(monkeypatch):
    """Figures are drawn, but blank ones of their size are saved, as PDF alone: saving takes most of the time."""
    from report.draw import formats

    def save(self, fig, name):
        fig.canvas.draw_idle()
        blank = type(fig)(figsize=fig.get_size_inches())
        blank.savefig(self.folder / f"{name}.pdf", metadata=formats.PLAIN["pdf"])
    monkeypatch.setattr(formats.Formats, "save", save)
    monkeypatch.setattr(formats.Formats, "save_png", lambda *_: None)


@pytest.fixture(scope="session")
def whole(tmp_path_factory):
    """The report of all recorded results, rendered once."""
    from report import cli
    folder = tmp_path_factory.mktemp("whole")
    machine = max((p for p in RECORDED.iterdir() if p.is_dir()), key=lambda p: len(list(p.glob("*.json*"))))
    assert cli.main([str(machine), "--recorded", str(RECORDED), "--output", str(folder)]) == cli.OK
    return folder
