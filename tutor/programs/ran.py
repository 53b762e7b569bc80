"""Observing a call: which code it ran, and whether that did anything a replay cannot repeat.

The names in bytecode show what code *may* read. While a call is recorded (and in the first call,
which runs normally), a profiler sees each function entered and each built-in function called:

- guards need to cover only the code that ran: a branch not taken reads nothing;
- code that ran although no name leads to it came from somewhere that no guard watches;
- built-in functions on a short list always do the same with the same arguments, and keep no state.
  Any other, a clock or a file, may give another result next time. So may a generator that was
  started before the call.

tutor's own code is not observed: it reports what cannot be recorded (_storage/bounds_checks.py).
"""

from __future__ import annotations

import _thread
import array
import builtins
import cmath
import collections
import dis
import functools
import gc
import inspect
import itertools
import math
import operator
import sys
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tutor.backends.step import watchers

_BUILTINS = [
    "abs", "aiter", "all", "any", "anext", "ascii", "bin", "callable", "chr", "delattr",
    "divmod", "format", "getattr", "hasattr", "hex", "isinstance", "issubclass", "iter", "len",
    "max", "min", "next", "oct", "ord", "pow", "print", "repr", "round", "setattr", "sorted",
    "sum", "vars", "__build_class__",
]  # fmt: skip
PURE = {
    *(getattr(builtins, name) for name in _BUILTINS),
    *(f for m in (math, cmath, operator, itertools) for f in vars(m).values() if callable(f)),
    functools.reduce, functools.cmp_to_key, sys.exc_info, sys.intern, sys.getsizeof,
    sys.modules["_abc"]._abc_instancecheck,
    sys.modules["_abc"]._abc_subclasscheck,
    getattr(collections, "_count_elements"),  # noqa: B009 - it has no public name
}  # fmt: skip
# Their methods touch only the object itself, which guards compare if it existed before.
OF_ITSELF: tuple[type, ...] = (
    bool, int, float, complex, str, bytes, bytearray, tuple, list, dict, set, frozenset, range,
    slice, memoryview, array.array, collections.deque, collections.OrderedDict,
    collections.defaultdict, types.MappingProxyType, types.GeneratorType, type({}.keys()),
    type({}.values()), type({}.items()), property,
)  # fmt: skip
LOCKS = type(_thread.allocate_lock()), type(_thread.RLock())
MAKING = {"__new__", "__init_subclass__", "__subclasshook__", "__prepare__", "mro", "fromkeys"}
# Standard modules that implement classes; their caches do not affect results.
SCAFFOLDING = {
    "_collections_abc", "_frozen_importlib", "abc", "collections", "contextlib", "copyreg", "enum",
    "functools", "importlib._bootstrap", "numbers", "operator", "types", "typing",
}  # fmt: skip
UNSEEN = {"abc", "_collections_abc", "enum", "numbers", "types", "typing"}  # names say nothing

# pyopencl's file name for the functions that it generates for tutor's kernels, in no module.
LAUNCHES = "<generated: 'pyopencl invoker"
# tutor's only way to a device: memory, kernels, numbers.
DEVICES = {"tutor.backends.devices", "tutor._storage.device_memory"}


def module_of(code_globals: dict[str, Any]) -> str:
    return str(code_globals.get("__name__", ""))


@functools.cache
def is_ours(module: str) -> bool:
    """Is it one of tutor's modules?"""
    return module == "tutor" or module.startswith("tutor.")


@functools.cache
def is_users(module: str | None) -> bool:
    """Is it one of the user's modules: not tutor's, Python's or an installed package's? __main__
    is, even within an installed program: a notebook's cell, a page's example."""
    root = str(module).partition(".")[0]
    if root.startswith("namedtuple_") or root == "tutor" or root in sys.stdlib_module_names:
        return False
    if root == "__main__":
        return True
    file = str(getattr(sys.modules.get(str(module)), "__file__", None) or "")
    return "site-packages" not in file and "dist-packages" not in file


class Ran:
    """What a call ran: `codes` outside tutor, each with its module, and `unknown`, the places where
    something happened that no guard can compare, with the reason."""

    def __init__(self) -> None:
        self.codes: dict[int, tuple[types.CodeType, str]] = {}
        self.unknown: list[tuple[str, str]] = []
        self._ours: dict[int, types.CodeType] = {}
        self._begun: dict[int, types.FrameType] = {}  # generators of this call

    def __contains__(self, code: types.CodeType) -> bool:
        return id(code) in self.codes

    def update(self, other: Ran) -> None:
        self.codes.update(other.codes)

    def run(self, function: Callable[[], Any]) -> Any:
        """`function()`, observed. A profiler that is already set still gets its events."""
        for watcher in watchers():  # not part of the call
            if code := getattr(watcher, "__code__", None):
                self._ours[id(code)] = code
        before = sys.getprofile()
        if before is not None and not callable(before):
            self.unknown.append(("a profiler", "is at work, and Python tells one of them only"))
            return function()
        with uncollected():
            try:
                sys.setprofile(self._seen if before is None else self._both(before))
                return function()
            finally:
                sys.setprofile(before)
                self._begun.clear()

    def _both(self, other: Any) -> Any:
        def seen(frame: types.FrameType, event: str, arg: Any) -> None:
            self._seen(frame, event, arg)
            other(frame, event, arg)

        return seen

    def _seen(self, frame: types.FrameType, event: str, arg: Any) -> None:
        if event not in ("call", "c_call") or id(code := frame.f_code) in self._ours:
            return
        module = module_of(frame.f_globals)
        if is_ours(module) or code.co_filename.startswith(LAUNCHES):
            self._ours[id(code)] = code
        elif _of_a_device(frame):  # a device's driver: its kernels are recorded instead
            return
        elif (is_users(module) and code.co_filename[:10] != "<generated") or not _for_us(frame):
            self.codes[id(code)] = code, module
            if event == "c_call":
                if not is_pure(arg):
                    self._note(frame, f"calls {_name(arg)}, which may give something else")
            elif code.co_flags & (inspect.CO_GENERATOR | inspect.CO_COROUTINE):
                if id(frame) not in self._begun and frame.f_lasti > _beginning(code):
                    self._note(frame, "goes on with a generator that was begun before the call")
                self._begun[id(frame)] = frame

    def _note(self, frame: types.FrameType, reason: str) -> None:
        inside: types.FrameType | None = frame
        while inside is not None and not is_users(module_of(inside.f_globals)):
            inside = inside.f_back
        shown = inside or frame
        self.unknown.append((f"{shown.f_code.co_filename}:{shown.f_lineno}", reason))


@contextmanager
def uncollected() -> Iterator[None]:
    """Disables garbage collection: its finalizers are not part of a call, and searching all objects
    that a recording makes takes a fifth of its time."""
    collects = gc.isenabled()
    try:
        gc.disable()
        yield
    finally:
        if collects:
            gc.enable()


def unseen(function: Callable[..., Any], *args: Any) -> Any:
    """`function(*args)`, tutor's own code that calls no other: not observed by any Ran."""
    seen = sys.getprofile()
    if not isinstance(getattr(seen, "__self__", None), Ran):
        return function(*args)
    try:
        sys.setprofile(None)
        return function(*args)
    finally:
        sys.setprofile(seen)


def _for_us(frame: types.FrameType) -> bool:
    """Did tutor call the library that runs here?"""
    caller: types.FrameType | None = frame
    while caller is not None:
        module = module_of(caller.f_globals)
        generated = caller.f_code.co_filename[:10] == "<generated"
        if is_ours(module) or (is_users(module) and not generated):
            return is_ours(module)
        caller = caller.f_back
    return False


def _of_a_device(frame: types.FrameType) -> bool:
    """Is it a device's driver, called by tutor?"""
    caller: types.FrameType | None = frame
    while caller is not None and not is_ours(module := module_of(caller.f_globals)):
        caller = caller.f_back
    return caller is not None and module in DEVICES


@functools.cache
def _beginning(code: types.CodeType) -> int:
    """The offset of the first instruction from which a generator can resume."""
    return next((i.offset for i in dis.get_instructions(code) if i.opname == "RESUME"), 0)


def is_pure(function: Any) -> bool:
    """Does a built-in function always do the same, and change only its arguments?"""
    of = getattr(function, "__self__", None)
    if of is None or isinstance(of, types.ModuleType):
        module = str(getattr(function, "__module__", None) or "")
        return function in PURE or is_ours(module) or of_numpy(module)
    if isinstance(of, type):
        return issubclass(of, OF_ITSELF) or function.__name__ in MAKING or is_ours(of.__module__)
    kind = type(of)
    if kind in LOCKS:  # a `with` block leaves it as it was
        return function.__name__ in ("__enter__", "__exit__")
    return isinstance(of, OF_ITSELF) or is_ours(kind.__module__) or of_numpy(kind.__module__)


def of_numpy(module: str) -> bool:
    return module.partition(".")[0] == "numpy" and not module.startswith("numpy.random")


def _name(function: Any) -> str:
    of = getattr(function, "__self__", None)
    name = getattr(function, "__qualname__", repr(function))
    return f"{of.__name__}.{name}" if isinstance(of, types.ModuleType) else str(name)
