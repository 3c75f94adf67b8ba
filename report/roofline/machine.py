"""The roofs under which kernels of other programs are drawn: of results of rung, or of ERT; and as ERT's file."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

from report import files
from report.data.collect import collect
from report.data.declaration import FOLDER
from report.data.reading import InputError, is_number, read_json
from report.data.roofs import Roof, Roofs

RECORDED = FOLDER / "recorded"
LEVELS = ("L1", "L2", "L3", "DRAM")


def roofs(paths: Sequence[Path], side: str, type_: str, devices: Iterable[str]) -> tuple[str, Roofs]:
    """The machine's name and its roofs. Without paths: the recorded machine with the name of one of the devices."""
    if len(paths) == 1 and paths[0].suffix == ".json" and (found := _of_ert(paths[0], type_)):
        return found
    study = collect(list(paths) or [RECORDED], [])
    names = {device.strip().lower() for device in devices if device.strip()}
    runs = [run for run in study.runs if run.times(side) and (paths or run.machine(side).name.lower() in names)]
    parts = [part for part in study.parts if part.side == side and part.roofs and any(part.run is r or part.machine.name == r.machine(side).name for r in runs)]
    if parts:
        return parts[0].machine.name, parts[0].roofs.of_model()
    if not paths:
        raise InputError(Path("--roofs"), "machine", f"{_unknown(names)}: name results of rung with --roofs (rung run ceilings)")
    raise InputError(paths[0], "roofs", f"it has no measured roof of the {side.upper()}: rung run ceilings")


def _unknown(names: set[str]) -> str:
    return f"no recorded machine is a {' or '.join(sorted(names))}" if names else "the files name no device"


def _of_ert(path: Path, type_: str) -> tuple[str, Roofs] | None:
    """Of the Empirical Roofline Tool's roofline.json: the levels of memory, and the arithmetic as a peak of the type. None for other files."""
    data = read_json(path)
    found = data.get("empirical") if isinstance(data, dict) else None
    if not isinstance(found, dict):
        return None
    made = []
    for key, is_bandwidth in (("gbytes", True), ("gflops", False)):
        rows = found.get(key, {}).get("data", []) if isinstance(found.get(key), dict) else []
        for row in rows if isinstance(rows, list) else []:
            if isinstance(row, list) and len(row) > 1 and is_number(row[-1]) and row[-1] > 0:
                label = str(row[0]).upper()
                level = next((name for name in LEVELS if name in label), label) if is_bandwidth else f"{type_.upper()} {row[0]}"
                made.append(Roof(level, float(row[-1]), is_bandwidth, type_, None, n=1))
    if not any(r.is_bandwidth for r in made) or all(r.is_bandwidth for r in made):
        raise InputError(path, "empirical", "it has no bandwidth, or no peak")
    return path.stem, Roofs(tuple(made), model=tuple(made))


def write_ert(path: Path, name: str, found: Roofs) -> None:
    """The roofs as ERT writes them, with each level of memory and the peak of each type."""
    whole = found.of_threads(None)
    types = list(dict.fromkeys(r.type for r in whole.compute()))
    peaks = [[f"{type_.upper()} GFLOPs", peak.value] for type_ in types if (peak := whole.peak(type_))]
    levels = [["L1" if level == "SHARED" else level, roof.value] for level, roof in whole.levels().items()]
    content = {"empirical": {"metadata": {"MACHINE": name, "TOOL": "rung"}, "gbytes": {"data": levels}, "gflops": {"data": peaks}}}
    files.write(path, f"{json.dumps(content, indent=1)}\n")


