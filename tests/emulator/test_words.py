"""The list of CUDA's words in gpu/simt/simt.hpp against the emulator's headers."""

import re
from pathlib import Path

SIMT = Path(__file__).resolve().parents[2] / "gpu" / "simt"
LISTED = ("kernels", "variables", "barriers", "lanes", "memory", "atomics")
"""The parts of the list that name every word."""


def listed() -> set[str]:
    """The words of these parts."""
    words, is_open = set(), False
    for line in (SIMT / "simt.hpp").read_text().splitlines():
        head = re.match(r"///   (\w+) {2,}", line)
        is_open = head[1] in LISTED if head else is_open and line.startswith("///         ")
        if is_open:
            words |= {w for w in re.findall(r"[A-Za-z_]\w+", line.partition(";")[0]) if "_" in w or w != w.lower()}
    return words - {"NAME_block", "NAME_system"}


def emulated() -> str:
    runtime = SIMT.parents[1] / "common" / "emulator" / "runtime.hpp"
    return "".join(path.read_text() for path in [*SIMT.glob("emulated*.hpp"), runtime])


def test_every_listed_word_is_there():
    text = emulated()
    words = listed()
    assert len(words) > 60
    assert {w for w in words if not re.search(rf"\b{w}\b", text)} == set()


def test_every_word_that_is_there_is_listed():
    text = emulated()
    defined = set(re.findall(r"#define (__\w+__)", text))
    defined |= {w for w in re.findall(r"(?:RUNG_(?:LOAD|STORE|ATOMIC|REDUCTION)\(|\b(?:void|int|unsigned|auto|T)\s+)"
                                      r"(__(?:sync|threadfence|shfl|all|any|ballot|activemask|match|reduce|ld|st|pipeline)\w*"
                                      r"|atomic[A-Z]\w*)", text) if not w.endswith(("_block", "_system")) or "fence" in w}
    assert len(defined) > 50
    assert defined - listed() == set()
