"""Operators: each one is an op, and either operand may be a number.

`x + y` asks the Engine to apply the op "add"; tutor/ops/ has the formulas. For `x += y` and the
like see tutor/methods/inplace.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Self, TypeVar

from tutor._storage import array_like
from tutor._storage.layout import Shape
from tutor._util.keyword_aliases import spelled
from tutor._util.typing import TensorLike
from tutor.core.buffer import Buffer
from tutor.core.engine import apply, engine
from tutor.core.tensor import TensorBase
from tutor.errors import DTypeError

T = TypeVar("T", bound=TensorBase)


def _unary(name: str) -> Callable[[T], T]:
    """The operator that applies the op of that name: `-x`."""

    def operator(self: T) -> T:
        return apply(name, self)

    return operator


def _binary(name: str) -> tuple[Callable[[T, TensorLike], T], Callable[[T, TensorLike], T]]:
    """`x + y` for a Tensor x, and the reflected operator for a y that is no Tensor: `1 + x`."""

    def operator(self: T, other: TensorLike) -> T:
        return apply(name, self, other)

    def reflected(self: T, other: TensorLike) -> T:
        out: T = apply(name, other, self)
        return out

    return operator, reflected


def _equality(name: str) -> Callable[[T, object], T]:
    """Elementwise `x == y`. If y holds no numbers at all (None, a str, an object that does not know
    tensors), Python decides: it tries y's own operator, then compares identity."""

    def operator(self: T, other: Any) -> Any:
        try:
            return apply(name, self, other)
        except DTypeError:
            if array_like.holds_numbers(other):
                raise
            return NotImplemented

    return operator


@spelled
class Operators(TensorBase):
    """The operators of Tensors."""

    __slots__ = ()

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
    # typeshed declares that they return a bool for every object
    __eq__, __ne__ = _equality("eq"), _equality("ne")  # type: ignore[assignment]
    __hash__ = object.__hash__  # == compares elements; as a dict key a tensor is identified by id

    def __pos__(self) -> Self:
        return self

    def like(self, value: bool | int | float, shape: Shape | None = None) -> Self:
        """A new Tensor filled with `value`, of this dtype, device and (unless given) shape."""
        to = self.shape if shape is None else shape
        out = self.over(Buffer.empty(math.prod(to), self.dtype, self.buf.device), to)
        engine.call("fill", self.dtype, out, value=value)
        return out
