"""Changes in place: `x += y`, `x.add_(y)`, `x.zero_()`, `x.data = y`.

The numbers change; the tensor keeps its shape, its dtype and its memory, which its views share.
`x += y` gives the bits of `x + y`. Every change is counted, so a graph that saved the old numbers
notices it. Where a gradient is wanted, the change becomes part of the graph, and x the result of an
op (tutor/core/engine/writing.py); only a leaf that requires a gradient is refused. Under
`no_grad()` the graph does not see the change: this is how parameters are updated.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

from tutor._storage.array_like import is_number, is_tensor
from tutor._storage.layout import Shape
from tutor._util.twins import change
from tutor._util.typing import TensorLike
from tutor.core.engine import engine
from tutor.core.engine.grad_mode import is_grad_enabled
from tutor.core.engine.writing import walk_of
from tutor.core.op import OPS
from tutor.core.tensor import TensorBase
from tutor.dtype import DType
from tutor.errors import DTypeError, ShapeError
from tutor.methods import elementwise
from tutor.methods.operators import T

F = TypeVar("F", bound=Callable[..., Any])
KINDS = ("bool", "uint", "int", "float")  # a dtype can hold its own kind and the earlier ones


def operator(name: str, sign: str) -> Callable[[T, TensorLike], T]:
    """`x += y`: the op of that name, whose result overwrites x's numbers."""
    what, instead = f"x {sign}= y", f"x = x {sign} y"

    def operator(self: T, other: TensorLike) -> T:
        if change(name, self, other):  # the native twin of the lines below, for simple cases
            return self
        follow = is_followed(self, other)
        op = OPS[name](self, other)
        engine.bring_together(op)
        check_fits(self, op.infer(*op.inputs), what, instead)
        if follow:
            engine.change(op, self, what)
        else:
            engine.run_into(op, self)
        return self

    return operator


def matmul(self: T, other: TensorLike) -> T:
    return overwrite(self, lambda x: x @ other, "x @= y", "x = x @ y", other)


def is_followed(x: TensorBase, value: TensorLike | None = None) -> bool:
    """Is a change of x by that value to become part of a graph?"""
    if not is_grad_enabled():
        return False
    given = [t for t in (x, value) if is_tensor(t)]
    engine.renew(*given)
    return any([t.requires_grad for t in given])


def overwrite(
    x: T, made: Callable[[T], T], what: str, instead: str, *values: TensorLike | None
) -> T:
    """`x[...] = made(x)`, read as a whole before anything is written."""
    if not any([is_followed(x, value) for value in values or (None,)]):
        result = made(x)
        check_fits(x, (result.shape, result.dtype), what, instead)
        engine.write(x, result)
        return x
    engine.check_rewritable(x, what)
    result = made(x.copy())  # some of whose numbers are saved, perhaps
    check_fits(x, (result.shape, result.dtype), what, instead)
    engine.become(x, result, what)
    return x


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
    if is_followed(x, value):
        put(x, x, value, what)
    else:
        engine.write(x, value)
    return x


def put(x: Any, part: Any, value: TensorLike, what: str) -> None:
    """`part[...] = value` in a graph, for a view of x."""
    if is_tensor(value) and walk_of(value) == walk_of(part):
        return  # itself: `x[0] += y` ends with x[0] = x[0]
    engine.put(x, part, fitted(value, part, x.dtype), what)


def fitted(value: TensorLike, to: TensorBase, dtype: DType) -> Any:
    """The value as a Tensor of that dtype, on the device and in the shape of `to`."""
    source: Any = value
    if not is_tensor(value):  # a number must fit, an array is cast
        source = to.wrap(value, dtype if is_number(value) else None)
    source = source.to(to.buf.device).cast(dtype)
    while len(source.shape) > len(to.shape) and source.shape[0] == 1:  # as in NumPy
        source = source[0]
    return source.expand(to.shape)


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
    clip: Callable[[T], T] = lambda x: elementwise.clip(x, min, max)  # noqa: E731
    return overwrite(self, clip, "x.clamp_(min, max)", "x = x.clip(min, max)", min, max)


def over(make: F) -> F:
    """The method `x.name_(...)` of a method `name`: x = x.name(...), in place."""
    name = make.__name__

    @functools.wraps(make)
    def method(self: T, *args: Any, **kwargs: Any) -> T:
        values: list[Any] = [v for v in (*args, *kwargs.values()) if is_tensor(v)]
        made = lambda x: make(x, *args, **kwargs)  # noqa: E731
        return overwrite(self, made, f"x.{name}_(...)", f"x = x.{name}(...)", self, *values)

    method.__doc__ = f"x = x.{name}(...), in place."
    return cast(F, method)


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
