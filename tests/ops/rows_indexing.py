"""Rows of the ops that choose elements."""

import numpy as np
from case import Case

from tutor import Tensor

T23 = Tensor([[2, 0, 1], [1, 1, 0]])
t23 = np.array([[2, 0, 1], [1, 1, 0]])


def scattered(x, s):
    z = x.copy()
    for row, column in np.ndindex(t23.shape):
        z[row, t23[row, column]] = s[row, column]
    return z


CASES = [
    Case("gather", lambda x: x.gather(1, T23.to(x.device)), ((2, 4),),
         lambda x: np.take_along_axis(x, t23, 1)),
    Case("index_add",
         lambda x, s: x.index_add(1, Tensor([3, 0, 3], device=x.device), s, alpha=2),
         ((2, 4), (2, 3)), lambda x, s: x + 2 * np.stack(
             [s[:, 1], s[:, 0] * 0, s[:, 0] * 0, s[:, 0] + s[:, 2]], axis=1)),
    Case("scatter_add", lambda x, s: x.scatter_add(1, T23.to(x.device), s), ((2, 4), (2, 3))),
    Case("index_select", lambda x: x.index_select(0, [2, 0, 2]), ((3, 4),), lambda x: x[[2, 0, 2]]),
    Case("index_select", lambda x: x.T.index_select(1, [0]), ((3, 4),), lambda x: x.T[:, [0]]),
    Case("take_along_axis", lambda x: x.take_along_axis([[-1], [0]], axis=1), ((2, 4),),
         lambda x: np.take_along_axis(x, np.array([[-1], [0]]), 1)),
    Case("scatter", lambda x, s: x.scatter(1, T23.to(x.device), s), ((2, 4), (2, 3)), scattered),
    Case("nonzero", lambda x: x.nonzero()[1], ((3, 4),), lambda x: x.nonzero()[1], "ints", 0),
    Case("masked_select", lambda x: x.masked_select(x > 0), ((3, 4),), lambda x: x[x > 0], "apart"),
    Case("one_hot", lambda x: (x * x).one_hot(26), ((5,),), lambda x: np.eye(26)[x * x], "ints", 0),
    Case("getitem", lambda x: x[[2, 0], 1:, [1, -1]], ((3, 4, 2),),
         lambda x: x[[2, 0], 1:, [1, -1]]),
    Case("getitem", lambda x: x[x[:, 0] > 0, ::2], ((5, 4),), lambda x: x[x[:, 0] > 0, ::2],
         "apart"),
    Case("getitem", lambda x: x.T[None, [[0, 1]]], ((3, 4),), lambda x: x.T[None, [[0, 1]]]),
]  # fmt: skip
