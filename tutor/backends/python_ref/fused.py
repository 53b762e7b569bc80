"""Softmax and cross entropy: each is one kernel instead of several."""

from __future__ import annotations

from tutor.backends.python_ref.elementwise import exp, log
from tutor.backends.python_ref.movement import checked
from tutor.backends.python_ref.reduce import total
from tutor.backends.python_ref.walk import Kernel, Operand, groups, last, read, write


def softmax_of(x: list[float]) -> list[float]:
    """e**(x - max) / sum e**(x - max)"""
    largest = max(x, default=0.0)
    powers = [exp(value - largest) for value in x]
    norm = total(powers)
    return [power / norm for power in powers]


def log_softmax_of(x: list[float]) -> list[float]:
    """x - max - ln sum e**(x - max)"""
    largest = max(x, default=0.0)
    log_norm = log(total([exp(value - largest) for value in x]))
    return [value - largest - log_norm for value in x]


def softmax(out: Operand, x: Operand, *, axis: int | tuple[int, ...]) -> None:
    """z = e**(x - max) / sum e**(x - max) along axis"""
    write(last(out, axis), [z for group in groups(x, axis) for z in softmax_of(group)])


def log_softmax(out: Operand, x: Operand, *, axis: int | tuple[int, ...]) -> None:
    """z = x - max - ln sum e**(x - max) along axis"""
    write(last(out, axis), [z for group in groups(x, axis) for z in log_softmax_of(group)])


def cross_entropy(out: Operand, x: Operand, target: Operand, *, scale: float) -> None:
    """l = ln sum_j e**x_j - x_t for each row; z = scale * l, or scale * sum l where out is 0-d"""
    targets = checked("cross_entropy", target, x, len(x.shape) - 1, low=0)
    rows = zip(groups(x, -1), targets, strict=True)
    losses = [-log_softmax_of(row)[t] for row, t in rows]
    write(out, [scale * loss for loss in (losses if out.shape else [total(losses)])])


def cross_entropy_grad(
    out: Operand, x: Operand, target: Operand, g: Operand, *, scale: float
) -> None:
    """z_j = scale * g * (softmax(x)_j - [j = t]) for each row"""
    targets = checked("cross_entropy_grad", target, x, len(x.shape) - 1, low=0)
    write(
        out,
        [
            scale * upstream * (p - (j == t))
            for row, t, upstream in zip(groups(x, -1), targets, read(g), strict=True)
            for j, p in enumerate(softmax_of(row))
        ],
    )


KERNELS: dict[str, Kernel] = {
    "softmax": softmax,
    "log_softmax": log_softmax,
    "cross_entropy": cross_entropy,
    "cross_entropy_grad": cross_entropy_grad,
}
