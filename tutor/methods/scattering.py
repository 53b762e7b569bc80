"""`x.scatter_reduce(axis, index, src, reduce)`: combines the numbers that go to one place.

Sums use the kernel scatter_add, and means are sums divided by counts; the largest and smallest have
an op of their own (tutor/ops/indexing.py). For a product, src is sorted by destination, and a scan
multiplies until the next destination begins.
"""

from __future__ import annotations

from typing import TypeVar

from tutor._storage import layout
from tutor.core.engine import apply
from tutor.methods.views import Views

T = TypeVar("T", bound=Views)
REDUCE = ("sum", "prod", "mean", "amax", "amin")
BY = {"add": "sum", "multiply": "prod"}  # what `scatter` calls them


def reduced(x: T, axis: int, index: T, src: T, reduce: str, include_self: bool) -> T:
    """See `Indexing.scatter_reduce`."""
    a = layout.axis_of(axis, x.ndim or 1)
    if not x.shape:  # a row of one
        rows = [t if t.shape else t.reshape(1) for t in (x, index, src)]
        return reduced(rows[0], a, rows[1], rows[2], reduce, include_self).reshape(())
    z: T
    if reduce in ("amax", "amin"):
        z = apply(
            "scatter_extreme", x, index, src, axis=a, largest=reduce == "amax",
            include_self=include_self,
        )  # fmt: skip
        return z
    written: T = apply("scatter", x, index, src, axis=a)  # this checks all arguments
    if not index.numel():
        return written
    ones = index.like(1)
    count = apply("scatter_add", ones.like(0, x.shape), index, ones, axis=a)
    start = x if include_self else apply("where", count > 0, x.like(int(reduce == "prod")), x)
    if reduce == "prod":
        z = start * products(x, a, index, src)
    else:
        z = apply("scatter_add", start, index, src, axis=a)
    if reduce == "mean":
        number = count + 1 if include_self else apply("where", count > 0, count, 1)
        z = z / number.cast(x.dtype) if x.dtype.is_float else z // number.cast(x.dtype)
    return z


def products(x: T, axis: int, index: T, src: T) -> T:
    """The product of all src that go to each place of x, 1 where none does."""
    at = apply("where", index < 0, index + x.shape[axis], index)
    order = apply("argsort", at, axis=axis)
    at, src = (apply("gather", t, order, axis=axis) for t in (at, src))
    before = (slice(None),) * axis
    first = at.like(1, (*at.shape[:axis], 1, *at.shape[axis + 1 :])) == 1
    ahead = apply("index", at, key=(*before, slice(1, None)))
    behind = apply("index", at, key=(*before, slice(None, -1)))
    begins = apply("cat", first, ahead != behind, axis=axis)
    # z_i = src_i where a place begins, else z_(i-1) * src_i; the last of each place is the product.
    nothing = src.like(0)
    on, start = apply("where", begins, nothing, src), apply("where", begins, src, nothing)
    running = apply("scan", on, start, axis=axis)
    product: T = apply("scatter", x.like(1), at, running, axis=axis)
    return product
