"""What an answer's text reaches for that no exercise needs: a way to the check, or past it.

A check runs in one process with the answer, which can change it. So the text is looked at, and not
run, by the report: a pass of a file that imports `os` or asks for `__globals__` is not counted
until somebody has read it. Short of running it no look at a text sees all; this one knows the
modules that answers may have, and names that lead from there to all the others.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

MODULES = {
    "__future__", "abc", "array", "ast", "bisect", "cmath", "collections", "contextlib", "copy",
    "dataclasses",
    "decimal", "enum", "fractions", "functools", "heapq", "itertools", "math", "matplotlib",
    "my_tutor", "numbers", "numpy", "operator", "random", "re", "statistics", "string", "struct",
    "textwrap", "time", "tokenize", "tutor", "types", "typing", "warnings", "weakref",
}  # fmt: skip
BUILTINS = {
    "__import__", "breakpoint", "compile", "delattr", "eval", "exec", "globals", "locals", "open",
}  # fmt: skip
MODULE_NAMES = {
    "atexit", "builtins", "course", "ctypes", "gc", "glob", "importlib", "inspect", "io", "os",
    "pathlib", "posix", "runpy", "shutil", "signal", "socket", "subprocess", "sys", "tempfile",
    "threading",
}  # fmt: skip
INSIDE = {
    "Formatter", "Path", "attrgetter", "ctypeslib", "f_back", "f_builtins", "f_globals", "f_locals",
    "format_map", "gi_frame", "memmap", "methodcaller", "modules", "tb_frame", "tofile", "CodeType",
    "_builtin_open", "open",
    "FunctionType", "__builtins__", "__closure__", "__code__", "__defaults__", "__func__",
    "__getattribute__", "__globals__", "__kwdefaults__", "__loader__", "__self__", "__spec__",
    "__subclasses__", "__wrapped__", "_getframe",
}  # fmt: skip
OURS: dict[str | None, set[str]] = {  # what notebooks and projects have from us
    "course": {"begin", "check", "go_on", "hint", "progress", "projects", "solution"},
    "course.lent": {"kernels"},
}


def reaches(text: str, folder: Path, seen: frozenset[Path] = frozenset()) -> str:
    """What a text uses that leads to the check, with its line; "" where there is no such thing.

    A module of `folder` that it imports is a part of it.
    """
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""  # it does not run either
    imported: set[str] = set()
    for node in ast.walk(tree):
        for name, bound in _imports(node):
            imported.add(bound)
            if found := _of_module(name, folder, seen):
                return f"line {getattr(node, 'lineno', 0)} imports {found}"
    for node in ast.walk(tree):
        if found := _name(node, imported):
            return f"line {getattr(node, 'lineno', 0)} uses {found}"
    return ""


def _imports(node: ast.AST) -> Iterator[tuple[str, str]]:
    """(module, the name it is bound to), for each one that a statement imports."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            yield alias.name, alias.asname or alias.name.partition(".")[0]
    elif isinstance(node, ast.ImportFrom):
        ours = node.module in OURS and all(alias.name in OURS[node.module] for alias in node.names)
        for alias in node.names:  # of a package's own files each is looked at
            yield "" if node.level or ours else str(node.module), alias.asname or alias.name


def _of_module(name: str, folder: Path, seen: frozenset[Path]) -> str:
    """What is wrong with importing a module; a file of that name in the folder goes first."""
    top = name.partition(".")[0]
    if not name or (top == "my_tutor" and (folder / top).is_dir()):
        return ""  # the package is looked at for itself
    own = folder / f"{top}.py"
    others = [path for path in folder.glob(f"{top}*") if path.stem.partition(".")[0] == top]
    if [path for path in others if path.is_dir() or path.suffix in (".so", ".pyc", ".pyd")]:
        return f"{name}, which is no text"
    if own.is_file():
        if own in seen:
            return ""
        try:
            found = reaches(own.read_text("utf-8"), folder, seen | {own})
        except (OSError, UnicodeDecodeError):
            return name
        return f"{own.name}, whose {found}" if found else ""
    return "" if top in MODULES else name


def _name(node: ast.AST, imported: set[str]) -> str:
    """A name in a node of the tree that leads where answers have nothing to do."""
    if isinstance(node, ast.Name) and node.id in BUILTINS | {"__builtins__", "__loader__"}:
        return node.id
    if isinstance(node, ast.Attribute):
        if node.attr in INSIDE or node.attr.strip("_") in MODULE_NAMES:
            return f".{node.attr}"
        root: ast.AST = node
        while isinstance(root, ast.Attribute):
            root = root.value
        if not isinstance(node.ctx, ast.Load) and isinstance(root, ast.Name):
            return f"{ast.unparse(node)} = ..." if root.id in imported else ""
    if isinstance(node, ast.alias):
        words = {word.strip("_") for word in node.name.split(".")} & (MODULE_NAMES | INSIDE)
        return node.name if words or node.name in INSIDE else ""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        words = set(re.findall(r"\w+", node.value)) & {name for name in INSIDE if "_" in name}
        return repr(min(words)) if words else ""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        name, args = node.func.id, node.args
        of = args[0].id if args and isinstance(args[0], ast.Name) else ""
        if name in ("getattr", "setattr", "vars") and of in imported:
            return f"{name}({of}, ...)" if len(args) > 1 else f"{name}({of})"
    # A text that is put together may ask its values for anything: "{0._" + "_globals__}"
    call = node.func if isinstance(node, ast.Call) else None
    if isinstance(call, ast.Attribute) and call.attr == "format":
        written = isinstance(call.value, ast.Constant)
        return "" if written else ".format(...) of a text that is not written there"
    return ""
