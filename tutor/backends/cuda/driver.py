"""The CUDA driver: a shared library with C functions, called through ctypes.

The table below lists the functions and their arguments, from NVIDIA's cuda.h; each returns 0 or an
error number (enum CUresult). Names end in _v2 where cuda.h defines the shorter name as that
version.
"""

from __future__ import annotations

import ctypes
import functools
import sys
from ctypes import POINTER, c_char_p, c_int, c_size_t, c_uint, c_uint64, c_void_p
from typing import Any

from tutor.errors import DeviceError

LIBRARY = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
ADDRESS = c_uint64  # CUdeviceptr
HANDLE = c_void_p  # CUcontext, CUmodule, CUfunction, CUstream, CUevent: opaque pointers
MAJOR, MINOR = 75, 76  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_...

FUNCTIONS: dict[str, tuple[Any, ...]] = {
    "cuInit": (c_uint,),
    "cuDriverGetVersion": (POINTER(c_int),),
    "cuGetErrorName": (c_int, POINTER(c_char_p)),
    "cuGetErrorString": (c_int, POINTER(c_char_p)),
    "cuDeviceGetCount": (POINTER(c_int),),
    "cuDeviceGet": (POINTER(c_int), c_int),
    "cuDeviceGetName": (c_char_p, c_int, c_int),
    "cuDeviceTotalMem_v2": (POINTER(c_size_t), c_int),
    "cuDeviceGetAttribute": (POINTER(c_int), c_int, c_int),
    "cuDevicePrimaryCtxRetain": (POINTER(HANDLE), c_int),
    "cuCtxSetCurrent": (HANDLE,),
    "cuStreamCreate": (POINTER(HANDLE), c_uint),
    "cuStreamSynchronize": (HANDLE,),
    "cuStreamWaitEvent": (HANDLE, HANDLE, c_uint),
    "cuEventCreate": (POINTER(HANDLE), c_uint),
    "cuEventRecord": (HANDLE, HANDLE),
    "cuEventQuery": (HANDLE,),
    "cuEventSynchronize": (HANDLE,),
    "cuEventDestroy_v2": (HANDLE,),
    "cuMemAlloc_v2": (POINTER(ADDRESS), c_size_t),
    "cuMemFree_v2": (ADDRESS,),
    "cuMemcpyHtoDAsync_v2": (ADDRESS, c_void_p, c_size_t, HANDLE),
    "cuMemcpyDtoHAsync_v2": (c_void_p, ADDRESS, c_size_t, HANDLE),
    "cuMemsetD32Async": (ADDRESS, c_uint, c_size_t, HANDLE),
    "cuModuleLoadData": (POINTER(HANDLE), c_char_p),
    "cuModuleGetFunction": (POINTER(HANDLE), HANDLE, c_char_p),
    "cuModuleGetGlobal_v2": (POINTER(ADDRESS), POINTER(c_size_t), HANDLE, c_char_p),
    "cuLaunchKernel": (
        HANDLE, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, HANDLE, POINTER(c_void_p),
        POINTER(c_void_p),
    ),
}  # fmt: skip


class DriverError(Exception):
    """A driver has returned an error number."""

    def __init__(self, code: int, words: str) -> None:
        self.code, self.words = code, words
        super().__init__(words)


class Driver:
    """The functions of one library, with the types of their arguments. DriverError if it does not
    start."""

    def __init__(self, library: Any) -> None:
        self.functions: dict[str, Any] = {}
        for name, types in FUNCTIONS.items():
            function = getattr(library, name)
            function.argtypes, function.restype = types, c_int
            self.functions[name] = function
        self.call("cuInit", 0)

    def call(self, name: str, *args: Any) -> None:
        """Call that function. DriverError if it returns an error number."""
        code = self.functions[name](*args)
        if code:
            raise DriverError(code, f"{name}: {self.words(code)}")

    def made(self, name: str, kind: Any, *args: Any) -> Any:
        """Call that function and return its first argument, an output of type `kind`."""
        found = kind()
        self.call(name, ctypes.byref(found), *args)
        return found.value

    def words(self, code: int) -> str:
        """The meaning of the number: CUDA_ERROR_..., and a sentence."""
        said = []
        for name in ("cuGetErrorName", "cuGetErrorString"):
            text = c_char_p()
            if self.functions[name](code, ctypes.byref(text)) == 0 and text.value:
                said.append(text.value.decode(errors="replace"))
        return ", ".join(said) or f"error {code}"

    def count(self) -> int:
        """The number of devices. DeviceError if there is none."""
        count = int(self.made("cuDeviceGetCount", c_int))
        if count == 0:
            raise none(f"the driver ({LIBRARY}) finds no device", HIDDEN)
        return count

    def version(self) -> str:
        """The newest CUDA version it supports: "12.4"."""
        number = int(self.made("cuDriverGetVersion", c_int))
        return f"{number // 1000}.{number % 1000 // 10}"


HIDDEN = "see what nvidia-smi says, and whether CUDA_VISIBLE_DEVICES hides it"


def none(found: str, do: str) -> DeviceError:
    return DeviceError("a device of the kind 'cuda'", found, do)


@functools.cache
def driver() -> Driver:
    """The driver of this machine. DeviceError if there is none, or it does not start."""
    try:
        return Driver(ctypes.CDLL(LIBRARY))
    except OSError:
        raise none(
            f"no NVIDIA driver is here: {LIBRARY} cannot be loaded",
            "install the driver of the card; without one there is 'cpu', or 'opencl'",
        ) from None
    except AttributeError as error:
        raise none(
            f"{LIBRARY} is none that is new enough: {error}", "install a driver of CUDA 11 or later"
        ) from None
    except DriverError as error:
        raise none(f"the driver ({LIBRARY}) does not start: {error}", HIDDEN) from None
