"""Recognising an answer that calls what it is to write: `without=` of an exercise.

Looked at is the code of the answer, of the functions inside it, and of what stands beside it in the
same cell or file and is used by it. A name counts wherever it is read: `select(t, key)`,
`ops.select`, `from tutor import select`; and so does another name for the same thing.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any

from course.exercise import Exercise
from course.judge import Stop
from course.limits import ends_python
from course.verdict import table

CACHED = type(functools.cache(lambda: 0))


def refuse(entry: Exercise, answer: Any) -> None:
    """Stop the check of an answer that uses a name that is forbidden to it."""
    for name, function in used(answer) if entry.without else ():
        if name in entry.without and name != entry.answer:
            rows = {"found": f"it calls `{name}`, which is what this exercise is to write"}
            if name == "tutor":
                rows["found"] = "it uses `tutor`, the library that this exercise is a part of"
            if function not in ("", entry.answer):
                rows["where"] = f"in `{function}`"
            raise Stop("wrong", table(rows | {"to do": f"write it without `{name}`"}))


def leaves(answer: Any) -> list[str]:
    """What to say of an answer that has os._exit by a name of its own, which nothing can hold."""
    for name, function in used(answer):
        for found in functions(answer)[:1]:
            if real := ends_python(found.__globals__.get(name)):
                where = f" (in `{function}`)" if function else ""
                return table({"found": f"it calls os.{real}{where}, which ends Python at once"})
    return []


def used(answer: Any) -> Iterator[tuple[str, str]]:
    """Each name that an answer uses, with the function that uses it."""
    seen: set[CodeType] = set()
    waiting = functions(answer)
    while waiting:
        function = waiting.pop(0)
        for code in nested(function.__code__):
            if code in seen:
                continue
            seen.add(code)
            for name in code.co_names:
                yield name.split(".")[0], code.co_name  # of `import tutor.ops`, tutor
                value = function.__globals__.get(name)
                yield from ((other, code.co_name) for other in names_of(value))
                if not isinstance(value, ModuleType):
                    beside = functions(value)
                    waiting += [f for f in beside if f.__code__.co_filename == code.co_filename]


def names_of(value: Any) -> list[str]:
    """What a function, class or module is called where it was made."""
    if type(value) in (FunctionType, ModuleType) or is_class(value):
        name = str(value.__name__)
        return [name.split(".")[0] if type(value) is ModuleType else name]
    return []


def functions(value: Any) -> list[FunctionType]:
    """The function that a value is, or those of the class that it is."""
    if is_class(value):
        members = list(type.__dict__["__dict__"].__get__(value).values())
        return [function for member in members for function in behind(member)]
    return behind(value)


def behind(value: Any) -> list[FunctionType]:
    """The functions behind a plain function, a method, a property or a decorated one."""
    if type(value) is property:
        parts = [value.fget, value.fset, value.fdel]
        return [function for part in parts for function in behind(part)]
    if type(value) in (staticmethod, classmethod):
        value = value.__func__
    if type(value) is functools.partial:
        return behind(value.func)
    wrapped = type(value) in (FunctionType, CACHED)
    found = inspect.unwrap(value) if wrapped else value
    return [found] if type(found) is FunctionType else []


def is_class(value: Any) -> bool:
    """Whether it is a class, asked so that no code of its own runs."""
    return issubclass(type(value), type)


def nested(code: CodeType) -> Iterator[CodeType]:
    """A piece of code and all that is defined in it."""
    yield code
    for const in code.co_consts:
        if isinstance(const, CodeType):
            yield from nested(const)
