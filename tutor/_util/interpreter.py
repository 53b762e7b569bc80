"""Which interpreter this is: tutor works only in the main interpreter of a process.

The C++ extension and DLPack's callbacks take the GIL with `PyGILState_Ensure`, which knows only the
main interpreter and deadlocks in any other. So `import tutor` raises an error there.

The extension also relies on the GIL: nothing else protects its memory pool and its caches about
ops. A free-threaded Python (such as `python3.14t`) enables the GIL for such an extension and warns
about it, unless told otherwise.
"""

from __future__ import annotations

import sys

from tutor.errors import InterpreterError


def number() -> int:
    """The interpreter's ID: 0 for the main one, -1 for one whose ID is unavailable, because Python
    3.12 cannot load ctypes there."""
    try:
        import ctypes
    except ModuleNotFoundError:  # a Python built without ctypes
        raise
    except ImportError:
        return -1
    python = ctypes.pythonapi
    this, number_of = python.PyInterpreterState_Get, python.PyInterpreterState_GetID
    this.restype, number_of.restype = ctypes.c_void_p, ctypes.c_int64
    number_of.argtypes = (ctypes.c_void_p,)
    return int(number_of(this()))


def check() -> None:
    """Raise InterpreterError, an ImportError, unless this is the main interpreter."""
    if (found := number()) != 0:
        raise InterpreterError(
            "to import tutor",
            f"this is interpreter {found} of the process, and tutor works in the main one alone"
            if found > 0
            else "this is not the main interpreter of the process, where alone tutor works",
            "import it in the main interpreter, and use threads or processes (multiprocessing)",
        )


def has_lock() -> bool:
    """Is the GIL enabled? The extension may only be used if it is."""
    return bool(getattr(sys, "_is_gil_enabled", lambda: True)())
