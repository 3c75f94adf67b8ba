"""The expressions of experiments/claims.toml. They have a parser of their own and are never run as code.

    rate(gpu/matmul/tiled, n=4096, tile=16) / rate(gpu/matmul/naive, n=4096) >= 2 and not fault(missing_barrier)

A call's first argument names its subject: a kernel, a device, a fault, a key. Numbers, words and "quoted texts" are the
values of the further ones. A word that is a name of the claim's `cases` is replaced by the value of the case.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from dataclasses import field as field_of
from difflib import get_close_matches

from report.data.reading import is_number
from report.plain import plain

LONGEST, DEEPEST, MOST_TERMS, LONGEST_NAME = 1000, 40, 100, 200
KERNEL_CALLS = {"rate", "time", "run", "count", "counters"}
MODEL_KEYS = {"bound": ("ratio",), "occupancy": ("threads", "registers", "shared"), "device": ()}
"""The calculators, each with the keys that a claim may use. Other options, such as --plot, are not allowed in claims."""
MODEL_CALLS = MODEL_KEYS.keys()
ASKED = re.compile(r"\w[\w.+/()-]*( [\w(][\w.+/()-]*)*", re.ASCII)
"""A device or a value that becomes part of a command line: no quotes, no line breaks, no option."""
SUBJECT_CALLS = KERNEL_CALLS | MODEL_CALLS | {"supports", "fault", "wrong_elements", "launched", "context", "compiles"}
NEED_FIELD = {"run", "count", "counters", "launched", "supports"} | MODEL_CALLS
FUNCTIONS = {"floor": 1, "ceil": 1, "min": None, "max": None}
"""How many arguments they take; None is any number from one on."""
TOKEN = re.compile(r"""\s*(?:(?P<kernel>[cg]pu(?:/\w+)+)|(?P<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)(?!\w)|(?P<word>\w+)
                       |"(?P<text>[^"]*)"|(?P<sign><=|>=|==|[<>+\-*/(),=.]))""", re.VERBOSE)


class SyntaxFault(Exception):
    """The message of a mistake with its column, from 1."""

    def __init__(self, column: int, what: str):
        super().__init__(f"column {column}: {what}")


@dataclass(frozen=True)
class Number:
    value: float


@dataclass(frozen=True)
class Word:
    """The value of a case."""

    name: str


@dataclass(frozen=True)
class Unary:
    sign: str
    of: Tree


@dataclass(frozen=True)
class Binary:
    sign: str
    left: Tree
    right: Tree


@dataclass(frozen=True)
class Function:
    name: str
    arguments: tuple[Tree, ...]


@dataclass(frozen=True)
class Call:
    """rate(SUBJECT, key=value…).field; a value is a number or a text."""

    name: str
    subject: str
    keys: tuple[tuple[str, float | str], ...] = ()
    field: str = ""
    column: int = field_of(default=1, compare=False)

    def __str__(self) -> str:
        return ", ".join([self.subject, *(f"{k}={v:.15g}" if isinstance(v, float) else f"{k}={v}" for k, v in self.keys)])


Tree = Number | Word | Unary | Binary | Function | Call
"""A parsed expression."""


def parse(text: str) -> Tree:
    """The tree of an expression; SyntaxFault with the column of a mistake."""
    if len(text) > LONGEST:
        raise SyntaxFault(LONGEST, f"longer than {LONGEST} characters")
    return _Parser(text).whole()


def calls(tree: Tree) -> Iterator[Call]:
    """Every call in it, from left to right."""
    if isinstance(tree, Call):
        yield tree
    for part in _parts(tree):
        yield from calls(part)


def words(tree: Tree) -> set[str]:
    """The names of cases that it uses as values of their own."""
    return {tree.name} if isinstance(tree, Word) else {name for part in _parts(tree) for name in words(part)}


def nearest(name: str, known: Iterable[str], least: float = 0.5) -> str:
    """'; did you mean …?', or nothing. least: how alike they have to be, from 0 to 1."""
    found = get_close_matches(name, list(known), 1, least) if len(name) <= LONGEST_NAME else ()
    return f"; did you mean '{found[0]}'?" if found else ""


def _parts(tree: Tree) -> tuple[Tree, ...]:
    if isinstance(tree, (Unary, Binary, Function)):
        return arguments(tree)
    return ()


def arguments(tree: Unary | Binary | Function) -> tuple[Tree, ...]:
    """What its sign or function is applied to."""
    return tree.arguments if isinstance(tree, Function) else (tree.left, tree.right) if isinstance(tree, Binary) else (tree.of,)


class _Parser:
    def __init__(self, text: str):
        self.text, self.tokens, self.at, self.depth, self.terms = text, list(_tokens(text)), 0, 0, 0

    def whole(self) -> Tree:
        made = self.logic("or")
        if not self.ended:
            raise self.fault("an operator or the end is expected")
        return made

    # What comes next

    @property
    def ended(self) -> bool:
        return self.at >= len(self.tokens)

    @property
    def next(self) -> tuple[str, str]:
        return ("", "") if self.ended else self.tokens[self.at][:2]

    @property
    def column(self) -> int:
        return len(self.text) + 1 if self.ended else self.tokens[self.at][2]

    def fault(self, what: str) -> SyntaxFault:
        return SyntaxFault(self.column, f"{what}, not {repr(self.next[1]) if not self.ended else 'the end'}")

    def take(self, kind: str, *texts: str) -> str | None:
        """Consumes the next token if it is of this kind (and one of these texts); else None."""
        if self.next[0] != kind or (texts and self.next[1] not in texts):
            return None
        self.at += 1
        return self.tokens[self.at - 1][1]

    def need(self, sign: str) -> None:
        if not self.take("sign", sign):
            raise self.fault(f"'{sign}' is expected")

    # The grammar, loosest first

    def logic(self, word: str) -> Tree:
        inner: Callable[[], Tree] = self.negated if word == "and" else lambda: self.logic("and")
        made = inner()
        while self.take("word", word):
            made = self.binary(word, made, inner())
        return made

    def negated(self) -> Tree:
        self.depth += 1
        if self.depth > DEEPEST:
            raise self.fault(f"nested more than {DEEPEST} deep")
        made = Unary("not", self.negated()) if self.take("word", "not") else self.compared()
        self.depth -= 1
        return made

    def compared(self) -> Tree:
        made = self.chain(("+", "-"), lambda: self.chain(("*", "/"), self.signed))
        sign = self.take("sign", "<=", ">=", "==", "<", ">")
        return Binary(sign, made, self.chain(("+", "-"), lambda: self.chain(("*", "/"), self.signed))) if sign else made

    def chain(self, signs: tuple[str, ...], inner: Callable[[], Tree]) -> Tree:
        made = inner()
        while sign := self.take("sign", *signs):
            made = self.binary(sign, made, inner())
        return made

    def binary(self, sign: str, left: Tree, right: Tree) -> Binary:
        """Adds one term. The depth of the tree is the number of terms."""
        self.terms += 1
        if self.terms > MOST_TERMS:
            raise self.fault(f"more than {MOST_TERMS} terms")
        return Binary(sign, left, right)

    def signed(self) -> Tree:
        return Unary("-", self.single()) if self.take("sign", "-") else self.single()

    def single(self) -> Tree:
        if self.next[0] == "number":
            return Number(self.number())
        if self.take("sign", "("):
            made = self.logic("or")
            self.need(")")
            return made
        column = self.column
        if (name := self.take("word")) is None:
            raise self.fault("a number, a call or '(' is expected")
        if self.next != ("sign", "("):
            return Word(name)
        self.at += 1
        if name in FUNCTIONS:
            return self.function(name)
        if name in SUBJECT_CALLS:
            return self.call(name, column)
        raise SyntaxFault(column, f"there is no function '{name}'")

    def number(self) -> float:
        value = float(self.next[1])
        if not is_number(value):
            raise self.fault("a number from 1e-30 to 1e30 is expected")
        self.at += 1
        return value

    def function(self, name: str) -> Function:
        arguments = [self.logic("or")]
        while self.take("sign", ","):
            arguments.append(self.logic("or"))
        if FUNCTIONS[name] not in (None, len(arguments)):
            raise self.fault(f"{name}() takes {FUNCTIONS[name]} argument")
        self.need(")")
        return Function(name, tuple(arguments))

    def call(self, name: str, column: int) -> Call:
        kind, subject = self.next
        if name in KERNEL_CALLS and kind != "kernel":
            raise self.fault(f"{name}() requires a kernel, as gpu/FAMILY/NAME")
        if kind not in ("kernel", "word", "text"):
            raise self.fault(f"{name}() requires a name")
        self.check_asked(name, subject)
        self.at += 1
        keys = []
        while self.take("sign", ","):
            keys.append(self.key(name))
        self.need(")")
        return Call(name, subject, tuple(keys), self.field(name), column)

    def key(self, call: str) -> tuple[str, float | str]:
        kind, name = self.next
        if kind != "word":
            raise self.fault("a key is expected, as n=4096")
        if name not in MODEL_KEYS.get(call, (name,)):
            raise self.fault(f"{call}() takes {', '.join(MODEL_KEYS[call]) or 'no key'}")
        self.at += 1
        self.need("=")
        kind, value = self.next
        if kind not in ("number", "word", "text"):
            raise self.fault(f"a value of {name} is expected")
        if kind == "number":
            return name, self.number()
        self.check_asked(call, value)
        self.at += 1
        return name, value

    def check_asked(self, call: str, text: str) -> None:
        if call in MODEL_CALLS and not ASKED.fullmatch(text):
            raise self.fault(f"{call}() requires words of letters, digits and .+-/()")

    def field(self, name: str) -> str:
        parts = []
        while self.take("sign", "."):
            if (part := self.take("word")) is None:
                raise self.fault("the name of a field is expected")
            parts.append(part)
        if bool(parts) != (name in NEED_FIELD):
            raise self.fault(f"'.' and a field is expected after {name}(…)" if not parts else f"{name}() has no fields")
        return ".".join(parts)


def _tokens(text: str) -> Iterator[tuple[str, str, int]]:
    """Kind, text and column (from 1) of each token."""
    at, end = 0, len(text.rstrip())
    while at < end:
        found = TOKEN.match(text, at)
        if not found:
            at += len(text[at:]) - len(text[at:].lstrip())
            raise SyntaxFault(at + 1, f"{text[at]!r} is not understood")
        kind = found.lastgroup
        assert kind is not None  # each kind of token is a group with a name
        token, column = found.group(kind), found.start(kind) + 1
        if token != plain(token):
            raise SyntaxFault(column, f"{token!r} has letters that are not shown")
        yield kind, token, column
        at = found.end()
