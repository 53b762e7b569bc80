"""What the text of chapter 0 claims."""

import itertools
from typing import Any

from prose import Claim


def loss(x: float) -> float:
    return (x - 3.0) ** 2


def slows_down(names: dict[str, Any]) -> bool:
    """Whether each step of the path is smaller than the one before it, and none is back."""
    path = names["path"]
    steps = [after - before for before, after in itertools.pairwise(path)]
    return all(0 < later < step for step, later in itertools.pairwise(steps))


CLAIMS = [
    Claim(
        "It is 0\nwhere all is well, and grows on both sides",
        lambda names: loss(3.0) == 0 and loss(2.0) > 0 < loss(4.0),
    ),
    Claim("The loss is 9 at `x = 0`", lambda names: names["loss"].item() == 9 == loss(0.0)),
    Claim("If `x` moves towards 3, the loss falls", lambda names: loss(0.1) < loss(0.0)),
    Claim(
        "Move `x` by 0.001, and see by how much the loss changes for\nevery 1 that `x` does",
        lambda names: abs(names["change"] / 0.001 - -6.0) < 0.01,
        when="next",
    ),
    Claim("Nearly the same", lambda names: 0 < abs(names["change"] / 0.001 - -6.0) < 0.01),
    Claim(
        "`x` runs at first, and then creeps",
        lambda names: slows_down(names) and len(names["path"]) == 21,
    ),
    Claim("near 3 the curve is flat", lambda names: abs(names["here"].grad.item()) < 0.1),
    Claim("told it about 3, except", lambda names: abs(names["x"] - 3) < 0.05),
    Claim(
        "Let `x` find -4 instead of 3",
        lambda names: abs(names["reached"] + 4) < 0.1,
        when="end",
    ),
    Claim(
        "many thousands\nof them",
        # The network of chapter 8 has at least this many.
        lambda names: names["Tensor"].zeros(784, 32).numel() > 20_000,
    ),
]
NOT_CLAIMS = {
    "We want `x` to become 3": "what is wanted, and no result",
    "the square of its distance from 3": "the definition of the loss",
}
