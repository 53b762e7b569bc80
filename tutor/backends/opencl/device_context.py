"""OpenCLContext: one OpenCL device of this machine, with its queues and programs.

All its work goes through one queue, in order: later work sees the results of earlier work. Copies
that run beside the kernels use a second queue and are joined by an event.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Sequence
from typing import Any

import pyopencl as cl

from tutor.backends.codegen.dialect import OPENCL
from tutor.backends.opencl.anyplace import Grid
from tutor.backends.opencl.faults import UNKNOWN, first_error, not_built, refusal, useless
from tutor.errors import DeviceError, TutorError

# No option loosens arithmetic: no -cl-fast-relaxed-math, no -cl-mad-enable, no denormals as zero.
OPTIONS = ["-cl-std=CL1.2", "-w"]
# Turns bytes into an argument. pyopencl's public method first checks for a block, which takes a
# hundred times as long: 6.5 us against 0.06 with pyopencl 2026.1.
SET_BYTES = getattr(cl.Kernel, "_set_arg_buf", cl.Kernel.set_arg)
ROUNDED = "-cl-fp32-correctly-rounded-divide-sqrt"  # if the device supports it
COMPLETE = cl.command_execution_status.COMPLETE
LANES = """
#ifdef __AVX512F__
#define N 16
#else
#define N 8
#endif
kernel void lanes(global uchar *n) { n[get_global_id(0)] = N; }
"""


@functools.cache
def listed() -> list[Any]:
    """The devices of all drivers: CPUs last, otherwise in the driver's order."""
    try:
        devices = [d for platform in cl.get_platforms() for d in platform.get_devices()]
    except cl.Error:  # no driver, or one without a device
        devices = []
    return sorted(devices, key=lambda d: bool(d.type & cl.device_type.CPU))


@functools.cache
def found() -> list[Any]:
    """The devices whose driver reports that it can compile for them."""
    return [device for device in listed() if not UNKNOWN.search(device.version.strip())]


class OpenCLContext:
    """One device. All its work goes through `queue`, in order; copies of `stage` use `second`."""

    def __init__(self, index: int, device: Any) -> None:
        self.index, self.name, self.device = index, f"opencl:{index}", device
        try:
            self.context = cl.Context([device])
            self.queue = cl.CommandQueue(self.context)
            self.second = cl.CommandQueue(self.context)
        except cl.Error as error:
            raise DeviceError(
                f"the device {self.name} ({device.name.strip()})",
                f"its driver does not open it: {str(error).strip()}",
                "try another one: tutor.device('opencl:1'), or the CPU",
            ) from None
        self.label = device.name.strip()
        self.total, self.most = device.global_mem_size, device.max_mem_alloc_size
        self.extensions = frozenset(device.extensions.split())
        self.has_double = "cl_khr_fp64" in self.extensions
        self.is_cpu = bool(device.type & cl.device_type.CPU)
        self.lock = threading.RLock()  # held while arguments are set and a kernel is queued
        self.c = OPENCL
        rounded = device.single_fp_config & cl.device_fp_config.CORRECTLY_ROUNDED_DIVIDE_SQRT
        self.options = [*OPTIONS, ROUNDED] if rounded else OPTIONS
        self.programs: dict[Any, Any] = {}
        self.lanes = self.tried()

    def tried(self) -> int:
        """For a CPU: the number of floats in a vector register. The driver's compiler is asked:
        PoCL 3.0 describes the processor, even if it compiles for an older one.

        This is the first program, so it also shows whether the driver can compile here at all,
        before anything is created on the device. DeviceError if it cannot."""
        host = bytearray(1)
        try:
            answer = cl.Buffer(self.context, cl.mem_flags.WRITE_ONLY, 1)
            program = cl.Program(self.context, LANES).build(options=self.options)
            cl.Kernel(program, "lanes")(self.queue, (1,), None, answer)
            cl.enqueue_copy(self.queue, host, answer, is_blocking=True)
        except cl.Error as error:
            raise useless(self.name, self.label, first_error(str(error))) from None
        if host[0] not in (8, 16):
            raise useless(
                self.name, self.label, f"its first program answers {host[0]}, not 8 or 16"
            )
        return host[0]

    # ---- memory ----------------------------------------------------------------------------------

    def allocate(self, nbytes: int) -> Any:
        """A new block. OutOfMemoryError if there is no room."""
        try:
            return cl.Buffer(self.context, cl.mem_flags.READ_WRITE, nbytes)
        except cl.Error as error:
            raise said(error, self.name, f"{nbytes:,} bytes on it") from None

    def free(self, blocks: Sequence[Any]) -> None:
        """Do nothing: a Buffer is freed with its last reference, and the queue holds one."""

    def read(self, host: bytearray, block: Any, start: int = 0) -> None:
        """Copy bytes of a block to the host, after all queued work. Waits."""
        try:
            cl.enqueue_copy(self.queue, host, block, src_offset=start, is_blocking=True)
        except cl.Error as error:
            raise said(error, self.name, f"to read {len(host):,} bytes of it") from None

    def copy_in(self, block: Any, host: bytes, start: int = 0, beside: bool = False) -> Any:
        """Start a copy into a block and return its event; `beside`: through the second queue."""
        queue = self.second if beside else self.queue
        try:
            event = cl.enqueue_copy(queue, block, host, dst_offset=start, is_blocking=False)
            queue.flush()
        except cl.Error as error:
            raise said(error, self.name, f"to copy {len(host):,} bytes to it") from None
        return event

    def copy_out(self, host: bytearray, block: Any) -> Any:
        """Start a copy to the host, after all queued work, and return its event."""
        try:
            event = cl.enqueue_copy(self.queue, host, block, is_blocking=False)
            self.queue.flush()
        except cl.Error as error:
            raise said(error, self.name, f"to read {len(host):,} bytes of it") from None
        return event

    def arrived(self, event: Any) -> bool:
        """Is that copy complete?"""
        return bool(event.command_execution_status == COMPLETE)

    def wait(self, event: Any) -> None:
        """Wait until that copy is complete."""
        event.wait()

    def fork(self) -> None:
        """Make later work in the second queue wait for the work now in the first."""
        before = cl.enqueue_marker(self.queue)
        self.queue.flush()
        cl.enqueue_barrier(self.second, wait_for=[before])

    def join(self, event: Any) -> None:
        """Make later work in the first queue wait for that copy."""
        cl.enqueue_barrier(self.queue, wait_for=[event])

    def flush(self) -> None:
        """Start all queued work now."""
        self.queue.flush()

    def synchronize(self) -> None:
        """Wait until all queued work is done."""
        try:
            self.queue.finish()
            self.second.finish()
        except cl.Error as error:
            raise said(error, self.name, "to wait for it") from None

    # ---- kernels ---------------------------------------------------------------------------------

    def build(self, name: str, text: str) -> Any:
        """Compile a source. DeviceError if the driver's compiler rejects it."""
        try:
            return cl.Program(self.context, text).build(options=self.options)
        except cl.Error as error:
            raise not_built(self.name, name, str(error)) from None

    def kernel(self, program: Any, name: str, types: Sequence[str | None]) -> Any:
        """A kernel of a program, with its own arguments."""
        try:
            kernel = cl.Kernel(program, name)
            kernel.set_scalar_arg_dtypes(list(types))
        except cl.Error as error:
            raise not_built(self.name, name, str(error)) from None
        return kernel

    def set_number(self, kernel: Any, at: int, number: bytes) -> None:
        """Set an argument to the bytes of a number."""
        SET_BYTES(kernel, at, number)

    def launch(self, kernel: Any, grid: Grid, args: Any = None) -> None:
        """Queue a kernel over a grid, with `args` or its arguments as set."""
        try:
            with self.lock:
                if args is not None:
                    kernel.set_args(*args)
                cl.enqueue_nd_range_kernel(self.queue, kernel, *grid)
        except cl.Error as error:
            raise said(error, self.name, f"kernel {kernel.function_name}") from None

    def launch_all(self, launches: Sequence[tuple[Any, Grid]]) -> None:
        """Queue kernels, each over its grid, with their arguments as set."""
        queue, enqueue = self.queue, cl.enqueue_nd_range_kernel
        try:
            with self.lock:
                for kernel, grid in launches:
                    enqueue(queue, kernel, *grid)
        except cl.Error as error:
            raise said(error, self.name, f"kernel {kernel.function_name}") from None


def said(error: Any, name: str, asked: str) -> TutorError:
    """tutor's error for one of OpenCL's. `name` is the device's."""
    code = error.code if isinstance(error, cl.Error) else 0
    return refusal(code, str(error).strip().partition("\n")[0], name, asked)


@functools.cache
def place(index: int) -> OpenCLContext:
    """The device with that number. DeviceError if there is none."""
    devices = found()
    if not devices and listed():
        device = listed()[0]
        platform = f"{device.platform.name.strip()}, {device.platform.version.strip()}"
        why = f"{platform} does not know this processor, and compiles nothing for it"
        raise useless(f"opencl:{index}", device.name.strip(), why)
    if not 0 <= index < len(devices):
        names = ", ".join(f"opencl:{n} is {d.name.strip()}" for n, d in enumerate(devices))
        raise DeviceError(
            f"the device opencl:{index}",
            names or "pyopencl is installed, but it finds no driver with a device",
            "use one of those"
            if devices
            else "install a driver: pip install pocl_binary_distribution is one for most CPUs",
        )
    return OpenCLContext(index, devices[index])
