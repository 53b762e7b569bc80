"""Results of a jitted function: taken apart into Tensors, and reassembled from new ones."""

from __future__ import annotations

import operator
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Container, Sequence
from typing import Any
from weakref import ref

from tutor.core.engine.writing import root_of
from tutor.errors import RecordError
from tutor.methods.tensor import Tensor
from tutor.programs.kinds import PLAIN, is_dataclass, members


def taken_apart(
    value: Any, tensors: list[Any], there: Container[Any] = ()
) -> Callable[[Sequence[Any]], Any]:
    """Append the Tensors of a result to `tensors`; returns a function that rebuilds the result.
    RecordError for a value that a replay cannot make: an object, or a list whose id is in `there`,
    which existed before and must stay that very list."""
    if isinstance(value, Tensor):
        at = len(tensors)
        tensors.append(value)
        return operator.itemgetter(at)
    parts = _parts(value)
    if parts is not None and not isinstance(value, tuple) and id(value) in there:
        raise RecordError(
            f"a jitted function that returns a {type(value).__name__} that was there before",
            "a replay makes a new one each time",
            "return what is in it, or look at it outside",
        )
    if parts is not None:
        each, like = [taken_apart(part, tensors, there) for part in parts], _like(value)
        return lambda made: like([part(made) for part in each])
    if isinstance(value, PLAIN):
        return lambda made: value
    raise RecordError(
        f"a jitted function that returns a {type(value).__name__}",
        "a replay can give Tensors, numbers, texts, and lists, tuples and dicts of them",
        "return the Tensors that it is made of, and make it outside",
    )


def with_roots(
    results: Sequence[Any], known: Container[int], handed_out: list[Any],
    rebuild: Callable[[Sequence[Any]], Any],
) -> Callable[[Sequence[Any]], Any]:  # fmt: skip
    """`rebuild`, with each result that is a view told which other result it is a view of, or which
    Tensor that was there before (by id in `known`): a change of it in place is one of that tensor.
    Such Tensors are appended to `handed_out`, which begins with the results."""
    at, views = {id(t): i for i, t in reversed(list(enumerate(results)))}, []
    for i, t in enumerate(results):
        root = root_of(t)
        if root is t or id(t) in known:
            continue
        if id(root) not in at and id(root) in known:
            at[id(root)] = len(handed_out)
            handed_out.append(root)
        if id(root) in at:
            views.append((i, at[id(root)]))
    if not views:
        return rebuild

    def rebuilt(made: Sequence[Any]) -> Any:
        for view, root in views:
            made[view]._base = ref(made[root])
        return rebuild(made)

    return rebuilt


def _parts(value: Any) -> list[Any] | None:
    """The items of a list, tuple or dict, or of a subclass that adds only methods, or of a
    dataclass; None for anything else."""
    if is_dataclass(type(value)) and (own := members(value)) is not None:
        return list(own.values())
    if not isinstance(value, (list, tuple, dict)) or getattr(value, "__dict__", None):
        return None
    if any(vars(base).get("__slots__") for base in type(value).__mro__):
        return None
    return list(dict.values(value) if isinstance(value, dict) else value)


def _like(value: Any) -> Callable[[list[Any]], Any]:
    """A function that makes such a list, tuple, dict or dataclass from other parts, without running
    the constructor of its class."""
    kind = type(value)
    if is_dataclass(kind):
        names = list(members(value))

        def filled(parts: list[Any]) -> Any:
            found = object.__new__(kind)
            vars(found).update(zip(names, parts, strict=True))
            return found

        return filled
    if isinstance(value, tuple):
        return lambda parts: tuple.__new__(kind, parts)
    base: Any = next(b for b in kind.__mro__ if b in (list, OrderedDict, defaultdict, dict))
    keys = None if base is list else list(dict.keys(value))
    factory = value.default_factory if base is defaultdict else None

    def made(parts: list[Any]) -> Any:
        found = base.__new__(kind)
        if keys is None:
            list.extend(found, parts)
            return found
        if factory is not None:
            defaultdict.__init__(found, factory)
        for key, part in zip(keys, parts, strict=True):
            base.__setitem__(found, key, part)
        return found

    return made
