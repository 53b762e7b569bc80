"""The parts of a model, found by walking attributes: any object will do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from tutor._util import checks
from tutor.backends import devices
from tutor.errors import DTypeError
from tutor.methods.conversions import is_device
from tutor.methods.tensor import Tensor
from tutor.nn.parameter import STARTING, ModuleClass, adopt, is_parameter


class ModelPart(NamedTuple):
    """An item of the walk through a model: a Tensor, a part that holds others, or a function."""

    path: str  # as in `encoder.0.weight`
    value: Any
    holder: str  # the path of the part that it is an attribute or an item of
    owner: Any = None  # the object that has it, in a list or dict or not; None outside of any


def parts_of(value: Any, path: str = "", every_name: bool = False) -> Iterator[ModelPart]:
    """`value` and everything reachable from it through attributes, lists, tuples and dicts, in the
    order of insertion; of a Module first the parameters, then the buffers. A Tensor (or a part)
    that is reachable twice is yielded once, or with `every_name` by each path through Modules,
    lists, tuples and dicts alone.

    An object with a method `named_parts` names its own parts: so the layers of a Sequential are
    `0.weight`, not `layers.0.weight`.
    """
    return _walk(ModelPart(path, value, ""), set(), frozenset() if every_name else None)


def _walk(part: ModelPart, seen: set[int], way: frozenset[int] | None) -> Iterator[ModelPart]:
    """`way`: what this part is in, if only a circle ends the walk; None: what was seen ends it."""
    value, items = part.value, _items(part.value)
    if items is None or id(value) in (seen if way is None else way):
        return
    if not callable_value(value):
        seen.add(id(value))
    yield part
    inside = isinstance(value, (dict, list, tuple))
    owner = part.owner if inside else value
    if way is not None:
        way = way | {id(value)} if inside or registers(value) else None
    for key, inner in items:
        path = f"{part.path}.{key}" if part.path else str(key)
        yield from _walk(ModelPart(path, inner, part.path, owner), seen, way)


def _items(value: Any) -> Any:
    """The contents of a part, with their names; None for values that are no part of a model."""
    if isinstance(value, Tensor) or callable_value(value):
        return ()
    if isinstance(value, dict):
        return value.items()
    if isinstance(value, (list, tuple)):
        return enumerate(value)
    if hasattr(type(value), "named_parts"):
        items = value.named_parts()
    elif hasattr(value, "__dict__") and not isinstance(value, type):
        items = vars(value).items()
    else:
        return None
    return sorted(items, key=_rank) if registers(value) else items


def _rank(item: tuple[Any, Any]) -> int:
    """As PyTorch orders a module: its parameters, its other Tensors, its modules."""
    return 2 - isinstance(item[1], Tensor) - is_parameter(item[1])


def registers(value: object) -> bool:
    """Is it a Module, whose buffers are registered?"""
    return isinstance(type(value), ModuleClass)


def checked_parts(model: object, prefix: str = "", every_name: bool = False) -> Iterator[ModelPart]:
    """`parts_of(model)`. DTypeError for an object that cannot hold Tensors."""
    if isinstance(model, (type, str)) or not (
        isinstance(model, (dict, list, tuple, Tensor)) or hasattr(model, "__dict__")
    ):
        kind = f"the class {model.__name__}" if isinstance(model, type) else checks.said(model)
        raise DTypeError("the Tensors of a model", kind, "give an object that holds Tensors")
    return parts_of(model, prefix, every_name)


def named_tensors(model: object, prefix: str = "") -> Iterator[tuple[str, Tensor]]:
    """Every Tensor reachable from `model` through attributes, lists, tuples and dicts, named by its
    path: `encoder.0.weight`. DTypeError for an object that cannot hold Tensors."""
    found = checked_parts(model, prefix)
    return ((part.path, part.value) for part in found if isinstance(part.value, Tensor))


class State(NamedTuple):
    """A Tensor that belongs to the model: a parameter, or a buffer."""

    name: str
    tensor: Tensor
    trained: bool  # a parameter, frozen or not
    saved: bool  # all but a buffer that was registered with persistent=False


def state_of(model: object, prefix: str = "", every_name: bool = False) -> Iterator[State]:
    """The parameters and buffers of a model, by the rule of tutor.nn.parameter. DTypeError for an
    object that cannot hold Tensors."""
    for path, t, holder, owner in checked_parts(model, prefix, every_name):
        if not isinstance(t, Tensor):
            continue
        if not registers(owner) or STARTING in vars(owner):
            adopt(t)
        name = path[len(holder) :].lstrip(".")
        registered = registers(owner) and name in owner.buffers_named
        if registered or is_parameter(t):
            saved = not registered or name not in owner.not_saved
            yield State(path, t, not registered, saved)
        elif not registers(owner) and t.op is None:
            yield State(path, t, False, True)


def named_modules(
    model: object, prefix: str = "", every_name: bool = False
) -> Iterator[tuple[str, Any]]:
    """The model and every object in it that has attributes, with its path: layers, and parts of
    plain classes; no Tensors, lists or functions."""
    for part in checked_parts(model, prefix, every_name):
        if is_module(part.value):
            yield part.path, part.value


def is_module(value: object) -> bool:
    return not isinstance(value, (Tensor, dict, list, tuple)) and not callable_value(value)


def callable_value(part: Any) -> bool:
    """Is it a function? Functions have attributes, but hold no part of a model."""
    return hasattr(part, "__code__") or hasattr(part, "__func__")


# ---- to another device, or dtype -----------------------------------------------------------------


def wanted(target: Any, dtype: Any, device: Any) -> tuple[str | None, Any]:
    """The device and the dtype that `to(target, dtype, device=...)` requests; None: unchanged."""
    if isinstance(target, Tensor):
        device, dtype = target.device, target.dtype
    elif target is not None and is_device(target):
        device = target
    elif target is not None:
        dtype = target
    return None if device is None else devices.of(device), dtype


def move(model: object, device: str) -> None:
    """Move every Tensor of the model, in place, to that device. Shared Buffers stay shared."""
    moved: dict[int, Any] = {}
    for t in {id(t): t for _, t in named_tensors(model)}.values():
        for each in (t, t._grad) if t._grad is not None else (t,):
            buf = each.buf
            if buf.device == device:
                continue
            if id(buf) not in moved:
                moved[id(buf)] = Tensor(buf).to(device).buf, buf  # buf lives: its id is not reused
            each.buf = moved[id(buf)][0]
