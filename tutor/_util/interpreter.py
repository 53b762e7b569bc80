"""Which interpreter this is: tutor works in a process's main one alone.

The kernels' extension and the callbacks of DLPack take Python's lock by `PyGILState_Ensure`, which
knows the main interpreter only; in another one it waits for ever. So `import tutor` refuses there.

The extension also counts on that lock: blocks of memory that wait to be used again, and what it
has learned of ops, are guarded by nothing else. Python without it (a free-threaded build, such as
`python3.14t`) turns it on for such an extension, and warns of that, unless it is told not to.
"""

from __future__ import annotations

import sys

from tutor.errors import InterpreterError


def number() -> int:
    """0 is the main interpreter; -1 another one, where not even this can be asked: Python 3.12 does
    not load ctypes there."""
    try:
        import ctypes
    except ModuleNotFoundError:  # a Python that was built without it
        raise
    except ImportError:
        return -1
    python = ctypes.pythonapi
    this, number_of = python.PyInterpreterState_Get, python.PyInterpreterState_GetID
    this.restype, number_of.restype = ctypes.c_void_p, ctypes.c_int64
    number_of.argtypes = (ctypes.c_void_p,)
    return int(number_of(this()))


def check() -> None:
    """Raise InterpreterError, an ImportError, in any but the main interpreter."""
    if (found := number()) != 0:
        raise InterpreterError(
            "to import tutor",
            f"this is interpreter {found} of the process, and tutor works in the main one alone"
            if found > 0
            else "this is not the main interpreter of the process, where alone tutor works",
            "import it in the main interpreter, and use threads or processes (multiprocessing)",
        )


def has_lock() -> bool:
    """Does one thread at a time run Python here? Only then may the extension be used."""
    return bool(getattr(sys, "_is_gil_enabled", lambda: True)())
