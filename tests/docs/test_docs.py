"""The README and docs/: their commands run, their output equals the program's, their links are valid."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "docs"))
import ladder

CONCEPTS = sorted(set((ROOT / "docs" / "concepts").glob("*.md")) - {ROOT / "docs" / "concepts" / "index.md"})
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
PROGRAM = ROOT / "build" / "rung"
MAY_FAIL = {"doctor": {0, 1}, "rung compare": {0, 1}}
"""A machine may lack something; a point may be slower."""
BRIEF = {"rung run": {"BENCHMARK_LIST_TESTS": "true"}, "rung ceilings": {"BENCHMARK_FILTER": "l1", "BENCHMARK_REPETITIONS": "1"}}
"""What it would measure is listed; of the roofs one is measured once."""
PROFILE = """"ID","Kernel Name","device__attribute_display_name","gpu__time_duration.sum","dram__bytes.sum",\
"smsp__sass_thread_inst_executed_op_fadd_pred_on.sum","smsp__sass_thread_inst_executed_op_fmul_pred_on.sum",\
"smsp__sass_thread_inst_executed_op_ffma_pred_on.sum"
"","","","nsecond","byte","inst","inst","inst"
"0","mine(float*)","NVIDIA H200","100,000","360,000,000","0","0","30,000,000"
"""
BENCHMARK = """{"context": {}, "benchmarks": [{"name": "mine", "real_time": 1000.0, "time_unit": "ns", "work": 2048.0, "moved": 8192.0}]}"""
"""What another profiler and another harness write."""
LONG = ("'gpu/matmul/*'", "--n 1000000")
OWN = "cpu/matmul/mine"
"""The kernel of the tutorial, which is not in the program."""


FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def blocks(page: Path, language: str) -> list[str]:
    return [text for word, text in FENCED.findall(page.read_text(encoding="utf-8")) if word == language]


def commands(word: str) -> list[str]:
    lines = [line for page in PAGES for block in blocks(page, "sh") for line in block.splitlines()]
    return sorted({re.sub(r"\s+#.*", "", line) for line in lines if word in line})


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 110


def test_the_ladder_of_the_readme_is_that_of_the_recorded_results():
    assert ladder.BEGIN + ladder.table() + ladder.END in (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.skipif(not PROGRAM.exists(), reason="the program is not built")
def test_the_output_in_the_readme_is_printed():
    [wanted] = blocks(ROOT / "README.md", "")
    out = subprocess.run([PROGRAM, "count", "gpu/matmul/naive", "--n", "64"], capture_output=True, text=True, check=True).stdout
    printed = out.splitlines()
    for line in wanted.splitlines():
        assert line in printed


@pytest.mark.skipif(not PROGRAM.exists(), reason="the program is not built")
@pytest.mark.parametrize("command", [
    pytest.param(one, marks=[pytest.mark.long] if any(word in one for word in LONG) else [])
    for one in commands("build/rung") if OWN not in one])
def test_a_command_runs(command, tmp_path):
    for folder in ("build", "experiments"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    (tmp_path / "in.ppm").write_bytes(b"P6 20 20 255\n" + bytes(1200))
    (tmp_path / "mine.csv").write_text(PROFILE, encoding="utf-8")
    (tmp_path / "bench.json").write_text(BENCHMARK, encoding="utf-8")
    env = os.environ | next((less for word, less in BRIEF.items() if word in command), {})
    done = subprocess.run(["bash", "-c", command], cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    wanted = next((codes for word, codes in MAY_FAIL.items() if word in command), {0})
    assert done.returncode in wanted, f"{command}: {done.stdout[-500:]} {done.stderr[-500:]}"


def test_the_scripts_that_commands_name_are_there():
    named = {word for line in commands("") for word in re.findall(r"[\w/.]+\.(?:sh|py|cmake|def|yml)\b", line)}
    assert len(named) >= 4
    for name in named:
        assert (ROOT / name).exists(), name


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_and_paths_lead_somewhere(page):
    text = FENCED.sub("", page.read_text(encoding="utf-8"))
    for link in re.findall(r"\]\(([^)#]+)\)", text):
        assert "://" in link or (page.parent / link).exists(), link
    for path in re.findall(r"`((?:common|cpu|gpu|experiments|report|tests|docs)/[\w/.-]*)`", text):
        assert "NAME" in path or (ROOT / path).exists() or (ROOT / f"{path}.cpp").exists(), path  # a kernel's name is its file's


def test_every_page_is_in_the_index():
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    for page in (ROOT / "docs").glob("*.md"):
        assert page.stem == "index" or f"\n{page.stem}\n" in index, page
    concepts = (ROOT / "docs" / "concepts" / "index.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"^\w+$", concepts, re.MULTILINE)) == sorted(page.stem for page in CONCEPTS)


@pytest.mark.parametrize("folder", ("", "tma", "wgmma", "skinny", "accuracy"))
def test_a_folder_of_a_ladder_lists_its_kernels(folder):
    here = ROOT / "gpu" / "matmul" / folder
    listed = re.findall(r"`([\w.]+\.cu)`", "".join(
        line for line in (here / "README.md").read_text(encoding="utf-8").splitlines() if line.startswith("|")))
    assert sorted(listed) == sorted(path.name for path in here.glob("*.cu"))


def test_the_version_is_the_same_everywhere():
    [version] = re.findall(r"^project\(rung VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text(encoding="utf-8"), re.MULTILINE)
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\n## {version} " in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_there_are_forty_concepts():
    assert len(CONCEPTS) >= 40


@pytest.mark.parametrize("page", CONCEPTS, ids=lambda page: page.stem)
def test_a_concept_is_a_question_a_definition_a_picture_and_a_measurement(page):
    title, definition, *_ = page.read_text(encoding="utf-8").split("\n\n")
    assert re.fullmatch(r"# .+\?", title)
    assert re.search(r"\*[^*]+\*", definition) and definition.count(". ") <= 1 and len(definition.split()) < 60
    [measured] = re.findall(r"^```\{measured\} (\w+)\n:figure: \w+$", page.read_text(encoding="utf-8"), re.MULTILINE)
    assert (ROOT / "experiments" / f"{measured}.toml").exists()


@pytest.mark.long
@pytest.mark.skipif(not PROGRAM.exists(), reason="the program is not built")
def test_the_kernel_of_the_tutorial_is_built_and_measured(tmp_path):
    """It is compiled and linked as the build does it for a kernel next to it."""
    file, code = next((re.match(r"// (\S+)\n", code)[1], code) for code in blocks(ROOT / "docs" / "tutorial.md", "cpp"))
    assert file == f"{OWN}.cpp"
    (tmp_path / "mine.cpp").write_text(code, encoding="utf-8")
    build = ROOT / "build"
    includes = [f"-I{folder}" for folder in (ROOT, build, build / "generated")]
    subprocess.run(["g++", "-std=c++20", "-O2", "-fopenmp", "-Wall", "-Wextra", "-Werror", "-Wno-missing-field-initializers", *includes, "-c",
                    tmp_path / "mine.cpp", "-o", tmp_path / "mine.o"], check=True)
    link = subprocess.run(["ninja", "-C", build, "-t", "commands", "-s", "rung"], capture_output=True, text=True, check=True).stdout.splitlines()[-1]
    assert " -o rung " in link
    subprocess.run(link.replace(" -o rung ", f" {tmp_path / 'mine.o'} -o {tmp_path / 'rung'} "), shell=True, cwd=build, check=True)
    [command] = [one for one in commands("build/rung") if OWN in one]
    done = subprocess.run(f"{command} --benchmark_repetitions=2 -o {tmp_path / 'out'}".replace("build/rung", str(tmp_path / "rung")), shell=True,
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "4 measured" in done.stdout, done.stdout + done.stderr


@pytest.mark.long
@pytest.mark.skipif(not PROGRAM.exists(), reason="the program is not built")
def test_the_site_is_built_without_warnings(tmp_path):
    pytest.importorskip("sphinx")
    done = subprocess.run([sys.executable, "-m", "sphinx", "-W", "-q", "-b", "html", ROOT / "docs", tmp_path],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "roofs" in (tmp_path / "method.html").read_text(encoding="utf-8")
    listed = (tmp_path / "reference" / "claims.html").read_text(encoding="utf-8")
    claims = tomllib.loads((ROOT / "experiments" / "claims.toml").read_text(encoding="utf-8"))
    assert len(claims) > 300 and all(f"<p>{name}</p>" in listed for name in claims)
    kernels = (tmp_path / "reference" / "kernels.html").read_text(encoding="utf-8")
    assert all(f"<p>{name}</p>" in kernels for name in ("naive", "stream_k", "look_back"))
    assert "holds" in (tmp_path / "concepts" / "warp.html").read_text(encoding="utf-8")
    assert (tmp_path / "_images" / "divergence_orders.svg").exists()
    assert not re.search(r'(?:src|href)="https?://[^"]+\.(?:js|css)', (tmp_path / "method.html").read_text(encoding="utf-8"))
