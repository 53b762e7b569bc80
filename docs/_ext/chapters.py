"""The chapters as pages: each notebook, with hints, solutions and answers folded away beneath it.

The notebooks in `chapters/` are the source. When the site is built, a copy of each is written to
`docs/chapters/`, where myst-nb runs it (and keeps the result until the notebook changes). The copy
differs in what a page needs and a notebook has functions for: under an exercise stand its hints and
its solution, under a question its answer. `chapter-table` lists the chapters, `road-table` the
roads through them.
"""

from __future__ import annotations

from pathlib import Path

import tables
from docutils import nodes
from folded import page
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from course import notebooks, roads


def write_pages(app: Sphinx) -> None:
    """Bring docs/chapters/ into line with chapters/; what has not changed is not touched."""
    folder = Path(app.srcdir) / "chapters"
    folder.mkdir(exist_ok=True)
    pages = {
        path.name: notebooks.text(page(notebooks.read(path)))
        for path in notebooks.chapters().values()
    }
    for old in folder.glob("*.ipynb"):
        if old.name not in pages:
            old.unlink()
    for name, text in pages.items():
        file = folder / name
        if not file.is_file() or file.read_text("utf-8") != text:
            file.write_text(text, "utf-8")


class ChapterTable(SphinxDirective):
    """The chapters, what each shows, its roads, and the time it takes, as their metadata say."""

    def run(self) -> list[nodes.Node]:
        rows = []
        for chapter in roads.chapters():
            link = addnodes.pending_xref(
                "",
                nodes.inline("", chapter.title),
                refdoc=self.env.docname,
                refdomain="std",
                refexplicit=True,
                reftarget=f"/chapters/{chapter.path.stem}",
                reftype="doc",
            )
            time = roads.time(chapter.minutes)
            rows.append((chapter.label, link, chapter.goal, ", ".join(chapter.roads), time))
        heads = ("", "chapter", "what it shows", "roads", "time")
        return [tables.table(heads, rows, "chapters")]


class RoadTable(SphinxDirective):
    """The three roads through each part, each with the time it takes."""

    def run(self) -> list[nodes.Node]:
        return [tables.table(roads.HEADS, roads.rows(), "roads")]


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("builder-inited", write_pages)
    app.add_directive("chapter-table", ChapterTable)
    app.add_directive("road-table", RoadTable)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
