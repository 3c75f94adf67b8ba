"""What tensor cores show: the ladder in BF16, and in every data type the top rung beside its roof and the libraries."""

from report.experiment import Column, Figure, Ladder, Section, Table, View, build, numbers, words
from report.sections import ladders


def section(view: View) -> Section | None:
    s, part = view.settings, view.gpu
    types = [s.get("type", "bf16"), *s.get("beside", ())]
    made = [x for t in types if (x := build(part, s.get("family", ""), t, s.get("size")))]
    if not made:
        return None
    main, rest = made[0], made[1:]
    return Section(
        " ".join([ladders.finding(main), *_types_text(rest)]), ladders=made,
        figures=[ladders.rungs_figure(f"{view.name}_gpu", main), *_figure(view, made), *ladders.over_peers(f"{view.name}_gpu", main)],
        tables=_table(view, made),
        appendix=[x for i, ladder in enumerate(made) for x in _appendix(f"{view.name}_{ladder.type if i else 'gpu'}", ladder)])


def _appendix(stem: str, ladder: Ladder) -> list:
    return [ladders.table(stem, ladder), *ladders.missing(ladder)]


def _types_text(made: list[Ladder]) -> list[str]:
    """One sentence on all further types: the fastest rung, its share of the roof, its speed over the best library."""
    told = []
    for ladder in made:
        best, peer = ladder.fastest, ladder.best_peer
        text = f"{words.type_name(ladder.type)} {numbers.rate(best.point)}"
        text += f" ({words.of_peak(best.share)})" if best.share else ""
        over = best.peers.get(peer.point.kernel.title) if peer else None
        told.append(f"{text}, {words.speed(over, peer.point.kernel.title)}" if over else text)
    same = {ladder.size_text for ladder in made} == {made[0].size_text} if made else False
    where = f" at {made[0].size_text}" if same else ""
    return [f"The fastest rung of each further type{where}: {'; '.join(told)}."] if told else []


def _rows(made: list[Ladder]) -> list[dict]:
    """The fastest own kernel of each type at each size, beside the fastest library."""
    rows = []
    for ladder in made:
        for p, peers in ladder.over:
            name = max(peers, key=lambda n: -peers[n].value, default=None)
            share = ladder.part.roofs.of_peak(p)
            rows.append({"type": ladder.type, "format": words.type_name(ladder.type), "size": p.size_text, "n": p.n,
                         "kernel": p.kernel.name, "title": p.kernel.title, "value": p.value, "unit": p.metric.unit,
                         "share": words.share(share, digits_only=True), "share_of_peak": share and share.value,
                         "library": name, **ladders.ratio_row("over", peers[name] if name else None)})
    return rows


def _table(view: View, made: list[Ladder]) -> list[Table]:
    rows = _rows(made)
    points = [p for ladder in made for p, _ in ladder.over]
    columns = (Column("format", "inputs", right=False), Column("size", "size"), Column("title", "kernel", right=False),
               Column("value", rows[0]["unit"] if rows else "", numbers.significant), Column("share", "of roof"),
               Column("over", "over the library", numbers.times), Column("library", "fastest library", right=False, wide=True))
    known = [c for c in columns if any(row.get(c.key) is not None for row in rows)]
    return [Table(f"{view.name}_types", "The rung that is fastest at the ladder’s size, by data type of the inputs and size, beside the "
                  "measured roof of that type and the fastest library in the same order of the operands. INT8 counts "
                  f"operations on whole numbers. {words.provenance(made[0].part, points, hollow=False)}", known, rows)] if rows else []


def _figure(view: View, made: list[Ladder]) -> list[Figure]:
    """Rates by size, a line for each type."""
    from report.draw import lines, style
    shown = {ladder.type: [p for p, _ in ladder.over if p.n] for ladder in made}
    shown = {type_: points for type_, points in shown.items() if len(points) > 1}
    if not shown:
        return []
    every = [p for points in shown.values() for p in points]

    def draw(fig) -> None:
        ax = style.axes(fig, 16, 9, 14, 2)
        series = [lines.Series(words.type_name(t), [lines.dot(p, p.n) for p in points]) for t, points in shown.items()]
        lines.draw(ax, series, "N", "Performance", unit=every[0].metric.unit)
    caption = (f"Rates of each type’s fastest rung by size. {words.provenance(made[0].part, every)}")
    return [Figure(f"{view.name}_rates", [r for r in _rows(made) if r["type"] in shown], draw, caption,
                   "Line plot of the fastest kernel’s rate by matrix size, a line for each data type.", height=60, half=True)]
