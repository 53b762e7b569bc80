"""Adam: steps scaled by the size that gradients had lately."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tutor.core.engine import engine
from tutor.ground.spelling import spelled
from tutor.methods.tensor import Tensor
from tutor.optim.limits import BETAS, EPS, RATE, Limit
from tutor.optim.optimizer import Optimizer


@spelled
class Adam(Optimizer):
    """Adam (Kingma & Ba 2015, algorithm 1): steps scaled by the gradient's recent size

    d = g + weight_decay * p;  m <- b1 m + (1 - b1) d;  v <- b2 v + (1 - b2) d²
    p <- p - lr * (m / (1 - b1^t)) / (sqrt(v / (1 - b2^t)) + eps)   at step t = 1, 2, ...
    """

    slots = ("m", "v")
    limits: Mapping[str, Limit] = {
        "lr": RATE, "betas": BETAS, "eps": EPS, "weight_decay": RATE,
    }  # fmt: skip

    def __init__(
        self,
        params: Iterable[Tensor],
        lr: float = 0.001,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
    ) -> None:
        self.betas, self.eps, self.weight_decay = betas, eps, weight_decay
        super().__init__(params, lr)

    def update(self, p: Tensor, g: Tensor, *state: Tensor) -> None:
        cells = self.cells
        settings = (*cells["lr"], *cells["betas"], *cells["eps"], *cells["weight_decay"])
        engine.call("adam", p.dtype, p, g, *state, *settings, self.count)
