"""The report holds for results that nobody foresaw: rates in any order, points and kernels missing at random."""

import random

import pytest
from test_report_support import CPU, GPU, read, write

from report import document, output
from report.collect import collect


def shaken(source, target, seed):
    """A copy of a folder of results with each point's rate changed at random and some points left out."""
    dice = random.Random(seed)
    factor, kept = {}, {}
    for path in sorted(source.glob("*.json")):
        data = read(path)
        entries = []
        for entry in data.get("benchmarks", []):
            name = entry["name"]
            if not kept.setdefault(name, dice.random() < 0.8):
                continue
            times = factor.setdefault(name, 10 ** dice.uniform(-2, 2))
            for key in ("real_time", "cpu_time"):
                if key in entry:
                    entry[key] *= times
            for key in ("gflops", "gbytes_per_s"):
                if key in entry:
                    entry[key] /= times
            entries.append(entry)
        if "benchmarks" in data:
            data["benchmarks"] = entries
        write(target / path.name, data)
    return target


@pytest.mark.parametrize("seed", range(25))
def test_the_text_holds_for_any_rates(tmp_path, seed):
    cpu, gpu = shaken(CPU, tmp_path / "cpu", seed), shaken(GPU, tmp_path / "gpu", seed + 1000)
    sources = {0: ([cpu], [gpu]), 1: ([cpu, gpu], []), 2: ([gpu], [])}[seed % 3]
    study = collect(*sources)
    rows = output.tables(study)
    composed = document.compose(study, output.captions(study, rows), rows, True)
    assert composed["sections"]
    assert "nan" not in str(composed["sentences"]).lower()
