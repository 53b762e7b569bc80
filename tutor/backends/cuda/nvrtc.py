"""NVRTC: NVIDIA's run-time compiler for CUDA, a shared library with C functions.

It comes with the wheel nvidia-cuda-nvrtc-cu12 or an installed CUDA, and needs no driver. Its output
is PTX, an assembly language that the driver translates for the device.
"""

from __future__ import annotations

import ctypes
import functools
import importlib.util
import pathlib
from collections.abc import Iterator, Sequence
from typing import Any

from tutor.errors import DeviceError, MissingPackageError

# No contraction and no fast math: no -use_fast_math, and -ftz=false, -prec-div=true and
# -prec-sqrt=true are the defaults.
OPTIONS = ("-fmad=false", "-std=c++17")
# In the wheels, for CUDA 12 and 13, Linux and Windows; then in an installed CUDA.
WHEELS = (
    "cuda_nvrtc/lib/libnvrtc.so.[0-9]*", "cu13/lib/libnvrtc.so.[0-9]*",
    "cuda_nvrtc/bin/nvrtc64_*0_0.dll", "cu13/bin/x86_64/nvrtc64_*0_0.dll",
)  # fmt: skip
NAMES = ("libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so")


class Nvrtc:
    """The library, for a device of a compute capability: (8, 0) is an A100's."""

    def __init__(self, library: Any, capability: Sequence[int]) -> None:
        self.library = library
        library.nvrtcGetErrorString.restype = ctypes.c_char_p
        self.options = (*OPTIONS, f"-arch=compute_{self.newest(capability)}")

    def newest(self, capability: Sequence[int]) -> int:
        """The newest architecture that both it and the device support: 80 for (8, 0). The driver
        also translates PTX for older ones."""
        count = ctypes.c_int()
        self.call("nvrtcGetNumSupportedArchs", ctypes.byref(count))
        known = (ctypes.c_int * count.value)()
        self.call("nvrtcGetSupportedArchs", known)
        has = 10 * capability[0] + capability[1]
        found = [arch for arch in known if arch <= has]
        if not found:
            raise DeviceError(
                f"to compile for a device of compute capability {capability[0]}.{capability[1]}",
                f"NVRTC {self.version()} knows {min(known) / 10} to {max(known) / 10}",
                "pip install an older nvidia-cuda-nvrtc-cu12, or compute on the CPU: .to('cpu')",
            )
        return max(found)

    def call(self, name: str, *args: Any) -> None:
        """Call that function. DeviceError if it returns an error number."""
        if code := self.library[name](*args):
            words = self.library.nvrtcGetErrorString(code).decode(errors="replace")
            raise DeviceError(
                "to compile kernels as CUDA", f"NVRTC says: {words}, of {name}",
                "install it again: pip install --force-reinstall nvidia-cuda-nvrtc-cu12",
            )  # fmt: skip

    def version(self) -> str:
        """Its version: "12.9"."""
        major, minor = ctypes.c_int(), ctypes.c_int()
        self.call("nvrtcVersion", ctypes.byref(major), ctypes.byref(minor))
        return f"{major.value}.{minor.value}"

    def ptx(self, text: str, name: str) -> bytes:
        """The PTX of a source. DeviceError with the compiler's first error."""
        program, options = ctypes.c_void_p(), [option.encode() for option in self.options]
        file = f"{name}.cu".encode()
        self.call("nvrtcCreateProgram", ctypes.byref(program), text.encode(), file, 0, None, None)
        try:
            array = (ctypes.c_char_p * len(options))(*options)
            if self.library.nvrtcCompileProgram(program, len(options), array):
                log = self.text("ProgramLog", program).decode(errors="replace")
                first = next((line for line in log.splitlines() if "error" in line), log)
                raise DeviceError(
                    f"to compile kernel {name} as CUDA",
                    f"NVRTC says: {first}",
                    "TUTOR_DEBUG=4 prints the source; the CPU takes it: .to('cpu')",
                )
            return self.text("PTX", program)
        finally:
            self.library.nvrtcDestroyProgram(ctypes.byref(program))

    def text(self, what: str, program: ctypes.c_void_p) -> bytes:
        size = ctypes.c_size_t()
        self.call(f"nvrtcGet{what}Size", program, ctypes.byref(size))
        buffer = ctypes.create_string_buffer(size.value)
        self.call(f"nvrtcGet{what}", program, buffer)
        return buffer.raw.rstrip(b"\0")


@functools.cache
def nvrtc(capability: Sequence[int] = (7, 5)) -> Nvrtc:
    """The library, for devices of that compute capability. MissingPackageError if it is not
    installed."""
    for name in libraries():
        try:
            return Nvrtc(ctypes.CDLL(name), capability)
        except OSError:  # not found, or for another system
            continue
    raise MissingPackageError(
        "to compile kernels as CUDA",
        "NVRTC is not installed",
        "pip install nvidia-cuda-nvrtc-cu12",
    )


def libraries() -> Iterator[str]:
    """Its possible paths: the wheel first."""
    spec = importlib.util.find_spec("nvidia")
    for folder in spec.submodule_search_locations or [] if spec else []:
        for pattern in WHEELS:
            for path in pathlib.Path(folder).glob(pattern):
                if ".alt." not in path.name:  # a variant for processes with another allocator
                    yield str(path)
    yield from NAMES
