"""Optimizer steps as text: the update of one element of a parameter and its state."""

from __future__ import annotations

# Values common to all elements, computed from the cells in double; then the formula for one
# element. `->` rounds to the dtype, as if the result had been written to memory and read back.
MOMENTS = (
    "beta1 = {1}", "beta2 = {2}", "eps = {3}", "rest1 = 1 - {1}", "rest2 = 1 - {2}",
    "rate = {0} / (1 - pow({1}, (double){5} + 1))",
    "correction = sqrt(1 - pow({2}, (double){5} + 1))",
)  # fmt: skip
UPDATES: dict[str, tuple[str, list[str], list[str]]] = {
    "descend": (
        "pg",
        ["lr = {0}", "decay = {1}"],
        ["p = p - lr * (g + decay * p)"],
    ),
    "sgd": (
        "pgv",
        ["lr = {0}", "momentum = {1}", "decay = {2}"],
        ["const d = g + decay * p", "v = momentum * v + d", "p = p - lr * v"],
    ),
    "nesterov": (
        "pgv",
        ["lr = {0}", "momentum = {1}", "decay = {2}"],
        ["const d = g + decay * p", "v = momentum * v + d", "p = p - lr * (d + momentum * v)"],
    ),
    "adam": (
        "pgmv",
        [*MOMENTS, "decay = {4}"],
        ["const d = g + decay * p", "m = beta1 * m + rest1 * d", "v = beta2 * v + rest2 * d * d",
         "p = p - rate * m / (sqrt(v) / correction + eps)"],
    ),
    "adamw": (
        "pgmv",
        [*MOMENTS, "kept = 1 - {0} * {4}"],
        ["m = beta1 * m + rest1 * g", "v = beta2 * v + rest2 * g * g",
         "p = kept * p - rate * m / (sqrt(v) / correction + eps)"],
    ),
    "rmsprop": (
        "pgv",
        ["lr = {0}", "alpha = {1}", "rest = 1 - {1}", "eps = {2}", "decay = {3}"],
        ["const d = g + decay * p", "v = alpha * v + rest * d * d",
         "p = p - lr * d / (sqrt(v) + eps)"],
    ),
    "adagrad": (
        "pgs",
        ["rate = {0} / (1 + (double){4} * {1})", "eps = {2}", "decay = {3}"],
        ["const d = g + decay * p", "s = s + d * d", "p = p - rate * d / (sqrt(s) + eps)"],
    ),
    "lion": (
        "pgm",
        ["lr = {0}", "beta1 = {1}", "beta2 = {2}", "rest1 = 1 - {1}", "rest2 = 1 - {2}",
         "kept = 1 - {0} * {3}"],
        ["const u = beta1 * m + rest1 * g", "const sign = u > 0 ? 1 : u < 0 ? -1 : u",
         "p = kept * p - lr * sign", "m = beta2 * m + rest2 * g"],
    ),
}  # fmt: skip
