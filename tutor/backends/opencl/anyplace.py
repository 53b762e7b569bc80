"""The interface between the kernels of this folder and a device: everything that drivers differ in.

device_context.py implements it for OpenCL, ../cuda/device_context.py for CUDA; the kernels, the
memory pool and the command lists know neither. A block is a piece of device memory, as kernels
receive it; an event is a copy in progress.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from tutor.backends.codegen.dialect import Dialect

# The number of work-items in each dimension; the size of a group, None where the driver may choose;
# the first work-item, None for 0, as always unless `is_cpu`.
Grid = tuple[tuple[int, ...], tuple[int, ...] | None, tuple[int, ...] | None]


class AnyPlace(Protocol):
    """One device. All its work goes through one queue, in order; copies may use a second one.
    Errors have three parts: faults.py."""

    name: str  # "opencl:0"
    label: str  # the vendor's name for it
    is_cpu: bool
    has_double: bool
    c: Dialect  # the language of its compiler
    total: int  # bytes of its memory
    most: int  # the most bytes of one block
    lock: Any  # held while a kernel's arguments are set and it is queued
    programs: dict[Any, Any]  # the programs compiled for it

    @property
    def lanes(self) -> int:
        """For a CPU: the number of floats in a vector register."""

    # ---- memory ----------------------------------------------------------------------------------

    def allocate(self, nbytes: int) -> Any:
        """A new block, valid until `free`. MemoryError if there is no room."""

    def free(self, blocks: Sequence[Any]) -> None:
        """Return blocks to the driver once all queued work is done. Raises nothing: there may be
        nobody to catch it."""

    def read(self, host: bytearray, block: Any, start: int = 0) -> None:
        """Copy bytes of a block to the host, after all queued work. Waits."""

    def copy_in(self, block: Any, host: bytes, start: int = 0, beside: bool = False) -> Any:
        """Start copying bytes of the host into a block from byte `start` on. Returns the event,
        which keeps `host` alive. `beside`: through the second queue."""

    def copy_out(self, host: bytearray, block: Any) -> Any:
        """Start copying the first bytes of a block to the host, after all queued work. Returns the
        event, which keeps `host` alive."""

    def arrived(self, event: Any) -> bool:
        """Is that copy complete?"""

    def wait(self, event: Any) -> None:
        """Wait until that copy is complete."""

    def fork(self) -> None:
        """Make later work in the second queue wait for the work now in the first."""

    def join(self, event: Any) -> None:
        """Make later work in the first queue wait for that copy."""

    def flush(self) -> None:
        """Start all queued work now."""

    def synchronize(self) -> None:
        """Wait until all queued work is done."""

    # ---- kernels ---------------------------------------------------------------------------------

    def build(self, name: str, text: str) -> Any:
        """Compile a source whose kernel has that name. DeviceError if the compiler rejects it."""

    def kernel(self, program: Any, name: str, types: Sequence[str | None]) -> Any:
        """A kernel of a program, with its own arguments: `set_arg(at, block)` sets one. `types`:
        the type of each argument, None for memory."""

    def set_number(self, kernel: Any, at: int, number: bytes) -> None:
        """Set an argument to the bytes of a number."""

    def launch(self, kernel: Any, grid: Grid, args: Any = None) -> None:
        """Queue a kernel over a grid, with `args` (blocks and numbers), or its arguments as set."""

    def launch_all(self, launches: Sequence[tuple[Any, Grid]]) -> None:
        """Queue kernels, each over its grid, with their arguments as set."""
