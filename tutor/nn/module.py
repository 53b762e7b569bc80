"""Modules: objects that hold parameters, found by walking attributes. No base class is needed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from tutor.core.tensor import Tensor
from tutor.errors import DataError, DTypeError
from tutor.ground import checks
from tutor.ground.spelling import spelled

if TYPE_CHECKING:
    from tutor.nn.summary import Summary


class Part(NamedTuple):
    """What the walk through a model finds: a Tensor, a part that holds others, or a function."""

    path: str  # the way there: `layers.0.weight`
    value: Any
    holder: str  # the path of the part that it is an attribute or an item of


def parts_of(value: Any, path: str = "") -> Iterator[Part]:
    """`value` and what is reachable from it through attributes, lists, tuples and dicts, in the
    order in which it was set; a Tensor (or a part) that is reachable twice is given once."""
    return _walk(Part(path, value, ""), set())


def _walk(part: Part, seen: set[int]) -> Iterator[Part]:
    value = part.value
    if isinstance(value, Tensor) or callable_value(value):
        items: Any = ()
    elif isinstance(value, dict):
        items = value.items()
    elif isinstance(value, (list, tuple)):
        items = enumerate(value)
    elif hasattr(value, "__dict__") and not isinstance(value, type):
        items = vars(value).items()
    else:
        return
    if id(value) in seen:
        return
    if not callable_value(value):
        seen.add(id(value))
    yield part
    for key, inner in items:
        path = f"{part.path}.{key}" if part.path else str(key)
        yield from _walk(Part(path, inner, part.path), seen)


def named_tensors(model: object, prefix: str = "") -> Iterator[tuple[str, Tensor]]:
    """Every Tensor reachable from `model` through attributes, lists, tuples and dicts, with the
    way there as its name: `layers.0.weight`. DTypeError for what can hold none."""
    if isinstance(model, (type, str)) or not (
        isinstance(model, (dict, list, tuple, Tensor)) or hasattr(model, "__dict__")
    ):
        kind = f"the class {model.__name__}" if isinstance(model, type) else checks.said(model)
        raise DTypeError("the Tensors of a model", kind, "give an object that holds Tensors")
    found = parts_of(model, prefix)
    return ((part.path, part.value) for part in found if isinstance(part.value, Tensor))


def callable_value(part: Any) -> bool:
    """Functions carry attributes too, but they are no part of a model."""
    return hasattr(part, "__code__") or hasattr(part, "__func__")


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
        return repr(_summary(self))

    def _repr_html_(self) -> str:
        return _summary(self)._repr_html_()


def _summary(model: object) -> Summary:
    import tutor.nn.summary as built_on_this

    return built_on_this.Summary(model)
