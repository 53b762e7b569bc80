"""CUDA: NVIDIA's devices, with the kernels of ../opencl in the dialect CUDA.

`kind()` describes these devices; DeviceError if there is no driver with a device. It needs the
driver (libcuda.so.1, nvcuda.dll) and the compiler NVRTC, both called through ctypes, and no other
package. `import tutor` imports nothing of this.
"""

from tutor.backends.cuda.device import kind

__all__ = ["kind"]
