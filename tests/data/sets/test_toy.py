"""Points that tutor draws itself: where they lie without noise, and how noise spreads them."""

from __future__ import annotations

import math

import numpy as np
import pytest

import tutor
from tutor import Tensor
from tutor.backends import registry
from tutor.data import blobs, circles, line, moons, sine, spirals
from tutor.errors import DomainError, DTypeError, ShapeError

CLOUDS = {
    "moons": (moons, 2),
    "circles": (circles, 2),
    "spirals": (spirals, 3),
    "blobs": (blobs, 3),
}
CURVES = {"sine": sine, "line": line}


@pytest.mark.parametrize("name", CLOUDS)
def test_points_and_classes(name):
    make, classes = CLOUDS[name]
    x, y = make(50, seed=3)
    assert x.shape == (50, 2) and x.dtype.name == "float32"
    assert y.tolist() == [i % classes for i in range(50)] and y.dtype.name == "int64"
    assert not x.requires_grad


@pytest.mark.parametrize("name", CURVES)
def test_curves(name):
    x, y = CURVES[name](50, seed=3)
    assert x.shape == y.shape == (50, 1) and x.dtype.name == y.dtype.name == "float32"


@pytest.mark.parametrize("make", [make for make, _ in CLOUDS.values()] + [*CURVES.values()])
def test_the_seed_alone_decides_and_the_process_s_numbers_stand_still(make):
    tutor.manual_seed(1)
    at = tutor.random.get_state()
    first, again, other = (make(20, seed=seed)[0].tolist() for seed in (3, 3, 4))
    assert first == again != other
    assert tutor.random.get_state() == at
    for backend in registry.backends():
        with tutor.use_backend(backend):
            found = make(20, seed=3)[0].tolist()
            assert np.allclose(found, first, atol=1e-6)


def test_where_they_lie_without_noise():
    x, y = (t.numpy() for t in moons(400, noise=0))
    upper, lower = x[y == 0], x[y == 1]
    assert np.allclose(np.hypot(*upper.T), 1, atol=1e-5) and upper[:, 1].min() >= -1e-6
    assert np.allclose(np.hypot(lower[:, 0] - 1, lower[:, 1] - 0.5), 1, atol=1e-5)
    assert lower[:, 1].max() <= 0.5 + 1e-6
    x, y = (t.numpy() for t in circles(400, noise=0, factor=0.3))
    assert np.allclose(np.hypot(*x.T), np.where(y, 0.3, 1), atol=1e-5)
    x, y = (t.numpy() for t in blobs(8, noise=0, classes=4))
    assert np.allclose(x[:4], [[1, 0], [0, 1], [-1, 0], [0, -1]], atol=1e-6)
    x, y = (t.numpy() for t in spirals(300, noise=0, classes=2, turns=1))
    radius = np.hypot(*x.T)
    angle = 2 * math.pi * (radius + y / 2)
    assert np.allclose(x, np.stack([radius * np.sin(angle), radius * np.cos(angle)], 1), atol=1e-5)
    assert radius.max() <= 1 + 1e-6
    x, y = (t.numpy() for t in sine(100, noise=0))
    assert np.allclose(y, np.sin(x), atol=1e-6) and abs(x).max() <= math.pi + 1e-6
    x, y = (t.numpy() for t in line(100, noise=0, slope=3, intercept=0.5))
    assert np.allclose(y, 3 * x + 0.5, atol=1e-6) and abs(x).max() <= 1


def test_noise_has_its_standard_deviation():
    x, _ = blobs(4000, noise=0.3, classes=1)
    assert np.allclose(x.numpy().std(axis=0), 0.3, atol=0.02)
    x, y = sine(4000, noise=0.2)
    assert abs((y - x.sin()).numpy().std() - 0.2) < 0.02


def test_a_small_network_parts_the_moons():
    from tutor import nn, optim

    tutor.manual_seed(0)
    x, y = moons(200, noise=0.05)
    model = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 2))
    adam = optim.Adam(nn.get_parameters(model), lr=0.05)
    for _ in range(150):
        loss = model(x).cross_entropy(y)
        adam.zero_grad()
        loss.backward()
        adam.step()
    assert (model(x).argmax(axis=1) == y).cast("float32").mean().item() > 0.97


@pytest.mark.parametrize("make", [moons, circles, spirals, blobs, sine, line])
def test_refused(make):
    for kwargs, kind in (({"n": 0}, ShapeError), ({"n": 2.5}, DTypeError),
                         ({"noise": -1}, DomainError), ({"noise": "a"}, DTypeError),
                         ({"seed": -1}, ShapeError), ({"seed": None}, DTypeError)):  # fmt: skip
        with pytest.raises(kind) as caught:
            make(**kwargs)
        assert caught.value.asked and caught.value.found and caught.value.do
    assert isinstance(make(1)[0], Tensor)
