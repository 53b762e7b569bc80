"""OpenCL: devices of any kind, with memory of their own, behind the same registry.

`DEVICE` is what tutor knows of them, `table(index)` the kernels of one. Needs pyopencl; nothing of
this is imported by `import tutor`.
"""

from tutor.backends.opencl.device import DEVICE
from tutor.backends.opencl.kernels import table

DEVICE.table = table
__all__ = ["DEVICE", "table"]
