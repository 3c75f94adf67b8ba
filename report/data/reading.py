"""Reads JSON and TOML with arbitrary contents, packed by gzip or not. Every rejection is one line with the file, the
place and the reason. Control characters and characters that are not shown are replaced (report.plain)."""

from __future__ import annotations

import json
import re
import tomllib
import zlib
from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import TypeGuard

from report.faults import shortened
from report.plain import plain, plain_lines, plain_values

ENDINGS = (".json", ".json.gz")
PACKED = ".gz"
LARGEST_FILE = 1 << 28
"""Bytes, unpacked; about fifty times the largest recorded results."""
PIECE = 1 << 20
"""Bytes that are unpacked at once."""
LONGEST_NAME, LONGEST_TEXT = 300, 1000
"""Letters of a key, and of a text that is shown: longer ones are cut, since setting them takes minutes."""
DECLARATION = "experiment_toml"
"""The key of a text of many lines, which is parsed in its turn."""
WHOLE = (DECLARATION, "command_line")
NAMES = ("name", "run_name", "kernel", "experiment", *WHOLE)
"""Keys whose texts stay as they are, to be found again."""
NO_TYPE = re.compile("[^\u0000-\u052f\u1e00-\u22ff\u2500-\u25ff\ud800-\udfff\ufffd]+")
"""Letters that neither the document's type nor the figures' has: outside Latin, Greek, Cyrillic and mathematics."""
MOST_SPELT = 3
"""Texts that are not cut."""
LARGEST, SMALLEST = 1e30, 1e-30
"""Sizes of valid numbers. Products and quotients of some of them are still finite."""
DAY = re.compile(r"\d{4}-\d\d-\d\d")
"""How a date begins. Others that ISO 8601 allows (20260203) would be shown and compared wrongly."""
CHECKSUM = re.compile(rb'"checksum": "crc32 ([^"]*)"')


class InputError(Exception):
    """A results file that cannot be used; the text is one line."""

    def __init__(self, path: Path, where: str, what: str):
        super().__init__(path, where, what)
        self.path, self.what = path, f"{where}: {what}"

    def __str__(self) -> str:
        return f"{shortened(str(self.path))}: {self.what}"


class Foreign(InputError):
    """Well-formed JSON that is not one of ours."""


def read_json(path: Path) -> object:
    """The parsed file; InputError with line and column for anything that is not whole, valid JSON."""
    try:
        read = _bytes(path)
        _check_sum(path, read)
        return json.loads(read.decode("utf-8"), object_pairs_hook=lambda pairs: _table(path, pairs))
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


def read_toml(path: Path) -> dict:
    """The parsed file; InputError with line and column for anything that is not whole, valid TOML."""
    try:
        return plain_values(tomllib.loads(_bytes(path).decode("utf-8")))
    except OSError as error:
        raise InputError(path, "file", error.strerror or "cannot be read") from None
    except UnicodeDecodeError as error:
        raise InputError(path, f"byte {error.start}", "not UTF-8 text") from None
    except RecursionError:
        raise InputError(path, "file", "nested too deeply") from None
    except ValueError as error:  # a number of thousands of digits, too
        raise InputError(path, "syntax", str(error)) from None


def files_in(folder: Path) -> list[Path]:
    """Every file below a folder that may have results, by name. Of one that is there packed and unpacked, the latter."""
    found = {path for ending in ENDINGS for path in folder.rglob(f"*{ending}")}
    return sorted(path for path in found if path.suffix != PACKED or path.with_suffix("") not in found)


def plain_name(path: Path | str) -> str:
    """'ceilings' of 'recorded/ceilings.json.gz'."""
    name = Path(path).name.removesuffix(PACKED)
    return name.removesuffix(".json")


def _bytes(path: Path) -> bytes:
    """The unpacked bytes of a regular file; others are refused, since pipes and devices may never end."""
    if path.exists() and not path.is_file():
        raise InputError(path, "file", "not a regular file")
    if path.stat().st_size > LARGEST_FILE:
        raise InputError(path, "file", f"more than {LARGEST_FILE >> 20} MiB: too large for results")
    return _unpacked(path) if path.suffix == PACKED else path.read_bytes()


def _unpacked(path: Path) -> bytes:
    """Unpacks in pieces, since a small file may unpack to any size, and checks gzip's own length and checksum."""
    unpack, made = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS), bytearray()
    try:
        with path.open("rb") as file:
            left = file.read(PIECE)
            while left and not unpack.eof:
                made += unpack.decompress(left, PIECE)
                if len(made) > LARGEST_FILE:
                    raise InputError(path, "file", f"more than {LARGEST_FILE >> 20} MiB when unpacked: too large for results")
                left = unpack.unconsumed_tail or file.read(PIECE)
            if not unpack.eof or unpack.unused_data or file.read(1):
                what = "followed by something else" if unpack.eof else "truncated"
                raise InputError(path, "file", f"packed by gzip, but {what}")
    except zlib.error as error:
        raise InputError(path, "file", f"not packed by gzip, or damaged ({error})") from None
    return bytes(made)


def _check_sum(path: Path, read: bytes) -> None:
    """Checks the checksum, if there is one: the CRC-32 of the file with zeros in place of the checksum."""
    found = CHECKSUM.search(read)
    if found and f"{zlib.crc32(read[:found.start(1)] + b'0' * 8 + read[found.end(1):]):08x}".encode() != found[1]:
        raise InputError(path, "context.checksum", "does not fit: damaged or edited since it was written; copy it again, "
                         "or delete this key to have it read as it is")


def _table(path: Path, pairs: list[tuple[str, object]]) -> dict:
    """A table of the file: each key once, no text too long to be set."""
    made = dict(pairs)
    if len(made) < len(pairs):
        twice = Counter(key for key, _ in pairs).most_common(1)[0][0]
        raise InputError(path, f"key {twice[:40]!r}", "twice in one table")
    for key, value in pairs:
        if len(key) > LONGEST_NAME:
            raise InputError(path, f"key {key[:40]!r}…", f"{len(key)} letters; at most {LONGEST_NAME}")
        if type(value) is str:
            made[key] = _shown(key, value)
        elif type(value) is list:
            _clean(value)
    return made if all(map(str.isprintable, made)) else _table(path, [(plain(key), value) for key, value in made.items()])


def _clean(values: list) -> None:
    """The texts of a list, and of lists in it, however deep; its tables are clean by then."""
    waiting = [values]
    for one in waiting:
        for i, value in enumerate(one):
            if type(value) is str:
                one[i] = plain(value)
            elif type(value) is list:
                waiting.append(value)


def _shown(key: str, value: str) -> str:
    """A text that can be shown: cut where it is too long to be set, letters without a type spelt."""
    if not value.isprintable():
        value = plain_lines(value) if key == DECLARATION else plain(value)
    if len(value) > LONGEST_TEXT and key not in WHOLE:
        value = f"{value[:LONGEST_TEXT]}…"
    return value if value.isascii() or key in NAMES else NO_TYPE.sub(_spelt, value)


def _spelt(letters: re.Match) -> str:
    """Letters that the type lacks, by their numbers, 'U+77E9 U+9635', so that they are not shown as boxes; the first of
    many."""
    codes = [f"U+{ord(letter):04X}" for letter in letters[0]]
    return " ".join(codes[:MOST_SPELT] + ["…"] * (len(codes) > MOST_SPELT))


def is_number(value: object) -> TypeGuard[float]:
    """Zero, or a number of a size that a measurement can have."""
    return (type(value) is float or type(value) is int) and (value == 0 or SMALLEST <= abs(value) <= LARGEST)


def text(path: Path, table: dict, key: str, where: str) -> str:
    value = table.get(key)
    if not isinstance(value, str) or not value:
        raise InputError(path, f"{where}.{key}", "missing or not a text")
    return value


def date(path: Path, table: dict, where: str) -> str:
    value = text(path, table, "date", where)
    try:
        if not DAY.match(value):
            raise ValueError
        datetime.fromisoformat(value)
    except ValueError:
        raise InputError(path, f"{where}.date", f"not a date as 2026-02-03T09:30:00+00:00: {value[:40]!r}") from None
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
