"""Optimizer steps: the parameter and its state are updated in place.

Each is written, and so rounded to its dtype, before the next formula reads it. The settings and the
count of steps are cells, operands of one number.
"""

from __future__ import annotations

from tutor.backends.python_ref.elementwise import div, power, sign, sqrt
from tutor.backends.python_ref.walk import Kernel, Operand, read, write


def descend(p: Operand, g: Operand, *cells: Operand) -> None:
    """p <- p - lr * (g + weight_decay * p)"""
    lr, weight_decay = map(number, cells)
    pairs = zip(read(p), read(g), strict=True)
    write(p, [pi - lr * (gi + weight_decay * pi) for pi, gi in pairs])


def sgd(p: Operand, g: Operand, v: Operand, *cells: Operand) -> None:
    """d = g + weight_decay * p;  v <- momentum * v + d;  p <- p - lr * v"""
    lr, momentum, weight_decay = map(number, cells)
    d = [gi + weight_decay * pi for gi, pi in zip(read(g), read(p), strict=True)]
    write(v, [momentum * vi + di for vi, di in zip(read(v), d, strict=True)])
    write(p, [pi - lr * vi for pi, vi in zip(read(p), read(v), strict=True)])


def adam(p: Operand, g: Operand, m: Operand, v: Operand, *cells: Operand) -> None:
    """t = count + 1;  d = g + weight_decay * p;  m <- beta1 * m + (1 - beta1) * d;
    v <- beta2 * v + (1 - beta2) * d * d;
    p <- p - lr / (1 - beta1**t) * m / (sqrt(v) / sqrt(1 - beta2**t) + eps)
    (Kingma and Ba 2015, "Adam: a method for stochastic optimization")
    """
    lr, beta1, beta2, eps, weight_decay, count = map(number, cells)
    lr = div(lr, 1 - power(beta1, count + 1.0))
    correction = sqrt(1 - power(beta2, count + 1.0))
    d = [gi + weight_decay * pi for gi, pi in zip(read(g), read(p), strict=True)]
    write(m, [beta1 * mi + (1 - beta1) * di for mi, di in zip(read(m), d, strict=True)])
    write(v, [beta2 * vi + (1 - beta2) * di * di for vi, di in zip(read(v), d, strict=True)])
    moments = zip(read(m), read(v), strict=True)
    steps = [div(lr * mi, div(sqrt(vi), correction) + eps) for mi, vi in moments]
    write(p, [pi - step for pi, step in zip(read(p), steps, strict=True)])


def nesterov(p: Operand, g: Operand, v: Operand, *cells: Operand) -> None:
    """d = g + weight_decay * p;  v <- momentum * v + d;  p <- p - lr * (d + momentum * v)"""
    lr, momentum, weight_decay = map(number, cells)
    d = [gi + weight_decay * pi for gi, pi in zip(read(g), read(p), strict=True)]
    write(v, [momentum * vi + di for vi, di in zip(read(v), d, strict=True)])
    steps = [di + momentum * vi for di, vi in zip(d, read(v), strict=True)]
    write(p, [pi - lr * step for pi, step in zip(read(p), steps, strict=True)])


def adamw(p: Operand, g: Operand, m: Operand, v: Operand, *cells: Operand) -> None:
    """p <- (1 - lr * weight_decay) * p, then adam's step by g alone
    (Loshchilov and Hutter 2019, "Decoupled weight decay regularization")
    """
    lr, beta1, beta2, eps, weight_decay, count = map(number, cells)
    kept, lr = 1 - lr * weight_decay, div(lr, 1 - power(beta1, count + 1.0))
    correction = sqrt(1 - power(beta2, count + 1.0))
    write(m, [beta1 * mi + (1 - beta1) * gi for mi, gi in zip(read(m), read(g), strict=True)])
    write(v, [beta2 * vi + (1 - beta2) * gi * gi for vi, gi in zip(read(v), read(g), strict=True)])
    moments = zip(read(m), read(v), strict=True)
    steps = [div(lr * mi, div(sqrt(vi), correction) + eps) for mi, vi in moments]
    write(p, [kept * pi - step for pi, step in zip(read(p), steps, strict=True)])


def rmsprop(p: Operand, g: Operand, v: Operand, *cells: Operand) -> None:
    """d = g + weight_decay * p;  v <- alpha * v + (1 - alpha) * d * d;
    p <- p - lr * d / (sqrt(v) + eps)
    """
    lr, alpha, eps, weight_decay = map(number, cells)
    d = [gi + weight_decay * pi for gi, pi in zip(read(g), read(p), strict=True)]
    write(v, [alpha * vi + (1 - alpha) * di * di for vi, di in zip(read(v), d, strict=True)])
    steps = [div(lr * di, sqrt(vi) + eps) for di, vi in zip(d, read(v), strict=True)]
    write(p, [pi - step for pi, step in zip(read(p), steps, strict=True)])


def adagrad(p: Operand, g: Operand, s: Operand, *cells: Operand) -> None:
    """d = g + weight_decay * p;  s <- s + d * d;
    p <- p - lr / (1 + count * lr_decay) * d / (sqrt(s) + eps)
    """
    lr, lr_decay, eps, weight_decay, count = map(number, cells)
    rate = div(lr, 1 + count * lr_decay)
    d = [gi + weight_decay * pi for gi, pi in zip(read(g), read(p), strict=True)]
    write(s, [si + di * di for si, di in zip(read(s), d, strict=True)])
    steps = [div(rate * di, sqrt(si) + eps) for di, si in zip(d, read(s), strict=True)]
    write(p, [pi - step for pi, step in zip(read(p), steps, strict=True)])


def lion(p: Operand, g: Operand, m: Operand, *cells: Operand) -> None:
    """p <- (1 - lr * weight_decay) * p - lr * sign(beta1 * m + (1 - beta1) * g);
    m <- beta2 * m + (1 - beta2) * g
    """
    lr, beta1, beta2, weight_decay = map(number, cells)
    kept, pairs = 1 - lr * weight_decay, list(zip(read(m), read(g), strict=True))
    steps = [lr * sign(beta1 * mi + (1 - beta1) * gi) for mi, gi in pairs]
    write(p, [kept * pi - step for pi, step in zip(read(p), steps, strict=True)])
    write(m, [beta2 * mi + (1 - beta2) * gi for mi, gi in pairs])


def number(cell: Operand) -> float:
    return float(*read(cell))


KERNELS: dict[str, Kernel] = {
    "descend": descend, "sgd": sgd, "nesterov": nesterov, "adam": adam, "adamw": adamw,
    "rmsprop": rmsprop, "adagrad": adagrad, "lion": lion,
}  # fmt: skip
