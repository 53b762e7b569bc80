"""Dropout layers: in training only, they set random elements to 0."""

from __future__ import annotations

from tutor._util import checks
from tutor._util.keyword_aliases import spelled
from tutor.errors import ShapeError
from tutor.methods.tensor import Tensor
from tutor.nn import functional as F  # noqa: N812 - as everybody writes it
from tutor.nn.module import Module


class Chance(Module):
    """A layer with a probability p. `inplace` is accepted and changes nothing: no input is ever
    overwritten."""

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        self.p = float(checks.number(f"{type(self).__name__}(p=...)", p, 0, 1, nan=False))


@spelled
class Dropout(Chance):
    """In training each number is 0 with probability p, else x / (1 - p), which preserves its mean;
    in eval() it is x (Srivastava et al. 2014). The random numbers come from the generator that
    `tutor.manual_seed` sets."""

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__(p, inplace)

    def forward(self, x: Tensor) -> Tensor:
        return F.dropout(x, self.p, self.training)


def channels(name: str, x: Tensor, dims: int) -> Tensor:
    """x (C, *S) or (N, C, *S), with dims axes S."""
    if checks.tensor(name, x).ndim not in (dims + 1, dims + 2):
        raise ShapeError(
            f"{name} of shape {x.shape}", f"{x.ndim} axes", f"give (N, C, ...) with {dims} axes "
            "behind the channels, or the same without N"
        )  # fmt: skip
    return x


@spelled
class Dropout1d(Chance):
    """Like Dropout, but for whole channels of x (N, C, L) (Tompson et al. 2015): neighbours in a
    channel are so alike that one would replace the other."""

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__(p, inplace)

    def forward(self, x: Tensor) -> Tensor:
        return F.dropout1d(x, self.p, self.training)


@spelled
class Dropout2d(Chance):
    """Like Dropout, but for whole channels of x (N, C, H, W): see Dropout1d."""

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__(p, inplace)

    def forward(self, x: Tensor) -> Tensor:
        return F.dropout2d(x, self.p, self.training)
