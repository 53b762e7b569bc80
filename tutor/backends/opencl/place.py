"""Place: one OpenCL device of this machine, with its queues and its programs.

All that runs on it passes one queue, in order: what is queued later finds what came before. Copies
that shall run beside the kernels pass a second one, and are joined by an event.
"""

from __future__ import annotations

import functools
import threading
from typing import Any

import pyopencl as cl

from tutor.backends.opencl import pocl
from tutor.backends.opencl.faults import said
from tutor.backends.text.dialect import OPENCL
from tutor.errors import DeviceError

# No option loosens arithmetic: no -cl-fast-relaxed-math, no -cl-mad-enable, no denormals as zero.
OPTIONS = ["-cl-std=CL1.2", "-w"]
ROUNDED = "-cl-fp32-correctly-rounded-divide-sqrt"  # where the device offers it
LANES = """
#ifdef __AVX512F__
#define N 16
#else
#define N 8
#endif
kernel void lanes(global uchar *n) { n[0] = N; }
"""


@functools.cache
def found() -> list[Any]:
    """The devices of all drivers: those that are not a CPU first, as the driver lists them."""
    try:
        devices = [d for platform in cl.get_platforms() for d in platform.get_devices()]
    except cl.Error:  # no driver at all, or one without a device
        devices = []
    return sorted(devices, key=lambda d: bool(d.type & cl.device_type.CPU))


class Place:
    """One device. All that runs on it passes `queue`, in order; copies of `stage` pass `second`."""

    maker: Any = None  # what compiles for it, if that is not OpenCL

    def __init__(self, index: int, device: Any) -> None:
        self.index, self.name, self.device = index, f"opencl:{index}", device
        pocl.mend(device)
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
        self.extensions = frozenset(device.extensions.split())
        self.has_double = "cl_khr_fp64" in self.extensions
        self.is_cpu = bool(device.type & cl.device_type.CPU)
        self.lock = threading.RLock()  # the arguments of a kernel are set, then it is queued
        self.c = OPENCL
        rounded = device.single_fp_config & cl.device_fp_config.CORRECTLY_ROUNDED_DIVIDE_SQRT
        self.options = [*OPTIONS, ROUNDED] if rounded else OPTIONS
        self.programs: dict[Any, Any] = {}

    @functools.cached_property
    def lanes(self) -> int:
        """Of a CPU, how many floats a vector register has. The driver's compiler is asked: what
        PoCL 3.0 says of the device is of its processor, even if it compiles for an older one."""
        host = bytearray(1)
        try:
            answer = cl.Buffer(self.context, cl.mem_flags.WRITE_ONLY, 1)
            cl.Program(self.context, LANES).build().lanes(self.queue, (1,), None, answer)
        except cl.Error as error:
            raise said(error, self.name, "to compile for it") from None
        self.read(host, answer)
        return host[0]

    def synchronize(self) -> None:
        """Wait until all that is queued has run."""
        try:
            self.queue.finish()
            self.second.finish()
        except cl.Error as error:
            raise said(error, self.name, "to wait for it") from None

    def read(self, host: Any, block: Any, start: int = 0) -> None:
        """Bytes of a block to the host, behind all that is queued. Waits."""
        try:
            cl.enqueue_copy(self.queue, host, block, src_offset=start, is_blocking=True)
        except cl.Error as error:
            raise said(error, self.name, f"to read {len(host):,} bytes of it") from None


@functools.cache
def place(index: int) -> Place:
    """The device of that number. DeviceError where there is none."""
    devices = found()
    if not 0 <= index < len(devices):
        names = ", ".join(f"opencl:{n} is {d.name.strip()}" for n, d in enumerate(devices))
        raise DeviceError(
            f"the device opencl:{index}",
            names or "pyopencl is installed, but it finds no driver with a device",
            "use one of those"
            if devices
            else "install a driver: pip install pocl_binary_distribution is one for every CPU",
        )
    return Place(index, devices[index])
