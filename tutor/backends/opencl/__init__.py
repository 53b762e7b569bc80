"""OpenCL: devices of any kind, with memory of their own, behind the same registry.

`DEVICE` is what tutor knows of them, `table(index)` the kernels of one. That needs pyopencl; the
kernels do not, which CUDA has too (../cuda), so both names are made when they are first asked for.
Nothing of this is imported by `import tutor`.
"""

from typing import Any

__all__ = ["DEVICE", "table"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from tutor.backends.opencl import device

    return getattr(device, name)
