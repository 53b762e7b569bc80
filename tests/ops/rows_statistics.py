"""Rows for tests/ops/test_ops.py: statistics.py, products.py and the newer ones of views.py."""

import numpy as np
from case import Case

from tutor import Tensor, apply

AT = [[2, 0, 0], [1, 1, 0]]


def reduced(f, include_self):
    def oracle(x, s):
        z = x.copy()
        for row in range(2):
            for place in set(AT[row]):
                several = [v for k, v in zip(AT[row], s[row], strict=True) if k == place]
                z[row, place] = f(([x[row, place]] if include_self else []) + several)
        return z

    return oracle


def most(x, axis):
    def of_a_row(row):
        values, counts = np.unique(row, return_counts=True)
        return values[counts.argmax()]

    return np.apply_along_axis(of_a_row, axis, x)


CASES = [
    *[Case("scatter_reduce", lambda x, s, n=n, i=i: x.scatter_reduce(1, AT, s, n, i),
           ((2, 4), (2, 3)), reduced(f, i), "apart")
      for i in (True, False) for n, f in (("sum", np.sum), ("prod", np.prod), ("mean", np.mean),
                                          ("amax", np.max), ("amin", np.min))],
    Case("scatter_extreme", lambda x, s: apply("scatter_extreme", x, AT, s, axis=1, largest=True,
                                               include_self=True),
         ((2, 4), (2, 3)), reduced(np.max, True), "apart"),
    *[Case(n, lambda x, n=n, i=i: getattr(x, n)(1)[i], ((3, 4),), lambda x, f=f: f(x, 1), "apart")
      for n, several in (("std_mean", (np.std, np.mean)), ("var_mean", (np.var, np.mean)),
                         ("aminmax", (np.min, np.max))) for i, f in enumerate(several)],
    Case("amax", lambda x: x.amax(0), ((3, 4),), lambda x: x.max(0), "apart"),
    Case("amin", lambda x: x.amin((0, 1)), ((3, 4),), np.min, "apart"),
    Case("nan_to_num", lambda x: x.log().nan_to_num(0.5), ((9,),),
         lambda x: np.nan_to_num(np.log(x), nan=0.5), "apart"),
    Case("nan_to_num", lambda x: (x / 0).nan_to_num(0.5, 9, -9), ((9,),),
         lambda x: np.nan_to_num(x / 0, nan=0.5, posinf=9, neginf=-9), "apart", 0),
    *[Case(n, lambda x, n=n, a=a: getattr(x.log(), n)(a), ((3, 4),),
           lambda x, f=f, a=a: f(np.log(x), a), "apart")
      for n, f in (("nansum", np.nansum), ("nanmean", np.nanmean)) for a in (None, 1)],
    *[Case("quantile", lambda x, q=q, a=a, k=k: x.quantile(q, a, k), ((3, 4),),
           lambda x, q=q, a=a, k=k: np.quantile(x, q, a, keepdims=k), "apart")
      for q in (0.3, [0.0, 0.5, 1.0]) for a in (None, 0, -1, (0, 1)) for k in (False, True)],
    *[Case("quantile", lambda x, m=m: x.quantile([0.1, 0.5, 0.77], 0, interpolation=m), ((5, 2),),
           lambda x, m=m: np.quantile(x, [0.1, 0.5, 0.77], 0, method=m), "apart")
      for m in ("lower", "higher", "nearest", "midpoint")],
    *[Case("median", lambda x, a=a: x.median(a), ((3, 4),), lambda x, a=a: np.median(x, a), "apart")
      for a in (None, 0, 1)],
    *[Case("mode", lambda x, a=a: x.mode(a)[0], ((7, 4),), lambda x, a=a: most(x, a), "ints", 0)
      for a in (0, 1)],
    *[Case("logcumsumexp", lambda x, a=a: (x * 9).logcumsumexp(a), ((3, 5),),
           lambda x, a=a: np.logaddexp.accumulate(x * 9, a)) for a in (0, 1)],
    Case("bincount", lambda x: (x * x).bincount(minlength=40), ((9,),),
         lambda x: np.bincount(x * x, minlength=40), "ints", 0),
    Case("bincount", lambda w: Tensor([1, 0, 3, 1]).bincount(w), ((4,),),
         lambda w: np.bincount([1, 0, 3, 1], w)),
    *[Case("histc", lambda x, p=p: x.histc(*p), ((40,),),
           lambda x, p=p: np.histogram(x, p[0], p[1:] or None)[0].astype(x.dtype), "apart", 0)
      for p in ((7,), (5, -1, 1), (1, 0, 0.5))],
    *[Case("cov", lambda x, c=c: x.cov(c), (s,), lambda x, c=c: np.cov(x, ddof=c))
      for c in (0, 1) for s in ((3, 5), (5,))],
    Case("corrcoef", lambda x: x.corrcoef(), ((3, 5),), np.corrcoef),
    *[Case("inner", lambda x, y: x.inner(y), s, np.inner)
      for s in (((3,), (3,)), ((2, 3), (4, 3)), ((), (3,)), ((2, 1, 3), (3,)))],
    *[Case("vecdot", lambda x, y, a=a: x.vecdot(y, a), s, lambda x, y, a=a: (x * y).sum(a))
      for s, a in ((((3,), (3,)), -1), (((2, 3), (2, 1)), 0))],
    *[Case("cross", lambda x, y, a=a: x.cross(y, a), s, lambda x, y, a=a: np.cross(x, y, axis=a))
      for s, a in ((((3,), (3,)), -1), (((3, 2), (3, 2)), 0))],
    Case("cross", lambda x, y: x.cross(y), ((2, 3), (3,)), np.cross),
    *[Case("kron", lambda x, y: x.kron(y), s, np.kron)
      for s in (((2, 3), (3, 1)), ((2,), (2, 2)), ((), (2,)), ((2, 1, 2), (2, 2)))],
    *[Case("cdist", lambda x, y, p=p: x.cdist(y, p), ((2, 3, 2), (2, 4, 2)),
           lambda x, y, p=p: np.linalg.norm(x[:, :, None] - y[:, None], p, -1), v)
      for p, v in ((1, "apart"), (2, "apart"), (3, "apart"), (np.inf, "normal"))],
    Case("mm", lambda x, y: x.mm(y), ((2, 3), (3, 2)), np.matmul),
    Case("mv", lambda x, y: x.mv(y), ((2, 3), (3,)), np.matmul),
    Case("bmm", lambda x, y: x.bmm(y), ((2, 2, 3), (2, 3, 1)), np.matmul),
    Case("addmm", lambda x, a, b: x.addmm(a, b, beta=2, alpha=3), ((4,), (2, 3), (3, 4)),
         lambda x, a, b: 2 * x + 3 * (a @ b)),
    Case("addmv", lambda x, a, b: x.addmv(a, b), ((2,), (2, 3), (3,)),
         lambda x, a, b: x + a @ b),
    Case("baddbmm", lambda x, a, b: x.baddbmm(a, b, beta=0), ((), (2, 2, 3), (2, 3, 2)),
         lambda x, a, b: a @ b),
    Case("addcmul", lambda x, a, b: x.addcmul(a, b, value=2), ((3,), (2, 3), (3,)),
         lambda x, a, b: x + 2 * a * b),
    Case("addcdiv", lambda x, a, b: x.addcdiv(a, b, value=2), ((3,), (3,), (3,)),
         lambda x, a, b: x + 2 * a / b, "positive"),
    Case("diag", lambda x: x.diag(-1), ((3,),), lambda x: np.diag(x, -1)),
    Case("diag", lambda x: x.diag(1), ((3, 4),), lambda x: np.diag(x, 1)),
    Case("diagflat", lambda x: x.diagflat(1), ((2, 2),), lambda x: np.diagflat(x, 1)),
    Case("diag_embed", lambda x: x.diag_embed(), ((2, 3),), lambda x: x[..., None] * np.eye(3)),
    Case("unflatten", lambda x: x.unflatten(1, (2, -1)), ((2, 6),), lambda x: x.reshape(2, 2, 3)),
    *[Case("rot90", lambda x, k=k, a=a: x.rot90(k, a), ((2, 3, 2),),
           lambda x, k=k, a=a: np.rot90(x, k, a)) for k in (0, 1, 2, -1) for a in ((0, 1), (2, 0))],
]  # fmt: skip
