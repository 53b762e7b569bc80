"""Images changed at random, a whole batch at once: the same digits, written otherwise.

    augment = Compose(RandomAffine(10, translate=2, scale=0.1), ElasticTransform())
    loader = DataLoader((images, labels), 128, shuffle=True, transform=augment, prefetch=2)

Images are (n, h, w) or (n, channels, h, w), of any dtype; each of them is changed otherwise. What a
transform draws comes from tutor's generator: `augment(images, seed=3)` gives the same images each
time, and in a DataLoader every batch has a stream of its own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from tutor import random
from tutor.data.dataset import as_tensor
from tutor.data.loader import count
from tutor.data.sampling import bilinear
from tutor.dtype import float32
from tutor.errors import DomainError, DTypeError, ShapeError
from tutor.functions import where
from tutor.functions.sampling import randint
from tutor.ground import checks
from tutor.ground.recording import no_grad
from tutor.ground.spelling import spelled
from tutor.ground.typing import TensorLike
from tutor.methods.tensor import Tensor


def as_float(images: Tensor) -> Tensor:
    return images if images.dtype.is_float else images.cast(float32)


def uniform(n: int, most: float, least: float | None = None) -> Tensor:
    """A number for each of n images, from [least, most); least is -most unless given: (n, 1, 1)."""
    low = -most if least is None else least
    return Tensor.rand(n, 1, 1) * (most - low) + low


class Transform:
    """Base class: `apply(images)` gets (n, channels, h, w), and gives as many images back."""

    @no_grad()
    def __call__(self, images: TensorLike, seed: int | None = None) -> Tensor:
        """The changed images, (n, h, w) or (n, channels, h, w) as they were given; `seed` draws
        from a stream of its own."""
        x = as_tensor(images)
        name = type(self).__name__
        if x.ndim not in (3, 4):
            raise ShapeError(f"{name} of shape {x.shape}", f"{x.ndim} axes",
                             "give images as (n, h, w) or (n, channels, h, w)")  # fmt: skip
        grey = x.ndim == 3
        batch = x.reshape(x.shape[0], 1, *x.shape[1:]) if grey else x
        if not batch.numel():
            found = batch
        elif seed is None:
            found = self.apply(batch)
        else:
            own = random.Stream(count(f"{name} with seed", seed, 0, 2**64 - 1))
            found = random.drawing_from(own, self.apply, batch)
        return found.reshape(found.shape[0], *found.shape[2:]) if grey else found

    def apply(self, images: Tensor) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__} has no apply(self, images)")

    def __repr__(self) -> str:
        settings = ", ".join(f"{k}={v!r}" for k, v in vars(self).items() if not k.startswith("_"))
        return f"{type(self).__name__}({settings})"


@spelled
class Compose(Transform):
    """`Compose(first, second, ...)`: one after another. Those that move pixels and stand side by
    side read the images between their pixels once, not once each: nothing is blurred twice."""

    def __init__(self, *transforms: Transform) -> None:
        for t in transforms:
            if not isinstance(t, Transform):
                raise DTypeError(
                    "Compose",
                    f"{checks.said(t)} is no Transform",
                    "give Compose(RandomShift(2), GaussianNoise(0.1)), for example",
                )
        self.transforms = transforms

    def apply(self, images: Tensor) -> Tensor:
        warps: list[Warp] = []
        for t in self.transforms:
            if isinstance(t, Warp):
                warps.append(t)
                continue
            images = t.apply(warped(images, warps))
            warps = []
        return warped(images, warps)

    def __repr__(self) -> str:
        return f"Compose({', '.join(map(repr, self.transforms))})"


# ---- values --------------------------------------------------------------------------------------


@spelled
class ToFloat(Transform):
    """float32 from 0 to 1: bytes are divided by 255, floats are what they were."""

    def apply(self, images: Tensor) -> Tensor:
        if images.dtype.is_float:
            return images
        return images.cast(float32) * (1.0 / (images.dtype.max if images.dtype.is_integer else 1))


@spelled
class Normalize(Transform):
    """z = (x - mean) / std; numbers, or one for each channel."""

    def __init__(self, mean: float | Sequence[float], std: float | Sequence[float]) -> None:
        self.mean, self.std = (per_channel("Normalize", v) for v in (mean, std))
        if not all(s > 0 for s in self.std):
            raise DomainError(f"Normalize(std={std!r:.60})", "a standard deviation is above 0",
                              "give the data's own")  # fmt: skip
        pairs = zip(self.mean * len(self.std), self.std * len(self.mean), strict=False)
        self._steps = [(1.0 / s, -m / s) for m, s in pairs][: max(len(self.mean), len(self.std))]

    def apply(self, images: Tensor) -> Tensor:
        x = as_float(images)
        if len(self._steps) == 1:
            ((times, plus),) = self._steps
            return x * times + plus
        if len(self._steps) != x.shape[1]:
            raise ShapeError(
                f"Normalize with {len(self._steps)} channels",
                f"images of {x.shape[1]}",
                "give one number, or one for each channel",
            )
        both = Tensor(self._steps, dtype=x.dtype).T.reshape(2, 1, x.shape[1], 1, 1)
        return x * both[0] + both[1]


def per_channel(name: str, value: float | Sequence[float]) -> list[float]:
    given = list(value) if isinstance(value, (list, tuple)) else [value]
    if not given:
        raise DomainError(f"{name} of no channel", "an empty list", "give a number")
    return [float(checks.number(f"{name} of a channel", v)) for v in given]


@spelled
class GaussianNoise(Transform):
    """x + std * e, with e normal and independent for every pixel."""

    def __init__(self, std: float = 0.1) -> None:
        self.std = checks.number("GaussianNoise(std=...)", std, 0, nan=False)

    def apply(self, images: Tensor) -> Tensor:
        x = as_float(images)
        return x + Tensor.randn(*x.shape, dtype=x.dtype) * float(self.std)


@spelled
class RandomErasing(Transform):
    """A square of side `size` somewhere in the image becomes `value`, with probability p; its
    middle lies in the image, a part of it may be outside (Cutout: DeVries & Taylor 2017)."""

    def __init__(self, size: int = 8, p: float = 1.0, value: float = 0.0) -> None:
        self.size = count("RandomErasing with size", size, 1)
        self.p = checks.number("RandomErasing(p=...)", p, 0, 1, nan=False)
        self.value = checks.number("RandomErasing(value=...)", value)

    def apply(self, images: Tensor) -> Tensor:
        n, _, height, width = images.shape
        half = self.size // 2
        y = randint(0, height, (n, 1, 1, 1)) - half
        x = randint(0, width, (n, 1, 1, 1)) - half
        r, c = Tensor.arange(height).reshape(-1, 1), Tensor.arange(width)
        hit = (r >= y) & (r < y + self.size) & (Tensor.rand(n, 1, 1, 1) < self.p)
        return images.masked_fill(hit & (c >= x) & (c < x + self.size), self.value)


# ---- whole pixels --------------------------------------------------------------------------------


def windows(images: Tensor, y: Tensor, x: Tensor, size: tuple[int, int]) -> Tensor:
    """The window of that size from each image, whose upper left pixel is (y, x), (n, 1, 1) each."""
    n, channels, height, width = images.shape
    wanted = Tensor.arange(0, size[0] * width, width).reshape(-1, 1) + Tensor.arange(size[1])
    first = (Tensor.arange(0, n * height * width, height * width).reshape(n, 1, 1)) + y * width + x
    places = (first + wanted).flatten()
    if channels == 1:
        return images.flatten().index_select(0, places).reshape(n, 1, *size)
    pixels = images.permute(0, 2, 3, 1).reshape(-1, channels).index_select(0, places)
    return pixels.reshape(n, *size, channels).permute(0, 3, 1, 2)


@spelled
class RandomCrop(Transform):
    """A window of `size` pixels, one number or (h, w), somewhere in the image, around which
    `padding` pixels of zeros are put first."""

    def __init__(self, size: int | tuple[int, int], padding: int = 0) -> None:
        self.size = pair("RandomCrop with size", size)
        self.padding = count("RandomCrop with padding", padding, 0)

    def apply(self, images: Tensor) -> Tensor:
        return cropped(images, self.padding, self.size)


def cropped(images: Tensor, padding: int, size: tuple[int, int]) -> Tensor:
    """Windows at random."""
    if padding:
        images = images.pad(((0, 0), (0, 0), (padding, padding), (padding, padding)))
    n, _, height, width = images.shape
    if size[0] > height or size[1] > width:
        raise ShapeError(f"RandomCrop of {size}", f"images of {(height, width)}, with the padding",
                         "give a smaller size, or more padding")  # fmt: skip
    y, x = (randint(0, own - want + 1, (n, 1, 1))
            for own, want in ((height, size[0]), (width, size[1])))  # fmt: skip
    return windows(images, y, x, size)


def pair(what: str, size: int | tuple[int, int]) -> tuple[int, int]:
    both = size if isinstance(size, (tuple, list)) else (size, size)
    if len(both) != 2:
        raise ShapeError(what, f"{len(both)} numbers", "give one, or a pair: height and width")
    return count(what, both[0], 1), count(what, both[1], 1)


@spelled
class CenterCrop(Transform):
    """The window of `size` pixels, one number or (h, w), in the middle."""

    def __init__(self, size: int | tuple[int, int]) -> None:
        self.size = pair("CenterCrop with size", size)

    def apply(self, images: Tensor) -> Tensor:
        (height, width), (h, w) = images.shape[2:], self.size
        if h > height or w > width:
            raise ShapeError(f"CenterCrop of {self.size}", f"images of {(height, width)}",
                             "give a smaller size")  # fmt: skip
        y, x = (height - h) // 2, (width - w) // 2
        return images[:, :, y : y + h, x : x + w]


@spelled
class RandomShift(Transform):
    """Each image by up to `pixels` whole pixels up or down, and left or right; zeros move in."""

    def __init__(self, pixels: int = 2) -> None:
        self.pixels = count("RandomShift with pixels", pixels, 0)

    def apply(self, images: Tensor) -> Tensor:
        return cropped(images, self.pixels, (images.shape[2], images.shape[3]))


@spelled
class RandomHorizontalFlip(Transform):
    """Left and right are exchanged, with probability p."""

    def __init__(self, p: float = 0.5) -> None:
        self.p = checks.number(f"{type(self).__name__}(p=...)", p, 0, 1, nan=False)

    _axis = 3

    def apply(self, images: Tensor) -> Tensor:
        chosen = Tensor.rand(images.shape[0], 1, 1, 1) < self.p
        return where(chosen, images.flip(self._axis), images)


class RandomVerticalFlip(RandomHorizontalFlip):
    """Top and bottom are exchanged, with probability p."""

    _axis = 2


# ---- between pixels ------------------------------------------------------------------------------


class Warp(Transform):
    """A transform that says for every pixel of the new image where in the old one it comes from:
    `source(rows, columns, shape)`. The result is float."""

    def source(
        self, rows: Tensor, columns: Tensor, shape: tuple[int, int, int]
    ) -> tuple[Tensor, Tensor]:
        raise NotImplementedError(
            f"{type(self).__name__} has no source(self, rows, columns, shape)"
        )

    def apply(self, images: Tensor) -> Tensor:
        return warped(images, [self])


def warped(images: Tensor, warps: Sequence[Warp]) -> Tensor:
    """The images after all of these, read once: the last one's new image is asked first."""
    if not warps:
        return images
    x = as_float(images)
    n, _, height, width = x.shape
    rows: Tensor = Tensor.arange(height, dtype=float32).reshape(1, -1, 1)
    columns: Tensor = Tensor.arange(width, dtype=float32).reshape(1, 1, -1)
    for warp in reversed(warps):
        rows, columns = warp.source(rows, columns, (n, height, width))
    return bilinear(x, rows.expand(n, height, width), columns.expand(n, height, width))


@spelled
class RandomAffine(Warp):
    """Each image turned, sheared and scaled about its middle m, then shifted:

        p' = s R(t) S(k) (p - m) + m + d
        R(t) = [[cos t, -sin t], [sin t, cos t]],  S(k) = [[1, k], [0, 1]]

    for points p = (x, y), with t uniform in +-degrees, k in +-shear, s in 1 +- scale, and d in
    +-translate pixels in either direction. The new pixel p' comes from p, by the inverse,
    (1/s) [[cos t + k sin t, sin t - k cos t], [-sin t, cos t]] (p' - m - d) + m.
    """

    def __init__(
        self, degrees: float = 10.0, translate: float = 0.0, scale: float = 0.0, shear: float = 0.0
    ) -> None:
        name = type(self).__name__
        self.degrees = checks.number(f"{name}(degrees=...)", degrees, 0, 360, nan=False)
        self.translate = checks.number(f"{name}(translate=...)", translate, 0, 1e6, nan=False)
        self.scale = checks.number(f"{name}(scale=...)", scale, 0, 0.99, nan=False)
        self.shear = checks.number(f"{name}(shear=...)", shear, 0, 1e3, nan=False)

    def source(
        self, rows: Tensor, columns: Tensor, shape: tuple[int, int, int]
    ) -> tuple[Tensor, Tensor]:
        n, height, width = shape
        t = uniform(n, math.radians(self.degrees))
        k, s = uniform(n, self.shear), uniform(n, 1 + self.scale, 1 - self.scale)
        dx, dy = uniform(n, self.translate), uniform(n, self.translate)
        cos, sin = t.cos() / s, t.sin() / s
        mx, my = (width - 1) / 2, (height - 1) / 2
        x, y = columns - (dx + mx), rows - (dy + my)
        return cos * y - sin * x + my, (cos + k * sin) * x + (sin - k * cos) * y + mx


@spelled
class RandomRotation(RandomAffine):
    """Each image turned about its middle, by an angle uniform in +-degrees."""

    def __init__(self, degrees: float = 10.0) -> None:
        super().__init__(degrees)


@spelled
class ElasticTransform(Warp):
    """Every pixel moved a little, neighbours alike, as if the paper were rubber (Simard, Steinkraus
    & Platt 2003, "Best practices for convolutional neural networks applied to visual document
    analysis").

    The displacements of rows and of columns are alpha * G u: u is uniform in [-1, 1) for each
    pixel, G the Gaussian filter of standard deviation sigma (its weights add up to 1; beyond the
    border u is 0). Two products with a matrix compute it: G_h u G_w.
    """

    def __init__(self, alpha: float = 34.0, sigma: float = 4.0) -> None:
        self.alpha = checks.number("ElasticTransform(alpha=...)", alpha, 0, 1e6, nan=False)
        self.sigma = checks.number("ElasticTransform(sigma=...)", sigma, 1e-3, 1e6, nan=False)

    def source(
        self, rows: Tensor, columns: Tensor, shape: tuple[int, int, int]
    ) -> tuple[Tensor, Tensor]:
        n, height, width = shape
        u = Tensor.rand(2, n, height, width) * 2.0 - 1.0
        down, across = gaussian(height, self.sigma) * float(self.alpha), gaussian(width, self.sigma)
        moved = down @ (u @ across)
        return rows + moved[0], columns + moved[1]


def gaussian(size: int, sigma: float) -> Tensor:
    """G[i, j] = g(i - j), with g(d) = exp(-d^2 / 2 sigma^2) / sum over all whole d."""
    half = min(math.ceil(4 * sigma), 1 << 16)
    whole = math.fsum(math.exp(-0.5 * (d / sigma) ** 2) for d in range(-half, half + 1))
    at = Tensor.arange(size, dtype=float32)
    return (((at.reshape(-1, 1) - at) / sigma) ** 2 * -0.5).exp() / whole
