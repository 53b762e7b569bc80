"""What the learner's library consists of: the given cells of the chapters, and the exercises that
add a function or class to it, in the order in which the chapters have them.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path

from course import notebooks
from course.exercise import solutions
from course.library.source import Import, Statement, split
from tutor.errors import DataError

FILES = {  # in the order in which one reads them, and in which they are imported
    "scalar": "A scalar engine: one number at a time, in about sixty lines.",
    "buffer": "Bytes, and the numbers that stand in them.",
    "tensor": "Tensors: numbers in a Buffer, and how they are walked.",
    "registry": "The registry: which kernel does an op's work.",
    "kernels": "Kernels: the loops over numbers.",
    "ops": "Ops: what can be calculated, forward and backward.",
    "engine": "The engine: what was calculated, walked backward.",
    "nn": "Layers and losses.",
    "training": "Training: data, optimizers, and how good it is.",
    "convolution": "Convolution: windows of a picture, and what they have in common.",
    "attention": "Attention: who listens to whom.",
    "language": "Language: tokens, and a network that writes.",
    "machine": "The machine: what memory and lanes cost, counted on models of them.",
    "compiler": "The compiler: a step as a program, in few kernels, replayed with guards.",
}
PLAIN = {  # where the cells of a chapter belong that have the plain tag `keep`
    "01": "buffer", "02": "tensor", "03": "tensor", "04": "ops", "04b": "ops", "05": "engine",
    "06": "engine", "07": "nn", "08": "training",
}  # fmt: skip


@dataclass(frozen=True)
class Part:
    """A piece, which an exercise adds, or given cells of a chapter that stand together."""

    key: str  # "02.1", or "02 given tensor 1" for the first given cells of chapter 2 in that file
    chapter: str
    file: str
    text: str  # ours, without imports
    statements: tuple[Statement, ...]
    imports: tuple[Import, ...]
    spare: tuple[Import, ...] = ()  # imports of the chapter's other cells, for names it may use
    answer: str = ""  # what a piece is called; "" for what is given
    place: int = 0  # of its first cell in the notebook

    @property
    def defines(self) -> list[str]:
        """The names that it adds to the library: of a piece, only that of its answer."""
        if self.answer:
            return [self.answer]
        return [name for statement in self.statements for name in sorted(statement.defines)]


def key(chapter: int | str) -> str:
    """05 for the chapter 5, "5" or "05"."""
    text = str(chapter)
    return text if text[1:2].isdigit() else f"0{text}"


def known(chapter: int | str) -> str:
    """The chapter of this number; DataError where there is none."""
    found, there = key(chapter), notebooks.chapters()
    if found not in there:
        raise DataError(f"chapter {chapter}", f"there are {', '.join(there)}", "name one of them")
    return found


def parts(before: str = "", upto: str = "") -> list[Part]:
    """All parts of the chapters before one of them, or up to it; of all chapters without either."""
    found: list[Part] = []
    for number, path in notebooks.chapters().items():
        if (not before or number < before) and (not upto or number <= upto):
            found += of_chapter(number, path, path.stat().st_mtime_ns)
    return found


@functools.lru_cache(maxsize=100)
def of_chapter(number: str, path: Path, changed: int) -> tuple[Part, ...]:
    """The parts of one chapter. `changed` is when its file was, so that it is read anew then."""
    notebook = notebooks.read(path)
    spare = _spare(notebook)
    found: list[Part] = []
    counts: dict[str, int] = {}
    together = False  # whether given cells go on from those before
    for place, cell in enumerate(notebook["cells"]):
        tag = notebooks.kept(cell) if cell["cell_type"] == "code" else None
        about = notebooks.about(cell)
        if tag is None:
            together = together and about is None
            continue
        file = tag or PLAIN.get(number, "training")
        if file not in FILES:
            to_do = f"the files are {', '.join(FILES)}"
            raise DataError(_called(cell, path), f"its tag is keep-{file}", to_do)
        if about:
            together = False
            found.append(_piece(number, file, about[1], cell, path, spare, place))
            continue
        text, last = notebooks.source(cell), found[-1] if found else None
        if last and last.file == file and together:
            found.pop()
            text, name, before, place = f"{last.text}\n\n{text}", last.key, last.imports, last.place
        else:
            counts[file] = counts.get(file, 0) + 1
            name, before = f"{number} given {file} {counts[file]}", ()
        own, statements = _split(text, cell, path)
        both, together = (*before, *own), True
        found.append(Part(name, number, file, text, tuple(statements), both, spare, "", place))
    return tuple(found)


def _piece(
    number: str,
    file: str,
    id: str,
    cell: notebooks.Cell,
    path: Path,
    spare: tuple[Import, ...],
    place: int,
) -> Part:
    text = (solutions() / f"{id}.py").read_text("utf-8").strip("\n")
    imports, statements = _split(text, cell, path)
    ours = [s.definition for s in statements if s.definition]
    stub = [s.definition for s in _split(notebooks.source(cell), cell, path)[1]]
    names = [name for name in stub if name in ours]
    if not names:
        raise DataError(
            _called(cell, path),
            f"its stub defines {', '.join(filter(None, stub)) or 'nothing'}, the solution"
            f" {', '.join(ours) or 'nothing'}",
            "the exercise adds a function or class to the library: both must define it",
        )
    return Part(id, number, file, text, tuple(statements), tuple(imports), spare, names[-1], place)


def _split(text: str, cell: notebooks.Cell, path: Path) -> tuple[list[Import], list[Statement]]:
    try:
        imports, statements = split(text)
    except SyntaxError as error:
        raise DataError(
            _called(cell, path),
            f"line {error.lineno}: {error.msg}",
            "what is kept is plain Python, without magics",
        ) from None
    return [entry for entry in imports if not of_library(entry)], statements


def of_library(entry: Import) -> bool:
    """Whether an import is of what the library has itself."""
    return (entry.module + ".").startswith("my_tutor.")


def _spare(notebook: notebooks.Notebook) -> tuple[Import, ...]:
    """What is imported by any cell that is plain Python, but from the course."""
    found: list[Import] = []
    for cell in notebooks.code_cells(notebook):
        try:
            found += split(notebooks.source(cell))[0]
        except SyntaxError:  # a magic, or an exercise about one
            continue
    own = [entry for entry in found if entry.name != "*" and not of_library(entry)]
    return tuple(entry for entry in own if entry.module.split(".")[0] != "course")


def _called(cell: notebooks.Cell, path: Path) -> str:
    return f"the kept cell {cell.get('id')} of {path.name}"
