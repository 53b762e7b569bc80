"""The array API standard (data-apis.org/array-api), as far as tutor implements it: the namespace
that `Tensor.__array_namespace__()` returns.

    >>> xp = Tensor([1.0]).__array_namespace__()
    >>> xp.sum(xp.asarray([[1, 2], [3, 4]]), axis=0)
    Tensor([4, 6])

Programs written for the standard run on any library that implements it. Names and signatures follow
version 2024.12. Some of them shadow Python builtins, which this file writes as `builtins.sum` etc.
Most functions call a method of Tensor, which has the documentation. Everything that needs a dtype
or a kernel that tutor lacks is left out: complex numbers, and with them the extension `fft`. The
default float is float32, as `__array_namespace_info__()` says; float16 and bfloat16 are extra.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from tutor import dtype as dtypes
from tutor._storage import layout
from tutor._util import lazy_imports
from tutor._util.typing import DTypeLike, Number, ShapeLike, Sizes, TensorLike
from tutor.backends import devices
from tutor.core.buffer import Buffer
from tutor.core.engine import apply
from tutor.core.engine.grad_mode import is_grad_enabled
from tutor.errors import AxisError, DomainError, DTypeError, GraphError, ScalarError
from tutor.functions import einsum
from tutor.functions.sets import (  # noqa: F401 - so are these
    searchsorted,
    unique_all,
    unique_counts,
    unique_inverse,
    unique_values,
)
from tutor.interop.array_info import (  # noqa: F401 - the standard has these, too
    KINDS,
    VERSIONS,
    FInfo,
    IInfo,
    __array_namespace_info__,
    can_cast,
    check_version,
    finfo,
    iinfo,
    isdtype,
    result_type,
)
from tutor.methods.tensor import Tensor
from tutor.ops import movement

Dtype: TypeAlias = DTypeLike | None
Device: TypeAlias = str | None
Value: TypeAlias = Tensor | Number

__array_api_version__ = "2024.12"
e, inf, nan, newaxis, pi = math.e, math.inf, math.nan, None, math.pi
(
    bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64,
    float16, bfloat16, float32, float64,
) = dtypes.TABLE  # fmt: skip

Bool = builtins.bool  # `bool` is a dtype here, as in the standard
Shape = tuple[int, ...]
Axis = int | tuple[int, ...] | None


def __getattr__(name: str) -> Any:
    """The extension `linalg`, loaded on demand because it is built on this module. (For a type
    checker, this also covers the functions of the two tables below.)"""
    if name == "linalg":
        return lazy_imports.load("linalg")
    raise AttributeError(f"module 'tutor.array_api' has no attribute {name!r}")


def asarray(
    obj: TensorLike,
    /,
    *,
    dtype: Dtype = None,
    device: Device = None,
    copy: Bool | None = None,
) -> Tensor:
    """A number, (nested) lists or an array as a Tensor. copy=True always copies; otherwise it
    shares a Tensor's memory, and with copy=False also that of another array."""
    if copy is False and not isinstance(obj, Tensor) and hasattr(obj, "__dlpack__"):
        obj = from_dlpack(obj, copy=False)
    x = obj if isinstance(obj, Tensor) else Tensor(obj, dtype=dtype, device=device)
    y = x.to(dtype=dtype, device=device)
    if copy is False and y is not obj:
        raise DomainError(
            f"asarray(copy=False) of {type(obj).__name__}",
            "its numbers must be converted, or have no memory that could be shared",
            "leave copy out",
        )
    return y.copy() if copy and y is obj else y


def nextafter(x1: Tensor | float, x2: Tensor | float, /) -> Tensor:
    """The next float after x1 in the direction of x2 (x2 itself if they are equal).

    The bits of a float, read as an integer, count the floats from 0 outwards on either side, so the
    next float is one integer away.
    """
    d = result_type(x1, x2)
    if not d.is_float:
        raise DTypeError(f"nextafter of {d.name}", "only floats have a next one", "use + 1 or - 1")
    operands = [x if isinstance(x, Tensor) else full((), x, dtype=d) for x in (x1, x2)]
    if is_grad_enabled() and builtins.any(x.requires_grad for x in operands):
        raise GraphError("nextafter of a Tensor that requires grad", "it is a step", ".detach() it")
    x, y = broadcast_arrays(*(x.cast(d) for x in operands))
    bits = {2: int16, 4: int32, 8: int64}[d.itemsize]
    number = Tensor(Buffer.from_memory(x.copy().buf, dtype=bits, copy=False), x.shape)
    number = number + where((x > 0) == (x < y), ones((), dtype=bits), -ones((), dtype=bits))
    z = Tensor(Buffer.from_memory(number.buf, dtype=d, copy=False), x.shape)
    z = where(x == 0, full((), d.smallest_subnormal, dtype=d).copysign(y), z)
    return where(x == y, y, where((x + y).isnan() & (x.isnan() | y.isnan()), x + y, z))


def _axis_of(x: Tensor, axis: int | None) -> int:
    """`axis` counted from the front; it may be omitted for a single axis."""
    if axis is None and x.ndim != 1:
        raise AxisError(f"shape {x.shape}", "no axis is named", "name one: axis=0")
    return layout.axis_of(axis or 0, x.ndim)


def _running(x: Tensor, method: Any, start: int, axis: Any, dtype: Dtype, initial: Bool) -> Tensor:
    """cumsum or cumprod along axis; `initial` puts one more element first: 0, or 1."""
    a = _axis_of(x, axis)
    z = method(x, a, dtype=dtype)
    first = z.like(start, (*z.shape[:a], 1, *z.shape[a + 1 :]))
    return concat([first, z], axis=a) if initial else z


def tensordot(x1: Tensor, x2: Tensor, /, *, axes: Any = 2) -> Tensor:
    """The sum of products over axes of both: tutor.functions.einsum.tensordot."""
    return einsum.tensordot(x1, x2, axes)


# ---- element by element: methods and ops, under the standard's names -----------------------------

UNARY = """
    abs acos acosh asin asinh atan atanh bitwise_invert=bitwise_not ceil cos cosh exp expm1 floor
    isfinite isinf isnan log log10 log1p log2 logical_not negative=neg positive=copy reciprocal
    round sign sin sinh sqrt square tan tanh trunc
"""
BINARY = """
    add atan2 bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor copysign
    divide=div equal=eq floor_divide greater=gt greater_equal=ge hypot less=lt less_equal=le
    logaddexp matmul maximum minimum multiply=mul not_equal=ne pow remainder subtract=sub
"""


def _unary(method: str) -> Callable[..., Tensor]:
    return lambda x, /: getattr(x, method)()


def _binary(op: str) -> Callable[..., Tensor]:
    return lambda x1, x2, /: apply(op, x1, x2)  # either one may be a number


for _make, _table in ((_unary, UNARY), (_binary, BINARY)):
    for _name, _, _ours in (_row.partition("=") for _row in _table.split()):
        globals()[_name] = _make(_ours or _name)
        globals()[_name].__name__ = globals()[_name].__qualname__ = _name
        globals()[_name].__doc__ = getattr(Tensor, _ours or _name).__doc__


# ---- a line or two each --------------------------------------------------------------------------
# fmt: off
# dtypes
def astype(x: Tensor, dtype: DTypeLike, /, *, copy: Bool = True, device: Device = None) -> Tensor:
    return asarray(x, dtype=dtype, device=device, copy=copy or None)

# making arrays
def empty(shape: ShapeLike, *, dtype: Dtype = None, device: Device = None) -> Tensor:
    shape, place = layout.checked_shape(shape), devices.of(device)
    return Tensor(Buffer.empty(math.prod(shape), dtypes.of(dtype or float32), place), shape)
def full(
    shape: ShapeLike, fill_value: Value, *, dtype: Dtype = None, device: Device = None,
) -> Tensor:
    value: Any = fill_value
    if hasattr(value, "item"):  # a 0-d array: programs compute it without looking
        dtype = value.dtype if dtype is None else dtype
        value = value.item()
    return Tensor.full(shape, value, dtype=dtype, device=device)
def zeros(shape: ShapeLike, *, dtype: Dtype = None, device: Device = None) -> Tensor:
    return full(shape, 0, dtype=dtype or float32, device=device)
def ones(shape: ShapeLike, *, dtype: Dtype = None, device: Device = None) -> Tensor:
    return full(shape, 1, dtype=dtype or float32, device=device)
def empty_like(x: Tensor, /, *, dtype: Dtype = None, device: Device = None) -> Tensor:
    return empty(x.shape, dtype=dtype or x.dtype, device=device or x.device)
def full_like(
    x: Tensor, /, fill_value: Value, *, dtype: Dtype = None, device: Device = None,
) -> Tensor:
    return full(x.shape, fill_value, dtype=dtype or x.dtype, device=device or x.device)
def zeros_like(x: Tensor, /, *, dtype: Dtype = None, device: Device = None) -> Tensor:
    return full_like(x, 0, dtype=dtype, device=device)
def ones_like(x: Tensor, /, *, dtype: Dtype = None, device: Device = None) -> Tensor:
    return full_like(x, 1, dtype=dtype, device=device)
def eye(
    n_rows: int, n_cols: int | None = None, /, *, k: int = 0, dtype: Dtype = None,
    device: Device = None,
) -> Tensor:
    return Tensor.eye(n_rows, n_cols, k, dtype=dtype or float32, device=device)
def arange(
    start: float, /, stop: float | None = None, step: float = 1, *, dtype: Dtype = None,
    device: Device = None,
) -> Tensor:
    bounds = (0, start, step) if stop is None else (start, stop, step)
    return Tensor.arange(*bounds, dtype=dtype, device=device)
def linspace(
    start: float, stop: float, /, num: int, *, dtype: Dtype = None, device: Device = None,
    endpoint: Bool = True,
) -> Tensor:
    return Tensor.linspace(start, stop, num, endpoint=endpoint, dtype=dtype, device=device)
def from_dlpack(x: Any, /, *, device: Device = None, copy: Bool | None = None) -> Tensor:
    return Tensor.from_dlpack(x, device=device, copy=copy)
def tril(x: Tensor, /, *, k: int = 0) -> Tensor: return x.tril(k)
def triu(x: Tensor, /, *, k: int = 0) -> Tensor: return x.triu(k)

# element by element
def signbit(x: Tensor, /) -> Tensor:
    return apply("copysign", 1.0, x) < 0 if x.dtype.is_float else x < 0
def conj(x: Tensor, /) -> Tensor: return x.copy()  # the identity for real numbers
def real(x: Tensor, /) -> Tensor: return x
def imag(x: Tensor, /) -> Tensor: return zeros_like(x)
def logical_and(x1: Value, x2: Value, /) -> Tensor: return apply("bitwise_and", x1 != 0, x2 != 0)
def logical_or(x1: Value, x2: Value, /) -> Tensor: return apply("bitwise_or", x1 != 0, x2 != 0)
def logical_xor(x1: Value, x2: Value, /) -> Tensor: return apply("bitwise_xor", x1 != 0, x2 != 0)
def clip(x: Tensor, /, min: TensorLike | None = None, max: TensorLike | None = None) -> Tensor:
    return x.clip(min, max).cast(x.dtype)
def where(condition: Tensor, x1: Value, x2: Value, /) -> Tensor:
    return apply("where", condition, x1, x2)

# along axes
def all(x: Tensor, /, *, axis: Axis = None, keepdims: Bool = False) -> Tensor:
    return x.all(axis, keepdims)
def any(x: Tensor, /, *, axis: Axis = None, keepdims: Bool = False) -> Tensor:
    return x.any(axis, keepdims)
def max(x: Tensor, /, *, axis: Axis = None, keepdims: Bool = False) -> Tensor:
    return x.max(axis, keepdims)
def min(x: Tensor, /, *, axis: Axis = None, keepdims: Bool = False) -> Tensor:
    return x.min(axis, keepdims)
def mean(x: Tensor, /, *, axis: Axis = None, keepdims: Bool = False) -> Tensor:
    return x.mean(axis, keepdims)
def prod(x: Tensor, /, *, axis: Axis = None, dtype: Dtype = None, keepdims: Bool = False) -> Tensor:
    return x.prod(axis, keepdims, dtype=dtype)
def sum(x: Tensor, /, *, axis: Axis = None, dtype: Dtype = None, keepdims: Bool = False) -> Tensor:
    return x.sum(axis, keepdims, dtype=dtype)
def std(
    x: Tensor, /, *, axis: Axis = None, correction: float = 0.0, keepdims: Bool = False,
) -> Tensor:
    return x.std(axis, correction, keepdims)
def var(
    x: Tensor, /, *, axis: Axis = None, correction: float = 0.0, keepdims: Bool = False,
) -> Tensor:
    return x.var(axis, correction, keepdims)
def argmax(x: Tensor, /, *, axis: int | None = None, keepdims: Bool = False) -> Tensor:
    return x.argmax(axis, keepdims)
def argmin(x: Tensor, /, *, axis: int | None = None, keepdims: Bool = False) -> Tensor:
    return x.argmin(axis, keepdims)
def count_nonzero(x: Tensor, /, *, axis: Axis = None, keepdims: Bool = False) -> Tensor:
    return x.count_nonzero(axis, keepdims)
def nonzero(x: Tensor, /) -> tuple[Tensor, ...]:
    if not x.ndim:
        raise ScalarError("nonzero of a single number", "it has no axes", "ask whether x != 0")
    return x.nonzero()
def argsort(
    x: Tensor, /, *, axis: int = -1, descending: Bool = False, stable: Bool = True,
) -> Tensor:
    return x.argsort(axis, descending)
def sort(x: Tensor, /, *, axis: int = -1, descending: Bool = False, stable: Bool = True) -> Tensor:
    return x.sort(axis, descending)
def cumulative_sum(
    x: Tensor, /, *, axis: int | None = None, dtype: Dtype = None, include_initial: Bool = False,
) -> Tensor:
    return _running(x, Tensor.cumsum, 0, axis, dtype, include_initial)
def cumulative_prod(
    x: Tensor, /, *, axis: int | None = None, dtype: Dtype = None, include_initial: Bool = False,
) -> Tensor:
    return _running(x, Tensor.cumprod, 1, axis, dtype, include_initial)
def diff(
    x: Tensor, /, *, axis: int = -1, n: int = 1, prepend: Tensor | None = None,
    append: Tensor | None = None,
) -> Tensor:
    x = concat([p for p in (prepend, x, append) if p is not None], axis=axis).movedim(axis, 0)
    for _ in range(n):
        x = x[1:] - x[:-1]
    return x.movedim(0, axis)

# other shapes
def broadcast_arrays(*arrays: Tensor) -> list[Tensor]:
    shape = broadcast_shapes(*(x.shape for x in arrays))
    return [x.expand(shape) for x in arrays]
def meshgrid(*arrays: Tensor, indexing: str = "xy") -> list[Tensor]:
    return list(movement.meshgrid(*arrays, indexing=indexing))
def broadcast_shapes(*shapes: Shape) -> Shape:
    return layout.broadcast_shapes("broadcast_shapes", *shapes)
def broadcast_to(x: Tensor, /, shape: ShapeLike) -> Tensor: return x.expand(shape)
def concat(arrays: Sequence[Tensor], /, *, axis: int | None = 0) -> Tensor:
    return apply("cat", *(x.flatten() if axis is None else x for x in arrays), axis=axis or 0)
def expand_dims(x: Tensor, /, axis: int = 0) -> Tensor: return x.unsqueeze(axis)
def flip(x: Tensor, /, *, axis: Axis = None) -> Tensor: return x.flip(axis)
def moveaxis(x: Tensor, source: Sizes, destination: Sizes, /) -> Tensor:
    return x.movedim(source, destination)
def permute_dims(x: Tensor, /, axes: Sizes) -> Tensor: return x.permute(axes)
def repeat(x: Tensor, repeats: Sizes, /, *, axis: int | None = None) -> Tensor:
    return x.repeat(repeats, axis)
def reshape(x: Tensor, /, shape: ShapeLike, *, copy: Bool | None = None) -> Tensor:
    return x.view(shape) if copy is False else x.copy().reshape(shape) if copy else x.reshape(shape)
def roll(x: Tensor, /, shift: Sizes, *, axis: Axis = None) -> Tensor:
    axes = axis if isinstance(axis, tuple) else (axis,)
    return x.roll((shift,) * len(axes) if isinstance(shift, int) else shift, axis)
def squeeze(x: Tensor, /, axis: Axis) -> Tensor: return x.squeeze(axis)
def stack(arrays: Sequence[Tensor], /, *, axis: int = 0) -> Tensor:
    return apply("cat", *[x.unsqueeze(axis) for x in arrays], axis=axis)
def tile(x: Tensor, repetitions: Sizes, /) -> Tensor: return x.tile(repetitions)
def unstack(x: Tensor, /, *, axis: int = 0) -> tuple[Tensor, ...]: return tuple(x.movedim(axis, 0))
def take(x: Tensor, indices: TensorLike, /, *, axis: int | None = None) -> Tensor:
    return x[(slice(None),) * _axis_of(x, axis) + (indices,)]
def take_along_axis(x: Tensor, indices: TensorLike, /, *, axis: int = -1) -> Tensor:
    return x.take_along_axis(indices, axis)

# products
def matrix_transpose(x: Tensor, /) -> Tensor:
    """Transpose the last two axes. A view."""
    return x.mT
def vecdot(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor:
    """sum_k x_k y_k along axis, broadcasting the other axes."""
    return x1.vecdot(x2, axis)
