"""Modules: objects that hold parameters, found by walking attributes. No base class is needed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tutor.core.tensor import Tensor
from tutor.errors import DataError


def named_tensors(model: Any, prefix: str = "") -> Iterator[tuple[str, Tensor]]:
    """Every Tensor reachable from `model` through attributes, lists, tuples and dicts.

    Named by the way there (`layers.0.weight`), in the order in which they were set; a Tensor (or a
    part) that is reachable twice is given once.
    """
    return _walk(model, prefix, set())


def _walk(part: Any, name: str, seen: set[int]) -> Iterator[tuple[str, Tensor]]:
    """No function inside of named_tensors: one that calls itself is a cycle, which would keep the
    model alive until the next garbage collection."""
    if id(part) in seen:
        return
    if isinstance(part, Tensor):
        seen.add(id(part))
        yield name, part
        return
    if isinstance(part, dict):
        items: Any = part.items()
    elif isinstance(part, (list, tuple)):
        items = enumerate(part)
    elif hasattr(part, "__dict__") and not isinstance(part, type) and not callable_value(part):
        items = vars(part).items()
    else:
        return
    seen.add(id(part))
    for key, value in items:
        yield from _walk(value, f"{name}.{key}" if name else str(key), seen)


def callable_value(part: Any) -> bool:
    """Functions carry attributes too, but they are no part of a model."""
    return hasattr(part, "__code__") or hasattr(part, "__func__")


def get_parameters(model: Any) -> list[Tensor]:
    """The Tensors of a model that require a gradient: what an optimizer takes.

    `model` is any object: its attributes are walked, and lists, tuples and dicts in them.
    """
    return [t for _, t in named_tensors(model) if t.requires_grad]


def state_dict(model: Any) -> dict[str, Tensor]:
    """All Tensors of a model by name, as they are (not copies)."""
    return dict(named_tensors(model))


def load_state_dict(model: Any, state: dict[str, Tensor]) -> None:
    """Overwrite the model's Tensors with those of the same names. DataError where names or shapes
    differ; nothing is changed then."""
    own = state_dict(model)
    missing, extra = sorted(own.keys() - state.keys()), sorted(state.keys() - own.keys())
    wrong = [n for n in own.keys() & state.keys() if own[n].shape != state[n].shape]
    if missing or extra or wrong:
        shapes = "; ".join(f"{n} is {state[n].shape} there, {own[n].shape} here" for n in wrong)
        raise DataError(
            "to load a state into a model",
            f"missing: {missing or 'none'}; not in the model: {extra or 'none'}; {shapes}",
            "build the model with the sizes it was saved with",
        )
    for name, tensor in own.items():
        tensor.assign(state[name])


class Module:
    """An optional base class: `model(x)` calls `forward`, and the functions above as methods."""

    def __call__(self, *inputs: Any) -> Any:
        return self.forward(*inputs)

    def forward(self, *inputs: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no forward(self, ...)")

    def parameters(self) -> list[Tensor]:
        return get_parameters(self)

    def state_dict(self) -> dict[str, Tensor]:
        return state_dict(self)

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        load_state_dict(self, state)
