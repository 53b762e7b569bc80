"""Launches: from OpenCL's sizes to CUDA's, and a kernel's arguments.

OpenCL gives the number of work-items and the size of a group; CUDA the number of groups, which it
calls blocks. There may be 2^31 - 1 groups in the first dimension, but only 65535 in the second and
third: a larger launch is split into parts, and a variable of the program holds the start of the
part, which get_group_id adds (codegen/dialect.py).
"""

from __future__ import annotations

import ctypes
import functools
import math
from collections.abc import Iterator, Sequence
from typing import Any

Three = tuple[int, int, int]
MOST = 65535  # groups in the second and third dimension
FIRST_GROUP = b"first_group"  # the program's variable: second dimension, then third
UNASKED = 256  # work-items per group, where the kernel leaves that open
# The ctypes type for a `struct` format; None is memory: a CUdeviceptr.
CELLS: dict[str | None, Any] = {
    None: ctypes.c_uint64, "b": ctypes.c_int8, "B": ctypes.c_uint8, "h": ctypes.c_int16,
    "H": ctypes.c_uint16, "i": ctypes.c_int32, "I": ctypes.c_uint32, "q": ctypes.c_int64,
    "Q": ctypes.c_uint64, "f": ctypes.c_float, "d": ctypes.c_double,
}  # fmt: skip


class CudaKernel:
    """A function of a module, with its arguments. `pointers` point to them, as cuLaunchKernel
    expects; it copies the arguments."""

    __slots__ = ("cells", "first_group", "function", "module", "name", "pointers")

    def __init__(self, function: int, module: int, name: str, types: Sequence[str | None]) -> None:
        self.function, self.module, self.name = function, module, name
        self.cells = [CELLS[kind]() for kind in types]
        addresses = [ctypes.addressof(cell) for cell in self.cells]
        self.pointers = (ctypes.c_void_p * len(addresses))(*addresses)
        self.first_group: int | None = None  # the address of that variable, once needed

    def set_args(self, *args: Any) -> None:
        """Set all arguments: blocks and numbers."""
        for cell, arg in zip(self.cells, args, strict=True):
            cell.value = getattr(arg, "address", arg)

    def set_arg(self, at: int, block: Any) -> None:
        """Set one argument to a block."""
        self.cells[at].value = block.address

    def set_number(self, at: int, number: bytes) -> None:
        """Set one argument to the bytes of a number."""
        cell = self.cells[at]
        ctypes.memmove(ctypes.addressof(cell), number, ctypes.sizeof(cell))


@functools.lru_cache(maxsize=4096)
def groups_of(
    sizes: tuple[int, ...], local: tuple[int, ...] | None, first: tuple[int, ...] | None = None
) -> tuple[Three, Three]:
    """The number of groups, and the work-items of one, in three dimensions each. ValueError unless
    they start at the first work-item (as always, except on a CPU) and fill whole groups."""
    if first is not None:
        raise ValueError(f"work-items from {first} on: CUDA counts from 0")
    if local is None:  # must divide the sizes: the kernel does not check its ends
        local = (math.gcd(sizes[0], UNASKED),)
    x, y, z = (*sizes, 1, 1)[:3]
    a, b, c = (*local, 1, 1)[:3]
    if x % a or y % b or z % c:
        raise ValueError(f"{sizes} work-items are no groups of {local}")
    return (x // a, y // b, z // c), (a, b, c)


def parts(groups: Three) -> Iterator[tuple[tuple[int, int], Three]]:
    """Split a launch into parts: where each starts in the second and third dimension, and how many
    groups it has."""
    x, y, z = groups
    for first_z in range(0, z, MOST):
        for first_y in range(0, y, MOST):
            count = (x, min(MOST, y - first_y), min(MOST, z - first_z))
            yield (first_y, first_z), count
