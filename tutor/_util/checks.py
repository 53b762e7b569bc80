"""Argument checks: one function, with one error, for each kind of argument.

`what` is the argument as the error names it: "softplus(beta=...)". Shapes, axes and whole numbers
are checked in tutor/_storage/layout.py, dtypes in tutor/dtype.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from tutor._storage import bounds_checks
from tutor._storage.array_like import is_number, is_tensor
from tutor.errors import DataError, DomainError, DTypeError, ShapeError

F = TypeVar("F", bound=Callable[..., Any])


def tensor(what: str, x: object) -> Any:
    """x, which must be a Tensor; DTypeError otherwise."""
    if is_tensor(x):
        return x
    raise DTypeError(what, f"{said(x)} is no Tensor", "write Tensor(...) around the numbers")


def tensors(what: str, xs: Any) -> tuple[Any, ...]:
    """Several Tensors, in a list, tuple or other sequence; DTypeError otherwise."""
    if isinstance(xs, str) or not hasattr(xs, "__iter__") or not getattr(xs, "shape", True):
        raise DTypeError(what, f"{said(xs)} is no row of Tensors", "give a list of Tensors")
    return tuple(tensor(what, x) for x in xs)


def number(
    what: str, x: Any, least: float = -math.inf, most: float = math.inf, nan: bool = True
) -> Any:
    """x, a Python number from `least` to `most`: DTypeError if not a number, else DomainError."""
    if not is_number(x):
        raise DTypeError(what, f"{said(x)} is no number", "give a number, for example 0.5")
    if not least <= x <= most and (x == x or not nan):
        span = f"from {least} to {most}" if most < math.inf else f"of {least} or more"
        raise DomainError(what, f"{x}", f"give a number {span}")
    return x


def one_of(what: str, x: Any, names: Iterable[Any]) -> Any:
    """x, which must be one of these names; DomainError otherwise."""
    known = tuple(names)
    if not (isinstance(x, (str, type(None))) and x in known):
        raise DomainError(
            what, f"{said(x)} is none of the choices", f"one of {', '.join(map(repr, known))}"
        )
    return x


def function(what: str, f: F) -> F:
    """f, which must be callable; DTypeError otherwise."""
    if not callable(f):
        raise DTypeError(what, f"{said(f)} cannot be called", "give a function")
    return f


def state(what: str, x: Any, do: str) -> Mapping[str, Any]:
    """x, which must be a dict with string keys, as from `state_dict()`; DataError otherwise."""
    if isinstance(x, Mapping) and all(isinstance(name, str) for name in x):
        return x
    raise DataError(what, f"{said(x)} is no dict by name", do)


def at_most(what: str, x: Any, axes: int) -> Any:
    """x, a Tensor of at most `axes` axes; ShapeError if it has more."""
    if x.ndim > axes:
        raise ShapeError(
            f"{what} of shape {x.shape}", f"{x.ndim} axes", "use .mT, .transpose(a, b) or .permute"
        )
    return x


def at_least(what: str, x: object, axes: int) -> Any:
    """x, a Tensor of at least `axes` axes; ShapeError if it has fewer."""
    t = tensor(what, x)
    if t.ndim < axes:
        raise ShapeError(f"{what} of shape {t.shape}", f"{t.ndim} axes", f"it takes {axes} or more")
    return t


def span(x: Any) -> str:
    """The range of a Tensor's numbers, for an error. While a call is recorded, no number may be
    read, and the text is vaguer."""
    if bounds_checks.closed.get():
        return "there are others among the numbers"
    return f"the numbers reach from {x.min().item()} to {x.max().item()}"


def said(x: object) -> str:
    """A value as errors show it: its type, and as much of it as fits on a line."""
    return f"{type(x).__name__} {x!r:.60}" if not is_tensor(x) else f"a Tensor {x.shape}"
