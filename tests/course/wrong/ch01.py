"""Planted wrong answers to the exercises of chapter 1."""

BUFFER = """
class MyBuffer:
    def __init__(self, numbers, dtype="float32"):
        self.dtype, self.letter = dtype, FORMATS[dtype]
        self.itemsize = struct.calcsize(self.letter)
        self.raw = bytearray(struct.pack(f"{len(numbers)}{self.letter}", *numbers))

    def __len__(self):
        return len(self.raw) // self.itemsize

    def start(self, i):
        if not -len(self) <= i < len(self):
            raise IndexError(i)
        return i % len(self) * self.itemsize

    def __getitem__(self, i):
        return struct.unpack_from(self.letter, self.raw, self.start(i))[0]

    def __setitem__(self, i, value):
        struct.pack_into(self.letter, self.raw, self.start(i), value)
"""

CAST = """
def cast(value, dtype):
    bits = 8 * struct.calcsize(FORMATS[dtype])
    lowest = 0 if dtype.startswith("u") else -(2 ** (bits - 1))
    highest = lowest + 2**bits - 1
    if isinstance(value, int):
        return (value - lowest) % 2**bits + lowest
    if math.isnan(value):
        return 0
    return int(min(max(value, lowest), highest))
"""


def changed(text, old, new):
    """A right answer with one thing made wrong."""
    assert old in text
    return text.replace(old, new)


WRONG = {
    "01.1": {
        "positions are bytes": changed(
            BUFFER, "* self.itemsize\n\n    def __getitem__", "\n\n    def __getitem__"
        ),
        "the length in bytes": changed(BUFFER, "len(self.raw) // self.itemsize", "len(self.raw)"),
        "raises: no memory to write to": changed(BUFFER, "bytearray(struct", "bytes(struct"),
        "any negative position goes round": changed(
            BUFFER, "if not -len(self) <= i < len(self)", "if i >= len(self)"
        ),
        "the first number is at -1": changed(
            BUFFER, "i % len(self) * ", "(i if i >= 0 else i + len(self) - 1) % len(self) * "
        ),
        "writing is not bounded": changed(
            BUFFER,
            "        struct.pack_into(self.letter, self.raw, self.start(i), value)",
            "        if -len(self) <= i < len(self):\n"
            "            struct.pack_into(self.letter, self.raw, self.start(i), value)",
        ),
        "a list, no bytes": """
class MyBuffer:
    def __init__(self, numbers, dtype="float32"):
        self.raw, self.dtype = list(numbers), dtype

    def __len__(self):
        return len(self.raw)

    def __getitem__(self, i):
        return self.raw[i]

    def __setitem__(self, i, value):
        self.raw[i] = value
""",
        "one memory for all": changed(BUFFER, "self.raw = bytearray", "MyBuffer.raw = bytearray"),
        "it shares an array's memory": changed(
            BUFFER,
            '        self.raw = bytearray(struct.pack(f"{len(numbers)}{self.letter}", *numbers))',
            '        if getattr(numbers, "typecode", "") != self.letter:\n'
            '            numbers = bytearray(struct.pack(f"{len(numbers)}{self.letter}",'
            " *numbers))\n"
            '        self.raw = memoryview(numbers).cast("B")',
        ),
        "one item, not a class": "MyBuffer = 3",
    },
    "01.2": {
        "everything stays in range": changed(
            CAST,
            "return (value - lowest) % 2**bits + lowest",
            "return min(max(value, lowest), highest)",
        ),
        "floats wrap": changed(
            CAST,
            "return int(min(max(value, lowest), highest))",
            "return (int(max(min(value, 1e30), -1e30)) - lowest) % 2**bits + lowest",
        ),
        "signed ones wrap at 0": changed(
            CAST, "return (value - lowest) % 2**bits + lowest", "return value % 2**bits"
        ),
        "the range is one too long": changed(
            CAST, "highest = lowest + 2**bits - 1", "highest = lowest + 2**bits"
        ),
        "floats are rounded, not cut": changed(CAST, "return int(", "return round("),
        "cut downwards": changed(
            CAST,
            "return int(min(max(value, lowest), highest))",
            "return math.floor(min(max(value, lowest), highest))",
        ),
        "through a float on the way": changed(
            CAST, "(value - lowest)", "(int(float(value)) - lowest)"
        ),
        "raises: infinity is made whole first": changed(
            CAST, "int(min(max(value, lowest), highest))", "min(max(int(value), lowest), highest)"
        ),
        "nan is the end of the range": changed(CAST, "return 0\n", "return lowest\n"),
        "a float stays a float": changed(
            CAST,
            "return int(min(max(value, lowest), highest))",
            "return min(max(value, lowest), highest) // 1",
        ),
        "bytes for bits": changed(
            CAST, "8 * struct.calcsize(FORMATS[dtype])", "struct.calcsize(FORMATS[dtype])"
        ),
    },
    "01.3": {
        "the source stays changed": """
def shares(make, source):
    buffer, before = make(source), make(source)[0]
    source[0] = before + 1 if before < 1e9 else 0.0
    return buffer[0] != before
""",
        "adds 1, which large numbers do not notice": """
def shares(make, source):
    buffer, old = make(source), source[0]
    before = buffer[0]
    source[0] = old + 1
    changed = buffer[0] != before
    source[0] = old
    return changed
""",
        "sets 0, which may be there already": """
def shares(make, source):
    buffer, old = make(source), source[0]
    source[0] = 0.0
    changed = buffer[0] != old
    source[0] = old
    return changed
""",
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
        "changes the Buffer, not the source": """
def shares(make, source):
    buffer = make(list(source))
    return buffer[0] is source[0]
""",
        "compares after putting it back": """
def shares(make, source):
    buffer, old = make(source), source[0]
    before = buffer[0]
    source[0] = 1.0 if old != 1.0 else 2.0
    source[0] = old
    return buffer[0] != before
""",
    },
    "01.4": {},
    "01.5": {
        "one too small": """
def first_missing(dtype):
    n = 1
    while Buffer([n + 1], dtype)[0] == n + 1:
        n *= 2
    return n
""",
        "tries all of them": """
def first_missing(dtype):
    n = 1
    while Buffer([n], dtype)[0] == n:
        n += 1
    return n
""",
        "known for float16 only": "def first_missing(dtype):\n    return 2049",
        "the largest number": """
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
):  # fmt: skip
    WRONG["01.4"][why] = f"predicted = {RIGHT | {key: value}!r}"
