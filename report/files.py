"""Writes files whole or not at all, in the place of what has their name and never through it.

A report's folder may come from others: a link there would lead to any file, a pipe has no reader.
"""

from __future__ import annotations

import errno
import os
import secrets
from pathlib import Path


def write(path: Path, content: bytes | str) -> None:
    """Writes beside and renames, so that a link, a pipe or an older file of that name is replaced. OSError, which names the
    path, where that fails or the path is a folder."""
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
    """Makes a folder in the place of a link, which may lead anywhere; one that is there is kept. OSError for any other file."""
    if path.is_symlink():
        path.unlink()
    try:
        path.mkdir(parents=True, exist_ok=True)
    except FileExistsError as error:
        raise OSError(error.errno, "a file has its name", str(path)) from None
    return path


def remove(path: Path) -> None:
    """Whatever it is but a folder, of which OSError names the path."""
    try:
        path.unlink(missing_ok=True)
    except IsADirectoryError as error:
        raise OSError(error.errno, "a folder has its name", str(path)) from None


def remove_parts(folder: Path, process: int) -> None:
    """What a process left that was killed while it wrote."""
    for part in folder.glob(f".{process}-*.part"):
        part.unlink(missing_ok=True)
