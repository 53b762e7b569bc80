"""A module under `tutor.jit`: it is still a module, and its calls are replayed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import attrgetter
from typing import Any

from tutor.nn.module import Module
from tutor.programs.shortcut import Shortcut


class OfModule(Module):
    """The module side of `tutor.jit(model)`: calls are replayed, everything else is the model's.
    Parameters, buffers and layers have the same names as in the model, and setting an attribute
    sets it on the model."""

    function: Any  # the model
    is_made = False  # from then on, attributes are set on the model

    def named_parts(self) -> Iterable[tuple[Any, Any]]:
        """The contents of the module, with their names."""
        module = self.function
        given = hasattr(type(module), "named_parts")
        found: Iterable[tuple[Any, Any]] = module.named_parts() if given else vars(module).items()
        return found

    @property
    def forward(self) -> Callable[..., Any]:
        """The module's own, not replayed."""
        found: Callable[..., Any] = self.function.forward
        return found

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or "function" not in vars(self):
            raise AttributeError(name)
        return getattr(self.function, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if self.is_made and name not in vars(self) and not hasattr(Shortcut, name):
            setattr(self.function, name, value)
        else:
            object.__setattr__(self, name, value)

    def __getitem__(self, place: Any) -> Any:
        return self.function[place]

    def __repr__(self) -> str:
        return f"jit({self.function!r})"


for _name in Module.__annotations__:  # a Module's own state: `training`, hooks
    setattr(OfModule, _name, property(attrgetter(f"function.{_name}")))
