class Value:
    """A number that remembers what it was computed from."""

    def __init__(self, data, inputs=(), slopes=()):
        self.data, self.grad = float(data), 0.0
        self.inputs, self.slopes = inputs, slopes

    def __add__(self, other):
        other = other if isinstance(other, Value) else Value(other)
        return Value(self.data + other.data, (self, other), (1.0, 1.0))

    def __mul__(self, other):
        other = other if isinstance(other, Value) else Value(other)
        return Value(self.data * other.data, (self, other), (other.data, self.data))

    def __radd__(self, other):
        return self + other

    def __rmul__(self, other):
        return self * other

    def __sub__(self, other):
        return self + other * -1

    def __repr__(self):
        return f"Value({self.data:.4g}, grad={self.grad:.4g})"
