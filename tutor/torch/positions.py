"""Methods by position and by mask whose conventions differ from NumPy's."""

from __future__ import annotations

import math
from typing import Any

from tutor import dtype as dtypes
from tutor._storage import layout
from tutor._storage.array_like import is_number
from tutor.core.engine import apply
from tutor.errors import ArgumentError, DTypeError, ShapeError
from tutor.torch.carrier import Plain, promoted
from tutor.torch.reductions import with_places
from tutor.torch.shapes import key_at, narrow


def key_of(key: Any) -> Any:
    """The key of `x[key]`: a uint8 tensor in it is a mask, as in PyTorch."""
    if isinstance(key, tuple):
        return tuple(map(key_of, key))
    if isinstance(key, Plain) and key.dtype is dtypes.uint8:
        return Plain.cast(key, dtypes.bool_)
    return key


def getitem(self, key):
    """A view for ints, slices, None and `...`, a copy for positions and masks."""
    return Plain.__getitem__(self, key_of(key))


def setitem(self, key, value):
    """`x[key] = value`, in the graph if there is one."""
    Plain.__setitem__(self, key_of(key), value)


def mask_of(name: str, mask: Any) -> Any:
    """The mask; DTypeError unless it is of bools."""
    if mask.dtype is not dtypes.bool_:
        raise DTypeError(f"{name} with a mask of {mask.dtype.name}", "a mask is of bools",
                         "write mask.bool()")  # fmt: skip
    return mask


def where(condition: Any, x: Any, y: Any) -> Any:
    """x where the condition is true, else y; of the condition alone the positions."""
    if x is None:
        return Plain.nonzero(condition)
    a, b = promoted(x, y)
    return apply("where", mask_of("where", condition), a, b)


def masked_fill(x: Any, mask: Any, value: Any) -> Any:
    """x, with `value` where the mask is true."""
    number = Plain.item(value) if isinstance(value, Plain) and not value.requires_grad else value
    if is_number(number) and not x.dtype.is_float:
        if x.dtype is not dtypes.bool_ and (not math.isfinite(number) or number % 1):
            raise DTypeError(f"masked_fill of {x.dtype.name} with {number}", "it holds whole "
                             "numbers", "write x.float() first")  # fmt: skip
        number = bool(number) if x.dtype is dtypes.bool_ else int(number)
    return Plain.masked_fill(x, mask_of("masked_fill", mask), number)


def masked_scatter(x: Any, mask: Any, source: Any) -> Any:
    """x, with the numbers of `source`, one after another, where the mask is true."""
    shape = layout.broadcast_shapes("masked_scatter", x.shape, mask.shape)
    x, mask = Plain.expand(x, shape), Plain.expand(mask_of("masked_scatter", mask), shape)
    flat = Plain.reshape(mask, -1)
    (places,) = Plain.nonzero(flat)
    numbers = Plain.reshape(source, -1)
    if numbers.shape[0] < places.shape[0]:
        found = f"{numbers.shape[0]} numbers for {places.shape[0]} places"
        raise ShapeError("masked_scatter", found, "give as many as the mask has")
    taken = narrow(numbers, 0, 0, places.shape[0])
    return Plain.reshape(Plain.scatter(Plain.reshape(x, -1), 0, places, taken), x.shape)


def part(src: Any, index: Any) -> Any:
    """The corner of src that the index reads."""
    for axis, size in enumerate(index.shape):
        if axis < src.ndim and src.shape[axis] > size:
            src = narrow(src, axis, 0, size)
    return src


def scatter(x: Any, dim: int, index: Any, src: Any, value: Any, reduce: Any) -> Any:
    """x, with the numbers of `src` at the positions `index` along `dim`."""
    given = value if src is None else src
    if is_number(given):
        given = Plain.expand(Plain(given, dtype=x.dtype), index.shape)
    if reduce is None:
        return Plain.scatter(x, dim, index, part(given, index))
    by = {"add": "sum", "multiply": "prod"}.get(reduce, reduce)
    return Plain.scatter_reduce(x, dim, index, part(given, index), by)


def index_fill(x: Any, dim: int, index: Any, value: Any) -> Any:
    """x, with `value` in the slices at those positions."""
    a = layout.axis_of(dim, x.ndim)
    hit = Plain.zeros(x.shape[a], dtype="bool")
    if index.numel():
        hit[Plain.reshape(index, -1)] = True
    mask = Plain.reshape(hit, (-1, *[1] * (x.ndim - a - 1)))
    return masked_fill(x, Plain.expand(mask, x.shape), value)


def index_copy(x: Any, dim: int, index: Any, source: Any) -> Any:
    """x, with the slices of `source` at those positions."""
    shape = [1] * x.ndim
    shape[layout.axis_of(dim, x.ndim)] = -1
    return Plain.scatter(x, dim, Plain.expand(Plain.reshape(index, shape), source.shape), source)


def index_put(x: Any, indices: Any, values: Any, accumulate: bool) -> Any:
    """x, with `values` at those positions."""
    if accumulate:
        raise ArgumentError("index_put(accumulate=True)", "tutor.torch does not have it",
                            "write x.flatten().index_add(0, positions, values)")  # fmt: skip
    made = Plain.copy(x)
    Plain.__setitem__(made, key_of(tuple(indices)), values)
    return made


def argwhere(x: Any) -> Any:
    """The positions of what is not 0, a row for each."""
    if not x.ndim:
        return Plain.zeros(int(bool(x.item())), 0, dtype="int64")
    return apply("cat", *[Plain.unsqueeze(at, 1) for at in Plain.nonzero(x)], axis=1)


def nonzero(x: Any, as_tuple: bool) -> Any:
    """The positions of what is not 0: a row for each, or a tensor for each axis."""
    return Plain.nonzero(x if x.ndim else Plain.reshape(x, 1)) if as_tuple else argwhere(x)


def take_along(x: Any, indices: Any, dim: Any) -> Any:
    """The elements at those positions along `dim`."""
    if dim is None:
        return Plain.gather(Plain.reshape(x, -1), 0, Plain.reshape(indices, -1))
    return Plain.take_along_axis(x, indices, dim)


def equal(x: Any, y: Any) -> bool:
    """Have both the same shape and the same numbers? A Python bool."""
    return x.shape == y.shape and bool(Plain.all(Plain.eq(*promoted(x, y))).item())


def cross(x: Any, y: Any, dim: Any) -> Any:
    """The vector product along `dim`: by default the first axis of size 3."""
    return Plain.cross(x, y, x.shape.index(3) if dim is None else dim)


def dot(x: Any, y: Any) -> Any:
    """The sum of products of two vectors."""
    if x.ndim != 1 or y.ndim != 1:
        shapes = f"dot of shapes {tuple(x.shape)} and {tuple(y.shape)}"
        raise ShapeError(shapes, "these are no vectors", "write x @ y")
    return Plain.dot(x, y)


def bincount(x: Any, weights: Any, minlength: int) -> Any:
    """How often each number occurs, or the sum of its weights: float64, but for float32."""
    if weights is None or weights.dtype.is_float:
        return Plain.bincount(x, weights, minlength)
    return Plain.bincount(x, Plain.cast(weights, dtypes.float64), minlength)


def starts(x: Any) -> Any:
    """Where another number than before begins."""
    if not x.shape[0]:
        return Plain.zeros(0, dtype="bool")
    x, first = Plain.detach(x), Plain.ones(1, dtype="bool")
    return apply(
        "cat", first, Plain.ne(narrow(x, 0, 1, len(x) - 1), narrow(x, 0, 0, len(x) - 1)), axis=0
    )


def consecutive(x: Any, inverse: bool, counts: bool, dim: Any) -> Any:
    """Each run of equal numbers once."""
    if dim is not None and x.ndim != 1:
        raise ArgumentError("unique_consecutive(dim=)", "tutor.torch does not have it", "loop")
    flat = Plain.reshape(x, -1)
    new = starts(flat)
    each = Plain.reshape(Plain.cumsum(Plain.long(new), 0) - 1, x.shape)
    return with_places(Plain.masked_select(flat, new), each, inverse, counts)


def replaced(x: Any, part: Any, source: Any) -> Any:
    """x, with `source` in the place of that part of it."""
    made = Plain.copy(x)
    Plain.copy_(part(made), source)
    return made


def diff(x: Any, n: int, dim: int, prepend: Any, append: Any) -> Any:
    """Differences of neighbours, n times."""
    row = [v for v in (prepend, x, append) if v is not None]
    x = apply("cat", *row, axis=dim) if len(row) > 1 else x
    for _ in range(n):
        size = x.shape[dim]
        after, before = narrow(x, dim, 1, size - 1), narrow(x, dim, 0, size - 1)
        x = (Plain.ne if x.dtype is dtypes.bool_ else Plain.sub)(after, before)
    return x


def trapezoid(y: Any, x: Any, dx: Any, dim: int) -> Any:
    """The area below the points (x, y), or at distances dx."""
    n = y.shape[dim]
    width = (1.0 if dx is None else dx) if x is None else diff(x, 1, dim, None, None)
    mean = (narrow(y, dim, 1, n - 1) + narrow(y, dim, 0, n - 1)) / 2
    return Plain.sum(Plain.mul(*promoted(mean, width)), dim)


FORMULAS: dict[str, Any] = {
    "masked_fill(input, mask, value)": masked_fill,
    "masked_scatter(input, mask, source)": masked_scatter,
    "scatter(input, dim, index, src=None, *, value=None, reduce=None)": scatter,
    "scatter_add(input, dim, index, src)":
        lambda x, dim, index, src: Plain.scatter_add(x, dim, index, part(src, index)),
    "scatter_reduce(input, dim, index, src, reduce, *, include_self=True)":
        lambda x, dim, at, src, *how: Plain.scatter_reduce(x, dim, at, part(src, at), *how),
    "index_fill(input, dim, index, value)": index_fill,
    "index_copy(input, dim, index, source)": index_copy,
    "index_put(input, indices, values, accumulate=False)": index_put,
    "nonzero(input, *, as_tuple=False)": nonzero,
    "argwhere(input)": argwhere,
    "take(input, index)": lambda x, index: Plain.__getitem__(Plain.reshape(x, -1), index),
    "take_along_dim(input, indices, dim=None)": take_along,
    "equal(input, other)": equal,
    "is_nonzero(input)": lambda x: bool(x.item()),
    "cross(input, other, dim=None)": cross,
    "dot(input, tensor)": dot,
    "fill(input, value)": lambda x, value: Plain.fill_(Plain.copy(x), value),
    "unique_consecutive(input, return_inverse=False, return_counts=False, dim=None)": consecutive,
    "diff(input, n=1, dim=-1, prepend=None, append=None)": diff,
    "bincount(input, weights=None, minlength=0)": bincount,
    "select_scatter(input, src, dim, index)":
        lambda x, src, dim, i: replaced(x, lambda y: key_at(y, dim, i), src),
    "slice_scatter(input, src, dim=0, start=None, end=None, step=1)":
        lambda x, src, dim, *ends: replaced(x, lambda y: key_at(y, dim, slice(*ends)), src),
    "diagonal_scatter(input, src, offset=0, dim1=0, dim2=1)":
        lambda x, src, *where: replaced(x, lambda y: Plain.diagonal(y, *where), src),
}  # fmt: skip
ONLY_FUNCTIONS: dict[str, Any] = {
    "where(condition, input=None, other=None)": where,
    "trapezoid(y, x=None, *, dx=None, dim=-1)": trapezoid,
    "trapz(y, x=None, *, dx=None, dim=-1)": trapezoid,
    "cdist(x1, x2, p=2.0, compute_mode=None)": lambda a, b, p, mode: Plain.cdist(a, b, p),
}
ONLY_METHODS: dict[str, Any] = {
    "where(self, condition, other)": lambda x, condition, y: where(condition, x, y)
}
