import struct


class Buffer:
    """A row of numbers of one dtype, kept as bytes."""

    def __init__(self, numbers, dtype="float32"):
        self.dtype, self.itemsize = dtype, struct.calcsize(FORMATS[dtype])
        self.raw = bytearray(pack(numbers, dtype))

    def __len__(self):
        return len(self.raw) // self.itemsize

    def place(self, start, count):
        """Where in `raw` these numbers are; IndexError where they are not."""
        if not 0 <= start <= start + count <= len(self):
            raise IndexError(f"{count} from position {start} on, of {len(self)} numbers")
        return slice(start * self.itemsize, (start + count) * self.itemsize)

    def read(self, start, count):
        """`count` numbers, from position `start` on."""
        return unpack(self.raw[self.place(start, count)], self.dtype)

    def write(self, start, numbers):
        """Put `numbers` at position `start` and behind it."""
        self.raw[self.place(start, len(numbers))] = pack(numbers, self.dtype)

    def __getitem__(self, i):
        return self.read(i + len(self) if i < 0 else i, 1)[0]

    def __setitem__(self, i, value):
        self.write(i + len(self) if i < 0 else i, [value])
