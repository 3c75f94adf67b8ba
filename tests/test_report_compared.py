"""The emulator beside the hardware: the table of counts, the table of modelled caches, strided shared memory."""

import csv
import json
from dataclasses import replace

import pytest
from test_report_support import CPU, GPU, read, rendered, write

from report import compared, derive, ratios, readings, tables
from report.collect import collect
from report.figures import strided

COUNTED = CPU / "emulator.json"


@pytest.fixture(scope="module")
def study():
    return collect([CPU], [GPU])


def with_counters(study, change):
    """The study with the hardware's counters changed by a function of (name, row)."""
    counters = {name: change(name, dict(row)) for name, row in study.gpu.counters.items()}
    return replace(study, sides=study.sides | {"gpu": replace(study.gpu, counters=counters)})


def texts(section, kind):
    return [block for block in section if block["kind"] == kind]


def cells(section):
    return [[cell["main"] for cell in row] for row in texts(section, "table")[0]["rows"]]


def test_a_row_for_each_kernel_that_both_counted(study):
    section = compared.section(study)
    assert cells(section) == [
        ["Naive", "2", "equal", "equal", "equal", "512", "512", "1×"],
        ["Tiled", "2", "equal", "equal", "equal", "33 280", "29 184", "0.877×"]]
    text = texts(section, "reading")[0]["text"]
    assert "For all 4 points of 2 kernels" in text and "Synthetic GPU" in text
    assert "In 1 of 2 points" in text and "down to 0.625 of them" in text and "wider ones" in text
    assert "so are the wavefronts, in all 1 points" in text and "registers" not in text


@pytest.mark.parametrize("key, column, difference", (
    ("ffma", 2, "fma 262 144 and 262 145"), ("fmul", 2, "mul 0 and 1"),
    ("load_requests", 3, "load 4 096 and 4 097"), ("store_requests", 3, "store 128 and 129"),
    ("l1_load_sectors", 4, "load 20 480 and 20 481"), ("l1_store_sectors", 4, "store 512 and 513"),
))
def test_one_more_of_anything_is_seen(study, key, column, difference):
    def change(name, row):
        return row | {key: row[key] + 1} if name == "count/gpu/matmul/naive/block:16/n:64" else row
    section = compared.section(with_counters(study, change))
    row = texts(section, "table")[0]["rows"][0]
    assert (row[column]["main"], row[column]["small"]) == ("1 of 2", difference)
    assert [cell["main"] for i, cell in enumerate(row[2:5], 2) if i != column] == ["equal", "equal"]
    text = texts(section, "reading")[0]["text"]
    assert "For 3 of 4 points" in text and "The first that differs is Naive (block 16), N = 64." in text


def test_a_double_precision_operation_counts(study):
    section = compared.section(with_counters(study, lambda name, row: row | {"dfma": 1}))
    assert [row[2] for row in cells(section)] == ["0 of 2", "0 of 2"]


def test_what_the_hardware_did_not_count_is_missing_and_not_equal(study):
    def change(name, row):
        return {key: value for key, value in row.items() if key != "ffma" and "fadd" not in key and "fmul" not in key}
    assert [row[2] for row in cells(compared.section(with_counters(study, change)))] == ["–", "–"]


def test_points_without_counts_have_no_row(study, tmp_path):
    data = read(COUNTED)
    data["benchmarks"] = [row for row in data["benchmarks"] if "naive" not in row["name"]]
    other = collect([write(tmp_path / "emulated.json", data)], [GPU])
    assert [row[0] for row in cells(compared.section(other))] == ["Tiled"]
    assert compared.section(replace(study, counts=())) == []
    assert compared.section(replace(study, sides={"cpu": study.cpu})) == []
    assert compared.section(with_counters(study, lambda name, row: {})) == []


def test_loads_that_were_left_out_are_no_wider_loads(study):
    def change(name, row):
        if name == "count/gpu/matmul/tiled/tile:32/n:64":
            row |= {"shared_load_requests": 8192, "shared_load_wavefronts_exact": 8192}
        return row
    text = texts(compared.section(with_counters(study, change)), "reading")[0]["text"]
    assert "In 1 of 2 points" in text and "In 1 points it makes fewer requests" in text and "registers" in text


def test_conflicts_that_the_emulator_missed_are_told(study):
    def change(name, row):
        return row | {"shared_load_wavefronts_exact": 20000} if name.endswith("tile:32/n:64") else row
    text = texts(compared.section(with_counters(study, change)), "reading")[0]["text"]
    assert "so are the wavefronts, in 0 of 1 points" in text


def test_older_counters_tell_the_ratio_alone(study):
    def change(name, row):
        for kind in ("load", "store"):
            row.pop(f"shared_{kind}_requests", None)
            row[f"shared_{kind}_wavefronts"] = row.pop(f"shared_{kind}_wavefronts_exact", 0)
        return row
    text = texts(compared.section(with_counters(study, change)), "reading")[0]["text"]
    assert "Shared memory took it 0.754× to 1× the emulator’s wavefronts." in text


def test_the_model_stands_beside_the_measurement(study):
    section = compared.caches_section(study)
    assert cells(section) == [["Naive (block 16)", "50 %", "48 %", "25 000", "20 000", "+25 %", "36.0 kB",
                               "40.0 kB", "−10 %"]]
    text = texts(section, "reading")[0]["text"]
    assert "L2 sectors are off by 25 % in the median and by 25 % at most (Naive (block 16), N = 67)" in text
    assert "DRAM bytes are off by 10 %" in text and "hit rate by 2.0 percentage points" in text


def test_a_model_of_another_device_is_not_compared(study):
    counts = tuple(replace(p, labels=p.labels | {"model_device": "Another GPU"}) if "model_device" in p.labels else p
                   for p in study.counts)
    assert compared.caches_section(replace(study, counts=counts)) == []


def test_nothing_measured_is_no_zero(study):
    def change(name, row):
        return {key: value for key, value in row.items() if key not in ("l2_load_sectors", "l1_load_hits")}
    row = cells(compared.caches_section(with_counters(study, change)))[0]
    assert row[2] == "–" and row[4:6] == ["–", "–"] and row[8] == "−10 %"


def test_compared_points_are_not_in_the_table_of_ratios(study):
    assert {p.n for p in ratios._points(study)} == {128}


def strided_rows():
    with (rendered() / "figures" / "strided.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_strided_rows_have_rates_wavefronts_and_their_prediction():
    rows = {(int(r["padding"]), int(r["stride"])): r for r in strided_rows()}
    assert len(rows) == 64
    assert [float(rows[0, s]["wavefronts_per_request"]) for s in (1, 2, 3, 8, 32)] == [1, 2, 1, 8, 32]
    assert [float(rows[1, s]["wavefronts_per_request"]) for s in (1, 31, 32)] == [1, 31, 1]
    best = max(float(r["gbytes_per_s"]) for r in rows.values())
    assert float(rows[0, 8]["predicted_gbytes_per_s"]) == pytest.approx(best / 8)
    row = rows[0, 32]
    assert float(row["gbytes_per_s"]) == pytest.approx(30000 / 32, rel=0.02)
    assert float(row["low"]) <= float(row["gbytes_per_s"]) <= float(row["high"])


def test_wider_accesses_are_predicted_from_their_own_best(study):
    rows = [{"width": 8, "padding": 0, "stride": s, "gbytes_per_s": g, "wavefronts_per_request": w,
             "predicted_gbytes_per_s": None} for s, g, w in ((1, 100.0, 2.0), (2, None, 4.0))]
    strided._predict(rows)
    assert [r["predicted_gbytes_per_s"] for r in rows] == [100, 50]


def test_the_claim_fails_by_the_numbers(study):
    text = readings.strided(strided.rows(study))
    assert "does not hold: of 32 strides 16 (the odd ones)" in text and "stride 32 is" in text
    assert "With one element of padding in each row stride 32 has" in text and "within" in text


def flat(rate):
    return [{"width": 4, "padding": 0, "stride": s, "gbytes_per_s": rate, "wavefronts_per_request": None,
             "predicted_gbytes_per_s": None} for s in (1, 2, 3)]


def test_the_claim_holds_where_every_stride_is_as_fast():
    assert readings.strided(flat(7.0)) == (
        "The claim “full speed random access” (000) holds: all 3 strides have 95 % of the best rate.")
    assert readings.strided(flat(None)) == "" and readings.strided([]) == ""


def test_without_times_the_counted_wavefronts_are_shown(study, tmp_path):
    data = read(GPU / "bank_conflicts.json")
    data["benchmarks"] = [row for row in data["benchmarks"] if row["mode"] == "count"]
    counted = collect([CPU, write(tmp_path / "bank_conflicts.json", data)], [])
    rows = strided.rows(counted)
    assert len(rows) == 64 and not strided.is_timed(rows)
    assert all(r["gbytes_per_s"] is None and r["predicted_gbytes_per_s"] is None for r in rows)
    assert "Not timed" in strided.caption(counted, rows)
    text = readings.strided(rows)
    assert "a single wavefront a request" in text and "32× as many wavefronts" in text
    assert text.endswith("stride 32 takes 1× as many.")
    assert strided.draw(counted, rows).get_axes()[0].get_ylabel() == "Wavefronts a request"


def test_without_counts_the_rates_are_shown_alone(study):
    gpu = replace(study.gpu, points=tuple(p for p in study.gpu.points if derive.is_strided(p)))
    bare = replace(study, counts=(), runs=(), sides={"gpu": gpu})
    rows = strided.rows(bare)
    assert len(rows) == 64 and all(r["predicted_gbytes_per_s"] is None for r in rows)
    assert "Dashes" not in strided.caption(bare, rows)
    assert strided.draw(bare, rows).get_axes()[0].get_ylabel() == "Rate [GB/s]"


def test_counts_for_the_comparison_are_not_those_of_the_figure(study, tmp_path):
    data, compared_run = read(GPU / "bank_conflicts.json"), read(COUNTED)
    odd = [row | {"bytes_min": row["bytes_min"] / 2, "passes": 2} for row in data["benchmarks"]
           if row["mode"] == "count"]
    for row in odd:
        row["name"] = row["run_name"] = row["name"].replace("passes:4", "passes:2")
    compared_run["benchmarks"] += odd
    compared_run["context"]["kernels"] |= data["context"]["kernels"]
    other = collect([GPU, write(tmp_path / "counters.json", compared_run)], [])
    assert len([p for p in other.counts if derive.is_strided(p)]) == 128
    assert strided.rows(other) == strided.rows(study)


def test_strided_points_are_in_no_other_table(study):
    assert "strided" not in json.dumps(tables.others(study))
