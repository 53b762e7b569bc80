"""Whole numbers, orders and classes drawn: exactly as likely as they should be, everywhere."""

from __future__ import annotations

from collections import Counter
from itertools import permutations

import numpy as np
import pytest
from scipy import stats

import tutor
from tutor import Tensor
from tutor.errors import DomainError, DTypeError, OutOfRangeError, ShapeError
from tutor.functions import sampling
from tutor.nn.functional import cross_entropy, nll_loss

DRAWS = [
    lambda: tutor.randint(-3, 1000, (4, 5)),
    lambda: tutor.randint(7, (9,)),
    lambda: tutor.randint(-(2**63), 2**63, (6,)),
    lambda: tutor.randint(2**63, 2**64, (6,), dtype="uint64"),
    lambda: tutor.randint(0, 3 * 2**61, (50,)),  # a quarter of the words are drawn anew
    lambda: tutor.randint(0, 2, (9,), dtype="bool"),
    lambda: tutor.randperm(50),
    lambda: tutor.bernoulli(Tensor.full((40,), 0.3)),
    lambda: tutor.multinomial([1.0, 2.0, 0.0, 7.0], 30, replacement=True),
    lambda: tutor.multinomial(Tensor([[1.0, 2.0, 1e-30], [0.1, 0.2, 0.3]]), 3),
]


@pytest.mark.parametrize("draw", DRAWS)
def test_the_same_on_every_backend(draw, backend):
    tutor.manual_seed(11)
    here = [draw().tolist(), draw().tolist()]
    with tutor.use_backend("python_ref"):
        tutor.manual_seed(11)
        assert [draw().tolist(), draw().tolist()] == here
    assert here[0] != here[1] or len(str(here[0])) < 30


def even(counts, expected):
    """Is what was counted plausible? A right generator fails this for one seed in a million."""
    return stats.chisquare(counts, expected).pvalue > 1e-6


def test_integers_are_even_and_in_range(backend):
    tutor.manual_seed(1)
    x = tutor.randint(-2, 5, (7000,))
    assert x.dtype is tutor.int64
    found = Counter(x.tolist())
    assert set(found) == set(range(-2, 5))
    assert even(list(found.values()), [1000] * 7)


def test_integers_are_exactly_even(monkeypatch):
    """2**64 % n words would make the small numbers likelier; they are drawn anew. With n = 3 *
    2**61 every third number would come twice as often."""
    tutor.manual_seed(2)
    n = 3 * 2**61
    thirds = (np.array(tutor.randint(0, n, (6000,)).tolist(), dtype=object) // (n // 3)).tolist()
    assert even([thirds.count(i) for i in range(3)], [2000] * 3)
    words = iter([
        Tensor([2**64 - 1, 5], dtype="uint64"), Tensor([[4, 7], [8, 8]], dtype="uint64")
    ])  # fmt: skip
    monkeypatch.setattr(sampling, "_words", lambda *shape, device, cells=(): next(words))
    # of 2**64 words, 2**64 % 3 = 1 is refused: the last
    assert sampling._below(Tensor([3, 3], dtype="uint64"), 1).tolist() == [1, 2]


def test_every_order_is_equally_likely(backend):
    tutor.manual_seed(3)
    found = Counter(tuple(tutor.randperm(4).tolist()) for _ in range(2400))
    assert set(found) == set(permutations(range(4)))
    assert even(list(found.values()), [100] * 24)
    assert sorted(tutor.randperm(1000).tolist()) == list(range(1000))
    assert tutor.randperm(0).shape == (0,) and tutor.randperm(3, dtype="int32").dtype is tutor.int32


def test_coins(backend):
    tutor.manual_seed(4)
    p = Tensor([[0.0, 1.0, 0.25]]).expand(4000, 3)
    x = tutor.bernoulli(p)
    assert x.shape == p.shape and x.dtype is p.dtype
    zeros, ones, quarter = x.sum(0).tolist()
    assert (zeros, ones) == (0, 4000)
    assert even([quarter, 4000 - quarter], [1000, 3000])
    assert tutor.bernoulli(Tensor(1.0, dtype="float16")).dtype is tutor.float16


def test_classes_by_weight(backend):
    tutor.manual_seed(5)
    x = tutor.multinomial(Tensor([[1.0, 2.0, 0.0, 7.0], [0.0, 0.0, 1e-3, 0.0]]), 5000, True)
    assert x.shape == (2, 5000) and x.dtype is tutor.int64
    found = Counter(x[0].tolist())
    assert set(found) == {0, 1, 3} and set(x[1].tolist()) == {2}
    assert even([found[0], found[1], found[3]], [500, 1000, 3500])


def test_classes_without_replacement(backend):
    """The second draw is among the others, by their weights: P(3, then 1) = 0.7 * 2/3."""
    tutor.manual_seed(6)
    w = np.array([1.0, 2.0, 0.0, 7.0]) / 10
    x = tutor.multinomial(Tensor(w).expand(6000, 4), 2)
    found = Counter(map(tuple, x.tolist()))
    pairs = [(i, j) for i in (0, 1, 3) for j in (0, 1, 3) if i != j]
    assert set(found) == set(pairs)
    assert even([found[p] for p in pairs], [6000 * w[i] * w[j] / (1 - w[i]) for i, j in pairs])
    tiny = Tensor([1.0, 1e-300], dtype="float64")
    assert sorted(tutor.multinomial(tiny, 2).tolist()) == [0, 1]


@pytest.mark.parametrize(
    ("draw", "error"),
    [
        (lambda: tutor.randint(3, 3), DomainError),
        (lambda: tutor.randint(0, 257, (2,), dtype="uint8"), DomainError),
        (lambda: tutor.randint(0, 2**64, (2,)), DomainError),
        (lambda: tutor.randint(0.5), ShapeError),
        (lambda: tutor.randint(0, 5, (-1,)), ShapeError),
        (lambda: tutor.randperm(-1), ShapeError),
        (lambda: tutor.bernoulli(1.5), DomainError),
        (lambda: tutor.bernoulli(float("nan")), DomainError),
        (lambda: tutor.bernoulli([0, 1]), DTypeError),
        (lambda: tutor.multinomial([1.0, -1.0], 1), DomainError),
        (lambda: tutor.multinomial([1.0, float("inf")], 1), DomainError),
        (lambda: tutor.multinomial([0.0, 0.0], 1, True), DomainError),
        (lambda: tutor.multinomial([1.0, 1.0], 3), DomainError),
        (lambda: tutor.multinomial(1.0, 1), ShapeError),
        (lambda: tutor.multinomial([1.0], 0), ShapeError),
    ],
)
def test_mistakes_are_explained(draw, error, backend):
    with pytest.raises(error) as caught:
        draw()
    assert caught.value.found and caught.value.do


def test_what_is_drawn_anew_does_not_move_the_stream(backend):
    """A quarter of the words are beyond: how many does not show in what is drawn afterwards."""
    after = []
    for high in (3 * 2**61, 2**61):
        tutor.manual_seed(9)
        tutor.randint(0, high, (40,))
        after.append((tutor.random.get_state(), tutor.randint(0, 10**6, (9,)).tolist()))
    assert after[0] == after[1]


def test_what_is_drawn_anew_is_even_and_new_each_time(backend, monkeypatch):
    """All first words are refused: what comes instead is as even as they, and another each time."""
    tutor.manual_seed(10)
    words = sampling._words

    def refused(*shape, device, cells=()):
        drawn = words(*shape, device=device, cells=cells)
        return drawn if cells else drawn | (2**64 - 2**62)

    monkeypatch.setattr(sampling, "_words", refused)
    span = Tensor.full((3000,), 3 * 2**60, dtype="uint64")  # 2**64 % that is 2**60
    first, second = (sampling._below(span, 61).tolist() for _ in range(2))
    assert first != second
    assert even(np.bincount([n // 2**60 for n in first], minlength=3), [1000] * 3)


RECORDED = {
    "bernoulli": lambda p: tutor.bernoulli(p[0] / 9),
    "multinomial": lambda p: tutor.multinomial(p, 3),
    "multinomial with replacement": lambda p: tutor.multinomial(p, 5, True),
    "randint": lambda p: tutor.randint(0, 3 * 2**61, (7,)) + p.cast("int64").sum(),
    "randperm": lambda p: tutor.randperm(6) * p[0, 0].cast("int64"),
    "nll_loss": lambda p: nll_loss(p, p[:, 0].cast("int64") % 4, Tensor([1.0, 2.0, 3.0, 4.0])),
    "cross_entropy": lambda p: cross_entropy(
        p * p, p[:, 0].cast("int64") % 4, ignore_index=1, label_smoothing=0.1
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", RECORDED)
def test_a_recorded_call_draws_on_as_the_function_would(name, backend):
    rows = [Tensor([[1.0, 2.0, 0.0, 7.0], [3.0, 1.0, 1.0, 1.0]]) + i / 4 for i in range(5)]
    found = []
    for function in (RECORDED[name], tutor.jit(RECORDED[name])):
        tutor.manual_seed(12)
        found.append([function(p).tolist() for p in rows] + [tutor.random.get_state()])
    assert found[0] == found[1]
    assert len({str(z) for z in found[0]}) > 3


@pytest.mark.parametrize(
    ("function", "wrong"),
    [
        (lambda p: tutor.bernoulli(p / 9), [9.0, 9.5, 1.0]),
        (lambda p: tutor.multinomial(p, 2), [0.0, 1.0, 0.0]),
        (lambda p: tutor.multinomial(p, 2), [-1.0, 1.0, 1.0]),
        (lambda p: nll_loss(p.reshape(1, 3), p[:1].cast("int64"), Tensor([1.0, 2.0, 3.0])),
         [-1.0, 0.0, 0.0]),
        (lambda p: nll_loss(p.reshape(1, 3), p[:1].cast("int64"), Tensor([1.0, 2.0, 3.0])),
         [3.0, 0.0, 0.0]),
    ],
)  # fmt: skip
def test_a_recorded_call_refuses_what_the_function_would(function, wrong, backend):
    recorded = tutor.jit(function)
    for _ in range(4):
        recorded(Tensor([1.0, 2.0, 3.0]))
    with pytest.raises((DomainError, OutOfRangeError)):
        recorded(Tensor(wrong))
    with pytest.raises((DomainError, OutOfRangeError)):
        function(Tensor(wrong))
