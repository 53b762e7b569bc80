"""tutor's docstrings are plain text: `x` in backticks is code, so is an indented block, and a star
is a star. This makes reStructuredText of them, which is what autodoc expects a docstring to be.
"""

from __future__ import annotations

import re
from textwrap import dedent, indent
from typing import Any

from sphinx.application import Sphinx

CODE = re.compile(r"`([^`]+)`")
SPECIAL = re.compile(r"([\\*|_])")


def inline(text: str) -> str:
    """One paragraph: code between backticks, everything else as it stands."""
    parts = CODE.split(text)  # text, code, text, ...
    for i, part in enumerate(parts):
        if i % 2:
            parts[i] = f"``{' '.join(part.split())}``"
        else:
            after_code = r"\ " if i and part[:1].isalnum() else ""
            parts[i] = after_code + SPECIAL.sub(r"\\\1", part)
    return "".join(parts)


def rest(docstring: str) -> str:
    """reStructuredText for a plain docstring."""
    result: list[str] = []
    in_code = False
    for block in re.split(r"\n[ ]*\n", docstring.strip("\n")):
        lines = block.split("\n")
        is_code = all(line.startswith("    ") for line in lines)
        if not is_code and any(line.startswith("    ") for line in lines):  # columns: keep them
            block, is_code = indent(block, "    "), True
        if is_code and block.lstrip().startswith(">>>"):
            block, is_code = dedent(block), False  # reStructuredText knows a session by its prompt
        elif is_code:
            block = block if in_code else "::\n\n" + block
        elif not block.startswith(">>>"):
            block = inline(block)
        result.append(block)
        in_code = is_code
    return "\n\n".join(result)


def on_docstring(
    app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]
) -> None:
    lines[:] = [*rest("\n".join(lines)).split("\n"), ""]


def on_member(app: Sphinx, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    """Leave out the fields of named tuples: their docstrings, made by Python, say nothing."""
    return True if (getattr(obj, "__doc__", None) or "").startswith("Alias for field") else None


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("autodoc-process-docstring", on_docstring)
    app.connect("autodoc-skip-member", on_member)
    return {"parallel_read_safe": True}
