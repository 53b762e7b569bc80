"""What the text of chapter 3 claims."""

from __future__ import annotations

from typing import Any

from prose import Claim


def refused(function: Any, *args: Any) -> bool:
    """Whether a call is a ValueError."""
    try:
        function(*args)
    except ValueError:
        return True
    return False


CLAIMS: list[Claim] = [
    Claim(
        "`v` has 2 rows of 3",
        lambda names: names["v"].shape == (2, 3) and names["naive"](names["v"], 1, 2) == 6,
    ),
    Claim(
        "There is no column 5, and still we got a number: `0 * 3 + 5 * 1` is 5, and position 5",
        lambda names: names["naive"](names["v"], 0, 5) == names["v"].buf[0 * 3 + 5 * 1],
    ),
    Claim(
        "The last element of row 1 came out as 3 instead of 6, because -1 stepped back",
        lambda names: names["found"][1] == 3 and names["v"].tolist()[1][-1] == 6,
    ),
    Claim(
        "`v[1]`, which ought to be a row, is a single number",
        lambda names: isinstance(names["found"][2], float),
    ),
    Claim(
        "where row 0 ends, row 1 begins",
        lambda names: names["v"].positions()[3] == names["v"].positions()[2] + 1,
    ),
    Claim(
        "the offset must not move; it could point behind the end of the Buffer",
        lambda names: names["sliced"](3, 4, slice(3, None)) == (0, 4, 0),
        "next",
    ),
    Claim(
        "A negative step is a negative stride, and the walk begins at the other end",
        lambda names: names["sliced"](4, 1, slice(None, None, -2)) == (2, -2, 3),
    ),
    Claim(
        "so do the three calls from the beginning",
        lambda names: "6.0, " in names["PRINTED"] and "axis 1" in names["PRINTED"],
        "next",
    ),
    Claim(
        "not one copy among 500 views",
        lambda names: names["agreed"] == 500 and names["PRINTED"].count("\n") == 4,
    ),
    Claim(
        "a digit of 28 by 28 dots",
        lambda names: names["image"].shape == (28, 28),
        "next",
    ),
    Claim(
        "each is a different walk over the same 784 numbers",
        lambda names: (
            {len(walk.buf) for walk in names["walks"].values()} == {784}
            and len({id(walk.buf) for walk in names["walks"].values()}) == 1
            and len(names["walks"]) == 6
        ),
        "next",
    ),
    Claim(
        "So let two numbers pretend to be two thousand",
        lambda names: (len(names["wide"].buf), names["wide"].numel()) == (2, 2000),
        "next",
    ),
    Claim(
        "That is **a stride of 0**",
        lambda names: names["wide"].strides == (1, 0),
        "next",
    ),
    Claim(
        "Here is a row that is added to each of four rows",
        lambda names: names["four_rows"].shape == (4, 3),
        "next",
    ),
    Claim(
        "Where two sizes are neither equal nor 1, nothing can be done",
        lambda names: refused(names["broadcast_shapes"], (2, 3), (3, 2)),
        "end",
    ),
    Claim(
        "Be careful with an axis of size 0: beside a 1 it is not an error",
        lambda names: names["mismatch"]((0,), (1,)) is None,
        "next",
    ),
    Claim(
        "An axis of size 0 beside a 1 has size 0",
        lambda names: names["broadcast_shapes"]((0,), (1,)) == (0,),
        "next",
    ),
    Claim(
        "but also a `t` that is *larger* than `shape` on some axis",
        lambda names: refused(names["expand"], names["Tensor"]([[1, 2], [3, 4]]), (1, 2)),
        "next",
    ),
    Claim(
        "with strides that are all 0",
        lambda names: names["expand"](names["Tensor"](7), (2, 3)).strides == (0, 0),
    ),
    Claim(
        "made of nine numbers, each of which was read nine times along the row and nine times",
        lambda names: (
            len(names["ones_to_nine"].buf) == 9
            and names["expand"](names["ones_to_nine"][:, None], (9, 9)).positions().count(0) == 9
            and names["times"].tolist()[6][7] == 56
        ),
    ),
    Claim(
        "One 9 was written, and a row of nines came out",
        lambda names: names["stretched"].tolist() == [[9] * 3, [2] * 3],
    ),
    Claim(
        "so the predictions have shape (4, 1)",
        lambda names: names["predictions"].shape == (4, 1),
        "next",
    ),
    Claim(
        "so they have shape (4,)",
        lambda names: names["targets"].shape == (4,),
        "next",
    ),
    Claim(
        "Sixteen differences instead of four: a column against a row is a table of all pairs. The "
        "mean is not 0, no error was raised",
        lambda names: names["differences"].numel() == 16 and sum(names["squares"]) / 16 == 2.5,
    ),
    Claim(
        "and the prevention is a loss that does not broadcast. tutor's does not",
        lambda names: "the shapes differ" in names["PRINTED"],
        "next",
    ),
    Claim(
        "So each collects four corrections: their sum",
        lambda names: (
            names["reduce_to"](names["Tensor"]([[1, 2, 3]] * 4), (3,)).tolist() == [4, 8, 12]
        ),
        "next",
    ),
    Claim(
        "Shape (2, 3) plus shape (3, 2) has the same count of numbers on both sides, so nobody",
        lambda names: (
            names["sketch_add"](names["v"], names["v"].over((3, 2), (2, 1), 0)).shape == (2, 3)
        ),
    ),
    Claim(
        "A size that is below 1 or above n is a ValueError",
        lambda names: all(
            refused(names["windows"], names["Tensor"]([1, 2, 3]), size) for size in (0, 4)
        ),
        "next",
    ),
    Claim(
        "moves all numbers up by one",
        lambda names: (
            (t := names["Tensor"]([1, 2, 3]), names["assign"](t, slice(1, None), t[:-1]))[
                0
            ].tolist()
            == [1, 1, 2]
        ),
        "next",
    ),
]
NOT_CLAIMS: dict[str, str] = {
    "a new axis, of size 1 | any; we say 0": "the rule itself, which 03.6 is checked by",
    "a tensor of shape (3, 4), strides (4, 1) and offset 0": "the input of the prediction",
    "when the row index grows by 1": "how a walk is described",
    "it counts as 1": "the agreement, by which 03.2 is checked",
    "**equal, or one of them 1**. The 1 is stretched": "the agreement, by which 03.2 is checked",
    "-1 is the last": "how axes are counted, by which 03.3 is checked",
    "has size 0, as the 1 is read no times at all": "why, beside the claim that it is so",
    "Axes of size 1, and axes that": "the task of 03.7, which is checked",
    "A bias of shape (3,)": "the input of the story, and of the claim below it",
    "of shape (4, 3), and must become one correction for the bias, of shape (3,)": "the same",
    "(..., n - size + 1, size)": "the task of 03.s1, which is checked",
}
