"""Figures as parts of the page: matplotlib's SVG, shortened. Only known elements and attributes are kept; styles become
classes of the page, whose policy allows no others, so that a figure follows the page's colours and font."""

from __future__ import annotations

import colorsys
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from xml.etree import ElementTree

from report.plain import plain
from report.web.markup import ESCAPES

SVG, LINK = "{http://www.w3.org/2000/svg}", "{http://www.w3.org/1999/xlink}href"
KEPT = ("fill", "fill-opacity", "stroke", "stroke-opacity", "stroke-width", "stroke-dasharray", "stroke-linejoin", "stroke-linecap",
        "font-size", "font-weight", "font-style", "text-anchor", "opacity", "paint-order")
"""Properties of a style; the page chooses the font."""
USELESS = {"stroke-linejoin": "round", "stroke-linecap": "butt"}
"""The page's own values."""
VALUE = re.compile(r"[#\w.,% ()-]*")
COLOUR = re.compile(r"#[0-9a-f]{6}")
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")
COMMAND = re.compile(r"([MLQCz])|(-?[\d.]+(?:e-?\d+)?)")
PLACE = re.compile(r"(translate|rotate|scale|matrix)\(([-\d., e]*)\)")
PICTURE = re.compile(r"data:image/png;base64,[A-Za-z0-9+/=\s]*")
REFERENCE = re.compile(r"url\(#([\w-]+)\)")
LINES = re.compile(r'<path class="(k\d+)" d="[^"]*"/>(?:<path class="\1" d="[^"]*"/>)+')
PATH = re.compile(r' d="([^"]*)"')
NEAR = 0.1
"""What is no further outside of an area than this need not be cut off."""
WHITE, LEAST, MOST = "#ffffff", 0.12, 0.93
"""The paper's colour, and the range of lightness on a dark page."""


@dataclass
class Sheet:
    """What the figures of a page share: classes by their declarations, colours by their names, and markers."""

    classes: dict[str, str] = field(default_factory=dict)
    colours: dict[str, str] = field(default_factory=dict)
    markers: dict[str, str] = field(default_factory=dict)
    clips: int = 0

    def class_of(self, style: str) -> str:
        """The name of the class with these declarations; empty without any."""
        told = dict(part.split(":", 1) for part in style.split(";") if ":" in part)
        found = {key: value for key in KEPT if (value := told.get(f" {key}", told.get(key, "")).strip()) and VALUE.fullmatch(value)}
        text = ";".join(f"{key}:{self._coloured(value)}" for key, value in found.items() if USELESS.get(key) != value)
        return self.classes.setdefault(text, f"k{len(self.classes)}") if text else ""

    def _coloured(self, value: str) -> str:
        if value == WHITE:
            return "var(--paper)"
        if not COLOUR.fullmatch(value):
            return " ".join(value.replace(",", " ").split()) if "(" not in value else "none"
        return f"var(--{self.colours.setdefault(value, f'c{len(self.colours)}')})"

    def joined(self, paths: str, name: str) -> str:
        """Paths of one class that follow each other, as one, if they have no area."""
        if "fill:none" not in next(text for text, known in self.classes.items() if known == name):
            return paths
        return f'<path class="{name}" d="{"".join(PATH.findall(paths))}"/>'

    def marker(self, path: str) -> str:
        """The name of a marker with this path."""
        return self.markers.setdefault(path, f"m{len(self.markers)}")

    def css(self) -> str:
        """All classes, and the colours for a light and for a dark page."""
        light = "".join(f"--{name}:{colour};" for colour, name in self.colours.items())
        dark = "".join(f"--{name}:{on_dark(colour)};" for colour, name in self.colours.items())
        rules = "".join(f".{name}{{{text}}}" for text, name in self.classes.items())
        return (f":root{{{light}}}@media(prefers-color-scheme:dark){{:root:not([data-theme=light]){{{dark}}}}}"
                f":root[data-theme=dark]{{{dark}}}{rules}")

    def defs(self) -> str:
        """The markers, once for all figures."""
        paths = "".join(f'<path id="{name}" d="{path}"/>' for path, name in self.markers.items())
        return f'<svg class="defs" aria-hidden="true" width="0" height="0"><defs>{paths}</defs></svg>' if paths else ""


def on_dark(colour: str) -> str:
    """The same hue with the lightness turned around."""
    red, green, blue = (int(colour[i:i + 2], 16) / 255 for i in (1, 3, 5))
    hue, light, full = colorsys.rgb_to_hls(red, green, blue)
    return "#" + "".join(f"{round(255 * c):02x}" for c in colorsys.hls_to_rgb(hue, LEAST + (MOST - LEAST) * (1 - light), full))


def cleaned(text: str, title: str, alt: str, sheet: Sheet) -> str:
    """The figure as markup; `title` and `alt` are escaped already. ValueError if it is no SVG."""
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise ValueError(f"no SVG: {error}") from None
    box = [float(n) for n in NUMBER.findall(root.get("viewBox", ""))]
    if root.tag != f"{SVG}svg" or len(box) != 4:
        raise ValueError("no SVG with a size")
    made = _Figure(sheet, root)
    body = LINES.sub(lambda run: sheet.joined(run[0], run[1]), "".join(made.element(child) for child in root))
    return (f'<svg viewBox="0 0 {_short(box[2])} {_short(box[3])}" role="img"><title>{title}</title><desc>{alt}</desc>'
            f"{made.clips()}{body}</svg>")


class _Figure:
    """One figure while it is shortened."""

    def __init__(self, sheet: Sheet, root: ElementTree.Element):
        self.sheet = sheet
        self.shapes = {e.get("id", ""): e for e in root.iter(f"{SVG}path") if e.get("id")}
        self.areas = {e.get("id", ""): e for e in root.iter(f"{SVG}clipPath")}
        self.clipped: dict[str, str] = {}

    def clips(self) -> str:
        """The clip paths that are used."""
        made = ""
        for old, new in self.clipped.items():
            inner = "".join(self._shape(e) for e in self.areas[old])
            made += f'<clipPath id="{new}">{inner}</clipPath>'
        return made

    def element(self, e: ElementTree.Element) -> str:
        kind = str(e.tag).removeprefix(SVG)
        if kind == "g":
            return self._group(e)
        if kind == "use":
            return self._uses([e])
        if kind == "text":
            return self._text(e)
        if kind == "image":
            return self._image(e)
        return self._shape(e) if kind in ("path", "rect") and not self._is_paper(e) else ""

    def _group(self, g: ElementTree.Element) -> str:
        """Its contents; ticks of an axis as one path for each look."""
        if g.get("id", "").startswith("matplotlib.axis"):
            ticks = [e for e in g.iter(f"{SVG}use") if self._is_line(e)]
            left = [e for e in g.iter() if e.tag == f"{SVG}text"]
            rest = [e for e in g.iter(f"{SVG}path") if not e.get("id")]
            return "".join(map(self._shape, rest)) + self._uses(ticks) + "".join(map(self._text, left))
        made, run = [], list[ElementTree.Element]()
        for child in [*g, None]:
            if child is not None and child.tag == f"{SVG}use":
                run.append(child)
                continue
            made.append(self._uses(run))
            run = []
            made.append("" if child is None else self.element(child))
        inner = "".join(made)
        clip = self._clip(g)
        return f"<g{clip}>{inner}</g>" if clip and inner else inner

    def _uses(self, uses: Iterable[ElementTree.Element]) -> str:
        """Markers: open lines as one path for each look, others by reference, grouped by look."""
        lines: dict[str, list[str]] = {}
        groups: list[tuple[str, list[str]]] = []
        for e in uses:
            shape = self.shapes.get(e.get(LINK, "").removeprefix("#"))
            if shape is None:
                continue
            name, x, y = self.sheet.class_of(e.get("style", "")), float(e.get("x", 0)), float(e.get("y", 0))
            if self._is_line(e):
                lines.setdefault(name, []).append(_path(shape.get("d", ""), 1, (x, y)))
                continue
            one = f'<use href=#{self.sheet.marker(_path(shape.get("d", ""), 2))} x={_short(x)} y={_short(y)} />'
            if not groups or groups[-1][0] != name:
                groups.append((name, []))
            groups[-1][1].append(one)
        return "".join(f'<path{_class(name)} d="{"".join(parts)}"/>' for name, parts in lines.items()) + "".join(
            f'<g{_class(name)}>{"".join(parts)}</g>' for name, parts in groups)

    def _is_line(self, use: ElementTree.Element) -> bool:
        shape = self.shapes.get(use.get(LINK, "").removeprefix("#"))
        return shape is not None and not set(shape.get("d", "")) & set("QCz")

    def _text(self, e: ElementTree.Element) -> str:
        inner = "".join(e.itertext())
        place = " ".join(f"{how}({' '.join(_short(float(n), 1) for n in NUMBER.findall(numbers))})"
                         for how, numbers in PLACE.findall(e.get("transform", "")))
        place = "" if re.fullmatch(r"rotate\(-?0(?: [-\d.]+)*\)", place) else place
        at = "".join(f' {key}="{_short(float(e.get(key, 0)))}"' for key in ("x", "y") if e.get(key))
        return (f'<text{_class(self.sheet.class_of(e.get("style", "")))}{at}' + (f' transform="{place}"' if place else "")
                + f">{plain(inner).translate(ESCAPES)}</text>") if inner.strip() else ""

    def _image(self, e: ElementTree.Element) -> str:
        if not PICTURE.fullmatch(e.get(LINK, "")):
            return ""
        place = "".join(f' {key}="{_short(float(n[0]))}"' for key in ("x", "y", "width", "height") if (n := NUMBER.findall(e.get(key, ""))))
        how = " ".join(f"{h}({' '.join(_short(float(n), 3) for n in NUMBER.findall(numbers))})" for h, numbers in PLACE.findall(e.get("transform", "")))
        return f'<image{place}{f" transform={chr(34)}{how}{chr(34)}" if how else ""} href="{"".join(e.get(LINK, "").split())}"/>'

    def _shape(self, e: ElementTree.Element) -> str:
        look = f"{_class(self.sheet.class_of(e.get('style', '')))}{self._clip(e)}"
        if e.tag == f"{SVG}rect":
            return f"<rect{look}" + "".join(f' {key}="{_short(float(e.get(key, 0)))}"' for key in ("x", "y", "width", "height")) + "/>"
        return f'<path{look} d="{_path(e.get("d", ""), 1)}"/>' if e.get("d") else ""

    def _clip(self, e: ElementTree.Element) -> str:
        """The attribute that cuts off what is outside of an area; empty if nothing is."""
        found = REFERENCE.fullmatch(e.get("clip-path", ""))
        if not found or found[1] not in self.areas or self._is_inside(e, self.areas[found[1]]):
            return ""
        if found[1] not in self.clipped:
            self.clipped[found[1]] = f"p{self.sheet.clips}"
            self.sheet.clips += 1
        return f' clip-path="url(#{self.clipped[found[1]]})"'

    @staticmethod
    def _is_inside(e: ElementTree.Element, area: ElementTree.Element) -> bool:
        """Whether all points of a path, or all places of markers, are within the rectangle of a clip path."""
        rect = area.find(f"{SVG}rect")
        if rect is None:
            return False
        left, top, width, height = (float(rect.get(key, 0)) for key in ("x", "y", "width", "height"))
        points = [point for part in e.iter(f"{SVG}path") for _, pairs in _commands(part.get("d", "")) for point in pairs]
        points += [(float(use.get("x", 0)), float(use.get("y", 0))) for use in e.iter(f"{SVG}use")]
        return all(left - NEAR <= x <= left + width + NEAR and top - NEAR <= y <= top + height + NEAR for x, y in points)

    @staticmethod
    def _is_paper(e: ElementTree.Element) -> bool:
        return e.get("style", "").strip() == f"fill: {WHITE}"


def _class(name: str) -> str:
    return f' class="{name}"' if name else ""


def _short(value: float, digits: int = 1) -> str:
    """'12.3', '4', '.5'."""
    text = f"{value:.{digits}f}".rstrip("0").rstrip(".") if digits else f"{value:.0f}"
    text = "0" if text in ("-0", "") else text
    return text.replace("0.", ".", 1) if text.startswith(("0.", "-0.")) else text


def _path(d: str, digits: int, at: tuple[float, float] = (0.0, 0.0)) -> str:
    """A path moved to `at`, with rounded coordinates: straight lines as steps from point to point, without lines of no length."""
    made, here, start, last = [], (0, 0), (0, 0), ""
    for command, pairs in _commands(d):
        points = [(round((x + at[0]) * 10**digits), round((y + at[1]) * 10**digits)) for x, y in pairs]
        if command == "L":
            for to in points:
                step = _step((to[0] - here[0], to[1] - here[1]), digits)
                made.append(f" {step[1:]}" if step[:1] == last == "l" else step)
                last, here = step[:1] or last, to
            continue
        made.append(command + " ".join(f"{_decimal(x, digits)} {_decimal(y, digits)}" for x, y in points))
        here, last = (points[-1] if points else start), command
        start = here if command == "M" else start
    return "".join(made)


def _commands(d: str) -> Iterable[tuple[str, list[tuple[float, float]]]]:
    """Each command of a path with its points."""
    command, numbers = "", list[float]()
    for letter, number in [*COMMAND.findall(d), ("end", "")]:
        if letter:
            if command:
                yield command, list(zip(numbers[::2], numbers[1::2]))
            command, numbers = letter, []
        else:
            numbers.append(float(number))


def _step(by: tuple[int, int], digits: int) -> str:
    """A straight line as a step; empty if it has no length."""
    x, y = (_decimal(n, digits) for n in by)
    return "" if by == (0, 0) else f"h{x}" if not by[1] else f"v{y}" if not by[0] else f"l{x} {y}"


def _decimal(value: int, digits: int) -> str:
    return _short(value / 10**digits, digits)
