"""What a page of a chapter has and a notebook has functions for: hints, solutions and answers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from course import notebooks
from course.exercise import Exercise, Question, find

Cell = dict[str, Any]


def dropdown(title: str, text: str) -> str:
    """A box that shows only its title until it is clicked. Its fence is longer than any in it."""
    return f":::::{{dropdown}} {title}\n{text}\n:::::"


def folded(entry: Exercise | Question) -> Iterator[str]:
    """What stands under an exercise or a question, in Markdown."""
    if isinstance(entry, Exercise):
        for number, hint in enumerate(entry.hints, 1):
            yield dropdown(f"Hint {number} of {len(entry.hints)}", hint)
        why = f"\n\n{entry.why_ours}" if entry.why_ours else ""
        yield dropdown("Solution", f"```python\n{entry.solution}\n```{why}")
    else:
        right = f"**{entry.right}**" if entry.choices else f"`{entry.right!r}`"
        tempting = "".join(f"\n\n- `{wrong}`: {why}" for wrong, why in entry.tempting.items())
        yield dropdown("Answer", f"{right}: {entry.why}{tempting}")


def page(notebook: notebooks.Notebook) -> notebooks.Notebook:
    """The notebook with what is folded away, each under the cell that asks for it, and `?` for
    each guess."""
    cells: list[Cell] = []
    for cell in notebook["cells"]:
        if notebooks.source(cell).startswith("guess = "):  # nobody guesses when a site is built
            cell = cell | {"source": notebooks.source(cell).replace("...", '"?"')}
        cells.append(cell)
        kind, id = notebooks.about(cell) or ("", "")
        if kind in ("check", "question"):
            text = "\n\n".join(folded(find(id)))
            cells.append(
                {
                    "cell_type": "markdown",
                    "id": f"{cell['id']}-folded",
                    "metadata": {},
                    "source": text,
                }
            )
    return notebook | {"cells": cells}
