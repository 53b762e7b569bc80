"""One row per case: every differentiable op, and every method composed of several."""

from __future__ import annotations

import operator

import torch.nn.functional as theirs
from oracle import Case, torch

import tutor
from tutor import apply

SHAPES = ((), (5,), (3, 4), (2, 1, 3), (0, 3), (3, 37))
PAIRS = (
    ((3, 4), (3, 4)), ((3, 1), (2, 1, 4)), ((), (3,)), ((2, 3), (3,)), ((0, 1), (1, 3)), ((), ()),
    ((3, 37), (37,)),
)  # fmt: skip

ONE = {  # operand: which numbers
    "neg": "normal", "abs": "apart", "sign": "apart", "square": "normal", "reciprocal": "nonzero",
    "sqrt": "positive", "rsqrt": "positive", "exp": "normal", "exp2": "normal", "expm1": "normal",
    "log": "positive", "log2": "positive", "log10": "positive", "log1p": "positive",
    "sin": "normal", "cos": "normal", "tan": "unit", "asin": "unit", "acos": "unit",
    "atan": "normal", "sinh": "normal", "cosh": "normal", "tanh": "normal", "asinh": "normal",
    "acosh": "above one", "atanh": "unit", "erf": "normal", "sigmoid": "normal", "relu": "apart",
    "floor": "apart", "ceil": "apart", "round": "apart", "trunc": "apart", "flatten": "normal",
    "clone": "normal", "contiguous": "normal", "ravel": "normal",
}  # fmt: skip
TWO = {
    "add": "normal", "sub": "normal", "mul": "normal", "div": "nonzero", "pow": "positive",
    "remainder": "nonzero", "fmod": "nonzero", "maximum": "apart", "minimum": "apart",
    "hypot": "normal", "atan2": "normal", "logaddexp": "normal", "copysign": "nonzero",
}  # fmt: skip


def slope_of(f, g, x):
    """g f'(x), which can be differentiated."""
    x = x if x.requires_grad else x.detach().requires_grad_()
    (slope,) = torch.autograd.grad(f(x).sum(), x, create_graph=True)
    return g * slope


GRADIENTS = {  # of a result z, given that of what it leads to, g
    "relu_grad": lambda g, z: g * (z > 0),
    "tanh_grad": lambda g, z: g * (1 - z * z),
    "sigmoid_grad": lambda g, z: g * z * (1 - z),
    "gelu_grad": lambda g, x: slope_of(lambda y: theirs.gelu(y), g, x),
    "gelu_tanh_grad": lambda g, x: slope_of(lambda y: theirs.gelu(y, approximate="tanh"), g, x),
    "softplus_grad": lambda g, x: slope_of(theirs.softplus, g, x),
    "silu_grad": lambda g, x: slope_of(theirs.silu, g, x),
    "mish_grad": lambda g, x: slope_of(theirs.mish, g, x),
}
ACTIVATIONS = {  # name: parameters
    "silu": ({},), "gelu": ({}, {"approximate": "tanh"}), "elu": ({}, {"alpha": 0.5}),
    "leaky_relu": ({}, {"negative_slope": 0.2}), "relu6": ({},),
    "hardtanh": ({}, {"min_val": -0.2, "max_val": 0.4}), "selu": ({},),
    "softplus": ({}, {"beta": 2.0}, {"beta": 2.0, "threshold": 0.3}), "celu": ({}, {"alpha": 0.25}),
    "mish": ({},), "logsigmoid": ({},), "softsign": ({},), "tanhshrink": ({},),
    "hardswish": ({},), "threshold": ({"threshold": 0.1, "value": 7.0},),
    "hardshrink": ({}, {"lambd": 0.2}), "softshrink": ({}, {"lambd": 0.2}, {"lambd": 0}),
}  # fmt: skip


def method(name, *args, **params):
    """x, y, ... -> x.name(y, ..., *args, **params)"""
    return lambda x, *others: getattr(x, name)(*others, *args, **params)


def scanned(x, y, axis):
    """The recurrence of the op `scan`, step by step."""
    zs = [y.select(axis, 0)]
    for i in range(1, y.shape[axis]):
        zs.append(x.select(axis, i) * zs[-1] + y.select(axis, i))
    return torch.stack(zs, axis)


def added_up(x, shape, axis, step, dilation):
    """The op `fold`, with index_add: window i's element j goes to i * step + j * dilation."""
    places, size = x.shape[axis], x.shape[-1]
    at = torch.arange(places)[:, None] * step + torch.arange(size) * dilation
    rows = x.movedim(-1, axis + 1).flatten(axis, axis + 1)
    return torch.zeros(shape, dtype=x.dtype).index_add(axis, at.flatten(), rows)


def changed(x, y):
    z = x * 1
    z[:, 1:] = y
    return z * z


def changed_under_a_view(x, y):
    """The row is older than the change: what reads it takes it from z again."""
    z = x * 1
    row = z[0]
    z[:, 1:] *= y
    return row * row


KEY = (slice(None, None, 2), None, 1, ..., slice(0, 3, 2))
T23, T32 = [[2, 0, 1], [1, 1, 0]], [[2, 0], [1, 1], [0, 2]]
FREE = [[3, 0, 1], [1, 2, 0]]  # no position twice
MASK = [[True, False, True], [False, True, True]]
i23, i32, free, mask = (torch.tensor(x) for x in (T23, T32, FREE, MASK))

ELEMENTWISE = [
    *[Case(n, method(n), (s,), None, v) for n, v in ONE.items() for s in SHAPES],
    *[Case(n, method(n), pair, getattr(torch, n), v) for n, v in TWO.items() for pair in PAIRS],
    *[Case(n, method(n, **p), (s,), lambda x, n=n, p=p: getattr(theirs, n)(x, **p), "apart")
      for n, params in ACTIVATIONS.items() for p in params for s in SHAPES],
    *[Case("hardsigmoid", method("hardsigmoid"), (s,), lambda x: theirs.relu6(x + 3) / 6, "apart")
      for s in SHAPES],  # PyTorch's own has a slope of 1/6 in float32, and no second derivative
    *[Case("hardswish", lambda x: (x * 5).hardswish(), (s,), lambda x: theirs.hardswish(x * 5),
           "apart") for s in SHAPES],
    *[Case("prelu", lambda x, w: x.prelu(w), shapes, theirs.prelu, "apart") for shapes in (
        ((), (1,)), ((), ()), ((5,), (1,)), ((3, 4), (4,)), ((3, 4), (1,)), ((2, 3, 2, 2), (3,)),
        ((0, 3), (3,)))],
    *[Case("glu", lambda x, a=a: x.glu(a), (s,), lambda x, a=a: theirs.glu(x, a))
      for s, a in (((4,), -1), ((3, 4), 1), ((6, 1, 3), 0), ((0, 2), 1))],
    *[Case("softmin", lambda x, a=a: x.softmin(a), (s,), lambda x, a=a: theirs.softmin(x, a))
      for s, a in (((4,), -1), ((3, 4), 1), ((6, 1, 3), 0), ((), 0))],
    *[Case(n, lambda g, z, n=n: apply(n, g, z), pair, f, "unit")
      for n, f in GRADIENTS.items() for pair in PAIRS],
    Case("add", lambda x: x + x.T, ((3, 3),)),
    Case("sub", lambda x: 1 - x, ((3,),)),
    Case("mul", lambda x: x * x * 3, ((4,),)),
    Case("div", lambda x: 3 / x, ((5,),), None, "nonzero"),
    Case("pow", lambda x: x**3, ((2, 3),)),
    Case("pow", lambda x: x**-2, ((2, 3),), None, "nonzero"),
    Case("pow", lambda x: x**0.5, ((5,),), None, "positive"),
    Case("pow", lambda x: x**0, ((5,),)),
    Case("pow", lambda x: x**1, ((5,),)),
    Case("pow", lambda x: 2**x, ((5,),)),
    *[Case(n, getattr(operator, n), pair, orders=0)
      for n in ("eq", "ne", "lt", "le", "gt", "ge") for pair in PAIRS],
    *[Case("floor_divide", lambda x, y: x // y, pair,
           lambda x, y: torch.div(x, y, rounding_mode="floor"), "nonzero") for pair in PAIRS],
    Case("mod", lambda x: x % 0.7, ((4,),)),
    *[Case("where", lambda x, y: tutor.where(x > y, x * x, y), pair,
           lambda x, y: torch.where(x > y, x * x, y), "apart") for pair in PAIRS],
    Case("masked_fill", lambda x: x.masked_fill(MASK, 2.0), ((2, 3),),
         lambda x: x.masked_fill(mask, 2.0)),
    *[Case("clip", lambda x, p=p: x.clip(*p), ((3, 4),), None, "apart")
      for p in ((-0.2, 0.3), (None, 0.3), (-0.2, None), (0.3, -0.2))],
    Case("clamp", lambda x, a, b: x.clamp(a, b), ((3, 4), (4,), (3, 1)), None, "apart"),
    Case("lerp", lambda x, y: x.lerp(y, 0.3), ((3, 4), (3, 4))),
    Case("lerp", lambda x, y, w: x.lerp(y, w), ((3, 4), (4,), (3, 1))),
    Case("transfer", lambda x: apply("transfer", x, device="cpu") * x, ((2, 3),),
         lambda x: x.clone() * x),
    Case("copy", lambda x: x.copy() * x, ((2, 3),), lambda x: x.clone() * x),
    Case("cast", lambda x: x.cast("float32").cast("float64") * 2, ((2, 3),),
         lambda x: x.float().double() * 2),
]  # fmt: skip

AXES = (((2, 3, 4), None), ((2, 3, 4), (0, -1)), ((2, 3, 4), 1), ((), None), ((3, 37), -1))
ONE_AXIS = (((5,), 0), ((2, 3, 4), 1), ((3, 4), -1), ((1, 3), 0), ((2, 37), 1), ((19, 3), 0))
REDUCTIONS = [
    *[Case(n, method(n, axis=a, keepdims=k), (s,),
           lambda x, f=f, a=a, k=k: f(x, tuple(range(x.ndim)) if a is None else a, keepdim=k), v)
      for n, f, v in (("sum", torch.sum, "normal"), ("mean", torch.mean, "normal"),
                      ("max", torch.amax, "apart"), ("min", torch.amin, "apart"))
      for s, a in AXES for k in (False, True)],
    *[Case(n, method(n, axis=()), ((2, 3),), torch.clone) for n in ("sum", "mean", "max", "prod")],
    *[Case("prod", method("prod", axis=a), (s,)) for s, a in ONE_AXIS],
    Case("prod", lambda x: x.prod(), ((2, 3),)),
    Case("prod", lambda x: x.prod(axis=(0, 2)), ((2, 3, 2),), lambda x: x.prod(2).prod(0)),
    *[Case(n, method(n, a, c, k), (s,),
           lambda x, n=n, a=a, c=c, k=k: getattr(x, n)(a, correction=c, keepdim=k))
      for n in ("var", "std") for s, a in AXES if s for c in (0, 1)
      for k in (False, True)],
    *[Case("norm", method("norm", o, a, k), (s,),
           lambda x, o=o, a=a, k=k: torch.linalg.vector_norm(x, o, a, k), "apart")
      for o in (0, 1, 2, 3, 0.5, -1, float("inf"), -float("inf"))
      for s, a, k in (((2, 3), None, False), ((2, 3, 2), (0, 2), True), ((5,), 0, False))],
    *[Case("logsumexp", method("logsumexp", a, k), (s,),
           lambda x, a=a, k=k: x.logsumexp(tuple(range(x.ndim)) if a is None else a, k))
      for s, a in AXES for k in (False, True)],
    *[Case(n, method(n, a), (s,), None if n[3] != "m" or n == "cumsum" else
           lambda x, n=n, a=a: getattr(x, n)(a).values, "apart" if n[3] == "m" else "normal")
      for n in ("cumsum", "cumprod", "cummax", "cummin") for s, a in ONE_AXIS],
    *[Case("scan", lambda x, y, a=a: apply("scan", x, y, axis=a % y.ndim), (s, s),
           lambda x, y, a=a: scanned(x, y, a)) for s, a in ONE_AXIS],
    *[Case("sort", method("sort", a, d), (s,),
           lambda x, a=a, d=d: x.sort(dim=a, descending=d, stable=True).values, "apart")
      for s, a in ONE_AXIS for d in (False, True)],
    *[Case("topk", method("topk", k, a, g), (s,),
           lambda x, k=k, a=a, g=g: tuple(x.topk(k, a, g)), "apart")
      for s, a in ONE_AXIS for k in (0, 1) for g in (False, True)],
    Case("topk", lambda x: x.topk(2, 0), ((3, 4),), lambda x: tuple(x.topk(2, 0)), "apart"),
    *[Case(n, method(n, axis=a), (s,), method(n, dim=a))
      for n in ("softmax", "log_softmax") for s, a in ONE_AXIS],
    *[Case(n, method(n, axis=a), (s,), values="apart", orders=0) for n in ("argmax", "argmin")
      for s, a in (*ONE_AXIS, ((2, 3, 4), None))],
    *[Case("argsort", method("argsort", a, d), (s,), lambda x, a=a, d=d: x.argsort(
        dim=a, descending=d, stable=True), "apart", 0) for s, a in ONE_AXIS for d in (False, True)],
    *[Case(n, lambda x, n=n, a=a: getattr(x > 0.8, n)(a), (s,), orders=0)
      for n in ("any", "all", "count_nonzero") for s, a in ONE_AXIS],
    Case("trace", lambda x: x.trace(), ((3, 4),)),
    Case("outer", lambda x, y: x.outer(y), ((3,), (2,))),
    Case("unique", lambda x: x.unique(), ((2, 3),), lambda x: x.flatten().sort().values, "apart"),
]  # fmt: skip

PRODUCTS = [
    *[Case("matmul", lambda x, y: x @ y, shapes) for shapes in (
        ((3, 4), (4, 2)), ((4,), (4,)), ((4,), (4, 3)), ((3, 4), (4,)), ((2, 3, 4), (4,)),
        ((4,), (2, 4, 3)), ((5, 1, 2, 3), (4, 3, 2)), ((2, 3, 4), (2, 4, 1)), ((2, 3, 4), (4, 2)),
        ((2, 0), (0, 3)), ((0, 2), (2, 3)), ((1, 1), (1, 1)), ((0,), (0,)), ((7, 19), (19, 18)))],
    Case("dot", lambda x, y: x.dot(y), ((4,), (4,))),
    Case("matmul", lambda x: x @ x.T @ x, ((3, 2),)),
    *[Case("einsum", lambda *xs, e=e: tutor.einsum(e, *xs), shapes,
           lambda *xs, e=e: torch.einsum(e, *xs)) for e, *shapes in (
        ("ij,jk->ik", (2, 3), (3, 4)), ("ij,jk", (2, 3), (3, 4)), ("ii", (3, 3)),
        ("ii->i", (3, 3)), ("ij->ji", (2, 3)), ("ij->", (2, 3)), ("i,j->ij", (2,), (3,)),
        ("bij,bjk->bik", (2, 3, 2), (2, 2, 3)), ("...ij,jk->...ik", (2, 2, 3), (3, 2)),
        ("i,i,i->i", (3,), (3,), (3,)), ("ij,jk,kl->il", (2, 3), (3, 2), (2, 3)),
        ("bhid,bhjd->bhij", (1, 2, 3, 2), (1, 2, 2, 2)), ("iij->j", (2, 2, 3)),
        ("ij,ij->", (2, 3), (2, 3)), ("i...->...", (2, 3)),
        ("ba", (2, 3)), ("cb,ca", (2, 3), (2, 4)), ("b...a", (2, 3, 4)), ("ki,jk", (2, 3), (4, 2)),
        ("...i,i...->...", (2, 3, 4), (4, 3)), ("i...,...->i...", (2, 3, 4), (4,)),
        ("...,...", (2, 3), (4, 2, 3)), ("b...,...c->bc...", (2, 3, 4), (4, 5)),
        ("ij,ij->ij", (2, 1), (2, 3)), ("ij,jk->ik", (2, 1), (3, 4)), ("ij,jk->ik", (2, 3), (1, 4)),
        ("...i,...i->...", (2, 1, 3), (4, 3)), ("ij,ij,ij->i", (1, 3), (2, 1), (2, 3)))],
]  # fmt: skip

MOVEMENT = [
    Case("reshape", lambda x: x.reshape(3, -1) * x.reshape(3, 2), ((2, 3),)),
    Case("reshape", lambda x: x.T.reshape(6), ((2, 3),)),
    Case("view", lambda x: x.contiguous().view(6), ((2, 3),)),
    Case("flatten", lambda x: x.flatten(1), ((2, 3, 2),)),
    Case("permute", lambda x: x.permute(2, 0, 1), ((2, 3, 4),)),
    Case("transpose", lambda x: x.transpose(0, -1), ((2, 3, 4),)),
    Case("swapaxes", lambda x: x.swapaxes(0, 1), ((2, 3, 4),)),
    Case("mT", lambda x: x.mT, ((2, 3, 4),)),
    Case("T", lambda x: x.T, ((2, 3),)),
    Case("movedim", lambda x: x.movedim((0, 2), (1, 0)), ((2, 3, 4),)),
    Case("moveaxis", lambda x: x.moveaxis(0, -1), ((2, 3, 4),)),
    Case("expand", lambda x: x.expand(4, -1, 3) * x, ((2, 1),)),
    Case("broadcast_to", lambda x: x.broadcast_to((2, 3)), ((3,),)),
    Case("squeeze", lambda x: x.squeeze(1), ((2, 1, 3),)),
    Case("squeeze", lambda x: x.squeeze(), ((1, 2, 1),)),
    Case("unsqueeze", lambda x: x.unsqueeze(1), ((2, 3),)),
    Case("flip", lambda x: x.flip((0, 2)), ((2, 3, 4),)),
    Case("flip", lambda x: x.flip(), ((2, 3),), lambda x: x.flip((0, 1))),
    Case("shrink", lambda x: x.shrink(((1, 3), (0, 2))), ((3, 4),), lambda x: x[1:3, 0:2]),
    *[Case("diagonal", method("diagonal", *p), ((3, 4, 2),))
      for p in ((0,), (1,), (-2,), (0, 1, 2), (1, -1, 0), (5,))],
    *[Case(n, method(n, k), (s,)) for n in ("tril", "triu") for k in (0, 1, -2)
      for s in ((3, 4), (2, 3, 3))],
    Case("unfold", lambda x: x.unfold(0, 3), ((5,),), lambda x: x.unfold(0, 3, 1)),
    Case("unfold", lambda x: x.unfold(1, 3, 2), ((2, 7),)),
    Case("windows", lambda x: x.unfold(1, 2, 1, 3), ((2, 7),),
         lambda x: x.unfold(1, 4, 1)[..., ::3]),
    Case("windows", lambda x: x.unfold(0, 2).unfold(1, 2), ((3, 4),),
         lambda x: x.unfold(0, 2, 1).unfold(1, 2, 1)),
    *[Case("fold", lambda x, s=s, p=p: apply("fold", x, shape=s, axis=1, step=p[0], dilation=p[1]),
           ((2, 3, 2),), lambda x, s=s, p=p: added_up(x, s, 1, *p))
      for s, p in (((2, 4), (1, 1)), ((2, 7), (2, 1)), ((2, 6), (1, 3)))],
    *[Case("split", method("split", p, a), (s,))
      for p, a, s in ((2, 0, (5,)), ((1, 3), 1, (2, 4)), (3, 1, (2, 3)))],
    *[Case("chunk", method("chunk", n, a), (s,))
      for n, a, s in ((2, 0, (5,)), (3, 1, (2, 4)), (5, 0, (3,)))],
    Case("pad", lambda x: x.pad(((1, 0), (0, 2)), value=3), ((2, 3),),
         lambda x: theirs.pad(x, (0, 2, 1, 0), value=3)),
    Case("pad", lambda x: x.pad(((1, 2), (3, 0)), mode="edge"), ((2, 3),),
         lambda x: theirs.pad(x[None, None], (3, 0, 1, 2), "replicate")[0, 0]),
    Case("pad", lambda x: x.pad(((1, 2), (4, 1)), mode="wrap"), ((2, 4),),
         lambda x: theirs.pad(x[None, None], (4, 1, 1, 2), "circular")[0, 0]),
    Case("pad", lambda x: x.pad(((1, 2), (2, 0)), mode="reflect"), ((3, 3),),
         lambda x: theirs.pad(x[None, None], (2, 0, 1, 2), "reflect")[0, 0]),
    *[Case("tile", method("tile", p), (s,)) for p, s in (((2,), (3,)), ((2, 3), (1, 2)),
                                                         ((2, 1, 2), (2, 2)), ((2,), (2, 2)))],
    Case("repeat", lambda x: x.repeat(2), ((2, 3),), lambda x: x.repeat_interleave(2)),
    Case("repeat", lambda x: x.repeat(3, 1), ((2, 2),), lambda x: x.repeat_interleave(3, 1)),
    Case("repeat_interleave", lambda x: x.repeat_interleave([2, 0, 1], 0), ((3, 2),),
         lambda x: x.repeat_interleave(torch.tensor([2, 0, 1]), 0)),
    *[Case("roll", method("roll", *p), ((3, 4),))
      for p in ((2,), (1, 0), (-5, 1), ((1, 2), (0, 1)), (0, 0), (4, 1))],
    Case("cat", lambda x, y: tutor.cat([x, y.T, x], axis=1), ((2, 3), (1, 2)),
         lambda x, y: torch.cat([x, y.T, x], 1)),
    Case("cat", lambda x, y: tutor.concatenate([x, y]), ((2, 3), (0, 3)),
         lambda x, y: torch.cat([x, y])),
    Case("stack", lambda x, y: tutor.stack([x, y], axis=-1), ((2, 3), (2, 3)),
         lambda x, y: torch.stack([x, y], -1)),
]  # fmt: skip

INDEXING = [
    Case("index", lambda x: x[KEY], ((3, 4, 2, 5),)),
    Case("index", lambda x: x[-1, 0] * x[0, 0], ((3, 4),)),
    Case("index", lambda x: x[1:1], ((3, 4),)),
    Case("index", lambda x: x[::-1, ::-2], ((3, 4),), lambda x: x.flip(0, 1)[:, ::2]),
    Case("place", lambda x: apply("place", x, view="index", shape=(4, 5), key=(1, slice(4, 0, -2))),
         ((2,),), lambda x: torch.zeros(4, 5, dtype=x.dtype).index_put(
             (torch.tensor(1), torch.tensor([4, 2])), x)),
    Case("place", lambda x: apply("place", x, view="diagonal", shape=(3, 4), k=1, axis1=0, axis2=1),
         ((3,),), lambda x: theirs.pad(torch.diag(x), (1, 0))),
    Case("gather", lambda x: x.gather(1, T23), ((2, 4),), lambda x: x.gather(1, i23)),
    Case("gather", lambda x: x.gather(0, T32), ((3, 4),), lambda x: x.gather(0, i32)),
    Case("take_along_axis", lambda x: x.take_along_axis([[0], [-1]], 1), ((2, 4),),
         lambda x: x.take_along_dim(torch.tensor([[0], [3]]), 1)),
    Case("take_along_axis", lambda x: x.take_along_axis([[2, 0]], 1), ((3, 4),),
         lambda x: x.take_along_dim(torch.tensor([[2, 0]]), 1)),
    Case("scatter", lambda x, s: x.scatter(1, FREE, s), ((2, 4), (2, 3)),
         lambda x, s: x.scatter(1, free, s)),
    Case("scatter", lambda x: x.scatter(0, T23, 2.0), ((3, 4),),
         lambda x: x.scatter(0, i23, 2.0)),
    *[Case("scatter", lambda x, s, r=r: x.scatter(1, T23, s, reduce=r), ((2, 4), (2, 3)),
           lambda x, s, r=r: x.scatter_reduce(1, i23, s, "sum" if r == "add" else "prod"))
      for r in ("add", "multiply")],  # of PyTorch's own "multiply" there is no derivative
    Case("scatter_add", lambda x, s: x.scatter_add(1, T23, s), ((2, 4), (2, 3)),
         lambda x, s: x.scatter_add(1, i23, s)),
    Case("scatter_add", lambda x, s: x.scatter_add(0, T32, s), ((3, 3), (3, 2)),
         lambda x, s: x.scatter_add(0, i32, s)),
    Case("index_add", lambda x, s: x.index_add(1, [3, 0, 3], s, alpha=2), ((2, 4), (2, 3)),
         lambda x, s: x.index_add(1, torch.tensor([3, 0, 3]), s, alpha=2)),
    Case("put", changed, ((2, 4), (2, 3))),
    Case("strided", changed_under_a_view, ((2, 4), (2, 3))),
    Case("index_select", lambda x: x.index_select(0, [2, 0, 2]), ((3, 4),),
         lambda x: x.index_select(0, torch.tensor([2, 0, 2]))),
    Case("index_select", lambda x: x.index_select(1, []), ((3, 4),), lambda x: x[:, :0]),
    Case("masked_select", lambda x: x.masked_select(MASK), ((2, 3),),
         lambda x: x.masked_select(mask)),
    Case("masked_select", lambda x: x.masked_select(MASK), ((3,),),
         lambda x: x.masked_select(mask)),
    *[Case("select", lambda x, k=k: x[k], (s,), lambda x, k=k: x[tuple(
        torch.tensor(p) if isinstance(p, list) else p for p in (k if isinstance(k, tuple) else (k,))
      )]) for k, s in (
        ([2, 0, 2], (3, 2)), ([-1, 0], (3, 2)), (T23, (3, 2)), (([0, 1], [2, 0]), (2, 3)),
        ((slice(None), [1, 1]), (2, 3)), (([0, 1], slice(1, None)), (2, 3)),
        (([[0], [1]], [2, 0]), (2, 3)), (([0, 1], slice(None), [1, 0]), (2, 3, 2)),
        ((slice(None), [0, 1], [1, 0]), (2, 3, 2)), (([0, 1], None), (2, 3)),
        ((..., [0, 2]), (2, 2, 3)), (MASK, (2, 3)), ((MASK, slice(1, 2)), (2, 3, 2)),
        ((slice(None), [True, False, True]), (2, 3)))],
]  # fmt: skip

BASIC = [*ELEMENTWISE, *REDUCTIONS, *PRODUCTS, *MOVEMENT, *INDEXING]
