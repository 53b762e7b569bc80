"""The registry: the arrow from an Op to the kernel that executes it.

A backend is a table `{(kernel name, dtype): kernel}` for the memory of one device. `lookup` is the
only place where a kernel is chosen, by name, dtype and device, and it never falls back in silence:
what is missing raises `KernelNotFound`. What it finds is called by `emit` in step.py, which says
who else may call it where nobody watches.

    TUTOR_BACKEND=simd python train.py      # for a whole process
    with tutor.use_backend("python"): ...   # for a block, or as a decorator for a function
    tutor.set_backend("python")             # from here on

The last two hold for the thread (and the asyncio task) that says so; a new thread starts with the
process's own, whatever others have chosen. They are about memory of the host: for that of a device
there are the device's own kernels, whatever backend is in use (tutor/backends/devices.py).

Other packages add backends through the entry-point group `tutor.backends`: a function that returns
such a table.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple

from tutor._util.context_settings import Block, Setting, Within
from tutor._util.keyword_aliases import spelled
from tutor.backends.matrix_signatures import MATRICES
from tutor.backends.signatures import SIGNATURES, Signature
from tutor.dtype import DType, bool_
from tutor.errors import DTypeError, KernelNotFound

Kernel = Callable[..., None]
Table = Mapping[tuple[str, DType], Kernel]
DEVICE = "cpu"  # the host


class Operand(NamedTuple):
    """What a kernel is handed: memory and how to walk it. A Tensor has the same four, and more."""

    buf: Any
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int


ALIASES = {"python": "python_ref", "simd": "simd_cpp"}

_tables: dict[str, Table] = {}
_devices: dict[str, str] = {}  # backend -> the device whose memory it works on
_loaders: dict[str, Callable[[], Table]] = {}
_more: dict[str, list[Callable[[], Table]]] = {}  # rows that others bring for a backend
_everywhere: dict[str, Kernel] = {}  # kernels that work on the memory of any device
_brings: list[tuple[Callable[[str], Table], Callable[[], Collection[str]]]] = []  # of devices
_unavailable: dict[str, str] = {}  # built-in backends that could not be loaded: name -> what to do
_kernels: dict[tuple[str, str, DType, str], Kernel] = {}  # what lookup has found so far


class Backend:
    """A backend in use: its name, and what has been looked up of it so far."""

    __slots__ = ("kernels", "name")

    def __init__(self, name: str | None) -> None:
        self.name = name
        self.kernels: dict[tuple[str, DType, str], Kernel] = {}


class _Held(Block[Backend]):
    """A `with use_backend(...)` block: it looks like the backend in force."""

    __slots__ = ()

    @property
    def kernels(self) -> dict[tuple[str, DType, str], Kernel]:
        return _setting.get().kernels


_default = Backend(None)  # the process's own; it gets its name when it is first asked for
_chosen: dict[str, Backend] = {}
_setting = Setting("tutor.backend", _default, _Held)
variable = _setting.variable
in_use: Callable[[], Any] = variable.get  # in every call of an op: no Python is run here


def register(name: str, table: Table, device: str = DEVICE) -> None:
    """Add the backend `name`, or replace it, for memory of that device. Rows that no signature
    names are refused."""
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
    """Add a kernel that all backends have, for the memory of any device."""
    _everywhere[name] = kernel


def devices_bring(table: Callable[[str], Table], kinds: Callable[[], Collection[str]]) -> None:
    """`table(device)` gives the kernels for the memory of a device, when it is first asked for;
    `kinds()` are the kinds of devices."""
    _brings[:] = [(table, kinds)]


def forget_devices(kind: str) -> None:
    """Let go of the tables of that kind of device."""
    for name in [name for name, device in _devices.items() if device.startswith(f"{kind}:")]:
        del _tables[name], _devices[name]
    _forget()


def backend_of(device: str) -> str:
    """The backend whose kernels work on the memory of that device: the one in use, on the host;
    else the device's own, by its kind, or by its name if it is not the first one of its kind."""
    if device == DEVICE:
        return current()
    name = device.removesuffix(":0")
    if _devices.get(name) != device:
        register(name, _brings[0][0](device), device)
    return name


def register_loader(name: str, loader: Callable[[], Table]) -> None:
    """Add a backend whose table is made by `loader()` when it is first asked for."""
    _loaders[name] = loader


def extend(name: str, loader: Callable[[], Table]) -> None:
    """Add rows to the backend `name`, made by `loader()` when a kernel is asked for that its own
    table has not."""
    _more.setdefault(name, []).append(loader)
    _forget()


def register_unavailable(name: str, remedy: str) -> None:
    """Remember why a built-in backend is not there, for the error that somebody will read."""
    _unavailable[name] = remedy


def _entry_points() -> dict[str, Callable[[], Table]]:
    from importlib import metadata  # it takes 30 ms, and few programs need it

    def loader(point: metadata.EntryPoint) -> Callable[[], Table]:
        return lambda: point.load()()

    return {p.name: loader(p) for p in metadata.entry_points(group="tutor.backends")}


def backends() -> list[str]:
    """Names of all backends that can be used here: for the host's memory, as use_backend takes
    them. A device brings its own: tutor/backends/devices.py."""
    names = {*_tables, *_loaders, *_entry_points()}
    return sorted(name for name in names if _devices.get(name, DEVICE) == DEVICE)


def table(name: str) -> Table:
    """The kernel table of a backend, loaded if need be. KernelNotFound if there is none."""
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
    """Is it the kind of a device, or the name of one?"""
    return bool(_brings) and name.partition(":")[0] in _brings[0][1]()


def current() -> str:
    """The backend in use here: `use_backend`'s, else TUTOR_BACKEND's, else the fastest there is."""
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
    """Use that backend from here on, in this thread or task; within a block, until it ends."""
    _setting.set(_choice(name))


class use_backend(Within[Backend]):  # noqa: N801 - read as a verb: with use_backend("simd")
    """Use a backend for a `with` block, or for a decorated function. KernelNotFound: no such."""

    used = True  # until it is known to be a backend

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


def kernel(name: str, dtype: DType, device: str = DEVICE) -> Kernel:
    """`lookup` on the backend in use, which remembers it; for memory of another device than the
    host on that device's own."""
    kernels: dict[tuple[str, DType, str], Kernel] = in_use().kernels
    found = kernels.get((name, dtype, device))
    if found is None:
        found = lookup(name, backend_of(device), dtype, device)
        kernels[name, dtype, device] = found  # see _forget
    return found


def _forget() -> None:
    """Let go of all that has been looked up: what is found now may be another. By new dicts: who
    has kept an old one notices, and a thread that has looked up in the tables of before, and only
    now writes what it found, writes it where nobody looks any more."""
    global _kernels
    _kernels = {}
    for backend in (_default, *_chosen.values()):
        backend.kernels = {}


def lookup(kernel: str, backend: str, dtype: DType, device: str = DEVICE) -> Kernel:
    """The kernel of that name for that dtype and device, on that backend. DTypeError where
    signatures.py has no such dtype, KernelNotFound where this backend has no such kernel, or works
    on another device; all of them list what there is."""
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
    signature = SIGNATURES.get(kernel) or MATRICES.get(kernel)
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
            if device == DEVICE
            else "cast the operands to a dtype that is there, or move them to the host:"
            ' x.to("cpu")',
        )
    kernels[kernel, backend, dtype, device] = found
    return found


def _brought(backend: str, kernel: str, dtype: DType) -> Kernel | None:
    """The kernel among the rows that others have brought for that backend."""
    for loader in _more.get(ALIASES.get(backend, backend), ()) if kernel in MATRICES else ():
        if found := loader().get((kernel, dtype)):
            return found
    return None


def _no_such_dtype(signature: Signature, dtype: DType) -> DTypeError:
    kernel, last = signature.name, signature.dtypes[-1]
    if not any(d.is_float for d in signature.dtypes):  # kernels on bits, which floats do not have
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
    """A printable table: each kernel with its formula and, per backend, how many dtypes it has."""
    names = backends()
    lines = [f"{'kernel':<20}" + "".join(f"{name:>14}" for name in names) + "  formula"]
    for signature in SIGNATURES.values():
        counts = [sum((signature.name, d) in table(b) for d in signature.dtypes) for b in names]
        cells = "".join(f"{f'{n} of {len(signature.dtypes)}':>14}" for n in counts)
        lines.append(f"{signature.name:<20}{cells}  {signature.formula}")
    return "\n".join(lines)
