"""Matrix kernels, which the backends' own tables lack: `reference`, in plain Python, is for
python_ref, and `lapack`, through NumPy, for simd_cpp.

Both are tables of rows like any other. The registry loads them when tutor.linalg needs them, and
learns here which backend they belong to.
"""

from tutor.backends import registry
from tutor.backends.matrices import lapack, reference

registry.extend("python_ref", reference.table)
registry.extend("simd_cpp", lapack.table)
