"""sample.tex: a short paper in two columns with figures, a table, numbers and references, for a user to start from."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TypeVar

from report.document import Document
from report.experiment import Figure, Table
from report.latex import tables
from report.latex.bibliography import RUN
from report.latex.escape import escape
from report.latex.quantities import Number, slug
from report.output import safe_name
from report.sections import method
from report.text import blocks, sources, words

Shown = TypeVar("Shown", Figure, Table)
TITLE = "A performance study of GPUs and CPUs"
FIGURES, NUMBERS, ROWS, COLUMNS = 3, 5, 24, 11
"""What the sample shows, and the largest table that it shows."""
SENTENCES = {
    "rate": "{what} reaches {number}{interval}.", "time": "{what} takes {number}{interval}.", "gain": "{what} is {number} as fast as {other}{interval}.",
    "share_of_peak": "It reaches {number} of the measured peak{interval}.", "share_of_memory": "It reaches {number} of the measured bandwidth{interval}.",
    "over_library": "It is {number} as fast as {other}{interval}.", "speedup": "{what} is {number} as fast as {other}{interval}.",
    "start": "{what}: the GPU is faster from $N = {number}$ on.", "start_with_copies": "{what}: the GPU is faster from $N = {number}$ on, copies included."}
"""By a key's last word."""
LADDER = ("rate", "share_of_peak", "share_of_memory", "over_library")
"""Quantities of a ladder's top that the sample prefers, in the order of their sentences."""
PLACE = re.compile(r"<<(\w+)>>")
TEXT = r"""% A paper to start from: copy it, since the next report writes it again. Compile it with: latexmk -pdf sample.tex
\ifdefined\pdfminorversion \pdfminorversion=7 \fi % that of the figures
\documentclass[twocolumn]{article}
\usepackage[T1]{fontenc}
\usepackage{lmodern}
\usepackage[a4paper,width=166mm,height=240mm,columnsep=4mm]{geometry}
\usepackage{microtype}
\usepackage[numbers,sort]{natbib}
\usepackage[hyphens]{url}
\usepackage{rung}
\setlength{\emergencystretch}{3em}
\setlength{\belowcaptionskip}{1ex}
\makeatletter \g@addto@macro{\UrlBreaks}{\UrlOrds} \makeatother
\newcommand{\doi}[1]{doi:~\url{#1}}

\title{<<title>>}
\author{The authors}
\date{<<date>>}

\begin{document}
\maketitle

\section{Results}
All numbers are those of the run~\cite{<<run>>}.
<<sentences>>
<<mentions>>

<<figures>>
<<table>>
\section{Method}
Each value is the median of its samples, with a \SI{95}{\percent} interval within the run<<method>>.

{\raggedright
\bibliographystyle{plainnat}
\bibliography{rung}
}
\end{document}
"""


def sample(document: Document, undrawn: Iterable[str], printed: Sequence[Table], found: Sequence[Number]) -> str:
    """`undrawn`: names of figures without a PDF."""
    title = document.found[0].view.title if len(document.found) == 1 else TITLE
    cited = [key for key in method.CITED if key in sources.documents()]
    experiments = [c.view.name for is_slide in (True, False) for c in document.found if bool(c.section.slide) == is_slide]
    lost, ladder = set(undrawn), _ladder(found, experiments)
    experiment = ladder.split("/")[0]
    shown = _figures(_preferred([f for f in document.figures() if f.name not in lost], experiment))
    table = next(iter(_preferred([t for t in printed if _fits(t)], experiment)), None)
    mentions = [rf"Figure~\ref{{fig:{safe_name(f.name)}}}" for f in shown] + ([rf"Table~\ref{{tab:{safe_name(table.name)}}}"] if table else [])
    parts = {"title": escape(blocks.clean(title)), "date": escape(document.study.date[:10]), "run": RUN,
             "sentences": "\n".join(map(_sentence, _numbers(found, ladder))),
             "mentions": f"{words.joined(mentions)} show{'s' * (len(mentions) == 1)} more." if mentions else "",
             "figures": "\n".join(map(_figure, shown)), "table": _table(table) if table else "", "method": rf"~\cite{{{','.join(cited)}}}" if cited else ""}
    return PLACE.sub(lambda m: parts[m[1]], TEXT)


def _figures(drawn: Sequence[Figure]) -> list[Figure]:
    """Two of a column's width before one of the page's, where there are such."""
    halves, wide = [f for f in drawn if f.half], [f for f in drawn if not f.half]
    return [*halves[:FIGURES - bool(wide)], *wide][:FIGURES]


def _figure(figure: Figure) -> str:
    star = "" if figure.half else "*"
    name = safe_name(figure.name)
    return "\n".join([rf"\begin{{figure{star}}}[t]", r"\centering", rf"\rungfigure{{{name}}}", rf"\caption{{\rungcaption{{{name}}}}}",
                      rf"\label{{fig:{name}}}", rf"\end{{figure{star}}}", ""])


def _preferred(items: Sequence[Shown], experiment: str) -> list[Shown]:
    """Those of the experiment first."""
    return sorted(items, key=lambda item: not item.name.startswith(experiment))


def _fits(table: Table) -> bool:
    return 1 < len(table.rows) <= ROWS and len(table.columns) <= COLUMNS and not tables.is_flexible(table)


def _table(table: Table) -> str:
    name = safe_name(table.name)
    return "\n".join([r"\begin{table*}[t]", r"\centering", r"\small", rf"\caption{{\rungtablecaption{{{name}}}}}", rf"\label{{tab:{name}}}",
                      rf"\rungtable{{{name}}}", r"\end{table*}", ""])


def _ladder(found: Sequence[Number], experiments: Sequence[str]) -> str:
    """The path of the top of the first experiment's ladder, on a GPU rather than on a CPU."""
    tops = [n.key.removesuffix("/rate") for n in found if n.key.endswith("/top/rate")]
    order = {slug(name): i for i, name in enumerate(experiments)}
    return min(tops, key=lambda path: (order.get(path.split("/")[0], len(order)), "/gpu/" not in path, path), default="")


def _numbers(found: Sequence[Number], ladder: str) -> list[Number]:
    """Of a ladder's top, then of the problem's comparison with the CPU, then any."""
    known = {n.key: n for n in found if n.key.rsplit("/", 1)[-1] in SENTENCES}
    chosen = [known[key] for end in LADDER if (key := f"{ladder}/{end}") in known]
    problem = "/".join(ladder.split("/")[2:4])
    compared = [n for key, n in known.items() if problem and key.startswith(f"gpu_against_cpu/{problem}/")]
    gains = [n for n in compared if n.key.endswith("/speedup")]
    chosen += [max(gains, key=lambda n: n.size)] if gains else []
    chosen += [n for n in compared if n.key.endswith(("/start", "/start_with_copies"))][:2]
    rest = [n for key, n in known.items() if SENTENCES[key.rsplit("/", 1)[-1]].startswith("{what}")]
    return list(dict.fromkeys([*chosen, *rest]))[:NUMBERS]


def _sentence(n: Number) -> str:
    interval = rf" (\SI{{95}}{{\percent}} interval \runginterval{{{n.key}}})" if n.low else ""
    kind = n.key.rsplit("/", 1)[-1]
    what = f"{n.what[:1].upper()}{n.what[1:]}" if kind.startswith("start") else f"The kernel {n.what}"
    return SENTENCES[kind].format(what=escape(blocks.clean(what)), other=escape(blocks.clean(n.other)), number=rf"\rung{{{n.key}}}", interval=interval)
