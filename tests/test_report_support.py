"""Shared by the report's tests: paths, the checked-in synthetic results, ways to change them."""

import copy
import json
import sys
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
