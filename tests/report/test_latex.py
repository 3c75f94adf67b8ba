"""OUTPUT/latex: numbers, captions, tables and references for a paper, which compile and print foreign text literally."""

import csv
import os
import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from synthetic import Run, ladder, study

from report import cli, figures, latex
from report.data.collect import collect as collect_study
from report.document import make
from report.experiment import Column, Figure, Table
from report.latex import bibliography, quantities, sample, tables, units
from report.latex.escape import comment, escape
from report.text import numbers, sources

HOSTILE = (r"\input{/etc/passwd}", r"\write18{touch x}", r"$ _ % # & ~ ^ { }", "}}{{", r"\\[1cm]", "^^5cinput", "a%b", "[x]", "\x1b[31m\x00",
           "\u202egnp.exe\u2066", "矩 \ufffd é ł ß ≤ ×", "two\nlines\rthree\u2028four", "-- --- ?` !` ,, << >> '' ``", "\\", "\"quoted\"",
           "ﬁ \u200b\u00ad", "\\end{document}")
LINE = re.compile(r"\\rung(quantity|factor|count|other)\{([^{}]+)\}\{([^{}]+)\}(.*)")
FIELD = re.compile(r"\{([^{}]*)\}")
OWN = {"begin", "end", "toprule", "midrule", "bottomrule", "hsize", "raggedright", "raggedleft", "arraybackslash", "rungwidth", "rungbreak", "rungchar",
       "ensuremath", "surd", "partial", "nabla",
       "textbackslash", "textbraceleft", "textbraceright", "textasciitilde", "textasciicircum", "textless", "textgreater", "textbar", "textasciigrave",
       "times", "le", "ge", "l", "ss", "textendash", "mu", "rungfigurecaption", "rungcaptionoftable", "textquoteright", "textquoteleft", "cdot",
       *"$&#%_,\\", "'", "`", "^", "~"}
"""The commands that text may become."""
PREFIX = {r"\peta": 1e15, r"\tera": 1e12, r"\giga": 1e9, r"\mega": 1e6, r"\kilo": 1e3, r"\milli": 1e-3, r"\micro": 1e-6, r"\nano": 1e-9}

needs_latex = pytest.mark.skipif(
    not shutil.which("latexmk") or not shutil.which("kpsewhich") or subprocess.run(["kpsewhich", "siunitx.sty"], capture_output=True).returncode != 0,
    reason="latexmk or siunitx is not installed")


@pytest.fixture(scope="module")
def rendered(tmp_path_factory) -> Path:
    """The report of a small study."""
    folder = tmp_path_factory.mktemp("latex")
    assert cli.main([str(study_of(folder / "in")), "--output", str(folder / "out")]) == cli.OK
    return folder / "out"


def study_of(folder: Path) -> Path:
    return study(folder)


def lines(folder: Path) -> dict[str, tuple[str, str, list[str], str]]:
    """Of each key of numbers.tex: the kind, the number, the further fields, the comment."""
    text = (folder / "latex" / "numbers.tex").read_text(encoding="utf-8")
    found = [m for line in text.splitlines() if not line.startswith("%") and (m := LINE.fullmatch(line))]
    assert len(found) == sum(not line.startswith("%") for line in text.splitlines()) > 0, "each line is a number"
    assert [k for k, times in Counter(m[2] for m in found).items() if times > 1] == []
    return {m[2]: (m[1], m[3], FIELD.findall(m[4].split("}%")[0] + "}"), m[4].partition("% ")[2]) for m in found}


def rows(folder: Path, name: str) -> list[dict]:
    with open(folder / "tables" / f"{name}.csv", newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def exact(told: tuple) -> str:
    """The value in a line's comment."""
    return told[3].rsplit("; ", 1)[1].split(" ")[0]


def scale(told: tuple) -> float:
    macros = re.match(r"\\[a-z]+", told[2][0]) if told[0] == "quantity" else None
    return PREFIX.get(macros[0], 1.0) if macros else 1.0


# Numbers


def test_numbers_of_a_ladder_are_those_of_its_csv(rendered):
    told = lines(rendered)
    of_kernel = {}
    for row in rows(rendered, "matmul_ladder_rungs"):
        stem = f"matmul_ladder/{row['kernel']}/n512"
        for quantity, column in (("rate", "value"), ("time", "median_seconds"), ("gain", "gain"), ("share_of_peak", "share_of_peak"),
                                 ("over_library", "over Library")):
            assert (f"{stem}/{quantity}" in told) == bool(row[column]), (stem, quantity)
            if row[column]:
                assert exact(told[f"{stem}/{quantity}"]) == row[column]
        kind, number, (unit, low, high), _ = told[f"{stem}/rate"]
        factor = scale(told[f"{stem}/rate"]) / 1e9
        for text, column in ((number, "value"), (low, "low"), (high, "high")):
            assert float(text) * factor == pytest.approx(float(row[column]), rel=6e-3)
        assert (kind, unit) == ("quantity", r"\giga\FLOP\per\second")
        of_kernel[row["kernel"]] = number
    assert of_kernel["gpu/matmul/top"] == "799" and of_kernel["gpu/matmul/library"] == "699"


def test_roles_of_a_ladder_are_the_kernels_that_the_report_names(rendered):
    told = lines(rendered)
    for role, kernel in (("bottom", "naive"), ("top", "top"), ("fastest", "top"), ("library", "library")):
        for quantity in ("rate", "time", "share_of_peak"):
            assert told[f"matmul_ladder/gpu/matmul/fp32/{role}/{quantity}"] == told[f"matmul_ladder/gpu/matmul/{kernel}/n512/{quantity}"]
    assert told["matmul_ladder/gpu/matmul/fp32/top/over_library"] == told["matmul_ladder/gpu/matmul/top/n512/over_library"]


def test_rates_at_every_size(rendered):
    told = lines(rendered)
    assert {key for key in told if key.startswith("matmul_ladder/gpu/matmul/tiled/")} == {
        "matmul_ladder/gpu/matmul/tiled/n256/rate",
        *(f"matmul_ladder/gpu/matmul/tiled/n512/{q}" for q in ("rate", "time", "gain", "share_of_peak", "over_library"))}


def test_roofs_and_speed_ups_are_those_of_the_csv(rendered):
    told = lines(rendered)
    roofs = [r for side in ("gpu", "cpu") for r in rows(rendered, f"roofs_{side}")]
    expected = {}
    for r in roofs:
        threads = f"_{r['threads']}_threads" if r["threads"] else ""
        expected[f"roofs/{r['kernel'].split('/')[0]}/1234/{r['label'].lower().replace(' ', '_')}{threads}/rate"] = r["value"]
    assert {key: exact(told[key]) for key in told if key.startswith("roofs/")} == expected
    speed_ups = rows(rendered, "gpu_against_cpu_matmul_fp32")
    assert len(speed_ups) == 2
    for row in speed_ups:
        for quantity, value, ends in (("speedup", "ratio", ("low", "high")),
                                      ("speedup_with_copies", "with_transfer", ("with_transfer_low", "with_transfer_high"))):
            kind, number, (low, high), _ = found = told[f"gpu_against_cpu/matmul/fp32/one/n{row['n']}/{quantity}"]
            assert kind == "factor" and exact(found) == row[value]
            assert f"{number}×" == numbers.times(float(row[value])) and [low, high] == [numbers.significant(float(row[x])) for x in ends]


def test_starts_are_sizes_from_which_every_speed_up_is_above_one(tmp_path, plain):
    one = ladder("gpu", sizes=())
    cpu = ladder("cpu", sizes=(64, 128, 256, 512))
    for n, factor in ((64, 0.02), (128, 0.03), (256, 1.0), (512, 1.0)):
        one.context["kernels"] |= (part := ladder("gpu", sizes=(n,), factor=factor)).context["kernels"]
        one.benchmarks += [b for b in part.benchmarks if "ceiling" not in b["kernel"]]
    for run in (one, cpu):
        run.save(tmp_path / "in")
    assert cli.main([str(tmp_path / "in"), "--output", str(tmp_path / "out")]) == cli.OK
    told = lines(tmp_path / "out")
    speed_ups = {row["n"]: float(row["low"]) for row in rows(tmp_path / "out", "gpu_against_cpu_matmul_fp32")}
    assert {n: low > 1 for n, low in speed_ups.items()} == {"64": False, "128": False, "256": True, "512": True}
    assert told["gpu_against_cpu/matmul/fp32/one/start"][:2] == ("count", "256")


def test_each_number_names_machine_day_and_samples(rendered):
    for key, (*_, said) in lines(rendered).items():
        assert re.search(r"Synthetic [CG]PU", said) and "2026-02-03" in said and re.search(r"\d+ samples?", said), key


def test_keys_do_not_depend_on_what_else_was_measured(rendered, tmp_path, plain):
    run = ladder("gpu", sizes=(256, 512, 1024), gpu_name="Another GPU", gpu_uuid="GPU-abcdef00", date="2026-03-04T05:06:07+00:00")
    run.kernel("gpu/matmul/between", order=115)
    run.rate("gpu/matmul/between", 500, 512)
    run.save(tmp_path / "in")
    assert cli.main([str(tmp_path / "in"), "--output", str(tmp_path / "out")]) == cli.OK
    before, after = ({key for key in lines(folder) if key.startswith("matmul_ladder/gpu/")} for folder in (rendered, tmp_path / "out"))
    assert before and before <= after and "matmul_ladder/gpu/matmul/between/n512/gain" in after


def test_two_numbers_never_have_one_key(tmp_path):
    run = ladder("gpu", sizes=(512,))
    for name in ("gpu/matmul/a b", "gpu/matmul/a_b", "gpu/matmul/a$b"):
        run.rate(run.kernel(name, order=105), 200 + len(run.context["kernels"]), 512)
    run.save(tmp_path)
    made = make(collect_study([tmp_path], [], tmp_path / "out"))
    found = quantities.collect(made.study, made.found)
    keys = [n.key for n in found]
    assert len(set(keys)) == len(keys) and keys == sorted(keys) and all(re.fullmatch(r"[A-Za-z0-9._/-]+", key) for key in keys)
    assert {key for key in keys if "/a_b" in key and key.endswith(("rate", "rate-2", "rate-3"))} == {
        f"matmul_ladder/gpu/matmul/a_b/n512/rate{end}" for end in ("", "-2", "-3")}


@pytest.mark.parametrize("text, number, unit", (
    ("5.43\u00a0TFLOP/s", "5.43", "TFLOP/s"), ("1.49×", "1.49", "×"), ("68\u202f719\u202f476\u202f736", "68719476736", ""), ("3.93·10¹²", "3.93e12", ""),
    ("1.8\u00a0×\u00a010⁻⁷\u00a0%", "1.8e-7", "%"), ("71\u00a0%", "71", "%"), ("0\u00a0s", "0", "s")))
def test_a_text_is_split_into_number_and_unit(text, number, unit):
    assert units.split(text) == (number, unit)


@pytest.mark.parametrize("text", ("–", "> 100\u00a0%", "above the roof", "inf", "1}{2", ""))
def test_what_is_no_number_is_none(text):
    with pytest.raises(ValueError):
        units.split(text)
    assert quantities.number("a", 1.0, text, None, "", "") is None


@pytest.mark.parametrize("unit, macros", (
    ("TFLOP/s", r"\tera\FLOP\per\second"), ("GB/s", r"\giga\byte\per\second"), ("OP/B", r"\OP\per\byte"), ("GPixel/s", r"\giga\rungpixel\per\second"),
    ("Gcell/s", r"\giga\rungcell\per\second"), ("ms", r"\milli\second"), ("key/s", r"\rungkey\per\second"), ("%", r"\percent"), ("µs", r"\micro\second"),
    ("widget/s", None), (r"\input{x}/s", None)))
def test_units_are_macros(unit, macros):
    assert units.macros(unit) == macros


def test_each_unit_is_declared_or_of_siunitx():
    style = latex.STYLE.read_text(encoding="utf-8")
    of_siunitx = {r"\second", r"\byte", r"\joule", r"\watt", r"\hertz", r"\percent"}
    assert {macro for macro in units.UNITS.values() if rf"\DeclareSIUnit{{{macro}}}" not in style} == of_siunitx


# Text


def commands(text: str) -> set[str]:
    return {m[1] for m in re.finditer(r"\\([A-Za-z@]+|.)", text, re.DOTALL)}


def balance(text: str) -> int:
    """Open braces less closed ones; -1 where one closes that is not open."""
    level = 0
    for c in re.sub(r"\\.", "", text, flags=re.DOTALL):
        level += (c == "{") - (c == "}")
        if level < 0:
            return -1
    return level


@pytest.mark.parametrize("text", HOSTILE)
def test_no_text_becomes_a_command(text):
    made = escape(text)
    assert made.isascii() and made.isprintable() and balance(made) == 0 and commands(made) <= OWN
    assert not re.search(r"(?<!\\)[%#&$_]|\^\^|\x60\x60|--|''|<<|>>|(?<![\\{])\"", re.sub(r"\\ensuremath\{[^}]*\}+", "", made).replace(r"\^", ""))
    assert "\n" not in comment(text) and "\r" not in comment(text) and comment(text).isprintable() or "\ufffd" in comment(text)


def test_plain_text_stays_as_it_is():
    assert escape("N = 4096, 12 samples; see (a).") == "N = 4096, 12 samples; see (a)."
    assert escape("naïve Čech über i̇") .startswith(r"na{\" {i}}".replace(" ", "")[:2])
    assert escape("é") == r"{\'{e}}" and escape("ï") == r'{\"{\i}}' and escape("5 × 3 ≤ 16") == r"5 \ensuremath{\times} 3 \ensuremath{\le} 16"


def hostile_study(folder: Path) -> Path:
    """Every text that a report prints has hostile letters."""
    evil = " ".join(HOSTILE)
    run = ladder("gpu", sizes=(256, 512), gpu_name=f"Board {evil}", git_commit=evil, command_line=evil, title=evil, question=evil, rung_version=evil)
    for i, record in enumerate(run.context["kernels"].values()):
        record["title"] += f" {HOSTILE[i % len(HOSTILE)]}"
        record["idea"] = evil
    run.context["problems"]["matmul"]["title"] = evil
    run.skip("gpu/matmul/tiled", evil, 4096)
    run.save(folder)
    cpu = ladder("cpu", sizes=(256, 512), cpu_name=f"CPU {evil}", gpu_name=f"Board {evil}")
    cpu.save(folder)
    for i, text in enumerate(HOSTILE):
        other = Run(f"other{i}", title=text, problems={"f": {"title": text, "metric": {"key": "cells_per_s", "unit": f"{text}/s"}, "size_names": ["n"]}})
        for n in (1000, 2000):
            other.time("gpu/f/add", n * 1e-9, {"n": n}, {"kind": text}, cells_per_s=1e9)
        other.save(folder)
    return folder


@pytest.fixture(scope="module")
def hostile(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("hostile")
    from report import output
    real = output.find_spec
    output.find_spec = lambda name: None if name == "matplotlib" else real(name)
    try:
        cli.main([str(hostile_study(folder / "in")), "--output", str(folder / "out")])
    finally:
        output.find_spec = real
    return folder / "out"


def test_no_file_has_a_foreign_command(hostile):
    files = [hostile / "latex" / "captions.tex", hostile / "latex" / "rung.bib", *sorted((hostile / "latex" / "tables").glob("*.tex"))]
    assert len(files) > 10
    for path in files:
        text = path.read_text(encoding="utf-8")
        body = "\n".join(line for line in text.split("\n") if not line.startswith("%"))
        assert body.isascii() and all(c.isprintable() or c == "\n" for c in body) and balance(body) == 0, path
        assert commands(body) <= OWN | {'"', "c", "v", "aa", "o", "O", "i", "lambda", "textquotedblleft", "textquotedblright"}, path
        assert "/etc/passwd" not in body or r"\textbackslash{}input\textbraceleft{}/" in body
    assert "passwd" in (hostile / "latex" / "captions.tex").read_text() + (hostile / "latex" / "tables" / "kernels.tex").read_text()
    told = lines(hostile)
    assert all(re.fullmatch(r"[A-Za-z0-9._/-]+", key) for key in told) and all(comment(said) == said for *_, said in told.values())


def test_a_unit_without_a_macro_is_text():
    n = quantities.number("a/b", 3.0, "3.00\u00a0wid_get/s", (2.9, 3.1), "w", "o")
    assert latex.numbers([n]).splitlines()[-1].startswith(r"\rungother{a/b}{3.00}{wid\_get/s}{2.90}{3.10}% w; o; 3")


# Tables and captions


def test_a_table_has_the_printed_cells(rendered):
    text = (rendered / "latex" / "tables" / "matmul_ladder_rungs.tex").read_text()
    body = text.split(r"\midrule")[1].split(r"\bottomrule")[0].strip().splitlines()
    assert len(body) == 4 and [line.split(" & ")[:2] for line in body[:2]] == [["{}1", "naive"], ["{}2", "tiled (tile 16)"]]
    assert [line.split(" & ")[2] for line in body] == [numbers.significant(float(row["value"])) for row in rows(rendered, "matmul_ladder_rungs")]
    assert len({line.count(" & ") for line in body}) == 1 and all(line.endswith(r" \\") for line in body)


def test_columns_of_long_texts_share_the_room():
    table = Table("t", "A table.", (Column("a", "a", right=False), Column("b", "b", wide=True, right=False), Column("c", "c", wide=2, right=False)),
                  [{"a": "x", "b": "long " * 20, "c": "long " * 20}, {"a": None, "b": "", "c": "[c]"}])
    text = tables.tabular(table)
    assert r">{\hsize=0.667\hsize\raggedright\arraybackslash}X>{\hsize=1.33\hsize\raggedright\arraybackslash}X@{}}" in text
    assert "\n{}\\textendash{} & \\textendash{} & [c] \\\\\n" in text and r"\begin{tabularx}{\rungwidth{" in text


def test_a_long_table_says_how_much_of_it_is_shown():
    table = Table("t", "A table.", (Column("a", "a"),), [{"a": i} for i in range(9)], most=4)
    assert tables.tabular(table).startswith("% t: 4 of 9 rows") and "The first 4 of 9 rows." in tables.all_captions([], [table])
    assert tables.printed([table, Table("u", "None.", (Column("a", "a"),), [{"a": 1}], most=0)]) == [table]


def test_each_figure_and_table_has_a_caption(rendered):
    text = (rendered / "latex" / "captions.tex").read_text()
    named = {kind: set(re.findall(rf"^\\{kind}\{{([^{{}}]+)\}}", text, re.MULTILINE)) for kind in ("rungfigurecaption", "rungcaptionoftable")}
    assert named["rungfigurecaption"] == {p.stem for p in (rendered / "figures").glob("*.csv")}
    assert named["rungcaptionoftable"] == {p.stem for p in (rendered / "tables").glob("*.csv")}
    assert named["rungcaptionoftable"] >= {p.stem for p in (rendered / "latex" / "tables").glob("*.tex")}


def test_tables_of_an_earlier_report_are_removed_and_others_stay(tmp_path, plain):
    study(tmp_path / "in")
    folder = tmp_path / "out" / "latex" / "tables"
    assert cli.main([str(tmp_path / "in"), "--output", str(tmp_path / "out")]) == cli.OK
    (folder / "mine.tex").write_text("mine")
    assert (folder / "cpu_ladder_rungs.tex").is_file()
    (tmp_path / "in" / "cpu_ladder.json").unlink()
    assert cli.main([str(tmp_path / "in"), "--output", str(tmp_path / "out")]) == cli.OK
    assert not (folder / "cpu_ladder_rungs.tex").exists() and (folder / "mine.tex").is_file() and (folder / "matmul_ladder_rungs.tex").is_file()


def test_the_same_results_give_the_same_bytes(rendered, tmp_path):
    source = rendered.parent / "in"
    made = make(collect_study([source], [], tmp_path / "out"))
    assert latex.write(made, {}, tmp_path / "latex") == []
    mine, first = ({p.relative_to(folder): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}
                   for folder in (tmp_path / "latex", rendered / "latex"))
    assert mine == first and len(mine) > 15


def test_results_with_unexpected_values_have_no_numbers_and_a_message(tmp_path, monkeypatch, capfd, plain):
    study(tmp_path / "in")

    def fails(*_):
        raise ValueError("no such value")
    monkeypatch.setattr(quantities, "of_views", fails)
    assert cli.main([str(tmp_path / "in"), "--output", str(tmp_path / "out")]) == cli.BAD_INPUT
    assert "latex/numbers.tex: no numbers of these results: ValueError: no such value" in capfd.readouterr().err
    assert (tmp_path / "out" / "latex" / "rung.bib").is_file()


# References


def entries(text: str) -> dict[str, tuple[str, dict[str, str]]]:
    found = {}
    for kind, key, body in re.findall(r"^@(\w+)\{([^,]+),\n(.*?)^\}$", text, re.MULTILINE | re.DOTALL):
        assert key not in found
        found[key] = kind, dict(re.findall(r"^  (\w+) = \{(.*)\},$", body, re.MULTILINE))
    return found


def test_the_run_is_cited_as_the_report_states(tmp_path):
    ladder("gpu", rung_version="0.1.0", git_commit="0123456789abcdef", git_dirty=True).save(tmp_path)
    kind, fields = entries(bibliography.bibliography(collect_study([tmp_path], [], tmp_path / "out"), []))["rung"]
    assert kind == "misc" and fields["title"] == "{rung 0.1.0: Synthetic GPU}" and fields["year"] == "2026" and fields["author"] == "{The rung authors}"
    assert "0123456789+" in fields["note"] and "Measured 2026-02-03. 1 of 1 run were" in fields["note"]


def test_every_document_is_an_entry_of_its_type(tmp_path):
    ladder("gpu").save(tmp_path)
    known = sources.documents()
    found = entries(bibliography.bibliography(collect_study([tmp_path], [], tmp_path / "out"), known))
    assert set(found) == {*known, "rung"} and "rung" not in known
    for key, (kind, fields) in found.items():
        assert fields["author"] and re.fullmatch(r"\{.*\}", fields["title"]) and balance("".join(fields.values())) == 0, key
        needed = {"article": {"journal", "year"}, "book": {"publisher", "year"}, "inproceedings": {"booktitle", "year"}, "techreport": {"institution", "year"}}
        assert needed.get(kind, set()) <= set(fields), key
        assert key == "rung" or fields.get("doi") == known[key].get("doi") and ("doi" in fields or fields.get("url") == known[key].get("url"))
    kinds = {key: found[key][0] for key in ("pmpp", "williams2009", "hoefler2015", "blelloch1990", "jia2018", "zhou2015", "openmp", "cutlass", "harris2013")}
    assert kinds == {"pmpp": "book", "williams2009": "article", "hoefler2015": "inproceedings", "blelloch1990": "techreport", "jia2018": "misc",
                     "zhou2015": "misc", "openmp": "manual", "cutlass": "misc", "harris2013": "misc"}
    assert found["williams2009"][1] | {"title": ""} == {
        "author": "Williams, Samuel and Waterman, Andrew and Patterson, David", "title": "", "journal": "Communications of the ACM",
        "volume": "52", "number": "4", "year": "2009", "doi": "10.1145/1498765.1498785"}
    assert found["goto2008"][1]["author"] == "Goto, Kazushige and van de Geijn, Robert A." and found["lee2010"][1]["author"] == "Lee, Victor W. and others"
    assert found["golub2013"][1]["author"].endswith(" and Van Loan, Charles F.") and found["cublas"][1]["author"] == "{NVIDIA}"
    assert found["pmpp"][1]["edition"] == "4th" and found["openmp"][1]["note"] == "Version 5.2" and found["jia2018"][1]["eprint"] == "1804.06826"


def test_the_cited_documents_are_those_of_the_report(rendered):
    found = set(entries((rendered / "latex" / "rung.bib").read_text()))
    cited = set(re.findall(r"\\cite\{([^}]*)\}", (rendered / "latex" / "sample.tex").read_text()))
    assert {key for keys in cited for key in keys.split(",")} <= found and "pmpp" in found and "rung" in found


# The sample


def test_the_sample_shows_three_figures_a_table_and_five_numbers(rendered):
    text = (rendered / "latex" / "sample.tex").read_text()
    shown = [re.findall(rf"\\{command}\{{([^{{}}]+)\}}", text) for command in ("rungfigure", "rungtable", "rung")]
    assert list(map(len, shown)) == [3, 1, 5] and set(shown[2]) <= set(lines(rendered))
    assert all((rendered / "figures" / f"{name}.pdf").is_file() for name in shown[0])
    assert shown[2][:2] == ["matmul_ladder/gpu/matmul/fp32/top/rate", "matmul_ladder/gpu/matmul/fp32/top/share_of_peak"]


def test_half_figures_are_of_a_column_and_others_of_the_page():
    shown = [Figure(name, [], lambda fig: None, "A figure.", "", half=half) for name, half in (("a", True), ("b", False), ("c", True), ("d", True))]
    assert [f.name for f in sample._figures(shown)] == ["a", "c", "b"] and [f.name for f in sample._figures(shown[2:])] == ["c", "d"]
    assert r"\begin{figure*}" in sample._figure(shown[1]) and r"\begin{figure}" in sample._figure(shown[0])


WIDE = {"max_print_line": "1000"}
"""For TeX: lines of a log are not broken."""


def compiled(folder: Path, name: str = "sample") -> str:
    """The log of latexmk."""
    done = subprocess.run(["latexmk", "-pdf", "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", f"{name}.tex"], cwd=folder,
                          capture_output=True, timeout=300, env=os.environ | WIDE)
    log = (folder / f"{name}.log").read_text(encoding="latin-1")
    assert done.returncode == 0, log[-3000:]
    assert (folder / f"{name}.pdf").is_file()
    return log


def copied(folder: Path, to: Path) -> Path:
    """What a document needs of a report."""
    shutil.copytree(folder / "latex", to / "latex")
    shutil.copytree(folder / "figures", to / "figures")
    return to / "latex"


def is_clean(log: str, folder: Path) -> None:
    assert "Overfull" not in log and "undefined" not in log.lower() and "pdfTeX warning" not in log and not re.search(r"LaTeX Warning: (?!Font)", log)
    notes = "".join(path.read_text() for path in folder.glob("*.blg"))
    assert "Warning--" not in notes and "error message" not in notes


@needs_latex
def test_the_sample_compiles_without_an_overfull_box(rendered, tmp_path):
    folder = copied(rendered, tmp_path)
    is_clean(compiled(folder), folder)


@needs_latex
def test_every_number_caption_and_table_compiles(rendered, tmp_path):
    folder = copied(rendered, tmp_path)
    told = lines(rendered)
    text = [r"\documentclass{article}\usepackage{rung}\begin{document}"]
    for key, (kind, number, fields, _) in told.items():
        text += [rf"\rung{{{key}}} \rungvalue{{{key}}} \rungraw{{{key}}}", rf"\runginterval{{{key}}}" if kind != "count" and fields[-1] else "", ""]
    captions = (folder / "captions.tex").read_text()
    text += [rf"\rungcaption{{{name}}}\par" for name in re.findall(r"^\\rungfigurecaption\{([^{}]+)", captions, re.MULTILINE)]
    text += [rf"\rungtablecaption{{{path.stem}}}\par\noindent\rungtable{{{path.stem}}}\par" for path in sorted((folder / "tables").glob("*.tex"))]
    (folder / "all.tex").write_text("\n".join([*text, r"\end{document}"]))
    log = compiled(folder, "all")
    assert "Overfull \\hbox" not in re.sub(r"Overfull \\hbox \([^)]*\) in paragraph", "", log)  # a word of a caption may be too long; a table may not
    assert "undefined" not in log.lower()


@needs_latex
def test_a_document_in_another_folder_names_the_path(rendered, tmp_path):
    copied(rendered, tmp_path)
    name = sorted((rendered / "figures").glob("*.pdf"))[0].stem
    (tmp_path / "paper.tex").write_text("\n".join([
        r"\pdfminorversion=7\documentclass{article}\newcommand{\rungpath}{latex/}\usepackage{\rungpath rung}\begin{document}",
        r"\section{\rung{matmul_ladder/gpu/matmul/fp32/top/rate}}", rf"\noindent\rungfigure[width=3cm]{{{name}}}\par",
        r"\noindent\rungtable{matmul_ladder_rungs}", r"\end{document}"]))
    assert "Overfull" not in compiled(tmp_path, "paper")


@needs_latex
def test_hostile_texts_compile_and_run_nothing(hostile, tmp_path):
    folder = copied(hostile, tmp_path)
    evil = [rf"\item {escape(text)}\par" for text in HOSTILE]
    names = sorted(path.stem for path in (folder / "tables").glob("*.tex"))
    captions = re.findall(r"^\\rungfigurecaption\{([^{}]+)", (folder / "captions.tex").read_text(), re.MULTILINE)
    text = [r"\documentclass{article}\usepackage[T1]{fontenc}\usepackage{rung}\begin{document}\sloppy\begin{itemize}", *evil, r"\end{itemize}", r"\nocite{*}",
            *(rf"\rungcaption{{{name}}}\par" for name in captions), *(rf"\noindent\rungtable{{{name}}}\par" for name in names),
            *(rf"\rung{{{key}}}" for key in lines(hostile)), r"\bibliographystyle{plain}\bibliography{rung}\end{document}"]
    (folder / "hostile.tex").write_text("\n".join(text))
    log = compiled(folder, "hostile")
    assert "passwd" not in "".join(re.findall(r"\(([^\s()]+)", log)) and not (folder / "x").exists()
    compiled(folder)


@needs_latex
@pytest.mark.parametrize("used, said", (
    (r"\rung{matmul_ladder/gpu/matmul/tiled/n512/rates}", ("There is no number 'matmul_ladder/gpu/matmul/tiled/n512/rates'. Near ones:\n"
                                                          "matmul_ladder/gpu/matmul/tiled/n512/rate.\n",)),
    (r"\rung{matmul_ladder/gpu/matmul/tield/n512/rate}", ("Near ones:\nmatmul_ladder/gpu/matmul/tiled/n256/rate\n", "and 1 more; numbers.tex lists all")),
    (r"\runginterval{roofs}", ("There is no number 'roofs'. Near ones:\nroofs/",)),
    (r"\runginterval{gpu_against_cpu/matmul/fp32/one/start}", ("There is no interval of 'gpu_against_cpu/matmul/fp32/one/start'",)),
    (r"\rungvalue{nothing_of_it}", ("There is no number 'nothing_of_it'", "numbers.tex lists all keys")),
    (r"\rungcaption{nothing}", ("There is no caption 'nothing'", "captions.tex")), (r"\rungtable{nothing}", ("There is no table 'nothing'", "tables")),
    (r"\rungfigure{nothing}", ("There is no figure 'nothing'", "figures"))))
def test_an_unknown_key_is_an_error_that_names_what_there_is(rendered, tmp_path, used, said):
    folder = copied(rendered, tmp_path)
    (folder / "wrong.tex").write_text(rf"\documentclass{{article}}\usepackage{{rung}}\begin{{document}}{used}\end{{document}}")
    done = subprocess.run(["pdflatex", "-interaction=nonstopmode", "wrong.tex"], cwd=folder, capture_output=True, timeout=300,
                          env=os.environ | WIDE)
    log = (folder / "wrong.log").read_text(encoding="latin-1")
    assert done.returncode != 0 and "Package rung Error" in log and all(text in log for text in said), log[-2000:]


# Figures as PGF

needs_pgf = pytest.mark.skipif(not shutil.which("pdflatex") or subprocess.run(["kpsewhich", "pgf.sty"], capture_output=True).returncode != 0,
                               reason="pdflatex or pgf is not installed")


def hostile_figure() -> Figure:
    def draw(fig) -> None:
        ax = fig.add_subplot()
        ax.plot([1, 2], [1, 2])
        ax.set_xticks([1, 2], ["a_b", "$x^2$"])
        for i, text in enumerate(HOSTILE):
            ax.text(1, 1 + i / len(HOSTILE), text)
        ax.imshow([[0, 1], [1, 0]], extent=(1, 1.2, 1, 1.2))
        ax.set(xlim=(0.5, 2.5), ylim=(0.5, 2.5))
    return Figure("evil", [], draw, "A figure.", "", half=True)


@needs_pgf
@pytest.mark.parametrize("is_grey", (False, True))
def test_a_figure_as_pgf_prints_its_texts_literally(tmp_path, is_grey):
    written = figures.write([hostile_figure()], tmp_path, figures.PAGE, ["pgf"], is_grey)
    assert [path.name for path in written] == ["evil.pgf", "evil.csv"] and (tmp_path / "evil-img0.png").is_file()
    code = (tmp_path / "evil.pgf").read_text()
    assert r"\textbackslash{}input\textbraceleft{}/etc/passwd" in code and r"a\_b" in code and r"\$x\textasciicircum{}2\$" in code
    colours = re.findall(r"\{rgb\}\{([\d.]+),([\d.]+),([\d.]+)\}", code)
    assert colours and all(len(set(colour)) == 1 for colour in colours) == is_grey
    (tmp_path / "paper.tex").write_text("\\documentclass{article}\\usepackage[T1]{fontenc}\\usepackage{lmodern}\\usepackage{pgf}\\begin{document}\n"
                                        "\\noindent\\input{evil.pgf}\n\\end{document}\n")
    done = subprocess.run(["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"], cwd=tmp_path, capture_output=True, timeout=300)
    assert done.returncode == 0, done.stdout[-2000:]


def test_pgf_needs_a_latex(tmp_path, monkeypatch, capsys):
    ladder("gpu").save(tmp_path / "in")
    monkeypatch.setattr(figures.shutil, "which", lambda name: None)
    assert cli.main([str(tmp_path / "in"), "--only", "matmul_ladder_rungs", "--format", "pgf", "--output", str(tmp_path / "out")]) == cli.BAD_INPUT
    assert "pdflatex, which sets the texts of a PGF, is not installed" in capsys.readouterr().err and not (tmp_path / "out").exists()
