"""The directives `op-index` and `op-names`: op_index.py as parts of a page."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

import op_figures
import op_index
from docstrings import rest
from docutils import nodes
from docutils.statemachine import StringList
from sources import link
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective


def kernel_line(kernel: op_index.Kernel) -> str:
    said = f"kernel ``{kernel.name}``, for {kernel.dtypes}; agreement **{kernel.agrees}**"
    return f"* {said}; {kernel.measured}" if kernel.measured else f"* {said}"


def text_of(one: op_index.About) -> str:
    """What is said of an op, as reStructuredText."""
    blocks = [f".. _op-{one.name}:", f".. rubric:: {one.name}", rest(one.says)]
    if not one.derivative:
        blocks.append("It has no derivative.")
    elif "\n" in one.derivative:
        lines = textwrap.indent(one.derivative, "   ")
        blocks.append(f"Its derivative:\n\n.. code-block:: python\n\n{lines}")
    else:
        blocks.append(f"Its derivative: ``{one.derivative}``")
    facts = [kernel_line(kernel) for kernel in one.kernels] or ["* a view: no kernel runs"]
    if one.saves:
        facts.append(f"* keeps for the derivative: {', '.join(one.saves)}")
    if one.method:
        name = one.method
        facts.append(
            f"* as a method, with an example: :py:obj:`Tensor.{name} <tutor.Tensor.{name}>`"
        )
    return "\n\n".join([*blocks, "\n".join(facts)])


class OpIndex(SphinxDirective):
    """The ops of one file of the catalogue."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        found: list[nodes.Node] = []
        for name in op_index.members(self.arguments[0]):
            one = op_index.about(name)
            box = nodes.container(classes=["op"])
            fence = "`" * 12
            text = f"{fence}{{eval-rst}}\n{text_of(one)}\n{fence}"
            file = str(self.env.doc2path(self.env.docname))
            self.state.nested_parse(StringList(text.split("\n"), file), self.content_offset, box)
            box += nodes.paragraph("", "source: ", link(self.env, one.place))
            if picture := op_figures.figure(name):
                drawn = f'<div class="picture">{picture._repr_html_()}</div>'
                box += nodes.raw("", drawn, format="html")
            found.append(box)
        return found


class OpNames(SphinxDirective):
    """All names, in the order of the page, as links to what is said of them."""

    def run(self) -> list[nodes.Node]:
        rows = nodes.bullet_list()
        page = Path(self.env.doc2path(self.env.docname)).read_text(encoding="utf-8")
        for family in re.findall(r"^```\{op-index\} (\w+)$", page, re.MULTILINE):
            line = nodes.paragraph("", f"{family}: ")
            for name in op_index.members(family):
                line += nodes.reference(
                    "", "", nodes.literal(name, name), refid=nodes.make_id(f"op-{name}")
                )
                line += nodes.Text(" ")
            rows += nodes.list_item("", line)
        return [rows]


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("op-index", OpIndex)
    app.add_directive("op-names", OpNames)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
