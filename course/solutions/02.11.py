import math


class Tensor:
    """A Buffer plus walking instructions: shape, strides and offset."""

    def __init__(
        self, data, shape=None, strides=None, offset=0, dtype="float32", requires_grad=False
    ):
        if not hasattr(data, "raw"):  # no Buffer: a number, or nested lists
            numbers, shape = flatten(data)
            data = Buffer(numbers, dtype)
        self.buf, self.offset = data, offset
        self.shape = (len(data),) if shape is None else tuple(shape)
        self.strides = strides_for(self.shape) if strides is None else tuple(strides)
        self.requires_grad, self.grad, self.op = requires_grad, None, None
        if len(self.strides) != len(self.shape):
            raise ValueError(f"strides {self.strides} for the shape {self.shape}")
        if self.numel():
            first, last = reach(self.shape, self.strides, offset)
            if first < 0 or last >= len(data):
                raise IndexError(f"positions {first} to {last} of a Buffer of {len(data)} numbers")

    def values(self):
        """All elements, row by row."""
        if self.is_contiguous():
            return self.buf.read(self.offset, self.numel())
        cells = self.buf.read(0, len(self.buf))
        return [cells[p] for p in self.positions()]

    def fill(self, numbers):
        """Put `numbers` where the elements stand, row by row."""
        if self.is_contiguous():
            self.buf.write(self.offset, numbers)
        else:
            for p, x in zip(self.positions(), numbers, strict=True):
                self.buf[p] = x

    def over(self, shape, strides, offset):
        """The same Buffer, walked in another way."""
        return Tensor(self.buf, shape, strides, offset)

    def numel(self):
        return math.prod(self.shape)

    def is_contiguous(self):
        return row_by_row(self.shape, self.strides)

    def positions(self):
        return positions(self.shape, self.strides, self.offset)

    def item(self):
        (value,) = self.values()
        return value

    def tolist(self):
        return nest(self.values(), self.shape)

    def __repr__(self):
        return f"Tensor({self.tolist()}, {self.buf.dtype})"
