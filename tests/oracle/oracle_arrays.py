"""Rows of statistics, products and shapes: what PyTorch has by the same name."""

from __future__ import annotations

from oracle import Case, torch

import tutor

AT = [[2, 0, 0], [1, 1, 0]]
at = torch.tensor(AT)
WITH_NAN = [1.0, float("nan"), 2.0]


def both(name, *args, **params):
    """x, y, ... -> x.name(y, ..., *args, **params), of either library."""
    return lambda x, *others: getattr(x, name)(*others, *args, **params)


def theirs(name, *args, **params):
    return lambda *xs: getattr(torch, name)(*xs, *args, **params)


def like(x, numbers):
    """The numbers in x's library."""
    return tutor.Tensor(numbers, dtype="float64") if hasattr(x, "cast") else torch.tensor(numbers)


def by_hand(x, y):
    """Kronecker's product of matrices; PyTorch's own fails on transposed ones."""
    sizes = [m * n for m, n in zip(x.shape, y.shape, strict=True)]
    return (x[:, None, :, None] * y[None, :, None, :]).reshape(sizes)


REDUCED = [
    Case("scatter_reduce", lambda x, s, n=n, i=i: x.scatter_reduce(1, AT, s, n, i),
         ((2, 4), (2, 3)), lambda x, s, n=n, i=i: x.scatter_reduce(1, at, s, n, include_self=i),
         "apart")
    for n in ("sum", "prod", "mean", "amax", "amin") for i in (True, False)
]  # fmt: skip
REDUCED += [
    Case("scatter_extreme", lambda x, s, g=g: tutor.apply(
        "scatter_extreme", x, AT, s, axis=1, largest=g, include_self=True), ((2, 4), (2, 3)),
        lambda x, s, g=g: x.scatter_reduce(1, at, s, "amax" if g else "amin"), "apart")
    for g in (True, False)
]  # fmt: skip

STATISTICS = [
    *[Case(n, both(n, 1, 1), (s,), theirs(n, dim=1, correction=1))
      for n in ("std_mean", "var_mean") for s in ((3, 4), (2, 3, 2))],
    *[Case(n, both(n, *a), ((3, 4),), both(n, *a), "apart")
      for n in ("amax", "amin") for a in ((), (1,), ((0, 1), True))],
    *[Case("aminmax", lambda x, a=a: tuple(x.aminmax(a)), ((3, 4),),
           lambda x, a=a: tuple(x.aminmax(dim=a)), "apart") for a in (0, 1)],
    Case("nan_to_num", lambda x: (x * like(x, WITH_NAN)).nan_to_num(0.5), ((3,),), orders=1),
    *[Case(n, lambda x, n=n: getattr(x + like(x, WITH_NAN), n)(1), ((2, 3),))
      for n in ("nansum", "nanmean")],
    *[Case("quantile", both("quantile", q, a), ((3, 4),), values="apart")
      for q in (0.3, 0.5, 1.0) for a in (None, 0, 1)],
    Case("quantile", lambda x: x.quantile([0.1, 0.6], 1, True), ((3, 4),),
         lambda x: x.quantile(torch.tensor([0.1, 0.6], dtype=x.dtype), 1, True), "apart"),
    *[Case("quantile", lambda x, m=m: x.quantile(0.3, 0, interpolation=m), ((5, 2),),
           values="apart") for m in ("lower", "higher", "nearest", "midpoint")],
    *[Case("median", both("median", a), ((3, 4),), both("quantile", 0.5, a), "apart")
      for a in (None, 0, 1)],  # PyTorch's takes the lower one of two
    *[Case("mode", lambda x, a=a, k=k: tuple((x * 2).round().mode(a, k)) + (x.mode(a)[0],), (s,),
           lambda x, a=a, k=k: tuple((x * 2).round().mode(a, k)) + (x.mode(a)[0],))
      for s, a in (((7,), 0), ((9, 4), 0), ((3, 9), -1), ((), 0)) for k in (False, True)],
    *[Case("bucketize", lambda x, r=r: tutor.bucketize(x, like(x, [-0.5, 0.0, 0.5]), r), ((3, 4),),
           lambda x, r=r: torch.bucketize(x.contiguous(), like(x, [-0.5, 0.0, 0.5]), right=r),
           orders=0)
      for r in (False, True)],
    *[Case("logcumsumexp", both("logcumsumexp", a), (s,))
      for s, a in (((5,), 0), ((3, 4), 0), ((3, 4), 1), ((), 0), ((0,), 0))],
    Case("bincount", lambda w: tutor.Tensor([1, 0, 3, 1]).bincount(w), ((4,),),
         lambda w: torch.zeros(4, dtype=w.dtype).index_add(0, torch.tensor([1, 0, 3, 1]), w)),
    Case("histc", lambda x: x.histc(5, -1, 1), ((9,),), orders=0),
    *[Case("cov", lambda x, c=c: x.cov(c), (s,), lambda x, c=c: x.cov(correction=c))
      for c in (0, 1) for s in ((3, 5), (5,))],
    Case("corrcoef", both("corrcoef"), ((3, 5),)),
]  # fmt: skip

PRODUCTS = [
    *[Case("inner", both("inner"), s) for s in (((3,), (3,)), ((2, 3), (4, 3)), ((), (3,)))],
    Case("vecdot", both("vecdot", 0), ((3, 2), (3, 2)), lambda x, y: torch.linalg.vecdot(
        x, y, dim=0)),
    Case("cross", both("cross"), ((2, 3), (1, 3)), torch.linalg.cross),
    *[Case("kron", both("kron"), s, by_hand if len(s[0]) == 2 else torch.kron)
      for s in (((2, 3), (3, 1)), ((2,), (2, 2)), ((), (2,)))],
    *[Case("cdist", both("cdist", p), ((2, 3, 2), (2, 4, 2)),
           lambda x, y, p=p: torch.linalg.vector_norm(x[:, :, None] - y[:, None], p, -1), "apart")
      for p in (1, 2, 3)],
    Case("mm", both("mm"), ((2, 3), (3, 2))),
    Case("mv", both("mv"), ((2, 3), (3,))),
    Case("bmm", both("bmm"), ((2, 2, 3), (2, 3, 1))),
    Case("addmm", both("addmm", beta=2, alpha=3), ((4,), (2, 3), (3, 4))),
    Case("addmv", both("addmv"), ((2,), (2, 3), (3,))),
    Case("baddbmm", both("baddbmm", beta=0.5), ((2, 2, 2), (2, 2, 3), (2, 3, 2))),
    Case("addcmul", both("addcmul", value=2), ((3,), (2, 3), (3,))),
    Case("addcdiv", both("addcdiv", value=2), ((3,), (3,), (3,)), None, "nonzero"),
    *[Case("tensordot", lambda x, y, a=a: tutor.tensordot(x, y, a), s,
           lambda x, y, a=a: torch.tensordot(x, y, a))
      for a, s in ((1, ((2, 3), (3, 4))), (2, ((2, 3, 4), (3, 4))),
                   (([0], [1]), ((3, 2), (2, 3))))],
]  # fmt: skip

SHAPES = [
    *[Case("diag", both("diag", k), (s,)) for k in (0, 1, -2) for s in ((3,), (3, 4))],
    *[Case("diagflat", both("diagflat", k), (s,)) for k in (0, -1) for s in ((3,), (2, 2), ())],
    *[Case("diag_embed", both("diag_embed", *p), ((2, 3),))
      for p in ((), (1,), (-2,), (0, 0, 1), (1, 0, 2), (0, 2, 0))],
    *[Case("unflatten", both("unflatten", a, n), ((2, 6),))
      for a, n in ((1, (2, 3)), (-1, (3, -1)), (0, (1, 2)))],
    *[Case("rot90", both("rot90", k, a), ((2, 3, 2),)) for k in (0, 1, 2, 3, -1)
      for a in ((0, 1), (2, 0))],
    *[Case(n, lambda x, y, n=n: getattr(tutor, n)([x, y]), s, lambda x, y, n=n: getattr(
        torch, n)([x, y])) for n in ("vstack", "hstack", "dstack", "column_stack")
      for s in (((3,), (3,)), ((2, 3), (2, 3)), ((2, 3, 1), (2, 3, 1)))],
    Case("block_diag", lambda x, y: tutor.block_diag(x, y), ((2, 3), (2,)), torch.block_diag),
    Case("cartesian_prod", lambda x, y: tutor.cartesian_prod(x, y), ((2,), (3,)),
         torch.cartesian_prod),
]  # fmt: skip

ARRAYS = REDUCED + STATISTICS + PRODUCTS + SHAPES
