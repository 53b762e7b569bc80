"""DEVICE: all OpenCL devices, as tutor sees them.

>>> from tutor.backends.opencl import DEVICE  # doctest: +SKIP
>>> DEVICE.count(), DEVICE.name(0)  # doctest: +SKIP
(1, 'pthread-AMD EPYC (Portable Computing Language)')
"""

from __future__ import annotations

from tutor.backends.opencl.device_context import OpenCLContext, found, place
from tutor.backends.opencl.kind import DeviceKind


def called(one: OpenCLContext) -> str:
    return f"{one.label} ({one.device.platform.name.strip()})"


DEVICE = DeviceKind("opencl", lambda: len(found()), place, called)
pool, table = DEVICE.pool, DEVICE.table
