"""Writes files completely or not at all. An existing file of that name is replaced, never written through.

A report's folder may come from others: a link in it may lead to any file, and a pipe may have no reader.
"""

from __future__ import annotations

import errno
import os
import secrets
from pathlib import Path


def write(path: Path, content: bytes | str) -> None:
    """Writes a temporary file and renames it, so that a link, a pipe or an older file of that name is replaced. OSError with
    the path if that fails or the path is a folder."""
    data = content.encode("utf-8", "replace") if isinstance(content, str) else content
    beside = path.with_name(f".{os.getpid()}-{secrets.token_hex(6)}.part")
    try:
        with open(beside, "xb") as file:
            file.write(data)
        os.replace(beside, path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        what = "a folder has its name" if error.errno == errno.EISDIR else error.strerror
        raise OSError(error.errno, what, str(path)) from None
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def folder(path: Path) -> Path:
    """Makes a folder, and keeps an existing one. A link, which may lead anywhere, is replaced. OSError for any other file."""
    if path.is_symlink():
        path.unlink()
    try:
        path.mkdir(parents=True, exist_ok=True)
    except FileExistsError as error:
        raise OSError(error.errno, "a file has its name", str(path)) from None
    return path


def remove(path: Path) -> None:
    """Removes any file; OSError with the path for a folder."""
    try:
        path.unlink(missing_ok=True)
    except IsADirectoryError as error:
        raise OSError(error.errno, "a folder has its name", str(path)) from None


def remove_parts(folder: Path, process: int) -> None:
    """Removes the temporary files of a process that was killed while it wrote."""
    for part in folder.glob(f".{process}-*.part"):
        part.unlink(missing_ok=True)
