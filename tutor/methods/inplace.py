"""Changes in place: `x += y`, `x.add_(y)`, `x.zero_()`, `x.data = y`.

The numbers change; the tensor keeps its shape, its dtype and its memory, which its views share.
`x += y` gives the bits of `x + y`. Every change is counted, so a graph that saved the old numbers
notices it. No change is recorded: if x or y requires a gradient, it is refused, and the remedy is
`x = x + y`. Under `no_grad()` this is how parameters are updated.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tutor._storage.array_like import is_number, is_tensor
from tutor._storage.layout import Shape
from tutor._util import error_messages
from tutor._util.twins import change
from tutor._util.typing import TensorLike
from tutor.core.engine import engine
from tutor.core.engine.grad_mode import is_grad_enabled
from tutor.core.op import OPS
from tutor.core.tensor import TensorBase
from tutor.dtype import DType
from tutor.errors import DTypeError, ShapeError
from tutor.methods import elementwise
from tutor.methods.operators import T

KINDS = ("bool", "uint", "int", "float")  # a dtype can hold its own kind and the earlier ones
NEW = "which makes a new tensor; to change a parameter by hand, do it under no_grad()"


def operator(name: str, sign: str) -> Callable[[T, TensorLike], T]:
    """`x += y`: the op of that name, whose result overwrites x's numbers."""
    what, instead = f"x {sign}= y", f"x = x {sign} y"

    def operator(self: T, other: TensorLike) -> T:
        if change(name, self, other):  # the native twin of the lines below, for simple cases
            return self
        check_in_place(self, what, f"write {instead}, {NEW}", other)
        op = OPS[name](self, other)
        engine.bring_together(op)
        check_fits(self, op.infer(*op.inputs), what, instead)
        engine.run_into(op, self)
        return self

    return operator


def matmul(self: T, other: TensorLike) -> T:
    check_in_place(self, "x @= y", f"write x = x @ y, {NEW}", other)
    product = self @ other  # read as a whole, before anything is written
    check_fits(self, (product.shape, product.dtype), "x @= y", "x = x @ y")
    engine.write(self, product)
    return self


def check_in_place(x: TensorBase, what: str, instead: str, value: TensorLike | None = None) -> None:
    """Raise GraphError if grad mode is on and the tensor or the value requires a gradient."""
    if is_grad_enabled() and (x.requires_grad or getattr(value, "requires_grad", False)):
        raise error_messages.in_place(x, what, instead)


def check_fits(x: TensorBase, result: tuple[Shape, DType], what: str, instead: str) -> None:
    """ShapeError unless the result has x's shape; DTypeError if x's dtype cannot hold its kind."""
    shape, dtype = result
    if shape != x.shape:
        raise ShapeError(
            f"{what}, in place, for x of shape {x.shape}",
            f"the result has shape {shape}",
            f"write {instead}: a change in place never changes the shape",
        )
    if KINDS.index(dtype.kind) > KINDS.index(x.dtype.kind):
        raise DTypeError(
            f"{what}, in place, for x of {x.dtype.name}",
            f"the result is {dtype.name}",
            f"write {instead}, or give a y of {x.dtype.name}",
        )


def _overwrite(x: T, value: TensorLike, what: str) -> T:
    check_in_place(x, what, "make the change under no_grad()", value)
    engine.write(x, value)
    return x


def _times(x: TensorBase, y: Any, alpha: float) -> Any:
    """alpha * y. A list becomes a Tensor first: in Python, 2 * [1, 2] is [1, 2, 1, 2]."""
    given: Any = y if is_number(y) or is_tensor(y) else x.wrap(y)
    return given * alpha


iadd, isub = operator("add", "+"), operator("sub", "-")
imul, idiv = operator("mul", "*"), operator("div", "/")

# ---- PyTorch's names -----------------------------------------------------------------------------


def add_(self: T, other: TensorLike, *, alpha: float = 1) -> T:
    """x += alpha * y"""
    return iadd(self, other if alpha == 1 else _times(self, other, alpha))


def sub_(self: T, other: TensorLike, *, alpha: float = 1) -> T:
    """x -= alpha * y"""
    return isub(self, other if alpha == 1 else _times(self, other, alpha))


def mul_(self: T, other: TensorLike) -> T:
    """x *= y"""
    return imul(self, other)


def div_(self: T, other: TensorLike) -> T:
    """x /= y"""
    return idiv(self, other)


def zero_(self: T) -> T:
    """x[...] = 0: `p.grad.zero_()`"""
    return _overwrite(self, self.wrap(0, self.dtype), "x.zero_()")


def fill_(self: T, value: TensorLike) -> T:
    """x[...] = value, a single number, which the dtype must be able to hold."""
    number = value if is_tensor(value) else self.wrap(value, self.dtype)
    return _overwrite(self, number, "x.fill_(value)")


def copy_(self: T, source: TensorLike) -> T:
    """x[...] = source, cast to x's dtype and stretched to its shape."""
    return _overwrite(self, source, "x.copy_(y)")


def clamp_(self: T, min: TensorLike | None = None, max: TensorLike | None = None) -> T:
    """x = x.clip(min, max), in place."""
    check_in_place(self, "x.clamp_(min, max)", f"write x = x.clip(min, max), {NEW}")
    clipped = elementwise.clip(self, min, max)
    check_fits(self, (clipped.shape, clipped.dtype), "x.clamp_", "x = x.clip(min, max)")
    engine.write(self, clipped)
    return self


def assign(self: T, value: TensorLike) -> T:
    """x[...] = value, even while a graph is recorded: a graph that saved the old numbers will
    refuse backward(). Returns the tensor."""
    engine.write(self, value)
    return self


def set_data(self: T, value: T) -> None:
    """`x.data = y`"""
    shape, dtype = getattr(value, "shape", None), getattr(value, "dtype", None)
    if shape != self.shape or dtype is not self.dtype:
        raise DTypeError(
            f"x.data = y, where x is {self.dtype.name} of shape {self.shape}",
            f"y is a {type(value).__name__}" + (f", {dtype} of shape {shape}" if dtype else ""),
            "give a Tensor of x's shape and dtype, or make a new x",
        )
    engine.write(self, value)
