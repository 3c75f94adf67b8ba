"""Shared by the report's tests: paths, the checked-in synthetic results, ways to change them."""

import copy
import functools
import json
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FIXTURES = Path(__file__).resolve().parent / "fixtures" / "report"
CPU, GPU, CORES = FIXTURES / "cpu", FIXTURES / "gpu", FIXTURES / "cores"
SWEPT = {"climb_others", "hierarchy", "hierarchy_one", "scaling"}
"""Figures that need another CPU's results, bytes by level or a sweep over threads, as the set 'cores' has them."""
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

FOLDERS: list = []
"""Temporary folders that live as long as the tests."""


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
def rendered(live: Path = CPU) -> Path:
    """The report of a live CPU beside the recorded GPU, rendered once for all tests; removed at exit."""
    from report import cli
    folder = tempfile.TemporaryDirectory(prefix="rung-report-")
    FOLDERS.append(folder)
    assert cli.main([str(live), "--recorded", str(GPU), "--output", folder.name]) == cli.OK
    return Path(folder.name)
