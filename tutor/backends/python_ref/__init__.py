"""The reference backend: what every kernel must compute, in the shortest plain Python.

It is the specification. Operands are read as lists of Python numbers (floats are float64), the
formula is applied, and each result is rounded once to the dtype of `out`. Read `walk` first: it
turns operands into lists and back. Every other file is a family of kernels and ends with its rows
of the table.
"""

from __future__ import annotations

from tutor._storage.bounds_checks import guarded
from tutor.backends import registry
from tutor.backends.python_ref import (
    attention,
    elementwise,
    fused,
    matmul,
    movement,
    norm,
    optimizer,
    random,
    recurrent,
    reduce,
    scan,
    window,
)
from tutor.backends.signatures import SIGNATURES

KERNELS = {
    **elementwise.KERNELS,
    **reduce.KERNELS,
    **scan.KERNELS,
    **matmul.KERNELS,
    **movement.KERNELS,
    **fused.KERNELS,
    **optimizer.KERNELS,
    **random.KERNELS,
    **window.KERNELS,
    **attention.KERNELS,
    **norm.KERNELS,
    **recurrent.KERNELS,
}


def table() -> registry.Table:
    """`{(name, dtype): kernel}` for all but `fused` (chains.py). One serves all dtypes; `guarded`
    checks that its operands stay within their memory, whoever the caller is."""
    kernels = {name: guarded(name, kernel) for name, kernel in KERNELS.items()}
    return {(name, dtype): kernels[name] for name in kernels for dtype in SIGNATURES[name].dtypes}
