"""Convolution, pooling and losses against their definitions, written out in loops of NumPy."""

import itertools
import math

import numpy as np
import pytest

from tutor import Tensor, nn
from tutor.errors import DomainError, DTypeError, OutOfRangeError, ShapeError
from tutor.methods import windows
from tutor.nn import functional as F  # noqa: N812 - as everybody writes it
from tutor.testing import gradcheck

pytestmark = pytest.mark.usefixtures("place")
rng = np.random.default_rng(0)


def conv_by_loops(x, w, stride, padding, dilation, groups):
    """z[n, o, p] = sum_c,k w[o, c, k] x[n, c, p * stride + k * dilation - padding]"""
    dims = w.ndim - 2
    x = np.pad(x, [(0, 0), (0, 0), *[(padding, padding)] * dims])
    sizes = [
        (n - dilation * (k - 1) - 1) // stride + 1
        for n, k in zip(x.shape[2:], w.shape[2:], strict=True)
    ]
    z = np.zeros((len(x), len(w), *sizes))
    inputs, outputs = x.shape[1] // groups, len(w) // groups
    for n, o, c in itertools.product(range(len(x)), range(len(w)), range(inputs)):
        channel = x[n, o // outputs * inputs + c]
        for p in np.ndindex(*sizes):
            for k in np.ndindex(*w.shape[2:]):
                at = tuple(i * stride + j * dilation for i, j in zip(p, k, strict=True))
                z[(n, o, *p)] += w[(o, c, *k)] * channel[at]
    return z


SETTINGS = [(1, 0, 1, 1), (2, 1, 1, 1), (1, 2, 2, 1), (3, 1, 1, 2), (2, 0, 2, 2)]


@pytest.mark.parametrize("setting", SETTINGS)
def test_conv2d_is_its_definition(setting):
    stride, padding, dilation, groups = setting
    x, w, b = rng.random((2, 4, 7, 6)), rng.random((6, 4 // groups, 3, 2)), rng.random(6)
    z = F.conv2d(Tensor(x), Tensor(w), Tensor(b), stride, padding, dilation, groups)
    expected = conv_by_loops(x, w, *setting) + b[:, None, None]
    assert z.shape == expected.shape
    assert np.allclose(z.numpy(), expected)
    one = F.conv2d(Tensor(x[0]), Tensor(w), Tensor(b), stride, padding, dilation, groups)
    assert np.allclose(one.numpy(), expected[0])


@pytest.mark.parametrize("setting", SETTINGS)
def test_conv1d_is_its_definition(setting):
    x, w = rng.random((2, 4, 9)), rng.random((6, 4 // setting[3], 3))
    z = F.conv1d(Tensor(x), Tensor(w), None, *setting)
    assert np.allclose(z.numpy(), conv_by_loops(x, w, *setting))


@pytest.mark.parametrize("setting", SETTINGS)
def test_conv_transpose_is_the_derivative_of_conv(setting):
    """What backward computes for x: the transposed convolution of the gradient."""
    stride, padding, dilation, groups = setting
    x = Tensor(rng.random((2, 4, 9, 8)), requires_grad=True)
    w = Tensor(rng.random((6, 4 // groups, 3, 2)))
    z = F.conv2d(x, w, None, *setting)
    g = Tensor(rng.random(z.shape))
    z.backward(g)
    sizes = zip(x.shape[2:], z.shape[2:], w.shape[2:], strict=True)
    extra = tuple(
        n - ((m - 1) * stride - 2 * padding + dilation * (k - 1) + 1) for n, m, k in sizes
    )
    # conv_transpose takes the weight as (inputs, outputs / groups): for conv's it is the same.
    back = F.conv_transpose2d(g, w, None, stride, padding, extra, groups, dilation)
    assert np.allclose(back.numpy(), x.grad.numpy())


@pytest.mark.parametrize(
    ("stride", "dilation", "extra", "padding"),
    [
        ((1,), (3,), (2,), (0,)),
        ((2,), (3,), (2,), (1,)),
        ((1, 2), (2, 3), (1, 2), (0, 1)),
        ((3, 1), (1, 2), (2, 1), (1, 0)),
        ((4, 5), (2, 4), (3, 1), (0, 1)),  # phases of no tap; taps that share a factor with steps
        ((6, 2), (4, 4), (0, 3), (3, 0)),
        ((1, 2, 3), (1, 1, 1), (0, 0, 0), (0, 0, 0)),
        ((3, 1, 2), (1, 2, 3), (2, 1, 2), (0, 0, 1)),
    ],
    ids=str,
)
def test_conv_transpose_is_its_definition(stride, dilation, extra, padding):
    """Each number goes to p * stride + k * dilation - padding; output_padding is room behind it."""
    dims = len(stride)
    x, w = rng.random((2, 2, 2, 3, 4)[: 2 + dims]), rng.random((2, 3, 2, 3, 2)[: 2 + dims])
    axes = zip(x.shape[2:], w.shape[2:], stride, dilation, extra, strict=True)
    whole = np.zeros((2, 3, *((n - 1) * s + d * (k - 1) + 1 + e for n, k, s, d, e in axes)))
    for p in np.ndindex(*x.shape[2:]):
        for k in np.ndindex(*w.shape[2:]):
            at = tuple(i * s + j * d for i, s, j, d in zip(p, stride, k, dilation, strict=True))
            whole[(..., *at)] += x[(..., *p)] @ w[(..., *k)]
    inside = tuple(slice(c, n - c) for c, n in zip(padding, whole.shape[2:], strict=True))
    f = (F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d)[dims - 1]
    z = f(Tensor(x), Tensor(w), None, stride, padding, extra, 1, dilation)
    np.testing.assert_allclose(z.numpy(), whole[(..., *inside)])


def test_derivatives_of_windows():
    x, w, b = rng.random((1, 2, 5, 4)), rng.random((2, 1, 2, 2)), rng.random(2)
    gradcheck(lambda x, w, b: F.conv2d(x, w, b, 2, 1, 1, 2), x, w, b)
    gradcheck(lambda x, w: F.conv_transpose2d(x, w, None, 2, 1), x, rng.random((2, 3, 3, 2)))
    apart = rng.permutation(40).reshape(1, 2, 5, 4) * 0.1
    gradcheck(lambda x: F.max_pool2d(x, 3, 2, 1, ceil_mode=True), apart)
    gradcheck(lambda x: F.avg_pool2d(x, 3, 2, 1, ceil_mode=True), x)
    gradcheck(lambda x: F.adaptive_avg_pool2d(x, (2, 3)), x)
    gradcheck(lambda x: F.adaptive_avg_pool2d(x, 1), x)


@pytest.mark.parametrize("shape", [(5,), (2, 5), (2, 3, 5), (0, 5)])
def test_linear_is_a_product_and_a_sum(shape):
    x, w, b = (Tensor(rng.random(s)) for s in (shape, (4, 5), (4,)))
    assert F.linear(x, w, b).shape == (*shape[:-1], 4)
    np.testing.assert_allclose(F.linear(x, w, b).numpy(), (x @ w.T + b).numpy(), 1e-6)
    assert F.linear(x, w).tolist() == (x @ w.T).tolist()


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("shape", [(5,), (3, 5), (2, 3, 5), (70, 5)])
def test_a_relu_along_with_the_product_is_one_after_it(shape, bias):
    layer = nn.Linear(5, 9, bias=bias, activation="relu", dtype="float64")
    if bias:
        layer.bias.assign(Tensor(rng.normal(size=9)))
    x = Tensor(rng.normal(size=shape), requires_grad=True)
    weight = Tensor(rng.normal(size=9))
    found, expected = [], []
    for collect, z in (
        (found, layer(x)), (expected, F.linear(x, layer.weight, layer.bias).relu())
    ):  # fmt: skip
        (z * weight).sum().backward()
        collect += [z, *(p.grad for p in (x, *nn.get_parameters(layer)))]
        x.grad = None
        for p in nn.get_parameters(layer):
            p.grad = None
    assert 0 in found[0].numpy() and (found[0].numpy() >= 0).all()
    for ours, composed in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours.numpy(), composed.numpy(), 1e-12, 1e-15)


def test_padding_by_name():
    x, w = Tensor(rng.random((1, 1, 6, 5))), Tensor(rng.random((1, 1, 3, 4)))
    assert F.conv2d(x, w, padding="same").shape == (1, 1, 6, 5)
    # Of an odd number the larger half comes behind, as in PyTorch: of three columns two.
    padded = x.pad(((0, 0), (0, 0), (1, 1), (1, 2)))
    assert F.conv2d(x, w, padding="same").tolist() == F.conv2d(padded, w).tolist()
    assert F.conv2d(x, w, padding="valid").shape == (1, 1, 4, 2)
    with pytest.raises(DomainError, match="stride 1"):
        F.conv2d(x, w, padding="same", stride=2)


def test_a_bias_belongs_to_channels_whatever_the_width():
    x, w, b = Tensor.zeros(2, 1, 5, 3), Tensor.zeros(3, 1, 1, 1), Tensor([1.0, 2.0, 3.0])
    assert F.conv2d(x, w, b)[0, :, 0, 0].tolist() == [1, 2, 3]
    assert F.conv2d(x, w, b)[0, 1].tolist() == [[2.0] * 3] * 5


@pytest.mark.parametrize("ceil_mode", [False, True])
@pytest.mark.parametrize(("size", "stride", "padding"), [(2, None, 0), (3, 2, 1), (2, 3, 1)])
def test_pooling_is_its_definition(size, stride, padding, ceil_mode):
    x, step = rng.standard_normal((2, 3, 7, 6)), stride or size
    up = math.ceil if ceil_mode else math.floor
    places = [up((n + 2 * padding - size) / step) + 1 for n in x.shape[2:]]
    places = [
        m - (ceil_mode and (m - 1) * step >= n + padding)
        for m, n in zip(places, x.shape[2:], strict=True)
    ]
    largest, mean, inside = (np.empty((2, 3, *places)) for _ in range(3))
    for i, j in np.ndindex(*places):
        a, b = i * step - padding, j * step - padding
        seen = x[:, :, max(a, 0) : a + size, max(b, 0) : b + size]
        with_padding = [min(s + size, n + padding) - s for s, n in zip((a, b), (7, 6), strict=True)]
        largest[:, :, i, j] = seen.max((2, 3))
        mean[:, :, i, j] = seen.sum((2, 3)) / np.prod(with_padding)
        inside[:, :, i, j] = seen.mean((2, 3))
    t = Tensor(x)
    kinds = {"padding": padding, "ceil_mode": ceil_mode}
    assert np.allclose(t.max_pool2d(size, stride, **kinds).numpy(), largest)
    assert np.allclose(t.avg_pool2d(size, stride, **kinds).numpy(), mean)
    without = t.avg_pool2d(size, stride, count_include_pad=False, **kinds)
    assert np.allclose(without.numpy(), inside)


def test_pooling_integers():
    t = Tensor(np.arange(-8, 8).reshape(1, 1, 4, 4))
    assert t.max_pool2d(2).tolist() == [[[[-3, -1], [5, 7]]]]
    assert t.avg_pool2d(2).tolist() == [[[[-5.5, -3.5], [2.5, 4.5]]]]


def test_a_small_convolutional_network_learns():
    data = np.zeros((32, 1, 8, 8), dtype=np.float32)
    labels = np.arange(32) % 2
    for i, label in enumerate(labels):  # a bar: upright or lying
        data[(i, 0, slice(None), i % 8) if label else (i, 0, i % 8)] = 1
    model = nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1), nn.ReLU(), nn.MaxPool2d(4), nn.Flatten(), nn.Linear(16, 2)
    )
    from tutor import optim

    adam = optim.Adam(nn.get_parameters(model), lr=0.02)
    for _ in range(40):
        adam.zero_grad()
        loss = model(Tensor(data)).cross_entropy(labels)
        loss.backward()
        adam.step()
    assert loss.item() < 0.1


# ---- losses --------------------------------------------------------------------------------------

X, Y = rng.standard_normal((4, 3)), rng.random((4, 3))
D = np.abs(X - Y)


@pytest.mark.parametrize(
    ("loss", "expected"),
    [
        (F.mse_loss, D**2),
        (F.l1_loss, D),
        (F.huber_loss, np.where(D < 1, D**2 / 2, D - 0.5)),
        (
            F.binary_cross_entropy_with_logits,
            -(Y * np.log(1 / (1 + np.exp(-X))) + (1 - Y) * np.log(1 / (1 + np.exp(X)))),
        ),
    ],
)
def test_losses_are_their_formulas(loss, expected):
    x, y = Tensor(X), Tensor(Y)
    assert np.allclose(loss(x, y, reduction="none").numpy(), expected)
    assert np.isclose(loss(x, y).item(), expected.mean())
    assert np.isclose(loss(x, y, reduction="sum").item(), expected.sum())
    gradcheck(lambda x: loss(x, y), X)
    with pytest.raises(DomainError, match="'mean'"):
        loss(x, y, reduction="average")


@pytest.mark.parametrize(
    ("widths", "options", "kind", "found"),
    [
        ((1,), {}, ShapeError, "1 widths for 2 axes"),
        ((1,) * 6, {}, ShapeError, "6 widths for 2 axes"),
        (((1, 1), (0, 2)), {}, ShapeError, "whole numbers"),
        ((-2, -2), {}, ShapeError, "more is cut off"),
        ((-2, -2), {"mode": "replicate"}, ShapeError, "more is cut off"),
        ((-3, 1), {"mode": "circular"}, ShapeError, "1 elements"),
        ((1, 0), {"mode": "reflect", "value": 1.0}, ShapeError, "only mode 'constant'"),
        ((1, 0), {"mode": "edge"}, DomainError, "'replicate'"),
    ],
)
def test_widths_of_pad_that_are_none(widths, options, kind, found):
    with pytest.raises(kind, match=found):
        F.pad(Tensor.ones(2, 3), widths, **options)


def test_losses_refuse_to_broadcast():
    x, y = Tensor.zeros(5, 1), Tensor.zeros(5)
    for loss in (F.mse_loss, F.l1_loss, F.huber_loss, F.binary_cross_entropy_with_logits):
        with pytest.raises(ShapeError, match="squeeze"):
            loss(x, y)


def test_bce_is_stable_for_huge_logits():
    x = Tensor([1000.0, -1000.0], requires_grad=True)
    loss = F.binary_cross_entropy_with_logits(x, Tensor([1.0, 1.0]), reduction="none")
    assert loss.tolist() == [0.0, 1000.0]
    loss.sum().backward()
    assert x.grad.tolist() == [0, -1]


def weighted_by_loops(x, t, weight, ignored, smoothing):
    """(losses, weights) of each row: -sum_c q_c weight_c ln p_c, q the smoothed target"""
    logs = x - np.log(np.exp(x).sum(1, keepdims=True))
    losses, counts = [], []
    for row, target in zip(logs, t, strict=True):
        if target == ignored:
            losses.append(0.0), counts.append(0.0)
            continue
        q = np.full(len(row), smoothing / len(row))
        q[target] += 1 - smoothing
        losses.append(-(q * weight * row).sum()), counts.append(weight[target])
    return np.array(losses), np.array(counts)


@pytest.mark.parametrize("smoothing", [0.0, 0.2])
@pytest.mark.parametrize("ignored", [None, 2])
@pytest.mark.parametrize("weight", [None, [0.5, 2.0, 1.0, 0.1]])
def test_cross_entropy_is_its_definition(weight, ignored, smoothing):
    x, t = rng.standard_normal((6, 4)), np.array([0, 2, 3, 1, 2, 0])
    losses, counts = weighted_by_loops(x, t, np.array(weight or [1.0] * 4), ignored, smoothing)
    w = None if weight is None else Tensor(weight, dtype="float64")
    for reduction, expected in (
        ("none", losses), ("sum", losses.sum()), ("mean", losses.sum() / counts.sum())
    ):  # fmt: skip
        found = F.cross_entropy(Tensor(x), t, w, ignored, reduction, smoothing)
        assert np.allclose(found.numpy(), expected)
    gradcheck(lambda x: F.cross_entropy(x, Tensor(t), w, ignored, "mean", smoothing), x)
    image = Tensor(x).reshape(3, 2, 4).permute(0, 2, 1)  # (N, C, S)
    found = F.cross_entropy(image, t.reshape(3, 2), w, ignored, "sum", smoothing)
    assert np.isclose(found.item(), losses.sum())


def test_targets_may_be_probabilities():
    x, t = rng.standard_normal((3, 4)), np.array([1, 0, 3])
    hot = Tensor(np.eye(4)[t])
    assert np.isclose(F.cross_entropy(Tensor(x), hot).item(), F.cross_entropy(Tensor(x), t).item())
    plain, smooth = (
        F.cross_entropy(Tensor(x), y, label_smoothing=0.1).item() for y in (hot, Tensor(t))
    )
    assert np.isclose(plain, smooth)


def test_nll_loss_is_the_second_half_of_cross_entropy():
    x, t = Tensor(X), np.array([0, 2, 1, 1])
    assert np.isclose(F.nll_loss(x.log_softmax(), t).item(), x.cross_entropy(t).item())


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: F.cross_entropy(Tensor(X), [0, 1, 2, 3], Tensor([1.0] * 3)), OutOfRangeError,
         "0 to 2"),
        (lambda: F.cross_entropy(Tensor(X), [0, 1, 2, -100]), OutOfRangeError, "-100"),
        (lambda: F.cross_entropy(Tensor(X), [0, 1]), ShapeError, "the leading axes differ"),
        (lambda: F.cross_entropy(Tensor(X), [0, 1, 2, 0], label_smoothing=2), DomainError,
         "0 to 1"),
        (lambda: F.nll_loss(Tensor(X), [[0.0]]), DTypeError, "whole number"),
        (lambda: F.nll_loss(Tensor(X), [0, 1, 2, 0], Tensor([1.0])), ShapeError, "one for each"),
        (lambda: F.linear(Tensor.zeros(2, 3), Tensor.zeros(4, 2)), ShapeError,
         "k is 3 in x and 2 in weight"),
        (lambda: F.linear(Tensor.zeros(2, 3), Tensor.zeros(4, 3), Tensor.zeros(3)), ShapeError,
         "n is 4 in weight and 3 in bias"),
        (lambda: F.linear(Tensor(1.0), Tensor.zeros(4, 3)), ShapeError, "inputs"),
        (lambda: F.linear(Tensor.zeros(2, 3), Tensor.zeros(4, 3), None, "tanh"), DomainError,
         "relu"),
        (lambda: F.conv2d(Tensor.zeros(1, 2, 5, 5), Tensor.zeros(3, 1, 3, 3)), ShapeError,
         "channels must be equal"),
        (lambda: F.conv2d(Tensor.zeros(1, 1, 2, 5), Tensor.zeros(3, 1, 3, 3)), ShapeError,
         "smaller window"),
        (lambda: F.conv2d(Tensor.zeros(5, 5), Tensor.zeros(3, 1, 3, 3)), ShapeError, "without N"),
        (lambda: F.conv2d(Tensor.zeros(1, 1, 5, 5), Tensor.zeros(3, 3)), ShapeError, "4: two for"),
        (lambda: F.conv2d(Tensor.zeros(1, 1, 5, 5), Tensor.zeros(3, 1, 3, 3), stride=0), ShapeError,
         "1 or more"),
        (lambda: F.conv2d(Tensor.zeros(1, 1, 5, 5), Tensor.zeros(3, 1, 3, 3), Tensor.zeros(2)),
         ShapeError, "one for each"),
        (lambda: F.max_pool2d(Tensor.zeros(1, 1, 5, 5), 2, padding=2), ShapeError, "half a window"),
        (lambda: F.conv_transpose2d(Tensor.zeros(1, 1, 5, 5), Tensor.zeros(1, 1, 3, 3),
                                    output_padding=1), ShapeError, "smaller"),
        (lambda: F.conv_transpose2d(Tensor.zeros(1, 1, 0, 5), Tensor.zeros(1, 1, 1, 1)),
         ShapeError, "sizes of 1 or more"),
        (lambda: F.huber_loss(Tensor(X), Tensor(Y), delta=0), DomainError, "above 0"),
        (lambda: Tensor([3]).one_hot(3), OutOfRangeError, "0 to 2"),
    ],
)  # fmt: skip
def test_mistakes_are_explained(make, error, words):
    with pytest.raises(error, match=words):
        make()


@pytest.mark.parametrize("setting", SETTINGS)
def test_the_composed_forms_are_the_same(setting):
    """Three spatial axes, and integers, have no kernel of their own."""
    stride, padding, dilation, groups = setting
    x, w = rng.random((1, 2 * groups, 5, 6, 7)), rng.random((2 * groups, 2, 2, 1, 2))
    step, gap = (stride,) * 3, (dilation,) * 3
    wide = np.pad(x, [(0, 0), (0, 0), *[(padding, padding)] * 3])
    z = windows.conv_by_product(Tensor(wide), Tensor(w), step, gap, groups)
    assert np.allclose(z.numpy(), conv_by_loops(x, w, *setting))
    whole = rng.integers(-9, 9, (2, 2 * groups, 7, 6)), rng.integers(-9, 9, (2 * groups, 2, 3, 2))
    z = F.conv2d(*map(Tensor, whole), None, *setting)
    assert z.dtype.kind == "int"
    assert np.array_equal(z.numpy(), conv_by_loops(*whole, *setting))
    t = Tensor(rng.random((2, 2 * groups, 3, 4)))
    lengths = tuple((n - 1) * stride + dilation * (k - 1) + 1 for n, k in ((3, 3), (4, 2)))
    v = Tensor(rng.random((2 * groups, 2, 3, 2)))
    arguments = (t, v, lengths, (stride, stride), (dilation, dilation), groups)
    one, other = windows.transpose_direct(*arguments), windows.transpose_by_product(*arguments)
    assert np.allclose(one.numpy(), other.numpy())
