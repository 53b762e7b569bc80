"""What the text of chapter 5 claims."""

from __future__ import annotations

import math
from typing import Any

from prose import Claim

Names = dict[str, Any]


def near(a: float, b: float, by: float = 1e-3) -> bool:
    return abs(a - b) <= by


def naive_at(names: Names, f: Any, number: float) -> float:
    """What the chapter's naive walk gives."""
    return float(names["by_naive"](f, number))


def fresh(names: Names) -> tuple[Any, Any, Any]:
    """a and b of exercise 05.2, and u = a * b."""
    a = names["Tensor"](2.0, requires_grad=True)
    b = names["Tensor"](3.0, requires_grad=True)
    return a, b, a * b


def gradient_at_u(names: Names) -> dict[str, float]:
    """d w / d u on each way: as the first factor of w = u * v, and by way of v = u + a."""
    a, _, u = fresh(names)
    v = u + a
    by_w, at_v = names["Mul"](u, v).backward(names["Tensor"](1.0))
    by_v, _ = names["Add"](u, a).backward(at_v)
    return {"by w": by_w.item(), "by v": by_v.item(), "v": v.item(), "u": u.item()}


def deep_sums(names: Names) -> bool:
    """One word added after the other makes one op a word."""
    _, y = names["chain"](2_000)
    return len(names["topological"](y)) - 1 == 2_000 if "topological" in names else _ops(y) == 2_000


def _ops(t: Any) -> int:
    count = 0
    while t.op:
        count, t = count + 1, t.op.inputs[0]
    return count


CLAIMS = [
    Claim("in six pieces", lambda names: _pieces() == 6),
    Claim(
        "about four and a half hours, with a place to stop every half hour or so",
        lambda names: 255 <= names["ABOUT"]["minutes"] <= 285,
    ),
    Claim(
        "`mul.backward(g)` takes how fast the end result moves with this op's *output*, and returns"
        " how fast it moves with each *input*: one gradient per input",
        lambda names: (
            len(
                names["Mul"](names["Tensor"](1.0), names["Tensor"](2.0)).backward(
                    names["Tensor"](1.0)
                )
            )
            == 2
        ),
    ),
    Claim("So y = 4", lambda names: names["f"](2.0, -3.0, 10.0) == 4.0, when="next"),
    Claim(
        "`a` counts -3 times, because `b`, by which it is multiplied, is -3",
        lambda names: near(names["slopes"]["a"], -3.0, 1e-6),
    ),
    Claim(
        "One pass back, and all three are there, equal to what was measured",
        lambda names: all(near(names["by_ops"][x], names["slopes"][x], 1e-6) for x in "abc"),
    ),
    Claim(
        "(`LIMITS` has exactly the float dtypes in it.)",
        lambda names: set(names["LIMITS"]) == {d for d in names["FORMATS"] if "float" in d},
    ),
    Claim(
        "`y` came from a `Mul`, whose first input came from an `Add`, whose first input is `x`",
        lambda names: (
            type(names["y"].op) is names["Mul"]
            and type(names["y"].op.inputs[0].op) is names["Add"]
            and names["y"].op.inputs[0].op.inputs[0] is names["x"]
        ),
    ),
    Claim(
        "The numbers 2 and 3 became tensors too, but nobody asked for their gradients",
        lambda names: (
            [
                (t.item(), t.requires_grad)
                for t in (names["y"].op.inputs[0].op.inputs[1], names["y"].op.inputs[1])
            ]
            == [(2.0, False), (3.0, False)]
        ),
    ),
    Claim(
        "a calculation in which nothing requires a gradient leaves no graph at all",
        lambda names: (names["Tensor"](1.0) * 2.0).op is None,
    ),
    Claim(
        "`u` is used twice, and so is `a`",
        lambda names: (
            [
                sum(x is names[n] for t in names["names"].values() if t.op for x in t.op.inputs)
                for n in "ua"
            ]
            == [2, 2]
        ),
        when="next",
    ),
    Claim(
        "Right all five times, also where `a` is used twice or three times",
        lambda names: len(names["naive_is_off"]) == 5 and max(names["naive_is_off"]) < 1e-3,
    ),
    Claim(
        "Look for an op that was asked twice",
        lambda names: (
            len([t for t, _ in names["visits"] if t.op])
            > len({id(t.op) for t, _ in names["visits"] if t.op})
        ),
    ),
    Claim(
        "A re-used *leaf* does no harm, because it hands nothing on. A re-used result does",
        lambda names: (
            near(naive_at(names, lambda a: a * a * a * a, 2.0), 32.0)
            and not near(
                naive_at(names, names["breaks"], 2.0), names["measured"](names["breaks"], 2.0)
            )
        ),
    ),
    Claim(
        "Now every number is right, and the time doubles with every floor, because the number of"
        " paths does",
        lambda names: (
            near(names["a"].grad.item(), 1.5**14, 1e-3)
            and all(
                b == 2 * a + 2
                for (_, a), (_, b) in zip(
                    names["path_counts"], names["path_counts"][1:], strict=False
                )
            )
        ),
    ),
    Claim(
        "Then 40 floors, with two ops each, take 81 visits",
        lambda names: len(names["engine"].order(names["tower"](40)[1])) == 81,
        when="end",
    ),
    Claim(
        "survive its first call. There are three places to repair",
        lambda names: _sketch_fails(names),
        when="next",
    ),
    Claim(
        "A sum over a text of 2,000 words, one after the other, is a chain of 2,000 ops",
        deep_sums,
        when="next",
    ),
    Claim(
        "stops after about a thousand",
        lambda names: names["depths"] == {100: 101, 2_000: "RecursionError"},
    ),
    Claim(
        "Each number of the bias was used four times, once per row, so its gradient is the sum over"
        " the four places",
        lambda names: len(names["moves"]) == 3 and all(near(m, 4.0) for m in names["moves"]),
    ),
    Claim(
        "with size 1 while `g` has more",
        lambda names: (
            names["fit"](
                names["Tensor"]([[1.0, 2.0], [3.0, 4.0]]), names["Tensor"]([[1.0], [1.0]])
            ).tolist()
            == [[3.0], [7.0]]
        ),
        when="next",
    ),
    Claim(
        "brings back those of size 1",
        lambda names: names["Tensor"]([1.0, 2.0]).reshape(2, 1).shape == (2, 1),
    ),
    Claim(
        "from `Add`, which returns `g, g`",
        lambda names: (
            len({id(g) for g in names["Add"](names["x"], names["x"]).backward(names["x"])}) == 1
        ),
    ),
    Claim(
        "At root there has arrived a 1, in root's shape and dtype",
        lambda names: (names["zeros"]((1, 1), "float64") + 1).tolist() == [[1.0]],
    ),
    Claim(
        "These three lines are all that the rest of the library has to know about it",
        lambda names: names["Op"].execute == names["engine"].run,
        when="next",
    ),
    Claim(
        "with the line `class Engine:` and its two neighbours",
        lambda names: names["lines"] == 60,  # the title of the chapter
        when="next",
    ),
    Claim(
        "Try it on everything that went wrong before",
        lambda names: names["twice"] == 4.0 and near(math.log(names["high"], 1.5), 40, 1e-4),
        when="next",
    ),
    Claim(
        "walking back adds up one number per op",
        lambda names: names["long_chain"] == (100_000.0, 1.0),
        when="next",
    ),
    Claim("And what it refuses", lambda names: names["refused"] == ["x * 2", "y * 2"], when="next"),
    Claim(
        "`u = a * b` is passed once, with 14: 8 came from `w` (that is v), and 6 by way of `v`"
        " (that is u)",
        lambda names: (
            names["steps"][-1][1] == "14"
            and gradient_at_u(names) == {"by w": 8.0, "by v": 6.0, "v": 8.0, "u": 6.0}
        ),
    ),
    Claim(
        "Zero, to eight digits, for all of them",
        lambda names: len(names["off"]) == 14 and max(names["off"].values()) < 5e-8,
    ),
    Claim("The slopes here are about 2 and 14", lambda names: names["steep"] == [2.1, 13.7]),
    Claim(
        "a *right* gradient looks wrong in its first digits",
        lambda names: names["wrong_eps"] > 0.05,
    ),
    Claim(
        "even the best `eps` leaves few digits to judge by",
        lambda names: names["best"]["float32"][1] > 1e-4 and names["best"]["float64"][1] < 1e-7,
    ),
    Claim(
        "Not too far: the curve bends. Not too little: the difference of two almost equal numbers"
        " is mostly rounding",
        lambda names: all(
            errors[0][1] > 10 * best < errors[-1][1]
            for errors, (_, best) in (
                (names["errors"][d], names["best"][d]) for d in ("float32", "float64")
            )
        ),
        when="next",
    ),
    Claim(
        "XOR is the function that one layer cannot do: 1 where the two inputs differ",
        lambda names: (
            [
                round(value) == int(a != b)
                for (a, b), (value,) in zip(names["x"].tolist(), names["xor"], strict=True)
            ]
            == [True] * 4
        ),
        when="next",
    ),
    Claim("Sixteen hidden units", lambda names: names["w1"].shape == (2, 16), when="next"),
    Claim(
        "so the loss jumps up before it falls",
        lambda names: (
            max(names["xor_losses"][:10]) > names["xor_losses"][0] > 1
            and names["xor_losses"][-1] < 0.05
        ),
    ),
    Claim(
        "Two half moons, 80 points, and a network with two hidden layers",
        lambda names: len(names["points"]) == 80 and len(names["layers"]) == 3,
        when="next",
    ),
    Claim(
        "The loss is small where the score is above 0 for the upper moon and below 0 for the lower"
        " one",
        lambda names: (
            names["moon_losses"][100] < 0.1 < names["moon_losses"][0]
            and sum(
                (score > 0) == bool(label)
                for (score,), label in zip(
                    names["scores"](names["points"]).tolist(), names["labels"], strict=True
                )
            )
            >= 78
        ),
        when="next",
    ),
    Claim(
        "With a sign of 1 or -1 for each point",
        lambda names: {s for (s,) in names["signs"].tolist()} == {1.0, -1.0},
        when="next",
    ),
    Claim(
        "two networks have learned something",
        lambda names: names["moon_losses"][100] < names["moon_losses"][0] / 5,
    ),
    Claim(
        "`y = a * a` has two. The tower of 40 floors has more than you can walk",
        lambda names: (
            names["paths"](*_square(names)) == 2
            and names["paths"](*names["tower"](40)[::-1]) == 2**40
        ),
        when="next",
    ),
]

NOT_CLAIMS = {
    "with a = 2, b = -3, c = 10": "the input, which the next cells set",
    "Add 0.001 to `a`": "the input of the next cell",
    "By how many times 0.001": "what is asked",
    "| value, first case | -1.5 | -4 | | -1 | | |": "what exercise 05.1 asks for begins here",
    "| gradient of y | | | | | | 1 |": "y moves as fast as y",
    "| value, second case | 3 | -2 | | 4 | | |": "what exercise 05.1 asks for begins here",
    "(f(x + eps) - f(x - eps)) / 2eps": "the formula, which the check of 05.6 holds answers to",
    "`eps` = 10⁻ⁿ": "the formula of the next cell",
    "ln(1 + e^(-sign · score))": "the formula of the loss, which the next cell writes out",
    '"x itself, at 3"': "an example; the check of 05.s1 uses others, too",
    "and have slope 0": "what is asked for",
}


def _pieces() -> int:
    from course import notebooks

    cells = notebooks.code_cells(notebooks.read(notebooks.chapters()["05"]), "keep-engine")
    return len([cell for cell in cells if notebooks.about(cell)])


def _square(names: Names) -> tuple[Any, Any]:
    a = names["Tensor"](2.0, requires_grad=True)
    return a * a, a


def _sketch_fails(names: Names) -> bool:
    """As the chapter gives it, the sketch raises on the smallest graph."""
    from course import notebooks

    own = dict(names)
    exec(notebooks.stub("05.4"), own)
    _, _, u = fresh(names)
    try:
        own["walk_back"](u)
    except AttributeError:
        return True
    return False
