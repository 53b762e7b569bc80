"""Rows of reductions, scans, products, and of what leads to a loss."""

import math

import numpy as np
from case import Case

from tutor import Tensor, apply, einsum


def index(*positions):
    return Tensor(list(positions))


def softmax(x, axis):
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def nll(x, t):
    return -np.log(softmax(x, -1))[np.arange(len(t)), t]


def recurrence(x, y):
    z = y.copy()
    for i in range(1, y.shape[1]):
        z[:, i] = x[:, i] * z[:, i - 1] + y[:, i]
    return z


CASES = [
    Case("sum", lambda x: x.sum(), ((2, 3, 4),), np.sum),
    Case("sum", lambda x: x.sum(axis=(0, -1)), ((2, 3, 4),), lambda x: x.sum(axis=(0, 2))),
    Case(
        "sum", lambda x: x.T.sum(axis=1, keepdims=True), ((2, 3, 4),),
        lambda x: x.T.sum(axis=1, keepdims=True),
    ),
    Case("sum", lambda x: x.sum(axis=()), ((2, 3),), lambda x: x),
    Case("sum", lambda x: x.sum(axis=0), ((0, 3),), lambda x: x.sum(axis=0)),
    Case("mean", lambda x: x.mean(), ((2, 3),), np.mean),
    Case("mean", lambda x: x.mean(axis=-2), ((2, 3, 4),), lambda x: x.mean(axis=1)),
    Case("mean", lambda x: x.mean(axis=(0, 1, 3)), ((2, 3, 2, 5),),
         lambda x: x.mean(axis=(0, 1, 3))),
    Case("mean", lambda x: x.mean(axis=(-1, 0, 1), keepdims=True), ((2, 3, 5),),
         lambda x: x.mean(keepdims=True)),
    Case("max", lambda x: x.max(axis=(0, 1, 3)), ((2, 3, 2, 2),), lambda x: x.max(axis=(0, 1, 3)),
         "apart"),
    Case("prod", lambda x: x.prod(axis=(3, 0, 1)), ((2, 1, 2, 3),),
         lambda x: x.prod(axis=(0, 1, 3))),
    Case("var", lambda x: x.var(axis=(0, 1, 3), correction=1), ((2, 3, 2, 2),),
         lambda x: x.var(axis=(0, 1, 3), ddof=1)),
    Case("softmax", lambda x: x.softmax(axis=1), ((2, 3, 4),), lambda x: softmax(x, 1)),
    Case("max", lambda x: x.max(), ((2, 3),), np.max, "apart"),
    Case("max", lambda x: x.max(axis=(1, 2)), ((2, 3, 4),), lambda x: x.max(axis=(1, 2)), "apart"),
    Case(
        "min", lambda x: x.min(axis=0, keepdims=True), ((3, 4),),
        lambda x: x.min(axis=0, keepdims=True), "apart",
    ),
    Case("argmax", lambda x: x.argmax(), ((3, 4),), np.argmax, "apart"),
    Case("argmax", lambda x: x.argmax(axis=1), ((3, 4),), lambda x: x.argmax(axis=1), "apart"),
    Case("matmul", lambda x, y: x @ y, ((3, 4), (4, 2)), np.matmul),
    Case("matmul", lambda x, y: x.T @ y.T, ((4, 3), (2, 4)), lambda x, y: x.T @ y.T),
    Case("matmul", lambda x, y: x @ y, ((4,), (4,)), np.matmul),
    Case("matmul", lambda x, y: x @ y, ((4,), (4, 3)), np.matmul),
    Case("matmul", lambda x, y: x @ y, ((2, 3, 4), (4,)), np.matmul),
    Case("matmul", lambda x, y: x @ y, ((5, 1, 2, 3), (4, 3, 2)), np.matmul),
    Case("matmul", lambda x, y: x @ y, ((2, 0), (0, 3)), np.matmul),
    Case("softmax", lambda x: x.softmax(), ((2, 3),), lambda x: softmax(x, -1)),
    Case("softmax", lambda x: x.softmax(axis=0), ((3, 2),), lambda x: softmax(x, 0)),
    Case("log_softmax", lambda x: x.log_softmax(), ((2, 3),), lambda x: np.log(softmax(x, -1))),
    Case(
        "cross_entropy", lambda x: x.cross_entropy([1, 0, 3]), ((3, 4),),
        lambda x: nll(x, [1, 0, 3]).mean(),
    ),
    Case(
        "cross_entropy", lambda x: x.T.cross_entropy([1, 0], reduction="sum"), ((3, 2),),
        lambda x: nll(x.T, [1, 0]).sum(),
    ),
    Case(
        "cross_entropy", lambda x: x.cross_entropy([1, 0, 3], reduction="none"), ((3, 4),),
        lambda x: nll(x, [1, 0, 3]),
    ),
    Case(
        "cross_entropy_grad",
        lambda x, g: apply("cross_entropy_grad", x, index(1, 0, 3), g, scale=0.5),
        ((3, 4), (3,)),
    ),
    Case("sum", lambda x: x.sum(dtype="int16"), ((3, 4),), lambda x: x.sum(dtype="int16"), "ints",
         0),
    Case("prod", lambda x: x.prod(), ((2, 3),), np.prod),
    Case("prod", lambda x: x.prod(axis=(0, -1)), ((2, 3, 2),), lambda x: x.prod(axis=(0, 2))),
    Case("prod", lambda x: x.prod(1, True), ((2, 3),), lambda x: x.prod(1, keepdims=True), "ints",
         0),
    Case("prod", lambda x: x.prod(axis=0), ((0, 3),), lambda x: x.prod(axis=0)),
    Case("argmin", lambda x: x.argmin(), ((3, 4),), np.argmin, "apart"),
    Case("argmin", lambda x: x.argmin(axis=1), ((3, 4),), lambda x: x.argmin(axis=1), "apart"),
    Case("any", lambda x: x.any(axis=0), ((3, 4),), lambda x: x.any(axis=0), "bools", 0),
    Case("all", lambda x: x.all(axis=(0, 1)), ((2, 2),), np.all, "bools", 0),
    Case("any", lambda x: x.any(), ((0,),), np.any, "bools", 0),
    Case("all", lambda x: x.all(axis=1), ((2, 0),), lambda x: x.all(axis=1), "bools", 0),
    Case(
        "count_nonzero", lambda x: x.count_nonzero(axis=1), ((3, 4),),
        lambda x: np.count_nonzero(x, axis=1), "ints", 0,
    ),
    Case("var", lambda x: x.var(), ((3, 4),), np.var),
    Case("var", lambda x: x.var(axis=0, correction=1), ((3, 4),), lambda x: x.var(axis=0, ddof=1)),
    Case("std", lambda x: x.std(axis=1, keepdims=True), ((3, 4),),
         lambda x: x.std(axis=1, keepdims=True)),
    Case("norm", lambda x: x.norm(), ((3, 4),), np.linalg.norm),
    Case("norm", lambda x: x.norm(3, axis=1), ((3, 4),), lambda x: np.linalg.norm(x, 3, 1),
         "apart"),
    Case("norm", lambda x: x.norm(1, axis=1), ((3, 4),), lambda x: np.linalg.norm(x, 1, 1),
         "apart"),
    Case("norm", lambda x: x.norm(math.inf), ((4,),), lambda x: np.abs(x).max(), "apart"),
    Case(
        "logsumexp", lambda x: x.logsumexp(axis=1), ((3, 4),), lambda x: np.log(np.exp(x).sum(1))
    ),
    Case(
        "logsumexp", lambda x: (x * 1000).logsumexp(keepdims=True), ((3,),),
        lambda x: np.logaddexp.reduce(x * 1000, keepdims=True),
    ),
    Case("trace", lambda x: x.trace(), ((3, 4),), np.trace),
    Case("scan", lambda x, y: apply("scan", x, y, axis=1), ((2, 4), (2, 4)), recurrence),
    Case("scan", lambda x: apply("scan", 0.5, x.T, axis=0), ((2, 4),),
         lambda x: recurrence(np.full_like(x, 0.5), x).T),
    Case("cumsum", lambda x: x.cumsum(0), ((3, 4),), lambda x: x.cumsum(0)),
    Case("cumsum", lambda x: x.cumsum(-1), ((3, 4),), lambda x: x.cumsum(-1), "ints", 0),
    Case("cumprod", lambda x: x.cumprod(1), ((3, 4),), lambda x: x.cumprod(1)),
    Case("cumprod", lambda x: x.cumprod(0), ((3, 4),), lambda x: x.cumprod(0), "ints", 0),
    Case("cummax", lambda x: x.cummax(1), ((3, 4),), lambda x: np.maximum.accumulate(x, 1),
         "apart"),
    Case("cummin", lambda x: x.cummin(0), ((3, 4),), lambda x: np.minimum.accumulate(x), "apart"),
    Case("cummin", lambda x: x.cummin(0), ((9,),), np.minimum.accumulate, "ints", 0),
    Case("argsort", lambda x: x.argsort(0), ((4, 3),), lambda x: x.argsort(0), "apart"),
    Case(
        "argsort", lambda x: x.argsort(descending=True), ((4, 3),),
        lambda x: (-x).argsort(kind="stable"), "ints", 0,
    ),
    Case("sort", lambda x: x.sort(axis=0), ((4, 3),), lambda x: np.sort(x, 0), "apart"),
    Case("topk", lambda x: x.topk(2, axis=1)[0], ((3, 4),), lambda x: -np.sort(-x, 1)[:, :2],
         "apart"),
    Case(
        "topk", lambda x: x.topk(2, largest=False)[1], ((3, 4),), lambda x: np.argsort(x)[:, :2],
        "apart", 0,
    ),
    Case("unique", lambda x: x.unique(), ((4, 5),), np.unique, "ints", 0),
    Case("outer", lambda x, y: x.outer(y), ((3,), (4,)), np.outer),
    Case("matmul", lambda x, y: x @ y, ((2, 3), (3, 4)), np.matmul, "ints", 0),
    Case("matmul", lambda x, y: x @ y, ((2, 3), (3, 4)), np.matmul, "bools", 0),
    Case("linear", lambda x, w, b: apply("linear", x, w, b), ((3, 4), (2, 4), (2,)),
         lambda x, w, b: x @ w.T + b),
    Case("linear", lambda x, w, b: apply("linear", x, w, b), ((3, 4), (2, 4), (2,)),
         lambda x, w, b: x @ w.T + b, "ints", 0),
    Case("linear_relu", lambda x, w, b: apply("linear_relu", x, w, b), ((3, 4), (2, 4), (2,)),
         lambda x, w, b: np.maximum(x @ w.T + b, 0)),
    Case("linear_relu", lambda x, w: apply("linear_relu", x, w.T), ((3, 4), (4, 2)),
         lambda x, w: np.maximum(x @ w, 0)),
    Case("linear", lambda x, w: apply("linear", x.T, w), ((4, 3), (2, 4)),
         lambda x, w: x.T @ w.T),
    Case("einsum", lambda x, y: einsum("bij,bjk->ik", x, y), ((2, 3, 4), (2, 4, 2)),
         lambda x, y: np.einsum("bij,bjk->ik", x, y)),
    Case("einsum", lambda x: einsum("ii->i", x), ((3, 3),), lambda x: np.einsum("ii->i", x)),
]  # fmt: skip
