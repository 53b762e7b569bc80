"""One row per edge: ties, zeros, the ends of a domain, infinities and nan, nothing at all.

Where tutor differs from PyTorch on purpose the row says why, by a sentence that docs/pytorch.md
explains, and what is right instead.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import torch.nn.functional as theirs
from oracle import torch
from oracle_cases import ONE, TWO, method
from oracle_rows import Edge
from oracle_rules import BOOLS, CLAMPED, RULES

import tutor
import tutor.nn.functional as ours

inf, nan = float("inf"), float("nan")


class Refusal(NamedTuple):
    """What tutor refuses, and PyTorch, too; unless `why`, then PyTorch has an answer."""

    name: str
    f: Callable
    shape: tuple
    torch: Callable | None = None
    why: str | None = None


class Answer(NamedTuple):
    """What only PyTorch refuses: tutor's values, and the derivative of their sum."""

    name: str
    f: Callable
    shape: tuple
    torch: Callable | None
    why: str
    z: Any
    dx: Any


TIES = "Ties share the gradient evenly, along an axis and in windows, too."
STABLE = "`topk` is stable: of equal elements the first ones."
LAST = "Of several writes to one place, only the one that stays has a gradient."
AT_NAN = "At a nan, whatever chooses has another gradient."
SIGN = "`sign` of nan is nan."
DOMAIN = "Outside of its domain, a function's gradient is nan."
POWER = "`pow` follows IEEE 754: the power 0.5 of -inf is inf."
COPYSIGN = "`copysign` of an infinity has a gradient."
SPREAD = "`var` of an infinity has the gradient nan everywhere."
PROD = "`prod` has the product of the others as its gradient beside an infinity, too."
GELU = "`gelu` of -inf is -0, and its derivative has limits, too."
SOFTPLUS = "`softplus` has no threshold."
NEGATIVE = (
    "Positions may be negative in `gather`, `scatter`, `scatter_add` and `index_select`, too."
)
NO_ROWS = "The mean `cross_entropy` of no rows is refused."
VECTORS = "`vecdot` takes vectors of one length, as NumPy's does."
FRACTIONS = "`arange` of integers is counted in whole numbers."
NO_NORM = "`norm` of nothing has an answer for every finite order."
SECOND = "Second derivatives have a number in places where PyTorch has nan, or another one."
FLOOR = "`//` has a derivative: 0."
NUMPY_INDEX = "An int beside arrays of positions is one of them, as in NumPy."
DIFFERENCES = (
    TIES, STABLE, NEGATIVE, LAST, AT_NAN, SIGN, DOMAIN, POWER, PROD, COPYSIGN, SPREAD, GELU,
    SOFTPLUS, VECTORS, FRACTIONS, NO_ROWS, NO_NORM, FLOOR, SECOND, NUMPY_INDEX, BOOLS, CLAMPED,
)  # fmt: skip

SPECIAL = [0.0, -0.0, 1.0, -1.0, inf, -inf, nan]
A = [0.0, 1.0, -2.0, 5.0, inf, inf, -inf, -inf, 1.0, 1.0]
B = [0.0, 1.0, -2.0, 0.0, inf, 1.0, -inf, 1.0, inf, -inf]
at = torch.tensor


def dim0(name, *args):
    return lambda x: getattr(x, name)(*args).values


SPECIAL_NUMBERS = [
    *[Edge(n, method(n), (SPECIAL,), orders=1) for n in ONE
      if n not in ("sign", "relu", "acosh", "ravel", "flatten", "clone", "contiguous")],
    *[Edge(n, method(n), (A, B), getattr(torch, n), 1) for n in TWO
      if n not in ("pow", "copysign")],
    *[Edge(n, method(n), (SPECIAL,), getattr(torch, n), 0)
      for n in ("isnan", "isinf", "isfinite", "logical_not")],
    *[Edge(n, method(n), ([0.0, 0.0, nan, inf, -0.0], [0.0, 1.0, nan, -0.0, inf]), None, 0)
      for n in ("logical_and", "logical_or", "logical_xor")],
    Edge("nonzero", method("nonzero"), ([[0.0, nan, 1.0], [-0.0, -inf, 0.0]],),
         lambda x: x.nonzero(as_tuple=True), 0),
    Edge("sign", method("sign"), ([0.0, -0.0, inf, -inf],)),
    Edge("sign", method("sign"), ([nan],), None, 1, SIGN, [nan]),
    Edge("relu", method("relu"), ([0.0, -0.0, 1.0, inf, -inf],)),
    Edge("relu", method("relu"), ([nan],), None, 1, AT_NAN, None, [[0.0]]),
    Edge("acosh", method("acosh"), ([1.0, inf, nan],)),
    Edge("acosh", method("acosh"), ([-2.0],), None, 1, DOMAIN, None, [[nan]]),
    Edge("copysign", method("copysign"), ([0.0, -0.0, 2.0, -3.0], [-1.0, 1.0, -0.0, inf]),
         torch.copysign, 1),
    Edge("copysign", method("copysign"), ([inf, -inf], [-1.0, -2.0]), torch.copysign, 1, COPYSIGN,
         None, [[-1.0, 1.0], [0.0, 0.0]]),
    Edge("maximum", method("maximum"), ([nan, 1.0], [1.0, nan]), torch.maximum, 1, AT_NAN,
         [nan, nan], [[0.0, 0.0], [0.0, 0.0]]),
    Edge("minimum", method("minimum"), ([nan, 1.0], [1.0, nan]), torch.minimum, 1, AT_NAN,
         [nan, nan], [[0.0, 0.0], [0.0, 0.0]]),
    Edge("floor_divide", lambda x, y: x // y, (A, B), lambda x, y: torch.div(
        x, y, rounding_mode="floor"), 1),
    Edge("remainder", lambda x, y: x % y, ([6.0, -6.0, 7.5, 0.0], [3.0, 3.0, -2.5, 2.0])),
    Edge("fmod", lambda x, y: x.fmod(y), ([6.0, -6.0, 7.5, 0.0], [3.0, 3.0, -2.5, 2.0])),
    Edge("where", lambda x: tutor.where(x > 0, x.log(), 0.0), ([0.0, 1.0, -1.0],),
         lambda x: torch.where(x > 0, x.log(), 0.0), 1),
    Edge("masked_fill", lambda x: x.masked_fill([True, False], 0.0), ([nan, 1.0],),
         lambda x: x.masked_fill(at([True, False]), 0.0)),
    Edge("mul", lambda x, y: x * y, ([0.0, inf], [inf, 0.0])),
    Edge("lerp", lambda x, y: x.lerp(y, 1.0), ([1e20, 3.0], [1.0, 1.0])),
    Edge("lerp", lambda x, y: x.lerp(y, 0.0), ([1e20, 3.0], [1.0, inf])),
]  # fmt: skip

POWERS = [
    Edge("pow", lambda x, y: x**y,
         ([0.0, 0.0, 0.0, 2.0, 0.0, 0.0], [0.0, 1.0, 2.0, 0.0, 0.5, -1.0]), orders=1),
    Edge("pow", lambda x, y: x**y, ([-2.0, -2.0, -2.0, 1.0, inf], [2.0, 0.5, -1.0, nan, 0.0]),
         orders=1),
    Edge("pow", lambda x, y: x**y, ([nan], [0.0]), None, 1, AT_NAN, [1.0], [[nan], [nan]]),
    *[Edge("pow", lambda x, p=p: x**p, ([0.0, -2.0, 2.0, nan, inf],), None, o)
      for p, o in ((0, 2), (1, 2), (2, 2), (3, 2), (-1, 1), (0.5, 1), (1.5, 1))],
    Edge("pow", lambda x: x**0.5, ([-inf],), None, 1, POWER, [inf], [[0.0]]),
    Edge("pow", lambda x: x**1.5, ([-inf],), None, 1, POWER, [inf], [[inf]]),
    *[Edge("pow", lambda x, b=b: b**x, ([0.0, -2.0, 2.0, 0.5, nan, inf],), orders=1)
      for b in (0.0, 2.0, -2.0, 1.0)],
]  # fmt: skip

CHOICES = [
    Edge("max", lambda x: x.max(), ([1.0, 3.0, 3.0],)),
    Edge("min", lambda x: x.min(), ([1.0, 1.0, 1.0],)),
    Edge("max", lambda x: x.max(1), ([[1.0, 3.0, 3.0], [2.0, 2.0, 2.0]],), lambda x: x.amax(1)),
    Edge("max", lambda x: x.max(0), ([1.0, 3.0, 3.0],), dim0("max", 0), 2, TIES, None,
         [[0.0, 0.5, 0.5]], [[0.0, 0.5, 0.5]]),
    Edge("min", lambda x: x.min(0), ([3.0, 1.0, 1.0, 1.0, 1.0],), dim0("min", 0), 1, TIES, None,
         [[0.0, 0.25, 0.25, 0.25, 0.25]]),
    Edge("max", lambda x: x.max(), ([1.0, nan, 3.0],), lambda x: x.amax()),
    Edge("max", lambda x: x.max(), ([1.0, nan, 3.0],), None, 1, AT_NAN, None, [[nan, nan, nan]]),
    Edge("max", lambda x: x.max(), ([-inf, -inf],)),
    Edge("min", lambda x: x.min(), ([inf, 1.0, -inf],)),
    Edge("maximum", lambda x, y: x.maximum(y), ([1.0, 2.0, inf, 0.0], [1.0, 3.0, inf, -0.0])),
    Edge("minimum", lambda x, y: x.minimum(y), ([1.0, 2.0, -inf, 0.0], [1.0, 3.0, -inf, -0.0])),
    *[Edge(n, method(n, 0), (x,), dim0(n, 0)) for n in ("cummax", "cummin") for x in (
        [1.0, 3.0, 3.0, 2.0], [3.0, 1.0, 1.0, 2.0], [1.0, nan, 3.0, nan], [inf, -inf, inf], [2.0])],
    *[Edge("sort", lambda x, d=d: x.sort(descending=d) * [1.0, 2.0, 3.0, 4.0], (x,),
           lambda x, d=d: x.sort(stable=True, descending=d).values * at([1.0, 2.0, 3.0, 4.0]))
      for d in (False, True) for x in ([1.0, 3.0, 3.0, 2.0], [1.0, nan, -inf, inf], [1.0] * 4)],
    Edge("topk", lambda x: x.topk(2)[0], ([3.0, nan, inf, 1.0],), dim0("topk", 2)),
    Edge("topk", lambda x: x.topk(2), ([3.0, 1.0, 3.0, 3.0],), lambda x: tuple(x.topk(2)), 1,
         STABLE, ([3.0, 3.0], [0, 2]), [[1.0, 0.0, 1.0, 0.0]]),
    *[Edge("clip", lambda x: x.clip(-1.0, 1.0), (x,))
      for x in ([-1.0, 0.0, 1.0], [6.0, inf, -inf])],
    Edge("clip", lambda x, a, b: x.clip(a, b),
         ([1.0, 1.0, 2.0, 5.0, 3.0], [1.0, 0.0, 2.0, 6.0, 1.0], [2.0, 1.0, 2.0, 4.0, 2.0])),
    Edge("clip", lambda x, a, b: x.clip(a, b), ([1.0, 1.0], [nan, 0.0], [2.0, nan]), orders=0),
    Edge("clip", lambda x: x.clip(nan, 1.0), ([1.0, 0.0],), orders=0),
    Edge("clip", lambda x: x.clip(-1.0, 1.0), ([nan],), None, 1, AT_NAN, [nan], [[1.0]]),
    Edge("hardtanh", method("hardtanh"), ([-1.0, 0.0, 1.0, inf, -inf],), theirs.hardtanh),
    Edge("hardtanh", method("hardtanh"), ([nan],), theirs.hardtanh, 0),
    Edge("relu6", method("relu6"), ([0.0, 3.0, 6.0, inf, -inf],), theirs.relu6),
    Edge("relu6", method("relu6"), ([nan],), theirs.relu6, 0),
    *[Edge(n, method(n), ([0.0, -0.0, 2.0, inf, -inf],), getattr(theirs, n), 1)
      for n in ("elu", "leaky_relu", "softplus")],
    *[Edge(n, method(n), ([0.0, -0.0, 2.0],), getattr(theirs, n), 1) for n in ("silu", "mish")],
    *[Edge(n, method(n), ([inf, -inf],), getattr(theirs, n), 1, GELU, [inf, -0.0], [[1.0, -0.0]])
      for n in ("silu", "mish")],
    Edge("gelu", method("gelu"), ([0.0, -0.0, 2.0],), theirs.gelu),
    Edge("gelu", method("gelu"), ([inf, -inf],), theirs.gelu, 1, GELU, [inf, -0.0], [[1.0, -0.0]]),
    *[Edge(n, method(n), ([800.0, -800.0, 30.0, -30.0],), getattr(theirs, n), 2)
      for n in ("elu", "leaky_relu", "silu", "gelu")],
    Edge("leaky_relu", lambda x: x.leaky_relu(0.0), ([0.0, -1.0, inf, nan],),
         lambda x: theirs.leaky_relu(x, 0.0)),
    *[Edge(n, method(n), ([0.0, -0.0, 2.0, 1e3, -1e3],), getattr(theirs, n), 1)
      for n in ("selu", "celu", "mish", "logsigmoid", "softsign", "tanhshrink")],
    Edge("mish", method("mish"), ([nan],), theirs.mish, 0),
    *[Edge(n, method(n), (x,), getattr(theirs, n), 0)
      for n in ("selu", "celu", "logsigmoid", "softsign", "tanhshrink", "hardsigmoid",
                "hardswish", "hardshrink", "softshrink") for x in ([inf, -inf], [nan])],
    Edge("hardsigmoid", method("hardsigmoid"), ([-3.0, 3.0, 0.0],), theirs.hardsigmoid, 0),
    Edge("hardswish", method("hardswish"), ([-3.0, 3.0, 0.0],), theirs.hardswish, 1),
    *[Edge(n, method(n), ([-0.5, 0.5, 0.0, 0.75],), getattr(theirs, n), 1)
      for n in ("hardshrink", "softshrink")],
    Edge("threshold", method("threshold", 1.0, 9.0), ([1.0, 2.0, 0.0, inf, -inf, nan],),
         lambda x: theirs.threshold(x, 1.0, 9.0), 1),
    Edge("nan_to_num", method("nan_to_num"), ([nan, inf, -inf, 1.0],), None, 1),
    *[Edge("logcumsumexp", method("logcumsumexp", 0), (x,), None, 0) for x in (
        [-1e3, 0.0, 1e3, 0.0], [-inf, -inf, 2.0, -inf], [1.0, inf, 2.0], [1.0, nan, 2.0])],
    *[Edge(n, method(n), ([1.0, nan, inf],), None, 0) for n in ("nansum", "nanmean")],
    *[Edge("quantile", method("quantile", q), (x,), None, 0) for q in (0.0, 0.5)
      for x in ([1.0, nan, 2.0], [3.0])],
    Edge("prelu", lambda x, w: x.prelu(w), ([0.0, -0.0, 2.0, -3.0], [0.25]), theirs.prelu,
         1),
    Edge("elu", method("elu"), ([nan],), theirs.elu, 1, AT_NAN, [nan], [[nan]]),
    Edge("softplus", method("softplus"), ([0.0, 19.0, 30.0, -30.0, 800.0],), theirs.softplus),
    Edge("softplus", method("softplus", 1, 20), ([19.0, 20.5, 800.0],), theirs.softplus),
    Edge("softplus", method("softplus"), ([20.5],), theirs.softplus, 1, SOFTPLUS,
         [20.50000000125015286], [[0.99999999874984713]]),
]  # fmt: skip

LISTS = ([2.0, 3.0, 4.0], [2.0, 0.0, 4.0], [0.0, 3.0, 0.0], [0.0, 0.0, 0.0], [nan, 0.0], [])
ENDLESS = ([-inf, -inf], [-inf, 1.0], [inf, 1.0], [inf, inf], [inf, -inf], [nan, 1.0], [1e3, 1e3])
REDUCTIONS = [
    *[Edge(n, method(n, *a), (x,), None, 1 if nan in x or not x else 2)
      for n, a in (("prod", ()), ("cumprod", (0,)), ("sum", ()), ("cumsum", (0,)), ("mean", ()))
      for x in LISTS],
    *[Edge(n, method(n), (x,), None, 1) for n in ("sum", "mean") for x in ENDLESS],
    Edge("prod", method("prod"), ([-inf, 2.0],), None, 1, PROD, -inf, [[2.0, -inf]]),
    Edge("prod", method("prod"), ([inf, inf, -inf],), None, 1, PROD, -inf, [[-inf, -inf, inf]]),
    Edge("prod", method("prod"), ([inf, 0.0],), None, 1),
    *[Edge("norm", method("norm", o), (x,), lambda x, o=o: torch.linalg.vector_norm(x, o), 1)
      for o in (0, 1, 2, 3, 0.5, -1, inf, -inf)
      for x in ([0.0, 0.0], [0.0, 3.0], [-3.0, 3.0], [inf, 3.0])],
    *[Edge("norm", method("norm", o), ([nan, 1.0],),
           lambda x, o=o: torch.linalg.vector_norm(x, o), 1, AT_NAN, nan, [[0.0, nan]])
      for o in (3, 0.5, -1, inf, -inf)],
    *[Edge("norm", method("norm", o), (x,), lambda x, o=o: torch.linalg.vector_norm(x, o), 0)
      for o in (0, 1, 2, 3, 0.5, -1, inf, -inf) for x in ([nan, 1.0], [inf, inf], [-inf, 0.0])],
    *[Edge("norm", method("norm", o), ([],), lambda x, o=o: torch.linalg.vector_norm(x, o), 1)
      for o in (0, 1, 2, 3, 0.5)],
    *[Edge(n, method(n, correction=c), (x,), method(n, correction=c), 1)
      for n in ("var", "std") for c in (0, 1) for x in ([2.0, 2.0, 2.0], [2.0], [1.0, nan], [])],
    Edge("var", method("var"), ([1.0, inf],), method("var", correction=0), 1, SPREAD, nan,
         [[nan, nan]]),
    *[Edge(n, method(n, 0), (x,), None, 1)
      for n in ("logsumexp", "softmax", "log_softmax") for x in (*ENDLESS, [0.0], [])],
    Edge("logsumexp", method("logsumexp", 1), ([[], []],), orders=1),
    Edge("mean", method("mean", 1), ([[], []],), orders=1),
    Edge("trace", method("trace"), ([[], []],)),
    Edge("matmul", lambda x, y: x @ y, ([[inf, 0.0]], [[1.0], [nan]])),
    Edge("matmul", lambda x, y: x @ y, ([[0.0, 1.0]], [[inf], [-inf]])),
]  # fmt: skip

EMPTY = [
    *[Edge(n, method(n), (x,), None) for n in ONE for x in ([], [[], []])],
    *[Edge(n, method(n), ([], [1.0]), getattr(torch, n)) for n in TWO],
    Edge("reshape", lambda x: x.reshape(0, 3), ([],)),
    Edge("cat", lambda x, y: tutor.cat([x, y]), ([], [1.0]), lambda x, y: torch.cat([x, y])),
    Edge("sort", lambda x: x.sort(), ([],), lambda x: x.sort().values),
    Edge("cummax", lambda x: x.cummax(0), ([],), dim0("cummax", 0)),
    Edge("max", lambda x: x.max(0), ([[]],), lambda x: x.amax(0)),
    Edge("gather", lambda x: x.gather(0, []), ([1.0],), lambda x: x.gather(0, at([]).long())),
    Edge("masked_select", lambda x: x.masked_select(x > 2), ([1.0],)),
    Edge("select", lambda x: x[x > 2], ([1.0, 2.0],)),
    Edge("flip", lambda x: x.flip(0), ([],)),
    Edge("roll", lambda x: x.roll(2, 0), ([],)),
    Edge("diagonal", lambda x: x.diagonal(), ([[], []],)),
    Edge("linear", ours.linear, ([[1.0]], [[2.0]], [3.0]), theirs.linear),
    Edge("mse_loss", lambda x, t: ours.mse_loss(x, t), ([], []), theirs.mse_loss, 1),
]  # fmt: skip

INDICES = [
    Edge("gather", lambda x: x.gather(0, [0, 0, 1]), ([1.0, 2.0, 3.0],),
         lambda x: x.gather(0, at([0, 0, 1]))),
    Edge("index_select", lambda x: x.index_select(0, [1, 1, 1]), ([1.0, 2.0],),
         lambda x: x.index_select(0, at([1, 1, 1]))),
    *[Edge(n, lambda x, s, n=n, i=i: getattr(x, n)(0, tutor.Tensor(i), s), (a, b),
           lambda x, s, n=n, i=i: getattr(x, n)(0, at(i), s))  # a single number is a row of one
      for n in ("scatter", "scatter_add")
      for a, b, i in ((2.0, 3.0, 0), (2.0, [3.0], [0]), ([1.0, 2.0, 3.0], 4.0, 2))],
    *[Edge("gather", lambda x, i=i: x.gather(0, tutor.Tensor(i)), (a,),
           lambda x, i=i: x.gather(0, at(i)))
      for a, i in ((2.0, 0), (2.0, [0, 0]), ([1.0, 2.0, 3.0], 2))],
    Edge("index_select", lambda x: x.index_select(0, tutor.Tensor(1)), ([1.0, 2.0],),
         lambda x: x.index_select(0, at(1))),
    Edge("scatter_reduce", lambda x, s: x.scatter_reduce(0, tutor.Tensor(0), s, "prod"),
         (2.0, 3.0), lambda x, s: x.scatter_reduce(0, at(0), s, "prod")),
    Edge("select", lambda x: x[[0, -2, 1]], ([1.0, 2.0],), lambda x: x[at([0, -2, 1])]),
    Edge("scatter_add", lambda x, s: x.scatter_add(0, [0, 0, 1], s),
         ([1.0, 2.0, 3.0], [4.0, 5.0, 6.0]), lambda x, s: x.scatter_add(0, at([0, 0, 1]), s)),
    Edge("scatter", lambda x, s: x.scatter(0, [2, 0, 1], s), ([1.0, 2.0, 3.0], [4.0, inf, nan]),
         lambda x, s: x.scatter(0, at([2, 0, 1]), s)),
    Edge("scatter", lambda x, s: x.scatter(0, [0, 0, 1], s), ([1.0, 2.0, 3.0], [4.0, 5.0, 6.0]),
         lambda x, s: x.scatter(0, at([0, 0, 1]), s), 1, LAST, [5.0, 6.0, 3.0],
         [[0.0, 0.0, 1.0], [0.0, 1.0, 1.0]]),
    Edge("select", lambda x: x[0, :, [1, 0]], ([[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]],),
         lambda x: x[0, :, at([1, 0])], 1, NUMPY_INDEX, [[2.0, 4.0, 6.0], [1.0, 3.0, 5.0]]),
    Edge("floor_divide", lambda x: (x * 4) // 3 + x, ([2.0],), lambda x: torch.floor(
        x * 4 / 3) + x, 2),
]  # fmt: skip


def pooled(x, why, dx, *args):
    return Edge("max_pool1d", lambda x: ours.max_pool1d(x, *args), (x,),
                lambda x: theirs.max_pool1d(x, *args), 1, why, None, dx)  # fmt: skip


def crossed(x, t, **options):
    return Edge("cross_entropy", lambda x: ours.cross_entropy(x, t, **options), (x,),
                lambda x: theirs.cross_entropy(x, at(t), **options), 1)  # fmt: skip


LEARNING = [
    pooled([[1.0, 1.0, 2.0, 3.0]], TIES, [[[0.5, 0.5, 0.0, 1.0]]], 2),
    pooled([[-inf, -inf, 2.0, 3.0]], TIES, [[[0.5, 0.5, 0.0, 1.0]]], 2),
    pooled([[1.0, nan, 2.0, 3.0]], AT_NAN, [[[0.0, 0.0, 0.0, 1.0]]], 2),
    pooled([[inf, 1.0, -inf, -2.0]], None, None, 1),
    *[Edge("huber_loss", lambda x, t, r=r: ours.huber_loss(x, t, r), (x, t),
           lambda x, t, r=r: theirs.huber_loss(x, t, r))
      for r in ("mean", "none") for x, t in (([0.0, 1.0, -1.0, 2.0], [0.0, 0.0, 0.0, 0.0]),)],
    Edge("l1_loss", ours.l1_loss, ([0.0, 1.0], [0.0, 0.0]), theirs.l1_loss),
    *[Edge("binary_cross_entropy_with_logits", ours.binary_cross_entropy_with_logits, (x, t),
           theirs.binary_cross_entropy_with_logits, 1)
      for x, t in (([0.0, 500.0, -500.0, 40.0], [1.0, 0.0, 1.0, 1.0]), ([inf, -inf], [1.0, 0.0]))],
    crossed([[1e4, -1e4, 0.0], [-1e4, 1e4, 1e4]], [0, 0]),
    crossed([[-inf, 2.0], [1.0, 2.0]], [1, 1]),
    crossed([[-inf, 2.0]], [0]),
    crossed([[nan, 2.0], [1.0, 2.0]], [0, 0], reduction="none"),
    crossed([[1.0, 2.0], [1.0, 2.0]], [1, 1], ignore_index=1),
    crossed([[inf, 2.0], [1.0, 2.0]], [1, 0], ignore_index=1),
    crossed([[-inf, 2.0]], [1], label_smoothing=0.1),
]  # fmt: skip

CURVES = [
    Edge("norm", method("norm"), ([0.0, 0.0],), None, 2, SECOND, None, None, [[0.0, 0.0]]),
    Edge("atan2", method("atan2"), ([0.0], [0.0]), None, 2, SECOND, None, None, [[0.0], [0.0]]),
    Edge("logaddexp", method("logaddexp"), ([inf], [1.0]), torch.logaddexp, 2, SECOND, None, None,
         [[1.0], [0.0]]),
    Edge("copysign", method("copysign"), ([0.0], [-1.0]), torch.copysign, 2, SECOND, None, None,
         [[0.0], [0.0]]),
    Edge("elu", method("elu"), ([0.0],), theirs.elu, 2, SECOND, None, None, [[2.0]]),
    Edge("pow", lambda x, y: x**y, ([2.0], [0.0]), None, 2, SECOND, None, None,
         [[0.5], [0.5 + math.log(2) + math.log(2) ** 2]]),
]  # fmt: skip

EDGES = [
    *SPECIAL_NUMBERS, *POWERS, *CURVES, *CHOICES, *REDUCTIONS, *EMPTY, *INDICES, *LEARNING,
    *RULES,
]  # fmt: skip

REFUSALS = [
    *[Refusal(n, method(n), (0,)) for n in ("max", "min", "argmax", "argmin")],
    *[Refusal(n, method(n, 1), (2, 0)) for n in ("max", "min", "argmax", "argmin")],
    *[Refusal("norm", method("norm", o), (0,), lambda x, o=o: torch.linalg.vector_norm(x, o))
      for o in (inf, -inf)],
    *[Refusal("vecdot", lambda x, y=y: x.vecdot(tutor.Tensor.ones(*y)), (2, 3),
              lambda x, y=y: torch.linalg.vecdot(x, torch.ones(y, dtype=x.dtype)), w)
      for y, w in (((2,), None), ((2, 1), VECTORS), ((3, 3), None))],
    *[Refusal("arange", lambda x, p=p: tutor.arange(*p, dtype="int64"), (),
              lambda x, p=p: torch.arange(*p, dtype=torch.int64), FRACTIONS)
      for p in ((0.5, 3.5), (0, 5, 1.5), (-1.5, 2))],
    Refusal("matmul", lambda x: x @ x, (2, 3)),
    Refusal("reshape", lambda x: x.reshape(5), (2, 3)),
    Refusal("add", lambda x: x + x.T, (2, 3)),
    Refusal("gather", lambda x: x.gather(0, [3]), (3,), lambda x: x.gather(0, at([3]))),
    Refusal("index", lambda x: x[3], (3,)),
    Refusal("topk", lambda x: x.topk(4), (3,)),
    Refusal("backward", lambda x: (x * 2).backward(), (3,)),
    Refusal("cross_entropy", lambda x: ours.cross_entropy(x, tutor.Tensor([], dtype="int64")),
            (0, 3), lambda x: theirs.cross_entropy(x, at([]).long()), NO_ROWS),
]  # fmt: skip

ANSWERS = [
    Answer("norm", method("norm", -1), (0,), lambda x: torch.linalg.vector_norm(x, -1), NO_NORM,
           inf, []),
    Answer("floor_divide", lambda x: x // 2, (3,), None, FLOOR, [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]),
    Answer("gather", lambda x: x.gather(0, [-1, 0]), (3,), lambda x: x.gather(0, at([-1, 0])),
           NEGATIVE, [2.0, 0.0], [1.0, 0.0, 1.0]),
]  # fmt: skip
