"""The registry: from an Op to the kernel that executes it.

A backend is a table `{(kernel name, dtype): kernel}` for the memory of one device. `lookup` is the
only place where a kernel is chosen, by name, dtype and device. It never falls back silently: a
missing kernel raises `KernelNotFound`. `emit` in step.py calls the kernel, and lists the other
callers that are allowed while no observer watches.

    TUTOR_BACKEND=simd python train.py      # for a whole process
    with tutor.use_backend("python"): ...   # for a block, or as a decorator for a function
    tutor.set_backend("python")             # from here on

The last two apply to the current thread or asyncio task; a new thread starts with the process's
backend, whatever other threads have chosen. They concern host memory: memory on a device uses the
device's own kernels, whatever backend is in use (tutor/backends/devices.py).

Other packages add backends through the entry-point group `tutor.backends`: a function that returns
such a table.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from tutor._storage.device_memory import CPU, devices
from tutor._util.context_settings import Block, Setting, Within
from tutor._util.keyword_aliases import spelled
from tutor.backends.signatures import OTHERS, SIGNATURES, Signature
from tutor.dtype import DType, bool_
from tutor.errors import DTypeError, KernelNotFound

Kernel = Callable[..., None]
Table = Mapping[tuple[str, DType], Kernel]


class Operand(NamedTuple):
    """A kernel's operand: memory and its layout. A Tensor has the same four fields, and more."""

    buf: Any
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int


ALIASES = {"python": "python_ref", "simd": "simd_cpp"}

_tables: dict[str, Table] = {}
_devices: dict[str, str] = {}  # backend -> the device whose memory it works on
_loaders: dict[str, Callable[[], Table]] = {}
_more: dict[str, list[Callable[[], Table]]] = {}  # rows that other code adds to a backend
_everywhere: dict[str, Kernel] = {}  # kernels that work on the memory of any device
_unavailable: dict[str, str] = {}  # built-in backends that could not be loaded: name -> what to do
_kernels: dict[tuple[str, str, DType, str], Kernel] = {}  # the cache of lookup


class Backend:
    """A backend in use: its name, and its cache of kernels."""

    __slots__ = ("kernels", "name")

    def __init__(self, name: str | None) -> None:
        self.name = name
        self.kernels: dict[tuple[str, DType, str], Kernel] = {}


class _Held(Block[Backend]):
    """A `with use_backend(...)` block; its `kernels` are those of the backend in force."""

    __slots__ = ()

    @property
    def kernels(self) -> dict[tuple[str, DType, str], Kernel]:
        return _setting.get().kernels


_default = Backend(None)  # the process's own; named on first use
_chosen: dict[str, Backend] = {}
_setting = Setting("tutor.backend", _default, block=_Held)
variable = _setting.variable
in_use: Callable[[], Any] = variable.get  # called for every op, so it runs no Python code


def register(name: str, table: Table, device: str = CPU) -> None:
    """Add or replace the backend `name` for memory of that device. KernelNotFound if a row has no
    signature in signatures.py."""
    unknown = sorted({kernel for kernel, _ in table} - set(SIGNATURES))
    if unknown:
        raise KernelNotFound(
            f"to register backend {name!r}",
            f"it has kernels that signatures.py does not list: {', '.join(unknown)}",
            "add a line to tutor/backends/signatures.py first, or rename the kernel",
        )
    _tables[name], _devices[name] = table, device
    _forget()


def register_everywhere(name: str, kernel: Kernel) -> None:
    """Add a kernel to all backends, for the memory of any device."""
    _everywhere[name] = kernel


def forget_devices(kind: str) -> None:
    """Drop the tables of that kind of device."""
    for name in [name for name, device in _devices.items() if device.startswith(f"{kind}:")]:
        del _tables[name], _devices[name]
    _forget()


def backend_of(device: str) -> str:
    """The backend whose kernels work on that device's memory. On the host, the one in use; else the
    device's own, named by its kind, or by its full name if it is not the first of its kind."""
    if device == CPU:
        return current()
    name = device.removesuffix(":0")
    if _devices.get(name) != device:
        register(name, devices.table(device), device)
    return name


def register_loader(name: str, loader: Callable[[], Table]) -> None:
    """Add a backend whose table is created by `loader()` on first use."""
    _loaders[name] = loader


def extend(name: str, loader: Callable[[], Table]) -> None:
    """Add rows to the backend `name`: `loader()` is called when a lookup finds no kernel in the
    backend's own table."""
    _more.setdefault(name, []).append(loader)
    _forget()


def register_unavailable(name: str, remedy: str) -> None:
    """Remember the remedy for a missing built-in backend, for the error message."""
    _unavailable[name] = remedy


def _entry_points() -> dict[str, Callable[[], Table]]:
    from importlib import metadata  # takes 30 ms, and few programs need it

    def loader(point: metadata.EntryPoint) -> Callable[[], Table]:
        return lambda: point.load()()

    return {p.name: loader(p) for p in metadata.entry_points(group="tutor.backends")}


def backends() -> list[str]:
    """The names of all backends available here for host memory, as use_backend accepts them.
    Devices have backends of their own: tutor/backends/devices.py."""
    names = {*_tables, *_loaders, *_entry_points()}
    return sorted(name for name in names if _devices.get(name, CPU) == CPU)


def table(name: str) -> Table:
    """The kernel table of a backend, loaded if necessary. KernelNotFound if there is none."""
    name = ALIASES.get(name, name)
    if name not in _tables:
        loader = _loaders.get(name) or _entry_points().get(name)
        if loader is None and _is_device(name):
            backend_of(name if ":" in name else f"{name}:0")
            return _tables[name]
        if loader is None:
            raise KernelNotFound(
                f"backend {name!r}",
                f"the backends here are {', '.join(backends())}",
                _unavailable.get(name, "use one of those, or install the package that brings it"),
            )
        register(name, loader())
    return _tables[name]


def _is_device(name: str) -> bool:
    """Is `name` a device, or a kind of device?"""
    return name.partition(":")[0] in devices.kinds()


def current() -> str:
    """The backend in use here: from `use_backend`, else TUTOR_BACKEND, else the fastest one."""
    backend = _setting.get()
    if backend.name is None:
        wanted = os.environ.get("TUTOR_BACKEND")
        built = "simd_cpp" in _tables or "simd_cpp" in _loaders
        backend.name = _checked(wanted or ("simd_cpp" if built else "python_ref"))
    return backend.name


def _checked(name: str) -> str:
    if not isinstance(name, str):
        raise KernelNotFound(
            f"backend {name!r:.60}",
            f"{type(name).__name__} is no name",
            f"give one of {', '.join(map(repr, backends()))}",
        )
    table(name)
    return ALIASES.get(name, name)


def _choice(name: str) -> Backend:
    name = _checked(name)
    return _chosen.setdefault(name, Backend(name))


@spelled
def set_backend(name: str) -> None:
    """Use a backend from here on, in this thread or task; inside a block, until it ends."""
    _setting.set(_choice(name))


class use_backend(Within[Backend]):  # noqa: N801 - read as a verb: with use_backend("simd")
    """Use a backend for a `with` block, or a decorated function. KernelNotFound if unknown."""

    used = True  # until the name has been checked

    def __init__(self, name: str) -> None:
        super().__init__(_setting, _choice(name))
        self.used = False

    def block(self) -> Block[Backend]:
        self.used = True
        return super().block()

    def __call__(self, function: Any) -> Any:
        self.used = True
        return super().__call__(function)

    def __del__(self) -> None:
        if not self.used:
            name = self.value.name
            warnings.warn(
                f"use_backend({name!r}) was not entered, so it changed nothing; write"
                f" `with use_backend({name!r}):` for a block, or set_backend({name!r})",
                stacklevel=2,
            )


def kernel(name: str, dtype: DType, device: str = CPU) -> Kernel:
    """`lookup`, cached, on the backend in use for host memory, or on the device's own backend for
    memory on another device."""
    kernels: dict[tuple[str, DType, str], Kernel] = in_use().kernels
    found = kernels.get((name, dtype, device))
    if found is None:
        found = lookup(name, backend_of(device), dtype, device)
        kernels[name, dtype, device] = found  # see _forget
    return found


def _forget() -> None:
    """Clear all caches, since lookups may now find other kernels. The dicts are replaced, not
    emptied: code that has kept an old one notices, and a thread that looked up in the old tables
    and only now stores its result stores it in a dict that is no longer read."""
    global _kernels
    _kernels = {}
    for backend in (_default, *_chosen.values()):
        backend.kernels = {}


def lookup(kernel: str, backend: str, dtype: DType, device: str = CPU) -> Kernel:
    """The kernel of that name for that dtype and device, on that backend. DTypeError if its
    signature excludes the dtype; KernelNotFound if the backend lacks the kernel or works on another
    device. The errors list the alternatives."""
    found = _kernels.get((kernel, backend, dtype, device))
    return found or _find(kernel, backend, dtype, device)


def _find(kernel: str, backend: str, dtype: DType, device: str) -> Kernel:
    if kernel in _everywhere:
        return _everywhere[kernel]
    kernels = _kernels  # before the table is read: see _forget
    rows = table(backend)
    if _devices[ALIASES.get(backend, backend)] != device:
        raise KernelNotFound(
            f"kernel {kernel!r} for memory of the device {device!r} on backend {backend!r}",
            f"{backend} works on memory of {_devices[ALIASES.get(backend, backend)]!r}",
            "move the operands there, or choose another backend: with tutor.use_backend(...):",
        )
    found = rows.get((kernel, dtype)) or _brought(backend, kernel, dtype)
    signature = SIGNATURES.get(kernel) or OTHERS.get(kernel)
    if found is None and signature is not None and dtype not in signature.dtypes:
        raise _no_such_dtype(signature, dtype)
    if found is None:
        dtypes = [d.name for name, d in rows if name == kernel]
        others = [
            b for b in backends() if (kernel, dtype) in table(b) or _brought(b, kernel, dtype)
        ]
        have = f"{backend} has {kernel!r} for {', '.join(dtypes) or 'no dtype at all'}"
        raise KernelNotFound(
            f"kernel {kernel!r} for {dtype.name} on backend {backend!r}",
            f"{have}; {dtype.name} is there on: {', '.join(others) or 'no backend'}",
            "cast the operands to a dtype that is there, or choose another backend:"
            " with tutor.use_backend(...):"
            if device == CPU
            else "cast the operands to a dtype that is there, or move them to the host:"
            ' x.to("cpu")',
        )
    kernels[kernel, backend, dtype, device] = found
    return found


def _brought(backend: str, kernel: str, dtype: DType) -> Kernel | None:
    """The kernel among the rows added to that backend by `extend`."""
    for loader in _more.get(ALIASES.get(backend, backend), ()) if kernel in OTHERS else ():
        if found := loader().get((kernel, dtype)):
            return found
    return None


def _no_such_dtype(signature: Signature, dtype: DType) -> DTypeError:
    kernel, last = signature.name, signature.dtypes[-1]
    if not any(d.is_float for d in signature.dtypes):  # bitwise kernels, which exclude floats
        bools = bool_ in signature.dtypes
        return DTypeError(
            f"{kernel} of {dtype.name}",
            f"it is for integers{' and bools' if bools else ''}",
            "compare first (x > 0), use logical_and and its like, or .cast() to an integer dtype",
        )
    also = " (of bools, ~x is not, x ^ y is where they differ)" if dtype is bool_ else ""
    return DTypeError(
        f"{kernel} of {dtype.name}",
        f"there is {kernel} of {', '.join(d.name for d in signature.dtypes)} only",
        f"cast to one of those first, for example .cast({last.name!r}){also}",
    )


def report() -> str:
    """A printable table: each kernel's formula and its number of dtypes per backend."""
    names = backends()
    lines = [f"{'kernel':<20}" + "".join(f"{name:>14}" for name in names) + "  formula"]
    for signature in SIGNATURES.values():
        counts = [sum((signature.name, d) in table(b) for d in signature.dtypes) for b in names]
        cells = "".join(f"{f'{n} of {len(signature.dtypes)}':>14}" for n in counts)
        lines.append(f"{signature.name:<20}{cells}  {signature.formula}")
    return "\n".join(lines)
