"""The experiment on tensor cores: each data type beside its own roof and the libraries, whatever of them was measured."""

import pytest
from synthetic import Run

from report.data.collect import collect
from report.sections.contributions import contributions

PEAKS = {"bf16": 900.0, "fp16": 900.0, "tf32": 450.0, "fp8": 1800.0, "int8": 1800.0}


def measured(types=tuple(PEAKS), sizes=(1024, 8192), peaks=PEAKS, roofs=True):
    run = Run("tensor_cores")
    for t in types:
        if roofs:
            name = run.kernel(f"gpu/fma/{t}", type=t, ceiling={"label": f"{t} tensor cores", "is_bandwidth": False})
            run.time(name, 0.001, {"chains": 1000}, flops_useful=peaks[t] * 1e6, name=f"{name}/chains:1000")
        for n in sizes:
            run.kernel(f"gpu/matmul/wgmma_top_{t}", type=t, title="wgmma, top")
            run.rate(f"gpu/matmul/wgmma_top_{t}", 0.8 * peaks[t], n, interleaved_with=2)
            run.kernel(f"gpu/matmul/cublaslt_{t}", type=t, title="cublasLt", is_library=True)
            run.rate(f"gpu/matmul/cublaslt_{t}", 0.4 * peaks[t], n, interleaved_with=2)
    return run


def section_of(folder, run):
    run.save(folder)
    return contributions(collect([folder], []))[0].section


def plain(text):
    return text.replace("\u00a0", " ")


def test_every_type_stands_beside_its_own_roof_and_library(tmp_path):
    section = section_of(tmp_path, measured())
    assert plain(section.finding).startswith("At N = 8192 in BF16 the fastest rung is wgmma, top") and "INT8 1.44" in plain(section.finding)
    rows = section.tables[0].rows
    assert len(rows) == 10 and {r["type"] for r in rows} == set(PEAKS)
    assert all(r["share_of_peak"] == pytest.approx(0.8, rel=0.01) and r["over"] == pytest.approx(2, rel=0.01) for r in rows)
    assert [f.name for f in section.figures] == ["tensor_cores_gpu_rungs", "tensor_cores_rates", "tensor_cores_gpu_over_peers"]


def test_without_roofs_the_table_is_there(tmp_path):
    assert section_of(tmp_path, measured(roofs=False)).tables[0].rows


def test_one_type_and_one_size_are_enough(tmp_path):
    section = section_of(tmp_path, measured(("int8",), (4096,)))
    assert "At N = 4096" in plain(section.finding) and "INT8" in plain(section.finding) and "further type" not in plain(section.finding)
    assert [f.name for f in section.figures] == ["tensor_cores_gpu_rungs"]
