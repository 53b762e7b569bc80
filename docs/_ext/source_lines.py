"""Where something stands in the source: file and line, looked up when they are asked for, so that
no page can name a line that has moved. What is not found is an error.

    Place("tutor/core/engine/forward.py", "Forward.run").line
    Place("tutor/backends/simd_cpp/kernels/arithmetic.cpp", "KERNEL(add").line

A name is that of a class, function or method in a Python file; in any other file, and with a blank
or a bracket in it, it is what the first line of interest begins with.
"""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]


@cache
def text_of(file: str) -> str:
    return (ROOT / file).read_text(encoding="utf-8")


@cache
def _defined(file: str) -> dict[str, tuple[int, int]]:
    """The lines from which and to which each class and function of a Python file stands."""
    found: dict[str, tuple[int, int]] = {}

    def look(node: ast.AST, prefix: str) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
                found.setdefault(prefix + child.name, (child.lineno, child.end_lineno or 0))
                look(child, f"{prefix}{child.name}.")
            elif isinstance(child, (ast.If, ast.Try)):
                look(child, prefix)

    look(ast.parse(text_of(file)), "")
    return found


class Place(NamedTuple):
    file: str
    name: str

    @property
    def lines(self) -> tuple[int, int]:
        """The first and the last line."""
        if self.file.endswith(".py") and self.name.replace(".", "").isidentifier():
            if self.name in (defined := _defined(self.file)):
                return defined[self.name]
        else:
            for number, line in enumerate(text_of(self.file).splitlines(), 1):
                if line.strip().startswith(self.name):
                    return number, number
        raise LookupError(f"{self.file} has no {self.name!r}")

    @property
    def line(self) -> int:
        return self.lines[0]

    @property
    def page(self) -> str:
        """The page of the site that shows the file."""
        return f"source/{self.file}"

    @property
    def anchor(self) -> str:
        return f"L-{self.line}"

    @property
    def words(self) -> str:
        """As a person would name it: the file from `tutor/` on, and the line."""
        return f"{self.file}:{self.line}"
