"""Place: one OpenCL device of this machine, with its queues and its programs.

All that runs on it passes one queue, in order: what is queued later finds what came before. Copies
that shall run beside the kernels pass a second one, and are joined by an event.
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
# How bytes become an argument. pyopencl's public way asks first whether they are a block, and takes
# a hundred times as long: 6.5 us against 0.06 with pyopencl 2026.1.
SET_BYTES = getattr(cl.Kernel, "_set_arg_buf", cl.Kernel.set_arg)
ROUNDED = "-cl-fp32-correctly-rounded-divide-sqrt"  # where the device offers it
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
    """The devices of all drivers: those that are not a CPU first, as the driver lists them."""
    try:
        devices = [d for platform in cl.get_platforms() for d in platform.get_devices()]
    except cl.Error:  # no driver at all, or one without a device
        devices = []
    return sorted(devices, key=lambda d: bool(d.type & cl.device_type.CPU))


@functools.cache
def found() -> list[Any]:
    """Those of them whose driver can compile for them, as far as it says."""
    return [device for device in listed() if not UNKNOWN.search(device.version.strip())]


class Place:
    """One device. All that runs on it passes `queue`, in order; copies of `stage` pass `second`."""

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
        self.lock = threading.RLock()  # the arguments of a kernel are set, then it is queued
        self.c = OPENCL
        rounded = device.single_fp_config & cl.device_fp_config.CORRECTLY_ROUNDED_DIVIDE_SQRT
        self.options = [*OPTIONS, ROUNDED] if rounded else OPTIONS
        self.programs: dict[Any, Any] = {}
        self.lanes = self.tried()

    def tried(self) -> int:
        """Of a CPU, how many floats a vector register has. The driver's compiler is asked: what
        PoCL 3.0 says of the device is of its processor, even if it compiles for an older one.

        It is the first program, so it also shows whether the driver compiles here at all: nothing
        has been made on the device yet. DeviceError if it does not."""
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
        """Nothing: a Buffer goes back with its last reference, and the queue has one."""

    def read(self, host: bytearray, block: Any, start: int = 0) -> None:
        """Bytes of a block to the host, behind all that is queued. Waits."""
        try:
            cl.enqueue_copy(self.queue, host, block, src_offset=start, is_blocking=True)
        except cl.Error as error:
            raise said(error, self.name, f"to read {len(host):,} bytes of it") from None

    def copy_in(self, block: Any, host: bytes, start: int = 0, beside: bool = False) -> Any:
        """The event of a copy to a block that has begun; `beside`: through the second queue."""
        queue = self.second if beside else self.queue
        try:
            event = cl.enqueue_copy(queue, block, host, dst_offset=start, is_blocking=False)
            queue.flush()
        except cl.Error as error:
            raise said(error, self.name, f"to copy {len(host):,} bytes to it") from None
        return event

    def copy_out(self, host: bytearray, block: Any) -> Any:
        """The event of a copy to the host that has begun, behind all that is queued."""
        try:
            event = cl.enqueue_copy(self.queue, host, block, is_blocking=False)
            self.queue.flush()
        except cl.Error as error:
            raise said(error, self.name, f"to read {len(host):,} bytes of it") from None
        return event

    def arrived(self, event: Any) -> bool:
        """Has that copy been made?"""
        return bool(event.command_execution_status == COMPLETE)

    def wait(self, event: Any) -> None:
        """Until that copy has been made."""
        event.wait()

    def fork(self) -> None:
        """What passes the second queue from now on waits for what is in the first."""
        before = cl.enqueue_marker(self.queue)
        self.queue.flush()
        cl.enqueue_barrier(self.second, wait_for=[before])

    def join(self, event: Any) -> None:
        """What passes the first queue from now on waits for that copy."""
        cl.enqueue_barrier(self.queue, wait_for=[event])

    def flush(self) -> None:
        """Nothing that is queued waits for more to come."""
        self.queue.flush()

    def synchronize(self) -> None:
        """Wait until all that is queued has run."""
        try:
            self.queue.finish()
            self.second.finish()
        except cl.Error as error:
            raise said(error, self.name, "to wait for it") from None

    # ---- kernels ---------------------------------------------------------------------------------

    def build(self, name: str, text: str) -> Any:
        """The program of a source. DeviceError where the driver's compiler does not take it."""
        try:
            return cl.Program(self.context, text).build(options=self.options)
        except cl.Error as error:
            raise not_built(self.name, name, str(error)) from None

    def kernel(self, program: Any, name: str, types: Sequence[str | None]) -> Any:
        """A kernel of a program, with arguments of its own."""
        try:
            kernel = cl.Kernel(program, name)
            kernel.set_scalar_arg_dtypes(list(types))
        except cl.Error as error:
            raise not_built(self.name, name, str(error)) from None
        return kernel

    def set_number(self, kernel: Any, at: int, number: bytes) -> None:
        """Set that argument to the bytes of a number."""
        SET_BYTES(kernel, at, number)

    def launch(self, kernel: Any, grid: Grid, args: Any = None) -> None:
        """Queue it over so many work-items in groups of `local`."""
        try:
            with self.lock:
                if args is not None:
                    kernel.set_args(*args)
                cl.enqueue_nd_range_kernel(self.queue, kernel, *grid)
        except cl.Error as error:
            raise said(error, self.name, f"kernel {kernel.function_name}") from None

    def launch_all(self, launches: Sequence[tuple[Any, Grid]]) -> None:
        """Queue kernels, each over its grid, with their arguments as they are set."""
        queue, enqueue = self.queue, cl.enqueue_nd_range_kernel
        try:
            with self.lock:
                for kernel, grid in launches:
                    enqueue(queue, kernel, *grid)
        except cl.Error as error:
            raise said(error, self.name, f"kernel {kernel.function_name}") from None


def said(error: Any, name: str, asked: str) -> TutorError:
    """The error to raise in the place of OpenCL's own. `name` is the device's."""
    code = error.code if isinstance(error, cl.Error) else 0
    return refusal(code, str(error).strip().partition("\n")[0], name, asked)


@functools.cache
def place(index: int) -> Place:
    """The device of that number. DeviceError where there is none."""
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
    return Place(index, devices[index])
