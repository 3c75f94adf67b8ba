"""Why a claim is not tested or undecided: the first reason in full, further ones counted by their kind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from report.text import words

REASONS = (("no point of ", "point", "missing"),
           ("no hardware counters of ", "point", "without hardware counters"),
           ("no launches of the planted fault ", "planted fault", "without launches"), ("no planted fault ", "planted fault", "missing"),
           ("no snippet ", "snippet", "not compiled"), ("no GPU was there ", "value", "missing without a GPU"), ("no ", "value", "missing"), ("the limit lies within ", "comparison", "undecided"))
"""How reasons begin, and how several of that kind are counted: '3 points are missing'."""
OTHER_REASON = ("reason", "of another kind")


def others(reasons: Sequence[str]) -> str:
    """' (1 further point is missing)': all reasons but the first, counted by their kind."""
    kinds = [_kind_of_reason(reason) for reason in reasons]
    texts = []
    for kind, number in Counter(kinds[1:]).items():
        noun, what = kind
        further = "further " if kind == kinds[0] else ""
        texts.append(f"{words.counted(number, f'{further}{noun}')} {'is' if number == 1 else 'are'} {what}")
    return f" ({words.joined(texts)})" if texts else ""


def _kind_of_reason(reason: str) -> tuple[str, str]:
    return next(((noun, what) for begin, noun, what in REASONS if reason.startswith(begin)), OTHER_REASON)
