"""Kernels' files are compiled several together, in groups that change with each new file: two headers may then meet, so
that no two of them give one name to different things of their unnamed namespaces."""

import collections
import re
from pathlib import Path

TOP = Path(__file__).parents[2]
UNNAMED = re.compile(r"\nnamespace rung {\nnamespace {(.*?)\n}  // namespace\n", re.DOTALL)
NAMED = re.compile(r"(?:struct|class|using|enum class) (\w+)|(?:[\w:<>*&,]+ )+[*&]?(\w+)(?: =|\(|{|\[)")
QUALIFIERS = re.compile(r"__launch_bounds__\([^)]*\)|__\w+__|template <.*>")


def names_of(text: str) -> set[str]:
    """What lines without an indent define in the unnamed namespace."""
    found = set()
    for block in UNNAMED.findall(text):
        for line in block.split("\n"):
            named = NAMED.match(" ".join(QUALIFIERS.sub("", line).split())) if line and line[0] not in " /#}" else None
            if named:
                found.add(named.group(1) or named.group(2))
    return found


def test_no_two_headers_give_one_name():
    headers = collections.defaultdict(list)
    for side in ("gpu", "cpu"):
        for header in sorted((TOP / side).rglob("*.hpp")):
            for name in names_of(header.read_text()):
                headers[name].append(str(header.relative_to(TOP)))
    assert len(headers) > 100
    assert {name: files for name, files in headers.items() if len(files) > 1} == {}


def test_names_are_found():
    text = """
namespace rung {
namespace {

constexpr int kThreads = 256;
struct Place {
  int row;
};
template <int N>
__global__ void __launch_bounds__(N) add(int n) {
  int within = 0;
}
inline Launch cover(const Params& p) { return {}; }
using Tiles = Choices<1>;

}  // namespace
}  // namespace rung
"""
    assert names_of(text) == {"kThreads", "Place", "add", "cover", "Tiles"}
