"""Selecting by index tensors (int64), and the reverse: writing or adding at selected places.

An index is a position from -size to size - 1 along the axis; the kernels count negative ones from
the end and raise OutOfRangeError for any other.
"""

from __future__ import annotations

from typing import Any, ClassVar

from tutor._storage import bounds_checks
from tutor._storage.array_like import is_tensor
from tutor._storage.layout import checked_shape
from tutor.backends.shape_rules import is_beside
from tutor.core.buffer import Buffer
from tutor.core.engine import apply, engine
from tutor.core.op import Op
from tutor.dtype import bool_, int64
from tutor.errors import DTypeError, ShapeError
from tutor.ops.reduce import Along


def positions(op: Op, index: Any) -> Any:
    """index as int64, or a DTypeError."""
    if not index.dtype.is_integer:
        raise DTypeError(
            f"{op.name} with a {index.dtype.name} index",
            "positions are whole numbers",
            "give an integer Tensor or a list of ints",
        )
    return index if index.dtype is int64 else index.cast(int64)


class Indexed(Along, abstract=True):
    """x, an index and sometimes a source; the index becomes an int64 Tensor."""

    takes: ClassVar[tuple[str, ...]] = ("x", "index")
    saves: ClassVar[tuple[str, ...]] = ("index",)

    def settle(self) -> Any:
        x, index, *rest = self.inputs
        if not is_tensor(index):
            empty = hasattr(index, "__len__") and len(index) == 0  # an empty list counts as ints
            index = x.wrap(index, int64 if empty else None)
        rest = [t if is_tensor(t) else x.wrap(t, x.dtype) for t in rest]
        index = positions(self, index)
        if len(x.shape) == 1 and not index.shape:  # a 0-d index is a row of one
            index, *rest = (t if t.shape else t.reshape((1,)) for t in (index, *rest))
            z = type(self)(x, index, *rest, **self.params).apply()
            return z.reshape(()) if self.kernel == "gather" else z
        self.inputs = (x, index, *rest)
        return super().settle()

    def names_nothing(self) -> bool:
        """Is the index empty, with a shape that does not fit x's? PyTorch accepts any."""
        x, index, axis = *self.inputs[:2], self.params["axis"]
        return 0 in index.shape and bool(x.shape) and not is_beside(x.shape, index.shape, axis)


class Gather(Indexed):
    """z[..., i, ...] = x[..., index[..., i, ...], ...] along axis"""

    kernel = "gather"

    def settle(self):
        if (z := super().settle()) is None and self.names_nothing():
            x, index = self.inputs
            return x.reshape((x.numel(),))[:0].reshape(index.shape)
        return z

    def backward(self, g, index):
        zeros = g.like(0, self.edges[0].shape)
        return apply("scatter_add", zeros, index, g, axis=self.params["axis"]), None


class Scattering(Indexed, abstract=True):
    """z = x, except at the places that the index names."""

    takes = ("x", "index", "src")

    def settle(self):
        if (z := super().settle()) is None:
            x, index, src = self.inputs
            empty = 0 in index.shape and (self.names_nothing() or src.shape != index.shape)
            return x.copy() if empty else None
        return z.reshape(self.inputs[0].shape)

    def wrong_dtype(self, i, wanted):
        x, index, src = self.inputs
        return ShapeError(
            f"{self.name} of {src.shape} {src.dtype.name} into {x.shape} {x.dtype.name}",
            f"the index has shape {index.shape}",
            "src must have the index's shape and x's dtype",
        )


class ScatterAdd(Scattering):
    """z = x, then z[..., index[..., i, ...], ...] += src[..., i, ...] along axis"""

    kernel = "scatter_add"

    def backward(self, g, index):
        return g, None, apply("gather", g, index, axis=self.params["axis"])


class Scatter(Scattering):
    """z = x, then z[..., index[..., i, ...], ...] = src[..., i, ...] along axis

    src is written in row-major order: of several that go to one place, the last wins.
    """

    kernel = "scatter"

    def backward(self, g, index):
        """Overwritten elements get no gradient; of several in one place only the last gets it."""
        axis, x = self.params["axis"], self.edges[0]
        order = type(g).arange(index.numel(), device=x.device).reshape(index.shape)
        nobody = order.like(-1, x.shape)
        writer = apply("scatter", nobody, index, order, axis=axis)
        stays = apply("gather", writer, index, axis=axis) == order
        gsrc = apply("where", stays, apply("gather", g, index, axis=axis), 0.0)
        return apply("where", writer < 0, g, 0.0), None, gsrc


class ScatterExtreme(Scattering):
    """z = x; then each place that the index names takes the largest (or smallest) src that goes
    there, x's own included if include_self. Ties share the gradient evenly"""

    name, saves = "scatter_extreme", ("x", "index", "src", "out")

    def forward(self, x, index, src, *, axis, largest, include_self):
        """Writes src in order, the most extreme (or a nan) last, so that one stays."""
        x, src = x.detach(), src.detach()
        turned = -src if not largest and src.dtype.is_float else src  # a nan is always last
        order = apply("argsort", turned, axis=axis, descending=not largest and turned is src)
        at, src = (apply("gather", t, order, axis=axis) for t in (index, src))
        z = apply("scatter", x, at, src, axis=axis)
        return apply("maximum" if largest else "minimum", x, z) if include_self else z

    def backward(self, g, x, index, src, z):
        axis = self.params["axis"]
        chosen = (src == apply("gather", z, index, axis=axis)).cast(g.dtype)
        own = x == z
        if not self.params["include_self"]:
            places = apply("scatter", own.like(0), index, index.like(1).cast(own.dtype), axis=axis)
            own = own * (places == 0)  # on bools, * is and
        own = own.cast(g.dtype)
        share = g / apply("scatter_add", own, index, chosen, axis=axis)
        return share * own, None, apply("gather", share, index, axis=axis) * chosen


class Nonzero(Op):
    """z = the row-major positions of the nonzero elements; their count depends on the numbers"""

    def forward(self, x):
        chosen = x if x.dtype is bool_ else x != 0
        bounds_checks.opened("how many are true, the shape of t[mask]")
        count = int(chosen.sum().item())
        out = x.over(Buffer.empty(count, int64, x.buf.device), (count,))
        engine.call("nonzero", bool_, out, chosen)
        return out


class OneHot(Op):
    """z[..., c] = 1 where x is c, else 0, for each class number c below `classes`; int64"""

    name = "one_hot"

    def settle(self):
        self.inputs = (positions(self, self.inputs[0]),)

    def forward(self, x, *, classes):
        (classes,) = checked_shape((classes,), "one_hot(classes=...)")
        place = x.detach().unsqueeze(-1)
        out = place.like(0, (*x.shape, classes))
        place = apply("where", place < 0, classes, place)  # no class: the kernel refuses
        engine.call("scatter", int64, out, out, place, place.like(1), axis=len(x.shape))
        return out


class IndexSelect(Indexed):
    """z = the slices of x at the positions in the 1-D index, along axis"""

    kernel = "index_select"

    def settle(self):
        z = super().settle()
        return z.reshape(()) if z is not None and not self.inputs[0].shape else z

    def backward(self, g, index):
        axis, x = self.params["axis"], self.edges[0]
        shape = tuple(-1 if a == axis else 1 for a in range(len(x.shape)))
        spread = index.reshape(shape).expand(g.shape)
        return apply("scatter_add", g.like(0, x.shape), spread, g, axis=axis), None
