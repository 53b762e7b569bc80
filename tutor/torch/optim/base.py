"""Optimizers: tutor's classes with PyTorch's signatures; `Optimizer`, the base of one's own."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import tutor
from tutor.errors import ArgumentError, GraphError
from tutor.torch.carrier import Plain
from tutor.torch.signatures import Adapter
from tutor.torch.table import rows


class OptimizerType(type):
    """isinstance(x, torch.optim.Optimizer) holds for tutor's optimizers too."""

    def __instancecheck__(cls, instance: object) -> bool:
        return type.__instancecheck__(cls, instance) or isinstance(instance, tutor.optim.Optimizer)


class Optimizer(metaclass=OptimizerType):
    """The base of an optimizer: `param_groups`, `state` of each parameter, and `defaults`.

    A class of one's own calls `super().__init__(params, defaults)` and defines `step`.
    """

    def __init__(self, params: Any, defaults: dict[str, Any]) -> None:
        if isinstance(params, Plain):
            raise ArgumentError("Optimizer(a Tensor)", "it takes a list", "write [p]")
        self.defaults, self.param_groups = defaults, []
        self.state: Any = defaultdict(dict)
        given = list(params)
        groups = given if given and isinstance(given[0], dict) else [{"params": given}]
        for group in groups:
            self.add_param_group(group)

    param_groups: list[dict[str, Any]]

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """More parameters, with settings of their own."""
        found = param_group["params"]
        row = [found] if isinstance(found, Plain) else list(found)
        row = [p[1] if isinstance(p, tuple) else p for p in row]
        if not row:
            raise GraphError("an optimizer without parameters", "the list is empty", "give some")
        self.param_groups.append({**self.defaults, **param_group, "params": row})

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Clear the gradients."""
        for group in self.param_groups:
            for p in group["params"]:
                if set_to_none:
                    p.grad = None
                elif p.grad is not None:
                    p.grad.zero_()

    def step(self, closure: Any = None) -> Any:
        """Defined by a subclass."""
        raise NotImplementedError


def adopted(text: str, module: Any) -> dict[str, Any]:
    """The classes of these signatures."""
    found = {}
    for name, parameters, _ in rows(text):
        base = getattr(module, name)
        found[name] = _class(name, parameters, base)
    return found


def _class(name: str, text: str, base: Any) -> Any:
    adapter = Adapter(name, f"self, {text}", base.__init__)

    def __init__(self: Any, *args: Any, **options: Any) -> None:  # noqa: N807
        values = adapter.values(adapter.given((self, *args), options), "self")
        base.__init__(self, **values)

    def step(self: Any, closure: Any = None) -> Any:
        return base.step(self) if closure is None else base.step(self, closure)

    space = {"__init__": __init__, "__doc__": base.__doc__, "step": step, "__module__": __name__}
    return type(base)(name, (base,), space)
