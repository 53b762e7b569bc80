"""Paper: a device that does not exist. Its kernels are compiled, and a launch does nothing.

    >>> paper = Paper()
    >>> paper.rows["add", float32](*operands)  # nothing runs, it is compiled
    >>> list(paper.place.programs.values())[0].program[:40]  # its PTX

Memory on it holds nothing. So all kernels that the table would launch on a GPU can be compiled
without a GPU or a driver.
"""

from __future__ import annotations

import threading
from typing import Any

from tutor.backends.codegen.dialect import CUDA
from tutor.backends.cuda.nvrtc import nvrtc
from tutor.backends.opencl.kernels import rows_of
from tutor.backends.opencl.memory import DeviceMemory, Part, Pool
from tutor.backends.registry import Operand


class PaperPlace:
    """The interface of a place, without a device."""

    name = label = "cuda:0"
    is_cpu, has_double, c, lanes, total, most = False, True, CUDA, 1, 0, 0

    def __init__(self) -> None:
        self.programs: dict[Any, Any] = {}
        self.lock = threading.RLock()
        self.compiler = nvrtc()

    def build(self, name: str, text: str) -> bytes:
        """The PTX of the source."""
        return self.compiler.ptx(text, name)

    def kernel(self, program: bytes, name: str, types: Any) -> str:
        return name

    def launch(self, *_: Any) -> None:
        return None

    def read(self, host: Any, block: Any, start: int = 0) -> None:
        return None


class Paper(Pool):
    """Memory that holds nothing, and the table of its kernels."""

    def __init__(self) -> None:  # instead of Pool's: there is no device to ask
        self.place: Any = PaperPlace()
        self.copies: Any = self
        self.rows = rows_of(self)

    def take(self, nbytes: int, holder: Any) -> Any:
        return None

    def write(self, *_: Any) -> None:
        return None

    def operand(self, spec: Any) -> Operand:
        """The operand that a case of the conformance suite describes."""
        memory = DeviceMemory(self, spec.room, spec.dtype.format)
        return Operand(Part(memory, spec.dtype), spec.shape, spec.strides, spec.offset)
