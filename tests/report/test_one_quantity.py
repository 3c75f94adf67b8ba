"""One quantity has one value, whichever section gives it: of the recorded results, over all rows of all figures and tables."""

import re
import sys
from collections import defaultdict
from pathlib import Path

import pytest
from conftest import RECORDED
from synthetic import Run, ladder

from report import document
from report.claims.study_claims import of_study
from report.data.collect import collect
from report.data.records import Point
from report.data.sides import board, question, swept
from report.data.statistics import paired
from report.data.view import collecting
from report.experiment import Figure, Table, numbers
from report.sections import module, repeats


@pytest.fixture(scope="module")
def made():
    return document.make(collect([RECORDED / "nvidia-h200"], []))


def parts_of(section):
    return [x for x in (section.first, *section.figures, *section.tables, *section.appendix) if isinstance(x, (Figure, Table))]


@pytest.mark.long
def test_the_sides_compared_have_the_values_of_their_ladders(made):
    """Each time in a comparison of GPU and CPU equals the time in the experiment with the kernel's ladder, if that measured
    it on the same host."""
    known = defaultdict(set)
    for c in made.found:
        s = c.view.settings
        types = {s.get("type"), *(b["type"] if isinstance(b, dict) else b for b in s.get("beside", ()))}
        for part in c.view.timed_parts if s.get("type") else ():
            for p in (p for p in part.timed(s["family"]) if p.kernel.type in types):
                threads = p.threads if part.side == "cpu" else None
                known[board(part), p.kernel.name, p.title, swept(p), threads, ", ".join(f"{k} {v}" for k, v in question(p))].add(p.summary.median)
    sizes = next(t for c in made.found if c.view.name == "crossover" for t in parts_of(c.section) if t.name == "crossover_sizes").rows
    checked = 0
    for r in sizes:
        for side in ("cpu", "gpu"):
            mine = known.get((r[f"{side}_board"], r[f"{side}_kernel"], r[side], r["n"], r["cpu_threads"] if side == "cpu" else None, r["question"]))
            if mine:
                checked += 1
                assert r[f"{side}_seconds"] in mine, (r["family"], r["n"], side)
    assert checked > 60


@pytest.mark.long
def test_watts_are_said_to_be_of_other_runs(made):
    """Wherever a table or figure has them."""
    seen = 0
    for c in made.found:
        for x in parts_of(c.section):
            shown = {col.key for col in x.columns} if isinstance(x, Table) else {k for k in ("picojoules_per_operation", "power_w") if any(
                r.get(k) for r in x.rows) and x.name.rsplit("_", 1)[-1] in ("energy", "power")}
            if shown & {"power_w", "gflop_per_joule", "picojoules_per_operation", "joules"}:
                seen += 1
                assert "separate runs" in x.caption, x.name
    assert seen > 6


def test_what_several_experiments_measured_is_listed(tmp_path):
    """With the farthest apart named; a roof, and what one run alone has, are not in it."""
    ladder(sizes=(256,)).save(tmp_path)
    again = Run("crossover")
    again.kernel("gpu/matmul/naive", order=100)
    again.rate("gpu/matmul/naive", 60, 256)
    again.kernel("gpu/matmul/other", order=200)
    again.rate("gpu/matmul/other", 60, 256)
    again.save(tmp_path)
    study = collect([tmp_path], [])
    [row] = repeats.rows(study)
    assert (row["kernel"], row["shortest_in"], row["longest_in"]) == ("gpu/matmul/naive", "matmul_ladder", "crossover")
    assert row["ratio"] == pytest.approx(100 / 60, rel=0.01)
    [text] = repeats.limits(study)
    assert "Of 1 point that several experiments measured on one machine, 1 differ" in text and "1.67× (naive on the GPU at N\u00a0=\u00a0256)" in text


@pytest.mark.long
def test_a_claim_of_all_experiments_has_the_section_s_numbers(made):
    """The judge of a claim sees what the section saw, not the section's own experiment alone."""
    [row] = [r for c in made.found if c.view.name == "crossover" for r in c.section.figures[0].rows if r["family"] == "vector_addition"]
    view = collecting(next(v for v in made.study.views if v.name == "crossover"), made.study.views)
    text = module.of(view).one_to_one(view).evidence
    assert numbers.times(row["with_at_largest"]) in text
    [found] = [f.why for f in of_study(made.study) if f.entry.id == "one_to_one"]
    assert text in found


def test_a_kernel_with_less_shared_memory_left_is_another(tmp_path):
    """A sweep of the occupancy runs the ladder's kernel with unused shared memory."""
    ladder().save(tmp_path)
    again = Run("occupancy")
    again.rate("gpu/matmul/naive", 30, 256, shared_bytes_added=56320, name="gpu/matmul/naive/n:256/shared:56320")
    again.rate("gpu/matmul/naive", 99, 256)
    again.save(tmp_path)
    [row] = repeats.rows(collect([tmp_path], []))
    assert row["ratio"] == pytest.approx(100 / 99, rel=0.01)


class Valued(float):
    """A point's value that records where it is divided by the value of a point interleaved with it."""

    def __new__(cls, value, point, where):
        made = super().__new__(cls, value)
        made.point, made.where = point, where
        return made

    def __truediv__(self, other):
        if isinstance(other, Valued) and self.point is not other.point and paired(self.point, other.point):
            frame = sys._getframe(1)
            self.where.add((Path(frame.f_code.co_filename).name, frame.f_lineno))
        return float(self) / float(other)


@pytest.mark.long
def test_no_section_divides_the_rates_of_codes_that_took_turns(monkeypatch):
    """Sentences, tables and CSV have the median quotient (`times_as_fast`), as the method says."""
    real, where = Point.value.fget, set()

    def value(point):
        found = real(point)
        return found if found is None else Valued(found, point, where)
    monkeypatch.setattr(Point, "value", property(value))
    document.make(collect([RECORDED / "nvidia-h200"], []))
    assert not where


UNDEFINED_ALONE = {"with stores", "formula", "factor", "n", "R", "shared added", "theoretical", "achieved", "spilled", "padding", "addresses", "rows", "chain",
                   "chains", "passes", "predicted", "of its bound", "of the bound of one step", "2³⁰ B/s", "loaded", "occ.", "OP/B", "waits", "wavefronts per request",
                   "paths, counted", "accesses", "working set", "stride"}
"""Table headers that are unclear without the code: their captions define them."""


@pytest.mark.long
def test_captions_define_what_headers_do_not_say(made):
    lacking = {(t.name, title) for t in made.tables() for title in (c.title for c in t.columns)
               if title in UNDEFINED_ALONE and not defines(t.caption, title)}
    assert not lacking


def defines(caption, title):
    word = {"of the bound of one step": "bound of one step", "wavefronts per request": "wavefronts", "OP/B": "OP/B:", "n": "n: samples", "R": "radius R"}.get(
        title, title.split(",")[0])
    return word.lower() in caption.lower()


@pytest.mark.long
def test_counts_next_to_rates_say_at_which_sizes(made):
    """The emulator executes smaller problems than those that are timed."""
    names = ("transpose_rates", "local_memory_points", "bank_conflicts_strides", "bank_conflicts_points", "coalescing_strides", "coalescing_offsets",
             "coalescing_patterns", "coalescing_gpu_points", "constant_memory_reads", "divergence_patterns", "barriers_rounds")
    captions = {x.name: x.caption for s in made.sections for x in parts_of(s)}
    for name in names:
        assert re.search(r"[Cc]ount(ed|s)[^.:;]* at (N\u00a0=\u00a0)?[0-9]", captions[name]), (name, captions[name])


@pytest.mark.long
def test_counters_that_vary_say_that_they_are_of_one_run(made):
    """Wherever a figure, a table or a claim has bytes of L2 or DRAM."""
    keys = re.compile(r"dram|l2_|_L2$|_DRAM$|share_L2|share_DRAM|L2 sectors|DRAM bytes")
    seen = 0
    for s in made.sections:
        for x in parts_of(s):
            shown = [c.key for c in x.columns if keys.search(c.key)] if isinstance(x, Table) else (
                ["op_per_byte_DRAM"] if x.name.endswith("_hierarchy") else [])
            if shown and any(r.get(k) is not None for r in x.rows for k in shown) and "cpu" not in x.name and x.name != "skinny_product_counts":
                seen += 1
                assert "profiled run" in x.caption, (x.name, shown)
    assert seen > 4
    claims = [f for f in made.told if re.search(r"counters\([^)]*\)\.(dram|l2)", f.entry.measured or "")]
    assert claims and all("one profiled run" in f"{f.entry.note}{f.entry.here}" for f in claims)
