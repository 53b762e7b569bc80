"""CUDA: NVIDIA's devices, with the kernels of ../opencl in the dialect CUDA.

`kind()` is what tutor knows of them; DeviceError where no driver with a device is. It needs the
driver (libcuda.so.1, nvcuda.dll) and the compiler NVRTC, both through ctypes, and no other package.
Nothing of this is imported by `import tutor`.
"""

from tutor.backends.cuda.device import kind

__all__ = ["kind"]
