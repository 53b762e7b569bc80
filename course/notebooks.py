"""The chapters as files: where they are, what is in them, and the one form they are stored in."""

from __future__ import annotations

import copy
import json
import re
from pathlib import Path
from typing import Any

from tutor.errors import DataError

NAME = re.compile(r"(\d\d[a-z]?)_(\w+)\.ipynb")
TAG = re.compile(r"(exercise|check|question)-(\d\d\.[qs]?\d+)")
KEEP = re.compile(r"keep(?:-([a-z]+))?")
HERE = Path(__file__).parent

Notebook = dict[str, Any]
Cell = dict[str, Any]


def folder() -> Path:
    """Where the chapters are: beside the package in a source tree, else installed with it."""
    places = (HERE / "chapters", HERE.parent / "chapters")
    for place in places:
        if any(place.glob("*.ipynb")):
            return place
    raise DataError(
        "the chapters",
        f"neither {places[0]} nor {places[1]} has them",
        "install tutor again, or run this in its source tree",
    )


def chapters() -> dict[str, Path]:
    """The notebook of each chapter, by its number: {"00": ..., "04": ..., "04b": ..., ...}."""
    files = {path: NAME.fullmatch(path.name) for path in sorted(folder().glob("*.ipynb"))}
    return {match[1]: path for path, match in files.items() if match}


def read(path: Path) -> Notebook:
    """A notebook; DataError where the file is none."""
    try:
        notebook: Notebook = json.loads(path.read_text("utf-8"))
        cells = notebook.get("cells") if isinstance(notebook, dict) else None
        if not isinstance(cells, list) or not all(map(_is_cell, cells)):
            raise ValueError("it has no cells")
    except (OSError, ValueError) as error:
        raise DataError(
            f"the notebook {path}", str(error), "give a notebook, as Jupyter saves it"
        ) from None
    return notebook


def _is_cell(cell: Any) -> bool:
    metadata = cell.get("metadata", {}) if isinstance(cell, dict) else None
    return isinstance(metadata, dict) and "cell_type" in cell


def source(cell: Cell) -> str:
    """The text of a cell."""
    text = cell.get("source", "")
    return text if isinstance(text, str) else "".join(text)


def tags(cell: Cell) -> list[str]:
    return list(cell.get("metadata", {}).get("tags", []))


def code_cells(notebook: Notebook, tag: str = "") -> list[Cell]:
    """The code cells, or those of them with this tag."""
    found = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    return [cell for cell in found if tag in tags(cell)] if tag else found


def about(cell: Cell) -> tuple[str, str] | None:
    """("exercise" | "check" | "question", id) for a cell that is part of one, else None."""
    for tag in tags(cell):
        if match := TAG.fullmatch(tag):
            return match[1], match[2]
    return None


def kept(cell: Cell) -> str | None:
    """The file of the learner's library that a cell belongs to, by its tag `keep-tensor`.

    "" for the plain tag `keep`, None where it has neither.
    """
    for tag in tags(cell):
        if match := KEEP.fullmatch(tag):
            return match[1] or ""
    return None


def place(id: str) -> tuple[str, int]:
    """The chapter that has the cell of an exercise, and which of its cells that is."""
    for number, path in chapters().items():
        if number[:2] == id[:2]:
            for position, cell in enumerate(read(path)["cells"]):
                if f"exercise-{id}" in tags(cell):
                    return number, position
    raise DataError(
        f"the cell of exercise {id}",
        f"no cell has the tag exercise-{id}",
        "one code cell of its chapter must have it",
    )


def stub(id: str) -> str:
    """What the chapter gives the learner to begin this exercise with."""
    paths = [path for number, path in chapters().items() if number[:2] == id[:2]]
    cells = [cell for path in paths for cell in code_cells(read(path), f"exercise-{id}")]
    if len(cells) != 1:
        raise DataError(
            f"the cell of exercise {id}",
            f"{len(cells)} cells have the tag exercise-{id}",
            "one code cell of its chapter must have it",
        )
    return source(cells[0])


# ---- the stored form -----------------------------------------------------------------------------


def normalise(notebook: Notebook, chapter: str) -> Notebook:
    """The notebook as it is stored: no outputs, no counts, ids `05-12`, only tags and `tutor`."""
    metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
        "tutor": copy.deepcopy(notebook.get("metadata", {}).get("tutor", {})),
    }
    cells = []
    for number, cell in enumerate(notebook["cells"]):
        text = source(cell).strip("\n")
        kept: Cell = {
            "cell_type": cell["cell_type"],
            "id": f"{chapter}-{number}",
            "metadata": {"tags": tags(cell)} if tags(cell) else {},
            "source": text.splitlines(keepends=True),
        }
        if cell["cell_type"] == "code":
            kept |= {"execution_count": None, "outputs": []}
        cells.append(kept)
    return {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}


def text(notebook: Notebook) -> str:
    """A notebook as the text of its file."""
    return json.dumps(notebook, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def stored(path: Path) -> str:
    """What the file of a chapter must contain to be in the stored form."""
    match = NAME.fullmatch(path.name)
    if match is None:
        raise DataError(
            f"the chapter {path.name}",
            "chapters are called like 05_engine.ipynb",
            "rename it",
        )
    return text(normalise(read(path), match[1]))
