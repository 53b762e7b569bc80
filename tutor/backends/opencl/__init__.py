"""OpenCL: devices of any kind, with memory of their own, behind the same registry.

`DEVICE` describes these devices, `table(index)` returns the kernels of one. Both need pyopencl; the
kernels, which CUDA shares (../cuda), do not, so both names are created on first use. `import tutor`
imports nothing of this.
"""

from typing import Any

__all__ = ["DEVICE", "table"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from tutor.backends.opencl import device

    return getattr(device, name)
