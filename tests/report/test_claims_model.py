"""The calculators' recorded answers, what a claim may be said of, and verdicts that do not depend on the program."""

import json

import pytest
from conftest import RECORDED

from report.claims import entries, features, model, study_claims
from report.claims.expression import parse
from report.claims.model import Model, Unknown, question
from report.claims.said_of import Subject, applies, misspelt, named, terms
from report.claims.values import Fault
from report.data.collect import collect
from report.data.reading import InputError

built = pytest.mark.skipif(not model.program().is_file(), reason="rung is not built")
ASKED = parse("occupancy(A, threads=16x16, shared=5KiB).warps")
KNOWN = Model({"A": {"aliases": ["A-SXM"], "compute_capability": "9.0"}, "B": {"aliases": [], "compute_capability": "8.0"}}, {},
              {question(ASKED): {"A": 8, "B": "a bad device", "5.2": 4}})


def test_an_answer_by_any_name_of_the_device():
    assert question(ASKED) == "occupancy(threads=16x16, shared=5KiB).warps" and question(parse("bound(A, ratio=4).gflops")) == "bound(ratio=4).gflops"
    assert KNOWN.value(ASKED) == KNOWN.value(ASKED, "NVIDIA A-SXM") == 8
    assert KNOWN.value(parse('occupancy("5.2", threads=16x16, shared=5KiB).warps')) == 4
    assert KNOWN.names("NVIDIA A-SXM") == {"a", "asxm"} and KNOWN.names("A-SXM Laptop") == {"asxmlaptop"}
    with pytest.raises(Unknown, match="C is not in the catalogue"):
        KNOWN.value(ASKED, "C")
    with pytest.raises(Unknown, match="bad device"):
        KNOWN.value(ASKED, "B")
    with pytest.raises(Fault, match="bad device"):
        KNOWN.value(parse("occupancy(B, threads=16x16, shared=5KiB).warps"))
    with pytest.raises(InputError, match="no answer; python3 -m report.claims.model"):
        KNOWN.value(parse("occupancy(A).warps"))


@pytest.mark.parametrize("text, what", [(None, "No such file"), ("{", "truncated"), ("[]", "not devices"), ("{}", "not devices")])
def test_a_file_of_answers_that_is_broken(tmp_path, text, what):
    if text is not None:
        (tmp_path / "model.json").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=what):
        model.load(tmp_path / "model.json")


@built
def test_the_recorded_answers_are_the_programs():
    """Else: python3 -m report.claims.model."""
    assert model.FILE.read_text(encoding="utf-8") == model.text_of(model.asked(*entries.questions(entries.load().values())))


def test_verdicts_are_the_same_without_the_program(monkeypatch, tmp_path):
    """All claims, with the program that is built, if any, and with none."""
    study = collect([RECORDED], sorted(RECORDED.glob("*.json")))

    def told():
        model.listed.cache_clear(), model.load.cache_clear()
        return study_claims.findings(study, entries.load().values())
    first = told()
    monkeypatch.setenv("RUNG", str(tmp_path / "absent"))
    assert told() == first and len({f.entry.id for f in first}) == len(entries.load())


@pytest.mark.parametrize("body", ["exit 1", "echo nonsense", "echo '[]'; echo '[]'", "true"])
def test_a_program_that_does_not_answer_writes_nothing(tmp_path, monkeypatch, body):
    program = tmp_path / "rung"
    program.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
    monkeypatch.setenv("RUNG", str(program))
    model.listed.cache_clear()
    for mode in (0o644, 0o755):
        program.chmod(mode)
        with pytest.raises((Fault, json.JSONDecodeError)):
            model.asked([ASKED], [])
        model.listed.cache_clear()


@pytest.mark.parametrize("text, has", [
    ('supports("CUDA 1.0").recursion', False), ('supports("CUDA 3.0").recursion', False), ('supports("CUDA 3.1").recursion', True), ("supports(G80).recursion", False),
    ('supports("GTX 280").recursion', False), ('supports("GTX 480").recursion', True), ("supports(H200).recursion", True), ("supports(K40).kernels_launch_kernels", True),
    ("supports(A100).shared_memory_of_other_blocks", False), ("supports(H100).shared_memory_of_other_blocks", True), ('supports("GTX 480").kernels_launch_kernels', False), ('supports("CUDA 1.0").static_variables', False), ('supports("CUDA 3.0").device_emulation', True),
    ('supports("CUDA 3.1").device_emulation', False), ('supports("CUDA 13.0").device_emulation', False), ('supports("CUDA 1.0").grid_of_three_dimensions', False)])
def test_what_the_language_had_and_which_device_has_it(text, has):
    assert features.value(parse(text), model.load()) is has


@pytest.mark.parametrize("text, kind, what", [
    ("supports(G80).recursio", Fault, "did you mean 'recursion'"), ("supports(G81).recursion", Fault, "neither a version of CUDA nor"),
    ("supports(G80).static_variables", Unknown, "no compute capability decides"), ('supports("CUDA 4.0").static_variables', Unknown, "which version of CUDA first has"), ('supports("CUDA 4.0").shared_memory_of_other_blocks', Unknown, "which version of CUDA")])
def test_what_no_guide_decides_is_not_guessed(text, kind, what):
    with pytest.raises(kind, match=what):
        features.value(parse(text), model.load())


def test_every_feature_is_asked_for():
    asked = {c.field for e in entries.load().values() for kind in entries.KINDS for c in e.calls(kind) if c.name == "supports"}
    assert asked == set(features.FEATURES)


def test_the_devices_that_a_sentence_names():
    assert named("On an A100, as on Fermi and K20c, of compute capability 1.x, by CUDA 1.0, a tesla of 3080", ["A100", "K20c", "3080"]) == [
        "A100", "Fermi", "K20c", "compute capability 1.x", "CUDA 1.0"]
    assert terms("G80, GT200 or Fermi") == ["G80", "GT200", "Fermi"] and terms("Fermi and later") == ["Fermi"] and terms("CUDA before 3.1") == ["CUDA 3.1"]


HOPPER = Subject(frozenset(("h200", "h200sxm")), (9, 0), (13, 0))
ANCIENT = Subject(frozenset(("8800gtxg80", "g80", "8800gtx")), (1, 0), (2, 3))


@pytest.mark.parametrize("said_of, of_hopper, of_ancient", [
    ("NVIDIA H200", True, False), ("H200", True, False), ("H100", False, False), ("G80", False, True), ("G80 and GT200", False, True),
    ("K40, G80 or H200", True, True), ("Hopper", True, False), ("Tesla", False, True), ("before Volta", False, True), ("Volta and later", True, False),
    ("Fermi and before", False, True), ("compute capability 9.0", True, False), ("compute capability 1.x", False, True), ("2015", False, True),
    ("2026", True, True), ("before 2010", False, True), ("before 2006", False, False), ("2010 and later", True, False), ("CUDA before 3.1", False, True),
    ("before CUDA 3.1", False, True), ("CUDA 13", True, False), ("CUDA 3.1 and later", True, False), ("before compute capability 3.5", False, True),
    ("early GPUs", False, False), ("GPUs with a display", False, False), ("", False, False)])
def test_what_a_claim_is_said_of(said_of, of_hopper, of_ancient):
    assert (applies(said_of, HOPPER), applies(said_of, ANCIENT)) == (of_hopper, of_ancient)


def test_a_cpu_by_its_name():
    xeon = Subject(cpu="Intel Xeon Processor, 16 cores")
    assert applies("Xeon", xeon) and not applies("EPYC", xeon) and not applies("Hopper", xeon) and not applies("before Fermi", xeon)


@pytest.mark.parametrize("said_of, hint", [("Keplr", "Kepler"), ("before Volt", "Volta"), ("early GPUs", ""),
                                           ("before CUDA 3.1", ""), ("compute capability 1.x", ""), ("Fermi and later", "")])
def test_a_slip_of_the_pen_is_no_unknown_machine(said_of, hint):
    assert misspelt(said_of, ["Quadro K620", "H200"]) == (f"; did you mean '{hint}'?" if hint else "")
