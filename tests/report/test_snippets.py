"""The snippets that claims ask the compilers about, and the script that asks."""

import importlib.util
import json

import pytest
from conftest import RECORDED, ROOT

from report.claims.entries import KINDS, load
from report.claims.verdict import ERRATUM

FOLDER = ROOT / "experiments" / "snippets"
spec = importlib.util.spec_from_file_location("compile_snippets", FOLDER / "compile.py")
script = importlib.util.module_from_spec(spec)
spec.loader.exec_module(script)
needs_nvcc = pytest.mark.skipif(script.nvcc() is None, reason="there is no nvcc")


def test_every_snippet_was_compiled_and_is_asked_for():
    names = {p.stem for p in FOLDER.iterdir() if p.suffix in (".cu", ".cpp")}
    recorded = json.loads((RECORDED / "compilers.json").read_text(encoding="utf-8"))["snippets"]
    assert recorded.keys() == names and all(told["compiles"] or told["message"] for told in recorded.values())
    mended = {p.stem for p in FOLDER.iterdir() if p.suffix in (".cu", ".cpp") and "MENDED" in p.read_text(encoding="utf-8")}
    assert mended and all(not recorded[name]["compiles"] and recorded[name]["mended"] for name in mended), "the slip alone is refused"
    asked = {call.subject for e in load().values() for kind in KINDS for call in e.calls(kind) if call.name == "compiles"}
    assert asked == names


def test_a_slip_has_its_mended_line():
    """Otherwise the compiler may refuse a snippet for another reason than the document's."""
    recorded = json.loads((RECORDED / "compilers.json").read_text(encoding="utf-8"))["snippets"]
    slips = {call.subject for e in load().values() if e.otherwise == ERRATUM for kind in KINDS for call in e.calls(kind) if call.name == "compiles"}
    assert slips and not [name for name in slips if not recorded[name]["compiles"] and not recorded[name].get("mended")]


def test_complaints_without_their_place():
    assert script.complaint("warning: x\na.cu(3): error: no such thing\n1 error detected") == "no such thing"
    assert script.complaint("nvcc fatal   : Unknown option '-deviceemu'") == "Unknown option '-deviceemu'"
    assert script.complaint(" killed ") == "killed"


def test_options_stand_in_the_snippet(tmp_path):
    made = tmp_path / "one.cu"
    made.write_text("// One.\n// options: -rdc=true -G\nint x;\n", encoding="utf-8")
    assert {"-rdc=true", "-G", "-std=c++20"} <= set(script.command(made, "/cuda/bin/nvcc"))
    made = made.rename(tmp_path / "one.cpp")
    assert "-I/cuda/include" in script.command(made, "/cuda/bin/nvcc") and script.command(made, "/cuda/bin/nvcc")[0] != "/cuda/bin/nvcc"


@needs_nvcc
@pytest.mark.parametrize("line, compiles", (("// ptx: ld\\.global\\.v4", True), ("// ptx: ld\\.global\\.v2", False), ("// not in ptx: call", True),
                                            ("// not in ptx: ld\\.global", False)))
def test_the_instructions_decide_where_a_snippet_names_them(tmp_path, line, compiles):
    made = tmp_path / "one.cu"
    made.write_text(f"{line}\n// One.\n__global__ void copy(const float4* a, float4* b) {{ *b = *a; }}\n", encoding="utf-8")
    told = script.entry(made, script.nvcc())
    assert told["compiles"] == compiles and ("in its PTX" in told.get("message", "")) != compiles


def test_wrong_usage(capsys):
    assert script.main([]) == 2 and capsys.readouterr().err


@needs_nvcc
@pytest.mark.parametrize("name, compiles", (("kernel_returns_void.cu", True), ("kernel_returns_int.cu", False), ("host_only.cpp", True),
                                            ("launch_by_host_compiler.cpp", False)))
def test_what_the_compilers_say_today(name, compiles):
    told = script.entry(FOLDER / name, script.nvcc())
    assert told["compiles"] == compiles and told["compiler"] and ("message" in told) != compiles
