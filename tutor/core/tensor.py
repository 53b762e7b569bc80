"""Tensor: a Buffer plus walking instructions, and a place for a gradient.

    >>> x = Tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    >>> x.T.strides, x.T.buf is x.buf
    ((1, 2), True)
    >>> (x * x).sum().backward()
    >>> x.grad
    Tensor([[2., 4.],
            [6., 8.]])

Shape, strides and offset say where element `[i, j, ...]` stands in the Buffer. Every operator is
one line: it asks the Engine to apply the op of that name. tutor/ops/ has the formulas; the named
methods (`x.exp()`, `x.sum(axis=0)`) stand in tutor/methods/, `Tensor.zeros` and its like in
tutor/methods/create.py, lists, arrays and text in tutor/methods/interop.py.
"""

from __future__ import annotations

import functools
import math
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING

from tutor import dtype as dtypes
from tutor.core.buffer import Buffer
from tutor.core.engine import apply, engine
from tutor.core.op import Op
from tutor.dtype import DType
from tutor.errors import DomainError, DTypeError, GraphError
from tutor.ground import keys, layout, literals, refusals
from tutor.ground.layout import Shape
from tutor.ground.spelling import spelled
from tutor.methods import Methods, selection
from tutor.methods.create import Create
from tutor.methods.inplace import check_in_place
from tutor.methods.interop import Interop

if TYPE_CHECKING:
    from tutor.ground.typing import DTypeLike, Key, ShapeLike, TensorLike

    Binary = Callable[["Tensor", TensorLike], "Tensor"]


def _unary(name: str) -> Callable[[Tensor], Tensor]:
    """The operator that applies the op of that name: `-x`."""

    def operator(self: Tensor) -> Tensor:
        return apply(name, self)

    return operator


def _binary(name: str) -> tuple[Binary, Binary]:
    """`x + y` for a Tensor x, and its reflection for a y that is no Tensor: `1 + x`."""

    def operator(self: Tensor, other: TensorLike) -> Tensor:
        return apply(name, self, other)

    def reflected(self: Tensor, other: TensorLike) -> Tensor:
        return apply(name, other, self)

    return operator, reflected


@spelled
class Tensor(Methods, Create, Interop, literals.IsTensor):
    """`Tensor(data, shape=None, strides=None, offset=0, requires_grad=False, *, dtype=None)`.

    `data` is a number, (nested) lists, an array, another Tensor: copied; or a Buffer: shared, and
    walked by the given shape, strides (default: row-major) and offset, counted in elements. Raises
    ShapeError where those reach outside of the Buffer, DTypeError for what is no number.
    """

    __slots__ = (
        "__weakref__", "_grad", "_hooks", "buf",
        "offset", "op", "requires_grad", "shape", "strides",
    )  # fmt: skip
    _hooks: list[Callable[[Tensor], Tensor | None]]  # only where there are any

    def __init__(
        self, data: TensorLike | Buffer, shape: ShapeLike | None = None,
        strides: ShapeLike | None = None, offset: int = 0, requires_grad: bool = False, *,
        dtype: DTypeLike | None = None, device: str = "cpu",
    ) -> None:  # fmt: skip
        if not isinstance(device, str) or device.lower() != "cpu":
            raise DomainError(f"device={device!r}", "the only device here is 'cpu'", "leave it out")
        if isinstance(data, Buffer):
            self.buf = data
            found: Shape = (len(data),)
            if dtype is not None and dtypes.of(dtype) is not data.dtype:
                raise DTypeError(
                    f"a Tensor of {dtypes.of(dtype).name} over a Buffer",
                    f"the Buffer holds {data.dtype.name}",
                    "leave dtype out, and .cast() the Tensor",
                )
        else:
            wanted = None if dtype is None else dtypes.of(dtype)
            payload, found, stored = literals.read(data, wanted)
            self.buf = Buffer.from_memory(payload, dtype=stored)
        self.shape: Shape = found if shape is None else layout.checked_shape(shape)
        if strides is None:
            self.strides: Shape = layout.contiguous_strides(self.shape)
        else:
            self.strides = layout.whole_numbers(strides, "strides")
        (self.offset,) = layout.whole_numbers((offset,), "an offset")
        if not isinstance(data, Buffer) and self.numel() != len(self.buf):
            layout.fill_in(self.shape, len(self.buf))  # raises: says both sizes
        layout.check_inside(self.shape, self.strides, offset, len(self.buf))
        self._grad: Tensor | None = None
        self.op: Op | None = None
        self.requires_grad = False
        if requires_grad:
            self.requires_grad_()

    def over(
        self, buf: Buffer, shape: Shape, strides: Shape | None = None, offset: int = 0
    ) -> Tensor:
        """A Tensor over `buf`, walked as told; for callers that know it fits (no checks here)."""
        t = object.__new__(Tensor)
        t.buf, t.shape, t.offset = buf, shape, offset
        t.strides = layout.contiguous_strides(shape) if strides is None else strides
        t._grad, t.op, t.requires_grad = None, None, False
        return t

    def alias(self) -> Tensor:
        """The same elements, outside of any graph."""
        return self.over(self.buf, self.shape, self.strides, self.offset)

    detach = alias

    def wrap(self, value: TensorLike, dtype: DType | None = None, shape: Shape = ()) -> Tensor:
        """`value` as a constant beside this Tensor; a number stretched to `shape`."""
        if not literals.is_number(value):
            return Tensor(value, dtype=dtype)
        dtype = dtypes.of_number(value) if dtype is None else dtype
        if value == 0 and math.copysign(1, value) < 0:  # as a key of the cache -0.0 is 0.0
            return _constant.__wrapped__(value, dtype, shape)
        return _constant(value, dtype, shape)

    def like(self, value: bool | int | float, shape: Shape | None = None) -> Tensor:
        """A new Tensor of this dtype (and shape, if none is given), filled with `value`."""
        to = self.shape if shape is None else shape
        out = self.over(Buffer.empty(math.prod(to), self.dtype), to)
        engine.call("fill", self.dtype, out, value=value)
        return out

    # ---- what it is ------------------------------------------------------------------------------

    @property
    def is_leaf(self) -> bool:
        return self.op is None

    def stride(self, axis: int | None = None) -> Shape | int:
        """Elements to step over per axis: all of them, or one axis's."""
        return self.strides if axis is None else self.strides[layout.axis_of(axis, self.ndim)]

    def is_contiguous(self) -> bool:
        return layout.is_contiguous(self.shape, self.strides)

    # ---- gradients -------------------------------------------------------------------------------

    @property
    def grad(self) -> Tensor | None:
        """The gradient that backward() has added up here; None where there is none."""
        return self._grad

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        like = value is None or (
            isinstance(value, Tensor) and value.shape == self.shape and value.dtype is self.dtype
        )
        if not like or value is self:
            raise refusals.no_gradient_of(self, value)
        self._grad = value

    def requires_grad_(self, on: bool = True) -> Tensor:
        """Ask for a gradient from here on (or no longer); returns the tensor itself."""
        if on and not self.dtype.is_float:
            raise DTypeError(
                f"requires_grad for a {self.dtype.name} Tensor",
                "only floats have derivatives",
                "make it a float Tensor, for example Tensor([1.0, 2.0]) or .cast('float32')",
            )
        if not on and self.op is not None:
            raise GraphError("requires_grad_(False)", "an op made this tensor", "use .detach()")
        self.requires_grad = on
        return self

    def backward(self, gradient: TensorLike | None = None, *, retain_graph: bool | None = None,
                 create_graph: bool = False) -> None:  # fmt: skip
        """Add the gradient of this number to `.grad` of every leaf behind it: Engine.backward."""
        engine.backward(self, gradient, retain_graph, create_graph)

    def retain_grad(self) -> Tensor:
        """Keep `.grad` here too in the next backward(), though this tensor is no leaf."""
        if self.op is not None:
            self.op.kept = weakref.ref(self)
        return self

    def register_hook(self, hook: Callable[[Tensor], Tensor | None]) -> Callable[[], None]:
        """Call `hook(gradient)` in each backward() that gets here; what it returns, unless None,
        goes on in its place. Returns a function that removes the hook."""
        return engine.hook(self, hook)

    # ---- views and copies ------------------------------------------------------------------------

    def __getitem__(self, key: Key) -> Tensor:
        """NumPy's indexing: ints, slices, None and Ellipsis give a view, arrays of positions and
        bools a copy (tutor/methods/selection.py)."""
        return apply("index", self, key=key)

    def __setitem__(self, key: Key, value: TensorLike) -> None:
        instead = "use where(cond, a, b), or make the change under no_grad() or on a .detach()"
        check_in_place(self, "t[...] = value", instead, value)
        engine.check_writable(self)
        if not keys.is_basic(key):
            selection.assign(self, key, value)
            return
        shape, strides, offset = layout.slice_layout(
            keys.checked_key(key), self.shape, self.strides, self.offset
        )
        engine.write(self.over(self.buf, shape, strides, offset), value)

    # ---- operators: each one is an op, on either side of which a number may stand ----------------
    # (+= and its like: tutor/methods/inplace.py)

    __neg__, __abs__, __invert__ = _unary("neg"), _unary("abs"), _unary("bitwise_not")
    __add__, __radd__ = _binary("add")
    __sub__, __rsub__ = _binary("sub")
    __mul__, __rmul__ = _binary("mul")
    __truediv__, __rtruediv__ = _binary("div")
    __floordiv__, __rfloordiv__ = _binary("floor_divide")
    __mod__, __rmod__ = _binary("remainder")
    __pow__, __rpow__ = _binary("pow")
    __matmul__, __rmatmul__ = _binary("matmul")
    __and__, __rand__ = _binary("bitwise_and")
    __or__, __ror__ = _binary("bitwise_or")
    __xor__, __rxor__ = _binary("bitwise_xor")
    __lshift__, __rlshift__ = _binary("bitwise_left_shift")
    __rshift__, __rrshift__ = _binary("bitwise_right_shift")
    __lt__, __gt__ = _binary("lt")[0], _binary("gt")[0]  # Python itself turns 1 < t into t > 1
    __le__, __ge__ = _binary("le")[0], _binary("ge")[0]


@functools.lru_cache(maxsize=1024, typed=True)
def _constant(number: bool | int | float, dtype: DType, shape: Shape) -> Tensor:
    """A number as an operand: `x * 2` happens in every loop. Its memory cannot be written to."""
    payload = literals.pack([number], dtype)
    buf = Buffer.from_memory(payload, dtype=dtype, copy=False)
    return Tensor(buf, shape, (0,) * len(shape))
