"""RMSprop, Adagrad, Adadelta: each number has its own rate, which follows from its gradients."""

from __future__ import annotations

from collections.abc import Mapping

from tutor._util.keyword_aliases import spelled
from tutor.core.engine import engine
from tutor.methods.tensor import Tensor
from tutor.optim.limits import EPS, MOMENTUM, RATE, SHARE, Limit, flag
from tutor.optim.optimizer import Optimizer, Params


@spelled
class RMSprop(Optimizer):
    """RMSprop (Tieleman & Hinton 2012, "Lecture 6.5"): steps divided by the gradients' recent size

    d = g + weight_decay * p;  v <- alpha * v + (1 - alpha) * d²
    p <- p - lr * d / (sqrt(v) + eps)

    `centered` (Graves 2013, "Generating sequences with recurrent neural networks") divides by
    sqrt(v - a²) + eps, with the mean a <- alpha * a + (1 - alpha) * d. With momentum, b <-
    momentum * b + (that quotient), and p <- p - lr * b.
    """

    limits: Mapping[str, Limit] = {
        "lr": RATE, "alpha": SHARE, "eps": EPS, "weight_decay": RATE, "momentum": MOMENTUM,
    }  # fmt: skip

    def __init__(
        self,
        params: Params,
        lr: float = 0.01,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        momentum: float = 0.0,
        centered: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        self.alpha, self.eps = alpha, eps
        self.weight_decay, self.momentum = weight_decay, momentum
        self.centered = flag("RMSprop with centered", centered)
        self.maximize = flag("RMSprop with maximize", maximize)
        super().__init__(params, lr)

    def kept(self) -> tuple[str, ...]:
        moves = any(group["momentum"] for group in self.param_groups)
        if not moves:
            self.narrow("momentum", "RMSprop(params, lr, momentum=0.9)")
        return ("v", *["mean"] * self.centered, *["velocity"] * moves)

    def update(self, p: Tensor, g: Tensor, *state: Tensor) -> None:
        cells = self.cells
        if len(state) == 1:
            settings = (*cells["lr"], *cells["alpha"], *cells["eps"], *cells["weight_decay"])
            return engine.call("rmsprop", p.dtype, p, g, *state, *settings)
        (lr,), (alpha,), (eps,) = (self.numbers(name, p) for name in ("lr", "alpha", "eps"))
        (decay,), (rest,) = self.numbers("weight_decay", p), self.rests("alpha", p)
        v, *others = state
        d = g + decay * p
        v.copy_(alpha * v + rest * d * d)
        size = v
        if self.centered:
            mean = others.pop(0)
            mean.copy_(alpha * mean + rest * d)
            size = v - mean * mean
        step = d / (size.sqrt() + eps)
        if others:
            (momentum,) = self.numbers("momentum", p)
            step = others[0].copy_(momentum * others[0] + step)
        p.sub_(lr * step)


@spelled
class Adagrad(Optimizer):
    """Adagrad (Duchi, Hazan & Singer 2011, "Adaptive subgradient methods for online learning"):
    rates that fall with the sum of all squared gradients so far

    d = g + weight_decay * p;  s <- s + d²   starting from initial_accumulator_value
    p <- p - lr / (1 + (t - 1) lr_decay) * d / (sqrt(s) + eps)   at step t = 1, 2, ...
    """

    slots = ("sum",)
    limits: Mapping[str, Limit] = {"lr": RATE, "lr_decay": RATE, "weight_decay": RATE, "eps": EPS}

    def __init__(
        self,
        params: Params,
        lr: float = 0.01,
        lr_decay: float = 0.0,
        weight_decay: float = 0.0,
        initial_accumulator_value: float = 0.0,
        eps: float = 1e-10,
        *,
        maximize: bool = False,
    ) -> None:
        self.lr_decay, self.weight_decay, self.eps = lr_decay, weight_decay, eps
        asked = f"Adagrad with initial_accumulator_value={initial_accumulator_value!r}"
        self.initial: float = RATE.checked(asked, initial_accumulator_value)
        self.maximize = flag("Adagrad with maximize", maximize)
        super().__init__(params, lr)

    def start(self, name: str, p: Tensor) -> Tensor:
        return p.detach().like(self.initial)

    def update(self, p: Tensor, g: Tensor, *state: Tensor) -> None:
        cells = self.cells
        settings = (*cells["lr"], *cells["lr_decay"], *cells["eps"], *cells["weight_decay"])
        engine.call("adagrad", p.dtype, p, g, *state, *settings, self.count)


@spelled
class Adadelta(Optimizer):
    """Adadelta (Zeiler 2012, "ADADELTA: an adaptive learning rate method"): steps scaled to the
    size of recent steps

    d = g + weight_decay * p;  v <- rho * v + (1 - rho) * d²
    s = sqrt(u + eps) / sqrt(v + eps) * d;  u <- rho * u + (1 - rho) * s²;  p <- p - lr * s
    """

    slots = ("v", "u")
    limits: Mapping[str, Limit] = {"lr": RATE, "rho": SHARE, "eps": EPS, "weight_decay": RATE}

    def __init__(
        self,
        params: Params,
        lr: float = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0.0,
        *,
        maximize: bool = False,
    ) -> None:
        self.rho, self.eps, self.weight_decay = rho, eps, weight_decay
        self.maximize = flag("Adadelta with maximize", maximize)
        super().__init__(params, lr)

    def update(self, p: Tensor, g: Tensor, *state: Tensor) -> None:
        v, u = state
        (lr,), (rho,), (eps,) = (self.numbers(name, p) for name in ("lr", "rho", "eps"))
        (decay,), (rest,) = self.numbers("weight_decay", p), self.rests("rho", p)
        d = g + decay * p
        v.copy_(rho * v + rest * d * d)
        step = (u + eps).sqrt() / (v + eps).sqrt() * d
        u.copy_(rho * u + rest * step * step)
        p.sub_(lr * step)
