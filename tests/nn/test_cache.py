"""Attention with a cache: place after place it gives what the whole sequence gives."""

from __future__ import annotations

import numpy as np
import pytest

import tutor
from tutor import Tensor, nn, no_grad
from tutor.errors import GraphError, OutOfRangeError, ShapeError

ONE_BY_ONE = [(i, i + 1) for i in range(7)]
IN_PARTS = [(0, 3), (3, 4), (4, 6), (6, 7)]


def blocks() -> list[nn.TransformerBlock]:
    tutor.manual_seed(0)
    return [nn.TransformerBlock(8, 2, dtype="float64") for _ in range(2)]


def through(layers: list[nn.TransformerBlock], x: Tensor, caches: list[nn.KVCache]) -> Tensor:
    for layer, cache in zip(layers, caches, strict=True):
        x = layer(x, cache=cache)
    return x


@pytest.mark.parametrize("places", [None, 7, 9])
@pytest.mark.parametrize("parts", [ONE_BY_ONE, IN_PARTS, [(0, 7)]], ids=["ones", "parts", "whole"])
@pytest.mark.parametrize("is_causal", [True, False])
def test_a_cache_gives_what_the_whole_sequence_gives(
    places: int | None, parts: list[tuple[int, int]], is_causal: bool
) -> None:
    layers, x = blocks(), Tensor.randn(3, 7, 8, dtype="float64")
    for layer in layers:
        layer.is_causal = is_causal
    if not is_causal:  # each part sees what was there before it, and itself
        layers = layers[:1]
    caches = [nn.KVCache(places) for _ in layers]
    with no_grad():
        found = [through(layers, x[:, begin:end], caches) for begin, end in parts]
        for part, (begin, end) in zip(found, parts, strict=True):
            whole = x[:, :end]
            for layer in layers:
                whole = layer(whole)
            expected = whole.numpy()[:, begin:]
            np.testing.assert_allclose(part.numpy(), expected, 1e-12, 1e-13)
    assert [len(cache) for cache in caches] == [7] * len(caches)
    assert caches[0].positions(2).tolist() == [7, 8]


def test_a_recorded_step_writes_place_after_place() -> None:
    layers, x = blocks(), Tensor.randn(3, 7, 8, dtype="float64")
    caches = [nn.KVCache(7) for _ in layers]
    step = tutor.jit(no_grad()(lambda part: through(layers, part, caches)))
    for _ in range(2):
        plain = [nn.KVCache(7) for _ in layers]
        for i in range(7):
            part = x[:, i : i + 1].copy()
            with no_grad():
                expected = through(layers, part, plain)
            assert step(part).tolist() == expected.tolist()
        assert len(caches[0]) == 7
        for cache in caches:
            cache.reset()
        assert len(caches[0]) == 0
    assert step.stats()["recorded"] == 1 and step.stats()["replayed"] == 12


def test_the_weights_of_a_step_hide_what_is_not_there() -> None:
    tutor.manual_seed(0)
    attention = nn.MultiheadAttention(4, 2, batch_first=True).eval()
    cache = nn.KVCache(5)
    with no_grad():
        for is_causal in (True, False):
            _, weights = attention(Tensor.randn(1, 2, 4), cache=cache, is_causal=is_causal)
            assert weights is not None and weights.shape == (1, 2, 5)
            hidden = weights[0] == 0
            first = [False] * 1 + [True] * 4 if is_causal else [False] * 4 + [True]
            assert hidden.tolist()[0] == first
            assert weights.sum(-1).tolist() == [[pytest.approx(1.0)] * 2]


def test_nothing_is_left_of_what_was_forgotten() -> None:
    layer, x = nn.TransformerBlock(4, 2), Tensor.randn(1, 2, 4)
    for cache in (nn.KVCache(3), nn.KVCache()):
        with no_grad():
            layer(Tensor.full((1, 2, 4), float("nan")), cache)
            cache.reset()
            assert len(cache) == 0
            assert layer(x, cache).tolist() == layer(x, type(cache)(cache.places)).tolist()


def test_a_cache_says_what_it_cannot_do() -> None:
    layer, x = nn.TransformerBlock(4, 2), Tensor.randn(2, 3, 4)
    cache, growing = nn.KVCache(4), nn.KVCache()
    with pytest.raises(GraphError, match="no_grad"):
        layer(x, cache)
    assert layer(x, growing).requires_grad
    with no_grad():
        layer(x, cache)
        for held in (cache, growing):
            with pytest.raises(ShapeError, match="new KVCache"):
                layer(x[:1], held)
        with pytest.raises(OutOfRangeError, match="2 new places are more than there is room"):
            layer(x[:, :2], cache)
        assert len(cache) == 3
    with pytest.raises(ShapeError, match="places"):
        nn.KVCache(0)
