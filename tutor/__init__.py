"""tutor: a deep-learning library a person can read completely, and that is nevertheless fast.

Four boxes: Buffer (flat typed memory), Tensor (a Buffer plus walking instructions), Op (forward and
backward of one operation), Engine (runs Ops, keeps the graph, walks it backward). Read `tutor/core`
in the order buffer, op, engine, tensor. Kernels are found in one registry; `python_ref` defines
what is right, `simd_cpp` must agree with it and is fast.
"""

from typing import Any

from tutor import data, errors, nn, ops, optim, random, testing
from tutor.backends import python_ref, registry, simd_cpp
from tutor.backends.registry import use_backend
from tutor.core.buffer import Buffer
from tutor.core.engine import Engine, apply, backward, engine, no_grad
from tutor.core.op import OPS, Op
from tutor.core.tensor import Tensor
from tutor.custom import Function
from tutor.dtype import TABLE as DTYPES
from tutor.dtype import (
    bfloat16,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    promote,
    uint8,
    uint16,
    uint32,
    uint64,
)
from tutor.dtype import bool_ as bool  # named as NumPy and the array API name it
from tutor.einsum import einsum
from tutor.ops.movement import cat, concatenate, stack
from tutor.random import manual_seed

__version__ = "0.1.0"
__all__ = [
    "DTYPES", "OPS", "Buffer", "Engine", "Function", "Op", "Tensor", "apply", "arange",
    "backward", "bfloat16", "bool", "cat", "concatenate", "data", "einsum", "engine", "errors",
    "eye", "float16", "float32", "float64", "from_dlpack", "full", "int8", "int16", "int32",
    "int64", "linspace", "manual_seed", "meshgrid", "nn", "no_grad", "ones", "ops", "optim",
    "promote", "python_ref", "rand", "randn", "random", "registry", "simd_cpp", "stack",
    "testing", "uint8", "uint16", "uint32", "uint64", "use_backend", "where", "zeros",
]  # fmt: skip


def where(cond: Any, x: Any, y: Any) -> Tensor:
    """x where cond is true, else y; cond is a bool Tensor, x and y Tensors or numbers."""
    return apply("where", cond, x, y)


def meshgrid(*xs: Tensor, indexing: str = "xy") -> tuple[Tensor, ...]:
    """Coordinates of a grid: for each 1-D x a tensor over all axes together, which repeats x along
    its own. "xy": the first two axes are (rows y, columns x), as in pictures; "ij": in order."""
    if indexing not in ("xy", "ij") or any(x.ndim != 1 for x in xs):
        raise errors.ShapeError(
            f"meshgrid of shapes {[x.shape for x in xs]}, {indexing=}",
            "it takes 1-D tensors, and indexing 'xy' or 'ij'",
            "flatten them, or choose one of the two",
        )
    sizes = tuple(x.numel() for x in xs)
    grids = tuple(
        x.reshape(tuple(n if a == i else 1 for a, n in enumerate(sizes))).expand(sizes)
        for i, x in enumerate(xs)
    )
    return tuple(g.transpose(0, 1) for g in grids) if indexing == "xy" and len(xs) > 1 else grids


zeros, ones, full, arange, eye = Tensor.zeros, Tensor.ones, Tensor.full, Tensor.arange, Tensor.eye
linspace = Tensor.linspace
rand, randn = Tensor.rand, Tensor.randn
