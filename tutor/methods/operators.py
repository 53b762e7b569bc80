"""Operators, and all methods that are one op each: the formulas and derivatives are in tutor/ops/.

`x + y` asks the Engine to apply the op "add"; either operand may be a number. All other methods of
a Tensor are composed of these: see tutor/methods/tensor.py, which lists them. What `unary`,
`binary` and `reduction` make of an op's name is in tutor/methods/applied.py. For `x += y` and the
like see tutor/methods/inplace.py.
"""

from __future__ import annotations

import math
from typing import Self, TypeVar

from tutor import dtype as dtypes
from tutor._storage import layout
from tutor._storage.layout import Shape
from tutor._util import checks
from tutor._util.keyword_aliases import paired, spelled
from tutor._util.typing import Axes, Axis, DTypeLike, Key, ShapeLike, TensorLike
from tutor.core.buffer import Buffer
from tutor.core.engine import apply, engine
from tutor.core.tensor import TensorBase
from tutor.methods.applied import binary, composed, equality, operators, reduction, unary

T = TypeVar("T", bound="Operators")  # of the functions beside this file: a Tensor, as it is given


@spelled
class Operators(TensorBase):
    """The operators of Tensors, and the methods that are one op each."""

    __slots__ = ()

    # ---- operators -------------------------------------------------------------------------------

    __neg__, __abs__ = unary("neg", "-x"), unary("abs", "|x|")
    __invert__ = unary("bitwise_not", "~x")
    __add__, __radd__ = operators("add")
    __sub__, __rsub__ = operators("sub")
    __mul__, __rmul__ = operators("mul")
    __truediv__, __rtruediv__ = operators("div")
    __floordiv__, __rfloordiv__ = operators("floor_divide")
    __mod__, __rmod__ = operators("remainder")
    __pow__, __rpow__ = operators("pow")
    __matmul__, __rmatmul__ = operators("matmul")
    __and__, __rand__ = operators("bitwise_and")
    __or__, __ror__ = operators("bitwise_or")
    __xor__, __rxor__ = operators("bitwise_xor")
    __lshift__, __rlshift__ = operators("bitwise_left_shift")
    __rshift__, __rrshift__ = operators("bitwise_right_shift")
    __lt__, __gt__ = operators("lt")[0], operators("gt")[0]  # Python itself turns 1 < t into t > 1
    __le__, __ge__ = operators("le")[0], operators("ge")[0]
    # typeshed declares that they return a bool for every object
    __eq__, __ne__ = equality("eq"), equality("ne")  # type: ignore[assignment]
    __hash__ = object.__hash__  # == compares elements; as a dict key a tensor is identified by id

    def __pos__(self) -> Self:
        return self

    def __getitem__(self, key: Key) -> Self:
        """NumPy's indexing: ints, slices, None and Ellipsis give a view, arrays of positions or
        bools a copy (tutor/methods/selection.py)."""
        return apply("index", self, key=key)

    def like(self, value: bool | int | float, shape: Shape | None = None) -> Self:
        """A new Tensor filled with `value`, of this dtype, device and (unless given) shape."""
        to = self.shape if shape is None else shape
        out = self.over(Buffer.empty(math.prod(to), self.dtype, self.buf.device), to)
        engine.call("fill", self.dtype, out, value=value)
        return out

    # ---- elementwise, of one operand -------------------------------------------------------------

    neg = unary("neg", "-x")
    abs = unary("abs", "|x|")
    sign = unary("sign", "-1, 0 or 1: the sign of x")
    square = composed(lambda self: self * self, "x * x")
    reciprocal = composed(lambda self: 1 / self, "1 / x")
    sqrt = unary("sqrt", "The square root.")
    rsqrt = composed(lambda self: 1 / self.sqrt(), "1 / sqrt(x)")
    exp = unary("exp", "e**x")
    exp2 = unary("exp2", "2**x")
    expm1 = unary("expm1", "e**x - 1, precise near 0")
    log = unary("log", "The natural logarithm.")
    log2 = unary("log2", "The logarithm to base 2.")
    log10 = unary("log10", "The logarithm to base 10.")
    log1p = unary("log1p", "ln(1 + x), precise near 0")
    sin = unary("sin", "The sine of an angle in radians.")
    cos = unary("cos", "The cosine.")
    tan = unary("tan", "The tangent.")
    asin = unary("asin", "The angle whose sine is x.")
    acos = unary("acos", "The angle whose cosine is x.")
    atan = unary("atan", "The angle whose tangent is x.")
    sinh = unary("sinh", "(e**x - e**-x) / 2")
    cosh = unary("cosh", "(e**x + e**-x) / 2")
    tanh = unary("tanh", "sinh(x) / cosh(x)")
    asinh = unary("asinh", "The number whose sinh is x.")
    acosh = unary("acosh", "The number >= 0 whose cosh is x.")
    atanh = unary("atanh", "The number whose tanh is x.")
    erf = unary(
        "erf", "The error function: 2 / sqrt(pi) times the integral of e**-t**2 from 0 to x."
    )
    floor = unary("floor", "The largest integer <= x, in the dtype of x.")
    ceil = unary("ceil", "The smallest integer >= x.")
    round = unary("round", "The nearest integer; halves go to the even one.")
    trunc = unary("trunc", "x without its fraction.")
    bitwise_not = unary("bitwise_not", "~x, bit by bit; for bools, logical not.")
    logical_not = composed(lambda self: self == 0, "True where x is 0.")
    isnan = composed(lambda self: self != self, "True where x is nan.")
    isinf = composed(
        lambda self: self.abs() == math.inf if self.dtype.is_float else self != self,
        "True where x is infinite.",
    )
    isfinite = composed(
        lambda self: self.abs() < math.inf if self.dtype.is_float else self == self,
        "True where x is neither infinite nor nan.",
    )
    relu = unary("relu", "x where x > 0, else 0.")
    sigmoid = unary("sigmoid", "1 / (1 + e**-x)")

    # ---- elementwise, of several operands --------------------------------------------------------

    add = binary("add", "x + y")
    sub = binary("sub", "x - y")
    mul = binary("mul", "x * y")
    div = binary("div", "x / y; integers divide as float32")
    pow = binary("pow", "x**y")
    floor_divide = binary("floor_divide", "The largest integer <= x / y.")
    remainder = binary("remainder", "x - y * floor(x / y): it has the sign of y.")
    fmod = binary("fmod", "x - y * trunc(x / y): it has the sign of x.")
    maximum = binary("maximum", "The larger of two, element by element.")
    minimum = binary("minimum", "The smaller of two, element by element.")
    hypot = binary("hypot", "sqrt(x**2 + y**2)")
    atan2 = binary(
        "atan2",
        "The angle of the point with x coordinate `other` and y coordinate `self`, in radians.",
    )
    logaddexp = binary("logaddexp", "ln(e**x + e**y)")
    copysign = binary("copysign", "|x| with the sign of y.")
    bitwise_and = binary("bitwise_and", "x & y")
    bitwise_or = binary("bitwise_or", "x | y")
    bitwise_xor = binary("bitwise_xor", "x ^ y")
    bitwise_left_shift = binary("bitwise_left_shift", "x << y")
    bitwise_right_shift = binary("bitwise_right_shift", "x >> y")
    eq = binary("eq", "x == y; nan equals nothing")
    ne = binary("ne", "x != y")
    lt = binary("lt", "x < y")
    le = binary("le", "x <= y")
    gt = binary("gt", "x > y")
    ge = binary("ge", "x >= y")

    def where(self, x: TensorLike, y: TensorLike) -> Self:
        """`cond.where(x, y)`: x where cond (a bool Tensor) is true, else y."""
        return apply("where", self, x, y)

    # ---- along axes: `axis` is None (all axes), an int, or a tuple of them -----------------------

    def sum(
        self, axis: Axes | None = None, keepdims: bool = False, *, dtype: DTypeLike | None = None
    ) -> Self:
        """The sum; bools and integers are summed as 64-bit integers. With `dtype` it is computed
        and returned in that dtype: integers wrap, the sum of bools is or."""
        if dtype is None:
            return apply("sum", self, axis=axis, keepdims=keepdims)
        return apply("sum", self.cast(dtype), axis=axis, keepdims=keepdims).cast(dtype)

    def prod(
        self, axis: Axes | None = None, keepdims: bool = False, *, dtype: DTypeLike | None = None
    ) -> Self:
        """The product; bools and integers are multiplied as 64-bit integers. With `dtype` it is
        computed and returned in that dtype: integers wrap, the product of bools is and."""
        if dtype is None:
            return apply("prod", self, axis=axis, keepdims=keepdims)
        return apply("prod", self.cast(dtype), axis=axis, keepdims=keepdims).cast(dtype)

    def mean(
        self, axis: Axes | None = None, keepdims: bool = False, *, dtype: DTypeLike | None = None
    ) -> Self:
        """The sum divided by the number of elements. With `dtype` it is computed and returned in
        that dtype: an integer sum wraps, and the quotient is truncated."""
        if dtype is None or dtypes.of(dtype).is_float:
            x = self if dtype is None else self.cast(dtype)
            return apply("mean", x, axis=axis, keepdims=keepdims)
        count = math.prod(self.shape[a] for a in layout.axes_of(axis, self.ndim))
        return (self.sum(axis, keepdims, dtype=dtype).cast("float64") / count).cast(dtype)

    max = paired("argmax")(
        reduction(
            "max", "The largest; nan if any is nan. With `dim=`, PyTorch's (values, indices)."
        )
    )
    min = paired("argmin")(
        reduction(
            "min", "The smallest; nan if any is nan. With `dim=`, PyTorch's (values, indices)."
        )
    )
    amax = reduction("max", "The largest element: `max` without positions, even with `dim=`.")
    amin = reduction("min", "The smallest element: `min` without positions, even with `dim=`.")
    argmax = reduction("argmax", "The position of the (first) largest element, int64.")
    argmin = reduction("argmin", "The position of the (first) smallest element, int64.")

    def count_nonzero(self, axis: Axes | None = None, keepdims: bool = False) -> Self:
        """The number of elements that are not 0, int64."""
        return (self != 0).sum(axis, keepdims)

    def any(self, axis: Axes | None = None, keepdims: bool = False) -> Self:
        """Is at least one element not 0? False for an empty tensor."""
        return (self != 0).sum(axis, keepdims) > 0

    def all(self, axis: Axes | None = None, keepdims: bool = False) -> Self:
        """Are all elements not 0? True for an empty tensor."""
        return (self == 0).sum(axis, keepdims) == 0

    @paired("_latest_max")
    def cummax(self, axis: Axis) -> Self:
        """z_i = the largest of x_0 ... x_i along axis. With `dim=`, a pair with its positions."""
        return apply("cummax", self, axis=axis)

    def argsort(self, axis: int = -1, descending: bool = False) -> Self:
        """The positions that sort x along axis: stable, with nan as the largest."""
        return apply("argsort", self, axis=axis, descending=descending)

    def softmax(self, axis: int = -1) -> Self:
        """e**x / sum e**x along axis."""
        return apply("softmax", self, axis=axis)

    def log_softmax(self, axis: int = -1) -> Self:
        """x - ln sum e**x along axis."""
        return apply("log_softmax", self, axis=axis)

    def cross_entropy(self, targets: TensorLike, reduction: str = "mean") -> Self:
        """Logits (..., classes) against integer targets (...): see ops.fused.CrossEntropy."""
        checks.one_of("cross_entropy(reduction=...)", reduction, ("mean", "sum", "none"))
        return apply("cross_entropy", self, targets, reduction=reduction)

    sparse_categorical_crossentropy = cross_entropy

    matmul = binary(
        "matmul",
        "The matrix product over the last two axes; leading axes broadcast, 1-D is a vector.",
    )
    dot = matmul

    # ---- by position -----------------------------------------------------------------------------

    def gather(self, axis: int, index: TensorLike) -> Self:
        """z[..., i, ...] = self[..., index[..., i, ...], ...] along axis. Positions run from -size
        to size - 1, negative ones from the end; others raise OutOfRangeError."""
        return apply("gather", self, index, axis=axis)

    def index_select(self, axis: int, index: TensorLike) -> Self:
        """The slices along axis at the positions in the 1-D `index`."""
        return apply("index_select", self, index, axis=axis)

    # ---- views: other walking instructions over the same Buffer ----------------------------------

    def reshape(self, *shape: ShapeLike) -> Self:
        """The same numbers in another shape; one size may be -1. A view if strides allow, else a
        view of a copy."""
        return apply("reshape", self, shape=layout.sizes_of(shape))

    def view(self, *shape: ShapeLike) -> Self:
        """As `reshape`, but never a copy: ShapeError if no strides can walk the new shape."""
        return apply("reshape", self, shape=layout.sizes_of(shape), copy=False)

    def permute(self, *axes: ShapeLike) -> Self:
        """All axes in a new order."""
        return apply("permute", self, axes=layout.sizes_of(axes))

    def transpose(self, a: int = -2, b: int = -1) -> Self:
        """Axes a and b exchanged."""
        return apply("transpose", self, a=a, b=b)

    swapaxes = transpose

    @property
    def mT(self) -> Self:  # noqa: N802
        """The last two axes exchanged: the transpose of each matrix."""
        return self.transpose()

    @property
    def T(self) -> Self:  # noqa: N802 - as in mathematics
        """All axes in reverse order: the transpose of a matrix."""
        return apply("permute", self)

    def expand(self, *shape: ShapeLike) -> Self:
        """Axes of size 1 stretched, new ones added at the front; -1 keeps a size. No copy."""
        return apply("expand", self, shape=layout.sizes_of(shape))

    def squeeze(self, axis: Axes | None = None) -> Self:
        """Without the axes of size 1 (or without those named, which must have size 1)."""
        return apply("squeeze", self, axis=axis)

    def unsqueeze(self, axis: int) -> Self:
        """With a new axis of size 1 at that position."""
        return apply("unsqueeze", self, axis=axis)

    def diagonal(self, k: int = 0, axis1: int = 0, axis2: int = 1) -> Self:
        """The elements [i, i + k] of axes axis1 and axis2, as a new last axis. A view."""
        return apply("diagonal", self, k=k, axis1=axis1, axis2=axis2)

    def unfold(self, axis: int, size: int, step: int = 1, dilation: int = 1) -> Self:
        """Sliding windows of `size` elements, `dilation` apart, at every `step` positions along
        axis: the windows lie along axis, their elements along a new last axis. A view."""
        if not self.shape:
            return apply("index", self.reshape(1).unfold(axis, size, step, dilation), key=0)
        return apply("windows", self, axis=axis, size=size, step=step, dilation=dilation)

    # ---- copies ----------------------------------------------------------------------------------

    copy = unary(
        "copy", "The same numbers in memory of their own, row-major; gradients flow through."
    )
    clone = copy

    def contiguous(self) -> Self:
        """x itself if it is row-major in memory, otherwise a row-major copy."""
        return self if self.is_contiguous() else apply("copy", self)

    def cast(self, dtype: DTypeLike) -> Self:
        """x in another dtype; x itself if it has that one already. `astype` is the same."""
        wanted = dtypes.of(dtype)
        return self if wanted is self.dtype else apply("cast", self, dtype=wanted)

    astype = cast
