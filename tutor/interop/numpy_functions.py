"""NumPy functions that tutor implements, under NumPy's names and with NumPy's parameters.

NumPy handles any function that is missing here or returns NotImplemented, and any call with other
parameters (`where=`, `initial=`): see tutor/interop/numpy_protocol.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tutor import array_api as xp
from tutor._storage import layout
from tutor._storage.array_like import is_number
from tutor.core.engine import apply
from tutor.errors import ShapeError
from tutor.functions.einsum import einsum
from tutor.methods.tensor import Tensor


def operand(x: Any, like: Tensor | None = None) -> Any:
    """x as an operand of an op; an array goes to the device of the Tensor `like`."""
    if isinstance(x, Tensor) or is_number(x):
        return x
    return Tensor(x, device=None if like is None else like.device)


def _several(arrays: Any) -> list[Tensor]:
    return [xp.asarray(x) for x in arrays]


def _cut(a: Tensor, where: Any, axis: int = 0) -> Any:
    """np.split: into `where` equal parts, or before each of the positions in `where`."""
    at = layout.axis_of(axis, a.ndim)
    n = a.shape[at]
    if isinstance(where, int):
        if where < 1 or n % where:
            raise ShapeError(
                f"np.split into {where} parts", f"{n} rows", "name positions, or use .chunk()"
            )
        where = range(n // where, n, n // where) if n else [0] * (where - 1)
    ends = [slice(i).indices(n)[1] for i in where]
    key = (slice(None),) * at
    return [a[(*key, slice(i, j))] for i, j in zip([0, *ends], [*ends, n], strict=True)]


def _new_axes(a: Tensor, axis: Any) -> Tensor:
    axes = layout.whole_numbers(axis, "axes")
    for at in sorted(layout.axis_of(i, a.ndim + len(axes)) for i in axes):
        a = a.unsqueeze(at)
    return a


def _along(method: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """A method along one axis; axis=None means all numbers, flattened."""

    def run(a: Tensor, axis: int | None, **options: Any) -> Tensor:
        return method(a.flatten(), 0, **options) if axis is None else method(a, axis, **options)

    return run


_argsort, _sort = _along(Tensor.argsort), _along(Tensor.sort)
_cumsum, _cumprod = _along(Tensor.cumsum), _along(Tensor.cumprod)


def _norm(x: Tensor, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """The length of vectors; orders other than None mean matrix norms, which are left to NumPy."""
    if ord is None or (is_number(ord) and (isinstance(axis, int) or x.ndim == 1)):
        return x.norm(2 if ord is None else ord, axis, keepdims)
    return NotImplemented


def _dot(a: Any, b: Any) -> Tensor:
    """Beyond two axes NumPy's `dot` sums over the last axis of a and the last but one of b."""
    x, y = xp.asarray(a), xp.asarray(b)
    if not x.ndim or not y.ndim:
        return x * y
    return x @ y if y.ndim <= 2 else xp.tensordot(x, y, axes=((-1,), (-2,)))


def _clip(x: Any, /, a_min: Any = None, a_max: Any = None, *, min: Any = None,
          max: Any = None) -> Tensor:  # fmt: skip
    """np.clip: each bound has two names."""
    low, high = a_min if min is None else min, a_max if max is None else max
    return xp.clip(xp.asarray(x), low, high)


def _where(condition: Any, *xy: Any) -> Any:
    condition = xp.asarray(condition) != 0
    return apply("where", condition, *map(operand, xy)) if xy else condition.nonzero()


def _std(x: Tensor, axis: Any = None, *, ddof: float = 0, correction: float | None = None,
         keepdims: bool = False) -> Tensor:  # fmt: skip
    return x.std(axis, ddof if correction is None else correction, keepdims)


def _var(x: Tensor, axis: Any = None, *, ddof: float = 0, correction: float | None = None,
         keepdims: bool = False) -> Tensor:  # fmt: skip
    return x.var(axis, ddof if correction is None else correction, keepdims)


def _rows(arrays: Any) -> Tensor:
    return xp.concat([x.reshape(1, -1) if x.ndim < 2 else x for x in _several(arrays)])


def _columns(arrays: Any) -> Tensor:
    parts = [x.reshape(1) if not x.ndim else x for x in _several(arrays)]
    return xp.concat(parts, axis=0 if parts[0].ndim == 1 else 1)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    # along axes
    "all": lambda a, axis=None, *, keepdims=False: a.all(axis, keepdims),
    "any": lambda a, axis=None, *, keepdims=False: a.any(axis, keepdims),
    "argmax": lambda a, axis=None, *, keepdims=False: a.argmax(axis, keepdims),
    "argmin": lambda a, axis=None, *, keepdims=False: a.argmin(axis, keepdims),
    "argsort": lambda a, axis=-1, *, stable=None: _argsort(a, axis),
    "count_nonzero": lambda a, axis=None, *, keepdims=False: a.count_nonzero(axis, keepdims),
    "cumprod": lambda a, axis=None, dtype=None: _cumprod(a, axis, dtype=dtype),
    "cumsum": lambda a, axis=None, dtype=None: _cumsum(a, axis, dtype=dtype),
    "diff": lambda a, n=1, axis=-1: xp.diff(a, n=n, axis=axis),
    "max": lambda a, axis=None, *, keepdims=False: a.max(axis, keepdims),
    "mean": lambda a, axis=None, dtype=None, *, keepdims=False: a.mean(axis, keepdims, dtype=dtype),
    "min": lambda a, axis=None, *, keepdims=False: a.min(axis, keepdims),
    "nonzero": lambda a: a.nonzero(),
    "prod": lambda a, axis=None, dtype=None, *, keepdims=False: a.prod(axis, keepdims, dtype=dtype),
    "sort": lambda a, axis=-1, *, stable=None: _sort(a, axis),
    "std": _std,
    "sum": lambda a, axis=None, dtype=None, *, keepdims=False: a.sum(axis, keepdims, dtype=dtype),
    "var": _var,
    "linalg.norm": _norm,
    # element by element
    "clip": _clip,
    "imag": lambda val: xp.imag(val),
    "real": lambda val: xp.real(val),
    "round": lambda a: a.round(),
    "where": _where,
    # other shapes
    "broadcast_to": lambda array, shape: array.expand(shape),
    "concatenate": lambda arrays, /, axis=0: xp.concat(_several(arrays), axis=axis),
    "copy": lambda a: a.copy(),
    "diagonal": lambda a, offset=0, axis1=0, axis2=1: a.diagonal(offset, axis1, axis2),
    "expand_dims": _new_axes,
    "flip": lambda m, axis=None: m.flip(axis),
    "hstack": _columns,
    "moveaxis": lambda a, source, destination: a.movedim(source, destination),
    "ndim": lambda a: a.ndim,
    "ravel": lambda a: a.flatten(),
    "repeat": lambda a, repeats, axis=None: a.repeat(repeats, axis),
    "reshape": lambda a, shape: a.reshape(shape),
    "roll": lambda a, shift, axis=None: xp.roll(a, shift, axis=axis),
    "shape": lambda a: a.shape,
    "size": lambda a, axis=None: math.prod(a.shape) if axis is None else a.shape[axis],
    "split": _cut,
    "squeeze": lambda a, axis=None: a.squeeze(axis),
    "stack": lambda arrays, axis=0: xp.stack(_several(arrays), axis=axis),
    "swapaxes": lambda a, axis1, axis2: a.transpose(axis1, axis2),
    "take": lambda a, indices, axis=None: xp.take(
        xp.asarray(a).flatten() if axis is None else xp.asarray(a),
        xp.asarray(indices),
        axis=axis or 0,
    ),
    "tile": lambda A, reps: A.tile(reps),  # noqa: N803 - so NumPy calls it
    "trace": lambda a: a.trace(),
    "transpose": lambda a, axes=None: a.T if axes is None else a.permute(axes),
    "tril": lambda m, k=0: m.tril(k),
    "triu": lambda m, k=0: m.triu(k),
    "vstack": _rows,
    # products
    "dot": _dot,
    "einsum": lambda subscripts, /, *operands: einsum(subscripts, *_several(operands)),
    "outer": lambda a, b: xp.asarray(a).flatten().outer(xp.asarray(b).flatten()),
    "tensordot": lambda a, b, axes=2: xp.tensordot(xp.asarray(a), xp.asarray(b), axes=axes),
    # like another
    "empty_like": lambda prototype, dtype=None: xp.empty_like(prototype, dtype=dtype),
    "full_like": lambda a, fill_value, dtype=None: xp.full_like(
        xp.asarray(a), fill_value, dtype=dtype
    ),
    "ones_like": lambda a, dtype=None: xp.ones_like(a, dtype=dtype),
    "zeros_like": lambda a, dtype=None: xp.zeros_like(a, dtype=dtype),
}
FUNCTIONS |= {"amax": FUNCTIONS["max"], "amin": FUNCTIONS["min"], "around": FUNCTIONS["round"]}
