"""Which roof of memory judges a kernel: the level that holds its operands, and the pattern that writes as much as it must."""

import re

import pytest
from conftest import RECORDED, ROOT
from synthetic import Run

from report.data.collect import collect
from report.data.roofs import ALIKE, Roof, Roofs, holding, share, written
from report.sections.contributions import contributions
from report.text import words

MIB = 2**20
CACHES = {"cpu_l1d_bytes": 32 * 1024, "cpu_l2_bytes": MIB, "cpu_l3_bytes": 16 * MIB, "cpu_l3_all_bytes": 32 * MIB, "cpu_cores": 8,
          "gpu_l2_bytes": 50 * MIB}


@pytest.mark.parametrize("side, bytes_, threads, level", (
    ("cpu", 32 * 1024, 1, "L1"), ("cpu", 33 * 1024, 1, "L2"), ("cpu", 33 * 1024, 2, "L1"), ("cpu", 2 * MIB, 1, "L3"), ("cpu", 8 * MIB, 8, "L2"),
    ("cpu", 8 * MIB, 64, "L2"), ("cpu", 20 * MIB, 1, "DRAM"), ("cpu", 20 * MIB, 8, "L3"), ("cpu", 33 * MIB, 8, "DRAM"), ("gpu", MIB, 1, "L2"),
    ("gpu", 51 * MIB, 1, "DRAM"), ("cpu", None, 1, "DRAM"), ("gpu", 0, 1, "DRAM")))
def test_operands_live_in_the_nearest_memory_that_holds_them(side, bytes_, threads, level):
    assert holding(CACHES, side, bytes_, threads) == level
    assert holding({}, side, bytes_, threads) == "DRAM"


ROOFS = Roofs(tuple(Roof(label, value, True, "fp32", n=9) for label, value in (
    ("DRAM read", 150), ("DRAM copy", 80), ("DRAM copy, streaming", 130), ("DRAM triad, streaming", 120), ("L2", 900))))


@pytest.mark.parametrize("part, label", ((0.0, "DRAM read"), (0.008, "DRAM read"), (1 / 3, "DRAM triad, streaming"), (0.4, "DRAM triad, streaming"),
                                         (0.49, "DRAM copy, streaming"), (1 / 2, "DRAM copy, streaming"), (0.9, "DRAM copy, streaming"), (None, "DRAM read")))
def test_the_pattern_that_writes_as_much_judges(part, label):
    assert ROOFS.memory("DRAM", part).label == label


def test_where_only_one_pattern_was_measured_it_judges_and_is_named():
    assert ROOFS.memory("L2", 1 / 2).label == "L2" and ROOFS.memory("L3", 1 / 2) is None
    assert Roofs((Roof("DRAM copy", 80, True, "fp32", n=9),)).memory("DRAM", 0.0).label == "DRAM copy"
    assert words.rate_of(ROOFS.memory("L2", 1 / 2)) == "the rate of reading from L2 (900\u00a0GB/s)"
    assert words.rate_of(ROOFS.memory("DRAM", 1 / 2)) == "the rate of a copy in DRAM with streaming stores (130\u00a0GB/s)"


def heated(cells: float, **context) -> Run:
    """On a CPU: 16 GB/s from DRAM, 400 from the L3 of 1 MiB."""
    run = Run("heat", experiment_toml=(ROOT / "experiments/heat.toml").read_text(encoding="utf-8"), cpu_l3_all_bytes=MIB, cpu_l3_bytes=MIB, problems={
        "heat": {"title": "Heat equation", "metric": {"key": "gcells_per_s", "unit": "GCell/s"}, "size_names": ["n", "m", "steps", "permille"]}}, **context)
    for label, rate in (("DRAM copy", 16), ("L3 copy", 400)):
        name = run.kernel(f"cpu/copy/{label[:4].strip().lower()}", ceiling={"label": label, "is_bandwidth": True})
        run.time(name, 0.001, {"bytes": 1000}, bytes_min=rate * 1e6)
    sizes = {"n": 256, "m": 256, "steps": 24, "permille": 230}
    for i, name in enumerate(("naive", "blocked")):
        run.kernel(f"cpu/heat/{name}", order=10 * i)
        for n, factor in ((256, 10), (1024, 1)):
            amount = 24 * n * n / 1e9
            run.time(f"cpu/heat/{name}", amount / (cells * factor), sizes | {"n": n, "m": n}, {}, data="random", gcells_per_s=cells * factor,
                     bytes_min=8 * n * n)
    run.count("gpu/heat/naive", sizes, {}, bytes_min=8 * 2**16, bytes_declared_stored=24 * 4 * 2**16, bytes_executed_loaded=1, bytes_executed_stored=1,
              flops_executed=1, flops_useful=1)
    return run


def finding(folder, run):
    run.save(folder)
    return next(c.section for c in contributions(collect([folder], [])) if c.view.name == run.context["experiment"])


def test_a_field_in_a_cache_is_not_judged_by_dram(tmp_path):
    """The size that no cache holds is judged, if it was measured; where only the other was, by the cache that holds it."""
    both = finding(tmp_path / "both", heated(1.0))
    assert "At N\u00a0=\u00a01024" in both.finding and "50\u00a0% of the 2.00\u00a0GCell/s that the rate of a copy in DRAM" in both.finding
    run = heated(1.0)
    run.benchmarks = [b for b in run.benchmarks if b["sizes"].get("n") != 1024]
    small = finding(tmp_path / "small", run)
    assert "20\u00a0% of the 49.9\u00a0GCell/s that the rate of a copy in L3 (400\u00a0GB/s)" in small.finding
    assert small.figures[0].alt.endswith("Beyond the dashed bound: none.")


def test_a_little_above_a_roof_is_given_as_it_is():
    """As in tables and CSV; further above is more."""
    roof = Roof("DRAM copy", 4078.0, True, "fp32", low=4070.0, high=4090.0, n=12)
    assert words.of_memory(share(4081.3, (4075.0, 4088.0), roof)).startswith("100\u00a0% of the rate of a copy in DRAM")
    assert words.of_memory(share(4181.3, (4175.0, 4188.0), roof)).startswith("103\u00a0% of the rate of a copy")
    assert words.of_memory(share(4381.3, (4375.0, 4388.0), roof)).startswith("more than the rate of a copy")
    assert words.of_memory(share(4000.0, (3990.0, 4008.0), roof)).startswith("98\u00a0% of the rate of a copy")


@pytest.mark.parametrize("file", sorted((ROOT / "experiments").glob("*.py")) + sorted((ROOT / "report/sections").glob("*.py")), ids=lambda f: f.name)
def test_no_section_has_a_rule_of_its_own(file):
    """For roofs of memory, or for the words of a share of one. The roofs' own section, and what limits a kernel, take the highest."""
    text = file.read_text(encoding="utf-8")
    if file.name not in ("ceilings.py", "doubts.py", "side_by_side.py"):
        assert not re.search(r"\broofs?(\.of_threads\(.*?\))?\.(dram|levels|memory)\(|\bwhole\.(dram|levels)\(", text)
    assert not re.search(r'else "more than"|"more than" if|percent\(min\(', text)


@pytest.mark.long
@pytest.mark.parametrize("machine", ("nvidia-h200", "nvidia-h100", "amd-epyc-2-cores"))
def test_recorded_kernels_are_judged_by_what_their_problems_do(machine):
    """A kernel that only reads by reading, one that writes as much as it reads by a copy, on either side."""
    expected = {"sum": 0.0, "histogram": 0.0, "transpose": 1 / 2, "prefix_sum": 1 / 2, "blur": 1 / 2, "heat": 1 / 2, "sort_columns": 1 / 2,
                "vector_addition": 1 / 3, "copy_strided": 1 / 2, "slices": 0.0}
    seen = set()
    for view in collect([RECORDED / machine], []).views:
        for part in view.parts:
            for family in {p.kernel.family for p in part.points} & expected.keys():
                if (found := written(part.run.points, family)) is not None:
                    seen.add(family)
                    assert max(x for x in (0, 1 / 3, 1 / 2) if x <= found + ALIKE) == expected[family], (family, found)
    assert seen == expected.keys()
