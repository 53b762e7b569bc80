"""Telling a stub that nobody has touched from an answer.

A stub is a function or class with nothing in it but a docstring, `...` or `pass`; or the value
`...`, also inside a list, tuple or dict. A stub with more in it is recognised by its code, which is
then the same as that of the chapter's cell.
"""

from __future__ import annotations

import dis
import functools
import inspect
from types import CodeType, FunctionType
from typing import Any

from course import notebooks
from course.exercise import Exercise
from tutor.errors import TutorError

IDLE = {"RESUME", "NOP", "CACHE", "MAKE_CELL", "COPY_FREE_VARS"}
LEAVE = {"LOAD_CONST", "RETURN_CONST", "RETURN_VALUE"}


def unsolved(entry: Exercise, answer: Any) -> bool:
    """Whether the answer is still what the chapter gives."""
    if isinstance(answer, FunctionType):
        function = inspect.unwrap(answer)
        code = getattr(function, "__code__", None)
        return isinstance(code, CodeType) and (idle(code) or alike(code, given(entry)))
    if isinstance(answer, type):
        members = dict(type.__dict__["__dict__"].__get__(answer))
        functions = {name: _function(item) for name, item in members.items()}
        codes = {name: f.__code__ for name, f in functions.items() if f is not None}
        if codes:
            return all(map(idle, codes.values())) or _same_methods(codes, given(entry))
        return all(name.startswith("__") for name in members)
    return dots(answer)


def idle(code: CodeType) -> bool:
    """Whether a function's body does nothing: a docstring, `...`, `pass`, or `return None`."""
    for step in dis.get_instructions(code):
        if step.opname not in IDLE | LEAVE:
            return False
        if step.opname not in IDLE and step.opname != "RETURN_VALUE" and step.argval is not None:
            return False
    return True


def dots(value: Any, depth: int = 5) -> bool:
    """Whether there still is a `...` in a value."""
    if type(value) is dict:
        value = list(value.values())
    if type(value) in (list, tuple) and depth:
        return any(dots(item, depth - 1) for item in value[:1000])
    return value is Ellipsis


def alike(code: CodeType, other: CodeType | None) -> bool:
    """Whether two functions were compiled from the same text, wherever it stood."""
    if other is None or (code.co_code, code.co_names) != (other.co_code, other.co_names):
        return False
    if code.co_varnames != other.co_varnames or len(code.co_consts) != len(other.co_consts):
        return False
    return all(map(_same_constant, code.co_consts, other.co_consts))


@functools.cache
def given(entry: Exercise) -> CodeType | None:
    """The code of the function or class that the chapter's cell gives; None for other stubs."""
    try:
        cell = compile(notebooks.stub(entry.id), f"<{entry.id}>", "exec")
    except (TutorError, SyntaxError):
        return None
    return _inside(cell).get(entry.answer)


def _inside(code: CodeType) -> dict[str, CodeType]:
    """The functions and classes that a piece of code defines."""
    return {const.co_name: const for const in code.co_consts if isinstance(const, CodeType)}


def _function(item: Any) -> FunctionType | None:
    """The function behind a member of a class: a method, a property, a static or class method."""
    for sort, name in ((property, "fget"), (staticmethod, "__func__"), (classmethod, "__func__")):
        if type(item) is sort:
            item = getattr(item, name)
    return item if type(item) is FunctionType else None


def _same_methods(codes: dict[str, CodeType], other: CodeType | None) -> bool:
    theirs = _inside(other) if other is not None else {}
    return codes.keys() == theirs.keys() and all(alike(codes[name], theirs[name]) for name in codes)


def _same_constant(one: Any, other: Any) -> bool:
    if isinstance(one, CodeType) and isinstance(other, CodeType):
        return alike(one, other)
    return type(one) is type(other) and repr(one) == repr(other)
