"""Gradient descent, with and without momentum."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tutor.core.engine import engine
from tutor.errors import DomainError
from tutor.ground.spelling import spelled
from tutor.methods.tensor import Tensor
from tutor.optim.limits import MOMENTUM, RATE, Limit
from tutor.optim.optimizer import Optimizer


@spelled
class SGD(Optimizer):
    """Stochastic gradient descent with momentum

    d = g + weight_decay * p;  v <- momentum * v + d;  p <- p - lr * v

    Without momentum v is d, and nothing is kept.
    """

    limits: Mapping[str, Limit] = {"lr": RATE, "momentum": MOMENTUM, "weight_decay": RATE}

    def __init__(
        self,
        params: Iterable[Tensor],
        lr: float = 0.01,
        momentum: float = 0.0,
        weight_decay: float = 0.0,
    ) -> None:
        self.momentum, self.weight_decay = momentum, weight_decay
        self.slots = ("velocity",) if self.momentum else ()
        super().__init__(params, lr)

    def __setattr__(self, name: str, value: Any) -> None:
        asked = f"SGD with momentum={value!r}"
        made = "slots" in vars(self)  # before that it is __init__ which sets it
        if name == "momentum" and made and MOMENTUM.checked(asked, value) and not self.slots:
            raise DomainError(
                asked,
                "it was made without, and has kept no velocity",
                "make another one: SGD(params, lr, momentum)",
            )
        super().__setattr__(name, value)

    def update(self, p: Tensor, g: Tensor, *state: Tensor) -> None:
        cells = self.cells
        if state:
            settings = (*cells["lr"], *cells["momentum"], *cells["weight_decay"])
            engine.call("sgd", p.dtype, p, g, *state, *settings)
        else:
            engine.call("descend", p.dtype, p, g, *cells["lr"], *cells["weight_decay"])
