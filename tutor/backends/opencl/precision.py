"""The errors allowed to a device, in units in the last place, where signatures.py allows less.

`STATED` is OpenCL's guarantee for its functions (The OpenCL C Specification, version 3.0, section
7.4 "Relative Error as ULPs", full profile). `COMPOSED` combines several of them: their errors are
added up, plus one unit for each rounding in between. `MEASURED` is neither: the errors observed
with a driver, and a margin. Rows not listed here must agree as closely as on the CPU; so must
16-bit floats, which are computed in float and rounded once.
"""

from __future__ import annotations

from tutor.dtype import DType, float32, float64

STATED = {
    "exp": 3, "exp2": 3, "expm1": 3, "log": 3, "log2": 3, "log10": 3, "log1p": 2, "sin": 4,
    "cos": 4, "tan": 5, "asin": 4, "acos": 4, "atan": 5, "sinh": 4, "cosh": 4, "tanh": 5,
    "asinh": 4, "acosh": 4, "atanh": 5, "erf": 16, "pow": 16, "hypot": 4, "atan2": 6,
}  # fmt: skip
COMPOSED = {
    ("sigmoid", float32): 8,  # e / (1 + e): twice exp, two roundings
    ("sigmoid", float64): 8,
    ("logaddexp", float64): 6,  # log1p of exp, a sum
    ("gelu_tanh", float64): 9,  # as sigmoid, and a product
    ("gelu_tanh_grad", float64): 20,  # twice that, and a difference
    ("softplus", float64): 7,  # as logaddexp
    ("softplus_grad", float64): 9,  # as sigmoid, and a product
    ("silu", float64): 9,
    ("silu_grad", float64): 20,  # twice that, and a difference
    ("mish", float64): 14,  # tanh (5) of softplus, a product
    ("mish_grad", float64): 40,  # twice that, a sigmoid, and a difference
    ("normal", float64): 8,  # half of log (3), cos (4), three roundings
}
MEASURED = {  # built on erfc, 16, and PoCL's is worse below the smallest normal number
    ("gelu", float64): 48,  # 38 observed, at x = -37.7
    ("gelu_grad", float64): 48,  # 30 observed
}


def looser() -> dict[tuple[str, DType], float]:
    """Row -> units in the last place."""
    stated = {(name, dtype): float(n) for name, n in STATED.items() for dtype in (float32, float64)}
    return stated | {row: float(n) for row, n in (COMPOSED | MEASURED).items()}
