"""The parts of the site that are looked up by name: the reference, the list of ops, the errors, and
links into the source. One line in conf.py brings them all."""

from __future__ import annotations

from sphinx.application import Sphinx

PARTS = ("call_maps", "entries", "error_pages", "op_pages", "sources")


def setup(app: Sphinx) -> dict[str, bool]:
    for part in PARTS:
        app.setup_extension(part)
    app.add_css_file("reference.css")
    return {"parallel_read_safe": True, "parallel_write_safe": True}
