"""Rows for tests/ops/test_ops.py: the activations of tutor/methods/elementwise.py."""

import numpy as np
from case import Case

ALPHA, SCALE = 1.6732632423543772, 1.0507009873554805


def softplus(x):
    return np.log1p(np.exp(x))


def softmin(x):
    z = np.exp(-x)
    return z / z.sum(0)


CASES = [
    Case("selu", lambda x: x.selu(), ((9,),),
         lambda x: SCALE * np.where(x > 0, x, ALPHA * np.expm1(x)), "apart"),
    Case("celu", lambda x: x.celu(0.5), ((9,),),
         lambda x: np.where(x > 0, x, 0.5 * np.expm1(x / 0.5)), "apart"),
    Case("mish", lambda x: x.mish(), ((9,),), lambda x: x * np.tanh(softplus(x))),
    Case("logsigmoid", lambda x: x.logsigmoid(), ((9,),), lambda x: -softplus(-x)),
    Case("softsign", lambda x: x.softsign(), ((9,),), lambda x: x / (1 + np.abs(x)), "apart"),
    Case("tanhshrink", lambda x: x.tanhshrink(), ((9,),), lambda x: x - np.tanh(x)),
    Case("hardsigmoid", lambda x: (x * 20).hardsigmoid(), ((9,),),
         lambda x: (x * 20 / 6 + 0.5).clip(0, 1), "apart"),
    Case("hardswish", lambda x: (x * 20).hardswish(), ((9,),),
         lambda x: x * 20 * (x * 20 / 6 + 0.5).clip(0, 1), "apart"),
    Case("threshold", lambda x: x.threshold(0.1, -2.0), ((9,),),
         lambda x: np.where(x > 0.1, x, -2.0), "apart"),
    Case("hardshrink", lambda x: x.hardshrink(0.2), ((9,),),
         lambda x: np.where(np.abs(x) > 0.2, x, 0), "apart"),
    Case("softshrink", lambda x: x.softshrink(0.2), ((9,),),
         lambda x: np.sign(x) * np.maximum(np.abs(x) - 0.2, 0), "apart"),
    Case("prelu", lambda x, w: x.prelu(w), ((2, 3, 4), (3,)),
         lambda x, w: np.where(x > 0, x, w[:, None] * x), "apart"),
    Case("prelu", lambda x, w: x.prelu(w), ((9,), (1,)),
         lambda x, w: np.where(x > 0, x, w * x), "apart"),
    Case("glu", lambda x: x.glu(1), ((3, 4),),
         lambda x: x[:, :2] / (1 + np.exp(-x[:, 2:]))),
    Case("softmin", lambda x: x.softmin(0), ((3, 4),), softmin),
]  # fmt: skip
