"""One row per case: norms, attention and embeddings, as PyTorch has them."""

from __future__ import annotations

import torch.nn.functional as theirs
from oracle import Case, torch

import tutor
import tutor.nn.functional as ours


def both(name, shapes, call=lambda f, *xs: f(*xs), values="normal", orders=2):
    """A function of both libraries, called the same way."""
    return Case(name, lambda *xs: call(getattr(ours, name), *xs), shapes,
                lambda *xs: call(getattr(theirs, name), *xs), values, orders)  # fmt: skip


def batch(mean, var, **options):
    """A batch norm with running numbers, of which each library gets its own."""

    def ours_(x, *affine):
        running = (tutor.Tensor(mean, dtype=x.dtype), tutor.Tensor(var, dtype=x.dtype))
        return ours.batch_norm(x, *running, *affine, **options)

    def theirs_(x, *affine):
        running = (torch.tensor(mean, dtype=x.dtype), torch.tensor(var, dtype=x.dtype))
        return theirs.batch_norm(x, *running, *affine, **options)

    return ours_, theirs_


MEAN, VAR = [0.5, -1.0, 2.0], [1.5, 0.25, 3.0]
TRAINED, EVALUATED = batch(MEAN, VAR, training=True), batch(MEAN, VAR)
NORMS = [
    *[both("layer_norm", shapes, lambda f, x, *affine: f(x, x.shape[-1:], *affine))
      for shapes in (((2, 3, 5),), ((4, 5), (5,), (5,)), ((2, 3, 5), (5,)))],
    both("layer_norm", ((2, 3, 4), (3, 4), (3, 4)), lambda f, x, w, b: f(x, (3, 4), w, b, 0.1)),
    *[both("rms_norm", shapes, lambda f, x, *affine: f(x, x.shape[-1:], *affine))
      for shapes in (((2, 3, 5),), ((4, 5), (5,)))],
    both("rms_norm", ((2, 3, 4), (3, 4)), lambda f, x, w: f(x, (3, 4), w, eps=0.1)),
    *[both("group_norm", shapes, lambda f, x, *affine: f(x, 2, *affine))
      for shapes in (((2, 4),), ((2, 4, 3), (4,), (4,)), ((2, 6, 3, 2), (6,)))],
    *[Case("batch_norm", forms[0], shapes, forms[1])
      for forms in (TRAINED, EVALUATED)
      for shapes in (((4, 3),), ((2, 3, 5), (3,), (3,)), ((2, 3, 3, 2), (3,), (3,)))],
]  # fmt: skip

Q, K, V = (2, 3, 4), (2, 5, 4), (2, 5, 6)
SEEN = [[True, False, True, True, False], [False, False, False, True, True], [True] * 5]
ADDED = [[0.5, -1.0, 0.0, 2.0, 1.0], [0.0] * 5, [-3.0, 0.0, 1.0, 0.25, 1.0]]


def masked(numbers, dtype=None):
    def like(x):
        if isinstance(x, tutor.Tensor):
            return tutor.Tensor(numbers, dtype=dtype and x.dtype)
        return torch.tensor(numbers, dtype=dtype and x.dtype)

    return lambda f, q, k, v: f(q, k, v, like(q))


ATTENTION = [
    both("scaled_dot_product_attention", shapes, call)
    for shapes, call in (
        ((Q, K, V), lambda f, *xs: f(*xs)),
        ((Q, K, V), lambda f, *xs: f(*xs, scale=0.7)),
        ((Q, K, V), lambda f, *xs: f(*xs, is_causal=True)),
        (((3, 4), (3, 4), (3, 4)), lambda f, *xs: f(*xs, is_causal=True)),
        (((2, 2, 5, 3), (2, 2, 3, 3), (2, 2, 3, 2)), lambda f, *xs: f(*xs, is_causal=True)),
        ((Q, K, V), masked(SEEN)),
        ((Q, K, V), masked(ADDED, "x")),
        ((Q, K, V, (3, 5)), lambda f, *xs: f(*xs)),  # the mask is learned
    )
]
ATTENTION.append(Case("attention", ours.scaled_dot_product_attention, (Q, K, V),
                      theirs.scaled_dot_product_attention))  # fmt: skip

T = [[0, 2, 2], [3, 0, 2]]


def rows(f, w, **options):
    index = tutor.Tensor(T) if isinstance(w, tutor.Tensor) else torch.tensor(T)
    return f(index, w, **options)


EMBEDDING = [
    both("embedding", ((5, 3),), rows),
    both("embedding", ((5, 3),), lambda f, w: rows(f, w, padding_idx=2)),
    both("embedding", ((5, 3),), lambda f, w: rows(f, w, padding_idx=-2)),
]

AT = tutor.Tensor([3, 5], dtype="uint64")  # where a stream stands: its seed and its counter
KEPT = tutor.apply("dropout", tutor.Tensor.ones(4, 6), p=0.5, at=AT).tolist()
DROPOUT = [
    Case("dropout", lambda x: tutor.apply("dropout", x, p=0.5, at=AT), ((4, 6),),
         lambda x: x * torch.tensor(KEPT, dtype=x.dtype)),
]  # fmt: skip

NETWORK_PARTS = [*DROPOUT, *NORMS, *ATTENTION, *EMBEDDING]
