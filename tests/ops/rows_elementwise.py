"""Rows of the ops that treat every element alike."""

import math

import numpy as np
from case import Case

import tutor
from tutor import OPS
from tutor.backends.signatures import SIGNATURES
from tutor.core.engine import apply

erf = np.vectorize(math.erf, otypes=["float64"])


def density(x: np.ndarray) -> np.ndarray:
    """Of a standard normal."""
    return np.exp(-x * x / 2) / math.sqrt(2 * math.pi)


def bent_slope(x: np.ndarray) -> np.ndarray:
    """Of x/2 (1 + tanh u), u = sqrt(2/pi) (x + 0.044715 x**3)."""
    root = math.sqrt(2 / math.pi)
    tanh = np.tanh(root * (x + 0.044715 * x**3))
    return (1 + tanh) / 2 + x / 2 * (1 - tanh * tanh) * root * (1 + 3 * 0.044715 * x * x)


def mish_slope(x):
    t = np.tanh(np.log1p(np.exp(x)))
    return t + x * (1 - t * t) / (1 + np.exp(-x))


CASES = [
    Case("add", lambda x, y: x + y, ((3, 4), (3, 4)), np.add),
    Case("add", lambda x, y: x + y, ((3, 1), (2, 1, 4)), np.add),
    Case("add", lambda x: x + x.T, ((3, 3),), lambda x: x + x.T),
    Case("add", lambda x: x + 2 + x, ((),), lambda x: x + 2 + x),
    Case("sub", lambda x, y: x - y, ((3,), (2, 3)), np.subtract),
    Case("sub", lambda x: 1 - x, ((3,),), lambda x: 1 - x),
    Case("mul", lambda x, y: x * y, ((2, 3), (3,)), np.multiply),
    Case("mul", lambda x: x * x, ((4,),), np.square),
    Case(
        "mul", lambda x, y: x[::-1] * y[:, 2:5], ((4, 3), (4, 6)),
        lambda x, y: x[::-1] * y[:, 2:5],
    ),
    Case("div", lambda x, y: x / y, ((2, 3), (2, 1)), np.divide, "apart"),
    Case("div", lambda x: 3 / x, ((5,),), lambda x: 3 / x, "apart"),
    Case("pow", lambda x, y: x**y, ((2, 3), (3,)), np.power, "positive"),
    Case("pow", lambda x: x**3, ((5,),), lambda x: x**3),
    Case("pow", lambda x: x**0.5, ((5,),), np.sqrt, "positive"),
    Case("pow", lambda x: x**0, ((5,),), lambda x: x**0),
    Case("pow", lambda x: 2**x, ((5,),), np.exp2),
    Case("neg", lambda x: -x, ((2, 3),), np.negative),
    Case("abs", abs, ((7,),), np.abs, "apart"),
    Case("exp", lambda x: x.exp(), ((2, 3),), np.exp),
    Case("log", lambda x: x.log(), ((5,),), np.log, "positive"),
    Case("sqrt", lambda x: x.sqrt(), ((5,),), np.sqrt, "positive"),
    Case("sin", lambda x: x.sin(), ((5,),), np.sin),
    Case("cos", lambda x: x.cos(), ((5,),), np.cos),
    Case("tanh", lambda x: x.tanh(), ((5,),), np.tanh),
    Case("sigmoid", lambda x: x.sigmoid(), ((5,),), lambda x: 1 / (1 + np.exp(-x))),
    Case("relu", lambda x: x.relu(), ((3, 4),), lambda x: np.maximum(x, 0), "apart"),
    Case("maximum", lambda x, y: x.maximum(y), ((3, 4), (4,)), np.maximum, "apart"),
    Case("minimum", lambda x, y: x.minimum(y), ((3, 4), (4,)), np.minimum, "apart"),
    Case(
        "where", lambda x, y: tutor.where(x > y, x * x, y), ((3, 4), (4,)),
        lambda x, y: np.where(x > y, x * x, y), "apart",
    ),
    Case("eq", lambda x, y: x == y, ((3, 4), (4,)), np.equal),
    Case("ne", lambda x: x != x.T, ((3, 3),), lambda x: x != x.T),
    Case("lt", lambda x, y: x < y, ((3, 4), (4,)), np.less),
    Case("le", lambda x: x <= x.T, ((3, 3),), lambda x: x <= x.T),
    Case("gt", lambda x: x > 0, ((3, 3),), lambda x: x > 0),
    Case("ge", lambda x: x <= 0, ((3, 3),), lambda x: x <= 0),
    Case("copy", lambda x: x.T.copy(), ((2, 3),), lambda x: x.T),
    Case("transfer", lambda x: apply("transfer", x.T, device=x.device), ((2, 3),), lambda x: x.T),
    Case("cast", lambda x: x.cast("float64") * 2, ((2, 3),), lambda x: x * 2),
    Case("sign", lambda x: x.sign(), ((5,),), np.sign, "apart"),
    Case("square", lambda x: x.square(), ((5,),), np.square, "normal"),
    Case("reciprocal", lambda x: x.reciprocal(), ((5,),), np.reciprocal, "apart"),
    Case("rsqrt", lambda x: x.rsqrt(), ((5,),), lambda x: 1 / np.sqrt(x), "positive"),
    Case("exp2", lambda x: x.exp2(), ((5,),), np.exp2, "normal"),
    Case("expm1", lambda x: x.expm1(), ((5,),), np.expm1, "normal"),
    Case("log2", lambda x: x.log2(), ((5,),), np.log2, "positive"),
    Case("log10", lambda x: x.log10(), ((5,),), np.log10, "positive"),
    Case("log1p", lambda x: x.log1p(), ((5,),), np.log1p, "positive"),
    Case("tan", lambda x: x.tan(), ((5,),), np.tan, "unit"),
    Case("asin", lambda x: x.asin(), ((5,),), np.arcsin, "unit"),
    Case("acos", lambda x: x.acos(), ((5,),), np.arccos, "unit"),
    Case("atan", lambda x: x.atan(), ((5,),), np.arctan, "normal"),
    Case("sinh", lambda x: x.sinh(), ((5,),), np.sinh, "normal"),
    Case("cosh", lambda x: x.cosh(), ((5,),), np.cosh, "normal"),
    Case("asinh", lambda x: x.asinh(), ((5,),), np.arcsinh, "normal"),
    Case("acosh", lambda x: x.acosh(), ((5,),), np.arccosh, "above"),
    Case("atanh", lambda x: x.atanh(), ((5,),), np.arctanh, "unit"),
    Case("erf", lambda x: x.erf(), ((5,),), erf, "normal"),
    Case("floor", lambda x: x.floor(), ((5,),), np.floor, "apart"),
    Case("ceil", lambda x: x.ceil(), ((5,),), np.ceil, "apart"),
    Case("round", lambda x: x.round(), ((5,),), np.round, "apart"),
    Case("trunc", lambda x: x.trunc(), ((5,),), np.trunc, "apart"),
    Case("round", lambda x: x.round(), ((5,),), lambda x: x, "ints", 0),
    Case("floor_divide", lambda x, y: x // y, ((3, 4), (4,)), np.floor_divide, "apart"),
    Case("floor_divide", lambda x: x // -3, ((9,),), lambda x: x // -3, "ints", 0),
    Case("remainder", lambda x, y: x % y, ((3, 4), (4,)), np.remainder, "apart"),
    Case("remainder", lambda x: 7 % (x * 2 + 1), ((9,),), lambda x: 7 % (x * 2 + 1), "ints", 0),
    Case("fmod", lambda x, y: x.fmod(y), ((3, 4), (4,)), np.fmod, "apart"),
    Case("hypot", lambda x, y: x.hypot(y), ((3, 4), (4,)), np.hypot, "apart"),
    Case("atan2", lambda x, y: x.atan2(y), ((3, 4), (4,)), np.arctan2, "apart"),
    Case("logaddexp", lambda x, y: x.logaddexp(y), ((3, 4), (4,)), np.logaddexp),
    Case("relu_grad", lambda x, y: apply("relu_grad", x, y), ((3, 4), (4,)),
         lambda x, y: np.where(y > 0, x, 0)),
    Case("tanh_grad", lambda x, y: apply("tanh_grad", x, y), ((3, 4), (4,)),
         lambda x, y: x * (1 - y * y)),
    Case("sigmoid_grad", lambda x, y: apply("sigmoid_grad", x, y), ((3, 4), (4,)),
         lambda x, y: x * (y * (1 - y))),
    Case("gelu_grad", lambda x, y: apply("gelu_grad", x, y), ((3, 4), (4,)),
         lambda x, y: x * ((1 + erf(y / math.sqrt(2))) / 2 + y * density(y))),
    Case("gelu_tanh_grad", lambda x, y: apply("gelu_tanh_grad", x, y), ((3, 4), (4,)),
         lambda x, y: x * bent_slope(y)),
    Case("softplus_grad", lambda x, y: apply("softplus_grad", x, y), ((3, 4), (4,)),
         lambda x, y: x / (1 + np.exp(-y))),
    Case("silu_grad", lambda x, y: apply("silu_grad", x, y), ((3, 4), (4,)),
         lambda x, y: x * (1 + y / (1 + np.exp(y))) / (1 + np.exp(-y))),
    Case("mish_grad", lambda x, y: apply("mish_grad", x, y), ((3, 4), (4,)),
         lambda x, y: x * mish_slope(y)),
    Case("mul_add", lambda x, y, w: apply("mul_add", x, y, w), ((2, 3, 4), (3, 1), (3, 1)),
         lambda x, y, w: x * y + w),
    Case("mul_add", lambda x, y, w: apply("mul_add", x, y, w), ((4,), (3, 4), (3, 1)),
         lambda x, y, w: x * y + w),
    Case("copysign", lambda x, y: x.copysign(y), ((3, 4), (4,)), np.copysign, "apart"),
    Case("bitwise_not", lambda x: ~x, ((9,),), np.invert, "ints", 0),
    Case("bitwise_not", lambda x: ~x, ((9,),), np.invert, "bools", 0),
    Case("bitwise_and", lambda x, y: x & y, ((3, 4), (4,)), np.bitwise_and, "ints", 0),
    Case("bitwise_or", lambda x, y: x | y, ((3, 4), (4,)), np.bitwise_or, "bools", 0),
    Case("bitwise_xor", lambda x: x ^ 5, ((3, 4),), lambda x: x ^ 5, "ints", 0),
    Case("bitwise_left_shift", lambda x: x << 2, ((9,),), lambda x: x << 2, "ints", 0),
    Case("bitwise_right_shift", lambda x: x >> 1, ((9,),), lambda x: x >> 1, "ints", 0),
    Case("logical_and", lambda x, y: x.logical_and(y), ((4,), (4,)), np.logical_and, "ints", 0),
    Case("logical_or", lambda x, y: x.logical_or(y), ((4,), (4,)), np.logical_or, "ints", 0),
    Case("logical_xor", lambda x, y: x.logical_xor(y), ((4,), (4,)), np.logical_xor, "ints", 0),
    Case("logical_not", lambda x: x.logical_not(), ((9,),), np.logical_not, "ints", 0),
    Case("isnan", lambda x: (x.log()).isnan(), ((9,),), lambda x: np.isnan(np.log(x)), "apart", 0),
    Case("isinf", lambda x: (x / 0).isinf(), ((9,),), lambda x: np.isinf(x / 0), "apart", 0),
    Case("isfinite", lambda x: x.isfinite(), ((9,),), np.isfinite, "ints", 0),
    Case("clip", lambda x: x.clip(-0.1, 0.2), ((9,),), lambda x: np.clip(x, -0.1, 0.2), "apart"),
    Case("clip", lambda x, y: x.clip(min=y), ((3, 4), (4,)), np.maximum, "apart"),
    Case(
        "lerp", lambda x, y, w: x.lerp(y, w), ((3, 4), (4,), (3, 1)), lambda x, y,
        w: x + w * (y - x)
    ),
    Case(
        "masked_fill", lambda x: x.masked_fill(x > 0, 7), ((9,),), lambda x: np.where(x > 0, 7, x),
        "apart",
    ),
    Case("softplus", lambda x: x.softplus(), ((9,),), lambda x: np.log1p(np.exp(x))),
    Case("silu", lambda x: x.silu(), ((9,),), lambda x: x / (1 + np.exp(-x))),
    Case("gelu", lambda x: x.gelu(), ((9,),), lambda x: x * (1 + erf(x / math.sqrt(2))) / 2),
    Case(
        "gelu_tanh", lambda x: x.gelu("tanh"), ((9,),),
        lambda x: x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    ),
    Case("elu", lambda x: x.elu(0.5), ((9,),), lambda x: np.where(x > 0, x, np.expm1(x) / 2),
         "apart"),
    Case(
        "leaky_relu", lambda x: x.leaky_relu(), ((9,),), lambda x: np.where(x > 0, x, x / 100),
        "apart",
    ),
    Case("hardtanh", lambda x: x.hardtanh(-0.2, 0.1), ((9,),), lambda x: x.clip(-0.2, 0.1),
         "apart"),
    Case("relu6", lambda x: (x * 20).relu6(), ((9,),), lambda x: (x * 20).clip(0, 6), "apart"),
]  # fmt: skip


def stated(name: str) -> Case:
    """The row of an op whose kernel has a formula in signatures.py that is Python: it is computed
    number by number, and says what NumPy says elsewhere."""
    signature = SIGNATURES[OPS[name].kernel]
    count = len(signature.types) - 1
    f = eval(f"lambda {', '.join('xy'[:count])}: {signature.expression}")

    def oracle(*arrays: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            values = np.frompyfunc(f, count, 1)(*arrays)
        return values.astype(bool if signature.types[0] == "b" else arrays[0].dtype)

    return Case(name, lambda x, *y: getattr(x, name)(*y), ((3, 4), (4,))[:count], oracle, "apart",
                2 * OPS[name].differentiable)  # fmt: skip


CASES += [
    stated(name)
    for name, op in OPS.items()
    if op.__module__ == "tutor.ops.elementwise" and name not in {case.op for case in CASES}
]
