"""The chapters as pages: each notebook, with hints, solutions and answers folded away beneath it.

The notebooks in `chapters/` are the source. When the site is built, a copy of each is written to
`docs/chapters/`, where myst-nb runs it (and keeps the result until the notebook changes). The copy
differs in what a page needs and a notebook has functions for: under an exercise stand its hints and
its solution, under a question its answer. `chapter-table` lists the chapters.
"""

from __future__ import annotations

from pathlib import Path

import tables
from docutils import nodes
from folded import page
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from course import notebooks


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
    """The chapters, what each builds, and the time it takes, as their own metadata say."""

    def run(self) -> list[nodes.Node]:
        rows = []
        for number, path in notebooks.chapters().items():
            about = notebooks.read(path)["metadata"]["tutor"]
            link = addnodes.pending_xref(
                "",
                nodes.inline("", about["title"]),
                refdoc=self.env.docname,
                refdomain="std",
                refexplicit=True,
                reftarget=f"/chapters/{path.stem}",
                reftype="doc",
            )
            rows.append((str(int(number)), link, about["goal"], f"{about['minutes']} min"))
        return [tables.table(("", "chapter", "what it shows", "time"), rows, "chapters")]


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("builder-inited", write_pages)
    app.add_directive("chapter-table", ChapterTable)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
