"""Mutations of results folders: of bits, text, JSON and files."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

WORDS = ("", " ", "\n", "\0", "\x1b[31mred\x1b[0m", "\x07", "\u202etfel", "\ud800", "\udfff", "\U0001f600", "é" * 40, "NaN", "-",
         "../../x", "../../../../x", "/", "{outside}/x", "..", ".", "a/b/c", "x" * 301, "y" * 5000, "a b " * 30_000, "=1+1", "@x",
         "#panic()", "#read(\"/etc/passwd\")", "$x^2$", "*b*", "<script>alert(1)</script>", "\\", "\"", "'", "`", "//", "[", "]",
         "{}", "{0}", "%s", "%n", "cpu/matmul/naive", "gpu/matmul/top", "gpu/x/y", "hot", "cold", "count", "2026-02-30", "0",
         "9999-12-31T23:59:59+00:00", "0001-01-01", "20261122T0831", "2026-02-03T09:30:00", "fp32", "true", "null", "n", "threads")
NUMBERS = (0, -1, 1, 2, 3, 0.5, 1e-300, 5e-324, 1e300, 1e308, 10**400, -10**400, float("nan"), float("inf"), -float("inf"),
           -0.0, 2**31, 2**53, 2**63, 1e30, -1e30, 1e-30, 1e16, 100, 1e9)
OTHERS = (None, True, False, [], {}, [0], [[]], [None], {"": 0}, {"x": {}}, ["x", "y"], [1, 2], {"n": 1}, {"a": "b"})
NEST = "@nest@"
"""Replaced by many brackets in the written file."""
DEPTHS = (5, 500, 950, 100_000)
"""Numbers of brackets: some that Python's JSON parser accepts, but later code may not, and more."""
LONGEST_LIST = 40


def odd(choose: Random) -> object:
    """A value that no run writes there."""
    kind = choose.random()
    return choose.choice(WORDS if kind < 0.4 else NUMBERS if kind < 0.8 else OTHERS) if kind < 0.98 else NEST


def places(data: object) -> Iterator[tuple]:
    """Every table or list in `data` with each of its keys."""
    waiting = [data]
    while waiting:
        one = waiting.pop()
        for key in (one if isinstance(one, dict) else range(len(one)) if isinstance(one, list) else ()):
            yield one, key
            waiting.append(one[key])


def place(data: object, choose: Random) -> tuple:
    """A random place. Each top-level part is chosen equally often, so that the small context is mutated as well."""
    parts = [data[key] for key in data] if isinstance(data, dict) else []
    found = list(places(choose.choice(parts) if parts and choose.random() < 0.7 else data)) or list(places(data))
    return choose.choice(found) if found else (None, None)


def replace_value(data: object, choose: Random) -> None:
    table, key = place(data, choose)
    table[key] = odd(choose)


def remove(data: object, choose: Random) -> None:
    table, key = place(data, choose)
    del table[key]


def rename(data: object, choose: Random) -> None:
    table, key = place(data, choose)
    if isinstance(table, dict):
        table[str(odd(choose))] = table.pop(key)


def exchange(data: object, choose: Random) -> None:
    """Two values are exchanged; if one contains the other, it occurs twice."""
    (one, a), (two, b) = place(data, choose), place(data, choose)
    value = two[b]
    two[b] = one[a] if not isinstance(one[a], (dict, list)) else json.loads(json.dumps(one[a]))
    one[a] = value if not isinstance(value, (dict, list)) else json.loads(json.dumps(value))


def of_every_sample(data: object, choose: Random) -> None:
    """One key of all entries: removed, replaced, or, of numbers, multiplied."""
    entries = [e for e in data.get("benchmarks", ()) if isinstance(e, dict)] if isinstance(data, dict) else []
    keys = sorted({key for e in entries for key in e})
    if not keys:
        return
    key, value, how = choose.choice(keys), odd(choose), choose.random()
    factor = choose.choice((0, -1, 1e-20, 1e20, 1e300, float("nan"), 1 + 1e-12))
    for e in entries:
        if how < 0.3:
            e.pop(key, None)
        elif how < 0.6 and isinstance(e.get(key), (int, float)):
            e[key] = e[key] * factor
        elif isinstance(e.get(key), dict) and choose.random() < 0.7:
            e[key] = dict.fromkeys(e[key], value)
        else:
            e[key] = value


def another_name(data: object, choose: Random) -> None:
    """A word is replaced everywhere, as key and value, so that references stay valid."""
    words = sorted({w for table, key in places(data) for w in (key, table[key]) if isinstance(w, str)})
    old, new = choose.choice(words or [""]), str(odd(choose))
    for table, key in list(places(data)):
        if isinstance(table, dict) and key not in table:
            continue  # two keys became one
        if table[key] == old:
            table[key] = new
        if key == old:
            table[new] = table.pop(key)


def reorder(data: object, choose: Random) -> None:
    """A list is emptied, doubled, cut, or reversed."""
    lists = [table[key] for table, key in places(data) if isinstance(table[key], list)]
    if lists:
        one = choose.choice(lists)
        one[:] = choose.choice(([], one + one, one[:len(one) // 2], one[::-1], one[:1] * 3))[:4 * LONGEST_LIST]


def of_the_declaration(data: object, choose: Random) -> None:
    """Replaces a value of the experiment's TOML, a text in the results; nearly all JSON values are valid in TOML."""
    context = data.get("context") if isinstance(data, dict) else None
    text = context.get("experiment_toml") if isinstance(context, dict) else None
    if not isinstance(text, str):
        return
    depth = choose.choice(DEPTHS)
    value = json.dumps(odd(choose)) if choose.random() < 0.9 else "[" * depth + "]" * depth
    places = list(re.finditer(r"(?m)^\w+ = (.*)$", text))
    if not places:
        context["experiment_toml"] = f"[report]\n{choose.choice(('joins', 'kind', 'family', 'chapter'))} = {value}\n"
        return
    one = choose.choice(places)
    context["experiment_toml"] = text[:one.start(1)] + value + text[one.end(1):]


EDITS = (replace_value, replace_value, remove, rename, exchange, of_every_sample, of_every_sample, another_name, another_name, reorder,
         of_the_declaration)


def as_json(text: bytes, choose: Random) -> bytes:
    """A few edits of the text's content. The checksum is removed, since otherwise only its error would be seen."""
    data = json.loads(text)
    if isinstance(data, dict) and isinstance(data.get("context"), dict):
        data["context"].pop("checksum", None)
    for _ in range(choose.choice((1, 1, 1, 2, 3, 5))):
        if next(places(data), None):
            choose.choice(EDITS)(data, choose)
    made = json.dumps(data).encode()
    deep = choose.choice(DEPTHS)
    made = made.replace(f'"{NEST}"'.encode(), b"[" * deep + b"]" * deep)
    return twice(made, choose) if choose.random() < 0.05 else made


def twice(text: bytes, choose: Random) -> bytes:
    """A key that occurs twice in one table."""
    keys = list(re.finditer(rb'"[^"\\]*": ', text))
    if not keys:
        return text
    one = choose.choice(keys)
    return text[:one.start()] + one[0] + b"0, " + text[one.start():]


def flip(text: bytes, choose: Random) -> bytes:
    made = bytearray(text)
    for _ in range(choose.choice((1, 1, 2, 8))):
        if made:
            made[choose.randrange(len(made))] ^= 1 << choose.randrange(8)
    return bytes(made)


def cut(text: bytes, choose: Random) -> bytes:
    return text[:choose.randrange(len(text) + 1)]


def change_digit(text: bytes, choose: Random) -> bytes:
    """Changes a digit or a word of a value; the text stays JSON or TOML."""
    found = [m.start() for m in re.finditer(rb"[0-9]", text)]
    if not found:
        return text
    at = choose.choice(found)
    return text[:at] + choose.choice((b"0", b"9", b"-1", b"1e9", b"1e400", b"", b"nan", b'"x"')) + text[at + 1:]


def splice(text: bytes, choose: Random) -> bytes:
    """A part is left out, doubled, or replaced by an odd word."""
    a = choose.randrange(len(text) + 1)
    b = min(len(text), a + choose.choice((1, 3, 20, 400)))
    middle = choose.choice((b"", 2 * text[a:b], str(odd(choose)).encode("utf-8", "surrogatepass"), b"\xff\xfe", b"\0"))
    return text[:a] + middle + text[b:]


BYTES = (flip, cut, change_digit, splice)


def in_place_of(path: Path, choose: Random) -> None:
    """Something that is no file with results, under the name of one."""
    text = path.read_bytes()
    path.unlink()
    (path.parent.parent / "beside.json").write_bytes(text)
    choose.choice((
        lambda: path.mkdir(), lambda: os.mkfifo(path), lambda: path.symlink_to(path.name), lambda: path.symlink_to("/dev/zero"),
        lambda: path.symlink_to("nowhere"), lambda: path.symlink_to(".."), lambda: path.symlink_to("../beside.json"),
        lambda: path.write_bytes(b""), lambda: os.truncate(os.open(path, os.O_CREAT | os.O_WRONLY), 1 << 29), lambda: None))()


NAMES = (b"\xff.json", b"-x.json", b"a\nb.json", b"\x1b[31m.json", b" .json", b"..json", b"#x$*_.json", b"\xe2\x80\xae.json",
         b"x" * 240 + b".json", b"deep/er/x.json", b"dir.json/x.json", b"report.json", b"%s.json")


def another_file_name(path: Path, choose: Random) -> None:
    """The file is moved, or copied, to a name that is hard to show."""
    new = os.fsencode(path.parent) + b"/" + choose.choice(NAMES)
    os.makedirs(os.path.dirname(new), exist_ok=True)
    text = path.read_bytes()
    if choose.random() < 0.5:
        path.unlink()
    with open(new, "wb") as file:
        file.write(text)


FILES: tuple[Callable[[Path, Random], None], ...] = (in_place_of, in_place_of, another_file_name)


def mutate(folder: Path, choose: Random) -> str:
    """Mutates the files in `folder`; returns the kinds of mutations."""
    files = sorted(p for p in folder.iterdir() if p.is_file())
    said = []
    for path in choose.sample(files, min(len(files), choose.choice((1, 1, 1, 2, 3)))):
        kind = choose.random()
        if kind < 0.72 and path.suffix == ".json":
            path.write_bytes(as_json(path.read_bytes(), choose).replace(b"{outside}", os.fsencode(folder.parent)))
            said.append("JSON")
        elif kind < 0.93:
            for _ in range(choose.choice((1, 1, 2, 4))):
                path.write_bytes(choose.choice(BYTES)(path.read_bytes(), choose))
            said.append("bytes")
        else:
            choose.choice(FILES)(path, choose)
            said.append("files")
    return "+".join(sorted(set(said)))
