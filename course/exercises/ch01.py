"""Chapter 1, bytes: five exercises, five questions."""

from __future__ import annotations

import math
import operator
import struct
from array import array
from collections.abc import Callable
from functools import partial
from typing import Any

from course.built.ch01 import FORMATS, Buffer, convert
from course.compare import short, what
from course.exercise import Judge, exercise, question
from tutor import viz

INTEGERS = [dtype for dtype in FORMATS if "int" in dtype]


# ---- 01.1 ----------------------------------------------------------------------------------------


@exercise(
    "01.1",
    "A row of numbers",
    answer="MyBuffer",
    minutes=15,
    hints=(
        "Three things must be remembered: the dtype, how many bytes one number takes, and the"
        " bytes. All else follows from them; so does the length.",
        "Make `bytearray(count * itemsize)` and fill it with `struct.pack_into(f'{count}{letter}',"
        " raw, 0, *numbers)`. Number i begins at byte `i * itemsize`.",
        "Before reading or writing position i: add the length if i is negative, and raise"
        " IndexError unless `0 <= i < len(self)`. Then"
        " `struct.unpack_from(letter, raw, i * itemsize)[0]`.",
    ),
)
def check_01_1(judge: Judge, answer: Any) -> None:
    """A class that holds numbers of twelve dtypes as bytes, and finds each again."""
    if not isinstance(answer, type):
        judge.fail({"got": what(answer), "expected": "a class"})
    for dtype in FORMATS:
        numbers = [1, 0, 0, 1, 1]
        ours, made = Buffer(numbers, dtype), f"b = MyBuffer({numbers}, {dtype!r})"
        b = judge.instance(answer, numbers, dtype)
        judge.called = f"{made}; b.raw"
        kept = judge.run(partial(getattr, b, "raw"))
        judge.that(isinstance(kept, bytearray), f"{what(kept)}, not a bytearray")
        judge.picture(viz.bytes(bytes(kept), dtype) if kept else None)
        judge.equal(list(kept), list(ours.raw))
        judge.called = f"{made}; b.dtype"
        judge.equal(judge.run(partial(getattr, b, "dtype")), dtype)
        judge.called = f"{made}; len(b)"
        judge.equal(judge.run(partial(len, b)), 5)
        for i in (*range(5), *range(-5, 0)):
            judge.called = f"{made}; b[{i}]"
            judge.equal(judge.run(partial(operator.getitem, b, i)), ours[i])
    judge.picture(None)
    b = judge.instance(answer, [1.5, -2.0, 3.25, 0.1])
    judge.equal(judge.run(lambda: b.dtype), "float32", given="b.dtype, where none was named")
    for i, value in ((2, 8.0), (-4, 0.5), (-1, 7)):
        judge.called = f"b[{i}] = {value}"
        judge.run(partial(operator.setitem, b, i, value))
    got = judge.run(lambda: [b[i] for i in range(4)])
    judge.equal(got, [0.5, -2.0, 8.0, 7.0], given="[1.5, -2.0, 3.25, 0.1], with three changed")
    for i in (4, -5, 100):
        judge.raises(IndexError, operator.getitem, b, i, called=f"b[{i}]", given="b of 4 numbers")
        call, given = f"b[{i}] = 1.0", "b of 4 numbers"
        judge.raises(IndexError, operator.setitem, b, i, 1.0, called=call, given=given)
    source = array("f", [1.0, 2.0])
    b = judge.instance(answer, source)
    source[0] = 9.0
    judge.equal(
        judge.run(lambda: b[0]), 1.0, given="b = MyBuffer(source), and then source[0] changes"
    )
    first, second = (judge.instance(answer, [x]) for x in (1.0, 2.0))
    judge.equal(judge.run(lambda: first[0]), 1.0, given="two of them, [1.0] and [2.0]: the first")
    judge.equal(judge.run(lambda: second[0]), 2.0, given="two of them, [1.0] and [2.0]: the second")
    empty = judge.instance(answer, [], "int16")
    judge.equal(judge.run(lambda: len(empty)), 0, given="len(b), no numbers at all")


# ---- 01.2 ----------------------------------------------------------------------------------------


@exercise(
    "01.2",
    "Casts",
    answer="cast",
    minutes=12,
    hints=(
        "You need the lowest and the highest number of the dtype. Both follow from its bits, and"
        " from whether its name begins with `u`. Then treat int and float apart.",
        "For an int: move the range so that it begins at 0, `(value - lowest) % 2**bits`, and back."
        " For a float: first nan, then the ends, and `int(...)` last, as int(inf) raises.",
        "`bits = 8 * struct.calcsize(FORMATS[dtype])`, `lowest = 0` or `-(2 ** (bits - 1))`,"
        " `highest = lowest + 2**bits - 1`; for a float `int(min(max(value, lowest), highest))`.",
    ),
)
def check_01_2(judge: Judge, answer: Any) -> None:
    """Whole numbers wrap, floats are cut towards 0 and stay in range, nan is 0."""
    whole = [0, 1, 127, 128, 255, 256, 300, -1, -128, -129, 40_000, 65_536, 10**9, -(10**9)]
    whole += [2**31, 2**53 + 1, 2**63 - 1, 2**63, -(2**63) - 1, 2**64 + 5, -(10**30)]
    floats = [0.0, 3.9, -3.9, 0.5, -0.5, 200.7, -200.7, 1e9, -1e9, 2.0**63, -(2.0**63), 1e300]
    floats += [math.inf, -math.inf, math.nan]
    for values in (whole, floats):
        for dtype in INTEGERS:
            for value in values:
                judge.equal(judge.call(answer, value, dtype), convert(value, dtype))


# ---- 01.3 ----------------------------------------------------------------------------------------


class _Keeps:
    """Keeps what it was given, as it is."""

    def __init__(self, source: Any) -> None:
        self.source = source

    def __len__(self) -> int:
        return len(self.source)

    def __getitem__(self, i: int) -> float:
        return float(self.source[i])


def keeps_everything(source: Any) -> _Keeps:
    return _Keeps(source)


def copies(source: Any) -> Buffer:
    return Buffer(source)


def keeps_arrays_of_f(source: Any) -> Any:
    return (
        _Keeps(source) if isinstance(source, array) and source.typecode == "f" else Buffer(source)
    )


@exercise(
    "01.3",
    "Whose memory is it?",
    answer="shares",
    minutes=8,
    hints=(
        "Make the Buffer, change one number of the source, and look whether the Buffer's number"
        " moved.",
        "The new number must differ from the old one, whatever the old one is: adding 1 to 1e20"
        " changes nothing. And put the old number back before you return.",
        "`buffer, old = make(source), source[0]`, remember `buffer[0]`, then"
        " `source[0] = 1.0 if old != 1.0 else 2.0`, compare, `source[0] = old`, return.",
    ),
)
def check_01_3(judge: Judge, answer: Any) -> None:
    """True where a change of the source is seen in the Buffer; and the source is as it was."""
    rows = ([5.0, 6.0], [0.0], [1.0, 1.0], [2.0], [-0.5], [2.0**70, 3.0])
    makers: tuple[tuple[Callable[[Any], Any], Callable[[Any], bool]], ...] = (
        (copies, lambda source: False),
        (keeps_everything, lambda source: True),
        (keeps_arrays_of_f, lambda source: isinstance(source, array) and source.typecode == "f"),
    )
    for make, expected in makers:
        for row in rows:
            for source in (row, array("f", row), array("d", row)):
                judge.equal(judge.call(answer, make, source), expected(source))


# ---- 01.4 ----------------------------------------------------------------------------------------

PREDICTED = (
    ("uint16", 258),
    ("int16", -1),
    ("uint8", 300),
    ("int32", 65536),
    ("bool", 7),
    ("uint16", 99.9),
    ("float32", -0.0),
)


@exercise(
    "01.4",
    "Predict bytes",
    answer="predicted",
    minutes=6,
    hints=(
        "How many bytes each takes is in its name, so begin with lists of the right length. Then"
        " write the number in base 256, lowest digit first.",
        "-1 is the last number before 0, so all of its bits are 1. 300 wraps, 99.9 is cut, and"
        " 65536 is 256 * 256.",
        "A bool is 0 or 1. -0.0 is 0.0, all bits 0, with the sign: the highest bit of the last"
        " byte, which alone is worth 128.",
    ),
)
def check_01_4(judge: Judge, answer: Any) -> None:
    """The bytes of seven numbers, lowest first."""
    if not isinstance(answer, dict):
        judge.fail({"got": short(answer), "expected": "the dict, with lists in place of the dots"})
    for dtype, number in PREDICTED:
        judge.picture(None)
        judge.that((dtype, number) in answer, f"the entry ({dtype!r}, {number}) is missing")
        raw, given = list(Buffer([number], dtype).raw), f"the bytes of {number} as {dtype}"
        got = answer[dtype, number]
        if isinstance(got, list):
            others = [short(x, 40) for x in got if type(x) is not int or not 0 <= x < 256]
            is_none = "is no byte, which is a whole number from 0 to 255"
            judge.that(not others, f"{', '.join(others[:1])} {is_none}", given=given)
            if len(got) == len(raw):  # show what the bytes that were given would mean
                judge.picture(viz.bytes(bytes(got), dtype, "uint8"))
            judge.equal(len(got), len(raw), given=f"how many bytes {number} takes as {dtype}")
        judge.equal(type(got).__name__, "list", given=f"the type of {given}")
        judge.that(got == raw, f"{got} are not its bytes", given=given)


# ---- 01.5 ----------------------------------------------------------------------------------------


@exercise(
    "01.5",
    "The first number that is missing",
    answer="first_missing",
    minutes=8,
    hints=(
        "The gaps double at powers of two. Below the power where the gap becomes 2 nothing is"
        " missing; just above it the odd numbers are.",
        "So it is 2**k + 1 for some k. Let n be 1, 2, 4, 8, ... and look whether n + 1 comes back"
        " from a Buffer as it went in.",
        "`n = 1`; `while Buffer([n + 1], dtype)[0] == n + 1: n *= 2`; then return n + 1. An int"
        " and a float are compared exactly by Python.",
    ),
)
def check_01_5(judge: Judge, answer: Any) -> None:
    """The smallest positive whole number that float16, float32 and float64 do not hold."""
    for dtype, fraction in (("float16", 10), ("float32", 23), ("float64", 52)):
        got = judge.call(answer, dtype)
        expected = 2 ** (fraction + 1) + 1
        if isinstance(got, int) and 0 < got < expected:
            held = struct.unpack(FORMATS[dtype], struct.pack(FORMATS[dtype], got))[0]
            judge.that(held != got, f"{got}, but {dtype} does hold {got}")
        judge.equal(got, expected)


# ---- the end box ---------------------------------------------------------------------------------

question(
    "01.q1",
    'How many bytes has Buffer([1, 2, 3], "float16").raw?',
    right=6,
    why="three numbers of 16 bits, which is 2 bytes, each",
)
question(
    "01.q2",
    "A million house numbers, the largest 40,000, are to take as little memory as possible.",
    choices={"a": "int16", "b": "uint16", "c": "int32", "d": "float16"},
    right="b",
    why="uint16 goes to 65535; int16 ends at 32767, and float16 has lost the odd ones long before",
)
question(
    "01.q3",
    'b = Buffer([16777216], "float32"), and then b[0] += 1. What is b[0]?',
    right=16777216,
    why="16777217 lies in the middle of a gap of 2, and is rounded back to where it came from",
)
question(
    "01.q4",
    'b = Buffer([127], "int8"), and then b[0] += 1. What is b[0]?',
    right=-128,
    why="127 is the largest int8; the clock goes on with the smallest",
)
question(
    "01.q5",
    "When may a Buffer share the memory of an array that it is made from?",
    choices={
        "a": "when the dtypes agree",
        "b": "when the array is large",
        "c": "when the caller asked for it",
    },
    right="c",
    why="else the caller's next change moves your numbers, or does not, as the dtypes have it",
)
