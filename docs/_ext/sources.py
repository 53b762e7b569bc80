"""The files that the pages point into, as pages, with an anchor for every line.

    {source}`tutor/core/engine/forward.py Forward.run`

is a link to that line, which is looked up when the site is built (source_lines.py). Only files that
some page points to are shown.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import Any

from docutils import nodes
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_for_filename
from source_lines import ROOT, Place, text_of
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.docutils import SphinxRole


def linked(env: BuildEnvironment) -> dict[str, set[str]]:
    """Page -> the files that it points into."""
    if not hasattr(env, "linked_sources"):
        env.linked_sources = {}  # type: ignore[attr-defined]
    return env.linked_sources  # type: ignore[attr-defined, no-any-return]


def address(env: BuildEnvironment, place: Place) -> str:
    """The address of a place, as the page that is being read sees it; the file gets a page."""
    linked(env).setdefault(env.docname, set()).add(place.file)
    env.note_dependency(str(ROOT / place.file))
    return f"{'../' * env.docname.count('/')}{place.page}.html#{place.anchor}"


def link(env: BuildEnvironment, place: Place, words: str = "") -> nodes.Node:
    """A link to a place, in HTML; it says file and line unless told otherwise."""
    said = f'<code class="docutils literal">{escape(words or place.words)}</code>'
    return nodes.raw(
        "", f'<a class="source-link" href="{address(env, place)}">{said}</a>', format="html"
    )


class SourceRole(SphinxRole):
    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        return [link(self.env, Place(*self.text.split(" ", 1)))], []


def purge(app: Sphinx, env: BuildEnvironment, docname: str) -> None:
    linked(env).pop(docname, None)


def merge(app: Sphinx, env: BuildEnvironment, names: list[str], other: BuildEnvironment) -> None:
    linked(env).update({name: linked(other)[name] for name in names if name in linked(other)})


def pages(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    """A page for each file that is pointed into."""
    for file in sorted(set().union(*linked(app.env).values())):
        formatter = HtmlFormatter(linenos="inline", lineanchors="L", anchorlinenos=True)
        body = highlight(text_of(file), get_lexer_for_filename(file), formatter)
        yield (
            Place(file, "").page,
            {"title": file, "body": f'<h1>{file}</h1><div class="source">{body}</div>'},
            "page.html",
        )


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_role("source", SourceRole())
    app.connect("env-purge-doc", purge)
    app.connect("env-merge-info", merge)
    app.connect("html-collect-pages", pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
