"""Operations per byte: the figure's size, and the textbook's values beside what was counted."""

import pytest
from synthetic import Run

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
