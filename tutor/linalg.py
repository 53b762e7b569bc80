"""The array API's extension `linalg`, `Tensor(...).__array_namespace__().linalg`.

Products, diagonals and lengths are tutor's own, and gradients flow through them. Decompositions and
what is made of them (`inv`, `solve`, `svd`) are computed by NumPy and come back as Tensors: they
have no derivative here, so a Tensor that requires grad is refused.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from tutor.array_api import (  # noqa: F401 - the standard has these four in both places
    matmul,
    matrix_transpose,
    tensordot,
    vecdot,
)
from tutor.exchange.numpy_protocol import as_tensors, by_numpy
from tutor.ground.typing import Axes, DTypeLike
from tutor.methods.tensor import Tensor

COMPUTED_BY_NUMPY = """
    cholesky cross det eigh eigvalsh inv matrix_norm matrix_power matrix_rank pinv qr slogdet solve
    svd svdvals
"""


def diagonal(x: Tensor, /, *, offset: int = 0) -> Tensor:
    """The elements [..., i, i + offset] of matrices. A view."""
    return x.diagonal(offset, -2, -1)


def trace(x: Tensor, /, *, offset: int = 0, dtype: DTypeLike | None = None) -> Tensor:
    """The sum of each matrix's diagonal."""
    return diagonal(x, offset=offset).sum(-1, dtype=dtype)


def outer(x1: Tensor, x2: Tensor, /) -> Tensor:
    """z_ij = x_i y_j, of two vectors."""
    return x1.outer(x2)


def vector_norm(
    x: Tensor, /, *, axis: Axes | None = None, keepdims: bool = False, ord: float = 2
) -> Tensor:
    """(sum |x|**ord)**(1/ord): Tensor.norm."""
    return x.norm(ord, axis, keepdims)


def _numpys(name: str) -> Callable[..., Any]:
    def function(*operands: Any, **options: Any) -> Any:
        numpys = getattr(importlib.import_module("numpy.linalg"), name)
        return as_tensors(by_numpy(f"linalg.{name}", numpys, operands, options))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"numpy.linalg.{name}, of Tensors."
    return function


globals().update({name: _numpys(name) for name in COMPUTED_BY_NUMPY.split()})
