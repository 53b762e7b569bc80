"""Planted wrong answers to the exercises of chapter 1."""

from wrong import edit


def changed(text: str, old: str, new: str) -> str:
    """A right answer with one thing made wrong."""
    assert old in text
    return text.replace(old, new)


WRONG = {
    "01.1": {
        "positions are bytes": edit(
            "slice(start * self.itemsize, (start + count) * self.itemsize)",
            "slice(start, start + count * self.itemsize)",
        ),
        "raises: the end is a number of bytes too early": edit(
            "(start + count) * self.itemsize)", "start * self.itemsize + count)"
        ),
        "the length in bytes": edit("len(self.raw) // self.itemsize", "len(self.raw)"),
        "the length is that of the beginning": edit(
            "        self.raw = bytearray(pack(numbers, dtype))",
            "        self.raw, self.count = bytearray(pack(numbers, dtype)), len(numbers)",
            "len(self.raw) // self.itemsize",
            "self.count",
        ),
        "bytes, which cannot be changed": edit("bytearray(pack(", "bytes(pack("),
        "any negative position goes round": edit(
            "return self.read(i + len(self) if i < 0 else i, 1)[0]",
            "return self.read(i % len(self), 1)[0]",
        ),
        "the first number is at -1": edit(
            "return self.read(i + len(self) if i < 0 else i, 1)[0]",
            "return self.read(i + len(self) + 1 if i < -1 else i % len(self), 1)[0]",
        ),
        "raises: no numbers from the end": edit(
            "self.read(i + len(self) if i < 0 else i, 1)", "self.read(i, 1)"
        ),
        "one past the end is allowed": edit(
            "start + count <= len(self)", "start + count <= len(self) + 1"
        ),
        "a negative start reads from the end": edit(
            "0 <= start <= start + count <= len(self)", "start + count <= len(self)"
        ),
        "a write that is too long makes it longer": edit(
            "self.raw[self.place(start, len(numbers))] = pack(numbers, self.dtype)",
            "self.raw[self.place(start, 1).start : self.place(start, 1).stop] ="
            " pack(numbers, self.dtype)",
        ),
        "it writes first and looks afterwards": edit(
            "        self.raw[self.place(start, len(numbers))] = pack(numbers, self.dtype)",
            "        for i, x in enumerate(numbers):\n"
            "            self.raw[self.place(start + i, 1)] = pack([x], self.dtype)",
        ),
        "a list, no bytes": """
class Buffer:
    def __init__(self, numbers, dtype="float32"):
        self.raw, self.dtype, self.itemsize = list(numbers), dtype, 1

    def __len__(self):
        return len(self.raw)

    def read(self, start, count):
        return tuple(self.raw[start : start + count])

    def write(self, start, numbers):
        self.raw[start : start + len(numbers)] = numbers

    def __getitem__(self, i):
        return self.raw[i]

    def __setitem__(self, i, value):
        self.raw[i] = value
""",
        "one memory for all": edit("self.raw = bytearray", "Buffer.raw = bytearray"),
        "it shares an array's memory": edit(
            "        self.raw = bytearray(pack(numbers, dtype))",
            "        self.raw = bytearray(pack(numbers, dtype))\n"
            "        if getattr(numbers, 'typecode', '') == FORMATS[dtype]:\n"
            "            self.raw = memoryview(numbers).cast('B')",
        ),
        "a list for a tuple": edit(
            "return unpack(self.raw[self.place(start, count)], self.dtype)",
            "return list(unpack(self.raw[self.place(start, count)], self.dtype))",
        ),
        "raises: always float32": edit(
            "return unpack(self.raw[self.place(start, count)], self.dtype)",
            "return unpack(self.raw[self.place(start, count)], 'float32')",
        ),
        "the numbers are kept beside the bytes": edit(
            "        self.raw = bytearray(pack(numbers, dtype))",
            "        self.raw, self.numbers = bytearray(pack(numbers, dtype)), list(numbers)",
            "        return unpack(self.raw[self.place(start, count)], self.dtype)",
            "        self.place(start, count)\n"
            "        return tuple(self.numbers[start : start + count])",
        ),
        "one item, not a class": "Buffer = 3",
        "one number at a time": """
class Buffer:
    def __init__(self, numbers, dtype="float32"):
        self.dtype = dtype
        self.itemsize = struct.calcsize(FORMATS[dtype])
        self.raw = bytearray()
        for x in numbers:
            self.raw += pack([x], dtype)

    def __len__(self):
        return int(len(self.raw) / self.itemsize)

    def check(self, i):
        if i < -len(self) or i >= len(self):
            raise IndexError("outside")
        return i % len(self) * self.itemsize

    def read(self, start, count):
        if start < 0 or start + count > len(self):
            raise IndexError("outside")
        return tuple(self[i] for i in range(start, start + count))

    def write(self, start, numbers):
        if start < 0 or start + len(numbers) > len(self):
            raise IndexError("outside")
        for i, x in enumerate(numbers):
            self[start + i] = x

    def __getitem__(self, i):
        first = self.check(i)
        return unpack(self.raw[first : first + self.itemsize], self.dtype)[0]

    def __setitem__(self, i, value):
        first = self.check(i)
        self.raw[first : first + self.itemsize] = pack([value], self.dtype)
""",
        "the whole memory for each number": """
class Buffer:
    def __init__(self, numbers, dtype="float32"):
        self.dtype, self.raw = dtype, bytearray(pack(list(numbers), dtype))

    @property
    def itemsize(self):
        return struct.calcsize(FORMATS[self.dtype])

    def __len__(self):
        return len(unpack(bytes(self.raw), self.dtype))

    def read(self, start, count):
        numbers = unpack(self.raw, self.dtype)
        if start < 0 or start + count > len(numbers):
            raise IndexError
        return numbers[start : start + count]

    def write(self, start, numbers):
        self.read(start, len(numbers))
        new = pack(numbers, self.dtype)
        self.raw[start * self.itemsize : start * self.itemsize + len(new)] = new

    def __getitem__(self, i):
        return self.read(i if i >= 0 else len(self) + i, 1)[0]

    def __setitem__(self, i, x):
        self.write(i if i >= 0 else len(self) + i, (x,))
""",
        "numbers go in without pack": edit(
            "= pack(numbers, self.dtype)",
            "= struct.pack(f'{len(numbers)}{FORMATS[self.dtype]}', *numbers)",
        ),
        "the constructor does without pack": edit(
            "bytearray(pack(numbers, dtype))",
            "bytearray(struct.pack(f'{len(numbers)}{FORMATS[dtype]}', *numbers))",
        ),
        "the bytes belong to the class": edit(
            "self.raw = bytearray(pack(numbers, dtype))",
            "Buffer.raw = bytearray(pack(numbers, dtype))",
        ),
        "raises: the dtype belongs to the class": edit(
            "self.dtype, self.itemsize = dtype, struct.calcsize(FORMATS[dtype])",
            "Buffer.dtype, Buffer.itemsize = dtype, struct.calcsize(FORMATS[dtype])",
        ),
    },
    "01.2": {
        "everything stays in range": edit(
            "return (value - lowest) % 2**bits + lowest", "return min(max(value, lowest), highest)"
        ),
        "floats wrap": edit(
            "return int(min(max(value, lowest), highest))",
            "return (int(max(min(value, 1e30), -1e30)) - lowest) % 2**bits + lowest",
        ),
        "signed ones wrap at 0": edit(
            "return (value - lowest) % 2**bits + lowest", "return value % 2**bits"
        ),
        "the range is one too long": edit("lowest + 2**bits - 1", "lowest + 2**bits"),
        "floats are rounded, not cut": edit("return int(", "return round("),
        "cut downwards": edit("return int(", "return math.floor("),
        "through a float on the way": edit("(value - lowest)", "(int(float(value)) - lowest)"),
        "raises: infinity is made whole first": edit(
            "int(min(max(value, lowest), highest))", "min(max(int(value), lowest), highest)"
        ),
        "nan is the end of the range": edit("return 0\n", "return lowest\n"),
        "a float stays a float": edit(
            "return int(min(max(value, lowest), highest))",
            "return min(max(value, lowest), highest) // 1",
        ),
        "bytes for bits": edit(
            "8 * struct.calcsize(FORMATS[dtype])", "struct.calcsize(FORMATS[dtype])"
        ),
        "the library's own cast": """
def as_integer(value, dtype):
    return tutor.Tensor([value]).cast(dtype).tolist()[0]
""",
        "uint8, as in the example": edit("8 * struct.calcsize(FORMATS[dtype])", "8"),
        "the largest number wraps one too early": edit(
            "lowest + 2**bits - 1", "lowest + 2**bits - 2"
        ),
    },
    "01.6": {
        "a bool as it is": edit("return bool(value)", "return value"),
        "a bool is cut like a whole number": edit(
            "bool(value)", "bool(int(value == value and value))"
        ),
        "nan is False": edit("bool(value)", "value == value and bool(value)"),
        "the middle itself is still finite": edit(">= LIMITS", "> LIMITS"),
        "infinity without its sign": edit("math.inf if value > 0 else -math.inf", "math.inf"),
        "the end of the range": edit(
            "math.inf if value > 0 else -math.inf",
            "(LIMITS[dtype] - 1) * (1 if value > 0 else -1)",
        ),
        "only upwards": edit("abs(value)", "value"),
        "nan is infinite, too": edit(
            "if abs(value) >= LIMITS[dtype]:", "if not abs(value) < LIMITS[dtype]:"
        ),
        "float16's limit for all": edit("LIMITS[dtype]:", "LIMITS['float16']:"),
        "cut in floats, too": edit("\n    return value", "\n    return value // 1"),
        "no integers": edit("as_integer(value, dtype)", "value"),
        "nothing": edit("\n    return value", "\n    return None"),
        "the dtype is remembered from the call before": edit(
            'if dtype == "bool":',
            'if dtype == "bool" or LAST and LAST[-1] == "bool":',
            "def convert(value, dtype):",
            "LAST = []\n\n\ndef convert(value, dtype):",
            "        return bool(value)\n",
            "        LAST.append(dtype)\n        return bool(value)\n",
        ),
    },
    "01.7": {
        "it converts always": edit(
            "    try:\n        return struct.pack(layout, *numbers)\n"
            "    except (struct.error, OverflowError):\n        return",
            "    return",
        ),
        "the first number for all": """
def pack(numbers, dtype):
    layout = f"{len(numbers)}{FORMATS[dtype]}"
    try:
        return struct.pack(layout, *numbers)
    except (struct.error, OverflowError):
        return struct.pack(layout, *[convert(numbers[0], dtype)] * len(numbers))
""",
        "raises: one of the two errors": edit("(struct.error, OverflowError)", "struct.error"),
        "raises: the other one": edit("(struct.error, OverflowError)", "OverflowError"),
        "what does not fit becomes 0": edit(
            "convert(x, dtype) for x in numbers", "0 for x in numbers"
        ),
        "what does not fit is left out": """
def pack(numbers, dtype):
    letter, found = FORMATS[dtype], b""
    for x in numbers:
        try:
            found += struct.pack(letter, x)
        except (struct.error, OverflowError):
            pass
    return found
""",
        "raises: as integers, whatever the dtype": edit(
            "convert(x, dtype)", "as_integer(x, 'int64')"
        ),
        "a list of bytes": edit(
            "return struct.pack(layout, *numbers)", "return [struct.pack(layout, *numbers)]"
        ),
        "nothing comes back": edit("return struct.pack(layout, *[", "struct.pack(layout, *["),
        "every number by itself": """
def pack(numbers, dtype):
    return b"".join(struct.pack(FORMATS[dtype], convert(x, dtype)) for x in numbers)
""",
        "every number is converted, whether it fits or not": edit(
            "return struct.pack(layout, *numbers)\n",
            "return struct.pack(layout, *[convert(x, dtype) for x in numbers])\n",
        ),
    },
    "01.3": {
        "the source stays changed": edit("    source[0] = old\n", ""),
        "adds 1, which large numbers do not notice": edit("1.0 if old != 1.0 else 2.0", "old + 1"),
        "sets 0, which may be there already": edit("1.0 if old != 1.0 else 2.0", "0.0"),
        "the value of the text's example": edit("1.0 if old != 1.0 else 2.0", "100.0"),
        "is the text's example value there now?": edit(
            "1.0 if old != 1.0 else 2.0", "100.0", "buffer[0] != before", "buffer[0] == 100.0"
        ),
        "a value of their own": edit("1.0 if old != 1.0 else 2.0", "-12345.0"),
        "the sign is turned, which 0 does not notice": edit("1.0 if old != 1.0 else 2.0", "-old"),
        "compares with the source, which is not rounded": edit(
            "buffer[0] != before", "buffer[0] != old"
        ),
        "asks for the type instead of trying": """
def shares(make, source):
    return isinstance(source, array)
""",
        "always with an array of its own": """
def shares(make, source):
    own = array("f", source)
    buffer, before = make(own), make(own)[0]
    own[0] = 1.0 if before != 1.0 else 2.0
    return buffer[0] != before
""",
        "with a copy of the source": edit("make(source), source[0]", "make(source[:]), source[0]"),
        "changes the Buffer, not the source": """
def shares(make, source):
    buffer = make(list(source))
    return buffer[0] is source[0]
""",
        "compares after putting it back": edit(
            "    changed = buffer[0] != before\n    source[0] = old\n    return changed",
            "    source[0] = old\n    return buffer[0] != before",
        ),
        "the wrong way round": edit("buffer[0] != before", "buffer[0] == before"),
        "a Buffer made anew": edit("changed = buffer[0]", "changed = make(source)[0]"),
    },
    "01.4": {},
    "01.5": {
        "one too small": edit("return n + 1", "return n"),
        "one too large": edit("return n + 1", "return n + 2"),
        "tries all of them": edit(
            "[n + 1]", "[n]", "== n + 1", "== n", "n *= 2", "n += 1", "return n + 1", "return n"
        ),
        "known for float16 only": "def first_missing(dtype):\n    return 2049",
        "raises: the largest number": """
def first_missing(dtype):
    n = 1
    while Buffer([n], dtype)[0] != math.inf:
        n *= 2
    return n
""",
        "a float for an answer": """
def first_missing(dtype):
    return float(2 ** {"float16": 11, "float32": 24, "float64": 53}[dtype] + 1)
""",
        "from the bits of the whole": """
def first_missing(dtype):
    return 2 ** (8 * struct.calcsize(FORMATS[dtype])) + 1
""",
        "the dtype is forgotten": edit("Buffer([n + 1], dtype)", "Buffer([n + 1])"),
        "what was found first is kept for all dtypes": edit(
            "def first_missing(dtype):",
            "def first_missing(dtype, known=[]):",
            "    n = 1\n",
            "    if known:\n        return known[0]\n    n = 1\n",
            "    return n + 1",
            "    known.append(n + 1)\n    return n + 1",
        ),
    },
    "01.s1": {
        "upwards in the pattern, always": edit("1 if x >= 0 else -1", "1"),
        "minus zero is not looked at": edit("x + 0.0", "x"),
        "downwards in the pattern, always": edit("1 if x >= 0 else -1", "-1"),
        "a step of fixed size": "def next_up(x, dtype):\n    return x + 1e-7",
        "in Python's own floats": """
def next_up(x, dtype):
    return math.nextafter(x, math.inf)
""",
        "the next smaller one": edit("1 if x >= 0 else -1", "-1 if x > 0 else 1"),
        "after infinity comes nan": edit(' or x == float("inf")', ""),
        "0 has no next one": edit(
            'x != x or x == float("inf")', 'x != x or x in (0, float("inf"))'
        ),
    },
    "01.s2": {
        "cut in half": """
def bfloat16_bits(x):
    return struct.unpack("<I", struct.pack("<f", x))[0] >> 16
""",
        "rounded twice": """
def bfloat16_bits(x):
    try:
        pattern = struct.unpack("<I", struct.pack("<f", x))[0]
    except OverflowError:
        return 0x7F80 if x > 0 else 0xFF80
    if x != x:
        return 0x7FC0
    return (pattern + 0x7FFF + (pattern >> 16 & 1)) >> 16
""",
        "the middle always goes up": edit("above == below and low % 2", "above == below"),
        "the middle always goes down": edit(" or (above == below and low % 2)", ""),
        "no sign": edit("0x8000 if", "0 if"),
        "too large stays finite": edit("return sign | 0x7F80", "return sign | 0x7F7F"),
        "nan is infinite": edit("sign | 0x7FC0", "sign | 0x7F80"),
        "the number, not its bits": edit(
            "    return sign | (low + (above < below or (above == below and low % 2)))",
            "    return value(low + (above < below or (above == below and low % 2)))",
        ),
    },
}

RIGHT = {
    ("uint16", 258): [2, 1], ("int16", -1): [255, 255], ("uint8", 300): [44],
    ("int32", 65536): [0, 0, 1, 0], ("bool", 7): [1], ("uint16", 99.9): [99, 0],
    ("float32", -0.0): [0, 0, 0, 128],
}  # fmt: skip
for why, key, value in (
    ("highest byte first", ("uint16", 258), [1, 2]),
    ("a sign and a one", ("int16", -1), [1, 128]),
    ("300 stays at the end of the range", ("uint8", 300), [255]),
    ("two bytes for an int32", ("int32", 65536), [0, 1]),
    ("a bool that keeps its 7", ("bool", 7), [7]),
    ("99.9 is rounded", ("uint16", 99.9), [100, 0]),
    ("-0.0 has no sign", ("float32", -0.0), [0, 0, 0, 0]),
    ("the sign is in front", ("float32", -0.0), [128, 0, 0, 0]),
    ("one number, no list", ("uint8", 300), 44),
    ("bytes, no list", ("uint16", 258), b"\x02\x01"),
):
    WRONG["01.4"][why] = f"predicted = {RIGHT | {key: value}!r}"
