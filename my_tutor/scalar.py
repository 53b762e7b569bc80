"""A scalar engine: one number at a time, in about sixty lines."""

import math


# ---- 00.2, yours


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


# ---- 00.4, yours


def tanh(value):
    """tanh of a Value, as a Value that remembers."""
    t = math.tanh(value.data)
    return Value(t, (value,), (1 - t * t,))


# ---- 00.5, yours


def order(last):
    """All Values that `last` was computed from, and itself: each once, behind its inputs."""
    found, seen = [], set()

    def visit(value):
        if value not in seen:
            seen.add(value)
            for before in value.inputs:
                visit(before)
            found.append(value)

    visit(last)
    return found


# ---- 00.6, yours


def backward(last):
    """Put into .grad of each Value how fast `last` grows with it."""
    values = order(last)
    for value in values:
        value.grad = 0.0
    last.grad = 1.0
    for value in reversed(values):
        for before, slope in zip(value.inputs, value.slopes):
            before.grad += slope * value.grad


# ---- 00.7, yours


def neuron(weights, inputs):
    """tanh of the sum of weight times input, plus the last weight."""
    total = weights[-1]
    for weight, x in zip(weights, inputs):
        total = total + weight * x
    return tanh(total)


# ---- 00.8, yours


def step(parameters, loss, rate):
    """Move the parameters against their gradients, and return the loss as a number."""
    backward(loss)
    for parameter in parameters:
        parameter.data -= rate * parameter.grad
    return loss.data
