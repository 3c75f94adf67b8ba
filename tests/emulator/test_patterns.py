"""ncu's output for the patterns becomes one table: one row per pattern, the metrics in one order."""

import importlib.util
import json
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent / "patterns"
spec = importlib.util.spec_from_file_location("collect_patterns", HERE / "collect.py")
collect = importlib.util.module_from_spec(spec)
spec.loader.exec_module(collect)

HEAD = '"ID","device__attribute_display_name","a__x.sum","gpu__time_duration.sum","b__y.sum"\n"","","","ns",""\n'


def part(folder: Path, number: int, said: str, rows: str) -> None:
    (folder / f"{number}.said").write_text(said)
    (folder / f"{number}.csv").write_text(f"==PROF== noise\n{HEAD}{rows}")


def test_parts_are_merged(tmp_path):
    part(tmp_path, 0, "load_1/0 ab\nload_1/2 cd\n", '"0","NVIDIA H200","1,234","9","5"\n"1","NVIDIA H200","7","9","8"\n')
    part(tmp_path, 1, "load_1/1 ef\n", '"0","NVIDIA H200","1","9","2"\n')
    assert collect.main([str(tmp_path), str(tmp_path / "out.json")]) == 0
    result = json.loads((tmp_path / "out.json").read_text())
    assert (result["machine"], result["metrics"]) == ("NVIDIA H200", ["a__x", "b__y"])
    assert result["patterns"] == {"load_1/0": ["ab", 1234, 5], "load_1/2": ["cd", 7, 8], "load_1/1": ["ef", 1, 2]}


def test_a_pattern_that_ncu_did_not_count_is_told(tmp_path):
    part(tmp_path, 0, "load_1/0 ab\nload_1/1 cd\n", '"0","NVIDIA H200","1","9","5"\n')
    with pytest.raises(SystemExit, match="0.said has 2 patterns, ncu counted 1"):
        collect.main([str(tmp_path), str(tmp_path / "out.json")])


def test_nothing_counted_is_no_file(tmp_path):
    assert collect.main([str(tmp_path), str(tmp_path / "out.json")]) == 2
    assert not (tmp_path / "out.json").exists()
