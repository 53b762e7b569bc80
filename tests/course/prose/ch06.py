"""What the text of chapter 6 claims."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from prose import Claim

Names = dict[str, Any]


def without_hook(names: Names) -> tuple[float, float]:
    """The gradients of u * (u + a), u = a * b, at a = 2 and b = 3."""
    a = names["Tensor"](2.0, requires_grad=True)
    b = names["Tensor"](3.0, requires_grad=True)
    u = a * b
    (u * (u + a)).backward()
    return a.grad.item(), b.grad.item()


def sigmoid_slope(names: Names) -> bool:
    """x · s, differentiated by measuring, is s + x · s · (1 - s)."""
    import math

    for x in (-2.0, 0.3, 4.0):
        s = 1 / (1 + math.exp(-x))
        above, below = ((v / (1 + math.exp(-v))) for v in (x + 1e-6, x - 1e-6))
        if abs((above - below) / 2e-6 - (s + x * s * (1 - s))) > 1e-6:
            return False
    return "Swish" in names


def fades(names: Names) -> bool:
    """With small weights: smaller by about the same factor at each layer further back."""
    sizes = names["sizes"]["weights x 0.5"]
    factors = [a / b for a, b in pairwise(sizes[:21])]
    return max(factors) < 0.7 and max(factors) < 1.5 * min(factors)


CLAIMS = [
    Claim(
        "a little less than four hours, with a place to stop every half hour or so",
        lambda names: 215 <= names["ABOUT"]["minutes"] < 240,
    ),
    Claim(
        "There is no graph to walk, because nobody wished for one",
        lambda names: "GraphError" in names["PRINTED"] and "requires grad" in names["PRINTED"],
        when="next",
    ),
    Claim(
        "Of three results and three inputs it would be nine numbers",
        lambda names: (
            "GraphError" in names["PRINTED"] and names["x"].grad.tolist() == [2.0, 0.0, 0.0]
        ),
        when="next",
    ),
    Claim(
        "An integer cannot move a little",
        lambda names: "DTypeError" in names["PRINTED"],
        when="next",
    ),
    Claim(
        "the result of `x > 0` is a bool, and its slope is 0 or not there at all",
        lambda names: (names["Tensor"]([1.0], requires_grad=True) > 0).buf.dtype == "bool",
    ),
    Claim(
        "The memory is shared, and only the history is forgotten",
        lambda names: names["y"].tolist() == [7.0, 7.0] and names["y"].op is not None,
    ),
    Claim(
        "The same number. But the recorded one hangs on the old `w`",
        lambda names: (
            names["recorded"].item() == names["fresh"].item()
            and names["w"] in names["engine"].order(names["recorded"])
            and names["fresh"].op is None
        ),
    ),
    Claim(
        "After 50 steps, how many tensors hang behind `total`",
        lambda names: (
            len(names["engine"].order(names["with_history"])) == 201
            and len(names["engine"].order(names["without"])) == 1
        ),
        when="next",
    ),
    Claim(
        "The same number. But `total` was made from `loss`",
        lambda names: names["with_history"].item() == names["without"].item(),
    ),
    Claim(
        "every step of the whole training stays",
        lambda names: (
            names["kept"]["total + loss"][-1] > 10 * names["kept"]["total + loss"][2]
            and names["kept"]["total + loss.detach()"][-1]
            < 2 * max(1.0, names["kept"]["total + loss.detach()"][2])
        ),
        when="next",
    ),
    Claim(
        "Because it is the largest thing in memory, and after one walk nobody needs it",
        lambda names: (
            names["freed"] < names["forward"] / 4 and names["retained"] > 0.9 * names["forward"]
        ),
        when="next",
    ),
    Claim(
        "eight times `* 0.1` and `exp`, on 100,000 numbers of four bytes. Of each pair only what "
        "`exp` gave is kept: its slope is its own result, and that of `* 0.1` is the number 0.1.",
        lambda names: 8 * 390 < names["forward"] < 10 * 390,
        when="next",
    ),
    Claim(
        "The graph shrinks behind the walker",
        lambda names: (
            len(names["used"]) == 8
            and [kib for _, kib in names["used"]]
            == sorted((k for _, k in names["used"]), reverse=True)
        ),
        when="next",
    ),
    Claim(
        "the first round has freed its graph",
        lambda names: (
            "round 1" in names["PRINTED"]
            and "round 2" not in names["PRINTED"]
            and "GraphError" in names["PRINTED"]
        ),
        when="next",
    ),
    Claim(
        "so one walk gives 4", lambda names: names["PRINTED"].count("once    4") == 2, when="next"
    ),
    Claim(
        "where do the 4 too many come from",
        lambda names: names["twice"] == {"backward": 8.0, "walk_keeping_all": 12.0},
    ),
    Claim(
        "It is what makes a second walk right",
        lambda names: names["x"].grad.tolist() == [8.0] and names["u"].grad.tolist() == [4.0],
        when="next",
    ),
    Claim(
        "the gradient of y is 2 · 6 · 3 = 36",
        lambda names: (names["w"].op is None) and abs(_slope_of_square(names) - 36) < 1e-3,
        when="next",
    ),
    Claim(
        "No error, and a number that is the gradient of nothing",
        lambda names: names["w"].grad.item() == 600.0,
    ),
    Claim(
        "All writing goes through `buf.write(...)` or `buf[i] = ...`",
        lambda names: names["version"](names["t"].buf) == names["before"] + 1,
        when="next",
    ),
    Claim(
        "tutor says which op needed the value, and in which line it was changed",
        lambda names: "through Mul" in names["PRINTED"] and "line 4" in names["PRINTED"],
        when="next",
    ),
    Claim(
        "e^x is its own slope",
        lambda names: (
            names["tutor"].ops.functions.Exp.saves == ("out",)
            and names["tutor"].ops.elementwise.Mul.saves == ("x", "y")
            and not names["tutor"].ops.elementwise.Add.saves
        ),
    ),
    Claim(
        "a branch without a wish is pruned as it is computed",
        lambda names: names["in_use"][False] < names["in_use"][True] / 8,
        when="next",
    ),
    Claim(
        "Inside `no_grad()` the same change is allowed",
        lambda names: "GraphError" in names["PRINTED"] and names["w"].tolist() == [5.0, 3.0],
        when="next",
    ),
    Claim(
        "so it is a *leaf*: the gradient ends there, and the weight is never trained",
        lambda names: names["lost"] == {"transpose_with_flag": True, "<lambda>": False},
    ),
    Claim(
        "Whole chains of them must pass gradcheck",
        lambda names: len(names["chain_errors"]) == 4 and max(names["chain_errors"]) < 1e-6,
        when="next",
    ),
    Claim(
        "`Add.backward` returns the same object twice",
        lambda names: names["same"] is True,
        when="next",
    ),
    Claim(
        "Halving both in turn would have quartered both",
        lambda names: names["a"].grad.tolist() == names["b"].grad.tolist() == [4.0, 4.0],
    ),
    Claim(
        "Without the second hook it would have been 48 and 28",
        lambda names: without_hook(names) == (48.0, 28.0),
    ),
    Claim(
        "What went through `v` counts a hundred times",
        lambda names: (
            (names["a"].grad.item(), names["b"].grad.item())
            == ((8 + 600) * 3.0 + 600.0, (8 + 600) * 2.0)
        ),
    ),
    Claim(
        "Thirty layers, each tanh of a sum: how large is the gradient when it gets to layer 0",
        lambda names: all(len(s) == 30 and s[0] > 0 for s in names["sizes"].values()),
        when="next",
    ),
    Claim("With small weights it fades by a constant factor per layer", fades),
    Claim(
        "Look where `second` is zero: there `first` is highest",
        lambda names: (
            abs(names["lines"]["second"].tolist()[30]) < 1e-6
            and max(range(61), key=names["lines"]["first"].tolist().__getitem__) == 30
        ),
    ),
    Claim(
        "The book says tanh'' = -2 tanh (1 - tanh²)",
        lambda names: max(names["differences"]) < 1e-5,
        when="next",
    ),
    Claim("costs only two walks", lambda names: _walks(names) == 2, when="next"),
    Claim("its derivative is s + x · s · (1 - s)", sigmoid_slope, when="next"),
    Claim(
        "One line of `gradcheck` belongs behind every op that anybody writes",
        lambda names: names["swish_error"] < 1e-7,
        when="next",
    ),
    Claim(
        "Zeros do not move, so the slope is 0, and 2 was claimed",
        lambda names: abs(names["lie"] - 2.0) < 1e-9,
    ),
    Claim(
        "the Swish of somebody who was in a hurry",
        lambda names: "no error" not in names["PRINTED"],
        when="next",
    ),
]

NOT_CLAIMS = {
    "**Error 1.** PyTorch: *element 0 of tensors": "the number of the error, and PyTorch's words",
    "**Error 2.**": "the number of the error",
    "**Error 3.**": "the number of the error",
    "**Error 4**": "the number of the error",
    "**Error 5.**": "the number of the error",
    "**Error 6.**": "the number of the error",
    "is at version 1; expected version 0 instead": "PyTorch's words",
    "Take a = 3w, y = a², w = 2": "the input of the next cell",
    "sigmoid(x) = 1 / (1 + e^-x)": "what the name means",
    "| element 0 of tensors": "PyTorch's words",
}


def _slope_of_square(names: Names) -> float:
    def y(w: float) -> float:
        a = names["Tensor"]([w], dtype="float64") * 3
        return float((a * a).sum().item())

    return (y(2.0 + 1e-5) - y(2.0 - 1e-5)) / 2e-5


def _walks(names: Names) -> int:
    """How often hvp asks the engine to walk."""
    engine, counted = names["engine"], []
    walk = type(engine).backward

    def backward(self: Any, root: Any, create_graph: bool = False) -> None:
        counted.append(root)
        walk(self, root, create_graph)

    type(engine).backward = backward
    try:
        x = names["Tensor"]([1.0, 2.0], requires_grad=True)
        names["hvp"](lambda x: (x * x * x).sum(), x, names["Tensor"]([1.0, 1.0]))
    finally:
        type(engine).backward = walk
    return len(counted)
