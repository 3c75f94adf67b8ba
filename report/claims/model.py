"""Answers of the calculators (`rung bound`, `rung occupancy`, the device catalogue) to every question of the claims. They
are stored in experiments/model.json, so that the same results give the same verdicts with and without the program.

    python3 -m report.claims.model      runs the program rung again and writes the file
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import TypedDict

from report.claims.expression import Call
from report.claims.said_of import key
from report.claims.values import Fault
from report.data.declaration import FOLDER
from report.data.reading import InputError, read_json
from report.faults import print_anything
from report.files import write
from report.forks import belong_to
from report.surroundings import settle

FILE = FOLDER / "model.json"
ROOT = FOLDER.parent
CATALOGUE = "bound list"
HERE = "here"
"""A device's name: the GPU of the machine at hand."""
REMEDY = "python3 -m report.claims.model asks the program rung and writes it"
SECONDS = 60


class Unknown(Exception):
    """Why the model has no answer."""


class Device(TypedDict):
    """A device of the catalogue: the names that CUDA reports, and '9.0'."""

    aliases: list[str]
    compute_capability: str


@dataclass(frozen=True)
class Model:
    """`devices`: their names (including the ones that CUDA reports) and compute capability. `what`: by kernel and key,
    what the values of a size or tunable count. `answers`: by question, then device, a number or the text of an error."""

    devices: Mapping[str, Device]
    what: Mapping[str, Mapping[str, str]]
    answers: Mapping[str, Mapping[str, float | str]]

    def value(self, call: Call, gpu: str | None = None) -> float:
        """The field of an answer, for `gpu` if given, else for the call's own device. Unknown for a GPU that is not in the
        catalogue, Fault for what no device has, InputError for a question without an answer in the file."""
        name = gpu or call.subject
        device = self.device(name) or (name if not gpu else "")
        if not device:
            raise Unknown(f"{name} is not in the catalogue of devices")
        answer = self.answers.get(question(call), {}).get(device)
        if answer is None:
            raise InputError(FILE, f"{question(call)} of {device}", f"no answer; {REMEDY}")
        if isinstance(answer, str):
            raise (Unknown if gpu else Fault)(answer)
        return answer

    def device(self, name: str) -> str:
        """The catalogue's device with this name, its own or the one that CUDA reports; empty if there is none."""
        return self._by_key.get(key(name), "")

    def names(self, name: str) -> frozenset[str]:
        """All names of the device with this name, as keys to compare."""
        known = self.devices.get(self.device(name))
        return frozenset(map(key, (name, self.device(name), *known["aliases"]))) if known else frozenset((key(name),))

    @property
    def _by_key(self) -> dict[str, str]:
        return {key(alias): name for name, device in self.devices.items() for alias in (name, *device["aliases"])}


def question(call: Call) -> str:
    """'occupancy(threads=32).limits.threads_per_sm': a call without its device."""
    keys = ", ".join(f"{k}={v:g}" if isinstance(v, float) else f"{k}={v}" for k, v in call.keys)
    return f"{call.name}({keys}).{call.field}"


@cache
def load(path: Path = FILE) -> Model:
    """InputError for a file that is not there or broken."""
    try:
        data = read_json(path)
    except InputError as error:
        raise InputError(path, "file", f"{error.what}; {REMEDY}") from None
    devices, what, answers = (_table(path, data, key) for key in ("devices", "what", "answers"))
    if not all(isinstance(device.get("aliases"), list) for device in devices.values()):
        raise InputError(path, "devices", f"without aliases; {REMEDY}")
    return Model(devices, what, answers)


def _table(path: Path, data: object, key: str) -> dict:
    """A table of tables of the file."""
    found = data.get(key) if isinstance(data, dict) else None
    if not isinstance(found, dict) or not all(isinstance(row, dict) for row in found.values()):
        raise InputError(path, "file", f"not devices, what and answers, each a table of tables; {REMEDY}")
    return found


def devices() -> list[str]:
    """All names of the catalogue; none before the file is written for the first time."""
    return [name for device, told in load().devices.items() for name in (device, *told["aliases"])] if FILE.is_file() else []


def what_counts(kernel: str, key: str) -> str:
    """What a value of this size or tunable counts, as its problem or the kernel declares it: 'elements along a tile'."""
    return load().what.get(kernel, {}).get(key, "")


# The program, which writes the file


def program() -> Path:
    return Path(os.environ.get("RUNG") or ROOT / "build" / "rung")


@cache
def listed() -> dict[str, dict[str, str]]:
    """Every kernel of the program, with what the values of its sizes and tunables count; empty without the program."""
    text = _output(["list", "--json"], "")
    return {kernel["name"]: kernel.get("what", {}) for kernel in json.loads(text)} if text else {}


def kernels() -> frozenset[str]:
    return frozenset(listed())


def asked(calls: Iterable[Call], used: Iterable[tuple[str, str]]) -> dict:
    """The contents of the file: the answer to every question of these calls, for their own devices and for each device
    of the catalogue; and what the values of these keys of kernels count. Fault without the program."""
    catalogue = {d["device"]: d for d in (_ask([CATALOGUE]) or [{"devices": []}])[0]["devices"]}
    if not listed() or not catalogue or not all("aliases" in device for device in catalogue.values()):
        raise Fault(f"{program()} does not answer, or is out of date: build the program rung first")
    wanted: dict[str, tuple[Call, tuple[str, ...]]] = {}
    for call in calls:
        own = [call.subject] if call.subject != HERE else []
        wanted[question(call)] = (call, wanted.get(question(call), (call, ()))[1] + tuple(own))
    model = Model({name: {"aliases": d["aliases"], "compute_capability": d["compute_capability"]} for name, d in catalogue.items()}, {}, {})
    of = {text: list(dict.fromkeys([*catalogue, *(model.device(name) or name for name in own)])) for text, (_, own) in wanted.items()}
    lines = {(text, device): _line(wanted[text][0], device) for text, names in of.items() for device in names}
    unique = list(dict.fromkeys(line for line in lines.values() if line))
    told = dict(zip(unique, _ask(unique)))
    answers = {text: {device: _answer(call, catalogue.get(device) if call.name == "device" else told[lines[text, device]])
                      for device in of[text]} for text, (call, _) in wanted.items()}
    what: dict[str, dict[str, str]] = {}
    for kernel, name in sorted(set(used)):
        if text := listed().get(kernel, {}).get(name):
            what.setdefault(kernel, {})[name] = text
    return {"devices": model.devices, "what": what, "answers": dict(sorted(answers.items()))}


def _line(call: Call, device: str) -> str:
    """The question for `rung model`; empty for values of the catalogue itself."""
    named = ["--cc", device] if re.fullmatch(r"\d+\.\d+", device) else ["--device", device]
    options = [word for k, v in call.keys for word in (f"--{k}", f"{v:g}" if isinstance(v, float) else v)]
    return "" if call.name == "device" else shlex.join([call.name, *named, *options])


def _answer(call: Call, answer: object) -> float | str:
    if isinstance(answer, dict) and "error" in answer:
        return answer["error"]
    if answer is None:
        return "not in the catalogue of devices"
    value = entry = answer[0] if isinstance(answer, list) else answer
    for part in call.field.split("."):
        if isinstance(entry, dict) and isinstance(value, dict) and part not in value:
            value = (entry.get("bounds") or [{}])[0]
        value = value.get(part) if isinstance(value, dict) else None
    if isinstance(value, str) and re.fullmatch(r"\d+\.\d+", value):
        value = float(value)  # a compute capability
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return f"{call.name}() has no number '{call.field}'"
    return float(value) if value != int(value) else int(value)


def _output(arguments: list[str], said: str) -> str:
    """The program's output; empty if there is no program or it fails."""
    if not os.access(program(), os.X_OK):
        return ""
    try:
        done = subprocess.run([program(), *arguments], input=said, capture_output=True, text=True, errors="replace", timeout=SECONDS,
                              check=False, preexec_fn=partial(belong_to, os.getpid()))
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout if done.returncode in (0, 1) else ""  # 1: a kernel is refused, all others are listed


def _ask(lines: list[str]) -> list:
    decoder, text, found = json.JSONDecoder(), _output(["model"], "".join(f"{line}\n" for line in lines)).strip(), []
    while text:
        try:
            answer, end = decoder.raw_decode(text)
        except json.JSONDecodeError:
            return []
        found.append(answer)
        text = text[end:].lstrip()
    return found if len(found) == len(lines) else []


def text_of(table: dict) -> str:
    """A line for each device, kernel and question."""
    parts = [f' "{name}": {{\n' + ",\n".join(f"  {json.dumps(k)}: {json.dumps(v, ensure_ascii=False)}" for k, v in part.items()) + "\n }"
             for name, part in table.items()]
    return "{\n" + ",\n".join(parts) + "\n}\n"


def main() -> int:
    """Exit codes: 0 done, 2 no program."""
    print_anything()
    from report.claims import entries
    try:
        text = text_of(asked(*entries.questions(entries.load().values())))
    except (Fault, InputError) as error:
        print(f"report.claims.model: {error}", file=sys.stderr)
        return 2
    write(FILE, text)
    print(f"{FILE}: {text.count(chr(10)) - 8} lines")
    return 0


if __name__ == "__main__":
    settle("report.claims.model", 2)
    sys.exit(main())
