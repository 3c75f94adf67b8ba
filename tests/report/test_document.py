"""The whole document: what must be in every report, whatever the results; the same bytes twice; hostile names."""

import ast
import builtins
import csv
import hashlib
import json
import os
import re
import shutil
import sys
import tomllib
import zlib
from collections.abc import Iterator

import pytest
from conftest import RECORDED, ROOT, printed, recorded
from synthetic import Run, ladder, study, write

from report import cli, document, forks
from report.data import declaration
from report.data.collect import collect
from report.data.ladder import build
from report.data.roofs import BEYOND
from report.sections import comparison, method


def render(folder, *arguments):
    assert cli.main([*map(str, arguments), "--output", str(folder)]) == cli.OK
    return printed(folder)


def digests(folder):
    return {str(p.relative_to(folder)): hashlib.sha256(p.read_bytes()).hexdigest()
            for p in sorted(folder.rglob("*")) if p.is_file()}


def blocks(data, kind):
    return [b for part in ("first", "main", "method", "appendix") for b in data[part] if b["kind"] == kind]


# Of the report of all recorded results


def test_every_figure_has_four_files_and_every_table_its_csv(whole):
    data = printed(whole)
    shown = {item["file"].removeprefix("figures/").removesuffix(".pdf") for b in blocks(data, "figures") for item in b["items"]}
    files = {p.name for p in (whole / "figures").iterdir() if not p.name.startswith(".")}
    assert len(shown) > 10 and files == {f"{name}.{end}" for name in shown for end in ("pdf", "svg", "png", "csv")}
    tables = [p for p in (whole / "tables").iterdir() if p.suffix == ".csv"]
    unprinted = [b for b in blocks(data, "text") if re.search(r"rows in tables/\u200b?\S+\.csv\.$", b["text"])]
    sentences = [p for p in tables if len(p.read_text().splitlines()) == 2]
    names = {b["name"] for b in blocks(data, "table")}
    assert len(tables) == len(names) + len(unprinted) + len(sentences) and unprinted
    for path in [*tables, *(whole / "figures").glob("*.csv")]:
        rows = list(csv.reader(path.open()))
        assert len(rows) > 1 and len({len(row) for row in rows}) == 1, path.name


def inflated(pdf: bytes) -> Iterator[bytes]:
    """The compressed objects of a PDF."""
    for stream in re.findall(rb"stream\r?\n(.*?)\r?\nendstream", pdf, re.DOTALL):
        try:
            yield zlib.decompressobj().decompress(stream)
        except zlib.error:
            continue


def fonts(pdf: bytes) -> set[str]:
    """The subtypes of all fonts of a PDF, in its plain objects and its compressed ones."""
    texts = [pdf, *inflated(pdf)]
    found = {kind.decode() for text in texts for kind in re.findall(rb"/Subtype\s*/(Type[0-3]|TrueType|CIDFontType[02])", text)}
    return found


def test_no_type_3_fonts(whole):
    paths = [*sorted(whole.glob("*.pdf")), *sorted((whole / "figures").glob("*.pdf"))]
    for path in paths:
        found = fonts(path.read_bytes())
        assert found and "Type3" not in found, path.name


def test_nothing_is_cut_off_at_the_edge_of_a_figure(whole):
    """Labels that are too long for their margin would leave ink there."""
    image = pytest.importorskip("matplotlib.image")
    for path in sorted((whole / "figures").glob("*.png")):
        pixels = image.imread(path)[..., :3]
        edges = {"left": pixels[:, 0], "right": pixels[:, -1], "top": pixels[0], "bottom": pixels[-1]}
        assert not [side for side, line in edges.items() if (line < 0.9).any()], path.name


def test_the_first_page_answers_the_question_with_two_figures(whole):
    data = printed(whole)
    page = data["page"]
    assert page["question"].endswith("?") and 2 <= len(page["sentences"]) <= 6
    assert all(s.endswith(".") and "recipe" not in s for s in page["sentences"])
    assert len(data["first"][0]["items"]) == 2, "two half figures side by side"


def test_every_experiment_has_a_question_and_a_finding(whole):
    """Each heading of the main part is followed by its question and at least one sentence."""
    main = printed(whole)["documents"]["experiments"]["main"]
    headings = [i for i, b in enumerate(main) if b["kind"] == "heading"]
    assert len(headings) >= 8
    for i in headings:
        assert main[i + 1]["kind"] == "question" and main[i + 1]["text"].rstrip(")").count("?") == 1
        assert main[i + 2]["kind"] == "text" and main[i + 2]["text"].endswith(".")


def test_every_finding_names_the_figures_that_show_it(whole):
    """They may stand on another page; the text names the first and the last figure before the next heading."""
    main = printed(whole)["documents"]["experiments"]["main"]
    headings = [i for i, b in enumerate(main) if b["kind"] == "heading"] + [len(main)]
    for begin, end in zip(headings, headings[1:]):
        names = [item["name"] for b in main[begin:end] if b["kind"] == "figures" for item in b["items"]]
        texts = [b for b in main[begin:end] if b["kind"] == "text"]
        last = next(b for b, following in zip(main[begin + 2:end], [*main[begin + 3:end], {}]) if following.get("kind") != "text")
        assert last in texts and last.get("figures") == ([names[0], names[-1]] if names else None)


def test_every_section_says_where_it_was_measured(whole):
    """In the caption of each figure, or in small print after all of them."""
    documents = printed(whole)["documents"]
    for name in ("report", "experiments", "data"):
        main = documents[name]["main"]
        headings = [i for i, b in enumerate(main) if b["kind"] == "heading"] + [len(main)]
        for begin, end in zip(headings, headings[1:]):
            notes = " ".join(b["text"] for b in main[begin:end] if b["kind"] == "note")
            for item in (item for b in main[begin:end] if b["kind"] == "figures" for item in b["items"]):
                assert re.search(r"\d{4}-\d\d-\d\d", item["caption"] + notes), item["caption"]
                assert item["alt"]


def test_no_caption_is_a_paragraph(whole):
    """Where a section says once where it was measured, captions are short; in the data they end with that."""
    documents = printed(whole)["documents"]
    for name, most, mean in (("report", 500, 320), ("experiments", 500, 230), ("data", 640, 320)):
        captions = [item["caption"] for b in documents[name]["main"] if b["kind"] == "figures" for item in b["items"]]
        captions += [b["caption"] for b in documents[name]["main"] if b["kind"] == "table"]
        assert max(map(len, captions)) < most and sum(map(len, captions)) / len(captions) < mean, name


def pages(path) -> int:
    """The pages of a PDF, by its page objects, plain or compressed."""
    streams = [path.read_bytes(), *inflated(path.read_bytes())]
    return sum(len(re.findall(rb"/Type\s*/Page\b", text)) for text in streams)


def test_the_paper_is_a_paper(whole):
    """At most twelve pages, with the experiments on at most twenty-five, one page of summary, and one slide."""
    found = {path.stem: pages(path) for path in whole.glob("*.pdf")}
    assert found.keys() == {"report", "experiments", "literature", "machines", "data", "summary", "slide"}
    assert found["report"] <= 12 and found["experiments"] <= 25 and found["summary"] == found["slide"] == 1, found


def test_each_reference_of_the_paper_is_in_its_list(whole):
    paper = printed(whole)["documents"]["report"]
    entries = next(b["items"] for b in paper["method"] if b["kind"] == "entries")
    assert [entry.partition(" ")[0] for entry in entries] == [f"[{i}]" for i in range(1, len(entries) + 1)]
    cited = [int(number) for b in paper["main"] if b["kind"] == "question" for group in re.findall(r"\[([^\]]+)\]", b["text"])
             for number in re.findall(r"(?:^|; )(\d+)", group)]
    assert len(cited) > 5 and max(cited) <= len(entries)


def test_the_last_page_names_what_to_cite(whole):
    last = printed(whole)["documents"]["data"]["main"][-1]["text"]
    assert re.search(r"commits? [0-9a-f]{10}", last) and re.search(r"\d{4}-\d\d-\d\d", last) and "NVIDIA" in last


def test_no_share_exceeds_its_whole_by_more_than_roofs_vary(whole):
    text = (whole / "report.json").read_text().replace("\u200b", "")
    shares = re.findall(r"([\d.]+)\u00a0% of (?:the|its) (?:measured )?\w* ?(?:peak|roof)", text)
    assert all(float(s) <= 100 * BEYOND for s in shares) and "None" not in text and "nan" not in re.findall(r"\b\w+\b", text)


def test_no_word_of_the_old_private_vocabulary(whole):
    text = (whole / "report.json").read_text().replace("\u200b", "")
    for phrase in ("for certain", "alarms on", "× before", "nobody uses", "brought most", "ambiguous", "right twin"):
        assert phrase not in re.sub(r'"idea".*', "", text), phrase


# Of synthetic results


def test_the_same_bytes_twice(tmp_path):
    ladder(sizes=(512,)).save(tmp_path / "in")
    render(tmp_path / "a", tmp_path / "in")
    render(tmp_path / "b", tmp_path / "in")
    first, second = digests(tmp_path / "a"), digests(tmp_path / "b")
    assert first == second and {"report.pdf", "report.json", "figures/matmul_ladder_rungs.svg"} <= first.keys()


def compared(study):
    ladders = [build(getattr(v, side), "matmul", "fp32", 512) for name, side in (("matmul_ladder", "gpu"), ("cpu_ladder", "cpu"))
               for v in study.views if v.name == name]
    return comparison.comparisons(study, ladders)


def test_gpu_and_cpu_ladders_are_compared(tmp_path):
    """With the copies, the GPU's time is the sum of the times of kernel and copies."""
    found, = compared(collect([study(tmp_path)], []))
    assert [round(s.gain().value, 2) for s in found.sizes] == [10.0, 10.0]
    seconds = 2 * 512**3 / 800e9
    assert found.last.moved.value == pytest.approx(10 * seconds / (seconds + 1e-4), rel=0.01)
    assert "10× as fast" in comparison.section(found).finding.replace("10.0×", "10×")


def test_ladders_of_two_hosts_are_not_compared(tmp_path):
    study(tmp_path)
    ladder("cpu", gpu_uuid="", gpu_name="", cpu_name="Synthetic laptop").save(tmp_path)
    assert not compared(collect([tmp_path], []))


@pytest.mark.parametrize("live, stored", (("nvidia-h200", ""), ("amd-epyc-2-cores", "recorded")))
def test_sections_agree_on_the_gpu_against_the_cpu(live, stored):
    """Crossover and comparison at every common size, with and without copies; and only one host is in it."""
    made = document.make(collect([RECORDED / live], [RECORDED] if stored else []))
    crossover = next(c.section for c in made.found if c.view.name == "crossover")
    sizes = next(t for t in crossover.appendix if getattr(t, "name", "") == "crossover_sizes").rows
    known = {(r["family"], r["type"], r["n"]): r for r in sizes if r["question"] in ("", "data random")}
    joined, = made.joined
    rows = joined.appendix[0].rows
    assert len(rows) >= 5
    for r in rows:
        other = known["matmul", "fp32", r["n"]]
        assert (r["ratio"], r["with_transfer"], r["cpu_kernel"], r["gpu_kernel"]) == (
            other["without"], other["with"], other["cpu_kernel"], other["gpu_kernel"])
    assert {(r["cpu_machine"], r["gpu_machine"].split(" (")[0]) for r in sizes} == {("Intel Xeon Processor, 16 cores", "NVIDIA H200")}
    texts = " ".join([crossover.finding, *crossover.answer, joined.finding, *joined.answer])
    assert "2 threads" not in texts


def recorded_experiments():
    """Every recorded set of every experiment. The first of each kind of report is always tested, the others are long."""
    machines = sorted((p for p in RECORDED.iterdir() if p.is_dir()), key=lambda p: (-len(list(p.glob("*.json*"))), p.name))
    kinds = set()
    for name in sorted(p.stem for p in (ROOT / "experiments").glob("*.toml") if p.stem not in ("sources", "claims", "documents", "rows")):
        kind = tomllib.loads((ROOT / "experiments" / f"{name}.toml").read_text())["report"]["kind"]
        for file in (file for m in machines if (file := recorded(m.name, name)).is_file()):
            yield pytest.param(file, marks=[pytest.mark.long] if kind in kinds else [], id=f"{name}-{file.parent.name}")
            kinds.add(kind)


@pytest.mark.parametrize("file", list(recorded_experiments()))
def test_a_single_experiment_fills_its_first_page(file, tmp_path, quick):
    """Finding, figure and what the experiment says of the literature’s claims begin on page 1, which is full to the foot.
    Code 0: nothing is left out as damaged, by which a mistake in an experiment's code is seen here."""
    data = render(tmp_path, file, "--recorded", RECORDED)
    assert data["page"]["question"] and all(data["page"]["sentences"])
    assert any(b["kind"] in ("figures", "table") for b in data["first"])
    assert lowest_ink(tmp_path) > 0.75


def as_pictures(file):
    import typst
    return typst.compile(str(file), root=str(file.parent), format="png", ppi=20, ignore_system_fonts=True)


def lowest_ink(folder) -> float:
    """How far down the first page's text and figures reach, of its height, the page number left out."""
    import io

    import numpy as np
    from matplotlib.image import imread
    pages = forks.in_a_fork(as_pictures, folder / "report.typ")
    page = imread(io.BytesIO(pages[0] if isinstance(pages, list) else pages))[..., :3].min(axis=2)
    rows = np.flatnonzero((page < 0.8).any(axis=1)) / page.shape[0]
    return float(rows[rows < 0.93].max())


# A new experiment

TOML = 'title = "Vectors"\nquestion = "How fast?"\nchapter = 25\n\n[report]\nkind = "sweep"\nfactor = 3\n'
MODULE = '''"""Vectors."""

from report.experiment import Figure, Section, Table, Column, numbers, words


def section(view):
    points = view.gpu.timed("vector")
    factor = view.settings["factor"]
    rows = [{"n": p.n, "ulp": p.judged["max_ulp"], "rate": p.value} for p in points]

    def draw(fig):
        from report.draw import lines, style
        lines.draw(style.axes(fig, 14, 9, 30, 2), [lines.Series("add", [lines.dot(p, p.n) for p in points])], "n", "Rate",
                   unit=points[0].metric.unit)
    return Section(f"{factor} times: {numbers.rate(points[-1])}.", figures=[Figure(
        "vectors_rate", rows, draw, f"Rates. {words.provenance(view.gpu, points)}", "Line plot.")],
        tables=[Table("vectors_ulp", "Errors.", (Column("ulp", "ULP", numbers.significant),), rows)])
'''


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """experiments/ with all that is there, to which a test may add."""
    made = tmp_path / "experiments"
    made.mkdir()
    for path in (ROOT / "experiments").iterdir():
        if path.is_file():
            shutil.copy(path, made)
    monkeypatch.setattr(declaration, "FOLDER", made)
    return made


def test_a_new_experiment_is_one_toml(folder, tmp_path, quick):
    """With a metric and judged values of its own, at its chapter, by the generic section."""
    (folder / "vectors.toml").write_text(TOML)
    data = render(tmp_path / "out", study(tmp_path / "in"))
    titles = [b["text"] for b in data["documents"]["experiments"]["main"] if b["kind"] == "heading"]
    assert titles.index("Title of vectors") == 0, "chapter 25 is before the ladder's 30"
    assert "1.00\u00a0Gcell/s" in json.dumps(data, ensure_ascii=False)
    table = next(b for b in blocks(data, "table") if "every timed point" in b["caption"] and "Title of vectors" in b["caption"])
    assert "max ulp" in table["columns"] and ["3.00", "4.00", "5.00"] == [row[table["columns"].index("max ulp")] for row in table["rows"]]
    rows = list(csv.DictReader((tmp_path / "out" / "figures" / "vectors_gpu.csv").open()))
    assert [r["judged_max_ulp"] for r in rows] == ["3", "4", "5"] and {r["unit"] for r in rows} == {"cell/s"}


def test_a_new_experiment_may_have_a_py(folder, tmp_path, quick):
    (folder / "vectors.toml").write_text(TOML)
    (folder / "vectors.py").write_text(MODULE)
    data = render(tmp_path / "out", study(tmp_path / "in"))
    text = json.dumps(data, ensure_ascii=False)
    assert "3 times: 1.00\u00a0Gcell/s." in text and "figures/vectors_rate.pdf" in text
    assert (tmp_path / "out" / "tables" / "vectors_ulp.csv").is_file()
    single = render(tmp_path / "single", tmp_path / "in" / "vectors.json")
    assert single["page"]["sentences"] == ["3 times: 1.00\u00a0Gcell/s."]


def test_results_carry_their_own_declaration(tmp_path, plain):
    run = Run("nowhere", experiment_toml='chapter = 1\n[report]\nkind = "sweep"\nkey = "value"\n')
    run.rate("gpu/matmul/naive", 5)
    run.save(tmp_path)
    view = collect([tmp_path], []).views[0]
    assert view.chapter == 1 and view.settings["key"] == "value"


def test_names_of_experiments_lead_nowhere_else(folder, tmp_path, plain):
    (tmp_path / "outside.toml").write_text(TOML)
    (tmp_path / "outside.py").write_text("raise SystemError")
    assert declaration.of("../outside", "") == declaration.Declaration() == declaration.of("", "")
    (folder / "inside.toml").write_text(TOML)
    assert declaration.of("inside", "").chapter == 25
    ladder(experiment="../outside").save(tmp_path / "in", "x")
    render(tmp_path / "out", tmp_path / "in")


# Hostile names and files

HOSTILE = ('#import "x"', "<script>alert(1)</script>", "$x^2$ *b* _i_ `c`", '"); #panic("', "=cmd()", "../../../etc",
           "\\u0000\x00\x1b[31m", "a" * 400, "\u202e reversed", "@label <x> ~ --", "two\nlines", "{{}} {0} %s %n")


def test_hostile_names_are_escaped(tmp_path, quick):
    made = ladder()
    data = made.data()
    for i, record in enumerate(data["context"]["kernels"].values()):
        record["title"], record["idea"] = HOSTILE[i % len(HOSTILE)], HOSTILE[(i + 6) % len(HOSTILE)]
        record["source"] = [{"id": HOSTILE[i], "where": HOSTILE[(i + 3) % len(HOSTILE)]}]
    for i, entry in enumerate(data["benchmarks"]):
        entry["run_name"] = f"{entry['run_name']}/{HOSTILE[i // 12 % len(HOSTILE)]}"
    data["context"] |= {"title": HOSTILE[0], "question": HOSTILE[1], "gpu_name": HOSTILE[3], "experiment": HOSTILE[5],
                        "seed": HOSTILE[1], HOSTILE[2]: HOSTILE[4]}
    write(tmp_path / "in" / "m.json", data)
    shown = render(tmp_path / "out", tmp_path / "in")
    assert shown["page"]["title"].replace("\u200b", "") == HOSTILE[0]
    assert (tmp_path / "out" / "report.typ").read_bytes() == document.TEMPLATE.read_bytes()
    files = {p.relative_to(tmp_path / "out").parts[0] for p in (tmp_path / "out").rglob("*")}
    assert files == {"figures", "tables", "latex", "report.json", "report.typ", "report.pdf", "report.html"}
    assert {p.name for p in tmp_path.iterdir()} == {"in", "out"}
    text = (tmp_path / "out" / "report.json").read_text()
    assert not any(c in text for c in "\x00\x1b\u202e")
    for path in (tmp_path / "out").rglob("*.csv"):
        assert not any(cell.startswith("=") for row in csv.reader(path.open()) for cell in row), path.name


def test_long_ladders_fit(tmp_path, quick):
    """Forty rungs more: nothing fails, and none is left out."""
    run = ladder()
    for i in range(40):
        run.rate(run.kernel(f"gpu/matmul/extra_{i}", title=f"Extra rung number {i} with a long title"), 10 + i)
    run.save(tmp_path / "in")
    render(tmp_path / "out", tmp_path / "in")
    with (tmp_path / "out" / "figures" / "matmul_ladder_rungs.csv").open() as file:
        assert len(list(csv.DictReader(file))) == 44


@pytest.mark.parametrize("strip", ("bytes_min", "stop_reason", "op_per_byte_declared", "occupancy_theoretical",
                                   "transfer_seconds", "flops_useful"))
def test_results_that_lack_a_field(tmp_path, quick, strip):
    data = ladder().data()
    for entry in data["benchmarks"]:
        entry.pop(strip, None)
    write(tmp_path / "in" / "m.json", data)
    render(tmp_path / "out", tmp_path / "in")
    assert (tmp_path / "out" / "report.pdf").exists()


@pytest.mark.parametrize("key", ("gpu_clock_khz", "gpu_memory_bytes", "memory_bytes"))
def test_a_machine_of_no_size(tmp_path, plain, key):
    run = Run("small", **{key: 10**400})
    run.rate("cpu/matmul/naive", 50)
    run.rate("gpu/matmul/naive", 50)
    run.save(tmp_path)
    assert document.make(collect([tmp_path], [])).tables()


def test_a_side_that_is_a_word_is_no_n(tmp_path, plain):
    run = Run("small")
    for n in (8, "eight"):
        run.time("cpu/matmul/naive", 1e-3, {"n": n, "m": n, "k": n})
    run.save(tmp_path)
    study = collect([tmp_path], [])
    assert [p.n for view in study.views for p in view.cpu.timed()] == [None, 8]
    assert document.make(study).found


@pytest.mark.parametrize("load", ([0.25, 1], [], 7, "high", ["high"], None))
def test_the_load_is_a_number_or_not_told(tmp_path, plain, load):
    run = Run("small", load_avg=load)
    run.rate("cpu/matmul/naive", 50)
    run.save(tmp_path)
    shown = next(t for t in document.make(collect([tmp_path], [])).tables() if t.name == "runs")
    assert shown.rows[0]["load"] == (0.25 if load == [0.25, 1] else None)


def test_flags_and_skips_are_in_the_provenance(tmp_path, plain):
    run = ladder()
    run.benchmarks[0]["real_time"] = -1
    run.skip("gpu/matmul/naive", "would take too long", 8192)
    run.save(tmp_path / "in")
    text = json.dumps(render(tmp_path / "out", tmp_path / "in")["appendix"], ensure_ascii=False)
    assert "real_\u200btime is negative" in text and "would take too long" in text


def test_refused_kernels_are_on_the_first_page_and_in_the_provenance(tmp_path, plain):
    run = ladder(refused_kernels={"gpu/matmul/mine": "it has no .gpu.launch"})
    run.save(tmp_path / "in")
    made = render(tmp_path / "out", tmp_path / "in")
    assert "gpu/matmul/mine was refused and is missing" in json.dumps(made["page"], ensure_ascii=False).replace("\u200b", "")
    text = json.dumps(made["appendix"], ensure_ascii=False).replace("\u200b", "")
    assert "it has no .gpu.launch" in text and "No point was skipped" not in text


def test_without_typst(tmp_path, quick, capsys, monkeypatch):
    real = builtins.__import__

    def without(name, *rest, **more):
        if name.split(".")[0] == "typst":
            raise ModuleNotFoundError(name)
        return real(name, *rest, **more)
    monkeypatch.setattr(builtins, "__import__", without)
    monkeypatch.delitem(sys.modules, "typst", raising=False)
    ladder().save(tmp_path / "in")
    render(tmp_path / "out", tmp_path / "in")
    text = capsys.readouterr().err
    assert "typst" in text and text.count("\n") == 1 and "later" in text
    assert not (tmp_path / "out" / "report.pdf").exists() and (tmp_path / "out" / "figures" / "matmul_ladder_rungs.csv").exists()


def dies(*_):
    os._exit(1)


def test_a_typst_that_dies_is_told_in_a_line(tmp_path, capsys, plain, monkeypatch):
    monkeypatch.setattr(document, "_typeset", dies)
    ladder().save(tmp_path / "in")
    assert cli.main([str(tmp_path / "in"), "--output", str(tmp_path / "out")]) == cli.BAD_OUTPUT
    text = capsys.readouterr().err
    assert text.endswith("typst: report: its process ended early, perhaps because memory ran out\n") and "Traceback" not in text


def test_without_matplotlib(tmp_path, capsys, plain):
    ladder().save(tmp_path / "in")
    data = render(tmp_path / "out", tmp_path / "in")
    text = capsys.readouterr().err
    assert "matplotlib" in text and text.count("\n") == 1
    assert not list(tmp_path.rglob("*.png")) and (tmp_path / "out" / "figures" / "matmul_ladder_rungs.csv").exists()
    assert (tmp_path / "out" / "report.pdf").exists()
    assert all(not item["file"] and "matplotlib is missing" in item["caption"] for b in blocks(data, "figures") for item in b["items"])


def test_output_trouble(tmp_path, plain, capsys):
    (tmp_path / "file").write_text("in the way")
    ladder().save(tmp_path / "in")
    assert cli.main([str(tmp_path / "in"), "--output", str(tmp_path / "file" / "out")]) == cli.BAD_OUTPUT
    text = capsys.readouterr().err.splitlines()[-1]
    assert "file" in text and text.startswith("report: ")


def constants(path):
    """The texts in a module's code; docstrings and comments may give examples."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    plain = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    return " ".join(str(node.value) for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in plain)


def test_report_code_names_no_kernel_and_no_device():
    for path in sorted((ROOT / "report").rglob("*.py")):
        text = constants(path).lower()
        found = [w for w in ("matmul", "cublas", "openblas", "eigen", "h100", "h200", "a100", "/tmp", "/work", "/home") if w in text]
        assert found == (["matmul"] if path.name == "schema.py" else []), path.name
        assert len(path.read_text(encoding="utf-8").splitlines()) < 400, path.name


@pytest.mark.parametrize("source, said", ((None, "read right after each sample"), ("over the sample", "the mean over each sample")))
def test_the_method_says_where_products_are_measured_otherwise_than_nvidia_s_guidelines_ask(tmp_path, source, said):
    run = ladder(**({"sm_clock_source": source} if source else {}))
    for entry in run.benchmarks:
        entry["warm_up_seconds"] = 0.05
    run.save(tmp_path)
    text = " ".join(b.get("text", "") for b in method.method(collect([tmp_path], [])))
    assert f"the clock that the kernel ran at ({said})" in text and "each round with at most 0.05\u00a0s" in text
    assert ("except in older runs" in text) == (source is None)
    ladder("cpu").save(tmp_path / "cpu")
    assert "guidelines" not in " ".join(b.get("text", "") for b in method.method(collect([tmp_path / "cpu"], [])))
