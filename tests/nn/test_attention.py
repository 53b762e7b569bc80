"""MultiheadAttention beside its definition: what PyTorch's (tests/oracle) does not say, masks of
each kind together, and dropout."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from tutor import Tensor, nn
from tutor.errors import TutorError
from tutor.nn import functional as F  # noqa: N812 - as everybody writes it

N, HEADS, WIDTH = 2, 2, 6
RNG = np.random.default_rng(0)


def by_hand(layer: Any, query: Any, key: Any, hidden: Any) -> tuple[Any, Any]:
    """Place by place: what a query makes of the keys, and its weights (N, heads, L, S). `hidden`
    (N, heads, L, S) is added to the scores."""
    w, b = layer.in_proj_weight.detach().numpy(), layer.in_proj_bias.detach().numpy()
    out, bias = layer.out_proj.weight.detach().numpy(), layer.out_proj.bias.detach().numpy()
    d = WIDTH // HEADS
    weights = np.zeros((N, HEADS, len(query), len(key)))
    found = np.zeros((len(query), N, WIDTH))
    for n in range(N):
        q, k, v = (x[:, n] @ w[i * WIDTH : (i + 1) * WIDTH].T + b[i * WIDTH : (i + 1) * WIDTH]
                   for i, x in enumerate((query, key, key)))  # fmt: skip
        for h in range(HEADS):
            at = slice(h * d, (h + 1) * d)
            for i in range(len(query)):
                scores = k[:, at] @ q[i, at] / math.sqrt(d) + hidden[n, h, i]
                e = np.exp(scores - scores.max())
                weights[n, h, i] = e / e.sum()
                found[i, n, at] = weights[n, h, i] @ v[:, at]
    return found @ out.T + bias, weights


def made(places: int, keys: int, **options: Any) -> tuple[Any, Any, Any]:
    layer = nn.MultiheadAttention(WIDTH, HEADS, **options, dtype="float64")
    for p in layer.parameters():
        p.assign(RNG.standard_normal(p.shape))
    return layer, RNG.standard_normal((places, N, WIDTH)), RNG.standard_normal((keys, N, WIDTH))


def a_mask(name: str, shape: tuple[int, ...]) -> Any:
    """Bools, True where not to look, which leave the first key, or numbers."""
    if "bool" not in name:
        return RNG.standard_normal(shape)
    found = RNG.random(shape) < 0.5
    found[..., 0] = False
    return found


KINDS = ("none", "bool", "float", "bool for each head", "float for each head")


@pytest.mark.parametrize("need_weights", [False, True])
@pytest.mark.parametrize("sizes", [(4, 4), (3, 5), (5, 3)])
@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("padding", ["none", "bool", "float"])
@pytest.mark.parametrize("kind", KINDS)
def test_masks_are_added(kind, padding, is_causal, sizes, need_weights):
    layer, query, key = made(*sizes)
    length, keys = sizes
    total, call = np.zeros((N, HEADS, length, keys)), {}
    if kind != "none":
        mask = a_mask(kind, (N * HEADS, length, keys) if "head" in kind else sizes)
        added = np.where(mask, -np.inf, 0.0) if mask.dtype == bool else mask
        total = total + (added.reshape(total.shape) if "head" in kind else added)
        call["attn_mask"] = Tensor(mask)
    if padding != "none":
        mask = a_mask(padding, (N, keys))
        added = np.where(mask, -np.inf, 0.0) if mask.dtype == bool else mask
        total = total + added[:, None, None]
        call["key_padding_mask"] = Tensor(mask)
    if is_causal:  # row i sees keys 0 to i, however many there are
        total = total + np.where(np.arange(keys) > np.arange(length)[:, None], -np.inf, 0.0)
    wanted, weights = by_hand(layer, query, key, total)
    for average in (False, True):
        z, found = layer(Tensor(query), Tensor(key), Tensor(key), need_weights=need_weights,
                         is_causal=is_causal, average_attn_weights=average, **call)  # fmt: skip
        np.testing.assert_allclose(z.detach().numpy(), wanted, 1e-9, 1e-12)
        if need_weights:
            seen = weights.mean(1) if average else weights
            np.testing.assert_allclose(found.detach().numpy(), seen, 1e-9, 1e-12)
        else:
            assert found is None


@pytest.mark.parametrize("need_weights", [False, True])
@pytest.mark.parametrize("is_causal", [False, True])
def test_dropout_is_of_training_alone(need_weights, is_causal):
    """Of p = 1 nothing is left of any value; in evaluation all of it."""
    layer, query, key = made(4, 4, dropout=1.0)
    call = {"need_weights": need_weights, "is_causal": is_causal}
    dropped, _ = layer(Tensor(query), Tensor(key), Tensor(key), **call)
    bias = layer.out_proj.bias.detach().numpy()
    np.testing.assert_array_equal(dropped.detach().numpy(), np.broadcast_to(bias, (4, N, WIDTH)))
    layer.eval()
    hidden = np.triu(np.full((4, 4), -np.inf), 1) if is_causal else np.zeros((4, 4))
    wanted, _ = by_hand(layer, query, key, np.broadcast_to(hidden, (N, HEADS, 4, 4)))
    z, _ = layer(Tensor(query), Tensor(key), Tensor(key), **call)
    np.testing.assert_allclose(z.detach().numpy(), wanted, 1e-9, 1e-12)


@pytest.mark.parametrize("need_weights", [False, True])
def test_what_dropout_keeps_is_scaled(need_weights):
    """So that the mean over many draws is what evaluation gives."""
    layer, query, key = made(3, 4, dropout=0.25)
    given = Tensor(query), Tensor(key), Tensor(key)
    draws = [layer(*given, need_weights=need_weights)[0].detach().numpy() for _ in range(400)]
    wanted = layer.eval()(*given, need_weights=need_weights)[0].detach().numpy()
    spread = np.std(draws, 0) / 20
    if need_weights:  # which are told as they were before something was dropped
        weights = layer.train()(*given)[1]
        np.testing.assert_allclose(weights.sum(-1).detach().numpy(), np.ones((N, 3)), 1e-12)
    assert (spread > 0).all() and (np.abs(np.mean(draws, 0) - wanted) < 6 * spread).all()


def test_a_dropped_and_causal_row_sees_no_later_key():
    q, v = RNG.standard_normal((40, 3, 4)), RNG.standard_normal((40, 3, 4)) + 9
    z = F.scaled_dot_product_attention(Tensor(q), Tensor(q), Tensor(v), None, 0.5, True).numpy()
    first = z[:, 0] / v[:, 0]  # of one key: all of it, twice as much, or nothing
    assert np.isclose(first, 0).any() and np.isclose(first, 2).any()
    assert (np.isclose(first, 0) | np.isclose(first, 2)).all()


def test_each_says_which_keys_are_seen():
    q = Tensor(RNG.standard_normal((1, 3, 4)))
    with pytest.raises(TutorError, match="each says"):
        F.scaled_dot_product_attention(q, q, q, Tensor.zeros(3, 3, dtype="float64"), is_causal=True)
