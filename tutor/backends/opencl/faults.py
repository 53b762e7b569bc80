"""Errors of a device, in the three parts that errors have here.

OpenCL answers with a number (khronos: CL/cl.h). What it means for who reads it is one of few
things: there is no room; the source did not compile; the device is gone, or has given up; all else
is a mistake of this backend's own.
"""

from __future__ import annotations

from typing import Any

import pyopencl as cl

from tutor.errors import DeviceError, OutOfMemoryError, TutorError
from tutor.memory import readable

ROOM = (-4, -6)  # MEM_OBJECT_ALLOCATION_FAILURE, OUT_OF_HOST_MEMORY
# DEVICE_NOT_FOUND, DEVICE_NOT_AVAILABLE, OUT_OF_RESOURCES, EXEC_STATUS_ERROR_FOR_EVENTS,
# INVALID_DEVICE, INVALID_CONTEXT, INVALID_COMMAND_QUEUE
LOST = (-1, -2, -5, -14, -33, -34, -36)


def out_of_memory(name: str, device: Any, nbytes: int, in_use: int) -> OutOfMemoryError:
    return OutOfMemoryError(
        f"room for {readable(nbytes)} on {name}",
        f"it has {readable(device.global_mem_size)}, at most {readable(device.max_mem_alloc_size)}"
        f" in one piece; {readable(in_use)} are in use",
        "use a smaller batch or a narrower dtype, or let go of tensors you no longer need",
    )


def said(error: Any, name: str, asked: str) -> TutorError:
    """What OpenCL has answered, for the error to raise in its place. `name` is the device's."""
    code = error.code if isinstance(error, cl.Error) else 0
    first = str(error).strip().partition("\n")[0]
    if code in ROOM:
        return OutOfMemoryError(
            f"{name}, {asked}",
            f"there is no room: {first}",
            "use a smaller batch or a narrower dtype, or let go of tensors you no longer need",
        )
    if code in LOST:
        return DeviceError(
            f"{name}, {asked}",
            f"the device is gone or has given up: {first}",
            "what was in its memory is lost; start the process again, and read a checkpoint",
        )
    return DeviceError(
        f"{name}, {asked}",
        f"its driver has refused: {first}",
        "run `python -m tutor conformance opencl`, which says what works on this device",
    )


def not_built(name: str, kernel: str, log: str) -> DeviceError:
    """A source that the device's compiler does not take."""
    lines = [line.strip() for line in log.splitlines() if "error:" in line]
    found = lines[0] if lines else log.strip().partition("\n")[0]
    return DeviceError(
        f"to compile kernel {kernel} for {name}",
        f"the device's compiler has refused its source: {found or 'it does not say why'}",
        "TUTOR_DEBUG=4 prints the source; another driver may take it, or the CPU: .to('cpu')",
    )
