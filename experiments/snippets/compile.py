"""Compiles the snippets in this folder: ``python3 experiments/snippets/compile.py COMPILERS.json``.

A snippet is a few lines that compile, or do not compile, according to a document. nvcc compiles NAME.cu, and the host's
compiler with CUDA's headers NAME.cpp, as C++20; a line ``// options: …`` adds options. Where the instructions matter, a
line ``// ptx: PATTERN`` has a regular expression that nvcc's PTX has to contain, ``// not in ptx: PATTERN`` one that it
must not contain: a snippet with other PTX counts as not compiled. The file records, for each snippet, whether it
compiled and, if not, the compiler's first error; claims read it with ``compiles(NAME)``.
A snippet with an error of a document also has the corrected line, in ``#ifdef MENDED``; ``mended`` records whether this
compiles, so that the error alone is the reason why the compiler refuses the snippet.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from datetime import datetime, timezone
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
SECONDS = 120


def nvcc() -> str | None:
    """The path of nvcc, which often is installed but not on the PATH."""
    homes = [Path(os.environ[name]) for name in ("CUDA_HOME", "CUDA_PATH") if os.environ.get(name)]
    places = [str(home / "bin") for home in (*homes, Path("/usr/local/cuda"))]
    return shutil.which("nvcc") or shutil.which("nvcc", path=os.pathsep.join(places))


def lines(snippet: Path, key: str) -> list[str]:
    """The texts of its lines ``// key: …``."""
    return re.findall(rf"^// {key}: (.+)$", snippet.read_text(encoding="utf-8"), re.MULTILINE)


def command(snippet: Path, compiler: str, *further: str) -> list[str]:
    options = lines(snippet, "options")
    host, headers = os.environ.get("CXX", "c++"), Path(compiler).resolve().parents[1] / "include"
    first = [compiler, "-arch=sm_90"] if snippet.suffix == ".cu" else [host, f"-I{headers}"]
    return [*first, "-std=c++20", *" ".join(options).split(), *further, "-c", "-o", os.devnull, str(snippet)]


def entry(snippet: Path, compiler: str) -> dict:
    asked = command(snippet, compiler)
    done = _run(asked)
    message = complaint(done.stdout + done.stderr) if done.returncode else unlike(snippet, asked)
    found = {"compiler": version(asked[0]), "compiles": not message}
    if message:
        found["message"] = message
    if "MENDED" in snippet.read_text(encoding="utf-8"):
        found["mended"] = _run(command(snippet, compiler, "-DMENDED")).returncode == 0
    return found


def _run(asked: list[str]) -> subprocess.CompletedProcess:
    return subprocess.run(asked, capture_output=True, text=True, timeout=SECONDS, cwd=FOLDER, check=False)


def unlike(snippet: Path, asked: list[str]) -> str:
    """The differences between its PTX and the patterns of its lines; empty if there are none."""
    wanted, unwanted = lines(snippet, "ptx"), lines(snippet, "not in ptx")
    if not wanted and not unwanted:
        return ""
    ptx = subprocess.run([*asked[:asked.index("-c")], "-ptx", "-o", "-", str(snippet)], capture_output=True, text=True,
                         timeout=SECONDS, cwd=FOLDER, check=True).stdout
    missing = [f"no {pattern} in its PTX" for pattern in wanted if not re.search(pattern, ptx)]
    return "; ".join([*missing, *(f"{pattern} in its PTX" for pattern in unwanted if re.search(pattern, ptx))])


def complaint(said: str) -> str:
    """The first line with an error, without its location."""
    lines = [line for line in said.splitlines() if re.search(r"error|fatal", line)]
    return re.sub(r"^.*?(?:error|fatal)\s*: ", "", lines[0]).strip() if lines else said.strip()[:200]


def version(compiler: str) -> str:
    """'nvcc 13.0.88', 'g++ (Debian) 12.2.0'."""
    said = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=True).stdout
    found = re.search(r"\bV(\d[\d.]+)", said)
    return f"nvcc {found.group(1)}" if found else said.splitlines()[0].strip()


def main(arguments: list[str]) -> int:
    """Exit codes: 0 done, 2 wrong usage or no nvcc."""
    compiler = nvcc()
    if len(arguments) != 1 or compiler is None:
        print(__doc__ if compiler else "compile.py: there is no nvcc", file=sys.stderr)
        return 2
    found = {s.stem: entry(s, compiler) for s in sorted(FOLDER.iterdir()) if s.suffix in (".cu", ".cpp")}
    Path(arguments[0]).write_text(json.dumps({"date": datetime.now(timezone.utc).isoformat(timespec="seconds"), "snippets": found},
                                             indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"{len(found)} snippets, {sum(f['compiles'] for f in found.values())} of them compile: {arguments[0]}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
