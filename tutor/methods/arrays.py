"""A Tensor's memory as an array of NumPy's, and in a capsule of DLPack's.

These are the methods `numpy`, `__array__`, `__dlpack__` and `from_dlpack` of a Tensor, loaded on
their first call: nothing here is part of computing with Tensors.
"""

from __future__ import annotations

from typing import Any

from tutor._storage import bounds_checks
from tutor._storage.device_memory import CPU
from tutor.backends import devices
from tutor.core.buffer import Buffer
from tutor.dtype import bfloat16
from tutor.errors import DomainError, DTypeError, MissingPackageError


def numpy(t: Any) -> Any:
    """A NumPy array over t's memory, or over a copy of what is on another device."""
    try:
        import numpy as np  # only callers that need arrays need NumPy
    except ModuleNotFoundError as error:
        if error.name != "numpy":
            raise
        raise MissingPackageError(
            "a NumPy array",
            "the package numpy is not installed",
            'pip install "tutorgrad[train]"; t.tolist() and memoryview(t.buf) do without',
        ) from None
    if not bounds_checks.is_here(t):
        bounds_checks.opened("a NumPy array over a Tensor's memory")
        return t.detach().cpu().numpy()
    raw = bounds_checks.read(t, "a NumPy array over a Tensor's memory", reading=False)
    if t.dtype is bfloat16:
        raise DTypeError(
            "a NumPy array of bfloat16",
            "NumPy has no such dtype",
            'use .cast("float32").numpy(), which changes no number',
        )
    size = t.dtype.itemsize
    steps = tuple(stride * size for stride in bounds_checks.steps(t))
    start = t.offset * size if t.numel() else 0
    return np.ndarray(t.shape, t.dtype.name, raw, start, steps)


def converted(t: Any, dtype: Any, copy: bool | None) -> Any:
    """That array, in another dtype, or copied."""
    array = numpy(t)
    if dtype is None or dtype == array.dtype:
        return array.copy() if copy else array
    if copy is False:
        raise DomainError(
            f"an array of {dtype} that shares memory (copy=False)",
            f"the memory holds {t.dtype.name}",
            "leave copy or dtype out",
        )
    return array.astype(dtype)


def capsule(x: Any, stream: Any, max_version: Any, dl_device: Any, copy: bool | None) -> Any:
    """A capsule over x's memory, or over a copy of it."""
    from tutor.methods import dlpack  # imports ctypes, which arrays of NumPy's do not need

    if x.requires_grad:
        raise dlpack.ExchangeError(
            "to share a Tensor that requires grad",
            "the other library's changes would not be in the graph",
            "use .detach(), or compute under no_grad()",
        )
    if stream is not None or dl_device not in (None, dlpack.CPU):
        raise dlpack.ExchangeError(
            f"a capsule with {stream=}, {dl_device=}",
            "all Tensors are on the CPU, where there are no streams",
            f"leave stream out, and dl_device out or {dlpack.CPU}",
        )
    if not bounds_checks.is_here(x):
        bounds_checks.opened("a DLPack capsule")
        if copy is False:
            raise dlpack.not_on_cpu(x.buf.device)
        return x.cpu().__dlpack__(max_version=max_version)
    bounds_checks.read(x, "a DLPack capsule", reading=False)
    copied = min(bounds_checks.steps(x), default=0) < 0 if copy is None else copy
    t = x.copy() if copied else x
    start = t.offset if t.numel() else 0
    walk = dlpack.DlpackOperand(t.buf.raw, t.dtype, t.shape, bounds_checks.steps(t), start)
    return dlpack.give(walk, max_version is not None and max_version[0] >= 1, copied)


def from_dlpack(cls: Any, x: Any, device: str | None, copy: bool | None) -> Any:
    """A Tensor over the memory of `x`, or over a copy of it."""
    from tutor.methods import dlpack

    place = CPU if device is None else devices.of(device)
    if place != CPU and copy is False:
        raise dlpack.not_on_cpu(place)
    if hasattr(x, "__dlpack_device__") and x.__dlpack_device__()[0] != dlpack.CPU[0]:
        raise dlpack.not_on_cpu(x.__dlpack_device__())
    if copy is not False:  # a PyTorch view may have a pending negation
        x = getattr(x, "resolve_neg", lambda: x)()
    elif getattr(x, "is_neg", bool)():
        raise dlpack.ExchangeError(
            "a Tensor over the memory of an array, with copy=False",
            "a view that is negated only when it is read",
            "leave copy out, or call its resolve_neg() first",
        )
    if hasattr(x, "__dlpack__"):
        try:
            x = x.__dlpack__(max_version=(1, 0))
        except TypeError:  # a producer that predates versions
            x = x.__dlpack__()
    memory, dtype, shape, strides, offset = dlpack.take(x)
    buf = Buffer.from_memory(memory, dtype=dtype, copy=False)
    t = cls(buf, shape, strides, offset)
    return t.copy() if copy and place == CPU else t.to(device=place)
