"""Selecting by index tensors (int64), and adding back to where something was selected from."""

from __future__ import annotations

from typing import Any

from tutor.core.engine import apply
from tutor.core.op import Op
from tutor.dtype import bool_, int64
from tutor.errors import DTypeError, ShapeError
from tutor.ground.literals import is_tensor
from tutor.ops.along import Along


def positions(op: Op, index: Any) -> Any:
    """index as int64, or a DTypeError."""
    if not index.dtype.is_integer:
        raise DTypeError(
            f"{op.name} with a {index.dtype.name} index",
            "positions are whole numbers",
            "give an integer Tensor or a list of ints",
        )
    return index.cast(int64)


class Indexed(Along, abstract=True):
    """x, an index and sometimes a source; the index is made an int64 Tensor."""

    def __init__(self, x: Any, index: Any, *rest: Any, axis: int) -> None:
        if not is_tensor(index):
            empty = hasattr(index, "__len__") and len(index) == 0  # a list of none is one of ints
            index = x.wrap(index, int64 if empty else None)
        rest = tuple(t if is_tensor(t) else x.wrap(t, x.dtype) for t in rest)
        super().__init__(x, positions(self, index), *rest, axis=axis)

    def is_beside(self, x: Any, index: Any) -> bool:
        """Has index x's axes, and does it reach no further than x beside `axis`?"""
        axis = self.params["axis"]
        return len(index.shape) == len(x.shape) and all(
            n <= m for a, (n, m) in enumerate(zip(index.shape, x.shape, strict=True)) if a != axis
        )

    def names_nothing(self) -> bool:
        """Is the index empty, and of a shape that does not go with x's? PyTorch takes any then."""
        x, index = self.inputs[:2]
        return 0 in index.shape and bool(x.shape) and not self.is_beside(x, index)

    def check_beside(self, x: Any, index: Any) -> None:
        """index must have x's axes and reach no further than x beside `axis`."""
        axis = self.params["axis"]
        if not self.is_beside(x, index):
            raise ShapeError(
                f"{self.name} along axis {axis} of shape {x.shape} with index shape {index.shape}",
                "the index has other axes, or reaches beyond x",
                f"beside axis {axis} every size of the index must be at most x's",
            )


class Gather(Indexed):
    """z[..., i, ...] = x[..., index[..., i, ...], ...] along axis"""

    kernel, saves = "gather", ("index",)

    def apply(self):
        x, index = self.inputs
        if self.names_nothing():
            return x.reshape((x.numel(),))[:0].reshape(index.shape)
        return super().apply()

    def infer(self, x, index, *, axis):
        self.check_beside(x, index)
        return index.shape, x.buf.dtype

    def operands(self, shape, x, index):
        """x cut to the index's sizes beside axis, as the kernel wants it."""
        axis = self.params["axis"]
        sizes = tuple(
            m if a == axis else n for a, (m, n) in enumerate(zip(x.shape, shape, strict=True))
        )
        return x.over(x.buf, sizes, x.strides, x.offset), index

    def backward(self, g, index):
        zeros = self.inputs[0].like(0)
        return apply("scatter_add", zeros, index, g, axis=self.params["axis"]), None


class Scattering(Indexed, abstract=True):
    """z = x, but for the places that the index names."""

    saves = ("index",)

    def apply(self):
        x, index, src = self.inputs
        empty = 0 in index.shape and (self.names_nothing() or src.shape != index.shape)
        return x.copy() if empty else super().apply()

    def infer(self, x, index, src, *, axis):
        self.check_beside(x, index)
        if src.shape != index.shape or src.dtype is not x.dtype:
            raise ShapeError(
                f"{self.name} of {src.shape} {src.dtype.name} into {x.shape} {x.dtype.name}",
                f"the index has shape {index.shape}",
                "src must have the index's shape and x's dtype",
            )
        return x.shape, x.buf.dtype


class ScatterAdd(Scattering):
    """z = x, then z[..., index[..., i, ...], ...] += src[..., i, ...] along axis"""

    kernel = "scatter_add"

    def backward(self, g, index):
        return g, None, apply("gather", g, index, axis=self.params["axis"])


class Scatter(Scattering):
    """z = x, then z[..., index[..., i, ...], ...] = src[..., i, ...] along axis

    In row-major order of src: of several that go to one place, the last one stays.
    """

    kernel = "scatter"

    def backward(self, g, index):
        """What was overwritten has no gradient; of several in one place the last has it."""
        axis, x = self.params["axis"], self.inputs[0]
        order = type(x).arange(index.numel()).reshape(index.shape)
        nobody = order.like(-1, x.shape)
        writer = apply("scatter", nobody, index, order, axis=axis)
        stays = apply("gather", writer, index, axis=axis) == order
        gsrc = apply("where", stays, apply("gather", g, index, axis=axis), 0.0)
        return apply("where", writer < 0, g, 0.0), None, gsrc


class Nonzero(Op):
    """z = the row-major positions of what is not 0; how many there are depends on the numbers"""

    kernel, name = "nonzero", "nonzero"

    def __init__(self, x: Any) -> None:
        super().__init__(x if x.dtype is bool_ else x != 0)

    def infer(self, x):
        return (int(x.sum().item()),), int64


class IndexSelect(Indexed):
    """z = the slices of x at the positions in the 1-D index, along axis"""

    kernel, saves = "index_select", ("index",)

    def apply(self):
        z = super().apply()
        return z if self.inputs[0].shape else z.reshape(())

    def infer(self, x, index, *, axis):
        if len(index.shape) != 1:
            raise ShapeError(
                f"index_select with an index of shape {index.shape}",
                f"{len(index.shape)} axes",
                "give a 1-D index; .gather() takes one with x's axes",
            )
        return (*x.shape[:axis], *index.shape, *x.shape[axis + 1 :]), x.buf.dtype

    def backward(self, g, index):
        axis, x = self.params["axis"], self.inputs[0]
        shape = tuple(-1 if a == axis else 1 for a in range(len(x.shape)))
        spread = index.reshape(shape).expand(g.shape)
        return apply("scatter_add", x.like(0), spread, g, axis=axis), None
