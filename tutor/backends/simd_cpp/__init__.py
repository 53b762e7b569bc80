"""The fast backend: C++ kernels, each compiled once per instruction-set level.

The best level of this CPU is used. `TUTOR_SIMD` forces one (`scalar`, `sse4`, `avx2`, `avx512`,
`neon`), `TUTOR_NUM_THREADS` sets the number of threads. Neither changes exact kernels' results. The
extension module `_simd` is optional: without it the backend is listed as unavailable.
"""

from __future__ import annotations

import importlib
import os
import sys
import zlib
from collections.abc import Callable
from importlib import machinery
from typing import Any

from tutor._util import interpreter, twins
from tutor._util.context_settings import Within
from tutor.backends import registry, signatures
from tutor.dtype import BY_NAME
from tutor.errors import KernelNotFound, TutorError

NAME = __name__ + "._simd"


def _extension() -> Any:
    interpreter.check()  # outside the main interpreter the import would hang
    try:
        module = importlib.import_module(NAME)
    except ModuleNotFoundError as error:  # any other ImportError is a broken build
        if error.name != NAME:
            raise
        return None
    _check_sources(module, "stub", _stub())
    _check_sources(module, "signatures", signatures.version())
    return module if interpreter.has_lock() else None


def _check_sources(module: Any, name: str, here: int | None) -> None:
    """TutorError unless the extension was built from these sources: its number must be `here`."""
    if here is not None and getattr(module, name, None) != here:
        raise TutorError(
            "to import tutor",
            "its extension was built from older sources than these",
            "build it again: pip install -e .",
        )


def _stub() -> int | None:
    """The checksum of the extension's stub file; None if there is no such file."""
    try:
        with open(os.path.join(os.path.dirname(__file__), "_simd.pyi"), "rb") as file:
            return zlib.crc32(file.read())
    except OSError:  # in an archive, or distributed without stubs
        return None


def _missing() -> tuple[str, str]:
    """Why the extension is missing, and how to get it."""
    if not interpreter.has_lock():
        return (
            "Python runs without its lock (the GIL), which its extension needs",
            "leave out PYTHON_GIL=0 and -X gil=0: Python then turns the lock on by itself",
        )
    here = os.path.abspath(__file__)
    for _ in (*PLACE, "__init__.py"):
        here = os.path.dirname(here)
    for folder in map(os.path.abspath, sys.path):
        other = os.path.join(folder, *PLACE)
        built = [os.path.join(other, "_simd" + end) for end in machinery.EXTENSION_SUFFIXES]
        whole = os.path.exists(os.path.join(other, "__init__.py"))  # an editable install lacks it
        if folder != here and whole and any(map(os.path.exists, built)):
            return (
                f"this is the tutor of {here}, without its extension; the one installed in {folder}"
                " has it, but stands behind in sys.path, as it does for python -m in a source tree",
                f"run pip install -e {here}, or set PYTHONSAFEPATH=1 to use the installed one",
            )
    return NOT_BUILT


PLACE = ("tutor", "backends", "simd_cpp")
NOT_BUILT = (
    "its extension was not built",
    "install a C++ compiler (Debian, Ubuntu: apt install g++), then run pip install -e .",
)
_native = twins.extension = _extension()
FOUND, REMEDY = NOT_BUILT if _native else _missing()


def _module() -> Any:
    if _native is None:
        raise KernelNotFound("the backend 'simd_cpp'", FOUND, REMEDY)
    return _native


def _of_engine(engine: Any, apply: Callable[..., Any]) -> Any:
    """Install the C++ twins of `apply` and of the Engine's methods; returns that of `apply`. They
    do the same faster, and call the originals in doubtful cases."""
    methods = ("run", "order", "arrivals", "store", "write", "check_writable")
    _native.stand_for(apply, *[getattr(engine, name) for name in methods])
    for name in methods:
        setattr(engine, name, getattr(_native, name))
    return _native.apply


if _native is not None and os.environ.get("TUTOR_NATIVE") != "0":
    twins.of_engine, twins.change = _of_engine, _native.change
    Within.__enter__ = _native.enter  # type: ignore[method-assign]
    Within.__exit__ = _native.leave  # type: ignore[method-assign]


def is_native(kernel: registry.Kernel) -> bool:
    """Is this one of the extension's kernels, which run no Python?"""
    return _native is not None and isinstance(kernel, _native.Kernel)


def take_over(things: dict[str, Any]) -> None:
    """Pass the twins the objects they work with: tutor/ops/native.py."""
    if _native is not None:
        _native.take_over(things)


def use_twins(on: bool) -> None:
    """With False, use the Engine in Python for everything: it shows what the twins skip."""
    if _native is not None:
        _native.use_twin(on)


def caller(*spec: Any) -> Any:
    """A callable that repeats a recorded call without Python; None without twins."""
    if _native is None or os.environ.get("TUTOR_NATIVE") == "0":
        return None
    return _native.Caller(*spec)


def shortcut() -> Any:
    """The class that a jitted function's call tries first (replay/shortcut.cpp); None without
    twins."""
    if _native is None or os.environ.get("TUTOR_NATIVE") == "0":
        return None
    return _native.Shortcut


def guards() -> Any:
    """An object that quickly checks whether anything has changed (replay/guards.cpp); None without
    twins."""
    if _native is None or os.environ.get("TUTOR_NATIVE") == "0":
        return None
    return _native.Guards()


def plan(slots: list[Any], steps: list[Any], arena_bytes: int) -> Any:
    """A Plan of the extension (_simd.pyi): many kernel calls in one. None without the extension,
    with `TUTOR_NATIVE=0`, or if a kernel is another backend's."""
    if _native is None or os.environ.get("TUTOR_NATIVE") == "0":
        return None
    if not all([isinstance(kernel, _native.Kernel) for kernel, _, _ in steps]):
        return None
    return _native.Plan(slots, steps, arena_bytes)


def levels() -> list[str]:
    """The levels this CPU can run, the best one last."""
    found: list[str] = _module().levels()
    return found


def level() -> str:
    """The level in use: TUTOR_SIMD, else the best. KernelNotFound if this CPU lacks it."""
    wanted, have = os.environ.get("TUTOR_SIMD"), levels()
    if wanted and wanted not in have:
        raise KernelNotFound(
            f"level {wanted!r} of the backend 'simd_cpp', by TUTOR_SIMD",
            f"this build on this CPU has the levels {', '.join(have)}",
            "set TUTOR_SIMD to one of those, or unset it to get the best",
        )
    return wanted or have[-1]


def table(level: str) -> registry.Table:
    """The kernels of one level; a test can run every level in one process."""
    rows = _module().kernels(level).items()
    return {(name, BY_NAME[dtype]): kernel for (name, dtype), kernel in rows if "." not in name}


def variants(level: str) -> dict[str, registry.Kernel]:
    """The stages from the definition of a kernel to the one in use, for float32: `sum.naive` to
    `sum.threaded` and `matmul.naive` to `matmul.threaded`. kernels/sum_steps.hpp and
    kernels/matmul_steps.hpp explain each stage.
    """
    return {name: kernel for (name, _), kernel in _module().kernels(level).items() if "." in name}


def num_threads() -> int:
    """The number of threads that the kernels may use, including the calling one."""
    return int(_module().num_threads())


def set_num_threads(count: int) -> None:
    """Set the number of threads for the kernels. No result depends on it."""
    _module().set_num_threads(count)


def _load() -> registry.Table:
    threads = os.environ.get("TUTOR_NUM_THREADS")
    if threads and not (threads.isdecimal() and int(threads) > 0):
        raise TutorError(
            f"TUTOR_NUM_THREADS={threads!r}",
            "that is no number of threads",
            "set it to 1 or more, or unset it to use every CPU this process may run on",
        )
    return table(level())


if _native is None:
    registry.register_unavailable("simd_cpp", f"{REMEDY} ({FOUND})")
else:
    registry.register_loader("simd_cpp", _load)
