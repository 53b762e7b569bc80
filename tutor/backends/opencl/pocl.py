"""A mend for PoCL 3.0 on processors that are newer than it.

PoCL, the OpenCL driver for CPUs that `pip install pocl_binary_distribution` brings, asks LLVM 14
what the processor is called. Of one that came later LLVM says "generic", which clang then refuses:
`error: unknown target CPU 'generic'`, and no program can be built. Or it says "znver3" of a later
Zen, which has AVX-512 beside: then the driver's own library of functions, which is chosen by what
the processor has, does not fit to the kernels: each sqrt is a call, and what hands over a vector
ends the process. No option of the driver changes that name, but it stands where the handle of the
device points to. Here it is replaced by one that clang knows and the library is compiled for: with
AVX-512 "skylake-avx512", with AVX2 "haswell".

Nothing is done for any other driver, version or processor, and nothing at all where the environment
variable TUTOR_POCL_MEND is 0.
"""

from __future__ import annotations

import ctypes
import os
import re
from collections.abc import Iterator
from typing import Any

HANDLE = 4096  # bytes behind a device's handle in which the name is looked for
# What clang calls the processors that PoCL's own libraries are compiled for, by some of what
# /proc/cpuinfo must say. A function of a library is made part of a kernel only if both are for the
# same one: by a more general name (x86-64-v4) each fma would be a call.
LEVELS: tuple[tuple[bytes, set[str]], ...] = (
    (
        b"skylake-avx512",
        {"adx", "aes", "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl", "bmi2", "fma"},
    ),
    (b"haswell", {"avx2", "bmi1", "bmi2", "f16c", "fma", "movbe"}),
    (b"x86-64", set()),
)
_kept: list[Any] = []  # what the driver points to from now on


def mend(device: Any) -> bool:
    """Was the name of this device's processor replaced? It is once, and only where it is wrong."""
    version = device.platform.version
    if (
        device.platform.name != "Portable Computing Language"
        or not re.search(r"PoCL 3\.0\b.*LLVM 14\.", version)
        or os.environ.get("TUTOR_POCL_MEND") == "0"
    ):
        return False
    named = device.version.rstrip().rpartition("x86_64-unknown-linux-gnu-")[2]
    if named != "generic" and not (named.startswith("znver") and level() == LEVELS[0][0]):
        return False
    places = list(_named(device.int_ptr, named.encode() + b"\0"))
    if len(places) != 1:  # it stands elsewhere, or was replaced before
        return False
    name = ctypes.create_string_buffer(level())
    _kept.append(name)
    ctypes.c_uint64.from_address(places[0]).value = ctypes.addressof(name)
    return True


def level() -> bytes:
    """The best of these that this processor can do."""
    with open("/proc/cpuinfo") as file:
        line = next((line for line in file if line.startswith("flags")), "")
    flags = set(line.split())
    return next(name for name, needs in LEVELS if needs <= flags)


def _named(handle: int, name: bytes) -> Iterator[int]:
    """Where, behind the handle, a pointer to this name stands."""
    readable = list(_readable())

    def inside(address: int, size: int) -> bool:
        return any(low <= address and address + size <= high for low, high in readable)

    for address in range(handle, handle + HANDLE, 8):
        if not inside(address, 8):
            return
        pointer = ctypes.c_uint64.from_address(address).value
        if inside(pointer, len(name)) and ctypes.string_at(pointer, len(name)) == name:
            yield address


def _readable() -> Iterator[tuple[int, int]]:
    """The parts of this process's memory that may be read."""
    with open("/proc/self/maps") as file:
        for line in file:
            if found := re.match(r"([0-9a-f]+)-([0-9a-f]+) r", line):
                yield int(found[1], 16), int(found[2], 16)
