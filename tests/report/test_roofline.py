"""Kernels of other programs under measured roofs: what their files say, and which of them contradict themselves."""

import json
import sys
import types

import pytest
from conftest import RECORDED

from report.data.reading import InputError
from report.roofline import command, programs
from report.roofline.machine import roofs
from report.roofline.programs import Asked, load

HEAD = ("ID", "Kernel Name", "device__attribute_display_name", programs.TIME, programs.READ, programs.WRITTEN, programs.DRAM_RATE,
        *(m.format("f") for m in (programs.ADD, programs.MUL, programs.FMA)))
UNITS = ("", "", "", "usecond", "Mbyte", "Mbyte", "Gbyte/second", "inst", "inst", "inst")
SAXPY = ("void saxpy<float>(int, float, const float *, float *)", "NVIDIA H200", "100.0", "240", "120", "3,600", "0", "0", "30,000,000")


def ncu(path, *launches, units=UNITS, head=HEAD):
    """A raw page with these launches."""
    rows = [head, units, *((str(i), *row) for i, row in enumerate(launches))]
    path.write_text("==PROF== Connected\n" + "\n".join(",".join(f'"{c}"' for c in row) for row in rows), encoding="utf-8")
    return path


def google(path, *benchmarks, **context):
    path.write_text(json.dumps({"context": context, "benchmarks": list(benchmarks)}), encoding="utf-8")
    return path


def benchmark(name, ns, **counters):
    return {"name": name, "run_name": name, "run_type": "iteration", "real_time": ns, "cpu_time": ns, "time_unit": "ns", "iterations": 9} | counters


def run(capsys, *arguments):
    code = command.main([str(a) for a in arguments])
    said = capsys.readouterr()
    return code, said.out, said.err


def test_launches_of_one_kernel_are_one(tmp_path):
    kernel, = load(ncu(tmp_path / "a.csv", SAXPY, SAXPY), Asked())
    assert (kernel.name, kernel.calls, kernel.seconds) == ("saxpy<float>", 2, pytest.approx(200e-6))
    assert (kernel.flops, kernel.bytes) == (2 * 60e6, pytest.approx(720e6)) and kernel.intensity == pytest.approx(1 / 6)


def test_a_page_with_one_row_a_metric_says_the_same(tmp_path):
    long = tmp_path / "long.csv"
    rows = [("ID", "Kernel Name", "Metric Name", "Metric Unit", "Metric Value")]
    rows += [("0", SAXPY[0], name, unit, value) for name, unit, value in zip(HEAD[3:], UNITS[3:], SAXPY[2:])]
    long.write_text("\n".join(",".join(f'"{c}"' for c in row) for row in rows), encoding="utf-8")
    wide, = load(ncu(tmp_path / "a.csv", SAXPY), Asked())
    other, = load(long, Asked())
    assert (other.name, other.seconds, other.flops, other.bytes) == (wide.name, wide.seconds, wide.flops, wide.bytes)


@pytest.mark.parametrize("change, said", (
    ({5: "3,000"}, "one of them is read wrongly"), ({2: ""}, "has no time"), ({2: "100,0x"}, "is no number as in English")))
def test_pages_that_contradict_themselves(tmp_path, change, said):
    row = [change.get(i, cell) for i, cell in enumerate(SAXPY)]
    with pytest.raises(InputError, match=said):
        load(ncu(tmp_path / "a.csv", row), Asked())


def test_without_all_three_counts_there_are_no_operations(tmp_path):
    kernel, = load(ncu(tmp_path / "a.csv", SAXPY[:-1], head=HEAD[:-1], units=UNITS[:-1]), Asked())
    assert kernel.flops is None and kernel.bytes
    assert load(ncu(tmp_path / "b.csv", SAXPY), Asked("bf16"))[0].flops is None, "tensor cores are not counted by these"


def test_a_binary_report_needs_its_module(tmp_path, monkeypatch):
    path = tmp_path / "a.ncu-rep"
    path.write_bytes(b"")
    monkeypatch.setitem(sys.modules, "ncu_report", None)
    with pytest.raises(InputError, match="--csv --page raw"):
        load(path, Asked())
    values = dict(zip(HEAD[3:], (100e3, 240e6, 120e6, 3.6e12, 0.0, 0.0, 30e6)))

    class Action:
        def name(self):
            return "saxpy(float)"

        def metric_by_name(self, name):
            return types.SimpleNamespace(as_double=lambda: values[name]) if name in values else None
    context = types.SimpleNamespace(num_ranges=lambda: 1, range_by_idx=lambda r: types.SimpleNamespace(
        num_actions=lambda: 1, action_by_idx=lambda a: Action()))
    monkeypatch.setitem(sys.modules, "ncu_report", types.SimpleNamespace(load_report=lambda path: context))
    kernel, = load(path, Asked())
    assert (kernel.name, kernel.seconds, kernel.flops, kernel.bytes) == ("saxpy", pytest.approx(1e-4), 60e6, pytest.approx(360e6))


def test_counters_of_google_benchmark(tmp_path):
    """Amounts of an iteration, or rates; repetitions by their median, without aggregates and errors."""
    path = google(tmp_path / "g.json", *(benchmark("dot/1024", t, flops=2048.0, bytes_per_second=8192.0 / t * 1e9) for t in (900.0, 1000.0, 1100.0)),
                  benchmark("dot/1024", 5.0, flops=1.0) | {"run_type": "aggregate"}, benchmark("broken", 1.0, error_occurred=True))
    kernel, = load(path, Asked())
    assert (kernel.name, kernel.calls, kernel.seconds, kernel.flops) == ("dot/1024", 3, pytest.approx(1e-6), 2048.0)
    assert kernel.bytes == pytest.approx(8192, rel=0.01)
    rates = google(tmp_path / "r.json", benchmark("dot", 1000.0, work=2.048e9))
    assert load(rates, Asked(flops="work", per_second=True))[0].flops == pytest.approx(2048)
    with pytest.raises(InputError, match="no benchmark has this counter"):
        load(rates, Asked(flops="wrk"))


@pytest.mark.parametrize("line, said", (
    ("a,1,10,5,,,", None), ("a,1,10,5,1e-8,,2", None), ("a,1,,,1e-8,5e-9,", None), ("a,1,10,,,,2", None),
    ("a,1,10,5,2e-8,,", "gflops: the file states"), ("a,1,10,5,,,3", "intensity: the file states"), ("a,0,1,1,,,", "no time above 0"),
    ("a,1,-1,5,,,", "no number from 0 on"), ("a,1,nan,5,,,", "no number from 0 on"), ("a,1,x,5,,,", "no number from 0 on")))
def test_a_table_states_what_agrees(tmp_path, line, said):
    path = tmp_path / "k.csv"
    path.write_text(f"name,seconds,flops,bytes,gflops,gbytes_per_s,intensity\n{line}\n", encoding="utf-8")
    if said:
        with pytest.raises(InputError, match=said):
            load(path, Asked())
    else:
        kernel, = load(path, Asked())
        assert (kernel.flops, kernel.bytes) == (pytest.approx(10), pytest.approx(5))


def test_roofs_go_out_and_come_back(tmp_path, capsys):
    """As ERT's file; without --roofs those of the recorded machine that the file names."""
    page = ncu(tmp_path / "a.csv", SAXPY)
    code, out, _ = run(capsys, page, "--ert", tmp_path / "ert.json", "--csv", tmp_path / "k.csv", "--figure", tmp_path / "f.svg")
    assert code == command.OK and out.startswith("NVIDIA H200: DRAM 4.") and "saxpy<float>" in out
    name, found = roofs([RECORDED / "nvidia-h200"], "gpu", "fp32", ())
    _, again = roofs([tmp_path / "ert.json"], "gpu", "fp32", ())
    assert name == "NVIDIA H200" and again.dram().value == pytest.approx(found.of_threads(None).dram().value)
    row = json.loads(run(capsys, page, "--roofs", RECORDED / "nvidia-h200", "--json")[1])["kernels"][0]
    assert row["of_dram"] == pytest.approx(3600 / found.of_threads(None).dram().value) and row["of_bound"] == pytest.approx(row["of_dram"])
    assert "saxpy" in (tmp_path / "f.svg").read_text(encoding="utf-8") and (tmp_path / "k.csv").read_text(encoding="utf-8").count("\n") == 2


def test_above_a_roof_there_is_no_share(tmp_path, capsys):
    path = tmp_path / "k.csv"
    path.write_text("name,seconds,flops,bytes\nfast,1e-9,1e9,1e9\n", encoding="utf-8")
    code, out, _ = run(capsys, path, "--roofs", RECORDED / "nvidia-h200")
    assert code == command.OK and "above the roof of peak and DRAM" in out and "%" not in out


@pytest.mark.parametrize("text, said", (("", "neither a CSV"), ("a,b\n1,2\n", "neither a CSV"), ("name,seconds\n", "no kernel in it"), ("\udc00", "not a text")))
def test_other_files_are_refused_in_a_line(tmp_path, capsys, text, said):
    path = tmp_path / "x.csv"
    path.write_bytes(text.encode("utf-8", "surrogateescape") if text != "\udc00" else b"\xff\xfe\x00")
    code, out, err = run(capsys, path, "--roofs", RECORDED / "nvidia-h200")
    assert code == command.BAD and not out and said in err and err.count("\n") == 1
    assert run(capsys, tmp_path / "none.csv")[0] == command.BAD


def test_a_device_that_nobody_recorded(tmp_path, capsys):
    path = ncu(tmp_path / "a.csv", [SAXPY[0], "NVIDIA Z9", *SAXPY[2:]])
    code, _, err = run(capsys, path)
    assert code == command.BAD and "no recorded machine is a nvidia z9: name results of rung with --roofs" in err


def test_parquet_needs_its_package(tmp_path, capsys, monkeypatch):
    """And is written with the rows of the CSV where it is there."""
    page = ncu(tmp_path / "a.csv", SAXPY)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    code, _, err = run(capsys, page, "--parquet", tmp_path / "k.parquet")
    assert code == command.BAD_OUTPUT and "--parquet needs pyarrow" in err and err.count("\n") == 1
    written = []
    parquet = types.SimpleNamespace(write_table=lambda table, path: written.append((table, path)))
    table = types.SimpleNamespace(from_pylist=lambda rows: rows)
    monkeypatch.setitem(sys.modules, "pyarrow", types.SimpleNamespace(Table=table, parquet=parquet))
    assert run(capsys, page, "--parquet", tmp_path / "k.parquet")[0] == command.OK
    [(rows, path)] = written
    assert [r["kernel"] for r in rows] == ["saxpy<float>"] and path == tmp_path / "k.parquet"


def test_the_metrics_that_it_needs(capsys):
    code, out, _ = run(capsys, "--metrics")
    assert code == command.OK and {programs.TIME, programs.DRAM, programs.FMA.format("f")} <= set(out.strip().split(","))
    assert run(capsys)[0] == command.BAD


def test_hostile_names_are_plain(tmp_path, capsys):
    path = tmp_path / "k.csv"
    path.write_text('name,seconds,flops,bytes\n"=cmd()\x1b[31m\u202e",1,1,1\n', encoding="utf-8")
    code, out, _ = run(capsys, path, "--roofs", RECORDED / "nvidia-h200", "--csv", tmp_path / "o.csv")
    assert code == command.OK and "\x1b" not in out and "\u202e" not in out
    assert (tmp_path / "o.csv").read_text(encoding="utf-8").splitlines()[1].startswith("'=")
