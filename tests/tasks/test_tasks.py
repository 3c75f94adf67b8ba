"""CONTRIBUTING's tasks, performed on a scratch copy of the tree: each takes as many files as its table says, and works.

C++ is compiled as the build does it and linked with what is built, the new code first.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"
pytestmark = [pytest.mark.long, pytest.mark.skipif(not (BUILD / "rung").exists() or not shutil.which("ninja"), reason="the program is not built")]

KERNEL = """
#include "common/registry.hpp"

namespace rung {{
namespace {{

void run_mine(const Call& call) {{
  const auto* a = call.operand<const float>(0);
  auto* c = call.operand<float>({result});
  const std::int64_t n = call.params.at("n");
  for (std::int64_t i = 0; i < n; ++i) c[i] = {value};
}}

const bool added = add_kernel({{
    .name = "cpu/{family}/mine",
    .order = 11,
    .title = "mine",
    .idea = "A loop.",
    .cpu = {{.is_serial = true}},
    .run = run_mine,
}});

}}  // namespace
}}  // namespace rung
"""
PROBLEM = """
#include "common/problem/problem.hpp"

namespace rung {
namespace {

Params complete(const Params& given) { return {{"n", positive_size(given, "n", "n", std::int64_t{1} << 34)}}; }

std::vector<Operand> operands(const Params& sizes) {
  const auto elements = static_cast<std::size_t>(sizes.at("n"));
  return {{.name = "a", .elements = elements}, {.name = "c", .elements = elements, .role = Role::output}};
}

void fill_inputs(const Params& sizes, const DataSet& data, std::uint64_t seed, std::span<void* const> host) {
  fill_float({static_cast<float*>(host[0]), operands(sizes)[0].elements}, data, seed);
}

Judge reference(const Params& sizes, const DataSet&, std::uint64_t, std::span<const void* const>) {
  return [n = sizes.at("n")](std::span<const void* const> host) {
    const auto* a = static_cast<const float*>(host[0]);
    return compare_elements("c", static_cast<const float*>(host[1]), n,
                            [=](std::int64_t i) { return Expected{static_cast<double>(2 * a[i])}; });
  };
}

const bool added = add_problem({
    .family = "doubling",
    .title = "Doubling",
    .metric = bandwidth(),
    .size_names = {"n"},
    .test_sizes = {{{"n", 1}}, {{"n", 255}}},
    .complete = complete,
    .operands = operands,
    .flops = [](const Params& p) { return static_cast<double>(p.at("n")); },
    .fill = fill_inputs,
    .reference = reference,
});

}  // namespace
}  // namespace rung
"""
EXPERIMENT = """
title = "Mine"
question = "How fast is mine?"
source = [{{id = "blakely"}}]
chapter = 90

[report]
kind = "sweep"
family = "{family}"

[[sweep]]
kernels = ["cpu/{family}/*"]
n = [1000, 2000]
seconds = 0.05
"""
SECTION = """
from report.experiment import Figure, Section, View, numbers, words


def section(view: View) -> Section | None:
    points = view.cpu.timed() if view.cpu else []
    if not points:
        return None

    def draw(fig):
        from report.draw import lines, style
        lines.draw(style.axes(fig, 16, 9, 40), [lines.Series("mine", [lines.dot(p, p.sizes["n"]) for p in points])],
                   "N", "Performance", unit=points[0].metric.unit)
    best = max(points, key=lambda p: p.value)
    return Section(f"{best.kernel.title} is the fastest with {numbers.rate(best)}.", figures=[
        Figure("mine_rates", [{"n": p.sizes["n"], "value": p.value} for p in points], draw,
               f"Rates by size. {words.provenance(view.cpu, points)}", "Line plot of rates by size.")])
"""


class Copy:
    """The tracked files in a folder of their own, and which of them a task touches."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.touched = folder, set()
        tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
        for name in filter(None, tracked):
            if "recorded/" not in name and (ROOT / name).exists():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, folder / name)
        (folder / "experiments" / "recorded").symlink_to(ROOT / "experiments" / "recorded")

    def write(self, name: str, text: str) -> None:
        self.touched.add(name)
        (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / name).write_text(text, encoding="utf-8")

    def replace(self, name: str, old: str, new: str) -> None:
        text = (self.folder / name).read_text(encoding="utf-8")
        assert text.count(old) >= 1, f"{name}: {old}"
        self.write(name, text.replace(old, new, 1))

    def build(self, like: str) -> Path:
        """The program with this copy's C++ files and its folder; `like`: a file of the build that they are compiled as."""
        commands = json_commands()
        objects = []
        for name in sorted({*(n for n in self.touched if n.endswith(".cpp")), "common/source_dir.cpp"}):
            known = commands.get(str(ROOT / name)) or commands[str(ROOT / like)]
            made = self.folder / f"{name.replace('/', '_')}.o"
            command = re.sub(r" -o \S+", f" -o {made}", known)
            command = re.sub(r" -c \S+", f" -c {self.folder / name}", command)
            command = re.sub(r" -(?:Winvalid-pch|include \S+)", "", command).replace(f" -I{ROOT} ", f" -I{self.folder} ")
            if name == "common/source_dir.cpp":
                command = re.sub(r"-DRUNG_SOURCE_DIR=\S+", f'-DRUNG_SOURCE_DIR=\'"{self.folder}"\'', command)
            subprocess.run(command, shell=True, cwd=BUILD, check=True)
            objects.append(str(made))
        link = subprocess.run(["ninja", "-C", BUILD, "-t", "commands", "-s", "rung"], capture_output=True, text=True, check=True).stdout.splitlines()[-1]
        first = next(word for word in link.split() if word.endswith(".o"))
        link = link.replace(f" {first} ", f" {' '.join(objects)} {first} ", 1).replace(" -o rung ", f" -Wl,--allow-multiple-definition -o {self.folder / 'rung'} ")
        subprocess.run(link, shell=True, cwd=BUILD, check=True)
        return self.folder / "rung"

    def run(self, *command: object) -> str:
        done = subprocess.run([*map(str, command)], cwd=self.folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


def json_commands() -> dict[str, str]:
    import json
    return {entry["file"]: entry["command"] for entry in json.loads((BUILD / "compile_commands.json").read_text(encoding="utf-8"))}


@pytest.fixture
def copy(tmp_path) -> Copy:
    return Copy(tmp_path)


def wanted(task: str) -> list[int]:
    """The numbers of files of a row of the table, `| a kernel | 1 | …`."""
    [row] = re.findall(rf"^\| {task} \| ([^|]+) \|", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"), re.MULTILINE)
    return [int(number) for number in re.findall(r"\d+", row)]


def test_a_kernel(copy):
    copy.write("cpu/vector_addition/mine.cpp", KERNEL.format(family="vector_addition", result=2, value="a[i] + call.operand<const float>(1)[i]"))
    program = copy.build(like="cpu/vector_addition/loop.cpp")
    assert "2 measured" in copy.run(program, "run", "-k", "cpu/vector_addition/mine", "-a", "n=1000,4099", "--benchmark_repetitions=2", "-o", copy.folder / "out")
    assert len(copy.touched) in wanted("a kernel")


def test_a_problem(copy):
    copy.write("common/problem/doubling.cpp", PROBLEM)
    copy.write("cpu/doubling/mine.cpp", KERNEL.format(family="doubling", result=1, value="2 * a[i]"))
    copy.write("experiments/mine.toml", EXPERIMENT.format(family="doubling"))
    program = copy.build(like="cpu/vector_addition/loop.cpp")
    assert "2 measured" in copy.run(program, "run", "mine", "--benchmark_repetitions=2", "-o", copy.folder / "out")
    assert len(copy.touched) in wanted("a problem")


def test_an_experiment_and_its_figure(copy):
    copy.write("experiments/mine.toml", EXPERIMENT.format(family="vector_addition"))
    program = copy.build(like="cpu/vector_addition/loop.cpp")
    copy.run(program, "run", "mine", "--benchmark_repetitions=6", "-o", copy.folder / "out")
    copy.run(sys.executable, "-m", "report", copy.folder / "out", "--output", copy.folder / "generic")
    assert len(copy.touched) in wanted("an experiment")
    copy.write("experiments/mine.py", SECTION)
    copy.run(sys.executable, "-m", "report", copy.folder / "out", "--output", copy.folder / "own")
    assert (copy.folder / "own" / "figures" / "mine_rates.png").exists()
    assert len(copy.touched) in wanted("an experiment") and wanted("a figure") == [1]


def test_a_gpu_of_the_catalogue(copy):
    copy.replace("experiments/sources.toml", "[nvidia-k620]", '[my-sheet]\nauthor = "Me"\ntitle = "My GPU: Data Sheet"\nyear = 2026\nkind = "manual"\n\n[nvidia-k620]')
    copy.replace("common/model/devices.cpp", '    {"GTX 780", {}', '    {"Mine", {}, 8, 0, 10, 1000, 1234, 100, 1536 * 1024, 3 * kGiB, no_tensor(1),\n     {{{"my-sheet"}}}},\n    {"GTX 780", {}')
    assert "1234" in copy.run(copy.build(like="common/model/devices.cpp"), "bound", "Mine")
    assert len(copy.touched) in wanted("a GPU of the catalogue")


def test_a_claim(copy):
    copy.replace("experiments/claims.toml", "[global_void]", '[mine]\nsource = "blakely"\ntext = "Tiles of 16 × 16 give 4 operations per byte"\nstated = 4\n'
                 'unit = "OP/B"\nmodelled = "16 / 4"\nexperiment = "ratio"\n\n[global_void]')
    assert "holds" in copy.run(sys.executable, "-m", "report.claims", "mine")
    assert len(copy.touched) in wanted("a claim of the literature")


def test_a_rule_that_ends_sampling(copy):
    copy.replace("common/harness/measure.cpp", "  const Interval interval = median_interval(seconds);", '  if (count >= 3) return "three are enough";\n  const Interval interval = median_interval(seconds);')
    said = copy.run(copy.build(like="common/harness/measure.cpp"), "run", "-k", "cpu/matmul/naive", "-a", "n=64", "-a", "samples=3", "-o", copy.folder / "out")
    assert len(copy.touched) in wanted("a rule that ends sampling")
    if "disturbed: its threads waited" in said:
        pytest.skip("the machine is so busy that too few undisturbed samples were had for the rule to be asked")
    assert "samples, three are enough" in said, said


def test_the_first_page(copy):
    copy.replace("report/sections/first_page.py", "From the textbook’s kernels to the roof", "My title")
    copy.run(sys.executable, "-m", "report", ROOT / "experiments" / "recorded" / "amd-epyc-2-cores", "--output", copy.folder / "out")
    assert "My title" in (copy.folder / "out" / "report.json").read_text(encoding="utf-8")
    assert len(copy.touched) in wanted("the first page of the report")


def test_a_concept(copy):
    copy.write("docs/concepts/mine.md", "# What is mine?\n\n*Mine* is a term.\n\n```{measured} ratio\n:figure: ratio_ways\n```\n\nSee also [the warp](warp.md).\n")
    copy.replace("docs/concepts/index.md", "\nemulator\n", "\nemulator\nmine\n")
    said = copy.run(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/docs", "-k", "concept or index")
    assert "failed" not in said and len(copy.touched) in wanted("a concept")
