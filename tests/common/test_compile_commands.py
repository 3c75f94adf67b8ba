"""Editors read from compile_commands.json how a file is compiled: it names every file of the build."""

import json
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
COMMANDS = ROOT / "build" / "compile_commands.json"
CHOSEN = {"topology.cpp", "topology_by_sysfs.cpp", "without_highway.cpp", "without_onednn.cpp", "without_openblas.cpp", "onednn.cpp", "openblas.cpp",
          "micro_kernel.baseline.cpp", "without_cuda.cpp"}
"""Of these a build has one or the other."""


@pytest.mark.skipif(not COMMANDS.exists(), reason="nothing is built")
def test_every_file_has_a_command():
    named = {Path(entry["file"]) for entry in json.loads(COMMANDS.read_text(encoding="utf-8"))}
    tracked = subprocess.run(["git", "ls-files", "common/*.cpp", "cpu/*.cpp", "gpu/*/*.cu"], cwd=ROOT, capture_output=True, text=True, check=True)
    files = [ROOT / name for name in tracked.stdout.split() if Path(name).name not in CHOSEN and not name.startswith("gpu/host/")]
    assert len(files) > 250
    assert not [str(file.relative_to(ROOT)) for file in files if file not in named]
