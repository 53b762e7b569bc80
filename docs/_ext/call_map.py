"""One call followed through the code, as boxes that are links: box, file, line.

    ```{call-map}
    Tensor | tutor/methods/applied.py operators | the plus sign knows the name of an op
    ```

Each line is a step: the box that it belongs to, the place (source_lines.py looks up its line when
the site is built), and what happens there. Each box leads to the file, at that line.
"""

from __future__ import annotations

import re
from html import escape
from pathlib import Path
from typing import NamedTuple

from source_lines import Place

BLOCK = re.compile(r"^```\{call-map\}[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Stop(NamedTuple):
    box: str
    place: Place
    says: str


def stops(text: str) -> list[Stop]:
    """The steps of one map."""
    found = []
    for line in text.strip().splitlines():
        box, place, says = (part.strip() for part in line.split(" | "))
        found.append(Stop(box, Place(*place.split(" ", 1)), says))
    return found


def maps(page: Path) -> list[list[Stop]]:
    return [stops(text) for text in BLOCK.findall(page.read_text(encoding="utf-8"))]


def code(text: str) -> str:
    """The text as HTML, with what stands in backticks as code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text, quote=False))


def drawn(way: list[Stop], addresses: list[str], label: str) -> str:
    """The map as HTML: a list in order, of which each item is one link."""
    items = "".join(
        f'<li class="box-{stop.box.split()[0].lower()}"><a href="{address}">'
        f"<strong>{escape(stop.box)}</strong> <span>{code(stop.says)}</span> "
        f"<code>{escape(stop.place.words)}</code></a></li>"
        for stop, address in zip(way, addresses, strict=True)
    )
    return f'<ol class="call-map" aria-label="{escape(label)}">{items}</ol>'
