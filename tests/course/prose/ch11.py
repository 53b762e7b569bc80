"""What the text of chapter 11 claims: on Shakespeare's plays, and on the grammar's text."""

from __future__ import annotations

import itertools
import math
import random
from typing import Any

from prose import Claim

Names = dict[str, Any]


def shakespeare(names: Names) -> bool:
    return bool(names["text"].name == "shakespeare")


def late(losses: list[float], count: int = 50) -> float:
    """The mean of the last losses."""
    return sum(losses[-count:]) / count


def near(a: float, b: float, by: float) -> bool:
    return abs(a - b) < by


def spread(numbers: list[float]) -> float:
    mean = math.fsum(numbers) / len(numbers)
    return math.sqrt(math.fsum((x - mean) ** 2 for x in numbers) / len(numbers))


def length_of_rows(names: Names) -> float:
    """The mean length of the rows of a new Embedding."""
    rows = names["Embedding"](200, 64).w.tolist()
    return sum(math.hypot(*row) for row in rows) / len(rows)


def spread_of_products(names: Names) -> list[float]:
    """The spread of products of queries and keys, as a multiple of the root of their width."""
    found = []
    for width in (16, 256):
        q, k = names["normal"](40, width), names["normal"](40, width)
        found.append(spread((q @ k.T).values()) / math.sqrt(width))
    return found


def at_degrees(names: Names, degrees: int) -> float:
    """What the dictionary answers when the query points there."""
    return float(dict(names["got"])[degrees])


def same_row(names: Names) -> bool:
    """Two orders of the same words give the same scores to a Finder without places."""
    finder = names["Finder"]()
    said = [[names["word_ids"][w] for w in names[which].split()] for which in ("one", "other")]
    scores = [finder([ids]).tolist()[0] for ids in said]
    return all(near(a, b, 1e-5) for a, b in zip(*scores, strict=True)) and said[0] != said[1]


def as_cross_entropy(names: Names) -> bool:
    """The new loss, against that of chapter 7, with the same gradient."""
    found = []
    for loss_of in (
        lambda x: names["surprise"](x, [[0, 3], [2, 1]]),
        lambda x: names["cross_entropy"](x.reshape(-1, 4), [0, 3, 2, 1]),
    ):
        random.seed(3)
        x = names["normal"](2, 2, 4)
        x.requires_grad = True
        loss = loss_of(x)
        loss.backward()
        found.append([loss.item(), *x.grad.values()])
    return all(near(a, b, 1e-6) for a, b in zip(*found, strict=True))


def near_ones(names: Names) -> bool:
    """In the map of weights, a letter and the three before it get more than their even share."""
    shares = []
    for i, row in enumerate(names["weights"]):
        if i >= 6:
            shares.append(sum(row[i - 3 : i + 1]) / 100 / (4 / (i + 1)))
    return sum(shares) / len(shares) > 1.4


def heard(names: Names, fault: int) -> list[list[int]]:
    return list(names["hears"](names["Faulty"](4, 2, fault), 6, 4))


def faults_as_told(names: Names) -> bool:
    """Each of the six faults does to `hears` what the text and the hints say of it."""
    lower = [[int(j <= i) for j in range(6)] for i in range(6)]
    halves = [[int(j <= i and (i < 3) == (j < 3)) for j in range(6)] for i in range(6)]
    return (
        heard(names, 1) == [[1] * 6] * 6
        and heard(names, 2) == [[1] * 6] * 6
        and heard(names, 3) == [[int(j <= i + 1) for j in range(6)] for i in range(6)]
        and heard(names, 4) == halves
        and heard(names, 5) == [[int(i == j) for j in range(6)] for i in range(6)]
        and heard(names, 6) == [[int(j >= i) for j in range(6)] for i in range(6)]
        and names["hears"](lambda x: names["good"](x, names["causal"](6)), 6, 4) == lower
    )


CLAIMS = [
    Claim(
        "a network with one single head foretells letters far better than a count of all pairs can",
        lambda names: names["reached"] < names["bigram"] - 0.5,
        when="end",
    ),
    Claim(
        "`LayerNorm` brings each row to mean 0 and spread 1",
        lambda names: near(spread(names["LayerNorm"](8)(names["normal"](1, 8)).values()), 1, 1e-3),
        when="end",
    ),
    Claim(
        "A model that only knows how frequent each letter is does better",
        lambda names: names["single"] < names["nothing"] - 0.3,
        when="next",
    ),
    Claim(
        "half a nat less than all pairs, counted",
        lambda names: names["to_beat"] == names["bigram"] - 0.5,
    ),
    Claim("$e^{0.5} = 1.65$", lambda names: round(math.exp(0.5), 2) == 1.65),
    Claim(
        "The longer the passage, the fewer of them have been seen before",
        lambda names: all(a <= b for a, b in itertools.pairwise(names["new"].values())),
    ),
    Claim(
        "In Shakespeare's plays about half of the passages of 8 letters are new",
        lambda names: not shakespeare(names) or 0.4 < names["new"][8] < 0.6,
    ),
    Claim(
        "In the grammar's text there are fewer new ones, but some",
        lambda names: shakespeare(names) or 0 < names["new"][8] < 0.1,
    ),
    Claim(
        "To take row 2 out of a table, one can multiply: a row of zeros with a single 1",
        lambda names: "[[2.25, 2.5], [0.25, 0.5], [2.25, 2.5]]" in names["PRINTED"],
        when="next",
    ),
    Claim(
        "so that each row has a length of about 1",
        lambda names: near(length_of_rows(names), 1, 0.05),
        when="next",
    ),
    Claim(
        "for ids of shape (2, 3) the rows come as (2, 3, width)",
        lambda names: names["Embedding"](4, 5)([[1, 2, 3], [0, 0, 1]]).shape == (2, 3, 5),
        when="next",
    ),
    Claim(
        "x (3, 2, 4) times y (4, 5) takes the same y three times, and gives (3, 2, 5)",
        lambda names: (names["normal"](3, 2, 4) @ names["normal"](4, 5)).shape == (3, 2, 5),
        when="end",
    ),
    Claim(
        "With it the mean of the past is a special case",
        lambda names: all(
            near(a, b, 1e-6)
            for a, b in zip(
                names["softmax"](names["causal"](6)).values(),
                [x for row in names["means"] for x in row],
                strict=True,
            )
        ),
        when="next",
    ),
    Claim(
        "A query that points to a key gets nearly that key's value",
        lambda names: (
            near(at_degrees(names, 0), 10, 1)
            and near(at_degrees(names, 90), 40, 2)
            and near(at_degrees(names, 180), 20, 1)
        ),
    ),
    Claim(
        "At 270 degrees no key fits, and two of them are equally wrong: the answer is nearly the "
        "mean of the 10 and the 20",
        lambda names: near(at_degrees(names, 270), 15, 0.5),
    ),
    Claim(
        "if all numbers have a spread of 1, then the sum has a spread of $\\sqrt{\\text{width}}$",
        lambda names: all(near(x, 1, 0.1) for x in spread_of_products(names)),
        when="next",
    ),
    Claim(
        "If 16 places are listened to alike, it is $\\ln 16 = 2.77$. If there is only one, it is 0",
        lambda names: (
            round(names["entropy"](names["softmax"](names["Tensor"]([[0.0] * 16]))), 2) == 2.77
            and names["entropy"](names["Tensor"]([[0.0, 1.0, 0.0]])) == 0
        ),
        when="next",
    ),
    Claim(
        "At width 256 each query listens to hardly more than one key",
        lambda names: names["dying"] < 0.3,
    ),
    Claim(
        "which is 0 where $p$ is 0 or 1. A softmax that has made up its mind passes no gradient on",
        lambda names: (
            dict(names["slope_of"]["as it is"])[10] < 0.2 * dict(names["slope_of"]["as it is"])[2]
        ),
    ),
    Claim(
        "their spread is 1, whatever the width",
        lambda names: all(
            entropy > 2.2 for _, entropy in names["spread_of"]["divided by √width"][1:]
        ),
    ),
    Claim(
        "Is it right, forward and backward?",
        lambda names: (
            names["apart"](names["said"], names["real"]) < 1e-5
            and all(
                names["apart"](one.grad, other.grad) < 1e-4
                for one, other in zip(names["mine"], names["theirs"], strict=True)
            )
        ),
        when="next",
    ),
    Claim(
        "It is one of six things, all of them as frequent as the others",
        lambda names: len(names["THINGS"]) == 6,
        when="next",
    ),
    Claim(
        "It learns something, and then it stops",
        lambda names: 0.6 < late(names["losses"]) < 1.1 < names["losses"][0],
    ),
    Claim(
        "It knows which two or three things the sentence speaks of, and then it tosses a coin",
        lambda names: 0.38 < names["without"] < 0.55,
    ),
    Claim("they are the same, but for rounding", same_row),
    Claim(
        "Now look at whom the question mark listens to. You know who it should be",
        lambda names: names["with_places"] > 0.98 and names["correct"] == ["key", "coat", "hat"],
        when="next",
    ),
    Claim(
        "with a width of 64 and 4 heads, each has queries, keys and values of width 16",
        lambda names: names["normal"](2, 3, 64).reshape(2, 3, 4, -1).shape == (2, 3, 4, 16),
    ),
    Claim(
        "So a reshape gives (n, places, 4, 16), and no number has moved",
        lambda names: names["by_place"].buf is names["of_heads"].buf,
        when="next",
    ),
    Claim(
        "and still no number has moved: (n, 4, places, 16)",
        lambda names: (
            names["by_head"].buf is names["of_heads"].buf
            and names["normal"](2, 3, 64).reshape(2, 3, 4, 16).transpose(1, 2).shape
            == (2, 4, 3, 16)
        ),
        when="next",
    ),
    Claim(
        "Does each of its heads do what a `Head` of its own would do?",
        lambda names: max(map(abs, names["away"].values())) < 1e-5,
        when="next",
    ),
    Claim(
        "On the left everybody hears the past and itself; on the right, everybody hears itself",
        faults_as_told,
        when="next",
    ),
    Claim(
        "A network reads passages of 32 letters",
        lambda names: names["CONTEXT"] == 32,
        when="next",
    ),
    Claim(
        "So a single passage gives 32 answers at once",
        lambda names: names["Alone"](65, 32)([[0] * 32]).shape[:2] == (1, 32),
        when="end",
    ),
    Claim(
        "The one that is alone may have a wider MLP, so that both cost the same",
        lambda names: (
            names["multiplications"](names["Alone"](65, 32))
            == names["multiplications"](names["Mean"](65, 32))
            <= names["BUDGET"]
        ),
        when="next",
    ),
    Claim(
        "for 65 letters and 32 places it may use at most 62,000 multiplications a letter",
        lambda names: (
            names["BUDGET"] == 62_000
            and 0.95 * 62_000 < names["multiplications"](names["Reader"](65, 32)) <= 62_000
        ),
        when="end",
    ),
    Claim(
        "here that would be a hundred thousand numbers in each step",
        lambda names: 90_000 < names["BATCH"] * names["CONTEXT"] * 65 < 110_000,
    ),
    Claim("It computes the same", as_cross_entropy, when="next"),
    Claim(
        "The network that knows one letter ends where the pairs are",
        lambda names: near(names["board"]["alone"], names["bigram"], 0.02),
    ),
    Claim(
        "The mean is better. It knows which letters there were",
        lambda names: names["gained"] > 0.15,
    ),
    Claim(
        "In the grammar's text, which has few words, that is a great deal already",
        lambda names: shakespeare(names) or names["gained"] > 0.8,
    ),
    Claim(
        "it is the choosing that makes the difference",
        lambda names: (
            names["reached"] < names["to_beat"]
            and names["reached"] < names["board"]["the mean of the past"] - 0.04
            and names["multiplications"](names["trained"])
            <= names["multiplications"](names["Mean"](len(names["letters"]), 32))
        ),
    ),
    Claim(
        "we have not reached it, with one head and 32 letters",
        lambda names: names["text"].entropy is None or names["reached"] > names["text"].entropy,
    ),
    Claim("It listens to near letters more than to far ones", near_ones),
    Claim(
        "softmax leaves six tensors in the graph",
        lambda names: (
            len(
                names["engine"].order(
                    names["softmax"](names["Tensor"]([[1.0, 2.0]], requires_grad=True))
                )
            )
            == 7  # with the scores themselves
        ),
    ),
    Claim(
        "For a text of 100,000 letters the table of weights has ten thousand million numbers",
        lambda names: 100_000**2 == 10_000 * 10**6,
    ),
]

ASKED = "what is asked for, and what the check asks"
NOT_CLAIMS = {
    "with a spread of $1 / \\sqrt{\\text{width}}$": ASKED,
    "whole numbers from 0 to `count - 1`": ASKED,
    "and a probability of 0 would cost": "minus the logarithm of 0",
    "letter 12 is not twice letter 6": "an example",
    "since nearly everything is multiplied by 0": "one_hot has zeros but for one number",
    "positive numbers whose sum is 1 in every row": "what a softmax gives, as the check asks",
    "a score of minus infinity gets the weight 0": ASKED,
    "and thereby the weight 0": "the next cell prints it",
    "queries and keys of width 256 with a spread of 1, and 16 keys": "a question",
    "the slope of a weight by its own score is $p (1 - p)$": "a formula",
    "which add up to 1": ASKED,
    "64 numbers wide, and one more layer": "4 heads of 16",
    "a query of length 1 that turns once around. The keys are 4 long": "the next cell has it",
    "Start with `q(x)`, of shape (n, places, 64)": "the example goes on",
    "In every row the first 16 numbers belong to head 0, the next 16 to head 1": ASKED,
    "`layer` is a function of a tensor of shape (1, places, width)": ASKED,
    "stands 1 if place i notices a change at place j, else 0": ASKED,
    "what lies in the future is multiplied by 0": "the second fault",
}
