"""Chapter 1, bytes: seven exercises, two challenges, five questions."""

from __future__ import annotations

import math
import operator
import random
import struct
from array import array
from collections.abc import Callable
from functools import partial
from typing import Any

from course.compare import short, what
from course.exercise import Judge, exercise, question
from course.library import ours
from tutor import viz

ch01 = ours(1)
FORMATS, Buffer = ch01.FORMATS, ch01.Buffer
INTEGERS = [dtype for dtype in FORMATS if "int" in dtype]
FLOATS = [dtype for dtype in FORMATS if "float" in dtype]


# ---- 01.1 ----------------------------------------------------------------------------------------


@exercise(
    "01.1",
    "A row of numbers",
    answer="Buffer",
    minutes=18,
    hints=(
        "Three things must be remembered: the dtype, how many bytes one number takes, and the"
        " bytes. The length follows from them. `raw = bytearray(pack(numbers, dtype))`.",
        "Number i begins at byte `i * itemsize`. So `count` numbers from `start` on are the slice"
        " of `raw` from `start * itemsize` to `(start + count) * itemsize`, for `unpack`; `write`"
        " puts `pack(numbers, dtype)` into that slice.",
        "Raise IndexError unless `0 <= start <= start + count <= len(self)`, before anything else."
        " Then `b[i]` is `self.read(i, 1)[0]`, after adding the length where i is negative.",
    ),
    why_ours="`place` is the one spot with a multiplication in it, and the one that raises. Reading"
    " and writing one number is a special case of reading and writing several: that is less to"
    " write, and less to get wrong.",
)
def check_01_1(judge: Judge, answer: Any) -> None:
    """A class that holds numbers of twelve dtypes as bytes, and finds each again."""
    if not isinstance(answer, type):
        judge.fail({"got": what(answer), "expected": "a class"})
    for dtype in FORMATS:
        numbers = [1, 0, 0, 1, 1]
        ours, made = Buffer(numbers, dtype), f"b = Buffer({numbers}, {dtype!r})"
        b = judge.instance(answer, numbers, dtype)
        judge.called = f"{made}; b.raw"
        kept = judge.run(partial(getattr, b, "raw"))
        judge.that(isinstance(kept, bytearray), f"{what(kept)}, not a bytearray")
        judge.picture(viz.bytes(bytes(kept), dtype) if kept else None)
        judge.equal(list(kept), list(ours.raw))
        for name, wanted in (("dtype", dtype), ("itemsize", ours.itemsize)):
            judge.called = f"{made}; b.{name}"
            judge.equal(judge.run(partial(getattr, b, name)), wanted)
        judge.called = f"{made}; len(b)"
        judge.equal(judge.run(partial(len, b)), 5)
        for i in (*range(5), *range(-5, 0)):
            judge.called = f"{made}; b[{i}]"
            judge.equal(judge.run(partial(operator.getitem, b, i)), ours[i])
    judge.picture(None)
    _several(judge, answer)
    _one(judge, answer)
    _whose(judge, answer)
    _by_pack(judge, answer)


def _several(judge: Judge, answer: Any) -> None:
    """read and write, inside and outside."""
    numbers = [1.5, -2.0, 3.25, 8.0, 0.5, 7.0]
    b = judge.instance(answer, numbers, "float32")
    for start, count in ((0, 6), (0, 2), (2, 3), (5, 1), (4, 2), (3, 0), (6, 0)):
        got = judge.call(b.read, start, count, given=f"b = Buffer({numbers})")
        judge.equal(got, tuple(numbers[start : start + count]), given=f"b = Buffer({numbers})")
    for start, new in ((1, [10.0, 20.0]), (5, (30.0,)), (0, array("d", [40.0])), (2, [])):
        judge.call(b.write, start, new)
        numbers[start : start + len(new)] = list(new)
        got = judge.run(lambda: [b[i] for i in range(6)])
        judge.equal(got, numbers, given="all numbers after it")
        judge.equal(judge.run(lambda: len(b)), 6, given="len(b) after it")
    given = "b of 6 numbers"
    for start, count in ((6, 1), (5, 2), (0, 7), (-1, 1), (-1, 2), (100, 1), (7, 0)):
        judge.raises(
            IndexError, b.read, start, count, given=given, called=f"b.read({start}, {count})"
        )
    for start, new in ((6, [1.0]), (5, [1.0, 2.0]), (-1, [1.0]), (0, [9.0] * 7)):
        judge.raises(
            IndexError, b.write, start, new, given=given, called=f"b.write({start}, {new})"
        )
        got = judge.run(lambda: [b[i] for i in range(6)])
        judge.equal(got, numbers, given="all numbers, after a write that had to raise")


def _one(judge: Judge, answer: Any) -> None:
    """b[i] and b[i] = x."""
    b = judge.instance(answer, [1.5, -2.0, 3.25, 0.1])
    judge.equal(judge.run(lambda: b.dtype), "float32", given="b.dtype, where none was named")
    for i, value in ((2, 8.0), (-4, 0.5), (-1, 7)):
        judge.called = f"b[{i}] = {value}"
        judge.run(partial(operator.setitem, b, i, value))
    got = judge.run(lambda: [b[i] for i in range(4)])
    judge.equal(got, [0.5, -2.0, 8.0, 7.0], given="[1.5, -2.0, 3.25, 0.1], with three changed")
    for i in (4, -5, 100, -9):
        judge.raises(IndexError, operator.getitem, b, i, called=f"b[{i}]", given="b of 4 numbers")
        call, given = f"b[{i}] = 1.0", "b of 4 numbers"
        judge.raises(IndexError, operator.setitem, b, i, 1.0, called=call, given=given)


def _whose(judge: Judge, answer: Any) -> None:
    """Its memory is its own, and all that it holds is in there."""
    source = array("f", [1.0, 2.0])
    b = judge.instance(answer, source)
    source[0] = 9.0
    given = "b = Buffer(source), and then source[0] changes"
    judge.equal(judge.run(lambda: b[0]), 1.0, given=given)
    first, second = (judge.instance(answer, [x]) for x in (1.0, 2.0))
    judge.equal(judge.run(lambda: first[0]), 1.0, given="two of them, [1.0] and [2.0]: the first")
    judge.equal(judge.run(lambda: second[0]), 2.0, given="two of them, [1.0] and [2.0]: the second")
    empty = judge.instance(answer, [], "int16")
    judge.equal(judge.run(lambda: len(empty)), 0, given="len(b), no numbers at all")
    given = "b = Buffer([], 'int16'), and then b.raw = bytearray([1, 0, 2, 0, 3, 1])"
    empty.raw = bytearray([1, 0, 2, 0, 3, 1])
    judge.called = "len(b)"
    judge.equal(judge.run(lambda: len(empty)), 3, given=given)
    judge.called = "b.read(0, 3)"
    wanted = struct.unpack("3h", bytes([1, 0, 2, 0, 3, 1]))
    judge.equal(judge.run(lambda: empty.read(0, 3)), wanted, given=given)
    wide, narrow = judge.instance(answer, [1.0], "float32"), judge.instance(answer, [0], "uint32")
    narrow.raw = wide.raw
    judge.run(partial(operator.setitem, wide, 0, -2.0))
    judge.called = "a[0] = -2.0; b[0]"
    given = "a of float32 and b of uint32 over one memory: b.raw = a.raw"
    judge.equal(judge.run(lambda: narrow[0]), 0xC0000000, given=given)


def _by_pack(judge: Judge, answer: Any) -> None:
    """Numbers go in through `pack`, which a later exercise changes; many of them in one go."""
    functions = [f for f in vars(answer).values() if hasattr(f, "__globals__")]
    space: dict[str, Any] = functions[0].__globals__ if functions else {}
    before = {name: space.get(name) for name in ("pack", "unpack")}
    calls = {"pack": 0, "unpack": 0}

    def counted(name: str) -> Callable[..., Any]:
        def call(*args: Any) -> Any:
            calls[name] += 1
            return getattr(ch01, name)(*args)

        return call

    def once(name: str, what_it_is: str, action: Callable[[], Any]) -> Any:
        calls.update(pack=0, unpack=0)
        judge.called, judge.given = what_it_is, ""
        found = judge.run(action)
        if name == "pack":
            words = "it does without `pack`, which is going to learn about numbers that do not fit"
            judge.that(calls[name], words)
        many = f"it calls `{name}` {calls[name]} times, and once is enough for all of them"
        judge.that(calls[name] <= 1, many)
        return found

    numbers = [float(n) for n in range(100)]
    space.update({name: counted(name) for name in calls})
    try:
        b = once("pack", "b = Buffer(a hundred numbers)", lambda: answer(numbers))
        once("pack", "b.write(10, fifty numbers)", lambda: b.write(10, numbers[:50]))
        once("pack", "b[1] = 5.0", lambda: operator.setitem(b, 1, 5.0))
        once("unpack", "b.read(10, 50)", lambda: b.read(10, 50))
    finally:
        space.update(before)
    b = judge.instance(answer, range(500_000))
    judge.called = "b = Buffer(range(500_000)); [b[i] for i in range(2000)]"
    judge.equal(judge.run(lambda: [b[i] for i in range(2000)]), [float(i) for i in range(2000)])


# ---- 01.2, 01.6, 01.7: numbers that do not fit ---------------------------------------------------

WHOLE = [0, 1, 127, 128, 255, 256, 300, -1, -128, -129, 40_000, 65_536, 10**9, -(10**9)]
WHOLE += [2**31, 2**53 + 1, 2**63 - 1, 2**63, -(2**63) - 1, 2**64 + 5, -(10**30)]
BROKEN = [0.0, 3.9, -3.9, 0.5, -0.5, 200.7, -200.7, 1e9, -1e9, 2.0**63, -(2.0**63), 1e300]
BROKEN += [math.inf, -math.inf, math.nan]


@exercise(
    "01.2",
    "Whole numbers",
    answer="as_integer",
    minutes=12,
    hints=(
        "You need the lowest and the highest number of the dtype. Both follow from its bits, and"
        " from whether its name begins with `u`. Then treat int and float apart.",
        "For an int: move the range so that it begins at 0, `(value - lowest) % 2**bits`, and back."
        " For a float: first nan, then the ends, and `int(...)` last, as int(inf) raises.",
        "`bits = 8 * struct.calcsize(FORMATS[dtype])`, `lowest = 0` or `-(2 ** (bits - 1))`,"
        " `highest = lowest + 2**bits - 1`; for a float `int(min(max(value, lowest), highest))`.",
    ),
    without=("tutor",),
    why_ours="Wrapping is one line: move the range so that it begins at 0, take the remainder, move"
    " it back. Python's `%` never gives anything negative here, which that of C does.",
)
def check_01_2(judge: Judge, answer: Any) -> None:
    """Whole numbers wrap, floats are cut towards 0 and stay in range, nan is 0."""
    for values in (WHOLE, BROKEN):
        for dtype in INTEGERS:
            for value in values:
                judge.equal(judge.call(answer, value, dtype), ch01.as_integer(value, dtype))


def edges(dtype: str) -> list[float]:
    """The largest float of a dtype, what is still rounded to it, and what no longer is."""
    limit, (digits, size) = (
        ch01.LIMITS[dtype],
        {"float16": (11, 16), "float32": (24, 128)}.get(dtype, (53, 1024)),
    )
    largest = 2**size - 2 ** (size - digits)
    return [largest, limit - 1, limit, limit + 1, 2 * limit, 10**400]


@exercise(
    "01.6",
    "All twelve",
    answer="convert",
    minutes=6,
    hints=(
        "Three sorts, three returns: bool first, then the eight integers, then the floats. The keys"
        " of LIMITS are the float dtypes.",
        "For a float dtype: `abs(value) >= LIMITS[dtype]` means infinity, of which sign? Any other"
        " number is given back as it is. nan compares as False with everything.",
        "`if dtype == 'bool': return bool(value)`; `if dtype not in LIMITS: return"
        " as_integer(value, dtype)`; then `math.inf if value > 0 else -math.inf`, or value.",
    ),
    why_ours="nan needs no line of its own: every comparison with it is False, so it falls through"
    " to the last `return`.",
)
def check_01_6(judge: Judge, answer: Any) -> None:
    """A bool, an integer in range, a number that struct can round, or an infinity."""
    for value in (0, 1, 7, -3, 0.0, 0.5, -0.0, math.nan, math.inf, 10**400):
        judge.equal(judge.call(answer, value, "bool"), bool(value))
    for dtype in INTEGERS:
        for value in (*WHOLE[::2], *BROKEN):
            judge.equal(judge.call(answer, value, dtype), ch01.as_integer(value, dtype))
    for dtype in FLOATS:
        ends = edges(dtype)
        for value in (0, 3, -7, *BROKEN, *ends, *(-end for end in ends)):
            got = judge.call(answer, value, dtype)
            good = type(got) in (int, float, bool)
            judge.that(good, f"{what(got)} is no number")
            try:
                packed = struct.pack(FORMATS[dtype], got)
            except (struct.error, OverflowError):
                judge.fail({"got": short(got, 60), "found": f"{dtype} cannot hold that"})
            wanted = struct.pack(FORMATS[dtype], ch01.convert(value, dtype))
            (now,), (right,) = (struct.unpack(FORMATS[dtype], raw) for raw in (packed, wanted))
            judge.equal(now, right, given=f"what {dtype} then holds", signs=True)


def _touching(name: str) -> Any:
    """A method of float, which is counted."""

    def method(self: Watched, *others: Any) -> Any:
        Watched.touched += 1
        return getattr(float, name)(self, *others)

    return method


class Watched(float):
    """A float that notices when it is compared or calculated with."""

    touched = 0
    __abs__, __lt__, __le__ = map(_touching, ("__abs__", "__lt__", "__le__"))
    __gt__, __ge__, __int__ = map(_touching, ("__gt__", "__ge__", "__int__"))


ROWS: tuple[tuple[str, list[Any]], ...] = (
    ("float32", [1.5, -2.0, 0.1]),
    ("int16", [1, -2, 300]),
    ("uint8", [300, -1]),
    ("uint8", [1, 2, 300, 3.9, -5.0, math.nan]),
    ("int8", [127, 128, -129, 1e9]),
    ("int32", [2.5, -2.5]),
    ("int64", [2**63, -1, 7]),
    ("uint64", [-1, 5.5, 2**64]),
    ("float16", [65519, 65520, -1e9, 0.1]),
    ("float16", [0.5, 1e9]),
    ("float32", [1e39, 1, -1e39, math.nan, math.inf]),
    ("float64", [10**400, -(10**400), 0.1]),
    ("bool", [0, 0.5, 7, math.nan, 0.0]),
    ("uint16", []),
)


@exercise(
    "01.7",
    "Numbers that do not fit",
    answer="pack",
    minutes=6,
    hints=(
        "`try:` what stood there before; `except (struct.error, OverflowError):` the same, with"
        " numbers that were converted.",
        "One number that does not fit makes struct refuse all of them. So convert them all, in a"
        " list, and pack that: those that fit come out of `convert` as they went in.",
        "`layout = f'{len(numbers)}{FORMATS[dtype]}'`, then `struct.pack(layout, *numbers)`, or"
        " `struct.pack(layout, *[convert(x, dtype) for x in numbers])`.",
    ),
    why_ours="Asking for forgiveness is faster than asking for permission: nearly always all of the"
    " numbers fit, and then no line of Python runs for any single one of them.",
)
def check_01_7(judge: Judge, answer: Any) -> None:
    """The same bytes as before; what does not fit is converted; what fits costs nothing more."""
    for dtype, numbers in ROWS:
        for row in (list(numbers), tuple(numbers)):
            got = judge.call(answer, row, dtype)
            judge.that(isinstance(got, bytes | bytearray), f"{what(got)}, and not bytes")
            wanted = ch01.pack(numbers, dtype)
            got, right = (struct.unpack(f"{len(numbers)}{FORMATS[dtype]}", raw) if len(raw) == len(
                wanted) else bytes(raw) for raw in (got, wanted))  # fmt: skip
            judge.equal(got, right, given=f"what these bytes are as {dtype}")
    judge.equal(bytes(judge.call(answer, range(3), "int16")), ch01.pack([0, 1, 2], "int16"))
    row = [Watched(number) for number in (0.5, -2.0, 3.25, 1e30)]
    Watched.touched = 0
    judge.call(answer, row, "float32")
    words = "it looks at each single number, also where all of them fit: let struct try first"
    judge.that(Watched.touched == 0, words)


# ---- 01.3 ----------------------------------------------------------------------------------------


class _Keeps:
    """Keeps what it was given, as it is."""

    def __init__(self, source: Any) -> None:
        self.source = source

    def __len__(self) -> int:
        return len(self.source)

    def __getitem__(self, i: int) -> float:
        return float(self.source[i])


class Recording(list[Any]):
    """A list that remembers which values were put into its first place."""

    def __init__(self, row: list[float], written: list[Any]) -> None:
        super().__init__(row)
        self.written = written

    def __setitem__(self, place: Any, value: Any) -> None:
        if place == 0 or place == -len(self):
            self.written.append(value)
        super().__setitem__(place, value)


def keeps_everything(source: Any) -> _Keeps:
    return _Keeps(source)


def copies(source: Any) -> Any:
    return Buffer(source)


def keeps_arrays_of_f(source: Any) -> Any:
    return (
        _Keeps(source) if isinstance(source, array) and source.typecode == "f" else Buffer(source)
    )


def keeps_lists(source: Any) -> Any:
    return _Keeps(source) if isinstance(source, list) else Buffer(source)


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
    why_ours="The new number is chosen so that it differs from the old one, whatever that is. And"
    " `finally` puts the old one back even if something is raised on the way.",
)
def check_01_3(judge: Judge, answer: Any) -> None:
    """True where a change of the source is seen in the Buffer; and the source is as it was."""
    rows = [[5.0, 6.0], [0.0], [1.0, 1.0], [2.0], [-0.5], [100.0, 2.0, 3.0], [0.1], [2.0**70, 3.0]]
    makers: tuple[tuple[Callable[[Any], Any], Callable[[Any], bool]], ...] = (
        (copies, lambda source: False),
        (keeps_everything, lambda source: True),
        (keeps_arrays_of_f, lambda source: isinstance(source, array) and source.typecode == "f"),
        (keeps_lists, lambda source: isinstance(source, list)),
    )
    written: list[Any] = []
    for make, expected in makers:
        for row in rows:
            sources = (Recording(row, written), array("f", row), array("d", row))
            for source in sources:
                judge.equal(judge.call(answer, make, source), expected(source))
    numbers = [value for value in written if isinstance(value, int | float)]
    for value in list(dict.fromkeys(numbers))[:20]:  # is any of them there already?
        for make, expected in makers:
            given = f"a source in which there is {value!r} already"
            for again in ([float(value), 2.0], array("d", [value])):
                judge.equal(judge.call(answer, make, again, given=given), expected(again))


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
    why_ours="Below a power of two where the gap is 1 nothing is missing, so only the powers of two"
    " have to be tried: fifty-three tries in place of nine thousand million millions.",
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


# ---- the challenges ------------------------------------------------------------------------------


def _pattern(x: float, dtype: str) -> int:
    raw = struct.pack("<" + FORMATS[dtype], x)
    return int.from_bytes(raw, "little")


def _float(pattern: int, dtype: str) -> float:
    size = struct.calcsize(FORMATS[dtype])
    found: float = struct.unpack("<" + FORMATS[dtype], pattern.to_bytes(size, "little"))[0]
    return found


def _next(x: float, dtype: str) -> float:
    """By the definition: of all neighbours of its pattern, and 0's, the smallest that is larger."""
    if x != x or x == math.inf:
        return x
    pattern = _pattern(x, dtype)
    sign = 1 << 8 * struct.calcsize(FORMATS[dtype]) - 1
    near = [pattern - 1, pattern + 1, 1, sign]
    found = [_float(one % (2 * sign), dtype) for one in near]
    return min(one for one in found if one > x)


@exercise(
    "01.s1",
    "The next larger float",
    answer="next_up",
    minutes=20,
    hints=(
        "The pattern of a negative float is that of the positive one, with the highest bit set. So"
        " which way must the pattern go for the number to grow?",
        "Treat four cases apart: nan and infinity; numbers from 0 on; -0.0; and numbers below 0.",
        "Below 0, subtract 1 from the pattern. -0.0 has a pattern of its own, so make 0.0 of it"
        " first, for which `x + 0.0` is enough.",
    ),
    without=("nextafter", "ulp", "tutor"),
    why_ours="Adding 0.0 turns -0.0 into 0.0 and changes nothing else. After that the patterns of"
    " numbers from 0 on rise with them, and those of negative ones fall.",
)
def check_01_s1(judge: Judge, answer: Any) -> None:
    """The smallest larger number, for every float of float16, float32 and float64."""
    for dtype in FLOATS:
        bits = 8 * struct.calcsize(FORMATS[dtype])
        sign, infinite = 1 << bits - 1, _pattern(math.inf, dtype)
        rng = random.Random(bits)
        patterns = [_pattern(x, dtype) for x in (1.0, 2.0, 0.5, -1.0, -2.0, -0.75, 0.0, -0.0)]
        patterns += [1, sign + 1, sign + 2, infinite - 1, infinite, sign + infinite]
        patterns += [sign + infinite - 1, infinite + 1]
        patterns += [rng.randrange(infinite) + rng.choice((0, sign)) for _ in range(100)]
        for pattern in patterns:
            x = _float(pattern, dtype)
            judge.equal(
                judge.call(answer, x, dtype), _next(x, dtype), signs=x != _float(sign + 1, dtype)
            )


def _bfloat16(pattern: int) -> float:
    found: float = struct.unpack("<f", struct.pack("<I", pattern << 16))[0]
    return found


@exercise(
    "01.s2",
    "The thirteenth dtype",
    answer="bfloat16_bits",
    minutes=20,
    hints=(
        "Cut the float32 in half first, and look at what is wrong: the nearest may be the pattern"
        " after. When is it, and what if both are equally near?",
        "Rounding to float32 first can land on a middle that the float itself is not on. Work with"
        " the float: of two neighbouring patterns, which number is nearer to it? The difference of"
        " two floats this near is exact.",
        "Take the sign off. Find the largest pattern whose number is not above x (patterns of"
        " positive floats are in order, so halve the range); compare the distances to it and to the"
        " next; in the middle, take the even one.",
    ),
    without=("tutor",),
    why_ours="Ours looks for the pattern by halving, as in a telephone book: sixteen looks are"
    " enough. A faster way takes the number apart with `math.frexp`, and is harder to believe.",
)
def check_01_s2(judge: Judge, answer: Any) -> None:
    """The 16 bits of the bfloat16 nearest to a float; in the middle, the even pattern."""
    rng = random.Random(16)
    some = [0, 1, 2, 0x7F, 0x80, 0x3F80, 0x3F81, 0x4049, 0x42C8, 0x7F7E]
    some += [rng.randrange(0x7F7F) for _ in range(150)]
    for pattern in some:
        low, high = _bfloat16(pattern), _bfloat16(pattern + 1)
        middle = (low + high) / 2
        even = pattern + pattern % 2
        cases = [(low, pattern), (middle, even), ((low + middle) / 2, pattern)]
        cases += [
            (math.nextafter(middle, math.inf), pattern + 1),
            (math.nextafter(middle, 0), pattern),
        ]
        for x, wanted in cases:
            judge.equal(judge.call(answer, x), wanted, given=f"{x!r}")
            judge.equal(judge.call(answer, -x), wanted + 0x8000, given=f"{-x!r}")
    for x, wanted in ((math.inf, 0x7F80), (-math.inf, 0xFF80), (1e39, 0x7F80), (-1e300, 0xFF80),
                      (2.0**128 - 2.0**119, 0x7F80), (3.39e38, 0x7F7F), (1e-46, 0)):  # fmt: skip
        judge.equal(judge.call(answer, x), wanted)
    got = judge.call(answer, math.nan)
    good = type(got) is int and got & 0x7F80 == 0x7F80 and got & 0x7F and 0 <= got < 0x10000
    judge.that(
        good, f"{short(got, 40)} is no pattern of nan: all bits of the exponent, and one more"
    )


# ---- the end box ---------------------------------------------------------------------------------

question(
    "01.q1",
    'How many bytes does Buffer([1, 2, 3], "float16").raw have?',
    right=6,
    why="three numbers of 16 bits, which is 2 bytes, each",
    tempting={
        3: "that is how many numbers there are; each takes more than one byte",
        12: "that would be float32, of 4 bytes each",
        48: "those are the bits; eight of them are a byte",
        16: "those are the bits of one number",
    },
)
question(
    "01.q2",
    "A million house numbers, the largest 40,000, are to take as little memory as possible.",
    choices={"a": "int16", "b": "uint16", "c": "int32", "d": "float16"},
    right="b",
    why="uint16 goes to 65535; int16 ends at 32767, and float16 has lost the odd ones long before",
    tempting={
        "a": "int16 spends half of its patterns on negative numbers, and ends at 32767",
        "c": "int32 holds them, but in twice the memory",
        "d": "float16 goes far enough, but from 2048 on it has no odd numbers",
    },
)
question(
    "01.q3",
    'b = Buffer([16777216], "float32"), and then b[0] += 1. What is b[0]?',
    right=16777216,
    why="16777217 lies in the middle of a gap of 2, and is rounded back to where it came from",
    tempting={
        16777217: "that is what it would be in float64; float32 has no such number",
        16777218: "that is the next number there is, but the middle is rounded to the even pattern",
    },
)
question(
    "01.q4",
    'b = Buffer([127], "int8"), and then b[0] += 1. What is b[0]?',
    right=-128,
    why="127 is the largest int8; the clock goes on with the smallest",
    tempting={
        128: "an int8 ends at 127: half of its 256 patterns are for negative numbers",
        127: "that is what a float would do at the end of its range; whole numbers wrap",
        0: "that is where an unsigned clock begins; that of int8 begins at -128",
        -127: "one too far: after 127 comes the lowest number of all",
    },
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
    tempting={
        "a": "that is just the bug of this chapter: it shares for some dtypes, and nobody knows",
        "b": "sharing saves most where it is large, but a surprise is a surprise at any size",
    },
)
