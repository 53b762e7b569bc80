"""What the text of chapter 4b claims."""

from __future__ import annotations

import math
from typing import Any

from prose import Claim


def holds_integers(names: dict[str, Any], bits: int, dtype: str) -> bool:
    """Whether a float dtype holds 2**bits, and not the integer behind it."""
    t = names["Tensor"]([2**bits, 2**bits + 1], dtype="float64" if dtype == "float32" else "int64")
    return [int(x) for x in names["cast"](t, dtype).tolist()] == [2**bits, 2**bits]


def broken_cases(names: dict[str, Any]) -> bool:
    """Where a result does not hold all: int64 or uint64 with a float, uint64 with a sign."""
    kinds = {d: sizes[0] for d, sizes in names["SIZES"].items()}
    true = names["SIZES"] | {"float64": (2, 1, 53)}
    found = set()
    for a in true:
        for b in true:
            needed = [max(pair) for pair in zip(true[a], true[b], strict=True)]
            if any(map(int.__lt__, true[names["promote"](a, b)], needed)):
                found.add(frozenset((a, b)))
    signed = {d for d, sizes in true.items() if sizes[:2] == (1, 1)}
    floats = {d for d in true if kinds[d] == 2}
    wide = {frozenset((a, b)) for a in ("int64", "uint64") for b in floats}
    return found == wide | {frozenset(("uint64", b)) for b in signed}


def ordered(names: dict[str, Any]) -> bool:
    """Whether there are three dtypes for which promoting two at a time depends on the order."""
    promote = names["promote"]
    one = promote(promote("uint8", "int8"), "float16")
    other = promote(promote("uint8", "float16"), "int8")
    return bool(one != other and other == names["promote_all"](["uint8", "int8", "float16"]))


def numpy_is_faster(names: dict[str, Any]) -> bool:
    """Of a hundred thousand numbers, whatever else the machine is doing."""
    seconds = names["seconds"]
    return "numpy" not in seconds or seconds["numpy"] < seconds["python"]


CLAIMS: list[Claim] = [
    Claim(
        "e is 2.718..., and the library says that it is 2. Minus True is True",
        lambda names: (
            math.floor(math.e * 1000) == 2718
            and names["PYTHON"]["exp"] is names["lookup"]("exp", "int64")
            and names["integers"].exp().tolist() == [1, 2, 7]
            and (-names["answers"]).tolist() == [True, False]
        ),
    ),
    Claim(
        "with a ladder of 200 rungs written by a program",
        lambda names: (len(names["lines"]), names["ladder"]("op199")) == (401, "op199"),
        "next",
    ),
    Claim(
        "A ladder is *climbed*: to find the last rung, Python compares with all of them",
        lambda names: names["seconds"]["ladder, last rung"] > names["seconds"]["dictionary, any"],
        "next",
    ),
    Claim(
        "No wrong number any more, and a message that says what there is",
        lambda names: names["KERNELS"].keys() >= {("exp", "python", d) for d in names["LIMITS"]},
    ),
    Claim(
        "`x - y` and `x / y` take more than one step",
        lambda names: all(
            "call 2 of " in names["follow"]([call], x=names["a"], y=names["a"]).svg
            for call in ("x - y", "x / y")
        ),
    ),
    Claim(
        "int8 holds -128 to 127, uint8 holds 0 to 255",
        lambda names: (
            [
                names["Tensor"]([low, high], dtype=dtype).tolist()
                for dtype, low, high in (
                    ("int8", -128, 127),
                    ("uint8", 0, 255),
                    ("int8", -129, 128),
                    ("uint8", -1, 256),
                )
            ]
            == [[-128, 127], [0, 255], [127, -128], [255, 0]]
        ),
    ),
    Claim(
        "A float32 has 24 of them; beyond 2**24 it has to leave integers out",
        lambda names: holds_integers(names, 24, "float32"),
    ),
    Claim(
        "A float64 has 53 bits for the magnitude, and the table says 64",
        lambda names: names["SIZES"]["float64"][2] == 64 and holds_integers(names, 53, "float64"),
    ),
    Claim(
        "So in these few cases the rule is broken",
        broken_cases,
        "end",
    ),
    Claim(
        "An int64 (`q`) that meets a uint64 (`Q`) is a float64 (`d`)",
        lambda names: names["promote"]("int64", "uint64") == "float64" and names["differ"] == 0,
    ),
    Claim(
        "And int32 (`i`) with float32 (`f`) is a float64, too; here the rule holds",
        lambda names: names["promote"]("int32", "float32") == "float64",
    ),
    Claim(
        "the half of an int32 tensor plus 0.5 must not be lost",
        lambda names: names["beside"](0.5, "int32") == "float32",
        "next",
    ),
    Claim(
        "`-y` comes first, and -1 as a uint8 is 255",
        lambda names: (
            (-names["y"]).tolist() == [255] and (names["x"] - names["y"]).tolist() == [256.5]
        ),
    ),
    Claim(
        "These are right. Which pairs are not?",
        lambda names: all(
            names["linear"](a, b) == names["promote"](a, b)
            for a, b in (("int8", "int32"), ("bool", "float32"), ("float32", "float64"))
        ),
    ),
    Claim(
        "cells with a 2 are there on both backends",
        lambda names: (
            not names["numpy"]
            or {backend for name, backend, dtype in names["KERNELS"] if name == "add"}
            == {"python", "numpy"}
        ),
    ),
    Claim(
        "Predict how many times faster the other backend adds a hundred thousand numbers",
        numpy_is_faster,
        "next",
    ),
    Claim(
        "The most expensive operation of all gains most",
        numpy_is_faster,
        "next",
    ),
    Claim(
        "It does: find three dtypes for which it does",
        ordered,
        "next",
    ),
]
NOT_CLAIMS: dict[str, str] = {}
