"""What a Tensor can do, by name: one line each, `apply` with the op of that name.

The formulas and their derivatives are in tutor/ops/, the kernels in tutor/backends/.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tutor import dtype as dtypes
from tutor import layout
from tutor.core.engine import apply
from tutor.errors import AxisError, ShapeError

if TYPE_CHECKING:
    from tutor.core.tensor import Tensor


class Methods:
    """The named methods of Tensor."""

    __slots__ = ()

    # ---- views: other walking instructions over the same Buffer ----------------------------------

    def reshape(self, *shape: Any) -> Tensor:
        """The same numbers in another shape; one size may be -1. A view if strides allow, else a
        view of a copy."""
        to = layout.fill_in(layout.sizes_of(shape), self.numel())
        fits = layout.reshape_strides(self.shape, self.strides, to) is not None
        return apply("reshape", self if fits else self.copy(), shape=to)

    def view(self, *shape: Any) -> Tensor:
        """As `reshape`, but never a copy: ShapeError where no strides can walk the new shape."""
        to = layout.fill_in(layout.sizes_of(shape), self.numel())
        if layout.reshape_strides(self.shape, self.strides, to) is None:
            raise ShapeError(
                f"to view shape {self.shape}, strides {self.strides} as {to}",
                "no strides can walk this memory in that order",
                "use .reshape(...), which copies, or .contiguous().view(...)",
            )
        return apply("reshape", self, shape=to)

    def flatten(self) -> Tensor:
        return self.reshape(-1)

    def permute(self, *axes: Any) -> Tensor:
        """All axes in a new order."""
        order = tuple(layout.axis_of(a, self.ndim) for a in layout.sizes_of(axes))
        if sorted(order) != list(range(self.ndim)):
            raise AxisError(f"permute{order}", f"{self.ndim} axes", "name each axis exactly once")
        return apply("permute", self, axes=order)

    def transpose(self, a: int = -2, b: int = -1) -> Tensor:
        """Axes a and b exchanged."""
        order = list(range(self.ndim))
        a, b = layout.axis_of(a, self.ndim), layout.axis_of(b, self.ndim)
        order[a], order[b] = b, a
        return apply("permute", self, axes=tuple(order))

    @property
    def T(self) -> Tensor:  # noqa: N802 - as in mathematics
        """All axes in reverse order: the transpose of a matrix."""
        return apply("permute", self, axes=tuple(reversed(range(self.ndim))))

    def expand(self, *shape: Any) -> Tensor:
        """Axes of size 1 stretched, new ones added at the front; -1 keeps a size. No copy."""
        asked = tuple(layout.sizes_of(shape))
        old = (-1,) * (len(asked) - self.ndim) + self.shape
        to = tuple(o if n == -1 else n for n, o in zip(asked, old, strict=False))
        to = layout.checked_shape(to)
        return self if to == self.shape else apply("expand", self, shape=to)

    def squeeze(self, axis: Any = None) -> Tensor:
        """Without the axes of size 1 (or without those named, which must have size 1)."""
        axes = layout.axes_of(axis, self.ndim)
        wrong = [a for a in axes if self.shape[a] != 1]
        if axis is not None and wrong:
            raise ShapeError(f"squeeze(axis={axis})", f"shape {self.shape}", "name axes of size 1")
        gone = set(axes) - set(wrong)
        return apply("reshape", self, shape=tuple(
            n for a, n in enumerate(self.shape) if a not in gone))  # fmt: skip

    def unsqueeze(self, axis: int) -> Tensor:
        """With a new axis of size 1 at that position."""
        at = layout.axis_of(axis, self.ndim + 1)
        return apply("reshape", self, shape=(*self.shape[:at], 1, *self.shape[at:]))

    def flip(self, axis: Any = None) -> Tensor:
        """The named axes (default: all) walked backwards."""
        axes = layout.axes_of(axis, self.ndim)
        key = tuple(slice(None, None, -1 if a in axes else 1) for a in range(self.ndim))
        return apply("index", self, key=key)

    def shrink(self, bounds: Any) -> Tensor:
        """`bounds[a] = (start, stop)` for every axis: the box between them."""
        key = tuple(slice(*pair) for pair in layout.pairs_of(bounds, self.ndim, "shrink"))
        return apply("index", self, key=key)

    # ---- copies ----------------------------------------------------------------------------------

    def copy(self) -> Tensor:
        """The same numbers in memory of their own, row-major; gradients flow through."""
        return apply("copy", self)

    clone = copy

    def contiguous(self) -> Tensor:
        """Row-major in memory: itself if it is already, else a copy."""
        return self if self.is_contiguous() else apply("copy", self)

    def cast(self, dtype: Any) -> Tensor:
        """The numbers in another dtype; itself if it is that already. `astype` is the same."""
        wanted = dtypes.of(dtype)
        return self if wanted is self.dtype else apply("cast", self, dtype=wanted)

    astype = cast

    def pad(self, widths: Any, value: float = 0) -> Tensor:
        """`widths[a] = (before, after)` for every axis: that many `value`s around."""
        return apply("pad", self, widths=layout.pairs_of(widths, self.ndim, "pad"), value=value)

    # ---- elementwise -----------------------------------------------------------------------------

    def add(self, other: Any) -> Tensor:
        return apply("add", self, other)

    def sub(self, other: Any) -> Tensor:
        return apply("sub", self, other)

    def mul(self, other: Any) -> Tensor:
        return apply("mul", self, other)

    def div(self, other: Any) -> Tensor:
        return apply("div", self, other)

    def pow(self, other: Any) -> Tensor:
        return apply("pow", self, other)

    def neg(self) -> Tensor:
        return apply("neg", self)

    def abs(self) -> Tensor:
        return apply("abs", self)

    def exp(self) -> Tensor:
        return apply("exp", self)

    def log(self) -> Tensor:
        return apply("log", self)

    def sqrt(self) -> Tensor:
        return apply("sqrt", self)

    def sin(self) -> Tensor:
        return apply("sin", self)

    def cos(self) -> Tensor:
        return apply("cos", self)

    def tanh(self) -> Tensor:
        return apply("tanh", self)

    def sigmoid(self) -> Tensor:
        return apply("sigmoid", self)

    def relu(self) -> Tensor:
        return apply("relu", self)

    def maximum(self, other: Any) -> Tensor:
        return apply("maximum", self, other)

    def minimum(self, other: Any) -> Tensor:
        return apply("minimum", self, other)

    def where(self, x: Any, y: Any) -> Tensor:
        """`cond.where(x, y)`: x where cond (a bool Tensor) is true, else y."""
        return apply("where", self, x, y)

    # ---- reductions: axis is None (all), an axis, or a tuple of axes -----------------------------

    def sum(self, axis: Any = None, keepdims: bool = False) -> Tensor:
        return apply("sum", self, axis=axis, keepdims=keepdims)

    def mean(self, axis: Any = None, keepdims: bool = False) -> Tensor:
        return apply("mean", self, axis=axis, keepdims=keepdims)

    def max(self, axis: Any = None, keepdims: bool = False) -> Tensor:
        return apply("max", self, axis=axis, keepdims=keepdims)

    def min(self, axis: Any = None, keepdims: bool = False) -> Tensor:
        return apply("min", self, axis=axis, keepdims=keepdims)

    def argmax(self, axis: Any = None, keepdims: bool = False) -> Tensor:
        """Position of the (first) largest, int64."""
        return apply("argmax", self, axis=axis, keepdims=keepdims)

    # ---- products --------------------------------------------------------------------------------

    def matmul(self, other: Any) -> Tensor:
        """The matrix product over the last two axes; leading axes broadcast, 1-D is a vector."""
        return apply("matmul", self, other)

    dot = matmul

    # ---- selecting by index ----------------------------------------------------------------------

    def gather(self, axis: int, index: Any) -> Tensor:
        """z[..., i, ...] = self[..., index[..., i, ...], ...] along axis."""
        return apply("gather", self, index, axis=axis)

    def scatter_add(self, axis: int, index: Any, src: Any) -> Tensor:
        """self with src[..., i, ...] added at [..., index[..., i, ...], ...] along axis."""
        return apply("scatter_add", self, index, src, axis=axis)

    def index_select(self, axis: int, index: Any) -> Tensor:
        """The slices along axis at the positions in the 1-D `index`."""
        return apply("index_select", self, index, axis=axis)

    # ---- towards a loss --------------------------------------------------------------------------

    def softmax(self, axis: int = -1) -> Tensor:
        return apply("softmax", self, axis=axis)

    def log_softmax(self, axis: int = -1) -> Tensor:
        return apply("log_softmax", self, axis=axis)

    def cross_entropy(self, targets: Any, reduction: str = "mean") -> Tensor:
        """Logits (..., classes) against integer targets (...): see ops.fused.CrossEntropy."""
        return apply("cross_entropy", self, targets, reduction=reduction)

    sparse_categorical_crossentropy = cross_entropy
