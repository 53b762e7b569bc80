"""The parts of a model, found by walking attributes: any object will do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from tutor._util import checks
from tutor.backends import devices
from tutor.errors import DTypeError
from tutor.methods.conversions import is_device
from tutor.methods.tensor import Tensor


class ModelPart(NamedTuple):
    """An item of the walk through a model: a Tensor, a part that holds others, or a function."""

    path: str  # as in `encoder.0.weight`
    value: Any
    holder: str  # the path of the part that it is an attribute or an item of


def parts_of(value: Any, path: str = "") -> Iterator[ModelPart]:
    """`value` and everything reachable from it through attributes, lists, tuples and dicts, in the
    order of insertion. A Tensor (or a part) that is reachable twice is yielded once.

    An object with a method `named_parts` names its own parts: so the layers of a Sequential are
    `0.weight`, not `layers.0.weight`.
    """
    return _walk(ModelPart(path, value, ""), set())


def _walk(part: ModelPart, seen: set[int]) -> Iterator[ModelPart]:
    value, items = part.value, _items(part.value)
    if items is None or id(value) in seen:
        return
    if not callable_value(value):
        seen.add(id(value))
    yield part
    for key, inner in items:
        path = f"{part.path}.{key}" if part.path else str(key)
        yield from _walk(ModelPart(path, inner, part.path), seen)


def _items(value: Any) -> Any:
    """The contents of a part, with their names; None for values that are no part of a model."""
    if isinstance(value, Tensor) or callable_value(value):
        return ()
    if isinstance(value, dict):
        return value.items()
    if isinstance(value, (list, tuple)):
        return enumerate(value)
    if hasattr(type(value), "named_parts"):
        return value.named_parts()
    has = hasattr(value, "__dict__") and not isinstance(value, type)
    return vars(value).items() if has else None


def reached(model: object, path: str) -> Any:
    """The value at a path, or None if there is no such path. Unlike `parts_of`, it finds a value by
    each of its paths, not only the first."""
    value: Any = model
    for key in path.split("."):
        value = {str(k): inner for k, inner in _items(value) or ()}.get(key)
    return value


def checked_parts(model: object, prefix: str = "") -> Iterator[ModelPart]:
    """`parts_of(model)`. DTypeError for an object that cannot hold Tensors."""
    if isinstance(model, (type, str)) or not (
        isinstance(model, (dict, list, tuple, Tensor)) or hasattr(model, "__dict__")
    ):
        kind = f"the class {model.__name__}" if isinstance(model, type) else checks.said(model)
        raise DTypeError("the Tensors of a model", kind, "give an object that holds Tensors")
    return parts_of(model, prefix)


def named_tensors(model: object, prefix: str = "") -> Iterator[tuple[str, Tensor]]:
    """Every Tensor reachable from `model` through attributes, lists, tuples and dicts, named by its
    path: `encoder.0.weight`. DTypeError for an object that cannot hold Tensors."""
    found = checked_parts(model, prefix)
    return ((part.path, part.value) for part in found if isinstance(part.value, Tensor))


def saved_tensors(model: object, prefix: str = "") -> Iterator[tuple[str, Tensor]]:
    """Like named_tensors, without the buffers that were registered with persistent=False."""
    left_out: set[str] = set()
    for part in checked_parts(model, prefix):
        at = f"{part.path}." if part.path else ""
        left_out.update(at + name for name in getattr(part.value, "not_saved", ()))
        if isinstance(part.value, Tensor) and part.path not in left_out:
            yield part.path, part.value


def named_modules(model: object, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """The model and every object in it that has attributes, with its path: layers, and parts of
    plain classes; no Tensors, lists or functions."""
    for part in checked_parts(model, prefix):
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
