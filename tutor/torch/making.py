"""Functions of `torch` that make tensors, and those that join them."""

from __future__ import annotations

import itertools
import math
from typing import Any

from tutor import dtype as dtypes
from tutor._storage import layout as layouts
from tutor.errors import ArgumentError, ShapeError
from tutor.functions import einsum as sums
from tutor.functions import joining, sampling, sets
from tutor.ops import movement
from tutor.torch.carrier import Plain, Size, Tensor, promoted, result_type, tag
from tutor.torch.objects import LEGACY, device_of, dtype_of
from tutor.torch.random import drawn
from tutor.torch.shapes import several, sizes_of
from tutor.torch.signatures import bound, formula

OPTIONS = (
    "out=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False, "
    "memory_format=None, generator=None"
)

FLAGS = ("requires_grad", "pin_memory")


def no_out(out: Any) -> None:
    """`out=` is not taken."""
    if out is not None:
        raise ArgumentError("out=...", "tutor.torch writes into no given tensor",
                            "write y.copy_(f(x)), or y = f(x)")  # fmt: skip


def maker(row: str, compute: Any) -> Any:
    """A function that makes a tensor: PyTorch's signature without its common options, and what it
    computes from the values and the dtype, or None."""
    name, _, rest = row.partition("(")
    text = rest.removesuffix(")")
    rest = ", ".join(o for o in OPTIONS.split(", ") if o not in text)
    bind = bound(name, f"{text}, {rest}" if "*" in text else f"{text}, *, {rest}")

    def make(*args: Any, **options: Any) -> Any:
        given = bind(args, options)
        own = [given[n] for n in given if f"{n}=None" not in OPTIONS and n not in FLAGS]
        no_out(given["out"])
        made = drawn(given["generator"], compute, *own, dtype_of(given["dtype"]))
        if given["device"] is not None:
            made = Plain.to(made, device_of(given["device"]))
        return tag(Plain.requires_grad_(made) if given["requires_grad"] else made)

    make.__name__ = make.__qualname__ = name
    make.__doc__ = f"{row} and the common options, as in PyTorch."
    return make


# ---- from data -----------------------------------------------------------------------------------


def tensors_in(data: Any) -> list[Any]:
    """The tensors in lists in lists."""
    if isinstance(data, Plain):
        return [data]
    if isinstance(data, (list, tuple)):
        return [t for inner in data for t in tensors_in(inner)]
    return []


def nested(data: Any) -> Any:
    """Data with the tensors in its lists as numbers and lists."""
    if isinstance(data, (list, tuple)):
        return [nested(inner) for inner in data]
    return data.tolist() if isinstance(data, Plain) else data


def copied(data: Any, dtype: Any) -> Any:
    """A copy of numbers, lists, arrays or a tensor."""
    if isinstance(data, Plain):
        return Plain(Plain.detach(data), dtype=dtype)
    if isinstance(data, (list, tuple)):
        found = {t.dtype for t in tensors_in(data)}
        dtype = dtype or (found.pop() if len(found) == 1 else None)
        data = nested(data)
        if not data:
            return Plain.zeros(0, dtype=dtype or dtypes.float32)
    elif dtype is None and hasattr(data, "dtype"):  # a number of NumPy's keeps its own
        dtype = dtypes.of(data.dtype)
    return Plain(data, dtype=dtype)


def shared(data: Any, dtype: Any) -> Any:
    """The data as a tensor, over the memory of an array or a Tensor."""
    if isinstance(data, Plain):
        graph = data.requires_grad and not isinstance(data, Tensor)
        view = Plain.reshape(data, data.shape) if graph else data
        view = Plain.detach(data) if not (graph or isinstance(data, Tensor)) else view
        return view if dtype is None else Plain.cast(view, dtype)
    flags = getattr(data, "flags", None)
    if getattr(data, "shape", ()) and getattr(flags, "writeable", False):
        view = Plain.from_dlpack(data)
        return view if dtype is None else Plain.cast(view, dtype)
    return copied(data, dtype)


def legacy(name: str) -> Any:
    """`torch.LongTensor(data)`, of that dtype."""

    def make(*data: Any) -> Any:
        sizes = all(isinstance(n, int) for n in data)
        made = Plain.zeros(*(data or (0,)), dtype=LEGACY[name]) if sizes else copied(
            data[0], dtypes.of(LEGACY[name])
        )  # fmt: skip
        return tag(made)

    make.__name__ = name
    return make


# ---- of a size -----------------------------------------------------------------------------------


def number(value: Any) -> Any:
    """A Python number, of one or of a tensor."""
    return value.item() if isinstance(value, Plain) else value


def filled(size: Any, value: Any, dtype: Any) -> Any:
    """`size` times that number."""
    made = Plain.full(size, number(value))
    return made if dtype is None else Plain.cast(made, dtype)


def arange(start: Any, end: Any, step: Any, dtype: Any) -> Any:
    """start, start + step, ... before end."""
    low, high, by = map(number, (0, start, step) if end is None else (start, end, step))
    if dtype is not None and not dtype.is_float:
        low, high, by = int(low), int(high), int(by)
    whole = all(isinstance(v, int) for v in (low, high, by))
    made = Plain.arange(low, high, by, dtype="int64" if whole else "float64")
    return Plain.cast(made, dtype or (dtypes.int64 if whole else dtypes.float32))


def logspace(start: float, end: float, steps: int, base: float, dtype: Any) -> Any:
    """base to the power of evenly spaced numbers."""
    powers = Plain.linspace(float(start), float(end), int(steps), dtype="float64")
    return Plain.cast(Plain.exp(powers * math.log(base)), dtype or dtypes.float32)


def randint(low: Any, high: Any, size: Any, dtype: Any) -> Any:
    """Whole numbers from low to high - 1; `randint(high, size)` starts at 0."""
    if size is None:
        low, high, size = 0, low, high
    low, high = (0, low) if high is None else (low, high)
    return sampling.randint(int(low), int(high), sizes_of((size,)), dtype=dtype or dtypes.int64)


def randint_like(x: Any, low: Any, high: Any, dtype: Any) -> Any:
    """`randint` of the shape and dtype of a tensor."""
    low, high = (0, low) if high is None else (low, high)
    return randint(low, high, tuple(x.shape), dtype or x.dtype)


def normal(mean: Any, std: Any, size: Any, dtype: Any) -> Any:
    """Normal numbers with that mean and that standard deviation, numbers or tensors."""
    if size is None:
        shapes = [tuple(t.shape) for t in (mean, std) if isinstance(t, Plain)]
        size = layouts.broadcast_shapes("normal", *shapes)
    return Plain.randn(sizes_of((size,)), dtype=dtype or dtypes.float32) * std + mean


def chances(x: Any, p: Any, dtype: Any) -> Any:
    """1 with probability p, or that in x, else 0."""
    given = Plain.detach(x) if p is None else Plain.full(tuple(x.shape), float(p), dtype=x.dtype)
    return sampling.bernoulli(given)


f32 = dtypes.float32
MAKERS: dict[str, Any] = {
    "tensor(data)": copied,
    "as_tensor(data, dtype=None, device=None)": lambda data, dtype: shared(data, dtype),
    "asarray(obj, *, copy=None)": lambda x, copy, d: (copied if copy else shared)(x, d),
    "from_numpy(ndarray)": lambda array, d: Plain.from_dlpack(array),
    "scalar_tensor(s)": lambda s, d: copied(s, d or f32),
    "zeros(*size)": lambda size, d: Plain.zeros(sizes_of(size), dtype=d or f32),
    "ones(*size)": lambda size, d: Plain.ones(sizes_of(size), dtype=d or f32),
    "empty(*size)": lambda size, d: Plain.zeros(sizes_of(size), dtype=d or f32),
    "rand(*size)": lambda size, d: Plain.rand(sizes_of(size), dtype=d or f32),
    "randn(*size)": lambda size, d: Plain.randn(sizes_of(size), dtype=d or f32),
    "full(size, fill_value)": lambda size, v, d: filled(sizes_of((size,)), v, d),
    "zeros_like(input)": lambda x, d: Plain.zeros(tuple(x.shape), dtype=d or x.dtype),
    "ones_like(input)": lambda x, d: Plain.ones(tuple(x.shape), dtype=d or x.dtype),
    "empty_like(input)": lambda x, d: Plain.zeros(tuple(x.shape), dtype=d or x.dtype),
    "rand_like(input)": lambda x, d: Plain.rand(tuple(x.shape), dtype=d or x.dtype),
    "randn_like(input)": lambda x, d: Plain.randn(tuple(x.shape), dtype=d or x.dtype),
    "full_like(input, fill_value)": lambda x, v, d: filled(tuple(x.shape), v, d or x.dtype),
    "arange(start, end=None, step=1)": arange,
    "linspace(start, end, steps)": lambda a, b, steps, d:
        Plain.linspace(float(number(a)), float(number(b)), int(steps), dtype=d or f32),
    "logspace(start, end, steps, base=10.0)": logspace,
    "eye(n, m=None)": lambda n, m, d: Plain.eye(n, m, dtype=d or f32),
    "randint(low, high=None, size=None)": randint,
    "randint_like(input, low, high=None)": randint_like,
    "randperm(n)": lambda n, d: sampling.randperm(n, dtype=d or dtypes.int64),
    "bernoulli(input, p=None)": chances,
    "multinomial(input, num_samples, replacement=False)":
        lambda x, n, again, d: sampling.multinomial(Plain.detach(x), n, again),
    "normal(mean=0.0, std=1.0, size=None)": normal,
    "tril_indices(row, col, offset=0)":
        lambda *a: Plain.cast(movement.stack(list(joining.tril_indices(*a[:3]))), a[3] or "int64"),
    "triu_indices(row, col, offset=0)":
        lambda *a: Plain.cast(movement.stack(list(joining.triu_indices(*a[:3]))), a[3] or "int64"),
}  # fmt: skip
METHODS: dict[str, Any] = {
    "new_zeros(self, *size)": lambda x, size, d: Plain.zeros(sizes_of(size), dtype=d or x.dtype),
    "new_ones(self, *size)": lambda x, size, d: Plain.ones(sizes_of(size), dtype=d or x.dtype),
    "new_empty(self, *size)": lambda x, size, d: Plain.zeros(sizes_of(size), dtype=d or x.dtype),
    "new_full(self, size, fill_value)":
        lambda x, size, v, d: filled(sizes_of((size,)), v, d or x.dtype),
    "new_tensor(self, data)": lambda x, data, d: copied(data, d or x.dtype),
    "bernoulli(self, p=None)": chances,
    "multinomial(self, num_samples, replacement=False)":
        lambda x, n, again, d: sampling.multinomial(Plain.detach(x), n, again),
}  # fmt: skip

# ---- of several ----------------------------------------------------------------------------------


def joined(tensors: Any) -> list[Any]:
    """The tensors in their common dtype."""
    row = list(tensors)
    if not row:
        raise ShapeError("torch.cat([])", "there are no tensors", "give one or more")
    wanted = result_type(*row)
    return [Plain.cast(t, wanted) for t in row]


def cat(tensors: Any, dim: int, out: Any) -> Any:
    """The tensors one after another; 1-D tensors without numbers are left out."""
    no_out(out)
    row = joined(tensors)
    return movement.cat([t for t in row if tuple(t.shape) != (0,)] or row[:1], dim)


def combinations(x: Any, r: int, with_replacement: bool) -> Any:
    """All combinations of r elements, a row for each."""
    pick = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    places = list(pick(range(x.shape[0]), r))
    at = Plain(places, dtype="int64") if places else Plain.zeros(0, r, dtype="int64")
    return Plain.__getitem__(x, at)


def tensordot(a: Any, b: Any, dims: Any, out: Any) -> Any:
    """The sum of products over the last axes of a and the first of b, or over those named."""
    no_out(out)
    pair = isinstance(dims, (tuple, list))
    return sums.tensordot(a, b, tuple(tuple(d) for d in dims) if pair else int(dims))


def stretched(tensors: tuple[Any, ...]) -> tuple[Any, ...]:
    """All stretched to their common shape."""
    shape = layouts.broadcast_shapes("broadcast_tensors", *(tuple(t.shape) for t in tensors))
    return tuple(Plain.expand(t, shape) for t in tensors)


def common_shape(shapes: tuple[Any, ...]) -> Size:
    """The shape of all these stretched together."""
    each = [(s,) if isinstance(s, int) else tuple(s) for s in shapes]
    return Size(layouts.broadcast_shapes("broadcast_shapes", *each))


def searchsorted(row: Any, values: Any, int32: bool, right: bool, side: Any, sorter: Any) -> Any:
    """The positions at which the values would be inserted."""
    row = row if sorter is None else Plain.gather(row, -1, sorter)
    if row.ndim > 1:
        raise ShapeError("searchsorted of several rows", "tutor searches in one",
                         "write it for each row, and stack")  # fmt: skip
    values = values if isinstance(values, Plain) else Plain(values)
    found = sets.searchsorted(row, values, side="right" if right or side == "right" else "left")
    return Plain.cast(found, "int32" if int32 else "int64")


def isin(elements: Any, others: Any, unique: bool, invert: bool) -> Any:
    """Is each element one of the others?"""
    a, b = (x if isinstance(x, Plain) else Plain([x]) for x in (elements, others))
    found = sets.isin(*promoted(a, b))
    return Plain.logical_not(found) if invert else found


FORMULAS: dict[str, Any] = {
    "cat(tensors, dim=0, *, out=None)": cat, "concat(tensors, dim=0, *, out=None)": cat,
    "concatenate(tensors, dim=0, *, out=None)": cat,
    "stack(tensors, dim=0)": lambda row, dim: movement.stack(joined(row), dim),
    "hstack(tensors)": lambda row: joining.hstack(joined(row)),
    "vstack(tensors)": lambda row: joining.vstack(joined(row)),
    "row_stack(tensors)": lambda row: joining.vstack(joined(row)),
    "dstack(tensors)": lambda row: joining.dstack(joined(row)),
    "column_stack(tensors)": lambda row: joining.column_stack(joined(row)),
    "block_diag(*tensors)": lambda row: joining.block_diag(*joined(row)),
    "cartesian_prod(*tensors)": lambda row: joining.cartesian_prod(*joined(row)),
    "combinations(input, r=2, with_replacement=False)": combinations,
    "meshgrid(*tensors, indexing='ij')":
        lambda row, indexing: movement.meshgrid(*several(row), indexing=indexing),
    "einsum(equation, *operands)": lambda text, row: sums.einsum(text, *several(row)),
    "tensordot(a, b, dims=2, out=None)": tensordot,
    "broadcast_tensors(*tensors)": stretched,
    "broadcast_shapes(*shapes)": common_shape,
    "searchsorted(sorted_sequence, input, *, out_int32=False, right=False, side=None, "
    "sorter=None)": searchsorted,
    "bucketize(input, boundaries, *, out_int32=False, right=False)":
        lambda x, row, int32, right: searchsorted(row, x, int32, right, None, None),
    "isin(elements, test_elements, *, assume_unique=False, invert=False)": isin,
}  # fmt: skip
MADE = {row.partition("(")[0]: maker(row, f) for row, f in MAKERS.items()}
MADE |= {row.partition("(")[0]: formula(row, f) for row, f in FORMULAS.items()}
