"""Text as HTML: one function makes every text that others may have written harmless."""

from __future__ import annotations

import json
import zlib
from base64 import b64encode

from report.text.blocks import ZERO_WIDTH_SPACE, clean

ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;"})
RAW = -15
"""zlib's window for a deflate stream without a header, which every browser can read."""


def escaped(text: object) -> str:
    """Text for an element or a quoted attribute, of characters that are shown."""
    return bare(text).translate(ESCAPES)


def bare(text: object) -> str:
    """The same before it is escaped, for JSON: without the places at which it may break."""
    return clean(str(text).replace(ZERO_WIDTH_SPACE, "")).replace(ZERO_WIDTH_SPACE, "")


def flowing(text: object) -> str:
    """Escaped text that may break where the printed document may break it."""
    parts = (part for text_ in str(text).split(ZERO_WIDTH_SPACE) for part in clean(text_).split(ZERO_WIDTH_SPACE))
    return "<wbr>".join(part.translate(ESCAPES) for part in parts)


def packed(content: object) -> str:
    """JSON, deflated, in Base64: no letter of it can be markup."""
    pack = zlib.compressobj(9, zlib.DEFLATED, RAW)
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    return b64encode(pack.compress(text.encode("utf-8", "replace")) + pack.flush()).decode("ascii")
