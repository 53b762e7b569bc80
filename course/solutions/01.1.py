class MyBuffer:
    """A row of numbers of one dtype, kept as bytes."""

    def __init__(self, numbers, dtype="float32"):
        self.dtype, self.letter = dtype, FORMATS[dtype]
        self.itemsize = struct.calcsize(self.letter)
        self.raw = bytearray(len(numbers) * self.itemsize)
        struct.pack_into(f"{len(numbers)}{self.letter}", self.raw, 0, *numbers)

    def __len__(self):
        return len(self.raw) // self.itemsize

    def start(self, i):
        """The byte at which number i begins."""
        position = i + len(self) if i < 0 else i
        if not 0 <= position < len(self):
            raise IndexError(f"number {i} of {len(self)}")
        return position * self.itemsize

    def __getitem__(self, i):
        return struct.unpack_from(self.letter, self.raw, self.start(i))[0]

    def __setitem__(self, i, value):
        struct.pack_into(self.letter, self.raw, self.start(i), value)
