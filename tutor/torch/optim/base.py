"""Optimizers: tutor's classes with PyTorch's signatures; `Optimizer`, the base of one's own."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import Any

import tutor
from tutor.core.engine.grad_mode import no_grad, recording
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


class SparseAdam(Optimizer):
    """Adam that moves only the rows whose gradient is not 0: those that a batch has looked up."""

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, maximize=False) -> None:
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize})

    @no_grad
    def step(self, closure=None):
        """m, v and the weight change in those rows."""
        loss = None if closure is None else recording.during(True, closure)
        for group in self.param_groups:
            b1, b2 = group["betas"]
            for p in group["params"]:
                if p.grad is not None:
                    g = -p.grad if group["maximize"] else p.grad
                    own = self.state[p]
                    if not own:
                        own |= {"step": 0, "m": Plain.zeros_like(p), "v": Plain.zeros_like(p)}
                    own["step"] += 1
                    t = own["step"]
                    there = Plain.any(Plain.ne(g, 0), tuple(range(1, g.ndim)), True)
                    m, v = own["m"], own["v"]
                    m += there * ((g - m) * (1 - b1))
                    v += there * ((g * g - v) * (1 - b2))
                    size = group["lr"] * math.sqrt(1 - b2**t) / (1 - b1**t)
                    p += there * (-size * (m / (Plain.sqrt(v) + group["eps"])))
        return loss


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
