"""Below a Python block that ends in a picture, the picture: in pages that begin with

    ---
    pictures: true
    ---

and what a block prints, in pages that begin with `printed: true`. The blocks of a page run in
order, in one namespace, when the site is built.
"""

from __future__ import annotations

import ast
import contextlib
import io
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from tutor import viz


def run(code: str, namespace: dict[str, Any], file: str = "<page>", line: int = 0) -> Any:
    """Execute `code`, and return the value of its last line where that is an expression. It stands
    in `file`, below `line`."""
    tree = ast.increment_lineno(ast.parse(code), line)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, file, "exec"), namespace)
    if last is None:
        return None
    return eval(compile(ast.Expression(last.value), file, "eval"), namespace)


def draw(app: Sphinx, page: nodes.document) -> None:
    """Put what each block has drawn or printed into the page, after the block."""
    wanted = app.env.metadata[app.env.docname]
    if not (wanted.get("pictures") or wanted.get("printed")):
        return
    for file in Path(viz.__file__).parent.glob("*.py"):  # drawn anew when one of these changes
        app.env.note_dependency(str(file))
    namespace: dict[str, Any] = {"__name__": "__main__"}
    file = str(app.env.doc2path(app.env.docname))
    for block in list(page.findall(nodes.literal_block)):
        if block.get("language") != "python":
            continue
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            found = run(block.astext(), namespace, file, block.line or 0)
        below = block.parent.index(block) + 1
        if isinstance(found, viz.Picture):
            shown = nodes.raw(
                "", f'<div class="picture">{found._repr_html_()}</div>', format="html"
            )
            block.parent.insert(below, shown)
        if wanted.get("printed") and (said := printed.getvalue().rstrip()):
            block.parent.insert(below, nodes.literal_block(said, said, language="text"))


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("doctree-read", draw)
    return {"parallel_read_safe": True}
