"""Run a chapter with all its solutions, and ask its claims: `python run_claims.py 05 mnist`.

The second word says what `data.load("auto")` gives: `mnist`, or `drawn`, as where nobody has MNIST.
Prints JSON: {"cells": [{"id", "tags", "output", "error"}], "claims": ["", "what is wrong", ...]}.
"""

from __future__ import annotations

import contextlib
import io
import json
import random
import socket
import sys
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import prose_text
from prose import Claim
from run_chapter import display, record, right_answer, run_cell

from course import notebooks
from course.exercise import Exercise, Question, find


def no_network(*args: Any) -> bytes:
    raise socket.gaierror("not asked, so that digits are drawn")


def ask(claim: Claim, names: dict[str, Any]) -> str:
    """What is wrong with a claim; nothing where it holds."""
    state = random.getstate()
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            found = claim.holds(names)
    except Exception:
        return traceback.format_exc(limit=-3)
    finally:
        random.setstate(state)  # the chapter goes on as it would have without the question
    return "" if found is True else f"the condition gave {found!r}"


class Asker:
    """Asks each claim of a chapter when its time has come."""

    def __init__(self, notebook: notebooks.Notebook, claims: list[Claim], data: str) -> None:
        self.extra = {"DATA": data, "ABOUT": notebook["metadata"]["tutor"]}
        self.waiting = list(enumerate(claims))
        self.answers: list[str] = ["its words are not in the text"] * len(claims)

    def ask(self, when: str, text: str, names: dict[str, Any], printed: str) -> None:
        """Ask the claims for this time whose words are in this text."""
        for number, claim in self.waiting:
            if claim.when == when and prose_text.where(claim.quote, text):
                given = names | self.extra | {"PRINTED": printed}
                self.answers[number] = ask(claim, given)


def run(notebook: notebooks.Notebook, claims: list[Claim], data: str) -> dict[str, Any]:
    main = ModuleType("__main__")
    sys.modules["__main__"] = main
    names = main.__dict__
    names["display"] = display
    asker, cells = Asker(notebook, claims, data), []
    text, printed, everything = "", "", ""
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown":
            asker.ask("next", text, names, printed)
            text = notebooks.source(cell)
            asker.ask("there", text, names, printed)
            printed = ""
            continue
        if cell["cell_type"] != "code":
            continue
        output, error = io.StringIO(), None
        try:
            with contextlib.redirect_stdout(output):
                run_cell(filled(cell), f"<cell {cell['id']}>", names)
        except Exception:
            error = traceback.format_exc()
        cells.append(record(cell, output.getvalue(), error))
        printed += output.getvalue()
        everything += output.getvalue()
    asker.ask("next", text, names, printed)
    texts = "\n\n\n".join(text for _, text in prose_text.texts(notebook))
    asker.ask("end", texts, names, everything)
    return {"cells": cells, "claims": asker.answers}


def filled(cell: notebooks.Cell) -> str:
    """The cell's text, with the right answer in it where it asks for one."""
    text, about = notebooks.source(cell), notebooks.about(cell)
    entry = find(about[1]) if about and about[0] != "check" else None
    if isinstance(entry, Exercise):
        return entry.solution
    return right_answer(text, entry) if isinstance(entry, Question) else text


if __name__ == "__main__":
    chapter, data = sys.argv[1:]
    if data == "drawn":
        from tutor.data import fetch

        fetch.get = no_network  # type: ignore[assignment]
    path = notebooks.chapters()[chapter]
    print(json.dumps(run(notebooks.read(path), prose_text.claims(chapter), data)))
