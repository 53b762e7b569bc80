"""Tables that are made from the source when the site is built, so that they cannot drift from it.

    ```{dtype-table}
    ```

shows the thirteen dtypes; `promotion-table` what `tutor.dtype.promote` gives for each pair;
`kernel-table` the rows of signatures.py; `op-table` the catalogue of ops.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from tutor.backends.signatures import ALL, BITS, FLOATS, INTEGERS, NUMBERS, TABLE_OF_KERNELS
from tutor.core.op import OPS
from tutor.dtype import TABLE, DType, promote

Cell = str | nodes.Node


def code(text: str) -> nodes.literal:
    return nodes.literal(text, text)


def table(head: Iterable[Cell], rows: Iterable[Iterable[Cell]], kind: str) -> nodes.Node:
    """A table of text and nodes; `kind` is its CSS class."""

    def row(cells: Iterable[Cell]) -> nodes.row:
        found = nodes.row()
        for cell in cells:
            content = nodes.Text(cell) if isinstance(cell, str) else cell
            found += nodes.entry("", nodes.paragraph("", "", content))
        return found

    head = row(head)
    group = nodes.tgroup(cols=len(head))
    group += [nodes.colspec(colwidth=1) for _ in head]
    group += nodes.thead("", head)
    group += nodes.tbody("", *map(row, rows))
    return nodes.container("", nodes.table("", group, classes=[kind]), classes=["wide-table"])


class DTypeTable(SphinxDirective):
    def run(self) -> list[nodes.Node]:
        rows = (
            (code(d.name), d.kind, str(d.itemsize), code(d.format), f"{d.min:.7g}", f"{d.max:.7g}")
            if d.is_float
            else (code(d.name), d.kind, str(d.itemsize), code(d.format), str(d.min), str(d.max))
            for d in TABLE
        )
        return [table(("name", "kind", "bytes", "format", "smallest", "largest"), rows, "dtypes")]


def short(dtype: DType) -> str:
    """i8 for int8, u8 for uint8, f32 for float32: thirteen of them must stand side by side."""
    return dtype.name.replace("uint", "u").replace("int", "i").replace("float", "f")


class PromotionTable(SphinxDirective):
    def run(self) -> list[nodes.Node]:
        rows = ([code(short(a)), *(short(promote(a, b)) for b in TABLE)] for a in TABLE)
        return [table(["", *(code(short(d)) for d in TABLE)], rows, "promotion")]


class KernelTable(SphinxDirective):
    def run(self) -> list[nodes.Node]:
        groups = {ALL: "all", NUMBERS: "numbers", FLOATS: "floats",
                  INTEGERS: "integers", BITS: "bool, integers"}  # fmt: skip
        rows = (
            (
                code(s.name), s.form, code(s.types),
                groups.get(s.dtypes) or ", ".join(d.name for d in s.dtypes),
                s.formula, ", ".join(s.params), s.agree,
            )
            for s in TABLE_OF_KERNELS
        )  # fmt: skip
        head = ("kernel", "form", "types", "dtypes", "formula", "parameters", "agreement")
        return [table(head, rows, "kernels")]


class OpTable(SphinxDirective):
    def run(self) -> list[nodes.Node]:
        rows = (
            (
                code(name), code(op.__name__), code(op.kernel) if op.kernel else "none",
                inspect.getdoc(op).splitlines()[0], "yes" if op.differentiable else "no",
            )
            for name, op in sorted(OPS.items())
        )  # fmt: skip
        head = ("op", "class", "kernel", "what it computes", "derivative")
        return [table(head, rows, "ops")]


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("dtype-table", DTypeTable)
    app.add_directive("promotion-table", PromotionTable)
    app.add_directive("kernel-table", KernelTable)
    app.add_directive("op-table", OpTable)
    return {"parallel_read_safe": True}
