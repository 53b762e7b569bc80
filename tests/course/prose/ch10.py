"""What the text of chapter 10 claims: on MNIST, and on the digits that tutor draws."""

from __future__ import annotations

import random
import time
from typing import Any

from prose import Claim

Names = dict[str, Any]


def size_of(names: Names, name: str) -> int:
    """How many numbers the network of that name learns."""
    return int(names["size_of"](names[name]))


def hours_by_loops(names: Names) -> float:
    """What an epoch of our reader would take by `filtered`: forward, and twice that for back."""
    loops, digit = names["filtered"], names["digit"]
    small = [row[:12] for row in digit[:12]]
    seconds = 0.0
    for picture, times in ((digit, 8), (small, 8 * 24)):
        best = min(timed(lambda picture=picture: loops(picture, names["blur"])) for _ in range(5))
        seconds += times * best
    return 3 * 60_000 * seconds / 3600


def timed(function: Any) -> float:
    began = time.process_time()
    function()
    return time.process_time() - began


def both_orders(names: Names) -> bool:
    """relu after pooling and before it gives the same."""
    pool = names["MaxPool2d"](2)
    with names["no_grad"]():
        maps = names["first"].layers[1](names["test_images"][:3] * (1 / 255))
        return bool(pool(maps.relu()).tolist() == pool(maps).relu().tolist())


def fitting(names: Names, shift: tuple[int, int], size: int, border: int) -> int:
    """How many rows a map has."""
    picture = names["pad"](names["zeros"]((1, 1, *shift)), border)
    return int(names["slide"](picture, size).shape[2])


def bias_along_columns(names: Names) -> bool:
    """With as many filters as columns nobody complains, and column k gets number k."""
    z, bias = names["zeros"]((1, 24, 24, 24)), names["Tensor"]([0.5 * k for k in range(24)])
    found = (z + bias)[0, 3].tolist()
    return all(row == bias.tolist() for row in found)


def readings_of_the_guide(names: Names) -> bool:
    """Both ways to read x.where(x > 0, x**3), and what was meant, for 2 and for -2."""
    meant = names["where"]
    x = names["Tensor"]([2.0, -2.0])
    wanted, other = [8.0, -2.0], [2.0, -8.0]
    dot_first = [float(v > 0) if v else v**3 for v in x.tolist()]
    as_other = meant(x > 0, x, x**3).tolist()
    return bool(
        meant(x > 0, x**3, x).tolist() == wanted and as_other == other and dot_first == [1.0, 0.0]
    )


def shuffled_is_as_good(names: Names) -> bool:
    """A dense network learns as well from pixels in another order, the same for all pictures."""
    order = random.Random(1).sample(range(784), 784)

    def mixed(images: Any) -> Any:
        columns = images.reshape(images.shape[0], 784).T
        return names["contiguous"](names["rows"](columns, order).T).reshape(-1, 1, 28, 28)

    few, reached = min(6000, len(names["labels"])), []
    for change in (lambda images: images, mixed):
        random.seed(4)
        model = names["Sequential"](
            lambda x: x * (1 / 255), names["Flatten"](), names["MLP"](784, 32, 10)
        )
        optimizer = names["Adam"](model.parameters(), 0.003)
        images, labels = change(names["images"][:few]), names["labels"][:few]
        for _ in range(3):
            names["train"](model, optimizer, names["batches"](images, labels, 64))
        test = change(names["test_images"][:2000])
        reached.append(names["reads"](model, test, names["test_labels"][:2000]))
    return abs(reached[0] - reached[1]) < 0.02 and reached[0] > 0.8


def apart(names: Names, name: str) -> float:
    """How many of 100 are read right, moved by two pixels."""
    return float(names["moved_apart"][name][2])


def ways(names: Names) -> bool:
    pad, slide = names["pad"], names["slide"]
    return bool(slide(pad(names["test_images"][:1], 1), 28).shape == (1, 1, 3, 3, 28, 28))


CLAIMS = [
    Claim(
        "**How few numbers read handwriting at 99 %?**",
        lambda names: names["reached"] >= 0.99,
        when="end",
    ),
    Claim(
        "a network of fewer than ten thousand numbers gets there, in a minute or two",
        lambda names: size_of(names, "model") < 10_000 and names["reached"] >= 0.99,
        when="end",
    ),
    Claim(
        "The network of chapter 8 had a hundred thousand, and did not get there",
        lambda names: (
            size_of(names, "dense") == 101_770
            and names["reads"](names["dense"], names["test_images"], names["test_labels"]) < 0.99
        ),
        when="end",
    ),
    Claim(
        "On MNIST about 97 of 100 are right, on drawn digits about 93",
        lambda names: (
            abs(
                names["reads"](names["dense"], names["test_images"], names["test_labels"])
                - (0.97 if names["DATA"] == "mnist" else 0.935)
            )
            < 0.012
        ),
    ),
    Claim(
        "has two rows of zeros more at the top and at the bottom",
        lambda names: names["Pad"](names["zeros"]((1, 3)), border=2).apply().shape == (5, 7),
        when="end",
    ),
    Claim("Two pixels, and it is lost", lambda names: apart(names, "dense") < 70),
    Claim("a list of 784 numbers in no particular order", lambda names: 28 * 28 == 784),
    Claim("it would have learned just as well", shuffled_is_as_good, when="end"),
    Claim(
        "The first row of windows begins at row 0, the last one at row 23, because 23 + 5 = 28",
        lambda names: len(names["filtered"](names["digit"], names["blur"])) == 24,
    ),
    Claim(
        "it would take about an hour for each epoch",
        lambda names: 0.2 < hours_by_loops(names) < 4,
        when="end",
    ),
    Claim(
        "14,400 numbers, and not one was copied",
        lambda names: names["seen"].numel() == 14_400 and names["seen"].buf is names["one"].buf,
    ),
    Claim(
        "windows of 14 x 14 at a distance of 14: the quarters of a digit",
        lambda names: names["corners"].shape == (1, 1, 2, 2, 14, 14),
    ),
    Claim(
        "The same numbers, by one product.",
        lambda names: names["furthest"] < 1e-3,
    ),
    Claim(
        "It waits most of the time",
        lambda names: names["to_lay_out"] > 20 * names["to_multiply"],
    ),
    Claim(
        "It spends memory, 25 numbers for each pixel",
        lambda names: names["laid_out"].shape == (64 * 24 * 24, 25),
    ),
    Claim(
        "In the middle 25, one for each position in the window. At the corner it is only 1",
        lambda names: names["counts"][4][4] == 25 and names["counts"][0][0] == 1,
    ),
    Claim(
        "With windows of 5 x 5 and a border of 2, the map is as large as the picture",
        lambda names: fitting(names, (28, 28), 5, 2) == 28,
    ),
    Claim(
        "8 x 25 weights for each of the 24 filters, and 24 biases",
        lambda names: names["layer"].w.shape == (8 * 25, 24) and names["layer"].b.shape == (24,),
    ),
    Claim(
        "24 maps of 8 x 8, from as many, 8 maps of 12 x 12, would need 1,769,472 weights",
        lambda names: (
            (8 * 12 * 12) * (24 * 8 * 8) == 1_769_472
            and names["layer"](names["zeros"]((1, 8, 12, 12))).shape == (1, 24, 8, 8)
        ),
    ),
    Claim(
        "The first column of every map gets the bias of filter 0, the second one that of filter 1",
        bias_along_columns,
    ),
    Claim(
        "28 filters, of 5 x 5, and a border of 2",
        lambda names: (
            names["many"].w.shape == (25, 28)
            and names["many"].size == 5
            and names["many"].padding == 2
        ),
        when="next",
    ),
    Claim("Neither is what was meant, and both run", readings_of_the_guide, when="end"),
    Claim(
        "The maps have a quarter of their numbers left",
        lambda names: (
            names["MaxPool2d"](2)(names["zeros"]((1, 8, 24, 24))).numel() * 4 == 8 * 24 * 24
        ),
        when="end",
    ),
    Claim("Pooling before relu or after it gives the same", both_orders, when="next"),
    Claim(
        "It reads better than the dense network, with a ninth of the numbers",
        lambda names: (
            names["reads"](names["first"], names["test_images"], names["test_labels"])
            > names["reads"](names["dense"], names["test_images"], names["test_labels"])
            and 8 < size_of(names, "dense") / size_of(names, "first") < 9
        ),
    ),
    Claim(
        "11,530 of 11,738. The eight filters have 208",
        lambda names: (
            size_of(names, "first") == 11_738
            and names["first"].layers[1].w.numel() + names["first"].layers[1].b.numel() == 208
            and names["first"].layers[-1].w.numel() + names["first"].layers[-1].b.numel() == 11_530
        ),
    ),
    Claim("Not much better, and far from good", lambda names: apart(names, "one layer") < 75),
    Claim(
        "28 rows, windows of 5, leaves 24; pooled, 12; windows of 5 again, 8; pooled, 4",
        lambda names: (
            [fitting(names, (n, n), 5, 0) for n in (28, 12)] == [24, 8]
            and names["model"].layers[-1].w.shape[0] == 24 * 4 * 4
        ),
        when="end",
    ),
    Claim("so we have nine times as many for nothing", ways, when="end"),
    Claim("All nine ways to move it are views", ways, when="end"),
    Claim(
        "More than 99 of 100, with 8,882 numbers if it is our reader: fewer than a tenth",
        lambda names: (
            names["reached"] > 0.99
            and size_of(names, "model") == 8_882
            and size_of(names, "dense") > 8_882 * 10
        ),
    ),
    Claim(
        "twice as far as any move in its training, and it reads more than nine of ten now",
        lambda names: apart(names, "reader") > 90,
    ),
    Claim(
        "Both count. The moves help the dense network, too",
        lambda names: (
            apart(names, "dense") + 5 < apart(names, "dense, fair") < apart(names, "reader") - 5
        ),
    ),
    Claim(
        "A filter of 25 numbers tells little by itself",
        lambda names: len(names["filters"][0]) * len(names["filters"][0][0]) == 25,
    ),
    Claim(
        "Several times as fast. Most of what yours takes longer",
        lambda names: names["yours"] / names["theirs"] > 2.5,
    ),
    Claim(
        "24 filters of 5 x 5 over 8 channels are 4,800",
        lambda names: names["Conv2d"](8, 24, 5).w.numel() == 4_800,
    ),
    Claim(
        "as many channels come out as went in: 200 weights",
        lambda names: names["Depthwise"](8, 5).w.numel() == 200,
        when="end",
    ),
]

ASKED = "what is asked for, and what the check asks"
NOT_CLAIMS = {
    "A person who can read a 7 can read it": "a 7 is a digit",
    "what comes in at the other side is paper, 0": "what 0 stands for in a picture",
    "how many of 100 does our network read right": "a question",
    "at row 10, column 12 tells it nothing about row 12, column 14": "an example",
    "and grey is 0": "how the picture is drawn",
    "a filter has 9 numbers, or 25": "3 x 3 and 5 x 5",
    "a picture of 28 x 28 pixels, a filter of 5 x 5": "a question",
    "with 25 numbers each": "5 x 5",
    "with the strides (1, 1)": "what chapter 2 has shown",
    "a whole batch of 64 pictures, with windows of 5 x 5": "the next cells have it",
    "with windows of 5 x 5, in how many": "a question",
    "`b` has one number for each filter, 0 at first": ASKED,
    "$x^3$ where $x$ is above 0": "what the guide has",
    "it cubes the numbers *below* 0": "claimed with the words that follow",
    "where x is anything but 0": "claimed with the words that follow",
    "of each 2 x 2 answers of a map": "what is built here",
    "the windows of size 2 that stand": "what is built here",
    "and everything else is 0": ASKED,
    "Eight filters of 5 x 5, pooling": "the next cell has it",
    "Predict how many of 100 it reads right, two pixels": "a question",
    "Predict how many of 100 it reads right then": "a question",
    "The network has to read 99 of 100, and it may be made of at most 30,000 numbers": ASKED,
    "bytes of the shape (n, 1, 28, 28)": ASKED,
    "and at most 30,000 numbers in it": ASKED,
    "99 of 100, with 30,000 numbers or fewer": ASKED,
    "how few numbers are enough for 99 %?": "a question",
    "where the step was 1 and there was no padding": ASKED,
    "for each of the 25 weights": "5 x 5",
    "with windows of 1 x 1": "what a depthwise layer is followed by",
}
