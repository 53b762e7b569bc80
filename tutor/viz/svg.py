"""Pictures as SVG text: shapes, words, one palette, and the Picture class.

A picture draws with the light colours of PALETTE. Its style has one rule per colour in use that
swaps it for the dark one if the reader's system, a Sphinx page or a Jupyter theme is dark. It draws
its own card as background, so it is legible on any page. It has no ids and refers to no file, so
any number of pictures can be in one page.

    >>> p = Picture(text(20, 30, "a < b"), 120, 50, "a comparison")
    >>> "a &lt; b" in p.svg, p
    (True, <Picture 'a comparison'>)
"""

from __future__ import annotations

import math
import re
from os import PathLike
from pathlib import Path
from typing import Any

from tutor._util import files
from tutor.errors import DTypeError

# name: (on a light page, on a dark page). Red-green and blue-yellow blind readers can tell the hues
# apart (after Okabe and Ito); the light ones are dark enough for text.
PALETTE = {
    "paper": ("#fdfdfc", "#161a21"),
    "frame": ("#e2e5eb", "#2c333e"),
    "ink": ("#1c2430", "#e9edf4"),
    "soft": ("#5a6474", "#a9b3c1"),
    "line": ("#c9d0da", "#465061"),
    "wash": ("#f0f2f6", "#232a35"),
    "blue": ("#0068a8", "#63b7f2"),
    "orange": ("#ab4400", "#ff9f5e"),
    "green": ("#00775a", "#4fd1a5"),
    "pink": ("#a63d7c", "#f298c8"),
    "amber": ("#856000", "#f0c24f"),
    "red": ("#b3202c", "#ff8d8d"),
    "blue wash": ("#d8eaf8", "#153a57"),
    "orange wash": ("#fde2cd", "#5b3012"),
    "green wash": ("#d2efe4", "#0f4438"),
    "pink wash": ("#f7dfec", "#4f2340"),
    "amber wash": ("#faedc0", "#4a3b0e"),
}
SERIES = ("blue", "orange", "green", "pink", "amber")  # in this order, in every picture
SANS = "system-ui,-apple-system,'Segoe UI','DejaVu Sans',sans-serif"
TIMES = "\N{MULTIPLICATION SIGN}"
MONO = "ui-monospace,'SF Mono',Menlo,Consolas,'DejaVu Sans Mono',monospace"
SHEET = (  # sizes are behind @media, because they confuse programs other than browsers
    "@media screen,print{.tutor-picture{max-width:100%;height:auto}}"
    f'.tutor-picture [font-family="monospace"]{{font-family:{MONO}}}'
)

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"})
_WIDE, _NARROW = frozenset("mwMW@%—…→"), frozenset("fijlrtI.,:;|!'()[] ")


def color(name: str) -> str:
    """The light value of a colour of the palette; any other string is returned unchanged."""
    return PALETTE[name][0] if name in PALETTE else name


def tint(i: int) -> str:
    """A pale background colour for the i-th of several things; they repeat after five."""
    return f"{SERIES[i % len(SERIES)]} wash"


def escape(words: Any) -> str:
    """`words` as markup that displays them; characters invalid in XML become "\\ufffd"."""
    return _NOT_XML.sub("\ufffd", str(words)).translate(_ESCAPES)


def number(x: float) -> str:
    """A coordinate, rounded to a hundredth of a pixel: "12.5"."""
    shown = f"{x:.2f}".rstrip("0").rstrip(".")
    return "0" if shown == "-0" else shown


def tag(name: str, content: str = "", **attributes: Any) -> str:
    """`<name key="value">content</name>`. `fill` and `stroke` name colours of the palette, `_` in a
    key becomes `-`, None omits an attribute; `content` must be escaped markup."""
    parts = [name]
    for key, value in attributes.items():
        if value is None:
            continue
        if key in ("fill", "stroke"):
            value = color(value)
        shown = number(value) if isinstance(value, (int, float)) else escape(value)
        parts.append(f'{key.rstrip("_").replace("_", "-")}="{shown}"')
    inside = " ".join(parts)
    return f"<{inside}>{content}</{name}>" if content else f"<{inside}/>"


def rect(x: float, y: float, width: float, height: float, fill: str, **more: Any) -> str:
    """A rectangle with slightly rounded corners."""
    return tag("rect", x=x, y=y, width=width, height=height, **{"rx": 4, "fill": fill, **more})


def path(d: str, stroke: str, width: float = 1.5, fill: str = "none", **more: Any) -> str:
    """A line along the path `d`."""
    return tag("path", d=d, fill=fill, stroke=stroke, stroke_width=width, **more)


def polyline(points: list[tuple[float, float]]) -> str:
    """The path through `points`."""
    return "M" + "L".join(f"{number(x)} {number(y)}" for x, y in points)


def text(x: float, y: float, words: Any, size: float = 13, fill: str = "ink", anchor: str = "start",
         weight: int | None = None, mono: bool = False, **more: Any) -> str:  # fmt: skip
    """Words whose baseline starts (or, by `anchor`, has its "middle" or "end") at (x, y)."""
    spaces = {"xml:space": "preserve"} if "  " in str(words) else {}
    return tag("text", escape(words), x=x, y=y, font_size=size, fill=fill,
               text_anchor=None if anchor == "start" else anchor, font_weight=weight,
               font_family="monospace" if mono else None, **spaces, **more)  # fmt: skip


def width_of(words: Any, size: float = 13, mono: bool = False, bold: bool = False) -> float:
    """The approximate width of `words`, rather too large than too small: fonts differ."""
    if mono:  # bold has the same width
        return 0.61 * size * len(str(words))
    size *= 1.12 if bold else 1.0
    em = sum(0.95 if c in _WIDE else 0.36 if c in _NARROW else 0.68 if c.isupper() else 0.6
             for c in str(words))  # fmt: skip
    return em * size


def fit(words: Any, room: float, size: float = 13, mono: bool = False, bold: bool = False) -> str:
    """`words`, cut with "…" to be no wider than `room` pixels."""
    cut = str(words)
    if width_of(cut, size, mono, bold) <= room:
        return cut
    while cut and width_of(cut + "…", size, mono, bold) > room:
        cut = cut[:-1]
    return cut.rstrip() + "…"


def arrow(d: str, tip: tuple[float, float], toward: tuple[float, float], stroke: str,
          width: float = 1.75, **more: Any) -> str:  # fmt: skip
    """The path `d` with an arrowhead at `tip`, pointing in the direction `toward`."""
    (x, y), length, size = tip, math.hypot(*toward) or 1.0, 4.5 + 1.5 * width
    dx, dy = size * toward[0] / length, size * toward[1] / length
    corners = [(x, y), (x - dx - dy / 2, y - dy + dx / 2), (x - dx + dy / 2, y - dy - dx / 2)]
    head = tag("path", d=polyline(corners) + "Z", fill=stroke, **more)
    return path(d, stroke, width, **more) + head


def short(value: Any, room: int = 7) -> str:
    """A number in at most `room` characters if possible; floats keep a point."""
    if isinstance(value, float):
        if not math.isfinite(value):
            return str(value)
        if value == int(value) and len(f"{value:.1f}") <= room:
            return f"{value:.1f}"
        shown = ""
        for digits in range(max(room - 1, 1), 0, -1):
            shown = re.sub(r"e\+?(-?)0*", r"e\1", f"{value:.{digits}g}")
            if len(shown) <= room:
                break
        return shown if set(shown) & set(".e") else f"{shown}.0"
    if isinstance(value, int) and not isinstance(value, bool) and len(str(value)) > max(room, 5):
        return re.sub(r"e\+0*", "e", f"{value:.1e}")
    return str(value)


class Picture:
    """A drawing with its size in pixels and a title that says what it shows.

    `p.svg` is the SVG, `p.save("name.svg")` writes it, Jupyter displays it. `print(p)` is for a
    terminal: a description in words if there is one (memory maps, graphs, curves and films have
    one), otherwise the SVG. Screen readers read the title and that description.
    """

    def __init__(
        self, body: str, width: float, height: float, title: str, style: str = "", words: str = ""
    ) -> None:
        self.body, self.width, self.height = body, width, height
        self.title, self.style, self.words = title, style, words

    @property
    def svg(self) -> str:
        """The whole picture: title, words, style, card, drawing."""
        return self._markup(None)

    def _markup(self, style: str | None) -> str:
        card = rect(0.5, 0.5, self.width - 1, self.height - 1, "paper", stroke="frame", rx=10)
        drawing = card + self.body
        told = f"<desc>{escape(self.words)}</desc>" if self.words else ""
        inside = (
            f"<title>{escape(self.title)}</title>{told}"
            f"<style>{SHEET}{_dark(drawing)}{self.style}</style>{drawing}"
        )
        return tag("svg", inside, xmlns="http://www.w3.org/2000/svg", class_="tutor-picture",
                   viewBox=f"0 0 {number(self.width)} {number(self.height)}",
                   width=self.width, height=self.height, role="img", aria_label=self.title,
                   font_family=SANS, style=style)  # fmt: skip

    def _repr_svg_(self) -> str:
        return self.svg

    def _repr_html_(self) -> str:
        """The picture inline in the page, so that its text can be selected. A narrow page shrinks a
        wide picture, and scrolls it once the letters would get too small."""
        least = f"min-width:{number(min(self.width, 0.6 * self.width + 120))}px"
        return f'<div style="overflow-x:auto">{self._markup(least)}</div>'

    def save(self, path: str | PathLike[str]) -> Path:
        """Write the SVG file, and return its path. DataError if it cannot be written, DTypeError if
        `path` is not a path."""
        text = (self.svg + "\n").encode()
        files.write_whole(path, lambda file: file.write(text))
        return Path(path)

    def __str__(self) -> str:
        return self.words or self.svg

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.title!r}>"


def _dark(drawing: str) -> str:
    """The rules that swap each colour of `drawing` for its dark one. A page that declares its theme
    (Sphinx, Jupyter) decides, otherwise the reader's system does."""
    rules = [
        (f'[{what}="{light}"]', f"{{{what}:{dark}}}")
        for light, dark in PALETTE.values()
        for what in ("fill", "stroke")
        if f'{what}="{light}"' in drawing
    ]
    light_page = "[data-theme=light] *,[data-jp-theme-light=true] *"
    dark_page = ":is([data-theme=dark],[data-jp-theme-light=false])"
    by_system = "".join(f".tutor-picture:not({light_page}) {at}{then}" for at, then in rules)
    by_page = "".join(f"{dark_page} .tutor-picture {at}{then}" for at, then in rules)
    return f"@media(prefers-color-scheme:dark){{{by_system}}}{by_page}"


def _pictures(where: str, pictures: tuple[Any, ...]) -> None:
    for p in pictures:
        if not isinstance(p, Picture):
            raise DTypeError(
                f"{where}(...) of {type(p).__name__}",
                "it is no Picture",
                "give pictures, for example viz.row(viz.explain(a), viz.explain(b))",
            )
    if not pictures:
        raise DTypeError(f"{where}()", "no picture was given", "give one Picture or more")


def _placed(p: Picture, x: float, y: float) -> str:
    name = f"<title>{escape(p.title)}</title>"
    return tag("g", name + p.body, transform=f"translate({number(x)} {number(y)})")


def _joined(
    parts: list[str], pictures: tuple[Picture, ...], width: float, height: float
) -> Picture:
    words = "\n\n".join(p.words for p in pictures) if all(p.words for p in pictures) else ""
    style = "".join(dict.fromkeys(p.style for p in pictures))
    title = "; ".join(p.title for p in pictures)
    return Picture("".join(parts), width, height, title, style, words)


def row(*pictures: Picture) -> Picture:
    """The pictures side by side, as one."""
    _pictures("row", pictures)
    parts, x = [], 0.0
    for p in pictures:
        parts.append(_placed(p, x, 0))
        x += p.width
    return _joined(parts, pictures, x, max(p.height for p in pictures))


def column(*pictures: Picture) -> Picture:
    """The pictures one below the other, as one."""
    _pictures("column", pictures)
    parts, y = [], 0.0
    for p in pictures:
        parts.append(_placed(p, 0, y))
        y += p.height
    return _joined(parts, pictures, max(p.width for p in pictures), y)
