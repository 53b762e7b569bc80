"""Dropout: zeroes random numbers, or whole channels, in training, so that no unit can rely on
another."""

from __future__ import annotations

from tutor._util import checks
from tutor._util.keyword_aliases import spelled
from tutor.core.engine import apply
from tutor.errors import DomainError, DTypeError, ShapeError
from tutor.methods.tensor import Tensor
from tutor.nn.module import Module


@spelled
def dropout(input: Tensor, p: float = 0.5, training: bool = True) -> Tensor:
    """Each number is 0 with probability p, else x / (1 - p), which preserves the mean (Srivastava,
    Hinton, Krizhevsky, Sutskever and Salakhutdinov 2014); returns x itself if not training

    The draws come from the generator that `tutor.manual_seed` seeds. DomainError for a p outside
    [0, 1].
    """
    x: Tensor = checks.tensor("dropout(input)", input)
    chance = float(checks.number("dropout(p=...)", p, 0, 1, nan=False))
    if not x.dtype.is_float:
        raise DTypeError(
            f"dropout of {x.dtype.name}", "x / (1 - p) is a fraction", "cast it to a float dtype"
        )
    if not training or chance == 0:
        return x
    found: Tensor
    # With p = 1 everything becomes 0, even inf and nan.
    found = apply("where", True, 0.0, x) if chance == 1 else apply("dropout", x, p=chance)
    return found


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


# ---- layers --------------------------------------------------------------------------------------


@spelled
class Chance(Module):
    """A layer with a probability p. `inplace` is accepted and changes nothing: no input is ever
    overwritten."""

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        self.p = float(checks.number(f"{type(self).__name__}(p=...)", p, 0, 1, nan=False))


class Dropout(Chance):
    """In training each number is 0 with probability p, else x / (1 - p), which preserves its mean;
    in eval() it is x (Srivastava et al. 2014). The random numbers come from the generator that
    `tutor.manual_seed` sets."""

    def forward(self, x: Tensor) -> Tensor:
        return dropout(x, self.p, self.training)


class Dropout1d(Chance):
    """Like Dropout, but for whole channels of x (N, C, L) (Tompson et al. 2015): neighbours in a
    channel are so alike that one would replace the other."""

    def forward(self, x: Tensor) -> Tensor:
        return dropout1d(x, self.p, self.training)


class Dropout2d(Chance):
    """Like Dropout, but for whole channels of x (N, C, H, W): see Dropout1d."""

    def forward(self, x: Tensor) -> Tensor:
        return dropout2d(x, self.p, self.training)
