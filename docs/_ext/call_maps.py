"""The directive `call-map`: call_map.py as a part of a page."""

from __future__ import annotations

import call_map
from docutils import nodes
from sources import address
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective


class CallMap(SphinxDirective):
    optional_arguments = 1
    final_argument_whitespace = True
    has_content = True

    def run(self) -> list[nodes.Node]:
        way = call_map.stops("\n".join(self.content))
        addresses = [address(self.env, stop.place) for stop in way]
        label = self.arguments[0] if self.arguments else "one call"
        return [nodes.raw("", call_map.drawn(way, addresses, label), format="html")]


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("call-map", CallMap)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
