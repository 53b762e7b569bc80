"""The array API standard (data-apis.org/array-api), as far as tutor goes: what
`Tensor.__array_namespace__()` returns.

    >>> xp = Tensor([1.0]).__array_namespace__()
    >>> xp.sum(xp.asarray([[1, 2], [3, 4]]), axis=0)
    Tensor([4, 6])

Programs written against the standard run on any library that has it. Names and signatures are the
standard's (2024.12), and so are the names hidden here: `builtins.sum` is Python's own. Most are one
line of Tensor, where what they mean is written. Left out is what would need a dtype or kernel that
tutor has not: complex numbers, `nextafter`, the extensions `linalg` and `fft`. The default float is
float32, as `__array_namespace_info__()` says; float16 and bfloat16 are here beyond the standard.
"""

from __future__ import annotations

import builtins
import math
from collections import namedtuple
from typing import Any

from tutor import dtype as dtypes
from tutor import layout
from tutor.core.buffer import Buffer
from tutor.core.engine import apply
from tutor.core.tensor import Tensor
from tutor.dtype import DType
from tutor.einsum import LETTERS, einsum
from tutor.errors import AxisError, DomainError, DTypeError, ScalarError, ShapeError
from tutor.literals import is_number
from tutor.ops import movement

__array_api_version__ = "2024.12"
VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12")
e, inf, nan, newaxis, pi = math.e, math.inf, math.nan, None, math.pi
(
    bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64,
    float16, bfloat16, float32, float64,
) = dtypes.TABLE  # fmt: skip


def check_version(version: str | None) -> None:
    """DomainError unless this is a version of the standard that the functions here follow."""
    if version not in (None, *VERSIONS):
        raise DomainError(f"array API {version!r}", f"here is {VERSIONS[-1]}", "leave it out")


# ---- dtypes --------------------------------------------------------------------------------------

KINDS = {
    "bool": ("bool",), "signed integer": ("int",), "unsigned integer": ("uint",),
    "integral": ("int", "uint"), "real floating": ("float",), "complex floating": (),
    "numeric": ("int", "uint", "float"),
}  # fmt: skip
FInfo = namedtuple("FInfo", "bits eps max min smallest_normal dtype")
IInfo = namedtuple("IInfo", "bits max min dtype")


def finfo(type: DType | Tensor, /) -> FInfo:
    d = result_type(type)
    if not d.is_float:
        raise DTypeError(f"finfo of {d.name}", "it is no float", "use iinfo")
    return FInfo(8 * d.itemsize, d.eps, d.max, d.min, d.smallest_normal, d)


def iinfo(type: DType | Tensor, /) -> IInfo:
    d = result_type(type)
    if not d.is_integer:
        raise DTypeError(f"iinfo of {d.name}", "it is no integer", "use finfo")
    return IInfo(8 * d.itemsize, int(d.max), int(d.min), d)


def isdtype(dtype: DType, kind: Any) -> builtins.bool:
    """Is `dtype` of that kind, or that dtype, or one of several?"""
    if isinstance(kind, tuple):
        return builtins.any(isdtype(dtype, k) for k in kind)
    if isinstance(kind, DType):
        return dtype is kind
    if kind not in KINDS:
        raise DomainError(f"isdtype(kind={kind!r})", "no such kind", f"one of {', '.join(KINDS)}")
    return dtype.kind in KINDS[kind]


def result_type(*arrays_and_dtypes: Any) -> DType:
    """The dtype that all of these are brought to: arrays and dtypes first, then numbers."""
    if builtins.all(is_number(x) for x in arrays_and_dtypes):
        raise DTypeError("result_type", "no array and no dtype", "give at least one")
    found = (x.dtype if isinstance(x, Tensor) else x for x in arrays_and_dtypes)
    return dtypes.common(x if is_number(x) else dtypes.of(x) for x in found)


# ---- what takes more than a line -----------------------------------------------------------------


def _check_device(device: Any) -> None:
    if device not in (None, "cpu"):
        raise DomainError(f"device={device!r}", "the only device here is 'cpu'", "leave it out")


def asarray(obj: Any, /, *, dtype: Any = None, device: Any = None, copy: Any = None) -> Tensor:
    """A number, (nested) lists, an array: as a Tensor. Shares the memory of a Tensor, unless told
    to copy it, and that of another array where told not to."""
    _check_device(device)
    if copy is False and not isinstance(obj, Tensor) and hasattr(obj, "__dlpack__"):
        obj = from_dlpack(obj)
    x = obj if isinstance(obj, Tensor) else Tensor(obj, dtype=dtype)
    y = x if dtype is None else x.cast(dtype)
    if copy is False and y is not obj:
        raise DomainError(
            f"asarray(copy=False) of {type(obj).__name__}",
            "its numbers must be converted, or have no memory that could be shared",
            "leave copy out",
        )
    return y.copy() if copy and y is obj else y


def searchsorted(x1: Tensor, x2: Any, /, *, side: str = "left", sorter: Any = None) -> Tensor:
    """How many of the rising numbers x1 (or x1[sorter]) are < x2, with side="right" <= x2.

    A stable sort of the two together, x2 first ("left") or last, puts before each number of x2 just
    those, and the numbers of x2 that a sort of x2 alone puts before it.
    """
    if side not in ("left", "right"):
        raise DomainError(f"searchsorted(side={side!r})", "no such side", "'left' or 'right'")
    x2 = x2 if isinstance(x2, Tensor) else x1.wrap(x2, x1.dtype)
    flat, x1 = x2.flatten(), x1 if sorter is None else take(x1, sorter)
    both = concat([flat, x1] if side == "left" else [x1, flat])
    places = both.argsort().argsort()  # the inverse of a permutation is the order of its numbers
    mine = places[: flat.size] if side == "left" else places[x1.size :]
    return (mine - flat.argsort().argsort()).reshape(x2.shape)


UniqueAll = namedtuple("UniqueAll", "values indices inverse_indices counts")
UniqueCounts = namedtuple("UniqueCounts", "values counts")
UniqueInverse = namedtuple("UniqueInverse", "values inverse_indices")


def unique_all(x: Tensor, /) -> UniqueAll:
    """The different values in rising order; where each is first, which one each element is, and how
    often each occurs. Every nan is different from all others."""
    flat = x.flatten()
    order = flat.argsort()
    ordered = take(flat, order)
    is_new = concat([ones(builtins.min(flat.size, 1), dtype=bool), ordered[1:] != ordered[:-1]])
    (starts,) = is_new.nonzero()
    ends = concat([starts[1:], full(builtins.min(flat.size, 1), flat.size)])
    which = zeros_like(order).scatter(0, order, is_new.cast(int64).cumsum(0) - 1)
    first = take(order, starts)
    return UniqueAll(take(flat, first), first, which.reshape(x.shape), ends - starts)


def _axis_of(x: Tensor, axis: int | None) -> int:
    """`axis` counted from the front; it may be left out if there is only one."""
    if axis is None and x.ndim != 1:
        raise AxisError(f"shape {x.shape}", "no axis is named", "name one: axis=0")
    return layout.axis_of(axis or 0, x.ndim)


def _running(x: Tensor, method: Any, start: int, axis: Any, dtype: Any, initial: Any) -> Tensor:
    """cumsum or cumprod along axis, behind the sum or product of none if asked."""
    a = _axis_of(x, axis)
    z = method(x, a, dtype=dtype)
    first = z.like(start, (*z.shape[:a], 1, *z.shape[a + 1 :]))
    return concat([first, z], axis=a) if initial else z


def tensordot(x1: Tensor, x2: Tensor, /, *, axes: Any = 2) -> Tensor:
    """The sum of products over the last `axes` axes of x1 and the first of x2, or over the axes
    named in a pair: each an axis or several."""
    if is_number(axes):
        n = layout.whole_number(axes, "a number of axes")
        pair = [tuple(range(x1.ndim)[-n:] if n else ()), tuple(range(builtins.max(n, 0)))]
    else:
        pair = [layout.whole_numbers(side, "the axes of tensordot") for side in axes]
    if len(pair) != 2 or len(pair[0]) != len(pair[1]) or (is_number(axes) and axes < 0):
        raise ShapeError(f"tensordot({axes=})", "not as many axes on either side", "name pairs")
    names1, names2 = list(LETTERS[: x1.ndim]), list(LETTERS[x1.ndim : x1.ndim + x2.ndim])
    summed = [names1[layout.axis_of(a, x1.ndim)] for a in pair[0]]
    for axis, name in zip(pair[1], summed, strict=True):
        names2[layout.axis_of(axis, x2.ndim)] = name
    kept = [name for name in names1 + names2 if name not in summed]
    return einsum(f"{''.join(names1)},{''.join(names2)}->{''.join(kept)}", x1, x2)


class __array_namespace_info__:  # noqa: N801 - a function in the standard: it is only called
    """What this library has, for programs that ask."""

    default_device = staticmethod(lambda: "cpu")
    devices = staticmethod(lambda: ["cpu"])

    def capabilities(self) -> dict[str, Any]:
        yes = dict.fromkeys(("boolean indexing", "data-dependent shapes"), True)
        return {**yes, "max dimensions": layout.MAX_DIMS}

    def default_dtypes(self, *, device: Any = None) -> dict[str, DType]:
        _check_device(device)
        return {"real floating": float32, "integral": int64, "indexing": int64}

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, DType]:
        """By name, the standard's dtypes of that kind, of one of several, or all."""
        _check_device(device)
        ours = [d for d in dtypes.TABLE if d not in (float16, bfloat16)]
        return {d.name: d for d in ours if kind is None or isdtype(d, kind)}


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


def _unary(method: str) -> Any:
    return lambda x, /: getattr(x, method)()


def _binary(op: str) -> Any:
    return lambda x1, x2, /: apply(op, x1, x2)  # one of them may be a number


for _make, _table in ((_unary, UNARY), (_binary, BINARY)):
    for _name, _, _ours in (_row.partition("=") for _row in _table.split()):
        globals()[_name] = _make(_ours or _name)
        globals()[_name].__name__ = globals()[_name].__qualname__ = _name


# ---- a line or two each --------------------------------------------------------------------------
# fmt: off
# ruff: noqa: F821 - the functions of the tables are here, though no linter sees them
# dtypes
def can_cast(from_, to, /): return result_type(from_, to) is to
def astype(x, dtype, /, *, copy=True, device=None):
    return asarray(x, dtype=dtype, device=device, copy=copy or None)

# making arrays
def empty(shape, *, dtype=None, device=None):
    _check_device(device)
    shape = layout.checked_shape(shape)
    return Tensor(Buffer.empty(math.prod(shape), dtypes.of(dtype or float32)), shape)
def full(shape, fill_value, *, dtype=None, device=None):
    return Tensor.full(shape, fill_value, dtype=dtype, device=device or "cpu")
def zeros(shape, *, dtype=None, device=None):
    return full(shape, 0, dtype=dtype or float32, device=device)
def ones(shape, *, dtype=None, device=None):
    return full(shape, 1, dtype=dtype or float32, device=device)
def empty_like(x, /, *, dtype=None, device=None):
    return empty(x.shape, dtype=dtype or x.dtype, device=device)
def full_like(x, /, fill_value, *, dtype=None, device=None):
    return full(x.shape, fill_value, dtype=dtype or x.dtype, device=device)
def zeros_like(x, /, *, dtype=None, device=None): return full_like(x, 0, dtype=dtype, device=device)
def ones_like(x, /, *, dtype=None, device=None): return full_like(x, 1, dtype=dtype, device=device)
def eye(n_rows, n_cols=None, /, *, k=0, dtype=None, device=None):
    _check_device(device)
    return Tensor.eye(n_rows, n_cols, k, dtype=dtype or float32)
def arange(start, /, stop=None, step=1, *, dtype=None, device=None):
    bounds = (0, start, step) if stop is None else (start, stop, step)
    return Tensor.arange(*bounds, dtype=dtype, device=device or "cpu")
def linspace(start, stop, /, num, *, dtype=None, device=None, endpoint=True):
    return Tensor.linspace(start, stop, num, endpoint=endpoint, dtype=dtype, device=device or "cpu")
def from_dlpack(x, /, *, device=None, copy=None):
    return Tensor.from_dlpack(x, device=device, copy=copy)
def tril(x, /, *, k=0): return x.tril(k)
def triu(x, /, *, k=0): return x.triu(k)

# element by element
def signbit(x, /): return copysign(1.0, x) < 0 if x.dtype.is_float else x < 0
def logical_and(x1, x2, /): return apply("bitwise_and", x1 != 0, x2 != 0)
def logical_or(x1, x2, /): return apply("bitwise_or", x1 != 0, x2 != 0)
def logical_xor(x1, x2, /): return apply("bitwise_xor", x1 != 0, x2 != 0)
def clip(x, /, min=None, max=None): return x.clip(min, max).cast(x.dtype)
def where(condition, x1, x2, /): return apply("where", condition, x1, x2)

# along axes
def all(x, /, *, axis=None, keepdims=False): return x.all(axis, keepdims)
def any(x, /, *, axis=None, keepdims=False): return x.any(axis, keepdims)
def max(x, /, *, axis=None, keepdims=False): return x.max(axis, keepdims)
def min(x, /, *, axis=None, keepdims=False): return x.min(axis, keepdims)
def mean(x, /, *, axis=None, keepdims=False): return x.mean(axis, keepdims)
def prod(x, /, *, axis=None, dtype=None, keepdims=False): return x.prod(axis, keepdims, dtype=dtype)
def sum(x, /, *, axis=None, dtype=None, keepdims=False): return x.sum(axis, keepdims, dtype=dtype)
def std(x, /, *, axis=None, correction=0.0, keepdims=False):
    return x.std(axis, correction, keepdims)
def var(x, /, *, axis=None, correction=0.0, keepdims=False):
    return x.var(axis, correction, keepdims)
def argmax(x, /, *, axis=None, keepdims=False): return x.argmax(axis, keepdims)
def argmin(x, /, *, axis=None, keepdims=False): return x.argmin(axis, keepdims)
def count_nonzero(x, /, *, axis=None, keepdims=False): return x.count_nonzero(axis, keepdims)
def nonzero(x, /):
    if not x.ndim:
        raise ScalarError("nonzero of a single number", "it has no axes", "ask whether x != 0")
    return x.nonzero()
def argsort(x, /, *, axis=-1, descending=False, stable=True): return x.argsort(axis, descending)
def sort(x, /, *, axis=-1, descending=False, stable=True): return x.sort(axis, descending)
def cumulative_sum(x, /, *, axis=None, dtype=None, include_initial=False):
    return _running(x, Tensor.cumsum, 0, axis, dtype, include_initial)
def cumulative_prod(x, /, *, axis=None, dtype=None, include_initial=False):
    return _running(x, Tensor.cumprod, 1, axis, dtype, include_initial)
def diff(x, /, *, axis=-1, n=1, prepend=None, append=None):
    x = concat([p for p in (prepend, x, append) if p is not None], axis=axis).movedim(axis, 0)
    for _ in range(n):
        x = x[1:] - x[:-1]
    return x.movedim(0, axis)

# other shapes
def broadcast_arrays(*arrays):
    shape = broadcast_shapes(*(x.shape for x in arrays))
    return [x.expand(shape) for x in arrays]
def meshgrid(*arrays, indexing="xy"): return list(movement.meshgrid(*arrays, indexing=indexing))
def broadcast_shapes(*shapes): return layout.broadcast_shapes("broadcast_shapes", *shapes)
def broadcast_to(x, /, shape): return x.expand(shape)
def concat(arrays, /, *, axis=0):
    return apply("cat", *(x.flatten() if axis is None else x for x in arrays), axis=axis or 0)
def expand_dims(x, /, axis=0): return x.unsqueeze(axis)
def flip(x, /, *, axis=None): return x.flip(axis)
def moveaxis(x, source, destination, /): return x.movedim(source, destination)
def permute_dims(x, /, axes): return x.permute(axes)
def repeat(x, repeats, /, *, axis=None): return x.repeat(repeats, axis)
def reshape(x, /, shape, *, copy=None):
    return x.view(shape) if copy is False else x.copy().reshape(shape) if copy else x.reshape(shape)
def roll(x, /, shift, *, axis=None):
    axes = axis if isinstance(axis, tuple) else (axis,)
    return x.roll((shift,) * len(axes) if isinstance(shift, int) else shift, axis)
def squeeze(x, /, axis): return x.squeeze(axis)
def stack(arrays, /, *, axis=0):
    return apply("cat", *[x.unsqueeze(axis) for x in arrays], axis=axis)
def tile(x, repetitions, /): return x.tile(repetitions)
def unstack(x, /, *, axis=0): return tuple(x.movedim(axis, 0))
def take(x, indices, /, *, axis=None):
    return x[(slice(None),) * _axis_of(x, axis) + (indices,)]
def take_along_axis(x, indices, /, *, axis=-1): return x.take_along_axis(indices, axis)

# products
def matrix_transpose(x, /): return x.mT
def vecdot(x1, x2, /, *, axis=-1): return multiply(x1, x2).sum(axis)

# different values
def unique_values(x, /): return unique_all(x).values
def unique_counts(x, /): return UniqueCounts(*unique_all(x)[::3])
def unique_inverse(x, /): return UniqueInverse(*unique_all(x)[::2])
