"""Optimizers: how parameters move when their gradients are known.

Each step is one kernel call per parameter, which reads the gradient and updates the parameter and
the optimizer's state in place. The formulas are in the class docstrings; python_ref has them in
plain Python.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from tutor import debug
from tutor.core.engine import engine
from tutor.core.tensor import Tensor
from tutor.errors import DomainError, GraphError


class Optimizer:
    """`Optimizer(params, lr)`: params are the Tensors to move, lr the learning rate (step size).

    A subclass states `slots` (the names of its state per parameter) and `update`. The state starts
    at zero.
    """

    slots: tuple[str, ...] = ()

    def __init__(self, params: Iterable[Tensor], lr: float) -> None:
        self.params = list(params)
        for p in self.params:
            if not (isinstance(p, Tensor) and p.requires_grad and p.op is None):
                raise GraphError(
                    f"{type(self).__name__} over a {type(p).__name__}",
                    "it is no leaf that requires grad",
                    "pass get_parameters(model), or Tensors made with requires_grad=True",
                )
        if not self.params:
            raise GraphError(f"{type(self).__name__} over no parameters", "nothing to move",
                             "pass get_parameters(model)")  # fmt: skip
        if not (isinstance(lr, (int, float)) and lr >= 0 and math.isfinite(lr)):
            raise DomainError(f"lr={lr!r}", "no finite number of 0 or more", "for example lr=0.01")
        self.lr = lr
        self.steps = 0
        self.state = {name: [p.detach().like(0) for p in self.params] for name in self.slots}

    def zero_grad(self) -> None:
        """Forget the gradients, so that the next backward() starts from none."""
        for p in self.params:
            p.grad = None

    def step(self) -> None:
        """Move every parameter that has a gradient.

        Where it is interrupted, some have moved and others not; `steps` counts whole steps only,
        and of each that has moved it is known that it changed (its version).
        """
        here = debug.user_line()
        for i, p in enumerate(self.params):
            if p.grad is not None:
                p.buf.touch(here)
                self.update(p, p.grad, *(self.state[name][i] for name in self.slots))
        self.steps += 1

    def update(self, p: Tensor, g: Tensor, *state: Tensor) -> None:
        """Move p in place along its gradient g; `self.steps` steps were taken before this one."""
        raise NotImplementedError(f"{type(self).__name__} has no update(self, p, g, ...)")

    def state_dict(self) -> dict[str, Any]:
        """Steps taken and the state per parameter: what an exact continuation needs."""
        named = {f"{n}.{i}": t for n in self.slots for i, t in enumerate(self.state[n])}
        return {"steps": self.steps, **named}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.steps = int(state["steps"])
        for name in self.slots:
            for i, t in enumerate(self.state[name]):
                t.assign(state[f"{name}.{i}"])


class SGD(Optimizer):
    """Stochastic gradient descent with momentum

    d = g + weight_decay * p;  v <- momentum * v + d;  p <- p - lr * v

    Without momentum v is d, and nothing is kept.
    """

    def __init__(
        self,
        params: Iterable[Tensor],
        lr: float = 0.01,
        momentum: float = 0.0,
        weight_decay: float = 0.0,
    ) -> None:
        self.slots = ("velocity",) if momentum else ()
        super().__init__(params, lr)
        self.momentum, self.weight_decay = momentum, weight_decay

    def update(self, p: Tensor, g: Tensor, *state: Tensor) -> None:
        kernel, params = "descend", {"lr": self.lr, "weight_decay": self.weight_decay}
        if state:
            kernel, params["momentum"] = "sgd", self.momentum
        elif self.momentum:
            raise DomainError(
                f"momentum={self.momentum} for an SGD that was made without",
                "it has kept no velocity",
                "make another one: SGD(params, lr, momentum)",
            )
        engine.call(kernel, p.dtype, p, g, *state, **params)


class Adam(Optimizer):
    """Adam (Kingma & Ba 2015, algorithm 1): steps scaled by the gradient's recent size

    d = g + weight_decay * p;  m <- b1 m + (1 - b1) d;  v <- b2 v + (1 - b2) d²
    p <- p - lr * (m / (1 - b1^t)) / (sqrt(v / (1 - b2^t)) + eps)   at step t = 1, 2, ...
    """

    slots = ("m", "v")

    def __init__(
        self,
        params: Iterable[Tensor],
        lr: float = 0.001,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
    ) -> None:
        super().__init__(params, lr)
        self.betas, self.eps, self.weight_decay = betas, eps, weight_decay

    def update(self, p: Tensor, g: Tensor, *state: Tensor) -> None:
        (b1, b2), t = self.betas, self.steps + 1
        engine.call(
            "adam", p.dtype, p, g, *state,
            lr=self.lr / (1 - b1**t), beta1=b1, beta2=b2, eps=self.eps,
            correction=math.sqrt(1 - b2**t), weight_decay=self.weight_decay,
        )  # fmt: skip
