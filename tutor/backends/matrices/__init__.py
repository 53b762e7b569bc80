"""Kernels on matrices, which no backend's own table has: `reference`, in plain Python, is for
python_ref, and `lapack`, by way of NumPy, for simd_cpp.

Both are tables of rows like any other. The registry asks for them when tutor.linalg does, and is
told here which backend they are for.
"""

from tutor.backends import registry
from tutor.backends.matrices import lapack, reference

registry.extend("python_ref", reference.table)
registry.extend("simd_cpp", lapack.table)
