"""Devices: places for memory besides the host.

    x = Tensor([1.0, 2.0], device="opencl")     # "opencl:0", the first one of that kind
    with tutor.device("opencl:1"): ...          # the block creates new tensors there
    TUTOR_DEVICE=opencl python train.py         # in the whole process
    tutor.set_default_device("opencl")          # from here on, in this thread or task

A device has a name, `kind:index`; "cpu" is the host. A result is on the device of its operands, so
the default matters only to functions that create tensors from scratch. A kind is an object with the
methods of `Device`. Other packages add one through the entry-point group `tutor.devices`: the name
of the kind, and the object.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from functools import partial
from typing import Any, NoReturn, Protocol

from tutor._storage import bounds_checks, layout
from tutor._storage.array_like import is_tensor
from tutor._storage.device_memory import CPU, asked, failed, passes, said
from tutor._storage.memory import empty as empty  # also a name of tutor.devices
from tutor._storage.memory import held
from tutor._util.context_settings import Setting, Within
from tutor._util.keyword_aliases import spelled
from tutor._util.typing import DeviceLike, Walked
from tutor.backends import registry
from tutor.backends.registry import Kernel
from tutor.dtype import DType
from tutor.errors import DeviceError, TutorError


class Device(Protocol):
    """All devices of one kind, addressed by index."""

    kind: str

    def count(self) -> int:
        """The number of devices."""

    def name(self, index: int) -> str:
        """The manufacturer's name for it."""

    def empty(self, count: int, dtype: DType, index: int) -> Any:
        """Memory for `count` numbers, contents undefined: tutor/_storage/memory.py. If there is no
        room, MemoryError or a more specific OutOfMemoryError."""

    def table(self, index: int) -> registry.Table:
        """Its kernels. Their operands are in its memory, except that a single number may be in host
        memory, and is then passed by value. Kernels may return before their work is done."""

    def synchronize(self, index: int) -> None:
        """Wait until all queued work is done."""

    # noting(index): an optional method. It starts recording the kernel calls of a Program's first
    # run, to repeat them in later runs: opencl/capture.py


IN_USE: dict[str, Device] = {}  # by kind: empty until a device other than the CPU is used
_loaders: dict[str, Callable[[], Device]] = {}
_found: dict[Any, str] = {CPU: CPU}  # cache of `of`: existing devices by given name


def _forget() -> None:
    for name in [name for name, found in _found.items() if found != CPU]:
        del _found[name]


def register(device: Device) -> None:
    """Add or replace a kind of device."""
    IN_USE[device.kind] = device
    registry.forget_devices(device.kind)
    _forget()


def unregister(kind: str) -> None:
    """Remove a kind of device. Its tensors remain there, but can no longer be computed with."""
    IN_USE.pop(kind, None)
    registry.forget_devices(kind)
    _forget()


def register_loader(kind: str, loader: Callable[[], Device]) -> None:
    """Add a kind of device that `loader()` creates on first use."""
    _loaders[kind] = loader


def _entry_points() -> dict[str, Callable[[], Device]]:
    from importlib import metadata  # takes 30 ms, and few programs need it

    return {point.name: point.load for point in metadata.entry_points(group="tutor.devices")}


def kind_of(name: str) -> Device:
    """The kind of device in `name`, loaded if necessary. DeviceError if there is none."""
    kind = name.partition(":")[0].lower()
    if kind not in IN_USE:
        loader = _loaders.get(kind) or _entry_points().get(kind)
        if loader is None:
            _refuse(name, f"no device of the kind {kind!r:.40} is known here")
        try:
            IN_USE[kind] = loader()
        except ImportError as error:
            do = getattr(error, "do", "") or f'pip install "tutorgrad[{kind}]"'
            raise DeviceError(
                f"the device {name!r}", f"it cannot be loaded: {said(error)}", do
            ) from None
    return IN_USE[kind]


def names() -> list[str]:
    """All devices available here, "cpu" first."""
    found = [CPU]
    for kind in sorted(kinds()):
        try:
            found += [f"{kind}:{i}" for i in range(kind_of(kind).count())]
        except TutorError:
            continue  # not available
    return found


def _refuse(name: object, found: str) -> NoReturn:
    do = "leave it out for 'cpu', or give one of tutor.devices.names()"
    raise DeviceError(f"device={name!r:.60}", found, do)


def of(name: Any = None, like: Any = None) -> str:
    """The device of that name as "kind:index", or "cpu". `name` may be a `tutor.device`; None means
    the device of `like`, if that is a Tensor, else the default. DeviceError if there is none."""
    if name is None:
        if not IN_USE and _process.device is not None:
            return _process.device
        return str(like.buf.device) if is_tensor(like) else default()
    if isinstance(name, device):
        return name.name
    if not isinstance(name, str):
        _refuse(name, f"{type(name).__name__} is no name of a device")
    found = _found.get(name)
    if found is None:
        kind, colon, index = name.lower().partition(":")
        number = int(index) if index.isdecimal() and index.isascii() else -bool(colon)
        count = 1 if kind == CPU else asked(name, kind_of(name).count)
        if number not in range(count):
            if not count:
                asked(name, kind_of(name).name, 0)  # may raise an error with the reason
            _refuse(name, f"there are {count} of that kind, counted from 0")
        found = _found[name] = CPU if kind == CPU else f"{kind}:{number}"
    return found


# ---- the default ---------------------------------------------------------------------------------


class _ProcessDevice:
    """The device of the process, from TUTOR_DEVICE; None until its first use."""

    device: str | None = None


_process = _ProcessDevice()
_setting: Setting[str | None] = Setting("tutor.device", None)
choice = _setting.variable  # None if nothing is chosen; also read by C++ (programs/shortcut.py)


def default() -> str:
    """The device for new tensors: the block's, else TUTOR_DEVICE's, else the CPU."""
    chosen = _setting.get()
    if chosen is not None:
        return chosen
    if _process.device is None:
        _process.device = of(os.environ.get("TUTOR_DEVICE") or CPU)
    return _process.device


class device(Within[str | None]):  # noqa: N801 - read as a noun: with device("opencl:1")
    """`with device(name):` creates new tensors on that device: `Tensor([1.0])`, `Tensor.zeros`, the
    parameters of a layer. Also a decorator of functions, and accepted wherever a device name is.
    DeviceError if there is no such device."""

    def __init__(self, name: DeviceLike | None) -> None:
        self.name = of(name)
        super().__init__(_setting, self.name)

    @property
    def type(self) -> str:
        """Its kind: "cpu", "opencl", "cuda"."""
        return self.name.partition(":")[0]

    @property
    def index(self) -> int | None:
        """Its index among the devices of its kind; None for the CPU."""
        return None if self.name == CPU else _index(self.name)

    def __eq__(self, other: object) -> bool:
        return self.name == (other.name if isinstance(other, device) else other)

    def __hash__(self) -> int:
        return hash(self.name)

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"device({self.name!r})"


@spelled
def set_default_device(device: DeviceLike) -> None:
    """Create new tensors on that device from here on, in this thread or task; inside a block, until
    it ends. DeviceError if there is no such device."""
    _setting.set(of(device))


# ---- requests to a device ------------------------------------------------------------------------


def _index(name: str) -> int:
    return int(name.rpartition(":")[2])


def room(count: int, dtype: DType, name: str) -> Any:
    """Memory for `count` numbers on a device other than the host: `empty` asks for it."""
    return kind_of(name).empty(count, dtype, _index(name))


@spelled
def synchronize(device: DeviceLike | None = None) -> None:
    """Wait until a device has done all its queued work; without a name, every device in use.
    Reading numbers waits anyway: this is for timing code."""
    if device is None:
        for kind in tuple(IN_USE.values()):
            for i in range(kind.count()):
                asked(f"{kind.kind}:{i}", kind.synchronize, i)
    elif (name := of(device)) != CPU:
        asked(name, kind_of(name).synchronize, _index(name))


def noting(name: str) -> Callable[[], Any] | None:
    """The function that starts recording a run's kernel calls on that device; None if it cannot."""
    begin = getattr(kind_of(name), "noting", None)
    return begin and partial(asked, name, begin, _index(name))


def table(name: str) -> registry.Table:
    """The kernels of a device, wrapped so that they raise only tutor's errors."""
    rows: registry.Table = asked(name, kind_of(name).table, _index(name))
    return _Guarded(name, rows)


class _Guarded(dict[Any, Kernel]):
    """A table of kernels. Each first checks that its operands stay within their memory; any other
    exception becomes a DeviceError."""

    def __init__(self, name: str, rows: registry.Table) -> None:
        super().__init__({row: _guarded(name, row[0], kernel) for row, kernel in rows.items()})
        self.rows = rows

    def __getattr__(self, name: str) -> Any:
        """Any other attribute of the device's own table."""
        return getattr(self.rows, name)


def _guarded(device: str, name: str, kernel: Kernel) -> Kernel:
    def run(out: Walked, *ins: Walked, **params: Any) -> None:
        for i, x in enumerate((out, *ins)):
            memory = x.buf.memory
            if hasattr(memory, "is_waited_for"):  # fulfill a promise now
                memory = held(x.buf, f"kernel {name}, input {i}")
            if not 0 <= _reach(x.shape, x.strides, x.offset) <= memory.count or (
                memory.format != x.buf.dtype.format
            ):
                bounds_checks.fits(x, f"kernel {name}, {f'input {i}' if i else 'out'}")  # raises
        try:
            kernel(out, *ins, **params)
        except Exception as error:
            if passes(error):
                raise
            raise failed(device, f"kernel {name}", error) from error

    return run


@functools.lru_cache(maxsize=4096)
def _reach(shape: Any, strides: Any, offset: Any) -> int:
    """The number of elements that this layout needs in memory; -1 if it is invalid."""
    whole = type(shape) is type(strides) is tuple and len(shape) == len(strides)
    if not whole or not all(type(n) is int for n in (*shape, *strides, offset)):
        return -1
    if min(shape, default=0) < 0 or len(shape) > layout.MAX_DIMS:
        return -1
    low, high = layout.reach(shape, strides, offset) if 0 not in shape else (0, -1)
    return high + 1 if low >= 0 else -1


def kinds() -> set[str]:
    """The kinds of devices that may be available here."""
    return {*IN_USE, *_loaders, *_entry_points()}
