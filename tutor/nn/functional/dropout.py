"""Dropout: zeroes random numbers, so that no unit can rely on another."""

from __future__ import annotations

from tutor._util import checks
from tutor._util.keyword_aliases import spelled
from tutor.core.engine import apply
from tutor.errors import DTypeError
from tutor.methods.tensor import Tensor


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
