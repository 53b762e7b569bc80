"""Chapters whose cells run in the page: `sphinx -t site`, which is what `make site` calls.

A page of a chapter gets its cells, as the notebook has them, and the script that makes editors of
them (docs/_site/live/chapter.js). Without the tag, and without scripts, it is a page to read.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from course import notebooks

if TYPE_CHECKING:
    from sphinx.application import Sphinx


def cells(notebook: notebooks.Notebook) -> list[dict[str, str]]:
    """The code cells, in the order in which the page shows them."""
    found = []
    for cell in notebooks.code_cells(notebook):
        kind, id = notebooks.about(cell) or ("", "")
        found.append(
            {"id": cell["id"], "code": notebooks.source(cell), "about": f"{kind} {id}".strip()}
        )
    return found


def enliven(app: Sphinx, name: str, template: str, context: dict[str, Any], tree: Any) -> None:
    """Put the cells and the script into the page of a chapter."""
    pages = {f"chapters/{path.stem}": path for path in notebooks.chapters().values()}
    if name not in pages or not context.get("body"):
        return
    data = {"chapter": pages[name].stem, "cells": cells(notebooks.read(pages[name]))}
    text = json.dumps(data, ensure_ascii=False).replace("<", "\\u003c")
    root = context["pathto"]("", resource=True)
    context["body"] += f'\n<script type="application/json" id="live-cells">{text}</script>\n'
    context["metatags"] = context.get("metatags", "") + (
        f'\n<link rel="stylesheet" href="{root}live/live.css">'
        f'\n<script type="module" src="{root}live/chapter.js"></script>\n'
    )


def setup(app: Sphinx) -> dict[str, bool]:
    if app.tags.has("site"):
        app.connect("html-page-context", enliven)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
