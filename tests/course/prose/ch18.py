"""What the text of chapter 18 claims."""

from __future__ import annotations

from typing import Any

from course import capstone
from course.giants import GIANTS
from prose import Claim

Names = dict[str, Any]


def ours() -> str:
    from course.exercise import solutions

    return (solutions() / "tutor200.py").read_text("utf-8")


CLAIMS = [
    Claim(
        "in at most two hundred lines", lambda names: names["capstone"].LINES == 200, when="next"
    ),
    Claim(
        "`x = 1` has three, on however many lines it stands",
        lambda names: names["capstone"].size("x = 1") == (1, 3)
        and capstone.size("x = \\\n    1") == (1, 3),
    ),
    Claim(
        "the library that you have built in chapters 1 to 8, its own tests and docstrings not"
        " counted",
        lambda names: names["together"][1] > 2 * capstone.TOKENS,
        when="next",
    ),
    Claim(
        "later chapters have added to them",
        lambda names: "decays" in names["uses"] and "Module" in names["uses"], when="next",
    ),
    Claim(
        "Whatever is not in it, and is not a method, you can do without.",
        lambda names: {"MLP", "Linear", "Tensor"} <= names["least"] < set(names["uses"])
        == names["uses"].keys(),
    ),
    Claim(
        "The images are bytes, 784 for each", lambda names: capstone.PIXELS == 784
    ),
    Claim(
        "No line is longer than 100 characters, and no string than 200",
        lambda names: (capstone.WIDTH, capstone.STRING) == (100, 200),
    ),
    Claim(
        "wherever your file defines a name of chapters 1 to 12, the check of that chapter judges"
        " it",
        lambda names: {e.id[:2] for e in names["every"]} == {f"{n:02}" for n in range(1, 13)},
        when="next",
    ),
    Claim(
        "Ours passes 17 of these 102", lambda names: len(names["every"]) == 102
    ),
    Claim(
        "It needs exactly 200 lines.", lambda names: names["capstone"].size(ours()) == (200, 3000)
    ),
    Claim(
        "each at one fixed version",
        lambda names: len(names["GIANTS"]) == 4 and all(g.version for g in GIANTS.values()),
    ),
    Claim(
        "Only one of them is.", lambda names: names["off"] == 1
    ),
    Claim(
        "let the other four through", lambda names: len(names["PATCHES"]) - 1 - names["off"] == 4
    ),
    Claim(
        "How many of the six give a wrong number for z or for its first gradient, at x = 0.25",
        lambda names: len(names["PATCHES"]) == 6 and names["x"].item() == 0.25, when="next",
    ),
]  # fmt: skip

NOT_CLAIMS = {
    "and reads 97.9 % of MNIST": "tests/course/test_capstone.py trains it",
    "from 154 lines to more than a million": "of the four sources",
    "In 94 lines": "of the source, at the version that is named",
    "| choose an op that tutor lacks, and find its formula and derivative | 10 |": "an estimate",
    "| the class, in its family's file in `tutor/ops` | 15 |": "an estimate",
    "| its method, one line in `tutor/methods` | 5 |": "an estimate",
    "see the row fail without the class | 15 |": "an estimate",
    "| an example with its name, in `docs/reference` | 10 |": "an estimate",
    "and the tests that name it | 10 |": "an estimate",
    "what is true now, and why | 5 |": "an estimate",
    "That makes 70 minutes.": "the sum of the table: tests/docs/test_first_patch.py",
    "ln(x / (1 - x)), which is the inverse of the sigmoid": "a definition",
    "ln(1 / (1 + e⁻ˣ))": "a definition",
    "x = -1000 and x = 1000": "the exercise, whose check has them",
}
