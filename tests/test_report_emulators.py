"""The emulators' rates: from the measurements to the paragraph and the table of the method page."""

import json
import sys

import pytest
from test_report_support import CPU, GPU, ROOT, write

from report import blocks, emulators
from report.cli import OK, main
from report.collect import collect
from report.load import InputError, load
from report.records import EmulatorFile

sys.path.insert(0, str(ROOT / "tests" / "peers"))
import merge  # noqa: E402
import product  # noqa: E402


def row(mode, n, threads, accesses, seconds, kernel="gpu/matmul/tiled"):
    return {"mode": mode, "n": n, "threads": threads, "accesses": accesses, "seconds": [9 * s for s in seconds],
            "processor_seconds": seconds, "kernel": kernel, "load_sectors": 8}


def rates(**changes):
    """Ours at 50, 10 and 400 M/s on a core; another that counts at 2.5 M/s; one that answers at 0.1 M/s."""
    ours = [row("counting", 64, 1, 10**7, [1, 1, 1]), row("counting", 512, 1, 10**8, [2.0, 1.5, 9.0]),
            row("counting", 1024, 2, 10**8, [1.0, 1.0, 1.1]), row("hazards", 256, 1, 10**7, [1.0]),
            row("answer", 512, 1, 10**8, [0.25]), row("answer", 1024, 1, 10**8, [0.01], kernel="gpu/matmul/naive")]
    counting = row("counting", 128, 1, 5 * 10**6, [2.0])
    answer = row("answer", 32, 1, 10**5, [1.0])
    del counting["kernel"], answer["kernel"]
    all_told = {"race": True, "uninitialised": True, "accesses": True, "sectors": True}
    return {"machine": "Synthetic CPU", "cores": 2, "date": "2026-01-02T00:00:00+00:00", "emulators": [
        {"tool": "rung abc", "rows": ours, "told": all_told},
        {"tool": "Second 2.0", "rows": [counting], "told": all_told | {"sectors": False}},
        {"tool": "Third", "rows": [answer], "told": {"race": False}}]} | changes


def study_of(folder, *files):
    for i, data in enumerate(files):
        write(folder / f"{i}.json", data)
    return collect([CPU], [GPU, folder])


def plain(text):
    """Without the marks where a line may break."""
    return text.replace(blocks.ZERO_WIDTH_SPACE, "")


def test_the_table_has_the_largest_size_on_one_core(tmp_path):
    paragraph, table = emulators.rates(study_of(tmp_path, rates()))
    cells = [[(plain(cell["main"]), cell["small"]) for cell in line] for line in table["rows"]]
    assert cells[0][:4] == [("rung abc", ""), ("50 M/s", "N = 512"), ("10 M/s", "N = 256"), ("400 M/s", "N = 512")]
    assert [main for main, _ in cells[0][4:]] == ["yes"] * 4
    assert [main for main, _ in cells[1]] == ["Second 2.0", "2.5 M/s", "–", "–", "yes", "yes", "yes", "no"]
    assert [main for main, _ in cells[2]] == ["Third", "–", "–", "0.10 M/s", "no", "–", "–", "–"]
    assert len(table["columns"]) == len(table["widths"]) == len(cells[0])
    assert "Synthetic CPU, 2 cores, 2026-01-02" in table["caption"]
    text = plain(paragraph["text"])
    assert "counting 50 M/s, with hazards 10 M/s, answer only 400 M/s." in text
    assert "The whole product at N = 1024 is counted in 9.00 s on 2 cores." in text
    assert "Second 2.0, counting: 2.5 M/s, where this one does 20× as many." in text
    assert "Third, for the answer alone: 0.10 M/s, where this one does 4000× as many." in text


def test_the_newest_file_is_used(tmp_path):
    study = study_of(tmp_path, rates(), rates(machine="Newer CPU", date="2026-02-02T00:00:00"))
    assert study.emulators.machine == "Newer CPU"
    assert [s.used for s in study.sources if s.kind == "emulators"] == [False, True]


def test_nothing_without_rates(tmp_path):
    assert emulators.rates(collect([CPU], [GPU])) == []
    for empty in ([], [{"tool": "rung", "rows": [], "told": {}}]):
        assert emulators.rates(study_of(tmp_path, rates(emulators=empty))) == []


def test_an_emulator_without_common_modes_is_in_the_table_alone(tmp_path):
    data = rates()
    data["emulators"][0]["rows"] = data["emulators"][0]["rows"][:1]
    paragraph, table = emulators.rates(study_of(tmp_path, data))
    assert "Third" not in paragraph["text"] and len(table["rows"]) == 3


@pytest.mark.parametrize("change, where", (
    (lambda d: d.update(emulators={}), "emulators"), (lambda d: d.update(emulators=[1]), "emulators"),
    (lambda d: d.update(cores=0), "file.cores"), (lambda d: d.update(cores=True), "file.cores"),
    (lambda d: d.update(date="today"), "file.date"), (lambda d: d.pop("machine"), "file.machine"),
    (lambda d: d["emulators"][1].update(rows=None), "emulators[1].rows"),
    (lambda d: d["emulators"][1].update(told={"race": 1}), "emulators[1].told"),
    (lambda d: d["emulators"][1].update(tool=""), "emulators[1].tool"),
    (lambda d: d["emulators"][0]["rows"][2].update(seconds=[]), "emulators[0].rows[2].seconds"),
    (lambda d: d["emulators"][0]["rows"][2].update(seconds=[1, 0]), "emulators[0].rows[2].seconds"),
    (lambda d: d["emulators"][0]["rows"][2].update(seconds=[float("nan")]), "emulators[0].rows[2].seconds"),
    (lambda d: d["emulators"][0]["rows"][2].pop("processor_seconds"), "emulators[0].rows[2].processor_seconds"),
    (lambda d: d["emulators"][0]["rows"][2].update(threads=0), "emulators[0].rows[2].threads"),
    (lambda d: d["emulators"][0]["rows"][2].update(accesses=2.5), "emulators[0].rows[2].accesses"),
    (lambda d: d["emulators"][0]["rows"][2].pop("mode"), "emulators[0].rows[2].mode"),
))
def test_a_bad_file_is_refused_with_the_place(tmp_path, change, where):
    data = rates()
    change(data)
    with pytest.raises(InputError) as caught:
        load(write(tmp_path / "emulators.json", data))
    assert where + ":" in str(caught.value)


def test_the_method_page_has_it(tmp_path):
    write(tmp_path / "recorded" / "emulators.json", rates())
    output = tmp_path / "out"
    assert main([str(CPU), "--recorded", str(GPU), "--recorded", str(tmp_path / "recorded"), "--output",
                 str(output)]) == OK
    sections = json.loads((output / "report.json").read_text())["sections"]
    method = next(s for s in sections if s[0]["text"] == "How it was measured")
    assert method[-1]["kind"] == "table" and "Synthetic CPU" in method[-1]["caption"]


def faults(found=True):
    return {"kernels": {name: {"emulator": {"found": found}} for name in (merge.RACE, merge.UNINITIALISED)}}


def test_measurements_become_one_file(tmp_path):
    counted = row("counting", 16, 1, product.accesses(16), [0.5])
    rung = {"machine": "Synthetic CPU", "cores": 2, "rows": [counted]}
    peer = {"tool": "Peer", "rows": [], "told": {}}
    files = [write(tmp_path / f"{i}.json", data) for i, data in enumerate((faults(), rung, peer))]
    target = tmp_path / "new" / "emulators.json"
    assert merge.main([str(target), "abc", *map(str, files)]) == 0
    file = load(target)
    assert isinstance(file, EmulatorFile) and [e.tool for e in file.emulators] == ["rung abc", "Peer"]
    assert file.emulators[0].told == {"race": True, "uninitialised": True, "accesses": True, "sectors": True}
    assert merge.main([str(target)]) == 2


def test_what_is_told_is_what_was_found():
    right = row("counting", 16, 1, product.accesses(16), [0.5])
    assert merge.told([right | {"accesses": 7}], faults())["accesses"] is False
    assert merge.told([right | {"load_sectors": 0}], faults())["sectors"] is False
    assert merge.told([right], faults(found=False)) == {"race": False, "uninitialised": False, "accesses": True,
                                                        "sectors": True}
    assert not any(merge.told([], faults(found=False)).values())


def test_the_peers_product():
    assert product.product([[1, 2], [3, 4]], [[5, 6], [7, 8]]) == [[19, 22], [43, 50]]
    assert product.accesses(16) == 2 * 16**3 + 2 * 2 * 16**2 + 16**2
    a, b = product.inputs(32)
    assert len({tuple(r) for r in a + b}) == 64 and a != b and product.product(a, b) != product.product(b, a)
