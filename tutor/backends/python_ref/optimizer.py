"""Optimizer steps: the parameter and its state are updated in place.

Each is written, and so rounded to its dtype, before the next formula reads it.
"""

from __future__ import annotations

from tutor.backends.python_ref.elementwise import div, sqrt
from tutor.backends.python_ref.walk import Kernel, Operand, read, write


def descend(p: Operand, g: Operand, *, lr: float, weight_decay: float) -> None:
    """p <- p - lr * (g + weight_decay * p)"""
    pairs = zip(read(p), read(g), strict=True)
    write(p, [pi - lr * (gi + weight_decay * pi) for pi, gi in pairs])


def sgd(
    p: Operand, g: Operand, v: Operand, *, lr: float, momentum: float, weight_decay: float
) -> None:
    """d = g + weight_decay * p;  v <- momentum * v + d;  p <- p - lr * v"""
    d = [gi + weight_decay * pi for gi, pi in zip(read(g), read(p), strict=True)]
    write(v, [momentum * vi + di for vi, di in zip(read(v), d, strict=True)])
    write(p, [pi - lr * vi for pi, vi in zip(read(p), read(v), strict=True)])


def adam(
    p: Operand,
    g: Operand,
    m: Operand,
    v: Operand,
    *,
    lr: float,
    beta1: float,
    beta2: float,
    eps: float,
    correction: float,
    weight_decay: float,
) -> None:
    """d = g + weight_decay * p;  m <- beta1 * m + (1 - beta1) * d;
    v <- beta2 * v + (1 - beta2) * d * d;  p <- p - lr * m / (sqrt(v) / correction + eps)
    (Kingma and Ba 2015, "Adam: a method for stochastic optimization")
    """
    d = [gi + weight_decay * pi for gi, pi in zip(read(g), read(p), strict=True)]
    write(m, [beta1 * mi + (1 - beta1) * di for mi, di in zip(read(m), d, strict=True)])
    write(v, [beta2 * vi + (1 - beta2) * di * di for vi, di in zip(read(v), d, strict=True)])
    write(
        p,
        [
            pi - div(lr * mi, sqrt(vi) / correction + eps)
            for pi, mi, vi in zip(read(p), read(m), read(v), strict=True)
        ],
    )


KERNELS: dict[str, Kernel] = {"descend": descend, "sgd": sgd, "adam": adam}
