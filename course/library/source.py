"""Taking Python apart: the statements of a text, what each defines and uses, and its imports."""

from __future__ import annotations

import ast
import builtins
import re
import symtable
from collections.abc import Iterable
from dataclasses import dataclass

DEFINITION = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
BUILTINS = {*vars(builtins), "__name__", "__file__", "__class__", "__doc__"}


@dataclass(frozen=True, order=True)
class Import:
    """One name that an import binds: `from math import sqrt as root` is math, sqrt, root."""

    module: str
    name: str  # "" for `import module`
    bound: str

    def __str__(self) -> str:
        start = f"from {self.module} " if self.name else ""
        return f"{start}import {self.alias}"

    @property
    def alias(self) -> str:
        """`sqrt as root`: what stands in the line of the import."""
        own = self.name or self.module
        plain = self.name or self.module.split(".")[0]
        return own if self.bound == plain else f"{own} as {self.bound}"


@dataclass(frozen=True)
class Statement:
    """A statement at the top level of a text, with the comments above it."""

    text: str
    node: ast.stmt
    gap: int  # blank lines above it
    defines: frozenset[str]
    uses: frozenset[str]  # global names that are read in it, builtins left out

    @property
    def definition(self) -> str:
        """The function or class it defines; "" for any other statement."""
        return self.node.name if isinstance(self.node, DEFINITION) else ""

    @property
    def extends(self) -> bool:
        """Whether its own name is used to define it, as in class Tensor(Tensor)."""
        if not isinstance(self.node, DEFINITION):
            return False
        bases = self.node.bases if isinstance(self.node, ast.ClassDef) else []
        outside = [name for part in (*self.node.decorator_list, *bases) for name in ast.walk(part)]
        return any(isinstance(name, ast.Name) and name.id == self.node.name for name in outside)

    @property
    def attaches(self) -> bool:
        """Whether it gives something to what is there: `Tensor.T = ...`, `table["x"] = ...`."""
        targets = self.node.targets if isinstance(self.node, ast.Assign) else []
        return any(isinstance(target, ast.Attribute | ast.Subscript) for target in targets)


def split(text: str) -> tuple[list[Import], list[Statement]]:
    """The imports at the top level of a text, and its other statements. May raise SyntaxError."""
    lines, done, gap, comments = text.splitlines(), 0, 1, ""
    imports: list[Import] = []
    statements: list[Statement] = []
    for node in ast.parse(text).body:
        first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
        above = lines[done : first - 1]
        done = node.end_lineno or first
        gap = max(gap, len(above) - len("\n".join(above).lstrip("\n").splitlines()))
        above_text = comments + "\n".join(above).strip("\n")
        if isinstance(node, ast.Import | ast.ImportFrom):
            imports += imports_of(node)
            comments = above_text + "\n" if above_text else ""
            continue
        own = "\n".join(lines[first - 1 : done])
        if comments and above_text.endswith("\n"):
            above_text = above_text.rstrip("\n")
        body = f"{above_text}\n{own}" if above_text else own
        statements.append(Statement(body, node, gap, *_names(own)))
        gap, comments = 0, ""
    return imports, statements


def imports_of(node: ast.Import | ast.ImportFrom) -> list[Import]:
    """The names that one import statement binds."""
    found = []
    for alias in node.names:
        if isinstance(node, ast.Import):
            bound = alias.asname or alias.name.split(".")[0]
            found.append(Import(alias.name, "", bound))
        else:
            module = "." * node.level + (node.module or "")
            found.append(Import(module, alias.name, alias.asname or alias.name))
    return found


class _Loops(ast.NodeTransformer):
    """Makes generators of comprehensions: from Python 3.12 on, symtable counts the names of a
    comprehension among those of the code around it. A generator's stay its own."""

    def visit_ListComp(self, node: ast.ListComp) -> ast.AST:
        return self.generic_visit(ast.GeneratorExp(node.elt, node.generators))

    def visit_SetComp(self, node: ast.SetComp) -> ast.AST:
        return self.generic_visit(ast.GeneratorExp(node.elt, node.generators))

    def visit_DictComp(self, node: ast.DictComp) -> ast.AST:
        pair = ast.Tuple([node.key, node.value], ast.Load())
        return self.generic_visit(ast.GeneratorExp(pair, node.generators))


def _names(text: str) -> tuple[frozenset[str], frozenset[str]]:
    """What a text defines at its top level, and which global names are read anywhere in it."""
    plain = ast.unparse(_Loops().visit(ast.parse(text)))
    table = symtable.symtable(plain, "text", "exec")
    defines = {s.get_name() for s in table.get_symbols() if s.is_assigned() or s.is_imported()}
    uses = {s.get_name() for s in table.get_symbols() if s.is_referenced()}
    waiting = table.get_children()
    while waiting:
        scope = waiting.pop()
        waiting += scope.get_children()
        uses |= {s.get_name() for s in scope.get_symbols() if s.is_global() and s.is_referenced()}
    return frozenset(defines), frozenset(uses - BUILTINS)


def joined(statements: Iterable[Statement]) -> str:
    """Statements as one text, with the blank lines that the formatter asks for."""
    text, after = "", False
    for number, statement in enumerate(statements):
        own = bool(statement.definition)
        gap = 2 if after or own else min(statement.gap, 1)
        text += "\n" * (gap if number else 0) + statement.text + "\n"
        after = own
    return text


# ---- imports -------------------------------------------------------------------------------------


def import_lines(imports: Iterable[Import]) -> str:
    """The imports, each once, in the order that the formatter has them."""
    groups = {"__future__": "", "": "", "tutor": "", ".": ""}
    lines: dict[str, list[Import]] = {}
    for entry in sorted(set(imports)):
        if not entry.name:
            groups[_group(entry.module)] += f"import {entry.alias}\n"
        else:
            lines.setdefault(entry.module, []).append(entry)
    for module, entries in lines.items():
        plain = [entry for entry in entries if entry.name == entry.bound]
        renamed = [[entry] for entry in entries if entry.name != entry.bound]
        parts = [part for part in (plain, *renamed) if part]
        for part in sorted(parts, key=lambda part: min(rank(entry.name) for entry in part)):
            names = [e.alias for e in sorted(part, key=lambda e: rank(e.name))]
            groups[_group(module)] += _from(module, names)
    return "\n".join(group for group in groups.values() if group)


def _group(module: str) -> str:
    first = module.split(".")[0] or "."
    return first if first in ("__future__", "tutor", ".") else ""


def _from(module: str, names: list[str]) -> str:
    line = f"from {module} import {', '.join(names)}\n"
    if len(line) <= 101:
        return line
    return f"from {module} import (\n" + "".join(f"    {name},\n" for name in names) + ")\n"


def rank(name: str) -> tuple[int, list[str]]:
    """CONSTANTS, then Classes, then the others; numbers inside names by their value."""
    group = 0 if name.isupper() and len(name) > 1 else 1 if name[:1].isupper() else 2
    parts = re.split(r"(\d+)", name.lower())
    return group, [f"{int(part):09}" if part.isdigit() else part for part in parts]
