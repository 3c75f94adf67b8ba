"""Operations per byte: the figure's size, and the textbook's values next to the counted ones."""

import pytest
from synthetic import GPU, Run, write

from report.data.collect import collect
from report.sections.contributions import contributions

DECLARED = '''chapter = 20
[report]
kind = "counts"
sizes = [256, 64]
values = {"gpu/matmul/naive" = 0.25, "gpu/matmul/tiled/tile:16" = 4}
'''


def section_of(folder, sizes):
    run = Run("ratio", experiment_toml=DECLARED)
    for n in sizes:
        for kernel, tunables, each in (("naive", {}, 0.25), ("tiled", {"tile": 16}, 4.0)):
            run.count(f"gpu/matmul/{kernel}", n, tunables, flops_executed=2 * n**3, flops_useful=2 * n**3,
                      bytes_executed_loaded=2 * n**3 / each, bytes_executed_stored=4 * n * n)
    run.save(folder)
    return contributions(collect([folder], []))[0].section


@pytest.mark.parametrize("counted, shown", (((64, 256, 300), 256), ((64, 100), 64), ((100,), 100)))
def test_the_figure_is_at_the_first_declared_size_that_was_counted(tmp_path, counted, shown):
    section = section_of(tmp_path, counted)
    assert {row["size"] for row in section.figures[0].rows} == {f"N\u00a0=\u00a0{shown}"}
    assert section.finding.startswith(f"At N\u00a0=\u00a0{shown} the emulator counts 0.25 operations per loaded byte for naive and 4")


def test_what_the_counter_of_requests_does_not_have_is_not_given_as_measured(tmp_path):
    """A kernel of two launches, whose tiles reach over the edges, loads by bulk copies: no value comes from them."""
    run, points = Run("ratio", experiment_toml=DECLARED), {}
    for kernel, bulk in (("naive", 0), ("bulky", 8), ("unread", 0), ("without", 0)):
        run.count(f"gpu/matmul/{kernel}", 64, flops_executed=8 * 64**3, flops_useful=2 * 64**3, bytes_executed_loaded=8192, load_requests=64,
                  bulk_loads=bulk, sectors_per_load_request=0 if bulk else 4)
        if kernel != "unread":
            points[f"count/gpu/matmul/{kernel}/n:64"] = {"ffma": 4 * 64**3, "load_requests": 64 * (kernel != "without"), "kernels_launched": 1 + bool(bulk)}
    write(tmp_path / "counters.json", {"machine": GPU, "date": "2026-01-01", "tool": "ncu", "points": points})
    run.save(tmp_path)
    section = contributions(collect([tmp_path], []))[0].section
    assert section.finding.endswith(
        "The hardware counters of the Synthetic GPU were read for 3 of 4 points. Their operations over load requests, with the emulator’s bytes "
        "per request, give the counted ratio for the only point without bulk copies; the counter of load requests does not include the bulk copies "
        "of 1 point (bulky); for 1 point no load request was counted.")
    measured = {row["kernel"]: row["measured"] for row in section.appendix[-1].rows}
    assert measured == {"gpu/matmul/naive": 8 * 64**3 / 8192, "gpu/matmul/bulky": None, "gpu/matmul/unread": None, "gpu/matmul/without": None}
    assert {row["sectors_per_load_request"] for row in section.appendix[-1].rows if "bulky" in row["kernel"]} == {None}  # of no request
    for text in (section.figures[0].caption, section.appendix[-1].caption):
        assert "with the emulator’s bytes per request; not where bulk copies load" in text
