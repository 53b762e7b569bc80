"""What the text of chapter 16 claims."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from course.exercises import ch16
from course.jits import jits
from course.statements import single
from prose import Claim

Names = dict[str, Any]


def kernels(names: Names) -> list[list[str]]:
    """The ops of each kernel of the step, fused."""
    return [[line.op for line in kernel] for kernel in names["kernels"]]


def asked_again(names: Names, f: Any, numbers: list[float]) -> int:
    """How often a jit of f runs f, for as many inputs of one shape."""
    counting = ch16.counted(f)
    jitted = names["Jit"](counting)
    for number in numbers:
        jitted(names["Tensor"]([number, 1.0]))
    return int(counting.runs)


CLAIMS = [
    Claim(
        "our `Swish` calls `exp`, and that goes through `Op.execute` as well",
        lambda names: "Exp" in [type(op).__name__ for op, _ in names["recorded"](
            lambda x: names["Swish"](x).apply(), names["Tensor"]([1.0]))[1]],
        when="end",
    ),
    Claim(
        "The program runs without that function",
        lambda names: names["again"][1].tolist() == names["gradient"].tolist()
        and names["again"][0].tolist() == names["loss"].tolist(),
    ),
    Claim(
        "1 kernel for a step of Adam, 1 for a chain of ten, at most **3** for softmax with"
        " cross-entropy, both ways",
        lambda names: (ch16.FEWEST["Adam"], ch16.FEWEST["a chain of ten"],
                       ch16.FEWEST["softmax and cross-entropy"]) == (1, 1, 3)
        and len(names["fuse"](names["lines"])) == 3,
        when="end",
    ),
    Claim(
        "The first kernel is the forward pass",
        lambda names: "max" in kernels(names)[0] and "log" in kernels(names)[0],
    ),
    Claim(
        "The second has only single numbers in it.",
        lambda names: all(line.rows == 1 for line in names["kernels"][1]),
    ),
    Claim("that is 20 passes over memory",
          lambda names: "one by one: 20.0 passes" in names["PRINTED"], when="end"),
    Claim(
        "Two: x is read and y is written. Adam has to read four arrays and to write three, and"
        " fused it moves just that.",
        lambda names: "fused: 2.0 passes" in names["PRINTED"]
        and "Adam fused: 7.0 passes" in names["PRINTED"],
    ),
    Claim(
        "0.0 and -0.0 are different numbers, though Python says that they are equal",
        lambda names: 0.0 == -0.0 and str(0.0) != str(-0.0),
    ),
    Claim("The scores alone are 48 bytes.",
          lambda names: 4 * names["scores"].numel() == 48),
    Claim(
        "Fused, it needs a little less at once, for far fewer temps.",
        lambda names: 0.7 < names["needs"]["fused"] / names["needs"]["one by one"] < 1
        and len(names["found"]) < 10,
    ),
    Claim(
        "Five steps of Adam",
        lambda names: names["PRINTED"].count("equal bits: True") == 5,
        when="next",
    ),
    Claim("Hundreds of them.", lambda names: 200 <= names["differ"] < 1000),
    Claim(
        "How many of a thousand random `x * y + z` in float32 differ in their last bits?",
        lambda names: len(names["triples"]) == 1000
        and names["triples"][0] == [single(x) for x in names["triples"][0]],
        when="next",
    ),
    Claim(
        "The two look alike, and one is recorded again at every call.",
        lambda names: asked_again(
            names, lambda x: x * 2.0 if x.sum().item() > 0 else x, [1.0, 2.0, 3.0]) == 3
        and asked_again(
            names, lambda x: x * 2.0 if (x.sum() > 0).item() else x, [1.0, 2.0, 3.0]) == 1,
        when="end",
    ),
    Claim(
        "and then once with another shape, how often does f itself have to run?",
        lambda names: names["runs"] == [(1,), (2,)],
        when="end",
    ),
    Claim(
        "At which call does it show?",
        lambda names: "after call 3: [2.0, 4.0, 6.0]\nafter call 4: [2.0, 4.0, 8.0, 8.0]"
        in names["PRINTED"],
        when="end",
    ),
    Claim(
        "The check has fourteen jits, among them right ones",
        lambda names: len(jits(SimpleNamespace(**names))) == 14,
        when="end",
    ),
    Claim(
        "The check has twelve broken programs.", lambda names: len(ch16.broken_programs()) == 12
    ),
    Claim(
        "Here a matrix of 16 x 16 meets another one, lines hold 4 numbers",
        lambda names: names["misses"]((16, 16, 16), 10**6) == 3 * 16 * 16 / 4,
    ),
    Claim(
        "How many of the 125 tiles are within a tenth of the best, in a cache of 14 lines?",
        lambda names: len(names["all_tiles"]) == 125
        and min(names["table"].values()) == names["LEAST"][14] and len(names["good"]) == 2,
        when="end",
    ),
    Claim(
        "you may ask at most 60 times; there are 125 tiles. In each of three caches the tile must"
        " have fewer misses than `start`, the default, and at most 1.1 times those of the best",
        lambda names: (ch16.QUESTIONS, len(ch16.TILES) ** 3, len(ch16.LEAST), ch16.NEAR)
        == (60, 125, 3, 1.1),
    ),
    Claim(
        "your program, tutor's as it was recorded, ten steps, and tutor's after all passes",
        lambda names: len(names["large"].recorded) == 10
        and len(names["alone"](names["chain_lines"])) == 10,
    ),
]  # fmt: skip


NOT_CLAIMS = {
    "with axis 0 in its": "the rule of the exercise, whose check has cases of it",
    "A: x * 1 → x": "the exercise, whose check has the rules",
    "B: x + 0 → x": "the exercise, whose check has the rules",
    "C: x - x → 0": "the exercise, whose check has the rules",
    "D: x * 0 → 0": "the exercise, whose check has the rules",
    "F: x / 4 → x * 0.25": "the exercise, whose check has the rules",
    "G: x / 10 → x * 0.1": "the exercise, whose check has the rules",
    "I: x + x → 2 * x": "the exercise, whose check has the rules",
    "A number takes 4 bytes.": "the rule of the exercise",
    "The number of operands is right (2 for add, mul, pow, gt and matmul, 3 for where, 1 for the"
    " others)": "the exercise",
}
