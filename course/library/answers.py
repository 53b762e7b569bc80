"""The text of an answer, as it goes into the library: from the cell or the file it was written in.

Taken is the definition, and of the same text all that it uses, that being functions, classes,
values and imports. Calls that stand alone, as those of check or print, stay behind.
"""

from __future__ import annotations

import ast
import linecache
import re
import sys
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from course.forbidden import functions, is_class
from course.library.parts import of_library
from course.library.source import BUILTINS, Import, Statement, import_lines, joined, split


@dataclass(frozen=True)
class Answer:
    """A text that defines an answer, and what it uses that neither it nor the library has."""

    text: str = ""
    missing: tuple[str, ...] = ()
    defines: frozenset[str] = frozenset()
    trouble: str = ""  # why there is no text


def text_of(answer: Any, name: str) -> str:
    """The cell or file in which an answer was written; "" where that is not at hand."""
    own = [function.__code__.co_filename for function in functions(answer)]
    texts = ["".join(linecache.getlines(file)) for file in own]
    for text in texts:
        if _defines(text, name):
            return text
    # a class whose functions were all made for it: it is in the latest cell that defines it
    for file in list(reversed(linecache.cache)) if is_class(answer) else []:
        entry = linecache.cache.get(file)
        if entry is not None and len(entry) == 4 and entry[1] is None:  # no file, but a cell
            text = "".join(entry[2])
            if re.search(rf"\bclass {re.escape(name)}\b", text) and _defines(text, name):
                return text
    return next(filter(None, texts), "")


def _defines(text: str, name: str) -> bool:
    try:
        return any(name in statement.defines for statement in split(text)[1])
    except SyntaxError:
        return False


def taken(answer: Any, name: str, library: set[str]) -> Answer:
    """The part of a cell or file that defines `name`, for a library that has these names."""
    text = text_of(answer, name) if functions(answer) or is_class(answer) else ""
    if not text:
        return Answer(trouble="its text is not at hand")
    try:
        imports, statements = split(text)
    except SyntaxError:
        return Answer(trouble="its cell has lines that are no Python")
    if not any(name in statement.defines for statement in statements):
        return Answer(trouble=f"its cell does not define `{name}`")
    kept, uses = needed(statements, name)
    imports = [entry for entry in imports if entry.bound in uses and not of_library(entry)]
    defines = frozenset[str]().union(*(statement.defines for statement in kept))
    missing = uses - defines - BUILTINS - library - {entry.bound for entry in imports}
    space = next((f.__globals__ for f in functions(answer)), {})
    found = [entry for unknown in missing if (entry := imported(unknown, space))]
    missing -= {entry.bound for entry in found}
    lines = import_lines([*imports, *found])
    body = joined(kept).strip("\n")
    bound = {entry.bound for entry in imports}
    own = f"{lines}\n\n{body}" if lines else body
    return Answer(own, tuple(sorted(missing)), defines | bound)


def needed(statements: list[Statement], name: str) -> tuple[list[Statement], frozenset[str]]:
    """The statements that define a name and what it uses, in their order; and all they use."""
    last = {s.definition: s for s in statements if s.definition and not s.extends}
    current = [s for s in statements if not s.definition or s.extends or last[s.definition] is s]
    kept: set[int] = set()
    wanted = {name}
    while True:
        values = {n for s in current if id(s) in kept and not s.definition for n in s.defines}
        functions_kept = {s.definition for s in current if id(s) in kept and s.definition}
        more = [
            s
            for s in current
            if id(s) not in kept
            and (s.defines & wanted or changes(s, values) or attached(s, values | functions_kept))
        ]
        if not more:
            break
        kept |= {id(s) for s in more}
        wanted |= {used for s in more for used in s.uses}
    found = [s for s in current if id(s) in kept]
    return found, frozenset[str]().union(*(s.uses for s in found))


def changes(statement: Statement, values: set[str]) -> bool:
    """Whether it fills a value that is needed: a loop over it, or `table += ...`."""
    return isinstance(statement.node, ast.For | ast.AugAssign) and bool(statement.uses & values)


def attached(statement: Statement, kept: set[str]) -> bool:
    """Whether it gives something to what is needed, or what is needed to something else.

    `Tensor.T = property(transpose)` is part of an answer `transpose`; `x = transpose(t)` is not.
    """
    node = statement.node
    if not statement.attaches or not isinstance(node, ast.Assign):
        return False
    roots = []
    for target in node.targets:
        root: ast.expr = target
        while isinstance(root, ast.Attribute | ast.Subscript):
            root = root.value
        roots.append(root)
    values, wrappers = [node.value], ("property", "staticmethod", "classmethod")
    call = node.value
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in wrappers:
        values = list(call.args)
    return any(isinstance(part, ast.Name) and part.id in kept for part in (*roots, *values))


def imported(name: str, space: dict[str, Any]) -> Import | None:
    """The import of the standard library that gave a notebook this name, in whatever cell."""
    value = space.get(name)
    if isinstance(value, ModuleType):
        top = value.__name__.split(".")[0]
        return Import(value.__name__, "", name) if top in sys.stdlib_module_names else None
    module, own = getattr(value, "__module__", None), getattr(value, "__name__", None)
    if not isinstance(module, str) or not isinstance(own, str) or module == "__main__":
        return None
    if module.split(".")[0] not in sys.stdlib_module_names:
        return None
    there = sys.modules.get(module.lstrip("_")) or sys.modules.get(module)
    if getattr(there, own, None) is not value or there is None:
        return None
    return Import(there.__name__, own, name)
