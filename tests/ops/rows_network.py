"""One row per case: norms, attention, recurrent layers; dropout, which draws, is in
tests/nn/test_norm.py."""

from __future__ import annotations

import numpy as np
from case import Case

from tutor import apply


def normed(x, w, b, axes, eps):
    mean, var = x.mean(axes, keepdims=True), x.var(axes, keepdims=True)
    return (x - mean) / np.sqrt(var + eps) * w + b


def grouped(x, w, b, groups, eps):
    h = normed(x.reshape(len(x), groups, -1), 1, 0, -1, eps).reshape(x.shape)
    return h * w[:, None] + b[:, None]


def attended(q, k, v, mask, scale, causal):
    s = scale * q @ np.swapaxes(k, -1, -2) + mask
    if causal:
        s = np.where(np.tri(*s.shape[-2:]) > 0, s, -np.inf)
    e = np.exp(s - s.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True) @ v


def attention(q, k, v, mask=None, **given):
    mask = q.wrap(0.0, q.dtype) if mask is None else mask
    return apply("attention", q, k, v, mask, **given)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def rnn(wx, u, h, f=np.tanh):
    found = []
    for x in wx:
        h = f(x + h @ u.T)
        found.append(h)
    return np.stack(found)


def lstm(wx, u, start):
    (h, c), found = start, []
    for x in wx:
        i, f, g, o = (x[:, k] + h @ u[k].T for k in range(4))
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        found.append((h, c))
    return np.stack(found, 1)


def gru(wx, u, b, h):
    found = []
    for x in wx:
        r, z, n = (h @ u[k].T + b[k] for k in range(3))
        r, z = sigmoid(x[:, 0] + r), sigmoid(x[:, 1] + z)
        h = (1 - z) * np.tanh(x[:, 2] + r * n) + z * h
        found.append(h)
    return np.stack(found)


QKV = (2, 3, 4), (2, 5, 4), (2, 5, 3)
CASES = [
    Case("layer_norm", lambda x, w, b: apply("layer_norm", x, w, b, eps=0.1), ((3, 4), (4,), (4,)),
         lambda x, w, b: normed(x, w, b, -1, 0.1)),
    Case("layer_norm", lambda x, w, b: apply("layer_norm", x.T, w, b, eps=1e-5),
         ((5, 2, 3), (5,), (5,)), lambda x, w, b: normed(x.T, w, b, -1, 1e-5)),
    Case("rms_norm", lambda x, w: apply("rms_norm", x, w, eps=0.1), ((3, 4), (4,)),
         lambda x, w: x / np.sqrt((x * x).mean(-1, keepdims=True) + 0.1) * w),
    *[Case("group_norm",
           lambda x, w, b, n=n: apply("group_norm", x, w, b, groups=n, eps=0.1),
           (x, x[1:2], x[1:2]), lambda x, w, b, n=n: grouped(x, w, b, n, 0.1))
      for x, n in (((2, 6, 5), 3), ((3, 8, 1), 2), ((2, 3, 4), 1), ((2, 4, 3), 4))],
    Case("group_norm",
         lambda x, w, b: apply("group_norm", x.permute(2, 1, 0), w, b, groups=2, eps=1e-5),
         ((3, 4, 2), (4,), (4,)), lambda x, w, b: grouped(x.T, w, b, 2, 1e-5)),
    Case("batch_norm", lambda x, w, b: apply("batch_norm", x, w, b, eps=0.1),
         ((3, 2, 4), (2,), (2,)),
         lambda x, w, b: normed(x, w[:, None], b[:, None], (0, 2), 0.1)),
    Case("batch_norm", lambda x, w, b: apply("batch_norm", x, w, b, eps=0.1),
         ((4, 3, 1), (3,), (3,)),
         lambda x, w, b: normed(x, w[:, None], b[:, None], (0, 2), 0.1)),
    Case("attention", lambda q, k, v: attention(q, k, v, scale=0.5), QKV,
         lambda q, k, v: attended(q, k, v, 0, 0.5, False)),
    Case("attention", lambda q, k, v: attention(q, k, v, causal=True), QKV,
         lambda q, k, v: attended(q, k, v, 0, 1.0, True)),
    Case("attention", lambda q, k, v, m: attention(q, k, v, m, scale=0.5), (*QKV, (3, 5)),
         lambda q, k, v, m: attended(q, k, v, m, 0.5, False)),
    Case("attention", attention, ((2, 4), (300, 4), (300, 2), (2, 300)),
         lambda q, k, v, m: attended(q, k, v, m, 1.0, False), orders=0),
    Case("attention", lambda q, k, v: attention(q, k, v, q.wrap([0.0, -np.inf, 1.0], q.dtype)),
         ((2, 4), (3, 4), (3, 2)),
         lambda q, k, v: attended(q, k, v, [0.0, -np.inf, 1.0], 1.0, False)),
    Case("rnn", lambda x, u, h: apply("rnn", x, u, h), ((3, 2, 4), (4, 4), (2, 4)), rnn),
    Case("rnn", lambda x, u, h: apply("rnn", x, u, h, relu=True), ((3, 2, 4), (4, 4), (2, 4)),
         lambda x, u, h: rnn(x, u, h, lambda a: np.maximum(a, 0)), "apart"),
    Case("lstm", lambda x, u, s: apply("lstm", x, u, s), ((3, 2, 4, 3), (4, 3, 3), (2, 2, 3)),
         lstm),
    Case("lstm", lambda x, u, s: apply("lstm", x, u, s), ((1, 2, 4, 3), (4, 3, 3), (2, 2, 3)),
         lstm),
    Case("gru", lambda x, u, b, h: apply("gru", x, u, b, h),
         ((3, 2, 3, 4), (3, 4, 4), (3, 4), (2, 4)), gru),
]  # fmt: skip
