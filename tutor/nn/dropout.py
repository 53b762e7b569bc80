"""Layers that set what passes them to 0 by chance, in training only."""

from __future__ import annotations

from tutor._util import checks
from tutor._util.keyword_aliases import spelled
from tutor.errors import ShapeError
from tutor.methods.tensor import Tensor
from tutor.nn import functional as F  # noqa: N812 - as everybody writes it
from tutor.nn.module import Module


class Chance(Module):
    """What has a probability p. `inplace` is understood and changes nothing: no input is ever
    overwritten."""

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        self.p = float(checks.number(f"{type(self).__name__}(p=...)", p, 0, 1, nan=False))


@spelled
class Dropout(Chance):
    """In training each number is 0 with probability p, else x / (1 - p), so that its mean stays; in
    eval() x itself (Srivastava et al. 2014). The draws are of the generator that
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
    """As Dropout, but of whole channels of x (N, C, L) (Tompson et al. 2015): neighbours in a
    channel are so alike that one would stand in for the other."""

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__(p, inplace)

    def forward(self, x: Tensor) -> Tensor:
        return F.dropout1d(x, self.p, self.training)


@spelled
class Dropout2d(Chance):
    """As Dropout, but of whole channels of x (N, C, H, W): see Dropout1d."""

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__(p, inplace)

    def forward(self, x: Tensor) -> Tensor:
        return F.dropout2d(x, self.p, self.training)
