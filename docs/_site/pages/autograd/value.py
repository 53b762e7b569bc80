import math


class Value:
    """A number that remembers what it was computed from."""

    def __init__(self, data, inputs=(), slopes=(), op=""):
        self.data, self.grad = float(data), 0.0
        self.inputs, self.slopes, self.op = inputs, slopes, op

    def __add__(self, other):
        x, y = self, as_value(other)
        return Value(x.data + y.data, (x, y), (1.0, 1.0), "+")

    def __mul__(self, other):
        x, y = self, as_value(other)
        return Value(x.data * y.data, (x, y), (y.data, x.data), "*")

    def __pow__(self, n):  # n is a plain number
        slope = n * self.data ** (n - 1) if n else 0.0
        return Value(self.data**n, (self,), (slope,), f"**{n:g}")

    def exp(self):
        z = math.exp(self.data)
        return Value(z, (self,), (z,), "exp")

    def log(self):
        return Value(math.log(self.data), (self,), (1 / self.data,), "log")

    def tanh(self):
        z = math.tanh(self.data)
        return Value(z, (self,), (1 - z * z,), "tanh")

    def relu(self):
        z, slope = max(self.data, 0.0), float(self.data > 0)
        return Value(z, (self,), (slope,), "relu")

    __radd__, __rmul__, __neg__ = __add__, __mul__, lambda x: x * -1.0
    __sub__, __rsub__ = lambda x, y: x + -as_value(y), lambda x, y: -x + y
    __truediv__, __rtruediv__ = lambda x, y: x * as_value(y) ** -1, lambda x, y: x**-1 * y

    def backward(self):
        """Set .grad of each Value behind: how fast this one grows with it."""
        self.grad = 1.0
        for value in reversed(self.order([])):
            for x, slope in zip(value.inputs, value.slopes, strict=True):
                x.grad += value.grad * slope

    def order(self, found):
        """Append to `found` all that stands behind, each once, then this."""
        if self not in found:
            for x in self.inputs:
                x.order(found)
            found.append(self)
        return found


def as_value(x):
    """A plain number, as it stands in x * 2, becomes a Value too."""
    return x if isinstance(x, Value) else Value(x)
