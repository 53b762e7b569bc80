"""The generated modules `course.built.chNN`: the kept cells of chapters 1 to NN, as one.

Imports are merged at the top. A function or class that a later chapter defines anew replaces the
earlier one, so each module has what a learner would have in one file by then.
"""

from __future__ import annotations

import ast
import re
import symtable
from dataclasses import dataclass, field
from pathlib import Path

from course import built, notebooks
from course.exercise import solutions
from tutor.errors import DataError

FOLDER = Path(built.__file__).parent
DEFINITION = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


@dataclass
class Piece:
    """One statement of a kept cell, with the comments that stand above it."""

    text: str
    gap: int  # blank lines above it in the cell
    defines: str = ""  # the function or class
    extends: bool = False  # whether its own name is used to define it: class Tensor(Tensor)


@dataclass
class Kept:
    """The kept cells of a chapter."""

    number: str
    title: str
    imports: list[ast.Import | ast.ImportFrom] = field(default_factory=list)
    pieces: list[Piece] = field(default_factory=list)


def modules() -> dict[Path, str]:
    """Every generated file, with what it must contain."""
    files, so_far = {}, []
    for number, path in notebooks.chapters().items():
        if number.startswith("00"):  # the prefaces build nothing
            continue
        so_far.append(kept(number, path))
        files[FOLDER / f"ch{number}.py"] = module(so_far)
    return files


def kept(number: str, path: Path) -> Kept:
    """Take the kept cells of one chapter apart."""
    notebook = notebooks.read(path)
    title = notebook.get("metadata", {}).get("tutor", {}).get("title", path.stem)
    chapter = Kept(number, title)
    for cell in notebooks.code_cells(notebook):
        if notebooks.kept(cell) is None:
            continue
        about = notebooks.about(cell)  # an exercise that adds to the library: ours stands for it
        text = (
            (solutions() / f"{about[1]}.py").read_text("utf-8") if about else notebooks.source(cell)
        )
        try:
            tree = ast.parse(text)
        except SyntaxError as error:
            raise DataError(
                f"the kept cell {cell.get('id')} of {path.name}",
                f"line {error.lineno}: {error.msg}",
                "kept cells are plain Python, without magics",
            ) from None
        lines, done, gap = text.splitlines(), 0, 1
        for node in tree.body:
            first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
            above = lines[done : first - 1]
            done = node.end_lineno or first
            if isinstance(node, ast.Import | ast.ImportFrom):
                chapter.imports.extend(_wanted(node, cell, path))
                continue
            gap = max(gap, len(above) - len("\n".join(above).lstrip("\n").splitlines()))
            body = "\n".join([*above, *lines[first - 1 : done]]).strip("\n")
            name = node.name if isinstance(node, DEFINITION) else ""
            chapter.pieces.append(Piece(body, gap, name, _extends(node)))
            gap = 0
    return chapter


def _wanted(
    node: ast.Import | ast.ImportFrom, cell: notebooks.Cell, path: Path
) -> list[ast.Import | ast.ImportFrom]:
    """The import, unless it is of what the module contains itself."""
    names = [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        names = [node.module or ""]
    if all(name.startswith("course.built.") for name in names):
        return []
    if any((name + ".").startswith("course.") for name in names):
        raise DataError(
            f"the kept cell {cell.get('id')} of {path.name}",
            f"it imports {', '.join(names)}",
            "what is kept is a library and no lesson: import this in another cell",
        )
    return [node]


def _extends(node: ast.stmt) -> bool:
    if not isinstance(node, DEFINITION):
        return False
    outside = [*node.decorator_list, *(node.bases if isinstance(node, ast.ClassDef) else [])]
    inside = [name for part in outside for name in ast.walk(part)]
    return any(isinstance(name, ast.Name) and name.id == node.name for name in inside)


# ---- one module ----------------------------------------------------------------------------------


def module(chapters: list[Kept]) -> str:
    """The text of the module with these chapters' kept cells."""
    pieces = [piece for chapter in chapters for piece in chapter.pieces]
    needed: dict[str, list[Piece]] = {}  # the definitions of each function and class
    replaced: set[int] = set()  # those on which no later one is built
    for piece in pieces:
        if piece.defines:
            earlier = needed.setdefault(piece.defines, [])
            if not piece.extends:
                replaced |= set(map(id, earlier))
                earlier.clear()
            earlier.append(piece)
    body = ""
    for chapter in chapters:
        rest = [piece for piece in chapter.pieces if id(piece) not in replaced]
        if rest:
            title = chapter.title[:1].lower() + chapter.title[1:]
            body += _section(f"# ---- chapter {chapter.number.lstrip('0')}: {title}", rest)
    tree = ast.parse(body)
    names = _public(body)
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    imports = _merged([node for chapter in chapters for node in chapter.imports], used)
    number = chapters[-1].number.lstrip("0")
    docstring = (
        f'"""What the learner has built by the end of chapter {number}.\n\n'
        "Generated from the chapters' kept cells by `python -m tutor chapters build`. Change the\n"
        'chapter, never this file.\n"""\n'
    )
    listed = "".join(f'    "{name}",\n' for name in names)
    return f"{docstring}\n{imports}__all__ = [\n{listed}]\n{body}"


def _section(heading: str, pieces: list[Piece]) -> str:
    """A chapter's heading and statements, with the blank lines that the formatter asks for."""
    text, after_definition = f"\n\n{heading}\n", False
    for number, piece in enumerate(pieces):
        gap = 2 if after_definition or piece.defines else min(piece.gap, 1) if number else 1
        text += "\n" * gap + piece.text + "\n"
        after_definition = bool(piece.defines)
    return text


def _public(text: str) -> list[str]:
    """The public names that a module defines at its top level, sorted as the linter has it."""
    symbols = symtable.symtable(text, "built", "exec").get_symbols()
    names = {symbol.get_name() for symbol in symbols if symbol.is_assigned()}
    loops = [node.target for node in ast.parse(text).body if isinstance(node, ast.For)]
    names -= {name.id for loop in loops for name in ast.walk(loop) if isinstance(name, ast.Name)}
    return sorted((name for name in names if not name.startswith("_")), key=_rank)


def _rank(name: str) -> tuple[int, list[str]]:
    """CONSTANTS, then Classes, then the others; numbers inside names by their value."""
    group = 0 if name.isupper() and len(name) > 1 else 1 if name[:1].isupper() else 2
    parts = re.split(r"(\d+)", name)
    return group, [f"{int(part):09}" if part.isdigit() else part for part in parts]


def _merged(nodes: list[ast.Import | ast.ImportFrom], used: set[str]) -> str:
    """The imports that are used, each once, in the order the linter has them."""
    whole: set[tuple[str, str]] = set()
    parts: dict[str, set[tuple[str, str]]] = {}
    for node in nodes:
        for alias in node.names:
            bound = alias.asname or alias.name.split(".")[0]
            entry = (alias.name, alias.asname or "")
            if isinstance(node, ast.Import):
                if bound in used:
                    whole.add(entry)
            elif bound in used or node.module == "__future__":
                parts.setdefault(node.module or "", set()).add(entry)
    groups = {"__future__": "", "": "", "tutor": ""}
    for entry in sorted(whole):
        groups[_group(entry[0])] += f"import {_alias(entry)}\n"
    lines: list[tuple[str, list[tuple[str, str]]]] = []
    for module, found in parts.items():
        named = sorted((entry for entry in found if not entry[1]), key=lambda e: _rank(e[0]))
        lines.extend((module, [entry]) for entry in found if entry[1])
        lines.extend([(module, named)] if named else [])
    for module, entries in sorted(lines, key=lambda line: (line[0], _rank(line[1][0][0]))):
        groups[_group(module)] += _from(module, list(map(_alias, entries)))
    return "".join(f"{group}\n" for group in groups.values() if group)


def _group(module: str) -> str:
    first = module.split(".")[0]
    return first if first in ("__future__", "tutor") else ""


def _from(module: str, names: list[str]) -> str:
    line = f"from {module} import {', '.join(names)}\n"
    if len(line) <= 101:
        return line
    return f"from {module} import (\n" + "".join(f"    {name},\n" for name in names) + ")\n"


def _alias(entry: tuple[str, str]) -> str:
    return f"{entry[0]} as {entry[1]}" if entry[1] else entry[0]
