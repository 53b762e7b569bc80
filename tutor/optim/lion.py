"""Lion: steps by the sign of the momentum alone."""

from __future__ import annotations

from collections.abc import Mapping

from tutor._util.keyword_aliases import spelled
from tutor.core.engine import engine
from tutor.methods.tensor import Tensor
from tutor.optim.limits import BETAS, RATE, Limit, flag
from tutor.optim.optimizer import Optimizer, Params


@spelled
class Lion(Optimizer):
    """Lion (Chen et al. 2023, "Symbolic discovery of optimization algorithms", algorithm 2)

    u = sign(b1 m + (1 - b1) g);  p <- (1 - lr * weight_decay) p - lr * u;  m <- b2 m + (1 - b2) g

    Every number moves by lr, so its lr is 3 to 10 times smaller than AdamW's, and its weight_decay
    larger by the same factor. Its state is half as large as Adam's.
    """

    slots = ("m",)
    limits: Mapping[str, Limit] = {"lr": RATE, "betas": BETAS, "weight_decay": RATE}

    def __init__(
        self,
        params: Params,
        lr: float = 1e-4,
        betas: tuple[float, float] = (0.9, 0.99),
        weight_decay: float = 0.0,
        *,
        maximize: bool = False,
    ) -> None:
        self.betas, self.weight_decay = betas, weight_decay
        self.maximize = flag("Lion with maximize", maximize)
        super().__init__(params, lr)

    def update(self, p: Tensor, g: Tensor, *state: Tensor) -> None:
        cells = self.cells
        settings = (*cells["lr"], *cells["betas"], *cells["weight_decay"])
        engine.call("lion", p.dtype, p, g, *state, *settings)
