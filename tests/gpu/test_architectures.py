"""The GPU side compiles for every GPU: a kernel's record, not the compiler, excludes GPUs that lack a feature."""

import os
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
OLDEST = "75"
"""Turing: common in hosted notebooks and among students (T4, RTX 20, GTX 16)."""
ALL = (OLDEST, "80", "86", "87", "89", "90", "100", "120")
NVCC = shutil.which("nvcc") or shutil.which("/usr/local/cuda/bin/nvcc")
BUILT = ROOT / "build" / "generated"
MATRIX = "gpu/simt/mma.hpp"
needs_nvcc = pytest.mark.skipif(not NVCC or not (BUILT / "build_info.hpp").exists(), reason="needs nvcc and a build")


def kernels() -> list[Path]:
    """The kernels that are compiled for all architectures."""
    return [p for p in sorted((ROOT / "gpu").rglob("*.cu")) if ".sm90a." not in p.name]


@cache
def included(path: Path) -> frozenset[str]:
    """The files of this tree that nvcc reads for a file, including itself."""
    found = {str(path.relative_to(ROOT))}
    for name in re.findall(r'^#include "((?:gpu|common)/[^"]+)"', path.read_text(), re.MULTILINE):
        if "/emulat" not in name and (ROOT / name).exists():
            found |= included(ROOT / name)
    return frozenset(found)


def depends_on_architecture(path: Path) -> bool:
    """Whether nvcc reads PTX or a condition on the architecture for it: all else exists for each of them."""
    return any(re.search(r"\basm\b.*\(|__CUDA_ARCH__", (ROOT / name).read_text()) for name in included(path))


def capability_of(path: Path) -> int:
    """The least compute capability that a record in this file requires."""
    return min((int(n) for n in re.findall(r"min_compute_capability = (\d+)", path.read_text())), default=0)


def nvcc(*arguments: str) -> str:
    made = subprocess.run([NVCC, *arguments], cwd=ROOT, capture_output=True, text=True)
    return "" if made.returncode == 0 else made.stdout + made.stderr


def known_architectures() -> list[str]:
    listed = subprocess.run([NVCC, "--list-gpu-arch"], capture_output=True, text=True).stdout
    return [a for a in ALL if f"compute_{a}" in listed.split()]


def test_records_of_kernels_with_matrix_instructions_say_so():
    users = [p for p in kernels() if MATRIX in included(p)]
    assert len(users) >= 2
    assert {p.name: capability_of(p) for p in users if capability_of(p) < 80} == {}


@needs_nvcc
def test_what_depends_on_the_architecture_compiles_for_the_oldest(tmp_path):
    chosen = [p for p in kernels() if depends_on_architecture(p)]
    assert any(MATRIX in included(p) for p in chosen)
    wrong = {p.name: nvcc("-I.", f"-I{BUILT}", "-std=c++20", "-O1", f"-arch=sm_{OLDEST}", "--cubin", "-o",
                          str(tmp_path / "one.cubin"), str(p)) for p in chosen}
    assert {name: text for name, text in wrong.items() if text} == {}


@pytest.mark.long
@needs_nvcc
def test_all_kernels_compile_for_all_architectures(tmp_path):
    """Compiled as a user builds them, for all architectures at once."""
    architectures = known_architectures()
    assert OLDEST in architectures
    configured = ["cmake", "-S", str(ROOT), "-B", str(tmp_path), "-G", "Ninja", "-DRUNG_DOWNLOAD=OFF",
                  f"-DCMAKE_CUDA_ARCHITECTURES={';'.join(f'{a}-real' for a in architectures)}",
                  "-DCMAKE_CUDA_FLAGS=--threads=2"]
    built = ["nice", "cmake", "--build", str(tmp_path), "--target", "rung_gpu", "-j", str(len(os.sched_getaffinity(0)))]
    for command in (configured, built):
        made = subprocess.run(command, capture_output=True, text=True)
        assert made.returncode == 0, (made.stdout + made.stderr)[-3000:]


CHOICES = [("7.5", "75-real"), ("9.0", "90-real"), ("8.0\n8.6\n8.0", "80-real;86-real"), ("99.0", r"\d+-virtual"),
           ("3.5", "this nvcc compiles for compute capability .*, the GPU has 3.5: .*"), ("", "90")]


@pytest.mark.skipif(not NVCC, reason="needs nvcc")
@pytest.mark.parametrize("capabilities, chosen", CHOICES)
def test_it_is_built_for_the_gpus_at_hand(tmp_path, capabilities, chosen):
    """Also for those that nvcc is too old for, by PTX; one that nvcc does not know any more leaves the GPU side out."""
    smi = tmp_path / "nvidia-smi"
    smi.write_text(f"#!/bin/sh\nprintf '{capabilities}\\n'\n" if capabilities else "#!/bin/sh\nexit 9\n")
    smi.chmod(0o755)
    made = subprocess.run(["cmake", f"-DNVCC={NVCC}", "-P", str(ROOT / "common" / "cuda_architecture.cmake")],
                          env=os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"}, capture_output=True, text=True)
    assert re.fullmatch(chosen, made.stderr.strip()), made.stderr
