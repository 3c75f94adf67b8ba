"""Answers of the calculators (`rung bound`, `rung occupancy`, the device catalogue), all asked in one run of `rung model`."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from report.claims.expression import Call
from report.claims.values import Fault

ROOT = Path(__file__).resolve().parents[2]
CATALOGUE = "bound list"
HERE = "here"
"""As a device: the GPU of the machine at hand."""
NOT_BUILT = "the program rung is not built, or is out of date"
SECONDS = 60


class Unknown(Exception):
    """The model cannot tell: why."""


def program() -> Path:
    return Path(os.environ.get("RUNG") or ROOT / "build" / "rung")


def question(call: Call, gpu: str | None) -> str:
    """The line that asks for a call; on `gpu` in place of its own device, if that is given."""
    if call.name == "device":
        return CATALOGUE
    device = gpu or call.subject
    named = ["--cc", device] if re.fullmatch(r"\d+\.\d+", device) else ["--device", device]
    options = [word for key, value in call.keys for word in (f"--{key}", f"{value:g}" if isinstance(value, float) else value)]
    return shlex.join([call.name, *named, *options])


@cache
def _listed() -> dict[str, dict[str, str]]:
    """Every kernel, with what the values of its sizes and tunables count; none without the program."""
    text = _output(["list", "--json"], "")
    return {kernel["name"]: kernel.get("what", {}) for kernel in json.loads(text)} if text else {}


def kernels() -> frozenset[str]:
    return frozenset(_listed())


def what_counts(kernel: str, key: str) -> str:
    """'registers a thread': what a value of this size or tunable counts, as its problem or the kernel declares it."""
    return _listed().get(kernel, {}).get(key, "")


def _output(arguments: list[str], said: str) -> str:
    """What the program prints; nothing where there is none or it fails."""
    if not os.access(program(), os.X_OK):
        return ""
    try:
        done = subprocess.run([program(), *arguments], input=said, capture_output=True, text=True, timeout=SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout if done.returncode == 0 else ""


class Model:
    """Knows the answers to these lines; without the program to none."""

    def __init__(self, lines: Iterable[str]):
        lines = list(dict.fromkeys(lines))
        answers = _ask(lines) if lines else []
        self.answers = dict(zip(lines, answers)) if len(answers) == len(lines) else {}

    def value(self, call: Call, gpu: str | None = None) -> float:
        """The field of an answer. Unknown without the program or for a GPU that is in no catalogue; Fault for what no
        device has."""
        line = question(call, gpu)
        if line not in self.answers:
            raise Unknown(NOT_BUILT)
        answer = self.answers[line]
        if isinstance(answer, dict) and "error" in answer:
            raise (Unknown if gpu else Fault)(answer["error"])
        entry = self._device(answer, gpu or call.subject, gpu) if call.name == "device" else answer[0]
        return _number(call, entry)

    def _device(self, answer: dict, name: str, gpu: str | None) -> dict:
        line = question(Call("bound", name), None)
        if line not in self.answers:
            raise Unknown(NOT_BUILT)
        known = self.answers[line]
        if "error" in known:
            raise (Unknown if gpu else Fault)(known["error"])
        return next(d for d in answer["devices"] if d["device"] == known[0]["device"])


def questions(call: Call, gpu: str | None) -> list[str]:
    """All lines that a call needs: a device is found by the name that `rung bound` makes of it."""
    more = [question(Call("bound", gpu or call.subject), None)] if call.name == "device" else []
    return [question(call, gpu), *more]


def _ask(lines: list[str]) -> list:
    decoder, text, found = json.JSONDecoder(), _output(["model"], "".join(f"{line}\n" for line in lines)).strip(), []
    while text:
        try:
            answer, end = decoder.raw_decode(text)
        except json.JSONDecodeError:
            return []
        found.append(answer)
        text = text[end:].lstrip()
    return found


def _number(call: Call, entry: dict) -> float:
    """A field of an answer, or of the bound for the one ratio that was asked for."""
    value = entry
    for part in call.field.split("."):
        if isinstance(value, dict) and part not in value:
            value = (value.get("bounds") or [{}])[0]
        value = value.get(part) if isinstance(value, dict) else None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise Fault(f"{call.name}() has no number '{call.field}'")
    return float(value)
