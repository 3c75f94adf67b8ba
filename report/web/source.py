"""Where a kernel is declared in the source, by the name in its record."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("cpu", "gpu")
ENDINGS = (".cu", ".cpp", ".hpp", ".cuh")
NAME = re.compile(r'"((?:cpu|gpu)/\w+/\w+)"')


@cache
def places() -> dict[str, str]:
    """'gpu/matmul/tiled.cu:33' for each kernel's name; the record that declares it rather than another mention."""
    found: dict[str, tuple[bool, str]] = {}
    for path in _files():
        text = path.read_text(encoding="utf-8", errors="replace")
        for match in NAME.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            is_record = text[:match.start()].rstrip().endswith((".name =", "("))
            place = f"{path.relative_to(ROOT).as_posix()}:{line}"
            if match[1] not in found or is_record and not found[match[1]][0]:
                found[match[1]] = is_record, place
    return {name: place for name, (_, place) in found.items()}


def _files() -> Iterator[Path]:
    return (path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*")) if path.suffix in ENDINGS and path.is_file())
