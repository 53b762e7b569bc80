"""Optimizer steps: the parameter and its state are updated in place.

Each is written, and so rounded to its dtype, before the next formula reads it. The settings and the
step count are cells, operands of one number. d is g + weight_decay * p.
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
    """v <- momentum * v + d;  p <- p - lr * v"""
    lr, momentum, weight_decay = map(number, cells)
    d = decayed(g, p, weight_decay)
    write(v, [momentum * vi + di for vi, di in zip(read(v), d, strict=True)])
    write(p, [pi - lr * vi for pi, vi in zip(read(p), read(v), strict=True)])


def nesterov(p: Operand, g: Operand, v: Operand, *cells: Operand) -> None:
    """v <- momentum * v + d;  p <- p - lr * (d + momentum * v)"""
    lr, momentum, weight_decay = map(number, cells)
    d = decayed(g, p, weight_decay)
    write(v, [di + momentum * vi for di, vi in zip(d, read(v), strict=True)])
    steps = [di + momentum * vi for di, vi in zip(d, read(v), strict=True)]
    write(p, [pi - lr * step for pi, step in zip(read(p), steps, strict=True)])


def adam(p: Operand, g: Operand, m: Operand, v: Operand, *cells: Operand) -> None:
    """p <- p - s, s from the moments of d (Kingma and Ba 2015, algorithm 1)"""
    write(p, by_moments(decayed(g, p, number(cells[4])), p, m, v, 1, *cells))


def adamw(p: Operand, g: Operand, m: Operand, v: Operand, *cells: Operand) -> None:
    """p <- (1 - lr * weight_decay) * p - s, s from the moments of g (Loshchilov and Hutter 2019)"""
    kept = 1 - number(cells[0]) * number(cells[4])
    write(p, by_moments(read(g), p, m, v, kept, *cells))


def rmsprop(p: Operand, g: Operand, v: Operand, *cells: Operand) -> None:
    """v <- alpha * v + (1 - alpha) * d * d;  p <- p - lr * d / (sqrt(v) + eps)"""
    lr, alpha, eps, weight_decay = map(number, cells)
    d = decayed(g, p, weight_decay)
    write(v, [alpha * vi + (1 - alpha) * di * di for vi, di in zip(read(v), d, strict=True)])
    steps = [div(lr * di, sqrt(vi) + eps) for di, vi in zip(d, read(v), strict=True)]
    write(p, [pi - step for pi, step in zip(read(p), steps, strict=True)])


def adagrad(p: Operand, g: Operand, s: Operand, *cells: Operand) -> None:
    """s <- s + d * d;  p <- p - lr / (1 + count * lr_decay) * d / (sqrt(s) + eps)"""
    lr, lr_decay, eps, weight_decay, count = map(number, cells)
    rate = div(lr, 1 + count * lr_decay)
    d = decayed(g, p, weight_decay)
    write(s, [si + di * di for si, di in zip(read(s), d, strict=True)])
    steps = [div(rate * di, sqrt(si) + eps) for di, si in zip(d, read(s), strict=True)]
    write(p, [pi - step for pi, step in zip(read(p), steps, strict=True)])


def lion(p: Operand, g: Operand, m: Operand, *cells: Operand) -> None:
    """p <- (1 - lr * weight_decay) * p - lr * sign(u);  m <- beta2 * m + (1 - beta2) * g"""
    lr, beta1, beta2, weight_decay = map(number, cells)
    kept, pairs = 1 - lr * weight_decay, list(zip(read(m), read(g), strict=True))
    u = [beta1 * mi + (1 - beta1) * gi for mi, gi in pairs]
    write(p, [kept * pi - lr * sign(ui) for pi, ui in zip(read(p), u, strict=True)])
    write(m, [beta2 * mi + (1 - beta2) * gi for mi, gi in pairs])


def number(cell: Operand) -> float:
    return float(*read(cell))


def decayed(g: Operand, p: Operand, weight_decay: float) -> list[float]:
    return [gi + weight_decay * pi for gi, pi in zip(read(g), read(p), strict=True)]


def by_moments(d: list[float], p: Operand, m: Operand, v: Operand, kept: float, *cells: Operand
               ) -> list[float]:  # fmt: skip
    """t = count + 1;  m <- beta1 * m + (1 - beta1) * d;  v <- beta2 * v + (1 - beta2) * d * d;
    returns kept * p - s, s = lr / (1 - beta1**t) * m / (sqrt(v) / sqrt(1 - beta2**t) + eps)"""
    lr, beta1, beta2, eps, _, count = map(number, cells)
    lr = div(lr, 1 - power(beta1, count + 1.0))
    correction = sqrt(1 - power(beta2, count + 1.0))
    write(m, [beta1 * mi + (1 - beta1) * di for mi, di in zip(read(m), d, strict=True)])
    write(v, [beta2 * vi + (1 - beta2) * di * di for vi, di in zip(read(v), d, strict=True)])
    moments = zip(read(p), read(m), read(v), strict=True)
    return [kept * pi - div(lr * mi, div(sqrt(vi), correction) + eps) for pi, mi, vi in moments]


KERNELS: dict[str, Kernel] = {
    "descend": descend, "sgd": sgd, "nesterov": nesterov, "adam": adam, "adamw": adamw,
    "rmsprop": rmsprop, "adagrad": adagrad, "lion": lion,
}  # fmt: skip
