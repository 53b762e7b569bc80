"""Run a chapter as Jupyter does, in this process: `python run_chapter.py NOTEBOOK MODE`.

MODE `unsolved`: as it stands, and as if no other package were installed. On the way, at the cell of
every exercise, its stub, its planted wrong answers, its solution and right answers that are not
ours (tests/course/right) are judged, each in a copy of the names that a learner has there.
MODE `solved`: with the solution in place of every stub, and the right answer in every question.
MODE `kernel`: as it stands, in a real kernel.

Prints JSON: {"cells": [{"id", "tags", "output", "error"}], "proofs": [{"id", "answer", ...}],
"right": [{"id", "answer", ...}]}.
"""

from __future__ import annotations

import ast
import contextlib
import importlib
import io
import json
import linecache
import re
import sys
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any

if sys.argv[2:] == ["unsolved"]:  # chapters need no package that has to be installed beside tutor
    sys.modules |= dict.fromkeys(("numpy", "matplotlib", "torch", "safetensors", "tqdm"))

from course import notebooks
from course.exercise import Exercise, Question, find
from course.judging import judged

sys.path.insert(0, str(Path(__file__).parent))

REPR = ("_ipython_display_", "_repr_mimebundle_", "_repr_html_", "_repr_svg_", "_repr_png_")


def display(*values: Any) -> None:
    """Show values as Jupyter does: by the methods they have for it."""
    for value in values:
        methods = [name for name in REPR if hasattr(value, name) and not isinstance(value, type)]
        for name in methods[:1]:
            shown = getattr(value, name)()
            print(shown if isinstance(shown, str) else "")
        if not methods and value is not None:
            print(repr(value))


def run_cell(text: str, name: str, names: dict[str, Any]) -> None:
    """Run a cell, and show the value of its last line."""
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    tree = ast.parse(text, name)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, name, "exec"), names)
    if last is not None and not text.rstrip().endswith(";"):
        display(eval(compile(ast.Expression(last.value), name, "eval"), names))


def record(cell: notebooks.Cell, output: str, error: str | None) -> dict[str, Any]:
    """What became of a cell."""
    tags = notebooks.tags(cell)
    return {"id": cell["id"], "tags": tags, "output": output, "error": error}


def right_answer(text: str, entry: Question) -> str:
    """The cell of a question with the right answer in place of the dots."""
    filled, count = re.subn(r"(?m)^(\w+ = )\.\.\.", rf"\g<1>{entry.right!r}", text)
    assert count == 1, f"the cell of {entry.id} has {count} lines `name = ...`"
    return filled


def planted(entry: Exercise, stub: str) -> dict[str, str]:
    """The stub, the solution, and each planted wrong answer, by what they are."""
    text_of = importlib.import_module("wrong").text
    wrong = importlib.import_module(f"wrong.ch{entry.id[:2]}").WRONG
    answers = wrong.get(entry.id, {}).items()
    found = {"stub": stub, "solution": entry.solution}
    return found | {why: text_of(answer, entry.solution) for why, answer in answers}


def otherwise(entry: Exercise) -> dict[str, str]:
    """The right answers that are not ours, by how they are written."""
    texts: dict[str, str] = importlib.import_module(f"right.ch{entry.id[:2]}").RIGHT.get(
        entry.id, {}
    )
    return texts


def prove(entry: Exercise, answers: dict[str, str], names: dict[str, Any]) -> list[dict[str, Any]]:
    """What the check says to each of these answers."""
    proofs = []
    for why, text in answers.items():
        own, proof = dict(names), {"id": entry.id, "answer": why}
        name = f"<{entry.id} {why}>"
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                run_cell(text, name, own)
            verdict = judged(entry, own[entry.answer])
        except Exception:
            proof |= {"kind": "broken", "passed": False, "text": traceback.format_exc()}
        else:
            proof |= {"kind": verdict.kind, "passed": verdict.passed, "text": verdict.text}
            if verdict.error is not None:
                proof["examined"] = "".join(traceback.format_exception(verdict.error))
        proofs.append(proof)
    return proofs


def run(notebook: notebooks.Notebook, solved: bool) -> dict[str, Any]:
    main = ModuleType("__main__")
    sys.modules["__main__"] = main  # what is defined in a cell belongs to it
    names = main.__dict__
    names["display"] = display
    cells, proofs, right = [], [], []
    for cell in notebooks.code_cells(notebook):
        text, about = notebooks.source(cell), notebooks.about(cell)
        entry = find(about[1]) if about and about[0] != "check" else None
        if isinstance(entry, Exercise) and not solved:
            proofs += prove(entry, planted(entry, text), names)
            right += prove(entry, otherwise(entry), names)
        elif isinstance(entry, Exercise):
            text = entry.solution
        elif isinstance(entry, Question) and solved:
            text = right_answer(text, entry)
        output, error = io.StringIO(), None
        try:
            with contextlib.redirect_stdout(output):
                run_cell(text, f"<cell {cell['id']}>", names)
        except Exception:
            error = traceback.format_exc()
        cells.append(record(cell, output.getvalue(), error))
    return {"cells": cells, "proofs": proofs, "right": right}


def run_in_kernel(path: Path) -> dict[str, Any]:
    import nbclient
    import nbformat

    notebook = nbformat.read(path, as_version=4)
    nbclient.NotebookClient(
        notebook, timeout=300, kernel_name="python3", allow_errors=True
    ).execute()
    cells = []
    for cell in notebook.cells:
        if cell.cell_type == "code":
            streams = [output.text for output in cell.outputs if output.output_type == "stream"]
            errors = [o.traceback for o in cell.outputs if o.output_type == "error"]
            cells.append(
                {
                    "id": cell.id,
                    "tags": cell.metadata.get("tags", []),
                    "output": "".join(streams),
                    "error": "\n".join(errors[0]) if errors else None,
                }
            )
    return {"cells": cells, "proofs": []}


if __name__ == "__main__":
    path, mode = Path(sys.argv[1]), sys.argv[2]
    if mode == "kernel":
        result = run_in_kernel(path)
    else:
        result = run(notebooks.read(path), solved=mode == "solved")
    print(json.dumps(result))
