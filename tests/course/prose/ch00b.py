"""What the text of chapter 0b claims."""

import itertools
import random
from typing import Any

from course.exercise import solutions
from prose import Claim

PIECES = ("00.2", "00.4", "00.5", "00.6", "00.7", "00.8")


def lines() -> int:
    """The lines of the engine that are not blank, as we would write it."""
    texts = [(solutions() / f"{id}.py").read_text() for id in PIECES]
    return sum(bool(line.strip()) for text in texts for line in text.splitlines())


def no_line_separates(names: dict[str, Any]) -> bool:
    """Of very many straight lines, none has all four points on their sides."""
    rng = random.Random(0)
    tries = [[rng.uniform(-2, 2) for _ in range(3)] for _ in range(20_000)]
    points, targets = names["POINTS"], names["TARGETS"]
    return not any(
        all(
            (a * x + b * y + c) * target > 0 for (x, y), target in zip(points, targets, strict=True)
        )
        for a, b, c in tries
    )


def right(names: dict[str, Any]) -> list[bool]:
    pairs = zip(names["POINTS"], names["TARGETS"], strict=True)
    return [names["network"](point).data * target > 0 for point, target in pairs]


def stuck(names: dict[str, Any], seed: int) -> bool:
    """Whether another beginning ends with one of the four points on the wrong side."""
    random.seed(seed)
    for weights in [*names["hidden"], names["top"]]:
        for weight in weights:
            weight.data = random.uniform(-1, 1)
    for _ in range(200):
        names["step"](names["parameters"], names["total_loss"](), rate=0.1)
    return right(names).count(False) == 1


def straight_without_a_bend() -> bool:
    """Sums of products with fixed numbers: the value in the middle is the mean of both ends."""

    def layers(x: float) -> float:
        return 3.0 * (2.0 * x + 1.0) - 0.5 * (x - 4.0)

    return all(
        layers((x + y) / 2) == (layers(x) + layers(y)) / 2
        for x, y in itertools.product((-3.0, 0.0, 1.0, 2.5), repeat=2)
    )


CLAIMS = [
    Claim("an engine of about 60 lines", lambda names: 45 <= lines() <= 65),
    Claim(
        "gives you 4.0. How it got there is forgotten at once, and 4.0 has",
        lambda names: names["PRINTED"] == "4.0\n",
        when="next",
    ),
    Claim(
        "for every 1 that `a` grows",
        lambda names: round(names["change"] / names["little"], 6) == -3.0,
        when="end",
    ),
    Claim(
        "It is the value of `b`",
        lambda names: names["PRINTED"].endswith("it is -3.0\n"),
    ),
    Claim(
        "let\none of its parts grow by 1, and the sum grows by 1, so both slopes are 1",
        lambda names: (names["Value"](7.0) + names["Value"](5.0)).slopes == (1, 1),
        when="end",
    ),
    Claim(
        "The product grows with slope `b`, which is -3",
        lambda names: names["product"].slopes[0] == -3 and names["product"].inputs[0] is names["a"],
    ),
    Claim(
        "grows with the product with slope 1",
        lambda names: names["d"].inputs[0] is names["product"] and names["d"].slopes[0] == 1,
    ),
    Claim("-3 times 1", lambda names: names["product"].slopes[0] * names["d"].slopes[0] == -3),
    Claim(
        "straight lines of straight lines are\nstraight", lambda names: straight_without_a_bend()
    ),
    Claim(
        "it follows its input near\n0 and bends towards 1 and -1 further out",
        lambda names: (
            abs(names["math"].tanh(0.1) - 0.1) < 1e-3
            and 0.999 < names["math"].tanh(4) < 1
            and -1 < names["math"].tanh(-4) < -0.999
        ),
    ),
    Claim(
        "which grows with itself with slope 1",
        lambda names: names["backward"](names["f"]) is None and names["f"].grad == 1,
        when="end",
    ),
    Claim(
        "becomes 0, so that an earlier walk leaves no trace",
        lambda names: [names["backward"](names["f"]), names["a"].grad][1] == 6.0,
        when="end",
    ),
    Claim("that of `last` becomes 1", lambda names: names["f"].grad == 1.0, when="end"),
    Claim(
        "One walk, and all the gradients are there",
        lambda names: (
            names["PRINTED"]
            == "by the walk: {'d': -6.0, 'c': -6.0, 'e': -2.0, 'a': 6.0, 'b': -4.0}\n"
        ),
    ),
    Claim("there is always a point on the wrong side", no_line_separates, when="next"),
    Claim(
        "Five neurons look at the two coordinates of a point, and a sixth looks at the five",
        lambda names: (
            len(names["hidden"]) == 5
            and {len(weights) for weights in names["hidden"]} == {3}
            and len(names["top"]) == 6
        ),
        when="next",
    ),
    Claim(
        "There it is: a border that no straight line could be",
        lambda names: (
            all(right(names))
            and names["losses"][-1] < 0.01
            and " lines that ran were yours" in names["PRINTED"]
        ),
    ),
    Claim(
        "it can get stuck with one point on the wrong side",
        lambda names: stuck(names, 1),
        when="end",
    ),
    Claim(
        "Then a number takes four bytes",
        lambda names: names["tutor"].float32.itemsize == 4,
    ),
    Claim(
        "A thousand numbers, and their\ngradients, in one walk",
        lambda names: names["x"].grad.tolist() == [2.0 * k for k in range(1000)],
        when="next",
    ),
]
NOT_CLAIMS = {
    "no idea that there ever was a 2.0": "a way of speaking of the number above",
}
