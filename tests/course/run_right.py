"""Judge right answers that are not ours: `python run_right.py NOTEBOOK`, in a folder of its own.

Each is judged where its stub stands, with the names that a learner has there. Prints JSON:
[{"id", "answer", "kind", "passed", "text"}].
"""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import run_chapter

from course import notebooks
from course.exercise import Exercise
from course.judging import judged


def prove(entry: Exercise, stub: str, names: dict[str, Any]) -> list[dict[str, Any]]:
    """What the check says to each of the right answers."""
    right = importlib.import_module(f"right.ch{entry.id[:2]}").RIGHT
    found = []
    for how, text in right.get(entry.id, {}).items():
        own = dict(names)
        with contextlib.redirect_stdout(io.StringIO()):
            run_chapter.run_cell(text, f"<{entry.id} {how}>", own)
        verdict = judged(entry, own[entry.answer])
        about = {"kind": verdict.kind, "passed": verdict.passed, "text": verdict.text}
        found.append({"id": entry.id, "answer": how, **about})
    return found


if __name__ == "__main__":
    run_chapter.prove = prove
    result = run_chapter.run(notebooks.read(Path(sys.argv[1])), solved=False)
    print(json.dumps(result["proofs"]))
