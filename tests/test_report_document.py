"""The whole document: every mix of live and recorded data, same bytes twice, hostile names, missing packages."""

import builtins
import dataclasses
import hashlib
import json
import sys

import pytest
from test_report_support import CORES, CPU, GPU, ROOT, SWEPT, changed, read, rendered, write

from report import cli, document, machines, output
from report.blocks import clean
from report.collect import collect


@pytest.fixture(scope="session")
def blank(tmp_path_factory):
    from report import style
    folder = tmp_path_factory.mktemp("blank")
    style.save(style.figure(2), folder, "blank")
    return folder


@pytest.fixture
def quick(monkeypatch, blank):
    """Figures are drawn but blank pages are saved, which is what takes the time."""
    def draw_all(study, made, folder, workers=1):
        for module in output.FIGURES:
            if module.NAME in made:
                module.draw(study, made[module.NAME])
                for end in ("pdf", "png"):
                    (folder / f"{module.NAME}.{end}").write_bytes((blank / f"blank.{end}").read_bytes())
    monkeypatch.setattr(output, "_draw_all", draw_all)


@pytest.fixture
def plain(monkeypatch):
    """No figures: for what the text says."""
    real = output.find_spec
    monkeypatch.setattr(output, "find_spec", lambda name: None if name == "matplotlib" else real(name))


def render(folder, *arguments):
    assert cli.main([*map(str, arguments), "--output", str(folder)]) == cli.OK
    return json.loads((folder / "report.json").read_text(encoding="utf-8"))


def blocks(data, kind):
    return [b for section in [data["answer"], *data["sections"]] for b in section if b["kind"] == kind]


def digests(folder):
    return {str(p.relative_to(folder)): hashlib.sha256(p.read_bytes()).hexdigest()
            for p in sorted(folder.rglob("*")) if p.is_file()}


def test_recorded_gpu_beside_live_cpu():
    data = read(rendered() / "report.json")
    assert (rendered() / "report.pdf").read_bytes().startswith(b"%PDF")
    figures = blocks(data, "figure")
    assert len(figures) == len(output.FIGURES) - len(SWEPT)
    of_cpu = ("roofline_cpu", "climb_cpu", "peers_cpu")
    for figure in figures:
        if not any(name in figure["file"] for name in of_cpu):
            assert "ecorded on Synthetic GPU, 2026-01-20" in figure["caption"], figure["file"]
    for figure in figures:
        if "traffic" not in figure["file"]:
            assert "hot mode" in figure["caption"] and "6 samples" in figure["caption"]
            assert "95 % rank intervals" in figure["caption"]
    assert data["errors"] == [] and len(data["sentences"]) == 3


def test_title_names_both_ladders(tmp_path):
    write(tmp_path / "in" / "m.json",
          changed(CPU / "matmul_ladder.json", title="The CPU’s ladder", gpu_unavailable="none"))
    write(tmp_path / "gpu" / "m.json", changed(GPU / "matmul_ladder.json", title="The GPU’s ladder"))
    study = collect([tmp_path / "in"], [tmp_path / "gpu"])
    assert document._title(study) == "The CPU’s ladder and the GPU’s ladder"
    assert document._title(collect([CPU], [])) == read(CPU / "matmul_ladder.json")["context"]["title"]
    assert "No GPU was measured here (none)" in json.dumps(machines.section(study))
    other = dataclasses.replace(study.cpu, machine="Another")
    elsewhere = dataclasses.replace(study, sides=study.sides | {"cpu": other})
    assert "No GPU was measured here" not in json.dumps(machines.section(elsewhere))


def test_live_gpu_leaves_the_recorded_set_alone(tmp_path, plain):
    live, stored = tmp_path / "live", tmp_path / "stored"
    for path in GPU.glob("*.json"):
        write(live / path.name, read(path))
        other = read(path)
        if "context" in other:
            other["context"]["gpu_name"] = "Some other GPU"
        write(stored / path.name, other)
    data = render(tmp_path / "out", live, "--recorded", stored)
    text = json.dumps(data, ensure_ascii=False)
    assert "recorded on" not in text and "measured on Synthetic GPU" in text
    assert "Some other GPU" not in json.dumps(data["sections"][:-1])


def test_only_a_recorded_folder(tmp_path, plain):
    folder = tmp_path / "experiments" / "recorded" / "machine"
    for path in GPU.glob("*.json"):
        write(folder / path.name, read(path))
    data = render(tmp_path / "out", folder)
    assert "recorded on Synthetic GPU" in data["subtitle"] and "recorded on Synthetic CPU" in data["subtitle"]


def test_cpu_only(tmp_path, quick):
    data = render(tmp_path, CPU)
    names = {b["file"] for b in blocks(data, "figure")}
    assert names == {f"figures/{n}.pdf" for n in ("answer", "ladder", "climb_cpu", "peers_cpu", "roofline_cpu",
                                                  "sizes")}
    assert any("no CUDA device was found" in b["text"] for b in blocks(data, "text"))
    assert (tmp_path / "report.pdf").exists()


@pytest.mark.parametrize("keep", (("matmul_ladder.json",), ("ratio.json",), ("ceilings.json",),
                                  ("ceilings.json", "ratio.json")))
def test_parts_of_a_study(tmp_path, quick, keep):
    for name in keep:
        write(tmp_path / "in" / name, read(CPU / name))
    render(tmp_path / "out", tmp_path / "in")
    assert (tmp_path / "out" / "report.pdf").exists()


@pytest.mark.parametrize("strip", (("bytes_min", "stop_reason"), ("transfer_seconds", "max_error_ratio"),
                                   ("op_per_byte_requested", "bytes_requested", "threads_per_block"),
                                   ("occupancy_theoretical", "mode"), ("m",)))
def test_missing_counters(tmp_path, quick, strip):
    for path in GPU.glob("*.json"):
        data = read(path)
        for entry in data.get("benchmarks", []):
            for key in strip:
                entry.pop(key, None)
        write(tmp_path / "in" / path.name, data)
    render(tmp_path / "out", tmp_path / "in")


@pytest.mark.parametrize("live, without", ((CPU, len(SWEPT)), (CORES, 0)))
def test_same_input_same_bytes(tmp_path, live, without):
    render(tmp_path, live, "--recorded", GPU)
    first, second = digests(rendered(live)), digests(tmp_path)
    assert first == second and len(first) == 3 * (len(output.FIGURES) - without) + 3


HOSTILE = ('#import "x"', "<script>alert(1)</script>", "$x^2$ *b* _i_ `c`", '"); #panic("', "=cmd()", "../../../etc",
           "\\u0000\x00\x1b[31m", "a" * 400, "\u202e reversed", "@label <x> ~ --", "two\nlines", "{{}} {0} %s %n")


def test_hostile_names(tmp_path, quick):
    data = read(CPU / "matmul_ladder.json")
    for i, (name, record) in enumerate(data["context"]["kernels"].items()):
        record["title"], record["idea"] = HOSTILE[i % len(HOSTILE)], HOSTILE[(i + 6) % len(HOSTILE)]
    for i, entry in enumerate(data["benchmarks"]):
        entry["run_name"] = f"{entry['run_name']}/{HOSTILE[i % len(HOSTILE)]}"
        entry["stop_reason"] = HOSTILE[i % len(HOSTILE)]
    data["context"] |= {"title": HOSTILE[0], "cpu_name": HOSTILE[3], "experiment": HOSTILE[5], "seed": HOSTILE[1],
                        HOSTILE[2]: HOSTILE[4], "gpu_unavailable": HOSTILE[6]}
    write(tmp_path / "in" / "m.json", data)
    made = render(tmp_path / "out", tmp_path / "in")
    assert made["title"].replace("\u200b", "") == HOSTILE[0]
    assert (tmp_path / "out" / "report.typ").read_bytes() == document.TEMPLATE.read_bytes()
    files = {p.relative_to(tmp_path / "out").parts[0] for p in (tmp_path / "out").rglob("*")}
    assert files == {"figures", "report.json", "report.typ", "report.pdf"}


def test_long_ladders_fit(tmp_path, quick):
    """Forty rungs on a side: figures grow, nothing fails."""
    data = read(GPU / "matmul_ladder.json")
    kernels, extra = data["context"]["kernels"], []
    for i in range(30):
        name = f"gpu/matmul/extra-{i}"
        kernels[name] = kernels["gpu/matmul/naive"] | {"title": f"Extra rung number {i} with a long title", "order": 300 + i}
        for entry in [e for e in data["benchmarks"] if e["kernel"] == "gpu/matmul/naive"]:
            extra.append(entry | {"kernel": name, "run_name": entry["run_name"].replace("naive", f"extra-{i}")})
    data["benchmarks"] += extra
    write(tmp_path / "in" / "m.json", data)
    render(tmp_path / "out", tmp_path / "in")


def test_other_families_get_a_table(tmp_path, plain):
    data = read(GPU / "matmul_ladder.json")
    record = data["context"]["kernels"]["gpu/matmul/naive"]
    data["context"]["kernels"]["gpu/vector/add"] = record | {"family": "vector", "title": "Vector addition"}
    sample = next(e for e in data["benchmarks"] if e["kernel"] == "gpu/matmul/naive")
    plain = {k: v for k, v in sample.items() if k not in ("m", "n", "k", "flops", "block", "tunable_names")}
    data["benchmarks"] += [plain | {"kernel": "gpu/vector/add", "run_name": "gpu/vector/add/n:1000000"}] * 7
    write(tmp_path / "in" / "m.json", data)
    tables = blocks(render(tmp_path / "out", tmp_path / "in"), "table")
    row = next(t["rows"][0] for t in tables if t["caption"].startswith("vector, GPU"))
    assert [row[0]["main"], row[1]["main"]] == ["Vector addition", "N = 1000000"]


def test_flags_skips_and_ignored_files_are_in_the_provenance(tmp_path, plain):
    data = changed(CPU / "matmul_ladder.json")
    data["benchmarks"][0]["real_time"] = -1
    write(tmp_path / "in" / "m.json", data)
    write(tmp_path / "in" / "old.json", changed(CPU / "matmul_ladder.json", date="2020-01-01T00:00:00"))
    text = json.dumps(render(tmp_path / "out", tmp_path / "in")["sections"][-1], ensure_ascii=False)
    assert "negative" in text and "ignored" in text and "old.json" in text and "wall budget" in text


def test_errors_are_on_the_first_page(tmp_path, plain):
    for path in CPU.glob("*.json"):
        write(tmp_path / "in" / path.name, read(path))
    roofs = read(CPU / "ceilings-cpu.json")
    roofs["empirical"]["gflops"]["data"] = [["AVX-512 FMA", 500.0]]
    write(tmp_path / "in" / "ceilings-cpu.json", roofs)
    (tmp_path / "in" / "ceilings.json").unlink()
    data = render(tmp_path / "out", tmp_path / "in")
    assert any("cpu/" in e and "AVX-512 FMA ceiling" in e for e in data["errors"])


def test_without_typst(tmp_path, quick, capsys, monkeypatch):
    real = builtins.__import__

    def without(name, *rest, **more):
        if name.split(".")[0] == "typst":
            raise ImportError(name)
        return real(name, *rest, **more)
    monkeypatch.setattr(builtins, "__import__", without)
    monkeypatch.delitem(sys.modules, "typst", raising=False)
    assert cli.main([str(CPU), "--output", str(tmp_path)]) == cli.OK
    text = capsys.readouterr().err
    assert "typst" in text and text.count("\n") == 1 and "later" in text
    assert not (tmp_path / "report.pdf").exists() and (tmp_path / "figures" / "ladder.pdf").exists()


def test_without_matplotlib(tmp_path, capsys, plain):
    data = render(tmp_path, CPU)
    text = capsys.readouterr().err
    assert "matplotlib" in text and text.count("\n") == 1
    assert not list(tmp_path.rglob("*.png")) and (tmp_path / "figures" / "ladder.csv").exists()
    assert (tmp_path / "report.pdf").exists() and not blocks(data, "figure")


def test_output_trouble(tmp_path, quick, capsys):
    (tmp_path / "file").write_text("in the way")
    assert cli.main([str(CPU), "--output", str(tmp_path / "file" / "out")]) == cli.BAD_OUTPUT
    text = capsys.readouterr().err
    assert "file" in text and text.count("\n") == 1


def test_stale_figures_go_and_own_output_is_not_input(tmp_path, quick):
    write(tmp_path / "m.json", read(CPU / "matmul_ladder.json"))
    out = tmp_path / "report"
    render(out, CPU, "--recorded", GPU)
    assert (out / "figures" / "occupancy.pdf").exists()
    data = render(out, tmp_path)
    assert not (out / "figures" / "occupancy.pdf").exists()
    assert "report.json" not in json.dumps(data)


def test_report_code_names_no_kernel_and_no_device():
    words = ("matmul", "cublas", "openblas", "eigen", "h100", "h200", "a100", "nvidia", "/tmp", "/work", "/home")
    for path in sorted((ROOT / "report").rglob("*.py")) + [document.TEMPLATE]:
        text = path.read_text(encoding="utf-8").lower()
        assert len(text.splitlines()) < 400
        found = [w for w in words if w in text]
        assert not found, f"{path.name}: {found}"


@pytest.mark.parametrize("text, shown", (("a\x00b", "a\ufffdb"), ("x\u202ey", "x\ufffdy"), (" two\n lines\t", "two lines"),
                                         ("a/b", "a/\u200bb"), ("a, b", "a, b"), ("y" * 81, ("y" * 40 + "\u200b") * 2 + "y")))
def test_clean_text(text, shown):
    assert clean(text) == shown
