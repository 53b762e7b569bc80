"""CudaContext: one CUDA device, with its streams and programs; it implements ../opencl/anyplace.py.

All work is done in the device's primary context, which the other libraries of the process share. It
must be current in the calling thread, whatever those libraries have made current before: so each
method begins with `enter`.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import threading
from collections.abc import Sequence
from ctypes import c_int, c_size_t
from typing import Any

from tutor.backends.codegen.dialect import CUDA
from tutor.backends.cuda.driver import ADDRESS, HANDLE, MAJOR, MINOR, Driver, DriverError
from tutor.backends.cuda.launches import FIRST_GROUP, MOST, CudaKernel, groups_of, parts
from tutor.backends.cuda.nvrtc import Nvrtc, nvrtc
from tutor.backends.opencl.anyplace import Grid
from tutor.backends.opencl.faults import not_built, refusal

NON_BLOCKING = (
    1  # CU_STREAM_NON_BLOCKING: other libraries' work on the default stream is not awaited
)
DISABLE_TIMING = 2  # CU_EVENT_DISABLE_TIMING
NOT_READY = 600  # CUDA_ERROR_NOT_READY, for an event
# CUDA_ERROR_: NO_BINARY_FOR_GPU, INVALID_PTX, UNSUPPORTED_PTX_VERSION, JIT_COMPILER_NOT_FOUND
NOT_TAKEN = (209, 218, 222, 221)


class CudaBlock:
    """Memory of the device. It has no `__del__`: if the block of a cycle had run its own, the
    `__del__` of its holder could still return it to the pool, which would hand it out again."""

    __slots__ = ("address",)

    def __init__(self, address: int) -> None:
        self.address = address


class Event:
    """A point in a stream, reached when all work before it is done. `host`: the bytes that a copy
    before it reads or fills, kept alive with the event."""

    __slots__ = ("handle", "host", "place")

    def __init__(self, place: CudaContext, stream: int, host: Any = None) -> None:
        self.place, self.host = place, host
        self.handle = place.driver.made("cuEventCreate", HANDLE, DISABLE_TIMING)
        place.driver.call("cuEventRecord", self.handle, stream)

    def __del__(self) -> None:
        place = self.place
        with contextlib.suppress(
            DriverError, AttributeError
        ):  # at the end the driver is gone first
            place.enter()
            place.driver.call("cuEventDestroy_v2", self.handle)


class CudaModule:
    """A module of the driver. It lives until the process ends, as compiled programs do here."""

    __slots__ = ("module", "ptx")

    def __init__(self, module: int, ptx: bytes) -> None:
        self.module, self.ptx = module, ptx


class Asking:
    """`with place.asking("to read it"):` turns the driver's errors into errors in three parts."""

    __slots__ = ("asked", "place")

    def __init__(self, place: CudaContext, asked: str) -> None:
        self.place, self.asked = place, asked

    def __enter__(self) -> None:
        self.place.enter()

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if kind is DriverError:
            raise refusal(error.code, error.words, self.place.name, self.asked) from None


class CudaContext:
    """One device. All its work goes through `stream`, in order; parallel copies use `second`."""

    c, is_cpu, has_double, lanes = CUDA, False, True, 1

    def __init__(self, driver: Driver, index: int) -> None:
        self.driver, self.index, self.name = driver, index, f"cuda:{index}"
        self.context = 0
        self.lock = threading.RLock()
        self.programs: dict[Any, Any] = {}
        try:
            device = driver.made("cuDeviceGet", c_int, index)
            text = ctypes.create_string_buffer(256)
            driver.call("cuDeviceGetName", text, len(text), device)
            self.label = text.value.decode(errors="replace").strip()
            self.total = self.most = driver.made("cuDeviceTotalMem_v2", c_size_t, device)
            self.capability = tuple(
                driver.made("cuDeviceGetAttribute", c_int, which, device)
                for which in (MAJOR, MINOR)
            )
            self.context = driver.made("cuDevicePrimaryCtxRetain", HANDLE, device)
            self.enter()
            self.stream = driver.made("cuStreamCreate", HANDLE, NON_BLOCKING)
            self.second = driver.made("cuStreamCreate", HANDLE, NON_BLOCKING)
        except DriverError as error:
            raise refusal(error.code, error.words, self.name, "to open it") from None

    @functools.cached_property
    def compiler(self) -> Nvrtc:
        return nvrtc(self.capability)

    def enter(self) -> None:
        """Make its context current in this thread."""
        self.driver.call("cuCtxSetCurrent", self.context)

    def asking(self, asked: str) -> Asking:
        return Asking(self, asked)

    # ---- memory ----------------------------------------------------------------------------------

    def allocate(self, nbytes: int) -> CudaBlock:
        """A new block. OutOfMemoryError if there is no room."""
        with self.asking(f"{nbytes:,} bytes on it"):
            return CudaBlock(self.driver.made("cuMemAlloc_v2", ADDRESS, nbytes))

    def free(self, blocks: Sequence[CudaBlock]) -> None:
        """Return blocks to the driver once all work that may use them is done."""
        with contextlib.suppress(
            DriverError, AttributeError
        ):  # at the end the driver is gone first
            self.enter()
            self.driver.call("cuStreamSynchronize", self.stream)
            self.driver.call("cuStreamSynchronize", self.second)
            for block in blocks:
                self.driver.call("cuMemFree_v2", block.address)

    def read(self, host: bytearray, block: CudaBlock, start: int = 0) -> None:
        """Copy bytes of a block to the host, after all queued work. Waits."""
        there = (ctypes.c_char * len(host)).from_buffer(host)
        with self.asking(f"to read {len(host):,} bytes of it"):
            self.driver.call(
                "cuMemcpyDtoHAsync_v2", there, block.address + start, len(host), self.stream
            )
            self.driver.call("cuStreamSynchronize", self.stream)

    def copy_in(self, block: CudaBlock, host: bytes, start: int = 0, beside: bool = False) -> Event:
        """Start a copy into a block and return its event; `beside`: through the second stream."""
        stream = self.second if beside else self.stream
        with self.asking(f"to copy {len(host):,} bytes to it"):
            self.driver.call("cuMemcpyHtoDAsync_v2", block.address + start, host, len(host), stream)
            return Event(self, stream, host)

    def copy_out(self, host: bytearray, block: CudaBlock) -> Event:
        """Start a copy to the host, after all queued work, and return its event."""
        there = (ctypes.c_char * len(host)).from_buffer(host)
        with self.asking(f"to read {len(host):,} bytes of it"):
            self.driver.call("cuMemcpyDtoHAsync_v2", there, block.address, len(host), self.stream)
            return Event(self, self.stream, there)

    def arrived(self, event: Event) -> bool:
        """Is that copy complete?"""
        with self.asking("to ask for a copy"):
            try:
                self.driver.call("cuEventQuery", event.handle)
            except DriverError as error:
                if error.code != NOT_READY:
                    raise
                return False
        return True

    def wait(self, event: Event) -> None:
        """Wait until that copy is complete."""
        with self.asking("to wait for a copy"):
            self.driver.call("cuEventSynchronize", event.handle)

    def fork(self) -> None:
        """Make later work in the second stream wait for the work now in the first."""
        with self.asking("to wait for its kernels"):
            before = Event(self, self.stream)
            self.driver.call("cuStreamWaitEvent", self.second, before.handle, 0)

    def join(self, event: Event) -> None:
        """Make later work in the first stream wait for that copy."""
        with self.asking("to wait for a copy"):
            self.driver.call("cuStreamWaitEvent", self.stream, event.handle, 0)

    def flush(self) -> None:
        """Do nothing: a stream starts by itself."""

    def synchronize(self) -> None:
        """Wait until all queued work is done."""
        with self.asking("to wait for it"):
            self.driver.call("cuStreamSynchronize", self.stream)
            self.driver.call("cuStreamSynchronize", self.second)

    # ---- kernels ---------------------------------------------------------------------------------

    def build(self, name: str, text: str) -> CudaModule:
        """Compile a source. DeviceError if NVRTC or the driver rejects it."""
        ptx = self.compiler.ptx(text, name)
        with self.asking(f"to load kernel {name}"):
            try:
                return CudaModule(self.driver.made("cuModuleLoadData", HANDLE, ptx), ptx)
            except DriverError as error:
                if error.code not in NOT_TAKEN:
                    raise
                raise not_built(
                    self.name, name, f"{error} (the driver's CUDA is {self.driver.version()},"
                    f" NVRTC's {self.compiler.version()}; it must not be newer)",
                ) from None  # fmt: skip

    def kernel(self, program: CudaModule, name: str, types: Sequence[str | None]) -> CudaKernel:
        """A kernel of a program, with its own arguments."""
        with self.asking(f"kernel {name}"):
            function = self.driver.made(
                "cuModuleGetFunction", HANDLE, program.module, name.encode()
            )
        return CudaKernel(function, program.module, name, types)

    def set_number(self, kernel: CudaKernel, at: int, number: bytes) -> None:
        """Set an argument to the bytes of a number."""
        kernel.set_number(at, number)

    def launch(self, kernel: CudaKernel, grid: Grid, args: Any = None) -> None:
        """Queue a kernel over a grid, with `args` or its arguments as set."""
        groups, block = groups_of(*grid)
        with self.asking(f"kernel {kernel.name}"), self.lock:
            if args is not None:
                kernel.set_args(*args)
            if groups[1] <= MOST and groups[2] <= MOST:
                self.queue(kernel, groups, block)
                return
            for first, count in parts(groups):
                self.begin(kernel, first)
                self.queue(kernel, count, block)
            self.begin(kernel, (0, 0))

    def launch_all(self, launches: Sequence[tuple[CudaKernel, Grid]]) -> None:
        """Queue kernels, each over its grid, with their arguments as set."""
        for kernel, grid in launches:
            self.launch(kernel, grid)

    def queue(self, kernel: CudaKernel, groups: Sequence[int], block: Sequence[int]) -> None:
        self.driver.call(
            "cuLaunchKernel", kernel.function, *groups, *block, 0, self.stream, kernel.pointers,
            None,
        )  # fmt: skip

    def begin(self, kernel: CudaKernel, first: Sequence[int]) -> None:
        """Set the first group of the next launch in the second and third dimension."""
        address = kernel.first_group
        if address is None:
            found, nbytes = ADDRESS(), c_size_t()
            self.driver.call("cuModuleGetGlobal_v2", ctypes.byref(found), ctypes.byref(nbytes),
                             kernel.module, FIRST_GROUP)  # fmt: skip
            address = kernel.first_group = int(found.value or 0)
        for k, number in enumerate(first):
            self.driver.call("cuMemsetD32Async", address + 4 * k, number, 1, self.stream)
