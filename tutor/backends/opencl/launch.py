"""From a source to a launch in a device's queue: compiled once, then called with little Python."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Any

from tutor.backends.codegen.dialect import HALVES
from tutor.backends.opencl.anyplace import AnyPlace
from tutor.backends.opencl.capture import NOW, live
from tutor.dtype import DType, bool_
from tutor.errors import KernelNotFound

LONG = "q"


def scalar(dtype: DType) -> str:
    """The `struct` format in which a number of that dtype is passed to a kernel: the bytes of its
    memory format."""
    return "B" if dtype is bool_ else "H" if dtype in HALVES else dtype.format


def number(buf: Any, offset: int) -> Any:
    """The number at that offset of host memory, for an argument of type `scalar`."""
    return live(buf, lambda buf: read(buf, offset))


def read(buf: Any, offset: int) -> Any:
    dtype: DType = buf.dtype
    size = dtype.itemsize
    cell: Any = memoryview(buf.raw).cast("B")[offset * size : (offset + 1) * size]
    return int(cell[0] != 0) if dtype is bool_ else cell.cast(scalar(dtype))[0]


class Compiled:
    """One kernel of a program, for one place. `types`: of its arguments, None for memory."""

    __slots__ = ("kernel", "name", "place", "program", "text", "types")

    def __init__(self, place: AnyPlace, name: str, text: str, types: Sequence[Any]) -> None:
        self.place, self.name, self.text, self.types = place, name, text, tuple(types)
        if os.environ.get("TUTOR_DEBUG", "0") >= "4":
            print(text)
        self.program = place.build(name, text)
        self.kernel = self.again()

    def again(self) -> Any:
        """A separate kernel object, with its own arguments."""
        return self.place.kernel(self.program, self.name, self.types)

    def __call__(
        self, sizes: tuple[int, ...], local: tuple[int, ...] | None, *args: Any,
        first: tuple[int, ...] | None = None,
    ) -> None:  # fmt: skip
        """Queue it over `sizes` work-items, in groups of `local`, starting with number `first`."""
        if NOW.noting is not None:
            NOW.noting.launch(self, (sizes, local, first), args)
        else:
            self.place.launch(self.kernel, (sizes, local, first), args)


def compiled(place: AnyPlace, name: str, text: str, types: Sequence[Any]) -> Compiled:
    """The kernel `name` of that text, compiled for this place. KernelNotFound if the text has
    doubles and the device does not."""
    if not place.has_double and re.search(r"\bdouble\b", text):
        raise KernelNotFound(
            f"kernel {name} on {place.name}",
            f"its text is computed in double precision, which {place.label} has not (cl_khr_fp64)",
            "take another device, or leave this step on the CPU: .to('cpu')",
        )
    return Compiled(place, name, text, types)


def rounded_up(count: int, to: int) -> int:
    return -(-count // to) * to
