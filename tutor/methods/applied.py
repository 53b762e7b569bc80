"""What makes a method from the name of an op: `sqrt = unary("sqrt", "The square root.")`.

Each function here gives methods of one signature, which type checkers see as well, because `like`
says that they have the signature of an example.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from tutor._storage import array_like
from tutor._util.typing import Axes, TensorLike
from tutor.core.engine import apply
from tutor.core.tensor import TensorBase
from tutor.errors import DTypeError

F = TypeVar("F", bound=Callable[..., Any])
P = ParamSpec("P")
S = TypeVar("S")
T = TypeVar("T", bound=TensorBase)


def like(example: F) -> Callable[[Callable[[Any], Any]], Callable[[Any, str], F]]:
    """Decorates what makes a method, so that it takes a docstring as well, and gives a method with
    the signature of the example."""

    def decorate(make: Callable[[Any], Any]) -> Callable[[Any, str], F]:
        def named(what: Any, doc: str) -> F:
            method = make(what)
            method.__doc__, method.__annotations__ = doc, example.__annotations__
            made: F = method
            return made

        return named

    return decorate


def _one(self: T) -> T:
    return self


def _two(self: T, other: TensorLike) -> T:
    return self


def _axes(self: T, axis: Axes | None = None, keepdims: bool = False) -> T:
    return self


@like(_one)
def unary(name: str) -> Any:
    """The op of that name."""

    def method(self: T) -> T:
        return apply(name, self)

    return method


@like(_one)
def composed(formula: Callable[[Any], Any]) -> Any:
    """A formula of one line, made of ops: `lambda self: ...`."""
    return formula


@like(_two)
def binary(name: str) -> Any:
    """The op of that name, of two operands."""

    def method(self: T, other: TensorLike) -> T:
        return apply(name, self, other)

    return method


@like(_axes)
def reduction(name: str) -> Any:
    """The op of that name, along axes."""

    def method(self: T, axis: Axes | None = None, keepdims: bool = False) -> T:
        return apply(name, self, axis=axis, keepdims=keepdims)

    return method


def operators(name: str) -> tuple[Callable[[T, TensorLike], T], Callable[[T, TensorLike], T]]:
    """`x + y` for a Tensor x, and the reflected operator for a y that is no Tensor: `1 + x`."""

    def operator(self: T, other: TensorLike) -> T:
        return apply(name, self, other)

    def reflected(self: T, other: TensorLike) -> T:
        out: T = apply(name, other, self)
        return out

    return operator, reflected


def equality(name: str) -> Callable[[T, object], T]:
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


class ClassMethod(Protocol[P]):
    """What makes a Tensor: as a class method, it gives one of the class that it is called on."""

    def __get__(self, instance: object, owner: type[S], /) -> Callable[P, S]: ...


def makes(f: Callable[Concatenate[type[Any], P], Any]) -> ClassMethod[P]:
    """A class method of Tensor, from a function whose first argument is the class."""
    method: Any = classmethod(f)
    made: ClassMethod[P] = method
    return made
