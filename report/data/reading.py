"""Reading JSON that may be anything: every rejection is one line that says which file, where and what."""

from __future__ import annotations

import json
import math
from datetime import datetime
from pathlib import Path


class InputError(Exception):
    """A results file that cannot be used; the text is one line."""

    def __init__(self, path: Path, where: str, what: str):
        super().__init__(f"{path}: {where}: {what}")
        self.path, self.what = path, f"{where}: {what}"


class Foreign(InputError):
    """Well-formed JSON that is not one of ours."""


def read_json(path: Path) -> object:
    """The parsed file; InputError with line and column for anything that is not whole, valid JSON."""
    try:
        return json.loads(path.read_bytes().decode("utf-8"))
    except OSError as error:
        raise InputError(path, "file", error.strerror or "cannot be read") from None
    except UnicodeDecodeError as error:
        raise InputError(path, f"byte {error.start}", "not UTF-8 text") from None
    except json.JSONDecodeError as error:
        raise InputError(path, f"line {error.lineno} column {error.colno}",
                         f"truncated or not JSON ({error.msg})") from None
    except RecursionError:
        raise InputError(path, "file", "nested too deeply") from None
    except ValueError as error:
        raise InputError(path, "file", f"not usable JSON ({error})") from None


def is_number(value: object) -> bool:
    """A finite number that fits a double."""
    kind = type(value)
    try:
        return (kind is float or kind is int) and math.isfinite(value)
    except OverflowError:
        return False


def text(path: Path, table: dict, key: str, where: str) -> str:
    value = table.get(key)
    if not isinstance(value, str) or not value:
        raise InputError(path, f"{where}.{key}", "missing or not a text")
    return value


def date(path: Path, table: dict, where: str) -> str:
    value = text(path, table, "date", where)
    try:
        datetime.fromisoformat(value)
    except ValueError:
        raise InputError(path, f"{where}.date", f"not an ISO date: {value[:40]!r}") from None
    return value


def table(path: Path, value: object, where: str) -> dict:
    if not isinstance(value, dict):
        raise InputError(path, where, "missing or not a table")
    return value


def whole(path: Path, values: dict, key: str, where: str) -> int:
    """A whole number of at least 1."""
    value = values.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise InputError(path, f"{where}.{key}", "not a positive whole number")
    return value
