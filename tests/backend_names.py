"""The backends under test: python_ref, and every instruction-set level of simd_cpp by a name of its
own, so that one run covers what else would need one process per TUTOR_SIMD.
"""

from __future__ import annotations

import os

from tutor.backends import registry, simd_cpp


def _levels() -> list[str]:
    """TUTOR_SIMD's level, else all that this CPU has.

    Without the extension this raises KernelNotFound, and the suite fails: a machine that cannot
    build it says so with TUTOR_PURE=1, as when installing.
    """
    if os.environ.get("TUTOR_PURE"):
        return []
    return [simd_cpp.level()] if os.environ.get("TUTOR_SIMD") else simd_cpp.levels()


LEVELS = [f"simd_cpp.{level}" for level in _levels()]
for name in LEVELS:
    registry.register(name, simd_cpp.table(name.removeprefix("simd_cpp.")))
BACKENDS = ["python_ref", *LEVELS]
