"""The experiment on tensor cores: each data type with its own roof and the libraries, whichever of them were measured."""

import re

import pytest
from synthetic import Run

from report.data.collect import collect
from report.draw import style
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
    assert plain(section.finding).startswith("At N = 8192 in BF16 the fastest rung is wgmma, top") and re.search("INT8: [^;]* with 1.44 TOP/s", plain(section.finding))
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


def with_layouts(run, size=8192):
    for kernel, rate in (("wgmma_top_bf16", 880.0), ("cublaslt_bf16", 800.0)):
        for layout in ("nt", "tn"):
            run.time(f"gpu/matmul/{kernel}", 2 * size**3 / rate / 1e9, {"m": size, "n": size, "k": size, "layout": layout},
                     flops_useful=2 * size**3, interleaved_with=2, judged={"largest_error": 2.0**-24})
    return run


def test_other_layouts_are_in_a_table_of_their_own_and_in_no_line(tmp_path):
    plain_, section = section_of(tmp_path / "without", measured()), section_of(tmp_path / "with", with_layouts(measured()))
    assert section.finding == plain_.finding and len(section.ladders[0].rungs) == len(plain_.ladders[0].rungs)
    assert section.tables[0].rows == plain_.tables[0].rows
    layouts = next(x for x in section.appendix if x.name == "tensor_cores_layouts")
    assert not any(x.name == layouts.name for x in plain_.appendix)
    assert {plain(r["size"]): r["over"] for r in layouts.rows} == {f"N = 8192, layout = {x}": pytest.approx(1.1, rel=0.01) for x in ("nt", "tn")}
    with_, without = ({f.name: f for f in s.figures} for s in (section, plain_))
    assert with_.keys() == without.keys() and with_["tensor_cores_rates"].rows == without["tensor_cores_rates"].rows
    assert "layout = tn) are in the CSV" in plain(with_["tensor_cores_gpu_over_peers"].caption)


ERRORS = {"wgmma_3xtf32": (1.1, 6.0, 0.5), "wgmma_bf16x6": (0.6, 4.0, 0.4), "strassen_top": (30.0, 1e9, 9.0), "top": (2.6, 9.0, 1.2), "cublas": (2.5, 9.0, 1.1)}
"""In units of 2^-24 on random, scaled and cancelling inputs."""
RATES = {"wgmma_3xtf32": 125.0, "wgmma_bf16x6": 120.0, "strassen_top": 70.0, "top": 59.0, "cublas": 51.0}


def with_float32(run, sizes=(4096, 8192), errors=ERRORS):
    for data, place in (("random", 0), ("scaled", 1), ("cancelling", 2)):
        for n in sizes if data == "random" else sizes[:1]:
            for name, of in errors.items():
                kernel = f"gpu/matmul/{name}"
                run.kernel(kernel, title=name, is_library=name == "cublas")
                run.rate(kernel, RATES[name], n, interleaved_with=2, data=data, judged={"largest_error": of[place] * 2.0**-24},
                         name=f"{kernel}/{data}/n:{n}")
    return run


def test_errors_stand_beside_rates(tmp_path):
    section = section_of(tmp_path, with_float32(measured()))
    text = plain(section.finding)
    assert "no larger than cublas’s, wgmma_3xtf32 is the fastest at N = 8192" in text and "2.45× as fast as cublas" in text
    figure = next(f for f in section.figures if f.name == "tensor_cores_errors")
    assert {r["title"] for r in figure.rows if r["is_on_front"]} == {"wgmma_3xtf32", "wgmma_bf16x6"}
    rows = {(r["title"], r["size"][-4:]): r for r in next(t for t in section.tables if t.name == "tensor_cores_accuracy").rows}
    assert rows["strassen_top", "4096"]["scaled"] == pytest.approx(1e9) and "scaled" not in rows["strassen_top", "8192"]
    assert rows["wgmma_bf16x6", "8192"]["over"] == pytest.approx(120 / 51, rel=0.01) and "over" not in rows["cublas", "8192"]


def test_labels_beside_rates_and_errors_stand_clear_of_the_line(tmp_path):
    errors = {name: (error, error, error) for name, error in (("strassen_top", 0.6), ("wgmma_bf16x6", 90.0), ("cublas", 2.5))}
    section = section_of(tmp_path, with_float32(measured(), errors=errors))
    figure = next(f for f in section.figures if f.name == "tensor_cores_errors")
    fig = style.figure(figure.height)
    figure.draw(fig)
    ax = fig.axes[0]
    step = next(line for line in ax.lines if len(line.get_xdata()) > 1)
    corners = ax.transData.transform(list(zip(*step.get_data())))
    for text in ax.texts:
        box = text.get_window_extent()
        for (x0, y0), (x1, y1) in zip(corners, corners[1:]):
            is_clear = max(x0, x1) < box.x0 or min(x0, x1) > box.x1 or max(y0, y1) < box.y0 or min(y0, y1) > box.y1
            assert is_clear, text.get_text()


def test_a_kernel_that_is_less_accurate_on_one_data_set_is_not_named(tmp_path):
    worse = ERRORS | {"wgmma_3xtf32": (1.1, 9.5, 0.5)}
    assert "wgmma_bf16x6 is the fastest at N = 8192" in plain(section_of(tmp_path, with_float32(measured(), errors=worse)).finding)


def test_without_a_library_of_float32_nothing_is_said_of_its_accuracy(tmp_path):
    alone = {name: of for name, of in ERRORS.items() if name != "cublas"}
    section = section_of(tmp_path, with_float32(measured(), errors=alone))
    assert "no larger than" not in section.finding and any(f.name == "tensor_cores_errors" for f in section.figures)


def with_states(limit=700.0):
    """Two rungs and a library, each at 700 W at the largest size, where the clock is lower."""
    run = Run("tensor_cores", **({"gpu_power_limit_w": limit} if limit else {}))
    for kernel, title, library, rate, picojoules in (
            ("mma_bf16", "mma.sync", False, 200.0, 3.5), ("wgmma_top_bf16", "wgmma, top", False, 350.0, 2.0), ("cublaslt_bf16", "cublasLt", True, 700.0, 1.0)):
        run.kernel(f"gpu/matmul/{kernel}", type="bf16", title=title, is_library=library)
        for n, clock, power in ((256, 1980, 200.0), (1024, 1980, 400.0), (4096, 1700, 690.0), (8192, 1400, 700.0)):
            state = {"sm_clock_mhz": clock, "power_w": power}
            state |= {"throttled": 1, "throttle_reason": "power cap"} if clock < 1980 else {}
            state |= {"energy_j": picojoules * 1e-12 * 2 * n**3, "energy_runs": 9} if n == 8192 else {}
            run.rate(f"gpu/matmul/{kernel}", 1000 * rate, n, interleaved_with=2, **state)
    return run


def test_energy_of_an_operation_stands_beside_the_sustained_rate(tmp_path):
    section = section_of(tmp_path, with_states())
    figure = next(f for f in section.figures if f.name == "tensor_cores_energy")
    of = {r["title"]: r for r in figure.rows}
    assert {t: r["picojoules_per_operation"] for t, r in of.items()} == pytest.approx({"mma.sync": 3.5, "wgmma, top": 2.0, "cublasLt": 1.0})
    assert {t: r["value"] for t, r in of.items()} == pytest.approx({"mma.sync": 200e3, "wgmma, top": 350e3, "cublasLt": 700e3}), "power over energy"
    assert "An operation costs 3.50 pJ with mma.sync and 2.00 pJ with wgmma, top (cublasLt: 1.00 pJ)." in plain(section.finding)
    figure.draw(style.figure(figure.height))


def test_clock_and_power_by_size_say_where_the_limit_begins(tmp_path):
    section = section_of(tmp_path, with_states())
    figures = {f.name: f for f in section.figures}
    assert [r["sm_clock_mhz"] for r in figures["tensor_cores_clock"].rows if r["title"] == "cublasLt"] == [1980, 1980, 1700, 1400]
    assert [r["power_w"] for r in figures["tensor_cores_power"].rows if r["title"] == "wgmma, top"] == [200, 400, 690, 700]
    assert "The clock falls from 1980 MHz at N = 256 to 1400 MHz at N = 8192; from N = 4096 on the board is at its power limit." in plain(section.finding)
    for name in ("tensor_cores_clock", "tensor_cores_power"):
        figures[name].draw(style.figure(figures[name].height, half=True))


def test_without_the_limit_the_figures_are_there(tmp_path):
    for figure in section_of(tmp_path, with_states(limit=None)).figures:
        figure.draw(style.figure(figure.height, figure.half))
