"""The activations that have kernels, and their gradients: formulas for one element."""

from __future__ import annotations

import math
from math import exp

# e**-(FAR**2 / 2) and e**-FALL are 0. (At -FAR a slope is -(0 - 0): it comes from below 0.)
FAR, FALL = 40.0, 800.0
LINE, CURVE = 1.5957691216057307117, 0.071354816272600248  # 2 sqrt(2/pi), and 0.044715 of that


def sigmoid(x: float) -> float:
    """1 / (1 + e**-x), which for x < 0 is the same as e**x / (1 + e**x), but exact down to 0"""
    return exp(x) / (1 + exp(x)) if x < 0 else 1 / (1 + exp(-x))


def below(x: float) -> float:
    """P(X <= x) for a standard normal X"""
    return 0.5 * math.erfc(-x * 0.7071067811865475244)


def gelu(x: float) -> float:
    """x P(X <= x) for a standard normal X; at -inf its limit, -0"""
    x = max(x, -FAR)
    return x * below(x)


def gelu_grad(g: float, x: float) -> float:
    """g (P(X <= x) + x p(x)), p(x) = e**-(x**2 / 2) / sqrt(2 pi), the density of X"""
    x = min(max(x, -FAR), FAR)
    return g * -(-x * exp(-x * x / 2) * 0.39894228040143267794 - below(x))


def gelu_tanh(x: float) -> float:
    """x / (1 + e**-(2 sqrt(2/pi) (x + 0.044715 x**3))); at -inf its limit, -0"""
    x = max(x, -FAR)
    return x * sigmoid(x * (LINE + CURVE * (x * x)))


def gelu_tanh_grad(g: float, x: float) -> float:
    """g (s + x s (1 - s) u'), with s = sigmoid(u) and u = 2 sqrt(2/pi) (x + 0.044715 x**3)"""
    x = min(max(x, -FAR), FAR)
    s = sigmoid(x * (LINE + CURVE * (x * x)))
    return g * -(-x * (LINE + 3 * CURVE * (x * x)) * (s * (1 - s)) - s)


def softplus(x: float) -> float:
    """ln(1 + e**x) = max(x, 0) + ln(1 + e**-|x|), where nothing overflows"""
    return max(x, 0.0) + math.log1p(exp(-abs(x)))


def silu(x: float) -> float:
    """x / (1 + e**-x); at -inf its limit, -0"""
    x = max(x, -FALL)
    return x * sigmoid(x)


def silu_grad(g: float, x: float) -> float:
    """g (s + x s (1 - s)), with s = sigmoid(x)"""
    x = min(max(x, -FALL), FALL)
    s = sigmoid(x)
    return g * -(-x * (s * (1 - s)) - s)


def mish(x: float) -> float:
    """x tanh(ln(1 + e**x)); at -inf its limit, -0"""
    x = max(x, -FALL)
    return x * math.tanh(softplus(x))


def mish_grad(g: float, x: float) -> float:
    """g (t + x s (1 - t**2)), with s = sigmoid(x) and t = tanh(softplus(x))"""
    x = min(max(x, -FALL), FALL)
    t = math.tanh(softplus(x))
    return g * -(-x * (sigmoid(x) * (1 - t * t)) - t)
