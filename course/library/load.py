"""Making modules of the library's texts: in memory, with lines that a traceback can show."""

from __future__ import annotations

import functools
import linecache
import sys
from collections.abc import Mapping
from types import ModuleType
from typing import Any

from course.library.compose import compose
from course.library.parts import known, parts


class LoadError(Exception):
    """A file of the library raised something when it was imported."""

    def __init__(self, file: str, line: int, error: Exception) -> None:
        super().__init__(f"line {line} of {file}: {type(error).__name__}: {error}")
        self.file, self.line, self.error = file, line, error


def load(texts: Mapping[str, str], package: str, places: Mapping[str, str] | None = None) -> Any:
    """The package of these texts, which are called `places` in tracebacks. LoadError, if any.

    It is entered in sys.modules under its name, in one go: until then what was there stays there.
    """
    before = {name: sys.modules.pop(name) for name in _modules(package)}
    made = ModuleType(package)
    made.__path__ = []
    sys.modules[package] = made
    try:
        for file, text in texts.items():
            place = (places or {}).get(file, f"<{package}/{file}.py>")
            module = made if file == "__init__" else ModuleType(f"{package}.{file}")
            module.__package__, module.__file__ = package, place
            if file != "__init__":
                sys.modules[module.__name__] = module
                setattr(made, file, module)
            linecache.cache[place] = (len(text), None, text.splitlines(keepends=True), place)
            try:
                exec(compile(text, place, "exec", dont_inherit=True), module.__dict__)
            except (Exception, SystemExit) as error:
                raise LoadError(file, _line(error, place), error) from error  # type: ignore[arg-type]
    except BaseException:
        for name in _modules(package):
            del sys.modules[name]
        sys.modules |= before
        raise
    return made


def _modules(package: str) -> list[str]:
    return [name for name in sys.modules if (name + ".").startswith(package + ".")]


def _line(error: BaseException, place: str) -> int:
    """The line of this file in which an error came up."""
    if isinstance(error, SyntaxError) and error.filename == place:
        return error.lineno or 0
    line, trace = 0, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == place:
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


def ours(chapter: int | str) -> Any:
    """Our library, as it is after this chapter: what the checks compare with."""
    return _ours(known(chapter))


@functools.cache
def _ours(number: str) -> Any:
    return load(compose(parts(upto=number)).texts(), f"ours_{number}")


def of(answer: Any, *names: str, default: Any) -> Any:
    """The library that an answer has its names from: a module that has all of these `names`.

    That may be my_tutor, another one that was put together for the moment, or the notebook.
    """
    space = getattr(answer, "__globals__", None) or _globals(answer)
    modules = [str(space.get("__name__", ""))]
    modules += [str(getattr(space.get(name), "__module__", "")) for name in names]
    # the whole package before the file of it that an answer stands in
    found = [sys.modules.get(part) for name in modules for part in (name.split(".")[0], name)]
    for module_found in found:
        if module_found is not None and all(hasattr(module_found, name) for name in names):
            return module_found
    return default


def theirs_or_ours(answer: Any, name: str, chapter: int) -> Any:
    """What the learner's code means by `name`: their own piece; ours of that chapter where it knows
    none.

    What an answer is given has to be of the learner's own classes, since it is their engine that
    records it, and their backend that looks the kernels up.
    """
    return getattr(of(answer, name, default=ours(chapter)), name)


def _globals(answer: Any) -> dict[str, Any]:
    """The namespace of a class's functions."""
    for value in vars(answer).values() if isinstance(answer, type) else ():
        if hasattr(value, "__globals__"):
            return dict(value.__globals__)
    return {}
