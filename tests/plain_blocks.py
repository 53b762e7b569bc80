"""Blocks as they are without the native part, in a process that has it."""

from __future__ import annotations

import inspect
from types import FunctionType

import pytest

from tutor._util import context_settings
from tutor._util.context_settings import Within

IS_NATIVE = not isinstance(Within.__enter__, FunctionType)


def make_plain(patch: pytest.MonkeyPatch) -> None:
    """Until the end of the test, `with` runs the functions of context_settings.py."""
    names = {**vars(context_settings)}
    exec(compile(inspect.getsource(context_settings), context_settings.__file__, "exec"), names)
    for name in ("__enter__", "__exit__"):
        code = vars(names["Within"])[name].__code__
        patch.setattr(Within, name, FunctionType(code, vars(context_settings), name))
