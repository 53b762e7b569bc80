"""kind(): all CUDA devices, as tutor sees them.

>>> from tutor.backends.cuda import kind  # doctest: +SKIP
>>> kind().count(), kind().name(0)  # doctest: +SKIP
(1, 'NVIDIA A100-SXM4-40GB (compute capability 8.0)')
"""

from __future__ import annotations

import functools

from tutor.backends.cuda.device_context import CudaContext
from tutor.backends.cuda.driver import driver
from tutor.backends.opencl.kind import DeviceKind
from tutor.errors import DeviceError


def called(one: CudaContext) -> str:
    major, minor = one.capability
    return f"{one.label} (compute capability {major}.{minor})"


@functools.cache
def kind() -> DeviceKind:
    """All CUDA devices. DeviceError if there is no driver, or none with a device."""
    count = driver().count()

    @functools.cache
    def place(index: int) -> CudaContext:
        if not 0 <= index < count:
            raise DeviceError(
                f"the device cuda:{index}",
                f"the driver has {count}, counted from cuda:0",
                "use one of those; CUDA_VISIBLE_DEVICES hides the others from this process",
            )
        return CudaContext(driver(), index)

    return DeviceKind("cuda", lambda: count, place, called)
