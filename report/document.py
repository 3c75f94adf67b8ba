"""Puts the report together as blocks and has typst set them. Content reaches the template as JSON only."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path

from report import (barriers, blocks, climbing, compared, derive, emulators, energy, hazards, kin, machines, provenance,
                    ratios, readings, tables, words)
from report.figures import occupancy_ladder
from report.records import SIDE_NAME, Study

TEMPLATE = Path(__file__).parent / "template" / "report.typ"


class Missing(Exception):
    """The typst package is not installed."""


class Failed(Exception):
    """typst could not set the document; the text says why."""


def compose(study: Study, captions: dict[str, str], rows: dict[str, list[dict]], drawn: bool) -> dict:
    """The whole document as data for the template."""
    def figure(name: str) -> list[dict]:
        if name not in captions:
            return []
        return [(blocks.figure if drawn else blocks.undrawn)(name, captions[name])]

    sections = [
        machines.section(study),
        tables.roofs(study),
        _section("The ladder", readings.ladder(study), figure("ladder")),
        climbing.section(study, "cpu", figure),
        climbing.others(study, figure),
        climbing.section(study, "gpu", figure),
        _section("The GPU’s roofline", readings.roofline_gpu(study, rows.get("roofline_gpu", [])),
                 figure("roofline_gpu")),
        _section("Promise and measurement", readings.promise(rows.get("promise", [])), figure("promise")),
        _section("Who served the bytes", readings.traffic(rows.get("traffic", [])), figure("traffic")),
        _section("The CPU’s roofline", readings.roofline_cpu(study), figure("roofline_cpu")),
        _section("The CPU’s memory hierarchy", climbing.hierarchy(study), figure("hierarchy"),
                 figure("hierarchy_one")),
        _section("More threads", climbing.scaling(study), figure("scaling"), climbing.scaling_table(study)),
        kin.section(study),
        _section("Both on one roofline", readings.roofline_both(study), figure("roofline_both")),
        _section("Occupancy and throughput", readings.occupancies(rows.get("occupancy", [])), figure("occupancy")),
        _section("Occupancy along the ladder", occupancy_ladder.reading(rows.get("occupancy_ladder", [])),
                 figure("occupancy_ladder")),
        _section("Shared memory at a stride", readings.strided(rows.get("strided", [])), figure("strided")),
        _section("Throughput and size", readings.sizes(study), figure("sizes")),
        _section("The GPU against the best CPU code", readings.speedup(study), figure("speedup"),
                 tables.speedups(study)),
        _section("Energy", energy.reading(study), figure("energy"), energy.table(study), climbing.no_energy(study)),
        _section("Counted operations and bytes", ratios.reading(study), ratios.table(study)),
        barriers.section(study),
        compared.section(study),
        compared.caches_section(study),
        hazards.section(study),
        tables.others(study),
        tables.method(study) + emulators.rates(study),
        provenance.section(study),
    ]
    return {"title": _title(study), "subtitle": _subtitle(study), "date": [int(x) for x in study.date[:10].split("-")],
            "sentences": [blocks.clean(s) for s in words.first_page(study)],
            "errors": [blocks.clean(e) for e in derive.errors(study)],
            "answer": figure("answer"), "sections": [s for s in sections if s]}


def _section(title: str, reading: str, *parts: list[dict]) -> list[dict]:
    """A section with what there is to show; nothing at all if there is nothing."""
    shown = [block for part in parts for block in part]
    if not shown:
        return []
    return [blocks.heading(title), *([blocks.reading(reading)] if reading else []), *shown]


def _title(study: Study) -> str:
    """Of the run with most of the ladder, or of each side's own: 'The CPU's ladder and the GPU's ladder'."""
    family, titles = derive.main_family(study), []
    for side in study.sides.values():
        sizes = Counter(p.run for p in side.points if p.kernel.family == family and p.is_timed)
        fullest = max(study.runs, key=lambda r: (sizes[str(r.path)], r.date))
        titles.append(str(fullest.context.get("title") or fullest.experiment))
    titles = list(dict.fromkeys(titles)) or [str(study.runs[0].context.get("title") or study.runs[0].experiment)]
    others = [f"the {text[4:]}" if text.startswith("The ") else text for text in titles[1:]]
    return blocks.clean(" and ".join([titles[0], *others]))


def _subtitle(study: Study) -> str:
    return blocks.clean("; ".join(f"{SIDE_NAME[side.name]}: {side.label}" for side in study.sides.values()))


def write(data: dict, output: Path) -> None:
    """Writes report.json and report.typ; together with figures/ they can be set anywhere, later."""
    text = json.dumps(data, ensure_ascii=False, indent=1)
    (output / "report.json").write_text(text + "\n", encoding="utf-8")
    shutil.copyfile(TEMPLATE, output / "report.typ")


def typeset(output: Path) -> Path:
    """report.pdf from report.typ with typst's own fonts; Missing without the typst package."""
    try:
        import typst
    except ImportError:
        raise Missing from None
    pdf = output / "report.pdf"
    try:
        pages = typst.compile(str(output / "report.typ"), root=str(output), format="pdf", ignore_system_fonts=True)
    except RuntimeError as error:
        raise Failed(str(error)) from None
    pdf.write_bytes(pages)
    return pdf
