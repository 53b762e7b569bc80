"""Norms, dropout, embedding and attention: what PyTorch's values and derivatives (tests/oracle) do
not say: running numbers, draws, what is refused, and that a recorded step does the same."""

from __future__ import annotations

import math

import numpy as np
import pytest

import tutor
from tutor import Tensor
from tutor.backends.step import watch
from tutor.errors import DomainError, DTypeError, OutOfRangeError, ShapeError
from tutor.nn import functional as F  # noqa: N812 - as everybody writes it

pytestmark = pytest.mark.usefixtures("place")
rng = np.random.default_rng(0)


def running(channels=3):
    return Tensor.zeros(channels), Tensor.ones(channels)


@pytest.mark.parametrize("shape", [(4, 3), (2, 3, 5), (2, 3, 4, 2)])
@pytest.mark.parametrize("momentum", [0.1, 1.0, Tensor(0.25)])
def test_running_numbers_follow_the_batch(shape, momentum):
    mean, var = running()
    held = mean.buf, var.buf
    x = rng.normal(2, 3, shape).astype("float32")
    with_grad = Tensor(x, requires_grad=True)
    for _ in range(2):
        F.batch_norm(with_grad, mean, var, training=True, momentum=momentum)
    m = 0.25 if isinstance(momentum, Tensor) else momentum
    channels = np.moveaxis(x, 1, 0).reshape(3, -1)
    new_mean, new_var = channels.mean(1), channels.var(1, ddof=1)
    stays = (1 - m) ** 2
    np.testing.assert_allclose(mean.numpy(), (1 - stays) * new_mean, 1e-5)
    np.testing.assert_allclose(var.numpy(), stays + (1 - stays) * new_var, 1e-5)
    assert (mean.buf, var.buf) == held and not mean.requires_grad  # in place, outside of the graph
    before = mean.tolist()
    F.batch_norm(Tensor(x), mean, var)
    assert mean.tolist() == before


def test_one_running_number_may_be_without_the_other():
    mean, _ = running()
    F.batch_norm(Tensor.ones(2, 3), mean, None, training=True)
    np.testing.assert_allclose(mean.numpy(), 0.1)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_floats_are_averaged_as_float32(dtype):
    """65,504 is the largest float16: a square of 300 is beyond it."""
    x = Tensor([[300.0, -300.0, 100.0, -100.0]] * 2).cast(dtype)
    wide = x.cast("float32")
    for f in (
        lambda x: F.layer_norm(x, 4),
        lambda x: F.rms_norm(x, 4),
        lambda x: F.group_norm(x, 1),
        lambda x: F.batch_norm(x, *running(4), training=True),
    ):
        assert f(x).dtype is x.dtype
        assert f(x).tolist() == f(wide).cast(dtype).tolist()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("shape", [(6, 4), (2, 4, 3, 5)], ids=str)
def test_half_floats_are_evaluated_as_float32_and_rounded_once(dtype, shape):
    """Running numbers, weight and bias are half floats as well, as in a model that was cast."""
    x = Tensor(rng.normal(size=shape) * 300).cast(dtype)
    given = [rng.normal(size=4) * 50, rng.random(4) * 3e4, rng.normal(size=4), rng.normal(size=4)]
    given = [Tensor(each).cast(dtype) for each in given]
    z = F.batch_norm(x, *given)
    assert z.dtype is x.dtype
    assert (
        z.tolist() == F.batch_norm(*[t.cast("float32") for t in (x, *given)]).cast(dtype).tolist()
    )
    mean, var, w, b = (np.expand_dims(t.numpy().astype("f8"), tuple(range(1, x.ndim - 1)))
                       for t in (t.cast("float64") for t in given))  # fmt: skip
    right = (x.cast("float64").numpy() - mean) / np.sqrt(var + 1e-5) * w + b
    unit = 2.0**-11 if dtype == "float16" else 2.0**-8
    np.testing.assert_allclose(z.cast("float64").numpy(), right, unit * 1.01, 1e-4)


@pytest.mark.parametrize(
    ("dtype", "eps"), [("float16", 2**-23), ("float32", 2**-23), ("float64", 2**-52)]
)
def test_rms_norm_without_eps_takes_that_of_the_dtype_it_is_computed_in(dtype, eps):
    """Numbers so small that it is most of what is under the root, and its derivatives with it."""
    size = math.sqrt(eps) / 4
    numbers = np.array([[3.0, -1.0, 2.0], [1.0, 1.0, -2.0]]) * size

    def slope(given):
        x = Tensor(numbers, dtype=dtype, requires_grad=True)
        z = F.rms_norm(x, 3, Tensor.ones(3, dtype=dtype), eps=given)
        (first,) = tutor.grad((z * z).sum(), (x,), create_graph=True)
        (second,) = tutor.grad((first * first).sum(), (x,))
        return x, [t.detach().cast("float64").numpy() for t in (z, first, second)]

    x, found = slope(None)
    held = x.detach().cast("float64").numpy()
    right = held / np.sqrt((held * held).mean(-1, keepdims=True) + eps)
    np.testing.assert_allclose(found[0], right, 1e-3 if dtype == "float16" else 1e-6)
    for ours, theirs in zip(found, slope(eps)[1], strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_dropout_keeps_the_mean_and_draws_anew():
    tutor.manual_seed(3)
    x = Tensor.ones(100, 100, requires_grad=True)
    first, second = F.dropout(x, 0.2), F.dropout(x, 0.2)
    assert set(np.unique(first.numpy())) == {0.0, np.float32(1.25)}
    assert abs((first.numpy() == 0).mean() - 0.2) < 4 * math.sqrt(0.2 * 0.8 / 1e4)
    assert first.tolist() != second.tolist()
    first.sum().backward()
    assert x.grad.tolist() == first.tolist()  # what was dropped has no gradient
    tutor.manual_seed(3)
    assert F.dropout(x, 0.2).tolist() == first.tolist()
    assert F.dropout(x, 0.2, training=False) is x and F.dropout(x, 0.0) is x
    assert F.dropout(Tensor([1.0, math.inf]), 1.0).tolist() == [0.0, 0.0]


def test_a_chance_that_is_nearly_1_leaves_nothing():
    """No word of 32 bits is as large as p * 2**32, rounded up, then is."""
    x = Tensor.ones(1000, requires_grad=True)
    for p in (1 - 2.0**-33, 1 - 2.0**-50):
        z = F.dropout(x, p)
        z.sum().backward()
        assert not z.any().item() and not x.grad.any().item()


def test_what_was_dropped_is_drawn_again_for_every_gradient():
    """However often the stream has moved on in between, and for a second one, too."""
    x = Tensor.ones(4, 50, requires_grad=True)
    z = F.dropout(x, 0.5)
    tutor.rand(10)
    (first,) = tutor.grad((z * z).sum(), (x,), create_graph=True)
    F.dropout(x, 0.5)
    (second,) = tutor.grad(first.sum(), (x,))
    kept = z.detach().numpy()
    np.testing.assert_array_equal(first.detach().numpy(), 2 * kept * kept)
    np.testing.assert_array_equal(second.numpy(), 4 * kept)


def test_a_row_that_stands_for_nothing_has_no_gradient():
    table = Tensor(rng.normal(size=(4, 2)), requires_grad=True)
    z = F.embedding(Tensor([[1, 3], [1, 0]]), table, padding_idx=-1)
    assert z.tolist() == table[Tensor([[1, 3], [1, 0]])].tolist()
    z.sum().backward()
    assert table.grad.tolist() == [[1, 1], [2, 2], [0, 0], [0, 0]]
    assert F.embedding(Tensor([], dtype="int64"), table).shape == (0, 2)
    assert F.embedding(Tensor(2), table).tolist() == table[2].tolist()


def test_who_pads_asks_for_no_more_memory_than_who_does_not():
    """What is padding concerns the gradient alone; and whoever differentiates twice has it, too."""
    table, ids = Tensor(rng.normal(size=(4, 2)), requires_grad=True), Tensor([[1, 3], [1, 0]])

    def asked(padding):
        before = tutor.memory.stats().allocations
        F.embedding(ids, table, padding)
        return tutor.memory.stats().allocations - before

    assert asked(None) == asked(3)
    z = F.embedding(ids, table, padding_idx=3)
    (first,) = tutor.grad((z * z * z).sum(), (table,), create_graph=True)
    (second,) = tutor.grad(first.sum(), (table,))
    count = np.array([[1], [2], [0], [0]])
    np.testing.assert_allclose(first.detach().numpy(), 3 * count * table.detach().numpy() ** 2)
    np.testing.assert_allclose(second.numpy(), 6 * count * table.detach().numpy())
    with tutor.no_grad():
        assert F.embedding(ids, table, padding_idx=3).tolist() == z.tolist()


def test_a_row_that_sees_no_key_gives_zero():
    q = Tensor(rng.normal(size=(2, 3)), requires_grad=True)
    seen = Tensor([[True, False], [False, False]])
    minus = Tensor([[0.0, -math.inf], [-math.inf, -math.inf]])
    for mask in (seen, minus):
        z = F.scaled_dot_product_attention(q, q, q, mask)
        np.testing.assert_allclose(z.detach().numpy(), [q.numpy()[0], [0, 0, 0]], 1e-6)
        q.grad = None
        z.sum().backward()
        np.testing.assert_allclose(q.grad.numpy(), [[1, 1, 1], [0, 0, 0]], 1e-6, 1e-7)
    hidden = F.scaled_dot_product_attention(q, q, q, Tensor([[0.0], [-math.inf]]))
    np.testing.assert_array_equal(hidden[1].detach().numpy(), 0)
    assert hidden[0].tolist() == F.scaled_dot_product_attention(q, q, q)[0].tolist()
    nothing = Tensor.zeros(0, 3, dtype="float64")
    for causal in (False, True):
        z = F.scaled_dot_product_attention(q, nothing, nothing, is_causal=causal)
        assert z.tolist() == [[0, 0, 0], [0, 0, 0]]
        assert F.scaled_dot_product_attention(nothing, q, q, is_causal=causal).shape == (0, 3)


NORMS = {
    "layer_norm": lambda x, w: F.layer_norm(x, (64,), w),
    "rms_norm": lambda x, w: F.rms_norm(x, (64,), w),
    "batch_norm": lambda x, w: F.batch_norm(x, None, None, w, None, True),
    "group_norm": lambda x, w: F.group_norm(x, 4, w),
}


@pytest.mark.parametrize("name", NORMS)
def test_a_gradient_of_half_floats_is_the_same_if_it_can_be_differentiated(name):
    """It is made of other ops then, of float32. The numbers lie so far from 0 that a mean of half
    floats would be off by a part of their spread."""
    x = Tensor(rng.normal(size=(8, 64)) + 200, dtype="float16", requires_grad=True)
    w = Tensor(rng.normal(size=64) + 1, dtype="float16", requires_grad=True)
    up = Tensor(rng.normal(size=(8, 64)), dtype="float16")
    loss = (NORMS[name](x, w) * up).sum()
    plain = tutor.grad(loss, (x, w), retain_graph=True)
    for one, other in zip(plain, tutor.grad(loss, (x, w), create_graph=True), strict=True):
        one, other = (t.detach().cast("float32").numpy() for t in (one, other))
        np.testing.assert_allclose(other, one, 0, 2e-3 * abs(one).max())


@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize(
    ("shape", "groups"), [((3, 6), 2), ((2, 6, 5), 3), ((2, 4, 3, 17), 4), ((1, 8, 20, 20), 1)]
)
def test_group_norm_is_a_layer_norm_of_each_group(shape, groups, affine):
    """Values and gradients, from places first and places last; groups of one channel and of all."""
    numbers = rng.normal(size=shape) + 3
    given = [rng.normal(size=shape[1]) for _ in range(2)] if affine else []
    g = Tensor(rng.normal(size=shape))

    def composed(x, *affine):
        rows = x.reshape((shape[0], groups, -1))
        z = F.layer_norm(rows, rows.shape[-1]).reshape(shape)
        w, b = [t.reshape(-1, *[1] * (len(shape) - 2)) for t in affine] or (1.0, 0.0)
        return z * w + b

    last = (0, *range(2, len(shape)), 1)
    for turned in (False, True):
        found = []
        for f in (lambda x, *affine: F.group_norm(x, groups, *affine), composed):
            x = Tensor(numbers.transpose(last).copy() if turned else numbers, requires_grad=True)
            seen = x.permute(0, len(shape) - 1, *range(1, len(shape) - 1)) if turned else x
            affines = [Tensor(t, requires_grad=True) for t in given]
            z = f(seen, *affines)
            (z * g).sum().backward()
            found.append([t.detach().numpy() for t in (z, *[t.grad for t in (x, *affines)])])
        for ours, parts in zip(*found, strict=True):
            np.testing.assert_allclose(ours, parts, 1e-9, 1e-10)


@pytest.mark.parametrize("dropped", [0.0, 1e-12])
def test_a_bias_of_attention_learns_and_a_row_that_sees_no_key_does_not(dropped):
    """By one backward, and by one that can be differentiated: the kernel has no part in either."""
    q = Tensor(rng.normal(size=(3, 4)), requires_grad=True)
    bias = Tensor([[0.5, -math.inf, 0.0], [-math.inf] * 3, [0.0, 0.25, 1.0]], dtype="float64")
    bias.requires_grad = True
    z = F.scaled_dot_product_attention(q, q, q, bias, dropped)
    assert z[1].tolist() == [0, 0, 0, 0]
    (z * z).sum().backward()
    rows = Tensor([0, 2])  # those that see something, by the definition
    p = (q @ q.T / 2 + bias).index_select(0, rows).softmax(-1)
    wanted = tutor.grad(((p @ q) ** 2).sum(), (q, bias))
    for found, by_hand in zip((q.grad, bias.grad), wanted, strict=True):
        np.testing.assert_allclose(found.numpy(), by_hand.numpy(), 1e-9, 1e-12)
    z = F.scaled_dot_product_attention(q, q, q, bias, dropped)
    (first,) = tutor.grad((z * z).sum(), (q,), create_graph=True)
    assert all(t.isfinite().all() for t in tutor.grad((first * first).sum(), (q, bias)))


def test_attention_of_half_floats_keeps_what_backward_needs_in_more_bits():
    whole = [Tensor(rng.normal(size=(2, 64, 16)) * 2, dtype="float32") for _ in range(3)]
    found = []
    for dtype in ("float32", "float16"):
        x = [t.cast("float16").cast(dtype).detach() for t in whole]
        for t in x:
            t.requires_grad = True
        F.scaled_dot_product_attention(*x).sum().backward()
        found.append([t.grad.cast("float32").numpy() for t in x])
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(other, one, 0, 4e-3 * abs(one).max())


def test_dropout_of_attention_is_that_of_its_weights():
    q = Tensor(rng.normal(size=(40, 8)))
    ones = Tensor.ones(40, 1000, dtype="float64")
    tutor.manual_seed(1)
    dropped = F.scaled_dot_product_attention(q, q, ones, dropout_p=0.5).numpy()
    assert dropped.std() > 0.05  # without dropout all are 1
    assert abs(dropped.mean() - 1) < 0.2


STEPS = {
    "layer_norm": lambda x: F.layer_norm(x, x.shape[-1]),
    "rms_norm": lambda x: F.rms_norm(x, x.shape[-1], Tensor.ones(x.shape[-1])),
    "group_norm": lambda x: F.group_norm(x, 2),
    "embedding": lambda x: F.embedding(Tensor([[1, 3], [1, 0]]), x, padding_idx=1),
    "dropout": lambda x: F.dropout(x, 0.3),
    "attention": lambda x: F.scaled_dot_product_attention(x, x, x, is_causal=True),
    "dropped attention": lambda x: F.scaled_dot_product_attention(x, x, x, dropout_p=0.4),
}


@pytest.mark.parametrize("name", STEPS)
def test_a_recorded_step_does_the_same(name):
    def step(x):
        z = STEPS[name](x)
        (z * z).sum().backward()
        grad, x.grad = x.grad, None
        return z.detach(), grad

    recorded = tutor.jit(step)
    xs = [Tensor(rng.normal(size=(4, 6)), dtype="float32", requires_grad=True) for _ in range(4)]
    answers = []
    for f in (step, recorded):
        tutor.manual_seed(7)
        answers.append([[t.tolist() for t in f(x)] for x in xs])
    assert answers[0] == answers[1]


def test_a_recorded_step_moves_the_running_numbers():
    answers = []
    for wrap in (lambda f: f, tutor.jit):
        mean, var = running()
        momentum = Tensor(0.5)
        step = wrap(
            lambda x, m=mean, v=var, r=momentum: F.batch_norm(x, m, v, training=True, momentum=r)
        )
        draws = np.random.default_rng(1)
        for i in range(4):
            momentum.assign(1 / (i + 1))  # as the mean of all batches so far
            z = step(Tensor(draws.normal(size=(5, 3)), dtype="float32"))
        answers.append((z.tolist(), mean.tolist(), var.tolist()))
    assert answers[0] == answers[1]


@pytest.mark.parametrize("learns", range(5), ids=["x", "mean", "var", "weight", "bias"])
def test_evaluated_each_operand_may_learn_alone(learns):
    numbers = [rng.normal(size=(2, 3, 4)), *(rng.random(3) + 0.5 for _ in range(4))]
    g = Tensor(rng.normal(size=(2, 3, 4)), dtype="float64")
    found = []
    for which in (range(5), [learns]):
        given = [
            Tensor(n, dtype="float64", requires_grad=i in which) for i, n in enumerate(numbers)
        ]
        (F.batch_norm(*given) * g).sum().backward()
        found.append([t.grad for t in given])
    assert [i for i, slope in enumerate(found[1]) if slope is not None] == [learns]
    assert found[1][learns].tolist() == found[0][learns].tolist()


@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize("shape", [(5, 3), (2, 3, 17), (2, 3, 5, 7)], ids=str)
def test_evaluated_it_goes_once_over_x_and_a_relu_behind_it_joins_in_where_it_is_recorded(
    shape, affine
):
    """And the bits are those of a product and a sum, in any way to run it and any layout."""
    numbers = Tensor(rng.normal(size=shape), dtype="float32")
    last = numbers.permute(0, *range(2, len(shape)), 1).contiguous()
    for x in (numbers, last.permute(0, -1, *range(1, len(shape) - 1))):  # places or channels last
        mean, var, w, b = (Tensor(rng.random(3) + 0.5, dtype="float32") for _ in range(4))
        given = (mean, var, w, b) if affine else (mean, var)
        scale = (var + 1e-5).rsqrt() * (w if affine else 1)
        shift = (b if affine else 0) - mean * scale
        right = [each.reshape(3, *[1] * (len(shape) - 2)) for each in (scale, shift)]
        right = (x * right[0] + right[1]).relu().tolist()

        def step(x, given=given):
            return F.batch_norm(x, *given).relu()

        seen = []
        with watch(lambda step, go, seen=seen: (seen.append((step.kernel, step.out.shape)), go())):
            z = step(x)
        assert z.tolist() == right
        assert [kernel for kernel, shape in seen if shape == x.shape] == ["mul_add", "relu"]
        recorded = tutor.jit(step)
        assert [recorded(x).tolist() for _ in range(3)] == [right] * 3
        with tutor.lazy():
            promised = step(x)
        assert promised.tolist() == right


X, Q = Tensor.ones(2, 4, 3), Tensor.ones(2, 3, 4)
TABLE = Tensor.ones(5, 2)


@pytest.mark.host
@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (lambda: F.layer_norm(X, 4), ShapeError, "not how x's shape ends"),
        (lambda: F.layer_norm(X, ()), ShapeError, "names no axis"),
        (lambda: F.layer_norm(X, 3, Tensor.ones(4)), ShapeError, "for each place"),
        (lambda: F.rms_norm(X, (2, 3)), ShapeError, "not how"),
        (lambda: F.rms_norm(Tensor([1, 2]), 2), DTypeError, "int64"),
        (lambda: F.group_norm(X, 3), ShapeError, "do not divide"),
        (lambda: F.group_norm(X, 2, Tensor.ones(3)), ShapeError, "each channel"),
        (lambda: F.batch_norm(X[:1, :, 0], None, None, training=True), ShapeError, "larger batch"),
        (lambda: F.batch_norm(X, None, None), DomainError, "training=True"),
        (lambda: F.batch_norm(X, *running(3)), ShapeError, "4 channels"),
        (lambda: F.layer_norm(X, 3, eps=-1.0), DomainError, "eps"),
        (lambda: F.dropout(X, 1.5), DomainError, "0 to 1"),
        (lambda: F.dropout(Tensor([1, 2])), DTypeError, "float"),
        (lambda: F.embedding(Tensor([5]), TABLE), OutOfRangeError, "0 to 4"),
        (lambda: F.embedding(Tensor([-1]), TABLE), OutOfRangeError, "0 to 4"),
        (lambda: F.embedding(Tensor([0.5]), TABLE), DTypeError, "whole"),
        (lambda: F.embedding(Tensor([0]), TABLE, padding_idx=5), OutOfRangeError, "-5 to 4"),
        (lambda: F.embedding(Tensor([0]), X), ShapeError, "3 axes"),
        (lambda: F.scaled_dot_product_attention(Q, X, X), ShapeError, "do not fit"),
        (lambda: F.scaled_dot_product_attention(Q, Q, Q.cast("float64")), DTypeError, "one"),
        (lambda: F.scaled_dot_product_attention(Q, Q, Q, Tensor([1])), DTypeError, "mask"),
        (lambda: F.scaled_dot_product_attention(Q, Q, Q, Tensor.ones(4, 1, 3, 3)), ShapeError,
         "stretches"),
        (lambda: F.scaled_dot_product_attention(Q, Q, Q, Tensor([True]), 0.0, True), ShapeError,
         "give one"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(call, error, said):
    with pytest.raises(error, match=said):
        call()
