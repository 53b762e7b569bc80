"""Device errors in three parts, as everywhere in tutor.

A driver answers with a number: OpenCL's are negative (khronos: CL/cl.h), CUDA's positive (cuda.h,
enum CUresult). To the user it means one of a few things: there is no room; the source did not
compile; the device is gone or has given up; anything else is a bug in this backend.
"""

from __future__ import annotations

import re

from tutor.backends.opencl.anyplace import AnyPlace
from tutor.errors import DeviceError, OutOfMemoryError, TutorError
from tutor.memory import readable

# MEM_OBJECT_ALLOCATION_FAILURE, OUT_OF_HOST_MEMORY; CUDA_ERROR_OUT_OF_MEMORY
ROOM = (-4, -6, 2)
# DEVICE_NOT_FOUND, DEVICE_NOT_AVAILABLE, OUT_OF_RESOURCES, EXEC_STATUS_ERROR_FOR_EVENTS,
# INVALID_DEVICE, INVALID_CONTEXT, INVALID_COMMAND_QUEUE
LOST: tuple[int, ...] = (-1, -2, -5, -14, -33, -34, -36)
# CUDA_ERROR_: DEINITIALIZED, DEVICE_UNAVAILABLE, NO_DEVICE, INVALID_CONTEXT, ECC_UNCORRECTABLE,
# ILLEGAL_ADDRESS, LAUNCH_TIMEOUT, CONTEXT_IS_DESTROYED, HARDWARE_STACK_ERROR, ILLEGAL_INSTRUCTION,
# MISALIGNED_ADDRESS, INVALID_ADDRESS_SPACE, INVALID_PC, LAUNCH_FAILED, SYSTEM_NOT_READY, UNKNOWN
LOST += (4, 46, 100, 201, 214, 700, 702, 709, 714, 715, 716, 717, 718, 719, 802, 999)

# The name that PoCL before 3.1 gives its device if its LLVM is older than the processor: LLVM calls
# such a CPU "generic". Clang knows no x86 processor of that name and compiles nothing for it.
UNKNOWN = re.compile(r"PoCL .*-x86_64-\S+-generic$")
INSTALL = (
    "install a driver that knows this processor, as PoCL 3.1 or later: apt-get install"
    " pocl-opencl-icd"
)


def useless(name: str, label: str, why: str) -> DeviceError:
    """The error for a device whose driver cannot run any program."""
    return DeviceError(
        f"the device {name} ({label})",
        f"its driver runs no program: {why}",
        f"{INSTALL}; or use the CPU",
    )


def out_of_memory(place: AnyPlace, nbytes: int, in_use: int) -> OutOfMemoryError:
    return OutOfMemoryError(
        f"room for {readable(nbytes)} on {place.name}",
        f"it has {readable(place.total)}, at most {readable(place.most)}"
        f" in one piece; {readable(in_use)} are in use",
        "use a smaller batch or a narrower dtype, or let go of tensors you no longer need",
    )


def refusal(code: int, first: str, name: str, asked: str) -> TutorError:
    """The error for a driver's answer: `code` is its number, `first` its meaning, `name` the
    device's name."""
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
    kind = name.partition(":")[0]
    return DeviceError(
        f"{name}, {asked}",
        f"its driver has refused: {first}",
        f"run `python -m tutor conformance {kind}`, which says what works on this device",
    )


def first_error(log: str) -> str:
    """The decisive line of a compiler's log."""
    lines = [line.strip() for line in log.splitlines() if "error:" in line]
    return lines[0] if lines else log.strip().partition("\n")[0]


def not_built(name: str, kernel: str, log: str) -> DeviceError:
    """The error for a source that the device's compiler rejects."""
    found = first_error(log)
    return DeviceError(
        f"to compile kernel {kernel} for {name}",
        f"the device's compiler has refused its source: {found or 'it does not say why'}",
        "TUTOR_DEBUG=4 prints the source; another driver may take it, or the CPU: .to('cpu')",
    )
