"""experiments/claims.toml as records; every mistake in it is reported with its line and key."""

from __future__ import annotations

import re
import reprlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from math import prod
from pathlib import Path

from report.claims.expression import KERNEL_CALLS, MODEL_CALLS, Call, SyntaxFault, Tree, calls, nearest, parse, words
from report.claims.model import devices, kernels
from report.claims.said_of import key as as_key
from report.claims.said_of import misspelt, named, terms
from report.data.declaration import FOLDER
from report.data.reading import InputError, is_number, read_toml
from report.text import sources

FILE, DOCUMENTS = FOLDER / "claims.toml", FOLDER / "documents.toml"
KINDS = ("modelled", "counted", "compiled", "measured")
RULES = ("equals", "at_least", "at_most", "true")
OTHERWISE = ("does not hold here", "erratum")
TEXTS = ("source", "where", "text", "unit", "said_of", "rule", "decides", "experiment", "note", "here", "otherwise", "judge", "untested", *KINDS)
NUMBERS = ("stated", "threshold", "tolerance")
KEYS = (*TEXTS, *NUMBERS, "cases")
NEEDED = ("source", "text", "experiment")
MOST_CASES = 1000
LONGEST = 300
"""Characters of an error message, which may quote a value of any length."""
WORDS = {r"\bsubstantially\b": ("at_least", 1.2), r"\bimproves?\b|\beasier\b": ("at_least", 1.1), r"\bmuch (?:quicker|higher|better)\b": ("at_least", 2),
         r"\bare much smaller\b": ("at_most", 0.5), r"\bnot help much\b": ("at_most", 2), r"\bclose to\b|\bapproaches\b": ("at_least", 0.8),
         r"\bfar (?:from|below)\b": ("at_most", 0.8)}
"""Rule and threshold of a claim whose text has such words instead of a number. The first match counts."""
NOT_AT_HAND = "text not at hand"
OPEN = ("all", "largest")
"""Values of a case: those that were measured."""


Cases = dict[str, list[float | str] | str] | list[dict[str, float | str]]
"""A table of lists, taken in all combinations, or a list of tables; "all" or "largest" may replace a list."""


@dataclass(frozen=True)
class Entry:
    """One claim. `trees`: the parsed expressions by kind."""

    id: str
    source: str
    text: str
    experiment: str
    where: str = ""
    stated: float | None = None
    """The number that the document states."""
    threshold: float | None = None
    """A limit of ours, for a claim whose source gives no number to check by. It decides, where there is one."""
    unit: str = ""
    said_of: str = ""
    """The device, generation, year or version that the claim is about; empty: any machine of its side."""
    rule: str = "true"
    decides: str = ""
    """The only one of KINDS that decides; the others are shown. Empty: all of them have to agree."""
    tolerance: float = 0.0
    cases: Cases | None = None
    judge: str = ""
    untested: str = ""
    otherwise: str = OTHERWISE[0]
    note: str = ""
    here: str = ""
    """A further note, where something was measured."""
    modelled: str = ""
    counted: str = ""
    compiled: str = ""
    measured: str = ""
    trees: Mapping[str, Tree] = field(default_factory=dict)

    @property
    def is_at_hand(self) -> bool:
        """Whether its sentence was compared with the document."""
        parts = _documents().get(self.source, {}).get("at_hand", ())
        return parts == "all" or any(self.where.startswith(part) for part in parts)

    @property
    def place(self) -> str:
        """The place in the document where it is stated, and whether that was available."""
        return self.where if self.is_at_hand else f"{self.where}{'; ' if self.where else ''}{NOT_AT_HAND}"

    @property
    def limit(self) -> float | None:
        """The number that decides."""
        return self.stated if self.threshold is None else self.threshold

    @property
    def accepted(self) -> tuple[float | None, float | None]:
        """The interval of accepted numbers; None for an open end."""
        if self.limit is None:
            return None, None
        slack = self.tolerance * abs(self.limit)
        return (None if self.rule == "at_most" else self.limit - slack, None if self.rule == "at_least" else self.limit + slack)

    @property
    def deciding(self) -> tuple[str, ...]:
        """The kinds that decide."""
        return (self.decides,) if self.decides else tuple(kind for kind in KINDS if kind in self.trees)

    def calls(self, kind: str) -> list[Call]:
        return list(calls(self.trees[kind])) if kind in self.trees else []


def load(path: Path = FILE) -> dict[str, Entry]:
    """All claims by id, in the file's order; InputError for the first mistake. No file: no claims."""
    if not path.is_file():
        return {}
    table, text = read_toml(path), path.read_text(encoding="utf-8")
    return {id_: _entry(_Place(path, text, id_), record) for id_, record in table.items()}


def questions(entries: Iterable[Entry]) -> tuple[list[Call], list[tuple[str, str]]]:
    """The calls of the model, and the kernels with the keys that take values of cases."""
    every = [call for entry in entries for kind in KINDS for call in entry.calls(kind)]
    return ([c for c in every if c.name in MODEL_CALLS],
            [(c.subject, k) for c in every if c.name in KERNEL_CALLS for k, v in c.keys if isinstance(v, str)])


@dataclass(frozen=True)
class _Place:
    """The place of an entry in the file, for its error messages."""

    path: Path
    text: str
    id: str

    def fault(self, key: str, what: str) -> InputError:
        line = line_of(self.text, self.id, key)
        return InputError(self.path, f"line {line}, [{self.id[:LONGEST]}]{f' {key[:LONGEST]}' if key else ''}", what[:LONGEST])


def line_of(text: str, id_: str, key: str = "") -> int:
    """The line of an entry's key, from 1; the line of the entry's head if it does not have the key."""
    lines, found = text.splitlines(), 1
    for number, line in enumerate(lines, 1):
        if re.match(rf'\s*\[+\s*"?{re.escape(id_)}"?\s*\]', line):
            found = number
            for further, inner in enumerate(lines[number:], number + 1):
                if inner.lstrip().startswith("["):
                    break
                if key and re.match(rf'\s*"?{re.escape(key)}"?\s*[.=]', inner):
                    return further
            break
    return found


def _entry(place: _Place, record: object) -> Entry:
    if not isinstance(record, dict):
        raise place.fault("", "not a table: a claim begins with [id]")
    _check_keys(place, record)
    values: dict = {k: float(v) if k in NUMBERS else v for k, v in record.items()}
    values.setdefault("rule", "equals" if "stated" in record and "threshold" not in record else "true")
    _check_words(place, values)
    trees = {kind: _parsed(place, kind, values[kind]) for kind in KINDS if kind in values}
    made = Entry(id=place.id, **values, trees=trees)
    _check_cases(place, made)
    if not trees and not made.judge and not made.untested:
        raise place.fault("", f"nothing checks it: give {', '.join(KINDS)} or judge, or say in untested why not")
    return made


def _check_keys(place: _Place, record: dict) -> None:
    for key, value in record.items():
        if key not in KEYS:
            raise place.fault(key, f"there is no such key{nearest(key, KEYS)}")
        if key in TEXTS and not isinstance(value, str):
            raise place.fault(key, f"{reprlib.repr(value)} is not a text")
        if key in NUMBERS and not is_number(value):
            raise place.fault(key, f"{reprlib.repr(value)} is not a number")
    if record.get("tolerance", 0) < 0:
        raise place.fault("tolerance", "negative")
    for key in NEEDED:
        if not record.get(key):
            raise place.fault("", f"'{key}' is missing")


def _check_words(place: _Place, values: dict) -> None:
    """Names that have to be known."""
    known = {"source": sources.documents(), "rule": RULES, "otherwise": OTHERWISE, "experiment": _experiments()}
    for key, names in known.items():
        if key in values and values[key] not in names:
            raise place.fault(key, f"'{values[key][:LONGEST // 3]}' is unknown{nearest(values[key], names)}")
    if values["rule"] != "true" and not {"stated", "threshold"} & values.keys():
        raise place.fault("rule", f"'{values['rule']}' needs a number in 'stated' or 'threshold'")
    if values["rule"] == "true" and "threshold" in values:
        raise place.fault("threshold", f"it needs a rule: {', '.join(RULES[:-1])}")
    found, needed = next(((m.group(), needed) for word, needed in WORDS.items() if (m := re.search(word, values["text"]))), ("", None))
    if "threshold" in values and needed and (values["rule"], values["threshold"]) != needed:
        raise place.fault("threshold", f"for '{found}' it is {needed[0]} {needed[1]:g} in all claims")
    if "decides" in values and values["decides"] not in [kind for kind in KINDS if kind in values]:
        raise place.fault("decides", f"'{values['decides']}' is none of the claim's own expressions")
    if hint := misspelt(values.get("said_of", ""), devices()):
        raise place.fault("said_of", f"'{values['said_of']}' is unknown{hint}")
    _check_devices(place, values)
    if "judge" in values and not re.fullmatch(r"\w+\.\w+", values["judge"]):
        raise place.fault("judge", "not EXPERIMENT.FUNCTION")


def _check_devices(place: _Place, values: dict) -> None:
    """A claim may only name devices and versions that its document names, and may only be about those that
    documents.toml lists."""
    if (document := _documents().get(values["source"])) is None:
        return
    names, unnamed = ([as_key(name) for name in document.get(which, ())] for which in ("names", "unnamed"))
    for where, found, allowed in (("text", named(values["text"], devices()), names), ("said_of", terms(values.get("said_of", "")), [*names, *unnamed])):
        if foreign := [name for name in found if name and as_key(name) not in allowed]:
            raise place.fault(where, f"{DOCUMENTS.name} has no '{foreign[0]}' for {values['source']}")
    is_rate = re.search(r"\b(?:rate|time)\(", values.get("measured", ""))
    if (own := document.get("measured_on")) and is_rate and "stated" in values and not values.get("said_of"):
        raise place.fault("stated", f"{values['source']} measured it: give said_of, of {' or '.join(own)}")


def unnamed(source: str) -> str:
    """A sentence on the devices whose limits a document states without naming them, with the reason; empty for other
    documents."""
    document = _documents().get(source, {})
    return "" if "unnamed" not in document else (
        f"Limits of its time that name no device are said of {' or '.join(document['unnamed'])}: {document['why']}.")


@cache
def _documents() -> dict[str, dict]:
    """The names in each document, by its key; empty where the file is missing."""
    return read_toml(DOCUMENTS) if DOCUMENTS.is_file() else {}


@cache
def _experiments() -> frozenset[str]:
    return frozenset(p.stem for p in FOLDER.glob("*.toml"))


@cache
def _snippets() -> frozenset[str]:
    return frozenset(p.stem for p in (FOLDER / "snippets").glob("*.c*"))


def _parsed(place: _Place, kind: str, text: str) -> Tree:
    try:
        tree = parse(text)
    except SyntaxFault as error:
        raise place.fault(kind, str(error)) from None
    for call in calls(tree):
        if call.name in KERNEL_CALLS and kernels() and call.subject not in kernels():
            raise place.fault(kind, f"column {call.column}: there is no kernel {call.subject}{nearest(call.subject, kernels())}")
        if call.name == "compiles" and call.subject not in _snippets():
            raise place.fault(kind, f"column {call.column}: there is no snippet {call.subject}{nearest(call.subject, _snippets())}")
    return tree


def _check_cases(place: _Place, made: Entry) -> None:
    tables = made.cases if isinstance(made.cases, list) else [made.cases] if made.cases is not None else []
    if not all(isinstance(t, dict) for t in tables):
        raise place.fault("cases", "neither a table of lists nor a list of tables")
    number = len(made.cases) if isinstance(made.cases, list) else prod(len(v) for t in tables for v in t.values() if isinstance(v, list))
    if number > MOST_CASES:
        raise place.fault("cases", f"{number} cases; at most {MOST_CASES}")
    for name, value in (item for t in tables for item in t.items()):
        is_open = isinstance(made.cases, dict) and value in OPEN
        values = value if isinstance(made.cases, dict) else [value]
        if not is_open and not (isinstance(values, list) and values and all(isinstance(v, str) or is_number(v) for v in values)):
            raise place.fault("cases", f"{name}: neither numbers or texts nor, in a table of lists, 'all' or 'largest'")
    for kind, tree in made.trees.items():
        if unknown := sorted(words(tree) - {name for t in tables for name in t}):
            raise place.fault(kind, f"'{unknown[0]}' is neither a call nor a name of cases")
