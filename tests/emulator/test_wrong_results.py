"""Planted faults that are launched again and again: the program's output for each becomes one table."""

import importlib.util
import json
import pathlib

spec = importlib.util.spec_from_file_location("wrong_results", pathlib.Path(__file__).resolve().parent / "faulty" / "wrong_results.py")
wrong_results = importlib.util.module_from_spec(spec)
spec.loader.exec_module(wrong_results)

PROGRAM = """#!/bin/sh
case "$1" in
  --list) printf 'sometimes\\nsometimes_right\\nalone\\nhangs\\nfails\\nnever runaway\\n' ;;
  sometimes) echo 17 ;;
  alone) echo no right twin ;;
  hangs) exec sleep 30 ;;
  fails) echo "fails: an illegal memory access"; exit 1 ;;
esac
"""


def program(folder):
    path = folder / "faulty_kernels"
    path.write_text(PROGRAM)
    path.chmod(0o755)
    return str(path)


def test_faults_that_end_are_listed_without_their_twins(tmp_path):
    assert wrong_results.names(program(tmp_path)) == ["sometimes", "alone", "hangs", "fails"]


def test_each_is_counted_or_says_why_not(tmp_path):
    assert wrong_results.entry(program(tmp_path), "sometimes", 1000) == {"wrong": 17}
    assert wrong_results.entry(program(tmp_path), "alone", 1000) == {"failed": "no right twin"}
    assert wrong_results.entry(program(tmp_path), "fails", 1000) == {"failed": "fails: an illegal memory access"}
    assert wrong_results.entry(program(tmp_path), "hangs", 1000, seconds=0.3) == {"failed": "did not end in time"}


def test_the_table_is_written(tmp_path, monkeypatch):
    monkeypatch.setattr(wrong_results, "machine", lambda: "Synthetic GPU")
    monkeypatch.setattr(wrong_results, "SECONDS", 1)
    monkeypatch.setattr(wrong_results, "names", lambda _: ["sometimes", "alone"])
    assert wrong_results.main([program(tmp_path), str(tmp_path / "out.json"), "50"]) == 0
    found = json.loads((tmp_path / "out.json").read_text())
    assert found["launches"] == 50 and found["wrong_results"]["sometimes"] == {"wrong": 17}
    assert wrong_results.main([]) == 2
