"""What chapter 9 says, and how it is tested."""

from __future__ import annotations

import itertools
import math
from typing import Any

from prose import Claim

Names = dict[str, Any]


def late(losses: list[float], count: int = 20) -> float:
    """The mean of the last losses."""
    return sum(losses[-count:]) / count


def stands_still(losses: list[float]) -> bool:
    return abs(late(losses) - math.log(10)) < 0.02


def he_keeps(names: Names) -> bool:
    """The mean square after a layer of this start and its relu, as a share of that before it."""
    random, Tensor, he = (names[name] for name in ("random", "Tensor", "he"))
    random.seed(1)
    x = Tensor([[random.gauss(0, 1) for _ in range(100)] for _ in range(200)])
    y = (x @ Tensor(he(100, 200))).relu()
    kept = (y * y).mean().item() / (x * x).mean().item()
    return 0.9 < kept < 1.1


def small_change(names: Names) -> bool:
    """A dead relu has no gradient."""
    Tensor = names["Tensor"]
    w, b = Tensor([[1.0]], requires_grad=True), Tensor([-9.0], requires_grad=True)
    (Tensor([[1.0], [2.0]]) @ w + b).relu().sum().backward()
    return w.grad.tolist() == [[0.0]] and b.grad.tolist() == [0.0]


def eight(names: Names, kind: str, deep: bool = True) -> list[float]:
    return names["eight"][kind, names["DEPTH"] if deep else 12]


def right(names: Names, kind: str, deep: bool = True) -> float:
    return names["learned"][kind, names["DEPTH"] if deep else 12]


def away(path: list[tuple[float, float]]) -> float:
    return math.hypot(*path[-1])


def crossings(path: list[tuple[float, float]]) -> int:
    """How often a path changes sides of the ravine."""
    signs = [across > 0 for _, across in path[:20]]
    return sum(a != b for a, b in itertools.pairwise(signs))


def too_cold(names: Names, steps: int, memory: float = 0.999) -> float:
    """By how much the bias of the thermometer is below 70, where v has that memory."""
    readings, warm = names["readings"].tolist(), names["warm"].tolist()
    pairs = [(reading[0], degrees[0]) for reading, degrees in zip(readings, warm, strict=True)]
    n = len(pairs)
    r, t = (sum(column) / n for column in zip(*pairs, strict=True))
    rr, rt = sum(x * x for x, _ in pairs) / n, sum(x * y for x, y in pairs) / n
    p, m, v = [0.0, 0.0], [0.0, 0.0], [0.0, 0.0]
    for step in range(1, steps + 1):
        w, b = p
        for i, g in enumerate((2 * (w * rr + b * r - rt), 2 * (w * r + b - t))):
            m[i] = 0.9 * m[i] + 0.1 * g
            v[i] = memory * v[i] + (1 - memory) * g * g
            move = m[i] / (1 - 0.9**step) / math.sqrt(v[i] / (1 - memory**step))
            p[i] -= 0.5 * (0.01 * p[i] + move)
    return 70 - p[1]


def half(names: Names, x: float) -> float:
    return names["Buffer"]([x], "float16")[0]


CLAIMS = [
    Claim(
        "Two layers, made as the lesson of chapter 8 made them, soon read nine of ten digits. "
        "Twelve layers, made in the same way, read one of ten, and never more",
        lambda names: names["reads"]["2 layers"] > 0.9 and names["reads"]["12 layers"] < 0.13,
        when="end",
    ),
    Claim(
        "At the end a network of twelve layers of yours reads 97.5 of 100",
        lambda names: names["reads"]["yours"] >= 0.975,
        when="end",
    ),
    Claim(
        "what goes in is around 0, with spread 1",
        lambda names: (
            abs(names["spread"](names["standard"](names["few"]).values()) - 1) < 0.15
            and abs(names["standard"](names["few"]).mean().item()) < 0.15
        ),
        when="end",
    ),
    Claim(
        "drew its weights from a bell of spread 0.02, and with two layers it read about nine of "
        "ten digits",
        lambda names: names["reads"]["2 layers"] > 0.88,
        when="end",
    ),
    Claim(
        "Twelve layers stand still. The loss stays at 2.30, which is $\\ln 10$",
        lambda names: stands_still(names["curves"]["12 layers"]) and round(math.log(10), 2) == 2.3,
    ),
    Claim(
        "Each layer leaves about a tenth. What was 1 is a billionth after ten layers",
        lambda names: (
            all(0.06 < factor < 0.2 for factor in names["shrinks"][1:])
            and 1e-11 < names["forward_small"][10] / names["forward_small"][0] < 1e-8
        ),
    ),
    Claim(
        "So it is next to nothing everywhere, and no weight moves",
        lambda names: max(names["backward_small"]) < 1e-6,
    ),
    Claim("It has to be 1, and only one spread does that", he_keeps, when="end"),
    Claim(
        "With He's weights it learns from the first step on. Glorot's shrink by $\\sqrt{1/2}$ a "
        "layer, as chapter 7 said. Over twelve layers that adds up to a factor of about 50",
        lambda names: (
            late(names["curves"]["He"]) < 0.8
            and late(names["curves"]["He"][:60]) < 2.0
            and 40 < 2 ** (11 / 2) < 60
            and names["forward"]["He"][-1][1] > 15 * names["forward"]["Glorot"][-1][1]
        ),
    ),
    Claim(
        "it waits, until the weights have grown, and then it learns as well",
        lambda names: (
            late(names["curves"]["Glorot"][:40]) > late(names["curves"]["He"][:40]) + 0.1
            and late(names["curves"]["Glorot"]) < 1.0
        ),
    ),
    Claim(
        "The bell of 0.02 is the only one that never gets away",
        lambda names: stands_still(names["curves"]["0.02"]) and names["reads"]["Glorot"] > 0.6,
    ),
    Claim(
        "After some wild steps the loss comes down to about 2, and there it stays, not far below "
        "the 2.30 of a network that knows nothing",
        lambda names: (
            max(names["wild"]) > 100
            and 1.6 < late(names["wild"]) < 2.4
            and late(names["wild"]) > late(names["wild"][:-60]) - 0.4
            and late(names["curves"]["He"][: len(names["wild"])]) < late(names["wild"]) - 0.5
        ),
        when="next",
    ),
    Claim(
        "A relu gives 0 where its input is below 0, and there its derivative is 0, too",
        small_change,
    ),
    Claim(
        "in every layer most of them are dead",
        lambda names: all(count > names["WIDTH"] / 2 for count in names["buried"].values())
        or sum(names["buried"].values()) > 0.7 * 11 * names["WIDTH"],
    ),
    Claim(
        "You know two cures already",
        lambda names: sum(names["healthy"].values()) < 0.25 * sum(names["buried"].values()),
    ),
    Claim(
        "They do not, or hardly",
        lambda names: names["reads"][f"{names['DEPTH']} layers"] < 0.5,
    ),
    Claim(
        "Take 48 layers in place of 12",
        lambda names: names["DEPTH"] == 48 and names["curves"].keys() >= {"He"},
        when="next",
    ),
    Claim(
        "Chapter 5's instrument compares it with slopes that are measured",
        lambda names: max(names["worst"].values()) < 1e-6,
        when="next",
    ),
    Claim(
        "Two of them are not fit for use",
        lambda names: names["mixed"] == {"a": False, "b": True, "c": True},
        when="end",
    ),
    Claim(
        "A single picture is its own mean. Whatever it shows, the norm takes all of it away",
        lambda names: names["alone_in_training"] < 0.25 and names["alone"] > 0.8,
    ),
    Claim(
        "Neither of them does it alone. Paths without a norm are worse than nothing",
        lambda names: (
            right(names, "He alone") < 0.5
            and right(names, "norm") < 0.35
            and right(names, "residual") < 0.2
            and right(names, "residual", False) < 0.2
        ),
    ),
    Claim(
        "after 48 layers the first loss has seven digits",
        lambda names: 1e6 <= eight(names, "residual")[0] < 1e7,
    ),
    Claim(
        "Norms without paths keep the numbers in order, and 48 layers stand still all the same",
        lambda names: eight(names, "norm")[0] < 10 and late(eight(names, "norm")) > 2.2,
    ),
    Claim(
        "Together, 48 layers learn nearly as well as 12",
        lambda names: (
            right(names, "norm and residual") > 0.8
            and right(names, "norm and residual")
            > right(names, "norm and residual", False) - 0.06
        ),
    ),
    Claim(
        "It is 0 where all pictures give the same numbers, and 1 where they have nothing in common",
        lambda names: all(0 < n < 1 for pairs in names["differ"].values() for _, n in pairs),
        when="next",
    ),
    Claim(
        "The gradients of all three are large enough",
        lambda names: all(
            min(n for _, n in names["ways"][kind])
            > min(n for _, n in names["ways"]["norm and residual"]) / 2
            for kind in ("He alone", "norm")
        ),
    ),
    Claim(
        "with He's weights less than half of what the last layers see differs between them, and "
        "with norms alone hardly anything",
        lambda names: (
            names["differ"]["He alone"][-1][1] < 0.5
            and names["differ"]["norm"][-1][1] < 0.25
            and names["differ"]["norm and residual"][-1][1] > 0.6
        ),
    ),
    Claim(
        "the loss is more than ten times as high",
        lambda names: names["by_heart"][0.4] > 10 * names["by_heart"][0.0],
    ),
    Claim(
        "It is the same, give or take three in a hundred",
        lambda names: abs(names["others"][0.4] - names["others"][0.0]) < 0.03,
    ),
    Claim(
        "look at what it costs to forget `evaluating`",
        lambda names: names["careless"][0.4] < names["others"][0.4] - 0.02,
    ),
    Claim(
        "Let a network learn only 300 pictures, which it can do by heart",
        lambda names: len(names["some_labels"]) == 300 and names["by_heart"][0.0] < 0.01,
        when="end",
    ),
    Claim(
        "a hundred times as steep across as along",
        lambda names: {0.1, 10.0} <= set(names["descend"].__code__.co_consts),
        when="next",
    ),
    Claim(
        "Plain steps swing from wall to wall and hardly get on",
        lambda names: crossings(names["paths"]["plain"]) > 15 and away(names["paths"]["plain"]) > 1,
    ),
    Claim(
        "RMSprop divides each direction by its own size, so that both are equally fast",
        lambda names: crossings(names["paths"]["RMSprop"]) < 5
        and away(names["paths"]["RMSprop"]) < away(names["paths"]["plain"]),
    ),
    Claim(
        "it rolls past the bottom, and comes back",
        lambda names: max(along for along, _ in names["paths"]["Adam"]) > 0.5,
    ),
    Claim(
        "So the first steps are several times as long as those to come",
        lambda names: (
            names["lengths"][0] > 0.9 and sum(names["lengths"][-9:]) / 9 < names["lengths"][0] / 2
        ),
    ),
    Claim(
        "where the first steps were short, about half as many relus died, and the loss was never "
        "thrown so high",
        lambda names: (
            names["perished"]["warm-up"] < 0.7 * names["perished"]["at once"]
            and max(names["starts"]["warm-up"]) < max(names["starts"]["at once"]) / 2
        ),
    ),
    Claim(
        "15 degrees too cold, and as many steps again win only a few",
        lambda names: (
            round(70 - names["cold"][1]) == 15 == round(too_cold(names, 600))
            and 2 < too_cold(names, 600) - too_cold(names, 1200) < 5
        ),
    ),
    Claim(
        "It forgets them slowly, and no faster does the bias get warm",
        lambda names: too_cold(names, 10_000) < 2 and too_cold(names, 600, memory=0.9) < 1,
    ),
    Claim(
        "the temperature is 70 degrees plus 8 times the reading",
        lambda names: abs(names["right"][1] - 70) < 0.3 and abs(names["right"][0] - 8) < 0.5,
        when="end",
    ),
    Claim(
        "your AdamW of chapter 8, with its usual decay of 0.01",
        lambda names: names["AdamW"]([]).decay == 0.01,
    ),
    Claim(
        "between 2,048 and 4,096 only the even numbers",
        lambda names: all(half(names, n) % 2 == 0 for n in range(2048, 4097, 7)),
    ),
    Claim("So what is 2,048 + 1 there?", lambda names: names["lost"] is True, when="next"),
    Claim(
        "A step that is shorter than a four-thousandth of its weight is always lost",
        lambda names: all(
            half(names, w + w / 4100) == w for w in [half(names, 1 + k / 97) for k in range(97)]
        ),
    ),
    Claim(
        "The steps of the float16 network are lost, so it falls behind",
        lambda names: (
            names["kept_still"]["float16"] > 0.5
            and late(names["dtypes"]["float16"]) > late(names["dtypes"]["float32"]) + 0.03
            and abs(late(names["dtypes"]["mixed"]) - late(names["dtypes"]["float32"])) < 0.02
        ),
    ),
    Claim(
        "The smallest number above 0 that float16 has is $2^{-24}$, about 0.00000006. What is "
        "smaller than half of it becomes 0",
        lambda names: (
            half(names, 2.0**-24) == 2.0**-24
            and half(names, 0.51 * 2.0**-24) > 0
            and half(names, 0.49 * 2.0**-24) == 0.0
            and round(2.0**-24, 8) == 0.00000006
        ),
    ),
    Claim(
        "they become smaller as the network gets better",
        lambda names: 0.002 < names["underflow"](1) < 0.6,
        when="next",
    ),
    Claim(
        "On the right there is room: float16 goes up to $2^{16}$",
        lambda names: (
            half(names, 65504.0) == 65504.0
            and half(names, 65536.0) == math.inf
            and names["underflow"](2**16) < names["underflow"](1) / 10
            and max(map(abs, names["arrived"])) * 2**16 < 65504
        ),
    ),
    Claim(
        "The same accuracy, within two in a hundred, with products of 16 bits",
        lambda names: abs(names["precision"]["mixed"] - names["precision"]["float32"]) < 0.02,
    ),
    Claim(
        "97.5 % have to be right",
        lambda names: names["reads"]["yours"] >= 0.975,
        when="end",
    ),
    Claim(
        "2,049 becomes 2,048 half of the time, and 2,050 otherwise",
        lambda names: {names["by_chance"](2049.0) for _ in range(60)} == {2048.0, 2050.0},
        when="end",
    ),
    Claim(
        "tutor, as others do, divides by $n - 1$ in place of $n$ there",
        lambda names: (
            abs((names["theirs"].running_var.tolist()[0] - 0.9)
                / (names["mine"].var.tolist()[0] - 0.9) - 5 / 4) < 1e-3
        ),
    ),
]  # fmt: skip

ASKED = "what is asked for, and what the check asks"
DERIVED = "a step of the derivation, which the check of 09.4 and gradcheck follow"
SQUARES = "a step of the derivation of He's weights, which he_keeps measures"
NOT_CLAIMS = {
    "axes of size 1 stretch over those of the other": "a rule of chapter 3",
    "Send 64 pictures through": "the next cell has it",
    "$z = x_1 w_1 + \\dots + x_k w_k$. The weights are drawn around 0": SQUARES,
    "\\text{mean}(z^2) = k \\cdot \\text{spread}(w)^2 \\cdot \\text{mean}(x^2)": SQUARES,
    "so relu sets half of the squares to 0": SQUARES,
    "$\\text{mean}(\\text{relu}(z)^2) = \\frac{1}{2} \\text{mean}(z^2)$": SQUARES,
    "\\frac{k}{2} \\cdot \\text{spread}(w)^2": SQUARES,
    "so the pixels go in as they are, from 0 to 255; and the rate is 0.03": "the next cell has it",
    "so far down that the input is below 0 for *every* picture": "what it is to be dead",
    "How many of the relus are 0 for all pictures?": ASKED,
    "is to let a little through below 0": "what a leaky relu is",
    "where the derivative is not 0, nothing is dead for ever": "what it is to be dead",
    "in a chain of 48 products small errors multiply": "as many as the network has layers",
    "stay there at size 1": "the next cell shows it",
    "So that nothing is divided by 0 where all numbers are equal": "what eps is for",
    "\\mu = \\text{mean}(x) \\qquad v = \\text{mean}\\big((x - \\mu)^2\\big)": DERIVED,
    "Write $s = 1 / \\sqrt{v + \\varepsilon}$": DERIVED,
    "the derivative of $v$ by $x_i$ is $\\frac{2}{n} (x_i - \\mu)$": DERIVED,
    "that of $s$ by $v$ is $-\\frac{1}{2} s^3$": DERIVED,
    "a learnt $w$, which begins at 1, and a learnt $b$, which begins at 0": ASKED,
    "\\text{mean} \\leftarrow (1 - \\text{momentum}) \\cdot \\text{mean}": "a formula, which the "
    "check of 09.6 follows",
    "\\text{var} \\leftarrow (1 - \\text{momentum}) \\cdot \\text{var}": "as above",
    "begin at 0 and at 1. The features are axis 1 of `x`": ASKED,
    "over axis 0 where `x` is (pictures, features), over axes 0, 2 and 3 where it is": ASKED,
    "How many of 100 pictures are read right if they come one at a time": "a question",
    "Do norms make 48 layers learn?": "a question",
    "the derivative of $x + f(x)$ is $1 + f'(x)$": "calculus; the check of 09.9 follows it",
    "Now all four, at 12 layers and at 48": "a question",
    "sets numbers to 0 at random while": ASKED,
    "What is left is divided by $1 - p$": ASKED,
    "A `p` below 0, or of 1 and more, is": ASKED,
    "What happens to the loss on these 300": "a question",
    "you have made a network of 48 layers learn, and have seen": "claimed above",
    "$v \\leftarrow \\beta v + (1 - \\beta)\\, g^2$": "a formula, which the check of 09.11 follows",
    "both: $m$ of $g$, $v$ of $g^2$, corrected": "as chapter 8 has it",
    "the share of the largest rate at this step, counted from 0": ASKED,
    "it goes up in a line: 1 / steps, 2 / steps, and so on up to 1. From then on it goes down "
    "along half a cosine, from 1, and would be 0 at `total`. With `steps` = 0": ASKED,
    "A thermometer gives readings around 0": "the next cell has it",
    "It learns for 600 steps, at a rate of 0.5": "the next cell has it",
    "the further it is from 0, the harder": "the decay is a share of the weight",
    "It says where the middle is, and nothing says that this should be near 0": "what a bias is",
    "Numbers of 16 bits take half of the memory": "two bytes in place of four",
    "what is a weight of 0.1 plus 0.00002?": "a question",
    "why weights are kept in 32 bits": "float32",
    "(In a quick run, of 400 pictures only, half of them.)": ASKED,
    "2,048.5 becomes 2,048 three times out of four": ASKED,
    "a float between -60,000 and 60,000": ASKED,
    "whether it is computed in 16 bits": "float16",
}
