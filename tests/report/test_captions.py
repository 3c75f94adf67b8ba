"""Captions: their own text, and where the values were measured, which a document may print once for a section."""

from conftest import RECORDED  # noqa: F401 - the folders of the tree
from synthetic import ladder

from report.data.collect import collect
from report.text import captions, words


def part(tmp_path, side="gpu"):
    ladder(side).save(tmp_path / side)
    view, = collect([tmp_path / side], []).views
    return getattr(view, side)


def test_a_caption_is_its_text_and_where_it_was_measured(tmp_path):
    mine = part(tmp_path)
    caption = "Rates. " + words.provenance(mine, mine.timed())
    assert caption == f"Rates. {words.provenance(mine, mine.timed())}" and captions.own(caption) == "Rates."
    assert "2026" in caption and captions.own("Rates. ") == "Rates."


def test_what_is_added_later_is_its_own_text(tmp_path):
    mine = part(tmp_path)
    measured = words.provenance(mine, mine.timed()[:1])
    caption = "Rates. " + measured
    caption += " Diamonds: others. " + words.provenance(mine, mine.timed()[1:2])
    assert captions.own(caption).startswith("Rates.") and "Diamonds: others." in captions.own(caption)
    assert len(captions.measured(caption)) == 2 and "2026" not in captions.own(caption)


def test_a_section_says_once_what_several_captions_say(tmp_path):
    gpu, cpu = part(tmp_path), part(tmp_path, "cpu")
    first, second = gpu.timed()[:2]
    both = captions.of_sides("Both.", [f"{p.side.upper()}: " + words.provenance(p, p.timed()[:1]) for p in (gpu, cpu)])
    assert captions.own(both) == "Both." and "GPU: " in both and "CPU: " in both
    told = captions.together([both, "Rates. " + words.provenance(gpu, [first, second], hollow=False), "Nothing measured."])
    assert [(p.side, [x.name for x in points], hollow) for p, points, hollow in told] == [
        ("gpu", [first.name, second.name], True), ("cpu", [cpu.timed()[0].name], True)]
