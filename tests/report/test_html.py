"""The report as one HTML file: complete, self-contained, harmless whatever the results contain, and alive in a browser."""

import base64
import csv
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import time
import zlib
from collections import Counter
from html.parser import HTMLParser

import pytest
from conftest import ROOT
from synthetic import Run, ladder, write

from report import cli, compose, document, forks
from report.data.collect import collect
from report.text.blocks import clean
from report.web import markup, page, svg
from report.web.source import places

LARGEST = 2_100_000  # of three machines together; of one it is below 2 MB
VOID = {"meta", "br", "wbr", "input", "link", "img"}
TAGS = {"html", "head", "meta", "title", "style", "body", "a", "header", "span", "button", "nav", "details", "summary", "ul", "li", "h1", "h2", "h3", "main",
        "div", "p", "section", "noscript", "figure", "figcaption", "b", "table", "thead", "tbody", "tr", "th", "td", "dl", "dt", "dd", "script", "wbr",
        "svg", "desc", "defs", "path", "g", "use", "text", "rect", "clippath", "image"}
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")


class Reader(HTMLParser):
    """What a browser would see: tags with their attributes, and the text."""

    def __init__(self, text: str):
        super().__init__(convert_charrefs=True)
        self.tags, self.texts, self.data, self._in = [], [], {}, ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        self._in = tag
        self._id = dict(attributes).get("id")

    def handle_endtag(self, tag):
        self._in = ""

    def handle_data(self, data):
        if self._in in ("script", "style"):
            self.data[self._id or self._in] = data
        else:
            self.texts.append(data)

    @property
    def text(self) -> str:
        return " ".join("".join(self.texts).split())


def unpacked(text: str) -> dict:
    return json.loads(zlib.decompress(base64.b64decode(text), -15))


def columns_of(rows: dict, name: str) -> list[list[str]]:
    """The columns of a CSV, as the page's script puts them together."""
    def column(number: int) -> list[str]:
        told = rows["columns"][number]
        if isinstance(told, str):
            return told.split("\n")
        return [before if line == "\x01" else line for before, line in zip(column(told[0]), told[1].split("\n"))]
    return [column(number) for number in rows["files"][name]]


def rendered(folder, *runs) -> tuple[str, dict]:
    """The page of these runs without figures, and the document's blocks."""
    for run in runs:
        run.save(folder / "in")
    made = document.make(collect([folder / "in"], []))
    content = compose.in_one(made, {f.name: "for a test" for f in made.figures()})
    return page.made(made, content, folder / "figures"), content


def texts_of(content: dict) -> list[str]:
    """Every text of the document."""
    made = [v for v in content["page"].values() for v in (v if isinstance(v, list) else [v])]
    for block in (b for part in ("first", "main", "method", "appendix") for b in content[part]):
        made += [block[key] for key in ("text", "claim", "evidence", "caption") if block.get(key)]
        made += [*block.get("columns", ()), *block.get("items", ())] if block["kind"] != "figures" else [i["caption"] for i in block["items"]]
        made += [cell for row in block.get("rows", ()) for cell in row]
    return [" ".join(text.replace("\u200b", "").split()) for text in made if text != content["page"]["date"]]


def several() -> list[Run]:
    gpu, cpu = ladder("gpu"), ladder("cpu")
    for run in (gpu, cpu):
        for i, entry in enumerate(run.benchmarks):
            entry |= {"sm_clock_mhz": 1500 + i % 7} if entry["kernel"].startswith("gpu/") else {}
    return [gpu, cpu]


# The file


def test_everything_of_the_document_is_there(tmp_path):
    text, content = rendered(tmp_path, *several())
    shown = Reader(text).text
    missing = [t for t in texts_of(content) if t.strip() and t not in shown]
    assert len(texts_of(content)) > 100 and not missing, missing[:3]


def test_nothing_is_loaded_and_only_the_pages_own_style_and_script_may_run(tmp_path):
    text, _ = rendered(tmp_path, *several())
    read = Reader(text)
    policy = next(a["content"] for tag, a in read.tags if a.get("http-equiv") == "Content-Security-Policy")
    for kind, of in (("style-src", "style"), ("script-src", "script")):
        digest = base64.b64encode(hashlib.sha256(read.data[of].encode()).digest()).decode()
        assert re.search(rf"{kind} '([^']+)'", policy)[1] == f"sha256-{digest}"
    assert policy.startswith("default-src 'none'") and "unsafe" not in policy and "http" not in policy
    assert {tag for tag, _ in read.tags} <= TAGS
    for tag, attributes in read.tags:
        assert not [key for key in attributes if key == "style" or key.startswith("on")], tag
        assert all((attributes[key] or "").startswith("#") for key in ("href", "src", "action", "xlink:href") if key in attributes), attributes
    assert "innerHTML" not in read.data["script"] and "url(" not in read.data["style"].replace("url(#", "")


def test_the_same_results_give_the_same_bytes(tmp_path):
    assert rendered(tmp_path, *several())[0] == rendered(tmp_path)[0]


def test_every_csv_is_in_the_page_as_it_is_in_its_file(tmp_path, plain, capfd):
    for run in several():
        run.save(tmp_path / "in")
    assert cli.main([str(tmp_path / "in"), "--output", str(tmp_path / "out")]) == cli.OK
    rows = unpacked(Reader((tmp_path / "out" / page.FILE).read_text(encoding="utf-8")).data["rows"])
    files = {str(p.relative_to(tmp_path / "out").with_suffix("")): p for p in (tmp_path / "out").rglob("*.csv")}
    assert rows["files"].keys() == files.keys() and len(files) > 5
    for name, path in files.items():
        columns = columns_of(rows, name)
        assert [list(row) for row in zip(*columns)] == list(csv.reader(io.StringIO(path.read_text(encoding="utf-8")))), name


def test_every_mark_leads_to_its_samples_its_row_and_its_source(tmp_path):
    run = ladder("gpu")
    for i, entry in enumerate(run.benchmarks):
        entry |= {"sm_clock_mhz": 1500.0 + i % 7, "power_w": 300.0 + i % 5}
    run.benchmarks[-1]["real_time"] *= 1.5
    text, _ = rendered(tmp_path, run)
    read = Reader(text)
    model, rows = (unpacked(read.data[name]) for name in ("model", "rows"))
    points = next(column for column in columns_of(rows, "tables/samples") if column[0] == "point")
    timed = {p.name: p for p in collect([tmp_path / "in"], []).views[0].gpu.points}
    assert len(model["marks"]) == 8 and {tuple(m["x"]) for m in model["marks"]} == {("requested",)}
    for mark in model["marks"]:
        sample = model["samples"][mark["s"]]
        assert "p" not in sample
        point = timed[points[sample.get("r", mark["s"]) + 1]]
        assert point.name.startswith(mark["k"]) and (f"({point.variant})" in mark["t"]) == bool(point.tunables)
        step = sample.get("q", 1) / 1e5
        assert [1 + t * step for t in sample["t"]] == pytest.approx([t / point.timing.median for t in point.times], abs=0.51 * step)
        assert max(map(abs, sample["t"])) < 1000 and step <= 1e-3
        assert sample["c"] == list(point.states["sm_clock_mhz"]) and sample["w"] == list(point.states["power_w"])
        assert mark["y"] == pytest.approx(point.gflops, rel=1e-4) and mark["low"] <= mark["y"] <= mark["high"]
        declared, line = model["kernels"][mark["k"]]["at"].split(":") if mark["k"] in places() else ("", "")
        assert not declared or f'"{mark["k"]}"' in (ROOT / declared).read_text().splitlines()[int(line) - 1]
    assert [m["n"] for m in model["marks"] if m["g"] == 0] == [1, 2, 3, None], "libraries have no number"
    assert any(m["k"] in places() for m in model["marks"])


def test_places_of_a_mark_are_by_level(tmp_path):
    """On a CPU by formula."""
    run = ladder("cpu")
    for entry in run.benchmarks:
        entry |= {"bytes_l2_model": 1e6, "bytes_dram_model": 1e5} if entry["kernel"] == "cpu/matmul/top" else {}
    model = unpacked(Reader(rendered(tmp_path, run)[0]).data["model"])
    top = next(m for m in model["marks"] if m["k"] == "cpu/matmul/top" and m["g"] == 1)
    assert top["x"] == pytest.approx({"requested": 4.0, "L2": 2 * 512**3 / 1e6, "DRAM": 2 * 512**3 / 1e5}, rel=1e-4)
    assert {r.get("level") for m in model["machines"] for r in m["roofs"]} == {"DRAM", "L2", None}


def test_clocks_that_some_samples_lack_are_left_out(tmp_path):
    run = ladder("gpu")
    for entry in run.benchmarks:
        entry |= {"sm_clock_mhz": 1500.0} if entry["repetition_index"] else {}
    text, _ = rendered(tmp_path, run)
    model = unpacked(Reader(text).data["model"])
    assert not any("c" in sample for sample in model["samples"])


def test_several_machines_are_overlaid(tmp_path):
    """At the ladder's size also the boards that the sections do not show."""
    runs = [ladder("gpu"), ladder("gpu", gpu_name="Synthetic GPU 2", gpu_uuid="GPU-87654321", factor=2.0, date="2026-02-02T09:30:00+00:00")]
    for i, run in enumerate(runs):
        run.save(tmp_path / "in", f"run{i}")
    text, _ = rendered(tmp_path)
    model = unpacked(Reader(text).data["model"])
    assert sorted(m["name"] for m in model["machines"]) == ["Synthetic GPU (board 1234)", "Synthetic GPU 2 (board 8765)"]
    assert Counter((m["m"], m["g"]) for m in model["marks"]) == {(0, 0): 4, (0, 1): 4, (1, 1): 4}


def test_results_that_no_run_writes_cost_the_roofline_alone(tmp_path, monkeypatch, capfd):
    def fails(*_):
        raise ValueError("unexpected")
    monkeypatch.setattr(page.model, "made", fails)
    text, content = rendered(tmp_path, ladder("gpu"))
    assert 'id="roofline"' not in text and content["main"] == [] and "has no roofline: ValueError: unexpected" in capfd.readouterr().err


def test_precisions_that_another_experiment_measured_join_a_group(tmp_path):
    other = Run("half")
    other.kernel("gpu/matmul/half", type="fp16")
    other.kernel("gpu/matmul/naive", order=100)
    other.rate("gpu/matmul/half", 900)
    other.rate("gpu/matmul/naive", 110)
    model = unpacked(Reader(rendered(tmp_path, ladder("gpu"), other)[0]).data["model"])
    groups = {(g["view"], g["title"][-3:]): g for g in model["groups"]}
    ladders = groups["Title of matmul_ladder", "512"]
    assert ladders["also"] == [[groups["Title of half", "512"]["id"], "FP16"]] and "first" in ladders
    assert "also" not in groups["Title of half", "512"] and "also" not in groups["Title of matmul_ladder", "256"]


@pytest.mark.parametrize("text, shown, flows", (
    ("a/b_c", "a/b_c", "a/<wbr>b_<wbr>c"), ("<b>&\"'", "&lt;b&gt;&amp;&quot;&#39;", "&lt;b&gt;&amp;&quot;&#39;"), ("a\u200bb\u202e", "ab\ufffd", "a<wbr>b\ufffd")))
def test_texts_are_escaped_once_and_may_be_clean_already(text, shown, flows):
    for one in (text, clean(text)) if "\u200b" not in text else (text,):
        assert markup.escaped(one) == shown and markup.flowing(one) == flows


# Hostile names

PARTS = ("<script>alert({0})</script>", "<img src=x onerror=alert({0})>", '"><svg onload=alert({0})>', "' onmouseover='alert({0})", "</script><script>hacked={0}</script>",
         "<!--{0}", "]]>{0}", "&lt;b&gt;{0}", "javascript:alert({0})", "{{{{{0}}}}}", "</title><h1>{0}", "</style><style>*{{x:{0}}}", "\u202e{0}\x00\x1b[31m", "<a href=//x>{0}",
         "url(http://x/{0})", "${{alert({0})}}", "</textarea>{0}", "<base href=//x/{0}>", "<meta http-equiv=refresh content={0}>", "`{0}`")


def named(of) -> dict:
    """Results in which every text that others choose is one of 10³ names: of kernels, points, machines, sizes, labels, reasons."""
    run = ladder("gpu")
    for i in range(120):
        run.rate(run.kernel(f"gpu/matmul/extra_{i}"), 10 + i)
    data = run.data()
    number = iter(range(10**6))
    for record in data["context"]["kernels"].values():
        record |= {"title": of(next(number)), "idea": of(next(number)), "source": [{"id": of(next(number)), "where": of(next(number))}]}
    for i, entry in enumerate(data["benchmarks"]):
        entry["run_name"] = f"{entry['run_name']}/{of(i // 12 + 500)}"
    data["context"] |= {"title": of(next(number)), "question": of(next(number)), "gpu_name": of(next(number)), "host_name": of(next(number)), of(next(number)): of(next(number))}
    assert next(number) > 480
    return data


def hostile(number: int) -> str:
    return PARTS[number % len(PARTS)].format(number)


def test_a_thousand_hostile_names_are_no_markup(tmp_path):
    """The page has the elements and attributes of a page with harmless names."""
    outlines = []
    for name, of in (("harmless", "name {0}".format), ("hostile", hostile)):
        write(tmp_path / name / "in" / "m.json", named(of))
        text, content = rendered(tmp_path / name)
        read = Reader(text)
        outlines.append(Counter((tag, tuple(sorted(attributes))) for tag, attributes in read.tags if tag != "wbr"))
        assert {tag for tag, _ in read.tags} <= TAGS and not any(c in text for c in "\x00\x1b\u202e\u200b")
    assert outlines[0] == outlines[1]
    assert "<script>alert(" in read.text and "\ufffd" in read.text, "they are shown"
    assert len(re.findall("</script>", text)) == 3


# Figures

NS = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'


def cleaned(body: str) -> tuple[str, svg.Sheet]:
    sheet = svg.Sheet()
    return svg.cleaned(f'<svg {NS} viewBox="0 0 100 50">{body}</svg>', "T", "A", sheet), sheet


@pytest.mark.parametrize("body", (
    "<script>alert(1)</script>", '<path d="M 0 0" onload="x()"/>', "<foreignObject><b>x</b></foreignObject>", '<image xlink:href="http://x/y.png"/>',
    '<use xlink:href="http://x#y"/>', '<a xlink:href="javascript:x()"><text>t</text></a>', "<style>*{fill:url(http://x)}</style>",
    '<path d="M 0 0 L 1 1" style="fill: url(http://x)"/>', '<path d="M 0 0 L 1 1" style="background: url(http://x); fill: red;} * {x:y"/>',
    '<path d="M 0 0 L 1 1" style="fill: red}*{x:y"/>', '<text x="1" y="1" transform="rotate(1) url(x)" style="fill: &quot;&lt;">a</text>', '<animate attributeName="href"/>', '<path d="M 0 0&quot;&gt;&lt;script&gt;"/>'))
def test_only_drawing_is_taken_from_a_figure(body):
    made, sheet = cleaned(body)
    text = f"{made}{sheet.css()}{sheet.defs()}"
    assert not re.search(r"script|onload|foreign|http|javascript|background|animate|style=|url\((?!#)", text)
    assert {tag for tag, _ in Reader(made).tags} <= TAGS and not re.search(r"[<\"]|\*\{", sheet.css())


def test_texts_marks_and_lines_of_a_figure_stay():
    made, sheet = cleaned("""<defs><path id="tick" d="M 0 0 \nL 0 3 \n"/><path id="dot" d="M 0 2 \nC 1 2 2 1 2 0 \nz\n"/><clipPath id="area"><rect x="1" y="2" width="30" height="40"/></clipPath></defs>
        <path d="M 0 0 L 100 0" style="fill: #ffffff"/><path d="M 0 5 \nL 10 5 \nL 10.01 5 \nL 12.34 8 \nz" style="stroke-width: 0.5"/>
        <g id="matplotlib.axis_1"><g><use xlink:href="#tick" x="10" y="40" style="stroke: #123456"/></g><g><use xlink:href="#tick" x="20.04" y="40" style="stroke: #123456"/></g></g>
        <g clip-path="url(#area)"><use xlink:href="#dot" x="0" y="6" style="fill: #123456"/><use xlink:href="#dot" x="7" y="6" style="fill: #123456"/></g>
        <g id="halo_1"><text x="3" y="4" style="font-size: 6.6px; font-family: 'x'; paint-order: stroke; stroke: #ffffff" transform="rotate(-90 3 4)">a &lt; b</text></g>""")
    assert '<path class="k1" d="M10 40v3M20 40v3"/>' in made and '<path class="k0" d="M0 5h10l2.3 3z"/>' in made, "ticks are one path"
    assert '<g clip-path="url(#p0)"><g class="k2"><use href=#m0 x=0 y=6 /><use href=#m0 x=7 y=6 /></g></g>' in made
    assert '<text class="k3" x="3" y="4" transform="rotate(-90 3 4)">a &lt; b</text>' in made and "M0 0 L100 0" not in made
    assert ".k3{stroke:var(--paper);font-size:6.6px;paint-order:stroke}" in sheet.css() and '<path id="m0" d="M0 2C1 2 2 1 2 0z"/>' in sheet.defs()
    assert made.startswith('<svg viewBox="0 0 100 50" role="img"><title>T</title><desc>A</desc>')


def test_dark_pages_turn_the_lightness_around():
    assert svg.on_dark("#000000") == "#ededed" and svg.on_dark("#ffffff") == "#1f1f1f"
    red, green, blue = (int(svg.on_dark("#123f7a")[i:i + 2], 16) for i in (1, 3, 5))
    assert red < green < blue and blue > 200


def test_halos_of_labels_are_texts(tmp_path):
    """matplotlib would draw outlines of their letters."""
    style = pytest.importorskip("report.draw.style")
    from report.draw.formats import Formats
    fig = style.figure(40)
    ax = style.axes(fig)
    mine = ax.annotate("two\nlines", (0.5, 0.5), path_effects=style.HALO)
    forks.in_a_fork(Formats(tmp_path).save, fig, "x")  # a process that has used typst cannot fork again
    text = (tmp_path / "x.svg").read_text()
    assert re.findall(r'<text style="paint-order: stroke; stroke: #ffffff[^>]*>(\w+)<', text) == ["two", "lines"]
    assert mine.get_path_effects() == style.HALO and mine.get_gid() is None
    made = svg.cleaned(text, "T", "A", svg.Sheet())
    assert ">two</text>" in made and len(made) < len(text) / 3


# Of the report of all recorded results


def test_the_page_of_all_recorded_results(whole):
    path = whole / page.FILE
    text = path.read_text(encoding="utf-8")
    documents = json.loads((whole / "report.json").read_text(encoding="utf-8"))
    read = Reader(text)
    assert path.stat().st_size <= LARGEST
    drawn = {item["name"] for content in documents.values() for part in ("first", "main", "method", "appendix") for b in content[part] if b["kind"] == "figures"
             for item in b["items"]}
    assert sum(tag == "desc" for tag, _ in read.tags) == len(drawn)
    missing = [t for t in texts_of(documents["data"])[5:] if t.strip() and t not in read.text and t not in documents["data"]["page"].values()]
    assert not missing, missing[:3]
    ids = Counter(a["id"] for _, a in read.tags if a.get("id"))
    assert not [name for name, number in ids.items() if number > 1]
    assert not {a["href"][1:] for tag, a in read.tags if tag in ("a", "use")} - ids.keys(), "every link has its place"
    rows = sum(a.get("data-v") is not None for _, a in read.tags)
    assert rows > 200 and 'id="claims"' in text


def test_the_script_is_short():
    lines = (ROOT / "report" / "web" / "page.js").read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 500 and max(map(len, lines)) <= 160


# In a browser

PROBE = """
"use strict";
(async () => {
  const told = {violations: [], errors: [], saved: []}, wait = ms => new Promise(done => setTimeout(done, ms));
  document.addEventListener("securitypolicyviolation", e => told.violations.push(`${e.violatedDirective} ${e.blockedURI} ${e.sample}`));
  addEventListener("error", e => told.errors.push(String(e.message)));
  addEventListener("unhandledrejection", e => told.errors.push(String(e.reason)));
  const made = URL.createObjectURL.bind(URL), $ = q => document.querySelector(q), all = q => [...document.querySelectorAll(q)];
  URL.createObjectURL = blob => { told.saved.push(blob); return made(blob); };
  HTMLAnchorElement.prototype.click = function () {};
  const until = async test => { for (let i = 0; i < 200 && !test(); i++) await wait(25); };
  const fire = (e, Kind, name, more = {}) => e.dispatchEvent(new Kind(name, {bubbles: true, cancelable: true, ...more}));
  const click = (e, more = {}) => fire(e, MouseEvent, "click", more), press = (e, key) => fire(e, KeyboardEvent, "keydown", {key});
  const type = (e, text) => { e.value = text; fire(e, Event, e.tagName === "SELECT" ? "change" : "input"); };
  const seen = q => all(q).filter(e => e.getClientRects().length).length, shown = row => getComputedStyle(row).display !== "none";
  try {
    await new Promise(done => document.readyState === "complete" ? done() : addEventListener("load", done));
    await until(() => $(".plot .mark") || !$("#roofline"));
    %s
  } catch (error) { told.errors.push(`${error.message} ${error.stack}`); }
  told.saved = await Promise.all(told.saved.map(async blob => [blob.type, blob.size, blob.type === "image/png" ? "" : await blob.text()]));
  const place = document.createElement("pre");
  place.id = "told";
  place.textContent = btoa(unescape(encodeURIComponent(JSON.stringify(told))));
  document.body.append(place);
})();
"""


@pytest.fixture(scope="module")
def chrome(tmp_path_factory):
    """Opens a file; returns the page after its scripts ran, and the errors of the browser."""
    program = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if program is None:
        pytest.skip(f"needs a browser: one of {', '.join(BROWSERS)}")
    fixed = [program, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", f"--user-data-dir={tmp_path_factory.mktemp('user')}"]
    return lambda path, *options: subprocess.run([*fixed, *options, "--dump-dom", path.as_uri()], capture_output=True, timeout=180)


@pytest.fixture(scope="module")
def opened(chrome):
    """The seconds that opening a file takes."""
    def measured(path) -> float:
        begin = time.monotonic()
        assert b"</html>" in chrome(path).stdout
        return time.monotonic() - begin
    return measured


@pytest.fixture(scope="module")
def browser(chrome, tmp_path_factory):
    """Opens a page and runs a script in it, whose hash is added to the page's policy; returns the script's results."""
    path = tmp_path_factory.mktemp("page") / "page.html"

    def run(text: str, steps: str, *options: str) -> dict:
        probe = PROBE % steps
        digest = base64.b64encode(hashlib.sha256(probe.encode()).digest()).decode()
        text = text.replace("script-src ", f"script-src 'sha256-{digest}' ", 1).replace('</body>\n</html>', f"<script>{probe}</script></body></html>")
        path.write_text(text, encoding="utf-8")
        done = chrome(path, "--virtual-time-budget=20000", *options)
        found = re.search(rb'<pre id="told">([^<]+)</pre>', done.stdout)
        assert found, done.stderr.decode(errors="replace")[-2000:]
        told = json.loads(base64.b64decode(found[1]))
        assert told["violations"] == [] and told["errors"] == []
        return told
    return run


ROOFLINE = """
    const marks = all(".plot .mark"), bounds = () => all(".plot .tick").map(e => e.textContent).join("|");
    told.marks = marks.length; told.axes = bounds(); told.nowhere = $(".out").textContent; told.labels = all(".plot .name").map(e => e.textContent);
    fire(marks[1], PointerEvent, "pointermove", {clientX: 200, clientY: 200});
    told.tip = $("#tip").innerText; told.tipShown = !$("#tip").hidden;
    fire($("#roofline"), PointerEvent, "pointerleave"); told.tipGone = $("#tip").hidden;
    click(marks[1]); await until(() => $("#detail .row"));
    told.dim = all(".plot .mark.dim").length; told.pressed = all(".legend [aria-pressed=true]").map(e => e.innerText);
    told.detail = $("#detail").innerText; told.dots = all("#detail .dot").length; told.row = $("#detail .row").textContent; told.focus = document.activeElement.getAttribute("data-key");
    click(all(".plot .mark:not(.dim)")[0].parentNode.querySelector(".mark.dim"), {ctrlKey: true}); told.dimOfTwo = all(".plot .mark.dim").length;
    press($(".plot .mark"), "Escape"); told.dimAfter = all(".plot .mark.dim").length; told.detailGone = $("#detail").hidden;
    click($(".plot .roof")); told.roofsDim = all(".plot .roof.dim").length; told.roofDetail = $("#detail").innerText;
    press($(".plot .mark"), "Escape");
    press($(".plot .mark"), "Enter"); told.byKey = all(".plot .mark.dim").length; press($(".plot .mark"), "Escape");
    const button = (of, text) => all(`.controls [aria-label="${of}"] button`).find(b => b.textContent === text);
    told.roofs = all(".plot .roof").length; click(button("bytes of", "L2")); told.roofsWithL2 = all(".plot .roof").length; told.axesWithL2 = bounds();
    click(button("bytes of", "requested")); told.marksWithoutRequested = all(".plot .mark").length; click(button("bytes of", "requested"));
    const sizes = [...$(".controls select").options].map(o => o.textContent); told.sizes = sizes;
    type($(".controls select"), "0"); told.marksOfOther = all(".plot .mark").length; told.out = $(".out").textContent; told.badges = all(".plot .badge").length; told.axesOfOther = bounds();
    const exporters = all(".controls button"); click(exporters.find(b => b.textContent === "SVG")); click(exporters.find(b => b.textContent === "PNG"));
    await until(() => told.saved.some(blob => blob.type === "image/png"));
    const before = getComputedStyle(document.body).backgroundColor; click($("#theme")); told.themes = [before, getComputedStyle(document.body).backgroundColor, $("#theme").textContent];
"""


@pytest.fixture(scope="module")
def roofline(browser, tmp_path_factory):
    run = ladder("gpu")
    run.time(run.kernel("gpu/matmul/closed", title="Closed library", is_library=True, order=210), 2 * 512**3 / 6e11, flops_useful=2 * 512**3)
    for i, entry in enumerate(run.benchmarks):
        entry |= {"sm_clock_mhz": 1500.0 + i % 7}
        if entry["kernel"] == "gpu/matmul/naive" and entry["sizes"]["n"] == 256:
            entry["op_per_byte_declared"] = 1e-4
    return browser(rendered(tmp_path_factory.mktemp("roofline"), run)[0], ROOFLINE)


def test_hover_shows_rate_interval_share_clock_and_limiter(roofline):
    assert roofline["marks"] == 4 and roofline["labels"] == ["1", "2", "3", "Library"]
    assert roofline["tipShown"] and roofline["tipGone"]
    tip = roofline["tip"]
    assert "tiled (tile 16), FP32" in tip and "Synthetic GPU (board 1234)" in tip and "300\u00a0GFLOP/s, [299.0,\u00a0300.0] GFLOP/s" in tip
    assert "30\u00a0% of FP32 FMA" in tip and "1503\u00a0MHz" in tip and "requested 1 OP/B" in tip and "12 samples" in tip


def test_a_click_isolates_and_shows_samples_source_and_row(roofline):
    assert roofline["dim"] == 3 and len(roofline["pressed"]) == 1 and roofline["pressed"][0].startswith("2 tiled")
    assert roofline["focus"] and roofline["dots"] == 24, "times and clocks of twelve samples"
    assert "gpu/matmul/tiled.cu:" in roofline["detail"] and "12 samples over their rounds" in roofline["detail"] and "clock of each" in roofline["detail"]
    assert "gpu/matmul/tiled/tile:16/n:512" in roofline["row"] and re.search(r"median_of_all_seconds0\.0\d+", roofline["row"])
    assert roofline["dimOfTwo"] == 2 and roofline["dimAfter"] == 0 and roofline["detailGone"] and roofline["byKey"] == 3
    assert roofline["roofsDim"] == roofline["roofs"] - 1 and "lowest" not in roofline["roofDetail"] and "12 samples" in roofline["roofDetail"]


def test_levels_are_selected_and_the_axes_depend_on_the_roofs_alone(roofline):
    assert roofline["roofs"] == 2 and roofline["roofsWithL2"] == 3 and roofline["marksWithoutRequested"] == 0
    assert roofline["axes"] == roofline["axesWithL2"] == roofline["axesOfOther"]
    assert roofline["axes"].split("|")[:5] == ["0.1", "1", "10", "100", "1 G"] and roofline["axes"].endswith("operations per second")


def test_points_out_of_the_frame_are_named_and_badged(roofline):
    assert roofline["sizes"] == ["Matrix multiplication, N\u00a0=\u00a0256", "Matrix multiplication, N\u00a0=\u00a0512"]
    assert roofline["marksOfOther"] == 4 and roofline["badges"] == 1
    assert roofline["nowhere"] == "Not drawn, since their bytes of these levels are not known: Closed library (599 GOP/s)."
    assert roofline["out"] == "Out of the frame: naive (requested: 0.0001 OP/B, 99.9 GOP/s)."


def test_the_present_view_is_exported(roofline):
    kinds = {kind: (size, text) for kind, size, text in roofline["saved"]}
    assert kinds["image/png"][0] > 5000
    text = kinds["image/svg+xml"][1]
    assert {tag for tag, _ in Reader(text).tags} <= TAGS and "class=" not in text and "var(" not in text
    assert "Roofline. Matrix multiplication, N\u00a0=\u00a0256; Synthetic GPU (board 1234)" in text and "1 naive: 99.9\u00a0GFLOP/s" in text and "Out of the frame" in text


def test_the_reader_chooses_light_or_dark(roofline):
    assert roofline["themes"] == ["rgb(255, 255, 255)", "rgb(22, 24, 28)", "Light"]


TABLES = """
    const table = $("#t-kernels"), rows = () => [...table.querySelectorAll("tbody tr")], first = () => rows().map(r => r.cells[0].textContent);
    await until(() => all("#t-kernels .tools button").length > 1);
    told.heads = [...table.querySelectorAll("th")].map(e => e.textContent); told.printed = rows().length;
    click(table.querySelector(".tools button")); told.all = rows().length; told.last = rows().at(-1).textContent;
    const head = table.querySelector("th button"); told.before = first();
    click(head); await wait(50); told.up = first(); told.sort = head.parentNode.getAttribute("aria-sort");
    click(head); await wait(50); told.down = first(); click(head); await wait(50); told.again = first();
    type(table.querySelector("input"), "extra_7 idea"); told.filtered = rows().filter(shown).length; type(table.querySelector("input"), "");
    click(table.querySelector(".tools [data-csv]")); await until(() => told.saved.length);
"""


def by_numbers(text: str) -> list:
    """'extra_2' before 'extra_10'."""
    return [(part.isdigit(), int(part) if part.isdigit() else 0, part) for part in re.split(r"(\d+)", text)]


def test_tables_sort_filter_and_give_their_csv(browser, tmp_path):
    run = ladder("gpu")
    for i in range(60):
        run.rate(run.kernel(f"gpu/matmul/extra_{i}"), 10 + i)
    for item in run.context["kernels"].values():
        item["idea"] = 'An idea, "quoted".'
    text, _ = rendered(tmp_path, run)
    told = browser(text, TABLES)
    table = next(t for t in document.make(collect([tmp_path / "in"], [])).tables() if t.name == "kernels")
    assert told["printed"] == table.most < told["all"] == len(table.rows) and "extra" in told["last"]
    assert sorted(told["before"], key=by_numbers) == told["up"] and told["sort"] == "ascending" and told["again"] == told["before"]
    assert sorted(told["before"], key=by_numbers, reverse=True) == told["down"] and told["filtered"] == sum("extra 7" in r["title"] for r in table.rows)
    from report.output import write_csv
    write_csv(tmp_path / "kernels.csv", table.rows)
    assert told["saved"] == [["text/csv", (tmp_path / "kernels.csv").stat().st_size, (tmp_path / "kernels.csv").read_text()]]


CLAIMS = """
    const box = $("#claims input"), [documents, verdicts] = all("#claims select"), count = () => $("#claims output").textContent, option = (s, t) => [...s.options].find(o => o.textContent === t).value;
    const rows = () => all(".claims tbody tr").filter(shown);
    await until(() => $("#claims output").textContent);
    told.count = count(); told.documents = documents.options.length; told.verdicts = [...verdicts.options].map(o => o.textContent); told.rows = rows().length;
    type(box, "coalesced"); told.found = count(); told.texts = rows().map(r => r.textContent.toLowerCase());
    type(box, "no such words"); told.none = count(); told.tables = all(".claims").filter(e => !e.hidden).length; type(box, "");
    type(verdicts, option(verdicts, "not tested")); told.untested = count(); told.kinds = [...new Set(rows().map(r => r.dataset.v))];
    type(verdicts, ""); documents.selectedIndex = 1; type(documents, documents.value); told.ofOne = count();
"""


def test_claims_are_found_by_words_document_and_verdict(browser, tmp_path):
    text, _ = rendered(tmp_path, *several())
    claims = document.make(collect([tmp_path / "in"], [])).claims
    every = len({f.entry.id for f in claims})
    told = browser(text, CLAIMS)
    assert told["count"] == f"{every} of {every} claims" and every > 200 and told["rows"] >= every
    assert told["texts"] and len(told["texts"]) < every and all("coalesced" in t or "\u00a0" in t for t in told["texts"])
    assert told["none"] == f"0 of {every} claims" and told["tables"] == 0
    assert told["untested"] == f"{len({f.entry.id for f in claims if f.verdict == 'not tested'})} of {every} claims" and told["kinds"] == ["6"]
    assert told["ofOne"].endswith(f" of {every} claims") and told["ofOne"] != told["count"] and told["documents"] > 5


def test_the_levels_that_are_known_are_drawn_first(browser, tmp_path):
    run = ladder("cpu")
    for entry in run.benchmarks:
        for key in ("op_per_byte_declared", "bytes_declared_loaded"):
            entry.pop(key, None)
        entry |= {"bytes_l2_model": 1e8} if "matmul" in entry["kernel"] else {}
    told = browser(rendered(tmp_path, run)[0], """
        told.levels = all('.controls [aria-label="bytes of"] [aria-pressed=true]').map(e => e.textContent); told.spots = all(".plot .spot").length;""")
    assert told["levels"] == ["L2"] and told["spots"] == 4


SAMPLES = """
    const box = $("#samples input"), count = () => $("#samples output").textContent, buttons = () => all("#samples .found button");
    await until(() => $("#samples output").textContent);
    told.before = [count(), buttons().length]; type(box, "cpu naive HOT n:512"); told.found = [count(), ...buttons().map(b => b.textContent)];
    click(buttons()[0]); await until(() => $("#samples .row")); told.shown = $("#samples .detail").textContent; told.dots = all("#samples .dot").length;
"""


def test_the_samples_of_every_point_are_found(browser, tmp_path):
    """Also of points that no roofline has."""
    text, _ = rendered(tmp_path, *several())
    every = sum(p.is_timed for view in collect([tmp_path / "in"], []).views for part in view.timed_parts for p in part.points)
    told = browser(text, SAMPLES)
    assert told["before"] == [f"{every} of {every} points", 0] and told["found"] == [f"1 of {every} points", "cpu/matmul/naive/n:512"]
    assert told["dots"] == 12 and "12 samples, median" in told["shown"] and "Synthetic CPU, 4 cores" in told["shown"] and "cpu/matmul/naive.cpp:" in told["shown"]


HARMLESS = """
    told.hacked = typeof hacked; told.marks = all(".plot .mark").length; told.alerts = 0; window.alert = () => { told.alerts++; };
    for (const mark of all(".plot .mark").slice(0, 30)) { fire(mark, PointerEvent, "pointermove"); click(mark); }
    await until(() => $("#detail .row")); await wait(100);
    click($("#theme")); for (const head of all("th button").slice(0, 12)) click(head);
    await wait(200); told.tags = [...new Set(all("*").map(e => e.localName))]; told.scripts = all("script").length; told.titles = document.title;
    told.tip = $("#tip").innerText; told.handlers = all("*").filter(e => [...e.attributes].some(a => a.name.startsWith("on"))).length;
"""


def test_hostile_names_do_nothing_in_a_browser(browser, tmp_path):
    write(tmp_path / "in" / "m.json", named(hostile))
    text, _ = rendered(tmp_path)
    told = browser(text, HARMLESS)
    assert told["hacked"] == "undefined" and told["alerts"] == told["handlers"] == 0 and told["marks"] > 100
    assert not {"img", "base", "textarea", "iframe", "animate"} & set(told["tags"]) and told["scripts"] == 4
    assert told["titles"].startswith("<script>alert(") or "alert" in told["titles"]


PHONE = "all('main > section').forEach(e => { e.style.contentVisibility = 'visible'; }); told.wide = document.documentElement.scrollWidth; told.inner = innerWidth; told.open = $('#contents details').open;"


def test_on_a_phone_nothing_is_wider_than_the_screen(browser, tmp_path):
    text, _ = rendered(tmp_path, *several())
    told = browser(text, PHONE, "--window-size=500,844")
    assert told["wide"] <= told["inner"] and not told["open"]


def test_the_page_of_all_recorded_results_opens_within_a_second(opened, whole, tmp_path):
    """Compared with an empty page, since the browser itself takes longer to start."""
    (tmp_path / "empty.html").write_text("<!doctype html><title>empty</title>")
    if os.getloadavg()[0] > (os.cpu_count() or 1):
        pytest.skip("the machine is too busy to time a browser")
    empty, full = (min(opened(path) for _ in range(3)) for path in (tmp_path / "empty.html", whole / page.FILE))
    assert full - empty < 1
