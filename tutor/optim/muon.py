"""Muon: orthogonalized steps for weight matrices."""

from __future__ import annotations

import math
from collections.abc import Mapping

from tutor._util.keyword_aliases import spelled
from tutor.core.engine import apply, engine
from tutor.dtype import float32
from tutor.errors import DomainError
from tutor.methods.tensor import Tensor
from tutor.optim.limits import BETAS, EPS, MOMENTUM, RATE, Limit, flag
from tutor.optim.optimizer import Optimizer, Params

# Repeating x -> a x + b x³ + c x⁵ takes every x in (0, 1] to about 1: these coefficients have the
# steepest slope at 0 for which it stays there, between 0.7 and 1.2 (Jordan 2024).
QUINTIC = (3.4445, -4.775, 2.0315)


def orthogonalized(g: Tensor, steps: int = 5, eps: float = 1e-7) -> Tensor:
    """Approximately the orthogonal matrix nearest to g (m, n): U Vᵀ of the singular value
    decomposition g = U S Vᵀ, by Newton-Schulz iteration, which needs only products (Jordan et al.
    2024, "Muon: an optimizer for hidden layers in neural networks")

    X = g / |g|;  then, `steps` times, A = X Xᵀ and X <- a X + (b A + c A²) X

    Each of its singular values ends between 0.7 and 1.2. Computed in g's dtype, but in float32 for
    float16 and bfloat16. DomainError unless g is a matrix.
    """
    if len(g.shape) != 2:
        raise DomainError(f"orthogonalized(g) for g of shape {g.shape}", "it is no matrix",
                          "give a Tensor of two axes")  # fmt: skip
    a, b, c = QUINTIC
    x = g.cast(float32) if g.dtype.itemsize == 2 else g
    tall = g.shape[0] > g.shape[1]
    x = x.T if tall else x
    x = x / apply("maximum", (x * x).sum().sqrt(), eps)
    for _ in range(steps):
        gram = x @ x.T
        x = a * x + (b * gram + c * (gram @ gram)) @ x
    return (x.T if tall else x).cast(g.dtype)


@spelled
class Muon(Optimizer):
    """Muon (Jordan et al. 2024), for the weight matrices of hidden layers

    v <- momentum * v + (1 - momentum) * g;  u = (1 - momentum) * g + momentum * v (nesterov), or v
    p <- (1 - lr * weight_decay) p - lr * sqrt(max(1, m / n)) * orthogonalized(u)   for p (m, n)

    AdamW moves everything that is not a matrix (biases, scales of norms, filters), with the same
    lr, weight_decay, `betas` and eps 1e-8. Muon's author also moves the embedding and the last
    layer by AdamW: give these to a separate AdamW. With `adjust_lr_fn="match_rms_adamw"` the factor
    is 0.2 * sqrt(max(m, n)), so that a lr tuned for AdamW fits (Liu et al. 2025, "Muon is scalable
    for LLM training"). PyTorch's Muon takes only matrices, and computes in bfloat16.
    """

    slots = ("m", "v")
    limits: Mapping[str, Limit] = {
        "lr": RATE, "weight_decay": RATE, "momentum": MOMENTUM, "betas": BETAS, "eps": EPS,
    }  # fmt: skip

    def __init__(
        self,
        params: Params,
        lr: float = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_steps: int = 5,
        adjust_lr_fn: str = "original",
        *,
        betas: tuple[float, float] = (0.9, 0.95),
        eps: float = 1e-8,
        maximize: bool = False,
    ) -> None:
        self.weight_decay, self.momentum, self.betas, self.eps = weight_decay, momentum, betas, eps
        self.nesterov = flag("Muon with nesterov", nesterov)
        self.maximize = flag("Muon with maximize", maximize)
        if type(ns_steps) is not int or not 1 <= ns_steps < 100:
            raise DomainError(f"Muon with ns_steps={ns_steps!r}", "it must be a whole number from "
                              "1 to 99", "use, for example, 5")  # fmt: skip
        if adjust_lr_fn not in ("original", "match_rms_adamw"):
            raise DomainError(f"Muon with adjust_lr_fn={adjust_lr_fn!r}", "there is no such rule",
                              'use "original" or "match_rms_adamw"')  # fmt: skip
        self.ns_steps, self.adjust_lr_fn = ns_steps, adjust_lr_fn
        super().__init__(params, lr)

    def start(self, name: str, p: Tensor) -> Tensor:
        """A matrix has no second moment: its slot holds a single 0."""
        one = name == "v" and len(p.shape) == 2
        return Tensor(0.0, dtype=p.dtype, device="cpu") if one else super().start(name, p)

    def update(self, p: Tensor, g: Tensor, *state: Tensor) -> None:
        cells, (m, v) = self.cells, state
        if len(p.shape) != 2:
            settings = (*cells["lr"], *cells["betas"], *cells["eps"], *cells["weight_decay"])
            return engine.call("adamw", p.dtype, p, g, m, v, *settings, self.count)
        (lr,), (decay,) = self.numbers("lr", p), self.numbers("weight_decay", p)
        (momentum,), (rest,) = self.numbers("momentum", p), self.rests("momentum", p)
        m.copy_(momentum * m + rest * g)
        u = rest * g + momentum * m if self.nesterov else m
        rows, columns = p.shape
        factor = math.sqrt(max(1, rows / columns))
        if self.adjust_lr_fn == "match_rms_adamw":
            factor = 0.2 * math.sqrt(max(rows, columns))
        p.copy_(p * (1 - lr * decay) - lr * factor * orthogonalized(u, self.ns_steps))
