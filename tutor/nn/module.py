"""Modules: objects that hold parameters, found by walking attributes. No base class is needed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tutor.errors import DataError, DTypeError
from tutor.ground import checks
from tutor.ground.spelling import spelled
from tutor.methods.tensor import Tensor
from tutor.nn.parts import named_tensors
from tutor.nn.summary import Summary


@spelled
def get_parameters(model: object) -> list[Tensor]:
    """The Tensors of a model that require a gradient: what an optimizer takes.

    `model` is any object: its attributes are walked, and lists, tuples and dicts in them.
    """
    return [t for _, t in named_tensors(model) if t.requires_grad]


@spelled
def state_dict(model: object) -> dict[str, Tensor]:
    """All Tensors of a model by name, as they are (not copies)."""
    return dict(named_tensors(model))


@spelled
def load_state_dict(model: object, state: dict[str, Tensor]) -> None:
    """Overwrite the model's Tensors with those of the same names. DataError where names or shapes
    differ; nothing is changed then."""
    own = state_dict(model)
    if not (isinstance(state, Mapping) and all(isinstance(t, Tensor) for t in state.values())):
        raise DTypeError(
            "to load a state into a model",
            f"{checks.said(state)}",
            "give a dict of Tensors by name",
        )
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
    """An optional base class: `model(x)` calls `forward`, and the functions above as methods.
    It prints as the list of its layers, and in a notebook as a table: see tutor.nn.summary."""

    @spelled
    def __call__(self, *inputs: Any) -> Tensor:
        return self.forward(*inputs)

    def forward(self, *inputs: Any) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__} has no forward(self, ...)")

    def parameters(self) -> list[Tensor]:
        return get_parameters(self)

    def state_dict(self) -> dict[str, Tensor]:
        return state_dict(self)

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        load_state_dict(self, state)

    def __repr__(self) -> str:
        return repr(Summary(self))

    def _repr_html_(self) -> str:
        return Summary(self)._repr_html_()
