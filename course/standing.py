"""What stands in the place of an answer for this session: theirs that passed, or ours."""

from __future__ import annotations

from types import CodeType
from typing import Any

from course.forbidden import functions

PASSED: dict[str, Any] = {}  # the answer that passed last, by its exercise
OURS: dict[str, Any] = {}  # what `go_on` has put in the place of an answer


def is_ours(answer: Any, id: str) -> bool:
    """Whether an answer is the one that `go_on` has put in the place of theirs."""
    if id in OURS and answer is OURS[id] and not isinstance(OURS[id], int | float | str):
        return True  # numbers and texts are the same wherever they come from
    code = code_of(answer)
    return code is not None and code.co_filename == f"<ours {id}>"


def code_of(answer: Any) -> CodeType | None:
    """The code of a function, or of one of a class's functions."""
    found = functions(answer)
    own = [f for f in found if f.__module__ == getattr(answer, "__module__", None)]
    return (own or found)[0].__code__ if found else None
