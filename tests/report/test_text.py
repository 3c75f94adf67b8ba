"""Numbers, words, citations and clean text."""

import re

import pytest
from conftest import ROOT
from synthetic import ladder

from report.data.collect import collect
from report.data.limits import Use
from report.data.records import Reference
from report.data.statistics import FASTER, SAME, SLOWER, TOO_FEW, Ratio
from report.text import numbers, sources, words
from report.text.blocks import clean

NB = numbers.NB


@pytest.mark.parametrize("value, text", ((5431, "5.43 TFLOP/s"), (0.329, "329 MFLOP/s"), (999.96, "1.00 TFLOP/s"),
                                         (758711, "759 TFLOP/s"), (1.5e6, "1.50 PFLOP/s"), (0, "0 FLOP/s")))
def test_rates(value, text):
    assert numbers.flops(value) == text.replace(" ", NB)


@pytest.mark.parametrize("value, unit, text", ((4.54e12, "cell/s", "4.54 Tcell/s"), (1500, "ulp", "1500 ulp"), (33.1, "GB/s", "33.1 GB/s"),
                                               (3.2e-6, "s", "3.20 µs")))
def test_quantities_in_any_unit(value, unit, text):
    assert numbers.quantity(value, unit) == text.replace(" ", NB)


@pytest.mark.parametrize("value, text", ((0.25, "0.25"), (0.9401, "0.940"), (0.0201, "0.0201"), (0.02004, "0.0200"), (0.5, "0.5"), (4.0, "4.00"), (0.0123, "0.0123"), (12345, "12\u202f300"), (0, "0"),
                                         (3.928e13, "3.93·10¹³"), (-9.999e12, "-1.00·10¹³"), (999.6e9, "1.00·10¹²"), (999.4e9, "999\u202f000\u202f000\u202f000")))
def test_significant(value, text):
    assert numbers.significant(value) == text


@pytest.mark.parametrize("value, text", ((4.0, "4"), (17.49, "17.5"), (1.9996, "2.00"), (0.5, "0.5"), (0.50004, "0.500"), (0, "0"), (-350.0, "-350")))
def test_short_numbers_are_whole_where_they_are_exactly(value, text):
    assert numbers.short(value) == text


def test_an_interval_keeps_its_zeros():
    assert numbers.interval((0.9401, 1.0502)) == f"[0.940,{NB}1.05]" and numbers.times(0.02004) == "0.0200×" and numbers.times(0.5) == "0.5×"


@pytest.mark.parametrize("value, text", ((0.714, "71 %"), (0.0312, "3.1 %"), (0.0996, "10 %"), (1.0, "100 %"), (0.1875, "19 %")))
def test_percent(value, text):
    assert numbers.percent(value) == text.replace(" ", NB)


def test_occupancies_of_a_column_have_one_format():
    texts = [numbers.occupancy(warps / 64).replace(NB, " ") for warps in (54, 60, 52, 36, 32, 64)]
    assert texts == ["84.38 %", "93.75 %", "81.25 %", "56.25 %", "50 %", "100 %"] and numbers.occupancy(2 / 3) == f"66.67{NB}%"


@pytest.mark.parametrize("path", sorted((ROOT / "experiments").glob("*.py")) + [ROOT / "report/sections/ladders.py"], ids=lambda p: p.stem)
def test_theoretical_occupancies_are_written_by_one_function(path):
    for line in path.read_text().splitlines():
        if 'Column("occupancy_theoretical"' in line or 'Column("occupancy"' in line:
            assert re.search(r'Column\("occupancy(_theoretical)?", "[a-z.]+", numbers.occupancy', line), line


@pytest.mark.parametrize("value, unit, found", ((5e9, "cell/s", (1e9, "Gcell/s")), (20_000.0, "GB/s", (1.0, "GB/s")),
                                                (3e-6, "s", (1e-6, "µs"))))
def test_axes_are_scaled_to_a_prefix(value, unit, found):
    factor, name = numbers.scale(value, unit)
    assert (factor, name) == (pytest.approx(found[0]), found[1])


def test_lists_in_words():
    assert words.joined(["a"]) == "a" and words.joined(["a", "b", "c"]) == "a, b and c" and words.joined([]) == ""
    assert words.listed(list("abcdef")) == "a, b, c and 3 more" and words.listed(list("abcd")) == "a, b, c and d"
    assert words.counted(1, "kernel") == "1 kernel" and words.counted(3, "kernel") == "3 kernels"


def test_the_fastest_is_named_with_those_that_tests_do_not_tell_apart():
    assert words.fastest("top", []) == words.fastest("top", ["top"]) == "top"
    assert words.fastest("stream-K", ["top", "persistent"]) == "stream-K (not significantly faster than top and persistent)"
    assert words.fastest("split tail", ["top"], is_inside=True) == "split tail, not significantly faster than top"
    assert words.fastest("wgmma, top", ["wgmma", "wgmma, clusters"]) == "wgmma, top (not significantly faster than wgmma; wgmma, clusters)"
    assert words.several(["a, b", *"cdef"], 4) == "a, b; c; d; and 2 more" and words.several(list("abcde"), 4) == "a, b, c and 2 more"


def test_a_speed_with_its_interval_and_its_doubt():
    assert words.speed(Ratio(1.17, 1.16, 1.18, True, 0.001, 1e-4, FASTER), "X") == (
        f"1.17× as fast as X (median of the rounds’ ratios, 95{NB}% interval [1.16,{NB}1.18])")
    assert words.speed(Ratio(0.02, 0.016, 0.025, False, 0.001, 1e-4, SLOWER), "that") == f"50.0 times slower than that (95{NB}% interval [40.0,{NB}62.5])"
    assert words.speed(Ratio(13.1, None, None, False, None, 1e-4, TOO_FEW), "X") == "13.1× as fast as X (too few samples for a test)"
    assert [words.of_all(n, 2, "point") for n in (0, 2)] == ["0 of 2 points", "both points"] and words.of_all(1, 1, "point") == "the only point"
    assert words.speed(Ratio(1.01, None, None, False, 0.5, 1e-4, SAME), "X") == "1.01× as fast as X, not a significant difference"


def test_every_caption_says_where_when_how_and_how_often(tmp_path):
    run = ladder()
    run.rate("gpu/matmul/few", 10, count=3)
    run.rate("gpu/matmul/wild", 10, stop_reason="budget", throttled=1)
    run.save(tmp_path)
    part = collect([tmp_path], []).views[0].gpu
    text = words.provenance(part, part.timed())
    assert text.startswith("Measured on Synthetic GPU (board 1234), 2026-02-03; hot mode; 3–12 samples")
    assert "no interval for 1 of 10 points: fewer than six samples" in text
    assert "Hollow: unsettled." in text and "1 throttled." in text


def test_every_caption_names_wider_bounds_of_errors_and_lost_processes(tmp_path):
    run = ladder()
    assert "Bounds" not in words.provenance(*_timed(run, tmp_path / "plain"))
    run.rate("gpu/matmul/parts", 10, error_factor=4.0, error_by_norm=False)
    run.rate("gpu/matmul/fewer", 10, error_factor=20.0, error_by_norm=True, process_lost="it ended")
    text = words.provenance(*_timed(run, tmp_path / "wider"))
    assert "Bounds on errors, relative to other kernels: 4\u00a0× for " in text and "20\u00a0× by norm for " in text
    assert "The process that measured 1 point was lost once; another one measured it again." in text


def _timed(run, folder):
    folder.mkdir()
    run.save(folder)
    part = collect([folder], []).views[0].gpu
    return part, part.timed()


def test_points_that_were_sampled_until_their_ratios_were_known_are_not_hollow(tmp_path):
    run = ladder()
    run.rate("gpu/matmul/known", 10, stop_reason="ratios converged")
    run.save(tmp_path)
    part = collect([tmp_path], []).views[0].gpu
    assert all(p.settled for p in part.timed()) and "Hollow" not in words.provenance(part, part.timed())


def test_citations_name_the_document():
    assert sources.cite("zhou2015", "slide 12") == "Zhou, 2015, slide 12"
    assert sources.cite("williams2009") == "Williams and others, 2009"
    assert sources.cite("", "a place") == "a place"
    assert sources.cite_all([Reference("pmpp", "section 5.1")] * 2) == "Hwu and others, 2022, section 5.1"
    assert sources.listed(["pmpp", "no such key"]) == [sources.entry("pmpp")] and "Morgan Kaufmann. 2022. https" in sources.entry("pmpp")
    assert "IF3230 Sistem Paralel dan Terdistribusi – paralel programming model: GPU [Parallel and " in sources.entry("imam2022")


def test_surnames_keep_their_particles_and_order_the_references():
    assert sources.cite("goto2008") == "Goto and van de Geijn, 2008" and sources.cite("vanzee2015") == "Van Zee and van de Geijn, 2015"
    assert sources.cite("lee2010") == "Lee and others, 2010" and sources.cite("glibc").startswith("Loosemore and others")
    assert sources.cite("openmp").startswith("OpenMP Architecture Review Board")
    names = [entry.split(".")[0] for entry in sources.listed(["zhou2015", "pmpp", "blakely"])]
    assert names == ["Philip Blakely", "Wen-mei W", "Bin Zhou"]


@pytest.mark.parametrize("key, end", (("hoefler2015", "Performance Results. SC 2015. https://doi.org/10.1145/2807591.2807644."),
                                      ("zhou2015", "(2). Lecture slides, January 2015."),
                                      ("jia2018", "arXiv:1804.06826. 2018. https://doi.org/10.48550/arXiv.1804.06826."),
                                      ("little1961", "Research 9(3). 1961. https://doi.org/10.1287/opre.9.3.383.")))
def test_a_reference_names_its_year_once(key, end):
    assert sources.entry(key).endswith(end)


def test_every_doi_is_one_and_of_one_document():
    dois = [e["doi"] for e in sources.documents().values() if "doi" in e]
    assert len(dois) > 30 and [doi for doi in dois if not re.fullmatch(r"10\.\d{4,9}/\S+", doi)] == []
    assert sorted({doi.lower() for doi in dois}) == sorted(doi.lower() for doi in dois)  # upper and lower case are the same DOI


def test_every_article_can_be_found():
    assert [key for key, e in sources.documents().items() if e["kind"] == "article" and not {"doi", "url"} & e.keys()] == []


def test_a_reference_ends_with_its_doi_instead_of_another_address():
    both = 0
    for key, e in sources.documents().items():
        if "doi" in e:
            assert sources.entry(key).endswith(f". https://doi.org/{e['doi']}."), key
            assert sources.entry(key).count("https://") == 1, key
            both += "url" in e
        elif "url" in e:
            assert sources.entry(key).endswith(f". {e['url']}."), key
    assert both


@pytest.mark.parametrize("value, text", ((999, "999"), (4096, "4096"), (16384, "16\u202f384")))
def test_whole_numbers_of_five_digits_are_grouped(value, text):
    assert numbers.grouped(value) == text


@pytest.mark.parametrize("value, text", ((1.8e-7, f"1.8{NB}×{NB}10⁻⁷"), (-2e12, f"-2.0{NB}×{NB}10¹²"), (0, "0")))
def test_powers_of_ten(value, text):
    assert numbers.scientific(value) == text


@pytest.mark.parametrize("text, shown", (("a\x00b", "a\ufffdb"), ("x\u202ey", "x\ufffdy"), (" two\n lines\t", "two lines"),
                                         ("a/b", "a/\u200bb"), ("a_b", "a_\u200bb"), ("a __b__ make_", "a __b__ make_"), ("a, b", "a, b"), ("y" * 81, ("y" * 40 + "\u200b") * 2 + "y"),
                                         ("the GPU's", "the GPU’s"), (f"12{NB}GB/s", f"12{NB}GB/s")))
def test_clean_text(text, shown):
    assert clean(text) == shown


@pytest.mark.parametrize("type_, text", (("int8", "1.36\u00a0TOP/s"), ("fp8", "1.36\u00a0TFLOP/s"), ("uint32", "1.36\u00a0TOP/s")))
def test_operations_on_integers_are_no_flop(type_, text):
    assert numbers.flops(1360, type_) == text


def test_a_share_of_a_roof_is_given_as_it_is():
    assert [numbers.share(x) for x in (0.72, 1.03, 1.07)] == [f"72{NB}%", f"103{NB}%", f"> 100{NB}%"]
    assert words.limit(Use({"L1": 1.03}, {})) == "limited by L1 (1.03)" and words.limit(Use({"L1": 0.85}, {})) == "limited by L1 (0.85)"


def test_a_tiny_share_has_a_power_of_ten():
    assert numbers.percent(6.2e-9) == "6.2\u00a0×\u00a010⁻⁷\u00a0%" and numbers.percent(0) == "0\u00a0%"
