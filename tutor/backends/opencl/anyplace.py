"""What the kernels of this folder ask of a device and its driver: all that differs between drivers.

OpenCL's answer is device_context.py, CUDA's is ../cuda/device_context.py; the kernels, the pool of
memory and the lists of commands know neither. A block is a piece of memory there, as kernels are
given it; an event is a copy that has begun.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from tutor.backends.codegen.dialect import Dialect

# How many work-items there are in each dimension; how many in a group, None where the driver may
# choose; the number of the first, None for 0, which it is wherever `is_cpu` is not.
Grid = tuple[tuple[int, ...], tuple[int, ...] | None, tuple[int, ...] | None]


class AnyPlace(Protocol):
    """One device. All that runs on it passes one queue, in order; copies may pass a second one.
    What goes wrong is an error in three parts: faults.py."""

    name: str  # "opencl:0"
    label: str  # what its maker calls it
    is_cpu: bool
    has_double: bool
    c: Dialect  # the language that it compiles
    total: int  # bytes of its memory
    most: int  # bytes of it in one piece
    lock: Any  # the arguments of a kernel are set, then it is queued
    programs: dict[Any, Any]  # what was compiled for it

    @property
    def lanes(self) -> int:
        """Of a CPU, how many floats a vector register has."""

    # ---- memory ----------------------------------------------------------------------------------

    def allocate(self, nbytes: int) -> Any:
        """A block, until `free`. MemoryError if there is no room."""

    def free(self, blocks: Sequence[Any]) -> None:
        """Give blocks back to the driver, when all that is queued has run. It raises nothing: there
        may be nobody who waits for it."""

    def read(self, host: bytearray, block: Any, start: int = 0) -> None:
        """Bytes of a block to the host, behind all that is queued. Waits."""

    def copy_in(self, block: Any, host: bytes, start: int = 0, beside: bool = False) -> Any:
        """Begin to copy bytes of the host to a block from byte `start` on; the event of it, which
        keeps `host`. `beside`: through the second queue."""

    def copy_out(self, host: bytearray, block: Any) -> Any:
        """Begin to copy the first bytes of a block to the host, behind all that is queued; the
        event of it, which keeps `host`."""

    def arrived(self, event: Any) -> bool:
        """Has that copy been made?"""

    def wait(self, event: Any) -> None:
        """Until that copy has been made."""

    def fork(self) -> None:
        """What passes the second queue from now on waits for what is in the first."""

    def join(self, event: Any) -> None:
        """What passes the first queue from now on waits for that copy."""

    def flush(self) -> None:
        """Nothing that is queued waits for more to come."""

    def synchronize(self) -> None:
        """Wait until all that is queued has run."""

    # ---- kernels ---------------------------------------------------------------------------------

    def build(self, name: str, text: str) -> Any:
        """The program of a source, whose kernel has that name. DeviceError where the compiler does
        not take it."""

    def kernel(self, program: Any, name: str, types: Sequence[str | None]) -> Any:
        """A kernel of a program, with arguments of its own: `set_arg(at, block)` sets one.
        `types`: of each argument, None for memory."""

    def set_number(self, kernel: Any, at: int, number: bytes) -> None:
        """Set that argument to the bytes of a number."""

    def launch(self, kernel: Any, grid: Grid, args: Any = None) -> None:
        """Queue it over that grid: with these arguments, blocks and numbers, or as they are set."""

    def launch_all(self, launches: Sequence[tuple[Any, Grid]]) -> None:
        """Queue kernels, each over its grid, with their arguments as they are set."""
