"""When the copies and launches of one call ran, from the results."""

from __future__ import annotations

from dataclasses import dataclass

from report.data.reading import is_number


@dataclass(frozen=True)
class Span:
    """One copy or launch of a call: its kind, its stream, and when it began and ended (seconds)."""

    what: str
    stream: int
    begin: float
    end: float


def of(entries: list[dict]) -> tuple[Span, ...]:
    """The timeline of the first entry that has one; malformed spans are left out."""
    found = next((e["timeline"] for e in entries if isinstance(e.get("timeline"), list)), ())
    spans = (s for s in found if isinstance(s, dict) and all(is_number(s.get(k)) for k in ("stream", "begin", "end")))
    return tuple(Span(str(s.get("what") or ""), int(s["stream"]), float(s["begin"]), float(s["end"])) for s in spans
                 if 0 <= s["begin"] <= s["end"])
