"""What the text of chapter 4 claims."""

from __future__ import annotations

import math
from typing import Any

from prose import Claim

NOWHERE = (math.inf, math.inf, -math.inf, math.inf)


def cared_for(names: dict[str, Any]) -> bool:
    """The functions with care give infinity or nan, where Python raises."""
    x = names["exp"](1e9), names["power"](10.0, 400.0), names["log"](0.0), names["power"](0.0, -1.0)
    nans = names["log"](-1.0), names["power"](-8.0, 1 / 3)
    return x == NOWHERE and all(map(math.isnan, nans))


def batched(names: dict[str, Any]) -> bool:
    x, y = names["zeros"]((5, 1, 2, 3)), names["zeros"]((4, 3, 6))
    return bool(names["BatchMatMul"](x, y).apply().shape == (5, 4, 2, 6))


CLAIMS: list[Claim] = [
    Claim(
        "By hand it is `[[2, 5], [5, 8]]`. The kernel gives `[[2, 4], [6, 8]]`, which is `a + a`",
        lambda names: names["out"].tolist() == [[2, 4], [6, 8]],
    ),
    Claim(
        "the rule that all processors follow (IEEE 754) is to give infinity or nan",
        cared_for,
        "next",
    ),
    Claim(
        "and True and False count as 1 and 0",
        lambda names: names["alike"]([names["a"], names["a"] > 2])[1].tolist() == [[0, 0], [1, 1]],
        "end",
    ),
    Claim(
        "Anything else is refused",
        lambda names: refused(names),
        "end",
    ),
    Claim(
        "x = 3, y = 4, and L grows by 10 for each 1 in z",
        lambda names: "x: 40.0\n" in names["PRINTED"] and "y: 30.0\n" in names["PRINTED"],
        "next",
    ),
    Claim(
        "Ours is 0 there, because `0 > 0` is False, and it is 0 in other libraries, too",
        lambda names: names["ReLU"](names["t"]).backward(names["t"] + 1)[0].tolist() == [0, 0, 3],
    ),
    Claim(
        "A bias of shape (1,) is added to a (2, 2) tensor",
        lambda names: (names["bias"].shape, names["z"].shape) == ((1,), (2, 2)),
        "next",
    ),
    Claim(
        "and the bias would be a (2, 2) tensor from then on",
        lambda names: (names["bias"] - 0.1 * names["gbias"]).shape == (2, 2),
    ),
    Claim(
        "the network has quietly got three new parameters",
        lambda names: names["gbias"].numel() == names["bias"].numel() + 3,
    ),
    Claim(
        "You have already written the function for that",
        lambda names: "1111" in names["PRINTED"],
        "next",
    ),
    Claim(
        "What was not selected has had no influence, so its gradient is 0",
        lambda names: "[[0.0, 5.0], [0.0, 6.0]]" in names["PRINTED"],
        "next",
    ),
    Claim(
        "`sum(axis=0)` of shape (2, 3) has shape (3,): each of its numbers comes from a list",
        lambda names: names["zeros"]((2, 3)).sum(axis=0).shape == (3,),
        "end",
    ),
    Claim(
        "If several are equal they share it",
        lambda names: "[[0.0, 5.0, 5.0]]" in names["PRINTED"],
        "next",
    ),
    Claim(
        "The same line works with classes and with operators",
        lambda names: len(set(names["PRINTED"].splitlines())) == 1,
        "next",
    ),
    Claim(
        "Let us ask our derivative and the world whether they agree",
        lambda names: list(names["gw"].values()) == [round(slope, 6) for slope in names["tried"]],
        "next",
    ),
    Claim(
        "so that (5, 1, 2, 3) and (4, 3, 6) give (5, 4, 2, 6)",
        batched,
        "next",
    ),
]


def refused(names: dict[str, Any]) -> bool:
    """Whether two dtypes that meet are an error, as long as nobody has said what comes out."""
    try:
        names["alike"]([names["zeros"]((1,), "int8"), names["zeros"]((1,), "float32")])
    except TypeError:
        return True
    return False


NOT_CLAIMS: dict[str, str] = {
    "how much L grows if that element grows by 1": "what a gradient is",
    "At 0, relu has a corner": "where the function is not differentiable",
    "a tensor that is 1 where x is as large as the maximum, and 0 elsewhere": "what is to be made",
    "Each of those elements is worth 1": "the input of the claim below",
    "whose z[..., i] is x[..., 0] + ... + x[..., i]": "the task of 04.s1, which is checked",
}
