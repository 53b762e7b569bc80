"""Adam and its relatives: steps scaled by the recent size of the gradients."""

from __future__ import annotations

from collections.abc import Mapping

from tutor._util.keyword_aliases import spelled
from tutor.core.engine import apply, engine
from tutor.dtype import float64
from tutor.methods.tensor import Tensor
from tutor.optim.limits import BETAS, EPS, RATE, Limit, flag
from tutor.optim.optimizer import Optimizer, Params


@spelled
class Adam(Optimizer):
    """Adam (Kingma & Ba 2015, algorithm 1): steps scaled by the gradient's recent size

    d = g + weight_decay * p;  m <- b1 m + (1 - b1) d;  v <- b2 v + (1 - b2) d²
    p <- p - lr * (m / (1 - b1^t)) / (sqrt(v / (1 - b2^t)) + eps)   at step t = 1, 2, ...

    `amsgrad` uses the largest v so far instead of v in the last line (Reddi et al. 2018, "On the
    convergence of Adam and beyond"); `maximize` uses -g instead of g. DomainError for a setting out
    of its range.
    """

    slots: tuple[str, ...] = ("m", "v")
    limits: Mapping[str, Limit] = {
        "lr": RATE, "betas": BETAS, "eps": EPS, "weight_decay": RATE,
    }  # fmt: skip
    decoupled = False  # is weight decay left out of the gradient?

    def __init__(
        self,
        params: Params,
        lr: float = 0.001,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        of = type(self).__name__
        self.betas, self.eps, self.weight_decay = betas, eps, weight_decay
        self.maximize = flag(f"{of} with maximize", maximize)
        self.amsgrad = flag(f"{of} with amsgrad", amsgrad)
        if amsgrad:
            self.slots = (*self.slots, "largest")
        super().__init__(params, lr)

    def update(self, p: Tensor, g: Tensor, *state: Tensor) -> None:
        cells = self.cells
        if self.amsgrad:
            return self._amsgrad(p, g, *state)
        settings = (*cells["lr"], *cells["betas"], *cells["eps"], *cells["weight_decay"])
        kernel = "adamw" if self.decoupled else "adam"
        engine.call(kernel, p.dtype, p, g, *state, *settings, self.count)

    def _amsgrad(self, p: Tensor, g: Tensor, m: Tensor, v: Tensor, largest: Tensor) -> None:
        (lr,), (eps,) = self.numbers("lr", p), self.numbers("eps", p)
        (decay,), (rest1, rest2) = self.numbers("weight_decay", p), self.corrections(p)
        if self.decoupled:
            p.mul_(1 - lr * decay)
        else:
            g = g + decay * p
        self.remember(g, m, v)
        largest.copy_(apply("maximum", largest, v))
        p.sub_(lr / rest1 * m / ((largest / rest2).sqrt() + eps))

    def remember(self, d: Tensor, m: Tensor, v: Tensor) -> None:
        """m <- b1 m + (1 - b1) d;  v <- b2 v + (1 - b2) d²"""
        (b1, b2), (rest1, rest2) = self.numbers("betas", m), self.rests("betas", m)
        m.copy_(b1 * m + rest1 * d)
        v.copy_(b2 * v + rest2 * d * d)

    def corrections(self, p: Tensor) -> tuple[Tensor, Tensor]:
        """1 - b1^t and 1 - b2^t, computed in float64, in p's dtype."""
        t = self.count.cast(float64) + 1
        one, two = [(1 - beta**t).cast(p.dtype) for beta in self.cells["betas"]]
        return one, two


@spelled
class AdamW(Adam):
    """Adam with decoupled weight decay (Loshchilov & Hutter 2019, "Decoupled weight decay
    regularization", algorithm 2)

    m <- b1 m + (1 - b1) g;  v <- b2 v + (1 - b2) g²
    p <- (1 - lr * weight_decay) p - lr * (m / (1 - b1^t)) / (sqrt(v / (1 - b2^t)) + eps)

    In Adam the decay is part of the gradient, and thus divided by its size: weights with large
    gradients hardly decay. Here all weights decay equally.
    """

    decoupled = True

    def __init__(
        self,
        params: Params,
        lr: float = 0.001,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.01,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, maximize=maximize)


@spelled
class NAdam(Adam):
    """Adam with Nesterov's momentum (Dozat 2016, "Incorporating Nesterov momentum into Adam")

    u_t = b1 (1 - 0.96^(t momentum_decay) / 2);  m and v as in Adam;  U_t = u_1 u_2 ... u_t
    p <- p - lr * ((1 - u_t) / (1 - U_t) d + u_t+1 / (1 - U_t+1) m) / (sqrt(v / (1 - b2^t)) + eps)
    """

    slots = ("m", "v", "product")
    limits: Mapping[str, Limit] = {**Adam.limits, "momentum_decay": RATE}

    def __init__(
        self,
        params: Params,
        lr: float = 0.002,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        momentum_decay: float = 0.004,
        *,
        maximize: bool = False,
    ) -> None:
        self.momentum_decay = momentum_decay
        super().__init__(params, lr, betas, eps, weight_decay, maximize=maximize)

    def start(self, name: str, p: Tensor) -> Tensor:
        if name == "product":
            return Tensor(1.0, dtype=float64, device="cpu")
        return super().start(name, p)

    def update(self, p: Tensor, g: Tensor, *state: Tensor) -> None:
        m, v, product = state
        (lr,), (eps,) = self.numbers("lr", p), self.numbers("eps", p)
        (decay,), (_, rest2) = self.numbers("weight_decay", p), self.corrections(p)
        t, beta, (slower,) = (
            self.count.cast(float64) + 1,
            self.cells["betas"][0],
            self.cells["momentum_decay"],
        )
        now, then = (beta * (1 - 0.5 * 0.96 ** (n * slower)) for n in (t, t + 1))
        product.mul_(now)
        by_d, by_m = (1 - now) / (1 - product), then / (1 - product * then)
        d = g + decay * p
        self.remember(d, m, v)
        ahead = by_d.cast(p.dtype) * d + by_m.cast(p.dtype) * m
        p.sub_(lr * ahead / ((v / rest2).sqrt() + eps))


@spelled
class RAdam(Adam):
    """Adam, rectified while v is still unreliable (Liu et al. 2020, "On the variance of the
    adaptive learning rate and beyond", algorithm 2)

    R = 2 / (1 - b2) - 1;  r = R - 2 t b2^t / (1 - b2^t);  m and v as in Adam
    p <- p - lr * m / (1 - b1^t) * c
    c = 1 where r <= 5, else
        sqrt((r - 4) (r - 2) R / ((R - 4) (R - 2) r)) * sqrt(1 - b2^t) / (sqrt(v) + eps)
    """

    def __init__(
        self,
        params: Params,
        lr: float = 0.001,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        *,
        maximize: bool = False,
    ) -> None:
        super().__init__(params, lr, betas, eps, weight_decay, maximize=maximize)

    def update(self, p: Tensor, g: Tensor, *state: Tensor) -> None:
        m, v = state
        (lr,), (eps,) = self.numbers("lr", p), self.numbers("eps", p)
        (decay,), (rest1, _) = self.numbers("weight_decay", p), self.corrections(p)
        t, b2 = self.count.cast(float64) + 1, self.cells["betas"][1]
        far, rest2 = 2 / (1 - b2) - 1, 1 - b2**t
        r = far - 2 * t * b2**t / rest2
        sure = apply("maximum", r, 5.0)  # below 5 the result is not used
        factor = (sure - 4) * (sure - 2) * far / ((far - 4) * (far - 2) * sure) * rest2
        self.remember(g + decay * p, m, v)
        scaled = factor.sqrt().cast(p.dtype) / (v.sqrt() + eps)
        p.sub_(lr / rest1 * m * apply("where", r > 5, scaled, 1.0))
