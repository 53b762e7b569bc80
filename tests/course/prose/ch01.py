"""What the text of chapter 1 claims."""

import math
import random
import struct
from fractions import Fraction
from typing import Any

import tutor
from prose import Claim
from tutor.viz.floats import take_apart


def patterns(dtype: str) -> list[float]:
    """A thousand positive floats, by rising patterns."""
    letter, bits = {"float16": ("H", 16), "float32": ("I", 32), "float64": ("Q", 64)}[dtype]
    largest = {"float16": 0x7BFF, "float32": 0x7F7FFFFF, "float64": 0x7FEFFFFFFFFFFFFF}[dtype]
    rng = random.Random(bits)
    rising = sorted(rng.randrange(largest) for _ in range(1000))
    float_letter = {"float16": "e", "float32": "f", "float64": "d"}[dtype]
    return [struct.unpack(float_letter, struct.pack(letter, one))[0] for one in rising]


def rising(names: dict[str, Any]) -> bool:
    """Patterns of positive floats are in order, and those of negative ones the other way round."""
    for dtype in ("float16", "float32", "float64"):
        found = patterns(dtype)
        if found != sorted(found):
            return False
    assert names["gap"](1.0, "float32") > 0
    return names["gap"](-1.0, "float32") < 0  # one pattern further is one number lower


def refuses(names: dict[str, Any], values: list[Any]) -> list[bool]:
    """Whether uint8 holds each of these, uncast."""
    held = []
    for value in values:
        try:
            struct.pack(names["FORMATS"]["uint8"], value)
        except struct.error:
            held.append(False)
        else:
            held.append(True)
    return held


def first(names: dict[str, Any]) -> list[int]:
    return [names["first_missing"](dtype) for dtype in ("float16", "float32", "float64")]


def ranges(names: dict[str, Any]) -> bool:
    """The ends that the formulas give are those that struct accepts, and one further it refuses."""
    for dtype, letter in names["FORMATS"].items():
        if "int" not in dtype:
            continue
        n = 8 * struct.calcsize(letter)
        low, high = (0, 2**n - 1) if dtype[0] == "u" else (-(2 ** (n - 1)), 2 ** (n - 1) - 1)
        struct.pack(letter, low)
        struct.pack(letter, high)
        for outside in (low - 1, high + 1):
            try:
                struct.pack(letter, outside)
            except struct.error:
                continue
            return False
    return True


def endless(names: dict[str, Any]) -> bool:
    """A number with an end in base 2 has a power of two for a denominator; base 10 likewise."""
    tenth, third = Fraction(1, 10), Fraction(1, 3)
    power_of_two = tenth.denominator & (tenth.denominator - 1) == 0
    return not power_of_two and 10**50 % third.denominator != 0


def costs(names: dict[str, Any]) -> bool:
    """The row read at once is added faster than number by number."""
    return names["times"]["all at once"] < names["times"]["one by one"]


def compared(printed: str) -> dict[tuple[str, str], str]:
    rows = [line.split() for line in printed.splitlines() if line]
    return {(row[0], row[1]): row[2] for row in rows if len(row) == 3}


def differ(names: dict[str, Any]) -> list[str]:
    found = compared(names["PRINTED"])
    questions = sorted({question for question, _ in found})
    return [one for one in questions if found[one, "yours"] != found[one, "tutor's"]]


CLAIMS = [
    Claim(
        "each of them a whole number from 0 to 255",
        lambda names: refuses(names, [-1, 0, 255, 256]) == [False, True, True, False],
        when="end",
    ),
    Claim("float of 64 bits", lambda names: struct.calcsize("d") == 8),
    Claim("Eight bytes, most of them 0", lambda names: list(names["eight"]).count(0) == 6),
    Claim("`f0` is 240", lambda names: 0xF0 == 240 and 240 in names["eight"]),
    Claim(
        "One number near 4.6 quintillion, or two numbers, 0 and 1.875, or eight small ones",
        lambda names: (
            round(struct.unpack("q", names["eight"])[0] / 1e18, 1) == 4.6
            and struct.unpack("2f", names["eight"]) == (0, 1.875)
        ),
    ),
    Claim(
        "Whole numbers are written in base 256, and on nearly every machine\nthe lowest digit comes"
        " first. 258 is 1 · 256 + 2",
        lambda names: list(struct.pack("<i", 258)) == [2, 1, 0, 0] and 258 == 1 * 256 + 2,
    ),
    Claim(
        "`u` must refuse to pack -1. (A bool takes anything.)",
        lambda names: refuses(names, [-1]) == [False] and struct.pack("?", -1) == b"\1",
    ),
    Claim(
        "there are 2ⁿ patterns, so a dtype of `n` bits has at most 2ⁿ different numbers",
        lambda names: len({struct.unpack("b", bytes([k]))[0] for k in range(256)}) == 2**8,
    ),
    Claim(
        "Unsigned ones count from 0 up to 2ⁿ - 1. Signed ones give half of their patterns\n"
        "to the numbers below 0: -2ⁿ⁻¹ to 2ⁿ⁻¹ - 1",
        ranges,
    ),
    Claim(
        '`"3f"` means three floats of 32 bits',
        lambda names: struct.calcsize("3f") == 3 * 4,
    ),
    Claim(
        "Number 2 begins at byte 2 · 4, since each takes 4 bytes",
        lambda names: names["PRINTED"].startswith("(30.0,)") and len(names["raw"]) == 12,
    ),
    Claim(
        "The back half of 20 and the front half of 30, read as one float",
        lambda names: (
            bytes(names["raw"][6:10]) == struct.pack("f", 20)[2:] + struct.pack("f", 30)[:2]
        ),
    ),
    Claim(
        "We wrote 10, a whole number, and read 10.0, a float",
        lambda names: "[10.0, 0.5, 30.0]" in names["PRINTED"],
    ),
    Claim(
        "`array` does not know all of our letters",
        lambda names: names["PRINTED"].endswith("it has none of ['bool', 'float16']\n"),
    ),
    Claim(
        "Write 0.1 into a `float32` and read it again",
        lambda names: "and it is False" in names["PRINTED"],
        when="next",
    ),
    Claim(
        "all of it in base 2",
        lambda names: (
            take_apart(0.1, "float32").value
            == (1 + take_apart(0.1, "float32").fraction / 2**23)
            * 2.0 ** take_apart(0.1, "float32").power
        ),
    ),
    Claim(
        "which power of 2 to multiply by, and the fraction says how far\n"
        "the digits are on their way from 1 to 2",
        lambda names: all(
            1 <= 1 + take_apart(x, "float32").fraction / 2**23 < 2 for x in (0.1, 1.0, 1.99, 3e38)
        ),
    ),
    Claim("In base 2 the digits of 0.1 go on for ever, as those of 1/3 do in base 10", endless),
    Claim(
        "Not even `float64` has 0.1; but Python itself calculates in `float64`,\nso we get back"
        " what we gave",
        lambda names: (
            Fraction(0.1) != Fraction(1, 10) and names["Buffer"]([0.1], "float64")[0] == 0.1
        ),
    ),
    Claim(
        "A larger exponent is a larger\nnumber, whatever the fraction",
        lambda names: take_apart(1.99, "float32").power < take_apart(2.0, "float32").power,
    ),
    Claim(
        "adding 1 to one of them moves the other to its neighbour. (For\nnegative floats the order"
        " is reversed",
        rising,
        when="next",
    ),
    Claim(
        "The numbers are dense near 0, and the gaps double with each power of two. From 2048 on"
        " those of\n`float16` are 2: it has no odd numbers there",
        lambda names: (
            names["gap"](2048.0, "float16") == 2
            and names["gap"](2047.0, "float16") == 1
            and names["gap"](0.001, "float16") < 1e-6
            and all(
                names["gap"](2.0 ** (k + 1), "float16") == 2 * names["gap"](2.0**k, "float16")
                for k in range(-10, 14)
            )
        ),
    ),
    Claim(
        "It gets stuck, without an error. 2049 lies halfway between two neighbours and is rounded"
        " to 2048",
        lambda names: names["count"][0] == 2048 and names["Buffer"]([2049], "float16")[0] == 2048,
    ),
    Claim(
        "the largest number, which is 65504 in `float16`",
        lambda names: names["PRINTED"] == "inf\n" and tutor.float16.max == 65504,
        when="next",
    ),
    Claim(
        "`float16` cannot count past 2048. `float32` has 24 binary digits where `float16` has 11,"
        " and `float64`\nhas 53",
        lambda names: first(names) == [2**11 + 1, 2**24 + 1, 2**53 + 1],
        when="end",
    ),
    Claim(
        "`uint8` holds 0 to 255. What do 300 and -1 become?",
        lambda names: "it is [44, 255]" in names["PRINTED"],
        when="next",
    ),
    Claim(
        "A clock of `int8` goes from -128 to 127, and after 127 comes -128",
        lambda names: (
            [names["as_integer"](n, "int8") for n in (127, 128, -128, -129)]
            == [127, -128, -128, 127]
        ),
        when="end",
    ),
    Claim(
        "What comes after the point is cut off, towards 0",
        lambda names: (
            names["PRINTED"] == "uint8 [3, 0, 255, 0, 255, 0]\nint8  [3, -3, 127, -128, 127, 0]\n"
        ),
    ),
    Claim(
        "which is *not a number*, becomes 0",
        lambda names: names["tutor"].Tensor([math.nan]).cast("int8").tolist() == [0],
    ),
    Claim(
        "all that is not 0 is True; nan, too",
        lambda names: (
            tutor.Tensor([0.0, 0.5, math.nan]).cast("bool").tolist() == [False, True, True]
        ),
    ),
    Claim(
        "So far a Buffer refuses what does not fit its dtype",
        lambda names: names["PRINTED"].count("error") + names["PRINTED"].count("Error") == 3,
        when="next",
    ),
    Claim(
        "Your Buffer takes anything now",
        lambda names: "[44, 255, 3, 0, 255, 0, 255, 0]\n" in names["PRINTED"],
    ),
    Claim(
        "one byte for each answer",
        lambda names: len(bytes(names["larger"].buf.raw)) == 3,
        when="next",
    ),
    Claim(
        "the caller's list has changed, the Buffer has not",
        lambda names: names["PRINTED"] == "[1.0, 2.0, 3.0]\n",
    ),
    Claim(
        "The caller changed something of their own, and our numbers moved",
        lambda names: "it is 100.0" in names["PRINTED"],
    ),
    Claim(
        "Buffer copies, always",
        lambda names: (
            not any(
                names["shares"](names["Buffer"], source) for source in names["sources"].values()
            )
        ),
    ),
    Claim("the last line does it on purpose", lambda names: names["PRINTED"].endswith("True\n")),
    Claim("One call that reads all numbers beats a million calls that read one each", costs),
    Claim(
        "Those objects have a price in memory, too",
        lambda names: names["as_list"] > 5 * len(names["a"].raw),
        when="next",
    ),
    Claim(
        "The two lines in which they differ",
        lambda names: differ(names) == ["flattens", "takes_300"],
    ),
    Claim(
        "As for 300 in a `uint8`",
        lambda names: names["Buffer"]([300], "uint8")[0] == 44,
    ),
    Claim(
        "It has a thirteenth,\n`bfloat16`: a `float32` without its lower half",
        lambda names: (
            len(tutor.dtype.TABLE) == 13
            and struct.unpack("I", struct.pack("I", 0x3F800000))[0] >> 16
            == struct.unpack("H", bytes(tutor.Buffer([1.0], dtype="bfloat16").raw))[0]
        ),
    ),
    Claim(
        "The memory begins at a multiple of 64 bytes",
        lambda names: all(
            tutor.Buffer([0.0] * n, dtype="float32").address % 64 == 0 for n in range(9)
        ),
    ),
    Claim(
        "It counts its changes",
        lambda names: names["PRINTED"].splitlines()[1:3] == ["0 0", "0 1"],
        when="next",
    ),
    Claim("does not\neven import it", lambda names: "\nFalse\n" in names["PRINTED"], when="next"),
    Claim(
        "`gap` went wrong for numbers below 0",
        lambda names: names["gap"](-1.0, "float32") < 0,
    ),
    Claim(
        "-0.0, as after 0.0, comes the smallest positive one",
        lambda names: (
            names["next_up"](-0.0, "float64") == names["next_up"](0.0, "float64") == 5e-324
        ),
        when="end",
    ),
    Claim(
        "`bfloat16` is the upper half of a `float32`: 16 bits, of which 8 are the exponent",
        lambda names: (
            take_apart(1.0, "bfloat16").exponent_bits == 8 and tutor.bfloat16.itemsize == 2
        ),
    ),
    Claim(
        "as its 16 bits in one whole number. Nearest: cutting off the\nlower half is not enough",
        lambda names: (
            names["bfloat16_bits"](0.1) != struct.unpack("I", struct.pack("f", 0.1))[0] >> 16
        ),
        when="end",
    ),
]
NOT_CLAIMS = {
    "What will these bytes be: 1, something near 1, or something": "a question, answered below",
    "base 16": "how bytes are usually written",
    "-0.1, 0.2, 1.0, 0.0": "numbers to try",
}
