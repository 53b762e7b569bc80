"""The directive `error-examples`: messages.py as a part of a page."""

from __future__ import annotations

import messages
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

import tutor


def drawn(message: messages.Message) -> list[nodes.Node]:
    """The line, and below it what is said, part by part."""
    code = nodes.literal_block(message.line, message.line, language="python")
    parts = nodes.definition_list()
    for name in ("asked", "found", "do"):
        term = nodes.term("", "to do" if name == "do" else name)
        words = nodes.paragraph("", getattr(message, name), support_smartquotes=False)
        says = nodes.definition("", words)
        parts += nodes.definition_list_item("", term, says)
    return [code, parts]


class ErrorExamples(SphinxDirective):
    def run(self) -> list[nodes.Node]:
        self.env.note_dependency(str(messages.FILE))
        found: list[nodes.Node] = []
        for error, cases in messages.by_type().items():
            section = nodes.section(ids=[nodes.make_id(error)], names=[error.lower()])
            section += nodes.title("", error)
            doc = (getattr(tutor.errors, error).__doc__ or "").strip().partition("\n\n")[0]
            section += nodes.paragraph("", " ".join(doc.split()))
            caught = ", ".join(["TutorError", *messages.parents(error)])
            section += nodes.paragraph("", f"Who catches one of these catches it, too: {caught}.")
            for case in cases:
                section += nodes.container("", *drawn(case), classes=["message"])
            found.append(section)
        return found


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("error-examples", ErrorExamples)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
