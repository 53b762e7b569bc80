"""One row per case: convolutions, pooling, and losses with every way to reduce and to weigh."""

from __future__ import annotations

import math

import torch.nn.functional as theirs
from oracle import Case, torch
from oracle_cases import T23, i23

import tutor
import tutor.nn.functional as ours
from tutor import apply

STEPS = {"stride_h": 2, "stride_w": 1, "dilation_h": 1, "dilation_w": 2, "groups": 2}
POOL = dict.fromkeys(("size_h", "size_w", "stride_h", "stride_w"), 2) | dict.fromkeys(
    ("dilation_h", "dilation_w"), 1
)
IMAGE = [[[[1.0, 2.0, 3.0, 0.0], [4.0, 9.0, 8.0, 1.0], [5.0, 2.0, 7.0, 1.0], [3.0, 6.0, 0.0, 2.0]]]]
LARGEST = [[[[9.0, 8.0], [6.0, 7.0]]]]


def one_hot(x, t):
    return theirs.one_hot(torch.tensor(t), x.shape[-1]).to(x.dtype)


def conv(name, shapes, **options):
    """A convolution, with a bias where there is a third shape."""
    return Case(name, lambda *xs: getattr(ours, name)(*xs, **options), shapes,
                lambda *xs: getattr(theirs, name)(*xs, **options))  # fmt: skip


def pool(name, shape, *args, values="normal", **options):
    return Case(name, lambda x: getattr(ours, name)(x, *args, **options), (shape,),
                lambda x: getattr(theirs, name)(x, *args, **options), values)  # fmt: skip


X1, W1, X2, W2 = (2, 2, 7), (3, 2, 3), (1, 2, 5, 4), (2, 2, 2, 3)
WINDOWS = [
    *[conv("conv1d", (X1, W1), **p) for p in (
        {}, {"stride": 2}, {"padding": 2}, {"dilation": 2}, {"padding": "same"},
        {"padding": "valid"}, {"stride": 3, "padding": 1, "dilation": 2})],
    conv("conv1d", (X1, W1, (3,)), stride=2),
    conv("conv1d", ((2, 7), W1, (3,))),
    conv("conv1d", ((1, 4, 5), (2, 2, 3), (2,)), groups=2),
    conv("conv1d", ((1, 2, 5), (2, 1, 3)), groups=2, padding="same"),
    *[conv("conv2d", (X2, W2, (2,)), **p) for p in (
        {}, {"stride": (2, 1)}, {"padding": (0, 2)}, {"dilation": (2, 1)}, {"padding": "same"},
        {"stride": 2, "padding": 1})],
    conv("conv2d", ((2, 4, 3, 3), (4, 2, 2, 2)), groups=2, padding=1),
    conv("conv2d", ((2, 5, 4), W2)),
    conv("conv_transpose1d", ((2, 3, 4), W1, (2,)), stride=2, padding=1, output_padding=1),
    conv("conv_transpose1d", ((2, 4, 3), (4, 1, 3)), groups=2, dilation=2),
    conv("conv_transpose1d", ((2, 3, 4), W1, (2,)), dilation=3, output_padding=2),
    *[conv("conv_transpose2d", ((1, 2, 3, 2), W2, (2,)), **p) for p in (
        {}, {"stride": (2, 3)}, {"padding": (0, 1)}, {"dilation": 2},
        {"stride": 2, "output_padding": (1, 0), "padding": 1},
        {"stride": (1, 2), "dilation": (2, 3), "output_padding": (1, 2), "padding": (0, 1)})],
    conv("conv_transpose2d", ((1, 2, 3, 2), (2, 1, 2, 2), (2,)), groups=2),
    *[pool("max_pool1d", s, *a, values="apart", **p) for s, a, p in (
        ((2, 2, 7), (3,), {}), ((2, 7), (2, 1), {}), ((1, 1, 7), (3, 2), {"padding": 1}),
        ((1, 1, 7), (2, 2), {"ceil_mode": True}), ((1, 1, 8), (3, 2), {"dilation": 2}))],
    *[pool("max_pool2d", s, *a, values="apart", **p) for s, a, p in (
        ((1, 2, 4, 5), (2,), {}), ((2, 4, 5), ((2, 3), 1), {}),
        ((1, 1, 5, 5), (3, 2), {"padding": 1}), ((1, 1, 5, 6), (3, 2), {"ceil_mode": True}),
        ((1, 1, 5, 6), ((2, 3), (1, 2)), {"dilation": (3, 1), "padding": (1, 0)}))],
    *[pool("avg_pool1d", (2, 1, 7), *a, **p) for a, p in (
        ((3,), {}), ((3, 2, 1), {}), ((3, 2, 1), {"count_include_pad": False}),
        ((2, 2), {"ceil_mode": True}), ((4, 3, 2), {"ceil_mode": True}))],
    *[pool("avg_pool2d", s, *a, **p) for s, a, p in (
        ((1, 2, 4, 5), (2,), {}), ((2, 4, 5), ((2, 3), 1), {}), ((1, 1, 5, 5), (3, 2, 1), {}),
        ((1, 1, 5, 5), (3, 2, 1), {"count_include_pad": False}),
        ((1, 1, 5, 6), (3, 2), {"ceil_mode": True}),
        ((1, 1, 5, 6), (3, 2, 1), {"ceil_mode": True, "count_include_pad": False}))],
    *[pool("adaptive_avg_pool1d", (2, 2, 7), n) for n in (1, 3, 7, 9)],
    *[pool("adaptive_avg_pool2d", (1, 2, 5, 4), n) for n in (1, 3, (2, 4), (None, 2))],
]  # fmt: skip


def loss(name, shapes, values="normal", **options):
    """A loss between two operands, with every reduction."""
    return [Case(name, lambda x, t, r=r: getattr(ours, name)(x, t, reduction=r, **options), shapes,
                 lambda x, t, r=r: getattr(theirs, name)(x, t, reduction=r, **options), values)
            for r in ("mean", "sum", "none")]  # fmt: skip


def classes(name, shape, targets, weight=None, **options):
    """A loss of class numbers, with every reduction; with weights, these are operands, too."""
    t = torch.tensor(targets)
    tutors = {k: v for k, v in options.items() if v is not None}
    shapes = (shape,) if weight is None else (shape, (weight,))
    return [Case(name, lambda x, *w, r=r: getattr(ours, name)(
                     x, tutor.Tensor(targets), *[v.detach() for v in w], reduction=r, **tutors),
                 shapes, lambda x, *w, r=r: getattr(theirs, name)(
                     x, t, *[v.detach() for v in w], reduction=r, **options), "positive")
            for r in ("mean", "sum", "none")]  # fmt: skip


LOSSES = [
    Case("linear", ours.linear, ((2, 3), (4, 3), (4,)), theirs.linear),
    Case("linear", ours.linear, ((2, 2, 3), (4, 3)), theirs.linear),
    *[Case("linear_relu", lambda *xs: ours.linear(*xs, activation="relu"), shapes,
           lambda *xs: theirs.relu(theirs.linear(*xs)))
      for shapes in (((2, 3), (4, 3), (4,)), ((2, 2, 3), (4, 3), (4,)))],
    *loss("mse_loss", ((3, 2), (3, 2))),
    *loss("l1_loss", ((3, 2), (3, 2)), "apart"),
    *loss("huber_loss", ((3, 4), (3, 4)), "apart"),
    *loss("huber_loss", ((3, 4), (3, 4)), "apart", delta=0.3),
    *loss("binary_cross_entropy_with_logits", ((3, 2), (3, 2)), "unit"),
    *[Case("binary_cross_entropy_with_logits",
           lambda x, t, w, p, r=r: ours.binary_cross_entropy_with_logits(x, t, w, r, p),
           ((3, 2), (3, 2), (2,), (2,)),
           lambda x, t, w, p, r=r: theirs.binary_cross_entropy_with_logits(
               x, t, w.detach(), reduction=r, pos_weight=p.detach()), "positive", 0)
      for r in ("mean", "sum", "none")],
    *[case for name in ("cross_entropy", "nll_loss") for rows in (
        classes(name, (3, 4), [1, 0, 3]), classes(name, (3, 4), [1, 0, 3], 4),
        classes(name, (3, 4), [1, 0, 1], 4, ignore_index=1), classes(name, (4,), 2),
        classes(name, (3, 4), [1, -100, 3], ignore_index=-100),
        classes(name, (2, 3, 2), [[0, 2], [1, 1]]), classes(name, (2, 3, 2), [[0, 2], [1, 1]], 3),
      ) for case in rows],
    *classes("cross_entropy", (3, 4), [1, 0, 3], label_smoothing=0.2),
    *classes("cross_entropy", (3, 4), [1, 0, 3], 4, label_smoothing=0.2, ignore_index=3),
    *classes("cross_entropy", (2, 3, 2), [[0, 2], [1, 1]], 3, label_smoothing=1.0),
    *loss("cross_entropy", ((3, 4), (3, 4)), "positive"),
    *loss("cross_entropy", ((2, 3, 2), (2, 3, 2)), "positive", label_smoothing=0.3),
    *[Case("cross_entropy", lambda x, r=r: x.cross_entropy(T23, r), ((2, 3, 4),),
           lambda x, r=r: theirs.cross_entropy(x.movedim(-1, 1), i23, reduction=r))
      for r in ("mean", "sum", "none")],
    Case("cross_entropy_grad", lambda x, g: apply("cross_entropy_grad", x, tutor.Tensor([1, 0, 3]),
                                                  g, scale=0.5), ((3, 4), (3,)),
         lambda x, g: 0.5 * g[:, None] * (x.softmax(-1) - one_hot(x, [1, 0, 3]))),
    Case("conv2d_weight", lambda x, g: apply("conv2d_weight", x, g, size=(2, 3), **STEPS),
         ((2, 4, 6, 7), (2, 2, 3, 3)), lambda x, g: torch.nn.grad.conv2d_weight(
             x, (2, 2, 2, 3), g, (2, 1), 0, (1, 2), 2)),
    Case("max_pool2d_grad", lambda g: apply("max_pool2d_grad", g.wrap(IMAGE, g.dtype), g.wrap(
        LARGEST, g.dtype), g, **POOL), ((1, 1, 2, 2),), lambda g: theirs.max_unpool2d(
            g, torch.tensor([[[[5, 6], [13, 10]]]]), 2, 2)),
]  # fmt: skip


def attention(x, wq, wk, wv, scale, shift):
    """One head of attention with what goes around it: a residual, and the norm of each row."""
    q, k, v = x @ wq, x @ wk, x @ wv
    x = x + (q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])).softmax(-1) @ v
    away = x - x.mean(-1).unsqueeze(-1)
    return away / ((away * away).mean(-1).unsqueeze(-1) + 1e-5).sqrt() * scale + shift


def network(f, target):
    """Convolution, gelu, pooling, a linear layer and a loss, from either library."""

    def loss(x, w1, b1, w2, b2):
        x = f.max_pool2d(f.gelu(f.conv2d(x, w1, b1, padding=1)), 2)
        return f.cross_entropy(f.linear(x.flatten(1), w2, b2), target)

    return loss


def by_cells(step, wx, start):
    """The states of a recurrent layer, by a cell of PyTorch's that reads W x itself: W is 1."""
    found, eye = [], torch.eye(wx[0, 0].numel(), dtype=wx.dtype)
    for x in wx:
        start = step(x.flatten(1), start, eye)
        found.append(start)
    return found


def lstm(wx, u, start):
    u = u.flatten(0, 1)
    found = by_cells(lambda x, s, eye: torch.lstm_cell(x, s, eye, u), wx, tuple(start))
    return torch.stack([torch.stack(part) for part in zip(*found, strict=True)])


def gru(wx, u, b, start):
    u, b, none = u.flatten(0, 1), b.flatten(), torch.zeros_like(b.flatten())
    return torch.stack(by_cells(lambda x, s, eye: torch.gru_cell(x, s, eye, u, none, b), wx, start))


RECURRENT = [
    Case("rnn", lambda wx, u, start: apply("rnn", wx, u, start), ((3, 2, 4), (4, 4), (2, 4)),
         lambda wx, u, start: torch.stack(
             by_cells(lambda x, s, eye: torch.rnn_tanh_cell(x, s, eye, u), wx, start))),
    Case("lstm", lambda *xs: apply("lstm", *xs), ((3, 2, 4, 3), (4, 3, 3), (2, 2, 3)), lstm),
    Case("gru", lambda *xs: apply("gru", *xs), ((3, 2, 3, 4), (3, 4, 4), (3, 4), (2, 4)), gru),
]  # fmt: skip

NETWORKS = [
    Case("attention", attention, ((2, 3, 4), (4, 4), (4, 4), (4, 4), (4,), (4,))),
    Case("network", network(ours, tutor.Tensor([2, 0])),
         ((2, 1, 5, 4), (2, 1, 3, 3), (2,), (3, 8), (3,)), network(theirs, torch.tensor([2, 0]))),
]  # fmt: skip

LEARNING = [*WINDOWS, *LOSSES, *RECURRENT, *NETWORKS]
