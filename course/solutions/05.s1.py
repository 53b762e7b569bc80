import math


class Dual:
    """A number, and how fast it moves with x."""

    def __init__(self, value, slope=0.0):
        self.value, self.slope = value, slope

    def __add__(self, other):
        other = other if isinstance(other, Dual) else Dual(other)
        return Dual(self.value + other.value, self.slope + other.slope)

    def __sub__(self, other):
        return self + other * -1

    def __rsub__(self, other):
        return self * -1 + other

    def __mul__(self, other):
        other = other if isinstance(other, Dual) else Dual(other)
        slope = self.slope * other.value + self.value * other.slope
        return Dual(self.value * other.value, slope)

    __radd__, __rmul__ = __add__, __mul__

    def relu(self):
        return self if self.value > 0 else Dual(0.0)

    def exp(self):
        value = math.exp(self.value)
        return Dual(value, value * self.slope)
