"""A Buffer's own arithmetic: `p.buf.data -= 0.01 * p.grad.buf.data`, outside any graph.

It is elementwise, between two Buffers of the same length and dtype or a Buffer and one number. The
kernels are those of Tensor arithmetic.
"""

from __future__ import annotations

from typing import Any, Self

from tutor import dtype as dtypes
from tutor._storage import array_like
from tutor._storage.memory import Holder
from tutor._util.typing import Number
from tutor.backends import registry
from tutor.backends.step import Step, emit
from tutor.errors import DeviceError, DTypeError, NumberRangeError, ShapeError


class Arithmetic(Holder):  # type: ignore[misc]  # one of two, chosen at import
    """The arithmetic that Buffer inherits, on top of the Holder of its memory."""

    __slots__ = ()

    @property
    def data(self) -> Self:
        """The Buffer itself, for arithmetic by hand outside any graph."""
        return self

    @data.setter
    def data(self, value: Self) -> None:
        if value is not self:
            self._combine("copy", value, out=self)

    def _combine(self, kernel: str, *others: Any, out: Self | None = None) -> Self:
        """`out = kernel(*others)`, element by element; a number is broadcast to all elements."""
        to: Self = type(self).empty(len(self), self.dtype, self.device) if out is None else out
        whole = registry.Operand(to, (len(to),), (1,), 0)
        step = Step(kernel, self.dtype, whole, tuple([self._operand(other) for other in others]))
        if to is self:
            self.touch()
        emit(step)
        return to

    def _operand(self, other: Any) -> registry.Operand:
        if isinstance(other, Arithmetic):
            if other.dtype is not self.dtype or len(other) != len(self):
                raise ShapeError(
                    f"arithmetic on a Buffer of {len(self)} {self.dtype.name}",
                    f"the other one has {len(other)} {other.dtype.name}",
                    "use Buffers of one length and dtype",
                )
            if other.device != self.device:
                raise DeviceError(
                    f"arithmetic on a Buffer on {self.device!r}",
                    f"the other one is on {other.device!r}",
                    f"move its Tensor first: x.to({self.device!r})",
                )
            return registry.Operand(other, (len(self),), (1,), 0)
        if not array_like.is_number(other):
            raise DTypeError(
                "arithmetic on a Buffer", type(other).__name__, "use a Buffer or a number"
            )
        if dtypes.of_number(other, self.dtype) is not self.dtype:
            raise NumberRangeError(
                f"{other!r} beside a Buffer of {self.dtype.name}",
                f"{self.dtype.name} cannot hold it",
                "use a float Buffer, or a whole number",
            )
        one = self.empty(1, self.dtype)
        one.memory.raw[:] = array_like.pack([other], self.dtype)
        return registry.Operand(one, (len(self),), (0,), 0)

    def __add__(self, other: Self | Number) -> Self:
        return self._combine("add", self, other)

    def __sub__(self, other: Self | Number) -> Self:
        return self._combine("sub", self, other)

    def __mul__(self, other: Self | Number) -> Self:
        return self._combine("mul", self, other)

    def __truediv__(self, other: Self | Number) -> Self:
        return self._combine("div", self, other)

    def __rsub__(self, other: Self | Number) -> Self:
        return self._combine("sub", other, self)

    def __rtruediv__(self, other: Self | Number) -> Self:
        return self._combine("div", other, self)

    __radd__, __rmul__ = __add__, __mul__

    def __iadd__(self, other: Self | Number) -> Self:
        return self._combine("add", self, other, out=self)

    def __isub__(self, other: Self | Number) -> Self:
        return self._combine("sub", self, other, out=self)

    def __imul__(self, other: Self | Number) -> Self:
        return self._combine("mul", self, other, out=self)

    def __itruediv__(self, other: Self | Number) -> Self:
        return self._combine("div", self, other, out=self)
