"""More rows: integers and bools, empty indices, and a number that is taken for a row of one."""

from __future__ import annotations

import torch.nn.functional as theirs
from oracle import torch
from oracle_rows import Edge

import tutor

at = torch.tensor
BOOLS = "`any` and `all` of uint8 are bools."
CLAMPED = "`hardtanh` of integers keeps bounds that are no whole numbers."
ROWS = [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]


def whole(f, dtype="int64"):
    """f of integers, for either library."""
    cast = getattr(torch, dtype)
    return lambda x: f(x.cast(dtype) if hasattr(x, "cast") else x.to(cast))


def first(name, *args):
    """The values of a method that has positions beside them in PyTorch."""
    return lambda x: getattr(x, name)(*args)[0]


def named(name, *args):
    return lambda x: getattr(x, name)(*args)


def empty(x, shape):
    """An index of no positions, for x's library."""
    if hasattr(x, "cast"):
        return tutor.Tensor.zeros(shape, dtype="int64")
    return torch.zeros(shape, dtype=torch.int64)


def index(x, *positions):
    return list(positions) if hasattr(x, "cast") else at(positions)


A_NUMBER = [
    *[Edge(n, named(n, axis), (3.0,)) for axis in (0, -1)
      for n in ("sum", "mean", "prod", "cumsum", "cumprod", "softmax", "log_softmax", "logsumexp",
                "squeeze", "unsqueeze", "argmax", "argmin", "argsort", "flatten")],
    *[Edge("flip", lambda x, a=axis: x.flip((a,)), (3.0,)) for axis in (0, -1)],
    *[Edge(n, named(n, axis), (3.0,), first(n, axis)) for axis in (0, -1)
      for n in ("max", "min", "cummax", "cummin", "sort")],
    *[Edge("transpose", named("transpose", 0, axis), (3.0,)) for axis in (0, -1)],
    *[Edge("movedim", named("movedim", 0, axis), (3.0,)) for axis in (0, -1)],
    *[Edge("topk", lambda x, a=axis: tuple(x.topk(1, a)), (3.0,)) for axis in (0, -1)],
    *[Edge("unfold", named("unfold", axis, n, 1), (3.0,)) for axis in (0, -1) for n in (0, 1)],
    *[Edge("gather", lambda x, a=axis, n=n: x.gather(a, index(x, *[0] * n)), (3.0,))
      for axis in (0, -1) for n in (1, 3)],
    Edge("index_select", lambda x: x.index_select(-1, index(x, 0)), (3.0,)),
    Edge("norm", lambda x: x.norm(2, 0), (3.0,)),
    Edge("any", lambda x: x.any(0), (3.0,), None, 0),
    Edge("all", lambda x: x.all(-1), (3.0,), None, 0),
]  # fmt: skip

NOTHING = [
    *[Edge("gather", lambda x, a=axis, n=shape: x.gather(a, empty(x, n)), (ROWS,))
      for axis in (0, 1) for shape in ((0,), (0, 3), (0, 5, 2), (7, 0), (2, 0))],
    *[Edge(n, lambda x, s, n=n, e=shape: getattr(x, n)(0, empty(x, e), s), (ROWS, [9.0]), None, 0)
      for n in ("scatter", "scatter_add") for shape in ((0,), (0, 3), (0, 5, 2))],
    *[Edge("unfold", lambda x, s=step: x.unfold(1, 0, s), (ROWS,)) for step in (1, 2)],
    *[Edge("cat", lambda x, y, a=axis: (tutor.cat if hasattr(x, "cast") else torch.cat)([x, y], a),
           ([], ROWS)) for axis in (0, 1)],
    Edge("cat", lambda x, y: (tutor.cat if hasattr(x, "cast") else torch.cat)([x, y, x], 1),
         (ROWS, [])),
    Edge("cat", lambda x, y: (tutor.cat if hasattr(x, "cast") else torch.cat)([x, y], 0), ([], [])),
    *[Edge("norm", lambda x: x.norm(0), (x,)) for x in ([0.0, 2.0, -3.0], [0.0])],
]  # fmt: skip

LARGER = [
    Edge(n, lambda x, s, n=n: getattr(x, n)(0, [[1, 0]] if hasattr(x, "cast") else at([[1, 0]]), s),
         (ROWS, [[7.0, 8.0, 9.0]] * 4), None, 0)
    for n in ("scatter", "scatter_add")
]  # fmt: skip

INTEGERS = [
    *[Edge("relu6", whole(named("relu6")), ([-9.0, 3.0, 9.0],), whole(theirs.relu6), 0)],
    *[Edge("hardtanh", whole(lambda x, b=b: x.hardtanh(*b)), ([-9.0, 1.0, 9.0],),
           whole(lambda x, b=b: theirs.hardtanh(x, *b)), 0) for b in ((), (-2, 3), (-2.0, 3.0))],
    Edge("hardtanh", whole(lambda x: x.hardtanh(-1.5, 2.5)), ([-9.0, 1.0, 9.0],),
         whole(lambda x: theirs.hardtanh(x, -1.5, 2.5)), 0, CLAMPED, [-1.5, 1.0, 2.5]),
    Edge("any", whole(named("any"), "uint8"), ([0.0, 2.0],), None, 0, BOOLS, True),
    Edge("all", whole(named("all"), "uint8"), ([0.0, 2.0],), None, 0, BOOLS, False),
    Edge("any", whole(named("any"), "int8"), ([0.0, 2.0],), None, 0),
    Edge("sum", whole(lambda x: x.sum(dtype="int8" if hasattr(x, "cast") else torch.int8)),
         ([100.0, 101.0],), None, 0),
    Edge("prod", whole(lambda x: x.prod(dtype="uint8" if hasattr(x, "cast") else torch.uint8)),
         ([100.0, 3.0],), None, 0),
    Edge("cumsum", whole(lambda x: x.cumsum(0, dtype="int8" if hasattr(x, "cast") else torch.int8)),
         ([100.0, 100.0],), None, 0),
    Edge("sign", whole(named("sign"), "bool"), ([0.0, 1.0],), None, 0),
    Edge("scatter_add", whole(lambda x: x.scatter_add(0, index(x, 1, 1, 0), x), "bool"),
         ([1.0, 1.0, 0.0],), None, 0),
]  # fmt: skip

RULES = [*A_NUMBER, *NOTHING, *LARGER, *INTEGERS]
