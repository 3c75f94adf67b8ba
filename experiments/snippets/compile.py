"""What the compilers make of the snippets in this folder: ``python3 experiments/snippets/compile.py COMPILERS.json``.

A snippet is a few lines that a document says compile, or do not. NAME.cu goes to nvcc and NAME.cpp to the host's own
compiler with CUDA's headers, as C++20; a line ``// options: …`` adds options. The file has, for each, whether it was
compiled and, if not, the compiler's first complaint; claims ask for it with ``compiles(NAME)``.
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
    """Often installed but not on the PATH."""
    homes = [Path(os.environ[name]) for name in ("CUDA_HOME", "CUDA_PATH") if os.environ.get(name)]
    places = [str(home / "bin") for home in (*homes, Path("/usr/local/cuda"))]
    return shutil.which("nvcc") or shutil.which("nvcc", path=os.pathsep.join(places))


def command(snippet: Path, compiler: str) -> list[str]:
    options = re.findall(r"^// options: (.+)$", snippet.read_text(encoding="utf-8"), re.MULTILINE)
    host, headers = os.environ.get("CXX", "c++"), Path(compiler).resolve().parents[1] / "include"
    first = [compiler, "-arch=sm_90"] if snippet.suffix == ".cu" else [host, f"-I{headers}"]
    return [*first, "-std=c++20", *" ".join(options).split(), "-c", "-o", os.devnull, str(snippet)]


def entry(snippet: Path, compiler: str) -> dict:
    asked = command(snippet, compiler)
    done = subprocess.run(asked, capture_output=True, text=True, timeout=SECONDS, cwd=FOLDER, check=False)
    found = {"compiler": version(asked[0]), "compiles": done.returncode == 0}
    return found if found["compiles"] else found | {"message": complaint(done.stdout + done.stderr)}


def complaint(said: str) -> str:
    """The first line with an error, without the place."""
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
