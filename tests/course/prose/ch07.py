"""What the text of chapter 7 claims."""

from __future__ import annotations

import math
from typing import Any

from prose import Claim

Names = dict[str, Any]


def loss_at(names: Names, rows: list[list[float]], labels: list[int]) -> float:
    return float(names["cross_entropy"](names["Tensor"](rows), labels).item())


def spreads(names: Names, start: str) -> list[float]:
    """The line of this start in the table of spreads."""
    (line,) = [words for words in names["PRINTED"].splitlines() if words.split()[:1] == [start]]
    return [float(word) for word in line.split()[1:]]


def kept_by_a_layer(names: Names, start: str) -> float:
    """What share of the spread each layer keeps, from the second to the last."""
    found = spreads(names, start)
    return float((found[-1] / found[0]) ** (1 / (len(found) - 1)))


def even_spread(names: Names) -> bool:
    """The squared spread of numbers drawn evenly is a third of the square of their bound."""
    rows = names["glorot"](200, 200)
    numbers = [x for row in rows for x in row]
    bound = math.sqrt(6 / 400)
    squared = math.fsum(x * x for x in numbers) / len(numbers)
    return abs(squared / (bound * bound / 3) - 1) < 0.03 and abs(squared - 2 / 400) < 2e-4


def sums_add_up(names: Names) -> bool:
    """spread(z) of x w, for k inputs, is the root of k times the spreads' product."""
    k = 48
    x, w = names["normal"](60, k, 1.0), names["normal"](k, 60, 0.3)
    found = names["spread"]((x @ w).values())
    return bool(abs(found / math.sqrt(k * 0.3**2) - 1) < 0.1)


def pulls(names: Names) -> bool:
    """said - right, row by row, and each row sums to 0."""
    said, pull = names["said"].tolist(), names["pull"].tolist()
    rows = zip(said, pull, names["labels"], strict=True)
    return all(
        abs(q - (p - (c == label))) < 1e-6 and abs(sum(row_pull)) < 1e-6
        for row, row_pull, label in rows
        for c, (p, q) in enumerate(zip(row, row_pull, strict=True))
    )


def never_more_than_1(names: Names) -> bool:
    x = names["Tensor"]([[1000.0, 0.0, -1000.0], [5.0, 4.0, -60.0]], requires_grad=True)
    (names["cross_entropy"](x, [2, 2]) * 2.0).backward()
    return bool(0.99 < names["size_of"](x.grad) <= 1.0)


def goes_to_the_mean(names: Names) -> bool:
    """Steps down the loss that stretches take all predictions to the mean of the targets."""
    p = names["Tensor"]([[5.0], [-1.0], [0.0], [7.0]], requires_grad=True)
    targets = names["Tensor"]([1.0, 2.0, 3.0, 4.0])
    losses = []
    for _ in range(60):
        d = p - targets
        loss = (d * d).sum() * (1 / 16)
        loss.backward()
        p.fill([x - g for x, g in zip(p.values(), p.grad.values(), strict=True)])
        p.grad = None
        losses.append(loss.item())
    return losses[-1] < losses[0] and all(abs(x - 2.5) < 0.01 for x in p.values())


CLAIMS = [
    Claim(
        "positive, together 1, in the same order",
        lambda names: (
            abs(names["probabilities"].sum().item() - 1) < 1e-6
            and names["probabilities"].tolist()[0]
            == sorted(names["probabilities"].tolist()[0], reverse=True)
        ),
        when="next",
    ),
    Claim(
        "which stands at 0.705 now",
        lambda names: round(names["probabilities"].tolist()[0][0], 3) == 0.705,
    ),
    Claim(
        "all three scores are raised by 100", lambda names: "nan" in names["PRINTED"], when="end"
    ),
    Claim(
        "float32 cannot hold a number as large as $e^{102}$",
        lambda names: "[inf, inf, inf]" in names["PRINTED"],
        when="next",
    ),
    Claim(
        "A score of 89 is nothing unusual",
        lambda names: 88 < math.log(names["LIMITS"]["float32"]) < 89,
    ),
    Claim(
        "The largest exponent is then 0, and $e^0 = 1$. Nothing can overflow, and the sum is at "
        "least 1, so nothing is divided by 0.",
        lambda names: "nan" not in names["PRINTED"] and "inf" not in names["PRINTED"],
        when="next",
    ),
    Claim(
        "two scores, 0 and -200. The second probability is almost exactly $e^{-200}$, so "
        "its logarithm is -200",
        lambda names: abs(math.log(math.exp(-200) / (1 + math.exp(-200))) + 200) < 1e-9,
    ),
    Claim(
        "$e^{-200}$ is too *small* for float32. It becomes 0, and the logarithm of 0 is minus "
        "infinity",
        lambda names: "[1.0, 0.0]" in names["PRINTED"] and "[0.0, -inf]" in names["PRINTED"],
    ),
    Claim(
        "No infinity, no `nan`, and the -200 is still there",
        lambda names: "[0.0, -200.0]" in names["PRINTED"] and "nan" not in names["PRINTED"],
    ),
    Claim(
        "So the derivative by way of the shift is 0",
        lambda names: float(names["PRINTED"].split(":")[1]) < 1e-6,
        when="next",
    ),
    Claim(
        "a product of many numbers below 1 soon becomes too small to be stored",
        lambda names: 0.5**1100 == 0.0 and names["PRINTED"].rstrip().endswith("0.0"),
        when="next",
    ),
    Claim(
        "Remember 2.30",
        lambda names: (
            round(loss_at(names, [[0.0] * 10], [3]), 2) == 2.30 and round(math.log(10), 2) == 2.30
        ),
    ),
    Claim(
        "e^{x_i} / \\sum_j e^{x_j}$, which is the softmax again. That of the second part is "
        "-1 at $i = t$, and 0 elsewhere",
        pulls,
        when="next",
    ),
    Claim("pushed down by exactly the probability it was given", pulls, when="next"),
    Claim("The sum is 0: what one class gains, the others lose", pulls, when="next"),
    Claim(
        "confidently wrong, and the gradient is large. The first one was right, and is pulled much "
        "less",
        lambda names: (
            names["size_of"](names["pull"][2]) > 0.8 and names["size_of"](names["pull"][0]) < 0.4
        ),
    ),
    Claim("no number is ever larger than 1", never_more_than_1),
    Claim(
        "the simplest way is to begin at 0. Predict: a network of two layers has four parameters "
        "(two `w`, two `b`), all of them 0.",
        lambda names: list(names["alive"].values()) == [False, False, False, True],
        when="next",
    ),
    Claim(
        "Only the last bias. The hidden values are 0, so the gradient of `w2` is 0; `w2` is 0",
        lambda names: names["alive"] == {"w1": False, "b1": False, "w2": False, "b2": True},
    ),
    Claim(
        "With 0.02 the numbers die out on the way",
        lambda names: spreads(names, "0.02")[-1] < 1e-6,
    ),
    Claim("With 1 they explode", lambda names: spreads(names, "1")[-1] > 1e6),
    Claim("so are their *squared* spreads", sums_add_up),
    Claim(
        "keeps about $\\sqrt{1/2}$ of the spread, which is 0.71",
        lambda names: (
            abs(kept_by_a_layer(names, "Glorot") - 0.71) < 0.05 and round(math.sqrt(0.5), 2) == 0.71
        ),
    ),
    Claim(
        "in his row the spread neither grows nor shrinks much",
        lambda names: max(spreads(names, "He")) < 2 * min(spreads(names, "He")),
    ),
    Claim(
        "Such numbers have a squared spread of $a^2 / 3$, so $a = \\sqrt{6 / (\\text{inputs} + "
        "\\text{outputs})}$",
        even_spread,
        when="end",
    ),
    Claim(
        "`MLP(4, 5, 3)` has two layers, from 4 numbers to 5 and from 5 to 3",
        lambda names: [layer.w.shape for layer in names["MLP"](4, 5, 3).layers] == [(4, 5), (5, 3)],
        when="next",
    ),
    Claim(
        "Two linear layers without it are no more than one",
        lambda names: (
            names["size_of"](
                (names["points"] @ names["w1"]) @ names["w2"]
                - names["points"] @ (names["w1"] @ names["w2"])
            )
            == 0.0
        ),
    ),
    Claim(
        "Only three. The loss",
        lambda names: names["PRINTED"].strip() == "['Add', 'MatMul', 'ReLU']",
    ),
    Claim(
        "Where does it say yes to arm 0, and where to arm 1? The rest is arm 2.",
        lambda names: (
            abs(names["spiral_losses"][0] - math.log(3)) < 0.2
            and names["spiral_losses"][-1] < 0.1
            and set(names["labels"]) == {0, 1, 2}
        ),
    ),
    Claim(
        "The perfect network has a loss of 1.46, and it can never be less",
        lambda names: round(names["cross_entropy"](names["certain"], [0]).item(), 2) == 1.46,
    ),
    Claim(
        "scores between 0 and 1 are never far apart. The gradient is worse still",
        lambda names: (
            names["PRINTED"].count("pulled by") == 2
            and abs(float(names["PRINTED"].splitlines()[0].split()[-1])) > 0.99
            and abs(float(names["PRINTED"].splitlines()[1].split()[-1])) < 1e-6
        ),
        when="next",
    ),
    Claim(
        "so the loss should be 0",
        lambda names: names["PRINTED"].startswith("loss: 2.5"),
        when="next",
    ),
    Claim(
        "the shapes (4, 1) and (4,) fit each other, and stretch to (4, 4)",
        lambda names: (
            (names["predictions"].shape, names["targets"].shape, names["difference"].shape)
            == ((4, 1), (4,), (4, 4))
        ),
    ),
    Claim("all predictions go to the *mean* of the targets", goes_to_the_mean),
    Claim(
        "weights evenly between `-bound` and `bound` and biases of 0",
        lambda names: names["Mended"](3, 4).b.tolist() == [0.0] * 4,
        when="next",
    ),
    Claim(
        "the most likely class remains the same, and the probabilities come nearer to each other "
        "if $T$ is more than 1",
        lambda names: (
            names["steady_softmax"](names["scores"]).tolist()[0][0]
            > names["steady_softmax"](names["scores"] * 0.5).tolist()[0][0]
            > names["steady_softmax"](names["scores"] * 0.5).tolist()[0][1]
        ),
        when="end",
    ),
    Claim(
        "Ours gives no 1 at all to such a row, and a loss of 0.",
        lambda names: loss_at(names, [[0.0, 1.0, 2.0]], [7]) == 0.0,
    ),
]

NOT_CLAIMS = {
    "-3, 0.2, 40": "examples of scores",
    "the -200 is lost": "said above",
    "probabilities 0.9, 0.6 and 0.05": "an example",
    "stays* at 2.30": "said above",
    "-\\ln \\frac{1}{10} = \\ln 10": "a formula, whose value the claim has",
    "that is not 0?": "the question",
    "numbers of spread 1": "what the next cell draws",
    "around 0 are added": "what independent terms are",
    "{spread}(z)^2 = k\\; \\text{spread}(w)^2\\, \\text{spread}(x)^2$. The spread stays as it is "
    "if $\\text{spread}(w)^2 = 1/k": "the formula of the claim",
    "{spread}(w)^2 = 2 / (\\text{inputs} + \\text{outputs})": "the formula that is claimed below",
    "2 / \\text{inputs}": "He's formula, whose row is claimed",
    "Biases may begin at 0": "what is asked for, and what the check asks",
    "probability 1 for the right class": "what the next cell has",
    "no number below 0 and a sum of 1, give or take $10^{-5}$": "what the check asks",
    "1 - \\text{share}": "what is asked for, and what the check asks",
    'says "99 %" and is right 80 times out of 100': "an example",
    "to within 2 %": "what is asked for, and what the check asks",
}
