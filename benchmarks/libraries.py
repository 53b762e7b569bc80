"""What is measured beside tutor, where it is installed, and one memory that all of them look at.

NumPy and PyTorch are optional: one that is missing has an empty column. Both read how many threads
to use when they are loaded, so `use_threads` must be called before this module is imported.
"""

from __future__ import annotations

import functools
import importlib
import platform
from collections.abc import Callable
from typing import Any

import tutor
from tutor import Tensor
from tutor.backends import simd_cpp
from tutor.dtype import DType, bfloat16

NAMES = ("tutor", "numpy", "torch")
ALSO = {"eager": "tutor"}  # who is measured beside these, and is one of them
WAYS = {"channels_last": "torch"}  # another way to use a library: its better one counts


def _optional(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


numpy, torch = _optional("numpy"), _optional("torch")
modules = {"tutor": tutor, "numpy": numpy, "torch": torch}


def circumstances() -> dict[str, str | None]:
    """Versions of everything, and the backend and instruction set in use."""
    simd = tutor.registry.current() == "simd_cpp"
    return {
        "python": platform.python_version(),
        **{name: getattr(modules[name], "__version__", None) for name in NAMES},
        "backend": tutor.registry.current(),
        "level": simd_cpp.level() if simd else None,
    }


def limit_threads(count: int) -> None:
    """What can be told after loading; NumPy's BLAS has read OPENBLAS_NUM_THREADS by now."""
    if tutor.registry.current() == "simd_cpp":
        simd_cpp.set_num_threads(count)
    if torch is not None:
        torch.set_num_threads(count)


def views(x: Tensor) -> dict[str, Any]:
    """The same memory as each library sees it: equal numbers, equal pages, equal alignment."""
    seen: dict[str, Any] = {"tutor": x}
    if numpy is not None and x.dtype is not bfloat16:  # NumPy has no such dtype
        seen["numpy"] = x.numpy()
    if torch is not None:
        seen["torch"] = torch.from_dlpack(x)
    return seen


def view(name: str, x: Tensor) -> Any:
    """The same memory as `name` sees it, a library or one of its WAYS. Images in channels_last are
    a copy: a program makes it once, before it begins."""
    seen = views(x)[ALSO.get(name) or WAYS.get(name) or name]
    if name == "channels_last" and len(x.shape) == 4:
        return seen.contiguous(memory_format=torch.channels_last)
    return seen


Run = Callable[[], Any]
Functions = dict[str, Callable[..., Any]]


def alike(f: Callable[..., Any]) -> Functions:
    """For what is written the same in all three, as `x + y` is."""
    return dict.fromkeys(NAMES, f)


def runs(functions: Functions, *operands: Tensor) -> dict[str, Run]:
    """f(*operands) for every library that is here, ready to be called again and again.

    All three are called through the same kind of object, so that costs the same for all.
    """
    seen = [views(x) for x in operands]
    return {
        name: functools.partial(f, *(s[name] for s in seen))
        for name, f in functions.items()
        if modules[name] is not None and all(name in s for s in seen)
    }


def operand(*shape: int, dtype: DType | str = "float32") -> Tensor:
    """Floats from -0.5 to 1.5: both signs, and sums that do not cancel. Integers from 0 to 9."""
    dtype = tutor.dtype.of(dtype)
    x = tutor.rand(*shape)
    if dtype.is_float:
        return (x * 2 - 0.5).cast(dtype)
    return x > 0.5 if dtype.kind == "bool" else (x * 10).cast(dtype)


def touched(*tensors: Tensor) -> int:
    """Bytes that must be read or written: an axis that is only stretched (stride 0) has one row."""
    total = 0
    for t in tensors:
        size = t.dtype.itemsize
        for n, stride in zip(t.shape, t.strides, strict=True):
            size *= n if stride else 1
        total += size
    return total
