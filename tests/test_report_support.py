"""Shared by the report's tests: paths, the checked-in synthetic results, ways to change them."""

import copy
import functools
import json
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FIXTURES = Path(__file__).resolve().parent / "fixtures" / "report"
CPU, GPU = FIXTURES / "cpu", FIXTURES / "gpu"
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))


def read(path: Path) -> dict:
    return json.loads(path.read_text(encoding="utf-8"))


def write(path: Path, data: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(data, ensure_ascii=False), encoding="utf-8")
    return path


def changed(path: Path, **context) -> dict:
    """The file's data with fields of its context replaced."""
    data = copy.deepcopy(read(path))
    data["context"].update(context)
    return data


@functools.cache
def rendered() -> Path:
    """The report of the live CPU beside the recorded GPU, rendered once for all tests; removed at exit."""
    from report import cli
    folder = tempfile.TemporaryDirectory(prefix="rung-report-")
    rendered.folder = folder
    assert cli.main([str(CPU), "--recorded", str(GPU), "--output", folder.name]) == cli.OK
    return Path(folder.name)
