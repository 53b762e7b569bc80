"""Functions that treat each channel of x (N, C, *S) as a whole."""

from __future__ import annotations

import math

from tutor._util import checks
from tutor._util.keyword_aliases import spelled
from tutor._util.typing import Number
from tutor.core.engine.grad_mode import no_grad
from tutor.errors import DomainError, DTypeError, ShapeError
from tutor.methods.tensor import Tensor
from tutor.nn.functional.dropout import dropout
from tutor.nn.functional.norms import batch_norm, group_norm


@spelled
def instance_norm(
    input: Tensor, running_mean: Tensor | None = None, running_var: Tensor | None = None,
    weight: Tensor | None = None, bias: Tensor | None = None, use_input_stats: bool = True,
    momentum: Number | Tensor = 0.1, eps: float = 1e-5,
) -> Tensor:  # fmt: skip
    """(x - mean) / sqrt(var + eps) * weight + bias, mean and variance over the places of each
    channel of each example of x (N, C, *S); weight, bias and the running statistics are (C)
    (Ulyanov, Vedaldi & Lempitsky 2016)

    With use_input_stats the running statistics, if given, move towards the means and (unbiased,
    n - 1) variances, averaged over the examples; without it they are used to normalize. ShapeError
    for channels of a single number.
    """
    x = checks.at_least("instance_norm", input, 3)
    if not x.dtype.is_float:
        raise DTypeError(f"instance_norm of {x.dtype.name}", "no float", "cast it to float32")
    if not use_input_stats:
        return batch_norm(x, running_mean, running_var, weight, bias, False, 0.0, eps)
    n = math.prod(x.shape[2:])
    if n < 2 and x.numel():
        raise ShapeError(
            f"instance_norm of shape {x.shape}", "one number for each channel, which has no "
            "variance", "give more places"
        )  # fmt: skip
    found = group_norm(x, max(x.shape[1], 1), weight, bias, eps)
    axes, seen = tuple(range(2, x.ndim)), x.detach()
    if running_mean is not None:
        move(running_mean, seen.mean(axes).mean(0), momentum)
    if running_var is not None:
        move(running_var, seen.var(axes, correction=1).mean(0), momentum)
    return found


@no_grad
def move(running: Tensor, new: Tensor, momentum: Number | Tensor) -> None:
    if checks.tensor("instance_norm(running_...)", running).shape != new.shape:
        raise ShapeError(
            f"instance_norm of {new.shape[0]} channels", f"running numbers {running.shape}",
            "give one for each channel",
        )  # fmt: skip
    if not isinstance(momentum, Tensor):
        checks.number("instance_norm(momentum=...)", momentum)
    running.assign(running + (new - running) * momentum)


@spelled
def dropout1d(input: Tensor, p: float = 0.5, training: bool = True) -> Tensor:
    """Zeroes each channel of x (N, C, L) or (C, L) with probability p; the rest is x / (1 - p)"""
    return whole_channels("dropout1d", input, p, training, 1)


@spelled
def dropout2d(input: Tensor, p: float = 0.5, training: bool = True) -> Tensor:
    """Zeroes each channel of x (N, C, H, W) or (C, H, W) with probability p, else x / (1 - p)"""
    return whole_channels("dropout2d", input, p, training, 2)


def whole_channels(name: str, input: Tensor, p: float, training: bool, dims: int) -> Tensor:
    x: Tensor = checks.tensor(f"{name}(input)", input)
    checks.number(f"{name}(p=...)", p, 0, 1, nan=False)
    if x.ndim not in (dims + 1, dims + 2):
        raise ShapeError(
            f"{name} of shape {x.shape}", f"{x.ndim} axes", f"give (N, C, ...) with {dims} axes "
            "behind the channels, or the same without N"
        )  # fmt: skip
    if not training or p == 0:
        return x
    if not x.dtype.is_float:
        raise DomainError(f"{name} of {x.dtype.name}", "the result is no whole number",
                          "cast it to a float dtype")  # fmt: skip
    channels = x.shape[: x.ndim - dims]
    kept = dropout(Tensor.ones(*channels, *[1] * dims, dtype=x.dtype, device=x.device), p, True)
    return x * kept
