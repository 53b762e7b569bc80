"""Gradient descent, with and without momentum."""

from __future__ import annotations

from collections.abc import Mapping

from tutor._util.keyword_aliases import spelled
from tutor.core.engine import engine
from tutor.dtype import float64
from tutor.errors import DomainError
from tutor.methods.tensor import Tensor
from tutor.optim.limits import MOMENTUM, RATE, Limit, flag
from tutor.optim.optimizer import Optimizer, Params


@spelled
class SGD(Optimizer):
    """Stochastic gradient descent with momentum

    d = g + weight_decay * p;  v <- momentum * v + d;  p <- p - lr * v

    Without momentum v is d, and no state is kept. From the second step on, v adds
    `(1 - dampening) * d` instead of d. With `nesterov` the parameter looks ahead to the next v,
    p <- p - lr * (d + momentum * v) (Sutskever et al. 2013, "On the importance of initialization
    and momentum in deep learning", in PyTorch's form). With `maximize` -g replaces g. DomainError
    for a setting out of its range, and for nesterov without momentum or with dampening.
    """

    limits: Mapping[str, Limit] = {"lr": RATE, "momentum": MOMENTUM, "weight_decay": RATE}

    def __init__(
        self,
        params: Params,
        lr: float = 0.01,
        momentum: float = 0.0,
        weight_decay: float = 0.0,
        dampening: float = 0.0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        self.momentum, self.weight_decay = momentum, weight_decay
        self.dampening = MOMENTUM.checked(f"SGD with dampening={dampening!r}", dampening)
        self.nesterov = flag("SGD with nesterov", nesterov)
        self.maximize = flag("SGD with maximize", maximize)
        super().__init__(params, lr)
        if nesterov and (not self.slots or self.dampening):
            raise DomainError(
                f"SGD with nesterov, momentum={self.momentum} and dampening={self.dampening}",
                "it looks ahead along a momentum that is not dampened",
                "set momentum, 0.9 for example, and leave dampening at 0",
            )

    def kept(self) -> tuple[str, ...]:
        if any(group["momentum"] for group in self.param_groups):
            return ("velocity",)
        self.narrow("momentum", "SGD(params, lr, momentum)")
        return ()

    def update(self, p: Tensor, g: Tensor, *state: Tensor) -> None:
        cells = self.cells
        if not state:
            engine.call("descend", p.dtype, p, g, *cells["lr"], *cells["weight_decay"])
            return
        decay = cells["weight_decay"]
        if self.dampening:
            first = (self.count == 0).cast(p.dtype)
            (weight_decay,) = self.numbers("weight_decay", p)
            g = (g + weight_decay * p) * (1 - self.dampening + self.dampening * first)
            decay = [self.count.wrap(0.0, float64)]
        kernel = "nesterov" if self.nesterov else "sgd"
        engine.call(kernel, p.dtype, p, g, *state, *cells["lr"], *cells["momentum"], *decay)
