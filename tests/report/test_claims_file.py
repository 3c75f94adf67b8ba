"""experiments/claims.toml itself, the mistakes that can be made in it, and `python -m report.claims`."""

import json
import re
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import RECORDED, ROOT, recorded

from report.claims import command, entries, reasons, study_claims
from report.claims.data import LAUNCHED_WITH, Data
from report.claims.entries import KINDS, line_of, load
from report.claims.expression import KERNEL_CALLS
from report.claims.model import devices, program
from report.claims.said_of import named
from report.claims.verdict import ERRATUM, HOLDS, IN_PART, OF_ITS_OWN, ORDER, UNTESTED
from report.data.collect import collect
from report.data.limits import LIMITS
from report.data.reading import InputError
from report.sections import module
from report.text import sources

LEAST = {"zhou2015": 10, "blakely": 10, "imam2022": 10, "pmpp": 10, "pmpp3": 5}
built = pytest.mark.skipif(not program().is_file(), reason="rung is not built")


@pytest.fixture(scope="module")
def known():
    return load()


@pytest.fixture(scope="module")
def found(known):
    """All findings on everything recorded."""
    return study_claims.findings(collect([RECORDED], []), known.values())


def test_every_document_has_its_claims(known):
    for source, least in LEAST.items():
        assert sum(e.source == source for e in known.values()) >= least
    assert len(known) >= 80 and len({(e.source, e.text) for e in known.values()}) == len(known)


def test_every_claim_names_what_exists(known):
    for e in known.values():
        assert e.source in sources.documents() and (ROOT / "experiments" / f"{e.experiment}.toml").is_file()
        assert e.where and not e.text.endswith("."), e.id
        for call in (c for kind in KINDS for c in e.calls(kind) if c.name in KERNEL_CALLS):
            assert not entries.kernels() or call.subject in entries.kernels(), e.id
        if e.judge:
            name, function = e.judge.split(".")
            assert callable(getattr(module.of(type("View", (), {"name": name, "settings": {}})()), function)), e.id


ASKED = {"modelled": {"device", "bound", "occupancy", "supports"},
         "counted": {"count", "fault", "wrong_elements", *LAUNCHED_WITH},
         "compiled": {"compiles", "local_bytes_per_thread", "registers_per_thread"}}
"""What the kinds ask; of a point of a timed kernel its fields. All else is asked of a machine."""


def asked(entry, kind):
    return {c.field if c.name == "run" else c.name for c in entry.calls(kind)}


def test_what_is_called_measured_was_asked_of_a_machine(known):
    elsewhere = set().union(*ASKED.values())
    for e in known.values():
        assert all(asked(e, kind) <= names for kind, names in ASKED.items()), e.id
        assert "measured" not in e.trees or asked(e, "measured") - elsewhere, f"{e.id}: nothing in it was measured"
        assert not asked(e, "measured") & {"compiles", "fault", "wrong_elements"}, e.id


def test_no_machine_decides_an_erratum(known):
    assert not [e.id for e in known.values() if e.otherwise == ERRATUM and "measured" in e.trees]


def test_a_note_says_nothing_that_is_printed_anyway(found):
    """Nor anything that is only true in the year of writing."""
    for f in found:
        number = re.match(r"[\d.\u202f]+", f.at_home)
        assert not number or not re.search(rf"(?<![\d.]){re.escape(number[0])}(?![\d.])", f.entry.note), f.entry.id
        assert not re.search(r"\b(?:today|nowadays|as good or better)\b", f.entry.note), f.entry.id


def test_every_machine_is_named_or_none(found, known):
    """A machine that was not measured is not passed over in silence."""
    gpus = {m.label for m in Data(collect([RECORDED], []).runs).machines({"gpu"})}
    assert len(gpus) > 1
    for e in known.values():
        named_ = {name for f in found if f.entry.id == e.id for name in f.machine.split(", ")}
        assert not named_ & gpus or gpus <= named_, f"{e.id}: {named_}"
    study = collect([RECORDED], [])
    of_one = replace(study, wrong_results=[file for file in study.wrong_results if "H200" in file.machine])
    found = study_claims.findings(of_one, [known["later_error"]])
    assert {f.machine: f.verdict for f in found} == {"H200": HOLDS, "H100": UNTESTED}


def test_a_function_judges_each_machine_by_its_own_results(found):
    """Of a study of two boards, as it does of one alone."""
    known, ids = load(), {f.entry.id for f in found if f.entry.judge}
    for folder in ("nvidia-h100", "nvidia-h200"):
        of_one = study_claims.findings_of(collect([RECORDED / folder], []), known.values(), [known[id_] for id_ in ids])
        assert of_one
        for f in of_one:
            same = [g for g in found if g.entry.id == f.entry.id and f.machine in g.machine.split(", ")]
            assert [(g.words, g.why) for g in same] == [(f.words, f.why)], f"{f.entry.id} on {f.machine}"


def test_of_which_documents_the_text_was_at_hand(known):
    assert {e.source for e in known.values() if e.is_at_hand} == set(LEAST) and not known["privatisation"].is_at_hand
    assert 20 < sum(not e.is_at_hand for e in known.values()) < 50
    assert all(e.is_at_hand != (entries.NOT_AT_HAND in e.place) for e in known.values())


def test_no_expression_is_arithmetic_alone(known):
    """Numbers that are typed into the file show nothing: each expression asks a calculator, a count, a snippet or a measurement."""
    assert not [(e.id, kind) for e in known.values() for kind in e.trees if not e.calls(kind)]


def test_a_device_is_named_by_the_document_and_said_of_by_one_rule(known):
    """Which devices a document speaks of is declared once, in documents.toml, and checked there when claims are loaded."""
    for e in known.values():
        assert e.source in entries._documents(), e.id
        if e.modelled and {"device", "occupancy", "bound"} & {c.name for c in e.calls("modelled")}:
            assert e.said_of or not named(e.text, devices()), f"{e.id}: said of a device, as its text says"


def test_the_kernel_that_was_launched_is_the_claims_own(known):
    """It is the kernel that the emulator judges, if it judges one; a corrected version may belong to a sibling."""
    for e in known.values():
        judged, launched = ({c.subject for kind in KINDS for c in e.calls(kind) if c.name == name} for name in ("fault", "launched"))
        assert not judged or launched <= judged, e.id


def test_where_some_cases_hold_they_are_named(found):
    assert not [f.entry.id for f in found if f.words == IN_PART]
    assert [f for f in found if f.verdict == IN_PART]


AT_RUN_TIME = re.compile(r"\bfail to run\b|\bhangs?\b|\bwrong result|\bthe launch gives\b")


def test_what_happens_in_a_run_is_not_left_to_the_compiler(known):
    for e in known.values():
        asked = {c.name for kind in KINDS for c in e.calls(kind)}
        assert asked != {"compiles"} or not AT_RUN_TIME.search(e.text) or "it does not even compile" in e.text, e.id


OF_ONE_THREAD = re.compile(r"\b(?:each|one) thread (?:computes|writes|performs|moves|loads) one\b", re.IGNORECASE)
OF_THREADS = re.compile(r"\bthreads_per_block\b|\bblocks \* \d|\bbarriers\b|\bcompiles\(")


def test_what_each_thread_does_is_not_told_by_a_sum_over_all_threads(known):
    """An array that is stored once is stored once by fewer threads, too: the expression has to ask how many there are."""
    told = [e for e in known.values() if OF_ONE_THREAD.search(e.text)]
    assert len(told) >= 6
    for e in told:
        assert any(OF_THREADS.search(getattr(e, kind)) for kind in e.trees), e.id


def test_a_snippet_is_neither_linked_nor_run(known):
    for e in known.values():
        if {c.name for kind in KINDS for c in e.calls(kind)} == {"compiles"}:
            assert not re.search(r"(?<!not )\blinked\b|\band run\b", e.note), e.id


def test_whose_limits_a_document_states_without_a_name_is_said_with_the_reason():
    assert all(bool(document.get("unnamed")) == bool(document.get("why")) for document in entries._documents().values())
    assert "G80 or CUDA 1.0" in entries.unnamed("imam2022") and entries.unnamed("zhou2015") == entries.unnamed("harris2007") == ""


PEAKS = re.compile(r"\b(?:peak|maximum|up to)\b")
ELSEWHERE = {"rate", "time", "counters"}
"""Calls that only a measurement on the machine itself can answer."""


def test_what_the_catalogue_or_the_guides_decide_is_not_left_untested(found):
    """A limit of a device or a restriction of an older language is decided by its model; a rate has to be measured."""
    for e in (f.entry for f in found if f.verdict == UNTESTED and f.entry.said_of):
        assert not PEAKS.search(e.text), e.id
        assert e.untested or {c.name for kind in KINDS for c in e.calls(kind)} <= ELSEWHERE, e.id


def test_a_planted_fault_shows_nothing_without_its_right_twin(known):
    """That the emulator reports a kernel is evidence only if it does not report the same kernel without the fault."""
    for e in known.values():
        assert not re.search(r"(?<!not )fault\(\w+\)", e.counted) or re.search(r"not fault\(\w+_right\)", e.counted), e.id


def test_what_limits_is_the_same_in_a_claim_and_in_the_report(known):
    assert known["bound"].threshold == LIMITS


def test_no_claim_raises_on_what_was_recorded(found, known):
    assert {f.entry.id for f in found} == set(known) and all(f.verdict in ORDER and f.words for f in found)
    assert not [f.fault for f in found if f.fault]
    assert all(f.why for f in found if f.verdict == UNTESTED)
    assert not [m for f in found for m in f.missing if "field" in m]


def test_every_reason_has_a_kind_by_which_further_ones_are_counted(known):
    """As where only a CPU was measured."""
    missing = {m for f in study_claims.findings(collect([RECORDED / "amd-epyc-2-cores"], []), known.values()) for m in f.missing}
    assert missing and not {m for m in missing if reasons._kind_of_reason(m) == reasons.OTHER_REASON}


def test_no_whole_number_is_derived_from_a_rate_of_a_data_sheet(known):
    """Data sheets round rates and clocks: units, blocks and bytes are counted by the catalogue itself."""
    rates = ("peak_gflops", "boost_mhz", "dram_gbytes_per_s")
    counted = [e for e in known.values() if e.unit and not e.unit.endswith("/s") and not e.unit.startswith(("share", "times"))]
    assert len(counted) > 20
    assert not [e.id for e in counted if any(c.name == "device" and c.field.startswith(rates) for c in e.calls("modelled"))]


@built
def test_what_a_claim_asks_for_is_measured_by_its_experiment(known):
    """So that the command that is named for missing points measures them."""
    plans = {name: subprocess.run([program(), "run", name, "--full", "--benchmark_list_tests"], capture_output=True, text=True, check=True).stdout
             for name in {e.experiment for e in known.values() if e.trees}}
    for e in known.values():
        for call in (c for kind in KINDS for c in e.calls(kind) if c.name in KERNEL_CALLS - {"counters"}):
            counted = "count/" if call.name == "count" else ""
            assert re.search(rf"^{counted}{re.escape(call.subject)}/", plans[e.experiment], re.MULTILINE), f"{e.id}: {call}"


def test_what_is_known_for_certain(found):
    """By arithmetic, the catalogue and the emulator: on any machine the same."""
    told = {f.entry.id: f.verdict for f in found}
    assert [told[i] for i in ("bytes_132", "g80_peak", "k40_called_g80", "offset", "occupancy_62")] == [ERRATUM] * 5
    assert [told[i] for i in ("naive_ratio", "tiled_ratio", "read_after_write", "eight_bytes")] == [HOLDS] * 4
    assert [told[i] for i in ("g80_threads", "a100_naive", "k40_bound", "a100_peak")] == [OF_ITS_OWN] * 4


GOOD = {"source": "williams2009", "text": "It is so", "experiment": "ratio", "modelled": "1"}


def file_of(tmp_path, whole="", **keys) -> Path:
    """A claims file: of the usual keys with these in their place (None leaves one out), or of this text."""
    lines = [f"{k} = {json.dumps(v).replace('Infinity', 'inf')}" for k, v in (GOOD | keys).items() if v is not None]
    made = tmp_path / "claims.toml"
    made.write_text(whole or "\n".join(["# first", "[one]", *lines]) + "\n", encoding="utf-8")
    return made


@pytest.mark.parametrize("text, what", ((b"[one]\n# \xff\n", "byte 8: not UTF-8"), (b"x = " + b"[" * 100_000, "file: nested")))
def test_a_claims_file_that_is_no_text(tmp_path, text, what):
    made = tmp_path / "claims.toml"
    made.write_bytes(text)
    with pytest.raises(InputError, match=what):
        load(made)


@pytest.mark.parametrize("keys, line, what", [
    ({"statd": 1}, 7, "statd: there is no such key; did you mean 'stated'?"), ({"text": 3}, 4, "text: 3 is not a text"),
    ({"stated": "x"}, 7, "stated: 'x' is not a number"), ({"stated": True}, 7, "not a number"), ({"source": "pmp"}, 3, "source: 'pmp' is unknown; did you mean 'pmpp'?"),
    ({"experiment": "rato"}, 5, "'rato' is unknown; did you mean 'ratio'?"), ({"rule": "at_lest", "stated": 1}, 7, "did you mean 'at_least'?"),
    ({"rule": "equals"}, 7, "needs a number in 'stated' or 'threshold'"), ({"otherwise": "wrong"}, 7, "otherwise: 'wrong' is unknown"),
    ({"text": None}, 2, "'text' is missing"), ({"modelled": None}, 2, "nothing checks it"), ({"modelled": "1 +"}, 6, "modelled: column 4: "),
    ({"counted": "speed(gpu/a/b)"}, 7, "counted: column 1: there is no function 'speed'"), ({"modelled": "n * 2"}, 6, "'n' is neither a call nor a name of cases"),
    ({"judge": "latency"}, 7, "not EXPERIMENT.FUNCTION"), ({"cases": 3}, 7, "cases: neither a table"),
    ({"said_of": "Keplr"}, 7, "said_of: 'Keplr' is unknown; did you mean 'Kepler'?"), ({"scope": "G80"}, 7, "scope: there is no such key"),
    ({"source": "imam2022", "said_of": "Kepler"}, 7, "said_of: documents.toml has no 'Kepler' for imam2022"),
    ({"source": "imam2022", "text": "As before Fermi"}, 4, "text: documents.toml has no 'Fermi' for imam2022"),
    ({"source": "imam2022", "text": "In compute capability 2.0"}, 4, "documents.toml has no 'compute capability 2.0'"),
    ({"source": "harris2013transpose", "stated": 0.95, "measured": "rate(gpu/matmul/naive) / rate(gpu/copy/dram)"}, 7, "stated: harris2013transpose measured it: give said_of, of M2050 or K20c"),
    ({"text": "It improves substantially", "threshold": 1.1, "rule": "at_least"}, 7, "for 'substantially' it is at_least 1.2 in all claims"),
    ({"text": "It improves", "threshold": 1.2, "rule": "at_least"}, 7, "for 'improves' it is at_least 1.1"),
    ({"threshold": 1.2}, 7, "threshold: it needs a rule"), ({"threshold": 2, "stated": 3}, 7, "threshold: it needs a rule"),
    ({"decides": "measured"}, 7, "decides: 'measured' is none of the claim's own"), ({"tolerance": -1}, 7, "tolerance: negative"), ({"stated": float("inf"), "rule": "equals"}, 7, "stated: inf is not a number")])
def test_mistakes_are_told_with_line_and_key(tmp_path, keys, line, what):
    with pytest.raises(InputError) as told:
        load(file_of(tmp_path, **keys))
    assert f"claims.toml: line {line}, [one]" in str(told.value) and what in str(told.value)


@pytest.mark.parametrize("cases", ["[{ n = [1] }]", "{ n = [] }", "{ n = [true] }", "{ n = [{ m = 1 }] }", "{ n = 3 }", "[{ n = nan }]"])
def test_cases_are_numbers_and_texts(tmp_path, cases):
    text = f'[one]\nsource = "pmpp"\ntext = "x"\nexperiment = "ratio"\nmodelled = "1"\ncases = {cases}\n'
    with pytest.raises(InputError, match=r"line 6, \[one\] cases: n: neither numbers"):
        load(file_of(tmp_path, text))


@pytest.mark.parametrize("text, what", [("[one\n", "line 1"), ("[one]\nx = \n", "line 2"), ("[one]\n[one]\n", "line 2"), ("one = 1\n", "not a table"),
                                        ('[one]\nsource = "pmpp"\ntext = "x"\nexperiment = "ratio"\nmodelled = "1"\ncases = { n = "every" }\n', "line 6, [one] cases: n: neither numbers")])
def test_a_broken_file(tmp_path, text, what):
    with pytest.raises(InputError, match="claims.toml: ") as told:
        load(file_of(tmp_path, text))
    assert what in str(told.value)


@built
def test_an_unknown_kernel_is_told_with_the_nearest(tmp_path):
    with pytest.raises(InputError, match="column 9: there is no kernel gpu/matmul/naiv; did you mean 'gpu/matmul/naive'"):
        load(file_of(tmp_path, measured="1 < 2 * rate(gpu/matmul/naiv)".replace("1 < 2", "1 + 2")))


def test_no_file_is_no_claims(tmp_path):
    assert load(tmp_path / "absent.toml") == {}


def test_the_line_of_a_key_is_its_own_claims():
    text = '[a]\nx = 1\n\n["b"]\ny = 2\nx = 3\n'
    assert [line_of(text, *what) for what in (("a",), ("a", "x"), ("b", "x"), ("b", "z"))] == [1, 2, 6, 4]


def test_the_command_prints_what_was_asked_for(capsys):
    assert command.main(["bytes_132", "shared_random", "--results", str(RECORDED)]) == command.OK
    text = capsys.readouterr().out
    assert "bytes_132: 32 KB" in text and "erratum" in text and "2 claims: 1 does not hold here, 1 erratum" in text
    assert command.main(["pmpp3", "--json", "--results", str(RECORDED)]) == command.OK
    told = json.loads(capsys.readouterr().out)
    assert {c["source"] for c in told} == {"pmpp3"} and {"verdict", "stated", "missing", "cases"} <= told[0].keys()


def alone(known, ids) -> dict:
    """The verdicts of these claims, each asked for alone of the results that are recorded."""
    study = collect([RECORDED], [])
    return {id_: [(f.machine, f.words, f.why) for f in study_claims.findings_of(study, known.values(), [known[id_]])]
            for id_ in ids}


def among_all(found, ids) -> dict:
    return {id_: [(f.machine, f.words, f.why) for f in found if f.entry.id == id_] for id_ in ids}


def test_a_claim_alone_has_the_verdict_that_it_has_among_all(known, found):
    ids = ("tensor_product_fp8", "tensor_product_int8", "bytes_132", "increasing_efficiency")
    assert alone(known, ids) == among_all(found, ids)


@pytest.mark.long
def test_every_claim_alone_has_the_verdict_that_it_has_among_all(known, found):
    assert alone(known, known) == among_all(found, known)


def test_what_is_true_of_any_machine_stands_beside_ones_own_results(capsys):
    assert command.main(["global_void", "--results", str(recorded("nvidia-h200", "ratio"))]) == command.OK
    assert "any: holds. compiled yes" in capsys.readouterr().out


@pytest.mark.parametrize("arguments, what", [(["bytes_123"], "did you mean 'bytes_132'?"), (["--results", "/absent"], "no such file")])
def test_the_command_says_what_it_cannot_do(arguments, what, capsys):
    assert command.main(arguments) == command.BAD
    assert what in capsys.readouterr().err


def test_an_entry_that_cannot_be_evaluated_ends_with_an_error(tmp_path, monkeypatch, capsys):
    made = file_of(tmp_path, measured="time(gpu/matmul/naive) > 1", modelled=None)
    monkeypatch.setattr(entries, "FILE", made)
    monkeypatch.setattr(entries, "load", lambda: load(made))
    assert command.main(["--results", str(RECORDED)]) == command.BAD
    assert "claims.toml:6: [one] measured, column 1: time(gpu/matmul/naive) does not say which" in capsys.readouterr().err


def test_ends_without_a_word_when_nobody_reads(tmp_path):
    """As in `rung claims | head`."""
    claims = subprocess.Popen([sys.executable, "-m", "report.claims", "k40_practice"], cwd=ROOT, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE)
    claims.stdout.close()
    assert claims.stderr.read() == b""
    assert claims.wait() == -signal.SIGPIPE
