"""The backends under test: python_ref, and every instruction-set level of simd_cpp by a name of its
own, so that one run covers what else would need one process per TUTOR_SIMD. And the devices.
"""

from __future__ import annotations

import os

import missing

from tutor._util import interpreter
from tutor.backends import devices, registry, simd_cpp


def _levels() -> list[str]:
    """TUTOR_SIMD's level, else all that this CPU has.

    Without the extension this raises KernelNotFound, and the suite fails, unless it was left out on
    purpose: by TUTOR_PURE=1 now, or when the library was installed; or Python has no lock.
    """
    if os.environ.get("TUTOR_PURE") or missing.pure() or not interpreter.has_lock():
        return []
    return [simd_cpp.level()] if os.environ.get("TUTOR_SIMD") else simd_cpp.levels()


LEVELS = [f"simd_cpp.{level}" for level in _levels()]
for name in LEVELS:
    registry.register(name, simd_cpp.table(name.removeprefix("simd_cpp.")))
BACKENDS = ["python_ref", *LEVELS]


def _devices() -> list[str]:
    """The devices here beside the host, the first of each kind; none where TUTOR_DEVICES=0."""
    if os.environ.get("TUTOR_DEVICES") == "0":
        return []
    return [name for name in devices.names() if name.endswith(":0")]


DEVICES = _devices()
PLACES = [*BACKENDS, *DEVICES]
