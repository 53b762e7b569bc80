"""What the text of chapter 2 claims."""

import itertools
from typing import Any

import tutor
from prose import Claim


def cheap(names: dict[str, Any]) -> bool:
    """A transpose takes as long for very many numbers as for six, and moving them takes longer."""
    large = names["zeros"]((10_000, 10_000), "uint8")
    few, many = (names["best"](lambda t=t: names["transpose"](t), 50) for t in (names["t"], large))
    return many < 20 * few and many < 1e-3 and names["moved"] > 1000 * many


def walks(names: dict[str, Any]) -> list[int]:
    return names["positions"]((3, 2), (1, 3), 0)


def readers(names: dict[str, Any]) -> int:
    """By how many indices one number of the windows is read at most."""
    ((shape, strides, offset),) = [
        facts for name, facts in names["facts"].items() if name.startswith("windows")
    ]
    found = names["positions"](shape, strides, offset)
    return max(found.count(p) for p in found)


def split_always(names: dict[str, Any]) -> bool:
    """An axis of any stride can be split: the strides that this takes walk the same."""
    walk = names["positions"]
    return all(
        walk((n * m,), (s,), 40) == walk((n, m), (m * s, s), 40)
        for n, m, s in itertools.product((1, 2, 3), (1, 2, 4), (-3, 0, 1, 5))
    )


CLAIMS = [
    Claim(
        "The two factors, 3 and 1",
        lambda names: (
            [[names["numbers"][3 * i + j] for j in range(3)] for i in range(2)]
            == [[1, 2, 3], [4, 5, 6]]
        ),
    ),
    Claim(
        "With the **shape** (2, 3), the strides (3, 1), and the position of the first number, the\n"
        "**offset** 0, the table is described completely",
        lambda names: (
            (names["table"].shape, names["table"].strides, names["table"].offset)
            == ((2, 3), (3, 1), 0)
        ),
        when="next",
    ),
    Claim(
        "the shape (3, 2),\nthe strides (1, 3). What table is that?",
        lambda names: names["PRINTED"].endswith("[[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]]\n"),
        when="next",
    ),
    Claim(
        "It is the first table with rows and columns exchanged",
        lambda names: walks(names) == [0, 3, 1, 4, 2, 5],
        when="end",
    ),
    Claim(
        "The last column is the real library's, and agrees",
        lambda names: all(
            names["strides_for"](shape) == tutor.Tensor.zeros(*shape).stride()
            for shape in ((2, 3, 4), (5,), (1,), (2, 1, 6))
        ),
    ),
    Claim(
        "A Buffer holds the numbers 0 to 11, each at its own position. What do these facts",
        lambda names: all(
            0 <= end <= 11 for facts in names["predicted"] for end in names["reach"](*facts)
        ),
        when="end",
    ),
    Claim(
        "where a\nsize is 0, there are none",
        lambda names: names["positions"]((2, 0), (1, 1), 0) == [],
        when="end",
    ),
    Claim(
        "a tensor of a hundred million elements has a hundred million of them",
        lambda names: names["zeros"]((10_000, 10_000), "uint8").numel() == 10**8,
        when="end",
    ),
    Claim(
        "the third is contiguous: its first axis has only\nthe index 0, and the 8 is never used",
        lambda names: (
            [
                names["row_by_row"](*facts)
                for facts in (((3, 2), (1, 3)), ((2, 2), (3, 1)), ((1, 3), (8, 1)))
            ]
            == [False, False, True]
        ),
        when="end",
    ),
    Claim(
        "Six of its methods are written",
        lambda names: (
            len(
                [
                    name
                    for name in vars(names["Tensor"])
                    if name in ("numel", "is_contiguous", "positions", "item", "tolist", "__repr__")
                ]
            )
            == 6
        ),
        when="end",
    ),
    Claim(
        "its first axis is axis 2 of `t`, then come 0 and 1",
        lambda names: names["permute"](names["zeros"]((2, 3, 4)), (2, 0, 1)).shape == (4, 2, 3),
        when="end",
    ),
    Claim(
        "counted from the end, as -1 is the last. Without any, the last two are exchanged",
        lambda names: (
            names["transpose"](names["zeros"]((2, 3, 4))).shape == (2, 4, 3)
            and names["transpose"](names["zeros"]((2, 3, 4)), 0, -1).shape == (4, 3, 2)
        ),
        when="end",
    ),
    Claim(
        "Some millionths of a second, for a hundred million numbers or for six", cheap, when="end"
    ),
    Claim(
        "The real library does the same",
        lambda names: names["y"].buf is names["x"].buf and names["y"].shape == (200, 100),
        when="next",
    ),
    Claim(
        "Two numbers are read by no index now",
        lambda names: len(names["t"].buf) - len(set(names["part"].positions())) == 2,
    ),
    Claim(
        "All of them changed: there is only one memory to change",
        lambda names: (
            "it is [[1.0, 0.0, 0.0], [4.0, 0.0, 0.0]]" in names["PRINTED"]
            and names["flipped"].tolist() == [[4.0, 0.0, 0.0], [1.0, 0.0, 0.0]]
        ),
    ),
    Claim(
        "A result that stands in the same Buffer has\ncopied nothing",
        lambda names: names["PRINTED"].count("copied 0 bytes") == 3,
        when="next",
    ),
    Claim(
        "One of the sizes may be -1, and is worked out from the others",
        lambda names: names["reshape"](names["a"], (3, -1)).shape == (3, 2),
        when="end",
    ),
    Claim(
        "`t` has six `float32`",
        lambda names: "it is (0, 24)" in names["PRINTED"],
        when="next",
    ),
    Claim(
        "In the second case the order is 1 4 2 5 3 6. In memory that is a walk over positions"
        " 0 3 1 4 2 5: forward by\nthree, back by two",
        lambda names: (
            names["flat"].tolist() == [1, 4, 2, 5, 3, 6] and walks(names) == [0, 3, 1, 4, 2, 5]
        ),
    ),
    Claim(
        "You will meet this message one day",
        lambda names: "view" in names["PRINTED"] and "stride" in names["PRINTED"],
        when="next",
    ),
    Claim(
        "One axis of 4 became two, of 2 and 2, and all was well: an axis can always be **split**",
        lambda names: names["halves"].buf is names["left"].buf and split_always(names),
    ),
    Claim(
        "`merge((2, 3), (3, 1), 0)` is `((6,), (1,))`. Every size is 1 or more",
        lambda names: names["merge"]((2, 3), (3, 1), 0) == ((6,), (1,)),
        when="end",
    ),
    Claim(
        "Ask them about a table that is typed in as a list, and all of them are right",
        lambda names: (
            names["PRINTED"] == "[2.0, 4.0, 6.0, 8.0] Tensor([1.0, 2.0, 3.0, 4.0], float32) 3.0\n"
        ),
        when="next",
    ),
    Claim(
        "`reshaped` makes new strides and the offset 0, and throws away those\nthat were there:"
        " after a transpose it gives back the old order",
        lambda names: (
            names["reshaped"](names["transpose"](names["a"]), (6,)).tolist() == [1, 2, 3, 4, 5, 6]
        ),
        when="next",
    ),
    Claim(
        "in a table of two rows and three columns, `[0, 5]` is `[1, 2]`",
        lambda names: names["PRINTED"].startswith("element [0, 5]: 6.0"),
        when="next",
    ),
    Claim(
        "The Buffer holds 0 to 11, and\nwe think of it as a table of three rows and four columns",
        lambda names: names["positions"]((3, 4), (4, 1), 0) == list(range(12)),
        when="end",
    ),
    Claim(
        "one number is read by up to three indices", lambda names: readers(names) == 3, when="end"
    ),
    Claim(
        "it counts the blocks of memory that it takes",
        lambda names: (
            "for five views: 0\n" in names["PRINTED"]
            and "contiguous transpose: 1\n" in names["PRINTED"]
        ),
        when="next",
    ),
    Claim(
        "look at the facts, not at the elements. Every size is 1 or more; an axis of size 1"
        " may have any stride",
        lambda names: (
            names["view_strides"]((10**6, 10**6), (10**6, 1), (10**12,)) == (1,)
            and names["positions"]((1, 3), (8, 1), 0) == names["positions"]((1, 3), (0, 1), 0)
        ),
        when="end",
    ),
    Claim(
        "if no facts read just these positions. An axis of size 1 may have any\nstride",
        lambda names: names["facts_of"]([0, 1, 3]) is None,
        when="end",
    ),
]
NOT_CLAIMS = {
    "Strides may be negative or 0; every\nsize is 1 or more": "what the exercise is given",
    "is never used. Write the function; every size is 1 or more": "what the exercise is given",
}
