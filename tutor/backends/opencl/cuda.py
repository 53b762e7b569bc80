"""The same kernels as CUDA: their sources in that dialect, compiled to PTX by NVRTC.

    >>> from tutor.backends.opencl.cuda import Paper, nvrtc  # doctest: +SKIP
    >>> paper = Paper()  # doctest: +SKIP
    >>> paper.rows["add", float32](*operands)  # nothing runs, it is compiled  # doctest: +SKIP
    >>> list(paper.place.programs.values())[0].ptx[:40]  # doctest: +SKIP

`Paper` is a device that is none: memory on it holds nothing, and a launch compiles and returns. So
all that the table of kernels would launch on a GPU can be compiled where there is no GPU. NVRTC is
the wheel nvidia-cuda-nvrtc-cu12; it needs no driver.
"""

from __future__ import annotations

import ctypes
import importlib.util
import pathlib
import threading
from collections.abc import Sequence
from typing import Any

from tutor.backends.opencl.kernels import rows_of
from tutor.backends.opencl.memory import DeviceMemory, Part, Pool
from tutor.backends.registry import Operand
from tutor.backends.text.dialect import CUDA
from tutor.errors import DeviceError, MissingPackageError

# Nothing is contracted, nothing is fast.
OPTIONS = ("-fmad=false", "-std=c++17", "-arch=compute_70")


class Nvrtc:
    """NVIDIA's compiler of CUDA at run time, a shared library with C functions."""

    def __init__(self, path: str) -> None:
        self.library = ctypes.CDLL(path)

    def ptx(self, text: str, name: str) -> bytes:
        """The assembly of a source. DeviceError with the compiler's first error."""
        program, options = ctypes.c_void_p(), [o.encode() for o in OPTIONS]
        lib, c_text = self.library, text.encode()
        lib.nvrtcCreateProgram(ctypes.byref(program), c_text, f"{name}.cu".encode(), 0, None, None)
        try:
            array = (ctypes.c_char_p * len(options))(*options)
            if lib.nvrtcCompileProgram(program, len(options), array):
                log = self.text("ProgramLog", program).decode(errors="replace")
                first = next((line for line in log.splitlines() if "error" in line), log)
                raise DeviceError(f"to compile kernel {name} as CUDA", f"NVRTC says: {first}")
            return self.text("PTX", program)
        finally:
            lib.nvrtcDestroyProgram(ctypes.byref(program))

    def text(self, what: str, program: ctypes.c_void_p) -> bytes:
        size = ctypes.c_size_t()
        self.library[f"nvrtcGet{what}Size"](program, ctypes.byref(size))
        buffer = ctypes.create_string_buffer(size.value)
        self.library[f"nvrtcGet{what}"](program, buffer)
        return buffer.raw.rstrip(b"\0")


def nvrtc() -> Nvrtc:
    """The library of the wheel; MissingPackageError where it is not installed."""
    spec = importlib.util.find_spec("nvidia")
    for folder in spec.submodule_search_locations or [] if spec else []:
        for path in pathlib.Path(folder).glob("cuda_nvrtc/lib/libnvrtc.so.*"):
            if "builtins" not in path.name and ".alt." not in path.name:
                return Nvrtc(str(path))
    raise MissingPackageError(
        "to compile kernels as CUDA",
        "NVRTC is not installed",
        "pip install nvidia-cuda-nvrtc-cu12",
    )


class Ptx:
    """One kernel, compiled; a launch of it does nothing. Stands where `Compiled` does."""

    def __init__(self, place: Any, name: str, text: str, types: Sequence[Any]) -> None:
        self.name, self.text, self.types = name, text, types
        self.ptx = place.compiler.ptx(text, name)

    def __call__(self, *_: Any, **__: Any) -> None:
        return None


class PaperPlace:
    """What kernels ask of a place, and no device."""

    name, is_cpu, has_double, c, maker = "cuda:0", False, True, CUDA, Ptx

    def __init__(self) -> None:
        self.programs: dict[Any, Ptx] = {}
        self.lock = threading.RLock()
        self.compiler = nvrtc()

    def read(self, host: Any, block: Any, start: int = 0) -> None:
        return None


class Paper(Pool):
    """Memory that holds nothing, and the table of kernels over it."""

    def __init__(self) -> None:  # not Pool's: there is no device to ask
        self.place: Any = PaperPlace()
        self.copies: Any = self
        self.rows = rows_of(self)

    def take(self, nbytes: int) -> tuple[Any, int]:
        return None, 0

    def write(self, *_: Any) -> None:
        return None

    def operand(self, spec: Any) -> Operand:
        """An operand as a case of the conformance suite describes it."""
        memory = DeviceMemory(self, spec.room, spec.dtype.format)
        return Operand(Part(memory, spec.dtype), spec.shape, spec.strides, spec.offset)
