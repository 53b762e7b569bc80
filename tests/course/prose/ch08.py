"""What the text of chapter 8 claims: on MNIST, and on the digits that tutor draws."""

from __future__ import annotations

import itertools
import math
import re
from typing import Any

from course import minutes, notebooks
from prose import Claim

Names = dict[str, Any]


def until(words: str) -> float:
    """The minutes until the cell with these words has run."""
    parts = minutes.Parts()
    for cell in notebooks.read(notebooks.chapters()["08"])["cells"]:
        parts += minutes.of_cell(cell)
        if words in notebooks.source(cell):
            return parts.minutes
    raise AssertionError(words)


def on_mnist(names: Names) -> bool:
    return bool(names["DATA"] == "mnist")


def late(losses: list[float], count: int = 20) -> float:
    """The mean of the last losses."""
    return sum(losses[-count:]) / count


def percents(names: Names) -> list[float]:
    return [float(found) for found in re.findall(r"([\d.]+)%", names["PRINTED"])]


def the_floor(names: Names) -> float:
    """The loss of a network that is right and certain, with the softmax done twice."""
    certain = names["Tensor"]([[1.0] + [0.0] * 9])
    return float(names["cross_entropy"](certain, [0]).item())


def six_zeros(names: Names) -> bool:
    """The loss of a network whose weights are 0, for any pictures."""
    model = names["Reader"](784, 32, 10)
    for p in model.parameters():
        p.fill([0.0] * p.numel())
    loss = names["cross_entropy"](model(names["images"][:32]), names["labels"][:32]).item()
    return abs(loss - math.log(10)) < 1e-6


def cosines_grow(names: Names) -> bool:
    found = [names["cosines"][size] for size in (2, 8, 32, 128)]
    return all(less < more < 4 * less for less, more in itertools.pairwise(found))


def valley(names: Names) -> bool:
    """Along: arrived, and still on the way. Across: the last place where each swings widely."""
    along, across = names["along"], names["across"]
    arrived = abs(along["momentum 0.8"][-1]) < 0.05 and abs(along["plain"][-1]) > 0.2
    swings = {name: [abs(x) > 0.05 for x in places] for name, places in across.items()}
    rest = {name: len(wide) - wide[::-1].index(True) for name, wide in swings.items()}
    both_signs = all(min(places) < 0 < max(places) for places in across.values())
    return arrived and both_signs and rest["momentum 0.8"] < rest["plain"]


def rises_and_goes_down(names: Names) -> bool:
    """The rates of all steps: up to step 50, down from there, as low as 0 in the end."""
    optimizer, found = names["optimizer"], []
    kept, total = optimizer.lr, names["total"]
    for _ in names["scheduled"](optimizer, [None] * total, 0.003, total, 0):
        found.append(optimizer.lr)
    optimizer.lr = kept
    top = found.index(max(found))
    up, down = found[: top + 1], found[top:]
    shaped = up == sorted(up) and down == sorted(down, reverse=True)
    return shaped and top == 49 and found[-1] < 1e-6


def ends(names: Names, name: str) -> float:
    return late(names["four"][name])


CLAIMS = [
    Claim("In about 20 minutes", lambda names: 18 < until("python_losses = ") < 24.5),
    Claim("it reads 97 of 100", lambda names: names["reached"] > 0.97, when="end"),
    Claim(
        "its loss is $\\ln 10 = 2.30$",
        lambda names: (
            round(names["cross_entropy"](names["Tensor"]([[0.0] * 10]), [4]).item(), 2) == 2.30
        ),
    ),
    Claim(
        "`MLP(784, 32, 10)` is a network of two layers, 784 numbers to 32 to 10",
        lambda names: (
            [layer.w.shape for layer in names["MLP"](784, 32, 10).layers] == [(784, 32), (32, 10)]
        ),
    ),
    Claim(
        "70,000 digits",
        lambda names: (
            not on_mnist(names) or len(names["labels"]) + len(names["test_labels"]) == 70_000
        ),
        when="next",
    ),
    Claim(
        "60,000 to learn from, and 10,000 to be tested on",
        lambda names: (
            not on_mnist(names)
            or (len(names["labels"]), len(names["test_labels"])) == (60_000, 10_000)
        ),
        when="next",
    ),
    Claim(
        "10,000 and 2,000 of them, and says so",
        lambda names: (
            on_mnist(names)
            or (
                (len(names["labels"]), len(names["test_labels"])) == (10_000, 2_000)
                and "draws" in names["PRINTED"]
            )
        ),
        when="next",
    ),
    Claim(
        "28 x 28 pixels, in a row of 784 bytes",
        lambda names: names["images"].shape[1] == 28 * 28 and names["images"].buf.itemsize == 1,
    ),
    Claim(
        "from 0 for paper to 255 for ink",
        lambda names: (
            min(names["images"].buf.raw) == 0 and 250 < max(names["images"].buf.raw) < 256
        ),
    ),
    Claim(
        "A network likes numbers near 1, so the model divides by 255 first",
        lambda names: max((names["images"][:50] * (1 / 255)).values()) <= 1.0,
    ),
    Claim("four times the room", lambda names: names["Buffer"]([1.0]).itemsize == 4),
    Claim(
        "The first loss is near 2.30, as it should be, and the last ones are far below",
        lambda names: (
            abs(names["python_losses"][0] - 2.3) < 0.3 and late(names["python_losses"], 10) < 1.7
        ),
    ),
    Claim(
        "If it did nothing but guess, it would be right about 10 times",
        lambda names: 0.03 < names["untrained"] < 0.2 and names["reading"] > 0.4,
        when="end",
    ),
    Claim(
        "The losses agree to rounding: sums are taken in another order, and that is all",
        lambda names: names["away"] < 1e-4,
    ),
    Claim(
        "a larger network gains more",
        lambda names: names["gains"][8] < names["gains"][128],
        when="next",
    ),
    Claim(
        "More than 90 of 100 are right on MNIST; more than 80 on the drawn digits, which are fewer",
        lambda names: names["board"]["plain steps"] < (10 if on_mnist(names) else 20),
    ),
    Claim(
        "Everything from here on makes it better",
        lambda names: (
            names["board"]["plain steps"] == max(names["board"].values())
            and names["board"]["all of it"] == min(names["board"].values())
            and names["board"]["all of it"] < 0.5 * names["board"]["plain steps"]
        ),
        when="end",
    ),
    Claim(
        "60,000 pictures are 47 million numbers",
        lambda names: round(60_000 * 784, -6) == 47e6 and names["images"].shape[1] == 784,
    ),
    Claim(
        "The loss is next to nothing most of the time, and it has learned next to nothing",
        lambda names: (
            sum(loss < 0.1 for loss in names["sorted_losses"]) > 0.75 * len(names["sorted_losses"])
            and names["in_sorted_order"] < 0.25
        ),
    ),
    Claim("Each new digit is a peak", lambda names: max(names["sorted_losses"]) > 5),
    Claim(
        "The mean over 32 of them, taken at random, is a guess of it",
        lambda names: names["cosines"][32] > 0.3,
        when="next",
    ),
    Claim(
        "the gradient over 2,000 pictures",
        lambda names: len(names["of_many"]) == sum(p.numel() for p in names["model"].parameters()),
        when="next",
    ),
    Claim("The more pictures, the better the guess", cosines_grow),
    Claim("is never four times as good", cosines_grow),
    Claim(
        "32 pictures point in about the right direction",
        lambda names: 0.35 < names["cosines"][32] < 0.75,
    ),
    Claim(
        "If you forget it, that is no error either",
        lambda names: names["w"].grad.item() == 6.0,
    ),
    Claim("a hundred times steeper across than along", valley, when="next"),
    Claim("momentum has arrived while the plain steps are still on their way", valley),
    Claim("both swing from wall to wall, and momentum comes to rest sooner", valley),
    Claim(
        "you have written an optimizer, and it is better than the plain steps",
        lambda names: names["board"]["momentum, shuffled"] < names["board"]["plain steps"],
    ),
    Claim(
        "0.001, for each of them",
        lambda names: all(abs(abs(x) - 0.001) < 2e-8 for x in names["p"].tolist()),
    ),
    Claim(
        "Plain steps are left behind. Between momentum and Adam there is not much in it here",
        lambda names: (
            min(late(names["racers"]["momentum"]), late(names["racers"]["Adam"])) * 1.5
            < late(names["racers"]["SGD"])
            and abs(names["board"]["momentum, shuffled"] - names["board"]["Adam"]) < 2
            and max(names["board"]["momentum, shuffled"], names["board"]["Adam"])
            < names["board"]["plain steps"]
        ),
    ),
    Claim(
        "*Exactly* so, each bit the same",
        lambda names: names["equal"] is True,
        when="end",
    ),
    Claim(
        "A network with 25,000 parameters must be able to learn ten pictures by heart",
        lambda names: (
            round(sum(p.numel() for p in names["Reader"](784, 32, 10).parameters()), -3) == 25_000
            and len(names["ten_losses"]) == 60
            and names["ten_losses"][-1] < 0.01
        ),
        when="end",
    ),
    Claim("until the loss is next to 0", lambda names: names["ten_losses"][-1] < 0.01, when="end"),
    Claim(
        "Two numbers help: $\\ln 10 = 2.30$, and 1.46, the floor of a double softmax",
        lambda names: round(the_floor(names), 2) == 1.46 and round(math.log(10), 2) == 2.30,
    ),
    Claim(
        "lie between 0 and 1, and the best of them give no less",
        lambda names: min(names["four"]["C"]) > the_floor(names) - 1e-3,
    ),
    Claim(
        "`ill(lr=0.0005)` is fault 3",
        lambda names: 2.0 < late(names["ill"](lr=0.0005)) < names["ill"](lr=0.0005)[0],
    ),
    Claim("With fault 6 the first loss is exactly $\\ln 10$", six_zeros),
    Claim(  # what the four curves show, as the check of 08.5 reads them
        "Here is a healthy one, and four that are not",
        lambda names: (
            late(names["healthy"]) < 0.8
            and abs(ends(names, "A") - math.log(10)) < 0.15
            and max(names["four"]["B"][-100:]) > 2 * min(names["four"]["B"])
            and the_floor(names) <= ends(names, "C") < 2.0
            and max(names["four"]["D"][:20]) > 10
        ),
        when="end",
    ),
    Claim(
        "The gradients should be 0.707 each. They are a fourteenth of that",
        lambda names: (
            round(10 / math.hypot(10, 10), 3) == 0.707
            and round(0.7071 / names["clipped"][0]) == 14
            and names["clipped"][0] == names["clipped"][1]
        ),
    ),
    Claim(
        "they get one and the same tensor",
        lambda names: "one and the same tensor: True" in names["PRINTED"],
    ),
    Claim(
        "2051 is the 0, 0, 8, 3, and then come the sizes",
        lambda names: (
            names["train_file"][:4] == bytes([0, 0, 8, 3])
            and int.from_bytes(names["train_file"][:4], "big") == 2051
        ),
    ),
    Claim(
        "(8 is uint8)",
        lambda names: (
            names["train_file"][2] == 8
            and names["read_idx"](names["train_file"][:3] + bytes([1, 0, 0, 0, 1, 7])).buf.dtype
            == "uint8"
        ),
        when="end",
    ),
    Claim(
        "784 pixels, 128 hidden numbers, 10 scores",
        lambda names: [layer.w.shape for layer in names["model"].layers] == [(784, 128), (128, 10)],
        when="next",
    ),
    Claim(
        "a rate that rises for 50 steps and then goes down along a cosine",
        rises_and_goes_down,
        when="next",
    ),
    Claim("the mean of about 50 steps", lambda names: len(names["losses"]) > 50, when="next"),
    Claim(
        "More than 97 of 100, on drawn digits as on those of MNIST",
        lambda names: names["reached"] > 0.97 and percents(names)[-1] > 97,
    ),
    Claim(
        "First the lesson: 784, 128 and 10 numbers, weights of spread 0.02, plain steps of 0.01",
        lambda names: {784, 128, 10, 0.02, 0.01} <= set(names["lesson"].__code__.co_consts),
        when="next",
    ),
    Claim(
        "On MNIST four epochs are 3,752 steps, and it reads about nine of ten",
        lambda names: (
            not on_mnist(names)
            or (names["lesson_steps"] == 3752 and 0.88 < names["of_lesson"] < 0.93)
        ),
    ),
    Claim(
        "Drawn digits are only 10,000, so the same four epochs are 628 steps",
        lambda names: on_mnist(names) or names["lesson_steps"] == 628,
    ),
    Claim(
        "about half are read right, and with six times as many epochs it would catch up",
        lambda names: (
            on_mnist(names) or (0.45 < names["of_lesson"] < 0.6 and names["lesson"](24) > 0.85)
        ),
    ),
]

FORMULA = "a formula, which the check of 08.2 follows"
ASKED = "what is asked for, and what the check asks"
NOT_CLAIMS = {
    "32 at a time": "the next cells have it",
    "of 100 pictures that the network has never seen, how many": "a question",
    "Plain steps of 0.01 are short": "as above",
    "is a number from 0 to 1": ASKED,
    "have a cosine of 0, the same direction has a cosine of 1": "what a cosine is",
    "is 3. What is": "the derivative of 3 w; the next cell has it",
    "which begins at 0": ASKED,
    "m \\leftarrow \\beta_1 m + (1 - \\beta_1)\\, g \\qquad v \\leftarrow \\beta_2 v + (1 - "
    "\\beta_2)\\, g^2": FORMULA,
    "Both begin at 0 and are too small at first. After $t$ steps their weights add up to only $1 - "
    "\\beta^t$": FORMULA,
    "\\hat m = \\frac{m}{1 - \\beta_1^t} \\qquad \\hat v = \\frac{v}{1 - \\beta_2^t}": FORMULA,
    "with lr = 0.001, how long is the very first step": "a question",
    "a parameter whose gradient is 1000?": "a question",
    "a value like 0.001": "Adam's default",
    "after its 60 steps the loss has to be below 0.2": ASKED,
    "6. all weights begin at 0": "the sixth fault",
    "a batch of 512 is wanted": "an example",
    "the graph of 64 pictures": "an example",
    "SHA-256": "the name of a checksum",
}
