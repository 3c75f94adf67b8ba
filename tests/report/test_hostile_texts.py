"""Whatever others write into results and claims, no output has letters that a terminal would obey or that are not shown."""

import json
import subprocess
from unicodedata import category

import pytest
from synthetic import GPU, Run, ladder

from report import cli
from report.claims import command, entries
from report.plain import plain, plain_lines

HOSTILE = ("\x1b]0;own\x07", "\x1b[31mred", "a\x00b", "\x7f\x9b31m", "\u202egnp.exe", "\u2066x\u2069", "two\nlines", "a\tb", "\u200b\ufeff",
           "x\r=1+1", "\ud800", "\u2028end")
OWN = "\u200b"
"""Where long names may break, in the document's data."""


def harmful(text: str, lines: str = "\n") -> list[str]:
    """The letters in it that are not shown, or control what is, and are not ours."""
    return [f"{c!r} in {text[max(0, i - 40):i + 20]!r}" for i, c in enumerate(text)
            if not c.isprintable() and category(c) != "Zs" and c not in lines]


@pytest.mark.parametrize("text, shown", (
    ("\x1b[31m", "\ufffd[31m"), ("a\nb\tc\r\n", "a b c  "), ("\u202eab\u2069", "\ufffdab\ufffd"), ("é \u00a0 \u202f ≥ 矩", "é \u00a0 \u202f ≥ 矩"),
    ("\ud800", "\ufffd"), ("a\x00\x9b", "a\ufffd\ufffd"), ("\u2028\u2029", "  "), ("\ufeff\u200b\u00ad", "\ufffd\ufffd\ufffd")))
def test_texts_are_made_plain(text, shown):
    assert plain(text) == shown and plain(shown) == shown and not harmful(shown)
    assert plain_lines(f"{text}\n{text}").count("\n") == 2 * text.count("\n") + 1


KEPT = ("side", "date", "run_type", "time_unit", "mode", "stop_reason", "key", "label", "family", "type", "experiment", "size_names", "failed")
"""What has to be as it is, or the file is none of ours, or a point none of a ladder. Each text alone is changed further down."""


def hostile(data: object, start: int) -> object:
    """The same with a hostile ending of every text and of the keys that are names of kernels and points; of equal texts the same."""
    if isinstance(data, dict):
        return {spoilt(k, start) if "/" in k else k: v if k in KEPT else hostile(v, start) for k, v in data.items()}
    if isinstance(data, list):
        return [hostile(v, start) for v in data]
    return spoilt(data, start) if isinstance(data, str) else data


def spoilt(text: str, start: int) -> str:
    return f"{text}{HOSTILE[(sum(map(ord, text)) + start) % len(HOSTILE)]}"


def results() -> dict[str, dict]:
    """Of every kind of file that stands in a results folder, short."""
    run = ladder("gpu", sizes=(256, 512), host_name="host", command_line="rung run", load_avg=[0.1], experiment_toml="title = 'T'\n[report]\nkind = 'x'\n",
                 refused_kernels={"cpu/x/y": "no reason"}, git_commit="0123456789abcdef", gpu_cublas_version="12")
    run.skip("gpu/matmul/tiled", "no memory", 4096)
    run.benchmarks.append(run.entry("gpu/matmul/top", {"n": 7}, {}) | {"error_occurred": True, "error_message": "wrong"})
    run.benchmarks.append(run.entry("gpu/nobody/has", {"n": 7}, {}) | {"kernel": "none"})
    words = Run("words", problems={"field": {"title": "Field", "metric": {"key": "seconds", "unit": "s"}, "size_names": ["n", "kind"]}})
    for kind in ("one", "two"):
        words.time("cpu/field/add", 1e-3, {"n": 10, "kind": kind}, {"order": kind}, timeline=[
            {"what": "copy", "stream": 0, "begin": 0.0, "end": 1.0}])
    words.count("gpu/field/add", 64, load_requests=1)
    machine = {"machine": GPU, "date": "2026-01-02"}
    return {"ladder": run.data(), "words": words.data(),
            "hazards": machine | {"tool": "the emulator", "kernels": {"missing_barrier": {
                "what": "no barrier", "file": "blocks.cu", "is_right": False, "emulator": {"found": True, "message": "race"}}}},
            "counters": machine | {"tool": "ncu", "points": {"gpu/matmul/top/n:512": {"dram_bytes": 1e6, "ffma": 2**27}}},
            "wrong_results": machine | {"launches": 10, "wrong_results": {"missing_barrier": {"failed": "no right twin"}}},
            "sheet": machine | {"empirical": {}, "spec": {"gflops": {"data": [["FP32", 1000.0]]}, "gbytes": {"data": [["DRAM", 100.0]]}}}}


def write(path, data: object) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(data))


def rendered(folder, capfd) -> tuple[int, dict[str, str]]:
    """The exit code, and every text that came out: of files, of what is typeset, of the terminal."""
    code = cli.main([str(folder / "in"), "--output", str(folder / "out")])
    said = capfd.readouterr()
    texts = {"stdout": said.out, "stderr": said.err, "names": "".join(str(p.relative_to(folder)) for p in (folder / "out").rglob("*"))}
    for path in (folder / "out").rglob("*"):
        if path.suffix in (".csv", ".svg", ".html", ".json", ".typ", ".written"):
            texts[path.name] = path.read_text(encoding="utf-8").replace(OWN if path.name == "report.json" else "\n", "")
    texts["values"] = "".join(strings(json.loads((folder / "out" / "report.json").read_text()))).replace(OWN, "")
    return code, texts


def strings(data: object) -> list[str]:
    if isinstance(data, str):
        return [data]
    parts = [*data.keys(), *data.values()] if isinstance(data, dict) else data if isinstance(data, list) else ()
    return [text for part in parts for text in strings(part)]


def found(texts: dict[str, str]) -> dict[str, list[str]]:
    return {name: wrong[:3] for name, text in texts.items() if (wrong := harmful(text, "" if name == "values" else "\n"))}


@pytest.mark.parametrize("start", range(0, len(HOSTILE), 4))
def test_every_text_of_results_reaches_every_output_plain(tmp_path, capfd, start):
    """All at once, keys of tables included; what comes out is a whole report."""
    for name, data in results().items():
        write(tmp_path / "in" / f"{name}.json", hostile(data, start))
    (tmp_path / "in" / "a\x1b[31m\u202e.json").write_text("{")
    code, texts = rendered(tmp_path, capfd)
    assert code in (cli.OK, cli.BAD_INPUT) and found(texts) == {}
    assert all("\ufffd" in text for text in (texts["values"], texts["kernels.csv"], texts["stderr"]))


def fields(data: object, path=()):
    """The path of every text, and of every key."""
    if isinstance(data, dict):
        for key, value in data.items():
            yield (*path, key), True
            yield from fields(value, (*path, key))
    elif isinstance(data, list):
        for index, value in enumerate(data[:2]):
            yield from fields(value, (*path, index))
    elif isinstance(data, str):
        yield path, False


def changed(data, path, is_key, text):
    made = json.loads(json.dumps(data))
    table = made
    for step in path[:-1]:
        table = table[step]
    if is_key:
        table[path[-1] + text] = table.pop(path[-1])
    else:
        table[path[-1]] += text
    return made


@pytest.mark.parametrize("name", results())
def test_each_text_alone_is_read_plain_or_refused_in_a_line(tmp_path, plain_records, name):
    """Field by field, keys included: where the file is still one of ours, nothing of its record is harmful."""
    data = results()[name]
    for number, (path, is_key) in enumerate(fields(data)):
        spoilt_ = changed(data, path, is_key, HOSTILE[number % len(HOSTILE)])
        file = tmp_path / f"{number}.json"
        file.write_text(json.dumps(spoilt_))
        assert harmful(plain_records(file)) == [], path


@pytest.fixture
def plain_records():
    """What is known of a file once it is read: all of its record, or the line that refuses it."""
    from report.data import load

    def read(path) -> str:
        try:
            record = load.load(path)
        except load.InputError as error:
            return str(error)
        toml = getattr(record, "context", {}).get("experiment_toml", "") if hasattr(record, "context") else ""
        return "".join(strings(everything(record))).replace(toml, "")
    return read


def everything(record: object) -> object:
    """A record as tables and lists."""
    if isinstance(record, dict):
        return {str(k): everything(v) for k, v in record.items()}
    if isinstance(record, (list, tuple)):
        return [everything(v) for v in record]
    return everything(vars(record)) if hasattr(record, "__dataclass_fields__") else record


CLAIM = """[{id}]
source = "pmpp"
where = {text}
text = {text}
note = {text}
unit = {text}
said_of = ""
experiment = "matmul_ladder"
stated = 2
rule = "at_least"
measured = "rate(gpu/matmul/tiled, n=512) / rate(gpu/matmul/naive, n=512)"
"""


@pytest.mark.parametrize("json_", (False, True))
def test_every_text_of_claims_reaches_the_terminal_plain(tmp_path, monkeypatch, capfd, json_):
    ladder("gpu", gpu_name="GPU\x1b]0;own\x07\u202e").save(tmp_path)
    texts = [json.dumps(f"text {h}").replace("\\ud800", "") for h in HOSTILE]  # TOML has no halves of pairs
    file = tmp_path / "claims.toml"
    file.write_text("".join(CLAIM.format(id=json.dumps(f"id{i}{h}").replace("\\ud800", ""), text=text).replace("\\u007f", "\x7f" * 0)
                            for i, (h, text) in enumerate(zip(HOSTILE, texts))), encoding="utf-8")
    monkeypatch.setattr(entries, "FILE", file)
    monkeypatch.setattr(entries.load, "__defaults__", (file,))
    code = command.main(["--results", str(tmp_path), *["--json"] * json_])
    said = capfd.readouterr()
    assert code == command.OK, said.err
    assert harmful(said.out) == harmful(said.err) == [] and said.out.count("holds") + said.out.count("not") >= len(HOSTILE)
    if json_:
        assert harmful("".join(strings(json.loads(said.out))), "") == []


@pytest.mark.parametrize("key, value", (("source", '"x\\u001b[31m"'), ("sourc\\u001b", '"x"'), ("rule", '"\\u202e"'), ("measured", '"\\u001b"'),
                                        ("measured", '"device(\\"a\\u0000b\\").x"'), ("cases", '{ "\\u001b" = 1 }'), ("judge", '"\\u009b"')))
def test_what_is_wrong_with_claims_is_told_plain(tmp_path, monkeypatch, capfd, key, value):
    file = tmp_path / "claims.toml"
    text = CLAIM.format(id="one", text='"t"')
    kept = "".join(line + "\n" for line in text.splitlines() if not line.startswith(f"{key} "))
    file.write_text(f'{kept}"{key}" = {value}\n')
    monkeypatch.setattr(entries, "FILE", file)
    monkeypatch.setattr(entries.load, "__defaults__", (file,))
    assert command.main(["--results", str(tmp_path)]) == command.BAD
    said = capfd.readouterr()
    assert said.out == "" and said.err.count("\n") == 1 and harmful(said.err) == [] and "[one]" in said.err


def test_the_document_that_is_set_has_no_harmful_letter(tmp_path, capfd):
    """By the text of the PDF itself, where there is a program that reads it."""
    for name, data in results().items():
        write(tmp_path / "in" / f"{name}.json", hostile(data, 1))
    rendered(tmp_path, capfd)
    try:
        text = subprocess.run(["pdftotext", tmp_path / "out" / "report.pdf", "-"], capture_output=True, check=True).stdout
    except FileNotFoundError:
        pytest.skip("needs pdftotext")
    assert harmful(text.decode("utf-8").replace(OWN, ""), "\n\f") == []
