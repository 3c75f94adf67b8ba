"""Each header compiles alone, so that a file may include it first, whatever it includes besides."""

import json
import os
import shlex
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
COMMANDS = ROOT / "build" / "compile_commands.json"
KEPT = ("-I", "-D", "-std", "-fopenmp", "-march", "-fno-strict-aliasing")
LIKE = {"gpu": "gpu/matmul/naive.cu", "": "common/harness/measure.cpp"}
"""By the first folder, the file whose options a header is compiled with: those of `gpu/` as the emulator's C++."""
CUDA = ("gpu/host/",)
"""Folders of headers that need CUDA's own."""
PARTS = ("gpu/simt/emulated", "gpu/simt/wgmma_emulated", "gpu/ceilings/fma_tensor_kernel", "gpu/matmul/tma/engine/hopper_kernel",
         "gpu/matmul/tma/engine/hopper_prepare", "gpu/matmul/wgmma/engine/wgmma_kernel")
"""The beginnings of names of headers that are the further parts of one other header, which alone includes them."""


def headers() -> list[str]:
    found = subprocess.run(["git", "ls-files", "*.hpp"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    return [h for h in found if not h.startswith(("tests/", "experiments/", *CUDA, *PARTS))]


def options(file: str) -> list[str]:
    words = next(shlex.split(c["command"]) for c in json.loads(COMMANDS.read_text(encoding="utf-8")) if c["file"] == str(ROOT / file))
    after = [b for a, b in zip(words, words[1:]) if a == "-isystem"]
    return [words[0], *(w for w in words if w.startswith(KEPT)), *(x for path in after for x in ("-isystem", path))]


def fault(header: str, folder: Path) -> str:
    """What the compiler says of a file that includes the header alone; empty if nothing."""
    source = folder / f"{header.strip('/').replace('/', '_')}.cpp"
    source.write_text(f'#include "{header}"\n#include "{header}"\n', encoding="utf-8")
    command = options(LIKE.get(header.partition("/")[0], LIKE[""]))
    said = subprocess.run([*command, "-Wall", "-Wextra", "-Wno-missing-field-initializers", "-Wno-unknown-pragmas", "-Werror", "-fsyntax-only", source],
                          cwd=ROOT / "build", capture_output=True, text=True)
    return said.stderr if said.returncode else ""


@pytest.mark.long
def test_each_header_compiles_alone(tmp_path):
    if not COMMANDS.is_file():
        pytest.skip("build/compile_commands.json is not there: configure first")
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        found = dict(zip(headers(), pool.map(lambda header: fault(header, tmp_path), headers())))
    assert len(found) > 100
    assert {header: said[:400] for header, said in found.items() if said} == {}


def test_a_header_that_needs_another_one_is_found(tmp_path):
    if not COMMANDS.is_file():
        pytest.skip("build/compile_commands.json is not there: configure first")
    lacking = tmp_path / "lacking.hpp"
    lacking.write_text("#pragma once\nstd::vector<int> none();\n", encoding="utf-8")
    assert "vector" in fault(str(lacking), tmp_path)


def test_parts_are_included_once():
    """By the header that they are a part of, or by another part of it."""
    texts = {path: (ROOT / path).read_text(encoding="utf-8") for path in subprocess.run(
        ["git", "ls-files", "*.hpp", "*.cpp", "*.cu"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()}
    for part in (h for h in texts if h.startswith(PARTS)):
        users = [path for path, text in texts.items() if f'#include "{part}"' in text and not path.startswith(PARTS)]
        assert len(users) <= 1, (part, users)
