"""What a jitted function returns: taken apart into Tensors, and put together of others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tutor.errors import RecordError
from tutor.methods.tensor import Tensor
from tutor.programs.places import PLAIN


def mapped(value: Any, change: Callable[[Any], Any]) -> Any:
    """A result, with other Tensors in the place of its own."""
    if isinstance(value, Tensor):
        return change(value)
    if type(value) is dict:
        return {k: mapped(v, change) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        parts = [mapped(v, change) for v in value]
        return type(value)(parts) if type(value) in (list, tuple) else type(value)(*parts)
    return value


def taken_apart(value: Any, tensors: list[Any]) -> Callable[[Sequence[Any]], Any]:
    """Appends the Tensors of a result to `tensors`; what puts such a result together of others."""
    if isinstance(value, Tensor):
        at = len(tensors)
        tensors.append(value)
        return lambda made: made[at]
    if isinstance(value, (list, tuple)):
        parts, kind = [taken_apart(v, tensors) for v in value], type(value)
        if kind in (list, tuple):
            return lambda made: kind([part(made) for part in parts])
        return lambda made: kind(*[part(made) for part in parts])
    if type(value) is dict:
        named = {k: taken_apart(v, tensors) for k, v in value.items()}
        return lambda made: {k: part(made) for k, part in named.items()}
    if isinstance(value, PLAIN):
        return lambda made: value
    raise RecordError(
        f"a jitted function that returns a {type(value).__name__}",
        "a replay can give Tensors, numbers, texts, and lists, tuples and dicts of them",
        "return the Tensors that it is made of, and make it outside",
    )
