"""The kernel `fused` of python_ref: a chain of any other kernels of its, as one call.

It defines what a chain computes. It is not in the folder python_ref, since no op has this kernel:
only Programs make such calls (tutor/programs/passes/fuse.py), and they stand on the trunk.
"""

from __future__ import annotations

import math
from types import SimpleNamespace

from tutor._storage.bounds_checks import guarded
from tutor._storage.layout import Shape, axes_of, contiguous_strides
from tutor.backends import bytecode, python_ref, registry
from tutor.backends.python_ref.walk import Kernel, Operand, read, write
from tutor.backends.shape_rules import without
from tutor.backends.signatures import SIGNATURES


def fused(out: Operand, *ins: Operand, code: str, results: int, axis: int | Shape) -> None:
    """o0, o1, ... = the results of the instructions of `code` on i0, i1, ..., run in order"""
    first = len(ins) + 1 - results
    shape = out.shape if bytecode.product(code) else ins[0].shape
    axis, dtypes = axes_of(axis, len(shape)), [x.buf.dtype for x in (out, *ins)]
    values = {f"i{n}": x for n, x in enumerate(ins[:first])}
    for row, dtype in bytecode.check(code, dtypes, results, shape, axis):
        left, over = (without(shape, axis), {"axis": axis}) if row.reduces else (shape, {})
        raw = memoryview(bytearray(math.prod(left) * dtype.itemsize))
        z = Operand(SimpleNamespace(dtype=dtype, raw=raw), left, contiguous_strides(left), 0)
        kernel: Kernel = python_ref.KERNELS[row.kernel]
        kernel(z, *[values[arg] for arg in row.args], **over)
        values[row.dest] = z
    for n, result in enumerate((out, *ins[first:])):
        write(result, read(values[f"o{n}"]))


def table() -> registry.Table:
    """All kernels of python_ref, and this one."""
    kernel = guarded("fused", fused)
    chains = {("fused", dtype): kernel for dtype in SIGNATURES["fused"].dtypes}
    return {**python_ref.table(), **chains}
