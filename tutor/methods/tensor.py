"""Tensor: the class that users create, compute with and differentiate.

    >>> x = Tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    >>> x.T.strides, x.T.buf is x.buf
    ((1, 2), True)
    >>> (x * x).sum().backward()
    >>> x.grad
    Tensor([[2., 4.],
            [6., 8.]])

It is the box of tutor/core/tensor.py, with the operators and the methods that are one op each
(tutor/methods/operators.py), and those composed of them, which are listed here: each line says in
which module beside this one the function is. These functions know nothing of this class.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from tutor._storage import bounds_checks
from tutor._util.keyword_aliases import spelled
from tutor._util.typing import TensorLike
from tutor.core.engine import engine
from tutor.core.tensor import TensorBase
from tutor.methods import (
    conversions,
    create,
    elementwise,
    indexing,
    inplace,
    interop,
    learning,
    products,
    reductions,
    statistics,
    views,
)
from tutor.methods.applied import composed, makes, unary
from tutor.methods.operators import Operators


@spelled
class Tensor(Operators):
    """`Tensor(data, shape=None, strides=None, offset=0, requires_grad=False, *, dtype=None)`.

    `data` is a number, (nested) lists, an array or another Tensor, all copied, or a Buffer, which
    is shared and walked by the shape, strides (default: row-major) and offset, counted in elements.
    Raises ShapeError if these reach outside the Buffer, DTypeError if data are not numbers.
    """

    __slots__ = ()

    # ---- gradients -------------------------------------------------------------------------------

    def backward(self, gradient: TensorLike | None = None, *, retain_graph: bool | None = None,
                 create_graph: bool = False) -> None:  # fmt: skip
        """Add the gradient of this number to `.grad` of every leaf behind it: Engine.backward."""
        engine.backward(self, gradient, retain_graph, create_graph)

    def retain_grad(self) -> Tensor:
        """Keep `.grad` in the next backward(), although this tensor is not a leaf."""
        if self.op is not None:
            self.op.kept = weakref.ref(self)
        return self

    def register_hook(self, hook: Callable[[Tensor], Tensor | None]) -> Callable[[], None]:
        """Call `hook(gradient)` in each backward() that reaches this tensor; a result other than
        None replaces the gradient. Returns a function that removes the hook."""
        return engine.hook(self, hook)

    # ---- ways to make one ------------------------------------------------------------------------

    full = makes(create.full)
    zeros, ones = makes(create.zeros), makes(create.ones)
    zeros_like, ones_like = makes(create.zeros_like), makes(create.ones_like)
    arange, linspace = makes(create.arange), makes(create.linspace)
    eye = makes(create.eye)
    rand, randn = makes(create.rand), makes(create.randn)
    glorot_uniform = makes(create.glorot_uniform)
    from_dlpack = makes(interop.from_dlpack)

    # ---- elementwise -----------------------------------------------------------------------------

    logical_and = elementwise.logical_and
    logical_or = elementwise.logical_or
    logical_xor = elementwise.logical_xor
    masked_fill = elementwise.masked_fill
    clip = clamp = elementwise.clip
    lerp = elementwise.lerp
    isclose = elementwise.isclose
    allclose = elementwise.allclose
    nan_to_num = statistics.nan_to_num
    addcmul = products.addcmul
    addcdiv = products.addcdiv

    # ---- activations -----------------------------------------------------------------------------

    softplus = elementwise.softplus
    silu = unary("silu", "x * sigmoid(x), also called swish (Elfwing, Uchibe and Doya 2018).")
    gelu = elementwise.gelu
    elu = elementwise.elu
    leaky_relu = elementwise.leaky_relu
    hardtanh = elementwise.hardtanh
    relu6 = composed(
        lambda self: self.hardtanh(0.0, 6.0),
        "x clipped to 0 ... 6; the derivative is 0 at the ends and beyond.",
    )
    selu = elementwise.selu
    celu = elementwise.celu
    mish = unary("mish", "x tanh(ln(1 + e**x)) (Misra 2019)")
    logsigmoid = composed(
        lambda self: -(-self).softplus(),
        "ln(1 / (1 + e**-x)) = -ln(1 + e**-x), which never takes the logarithm of 0.",
    )
    softsign = composed(lambda self: self / (self.abs() + 1), "x / (1 + |x|)")
    tanhshrink = composed(lambda self: self - self.tanh(), "x - tanh(x)")
    hardsigmoid = composed(
        lambda self: (self + 3).relu6() / 6,
        "0 for x <= -3, 1 for x >= 3, else x/6 + 1/2; the derivative at -3 and 3 is 0.",
    )
    hardswish = composed(
        lambda self: self * self.hardsigmoid(), "x hardsigmoid(x) (Howard et al. 2019, MobileNetV3)"
    )
    threshold = elementwise.threshold
    hardshrink = elementwise.hardshrink
    softshrink = elementwise.softshrink
    prelu = elementwise.prelu
    glu = elementwise.glu
    softmin = elementwise.softmin

    # ---- along axes ------------------------------------------------------------------------------

    var = reductions.var
    std = reductions.std
    norm = reductions.norm
    logsumexp = reductions.logsumexp
    trace = composed(
        lambda self: self.diagonal().sum(-1), "The sum of the diagonal of the first two axes."
    )
    cumsum = reductions.cumsum
    cumprod = reductions.cumprod
    cummin = reductions.cummin
    _latest_max, _latest_min = reductions.latest_max, reductions.latest_min
    sort = reductions.sort
    topk = reductions.topk
    unique = reductions.unique
    std_mean = statistics.std_mean
    var_mean = statistics.var_mean
    aminmax = statistics.aminmax
    nansum = statistics.nansum
    nanmean = statistics.nanmean
    quantile = statistics.quantile
    median = statistics.median
    mode = statistics.mode
    logcumsumexp = statistics.logcumsumexp
    bincount = statistics.bincount
    histc = statistics.histc
    cov = statistics.cov
    corrcoef = statistics.corrcoef

    # ---- products, convolutions and pools --------------------------------------------------------

    outer = products.outer
    inner = products.inner
    vecdot = products.vecdot
    cross = products.cross
    kron = products.kron
    cdist = products.cdist
    mm, mv, bmm = products.mm, products.mv, products.bmm
    addmm, addmv, baddbmm = products.addmm, products.addmv, products.baddbmm
    conv1d, conv2d = learning.conv1d, learning.conv2d
    conv_transpose2d = learning.conv_transpose2d
    max_pool2d, avg_pool2d = learning.max_pool2d, learning.avg_pool2d
    one_hot = learning.one_hot

    # ---- other shapes ----------------------------------------------------------------------------

    flatten = ravel = views.flatten
    unflatten = views.unflatten
    movedim = moveaxis = views.movedim
    broadcast_to = views.broadcast_to
    flip = views.flip
    shrink = views.shrink
    diag_embed = views.diag_embed
    diag = views.diag
    diagflat = views.diagflat
    split = views.split
    chunk = views.chunk
    pad = views.pad
    tile = views.tile
    repeat = repeat_interleave = views.repeat
    roll = views.roll
    rot90 = views.rot90
    tril, triu = views.tril, views.triu
    t = views.t
    expand_as, reshape_as, view_as = views.expand_as, views.reshape_as, views.view_as

    # ---- by position -----------------------------------------------------------------------------

    __setitem__ = indexing.assign
    take_along_axis = indexing.take_along_axis
    scatter = indexing.scatter
    scatter_add = indexing.scatter_add
    scatter_reduce = indexing.scatter_reduce
    index_add = indexing.index_add
    masked_select = indexing.masked_select
    nonzero = indexing.nonzero

    # ---- in place --------------------------------------------------------------------------------

    __iadd__, __isub__ = inplace.iadd, inplace.isub
    __imul__, __itruediv__ = inplace.imul, inplace.idiv
    __ifloordiv__ = inplace.operator("floor_divide", "//")
    __imod__, __ipow__ = inplace.operator("remainder", "%"), inplace.operator("pow", "**")
    __iand__, __ior__ = inplace.operator("bitwise_and", "&"), inplace.operator("bitwise_or", "|")
    __ixor__ = inplace.operator("bitwise_xor", "^")
    __ilshift__ = inplace.operator("bitwise_left_shift", "<<")
    __irshift__ = inplace.operator("bitwise_right_shift", ">>")
    __imatmul__ = inplace.matmul
    add_, sub_, mul_, div_ = inplace.add_, inplace.sub_, inplace.mul_, inplace.div_
    zero_, fill_, copy_ = inplace.zero_, inplace.fill_, inplace.copy_
    clamp_ = clip_ = inplace.clamp_
    relu_, sigmoid_ = inplace.over(Operators.relu), inplace.over(Operators.sigmoid)
    tanh_, exp_ = inplace.over(Operators.tanh), inplace.over(Operators.exp)
    masked_fill_ = inplace.over(elementwise.masked_fill)
    index_add_ = inplace.over(indexing.index_add)
    scatter_, scatter_add_ = inplace.over(indexing.scatter), inplace.over(indexing.scatter_add)
    assign = inplace.assign

    @property
    def data(self) -> Tensor:
        """The same numbers outside any graph: `x.detach()`. Changes to them are counted, so no
        gradient is computed from overwritten numbers.

        `x.data = y` copies y's numbers to x's memory, as `x.assign(y)` does; y must have x's shape
        and dtype (DTypeError). Later changes to y do not reach x.
        """
        return self.detach()

    @data.setter
    def data(self, value: Tensor) -> None:
        inplace.set_data(self, value)

    # ---- other dtypes and devices ----------------------------------------------------------------

    to = conversions.to
    cpu = composed(lambda self: self.to("cpu"), 'x in host memory: `x.to("cpu")`.')
    type_as = conversions.type_as
    half = composed(lambda self: self.cast("float16"), "As float16.")
    bfloat16 = composed(
        lambda self: self.cast("bfloat16"),
        "As bfloat16: 8 bits of precision, the range of float32.",
    )
    float = composed(lambda self: self.cast("float32"), "As float32.")
    double = composed(lambda self: self.cast("float64"), "As float64.")
    int = composed(lambda self: self.cast("int32"), "As int32, truncated towards 0.")
    long = composed(lambda self: self.cast("int64"), "As int64, truncated towards 0.")
    bool = composed(lambda self: self.cast("bool"), "True where x is not 0.")
    realize = conversions.realize

    @property
    def device(self) -> str:
        """The device of its memory: "cpu", or "kind:index"."""
        return str(bounds_checks.told(self, "device"))

    # ---- sizes -----------------------------------------------------------------------------------

    dim = ndimension = conversions.dim
    is_floating_point = conversions.is_floating_point

    @property
    def size(self) -> conversions.Size:
        """The number of elements; `size()` is the shape, `size(axis)` the size of one axis."""
        return conversions.Size(self.shape)

    @property
    def _ctx(self) -> Any:
        """The op that made this tensor, under the name that lessons use. An op that is assigned
        becomes what made it: its `backward` gets the gradient (tutor/lesson.py)."""
        return self.op

    @_ctx.setter
    def _ctx(self, op: Any) -> None:
        engine.remember(op, self)

    # ---- as Python and other libraries see it ----------------------------------------------------

    tolist, is_whole = interop.tolist, interop.is_whole
    numpy = to_numpy = interop.numpy  # the data frames' name, which matplotlib looks for
    explain = interop.explain
    to_device = interop.to_device
    __array__ = interop.array
    __array_ufunc__ = interop.array_ufunc
    __array_function__ = interop.array_function
    __array_namespace__ = interop.array_namespace
    __dlpack__, __dlpack_device__ = interop.capsule, interop.capsule_device
    __len__, __iter__, __contains__ = interop.length, interop.rows, interop.contains
    __bool__, __float__, __int__ = interop.truth, interop.as_float, interop.as_int
    __index__ = interop.position
    __repr__, __format__, __reduce_ex__ = interop.text, interop.formatted, interop.parts


TensorBase.public = Tensor
