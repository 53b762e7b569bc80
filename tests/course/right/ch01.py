"""Answers to chapter 1 that are right, and not written as ours are."""

RIGHT = {
    "01.1": {
        "a size that is worked out each time": """
class Buffer:
    def __init__(self, numbers, dtype="float32"):
        self.dtype = dtype
        self.raw = bytearray(pack(list(numbers), dtype))

    @property
    def itemsize(self):
        return struct.calcsize(FORMATS[self.dtype])

    def __len__(self):
        return int(len(self.raw) / self.itemsize)

    def read(self, start, count):
        stop = start + count
        if start < 0 or stop > len(self):
            raise IndexError("outside")
        view = memoryview(self.raw)[start * self.itemsize : stop * self.itemsize]
        return unpack(view, self.dtype)

    def write(self, start, numbers):
        if start < 0 or start + len(numbers) > len(self):
            raise IndexError("outside")
        new = bytes(pack(numbers, self.dtype))
        first = start * self.itemsize
        self.raw[first : first + len(new)] = new

    def __getitem__(self, i):
        if i < 0:
            i += len(self)
        (number,) = self.read(i, 1)
        return number

    def __setitem__(self, i, x):
        self.write(i if i >= 0 else len(self) + i, (x,))
""",
    },
    "01.2": {
        "by struct itself": """
def as_integer(value, dtype):
    size = struct.calcsize(FORMATS[dtype])
    signed = dtype[0] != "u"
    low = -(1 << 8 * size - 1) if signed else 0
    high = low + (1 << 8 * size) - 1
    if isinstance(value, float):
        if value != value:
            return 0
        if value < low:
            return low
        return high if value > high else math.trunc(value)
    raw = (value & (1 << 8 * size) - 1).to_bytes(size, "little")
    return int.from_bytes(raw, "little", signed=signed)
""",
    },
    "01.6": {
        "what struct thinks of it": """
def convert(value, dtype):
    if dtype == "bool":
        return value != 0
    if "int" in dtype:
        return as_integer(value, dtype)
    if value >= LIMITS[dtype]:
        return math.inf
    return -math.inf if value <= -LIMITS[dtype] else float(value)
""",
    },
    "01.7": {
        "one error for both": """
def pack(numbers, dtype):
    letters = str(len(numbers)) + FORMATS[dtype]
    try:
        found = struct.pack(letters, *numbers)
    except Exception:
        found = struct.pack(letters, *(convert(number, dtype) for number in numbers))
    return found
""",
    },
    "01.3": {
        "with finally, and another number": """
def shares(make, source):
    old = source[-1]
    buffer = make(source)
    before = buffer[len(source) - 1]
    source[-1] = 0.0 if before else 1.0
    try:
        return buffer[len(source) - 1] != before
    finally:
        source[-1] = old
""",
    },
    "01.5": {
        "by the gap": """
def first_missing(dtype):
    power = 0
    while True:
        for n in (2**power, 2**power + 1):
            if Buffer([n], dtype)[0] != n:
                return n
        power += 1
""",
    },
    "01.s1": {
        "by cases": """
def next_up(x, dtype):
    letter, whole = FORMATS[dtype], {"e": "H", "f": "I", "d": "Q"}[FORMATS[dtype]]
    if x != x or x == math.inf:
        return x
    if x == 0:
        return struct.unpack(letter, struct.pack(whole, 1))[0]
    (pattern,) = struct.unpack(whole, struct.pack(letter, x))
    pattern = pattern + 1 if x > 0 else pattern - 1
    return struct.unpack(letter, struct.pack(whole, pattern))[0]
""",
    },
}
