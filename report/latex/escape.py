"""Foreign text as LaTeX that prints it literally: no letter of it can begin a command, a comment or a group.

The result is ASCII, so that every engine and BibTeX read it, and has balanced braces.
"""

from __future__ import annotations

from unicodedata import normalize

from report.plain import plain

BREAK = "\u200b"
"""Where the report's own texts may break a line."""
ASCII = {
    "\\": r"\textbackslash{}", "{": r"\textbraceleft{}", "}": r"\textbraceright{}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}",
    '"': r"\rungchar{22}", "`": r"\textasciigrave{}", "-": "-{}", "'": "'{}", "!": "!{}", "?": "?{}", ",": ",{}"}
"""The letters that are no plain ones; empty groups part those that would become ligatures."""
LIGATURES = ("-", "'", "!", "?", ",")
LETTERS = {
    BREAK: r"\rungbreak{}", "\u00a0": "~", "\u202f": r"\,", "\u2009": r"\,", "–": r"\textendash{}", "—": r"\textemdash{}", "‘": r"\textquoteleft{}",
    "’": r"\textquoteright{}", "“": r"\textquotedblleft{}", "”": r"\textquotedblright{}", "…": r"\textellipsis{}", "•": r"\textbullet{}",
    "©": r"\textcopyright{}", "®": r"\textregistered{}", "™": r"\texttrademark{}", "°": r"\textdegree{}", "§": r"\S{}", "ß": r"\ss{}", "æ": r"\ae{}",
    "Æ": r"\AE{}", "ø": r"\o{}", "Ø": r"\O{}", "œ": r"\oe{}", "Œ": r"\OE{}", "ł": r"\l{}", "Ł": r"\L{}", "å": r"\aa{}", "Å": r"\AA{}", "ı": r"\i{}"}
MATHS = {
    "×": r"\times", "·": r"\cdot", "÷": r"\div", "±": r"\pm", "−": "-", "≤": r"\le", "≥": r"\ge", "≠": r"\ne", "≈": r"\approx", "→": r"\to",
    "←": r"\gets", "∞": r"\infty", "∂": r"\partial", "∇": r"\nabla", "✓": r"\surd", "√": r"\surd", "∑": r"\sum", "½": r"\frac12", "µ": r"\mu",
    "μ": r"\mu", "α": r"\alpha", "β": r"\beta", "γ": r"\gamma", "δ": r"\delta", "ε": r"\varepsilon", "λ": r"\lambda", "π": r"\pi", "σ": r"\sigma",
    "τ": r"\tau", "φ": r"\varphi", "ω": r"\omega", "Δ": r"\Delta", "Σ": r"\Sigma", "Ω": r"\Omega",
    **{c: f"^{{{d}}}" for c, d in zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789-+")}, **{c: f"_{{{d}}}" for c, d in zip("₀₁₂₃₄₅₆₇₈₉", "0123456789")}}
ACCENTS = {"\u0300": "`", "\u0301": "'", "\u0302": "^", "\u0303": "~", "\u0304": "=", "\u0306": "u", "\u0307": ".", "\u0308": '"', "\u030a": "r",
           "\u030b": "H", "\u030c": "v", "\u0327": "c", "\u0328": "k"}
"""Accents as LaTeX's commands, by the combining character."""


def escape(text: object) -> str:
    """One line of LaTeX that prints the text. A letter that pdfLaTeX has not is printed by other engines, and is its number there."""
    line = "".join(c if c == BREAK else plain(c) for c in str(text))
    return "".join(_letter(c, following) for c, following in zip(line, line[1:] + "\n"))


def comment(text: object) -> str:
    """The text for the end of a line after '%', which no letter of it can end."""
    return plain(str(text)).replace("\u00a0", " ").replace("\u202f", " ")


def _letter(c: str, following: str) -> str:
    if c in ASCII:
        return ASCII[c] if c not in LIGATURES or following in LIGATURES or following == "`" else c
    if c.isascii():
        return c
    if c in LETTERS:
        return LETTERS[c]
    if c in MATHS:
        return rf"\ensuremath{{{MATHS[c]}}}"
    parts = normalize("NFD", c)
    if len(parts) == 2 and parts[1] in ACCENTS and parts[0].isascii() and parts[0].isalpha():
        return rf"{{\{ACCENTS[parts[1]]}{{{_dotless(parts[0])}}}}}"
    return rf"\rungchar{{{ord(c):X}}}"


def _dotless(base: str) -> str:
    return rf"\{base}" if base in "ij" else base
