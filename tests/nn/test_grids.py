"""grid_sample and affine_grid: PyTorch's numbers, and gradients to images and points."""

from __future__ import annotations

import numpy as np
import pytest
from backend_names import LEVELS

import tutor
from tutor import Tensor
from tutor.errors import DomainError, DTypeError, ShapeError
from tutor.nn import functional as F  # noqa: N812 - as everybody writes it

torch = pytest.importorskip("torch")
RNG = np.random.default_rng(0)


def sampled(x, grid, options):
    """x and grid as our tensors and as PyTorch's, with the gradients of a sum of what was sampled,
    each number of it weighted; which must be the same."""
    ours, theirs = ([make(x), make(grid)] for make in (Tensor, torch.tensor))
    for t in (*ours, *theirs):
        t.requires_grad = True
    found = F.grid_sample(*ours, **options)
    wanted = torch.nn.functional.grid_sample(*theirs, **options)
    assert np.allclose(found.detach().numpy(), wanted.detach().numpy(), atol=1e-6)
    weight = RNG.normal(size=wanted.shape)
    (found * Tensor(weight)).sum().backward()
    (wanted * torch.tensor(weight)).sum().backward()
    return ours, theirs


@pytest.mark.parametrize("align_corners", [False, True])
@pytest.mark.parametrize("padding_mode", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ["bilinear", "nearest"])
@pytest.mark.parametrize("shape", [(2, 1, 5, 4), (2, 3, 4, 6), (1, 2, 1, 1)])
def test_grid_sample_is_pytorch_s(shape, mode, padding_mode, align_corners):
    x = RNG.normal(size=shape)
    grid = RNG.uniform(-2.5, 2.5, (shape[0], 6, 7, 2))
    grid[0, 0, :3] = [[-1, 1], [0, 0], [1, -1]]
    grid[:, 1] *= 4  # several pictures away
    options = {"mode": mode, "padding_mode": padding_mode, "align_corners": align_corners}
    ours, theirs = sampled(x, grid, options)
    assert np.allclose(ours[0].grad.numpy(), theirs[0].grad.numpy(), atol=1e-6)
    if mode == "bilinear" and shape[2] > 1:  # at a border itself there is no derivative
        inside = np.s_[:, 1:]
        assert np.allclose(ours[1].grad.numpy()[inside], theirs[1].grad.numpy()[inside], atol=1e-6)


@pytest.mark.parametrize("align_corners", [False, True])
@pytest.mark.parametrize("padding_mode", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ["bilinear", "nearest"])
@pytest.mark.parametrize("shape", [(2, 1, 4, 5, 3), (2, 3, 3, 4, 6)])
def test_grid_sample_of_volumes_is_pytorch_s(shape, mode, padding_mode, align_corners):
    x, grid = RNG.normal(size=shape), RNG.uniform(-1.8, 1.8, (shape[0], 3, 4, 5, 3))
    options = {"mode": mode, "padding_mode": padding_mode, "align_corners": align_corners}
    ours, theirs = sampled(x, grid, options)
    for a, b in zip(ours, theirs, strict=True):
        if mode == "bilinear" or a is ours[0]:
            assert np.allclose(a.grad.numpy(), b.grad.numpy(), atol=1e-6)


@pytest.mark.filterwarnings("ignore:Since version")  # PyTorch's, of sizes of 1
@pytest.mark.parametrize("align_corners", [False, True])
@pytest.mark.parametrize("size", [(2, 3, 4, 5), (2, 1, 1, 3)])
def test_affine_grid_is_pytorch_s(size, align_corners):
    theta = RNG.normal(size=(2, 2, 3))
    found = F.affine_grid(Tensor(theta), size, align_corners)
    wanted = torch.nn.functional.affine_grid(torch.tensor(theta), size, align_corners)
    assert np.allclose(found.numpy(), wanted.numpy())


def test_gradients_of_both_orders():
    theta = Tensor(RNG.normal(size=(1, 2, 3)) * 0.3, dtype="float64")
    x = Tensor.randn(1, 2, 5, 4, dtype="float64")

    def turned(x, theta):
        return F.grid_sample(x, F.affine_grid(theta, (1, 2, 3, 3)))

    tutor.testing.gradcheck(turned, x, theta)


X, G = Tensor.ones(1, 1, 3, 3), Tensor.zeros(1, 2, 2, 2)
REFUSED = [
    (lambda: F.grid_sample(X, G[0]), ShapeError),
    (lambda: F.grid_sample(X, Tensor.zeros(1, 2, 2, 3)), ShapeError),
    (lambda: F.grid_sample(X, Tensor.zeros(2, 2, 2, 2)), ShapeError),
    (lambda: F.grid_sample(Tensor.ones(1, 1, 0, 3), G), ShapeError),
    (lambda: F.grid_sample(X.unsqueeze(0), G), ShapeError),
    (lambda: F.grid_sample(X.unsqueeze(0), Tensor.zeros(1, 1, 2, 2, 2)), ShapeError),
    (lambda: F.grid_sample(X.cast("uint8"), G), DTypeError),
    (lambda: F.grid_sample(X, G.cast("int64")), DTypeError),
    (lambda: F.grid_sample(X, 3), DTypeError),
    (lambda: F.grid_sample(X, G, mode="bicubic"), DomainError),
    (lambda: F.grid_sample(X, G, padding_mode="wrap"), DomainError),
    (lambda: F.affine_grid(Tensor.zeros(1, 2, 2), (1, 1, 3, 3)), ShapeError),
    (lambda: F.affine_grid(Tensor.zeros(1, 2, 3), (1, 3, 3)), ShapeError),
    (lambda: F.affine_grid(Tensor.zeros(1, 2, 3), (1, 1, 0, 3)), ShapeError),
    (lambda: F.affine_grid(Tensor([[[1, 0, 0], [0, 1, 0]]]), (1, 1, 2, 3)), DTypeError),
]


@pytest.mark.parametrize(("call", "kind"), REFUSED)
def test_refused(call, kind):
    with pytest.raises(kind) as caught:
        call()
    assert caught.value.asked and caught.value.found and caught.value.do


@pytest.mark.host
@pytest.mark.skipif(not LEVELS, reason="the extension was not built")
def test_pixels_of_a_large_image_are_told_apart():
    """Behind 2**24 pixels float32 has no odd numbers any more."""
    size = 4200
    x = Tensor.zeros(1, 1, size, size)  # 17.7 million with the border around it
    x[0, 0, -1, -4:] = Tensor([1.0, 2.0, 3.0, 4.0])
    columns = (np.arange(size - 4, size) * 2 + 1) / size - 1
    grid = np.stack([columns, np.full(4, 1 - 1 / size)], axis=1).reshape(1, 1, 4, 2)
    for mode in ("nearest", "bilinear"):
        found = F.grid_sample(x, Tensor(grid, dtype="float32"), mode)
        assert np.allclose(found.numpy().ravel(), [1, 2, 3, 4], atol=1e-2)
