"""Image transforms: each against its formula, on seeds, with every shape and dtype."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import ndimage

import tutor
from tutor import Tensor
from tutor.backends import registry
from tutor.data import (
    CenterCrop,
    Compose,
    DataLoader,
    ElasticTransform,
    GaussianNoise,
    Normalize,
    RandomAffine,
    RandomCrop,
    RandomErasing,
    RandomHorizontalFlip,
    RandomRotation,
    RandomShift,
    RandomVerticalFlip,
    ToFloat,
    Transform,
)
from tutor.data.warps import Warp, gaussian
from tutor.nn.grids import read_linear

RNG = np.random.default_rng(0)
GREY = RNG.integers(0, 256, (6, 9, 7), dtype=np.uint8)
COLOUR = RNG.integers(0, 256, (6, 3, 9, 7), dtype=np.uint8)

ALL = [
    ToFloat(), Normalize(100, 50), GaussianNoise(2), RandomErasing(3), RandomCrop(5, padding=2),
    CenterCrop(4), RandomShift(2), RandomHorizontalFlip(), RandomVerticalFlip(),
    RandomRotation(20), RandomAffine(10, 2, 0.1, 0.1), ElasticTransform(10, 2),
    Compose(RandomAffine(10), ElasticTransform(5, 1), GaussianNoise(1), RandomErasing(2)),
]  # fmt: skip
KEEP = (RandomErasing, RandomCrop, CenterCrop, RandomShift, RandomHorizontalFlip)  # the dtype


@pytest.mark.parametrize("dtype", ["uint8", "float32", "float64", "float16"])
@pytest.mark.parametrize("t", ALL, ids=lambda t: type(t).__name__)
def test_shapes_dtypes_and_seeds(t, dtype):
    for images in (GREY, COLOUR):
        given = Tensor(images).cast(dtype)
        found = t(given, seed=3)
        assert found.ndim == images.ndim and found.shape[:-2] == images.shape[:-2]
        keeps = isinstance(t, KEEP) or dtype != "uint8"
        assert found.dtype.name == (dtype if keeps else "float32")
        assert found.tolist() == t(given, seed=3).tolist()
        assert given.tolist() == Tensor(images).cast(dtype).tolist(), (
            "what was given is not changed"
        )
        assert not found.requires_grad
        assert t(given[:0]).shape[0] == 0
    assert t(GREY, seed=3).tolist() == t(Tensor(GREY), seed=3).tolist(), "arrays, too"
    at = tutor.random.get_state()
    t(GREY, seed=1)
    assert tutor.random.get_state() == at, "a seed draws from a stream of its own"
    tutor.manual_seed(5)
    first = t(GREY).tolist()
    tutor.manual_seed(5)
    assert t(GREY).tolist() == first
    assert repr(t).startswith(type(t).__name__ + "(")


@pytest.mark.parametrize("t", ALL, ids=lambda t: type(t).__name__)
def test_every_backend_gives_the_same_images(t):
    found = []
    for name in registry.backends():
        with tutor.use_backend(name):
            found.append(t(COLOUR[:2], seed=2).numpy().astype(np.float64))
    for other in found[1:]:
        assert np.allclose(found[0], other, atol=0.05)  # of 255


RANDOM = [t for t in ALL if not isinstance(t, (ToFloat, Normalize, CenterCrop))]


@pytest.mark.parametrize("t", RANDOM, ids=lambda t: type(t).__name__)
def test_each_image_of_a_batch_is_changed_otherwise(t):
    same = np.repeat(GREY[:1], 32, axis=0)
    found = {str(image) for image in t(same, seed=1).tolist()}
    assert len(found) > (1 if isinstance(t, RandomHorizontalFlip) else 5)
    assert t(same, seed=1).tolist() != t(same, seed=2).tolist()


# ---- values --------------------------------------------------------------------------------------


def test_to_float_and_normalize():
    assert np.allclose(ToFloat()(GREY).numpy(), GREY / 255)
    assert ToFloat()(GREY / 2.0).tolist() == (GREY / 2.0).tolist()
    assert np.allclose(Normalize(33, 79)(GREY).numpy(), (GREY.astype(float) - 33) / 79, atol=1e-5)
    mean, std = np.array([1, 2, 3.0]), np.array([4, 5, 6.0])
    wanted = (COLOUR - mean[:, None, None]) / std[:, None, None]
    assert np.allclose(Normalize([1, 2, 3], [4, 5, 6])(COLOUR).numpy(), wanted, atol=1e-4)
    wanted = (COLOUR.astype(float) - 7) / std[:, None, None]
    assert np.allclose(Normalize(7, [4, 5, 6])(COLOUR).numpy(), wanted, atol=1e-4)


def test_noise():
    x = np.zeros((50, 20, 20), np.float32)
    found = GaussianNoise(0.5)(x, seed=1).numpy()
    assert abs(found.std() - 0.5) < 0.02 and abs(found.mean()) < 0.02


def test_erasing():
    x = np.ones((200, 3, 12, 10), np.float32)
    found = RandomErasing(4, value=7)(x, seed=1).numpy()
    gone = found == 7
    assert (gone | (found == 1)).all() and (gone[:, :1] == gone).all(), "all channels alike"
    for image in gone[:, 0]:
        rows, columns = np.nonzero(image)
        assert 2 <= np.ptp(rows) + 1 <= 4 and 2 <= np.ptp(columns) + 1 <= 4
        assert image.sum() == (np.ptp(rows) + 1) * (np.ptp(columns) + 1), "a rectangle"
    assert RandomErasing(4, p=0)(x).tolist() == x.tolist()
    hit = (RandomErasing(4, p=0.5)(x, seed=1).numpy() != 1).any(axis=(1, 2, 3)).mean()
    assert 0.3 < hit < 0.7


# ---- whole pixels --------------------------------------------------------------------------------


@pytest.mark.parametrize("images", [GREY, COLOUR], ids=["grey", "colour"])
def test_crops_shifts_and_flips(images):
    axes = [(0, 0)] * (images.ndim - 2) + [(2, 2)] * 2
    padded = np.pad(images, axes)
    windows = np.lib.stride_tricks.sliding_window_view(padded, (5, 4), axis=(-2, -1))
    found = RandomCrop((5, 4), padding=2)(images, seed=1).numpy()
    for image, of in zip(found, windows, strict=True):
        every = of if images.ndim == 3 else np.moveaxis(of, 0, 2)
        assert (every == image).reshape(*every.shape[:2], -1).all(-1).any()
    assert CenterCrop((5, 3))(images).tolist() == images[..., 2:7, 2:5].tolist()
    shifted = RandomShift(2)(images, seed=1).numpy()
    whole = np.lib.stride_tricks.sliding_window_view(padded, (9, 7), axis=(-2, -1))
    for image, of in zip(shifted, whole, strict=True):
        every = of if images.ndim == 3 else np.moveaxis(of, 0, 2)
        assert (every == image).reshape(5, 5, -1).all(-1).any()
    assert RandomShift(0)(images).tolist() == images.tolist()
    for t, axis in ((RandomHorizontalFlip(1), -1), (RandomVerticalFlip(1), -2)):
        assert t(images).tolist() == np.flip(images, axis).tolist()
    assert RandomHorizontalFlip(0)(images).tolist() == images.tolist()
    many = np.repeat(images[:1], 200, axis=0)
    turned = RandomHorizontalFlip(0.25)(many, seed=1).numpy()
    assert 0.15 < (turned != many).any(axis=tuple(range(1, images.ndim))).mean() < 0.35


# ---- between pixels ------------------------------------------------------------------------------


@pytest.mark.parametrize("channels", [1, 3])
def test_bilinear_is_that_of_scipy(channels):
    x = COLOUR[:, :channels].astype(np.float32)
    rows = RNG.uniform(-4, 13, (6, 5, 8)).astype(np.float32)
    columns = RNG.uniform(-4, 11, (6, 5, 8)).astype(np.float32)
    rows[0, 0, :6] = [-1, -0.5, 0, 8, 8.5, 9]  # the border
    columns[0, 0, :6] = 3
    found = read_linear(Tensor(x), Tensor(rows), Tensor(columns)).numpy()
    for i in range(6):
        for c in range(channels):
            wanted = ndimage.map_coordinates(
                x[i, c], [rows[i], columns[i]], order=1, mode="grid-constant"
            )
            assert np.allclose(found[i, c], wanted, atol=1e-3)


def test_bilinear_has_a_gradient():
    x = Tensor.randn(2, 2, 5, 4, dtype="float64")
    rows, columns = (Tensor.rand(2, 3, 3, dtype="float64") * 5 - 0.5 for _ in range(2))
    tutor.testing.gradcheck(read_linear, x, rows, columns)


def test_affine_is_its_formula():
    """By the matrix that the docstring gives, and SciPy's affine_transform, which wants its
    inverse. The numbers that were drawn are drawn again."""
    t = RandomAffine(30, 2, 0.2, 0.3)
    found = t(COLOUR[:, 0], seed=4).numpy()
    own = tutor.random.Stream(4)
    u = [tutor.random.drawing_from(own, Tensor.rand, 6, 1, 1).numpy().ravel() for _ in range(5)]
    a, k, s, dx, dy = (v * 2 - 1 for v in u)
    for i in range(6):
        angle, shear, scale = math.radians(30) * a[i], 0.3 * k[i], 1 + 0.2 * s[i]
        turn = np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
        forward = scale * turn @ np.array([[1, shear], [0, 1]])
        back = np.linalg.inv(forward)[::-1, ::-1]  # rows first
        middle, moved = np.array([4.0, 3.0]), np.array([dy[i], dx[i]]) * 2
        offset = middle - back @ (middle + moved)
        wanted = ndimage.affine_transform(
            COLOUR[i, 0].astype(float), back, offset, order=1, mode="grid-constant"
        )
        assert np.allclose(found[i], wanted, atol=0.05)


def test_nothing_moved_is_the_same_image():
    for t in (RandomAffine(0), RandomRotation(0), ElasticTransform(0)):
        assert t(GREY).tolist() == GREY.tolist()


def test_a_quarter_turn():
    square = GREY[:, :7]

    real = Tensor.rand
    try:
        Tensor.rand = staticmethod(lambda *shape, **kwargs: Tensor.ones(*shape))
        found = RandomRotation(90)(square).numpy()
    finally:
        Tensor.rand = real
    assert np.allclose(found, np.rot90(square, -1, axes=(1, 2)), atol=0.01)


def test_elastic_is_its_formula():
    t = ElasticTransform(20.0, 1.5)
    found = t(GREY, seed=2).numpy()
    u = tutor.random.drawing_from(tutor.random.Stream(2), Tensor.rand, 2, 6, 9, 7).numpy() * 2 - 1
    field = 20 * ndimage.gaussian_filter(
        u.astype(float), 1.5, axes=(2, 3), mode="constant", truncate=8
    )
    r, c = np.mgrid[:9, :7]
    for i in range(6):
        wanted = ndimage.map_coordinates(
            GREY[i].astype(float), [r + field[0, i], c + field[1, i]], order=1, mode="grid-constant"
        )
        assert np.allclose(found[i], wanted, atol=0.1)


def test_the_gaussian_adds_up_to_one():
    g = gaussian(41, 2.0).numpy()
    assert g[20].sum() == pytest.approx(1, abs=1e-4) and (g == g.T).all()
    assert g[20, 20] / g[20, 22] == pytest.approx(math.exp(0.5), rel=1e-4)


class Up(Warp):
    """What is one and a half pixels lower: half a pixel needs a mean."""

    def source(self, rows, columns, shape):
        return rows + 1.5, columns


def test_warps_side_by_side_read_the_image_once():
    once = Compose(Up(), Up())(GREY).numpy()
    wanted = np.zeros_like(once)
    wanted[:, :-3] = GREY[:, 3:]
    assert np.allclose(once, wanted), "1.5 and 1.5 are 3: no mean is left"
    twice = Up()(Up()(GREY)).numpy()
    assert not np.allclose(once, twice)
    assert np.allclose(Compose(Up(), ToFloat(), Up())(GREY).numpy(), twice)


class Down(Warp):
    """Upside down."""

    def source(self, rows, columns, shape):
        return (shape[1] - 1.0) - rows, columns


class Lower(Warp):
    """What is two pixels higher."""

    def source(self, rows, columns, shape):
        return rows - 2.0, columns


def test_the_first_of_a_compose_comes_first():
    for first, second in ((Down(), Lower()), (Lower(), Down())):
        assert Compose(first, second)(GREY).tolist() == second(first(GREY)).tolist()
    assert Down()(Lower()(GREY)).tolist() != Lower()(Down()(GREY)).tolist()


def test_a_loader_gives_each_batch_numbers_of_its_own():
    images, labels = np.repeat(GREY[:1], 12, axis=0), np.arange(12)
    loader = DataLoader((images, labels), 4, transform=RandomShift(2), seed=1)
    epochs = [[x.tolist() for x, _ in loader] for _ in range(2)]
    assert len({str(x) for epoch in epochs for x in epoch}) == 6


# ---- mistakes: most of them stand in test_data_refused.py ----------------------------------------


def test_the_base_class_says_what_to_write():
    with pytest.raises(NotImplementedError, match="apply"):
        Transform()(GREY)
