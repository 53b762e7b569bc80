"""Where a page wants a picture that is made when the site is built:

    ```{front-picture} walk
    ```

a picture of docs/_ext/front.py; `speed-chart` the benchmark's rows of a suite as a chart, with a
title, and `speed-machine` a few words on where and how they were measured.
"""

from __future__ import annotations

import front
import speed
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from tutor.viz.svg import Picture


def shown(picture: Picture, more: str = "") -> nodes.Node:
    html = f'<div class="picture{more}">{picture._repr_html_()}</div>'
    return nodes.raw("", html, format="html")


class FrontPicture(SphinxDirective):
    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        return [shown(front.PICTURES[self.arguments[0]]())]


class SpeedChart(SphinxDirective):
    required_arguments = 2
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        self.env.note_dependency(str(speed.MEASURED))
        suite, title = self.arguments
        return [shown(speed.chart(speed.rows(suite), title), " narrow")]


class SpeedMachine(SphinxDirective):
    def run(self) -> list[nodes.Node]:
        self.env.note_dependency(str(speed.MEASURED))
        return [nodes.paragraph("", speed.measured_on(speed.rows()), classes=["measured"])]


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("front-picture", FrontPicture)
    app.add_directive("speed-chart", SpeedChart)
    app.add_directive("speed-machine", SpeedMachine)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
